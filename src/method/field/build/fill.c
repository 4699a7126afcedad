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

/* ---- pseudo-normals ----
 *
 * Closest-point queries: all cells of a row of blocks form a batch. Signs by pseudo-normals need
 * the nearest point and not only its distance. */

static void list_centres(const field_job *job, size_t number, vec3 *points, uint32_t begin[3]) {
    begin[0] = (uint32_t)(number % job->blocks[0]) * FIELD_BRICK;
    begin[1] = (uint32_t)(number / job->blocks[0] % job->blocks[1]) * FIELD_BRICK;
    begin[2] = (uint32_t)(number / job->blocks[0] / job->blocks[1]) * FIELD_BRICK;
    for (uint32_t k = 0; k < FIELD_BRICK; k++)
        for (uint32_t j = 0; j < FIELD_BRICK; j++)
            for (uint32_t i = 0; i < FIELD_BRICK; i++)
                *points++ = grid_centre(job->grid, begin[0] + i, begin[1] + j, begin[2] + k);
}

static float clamp_to_band(double distance, double band) {
    return (float)(distance > band ? band : distance < -band ? -band : distance);
}

abut_status abuti_field_compute_plain(const field_job *job) {
    abut_context *context = job->bvh->context;
    size_t cells = BLOCK_CELLS;
    size_t all =
        job->wanted ? job->wanted_count : (size_t)job->blocks[0] * job->blocks[1] * job->blocks[2];
    size_t most = job->blocks[0];
    vec3 *points = abuti_allocate(context, most * cells, sizeof *points);
    abut_nearest *nearest = abuti_allocate(context, most * cells, sizeof *nearest);
    float *values = abuti_allocate(context, cells, sizeof *values);
    abut_status status = points && nearest && values ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t first = 0; first < all && !status; first += most) {
        size_t count = all - first < most ? all - first : most;
        uint32_t begin[3];
        for (size_t b = 0; b < count; b++)
            list_centres(job, job->wanted ? job->wanted[first + b] : first + b, points + b * cells,
                         begin);
        status = abut_sign_nearest_batch(job->bvh, abut_array_host(points), count * cells, HUGE_VAL,
                                         abut_array_host(nearest));
        for (size_t b = 0; b < count && !status; b++) {
            size_t number = job->wanted ? job->wanted[first + b] : first + b;
            list_centres(job, number, points, begin);
            for (size_t c = 0; c < cells; c++)
                values[c] = clamp_to_band(nearest[b * cells + c].distance, job->band);
            job->store(job->data, first + b, begin, values);
        }
        if (!status)
            status = abuti_progress(context, "field",
                                    job->from + (job->to - job->from) * (double)(first + count) /
                                                    (double)all);
    }
    ABUTI_RELEASE(context, points, nearest, values);
    return status;
}

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
