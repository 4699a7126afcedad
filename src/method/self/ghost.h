/* Separation tests for a triangle and a ghost during a step.
 *
 * Problem: ghosts are long and thin, arbitrarily oriented, and they move. Their boxes and 16-DOPs
 * are mostly empty. Method: four directions d of each ghost: both normals at the middle of the step
 * and, in its plane, the outward directions of its two long sides. If along one of them the lowest
 * corner of a triangle is above the highest of the ghost, at the start and at the end, the same
 * holds for all times between. A tree node has no corners but a box; all of its content is above if
 * the box is above both values of the ghost. Boxes and positions are floats in the frame of tree.c,
 * in which the mesh is within 1.
 *
 * Guarantee: a triangle that touches a ghost in the step is never separated. Values are sums of
 * three products of coordinates that were rounded once: their error is below 4.1 u |d|_1 P, u =
 * 2^-24, |d|_1 at most 3, P the largest |coordinate|, 1 for the mesh. Both sides together: 24.6 u
 * max(1, P) with the P of the ghost; we use 64 u. Losses by underflow are far smaller. Every
 * operation is monotonic: the value of a node's box is never above those of its content. So whether
 * a vertex, edge or face is tested against a ghost depends only on these two, not on the traversal.
 */
#ifndef ABUTI_SELF_GHOST_H
#define ABUTI_SELF_GHOST_H

#include "base/simd.h"

/* Bit k: lane k of a is at most that of b. */
static inline unsigned f4_below(f4 a, f4 b) {
    return m4_bits(f4_less_equal(a, b));
}

#define GHOST_MARGIN 0x1p-18f /* 64 u */
#define GHOST_MIN 1e-30f      /* shorter directions are ignored */

typedef struct ghost_sides {
    float d[3][4];    /* coordinates of the four directions */
    float most[2][4]; /* largest values of the ghost at the start and at the end, with the margin */
} ghost_sides;

/* Positions of a vertex at the start and at the end. */
typedef struct ghost_position {
    float at[2][4]; /* x, y, z, and 0 */
} ghost_position;

/* Values along the directions at both ends of the step: of a vertex, or the smallest of several. */
typedef struct ghost_values {
    f4 at[2];
} ghost_values;

static inline ghost_values ghost_values_of(const ghost_sides *g, const ghost_position *place) {
    ghost_values v;
    for (int i = 0; i < 2; i++) {
        v.at[i] = f4_mul(f4_load(g->d[0]), f4_all(place->at[i][0]));
        v.at[i] = f4_add(v.at[i], f4_mul(f4_load(g->d[1]), f4_all(place->at[i][1])));
        v.at[i] = f4_add(v.at[i], f4_mul(f4_load(g->d[2]), f4_all(place->at[i][2])));
    }
    return v;
}

static inline ghost_values ghost_lower(ghost_values a, ghost_values b) {
    a.at[0] = f4_min(a.at[0], b.at[0]);
    a.at[1] = f4_min(a.at[1], b.at[1]);
    return a;
}

/* The smallest values of a box at all times. */
static inline f4 ghost_lowest(const ghost_sides *g, const float *lo, const float *hi) {
    f4 value = f4_all(0.0f);
    for (int k = 0; k < 3; k++) {
        f4 d = f4_load(g->d[k]), zero = f4_all(0.0f);
        value = f4_add(value, f4_add(f4_mul(f4_max(d, zero), f4_all(lo[k])),
                                     f4_mul(f4_min(d, zero), f4_all(hi[k]))));
    }
    return value;
}

/* Whether nothing separates: along no direction is the object above the ghost at both ends of the
 * step. */
static inline bool ghost_is_near(const ghost_sides *g, const ghost_values *lowest) {
    const unsigned at_start = f4_below(lowest->at[0], f4_load(g->most[0]));
    return (at_start | f4_below(lowest->at[1], f4_load(g->most[1]))) == 15;
}
static inline bool ghost_box_is_near(const ghost_sides *g, const float *lo, const float *hi) {
    return f4_below(ghost_lowest(g, lo, hi), f4_max(f4_load(g->most[0]), f4_load(g->most[1]))) ==
           15;
}

static inline float ghost_abs(float x) {
    return x < 0 ? -x : x;
}

/* Scales to a largest |coordinate| of 1, or to 0. */
static inline void ghost_scale(float *d) {
    float largest = 0;
    for (int k = 0; k < 3; k++)
        largest = ghost_abs(d[k]) > largest ? ghost_abs(d[k]) : largest;
    for (int k = 0; k < 3; k++)
        d[k] = largest > GHOST_MIN ? d[k] / largest : 0;
}

static inline void ghost_cross(const float *a, const float *b, float *to) {
    for (int k = 0; k < 3; k++) {
        int i = k == 2 ? 0 : k + 1, j = k == 0 ? 2 : k - 1;
        to[k] = a[i] * b[j] - a[j] * b[i];
    }
    ghost_scale(to);
}

/* Computes the directions from the positions of the corners; the last corner is the one that all
 * ghosts of the hole share. */
static inline void ghost_sides_of(const ghost_position *corner, ghost_sides *g) {
    float u[3], w[3], d[3][3], size = 1;
    for (int k = 0; k < 3; k++) {
        float tip = corner[2].at[0][k] + corner[2].at[1][k];
        u[k] = corner[0].at[0][k] + corner[0].at[1][k] - tip;
        w[k] = corner[1].at[0][k] + corner[1].at[1][k] - tip;
    }
    ghost_scale(u);
    ghost_scale(w);
    ghost_cross(u, w, d[0]);
    ghost_cross(u, d[0], d[1]); /* away from w: u x (u x w) . w = (u.w)^2 - u.u w.w */
    ghost_cross(d[0], w, d[2]);
    for (int k = 0; k < 3; k++) {
        g->d[k][0] = d[0][k];
        g->d[k][1] = -d[0][k];
        g->d[k][2] = d[1][k];
        g->d[k][3] = d[2][k];
    }
    ghost_values a = ghost_values_of(g, &corner[0]), b = ghost_values_of(g, &corner[1]);
    ghost_values c = ghost_values_of(g, &corner[2]);
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 6; k++) {
            float x = ghost_abs(corner[j].at[k / 3][k % 3]);
            size = x > size ? x : size;
        }
    for (int i = 0; i < 2; i++)
        f4_store(g->most[i],
                 f4_add(f4_max(a.at[i], f4_max(b.at[i], c.at[i])), f4_all(size * GHOST_MARGIN)));
}

#endif
