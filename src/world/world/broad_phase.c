/* Broad phase: pairs of items whose bounding boxes overlap.
 *
 * The items of each motion class form a k-d tree (Bentley 1975): a range of items is halved at the
 * median of the centres of their boxes, along the axis on which these are spread farthest, and
 * every range has its bounding box. Each item traverses the trees for the items after it. Time: n
 * log n + pairs, unless boxes are long and cross each other. A few items far away do not degrade
 * the tree.
 *
 * Trees are kept while only poses and shapes change. Boxes are computed again in every search, so
 * that a tree of any age finds all pairs; only its speed depends on where items were when it was
 * built. If few items have changed since the last search, only these traverse the trees, and pairs
 * of two other items are kept.
 *
 * Pairs that are never tested are skipped: dynamic items come first in the order, then kinematic,
 * then static and sleeping ones. Dynamic items search all items after them; kinematic ones only if
 * there are sleeping items, or sensors that are not dynamic; static and sleeping ones never. Planes
 * have no box and are tested with every item.
 */
#include "world/world.h"

#include "base/sort.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>

enum {
    LEAF_ITEMS = 4,
    QUERIES_PER_TASK = 32,
    STACK_MAX = 64,
    TREE_SEARCHES = 64, /* then it is built again */
    FEW_ITEMS = 4       /* a partial search is for at most a quarter of all items */
};
#define TREE_GROWTH 1.2 /* of the sizes of all nodes: then it is built again */

typedef world_tree_entry entry;
typedef world_tree_node node;

typedef struct broad {
    abut_world *world;
    double reach;              /* added to boxes and planes; sweeps */
    const world_sweep *sweeps; /* by item: boxes of a step; null: boxes at the current poses */
    bool is_partial;           /* only items that have changed search */
    entry *entries;
    node *nodes;
    atomic_uint_fast64_t total; /* pairs of all chunks */
} broad;

static box3 item_box(const broad *b, uint32_t item) {
    return b->sweeps ? b->sweeps[item].box : world_items(b->world)[item].at.box;
}

static uint32_t motion_class(const world_item *item) {
    return item->filter.traits & (WORLD_IS_STATIC | WORLD_IS_ASLEEP) ? 2
           : item->filter.traits & WORLD_IS_DYNAMIC                  ? 0
                                                                     : 1;
}

static bool has_box(const world_item *item) {
    return item->used && item->kind != ABUT_COLLIDER_PLANE;
}

/* ---- the trees ---- */

/* Orders a range of items as a tree; its depth is at most 32. */
static void build_node(broad *b, uint32_t begin, uint32_t end) {
    world_tree *tree = &b->world->tree;
    sort_key *keys = b->world->keys.data;
    node *n = &b->nodes[tree->node_count++];
    box3 centres = box_empty();
    *n = (node){box_empty(), begin, end, 0};
    if (end - begin <= LEAF_ITEMS)
        return;
    for (uint32_t i = begin; i < end; i++)
        centres = box_grow(centres, box_centre(item_box(b, keys[i].value)));
    const uint32_t middle = begin + (end - begin) / 2;
    const int axis = box_longest_axis(centres);
    for (uint32_t i = begin; i < end; i++)
        keys[i].key = abuti_ordered_bits(v3_get(box_centre(item_box(b, keys[i].value)), axis));
    abuti_select(keys + begin, b->world->spare.data, end - begin, middle - begin);
    build_node(b, begin, middle);
    n->right = tree->node_count;
    build_node(b, middle, end);
}

static abut_status build_trees(broad *b) {
    abut_world *world = b->world;
    world_tree *tree = &world->tree;
    const world_item *items = world_items(world);
    uint32_t count = 0, used = 0;
    tree->searches = tree->node_count = 0;
    for (size_t i = 0; i < world->items.count; i++)
        count += has_box(&items[i]);
    abut_status status;
    if ((status = abuti_vector_reserve(world->context, &world->keys, count, sizeof(sort_key))) ||
        (status = abuti_vector_reserve(world->context, &world->spare, count, sizeof(sort_key))) ||
        (status = abuti_vector_reserve(world->context, &tree->entries, count, sizeof(entry))) ||
        (status = abuti_vector_reserve(world->context, &tree->nodes, count + 1, sizeof(node))))
        return status;
    b->entries = tree->entries.data;
    b->nodes = tree->nodes.data;
    sort_key *keys = world->keys.data;
    for (uint32_t k = 0; k < WORLD_CLASSES; k++) {
        tree->class_begin[k] = used;
        for (uint32_t i = 0; i < world->items.count; i++)
            if (has_box(&items[i]) && motion_class(&items[i]) == k)
                keys[used++].value = i;
        tree->roots[k] = tree->node_count;
        if (used > tree->class_begin[k])
            build_node(b, tree->class_begin[k], used);
    }
    tree->roots[WORLD_CLASSES] = tree->node_count;
    tree->class_begin[WORLD_CLASSES] = used;
    for (uint32_t i = 0; i < used; i++)
        b->entries[i].item = keys[i].value;
    return ABUT_OK;
}

/* Computes the boxes of all entries and nodes. Returns the sum of the sizes of nodes. */
static double fit_trees(const broad *b) {
    const world_tree *tree = &b->world->tree;
    double size = 0;
    for (uint32_t i = 0; i < tree->class_begin[WORLD_CLASSES]; i++)
        b->entries[i].box = item_box(b, b->entries[i].item);
    for (uint32_t k = tree->node_count; k-- > 0;) { /* children have larger indices */
        node *n = &b->nodes[k];
        n->box = n->right ? box_join(b->nodes[k + 1].box, b->nodes[n->right].box) : box_empty();
        for (uint32_t i = n->begin; i < n->end && !n->right; i++)
            n->box = box_join(n->box, b->entries[i].box);
        const vec3 sides = v3_sub(n->box.hi, n->box.lo);
        size += sides.x + sides.y + sides.z;
    }
    return size;
}

/* Fits the trees, and builds them if items were added or removed, or the trees are old or loose. */
static abut_status update_trees(broad *b) {
    world_tree *tree = &b->world->tree;
    b->entries = tree->entries.data;
    b->nodes = tree->nodes.data;
    if (tree->searches && tree->searches < TREE_SEARCHES &&
        fit_trees(b) <= TREE_GROWTH * tree->size) {
        tree->searches++;
        return ABUT_OK;
    }
    abut_status status = build_trees(b);
    if (status)
        return status;
    tree->size = fit_trees(b);
    tree->searches = 1;
    return ABUT_OK;
}

/* ---- traversal ---- */

static void append_pair(broad *b, world_chunk *chunk, uint32_t a, uint32_t other) {
    abut_world_pair *pair = ABUTI_PUSH(b->world->context, &chunk->list, abut_world_pair);
    if (pair)
        *pair = (abut_world_pair){a < other ? a : other, a < other ? other : a};
    else
        chunk->status = ABUT_ERROR_MEMORY;
}

/* Appends the pairs of an entry with items of one of the trees: those after it, or in a partial
 * search those that do not search themselves, too. */
static void traverse_tree(broad *b, world_chunk *chunk, uint32_t index, uint32_t root) {
    const world_item *items = world_items(b->world);
    const entry *from = &b->entries[index];
    const uint32_t first = b->is_partial ? 0 : index + 1;
    uint32_t stack[STACK_MAX], top = 0;
    stack[top++] = root;
    while (top) {
        const uint32_t at = stack[--top];
        const node *n = &b->nodes[at];
        if (n->end <= first || !box_overlaps(from->box, n->box))
            continue;
        if (n->right) {
            assert(top + 2 <= STACK_MAX);
            stack[top++] = n->right;
            stack[top++] = at + 1;
            continue;
        }
        for (uint32_t i = n->begin > first ? n->begin : first; i < n->end; i++) {
            const entry *to = &b->entries[i];
            if (box_overlaps(from->box, to->box) &&
                (i > index || (i < index && !items[to->item].has_changed)) &&
                abuti_world_should_test(b->world, from->item, to->item))
                append_pair(b, chunk, from->item, to->item);
        }
    }
}

/* If the limit is exceeded, the call fails and the remaining pairs do not matter. */
static bool exceeds_limit(broad *b) {
    return atomic_load_explicit(&b->total, memory_order_relaxed) > b->world->options.pair_limit;
}

static void find_box_pairs(void *data, size_t chunk, size_t begin, size_t end) {
    broad *b = data;
    const world_item *items = world_items(b->world);
    const uint32_t *roots = b->world->tree.roots;
    world_chunk *to = &b->world->pair_chunks[chunk];
    to->list.count = 0;
    to->status = ABUT_OK;
    for (size_t i = begin; i < end && !to->status && !exceeds_limit(b); i++) {
        size_t before = to->list.count;
        if (b->is_partial && !items[b->entries[i].item].has_changed)
            continue;
        for (uint32_t k = 0; k < WORLD_CLASSES; k++)
            if (roots[k + 1] > roots[k])
                traverse_tree(b, to, (uint32_t)i, roots[k]);
        atomic_fetch_add_explicit(&b->total, to->list.count - before, memory_order_relaxed);
    }
}

/* Whether a box is within the reach of a plane. */
static bool reaches_plane(box3 box, const abut_plane *plane, double reach) {
    vec3 centre = box_centre(box), half = v3_sub(box.hi, centre);
    double least = v3_dot(plane->normal, centre) - v3_dot(v3_abs(plane->normal), half);
    double rounding = 1e-14 * (fabs(plane->offset) + v3_max_abs(centre) + v3_max_abs(half));
    return least <= plane->offset + reach + rounding;
}

static void find_plane_pairs(broad *b, world_chunk *chunk) {
    const world_item *items = world_items(b->world);
    for (uint32_t p = 0; p < b->world->items.count && !exceeds_limit(b); p++) {
        size_t before = chunk->list.count;
        bool moves = b->sweeps && b->sweeps[p].moves;
        if (items[p].used && items[p].kind == ABUT_COLLIDER_PLANE)
            for (uint32_t i = 0; i < b->world->items.count && !chunk->status; i++)
                if (items[i].used && abuti_world_should_test(b->world, p, i) &&
                    (moves || reaches_plane(item_box(b, i), &items[p].at.primitive.plane,
                                            0.5 * items[p].margin + b->reach)))
                    append_pair(b, chunk, p, i);
        atomic_fetch_add_explicit(&b->total, chunk->list.count - before, memory_order_relaxed);
    }
}

/* ---- gathering ---- */

/* Removes the pairs that the filter of the caller rejects. */
static void filter_pairs(const abut_world *world, abuti_vector *list) {
    abut_world_pair *pairs = list->data;
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (abuti_world_accepts(world, pairs[i].a, pairs[i].b))
            pairs[kept++] = pairs[i];
    list->count = kept;
}

/* Sorts the pairs of all chunks. */
static abut_status gather_pairs(abut_world *world, size_t chunks, abuti_vector *list) {
    uint64_t total = 0;
    for (size_t i = 0; i < chunks; i++) {
        total += world->pair_chunks[i].list.count;
        if (world->pair_chunks[i].status)
            return abuti_fail(ABUT_ERROR_MEMORY, "abut_world: out of memory for candidate pairs");
    }
    if (total > world->options.pair_limit)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_world: more than %llu pairs of bounding boxes overlap; raise "
                          "options->pair_limit",
                          (unsigned long long)world->options.pair_limit);
    list->count = 0;
    abut_status status =
        abuti_vector_reserve(world->context, &world->keys, (size_t)total, sizeof(sort_key));
    if (!status)
        status =
            abuti_vector_reserve(world->context, &world->spare, (size_t)total, sizeof(sort_key));
    if (!status)
        status = abuti_vector_reserve(world->context, list, (size_t)total, sizeof(abut_world_pair));
    if (status)
        return status;
    sort_key *keys = world->keys.data;
    abut_world_pair *to = list->data;
    for (size_t c = 0; c < chunks; c++) {
        const abut_world_pair *pairs = world->pair_chunks[c].list.data;
        for (size_t i = 0; i < world->pair_chunks[c].list.count; i++)
            *keys++ = (sort_key){(uint64_t)pairs[i].a << 32 | pairs[i].b, 0};
    }
    const sort_key *sorted = abuti_sort_by_key(world->keys.data, world->spare.data, (size_t)total);
    for (; list->count < total; list->count++)
        to[list->count] = (abut_world_pair){(uint32_t)(sorted[list->count].key >> 32),
                                            (uint32_t)sorted[list->count].key};
    if (world->options.accept)
        filter_pairs(world, list);
    return ABUT_OK;
}

/* Finds the pairs of a search, of which `searching` items search. */
static abut_status find_overlaps(broad *b, size_t searching, abuti_vector *pairs) {
    abut_world *world = b->world;
    const world_item *items = world_items(world);
    abut_status status = update_trees(b);
    world->tree.is_current = !status && !b->sweeps;
    if (status)
        return status;
    /* The last chunk has the pairs with planes, and those of the last search. */
    const size_t queries =
        world->tree.class_begin[b->is_partial                                   ? WORLD_CLASSES
                                : world->resting_sensors || world->asleep_count ? 2
                                                                                : 1];
    size_t grain = queries / (WORLD_CHUNKS - 1) + 1,
           task = QUERIES_PER_TASK * (queries / (searching + 1) + 1);
    grain = grain < task ? task : grain;
    const size_t chunks = abuti_chunk_count(queries, grain);
    if (queries)
        status = abuti_parallel_try(world->context, "world", queries, grain, find_box_pairs, b);
    if (status)
        return status;
    world_chunk *last = &world->pair_chunks[chunks];
    last->list.count = 0;
    last->status = ABUT_OK;
    find_plane_pairs(b, last);
    const abut_world_pair *old = world->pairs.data;
    for (size_t i = 0; b->is_partial && i < world->pairs.count; i++)
        if (!items[old[i].a].has_changed && !items[old[i].b].has_changed)
            append_pair(b, last, old[i].a, old[i].b);
    return gather_pairs(world, chunks + 1, pairs);
}

abut_status abuti_world_overlaps(abut_world *world, const world_sweep *sweeps, double reach,
                                 abuti_vector *pairs) {
    broad b = {.world = world, .sweeps = sweeps, .reach = reach};
    return find_overlaps(&b, world->items.count, pairs);
}

abut_status abuti_world_fit_trees(abut_world *world) {
    broad b = {.world = world};
    if (world->tree.is_current)
        return ABUT_OK;
    abut_status status = update_trees(&b);
    world->tree.is_current = !status;
    return status;
}

abut_status abuti_world_find_pairs(abut_world *world) {
    world_item *items = world_items(world);
    const size_t count = world->items.count;
    abut_status status = abuti_world_fetch_sheets(world);
    if (world->has_woken)
        abuti_world_changed(world, true);
    if (status || world->has_pairs)
        return status;
    status = world->backend->download_poses(world);
    if (status)
        return status;
    size_t changed = 0;
    for (size_t i = 0; i < count; i++) { /* planes have no box, and are tested in every search */
        items[i].has_changed =
            items[i].paired_state != items[i].state || items[i].kind == ABUT_COLLIDER_PLANE;
        changed += items[i].has_changed;
    }
    broad b = {.world = world, .is_partial = world->has_last_pairs && FEW_ITEMS * changed <= count};
    world->has_last_pairs = false;
    status = find_overlaps(&b, changed, &world->pairs);
    for (size_t i = 0; i < count && !status; i++)
        items[i].paired_state = items[i].state;
    world->has_last_pairs = world->has_pairs = !status;
    return status;
}
