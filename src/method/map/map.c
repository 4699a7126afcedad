/* Creation and update of surface distance maps, numbering of samples, and access to texels. */
#include "map/map.h"

#include <string.h>

enum {
    RESOLUTION_DEFAULT = 512,
    RESOLUTION_MAX = 16384,
    PRECISION_STEPS = 64, /* relative width of the last range of resolutions */
    TRIANGLES_PER_TASK = 1024,
    SAMPLES_PER_TASK = 16384
};

/* ---- range ---- */

/* Range of coordinates, as for fields: distances and their squares in floats neither overflow nor
 * lose the size. */
#define COORDINATE_MAX 1e30
#define SIZE_MIN 1e-30

abut_status abuti_map_check_box(const char *function, const char *what, const box3 *box) {
    const double largest = real_max(v3_max_abs(box->lo), v3_max_abs(box->hi));
    if (largest <= COORDINATE_MAX)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s has a coordinate of %g; coordinates must be at most %g in magnitude, "
                      "since distances are floats: use a larger unit of length",
                      function, what, largest, COORDINATE_MAX);
}

/* A mesh whose vertices are all equal is allowed. */
static abut_status check_mesh(const char *function, const abut_mesh *mesh) {
    const box3 *box = &mesh->bounds;
    const double size = v3_max_abs(v3_sub(box->hi, box->lo));
    abut_status status = abuti_map_check_box(function, "the mesh", box);
    if (!status && size > 0 && size < SIZE_MIN)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: the longest side of the mesh's bounding box is %g; it must be at "
                            "least %g, since distances are floats: use a smaller unit of length",
                            function, size, SIZE_MIN);
    return status;
}

/* A distance is rounded to a float, with an error of 2^-24 of it or 2^-150. Points of samples and
 * of moved bodies, and distances, have rounding errors of a few ulp of the largest coordinate
 * (docs/geom.md). */
double abuti_map_rounding(const abut_map *map, double distance) {
    return 0x1p-23 * fabs(distance) + map->rounding + 0x1p-149;
}

/* ---- samples ---- */

static uint32_t count_samples(const map_place *place) {
    uint32_t count = 0, begin, end;
    for (uint32_t j = 0; j < place->height; j++) {
        map_row(place, j, &begin, &end);
        count += end - begin;
    }
    return count;
}

static void list_samples_task(void *data, size_t chunk, size_t first, size_t last) {
    abut_map *map = data;
    (void)chunk;
    for (size_t i = first; i < last; i++) {
        const map_place *place = &map->atlas.places[map->ranked[i]];
        uint32_t at = map->first[i], begin, end;
        for (uint32_t j = 0; j < place->height; j++) {
            map_row(place, j, &begin, &end);
            for (uint32_t x = begin; x < end; x++) {
                uint32_t texel = (place->row + j) * map->atlas.resolution + x;
                map->sample[texel] = at;
                map->texel[at++] = texel;
            }
        }
    }
}

/* Numbers the samples of an atlas in the order of the BVH. */
static abut_status number_samples(abut_map *map) {
    const uint32_t count = map->mesh->triangle_count;
    abut_status status =
        ABUTI_ALLOCATE(map->context, ABUTI_ARRAY(map->ranked, count), ABUTI_ARRAY(map->rank, count),
                       ABUTI_ARRAY(map->first, (size_t)count + 1));
    if (status)
        return status;
    uint32_t samples = 0;
    for (uint32_t i = 0; i < count; i++) {
        map->ranked[i] = map->bvh->order[i];
        map->rank[map->ranked[i]] = i;
        map->first[i] = samples;
        samples += count_samples(&map->atlas.places[map->ranked[i]]);
    }
    map->first[count] = map->sample_count = samples;
    const size_t texels = (size_t)map->atlas.resolution * map->atlas.resolution;
    status = ABUTI_ALLOCATE(map->context, ABUTI_ARRAY(map->texel, samples),
                            ABUTI_ARRAY(map->sample, texels));
    if (status)
        return status;
    memset(map->sample, 0xff, texels * sizeof *map->sample); /* ABUT_NONE */
    abuti_parallel_for(map->context, count, TRIANGLES_PER_TASK, list_samples_task, map);
    return ABUT_OK;
}

uint32_t abuti_map_rank_of(const abut_map *map, uint32_t sample) {
    uint32_t lo = 0, hi = map->mesh->triangle_count;
    while (hi - lo > 1) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (map->first[middle] <= sample)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

double abuti_map_share(const abut_map *map, uint32_t triangle) {
    uint32_t i = map->rank[triangle];
    return abuti_map_area(map->mesh, triangle) / (map->first[i + 1] - map->first[i]);
}

/* Computes area and reach of the current surface. */
static void measure_surface(abut_map *map) {
    if (map->is_measured)
        return;
    map->area = map->reach = 0;
    for (uint32_t i = 0; i < map->mesh->triangle_count; i++) { /* the order of measure.c */
        const uint32_t t = map->ranked[i];
        map->area += abuti_map_area(map->mesh, t);
        map->reach = fmax(map->reach, abuti_map_reach(&map->atlas.places[t], map->mesh, t));
    }
    map->is_measured = true;
}

abut_status abuti_map_bvh(abut_map *map, const abut_bvh **bvh) {
    abut_status status = ABUT_OK;
    if (map->bvh->mesh != map->mesh)
        status = abut_bvh_set_mesh(map->bvh, map->mesh);
    *bvh = map->bvh;
    return status;
}

/* ---- create, set mesh, replace mesh ---- */

static void invalidate_results(abut_map *map) {
    map->last_query = MAP_NO_QUERY;
    map->has_sign = map->has_points = false;
    memset(&map->reliability, 0, sizeof map->reliability);
}

/* Releases everything that depends on the atlas. */
static void release_samples(abut_map *map) {
    ABUTI_RELEASE(map->context, map->ranked, map->first, map->rank, map->texel, map->sample,
                  map->parts, map->points, map->results);
    abuti_map_atlas_destroy(map->context, &map->atlas);
}

void abuti_map_release_others(abut_map *map) {
    for (uint32_t i = 0; i < map->other_count; i++) {
        abut_bvh_destroy((abut_bvh *)(uintptr_t)map->others[i].posed.bvh);
        abut_mesh_destroy(map->others[i].mesh);
    }
    abuti_release(map->context, map->others);
    map->others = NULL;
    map->other_count = 0;
}

void abut_map_destroy(abut_map *map) {
    if (!map)
        return;
    abut_context *context = map->context;
    if (map->backend->destroy)
        map->backend->destroy(map);
    release_samples(map);
    abuti_map_release_others(map);
    abut_topology_destroy(map->topology);
    abut_bvh_destroy(map->bvh);
    abut_mesh_destroy(map->mesh);
    abuti_release(context, map);
    abut_context_destroy(context);
}

static abut_status check_importance(const char *function, const double *importance,
                                    uint32_t count) {
    for (uint32_t t = 0; importance && t < count; t++)
        if (!(importance[t] > 0 && importance[t] <= ABUT_COORDINATE_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: importance[%u] is %g; it must be positive and at most 1e90",
                              function, t, importance[t]);
    return ABUT_OK;
}

/* Lays out a mesh with texture coordinates if options->uv is set, otherwise without. */
static abut_status create_atlas(const char *function, const abut_mesh *mesh,
                                const abut_map_options *options, uint32_t resolution,
                                map_atlas *atlas) {
    return options->uv
               ? abuti_map_charts_create(function, mesh, resolution, options->uv, atlas)
               : abuti_map_atlas_create(function, mesh, resolution, options->importance, atlas);
}

/* Creates a map with a given atlas, or with a new one if `atlas` has no places. */
static abut_status create_map(const char *function, abut_mesh *mesh,
                              const abut_map_options *options, map_atlas *atlas, abut_map **map) {
    abut_map *made = abuti_allocate_zeroed(mesh->context, 1, sizeof *made);
    if (!made) {
        abuti_map_atlas_destroy(mesh->context, atlas);
        return ABUT_ERROR_MEMORY;
    }
    made->context = abuti_context_retain(mesh->context);
    made->options = *options;
    made->options.importance = NULL;
    made->options.uv = NULL;
    made->mesh = abut_mesh_retain(mesh);
    made->atlas = *atlas;
    made->placed = mesh->triangle_count;
    made->backend = options->device ? &abuti_map_on_device : &abuti_map_on_cpu;
    abut_status status;
    if ((status = check_mesh(function, mesh)) ||
        (status = abut_bvh_create(mesh, NULL, &made->bvh)) ||
        (!atlas->places &&
         (status = create_atlas(function, mesh, options, options->resolution, &made->atlas))) ||
        (status = number_samples(made)) ||
        (made->backend->create && (status = made->backend->create(made)))) {
        abut_map_destroy(made);
        return status;
    }
    measure_surface(made);
    made->reach_at_rest = made->reach;
    *map = made;
    return ABUT_OK;
}

/* 512, or more if that is less than 4 texels per triangle. */
static uint32_t default_resolution(uint32_t triangle_count) {
    double wanted = ceil(sqrt(4.0 * triangle_count));
    return wanted > RESOLUTION_MAX       ? RESOLUTION_MAX
           : wanted > RESOLUTION_DEFAULT ? (uint32_t)wanted
                                         : RESOLUTION_DEFAULT;
}

static double reach_of_atlas(const abut_mesh *mesh, const map_atlas *atlas) {
    double reach = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        reach = fmax(reach, abuti_map_reach(&atlas->places[t], mesh, t));
    return reach;
}

/* The resolution to try after `last`, whose reach exceeded the precision by a factor. The reach is
 * nearly proportional to the width of a texel. */
static uint32_t finer_resolution(uint32_t last, double factor) {
    const double wanted = ceil(last * fmin(factor, 2) * (1 + 0x1p-8));
    return (uint32_t)fmin(RESOLUTION_MAX, fmax(last + 1.0, wanted));
}

/* Finds the resolution for options->precision, and creates the atlas. */
static abut_status create_precise_atlas(const char *function, const abut_mesh *mesh,
                                        abut_map_options *options, map_atlas *atlas) {
    double area = 0, reach = HUGE_VAL;
    uint32_t coarse = 0, fine = ABUT_NONE; /* resolutions that are too coarse, and sufficient */
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        area += abuti_map_area(mesh, t);
    const double fewest = ceil(sqrt((double)mesh->triangle_count));
    uint32_t n = (uint32_t)fmin(RESOLUTION_MAX, fmax(fewest, sqrt(area) / options->precision));
    while (fine == ABUT_NONE ? coarse < RESOLUTION_MAX
                             : fine - coarse > 1 + fine / PRECISION_STEPS) {
        map_atlas made;
        abut_status status = create_atlas(function, mesh, options, n, &made);
        if (status && status != ABUT_ERROR_LIMIT) {
            abuti_map_atlas_destroy(mesh->context, atlas);
            return status;
        }
        reach = status ? HUGE_VAL : reach_of_atlas(mesh, &made);
        if (reach <= options->precision) {
            abuti_map_atlas_destroy(mesh->context, atlas);
            *atlas = made;
            fine = n;
        } else {
            abuti_map_atlas_destroy(mesh->context, &made);
            coarse = n;
        }
        n = fine == ABUT_NONE ? finer_resolution(n, reach / options->precision)
                              : coarse + (fine - coarse) / 2;
    }
    options->resolution = fine;
    if (fine != ABUT_NONE)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_LIMIT,
                      "%s: options->precision is %g; the reach of the maximum of %d x %d texels is "
                      "%g; set a precision of at least that",
                      function, options->precision, RESOLUTION_MAX, RESOLUTION_MAX, reach);
}

static abut_status check_map_options(const char *function, const abut_mesh *mesh,
                                     const abut_map_options *options) {
    if (!(options->precision >= 0 && options->precision < HUGE_VAL))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->precision is %g; it must be finite and at least 0",
                          function, options->precision);
    if (options->precision > 0 && options->resolution)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->resolution is %u and options->precision is %g; set only "
                          "one of them",
                          function, options->resolution, options->precision);
    if (options->resolution > RESOLUTION_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->resolution is %u; it must be at most %d", function,
                          options->resolution, RESOLUTION_MAX);
    if (options->uv && options->importance)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->uv determines the number of texels of each triangle; it "
                          "cannot be combined with options->importance",
                          function);
    abut_status status = check_mesh(function, mesh);
    return status ? status : check_importance(function, options->importance, mesh->triangle_count);
}

static abut_status create_layout(const char *function, const abut_mesh *mesh,
                                 abut_map_options *options, map_atlas *atlas) {
    return options->precision > 0
               ? create_precise_atlas(function, mesh, options, atlas)
               : create_atlas(function, mesh, options, options->resolution, atlas);
}

abut_status abut_map_create(abut_mesh *mesh, const abut_map_options *options, abut_map **map) {
    abut_map_options ours = abut_map_options_default();
    map_atlas atlas = {0};
    if (!mesh || !map)
        return abuti_null(__func__, mesh ? "map" : "mesh");
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_map_create: options");
    if (status || (status = check_map_options(__func__, mesh, &ours)))
        return status;
    if (!ours.resolution && !(ours.precision > 0))
        ours.resolution = default_resolution(mesh->triangle_count);
    status = create_layout(__func__, mesh, &ours, &atlas);
    if ((status == ABUT_ERROR_LIMIT || status == ABUT_ERROR_ARGUMENT) && ours.uv &&
        ours.uv_fallback) {
        ours.uv = NULL;
        ours.resolution = ours.precision > 0 ? 0 : ours.resolution;
        status = create_layout(__func__, mesh, &ours, &atlas);
    }
    return status ? status : create_map(__func__, mesh, &ours, &atlas, map);
}

abut_status abut_map_set_mesh(abut_map *map, abut_mesh *mesh) {
    if (!map || !mesh)
        return abuti_null(__func__, map ? "mesh" : "map");
    abut_status status;
    if ((status = abuti_bvh_check_refit(__func__, map->mesh, mesh)) ||
        (status = check_mesh(__func__, mesh)))
        return status;
    abut_mesh_retain(mesh);
    abut_mesh_destroy(map->mesh);
    map->mesh = mesh;
    map->is_measured = false;
    invalidate_results(map);
    return ABUT_OK;
}

static abut_status check_from(const char *function, const abut_map *map, const abut_mesh *mesh,
                              const uint32_t *from) {
    const uint32_t old = map->mesh->triangle_count;
    unsigned char *used = abuti_allocate_zeroed(map->context, old, 1);
    abut_status status = used ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t t = 0; t < mesh->triangle_count && !status; t++)
        if (from[t] != ABUT_NONE && (from[t] >= old || used[from[t]]))
            status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: from[%u] is %u, which %s", function, t,
                                from[t],
                                from[t] >= old ? "is not a triangle of the map"
                                               : "occurs more than once");
        else if (from[t] != ABUT_NONE)
            used[from[t]] = 1;
    abuti_release(map->context, used);
    return status;
}

abut_status abut_map_replace_mesh(abut_map *map, abut_mesh *mesh, const uint32_t *from) {
    if (!map || !mesh)
        return abuti_null(__func__, map ? "mesh" : "map");
    abut_status status = from ? check_from(__func__, map, mesh, from) : ABUT_OK;
    map_atlas atlas = {0};
    uint32_t placed = mesh->triangle_count;
    if (!status && from)
        status = abuti_map_atlas_change(&map->atlas, mesh, from, &atlas, &placed);
    abut_map *made = NULL;
    if (status || (status = create_map(__func__, mesh, &map->options, &atlas, &made)))
        return status;
    made->placed = placed;
    abut_map kept = *map; /* exchanges the contents of both maps */
    *map = *made;
    *made = kept;
    abut_map_destroy(made);
    return ABUT_OK;
}

/* ---- info ---- */

abut_status abut_map_get_info(const abut_map *map, abut_map_info *info) {
    if (!map || !info)
        return abuti_null(__func__, map ? "info" : "map");
    abut_map_info made = abut_map_info_default();
    const double texels = (double)map->atlas.resolution * map->atlas.resolution;
    measure_surface((abut_map *)(uintptr_t)map); /* one user at a time */
    made.resolution = map->atlas.resolution;
    made.sample_count = map->sample_count;
    made.placed = map->placed;
    made.used = map->sample_count / texels;
    made.area = map->area;
    made.density = map->atlas.scale * map->atlas.scale;
    made.uneven = map->atlas.uneven;
    made.reach = map->reach;
    made.reach_at_rest = map->reach_at_rest;
    made.has_distances = map->last_query != MAP_NO_QUERY;
    made.has_sign = map->has_sign;
    made.reliability = map->reliability;
    made.uses_uv = map->atlas.has_charts;
    return abuti_info_write(info, &made, sizeof made, __func__);
}

abut_mesh *abut_map_mesh(const abut_map *map) {
    return map ? map->mesh : NULL;
}

static abut_status check_triangle(const char *function, const abut_map *map, uint32_t triangle,
                                  const void *out, const char *out_name) {
    if (!map || !out)
        return abuti_null(function, map ? out_name : "map");
    if (triangle >= map->mesh->triangle_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: triangle is %u; it must be below %u", function,
                          triangle, map->mesh->triangle_count);
    return ABUT_OK;
}

abut_status abut_map_corners(const abut_map *map, uint32_t triangle, double corners[3][2]) {
    abut_status status = check_triangle(__func__, map, triangle, corners, "corners");
    if (status)
        return status;
    const map_place *p = &map->atlas.places[triangle];
    for (uint32_t k = 0; k < 6 && p->is_chart; k++)
        corners[k / 2][k % 2] = p->at[k / 2][k % 2] / (double)MAP_TEXEL;
    if (p->is_chart)
        return ABUT_OK;
    const double left = p->left, right = left + p->width;
    const double base = p->row + (p->down ? p->height : 0),
                 top = p->row + (p->down ? 0 : p->height);
    const double x[3] = {p->down ? right : left, p->down ? left : right, p->apex};
    for (uint32_t k = 0; k < 3; k++) {
        double *corner = corners[(p->corner + k) % 3];
        corner[0] = x[k] / MAP_TEXEL;
        corner[1] = k == 2 ? top : base;
    }
    return ABUT_OK;
}

abut_status abut_map_reach(const abut_map *map, uint32_t triangle, double *reach) {
    abut_status status = check_triangle(__func__, map, triangle, reach, "reach");
    if (!status)
        *reach = abuti_map_reach(&map->atlas.places[triangle], map->mesh, triangle);
    return status;
}

vec3 abuti_map_point(const abut_map *map, uint32_t triangle, const double weight[3]) {
    const abut_mesh *mesh = map->mesh;
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    return v3_add(mesh->origin, map_point(&mesh->positions[corner[0]], &mesh->positions[corner[1]],
                                          &mesh->positions[corner[2]], weight));
}

abut_status abut_map_sample_at(const abut_map *map, uint32_t x, uint32_t y,
                               abut_map_sample *sample) {
    if (!map || !sample)
        return abuti_null(__func__, map ? "sample" : "map");
    if (x >= map->atlas.resolution || y >= map->atlas.resolution)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: texel (%u, %u) is outside the atlas, which has %u texels along each side",
            __func__, x, y, map->atlas.resolution);
    uint32_t found = map->sample[y * map->atlas.resolution + x];
    memset(sample, 0, sizeof *sample);
    sample->triangle = ABUT_NONE;
    if (found == ABUT_NONE)
        return ABUT_OK;
    sample->triangle = map->ranked[abuti_map_rank_of(map, found)];
    map_weights(&map->atlas.places[sample->triangle], x, y, sample->barycentric);
    sample->point = abuti_map_point(map, sample->triangle, sample->barycentric);
    sample->area = abuti_map_share(map, sample->triangle);
    return ABUT_OK;
}

/* ---- start of queries ---- */

static void points_task(void *data, size_t chunk, size_t begin, size_t end) {
    abut_map *map = data;
    const uint32_t n = map->atlas.resolution;
    (void)chunk;
    for (uint32_t i = abuti_map_rank_of(map, (uint32_t)begin); begin < end; i++) {
        const uint32_t triangle = map->ranked[i];
        const map_place place = map->atlas.places[triangle];
        for (; begin < end && begin < map->first[i + 1]; begin++) {
            double weight[3];
            map_weights(&place, map->texel[begin] % n, map->texel[begin] / n, weight);
            map->points[begin] = abuti_map_point(map, triangle, weight);
        }
    }
}

abut_status abuti_map_reserve_points(abut_map *map) {
    if (!map->points)
        map->points = abuti_allocate(map->context, map->sample_count, sizeof *map->points);
    if (!map->results)
        map->results = abuti_allocate(map->context, map->sample_count, sizeof *map->results);
    if (!map->points || !map->results)
        return ABUT_ERROR_MEMORY;
    if (!map->has_points)
        abuti_parallel_for(map->context, map->sample_count, SAMPLES_PER_TASK, points_task, map);
    map->has_points = true;
    return ABUT_OK;
}

vec3 abuti_map_sample_point(const abut_map *map, uint32_t sample) {
    const uint32_t triangle = map->ranked[abuti_map_rank_of(map, sample)];
    const uint32_t texel = map->texel[sample], n = map->atlas.resolution;
    double weight[3];
    map_weights(&map->atlas.places[triangle], texel % n, texel / n, weight);
    return abuti_map_point(map, triangle, weight);
}

abut_status abuti_map_begin_query(const char *function, abut_map *map, const abut_map_query *query,
                                  abut_map_query *ours) {
    *ours = abut_map_query_default();
    if (!map)
        return abuti_null(function, "map");
    abut_status status = abuti_options_read(ours, sizeof *ours, query, "abut_map_query");
    if (status)
        return status;
    if (!(ours->limit >= 0) || !(ours->geodesic >= 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is %g; it must be 0 or more", function,
                          ours->limit >= 0 ? "geodesic" : "limit",
                          ours->limit >= 0 ? ours->geodesic : ours->limit);
    ours->limit = ours->limit > 0 ? ours->limit : HUGE_VAL;
    map->limit = ours->limit;
    map->rounding =
        MAP_ROUNDING * real_max(v3_max_abs(map->mesh->bounds.lo), v3_max_abs(map->mesh->bounds.hi));
    map->last_query = MAP_NO_QUERY; /* until the query is complete */
    map->has_sign = false;
    map->results_on_host = true;
    map->reliability = abuti_guaranteed("Distances are exact at samples and unsigned.");
    return ABUT_OK;
}

/* ---- texels ---- */

abut_status abuti_map_check_results(const char *function, const abut_map *map) {
    if (!map)
        return abuti_null(function, "map");
    if (map->last_query == MAP_NO_QUERY)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the map has no distances; call abut_map_compute_distance() first",
                          function);
    return ABUT_OK;
}

abut_status abuti_map_check_on_host(const char *function, const abut_map *map) {
    abut_status status = abuti_map_check_results(function, map);
    abut_map *host = (abut_map *)(uintptr_t)map; /* maps have one user at a time */
    if (status || (status = abuti_map_reserve_points(host)) ||
        (!map->results_on_host &&
         (status = map->backend->fetch(map, 0, map->sample_count, map->results))))
        return status;
    host->results_on_host = true;
    return ABUT_OK;
}

typedef struct texel_copy {
    const abut_map *map;
    abut_map_texel *to;
} texel_copy;

static void clear_task(void *data, size_t chunk, size_t begin, size_t end) {
    const texel_copy *c = data;
    abut_map_texel none = map_no_result();
    (void)chunk;
    none.distance = NAN;
    for (size_t i = begin; i < end; i++)
        c->to[i] = none;
}

static void copy_task(void *data, size_t chunk, size_t begin, size_t end) {
    const texel_copy *c = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        c->to[c->map->texel[i]] = c->map->results[i];
}

abut_status abut_map_texels(const abut_map *map, uint64_t capacity, abut_map_texel *texels) {
    abut_status status = abuti_map_check_on_host(__func__, map);
    if (status)
        return status;
    const uint64_t n = map->atlas.resolution;
    if (capacity < n * n)
        return abuti_fail(ABUT_ERROR_BUFFER, "%s: capacity is %llu; it must be at least %llu",
                          __func__, (unsigned long long)capacity, (unsigned long long)(n * n));
    if (!texels)
        return abuti_null(__func__, "texels");
    texel_copy copy = {map, texels};
    abuti_parallel_for(map->context, (size_t)(n * n), SAMPLES_PER_TASK, clear_task, &copy);
    abuti_parallel_for(map->context, map->sample_count, SAMPLES_PER_TASK, copy_task, &copy);
    return ABUT_OK;
}

static const char *const thickness_names[] = {"ray", "ball"};

const char *abut_map_thickness_name(abut_map_thickness kind) {
    return ABUTI_NAME(thickness_names, kind);
}
