/* Broad phase: pairs of items whose bounding boxes overlap.
 *
 * Items are sorted along a Morton curve (Morton 1966), with an implicit tree of four children per
 * node over that order: node k of a level has nodes 4k to 4k + 3 of the level below. Only boxes are
 * stored, and a rebuild takes one sort and one pass. Each item traverses the tree for the items
 * after it in the order. Time: n log n + pairs, unless boxes are long and cross each other.
 * Boxes of nodes are floats, tested four at once, in a frame from 0 to 1, and enlarged by more than
 * the rounding error. Boxes of items are compared in doubles. The frame covers most items,
 * estimated from a sample. Coordinates outside are clamped to it, which preserves all overlaps, so
 * that a few items far away do not degrade the tree.
 *
 * Pairs that are never tested are skipped: dynamic items come first in the order, then kinematic,
 * then static ones. Dynamic items search all items after them; kinematic ones only if there are
 * sensors that are not dynamic; static ones never. Planes have no box and are tested with every
 * item.
 */
#include "world/world.h"

#include "base/simd.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>

enum {
    CHILDREN = 4,
    AXIS_BITS = 16,
    QUERIES_PER_TASK = 32,
    STACK_MAX = 64,
    CLASSES = 3,
    FRAME_SAMPLES = 64
};

/* Sorted by class, then along the curve. */
#define CLASS_SHIFT (3 * AXIS_BITS)
_Static_assert(CLASS_SHIFT + 2 <= 64, "a key has the class and a Morton code");

/* The boxes of four children, enlarged by FRAME_SLACK. */
typedef struct node {
    float lo[3][CHILDREN], hi[3][CHILDREN];
} node;
#define FRAME_SLACK 0x1p-21f

typedef struct level {
    size_t first, count; /* of its nodes */
} level;

typedef struct broad {
    abut_world *world;
    double reach;              /* added to boxes and planes; sweeps */
    const world_sweep *sweeps; /* by item: boxes of a step; null: boxes at the current poses */
    const uint32_t *order;
    const box3 *boxes;
    const node *nodes;
    double origin[3], scale[3]; /* of the frame */
    level levels[17];
    uint32_t level_count;
    size_t class_begin[CLASSES + 1];
    atomic_uint_fast64_t total; /* pairs of all chunks */
} broad;

static box3 item_box(const broad *b, uint32_t item) {
    return b->sweeps ? b->sweeps[item].box : world_items(b->world)[item].at.box;
}

/* ---- order ---- */

static double to_frame(const broad *b, vec3 at, int axis) {
    double place = (v3_get(at, axis) - b->origin[axis]) * b->scale[axis];
    return place > 0 ? place < 1 ? place : 1 : 0;
}

static uint64_t morton_code_of(const broad *b, vec3 at) {
    const double most = (1 << AXIS_BITS) - 1;
    return morton_code((uint32_t)(to_frame(b, at, 0) * most), (uint32_t)(to_frame(b, at, 1) * most),
                       (uint32_t)(to_frame(b, at, 2) * most));
}

/* The frame: three times as wide as the range of seven eighths of a sample of the items. */
static void choose_frame(broad *b, const sort_key *keys, size_t count) {
    size_t sampled = count < FRAME_SAMPLES ? count : FRAME_SAMPLES;
    for (int axis = 0; axis < 3; axis++) {
        double sorted[FRAME_SAMPLES], largest = 0;
        for (size_t i = 0; i < sampled; i++) {
            box3 box = item_box(b, keys[i * count / sampled].value);
            double at = v3_get(box_centre(box), axis);
            size_t j = i;
            for (; j > 0 && sorted[j - 1] > at; j--)
                sorted[j] = sorted[j - 1];
            sorted[j] = at;
            largest = real_max(largest, v3_get(v3_sub(box.hi, box.lo), axis));
        }
        double lo = sorted[sampled / 16], width = sorted[sampled - 1 - sampled / 16] - lo + largest;
        b->origin[axis] = lo - width;
        b->scale[axis] = width > 1e-200 ? 1 / (3 * width) : 0;
    }
}

static uint32_t motion_class(const world_item *item) {
    return item->filter.traits & WORLD_IS_DYNAMIC  ? 0
           : item->filter.traits & WORLD_IS_STATIC ? 2
                                                   : 1;
}

static bool has_box(const world_item *item) {
    return item->used && item->kind != ABUT_COLLIDER_PLANE;
}

/* ---- the tree ---- */

static void sort_items(broad *b, size_t count) {
    abut_world *world = b->world;
    const world_item *items = world_items(world);
    sort_key *keys = world->keys.data;
    uint32_t *order = world->order.data;
    box3 *boxes = world->boxes.data;
    size_t used = 0;
    for (size_t i = 0; i < world->items.count; i++)
        if (has_box(&items[i]))
            keys[used++].value = (uint32_t)i;
    choose_frame(b, keys, count);
    for (size_t i = 0; i < count; i++) {
        const world_item *item = &items[keys[i].value];
        keys[i].key = (uint64_t)motion_class(item) << CLASS_SHIFT |
                      morton_code_of(b, box_centre(item_box(b, keys[i].value)));
    }
    keys = abuti_sort_by_key(keys, world->spare.data, count);
    for (size_t i = 0; i < count; i++) {
        order[i] = keys[i].value;
        boxes[i] = item_box(b, order[i]);
        b->class_begin[(keys[i].key >> CLASS_SHIFT) + 1]++;
    }
    for (uint32_t i = 0; i < CLASSES; i++)
        b->class_begin[i + 1] += b->class_begin[i];
    b->order = order;
    b->boxes = boxes;
}

/* Sets a child of a node to a box of the frame; null: a box that overlaps nothing. */
static void set_child(node *n, uint32_t child, const float lo[3], const float hi[3]) {
    for (int axis = 0; axis < 3; axis++) {
        n->lo[axis][child] = lo ? lo[axis] : 4;
        n->hi[axis][child] = hi ? hi[axis] : -4;
    }
}

static void box_in_frame(const broad *b, box3 box, float lo[3], float hi[3]) {
    for (int axis = 0; axis < 3; axis++) {
        lo[axis] = (float)to_frame(b, box.lo, axis) - FRAME_SLACK;
        hi[axis] = (float)to_frame(b, box.hi, axis) + FRAME_SLACK;
    }
}

/* The bounding box of the four children of a node. */
static void node_box(const node *n, float lo[3], float hi[3]) {
    for (int axis = 0; axis < 3; axis++) {
        lo[axis] = n->lo[axis][0];
        hi[axis] = n->hi[axis][0];
        for (int i = 1; i < CHILDREN; i++) {
            lo[axis] = n->lo[axis][i] < lo[axis] ? n->lo[axis][i] : lo[axis];
            hi[axis] = n->hi[axis][i] > hi[axis] ? n->hi[axis][i] : hi[axis];
        }
    }
}

static void fit_nodes(broad *b, size_t count) {
    node *nodes = b->world->nodes.data;
    const node *below = NULL; /* null: items */
    size_t first = 0;
    b->level_count = 0;
    b->nodes = nodes;
    do {
        size_t parents = count / CHILDREN + (count % CHILDREN != 0);
        for (size_t k = 0; k < CHILDREN * parents; k++) {
            node *n = &nodes[first + k / CHILDREN];
            float lo[3], hi[3];
            if (k < count && below)
                node_box(&below[k], lo, hi);
            else if (k < count)
                box_in_frame(b, b->boxes[k], lo, hi);
            set_child(n, k % CHILDREN, k < count ? lo : NULL, k < count ? hi : NULL);
        }
        assert(b->level_count < sizeof b->levels / sizeof *b->levels); /* 4^16 items */
        b->levels[b->level_count++] = (level){first, parents};
        below = nodes + first;
        first += parents;
        count = parents;
    } while (count > 1);
}

static abut_status build_tree(broad *b) {
    abut_world *world = b->world;
    const world_item *items = world_items(world);
    size_t count = 0;
    for (size_t i = 0; i < world->items.count; i++)
        count += has_box(&items[i]);
    abut_status status = ABUT_OK;
    const struct {
        abuti_vector *list;
        size_t count, bytes;
    } needs[] = {{&world->keys, count, sizeof(sort_key)},
                 {&world->spare, count, sizeof(sort_key)},
                 {&world->order, count, sizeof(uint32_t)},
                 {&world->boxes, count, sizeof(box3)},
                 {&world->nodes, count / 2 + 17, sizeof(node)}};
    for (size_t i = 0; i < sizeof needs / sizeof *needs && !status; i++)
        status =
            abuti_vector_reserve(world->context, needs[i].list, needs[i].count, needs[i].bytes);
    if (status)
        return status;
    if (count) {
        sort_items(b, count);
        fit_nodes(b, count);
    }
    return ABUT_OK;
}

/* ---- traversal ---- */

static void append_pair(broad *b, world_chunk *chunk, uint32_t a, uint32_t other) {
    abuti_vector *list = &chunk->list;
    if (!chunk->status && (list->count == list->room || !list->data))
        chunk->status = abuti_vector_reserve(b->world->context, list, list->count + 64,
                                             sizeof(abut_world_pair));
    if (chunk->status)
        return;
    ((abut_world_pair *)list->data)[list->count++] =
        (abut_world_pair){a < other ? a : other, a < other ? other : a};
}

/* Bits of the children of a node that overlap a box. */
static unsigned overlap_bits(const node *n, const f4 lo[3], const f4 hi[3]) {
    m4 met = f4_less_equal(f4_load(n->lo[0]), hi[0]);
    met = m4_and(met, f4_less_equal(lo[0], f4_load(n->hi[0])));
    for (int axis = 1; axis < 3; axis++) {
        met = m4_and(met, f4_less_equal(f4_load(n->lo[axis]), hi[axis]));
        met = m4_and(met, f4_less_equal(lo[axis], f4_load(n->hi[axis])));
    }
    return m4_bits(met);
}

/* Appends the pairs of an item with items after it. */
static void traverse_tree(broad *b, world_chunk *chunk, size_t item) {
    struct {
        uint32_t depth, node;
    } stack[STACK_MAX]; /* three siblings per level, and at most 17 levels */
    uint32_t top = 0;
    float lo[3], hi[3];
    f4 wide_lo[3], wide_hi[3];
    box_in_frame(b, b->boxes[item], lo, hi);
    for (int axis = 0; axis < 3; axis++) {
        wide_lo[axis] = f4_all(lo[axis]);
        wide_hi[axis] = f4_all(hi[axis]);
    }
    stack[top].depth = b->level_count - 1;
    stack[top++].node = 0;
    while (top) {
        const uint32_t depth = stack[--top].depth, at = stack[top].node, each = 2 * depth;
        unsigned met = overlap_bits(&b->nodes[b->levels[depth].first + at], wide_lo, wide_hi);
        for (size_t child = CHILDREN * (size_t)at; met; child++, met >>= 1) {
            if (!(met & 1) || (child + 1) << each <= item + 1) /* 4^depth items */
                continue;
            if (depth) {
                assert(top < STACK_MAX);
                stack[top].depth = depth - 1;
                stack[top++].node = (uint32_t)child;
            } else if (box_overlaps(b->boxes[item], b->boxes[child]) &&
                       abuti_world_should_test(b->world, b->order[item], b->order[child])) {
                append_pair(b, chunk, b->order[item], b->order[child]);
            }
        }
    }
}

/* If the limit is exceeded, the call fails and the remaining pairs do not matter. */
static bool exceeds_limit(broad *b) {
    return atomic_load_explicit(&b->total, memory_order_relaxed) > b->world->options.pair_limit;
}

static void find_box_pairs(void *data, size_t chunk, size_t begin, size_t end) {
    broad *b = data;
    world_chunk *to = &b->world->pair_chunks[chunk];
    to->list.count = 0;
    to->status = ABUT_OK;
    for (size_t i = begin; i < end && !to->status && !exceeds_limit(b); i++) {
        size_t before = to->list.count;
        traverse_tree(b, to, i);
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
    return ABUT_OK;
}

abut_status abuti_world_overlaps(abut_world *world, const world_sweep *sweeps, double reach,
                                 abuti_vector *pairs) {
    broad b = {.world = world, .sweeps = sweeps, .reach = reach};
    abut_status status = build_tree(&b);
    if (status)
        return status;
    /* The last chunk has the pairs with planes. */
    size_t queries = b.class_begin[world->resting_sensors ? 2 : 1];
    size_t grain = queries / (WORLD_CHUNKS - 1) + 1;
    grain = grain < QUERIES_PER_TASK ? QUERIES_PER_TASK : grain;
    size_t chunks = abuti_chunk_count(queries, grain);
    if (queries)
        status = abuti_parallel_try(world->context, "world", queries, grain, find_box_pairs, &b);
    if (status)
        return status;
    world->pair_chunks[chunks].list.count = 0;
    world->pair_chunks[chunks].status = ABUT_OK;
    find_plane_pairs(&b, &world->pair_chunks[chunks]);
    return gather_pairs(world, chunks + 1, pairs);
}

abut_status abuti_world_find_pairs(abut_world *world) {
    if (world->has_pairs)
        return ABUT_OK;
    abut_status status = world->backend->download_poses(world);
    if (status)
        return status;
    status = abuti_world_overlaps(world, NULL, 0, &world->pairs);
    world->has_pairs = !status;
    return status;
}
