/* What the kernels of pair queries and the host agree on. */
#ifndef ABUTI_PAIR_SHARED_H
#define ABUTI_PAIR_SHARED_H

#include "base/math_shared.h"

/* Where b is seen from a: x = turn y + shift. */
typedef struct pair_pose {
    float turn[3][3]; /* columns */
    float shift[3];
    float pad, unit_a, unit_b;
    word32 skip; /* not for the device */
    /* Of distances: how much they err, how far to look, and below what the first found will do. */
    float margin, upper, sure, unused;
} pair_pose;

#if ABUTI_REAL_BITS == 64
/* As abuti_motion. */
typedef struct pair_motion {
    mat3 rotation;
    vec3 translation;
    word32 rotates, unused;
    double tie; /* of pair_frame */
} pair_motion;
#endif

#define PAIR_GROUP 128   /* items of pair_meet and pair_closest: a pose */
#define MEASURE_GROUP 64 /* of pair_measure */

/* Instead of a number of pairs. */
#define PAIR_MEETS 0xffffffffu
#define PAIR_TOO_MUCH 0xfffffffeu
#define PAIR_WITHIN 0xfffffffdu

/* pair_meet: pairs of boxes, of leaves that wait and that are looked at, of triangles that the host
 * may be asked about; and 5 numbers. */
#define MEET_STACK 1024
#define MEET_LOOKED (PAIR_GROUP / 16)
#define MEET_LEAVES (PAIR_GROUP + MEET_LOOKED)
#define PAIR_UNSURE 32
#define MEET_BYTES (8 * (MEET_STACK + MEET_LEAVES + PAIR_UNSURE) + 4 * 5)

/* pair_closest: pairs of boxes, of leaves that wait and that are looked at, of triangles to be
 * looked at closely, to be measured, and that may be closest, of which a group is listed at most.
 * Boxes, leaves and the last have a bound each; and there are two for each item, and 7 numbers. */
#define CLOSEST_STACK 1024
#define CLOSEST_LOOKED (PAIR_GROUP / 4)
#define CLOSEST_LEAVES (PAIR_GROUP + CLOSEST_LOOKED)
#define CLOSEST_LIKELY (5 * PAIR_GROUP)
#define CLOSEST_CLOSE (2 * PAIR_GROUP)
#define CLOSEST_KEPT (2 * PAIR_GROUP)
#define PAIR_CANDIDATES PAIR_GROUP
#define CLOSEST_BYTES                                                                              \
    (12 * (CLOSEST_STACK + CLOSEST_LEAVES + CLOSEST_KEPT) + 8 * (CLOSEST_LIKELY + CLOSEST_CLOSE) + \
     4 * (2 * PAIR_GROUP + 7))

#define MEASURE_BYTES (16 * MEASURE_GROUP)

#endif
