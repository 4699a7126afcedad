/* The closest triangles of two posed meshes whose surfaces do not meet.
 *
 * Method: as for the nearest point (nearest.c), with two hierarchies at once. Depth first, into the
 * larger of two boxes, nearest child first, with an upper bound of the distance. Boxes have discs
 * beside them where a hierarchy is asked often (disc_bounds.h). Leaves drop what is further than
 * that along the line between their middles, and then along those between single triangles; what
 * remains is measured in floats, one against four, with a known margin. Those that could win within
 * it become candidates, and the few that are left in the end are measured by the function of
 * src/geom in doubles. So no pair is dropped that could win, and the answer is that of a search
 * through all.
 *
 * The distance in floats is the least of nine between edges, ends included, and six of a corner
 * over the inside of the other triangle. Each is a distance of two convex sets, so it changes by no
 * more than corners move: half a step of the block on each axis, less than a step in all, for each
 * triangle, and what the pad stands for. The rest of the margin is the rounding of these distances,
 * which the frame (u, w) of closest_shared.h keeps to a few roundings for every shape of triangle.
 *
 * Hostile meshes have all pairs at one distance, such as many triangles in one place. When a search
 * has taken far more steps than there are leaves it settles for what it has, and only looks on for
 * pairs that are nearer by more than the margin.
 *
 * Far away, beyond PAIR_FAR, boxes are compared in doubles, and pairs whose boxes are not closer
 * than the best so far by more than rounding are dropped: from there on many pairs are equally far.
 */
#include "pair/closest_proof.h"
#include "pair/closest_queue.h"
#include "pair/witness_bound.h"

#include "geom/distance_shared.h"
#include "nearest/nearest.h"

#include <math.h>

enum {
    CANDIDATE_MAX = 64,
    EQUAL_MAX = 32,
    TIES_FIRST = 48,  /* pairs as near as the best, after which a proof is tried, */
    TIES_MORE = 4,    /* and again after so many times as many; */
    TIES_SAME = 16,   /* of those at the same points one counts */
    PROOF_EFFORT = 8, /* of a proof, in that of the search so far, */
    PROOF_LAST = 2,   /* and instead of giving up */
    HEAP_MAX = 256,
    MEASURE_EFFORT = 16, /* of a measurement in doubles, in pairs of leaves */
    EFFORT_MAX = 1 << 20,
    EFFORT_A_LEAF = 64,
    PLAIN_MORE =
        2, /* times that for the plain search, whose answer shall be that of the quick one */
    LINE_TRIES = 512, /* in vain, until the line is no longer asked; */
    LINE_GAIN = 16,   /* what is dropped by it is worth so many */
    REFINE_MAX = 8    /* turns; two or three are usual */
};

#define BOUND_FAR (1.0 - 0x1p-44)

typedef struct candidate {
    float lower;
    uint32_t place[2]; /* in `order` */
} candidate;

/* A pair that is as near as the nearest so far, by the doubt of its distance. */
typedef struct equal_pair {
    double distance;
    uint32_t triangle[2];
} equal_pair;

typedef struct near_search {
    const pair_frame *frame;
    const pair_disc *discs[2]; /* both or none */
    float margin;              /* without steps */
    float upper;               /* no pair further than this can win */
    float upper_sq;            /* of boxes, with some slack */
    bool any;                  /* the first within the limit will do */
    bool over;
    bool fast;  /* by all means; else as plainly as where it gives up, so that ties are the same */
    bool again; /* it gave up: plainly once more */
    bool measured; /* some pair of leaves, so that there is a bound */
    bool settled;  /* too many pairs are equally near: only nearer ones still count */
    uint64_t effort, effort_most; /* in pairs of leaves */
    uint32_t steps;               /* of the traversal */
    uint32_t count;
    candidate list[CANDIDATE_MAX];
    double limit, best;
    double tie;         /* of the frame, or 0 */
    uint32_t winner[2]; /* the nearest */
    closest_pair closest;
    abut_feature features[2];
    equal_pair equals[EQUAL_MAX]; /* in rising order, each nearer than those before */
    uint32_t equal_count;
    bool crowded; /* there was no room for an equal */
    bool known;   /* the best is, from a search before: the lowest pair as near is the answer */
    uint32_t ties, ties_next; /* pairs measured that were as near as the best, */
    uint32_t same;            /* and those of them at the same points */
    uint64_t proof_steps;     /* of proofs that failed */
    uint64_t effort_asked;    /* the effort when walls were asked for last */
    bool lined;               /* there is a line */
    int64_t line_gain;        /* of asking it; it is no longer asked if that is negative */
    pair_line line;
} near_search;

/* ---- candidates ---- */

static void lower_bound_to(near_search *s, float upper) {
    if (!(upper < s->upper))
        return;
    s->upper = upper;
    s->upper_sq = upper > 0 ? upper * upper * SLACK + FLT_MIN : -1;
}

/* How far pairs may be that are as near as the best. */
static double reach_of(const near_search *s) {
    return pair_tie_reach(s->best, s->tie);
}

/* What is further apart than this cannot win: points and products are off by less than doubt. */
static double beyond_of(const near_search *s) {
    return reach_of(s) * (1 + 0x1p-40) + 4 * s->frame->doubt;
}

/* Notes a pair as near as the best. Which one is lowest in the end depends on how near the nearest
 * of all is: so of two the higher is kept too if it is nearer. */
static void note_equal(near_search *s, equal_pair pair) {
    uint32_t at = 0, kept = 0;
    for (uint32_t i = 0; i < s->equal_count; i++)
        if (s->equals[i].distance <= reach_of(s))
            s->equals[kept++] = s->equals[i];
    s->equal_count = kept;
    while (at < kept && is_lower(s->equals[at].triangle, pair.triangle))
        at++;
    if (at && (s->known || s->equals[at - 1].distance <= pair.distance))
        return;
    uint32_t after = at;
    while (after < kept && (s->known || s->equals[after].distance >= pair.distance))
        after++;
    if (after == at && kept == EQUAL_MAX) {
        s->crowded = true;
        return;
    }
    memmove(s->equals + at + 1, s->equals + after, (kept - after) * sizeof *s->equals);
    s->equals[at] = pair;
    s->equal_count = at + 1 + kept - after;
}

/* Measures a pair in doubles. */
static void measure_triangle_pair(near_search *s, uint32_t a, uint32_t b) {
    abut_feature features[2];
    abut_triangle triangle_a = pair_triangle(&s->frame->side[0], a);
    abut_triangle triangle_b = pair_triangle(&s->frame->side[1], b);
    if (s->fast && s->winner[0] != ABUT_NONE &&
        (pair_shadows_beyond(&s->closest, &triangle_a, &triangle_b, beyond_of(s),
                             s->frame->doubt) ||
         (s->lined && pair_faces_beyond(&triangle_a, &triangle_b, beyond_of(s))))) {
        s->effort++;
        return;
    }
    s->effort += MEASURE_EFFORT;
    closest_pair closest = triangle_triangle_closest_features(triangle_a, triangle_b, features);
    if (!(closest.distance <= s->limit) || closest.distance > reach_of(s))
        return;
    /* triangles around the same two points are hardly another tie */
    bool same = v3_max_abs(v3_sub(closest.point_a, s->closest.point_a)) <= s->frame->doubt;
    if (s->best <= pair_tie_reach(closest.distance, s->tie) &&
        (!same || ++s->same % TIES_SAME == 0))
        s->ties++;
    if (closest.distance < s->best || s->winner[0] == ABUT_NONE) {
        s->best = closest.distance;
        s->winner[0] = a;
        s->winner[1] = b;
        s->closest = closest;
        s->features[0] = features[0];
        s->features[1] = features[1];
    }
    note_equal(s, (equal_pair){closest.distance, {a, b}});
    s->over = s->any;
}

/* What the best in doubles allows in floats. */
static void use_best(near_search *s) {
    float best = bvh_float_above(real_min(reach_of(s), s->limit) * s->frame->scale);
    lower_bound_to(s, s->settled ? best - 2 * s->margin : best * SLACK + s->margin);
}

/* Tells hierarchies what the search has spent since it did last. */
static void spend(near_search *s, const pair_wall *walls[2]) {
    for (int k = 0; k < 2; k++)
        walls[k] = abuti_pair_walls(s->frame->side[k].bvh, s->effort - s->effort_asked);
    s->effort_asked = s->effort;
}

/* Ends the search where many pairs are equally near and none is nearer, if that can be proved. */
static void try_ties(near_search *s, const pair_wall *const walls[2], uint64_t steps_most) {
    pair_tie tie = {.frame = s->frame,
                    .walls = {walls[0], walls[1]},
                    .closest = s->closest,
                    .upper_sq = s->upper_sq,
                    .steps_most = steps_most,
                    .lowest = {s->winner[0], s->winner[1]}};
    if (!walls[0] || !walls[1] || s->winner[0] == ABUT_NONE || s->limit < INFINITY)
        return;
    bool tied = abuti_pair_tied(&tie);
    s->proof_steps += tie.steps;
    if (!tied)
        return;
    s->equals[0] = (equal_pair){s->best, {tie.lowest[0], tie.lowest[1]}};
    s->equal_count = 1;
    s->over = true;
}

static void measure_all(near_search *s) {
    for (uint32_t i = 0; i < s->count && !s->over; i++)
        if (s->list[i].lower <= s->upper) {
            measure_triangle_pair(s, s->frame->side[0].bvh->order[s->list[i].place[0]],
                                  s->frame->side[1].bvh->order[s->list[i].place[1]]);
            use_best(s);
        }
    s->count = 0;
    if (s->ties >= s->ties_next && s->fast && !s->any && !s->over) {
        const pair_wall *walls[2];
        spend(s, walls);
        s->ties_next *= TIES_MORE;
        if (PROOF_EFFORT * s->effort > s->proof_steps)
            try_ties(s, walls, PROOF_EFFORT * s->effort - s->proof_steps);
    }
}

/* Gives up to tell equals apart. What is then found depends on the steps before, so these must not
 * depend on what hierarchies were asked earlier. */
static void give_up(near_search *s) {
    measure_all(s);
    if (s->fast) {
        if (!s->any && !s->over) {
            const pair_wall *walls[2] = {abuti_pair_walls_now(s->frame->side[0].bvh),
                                         abuti_pair_walls_now(s->frame->side[1].bvh)};
            try_ties(s, walls, PROOF_LAST * s->effort_most);
        }
        s->again = !s->over;
        s->over = true;
        return;
    }
    s->settled = true;
    use_best(s);
}

static void add_candidate(near_search *s, float lower, uint32_t a, uint32_t b) {
    if (s->count == CANDIDATE_MAX) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < s->count; i++)
            if (s->list[i].lower <= s->upper)
                s->list[kept++] = s->list[i];
        s->count = kept;
        if (kept > CANDIDATE_MAX / 2)
            measure_all(s);
    }
    s->list[s->count].lower = lower;
    s->list[s->count].place[0] = a;
    s->list[s->count++].place[1] = b;
}

/* ---- leaves ---- */

/* The longest step of a leaf's block: by how much, and less, its corners are wrong. */
static inline float leaf_step(const pair_side *side, uint32_t place) {
    const bvh_node *node = &side->bvh->nodes[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    float longest = 0;
    for (int axis = 0; axis < 3; axis++) {
        float extent = node->hi[axis][slot] - node->lo[axis][slot];
        longest = extent > longest ? extent : longest;
    }
    return longest * (side->unit / BVH_STEPS);
}

/* The lanes where triangles may be closer than `reach`: along the line between their middles. */
static inline m4 are_near(const wide3 a[3], const wide3 b[3], f4 reach) {
    f4 length, gap = triangles_gap(a, b, &length);
    return f4_less_equal(gap, f4_add(f4_mul(reach, length), f4_all(GAP_UNKNOWN)));
}

/* The shadows of the four triangles of a leaf on a direction n of its side. */
static inline void leaf_shadows(const pair_side *side, uint32_t place, const float n[3], f4 *lo,
                                f4 *hi) {
    const bvh_node *node = &side->bvh->nodes[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    const bvh_block *block = &side->bvh->blocks[node->child[slot] & ~BVH_LEAF];
    float start = 0, step[3];
    for (int axis = 0; axis < 3; axis++) {
        float low = node->lo[axis][slot], along = n[axis] * side->unit;
        start += along * low;
        step[axis] = along * ((node->hi[axis][slot] - low) * (1.0f / BVH_STEPS));
    }
    f4 at[3];
    for (int k = 0; k < 3; k++) {
        at[k] = f4_all(start);
        for (int axis = 0; axis < 3; axis++)
            at[k] = f4_add(at[k], f4_mul(f4_load_u16(block->step[k][axis]), f4_all(step[axis])));
    }
    *lo = f4_min(f4_min(at[0], at[1]), at[2]);
    *hi = f4_max(f4_max(at[0], at[1]), at[2]);
}

/* Which triangles of two leaves may be closer than `reach`, by their shadows on the line between
 * the middles of their boxes: bits of b's in near[i] for the i-th of a. */
static unsigned leaves_near(const pair_frame *frame, const uint32_t place[2], float reach,
                            unsigned near[4]) {
    const pair_side *side = frame->side;
    pair_box a = pair_box_at(&side[0], place[0]), b = pair_box_at(&side[1], place[1]);
    float n[3], turned[3], length_sq = 0, away = 0, hi_a[4];
    for (int i = 0; i < 3; i++) {
        n[i] = side[0].shift[i] + side[0].turn[0][i] * b.centre[0] +
               side[0].turn[1][i] * b.centre[1] + side[0].turn[2][i] * b.centre[2] - a.centre[i];
        length_sq += n[i] * n[i];
        away += n[i] * side[0].shift[i];
    }
    for (int j = 0; j < 3; j++)
        turned[j] =
            n[0] * side[0].turn[j][0] + n[1] * side[0].turn[j][1] + n[2] * side[0].turn[j][2];
    f4 lo, hi, unused;
    leaf_shadows(&side[0], place[0], n, &unused, &hi);
    leaf_shadows(&side[1], place[1], turned, &lo, &unused);
    f4_store(hi_a, hi);
    float least = away - reach * sqrtf(length_sq) * SLACK;
    unsigned any = 0;
    for (int i = 0; i < 4; i++) {
        near[i] = m4_bits(f4_less_equal(lo, f4_all(hi_a[i] - least)));
        any |= near[i];
    }
    return any;
}

static void measure_leaves(near_search *s, const uint32_t place[2]) {
    const pair_side *side = s->frame->side;
    float steps = leaf_step(&side[0], place[0]) + leaf_step(&side[1], place[1]);
    float margin = s->margin + steps, top = s->upper;
    unsigned likely[4];
    if (!leaves_near(s->frame, place, s->upper + margin, likely))
        return;
    wide3 a[3];
    wide_triangle one, four;
    float about = s->lined ? abuti_pair_line_corners(&s->line, place, a, four.corner) : INFINITY;
    if (about < s->margin) {
        float best = bvh_float_above(reach_of(s) * s->frame->scale) * SLACK;
        top = best < top ? best : top;
        margin = about + steps + (float)(s->frame->tie * s->frame->scale) * SLACK;
    } else {
        pair_corners(&side[0], place[0], a);
        pair_corners(&side[1], place[1], four.corner);
        for (int k = 0; k < 3; k++)
            four.corner[k] = pair_turn4(&side[0], four.corner[k]);
    }
    uint32_t leaf_a = pair_child(&side[0], place[0]) & ~BVH_LEAF;
    uint32_t leaf_b = pair_child(&side[1], place[1]) & ~BVH_LEAF;
    uint32_t fill_a = bvh_leaf_fill(side[0].bvh, leaf_a);
    uint32_t fill_b = bvh_leaf_fill(side[1].bvh, leaf_b);
    bool prepared = false;
    for (uint32_t i = 0; i < fill_a; i++) {
        float reach = (s->upper < top ? s->upper : top) + margin;
        if (!likely[i])
            continue;
        spread4(a, i, one.corner);
        if (!(likely[i] & m4_bits(are_near(one.corner, four.corner, f4_all(reach)))))
            continue;
        if (!prepared)
            triangle_prepare(&four);
        prepared = true;
        triangle_prepare(&one);
        f4 distance_sq = triangles_sq(&one, &four);
        unsigned near = m4_bits(f4_less_equal(distance_sq, f4_all(reach * reach * SLACK)));
        if (!near)
            continue;
        float lower[4], upper[4];
        f4 distance = f4_sqrt(distance_sq);
        f4_store(lower, f4_sub(distance, f4_all(margin)));
        f4_store(upper, f4_add(distance, f4_all(margin)));
        for (uint32_t j = 0; j < fill_b; j++) {
            lower_bound_to(s, upper[j]);
            if (near >> j & 1 && lower[j] <= s->upper)
                add_candidate(s, lower[j], leaf_a * BVH_WIDTH + i, leaf_b * BVH_WIDTH + j);
        }
    }
    if (s->any)
        measure_all(s);
}

/* ---- nodes ---- */

/* Puts the children that are near enough on the stack, the nearest last. */
static uint32_t push_children(const near_search *s, pending *stack, uint32_t used, pending next,
                              int open, const uint32_t child[2]) {
    const pair_side *side = &s->frame->side[open];
    const bvh_node *node = &side->bvh->nodes[child[open]];
    pair_box box = pair_box_at(&s->frame->side[!open], next.place[!open]);
    pair_view view = pair_view_of(side, &box, s->frame->pad);
    f4 offset[3], half[3], all = boxes_lower_sq(side, &view, node, s->frame->pad, offset, half);
    unsigned near = m4_bits(f4_less_equal(all, f4_all(s->upper_sq)));
    if (!near)
        return used;
    if (s->discs[0] && next.place[!open] != PAIR_ROOT) {
        disc_view disc =
            disc_view_of(side, &s->frame->side[!open], s->discs[!open], next.place[!open]);
        const pair_disc *discs = &s->discs[open][child[open]];
        all = f4_max(discs_lower_sq(side, &disc, discs, offset, s->frame->pad), all);
        near = m4_bits(f4_less_equal(all, f4_all(s->upper_sq)));
    }
    float lower_sq[4], size[4];
    f4_store(lower_sq, all);
    f4_store(size, f4_add(f4_add(half[0], half[1]), half[2])); /* as pair_box has it */
    uint32_t first = used;
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
        if (!(near >> slot & 1) || node->child[slot] == ABUT_NONE)
            continue;
        uint32_t i = used++;
        for (; i > first && stack[i - 1].lower_sq < lower_sq[slot]; i--)
            stack[i] = stack[i - 1];
        stack[i] = next;
        stack[i].lower_sq = lower_sq[slot];
        stack[i].size[open] = size[slot];
        stack[i].place[open] = child[open] * BVH_WIDTH + slot;
    }
    return used;
}

/* A point of the world, as the mesh of a side has it. */
static vec3 point_on(const pair_side *side, vec3 point) {
    return pair_to_side(side, v3_sub(point, side->motion.translation));
}

/* From the nearest pair so far to one where the distance is least around: the closest point of
 * either surface to that of the other, in turns. With a bound that close to the best a fifth to a
 * third fewer boxes are visited. */
static void refine(near_search *s) {
    measure_all(s);
    for (int turn = 0; turn < REFINE_MAX && s->winner[0] != ABUT_NONE && !s->over; turn++) {
        int k = turn % 2;
        double before = s->best;
        uint32_t pair[2] = {s->winner[0], s->winner[1]};
        vec3 from = k ? s->closest.point_a : s->closest.point_b;
        abut_nearest nearest;
        abuti_nearest_point(s->frame->side[k].bvh, point_on(&s->frame->side[k], from), INFINITY,
                            NULL, &nearest);
        if (nearest.triangle == pair[k])
            break;
        pair[k] = nearest.triangle;
        measure_triangle_pair(s, pair[0], pair[1]);
        if (!(s->best < before))
            break;
    }
    use_best(s);
}

/* Whether two boxes are beyond the best, as seen from its line. */
static bool is_off_line(near_search *s, const uint32_t place[2]) {
    if (!s->lined || s->line_gain < 0 || place[0] == PAIR_ROOT || place[1] == PAIR_ROOT)
        return false;
    if (s->best < s->line.length)
        abuti_pair_line_change(&s->line, &s->closest);
    s->effort++;
    bool beyond = abuti_pair_line_beyond(&s->line, place, beyond_of(s));
    s->line_gain += beyond ? LINE_GAIN : -1;
    return beyond;
}

/* One step: measures a pair of leaves, or puts the children of the larger box behind `used`. */
static uint32_t step(near_search *s, pending *stack, uint32_t used, pending next) {
    const pair_side *side = s->frame->side;
    uint32_t child[2] = {pair_child(&side[0], next.place[0]), pair_child(&side[1], next.place[1])};
    bool leaf_a = child[0] & BVH_LEAF, leaf_b = child[1] & BVH_LEAF;
    if (is_off_line(s, next.place))
        return used;
    if (leaf_a && leaf_b) {
        measure_leaves(s, next.place);
        if (!s->measured && s->fast)
            refine(s);
        s->measured = true;
        s->effort++;
        if (s->effort > s->effort_most && !s->settled)
            give_up(s);
        return used;
    }
    int open = leaf_a || (!leaf_b && next.size[1] > next.size[0]);
    return push_children(s, stack, used, next, open, child);
}

/* Takes discs if there are any by now, so many steps after the last time. */
static void take_discs(near_search *s, uint32_t steps) {
    const pair_disc *discs[2];
    for (int k = 0; k < 2; k++)
        discs[k] = abuti_pair_discs(s->frame->side[k].bvh, steps);
    if (discs[0] && discs[1])
        memcpy(s->discs, discs, sizeof discs);
}

/* Ends a search that shall stop; who asked makes a status of it. */
static inline void check_for_cancellation(near_search *s) {
    if (++s->steps % PAIR_STEPS)
        return;
    if (s->fast && !s->discs[0])
        take_discs(s, PAIR_STEPS);
    if (s->fast && s->discs[0] && !s->lined && s->best > 0 && s->winner[0] != ABUT_NONE) {
        abuti_pair_line_start(&s->line, s->frame, s->discs, &s->closest);
        s->lined = true;
        s->line_gain = LINE_TRIES;
    }
    if (abuti_stop(s->frame->side[0].bvh->context, "pairs"))
        s->over = true;
}

/* Depth first, the nearest child first. */
static void search_deep(near_search *s, pending from) {
    pending stack[PAIR_STACK];
    uint32_t used = 0;
    stack[used++] = from;
    while (used && !s->over) {
        pending next = stack[--used];
        if (next.lower_sq <= s->upper_sq)
            used = step(s, stack, used, next);
        check_for_cancellation(s);
    }
}

/* The least is on top. */
static void heap_push(pending *heap, uint32_t *count, pending item) {
    uint32_t at = (*count)++;
    while (at && heap[(at - 1) / 2].lower_sq > item.lower_sq) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = item;
}

static pending heap_pop(pending *heap, uint32_t *count) {
    pending top = heap[0], last = heap[--*count];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < *count) {
        if (child + 1 < *count && heap[child + 1].lower_sq < heap[child].lower_sq)
            child++;
        if (!(heap[child].lower_sq < last.lower_sq))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* The nearest boxes of all first, until a pair of leaves has given a bound that is likely to be
 * close to the best; then depth first, which needs no more memory. The rest of the heap could go on
 * as it began: that saves 2% of the steps and costs more than they do. */
static void search_near(near_search *s) {
    pending heap[HEAP_MAX], children[BVH_WIDTH];
    uint32_t count = 0;
    pending root = {0, {0, 0}, {PAIR_ROOT, PAIR_ROOT}};
    for (int k = 0; k < 2; k++)
        root.size[k] = pair_box_at(&s->frame->side[k], PAIR_ROOT).size;
    heap_push(heap, &count, root);
    while (count && !s->over) {
        pending next = heap_pop(heap, &count);
        if (next.lower_sq > s->upper_sq)
            break;
        if (s->measured || count + BVH_WIDTH > HEAP_MAX) {
            search_deep(s, next);
            continue;
        }
        uint32_t made = step(s, children, 0, next);
        while (made)
            heap_push(heap, &count, children[--made]);
    }
    if (!s->over)
        measure_all(s);
}

/* ---- far away ---- */

typedef struct pending_far {
    double lower;
    uint32_t place[2];
} pending_far;

/* The middle and half size in the world of the box at a place, its axes turned. */
static void far_box(const pair_side *side, uint32_t place, vec3 *centre, vec3 *half) {
    const bvh_node *nodes = side->bvh->nodes;
    double per_frame = 1 / side->bvh->scale, c[3], h[3];
    for (int axis = 0; axis < 3; axis++) {
        double lo = INFINITY, hi = -INFINITY;
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
            if (place == PAIR_ROOT || place % BVH_WIDTH == slot) {
                const bvh_node *node = &nodes[place == PAIR_ROOT ? 0 : place / BVH_WIDTH];
                lo = real_min(lo, node->lo[axis][slot]);
                hi = real_max(hi, node->hi[axis][slot]);
            }
        c[axis] = (lo + hi) / 2 * per_frame;
        h[axis] = (hi - lo) / 2 * per_frame;
    }
    const mat3 *turn = &side->motion.rotation;
    *centre =
        abuti_motion_apply(&side->motion, v3_add(v3(c[0], c[1], c[2]), side->bvh->mesh->origin));
    double r[3];
    for (int i = 0; i < 3; i++)
        r[i] =
            fabs(turn->row[i].x) * h[0] + fabs(turn->row[i].y) * h[1] + fabs(turn->row[i].z) * h[2];
    *half = v3(r[0], r[1], r[2]);
}

/* The distance of two boxes along the axes of the world, and how large the first is. */
static double far_distance(const pair_frame *frame, const uint32_t place[2], double size[2]) {
    vec3 centre[2], half[2];
    for (int k = 0; k < 2; k++) {
        far_box(&frame->side[k], place[k], &centre[k], &half[k]);
        size[k] = half[k].x + half[k].y + half[k].z;
    }
    vec3 gap;
    gap.x = real_max(fabs(centre[0].x - centre[1].x) - half[0].x - half[1].x, 0);
    gap.y = real_max(fabs(centre[0].y - centre[1].y) - half[0].y - half[1].y, 0);
    gap.z = real_max(fabs(centre[0].z - centre[1].z) - half[0].z - half[1].z, 0);
    double largest = v3_max_abs(gap);
    return largest > 0 ? largest * v3_length(v3_scale(gap, 1 / largest)) : 0;
}

static void search_far(near_search *s) {
    const pair_side *side = s->frame->side;
    pending_far stack[PAIR_STACK];
    uint32_t used = 0;
    stack[used++] = (pending_far){0, {PAIR_ROOT, PAIR_ROOT}};
    while (used) {
        pending_far next = stack[--used];
        if (++s->steps % PAIR_STEPS == 0 && abuti_stop(side[0].bvh->context, "pairs"))
            return;
        if (next.lower >= s->best * BOUND_FAR)
            continue;
        double size[2];
        far_distance(s->frame, next.place, size);
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        bool leaf_a = child[0] & BVH_LEAF, leaf_b = child[1] & BVH_LEAF;
        for (uint32_t i = 0; leaf_a && leaf_b && i < BVH_WIDTH * BVH_WIDTH; i++)
            measure_triangle_pair(
                s, side[0].bvh->order[(child[0] & ~BVH_LEAF) * BVH_WIDTH + i / BVH_WIDTH],
                side[1].bvh->order[(child[1] & ~BVH_LEAF) * BVH_WIDTH + i % BVH_WIDTH]);
        if (leaf_a && leaf_b)
            continue;
        int open = leaf_a || (!leaf_b && size[1] > size[0]);
        const bvh_node *node = &side[open].bvh->nodes[child[open]];
        uint32_t first = used;
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
            if (node->child[slot] == ABUT_NONE)
                continue;
            pending_far child_pair = next;
            child_pair.place[open] = child[open] * BVH_WIDTH + slot;
            child_pair.lower = far_distance(s->frame, child_pair.place, size);
            uint32_t i = used++;
            for (; i > first && stack[i - 1].lower < child_pair.lower; i--)
                stack[i] = stack[i - 1];
            stack[i] = child_pair;
        }
    }
}

/* ---- one question ---- */

float abuti_pair_bounds(const pair_frame *frame, double limit, float *upper) {
    float margin = 2 * frame->pad + (float)(frame->tie * frame->scale) * SLACK +
                   PAIR_MARGIN * ((float)real_min(frame->reach, PAIR_FAR) + 8);
    *upper = (float)real_min(limit * frame->scale, 8 * PAIR_FAR) * SLACK + margin;
    return margin;
}

static void search_start(near_search *s, const pair_frame *frame, double limit, bool any) {
    s->frame = frame;
    s->any = any;
    s->over = s->fast = s->again = s->measured = s->settled = false;
    s->discs[0] = s->discs[1] = NULL;
    s->effort = 0;
    s->steps = 0;
    s->effort_most = EFFORT_MAX + EFFORT_A_LEAF * ((uint64_t)frame->side[0].bvh->leaf_count +
                                                   frame->side[1].bvh->leaf_count);
    s->count = 0;
    s->limit = frame->reach > PAIR_FAR ? INFINITY : limit;
    s->best = INFINITY;
    s->tie = any ? 0 : frame->tie;
    s->equal_count = s->ties = s->same = 0;
    s->proof_steps = 0;
    s->effort_asked = 0;
    s->ties_next = TIES_FIRST;
    s->crowded = s->known = s->lined = false;
    s->winner[0] = s->winner[1] = ABUT_NONE;
    s->closest.point_a = v3(0, 0, 0);
    s->upper = INFINITY;
    float upper;
    s->margin = abuti_pair_bounds(frame, limit, &upper);
    lower_bound_to(s, upper);
}

/* Ready to look once more, for the lowest of the pairs that are as near as the best. */
static void know_best(near_search *s) {
    s->known = true;
    s->equal_count = 0;
    s->effort = s->effort_asked = 0;
    note_equal(s, (equal_pair){s->best, {s->winner[0], s->winner[1]}});
}

/* The lowest of the pairs that are equally near. */
static bool search_end(near_search *s, double limit, abut_separation *separation) {
    if (s->winner[0] == ABUT_NONE || s->best > limit)
        return false;
    uint32_t lowest = 0;
    while (s->equals[lowest].distance > reach_of(s))
        lowest++;
    const uint32_t *pair = s->equals[lowest].triangle;
    if (pair[0] != s->winner[0] || pair[1] != s->winner[1])
        s->closest = triangle_triangle_closest_features(pair_triangle(&s->frame->side[0], pair[0]),
                                                        pair_triangle(&s->frame->side[1], pair[1]),
                                                        s->features);
    separation->distance = s->closest.distance;
    separation->point_a = s->closest.point_a;
    separation->point_b = s->closest.point_b;
    separation->triangle_a = pair[0];
    separation->triangle_b = pair[1];
    separation->feature_a = s->features[0];
    separation->feature_b = s->features[1];
    return true;
}

/* From what is remembered of the last time, if anything. */
static void search(near_search *s, bool fast, const abut_pair_cache *cache) {
    s->fast = fast;
    if (fast)
        take_discs(s, 0);
    else
        s->effort_most *= PLAIN_MORE;
    if (cache && cache->known && cache->triangle_a < s->frame->side[0].bvh->triangle_count &&
        cache->triangle_b < s->frame->side[1].bvh->triangle_count) {
        measure_triangle_pair(s, cache->triangle_a, cache->triangle_b);
        use_best(s);
    }
    search_near(s);
    if (fast && s->ties >= TIES_FIRST && !s->any && !s->over) {
        const pair_wall *walls[2];
        spend(s, walls);
    }
}

bool abuti_pair_closest(const pair_frame *frame, double limit, bool any, abut_pair_cache *cache,
                        abut_separation *separation) {
    near_search s;
    search_start(&s, frame, limit, any);
    if (frame->reach > PAIR_FAR)
        search_far(&s);
    else
        search(&s, true, cache);
    if (s.crowded && !s.over && frame->reach <= PAIR_FAR) {
        know_best(&s);
        search_near(&s);
    }
    if (s.again) {
        search_start(&s, frame, limit, any);
        search(&s, false, cache);
        if (s.crowded && !s.over && !s.settled) {
            know_best(&s);
            search_near(&s);
        }
    }
    if (!search_end(&s, limit, separation))
        return false;
    if (cache) {
        cache->known = 1;
        cache->triangle_a = s.winner[0];
        cache->triangle_b = s.winner[1];
    }
    return true;
}

bool abuti_pair_closest_of(const pair_frame *frame, const uint32_t (*pairs)[2], uint32_t count,
                           double limit, bool any, abut_separation *separation) {
    near_search s;
    search_start(&s, frame, limit, any);
    for (uint32_t i = 0; i < count && !s.over; i++)
        measure_triangle_pair(&s, pairs[i][0], pairs[i][1]);
    if (s.crowded)
        know_best(&s);
    for (uint32_t i = 0; i < count && s.known; i++)
        measure_triangle_pair(&s, pairs[i][0], pairs[i][1]);
    return search_end(&s, limit, separation);
}
