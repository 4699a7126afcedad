/* Cases: surface distance maps. One run is a frame: all maps and BVHs get new vertices, which
 * are on the host; all maps are computed, signed, and measured: minimum, maximum, area within.
 *
 * letters   E and G, 2,180 and 1,652 triangles, twisted and moved; maps of 512 x 512
 * solids    two solids of 2,000 triangles that bend; 512 x 512
 * figure    a solid of 16,368 triangles that twists in a box of 12; 256 x 256
 * bodies    100 rigid solids of 980 triangles, each with a map of 128 x 128 against all others
 *           within a fifth of their radius; poses change, vertices do not
 * joined-bodies  the same bodies as components of one moving mesh: one map of 1280 x 1280 to the
 *           other components of its own mesh, unsigned
 * deviation two scans of 100,000 triangles: BVH, atlas, a million distances one way, unsigned
 * hausdorff the same scans: BVHs, and the Hausdorff distance both ways, to the default bound
 * device-.. the same on a device
 *
 * Cases of devices compare their first frame with the CPU's. ABUT_BENCH_SCANS names a folder that
 * gets the scans, for other programs. `abut demo letters --compare` compares maps with fields. */
#include "bench.h"
#include "map_scenes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum way { MAPS, DEVIATION, HAUSDORFF } way;

static const struct {
    map_scene_kind scene;
    way way;
    uint32_t resolution, quick_resolution;
    double within, limit;
} specs[] = {
    {MAP_LETTERS, MAPS, 512, 64, 0.05, 0},   {MAP_SOLIDS, MAPS, 512, 64, 0.05, 0},
    {MAP_FIGURE, MAPS, 256, 48, 0.5, 0},     {MAP_BODIES, MAPS, 128, 32, 0.02, 0.1},
    {MAP_SCANS, DEVIATION, 1040, 64, 0, 0},  {MAP_SCANS, HAUSDORFF, 0, 0, 0, 0},
    {MAP_JOINED, MAPS, 1280, 96, 0.02, 0.1},
};
#define ON_DEVICE 16 /* added to the index of a spec */

enum { MOVE, REFIT, FIND, MEASURE, PHASES };
static const char *const phase_names[PHASES] = {"move", "refit", "find", "measure"};

typedef struct map_data {
    abut_device *device;
    map_scene scene;
    uint32_t round, frame; /* the last frame */
    abut_map **maps;
    abut_bvh **bvhs;
    abut_map_measures *measures;
    abut_pair_hausdorff_result hausdorff[2];
    abut_map_texel *texels;
    double ms[PHASES], frame_ms, least_ms;
    uint64_t hash;
} map_data;

/* Of the last case, for the line after it. */
static struct {
    double ms[PHASES];
    double samples, mean, greatest, upper;
} details;

static int spec_of(const bench_state *state) {
    return state->which->variant % ON_DEVICE;
}
static uint32_t resolution_of(const bench_state *state) {
    return state->quick ? specs[spec_of(state)].quick_resolution : specs[spec_of(state)].resolution;
}

/* ---- maps ---- */

static abut_status make_maps(bench_state *state, map_data *data, abut_device *device) {
    abut_map_options options = abut_map_options_default();
    abut_bvh_options where = abut_bvh_options_default();
    const bool rigid = specs[spec_of(state)].scene == MAP_BODIES;
    options.resolution = resolution_of(state);
    options.device = where.device = device;
    for (uint32_t i = 0; i < data->scene.count; i++) {
        TRY(abut_map_create(data->scene.rest[i], &options, &data->maps[i]));
        if (data->scene.count > 1 && (i == 0 || !rigid)) {
            TRY(abut_bvh_create(data->scene.rest[i], &where, &data->bvhs[i]));
            TRY(abut_sign_prepare(data->bvhs[i], NULL));
        }
    }
    const size_t all = (size_t)data->scene.frames * data->scene.count * (data->scene.count - 1);
    for (size_t k = 0; k < all; k++) /* with two bodies the other one */
        data->scene.others[k].shape.body.bvh = data->bvhs[rigid ? 0 : 1 - k % 2];
    return ABUT_OK;
}

static void drop_maps(map_data *data) {
    for (uint32_t i = 0; data->maps && i < data->scene.count; i++) {
        abut_map_destroy(data->maps[i]);
        abut_bvh_destroy(data->bvhs[i]);
        data->maps[i] = NULL;
        data->bvhs[i] = NULL;
    }
}

/* Stores the time since `since`, and returns the current time. */
static double note(map_data *data, int phase, double since) {
    double now = bench_now_ms();
    data->ms[phase] = now - since;
    return now;
}

static abut_status run_maps(bench_state *state, map_data *data) {
    const uint32_t count = data->scene.count, first = data->frame * count;
    abut_map_query query = abut_map_query_default();
    abut_map_measure_options wanted = abut_map_measure_options_default();
    query.rings = ABUT_NONE; /* for a mesh and itself: only other components */
    query.limit = specs[spec_of(state)].limit;
    wanted.within = specs[spec_of(state)].within;
    double time = bench_now_ms();
    for (uint32_t i = 0; i < count; i++)
        if (data->scene.moved[first + i])
            TRY(abut_map_set_mesh(data->maps[i], data->scene.moved[first + i]));
    time = note(data, MOVE, time);
    for (uint32_t i = 0; i < count; i++)
        if (data->scene.moved[first + i] && count > 1)
            TRY(abut_bvh_set_mesh(data->bvhs[i], data->scene.moved[first + i]));
    time = note(data, REFIT, time);
    for (uint32_t i = 0; i < count; i++)
        TRY(count == 1
                ? abut_map_compute_self_distance(data->maps[i], &query)
                : abut_map_compute_distance(data->maps[i],
                                            data->scene.others + (size_t)(first + i) * (count - 1),
                                            count - 1, &query));
    time = note(data, FIND, time);
    for (uint32_t i = 0; i < count; i++)
        TRY(abut_map_measure(data->maps[i], &wanted, NULL, &data->measures[i]));
    note(data, MEASURE, time);
    return ABUT_OK;
}

static abut_status run_deviation(bench_state *state, map_data *data) {
    abut_map_options options = abut_map_options_default();
    abut_bvh_options where = abut_bvh_options_default();
    options.resolution = resolution_of(state);
    options.device = where.device = data->device;
    drop_maps(data);
    double time = bench_now_ms();
    TRY(abut_map_create(data->scene.rest[0], &options, &data->maps[0]));
    time = note(data, MOVE, time);
    TRY(abut_bvh_create(data->scene.rest[1], &where, &data->bvhs[1]));
    time = note(data, REFIT, time);
    data->scene.others[0].shape.body.bvh = data->bvhs[1];
    TRY(abut_map_compute_distance(data->maps[0], data->scene.others, 1, NULL));
    time = note(data, FIND, time);
    TRY(abut_map_measure(data->maps[0], NULL, NULL, &data->measures[0]));
    note(data, MEASURE, time);
    return ABUT_OK;
}

static abut_status run_hausdorff(map_data *data) {
    drop_maps(data);
    double time = bench_now_ms();
    for (int i = 0; i < 2; i++)
        TRY(abut_bvh_create(data->scene.rest[i], NULL, &data->bvhs[i]));
    time = note(data, REFIT, time);
    for (int i = 0; i < 2; i++) {
        data->hausdorff[i] = abut_pair_hausdorff_result_default();
        TRY(abut_pair_hausdorff(data->bvhs[i], data->bvhs[1 - i], NULL, &data->hausdorff[i]));
    }
    note(data, FIND, time);
    return ABUT_OK;
}

static abut_status hash_maps(map_data *data) {
    data->hash = 1;
    for (uint32_t i = 0; i < data->scene.count && data->maps[i]; i++) {
        const abut_map_measures *m = &data->measures[i];
        const double lengths[] = {m->min.distance, m->min_error,   m->max.distance,
                                  m->max_error,    m->mean,        m->rms,
                                  m->within_area,  m->inside_area, m->found_area};
        const uint64_t counts[] = {m->samples, m->found,        m->within,
                                   m->inside,  m->min.triangle, m->max.triangle};
        uint64_t side = get_map_info(data->maps[i]).resolution;
        TRY(abut_map_texels(data->maps[i], side * side, data->texels));
        data->hash =
            bench_hash(data->hash, data->texels, (size_t)(side * side) * sizeof *data->texels);
        data->hash = bench_hash(data->hash, lengths, sizeof lengths);
        data->hash = bench_hash(data->hash, counts, sizeof counts);
    }
    return ABUT_OK;
}

/* ---- the case ---- */

static abut_status run_frame(bench_state *state, map_data *data) {
    memset(data->ms, 0, sizeof data->ms);
    switch (specs[spec_of(state)].way) {
    case MAPS:
        return run_maps(state, data);
    case DEVIATION:
        return run_deviation(state, data);
    default:
        return run_hausdorff(data);
    }
}

static abut_status hash_frame(const bench_state *state, map_data *data) {
    if (specs[spec_of(state)].way != HAUSDORFF)
        return hash_maps(data);
    const double bounds[4] = {data->hausdorff[0].lower, data->hausdorff[0].upper,
                              data->hausdorff[1].lower, data->hausdorff[1].upper};
    data->hash = bench_hash(1, bounds, sizeof bounds);
    return ABUT_OK;
}

/* Everything that runs on `device`; null = the CPU. */
static abut_status make_sides(bench_state *state, map_data *data, abut_device *device) {
    return specs[spec_of(state)].way == MAPS ? make_maps(state, data, device) : ABUT_OK;
}

static abut_status setup(bench_state *state) {
    map_data *data = state->data;
    way how = specs[spec_of(state)].way;
    abut_device *device = NULL;
    if (state->which->variant & ON_DEVICE)
        TRY(bench_device_open(state, &device));
    data->device = device;
    memset(&details, 0, sizeof details);
    TRY(map_scene_make(state, specs[spec_of(state)].scene, &data->scene));
    data->maps = bench_array(state, data->scene.count, sizeof(abut_map *));
    data->bvhs = bench_array(state, data->scene.count, sizeof(abut_bvh *));
    data->measures = bench_array(state, data->scene.count, sizeof *data->measures);
    for (uint32_t i = 0; i < data->scene.count; i++)
        data->measures[i].size = sizeof *data->measures;
    data->texels = bench_array(state, (size_t)resolution_of(state) * resolution_of(state),
                               sizeof *data->texels);
    uint64_t expected = 0;
    if (device && how != HAUSDORFF) {
        data->device = NULL;
        TRY(make_sides(state, data, NULL));
        TRY(run_frame(state, data));
        TRY(hash_frame(state, data));
        expected = data->hash;
        drop_maps(data);
        data->device = device;
    }
    TRY(make_sides(state, data, device));
    if (expected) {
        TRY(run_frame(state, data));
        TRY(hash_frame(state, data));
        if (data->hash != expected)
            return bench_fail(ABUT_ERROR_DEVICE, "the answers are not those of the CPU");
    }
    data->least_ms = HUGE_VAL;
    state->elements = how == HAUSDORFF ? 2.0 * abut_mesh_triangle_count(data->scene.rest[0]) : 0;
    for (uint32_t i = 0; i < data->scene.count && how == MAPS; i++)
        state->elements += get_map_info(data->maps[i]).sample_count;
    if (how == DEVIATION)
        state->elements = (double)resolution_of(state) * resolution_of(state);
    return ABUT_OK;
}

static abut_status run(bench_state *state) {
    map_data *data = state->data;
    data->frame = data->round++ % data->scene.frames;
    double start = bench_now_ms();
    TRY(run_frame(state, data));
    data->frame_ms = bench_now_ms() - start;
    return ABUT_OK;
}

static abut_status finish(bench_state *state) {
    map_data *data = state->data;
    if (data->frame == 0)
        TRY(hash_frame(state, data));
    state->hash = data->hash;
    if (data->round > 1 && data->frame_ms < data->least_ms) { /* the first has nothing to move */
        data->least_ms = data->frame_ms;
        memcpy(details.ms, data->ms, sizeof details.ms);
    }
    details.samples = (double)data->measures[0].samples;
    details.mean = data->measures[0].mean;
    details.greatest = data->measures[0].max.distance;
    details.upper = fmax(data->hausdorff[0].upper, data->hausdorff[1].upper);
    return ABUT_OK;
}

static void teardown(bench_state *state) {
    drop_maps(state->data);
}

static void print_details(const bench_case *which, const bench_result *result) {
    (void)result;
    printf("\n    ms of the quickest:");
    for (int k = 0; k < PHASES; k++)
        if (details.ms[k] > 0)
            printf(" %s %.3f", phase_names[k], details.ms[k]);
    if (specs[which->variant % ON_DEVICE].way == HAUSDORFF)
        printf("; %.6g", details.upper);
    else
        printf("; %.0f samples, mean %.4g, greatest %.4g", details.samples, details.mean,
               details.greatest);
}

#define MAP_CASE(name_, unit_, variant_, goal_)                                              \
    {                                                                                        \
        .name = "map/" name_, .unit = unit_, .data_bytes = sizeof(map_data), .setup = setup, \
        .run = run, .finish = finish, .teardown = teardown, .variant = variant_,             \
        .threaded = variant_ < ON_DEVICE, .goal_ms = goal_, .print_details = print_details   \
    }

const bench_case bench_map_cases[] = {
    MAP_CASE("letters", "sample", 0, 30),
    MAP_CASE("solids", "sample", 1, 40),
    MAP_CASE("figure", "sample", 2, 30),
    MAP_CASE("bodies", "sample", 3, 0),
    MAP_CASE("joined-bodies", "sample", 6, 0),
    MAP_CASE("deviation", "sample", 4, 400),
    MAP_CASE("hausdorff", "triangle", 5, 0),
    MAP_CASE("device-letters", "sample", ON_DEVICE + 0, 0.5),
    MAP_CASE("device-solids", "sample", ON_DEVICE + 1, 0.6),
    MAP_CASE("device-figure", "sample", ON_DEVICE + 2, 0.5),
    MAP_CASE("device-bodies", "sample", ON_DEVICE + 3, 4),
    MAP_CASE("device-joined-bodies", "sample", ON_DEVICE + 6, 4),
    MAP_CASE("device-deviation", "sample", ON_DEVICE + 4, 0),
    {.name = NULL},
};
