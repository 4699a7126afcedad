/* The nearest triangles of a mesh to a point: a few of them, or all within a radius.
 *
 * Method: depth first, nearest child first, boxes measured in doubles; every triangle of a leaf by
 * triangle_closest_point(). The best so far are a heap in the caller's array, the worst on top,
 * whose distance is the bound once the heap is full. Hence the answer is that of a search through
 * all triangles, sorted.
 *
 * Boxes are measured in the frame, scaled down where the point is far away so that no square
 * overflows. The query is rounded there, by 2^-53 of its distance to the origin of the mesh, and so
 * are the products: a box is dropped where it is further than the bound by more than 2^-50 of that,
 * and 2^-44 of the bound for what the distance of a triangle may be wrong by.
 */
#include "bvh/gather.h"
#include "bvh/points.h"
#include "nearest/batch.h"

#include "geom/closest_shared.h"

#include <math.h>

typedef struct gathering {
    const abut_bvh *bvh;
    vec3 point;
    double at[3]; /* in units of the search */
    double unit;  /* a distance times this is one in those */
    double frame; /* a coordinate of the frame times this, too */
    double margin;
    double radius;
    uint32_t k, count;
    abut_nearest *nearest; /* null = only count */
} gathering;

typedef struct pending {
    double distance_sq;
    uint32_t child;
} pending;

static bool nearest_after(const void *one, const void *other) {
    const abut_nearest *a = one, *b = other;
    return a->distance > b->distance || (a->distance == b->distance && a->triangle > b->triangle);
}

/* ---- the best so far ---- */

static void heap_up(abut_nearest *heap, uint32_t at) {
    while (at > 0 && nearest_after(&heap[at], &heap[(at - 1) / 2])) {
        abut_nearest kept = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = kept;
        at = (at - 1) / 2;
    }
}

static void heap_down(abut_nearest *heap, uint32_t count) {
    for (uint32_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && nearest_after(&heap[child + 1], &heap[child]))
            child++;
        if (!nearest_after(&heap[child], &heap[at]))
            return;
        abut_nearest kept = heap[at];
        heap[at] = heap[child];
        heap[child] = kept;
    }
}

static void gather_triangle(gathering *g, uint32_t triangle) {
    closest_on_triangle closest =
        triangle_closest_point(bvh_triangle(g->bvh->mesh, triangle), g->point);
    if (closest.distance > g->radius)
        return;
    if (!g->nearest) {
        g->count++;
        return;
    }
    abut_nearest found;
    memset(&found, 0, sizeof found);
    found.distance = closest.distance;
    found.triangle = triangle;
    if (g->count == g->k && !nearest_after(&g->nearest[0], &found))
        return;
    found.point = closest.point;
    found.feature = closest.feature;
    for (int i = 0; i < 3; i++)
        found.barycentric[i] = closest.barycentric[i];
    if (g->count < g->k) {
        g->nearest[g->count] = found;
        heap_up(g->nearest, g->count++);
    } else {
        g->nearest[0] = found;
        heap_down(g->nearest, g->count);
    }
}

/* ---- the walk ---- */

/* The square beyond which a box has nothing to give. */
static double bound_sq(const gathering *g) {
    double limit = g->radius;
    if (g->nearest && g->count == g->k)
        limit = real_min(limit, g->nearest[0].distance);
    limit = limit * g->unit * SLACK_FAR + g->margin;
    return limit * limit;
}

static uint32_t push_children(const gathering *g, uint32_t index, pending *stack, uint32_t used) {
    const bvh_node *node = &g->bvh->nodes[index];
    uint32_t first = used;
    double bound = bound_sq(g);
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
        if (node->child[slot] == ABUT_NONE)
            continue;
        double sum = 0;
        for (int axis = 0; axis < 3; axis++) {
            double lo = node->lo[axis][slot] * g->frame, hi = node->hi[axis][slot] * g->frame;
            double d = real_max(real_max(lo - g->at[axis], g->at[axis] - hi), 0);
            sum += d * d;
        }
        if (sum > bound)
            continue;
        pending child = {sum, node->child[slot]};
        uint32_t i = used++;
        for (; i > first && stack[i - 1].distance_sq < sum; i--)
            stack[i] = stack[i - 1];
        stack[i] = child;
    }
    return used;
}

static void gather(gathering *g) {
    pending stack[BVH_STACK];
    uint32_t used = push_children(g, 0, stack, 0);
    while (used) {
        pending next = stack[--used];
        if (next.distance_sq > bound_sq(g))
            continue;
        if (!(next.child & BVH_LEAF)) {
            used = push_children(g, next.child, stack, used);
            continue;
        }
        uint32_t leaf = next.child & ~BVH_LEAF;
        for (uint32_t i = 0; i < bvh_leaf_fill(g->bvh, leaf); i++)
            gather_triangle(g, g->bvh->order[leaf * BVH_WIDTH + i]);
    }
}

static gathering gather_start(const abut_bvh *bvh, vec3 point, double radius, uint32_t k,
                              abut_nearest *nearest) {
    gathering g = {.bvh = bvh, .point = point, .radius = radius, .k = k, .nearest = nearest};
    vec3 p = v3_sub(point, bvh->mesh->origin);
    double away = v3_max_abs(p);
    /* in the frame, unless the point is further than the mesh is large */
    bool far = away * bvh->scale > 2;
    g.unit = far ? 1 / away : bvh->scale;
    g.frame = far ? g.unit / bvh->scale : 1;
    g.at[0] = p.x * g.unit;
    g.at[1] = p.y * g.unit;
    g.at[2] = p.z * g.unit;
    g.margin = MARGIN_FAR; /* coordinates are at most 2 here */
    return g;
}

static uint32_t find_many(const abut_bvh *bvh, vec3 point, double radius, uint32_t k,
                          abut_nearest *nearest) {
    if (!k)
        return 0;
    gathering g = gather_start(bvh, point, radius, k, nearest);
    gather(&g);
    abuti_sort_items(nearest, g.count, sizeof *nearest, nearest_after);
    return g.count;
}

static uint32_t count_within(const abut_bvh *bvh, vec3 point, double radius) {
    gathering g = gather_start(bvh, point, radius, 0, NULL);
    gather(&g);
    return g.count;
}

/* ---- public ---- */

abut_status abut_nearest_k(const abut_bvh *bvh, abut_vec3 point, double radius, uint32_t k,
                           abut_nearest *nearest, uint64_t *count) {
    abut_status status = abuti_bvh_check(__func__, bvh, count, "count");
    if (!status && !nearest && k)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: nearest is null, but k is %u", __func__, k);
    status = status ? status : abuti_bvh_check_point(__func__, "point", point);
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    if (!status)
        *count = find_many(bvh, point, radius, k, nearest);
    return status;
}

abut_status abut_nearest_within(const abut_bvh *bvh, abut_vec3 point, double radius,
                                uint64_t capacity, abut_nearest *nearest, uint64_t *count) {
    abut_status status = abuti_bvh_check(__func__, bvh, count, "count");
    if (!status && !nearest && capacity)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: nearest is null, but capacity is %llu",
                            __func__, (unsigned long long)capacity);
    status = status ? status : abuti_bvh_check_point(__func__, "point", point);
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    if (status)
        return status;
    uint32_t found = count_within(bvh, point, radius); /* a buffer too small stays untouched */
    *count = found;
    if (found > capacity)
        return abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %u triangles, but the capacity is %llu",
                          __func__, found, (unsigned long long)capacity);
    find_many(bvh, point, radius, found, nearest);
    return ABUT_OK;
}

typedef struct many_batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    uint32_t k;
    abut_nearest *nearest;
    uint32_t *counts;
} many_batch;

static void many_visit(void *data, const bvh_sorted_point *places, size_t begin, size_t end) {
    many_batch *b = data;
    for (size_t i = begin; i < end; i++) {
        size_t point = bvh_point_index(places, i);
        b->counts[point] = find_many(b->bvh, bvh_point_at(&b->points, point), b->radius, b->k,
                                     b->k ? b->nearest + point * b->k : NULL);
    }
}

/* Whether there are `k` places for each point. */
static abut_status check_rows(const char *function, const abut_bvh *bvh, size_t count, uint32_t k,
                              abut_array nearest, abut_array counts) {
    size_t places, bytes;
    if (abuti_multiply_overflows(count, k, &places) ||
        abuti_multiply_overflows(places, sizeof(abut_nearest), &bytes))
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %u places for each of %zu points are too many",
                          function, k, count);
    abut_status status =
        abuti_bvh_check_array(function, "counts", bvh, counts, count, sizeof(uint32_t));
    return status ? status
                  : abuti_bvh_check_array(function, "nearest", bvh, nearest, places,
                                          sizeof(abut_nearest));
}

abut_status abut_nearest_k_batch(const abut_bvh *bvh, const abut_points *points, double radius,
                                 uint32_t k, abut_array nearest, abut_array counts) {
    many_batch b = {
        .bvh = bvh, .radius = radius, .k = k, .nearest = nearest.host, .counts = counts.host};
    box3 bounds;
    abut_status status = abuti_bvh_check_batch(__func__, bvh, points, "points");
    status = status ? status : abuti_bvh_points_read(__func__, bvh, points, &b.points);
    status = status ? status : check_rows(__func__, bvh, b.points.count, k, nearest, counts);
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    status = status ? status : abuti_bvh_points_check(__func__, bvh->context, &b.points, &bounds);
    if (status || !b.points.count)
        return status;
    const bvh_gather g = {.function = __func__,
                          .stage = "nearest",
                          .bvh = bvh,
                          .count = b.points.count,
                          .results = nearest,
                          .result_bytes = sizeof(abut_nearest)};
    return bvh->there ? abuti_nearest_many_there(&g, &b.points, radius, k, counts)
                      : abuti_bvh_points_visit(bvh->context, &b.points, &bounds, "nearest",
                                               many_visit, &b);
}

typedef struct within_batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    const uint64_t *offsets;
    abut_nearest *nearest;
} within_batch;

static uint32_t within_answer(const void *user, size_t i, bool write, uint64_t at) {
    const within_batch *b = user;
    vec3 point = bvh_point_at(&b->points, i);
    return write ? find_many(b->bvh, point, b->radius, (uint32_t)(b->offsets[i + 1] - at),
                             b->nearest + at)
                 : count_within(b->bvh, point, b->radius);
}

abut_status abut_nearest_within_batch(const abut_bvh *bvh, const abut_points *points, double radius,
                                      uint64_t capacity, abut_array offsets, abut_array nearest,
                                      uint64_t *total) {
    within_batch b = {.bvh = bvh,
                      .radius = radius,
                      .offsets = offsets.host,
                      .nearest = nearest.host};
    box3 bounds;
    abut_status status = abuti_bvh_check_batch(__func__, bvh, points, "points");
    status = status ? status : abuti_bvh_points_read(__func__, bvh, points, &b.points);
    if (status)
        return status;
    const bvh_gather g = {__func__, "nearest",    "nearest", bvh,   b.points.count,
                          capacity, offsets,      nearest,   total, sizeof(abut_nearest),
                          &b,       within_answer};
    status = abuti_gather_check(&g);
    status = status ? status : abuti_bvh_check_limit(__func__, "radius", radius);
    status = status ? status : abuti_bvh_points_check(__func__, bvh->context, &b.points, &bounds);
    if (status)
        return status;
    return bvh->there ? abuti_nearest_within_there(&g, &b.points, radius) : abuti_gather_run(&g);
}
