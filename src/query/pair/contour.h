/* The intersection contour of two surfaces, for any input: the one engine behind
 * abut_pair_measure() and the contact patches of two meshes.
 *
 * Coordinates refer to a frame: the axes and the origin of the mesh of b. Vertices of a are
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

/* Creates the topology of a mesh in which vertex v is names[v], the lowest one with equal
 * coordinates, so that seams of a triangle soup are edges. `names` may be null. `is_reversed`
 * reverses the triangles. */
abut_status abuti_pair_merged_topology(abut_mesh *mesh, const uint32_t *names, bool is_reversed,
                                       abut_topology **topology);
/* Whether the vertices that were merged for such a topology still have equal coordinates. */
bool abuti_pair_is_merged(const abut_mesh *mesh, bool is_reversed, const uint32_t *corner);

/* ---- contour.c ---- */

typedef struct contour_body {
    const abut_bvh *bvh;
    const uint32_t *corner; /* three vertices per triangle, after merging */
    const vec3 *offset;     /* of each vertex, times skin_width; null = by find_offset() */
    vec3 (*find_offset)(const void *skin, uint32_t vertex); /* null = no skin */
    const void *skin;
    double skin_width, jitter; /* jitter: largest random change of a coordinate of the skin */
    uint64_t seed;
    bool is_rotated; /* a is transformed into the frame, b only scaled */
    mat3 rotation;   /* times the unit */
    vec3 shift;
    double unit; /* frame units per mesh unit: a power of two */
} contour_body;

/* The position of a vertex of the skin, in the coordinates of the mesh. */
static inline vec3 contour_skin_position(const contour_body *body, uint32_t vertex) {
    uint64_t z = vertex * UINT64_C(0x9e3779b97f4a7c15) +
                 body->seed; /* splitmix64 (Steele and others 2014) */
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    const double unit = 2.0 / 0x1fffff; /* 21 bits to a number in [-1, 1] */
    vec3 random = v3((double)(z & 0x1fffff) * unit - 1, (double)(z >> 21 & 0x1fffff) * unit - 1,
                     (double)(z >> 42 & 0x1fffff) * unit - 1);
    const vec3 offset = body->offset ? body->offset[vertex] : body->find_offset(body->skin, vertex);
    vec3 p = v3_along(body->bvh->mesh->positions[vertex], body->skin_width, offset);
    return v3_along(p, body->jitter, random);
}

/* The position of a vertex in the frame. */
static inline vec3 contour_position(const contour_body *body, uint32_t vertex) {
    vec3 p = body->find_offset ? contour_skin_position(body, vertex)
                               : body->bvh->mesh->positions[vertex];
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
    double offset;  /* of the plane: normal . x */
    double longest; /* the largest absolute coordinate of the edge directions */
    double largest; /* the largest absolute coordinate of the corners */
} contour_face;

/* The heights of the corners of a triangle above the plane of the other one, times twice its area.
 */
typedef struct contour_heights {
    double value[3], error;
    int above[3]; /* +1 is outside; 0 if the plane is undefined */
    int zeros;    /* corners in the plane, before the symbolic shift */
} contour_heights;

typedef struct contour_pair {
    const contour_face *face[2];
    contour_heights of[2];
} contour_pair;

/* The intersection of edge `edge` of the triangle of `side` with the other triangle. */
typedef struct contour_crossing {
    int side, edge;
    int jump; /* of the winding number along the edge, in the direction of its triangle */
    double t; /* along the edge, from the vertex with the lower index */
    vec3 at;
} contour_crossing;

/* Receives the segment in which two triangles intersect: from ends[begin] to ends[!begin], with the
 * inside of b to its left on a's triangle. */
typedef void contour_segment_visitor(void *data, const contour_pair *pair,
                                     const contour_crossing ends[2], int begin);
/* Receives two triangles whose planes are almost parallel. `cosine`: of their normals, times both
 * lengths. */
typedef void contour_parallel_visitor(void *data, const contour_pair *pair, double cosine);

enum { CONTOUR_CACHED_FACES = 64, CONTOUR_CACHED_VERTICES = 256 }; /* of each body */

typedef struct contour_search {
    contour_body body[2];
    contour_segment_visitor *visit_segment;
    contour_parallel_visitor *visit_parallel; /* or null */
    void *data;
    abut_status status;  /* visitors end the search by an error */
    bool has_candidates; /* the broad phase found candidate pairs of triangles */
    /* Direct-mapped caches by the index of a triangle in the leaves, and by vertex; in the frame.
     * Not initialised by the caller. */
    uint32_t cached[2][CONTOUR_CACHED_FACES], cached_vertex[2][CONTOUR_CACHED_VERTICES];
    contour_face faces[2][CONTOUR_CACHED_FACES];
    vec3 cached_position[2][CONTOUR_CACHED_VERTICES];
} contour_search;

/* The position of a vertex in the frame, during and after abuti_contour_find(). */
static inline vec3 contour_cached_position(contour_search *search, uint32_t side, uint32_t vertex) {
    uint32_t slot = vertex % CONTOUR_CACHED_VERTICES;
    if (search->cached_vertex[side][slot] != vertex) {
        search->cached_vertex[side][slot] = vertex;
        search->cached_position[side][slot] = contour_position(&search->body[side], vertex);
    }
    return search->cached_position[side][slot];
}

/* Visits all segments and parallel triangles. Returns search->status, or that of a cancelled call.
 * `what`: name of the query for the progress callback. */
abut_status abuti_contour_find(contour_search *search, const pair_frame *frame, const char *what);

/* The winding number of the surface of a side around a vertex of the other, with the symbolic shift
 * of abuti_contour_find(). */
int32_t abuti_contour_winding(const contour_search *search, int side, vec3 point);

/* ---- coincident_faces.c ---- */

/* Sums over pairs of coincident triangles of both surfaces. Areas are positive. `inside` is the
 * share of these triangles in the sums over crossed triangles; it is subtracted later. */
typedef struct contour_flush {
    double area[2];   /* of triangles that face opposite ways, the same way */
    double inside[2]; /* of a and of b */
    vec3 inside_vector[2];
    vec3 vector;      /* area vector of a over triangles that face opposite ways */
    vec3 moment;      /* first moment of the same */
    double depth;     /* the largest depth by which they are inside each other */
    double perimeter; /* summed over pairs that face the same way */
    box3 box;         /* of those facing opposite ways, along the world axes */
    double tolerance; /* in frame units: triangles closer than this are coincident */
    double facing[2]; /* of each surface: 1, or -1 if it faces inwards */
    mat3 world;       /* rotation of the frame to the world */
} contour_flush;

/* Adds two triangles whose planes are almost parallel, if they are coincident. */
void abuti_contour_add_coincident(contour_flush *sum, const contour_pair *pair, double cosine);

#endif
