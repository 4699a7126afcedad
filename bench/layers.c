/* Cases: which solids overlap, found in images of 1024 pixels along the larger side, three
 * views.
 *
 * stairs    250 or 5,000 spheres of 320 triangles and 11 boxes (examples/layers), by images;
 *           also with every pixel drawn, exactly, and exactly without images
 * flakes    1,000 flakes of 6 triangles and a solid of 70,200 that is deformed each time
 * objects   so many spheres of 320 triangles in a cube, each with the same number of overlaps
 * triangles 64 spheres of so many triangles
 * device-.. stairs and flakes on a device
 *
 * All set all poses each time. Exact cases have the same hash. */
#include "bench.h"

#include "apps/demos/falls.h"

#include <math.h>
#include <stdlib.h>

typedef enum way { IMAGES, DEVICE, EVERY, VOLUME, EXACT } way;
typedef enum scene { STAIRS, FLAKES, CROWD } scene;

/* A case as a variant: way, scene, segments of a sphere, number of solids. */
#define SPEC(way, scene, count, segments) \
    ((int)(way) | (int)(scene) << 4 | (segments) << 8 | (count) << 16)

static way way_of(const bench_case *which) {
    return (way)(which->variant & 15);
}
static scene scene_of(const bench_case *which) {
    return (scene)(which->variant >> 4 & 15);
}

typedef struct layers_data {
    abut_device *device;
    falls *stairs;
    abut_mesh *meshes[2];
    uint32_t count, fixed;
    abut_collider *solids;
    abut_pose *poses[2]; /* used alternately */
    abut_vec3 *moved[2]; /* of the deformed solid */
    uint32_t round;
    abut_layers *layers;
    abut_layers_pair *list;
    uint64_t room, found;
    uint64_t fragments;
} layers_data;

/* Of the last case, for the line after it. */
static uint64_t last_pairs, last_fragments;

/* ---- scenes ---- */

static void reserve_solids(bench_state *state, layers_data *data) {
    data->solids = bench_array(state, data->count, sizeof *data->solids);
    data->poses[0] = bench_array(state, data->count, sizeof *data->poses[0]);
    data->poses[1] = bench_array(state, data->count, sizeof *data->poses[1]);
}

/* Two frames of the stairs, when all spheres are moving. */
static abut_status make_stairs(bench_state *state, layers_data *data, uint32_t count) {
    falls_options options = {.kind = FALLS_STAIRS, .count = count, .resolution = 256, .seed = 1};
    TRY(falls_create(state->context, &options, &data->stairs));
    falls *s = data->stairs;
    data->count = s->count;
    data->fixed = s->fixed;
    reserve_solids(state, data);
    for (int frame = 0; frame < (state->quick ? 4 : 30); frame++) {
        TRY(falls_find(s));
        for (uint32_t i = 0; i < s->count; i++)
            data->poses[frame % 2][i] = s->solids[i].pose;
        TRY(falls_step(s));
    }
    for (uint32_t i = 0; i < s->count; i++)
        data->solids[i] = s->solids[i];
    return ABUT_OK;
}

/* Spheres in a unit cube, whose radius gives each the same number of overlaps. */
static abut_status make_crowd(bench_state *state, layers_data *data, uint32_t count,
                              uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    uint64_t random = 5;
    data->count = count;
    shape.segments = segments;
    shape.radius = 0.25;
    for (uint32_t n = 8; n < count; n *= 2)
        shape.radius *= 0.7937005; /* the third root of a half */
    shape.radius *= 0.7;
    reserve_solids(state, data);
    MAKE(data->meshes[0], abut_shape_create(state->context, &shape, &data->meshes[0]));
    for (uint32_t i = 0; i < count; i++) {
        double at[3];
        for (int k = 0; k < 3; k++)
            at[k] = bench_random_real(&random, 0, 1);
        data->poses[0][i] = (abut_pose){bench_turn(i), {at[0], at[1], at[2]}};
        data->poses[1][i] = (abut_pose){bench_turn(i), {at[2], at[0], at[1]}};
        data->solids[i] = abut_collider_from_mesh(data->meshes[0], data->poses[0][i]);
    }
    return ABUT_OK;
}

static abut_status make_flake(bench_state *state, abut_mesh **mesh) {
    const double r = 0.01, points[15] = {r, 0, 0, -0.5 * r, 0.866 * r, 0, -0.5 * r, -0.866 * r,
                                         0, 0, 0, 0.4 * r,  0,         0, -0.4 * r};
    const uint32_t indices[18] = {0, 1, 3, 1, 2, 3, 2, 0, 3, 1, 0, 4, 2, 1, 4, 0, 2, 4};
    abut_mesh_input input = abut_mesh_input_doubles(points, 5, indices, 6);
    return abut_mesh_create(state->context, &input, mesh);
}

/* Flakes at random vertices of a torus with bumps, half of them beside it; and the torus at two
 * phases of a bend. */
static abut_status make_flakes(bench_state *state, layers_data *data, uint32_t count) {
    uint64_t random = 6;
    data->count = count + 1;
    data->fixed = 1;
    reserve_solids(state, data);
    TRY(bench_model_create(state, BENCH_TORUS, &data->meshes[0]));
    MAKE(data->meshes[1], make_flake(state, &data->meshes[1]));
    uint32_t vertices = abut_mesh_vertex_count(data->meshes[0]);
    abut_vec3 origin = abut_mesh_local_origin(data->meshes[0]);
    for (int k = 0; k < 2; k++) {
        data->moved[k] = bench_array(state, vertices, sizeof *data->moved[k]);
        for (uint32_t v = 0; v < vertices; v++) {
            abut_vec3 p = abut_mesh_local_positions(data->meshes[0])[v];
            p = (abut_vec3){p.x + origin.x, p.y + origin.y, p.z + origin.z};
            p.z += (k ? 0.02 : -0.02) * p.x * p.x;
            data->moved[k][v] = p;
        }
    }
    for (uint32_t i = 0; i <= count; i++) {
        data->solids[i].shape.mesh.mesh = data->meshes[i > 0];
        for (int k = 0; k < 2; k++) {
            abut_vec3 p = data->moved[k][bench_random(&random) % vertices];
            double out = i % 2 ? 1 : 1.05;
            data->poses[k][i].rotation = bench_turn(i);
            data->poses[k][i].translation = (abut_vec3){out * p.x, out * p.y, out * p.z};
        }
    }
    data->poses[0][0] = data->poses[1][0] = abut_pose_identity();
    return ABUT_OK;
}

/* ---- sides ---- */

/* Fixed solids are tested against falling ones; flakes not against each other. */
static uint32_t group_of(const layers_data *data, uint32_t i) {
    return i < data->fixed ? 2 : 1;
}
static uint32_t mask_of(const bench_state *state, const layers_data *data, uint32_t i) {
    return i < data->fixed ? 1 : scene_of(state->which) == FLAKES ? 2 : 3;
}

static abut_status make_layers(bench_state *state, layers_data *data) {
    abut_layers_options options = abut_layers_options_default();
    options.device = data->device;
    MAKE(data->layers, abut_layers_create(state->context, &options, &data->layers));
    for (uint32_t i = 0; i < data->count; i++) {
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider =
                                     abut_collider_from_mesh(data->solids[i].shape.mesh.mesh,
                                                             data->poses[0][i]),
                                 .group = group_of(data, i),
                                 .mask = mask_of(state, data, i)};
        uint32_t id;
        TRY(abut_layers_add(data->layers, &item, &id));
    }
    return ABUT_OK;
}

static abut_status layers_setup(bench_state *state) {
    layers_data *data = state->data;
    way how = way_of(state->which);
    uint32_t count = (uint32_t)state->which->variant >> 16,
             segments = (uint32_t)state->which->variant >> 8 & 255;
    if (state->quick)
        count = count > 40 ? 40 : count;
    if (how == DEVICE)
        TRY(bench_device_open(state, &data->device));
    switch (scene_of(state->which)) {
    case STAIRS:
        TRY(make_stairs(state, data, count));
        break;
    case FLAKES:
        TRY(make_flakes(state, data, count));
        break;
    default:
        TRY(make_crowd(state, data, count, segments));
    }
    TRY(make_layers(state, data));
    data->room = 64 * (uint64_t)data->count;
    data->list = bench_array(state, data->room, sizeof *data->list);
    state->elements = data->count;
    return ABUT_OK;
}

/* ---- runs ---- */

static abut_status layers_run(bench_state *state) {
    layers_data *data = state->data;
    const abut_pose *poses = data->poses[++data->round % 2];
    abut_layers_query query = abut_layers_query_default();
    abut_layers_result found = {.size = sizeof found,
                                .pairs.list = data->list,
                                .pairs.capacity = data->room};
    way how = way_of(state->which);
    query.resolution = state->quick ? 64 : 1024;
    query.every_pixel = how == EVERY;
    query.measure_volume = how == VOLUME;
    query.is_exact = how == EXACT;
    TRY(abut_layers_set_poses(data->layers, NULL, abut_array_host(poses), data->count));
    if (data->moved[0])
        TRY(abut_layers_set_positions(data->layers, 0,
                                      abut_array_host(data->moved[data->round % 2])));
    TRY(abut_layers_find(data->layers, &query, &found));
    data->found = found.pairs.count;
    data->fragments = found.fragments;
    return ABUT_OK;
}

/* Always of the same poses. */
static abut_status layers_finish(bench_state *state) {
    layers_data *data = state->data;
    way how = way_of(state->which);
    if (data->round % 2 == 0)
        TRY(layers_run(state));
    state->hash = 1;
    for (uint64_t i = 0; i < data->found; i++) {
        const abut_layers_pair *p = &data->list[i];
        const uint64_t numbers[4] = {p->a, p->b, p->pixels, p->intervals};
        state->hash = bench_hash(state->hash, numbers, (how <= EVERY ? 4 : 2) * sizeof *numbers);
    }
    state->hash = bench_hash(state->hash, &data->found, sizeof data->found);
    last_pairs = data->found;
    last_fragments = data->fragments;
    return ABUT_OK;
}

static void layers_print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf("    %llu pairs, %llu crossings\n", (unsigned long long)last_pairs,
           (unsigned long long)last_fragments);
}

static void layers_teardown(bench_state *state) {
    layers_data *data = state->data;
    falls_destroy(data->stairs);
}

#define LAYERS(name_, way_, scene_, count_, segments_, goal_)                                  \
    {                                                                                          \
        .name = "layers/" name_, .unit = "solid", .data_bytes = sizeof(layers_data),           \
        .setup = layers_setup, .run = layers_run, .finish = layers_finish,                     \
        .teardown = layers_teardown, .variant = SPEC(way_, scene_, count_, segments_),         \
        .threaded = (scene_) != CROWD, .goal_ms = goal_, .print_details = layers_print_details \
    }

const bench_case bench_layers_cases[] = {
    LAYERS("stairs-250", IMAGES, STAIRS, 250, 0, 12),
    LAYERS("stairs-5000", IMAGES, STAIRS, 5000, 0, 120),
    LAYERS("flakes-1000", IMAGES, FLAKES, 1000, 0, 25),
    LAYERS("stairs-250-every-pixel", EVERY, STAIRS, 250, 0, 0),
    LAYERS("stairs-250-volume", VOLUME, STAIRS, 250, 0, 0),
    LAYERS("stairs-250-exact", EXACT, STAIRS, 250, 0, 0),
    LAYERS("stairs-5000-exact", EXACT, STAIRS, 5000, 0, 0),
    LAYERS("objects-64", IMAGES, CROWD, 64, 4, 0),
    LAYERS("objects-256", IMAGES, CROWD, 256, 4, 0),
    LAYERS("objects-1024", IMAGES, CROWD, 1024, 4, 0),
    LAYERS("objects-4096", IMAGES, CROWD, 4096, 4, 0),
    LAYERS("triangles-80", IMAGES, CROWD, 64, 2, 0),
    LAYERS("triangles-1280", IMAGES, CROWD, 64, 8, 0),
    LAYERS("triangles-5120", IMAGES, CROWD, 64, 16, 0),
    LAYERS("device-stairs-250", DEVICE, STAIRS, 250, 0, 0.25),
    LAYERS("device-stairs-5000", DEVICE, STAIRS, 5000, 0, 1.5),
    LAYERS("device-flakes-1000", DEVICE, FLAKES, 1000, 0, 0.5),
    {.name = NULL},
};
