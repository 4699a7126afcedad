/* Cases: BVHs and their queries. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPHERE = BENCH_SPHERE, TORUS = BENCH_TORUS, TEAPOT = BENCH_TEAPOT };
enum {
    UNIFORM = 0,
    NEAR = 4,
    BUILD_ONLY = 8,
    ONE_BY_ONE = 16,
    COHERENT = 32,
    ANY = 64,
    SIGNED = 128,
    TORN = 256,
    NORMAL = 512
};

typedef struct bvh_data {
    abut_mesh *mesh;
    abut_bvh *bvh;
    double (*points)[3];
    abut_nearest *nearest;
    bool *inside;
    abut_ray *rays;
    abut_ray_hit *hits;
    uint32_t count;
    uint64_t pair_count;
} bvh_data;

/* Removes every 50th triangle, so that there are boundaries everywhere. */
static abut_status tear(bench_state *state, abut_mesh **mesh) {
    uint32_t count = abut_mesh_triangle_count(*mesh), kept = 0;
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    uint32_t *indices = bench_array(state, 3 * (size_t)count, sizeof *indices);
    for (uint32_t i = 0; i < count; i++)
        if (i % 50)
            memcpy(indices + 3 * (size_t)kept++, abut_mesh_indices(*mesh) + 3 * (size_t)i,
                   3 * sizeof *indices);
    input.positions = abut_mesh_local_positions(*mesh);
    input.vertex_count = abut_mesh_vertex_count(*mesh);
    input.indices = indices;
    input.triangle_count = kept;
    MAKE(*mesh, abut_mesh_create(state->context, &input, mesh));
    return ABUT_OK;
}

/* In the box x 1.2, or within 2% of its diagonal of a point on the surface. */
static void make_points(bvh_data *data, bool near) {
    uint64_t random = 9;
    abut_box box = abut_mesh_bounds(data->mesh);
    double lo[3] = {box.lo.x, box.lo.y, box.lo.z}, hi[3] = {box.hi.x, box.hi.y, box.hi.z};
    double diagonal = 0;
    for (int k = 0; k < 3; k++)
        diagonal += (hi[k] - lo[k]) * (hi[k] - lo[k]);
    diagonal = sqrt(diagonal);
    abut_vec3 origin = abut_mesh_local_origin(data->mesh);
    for (uint32_t i = 0; i < data->count; i++) {
        if (!near) {
            for (int k = 0; k < 3; k++)
                data->points[i][k] = bench_random_real(&random, lo[k] - 0.1 * (hi[k] - lo[k]),
                                                       hi[k] + 0.1 * (hi[k] - lo[k]));
            continue;
        }
        const uint32_t *corner = abut_mesh_indices(data->mesh) +
                                 3 * (bench_random(&random) % abut_mesh_triangle_count(data->mesh));
        double s = bench_random_real(&random, 0, 1), r = (1 - s) * bench_random_real(&random, 0, 1);
        const double weight[3] = {1 - s - r, s, r};
        double p[3] = {origin.x, origin.y, origin.z};
        for (int c = 0; c < 3; c++) {
            abut_vec3 v = abut_mesh_local_positions(data->mesh)[corner[c]];
            p[0] += weight[c] * v.x;
            p[1] += weight[c] * v.y;
            p[2] += weight[c] * v.z;
        }
        for (int k = 0; k < 3; k++)
            data->points[i][k] = p[k] + bench_random_real(&random, -0.0115, 0.0115) * diagonal;
    }
}

/* From each point towards another; or coherent: a pinhole camera in front of the model, row by
 * row. */
static void make_rays(bvh_data *data, bool coherent) {
    abut_box box = abut_mesh_bounds(data->mesh);
    abut_vec3 eye = {2 * box.hi.x - box.lo.x, 2 * box.hi.y - box.lo.y, 2 * box.hi.z - box.lo.z};
    uint32_t side = 1;
    while ((side + 1) * (side + 1) <= data->count)
        side++;
    for (uint32_t i = 0; i < data->count; i++) {
        const double *p = data->points[i], *q = data->points[(i + 1) % data->count];
        abut_ray *ray = &data->rays[i];
        ray->origin = (abut_vec3){p[0], p[1], p[2]};
        ray->direction = (abut_vec3){q[0] - p[0], q[1] - p[1], q[2] - p[2]};
        if (!coherent)
            continue;
        double u = (i % side + 0.5) / side, v = (i / side + 0.5) / side;
        ray->origin = eye;
        ray->direction = (abut_vec3){box.lo.x + u * (box.hi.x - box.lo.x) - eye.x,
                                     box.lo.y + v * (box.hi.y - box.lo.y) - eye.y,
                                     box.hi.z - u * (box.hi.z - box.lo.z) - eye.z};
    }
}

static abut_status bvh_setup(bench_state *state) {
    bvh_data *data = state->data;
    int variant = state->which->variant;
    TRY(bench_model_create(state, (bench_model)(variant & 3), &data->mesh));
    if (variant & TORN)
        TRY(tear(state, &data->mesh));
    if (variant & BUILD_ONLY) {
        state->elements = abut_mesh_triangle_count(data->mesh);
        return ABUT_OK;
    }
    data->count = state->quick ? 1000 : 200000;
    state->elements = data->count;
    data->points = bench_array(state, data->count, sizeof *data->points);
    data->nearest = bench_array(state, data->count, sizeof *data->nearest);
    data->inside = bench_array(state, data->count, sizeof *data->inside);
    data->rays = bench_array(state, data->count, sizeof *data->rays);
    data->hits = bench_array(state, data->count, sizeof *data->hits);
    make_points(data, variant & NEAR);
    make_rays(data, variant & COHERENT);
    MAKE(data->bvh, abut_bvh_create(data->mesh, NULL, &data->bvh));
    abut_sign_options options = abut_sign_options_default();
    options.method = variant & NORMAL ? ABUT_SIGN_NORMAL : ABUT_SIGN_WINDING;
    if (variant & SIGNED)
        TRY(abut_sign_prepare(data->bvh, &options));
    return ABUT_OK;
}

static abut_status run_build(bench_state *state) {
    bvh_data *data = state->data;
    return abut_bvh_create(data->mesh, NULL, &data->bvh);
}

static abut_status finish_build(bench_state *state) {
    bvh_data *data = state->data;
    abut_bvh_info info = get_bvh_info(data->bvh);
    state->hash = bench_hash(0, &info.cost, sizeof info.cost);
    state->hash = bench_hash(state->hash, &info.node_count, sizeof info.node_count);
    state->result_bytes = (double)info.bytes;
    abut_bvh_destroy(data->bvh);
    data->bvh = NULL;
    return ABUT_OK;
}

static abut_status run_refit(bench_state *state) {
    bvh_data *data = state->data;
    return abut_bvh_set_mesh(data->bvh, data->mesh);
}

static abut_status finish_refit(bench_state *state) {
    bvh_data *data = state->data;
    abut_bvh_info info = get_bvh_info(data->bvh);
    state->elements = info.triangle_count;
    state->hash = bench_hash(0, &info.cost, sizeof info.cost);
    return ABUT_OK;
}

static abut_status run_nearest(bench_state *state) {
    bvh_data *data = state->data;
    if (state->which->variant & ONE_BY_ONE) {
        for (uint32_t i = 0; i < data->count; i++) {
            const double *p = data->points[i];
            TRY(abut_nearest_point(data->bvh, (abut_vec3){p[0], p[1], p[2]}, HUGE_VAL,
                                   &data->nearest[i]));
        }
        return ABUT_OK;
    }
    abut_array points = abut_array_host(data->points);
    if (state->which->variant & SIGNED)
        return abut_sign_nearest_batch(data->bvh, points, data->count, HUGE_VAL,
                                       abut_array_host(data->nearest));
    return abut_nearest_point_batch(data->bvh, points, data->count, HUGE_VAL,
                                    abut_array_host(data->nearest));
}

static abut_status finish_nearest(bench_state *state) {
    bvh_data *data = state->data;
    state->hash = bench_hash(0, data->nearest, data->count * sizeof *data->nearest);
    return ABUT_OK;
}

static abut_status run_self(bench_state *state) {
    bvh_data *data = state->data;
    abut_pair_self_intersection_list found = {NULL, 0, 0};
    abut_status status = abut_pair_self_intersections(data->bvh, NULL, &found);
    data->pair_count = found.count;
    return status == ABUT_ERROR_BUFFER ? ABUT_OK : status;
}

static abut_status finish_self(bench_state *state) {
    bvh_data *data = state->data;
    state->elements = abut_mesh_triangle_count(data->mesh);
    state->hash = bench_hash(0, &data->pair_count, sizeof data->pair_count);
    return ABUT_OK;
}

static abut_status run_inside(bench_state *state) {
    bvh_data *data = state->data;
    abut_array points = abut_array_host(data->points);
    return abut_sign_inside_batch(data->bvh, points, data->count, abut_array_host(data->inside));
}

static abut_status finish_inside(bench_state *state) {
    bvh_data *data = state->data;
    state->hash = bench_hash(0, data->inside, data->count * sizeof *data->inside);
    return ABUT_OK;
}

static abut_status run_prepare(bench_state *state) {
    bvh_data *data = state->data;
    state->elements = abut_mesh_triangle_count(data->mesh);
    return abut_sign_prepare(data->bvh, NULL);
}

static abut_status finish_prepare(bench_state *state) {
    bvh_data *data = state->data;
    abut_sign_info info = get_sign_info(data->bvh);
    state->hash = bench_hash(0, &info.is_closed, sizeof info.is_closed);
    state->result_bytes = (double)info.bytes;
    return ABUT_OK;
}

static abut_status run_rays(bench_state *state) {
    bvh_data *data = state->data;
    return abut_ray_first_batch(data->bvh, abut_array_host(data->rays), data->count, HUGE_VAL,
                                abut_array_host(data->hits));
}

static abut_status finish_rays(bench_state *state) {
    bvh_data *data = state->data;
    for (uint32_t i = 0; i < data->count; i++) { /* one by one: there is padding between them */
        const abut_ray_hit *hit = &data->hits[i];
        state->hash = bench_hash(state->hash, &hit->parameter, sizeof hit->parameter);
        state->hash = bench_hash(state->hash, hit->barycentric, sizeof hit->barycentric);
        state->hash = bench_hash(state->hash, &hit->triangle, sizeof hit->triangle);
    }
    return ABUT_OK;
}

/* One after the other: the first hit, or whether there is any. */
static abut_status run_single_rays(bench_state *state) {
    bvh_data *data = state->data;
    for (uint32_t i = 0; i < data->count; i++) {
        abut_ray_hit *hit = &data->hits[i];
        if (state->which->variant & ANY) {
            bool any = false;
            TRY(abut_ray_any(data->bvh, &data->rays[i], HUGE_VAL, &any));
            memset(hit, 0, sizeof *hit);
            hit->triangle = any;
        } else {
            TRY(abut_ray_first(data->bvh, &data->rays[i], HUGE_VAL, hit));
        }
    }
    return ABUT_OK;
}

/* Boxes of about a dozen triangles around the points. */
static abut_status run_boxes(bench_state *state) {
    bvh_data *data = state->data;
    abut_box bounds = abut_mesh_bounds(data->mesh);
    double half = 0.005 * (bounds.hi.x - bounds.lo.x);
    uint32_t triangles[1024];
    abut_index_list found = {triangles, 1024, 0};
    for (uint32_t i = 0; i < data->count; i++) {
        const double *p = data->points[i];
        const abut_box box = {{p[0] - half, p[1] - half, p[2] - half},
                              {p[0] + half, p[1] + half, p[2] + half}};
        TRY(abut_bvh_find_in_box(data->bvh, &box, &found));
        state->hash = bench_hash(state->hash, triangles, found.count * sizeof *triangles);
    }
    return ABUT_OK;
}

#define BVH(name_, unit_, run_, finish_, variant_, threaded_)                             \
    {                                                                                     \
        .name = name_, .unit = unit_, .data_bytes = sizeof(bvh_data), .setup = bvh_setup, \
        .run = run_, .finish = finish_, .variant = variant_, .threaded = threaded_        \
    }

const bench_case bench_bvh_cases[] = {
    BVH("bvh/build-sphere", "triangle", run_build, finish_build, SPHERE | BUILD_ONLY, true),
    BVH("bvh/build-torus", "triangle", run_build, finish_build, TORUS | BUILD_ONLY, true),
    BVH("bvh/build-teapot", "triangle", run_build, finish_build, TEAPOT | BUILD_ONLY, true),
    BVH("bvh/refit-teapot", "triangle", run_refit, finish_refit, TEAPOT, true),
    BVH("pair/self-sphere", "triangle", run_self, finish_self, SPHERE, true),
    BVH("pair/self-torus", "triangle", run_self, finish_self, TORUS, true),
    BVH("ray/first-uniform-teapot", "query", run_rays, finish_rays, TEAPOT, true),
    BVH("ray/first-coherent-teapot", "query", run_rays, finish_rays, TEAPOT | COHERENT, true),
    BVH("ray/first-uniform-torus", "query", run_rays, finish_rays, TORUS, true),
    BVH("ray/first-coherent-torus", "query", run_rays, finish_rays, TORUS | COHERENT, true),
    BVH("ray/single-uniform-torus", "query", run_single_rays, finish_rays, TORUS, false),
    BVH("ray/any-uniform-torus", "query", run_single_rays, finish_rays, TORUS | ANY, false),
    BVH("bvh/box-near-torus", "query", run_boxes, NULL, TORUS | NEAR, false),
    BVH("nearest/uniform-sphere", "query", run_nearest, finish_nearest, SPHERE, true),
    BVH("nearest/uniform-torus", "query", run_nearest, finish_nearest, TORUS, true),
    BVH("nearest/uniform-teapot", "query", run_nearest, finish_nearest, TEAPOT, true),
    BVH("nearest/near-sphere", "query", run_nearest, finish_nearest, SPHERE | NEAR, true),
    BVH("nearest/near-torus", "query", run_nearest, finish_nearest, TORUS | NEAR, true),
    BVH("nearest/near-teapot", "query", run_nearest, finish_nearest, TEAPOT | NEAR, true),
    BVH("nearest/single-uniform-torus", "query", run_nearest, finish_nearest, TORUS | ONE_BY_ONE,
        false),
    BVH("nearest/single-near-torus", "query", run_nearest, finish_nearest,
        TORUS | NEAR | ONE_BY_ONE, false),
    BVH("sign/prepare-teapot", "triangle", run_prepare, finish_prepare, TEAPOT, true),
    BVH("sign/prepare-torn", "triangle", run_prepare, finish_prepare, TEAPOT | TORN, true),
    BVH("sign/inside-uniform-teapot", "query", run_inside, finish_inside, TEAPOT | SIGNED, true),
    BVH("sign/inside-near-teapot", "query", run_inside, finish_inside, TEAPOT | SIGNED | NEAR,
        true),
    BVH("sign/inside-uniform-torn", "query", run_inside, finish_inside, TEAPOT | SIGNED | TORN,
        true),
    BVH("sign/inside-near-torn", "query", run_inside, finish_inside, TEAPOT | SIGNED | NEAR | TORN,
        true),
    BVH("sign/nearest-uniform-teapot", "query", run_nearest, finish_nearest, TEAPOT | SIGNED, true),
    BVH("sign/nearest-near-teapot", "query", run_nearest, finish_nearest, TEAPOT | SIGNED | NEAR,
        true),
    BVH("sign/nearest-normal-near-teapot", "query", run_nearest, finish_nearest,
        TEAPOT | SIGNED | NEAR | NORMAL, true),
    BVH("sign/nearest-near-torn", "query", run_nearest, finish_nearest,
        TEAPOT | SIGNED | NEAR | TORN, true),
    {.name = NULL},
};
