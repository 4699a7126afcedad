/* Filling a field: which blocks of cells are computed, and where their values go. */
#include "field/cells.h"

#include <math.h>

static void put_values(abut_field *field, size_t at, const float *values, size_t count) {
    if (field->type == ABUT_FIELD_FLOAT) {
        memcpy((float *)field->values + at, values, count * sizeof *values);
        return;
    }
    int16_t *to = (int16_t *)field->values + at;
    for (size_t i = 0; i < count; i++)
        to[i] = (int16_t)lrint(real_clamp(values[i] / field->step, -INT16_MAX, INT16_MAX));
}

/* ---- dense ---- */

static void put_dense(void *data, size_t at, const uint32_t begin[3], const float *values) {
    abut_field *field = data;
    const uint32_t *count = field->grid.count;
    const uint32_t row = count[0] - begin[0] < FIELD_BRICK ? count[0] - begin[0] : FIELD_BRICK;
    const bool whole = row == FIELD_BRICK && field->type == ABUT_FIELD_FLOAT;
    (void)at;
    for (uint32_t k = 0; k < FIELD_BRICK && begin[2] + k < count[2]; k++)
        for (uint32_t j = 0; j < FIELD_BRICK && begin[1] + j < count[1]; j++) {
            const float *from = values + FIELD_BRICK * (j + (size_t)FIELD_BRICK * k);
            size_t to = grid_at(count, begin[0], begin[1] + j, begin[2] + k);
            if (whole) /* of known size: no call */
                memcpy((float *)field->values + to, from, FIELD_BRICK * sizeof *from);
            else
                put_values(field, to, from, row);
        }
}

/* What no distance in the grid is above, so that 16 bits can be divided among the rest: the corner
 * of the grid that is farthest from some point of the mesh. */
static double reach_of(const abut_field *field) {
    const abut_grid *g = &field->grid;
    vec3 hi = grid_centre(g, g->count[0] - 1, g->count[1] - 1, g->count[2] - 1), lo = g->origin;
    vec3 some = abuti_mesh_position(field->mesh, field->mesh->indices[0]);
    return real_min(field->band,
                    v3_length(v3_max(v3_abs(v3_sub(hi, some)), v3_abs(v3_sub(lo, some)))));
}

static void get_dense(const void *data, const uint32_t begin[3], float *distances) {
    const abut_field *field = data;
    const uint32_t *count = field->grid.count;
    for (uint32_t k = 0; k < FIELD_BRICK && begin[2] + k < count[2]; k++)
        for (uint32_t j = 0; j < FIELD_BRICK && begin[1] + j < count[1]; j++)
            for (uint32_t i = 0; i < FIELD_BRICK && begin[0] + i < count[0]; i++)
                distances[i + FIELD_BRICK * (j + (size_t)FIELD_BRICK * k)] = fabsf(
                    field_value(field, grid_at(count, begin[0] + i, begin[1] + j, begin[2] + k)));
}

static abut_status build_dense(abut_field *field, const abut_bvh *bvh, const abut_field *old,
                               const unsigned char *known) {
    if (field->device)
        return abuti_field_dense_on(field, bvh, put_values);
    field_job job = {.bvh = bvh,
                     .known = known,
                     .get = get_dense,
                     .known_data = old,
                     .grid = &field->grid,
                     .band = field->band,
                     .block = FIELD_BRICK,
                     .put = put_dense,
                     .data = field,
                     .to = 1};
    for (int axis = 0; axis < 3; axis++)
        job.blocks[axis] = (field->grid.count[axis] + FIELD_BRICK - 1) / FIELD_BRICK;
    return abuti_field_compute(&job);
}

/* ---- sparse ---- */

/* Distances at every fourth cell, where every brick has 27: no point of it is farther from one of
 * them than half the diagonal of four cells, and distances do not grow faster than the way. */
typedef struct lattice {
    abut_grid grid;
    float *values;
} lattice;

static void put_lattice(void *data, size_t at, const uint32_t begin[3], const float *values) {
    lattice *l = data;
    (void)at;
    for (uint32_t k = 0; k < FIELD_BRICK && begin[2] + k < l->grid.count[2]; k++)
        for (uint32_t j = 0; j < FIELD_BRICK && begin[1] + j < l->grid.count[1]; j++)
            for (uint32_t i = 0; i < FIELD_BRICK && begin[0] + i < l->grid.count[0]; i++)
                l->values[grid_at(l->grid.count, begin[0] + i, begin[1] + j, begin[2] + k)] =
                    values[i + FIELD_BRICK * (j + (size_t)FIELD_BRICK * k)];
}

static bool brick_is_needed(const abut_field *field, const lattice *l, const uint32_t brick[3]) {
    double reach = field->band + sqrt(3.0) / 2 * l->grid.cell * (1 + 1e-6);
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t j = 0; j < 3; j++)
            for (uint32_t i = 0; i < 3; i++)
                if (fabs(l->values[grid_at(l->grid.count, 2 * brick[0] + i, 2 * brick[1] + j,
                                           2 * brick[2] + k)]) <= reach)
                    return true;
    return false;
}

static abut_status number_bricks(abut_field *field, const lattice *l, uint32_t **wanted) {
    uint32_t brick[3];
    size_t number = 0;
    for (brick[2] = 0; brick[2] < field->bricks[2]; brick[2]++)
        for (brick[1] = 0; brick[1] < field->bricks[1]; brick[1]++)
            for (brick[0] = 0; brick[0] < field->bricks[0]; brick[0]++, number++)
                field->index[number] =
                    brick_is_needed(field, l, brick) ? field->brick_count++ : ABUT_NONE;
    *wanted = abuti_allocate(field->context, field->brick_count, sizeof **wanted);
    if (!*wanted)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < number; i++)
        if (field->index[i] != ABUT_NONE)
            (*wanted)[field->index[i]] = (uint32_t)i;
    const uint32_t corners[3] = {field->bricks[0] + 1, field->bricks[1] + 1, field->bricks[2] + 1};
    for (uint32_t k = 0; k < corners[2]; k++)
        for (uint32_t j = 0; j < corners[1]; j++)
            for (uint32_t i = 0; i < corners[0]; i++)
                field->coarse[grid_at(corners, i, j, k)] =
                    l->values[grid_at(l->grid.count, 2 * i, 2 * j, 2 * k)];
    return ABUT_OK;
}

static void put_brick(void *data, size_t at, const uint32_t begin[3], const float *values) {
    (void)begin;
    put_values(data, at * FIELD_VALUES, values, FIELD_VALUES);
}

static abut_status build_bricks(abut_field *field, const abut_bvh *bvh, const cells_table *table,
                                const uint32_t *wanted) {
    field->value_count = (size_t)field->brick_count * FIELD_VALUES;
    field->values = abuti_allocate(field->context, field->value_count, field_value_bytes(field));
    if (!field->values)
        return ABUT_ERROR_MEMORY;
    field_job job = {.bvh = bvh,
                     .grid = &field->grid,
                     .band = INFINITY,
                     .block = FIELD_SIDE,
                     .blocks = {field->bricks[0], field->bricks[1], field->bricks[2]},
                     .wanted = wanted,
                     .wanted_count = field->brick_count,
                     .table = table,
                     .put = put_brick,
                     .data = field,
                     .from = 0.2,
                     .to = 1};
    return abuti_field_compute(&job);
}

/* `table` may be null. */
static abut_status build_sparse_with(abut_field *field, const abut_bvh *bvh,
                                     const cells_table *table) {
    lattice l = {.grid = field->grid};
    uint32_t *wanted = NULL;
    size_t bricks = (size_t)field->bricks[0] * field->bricks[1] * field->bricks[2], corners = 1;
    l.grid.cell = field->grid.cell * (FIELD_BRICK / 2);
    field_job job = {
        .bvh = bvh, .grid = &l.grid, .band = INFINITY, .block = FIELD_BRICK, .to = 0.2};
    for (int axis = 0; axis < 3; axis++) {
        l.grid.count[axis] = 2 * field->bricks[axis] + 1;
        corners *= field->bricks[axis] + 1;
        job.blocks[axis] = (l.grid.count[axis] + FIELD_BRICK - 1) / FIELD_BRICK;
    }
    l.values = abuti_allocate(field->context, grid_cells(&l.grid), sizeof *l.values);
    field->index = abuti_allocate(field->context, bricks, sizeof *field->index);
    field->coarse = abuti_allocate(field->context, corners, sizeof *field->coarse);
    abut_status status = l.values && field->index && field->coarse ? ABUT_OK : ABUT_ERROR_MEMORY;
    job.put = put_lattice;
    job.table = table;
    job.data = &l;
    status = status ? status : abuti_field_compute(&job);
    status = status ? status : number_bricks(field, &l, &wanted);
    abuti_release(field->context, l.values);
    status = status ? status : build_bricks(field, bvh, table, wanted);
    abuti_release(field->context, wanted);
    return status;
}

static abut_status build_sparse(abut_field *field, const abut_bvh *bvh) {
    cells_table table = {.bvh = NULL};
    if (field->device || field->sign == ABUT_SIGN_NORMAL)
        return build_sparse_with(field, bvh, NULL);
    abut_status status = abuti_cells_create(bvh, &table);
    status = status ? status : build_sparse_with(field, bvh, &table);
    abuti_cells_destroy(&table);
    return status;
}

/* ---- all ---- */

double abuti_field_step(const abut_field *field) {
    /* values of a brick reach beyond the band by no more than its diagonal */
    double more = field->layout == ABUT_FIELD_SPARSE ? 2 * FIELD_BRICK * field->grid.cell : 0;
    return field->type == ABUT_FIELD_INT16
               ? nextafterf((float)((reach_of(field) + more) / INT16_MAX), INFINITY)
               : 0;
}

abut_status abuti_field_build(abut_field *field, const abut_bvh *bvh, const abut_field *old,
                              const unsigned char *known) {
    abut_status status;
    field->step = abuti_field_step(field);
    if (field->layout == ABUT_FIELD_SPARSE) {
        status = build_sparse(field, bvh);
    } else {
        field->value_count = grid_cells(&field->grid);
        field->values =
            abuti_allocate(field->context, field->value_count, field_value_bytes(field));
        status = field->values ? build_dense(field, bvh, old, known) : ABUT_ERROR_MEMORY;
    }
    field->device = NULL;
    if (!status)
        abuti_field_finish(field);
    return status;
}
