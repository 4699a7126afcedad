/* Rays through primitives, and closest points of their surfaces, in closed form.
 *
 * Every primitive is convex, so that a line is inside it in one interval of parameters. An interval
 * is the intersection of those of slabs and infinite cylinders; for a capsule, which is convex as
 * well, it is the smallest interval that contains those of its cylinder and its two spheres.
 *
 * Quadratic equations are solved from the point of the line that is closest to the centre or axis:
 * the half chord is sqrt(r^2 - m^2), where m is the distance of that point. This loses no digits if
 * the origin of the ray is far away (Ericson 2005, section 5.3.2; Haines and others 2019).
 */
#include "world/query.h"

#include "geom/solid_shared.h"

#include <math.h>

/* ---- intervals of a line ---- */

typedef struct interval {
    double t[2]; /* empty if t[0] > t[1] */
    vec3 normal[2];
} interval;

static interval whole_line(void) {
    const vec3 none = {0, 0, 0};
    return (interval){{-INFINITY, INFINITY}, {none, none}};
}

static interval empty_interval(void) {
    const vec3 none = {0, 0, 0};
    return (interval){{INFINITY, -INFINITY}, {none, none}};
}

static bool is_empty(const interval *i) {
    return !(i->t[0] <= i->t[1]);
}

static interval intersect_intervals(interval a, interval b) {
    if (is_empty(&a) || is_empty(&b))
        return empty_interval();
    if (b.t[0] > a.t[0]) {
        a.t[0] = b.t[0];
        a.normal[0] = b.normal[0];
    }
    if (b.t[1] < a.t[1]) {
        a.t[1] = b.t[1];
        a.normal[1] = b.normal[1];
    }
    return a;
}

static interval join_intervals(interval a, interval b) {
    if (is_empty(&a) || is_empty(&b))
        return is_empty(&a) ? b : a;
    if (b.t[0] < a.t[0]) {
        a.t[0] = b.t[0];
        a.normal[0] = b.normal[0];
    }
    if (b.t[1] > a.t[1]) {
        a.t[1] = b.t[1];
        a.normal[1] = b.normal[1];
    }
    return a;
}

/* Where lo <= height + t slope <= hi, along a unit axis. */
static interval cross_slab(vec3 axis, double height, double slope, double lo, double hi) {
    if (slope == 0)
        return height >= lo && height <= hi ? whole_line() : empty_interval();
    const double to_lo = (lo - height) / slope, to_hi = (hi - height) / slope;
    const vec3 down = contact_negate(axis);
    return slope > 0 ? (interval){{to_lo, to_hi}, {down, axis}}
                     : (interval){{to_hi, to_lo}, {axis, down}};
}

/* Where a line is within `radius` of the origin. */
static interval cross_ball(vec3 origin, vec3 direction, double radius) {
    const double square = v3_dot(direction, direction);
    if (!(square > 0)) /* along the axis of a cylinder */
        return v3_dot(origin, origin) <= radius * radius ? whole_line() : empty_interval();
    const double middle = -v3_dot(origin, direction) / square;
    const vec3 nearest = v3_along(origin, middle, direction);
    const double rest = radius * radius - v3_dot(nearest, nearest);
    if (rest < 0)
        return empty_interval();
    const double half = sqrt(rest / square);
    interval found = {{middle - half, middle + half}, {{0, 0, 0}, {0, 0, 0}}};
    for (int k = 0; k < 2; k++)
        found.normal[k] = v3_normalise(v3_along(nearest, k ? half : -half, direction));
    return found;
}

/* A cylinder around the axis between two points. */
static interval cross_cylinder(const abut_vec3 end[2], double radius, vec3 origin, vec3 direction) {
    const vec3 along = v3_sub(end[1], end[0]), axis = v3_normalise(along),
               from = v3_sub(origin, end[0]);
    const double height = v3_dot(from, axis), slope = v3_dot(direction, axis);
    const interval side =
        cross_ball(v3_along(from, -height, axis), v3_along(direction, -slope, axis), radius);
    return intersect_intervals(side, cross_slab(axis, height, slope, 0, v3_length(along)));
}

static interval cross_box(vec3 half, vec3 origin, vec3 direction) {
    interval found = whole_line();
    for (int k = 0; k < 3; k++) {
        const vec3 axis = v3(k == 0, k == 1, k == 2);
        const double h = v3_get(half, k);
        found = intersect_intervals(found, cross_slab(axis, v3_get(origin, k), v3_get(direction, k),
                                                      -h, h));
    }
    return found;
}

/* Directions are scaled by a power of two to a length of about 1. */
void abuti_query_cross_primitive(const abut_collider *primitive, const abut_ray *ray,
                                 query_crossings *crossings) {
    int exponent;
    frexp(v3_max_abs(ray->direction), &exponent);
    const double half_unit = ldexp(1, -exponent / 2), rest = ldexp(1, -exponent + exponent / 2);
    const vec3 origin = ray->origin,
               direction = v3_scale(v3_scale(ray->direction, half_unit), rest);
    const abut_capsule *c = &primitive->shape.capsule; /* a cylinder has the same layout */
    const abut_sphere *s = &primitive->shape.sphere;
    interval found = empty_interval();
    if (primitive->kind == ABUT_COLLIDER_PLANE) {
        const vec3 normal = v3_normalise(primitive->shape.plane.normal);
        const double offset =
            primitive->shape.plane.offset / v3_length(primitive->shape.plane.normal);
        found = cross_slab(normal, v3_dot(origin, normal), v3_dot(direction, normal), -INFINITY,
                           offset);
        if (v3_dot(direction, normal) == 0) /* a ray in the plane hits it at its origin */
            found = v3_dot(origin, normal) == offset ? (interval){{0, 0}, {normal, normal}}
                                                     : empty_interval();
    } else if (primitive->kind == ABUT_COLLIDER_SPHERE) {
        found = cross_ball(v3_sub(origin, s->centre), direction, s->radius);
    } else if (primitive->kind == ABUT_COLLIDER_BOX) {
        found = cross_box(primitive->shape.half, origin, direction);
    } else if (primitive->kind == ABUT_COLLIDER_CYLINDER) {
        found = cross_cylinder(c->end, c->radius, origin, direction);
    } else if (primitive->kind == ABUT_COLLIDER_CAPSULE) {
        for (int k = 0; k < 2; k++)
            found =
                join_intervals(found, cross_ball(v3_sub(origin, c->end[k]), direction, c->radius));
        if (v3_max_abs(v3_sub(c->end[1], c->end[0])) > 0)
            found = join_intervals(found, cross_cylinder(c->end, c->radius, origin, direction));
    }
    crossings->count = 0;
    for (int k = 0; k < 2 && !is_empty(&found); k++)
        if (fabs(found.t[k]) < INFINITY && !(k && found.t[0] == found.t[1])) {
            crossings->parameter[crossings->count] = found.t[k] * half_unit * rest;
            crossings->normal[crossings->count++] = found.normal[k];
        }
}

/* ---- closest points ---- */

/* Outside, the closest point of the solid; inside, the closest one of the side and both ends. */
static signed_closest closest_on_cylinder(const abut_cylinder *c, vec3 point) {
    const vec3 along = v3_sub(c->end[1], c->end[0]), axis = v3_normalise(along),
               from = v3_sub(point, c->end[0]);
    const double length = v3_length(along), height = v3_dot(from, axis);
    const vec3 off = v3_along(from, -height, axis);
    const double radius = v3_length(off);
    const vec3 out = radius > 0 ? v3_scale(off, 1 / radius) : v3_orthogonal(along);
    double h = real_clamp(height, 0, length), r = real_min(radius, c->radius);
    const bool inside = height >= 0 && height <= length && radius <= c->radius;
    const double to_end = real_min(height, length - height), to_side = c->radius - radius;
    if (inside && to_side <= to_end)
        r = c->radius;
    else if (inside)
        h = height <= length - height ? 0 : length;
    signed_closest closest;
    closest.point = v3_along(v3_along(c->end[0], h, axis), r, out);
    closest.distance = inside ? -real_min(to_side, to_end) : hypot(height - h, radius - r);
    return closest;
}

signed_closest abuti_query_closest_on_primitive(const abut_collider *primitive, vec3 point) {
    const abut_capsule *c = &primitive->shape.capsule;
    const abut_sphere *s = &primitive->shape.sphere;
    switch (primitive->kind) {
    case ABUT_COLLIDER_PLANE:
        return plane_closest_point(primitive->shape.plane.normal, primitive->shape.plane.offset,
                                   point);
    case ABUT_COLLIDER_SPHERE:
        return sphere_closest_point(s->centre, s->radius, point);
    case ABUT_COLLIDER_CAPSULE:
        return capsule_closest_point((segment3){{c->end[0], c->end[1]}}, c->radius, point);
    case ABUT_COLLIDER_CYLINDER:
        return closest_on_cylinder(&primitive->shape.cylinder, point);
    default:
        return box_closest_point((box3){contact_negate(primitive->shape.half),
                                        primitive->shape.half},
                                 point);
    }
}
