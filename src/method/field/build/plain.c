/* Values of blocks of cells by closest-point queries: all cells of a row of blocks form a batch.
 * Used for signs by pseudo-normals, which need the nearest point and not only its distance. */
#include "field/field.h"

#include <math.h>

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
