/* Whether two surfaces intersect, for many poses: a work-group for each pose.
 *
 * Method: as in intersect_lanes.c, a traversal of both BVHs at once, but with many pairs of boxes
 * at a time. Pairs are on a stack in local memory, of which 32 are opened together, with a
 * work-item for each child. Pairs of leaves are tested eight at a time, with a work-item for each
 * pair of triangles. Everything is in floats of the common frame of pair.h, in which a coordinate
 * has an error of at most the padding. Signs of volumes that exceed the error bound of
 * intersect_lanes.c are certain. Two triangles certainly intersect if an edge of one has its ends
 * on both sides of the other and passes all three edges of it on the same side. They are certainly
 * apart if a plane separates them, or if no edge of either can cross the other. All other pairs are
 * returned to the host, which applies the exact predicate.
 */
#include "pair/pair_cl.h"

#define BOX_PAIRS_PER_ROUND (PAIR_GROUP / BVH_WIDTH) /* pairs of boxes at a time */

/* ---- boxes ---- */

/* False if the projections on one of the face axes of either box are apart by more than the
 * padding; also for an empty slot, whose sizes are NaN. */
static inline bool boxes_overlap(const pair_pose *p, const box *a, const box *b) {
    wide3 offset = sub3(a->centre, to_side_a(p, b->centre));
    const float at[3] = {offset.x, offset.y, offset.z};
    const float ha[3] = {a->half_size.x, a->half_size.y, a->half_size.z};
    const float hb[3] = {b->half_size.x, b->half_size.y, b->half_size.z};
    bool intersects = true;
    for (int i = 0; i < 3; i++) {
        float own = p->pad + ha[i], other = p->pad + hb[i], along = 0.0f;
        for (int j = 0; j < 3; j++) {
            own += fabs(p->rotation[j][i]) * hb[j];
            other += fabs(p->rotation[i][j]) * ha[j];
            along += at[j] * p->rotation[i][j];
        }
        intersects = intersects && fabs(at[i]) <= own && fabs(along) <= other;
    }
    return intersects;
}

/* ---- triangles ---- */

/* The sign of n . w for a plane; 0 if it is not certain. */
static inline int side_of(const wide_plane *p, wide3 w) {
    float value = dot3(p->n, w), bound = plane_bound(p, sum3(w));
    return value > bound ? 1 : value < -bound ? -1 : 0;
}

enum { SEPARATE, UNCERTAIN, INTERSECTING };

/* Whether an edge from p to q, whose ends are on the given sides of the plane of a triangle,
 * intersects the triangle. */
static inline int edge_intersects(const wide3 *t, wide3 p, wide3 q, int side_p, int side_q,
                                  float error) {
    if (side_p * side_q > 0)
        return SEPARATE;
    wide3 direction = sub3(q, p), r[3];
    for (int k = 0; k < 3; k++)
        r[k] = sub3(t[k], p);
    int above = 0, below = 0;
    for (int k = 0; k < 3; k++) {
        wide_plane through = plane_of(r[k], r[k == 2 ? 0 : k + 1], error);
        int side = side_of(&through, direction);
        above += side > 0;
        below += side < 0;
    }
    if (above && below)
        return SEPARATE;
    return side_p * side_q < 0 && above + below == 3 ? INTERSECTING : UNCERTAIN;
}

static inline int edges_intersect(const wide3 *t, const wide3 *other, const int *side,
                                  float error) {
    int worst = SEPARATE;
    for (int k = 0; k < 3; k++) {
        int next = k == 2 ? 0 : k + 1;
        int found = edge_intersects(t, other[k], other[next], side[k], side[next], error);
        if (found == INTERSECTING)
            return INTERSECTING;
        worst = found > worst ? found : worst;
    }
    return worst;
}

static int triangles_intersect(const wide3 *a, const wide3 *b, float error) {
    int side_a[3], side_b[3], sum_a = 0, sum_b = 0;
    wide_plane of_a = plane_of(sub3(a[1], a[0]), sub3(a[2], a[0]), error);
    for (int k = 0; k < 3; k++)
        sum_b += side_b[k] = side_of(&of_a, sub3(b[k], a[0]));
    if (sum_b == 3 || sum_b == -3)
        return SEPARATE;
    wide_plane of_b = plane_of(sub3(b[1], b[0]), sub3(b[2], b[0]), error);
    for (int k = 0; k < 3; k++)
        sum_a += side_a[k] = side_of(&of_b, sub3(a[k], b[0]));
    if (sum_a == 3 || sum_a == -3)
        return SEPARATE;
    int found = edges_intersect(a, b, side_b, error);
    if (found == INTERSECTING)
        return found;
    int other = edges_intersect(b, a, side_a, error);
    return other > found ? other : found;
}

/* ---- a pose ---- */

/* Counters: pairs of boxes, pairs of leaves, whether any pair intersects, uncertain pairs of
 * triangles, and the index of the first of these in the output. */
enum { BOX_PAIRS, LEAF_PAIRS, HAS_INTERSECTION, UNCERTAIN_COUNT, RESULT_BEGIN, COUNTERS };

static inline void test_leaves(const pair_pose *p, const side *a, const side *b,
                               __local const uint2 *leaves, uint first, uint count,
                               __local uint *counters, __local uint2 *uncertain) {
    uint item = (uint)get_local_id(0), which = item / (BVH_WIDTH * BVH_WIDTH);
    if (which >= count)
        return;
    uint2 at = triangle_pair(a, b, leaves[first + which], item % (BVH_WIDTH * BVH_WIDTH));
    wide3 corners_a[3], corners_b[3];
    load_pair(p, a, b, at, corners_a, corners_b);
    int found = triangles_intersect(corners_a, corners_b, p->pad);
    if (found == INTERSECTING)
        counters[HAS_INTERSECTION] = 1; /* several work-items may write it */
    if (found == UNCERTAIN) {
        uint place = atomic_inc(&counters[UNCERTAIN_COUNT]);
        if (place < PAIR_UNCERTAIN_MAX)
            uncertain[place] = at;
    }
}

/* The pair if its boxes may overlap, otherwise ABUT_NONE. */
static inline uint2 if_overlapping(const pair_pose *p, const side *a, const side *b, uint2 pair) {
    box box_a = box_at(a, pair.x), box_b = box_at(b, pair.y);
    return boxes_overlap(p, &box_a, &box_b) ? pair : (uint2)(ABUT_NONE, ABUT_NONE);
}

/* For each pose: the index of the first uncertain pair of triangles in `pairs` and their number
 * (none = apart), or PAIR_INTERSECTS, or PAIR_OVERFLOW. `total` starts with 0. */
__kernel __attribute__((reqd_work_group_size(PAIR_GROUP, 1, 1))) void
pair_intersect(__global const bvh_node *nodes_a, __global const bvh_node *nodes_b,
               __global const float *triangles_a, __global const float *triangles_b,
               __global const uint *order_a, __global const uint *order_b,
               __global const pair_pose *poses, __global uint2 *results, __global uint2 *pairs,
               __global uint *total, __local uint2 *memory) {
    __local uint2 *stack = memory, *leaves = stack + INTERSECT_STACK,
                  *uncertain = leaves + INTERSECT_LEAVES;
    __local uint *counters = (__local uint *)(uncertain + PAIR_UNCERTAIN_MAX);
    uint item = (uint)get_local_id(0), pose = (uint)get_group_id(0);
    pair_pose p = poses[pose];
    const side a = {nodes_a, triangles_a, order_a, p.unit_a};
    const side b = {nodes_b, triangles_b, order_b, p.unit_b};
    if (p.is_skipped) {
        if (item == 0)
            results[pose] = (uint2)(0, PAIR_OVERFLOW);
        return;
    }
    if (item < COUNTERS)
        counters[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint2 child =
        (uint2)(ABUT_NONE, ABUT_NONE); /* the pair to be pushed: first the children of both roots */
    if (item < BVH_WIDTH * BVH_WIDTH)
        child = if_overlapping(&p, &a, &b, (uint2)(item / BVH_WIDTH, item % BVH_WIDTH));
    for (;;) {
        if (child.x != ABUT_NONE) {
            bool both = are_leaves(&a, &b, child);
            uint place = atomic_inc(&counters[both ? LEAF_PAIRS : BOX_PAIRS]);
            if (both)
                leaves[place] = child;
            else
                stack[place] = child;
            child = (uint2)(ABUT_NONE, ABUT_NONE);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        uint waiting = counters[BOX_PAIRS], found = counters[LEAF_PAIRS];
        bool is_finished = counters[HAS_INTERSECTION] ||
                           counters[UNCERTAIN_COUNT] > PAIR_UNCERTAIN_MAX || waiting + found == 0;
        /* an opened pair adds at most three */
        uint opened =
            found >= INTERSECT_LEAVES_PER_ROUND
                ? 0
                : min(min(waiting, (uint)BOX_PAIRS_PER_ROUND), (INTERSECT_STACK - waiting) / 3);
        uint tested = opened ? 0 : min(found, (uint)INTERSECT_LEAVES_PER_ROUND);
        is_finished = is_finished || opened + tested == 0;
        if (!is_finished && item / BVH_WIDTH < opened)
            child = if_overlapping(&p, &a, &b,
                                   child_pair(&a, &b, stack[waiting - opened + item / BVH_WIDTH],
                                              item % BVH_WIDTH));
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_finished)
            break;
        if (tested)
            test_leaves(&p, &a, &b, leaves, found - tested, tested, counters, uncertain);
        if (item == 0) {
            counters[BOX_PAIRS] = waiting - opened;
            counters[LEAF_PAIRS] = found - tested;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    bool intersects = counters[HAS_INTERSECTION],
         overflows = counters[BOX_PAIRS] || counters[LEAF_PAIRS] ||
                     counters[UNCERTAIN_COUNT] > PAIR_UNCERTAIN_MAX;
    uint count = intersects || overflows ? 0 : counters[UNCERTAIN_COUNT];
    if (item == 0) {
        uint start = count ? atomic_add(total, count) : 0;
        counters[RESULT_BEGIN] = start;
        results[pose] = (uint2)(start, intersects  ? PAIR_INTERSECTS
                                       : overflows ? PAIR_OVERFLOW
                                                   : count);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < count)
        pairs[counters[RESULT_BEGIN] + item] =
            (uint2)(a.order[uncertain[item].x], b.order[uncertain[item].y]);
}
