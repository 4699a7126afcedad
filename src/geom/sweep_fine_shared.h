/* A last look at what the search of sweep_shared.h calls a hit: do the features only pass within
 * the tolerance, on the border of a feature, as a body that slides down along another does? Then
 * what keeps them apart is often a gap far below the rounding of the extent of the pair, yet not
 * below that of the coordinates across it, which are near zero, or equal at the start.
 *
 * Method: directions as in sweep_proof_shared.h, but with gaps between vertices themselves and a
 * bound on rounding that is relative to each gap: the axes; those of the closest points; and those
 * square to an edge, or to the way from one vertex to another, and to the motion of one feature
 * against the other. Each proves a stretch of time, and the next goes on where it ends.
 * Only hits at the border of a feature are looked at: inside a face, or inside both edges, what
 * comes so near does meet but for rare cases, and hits have to be quick.
 *
 * Guarantee: "apart" is true. Proof, with u = 2^-53 and in the letters of sweep_proof_shared.h: a
 * difference d = fl(p_i - p_j) is off by u |d| in each coordinate and never underflows. Along an
 * axis g = d or -d, so that its sign is the true one. For any other n, terms of n.d are off by
 * 2.01 u of themselves and 2^-1075, two sums by 2.01 u S, S the sum of the sizes of the terms: we
 * take B = fl(6 u S + 2^-1022), of which the last subtraction and the roundings in B and S need
 * 1.1 u S, so that G = fl(g - B) is at most the true gap. As there it suffices that (1 - t) G(0) +
 * t G(1) > 0, which is so on one side of c = G(0) / (G(0) - G(1)). Along an axis both G are off by
 * u of themselves, their difference (they have different signs) by 2 u, and c with its product by
 * 5 u; we take 8 u. What overflows is not finite in the end, and proves nothing. */
#ifndef ABUTI_GEOM_SWEEP_FINE_SHARED_H
#define ABUTI_GEOM_SWEEP_FINE_SHARED_H

#include "geom/sweep_proof_shared.h"

#if ABUTI_REAL_BITS == 64

/* How far n, or -n, proves the features apart: as sweep_proof(). `slack`: 6 u, or 0 for an axis. */
static inline real sweep_fine_proof(int kind, const vec3 *start, const vec3 *end, vec3 n,
                                    real slack, real time) {
    real until = REAL(2.0), side = REAL(0.0);
    for (int k = 0; k < 2 + kind; k++) {
        int i = kind == SWEEP_EDGE_EDGE ? k & 1 : 0;
        int j = kind == SWEEP_EDGE_EDGE ? 2 + (k >> 1) : 1 + k;
        real g[2], bound[2];
        for (int m = 0; m < 2; m++) {
            vec3 d = m ? v3_sub(end[i], end[j]) : v3_sub(start[i], start[j]);
            d = v3(n.x * d.x, n.y * d.y, n.z * d.z);
            g[m] = d.x + d.y + d.z;
            bound[m] = slack > REAL(0.0)
                           ? slack * (real_abs(d.x) + real_abs(d.y) + real_abs(d.z)) + REAL_MIN
                           : REAL(0.0);
        }
        if (k == 0)
            side = (REAL(1.0) - time) * g[0] + time * g[1] < REAL(0.0) ? REAL(-1.0) : REAL(1.0);
        g[0] = side * g[0] - bound[0];
        g[1] = side * g[1] - bound[1];
        real fall = g[0] - g[1];
        if (g[0] > REAL(0.0)) {
            if (!(g[1] > REAL(0.0))) {
                real c = g[0] / fall * (REAL(1.0) - REAL(4.0) * REAL_EPSILON) - REAL_MIN;
                if (!(c > time)) /* nor where it is no number */
                    return time;
                until = real_min(until, c);
            }
        } else if (!(g[1] > REAL(0.0)) || !(fall >= -REAL_MAX) ||
                   !(g[0] / fall * (REAL(1.0) + REAL(4.0) * REAL_EPSILON) + REAL_MIN < time)) {
            return time;
        }
    }
    return until;
}

/* The motion of the first feature against the second, times something. */
static inline vec3 sweep_relative_motion(int kind, const vec3 *start, const vec3 *end) {
    vec3 move[4];
    for (int k = 0; k < 4; k++)
        move[k] = v3_sub(end[k], start[k]);
    return kind == SWEEP_EDGE_EDGE
               ? v3_sub(v3_add(move[0], move[1]), v3_add(move[2], move[3]))
               : v3_sub(v3_scale(move[0], REAL(3.0)), v3_add(move[1], v3_add(move[2], move[3])));
}

#endif
#endif
