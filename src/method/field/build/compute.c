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

static const size_t NOT_WANTED = (size_t)-1;

/* ---- blocks ---- */

/* A range of blocks of the tile. */
typedef struct block_span {
    uint32_t first[3], count[3];
} block_span;

static bool is_single_block(const block_span *b) {
    return b->count[0] == 1 && b->count[1] == 1 && b->count[2] == 1;
}

/* Advances to the next block of a range. Returns false after the last one. */
static bool next_block(const block_span *b, uint32_t block[3]) {
    for (int k = 0; k < 3; k++) {
        if (++block[k] < b->first[k] + b->count[k])
            return true;
        block[k] = b->first[k];
    }
    return false;
}

/* The cells of a range of blocks. */
static cells_span span_of(const worker *w, const block_span *b) {
    cells_span s;
    for (int k = 0; k < 3; k++) {
        s.begin[k] = (w->first[k] + b->first[k]) * FIELD_BRICK;
        uint32_t end = s.begin[k] + b->count[k] * FIELD_BRICK;
        s.count[k] = (end < w->c->end[k] ? end : w->c->end[k]) - s.begin[k];
    }
    return s;
}

static size_t *wanted_index(worker *w, const uint32_t block[3]) {
    return &w->at[block[0] + TILE_LONG * (block[1] + CUBE * block[2])];
}

static bool is_known(const worker *w, const uint32_t block[3]) {
    const field_job *job = w->c->job;
    return job->known && job->known[grid_at(job->blocks, w->first[0] + block[0],
                                            w->first[1] + block[1], w->first[2] + block[2])];
}

/* Applies signs to the values of a block; `s` starts at the first cell of the block. */
static void sign_cells(worker *w, const cells_span *s, bool is_signed) {
    const computing *c = w->c;
    if (!is_signed)
        abuti_sign_open(c->table.bvh, c->job->grid, &w->rows, s, true);
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            const unsigned char *inside = w->rows.inside + sign_rows_at(&w->rows, cell);
            float *row = w->values + FIELD_BRICK * (j + (size_t)FIELD_BRICK * k);
            for (uint32_t i = 0; i < s->count[0]; i++)
                row[i] = inside[i] ? -row[i] : row[i];
        }
}

/* What is known about a range of blocks: the feature list, or null; whether all of it is beyond the
 * band; whether signs are set. */
typedef struct range_state {
    const regions_list *list;
    bool is_own;                       /* the list was made for exactly these blocks */
    bool is_beyond, is_signed, is_far; /* is_far: too far from the mesh for floats */
} range_state;

static void compute_span(worker *w, const cells_span *s, const range_state *k) {
    if (k->is_beyond || k->is_far)
        abuti_compute_set(w, s, k->is_far || w->rule.band == INFINITY);
    else if (k->is_own)
        abuti_compute_divide(w, s, k->list);
    else
        abuti_compute_cells(w, s, k->list);
}

static void compute_block(worker *w, const uint32_t block[3], const range_state *k) {
    const field_job *job = w->c->job;
    const block_span one = {{block[0], block[1], block[2]}, {1, 1, 1}};
    size_t at = *wanted_index(w, block);
    if (at == NOT_WANTED)
        return;
    cells_span s = span_of(w, &one);
    for (int axis = 0; axis < 3; axis++) /* a wider copy would fail store forwarding */
        w->origin[axis] = s.begin[axis];
    w->touching_count = 0;
    if (is_known(w, block))
        job->load(job->known_data, s.begin, w->values);
    else
        compute_span(w, &s, k);
    sign_cells(w, &s, k->is_signed);
    for (uint32_t i = 0; i < w->touching_count; i++)
        w->values[w->touching[i]] = w->touching_value[i];
    job->store(job->data, at, s.begin, w->values);
}

/* Computes a range of blocks with the current list. */
static void compute_blocks(worker *w, const block_span *b, const range_state *k) {
    uint32_t block[3] = {b->first[0], b->first[1], b->first[2]};
    do
        compute_block(w, block, k);
    while (next_block(b, block));
}

/* Shrinks a range to the wanted blocks. Returns false if no distance has to be computed. */
static bool shrink_to_wanted(worker *w, block_span *b) {
    uint32_t block[3] = {b->first[0], b->first[1], b->first[2]};
    uint32_t lo[3] = {UINT32_MAX, UINT32_MAX, UINT32_MAX}, hi[3] = {0, 0, 0};
    bool any = false;
    do {
        if (*wanted_index(w, block) == NOT_WANTED)
            continue;
        any = any || !is_known(w, block);
        for (int k = 0; k < 3; k++) {
            lo[k] = block[k] < lo[k] ? block[k] : lo[k];
            hi[k] = block[k] > hi[k] ? block[k] : hi[k];
        }
    } while (next_block(b, block));
    for (int k = 0; k < 3 && any; k++) {
        b->first[k] = lo[k];
        b->count[k] = hi[k] - lo[k] + 1;
    }
    return any;
}

static void divide_blocks(worker *w, const block_span *b, const range_state *k);

/* Continues with parts of a range of blocks, each with its own list. */
static void compute_parts(worker *w, const block_span *parts, uint32_t count,
                          const range_state *k) {
    const uint32_t before = w->lists.used;
    cells_span spans[REGIONS_BOXES] = {{{0}, {0}}};
    regions_narrowed made[REGIONS_BOXES];
    for (uint32_t i = 0; i < count; i++)
        spans[i] = span_of(w, &parts[i]);
    if (k->list)
        abuti_compute_narrow(w, k->list, spans, count, made);
    for (uint32_t i = 0; i < count; i++) {
        range_state part = *k;
        if (k->list)
            part.is_beyond = !made[i].list;
        else
            part.is_beyond = abuti_compute_collect(w, &spans[i], &made[i]) == REGIONS_NOTHING;
        part.list = made[i].list;
        part.is_own = part.list;
        if (!part.is_signed && !is_single_block(&parts[i]))
            part.is_signed = abuti_sign_open(w->c->table.bvh, w->c->job->grid, &w->rows, &spans[i],
                                             part.is_beyond);
        divide_blocks(w, &parts[i], &part);
    }
    w->lists.used = before;
}

/* The same with all parts, as many at once as possible. Shrunk parts have different extents, so
 * they are processed separately. A part without a list yet gets the whole buffer. */
static void compute_all_parts(worker *w, block_span *parts, uint32_t count, const range_state *k) {
    const bool alone = w->c->job->wanted || !k->list;
    const uint32_t most = alone ? 1 : regions_boxes_at_once(k->list->count);
    uint32_t wanted = 0;
    for (uint32_t i = 0; i < count; i++) {
        const block_span all = parts[i];
        if (shrink_to_wanted(w, &parts[i]) && (k->list || !is_single_block(&parts[i])))
            parts[wanted++] = parts[i];
        else
            compute_blocks(w, &all, k);
    }
    for (uint32_t i = 0; i < wanted; i += most)
        compute_parts(w, parts + i, wanted - i < most ? wanted - i : most, k);
}

/* Subdivides a range of blocks as abuti_compute_divide() subdivides cells. */
static void divide_blocks(worker *w, const block_span *b, const range_state *k) {
    block_span parts[8];
    uint32_t count = 0;
    if (k->is_beyond || is_single_block(b)) {
        compute_blocks(w, b, k);
        return;
    }
    for (int octant = 0; octant < 8; octant++) {
        block_span *part = &parts[count];
        bool empty = false;
        for (int axis = 0; axis < 3; axis++) {
            uint32_t half = (b->count[axis] + 1) / 2;
            bool second = octant >> axis & 1;
            part->first[axis] = b->first[axis] + (second ? half : 0);
            part->count[axis] = second ? b->count[axis] - half : half;
            empty = empty || !part->count[axis];
        }
        count += !empty;
    }
    compute_all_parts(w, parts, count, k);
}

/* ---- tiles ---- */

/* Sets margin and error bound for cells whose coordinates are at most `largest` in the scaled
 * frame. */
static void set_rule(worker *w, double largest) {
    w->rule.margin = cells_margin((float)largest);
    w->rule.error = cells_error(largest);
}

/* Computes a cube of blocks, starting with a list from the BVH. */
static void compute_cube(worker *w, block_span *b) {
    const computing *c = w->c;
    cells_span s = span_of(w, b);
    double largest = 0;
    for (int k = 0; k < 3; k++)
        largest = real_max(largest, real_max(fabs(c->frame[k][s.begin[k]]),
                                             fabs(c->frame[k][s.begin[k] + s.count[k] - 1])));
    range_state k = {.is_signed = c->closed,
                     .is_far = c->is_searched || !(largest <= FRAME_EXTENT_MAX)};
    set_rule(w, largest);
    w->lists.used = 0;
    w->hint.known = w->lists.hint.known = false;
    if (k.is_far)
        compute_blocks(w, b, &k);
    else
        compute_all_parts(w, b, 1, &k);
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
            const uint32_t row[3] = {0, y, z};
            size_t *at = wanted_index(w, row);
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
    block_span all = {.first = {0, 0, 0}};
    for (int k = 0; k < 3; k++) {
        w->first[k] = (uint32_t)place[k] * size[k];
        uint32_t left = c->job->blocks[k] - w->first[k];
        w->blocks[k] = all.count[k] = left < size[k] ? left : size[k];
    }
    if (!list_wanted(w))
        return;
    cells_span s = span_of(w, &all);
    w->rows.cells = s;
    w->rows.winding = w->winding;
    w->rows.inside = w->inside;
    w->rows.crossed = w->crossed;
    fill_lane_coordinates(w);
    abuti_sign_rows(c->table.bvh, c->job->grid, &w->rows);
    for (uint32_t x = 0; x < w->blocks[0] && !abuti_stop(c->job->bvh->context, "field");
         x += cube) {
        uint32_t left = w->blocks[0] - x;
        block_span b = {{x, 0, 0}, {left < cube ? left : cube, w->blocks[1], w->blocks[2]}};
        compute_cube(w, &b);
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
    if (bvh_sign_of(bvh)->method == ABUT_SIGN_NORMAL)
        return abuti_field_compute_plain(job);
    computing c = {.job = job,
                   .closed = bvh_sign_of(bvh)->closed,
                   .is_searched =
                       !job->always_lists && (double)grid_cells(job->grid) <
                                                 CELLS_PER_TRIANGLE_MIN * bvh->triangle_count};
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
    else if (!status)
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
