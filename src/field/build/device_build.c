/* The host's side of the kernels of fields: what is launched, and what is left to the search. All
 * work is queued at once, and the host waits at the end to see whether all found room. If the pool
 * of lists was too small, it is made larger and kept, and all is queued again; if anything else
 * was, or if lists are of no use, all cells go through the search. */
#include "field/build/device.h"
#include "sign/sign.h"

#include <math.h>

/* As in the kernels. */
#define GROUP FIELD_GROUP
#define ROW_GROUP 64
#define EACH 32
#define SEED_BYTES 4
#define LISTS_BYTES (4 * (16 + 3072))
#define SIBLINGS_BYTES (4 * (24 + 64 + 8 * 384))
#define SIDES_BYTES (4 * 3 * GROUP)
#define CELLS_BYTES (4 * (384 + 8 * 128 + 64 * 32 + 8 + 2 * 64))
#define SETTLE_BYTES (8 * GROUP + 8)
#define TURN_BYTES 8
#define SUM_BYTES (4 * sizeof(double))
#define FEW_BYTES (8 * GROUP + 4 * (2 * 8 + 1024))
#define CHUNK 1024
#define CHUNKS_MOST ((uint64_t)1 << 21)
#define MARGIN 0x1p-19

enum {
    DOUBTFUL = 0,
    LEAST,
    MOST,
    CHUNKS,
    LONG_8,
    LONG_4,
    UNSETTLED,
    MIXED,
    ROWS,
    UNSURE,
    LEFT,
    ENTRIES, /* of each level, and of what is cut */
    COUNTERS = ENTRIES + FIELD_LEVELS + 1,
    /* Blocks of the largest size; each looks at all features. */
    TOP_BLOCKS = 64,
    /* Lists have so many slices that a level has this many groups; fewer where lists are short. */
    LEVEL_GROUPS = 32768,
    LEVEL_GROUPS_SHORT = 8192,
    SLICE_FEATURES = 256, /* of the mesh, at least */
    /* Blocks that are cut, at most; others are left to the search. They take 330 bytes each. */
    LONG_MOST = 1 << 16,
    /* Groups of a launch that finds out on the device how much there is to do. */
    QUEUE_GROUPS = 4096,
    ROWS_LEAST = 1 << 8, /* of which each cell looks for its sign */
    UNSURE_LEAST = 1 << 15,
    /* Entries of lists, to begin with: a feature, at most so many, and a share of the cells. */
    POOL_FEATURE = 32,
    POOL_MOST = 8 << 20,
    POOL_CELLS = 8,
    /* Points that go through the search at once. */
    SETTLE_POINTS = 1 << 18,
    /* With more edges of the border each cell asks the search: every edge would cost more. */
    BORDER_MOST = 4096,
};
/* Lists may take this part of a device's memory. */
#define POOL_SHARE 8
/* Grids that reach further from the mesh's middle, in its frame, are left to the search: squares of
 * distances and margins stay well within floats. */
#define FAR 256.0

typedef struct filling {
    bvh_on_device *bvh;
    field_parts *parts;
    const abut_grid *grid;
    uint32_t first[3]; /* of its cells */
    double band;
    abuti_buffer *values;
    grid_argument argument;
    double largest; /* coordinate in the frame */
    /* Of each level, the last of blocks of FIELD_BLOCK: the side and the number of its blocks, the
     * slices of their lists, and where lists and bounds begin. Bounds have one level more. */
    uint32_t sides[FIELD_LEVELS], blocks[FIELD_LEVELS], slices[FIELD_LEVELS];
    uint32_t lists_at[FIELD_LEVELS], bounds_at[FIELD_LEVELS];
    uint32_t levels;
    bool short_lists; /* most lists of the smallest blocks are */
    uint32_t long_most, longer_most, doubts_most, rows_most, unsure_most;
    uint32_t counters[COUNTERS];
    double least, most;
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

static grid_argument argument_of(filling *f) {
    const abut_grid *grid = f->grid;
    vec3 mesh_origin = f->bvh->tree.mesh->origin, first, last;
    double scale = f->bvh->tree.scale;
    grid_argument a = {.cell = grid->cell,
                       .scale = scale,
                       .per_scale = 1 / scale,
                       .band = f->band,
                       .step = (float)(grid->cell * scale),
                       .reach = (float)(f->band * scale) * (1 + 0x1p-20f)};
    first = v3_scale(v3_sub(centre_of(f, 0, 0, 0), mesh_origin), scale);
    last = v3_scale(v3_sub(centre_of(f, grid->count[0] - 1, grid->count[1] - 1, grid->count[2] - 1),
                           mesh_origin),
                    scale);
    f->largest = real_max(v3_max_abs(first), v3_max_abs(last));
    a.margin = (float)(MARGIN * (f->largest + 2));
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
    f->long_most = f->blocks[f->levels - 1] < LONG_MOST ? f->blocks[f->levels - 1] : LONG_MOST;
    f->longer_most = 8 * f->long_most;
    f->doubts_most = (uint32_t)(grid_cells(f->grid) / 32) + SETTLE_POINTS;
    f->rows_most = f->parts->border_count ? (uint32_t)(grid_cells(f->grid) / 64) + ROWS_LEAST : 1;
    f->unsure_most =
        f->parts->border_count ? (uint32_t)(grid_cells(f->grid) / 64) + UNSURE_LEAST : 1;
}

/* ---- memory ---- */

typedef struct buffer_need {
    abuti_buffer *buffer;
    size_t count, element_bytes;
} buffer_need;

static abut_status reserve_some(abut_device *device, const buffer_need *needs, size_t count) {
    abut_status status = ABUT_OK;
    for (size_t i = 0; !status && i < count; i++)
        status =
            abuti_buffer_reserve(device, needs[i].count, needs[i].element_bytes, needs[i].buffer);
    return status;
}

static abut_status reserve(filling *f) {
    field_parts *p = f->parts;
    size_t first = (size_t)POOL_FEATURE * p->feature_count;
    size_t pool = grid_cells(f->grid) / POOL_CELLS + (first < POOL_MOST ? first : POOL_MOST);
    p->pool_count = p->pool_count < pool && !p->pool_fixed ? pool : p->pool_count;
    const buffer_need needs[] = {
        {&p->pool, p->pool_count, 4},
        {&p->counters, COUNTERS, 4},
        {&p->doubts, f->doubts_most, 4},
        {&p->lists, f->lists_at[f->levels], 8},
        {&p->bounds, f->bounds_at[f->levels + 1], 4},
        {&p->long_blocks, f->long_most, 4},
        {&p->longer, f->longer_most, 4},
        {&p->cut_lists, 8 * (size_t)f->long_most, 8},
        {&p->cut_bounds, 64 * (size_t)f->long_most, 4},
        {&p->coarse, blocks_of(f->grid, FIELD_COARSE), 4},
        {&p->fine, blocks_of(f->grid, FIELD_BLOCK), 4},
        {&p->unsettled, blocks_of(f->grid, FIELD_COARSE), 4},
        {&p->mixed, blocks_of(f->grid, FIELD_BLOCK), 4},
        {&p->rows, f->rows_most, 4},
        {&p->unsure, f->unsure_most, 4},
    };
    return reserve_some(f->bvh->queue.device, needs, sizeof needs / sizeof *needs);
}

/* ---- stages ---- */

/* Begins a stage, or ends one, if they are timed. */
static void stage_begin(filling *f) {
    if (f->parts->account)
        abuti_queue_clock_start(&f->bvh->queue);
}

static abut_status stage_end(filling *f, field_stage stage) {
    double ms = 0;
    if (!f->parts->account)
        return ABUT_OK;
    abut_status status = abuti_queue_clock_stop(&f->bvh->queue, &ms);
    f->parts->account->stage_ms[stage] += ms;
    return status;
}

/* What rows cross, as whole numbers in the place of the values. */
static abut_status queue_rows(filling *f, abuti_queue *queue) {
    bvh_on_device *bvh = f->bvh;
    uint32_t triangles = bvh->tree.triangle_count, columns = f->grid->count[0];
    size_t rows = (size_t)f->grid->count[1] * f->grid->count[2];
    stage_begin(f);
    abut_status status = abuti_buffer_fill(queue, f->values, 0, 4 * grid_cells(f->grid));
    status = status ? status : stage_end(f, FIELD_STAGE_CLEAR);
    stage_begin(f);
    if (!status)
        status = ABUTI_LAUNCH(queue, &f->parts->cross, groups_of((size_t)triangles * EACH, GROUP),
                              GROUP, ABUTI_BUFFER(&bvh->tree.corners), ABUTI_VALUE(triangles),
                              ABUTI_VALUE(f->argument), ABUTI_BUFFER(f->values));
    status = status ? status : stage_end(f, FIELD_STAGE_CROSS);
    stage_begin(f);
    if (!status)
        status = ABUTI_LAUNCH(queue, &f->parts->sum, rows, ROW_GROUP, ABUTI_BUFFER(f->values),
                              ABUTI_VALUE(columns), ABUTI_LOCAL_MEMORY(4 * ROW_GROUP));
    return status ? status : stage_end(f, FIELD_STAGE_SUM);
}

/* Groups of a launch over what only the device knows the number of. */
static size_t queue_groups(size_t most) {
    return most < QUEUE_GROUPS ? most : QUEUE_GROUPS;
}

static abut_status queue_shifts(filling *f, abuti_queue *queue, uint32_t side, size_t groups,
                                abuti_buffer *shifts, abuti_buffer *unsettled) {
    field_parts *p = f->parts;
    return ABUTI_LAUNCH(queue, &p->shifts, groups, GROUP, ABUTI_VALUE(f->argument),
                        ABUTI_BUFFER(&p->border), ABUTI_VALUE(p->border_count), ABUTI_VALUE(side),
                        ABUTI_BUFFER(&p->unsettled), ABUTI_BUFFER(shifts), ABUTI_BUFFER(unsettled),
                        ABUTI_BUFFER(&p->counters), ABUTI_LOCAL_MEMORY(SIDES_BYTES));
}

/* Signs of a surface with a border. They take few groups for long: beside the lists they take
 * hardly any time. */
static abut_status queue_sides(filling *f, abuti_queue *queue) {
    field_parts *p = f->parts;
    size_t blocks = 2 * (size_t)f->blocks[f->levels - 1]; /* some of a large one are outside */
    float facing = (float)f->bvh->sign.facing;
    stage_begin(f);
    abut_status status = queue_shifts(f, queue, FIELD_COARSE, blocks_of(f->grid, FIELD_COARSE),
                                      &p->coarse, &p->unsettled);
    status = status
                 ? status
                 : queue_shifts(f, queue, FIELD_BLOCK, queue_groups(blocks), &p->fine, &p->mixed);
    if (!status)
        status = ABUTI_LAUNCH(queue, &p->sides, queue_groups(4 * blocks), GROUP,
                              ABUTI_VALUE(f->argument), ABUTI_BUFFER(&p->border),
                              ABUTI_VALUE(p->border_count), ABUTI_VALUE(facing),
                              ABUTI_BUFFER(&p->mixed), ABUTI_BUFFER(&p->counters),
                              ABUTI_BUFFER(f->values), ABUTI_BUFFER(&p->rows),
                              ABUTI_VALUE(f->rows_most), ABUTI_BUFFER(&p->unsure),
                              ABUTI_VALUE(f->unsure_most), ABUTI_LOCAL_MEMORY(SIDES_BYTES));
    if (!status)
        status =
            ABUTI_LAUNCH(queue, &p->rest, queue_groups(f->rows_most), GROUP,
                         ABUTI_VALUE(f->argument), ABUTI_BUFFER(&p->border),
                         ABUTI_VALUE(p->border_count), ABUTI_VALUE(facing), ABUTI_BUFFER(&p->rows),
                         ABUTI_VALUE(f->rows_most), ABUTI_BUFFER(&p->counters),
                         ABUTI_BUFFER(f->values), ABUTI_BUFFER(&p->unsure),
                         ABUTI_VALUE(f->unsure_most), ABUTI_LOCAL_MEMORY(SIDES_BYTES));
    return status ? status : stage_end(f, FIELD_STAGE_SIDES);
}

static abut_status queue_top(filling *f) {
    field_parts *p = f->parts;
    abuti_queue *queue = &f->bvh->queue;
    uint32_t pool_count = (uint32_t)p->pool_count;
    stage_begin(f);
    abut_status status = ABUTI_LAUNCH(queue, &p->seed, f->blocks[0], GROUP,
                                      ABUTI_BUFFER(&p->records), ABUTI_VALUE(p->feature_count),
                                      ABUTI_VALUE(f->argument), ABUTI_VALUE(f->sides[0]),
                                      ABUTI_BUFFER(&p->bounds), ABUTI_LOCAL_MEMORY(SEED_BYTES));
    if (!status)
        status = ABUTI_LAUNCH(queue, &p->top, (size_t)f->blocks[0] * f->slices[0], GROUP,
                              ABUTI_BUFFER(&p->records), ABUTI_VALUE(p->feature_count),
                              ABUTI_VALUE(f->argument), ABUTI_VALUE(f->sides[0]),
                              ABUTI_VALUE(f->slices[0]), ABUTI_BUFFER(&p->bounds),
                              ABUTI_VALUE(f->bounds_at[0]), ABUTI_VALUE(f->bounds_at[1]),
                              ABUTI_BUFFER(&p->pool), ABUTI_VALUE(pool_count),
                              ABUTI_BUFFER(&p->counters), ABUTI_BUFFER(&p->lists),
                              ABUTI_LOCAL_MEMORY(LISTS_BYTES));
    return status ? status : stage_end(f, FIELD_STAGE_TOP);
}

static abut_status queue_filter(filling *f, uint32_t level) {
    field_parts *p = f->parts;
    uint32_t pool_count = (uint32_t)p->pool_count;
    return ABUTI_LAUNCH(&f->bvh->queue, &p->filter, (size_t)f->blocks[level] * f->slices[level],
                        GROUP, ABUTI_BUFFER(&p->records), ABUTI_VALUE(f->argument),
                        ABUTI_VALUE(f->sides[level]), ABUTI_VALUE(f->slices[level]),
                        ABUTI_VALUE(f->slices[level - 1]), ABUTI_BUFFER(&p->bounds),
                        ABUTI_VALUE(f->bounds_at[level]), ABUTI_VALUE(f->bounds_at[level + 1]),
                        ABUTI_BUFFER(&p->pool), ABUTI_VALUE(pool_count), ABUTI_VALUE(level),
                        ABUTI_BUFFER(&p->counters), ABUTI_BUFFER(&p->lists),
                        ABUTI_VALUE(f->lists_at[level - 1]), ABUTI_VALUE(f->lists_at[level]),
                        ABUTI_LOCAL_MEMORY(LISTS_BYTES));
}

/* The same where lists have one slice, for eight blocks at once: 0.6 of the time where lists are
 * short, but twice as long where some are long, since few groups have much to do then. */
static abut_status queue_siblings(filling *f, uint32_t level) {
    field_parts *p = f->parts;
    uint32_t pool_count = (uint32_t)p->pool_count;
    return ABUTI_LAUNCH(&f->bvh->queue, &p->siblings, f->blocks[level - 1], GROUP,
                        ABUTI_BUFFER(&p->records), ABUTI_VALUE(f->argument),
                        ABUTI_VALUE(f->sides[level]), ABUTI_VALUE(f->slices[level - 1]),
                        ABUTI_BUFFER(&p->bounds), ABUTI_VALUE(f->bounds_at[level]),
                        ABUTI_VALUE(f->bounds_at[level + 1]), ABUTI_BUFFER(&p->pool),
                        ABUTI_VALUE(pool_count), ABUTI_VALUE(level), ABUTI_BUFFER(&p->counters),
                        ABUTI_BUFFER(&p->lists), ABUTI_VALUE(f->lists_at[level - 1]),
                        ABUTI_VALUE(f->lists_at[level]), ABUTI_LOCAL_MEMORY(SIBLINGS_BYTES));
}

static abut_status queue_filters(filling *f) {
    abut_status status = ABUT_OK;
    stage_begin(f);
    for (uint32_t level = 1; !status && level < f->levels; level++)
        status = f->short_lists && f->slices[level] == 1 ? queue_siblings(f, level)
                                                         : queue_filter(f, level);
    return status ? status : stage_end(f, FIELD_STAGE_FILTER);
}

/* Blocks of FIELD_BLOCK, or the eighths of those that were too long. */
static abut_status queue_cells(filling *f, bool parts) {
    field_parts *p = f->parts;
    uint32_t last = f->levels - 1;
    uint32_t side = parts ? FIELD_BLOCK / 2 : FIELD_BLOCK, slices = parts ? 1 : f->slices[last];
    uint32_t from = parts ? 0 : f->lists_at[last];
    uint32_t next_most = parts ? f->longer_most : f->long_most;
    float facing = p->border_count ? (float)f->bvh->sign.facing : 0;
    stage_begin(f);
    abut_status status = ABUTI_LAUNCH(
        &f->bvh->queue, &p->cells, parts ? queue_groups(8 * (size_t)f->long_most) : f->blocks[last],
        GROUP, ABUTI_BUFFER(&p->records), ABUTI_BUFFER(&p->exact),
        ABUTI_BUFFER(&f->bvh->tree.corners), ABUTI_VALUE(f->argument), ABUTI_VALUE(side),
        ABUTI_VALUE(slices), ABUTI_BUFFER(parts ? &p->cut_lists : &p->lists), ABUTI_VALUE(from),
        ABUTI_BUFFER(&p->bounds), ABUTI_VALUE(f->bounds_at[last + 1]), ABUTI_BUFFER(&p->cut_bounds),
        ABUTI_BUFFER(&p->pool), ABUTI_BUFFER(&p->long_blocks), ABUTI_VALUE(f->long_most),
        ABUTI_BUFFER(parts ? &p->longer : &p->long_blocks), ABUTI_VALUE(next_most),
        ABUTI_BUFFER(&p->coarse), ABUTI_BUFFER(&p->fine), ABUTI_VALUE(facing),
        ABUTI_BUFFER(f->values), ABUTI_BUFFER(&p->doubts), ABUTI_VALUE(f->doubts_most),
        ABUTI_BUFFER(&p->counters), ABUTI_LOCAL_MEMORY(CELLS_BYTES));
    return status ? status : stage_end(f, parts ? FIELD_STAGE_PARTS : FIELD_STAGE_CELLS);
}

static abut_status queue_cut(filling *f) {
    field_parts *p = f->parts;
    uint32_t last = f->levels - 1;
    uint32_t pool_count = (uint32_t)p->pool_count;
    stage_begin(f);
    abut_status status =
        ABUTI_LAUNCH(&f->bvh->queue, &p->cut, queue_groups(8 * (size_t)f->long_most), GROUP,
                     ABUTI_BUFFER(&p->records), ABUTI_VALUE(f->argument),
                     ABUTI_VALUE(f->slices[last]), ABUTI_BUFFER(&p->bounds),
                     ABUTI_VALUE(f->bounds_at[last + 1]), ABUTI_BUFFER(&p->lists),
                     ABUTI_VALUE(f->lists_at[last]), ABUTI_BUFFER(&p->long_blocks),
                     ABUTI_VALUE(f->long_most), ABUTI_BUFFER(&p->pool), ABUTI_VALUE(pool_count),
                     ABUTI_VALUE(f->levels), ABUTI_BUFFER(&p->counters),
                     ABUTI_BUFFER(&p->cut_lists), ABUTI_BUFFER(&p->cut_bounds),
                     ABUTI_LOCAL_MEMORY(LISTS_BYTES));
    return status ? status : stage_end(f, FIELD_STAGE_CUT);
}

static abut_status queue_few(filling *f) {
    field_parts *p = f->parts;
    float facing = p->border_count ? (float)f->bvh->sign.facing : 0;
    stage_begin(f);
    abut_status status =
        ABUTI_LAUNCH(&f->bvh->queue, &p->few, queue_groups(64 * (size_t)f->long_most), GROUP,
                     ABUTI_BUFFER(&p->records), ABUTI_BUFFER(&p->exact),
                     ABUTI_BUFFER(&f->bvh->tree.corners), ABUTI_VALUE(f->argument),
                     ABUTI_BUFFER(&p->cut_lists), ABUTI_BUFFER(&p->cut_bounds),
                     ABUTI_BUFFER(&p->pool), ABUTI_BUFFER(&p->long_blocks),
                     ABUTI_BUFFER(&p->longer), ABUTI_VALUE(f->longer_most),
                     ABUTI_BUFFER(&p->coarse), ABUTI_BUFFER(&p->fine), ABUTI_VALUE(facing),
                     ABUTI_BUFFER(f->values), ABUTI_BUFFER(&p->doubts), ABUTI_VALUE(f->doubts_most),
                     ABUTI_BUFFER(&p->counters), ABUTI_LOCAL_MEMORY(FEW_BYTES));
    return status ? status : stage_end(f, FIELD_STAGE_FEW);
}

/* What is in doubt, with the search's own arithmetic. */
static abut_status queue_settle(filling *f) {
    field_parts *p = f->parts;
    const abuti_bvh_device *tree = &f->bvh->tree;
    uint32_t last = f->levels - 1;
    float facing = p->border_count ? (float)f->bvh->sign.facing : 0;
    stage_begin(f);
    abut_status status =
        ABUTI_LAUNCH(&f->bvh->queue, &p->settle, queue_groups(grid_cells(f->grid)), GROUP,
                     ABUTI_BUFFER(&p->records), ABUTI_BUFFER(&p->incident_begin),
                     ABUTI_BUFFER(&p->incidents), ABUTI_BUFFER(&tree->order),
                     ABUTI_BUFFER(&tree->corners), ABUTI_VALUE(f->argument),
                     ABUTI_VALUE(f->slices[last]), ABUTI_BUFFER(&p->lists),
                     ABUTI_VALUE(f->lists_at[last]), ABUTI_BUFFER(&p->pool),
                     ABUTI_BUFFER(&p->coarse), ABUTI_BUFFER(&p->fine), ABUTI_VALUE(facing),
                     ABUTI_BUFFER(f->values), ABUTI_BUFFER(&p->doubts), ABUTI_VALUE(f->doubts_most),
                     ABUTI_BUFFER(&p->counters), ABUTI_LOCAL_MEMORY(SETTLE_BYTES));
    return status ? status : stage_end(f, FIELD_STAGE_SETTLE);
}

/* ---- signs that only the fast winding number tells ---- */

/* On a queue of its own, while lists are made. */
static abut_status queue_windings(filling *f, abuti_queue *aside, uint32_t count) {
    bvh_on_device *bvh = f->bvh;
    field_parts *p = f->parts;
    const mesh_frame frame = frame_of(bvh);
    size_t groups = groups_of(count, GROUP);
    const buffer_need needs[] = {{&p->unsure_points, 3 * (size_t)count, sizeof(double)},
                                 {&p->unsure_order, count, 4},
                                 {&p->unsure_inside, count, 4},
                                 {&p->unsure_sums, count, SUM_BYTES}};
    abut_status status = reserve_some(bvh->queue.device, needs, sizeof needs / sizeof *needs);
    if (!status)
        status = ABUTI_LAUNCH(aside, &p->points, groups, GROUP, ABUTI_VALUE(f->argument),
                              ABUTI_BUFFER(&p->unsure), ABUTI_VALUE(count),
                              ABUTI_BUFFER(&p->unsure_points), ABUTI_BUFFER(&p->unsure_order));
    if (!status)
        status = ABUTI_LAUNCH(aside, &bvh->sign.sum, groups, GROUP, ABUTI_BUFFER(&bvh->tree.nodes),
                              ABUTI_BUFFER(&bvh->sign.fields), ABUTI_BUFFER(&bvh->tree.blocks),
                              ABUTI_VALUE(bvh->tree.triangle_count), ABUTI_BUFFER(&bvh->tree.order),
                              ABUTI_BUFFER(&bvh->tree.corners), ABUTI_BUFFER(&p->unsure_points),
                              ABUTI_BUFFER(&p->unsure_order), ABUTI_VALUE(count),
                              ABUTI_VALUE(frame), ABUTI_BUFFER(&p->unsure_sums));
    return status;
}

/* As the search ends; then turns what is inside. */
static abut_status settle_signs(filling *f, abuti_queue *aside, uint32_t count) {
    abut_context *context = f->bvh->context;
    field_parts *p = f->parts;
    double(*sums)[4] = abuti_allocate(context, count, sizeof *sums);
    uint32_t *inside = abuti_allocate(context, count, sizeof *inside);
    abut_status status = sums && inside ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_buffer_download(aside, &p->unsure_sums, 0, sums, count * SUM_BYTES);
    for (uint32_t i = 0; !status && i < count; i++)
        inside[i] = abuti_sign_winding_value(sums[i][0], sums[i][1], sums[i][2], sums[i][3]) *
                        f->bvh->sign.facing >=
                    0.5;
    if (!status)
        status = abuti_buffer_upload(&f->bvh->queue, &p->unsure_inside, 0, inside,
                                     count * sizeof *inside);
    if (!status)
        status = ABUTI_LAUNCH(&f->bvh->queue, &p->turn, groups_of(count, GROUP), GROUP,
                              ABUTI_BUFFER(&p->unsure), ABUTI_BUFFER(&p->unsure_inside),
                              ABUTI_VALUE(count), ABUTI_BUFFER(f->values),
                              ABUTI_BUFFER(&p->counters), ABUTI_LOCAL_MEMORY(TURN_BYTES));
    abuti_release(context, sums);
    abuti_release(context, inside);
    return status;
}

static abut_status download_counters(filling *f, abuti_queue *queue) {
    return abuti_buffer_download(queue, &f->parts->counters, 0, f->counters, sizeof f->counters);
}

static abut_status clear(filling *f) {
    const uint32_t infinite = 0x7f800000;
    field_parts *p = f->parts;
    abuti_queue *queue = &f->bvh->queue;
    abut_status status = abuti_buffer_fill(queue, &p->counters, 0, sizeof f->counters);
    if (!status)
        status =
            abuti_buffer_fill(queue, &p->bounds, infinite, 4 * (size_t)f->bounds_at[f->levels + 1]);
    if (!status)
        status = abuti_buffer_fill(queue, &p->cut_bounds, infinite, 4 * 64 * (size_t)f->long_most);
    return status;
}

/* Queues everything and waits for the counters. Signs are found on a queue of their own, while
 * lists are made; with a border the host waits for them, to know how many winding numbers it must
 * ask for, which are found beside the distances. Where stages are timed all is on one queue: NVIDIA
 * does not time what runs beside something else. */
static abut_status try_all(filling *f) {
    field_parts *p = f->parts;
    bool has_border = p->border_count > 0;
    abuti_queue *queue = &f->bvh->queue, *aside = p->account ? queue : &p->aside;
    uint32_t unsure = 0;
    if (p->account)
        memset(p->account, 0, sizeof *p->account);
    abut_status status = reserve(f);
    status = status ? status : clear(f);
    status = status ? status : abuti_queue_wait(aside, queue);
    status = status ? status : queue_rows(f, aside);
    if (!status && has_border)
        status = queue_sides(f, aside);
    status = status ? status : queue_top(f);
    status = status ? status : queue_filters(f);
    status = status ? status : abuti_queue_wait(queue, aside);
    status = status ? status : queue_cells(f, false);
    status = status ? status : queue_cut(f);
    status = status ? status : queue_cells(f, true);
    status = status ? status : queue_few(f);
    status = status ? status : queue_settle(f);
    if (!status && has_border)
        status = download_counters(f, aside);
    if (!status && has_border)
        unsure = f->counters[UNSURE] < f->unsure_most ? f->counters[UNSURE] : f->unsure_most;
    if (!status && unsure)
        status = queue_windings(f, aside, unsure);
    double begin = 1e3 * abuti_seconds();
    if (!status && unsure)
        status = settle_signs(f, aside, unsure);
    status = status ? status : download_counters(f, queue);
    if (p->account)
        p->account->stage_ms[FIELD_STAGE_SIGNS] = 1e3 * abuti_seconds() - begin;
    if (status) /* nothing may be under way when the caller gets the error */
        (void)abuti_queue_finish(&p->aside);
    return status;
}

/* ---- the search for all ---- */

static float value_of(double distance, double band) {
    return (float)(distance > band ? band : distance < -band ? -band : distance);
}

/* Some cells by their numbers, through the search of the hierarchy. */
typedef struct settling {
    vec3 *points;
    abut_nearest *nearest;
    uint32_t *cells;
    float *values;
    size_t count;
} settling;

static abut_status settle_some(filling *f, settling *s) {
    field_parts *p = f->parts;
    const uint32_t *n = f->grid->count;
    if (!s->count)
        return ABUT_OK;
    for (size_t i = 0; i < s->count; i++)
        s->points[i] =
            centre_of(f, s->cells[i] % n[0], s->cells[i] / n[0] % n[1], s->cells[i] / n[0] / n[1]);
    const bvh_points batch = {(const unsigned char *)s->points, ABUT_SCALAR_FLOAT64,
                              sizeof *s->points, s->count};
    abut_status status =
        abuti_sign_nearest_there("abut_field_create", f->bvh, &batch, HUGE_VAL, s->nearest);
    for (size_t i = 0; !status && i < s->count; i++) {
        s->values[i] = value_of(s->nearest[i].distance, f->band);
        f->least = real_min(f->least, s->values[i]);
        f->most = real_max(f->most, s->values[i]);
    }
    uint32_t count = (uint32_t)s->count;
    abut_device *device = f->bvh->queue.device;
    if (!status)
        status = abuti_buffer_reserve(device, SETTLE_POINTS, 4, &p->settled);
    if (!status)
        status = abuti_buffer_upload(&f->bvh->queue, &p->doubts, 0, s->cells, 4 * s->count);
    if (!status)
        status = abuti_buffer_upload(&f->bvh->queue, &p->settled, 0, s->values, 4 * s->count);
    if (!status)
        status = ABUTI_LAUNCH(&f->bvh->queue, &p->put, groups_of(count, GROUP), GROUP,
                              ABUTI_BUFFER(&p->doubts), ABUTI_BUFFER(&p->settled),
                              ABUTI_VALUE(count), ABUTI_BUFFER(f->values));
    s->count = 0;
    return status;
}

static abut_status settle_cell(filling *f, settling *s, size_t cell) {
    s->cells[s->count++] = (uint32_t)cell;
    return s->count < SETTLE_POINTS ? ABUT_OK : settle_some(f, s);
}

/* All cells. */
static abut_status search_all(filling *f) {
    field_parts *p = f->parts;
    abut_context *context = f->bvh->context;
    size_t cells = grid_cells(f->grid), most = cells < SETTLE_POINTS ? cells + 1 : SETTLE_POINTS;
    settling s = {abuti_allocate(context, most, sizeof *s.points),
                  abuti_allocate(context, most, sizeof *s.nearest),
                  abuti_allocate(context, most, sizeof *s.cells),
                  abuti_allocate(context, most, sizeof *s.values), 0};
    abut_status status = s.points && s.nearest && s.cells && s.values ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) /* its buffer takes the numbers of what is settled */
        status = abuti_buffer_reserve(f->bvh->queue.device, SETTLE_POINTS, 4, &p->doubts);
    for (size_t i = 0; !status && i < cells; i++)
        status = settle_cell(f, &s, i);
    status = status ? status : settle_some(f, &s);
    abuti_release(context, s.points);
    abuti_release(context, s.nearest);
    abuti_release(context, s.cells);
    abuti_release(context, s.values);
    return status;
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
        uint64_t both = (uint64_t)f->counters[ENTRIES + level] + f->counters[ENTRIES + level + 1];
        needed = both > needed ? both : needed;
    }
    return needed;
}

/* Whether the pool was too small and could be made larger. */
static bool grow_pool(filling *f) {
    field_parts *p = f->parts;
    uint64_t most = f->bvh->queue.device->info.memory_bytes / (4 * POOL_SHARE);
    uint64_t largest = f->bvh->queue.device->info.buffer_bytes / 4, needed = entries_needed(f);
    if (f->counters[CHUNKS] > CHUNKS_MOST || needed <= p->pool_count)
        return false;
    /* lists of blocks below one that did not fit are not in this number yet */
    needed += needed / 4;
    if (needed > most || needed > largest || needed > CHUNKS_MOST * CHUNK)
        return false;
    p->pool_count = (size_t)needed;
    return true;
}

/* Whether all cells are left to the search: pseudo-normals need the nearest triangle, a long border
 * costs more than the search, and so do lists for cells that are large beside the triangles. */
static bool is_searched(const filling *f) {
    const field_parts *p = f->parts;
    double cells = (double)grid_cells(f->grid);
    return f->bvh->sign.normals.device || (!f->bvh->sign.closed && !p->border_count) ||
           p->border_count > BORDER_MOST || !(f->largest < FAR) ||
           cells < p->cells_least * f->bvh->tree.triangle_count;
}

/* Whether lists or cells in doubt found no room. */
static bool has_failed(const filling *f) {
    return f->counters[CHUNKS] > CHUNKS_MOST || entries_needed(f) > f->parts->pool_count ||
           f->counters[DOUBTFUL] > f->doubts_most || f->counters[UNSURE] > f->unsure_most ||
           f->counters[LEFT];
}

static void tell(const filling *f, bool all) {
    field_account *account = f->parts->account;
    if (!account)
        return;
    account->doubtful = all ? 0 : f->counters[DOUBTFUL];
    account->unsure = all ? 0 : f->counters[UNSURE];
    account->cut = all ? 0 : f->counters[LONG_8];
    account->cut_again = all ? 0 : f->counters[LONG_4];
    account->unsettled = all ? 0 : f->counters[UNSETTLED];
    account->entries = all ? 0 : entries_needed(f);
    account->searched = all;
}

static abut_status fill(filling *f) {
    field_parts *p = f->parts;
    bool all = is_searched(f);
    abut_status status = ABUT_OK;
    f->least = INFINITY;
    f->most = -INFINITY;
    if (!all) {
        do
            status = try_all(f);
        while (!status && grow_pool(f));
        all = !status && has_failed(f);
        if (!status && !all && f->counters[LEAST]) {
            f->least = unsortable(~f->counters[LEAST]);
            f->most = unsortable(f->counters[MOST]);
        }
    }
    tell(f, all);
    double begin = 1e3 * abuti_seconds();
    if (!status && all)
        status = search_all(f);
    status = status ? status : abuti_queue_finish(&f->bvh->queue);
    if (p->account)
        p->account->stage_ms[FIELD_STAGE_SEARCH] = 1e3 * abuti_seconds() - begin;
    return status;
}

abut_status abuti_device_field_fill(bvh_on_device *bvh, const abut_grid *grid,
                                    const uint32_t first[3], double band, abuti_buffer *values,
                                    double *least, double *most) {
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
        *least = f.least;
        *most = f.most;
    }
    return status;
}
