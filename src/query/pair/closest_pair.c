/* The closest triangles of two posed meshes whose surfaces do not intersect.
 *
 * Method: branch and bound as for the closest point (nearest.c), in two BVHs at once. The traversal
 * is depth-first, descends into the larger of two boxes, nearest child first, and keeps an upper
 * bound of the distance. A BVH that has many queries also has discs (disc_bounds.h). In pairs of
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
 * Some meshes have all pairs at one distance, such as many coincident triangles. If a search
 * exceeds its effort limit, which is proportional to the number of leaves, it no longer resolves
 * ties: it only continues for pairs that are nearer by more than the margin.
 *
 * Beyond PAIR_FAR_DISTANCE boxes are compared in doubles. Pairs whose boxes are not closer than the
 * best pair by more than rounding errors are pruned: at such distances many pairs are equally far.
 */
#include "pair/closest_proof.h"
#include "pair/closest_queue.h"
#include "pair/witness_bound.h"

#include "geom/distance_shared.h"
#include "nearest/nearest.h"

#include <assert.h>
#include <math.h>

enum {
    CANDIDATE_MAX = 64,
    TIED_MAX = 32,
    PROOF_TIE_COUNT = 48,    /* number of ties at which a proof is tried first */
    PROOF_TIE_FACTOR = 4,    /* the number grows by this factor after each failed proof */
    SAME_POINT_TIES = 16,    /* of ties at the same two points one in this many counts */
    PROOF_EFFORT_FACTOR = 8, /* effort of all proofs, relative to that of the search so far */
    LAST_PROOF_FACTOR = 2,   /* the same for the last proof, relative to effort_max */
    HEAP_MAX = 256,
    MEASURE_EFFORT = 16, /* effort of a distance in doubles, in pairs of leaves */
    EFFORT_MAX = 1 << 20,
    EFFORT_PER_LEAF = 64,
    PLAIN_EFFORT_FACTOR = 2, /* the plain search has a larger limit, so that its result equals that
                                of the fast search */
    WITNESS_BUDGET = 512,    /* failures after which the witness bound is no longer used */
    WITNESS_GAIN = 16,       /* failures that one success outweighs */
    REFINE_ROUNDS_MAX = 8    /* two or three are usual */
};

#define FAR_PRUNE_FACTOR (1.0 - 0x1p-44)

typedef struct candidate {
    float lower;
    uint32_t place[2]; /* in `order` */
} candidate;

/* A pair that ties with the closest one so far. */
typedef struct tied_pair {
    double distance;
    uint32_t triangle[2];
} tied_pair;

typedef struct closest_search {
    const pair_frame *frame;
    const pair_disc *discs[2]; /* both or none */
    float margin;              /* error of distances in floats, without quantisation */
    float upper;               /* no pair further than this can be the closest */
    float upper_sq;            /* the same for boxes, with slack for rounding */
    bool any;                  /* the first pair within the limit is sufficient */
    bool is_finished;
    bool fast; /* uses discs, proofs and the witness bound; the plain search does not, so that its
                  ties do not depend on earlier queries */
    bool must_repeat;            /* it exceeded its effort: run the plain search */
    bool measured;               /* a pair of leaves, so that there is an upper bound */
    bool ignore_ties;            /* there are too many ties: only nearer pairs matter */
    uint64_t effort, effort_max; /* in pairs of leaves */
    uint32_t steps;              /* of the traversal */
    uint32_t count;
    candidate list[CANDIDATE_MAX];
    double limit, best;
    double tie;         /* of the frame, or 0 */
    uint32_t winner[2]; /* the closest pair */
    closest_pair closest;
    abut_feature features[2];
    tied_pair tied[TIED_MAX]; /* in ascending order, each nearer than those before */
    uint32_t tied_count;
    bool tied_overflowed;     /* the list of ties was full */
    bool best_is_known;       /* from the search before: find the lowest pair that ties with it */
    uint32_t ties, ties_next; /* measured pairs that tie with the best */
    uint32_t same_point_ties; /* those of them at the same points */
    uint64_t proof_steps;     /* of failed proofs */
    uint64_t effort_reported; /* the effort when slabs were requested last */
    bool has_witness;         /* the witness bound is initialised */
    int64_t witness_gain;     /* its benefit so far; it is not used if this is negative */
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

/* Pairs that are further apart than this cannot be the closest: errors of points and products are
 * smaller than position_error. */
static double prune_distance(const closest_search *s) {
    return tie_distance(s) * (1 + 0x1p-40) + 4 * s->frame->position_error;
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
    if (at && (s->best_is_known || s->tied[at - 1].distance <= pair.distance))
        return;
    uint32_t after = at;
    while (after < kept && (s->best_is_known || s->tied[after].distance >= pair.distance))
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
    if (s->fast && s->winner[0] != ABUT_NONE &&
        (pair_projections_exceed(&s->closest, &triangle_a, &triangle_b, prune_distance(s),
                                 s->frame->position_error) ||
         (s->has_witness && pair_normals_exceed(&triangle_a, &triangle_b, prune_distance(s))))) {
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
        s->ties++;
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
    lower_upper_bound(s,
                      s->ignore_ties ? best - 2 * s->margin : best * ROUNDING_FACTOR + s->margin);
}

/* Reports the effort since the last report to both BVHs. Gets their slabs, or null. */
static void report_effort(closest_search *s, const pair_slab *slabs[2]) {
    for (int k = 0; k < 2; k++)
        slabs[k] = abuti_pair_slabs(s->frame->side[k].bvh, s->effort - s->effort_reported);
    s->effort_reported = s->effort;
}

/* Ends the search if a proof shows that no pair is nearer than the best, among many ties. */
static void try_proof(closest_search *s, const pair_slab *const slabs[2], uint64_t steps_max) {
    closest_proof tie = {.frame = s->frame,
                         .slabs = {slabs[0], slabs[1]},
                         .closest = s->closest,
                         .upper_sq = s->upper_sq,
                         .steps_max = steps_max,
                         .lowest = {s->winner[0], s->winner[1]}};
    if (!slabs[0] || !slabs[1] || s->winner[0] == ABUT_NONE || s->limit < INFINITY)
        return;
    bool tied = abuti_pair_prove_closest(&tie);
    s->proof_steps += tie.steps;
    if (!tied)
        return;
    s->tied[0] = (tied_pair){s->best, {tie.lowest[0], tie.lowest[1]}};
    s->tied_count = 1;
    s->is_finished = true;
}

static void measure_candidates(closest_search *s) {
    for (uint32_t i = 0; i < s->count && !s->is_finished; i++)
        if (s->list[i].lower <= s->upper) {
            measure_triangle_pair(s, s->frame->side[0].bvh->order[s->list[i].place[0]],
                                  s->frame->side[1].bvh->order[s->list[i].place[1]]);
            lower_bound_to_best(s);
        }
    s->count = 0;
    if (s->ties >= s->ties_next && s->fast && !s->any && !s->is_finished) {
        const pair_slab *slabs[2];
        report_effort(s, slabs);
        s->ties_next *= PROOF_TIE_FACTOR;
        if (PROOF_EFFORT_FACTOR * s->effort > s->proof_steps)
            try_proof(s, slabs, PROOF_EFFORT_FACTOR * s->effort - s->proof_steps);
    }
}

/* Stops resolving ties, because the effort is exceeded. The result then depends on the order of the
 * traversal. That order must not depend on earlier queries, so a fast search is repeated as a plain
 * one. */
static void stop_resolving_ties(closest_search *s) {
    measure_candidates(s);
    if (s->fast) {
        if (!s->any && !s->is_finished) {
            const pair_slab *slabs[2] = {abuti_pair_slabs_now(s->frame->side[0].bvh),
                                         abuti_pair_slabs_now(s->frame->side[1].bvh)};
            try_proof(s, slabs, LAST_PROOF_FACTOR * s->effort_max);
        }
        s->must_repeat = !s->is_finished;
        s->is_finished = true;
        return;
    }
    s->ignore_ties = true;
    lower_bound_to_best(s);
}

static void add_candidate(closest_search *s, float lower, uint32_t a, uint32_t b) {
    if (s->count == CANDIDATE_MAX) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < s->count; i++)
            if (s->list[i].lower <= s->upper)
                s->list[kept++] = s->list[i];
        s->count = kept;
        if (kept > CANDIDATE_MAX / 2)
            measure_candidates(s);
    }
    s->list[s->count].lower = lower;
    s->list[s->count].place[0] = a;
    s->list[s->count++].place[1] = b;
}

/* ---- leaves ---- */

/* The largest quantisation step of a leaf: a bound of the error of its corners. */
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

/* The lanes in which triangles may be closer than `reach`, by their gap along the line between
 * their centres. */
static inline m4 may_be_closer(const wide3 a[3], const wide3 b[3], f4 reach) {
    f4 length, gap = triangles_gap(a, b, &length);
    return f4_less_equal(gap, f4_add(f4_mul(reach, length), f4_all(GAP_UNDERFLOW)));
}

/* The projections of the four triangles of a leaf on a direction n of its side. */
static inline void project_leaf(const pair_side *side, uint32_t place, const float n[3], f4 *lo,
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

/* Pushes the children that are within the upper bound, the nearest last. */
static uint32_t push_children(const closest_search *s, pending_pair *stack, uint32_t used,
                              pending_pair next, int open, const uint32_t child[2]) {
    const pair_side *side = &s->frame->side[open];
    const bvh_node *node = &side->bvh->nodes[child[open]];
    pair_box box = pair_box_at(&s->frame->side[!open], next.place[!open]);
    pair_view view = pair_view_of(side, &box, s->frame->pad);
    f4 offset[3], half[3],
        all = boxes_lower_bound_sq(side, &view, node, s->frame->pad, offset, half);
    unsigned candidates = m4_bits(f4_less_equal(all, f4_all(s->upper_sq)));
    if (!candidates)
        return used;
    if (s->discs[0] && next.place[!open] != PAIR_ROOT) {
        disc_view disc =
            disc_view_of(side, &s->frame->side[!open], s->discs[!open], next.place[!open]);
        const pair_disc *discs = &s->discs[open][child[open]];
        all = f4_max(discs_lower_bound_sq(side, &disc, discs, offset, s->frame->pad), all);
        candidates = m4_bits(f4_less_equal(all, f4_all(s->upper_sq)));
    }
    float lower_sq[4], size[4];
    f4_store(lower_sq, all);
    f4_store(size, f4_add(f4_add(half[0], half[1]), half[2])); /* as in pair_box */
    uint32_t first = used;
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

/* Converts a point of the world to the coordinates of the mesh of a side. */
static vec3 to_mesh_point(const pair_side *side, vec3 point) {
    return pair_to_side(side, v3_sub(point, side->motion.translation));
}

/* Refines the closest pair to a local minimum of the distance: alternately finds the closest point
 * of one surface to the witness point of the other. With the tighter bound a fifth to a third fewer
 * boxes are visited. */
static void refine_closest(closest_search *s) {
    measure_candidates(s);
    for (int round = 0; round < REFINE_ROUNDS_MAX && s->winner[0] != ABUT_NONE && !s->is_finished;
         round++) {
        int k = round % 2;
        double before = s->best;
        uint32_t pair[2] = {s->winner[0], s->winner[1]};
        vec3 from = k ? s->closest.point_a : s->closest.point_b;
        abut_nearest nearest;
        abuti_nearest_point(s->frame->side[k].bvh, to_mesh_point(&s->frame->side[k], from),
                            INFINITY, NULL, &nearest);
        if (nearest.triangle == pair[k])
            break;
        pair[k] = nearest.triangle;
        measure_triangle_pair(s, pair[0], pair[1]);
        if (!(s->best < before))
            break;
    }
    lower_bound_to_best(s);
}

/* Whether two boxes are further apart than the best pair by the witness bound. */
static bool is_beyond_witness(closest_search *s, const uint32_t place[2]) {
    if (!s->has_witness || s->witness_gain < 0 || place[0] == PAIR_ROOT || place[1] == PAIR_ROOT)
        return false;
    if (s->best < s->witness.length)
        abuti_witness_bound_update(&s->witness, &s->closest);
    s->effort++;
    bool beyond = abuti_witness_bound_excludes(&s->witness, place, prune_distance(s));
    s->witness_gain += beyond ? WITNESS_GAIN : -1;
    return beyond;
}

/* One step of the traversal: measures a pair of leaves, or pushes the children of the larger box
 * above `used`. */
static uint32_t visit_pair(closest_search *s, pending_pair *stack, uint32_t used,
                           pending_pair next) {
    const pair_side *side = s->frame->side;
    uint32_t child[2] = {pair_child(&side[0], next.place[0]), pair_child(&side[1], next.place[1])};
    bool leaf_a = child[0] & BVH_LEAF, leaf_b = child[1] & BVH_LEAF;
    if (is_beyond_witness(s, next.place))
        return used;
    if (leaf_a && leaf_b) {
        measure_leaves(s, next.place);
        if (!s->measured && s->fast)
            refine_closest(s);
        s->measured = true;
        s->effort++;
        if (s->effort > s->effort_max && !s->ignore_ties)
            stop_resolving_ties(s);
        return used;
    }
    int open = leaf_a || (!leaf_b && next.size[1] > next.size[0]);
    return push_children(s, stack, used, next, open, child);
}

/* Uses discs if both BVHs have them by now. `steps` is the number of steps since the last call. */
static void update_discs(closest_search *s, uint32_t steps) {
    const pair_disc *discs[2];
    for (int k = 0; k < 2; k++)
        discs[k] = abuti_pair_discs(s->frame->side[k].bvh, steps);
    if (discs[0] && discs[1])
        memcpy(s->discs, discs, sizeof discs);
}

/* Ends the search if it is cancelled; the caller returns the status. Also starts to use discs and
 * the witness bound when they pay off. */
static inline void check_for_cancellation(closest_search *s) {
    if (++s->steps % PAIR_STEPS_PER_STOP_CHECK)
        return;
    if (s->fast && !s->discs[0])
        update_discs(s, PAIR_STEPS_PER_STOP_CHECK);
    if (s->fast && s->discs[0] && !s->has_witness && s->best > 0 && s->winner[0] != ABUT_NONE) {
        abuti_witness_bound_start(&s->witness, s->frame, s->discs, &s->closest);
        s->has_witness = true;
        s->witness_gain = WITNESS_BUDGET;
    }
    if (abuti_stop(s->frame->side[0].bvh->context, "pairs"))
        s->is_finished = true;
}

/* Depth-first traversal, nearest child first. */
static void search_depth_first(closest_search *s, pending_pair from) {
    pending_pair stack[PAIR_STACK];
    uint32_t used = 0;
    stack[used++] = from;
    while (used && !s->is_finished) {
        pending_pair next = stack[--used];
        if (next.lower_sq <= s->upper_sq)
            used = visit_pair(s, stack, used, next);
        assert(used <= PAIR_STACK);
        check_for_cancellation(s);
    }
}

/* Visits the nearest pair of boxes first, until a pair of leaves has given an upper bound that is
 * probably close to the minimum; then depth-first, which needs no more memory. Best-first to the
 * end would save 2% of the steps and costs more than they do. */
static void search_best_first(closest_search *s) {
    pending_pair heap[HEAP_MAX], children[BVH_WIDTH];
    uint32_t count = 0;
    pending_pair root = {0, {0, 0}, {PAIR_ROOT, PAIR_ROOT}};
    for (int k = 0; k < 2; k++)
        root.size[k] = pair_box_at(&s->frame->side[k], PAIR_ROOT).size;
    heap_push(heap, &count, root);
    while (count && !s->is_finished) {
        pending_pair next = heap_pop(heap, &count);
        if (next.lower_sq > s->upper_sq)
            break;
        if (s->measured || count + BVH_WIDTH > HEAP_MAX) {
            search_depth_first(s, next);
            continue;
        }
        uint32_t child_count = visit_pair(s, children, 0, next);
        while (child_count)
            heap_push(heap, &count, children[--child_count]);
    }
    if (!s->is_finished)
        measure_candidates(s);
}

/* ---- far away ---- */

typedef struct pending_far {
    double lower;
    uint32_t place[2];
} pending_far;

/* The centre and half size, along the world axes, of the rotated box at a place. */
static void world_box(const pair_side *side, uint32_t place, vec3 *centre, vec3 *half) {
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
    const mat3 *rotation = &side->motion.rotation;
    *centre =
        abuti_motion_apply(&side->motion, v3_add(v3(c[0], c[1], c[2]), side->bvh->mesh->origin));
    double r[3];
    for (int i = 0; i < 3; i++)
        r[i] = fabs(rotation->row[i].x) * h[0] + fabs(rotation->row[i].y) * h[1] +
               fabs(rotation->row[i].z) * h[2];
    *half = v3(r[0], r[1], r[2]);
}

/* The distance of two boxes along the world axes. Writes the sizes of both. */
static double world_box_distance(const pair_frame *frame, const uint32_t place[2], double size[2]) {
    vec3 centre[2], half[2];
    for (int k = 0; k < 2; k++) {
        world_box(&frame->side[k], place[k], &centre[k], &half[k]);
        size[k] = half[k].x + half[k].y + half[k].z;
    }
    vec3 gap;
    gap.x = real_max(fabs(centre[0].x - centre[1].x) - half[0].x - half[1].x, 0);
    gap.y = real_max(fabs(centre[0].y - centre[1].y) - half[0].y - half[1].y, 0);
    gap.z = real_max(fabs(centre[0].z - centre[1].z) - half[0].z - half[1].z, 0);
    double largest = v3_max_abs(gap);
    return largest > 0 ? largest * v3_length(v3_scale(gap, 1 / largest)) : 0;
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
        double size[2];
        world_box_distance(s->frame, next.place, size);
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
            child_pair.lower = world_box_distance(s->frame, child_pair.place, size);
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
    s->frame = frame;
    s->any = any;
    s->is_finished = s->fast = s->must_repeat = s->measured = s->ignore_ties = false;
    s->discs[0] = s->discs[1] = NULL;
    s->effort = 0;
    s->steps = 0;
    s->effort_max = EFFORT_MAX + EFFORT_PER_LEAF * ((uint64_t)frame->side[0].bvh->leaf_count +
                                                    frame->side[1].bvh->leaf_count);
    s->count = 0;
    s->limit = frame->reach > PAIR_FAR_DISTANCE ? INFINITY : limit;
    s->best = INFINITY;
    s->tie = any ? 0 : frame->tie;
    s->tied_count = s->ties = s->same_point_ties = 0;
    s->proof_steps = 0;
    s->effort_reported = 0;
    s->ties_next = PROOF_TIE_COUNT;
    s->tied_overflowed = s->best_is_known = s->has_witness = false;
    s->winner[0] = s->winner[1] = ABUT_NONE;
    s->closest.point_a = v3(0, 0, 0);
    s->upper = INFINITY;
    float upper;
    s->margin = abuti_pair_bounds(frame, limit, &upper);
    lower_upper_bound(s, upper);
}

/* Prepares a second search, for the lowest pair that ties with the best. */
static void prepare_tie_search(closest_search *s) {
    s->best_is_known = true;
    s->tied_count = 0;
    s->effort = s->effort_reported = 0;
    add_tied_pair(s, (tied_pair){s->best, {s->winner[0], s->winner[1]}});
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

/* Searches, with a warm start from the cache if it has a pair. */
static void run_search(closest_search *s, bool fast, const abut_pair_cache *cache) {
    s->fast = fast;
    if (fast)
        update_discs(s, 0);
    else
        s->effort_max *= PLAIN_EFFORT_FACTOR;
    if (cache && cache->known && cache->triangle_a < s->frame->side[0].bvh->triangle_count &&
        cache->triangle_b < s->frame->side[1].bvh->triangle_count) {
        measure_triangle_pair(s, cache->triangle_a, cache->triangle_b);
        lower_bound_to_best(s);
    }
    search_best_first(s);
    if (fast && s->ties >= PROOF_TIE_COUNT && !s->any && !s->is_finished) {
        const pair_slab *slabs[2];
        report_effort(s, slabs);
    }
}

bool abuti_pair_closest(const pair_frame *frame, double limit, bool any, abut_pair_cache *cache,
                        abut_separation *separation) {
    closest_search s;
    init_search(&s, frame, limit, any);
    if (frame->reach > PAIR_FAR_DISTANCE)
        search_far(&s);
    else
        run_search(&s, true, cache);
    if (s.tied_overflowed && !s.is_finished && frame->reach <= PAIR_FAR_DISTANCE) {
        prepare_tie_search(&s);
        search_best_first(&s);
    }
    if (s.must_repeat) {
        init_search(&s, frame, limit, any);
        run_search(&s, false, cache);
        if (s.tied_overflowed && !s.is_finished && !s.ignore_ties) {
            prepare_tie_search(&s);
            search_best_first(&s);
        }
    }
    if (!finish_search(&s, limit, separation))
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
    closest_search s;
    init_search(&s, frame, limit, any);
    for (uint32_t i = 0; i < count && !s.is_finished; i++)
        measure_triangle_pair(&s, pairs[i][0], pairs[i][1]);
    if (s.tied_overflowed)
        prepare_tie_search(&s);
    for (uint32_t i = 0; i < count && s.best_is_known; i++)
        measure_triangle_pair(&s, pairs[i][0], pairs[i][1]);
    return finish_search(&s, limit, separation);
}
