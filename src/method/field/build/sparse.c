/* Building a sparse field: first the distances at the corners of all bricks, then the stored
 * bricks. Stored are bricks that contain a part of the narrow band, and bricks with corners inside
 * and outside: for an open surface the sign also changes far from the surface.
 *
 * Neighbouring bricks share a layer of cells. So that each cell is computed once, blocks of 8 x 8 x
 * 8 cells are computed and copied to all bricks that contain some of them.
 */
#include "field/build/cells.h"

#include <math.h>

typedef struct sparse_job {
    abut_field *field;
    uint32_t blocks[3]; /* one more than bricks, for the cells beyond the last ones */
    uint32_t *wanted;
    size_t wanted_count;
} sparse_job;

static sparse_job make_sparse_job(abut_field *field) {
    sparse_job s = {.field = field};
    for (int axis = 0; axis < 3; axis++)
        s.blocks[axis] = field->bricks[axis] + 1;
    return s;
}

/* ---- corners ---- */

void abuti_field_store_corners(abut_field *field, const uint32_t begin[3], const float *values) {
    const sparse_job s = make_sparse_job(field);
    for (uint32_t k = 0; k < FIELD_BRICK && begin[2] + k < s.blocks[2]; k++)
        for (uint32_t j = 0; j < FIELD_BRICK && begin[1] + j < s.blocks[1]; j++)
            for (uint32_t i = 0; i < FIELD_BRICK && begin[0] + i < s.blocks[0]; i++)
                field->coarse[grid_at(s.blocks, begin[0] + i, begin[1] + j, begin[2] + k)] =
                    values[i + FIELD_BRICK * (j + (size_t)FIELD_BRICK * k)];
}

static void store_corner_block(void *data, size_t at, const uint32_t begin[3],
                               const float *values) {
    (void)at;
    abuti_field_store_corners(data, begin, values);
}

abut_status abuti_field_sparse_corners(abut_field *field, const abut_bvh *bvh, void *work) {
    const abut_grid grid = field_corners(field);
    field_job job = {.bvh = bvh,
                     .grid = &grid,
                     .band = INFINITY,
                     .table = work,
                     .store = store_corner_block,
                     .data = field,
                     .to = 0.2};
    for (int axis = 0; axis < 3; axis++)
        job.blocks[axis] = (grid.count[axis] + FIELD_BRICK - 1) / FIELD_BRICK;
    return abuti_field_compute(&job);
}

/* ---- selection of bricks ---- */

/* The largest absolute value at a corner of a brick that has corners inside and outside, otherwise
 * 0. */
static double max_mixed_corner(const sparse_job *s, const uint32_t brick[3]) {
    double most = 0;
    unsigned inside = 0;
    for (uint32_t c = 0; c < 8; c++) {
        float value = s->field->coarse[grid_at(s->blocks, brick[0] + (c & 1),
                                               brick[1] + (c >> 1 & 1), brick[2] + (c >> 2))];
        inside += signbit(value) != 0;
        most = real_max(most, fabs(value));
    }
    return inside % 8 ? most : 0;
}

abut_status abuti_field_number_bricks(abut_field *field, double *reach) {
    const sparse_job s = make_sparse_job(field);
    size_t count = (size_t)field->bricks[0] * field->bricks[1] * field->bricks[2], at = 0;
    atomic_uchar *marks = abuti_allocate_zeroed(field->context, count, sizeof *marks);
    uint32_t brick[3];
    double most = 0;
    if (!marks)
        return ABUT_ERROR_MEMORY;
    abuti_field_mark_bricks(field, marks);
    for (brick[2] = 0; brick[2] < field->bricks[2]; brick[2]++)
        for (brick[1] = 0; brick[1] < field->bricks[1]; brick[1]++)
            for (brick[0] = 0; brick[0] < field->bricks[0]; brick[0]++, at++) {
                double mixed = field->closed ? 0 : max_mixed_corner(&s, brick);
                bool stored = mixed > 0 || atomic_load_explicit(&marks[at], memory_order_relaxed);
                field->index[at] = stored ? field->brick_count++ : ABUT_NONE;
                most = real_max(most, mixed);
            }
    abuti_release(field->context, marks);
    /* every cell of a brick is within its diagonal of the band, and within half of it of a corner
     */
    *reach = real_max(field->band + 2 * FIELD_BRICK * field->grid.cell,
                      most + FIELD_BRICK * field->grid.cell);
    if (field->type == ABUT_FIELD_INT16 && *reach / INT16_MAX > field->step && most > 0)
        field->step = nextafterf((float)(*reach / INT16_MAX), INFINITY);
    return ABUT_OK;
}

abut_status abuti_field_reserve_bricks(abut_field *field, uint32_t first, uint32_t count) {
    field->first_brick = first;
    field->value_count = (size_t)count * FIELD_VALUES;
    field->values = abuti_allocate(field->context, field->value_count, field_value_bytes(field));
    return field->values ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* The stored brick that has cells of a block: the brick at the place of the block, or the previous
 * one along each axis k of which bit k is set. ABUT_NONE if it is not stored. */
static uint32_t brick_of_block(const sparse_job *s, const uint32_t block[3], uint32_t previous) {
    const uint32_t *bricks = s->field->bricks;
    uint32_t at[3];
    for (int k = 0; k < 3; k++) {
        at[k] = block[k] - (previous >> k & 1);
        if (at[k] >= bricks[k]) /* also below 0 */
            return ABUT_NONE;
    }
    const uint32_t brick = s->field->index[grid_at(bricks, at[0], at[1], at[2])];
    return field_has_brick(s->field, brick) ? brick : ABUT_NONE;
}

/* Lists the blocks that have cells of stored bricks. */
static abut_status list_blocks(sparse_job *s) {
    const abut_field *field = s->field;
    size_t all = (size_t)s->blocks[0] * s->blocks[1] * s->blocks[2], at = 0, count = 0;
    unsigned char *marks = abuti_allocate_zeroed(field->context, all, sizeof *marks);
    if (!marks)
        return ABUT_ERROR_MEMORY;
    for (uint32_t z = 0; z < field->bricks[2]; z++)
        for (uint32_t y = 0; y < field->bricks[1]; y++)
            for (uint32_t x = 0; x < field->bricks[0]; x++, at++)
                for (uint32_t k = 0; k < 8 && field_has_brick(field, field->index[at]); k++)
                    marks[grid_at(s->blocks, x + (k & 1), y + (k >> 1 & 1), z + (k >> 2))] = 1;
    for (size_t i = 0; i < all; i++)
        s->wanted_count += marks[i];
    s->wanted = abuti_allocate(field->context, s->wanted_count, sizeof *s->wanted);
    for (size_t i = 0; s->wanted && i < all; i++)
        if (marks[i])
            s->wanted[count++] = (uint32_t)i;
    abuti_release(field->context, marks);
    return s->wanted ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* ---- values of bricks ---- */

/* Copies a block to all stored bricks that contain some of it. No two blocks write the same cells.
 */
static void store_block(void *data, size_t at, const uint32_t begin[3], const float *values) {
    const sparse_job *s = data;
    const uint32_t block[3] = {begin[0] / FIELD_BRICK, begin[1] / FIELD_BRICK,
                               begin[2] / FIELD_BRICK};
    (void)at;
    for (uint32_t previous = 0; previous < 8; previous++) {
        const uint32_t brick = brick_of_block(s, block, previous);
        if (brick == ABUT_NONE)
            continue;
        const uint32_t off[3] = {previous & 1, previous >> 1 & 1, previous >> 2},
                       held = brick - s->field->first_brick;
        for (uint32_t k = 0; k < (off[2] ? 1 : FIELD_BRICK); k++)
            for (uint32_t j = 0; j < (off[1] ? 1 : FIELD_BRICK); j++) {
                size_t row = FIELD_BRICK * off[0] +
                             FIELD_SIDE * (FIELD_BRICK * off[1] + j +
                                           FIELD_SIDE * (size_t)(FIELD_BRICK * off[2] + k));
                abuti_field_store(s->field, (size_t)held * FIELD_VALUES + row,
                                  values + FIELD_BRICK * (j + (size_t)FIELD_BRICK * k),
                                  off[0] ? 1 : FIELD_BRICK);
            }
    }
}

abut_status abuti_field_sparse_bricks(abut_field *field, const abut_bvh *bvh, void *work,
                                      double reach) {
    sparse_job s = make_sparse_job(field);
    abut_context *context = field->context;
    (void)reach;                  /* lists do not depend on it */
    abut_grid grid = field->grid; /* with the cells of bricks beyond its end */
    abut_status status = list_blocks(&s);
    if (!status) {
        for (int axis = 0; axis < 3; axis++)
            grid.count[axis] = field->bricks[axis] * FIELD_BRICK + 1;
        field_job job = {.bvh = bvh,
                         .grid = &grid,
                         .band = INFINITY,
                         .blocks = {s.blocks[0], s.blocks[1], s.blocks[2]},
                         .wanted = s.wanted,
                         .wanted_count = s.wanted_count,
                         .table = work,
                         .store = store_block,
                         .data = &s,
                         .from = 0.2,
                         .to = 1};
        status = abuti_field_compute(&job);
    }
    abuti_release(context, s.wanted);
    return status;
}

/* ---- entry points ---- */

/* Creates the table of features, unless signs are by pseudo-normals, which use no lists. */
abut_status abuti_field_sparse_begin(abut_field *field, const abut_bvh *bvh, void **work) {
    if (field->sign == ABUT_SIGN_NORMAL)
        return ABUT_OK;
    regions_table *table = abuti_allocate_zeroed(field->context, 1, sizeof *table);
    *work = table;
    return table ? abuti_regions_create(bvh, 0, table) : ABUT_ERROR_MEMORY;
}

void abuti_field_sparse_end(abut_field *field, const abut_bvh *bvh, void *work) {
    (void)bvh;
    if (work)
        abuti_regions_destroy(work);
    abuti_release(field->context, work);
}

abut_status abuti_field_reserve_index(abut_field *field) {
    size_t bricks = 1, corners = 1;
    for (int axis = 0; axis < 3; axis++) {
        bricks *= field->bricks[axis];
        corners *= field->bricks[axis] + 1;
    }
    field->index = abuti_allocate(field->context, bricks, sizeof *field->index);
    field->coarse = abuti_allocate(field->context, corners, sizeof *field->coarse);
    return field->index && field->coarse ? ABUT_OK : ABUT_ERROR_MEMORY;
}

abut_status abuti_field_build_sparse(abut_field *field, const abut_bvh *bvh,
                                     const field_builder *builder) {
    void *work = NULL;
    double reach = 0;
    abut_status status = abuti_field_reserve_index(field);
    if (status)
        return status;
    status = builder->begin(field, bvh, &work);
    if (!status)
        status = builder->corners(field, bvh, work);
    if (!status)
        status = abuti_field_number_bricks(field, &reach);
    if (!status)
        status = abuti_field_reserve_bricks(field, 0, field->brick_count);
    if (!status)
        status = builder->bricks(field, bvh, work, reach);
    builder->end(field, bvh, work);
    return status;
}
