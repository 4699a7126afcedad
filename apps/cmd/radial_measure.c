/* Measures the error of radial fields: points on and near the surface of a posed character, with
 * exact signed distances, compared with the values of the fields. */
#include "apps/get.h"
#include "radial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- evaluation points ---- */

/* The normal of a triangle; its length is twice the area. */
static abut_vec3 normal_of(const radial_subject *s, uint32_t triangle) {
    const uint32_t *corner = abut_mesh_indices(s->mesh) + 3 * (size_t)triangle;
    const abut_vec3 u = vec_sub(s->positions[corner[1]], s->positions[corner[0]]),
                    v = vec_sub(s->positions[corner[2]], s->positions[corner[0]]);
    return vec_cross(u, v);
}

/* A low-discrepancy number between 0 and 1: the fractional part of a multiple. */
static double low_discrepancy(size_t i, double share) {
    double at = (double)i * share;
    return at - floor(at);
}

/* Places points with equal area each, triangle by triangle; `normals` have unit length. */
static void place_points(const radial_subject *s, radial_truth *truth, abut_vec3 *normals) {
    const uint32_t triangles = s->of_character.triangle_count;
    const uint32_t *corners = abut_mesh_indices(s->mesh);
    double total = 0, before = 0;
    size_t made = 0;
    for (uint32_t t = 0; t < triangles; t++)
        total += vec_length(normal_of(s, t));
    for (uint32_t t = 0; t < triangles && total > 0; t++) {
        const abut_vec3 normal = normal_of(s, t);
        const double area = vec_length(normal);
        const abut_vec3 a = s->positions[corners[3 * (size_t)t]],
                        b = s->positions[corners[3 * (size_t)t + 1]],
                        c = s->positions[corners[3 * (size_t)t + 2]];
        before += area;
        while (made < truth->count && area > 0 &&
               ((double)made + 0.5) * total <= before * (double)truth->count) {
            /* the plastic number's sequence (Roberts 2018) */
            double u = low_discrepancy(made + 1, 0.7548776662466927),
                   v = low_discrepancy(made + 1, 0.5698402909980532);
            if (u + v > 1) {
                u = 1 - u;
                v = 1 - v;
            }
            truth->on[made] = vec_along(vec_along(a, u, vec_sub(b, a)), v, vec_sub(c, a));
            normals[made] = vec_along((abut_vec3){0, 0, 0}, 1 / area, normal);
            truth->triangle[made++] = t;
        }
    }
    truth->count = made;
}

/* Removes points that are inside on both sides of the surface. */
static void drop_hidden(const radial_subject *s, const abut_bvh *bvh, radial_truth *truth,
                        abut_vec3 *normals) {
    const double off = 1e-4 * s->extent;
    bool *inside = tool_array(2 * (truth->count + 1), sizeof *inside);
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < truth->count; i++)
            truth->near[i] = vec_along(truth->on[i], side ? -off : off, normals[i]);
        const abut_array points = abut_array_host(truth->near);
        ensure(abut_sign_inside_batch(bvh, points, truth->count,
                                      abut_array_host(inside + (size_t)side * truth->count)));
    }
    size_t kept = 0;
    for (size_t i = 0; i < truth->count; i++)
        if (!(inside[i] && inside[truth->count + i])) {
            truth->on[kept] = truth->on[i];
            normals[kept] = normals[i];
            truth->triangle[kept++] = truth->triangle[i];
        }
    truth->hidden = truth->count ? 1 - (double)kept / (double)truth->count : 0;
    truth->count = kept;
}

static void measure_near(const abut_bvh *bvh, double reach, const abut_vec3 *normals,
                         radial_truth *truth) {
    abut_nearest *nearest = tool_array(truth->count + 1, sizeof *nearest);
    for (size_t i = 0; i < truth->count; i++)
        truth->near[i] =
            vec_along(truth->on[i], reach * (2 * low_discrepancy(i + 1, 0.6180339887498949) - 1),
                      normals[i]);
    const abut_array points = abut_array_host(truth->near);
    ensure(abut_sign_nearest_batch(bvh, points, truth->count, HUGE_VAL, abut_array_host(nearest)));
    for (size_t i = 0; i < truth->count; i++)
        truth->exact[i] = nearest[i].distance;
}

void radial_truth_make(tool_run *tool, const radial_subject *s, size_t count, double reach,
                       radial_truth *truth) {
    abut_bvh *bvh = NULL;
    memset(truth, 0, sizeof *truth);
    truth->count = count;
    truth->limit = s->info.cell;
    truth->on = tool_array(count + 1, sizeof *truth->on);
    truth->near = tool_array(count + 1, sizeof *truth->near);
    truth->exact = tool_array(count + 1, sizeof *truth->exact);
    truth->triangle = tool_array(count + 1, sizeof *truth->triangle);
    abut_vec3 *normals = tool_array(count + 1, sizeof *normals);
    progress_start(tool->progress, s->path);
    ensure(abut_bvh_create(s->mesh, NULL, &bvh));
    ensure(abut_sign_prepare(bvh, NULL));
    truth->reliability = get_sign_info(bvh).reliability;
    place_points(s, truth, normals);
    drop_hidden(s, bvh, truth, normals);
    measure_near(bvh, reach, normals, truth);
    abut_bvh_destroy(bvh);
}

/* ---- errors ---- */

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The quantile of sorted values. */
static double at_share(const double *values, size_t count, double share) {
    const size_t at = (size_t)(share * (double)count);
    return !count ? 0 : values[at < count ? at : count - 1];
}

/* Collects the absolute values that are finite, sorted. Returns their number. */
static size_t sort_sizes(const double *errors, size_t count, double *sizes) {
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(errors[i]))
            sizes[used++] = fabs(errors[i]);
    qsort(sizes, used, sizeof *sizes, by_size);
    return used;
}

static void measure_points(const radial_subject *s, const abut_vec3 *points, const double *exact,
                           size_t count, double *errors) {
    abut_radial_answer *answers = tool_array(count + 1, sizeof *answers);
    ensure(abut_radial_evaluate(s->radial, abut_array_host(points), count, 0,
                                abut_array_host(answers)));
    for (size_t i = 0; i < count; i++)
        errors[i] = answers[i].distance - (exact ? exact[i] : 0);
}

static void sum_up(const radial_truth *truth, radial_error *error) {
    double *sizes = tool_array(truth->count + 1, sizeof *sizes);
    const size_t used = sort_sizes(error->near, truth->count, sizes);
    size_t bare = 0, buried = 0;
    for (size_t i = 0; i < used; i++)
        error->mean += sizes[i] / (double)used;
    error->median = at_share(sizes, used, 0.5);
    error->p95 = at_share(sizes, used, 0.95);
    error->p99 = at_share(sizes, used, 0.99);
    for (size_t i = 0; i < truth->count; i++) {
        if (isfinite(error->near[i]) && fabs(error->near[i]) >= fabs(error->most)) {
            error->most = error->near[i];
            error->worst = truth->near[i];
        }
        bare += error->on[i] > truth->limit;
        buried += error->on[i] < -truth->limit;
    }
    const double share = truth->count ? 1.0 / (double)truth->count : 0;
    error->unanswered = share * (double)(truth->count - used);
    error->bare = share * (double)bare;
    error->buried = share * (double)buried;
}

void radial_error_make(const radial_subject *s, const radial_truth *truth, radial_error *error) {
    memset(error, 0, sizeof *error);
    error->on = tool_array(truth->count + 1, sizeof *error->on);
    error->near = tool_array(truth->count + 1, sizeof *error->near);
    measure_points(s, truth->on, NULL, truth->count, error->on);
    measure_points(s, truth->near, truth->exact, truth->count, error->near);
    sum_up(truth, error);
}

/* ---- bones ---- */

static int compare_bone_errors(const void *a, const void *b) {
    const radial_bone_error *x = a, *y = b;
    const double p = x->area * (x->bare + x->buried), q = y->area * (y->bare + y->buried);
    return p > q ? -1 : p < q ? 1 : x->bone < y->bone ? -1 : x->bone > y->bone;
}

/* The bone of the first corner, as an approximation. */
static uint32_t bone_of(const radial_subject *s, uint32_t triangle) {
    uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
    double weights[ABUT_CHARACTER_WEIGHT_COUNT];
    const uint32_t vertex = abut_mesh_indices(s->mesh)[3 * (size_t)triangle];
    return abut_character_weights(s->character, vertex, bones, weights) ? bones[0] : 0;
}

static void blame_bone(const radial_truth *truth, const radial_error *error,
                       const uint32_t *bone_at, uint32_t bone, double *sizes,
                       radial_bone_error *blame) {
    size_t count = 0, bare = 0, buried = 0;
    for (size_t i = 0; i < truth->count; i++)
        if (bone_at[i] == bone) {
            bare += error->on[i] > truth->limit;
            buried += error->on[i] < -truth->limit;
            sizes[count++] = error->on[i];
        }
    const double share = count ? 1.0 / (double)count : 0;
    *blame = (radial_bone_error){bone, (double)count / (double)(truth->count ? truth->count : 1),
                                 share * (double)bare, share * (double)buried, 0};
    const size_t used = sort_sizes(sizes, count, sizes);
    blame->p95 = at_share(sizes, used, 0.95);
}

void radial_bone_errors_make(const radial_subject *s, const radial_truth *truth,
                             const radial_error *error, radial_bone_error **blames,
                             uint32_t *count) {
    const uint32_t bones = s->of_character.bone_count;
    uint32_t *bone_at = tool_array(truth->count + 1, sizeof *bone_at), used = 0;
    double *sizes = tool_array(truth->count + 1, sizeof *sizes);
    radial_bone_error *made = tool_array((bones + (size_t)1), sizeof *made);
    for (size_t i = 0; i < truth->count; i++)
        bone_at[i] = bone_of(s, truth->triangle[i]);
    for (uint32_t b = 0; b < bones; b++) {
        blame_bone(truth, error, bone_at, b, sizes, &made[used]);
        used += made[used].area > 0;
    }
    qsort(made, used, sizeof *made, compare_bone_errors);
    *blames = made;
    *count = used;
}
