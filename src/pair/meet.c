/* Triangles of two posed meshes that intersect: one pair, or all.
 *
 * Method: both hierarchies at once, depth first, at each step into the larger of two boxes: its
 * four children are tried against the other box on the face axes of both (Gottschalk and others
 * 1996, "OBBTree: a hierarchical structure for rapid interference detection"), in floats with a
 * pad. Pairs of leaves, four triangles by four, then drop those where the plane of one has the
 * other on one side beyond doubt, corners taken from the blocks. What remains is asked of the exact
 * predicate in doubles.
 *
 * The doubt of a plane: let d bound by how much each coordinate of a corner is wrong, e1, e2 the
 * edges of the triangle, n = e1 x e2 and w a corner of the other from one of its own. Edges and w
 * are off by 2d on each axis, n by 4d (|e1| + |e2|) + 8d^2 (largest coordinates), and n . w by
 *   2d |n|_1 + (4d (|e1| + |e2|) + 8d^2) (|w|_1 + 6d).
 * The rounding of these products is far below, since d is at least 2^8 roundings of a float.
 */
#include "pair/leaf.h"

#include "geom/meet_shared.h"

#include <math.h>

/* A step down both hierarchies takes a pair and puts at most sixteen back; two steps down one of
 * them leave fewer. */
#define MEET_STACK (15 * BVH_DEPTH + 16)
/* Boxes this many times as large are opened alone. */
#define UNLIKE 3.0f

typedef struct pending {
    float depth;   /* the largest gap between two boxes, none above 0 */
    float size[2]; /* of both */
    uint32_t place[2];
} pending;

/* The four triangles of a leaf along the axes of a: corners, boxes, planes. */
typedef struct meet_leaf {
    uint32_t leaf, fill;
    float step;
    float corner[3][3][4], normal[3][4];
    float lo[3][4], hi[3][4];
    float least[3], most[3];         /* of these */
    float normal_doubt[4], slope[4]; /* as plane_of() has them of corners without doubt */
} meet_leaf;

enum { MEET_LEAVES = 16 }; /* of each side that are kept */

typedef struct meet_search {
    const pair_frame *frame;
    meet_leaf (*leaves)[MEET_LEAVES]; /* of each side, in the place of their lowest bits */
    bool directed;                    /* the frame says which way a is likely beyond b */
    bool all;                         /* or only the first */
    bool sorted;                      /* the deepest pairs first */
    uint64_t capacity, count;
    abut_pair_meeting *meetings;
    uint32_t triangle[2]; /* the first */
    pair_visit *visit;    /* told of pairs that may meet, instead of asking exactly; or null */
    void *data;
} meet_search;

/* ---- leaves ---- */

/* The lanes where a plane, by a normal and a point, may meet triangle q. */
static inline m4 plane_meets(wide3 n, wide3 from, const wide3 q[3], f4 bound) {
    f4 lo = dot3(n, sub3(q[0], from)), hi = lo;
    for (int k = 1; k < 3; k++) {
        f4 side = dot3(n, sub3(q[k], from));
        lo = f4_min(lo, side);
        hi = f4_max(hi, side);
    }
    return m4_and(f4_less_equal(lo, bound), f4_less_equal(f4_sub(f4_all(0), bound), hi));
}

/* Vectors of four triangles as they stand in memory, and of one of them in all lanes. */
static inline void store3(float to[3][4], wide3 v) {
    f4_store(to[0], v.x);
    f4_store(to[1], v.y);
    f4_store(to[2], v.z);
}
static inline wide3 load3(const float from[3][4]) {
    return make3(f4_load(from[0]), f4_load(from[1]), f4_load(from[2]));
}
static inline wide3 spread3(const float from[3][4], uint32_t i) {
    return all3(from[0][i], from[1][i], from[2][i]);
}

/* The leaf at a place, of those that were met lately or made anew. */
static inline const meet_leaf *leaf_at(meet_search *s, int k, uint32_t place) {
    const pair_side *side = s->frame->side;
    uint32_t number = pair_child(&side[k], place) & ~BVH_LEAF;
    meet_leaf *leaf = &s->leaves[k][number % MEET_LEAVES];
    if (leaf->leaf == number)
        return leaf;
    leaf->leaf = number;
    leaf->fill = bvh_leaf_fill(side[k].bvh, number);
    wide3 corner[3];
    leaf->step = pair_corners(&side[k], place, corner);
    for (int i = 0; i < 3; i++) {
        corner[i] = k ? pair_turn4(&side[0], corner[i]) : corner[i];
        store3(leaf->corner[i], corner[i]);
    }
    wide3 lo = least3(least3(corner[0], corner[1]), corner[2]);
    wide3 hi = most3(most3(corner[0], corner[1]), corner[2]);
    store3(leaf->lo, lo);
    store3(leaf->hi, hi);
    for (int axis = 0; axis < 3; axis++) {
        leaf->least[axis] = f4_least(f4_load(leaf->lo[axis]));
        leaf->most[axis] = -f4_least(f4_sub(f4_all(0), f4_load(leaf->hi[axis])));
    }
    wide_plane plane = plane_of(sub3(corner[1], corner[0]), sub3(corner[2], corner[0]), f4_all(0));
    store3(leaf->normal, plane.n);
    f4_store(leaf->normal_doubt, plane.n_doubt);
    f4_store(leaf->slope, plane.slope);
    return leaf;
}

/* The longest way from a point of two leaves to another, as a sum of magnitudes. */
static inline float reach_of(const meet_leaf *a, const meet_leaf *b) {
    float sum = 0;
    for (int axis = 0; axis < 3; axis++)
        sum += (a->most[axis] > b->most[axis] ? a->most[axis] : b->most[axis]) -
               (a->least[axis] < b->least[axis] ? a->least[axis] : b->least[axis]);
    return sum;
}

/* For each of four triangles a which of four b have boxes that may meet its own. */
static inline unsigned boxes_cross(const meet_leaf *a, const meet_leaf *b, f4 doubt,
                                   unsigned near[4]) {
    f4 lo[3], hi[3];
    unsigned any = 0;
    for (int axis = 0; axis < 3; axis++) {
        lo[axis] = f4_sub(f4_load(b->lo[axis]), doubt);
        hi[axis] = f4_add(f4_load(b->hi[axis]), doubt);
    }
    for (int i = 0; i < 4; i++) {
        m4 met = m4_and(f4_less_equal(lo[0], f4_all(a->hi[0][i])),
                        f4_less_equal(f4_all(a->lo[0][i]), hi[0]));
        for (int axis = 1; axis < 3; axis++)
            met = m4_and(met, m4_and(f4_less_equal(lo[axis], f4_all(a->hi[axis][i])),
                                     f4_less_equal(f4_all(a->lo[axis][i]), hi[axis])));
        near[i] = m4_bits(met);
        any |= near[i];
    }
    return any;
}

/* Whether one triangle is beyond the other along a direction; in doubt not. A sum of three products
 * is off by less than three roundings of the largest coordinate and of what the direction has. */
static bool is_beyond(vec3 way, const abut_triangle *a, const abut_triangle *b) {
    double low = v3_dot(way, a->corner[0]), high = v3_dot(way, b->corner[0]);
    double size = v3_max_abs(a->corner[0]) + v3_max_abs(b->corner[0]);
    for (int k = 1; k < 3; k++) {
        low = real_min(low, v3_dot(way, a->corner[k]));
        high = real_max(high, v3_dot(way, b->corner[k]));
        size = real_max(size, v3_max_abs(a->corner[k]) + v3_max_abs(b->corner[k]));
    }
    return low - high > 0x1p-49 * size * (fabs(way.x) + fabs(way.y) + fabs(way.z));
}

/* Asks exactly; true where the search is over. */
static bool meet_triangles(meet_search *s, uint32_t a, const abut_triangle *at_a, uint32_t b) {
    abut_triangle at_b = pair_triangle(&s->frame->side[1], b);
    abut_segment segment;
    if (is_beyond(s->frame->way, at_a, &at_b))
        return false;
    abut_meeting meeting =
        triangle_triangle_meet(*at_a, at_b, s->count < s->capacity ? &segment : NULL);
    if (meeting == ABUT_MEETING_NONE)
        return false;
    if (!s->count) {
        s->triangle[0] = a;
        s->triangle[1] = b;
    }
    if (s->count < s->capacity) {
        abut_pair_meeting *found = &s->meetings[s->count];
        found->triangle_a = a;
        found->triangle_b = b;
        found->meeting = meeting;
        found->segment = segment;
    }
    s->count++;
    return !s->all;
}

/* Drops pairs of triangles of which the first is beyond the second along the way. A corner is off
 * by the doubt on each axis, which counts for less than twice as much along a unit vector. */
static inline unsigned drop_beyond(const pair_frame *frame, const meet_leaf *of_a,
                                   const meet_leaf *of_b, f4 doubt, unsigned likely[4]) {
    const float *w = frame->side_way[0];
    wide3 way = all3(w[0], w[1], w[2]), a[3], b[3];
    for (int k = 0; k < 3; k++) {
        a[k] = load3(of_a->corner[k]);
        b[k] = load3(of_b->corner[k]);
    }
    float low[4];
    f4_store(low, f4_sub(lowest3(way, a), f4_mul(f4_all(4), doubt)));
    f4 high = highest3(way, b);
    unsigned any = 0;
    for (int i = 0; i < 4; i++) {
        likely[i] &= m4_bits(f4_less_equal(f4_all(low[i]), high));
        any |= likely[i];
    }
    return any;
}

/* By how much the sides of planes may be wrong where corners are off by `doubt`. */
static inline f4 side_bound(const meet_leaf *leaf, f4 doubt, f4 reach) {
    wide_plane plane = {.n_doubt = f4_load(leaf->normal_doubt), .doubt = doubt};
    plane.slope = f4_add(f4_load(leaf->slope), f4_mul(f4_all(8), doubt));
    return plane_bound(&plane, reach);
}

/* Drops pairs of which one is on one side of the other's plane. */
static inline unsigned drop_sides(const meet_leaf *a, const meet_leaf *b, f4 doubt,
                                  unsigned likely[4]) {
    f4 reach = f4_all(reach_of(a, b) * SLACK), bound_b = side_bound(b, doubt, reach);
    float bound_a[4];
    f4_store(bound_a, side_bound(a, doubt, reach));
    wide3 normal = load3(b->normal), corner[3];
    for (int k = 0; k < 3; k++)
        corner[k] = load3(b->corner[k]);
    unsigned any = 0;
    for (uint32_t i = 0; i < BVH_WIDTH; i++) {
        likely[i] = i < a->fill ? likely[i] & ((1u << b->fill) - 1) : 0;
        if (!likely[i])
            continue;
        wide3 one[3];
        for (int k = 0; k < 3; k++)
            one[k] = spread3(a->corner[k], i);
        likely[i] &=
            m4_bits(m4_and(plane_meets(spread3(a->normal, i), one[0], corner, f4_all(bound_a[i])),
                           plane_meets(normal, corner[0], one, bound_b)));
        any |= likely[i];
    }
    return any;
}

static bool meet_leaves(meet_search *s, const uint32_t place[2]) {
    const pair_side *side = s->frame->side;
    const meet_leaf *a = leaf_at(s, 0, place[0]), *b = leaf_at(s, 1, place[1]);
    f4 doubt = f4_all(s->frame->pad + a->step + b->step);
    unsigned likely[4];
    if (!boxes_cross(a, b, f4_add(doubt, doubt), likely) ||
        (s->directed && !drop_beyond(s->frame, a, b, doubt, likely)) ||
        !drop_sides(a, b, doubt, likely))
        return false;
    if (s->visit)
        return s->visit(s->data, a->leaf, b->leaf, likely);
    for (uint32_t i = 0; i < BVH_WIDTH; i++) {
        if (!likely[i])
            continue;
        uint32_t t = side[0].bvh->order[a->leaf * BVH_WIDTH + i];
        abut_triangle at = pair_triangle(&side[0], t);
        for (uint32_t j = 0; j < BVH_WIDTH; j++)
            if (likely[i] >> j & 1 &&
                meet_triangles(s, t, &at, side[1].bvh->order[b->leaf * BVH_WIDTH + j]))
                return true;
    }
    return false;
}

/* ---- nodes ---- */

/* Of four boxes those that are not beyond a box of the other side along the way. Errors of places
 * and sizes are below the pad on each axis, and count for less than twice as much along a unit
 * vector. */
static inline m4 not_beyond(const pair_frame *frame, int open, const pair_view *view,
                            const f4 offset[3], const f4 half[3]) {
    const float *own = frame->side_way[open], *other = frame->side_way[!open];
    f4 along = f4_all(0), radius = f4_all(4 * frame->pad);
    for (int i = 0; i < 3; i++) {
        along = f4_add(along, f4_mul(offset[i], f4_all(open ? -own[i] : own[i])));
        radius = f4_add(radius, f4_mul(half[i], f4_abs(f4_all(own[i]))));
        radius = f4_add(radius, f4_abs(f4_all(view->half[i] * other[i])));
    }
    return f4_less_equal(along, radius);
}

/* Which children of a node may meet a box of the other side. */
static inline unsigned boxes_meet(const meet_search *s, int open, const pair_view *view,
                                  const bvh_node *node, float depth[4], float size[4]) {
    const pair_side *side = &s->frame->side[open];
    pair_gaps gaps;
    f4 offset[3], half[3], zero = f4_all(0);
    pair_gaps_own(side, view, node, &gaps, offset, half);
    m4 met = m4_and(m4_and(f4_less_equal(gaps.own[0], zero), f4_less_equal(gaps.own[1], zero)),
                    f4_less_equal(gaps.own[2], zero));
    if (s->directed)
        met = m4_and(met, not_beyond(s->frame, open, view, offset, half));
    if (!m4_bits(met))
        return 0;
    pair_gaps_other(side, view, &gaps, offset, half);
    met = m4_and(met, m4_and(m4_and(f4_less_equal(gaps.other[0], zero),
                                    f4_less_equal(gaps.other[1], zero)),
                             f4_less_equal(gaps.other[2], zero)));
    f4 gap = f4_max(f4_max(f4_max(gaps.own[0], gaps.own[1]), f4_max(gaps.own[2], gaps.other[0])),
                    f4_max(gaps.other[1], gaps.other[2]));
    f4_store(depth, gap);
    f4_store(size, f4_add(f4_add(half[0], half[1]), half[2]));
    return m4_bits(met);
}

/* The four boxes of a node: along its own axes, as the other side sees them, and along the way. */
typedef struct node_boxes {
    f4 centre[3], half[3], size;
    f4 seen[3], radius[3];
    f4 along, reach;
} node_boxes;

static inline void boxes_of_node(const pair_frame *frame, int k, uint32_t number, bool directed,
                                 node_boxes *boxes) {
    const pair_side *side = &frame->side[k], *other = &frame->side[!k];
    const bvh_node *node = &side->bvh->nodes[number];
    f4 half_unit = f4_all(0.5f * side->unit);
    for (int i = 0; i < 3; i++) {
        f4 lo = f4_load(node->lo[i]), hi = f4_load(node->hi[i]);
        boxes->centre[i] = f4_mul(f4_add(lo, hi), half_unit);
        boxes->half[i] = f4_mul(f4_sub(hi, lo), half_unit);
    }
    boxes->size = f4_add(f4_add(boxes->half[0], boxes->half[1]), boxes->half[2]);
    for (int i = 0; i < 3; i++) {
        boxes->seen[i] = f4_all(other->shift[i]);
        boxes->radius[i] = f4_all(frame->pad);
        for (int j = 0; j < 3; j++) {
            boxes->seen[i] =
                f4_add(boxes->seen[i], f4_mul(boxes->centre[j], f4_all(other->turn[j][i])));
            boxes->radius[i] =
                f4_add(boxes->radius[i], f4_mul(boxes->half[j], f4_all(other->turn_abs[j][i])));
        }
    }
    if (!directed)
        return;
    const float *way = frame->side_way[0];
    const f4 *centre = k ? boxes->seen : boxes->centre;
    boxes->along = f4_all(0);
    boxes->reach = f4_all(2 * frame->pad);
    for (int i = 0; i < 3; i++) {
        boxes->along = f4_add(boxes->along, f4_mul(centre[i], f4_all(way[i])));
        boxes->reach =
            f4_add(boxes->reach, f4_mul(boxes->half[i], f4_abs(f4_all(frame->side_way[k][i]))));
    }
}

/* The same numbers one by one. */
typedef struct node_lanes {
    float centre[3][4], half[3][4], seen[3][4], radius[3][4], along[4], reach[4], size[4];
} node_lanes;

static inline void lanes_of_boxes(const node_boxes *boxes, bool directed, node_lanes *lanes) {
    for (int i = 0; i < 3; i++) {
        f4_store(lanes->centre[i], boxes->centre[i]);
        f4_store(lanes->half[i], boxes->half[i]);
        f4_store(lanes->seen[i], boxes->seen[i]);
        f4_store(lanes->radius[i], boxes->radius[i]);
    }
    f4_store(lanes->size, boxes->size);
    if (directed) {
        f4_store(lanes->along, boxes->along);
        f4_store(lanes->reach, boxes->reach);
    }
}

/* Both nodes at once: which of four boxes of a may meet box k of b. */
static inline unsigned boxes_meet_one(const node_boxes *a, const node_lanes *b, int k, f4 pad,
                                      bool directed, float depth[4]) {
    f4 gap = f4_all(-INFINITY);
    for (int i = 0; i < 3; i++) {
        f4 own = f4_abs(f4_sub(a->centre[i], f4_all(b->seen[i][k])));
        f4 other = f4_abs(f4_sub(a->seen[i], f4_all(b->centre[i][k])));
        own = f4_sub(own, f4_add(a->half[i], f4_all(b->radius[i][k])));
        other = f4_sub(other, f4_add(f4_add(a->radius[i], f4_all(b->half[i][k])), pad));
        gap = f4_max(gap, f4_max(own, other));
    }
    m4 met = f4_less_equal(gap, f4_all(0));
    if (directed)
        met = m4_and(met, f4_less_equal(f4_sub(a->along, f4_all(b->along[k])),
                                        f4_add(a->reach, f4_all(b->reach[k]))));
    f4_store(depth, gap);
    return m4_bits(met);
}

/* Adds a pair above `first`, the deepest last. */
static inline void push(const meet_search *s, pending *stack, uint32_t first, uint32_t *used,
                        pending next) {
    uint32_t i = (*used)++;
    for (; s->sorted && i > first && stack[i - 1].depth < next.depth; i--)
        stack[i] = stack[i - 1];
    stack[i] = next;
}

static uint32_t open_both(const meet_search *s, pending *stack, uint32_t used,
                          const uint32_t node[2]) {
    node_boxes a, b;
    node_lanes of_b;
    float size[4];
    boxes_of_node(s->frame, 0, node[0], s->directed, &a);
    boxes_of_node(s->frame, 1, node[1], s->directed, &b);
    lanes_of_boxes(&b, s->directed, &of_b);
    f4_store(size, a.size);
    uint32_t first = used;
    for (uint32_t k = 0; k < BVH_WIDTH; k++) {
        float depth[4];
        unsigned met = boxes_meet_one(&a, &of_b, (int)k, f4_all(0), s->directed, depth);
        for (uint32_t i = 0; i < BVH_WIDTH; i++)
            if (met >> i & 1)
                push(s, stack, first, &used,
                     (pending){depth[i],
                               {size[i], of_b.size[k]},
                               {node[0] * BVH_WIDTH + i, node[1] * BVH_WIDTH + k}});
    }
    return used;
}

static uint32_t open_one(const meet_search *s, pending *stack, uint32_t used, const pending *next,
                         int open, uint32_t node) {
    const pair_side *side = s->frame->side;
    pair_box box = pair_box_at(&side[!open], next->place[!open]);
    pair_view view = pair_view_of(&side[open], &box, s->frame->pad);
    float depth[4], size[4];
    unsigned met = boxes_meet(s, open, &view, &side[open].bvh->nodes[node], depth, size);
    uint32_t first = used;
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
        if (!(met >> slot & 1))
            continue;
        pending child = *next;
        child.depth = depth[slot];
        child.size[open] = size[slot];
        child.place[open] = node * BVH_WIDTH + slot;
        push(s, stack, first, &used, child);
    }
    return used;
}

static void meet_run(meet_search *s) {
    const pair_side *side = s->frame->side;
    pending stack[MEET_STACK];
    meet_leaf leaves[2][MEET_LEAVES];
    uint32_t used = 0, steps = 0;
    s->leaves = leaves;
    for (uint32_t i = 0; i < 2 * MEET_LEAVES; i++)
        leaves[i / MEET_LEAVES][i % MEET_LEAVES].leaf = ABUT_NONE;
    s->directed = v3_length_sq(s->frame->way) > 0;
    s->sorted = !s->visit && !s->all;
    pending root = {0, {0, 0}, {PAIR_ROOT, PAIR_ROOT}};
    for (int k = 0; k < 2; k++)
        root.size[k] = pair_box_at(&side[k], PAIR_ROOT).size;
    stack[used++] = root;
    while (used) {
        if (++steps % PAIR_STEPS == 0 && abuti_stop(side[0].bvh->context, "pairs"))
            return;
        pending next = stack[--used];
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        bool leaf[2] = {child[0] & BVH_LEAF, child[1] & BVH_LEAF};
        if (leaf[0] && leaf[1]) {
            if (meet_leaves(s, next.place))
                return;
            continue;
        }
        int open = leaf[0] || (!leaf[1] && next.size[1] > next.size[0]);
        if (leaf[!open] || next.size[open] > UNLIKE * next.size[!open])
            used = open_one(s, stack, used, &next, open, child[open]);
        else
            used = open_both(s, stack, used, child);
    }
}

bool abuti_pair_meets(const pair_frame *frame, uint32_t triangle[2]) {
    meet_search s = {.frame = frame};
    if (frame->reach > PAIR_FAR)
        return false;
    meet_run(&s);
    triangle[0] = s.triangle[0];
    triangle[1] = s.triangle[1];
    return s.count > 0;
}

uint64_t abuti_pair_list(const pair_frame *frame, uint64_t capacity, abut_pair_meeting *meetings) {
    meet_search s = {.frame = frame, .all = true, .capacity = capacity, .meetings = meetings};
    if (frame->reach > PAIR_FAR)
        return 0;
    meet_run(&s);
    return s.count;
}

void abuti_pair_candidates(const pair_frame *frame, pair_visit *visit, void *data) {
    meet_search s = {.frame = frame, .visit = visit, .data = data};
    if (frame->reach <= PAIR_FAR)
        meet_run(&s);
}
