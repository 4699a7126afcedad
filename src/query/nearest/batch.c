/* Batches of closest-point queries: the order of the points, and their searches.
 *
 * Method: points are sorted along a Morton curve in the frame of the BVH, so that neighbours in the
 * order are neighbours in space. If there are many points, feature lists are used
 * (batch_lists.c). Otherwise they are searched one by one: data that one search has loaded into the
 * cache is used by the next, and the closest point of one is a good bound for the next. Results do
 * not depend on that.
 */
#include "nearest/batch.h"

#include "bvh/on_device.h"

#include <math.h>

enum {
    MORTON_BITS = 10, /* per axis */
    RADIX_BITS = 10,
    RADIX = 1 << RADIX_BITS,
    POINTS_PER_TASK = 512,
    SORT_MIN = 16,                     /* fewer points are not sorted */
    SORT_TASKS_MAX = 64,               /* at most */
    SORT_TASK_POINTS_MIN = 64 * RADIX, /* points, so that counting is the smaller part */
    /* With 16 points per triangle lists take 0.3 to 0.4 of the time of single searches on two
     * threads, and 0.4 to 0.9 on 16, where creating features is a larger part. With two they take 1
     * to 1.4 and 1.4 to 2.8 times as long. */
    LISTS_POINTS_PER_TRIANGLE = 8,
    LISTS_MIN = 1024,
};

typedef struct point_order {
    const abut_bvh *bvh;
    const bvh_points *points;
    bvh_sorted_point *sorted; /* null = the order of the caller */
    bvh_visit *visit;
    void *data;
} point_order;

/* ---- order ---- */

/* The mesh is within 2 of 0 in the frame; coordinates are clamped to 4. */
static uint32_t morton_cell(double x) {
    return (uint32_t)real_clamp((x + 4) * (1 << (MORTON_BITS - 3)), 0, (1 << MORTON_BITS) - 1);
}

static void keys_task(void *data, size_t chunk, size_t begin, size_t end) {
    point_order *b = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const vec3 p =
            v3_scale(v3_sub(bvh_point_at(b->points, i), b->bvh->mesh->origin), b->bvh->scale);
        b->sorted[i].key =
            (uint32_t)morton_code(morton_cell(p.x), morton_cell(p.y), morton_cell(p.z));
        b->sorted[i].point = (uint32_t)i;
    }
}

/* One pass of a radix sort: every task counts its digits, and the sums of all give the destination
 * of its own, in order. */
typedef struct radix_pass {
    const bvh_sorted_point *from;
    bvh_sorted_point *to;
    uint32_t *starts; /* RADIX for each task */
    int shift;
} radix_pass;

static void count_task(void *data, size_t chunk, size_t begin, size_t end) {
    const radix_pass *s = data;
    uint32_t *starts = s->starts + chunk * RADIX;
    memset(starts, 0, RADIX * sizeof *starts);
    for (size_t i = begin; i < end; i++)
        starts[s->from[i].key >> s->shift & (RADIX - 1)]++;
}

static void move_task(void *data, size_t chunk, size_t begin, size_t end) {
    const radix_pass *s = data;
    uint32_t *starts = s->starts + chunk * RADIX;
    for (size_t i = begin; i < end; i++)
        s->to[starts[s->from[i].key >> s->shift & (RADIX - 1)]++] = s->from[i];
}

/* Stable, from the lowest digit; three passes, so the result is in `spare`. */
static void radix_sort(abut_context *context, bvh_sorted_point *sorted, bvh_sorted_point *spare,
                       size_t count, size_t part, uint32_t *starts) {
    size_t parts = abuti_chunk_count(count, part);
    for (int shift = 0; shift < 3 * MORTON_BITS; shift += RADIX_BITS) {
        radix_pass s = {sorted, spare, starts, shift};
        abuti_parallel_for(context, count, part, count_task, &s);
        uint32_t sum = 0;
        for (size_t d = 0; d < RADIX; d++)
            for (size_t k = 0; k < parts; k++) {
                uint32_t here = starts[k * RADIX + d];
                starts[k * RADIX + d] = sum;
                sum += here;
            }
        abuti_parallel_for(context, count, part, move_task, &s);
        bvh_sorted_point *kept = sorted;
        sorted = spare;
        spare = kept;
    }
}

/* Computes the order, in one of two arrays of one allocation. */
static abut_status order_points(point_order *b, abut_context *context, bvh_sorted_point **memory) {
    size_t count = b->points->count, part = count / SORT_TASKS_MAX + 1;
    part = part < SORT_TASK_POINTS_MIN ? SORT_TASK_POINTS_MIN : part;
    *memory = abuti_allocate(context, count, 2 * sizeof **memory);
    uint32_t *starts =
        abuti_allocate(context, abuti_chunk_count(count, part), RADIX * sizeof *starts);
    abut_status status = *memory && starts ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        b->sorted = *memory;
        abuti_parallel_for(context, count, POINTS_PER_TASK, keys_task, b);
        radix_sort(context, *memory, *memory + count, count, part, starts);
        b->sorted = *memory + count;
    }
    abuti_release(context, starts);
    return status;
}

/* ---- ranges ---- */

static void visit_task(void *data, size_t chunk, size_t begin, size_t end) {
    point_order *b = data;
    (void)chunk;
    b->visit(b->data, b->sorted, begin, end);
}

abut_status abuti_bvh_points_visit(const abut_bvh *bvh, const bvh_points *points, const char *stage,
                                   bvh_visit *visit, void *data) {
    abut_context *context = bvh->context;
    point_order b = {.bvh = bvh, .points = points, .visit = visit, .data = data};
    bvh_sorted_point *memory = NULL;
    abut_status status = ABUT_OK;
    if (points->count >= SORT_MIN)
        status = order_points(&b, context, &memory);
    if (!status)
        status = abuti_bvh_run_tasks(context, stage, points->count, POINTS_PER_TASK, visit_task, &b,
                                     0, 1);
    abuti_release(context, memory);
    return status;
}

/* ---- closest points ---- */

/* Searches points one by one, each with a hint from the previous one. */
static void search_range(void *data, const bvh_sorted_point *sorted, size_t begin, size_t end) {
    const nearest_batch *b = data;
    bvh_hint hint;
    hint.known = false;
    for (size_t i = begin; i < end; i++) {
        size_t point = bvh_point_index(sorted, i);
        vec3 p = bvh_point_at(&b->points, point);
        if (i % 16 == 0 && abuti_stop(b->bvh->context, "nearest"))
            return;
        abuti_nearest_point(b->bvh, p, b->radius, &hint, &b->nearest[point]);
        if (b->complete)
            b->complete(b->bvh, p, &b->nearest[point]);
    }
}

static abut_status nearest_by_lists(nearest_batch *b) {
    abut_context *context = b->bvh->context;
    point_order order = {.bvh = b->bvh, .points = &b->points};
    bvh_sorted_point *memory = NULL;
    abut_status status = order_points(&order, context, &memory);
    b->places = order.sorted;
    if (!status)
        status = abuti_batch_lists(b);
    abuti_release(context, memory);
    return status;
}

/* Generated points, if there are too few for lists. */
static void generated_task(void *data, size_t chunk, size_t begin, size_t end) {
    const nearest_batch *b = data;
    const uint32_t count = (uint32_t)(end - begin);
    vec3 points[POINTS_PER_TASK];
    abut_nearest answers[POINTS_PER_TASK];
    bvh_hint hint;
    (void)chunk;
    hint.known = false;
    b->read(b->user, begin, count, points);
    for (uint32_t i = 0; i < count; i++) {
        if (i % 16 == 0 && abuti_stop(b->bvh->context, "nearest"))
            return;
        abuti_nearest_point(b->bvh, points[i], b->radius, &hint, &answers[i]);
        if (b->complete)
            b->complete(b->bvh, points[i], &answers[i]);
    }
    b->keep(b->user, begin, count, points, answers);
}

abut_status abuti_batch_nearest(nearest_batch *b) {
    size_t count = b->points.count;
    abut_status status = abuti_bvh_prepare_wide(b->bvh, count);
    if (status)
        return status;
    if (count >= LISTS_MIN && count / LISTS_POINTS_PER_TRIANGLE >= b->bvh->triangle_count)
        return b->points.ordered ? abuti_batch_lists(b) : nearest_by_lists(b);
    if (b->read)
        return abuti_parallel_try(b->bvh->context, "nearest", count, POINTS_PER_TASK,
                                  generated_task, b);
    return abuti_bvh_points_visit(b->bvh, &b->points, "nearest", search_range, b);
}

abut_status abut_nearest_point_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                     double radius, abut_array nearest) {
    nearest_batch b = {.bvh = bvh, .radius = radius, .nearest = nearest.host};
    abut_status status;
    if ((status = abuti_bvh_check_batch(__func__, bvh, bvh, "bvh")) ||
        (status = abuti_bvh_points_read(__func__, bvh, points, count, &b.points)) ||
        (status = abuti_bvh_check_array(__func__, "nearest", bvh, nearest, b.points.count,
                                        sizeof(abut_nearest))) ||
        (status = abuti_bvh_check_limit(__func__, "radius", radius)) ||
        (status = abuti_bvh_points_check(__func__, bvh->context, &b.points)) || !b.points.count)
        return status;
    /* Arrays of the host need no device; one without doubles would only find candidates. */
    if (bvh->there && (on_device_has_doubles(bvh->there) || points.buffer || nearest.buffer))
        return abuti_nearest_on_device(__func__, bvh->there, &b.points, radius, nearest);
    status = abuti_bvh_ensure_host(bvh);
    return status ? status : abuti_batch_nearest(&b);
}
