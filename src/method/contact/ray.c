/* Ray casts against a signed distance field.
 *
 * Sphere tracing (Hart 1996): the interpolated distance d has Lipschitz constant sqrt(3)
 * (contact_shared.h), so a step of d / sqrt(3) cannot pass a zero. Steps are at least a thousandth
 * of a cell; only thinner parts can be missed. After a change of sign, bisection finds the zero.
 *
 * Cells: traversal of all cells along the ray, in order (Amanatides and Woo 1987). Unlike the
 * Bresenham line of Sundholm 2010 it skips no cell. A cell extends halfway to the neighbouring
 * centres.
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

static field_sample value_at(const cell_ray *r, double t) {
    float at[3];
    position_at(r, t, at);
    return contact_value(&r->field->view, at);
}

static double lower_bound_at(const cell_ray *r, double t) {
    float at[3];
    position_at(r, t, at);
    return contact_lower_bound(&r->field->view, contact_band(r->field), at);
}

/* Clips the ray to the box that extends `around` cells beyond the outer cell centres. Returns false
 * if nothing of it is inside. */
static bool clip_to_grid(cell_ray *r, double border_cells) {
    for (int axis = 0; axis < 3; axis++) {
        double lo = -border_cells, hi = r->field->grid.count[axis] - 1 + border_cells;
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

/* Finds the first cell along the ray with a negative value. */
static bool find_negative_cell(const cell_ray *r, uint32_t cell[3], double *value) {
    double next[3], across[3];
    for (int axis = 0; axis < 3; axis++) {
        double at = r->origin[axis] + r->from * r->direction[axis], w = r->direction[axis];
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
        if (r->direction[axis] > 0 ? cell[axis] + 1 == r->field->grid.count[axis] : cell[axis] == 0)
            return false;
        cell[axis] += r->direction[axis] > 0 ? 1 : UINT32_MAX;
        next[axis] += across[axis];
    }
}

static abut_status check_ray_arguments(const char *function, const abuti_field_body *a,
                                       const abut_ray *ray, double limit,
                                       abut_contact_ray_method method, const void *hit,
                                       contact_motion *at) {
    if (!a || !a->field || !ray || !hit)
        return abuti_null(function, !a          ? "the body"
                                    : !a->field ? "its field"
                                    : !ray      ? "ray"
                                                : "hit");
    abut_status status = abuti_field_host(a->field);
    status = status ? status : abuti_contact_pose(function, "the pose of a", &a->pose, at);
    status = status ? status : abuti_check_numbers(function, "the ray", (const double *)ray, 6);
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

abut_status abut_contact_ray(const abut_collider *collider, const abut_ray *ray, double limit,
                             abut_contact_ray_method method, abut_field_hit *hit) {
    abuti_field_body body, *a = &body;
    contact_motion at;
    abut_status status = abuti_field_body_read(__func__, "a", collider, a);
    status =
        status ? status : check_ray_arguments("abut_contact_ray", a, ray, limit, method, hit, &at);
    if (status)
        return status;
    const abut_grid *grid = &a->field->grid;
    vec3 origin = v3_sub(contact_to_local(&at, ray->origin), grid->origin);
    vec3 direction = contact_rotate_back(&at, ray->direction);
    cell_ray r = {.field = a->field, .length = v3_length(direction), .to = limit};
    for (int axis = 0; axis < 3; axis++) {
        r.origin[axis] = v3_get(origin, axis) / grid->cell;
        r.direction[axis] = v3_get(direction, axis) / grid->cell;
    }
    abut_field_hit found = {.parameter = INFINITY,
                            .reliability = abuti_contact_reliability(a->field, NULL)};
    if (method == ABUT_CONTACT_RAY_TRACE && clip_to_grid(&r, 0)) {
        found.parameter = trace_sphere(&r);
        if (found.parameter < INFINITY) {
            field_sample value = value_at(&r, found.parameter);
            found.normal = v3_normalise(m3_apply(&at.turn, v3(value.x, value.y, value.z)));
            found.depth = found.parameter == 0 ? real_max(0, -value.distance) : 0;
            found.point = v3_along(ray->origin, found.parameter, ray->direction);
        }
    } else if (method == ABUT_CONTACT_RAY_CELLS && clip_to_grid(&r, 0.5)) {
        uint32_t cell[3];
        double value;
        if (find_negative_cell(&r, cell, &value)) {
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
