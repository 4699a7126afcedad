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
#include "pair/pair_shared.h"

#define OPENED (PAIR_GROUP / WIDTH) /* pairs of boxes at a time */

/* ---- boxes ---- */

/* Not so where the shadows on one of the face axes of either are apart beyond the pad; never so for
 * an empty slot, whose sizes are no numbers. */
static inline bool boxes_meet(const pair_pose *p, const box *a, const box *b) {
    vec offset = vec_sub(a->middle, turned(p, b->middle));
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

/* The sign of n . w for a plane of edges e1 and e2, 0 where it is not certain. */
typedef struct plane {
    vec n;
    float n_doubt, slope;
} plane;

static inline plane plane_of(vec e1, vec e2, float doubt) {
    plane p;
    p.n = vec_cross(e1, e2);
    p.n_doubt = 2.0f * vec_sum(p.n);
    p.slope = 4.0f * (vec_largest(e1) + vec_largest(e2)) + 8.0f * doubt;
    return p;
}

static inline int side_of(const plane *p, vec w, float doubt) {
    float value = vec_dot(p->n, w);
    float bound = doubt * (p->n_doubt + p->slope * (vec_sum(w) + 6.0f * doubt));
    return value > bound ? 1 : value < -bound ? -1 : 0;
}

enum { SEPARATE, UNCERTAIN, MEETING };

/* An edge from p to q, whose ends are on these sides of a triangle's plane. */
static inline int pierces(const vec *t, vec p, vec q, int side_p, int side_q, float doubt) {
    if (side_p * side_q > 0)
        return SEPARATE;
    vec way = vec_sub(q, p), r[3];
    for (int k = 0; k < 3; k++)
        r[k] = vec_sub(t[k], p);
    int above = 0, below = 0;
    for (int k = 0; k < 3; k++) {
        plane through = plane_of(r[k], r[k == 2 ? 0 : k + 1], doubt);
        int side = side_of(&through, way, doubt);
        above += side > 0;
        below += side < 0;
    }
    if (above && below)
        return SEPARATE;
    return side_p * side_q < 0 && above + below == 3 ? MEETING : UNCERTAIN;
}

static inline int edges_pierce(const vec *t, const vec *other, const int *side, float doubt) {
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

static int triangles_meet(const vec *a, const vec *b, float doubt) {
    int side_a[3], side_b[3], sum_a = 0, sum_b = 0;
    plane of_a = plane_of(vec_sub(a[1], a[0]), vec_sub(a[2], a[0]), doubt);
    for (int k = 0; k < 3; k++)
        sum_b += side_b[k] = side_of(&of_a, vec_sub(b[k], a[0]), doubt);
    if (sum_b == 3 || sum_b == -3)
        return SEPARATE;
    plane of_b = plane_of(vec_sub(b[1], b[0]), vec_sub(b[2], b[0]), doubt);
    for (int k = 0; k < 3; k++)
        sum_a += side_a[k] = side_of(&of_b, vec_sub(a[k], b[0]), doubt);
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
    uint item = (uint)get_local_id(0), which = item / (WIDTH * WIDTH);
    if (which >= count)
        return;
    uint2 at = triangles_of(a, b, leaves[first + which], item % (WIDTH * WIDTH));
    vec corners_a[3], corners_b[3];
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
    return boxes_meet(p, &box_a, &box_b) ? pair : (uint2)(NONE, NONE);
}

/* For each pose: where in `pairs` those of triangles begin that are uncertain and how many they are
 * (none = apart), or PAIR_MEETS, or PAIR_TOO_MUCH. `total` starts with 0. */
__kernel __attribute__((reqd_work_group_size(PAIR_GROUP, 1, 1))) void
pair_meet(__global const node *nodes_a, __global const node *nodes_b,
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
    uint2 child = (uint2)(NONE, NONE); /* to be kept: first the children of both roots */
    if (item < WIDTH * WIDTH)
        child = if_met(&p, &a, &b, (uint2)(item / WIDTH, item % WIDTH));
    for (;;) {
        if (child.x != NONE) {
            bool both = leaves_both(&a, &b, child);
            uint place = atomic_inc(&numbers[both ? FOUND : WAITING]);
            if (both)
                leaves[place] = child;
            else
                stack[place] = child;
            child = (uint2)(NONE, NONE);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        uint waiting = numbers[WAITING], found = numbers[FOUND];
        bool over = numbers[MET] || numbers[ASKED] > PAIR_UNSURE || waiting + found == 0;
        /* one opened leaves at most three more */
        uint opened =
            found >= MEET_LOOKED ? 0 : min(min(waiting, (uint)OPENED), (MEET_STACK - waiting) / 3);
        uint looked = opened ? 0 : min(found, (uint)MEET_LOOKED);
        over = over || opened + looked == 0;
        if (!over && item / WIDTH < opened)
            child =
                if_met(&p, &a, &b,
                       pair_below(&a, &b, stack[waiting - opened + item / WIDTH], item % WIDTH));
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
