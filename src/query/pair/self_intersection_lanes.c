/* Inner loops of the search for self-intersections: boxes of leaves, and the traversal down to
 * pairs of triangles, which self_intersection.c tests exactly.
 *
 * Lanes: group i of four lanes is child or triangle i of a, lane j of a group that of b; so bit 4 i
 * + j of a mask is that pair. With fewer than sixteen lanes groups are processed in sequence. Only
 * the boxes are rounded, outwards: all widths find the same pairs, in the same order.
 */
#include "base/simd_lanes.h"
#include "bvh/cull.h"
#include "pair/self_intersection.h"

#include <math.h>

/* Pairs of one leaf or node with itself, each once: of triangles without the diagonal, of children
 * with it. */
enum { PAIRS_AFTER_DIAGONAL = 0x08ce, PAIRS_FROM_DIAGONAL = 0x8cef };

/* ---- leaves ---- */

/* Stores bounds, rounded outwards. */
static inline void store_bounds(float lo[4], float hi[4], d4 low, d4 high) {
    double lane[2][4];
    d4_store(lane[0], low);
    d4_store(lane[1], high);
    for (int i = 0; i < 4; i++) {
        lo[i] = bvh_float_below(lane[0][i]);
        hi[i] = bvh_float_above(lane[1][i]);
    }
}

static void store_corners(const self_search *s, size_t leaf, uint32_t fill) {
    const uint32_t *from = s->bvh->mesh->indices;
    for (uint32_t i = 0; i < BVH_WIDTH; i++)
        for (size_t k = 0; k < 3; k++) {
            uint32_t vertex = from[3 * (size_t)s->bvh->order[leaf * BVH_WIDTH + i] + k];
            bool clean = i < fill && s->clean[vertex];
            s->leaves[leaf].corner[k][i] = clean ? vertex : SELF_NOT_CLEAN;
        }
}

void BY_LANES(abuti_pair_self_leaves)(void *search, size_t chunk, size_t begin, size_t end) {
    const self_search *s = search;
    (void)chunk;
    for (size_t leaf = begin; leaf < end; leaf++) {
        self_leaf *boxes = &s->leaves[leaf];
        uint32_t fill = bvh_leaf_fill(s->bvh, (uint32_t)leaf);
        d4 corner[3][3];
        bvh_leaf_corners(s->bvh, s->bvh->mesh, (uint32_t)leaf, corner);
        store_corners(s, leaf, fill);
        for (int axis = 0; axis < 3; axis++) {
            const d4 *c = corner[axis];
            store_bounds(boxes->lo[axis], boxes->hi[axis], d4_min(c[0], d4_min(c[1], c[2])),
                         d4_max(c[0], d4_max(c[1], c[2])));
            for (uint32_t i = fill; i < BVH_WIDTH; i++) {
                boxes->lo[axis][i] = INFINITY;
                boxes->hi[axis][i] = -INFINITY;
            }
            boxes->all_lo[axis] = f4_least(f4_load(boxes->lo[axis]));
            boxes->all_hi[axis] = -f4_least(f4_sub(f4_all(0), f4_load(boxes->hi[axis])));
        }
    }
}

/* ---- boxes ---- */

/* The pairs of boxes, four by four, that overlap. */
static inline unsigned overlapping_pairs(const float lo_a[3][BVH_WIDTH],
                                         const float hi_a[3][BVH_WIDTH],
                                         const float lo_b[3][BVH_WIDTH],
                                         const float hi_b[3][BVH_WIDTH]) {
    unsigned met = 0;
    for (uint32_t first = 0; first < BVH_WIDTH; first += WIDE_GROUPS) {
        mask m = v_less_equal(fw_groups(lo_a[0] + first), fw_repeat(f4_load(hi_b[0])));
        m = mw_and(m, v_less_equal(fw_repeat(f4_load(lo_b[0])), fw_groups(hi_a[0] + first)));
        for (int axis = 1; axis < 3; axis++) {
            fw lo = fw_groups(lo_a[axis] + first), hi = fw_groups(hi_a[axis] + first);
            m = mw_and(m, v_less_equal(lo, fw_repeat(f4_load(hi_b[axis]))));
            m = mw_and(m, v_less_equal(fw_repeat(f4_load(lo_b[axis])), hi));
        }
        met |= v_mask_bits(m) << 4 * first;
    }
    return met;
}

/* Which of four boxes overlap one box. */
static inline unsigned overlapping_one(const float lo[3][BVH_WIDTH], const float hi[3][BVH_WIDTH],
                                       const float one_lo[3], const float one_hi[3]) {
    m4 met = m4_and(f4_less_equal(f4_load(lo[0]), f4_all(one_hi[0])),
                    f4_less_equal(f4_all(one_lo[0]), f4_load(hi[0])));
    for (int axis = 1; axis < 3; axis++) {
        met = m4_and(met, f4_less_equal(f4_load(lo[axis]), f4_all(one_hi[axis])));
        met = m4_and(met, f4_less_equal(f4_all(one_lo[axis]), f4_load(hi[axis])));
    }
    return m4_bits(met);
}

/* Tests the triangles of two leaves, or of one leaf twice. Triangles around a clean vertex need no
 * exact test. */
static void test_leaves(self_search *s, task_output *out, uint32_t leaf_a, uint32_t leaf_b) {
    const self_leaf *a = &s->leaves[leaf_a], *b = &s->leaves[leaf_b];
    unsigned met = overlapping_pairs(a->lo, a->hi, b->lo, b->hi);
    if (leaf_a == leaf_b)
        met &= PAIRS_AFTER_DIAGONAL;
    if (!met)
        return;
    out->work += (uint32_t)__builtin_popcount(met);
    met &= ~fw_any_equal(a->corner, b->corner, SELF_NOT_CLEAN);
    const uint32_t *order = s->bvh->order;
    for (; met; met &= met - 1) {
        uint32_t k = abuti_lowest_bit(met);
        abuti_pair_self_test(s, out, order[leaf_a * BVH_WIDTH + k / BVH_WIDTH],
                             order[leaf_b * BVH_WIDTH + k % BVH_WIDTH]);
    }
}

/* ---- nodes ---- */

static inline uint32_t open_pair(const self_search *s, node_pair pair, node_pair *stack,
                                 uint32_t used) {
    bool leaf_a = pair.a & BVH_LEAF, leaf_b = pair.b & BVH_LEAF;
    unsigned met;
    if (!leaf_a && !leaf_b) {
        const bvh_node *na = &s->bvh->nodes[pair.a], *nb = &s->bvh->nodes[pair.b];
        met = overlapping_pairs(na->lo, na->hi, nb->lo, nb->hi);
        for (met &= pair.a == pair.b ? PAIRS_FROM_DIAGONAL : met; met; met &= met - 1) {
            uint32_t k = abuti_lowest_bit(met);
            stack[used++] = (node_pair){na->child[k / BVH_WIDTH], nb->child[k % BVH_WIDTH]};
        }
        return used;
    }
    uint32_t leaf = leaf_a ? pair.a : pair.b;
    const bvh_node *node = &s->bvh->nodes[leaf_a ? pair.b : pair.a];
    const self_leaf *boxes = &s->leaves[leaf & ~BVH_LEAF];
    met = overlapping_one(node->lo, node->hi, boxes->all_lo, boxes->all_hi);
    for (; met; met &= met - 1)
        stack[used++] = (node_pair){leaf, node->child[abuti_lowest_bit(met)]};
    return used;
}

static bool is_task_finished(const self_search *s, const task_output *out, uint32_t steps) {
    return steps >= SELF_TASK_STEPS || out->work >= SELF_TASK_WORK ||
           out->found_count > SELF_FOUND_MAX - BVH_WIDTH * BVH_WIDTH ||
           (s->any && atomic_load_explicit(&s->stop, memory_order_relaxed));
}

void BY_LANES(abuti_pair_self_task)(void *search, size_t chunk, size_t begin, size_t end) {
    self_search *s = search;
    task_output *out = &s->outputs[chunk];
    uint32_t used = 0, steps = 0;
    out->found_count = out->work = 0;
    out->progress = 0;
    out->end = end;
    for (out->next_item = begin; out->next_item < end && !is_task_finished(s, out, steps);) {
        const work_item *now = &s->tasks_input[out->next_item++];
        out->pending[used++] = now->pair;
        for (; used && !is_task_finished(s, out, steps); steps++) {
            node_pair pair = out->pending[--used];
            if (is_leaf_pair(pair))
                test_leaves(s, out, pair.a & ~BVH_LEAF, pair.b & ~BVH_LEAF);
            else
                used = open_pair(s, pair, out->pending, used);
        }
        out->progress += (double)(now->weight / (float)(used + 1));
    }
    out->pending_count = used;
}
