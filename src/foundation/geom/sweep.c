/* The public elementary sweeps of <abut/sweep.h>: argument validation, the search of
 * sweep_shared.h, and the exact test of hits. */
#include "geom/sweep.h"

#include "base/simd.h"
#include "geom/sweep_point_shared.h"

#include <float.h>

static abut_status check_positions(const char *function, const char *what, const vec3 *p) {
    if (!p)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null; pass four positions", function,
                          what);
    for (int k = 0; k < 4; k++)
        if (!isfinite(p[k].x) || !isfinite(p[k].y) || !isfinite(p[k].z))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: %s[%d] is (%g, %g, %g); coordinates must be finite", function,
                              what, k, p[k].x, p[k].y, p[k].z);
    return ABUT_OK;
}

abut_status abuti_sweep_limits(const char *function, const abut_sweep_find_options *options,
                               double longest, sweep_limits *limits, bool *exact) {
    abut_sweep_find_options ours = abut_sweep_find_options_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, options, function);
    if (status)
        return status;
    const double lengths[2] = {ours.separation, ours.tolerance};
    for (int k = 0; k < 2 && !status; k++)
        status = abuti_check_range(function, k ? "options->tolerance" : "options->separation",
                                   lengths[k], 0, longest, "units of the coordinates");
    if (status)
        return status;
    if (ours.exact && ours.separation > 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->exact requires a separation of 0, but it is %g; set one "
                          "of them to 0",
                          function, ours.separation);
    limits->separation = ours.separation;
    limits->tolerance = ours.tolerance;
    limits->latest = 1;
    limits->steps = ours.steps == 0           ? SWEEP_STEPS
                    : ours.steps <= INT32_MAX ? (int)ours.steps
                                              : INT32_MAX;
    *exact = ours.exact;
    return ABUT_OK;
}

/* Half the longest side of the bounding box of all positions. Halved because a whole side may
 * overflow. */
static double half_extent(const vec3 *start, const vec3 *end) {
    box3 box = box_empty();
    for (int k = 0; k < 4; k++)
        box = box_grow(box_grow(box, start[k]), end[k]);
    return v3_max_abs(v3_sub(v3_scale(box.hi, 0.5), v3_scale(box.lo, 0.5)));
}

static abut_status sweep_features(const char *function, int kind, const vec3 *start,
                                  const vec3 *end, const abut_sweep_find_options *options,
                                  abut_sweep_result *result) {
    sweep_limits limits;
    sweep_answer answer;
    bool hit, exact;
    abut_status status = check_positions(function, "start", start);
    if (!status)
        status = check_positions(function, "end", end);
    if (!status)
        status = abuti_sweep_limits(function, options, DBL_MAX, &limits, &exact);
    if (!status && !result)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: result is null; pass its address", function);
    if (status)
        return status;
    if (!(limits.tolerance >
          0)) /* 2 for the half extent; without extent any positive tolerance will do */
        limits.tolerance = real_max(2 * SWEEP_TOLERANCE * half_extent(start, end), REAL_MIN);
    hit = sweep_pair(kind, start, end, &limits, &answer);
    if (hit && exact) {
        status = abuti_sweep_exact(abuti_context_of(NULL), kind, start, end, &hit);
        if (status)
            return status;
    }
    memset(result, 0, sizeof *result);
    result->hit = hit;
    result->time = 1;
    result->steps = (uint32_t)answer.steps;
    if (hit) {
        result->time = answer.time;
        result->point =
            sweep_point(kind == SWEEP_EDGE_EDGE, start, end, answer.time, answer.weights);
        result->normal = answer.normal;
        memcpy(result->weights, answer.weights, sizeof result->weights);
    }
    return ABUT_OK;
}

abut_status abut_sweep_vertex_face(const abut_vec3 start[4], const abut_vec3 end[4],
                                   const abut_sweep_find_options *options,
                                   abut_sweep_result *result) {
    return sweep_features(__func__, SWEEP_VERTEX_FACE, start, end, options, result);
}

abut_status abut_sweep_edge_edge(const abut_vec3 start[4], const abut_vec3 end[4],
                                 const abut_sweep_find_options *options,
                                 abut_sweep_result *result) {
    return sweep_features(__func__, SWEEP_EDGE_EDGE, start, end, options, result);
}

/* ---- filtering many pairs ---- */

/* Removes pairs for which one direction proves that they are free during the whole step, or one
 * direction for each half of it. In float; sweep_lanes_shared.h has the proof. */

float abuti_sweep_filter_reach(const sweep_limits *limits) {
    double reach = limits->separation + limits->tolerance;
    /* beyond this, the filter removes nothing */
    return reach < 1e30 ? (float)(reach * (1 + 1e-6)) + FLT_MIN : FLT_MAX;
}

size_t abuti_sweep_filter(int kind, const vec3 *start, const vec3 *end, const uint32_t *four,
                          size_t count, const sweep_limits *limits, uint32_t *survivors) {
    sweep_filter_kernel *run = *ABUTI_BY_LANES(abuti_sweep_filter);
    sweep_batch batch = {kind, start, end, four, abuti_sweep_filter_reach(limits)};
    count = run(&batch, NULL, count, false, survivors);
    return run(&batch, survivors, count, true, survivors);
}
