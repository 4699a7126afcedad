/* Where to look from where the caller does not say: the view-line along the longest axis of the
 * mesh by covariance (document 004, section 4.1.2, after Gottschalk et al. 1996). */
#include "self/self.h"

#include <math.h>

/* Of the extent along the axis that the line takes: what is near the ends sees the end as a
 * point. */
#define SHARE 0.6

/* Of a large mesh so many vertices are looked at, all over it: nothing depends on where the line
 * is, and all of them would take longer than the search on a device does. */
enum { SAMPLE = 2048 };
#define MIX 2654435761u /* a prime: no row or column of a grid is taken alone */

uint32_t abuti_view_sample_size(uint32_t count) {
    return count < SAMPLE ? count : SAMPLE;
}

void abuti_view_sample(uint32_t count, uint32_t *at) {
    for (uint32_t i = 0; i < abuti_view_sample_size(count); i++)
        at[i] = count <= SAMPLE ? i : (uint32_t)((uint64_t)i * MIX % count);
}

/* Relative to the first vertex, in units of `scale`, so that nothing overflows. */
static vec3 mean_of(const vec3 *sample, uint32_t count, vec3 from, double scale) {
    vec3 sum = v3(0, 0, 0);
    for (uint32_t i = 0; i < count; i++)
        sum = v3_along(sum, scale, v3_sub(sample[i], from));
    return v3_scale(sum, 1.0 / count);
}

/* One rotation of Jacobi's method, which makes m[p][q] zero. */
static void rotate(double m[3][3], double axes[3][3], int p, int q) {
    if (!(fabs(m[p][q]) > 0))
        return;
    double angle = 0.5 * atan2(2 * m[p][q], m[q][q] - m[p][p]), c = cos(angle), s = sin(angle);
    for (int k = 0; k < 3; k++) {
        double a = m[k][p], b = m[k][q];
        m[k][p] = c * a - s * b;
        m[k][q] = s * a + c * b;
    }
    for (int k = 0; k < 3; k++) {
        double a = m[p][k], b = m[q][k];
        m[p][k] = c * a - s * b;
        m[q][k] = s * a + c * b;
        a = axes[p][k];
        b = axes[q][k];
        axes[p][k] = c * a - s * b;
        axes[q][k] = s * a + c * b;
    }
}

static vec3 longest(double m[3][3]) {
    double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int sweep = 0; sweep < 8; sweep++) {
        rotate(m, axes, 0, 1);
        rotate(m, axes, 0, 2);
        rotate(m, axes, 1, 2);
    }
    int best = m[1][1] > m[0][0] ? 1 : 0;
    best = m[2][2] > m[best][best] ? 2 : best;
    return v3(axes[best][0], axes[best][1], axes[best][2]);
}

static vec3 axis_of(const vec3 *sample, uint32_t count, vec3 from, double scale, vec3 mean) {
    double m[3][3] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        vec3 d = v3_sub(v3_scale(v3_sub(sample[i], from), scale), mean);
        m[0][0] += d.x * d.x;
        m[0][1] += d.x * d.y;
        m[0][2] += d.x * d.z;
        m[1][1] += d.y * d.y;
        m[1][2] += d.y * d.z;
        m[2][2] += d.z * d.z;
    }
    m[1][0] = m[0][1];
    m[2][0] = m[0][2];
    m[2][1] = m[1][2];
    return longest(m);
}

abut_view_line abuti_view_axis(const vec3 *start, const vec3 *next, uint32_t count) {
    vec3 from = start[0];
    double size = 0;
    for (uint32_t i = 0; i < count; i++)
        size = real_max(size, real_max(v3_max_abs(v3_sub(start[i], from)),
                                       v3_max_abs(v3_sub(next[i], from))));
    int exponent;
    frexp(size, &exponent);
    double scale = size > 0 && exponent > -1000 ? ldexp(1, -exponent) : 1;
    vec3 mean = mean_of(start, count, from, scale), end = mean_of(next, count, from, scale);
    vec3 axis = axis_of(start, count, from, scale, mean);
    double lo = 0, hi = 0;
    for (uint32_t i = 0; i < count; i++) {
        double along = v3_dot(v3_sub(v3_scale(v3_sub(start[i], from), scale), mean), axis);
        lo = real_min(lo, along);
        hi = real_max(hi, along);
    }
    abut_view_line line;
    for (int k = 0; k < 2; k++) {
        vec3 reach = v3_scale(axis, SHARE * (k ? hi : lo));
        line.start[k] = v3_along(from, 1 / scale, v3_add(mean, reach));
        line.end[k] = v3_along(from, 1 / scale, v3_add(end, reach));
    }
    return line;
}
