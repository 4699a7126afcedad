/* Cases: files of fields, written and read. The distances are those of an ideal torus. */
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
    abut_status status = abut_field_create_values(state->context, &grid, values, field);
    free(values);
    return status;
}

static abut_status write_file(const bench_state *state) {
    files_data *data = state->data;
    abut_field_write_options options = abut_field_write_options_default();
    options.plain = state->which->variant & PLAIN;
    return abut_field_write(data->field, data->path, &options);
}

static abut_status setup(bench_state *state) {
    files_data *data = calloc(1, sizeof *data);
    if (!(state->data = data))
        return bench_fail(ABUT_ERROR_MEMORY, "no memory");
    snprintf(data->path, sizeof data->path, "%s/field.abutf", state->folder);
    abut_status status = make_field(state, &data->field);
    state->bytes = (double)abut_field_info_get(data->field).bytes;
    state->elements = state->bytes;
    return status || state->which->variant & WRITE ? status : write_file(state);
}

static abut_status run(bench_state *state) {
    files_data *data = state->data;
    return state->which->variant & WRITE
               ? write_file(state)
               : abut_field_load(state->context, data->path, NULL, &data->loaded);
}

static abut_status finish(bench_state *state) {
    files_data *data = state->data;
    abut_field *field = data->loaded;
    abut_status status = ABUT_OK;
    if (!field)
        status = abut_field_load(state->context, data->path, NULL, &field);
    data->loaded = NULL;
    if (status)
        return status;
    abut_field_info info = abut_field_info_get(field);
    uint32_t begin[3] = {0, 0, info.grid.count[2] / 2}, count[3] = {info.grid.count[0], 1, 1};
    float row[256];
    status = abut_field_read(field, begin, count, row);
    state->hash = bench_hash(0, row, count[0] * sizeof *row);
    state->hash = bench_hash(state->hash, &info.least, sizeof info.least);
    state->hash = bench_hash(state->hash, &info.most, sizeof info.most);
    abut_field_destroy(field);
    return status;
}

static void teardown(bench_state *state) {
    files_data *data = state->data;
    if (!data)
        return;
    abut_field_destroy(data->field);
    free(data);
}

#define CASE(label, how, goal)                                                                \
    {                                                                                         \
        .name = "field/" label, .unit = "byte", .setup = setup, .run = run, .finish = finish, \
        .teardown = teardown, .variant = how, .threaded = true, .goal_ms = goal               \
    }

/* The goal is 1 GB/s of values: 67 MB. */
const bench_case bench_field_files_cases[] = {CASE("write", WRITE, 0),
                                              CASE("write-plain", WRITE | PLAIN, 0),
                                              CASE("load", 0, 67),
                                              CASE("load-plain", PLAIN, 67),
                                              {0}};
