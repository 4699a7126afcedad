/* Sums of solid angles, for C and OpenCL C, with the same bits on both. */
#ifndef ABUTI_SIGN_ANGLES_SHARED_H
#define ABUTI_SIGN_ANGLES_SHARED_H

#include "base/math_shared.h"

#define WINDING_PI 3.14159265358979323846

/* A sum of half solid angles as a direction and a number of full turns: adding an angle is a
 * complex product, and only the end needs an arc tangent. */
typedef struct half_angles {
    double x, y; /* of any length */
    double turns;
} half_angles;

/* Whether a direction is from 0 to pi, pi included. */
static inline int is_upper(double x, double y) {
    return y > 0 || (y == 0 && x < 0);
}

/* Adds a half angle from -pi to pi. The sum of two angles of the upper half is up to two pi, and it
 * has passed pi if the product is in the lower half; likewise for two of the lower half. The sign
 * of the product is certain, except for sums at pi, where either is correct with its turn: all
 * terms of y have one sign unless the two x differ in theirs. */
static inline void half_angles_add(half_angles *sum, double x, double y) {
    double px = sum->x * x - sum->y * y, py = sum->x * y + sum->y * x;
    py += 0.0; /* never -0 */
    int upper = is_upper(px, py);
    if (is_upper(sum->x, sum->y) && is_upper(x, y) && !upper)
        sum->turns += 1;
    if (sum->y < 0 && y < 0 && upper)
        sum->turns -= 1;
    sum->x = px;
    sum->y = py;
}

/* Keeps the length near 1. */
static inline void half_angles_scale(half_angles *sum) {
    double unit = 1 / real_max(fabs(sum->x), fabs(sum->y));
    sum->x *= unit;
    sum->y *= unit;
}

/* The angle of a direction, from -pi to pi; pi itself for the negative x axis. As atan2(), whose
 * last bits differ between libraries and devices. From the longer axis the tangent is 0 to 1: the
 * angle of the nearest quarter is known, and r, the tangent of the remainder, is about an eighth.
 * There the series converges: the truncation error is r^18 / 19 of it, 2^-58. The result is within
 * a few ulp of pi. */
static inline double direction_angle(double x, double y) {
    double ax = fabs(x), ay = fabs(y);
    double longer = ay > ax ? ay : ax, shorter = ay > ax ? ax : ay;
    double tangent = shorter < longer * 0.125   ? 0.0
                     : shorter < longer * 0.375 ? 0.25
                     : shorter < longer * 0.625 ? 0.5
                     : shorter < longer * 0.875 ? 0.75
                                                : 1.0;
    double angle = tangent == 0.0    ? 0.0
                   : tangent == 0.25 ? 0.24497866312686414
                   : tangent == 0.5  ? 0.4636476090008061
                   : tangent == 0.75 ? 0.6435011087932844
                                     : 0.7853981633974483;
    double r = (shorter - tangent * longer) / (longer + tangent * shorter), r_sq = r * r;
    double sum = 1.0 / 17.0;
    sum = 1.0 / 15.0 - r_sq * sum;
    sum = 1.0 / 13.0 - r_sq * sum;
    sum = 1.0 / 11.0 - r_sq * sum;
    sum = 1.0 / 9.0 - r_sq * sum;
    sum = 1.0 / 7.0 - r_sq * sum;
    sum = 1.0 / 5.0 - r_sq * sum;
    sum = 1.0 / 3.0 - r_sq * sum;
    angle += r - r * (r_sq * sum);
    angle = ay > ax ? WINDING_PI / 2.0 - angle : angle;
    angle = x < 0.0 ? WINDING_PI - angle : angle;
    return y < 0.0 ? -angle : angle;
}

/* The winding number, from the solid angle of far children and half that of near triangles. */
static inline double winding_value(double far_angle, double x, double y, double turns) {
    return (far_angle + 2.0 * direction_angle(x, y)) / (4.0 * WINDING_PI) + turns;
}

#endif
