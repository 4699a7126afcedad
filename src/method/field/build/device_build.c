/* Host side of the field kernels: launches, and the fallback to closest-point queries. All kernels
 * are enqueued at once, and the host waits at the end and checks whether all buffers were large
 * enough. If the pool of lists was too small, it is enlarged and kept, and everything is enqueued
 * again. If another buffer was too small, or lists are of no use, all cells are computed by
 * closest-point queries. */
#include "field/build/device.h"
#include "nearest/nearest_shared.h"
#include "sign/sign.h"

#include <math.h>

#define GROUP FIELD_GROUP

enum {
    /* Number of the largest blocks. Each filters all features. */
    TOP_BLOCKS = 64,
    /* Lists are divided into slices so that a level has this many work-groups. */
    LEVEL_GROUPS = 32768,
    SLICE_FEATURES = 256, /* minimum features of the mesh per slice */
    /* Maximum blocks that are subdivided; with more, all cells use the query. 330 bytes each. */
    LONG_BLOCKS_MAX = 1 << 16,
    /* Work-groups of a launch whose amount of work only the device knows. */
    QUEUE_GROUPS = 4096,
    ROWS_MIN = 1 << 8, /* minimum buffer size for rows whose cells are signed one by one */
    /* Initial pool size: entries per feature, their maximum, and a fraction of the cells. */
    POOL_FEATURE = 64,
    POOL_MAX = 32 << 20,
    POOL_CELLS = 8,
    /* Points of one batch of queries. */
    SEARCH_POINTS = 1 << 18,
};
/* Lists may use this fraction of the device memory: 1 / 8. */
#define POOL_MEMORY_DIVISOR 8
/* Grids that extend farther from the centre of the mesh, in its scaled frame, use the query:
 * squared distances and margins stay well within the range of floats. */
#define FRAME_EXTENT_MAX 256.0

typedef struct fill_state {
    bvh_on_device *bvh;
    field_parts *parts;
    const abut_grid *grid;
    uint32_t first[3]; /* first cell of the window */
    double band;
    abuti_buffer *values;
    field_grid argument;
    double largest; /* largest coordinate in the scaled frame */
    /* For each level, of which the last has blocks of FIELD_BLOCK: side and number of blocks,
     * slices of their lists, and offsets of lists and bounds. Bounds have one more level. */
    uint32_t sides[FIELD_LEVELS], blocks[FIELD_LEVELS], slices[FIELD_LEVELS];
    uint32_t lists_at[FIELD_LEVELS], bounds_at[FIELD_LEVELS];
    uint32_t levels;
    uint32_t long_max, longer_max, doubts_max, rows_max;
    double lowest, highest;
} fill_state;

static uint32_t blocks_of(const abut_grid *grid, uint32_t side) {
    size_t blocks = 1;
    for (int axis = 0; axis < 3; axis++)
        blocks *= groups_of(grid->count[axis], side);
    return (uint32_t)blocks;
}

/* ---- kernel arguments ---- */

static vec3 centre_of(const fill_state *f, uint32_t i, uint32_t j, uint32_t k) {
    return grid_centre(f->grid, f->first[0] + i, f->first[1] + j, f->first[2] + k);
}

static field_grid make_grid_argument(fill_state *f) {
    const abut_grid *grid = f->grid;
    vec3 mesh_origin = f->bvh->tree.mesh->origin, first, last;
    double scale = f->bvh->tree.scale;
    field_grid a = {.cell = grid->cell,
                    .scale = scale,
                    .per_scale = 1 / scale,
                    .band = f->band,
                    .step = (float)(grid->cell * scale),
                    .reach = (float)(f->band * scale) * NEAREST_SLACK};
    first = v3_scale(v3_sub(centre_of(f, 0, 0, 0), mesh_origin), scale);
    last = v3_scale(v3_sub(centre_of(f, grid->count[0] - 1, grid->count[1] - 1, grid->count[2] - 1),
                           mesh_origin),
                    scale);
    f->largest = real_max(v3_max_abs(first), v3_max_abs(last));
    a.margin = (float)(NEAREST_MARGIN * (f->largest + 2));
    for (int axis = 0; axis < 3; axis++) {
        a.origin[axis] = v3_get(grid->origin, axis);
        a.mesh_origin[axis] = v3_get(mesh_origin, axis);
        a.base[axis] = (float)v3_get(first, axis);
        a.count[axis] = grid->count[axis];
        a.first[axis] = f->first[axis];
    }
    return a;
}

/* Chooses the levels, from the largest blocks down to those that are measured. */
static void choose_levels(fill_state *f) {
    uint32_t side = FIELD_BLOCK, lists = 0, bounds = 0;
    while (blocks_of(f->grid, side) > TOP_BLOCKS)
        side *= 2;
    f->levels = 0;
    for (; side >= FIELD_BLOCK / 2; side /= 2) {
        uint32_t level = f->levels++;
        uint32_t blocks = blocks_of(f->grid, side), slices = f->parts->slices_max;
        while (slices > 1 && ((uint64_t)slices * blocks > LEVEL_GROUPS ||
                              (uint64_t)slices * SLICE_FEATURES > f->parts->features->count))
            slices /= 2;
        f->sides[level] = side;
        f->blocks[level] = blocks;
        f->slices[level] = slices;
        f->lists_at[level] = lists;
        f->bounds_at[level] = bounds;
        lists += side < FIELD_BLOCK ? 0 : slices * blocks;
        bounds += blocks;
    }
    f->levels--; /* the last level has only bounds */
    f->lists_at[f->levels] = lists;
    f->bounds_at[f->levels + 1] = bounds;
    f->long_max =
        f->blocks[f->levels - 1] < LONG_BLOCKS_MAX ? f->blocks[f->levels - 1] : LONG_BLOCKS_MAX;
    f->longer_max = 8 * f->long_max;
    f->doubts_max = (uint32_t)(grid_cells(f->grid) / 32) + SEARCH_POINTS;
    f->rows_max = f->parts->closed ? 1 : (uint32_t)(grid_cells(f->grid) / 64) + ROWS_MIN;
}

/* ---- memory ---- */

static void reserve_buffers(fill_state *f) {
    field_parts *p = f->parts;
    size_t first = (size_t)POOL_FEATURE * p->features->count;
    size_t pool = grid_cells(f->grid) / POOL_CELLS + (first < POOL_MAX ? first : POOL_MAX);
    p->pool_count = p->pool_count < pool && !p->pool_fixed ? pool : p->pool_count;
    const struct {
        field_memory which;
        size_t count, element_bytes;
    } needs[] = {
        {FIELD_POOL, p->pool_count, 4},
        {FIELD_COUNTERS, FIELD_COUNTS, 4},
        {FIELD_DOUBTS, f->doubts_max, 4},
        {FIELD_LISTS, f->lists_at[f->levels], 8},
        {FIELD_BOUNDS, f->bounds_at[f->levels + 1], 4},
        {FIELD_LONG, f->long_max, 4},
        {FIELD_LONGER, f->longer_max, 4},
        {FIELD_CUT_LISTS, 8 * (size_t)f->long_max, 8},
        {FIELD_CUT_BOUNDS, 64 * (size_t)f->long_max, 4},
        {FIELD_COARSE_SHIFTS, blocks_of(f->grid, FIELD_COARSE), 4},
        {FIELD_FINE_SHIFTS, blocks_of(f->grid, FIELD_BLOCK), 4},
        {FIELD_UNDECIDED, blocks_of(f->grid, FIELD_COARSE), 4},
        {FIELD_MIXED, blocks_of(f->grid, FIELD_BLOCK), 4},
        {FIELD_ROWS, f->rows_max, 4},
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        abuti_kit_reserve(&p->kit, needs[i].which, needs[i].count, needs[i].element_bytes);
}

/* ---- stages ---- */

#define MEMORY(which) KIT_BUFFER(&p->kit, which)

/* Crossings of rows, as integers in the buffer of the values. */
static void queue_rows(fill_state *f) {
    abuti_kit *kit = &f->parts->kit;
    bvh_on_device *bvh = f->bvh;
    uint32_t triangles = bvh->tree.triangle_count, columns = f->grid->count[0];
    size_t rows = (size_t)f->grid->count[1] * f->grid->count[2];
    if (!abuti_kit_failed(kit))
        abuti_kit_fail(kit, abuti_buffer_fill(kit->queue, f->values, 0, 4 * grid_cells(f->grid)));
    ABUTI_KIT_RUN(kit, FIELD_CROSS, (size_t)triangles * FIELD_EACH, GROUP,
                  ABUTI_BUFFER(&bvh->tree.corners), ABUTI_VALUE(triangles),
                  ABUTI_VALUE(f->argument), ABUTI_BUFFER(f->values));
    ABUTI_KIT_RUN(kit, FIELD_SUM, rows * FIELD_ROW_GROUP, FIELD_ROW_GROUP, ABUTI_BUFFER(f->values),
                  ABUTI_VALUE(columns), ABUTI_LOCAL_MEMORY(FIELD_SUMS_BYTES));
}

/* Work-items of a launch over at most `most` groups, if only the device knows their number. */
static size_t queue_items(size_t most) {
    return GROUP * (most < QUEUE_GROUPS ? most : QUEUE_GROUPS);
}

static void queue_shifts(fill_state *f, uint32_t side, size_t items, field_memory shifts,
                         field_memory undecided) {
    field_parts *p = f->parts;
    ABUTI_KIT_RUN(&p->kit, FIELD_SHIFTS, items, GROUP, ABUTI_VALUE(f->argument),
                  MEMORY(FIELD_BOUNDARY_NODES), MEMORY(FIELD_BOUNDARY_VERTICES),
                  ABUTI_VALUE(p->node_count), ABUTI_VALUE(side), MEMORY(FIELD_UNDECIDED),
                  MEMORY(shifts), MEMORY(undecided), MEMORY(FIELD_COUNTERS));
}

/* Signs of a surface with boundary edges. */
static void queue_sides(fill_state *f) {
    field_parts *p = f->parts;
    const size_t blocks =
        2 * (size_t)f->blocks[f->levels - 1]; /* some parts of a large block are outside the grid */
    queue_shifts(f, FIELD_COARSE, blocks_of(f->grid, FIELD_COARSE), FIELD_COARSE_SHIFTS,
                 FIELD_UNDECIDED);
    queue_shifts(f, FIELD_BLOCK, queue_items(groups_of(blocks, GROUP)), FIELD_FINE_SHIFTS,
                 FIELD_MIXED);
    ABUTI_KIT_RUN(&p->kit, FIELD_SIDES, queue_items(groups_of(64 * blocks, GROUP)), GROUP,
                  ABUTI_VALUE(f->argument), MEMORY(FIELD_BOUNDARY_NODES),
                  MEMORY(FIELD_BOUNDARY_VERTICES), ABUTI_VALUE(p->node_count),
                  ABUTI_VALUE(p->sign->facing), MEMORY(FIELD_MIXED), MEMORY(FIELD_COUNTERS),
                  ABUTI_BUFFER(f->values), MEMORY(FIELD_ROWS), ABUTI_VALUE(f->rows_max));
    ABUTI_KIT_RUN(&p->kit, FIELD_REST, queue_items(groups_of(8 * (size_t)f->rows_max, GROUP)),
                  GROUP, ABUTI_VALUE(f->argument), MEMORY(FIELD_BOUNDARY_NODES),
                  MEMORY(FIELD_BOUNDARY_VERTICES), ABUTI_VALUE(p->node_count),
                  ABUTI_VALUE(p->sign->facing), MEMORY(FIELD_ROWS), ABUTI_VALUE(f->rows_max),
                  MEMORY(FIELD_COUNTERS), ABUTI_BUFFER(f->values),
                  ABUTI_VALUE(f->bvh->tree.mesh->bounds.hi.x));
}

static void queue_top(fill_state *f) {
    field_parts *p = f->parts;
    uint32_t pool_count = (uint32_t)p->pool_count;
    size_t items = GROUP * (size_t)f->blocks[0];
    ABUTI_KIT_RUN(&p->kit, FIELD_SEED, items, GROUP, FEATURE(p->features, RECORDS),
                  ABUTI_VALUE(p->features->count), ABUTI_VALUE(f->argument),
                  ABUTI_VALUE(f->sides[0]), MEMORY(FIELD_BOUNDS),
                  ABUTI_LOCAL_MEMORY(FIELD_SEED_BYTES));
    ABUTI_KIT_RUN(&p->kit, FIELD_TOP, items * f->slices[0], GROUP, FEATURE(p->features, RECORDS),
                  ABUTI_VALUE(p->features->count), ABUTI_VALUE(f->argument),
                  ABUTI_VALUE(f->sides[0]), ABUTI_VALUE(f->slices[0]), MEMORY(FIELD_BOUNDS),
                  ABUTI_VALUE(f->bounds_at[0]), ABUTI_VALUE(f->bounds_at[1]), MEMORY(FIELD_POOL),
                  ABUTI_VALUE(pool_count), MEMORY(FIELD_COUNTERS), MEMORY(FIELD_LISTS),
                  ABUTI_LOCAL_MEMORY(FIELD_LISTS_BYTES));
}

static void queue_filter(fill_state *f, uint32_t level) {
    field_parts *p = f->parts;
    uint32_t pool_count = (uint32_t)p->pool_count;
    ABUTI_KIT_RUN(&p->kit, FIELD_FILTER, GROUP * (size_t)f->blocks[level] * f->slices[level], GROUP,
                  FEATURE(p->features, RECORDS), ABUTI_VALUE(f->argument),
                  ABUTI_VALUE(f->sides[level]), ABUTI_VALUE(f->slices[level]),
                  ABUTI_VALUE(f->slices[level - 1]), MEMORY(FIELD_BOUNDS),
                  ABUTI_VALUE(f->bounds_at[level]), ABUTI_VALUE(f->bounds_at[level + 1]),
                  MEMORY(FIELD_POOL), ABUTI_VALUE(pool_count), ABUTI_VALUE(level),
                  MEMORY(FIELD_COUNTERS), MEMORY(FIELD_LISTS), ABUTI_VALUE(f->lists_at[level - 1]),
                  ABUTI_VALUE(f->lists_at[level]), ABUTI_LOCAL_MEMORY(FIELD_LISTS_BYTES));
}

/* Blocks of FIELD_BLOCK, or the eighths of those whose lists were too long. */
static void queue_cells(fill_state *f, bool parts) {
    field_parts *p = f->parts;
    uint32_t last = f->levels - 1;
    uint32_t side = parts ? FIELD_BLOCK / 2 : FIELD_BLOCK, slices = parts ? 1 : f->slices[last];
    uint32_t from = parts ? 0 : f->lists_at[last];
    uint32_t next_max = parts ? f->longer_max : f->long_max;
    float facing = p->closed ? 0 : (float)f->parts->sign->facing;
    size_t items = parts ? queue_items(8 * (size_t)f->long_max) : GROUP * (size_t)f->blocks[last];
    ABUTI_KIT_RUN(&p->kit, FIELD_CELLS, items, GROUP, FEATURE(p->features, RECORDS),
                  FEATURE(p->features, EXACT), ABUTI_BUFFER(&f->bvh->tree.corners),
                  ABUTI_VALUE(f->argument), ABUTI_VALUE(side), ABUTI_VALUE(slices),
                  MEMORY(parts ? FIELD_CUT_LISTS : FIELD_LISTS), ABUTI_VALUE(from),
                  MEMORY(FIELD_BOUNDS), ABUTI_VALUE(f->bounds_at[last + 1]),
                  MEMORY(FIELD_CUT_BOUNDS), MEMORY(FIELD_POOL), MEMORY(FIELD_LONG),
                  ABUTI_VALUE(f->long_max), MEMORY(parts ? FIELD_LONGER : FIELD_LONG),
                  ABUTI_VALUE(next_max), MEMORY(FIELD_COARSE_SHIFTS), MEMORY(FIELD_FINE_SHIFTS),
                  ABUTI_VALUE(facing), ABUTI_BUFFER(f->values), MEMORY(FIELD_DOUBTS),
                  ABUTI_VALUE(f->doubts_max), MEMORY(FIELD_COUNTERS),
                  ABUTI_LOCAL_MEMORY(FIELD_CELLS_BYTES));
}

static void queue_cut(fill_state *f) {
    field_parts *p = f->parts;
    uint32_t last = f->levels - 1;
    uint32_t pool_count = (uint32_t)p->pool_count;
    ABUTI_KIT_RUN(&p->kit, FIELD_CUT, queue_items(8 * (size_t)f->long_max), GROUP,
                  FEATURE(p->features, RECORDS), ABUTI_VALUE(f->argument),
                  ABUTI_VALUE(f->slices[last]), MEMORY(FIELD_BOUNDS),
                  ABUTI_VALUE(f->bounds_at[last + 1]), MEMORY(FIELD_LISTS),
                  ABUTI_VALUE(f->lists_at[last]), MEMORY(FIELD_LONG), ABUTI_VALUE(f->long_max),
                  MEMORY(FIELD_POOL), ABUTI_VALUE(pool_count), ABUTI_VALUE(f->levels),
                  MEMORY(FIELD_COUNTERS), MEMORY(FIELD_CUT_LISTS), MEMORY(FIELD_CUT_BOUNDS),
                  ABUTI_LOCAL_MEMORY(FIELD_LISTS_BYTES));
}

static void queue_long_lists(fill_state *f) {
    field_parts *p = f->parts;
    float facing = p->closed ? 0 : (float)f->parts->sign->facing;
    ABUTI_KIT_RUN(&p->kit, FIELD_FEW_CELLS, queue_items(64 * (size_t)f->long_max), GROUP,
                  FEATURE(p->features, RECORDS), FEATURE(p->features, EXACT),
                  ABUTI_BUFFER(&f->bvh->tree.corners), ABUTI_VALUE(f->argument),
                  MEMORY(FIELD_CUT_LISTS), MEMORY(FIELD_CUT_BOUNDS), MEMORY(FIELD_POOL),
                  MEMORY(FIELD_LONG), MEMORY(FIELD_LONGER), ABUTI_VALUE(f->longer_max),
                  MEMORY(FIELD_COARSE_SHIFTS), MEMORY(FIELD_FINE_SHIFTS), ABUTI_VALUE(facing),
                  ABUTI_BUFFER(f->values), MEMORY(FIELD_DOUBTS), ABUTI_VALUE(f->doubts_max),
                  MEMORY(FIELD_COUNTERS), ABUTI_LOCAL_MEMORY(FIELD_FEW_BYTES));
}

/* Uncertain cells, with the arithmetic of the closest-point query. */
static void queue_resolve(fill_state *f) {
    field_parts *p = f->parts;
    const abuti_bvh_device *tree = &f->bvh->tree;
    uint32_t last = f->levels - 1;
    float facing = p->closed ? 0 : (float)f->parts->sign->facing;
    ABUTI_KIT_RUN(&p->kit, FIELD_RESOLVE, queue_items(grid_cells(f->grid)), GROUP,
                  FEATURE(p->features, RECORDS), FEATURE(p->features, INCIDENT_BEGIN),
                  FEATURE(p->features, INCIDENT_PLACES), ABUTI_BUFFER(&tree->order),
                  ABUTI_BUFFER(&tree->corners), ABUTI_VALUE(f->argument),
                  ABUTI_VALUE(f->slices[last]), MEMORY(FIELD_LISTS), ABUTI_VALUE(f->lists_at[last]),
                  MEMORY(FIELD_POOL), MEMORY(FIELD_COARSE_SHIFTS), MEMORY(FIELD_FINE_SHIFTS),
                  ABUTI_VALUE(facing), ABUTI_BUFFER(f->values), MEMORY(FIELD_DOUBTS),
                  ABUTI_VALUE(f->doubts_max), MEMORY(FIELD_COUNTERS),
                  ABUTI_LOCAL_MEMORY(FIELD_RESOLVE_BYTES));
}

static void clear_buffers(fill_state *f) {
    const uint32_t infinite = 0x7f800000;
    abuti_kit *kit = &f->parts->kit;
    abuti_kit_fill(kit, FIELD_COUNTERS, 0, sizeof f->parts->counters);
    abuti_kit_fill(kit, FIELD_BOUNDS, infinite, 4 * (size_t)f->bounds_at[f->levels + 1]);
    abuti_kit_fill(kit, FIELD_CUT_BOUNDS, infinite, 4 * 64 * (size_t)f->long_max);
}

/* Enqueues all stages and waits for the counters. */
static abut_status enqueue_all(fill_state *f) {
    field_parts *p = f->parts;
    abuti_kit *kit = &p->kit;
    reserve_buffers(f);
    clear_buffers(f);
    queue_rows(f);
    if (!p->closed)
        queue_sides(f);
    queue_top(f);
    for (uint32_t level = 1; level < f->levels; level++)
        queue_filter(f, level);
    queue_cells(f, false);
    queue_cut(f);
    queue_cells(f, true);
    queue_long_lists(f);
    queue_resolve(f);
    const bool failed = abuti_kit_failed(kit);
    abut_status status =
        abuti_kit_download(kit, FIELD_COUNTERS, f->parts->counters, FIELD_COUNTS, 4);
    if (failed || status) /* no command may be running when the caller receives the error */
        (void)abuti_kit_finish(kit);
    return status;
}

/* ---- closest-point queries for all cells ---- */

static float value_of(double distance, double band) {
    return (float)(distance > band ? band : distance < -band ? -band : distance);
}

/* Buffers for a batch of cells. */
typedef struct query_buffers {
    vec3 *points;
    abut_nearest *nearest;
    double *windings; /* null without boundary, and with pseudo-normals */
    float *values;
} query_buffers;

/* Signs of cells of a surface with boundary edges: fast winding numbers depend on the BVH, fields
 * do not. */
static abut_status compute_open_signs(fill_state *f, const query_buffers *s,
                                      const bvh_points *batch) {
    const abut_bvh *bvh = f->bvh->bvh;
    abut_status status;
    if ((status = abuti_bvh_ensure_host(bvh)) ||
        (status = abuti_sign_query_on_device("abut_field_create", f->bvh, batch, QUEST_WINDING, 0,
                                             abut_array_host(s->windings))))
        return status;
    for (size_t i = 0; i < batch->count; i++) {
        double distance = fabs(s->nearest[i].distance);
        bool inside = abuti_sign_open_inside(bvh, s->windings[i], s->points[i], distance);
        s->nearest[i].distance = inside && distance > 0 ? -distance : distance;
    }
    return ABUT_OK;
}

static void query_batch(fill_state *f, const query_buffers *s, size_t first, uint32_t count) {
    field_parts *p = f->parts;
    const uint32_t *n = f->grid->count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t cell = (uint32_t)first + i;
        s->points[i] = centre_of(f, cell % n[0], cell / n[0] % n[1], cell / n[0] / n[1]);
    }
    const bvh_points batch = {.first = (const unsigned char *)s->points,
                              .type = ABUT_SCALAR_FLOAT64,
                              .stride = sizeof *s->points,
                              .count = count};
    abuti_kit_fail(&p->kit,
                   abuti_sign_query_on_device("abut_field_create", f->bvh, &batch, QUEST_SIGN,
                                              HUGE_VAL, abut_array_host(s->nearest)));
    if (s->windings && !abuti_kit_failed(&p->kit))
        abuti_kit_fail(&p->kit, compute_open_signs(f, s, &batch));
    for (uint32_t i = 0; i < count && !abuti_kit_failed(&p->kit); i++) {
        s->values[i] = value_of(s->nearest[i].distance, f->band);
        f->lowest = real_min(f->lowest, s->values[i]);
        f->highest = real_max(f->highest, s->values[i]);
    }
    if (!abuti_kit_failed(&p->kit))
        abuti_kit_fail(&p->kit, abuti_buffer_upload(p->kit.queue, f->values, first * sizeof(float),
                                                    s->values, count * sizeof(float)));
}

/* Computes all cells. */
static void query_all_cells(fill_state *f) {
    abuti_kit *kit = &f->parts->kit;
    abut_context *context = f->bvh->context;
    size_t cells = grid_cells(f->grid), most = cells < SEARCH_POINTS ? cells : SEARCH_POINTS;
    const bool has_sides = !f->parts->closed && !f->parts->sign->by_normals;
    query_buffers s = {abuti_allocate(context, most, sizeof *s.points),
                       abuti_allocate(context, most, sizeof *s.nearest),
                       has_sides ? abuti_allocate(context, most, sizeof *s.windings) : NULL,
                       abuti_allocate(context, most, sizeof *s.values)};
    if (!s.points || !s.nearest || (has_sides && !s.windings) || !s.values)
        abuti_kit_fail(kit, ABUT_ERROR_MEMORY);
    for (size_t i = 0; i < cells && !abuti_kit_failed(kit); i += most)
        query_batch(f, &s, i, (uint32_t)(cells - i < most ? cells - i : most));
    ABUTI_RELEASE(context, s.points, s.nearest, s.windings, s.values);
}

/* ---- entry point ---- */

static float float_of_sortable(uint32_t word) {
    uint32_t bits = word & 0x80000000u ? word ^ 0x80000000u : ~word;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The entries that the pool must hold: those of two consecutive levels. */
static uint64_t entries_needed(const fill_state *f) {
    uint64_t needed = 0;
    for (uint32_t level = 0; level < f->levels; level++) {
        uint64_t both = (uint64_t)f->parts->counters[FIELD_COUNT_ENTRIES + level] +
                        f->parts->counters[FIELD_COUNT_ENTRIES + level + 1];
        needed = both > needed ? both : needed;
    }
    return needed;
}

/* Enlarges the pool if it was too small. Returns whether it did. */
static bool grow_pool(fill_state *f) {
    field_parts *p = f->parts;
    uint64_t most = f->bvh->queue.device->info.memory_bytes / (4 * POOL_MEMORY_DIVISOR);
    uint64_t largest = f->bvh->queue.device->info.buffer_bytes / 4, needed = entries_needed(f);
    if (f->parts->counters[FIELD_COUNT_CHUNKS] > FIELD_CHUNKS_MAX || needed <= p->pool_count)
        return false;
    /* this number lacks the lists of blocks below one that did not fit */
    needed += needed / 4;
    if (needed > most || needed > largest || needed > FIELD_CHUNKS_MAX * FIELD_CHUNK)
        return false;
    p->pool_count = (size_t)needed;
    return true;
}

/* Whether all cells use closest-point queries. Pseudo-normals need the nearest triangle. Lists for
 * cells that are large compared with triangles are slower than the queries. */
static bool uses_queries(const fill_state *f) {
    const field_parts *p = f->parts;
    double cells = (double)grid_cells(f->grid);
    return p->sign->by_normals || !p->features->count || !(f->largest < FRAME_EXTENT_MAX) ||
           cells < p->cells_min * f->bvh->tree.triangle_count;
}

/* Whether lists or uncertain cells exceeded their buffers. */
static bool has_overflowed(const fill_state *f) {
    return f->parts->counters[FIELD_COUNT_CHUNKS] > FIELD_CHUNKS_MAX ||
           entries_needed(f) > f->parts->pool_count ||
           f->parts->counters[FIELD_COUNT_DOUBTFUL] > f->doubts_max ||
           f->parts->counters[FIELD_COUNT_ROWS] > f->rows_max ||
           f->parts->counters[FIELD_COUNT_LEFT];
}

static abut_status fill_grid(fill_state *f) {
    bool all = uses_queries(f);
    abut_status status = ABUT_OK;
    f->lowest = INFINITY;
    f->highest = -INFINITY;
    if (!all) {
        do
            status = enqueue_all(f);
        while (!status && grow_pool(f));
        if (status)
            return status;
        all = has_overflowed(f);
        if (!all && f->parts->counters[FIELD_COUNT_LOWEST]) {
            f->lowest = float_of_sortable(~f->parts->counters[FIELD_COUNT_LOWEST]);
            f->highest = float_of_sortable(f->parts->counters[FIELD_COUNT_HIGHEST]);
        }
    }
    f->parts->is_searched = all;
    if (all)
        query_all_cells(f);
    return abuti_kit_finish(&f->parts->kit);
}

abut_status abuti_device_field_fill(bvh_on_device *bvh, const abut_grid *grid,
                                    const uint32_t first[3], double band, abuti_buffer *values,
                                    double *lowest, double *highest) {
    fill_state f = {.bvh = bvh, .grid = grid, .band = band, .values = values};
    if (first)
        memcpy(f.first, first, sizeof f.first);
    abut_status status = abuti_field_parts(bvh, &f.parts);
    if (status)
        return status;
    f.argument = make_grid_argument(&f);
    choose_levels(&f);
    status = fill_grid(&f);
    if (!status) {
        *lowest = f.lowest;
        *highest = f.highest;
    } else {
        f.parts->is_ready = f.parts->features->is_ready = false; /* it may concern the features */
    }
    return status;
}
