/* Ray casts against a signed distance field.
 *
 * Sphere tracing (Hart 1996): the interpolated distance d has Lipschitz constant sqrt(3)
 * (contact_shared.h), so a step of d / sqrt(3) cannot pass a zero. Steps are at least a thousandth
 * of a cell; only thinner parts can be missed. After a change of sign, bisection finds the zero.
 */
#include "contact/contact.h"

#include <math.h>

#define MIN_STEP 1e-3 /* cells */
enum { BISECTION_STEPS = 40 };

/* A ray in cells, relative to the first cell centre. Parameters are those of the caller's ray. */
typedef struct cell_ray {
    const abut_field *field;
    double origin[3], direction[3];
    double length; /* of the direction, in world units */
    double from, to;
} cell_ray;

static void position_at(const cell_ray *r, double t, float at[3]) {
    for (int axis = 0; axis < 3; axis++)
        at[axis] = (float)(r->origin[axis] + t * r->direction[axis]);
}

static double lower_bound_at(const cell_ray *r, double t) {
    float at[3];
    position_at(r, t, at);
    return contact_lower_bound(&r->field->view, contact_band(r->field), at);
}

/* Clips the ray to the box of the outer cell centres. Returns false if nothing of it is inside. */
static bool clip_to_grid(cell_ray *r) {
    for (int axis = 0; axis < 3; axis++) {
        double lo = 0, hi = r->field->grid.count[axis] - 1;
        double o = r->origin[axis], w = r->direction[axis];
        if (w == 0) {
            if (o < lo || o > hi)
                return false;
            continue;
        }
        double a = (lo - o) / w, b = (hi - o) / w;
        r->from = real_max(r->from, real_min(a, b));
        r->to = real_min(r->to, real_max(a, b));
    }
    return r->from <= r->to;
}

/* The parameter of the first zero, or infinity. */
static double trace_sphere(const cell_ray *r) {
    double min_step = MIN_STEP * r->field->grid.cell / r->length, before = r->from;
    for (double t = r->from;;) {
        double value = lower_bound_at(r, t);
        if (value <= 0) {
            for (int i = 0; i < BISECTION_STEPS && before < t; i++) {
                double middle = before + 0.5 * (t - before);
                if (lower_bound_at(r, middle) <= 0)
                    t = middle;
                else
                    before = middle;
            }
            return t;
        }
        if (t >= r->to)
            return INFINITY;
        before = t;
        double next = t + real_max(value / ((double)CONTACT_MAX_SLOPE * r->length), min_step);
        t = next > t ? real_min(next, r->to) : r->to; /* rounding may make the step 0 */
    }
}

abut_status abut_contact_ray(const abut_collider *collider, const abut_ray *ray, double limit,
                             abut_field_hit *hit) {
    abuti_field_body a;
    contact_motion at;
    abut_status status = abuti_field_body_read(__func__, "a", collider, &a);
    if (status)
        return status;
    if (!a.field || !ray || !hit)
        return abuti_null(__func__, !a.field ? "the field of a" : !ray ? "ray" : "hit");
    if ((status = abuti_field_host(a.field)))
        return status;
    if ((status = abuti_contact_pose(__func__, "the pose of a", &a.pose, &at)))
        return status;
    if ((status = abuti_check_numbers(__func__, "the ray", (const double *)ray, 6)))
        return status;
    if (v3_max_abs(ray->direction) == 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the direction of the ray is 0", __func__);
    status = abuti_check_range(__func__, "limit", limit, 0, INFINITY,
                               "lengths of the direction of the ray");
    if (status)
        return status;
    const abut_grid *grid = &a.field->grid;
    vec3 origin = v3_sub(contact_to_local(&at, ray->origin), grid->origin);
    vec3 direction = contact_rotate_back(&at, ray->direction);
    cell_ray r = {.field = a.field, .length = v3_length(direction), .to = limit};
    for (int axis = 0; axis < 3; axis++) {
        r.origin[axis] = v3_get(origin, axis) / grid->cell;
        r.direction[axis] = v3_get(direction, axis) / grid->cell;
    }
    abut_field_hit found = {.parameter = clip_to_grid(&r) ? trace_sphere(&r) : INFINITY,
                            .reliability = abuti_contact_reliability(a.field, NULL)};
    if (found.parameter < INFINITY) {
        float place[3];
        position_at(&r, found.parameter, place);
        field_sample value = contact_value(&r.field->view, place);
        found.normal = v3_normalise(m3_apply(&at.turn, v3(value.x, value.y, value.z)));
        found.depth = found.parameter == 0 ? real_max(0, -value.distance) : 0;
        found.point = v3_along(ray->origin, found.parameter, ray->direction);
    }
    *hit = found;
    return ABUT_OK;
}
