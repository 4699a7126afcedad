/* Which triangles stand together: a binary tree by the surface area heuristic.
 *
 * Method: top-down. The middles of the boxes go into bins on each axis, and of all borders between
 * bins the one of least area x leaves on both sides is taken (Wald 2007, "On fast construction of
 * SAH-based bounding volume hierarchies"). Then the few triangles nearest to the border change
 * sides, until the left side is a multiple of four: so all leaves are full, and where each subtree
 * goes is known before it is built. A subtree over m leaves is 2m - 1 consecutive nodes.
 * Where all middles coincide, and beyond a depth that only hostile input reaches, the range is
 * halved as it stands. Hence O(n log n) and a bounded depth for any input.
 * Large ranges are split one after the other by all threads, small ones each by one thread.
 * Guarantee: the tree depends on the mesh alone. Bins hold minima, maxima and counts, which do not
 * depend on the order in which chunks are added.
 */
#include "bvh/bvh.h"

#include "base/simd.h"

#include <assert.h>

enum {
    BIN_MOST = 16,
    CHUNK = 32768,     /* triangles for one task of a pass over a large range */
    SMALL_LEAST = 8192 /* below, a range is not worth sharing out */
};

/* The box of a triangle; the fourth numbers are 0. */
typedef struct item {
    float lo[4], hi[4];
} item;

typedef struct range {
    uint32_t begin, end, slot, depth;
} range;

typedef struct bin {
    f4 lo, hi;
    uint32_t count;
} bin;

/* What one pass over some items gathers. */
typedef struct gathering {
    f4 lo, hi;               /* all boxes */
    f4 middle_lo, middle_hi; /* twice the middles */
    bin bins[3][BIN_MOST];
} gathering;

/* How to sort items into bins: middle to number, on each axis. */
typedef struct binning {
    f4 lo, per_bin;
    uint32_t count;
    bool flat[3]; /* all middles are the same here */
} binning;

typedef struct border {
    int axis; /* -1 = none found */
    uint32_t bin;
    uint32_t left_count;
} border;

typedef struct builder {
    abut_context *context;
    const abut_mesh *mesh;
    double scale;
    item *items, *spare;
    uint32_t *order, *spare_order;
    bvh_split *splits;
    gathering *chunks;
    uint32_t *chunk_left;
    range *ranges; /* small ones, each for one thread */
    /* of the pass that runs */
    range now;
    binning how;
    border where;
} builder;

/* ---- bins ---- */

static f4 middle_of(const item *it) {
    return f4_add(f4_load(it->lo), f4_load(it->hi));
}

static void gather_boxes(const item *items, size_t begin, size_t end, gathering *g) {
    f4 huge = f4_all(FLT_MAX), low = f4_all(-FLT_MAX);
    g->lo = g->middle_lo = huge;
    g->hi = g->middle_hi = low;
    for (size_t i = begin; i < end; i++) {
        f4 lo = f4_load(items[i].lo), hi = f4_load(items[i].hi), middle = f4_add(lo, hi);
        g->lo = f4_min(g->lo, lo);
        g->hi = f4_max(g->hi, hi);
        g->middle_lo = f4_min(g->middle_lo, middle);
        g->middle_hi = f4_max(g->middle_hi, middle);
    }
}

static void join_boxes(gathering *g, const gathering *other) {
    g->lo = f4_min(g->lo, other->lo);
    g->hi = f4_max(g->hi, other->hi);
    g->middle_lo = f4_min(g->middle_lo, other->middle_lo);
    g->middle_hi = f4_max(g->middle_hi, other->middle_hi);
}

static binning choose_bins(const gathering *g, uint32_t count) {
    binning how;
    float lo[4], hi[4], per_bin[4] = {0, 0, 0, 0};
    how.count = count < 32 ? 8 : BIN_MOST;
    f4_store(lo, g->middle_lo);
    f4_store(hi, g->middle_hi);
    for (int axis = 0; axis < 3; axis++) {
        /* A quotient beyond floats means that the middles are the same for our purposes. */
        float k = (float)how.count * 0.9999f / (hi[axis] - lo[axis]);
        how.flat[axis] = !(hi[axis] > lo[axis]) || !(k <= FLT_MAX);
        per_bin[axis] = how.flat[axis] ? 0 : k;
    }
    how.lo = g->middle_lo;
    how.per_bin = f4_load(per_bin);
    return how;
}

static void bins_of(const binning *how, const item *it, uint32_t number[3]) {
    float at[4];
    f4_store(at, f4_mul(f4_sub(middle_of(it), how->lo), how->per_bin));
    for (int axis = 0; axis < 3; axis++) {
        uint32_t n = (uint32_t)(int32_t)at[axis];
        number[axis] = n < how->count ? n : how->count - 1;
    }
}

static void gather_bins(const item *items, size_t begin, size_t end, const binning *how,
                        gathering *g) {
    for (int axis = 0; axis < 3; axis++)
        for (uint32_t b = 0; b < how->count; b++) {
            g->bins[axis][b].lo = f4_all(FLT_MAX);
            g->bins[axis][b].hi = f4_all(-FLT_MAX);
            g->bins[axis][b].count = 0;
        }
    for (size_t i = begin; i < end; i++) {
        uint32_t number[3];
        bins_of(how, &items[i], number);
        f4 lo = f4_load(items[i].lo), hi = f4_load(items[i].hi);
        for (int axis = 0; axis < 3; axis++) {
            bin *b = &g->bins[axis][number[axis]];
            b->lo = f4_min(b->lo, lo);
            b->hi = f4_max(b->hi, hi);
            b->count++;
        }
    }
}

static void join_bins(gathering *g, const gathering *other, uint32_t count) {
    for (int axis = 0; axis < 3; axis++)
        for (uint32_t b = 0; b < count; b++) {
            bin *to = &g->bins[axis][b];
            const bin *from = &other->bins[axis][b];
            to->lo = f4_min(to->lo, from->lo);
            to->hi = f4_max(to->hi, from->hi);
            to->count += from->count;
        }
}

/* Half the surface of a box. */
static float area_of(f4 lo, f4 hi) {
    float d[4];
    f4_store(d, f4_sub(hi, lo));
    return d[0] * d[1] + d[1] * d[2] + d[2] * d[0];
}

static float leaves_of(uint32_t count) {
    return (float)((count + BVH_WIDTH - 1) / BVH_WIDTH);
}

/* The border of least cost; the first of equals. */
static border choose_border(const gathering *g, const binning *how, uint32_t total) {
    border best = {-1, 0, 0};
    float best_cost = FLT_MAX;
    for (int axis = 0; axis < 3; axis++) {
        float right_cost[BIN_MOST];
        if (how->flat[axis])
            continue;
        f4 lo = f4_all(FLT_MAX), hi = f4_all(-FLT_MAX);
        uint32_t count = 0;
        for (uint32_t b = how->count - 1; b > 0; b--) {
            const bin *from = &g->bins[axis][b];
            lo = f4_min(lo, from->lo);
            hi = f4_max(hi, from->hi);
            count += from->count;
            right_cost[b] = count ? area_of(lo, hi) * leaves_of(count) : 0;
        }
        lo = f4_all(FLT_MAX);
        hi = f4_all(-FLT_MAX);
        count = 0;
        for (uint32_t b = 0; b + 1 < how->count; b++) {
            const bin *from = &g->bins[axis][b];
            lo = f4_min(lo, from->lo);
            hi = f4_max(hi, from->hi);
            count += from->count;
            if (count == 0 || count == total)
                continue;
            float cost = area_of(lo, hi) * leaves_of(count) + right_cost[b + 1];
            if (cost < best_cost) {
                best_cost = cost;
                best.axis = axis;
                best.bin = b;
                best.left_count = count;
            }
        }
    }
    return best;
}

/* ---- two sides ---- */

static void swap_items(item *items, uint32_t *order, size_t i, size_t j) {
    item kept = items[i];
    uint32_t number = order[i];
    items[i] = items[j];
    order[i] = order[j];
    items[j] = kept;
    order[j] = number;
}

static bool goes_left(const binning *how, const border *where, const item *it) {
    uint32_t number[3];
    bins_of(how, it, number);
    return number[where->axis] <= where->bin;
}

static void divide(item *items, uint32_t *order, const range *r, const binning *how,
                   const border *where) {
    size_t i = r->begin, j = r->end;
    for (;;) {
        while (i < j && goes_left(how, where, &items[i]))
            i++;
        while (i < j && !goes_left(how, where, &items[j - 1]))
            j--;
        if (i >= j)
            break;
        swap_items(items, order, i++, --j);
    }
}

/* The nearest multiple of four that leaves both sides something. */
static uint32_t round_count(uint32_t left, uint32_t total) {
    uint32_t most = (total - 1) / BVH_WIDTH * BVH_WIDTH;
    uint32_t count = (left + BVH_WIDTH / 2) / BVH_WIDTH * BVH_WIDTH;
    return count < BVH_WIDTH ? BVH_WIDTH : count > most ? most : count;
}

static float middle_on(const item *it, int axis) {
    return it->lo[axis] + it->hi[axis];
}

/* Moves the border from `middle` to `wanted`, a few places away: each time the item nearest to it
 * changes sides, of equals the lowest triangle. */
static void move_border(item *items, uint32_t *order, const range *r, size_t middle, size_t wanted,
                        int axis) {
    while (middle != wanted) {
        bool grow = middle < wanted; /* the left side takes the lowest of the right */
        size_t begin = grow ? middle : r->begin, end = grow ? r->end : middle, best = begin;
        for (size_t i = begin + 1; i < end; i++) {
            float x = middle_on(&items[i], axis), y = middle_on(&items[best], axis);
            if ((grow ? x < y : x > y) || (x == y && order[i] < order[best]))
                best = i;
        }
        if (!grow)
            middle--;
        swap_items(items, order, best, middle);
        if (grow)
            middle++;
    }
}

/* Where to cut a range that has no border: in two halves as they stand. */
static size_t halve(const range *r) {
    return r->begin + round_count((r->end - r->begin) / 2, r->end - r->begin);
}

/* Notes a node and gives the ranges of its children. */
static void note_split(builder *b, const range *r, float area, size_t middle, range children[2]) {
    uint32_t left_leaves = (uint32_t)(middle - r->begin) / BVH_WIDTH;
    bvh_split *split = &b->splits[r->slot];
    split->area = area;
    split->right = r->slot + 2 * left_leaves;
    split->leaf = 0;
    children[0] = (range){r->begin, (uint32_t)middle, r->slot + 1, r->depth + 1};
    children[1] = (range){(uint32_t)middle, r->end, split->right, r->depth + 1};
}

/* ---- one thread ---- */

static size_t split_small(builder *b, const range *r, gathering *g) {
    uint32_t count = r->end - r->begin;
    if (r->depth >= BVH_COST_DEPTH)
        return halve(r);
    binning how = choose_bins(g, count);
    gather_bins(b->items, r->begin, r->end, &how, g);
    border where = choose_border(g, &how, count);
    if (where.axis < 0)
        return halve(r);
    divide(b->items, b->order, r, &how, &where);
    size_t middle = r->begin + round_count(where.left_count, count);
    move_border(b->items, b->order, r, r->begin + where.left_count, middle, where.axis);
    return middle;
}

static void build_small(builder *b, range root) {
    range stack[BVH_DEPTH + 2];
    uint32_t used = 0;
    gathering g;
    stack[used++] = root;
    while (used) {
        range r = stack[--used];
        assert(r.depth < BVH_DEPTH);
        gather_boxes(b->items, r.begin, r.end, &g);
        float area = area_of(g.lo, g.hi);
        if (r.end - r.begin <= BVH_WIDTH) {
            b->splits[r.slot] = (bvh_split){area, 0, r.begin / BVH_WIDTH};
            continue;
        }
        range children[2];
        note_split(b, &r, area, split_small(b, &r, &g), children);
        stack[used++] = children[1];
        stack[used++] = children[0];
    }
}

static void small_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        build_small(b, b->ranges[i]);
}

/* ---- all threads ---- */

static void boxes_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    gather_boxes(b->items, b->now.begin + begin, b->now.begin + end, &b->chunks[chunk]);
}

static void bins_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    gather_bins(b->items, b->now.begin + begin, b->now.begin + end, &b->how, &b->chunks[chunk]);
}

static void count_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    uint32_t left = 0;
    for (size_t i = b->now.begin + begin; i < b->now.begin + end; i++)
        left += goes_left(&b->how, &b->where, &b->items[i]);
    b->chunk_left[chunk] = left;
}

/* Both sides keep their order; chunk_left holds where the chunk's left ones go. */
static void scatter_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    size_t left = b->chunk_left[chunk];
    size_t right = b->where.left_count + begin - left;
    for (size_t i = begin; i < end; i++) {
        const item *it = &b->items[b->now.begin + i];
        size_t to = goes_left(&b->how, &b->where, it) ? left++ : right++;
        b->spare[to] = *it;
        b->spare_order[to] = b->order[b->now.begin + i];
    }
}

static void back_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    (void)chunk;
    memcpy(b->items + b->now.begin + begin, b->spare + begin, (end - begin) * sizeof *b->items);
    memcpy(b->order + b->now.begin + begin, b->spare_order + begin,
           (end - begin) * sizeof *b->order);
}

/* A pass over the range that is being split; one chunk needs no other thread. */
static void pass(builder *b, size_t count,
                 void (*body)(void *data, size_t chunk, size_t begin, size_t end)) {
    if (count <= CHUNK)
        body(b, 0, 0, count);
    else
        abuti_parallel_for(b->context, count, CHUNK, body, b);
}

static void divide_large(builder *b, size_t count) {
    pass(b, count, count_task);
    uint32_t sum = 0;
    for (size_t c = 0; c < abuti_chunk_count(count, CHUNK); c++) {
        uint32_t here = b->chunk_left[c];
        b->chunk_left[c] = sum;
        sum += here;
    }
    pass(b, count, scatter_task);
    pass(b, count, back_task);
}

static void split_large(builder *b, range r, range children[2]) {
    uint32_t count = r.end - r.begin;
    size_t chunks = abuti_chunk_count(count, CHUNK), middle = halve(&r);
    gathering *g = &b->chunks[0];
    b->now = r;
    pass(b, count, boxes_task);
    for (size_t c = 1; c < chunks; c++)
        join_boxes(g, &b->chunks[c]);
    float area = area_of(g->lo, g->hi);
    b->how = choose_bins(g, count);
    b->where.axis = -1;
    if (r.depth < BVH_COST_DEPTH) {
        pass(b, count, bins_task);
        for (size_t c = 1; c < chunks; c++)
            join_bins(g, &b->chunks[c], b->how.count);
        b->where = choose_border(g, &b->how, count);
    }
    if (b->where.axis >= 0) {
        divide_large(b, count);
        middle = r.begin + round_count(b->where.left_count, count);
        move_border(b->items, b->order, &r, r.begin + b->where.left_count, middle, b->where.axis);
    }
    note_split(b, &r, area, middle, children);
}

static void item_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        double lo[3], hi[3];
        bvh_triangle_box(b->mesh, b->scale, (uint32_t)i, lo, hi);
        for (int axis = 0; axis < 3; axis++) {
            b->items[i].lo[axis] = (float)lo[axis];
            b->items[i].hi[axis] = (float)hi[axis];
        }
        b->items[i].lo[3] = b->items[i].hi[3] = 0;
        b->order[i] = (uint32_t)i;
    }
}

/* Ranges that are large for this mesh: below an eighth of a percent or so, there are enough of them
 * to keep many threads busy. */
static uint32_t small_size(uint32_t triangle_count) {
    return triangle_count / 64 > SMALL_LEAST ? triangle_count / 64 : SMALL_LEAST;
}

/* Splits what is large, then the rest in groups, so that progress can be told between them. */
static abut_status build_all(builder *b, uint32_t triangle_count) {
    uint32_t small = small_size(triangle_count);
    range large[2 * BVH_DEPTH];
    uint32_t used = 0;
    size_t range_count = 0, done = 0;
    abut_status status = ABUT_OK;
    range root = {0, triangle_count, 0, 0};
    if (triangle_count > small)
        large[used++] = root;
    else
        b->ranges[range_count++] = root;
    while (used && !status) {
        range r = large[--used], children[2];
        split_large(b, r, children);
        for (int k = 1; k >= 0; k--) {
            assert(used + 1 < 2 * BVH_DEPTH);
            if (children[k].end - children[k].begin > small) {
                large[used++] = children[k];
            } else {
                b->ranges[range_count++] = children[k];
                done += children[k].end - children[k].begin;
            }
        }
        status = abuti_progress(b->context, "bvh", 0.3 * (double)done / triangle_count);
    }
    enum { GROUP = 16 };
    for (size_t i = 0; i < range_count && !status; i += GROUP) {
        size_t group = range_count - i < GROUP ? range_count - i : GROUP;
        abuti_parallel_for(b->context, group, 1, small_task, b);
        b->ranges += group;
        status = abuti_progress(b->context, "bvh",
                                0.3 + 0.6 * (double)(i + group) / (double)range_count);
    }
    return status;
}

abut_status abuti_bvh_split(abut_context *context, const abut_mesh *mesh, double scale,
                            uint32_t *order, bvh_split *splits) {
    size_t count = mesh->triangle_count, chunks = abuti_chunk_count(count, CHUNK);
    bool large = count > small_size(mesh->triangle_count);
    /* A split of a large range leaves at least one triangle on either side, and every small range
     * comes from such a split; hostile input can make that as many as leaves. */
    size_t range_room = large ? (count + BVH_WIDTH - 1) / BVH_WIDTH : 1;
    builder b = {
        .context = context, .mesh = mesh, .scale = scale, .order = order, .splits = splits};
    b.items = abuti_allocate(context, count, sizeof *b.items);
    b.spare = abuti_allocate(context, large ? count : 0, sizeof *b.spare);
    b.spare_order = abuti_allocate(context, large ? count : 0, sizeof *b.spare_order);
    b.chunks = abuti_allocate(context, chunks, sizeof *b.chunks);
    b.chunk_left = abuti_allocate(context, chunks, sizeof *b.chunk_left);
    range *ranges = b.ranges = abuti_allocate(context, range_room, sizeof *b.ranges);
    abut_status status = ABUT_ERROR_MEMORY;
    if (b.items && b.spare && b.spare_order && b.chunks && b.chunk_left && b.ranges) {
        abuti_parallel_for(context, count, CHUNK, item_task, &b);
        status = build_all(&b, mesh->triangle_count);
    }
    abuti_release(context, b.items);
    abuti_release(context, b.spare);
    abuti_release(context, b.spare_order);
    abuti_release(context, b.chunks);
    abuti_release(context, b.chunk_left);
    abuti_release(context, ranges);
    return status;
}
