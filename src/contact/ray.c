/* Rays against a field.
 *
 * Sphere tracing (Hart 1996): the interpolated distance d changes by at most sqrt(3) times the way
 * (contact_shared.h), so a step of d / sqrt(3) cannot pass a zero. Steps are a thousandth of a cell
 * at least, which is all that can be missed; where the sign has changed, halving finds the place.
 *
 * Cells: those that the ray passes, in order, by the walk of Amanatides & Woo 1987, which leaves
 * none out as the line of Bresenham in the document does. A cell reaches half-way to the next
 * centres.
 */
#include "contact/contact.h"

#include <math.h>

#define LEAST_STEP 1e-3 /* cells */
enum { HALVINGS = 40 };

/* In cells from the first centre on; parameters as the caller's. */
typedef struct cell_ray {
    const abut_field *field;
    double origin[3], way[3];
    double length; /* of the way, in lengths of the world */
    double from, to;
} cell_ray;

static void place_at(const cell_ray *r, double t, float at[3]) {
    for (int axis = 0; axis < 3; axis++)
        at[axis] = (float)(r->origin[axis] + t * r->way[axis]);
}

static field_sample value_at(const cell_ray *r, double t) {
    float at[3];
    place_at(r, t, at);
    return contact_value(&r->field->view, at);
}

static double safe_at(const cell_ray *r, double t) {
    float at[3];
    place_at(r, t, at);
    return contact_safe(&r->field->view, contact_band(r->field), at);
}

/* Cuts the ray to a box that reaches `around` cells beyond the outer centres. */
static bool clip(cell_ray *r, double around) {
    for (int axis = 0; axis < 3; axis++) {
        double lo = -around, hi = r->field->grid.count[axis] - 1 + around;
        double o = r->origin[axis], w = r->way[axis];
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

/* The parameter of the first zero; infinity where there is none. */
static double trace(const cell_ray *r) {
    double least = LEAST_STEP * r->field->grid.cell / r->length, before = r->from;
    for (double t = r->from;;) {
        double value = safe_at(r, t);
        if (value <= 0) {
            for (int i = 0; i < HALVINGS && before < t; i++) {
                double middle = before + 0.5 * (t - before);
                if (safe_at(r, middle) <= 0)
                    t = middle;
                else
                    before = middle;
            }
            return t;
        }
        if (t >= r->to)
            return INFINITY;
        before = t;
        double next = t + real_max(value / ((double)CONTACT_STEEPEST * r->length), least);
        t = next > t ? real_min(next, r->to) : r->to; /* rounding may leave no step */
    }
}

/* The first cell with a negative value; false where there is none. */
static bool walk(const cell_ray *r, uint32_t cell[3], double *value) {
    double next[3], across[3];
    for (int axis = 0; axis < 3; axis++) {
        double at = r->origin[axis] + r->from * r->way[axis], w = r->way[axis];
        double nearest = real_clamp(floor(at + 0.5), 0, r->field->grid.count[axis] - 1);
        cell[axis] = (uint32_t)nearest;
        across[axis] = w != 0 ? 1 / fabs(w) : INFINITY;
        next[axis] = w != 0 ? (nearest + (w > 0 ? 0.5 : -0.5) - r->origin[axis]) / w : INFINITY;
    }
    for (;;) {
        const float at[3] = {(float)cell[0], (float)cell[1], (float)cell[2]};
        *value = contact_value(&r->field->view, at).distance;
        if (*value < 0)
            return true;
        int axis = next[0] < next[1] ? (next[0] < next[2] ? 0 : 2) : (next[1] < next[2] ? 1 : 2);
        if (!(next[axis] <= r->to))
            return false;
        if (r->way[axis] > 0 ? cell[axis] + 1 == r->field->grid.count[axis] : cell[axis] == 0)
            return false;
        cell[axis] += r->way[axis] > 0 ? 1 : UINT32_MAX;
        next[axis] += across[axis];
    }
}

static abut_status check(const char *function, const abut_body *a, const abut_ray *ray,
                         double limit, abut_contact_ray_method method, const void *hit,
                         contact_motion *at) {
    if (!a || !a->field || !ray || !hit)
        return abuti_null(function, !a          ? "the body"
                                    : !a->field ? "its field"
                                    : !ray      ? "ray"
                                                : "hit");
    abut_status status = abuti_field_host(a->field);
    status = status ? status : abuti_contact_pose(function, "the pose of a", &a->pose, at);
    status = status ? status : abuti_contact_check(function, "the ray", (const double *)ray, 6);
    if (!status && v3_max_abs(ray->direction) == 0)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the direction of the ray is 0", function);
    if (!status)
        status = abuti_check_range(function, "limit", limit, 0, INFINITY,
                                   "lengths of the direction of the ray");
    if (!status)
        status = abuti_check_range(function, "method", (unsigned)method, 0, ABUT_CONTACT_RAY_CELLS,
                                   "(abut_contact_ray_method)");
    return status;
}

abut_status abut_contact_ray(const abut_body *a, const abut_ray *ray, double limit,
                             abut_contact_ray_method method, abut_field_hit *hit) {
    contact_motion at;
    abut_status status = check("abut_contact_ray", a, ray, limit, method, hit, &at);
    if (status)
        return status;
    const abut_grid *grid = &a->field->grid;
    vec3 origin = v3_sub(contact_to_local(&at, ray->origin), grid->origin);
    vec3 way = contact_turn_back(&at, ray->direction);
    cell_ray r = {.field = a->field, .length = v3_length(way), .to = limit};
    for (int axis = 0; axis < 3; axis++) {
        r.origin[axis] = v3_get(origin, axis) / grid->cell;
        r.way[axis] = v3_get(way, axis) / grid->cell;
    }
    abut_field_hit found = {.parameter = INFINITY,
                            .reliability = abuti_contact_reliability(a->field, NULL)};
    if (method == ABUT_CONTACT_RAY_TRACE && clip(&r, 0)) {
        found.parameter = trace(&r);
        if (found.parameter < INFINITY) {
            field_sample value = value_at(&r, found.parameter);
            found.normal = v3_normalise(m3_apply(&at.turn, v3(value.x, value.y, value.z)));
            found.depth = found.parameter == 0 ? real_max(0, -value.distance) : 0;
            found.point = v3_along(ray->origin, found.parameter, ray->direction);
        }
    } else if (method == ABUT_CONTACT_RAY_CELLS && clip(&r, 0.5)) {
        uint32_t cell[3];
        double value;
        if (walk(&r, cell, &value)) {
            vec3 centre = grid_centre(grid, cell[0], cell[1], cell[2]);
            found.point = contact_to_world(&at, centre);
            found.parameter = real_clamp(v3_dot(v3_sub(found.point, ray->origin), ray->direction) /
                                             r.length / r.length,
                                         0, limit);
            found.normal = v3_scale(v3_normalise(ray->direction), -1);
            found.depth = -value;
        }
    }
    *hit = found;
    return ABUT_OK;
}

const char *abut_contact_ray_method_name(abut_contact_ray_method method) {
    static const char *const names[] = {"trace", "cells"};
    return ABUTI_NAME(names, method);
}
