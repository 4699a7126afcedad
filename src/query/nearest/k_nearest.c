/* The k nearest triangles of a mesh to a point, or all within a radius.
 *
 * Method: depth-first traversal, nearest child first, with box distances in doubles; every triangle
 * of a leaf by triangle_closest_point(). The best so far are a heap in the array of the caller, the
 * worst on top. Its distance is the bound once the heap is full. Hence the result is that of a
 * search through all triangles, sorted.
 *
 * Boxes are measured in the frame, scaled down if the point is far away so that no square
 * overflows. The query point is rounded there, by 2^-53 of its distance to the local origin of the
 * mesh, and so are the products. A box is pruned if it is further than the bound by more than 2^-50
 * of that distance, plus 2^-44 of the bound for the error of triangle distances.
 */
#include "bvh/gather.h"
#include "bvh/points.h"
#include "nearest/batch.h"

#include "geom/closest_shared.h"

#include <math.h>

typedef struct nearest_query {
    const abut_bvh *bvh;
    vec3 point;
    double at[3]; /* in units of the search */
    double unit;  /* factor from world distances to these units */
    double frame; /* factor from coordinates of the frame to these units */
    double margin;
    double radius;
    uint32_t k, count;
    abut_nearest *nearest; /* null = only count */
} nearest_query;

typedef struct pending_node {
    double distance_sq;
    uint32_t child;
} pending_node;

static bool is_further(const void *one, const void *other) {
    const abut_nearest *a = one, *b = other;
    return a->distance > b->distance || (a->distance == b->distance && a->triangle > b->triangle);
}

/* ---- the nearest triangles so far ---- */

static void heap_up(abut_nearest *heap, uint32_t at) {
    while (at > 0 && is_further(&heap[at], &heap[(at - 1) / 2])) {
        abut_nearest kept = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = kept;
        at = (at - 1) / 2;
    }
}

static void heap_down(abut_nearest *heap, uint32_t count) {
    for (uint32_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_further(&heap[child + 1], &heap[child]))
            child++;
        if (!is_further(&heap[child], &heap[at]))
            return;
        abut_nearest kept = heap[at];
        heap[at] = heap[child];
        heap[child] = kept;
    }
}

static void add_triangle(nearest_query *g, uint32_t triangle) {
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
    if (g->count == g->k && !is_further(&g->nearest[0], &found))
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

/* ---- traversal ---- */

/* The squared distance beyond which a box is pruned. */
static double prune_distance_sq(const nearest_query *g) {
    double limit = g->radius;
    if (g->nearest && g->count == g->k)
        limit = real_min(limit, g->nearest[0].distance);
    limit = limit * g->unit * SLACK_FAR + g->margin;
    return limit * limit;
}

static uint32_t push_children(const nearest_query *g, uint32_t index, pending_node *stack,
                              uint32_t used) {
    const bvh_node *node = &g->bvh->nodes[index];
    uint32_t first = used;
    double bound = prune_distance_sq(g);
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
        pending_node child = {sum, node->child[slot]};
        uint32_t i = used++;
        for (; i > first && stack[i - 1].distance_sq < sum; i--)
            stack[i] = stack[i - 1];
        stack[i] = child;
    }
    return used;
}

static void run_query(nearest_query *g) {
    pending_node stack[BVH_STACK];
    uint32_t used = push_children(g, 0, stack, 0);
    while (used) {
        pending_node next = stack[--used];
        if (next.distance_sq > prune_distance_sq(g))
            continue;
        if (!(next.child & BVH_LEAF)) {
            used = push_children(g, next.child, stack, used);
            continue;
        }
        uint32_t leaf = next.child & ~BVH_LEAF;
        for (uint32_t i = 0; i < bvh_leaf_fill(g->bvh, leaf); i++)
            add_triangle(g, g->bvh->order[leaf * BVH_WIDTH + i]);
    }
}

static nearest_query init_query(const abut_bvh *bvh, vec3 point, double radius, uint32_t k,
                                abut_nearest *nearest) {
    nearest_query g = {.bvh = bvh, .point = point, .radius = radius, .k = k, .nearest = nearest};
    vec3 p = v3_sub(point, bvh->mesh->origin);
    double away = v3_max_abs(p);
    /* in the frame, unless the point is further away than the size of the mesh */
    bool is_far = away * bvh->scale > 2;
    g.unit = is_far ? 1 / away : bvh->scale;
    g.frame = is_far ? g.unit / bvh->scale : 1;
    g.at[0] = p.x * g.unit;
    g.at[1] = p.y * g.unit;
    g.at[2] = p.z * g.unit;
    g.margin = MARGIN_FAR; /* coordinates are at most 2 here */
    return g;
}

uint32_t abuti_nearest_k(const abut_bvh *bvh, vec3 point, double radius, uint32_t k,
                         abut_nearest *nearest) {
    if (!k)
        return 0;
    nearest_query g = init_query(bvh, point, radius, k, nearest);
    run_query(&g);
    abuti_sort_items(nearest, g.count, sizeof *nearest, is_further);
    return g.count;
}

static uint32_t count_within(const abut_bvh *bvh, vec3 point, double radius) {
    nearest_query g = init_query(bvh, point, radius, 0, NULL);
    run_query(&g);
    return g.count;
}

/* ---- public ---- */

static abut_status check_list(const char *function, const abut_bvh *bvh, abut_vec3 point,
                              double radius, const abut_nearest_list *nearest) {
    abut_status status;
    if ((status = abuti_bvh_check(function, bvh, nearest, "nearest")) ||
        (status = ABUTI_LIST_CHECK(function, "nearest", nearest)) ||
        (status = abuti_bvh_check_point(function, "point", point)))
        return status;
    return abuti_bvh_check_limit(function, "radius", radius);
}

abut_status abut_nearest_k(const abut_bvh *bvh, abut_vec3 point, double radius,
                           abut_nearest_list *nearest) {
    abut_status status = check_list(__func__, bvh, point, radius, nearest);
    if (status)
        return status;
    if (nearest->capacity > UINT32_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the capacity of nearest is %llu; it must be at "
                          "most %u",
                          __func__, (unsigned long long)nearest->capacity, UINT32_MAX);
    nearest->count =
        abuti_nearest_k(bvh, point, radius, (uint32_t)nearest->capacity, nearest->list);
    return ABUT_OK;
}

abut_status abut_nearest_within(const abut_bvh *bvh, abut_vec3 point, double radius,
                                abut_nearest_list *nearest) {
    abut_status status = check_list(__func__, bvh, point, radius, nearest);
    if (status)
        return status;
    /* Counted first, so that a list that is too short stays unchanged. */
    const uint32_t found = count_within(bvh, point, radius);
    status = ABUTI_LIST_COUNT(__func__, "nearest", nearest, found);
    if (!status)
        abuti_nearest_k(bvh, point, radius, found, nearest->list);
    return status;
}

typedef struct many_batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    uint32_t k;
    abut_nearest *nearest;
    uint32_t *counts;
} many_batch;

static void search_range(void *data, const bvh_sorted_point *places, size_t begin, size_t end) {
    many_batch *b = data;
    for (size_t i = begin; i < end; i++) {
        size_t point = bvh_point_index(places, i);
        b->counts[point] = abuti_nearest_k(b->bvh, bvh_point_at(&b->points, point), b->radius, b->k,
                                           b->k ? b->nearest + point * b->k : NULL);
    }
}

/* Validates the arrays of `k` entries for each point. */
static abut_status check_rows(const char *function, const abut_bvh *bvh, size_t count, uint32_t k,
                              abut_array nearest, abut_array counts) {
    size_t places, bytes;
    if (abuti_multiply_overflows(count, k, &places) ||
        abuti_multiply_overflows(places, sizeof(abut_nearest), &bytes))
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: %u entries for each of %zu points exceed the address space",
                          function, k, count);
    abut_status status =
        abuti_bvh_check_array(function, "counts", bvh, counts, count, sizeof(uint32_t));
    if (!status)
        status =
            abuti_bvh_check_array(function, "nearest", bvh, nearest, places, sizeof(abut_nearest));
    return status;
}

abut_status abut_nearest_k_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                 double radius, uint32_t k, abut_array nearest, abut_array counts) {
    many_batch b = {
        .bvh = bvh, .radius = radius, .k = k, .nearest = nearest.host, .counts = counts.host};
    abut_status status;
    if ((status = abuti_bvh_check_batch(__func__, bvh, bvh, "bvh")) ||
        (status = abuti_bvh_points_read(__func__, bvh, points, count, &b.points)) ||
        (status = check_rows(__func__, bvh, b.points.count, k, nearest, counts)) ||
        (status = abuti_bvh_check_limit(__func__, "radius", radius)) ||
        (status = abuti_bvh_points_check(__func__, bvh->context, &b.points)) || !b.points.count)
        return status;
    const bvh_gather g = {.function = __func__,
                          .stage = "nearest",
                          .bvh = bvh,
                          .count = b.points.count,
                          .results = nearest,
                          .result_bytes = sizeof(abut_nearest)};
    return bvh->there ? abuti_nearest_many_on_device(&g, &b.points, radius, k, counts)
                      : abuti_bvh_points_visit(bvh, &b.points, "nearest", search_range, &b);
}

typedef struct within_batch {
    const abut_bvh *bvh;
    bvh_points points;
    double radius;
    const uint64_t *offsets;
    abut_nearest *nearest;
} within_batch;

static uint32_t find_within(const void *user, size_t i, bool write, uint64_t at) {
    const within_batch *b = user;
    vec3 point = bvh_point_at(&b->points, i);
    return write ? abuti_nearest_k(b->bvh, point, b->radius, (uint32_t)(b->offsets[i + 1] - at),
                                   b->nearest + at)
                 : count_within(b->bvh, point, b->radius);
}

abut_status abut_nearest_within_batch(const abut_bvh *bvh, abut_array points, size_t count,
                                      double radius, uint64_t capacity, abut_array offsets,
                                      abut_array nearest, uint64_t *total) {
    within_batch b = {.bvh = bvh,
                      .radius = radius,
                      .offsets = offsets.host,
                      .nearest = nearest.host};
    abut_status status;
    if ((status = abuti_bvh_check_batch(__func__, bvh, bvh, "bvh")) ||
        (status = abuti_bvh_points_read(__func__, bvh, points, count, &b.points)))
        return status;
    const bvh_gather g = {__func__, "nearest",  "nearest", bvh,   b.points.count,
                          capacity, offsets,    nearest,   total, sizeof(abut_nearest),
                          &b,       find_within};
    if ((status = abuti_gather_check(&g)) ||
        (status = abuti_bvh_check_limit(__func__, "radius", radius)) ||
        (status = abuti_bvh_points_check(__func__, bvh->context, &b.points)))
        return status;
    return bvh->there ? abuti_nearest_within_on_device(&g, &b.points, radius)
                      : abuti_gather_run(&g);
}
