/* The closest triangles of two posed meshes whose surfaces do not meet.
 *
 * Method: as for the nearest point (nearest.c), with two hierarchies at once. Depth first, into the
 * larger of two boxes, nearest child first, with an upper bound of the distance; a lower bound for
 * a pair of boxes is the larger of two distances: between their boxes along the axes of the one,
 * and of the other. Triangles in leaves are measured in floats, one against four, with a known
 * margin; those that could win within it become candidates, and the few that remain are measured by
 * the function of src/geom in doubles. So no pair is dropped that could win, and the answer is that
 * of a search through all.
 *
 * The distance in floats is the least of nine between edges, ends included, and six of a corner
 * over the inside of the other triangle. Each is a distance of two convex sets, so it changes by no
 * more than corners move: half a step of the block on each axis, less than a step in all, for each
 * triangle, and what the pad stands for. The rest of the margin is the rounding of these distances,
 * which the frame (u, w) of closest_shared.h keeps to a few roundings for every shape of triangle.
 *
 * Far away, beyond PAIR_FAR, boxes are compared in doubles, and pairs whose boxes are not closer
 * than the best so far by more than rounding are dropped: from there on many pairs are equally far.
 */
#include "bvh/pair.h"

#include "geom/distance_shared.h"

#include <math.h>

enum { CANDIDATE_MOST = 64 };

/* Products and sums of a few roundings. */
#define SLACK (1.0f + 0x1p-20f)
/* The error of distances in floats on top of the pad, which is as large as this again. */
#define MARGIN 0x1p-19f
/* Squares below this are no lengths. */
#define TINY 1e-30f
#define SLACK_FAR (1.0 - 0x1p-44)

typedef struct candidate {
    float lower;
    uint32_t place[2]; /* in `order` */
} candidate;

typedef struct pending {
    float lower_sq;
    uint32_t place[2];
} pending;

typedef struct near_search {
    const pair_frame *frame;
    float margin;   /* without steps */
    float upper;    /* no pair further than this can win */
    float upper_sq; /* of boxes, with some slack */
    bool any;       /* the first within the limit will do */
    bool over;
    uint32_t count;
    candidate list[CANDIDATE_MOST];
    double limit, best;
    uint32_t winner[2];
    closest_pair closest;
    abut_feature features[2];
} near_search;

/* ---- candidates ---- */

static void lower_bound_to(near_search *s, float upper) {
    if (!(upper < s->upper))
        return;
    s->upper = upper;
    s->upper_sq = upper * upper * SLACK + FLT_MIN;
}

/* Measures a pair in doubles. */
static void measure(near_search *s, uint32_t a, uint32_t b) {
    abut_feature features[2];
    closest_pair closest =
        triangle_triangle_apart_at(pair_triangle(&s->frame->side[0], a),
                                   pair_triangle(&s->frame->side[1], b), features);
    if (!(closest.distance <= s->limit) || closest.distance > s->best ||
        (closest.distance == s->best &&
         (a > s->winner[0] || (a == s->winner[0] && b >= s->winner[1]))))
        return;
    s->best = closest.distance;
    s->winner[0] = a;
    s->winner[1] = b;
    s->closest = closest;
    s->features[0] = features[0];
    s->features[1] = features[1];
    s->over = s->any;
}

/* What the best in doubles allows in floats. */
static void use_best(near_search *s) {
    lower_bound_to(s, bvh_float_above(s->best * s->frame->scale) * SLACK + s->margin);
}

static void measure_all(near_search *s) {
    for (uint32_t i = 0; i < s->count && !s->over; i++)
        if (s->list[i].lower <= s->upper) {
            measure(s, s->frame->side[0].bvh->order[s->list[i].place[0]],
                    s->frame->side[1].bvh->order[s->list[i].place[1]]);
            use_best(s);
        }
    s->count = 0;
}

static void add_candidate(near_search *s, float lower, uint32_t a, uint32_t b) {
    if (s->count == CANDIDATE_MOST) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < s->count; i++)
            if (s->list[i].lower <= s->upper)
                s->list[kept++] = s->list[i];
        s->count = kept;
        if (kept > CANDIDATE_MOST / 2)
            measure_all(s);
    }
    s->list[s->count].lower = lower;
    s->list[s->count].place[0] = a;
    s->list[s->count++].place[1] = b;
}

/* ---- leaves ---- */

static inline f4 clamp4(f4 t) {
    return f4_min(f4_max(t, f4_all(0)), f4_all(1));
}

/* A triangle in each lane, with what distances need again and again. */
typedef struct triangles4 {
    vec3x4 corner[3], edge[3]; /* edge k from corner k on */
    f4 per_edge_sq[3];
    vec3x4 w; /* the part of the last edge, turned round, that is orthogonal to the first */
    f4 k, per_ww;
    m4 flat; /* it has a face */
} triangles4;

static inline f4 inverse4(f4 square) {
    return f4_div(f4_all(1), f4_max(square, f4_all(TINY)));
}

static inline void triangles_prepare(triangles4 *t) {
    f4 zero = f4_all(0);
    for (int i = 0; i < 3; i++) {
        t->edge[i] = sub4(t->corner[i == 2 ? 0 : i + 1], t->corner[i]);
        t->per_edge_sq[i] = inverse4(dot4(t->edge[i], t->edge[i]));
    }
    vec3x4 v = sub4(t->corner[2], t->corner[0]);
    t->k = f4_mul(dot4(t->edge[0], v), t->per_edge_sq[0]);
    t->w = along4(v, f4_sub(zero, t->k), t->edge[0]);
    f4 ww = dot4(t->w, t->w);
    t->per_ww = inverse4(ww);
    t->flat = f4_less(f4_all(TINY), ww);
}

/* Squared distance of p to the face of t where its foot is inside, else `other`. */
static inline f4 over_face4(const triangles4 *t, vec3x4 p, f4 other) {
    f4 zero = f4_all(0), one = f4_all(1);
    vec3x4 from = sub4(p, t->corner[0]);
    f4 s = f4_mul(dot4(from, t->edge[0]), t->per_edge_sq[0]);
    vec3x4 beside = along4(from, f4_sub(zero, s), t->edge[0]);
    f4 r = f4_mul(dot4(beside, t->w), t->per_ww);
    f4 along = f4_sub(s, f4_mul(t->k, r));
    vec3x4 rest = along4(beside, f4_sub(zero, r), t->w);
    m4 inside = m4_and(m4_and(f4_less(zero, r), f4_less(zero, along)),
                       m4_and(f4_less(f4_add(r, along), one), t->flat));
    return f4_min(other, f4_select(inside, dot4(rest, rest), other));
}

/* Squared distance of edge i of a and edge j of b. First the perpendicular of both lines gives a
 * place on b's edge; then its foot on a's, and the foot of that on b's again. */
static inline f4 edges4(const triangles4 *a, int i, const triangles4 *b, int j) {
    vec3x4 u = a->edge[i], v = b->edge[j], gap = sub4(b->corner[j], a->corner[i]);
    f4 zero = f4_all(0);
    f4 k = f4_mul(dot4(u, v), a->per_edge_sq[i]), foot = f4_mul(dot4(gap, u), a->per_edge_sq[i]);
    vec3x4 w = along4(v, f4_sub(zero, k), u), beside = along4(gap, f4_sub(zero, foot), u);
    f4 t = clamp4(f4_sub(zero, f4_div(dot4(beside, w), f4_max(dot4(w, w), f4_all(TINY)))));
    f4 s = clamp4(f4_add(foot, f4_mul(k, t)));
    vec3x4 from = along4(gap, f4_sub(zero, s), u);
    t = clamp4(f4_sub(zero, f4_mul(dot4(from, v), b->per_edge_sq[j])));
    vec3x4 rest = along4(from, t, v);
    return f4_min(dot4(rest, rest), f4_all(FLT_MAX));
}

/* Squared distances of four pairs of triangles that do not meet. */
static inline f4 distances4(const triangles4 *a, const triangles4 *b) {
    f4 least = f4_all(FLT_MAX);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            least = f4_min(least, edges4(a, i, b, j));
    for (int i = 0; i < 3; i++) {
        least = over_face4(a, b->corner[i], least);
        least = over_face4(b, a->corner[i], least);
    }
    return least;
}

/* The boxes of four triangles. */
typedef struct boxes4 {
    f4 lo[3], hi[3];
} boxes4;

static inline boxes4 boxes_of(const vec3x4 corner[3]) {
    boxes4 box;
    box.lo[0] = f4_min(f4_min(corner[0].x, corner[1].x), corner[2].x);
    box.lo[1] = f4_min(f4_min(corner[0].y, corner[1].y), corner[2].y);
    box.lo[2] = f4_min(f4_min(corner[0].z, corner[1].z), corner[2].z);
    box.hi[0] = f4_max(f4_max(corner[0].x, corner[1].x), corner[2].x);
    box.hi[1] = f4_max(f4_max(corner[0].y, corner[1].y), corner[2].y);
    box.hi[2] = f4_max(f4_max(corner[0].z, corner[1].z), corner[2].z);
    return box;
}

static inline f4 boxes_distance_sq(const boxes4 *a, const boxes4 *b) {
    f4 sum = f4_all(0);
    for (int axis = 0; axis < 3; axis++) {
        f4 gap = f4_max(f4_sub(a->lo[axis], b->hi[axis]), f4_sub(b->lo[axis], a->hi[axis]));
        gap = f4_max(gap, f4_all(0));
        sum = f4_add(sum, f4_mul(gap, gap));
    }
    return sum;
}

/* One triangle of four, in all lanes. */
static inline void spread4(const vec3x4 from[3], uint32_t lane, vec3x4 to[3]) {
    float x[4], y[4], z[4];
    for (int k = 0; k < 3; k++) {
        f4_store(x, from[k].x);
        f4_store(y, from[k].y);
        f4_store(z, from[k].z);
        to[k] = all4(x[lane], y[lane], z[lane]);
    }
}

static void measure_leaves(near_search *s, const uint32_t place[2]) {
    const pair_side *side = s->frame->side;
    vec3x4 a[3];
    triangles4 one, four;
    float margin = s->margin + pair_corners(&side[0], place[0], a) +
                   pair_corners(&side[1], place[1], four.corner);
    for (int k = 0; k < 3; k++)
        four.corner[k] = pair_turn4(&side[0], four.corner[k]);
    uint32_t leaf_a = pair_child(&side[0], place[0]) & ~BVH_LEAF;
    uint32_t leaf_b = pair_child(&side[1], place[1]) & ~BVH_LEAF;
    uint32_t fill_a = bvh_leaf_fill(side[0].bvh, leaf_a);
    uint32_t fill_b = bvh_leaf_fill(side[1].bvh, leaf_b);
    boxes4 boxes = boxes_of(four.corner);
    bool prepared = false;
    for (uint32_t i = 0; i < fill_a; i++) {
        float reach = s->upper + margin;
        f4 reach_sq = f4_all(reach * reach * SLACK);
        spread4(a, i, one.corner);
        boxes4 box = boxes_of(one.corner);
        if (!m4_bits(f4_less_equal(boxes_distance_sq(&box, &boxes), reach_sq)))
            continue;
        if (!prepared)
            triangles_prepare(&four);
        prepared = true;
        triangles_prepare(&one);
        f4 distance_sq = distances4(&one, &four);
        unsigned near = m4_bits(f4_less_equal(distance_sq, reach_sq));
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

/* Squared lower bounds of the distances of a view to the children of a node. */
static inline f4 boxes_lower_sq(const pair_side *side, const pair_view *view,
                                const bvh_node *node) {
    pair_gaps gaps;
    f4 offset[3], half[3], zero = f4_all(0), own = zero, other = zero;
    pair_gaps_own(side, view, node, &gaps, offset, half);
    pair_gaps_other(side, view, &gaps, offset, half);
    for (int i = 0; i < 3; i++) {
        f4 g = f4_max(gaps.own[i], zero), h = f4_max(gaps.other[i], zero);
        own = f4_add(own, f4_mul(g, g));
        other = f4_add(other, f4_mul(h, h));
    }
    return f4_max(own, other);
}

/* Puts the children that are near enough on the stack, the nearest last. */
static uint32_t push_children(const near_search *s, pending *stack, uint32_t used, pending next,
                              int open, const uint32_t child[2]) {
    const pair_side *side = &s->frame->side[open];
    const bvh_node *node = &side->bvh->nodes[child[open]];
    pair_box box = pair_box_at(&s->frame->side[!open], next.place[!open]);
    pair_view view = pair_view_of(side, &box, s->frame->pad);
    f4 all = boxes_lower_sq(side, &view, node);
    unsigned near = m4_bits(f4_less_equal(all, f4_all(s->upper_sq)));
    float lower_sq[4];
    f4_store(lower_sq, all);
    uint32_t first = used;
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
        if (!(near >> slot & 1) || node->child[slot] == ABUT_NONE)
            continue;
        uint32_t i = used++;
        for (; i > first && stack[i - 1].lower_sq < lower_sq[slot]; i--)
            stack[i] = stack[i - 1];
        stack[i] = next;
        stack[i].lower_sq = lower_sq[slot];
        stack[i].place[open] = child[open] * BVH_WIDTH + slot;
    }
    return used;
}

static void search_near(near_search *s) {
    const pair_side *side = s->frame->side;
    pending stack[PAIR_STACK];
    uint32_t used = 0;
    stack[used++] = (pending){0, {PAIR_ROOT, PAIR_ROOT}};
    while (used && !s->over) {
        pending next = stack[--used];
        if (next.lower_sq > s->upper_sq)
            continue;
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        bool leaf_a = child[0] & BVH_LEAF, leaf_b = child[1] & BVH_LEAF;
        if (leaf_a && leaf_b) {
            measure_leaves(s, next.place);
            continue;
        }
        int open = leaf_a || (!leaf_b && pair_box_at(&side[1], next.place[1]).size >
                                             pair_box_at(&side[0], next.place[0]).size);
        used = push_children(s, stack, used, next, open, child);
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
        if (next.lower >= s->best * SLACK_FAR)
            continue;
        double size[2];
        far_distance(s->frame, next.place, size);
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        bool leaf_a = child[0] & BVH_LEAF, leaf_b = child[1] & BVH_LEAF;
        for (uint32_t i = 0; leaf_a && leaf_b && i < BVH_WIDTH * BVH_WIDTH; i++)
            measure(s, side[0].bvh->order[(child[0] & ~BVH_LEAF) * BVH_WIDTH + i / BVH_WIDTH],
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

bool abuti_pair_closest(const pair_frame *frame, double limit, bool any, abut_pair_cache *cache,
                        abut_separation *separation) {
    near_search s;
    s.frame = frame;
    s.any = any;
    s.over = false;
    s.count = 0;
    bool far = frame->reach > PAIR_FAR;
    s.limit = far ? INFINITY : limit;
    s.best = INFINITY;
    s.winner[0] = s.winner[1] = ABUT_NONE;
    s.margin = 2 * frame->pad + MARGIN * ((float)real_min(frame->reach, PAIR_FAR) + 8);
    s.upper = INFINITY;
    lower_bound_to(&s, (float)real_min(limit * frame->scale, 8 * PAIR_FAR) * SLACK + s.margin);
    if (cache && cache->known && !far && cache->triangle_a < frame->side[0].bvh->triangle_count &&
        cache->triangle_b < frame->side[1].bvh->triangle_count) {
        measure(&s, cache->triangle_a, cache->triangle_b);
        use_best(&s);
    }
    if (far)
        search_far(&s);
    else
        search_near(&s);
    if (s.winner[0] == ABUT_NONE || s.best > limit)
        return false;
    separation->distance = s.best;
    separation->point_a = s.closest.point_a;
    separation->point_b = s.closest.point_b;
    separation->triangle_a = s.winner[0];
    separation->triangle_b = s.winner[1];
    separation->feature_a = s.features[0];
    separation->feature_b = s.features[1];
    if (cache) {
        cache->known = 1;
        cache->triangle_a = s.winner[0];
        cache->triangle_b = s.winner[1];
    }
    return true;
}
