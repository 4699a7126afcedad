/* Nearest points of many points at once.
 *
 * Method: points are sorted along a Morton curve over their own box, so that neighbours in the
 * order are neighbours in space. Where there are many of them, lists take over (batch_lists.c).
 * Else they are searched for one by one: what one search has brought into the cache serves the
 * next, and the nearest point of one is a good bound for the next. Answers do not depend on any of
 * that.
 */
#include "bvh/batch.h"

#include <math.h>

enum {
    MORTON_BITS = 10, /* an axis */
    RADIX_BITS = 10,
    RADIX = 1 << RADIX_BITS,
    POINTS_A_TASK = 512,
    TASKS_A_REPORT = 64,
    /* Lists pay from one point a triangle on (measured: 0.6 to 1 on models of 6,000 to 97,000
     * triangles for points all about, 1 to 1.5 for points near the surface), and never for so few
     * points that memory has hardly been taken when all is done. */
    LISTS_LEAST = 1024,
};

/* ---- order ---- */

/* Two zeros between each of the lowest ten bits. */
static uint32_t spread(uint32_t x) {
    x = (x | x << 16) & 0x030000ff;
    x = (x | x << 8) & 0x0300f00f;
    x = (x | x << 4) & 0x030c30c3;
    return (x | x << 2) & 0x09249249;
}

static uint32_t cell_on(double x, double lo, double per_cell) {
    double cell = (x - lo) * per_cell;
    return cell >= (1 << MORTON_BITS) ? (1 << MORTON_BITS) - 1 : cell > 0 ? (uint32_t)cell : 0;
}

static void keys_task(void *data, size_t chunk, size_t begin, size_t end) {
    batch *b = data;
    (void)chunk;
    vec3 lo = b->bounds.lo, extent = v3_sub(b->bounds.hi, lo);
    /* cubes, so that all axes count alike; tiny extents give infinity, and then zeros or the end */
    double per_cell = (1 << MORTON_BITS) / v3_max_abs(extent);
    for (size_t i = begin; i < end; i++) {
        vec3 p = batch_point(b, i);
        b->places[i].key = spread(cell_on(p.x, lo.x, per_cell)) |
                           spread(cell_on(p.y, lo.y, per_cell)) << 1 |
                           spread(cell_on(p.z, lo.z, per_cell)) << 2;
        b->places[i].point = (uint32_t)i;
    }
}

/* Stable, by the digits from the lowest on. */
static void sort_places(place *places, place *spare, size_t count, uint32_t *starts) {
    for (int shift = 0; shift < 3 * MORTON_BITS; shift += RADIX_BITS) {
        memset(starts, 0, RADIX * sizeof *starts);
        for (size_t i = 0; i < count; i++)
            starts[places[i].key >> shift & (RADIX - 1)]++;
        uint32_t sum = 0;
        for (size_t d = 0; d < RADIX; d++) {
            uint32_t here = starts[d];
            starts[d] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++)
            spare[starts[places[i].key >> shift & (RADIX - 1)]++] = places[i];
        place *kept = places;
        places = spare;
        spare = kept;
    }
}

/* Gives the order, in one of two arrays of one allocation. */
static abut_status order_points(batch *b, abut_context *context, place **memory) {
    *memory = abuti_allocate(context, b->count, 2 * sizeof **memory);
    uint32_t *starts = abuti_allocate(context, RADIX, sizeof *starts);
    abut_status status = *memory && starts ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        b->places = *memory;
        abuti_parallel_for(context, b->count, POINTS_A_TASK * TASKS_A_REPORT, keys_task, b);
        sort_places(*memory, *memory + b->count, b->count, starts);
        b->places = *memory + b->count; /* three passes end in the second */
    }
    abuti_release(context, starts);
    return status;
}

/* ---- work ---- */

void abuti_batch_single(const batch *b, const place *places, size_t count) {
    bvh_hint hint;
    hint.known = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t point = places[i].point;
        abuti_bvh_nearest(b->bvh, batch_point(b, point), b->radius, &hint, &b->nearest[point]);
    }
}

static void single_task(void *data, size_t chunk, size_t begin, size_t end) {
    const batch *b = data;
    (void)chunk;
    abuti_batch_single(b, b->places + b->begin + begin, end - begin);
}

static abut_status batch_singles(batch *b) {
    const size_t part = (size_t)POINTS_A_TASK * TASKS_A_REPORT;
    abut_status status = ABUT_OK;
    for (size_t begin = 0; begin < b->count && !status; begin += part) {
        size_t count = b->count - begin < part ? b->count - begin : part;
        b->begin = begin;
        abuti_parallel_for(b->bvh->context, count, POINTS_A_TASK, single_task, b);
        status =
            abuti_progress(b->bvh->context, "nearest", (double)(begin + count) / (double)b->count);
    }
    return status;
}

/* Checks all points and finds their box. */
static abut_status check_points(batch *b) {
    b->bounds = box_empty();
    for (size_t i = 0; i < b->count; i++) {
        vec3 p = batch_point(b, i);
        if (!(v3_max_abs(p) <= ABUT_COORDINATE_MAX) || p.y != p.y || p.z != p.z || p.x != p.x)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_bvh_nearest_batch: point %zu is (%g, %g, %g); coordinates must "
                              "be finite and at most %g in magnitude",
                              i, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
        b->bounds = box_grow(b->bounds, p);
    }
    return ABUT_OK;
}

/* Reads the caller's description of the points. */
static abut_status read_points(const abut_points *points, batch *b) {
    abut_points in = abut_points_default();
    abut_status status = abuti_options_read(&in, sizeof in, points, "abut_bvh_nearest_batch");
    if (status)
        return status;
    size_t packed = in.type == ABUT_SCALAR_FLOAT32 ? 12 : 24, bytes;
    if (in.type != ABUT_SCALAR_FLOAT32 && in.type != ABUT_SCALAR_FLOAT64)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_bvh_nearest_batch: points->type is %u, which is no scalar type",
                          (unsigned)in.type);
    if (!in.points && in.count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_bvh_nearest_batch: points->points is null");
    b->stride = in.stride ? in.stride : packed;
    if (b->stride < packed || abuti_multiply_overflows(b->stride, in.count, &bytes))
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_bvh_nearest_batch: points->stride is %zu for %zu points; it must be "
            "at least %zu, or 0 for packed points",
            in.stride, in.count, packed);
    if (in.count >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_bvh_nearest_batch: %zu points; at most %u are possible at once",
                          in.count, ABUT_NONE - 1);
    b->points = in.points;
    b->type = in.type;
    b->count = in.count;
    return ABUT_OK;
}

abut_status abut_bvh_nearest_batch(const abut_bvh *bvh, const abut_points *points, double radius,
                                   abut_nearest *nearest) {
    batch b;
    memset(&b, 0, sizeof b);
    if (!bvh || !points)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_bvh_nearest_batch: %s is null; pass its address",
                          bvh ? "points" : "bvh");
    abut_status status = read_points(points, &b);
    if (!status && !nearest && b.count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "abut_bvh_nearest_batch: nearest is null");
    status = status ? status : abuti_bvh_check_limit("abut_bvh_nearest_batch", "radius", radius);
    status = status ? status : check_points(&b);
    if (status)
        return status;
    place *memory = NULL;
    b.bvh = bvh;
    b.radius = radius;
    b.nearest = nearest;
    if (b.count)
        status = order_points(&b, bvh->context, &memory);
    if (!status)
        status = b.count >= LISTS_LEAST && b.count >= bvh->triangle_count ? abuti_batch_lists(&b)
                                                                          : batch_singles(&b);
    abuti_release(bvh->context, memory);
    return status;
}
