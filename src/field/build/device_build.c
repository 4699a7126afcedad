/* The host's side of the kernels of fields: what is launched, and what is left to the search. All
 * work is queued at once, and the host waits at the end to see whether all found room. If the pool
 * of lists was too small, it is made larger and kept, and all is queued again; if anything else
 * was, or if lists are of no use, all cells go through the search. */
#include "field/build/device.h"
#include "nearest/nearest_shared.h"
#include "sign/sign.h"
#include "sign/strips_shared.h"

#include <math.h>

#define GROUP FIELD_GROUP

enum {
    /* Blocks of the largest size; each looks at all features. */
    TOP_BLOCKS = 64,
    /* Lists have so many slices that a level has this many groups; fewer where lists are short. */
    LEVEL_GROUPS = 32768,
    LEVEL_GROUPS_SHORT = 8192,
    SLICE_FEATURES = 256, /* of the mesh, at least */
    /* Blocks that are cut, at most; others are left to the search. They take 330 bytes each. */
    MAX_LONG = 1 << 16,
    /* Groups of a launch that finds out on the device how much there is to do. */
    QUEUE_GROUPS = 4096,
    ROWS_MIN = 1 << 8, /* of which each cell looks for its sign */
    UNSURE_MIN = 1 << 15,
    /* Entries of lists, to begin with: a feature, at most so many, and a share of the cells. */
    POOL_FEATURE = 64,
    POOL_MAX = 32 << 20,
    POOL_CELLS = 8,
    /* Points that go through the search at once. */
    SEARCH_POINTS = 1 << 18,
    /* With more edges of the border each cell asks the search: every edge would cost more. */
    BORDER_MAX = STRIPS_MAX,
};
/* Lists may take this part of a device's memory. */
#define POOL_SHARE 8
/* Grids that reach further from the mesh's middle, in its frame, are left to the search: squares of
 * distances and margins stay well within floats. */
#define MAX_FLOAT_EXTENT 256.0

typedef struct filling {
    bvh_on_device *bvh;
    field_parts *parts;
    const abut_grid *grid;
    uint32_t first[3]; /* of its cells */
    double band;
    abuti_buffer *values;
    field_grid argument;
    double largest; /* coordinate in the frame */
    /* Of each level, the last of blocks of FIELD_BLOCK: the side and the number of its blocks, the
     * slices of their lists, and where lists and bounds begin. Bounds have one level more. */
    uint32_t sides[FIELD_LEVELS], blocks[FIELD_LEVELS], slices[FIELD_LEVELS];
    uint32_t lists_at[FIELD_LEVELS], bounds_at[FIELD_LEVELS];
    uint32_t levels;
    bool short_lists; /* most lists of the smallest blocks are */
    uint32_t long_most, longer_most, doubts_most, rows_most, unsure_most;
    uint32_t counters[FIELD_COUNTS];
    double lowest, highest;
} filling;

static uint32_t blocks_of(const abut_grid *grid, uint32_t side) {
    size_t blocks = 1;
    for (int axis = 0; axis < 3; axis++)
        blocks *= groups_of(grid->count[axis], side);
    return (uint32_t)blocks;
}

/* ---- what the device is told ---- */

static vec3 centre_of(const filling *f, uint32_t i, uint32_t j, uint32_t k) {
    return grid_centre(f->grid, f->first[0] + i, f->first[1] + j, f->first[2] + k);
}

static field_grid argument_of(filling *f) {
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

/* From the largest blocks down to those that are measured. */
static void choose_levels(filling *f) {
    uint32_t side = FIELD_BLOCK, lists = 0, bounds = 0;
    while (blocks_of(f->grid, side) > TOP_BLOCKS)
        side *= 2;
    f->levels = 0;
    f->short_lists =
        f->parts->feature_count < f->parts->short_share * blocks_of(f->grid, FIELD_BLOCK);
    uint32_t groups = f->short_lists ? LEVEL_GROUPS_SHORT : LEVEL_GROUPS;
    for (; side >= FIELD_BLOCK / 2; side /= 2) {
        uint32_t level = f->levels++;
        uint32_t blocks = blocks_of(f->grid, side), slices = f->parts->slices_most;
        while (slices > 1 && ((uint64_t)slices * blocks > groups ||
                              (uint64_t)slices * SLICE_FEATURES > f->parts->feature_count))
            slices /= 2;
        f->sides[level] = side;
        f->blocks[level] = blocks;
        f->slices[level] = slices;
        f->lists_at[level] = lists;
        f->bounds_at[level] = bounds;
        lists += side < FIELD_BLOCK ? 0 : slices * blocks;
        bounds += blocks;
    }
    f->levels--; /* the last has only bounds */
    f->lists_at[f->levels] = lists;
    f->bounds_at[f->levels + 1] = bounds;
    f->long_most = f->blocks[f->levels - 1] < MAX_LONG ? f->blocks[f->levels - 1] : MAX_LONG;
    f->longer_most = 8 * f->long_most;
    f->doubts_most = (uint32_t)(grid_cells(f->grid) / 32) + SEARCH_POINTS;
    f->rows_most = f->parts->border_count ? (uint32_t)(grid_cells(f->grid) / 64) + ROWS_MIN : 1;
    f->unsure_most = f->parts->border_count ? (uint32_t)(grid_cells(f->grid) / 64) + UNSURE_MIN : 1;
}

/* ---- memory ---- */

static void reserve(filling *f) {
    field_parts *p = f->parts;
    size_t first = (size_t)POOL_FEATURE * p->feature_count;
    size_t pool = grid_cells(f->grid) / POOL_CELLS + (first < POOL_MAX ? first : POOL_MAX);
    p->pool_count = p->pool_count < pool && !p->pool_fixed ? pool : p->pool_count;
    const struct {
        field_memory which;
        size_t count, element_bytes;
    } needs[] = {
        {FIELD_POOL, p->pool_count, 4},
        {FIELD_COUNTERS, FIELD_COUNTS, 4},
        {FIELD_DOUBTS, f->doubts_most, 4},
        {FIELD_LISTS, f->lists_at[f->levels], 8},
        {FIELD_BOUNDS, f->bounds_at[f->levels + 1], 4},
        {FIELD_LONG, f->long_most, 4},
        {FIELD_LONGER, f->longer_most, 4},
        {FIELD_CUT_LISTS, 8 * (size_t)f->long_most, 8},
        {FIELD_CUT_BOUNDS, 64 * (size_t)f->long_most, 4},
        {FIELD_COARSE_SHIFTS, blocks_of(f->grid, FIELD_COARSE), 4},
        {FIELD_FINE_SHIFTS, blocks_of(f->grid, FIELD_BLOCK), 4},
        {FIELD_UNSETTLED, blocks_of(f->grid, FIELD_COARSE), 4},
        {FIELD_MIXED, blocks_of(f->grid, FIELD_BLOCK), 4},
        {FIELD_ROWS, f->rows_most, 4},
        {FIELD_UNSURE, f->unsure_most, 4},
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        abuti_kit_reserve(&p->kit, needs[i].which, needs[i].count, needs[i].element_bytes);
}

/* ---- stages ---- */

/* Begins a stage, or ends one, if they are timed. */
static void stage_begin(filling *f) {
    if (f->parts->account)
        abuti_queue_clock_start(f->parts->kit.queue);
}

static void stage_end(filling *f, field_stage stage) {
    double ms = 0;
    if (!f->parts->account)
        return;
    abuti_kit_fail(&f->parts->kit, abuti_queue_clock_stop(f->parts->kit.queue, &ms));
    f->parts->account->stage_ms[stage] += ms;
}

#define MEMORY(which) KIT_BUFFER(&p->kit, which)

/* What rows cross, as whole numbers in the place of the values. */
static void queue_rows(filling *f, abuti_kit *kit) {
    bvh_on_device *bvh = f->bvh;
    uint32_t triangles = bvh->tree.triangle_count, columns = f->grid->count[0];
    size_t rows = (size_t)f->grid->count[1] * f->grid->count[2];
    stage_begin(f);
    if (!abuti_kit_failed(kit))
        abuti_kit_fail(kit, abuti_buffer_fill(kit->queue, f->values, 0, 4 * grid_cells(f->grid)));
    stage_end(f, FIELD_STAGE_CLEAR);
    stage_begin(f);
    ABUTI_KIT_RUN(kit, FIELD_CROSS, (size_t)triangles * FIELD_EACH, GROUP,
                  ABUTI_BUFFER(&bvh->tree.corners), ABUTI_VALUE(triangles),
                  ABUTI_VALUE(f->argument), ABUTI_BUFFER(f->values));
    stage_end(f, FIELD_STAGE_CROSS);
    stage_begin(f);
    ABUTI_KIT_RUN(kit, FIELD_SUM, rows * FIELD_ROW_GROUP, FIELD_ROW_GROUP, ABUTI_BUFFER(f->values),
                  ABUTI_VALUE(columns), ABUTI_LOCAL_MEMORY(FIELD_SUMS_BYTES));
    stage_end(f, FIELD_STAGE_SUM);
}

/* Items of a launch over so many groups, at most, of which only the device knows the number. */
static size_t queue_items(size_t most) {
    return GROUP * (most < QUEUE_GROUPS ? most : QUEUE_GROUPS);
}

static void queue_shifts(filling *f, abuti_kit *kit, uint32_t side, size_t items,
                         field_memory shifts, field_memory unsettled) {
    field_parts *p = f->parts;
    ABUTI_KIT_RUN(kit, FIELD_SHIFTS, items, GROUP, ABUTI_VALUE(f->argument), MEMORY(FIELD_BORDER),
                  ABUTI_VALUE(p->border_count), ABUTI_VALUE(side), MEMORY(FIELD_UNSETTLED),
                  MEMORY(shifts), MEMORY(unsettled), MEMORY(FIELD_COUNTERS),
                  ABUTI_LOCAL_MEMORY(FIELD_SIDES_BYTES));
}

/* Signs of a surface with a border. They take few groups for long: beside the lists they take
 * hardly any time. */
static void queue_sides(filling *f, abuti_kit *kit) {
    field_parts *p = f->parts;
    size_t blocks = 2 * (size_t)f->blocks[f->levels - 1]; /* some of a large one are outside */
    float facing = (float)f->parts->sign->facing;
    stage_begin(f);
    queue_shifts(f, kit, FIELD_COARSE, GROUP * (size_t)blocks_of(f->grid, FIELD_COARSE),
                 FIELD_COARSE_SHIFTS, FIELD_UNSETTLED);
    queue_shifts(f, kit, FIELD_BLOCK, queue_items(blocks), FIELD_FINE_SHIFTS, FIELD_MIXED);
    ABUTI_KIT_RUN(kit, FIELD_SIDES, queue_items(4 * blocks), GROUP, ABUTI_VALUE(f->argument),
                  MEMORY(FIELD_BORDER), ABUTI_VALUE(p->border_count), ABUTI_VALUE(facing),
                  MEMORY(FIELD_MIXED), MEMORY(FIELD_COUNTERS), ABUTI_BUFFER(f->values),
                  MEMORY(FIELD_ROWS), ABUTI_VALUE(f->rows_most), MEMORY(FIELD_UNSURE),
                  ABUTI_VALUE(f->unsure_most), ABUTI_LOCAL_MEMORY(FIELD_SIDES_BYTES));
    ABUTI_KIT_RUN(kit, FIELD_REST, queue_items(f->rows_most), GROUP, ABUTI_VALUE(f->argument),
                  MEMORY(FIELD_BORDER), ABUTI_VALUE(p->border_count), ABUTI_VALUE(facing),
                  MEMORY(FIELD_ROWS), ABUTI_VALUE(f->rows_most), MEMORY(FIELD_COUNTERS),
                  ABUTI_BUFFER(f->values), MEMORY(FIELD_UNSURE), ABUTI_VALUE(f->unsure_most),
                  ABUTI_LOCAL_MEMORY(FIELD_SIDES_BYTES));
    stage_end(f, FIELD_STAGE_SIDES);
    stage_begin(f);
    ABUTI_KIT_RUN(kit, FIELD_UNSURE_CELLS, queue_items(groups_of(f->unsure_most, GROUP)), GROUP,
                  ABUTI_VALUE(f->argument), MEMORY(FIELD_BORDER_EXACT),
                  ABUTI_VALUE(p->border_count), ABUTI_VALUE(p->sign->facing), MEMORY(FIELD_UNSURE),
                  ABUTI_VALUE(f->unsure_most), MEMORY(FIELD_COUNTERS), ABUTI_BUFFER(f->values));
    stage_end(f, FIELD_STAGE_SIGNS);
}

static void queue_top(filling *f) {
    field_parts *p = f->parts;
    uint32_t pool_count = (uint32_t)p->pool_count;
    size_t items = GROUP * (size_t)f->blocks[0];
    stage_begin(f);
    ABUTI_KIT_RUN(&p->kit, FIELD_SEED, items, GROUP, MEMORY(FIELD_RECORDS),
                  ABUTI_VALUE(p->feature_count), ABUTI_VALUE(f->argument), ABUTI_VALUE(f->sides[0]),
                  MEMORY(FIELD_BOUNDS), ABUTI_LOCAL_MEMORY(FIELD_SEED_BYTES));
    ABUTI_KIT_RUN(&p->kit, FIELD_TOP, items * f->slices[0], GROUP, MEMORY(FIELD_RECORDS),
                  ABUTI_VALUE(p->feature_count), ABUTI_VALUE(f->argument), ABUTI_VALUE(f->sides[0]),
                  ABUTI_VALUE(f->slices[0]), MEMORY(FIELD_BOUNDS), ABUTI_VALUE(f->bounds_at[0]),
                  ABUTI_VALUE(f->bounds_at[1]), MEMORY(FIELD_POOL), ABUTI_VALUE(pool_count),
                  MEMORY(FIELD_COUNTERS), MEMORY(FIELD_LISTS),
                  ABUTI_LOCAL_MEMORY(FIELD_LISTS_BYTES));
    stage_end(f, FIELD_STAGE_TOP);
}

static void queue_filter(filling *f, uint32_t level) {
    field_parts *p = f->parts;
    uint32_t pool_count = (uint32_t)p->pool_count;
    ABUTI_KIT_RUN(&p->kit, FIELD_FILTER, GROUP * (size_t)f->blocks[level] * f->slices[level], GROUP,
                  MEMORY(FIELD_RECORDS), ABUTI_VALUE(f->argument), ABUTI_VALUE(f->sides[level]),
                  ABUTI_VALUE(f->slices[level]), ABUTI_VALUE(f->slices[level - 1]),
                  MEMORY(FIELD_BOUNDS), ABUTI_VALUE(f->bounds_at[level]),
                  ABUTI_VALUE(f->bounds_at[level + 1]), MEMORY(FIELD_POOL), ABUTI_VALUE(pool_count),
                  ABUTI_VALUE(level), MEMORY(FIELD_COUNTERS), MEMORY(FIELD_LISTS),
                  ABUTI_VALUE(f->lists_at[level - 1]), ABUTI_VALUE(f->lists_at[level]),
                  ABUTI_LOCAL_MEMORY(FIELD_LISTS_BYTES));
}

/* The same where lists have one slice, for eight blocks at once: 0.6 of the time where lists are
 * short, but twice as long where some are long, since few groups have much to do then. */
static void queue_siblings(filling *f, uint32_t level) {
    field_parts *p = f->parts;
    uint32_t pool_count = (uint32_t)p->pool_count;
    ABUTI_KIT_RUN(&p->kit, FIELD_SIBLINGS, GROUP * (size_t)f->blocks[level - 1], GROUP,
                  MEMORY(FIELD_RECORDS), ABUTI_VALUE(f->argument), ABUTI_VALUE(f->sides[level]),
                  ABUTI_VALUE(f->slices[level - 1]), MEMORY(FIELD_BOUNDS),
                  ABUTI_VALUE(f->bounds_at[level]), ABUTI_VALUE(f->bounds_at[level + 1]),
                  MEMORY(FIELD_POOL), ABUTI_VALUE(pool_count), ABUTI_VALUE(level),
                  MEMORY(FIELD_COUNTERS), MEMORY(FIELD_LISTS), ABUTI_VALUE(f->lists_at[level - 1]),
                  ABUTI_VALUE(f->lists_at[level]), ABUTI_LOCAL_MEMORY(FIELD_SIBLINGS_BYTES));
}

static void queue_filters(filling *f) {
    stage_begin(f);
    for (uint32_t level = 1; level < f->levels; level++)
        if (f->short_lists && f->slices[level] == 1)
            queue_siblings(f, level);
        else
            queue_filter(f, level);
    stage_end(f, FIELD_STAGE_FILTER);
}

/* Blocks of FIELD_BLOCK, or the eighths of those that were too long. */
static void queue_cells(filling *f, bool parts) {
    field_parts *p = f->parts;
    uint32_t last = f->levels - 1;
    uint32_t side = parts ? FIELD_BLOCK / 2 : FIELD_BLOCK, slices = parts ? 1 : f->slices[last];
    uint32_t from = parts ? 0 : f->lists_at[last];
    uint32_t next_most = parts ? f->longer_most : f->long_most;
    float facing = p->border_count ? (float)f->parts->sign->facing : 0;
    size_t items = parts ? queue_items(8 * (size_t)f->long_most) : GROUP * (size_t)f->blocks[last];
    stage_begin(f);
    ABUTI_KIT_RUN(&p->kit, FIELD_CELLS, items, GROUP, MEMORY(FIELD_RECORDS), MEMORY(FIELD_EXACT),
                  ABUTI_BUFFER(&f->bvh->tree.corners), ABUTI_VALUE(f->argument), ABUTI_VALUE(side),
                  ABUTI_VALUE(slices), MEMORY(parts ? FIELD_CUT_LISTS : FIELD_LISTS),
                  ABUTI_VALUE(from), MEMORY(FIELD_BOUNDS), ABUTI_VALUE(f->bounds_at[last + 1]),
                  MEMORY(FIELD_CUT_BOUNDS), MEMORY(FIELD_POOL), MEMORY(FIELD_LONG),
                  ABUTI_VALUE(f->long_most), MEMORY(parts ? FIELD_LONGER : FIELD_LONG),
                  ABUTI_VALUE(next_most), MEMORY(FIELD_COARSE_SHIFTS), MEMORY(FIELD_FINE_SHIFTS),
                  ABUTI_VALUE(facing), ABUTI_BUFFER(f->values), MEMORY(FIELD_DOUBTS),
                  ABUTI_VALUE(f->doubts_most), MEMORY(FIELD_COUNTERS),
                  ABUTI_LOCAL_MEMORY(FIELD_CELLS_BYTES));
    stage_end(f, parts ? FIELD_STAGE_PARTS : FIELD_STAGE_CELLS);
}

static void queue_cut(filling *f) {
    field_parts *p = f->parts;
    uint32_t last = f->levels - 1;
    uint32_t pool_count = (uint32_t)p->pool_count;
    stage_begin(f);
    ABUTI_KIT_RUN(&p->kit, FIELD_CUT, queue_items(8 * (size_t)f->long_most), GROUP,
                  MEMORY(FIELD_RECORDS), ABUTI_VALUE(f->argument), ABUTI_VALUE(f->slices[last]),
                  MEMORY(FIELD_BOUNDS), ABUTI_VALUE(f->bounds_at[last + 1]), MEMORY(FIELD_LISTS),
                  ABUTI_VALUE(f->lists_at[last]), MEMORY(FIELD_LONG), ABUTI_VALUE(f->long_most),
                  MEMORY(FIELD_POOL), ABUTI_VALUE(pool_count), ABUTI_VALUE(f->levels),
                  MEMORY(FIELD_COUNTERS), MEMORY(FIELD_CUT_LISTS), MEMORY(FIELD_CUT_BOUNDS),
                  ABUTI_LOCAL_MEMORY(FIELD_LISTS_BYTES));
    stage_end(f, FIELD_STAGE_CUT);
}

static void queue_few(filling *f) {
    field_parts *p = f->parts;
    float facing = p->border_count ? (float)f->parts->sign->facing : 0;
    stage_begin(f);
    ABUTI_KIT_RUN(&p->kit, FIELD_FEW_CELLS, queue_items(64 * (size_t)f->long_most), GROUP,
                  MEMORY(FIELD_RECORDS), MEMORY(FIELD_EXACT), ABUTI_BUFFER(&f->bvh->tree.corners),
                  ABUTI_VALUE(f->argument), MEMORY(FIELD_CUT_LISTS), MEMORY(FIELD_CUT_BOUNDS),
                  MEMORY(FIELD_POOL), MEMORY(FIELD_LONG), MEMORY(FIELD_LONGER),
                  ABUTI_VALUE(f->longer_most), MEMORY(FIELD_COARSE_SHIFTS),
                  MEMORY(FIELD_FINE_SHIFTS), ABUTI_VALUE(facing), ABUTI_BUFFER(f->values),
                  MEMORY(FIELD_DOUBTS), ABUTI_VALUE(f->doubts_most), MEMORY(FIELD_COUNTERS),
                  ABUTI_LOCAL_MEMORY(FIELD_FEW_BYTES));
    stage_end(f, FIELD_STAGE_FEW);
}

/* What is in doubt, with the search's own arithmetic. */
static void queue_settle(filling *f) {
    field_parts *p = f->parts;
    const abuti_bvh_device *tree = &f->bvh->tree;
    uint32_t last = f->levels - 1;
    float facing = p->border_count ? (float)f->parts->sign->facing : 0;
    stage_begin(f);
    ABUTI_KIT_RUN(&p->kit, FIELD_SETTLE, queue_items(grid_cells(f->grid)), GROUP,
                  MEMORY(FIELD_RECORDS), MEMORY(FIELD_INCIDENT_BEGIN), MEMORY(FIELD_INCIDENTS),
                  ABUTI_BUFFER(&tree->order), ABUTI_BUFFER(&tree->corners),
                  ABUTI_VALUE(f->argument), ABUTI_VALUE(f->slices[last]), MEMORY(FIELD_LISTS),
                  ABUTI_VALUE(f->lists_at[last]), MEMORY(FIELD_POOL), MEMORY(FIELD_COARSE_SHIFTS),
                  MEMORY(FIELD_FINE_SHIFTS), ABUTI_VALUE(facing), ABUTI_BUFFER(f->values),
                  MEMORY(FIELD_DOUBTS), ABUTI_VALUE(f->doubts_most), MEMORY(FIELD_COUNTERS),
                  ABUTI_LOCAL_MEMORY(FIELD_SETTLE_BYTES));
    stage_end(f, FIELD_STAGE_SETTLE);
}

static void clear(filling *f) {
    const uint32_t infinite = 0x7f800000;
    abuti_kit *kit = &f->parts->kit;
    abuti_kit_fill(kit, FIELD_COUNTERS, 0, sizeof f->counters);
    abuti_kit_fill(kit, FIELD_BOUNDS, infinite, 4 * (size_t)f->bounds_at[f->levels + 1]);
    abuti_kit_fill(kit, FIELD_CUT_BOUNDS, infinite, 4 * 64 * (size_t)f->long_most);
}

/* What is queued on one queue from now on begins when all of another is done; it fails with it. */
static void follow(abuti_kit *kit, abuti_kit *other) {
    abuti_kit_fail(kit, other->queue->stuck);
    if (!abuti_kit_failed(kit))
        abuti_kit_fail(kit, abuti_queue_wait(kit->queue, other->queue));
}

/* Queues everything and waits for the counters. Signs are found on a queue of their own, while
 * lists are made. Where stages are timed all is on one queue: NVIDIA does not time what runs beside
 * something else. */
static abut_status try_all(filling *f) {
    field_parts *p = f->parts;
    abuti_kit *kit = &p->kit, *aside = p->account ? kit : &p->aside;
    if (p->account)
        memset(p->account, 0, sizeof *p->account);
    reserve(f);
    clear(f);
    follow(aside, kit);
    queue_rows(f, aside);
    if (p->border_count > 0)
        queue_sides(f, aside);
    queue_top(f);
    queue_filters(f);
    follow(kit, aside);
    queue_cells(f, false);
    queue_cut(f);
    queue_cells(f, true);
    queue_few(f);
    queue_settle(f);
    abuti_kit_fail(kit, aside->queue->stuck);
    bool failed = abuti_kit_failed(kit);
    abut_status status = abuti_kit_get(kit, FIELD_COUNTERS, f->counters, FIELD_COUNTS, 4);
    if (failed || status) { /* nothing may be under way when the caller gets the error */
        (void)abuti_kit_finish(&p->aside);
        (void)abuti_kit_finish(kit);
    }
    return status;
}

/* ---- the search for all ---- */

static float value_of(double distance, double band) {
    return (float)(distance > band ? band : distance < -band ? -band : distance);
}

/* Room for some cells that go through the search. */
typedef struct searching {
    vec3 *points;
    abut_nearest *nearest;
    double *windings; /* with a border that is not too long; else null */
    uint32_t *cells;
    float *values;
} searching;

/* Signs of cells around a border: fast winding numbers depend on the hierarchy, fields do not. */
static abut_status find_sides(filling *f, const searching *s, const bvh_points *batch) {
    const abut_bvh *bvh = f->bvh->bvh;
    const bvh_solid *solid;
    abut_status status = abuti_bvh_solid(bvh, &solid);
    if (!status)
        status = abuti_sign_winding_on_device("abut_field_create", f->bvh, batch,
                                              abut_array_host(s->windings));
    for (size_t i = 0; i < batch->count && !status; i++) {
        double distance = fabs(s->nearest[i].distance);
        bool inside = abuti_sign_open_inside(bvh, solid, s->windings[i], s->points[i], distance);
        s->nearest[i].distance = inside && distance > 0 ? -distance : distance;
    }
    return status;
}

static void search_some(filling *f, const searching *s, size_t first, uint32_t count) {
    field_parts *p = f->parts;
    const uint32_t *n = f->grid->count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t cell = s->cells[i] = (uint32_t)first + i;
        s->points[i] = centre_of(f, cell % n[0], cell / n[0] % n[1], cell / n[0] / n[1]);
    }
    const bvh_points batch = {(const unsigned char *)s->points,
                              ABUT_SCALAR_FLOAT64,
                              sizeof *s->points,
                              count,
                              NULL,
                              false};
    abuti_kit_fail(&p->kit, abuti_sign_nearest_on_device("abut_field_create", f->bvh, &batch,
                                                         HUGE_VAL, abut_array_host(s->nearest)));
    if (s->windings && !abuti_kit_failed(&p->kit))
        abuti_kit_fail(&p->kit, find_sides(f, s, &batch));
    for (uint32_t i = 0; i < count && !abuti_kit_failed(&p->kit); i++) {
        s->values[i] = value_of(s->nearest[i].distance, f->band);
        f->lowest = real_min(f->lowest, s->values[i]);
        f->highest = real_max(f->highest, s->values[i]);
    }
    abuti_kit_put(&p->kit, FIELD_DOUBTS, s->cells, count, sizeof *s->cells);
    abuti_kit_put(&p->kit, FIELD_SETTLED, s->values, count, sizeof *s->values);
    ABUTI_KIT_RUN(&p->kit, FIELD_PUT, count, GROUP, MEMORY(FIELD_DOUBTS), MEMORY(FIELD_SETTLED),
                  ABUTI_VALUE(count), ABUTI_BUFFER(f->values));
}

/* All cells. */
static void search_all(filling *f) {
    abuti_kit *kit = &f->parts->kit;
    abut_context *context = f->bvh->context;
    size_t cells = grid_cells(f->grid), most = cells < SEARCH_POINTS ? cells : SEARCH_POINTS;
    const uint32_t border_count = f->parts->border_count;
    const bool has_sides =
        border_count && border_count <= BORDER_MAX && !f->parts->sign->by_normals;
    searching s = {abuti_allocate(context, most, sizeof *s.points),
                   abuti_allocate(context, most, sizeof *s.nearest),
                   has_sides ? abuti_allocate(context, most, sizeof *s.windings) : NULL,
                   abuti_allocate(context, most, sizeof *s.cells),
                   abuti_allocate(context, most, sizeof *s.values)};
    if (!s.points || !s.nearest || (has_sides && !s.windings) || !s.cells || !s.values)
        abuti_kit_fail(kit, ABUT_ERROR_MEMORY);
    for (size_t i = 0; i < cells && !abuti_kit_failed(kit); i += most)
        search_some(f, &s, i, (uint32_t)(cells - i < most ? cells - i : most));
    ABUTI_RELEASE(context, s.points, s.nearest, s.windings, s.cells, s.values);
}

/* ---- all ---- */

static float unsortable(uint32_t word) {
    uint32_t bits = word & 0x80000000u ? word ^ 0x80000000u : ~word;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The entries that the pool must hold: of two levels in a row. */
static uint64_t entries_needed(const filling *f) {
    uint64_t needed = 0;
    for (uint32_t level = 0; level < f->levels; level++) {
        uint64_t both = (uint64_t)f->counters[FIELD_COUNT_ENTRIES + level] +
                        f->counters[FIELD_COUNT_ENTRIES + level + 1];
        needed = both > needed ? both : needed;
    }
    return needed;
}

/* Whether the pool was too small and could be made larger. */
static bool grow_pool(filling *f) {
    field_parts *p = f->parts;
    uint64_t most = f->bvh->queue.device->info.memory_bytes / (4 * POOL_SHARE);
    uint64_t largest = f->bvh->queue.device->info.buffer_bytes / 4, needed = entries_needed(f);
    if (f->counters[FIELD_COUNT_CHUNKS] > FIELD_CHUNKS_MAX || needed <= p->pool_count)
        return false;
    /* lists of blocks below one that did not fit are not in this number yet */
    needed += needed / 4;
    if (needed > most || needed > largest || needed > FIELD_CHUNKS_MAX * FIELD_CHUNK)
        return false;
    p->pool_count = (size_t)needed;
    return true;
}

/* Whether all cells are left to the search: pseudo-normals need the nearest triangle, a long border
 * costs more than the search, and so do lists for cells that are large beside the triangles. */
static bool is_searched(const filling *f) {
    const field_parts *p = f->parts;
    double cells = (double)grid_cells(f->grid);
    return p->sign->by_normals || (!p->sign->closed && !p->border_count) ||
           p->border_count > BORDER_MAX || !(f->largest < MAX_FLOAT_EXTENT) ||
           cells < p->cells_least * f->bvh->tree.triangle_count;
}

/* Whether lists or cells in doubt found no room. */
static bool has_failed(const filling *f) {
    return f->counters[FIELD_COUNT_CHUNKS] > FIELD_CHUNKS_MAX ||
           entries_needed(f) > f->parts->pool_count ||
           f->counters[FIELD_COUNT_DOUBTFUL] > f->doubts_most ||
           f->counters[FIELD_COUNT_UNSURE] > f->unsure_most || f->counters[FIELD_COUNT_LEFT];
}

static void report_fill_progress(const filling *f, bool all) {
    field_account *account = f->parts->account;
    if (!account)
        return;
    account->doubtful = all ? 0 : f->counters[FIELD_COUNT_DOUBTFUL];
    account->unsure = all ? 0 : f->counters[FIELD_COUNT_UNSURE];
    account->cut = all ? 0 : f->counters[FIELD_COUNT_LONG_8];
    account->cut_again = all ? 0 : f->counters[FIELD_COUNT_LONG_4];
    account->unsettled = all ? 0 : f->counters[FIELD_COUNT_UNSETTLED];
    account->entries = all ? 0 : entries_needed(f);
    account->searched = all;
}

static abut_status fill(filling *f) {
    field_parts *p = f->parts;
    bool all = is_searched(f);
    abut_status status = ABUT_OK;
    f->lowest = INFINITY;
    f->highest = -INFINITY;
    if (!all) {
        do
            status = try_all(f);
        while (!status && grow_pool(f));
        if (status)
            return status;
        all = has_failed(f);
        if (!all && f->counters[FIELD_COUNT_LOWEST]) {
            f->lowest = unsortable(~f->counters[FIELD_COUNT_LOWEST]);
            f->highest = unsortable(f->counters[FIELD_COUNT_HIGHEST]);
        }
    }
    report_fill_progress(f, all);
    double begin = 1e3 * abuti_seconds();
    if (all)
        search_all(f);
    status = abuti_kit_finish(&p->kit);
    if (p->account)
        p->account->stage_ms[FIELD_STAGE_SEARCH] = 1e3 * abuti_seconds() - begin;
    return status;
}

abut_status abuti_device_field_fill(bvh_on_device *bvh, const abut_grid *grid,
                                    const uint32_t first[3], double band, abuti_buffer *values,
                                    double *lowest, double *highest) {
    filling f = {.bvh = bvh, .grid = grid, .band = band, .values = values};
    if (first)
        memcpy(f.first, first, sizeof f.first);
    abut_status status = abuti_field_parts(bvh, &f.parts);
    if (status)
        return status;
    f.argument = argument_of(&f);
    choose_levels(&f);
    status = fill(&f);
    if (!status) {
        *lowest = f.lowest;
        *highest = f.highest;
    } else {
        f.parts->is_ready = false; /* features may be what failed */
    }
    return status;
}
