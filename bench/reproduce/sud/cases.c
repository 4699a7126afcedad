/* Cases: surface distance maps by the algorithm of the paper (rasterised.h), on the scenes of
 * bench/map.c: letters (figure 3), solids (figure 7), figure (figure 1), and scans, two surfaces of
 * 100,000 triangles that nearly coincide. One run is a frame: both maps get new vertices, are
 * computed, and are scanned. The algorithm has one thread.
 *
 * ABUT_BENCH_SUD names a file that gets a line of JSON for each run: the processor time of the
 * frame, then of the same frame by the library with one thread, and of two distance fields with 256
 * cells along the longest side (figure 8); and how texels differ. */
#include "bench.h"
#include "map_scenes.h"
#include "rasterised.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BODIES = 2, FIELD_CELLS = 256 };

static const struct {
    map_scene_kind scene;
    uint32_t resolution, quick_resolution;
} specs[] = {{MAP_LETTERS, 512, 64},
             {MAP_SOLIDS, 512, 64},
             {MAP_FIGURE, 256, 48},
             {MAP_SCANS, 1040, 64}};

typedef struct sud_data {
    map_scene scene;
    uint32_t resolution, round, frame;
    double frame_ms;
    uint64_t hash;
    abut_map *maps[BODIES];
    abut_bvh *bvhs[BODIES];
    sud_map *theirs[BODIES];
    sud_counts counts[BODIES];
    sud_measures measures[BODIES];
    sud_texel *texels;
    abut_map_texel *ours;
    FILE *lines;
} sud_data;

static double processor_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static abut_status setup(bench_state *state) {
    sud_data *data = state->data;
    const int spec = state->which->variant;
    const char *path = getenv("ABUT_BENCH_SUD");
    abut_map_options options = abut_map_options_default();
    data->resolution = options.resolution =
        state->quick ? specs[spec].quick_resolution : specs[spec].resolution;
    TRY(map_scene_make(state, specs[spec].scene, &data->scene));
    for (uint32_t i = 0; i < BODIES; i++) {
        MAKE(data->maps[i], abut_map_create(data->scene.rest[i], &options, &data->maps[i]));
        MAKE(data->bvhs[i], abut_bvh_create(data->scene.rest[i], NULL, &data->bvhs[i]));
        TRY(abut_sign_prepare(data->bvhs[i], NULL));
    }
    for (uint32_t i = 0; i < BODIES; i++) {
        abut_map_info info = abut_map_info_default();
        TRY(sud_map_create(data->maps[i], data->scene.rest[1 - i], &data->theirs[i]));
        TRY(abut_map_get_info(data->maps[i], &info));
        state->elements += info.sample_count;
    }
    const size_t texels = (size_t)data->resolution * data->resolution;
    data->texels = bench_array(state, texels, sizeof *data->texels);
    data->ours = bench_array(state, texels, sizeof *data->ours);
    if (path && path[0] && !(data->lines = fopen(path, "a")))
        return bench_fail(ABUT_ERROR_FILE, "%s: cannot be written", path);
    return ABUT_OK;
}

/* The meshes of the frame. */
static abut_mesh *const *meshes_of(const sud_data *data) {
    abut_mesh **moved = data->scene.moved + (size_t)data->frame * BODIES;
    return moved[0] ? moved : data->scene.rest;
}

static abut_status run(bench_state *state) {
    sud_data *data = state->data;
    data->frame = data->round++ % data->scene.frames;
    abut_mesh *const *moved = meshes_of(data);
    const double start = processor_ms();
    for (uint32_t i = 0; i < BODIES; i++) {
        TRY(sud_map_set_meshes(data->theirs[i], moved[i], moved[1 - i]));
        data->counts[i] = sud_map_compute(data->theirs[i]);
        data->measures[i] = sud_map_scan(data->theirs[i]);
    }
    data->frame_ms = processor_ms() - start;
    return ABUT_OK;
}

/* ---- comparison ---- */

static abut_status run_ours(sud_data *data, double *ms) {
    abut_mesh *const *moved = meshes_of(data);
    const double start = processor_ms();
    for (uint32_t i = 0; i < BODIES; i++) {
        TRY(abut_map_set_mesh(data->maps[i], moved[i]));
        TRY(abut_bvh_set_mesh(data->bvhs[i], moved[i]));
    }
    for (uint32_t i = 0; i < BODIES; i++) {
        const abut_collider other = abut_collider_from_bvh(data->bvhs[1 - i], abut_pose_identity());
        abut_map_measures measures = abut_map_measures_default();
        TRY(abut_map_compute_distance(data->maps[i], &other, 1, NULL));
        TRY(abut_map_measure(data->maps[i], NULL, NULL, &measures));
    }
    *ms = processor_ms() - start;
    return ABUT_OK;
}

/* The construction of a field of each body, over the box of both. */
static abut_status run_fields(const bench_state *state, sud_data *data, double *ms) {
    const double cells = state->quick ? 16 : FIELD_CELLS, start = processor_ms();
    const abut_box a = abut_mesh_bounds(abut_bvh_mesh(data->bvhs[0])),
                   b = abut_mesh_bounds(abut_bvh_mesh(data->bvhs[1]));
    const abut_vec3 lo = {fmin(a.lo.x, b.lo.x), fmin(a.lo.y, b.lo.y), fmin(a.lo.z, b.lo.z)};
    const double side[3] = {fmax(a.hi.x, b.hi.x) - lo.x, fmax(a.hi.y, b.hi.y) - lo.y,
                            fmax(a.hi.z, b.hi.z) - lo.z};
    for (uint32_t i = 0; i < BODIES; i++) {
        abut_field_options options = abut_field_options_default();
        abut_field *field = NULL;
        options.grid.origin = lo;
        options.grid.cell = fmax(side[0], fmax(side[1], side[2])) / (cells - 1);
        for (int k = 0; k < 3; k++)
            options.grid.count[k] = (uint32_t)ceil(side[k] / options.grid.cell) + 1;
        TRY(abut_field_create_from(data->bvhs[i], &options, &field));
        abut_field_destroy(field);
    }
    *ms = processor_ms() - start;
    return ABUT_OK;
}

typedef struct difference {
    double max, sum; /* of distances that agree in sign, relative to the size of the bodies */
    uint64_t count, missing, signs;
} difference;

/* Compares the texels of a map. */
static abut_status compare_texels(sud_data *data, uint32_t body, difference *d) {
    const size_t texels = (size_t)data->resolution * data->resolution;
    const abut_box box = abut_mesh_bounds(data->scene.rest[body]);
    const double size = fmax(box.hi.x - box.lo.x, fmax(box.hi.y - box.lo.y, box.hi.z - box.lo.z));
    TRY(abut_map_texels(data->maps[body], texels, data->ours));
    sud_map_texels(data->theirs[body], data->texels);
    for (size_t i = 0; i < texels; i++) {
        const double mine = data->ours[i].distance, his = data->texels[i].distance;
        if (isnan(mine))
            continue;
        d->count++;
        d->missing += isinf(his) != 0;
        if (isinf(his))
            continue;
        const double apart = fabs(fabs(mine) - fabs(his)) / size;
        d->signs += (mine < 0) != (his < 0) && fabs(mine) > 1e-5 * size;
        d->max = fmax(d->max, apart);
        d->sum += apart;
    }
    return ABUT_OK;
}

static abut_status write_line(bench_state *state, sud_data *data) {
    difference d = {0};
    double ours_ms, field_ms;
    TRY(run_ours(data, &ours_ms));
    TRY(run_fields(state, data, &field_ms));
    for (uint32_t i = 0; i < BODIES; i++)
        TRY(compare_texels(data, i, &d));
    const sud_counts *a = &data->counts[0], *b = &data->counts[1];
    fprintf(data->lines,
            "{\"case\": \"%s\", \"frame\": %u, \"theirs_ms\": %.4g, \"ours_ms\": %.4g, "
            "\"field_ms\": %.4g, \"pairs\": %llu, \"polygons\": %llu, \"fragments\": %llu, "
            "\"samples\": %llu, \"missing\": %llu, \"signs\": %llu, \"max_error\": %.4g, "
            "\"mean_error\": %.4g}\n",
            state->which->name, data->frame, data->frame_ms, ours_ms, field_ms,
            (unsigned long long)(a->pairs + b->pairs),
            (unsigned long long)(a->polygons + b->polygons),
            (unsigned long long)(a->fragments + b->fragments), (unsigned long long)d.count,
            (unsigned long long)d.missing, (unsigned long long)d.signs, d.max,
            d.sum / (double)(d.count - d.missing));
    return ABUT_OK;
}

/* Of the first frame. Sites of equal distance may differ between compilers. */
static void hash_texels(sud_data *data) {
    const size_t texels = (size_t)data->resolution * data->resolution;
    data->hash = 1;
    for (uint32_t i = 0; i < BODIES; i++) {
        sud_map_texels(data->theirs[i], data->texels);
        for (size_t k = 0; k < texels; k++)
            data->hash = bench_hash(data->hash, &data->texels[k].distance, sizeof(float));
    }
}

static abut_status finish(bench_state *state) {
    sud_data *data = state->data;
    if (data->frame == 0)
        hash_texels(data);
    state->hash = data->hash;
    return data->lines ? write_line(state, data) : ABUT_OK;
}

static void teardown(bench_state *state) {
    sud_data *data = state->data;
    for (uint32_t i = 0; i < BODIES; i++)
        sud_map_destroy(data->theirs[i]);
    if (data->lines)
        fclose(data->lines);
}

#define SUD_CASE(name_, variant_)                                                               \
    {                                                                                           \
        .name = "sud/" name_, .unit = "sample", .data_bytes = sizeof(sud_data), .setup = setup, \
        .run = run, .finish = finish, .teardown = teardown, .variant = variant_                 \
    }

const bench_case bench_sud_cases[] = {
    SUD_CASE("letters", 0), SUD_CASE("solids", 1), SUD_CASE("figure", 2),
    SUD_CASE("scans", 3),   {.name = NULL},
};
