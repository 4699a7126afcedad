/* The closest triangles of two posed meshes whose surfaces do not intersect.
 *
 * Method: branch and bound as for the closest point (nearest.c), in two BVHs at once. The traversal
 * is depth-first, descends into the larger of two boxes, nearest child first, and keeps an upper
 * bound of the distance. A BVH that has many queries also has slabs (disc_bounds.h). In pairs of
 * leaves, triangles are pruned that are further apart than the bound along the line between the
 * centres of the leaves, then along the lines between single triangles. The others are measured in
 * floats, one against four, with a known error margin. Pairs that could be the closest within the
 * margin become candidates, and the candidates that remain are measured by the function of
 * src/foundation/geom in doubles. So no pair is pruned that could be the closest, and the result is
 * that of a search through all pairs.
 *
 * The distance in floats is the minimum of nine distances between edges, ends included, and six of
 * a corner above the interior of the other triangle. Each is a distance of two convex sets, so it
 * changes by no more than the corners move: half a quantisation step of the block on each axis,
 * less than a step in total, for each triangle, plus the padding. The rest of the margin is the
 * rounding error of these distances. The frame (u, w) of closest_shared.h limits it to a few
 * roundings for every shape of triangle.
 *
 * Ties. The result is the lowest pair, by triangle indices, whose distance exceeds the minimum by
 * no more than pair_tie_reach() allows. Tied pairs are listed as they are found. Parallel faces, or
 * an edge above a plate, have thousands of them. So after some ties only pairs matter that are
 * nearer than the best by more than TIE_ERRORS. Whole parts of two surfaces are excluded by the
 * bound along the line of the closest pair (witness_bound.h), in doubles. The minimum is then known
 * up to that tolerance. A second traversal finds the lowest tied pair: it visits boxes in the order
 * of their lowest triangles, so it ends soon after the first one found. If the tolerance does not
 * decide whether a pair ties, the search is repeated and lists all ties.
 *
 * Some meshes have all pairs at one distance, in all directions. If a search exceeds its effort
 * limit, which is proportional to the number of leaves, its result would depend on the bounds that
 * the BVHs happened to have. So it is repeated with slabs from the first step, and only continues
 * for pairs that are nearer by more than the margin of floats.
 *
 * Beyond PAIR_FAR_DISTANCE boxes are compared in doubles. Pairs whose boxes are not closer than the
 * best pair by more than rounding errors are pruned: at such distances many pairs are equally far.
 */
#include "pair/closest_bounds.h"
#include "pair/witness_bound.h"

#include "bvh/wide.h"
#include "geom/distance_shared.h"
#include "nearest/nearest.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

enum {
    CANDIDATE_MAX = 64,
    TIED_MAX = 128,       /* as many as a device reports for one pose */
    MANY_TIES = 48,       /* number of ties after which they are no longer listed */
    SAME_POINT_TIES = 16, /* of ties at the same two points one in this many counts */
    MEASURE_EFFORT = 16,  /* effort of a distance in doubles, in pairs of leaves */
    EFFORT_MAX = 1 << 20,
    EFFORT_PER_LEAF = 64,
    WITNESS_BUDGET = 512,  /* failures after which the witness bound is no longer used */
    WITNESS_GAIN = 16,     /* failures that one success outweighs */
    BEST_FIRST_MAX = 252,  /* pairs of boxes among which the nearest is visited first */
    REFINE_ROUNDS_MAX = 8, /* two or three are usual */
    REFINE_QUERIES = 16 /* that a closest point counts for, so that pairs soon have the wide tree */
};

#define FAR_PRUNE_FACTOR (1.0 - 0x1p-44)
/* Tolerance of the minimum if ties are not listed, in multiples of pair_frame.position_error. Half
 * of it covers the rounding errors of bounds. */
#define TIE_ERRORS 2.0

typedef struct candidate {
    float lower;
    uint32_t place[2]; /* in `order` */
} candidate;

/* Two boxes. */
typedef struct pending_pair {
    float lower_sq;
    float size[2]; /* the sum of half sizes of each box */
    uint32_t place[2];
} pending_pair;

/* A pair that ties with the closest one so far. */
typedef struct tied_pair {
    double distance;
    uint32_t triangle[2];
} tied_pair;

typedef enum tie_rule {
    TIES_AUTO,   /* listed, unless there are many */
    TIES_LISTED, /* all */
    TIES_LATER,  /* only pairs matter that are nearer by more than the tolerance of ties */
    TIES_IGNORED /* only pairs matter that are nearer by more than the margin of floats */
} tie_rule;

typedef struct closest_search {
    const pair_frame *frame;
    const pair_slabs *slabs[2]; /* both or none */
    float margin;               /* error of distances in floats, without quantisation */
    float upper;                /* no pair further than this can be the closest */
    float upper_sq;             /* the same for boxes, with slack for rounding */
    bool any;                   /* the first pair within the limit is sufficient */
    bool is_refined;            /* the first pair of leaves has given a local minimum */
    bool is_finished;
    abut_status status;          /* of memory for bounds */
    uint64_t effort, effort_max; /* in pairs of leaves */
    uint32_t steps;              /* of the traversal */
    double limit, best;
    double tie;         /* of the frame, or 0 */
    double tolerance;   /* of the minimum with TIES_LATER */
    uint32_t winner[2]; /* the closest pair */
    closest_pair closest;
    abut_feature features[2];
    tie_rule ties;
    bool tied_overflowed;     /* the list of ties was full */
    uint32_t tie_count;       /* measured pairs that tie with the best */
    uint32_t same_point_ties; /* those of them at the same points */
    uint64_t cost_reported;   /* steps and effort when slabs were requested last */
    bool has_witness;         /* the witness bound is initialised */
    int64_t witness_gain;     /* its benefit so far; it is not used if this is negative */
    uint32_t candidate_count, tied_count;
    /* arrays are not initialised */
    candidate candidates[CANDIDATE_MAX];
    tied_pair tied[TIED_MAX]; /* in ascending order, each nearer than those before */
    witness_bound witness;
} closest_search;

/* ---- candidates ---- */

static void lower_upper_bound(closest_search *s, float upper) {
    if (!(upper < s->upper))
        return;
    s->upper = upper;
    s->upper_sq = upper > 0 ? upper * upper * ROUNDING_FACTOR + FLT_MIN : -1;
}

/* The largest distance of a pair that ties with the best. */
static double tie_distance(const closest_search *s) {
    return pair_tie_reach(s->best, s->tie);
}

/* Pairs that are further apart than this cannot tie: errors of points and products are smaller than
 * position_error. */
static double untied_distance(const closest_search *s) {
    return tie_distance(s) * (1 + 0x1p-40) + 4 * s->frame->position_error;
}

/* Pairs that are further apart than this do not matter. */
static double prune_distance(const closest_search *s) {
    return s->ties == TIES_LATER ? s->best - 0.5 * s->tolerance : untied_distance(s);
}

/* Whether two triangles are further apart than `distance`, by their projections. */
static bool triangles_exceed(const closest_search *s, const abut_triangle *a,
                             const abut_triangle *b, double distance) {
    return pair_projections_exceed(&s->closest, a, b, distance, s->frame->position_error);
}

/* Adds a pair that ties with the best. Which pair is the lowest in the end depends on the final
 * distance: so of two pairs the higher one is kept too if it is nearer. */
static void add_tied_pair(closest_search *s, tied_pair pair) {
    uint32_t at = 0, kept = 0;
    for (uint32_t i = 0; i < s->tied_count; i++)
        if (s->tied[i].distance <= tie_distance(s))
            s->tied[kept++] = s->tied[i];
    s->tied_count = kept;
    while (at < kept && is_lower_pair(s->tied[at].triangle, pair.triangle))
        at++;
    if (at && s->tied[at - 1].distance <= pair.distance)
        return;
    uint32_t after = at;
    while (after < kept && s->tied[after].distance >= pair.distance)
        after++;
    if (after == at && kept == TIED_MAX) {
        s->tied_overflowed = true;
        return;
    }
    memmove(s->tied + at + 1, s->tied + after, (kept - after) * sizeof *s->tied);
    s->tied[at] = pair;
    s->tied_count = at + 1 + kept - after;
}

/* Measures a pair of triangles in doubles. */
static void measure_triangle_pair(closest_search *s, uint32_t a, uint32_t b) {
    abut_feature features[2];
    abut_triangle triangle_a = pair_triangle(&s->frame->side[0], a);
    abut_triangle triangle_b = pair_triangle(&s->frame->side[1], b);
    if (s->winner[0] != ABUT_NONE &&
        triangles_exceed(s, &triangle_a, &triangle_b, prune_distance(s))) {
        s->effort++;
        return;
    }
    s->effort += MEASURE_EFFORT;
    closest_pair closest = triangle_triangle_closest_features(triangle_a, triangle_b, features);
    if (!(closest.distance <= s->limit) || closest.distance > tie_distance(s))
        return;
    /* triangles around the same two points are no separate ties */
    bool is_same_point =
        v3_max_abs(v3_sub(closest.point_a, s->closest.point_a)) <= s->frame->position_error;
    if (s->best <= pair_tie_reach(closest.distance, s->tie) &&
        (!is_same_point || ++s->same_point_ties % SAME_POINT_TIES == 0))
        s->tie_count++;
    if (closest.distance < s->best || s->winner[0] == ABUT_NONE) {
        s->best = closest.distance;
        s->winner[0] = a;
        s->winner[1] = b;
        s->closest = closest;
        s->features[0] = features[0];
        s->features[1] = features[1];
    }
    add_tied_pair(s, (tied_pair){closest.distance, {a, b}});
    s->is_finished = s->any;
}

/* Lowers the upper bound in floats to that of the best pair in doubles. */
static void lower_bound_to_best(closest_search *s) {
    float best = bvh_float_above(real_min(tie_distance(s), s->limit) * s->frame->scale);
    lower_upper_bound(s, s->ties == TIES_IGNORED ? best - 2 * s->margin
                                                 : best * ROUNDING_FACTOR + s->margin);
}

/* Uses slabs if both BVHs have them by now. Reports the cost of the search since the last call to
 * both. */
static void update_slabs(closest_search *s) {
    const uint64_t cost = s->steps + s->effort;
    const pair_slabs *slabs[2];
    if (s->slabs[0])
        return;
    for (int k = 0; k < 2; k++)
        slabs[k] = abuti_pair_slabs(s->frame->side[k].bvh, (size_t)(cost - s->cost_reported));
    if (slabs[0] && slabs[1])
        memcpy(s->slabs, slabs, sizeof slabs);
    s->cost_reported = cost;
}

/* Uses the line of the closest pair as a bound. */
static void start_witness_bound(closest_search *s) {
    if (!s->has_witness)
        abuti_witness_bound_start(&s->witness, s->frame, s->slabs, &s->closest);
    s->has_witness = true;
    s->witness_gain = WITNESS_BUDGET;
}

static void measure_candidates(closest_search *s) {
    for (uint32_t i = 0; i < s->candidate_count && !s->is_finished; i++)
        if (s->candidates[i].lower <= s->upper) {
            measure_triangle_pair(s, s->frame->side[0].bvh->order[s->candidates[i].place[0]],
                                  s->frame->side[1].bvh->order[s->candidates[i].place[1]]);
            lower_bound_to_best(s);
        }
    s->candidate_count = 0;
    if (s->ties != TIES_AUTO || s->tie_count < MANY_TIES || s->limit < INFINITY)
        return;
    update_slabs(s);
    if (s->slabs[0] && s->best > 0 && tie_distance(s) - s->best >= 4 * s->tolerance) {
        s->ties = TIES_LATER;
        start_witness_bound(s);
    }
}

static void add_candidate(closest_search *s, float lower, uint32_t a, uint32_t b) {
    if (s->candidate_count == CANDIDATE_MAX) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < s->candidate_count; i++)
            if (s->candidates[i].lower <= s->upper)
                s->candidates[kept++] = s->candidates[i];
        s->candidate_count = kept;
        if (kept > CANDIDATE_MAX / 2)
            measure_candidates(s);
    }
    s->candidates[s->candidate_count++] = (candidate){lower, {a, b}};
}

/* ---- leaves ---- */

/* The lanes in which triangles may be closer than `reach`, by their gap along the line between
 * their centres. */
static inline m4 may_be_closer(const wide3 a[3], const wide3 b[3], f4 reach) {
    f4 length, gap = triangles_gap(a, b, &length);
    return f4_less_equal(gap, f4_add(f4_mul(reach, length), f4_all(GAP_UNDERFLOW)));
}

/* Finds the triangles of two leaves that may be closer than `reach`, by their projections on the
 * line between the centres of their boxes. Bit j of candidates[i] is set for triangle i of a and j
 * of b. Returns the union of the masks. */
static unsigned find_close_triangles(const pair_frame *frame, const uint32_t place[2], float reach,
                                     unsigned candidates[4]) {
    const pair_side *side = frame->side;
    pair_box a = pair_box_at(&side[0], place[0]), b = pair_box_at(&side[1], place[1]);
    float n[3], rotated[3], length_sq = 0, away = 0, hi_a[4];
    for (int i = 0; i < 3; i++) {
        n[i] = side[0].shift[i] + side[0].rotation[0][i] * b.centre[0] +
               side[0].rotation[1][i] * b.centre[1] + side[0].rotation[2][i] * b.centre[2] -
               a.centre[i];
        length_sq += n[i] * n[i];
        away += n[i] * side[0].shift[i];
    }
    for (int j = 0; j < 3; j++)
        rotated[j] = n[0] * side[0].rotation[j][0] + n[1] * side[0].rotation[j][1] +
                     n[2] * side[0].rotation[j][2];
    f4 lo, hi, unused;
    project_leaf(&side[0], place[0], n, &unused, &hi);
    project_leaf(&side[1], place[1], rotated, &lo, &unused);
    f4_store(hi_a, hi);
    float threshold = away - reach * sqrtf(length_sq) * ROUNDING_FACTOR;
    unsigned any = 0;
    for (int i = 0; i < 4; i++) {
        candidates[i] = m4_bits(f4_less_equal(lo, f4_all(hi_a[i] - threshold)));
        any |= candidates[i];
    }
    return any;
}

static void measure_leaves(closest_search *s, const uint32_t place[2]) {
    const pair_side *side = s->frame->side;
    float steps = leaf_step(&side[0], place[0]) + leaf_step(&side[1], place[1]);
    float margin = s->margin + steps, top = s->upper;
    unsigned likely[4];
    if (!find_close_triangles(s->frame, place, s->upper + margin, likely))
        return;
    wide3 a[3];
    wide_triangle one, four;
    float witness_margin =
        s->has_witness ? abuti_witness_bound_corners(&s->witness, place, a, four.corner) : INFINITY;
    if (witness_margin < s->margin) {
        float best = bvh_float_above(tie_distance(s) * s->frame->scale) * ROUNDING_FACTOR;
        top = best < top ? best : top;
        margin =
            witness_margin + steps + (float)(s->frame->tie * s->frame->scale) * ROUNDING_FACTOR;
    } else {
        pair_corners(&side[0], place[0], a);
        pair_corners(&side[1], place[1], four.corner);
        for (int k = 0; k < 3; k++)
            four.corner[k] = pair_transform4(&side[0], four.corner[k]);
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
        broadcast_triangle(a, i, one.corner);
        if (!(likely[i] & m4_bits(may_be_closer(one.corner, four.corner, f4_all(reach)))))
            continue;
        if (!prepared)
            triangle_prepare(&four);
        prepared = true;
        triangle_prepare(&one);
        f4 distance_sq = triangle_distance_sq(&one, &four);
        unsigned candidates =
            m4_bits(f4_less_equal(distance_sq, f4_all(reach * reach * ROUNDING_FACTOR)));
        if (!candidates)
            continue;
        float lower[4], upper[4];
        f4 distance = f4_sqrt(distance_sq);
        f4_store(lower, f4_sub(distance, f4_all(margin)));
        f4_store(upper, f4_add(distance, f4_all(margin)));
        for (uint32_t j = 0; j < fill_b; j++) {
            lower_upper_bound(s, upper[j]);
            if (candidates >> j & 1 && lower[j] <= s->upper)
                add_candidate(s, lower[j], leaf_a * BVH_WIDTH + i, leaf_b * BVH_WIDTH + j);
        }
    }
    if (s->any)
        measure_candidates(s);
}

/* ---- nodes ---- */

/* Whether the children of two places are leaves; writes them. Otherwise writes the side whose box
 * is divided next: the larger one. */
static bool are_leaves(const pair_frame *frame, const pending_pair *next, uint32_t child[2],
                       int *open) {
    for (int k = 0; k < 2; k++)
        child[k] = pair_child(&frame->side[k], next->place[k]);
    bool leaf_a = child[0] & BVH_LEAF, leaf_b = child[1] & BVH_LEAF;
    *open = leaf_a || (!leaf_b && next->size[1] > next->size[0]);
    return leaf_a && leaf_b;
}

/* Pushes the children that are within the upper bound, so that the nearest pair from `first` on is
 * the last. */
static uint32_t push_children(const closest_search *s, pending_pair *stack, uint32_t first,
                              uint32_t used, pending_pair next, int open, const uint32_t child[2]) {
    const pair_side *side = &s->frame->side[open];
    const bvh_node *node = &side->bvh->nodes[child[open]];
    pair_box box = pair_box_at(&s->frame->side[!open], next.place[!open]);
    pair_view view = pair_view_of(side, &box, s->frame->pad);
    f4 offset[3], half[3],
        all = boxes_lower_bound_sq(side, &view, node, s->frame->pad, offset, half);
    unsigned candidates = m4_bits(f4_less_equal(all, f4_all(s->upper_sq)));
    if (!candidates)
        return used;
    if (s->slabs[0] && next.place[!open] != PAIR_ROOT) {
        disc_view disc =
            disc_view_of(side, &s->frame->side[!open], s->slabs[!open]->discs, next.place[!open]);
        const pair_disc *discs = &s->slabs[open]->discs[child[open]];
        all = f4_max(discs_lower_bound_sq(side, &disc, discs, offset, s->frame->pad), all);
        candidates = m4_bits(f4_less_equal(all, f4_all(s->upper_sq)));
    }
    float lower_sq[4], size[4];
    f4_store(lower_sq, all);
    f4_store(size, f4_add(f4_add(half[0], half[1]), half[2])); /* as in pair_box */
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
        if (!(candidates >> slot & 1) || node->child[slot] == ABUT_NONE)
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

/* Refines the closest pair to a local minimum of the distance: alternately finds the closest point
 * of one surface to the witness point of the other. With the tighter bound a fifth to a third fewer
 * boxes are visited. */
static void refine_closest(closest_search *s) {
    measure_candidates(s);
    for (int round = 0; round < REFINE_ROUNDS_MAX && s->winner[0] != ABUT_NONE && !s->is_finished;
         round++) {
        int k = round % 2;
        const pair_side *side = &s->frame->side[k];
        double before = s->best;
        uint32_t pair[2] = {s->winner[0], s->winner[1]};
        vec3 from = v3_sub(k ? s->closest.point_a : s->closest.point_b, side->motion.translation);
        abut_nearest nearest;
        abuti_bvh_earn_wide(side->bvh, REFINE_QUERIES);
        abuti_nearest_point(side->bvh, pair_to_side(side, from), INFINITY, NULL, &nearest);
        if (nearest.triangle == pair[k])
            break;
        pair[k] = nearest.triangle;
        measure_triangle_pair(s, pair[0], pair[1]);
        if (!(s->best < before))
            break;
    }
    lower_bound_to_best(s);
}

/* Whether no pair in two boxes matters, by the witness bound. */
static bool is_beyond_witness(closest_search *s, const uint32_t place[2]) {
    if (!s->has_witness || s->witness_gain < 0 || place[0] == PAIR_ROOT || place[1] == PAIR_ROOT)
        return false;
    if (s->best < s->witness.length - s->tolerance)
        abuti_witness_bound_update(&s->witness, &s->closest);
    s->effort++;
    bool beyond = abuti_witness_bound_excludes(&s->witness, place, prune_distance(s), true);
    s->witness_gain += beyond ? WITNESS_GAIN : -1;
    return beyond;
}

static pending_pair root_pair(const pair_frame *frame) {
    return (pending_pair){0,
                          {pair_box_at(&frame->side[0], PAIR_ROOT).size,
                           pair_box_at(&frame->side[1], PAIR_ROOT).size},
                          {PAIR_ROOT, PAIR_ROOT}};
}

/* Visits the nearest pair of boxes first, until a pair of leaves has given an upper bound that is
 * probably close to the minimum; then depth-first, which needs no more memory. Best-first to the
 * end would save 2% of the steps and costs more than they do; depth-first from the start takes 1.6
 * times as long for two rings one above the other. Starts to use slabs and the witness bound when
 * they pay off. Returns false if it exceeds its effort. */
static bool search_boxes(closest_search *s) {
    pending_pair stack[BEST_FIRST_MAX + PAIR_STACK];
    uint32_t used = 0, child[2];
    int open;
    stack[used++] = root_pair(s->frame);
    while (used && !s->is_finished) {
        pending_pair next = stack[--used];
        assert(used <= BEST_FIRST_MAX + PAIR_STACK - BVH_WIDTH);
        if (++s->steps % PAIR_STEPS_PER_STOP_CHECK == 0) {
            update_slabs(s);
            if (s->slabs[0] && !s->has_witness && s->best > 0 && s->winner[0] != ABUT_NONE)
                start_witness_bound(s);
            if (abuti_stop(s->frame->side[0].bvh->context, "pairs"))
                s->is_finished = true; /* the caller returns the status */
        }
        if (next.lower_sq > s->upper_sq || is_beyond_witness(s, next.place))
            continue;
        if (!are_leaves(s->frame, &next, child, &open)) {
            uint32_t first = s->is_refined || used > BEST_FIRST_MAX ? used : 0;
            used = push_children(s, stack, first, used, next, open, child);
            continue;
        }
        measure_leaves(s, next.place);
        if (!s->is_refined)
            refine_closest(s);
        s->is_refined = true;
        if (++s->effort > s->effort_max && s->ties != TIES_IGNORED)
            return false;
    }
    if (!s->is_finished)
        measure_candidates(s);
    return true;
}

/* ---- the lowest tied pair ---- */

/* Tests the pairs of two leaves that are lower than `lowest`. Returns false if the tolerance does
 * not decide whether one ties. */
static bool test_leaf_ties(closest_search *s, const uint32_t child[2], double tolerance,
                           uint32_t lowest[2]) {
    const pair_side *side = s->frame->side;
    const uint32_t leaf[2] = {child[0] & ~BVH_LEAF, child[1] & ~BVH_LEAF};
    const uint32_t fill_a = bvh_leaf_fill(side[0].bvh, leaf[0]);
    const uint32_t fill_b = bvh_leaf_fill(side[1].bvh, leaf[1]);
    for (uint32_t i = 0; i < fill_a * fill_b; i++) {
        const uint32_t pair[2] = {side[0].bvh->order[(size_t)leaf[0] * BVH_WIDTH + i / fill_b],
                                  side[1].bvh->order[(size_t)leaf[1] * BVH_WIDTH + i % fill_b]};
        if (!is_lower_pair(pair, lowest))
            continue;
        abut_triangle a = pair_triangle(&side[0], pair[0]), b = pair_triangle(&side[1], pair[1]);
        s->effort++;
        if (triangles_exceed(s, &a, &b, untied_distance(s)))
            continue;
        abut_feature features[2];
        s->effort += MEASURE_EFFORT;
        double distance = triangle_triangle_closest_features(a, b, features).distance;
        if (distance <= tie_distance(s) - tolerance)
            memcpy(lowest, pair, sizeof pair);
        else if (distance <= tie_distance(s))
            return false;
    }
    return true;
}

/* Finds the lowest pair that ties with the best, which is the minimum up to `tolerance`. Returns
 * false if that is not decided within the effort limit. */
static bool find_lowest_tie(closest_search *s, double tolerance) {
    const pair_slabs *const slabs[2] = {abuti_pair_slabs_now(s->frame->side[0].bvh),
                                        abuti_pair_slabs_now(s->frame->side[1].bvh)};
    pending_pair stack[PAIR_STACK];
    uint32_t lowest[2], used = 0, child[2], first[2], tied = 0;
    while (s->tied[tied].distance > tie_distance(s) - tolerance)
        tied++;
    memcpy(lowest, s->tied[tied].triangle, sizeof lowest);
    int open;
    if (!slabs[0] || !slabs[1]) {
        s->status = ABUT_ERROR_MEMORY;
        return false;
    }
    s->effort = 0;
    stack[used++] = root_pair(s->frame);
    while (used) {
        pending_pair next = stack[--used];
        if (s->effort > s->effort_max || (++s->steps % PAIR_STEPS_PER_STOP_CHECK == 0 &&
                                          abuti_stop(s->frame->side[0].bvh->context, "pairs")))
            return false;
        for (int k = 0; k < 2; k++)
            first[k] = next.place[k] == PAIR_ROOT ? 0 : slabs[k]->slabs[next.place[k]].first;
        if (!is_lower_pair(first, lowest))
            continue;
        if (s->has_witness &&
            abuti_witness_bound_excludes(&s->witness, next.place, untied_distance(s), false))
            continue;
        if (are_leaves(s->frame, &next, child, &open)) {
            if (!test_leaf_ties(s, child, tolerance, lowest))
                return false;
            continue;
        }
        open = (child[0] & BVH_LEAF) != 0;
        /* the child with the lowest triangle is visited first */
        const uint32_t from = used;
        used = push_children(s, stack, from, used, next, open, child);
        for (uint32_t i = from + 1; i < used; i++) {
            pending_pair item = stack[i];
            uint32_t j = i, own = slabs[open]->slabs[item.place[open]].first;
            for (; j > from && slabs[open]->slabs[stack[j - 1].place[open]].first < own; j--)
                stack[j] = stack[j - 1];
            stack[j] = item;
        }
        s->effort++;
    }
    s->tied[0] = (tied_pair){s->best, {lowest[0], lowest[1]}};
    s->tied_count = 1;
    return true;
}

/* ---- far away ---- */

typedef struct pending_far {
    double lower;
    uint32_t place[2];
} pending_far;

/* A lower bound of the distance of two boxes: the gap along the line between their centres. Writes
 * how far both extend along it. 0 if one is a root, which is then opened. */
static double far_lower_bound(const pair_frame *frame, const uint32_t place[2], double extent[2]) {
    vec3 centre[2];
    for (int k = 0; k < 2; k++) {
        const pair_side *side = &frame->side[k];
        extent[k] = place[k] == PAIR_ROOT ? INFINITY : 0;
        if (place[k] == PAIR_ROOT)
            continue;
        centre[k] = v3_scale(pair_box_centre(side->bvh, place[k]), 1 / side->bvh->scale);
        centre[k] = abuti_motion_apply(&side->motion, v3_add(centre[k], side->bvh->mesh->origin));
    }
    if (extent[0] > 0 || extent[1] > 0)
        return 0;
    const vec3 between = v3_sub(centre[1], centre[0]);
    const double largest = v3_max_abs(between); /* squares may overflow */
    if (!(largest > 0))
        return 0;
    const double distance = largest * v3_length(v3_scale(between, 1 / largest));
    for (int k = 0; k < 2; k++) {
        const pair_side *side = &frame->side[k];
        extent[k] = pair_box_reach(side->bvh, place[k],
                                   pair_to_side(side, v3_scale(between, 1 / distance))) /
                    side->bvh->scale;
    }
    return real_max(distance - extent[0] - extent[1], 0);
}

static void search_far(closest_search *s) {
    const pair_side *side = s->frame->side;
    pending_far stack[PAIR_STACK];
    uint32_t used = 0;
    stack[used++] = (pending_far){0, {PAIR_ROOT, PAIR_ROOT}};
    while (used) {
        pending_far next = stack[--used];
        if (++s->steps % PAIR_STEPS_PER_STOP_CHECK == 0 &&
            abuti_stop(side[0].bvh->context, "pairs"))
            return;
        if (next.lower >= s->best * FAR_PRUNE_FACTOR)
            continue;
        double extent[2];
        far_lower_bound(s->frame, next.place, extent);
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        bool leaf_a = child[0] & BVH_LEAF, leaf_b = child[1] & BVH_LEAF;
        for (uint32_t i = 0; leaf_a && leaf_b && i < BVH_WIDTH * BVH_WIDTH; i++)
            measure_triangle_pair(
                s, side[0].bvh->order[(child[0] & ~BVH_LEAF) * BVH_WIDTH + i / BVH_WIDTH],
                side[1].bvh->order[(child[1] & ~BVH_LEAF) * BVH_WIDTH + i % BVH_WIDTH]);
        if (leaf_a && leaf_b)
            continue;
        int open = leaf_a || (!leaf_b && extent[1] > extent[0]);
        const bvh_node *node = &side[open].bvh->nodes[child[open]];
        uint32_t first = used;
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
            if (node->child[slot] == ABUT_NONE)
                continue;
            pending_far child_pair = next;
            child_pair.place[open] = child[open] * BVH_WIDTH + slot;
            child_pair.lower = far_lower_bound(s->frame, child_pair.place, extent);
            uint32_t i = used++;
            for (; i > first && stack[i - 1].lower < child_pair.lower; i--)
                stack[i] = stack[i - 1];
            stack[i] = child_pair;
        }
        assert(used <= PAIR_STACK);
    }
}

/* ---- queries ---- */

float abuti_pair_bounds(const pair_frame *frame, double limit, float *upper) {
    float margin = 2 * frame->pad + (float)(frame->tie * frame->scale) * ROUNDING_FACTOR +
                   PAIR_FLOAT_ERROR * ((float)real_min(frame->reach, PAIR_FAR_DISTANCE) + 8);
    *upper =
        (float)real_min(limit * frame->scale, 8 * PAIR_FAR_DISTANCE) * ROUNDING_FACTOR + margin;
    return margin;
}

static void init_search(closest_search *s, const pair_frame *frame, double limit, bool any) {
    memset(s, 0, offsetof(closest_search, candidates));
    s->frame = frame;
    s->any = any;
    s->effort_max = EFFORT_MAX + EFFORT_PER_LEAF * ((uint64_t)frame->side[0].bvh->leaf_count +
                                                    frame->side[1].bvh->leaf_count);
    s->limit = frame->reach > PAIR_FAR_DISTANCE ? INFINITY : limit;
    s->best = INFINITY;
    s->tie = any ? 0 : frame->tie;
    s->tolerance = TIE_ERRORS * frame->position_error;
    s->winner[0] = s->winner[1] = ABUT_NONE;
    s->upper = INFINITY;
    float upper;
    s->margin = abuti_pair_bounds(frame, limit, &upper);
    lower_upper_bound(s, upper);
}

/* Writes the lowest of the tied pairs. Returns false if no pair is within the limit. */
static bool finish_search(closest_search *s, double limit, abut_separation *separation) {
    if (s->winner[0] == ABUT_NONE || s->best > limit)
        return false;
    uint32_t lowest = 0;
    while (s->tied[lowest].distance > tie_distance(s))
        lowest++;
    const uint32_t *pair = s->tied[lowest].triangle;
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

/* Searches with the bounds that the BVHs have. Returns false if it exceeds its effort. */
static bool search_closest(closest_search *s, const abut_pair_cache *cache) {
    update_slabs(s);
    if (cache && cache->known && cache->triangle_a < s->frame->side[0].bvh->triangle_count &&
        cache->triangle_b < s->frame->side[1].bvh->triangle_count) {
        measure_triangle_pair(s, cache->triangle_a, cache->triangle_b);
        lower_bound_to_best(s);
    }
    if (!search_boxes(s))
        return false;
    if (s->ties == TIES_LATER) {
        s->ties = TIES_LISTED;
        if (find_lowest_tie(s, s->tolerance))
            return true;
        s->effort = 0;
        if (!search_boxes(s))
            return false;
    }
    return !s->tied_overflowed || s->is_finished || find_lowest_tie(s, 0);
}

abut_status abuti_pair_closest(const pair_frame *frame, double limit, bool any,
                               abut_pair_cache *cache, bool *is_found,
                               abut_separation *separation) {
    closest_search s;
    init_search(&s, frame, limit, any);
    if (frame->reach > PAIR_FAR_DISTANCE) {
        search_far(&s);
    } else if (!search_closest(&s, cache)) {
        if (s.status)
            return s.status;
        init_search(&s, frame, limit, any);
        s.ties = TIES_IGNORED;
        for (int k = 0; k < 2; k++)
            s.slabs[k] = abuti_pair_slabs_now(frame->side[k].bvh);
        if (!s.slabs[0] || !s.slabs[1])
            return ABUT_ERROR_MEMORY;
        search_boxes(&s);
    }
    *is_found = finish_search(&s, limit, separation);
    if (*is_found && cache) {
        cache->known = 1;
        cache->triangle_a = s.winner[0];
        cache->triangle_b = s.winner[1];
    }
    return ABUT_OK;
}

bool abuti_pair_closest_of(const pair_frame *frame, const uint32_t (*pairs)[2], uint32_t count,
                           double limit, bool any, abut_separation *separation) {
    closest_search s;
    assert(count <= TIED_MAX);
    init_search(&s, frame, limit, any);
    for (uint32_t i = 0; i < count && !s.is_finished; i++)
        measure_triangle_pair(&s, pairs[i][0], pairs[i][1]);
    return finish_search(&s, limit, separation);
}
