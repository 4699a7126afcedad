/* Interpolation of field values, for C and OpenCL C: the same field and position give the same
 * bits.
 *
 * A position is a cell index and a fraction towards the next cell along each axis. Both are
 * computed in `real`, since coordinates may be large compared with a cell. All further arithmetic
 * is in floats, the precision of the stored values.
 *
 * Linear: trilinear interpolation. The gradient is the exact gradient of the interpolant. Cubic:
 * along each axis the Catmull-Rom spline through four values, whose slope at a value is half the
 * difference of its neighbours (Catmull and Rom 1974). Its gradient is continuous. The error
 * decreases with the third power of the cell size, that of the gradient with the second (Keys
 * 1981).
 */
#ifndef ABUTI_FIELD_FIELD_SHARED_H
#define ABUTI_FIELD_FIELD_SHARED_H

#include "base/math_shared.h"

#ifdef __OPENCL_C_VERSION__
typedef short field_short;
#else
typedef int16_t field_short;
#endif

#define FIELD_BRICK 8                /* distance of neighbouring bricks in cells */
#define FIELD_SIDE (FIELD_BRICK + 1) /* values along an edge of a brick */
#define FIELD_VALUES (FIELD_SIDE * FIELD_SIDE * FIELD_SIDE)
/* The diagonal of a unit cube, rounded up by more than a few rounding errors. */
#define FIELD_DIAGONAL 1.7321f

/* What interpolation needs of a field. It holds pointers only, so it is recreated as needed. */
typedef struct field_view {
    ABUTI_GLOBAL const float *floats;       /* null for 16-bit values */
    ABUTI_GLOBAL const field_short *shorts; /* to be multiplied by `scale`; null for floats */
    ABUTI_GLOBAL const word32 *index;       /* brick index; null for dense fields */
    ABUTI_GLOBAL const float *coarse;       /* values at the corners of bricks */
    word32 count[3], bricks[3];
    float cell, scale; /* scale: 1 for floats */
} field_view;

typedef struct field_place {
    word32 cell[3];    /* lower cell; never the last one along an axis */
    float fraction[3]; /* 0 to 1 */
} field_place;

typedef struct field_sample {
    float distance;
    float x, y, z; /* gradient */
} field_sample;

/* Splits a coordinate into a cell and a fraction. `at` is in cells from the first centre, from 0 to
 * count - 1. */
static inline float field_fraction(real at, word32 count, word32 *cell) {
    word32 whole = (word32)at;
    *cell = whole > count - 2 ? count - 2 : whole;
    return (float)(at - (real)*cell);
}

/* ---- linear ---- */

/* Interpolates between eight values, x fastest. The gradient is per cell. */
static inline field_sample field_linear(const float *v, float x, float y, float z) {
    /* along x on four edges, then along y on two faces, then along z */
    float s0 = v[1] - v[0], s1 = v[3] - v[2], s2 = v[5] - v[4], s3 = v[7] - v[6];
    float e0 = v[0] + x * s0, e1 = v[2] + x * s1, e2 = v[4] + x * s2, e3 = v[6] + x * s3;
    float r0 = e1 - e0, r1 = e3 - e2;
    float f0 = e0 + y * r0, f1 = e2 + y * r1;
    float near = s0 + y * (s1 - s0), far = s2 + y * (s3 - s2);
    field_sample sample;
    sample.distance = f0 + z * (f1 - f0);
    sample.x = near + z * (far - near);
    sample.y = r0 + z * (r1 - r0);
    sample.z = f1 - f0;
    return sample;
}

static inline field_sample field_scaled(field_sample sample, float scale, float width) {
    float slope = scale / width;
    sample.distance = sample.distance * scale;
    sample.x = sample.x * slope;
    sample.y = sample.y * slope;
    sample.z = sample.z * slope;
    return sample;
}

static inline void field_eight_floats(ABUTI_GLOBAL const float *at, size_t row, size_t layer,
                                      float *v) {
    v[0] = at[0];
    v[1] = at[1];
    v[2] = at[row];
    v[3] = at[row + 1];
    v[4] = at[layer];
    v[5] = at[layer + 1];
    v[6] = at[layer + row];
    v[7] = at[layer + row + 1];
}

static inline void field_eight_shorts(ABUTI_GLOBAL const field_short *at, size_t row, size_t layer,
                                      float *v) {
    v[0] = (float)at[0];
    v[1] = (float)at[1];
    v[2] = (float)at[row];
    v[3] = (float)at[row + 1];
    v[4] = (float)at[layer];
    v[5] = (float)at[layer + 1];
    v[6] = (float)at[layer + row];
    v[7] = (float)at[layer + row + 1];
}

/* Interpolates between the eight values that start at index `first`. */
static inline field_sample field_linear_at(const field_view *f, size_t first, size_t row,
                                           size_t layer, const float *fraction) {
    float v[8];
    if (f->floats)
        field_eight_floats(f->floats + first, row, layer, v);
    else
        field_eight_shorts(f->shorts + first, row, layer, v);
    return field_scaled(field_linear(v, fraction[0], fraction[1], fraction[2]), f->scale, f->cell);
}

/* Interpolates between the corners of a brick that is not stored. */
static inline field_sample field_linear_coarse(const field_view *f, const field_place *place) {
    float fraction[3], v[8];
    size_t row = (size_t)f->bricks[0] + 1, layer = row * ((size_t)f->bricks[1] + 1);
    for (int axis = 0; axis < 3; axis++)
        fraction[axis] =
            ((float)(place->cell[axis] % FIELD_BRICK) + place->fraction[axis]) / (float)FIELD_BRICK;
    field_eight_floats(f->coarse + place->cell[0] / FIELD_BRICK +
                           row * (place->cell[1] / FIELD_BRICK) +
                           layer * (place->cell[2] / FIELD_BRICK),
                       row, layer, v);
    return field_scaled(field_linear(v, fraction[0], fraction[1], fraction[2]), 1.0f,
                        f->cell * (float)FIELD_BRICK);
}

/* The number of the brick that contains a position, or ABUT_NONE. Only for sparse fields. */
static inline word32 field_brick_of(const field_view *f, const field_place *place) {
    return f->index[place->cell[0] / FIELD_BRICK +
                    (size_t)f->bricks[0] * (place->cell[1] / FIELD_BRICK +
                                            (size_t)f->bricks[1] * (place->cell[2] / FIELD_BRICK))];
}

static inline field_sample field_at_linear(const field_view *f, const field_place *place) {
    const word32 *c = place->cell;
    if (!f->index) {
        size_t row = f->count[0], layer = row * f->count[1];
        return field_linear_at(f, c[0] + row * c[1] + layer * c[2], row, layer, place->fraction);
    }
    word32 brick = field_brick_of(f, place);
    if (brick == ABUT_NONE)
        return field_linear_coarse(f, place);
    size_t first = (size_t)brick * FIELD_VALUES + c[0] % FIELD_BRICK +
                   FIELD_SIDE * (c[1] % FIELD_BRICK + FIELD_SIDE * (size_t)(c[2] % FIELD_BRICK));
    return field_linear_at(f, first, FIELD_SIDE, FIELD_SIDE * FIELD_SIDE, place->fraction);
}

/* ---- cubic ---- */

/* Weights of four values for the value at t between the middle two, and for the slope at t. */
static inline void field_weights(float t, float *w, float *d) {
    float t2 = t * t, t3 = t2 * t;
    w[0] = -0.5f * t + t2 - 0.5f * t3;
    w[1] = 1.0f - 2.5f * t2 + 1.5f * t3;
    w[2] = 0.5f * t + 2.0f * t2 - 1.5f * t3;
    w[3] = -0.5f * t2 + 0.5f * t3;
    d[0] = -0.5f + 2.0f * t - 1.5f * t2;
    d[1] = -5.0f * t + 4.5f * t2;
    d[2] = 0.5f + 4.0f * t - 4.5f * t2;
    d[3] = -t + 1.5f * t2;
}

/* Whether cubic interpolation is possible: only in dense fields, and not in the outermost cells of
 * the grid. */
static inline int field_has_cubic(const field_view *f, const field_place *place) {
    for (int axis = 0; axis < 3; axis++)
        if (place->cell[axis] < 1 || place->cell[axis] + 3 > f->count[axis])
            return 0;
    return !f->index;
}

/* Fixed loops of four, which compilers vectorise. */
static inline void field_add_four(float *to, float w, const float *v) {
    for (int i = 0; i < 4; i++)
        to[i] = to[i] + w * v[i];
}

static inline float field_dot_four(const float *w, const float *v) {
    return (w[0] * v[0] + w[1] * v[1]) + (w[2] * v[2] + w[3] * v[3]);
}

static inline field_sample field_at_cubic(const field_view *f, const field_place *place) {
    float w[3][4], d[3][4];
    size_t row = f->count[0], layer = row * f->count[1];
    size_t first = place->cell[0] - 1 + row * (place->cell[1] - 1) + layer * (place->cell[2] - 1);
    for (int axis = 0; axis < 3; axis++)
        field_weights(place->fraction[axis], w[axis], d[axis]);
    /* first along z and y, on rows that are contiguous in memory; x last */
    float value[4] = {0}, along_y[4] = {0}, along_z[4] = {0};
    for (int j = 0; j < 4; j++) {
        float column[4] = {0}, slope[4] = {0};
        for (int k = 0; k < 4; k++) {
            size_t at = first + (size_t)j * row + (size_t)k * layer;
            float v[4];
            for (int i = 0; i < 4; i++)
                v[i] = f->floats ? f->floats[at + (size_t)i] : (float)f->shorts[at + (size_t)i];
            field_add_four(column, w[2][k], v);
            field_add_four(slope, d[2][k], v);
        }
        field_add_four(value, w[1][j], column);
        field_add_four(along_y, d[1][j], column);
        field_add_four(along_z, w[1][j], slope);
    }
    field_sample sample;
    sample.distance = field_dot_four(w[0], value);
    sample.x = field_dot_four(d[0], value);
    sample.y = field_dot_four(w[0], along_y);
    sample.z = field_dot_four(w[0], along_z);
    return field_scaled(sample, f->scale, f->cell);
}

#endif
