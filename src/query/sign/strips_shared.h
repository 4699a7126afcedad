/* The winding number of a surface with a boundary around a point, up to rounding, for C and OpenCL
 * C, with the same bits on both.
 *
 * Strips from the boundary edges along x to infinity close the surface. A ray from the point
 * towards lower x crosses none of them, so the winding number of the closed surface is the number
 * of crossings N; the contribution of the strips is known (Martens & Bessmeltsev 2024, "One-shot
 * method for computing generalized winding numbers"; see crossing.c, which may use other axes). The
 * result does not depend on the BVH.
 */
#ifndef ABUTI_SIGN_STRIPS_SHARED_H
#define ABUTI_SIGN_STRIPS_SHARED_H

#include "sign/angles_shared.h"
#include "sign/crossing_shared.h"

#ifdef ABUTI_PREDICATES

/* Surfaces with more boundary edges use fast winding numbers. */
#define STRIPS_MAX 4096

/* An end of an edge relative to a point: its components across x, and its length + component along
 * x. */
typedef struct strip_end {
    double y, z, along;
} strip_end;

/* For an end straight ahead only the direction of the symbolic shift matters. */
static inline strip_end strip_end_of(vec3 end, vec3 point) {
    vec3 d = v3_sub(end, point);
    double across_sq = d.y * d.y + d.z * d.z, length = v3_length(d);
    strip_end e;
    e.y = across_sq == 0.0 && d.x < 0.0 ? -1.0 : d.y;
    e.z = d.z;
    e.along = d.x >= 0.0 ? length + d.x : across_sq / (length - d.x);
    return e;
}

/* Adds the strip of a boundary edge: half its solid angle is that of the direction below
 * (strip_angle() of crossing.c). `side` is side_of_edge(0, from, to, point), as for triangles, so
 * that both agree if the ray is on neither. */
static inline void half_angles_add_strip(half_angles *sum, int side, vec3 from, vec3 to,
                                         vec3 point) {
    strip_end a = strip_end_of(to, point), b = strip_end_of(from, point);
    double volume = fabs(a.y * b.z - a.z * b.y);
    double rest = a.along * b.along + (a.y * b.y + a.z * b.z);
    double most = real_max(volume, fabs(rest));
    if (side == 0 || !(most > 0.0))
        return;
    if (side > 0 && volume == 0.0 && rest < 0.0)
        sum->turns -= 1.0; /* half a turn backwards instead of forwards */
    half_angles_add(sum, rest / most, -side * (volume / most));
    half_angles_scale(sum);
}

/* The winding number, from N and the sum over the strips. */
static inline double strips_winding(int crossed, const half_angles *sum) {
    return crossed - winding_value(0.0, sum->x, sum->y, sum->turns);
}

#endif
#endif
