/* The filter of sweeps for one pair on a device: the operations of the CPU, in floats. Include it
 * last, since it defines short macro names. */
#ifndef ABUTI_SWEEP_FILTER_CL_H
#define ABUTI_SWEEP_FILTER_CL_H

/* The operations of simd_lanes.h, for one lane. */
typedef float wide;
typedef bool mask;
#define v_all(x) ((float)(x))
#define v_add(a, b) ((a) + (b))
#define v_sub(a, b) ((a) - (b))
#define v_mul(a, b) ((a) * (b))
#define v_div(a, b) ((a) / (b))
#define v_sqrt(a) sqrt(a)
#define v_abs(a) fabs(a)
#define v_less(a, b) ((a) < (b))
#define v_select(m, a, b) ((m) ? (a) : (b))
#define v_mask_bits(m) ((m) ? 1u : 0u)
static inline float v_min(float a, float b) {
    return a < b ? a : b;
}
static inline float v_max(float a, float b) {
    return a > b ? a : b;
}

#include "geom/sweep_lanes_shared.h"

static inline wide3 difference(vec3 a, vec3 b) {
    wide3 d;
    d.x = (float)(a.x - b.x);
    d.y = (float)(a.y - b.y);
    d.z = (float)(a.z - b.z);
    return d;
}

static inline float extent_of(wide3 q) {
    return v_max(fabs(q.x), v_max(fabs(q.y), fabs(q.z)));
}

/* Same as survivors_of() in sweep_filter_lanes.c, for the four vertices of one pair. */
static bool survives(int kind, const vec3 *start, const vec3 *end, float reach, bool halves) {
    wide_frame ends[2];
    float extent = 0.0f;
    for (int k = 0; k < 2; k++) {
        const vec3 *p = k ? end : start;
        vec3 r = p[kind];
        ends[k].q[0] = difference(p[0], r);
        ends[k].q[1] = difference(p[kind == SWEEP_EDGE_EDGE ? 1 : 2], r);
        ends[k].q[2] = difference(p[3], r);
        for (int i = 0; i < 3; i++)
            extent = v_max(extent, extent_of(ends[k].q[i]));
    }
    bool is_free = extent < EXTENT_MAX && EXTENT_MIN < extent;
    for (int k = 0; k <= halves && is_free; k++) {
        float time = !halves ? 0.5f : k ? 0.75f : 0.25f;
        is_free = proven(kind, ends, extent, reach, direction(kind, ends, time),
                         !halves ? WHOLE
                         : k     ? SECOND
                                 : FIRST);
    }
    return !is_free;
}

#endif
