/* Generalised winding numbers on a device: the operations of winding.c, so that they have the same
 * bits. Points are sorted by nearest.cl along a curve. */
#include "bvh/node_cl.h"
#include "sign/crossing_shared.h"

#if ABUTI_REAL_BITS == 64
#include "sign/winding_shared.h"

/* The solid angles around a point: that of far children, and half that of near triangles as a
 * direction with a number of full turns. */
typedef struct point_angles {
    double far;
    half_angles near;
} point_angles;

static inline point_angles sum_angles(vec3 point, __global const bvh_node *nodes,
                                      __global const bvh_far_node *fields, uint triangle_count,
                                      __global const uint *tree_order,
                                      __global const double *corners, mesh_frame frame) {
    uint stack[STACK], used = 0;
    vec3 p =
        v3_scale(v3_sub(point, v3(frame.origin[0], frame.origin[1], frame.origin[2])), frame.scale);
    const float at[3] = {(float)p.x, (float)p.y, (float)p.z};
    point_angles sum;
    sum.far = 0.0;
    sum.near.x = 1.0;
    sum.near.y = sum.near.turns = 0.0;
    if (v3_max_abs(p) < FLOAT_COORDINATE_MAX)
        stack[used++] = 0;
    while (used > 0) {
        uint index = stack[--used];
        __global const bvh_node *n = nodes + index;
        child_fields view;
        evaluate_children(n, fields + index, at, &view);
        uint4 child = n->child;
        const uint children[BVH_WIDTH] = {child.x, child.y, child.z, child.w};
        uint leaves = 0;
        for (uint slot = 0; slot < BVH_WIDTH; slot++) {
            bool there = children[slot] != ABUT_NONE, far = view.far >> slot & 1;
            if (there && far)
                sum.far += view.sum[slot];
            else if (there && children[slot] & BVH_LEAF)
                leaves |= 1u << slot;
            else if (there)
                stack[used++] = children[slot];
        }
        for (; leaves; leaves &= leaves - 1) { /* separately, as few work-items have any */
            uint slot = popcount((leaves & (0 - leaves)) - 1);
            uint leaf = BVH_AT(const uint, n->child, slot) & ~BVH_LEAF;
            uint fill = min(triangle_count - BVH_WIDTH * leaf, (uint)BVH_WIDTH);
            for (uint k = 0; k < fill; k++)
                half_angles_add_triangle(&sum.near,
                                         load_triangle(corners, tree_order[leaf * BVH_WIDTH + k]),
                                         point);
            half_angles_scale(&sum.near);
        }
    }
    return sum;
}

/* Writes the result of point `first + order[i]`: for QUEST_SIGN an abut_nearest, whose distance
 * becomes negative inside; otherwise a byte or a double, and the other array is not accessed. */
__kernel void winding_answer(__global const bvh_node *nodes, __global const bvh_far_node *fields,
                             uint triangle_count, __global const uint *tree_order,
                             __global const double *corners, __global const double *exact,
                             __global const uint *order, uint count, mesh_frame frame,
                             double facing, uint quest, uint first, __global uchar *bytes,
                             __global double *doubles) {
    uint i = (uint)get_global_id(0);
    if (i >= count)
        return;
    size_t to = (size_t)first + order[i];
    double distance = quest == QUEST_SIGN ? doubles[8 * to] : 0.0;
    if (quest == QUEST_SIGN && !(distance > 0.0 && distance < INFINITY))
        return; /* no sign */
    point_angles sum = sum_angles(load_point(exact + 3 * (size_t)order[i]), nodes, fields,
                                  triangle_count, tree_order, corners, frame);
    double winding = winding_value(sum.far, sum.near.x, sum.near.y, sum.near.turns);
    bool inside = winding * facing >= 0.5;
    if (quest == QUEST_WINDING)
        doubles[to] = winding;
    else if (quest == QUEST_INSIDE)
        bytes[to] = inside;
    else if (inside)
        doubles[8 * to] = -distance;
}

/* Sets points inside that are on the surface, exactly: a byte each. Boxes are tested with the
 * margin of inside.cl, and only triangles whose own boxes contain the point in doubles. */
__kernel void winding_touch(__global const bvh_node *nodes, uint triangle_count,
                            __global const uint *tree_order, __global const double *corners,
                            __global const float4 *points, __global const double *exact,
                            __global const uint *order, uint count, uint first,
                            __global uchar *inside) {
    uint i = (uint)get_global_id(0), stack[STACK], used = 0;
    if (i >= count || inside[(size_t)first + order[i]])
        return;
    float at[3] = {points[i].x, points[i].y, points[i].z};
    __global const double *from = exact + 3 * (size_t)order[i];
    vec3 p = load_point(from);
    bool found = false;
    if (points[i].w >= 0.0f) /* otherwise it is far away */
        stack[used++] = 0;
    while (used > 0 && !found) {
        __global const bvh_node *n = nodes + stack[--used];
        for (uint slot = 0; slot < BVH_WIDTH && !found; slot++) {
            uint child = BVH_AT(const uint, n->child, slot), leaf = child & ~BVH_LEAF;
            bool near = child != ABUT_NONE;
            for (int axis = 0; axis < 3; axis++)
                near = near && BVH_AT(const float, n->lo[axis], slot) <= at[axis] + SIGN_MARGIN &&
                       BVH_AT(const float, n->hi[axis], slot) >= at[axis] - SIGN_MARGIN;
            if (near && !(child & BVH_LEAF))
                stack[used++] = child;
            for (uint k = 0;
                 near && child & BVH_LEAF && k < BVH_WIDTH && leaf * BVH_WIDTH + k < triangle_count;
                 k++) {
                triangle3 t = load_triangle(corners, tree_order[leaf * BVH_WIDTH + k]);
                box3 box;
                box.lo = v3_min(t.corner[0], v3_min(t.corner[1], t.corner[2]));
                box.hi = v3_max(t.corner[0], v3_max(t.corner[1], t.corner[2]));
                found = found || (box_contains(box, p) && triangle_holds(t, p));
            }
        }
    }
    inside[(size_t)first + order[i]] = found;
}

#endif
