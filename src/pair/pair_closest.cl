/* The closest triangles of two surfaces that do not meet, for many poses: a group for each pose.
 *
 * Method: as pair_closest.c, with the same bounds and margins, but many pairs at a time. Pairs of
 * boxes wait on a stack in local memory, of which 32 are opened together, an item for each child;
 * the children that are near enough go back sorted, the nearest on top. Pairs of leaves wait in a
 * list of their own; there triangles must be near enough along the line between the middles of two
 * boxes, then along that between their own. What is left is measured in floats. Each list waits for
 * as many pairs as there are items, but for the first ones, which give a bound. Bounds come from
 * the far ends of two boxes, from the middles of two triangles, and from distances. Pairs of
 * triangles that may be the closest, within the margin, are listed, and measured in doubles
 * afterwards: no pair is lost that could win. Nothing is capped: where there is no room for them
 * all the host is told so.
 */
#include "pair/pair_cl.h"

#define OPENED (PAIR_GROUP / BVH_WIDTH) /* pairs of boxes at a time, */
#define OPENED_FIRST 8                  /* and as long as there is no good bound */
/* Pairs of boxes. One that is opened adds three at most, so as long as no more are opened than a
 * quarter of what is free below STACK_WIDE, that is not exceeded. There one is opened at a time,
 * depth first, which adds up to 414 in the deepest of trees: see PAIR_STACK. So CLOSEST_STACK
 * suffices. */
#define STACK_WIDE 608
#define ROUNDS 16384 /* then the host had better do it, which can settle */

/* Squares of shorter lengths may underflow. */
#define LENGTH_KNOWN 1e-15f

/* ---- boxes ---- */

/* The distance of the middles of two boxes, and a lower bound of their own, squared. */
static inline float boxes_lower_sq(const pair_pose *p, const box *a, const box *b, float *between) {
    wide3 offset = sub3(a->middle, turned(p, b->middle));
    const float at[3] = {offset.x, offset.y, offset.z};
    const float ha[3] = {a->half_size.x, a->half_size.y, a->half_size.z};
    const float hb[3] = {b->half_size.x, b->half_size.y, b->half_size.z};
    float own_sq = 0.0f, other_sq = 0.0f, sum = 0.0f;
    for (int i = 0; i < 3; i++) {
        float own = p->pad + ha[i], other = p->pad + hb[i], along = 0.0f;
        for (int j = 0; j < 3; j++) {
            own += fabs(p->turn[j][i]) * hb[j];
            other += fabs(p->turn[i][j]) * ha[j];
            along += at[j] * p->turn[i][j];
        }
        sum += fabs(at[i]) * ha[i] + fabs(along) * (hb[i] + p->pad);
        own = fmax(fabs(at[i]) - own, 0.0f);
        other = fmax(fabs(along) - other, 0.0f);
        own_sq += own * own;
        other_sq += other * other;
    }
    float length = length3(offset);
    float gap = fmax(length - sum / fmax(length, TINY) - p->pad, 0.0f);
    *between = length;
    return fmax(gap * gap, fmax(own_sq, other_sq));
}

/* ---- triangles ---- */

ABUTI_APART float distance_sq(wide_triangle *a, wide_triangle *b) {
    triangle_prepare(a);
    triangle_prepare(b);
    return triangles_sq(a, b);
}

/* ---- a pose ---- */

/* How many pairs there are in each list, and the bits of the upper bound: those of floats that are
 * not negative stand in the order of the floats. */
enum { IN_STACK, IN_LEAVES, IN_LIKELY, IN_CLOSE, IN_KEPT, UPPER, PLACE, NUMBERS };

typedef struct lists {
    __local uint2 *stack, *leaves, *likely, *close, *kept;
    __local float *stack_sq, *leaves_sq, *kept_lower, *keys, *lows;
    __local uint *numbers;
} lists;

static inline lists lists_in(__local uint2 *room) {
    lists l;
    l.stack = room;
    l.leaves = l.stack + CLOSEST_STACK;
    l.likely = l.leaves + CLOSEST_LEAVES;
    l.close = l.likely + CLOSEST_LIKELY;
    l.kept = l.close + CLOSEST_CLOSE;
    l.stack_sq = (__local float *)(l.kept + CLOSEST_KEPT);
    l.leaves_sq = l.stack_sq + CLOSEST_STACK;
    l.kept_lower = l.leaves_sq + CLOSEST_LEAVES;
    l.keys = l.kept_lower + CLOSEST_KEPT;
    l.lows = l.keys + PAIR_GROUP;
    l.numbers = (__local uint *)(l.lows + PAIR_GROUP);
    return l;
}

static inline void lower_upper(const lists *l, float upper) {
    if (upper < as_float(l->numbers[UPPER]))
        atomic_min(&l->numbers[UPPER], as_uint(upper));
}

static inline float upper_now(const lists *l) {
    return as_float(l->numbers[UPPER]);
}
static inline float upper_sq_now(const lists *l) {
    return upper_now(l) * upper_now(l) * SLACK + FLT_MIN;
}

/* What the group does in a round: three steps with a barrier after each, the same for all. */
enum { OPEN, LOOK, CHECK, MEASURE, DROP };

/* What an item has in hand from step to step. */
typedef struct hand {
    uint2 pair[2];
    float value[2];
} hand;

/* OPEN: the children of `count` pairs of boxes, or in the first round those of both roots. */
static inline void open_boxes(const lists *l, const pair_pose *p, const side *a, const side *b,
                              bool first, uint waiting, uint count, hand *mine) {
    uint item = (uint)get_local_id(0), from = waiting - count + item / BVH_WIDTH;
    mine->value[0] = INFINITY;
    if (item / BVH_WIDTH >= count || (!first && l->stack_sq[from] > upper_sq_now(l)))
        return;
    uint2 pair = first ? (uint2)(item / BVH_WIDTH, item % BVH_WIDTH)
                       : pair_below(a, b, l->stack[from], item % BVH_WIDTH);
    if (child_at(a, pair.x) == ABUT_NONE || child_at(b, pair.y) == ABUT_NONE)
        return;
    box box_a = box_at(a, pair.x), box_b = box_at(b, pair.y);
    float between;
    mine->pair[0] = pair;
    mine->value[0] = boxes_lower_sq(p, &box_a, &box_b, &between);
    lower_upper(l, between + length3(box_a.half_size) + length3(box_b.half_size) + p->margin);
}

/* Of these, pairs of leaves are put aside; the others get a key. */
static inline void sort_out(const lists *l, const side *a, const side *b, const hand *mine) {
    float key = -1.0f;
    if (mine->value[0] <= upper_sq_now(l)) {
        if (leaves_both(a, b, mine->pair[0])) {
            uint place = atomic_inc(&l->numbers[IN_LEAVES]);
            l->leaves[place] = mine->pair[0];
            l->leaves_sq[place] = mine->value[0];
        } else {
            key = mine->value[0];
        }
    }
    l->keys[get_local_id(0)] = key;
}

/* They go on the stack, of which `kept` have stayed there, the nearest on top. */
static inline void stack_up(const lists *l, uint kept, uint items, const hand *mine) {
    uint item = (uint)get_local_id(0), before = 0, all = 0;
    float key = l->keys[item];
    for (uint j = 0; j < items; j++) {
        float other = l->keys[j];
        all += other >= 0.0f;
        before += other > key || (other == key && j < item);
    }
    if (key >= 0.0f) {
        l->stack[kept + before] = mine->pair[0];
        l->stack_sq[kept + before] = key;
    }
    if (item == 0)
        l->numbers[IN_STACK] = kept + all;
}

/* LOOK: the shadows of the triangles of a pair of leaves on the line between the middles of their
 * boxes, one of each leaf an item. */
static inline void look_at_leaves(const lists *l, const pair_pose *p, const side *a, const side *b,
                                  uint found, uint count, hand *mine) {
    uint item = (uint)get_local_id(0), from = found - count + item / BVH_WIDTH;
    mine->value[0] = -1.0f;
    if (from >= found || l->leaves_sq[from] > upper_sq_now(l))
        return;
    uint2 leaves = l->leaves[from];
    wide3 n = sub3(turned(p, box_at(b, leaves.y).middle), box_at(a, leaves.x).middle), t[3];
    wide3 n_b = make3(n.x * p->turn[0][0] + n.y * p->turn[0][1] + n.z * p->turn[0][2],
                      n.x * p->turn[1][0] + n.y * p->turn[1][1] + n.z * p->turn[1][2],
                      n.x * p->turn[2][0] + n.y * p->turn[2][1] + n.z * p->turn[2][2]);
    float away = dot3(n, make3(p->shift[0], p->shift[1], p->shift[2]));
    mine->pair[0] = triangles_of(a, b, leaves, item % BVH_WIDTH * (BVH_WIDTH + 1));
    mine->value[0] = length3(n);
    load_corners(a, mine->pair[0].x, t);
    l->keys[item] = highest3(n, t);
    load_corners(b, mine->pair[0].y, t);
    l->lows[item] = away + lowest3(n_b, t);
}

/* Each item pairs its triangle of a with those of b that are near enough. Where the square of a
 * length may have underflowed, nothing is known. */
static inline void choose_likely(const lists *l, const pair_pose *p, const hand *mine) {
    uint item = (uint)get_local_id(0), first = item - item % BVH_WIDTH;
    float length = mine->value[0];
    float most = length < LENGTH_KNOWN
                     ? INFINITY
                     : l->keys[item] + (upper_now(l) + p->margin) * length * SLACK;
    if (length < 0.0f)
        return;
    for (uint j = 0; j < BVH_WIDTH; j++)
        if (l->lows[first + j] <= most)
            l->likely[atomic_inc(&l->numbers[IN_LIKELY])] =
                (uint2)(mine->pair[0].x, mine->pair[0].y - item % BVH_WIDTH + j);
}

/* CHECK: the gap between the last `count` of these along the line between their middles, times its
 * length. */
static inline void check_likely(const lists *l, const pair_pose *p, const side *a, const side *b,
                                uint likely, uint count, hand *mine) {
    uint item = (uint)get_local_id(0);
    mine->value[0] = INFINITY;
    if (item >= count)
        return;
    wide3 ta[3], tb[3];
    mine->pair[0] = l->likely[likely - count + item];
    load_pair(p, a, b, mine->pair[0], ta, tb);
    mine->value[0] = triangles_gap(ta, tb, &mine->value[1]);
    lower_upper(l, mine->value[1] * (1.0f / 3.0f) + p->margin);
}

static inline void choose_close(const lists *l, const pair_pose *p, const hand *mine) {
    float gap = mine->value[0], length = mine->value[1];
    if (gap < INFINITY && gap <= (upper_now(l) + p->margin) * length * SLACK + GAP_UNKNOWN)
        l->close[atomic_inc(&l->numbers[IN_CLOSE])] = mine->pair[0];
}

/* MEASURE: the last `count` of these. */
static inline void measure_pairs(const lists *l, const pair_pose *p, const side *a, const side *b,
                                 uint close, uint count, hand *mine) {
    uint item = (uint)get_local_id(0);
    mine->value[0] = INFINITY;
    if (item >= count)
        return;
    wide_triangle ta, tb;
    mine->pair[0] = l->close[close - count + item];
    load_pair(p, a, b, mine->pair[0], ta.corner, tb.corner);
    float distance = sqrt(distance_sq(&ta, &tb));
    mine->value[0] = distance - p->margin;
    lower_upper(l, distance + p->margin);
}

/* DROP: all candidates are taken up, and those put back that have not been beaten. */
static inline void take_candidates(const lists *l, uint count, hand *mine) {
    for (uint k = 0; k < CLOSEST_KEPT / PAIR_GROUP; k++) {
        uint from = k * PAIR_GROUP + (uint)get_local_id(0);
        mine->pair[k] = from < count ? l->kept[from] : (uint2)(ABUT_NONE, ABUT_NONE);
        mine->value[k] = from < count ? l->kept_lower[from] : INFINITY;
    }
}

static inline void put_candidates(const lists *l, uint most, const hand *mine) {
    for (uint k = 0; k < most; k++)
        if (mine->value[k] <= upper_now(l)) {
            uint place = atomic_inc(&l->numbers[IN_KEPT]);
            l->kept[place] = mine->pair[k];
            l->kept_lower[place] = mine->value[k];
        }
}

static inline uint opened_of(uint waiting, bool bounded) {
    uint most = min(waiting, (uint)(bounded ? OPENED : OPENED_FIRST));
    return waiting + 4 > STACK_WIDE ? 1 : min(most, (STACK_WIDE - waiting) / 4);
}

/* Lists wait until they fill the group, but for the first pairs, which give a bound. */
static inline uint next_action(uint round, bool bounded, uint waiting, uint found, uint likely,
                               uint close, uint kept) {
    uint least = bounded ? PAIR_GROUP : 1, least_leaves = bounded ? CLOSEST_LOOKED : 1;
    uint action = round == 0              ? OPEN
                  : close >= least        ? MEASURE
                  : likely >= least       ? CHECK
                  : found >= least_leaves ? LOOK
                  : waiting               ? OPEN
                  : found                 ? LOOK
                  : likely                ? CHECK
                  : close                 ? MEASURE
                                          : DROP;
    return action == MEASURE && kept > CLOSEST_KEPT - PAIR_GROUP ? DROP : action;
}

/* Finds all candidates, or some that are closer than `sure`. False where there are too many. */
static inline bool search(const lists *l, const pair_pose *p, const side *a, const side *b) {
    uint item = (uint)get_local_id(0), action = OPEN;
    bool bounded = false, done;
    hand mine;
    for (uint round = 0;; round++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint waiting = l->numbers[IN_STACK], found = l->numbers[IN_LEAVES];
        uint likely = l->numbers[IN_LIKELY], close = l->numbers[IN_CLOSE];
        uint kept = l->numbers[IN_KEPT], last = action;
        action = next_action(round, bounded, waiting, found, likely, close, kept);
        uint count = action == MEASURE ? min(close, (uint)PAIR_GROUP)
                     : action == CHECK ? min(likely, (uint)PAIR_GROUP)
                     : action == LOOK  ? min(found, (uint)CLOSEST_LOOKED)
                     : round == 0      ? BVH_WIDTH
                                       : opened_of(waiting, bounded);
        bool sure = upper_now(l) <= p->sure;
        bool over = sure | (action == DROP & last == DROP) | (round == ROUNDS);
        done = sure | (round < ROUNDS & kept <= CLOSEST_KEPT - PAIR_GROUP);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (over)
            break;
        if (action == OPEN)
            open_boxes(l, p, a, b, round == 0, waiting, count, &mine);
        else if (action == LOOK)
            look_at_leaves(l, p, a, b, found, count, &mine);
        else if (action == CHECK)
            check_likely(l, p, a, b, likely, count, &mine);
        else if (action == MEASURE)
            measure_pairs(l, p, a, b, close, count, &mine);
        else
            take_candidates(l, kept, &mine);
        if (item == 0 && action != OPEN && action != DROP)
            l->numbers[action == LOOK    ? IN_LEAVES
                       : action == CHECK ? IN_LIKELY
                                         : IN_CLOSE] -= count;
        if (item == 0 && action == DROP)
            l->numbers[IN_KEPT] = 0;
        bounded = bounded | (action == MEASURE);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (action == OPEN)
            sort_out(l, a, b, &mine);
        else if (action == LOOK)
            choose_likely(l, p, &mine);
        else if (action == CHECK)
            choose_close(l, p, &mine);
        else if (action == MEASURE)
            put_candidates(l, 1, &mine);
        else
            put_candidates(l, CLOSEST_KEPT / PAIR_GROUP, &mine);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (action == OPEN)
            stack_up(l, round == 0 ? 0 : waiting - count, count * BVH_WIDTH, &mine);
    }
    return done;
}

/* For each pose where pair_meet of pair.cl has found no meeting: where in `pairs` its candidates
 * begin and how many they are, or PAIR_TOO_MUCH, or PAIR_WITHIN. `total` starts with 0. */
__kernel __attribute__((reqd_work_group_size(PAIR_GROUP, 1, 1))) void
pair_closest(__global const bvh_node *nodes_a, __global const bvh_node *nodes_b,
             __global const float *triangles_a, __global const float *triangles_b,
             __global const uint *order_a, __global const uint *order_b,
             __global const pair_pose *poses, __global const uint2 *meetings,
             __global uint2 *results, __global uint2 *pairs, __global uint *total,
             __local uint2 *room) {
    uint item = (uint)get_local_id(0), pose = (uint)get_group_id(0);
    pair_pose p = poses[pose];
    const side a = {nodes_a, triangles_a, order_a, p.unit_a};
    const side b = {nodes_b, triangles_b, order_b, p.unit_b};
    const lists l = lists_in(room);
    if (meetings[pose].y == PAIR_MEETS || meetings[pose].y == PAIR_TOO_MUCH)
        return;
    if (item < NUMBERS)
        l.numbers[item] = item == UPPER ? as_uint(p.upper) : 0;
    bool done = search(&l, &p, &a, &b);
    bool listed = done && upper_now(&l) > p.sure;
    uint count = listed ? l.numbers[IN_KEPT] : 0;
    if (item == 0) {
        uint start = listed ? atomic_add(total, count) : 0;
        l.numbers[PLACE] = start;
        results[pose] = (uint2)(start, listed ? count : done ? PAIR_WITHIN : PAIR_TOO_MUCH);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < count)
        pairs[l.numbers[PLACE] + item] = (uint2)(a.order[l.kept[item].x], b.order[l.kept[item].y]);
}
