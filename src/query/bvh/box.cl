/* Triangles in many boxes on a device: the results of box.c, sorted by gather.cl.
 *
 * Method: box_find compares boxes in floats, those of nodes and then those of triangles; box_decide
 * applies the exact predicate, with a work-item per candidate. In the frame the mesh is within 2 of
 * 0. A corner of the box has an error of 2^-52 of its size, and of 2^-24 of it as a float. Corners
 * of triangles have errors of 2^-23, and boxes of nodes contain their triangles. So the box is
 * enlarged by 2^-21 of its size plus 1 on each side.
 */
#include "bvh/node_cl.h"
#include "geom/intersect_shared.h"

#if ABUTI_REAL_BITS == 64

/* Larger coordinates are clamped: they are all outside. */
#define FRAME_COORDINATE_MAX 1e6

typedef struct box_search {
    float lo[3], hi[3];
    candidates list;
} box_search;

static inline float frame_corner(double x, double origin, double scale, double padding) {
    double at = fmin(fmax((x - origin) * scale, -FRAME_COORDINATE_MAX), FRAME_COORDINATE_MAX);
    return (float)(at + padding * (fabs(at) + 1.0));
}

static inline void test_triangle(box_search *l, float4 a, float4 b, float4 c, uint place) {
    float4 lo = fmin(a, fmin(b, c)), hi = fmax(a, fmax(b, c));
    if (lo.x <= l->hi[0] && l->lo[0] <= hi.x && lo.y <= l->hi[1] && l->lo[1] <= hi.y &&
        lo.z <= l->hi[2] && l->lo[2] <= hi.z)
        candidates_add(&l->list, place);
}

DEFINE_LEAF(try_leaf, box_search, test_triangle)

static void traverse(box_search *l, __global const bvh_node *nodes,
                     __global const float4 *triangles) {
    uint children[STACK], used = 1;
    children[0] = 0;
    while (used) {
        uint child = children[--used];
        if (child & BVH_LEAF) {
            try_leaf(l, triangles, child & ~BVH_LEAF);
            continue;
        }
        __global const bvh_node *n = nodes + child;
        int4 overlaps = -1;
        for (int axis = 0; axis < 3; axis++)
            overlaps &= (n->lo[axis] <= l->hi[axis]) & (l->lo[axis] <= n->hi[axis]);
        used =
            push_children(children, used, n->child, overlaps); /* an empty slot overlaps nothing */
    }
}

/* Writes the lowest index of an invalid box. */
__kernel void box_check(__global const double *boxes, uint count, double coordinate_max,
                        __global uint *rejected) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    __global const double *box = boxes + 6 * (size_t)i;
    bool legal = true;
    for (int axis = 0; axis < 3; axis++)
        legal = legal && -coordinate_max <= box[axis] && box[axis] <= box[axis + 3] &&
                box[axis + 3] <= coordinate_max;
    if (!legal)
        atomic_min(rejected, i);
}

/* Boxes are six doubles each. */
__kernel void box_find(__global const bvh_node *nodes, __global const float4 *triangles,
                       uint triangle_count, __global const double *boxes, uint count,
                       mesh_frame frame, uint fill, __global uint *begin, __global uint *places) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    __global const double *box = boxes + 6 * (size_t)i;
    box_search l;
    l.list = candidates_of(fill, begin, places, i, triangle_count);
    for (int axis = 0; axis < 3; axis++) {
        l.lo[axis] = frame_corner(box[axis], frame.origin[axis], frame.scale, -0x1p-21);
        l.hi[axis] = frame_corner(box[axis + 3], frame.origin[axis], frame.scale, 0x1p-21);
    }
    traverse(&l, nodes, triangles);
    candidates_end(&l.list, begin, i);
}

/* Replaces places by triangles, the results, whose index is also the sort key. */
__kernel void box_decide(__global const double *corners, __global const uint *tree_order,
                         __global const double *boxes, uint total, __global const uint *owners,
                         __global uint *places, __global uint *accepted, __global double *keys,
                         __global uint *answers) {
    uint j = (uint)get_global_id(0);
    if (j >= total)
        return;
    __global const double *from = boxes + 6 * (size_t)owners[j];
    uint triangle = tree_order[places[j]];
    box3 box;
    box.lo = load_point(from);
    box.hi = load_point(from + 3);
    places[j] = triangle;
    accepted[j] = box_triangle_intersect(box, load_triangle(corners, triangle)) != 0;
    keys[j] = 0.0;
    answers[j] = triangle;
}

#endif
