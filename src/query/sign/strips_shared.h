/* The winding number of a surface with a boundary around a point, up to rounding, for C and OpenCL
 * C, with the same bits on both.
 *
 * Strips from the boundary edges to infinity against a ray from the point close the surface. The
 * ray crosses none of them and ends outside, so the winding number of the closed surface is the
 * number of crossings N. The contribution of the strips is known (Martens & Bessmeltsev 2024,
 * "One-shot method for computing generalized winding numbers"). The result does not depend on the
 * BVH.
 */
#ifndef ABUTI_SIGN_STRIPS_SHARED_H
#define ABUTI_SIGN_STRIPS_SHARED_H

#include "sign/angles_shared.h"
#include "sign/crossing_shared.h"

#ifdef ABUTI_PREDICATES

/* An end of an edge relative to the origin of a ray: its components across the ray, and its length
 * + component against the ray. */
typedef struct strip_end {
    double first, second, against;
} strip_end;

/* Products of sums are scaled outside of this range and its inverse. */
#define STRIP_RANGE 0x1p300
/* For a point nearer to an edge than any rounding error, its strip does not count. */
#define STRIP_MIN 0x1p-600

/* `scale` brings the coordinates to the order of 1. For an end straight ahead only the direction of
 * the symbolic shift matters. */
static inline strip_end strip_end_of(const axis_ray *ray, vec3 end, double scale) {
    vec3 d = v3_scale(v3_sub(end, ray->from), scale);
    double first = v3_get(d, (ray->axis + 1) % 3), second = v3_get(d, (ray->axis + 2) % 3);
    double against = -ray->sense * v3_get(d, ray->axis), length = v3_length(d);
    double across_sq = first * first + second * second;
    strip_end e;
    e.first = across_sq == 0.0 && against < 0.0 ? -1.0 : first;
    e.second = second;
    e.against = against >= 0.0 ? length + against : across_sq / (length - against);
    return e;
}

/* Adds half the solid angle of the strip of an edge, traversed from `to` to `from`, with their ends
 * b and a: that of a triangle with one corner at infinity (Van Oosterom & Strackee 1983). For unit
 * vectors c their |a| |b| + a . b + (a . c) |b| + (b . c) |a| is (|a| + a . c) (|b| + b . c) plus
 * the product of the components across c, without cancellation. The side of the ray on which the
 * edge is follows from the predicate of triangles, so that both agree if it is on neither. */
static inline void half_angles_add_strip(half_angles *sum, const axis_ray *ray, vec3 from, vec3 to,
                                         strip_end b, strip_end a) {
    int side = ray->sense * side_of_edge(ray->axis, from, to, ray->from);
    double volume = fabs(a.first * b.second - a.second * b.first);
    double rest = a.against * b.against + (a.first * b.first + a.second * b.second);
    if (side == 0 || !(volume > STRIP_MIN || fabs(rest) > STRIP_MIN))
        return;
    if (side < 0 && volume == 0.0 && rest < 0.0)
        sum->turns -= 1.0; /* half a turn backwards instead of forwards */
    half_angles_add(sum, rest, side * volume);
    double size = real_max(fabs(sum->x), fabs(sum->y));
    if (size > STRIP_RANGE || size < 1.0 / STRIP_RANGE)
        half_angles_scale(sum);
}

/* The winding number, from N and the sum over the strips. */
static inline double strips_winding(int crossed, const half_angles *sum) {
    return crossed - winding_value(0.0, sum->x, sum->y, sum->turns);
}

#endif
#endif
