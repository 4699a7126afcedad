/* The k nearest triangles to many points on a device, or all within a radius: the results of
 * many.c, sorted by gather.cl.
 *
 * Method: as in nearest.cl, in floats with a margin m. many_bound searches the distance of the k-th
 * triangle, with the smallest distances so far in a heap, the largest on top. Let b be that
 * distance in floats: k triangles are not further than b + m, and triangles whose computed distance
 * exceeds b + 2 m are not among the nearest. many_find lists the triangles within that bound, and
 * many_decide measures them in doubles. If a point is too far away for floats, boxes and triangles
 * are measured in doubles, in the units and with the margins of many.c.
 */
#include "geom/closest_shared.h"
#include "nearest/walk_cl.h"

#if ABUTI_REAL_BITS == 64
#include "nearest/measure_cl.h"

/* ---- the smallest distances so far ---- */

/* A heap, the largest on top: element i is at[i stride], so that those of neighbouring work-items
 * are adjacent. */
typedef struct heap {
    __global double *at;
    size_t stride;
    uint count, capacity;
} heap;

static inline bool is_heap_full(const heap *h) {
    return h->capacity > 0 && h->count == h->capacity;
}

static void heap_add(heap *h, double x) {
    uint i;
    if (h->count < h->capacity) {
        for (i = h->count++; i > 0 && h->at[(i - 1) / 2 * h->stride] < x; i = (i - 1) / 2)
            h->at[i * h->stride] = h->at[(i - 1) / 2 * h->stride];
        h->at[i * h->stride] = x;
        return;
    }
    if (!(x < h->at[0]))
        return;
    uint child;
    for (i = 0; (child = 2 * i + 1) < h->count; i = child) {
        double larger = h->at[child * h->stride];
        if (child + 1 < h->count) {
            double other = h->at[(child + 1) * h->stride];
            child += other > larger;
            larger = fmax(larger, other);
        }
        if (!(larger > x))
            break;
        h->at[i * h->stride] = larger;
    }
    h->at[i * h->stride] = x;
}

/* ---- near points: floats ---- */

typedef struct bound_search {
    search s;
    heap least; /* squared distances */
    uint triangle_count;
} bound_search;

static inline void bound_triangle(bound_search *b, float4 p, float4 q, float4 r, uint place) {
    float distance_sq = triangle_sq(p - b->s.at, q - b->s.at, r - b->s.at);
    if (distance_sq > b->s.reach_sq || place >= b->triangle_count)
        return;
    heap_add(&b->least, distance_sq);
    if (is_heap_full(&b->least))
        set_best(&b->s, fmin(b->s.best, sqrt((float)b->least.at[0])));
}

DEFINE_LEAF(bound_leaf, bound_search, bound_triangle)
DEFINE_WALK(walk_bounding, bound_search, &state->s, bound_leaf)

typedef struct list_search {
    search s;
    candidates list;
} list_search;

static inline void list_triangle(list_search *l, float4 p, float4 q, float4 r, uint place) {
    if (triangle_sq(p - l->s.at, q - l->s.at, r - l->s.at) <= l->s.reach_sq)
        candidates_add(&l->list, place);
}

DEFINE_LEAF(list_leaf, list_search, list_triangle)
DEFINE_WALK(walk_listing, list_search, &state->s, list_leaf)

/* ---- distant points: doubles ---- */

static __attribute__((noinline)) double distance_to(__global const double *corners, uint triangle,
                                                    vec3 point) {
    return triangle_closest_point(load_triangle(corners, triangle), point).distance;
}

static inline double far_prune_distance(const heap *least, double radius, double unit) {
    double limit = is_heap_full(least) ? real_min(radius, least->at[0]) : radius;
    return limit * unit * SLACK_FAR + MARGIN_FAR;
}

/* Returns the square of the bound, in units of the search. */
static double bound_far(heap *least, vec3 point, double radius, mesh_frame frame,
                        __global const bvh_node *nodes, __global const uint *tree_order,
                        __global const double *corners, uint triangle_count) {
    far_point f = make_far_point(point, frame);
    double distances[STACK], limit = far_prune_distance(least, radius, f.unit);
    uint children[STACK];
    uint used =
        least->capacity ? far_children(&f, nodes, limit * limit, distances, children, 0) : 0;
    while (used) {
        used--;
        uint child = children[used];
        if (distances[used] > limit * limit)
            continue;
        if (!(child & BVH_LEAF)) {
            used = far_children(&f, nodes + child, limit * limit, distances, children, used);
            continue;
        }
        for (uint i = 0; i < BVH_WIDTH; i++) {
            uint place = (child & ~BVH_LEAF) * BVH_WIDTH + i;
            double distance =
                place < triangle_count ? distance_to(corners, tree_order[place], point) : INFINITY;
            if (distance <= radius && place < triangle_count)
                heap_add(least, distance);
        }
        limit = far_prune_distance(least, radius, f.unit);
    }
    return limit * limit;
}

static void list_far(candidates *list, vec3 point, double reach_sq, mesh_frame frame,
                     __global const bvh_node *nodes) {
    far_point f = make_far_point(point, frame);
    double distances[STACK];
    uint children[STACK], used = far_children(&f, nodes, reach_sq, distances, children, 0);
    while (used) {
        uint child = children[--used];
        if (child & BVH_LEAF)
            candidates_add_leaf(list, child & ~BVH_LEAF);
        else
            used = far_children(&f, nodes + child, reach_sq, distances, children, used);
    }
}

/* ---- kernels ---- */

/* The squared bound of the distances of the k nearest triangles of the i-th sorted point: in the
 * frame, or in units of the search if it is far away. `limit` is the radius in the frame. If k is
 * 0, the bound is the radius, and no heap is needed. */
__kernel void many_bound(__global const bvh_node *nodes, __global const float4 *triangles,
                         __global const uint *tree_order, __global const double *corners,
                         uint triangle_count, __global const float4 *points,
                         __global const double *exact, __global const uint *order, uint count,
                         double radius, float limit, mesh_frame frame, uint capacity,
                         __global double *heaps, __global double *reaches) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    bound_search b;
    b.least.at = heaps + (capacity ? i : 0);
    b.least.stride = count;
    b.least.count = 0;
    b.least.capacity = capacity;
    b.triangle_count = triangle_count;
    b.s.at = points[i];
    if (b.s.at.w < 0.0f) {
        reaches[i] = bound_far(&b.least, load_point(exact + 3 * (size_t)order[i]), radius, frame,
                               nodes, tree_order, corners, triangle_count);
        return;
    }
    set_best(&b.s, limit);
    if (capacity)
        walk_bounding(&b, nodes, triangles);
    reaches[i] = b.s.reach_sq;
}

/* Lists the triangles within that bound. */
__kernel void many_find(__global const bvh_node *nodes, __global const float4 *triangles,
                        uint triangle_count, __global const float4 *points,
                        __global const double *exact, __global const uint *order, uint count,
                        mesh_frame frame, __global const double *reaches, uint fill,
                        __global uint *begin, __global uint *places) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    uint point = order[i];
    list_search l;
    l.list = candidates_of(fill, begin, places, point, triangle_count);
    l.s.at = points[i];
    l.s.reach_sq = (float)reaches[i];
    if (l.s.at.w < 0.0f)
        list_far(&l.list, load_point(exact + 3 * (size_t)point), reaches[i], frame, nodes);
    else
        walk_listing(&l, nodes, triangles);
    candidates_end(&l.list, begin, point);
}

/* Measures candidates. Replaces their places by triangles. */
__kernel void many_decide(__global const double *corners, __global const uint *tree_order,
                          __global const double *exact, double radius, uint total,
                          __global const uint *owners, __global uint *places,
                          __global uint *accepted, __global double *keys,
                          __global nearest_result *answers) {
    uint j = (uint)get_global_id(0);
    if (j >= total)
        return;
    uint triangle = tree_order[places[j]];
    measured m;
    start_measure(&m, load_point(exact + 3 * (size_t)owners[j]), radius);
    measure(&m, corners, triangle);
    places[j] = triangle;
    accepted[j] = m.winner != ABUT_NONE;
    keys[j] = m.best;
    store(&m, answers + j);
}

#endif
