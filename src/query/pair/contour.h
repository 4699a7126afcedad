/* The intersection contour of two closed surfaces: types that the files of abut_pair_measure share.
 *
 * Here b is the smaller body. Coordinates refer to the frame: the axes and the origin of the mesh
 * of b, scaled by a power of two so that the larger mesh has coordinates up to 2. Vertices of a are
 * rotated, translated and rounded once to get there. Predicates about the rounded points are exact.
 */
#ifndef ABUTI_PAIR_CONTOUR_H
#define ABUTI_PAIR_CONTOUR_H

#include "pair/pair.h"

/* ---- closed_surface.c: a mesh as a closed surface ---- */

typedef struct closed_surface {
    bvh_attachment attachment;
    const abut_bvh *bvh;
    bool open, flipped;      /* it has boundary edges; neighbouring triangles face opposite ways */
    abut_topology *topology; /* of the mesh with merged vertices; null if the surface is open */
    abut_topology_arrays view;
    const uint32_t *corner;   /* three vertices per triangle */
    uint32_t *component_face; /* one triangle of each component */
    double area,
        volume; /* in units of bvh->scale; the volume is negative if the surface faces inwards */
} closed_surface;

/* Returns the closed surface of a BVH. The first call computes it; the BVH owns it. Thread-safe. */
abut_status abuti_pair_closed_surface(const abut_bvh *bvh, const closed_surface **surface);

/* ---- contour.c: the intersection of two closed surfaces ---- */

typedef struct contour_body {
    const abut_bvh *bvh;
    const closed_surface *surface;
    bool is_rotated; /* a is transformed into the frame, b only scaled */
    mat3 rotation;   /* times the unit */
    vec3 shift;
    double unit;   /* frame units per mesh unit: a power of two */
    double facing; /* 1, or -1 if the surface faces inwards */
} contour_body;

/* The position of a vertex in the frame. */
static inline vec3 contour_position(const contour_body *body, uint32_t vertex) {
    vec3 p = body->bvh->mesh->positions[vertex];
    return body->is_rotated ? v3_add(m3_apply(&body->rotation, p), body->shift)
                            : v3_scale(p, body->unit);
}

/* A triangle in the frame: its plane, and Pluecker coordinates (direction and moment) of the lines
 * of its edges. */
typedef struct contour_face {
    uint32_t face;
    bool collapsed;
    const uint32_t *corner;
    vec3 at[3], direction[3], moment[3];
    vec3 normal;    /* its length is twice the area */
    double length;  /* of the normal */
    double offset;  /* of the plane: normal . x */
    double longest; /* the largest absolute coordinate of the edge directions */
} contour_face;

/* A triangle that the other surface intersects. Its part inside the other body has a boundary of
 * directed pieces x0 x1 with weights: pieces of its edges and of the contour. The record has the
 * sums over those pieces that are known before any winding number is,
 *   twice = normal . sum (x0 - apex) x (x1 - apex)
 *   moment = the same, each term times (x0 - apex) + (x1 - apex). */
typedef struct contour_record {
    uint32_t face;
    bool crossed[3];
    int32_t jump[3]; /* change of the winding number of the other surface along each edge */
    vec3 at[3], normal;
    vec3 apex;        /* a point of the contour */
    vec3 crossing[3]; /* one crossing on each edge that has any */
    double twice;
    vec3 moment;
} contour_record;

/* Sums over pairs of coincident triangles of both surfaces. Areas are positive. `inside` is the
 * share of these triangles in the sums over records; it is subtracted later. */
typedef struct contour_flush {
    double area[2];   /* of triangles that face opposite ways, the same way */
    double inside[2]; /* of a and of b */
    vec3 inside_vector[2];
    vec3 vector;      /* area vector of a over triangles that face opposite ways */
    vec3 moment;      /* first moment of the same */
    double depth;     /* the largest depth by which they are inside each other */
    double perimeter; /* summed over pairs that face the same way */
    box3 box;         /* of those facing opposite ways, along the world axes */
} contour_flush;

enum { CONTOUR_CACHED_LEAVES = 16 }; /* of each body, with positions in the frame */

typedef struct contour_leaf {
    uint32_t leaf, count;
    double largest; /* the largest absolute coordinate */
    contour_face face[BVH_WIDTH];
} contour_leaf;

typedef struct contour_work {
    abut_context *context;
    abut_status status;
    double tolerance; /* in frame units: triangles closer than this are coincident */
    mat3 world;       /* rotation of the frame to the world */
    contour_body body[2];
    contour_record *records[2];
    size_t count[2], capacity[2];
    uint32_t *record_of[2]; /* by triangle, or ABUT_NONE */
    box3 box;               /* of all crossings, along the world axes */
    contour_flush flush;
    contour_leaf leaves[2][CONTOUR_CACHED_LEAVES]; /* direct-mapped by the lowest bits of the leaf;
                                                      not initialised by the caller */
} contour_work;

/* Finds all crossings and coincident triangles. Stores a failure in work->status. */
void abuti_contour_find(contour_work *work, const pair_frame *frame);

/* Adds a boundary piece from x0 to x1 to a record. */
static inline void contour_add_piece(contour_record *r, double weight, vec3 x0, vec3 x1) {
    vec3 d0 = v3_sub(x0, r->apex), d1 = v3_sub(x1, r->apex);
    double twice = weight * v3_dot(r->normal, v3_cross(d0, d1));
    r->twice += twice;
    r->moment = v3_along(r->moment, twice, v3_add(d0, d1));
}

/* The winding number of a surface around a vertex of the other, with the symbolic shift of
 * abuti_contour_find(). */
int32_t abuti_contour_winding(const contour_work *work, int side, vec3 point);

#endif
