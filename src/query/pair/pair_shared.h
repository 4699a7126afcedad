/* Structs, sizes and ties that the kernels of pair queries share with the host. */
#ifndef ABUTI_PAIR_SHARED_H
#define ABUTI_PAIR_SHARED_H

#include "base/math_shared.h"

/* The largest distance of a pair that ties with the nearest: `tie` more, and at most 1/1024 of the
 * distance more. */
static inline real pair_tie_reach(real nearest, real tie) {
    return nearest + real_min(tie, nearest * REAL(0.0009765625));
}

/* Transforms b into the axes of a: x = rotation y + shift. */
typedef struct pair_pose {
    float rotation[3][3]; /* columns */
    float shift[3];
    float pad, unit_a, unit_b;
    word32 is_skipped; /* the host computes this pose */
    /* For distances: their error, the initial upper bound, and the bound below which the first pair
     * found is sufficient. */
    float margin, upper, certain_upper, unused;
} pair_pose;

#if ABUTI_REAL_BITS == 64
/* As abuti_motion. */
typedef struct pair_motion {
    mat3 rotation;
    vec3 translation;
    word32 rotates, unused;
    double tie; /* as pair_frame.tie */
} pair_motion;
#endif

#define PAIR_GROUP 128   /* work-items of pair_intersect and pair_closest for a pose */
#define MEASURE_GROUP 64 /* the same of pair_measure */

/* Instead of a number of pairs. */
#define PAIR_INTERSECTS 0xffffffffu
#define PAIR_OVERFLOW 0xfffffffeu
#define PAIR_WITHIN 0xfffffffdu

/* pair_intersect: capacity for pairs of boxes, pairs of leaves that are tested at a time and in
 * total, and uncertain pairs of triangles; and 5 counters. */
#define INTERSECT_STACK 1024
#define INTERSECT_LEAVES_PER_ROUND (PAIR_GROUP / 16)
#define INTERSECT_LEAVES (PAIR_GROUP + INTERSECT_LEAVES_PER_ROUND)
#define PAIR_UNCERTAIN_MAX 32
#define INTERSECT_BYTES (8 * (INTERSECT_STACK + INTERSECT_LEAVES + PAIR_UNCERTAIN_MAX) + 4 * 5)

/* pair_closest: capacity for pairs of boxes; pairs of leaves that are projected at a time and in
 * total; pairs of triangles to be projected, to be measured, and candidates, of which at most a
 * group is listed. Boxes, leaves and candidates have a bound each. There are two floats for each
 * work-item and 7 counters. */
#define CLOSEST_STACK 1024
#define CLOSEST_LEAVES_PER_ROUND (PAIR_GROUP / 4)
#define CLOSEST_LEAVES (PAIR_GROUP + CLOSEST_LEAVES_PER_ROUND)
#define CLOSEST_PROJECTED (5 * PAIR_GROUP)
#define CLOSEST_CLOSE (2 * PAIR_GROUP)
#define CLOSEST_CANDIDATES (2 * PAIR_GROUP)
#define PAIR_CANDIDATES_MAX PAIR_GROUP
#define CLOSEST_BYTES                                             \
    (12 * (CLOSEST_STACK + CLOSEST_LEAVES + CLOSEST_CANDIDATES) + \
     8 * (CLOSEST_PROJECTED + CLOSEST_CLOSE) + 4 * (2 * PAIR_GROUP + 7))

#define MEASURE_BYTES (16 * MEASURE_GROUP)

#endif
