/* The compact tree: its nodes, and quantised boxes; see compact.h.
 *
 * Method: bottom-up, level by level. The four-wide nodes are visited from the last to the first,
 * children before their parents. All units below a node stay together as long as they fit into one
 * node of sixteen; otherwise the adjacent children that fit together become nodes. So a node of
 * sixteen is always a whole subtree, or some adjacent subtrees.
 */
#include "bvh/compact.h"

#include "base/simd.h"

#include <math.h>

typedef struct box_bounds {
    float lo[3], hi[3];
} box_bounds;

/* The state of a four-wide node at a level: its units may still join others; all have joined; or
 * the whole node is part of one unit. */
enum { OPEN, CLOSED, IN_UNIT };

typedef struct wide_grouping {
    uint32_t (*leaves)[2]; /* of each four-wide node: the first, and one past the last */
    uint8_t *state;
    uint32_t *before; /* how many units begin before a leaf */
    uint8_t *begins;  /* of a leaf: a unit begins there */
    uint8_t *next;    /* the same for the level above */
    struct {
        uint32_t first, count;
    } * nodes; /* created so far */
} wide_grouping;

/* The leaves of a child; an empty slot has none. */
static void child_leaf_range(const wide_grouping *g, uint32_t child, uint32_t *begin,
                             uint32_t *end) {
    *begin = child & BVH_LEAF ? child & ~BVH_LEAF : g->leaves[child][0];
    *end = child & BVH_LEAF ? *begin + 1 : g->leaves[child][1];
}

/* Computes the leaf ranges of subtrees. Returns false if they are not contiguous. */
static bool find_leaf_ranges(const abut_bvh *bvh, wide_grouping *g) {
    for (uint32_t i = bvh->node_count; i-- > 0;) {
        uint32_t begin = ABUT_NONE, at = 0;
        for (int slot = 0; slot < BVH_WIDTH; slot++) {
            uint32_t child = bvh->nodes[i].child[slot], from, to;
            if (child == ABUT_NONE)
                continue;
            child_leaf_range(g, child, &from, &to);
            if (begin != ABUT_NONE && from != at)
                return false;
            begin = begin == ABUT_NONE ? from : begin;
            at = to;
        }
        g->leaves[i][0] = begin;
        g->leaves[i][1] = at;
    }
    return g->leaves[0][0] == 0 && g->leaves[0][1] == bvh->leaf_count;
}

static box_bounds join_bounds(box_bounds a, box_bounds b) {
    for (int axis = 0; axis < 3; axis++) {
        a.lo[axis] = b.lo[axis] < a.lo[axis] ? b.lo[axis] : a.lo[axis];
        a.hi[axis] = b.hi[axis] > a.hi[axis] ? b.hi[axis] : a.hi[axis];
    }
    return a;
}

static float half_area(box_bounds a) {
    float x = a.hi[0] - a.lo[0], y = a.hi[1] - a.lo[1], z = a.hi[2] - a.lo[2];
    return x * y + y * z + z * x;
}

static box_bounds slot_box(const bvh_node *node, int slot) {
    box_bounds box;
    for (int axis = 0; axis < 3; axis++) {
        box.lo[axis] = node->lo[axis][slot];
        box.hi[axis] = node->hi[axis][slot];
    }
    return box;
}

/* Adjacent children of a node. */
typedef struct child_run {
    uint32_t begin, units; /* the first leaf; BVH_COMPACT_WIDTH + 1 units = closed */
    box_bounds box;
} child_run;

/* Creates nodes of the units below a node that have none yet: of two adjacent runs that fit
 * together, those with the smallest joint box are joined, repeatedly. */
static void close_runs(const bvh_node *node, wide_grouping *g) {
    child_run runs[BVH_WIDTH];
    int count = 0;
    for (int slot = 0; slot < BVH_WIDTH; slot++) {
        uint32_t child = node->child[slot], begin, end;
        if (child == ABUT_NONE)
            continue;
        child_leaf_range(g, child, &begin, &end);
        bool closed = !(child & BVH_LEAF) && g->state[child] == CLOSED;
        uint32_t units = closed ? BVH_COMPACT_WIDTH + 1 : g->before[end] - g->before[begin];
        box_bounds box = slot_box(node, slot);
        if (units) {
            runs[count++] = (child_run){begin, units, box};
        } else { /* part of the previous unit */
            runs[count - 1].box = join_bounds(runs[count - 1].box, box);
        }
    }
    for (int best = 0; best >= 0;) {
        float least = INFINITY;
        best = -1;
        for (int i = 0; i + 1 < count; i++) {
            float area = half_area(join_bounds(runs[i].box, runs[i + 1].box));
            if (runs[i].units + runs[i + 1].units <= BVH_COMPACT_WIDTH && area < least) {
                least = area;
                best = i;
            }
        }
        if (best < 0)
            break;
        runs[best].box = join_bounds(runs[best].box, runs[best + 1].box);
        runs[best].units += runs[best + 1].units;
        count--;
        for (int i = best + 1; i < count; i++)
            runs[i] = runs[i + 1];
    }
    for (int i = 0; i < count; i++)
        g->next[runs[i].begin] = runs[i].units <= BVH_COMPACT_WIDTH || g->next[runs[i].begin];
}

static void assign_units(const abut_bvh *bvh, wide_grouping *g) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < bvh->leaf_count; i++) {
        g->before[i] = sum;
        sum += g->begins[i];
    }
    g->before[bvh->leaf_count] = sum;
    memset(g->next, 0, bvh->leaf_count);
    for (uint32_t i = bvh->node_count; i-- > 0;) {
        if (g->state[i] == IN_UNIT)
            continue;
        const bvh_node *node = &bvh->nodes[i];
        bool open = g->before[g->leaves[i][1]] - g->before[g->leaves[i][0]] <= BVH_COMPACT_WIDTH;
        for (int slot = 0; slot < BVH_WIDTH && open; slot++)
            open = node->child[slot] & BVH_LEAF || g->state[node->child[slot]] != CLOSED;
        g->state[i] = open ? OPEN : CLOSED;
        if (!open)
            close_runs(node, g);
    }
    g->next[0] = 1; /* the units that are still open at the root are one unit */
    for (uint32_t i = 0; i < bvh->node_count; i++)
        g->state[i] = g->state[i] == OPEN ? IN_UNIT : g->state[i];
}

/* Creates the nodes of a level over units that are numbered from `first` on. Returns false if there
 * are more nodes than the capacity. */
static bool add_nodes_of_level(const abut_bvh *bvh, wide_grouping *g, uint32_t first,
                               uint32_t capacity, uint32_t *count) {
    uint32_t node_count = *count, unit = first;
    for (uint32_t i = 0; i < bvh->leaf_count; i++) {
        if (!g->begins[i])
            continue;
        if (g->next[i]) {
            if (node_count == capacity)
                return false;
            g->nodes[node_count].first = unit;
            g->nodes[node_count++].count = 0;
        }
        g->nodes[node_count - 1].count++;
        unit++;
    }
    *count = node_count;
    return true;
}

/* Creates all levels and returns their number; 0 if that needs too many nodes or levels. */
static uint32_t build_levels(const abut_bvh *bvh, wide_grouping *g, uint32_t capacity,
                             uint32_t *count) {
    uint32_t first = 0, node_count = 0;
    memset(g->state, OPEN, bvh->node_count);
    memset(g->begins, 1, bvh->leaf_count);
    *count = 0;
    for (uint32_t level = 1; level <= BVH_COMPACT_LEVELS; level++) {
        assign_units(bvh, g);
        if (!add_nodes_of_level(bvh, g, first, capacity, count))
            return 0;
        if (*count == node_count + 1)
            return level;
        first = bvh->leaf_count + node_count;
        node_count = *count;
        uint8_t *begins = g->begins;
        g->begins = g->next;
        g->next = begins;
    }
    return 0;
}

/* ---- boxes ---- */

static inline void fit_wide_node(bvh_wide_node *node, const bvh_wide_rows *rows) {
#ifdef ABUTI_WIDE_FILES
    abuti_bvh_wide_fit_16(node, rows);
#else
    (void)node, (void)rows;
#endif
}

/* Fits the lowest nodes to the leaves, which a traversal of the BVH visits in their order. */
static void fit_leaf_nodes(const abut_bvh *bvh) {
    struct {
        uint32_t node, slot;
    } stack[BVH_DEPTH + 1] = {{0, 0}};
    bvh_wide_node *node = bvh->compact->nodes;
    bvh_wide_rows rows;
    memset(&rows, 0, sizeof rows);
    for (uint32_t used = 1, filled = 0; used;) {
        uint32_t slot = stack[used - 1].slot++;
        const bvh_node *from = &bvh->nodes[stack[used - 1].node];
        used -= slot + 1 == BVH_WIDTH;
        if (from->child[slot] == ABUT_NONE)
            continue;
        if (!(from->child[slot] & BVH_LEAF)) {
            stack[used].node = from->child[slot];
            stack[used++].slot = 0;
            continue;
        }
        for (int axis = 0; axis < 3; axis++) {
            rows.lo[axis][filled] = from->lo[axis][slot];
            rows.hi[axis][filled] = from->hi[axis][slot];
        }
        if (++filled == node->count) {
            fit_wide_node(node++, &rows);
            filled = 0;
        }
    }
}

/* Fits the other nodes to the nodes below. Clamping to the largest step does no harm. */
static void fit_inner_nodes(bvh_compact *tree) {
    bvh_wide_rows rows;
    memset(&rows, 0, sizeof rows);
    for (uint32_t i = 0; i < tree->node_count; i++) {
        if (tree->nodes[i].first < tree->leaf_count)
            continue;
        const bvh_wide_node *child = &tree->nodes[tree->nodes[i].first - tree->leaf_count];
        for (uint32_t slot = 0; slot < tree->nodes[i].count; slot++, child++)
            for (int axis = 0; axis < 3; axis++) {
                rows.lo[axis][slot] = child->origin[axis];
                rows.hi[axis][slot] = child->origin[axis] + child->step[axis] * BVH_STEPS;
            }
        fit_wide_node(&tree->nodes[i], &rows);
    }
}

bool abuti_bvh_compact_fit(const abut_bvh *bvh) {
    int state = BVH_COMPACT_STALE;
    if (atomic_load_explicit(&bvh->compact->state, memory_order_relaxed) == BVH_COMPACT_FITTING)
        return false;
    if (!atomic_compare_exchange_strong(&bvh->compact->state, &state, BVH_COMPACT_FITTING))
        return state == BVH_COMPACT_READY;
    fit_leaf_nodes(bvh);
    fit_inner_nodes(bvh->compact);
    atomic_store(&bvh->compact->state, BVH_COMPACT_READY);
    return true;
}

/* ---- lifetime ---- */

static size_t compact_bytes(uint32_t nodes) {
    return sizeof(bvh_compact) + nodes * sizeof(bvh_wide_node);
}

static bvh_compact *allocate_tree(const abut_bvh *bvh, uint32_t nodes, uint32_t levels) {
    bvh_compact *node_count = abuti_allocate(bvh->context, 1, compact_bytes(nodes));
    if (node_count) {
        node_count->leaf_count = bvh->leaf_count;
        node_count->node_count = nodes;
        node_count->levels = levels;
        atomic_init(&node_count->state, BVH_COMPACT_STALE);
    }
    return node_count;
}

abut_status abuti_bvh_compact_create(abut_bvh *bvh) {
    abut_context *context = bvh->context;
    const size_t nodes = bvh->node_count, leaves = bvh->leaf_count;
    const uint64_t most = 40 * (uint64_t)bvh->triangle_count + 400, base = abuti_bvh_bytes(bvh);
    if (abuti_simd_lanes() < 16)
        return ABUT_OK;
    const uint32_t capacity = (uint32_t)(leaves / 4) + 1;
    wide_grouping g = {
        .leaves = abuti_allocate(context, nodes, sizeof *g.leaves),
        .state = abuti_allocate(context, nodes, 1),
        .before = abuti_allocate(context, leaves + 1, sizeof *g.before),
        .begins = abuti_allocate(context, leaves, 1),
        .next = abuti_allocate(context, leaves, 1),
        .nodes = abuti_allocate(context, capacity, sizeof *g.nodes),
    };
    abut_status status = ABUT_ERROR_MEMORY;
    if (g.leaves && g.state && g.before && g.begins && g.next && g.nodes) {
        uint32_t count = 0,
                 levels = find_leaf_ranges(bvh, &g) ? build_levels(bvh, &g, capacity, &count) : 0;
        status = ABUT_OK;
        if (levels && base + compact_bytes(count) <= most) {
            bvh->compact = allocate_tree(bvh, count, levels);
            status = bvh->compact ? ABUT_OK : ABUT_ERROR_MEMORY;
        }
    }
    for (uint32_t i = 0; bvh->compact && i < bvh->compact->node_count; i++) {
        bvh->compact->nodes[i].first = g.nodes[i].first;
        bvh->compact->nodes[i].count = g.nodes[i].count;
    }
    ABUTI_RELEASE(context, g.leaves, g.state, g.before, g.begins, g.next, g.nodes);
    return status;
}

void abuti_bvh_compact_invalidate(abut_bvh *bvh) {
    if (bvh->compact)
        atomic_store(&bvh->compact->state, BVH_COMPACT_STALE);
}

size_t abuti_bvh_compact_bytes(const bvh_compact *tree) {
    return tree ? compact_bytes(tree->node_count) : 0;
}
