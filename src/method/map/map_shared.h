/* Positions of samples, for C and OpenCL C. On a device ABUTI_REAL_BITS is 64.
 *
 * A place in the atlas is a triangle between two rows of texels, with its base on one row and its
 * apex on the other. x coordinates are integers in units of 2^-MAP_SHIFT texels, and rows are
 * whole, so integer arithmetic decides which texels belong to it. A texel belongs to the place if
 * its centre is not left of the left side and is left of the right side. Neighbouring places share
 * a side, so no texel belongs to two.
 *
 * A chart is a place of any shape, from texture coordinates of the caller. It has the same rule for
 * its texels.
 */
#ifndef ABUTI_MAP_SHARED_H
#define ABUTI_MAP_SHARED_H

#include "base/math_shared.h"

#ifdef __OPENCL_C_VERSION__
typedef long int64;
#else
typedef int64_t int64;
#endif

#define MAP_SHIFT 8
#define MAP_TEXEL (1 << MAP_SHIFT)

/* In counter-clockwise order, the base is followed by the apex. `corner` is the corner of the
 * triangle at which the base begins: the left end, or the right end if the place points down. */
typedef struct map_place {
    int left, width, apex; /* begin and length of the base, and x of the apex */
    word32 row, height;    /* whole texels */
    word32 corner;         /* 0 to 2 */
    word32 down;           /* 1: the base is on the last row, y = row + height, the apex on `row` */
    float shear;           /* texels along x per texel along y */
    float reach_x, reach_y; /* in texels, with this shear: see atlas.c */
    word32 is_chart; /* 1: `at` has the corners, in units; row and height are those of its box, and
                      * left, width, apex, corner and down are unused */
    int at[3][2];
} map_place;

/* floor(a / b) for b > 0. */
static inline int64 map_floor_division(int64 a, int64 b) {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

/* map_row() of a chart. */
static inline void map_chart_row(const map_place *place, word32 j, word32 *begin, word32 *end) {
    const int64 y = ((int64)(place->row + j) << MAP_SHIFT) + MAP_TEXEL / 2; /* of its centres */
    int64 least = (int64)1 << 40, most = -1;
    for (int k = 0; k < 3; k++) {
        const int *a = place->at[k], *b = place->at[(k + 1) % 3];
        const int64 upper_x = a[1] < b[1] ? a[0] : b[0], upper_y = a[1] < b[1] ? a[1] : b[1];
        const int64 lower_x = a[1] < b[1] ? b[0] : a[0], lower_y = a[1] < b[1] ? b[1] : a[1];
        if (!(upper_y <= y && y < lower_y))
            continue;
        /* the first centre, x TEXEL + TEXEL / 2, that is not left of the side: rounded up */
        const int64 height = lower_y - upper_y;
        const int64 side = (upper_x - MAP_TEXEL / 2) * height + (lower_x - upper_x) * (y - upper_y);
        const int64 first = -map_floor_division(-side, height << MAP_SHIFT);
        least = first < least ? first : least;
        most = first > most ? first : most;
    }
    *begin = most < 0 ? 0 : (word32)least;
    *end = most < 0 ? 0 : (word32)most;
}

/* Twice the area of a chart with its orientation, in square units. */
static inline double map_chart_area(const map_place *place) {
    const int *a = place->at[0], *b = place->at[1], *c = place->at[2];
    return (double)(b[0] - a[0]) * (double)(c[1] - a[1]) -
           (double)(b[1] - a[1]) * (double)(c[0] - a[0]);
}

static inline void map_chart_weights(const map_place *place, word32 x, word32 y, double weight[3]) {
    const double px = ((double)x + 0.5) * MAP_TEXEL, py = ((double)y + 0.5) * MAP_TEXEL;
    const double area = map_chart_area(place);
    for (int k = 0; k < 3; k++) {
        const int *a = place->at[(k + 1) % 3], *b = place->at[(k + 2) % 3];
        const double opposite =
            ((double)a[0] - px) * ((double)b[1] - py) - ((double)a[1] - py) * ((double)b[0] - px);
        weight[k] = opposite / area;
    }
}

/* The texels of row `row + j`: from *begin up to but not including *end. */
static inline void map_row(const map_place *place, word32 j, word32 *begin, word32 *end) {
    if (place->is_chart) {
        map_chart_row(place, j, begin, end);
        return;
    }
    /* x of a side at the centre of the row, times 2 height: base x 2 h + difference x (2 j + 1) */
    const int64 h2 = 2 * (int64)place->height, up = 2 * (int64)j + 1;
    const int64 from_base = place->down ? h2 - up : up;
    const int64 left = place->left * h2 + (place->apex - place->left) * from_base;
    const int64 end_of_base = (int64)place->left + place->width;
    const int64 right = end_of_base * h2 + (place->apex - end_of_base) * from_base;
    /* the first centre, x TEXEL + TEXEL / 2, that is not below it */
    const int64 half_texel = MAP_TEXEL / 2 * h2, texel = MAP_TEXEL * h2;
    *begin = (word32)((left - half_texel + texel - 1) / texel);
    *end = (word32)((right - half_texel + texel - 1) / texel);
}

/* Barycentric coordinates of the centre of a texel, in the order of the triangle's corners. */
static inline void map_weights(const map_place *place, word32 x, word32 y, double weight[3]) {
    if (place->is_chart) {
        map_chart_weights(place, x, y, weight);
        return;
    }
    const double per_row = 1.0 / (double)place->height, per_step = 1.0 / (double)place->width;
    const double up = ((double)y + 0.5 - (double)place->row) * per_row;
    const double apex = place->down ? 1 - up : up;
    const double side = place->left + apex * (place->apex - place->left);
    double right = (((double)x + 0.5) * MAP_TEXEL - side) * per_step;
    right = right < 0 ? 0 : right > 1 - apex ? 1 - apex : right;
    const double left = 1 - apex - right;
    weight[place->corner] = place->down ? right : left;
    weight[(place->corner + 1) % 3] = place->down ? left : right;
    weight[(place->corner + 2) % 3] = apex;
}

/* The layout of abut_map_texel. */
typedef struct map_result {
    float distance;
    float vector[3];
    word32 other, triangle, feature;
} map_result;

/* Sums over the samples of a triangle; `least` and `greatest` are samples. Sums are computed in
 * lanes: lane k has samples k, k + MAP_LANES, ... Then the upper half of the lanes is added to the
 * lower half until one lane remains. This fixes the order of additions. */
#define MAP_LANES 32
typedef struct map_tally {
    double area, reach; /* of the triangle */
    double sum, squares;
    float lo, hi;
    word32 found, within, inside;
    word32 least, greatest, unused;
} map_tally;

static inline map_tally map_tally_none(void) {
    map_tally t = {0.0, 0.0, 0.0, 0.0, INFINITY, -INFINITY, 0, 0, 0, ABUT_NONE, ABUT_NONE, 0};
    return t;
}

static inline void map_tally_sample(map_tally *t, float distance, word32 sample, double within) {
    const double d = distance;
    t->found++;
    t->within += d <= within;
    t->inside += d < 0.0;
    t->sum += d;
    t->squares += d * d;
    if (distance < t->lo)
        t->least = sample;
    if (distance > t->hi)
        t->greatest = sample;
    t->lo = distance < t->lo ? distance : t->lo;
    t->hi = distance > t->hi ? distance : t->hi;
}

static inline void map_tally_add(map_tally *t, const map_tally *more) {
    t->found += more->found;
    t->within += more->within;
    t->inside += more->inside;
    t->sum += more->sum;
    t->squares += more->squares;
    if (more->lo < t->lo || (more->lo == t->lo && more->least < t->least)) {
        t->lo = more->lo;
        t->least = more->least;
    }
    if (more->hi > t->hi || (more->hi == t->hi && more->greatest < t->greatest)) {
        t->hi = more->hi;
        t->greatest = more->greatest;
    }
}

/* The derivatives of the affine map of a place, whose triangle has these corners: along the base,
 * or along x for a chart, and along y minus `shear` texels of the first. */
static inline void map_derivatives(const map_place *place, const vec3 corner[3], vec3 *x, vec3 *y) {
    if (place->is_chart) {
        const vec3 u = v3_sub(corner[1], corner[0]), v = v3_sub(corner[2], corner[0]);
        const int *a = place->at[0], *b = place->at[1], *d = place->at[2];
        const double per_area = MAP_TEXEL / map_chart_area(place);
        *x = v3_along(v3_scale(u, (double)(d[1] - a[1]) * per_area),
                      -(double)(b[1] - a[1]) * per_area, v);
        *y = v3_along(v3_scale(u, -(double)(d[0] - a[0]) * per_area),
                      (double)(b[0] - a[0]) * per_area, v);
        *y = v3_along(*y, -place->shear, *x);
        return;
    }
    const word32 c = place->corner;
    const vec3 from = corner[c];
    const vec3 base = v3_sub(corner[(c + 1) % 3], from), side = v3_sub(corner[(c + 2) % 3], from);
    /* If the place points down, both axes are reversed, which changes no length. */
    const int begin = place->down ? place->left + place->width : place->left;
    const double width = (double)place->width / MAP_TEXEL;
    const double lean =
        (double)(place->apex - begin) / (place->down ? -place->width : place->width);
    *x = v3_scale(base, 1.0 / width);
    *y = v3_along(v3_scale(v3_along(side, -lean, base), 1.0 / place->height), -place->shear, *x);
}

/* An upper bound of the distance from any point of the triangle to the nearest of its samples; see
 * atlas.c. */
static inline double map_reach(const map_place *place, const vec3 corner[3]) {
    vec3 x, y;
    map_derivatives(place, corner, &x, &y);
    const vec3 rx = v3_scale(x, place->reach_x), ry = v3_scale(y, place->reach_y);
    return real_max(v3_length(v3_add(rx, ry)), v3_length(v3_sub(rx, ry))) * (1.0 + 0x1p-40);
}

static inline double map_area(const vec3 corner[3]) {
    return 0.5 * v3_length(v3_cross(v3_sub(corner[1], corner[0]), v3_sub(corner[2], corner[0])));
}

/* The point with these barycentric coordinates, relative to the origin. The order of additions is
 * fixed. */
static inline vec3 map_point(const vec3 *a, const vec3 *b, const vec3 *c, const double weight[3]) {
    vec3 ab = v3_along(v3_scale(*a, weight[0]), weight[1], *b);
    return v3_along(ab, weight[2], *c);
}

#endif
