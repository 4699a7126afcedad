/* The winding number of a surface with a border around a point, but for rounding, for C and OpenCL
 * C alike, and with the same bits on both.
 *
 * Strips from the edges of the border along x to infinity close the surface. A row from the point
 * towards lower x crosses none of them, so that the whole winds as often as the row crosses the
 * surface, N; the strips' part of that is known (Martens & Bessmeltsev 2024, "One-shot method for
 * computing generalized winding numbers"; see crossing.c, which may look along other axes). The
 * number depends on no hierarchy.
 */
#ifndef ABUTI_SIGN_STRIPS_SHARED_H
#define ABUTI_SIGN_STRIPS_SHARED_H

#include "sign/angles_shared.h"
#include "sign/crossing_shared.h"

#ifdef ABUTI_PREDICATES

/* Surfaces with more edges of their border are left to fast winding numbers. */
#define STRIPS_MAX 4096

/* An end of an edge seen from a point: what of it is across x, and length + part along x. */
typedef struct strip_end {
    double y, z, beside;
} strip_end;

/* Of one straight ahead only the direction in which the row is moved aside counts. */
static inline strip_end strip_end_of(vec3 end, vec3 point) {
    vec3 d = v3_sub(end, point);
    double across_sq = d.y * d.y + d.z * d.z, length = v3_length(d);
    strip_end e;
    e.y = across_sq == 0.0 && d.x < 0.0 ? -1.0 : d.y;
    e.z = d.z;
    e.beside = d.x >= 0.0 ? length + d.x : across_sq / (length - d.x);
    return e;
}

/* Adds the strip of an edge of the border: half its solid angle is that of the direction below
 * (strip_angle() of crossing.c). `side` is side_of_edge(0, from, to, point), as for triangles, so
 * that both agree where the row is on neither. */
static inline void half_angles_add_strip(half_angles *sum, int side, vec3 from, vec3 to,
                                         vec3 point) {
    strip_end a = strip_end_of(to, point), b = strip_end_of(from, point);
    double volume = fabs(a.y * b.z - a.z * b.y);
    double rest = a.beside * b.beside + (a.y * b.y + a.z * b.z);
    double most = real_max(volume, fabs(rest));
    if (side == 0 || !(most > 0.0))
        return;
    if (side > 0 && volume == 0.0 && rest < 0.0)
        sum->turns -= 1.0; /* half a turn backwards is taken for one forwards */
    half_angles_add(sum, rest / most, -side * (volume / most));
    half_angles_scale(sum);
}

/* The number, from N and the sum over the strips. */
static inline double strips_winding(int crossed, const half_angles *sum) {
    return crossed - winding_value(0.0, sum->x, sum->y, sum->turns);
}

#endif
#endif
