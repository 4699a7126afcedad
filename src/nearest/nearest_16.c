/* The search of nearest.c for AVX-512: four nodes or four leaves at a time.
 *
 * A search that takes one node after the other waits: each step needs the result of the last, and
 * hardly any branch can be foreseen. But of the nodes that it visits all save a few must be visited
 * in any order, since they are nearer than the answer. So it goes straight down to the leaves that
 * seem nearest, which gives a bound, and then takes nodes four at a time as they come, without
 * sorting them; a new bound goes through all that wait, and brings the nearest of them to the
 * front.
 */
#define MEASURE_LANES 8
#include "nearest/search.h"

#include <assert.h>

enum {
    PAD = WIDE_GROUPS,
    /* So many nodes may wait in any order. Above them, from the bottom of the stack to its top,
     * nodes get deeper. Those of one depth come when all above have been taken, at most sixteen at
     * a time, and four of them go before any deeper one comes: twelve at each depth, and sixteen at
     * the last. Packing writes LANES beyond. */
    NODES_IN_ANY_ORDER = 256,
    NODES_MOST = NODES_IN_ANY_ORDER + 12 * BVH_DEPTH + 2 * LANES,
    /* On the way down three at each depth and four at the last; later three before a step. */
    LEAVES_MOST = 3 * BVH_DEPTH + 2 * LANES
};

/* A corner so far away that the triangles there are never near; its square is a float. */
#define NOWHERE 0x1p60f

/* Those that wait. The first PAD places hold what does no harm, for groups without any. */
typedef struct waiting {
    uint32_t nodes, leaves;                                        /* how many */
    float node_key[PAD + NODES_MOST], leaf_key[PAD + LEAVES_MOST]; /* squared distances */
    uint32_t node[PAD + NODES_MOST], leaf[PAD + LEAVES_MOST];
    float lo[3][PAD + LEAVES_MOST], step[3][PAD + LEAVES_MOST]; /* as in leaf_group */
} waiting;

static inline void start_waiting(waiting *w) {
    w->nodes = w->leaves = 0;
    memset(w->node, 0, PAD * sizeof *w->node);
    memset(w->leaf, 0, PAD * sizeof *w->leaf);
    f4_store(w->leaf_key, f4_all(FLT_MAX));
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
 * lies on its way: 118 leaves instead of 93 of a scan of a million triangles, where 71 are nearer
 * than the answer, and 919 instead of 270 of a cylinder with half a million sides. */
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
    if (w->nodes > WIDE_GROUPS && w->nodes <= NODES_IN_ANY_ORDER)
        take_first(w, fw_least(least));
}

/* Ask for what will be visited next; there are always four. */
FETCH void fetch_nodes(const abut_bvh *bvh, const waiting *w) {
    for (uint32_t g = WIDE_GROUPS; g-- > 0;) {
        const char *node = (const char *)&bvh->nodes[w->node[w->nodes + g]];
        __builtin_prefetch(node);
        __builtin_prefetch(node + 64);
    }
}
FETCH void fetch_leaves(const abut_bvh *bvh, const waiting *w) {
    for (uint32_t g = WIDE_GROUPS; g-- > 0;) {
        uint32_t leaf = w->leaf[w->leaves + g];
        const char *block = (const char *)&bvh->blocks[leaf];
        __builtin_prefetch(block);
        __builtin_prefetch(block + 64);
        __builtin_prefetch(&bvh->order[(size_t)leaf * BVH_WIDTH]);
    }
}

/* ---- nodes ---- */

/* From the root to the nearest child, again and again; what is beside the way waits. */
static void go_down(search *s, waiting *w) {
    const bvh_node *nodes = s->bvh->nodes;
    unsigned inner = 1;
    for (uint32_t index = 0, next; inner; index = next) {
        const bvh_node *node = &nodes[index];
        f4 lo[3], hi[3], key = f4_all(0);
        for (int axis = 0; axis < 3; axis++) {
            lo[axis] = f4_load(node->lo[axis]);
            hi[axis] = f4_load(node->hi[axis]);
            f4 below = f4_sub(lo[axis], f4_all(s->hi[axis]));
            f4 above = f4_sub(f4_all(s->lo[axis]), hi[axis]);
            f4 d = f4_max(f4_max(below, above), f4_all(0));
            key = f4_mul_add(d, d, key);
        }
        unsigned slot = f4_least_low(key, node->child, &next);
        unsigned near = m4_bits(f4_less_equal(key, f4_all(s->upper_sq)));
        unsigned leaf = m4_bits(m4_highest(node->child)) & near;
        inner = near & ~leaf;
        if (leaf) {
            uint32_t at = PAD + w->leaves;
            f4_pack(w->leaf_key + at, leaf, key);
            u4_pack_low(w->leaf + at, leaf, node->child);
            for (int axis = 0; axis < 3; axis++) {
                f4 extent = f4_sub(hi[axis], lo[axis]);
                f4_pack(w->lo[axis] + at, leaf, f4_sub(lo[axis], f4_all(s->at[axis])));
                f4_pack(w->step[axis] + at, leaf, f4_mul(extent, f4_all(1.0f / BVH_STEPS)));
            }
            w->leaves += (uint32_t)__builtin_popcount(leaf);
            fetch_leaves(s->bvh, w);
        }
        unsigned beside = inner & ~(1u << slot);
        f4_pack(w->node_key + PAD + w->nodes, beside, key);
        u4_pack_low(w->node + PAD + w->nodes, beside, node->child);
        w->nodes += (uint32_t)__builtin_popcount(beside);
    }
}

/* Puts the children of the last four nodes in their place. */
static inline void open_nodes(search *s, waiting *w) {
    const bvh_node *node[WIDE_GROUPS];
    for (uint32_t g = 0; g < WIDE_GROUPS; g++)
        node[g] = &s->bvh->nodes[w->node[w->nodes + g]];
    uint32_t count = w->nodes < WIDE_GROUPS ? w->nodes : WIDE_GROUPS;
    w->nodes -= count;
    assert(w->nodes + LANES <= NODES_MOST);
    fw lo[3], hi[3], key = fw_all(0);
    for (int axis = 0; axis < 3; axis++) {
        lo[axis] = fw_load_groups(node[0]->lo[axis], node[1]->lo[axis], node[2]->lo[axis],
                                  node[3]->lo[axis]);
        hi[axis] = fw_load_groups(node[0]->hi[axis], node[1]->hi[axis], node[2]->hi[axis],
                                  node[3]->hi[axis]);
        fw below = fw_sub(lo[axis], fw_all(s->hi[axis]));
        fw above = fw_sub(fw_all(s->lo[axis]), hi[axis]);
        fw d = fw_max(fw_max(below, above), fw_all(0));
        key = fw_mul_add(d, d, key);
    }
    nw child = nw_load_groups(node[0]->child, node[1]->child, node[2]->child, node[3]->child);
    unsigned near = mw_bits(fw_less_equal(key, fw_all(s->upper_sq)));
    near &= 0xffff0000u >> 4 * count; /* the last groups have nodes */
    unsigned leaf = nw_highest(child) & near, inner = near & ~leaf;
    fw_pack(w->node_key + PAD + w->nodes, inner, key);
    nw_pack(w->node + PAD + w->nodes, inner, child);
    w->nodes += (uint32_t)__builtin_popcount(inner);
    fetch_nodes(s->bvh, w);
    if (!leaf)
        return;
    uint32_t at = PAD + w->leaves;
    fw_pack(w->leaf_key + at, leaf, key);
    nw_pack(w->leaf + at, leaf, nw_low(child));
    for (int axis = 0; axis < 3; axis++) {
        fw extent = fw_sub(hi[axis], lo[axis]);
        fw_pack(w->lo[axis] + at, leaf, fw_sub(lo[axis], fw_all(s->at[axis])));
        fw_pack(w->step[axis] + at, leaf, fw_mul(extent, fw_all(1.0f / BVH_STEPS)));
    }
    w->leaves += (uint32_t)__builtin_popcount(leaf);
    fetch_leaves(s->bvh, w);
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
    for (uint32_t g = 0; g < WIDE_GROUPS; g++)
        group.steps[g] = s->bvh->blocks[w->leaf[at + g]].step[0][0];
    visit_group(s, &group, w->leaf + at);
}

void abuti_bvh_search_16(search *s) {
    waiting w;
    start_waiting(&w);
    go_down(s, &w);
    float upper_sq = INFINITY; /* that the nodes are known to be within */
    for (;;) {
        while (w.leaves >= WIDE_GROUPS || (w.leaves && !w.nodes))
            visit_last(s, &w);
        if (s->upper_sq < upper_sq) {
            upper_sq = s->upper_sq;
            drop_nodes(&w, upper_sq);
        }
        if (w.nodes)
            open_nodes(s, &w);
        else if (!w.leaves)
            break;
    }
    if (s->count > 4)
        measure_all(s);
    else
        abuti_bvh_measure_8(s);
}
