/* The intersection contours of a cloth that starts crossed; for untangle.c. */
#ifndef ABUTI_CLOTH_CONTOURS_H
#define ABUTI_CLOTH_CONTOURS_H

#include "cloth/cloth.h"

/* Triangles and edges of sheets have the numbers of their group; those of bodies follow. Vertices
 * are those of all arrays of a cloth. */

/* An edge that passes through a triangle. */
typedef struct cloth_crossing {
    uint32_t edge, face;
    uint32_t contour, side; /* the contour, and which of its surfaces has the edge */
    double t;               /* along the edge, from its lower vertex */
    bool first_is_above;    /* the lower vertex is on the side of the normal of the face */
    double weight;          /* half the length of the contour up to the adjacent crossings */
    vec3 at;
    vec3 along; /* sum of the unit vectors from the crossing along the contour */
} cloth_crossing;

/* A connected curve in which two surfaces intersect. Its first surface is of a sheet. */
typedef struct cloth_contour {
    uint32_t first, count; /* crossings, those of edges of the first surface before the others */
    uint32_t body;         /* the second surface is of a body */
    uint32_t is_joined; /* both surfaces are one: the curve ends where a sheet folds into itself */
} cloth_contour;

/* All contours of a state. Arrays keep their memory between uses. */
typedef struct cloth_contours {
    abuti_vector pairs;               /* uint64_t: first triangle << 32 | second; sorted */
    abuti_vector keys, spare;         /* uint64_t */
    abuti_vector parents;             /* uint32_t */
    abuti_vector ends;                /* uint32_t: two crossings of each pair, or ABUT_NONE */
    abuti_vector crossings, contours; /* cloth_crossing, cloth_contour */
} cloth_contours;

/* Finds all intersecting pairs of triangles of the current positions, exactly, and their contours.
 */
abut_status abuti_cloth_find_contours(abut_cloth *c, cloth_contours *found);
void abuti_cloth_free_contours(const abut_cloth *c, cloth_contours *found);

static inline bool cloth_face_is_of_body(const abut_cloth *c, uint32_t face) {
    return face >= c->triangles;
}
static inline void cloth_face_corners(const abut_cloth *c, uint32_t face, uint32_t corner[3]) {
    const bool is_body = cloth_face_is_of_body(c, face);
    const uint32_t *from =
        c->groups[is_body].indices + 3 * (size_t)(face - (is_body ? c->triangles : 0));
    for (int k = 0; k < 3; k++)
        corner[k] = from[k] + (is_body ? c->vertices : 0);
}
static inline uint32_t cloth_sheet_edges(const abut_cloth *c) {
    return c->groups[SHEETS].view.edge_count;
}
static inline void cloth_edge_ends(const abut_cloth *c, uint32_t edge, uint32_t end[2]) {
    const bool is_body = edge >= cloth_sheet_edges(c);
    const uint32_t *from =
        c->groups[is_body].view.edges + 2 * (size_t)(edge - (is_body ? cloth_sheet_edges(c) : 0));
    end[0] = from[0] + (is_body ? c->vertices : 0);
    end[1] = from[1] + (is_body ? c->vertices : 0);
}
/* The normal of a triangle; its length is twice the area. */
static inline vec3 cloth_face_normal(const abut_cloth *c, uint32_t face) {
    uint32_t v[3];
    cloth_face_corners(c, face, v);
    const vec3 *x = c->position;
    return v3_cross(v3_sub(x[v[1]], x[v[0]]), v3_sub(x[v[2]], x[v[0]]));
}

#endif
