/* Traversal of two BVHs for triangles that may intersect, compiled for 4, 8 and 16 lanes.
 *
 * Method: both BVHs at once, depth-first. If two boxes have similar sizes, the children of both are
 * tested, four against four; otherwise those of the larger one. The tests are on the face axes of
 * both sides (Gottschalk and others 1996, "OBBTree: a hierarchical structure for rapid interference
 * detection"), in floats with padding. In pairs of leaves, four triangles by four, those pairs are
 * culled whose boxes are apart or for which the plane of one triangle has the other on one side by
 * more than the error, with the quantised corners of leaves. The remaining pairs are tested exactly
 * (intersect.c) or reported to the caller.
 *
 * The error of a plane: let d bound the error of each coordinate of a corner, e1 and e2 be the
 * edges of the triangle, n = e1 x e2, and w the vector from one of its corners to a corner of the
 * other. Edges and w have errors of 2d on each axis, n of 4d (|e1| + |e2|) + 8d^2 (largest
 * coordinates), and n . w of
 *   2d |n|_1 + (4d (|e1| + |e2|) + 8d^2) (|w|_1 + 6d).
 * The rounding of these products is far smaller, since d is at least 2^8 roundings of a float. It
 * does not matter whether products are rounded before they are added.
 *
 * Lanes: group i of four lanes is child or triangle i of a, lane j of a group that of b. With fewer
 * than sixteen lanes groups are processed in sequence.
 */
#include "pair/leaf.h"
#include "pair/pair.h"

#include <assert.h>

#define BY_LANES_(name, lanes) name##_##lanes
#define BY_LANES__(name, lanes) BY_LANES_(name, lanes)
#define BY_LANES(name) BY_LANES__(name, LANES)

/* A step into both BVHs pops a pair and pushes at most sixteen; two steps into one BVH push fewer.
 */
#define TRAVERSAL_STACK (15 * BVH_DEPTH + 16)
/* If one box is larger by this factor, only its node is opened. */
#define OPEN_ONE_SIZE_RATIO 3.0f

enum { CACHED_LEAVES = 32 }; /* of each side */

typedef struct pending_pair {
    float depth;   /* the largest gap between two boxes, at most 0 */
    float size[2]; /* of both boxes */
    uint32_t place[2];
} pending_pair;

/* The four triangles of a leaf along the axes of a: corners, boxes, planes. */
typedef struct cached_leaf {
    uint32_t leaf, fill;
    float step;
    float corner[3][3][4], normal[3][4];
    float lo[3][4], hi[3][4];
    float all_lo[3], all_hi[3];      /* bounds of all four */
    float normal_error[4], slope[4]; /* as plane_of() returns them for corners without error */
} cached_leaf;

typedef struct intersect_traversal {
    intersect_search *s;
    const pair_frame *frame;
    bool deepest_first; /* visit the deepest pairs first */
    uint32_t used;
    pending_pair stack[TRAVERSAL_STACK];
    uint32_t cached[2][CACHED_LEAVES]; /* leaves of each side, direct-mapped by their lowest bits */
    cached_leaf leaves[2][CACHED_LEAVES];
} intersect_traversal;

/* Four numbers of a, one per group from `first` on; four numbers of b, repeated in all groups. */
static inline fw spread_a(const float number[4], uint32_t first) {
    return fw_groups(number + first);
}
static inline fw repeat_b(const float number[4]) {
    return fw_repeat(f4_load(number));
}

/* ---- leaves ---- */

static inline void store3(float to[3][4], wide3 v) {
    f4_store(to[0], v.x);
    f4_store(to[1], v.y);
    f4_store(to[2], v.z);
}

/* The leaf at a place, from the cache or loaded into it. */
static inline const cached_leaf *find_leaf(intersect_traversal *w, int k, uint32_t place) {
    const pair_side *side = w->frame->side;
    uint32_t number = pair_child(&side[k], place) & ~BVH_LEAF;
    cached_leaf *leaf = &w->leaves[k][number % CACHED_LEAVES];
    if (w->cached[k][number % CACHED_LEAVES] == number)
        return leaf;
    w->cached[k][number % CACHED_LEAVES] = number;
    leaf->leaf = number;
    leaf->fill = bvh_leaf_fill(side[k].bvh, number);
    wide3 corner[3];
    leaf->step = pair_corners(&side[k], place, corner);
    for (int i = 0; i < 3; i++) {
        corner[i] = k ? pair_transform4(&side[0], corner[i]) : corner[i];
        store3(leaf->corner[i], corner[i]);
    }
    wide3 lo = min3(min3(corner[0], corner[1]), corner[2]);
    wide3 hi = max3(max3(corner[0], corner[1]), corner[2]);
    store3(leaf->lo, lo);
    store3(leaf->hi, hi);
    for (int axis = 0; axis < 3; axis++) {
        leaf->all_lo[axis] = f4_least(f4_load(leaf->lo[axis]));
        leaf->all_hi[axis] = -f4_least(f4_sub(f4_all(0), f4_load(leaf->hi[axis])));
    }
    wide_plane plane = plane_of(sub3(corner[1], corner[0]), sub3(corner[2], corner[0]), f4_all(0));
    store3(leaf->normal, plane.n);
    f4_store(leaf->normal_error, plane.n_error);
    f4_store(leaf->slope, plane.slope);
    return leaf;
}

/* The largest 1-norm of a vector between points of two leaves. */
static inline float max_offset(const cached_leaf *a, const cached_leaf *b) {
    float sum = 0;
    for (int axis = 0; axis < 3; axis++)
        sum += (a->all_hi[axis] > b->all_hi[axis] ? a->all_hi[axis] : b->all_hi[axis]) -
               (a->all_lo[axis] < b->all_lo[axis] ? a->all_lo[axis] : b->all_lo[axis]);
    return sum;
}

/* The pairs of triangles whose boxes may overlap: bit 4 i + j for triangle i of a and j of b. */
static inline unsigned overlapping_boxes(const cached_leaf *a, const cached_leaf *b, float error) {
    unsigned bits = 0;
    for (uint32_t first = 0; first < 4; first += WIDE_GROUPS) {
        fw gap = fw_all(-INFINITY);
        for (int axis = 0; axis < 3; axis++) {
            gap = fw_max(gap, fw_sub(repeat_b(b->lo[axis]), spread_a(a->hi[axis], first)));
            gap = fw_max(gap, fw_sub(spread_a(a->lo[axis], first), repeat_b(b->hi[axis])));
        }
        bits |= mw_bits(fw_less_equal(gap, fw_all(error))) << 4 * first;
    }
    return bits;
}

/* The error of plane sides if corners have the given error. */
static inline f4 plane_side_error(const cached_leaf *leaf, float error, float reach) {
    wide_plane plane = {.n_error = f4_load(leaf->normal_error), .error = f4_all(error)};
    plane.slope = f4_add(f4_load(leaf->slope), f4_all(8 * error));
    return plane_bound(&plane, f4_all(reach));
}

/* Lanes in which a plane, given by normal and point, may intersect a triangle. */
static inline mw plane_may_intersect(const fw normal[3], const fw from[3], const fw corner[3][3],
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

/* The pairs of which neither triangle is on one side of the plane of the other. */
static inline unsigned planes_may_intersect(const cached_leaf *a, const cached_leaf *b,
                                            float error) {
    float reach = max_offset(a, b) * ROUNDING_FACTOR, bound_a[4], bound_b[4];
    f4_store(bound_a, plane_side_error(a, error, reach));
    f4_store(bound_b, plane_side_error(b, error, reach));
    fw normal_b[3], corner_b[3][3];
    for (int axis = 0; axis < 3; axis++) {
        normal_b[axis] = repeat_b(b->normal[axis]);
        for (int k = 0; k < 3; k++)
            corner_b[k][axis] = repeat_b(b->corner[k][axis]);
    }
    unsigned bits = 0;
    for (uint32_t first = 0; first < 4; first += WIDE_GROUPS) {
        fw normal_a[3], corner_a[3][3];
        for (int axis = 0; axis < 3; axis++) {
            normal_a[axis] = spread_a(a->normal[axis], first);
            for (int k = 0; k < 3; k++)
                corner_a[k][axis] = spread_a(a->corner[k][axis], first);
        }
        mw may_intersect =
            mw_and(plane_may_intersect(normal_a, corner_a[0], corner_b, spread_a(bound_a, first)),
                   plane_may_intersect(normal_b, corner_b[0], corner_a, repeat_b(bound_b)));
        bits |= mw_bits(may_intersect) << 4 * first;
    }
    return bits;
}

/* All pairs of triangles of two leaves. */
static inline unsigned all_pairs(const cached_leaf *a, const cached_leaf *b) {
    return (0x1111u * ((1u << b->fill) - 1)) & ((1u << 4 * a->fill) - 1);
}

static bool test_leaves(intersect_traversal *w, const uint32_t place[2]) {
    intersect_search *s = w->s;
    const cached_leaf *a = find_leaf(w, 0, place[0]), *b = find_leaf(w, 1, place[1]);
    float error = w->frame->pad + a->step + b->step;
    unsigned candidates = overlapping_boxes(a, b, 2 * error) & all_pairs(a, b);
    if (candidates)
        candidates &= planes_may_intersect(a, b, error);
    if (!candidates)
        return false;
    if (s->visit)
        return s->visit(s->data, a->leaf, b->leaf, candidates);
    const abut_bvh *bvh[2] = {w->frame->side[0].bvh, w->frame->side[1].bvh};
    for (; candidates; candidates &= candidates - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(candidates);
        if (abuti_pair_intersect_exactly(s, bvh[0]->order[a->leaf * BVH_WIDTH + bit / 4],
                                         bvh[1]->order[b->leaf * BVH_WIDTH + bit % 4]))
            return true;
    }
    return false;
}

/* ---- nodes ---- */

/* The children of a node that may overlap a box of the other side. */
static inline unsigned overlapping_children(const intersect_traversal *w, int open,
                                            const pair_view *view, const bvh_node *node,
                                            float depth[4], float size[4]) {
    const pair_side *side = &w->frame->side[open];
    pair_gaps gaps;
    f4 offset[3], half[3], zero = f4_all(0);
    pair_gaps_own(side, view, node, &gaps, offset, half);
    m4 may_intersect =
        m4_and(m4_and(f4_less_equal(gaps.own[0], zero), f4_less_equal(gaps.own[1], zero)),
               f4_less_equal(gaps.own[2], zero));
    if (!m4_bits(may_intersect))
        return 0;
    pair_gaps_other(side, view, &gaps, offset, half);
    may_intersect = m4_and(may_intersect, m4_and(m4_and(f4_less_equal(gaps.other[0], zero),
                                                        f4_less_equal(gaps.other[1], zero)),
                                                 f4_less_equal(gaps.other[2], zero)));
    f4 gap = f4_max(f4_max(f4_max(gaps.own[0], gaps.own[1]), f4_max(gaps.own[2], gaps.other[0])),
                    f4_max(gaps.other[1], gaps.other[2]));
    f4_store(depth, gap);
    f4_store(size, f4_add(f4_add(half[0], half[1]), half[2]));
    return m4_bits(may_intersect);
}

/* The four boxes of a node: along its own axes, and along those of the other side with padding. */
typedef struct node_boxes {
    float centre[3][4], half[3][4], size[4];
    float other_centre[3][4], radius[3][4];
} node_boxes;

static inline void load_node_boxes(const pair_frame *frame, int k, uint32_t number,
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
         * lanes have no fused operations. */
        f4 other_centre = f4_all(other->shift[i]), radius = pad;
        for (int j = 0; j < 3; j++) {
            other_centre = f4_add(f4_mul(centre[j], f4_all(other->rotation[j][i])), other_centre);
            radius = f4_add(f4_mul(half[j], f4_all(other->rotation_abs[j][i])), radius);
        }
        f4_store(boxes->other_centre[i], other_centre);
        f4_store(boxes->radius[i], radius);
    }
}

/* The pairs of boxes of two nodes that may overlap. Writes the largest gap of each pair if pairs
 * are sorted by depth. */
static inline unsigned overlapping_pairs(const node_boxes *a, const node_boxes *b,
                                         const intersect_traversal *w, float *depth) {
    unsigned bits = 0;
    for (uint32_t first = 0; first < 4; first += WIDE_GROUPS) {
        fw gap = fw_all(-INFINITY);
        for (int i = 0; i < 3; i++) {
            fw own = fw_abs(fw_sub(spread_a(a->centre[i], first), repeat_b(b->other_centre[i])));
            fw other = fw_abs(fw_sub(spread_a(a->other_centre[i], first), repeat_b(b->centre[i])));
            own = fw_sub(own, fw_add(spread_a(a->half[i], first), repeat_b(b->radius[i])));
            other = fw_sub(other, fw_add(spread_a(a->radius[i], first), repeat_b(b->half[i])));
            gap = fw_max(gap, own); /* keeps the NaN of an empty slot */
            gap = fw_max(gap, other);
        }
        if (w->deepest_first)
            fw_store(depth + 4 * first, gap);
        bits |= mw_bits(fw_less_equal(gap, fw_all(0))) << 4 * first;
    }
    return bits;
}

/* Pushes a pair above `first`, the deepest last. */
static inline void push_pair(intersect_traversal *w, uint32_t first, pending_pair next) {
    pending_pair *stack = w->stack;
    uint32_t i = w->used++;
    assert(w->used <= TRAVERSAL_STACK);
    for (; w->deepest_first && i > first && stack[i - 1].depth < next.depth; i--)
        stack[i] = stack[i - 1];
    stack[i] = next;
}

/* The children of a node that are leaves, as a mask. */
static inline unsigned leaf_mask(const bvh_node *node) {
    return m4_bits(m4_highest(node->child));
}

/* Tests the children of two nodes; pairs of leaves at once. Returns true if the search is finished.
 */
static bool open_both_nodes(intersect_traversal *w, const uint32_t node[2]) {
    node_boxes a, b;
    float depth[16];
    load_node_boxes(w->frame, 0, node[0], &a);
    load_node_boxes(w->frame, 1, node[1], &b);
    unsigned leaves_a = leaf_mask(&w->frame->side[0].bvh->nodes[node[0]]);
    unsigned bits = overlapping_pairs(&a, &b, w, depth), leaves = 0;
    for (unsigned i = 0; i < 4; i++)
        leaves |= (0u - (leaves_a >> i & 1)) & 15u << 4 * i;
    leaves &= bits & 0x1111u * leaf_mask(&w->frame->side[1].bvh->nodes[node[1]]);
    uint32_t first = w->used;
    for (bits ^= leaves; bits; bits &= bits - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(bits), i = bit / 4, j = bit % 4;
        push_pair(w, first,
                  (pending_pair){w->deepest_first ? depth[bit] : 0,
                                 {a.size[i], b.size[j]},
                                 {node[0] * BVH_WIDTH + i, node[1] * BVH_WIDTH + j}});
    }
    for (; leaves; leaves &= leaves - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(leaves);
        if (test_leaves(w, (const uint32_t[2]){node[0] * BVH_WIDTH + bit / 4,
                                               node[1] * BVH_WIDTH + bit % 4}))
            return true;
    }
    return false;
}

/* The same for one node and the child at a place of the other side. */
static bool open_one_node(intersect_traversal *w, const pending_pair *next, int open,
                          uint32_t node) {
    const pair_side *side = w->frame->side;
    pair_box box = pair_box_at(&side[!open], next->place[!open]);
    pair_view view = pair_view_of(&side[open], &box, w->frame->pad);
    float depth[4], size[4];
    unsigned bits = overlapping_children(w, open, &view, &side[open].bvh->nodes[node], depth, size);
    unsigned leaves = pair_child(&side[!open], next->place[!open]) & BVH_LEAF
                          ? bits & leaf_mask(&side[open].bvh->nodes[node])
                          : 0;
    uint32_t first = w->used;
    for (bits ^= leaves; bits; bits &= bits - 1) {
        uint32_t slot = (uint32_t)__builtin_ctz(bits);
        pending_pair child = *next;
        child.depth = depth[slot];
        child.size[open] = size[slot];
        child.place[open] = node * BVH_WIDTH + slot;
        push_pair(w, first, child);
    }
    for (; leaves; leaves &= leaves - 1) {
        uint32_t place[2] = {next->place[0], next->place[1]};
        place[open] = node * BVH_WIDTH + (uint32_t)__builtin_ctz(leaves);
        if (test_leaves(w, place))
            return true;
    }
    return false;
}

void BY_LANES(abuti_pair_intersect)(intersect_search *s) {
    const pair_side *side = s->frame->side;
    intersect_traversal walk, *w = &walk;
    uint32_t steps = 0;
    w->s = s;
    w->frame = s->frame;
    w->deepest_first = !s->visit && !s->find_all;
    memset(w->cached, 0xff, sizeof w->cached); /* ABUT_NONE */
    w->stack[0] = (pending_pair){0,
                                 {pair_box_at(&side[0], PAIR_ROOT).size,
                                  pair_box_at(&side[1], PAIR_ROOT).size},
                                 {PAIR_ROOT, PAIR_ROOT}};
    w->used = 1;
    while (w->used) {
        if (++steps % PAIR_STEPS_PER_STOP_CHECK == 0 && abuti_stop(side[0].bvh->context, "pairs"))
            return;
        pending_pair next = w->stack[--w->used];
        uint32_t child[2] = {pair_child(&side[0], next.place[0]),
                             pair_child(&side[1], next.place[1])};
        bool leaf[2] = {child[0] & BVH_LEAF, child[1] & BVH_LEAF};
        int open = leaf[0] || (!leaf[1] && next.size[1] > next.size[0]);
        if (leaf[!open] || next.size[open] > OPEN_ONE_SIZE_RATIO * next.size[!open]
                ? open_one_node(w, &next, open, child[open])
                : open_both_nodes(w, child))
            return;
    }
}
