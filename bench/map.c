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
 * field-... the frame of letters by dense distance fields of both over the box of both: rebuilt,
 *           then interpolated at the samples of the maps, whose positions the run computes.
 *           Cells are such that half a diagonal, which bounds the error of an interpolated
 *           distance, is the median reach of the maps
 * field-256-letters  the same with 256 cells along the longest side, as in the paper
 * device-.. the same on a device; there fields are built, and interpolated on the CPU
 *
 * Cases of devices compare their first frame with the CPU's. ABUT_BENCH_FRAMES names a file that
 * gets a line for every frame of letters: case, frame, ms, ms without measures and
 * interpolation, reach relative to that at rest. ABUT_BENCH_SCANS names a folder that gets the
 * scans, for other programs. */
#include "bench.h"
#include "map_scenes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum way { MAPS, FIELDS, FIELDS_PAPER, DEVIATION, HAUSDORFF } way;

static const struct {
    map_scene_kind scene;
    way way;
    uint32_t resolution, quick_resolution;
    double within, limit;
} specs[] = {
    {MAP_LETTERS, MAPS, 512, 64, 0.05, 0},   {MAP_SOLIDS, MAPS, 512, 64, 0.05, 0},
    {MAP_FIGURE, MAPS, 256, 48, 0.5, 0},     {MAP_BODIES, MAPS, 128, 32, 0.02, 0.1},
    {MAP_SCANS, DEVIATION, 1040, 64, 0, 0},  {MAP_SCANS, HAUSDORFF, 0, 0, 0, 0},
    {MAP_LETTERS, FIELDS, 512, 64, 0.05, 0}, {MAP_LETTERS, FIELDS_PAPER, 512, 64, 0.05, 0},
    {MAP_JOINED, MAPS, 1280, 96, 0.02, 0.1},
};
#define ON_DEVICE 16 /* added to the index of a spec */

enum { MOVE, REFIT, FIND, MEASURE, PHASES };
static const char *const phase_names[2][PHASES] = {{"move", "refit", "find", "measure"},
                                                   {"points", "refit", "build", "interpolate"}};

/* The position of a sample of a map: interpolated between the corners of its triangle. */
typedef struct anchor {
    uint32_t triangle;
    float weight[3];
} anchor;

typedef struct map_data {
    abut_device *device;
    map_scene scene;
    uint32_t round, frame; /* the last frame */
    abut_map **maps;
    abut_bvh **bvhs;
    abut_map_measures *measures;
    abut_pair_hausdorff_result hausdorff[2];
    abut_map_texel *texels;
    abut_field *fields[2];
    anchor *anchors[2];
    abut_vec3 *points;
    abut_field_value *values;
    uint32_t anchor_count[2];
    double ms[PHASES], frame_ms, least_ms, field_error;
    uint64_t hash;
} map_data;

/* Of the last case, for the line after it. */
static struct {
    double ms[PHASES];
    double samples, mean, greatest, upper, cells, field_error;
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

/* ---- the same by fields ---- */

static abut_status median_reach(bench_state *state, const map_data *data, double *median) {
    const uint32_t counts[2] = {abut_mesh_triangle_count(data->scene.rest[0]),
                                abut_mesh_triangle_count(data->scene.rest[1])};
    double *all = bench_array(state, (size_t)counts[0] + counts[1], sizeof *all);
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t t = 0; t < counts[i]; t++)
            TRY(abut_map_reach(data->maps[i], t, all + t + (i ? counts[0] : 0)));
    bench_median(all, counts[0] + counts[1]);
    *median = all[((size_t)counts[0] + counts[1]) / 2]; /* of two, the larger */
    return ABUT_OK;
}

/* Over the bodies in all frames. */
static abut_status make_grid(bench_state *state, const map_data *data, abut_grid *grid) {
    abut_box all = abut_mesh_bounds(data->scene.moved[0]);
    double cell = 0;
    for (uint32_t i = 1; i < data->scene.count * data->scene.frames; i++) {
        abut_box box = abut_mesh_bounds(data->scene.moved[i]);
        all.lo = (abut_vec3){fmin(all.lo.x, box.lo.x), fmin(all.lo.y, box.lo.y),
                             fmin(all.lo.z, box.lo.z)};
        all.hi = (abut_vec3){fmax(all.hi.x, box.hi.x), fmax(all.hi.y, box.hi.y),
                             fmax(all.hi.z, box.hi.z)};
    }
    const double sides[3] = {all.hi.x - all.lo.x, all.hi.y - all.lo.y, all.hi.z - all.lo.z};
    TRY(median_reach(state, data, &cell));
    cell *= 2 / sqrt(3);
    if (specs[spec_of(state)].way == FIELDS_PAPER)
        cell = fmax(sides[0], fmax(sides[1], sides[2])) / (state->quick ? 16 : 255);
    grid->cell = cell;
    grid->origin = all.lo;
    for (int k = 0; k < 3; k++)
        grid->count[k] = (uint32_t)(sides[k] / cell) + 2;
    return ABUT_OK;
}

static abut_status make_anchors(bench_state *state, map_data *data, uint32_t body) {
    const abut_map_info info = get_map_info(data->maps[body]);
    uint32_t count = 0;
    anchor *all = data->anchors[body] = bench_array(state, info.sample_count, sizeof *all);
    for (uint32_t y = 0; y < info.resolution; y++)
        for (uint32_t x = 0; x < info.resolution; x++) {
            abut_map_sample sample;
            TRY(abut_map_sample_at(data->maps[body], x, y, &sample));
            if (sample.triangle == ABUT_NONE)
                continue;
            anchor *a = &all[count++];
            a->triangle = sample.triangle;
            for (int k = 0; k < 3; k++)
                a->weight[k] = (float)sample.barycentric[k];
        }
    data->anchor_count[body] = count;
    return ABUT_OK;
}

static abut_status make_fields(bench_state *state, map_data *data) {
    abut_field_options options = abut_field_options_default();
    options.device = data->device;
    TRY(make_grid(state, data, &options.grid));
    for (uint32_t i = 0; i < 2; i++) {
        TRY(make_anchors(state, data, i));
        TRY(abut_bvh_set_mesh(data->bvhs[i], data->scene.moved[i]));
        MAKE(data->fields[i], abut_field_create_from(data->bvhs[i], &options, &data->fields[i]));
        abut_map_destroy(data->maps[i]); /* it was only needed for the positions of samples */
        data->maps[i] = NULL;
    }
    const size_t most = (size_t)resolution_of(state) * resolution_of(state);
    data->points = bench_array(state, most, sizeof *data->points);
    data->values = bench_array(state, most, sizeof *data->values);
    details.cells = (double)options.grid.count[0] * options.grid.count[1] * options.grid.count[2];
    return ABUT_OK;
}

typedef struct placing {
    const abut_mesh *mesh;
    const anchor *anchors;
    abut_vec3 *points;
} placing;

static void place(void *user, size_t chunk, size_t begin, size_t end) {
    const placing *p = user;
    const abut_vec3 origin = abut_mesh_local_origin(p->mesh),
                    *at = abut_mesh_local_positions(p->mesh);
    const uint32_t *indices = abut_mesh_indices(p->mesh);
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const anchor *a = &p->anchors[i];
        abut_vec3 sum = origin;
        for (size_t k = 0; k < 3; k++) {
            abut_vec3 corner = at[indices[3 * (size_t)a->triangle + k]];
            sum.x += (double)a->weight[k] * corner.x;
            sum.y += (double)a->weight[k] * corner.y;
            sum.z += (double)a->weight[k] * corner.z;
        }
        p->points[i] = sum;
    }
}

static void measure_values(bench_state *state, map_data *data, uint32_t body) {
    abut_map_measures *m = &data->measures[body];
    const double within = specs[spec_of(state)].within;
    *m = abut_map_measures_default();
    m->min.distance = HUGE_VAL;
    m->max.distance = -HUGE_VAL;
    for (uint32_t i = 0; i < data->anchor_count[body]; i++) {
        double distance = data->values[i].distance;
        if (distance < m->min.distance)
            m->min.distance = distance;
        if (distance > m->max.distance)
            m->max.distance = distance;
        m->within += distance <= within;
        m->inside += distance < 0;
    }
}

static abut_status run_fields(bench_state *state, map_data *data) {
    abut_mesh **moved = data->scene.moved + (size_t)data->frame * 2;
    double time = bench_now_ms(), points_ms = 0;
    for (int i = 0; i < 2; i++)
        TRY(abut_bvh_set_mesh(data->bvhs[i], moved[i]));
    time = note(data, REFIT, time);
    for (int i = 0; i < 2; i++)
        TRY(abut_field_update_from(data->fields[i], data->bvhs[i], NULL));
    time = note(data, FIND, time);
    for (uint32_t i = 0; i < 2; i++) {
        placing p = {moved[i], data->anchors[i], data->points};
        double start = bench_now_ms();
        abut_context_parallel_for(state->context, data->anchor_count[i], 4096, place, &p);
        points_ms += bench_now_ms() - start;
        abut_array points = abut_array_host(data->points);
        TRY(abut_field_evaluate_batch(data->fields[1 - i], points, data->anchor_count[i],
                                      ABUT_INTERPOLATION_LINEAR, data->values));
        measure_values(state, data, i);
    }
    note(data, MEASURE, time + points_ms);
    data->ms[MOVE] = points_ms;
    return ABUT_OK;
}

/* The largest error of the distances of the last frame. */
static abut_status compare_fields(map_data *data) {
    double most = 0;
    for (uint32_t i = 0; i < data->anchor_count[1]; i += 97) {
        abut_nearest nearest;
        TRY(abut_sign_nearest(data->bvhs[0], data->points[i], HUGE_VAL, &nearest));
        most = fmax(most, fabs(nearest.distance - data->values[i].distance));
    }
    data->field_error = most;
    return ABUT_OK;
}

static void hash_fields(map_data *data) {
    data->hash = 1;
    for (int i = 0; i < 2; i++) {
        const abut_map_measures *m = &data->measures[i];
        const double lengths[] = {m->min.distance, m->max.distance};
        const uint64_t counts[] = {m->within, m->inside};
        data->hash = bench_hash(data->hash, lengths, sizeof lengths);
        data->hash = bench_hash(data->hash, counts, sizeof counts);
    }
}

/* ---- the case ---- */

static abut_status run_frame(bench_state *state, map_data *data) {
    memset(data->ms, 0, sizeof data->ms);
    switch (specs[spec_of(state)].way) {
    case MAPS:
        return run_maps(state, data);
    case DEVIATION:
        return run_deviation(state, data);
    case HAUSDORFF:
        return run_hausdorff(data);
    default:
        return run_fields(state, data);
    }
}

static abut_status hash_frame(const bench_state *state, map_data *data) {
    way how = specs[spec_of(state)].way;
    if (how == MAPS || how == DEVIATION)
        return hash_maps(data);
    if (how == HAUSDORFF) {
        const double bounds[4] = {data->hausdorff[0].lower, data->hausdorff[0].upper,
                                  data->hausdorff[1].lower, data->hausdorff[1].upper};
        data->hash = bench_hash(1, bounds, sizeof bounds);
        return ABUT_OK;
    }
    hash_fields(data);
    return compare_fields(data);
}

/* Everything that runs on `device`; null = the CPU. */
static abut_status make_sides(bench_state *state, map_data *data, abut_device *device) {
    way how = specs[spec_of(state)].way;
    if (how == DEVIATION || how == HAUSDORFF)
        return ABUT_OK;
    abut_status status = make_maps(state, data, device);
    return status || how == MAPS ? status : make_fields(state, data);
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
    if (device && (how == MAPS || how == DEVIATION)) {
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
    for (uint32_t i = 0; i < data->scene.count && how != HAUSDORFF; i++)
        state->elements +=
            data->maps[i] ? get_map_info(data->maps[i]).sample_count : data->anchor_count[i % 2];
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

static abut_status write_frame(const bench_state *state, const map_data *data, const char *path) {
    double relative = 0;
    for (uint32_t i = 0; i < data->scene.count; i++) {
        abut_map_info info = get_map_info(data->maps[i]);
        relative = fmax(relative, info.reach_at_rest > 0 ? info.reach / info.reach_at_rest : 0);
    }
    FILE *file = fopen(path, "a");
    if (!file)
        return bench_fail(ABUT_ERROR_FILE, "cannot write '%s'", path);
    fprintf(file, "%s,%u,%.4f,%.4f,%.4f\n", state->which->name, data->frame, data->frame_ms,
            data->frame_ms - data->ms[MEASURE] -
                (specs[spec_of(state)].way == MAPS ? 0 : data->ms[MOVE]),
            relative);
    fclose(file);
    return ABUT_OK;
}

static abut_status finish(bench_state *state) {
    map_data *data = state->data;
    const char *path = getenv("ABUT_BENCH_FRAMES");
    if (data->frame == 0)
        TRY(hash_frame(state, data));
    if (path && specs[spec_of(state)].scene == MAP_LETTERS)
        TRY(write_frame(state, data, path));
    state->hash = data->hash;
    if (data->round > 1 && data->frame_ms < data->least_ms) { /* the first has nothing to move */
        data->least_ms = data->frame_ms;
        memcpy(details.ms, data->ms, sizeof details.ms);
    }
    details.field_error = data->field_error;
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
    way how = specs[which->variant % ON_DEVICE].way;
    bool fields = how == FIELDS || how == FIELDS_PAPER;
    (void)result;
    printf("\n    ms of the quickest:");
    for (int k = 0; k < PHASES; k++)
        if (details.ms[k] > 0)
            printf(" %s %.3f", phase_names[fields][k], details.ms[k]);
    if (fields)
        printf("; 2 x %.0f cells, off by up to %.3g", details.cells, details.field_error);
    else if (how == HAUSDORFF)
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
    MAP_CASE("joined-bodies", "sample", 8, 0),
    MAP_CASE("deviation", "sample", 4, 400),
    MAP_CASE("hausdorff", "triangle", 5, 0),
    MAP_CASE("field-letters", "sample", 6, 0),
    MAP_CASE("field-256-letters", "sample", 7, 0),
    MAP_CASE("device-letters", "sample", ON_DEVICE + 0, 0.5),
    MAP_CASE("device-solids", "sample", ON_DEVICE + 1, 0.6),
    MAP_CASE("device-figure", "sample", ON_DEVICE + 2, 0.5),
    MAP_CASE("device-bodies", "sample", ON_DEVICE + 3, 4),
    MAP_CASE("device-joined-bodies", "sample", ON_DEVICE + 8, 4),
    MAP_CASE("device-deviation", "sample", ON_DEVICE + 4, 0),
    MAP_CASE("device-field-letters", "sample", ON_DEVICE + 6, 0),
    MAP_CASE("device-field-256-letters", "sample", ON_DEVICE + 7, 0),
    {.name = NULL},
};
