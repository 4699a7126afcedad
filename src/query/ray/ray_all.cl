/* All hits of many rays on a device: the results of ray.c, sorted by gather.cl.
 *
 * Method: ray_all_find traverses the tree in floats, with the margins of ray_shared.h, and lists
 * the triangles that are not certainly missed; ray_all_decide decides them by the exact predicates,
 * with a work-item per candidate. For rays that begin too far away for floats, boxes are tested in
 * doubles, and triangles only by the predicates.
 */
#include "ray/ray_shared.h"

#if ABUTI_REAL_BITS == 64

typedef struct list_search {
    slabs slabs;
    view view;
    float max_parameter;
    candidates list;
} list_search;

static inline void test_triangle(list_search *l, float4 a, float4 b, float4 c, uint place) {
    float least, greatest;
    bool certain;
    if (may_hit(&l->view, a, b, c, l->max_parameter, &least, &greatest, &certain))
        candidates_add(&l->list, place);
}

DEFINE_LEAF(try_leaf, list_search, test_triangle)

static void traverse(list_search *l, __global const bvh_node *nodes,
                     __global const float4 *triangles) {
    uint children[STACK], used = 1;
    children[0] = 0;
    while (used) {
        uint child = children[--used];
        if (child & BVH_LEAF) {
            try_leaf(l, triangles, child & ~BVH_LEAF);
            continue;
        }
        int4 met = child_keys(&l->slabs, nodes + child, l->max_parameter) != ABUT_NONE;
        used = push_children(children, used, nodes[child].child, met);
    }
}

static void traverse_far(candidates *list, const framed_ray *r, __global const bvh_node *nodes) {
    exact_slabs b;
    init_exact_slabs(&b, r);
    uint children[STACK], used = 1;
    children[0] = 0;
    while (used) {
        uint child = children[--used];
        if (child & BVH_LEAF) {
            candidates_add_leaf(list, child & ~BVH_LEAF);
            continue;
        }
        __global const bvh_node *n = nodes + child;
        for (uint slot = 0; slot < BVH_WIDTH; slot++) {
            uint name = BVH_AT(const uint, n->child, slot);
            if (name != ABUT_NONE && box_entry(&b, n, slot, INFINITY) >= 0.0)
                children[used++] = name;
        }
    }
}

/* Rays are six doubles each. */
__kernel void ray_all_find(__global const bvh_node *nodes, __global const float4 *triangles,
                           uint triangle_count, __global const double *rays, uint count,
                           mesh_frame frame, uint fill, __global uint *begin,
                           __global uint *places) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    list_search l;
    l.list = candidates_of(fill, begin, places, i, triangle_count);
    aimed_ray a = aim(rays + 6 * (size_t)i, INFINITY, frame);
    if (a.limit == RAY_FAR) {
        framed_ray r = frame_ray(rays + 6 * (size_t)i, frame);
        traverse_far(&l.list, &r, nodes);
    } else if (a.limit >= 0.0f) {
        l.slabs = slabs_of((float4)(a.inverse[0], a.inverse[1], a.inverse[2], a.limit),
                           (float4)(a.near[0], a.near[1], a.near[2], a.margin));
        l.view = view_of((float4)(a.along[0], a.along[1], (float)a.axis, 0.0f),
                         (float4)(a.shift[0], a.shift[1], a.shift[2], a.shift[3]), a.margin);
        l.max_parameter = PARAMETER_MAX;
        traverse(&l, nodes, triangles);
    }
    candidates_end(&l.list, begin, i);
}

/* Decides candidates. Replaces their places by triangles; hits are as abut_ray_hit, five words of
 * 64 bits. */
__kernel void ray_all_decide(__global const double *corners, __global const uint *tree_order,
                             __global const double *rays, uint total, __global const uint *owners,
                             __global uint *places, __global uint *accepted, __global double *keys,
                             __global ulong *answers) {
    uint j = (uint)get_global_id(0);
    if (j >= total)
        return;
    __global const double *ray = rays + 6 * (size_t)owners[j];
    uint triangle = tree_order[places[j]];
    const path3 path = load_path(ray);
    path_hit hit;
    bool met = path_triangle_intersect(&path, load_triangle(corners, triangle), &hit) &&
               hit.parameter <= (double)INFINITY; /* not NaN */
    places[j] = triangle;
    accepted[j] = met;
    if (!met)
        return;
    keys[j] = hit.parameter;
    __global ulong *to = answers + 5 * (size_t)j;
    to[0] = as_ulong(hit.parameter);
    for (int k = 0; k < 3; k++)
        to[1 + k] = as_ulong(hit.weight[k]);
    to[4] = as_ulong((uint2)(triangle, 0));
}

#endif
