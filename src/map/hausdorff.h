/* What the files of the Hausdorff distance share; hausdorff.c says what for. */
#ifndef ABUTI_MAP_HAUSDORFF_H
#define ABUTI_MAP_HAUSDORFF_H

#include "map/map.h"

/* Candidates: of the three corners, and one more. */
enum { MIDDLE = 3, TRIED };

/* A part of a triangle of a. d[c][i] is an upper bound of the distance from corner i to candidate
 * c. The candidate of corner i is its nearest triangle once that has been asked for. */
typedef struct piece {
    vec3 corner[3];
    uint32_t candidate[TRIED];
    uint32_t level;
    bool asked[TRIED];
    double d[TRIED][3];
} piece;

/* What is known so far. */
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
    double tolerance, fine; /* what is that small decides nothing */
    double rounding, step;
    const abut_nearest *nearest; /* of vertices */
    uint32_t *across;            /* of side k of triangle t of b, 3 t + k: the side that it
                                  * shares, by place, with one other triangle; or ABUT_NONE */
    sort_key *pending;           /* triangles by bound; the greatest first */
    size_t begin;                /* of the round */
    finding known;
    finding *found; /* by task */
} hausdorff;

/* ---- hausdorff_cover.c: b as seen from a piece ---- */

typedef enum covering { COVER_NONE = 0, COVER_WHOLE, COVER_TOO_MANY } covering;

/* Finds which sides of triangles of b are shared by two. */
abut_status abuti_hausdorff_join(hausdorff *h);
/* Whether triangles of b cover a piece of a triangle of a, by less than `enough` above it: a bound
 * of their heights, and the point of the piece that is below the greatest. */
covering abuti_hausdorff_cover(const hausdorff *h, uint32_t triangle, const piece *p, double enough,
                               double *height, vec3 *point);

#endif
