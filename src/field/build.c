/* Filling a field: which blocks of cells are computed, and where their values go. */
#include "field/field.h"

#include "base/simd.h"

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
    (void)at;
    for (uint32_t k = 0; k < FIELD_BRICK && begin[2] + k < count[2]; k++)
        for (uint32_t j = 0; j < FIELD_BRICK && begin[1] + j < count[1]; j++) {
            uint32_t row = count[0] - begin[0] < FIELD_BRICK ? count[0] - begin[0] : FIELD_BRICK;
            put_values(field, grid_at(count, begin[0], begin[1] + j, begin[2] + k),
                       values + FIELD_BRICK * (j + (size_t)FIELD_BRICK * k), row);
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

static abut_status build_dense(abut_field *field, const abut_bvh *bvh) {
    if (field->device)
        return abuti_field_dense_on(field, bvh, put_values);
    field_job job = {.bvh = bvh,
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

static abut_status build_bricks(abut_field *field, const abut_bvh *bvh, const uint32_t *wanted) {
    size_t bytes = field->type == ABUT_FIELD_FLOAT ? sizeof(float) : sizeof(int16_t);
    field->value_count = (size_t)field->brick_count * FIELD_VALUES;
    field->values = abuti_allocate(field->context, field->value_count, bytes);
    if (!field->values)
        return ABUT_ERROR_MEMORY;
    field_job job = {.bvh = bvh,
                     .grid = &field->grid,
                     .band = INFINITY,
                     .block = FIELD_SIDE,
                     .blocks = {field->bricks[0], field->bricks[1], field->bricks[2]},
                     .wanted = wanted,
                     .wanted_count = field->brick_count,
                     .put = put_brick,
                     .data = field,
                     .from = 0.2,
                     .to = 1};
    return abuti_field_compute(&job);
}

static abut_status build_sparse(abut_field *field, const abut_bvh *bvh) {
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
    job.data = &l;
    status = status ? status : abuti_field_compute(&job);
    status = status ? status : number_bricks(field, &l, &wanted);
    abuti_release(field->context, l.values);
    status = status ? status : build_bricks(field, bvh, wanted);
    abuti_release(field->context, wanted);
    return status;
}

/* ---- all ---- */

bool abuti_field_range(const float *values, size_t count, float *least, float *most) {
    enum { CHAINS = 4 }; /* one waits for itself; four keep all units busy */
    f4 lo[CHAINS], hi[CHAINS], odd[CHAINS];
    for (int c = 0; c < CHAINS; c++) {
        lo[c] = f4_all(*least);
        hi[c] = f4_all(*most);
        odd[c] = f4_all(0);
    }
    for (size_t i = 0; i < count; i += 4 * CHAINS) {
        float last[4 * CHAINS];
        const float *from = values + i;
        if (count - i < 4 * CHAINS) {
            for (size_t l = 0; l < 4 * CHAINS; l++)
                last[l] = values[l < count - i ? i + l : i];
            from = last;
        }
        for (int c = 0; c < CHAINS; c++) {
            f4 v = f4_load(from + 4 * c);
            lo[c] = f4_min(v, lo[c]);
            hi[c] = f4_max(v, hi[c]);
            odd[c] = f4_add(odd[c], f4_mul(v, f4_all(0))); /* NaN once a value is not finite */
        }
    }
    bool finite = true;
    for (int c = 0; c < CHAINS; c++) {
        float each[3][4];
        f4_store(each[0], lo[c]);
        f4_store(each[1], hi[c]);
        f4_store(each[2], odd[c]);
        for (int l = 0; l < 4; l++) {
            *least = each[0][l] < *least ? each[0][l] : *least;
            *most = each[1][l] > *most ? each[1][l] : *most;
            finite = finite && each[2][l] == 0;
        }
    }
    return finite;
}

bool abuti_field_values_range(const abut_field *field, const void *values, size_t count,
                              float *least, float *most) {
    if (field->type == ABUT_FIELD_FLOAT)
        return abuti_field_range(values, count, least, most);
    const int16_t *shorts = values;
    int16_t lo = INT16_MAX, hi = INT16_MIN;
    for (size_t i = 0; i < count; i++) {
        lo = shorts[i] < lo ? shorts[i] : lo;
        hi = shorts[i] > hi ? shorts[i] : hi;
    }
    float step = (float)field->step;
    if (count && (float)lo * step < *least)
        *least = (float)lo * step;
    if (count && (float)hi * step > *most)
        *most = (float)hi * step;
    return true;
}

void abuti_field_finish_with(abut_field *field, float least, float most) {
    bool floats = field->type == ABUT_FIELD_FLOAT;
    field->view =
        (field_view){.floats = floats ? field->values : NULL,
                     .shorts = floats ? NULL : field->values,
                     .index = field->index,
                     .coarse = field->coarse,
                     .count = {field->grid.count[0], field->grid.count[1], field->grid.count[2]},
                     .bricks = {field->bricks[0], field->bricks[1], field->bricks[2]},
                     .cell = (float)field->grid.cell,
                     .scale = floats ? 1 : (float)field->step};
    field->least = least;
    field->most = most;
}

void abuti_field_finish(abut_field *field) {
    const uint32_t *b = field->bricks;
    float least = INFINITY, most = -INFINITY;
    abuti_field_values_range(field, field->values, field->value_count, &least, &most);
    if (field->layout == ABUT_FIELD_SPARSE)
        abuti_field_range(field->coarse, ((size_t)b[0] + 1) * (b[1] + 1) * (b[2] + 1), &least,
                          &most);
    abuti_field_finish_with(field, least, most);
}

abut_status abuti_field_build(abut_field *field, const abut_bvh *bvh) {
    abut_status status;
    if (field->type == ABUT_FIELD_INT16) {
        /* values of a brick reach beyond the band by no more than its diagonal */
        double more = field->layout == ABUT_FIELD_SPARSE ? 2 * FIELD_BRICK * field->grid.cell : 0;
        field->step = nextafterf((float)((reach_of(field) + more) / INT16_MAX), INFINITY);
    }
    if (field->layout == ABUT_FIELD_SPARSE) {
        status = build_sparse(field, bvh);
    } else {
        size_t bytes = field->type == ABUT_FIELD_FLOAT ? sizeof(float) : sizeof(int16_t);
        field->value_count = grid_cells(&field->grid);
        field->values = abuti_allocate(field->context, field->value_count, bytes);
        status = field->values ? build_dense(field, bvh) : ABUT_ERROR_MEMORY;
    }
    field->device = NULL;
    if (!status)
        abuti_field_finish(field);
    return status;
}
