/* Nearest points of many points at once.
 *
 * Method: points are sorted along a Morton curve over their own box, so that neighbours in the
 * order are neighbours in space: what one search has brought into the cache serves the next, and
 * the nearest point of one is a good bound for the next. Answers do not depend on either.
 */
#include "bvh/points.h"

#include <math.h>

enum {
    MORTON_BITS = 10, /* an axis */
    RADIX_BITS = 10,
    RADIX = 1 << RADIX_BITS,
    POINTS_A_TASK = 512,
    TASKS_A_REPORT = 64,
    SORT_LEAST = 16 /* fewer points are not worth sorting */
};

typedef struct place {
    uint32_t key, point;
} place;

typedef struct batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    abut_nearest *nearest;
    box3 bounds;
    place *places; /* null = as they come */
    size_t begin;  /* of the part that runs */
} batch;

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
        vec3 p = bvh_point_at(&b->points, i);
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
    *memory = abuti_allocate(context, b->points.count, 2 * sizeof **memory);
    uint32_t *starts = abuti_allocate(context, RADIX, sizeof *starts);
    abut_status status = *memory && starts ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        b->places = *memory;
        abuti_parallel_for(context, b->points.count, POINTS_A_TASK * TASKS_A_REPORT, keys_task, b);
        sort_places(*memory, *memory + b->points.count, b->points.count, starts);
        b->places = *memory + b->points.count; /* three passes end in the second */
    }
    abuti_release(context, starts);
    return status;
}

/* ---- work ---- */

static void nearest_task(void *data, size_t chunk, size_t begin, size_t end) {
    batch *b = data;
    bvh_hint hint;
    (void)chunk;
    hint.known = false;
    for (size_t i = begin; i < end; i++) {
        size_t point = b->places ? b->places[b->begin + i].point : b->begin + i;
        abuti_bvh_nearest(b->bvh, bvh_point_at(&b->points, point), b->radius, &hint,
                          &b->nearest[point]);
    }
}

abut_status abut_bvh_nearest_batch(const abut_bvh *bvh, const abut_points *points, double radius,
                                   abut_nearest *nearest) {
    batch b;
    memset(&b, 0, sizeof b);
    if (!bvh)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_bvh_nearest_batch: bvh is null; pass its address");
    abut_status status = abuti_bvh_points_read(__func__, points, &b.points);
    if (!status && !nearest && b.points.count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "abut_bvh_nearest_batch: nearest is null");
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    status = status ? status : abuti_bvh_points_check(__func__, &b.points, &b.bounds);
    if (status)
        return status;
    place *memory = NULL;
    b.bvh = bvh;
    b.radius = radius;
    b.nearest = nearest;
    if (b.points.count >= SORT_LEAST)
        status = order_points(&b, bvh->context, &memory);
    const size_t part = (size_t)POINTS_A_TASK * TASKS_A_REPORT;
    for (size_t begin = 0; begin < b.points.count && !status; begin += part) {
        size_t count = b.points.count - begin < part ? b.points.count - begin : part;
        b.begin = begin;
        abuti_parallel_for(bvh->context, count, POINTS_A_TASK, nearest_task, &b);
        status = abuti_progress(bvh->context, "nearest",
                                (double)(begin + count) / (double)b.points.count);
    }
    abuti_release(bvh->context, memory);
    return status;
}
