/* The binary tree of a BVH by the surface area heuristic (SAH).
 *
 * Method: top-down. The centres of the boxes are sorted into bins on each axis, and of all planes
 * between bins the one with the smallest area x leaves on both sides is chosen (Wald 2007, "On fast
 * construction of SAH-based bounding volume hierarchies"). Then the few triangles nearest to the
 * plane change sides, until the left side is a multiple of four. So all leaves are full, and the
 * position of each subtree is known before it is built: a subtree over m leaves is 2m - 1
 * consecutive nodes. If all centres coincide, and beyond a depth that only adversarial input
 * reaches, the range is halved without sorting. Hence the build is O(n log n) with a bounded depth
 * for any input. Large ranges are split concurrently, each by one thread, until there are enough
 * small ones, which are built by one thread each. So the first few splits use few threads: splits
 * by all threads together took 0.95 to 1.09 of the time on 16 threads, with 70,000 to 2 million
 * triangles. Guarantee: the tree depends on the mesh only.
 */
#include "bvh/bvh.h"

#include "base/simd_lanes.h"

#include <assert.h>

enum {
    BIN_MAX = 16,
    SORTED_ITEMS_MAX = 16, /* triangles that are sorted instead of binned */
    TRIANGLES_PER_TASK = 32768,
    SMALL_RANGE_MIN = 8192,                     /* a small range has at least so many triangles, */
    SMALL_RANGE_FRACTION = 64,                  /* or this fraction of the mesh */
    LARGE_RANGES_MAX = SMALL_RANGE_FRACTION + 2 /* ranges that are not small, at a time */
};

/* The box of a triangle as a box4, whose fourth components are the triangle: its lower 24 bits and
 * its higher bits, which floats represent exactly. So an item is moved by two loads and stores. */
typedef struct item {
    float box[8];
} item;

static inline void set_triangle(item *it, uint32_t triangle) {
    it->box[3] = (float)(triangle & 0xffffff);
    it->box[7] = (float)(triangle >> 24);
}

static inline uint32_t item_triangle(const item *it) {
    return (uint32_t)(int32_t)it->box[3] | (uint32_t)(int32_t)it->box[7] << 24;
}

typedef struct range {
    uint32_t begin, end, slot, depth;
} range;

typedef struct bin {
    float box[8];
    uint32_t count, unused[7]; /* 64 bytes in total */
} bin;

/* Results of one pass over some items. */
typedef struct bin_statistics {
    float box[8];    /* of all boxes */
    float centre[8]; /* bounds of twice their centres */
    bin bins[3][BIN_MAX];
} bin_statistics;

/* How items are sorted into bins: from the centre to the bin, on each axis. */
typedef struct binning {
    f4 lo, per_bin;
    uint32_t count;
    bool flat[3]; /* all centres are equal on this axis */
} binning;

typedef struct split_plane {
    int axis; /* -1 = none found */
    uint32_t bin;
    uint32_t left_count;
} split_plane;

typedef struct builder {
    abut_context *context;
    const abut_mesh *mesh;
    double scale;
    item *items;
    uint32_t *order; /* of the triangles, the result */
    bvh_split *splits;
    range *ranges;      /* each for one thread */
    size_t small_count; /* number of small ranges at the front */
    range halves[LARGE_RANGES_MAX][2];
} builder;

/* ---- bins ---- */

/* Twice the centre. */
static inline f4 centre_times_2(box4 box) {
    return f4_sub(box4_low(box), box4_minus_high(box));
}

/* Two independent minima, so that each operation does not wait for the previous one. */
static void gather_boxes(const item *items, size_t begin, size_t end, bin_statistics *g) {
    box4 all[2] = {box4_all(FLT_MAX), box4_all(FLT_MAX)};
    f4 lo[2] = {f4_all(FLT_MAX), f4_all(FLT_MAX)}, hi[2] = {f4_all(-FLT_MAX), f4_all(-FLT_MAX)};
    for (size_t i = begin; i < end; i += 2)
        for (size_t k = 0; k < 2; k++) {
            box4 box = box4_load(items[i + k < end ? i + k : i].box);
            f4 centre = centre_times_2(box);
            all[k] = box4_join(all[k], box);
            lo[k] = f4_min(lo[k], centre);
            hi[k] = f4_max(hi[k], centre);
        }
    box4_store(g->box, box4_join(all[0], all[1]));
    f4_store(g->centre, f4_min(lo[0], lo[1]));
    f4_store(g->centre + 4, f4_sub(f4_all(0), f4_max(hi[0], hi[1])));
}

static binning choose_bins(const bin_statistics *g, uint32_t count) {
    binning how;
    float per_bin[4] = {0, 0, 0, 0};
    how.count = count < 32 ? 8 : BIN_MAX;
    for (int axis = 0; axis < 3; axis++) {
        /* If the quotient overflows, the centres count as equal. */
        float lo = g->centre[axis], hi = -g->centre[4 + axis];
        float k = (float)how.count * 0.9999f / (hi - lo);
        how.flat[axis] = !(hi > lo) || !(k <= FLT_MAX);
        per_bin[axis] = how.flat[axis] ? 0 : k;
    }
    how.lo = f4_load(g->centre);
    how.per_bin = f4_load(per_bin);
    return how;
}

/* The centres are within the range that the bins were chosen for, so the result is at most the last
 * bin. */
static inline void compute_bins(const binning *how, f4 centre, int32_t number[4]) {
    f4_store_int(number, f4_mul(f4_sub(centre, how->lo), how->per_bin));
    assert(number[0] >= 0 && number[0] < (int32_t)how->count && number[1] >= 0 &&
           number[1] < (int32_t)how->count && number[2] >= 0 && number[2] < (int32_t)how->count);
}

static void clear_bins(bin bins[3][BIN_MAX], uint32_t count) {
    for (int axis = 0; axis < 3; axis++)
        for (uint32_t b = 0; b < count; b++) {
            box4_store(bins[axis][b].box, box4_all(FLT_MAX));
            bins[axis][b].count = 0;
        }
}

static void gather_bins(const item *items, size_t begin, size_t end, const binning *how,
                        bin_statistics *g) {
    const binning to = *how;
    clear_bins(g->bins, to.count);
    for (size_t i = begin; i < end; i++) {
        int32_t number[4];
        box4 box = box4_load(items[i].box);
        compute_bins(&to, centre_times_2(box), number);
        for (int axis = 0; axis < 3; axis++) {
            bin *b = &g->bins[axis][(uint32_t)number[axis]];
            box4_store(b->box, box4_join(box4_load(b->box), box));
            b->count++;
        }
    }
}

static inline f4 box_extent(box4 box) {
    return f4_sub(f4_sub(f4_all(0), box4_minus_high(box)), box4_low(box));
}

/* Half the surface area of a box. */
static inline float half_area(box4 box) {
    float d[4];
    f4_store(d, box_extent(box));
    return d[0] * d[1] + d[1] * d[2] + d[2] * d[0];
}

static float leaf_count_of(uint32_t count) {
    return (float)((count + BVH_WIDTH - 1) / BVH_WIDTH);
}

/* The cost of one side of every plane of an axis: cost[i] is that of the first i + 1 bins, or of
 * the last ones; and their number of items. NaN if there are none: inf x 0. Areas are computed four
 * at a time. */
static inline void accumulate_costs(const bin bins[BIN_MAX], uint32_t bin_count, bool from_end,
                                    float cost[BIN_MAX], uint32_t counts[BIN_MAX]) {
    float extent[BIN_MAX][4], leaves[BIN_MAX];
    box4 box = box4_all(FLT_MAX);
    uint32_t count = 0;
    for (uint32_t i = 0; i < bin_count; i++) {
        const bin *b = &bins[from_end ? bin_count - 1 - i : i];
        box = box4_join(box, box4_load(b->box));
        counts[i] = count += b->count;
        leaves[i] = leaf_count_of(count);
        f4_store(extent[i], box_extent(box));
    }
    for (uint32_t i = 0; i < bin_count; i += 4) {
        const float *const rows[4] = {extent[i], extent[i + 1], extent[i + 2], extent[i + 3]};
        f4 d[4];
        f4_columns(rows, 0, d);
        f4 area = f4_add(f4_add(f4_mul(d[0], d[1]), f4_mul(d[1], d[2])), f4_mul(d[2], d[0]));
        f4_store(cost + i, f4_mul(area, f4_load(leaves + i)));
    }
}

/* The plane of the lowest cost; the first one of equals. Each has items on both sides. */
static split_plane choose_plane(const bin_statistics *g, const binning *how) {
    split_plane best = {-1, 0, 0};
    float best_cost = FLT_MAX;
    for (int axis = 0; axis < 3; axis++) {
        float left[BIN_MAX], right[BIN_MAX];
        uint32_t left_count[BIN_MAX], right_count[BIN_MAX];
        if (how->flat[axis])
            continue;
        accumulate_costs(g->bins[axis], how->count, false, left, left_count);
        accumulate_costs(g->bins[axis], how->count, true, right, right_count);
        for (uint32_t b = 0; b + 1 < how->count; b++) {
            float cost = left[b] + right[how->count - 2 - b];
            if (cost < best_cost) {
                best_cost = cost;
                best = (split_plane){axis, b, left_count[b]};
            }
        }
    }
    return best;
}

/* ---- partition ---- */

static inline void swap_items(item *items, size_t i, size_t j) {
    box4 box = box4_load(items[i].box);
    box4_store(items[i].box, box4_load(items[j].box));
    box4_store(items[j].box, box);
}

/* The side of a plane: the bin as in compute_bins(), on one axis only. */
typedef struct plane_test {
    int axis;
    float lo, per_bin, end;
} plane_test;

static plane_test make_plane_test(const binning *how, const split_plane *where) {
    float lo[4], per_bin[4];
    f4_store(lo, how->lo);
    f4_store(per_bin, how->per_bin);
    plane_test s = {where->axis, lo[where->axis], per_bin[where->axis], (float)(where->bin + 1)};
    return s;
}

static float centre_on_axis(const item *it, int axis) {
    return it->box[axis] - it->box[4 + axis];
}

static inline bool is_left(const plane_test *s, const item *it) {
    return (centre_on_axis(it, s->axis) - s->lo) * s->per_bin < s->end;
}

/* Each item in turn is swapped with the first one of the right side: more copies than necessary,
 * but no branches, of which half would be mispredicted. */
static void partition_range(item *items, const range *r, const plane_test *s) {
    size_t centre = r->begin;
    for (size_t i = r->begin; i < r->end; i++) {
        bool left = is_left(s, &items[i]);
        swap_items(items, i, centre);
        centre += left;
    }
}

/* The nearest multiple of four that leaves both sides non-empty. */
static uint32_t round_to_leaves(uint32_t left, uint32_t total) {
    uint32_t count_max = (total - 1) / BVH_WIDTH * BVH_WIDTH;
    uint32_t count = (left + BVH_WIDTH / 2) / BVH_WIDTH * BVH_WIDTH;
    return count < BVH_WIDTH ? BVH_WIDTH : count > count_max ? count_max : count;
}

/* The item nearest to a plane before (`lowest`) or behind the items from begin to end; of equals
 * the lowest triangle. */
static size_t nearest_item(const item *items, size_t begin, size_t end, int axis, bool lowest) {
    size_t best = begin;
    for (size_t i = begin + 1; i < end; i++) {
        float x = centre_on_axis(&items[i], axis), y = centre_on_axis(&items[best], axis);
        if ((lowest ? x < y : x > y) ||
            (x == y && item_triangle(&items[i]) < item_triangle(&items[best])))
            best = i;
    }
    return best;
}

/* Moves the plane from `centre` to `target`, a few positions away: each time the item nearest to it
 * changes sides. */
static void move_plane(item *items, const range *r, size_t centre, size_t target, int axis) {
    while (centre != target) {
        bool grow = centre < target; /* the left side gets the lowest item of the right side */
        size_t begin = grow ? centre : r->begin, end = grow ? r->end : centre;
        size_t best = nearest_item(items, begin, end, axis, grow);
        centre -= !grow;
        swap_items(items, best, centre);
        centre += grow;
    }
}

/* The split of a range without a plane: two halves of the current order. */
static size_t halve_range(const range *r) {
    return r->begin + round_to_leaves((r->end - r->begin) / 2, r->end - r->begin);
}

/* Writes a node and returns the ranges of its children. */
static void write_split(builder *b, const range *r, float area, size_t centre, range children[2]) {
    uint32_t left_leaves = (uint32_t)(centre - r->begin) / BVH_WIDTH;
    bvh_split *split = &b->splits[r->slot];
    split->area = area;
    split->right = r->slot + 2 * left_leaves;
    split->leaf = 0;
    children[0] = (range){r->begin, (uint32_t)centre, r->slot + 1, r->depth + 1};
    children[1] = (range){(uint32_t)centre, r->end, split->right, r->depth + 1};
}

/* ---- one thread ---- */

/* A few items in the order of their centres. */
typedef struct sorted {
    uint32_t item[SORTED_ITEMS_MAX];
    float box[SORTED_ITEMS_MAX / BVH_WIDTH][8]; /* of each group of four */
} sorted;

/* Sort keys: integers with the order of the centres, and triangles to break ties. */
typedef struct sort_keys {
    int32_t centre[3][SORTED_ITEMS_MAX], triangle[SORTED_ITEMS_MAX];
} sort_keys;

static void make_sort_keys(const item *items, uint32_t count, sort_keys *keys) {
    memset(keys, 0, sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        float centre[4];
        int32_t bits[4];
        f4_store(centre, centre_times_2(box4_load(items[i].box)));
        memcpy(bits, centre, sizeof bits);
        for (int axis = 0; axis < 3; axis++)
            keys->centre[axis][i] = bits[axis] < 0 ? bits[axis] ^ INT32_MAX : bits[axis];
        keys->triangle[i] = (int32_t)item_triangle(&items[i]);
    }
}

/* Ranks instead of comparisons and branches, which would be unpredictable. */
static void sort_on_axis(const item *items, const sort_keys *keys, uint32_t count, int axis,
                         sorted *s) {
    const int32_t *key = keys->centre[axis], *tie = keys->triangle;
    for (uint32_t i = 0; i < count; i++) { /* no branch: it would not be predictable */
        uint32_t place = 0;
        for (uint32_t j = 0; j < count; j++)
            place += (key[j] < key[i]) | ((key[j] == key[i]) & (tie[j] < tie[i]));
        s->item[place] = i;
    }
    for (uint32_t four = 0; four * BVH_WIDTH < count; four++) {
        box4 box = box4_load(items[s->item[four * BVH_WIDTH]].box);
        for (uint32_t i = four * BVH_WIDTH + 1; i < count && i < (four + 1) * BVH_WIDTH; i++)
            box = box4_join(box, box4_load(items[s->item[i]].box));
        box4_store(s->box[four], box);
    }
}

/* The lowest cost of all splits between groups of four. */
static float best_leaf_split(const sorted *s, uint32_t count, uint32_t *left) {
    uint32_t fours = (count + BVH_WIDTH - 1) / BVH_WIDTH;
    float right_cost[SORTED_ITEMS_MAX / BVH_WIDTH], best = FLT_MAX;
    box4 box = box4_all(FLT_MAX);
    for (uint32_t i = fours - 1; i > 0; i--) {
        box = box4_join(box, box4_load(s->box[i]));
        right_cost[i] = half_area(box) * (float)(fours - i);
    }
    box = box4_all(FLT_MAX);
    for (uint32_t i = 1; i < fours; i++) {
        box = box4_join(box, box4_load(s->box[i - 1]));
        float cost = half_area(box) * (float)i + right_cost[i];
        if (i == 1 || cost < best) {
            best = cost;
            *left = i * BVH_WIDTH;
        }
    }
    return best;
}

/* Splits a few items optimally: they are sorted on every axis. */
static size_t split_sorted(builder *b, const range *r) {
    uint32_t count = r->end - r->begin, best_left = 0;
    item *items = b->items + r->begin, kept[SORTED_ITEMS_MAX];
    sorted s[3];
    sort_keys keys;
    int best = 0;
    float best_cost = FLT_MAX;
    make_sort_keys(items, count, &keys);
    for (int axis = 0; axis < 3; axis++) {
        uint32_t left = 0;
        sort_on_axis(items, &keys, count, axis, &s[axis]);
        float cost = best_leaf_split(&s[axis], count, &left);
        if (axis == 0 || cost < best_cost) {
            best_cost = cost;
            best_left = left;
            best = axis;
        }
    }
    memcpy(kept, items, count * sizeof *kept);
    for (uint32_t i = 0; i < count; i++)
        items[i] = kept[s[best].item[i]];
    return r->begin + best_left;
}

static size_t split_range(builder *b, const range *r, bin_statistics *g) {
    uint32_t count = r->end - r->begin;
    if (r->depth >= BVH_COST_DEPTH)
        return halve_range(r);
    if (count <= SORTED_ITEMS_MAX)
        return split_sorted(b, r);
    binning how = choose_bins(g, count);
    gather_bins(b->items, r->begin, r->end, &how, g);
    split_plane where = choose_plane(g, &how);
    if (where.axis < 0)
        return halve_range(r);
    plane_test s = make_plane_test(&how, &where);
    partition_range(b->items, r, &s);
    size_t centre = r->begin + round_to_leaves(where.left_count, count);
    move_plane(b->items, r, r->begin + where.left_count, centre, where.axis);
    return centre;
}

static box4 bounds_of_items(const item *items, uint32_t count) {
    box4 box = box4_load(items[0].box);
    for (uint32_t i = 1; i < count; i++)
        box = box4_join(box, box4_load(items[i].box));
    return box;
}

static void build_small(builder *b, range root) {
    range stack[BVH_DEPTH + 2];
    uint32_t used = 0;
    bin_statistics g;
    stack[used++] = root;
    while (used) {
        range r = stack[--used];
        assert(r.depth < BVH_DEPTH);
        uint32_t count = r.end - r.begin;
        if (count <= SORTED_ITEMS_MAX) /* no bins */
            box4_store(g.box, bounds_of_items(b->items + r.begin, count));
        else
            gather_boxes(b->items, r.begin, r.end, &g);
        float area = half_area(box4_load(g.box));
        if (count <= BVH_WIDTH) {
            b->splits[r.slot] = (bvh_split){area, 0, r.begin / BVH_WIDTH};
            for (uint32_t i = r.begin; i < r.end; i++)
                b->order[i] = item_triangle(&b->items[i]);
            continue;
        }
        range children[2];
        write_split(b, &r, area, split_range(b, &r, &g), children);
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

static void item_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        double lo[3], hi[3];
        bvh_triangle_box(b->mesh, b->scale, (uint32_t)i, lo, hi);
        for (int axis = 0; axis < 3; axis++) {
            b->items[i].box[axis] = (float)lo[axis];
            b->items[i].box[4 + axis] = -(float)hi[axis];
        }
        set_triangle(&b->items[i], (uint32_t)i);
    }
}

/* Ranges up to this size are built by one thread each: 1/64 of the mesh, which gives enough ranges
 * for many threads. */
static uint32_t small_range_size(uint32_t triangle_count) {
    uint32_t part = triangle_count / SMALL_RANGE_FRACTION;
    return part > SMALL_RANGE_MIN ? part : SMALL_RANGE_MIN;
}

static void large_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    bin_statistics g;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const range *r = &b->ranges[b->small_count + i];
        gather_boxes(b->items, r->begin, r->end, &g);
        float area = half_area(box4_load(g.box));
        write_split(b, r, area, split_range(b, r, &g), b->halves[i]);
    }
}

/* Splits ranges that are too large for one thread, each by one thread, repeatedly. In the end all
 * ranges are small and precede `small_count`. */
static abut_status split_large(builder *b, uint32_t triangle_count) {
    const uint32_t small = small_range_size(triangle_count);
    uint64_t small_triangles = 0;
    size_t range_count = 1;
    abut_status status = ABUT_OK;
    b->ranges[0] = (range){0, triangle_count, 0, 0};
    while (!status) {
        for (size_t i = b->small_count; i < range_count; i++) { /* move small ranges to the front */
            range r = b->ranges[i];
            if (r.end - r.begin > small)
                continue;
            small_triangles += r.end - r.begin;
            b->ranges[i] = b->ranges[b->small_count];
            b->ranges[b->small_count++] = r;
        }
        size_t count = range_count - b->small_count;
        if (!count)
            break;
        assert(count < LARGE_RANGES_MAX);
        abuti_parallel_for(b->context, count, 1, large_task, b);
        memcpy(b->ranges + b->small_count, b->halves, count * sizeof *b->halves);
        range_count += count;
        status = abuti_progress(b->context, "bvh",
                                0.3 * (double)small_triangles / (double)triangle_count);
    }
    return status;
}

/* Splits large ranges, then builds the others in groups, with progress reports between them. */
static abut_status build_all(builder *b, uint32_t triangle_count) {
    abut_status status = split_large(b, triangle_count);
    const size_t range_count = b->small_count;
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

abut_status BY_LANES(abuti_bvh_split)(abut_context *context, const abut_mesh *mesh, double scale,
                                      uint32_t *order, bvh_split *splits) {
    size_t count = mesh->triangle_count;
    /* A split leaves at least one triangle on either side; adversarial input can have as many small
     * ranges as leaves. */
    size_t range_capacity = (count + BVH_WIDTH - 1) / BVH_WIDTH;
    builder b = {
        .context = context, .mesh = mesh, .scale = scale, .order = order, .splits = splits};
    b.items = abuti_allocate(context, count, sizeof *b.items);
    range *ranges = b.ranges = abuti_allocate(context, range_capacity, sizeof *b.ranges);
    abut_status status = ABUT_ERROR_MEMORY;
    if (b.items && b.ranges) {
        status = abuti_parallel_try(context, "bvh", count, TRIANGLES_PER_TASK, item_task, &b);
        if (!status)
            status = build_all(&b, mesh->triangle_count);
    }
    ABUTI_RELEASE(context, b.items, ranges);
    return status;
}
