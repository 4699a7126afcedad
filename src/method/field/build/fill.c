/* Building a field: which blocks of cells are computed, and where their values are stored. */
#include "field/build/cells.h"

#include <math.h>

void abuti_field_store(abut_field *field, size_t at, const float *values, size_t count) {
    if (field->type == ABUT_FIELD_FLOAT) {
        memcpy((float *)field->values + at, values, count * sizeof *values);
        return;
    }
    int16_t *to = (int16_t *)field->values + at;
    for (size_t i = 0; i < count; i++)
        to[i] = (int16_t)lrint(real_clamp(values[i] / field->step, -INT16_MAX, INT16_MAX));
}

/* ---- dense ---- */

static void store_dense_block(void *data, size_t at, const uint32_t begin[3], const float *values) {
    abut_field *field = data;
    const uint32_t *count = field->grid.count;
    const uint32_t row = count[0] - begin[0] < FIELD_BRICK ? count[0] - begin[0] : FIELD_BRICK;
    (void)at;
    for (uint32_t k = 0; k < FIELD_BRICK && begin[2] + k < count[2]; k++)
        for (uint32_t j = 0; j < FIELD_BRICK && begin[1] + j < count[1]; j++) {
            const float *from = values + FIELD_BRICK * (j + (size_t)FIELD_BRICK * k);
            size_t to = grid_at(count, begin[0], begin[1] + j, begin[2] + k);
            abuti_field_store(field, to, from, row);
        }
}

/* An upper bound of the distances in the grid, which determines the step of 16-bit values: the
 * distance from some point of the mesh to the farthest corner of the grid, or the band. */
static double bound_distances(const abut_field *field) {
    const abut_grid *g = &field->grid;
    vec3 hi = grid_centre(g, g->count[0] - 1, g->count[1] - 1, g->count[2] - 1), lo = g->origin;
    vec3 some = abuti_mesh_position(field->mesh, field->mesh->indices[0]);
    return real_min(field->band,
                    v3_length(v3_max(v3_abs(v3_sub(hi, some)), v3_abs(v3_sub(lo, some)))));
}

static void load_dense_distances(const void *data, const uint32_t begin[3], float *distances) {
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
    field->values = abuti_allocate(field->context, field->value_count, field_value_bytes(field));
    if (!field->values)
        return ABUT_ERROR_MEMORY;
    field_job job = {.bvh = bvh,
                     .known = known,
                     .load = load_dense_distances,
                     .known_data = old,
                     .grid = &field->grid,
                     .band = field->band,
                     .store = store_dense_block,
                     .data = field,
                     .to = 1};
    for (int axis = 0; axis < 3; axis++)
        job.blocks[axis] = (field->grid.count[axis] + FIELD_BRICK - 1) / FIELD_BRICK;
    return abuti_field_compute(&job);
}

const field_builder abuti_field_on_cpu = {.dense = build_dense,
                                          .begin = abuti_field_sparse_begin,
                                          .corners = abuti_field_sparse_corners,
                                          .bricks = abuti_field_sparse_bricks,
                                          .end = abuti_field_sparse_end,
                                          .update = abuti_field_update_on_cpu};

/* ---- entry points ---- */

double abuti_field_step(const abut_field *field) {
    /* values of a brick exceed the band by at most its diagonal */
    double more = field->layout == ABUT_FIELD_SPARSE ? 2 * FIELD_BRICK * field->grid.cell : 0;
    return field->type == ABUT_FIELD_INT16
               ? nextafterf((float)((bound_distances(field) + more) / INT16_MAX), INFINITY)
               : 0;
}

abut_status abuti_field_build(abut_field *field, const abut_bvh *bvh, const abut_field *old,
                              const unsigned char *known) {
    const field_builder *builder = field_builder_of(field->device);
    abut_status status;
    field->step = abuti_field_step(field);
    if (field->layout == ABUT_FIELD_SPARSE)
        status = abuti_field_build_sparse(field, bvh, builder);
    else
        status = builder->dense(field, bvh, old, known);
    field->device = NULL;
    if (!status && field->values) /* values on a device are complete */
        abuti_field_finish(field);
    return status;
}
