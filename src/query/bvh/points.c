/* Points of a batch; see points.h. */
#include "bvh/points.h"
#include "device/array.h"

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

enum {
    CHECK_TASKS_MAX = 64,          /* at most */
    CHECK_TASK_POINTS_MIN = 16384, /* points per task */
};

typedef struct check_state {
    const bvh_points *points;
    struct {
        size_t invalid; /* the first invalid point, or SIZE_MAX */
        box3 box;
    } tasks[CHECK_TASKS_MAX];
} check_state;

static void check_task(void *data, size_t chunk, size_t begin, size_t end) {
    check_state *check = data;
    box3 box = box_empty();
    size_t invalid = SIZE_MAX;
    for (size_t i = begin; i < end && invalid == SIZE_MAX; i++) {
        vec3 p = bvh_point_at(check->points, i);
        if (!(v3_max_abs(p) <= ABUT_COORDINATE_MAX) || p.y != p.y || p.z != p.z || p.x != p.x)
            invalid = i;
        box = box_grow(box, p);
    }
    check->tasks[chunk].invalid = invalid;
    check->tasks[chunk].box = box;
}

abut_status abuti_bvh_points_check(const char *function, abut_context *context,
                                   const bvh_points *points, box3 *bounds) {
    check_state check;
    if (points->buffer)
        return ABUT_OK;
    check.points = points;
    size_t part = points->count / CHECK_TASKS_MAX + 1;
    part = part < CHECK_TASK_POINTS_MIN ? CHECK_TASK_POINTS_MIN : part;
    abuti_parallel_for(context, points->count, part, check_task, &check);
    box3 box = box_empty();
    for (size_t k = 0; k < abuti_chunk_count(points->count, part); k++) {
        size_t invalid = check.tasks[k].invalid;
        if (invalid != SIZE_MAX) {
            vec3 p = bvh_point_at(points, invalid);
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: point %zu is (%g, %g, %g); coordinates must be finite and at "
                              "most %g in magnitude",
                              function, invalid, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
        }
        box = box_join(box, check.tasks[k].box);
    }
    *bounds = box;
    return ABUT_OK;
}
