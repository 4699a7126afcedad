/* Traversal of two hierarchies for triangles that may intersect, compiled for 4, 8 and 16 lanes.
 *
 * Method: both hierarchies at once, depth first. Where two boxes are of like size, the children of
 * both are tried, four against four, else those of the larger one: on the face axes of both sides
 * (Gottschalk and others 1996, "OBBTree: a hierarchical structure for rapid interference
 * detection"), in floats with a pad. Pairs of leaves, four triangles by four, then drop those where
 * boxes are apart or the plane of one has the other on one side beyond doubt, corners taken from
 * the blocks. What remains is asked exactly (intersect.c), or told to the caller.
 *
 * The doubt of a plane: let d bound by how much each coordinate of a corner is wrong, e1, e2 the
 * edges of the triangle, n = e1 x e2 and w a corner of the other from one of its own. Edges and w
 * are off by 2d on each axis, n by 4d (|e1| + |e2|) + 8d^2 (largest coordinates), and n . w by
 *   2d |n|_1 + (4d (|e1| + |e2|) + 8d^2) (|w|_1 + 6d).
 * The rounding of these products is far below, since d is at least 2^8 roundings of a float;
 * whether products are rounded before they are added does not matter.
 *
 * Lanes: group i of four lanes is child or triangle i of a, lane j of a group that of b. With fewer
 * than sixteen lanes groups follow each other. */
#include "pair/intersect.h"
#include "pair/leaf.h"

#define BY_LANES_(name, lanes) name##_##lanes
#define BY_LANES__(name, lanes) BY_LANES_(name, lanes)
#define BY_LANES(name) BY_LANES__(name, LANES)

/* A step down both hierarchies takes a pair and puts at most sixteen back; two steps down one of
 * them leave fewer. */
#define MEET_STACK (15 * BVH_DEPTH + 16)
/* Boxes this many times as large are opened alone. */
#define UNLIKE 3.0f

enum { MEET_LEAVES = 32 }; /* of each side that are kept */

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

typedef struct meet_walk {
    meet_search *s;
    const pair_frame *frame;
    bool directed, sorted; /* the deepest pairs first */
    uint32_t used;
    pending stack[MEET_STACK];
    uint32_t kept[2][MEET_LEAVES]; /* leaves of each side, in the place of their lowest bits */
    meet_leaf leaves[2][MEET_LEAVES];
} meet_walk;

/* Numbers of a, one a group from the first on; numbers of b, repeated in all groups. */
static inline fw of_a(const float number[4], uint32_t first) {
    return fw_groups(number + first);
}
static inline fw of_b(const float number[4]) {
    return fw_repeat(f4_load(number));
}

/* ---- leaves ---- */

static inline void store3(float to[3][4], wide3 v) {
    f4_store(to[0], v.x);
    f4_store(to[1], v.y);
    f4_store(to[2], v.z);
}

/* The leaf at a place, of those that were met lately or made anew. */
static inline const meet_leaf *leaf_at(meet_walk *w, int k, uint32_t place) {
    const pair_side *side = w->frame->side;
    uint32_t number = pair_child(&side[k], place) & ~BVH_LEAF;
    meet_leaf *leaf = &w->leaves[k][number % MEET_LEAVES];
    if (w->kept[k][number % MEET_LEAVES] == number)
        return leaf;
    w->kept[k][number % MEET_LEAVES] = number;
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

/* Which of four triangles a and four b have boxes that may meet: bit 4 i + j for triangle i of a
 * and j of b. */
static inline unsigned boxes_cross(const meet_leaf *a, const meet_leaf *b, float doubt) {
    unsigned bits = 0;
    for (uint32_t first = 0; first < 4; first += WIDE_GROUPS) {
        fw gap = fw_all(-INFINITY);
        for (int axis = 0; axis < 3; axis++) {
            gap = fw_max(gap, fw_sub(of_b(b->lo[axis]), of_a(a->hi[axis], first)));
            gap = fw_max(gap, fw_sub(of_a(a->lo[axis], first), of_b(b->hi[axis])));
        }
        bits |= mw_bits(fw_less_equal(gap, fw_all(doubt))) << 4 * first;
    }
    return bits;
}

/* Those of which the first is not beyond the second along the way. A corner is off by the doubt on
 * each axis, which counts for less than twice as much along a unit vector. */
static inline unsigned not_beyond_leaf(const pair_frame *frame, const meet_leaf *a,
                                       const meet_leaf *b, float doubt) {
    const float *w = frame->side_way[0];
    float low[4], high[4];
    for (int side = 0; side < 2; side++) {
        const meet_leaf *leaf = side ? b : a;
        f4 h[3];
        for (int k = 0; k < 3; k++)
            h[k] = f4_mul_add(f4_load(leaf->corner[k][0]), f4_all(w[0]),
                              f4_mul_add(f4_load(leaf->corner[k][1]), f4_all(w[1]),
                                         f4_mul(f4_load(leaf->corner[k][2]), f4_all(w[2]))));
        if (side)
            f4_store(high, f4_max(f4_max(h[0], h[1]), h[2]));
        else
            f4_store(low, f4_sub(f4_min(f4_min(h[0], h[1]), h[2]), f4_all(4 * doubt)));
    }
    unsigned bits = 0;
    for (uint32_t first = 0; first < 4; first += WIDE_GROUPS)
        bits |= mw_bits(fw_less_equal(of_a(low, first), of_b(high))) << 4 * first;
    return bits;
}

/* By how much the sides of planes may be wrong where corners are off by `doubt`. */
static inline f4 side_bound(const meet_leaf *leaf, float doubt, float reach) {
    wide_plane plane = {.n_doubt = f4_load(leaf->normal_doubt), .doubt = f4_all(doubt)};
    plane.slope = f4_add(f4_load(leaf->slope), f4_all(8 * doubt));
    return plane_bound(&plane, f4_all(reach));
}

/* Lanes where a plane, by a normal and a point, may meet a triangle. */
static inline mw plane_meets(const fw normal[3], const fw from[3], const fw corner[3][3],
                             fw bound) {
    fw lo = fw_all(INFINITY), hi = fw_all(-INFINITY);
    for (int k = 0; k < 3; k++) {
        fw side = fw_mul(normal[0], fw_sub(corner[k][0], from[0]));
        side = fw_mul_add(normal[1], fw_sub(corner[k][1], from[1]), side);
        side = fw_mul_add(normal[2], fw_sub(corner[k][2], from[2]), side);
        lo = fw_min(lo, side);
        hi = fw_max(hi, side);
    }
    return mw_and(fw_less_equal(lo, bound), fw_less_equal(fw_sub(fw_all(0), bound), hi));
}

/* Those of which neither is on one side of the other's plane. */
static inline unsigned planes_meet(const meet_leaf *a, const meet_leaf *b, float doubt) {
    float reach = reach_of(a, b) * SLACK, bound_a[4], bound_b[4];
    f4_store(bound_a, side_bound(a, doubt, reach));
    f4_store(bound_b, side_bound(b, doubt, reach));
    fw normal_b[3], corner_b[3][3];
    for (int axis = 0; axis < 3; axis++) {
        normal_b[axis] = of_b(b->normal[axis]);
        for (int k = 0; k < 3; k++)
            corner_b[k][axis] = of_b(b->corner[k][axis]);
    }
    unsigned bits = 0;
    for (uint32_t first = 0; first < 4; first += WIDE_GROUPS) {
        fw normal_a[3], corner_a[3][3];
        for (int axis = 0; axis < 3; axis++) {
            normal_a[axis] = of_a(a->normal[axis], first);
            for (int k = 0; k < 3; k++)
                corner_a[k][axis] = of_a(a->corner[k][axis], first);
        }
        mw met = mw_and(plane_meets(normal_a, corner_a[0], corner_b, of_a(bound_a, first)),
                        plane_meets(normal_b, corner_b[0], corner_a, of_b(bound_b)));
        bits |= mw_bits(met) << 4 * first;
    }
    return bits;
}

/* The pairs of triangles that two leaves have. */
static inline unsigned pairs_of(const meet_leaf *a, const meet_leaf *b) {
    return (0x1111u * ((1u << b->fill) - 1)) & ((1u << 4 * a->fill) - 1);
}

static bool meet_leaves(meet_walk *w, const uint32_t place[2]) {
    meet_search *s = w->s;
    const meet_leaf *a = leaf_at(w, 0, place[0]), *b = leaf_at(w, 1, place[1]);
    float doubt = w->frame->pad + a->step + b->step;
    unsigned likely = boxes_cross(a, b, 2 * doubt) & pairs_of(a, b);
    if (likely && w->directed)
        likely &= not_beyond_leaf(w->frame, a, b, doubt);
    if (likely)
        likely &= planes_meet(a, b, doubt);
    if (!likely)
        return false;
    if (s->visit)
        return s->visit(s->data, a->leaf, b->leaf, likely);
    const abut_bvh *bvh[2] = {w->frame->side[0].bvh, w->frame->side[1].bvh};
    for (; likely; likely &= likely - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(likely);
        if (abuti_pair_meet_exactly(s, bvh[0]->order[a->leaf * BVH_WIDTH + bit / 4],
                                    bvh[1]->order[b->leaf * BVH_WIDTH + bit % 4]))
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
static inline unsigned boxes_meet(const meet_walk *w, int open, const pair_view *view,
                                  const bvh_node *node, float depth[4], float size[4]) {
    const pair_side *side = &w->frame->side[open];
    pair_gaps gaps;
    f4 offset[3], half[3], zero = f4_all(0);
    pair_gaps_own(side, view, node, &gaps, offset, half);
    m4 met = m4_and(m4_and(f4_less_equal(gaps.own[0], zero), f4_less_equal(gaps.own[1], zero)),
                    f4_less_equal(gaps.own[2], zero));
    if (w->directed)
        met = m4_and(met, not_beyond(w->frame, open, view, offset, half));
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

/* The four boxes of a node: along its own axes, as the other side sees them, with the pad, and
 * along the way. */
typedef struct node_boxes {
    float centre[3][4], half[3][4], size[4];
    float seen[3][4], radius[3][4];
    float along[4], reach[4];
} node_boxes;

static inline void boxes_of_node(const pair_frame *frame, int k, uint32_t number,
                                 node_boxes *boxes) {
    const pair_side *side = &frame->side[k], *other = &frame->side[!k];
    const bvh_node *node = &side->bvh->nodes[number];
    f4 half_unit = f4_all(0.5f * side->unit), centre[3], half[3], pad = f4_all(frame->pad);
    for (int i = 0; i < 3; i++) {
        f4 lo = f4_load(node->lo[i]), hi = f4_load(node->hi[i]);
        centre[i] = f4_mul(f4_add(lo, hi), half_unit);
        half[i] = f4_mul(f4_sub(hi, lo), half_unit);
        f4_store(boxes->centre[i], centre[i]);
        f4_store(boxes->half[i], half[i]);
    }
    f4_store(boxes->size, f4_add(f4_add(half[0], half[1]), half[2]));
    for (int i = 0; i < 3; i++) {
        /* Products are rounded for all widths: gaps decide which pair is found first, and four
         * lanes have no fused ones. */
        f4 seen = f4_all(other->shift[i]), radius = pad;
        for (int j = 0; j < 3; j++) {
            seen = f4_add(f4_mul(centre[j], f4_all(other->turn[j][i])), seen);
            radius = f4_add(f4_mul(half[j], f4_all(other->turn_abs[j][i])), radius);
        }
        f4_store(boxes->seen[i], seen);
        f4_store(boxes->radius[i], radius);
    }
    const float *way = frame->side_way[0];
    f4 along = f4_all(0), reach = f4_add(pad, pad);
    for (int i = 0; i < 3; i++) {
        f4 at = k ? f4_load(boxes->seen[i]) : centre[i];
        along = f4_mul_add(at, f4_all(way[i]), along);
        reach = f4_mul_add(half[i], f4_abs(f4_all(frame->side_way[k][i])), reach);
    }
    f4_store(boxes->along, along);
    f4_store(boxes->reach, reach);
}

/* Which boxes of two nodes may meet, and the largest gap of each pair if that is wanted. */
static inline unsigned nodes_meet(const node_boxes *a, const node_boxes *b, const meet_walk *w,
                                  float *depth) {
    unsigned bits = 0;
    for (uint32_t first = 0; first < 4; first += WIDE_GROUPS) {
        fw gap = fw_all(-INFINITY);
        for (int i = 0; i < 3; i++) {
            fw own = fw_abs(fw_sub(of_a(a->centre[i], first), of_b(b->seen[i])));
            fw other = fw_abs(fw_sub(of_a(a->seen[i], first), of_b(b->centre[i])));
            own = fw_sub(own, fw_add(of_a(a->half[i], first), of_b(b->radius[i])));
            other = fw_sub(other, fw_add(of_a(a->radius[i], first), of_b(b->half[i])));
            gap = fw_max(gap, own); /* the last of what is not a number stays */
            gap = fw_max(gap, other);
        }
        mw met = fw_less_equal(gap, fw_all(0));
        met = mw_and(met, fw_less_equal(fw_sub(of_a(a->along, first), of_b(b->along)),
                                        fw_add(of_a(a->reach, first), of_b(b->reach))));
        if (w->sorted)
            fw_store(depth + 4 * first, gap);
        bits |= mw_bits(met) << 4 * first;
    }
    return bits;
}

/* Adds a pair above `first`, the deepest last. */
static inline void push(meet_walk *w, uint32_t first, pending next) {
    pending *stack = w->stack;
    uint32_t i = w->used++;
    for (; w->sorted && i > first && stack[i - 1].depth < next.depth; i--)
        stack[i] = stack[i - 1];
    stack[i] = next;
}

/* Which children of a node are leaves. */
static inline unsigned leaves_of(const bvh_node *node) {
    return m4_bits(m4_highest(node->child));
}

/* Tries the children of two nodes, leaves at once; true where the search is over. */
static bool open_both(meet_walk *w, const uint32_t node[2]) {
    node_boxes a, b;
    float depth[16];
    boxes_of_node(w->frame, 0, node[0], &a);
    boxes_of_node(w->frame, 1, node[1], &b);
    unsigned of_a = leaves_of(&w->frame->side[0].bvh->nodes[node[0]]);
    unsigned bits = nodes_meet(&a, &b, w, depth), leaves = 0;
    for (unsigned i = 0; i < 4; i++)
        leaves |= (0u - (of_a >> i & 1)) & 15u << 4 * i;
    leaves &= bits & 0x1111u * leaves_of(&w->frame->side[1].bvh->nodes[node[1]]);
    uint32_t first = w->used;
    for (bits ^= leaves; bits; bits &= bits - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(bits), i = bit / 4, j = bit % 4;
        push(w, first,
             (pending){w->sorted ? depth[bit] : 0,
                       {a.size[i], b.size[j]},
                       {node[0] * BVH_WIDTH + i, node[1] * BVH_WIDTH + j}});
    }
    for (; leaves; leaves &= leaves - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(leaves);
        if (meet_leaves(w, (const uint32_t[2]){node[0] * BVH_WIDTH + bit / 4,
                                               node[1] * BVH_WIDTH + bit % 4}))
            return true;
    }
    return false;
}

/* The same for one node and what is at a place of the other side. */
static bool open_one(meet_walk *w, const pending *next, int open, uint32_t node) {
    const pair_side *side = w->frame->side;
    pair_box box = pair_box_at(&side[!open], next->place[!open]);
    pair_view view = pair_view_of(&side[open], &box, w->frame->pad);
    float depth[4], size[4];
    unsigned bits = boxes_meet(w, open, &view, &side[open].bvh->nodes[node], depth, size);
    unsigned leaves = pair_child(&side[!open], next->place[!open]) & BVH_LEAF
                          ? bits & leaves_of(&side[open].bvh->nodes[node])
                          : 0;
    uint32_t first = w->used;
    for (bits ^= leaves; bits; bits &= bits - 1) {
        uint32_t slot = (uint32_t)__builtin_ctz(bits);
        pending child = *next;
        child.depth = depth[slot];
        child.size[open] = size[slot];
        child.place[open] = node * BVH_WIDTH + slot;
        push(w, first, child);
    }
    for (; leaves; leaves &= leaves - 1) {
        uint32_t place[2] = {next->place[0], next->place[1]};
        place[open] = node * BVH_WIDTH + (uint32_t)__builtin_ctz(leaves);
        if (meet_leaves(w, place))
            return true;
    }
    return false;
}

void BY_LANES(abuti_pair_meet)(meet_search *s) {
    const pair_side *side = s->frame->side;
    meet_walk walk, *w = &walk;
    uint32_t steps = 0;
    w->s = s;
    w->frame = s->frame;
    w->directed = v3_max_abs(s->frame->way) > 0;
    w->sorted = !s->visit && !s->all;
    memset(w->kept, 0xff, sizeof w->kept); /* ABUT_NONE */
    w->stack[0] =
        (pending){0,
                  {pair_box_at(&side[0], PAIR_ROOT).size, pair_box_at(&side[1], PAIR_ROOT).size},
                  {PAIR_ROOT, PAIR_ROOT}};
    w->used = 1;
    while (w->used) {
        if (++steps % PAIR_STEPS == 0 && abuti_stop(side[0].bvh->context, "pairs"))
            return;
        pending next = w->stack[--w->used];
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        bool leaf[2] = {child[0] & BVH_LEAF, child[1] & BVH_LEAF};
        int open = leaf[0] || (!leaf[1] && next.size[1] > next.size[0]);
        if (leaf[!open] || next.size[open] > UNLIKE * next.size[!open]
                ? open_one(w, &next, open, child[open])
                : open_both(w, child))
            return;
    }
}
