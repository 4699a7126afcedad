/* The search of nearest.c for AVX-512, in the compact tree: sixteen children at once, or four
 * leaves.
 *
 * A search near the surface is bound by latency: each node waits for the one above, the triangles
 * for the leaf, and doubles for the triangle, with little other work. So it descends directly to
 * the leaf that seems nearest and visits that and its neighbours. The nearest triangle there is
 * probably the result, and its corners are prefetched at once. The siblings along the descent are
 * not examined until there is a bound; usually none of them is near enough. Otherwise nodes are
 * visited without sorting; a new bound prunes all pending nodes and moves the nearest of them to
 * the front.
 *
 * Boxes have the rounding errors of the point, of a difference and of a sum, each e M on an axis in
 * the notation of nearest.c, so 6 e M in total; a bound from the distance of a triangle in floats
 * has a margin of 24 e M.
 */
#define MEASURE_LANES 8
#include "nearest/search.h"

#include "bvh/compact.h"

#include <assert.h>

enum {
    PAD = WIDE_GROUPS,
    /* The capacity for nodes in any order. Above them, from the bottom of the stack to its top,
     * nodes get deeper, with at most sixteen of each depth. Compressed stores write LANES beyond.
     */
    NODES_IN_ANY_ORDER = 256,
    NODES_MAX = NODES_IN_ANY_ORDER + LANES * BVH_COMPACT_LEVELS + LANES,
    LEAVES_MAX = 3 * LANES /* three remain before those of a node are added */
};
_Static_assert(LANES == BVH_COMPACT_WIDTH && LANES * BVH_COMPACT_LEVELS <= NODES_IN_ANY_ORDER,
               "a descent skips no more nodes than may be in any order");

/* A corner so far away that its triangles are never near; its square is a float. */
#define DISTANT_CORNER 0x1p60f

/* Pending nodes and leaves. The first PAD entries are harmless dummies, for groups that are not
 * full. */
typedef struct pending_units {
    uint32_t nodes, leaves;                                      /* counts */
    float node_key[PAD + NODES_MAX], leaf_key[PAD + LEAVES_MAX]; /* squared distances */
    uint32_t node[PAD + NODES_MAX], leaf[PAD + LEAVES_MAX];
    float lo[3][PAD + LEAVES_MAX], step[3][PAD + LEAVES_MAX]; /* as in leaf_group */
    float error[PAD + LEAVES_MAX];
} pending_units;

static inline void init_pending(pending_units *w) {
    w->nodes = w->leaves = 0;
    memset(w->leaf, 0, PAD * sizeof *w->leaf);
    f4_store(w->leaf_key, f4_all(FLT_MAX));
    f4_store(w->error, f4_all(0));
    for (int axis = 0; axis < 3; axis++) {
        f4_store(w->lo[axis], f4_all(DISTANT_CORNER));
        f4_store(w->step[axis], f4_all(0));
    }
}

/* Moves a node of this key to the end, so that it is next. */
static inline void move_to_top(pending_units *w, float key) {
    uint32_t last = PAD + w->nodes - 1, i = last;
    while (w->node_key[i] != key)
        i--;
    uint32_t node = w->node[i];
    w->node_key[i] = w->node_key[last];
    w->node[i] = w->node[last];
    w->node_key[last] = key;
    w->node[last] = node;
}

/* Prunes the nodes beyond the bound; the nearest of the others is next. Otherwise a search that has
 * begun in the wrong place would approach the result step by step and visit everything in between.
 */
static inline void prune_nodes(pending_units *w, float upper_sq) {
    uint32_t kept_count = PAD, end = PAD + w->nodes;
    fw least = fw_all(INFINITY);
    for (uint32_t i = PAD; i < end; i += LANES) {
        fw key = fw_load(w->node_key + i);
        nw node = nw_load(w->node + i);
        unsigned candidates = mw_bits(fw_less_equal(key, fw_all(upper_sq)));
        candidates &= end - i < LANES ? (1u << (end - i)) - 1 : ~0u;
        least = fw_min(least, fw_select((mw)candidates, key, least));
        fw_pack(w->node_key + kept_count, candidates, key);
        nw_pack(w->node + kept_count, candidates, node);
        kept_count += (uint32_t)__builtin_popcount(candidates);
    }
    w->nodes = kept_count - PAD;
    if (w->nodes > 1 && w->nodes <= NODES_IN_ANY_ORDER)
        move_to_top(w, fw_least(least));
}

/* ---- nodes ---- */

/* The boxes of the children of a node relative to the point, and squared distances to them. */
typedef struct opened_node {
    fw lo[3], minus_hi[3], key;
    unsigned filled; /* lanes with a child */
} opened_node;

static inline void open_node(const search *s, const bvh_wide_node *node, opened_node *to) {
    fw key = fw_all(0);
    for (int axis = 0; axis < 3; axis++) {
        const fw step = fw_all(node->step[axis]), from = fw_all(node->origin[axis] - s->at[axis]);
        to->lo[axis] = fw_mul_add(fw_load_u16(node->lo[axis]), step, from);
        to->minus_hi[axis] = fw_minus_mul_add(fw_load_u16(node->hi[axis]), step, from);
        fw d = fw_max_or_zero(to->lo[axis], to->minus_hi[axis]);
        key = fw_mul_add(d, d, key);
    }
    to->key = key;
    to->filled = 0xffffu >> (BVH_COMPACT_WIDTH - node->count);
}

static inline fw leaf_steps(const opened_node *o, int axis) {
    return fw_mul(fw_add(o->lo[axis], o->minus_hi[axis]), fw_all(-1.0f / BVH_STEPS));
}

/* The error of corners in the blocks of the leaves of a node: half of their own steps on each axis,
 * and 1.05 of those of the node, which on three axes is less than two. */
static inline fw corner_error(const bvh_wide_node *node, const fw step[3]) {
    float x = node->step[0], y = node->step[1], z = node->step[2];
    float most = x > y ? x : y;
    most = most > z ? most : z;
    return fw_add(fw_max(fw_max(step[0], step[1]), step[2]), fw_all(most * 2));
}

static inline void add_nodes(pending_units *w, const bvh_wide_node *node, fw key,
                             unsigned candidates) {
    assert(w->nodes + LANES <= NODES_MAX);
    fw_pack(w->node_key + PAD + w->nodes, candidates, key);
    nw_pack(w->node + PAD + w->nodes, candidates, nw_count(node->first));
    w->nodes += (uint32_t)__builtin_popcount(candidates);
}

static inline void add_leaves(const search *s, pending_units *w, const bvh_wide_node *node,
                              const opened_node *o, unsigned candidates) {
    uint32_t at = PAD + w->leaves;
    fw step[3];
    fw_pack(w->leaf_key + at, candidates, o->key);
    nw_pack(w->leaf + at, candidates, nw_count(node->first));
    for (int axis = 0; axis < 3; axis++) {
        step[axis] = leaf_steps(o, axis);
        fw_pack(w->lo[axis] + at, candidates, o->lo[axis]);
        fw_pack(w->step[axis] + at, candidates, step[axis]);
    }
    fw_pack(w->error + at, candidates, corner_error(node, step));
    w->leaves += (uint32_t)__builtin_popcount(candidates);
    for (uint32_t g = WIDE_GROUPS; g-- > 0;) { /* prefetch those that will be visited next */
        uint32_t leaf = w->leaf[w->leaves + g];
        const char *block = (const char *)&s->bvh->blocks[leaf];
        __builtin_prefetch(block);
        __builtin_prefetch(block + 64);
        __builtin_prefetch(&s->bvh->order[(size_t)leaf * BVH_WIDTH]);
    }
}

/* ---- leaves ---- */

/* Visits the last four leaves. */
static inline void visit_last_leaves(search *s, pending_units *w) {
    uint32_t at = w->leaves; /* PAD entries precede them */
    w->leaves -= at < WIDE_GROUPS ? at : WIDE_GROUPS;
    prefetch_candidates(s);
    if (!m4_bits(f4_less_equal(f4_load(w->leaf_key + at), f4_all(s->upper_sq))))
        return;
    leaf_group group;
    for (int axis = 0; axis < 3; axis++) {
        group.lo[axis] = fw_spread(w->lo[axis] + at);
        group.step[axis] = fw_spread(w->step[axis] + at);
    }
    group.error = fw_spread(w->error + at);
    for (uint32_t g = 0; g < WIDE_GROUPS; g++)
        group.steps[g] = s->bvh->blocks[w->leaf[at + g]].step[0][0];
    visit_group(s, &group, w->leaf + at);
}

/* The triangle that is probably the result, and its place. */
typedef struct likely_triangle {
    uint32_t triangle, place;
} likely_triangle;

/* Visits the nearest leaf of a node and three neighbours, and removes them from `left`, which must
 * contain at least four. */
static inline likely_triangle visit_nearest_leaf(search *s, const bvh_wide_node *node,
                                                 const opened_node *o, unsigned *left) {
    const abut_mesh *mesh = s->bvh->mesh;
    uint32_t slot = fw_least_lane(o->key, o->filled), from = slot ? slot - 1 : 0;
    from = from + WIDE_GROUPS < node->count ? from : node->count - WIDE_GROUPS;
    uint32_t leaf = node->first + from;
    const uint32_t *order = &s->bvh->order[(size_t)leaf * BVH_WIDTH];
    leaf_group group;
    uint32_t leaves[WIDE_GROUPS];
    fw step[3], margin;
    for (uint32_t g = 0; g < WIDE_GROUPS; g++) {
        leaves[g] = leaf + g;
        group.steps[g] = s->bvh->blocks[leaf + g].step[0][0];
    }
    for (int axis = 0; axis < 3; axis++) {
        step[axis] = leaf_steps(o, axis);
        group.lo[axis] = fw_spread_from(o->lo[axis], from);
        group.step[axis] = fw_spread_from(step[axis], from);
    }
    group.error = fw_spread_from(corner_error(node, step), from);
    for (uint32_t i = 0; i < BVH_WIDTH; i++)
        __builtin_prefetch(&mesh->indices[3 * (size_t)order[BVH_WIDTH * (slot - from) + i]]);
    fw distance_sq = group_distances(s, &group, &margin);
    uint32_t lane = fw_least_lane(distance_sq, 0xffff);
    likely_triangle likely = {order[lane], leaf * BVH_WIDTH + lane};
    for (size_t k = 0; k < 3; k++)
        __builtin_prefetch(&mesh->positions[mesh->indices[3 * (size_t)likely.triangle + k]]);
    add_group(s, leaves, distance_sq, margin);
    *left &= ~(15u << from);
    return likely;
}

/* ---- searches ---- */

/* The siblings that a descent skips. */
typedef struct descent {
    const bvh_wide_node *node[BVH_COMPACT_LEVELS];
    fw key[BVH_COMPACT_LEVELS];
    unsigned skipped[BVH_COMPACT_LEVELS];
} descent;

/* Descends from the root to the nearest child, repeatedly. Returns the last node, opened. */
static inline const bvh_wide_node *descend(const search *s, const bvh_compact *tree, descent *down,
                                           opened_node *o) {
    const bvh_wide_node *node = &tree->nodes[tree->node_count - 1];
    open_node(s, node, o);
    for (uint32_t level = 0; level + 1 < tree->levels; level++) {
        uint32_t slot = fw_least_lane(o->key, o->filled);
        down->node[level] = node;
        down->key[level] = o->key;
        down->skipped[level] = o->filled & ~(1u << slot);
        node = &tree->nodes[node->first + slot - tree->leaf_count];
        open_node(s, node, o);
    }
    return node;
}

/* Visits all pending nodes and leaves, and their descendants. */
static void search_pending(search *s, const bvh_compact *tree, pending_units *w) {
    float upper_sq = s->upper_sq; /* the bound that all pending nodes are known to be within */
    for (;;) {
        while (w->leaves >= WIDE_GROUPS || (w->leaves && !w->nodes))
            visit_last_leaves(s, w);
        if (s->upper_sq < upper_sq) {
            upper_sq = s->upper_sq;
            prune_nodes(w, upper_sq);
        }
        if (!w->nodes) {
            if (w->leaves)
                continue;
            return;
        }
        const bvh_wide_node *node = &tree->nodes[w->node[PAD + --w->nodes] - tree->leaf_count];
        opened_node o;
        open_node(s, node, &o);
        unsigned candidates = mw_bits(fw_less_equal(o.key, fw_all(s->upper_sq))) & o.filled;
        if (node->first >= tree->leaf_count)
            add_nodes(w, node, o.key, candidates);
        else if (candidates)
            add_leaves(s, w, node, &o, candidates);
    }
}

void abuti_bvh_search_16(search *s) {
    const bvh_compact *tree = s->bvh->compact;
    descent down;
    opened_node o;
    likely_triangle likely = {ABUT_NONE, ABUT_NONE};
    s->box_margin = s->margin * 0.25f;
    const bvh_wide_node *node = descend(s, tree, &down, &o);
    unsigned left = o.filled;
    if (node->count >= WIDE_GROUPS)
        likely = visit_nearest_leaf(s, node, &o, &left);
    const fw upper_sq = fw_all(s->upper_sq);
    unsigned any = left &= mw_bits(fw_less_equal(o.key, upper_sq));
    for (uint32_t level = 0; level + 1 < tree->levels; level++)
        any |= down.skipped[level] &= mw_bits(fw_less_equal(down.key[level], upper_sq));
    if (any) {
        pending_units w;
        init_pending(&w);
        for (uint32_t level = 0; level + 1 < tree->levels; level++)
            add_nodes(&w, down.node[level], down.key[level], down.skipped[level]);
        if (left)
            add_leaves(s, &w, node, &o, left);
        search_pending(s, tree, &w);
    }
    prune_candidates(s);
    if (s->count == 1 && s->list[0].place == likely.place)
        abuti_bvh_measure_one_16(s, likely.triangle); /* its loads have begun */
    else if (s->count > 4)
        measure_candidates(s);
    else
        abuti_bvh_measure_few_16(s);
}
