/* The first touch of two bodies in motion, by conservative advancement (Mirtich 1996).
 *
 * Let body A turn by w_A and B by w_B in the unit of time, about the origins of their coordinates,
 * which move by v_A and v_B. A point of A that is r from its origin moves, seen from the origin of
 * B, by at most u = |v_A - v_B| + w_A r; seen from the turning axes of B, at a distance D from its
 * origin, by at most u + w_B (D + u t / 2) on average over the next t. The interpolated distance d
 * changes by at most sqrt(3) times the way, so for d over that much the point touches nothing.
 *
 * Edges go on by half of the least distance m along them: it is known to be above m / 2 everywhere
 * by steps of (d - m / 2) / sqrt(3) along the edge. Both kinds of step are never longer than is
 * safe, so they do not pass a touch; a distance above the tolerance gives each a least length, and
 * after ten thousand of them they are a millionth of the whole, so that they come to an end. Beyond
 * the grid the distance is a lower bound, and steeper than sqrt(3) nowhere.
 */
#include "contact/contact.h"

#include <math.h>

#define TOLERANCE 0.05
#define TOLERANCE_LEAST 1e-3
#define LEAST_STEP 1e-6 /* of the whole time or edge, after SAFE_STEPS of them: an end for all */
enum { FEATURES_A_TASK = 256, CHUNKS_MOST = 64, SAFE_STEPS = 10000 };
static const double steepest = (double)CONTACT_STEEPEST;

/* ---- motions ---- */

static contact_motion path_at(const abuti_path *p, double t) {
    abut_pose at = abuti_path_pose(p, t);
    contact_motion m = {quat_matrix(at.rotation), at.translation};
    return m;
}

/* ---- one direction ---- */

typedef struct touch {
    double time;
    size_t feature; /* of the samples, then of the edges */
    contact_found found;
} touch;

typedef struct sweep {
    const abut_field *field;
    const abut_samples *samples;
    const abuti_path *at, *of; /* of the field, of the samples */
    double speed;              /* of one origin seen from the other */
    double tolerance;
    touch best[CHUNKS_MOST];
} sweep;

/* How fast a point may be seen from the field, from time t on. */
static double speed_of(const sweep *s, vec3 point, vec3 seen, double t) {
    double u = s->speed + s->of->angle * v3_length(point);
    return u + s->at->angle * (v3_length(seen) + 0.5 * u * (1 - t));
}

/* A place in the coordinates of the field in cells. */
static void cells_of(const abut_field *field, vec3 p, float at[3]) {
    vec3 from = v3_sub(p, field->grid.origin);
    for (int axis = 0; axis < 3; axis++)
        at[axis] = (float)(v3_get(from, axis) / field->grid.cell);
}

static double distance_of(const abut_field *field, vec3 p) {
    float at[3];
    cells_of(field, p, at);
    return contact_safe(&field->view, contact_band(field), at);
}

/* The next parameter after t, by a safe step as long as there have not been too many. */
static double go_on(double t, double step, int count) {
    if (count >= SAFE_STEPS)
        step = real_max(step, LEAST_STEP);
    return t + step > t ? t + step : nextafter(t, INFINITY);
}

static vec3 seen_at(const contact_motion *at, const contact_motion *of, vec3 point) {
    return contact_to_local(at, contact_to_world(of, point));
}

/* The least distance along a segment, or something up to the tolerance if it is less; nothing is
 * below half of it. */
static double least_along(const sweep *s, vec3 a, vec3 b, double *along) {
    double length = v3_length(v3_sub(b, a)), least = INFINITY;
    double t = 0;
    for (int i = 0;; i++) {
        double value = distance_of(s->field, v3_lerp(a, b, t));
        if (value < least) {
            least = value;
            *along = t;
        }
        if (least <= s->tolerance || t >= 1)
            return least;
        t = real_min(1, go_on(t, (value - 0.5 * least) / (steepest * length), i));
    }
}

/* When a feature touches, if before `limit`. */
static bool first_touch(const sweep *s, size_t feature, double limit, touch *found) {
    const abut_samples_arrays *view = &s->samples->view;
    bool is_edge = feature >= view->count;
    const abut_sample_edge *edge = is_edge ? &view->edges[feature - view->count] : NULL;
    vec3 p = is_edge ? edge->end[0] : view->samples[feature].point, q = is_edge ? edge->end[1] : p;
    double t = 0;
    for (int i = 0; t <= limit && t <= 1; i++) {
        contact_motion at = path_at(s->at, t), of = path_at(s->of, t);
        vec3 a = seen_at(&at, &of, p), b = is_edge ? seen_at(&at, &of, q) : a;
        double along = 0, speed = speed_of(s, p, a, t);
        double value = is_edge ? least_along(s, a, b, &along) : distance_of(s->field, a);
        if (value <= s->tolerance) {
            float place[3];
            cells_of(s->field, v3_lerp(a, b, along), place);
            field_sample sample = contact_value(&s->field->view, place);
            const float none[3] = {0, 0, 0};
            contact_frame frame = abuti_contact_frame(s->field, &at, &of, s->samples->centre,
                                                      2 * fabs(value) + s->tolerance);
            *found = (touch){t, feature, contact_of(&frame, &sample, none)};
            found->found.along = (float)along;
            return t < limit;
        }
        if (is_edge)
            speed = real_max(speed, speed_of(s, q, b, t));
        if (!(speed > 0))
            return false;
        t = go_on(t, (is_edge ? 0.5 : 1) * value / (steepest * speed), i);
    }
    return false;
}

static void sweep_some(void *data, size_t chunk, size_t begin, size_t end) {
    sweep *s = data;
    touch *best = &s->best[chunk];
    best->time = INFINITY;
    for (size_t i = begin; i < end; i++) {
        touch found;
        if (first_touch(s, i, best->time, &found))
            *best = found;
    }
}

/* The first touch of all features, the lowest of them where there are several. */
static touch sweep_all(sweep *s) {
    touch first = {.time = INFINITY};
    if (!s->samples)
        return first;
    size_t count = s->samples->view.count + (size_t)s->samples->view.edge_count;
    size_t grain = count / CHUNKS_MOST + 1;
    grain = grain < FEATURES_A_TASK ? FEATURES_A_TASK : grain;
    abuti_parallel_for(s->field->context, count, grain, sweep_some, s);
    for (size_t i = 0; i < abuti_chunk_count(count, grain); i++)
        if (s->best[i].time < first.time)
            first = s->best[i];
    return first;
}

/* ---- both ---- */

static abut_contact contact_at(const sweep *s, const touch *t, uint32_t side) {
    contact_motion at = path_at(s->at, t->time), of = path_at(s->of, t->time);
    const abut_body field = {.field = s->field}, features = {.samples = s->samples};
    const contact_direction d = {&field, &features, &at, &of, side};
    abut_contact contact = abuti_contact_of(&d, t->feature, &t->found);
    contact.id = contact_id(side, contact.kind, contact.element, contact.part);
    return contact;
}

static abut_status check(const char *function, const abut_body *a, const abut_path *path_a,
                         const abut_body *b, const abut_path *path_b, double tolerance,
                         const void *touch_out) {
    contact_motion unused;
    if (!a || !b || !path_a || !path_b || !touch_out)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: an argument is null", function);
    if (!a->field || !b->field)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: a body has no field", function);
    if (!(tolerance >= 0 && tolerance <= ABUT_COORDINATE_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: tolerance is %g; it must be a length, or 0",
                          function, tolerance);
    abut_status status = abuti_field_host(a->field);
    status = status ? status : abuti_field_host(b->field);
    status = status ? status
                    : abuti_contact_pose(function, "the first pose of a", &path_a->from, &unused);
    status =
        status ? status : abuti_contact_pose(function, "the last pose of a", &path_a->to, &unused);
    status = status ? status
                    : abuti_contact_pose(function, "the first pose of b", &path_b->from, &unused);
    return status ? status
                  : abuti_contact_pose(function, "the last pose of b", &path_b->to, &unused);
}

abut_status abut_contact_sweep(const abut_body *a, const abut_path *path_a, const abut_body *b,
                               const abut_path *path_b, double tolerance, abut_touch *result) {
    abut_status status = check("abut_contact_sweep", a, path_a, b, path_b, tolerance, result);
    if (status)
        return status;
    abuti_path of_a = abuti_path_of(path_a), of_b = abuti_path_of(path_b);
    double cell = real_min(a->field->grid.cell, b->field->grid.cell);
    sweep s = {.field = b->field, .samples = a->samples, .at = &of_b, .of = &of_a};
    s.tolerance = tolerance > 0 ? real_max(tolerance, TOLERANCE_LEAST * cell) : TOLERANCE * cell;
    s.speed = v3_length(v3_sub(of_a.way, of_b.way));
    sweep back = s;
    back.field = a->field;
    back.samples = b->samples;
    back.at = &of_a;
    back.of = &of_b;
    touch there = sweep_all(&s), here = sweep_all(&back);
    abut_touch none = {.time = INFINITY};
    *result = none;
    if (there.time <= here.time && there.time < INFINITY)
        *result = (abut_touch){.time = there.time, .contact = contact_at(&s, &there, 0)};
    else if (here.time < INFINITY)
        *result = (abut_touch){.time = here.time, .contact = contact_at(&back, &here, 1)};
    result->advice = abuti_contact_advice(a->field, b->field);
    return ABUT_OK;
}
