/* Whether two surfaces meet, for many poses: a group for each pose.
 *
 * Method: as pair_meet.c, both hierarchies at once, but many pairs of boxes at a time: pairs wait
 * on a stack in local memory, of which 32 are opened together, an item for each child. Pairs of
 * leaves are looked at eight at a time, an item for each two triangles. Everything is in floats of
 * the common frame of pair.h, in which a coordinate is off by no more than the pad. Signs of
 * volumes that are beyond the doubt of pair_meet.c are certain. Two triangles meet for certain
 * where an edge of one has its ends on both sides of the other and passes all three edges of it on
 * the same side; they are apart for certain where a plane separates them, or no edge of either can
 * pierce the other. What is neither goes to the host, which asks the exact predicate.
 */
#include "pair/pair_cl.h"

#define OPENED (PAIR_GROUP / BVH_WIDTH) /* pairs of boxes at a time */

/* ---- boxes ---- */

/* Not so where the shadows on one of the face axes of either are apart beyond the pad; never so for
 * an empty slot, whose sizes are no numbers. */
static inline bool boxes_meet(const pair_pose *p, const box *a, const box *b) {
    wide3 offset = sub3(a->middle, turned(p, b->middle));
    const float at[3] = {offset.x, offset.y, offset.z};
    const float ha[3] = {a->half_size.x, a->half_size.y, a->half_size.z};
    const float hb[3] = {b->half_size.x, b->half_size.y, b->half_size.z};
    bool met = true;
    for (int i = 0; i < 3; i++) {
        float own = p->pad + ha[i], other = p->pad + hb[i], along = 0.0f;
        for (int j = 0; j < 3; j++) {
            own += fabs(p->turn[j][i]) * hb[j];
            other += fabs(p->turn[i][j]) * ha[j];
            along += at[j] * p->turn[i][j];
        }
        met = met && fabs(at[i]) <= own && fabs(along) <= other;
    }
    return met;
}

/* ---- triangles ---- */

/* The sign of n . w for a plane, 0 where it is not certain. */
static inline int side_of(const wide_plane *p, wide3 w) {
    float value = dot3(p->n, w), bound = plane_bound(p, sum3(w));
    return value > bound ? 1 : value < -bound ? -1 : 0;
}

enum { SEPARATE, UNCERTAIN, MEETING };

/* An edge from p to q, whose ends are on these sides of a triangle's plane. */
static inline int pierces(const wide3 *t, wide3 p, wide3 q, int side_p, int side_q, float doubt) {
    if (side_p * side_q > 0)
        return SEPARATE;
    wide3 way = sub3(q, p), r[3];
    for (int k = 0; k < 3; k++)
        r[k] = sub3(t[k], p);
    int above = 0, below = 0;
    for (int k = 0; k < 3; k++) {
        wide_plane through = plane_of(r[k], r[k == 2 ? 0 : k + 1], doubt);
        int side = side_of(&through, way);
        above += side > 0;
        below += side < 0;
    }
    if (above && below)
        return SEPARATE;
    return side_p * side_q < 0 && above + below == 3 ? MEETING : UNCERTAIN;
}

static inline int edges_pierce(const wide3 *t, const wide3 *other, const int *side, float doubt) {
    int worst = SEPARATE;
    for (int k = 0; k < 3; k++) {
        int next = k == 2 ? 0 : k + 1;
        int found = pierces(t, other[k], other[next], side[k], side[next], doubt);
        if (found == MEETING)
            return MEETING;
        worst = found > worst ? found : worst;
    }
    return worst;
}

static int triangles_meet(const wide3 *a, const wide3 *b, float doubt) {
    int side_a[3], side_b[3], sum_a = 0, sum_b = 0;
    wide_plane of_a = plane_of(sub3(a[1], a[0]), sub3(a[2], a[0]), doubt);
    for (int k = 0; k < 3; k++)
        sum_b += side_b[k] = side_of(&of_a, sub3(b[k], a[0]));
    if (sum_b == 3 || sum_b == -3)
        return SEPARATE;
    wide_plane of_b = plane_of(sub3(b[1], b[0]), sub3(b[2], b[0]), doubt);
    for (int k = 0; k < 3; k++)
        sum_a += side_a[k] = side_of(&of_b, sub3(a[k], b[0]));
    if (sum_a == 3 || sum_a == -3)
        return SEPARATE;
    int found = edges_pierce(a, b, side_b, doubt);
    if (found == MEETING)
        return found;
    int other = edges_pierce(b, a, side_a, doubt);
    return other > found ? other : found;
}

/* ---- a pose ---- */

/* numbers: waiting pairs, pairs of leaves, whether some meet, uncertain pairs of triangles, and
 * where these go. */
enum { WAITING, FOUND, MET, ASKED, PLACE, NUMBERS };

static inline void look_at_leaves(const pair_pose *p, const side *a, const side *b,
                                  __local const uint2 *leaves, uint first, uint count,
                                  __local uint *numbers, __local uint2 *unsure) {
    uint item = (uint)get_local_id(0), which = item / (BVH_WIDTH * BVH_WIDTH);
    if (which >= count)
        return;
    uint2 at = triangles_of(a, b, leaves[first + which], item % (BVH_WIDTH * BVH_WIDTH));
    wide3 corners_a[3], corners_b[3];
    load_pair(p, a, b, at, corners_a, corners_b);
    int found = triangles_meet(corners_a, corners_b, p->pad);
    if (found == MEETING)
        numbers[MET] = 1; /* many may write it */
    if (found == UNCERTAIN) {
        uint place = atomic_inc(&numbers[ASKED]);
        if (place < PAIR_UNSURE)
            unsure[place] = at;
    }
}

/* The pair, where its boxes may meet. */
static inline uint2 if_met(const pair_pose *p, const side *a, const side *b, uint2 pair) {
    box box_a = box_at(a, pair.x), box_b = box_at(b, pair.y);
    return boxes_meet(p, &box_a, &box_b) ? pair : (uint2)(ABUT_NONE, ABUT_NONE);
}

/* For each pose: where in `pairs` those of triangles begin that are uncertain and how many they are
 * (none = apart), or PAIR_MEETS, or PAIR_TOO_MUCH. `total` starts with 0. */
__kernel __attribute__((reqd_work_group_size(PAIR_GROUP, 1, 1))) void
pair_meet(__global const bvh_node *nodes_a, __global const bvh_node *nodes_b,
          __global const float *triangles_a, __global const float *triangles_b,
          __global const uint *order_a, __global const uint *order_b,
          __global const pair_pose *poses, __global uint2 *results, __global uint2 *pairs,
          __global uint *total, __local uint2 *room) {
    __local uint2 *stack = room, *leaves = stack + MEET_STACK, *asked = leaves + MEET_LEAVES;
    __local uint *numbers = (__local uint *)(asked + PAIR_UNSURE);
    uint item = (uint)get_local_id(0), pose = (uint)get_group_id(0);
    pair_pose p = poses[pose];
    const side a = {nodes_a, triangles_a, order_a, p.unit_a};
    const side b = {nodes_b, triangles_b, order_b, p.unit_b};
    if (p.skip) {
        if (item == 0)
            results[pose] = (uint2)(0, PAIR_TOO_MUCH);
        return;
    }
    if (item < NUMBERS)
        numbers[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint2 child = (uint2)(ABUT_NONE, ABUT_NONE); /* to be kept: first the children of both roots */
    if (item < BVH_WIDTH * BVH_WIDTH)
        child = if_met(&p, &a, &b, (uint2)(item / BVH_WIDTH, item % BVH_WIDTH));
    for (;;) {
        if (child.x != ABUT_NONE) {
            bool both = leaves_both(&a, &b, child);
            uint place = atomic_inc(&numbers[both ? FOUND : WAITING]);
            if (both)
                leaves[place] = child;
            else
                stack[place] = child;
            child = (uint2)(ABUT_NONE, ABUT_NONE);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        uint waiting = numbers[WAITING], found = numbers[FOUND];
        bool over = numbers[MET] || numbers[ASKED] > PAIR_UNSURE || waiting + found == 0;
        /* one opened leaves at most three more */
        uint opened =
            found >= MEET_LOOKED ? 0 : min(min(waiting, (uint)OPENED), (MEET_STACK - waiting) / 3);
        uint looked = opened ? 0 : min(found, (uint)MEET_LOOKED);
        over = over || opened + looked == 0;
        if (!over && item / BVH_WIDTH < opened)
            child = if_met(&p, &a, &b,
                           pair_below(&a, &b, stack[waiting - opened + item / BVH_WIDTH],
                                      item % BVH_WIDTH));
        barrier(CLK_LOCAL_MEM_FENCE);
        if (over)
            break;
        if (looked)
            look_at_leaves(&p, &a, &b, leaves, found - looked, looked, numbers, asked);
        if (item == 0) {
            numbers[WAITING] = waiting - opened;
            numbers[FOUND] = found - looked;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    bool met = numbers[MET],
         too_much = numbers[WAITING] || numbers[FOUND] || numbers[ASKED] > PAIR_UNSURE;
    uint count = met || too_much ? 0 : numbers[ASKED];
    if (item == 0) {
        uint start = count ? atomic_add(total, count) : 0;
        numbers[PLACE] = start;
        results[pose] = (uint2)(start, met ? PAIR_MEETS : too_much ? PAIR_TOO_MUCH : count);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < count)
        pairs[numbers[PLACE] + item] = (uint2)(a.order[asked[item].x], b.order[asked[item].y]);
}
