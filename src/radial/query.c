/* Points against radial fields, and the surface between samples as a mesh.
 *
 * The nearest triangle of a field is looked for from the cell below the point on: the nine cells
 * around the best one so far, until the best one is in their middle. That is a local minimum; it is
 * the nearest one where the surface is not much more curved than the point is far. The distance is
 * never less than that of the surface between samples.
 *
 * What cannot change the answer is left out, so that answers stay the same bit by bit:
 *   fields      of a group of points, those whose cylinder is beyond the limit of all of them
 *   searches    of a point outside, with no sample that is high enough in any column and row that
 *               the limit reaches (not where `within` is wanted, which looks at all samples)
 *   triangles   with all corners beyond the best distance along some direction; that to the
 *               textbook's closest point, which is nearly the best one. Any direction would do, so
 *               its rounding does no harm
 */
#include "radial/radial.h"

#include "geom/closest_shared.h"

enum {
    POINT_GRAIN = 80, /* a capsule is one task: worlds ask from tasks of their own */
    GROUP = 16,       /* points that share a list of fields */
    LISTED = 64,      /* fields of a list; where there are more, all */
    WINDOW = 256      /* samples that are looked at instead of a search, at most */
};
#define BEYOND (1 + 1e-9) /* more than all rounding of distances */

typedef struct query_work {
    radial_scene scene;
    const vec3 *points;
    abut_radial_answer *answers;
    double limit;
    bool within; /* it is wanted, and samples are on the mesh */
} query_work;

/* The best triangle of a field. */
typedef struct best {
    double distance; /* without sign, in the world */
    vec3 point, normal;
    uint32_t i;
    int j;
    double sample; /* distance of the nearest sample */
} best;

/* Samples are floats: off by some ulps of their radius and of their height, in cells. */
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

/* The corners of the triangles of a cell in the world; false where it is empty. *nearest becomes
 * the distance from p to a corner that is nearer, but for corners on the axis: those of closed ends
 * are not on the mesh. */
static bool triangles_of(const radial_scene *s, uint32_t field, uint32_t i, uint32_t j,
                         triangle3 out[2], vec3 p, double *nearest) {
    const radial_field *f = &s->fields[field];
    vec3 v[4];
    double least = *nearest;
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t column = (i + k % 2) % f->around, row = j + k / 2;
        const float radius = s->radii[f->first + row * f->around + column];
        if (radius == INFINITY)
            return false;
        v[k] = corner_of(s, field, column, row, radius);
        if (radius > 0)
            least = fmin(least, v3_length(v3_sub(v[k], p)));
    }
    *nearest = least;
    out[0] = (triangle3){{v[0], v[1], v[3]}};
    out[1] = (triangle3){{v[0], v[3], v[2]}};
    return true;
}

/* Whether a triangle, relative to a point, is farther away than `distance`, for certain. */
static bool is_beyond(const vec3 v[3], double distance) {
    const vec3 ab = v3_sub(v[1], v[0]), ac = v3_sub(v[2], v[0]), bc = v3_sub(v[2], v[1]);
    const double d1 = -v3_dot(ab, v[0]), d2 = -v3_dot(ac, v[0]), d3 = -v3_dot(ab, v[1]),
                 d4 = -v3_dot(ac, v[1]), d5 = -v3_dot(ab, v[2]), d6 = -v3_dot(ac, v[2]);
    const double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    vec3 way; /* Ericson, Real-Time Collision Detection, 5.1.5 */
    if (d1 <= 0 && d2 <= 0)
        way = v[0];
    else if (d3 >= 0 && d4 <= d3)
        way = v[1];
    else if (d6 >= 0 && d5 <= d6)
        way = v[2];
    else if (vc <= 0 && d1 >= 0 && d3 <= 0)
        way = v3_along(v[0], d1 / (d1 - d3), ab);
    else if (vb <= 0 && d2 >= 0 && d6 <= 0)
        way = v3_along(v[0], d2 / (d2 - d6), ac);
    else if (va <= 0 && d4 >= d3 && d5 >= d6)
        way = v3_along(v[1], (d4 - d3) / ((d4 - d3) + (d5 - d6)), bc);
    else
        way = v3_along(v3_along(v[0], vb / (va + vb + vc), ab), vc / (va + vb + vc), ac);
    const double least =
        real_min(v3_dot(way, v[0]), real_min(v3_dot(way, v[1]), v3_dot(way, v[2])));
    return least > 0 && least * least > distance * distance * v3_length_sq(way) * BEYOND;
}

static void try_cell(const radial_scene *s, uint32_t field, uint32_t i, int j, vec3 p, best *b) {
    triangle3 two[2];
    if (j < 0 || j + 1 >= (int)s->fields[field].along ||
        !triangles_of(s, field, i, (uint32_t)j, two, p, &b->sample))
        return;
    for (int k = 0; k < 2; k++) {
        const vec3 *corner = two[k].corner;
        const vec3 v[3] = {v3_sub(corner[0], p), v3_sub(corner[1], p), v3_sub(corner[2], p)};
        if (is_beyond(v, b->distance))
            continue;
        const vec3 n = v3_normalise(v3_cross(v3_sub(two[k].corner[1], two[k].corner[0]),
                                             v3_sub(two[k].corner[2], two[k].corner[0])));
        if (v3_max_abs(n) == 0)
            continue;
        const closest_on_triangle c = triangle_closest_point(two[k], p);
        if (c.distance < b->distance)
            *b = (best){c.distance, c.point, n, i, j, b->sample};
    }
}

static bool is_sound(vec3 p) {
    const double sum = v3_dot(p, v3(1, 1, 1));
    return v3_max_abs(p) <= ABUT_COORDINATE_MAX && sum == sum;
}

/* No surface of the field is nearer than its cylinder. */
static double gap_of(const radial_scene *s, uint32_t field, const double q[3]) {
    const radial_frame *now = &s->now[field];
    const double r = sqrt(q[0] * q[0] + q[1] * q[1]) * s->unit, up = q[2] * now->step * s->unit;
    const double aside = fmax(r - radial_as_float(s->marks[field].reach) * s->unit, 0);
    const double beyond = fmax(fmax(-up, up - now->length), 0);
    return sqrt(aside * aside + beyond * beyond) * (1 - 1e-6);
}

/* Fields that a group of points may be near to. */
typedef struct field_list {
    uint32_t count;
    const uint32_t *list; /* null: all */
} field_list;

static uint32_t field_of(const field_list *l, uint32_t i) {
    return l->list ? l->list[i] : i;
}

/* Gaps change no faster than places do: those in the middle tell of all. */
static field_list list_fields(const query_work *w, const vec3 *points, size_t count,
                              uint32_t list[LISTED]) {
    const radial_scene *s = &w->scene;
    const field_list all = {s->count, NULL};
    box3 box = box_empty();
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_sound(points[i]))
            return all;
        box = box_join(box, (box3){points[i], points[i]});
    }
    const vec3 middle = box_centre(box);
    const double far = v3_max_abs(v3_max(v3_abs(box.lo), v3_abs(box.hi)));
    const double radius = 0.5 * v3_length(v3_sub(box.hi, box.lo)) * (1 + 1e-6) + 1e-12 * far;
    for (uint32_t f = 0; f < s->count; f++) {
        double q[3];
        if (s->now[f].collapsed)
            continue;
        radial_place(&s->now[f], middle, q);
        if (gap_of(s, f, q) - radius >= w->limit)
            continue;
        if (found == LISTED)
            return all;
        list[found++] = f;
    }
    return (field_list){found, list};
}

/* The field whose cylinder is nearest, which is asked first. */
static uint32_t nearest_field(const radial_scene *s, const field_list *fields, vec3 p) {
    double least = HUGE_VAL;
    uint32_t which = 0;
    for (uint32_t i = 0; i < fields->count && least > 0; i++) {
        const uint32_t f = field_of(fields, i);
        double q[3];
        if (s->now[f].collapsed)
            continue;
        radial_place(&s->now[f], p, q);
        const double gap = gap_of(s, f, q);
        if (gap < least) {
            least = gap;
            which = i;
        }
    }
    return which;
}

/* Whether a point at x, y, z of a field is farther than `limit` from all of its surface, for
 * certain. Surface that is nearer has a height of at least that of the point less the limit, and is
 * in rows and, seen from the axis, in columns that the limit reaches: arcsin t <= t pi / 2. A
 * triangle is no farther from the axis than its corners. */
static bool is_far(const radial_body *b, float x, float y, float z, double limit, double unit) {
    const double r = sqrt((double)x * x + (double)y * y), reach = limit / unit * (1 + 1e-4);
    const double up = reach / b->step + 0.01, aside = 0.25 * b->around * reach / r + 0.05;
    if (!(r > reach) || !(up < WINDOW) || !(aside < b->around / 2))
        return false;
    const int last = (int)b->along - 1;
    const int begin = (int)fmin(fmax(floor(z - up), 0), last),
              end = (int)fmin(fmax(floor(z + up) + 1, 0), last);
    const float turn = radial_angle(x, y, (float)b->around);
    const int from = (int)floor(turn - aside), to = (int)floor(turn + aside) + 1;
    if ((end - begin + 1) * (to - from + 1) > WINDOW)
        return false;
    float highest = 0;
    for (int j = begin; j <= end; j++)
        for (int i = from; i <= to; i++) {
            const uint32_t column =
                (uint32_t)(i < 0 ? i + (int)b->around : i) % b->around;
            const float radius = b->radii[b->first + (uint32_t)j * b->around + column];
            highest = radius < INFINITY && radius > highest ? radius : highest;
        }
    return highest * (1 + 1e-5) < r - reach;
}

static void answer_field(const query_work *w, uint32_t field, vec3 p, abut_radial_answer *answer) {
    const radial_scene *s = &w->scene;
    const radial_frame *now = &s->now[field];
    const radial_body body = radial_body_of(s, field);
    const double limit = fmin(fmax(answer->distance, 0), w->limit);
    double q[3];
    if (now->collapsed)
        return;
    radial_place(now, p, q);
    const double gap = gap_of(s, field, q);
    if (gap >= limit && gap > 0)
        return;
    const float x = radial_float(q[0]), y = radial_float(q[1]), z = radial_float(q[2]);
    radial_spot spot;
    const bool inside = radial_find_spot(&body, x, y, z, 0, &spot) && spot.row >= 0 &&
                        spot.row + 1 < (int)body.along && spot.height < 0;
    if (!inside && !w->within && is_far(&body, x, y, z, limit, s->unit))
        return;
    /* From the cell below, or the nearest row that has one there. */
    best b = {HUGE_VAL, p, v3(0, 0, 0), 0, 0, HUGE_VAL};
    const int rows = (int)body.along - 1, row = (int)radial_range(z, 0, (float)(rows - 1));
    const uint32_t i = radial_find_wedge(&body, x, y).i;
    for (int off = 0; off < rows && b.distance == HUGE_VAL; off++) {
        try_cell(s, field, i, row - off, p, &b);
        try_cell(s, field, i, row + off, p, &b);
    }
    if (b.distance == HUGE_VAL)
        return;
    for (uint32_t step = 0; step < body.around + body.along; step++) {
        const best from = b;
        for (int k = 0; k < 9; k++)
            try_cell(s, field, (from.i + body.around + (uint32_t)(k % 3) - 1) % body.around,
                     from.j + k / 3 - 1, p, &b);
        if (b.i == from.i && b.j == from.j)
            break;
    }
    const double distance = inside ? -b.distance : b.distance;
    const double slack =
        SLACK_CELL * now->step + SLACK_RADIUS * radial_as_float(s->marks[field].reach);
    if (w->within)
        answer->within = fmin(answer->within, b.sample + slack * s->unit);
    if (distance < answer->distance && distance < w->limit)
        *answer = (abut_radial_answer){distance, b.normal, b.point, field, answer->within};
}

static void answer_task(void *data, size_t chunk, size_t begin, size_t end) {
    const query_work *w = data;
    (void)chunk;
    for (size_t group = begin; group < end; group += GROUP) {
        const size_t count = end - group < GROUP ? end - group : GROUP;
        uint32_t list[LISTED];
        const field_list fields = list_fields(w, w->points + group, count, list);
        for (size_t i = group; i < group + count; i++) {
            const vec3 p = w->points[i];
            abut_radial_answer answer = {HUGE_VAL, {0, 0, 0}, p, ABUT_NONE, HUGE_VAL};
            const bool sound = fields.count && is_sound(p);
            const uint32_t first = sound ? nearest_field(&w->scene, &fields, p) : 0;
            for (uint32_t k = 0; sound && k < fields.count; k++)
                answer_field(w, field_of(&fields, k == 0 ? first : k == first ? 0 : k), p, &answer);
            w->answers[i] = answer;
        }
    }
}

static abut_status answer_all(abut_radial *radial, size_t count, const vec3 *points, double limit,
                              bool within, abut_radial_answer *answers) {
    abut_status status = abuti_radial_here(radial);
    if (status)
        return status;
    query_work w = {abuti_radial_scene(radial), points, answers, limit > 0 ? limit : HUGE_VAL,
                    within && radial->info.distance == ABUT_RADIAL_DISTANCE_POLAR};
    abuti_parallel_for(radial->context, count, POINT_GRAIN, answer_task, &w);
    return ABUT_OK;
}

abut_status abuti_radial_near(abut_radial *radial, size_t count, const vec3 *points, double limit,
                              abut_radial_answer *answers) {
    return answer_all(radial, count, points, limit, false, answers);
}

abut_status abut_radial_at(abut_radial *radial, size_t count, abut_array points, double limit,
                           abut_array answers) {
    if (!radial)
        return abuti_null(__func__, "radial");
    if (!(limit >= 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: limit is %g; it must be 0 or more", __func__,
                          limit);
    if (!count)
        return ABUT_OK;
    if (!points.host || !answers.host)
        return points.buffer || answers.buffer
                   ? abuti_fail(ABUT_ERROR_ARGUMENT, "%s: points and answers must be on the host",
                                __func__)
                   : abuti_null(__func__, points.host ? "answers" : "points");
    return answer_all(radial, count, points.host, limit, true, answers.host);
}

/* ---- surface ---- */

abut_status abut_radial_surface(abut_radial *radial, uint32_t field, abut_mesh **mesh) {
    if (!radial || !mesh)
        return abuti_null(__func__, radial ? "mesh" : "radial");
    if (field != ABUT_NONE && field >= radial->info.field_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: there is no field %u; there are %u", __func__,
                          field, radial->info.field_count);
    abut_status status = abuti_radial_here(radial);
    if (status)
        return status;
    const radial_scene s = abuti_radial_scene(radial);
    const uint32_t begin = field == ABUT_NONE ? 0 : field;
    const uint32_t end = field == ABUT_NONE ? s.count : field + 1;
    size_t vertex_count = 0, triangle_count = 0;
    for (uint32_t f = begin; f < end; f++)
        vertex_count += (size_t)s.fields[f].around * s.fields[f].along;
    vec3 *positions = abuti_allocate(radial->context, vertex_count, sizeof *positions);
    uint32_t *indices = abuti_allocate(radial->context, 6 * vertex_count, sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(radial->context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
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
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: there is no surface: all cells are empty",
                          __func__);
    }
    return abuti_mesh_adopt(radial->context, __func__, positions, vertex_count, indices,
                            triangle_count, mesh);
}
