/* The host's side of field_lists.cl, field_cells.cl and field_rows.cl: what is launched, and what
 * is left to the search. All work of a field is queued at once, and the host waits once, to see
 * what is left; unless the pool of lists was too small, which is known then: it is made larger and
 * kept, and all is queued again. */
#include "field/device.h"

#include <math.h>
#include <time.h>

/* As in the kernels. */
#define GROUP 128
#define ROW_GROUP 64
#define SEED_GROUP 32
#define EACH 32
#define STAGED 3072
#define WALK_BYTES (4 * (1024 + 512 + 32 + STAGED))
#define FILTER_BYTES (4 * (32 + STAGED))
#define SIDES_BYTES (4 * 3 * GROUP)
#define LIST 320
#define CELLS_BYTES (LIST * 68 + 4 * (512 + 2 * 8 + 2 * 64 + 8) + 2 * (8 * 128 + 64 * 24))
#define CHUNK 1024
#define CHUNKS_MOST ((uint64_t)1 << 21)
#define NEAR 4.0
#define MARGIN 0x1p-19

enum {
    DOUBTFUL = 0,
    LEFT,
    LEAST,
    MOST,
    ENTRIES,
    CHUNKS,
    COUNTERS = 8,
    /* Blocks of the largest size; there are fewer than that, or they are of the least size. */
    TOP_BLOCKS = 1024,
    POOL_LEAST = 1 << 20,
    /* Points that go through the search at once. */
    SETTLE_POINTS = 1 << 18,
    /* With more edges of the border each cell asks the search: every edge would cost more. */
    BORDER_MOST = 4096,
};
/* Lists may take this part of a device's memory. */
#define POOL_SHARE 8

typedef struct filling {
    abut_device_bvh *bvh;
    field_parts *parts;
    const abut_grid *grid;
    double band;
    abuti_buffer *values;
    grid_argument argument;
    uint32_t sides[FIELD_LEVELS]; /* of the blocks of each level; the last are FIELD_BLOCK */
    int levels;
    size_t doubts_most;
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

static grid_argument argument_of(const filling *f) {
    const abut_grid *grid = f->grid;
    vec3 mesh_origin = f->bvh->tree.mesh->origin, first, last;
    double scale = f->bvh->tree.scale;
    grid_argument a = {.cell = grid->cell,
                       .scale = scale,
                       .band = f->band,
                       .step = (float)(grid->cell * scale),
                       .reach = (float)(f->band * scale) * (1 + 0x1p-20f)};
    first = v3_scale(v3_sub(grid->origin, mesh_origin), scale);
    last = v3_scale(v3_sub(grid_centre(grid, grid->count[0] - 1, grid->count[1] - 1,
                                       grid->count[2] - 1),
                           mesh_origin),
                    scale);
    double largest = real_max(v3_max_abs(first), v3_max_abs(last));
    a.margin = (float)(MARGIN * (real_min(largest, NEAR) + 2));
    for (int axis = 0; axis < 3; axis++) {
        a.origin[axis] = v3_get(grid->origin, axis);
        a.mesh_origin[axis] = v3_get(mesh_origin, axis);
        a.base[axis] = (float)v3_get(first, axis);
        a.count[axis] = grid->count[axis];
    }
    return a;
}

/* From the largest blocks, of which there are at most TOP_BLOCKS, down to those that are measured.
 */
static void choose_levels(filling *f) {
    uint32_t side = FIELD_LEVEL_LEAST;
    while (blocks_of(f->grid, side) > TOP_BLOCKS && side < 1u << 24)
        side *= 2;
    f->levels = 0;
    for (; side >= FIELD_BLOCK; side /= 2)
        f->sides[f->levels++] = side;
}

/* ---- memory ---- */

static abut_status reserve(filling *f) {
    field_parts *p = f->parts;
    abut_device *device = f->bvh->queue.device;
    size_t cells = grid_cells(f->grid);
    if (p->pool_count < cells / 2)
        p->pool_count = cells / 2;
    if (p->pool_count < POOL_LEAST)
        p->pool_count = POOL_LEAST;
    f->doubts_most = cells / 64 + SETTLE_POINTS; /* which settle_some() needs, too */
    abut_status status = abuti_buffer_reserve(device, p->pool_count, 4, &p->pool);
    status = status ? status : abuti_buffer_reserve(device, COUNTERS, 4, &p->counters);
    status = status ? status : abuti_buffer_reserve(device, f->doubts_most, 4, &p->doubts);
    status = status ? status
                    : abuti_buffer_reserve(device, blocks_of(f->grid, FIELD_BLOCK), 4, &p->left);
    for (int level = 0; !status && level < f->levels; level++) {
        uint32_t blocks = blocks_of(f->grid, f->sides[level]);
        status = abuti_buffer_reserve(device, blocks, 8, &p->bounds[level]);
        if (!status && level + 1 < f->levels)
            status = abuti_buffer_reserve(device, blocks, 8, &p->lists[level]);
    }
    return status;
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
static abut_status queue_rows(filling *f) {
    abut_device_bvh *bvh = f->bvh;
    abuti_queue *queue = &bvh->queue;
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

static abut_status queue_top(filling *f) {
    abut_device_bvh *bvh = f->bvh;
    field_parts *p = f->parts;
    abuti_queue *queue = &bvh->queue;
    uint32_t side = f->sides[0], blocks = blocks_of(f->grid, side);
    uint32_t pool_count = (uint32_t)p->pool_count;
    stage_begin(f);
    abut_status status =
        ABUTI_LAUNCH(queue, &p->seed, groups_of(blocks, SEED_GROUP), SEED_GROUP,
                     ABUTI_BUFFER(&bvh->tree.nodes), ABUTI_BUFFER(&bvh->tree.triangles),
                     ABUTI_VALUE(f->argument), ABUTI_VALUE(side), ABUTI_VALUE(blocks),
                     ABUTI_BUFFER(&p->bounds[0]));
    status = status ? status : stage_end(f, FIELD_STAGE_SEED);
    stage_begin(f);
    if (!status)
        status =
            ABUTI_LAUNCH(queue, &p->walk, blocks, GROUP, ABUTI_BUFFER(&bvh->tree.nodes),
                         ABUTI_BUFFER(&p->records), ABUTI_BUFFER(&p->leaf_begin),
                         ABUTI_VALUE(f->argument), ABUTI_VALUE(side), ABUTI_BUFFER(&p->bounds[0]),
                         ABUTI_BUFFER(&p->pool), ABUTI_VALUE(pool_count),
                         ABUTI_BUFFER(&p->counters), ABUTI_BUFFER(&p->lists[0]),
                         ABUTI_BUFFER(&p->bounds[1]), ABUTI_LOCAL_MEMORY(WALK_BYTES));
    return status ? status : stage_end(f, FIELD_STAGE_WALK);
}

static abut_status queue_filters(filling *f) {
    field_parts *p = f->parts;
    uint32_t pool_count = (uint32_t)p->pool_count;
    abut_status status = ABUT_OK;
    stage_begin(f);
    for (int level = 1; !status && level + 1 < f->levels; level++) {
        uint32_t side = f->sides[level];
        status =
            ABUTI_LAUNCH(&f->bvh->queue, &p->filter, blocks_of(f->grid, side), GROUP,
                         ABUTI_BUFFER(&p->records), ABUTI_VALUE(f->argument), ABUTI_VALUE(side),
                         ABUTI_BUFFER(&p->lists[level - 1]), ABUTI_BUFFER(&p->bounds[level]),
                         ABUTI_BUFFER(&p->pool), ABUTI_VALUE(pool_count),
                         ABUTI_BUFFER(&p->counters), ABUTI_BUFFER(&p->lists[level]),
                         ABUTI_BUFFER(&p->bounds[level + 1]), ABUTI_LOCAL_MEMORY(FILTER_BYTES));
    }
    return status ? status : stage_end(f, FIELD_STAGE_FILTER);
}

/* Signs of a surface with a border. */
static abut_status queue_sides(filling *f) {
    field_parts *p = f->parts;
    float facing = (float)f->bvh->sign.facing;
    if (!p->border_count)
        return ABUT_OK;
    stage_begin(f);
    abut_status status =
        ABUTI_LAUNCH(&f->bvh->queue, &p->sides, blocks_of(f->grid, FIELD_BLOCK), GROUP,
                     ABUTI_VALUE(f->argument), ABUTI_BUFFER(&p->bounds[f->levels - 1]),
                     ABUTI_BUFFER(&p->border), ABUTI_VALUE(p->border_count), ABUTI_VALUE(facing),
                     ABUTI_BUFFER(f->values), ABUTI_LOCAL_MEMORY(SIDES_BYTES));
    return status ? status : stage_end(f, FIELD_STAGE_SIDES);
}

static abut_status queue_cells(filling *f) {
    field_parts *p = f->parts;
    uint32_t doubts_most = (uint32_t)f->doubts_most;
    stage_begin(f);
    abut_status status =
        ABUTI_LAUNCH(&f->bvh->queue, &p->cells, blocks_of(f->grid, FIELD_BLOCK), GROUP,
                     ABUTI_BUFFER(&p->records), ABUTI_BUFFER(&p->exact),
                     ABUTI_BUFFER(&f->bvh->tree.corners), ABUTI_VALUE(f->argument),
                     ABUTI_BUFFER(&p->lists[f->levels - 2]),
                     ABUTI_BUFFER(&p->bounds[f->levels - 1]), ABUTI_BUFFER(&p->pool),
                     ABUTI_BUFFER(f->values), ABUTI_BUFFER(&p->doubts), ABUTI_VALUE(doubts_most),
                     ABUTI_BUFFER(&p->left), ABUTI_BUFFER(&p->counters),
                     ABUTI_LOCAL_MEMORY(CELLS_BYTES));
    return status ? status : stage_end(f, FIELD_STAGE_CELLS);
}

/* Queues everything and waits for the counters. */
static abut_status try_all(filling *f) {
    field_parts *p = f->parts;
    abuti_queue *queue = &f->bvh->queue;
    const uint32_t start[COUNTERS] = {0, 0, UINT32_MAX, UINT32_MAX, 0, 0, 0, 0};
    if (p->account)
        memset(p->account, 0, sizeof *p->account);
    abut_status status = reserve(f);
    status = status ? status : abuti_buffer_upload(queue, &p->counters, 0, start, sizeof start);
    status = status ? status : queue_rows(f);
    status = status ? status : queue_top(f);
    status = status ? status : queue_filters(f);
    status = status ? status : queue_sides(f);
    status = status ? status : queue_cells(f);
    return status ? status
                  : abuti_buffer_download(queue, &p->counters, 0, f->counters, sizeof f->counters);
}

/* ---- what is left to the search ---- */

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
        s->points[i] = grid_centre(f->grid, s->cells[i] % n[0], s->cells[i] / n[0] % n[1],
                                   s->cells[i] / n[0] / n[1]);
    abut_points batch = abut_points_default();
    batch.points = s->points;
    batch.count = s->count;
    abut_status status = abut_device_bvh_nearest_signed(f->bvh, &batch, HUGE_VAL, s->nearest);
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

static abut_status settle_block(filling *f, settling *s, uint32_t block) {
    const uint32_t *n = f->grid->count;
    uint32_t wide = (uint32_t)groups_of(n[0], FIELD_BLOCK),
             high = (uint32_t)groups_of(n[1], FIELD_BLOCK);
    uint32_t x = FIELD_BLOCK * (block % wide), y = FIELD_BLOCK * (block / wide % high),
             z = FIELD_BLOCK * (block / wide / high);
    abut_status status = ABUT_OK;
    for (uint32_t k = z; k < z + FIELD_BLOCK && k < n[2]; k++)
        for (uint32_t j = y; j < y + FIELD_BLOCK && j < n[1]; j++)
            for (uint32_t i = x; i < x + FIELD_BLOCK && i < n[0] && !status; i++)
                status = settle_cell(f, s, grid_at(n, i, j, k));
    return status;
}

/* Cells and blocks that were left, or all cells. */
static abut_status settle(filling *f, bool all) {
    field_parts *p = f->parts;
    abut_context *context = f->bvh->context;
    size_t cells = grid_cells(f->grid), doubtful = all ? 0 : f->counters[DOUBTFUL];
    size_t left = all ? 0 : f->counters[LEFT];
    doubtful = doubtful < f->doubts_most ? doubtful : f->doubts_most;
    if (!all && !doubtful && !left)
        return ABUT_OK;
    size_t most = all || left || doubtful > SETTLE_POINTS ? SETTLE_POINTS : doubtful + 1;
    settling s = {abuti_allocate(context, most, sizeof *s.points),
                  abuti_allocate(context, most, sizeof *s.nearest),
                  abuti_allocate(context, most, sizeof *s.cells),
                  abuti_allocate(context, most, sizeof *s.values), 0};
    uint32_t *list = abuti_allocate(context, doubtful + left, sizeof *list);
    abut_status status =
        s.points && s.nearest && s.cells && s.values && list ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status && all) /* its buffer takes the numbers of what is settled */
        status = abuti_buffer_reserve(f->bvh->queue.device, SETTLE_POINTS, 4, &p->doubts);
    if (!status && doubtful)
        status = abuti_buffer_download(&f->bvh->queue, &p->doubts, 0, list, 4 * doubtful);
    if (!status && left)
        status = abuti_buffer_download(&f->bvh->queue, &p->left, 0, list + doubtful, 4 * left);
    for (size_t i = 0; !status && i < doubtful; i++)
        status = settle_cell(f, &s, list[i]);
    for (size_t i = 0; !status && i < left; i++)
        status = settle_block(f, &s, list[doubtful + i]);
    for (size_t i = 0; !status && all && i < cells; i++)
        status = settle_cell(f, &s, i);
    status = status ? status : settle_some(f, &s);
    abuti_release(context, s.points);
    abuti_release(context, s.nearest);
    abuti_release(context, s.cells);
    abuti_release(context, s.values);
    abuti_release(context, list);
    return status;
}

/* ---- all ---- */

static float unsortable(uint32_t word) {
    uint32_t bits = word & 0x80000000u ? word ^ 0x80000000u : ~word;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Whether the pool was too small; makes it larger. False as well where that cannot be. */
static bool grow_pool(filling *f, bool *fits) {
    field_parts *p = f->parts;
    uint64_t most = f->bvh->queue.device->info.memory_bytes / (4 * POOL_SHARE);
    uint64_t largest = f->bvh->queue.device->info.buffer_bytes / 4, needed = f->counters[ENTRIES];
    *fits = f->counters[CHUNKS] <= CHUNKS_MOST && needed <= p->pool_count;
    if (*fits || f->counters[CHUNKS] > CHUNKS_MOST)
        return false;
    /* lists of blocks below one that did not fit are not in this number yet */
    needed += needed / 2;
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
           p->border_count > BORDER_MOST || cells < p->cells_least * f->bvh->tree.triangle_count;
}

static abut_status fill(filling *f) {
    field_parts *p = f->parts;
    bool fits = false;
    bool all = is_searched(f);
    abut_status status = ABUT_OK;
    f->least = INFINITY;
    f->most = -INFINITY;
    if (!all) {
        do
            status = try_all(f);
        while (!status && grow_pool(f, &fits));
        if (!status && f->counters[LEAST] != UINT32_MAX) {
            f->least = unsortable(f->counters[LEAST]);
            f->most = unsortable(~f->counters[MOST]);
        }
    }
    if (p->account) {
        p->account->doubtful = all ? 0 : f->counters[DOUBTFUL];
        p->account->left = all ? 0 : f->counters[LEFT];
        p->account->entries = all ? 0 : f->counters[ENTRIES];
        p->account->searched = all;
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    status = status ? status : settle(f, all);
    status = status ? status : abuti_queue_finish(&f->bvh->queue);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (p->account)
        p->account->stage_ms[FIELD_STAGE_SETTLE] = (double)(end.tv_sec - begin.tv_sec) * 1e3 +
                                                   (double)(end.tv_nsec - begin.tv_nsec) * 1e-6;
    return status;
}

abut_status abuti_device_field_fill(abut_device_bvh *bvh, const abut_grid *grid, double band,
                                    abuti_buffer *values, double *least, double *most) {
    filling f = {.bvh = bvh, .grid = grid, .band = band, .values = values};
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
