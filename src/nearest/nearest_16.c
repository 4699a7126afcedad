/* The search of nearest.c for AVX-512, through the compact tree: sixteen children at once, or four
 * leaves.
 *
 * A search near the surface waits: each node for the one above, the triangles for the leaf, and
 * doubles for the triangle; there is little else to do meanwhile. So it goes straight down to the
 * leaf that seems nearest and visits that and its neighbours. The nearest triangle there is likely
 * the answer, and its corners are asked for at once. What stands beside the way is left as it is
 * until there is a bound; mostly none of it is near enough. Else nodes are taken as they come,
 * without sorting them; a new bound goes through all that wait, and brings the nearest of them to
 * the front.
 *
 * Boxes are off by the rounding of the point, of a difference and of a sum, each e M on an axis in
 * the words of nearest.c, so by 6 e M in all; a bound from a triangle's distance in floats has 24
 * e M to spare.
 */
#define MEASURE_LANES 8
#include "nearest/search.h"

#include "bvh/compact.h"

#include <assert.h>

enum {
    PAD = WIDE_GROUPS,
    /* So many nodes may wait in any order. Above them, from the bottom of the stack to its top,
     * nodes get deeper, and there are at most sixteen of each depth. Packing writes LANES beyond.
     */
    NODES_IN_ANY_ORDER = 256,
    NODES_MAX = NODES_IN_ANY_ORDER + LANES * BVH_COMPACT_LEVELS + LANES,
    LEAVES_MAX = 3 * LANES /* three are left before those of a node come */
};
_Static_assert(LANES == BVH_COMPACT_WIDTH && LANES * BVH_COMPACT_LEVELS <= NODES_IN_ANY_ORDER,
               "a way down leaves no more than may wait in any order");

/* A corner so far away that the triangles there are never near; its square is a float. */
#define NOWHERE 0x1p60f

/* Those that wait. The first PAD places hold what does no harm, for groups without any. */
typedef struct waiting {
    uint32_t nodes, leaves;                                      /* how many */
    float node_key[PAD + NODES_MAX], leaf_key[PAD + LEAVES_MAX]; /* squared distances */
    uint32_t node[PAD + NODES_MAX], leaf[PAD + LEAVES_MAX];
    float lo[3][PAD + LEAVES_MAX], step[3][PAD + LEAVES_MAX]; /* as in leaf_group */
    float off[PAD + LEAVES_MAX];
} waiting;

static inline void start_waiting(waiting *w) {
    w->nodes = w->leaves = 0;
    memset(w->leaf, 0, PAD * sizeof *w->leaf);
    f4_store(w->leaf_key, f4_all(FLT_MAX));
    f4_store(w->off, f4_all(0));
    for (int axis = 0; axis < 3; axis++) {
        f4_store(w->lo[axis], f4_all(NOWHERE));
        f4_store(w->step[axis], f4_all(0));
    }
}

/* Puts a node of this key last, which is next. */
static inline void take_first(waiting *w, float key) {
    uint32_t last = PAD + w->nodes - 1, i = last;
    while (w->node_key[i] != key)
        i--;
    uint32_t node = w->node[i];
    w->node_key[i] = w->node_key[last];
    w->node[i] = w->node[last];
    w->node_key[last] = key;
    w->node[last] = node;
}

/* Drops the nodes that have been overtaken; the nearest of those that are left is next. Without
 * that a search that has begun in the wrong place comes nearer step by step, and visits all that
 * lies on its way. */
static inline void drop_nodes(waiting *w, float upper_sq) {
    uint32_t kept = PAD, end = PAD + w->nodes;
    fw least = fw_all(INFINITY);
    for (uint32_t i = PAD; i < end; i += LANES) {
        fw key = fw_load(w->node_key + i);
        nw node = nw_load(w->node + i);
        unsigned near = mw_bits(fw_less_equal(key, fw_all(upper_sq)));
        near &= end - i < LANES ? (1u << (end - i)) - 1 : ~0u;
        least = fw_min(least, fw_select((mw)near, key, least));
        fw_pack(w->node_key + kept, near, key);
        nw_pack(w->node + kept, near, node);
        kept += (uint32_t)__builtin_popcount(near);
    }
    w->nodes = kept - PAD;
    if (w->nodes > 1 && w->nodes <= NODES_IN_ANY_ORDER)
        take_first(w, fw_least(least));
}

/* ---- nodes ---- */

/* The boxes of a node's children seen from the point, and squared distances to them. */
typedef struct opened {
    fw lo[3], minus_hi[3], key;
    unsigned filled; /* lanes with a child */
} opened;

static inline void open_node(const search *s, const bvh_wide_node *node, opened *to) {
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

static inline fw leaf_steps(const opened *o, int axis) {
    return fw_mul(fw_add(o->lo[axis], o->minus_hi[axis]), fw_all(-1.0f / BVH_STEPS));
}

/* By how much corners in the blocks of a node's leaves may be off: half of their own steps on each
 * axis, and 1.05 of those of the node, which on three axes is less than two. */
static inline fw leaf_off(const bvh_wide_node *node, const fw step[3]) {
    float x = node->step[0], y = node->step[1], z = node->step[2];
    float most = x > y ? x : y;
    most = most > z ? most : z;
    return fw_add(fw_max(fw_max(step[0], step[1]), step[2]), fw_all(most * 2));
}

static inline void add_nodes(waiting *w, const bvh_wide_node *node, fw key, unsigned near) {
    assert(w->nodes + LANES <= NODES_MAX);
    fw_pack(w->node_key + PAD + w->nodes, near, key);
    nw_pack(w->node + PAD + w->nodes, near, nw_count(node->first));
    w->nodes += (uint32_t)__builtin_popcount(near);
}

static inline void add_leaves(const search *s, waiting *w, const bvh_wide_node *node,
                              const opened *o, unsigned near) {
    uint32_t at = PAD + w->leaves;
    fw step[3];
    fw_pack(w->leaf_key + at, near, o->key);
    nw_pack(w->leaf + at, near, nw_count(node->first));
    for (int axis = 0; axis < 3; axis++) {
        step[axis] = leaf_steps(o, axis);
        fw_pack(w->lo[axis] + at, near, o->lo[axis]);
        fw_pack(w->step[axis] + at, near, step[axis]);
    }
    fw_pack(w->off + at, near, leaf_off(node, step));
    w->leaves += (uint32_t)__builtin_popcount(near);
    for (uint32_t g = WIDE_GROUPS; g-- > 0;) { /* those that will be visited next */
        uint32_t leaf = w->leaf[w->leaves + g];
        const char *block = (const char *)&s->bvh->blocks[leaf];
        __builtin_prefetch(block);
        __builtin_prefetch(block + 64);
        __builtin_prefetch(&s->bvh->order[(size_t)leaf * BVH_WIDTH]);
    }
}

/* ---- leaves ---- */

/* Visits the last four leaves. */
static inline void visit_last(search *s, waiting *w) {
    uint32_t at = w->leaves; /* PAD before */
    w->leaves -= at < WIDE_GROUPS ? at : WIDE_GROUPS;
    fetch_candidates(s);
    if (!m4_bits(f4_less_equal(f4_load(w->leaf_key + at), f4_all(s->upper_sq))))
        return;
    leaf_group group;
    for (int axis = 0; axis < 3; axis++) {
        group.lo[axis] = fw_spread(w->lo[axis] + at);
        group.step[axis] = fw_spread(w->step[axis] + at);
    }
    group.off = fw_spread(w->off + at);
    for (uint32_t g = 0; g < WIDE_GROUPS; g++)
        group.steps[g] = s->bvh->blocks[w->leaf[at + g]].step[0][0];
    visit_group(s, &group, w->leaf + at);
}

/* The triangle that is likely the answer, and its place. */
typedef struct guess {
    uint32_t triangle, place;
} guess;

/* Visits the nearest leaf of a node and three neighbours, which it takes from `left`. There must be
 * as many. */
static inline guess visit_first(search *s, const bvh_wide_node *node, const opened *o,
                                unsigned *left) {
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
    group.off = fw_spread_from(leaf_off(node, step), from);
    for (uint32_t i = 0; i < BVH_WIDTH; i++)
        __builtin_prefetch(&mesh->indices[3 * (size_t)order[BVH_WIDTH * (slot - from) + i]]);
    fw distance_sq = group_distances(s, &group, &margin);
    uint32_t lane = fw_least_lane(distance_sq, 0xffff);
    guess likely = {order[lane], leaf * BVH_WIDTH + lane};
    for (size_t k = 0; k < 3; k++)
        __builtin_prefetch(&mesh->positions[mesh->indices[3 * (size_t)likely.triangle + k]]);
    take_group(s, leaves, distance_sq, margin);
    *left &= ~(15u << from);
    return likely;
}

/* ---- searches ---- */

/* What a way down leaves aside. */
typedef struct way {
    const bvh_wide_node *node[BVH_COMPACT_LEVELS];
    fw key[BVH_COMPACT_LEVELS];
    unsigned beside[BVH_COMPACT_LEVELS];
} way;

/* From the root to the nearest child, again and again. Gives the last node, opened. */
static inline const bvh_wide_node *go_down(const search *s, const bvh_compact *tree, way *down,
                                           opened *o) {
    const bvh_wide_node *node = &tree->nodes[tree->node_count - 1];
    open_node(s, node, o);
    for (uint32_t level = 0; level + 1 < tree->levels; level++) {
        uint32_t slot = fw_least_lane(o->key, o->filled);
        down->node[level] = node;
        down->key[level] = o->key;
        down->beside[level] = o->filled & ~(1u << slot);
        node = &tree->nodes[node->first + slot - tree->leaf_count];
        open_node(s, node, o);
    }
    return node;
}

/* Visits all that wait, and what comes of them. */
static void search_rest(search *s, const bvh_compact *tree, waiting *w) {
    float upper_sq = s->upper_sq; /* that the nodes are known to be within */
    for (;;) {
        while (w->leaves >= WIDE_GROUPS || (w->leaves && !w->nodes))
            visit_last(s, w);
        if (s->upper_sq < upper_sq) {
            upper_sq = s->upper_sq;
            drop_nodes(w, upper_sq);
        }
        if (!w->nodes) {
            if (w->leaves)
                continue;
            return;
        }
        const bvh_wide_node *node = &tree->nodes[w->node[PAD + --w->nodes] - tree->leaf_count];
        opened o;
        open_node(s, node, &o);
        unsigned near = mw_bits(fw_less_equal(o.key, fw_all(s->upper_sq))) & o.filled;
        if (node->first >= tree->leaf_count)
            add_nodes(w, node, o.key, near);
        else if (near)
            add_leaves(s, w, node, &o, near);
    }
}

void abuti_bvh_search_16(search *s) {
    const bvh_compact *tree = s->bvh->compact;
    way down;
    opened o;
    guess likely = {ABUT_NONE, ABUT_NONE};
    s->box_margin = s->margin * 0.25f;
    const bvh_wide_node *node = go_down(s, tree, &down, &o);
    unsigned left = o.filled;
    if (node->count >= WIDE_GROUPS)
        likely = visit_first(s, node, &o, &left);
    const fw upper_sq = fw_all(s->upper_sq);
    unsigned any = left &= mw_bits(fw_less_equal(o.key, upper_sq));
    for (uint32_t level = 0; level + 1 < tree->levels; level++)
        any |= down.beside[level] &= mw_bits(fw_less_equal(down.key[level], upper_sq));
    if (any) {
        waiting w;
        start_waiting(&w);
        for (uint32_t level = 0; level + 1 < tree->levels; level++)
            add_nodes(&w, down.node[level], down.key[level], down.beside[level]);
        if (left)
            add_leaves(s, &w, node, &o, left);
        search_rest(s, tree, &w);
    }
    drop_candidates(s);
    if (s->count == 1 && s->list[0].place == likely.place)
        abuti_bvh_measure_one_16(s, likely.triangle); /* whose loads have begun */
    else if (s->count > 4)
        measure_all(s);
    else
        abuti_bvh_measure_few_16(s);
}
