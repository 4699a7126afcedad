/* Points of a batch; see points.h. */
#include "bvh/points.h"
#include "device/array.h"

#include <math.h>

abut_status abuti_bvh_points_read(const char *function, const abut_bvh *bvh, abut_array points,
                                  size_t count, bvh_points *to) {
    const abut_scalar_type type = points.type ? points.type : ABUT_SCALAR_FLOAT64;
    const size_t packed = bvh_point_bytes(type);
    abut_status status = abuti_array_check_input(function, "points", points, count, 3);
    if (status)
        return status;
    if (count >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %zu points; at most %u are possible at once",
                          function, count, ABUT_NONE - 1);
    *to = (bvh_points){.first = points.host,
                       .type = type,
                       .stride = points.stride ? points.stride : packed,
                       .count = count,
                       .buffer = points.buffer,
                       .ordered = points.is_sorted};
    points.stride = 0;
    points.type = ABUT_SCALAR_NONE;
    return abuti_bvh_check_array(function, "points", bvh, points, count, packed);
}

/* ---- validation ---- */

enum { CHECK_TASK_ITEMS = 16384 };

typedef struct check_state {
    const void *items;
    bvh_is_valid *is_valid;
    atomic_size_t invalid;
} check_state;

static void check_task(void *data, size_t chunk, size_t begin, size_t end) {
    check_state *check = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        size_t first = atomic_load_explicit(&check->invalid, memory_order_relaxed);
        if (i >= first)
            return;
        if (check->is_valid(check->items, i))
            continue;
        while (i < first && !atomic_compare_exchange_weak(&check->invalid, &first, i))
            continue;
        return;
    }
}

size_t abuti_bvh_find_invalid(abut_context *context, const void *items, size_t count,
                              bvh_is_valid *is_valid) {
    check_state check = {.items = items, .is_valid = is_valid};
    atomic_init(&check.invalid, SIZE_MAX);
    abuti_parallel_for(context, count, CHECK_TASK_ITEMS, check_task, &check);
    return atomic_load(&check.invalid);
}

static bool is_point_valid(const void *items, size_t i) {
    const vec3 p = bvh_point_at(items, i);
    return fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
           fabs(p.z) <= ABUT_COORDINATE_MAX;
}

abut_status abuti_bvh_points_check(const char *function, abut_context *context,
                                   const bvh_points *points) {
    char what[32];
    if (points->buffer)
        return ABUT_OK;
    const size_t invalid = abuti_bvh_find_invalid(context, points, points->count, is_point_valid);
    if (invalid == SIZE_MAX)
        return ABUT_OK;
    snprintf(what, sizeof what, "point %zu", invalid);
    return abuti_bvh_check_point(function, what, bvh_point_at(points, invalid));
}
