/* Distance queries for points, and the surface between samples as a mesh.
 *
 * The nearest triangle of a field is found by local search from the cell below the point: the nine
 * cells around the best one so far, until the best one is in their centre. This is a local minimum.
 * It is the nearest triangle if the radius of curvature of the surface is not much smaller than the
 * distance. The distance is never smaller than that of the surface between samples.
 *
 * Only work that cannot change the result is skipped, so that results stay equal in all bits:
 *   fields      of a group of points, those whose cylinder is beyond the limit of all points
 *   searches    of a point outside, if no sample in the columns and rows within the limit is high
 *               enough (not if `within` is needed, which uses all samples)
 */
#include "radial/radial.h"

#include "device/array.h"
#include "geom/closest_shared.h"

#include <stdlib.h>

enum {
    POINT_GRAIN = 80,     /* a capsule is one task, since worlds call this from their own tasks */
    GROUP_POINTS = 4,     /* points that share a list of fields */
    LIST_FIELDS_MAX = 64, /* capacity of a list of fields; with more, all fields are used */
    WINDOW_SAMPLES_MAX = 256 /* maximum samples that are tested instead of a search */
};

typedef struct query_work {
    radial_scene scene;
    const vec3 *points;
    abut_radial_answer *answers;
    double limit;
    bool within; /* it is requested, and samples are on the mesh */
} query_work;

/* The best triangle of a field. */
typedef struct best {
    double distance; /* unsigned, in world units */
    vec3 point, normal;
    uint32_t i;
    int j;
    double sample; /* distance of the nearest sample */
} best;

/* Samples are floats: their error is a few ulps of their radius, and of their height in cells. */
#define SLACK_CELL 1e-3
#define SLACK_RADIUS 1e-5

static vec3 corner_of(const radial_scene *s, uint32_t field, uint32_t i, uint32_t j, float radius) {
    const radial_field *f = &s->fields[field];
    const radial_turn turn = s->turns[f->first_turn + i];
    const radial_frame *now = &s->now[field];
    const double up = now->length * j / (f->along - 1), r = radius * s->unit;
    return v3_along(v3_along(v3_along(now->origin, up, now->axis[2]), r * turn.c, now->axis[0]),
                    r * turn.s, now->axis[1]);
}

/* Samples around a cell, `across` of them per row, as points in the world. */
typedef struct patch {
    uint32_t across;
    vec3 places[16];
    float radii[16]; /* infinity: empty */
} patch;

/* Loads samples (i, j) to (i + n - 1, j + n - 1), each as in corner_of(). */
static void fill_patch(const radial_scene *s, uint32_t field, uint32_t i, int j, uint32_t n,
                       patch *to) {
    const radial_field *f = &s->fields[field];
    const radial_frame *now = &s->now[field];
    to->across = n;
    for (uint32_t row = 0; row < n; row++) {
        const int at = j + (int)row;
        const bool is = at >= 0 && at < (int)f->along;
        const float *radii = s->radii + f->first + (is ? (uint32_t)at * f->around : 0);
        const vec3 begin =
            v3_along(now->origin, now->length * (uint32_t)(is ? at : 0) / (f->along - 1),
                     now->axis[2]);
        uint32_t column = i;
        for (uint32_t k = n * row; k < n * row + n; k++, column++) {
            column = column == f->around ? 0 : column;
            to->radii[k] = is ? radii[column] : INFINITY;
            if (to->radii[k] == INFINITY)
                continue;
            const radial_turn turn = s->turns[f->first_turn + column];
            const double r = to->radii[k] * s->unit;
            to->places[k] =
                v3_along(v3_along(begin, r * turn.c, now->axis[0]), r * turn.s, now->axis[1]);
        }
    }
}

/* Measures the triangles of cell (i, j), whose first sample is k, if it has all samples. The
 * nearest sample of *b becomes one of its corners, except those on the axis: samples of closed ends
 * are not on the mesh. */
static void measure_cell(const patch *around, uint32_t k, uint32_t i, int j, vec3 p, bool within,
                         best *b) {
    const uint32_t n = around->across, at[4] = {k, k + 1, k + n, k + n + 1};
    const uint32_t corners[2][3] = {{at[0], at[1], at[3]}, {at[0], at[3], at[2]}};
    for (int c = 0; c < 4; c++)
        if (around->radii[at[c]] == INFINITY)
            return;
    for (int c = 0; c < 4 && within; c++)
        if (around->radii[at[c]] > 0)
            b->sample = fmin(b->sample, v3_length(v3_sub(around->places[at[c]], p)));
    for (int t = 0; t < 2; t++) {
        const vec3 *places = around->places;
        const triangle3 triangle = {
            {places[corners[t][0]], places[corners[t][1]], places[corners[t][2]]}};
        const closest_on_triangle c = triangle_closest_point(triangle, p);
        if (!(c.distance < b->distance))
            continue;
        const vec3 normal = v3_normalise(v3_cross(v3_sub(triangle.corner[1], triangle.corner[0]),
                                                  v3_sub(triangle.corner[2], triangle.corner[0])));
        if (v3_max_abs(normal) > 0)
            *b = (best){c.distance, c.point, normal, i, j, b->sample};
    }
}

/* Measures the cells of a patch of (across - 1) x (across - 1) cells, of which the first is (i, j),
 * except those around `last`, which were not nearer. */
static void measure_patch(const patch *around, uint32_t i, int j, uint32_t columns,
                          const best *last, vec3 p, bool within, best *b) {
    const uint32_t n = around->across - 1;
    for (uint32_t k = 0; k < n * n; k++) {
        const uint32_t aside = last ? (i + k % n + columns - last->i + 1) % columns : 3;
        if (aside >= 3 || abs(j + (int)(k / n) - last->j) >= 2)
            measure_cell(around, k % n + around->across * (k / n), (i + k % n) % columns,
                         j + (int)(k / n), p, within, b);
    }
}

/* Local search for the nearest cell, starting with cell (i, j). */
static best search_field(const radial_scene *s, uint32_t field, uint32_t i, int j, vec3 p,
                         bool within) {
    const radial_field *f = &s->fields[field];
    const int rows = (int)f->along - 1;
    best b = {HUGE_VAL, p, v3(0, 0, 0), 0, 0, HUGE_VAL}, last = b;
    patch around;
    /* that one, or the nearest row that has a cell there */
    for (int off = 0; off < rows && b.distance == HUGE_VAL; off++)
        for (int side = -1; side <= (off ? 1 : -1); side += 2) {
            const int row = j + side * off;
            if (row < 0 || row >= rows)
                continue;
            fill_patch(s, field, i, row, 2, &around);
            measure_patch(&around, i, row, f->around, NULL, p, within, &b);
        }
    for (uint32_t step = 0; b.distance < HUGE_VAL && step < f->around + f->along; step++) {
        const best from = b;
        const uint32_t first = (from.i + f->around - 1) % f->around;
        fill_patch(s, field, first, from.j - 1, 4, &around);
        measure_patch(&around, first, from.j - 1, f->around, step ? &last : NULL, p, within, &b);
        if (b.i == from.i && b.j == from.j)
            break;
        last = from;
    }
    return b;
}

/* A lower bound of the distance to a field: that to its cylinder. */
static double bound_gap(const radial_scene *s, uint32_t field, const double q[3]) {
    const radial_frame *now = &s->now[field];
    const double r = sqrt(q[0] * q[0] + q[1] * q[1]) * s->unit, up = q[2] * now->step * s->unit;
    const double aside = r - radial_as_float(s->marks[field].reach) * s->unit;
    const double beyond = up < 0 ? -up : up - now->length;
    return aside <= 0    ? real_max(beyond, 0) * (1 - 1e-6)
           : beyond <= 0 ? aside * (1 - 1e-6)
                         : sqrt(aside * aside + beyond * beyond) * (1 - 1e-6);
}

/* Fields that a group of points may be near. */
typedef struct field_list {
    uint32_t count;
    uint32_t list[LIST_FIELDS_MAX];
    bool all; /* the capacity was exceeded: list and count are undefined */
} field_list;

static uint32_t field_count(const query_work *w, const field_list *l) {
    return l->all ? w->scene.count : l->count;
}
static uint32_t field_of(const field_list *l, uint32_t i) {
    return l->all ? i : l->list[i];
}

/* Filters a list of fields. Gaps have a Lipschitz constant of 1, so those of the centre of the
 * points bound all. */
static void list_fields(const query_work *w, const field_list *from, const vec3 *points,
                        size_t count, field_list *to) {
    const radial_scene *s = &w->scene;
    box3 box = box_empty();
    to->count = 0;
    to->all = true;
    for (size_t i = 0; i < count; i++) {
        if (!radial_is_in_range(points[i]))
            return;
        box = box_join(box, (box3){points[i], points[i]});
    }
    const vec3 middle = box_centre(box);
    const double far = v3_max_abs(v3_max(v3_abs(box.lo), v3_abs(box.hi)));
    const double radius = 0.5 * v3_length(v3_sub(box.hi, box.lo)) * (1 + 1e-6) + 1e-12 * far;
    for (uint32_t i = 0; i < field_count(w, from); i++) {
        const uint32_t f = field_of(from, i);
        double q[3];
        if (s->now[f].collapsed)
            continue;
        radial_place(&s->now[f], middle, q);
        if (bound_gap(s, f, q) - radius >= w->limit)
            continue;
        if (to->count == LIST_FIELDS_MAX)
            return;
        to->list[to->count++] = f;
    }
    to->all = false;
}

/* Whether a point at x, y, z of a field is certainly farther than `limit` from its surface. A
 * nearer part of the surface has a height of at least that of the point minus the limit. It is in
 * rows and, seen from the axis, in columns within the limit: arcsin t <= t pi / 2. A triangle is
 * not farther from the axis than its corners. */
static bool is_beyond_limit(const radial_body *b, float x, float y, float z, double limit,
                            double unit) {
    const double r = sqrt((double)x * x + (double)y * y), reach = limit / unit * (1 + 1e-4);
    const double up = reach / b->step + 0.01, aside = 0.25 * b->around * reach / r + 0.05;
    if (!(r > reach) || !(up < WINDOW_SAMPLES_MAX) || !(aside < b->around / 2))
        return false;
    const int last = (int)b->along - 1;
    const int begin = (int)fmin(fmax(floor(z - up), 0), last),
              end = (int)fmin(fmax(floor(z + up) + 1, 0), last);
    const float turn = radial_angle(x, y, (float)b->around);
    const int from = (int)floor(turn - aside), to = (int)floor(turn + aside) + 1;
    if ((end - begin + 1) * (to - from + 1) > WINDOW_SAMPLES_MAX)
        return false;
    float highest = 0;
    for (int j = begin; j <= end; j++)
        for (int i = from; i <= to; i++) {
            const uint32_t column = (uint32_t)(i < 0 ? i + (int)b->around : i) % b->around;
            const float radius = b->radii[b->first + (uint32_t)j * b->around + column];
            highest = radius < INFINITY && radius > highest ? radius : highest;
        }
    return highest * (1 + 1e-5) < r - reach;
}

static void query_field(const query_work *w, uint32_t field, vec3 p, abut_radial_answer *answer) {
    const radial_scene *s = &w->scene;
    const radial_frame *now = &s->now[field];
    const radial_body body = radial_body_of(s, field);
    const double limit = fmin(fmax(answer->distance, 0), w->limit);
    double q[3];
    if (now->collapsed)
        return;
    radial_place(now, p, q);
    const double gap = bound_gap(s, field, q);
    if (gap >= limit && gap > 0)
        return;
    const float x = radial_float(q[0]), y = radial_float(q[1]), z = radial_float(q[2]);
    radial_cell_position spot;
    const bool inside = radial_locate(&body, x, y, z, 0, &spot) && spot.row >= 0 &&
                        spot.row + 1 < (int)body.along && spot.height < 0;
    if (!inside && !w->within && is_beyond_limit(&body, x, y, z, limit, s->unit))
        return;
    const int row = (int)radial_clamp(z, 0, (float)((int)body.along - 2));
    const best b = search_field(s, field, radial_find_wedge(&body, x, y).i, row, p, w->within);
    if (b.distance == HUGE_VAL)
        return;
    const double distance = inside ? -b.distance : b.distance;
    const double slack =
        SLACK_CELL * now->step + SLACK_RADIUS * radial_as_float(s->marks[field].reach);
    if (w->within)
        answer->within = fmin(answer->within, b.sample + slack * s->unit);
    if (distance < answer->distance && distance < w->limit)
        *answer = (abut_radial_answer){distance, b.normal, b.point, field, answer->within};
}

/* Consecutive points are often close in space: halves of a group have shorter lists. */
static void query_group(const query_work *w, const field_list *from, size_t begin, size_t end) {
    field_list fields;
    list_fields(w, from, w->points + begin, end - begin, &fields);
    const uint32_t count = field_count(w, &fields);
    if (count && end - begin > GROUP_POINTS) {
        const size_t half = begin + (end - begin) / 2;
        query_group(w, &fields, begin, half);
        query_group(w, &fields, half, end);
        return;
    }
    for (size_t i = begin; i < end; i++) {
        const vec3 p = w->points[i];
        abut_radial_answer answer = {HUGE_VAL, {0, 0, 0}, p, ABUT_NONE, HUGE_VAL};
        for (uint32_t k = 0; k < count && radial_is_in_range(p); k++)
            query_field(w, field_of(&fields, k), p, &answer);
        if (answer.field != ABUT_NONE && fabs(answer.distance) > answer.within)
            answer.distance = copysign(answer.within, answer.distance);
        w->answers[i] = answer;
    }
}

static void query_task(void *data, size_t chunk, size_t begin, size_t end) {
    const field_list all = {.all = true};
    (void)chunk;
    query_group(data, &all, begin, end);
}

static abut_status query_all_points(abut_radial *radial, size_t count, const vec3 *points,
                                    double limit, bool within, abut_radial_answer *answers) {
    abut_status status = abuti_radial_download(radial);
    if (status)
        return status;
    query_work w = {abuti_radial_scene(radial), points, answers, limit > 0 ? limit : HUGE_VAL,
                    within};
    abuti_parallel_for(radial->context, count, POINT_GRAIN, query_task, &w);
    return ABUT_OK;
}

abut_status abuti_radial_find_nearest(abut_radial *radial, size_t count, const vec3 *points,
                                      double limit, abut_radial_answer *answers) {
    return query_all_points(radial, count, points, limit, false, answers);
}

abut_status abut_radial_evaluate(abut_radial *radial, abut_array points, size_t count, double limit,
                                 abut_array answers) {
    if (!radial)
        return abuti_null(__func__, "radial");
    if (!(limit >= 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: limit is %g; it must be at least 0", __func__,
                          limit);
    if (!count)
        return ABUT_OK;
    if (!points.host || !answers.host)
        return points.buffer || answers.buffer
                   ? abuti_fail(ABUT_ERROR_ARGUMENT,
                                "%s: points and answers must be host arrays, not device buffers",
                                __func__)
                   : abuti_null(__func__, points.host ? "answers" : "points");
    void *copy;
    abut_status status = abuti_array_check_plain(__func__, "answers", answers);
    if (status)
        return status;
    status = abuti_array_convert(__func__, "points", radial->context, &points, count, 3, &copy);
    if (!status)
        status = query_all_points(radial, count, points.host, limit, true, answers.host);
    abuti_release(radial->context, copy);
    return status;
}

/* ---- surface ---- */

abut_status abut_radial_surface(abut_radial *radial, uint32_t field, abut_mesh **mesh) {
    if (!radial || !mesh)
        return abuti_null(__func__, radial ? "mesh" : "radial");
    if (field != ABUT_NONE && field >= radial->info.field_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: field is %u; it must be below %u", __func__,
                          field, radial->info.field_count);
    abut_status status = abuti_radial_download(radial);
    if (status)
        return status;
    const radial_scene s = abuti_radial_scene(radial);
    const uint32_t begin = field == ABUT_NONE ? 0 : field;
    const uint32_t end = field == ABUT_NONE ? s.count : field + 1;
    size_t vertex_count = 0, triangle_count = 0;
    for (uint32_t f = begin; f < end; f++)
        vertex_count += (size_t)s.fields[f].around * s.fields[f].along;
    vec3 *positions;
    uint32_t *indices;
    status = ABUTI_ALLOCATE(radial->context, ABUTI_ARRAY(positions, vertex_count),
                            ABUTI_ARRAY(indices, 6 * vertex_count));
    if (status)
        return status;
    uint32_t base = 0;
    for (uint32_t k = begin; k < end; k++) {
        const radial_field *f = &s.fields[k];
        const uint32_t n = f->around;
        for (uint32_t c = 0; c < n * f->along; c++) {
            const float radius = s.radii[f->first + c];
            positions[base + c] = corner_of(&s, k, c % n, c / n, radius == INFINITY ? 0 : radius);
        }
        for (uint32_t c = 0; c < n * (f->along - 1) && !s.now[k].collapsed; c++) {
            const uint32_t next = c % n + 1 == n ? c + 1 - n : c + 1;
            const uint32_t v[4] = {c, next, c + n, next + n};
            const uint32_t two[6] = {v[0], v[1], v[3], v[0], v[3], v[2]};
            bool empty = false;
            for (int i = 0; i < 4; i++)
                empty |= s.radii[f->first + v[i]] == INFINITY;
            for (int i = 0; i < 6 && !empty; i++)
                indices[3 * triangle_count + (size_t)i] = base + two[i];
            triangle_count += empty ? 0 : 2;
        }
        base += n * f->along;
    }
    if (!triangle_count) {
        ABUTI_RELEASE(radial->context, positions, indices);
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the field has no surface, since all its cells are empty", __func__);
    }
    return abuti_mesh_adopt(radial->context, __func__, positions, vertex_count, indices,
                            triangle_count, mesh);
}
