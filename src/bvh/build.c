/* Which triangles stand together: a binary tree by the surface area heuristic.
 *
 * Method: top-down. The middles of the boxes go into bins on each axis, and of all borders between
 * bins the one of least area x leaves on both sides is taken (Wald 2007, "On fast construction of
 * SAH-based bounding volume hierarchies"). Then the few triangles nearest to the border change
 * sides, until the left side is a multiple of four: so all leaves are full, and where each subtree
 * goes is known before it is built. A subtree over m leaves is 2m - 1 consecutive nodes.
 * Where all middles coincide, and beyond a depth that only hostile input reaches, the range is
 * halved as it stands. Hence O(n log n) and a bounded depth for any input.
 * Large ranges are split one after the other by all threads, middling ones at the same time, and
 * small ones each by one thread to the end.
 * Guarantee: the tree depends on the mesh alone. Bins hold minima, maxima and counts, which do not
 * depend on the order in which chunks are added.
 */
#include "bvh/bvh.h"

#include "base/simd.h"

#include <assert.h>

enum {
    BIN_MAX = 16,
    SWEEP_MAX = 16,                /* triangles that are sorted rather than put into bins */
    BIN_SETS = 4,                  /* of bins that are filled in turn */
    TWICE_MIN = 64,                /* triangles that go into two of them, */
    SETS_MIN = 1024,               /* and into all */
    CHUNK = 32768,                 /* triangles for one task of a pass over a large range */
    SMALL_MIN = 8192,              /* below, a range is not worth sharing out */
    SMALL_PARTS = 64,              /* a small range is about this part of the whole */
    MIDDLING_MAX = SMALL_PARTS + 2 /* ranges that are not small, at a time */
};

/* The box of a triangle as a box4, whose fourth numbers are the triangle's: its lower 24 bits and
 * the others, which floats hold exactly. So items move as one, and nothing else with them. */
typedef struct item {
    float box[8];
} item;

static inline void name_item(item *it, uint32_t triangle) {
    it->box[3] = (float)(triangle & 0xffffff);
    it->box[7] = (float)(triangle >> 24);
}

static inline uint32_t triangle_of(const item *it) {
    return (uint32_t)(int32_t)it->box[3] | (uint32_t)(int32_t)it->box[7] << 24;
}

typedef struct range {
    uint32_t begin, end, slot, depth;
    bool away; /* its items stand in the spare array */
} range;

typedef struct bin {
    float box[8];
    uint32_t count, unused[7]; /* 64 bytes */
} bin;

/* What one pass over some items gathers. */
typedef struct gathering {
    float box[8];    /* of all boxes */
    float middle[8]; /* of twice their middles */
    bin bins[3][BIN_MAX];
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
    uint32_t *order; /* of the triangles in the end */
    bvh_split *splits;
    gathering *chunks;
    uint32_t *chunk_left;
    range *ranges; /* each for one thread */
    size_t done;   /* so many of them are small */
    range halves[MIDDLING_MAX][2];
    /* of the pass that runs */
    range now;
    binning how;
    border where;
    size_t side_begin; /* of the side that gives an item away: */
    bool side_lowest;  /* its lowest or its highest */
} builder;

/* ---- bins ---- */

/* Twice the middle. */
static inline f4 middle_of(box4 box) {
    return f4_sub(box4_low(box), box4_minus_high(box));
}

/* Every other item on its own, so that one minimum need not wait for the last. */
static void gather_boxes(const item *items, size_t begin, size_t end, gathering *g) {
    box4 all[2] = {box4_all(FLT_MAX), box4_all(FLT_MAX)};
    f4 lo[2] = {f4_all(FLT_MAX), f4_all(FLT_MAX)}, hi[2] = {f4_all(-FLT_MAX), f4_all(-FLT_MAX)};
    for (size_t i = begin; i < end; i += 2)
        for (size_t k = 0; k < 2; k++) {
            box4 box = box4_load(items[i + k < end ? i + k : i].box);
            f4 middle = middle_of(box);
            all[k] = box4_join(all[k], box);
            lo[k] = f4_min(lo[k], middle);
            hi[k] = f4_max(hi[k], middle);
        }
    box4_store(g->box, box4_join(all[0], all[1]));
    f4_store(g->middle, f4_min(lo[0], lo[1]));
    f4_store(g->middle + 4, f4_sub(f4_all(0), f4_max(hi[0], hi[1])));
}

static void join_boxes(gathering *g, const gathering *other) {
    box4_store(g->box, box4_join(box4_load(g->box), box4_load(other->box)));
    box4_store(g->middle, box4_join(box4_load(g->middle), box4_load(other->middle)));
}

static binning choose_bins(const gathering *g, uint32_t count) {
    binning how;
    float per_bin[4] = {0, 0, 0, 0};
    how.count = count < 32 ? 8 : BIN_MAX;
    for (int axis = 0; axis < 3; axis++) {
        /* A quotient beyond floats means that the middles are the same for our purposes. */
        float lo = g->middle[axis], hi = -g->middle[4 + axis];
        float k = (float)how.count * 0.9999f / (hi - lo);
        how.flat[axis] = !(hi > lo) || !(k <= FLT_MAX);
        per_bin[axis] = how.flat[axis] ? 0 : k;
    }
    how.lo = f4_load(g->middle);
    how.per_bin = f4_load(per_bin);
    return how;
}

/* The middles are between the ends that the bins were chosen for, so that the last bin is the
 * highest number. */
static inline void bins_of(const binning *how, f4 middle, int32_t number[4]) {
    f4_store_int(number, f4_mul(f4_sub(middle, how->lo), how->per_bin));
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

static void join_bins(bin bins[3][BIN_MAX], bin others[3][BIN_MAX], uint32_t count) {
    for (int axis = 0; axis < 3; axis++)
        for (uint32_t b = 0; b < count; b++) {
            bin *to = &bins[axis][b];
            const bin *from = &others[axis][b];
            box4_store(to->box, box4_join(box4_load(to->box), box4_load(from->box)));
            to->count += from->count;
        }
}

static inline void add_to_bins(const item *it, const binning *how, bin bins[3][BIN_MAX]) {
    int32_t number[4];
    box4 box = box4_load(it->box);
    bins_of(how, middle_of(box), number);
    for (int axis = 0; axis < 3; axis++) {
        bin *b = &bins[axis][(uint32_t)number[axis]];
        box4_store(b->box, box4_join(box4_load(b->box), box));
        b->count++;
    }
}

/* Neighbours mostly go into the same bins, and each waits until the last has been stored: so they
 * go into several sets of bins in turn, where that is worth clearing and joining them. */
static void gather_bins(const item *items, size_t begin, size_t end, const binning *how,
                        gathering *g) {
    binning to = *how;
    bin others[BIN_SETS - 1][3][BIN_MAX];
    size_t i = begin, sets = end - begin >= SETS_MIN ? BIN_SETS : end - begin >= TWICE_MIN ? 2 : 1;
    clear_bins(g->bins, to.count);
    for (size_t k = 1; k < sets; k++)
        clear_bins(others[k - 1], to.count);
    if (sets == BIN_SETS)
        for (; i + BIN_SETS <= end; i += BIN_SETS) {
            add_to_bins(&items[i], &to, g->bins);
            for (size_t k = 1; k < BIN_SETS; k++)
                add_to_bins(&items[i + k], &to, others[k - 1]);
        }
    else if (sets == 2)
        for (; i + 2 <= end; i += 2) {
            add_to_bins(&items[i], &to, g->bins);
            add_to_bins(&items[i + 1], &to, others[0]);
        }
    for (; i < end; i++)
        add_to_bins(&items[i], &to, g->bins);
    for (size_t k = 1; k < sets; k++)
        join_bins(g->bins, others[k - 1], to.count);
}

static inline f4 extent_of(box4 box) {
    return f4_sub(f4_sub(f4_all(0), box4_minus_high(box)), box4_low(box));
}

/* Half the surface of a box. */
static inline float area_of(box4 box) {
    float d[4];
    f4_store(d, extent_of(box));
    return d[0] * d[1] + d[1] * d[2] + d[2] * d[0];
}

static float leaves_of(uint32_t count) {
    return (float)((count + BVH_WIDTH - 1) / BVH_WIDTH);
}

/* What one side of every border of an axis costs: cost[i] that of the first i + 1 bins, or the
 * last; and how many items they hold. Not a number where there are none: inf x 0. Areas four at a
 * time. */
static inline void sum_up(const bin bins[BIN_MAX], uint32_t bin_count, bool from_end,
                          float cost[BIN_MAX], uint32_t counts[BIN_MAX]) {
    float extent[BIN_MAX][4], leaves[BIN_MAX];
    box4 box = box4_all(FLT_MAX);
    uint32_t count = 0;
    for (uint32_t i = 0; i < bin_count; i++) {
        const bin *b = &bins[from_end ? bin_count - 1 - i : i];
        box = box4_join(box, box4_load(b->box));
        counts[i] = count += b->count;
        leaves[i] = leaves_of(count);
        f4_store(extent[i], extent_of(box));
    }
    for (uint32_t i = 0; i < bin_count; i += 4) {
        const float *const rows[4] = {extent[i], extent[i + 1], extent[i + 2], extent[i + 3]};
        f4 d[4];
        f4_columns(rows, 0, d);
        f4 area = f4_add(f4_add(f4_mul(d[0], d[1]), f4_mul(d[1], d[2])), f4_mul(d[2], d[0]));
        f4_store(cost + i, f4_mul(area, f4_load(leaves + i)));
    }
}

/* The border of least cost; the first of equals. Each has items on both sides. */
static border choose_border(const gathering *g, const binning *how) {
    border best = {-1, 0, 0};
    float best_cost = FLT_MAX;
    for (int axis = 0; axis < 3; axis++) {
        float left[BIN_MAX], right[BIN_MAX];
        uint32_t left_count[BIN_MAX], right_count[BIN_MAX];
        if (how->flat[axis])
            continue;
        sum_up(g->bins[axis], how->count, false, left, left_count);
        sum_up(g->bins[axis], how->count, true, right, right_count);
        for (uint32_t b = 0; b + 1 < how->count; b++) {
            float cost = left[b] + right[how->count - 2 - b];
            if (cost < best_cost) {
                best_cost = cost;
                best = (border){axis, b, left_count[b]};
            }
        }
    }
    return best;
}

/* ---- two sides ---- */

static inline void swap_items(item *items, size_t i, size_t j) {
    box4 box = box4_load(items[i].box);
    box4_store(items[i].box, box4_load(items[j].box));
    box4_store(items[j].box, box);
}

/* Which side of a border: the bin as bins_of() tells it, on one axis alone. */
typedef struct side {
    int axis;
    float lo, per_bin, end;
} side;

static side side_of(const binning *how, const border *where) {
    float lo[4], per_bin[4];
    f4_store(lo, how->lo);
    f4_store(per_bin, how->per_bin);
    side s = {where->axis, lo[where->axis], per_bin[where->axis], (float)(where->bin + 1)};
    return s;
}

static float middle_on(const item *it, int axis) {
    return it->box[axis] - it->box[4 + axis];
}

static inline bool goes_left(const side *s, const item *it) {
    return (middle_on(it, s->axis) - s->lo) * s->per_bin < s->end;
}

/* Each item in turn changes places with the first that goes right: more copies than need be, but no
 * branch, and half of the branches would be mistaken. */
static void divide(item *items, const range *r, const side *s) {
    size_t middle = r->begin;
    for (size_t i = r->begin; i < r->end; i++) {
        bool left = goes_left(s, &items[i]);
        swap_items(items, i, middle);
        middle += left;
    }
}

/* The nearest multiple of four that leaves both sides something. */
static uint32_t round_count(uint32_t left, uint32_t total) {
    uint32_t most = (total - 1) / BVH_WIDTH * BVH_WIDTH;
    uint32_t count = (left + BVH_WIDTH / 2) / BVH_WIDTH * BVH_WIDTH;
    return count < BVH_WIDTH ? BVH_WIDTH : count > most ? most : count;
}

/* Of items from begin to end, the one nearest to a border before them (`lowest`) or behind them; of
 * equals the lowest triangle. */
static size_t nearest_item(const item *items, size_t begin, size_t end, int axis, bool lowest) {
    size_t best = begin;
    for (size_t i = begin + 1; i < end; i++) {
        float x = middle_on(&items[i], axis), y = middle_on(&items[best], axis);
        if ((lowest ? x < y : x > y) ||
            (x == y && triangle_of(&items[i]) < triangle_of(&items[best])))
            best = i;
    }
    return best;
}

/* Moves the border from `middle` to `wanted`, a few places away: each time the item nearest to it
 * changes sides. */
static void move_border(item *items, const range *r, size_t middle, size_t wanted, int axis) {
    while (middle != wanted) {
        bool grow = middle < wanted; /* the left side takes the lowest of the right */
        size_t begin = grow ? middle : r->begin, end = grow ? r->end : middle;
        size_t best = nearest_item(items, begin, end, axis, grow);
        middle -= !grow;
        swap_items(items, best, middle);
        middle += grow;
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
    children[0] = (range){r->begin, (uint32_t)middle, r->slot + 1, r->depth + 1, r->away};
    children[1] = (range){(uint32_t)middle, r->end, split->right, r->depth + 1, r->away};
}

/* ---- one thread ---- */

/* A few items, from the lowest middle to the highest. */
typedef struct sorted {
    uint32_t item[SWEEP_MAX];
    float box[SWEEP_MAX / BVH_WIDTH][8]; /* of each four */
} sorted;

/* What items are sorted by: numbers that ascend as their middles do, and triangles among equals. */
typedef struct sort_keys {
    int32_t middle[3][SWEEP_MAX], triangle[SWEEP_MAX];
} sort_keys;

static void make_keys(const item *items, uint32_t count, sort_keys *keys) {
    memset(keys, 0, sizeof *keys);
    for (uint32_t i = 0; i < count; i++) {
        float middle[4];
        int32_t bits[4];
        f4_store(middle, middle_of(box4_load(items[i].box)));
        memcpy(bits, middle, sizeof bits);
        for (int axis = 0; axis < 3; axis++)
            keys->middle[axis][i] = bits[axis] < 0 ? bits[axis] ^ INT32_MAX : bits[axis];
        keys->triangle[i] = (int32_t)triangle_of(&items[i]);
    }
}

/* No branch could be foreseen: so each goes where as many are lower as there are. */
static void sort_on(const item *items, const sort_keys *keys, uint32_t count, int axis, sorted *s) {
    uint32_t place[SWEEP_MAX];
    abuti_rank(keys->middle[axis], keys->triangle, count, place);
    for (uint32_t i = 0; i < count; i++)
        s->item[place[i]] = i;
    for (uint32_t four = 0; four * BVH_WIDTH < count; four++) {
        box4 box = box4_load(items[s->item[four * BVH_WIDTH]].box);
        for (uint32_t i = four * BVH_WIDTH + 1; i < count && i < (four + 1) * BVH_WIDTH; i++)
            box = box4_join(box, box4_load(items[s->item[i]].box));
        box4_store(s->box[four], box);
    }
}

/* Least cost of all borders between fours. */
static float best_border(const sorted *s, uint32_t count, uint32_t *left) {
    uint32_t fours = (count + BVH_WIDTH - 1) / BVH_WIDTH;
    float right_cost[SWEEP_MAX / BVH_WIDTH], best = FLT_MAX;
    box4 box = box4_all(FLT_MAX);
    for (uint32_t i = fours - 1; i > 0; i--) {
        box = box4_join(box, box4_load(s->box[i]));
        right_cost[i] = area_of(box) * (float)(fours - i);
    }
    box = box4_all(FLT_MAX);
    for (uint32_t i = 1; i < fours; i++) {
        box = box4_join(box, box4_load(s->box[i - 1]));
        float cost = area_of(box) * (float)i + right_cost[i];
        if (i == 1 || cost < best) {
            best = cost;
            *left = i * BVH_WIDTH;
        }
    }
    return best;
}

/* Splits a few items where it is best of all: they are sorted on every axis. */
static size_t split_few(builder *b, const range *r) {
    uint32_t count = r->end - r->begin, best_left = 0;
    item *items = b->items + r->begin, kept[SWEEP_MAX];
    sorted s[3];
    sort_keys keys;
    int best = 0;
    float best_cost = FLT_MAX;
    make_keys(items, count, &keys);
    for (int axis = 0; axis < 3; axis++) {
        uint32_t left = 0;
        sort_on(items, &keys, count, axis, &s[axis]);
        float cost = best_border(&s[axis], count, &left);
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

static size_t split_small(builder *b, const range *r, gathering *g) {
    uint32_t count = r->end - r->begin;
    if (r->depth >= BVH_COST_DEPTH)
        return halve(r);
    if (count <= SWEEP_MAX)
        return split_few(b, r);
    binning how = choose_bins(g, count);
    gather_bins(b->items, r->begin, r->end, &how, g);
    border where = choose_border(g, &how);
    if (where.axis < 0)
        return halve(r);
    side s = side_of(&how, &where);
    divide(b->items, r, &s);
    size_t middle = r->begin + round_count(where.left_count, count);
    move_border(b->items, r, r->begin + where.left_count, middle, where.axis);
    return middle;
}

static box4 box_of(const item *items, uint32_t count) {
    box4 box = box4_load(items[0].box);
    for (uint32_t i = 1; i < count; i++)
        box = box4_join(box, box4_load(items[i].box));
    return box;
}

static void build_small(builder *b, range root) {
    range stack[BVH_DEPTH + 2];
    uint32_t used = 0;
    gathering g;
    stack[used++] = root;
    while (used) {
        range r = stack[--used];
        assert(r.depth < BVH_DEPTH);
        uint32_t count = r.end - r.begin;
        if (count <= SWEEP_MAX) /* no bins */
            box4_store(g.box, box_of(b->items + r.begin, count));
        else
            gather_boxes(b->items, r.begin, r.end, &g);
        float area = area_of(box4_load(g.box));
        if (count <= BVH_WIDTH) {
            b->splits[r.slot] = (bvh_split){area, 0, r.begin / BVH_WIDTH};
            for (uint32_t i = r.begin; i < r.end; i++)
                b->order[i] = triangle_of(&b->items[i]);
            continue;
        }
        range children[2];
        note_split(b, &r, area, split_small(b, &r, &g), children);
        stack[used++] = children[1];
        stack[used++] = children[0];
    }
}

/* Brings the items of a range back from the spare array. */
static void bring_back(builder *b, range *r) {
    size_t count = r->end - r->begin;
    if (r->away) {
        memcpy(b->items + r->begin, b->spare + r->begin, count * sizeof *b->items);
        r->away = false;
    }
}

static void small_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        range r = b->ranges[i];
        bring_back(b, &r);
        build_small(b, r);
    }
}

/* ---- all threads ---- */

/* Items of the range that is being split. */
static item *items_now(const builder *b) {
    return b->now.away ? b->spare : b->items;
}

static void boxes_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    gather_boxes(items_now(b), b->now.begin + begin, b->now.begin + end, &b->chunks[chunk]);
}

static void bins_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    gather_bins(items_now(b), b->now.begin + begin, b->now.begin + end, &b->how, &b->chunks[chunk]);
}

/* To the other array, where both sides keep their order; chunk_left holds where the chunk's left
 * ones go. */
static void scatter_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    size_t first = b->now.begin, left = first + b->chunk_left[chunk];
    size_t right = first + b->where.left_count + begin - b->chunk_left[chunk];
    side s = side_of(&b->how, &b->where);
    const item *from = items_now(b);
    item *to = b->now.away ? b->items : b->spare;
    for (size_t i = first + begin; i < first + end; i++)
        to[goes_left(&s, &from[i]) ? left++ : right++] = from[i];
}

/* Of each chunk of a side, the item nearest to the border. */
static void nearest_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    size_t first = b->side_begin;
    b->chunk_left[chunk] = (uint32_t)nearest_item(items_now(b), first + begin, first + end,
                                                  b->where.axis, b->side_lowest);
}

/* A pass over the range that is being split. */
static void pass(builder *b, size_t count,
                 void (*body)(void *data, size_t chunk, size_t begin, size_t end)) {
    abuti_parallel_for(b->context, count, CHUNK, body, b);
}

/* How many of a chunk are in bins left of the border. */
static uint32_t count_left(const gathering *g, const border *where) {
    uint32_t left = 0;
    for (uint32_t i = 0; i <= where->bin; i++)
        left += g->bins[where->axis][i].count;
    return left;
}

/* Chunk 0 has been joined with all others: it has what they have not. */
static void divide_large(builder *b, size_t count) {
    uint32_t sum = b->where.left_count;
    for (size_t c = abuti_chunk_count(count, CHUNK); c-- > 1;) {
        sum -= count_left(&b->chunks[c], &b->where);
        b->chunk_left[c] = sum;
    }
    b->chunk_left[0] = 0;
    pass(b, count, scatter_task);
    b->now.away = !b->now.away;
}

/* As move_border(), by all threads. */
static void move_border_large(builder *b, size_t middle, size_t wanted) {
    item *items = items_now(b);
    while (middle != wanted) {
        bool grow = middle < wanted;
        size_t end = grow ? b->now.end : middle;
        b->side_begin = grow ? middle : b->now.begin;
        b->side_lowest = grow;
        pass(b, end - b->side_begin, nearest_task);
        size_t best = b->chunk_left[0];
        for (size_t c = 1; c < abuti_chunk_count(end - b->side_begin, CHUNK); c++) {
            size_t other = b->chunk_left[c];
            float x = middle_on(&items[other], b->where.axis);
            float y = middle_on(&items[best], b->where.axis);
            if ((grow ? x < y : x > y) ||
                (x == y && triangle_of(&items[other]) < triangle_of(&items[best])))
                best = other;
        }
        middle -= !grow;
        swap_items(items, best, middle);
        middle += grow;
    }
}

static void split_large(builder *b, range r, range children[2]) {
    uint32_t count = r.end - r.begin;
    size_t chunks = abuti_chunk_count(count, CHUNK), middle = halve(&r);
    gathering *g = &b->chunks[0];
    b->now = r;
    if (r.depth > 0) /* those of the root were gathered with its items */
        pass(b, count, boxes_task);
    for (size_t c = 1; c < chunks; c++)
        join_boxes(g, &b->chunks[c]);
    float area = area_of(box4_load(g->box));
    b->how = choose_bins(g, count);
    b->where.axis = -1;
    if (r.depth < BVH_COST_DEPTH) {
        pass(b, count, bins_task);
        for (size_t c = 1; c < chunks; c++)
            join_bins(g->bins, b->chunks[c].bins, b->how.count);
        b->where = choose_border(g, &b->how);
    }
    if (b->where.axis >= 0) {
        divide_large(b, count);
        middle = r.begin + round_count(b->where.left_count, count);
        move_border_large(b, r.begin + b->where.left_count, middle);
    }
    note_split(b, &b->now, area, middle, children);
}

static void item_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    for (size_t i = begin; i < end; i++) {
        double lo[3], hi[3];
        bvh_triangle_box(b->mesh, b->scale, (uint32_t)i, lo, hi);
        for (int axis = 0; axis < 3; axis++) {
            b->items[i].box[axis] = (float)lo[axis];
            b->items[i].box[4 + axis] = -(float)hi[axis];
        }
        name_item(&b->items[i], (uint32_t)i);
    }
    gather_boxes(b->items, begin, end, &b->chunks[chunk]);
}

/* Ranges that are large for this mesh: below an eighth of a percent or so, there are enough of them
 * to keep many threads busy. */
static uint32_t small_size(uint32_t triangle_count) {
    uint32_t part = triangle_count / SMALL_PARTS;
    return part > SMALL_MIN ? part : SMALL_MIN;
}

static void middling_task(void *data, size_t chunk, size_t begin, size_t end) {
    builder *b = data;
    gathering g;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        range r = b->ranges[b->done + i];
        bring_back(b, &r);
        gather_boxes(b->items, r.begin, r.end, &g);
        float area = area_of(box4_load(g.box));
        note_split(b, &r, area, split_small(b, &r, &g), b->halves[i]);
    }
}

/* Splits ranges that are too small for all threads together but too large for one alone: each by
 * one thread, again and again. Those that are small in the end stand before `done`. */
static size_t split_middling(builder *b, size_t range_count, uint32_t small) {
    for (;;) {
        for (size_t i = b->done; i < range_count; i++) { /* what is small goes to the front */
            range r = b->ranges[i];
            if (r.end - r.begin > small)
                continue;
            b->ranges[i] = b->ranges[b->done];
            b->ranges[b->done++] = r;
        }
        size_t count = range_count - b->done;
        if (!count)
            return range_count;
        assert(count < MIDDLING_MAX);
        abuti_parallel_for(b->context, count, 1, middling_task, b);
        memcpy(b->ranges + b->done, b->halves, count * sizeof *b->halves);
        range_count += count;
    }
}

/* Splits what is large, then the rest in groups, so that progress can be told between them. */
static abut_status build_all(builder *b, uint32_t triangle_count) {
    uint32_t small = small_size(triangle_count), large_least = small > CHUNK ? small : CHUNK;
    range large[2 * BVH_DEPTH];
    uint32_t used = 0;
    size_t range_count = 0, done = 0;
    abut_status status = ABUT_OK;
    range root = {0, triangle_count, 0, 0, false};
    if (triangle_count > large_least)
        large[used++] = root;
    else
        b->ranges[range_count++] = root;
    while (used && !status) {
        range r = large[--used], children[2];
        split_large(b, r, children);
        for (int k = 1; k >= 0; k--) {
            assert(used + 1 < 2 * BVH_DEPTH);
            if (children[k].end - children[k].begin > large_least) {
                large[used++] = children[k];
            } else {
                b->ranges[range_count++] = children[k];
                done += children[k].end - children[k].begin;
            }
        }
        status = abuti_progress(b->context, "bvh", 0.3 * (double)done / triangle_count);
    }
    if (!status) {
        range_count = split_middling(b, range_count, small);
        status = abuti_progress(b->context, "bvh", 0.3);
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

static abut_status split_mesh(abut_context *context, const abut_mesh *mesh, double scale,
                              uint32_t *order, bvh_split *splits) {
    size_t count = mesh->triangle_count, chunks = abuti_chunk_count(count, CHUNK);
    bool large = count > small_size(mesh->triangle_count);
    bool shared = count > CHUNK; /* some range is split by all threads */
    /* A split of a large range leaves at least one triangle on either side, and every small range
     * comes from such a split; hostile input can make that as many as leaves. */
    size_t range_room = large ? (count + BVH_WIDTH - 1) / BVH_WIDTH : 1;
    builder b = {
        .context = context, .mesh = mesh, .scale = scale, .order = order, .splits = splits};
    b.items = abuti_allocate(context, count, sizeof *b.items);
    b.spare = abuti_allocate(context, shared ? count : 0, sizeof *b.spare);
    b.chunks = abuti_allocate(context, chunks, sizeof *b.chunks);
    b.chunk_left = abuti_allocate(context, chunks, sizeof *b.chunk_left);
    range *ranges = b.ranges = abuti_allocate(context, range_room, sizeof *b.ranges);
    abut_status status = ABUT_ERROR_MEMORY;
    if (b.items && b.spare && b.chunks && b.chunk_left && b.ranges) {
        if (shared) {
            abuti_populate_pages(context, b.items, count * sizeof *b.items);
            abuti_populate_pages(context, b.spare, count * sizeof *b.spare);
        }
        status = abuti_parallel_try(context, "bvh", count, CHUNK, item_task, &b);
        status = status ? status : build_all(&b, mesh->triangle_count);
    }
    ABUTI_RELEASE(context, b.items, b.spare, b.chunks, b.chunk_left, ranges);
    return status;
}

#ifdef LANES /* compiled once more, for AVX2: a box is one register there */
abut_status abuti_bvh_split_8(abut_context *context, const abut_mesh *mesh, double scale,
                              uint32_t *order, bvh_split *splits) {
    return split_mesh(context, mesh, scale, order, splits);
}
#else
abut_status abuti_bvh_split(abut_context *context, const abut_mesh *mesh, double scale,
                            uint32_t *order, bvh_split *splits) {
    return ABUTI_8_LANES_OR(abuti_bvh_split_8, split_mesh)(context, mesh, scale, order, splits);
}
#endif
