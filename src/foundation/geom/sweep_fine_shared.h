/* A final test of hits of the search in sweep_shared.h: do the features only pass each other within
 * the tolerance, at the boundary of a feature, as when a body slides down along another? The gap
 * between them is then often far below the rounding error of the extent of the pair. It is not
 * below that of the coordinates across the gap, which are near zero, or equal at the start.
 *
 * Method: directions as in sweep_proof_shared.h, but with gaps between the vertices themselves and
 * an error bound that is relative to each gap. The directions are the axes, those of the closest
 * points, and those orthogonal to the relative motion of the features and to an edge or to the
 * vector between two vertices. Each direction proves a time interval, and the next one continues at
 * its end. Only hits at the boundary of a feature are tested: inside a face, or inside both edges,
 * features that come so close do touch except in rare cases, and hits must be fast.
 *
 * Guarantee: "apart" is certain. Proof, with u = 2^-53 and in the letters of sweep_proof_shared.h:
 * a difference d = fl(p_i - p_j) has an error of u |d| in each coordinate and never underflows.
 * Along an axis g = d or -d, so that its sign is exact. For any other n, terms of n.d have a
 * relative error of 2.01 u and an absolute error of 2^-1075; two sums have 2.01 u S, S the sum of
 * the magnitudes of the terms. The bound is B = fl(6 u S + 2^-1022), of which the last subtraction
 * and the roundings in B and S need 1.1 u S, so that G = fl(g - B) is at most the true gap. As
 * there it suffices that (1 - t) G(0) + t G(1) > 0, which holds on one side of c = G(0) / (G(0) -
 * G(1)). Along an axis both G have a relative error of u, their difference (they have different
 * signs) 2 u, and c with its product 5 u; 8 u are subtracted or added. Overflow gives a value that
 * is not finite, which proves nothing.
 */
#ifndef ABUTI_GEOM_SWEEP_FINE_SHARED_H
#define ABUTI_GEOM_SWEEP_FINE_SHARED_H

#include "geom/sweep_proof_shared.h"

#if ABUTI_REAL_BITS == 64

/* The time up to which n, or -n, proves the features apart: as sweep_proof(). `slack` is 6 u, or 0
 * for an axis. */
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
                if (!(c > time)) /* also false for NaN */
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

/* The motion of the first feature relative to the second, times a constant. */
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
