/* The closest triangles of two surfaces that do not intersect, for many poses: a work-group for
 * each pose.
 *
 * Method: as in closest_pair.c, with the same bounds and margins, but with many pairs at a time.
 * Pairs of boxes are on a stack in local memory, of which 32 are opened together, with a work-item
 * for each child; children within the upper bound are pushed sorted, the nearest on top. Pairs of
 * leaves are in a list of their own. Their triangles must be close enough along the line between
 * the centres of two boxes, then along that between their own centres. The remaining pairs are
 * measured in floats. Each list is processed when it has as many pairs as there are work-items,
 * except for the first pairs, which give an upper bound. Upper bounds are from the far ends of two
 * boxes, from the centres of two triangles, and from distances. Pairs of triangles that may be the
 * closest, within the margin, are listed and measured in doubles afterwards: no pair is lost that
 * could be the closest. Nothing is truncated: if a list overflows, the result is PAIR_OVERFLOW and
 * the host computes the pose.
 */
#include "pair/pair_cl.h"

#define BOX_PAIRS_PER_ROUND (PAIR_GROUP / BVH_WIDTH) /* pairs of boxes at a time, */
#define BOX_PAIRS_FIRST 8                            /* and before there is a good upper bound */
/* Pairs of boxes. An opened pair adds at most three. As long as no more are opened than a quarter
 * of the free entries below STACK_SHARED_MAX, the stack stays below it. Above, one pair is opened
 * at a time, depth-first, which adds up to 414 in the deepest trees: see PAIR_STACK. So
 * CLOSEST_STACK is sufficient. */
#define STACK_SHARED_MAX 608
#define ROUNDS_MAX 16384 /* after these the host computes the pose; it can stop resolving ties */

/* Squares of shorter lengths may underflow. */
#define RELIABLE_LENGTH_MIN 1e-15f

/* ---- boxes ---- */

/* Returns a squared lower bound of the distance of two boxes. Writes the distance of their centres.
 */
static inline float boxes_lower_bound_sq(const pair_pose *p, const box *a, const box *b,
                                         float *between) {
    wide3 offset = sub3(a->centre, to_side_a(p, b->centre));
    const float at[3] = {offset.x, offset.y, offset.z};
    const float ha[3] = {a->half_size.x, a->half_size.y, a->half_size.z};
    const float hb[3] = {b->half_size.x, b->half_size.y, b->half_size.z};
    float own_sq = 0.0f, other_sq = 0.0f, sum = 0.0f;
    for (int i = 0; i < 3; i++) {
        float own = p->pad + ha[i], other = p->pad + hb[i], along = 0.0f;
        for (int j = 0; j < 3; j++) {
            own += fabs(p->rotation[j][i]) * hb[j];
            other += fabs(p->rotation[i][j]) * ha[j];
            along += at[j] * p->rotation[i][j];
        }
        sum += fabs(at[i]) * ha[i] + fabs(along) * (hb[i] + p->pad);
        own = fmax(fabs(at[i]) - own, 0.0f);
        other = fmax(fabs(along) - other, 0.0f);
        own_sq += own * own;
        other_sq += other * other;
    }
    float length = length3(offset);
    float gap = fmax(length - sum / fmax(length, LENGTH_SQ_MIN) - p->pad, 0.0f);
    *between = length;
    return fmax(gap * gap, fmax(own_sq, other_sq));
}

/* ---- triangles ---- */

ABUTI_NOINLINE float distance_sq(wide_triangle *a, wide_triangle *b) {
    triangle_prepare(a);
    triangle_prepare(b);
    return triangle_distance_sq(a, b);
}

/* ---- a pose ---- */

/* Counters: the number of pairs in each list, and the bits of the upper bound. Non-negative floats
 * and their bits have the same order. */
enum { IN_STACK, IN_LEAVES, IN_PROJECTED, IN_CLOSE, IN_KEPT, UPPER, RESULT_BEGIN, COUNTERS };

typedef struct lists {
    __local uint2 *stack, *leaves, *projected, *close, *candidates;
    __local float *stack_sq, *leaves_sq, *candidates_lower, *keys, *lows;
    __local uint *counters;
} lists;

static inline lists split_local_memory(__local uint2 *memory) {
    lists l;
    l.stack = memory;
    l.leaves = l.stack + CLOSEST_STACK;
    l.projected = l.leaves + CLOSEST_LEAVES;
    l.close = l.projected + CLOSEST_PROJECTED;
    l.candidates = l.close + CLOSEST_CLOSE;
    l.stack_sq = (__local float *)(l.candidates + CLOSEST_CANDIDATES);
    l.leaves_sq = l.stack_sq + CLOSEST_STACK;
    l.candidates_lower = l.leaves_sq + CLOSEST_LEAVES;
    l.keys = l.candidates_lower + CLOSEST_CANDIDATES;
    l.lows = l.keys + PAIR_GROUP;
    l.counters = (__local uint *)(l.lows + PAIR_GROUP);
    return l;
}

static inline void lower_upper_bound(const lists *l, float upper) {
    if (upper < as_float(l->counters[UPPER]))
        atomic_min(&l->counters[UPPER], as_uint(upper));
}

static inline float upper_bound(const lists *l) {
    return as_float(l->counters[UPPER]);
}
static inline float upper_bound_sq(const lists *l) {
    return upper_bound(l) * upper_bound(l) * ROUNDING_FACTOR + FLT_MIN;
}

/* The action of the group in a round: three steps with a barrier after each, the same for all
 * work-items. */
enum { OPEN, PROJECT, CHECK, MEASURE, PRUNE };

/* The state of a work-item from step to step. */
typedef struct item_state {
    uint2 pair[2];
    float value[2];
} item_state;

/* OPEN: the children of `count` pairs of boxes, or in the first round those of both roots. */
static inline void open_boxes(const lists *l, const pair_pose *p, const side *a, const side *b,
                              bool first, uint waiting, uint count, item_state *state) {
    uint item = (uint)get_local_id(0), from = waiting - count + item / BVH_WIDTH;
    state->value[0] = INFINITY;
    if (item / BVH_WIDTH >= count || (!first && l->stack_sq[from] > upper_bound_sq(l)))
        return;
    uint2 pair = first ? (uint2)(item / BVH_WIDTH, item % BVH_WIDTH)
                       : child_pair(a, b, l->stack[from], item % BVH_WIDTH);
    if (child_at(a, pair.x) == ABUT_NONE || child_at(b, pair.y) == ABUT_NONE)
        return;
    box box_a = box_at(a, pair.x), box_b = box_at(b, pair.y);
    float between;
    state->pair[0] = pair;
    state->value[0] = boxes_lower_bound_sq(p, &box_a, &box_b, &between);
    lower_upper_bound(l, between + length3(box_a.half_size) + length3(box_b.half_size) + p->margin);
}

/* OPEN, second step: moves pairs of leaves to their list; the others get a key. */
static inline void separate_leaves(const lists *l, const side *a, const side *b,
                                   const item_state *state) {
    float key = -1.0f;
    if (state->value[0] <= upper_bound_sq(l)) {
        if (are_leaves(a, b, state->pair[0])) {
            uint place = atomic_inc(&l->counters[IN_LEAVES]);
            l->leaves[place] = state->pair[0];
            l->leaves_sq[place] = state->value[0];
        } else {
            key = state->value[0];
        }
    }
    l->keys[get_local_id(0)] = key;
}

/* OPEN, third step: pushes the pairs with a key above the `candidates` old ones, the nearest on
 * top. */
static inline void push_sorted(const lists *l, uint candidates, uint items,
                               const item_state *state) {
    uint item = (uint)get_local_id(0), before = 0, all = 0;
    float key = l->keys[item];
    for (uint j = 0; j < items; j++) {
        float other = l->keys[j];
        all += other >= 0.0f;
        before += other > key || (other == key && j < item);
    }
    if (key >= 0.0f) {
        l->stack[candidates + before] = state->pair[0];
        l->stack_sq[candidates + before] = key;
    }
    if (item == 0)
        l->counters[IN_STACK] = candidates + all;
}

/* PROJECT: the projections of the triangles of a pair of leaves on the line between the centres of
 * their boxes; each work-item projects one triangle of each leaf. */
static inline void project_leaves(const lists *l, const pair_pose *p, const side *a, const side *b,
                                  uint found, uint count, item_state *state) {
    uint item = (uint)get_local_id(0), from = found - count + item / BVH_WIDTH;
    state->value[0] = -1.0f;
    if (from >= found || l->leaves_sq[from] > upper_bound_sq(l))
        return;
    uint2 leaves = l->leaves[from];
    wide3 n = sub3(to_side_a(p, box_at(b, leaves.y).centre), box_at(a, leaves.x).centre), t[3];
    wide3 n_b = make3(n.x * p->rotation[0][0] + n.y * p->rotation[0][1] + n.z * p->rotation[0][2],
                      n.x * p->rotation[1][0] + n.y * p->rotation[1][1] + n.z * p->rotation[1][2],
                      n.x * p->rotation[2][0] + n.y * p->rotation[2][1] + n.z * p->rotation[2][2]);
    float away = dot3(n, make3(p->shift[0], p->shift[1], p->shift[2]));
    state->pair[0] = triangle_pair(a, b, leaves, item % BVH_WIDTH * (BVH_WIDTH + 1));
    state->value[0] = length3(n);
    load_corners(a, state->pair[0].x, t);
    l->keys[item] = project_max3(n, t);
    load_corners(b, state->pair[0].y, t);
    l->lows[item] = away + project_min3(n_b, t);
}

/* PROJECT, second step: each work-item pairs its triangle of a with those of b that are close
 * enough. All are, if the square of the length may have underflowed. */
static inline void select_projected(const lists *l, const pair_pose *p, const item_state *state) {
    uint item = (uint)get_local_id(0), first = item - item % BVH_WIDTH;
    float length = state->value[0];
    float max_low = length < RELIABLE_LENGTH_MIN
                        ? INFINITY
                        : l->keys[item] + (upper_bound(l) + p->margin) * length * ROUNDING_FACTOR;
    if (length < 0.0f)
        return;
    for (uint j = 0; j < BVH_WIDTH; j++)
        if (l->lows[first + j] <= max_low)
            l->projected[atomic_inc(&l->counters[IN_PROJECTED])] =
                (uint2)(state->pair[0].x, state->pair[0].y - item % BVH_WIDTH + j);
}

/* CHECK: the gap between the last `count` of these along the line between their centres, times its
 * length. */
static inline void compute_gaps(const lists *l, const pair_pose *p, const side *a, const side *b,
                                uint projected, uint count, item_state *state) {
    uint item = (uint)get_local_id(0);
    state->value[0] = INFINITY;
    if (item >= count)
        return;
    wide3 ta[3], tb[3];
    state->pair[0] = l->projected[projected - count + item];
    load_pair(p, a, b, state->pair[0], ta, tb);
    state->value[0] = triangles_gap(ta, tb, &state->value[1]);
    lower_upper_bound(l, state->value[1] * (1.0f / 3.0f) + p->margin);
}

static inline void select_close(const lists *l, const pair_pose *p, const item_state *state) {
    float gap = state->value[0], length = state->value[1];
    if (gap < INFINITY &&
        gap <= (upper_bound(l) + p->margin) * length * ROUNDING_FACTOR + GAP_UNDERFLOW)
        l->close[atomic_inc(&l->counters[IN_CLOSE])] = state->pair[0];
}

/* MEASURE: the distances of the last `count` close pairs. */
static inline void measure_pairs(const lists *l, const pair_pose *p, const side *a, const side *b,
                                 uint close, uint count, item_state *state) {
    uint item = (uint)get_local_id(0);
    state->value[0] = INFINITY;
    if (item >= count)
        return;
    wide_triangle ta, tb;
    state->pair[0] = l->close[close - count + item];
    load_pair(p, a, b, state->pair[0], ta.corner, tb.corner);
    float distance = sqrt(distance_sq(&ta, &tb));
    state->value[0] = distance - p->margin;
    lower_upper_bound(l, distance + p->margin);
}

/* PRUNE: loads all candidates, and stores those that are still within the upper bound. */
static inline void load_candidates(const lists *l, uint count, item_state *state) {
    for (uint k = 0; k < CLOSEST_CANDIDATES / PAIR_GROUP; k++) {
        uint from = k * PAIR_GROUP + (uint)get_local_id(0);
        state->pair[k] = from < count ? l->candidates[from] : (uint2)(ABUT_NONE, ABUT_NONE);
        state->value[k] = from < count ? l->candidates_lower[from] : INFINITY;
    }
}

static inline void store_candidates(const lists *l, uint count_max, const item_state *state) {
    for (uint k = 0; k < count_max; k++)
        if (state->value[k] <= upper_bound(l)) {
            uint place = atomic_inc(&l->counters[IN_KEPT]);
            l->candidates[place] = state->pair[k];
            l->candidates_lower[place] = state->value[k];
        }
}

static inline uint pairs_to_open(uint waiting, bool has_bound) {
    uint count_max = min(waiting, (uint)(has_bound ? BOX_PAIRS_PER_ROUND : BOX_PAIRS_FIRST));
    return waiting + 4 > STACK_SHARED_MAX ? 1 : min(count_max, (STACK_SHARED_MAX - waiting) / 4);
}

/* Lists are processed when they fill the group, except for the first pairs, which give an upper
 * bound. */
static inline uint next_action(uint round, bool has_bound, uint waiting, uint found, uint projected,
                               uint close, uint candidates) {
    uint pairs_min = has_bound ? PAIR_GROUP : 1,
         leaves_min = has_bound ? CLOSEST_LEAVES_PER_ROUND : 1;
    uint action = round == 0               ? OPEN
                  : close >= pairs_min     ? MEASURE
                  : projected >= pairs_min ? CHECK
                  : found >= leaves_min    ? PROJECT
                  : waiting                ? OPEN
                  : found                  ? PROJECT
                  : projected              ? CHECK
                  : close                  ? MEASURE
                                           : PRUNE;
    return action == MEASURE && candidates > CLOSEST_CANDIDATES - PAIR_GROUP ? PRUNE : action;
}

/* Finds all candidates, or some that are closer than `certain_upper`. Returns false if there are
 * too many. */
static inline bool run_search(const lists *l, const pair_pose *p, const side *a, const side *b) {
    uint item = (uint)get_local_id(0), action = OPEN;
    bool has_bound = false, done;
    item_state state;
    for (uint round = 0;; round++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        uint waiting = l->counters[IN_STACK], found = l->counters[IN_LEAVES];
        uint projected = l->counters[IN_PROJECTED], close = l->counters[IN_CLOSE];
        uint candidates = l->counters[IN_KEPT], last = action;
        action = next_action(round, has_bound, waiting, found, projected, close, candidates);
        uint count = action == MEASURE   ? min(close, (uint)PAIR_GROUP)
                     : action == CHECK   ? min(projected, (uint)PAIR_GROUP)
                     : action == PROJECT ? min(found, (uint)CLOSEST_LEAVES_PER_ROUND)
                     : round == 0        ? BVH_WIDTH
                                         : pairs_to_open(waiting, has_bound);
        bool is_certain = upper_bound(l) <= p->certain_upper;
        bool is_finished = is_certain | (action == PRUNE & last == PRUNE) | (round == ROUNDS_MAX);
        done = is_certain | (round < ROUNDS_MAX & candidates <= CLOSEST_CANDIDATES - PAIR_GROUP);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (is_finished)
            break;
        if (action == OPEN)
            open_boxes(l, p, a, b, round == 0, waiting, count, &state);
        else if (action == PROJECT)
            project_leaves(l, p, a, b, found, count, &state);
        else if (action == CHECK)
            compute_gaps(l, p, a, b, projected, count, &state);
        else if (action == MEASURE)
            measure_pairs(l, p, a, b, close, count, &state);
        else
            load_candidates(l, candidates, &state);
        if (item == 0 && action != OPEN && action != PRUNE)
            l->counters[action == PROJECT ? IN_LEAVES
                        : action == CHECK ? IN_PROJECTED
                                          : IN_CLOSE] -= count;
        if (item == 0 && action == PRUNE)
            l->counters[IN_KEPT] = 0;
        has_bound = has_bound | (action == MEASURE);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (action == OPEN)
            separate_leaves(l, a, b, &state);
        else if (action == PROJECT)
            select_projected(l, p, &state);
        else if (action == CHECK)
            select_close(l, p, &state);
        else if (action == MEASURE)
            store_candidates(l, 1, &state);
        else
            store_candidates(l, CLOSEST_CANDIDATES / PAIR_GROUP, &state);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (action == OPEN)
            push_sorted(l, round == 0 ? 0 : waiting - count, count * BVH_WIDTH, &state);
    }
    return done;
}

/* For each pose where pair_intersect of pair.cl has found no intersection: the index of its first
 * candidate in `pairs` and their number, or PAIR_OVERFLOW, or PAIR_WITHIN. `total` starts with 0.
 */
__kernel __attribute__((reqd_work_group_size(PAIR_GROUP, 1, 1))) void
pair_closest(__global const bvh_node *nodes_a, __global const bvh_node *nodes_b,
             __global const float *triangles_a, __global const float *triangles_b,
             __global const uint *order_a, __global const uint *order_b,
             __global const pair_pose *poses, __global const uint2 *intersections,
             __global uint2 *results, __global uint2 *pairs, __global uint *total,
             __local uint2 *memory) {
    uint item = (uint)get_local_id(0), pose = (uint)get_group_id(0);
    pair_pose p = poses[pose];
    const side a = {nodes_a, triangles_a, order_a, p.unit_a};
    const side b = {nodes_b, triangles_b, order_b, p.unit_b};
    const lists l = split_local_memory(memory);
    if (intersections[pose].y == PAIR_INTERSECTS || intersections[pose].y == PAIR_OVERFLOW)
        return;
    if (item < COUNTERS)
        l.counters[item] = item == UPPER ? as_uint(p.upper) : 0;
    bool done = run_search(&l, &p, &a, &b);
    bool listed = done && upper_bound(&l) > p.certain_upper;
    uint count = listed ? l.counters[IN_KEPT] : 0;
    if (item == 0) {
        uint start = listed ? atomic_add(total, count) : 0;
        l.counters[RESULT_BEGIN] = start;
        results[pose] = (uint2)(start, listed ? count : done ? PAIR_WITHIN : PAIR_OVERFLOW);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < count)
        pairs[l.counters[RESULT_BEGIN] + item] =
            (uint2)(a.order[l.candidates[item].x], b.order[l.candidates[item].y]);
}
