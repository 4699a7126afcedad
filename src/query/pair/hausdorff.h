/* Types and functions of the Hausdorff distance; see hausdorff.c for the method. */
#ifndef ABUTI_PAIR_HAUSDORFF_H
#define ABUTI_PAIR_HAUSDORFF_H

#include "pair/pair.h"

#include <abut/nearest.h>

/* Candidates: one for each of the three corners, and one more. */
enum { MIDDLE = 3, HAUSDORFF_CANDIDATES };

/* A part of a triangle of a. d[c][i] is an upper bound of the distance from corner i to candidate
 * c. Candidate i is the nearest triangle of corner i once it has been queried. */
typedef struct piece {
    vec3 corner[3];
    uint32_t candidate[HAUSDORFF_CANDIDATES];
    uint32_t level;
    bool asked[HAUSDORFF_CANDIDATES];
    double d[HAUSDORFF_CANDIDATES][3];
} piece;

/* Bounds and witness points found so far. */
typedef struct finding {
    double lower, upper;
    uint32_t triangle, other;
    vec3 point, other_point;
    uint64_t pieces;
} finding;

typedef struct hausdorff {
    const abut_mesh *a;
    const abut_bvh *a_bvh, *b;
    abut_context *context;
    double tolerance, fine; /* differences below `fine` do not matter */
    double rounding, step;
    const abut_nearest *nearest; /* of vertices of a */
    uint32_t *across;  /* for side k of triangle t of b, index 3 t + k: the only other side on the
                          same edge, or ABUT_NONE */
    sort_key *pending; /* triangles by bound, largest first */
    size_t begin;      /* first triangle of the round */
    finding known;
    finding *found; /* one per task */
} hausdorff;

/* ---- hausdorff_cover.c: projection of b on a piece ---- */

typedef enum covering { COVER_NONE = 0, COVER_WHOLE, COVER_TOO_MANY } covering;

/* Finds the sides of triangles of b that are shared by exactly two triangles. */
abut_status abuti_hausdorff_pair_sides(hausdorff *h);
/* Whether triangles of b cover a piece of a triangle of a, at heights below `enough`. Sets an upper
 * bound of their heights, and the point of the piece below the largest one. */
covering abuti_hausdorff_cover(const hausdorff *h, uint32_t triangle, const piece *p, double enough,
                               double *height, vec3 *point);

#endif
