/* Rays, inside and signed distances on a device: 10 million of each against a closed model of
 * 70,000 triangles, or any mesh file that ABUT_BENCH_MESH names. Some results are compared with
 * the CPU's before the timing. Rays start anywhere in the box of the model, enlarged by a tenth,
 * in any direction. Rays and signed points are on the device, and results stay there, unless the
 * name contains "host": then the time includes all transfers, as in "inside" and "nearest".
 * "ordered" are the same rays, sorted by their start and the octant of their direction: the
 * difference shows whether sorting is useful. */
#include "bench.h"

#include "bvh/bvh.h"

#include <stdlib.h>

enum { FIRST, ORDERED, ANY, HOST, ANY_HOST, INSIDE, SIGNED_HOST, SIGNED };

#define COUNT ((size_t)10000000)
#define QUICK_COUNT ((size_t)3000)
#define CHECKED ((size_t)1000)

typedef struct ray_data {
    abut_device *device;
    abut_mesh *mesh;
    abut_bvh *bvh, *there;
    abut_buffer *in, *out;
    abut_ray *rays;
    abut_vec3 *points;
    void *answers;
    size_t count, answer_bytes;
} ray_data;

/* ---- inputs ---- */

static abut_status make_mesh(bench_state *state, abut_mesh **mesh) {
    const char *path = getenv("ABUT_BENCH_MESH");
    if (path && path[0])
        return abut_mesh_read(state->context, path, NULL, mesh);
    bench_grid grid;
    abut_status status =
        state->quick ? bench_grid_create(40, 20, &grid) : bench_grid_create(260, 135, &grid);
    if (!status) {
        status = bench_grid_mesh(state, &grid, mesh);
        bench_grid_destroy(&grid);
    }
    return status;
}

static abut_vec3 random_place(const abut_mesh *mesh, uint64_t *random) {
    abut_box box = abut_mesh_bounds(mesh);
    vec3 more = v3_scale(v3_sub(box.hi, box.lo), 0.05);
    box.lo = v3_sub(box.lo, more);
    box.hi = v3_add(box.hi, more);
    double x = bench_random_real(random, box.lo.x, box.hi.x);
    double y = bench_random_real(random, box.lo.y, box.hi.y);
    return v3(x, y, bench_random_real(random, box.lo.z, box.hi.z));
}

/* Octant, then a cell of a curve through 128 cells per axis. */
static uint64_t key_of(const abut_mesh *mesh, const abut_ray *ray) {
    abut_box box = abut_mesh_bounds(mesh);
    uint64_t key = (ray->direction.x < 0) | (uint64_t)(ray->direction.y < 0) << 1 |
                   (uint64_t)(ray->direction.z < 0) << 2;
    key <<= 21;
    for (int axis = 0; axis < 3; axis++) {
        double lo = v3_get(box.lo, axis), extent = v3_get(box.hi, axis) - lo;
        double cell = (v3_get(ray->origin, axis) - lo + 0.05 * extent) / (1.1 * extent) * 128;
        uint64_t whole = cell > 0 ? (uint64_t)cell : 0;
        for (int bit = 0; bit < 7; bit++)
            key |= (whole >> bit & 1) << (3 * bit + axis);
    }
    return key;
}

typedef struct keyed_ray {
    uint64_t key;
    abut_ray ray;
} keyed_ray;

static int by_key(const void *a, const void *b) {
    uint64_t x = ((const keyed_ray *)a)->key, y = ((const keyed_ray *)b)->key;
    return x < y ? -1 : x > y;
}

static abut_status order_rays(ray_data *data) {
    keyed_ray *list = malloc(data->count * sizeof *list);
    if (!list)
        return bench_fail(ABUT_ERROR_MEMORY, "no memory");
    for (size_t i = 0; i < data->count; i++)
        list[i] = (keyed_ray){key_of(data->mesh, &data->rays[i]), data->rays[i]};
    qsort(list, data->count, sizeof *list, by_key);
    for (size_t i = 0; i < data->count; i++)
        data->rays[i] = list[i].ray;
    free(list);
    return ABUT_OK;
}

static abut_status make_input(bench_state *state) {
    ray_data *data = state->data;
    bool points = state->which->variant >= INSIDE;
    uint64_t random = 13;
    if (points)
        data->points = malloc(data->count * sizeof *data->points);
    else
        data->rays = malloc(data->count * sizeof *data->rays);
    if (!data->points && !data->rays)
        return bench_fail(ABUT_ERROR_MEMORY, "no memory");
    for (size_t i = 0; i < data->count; i++) {
        abut_vec3 place = random_place(data->mesh, &random);
        if (points) {
            data->points[i] = place;
            continue;
        }
        double x = bench_random_real(&random, -1, 1), y = bench_random_real(&random, -1, 1);
        data->rays[i] = (abut_ray){place, {x, y, bench_random_real(&random, -1, 1)}};
    }
    return state->which->variant == ORDERED ? order_rays(data) : ABUT_OK;
}

/* ---- a run ---- */

static abut_status run(bench_state *state) {
    ray_data *data = state->data;
    const abut_array points = abut_array_host(data->points); /* also in data->in */
    switch (state->which->variant) {
    case FIRST:
    case ORDERED:
        return abut_ray_first_batch(data->there, abut_array_buffer(data->in), data->count, HUGE_VAL,
                                    abut_array_buffer(data->out));
    case HOST:
        return abut_ray_first_batch(data->there, abut_array_host(data->rays), data->count, HUGE_VAL,
                                    abut_array_host(data->answers));
    case ANY:
        return abut_ray_any_batch(data->there, abut_array_buffer(data->in), data->count, HUGE_VAL,
                                  abut_array_buffer(data->out));
    case ANY_HOST:
        return abut_ray_any_batch(data->there, abut_array_host(data->rays), data->count, HUGE_VAL,
                                  abut_array_host(data->answers));
    case INSIDE:
        return abut_sign_inside_batch(data->there, points, data->count,
                                      abut_array_host(data->answers));
    case SIGNED:
        return abut_sign_nearest_batch(data->there, abut_array_buffer(data->in), data->count,
                                       HUGE_VAL, abut_array_buffer(data->out));
    default:
        return abut_sign_nearest_batch(data->there, points, data->count, HUGE_VAL,
                                       abut_array_host(data->answers));
    }
}

static abut_status fetch(bench_state *state) {
    ray_data *data = state->data;
    return data->out
               ? abut_buffer_read(data->out, 0, data->answers, data->count * data->answer_bytes)
               : ABUT_OK;
}

/* Compares the first results with the CPU's. */
static abut_status check(bench_state *state) {
    ray_data *data = state->data;
    size_t count = data->count < CHECKED ? data->count : CHECKED, wrong = 0;
    const abut_array points = abut_array_host(data->points);
    unsigned char *wanted = calloc(count, data->answer_bytes);
    abut_status status = wanted ? run(state) : bench_fail(ABUT_ERROR_MEMORY, "no memory");
    status = status ? status : fetch(state);
    if (!status && state->which->variant == INSIDE)
        status = abut_sign_inside_batch(data->bvh, points, count, abut_array_host((bool *)wanted));
    if (!status && state->which->variant >= SIGNED_HOST)
        status = abut_sign_nearest_batch(data->bvh, points, count, HUGE_VAL,
                                         abut_array_host((abut_nearest *)wanted));
    for (size_t i = 0; !status && i < count && state->which->variant < INSIDE; i++) {
        if (data->answer_bytes == sizeof(bool))
            status = abut_ray_any(data->bvh, &data->rays[i], HUGE_VAL, (bool *)wanted + i);
        else
            status =
                abut_ray_first(data->bvh, &data->rays[i], HUGE_VAL, (abut_ray_hit *)wanted + i);
    }
    for (size_t i = 0; !status && i < count; i++)
        wrong += memcmp(wanted + i * data->answer_bytes,
                        (unsigned char *)data->answers + i * data->answer_bytes,
                        data->answer_bytes) != 0;
    free(wanted);
    return wrong ? bench_fail(ABUT_ERROR_DEVICE, "%zu wrong answers of %zu", wrong, count) : status;
}

static abut_status make_buffers(ray_data *data) {
    size_t bytes = data->count * (data->rays ? sizeof *data->rays : sizeof *data->points);
    abut_status status = abut_buffer_create(data->device, bytes, &data->in);
    if (!status)
        status = abut_buffer_create(data->device, data->count * data->answer_bytes, &data->out);
    if (!status)
        status =
            abut_buffer_write(data->in, 0, data->rays ? (void *)data->rays : data->points, bytes);
    return status;
}

static abut_status setup(bench_state *state) {
    static const size_t answer_bytes[] = {sizeof(abut_ray_hit), sizeof(abut_ray_hit), sizeof(bool),
                                          sizeof(abut_ray_hit), sizeof(bool),         sizeof(bool),
                                          sizeof(abut_nearest), sizeof(abut_nearest)};
    ray_data *data = state->data;
    data->count = state->quick ? QUICK_COUNT : COUNT;
    data->answer_bytes = answer_bytes[state->which->variant];
    abut_status status = bench_device_open(state, &data->device);
    status = status ? status : make_mesh(state, &data->mesh);
    status = status ? status : abut_bvh_create(data->mesh, NULL, &data->bvh);
    status = status ? status : abut_sign_prepare(data->bvh, NULL);
    status = status ? status : abuti_bvh_copy_to_device(data->bvh, data->device, &data->there);
    status = status ? status : make_input(state);
    if (!status && !(data->answers = calloc(data->count, data->answer_bytes)))
        status = bench_fail(ABUT_ERROR_MEMORY, "no memory");
    if (!status && (state->which->variant <= ANY || state->which->variant == SIGNED))
        status = make_buffers(data);
    state->elements = (double)data->count;
    return status ? status : check(state);
}

static abut_status finish(bench_state *state) {
    ray_data *data = state->data;
    abut_status status = fetch(state);
    if (!status)
        state->hash = bench_hash(0, data->answers, data->count * data->answer_bytes);
    return status;
}

static void teardown(bench_state *state) {
    ray_data *data = state->data;
    abut_buffer_destroy(data->in);
    abut_buffer_destroy(data->out);
    abut_bvh_destroy(data->there);
    abut_bvh_destroy(data->bvh);
    abut_mesh_destroy(data->mesh);
    abut_device_destroy(data->device);
    free(data->rays);
    free(data->points);
    free(data->answers);
}

static void print_details(const bench_case *which, const bench_result *result) {
    printf("  %.3f G%s/s", result->elements / result->median_ms * 1e-6,
           which->variant >= INSIDE ? "points" : "rays");
}

#define RAY_CASE(name_, unit_, variant_)                                                          \
    {                                                                                             \
        .name = name_, .unit = unit_, .data_bytes = sizeof(ray_data), .setup = setup, .run = run, \
        .finish = finish, .teardown = teardown, .variant = variant_,                              \
        .print_details = print_details                                                            \
    }

const bench_case bench_device_ray_cases[] = {
    RAY_CASE("ray/device-first", "ray", FIRST),
    RAY_CASE("ray/device-ordered", "ray", ORDERED),
    RAY_CASE("ray/device-host", "ray", HOST),
    RAY_CASE("ray/device-any-host", "ray", ANY_HOST),
    RAY_CASE("ray/device-any", "ray", ANY),
    RAY_CASE("sign/device-inside", "point", INSIDE),
    RAY_CASE("sign/device-nearest", "point", SIGNED_HOST),
    RAY_CASE("sign/device-signed", "point", SIGNED),
    {.name = NULL},
};
