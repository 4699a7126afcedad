/* Values of blocks of cells: the distance at the centre of each cell, negative inside.
 *
 * Tiles of rows of blocks are distributed to the threads. A worker counts the crossings of the rows
 * of its tile (sign_rows.c). Then it subdivides cubes of blocks, with feature lists that shrink
 * from the cube to sixteen cells (cells.h). If a list would be too long, it is not made, and
 * smaller boxes are tried. If it is still too long for sixteen cells, each cell is a closest-point
 * query. Values are floats of exact distances, so they do not depend on the division of work.
 */
#include "field/build/compute.h"

#include "base/simd.h"
#include "sign/sign.h"

#include <math.h>

/* Cells farther from the centre than this, in the scaled frame, are computed by closest-point
 * queries. */
#define FRAME_EXTENT_MAX 8.0
/* With fewer cells per triangle, closest-point queries are faster than lists for large boxes. */
#define CELLS_PER_TRIANGLE_MIN 1.0

/* ---- cubes ---- */

/* Copies eight rows of eight cells of a block to the values of the cube, or back. */
static void copy_block(worker *w, const uint32_t block[3], float *values, bool is_load) {
    for (uint32_t row = 0; row < FIELD_BRICK * FIELD_BRICK; row++) {
        float *cells = &w->values[compute_index(w, block[0], block[1] + row % FIELD_BRICK,
                                                block[2] + row / FIELD_BRICK)];
        memcpy(is_load ? cells : values + FIELD_BRICK * row,
               is_load ? values + FIELD_BRICK * row : cells, FIELD_BRICK * sizeof *cells);
    }
}

/* Copies the distances of known blocks to a cube. */
static void load_blocks(worker *w, const cells_span *s) {
    uint32_t block[3] = {s->begin[0], s->begin[1], s->begin[2]};
    float values[BLOCK_CELLS];
    do
        if (compute_is_known(w, block)) {
            w->c->job->load(w->c->job->known_data, block, values);
            copy_block(w, block, values, true);
        }
    while (compute_next_block(s, block));
}

/* Stores the wanted blocks of a cube. */
static void store_blocks(worker *w, const cells_span *s) {
    uint32_t block[3] = {s->begin[0], s->begin[1], s->begin[2]};
    float values[BLOCK_CELLS];
    do
        if (*compute_wanted(w, block) != NOT_WANTED) {
            copy_block(w, block, values, false);
            w->c->job->store(w->c->job->data, *compute_wanted(w, block), block, values);
        }
    while (compute_next_block(s, block));
}

/* Applies signs to the values of a cube. */
static void sign_cells(worker *w, const cells_span *s) {
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            const unsigned char *inside = w->rows.inside + sign_rows_at(&w->rows, cell);
            float *row = &w->values[compute_index(w, cell[0], cell[1], cell[2])];
            for (uint32_t i = 0; i < s->count[0]; i++)
                row[i] = inside[i] ? -row[i] : row[i];
        }
    for (uint32_t i = 0; i < w->touching_count; i++)
        w->values[w->touching[i]] = w->touching_value[i];
}

/* ---- tiles ---- */

/* Sets margin and error bound for cells whose coordinates are at most `largest` in the scaled
 * frame. */
static void set_rule(worker *w, double largest) {
    w->rule.margin = cells_margin((float)largest);
    w->rule.error = cells_error(largest);
}

static void compute_cube(worker *w, const cells_span *s) {
    const computing *c = w->c;
    double largest = 0;
    for (int k = 0; k < 3; k++) {
        largest = real_max(largest, real_max(fabs(c->frame[k][s->begin[k]]),
                                             fabs(c->frame[k][s->begin[k] + s->count[k] - 1])));
        w->origin[k] = s->begin[k];
    }
    set_rule(w, largest);
    w->touching_count = 0;
    if (c->job->known)
        load_blocks(w, s);
    abuti_compute_cells(w, s, c->is_searched || !(largest <= FRAME_EXTENT_MAX));
    if (!c->by_normals)
        sign_cells(w, s);
    store_blocks(w, s);
}

/* The first index in `wanted` whose block is not below `number`. */
static size_t first_wanted_from(const field_job *job, size_t number) {
    size_t lo = 0, hi = job->wanted_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (job->wanted[middle] < number)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Sets the indices of the tile's blocks in `wanted`. Returns false if none is wanted. */
static bool list_wanted(worker *w) {
    const field_job *job = w->c->job;
    bool any = false;
    for (uint32_t z = 0; z < w->blocks[2]; z++)
        for (uint32_t y = 0; y < w->blocks[1]; y++) {
            const uint32_t row[3] = {w->first[0] * FIELD_BRICK, (w->first[1] + y) * FIELD_BRICK,
                                     (w->first[2] + z) * FIELD_BRICK};
            size_t *at = compute_wanted(w, row);
            size_t number = grid_at(job->blocks, w->first[0], w->first[1] + y, w->first[2] + z);
            for (uint32_t x = 0; x < w->blocks[0]; x++)
                at[x] = job->wanted ? NOT_WANTED : number + x;
            if (!job->wanted) {
                any = true;
                continue;
            }
            for (size_t i = first_wanted_from(job, number);
                 i < job->wanted_count && job->wanted[i] < number + w->blocks[0]; i++) {
                at[job->wanted[i] - number] = i;
                any = true;
            }
        }
    return any;
}

/* Coordinates of groups of sixteen cells along each axis of the tile. */
static void fill_lane_coordinates(worker *w) {
    cells_lanes *const lanes[3] = {w->x, w->y, w->z};
    static const uint32_t step[3] = {CELLS_X, CELLS_Y, CELLS_Z};
    static const uint32_t stride[3] = {1, CELLS_X, CELLS_X * CELLS_Y};
    for (int k = 0; k < 3; k++)
        for (uint32_t i = 0; i < w->rows.cells.count[k]; i += step[k])
            for (uint32_t n = 0; n < CELLS_COUNT; n++) {
                uint32_t cell = i + n / stride[k] % step[k], last = w->rows.cells.count[k] - 1;
                lanes[k][i / step[k]].at[n] =
                    (float)w->c->frame[k][w->rows.cells.begin[k] + (cell < last ? cell : last)];
            }
}

static void compute_tile(worker *w, size_t tile) {
    const computing *c = w->c;
    const uint32_t cube = c->cube, size[3] = {TILE_LONG, cube, cube};
    const size_t place[3] = {tile % c->tiles[0], tile / c->tiles[0] % c->tiles[1],
                             tile / c->tiles[0] / c->tiles[1]};
    cells_span s;
    for (int k = 0; k < 3; k++) {
        w->first[k] = (uint32_t)place[k] * size[k];
        uint32_t left = c->job->blocks[k] - w->first[k];
        w->blocks[k] = left < size[k] ? left : size[k];
        uint32_t end = (w->first[k] + w->blocks[k]) * FIELD_BRICK;
        s.begin[k] = w->first[k] * FIELD_BRICK;
        s.count[k] = (end < c->end[k] ? end : c->end[k]) - s.begin[k];
    }
    if (!list_wanted(w))
        return;
    w->rows = (sign_rows){s, w->winding, w->inside, w->crossed};
    fill_lane_coordinates(w);
    if (!c->by_normals)
        abuti_sign_rows(c->table.bvh, c->job->grid, &w->rows);
    const uint32_t length = s.count[0], most = cube * FIELD_BRICK;
    for (uint32_t x = 0; x < length && !abuti_stop(c->job->bvh->context, "field"); x += most) {
        s.begin[0] = w->rows.cells.begin[0] + x;
        s.count[0] = length - x < most ? length - x : most;
        compute_cube(w, &s);
    }
}

typedef struct part {
    computing *c;
    size_t begin, end;
    atomic_size_t taken;
} part;

/* Processes tiles until none remains. */
static void worker_task(void *data, size_t chunk, size_t begin, size_t end) {
    part *p = data;
    worker *w = &p->c->workers[chunk];
    (void)begin;
    (void)end;
    w->c = p->c;
    w->lists.table = &p->c->table;
    w->lists.kernel = ABUTI_BY_LANES(abuti_regions);
    w->lists.seen = p->c->seen + chunk * regions_seen_words(&p->c->table);
    w->rule.to_world = 1 / p->c->table.bvh->scale;
    w->rule.band = p->c->job->band;
    for (int i = 0; i < CELLS_CACHE; i++)
        w->exact[i].name = ABUT_NONE;
    for (;;) {
        size_t tile = p->begin + atomic_fetch_add(&p->taken, 1);
        if (tile >= p->end || abuti_stop(p->c->job->bvh->context, "field"))
            return;
        compute_tile(w, tile);
    }
}

/* ---- jobs ---- */

/* Computes the coordinates of all cells in the scaled frame. */
static abut_status compute_frame_coordinates(computing *c) {
    const field_job *job = c->job;
    const abut_bvh *bvh = job->bvh;
    for (int k = 0; k < 3; k++) {
        c->end[k] = job->grid->count[k];
        c->frame[k] = abuti_allocate(bvh->context, c->end[k], sizeof *c->frame[k]);
        if (!c->frame[k])
            return ABUT_ERROR_MEMORY;
        for (uint32_t i = 0; i < c->end[k]; i++) /* the same rounding as grid_centre() */
            c->frame[k][i] = (v3_get(job->grid->origin, k) + job->grid->cell * i -
                              v3_get(bvh->mesh->origin, k)) *
                             bvh->scale;
    }
    return ABUT_OK;
}

/* Divides the grid into tiles, into smaller ones if some threads would be idle at the end. */
static size_t divide_tiles(computing *c, uint32_t threads) {
    const uint32_t *blocks = c->job->blocks;
    for (c->cube = CUBE;; c->cube /= 2) {
        const uint32_t size[3] = {TILE_LONG, c->cube, c->cube};
        size_t count = 1;
        for (int k = 0; k < 3; k++) {
            c->tiles[k] = (blocks[k] + size[k] - 1) / size[k];
            count *= c->tiles[k];
        }
        if (c->cube == CUBE_MIN || count >= TILES_EACH * (size_t)threads)
            return count;
    }
}

static abut_status run_tiles(computing *c, uint32_t workers) {
    const field_job *job = c->job;
    abut_context *context = job->bvh->context;
    size_t all = (size_t)c->tiles[0] * c->tiles[1] * c->tiles[2], most = 16 * (size_t)workers;
    abut_status status = ABUT_OK;
    for (size_t begin = 0; begin < all && !status; begin += most) {
        part p = {.c = c, .begin = begin, .end = all - begin < most ? all : begin + most};
        abuti_parallel_for(context, workers, 1, worker_task, &p);
        status = abuti_progress(context, "field",
                                job->from + (job->to - job->from) * (double)p.end / (double)all);
    }
    return status;
}

abut_status abuti_field_compute(const field_job *job) {
    const abut_bvh *bvh = job->bvh;
    abut_context *context = bvh->context;
    computing c = {.job = job,
                   .table = {.bvh = bvh},
                   .closed = bvh_sign_of(bvh)->closed,
                   .by_normals = bvh_sign_of(bvh)->method == ABUT_SIGN_NORMAL};
    c.is_searched = c.by_normals ||
                    (!job->always_lists &&
                     (double)grid_cells(job->grid) < CELLS_PER_TRIANGLE_MIN * bvh->triangle_count);
    uint32_t workers = abuti_context_threads(context);
    workers = workers < 4 ? 4 : workers; /* a caller's task function may use more threads */
    size_t tiles = divide_tiles(&c, abuti_context_threads(context));
    workers = workers < tiles ? workers : (uint32_t)tiles;
    c.workers = abuti_allocate(context, workers, sizeof *c.workers);
    abut_status status = c.workers ? compute_frame_coordinates(&c) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_bvh_prepare_wide(bvh, grid_cells(job->grid));
    if (!status && job->table)
        c.table = *job->table;
    else if (!status && !c.is_searched)
        status = abuti_regions_create(bvh, 0, &c.table);
    if (!status)
        status = abuti_sign_boundary(bvh);
    if (!status) {
        c.seen = abuti_allocate(context, regions_seen_words(&c.table), workers * sizeof *c.seen);
        status = c.seen ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    if (!status)
        status = run_tiles(&c, workers);
    if (!job->table)
        abuti_regions_destroy(&c.table);
    for (int k = 0; k < 3; k++)
        abuti_release(context, c.frame[k]);
    abuti_release(context, c.seen);
    abuti_release(context, c.workers);
    return status;
}
