/* The compact tree: which nodes become one, and boxes in steps; see compact.h.
 *
 * Method: from the leaves up, level by level. Nodes of four are gone through from the last to the
 * first, children before their parents; as long as all units below a node fit into one node of
 * sixteen they may, and where they do not, the children that stand side by side and fit together
 * become nodes. So a node of sixteen is always a whole subtree, or some neighbours.
 */
#include "bvh/compact.h"

#include "base/simd.h"

#include <math.h>

typedef struct unit_box {
    float lo[3], hi[3];
} unit_box;

/* What nodes of four are at a level: units below may still join others, or all have; or the whole
 * node is a part of one unit. */
enum { OPEN, CLOSED, INSIDE };

typedef struct grouping {
    uint32_t (*leaves)[2]; /* of each node of four: the first, and the one behind the last */
    uint8_t *state;
    uint32_t *before; /* how many units begin before a leaf */
    uint8_t *begins;  /* of a leaf: a unit begins there */
    uint8_t *next;    /* the same for the level above */
    struct {
        uint32_t first, count;
    } * nodes; /* that have been made */
} grouping;

/* The leaves of a child; an empty slot has none. */
static void child_leaves(const grouping *g, uint32_t child, uint32_t *begin, uint32_t *end) {
    *begin = child & BVH_LEAF ? child & ~BVH_LEAF : g->leaves[child][0];
    *end = child & BVH_LEAF ? *begin + 1 : g->leaves[child][1];
}

/* Leaves of subtrees; false where they do not stand one after the other. */
static bool find_leaves(const abut_bvh *bvh, grouping *g) {
    for (uint32_t i = bvh->node_count; i-- > 0;) {
        uint32_t begin = ABUT_NONE, at = 0;
        for (int slot = 0; slot < BVH_WIDTH; slot++) {
            uint32_t child = bvh->nodes[i].child[slot], from, to;
            if (child == ABUT_NONE)
                continue;
            child_leaves(g, child, &from, &to);
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

static unit_box join_boxes(unit_box a, unit_box b) {
    for (int axis = 0; axis < 3; axis++) {
        a.lo[axis] = b.lo[axis] < a.lo[axis] ? b.lo[axis] : a.lo[axis];
        a.hi[axis] = b.hi[axis] > a.hi[axis] ? b.hi[axis] : a.hi[axis];
    }
    return a;
}

static float half_area(unit_box a) {
    float x = a.hi[0] - a.lo[0], y = a.hi[1] - a.lo[1], z = a.hi[2] - a.lo[2];
    return x * y + y * z + z * x;
}

static unit_box slot_box(const bvh_node *node, int slot) {
    unit_box box;
    for (int axis = 0; axis < 3; axis++) {
        box.lo[axis] = node->lo[axis][slot];
        box.hi[axis] = node->hi[axis][slot];
    }
    return box;
}

/* Some neighbours among the children of a node. */
typedef struct run {
    uint32_t begin, units; /* the first leaf; BVH_COMPACT_WIDTH + 1 units = has been closed */
    unit_box box;
} run;

/* Makes nodes of the units below a node that are in none yet: of two neighbours that fit, those of
 * the smallest box become one, again and again. */
static void close_node(const bvh_node *node, grouping *g) {
    run runs[BVH_WIDTH];
    int count = 0;
    for (int slot = 0; slot < BVH_WIDTH; slot++) {
        uint32_t child = node->child[slot], begin, end;
        if (child == ABUT_NONE)
            continue;
        child_leaves(g, child, &begin, &end);
        bool closed = !(child & BVH_LEAF) && g->state[child] == CLOSED;
        uint32_t units = closed ? BVH_COMPACT_WIDTH + 1 : g->before[end] - g->before[begin];
        unit_box box = slot_box(node, slot);
        if (units) {
            runs[count++] = (run){begin, units, box};
        } else { /* a part of the unit before */
            runs[count - 1].box = join_boxes(runs[count - 1].box, box);
        }
    }
    for (int best = 0; best >= 0;) {
        float least = INFINITY;
        best = -1;
        for (int i = 0; i + 1 < count; i++) {
            float area = half_area(join_boxes(runs[i].box, runs[i + 1].box));
            if (runs[i].units + runs[i + 1].units <= BVH_COMPACT_WIDTH && area < least) {
                least = area;
                best = i;
            }
        }
        if (best < 0)
            break;
        runs[best].box = join_boxes(runs[best].box, runs[best + 1].box);
        runs[best].units += runs[best + 1].units;
        count--;
        for (int i = best + 1; i < count; i++)
            runs[i] = runs[i + 1];
    }
    for (int i = 0; i < count; i++)
        g->next[runs[i].begin] = runs[i].units <= BVH_COMPACT_WIDTH || g->next[runs[i].begin];
}

static void join_level(const abut_bvh *bvh, grouping *g) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < bvh->leaf_count; i++) {
        g->before[i] = sum;
        sum += g->begins[i];
    }
    g->before[bvh->leaf_count] = sum;
    memset(g->next, 0, bvh->leaf_count);
    for (uint32_t i = bvh->node_count; i-- > 0;) {
        if (g->state[i] == INSIDE)
            continue;
        const bvh_node *node = &bvh->nodes[i];
        bool open = g->before[g->leaves[i][1]] - g->before[g->leaves[i][0]] <= BVH_COMPACT_WIDTH;
        for (int slot = 0; slot < BVH_WIDTH && open; slot++)
            open = node->child[slot] & BVH_LEAF || g->state[node->child[slot]] != CLOSED;
        g->state[i] = open ? OPEN : CLOSED;
        if (!open)
            close_node(node, g);
    }
    g->next[0] = 1; /* what is still open at the root is one unit */
    for (uint32_t i = 0; i < bvh->node_count; i++)
        g->state[i] = g->state[i] == OPEN ? INSIDE : g->state[i];
}

/* Makes the nodes of a level over units that are numbered from `first` on; false where there are
 * more nodes than there is room for. */
static bool add_level(const abut_bvh *bvh, grouping *g, uint32_t first, uint32_t room,
                      uint32_t *count) {
    uint32_t made = *count, unit = first;
    for (uint32_t i = 0; i < bvh->leaf_count; i++) {
        if (!g->begins[i])
            continue;
        if (g->next[i]) {
            if (made == room)
                return false;
            g->nodes[made].first = unit;
            g->nodes[made++].count = 0;
        }
        g->nodes[made - 1].count++;
        unit++;
    }
    *count = made;
    return true;
}

/* All levels; 0 where that takes too many nodes or levels. */
static uint32_t join_all(const abut_bvh *bvh, grouping *g, uint32_t room, uint32_t *count) {
    uint32_t first = 0, made = 0;
    memset(g->state, OPEN, bvh->node_count);
    memset(g->begins, 1, bvh->leaf_count);
    *count = 0;
    for (uint32_t level = 1; level <= BVH_COMPACT_LEVELS; level++) {
        join_level(bvh, g);
        if (!add_level(bvh, g, first, room, count))
            return 0;
        if (*count == made + 1)
            return level;
        first = bvh->leaf_count + made;
        made = *count;
        uint8_t *begins = g->begins;
        g->begins = g->next;
        g->next = begins;
    }
    return 0;
}

/* ---- boxes ---- */

static inline void set_steps(bvh_wide_node *node, const bvh_wide_rows *rows) {
#ifdef ABUTI_WIDE_FILES
    abuti_bvh_wide_fit_16(node, rows);
#else
    (void)node, (void)rows;
#endif
}

/* Fits the lowest nodes to the leaves, which a traversal of the hierarchy meets in their order. */
static void fit_leaves(const abut_bvh *bvh) {
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
            set_steps(node++, &rows);
            filled = 0;
        }
    }
}

/* Fits the others to the nodes below. What a box has beyond the largest step does no harm. */
static void fit_nodes(bvh_compact *tree) {
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
        set_steps(&tree->nodes[i], &rows);
    }
}

bool abuti_bvh_compact_fit(const abut_bvh *bvh) {
    int state = BVH_COMPACT_STALE;
    if (atomic_load_explicit(&bvh->compact->state, memory_order_relaxed) == BVH_COMPACT_FITTING)
        return false;
    if (!atomic_compare_exchange_strong(&bvh->compact->state, &state, BVH_COMPACT_FITTING))
        return state == BVH_COMPACT_READY;
    fit_leaves(bvh);
    fit_nodes(bvh->compact);
    atomic_store(&bvh->compact->state, BVH_COMPACT_READY);
    return true;
}

/* ---- life ---- */

static size_t compact_bytes(uint32_t nodes) {
    return sizeof(bvh_compact) + nodes * sizeof(bvh_wide_node);
}

static bvh_compact *allocate_tree(const abut_bvh *bvh, uint32_t nodes, uint32_t levels) {
    bvh_compact *made = abuti_allocate(bvh->context, 1, compact_bytes(nodes));
    if (made) {
        made->leaf_count = bvh->leaf_count;
        made->node_count = nodes;
        made->levels = levels;
        atomic_init(&made->state, BVH_COMPACT_STALE);
    }
    return made;
}

abut_status abuti_bvh_compact_create(abut_bvh *bvh) {
    abut_context *context = bvh->context;
    const size_t nodes = bvh->node_count, leaves = bvh->leaf_count;
    const uint64_t most = 40 * (uint64_t)bvh->triangle_count + 400, base = abuti_bvh_bytes(bvh);
    if (abuti_simd_lanes() < 16)
        return ABUT_OK;
    const uint32_t room = (uint32_t)(leaves / 4) + 1;
    grouping g = {
        .leaves = abuti_allocate(context, nodes, sizeof *g.leaves),
        .state = abuti_allocate(context, nodes, 1),
        .before = abuti_allocate(context, leaves + 1, sizeof *g.before),
        .begins = abuti_allocate(context, leaves, 1),
        .next = abuti_allocate(context, leaves, 1),
        .nodes = abuti_allocate(context, room, sizeof *g.nodes),
    };
    abut_status status = ABUT_ERROR_MEMORY;
    if (g.leaves && g.state && g.before && g.begins && g.next && g.nodes) {
        uint32_t count = 0, levels = find_leaves(bvh, &g) ? join_all(bvh, &g, room, &count) : 0;
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

void abuti_bvh_compact_forget(abut_bvh *bvh) {
    if (bvh->compact)
        atomic_store(&bvh->compact->state, BVH_COMPACT_STALE);
}

size_t abuti_bvh_compact_bytes(const bvh_compact *tree) {
    return tree ? compact_bytes(tree->node_count) : 0;
}
