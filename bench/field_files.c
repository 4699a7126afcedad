/* Cases: writing and reading files of fields, and their cache. The distances are those of an
 * ideal torus; in the cache they are those of a mesh. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WRITE = 1, PLAIN = 2 };

typedef struct files_data {
    abut_field *field, *loaded;
    char path[256];
} files_data;

static abut_status make_field(const bench_state *state, abut_field **field) {
    uint32_t n = state->quick ? 32 : 256;
    abut_grid grid = {{-1.5, -1.5, -1.5}, 3.0 / (n - 1), {n, n, n}};
    float *values = malloc((size_t)n * n * n * sizeof *values), *to = values;
    if (!values)
        return bench_fail(ABUT_ERROR_MEMORY, "no memory");
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t j = 0; j < n; j++)
            for (uint32_t i = 0; i < n; i++) {
                double x = -1.5 + grid.cell * i, y = -1.5 + grid.cell * j, z = -1.5 + grid.cell * k;
                double ring = sqrt(x * x + y * y) - 1;
                *to++ = (float)(sqrt(ring * ring + z * z) - 0.3);
            }
    TRY(abut_field_create_values(state->context, &grid, values, field));
    free(values);
    return ABUT_OK;
}

static abut_status write_file(const bench_state *state) {
    files_data *data = state->data;
    abut_field_write_options options = abut_field_write_options_default();
    options.plain = state->which->variant & PLAIN;
    return abut_field_write(data->field, data->path, &options);
}

static abut_status setup(bench_state *state) {
    files_data *data = state->data;
    snprintf(data->path, sizeof data->path, "%s/field.abutf", state->folder);
    MAKE(data->field, make_field(state, &data->field));
    state->bytes = state->elements = (double)get_field_info(data->field).bytes;
    return state->which->variant & WRITE ? ABUT_OK : write_file(state);
}

static abut_status run(bench_state *state) {
    files_data *data = state->data;
    return state->which->variant & WRITE
               ? write_file(state)
               : abut_field_read(state->context, data->path, &data->loaded);
}

static abut_status finish(bench_state *state) {
    files_data *data = state->data;
    abut_field *field = data->loaded;
    if (!field)
        TRY(abut_field_read(state->context, data->path, &field));
    data->loaded = NULL;
    abut_field_info info = get_field_info(field);
    uint32_t begin[3] = {0, 0, info.grid.count[2] / 2}, count[3] = {info.grid.count[0], 1, 1};
    float row[256];
    TRY(abut_field_copy(field, begin, count, row));
    state->hash = bench_hash(0, row, count[0] * sizeof *row);
    state->hash = bench_hash(state->hash, &info.lowest, sizeof info.lowest);
    state->hash = bench_hash(state->hash, &info.highest, sizeof info.highest);
    abut_field_destroy(field);
    return ABUT_OK;
}

/* ---- the cache ---- */

typedef struct cache_data {
    abut_mesh *mesh;
    abut_field *field;
    abut_field_options options;
    char folder[256];
} cache_data;

static abut_status cache_run(bench_state *state) {
    cache_data *data = state->data;
    return abut_field_create(data->mesh, &data->options, &data->field);
}

static abut_status cache_finish(bench_state *state) {
    cache_data *data = state->data;
    abut_field_info info = get_field_info(data->field);
    state->hash = bench_hash(0, &info.lowest, sizeof info.lowest);
    state->hash = bench_hash(state->hash, &info.highest, sizeof info.highest);
    state->hash = bench_hash(state->hash, info.grid.count, sizeof info.grid.count);
    abut_field_destroy(data->field);
    data->field = NULL;
    return ABUT_OK;
}

/* The field is built here, so that only the lookup is timed. */
static abut_status cache_setup(bench_state *state) {
    cache_data *data = state->data;
    snprintf(data->folder, sizeof data->folder, "%s/cache", state->folder);
    data->options = abut_field_options_default();
    data->options.cells = state->quick ? 32 : 256;
    data->options.cache = data->folder;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    MAKE(data->mesh, abut_shape_create(state->context, &shape, &data->mesh));
    TRY(cache_run(state));
    state->bytes = state->elements = (double)get_field_info(data->field).bytes;
    return cache_finish(state);
}

static void cache_teardown(bench_state *state) {
    cache_data *data = state->data;
    abut_field_cache_clear(NULL, data->folder, 0, NULL, NULL);
}

#define CASE(label, how, goal)                                                                    \
    {                                                                                             \
        .name = "field/" label, .unit = "byte", .data_bytes = sizeof(files_data), .setup = setup, \
        .run = run, .finish = finish, .variant = how, .threaded = true, .goal_ms = goal           \
    }

/* The goal is 1 GB/s of values: 67 MB, and 20 MB in the cache. */
const bench_case bench_field_files_cases[] = {CASE("write", WRITE, 0),
                                              CASE("write-plain", WRITE | PLAIN, 0),
                                              CASE("read", 0, 67),
                                              CASE("read-plain", PLAIN, 67),
                                              {.name = "field/cache",
                                               .unit = "byte",
                                               .data_bytes = sizeof(cache_data),
                                               .setup = cache_setup,
                                               .run = cache_run,
                                               .finish = cache_finish,
                                               .teardown = cache_teardown,
                                               .threaded = true,
                                               .goal_ms = 20},
                                              {0}};
