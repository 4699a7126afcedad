/* Two closed surfaces that cut each other: what the files of abut_pair_measure share.
 *
 * Here b is the smaller body. Units and axes are those of the frame: the axes and the origin of b's
 * mesh, lengths times a power of two in which the larger mesh has coordinates up to 2. Vertices of
 * a are turned, shifted and rounded once on their way there; about those points every yes and no is
 * exact.
 */
#ifndef ABUTI_PAIR_CONTOUR_H
#define ABUTI_PAIR_CONTOUR_H

#include "pair/pair.h"

/* ---- closed_surface.c: a mesh as a closed surface ---- */

typedef struct pair_shell {
    bvh_part part;
    const abut_bvh *bvh;
    bool open, flipped;      /* it has a border; neighbours face opposite ways */
    abut_topology *topology; /* vertices in one place as one, where that closes it; or null: open */
    abut_topology_arrays view;
    const uint32_t *corner; /* 3 a triangle */
    uint32_t *part_face;    /* a triangle of each component */
    double area, volume;    /* in units of bvh->scale; below 0 where it faces inwards */
} pair_shell;

/* Gives it; made by the first call and kept by the hierarchy. Thread-safe. */
abut_status abuti_pair_shell(const abut_bvh *bvh, const pair_shell **shell);

/* ---- contour.c: where two shells meet ---- */

typedef struct cut_body {
    const abut_bvh *bvh;
    const pair_shell *shell;
    bool turns; /* a: into the frame */
    mat3 turn;  /* with the unit */
    vec3 shift;
    double unit;   /* of the frame for one of the mesh: a power of two */
    double facing; /* 1, or -1 where it faces inwards */
} cut_body;

/* Where a vertex is in the frame. */
static inline vec3 cut_place(const cut_body *body, uint32_t vertex) {
    vec3 p = body->bvh->mesh->positions[vertex];
    return body->turns ? v3_add(m3_apply(&body->turn, p), body->shift) : v3_scale(p, body->unit);
}

/* A triangle in the frame: its plane, and the lines of its edges by a direction and a moment each
 * (Pluecker coordinates). */
typedef struct cut_face {
    uint32_t face;
    bool collapsed;
    const uint32_t *corner;
    vec3 at[3], way[3], moment[3];
    vec3 normal;    /* twice its area long */
    double length;  /* of the normal */
    double offset;  /* normal . x, of its plane */
    double longest; /* of the directions, along an axis */
} cut_face;

/* A triangle that the other surface cuts. Of its boundary and of the segments across it, those that
 * are known before any vertex is: sums over directed pieces x0 x1 with their weights,
 *   twice = normal . sum (x0 - apex) x (x1 - apex)
 *   moment = the same, each term times (x0 - apex) + (x1 - apex). */
typedef struct cut_record {
    uint32_t face;
    bool crossed[3];
    int32_t jump[3]; /* of the winding of the other surface along each edge */
    vec3 at[3], normal;
    vec3 apex;    /* somewhere on the cut */
    vec3 stop[3]; /* a crossing on each edge that has any */
    double twice;
    vec3 moment;
} cut_record;

/* Triangles of both that lie on each other. Areas are positive; `inside` is what of the sums over
 * records belongs to them. */
typedef struct cut_flush {
    double area[2];   /* facing opposite ways, the same way */
    double inside[2]; /* of a and of b */
    vec3 inside_vector[2];
    vec3 vector;  /* of a where facing opposite ways */
    vec3 moment;  /* first moment of that */
    double depth; /* by which they are in each other, at most */
    double rim;   /* the length around those that face the same way */
    box3 box;     /* along the world's axes: of those facing opposite ways */
} cut_flush;

enum { CUT_LEAVES = 16 }; /* of each body that were placed lately */

typedef struct cut_leaf {
    uint32_t leaf, count;
    double largest; /* coordinate */
    cut_face face[BVH_WIDTH];
} cut_leaf;

typedef struct cut_work {
    abut_context *context;
    abut_status status;
    double tolerance; /* in units: what is as close lies on each other */
    mat3 world;       /* the axes of the world, as rows */
    cut_body body[2];
    cut_record *records[2];
    size_t count[2], room[2];
    uint32_t *record_of[2]; /* by triangle, or ABUT_NONE */
    box3 box;               /* of all crossings, along the world's axes */
    cut_flush flush;
    cut_leaf leaves[2][CUT_LEAVES]; /* each in the place of its lowest bits; need not be cleared */
} cut_work;

/* Finds all; work->status tells of failures. */
void abuti_cut_find(cut_work *work, const pair_frame *frame);

/* Adds a piece of boundary from x0 to x1 to a record. */
static inline void cut_add(cut_record *r, double weight, vec3 x0, vec3 x1) {
    vec3 d0 = v3_sub(x0, r->apex), d1 = v3_sub(x1, r->apex);
    double twice = weight * v3_dot(r->normal, v3_cross(d0, d1));
    r->twice += twice;
    r->moment = v3_along(r->moment, twice, v3_add(d0, d1));
}

/* How often a surface winds around a vertex of the other, both as abuti_cut_find sees them. */
int32_t abuti_cut_winding(const cut_work *work, int side, vec3 point);

#endif
