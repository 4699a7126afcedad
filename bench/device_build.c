/* BVHs built on a device: three models of about 70,000 triangles, or any mesh file that
 * ABUT_BENCH_MESH names. A run is everything that a user waits for: the mesh is uploaded, and
 * the BVH is built and stays on the device. Details are the times of the device itself,
 * and the quality: expected visits of a ray relative to a BVH of the CPU. */
#include "bench.h"

#include "bvh/device.h"

#include <stdlib.h>

#define GOAL_MS 1.0     /* on the device, for 70,000 triangles on an H200 */
#define QUALITY_MAX 1.1 /* of the CPU's cost */

typedef struct build_data {
    abut_device *device;
    abuti_queue queue;
    abuti_bvh_builder *builder;
    abut_mesh *mesh;
    abuti_bvh_device there;
} build_data;

/* Of the last case, for the line after it. */
static struct {
    double all_ms, refit_ms, quality;
    bool gpu;
} details;

static abut_status run(bench_state *state) {
    build_data *data = state->data;
    abuti_bvh_device_destroy(&data->there);
    return abuti_bvh_device_build(data->builder, data->mesh, 0, &data->there);
}

/* Compares with a BVH of the CPU, and measures builds and refits. */
static abut_status compare_with_cpu(bench_state *state) {
    build_data *data = state->data;
    abut_bvh *ours = NULL, *cpu = NULL;
    TRY(run(state)); /* the first run builds kernels */
    TRY(abuti_bvh_device_download(&data->queue, &data->there, NULL, &ours));
    TRY(abut_bvh_create(data->mesh, NULL, &cpu));
    details.quality = get_bvh_info(ours).cost / get_bvh_info(cpu).cost;
    if (!(details.quality < QUALITY_MAX))
        return bench_fail(ABUT_ERROR_DEVICE, "a cost of %.3f of the CPU's", details.quality);
    abut_bvh_destroy(ours);
    abut_bvh_destroy(cpu);
    abuti_queue_clock_start(&data->queue);
    TRY(run(state));
    TRY(abuti_queue_clock_stop(&data->queue, &details.all_ms));
    abuti_queue_clock_start(&data->queue);
    TRY(abuti_bvh_device_refit(data->builder, &data->there, data->mesh));
    return abuti_queue_clock_stop(&data->queue, &details.refit_ms);
}

static abut_status setup(bench_state *state) {
    build_data *data = state->data;
    TRY(bench_model_create(state, (bench_model)state->which->variant, &data->mesh));
    TRY(bench_device_open(state, &data->device));
    TRY(abuti_queue_open(data->device, &data->queue));
    TRY(abuti_bvh_builder_create(&data->queue, &data->builder));
    TRY(compare_with_cpu(state));
    details.gpu = data->device->info.kind == ABUT_DEVICE_KIND_GPU;
    state->elements = abut_mesh_triangle_count(data->mesh);
    return ABUT_OK;
}

static abut_status finish(bench_state *state) {
    build_data *data = state->data;
    abut_bvh *bvh;
    TRY(abuti_bvh_device_download(&data->queue, &data->there, NULL, &bvh));
    state->hash = bench_hash(0, bvh->order, bvh->leaf_count * BVH_WIDTH * sizeof *bvh->order);
    for (uint32_t i = 0; i < bvh->node_count; i++)
        state->hash = bench_hash(state->hash, bvh->nodes[i].child, sizeof bvh->nodes[i].child);
    abut_bvh_destroy(bvh);
    return ABUT_OK;
}

static void teardown(bench_state *state) {
    build_data *data = state->data;
    abuti_bvh_device_destroy(&data->there);
    abuti_bvh_builder_destroy(data->builder);
    abuti_queue_close(&data->queue);
}

static void print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    printf("  %.2f Mtriangles/s, cost %.3f of the CPU's; on the device %.3f ms, refit %.3f ms",
           result->elements / result->median_ms * 1e-3, details.quality, details.all_ms,
           details.refit_ms);
    if (details.gpu && result->elements > 60000 && result->elements < 80000)
        printf(", goal for an H200 %.1f ms: %s", GOAL_MS,
               details.all_ms <= GOAL_MS ? "ok" : "missed");
}

#define BUILD_CASE(name_, variant_)                                                          \
    {                                                                                        \
        .name = name_, .unit = "triangle", .data_bytes = sizeof(build_data), .setup = setup, \
        .run = run, .finish = finish, .teardown = teardown, .variant = variant_,             \
        .print_details = print_details                                                       \
    }

const bench_case bench_device_build_cases[] = {
    BUILD_CASE("bvh/device-build-sphere", BENCH_SPHERE),
    BUILD_CASE("bvh/device-build-torus", BENCH_TORUS),
    BUILD_CASE("bvh/device-build-teapot", BENCH_TEAPOT),
    BUILD_CASE("bvh/device-build-file", BENCH_MESH_FILE),
    {.name = NULL},
};
