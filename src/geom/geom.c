/* The public functions of <abut/geom.h>: argument checks around the shared headers, in double. */
#include "geom/distance_shared.h"
#include "geom/solid_shared.h"

#include "base/base.h"

/* ---- checks ---- */

static abut_status check_pointer(const char *function, const char *what, const void *pointer) {
    if (pointer)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null; pass its address", function, what);
}

static abut_status check_number(const char *function, const char *what, double x, double lo,
                                double hi) {
    if (x >= lo && x <= hi)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is %g; it must be a number from %g to %g",
                      function, what, x, lo, hi);
}

static abut_status check_points(const char *function, const char *what, const abut_vec3 *points,
                                int count) {
    for (int i = 0; i < count; i++) {
        abut_vec3 p = points[i];
        if (fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
            fabs(p.z) <= ABUT_COORDINATE_MAX)
            continue;
        char position[16] = "";
        if (count > 1)
            snprintf(position, sizeof position, "[%d]", i);
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s%s is (%g, %g, %g); coordinates must be finite and at most %g in "
                          "magnitude",
                          function, what, position, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
    }
    return ABUT_OK;
}

static abut_status check_point(const char *function, const char *what, abut_vec3 point) {
    return check_points(function, what, &point, 1);
}

static abut_status check_segment(const char *function, const char *what, const abut_segment *s) {
    abut_status status = check_pointer(function, what, s);
    return status ? status : check_points(function, what, s->end, 2);
}

static abut_status check_triangle(const char *function, const char *what, const abut_triangle *t) {
    abut_status status = check_pointer(function, what, t);
    return status ? status : check_points(function, what, t->corner, 3);
}

static abut_status check_box(const char *function, const abut_box *box) {
    abut_status status = check_pointer(function, "box", box);
    status = status ? status : check_point(function, "box->lo", box->lo);
    status = status ? status : check_point(function, "box->hi", box->hi);
    if (status)
        return status;
    if (box->lo.x <= box->hi.x && box->lo.y <= box->hi.y && box->lo.z <= box->hi.z)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: the box has lo (%g, %g, %g) beyond hi (%g, %g, %g); lo must not exceed "
                      "hi on any axis",
                      function, box->lo.x, box->lo.y, box->lo.z, box->hi.x, box->hi.y, box->hi.z);
}

/* ---- closest points ---- */

abut_status abut_segment_closest_point(const abut_segment *segment, abut_vec3 point,
                                       abut_closest_on_segment *closest) {
    abut_status status = check_segment(__func__, "segment", segment);
    status = status ? status : check_point(__func__, "point", point);
    status = status ? status : check_pointer(__func__, "closest", closest);
    if (!status)
        *closest = segment_closest_point(*segment, point);
    return status;
}

abut_status abut_triangle_closest_point(const abut_triangle *triangle, abut_vec3 point,
                                        abut_closest_on_triangle *closest) {
    abut_status status = check_triangle(__func__, "triangle", triangle);
    status = status ? status : check_point(__func__, "point", point);
    status = status ? status : check_pointer(__func__, "closest", closest);
    if (!status)
        *closest = triangle_closest_point(*triangle, point);
    return status;
}

abut_status abut_segment_segment_closest(const abut_segment *a, const abut_segment *b,
                                         abut_closest_pair *closest) {
    abut_status status = check_segment(__func__, "a", a);
    status = status ? status : check_segment(__func__, "b", b);
    status = status ? status : check_pointer(__func__, "closest", closest);
    if (!status)
        *closest = segment_segment_closest(*a, *b);
    return status;
}

abut_status abut_triangle_triangle_closest(const abut_triangle *a, const abut_triangle *b,
                                           abut_closest_pair *closest) {
    abut_status status = check_triangle(__func__, "a", a);
    status = status ? status : check_triangle(__func__, "b", b);
    status = status ? status : check_pointer(__func__, "closest", closest);
    if (!status)
        *closest = triangle_triangle_closest(*a, *b);
    return status;
}

/* ---- intersections ---- */

abut_status abut_triangle_triangle_meet(const abut_triangle *a, const abut_triangle *b,
                                        abut_meeting *meeting, abut_segment *segment) {
    abut_status status = check_triangle(__func__, "a", a);
    status = status ? status : check_triangle(__func__, "b", b);
    status = status ? status : check_pointer(__func__, "meeting", meeting);
    if (!status)
        *meeting = triangle_triangle_meet(*a, *b, segment);
    return status;
}

abut_status abut_segment_triangle_meet(const abut_segment *segment, const abut_triangle *triangle,
                                       bool *meet, abut_vec3 *point) {
    abut_status status = check_segment(__func__, "segment", segment);
    status = status ? status : check_triangle(__func__, "triangle", triangle);
    status = status ? status : check_pointer(__func__, "meet", meet);
    if (status)
        return status;
    path3 path = segment_path(*segment);
    path_hit hit;
    *meet = path_triangle_meet(&path, *triangle, point ? &hit : NULL);
    if (*meet && point)
        *point = path_point(&path, hit.parameter);
    return ABUT_OK;
}

abut_status abut_ray_triangle_meet(const abut_ray *ray, const abut_triangle *triangle, bool *meet,
                                   abut_ray_triangle_hit *hit) {
    abut_status status = check_pointer(__func__, "ray", ray);
    status = status ? status : check_point(__func__, "ray->origin", ray->origin);
    status = status ? status : check_point(__func__, "ray->direction", ray->direction);
    status = status ? status : check_triangle(__func__, "triangle", triangle);
    status = status ? status : check_pointer(__func__, "meet", meet);
    if (status)
        return status;
    if (v3_max_abs(ray->direction) == 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: ray->direction is zero; it may have any length but that", __func__);
    path3 path = ray_path(*ray);
    path_hit found;
    *meet = path_triangle_meet(&path, *triangle, hit ? &found : NULL);
    if (*meet && hit) {
        hit->parameter = found.parameter;
        for (int i = 0; i < 3; i++)
            hit->barycentric[i] = found.weight[i];
    }
    return ABUT_OK;
}

abut_status abut_box_triangle_meet(const abut_box *box, const abut_triangle *triangle, bool *meet) {
    abut_status status = check_box(__func__, box);
    status = status ? status : check_triangle(__func__, "triangle", triangle);
    status = status ? status : check_pointer(__func__, "meet", meet);
    if (!status)
        *meet = box_triangle_meet(*box, *triangle);
    return status;
}

/* ---- solids ---- */

abut_status abut_plane_closest_point(abut_vec3 normal, double offset, abut_vec3 point,
                                     abut_signed_closest *closest) {
    abut_status status = check_point(__func__, "normal", normal);
    status = status ? status : check_point(__func__, "point", point);
    status = status ? status : check_pointer(__func__, "closest", closest);
    if (status)
        return status;
    double size = v3_max_abs(normal);
    if (size == 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: normal is zero; it may have any length but that", __func__);
    status = check_number(__func__, "offset over the length of normal", offset / size,
                          -ABUT_COORDINATE_MAX, ABUT_COORDINATE_MAX);
    if (!status)
        *closest = plane_closest_point(normal, offset, point);
    return status;
}

abut_status abut_sphere_closest_point(abut_vec3 centre, double radius, abut_vec3 point,
                                      abut_signed_closest *closest) {
    abut_status status = check_point(__func__, "centre", centre);
    status = status ? status : check_number(__func__, "radius", radius, 0, ABUT_COORDINATE_MAX);
    status = status ? status : check_point(__func__, "point", point);
    status = status ? status : check_pointer(__func__, "closest", closest);
    if (!status)
        *closest = sphere_closest_point(centre, radius, point);
    return status;
}

abut_status abut_capsule_closest_point(const abut_segment *axis, double radius, abut_vec3 point,
                                       abut_signed_closest *closest) {
    abut_status status = check_segment(__func__, "axis", axis);
    status = status ? status : check_number(__func__, "radius", radius, 0, ABUT_COORDINATE_MAX);
    status = status ? status : check_point(__func__, "point", point);
    status = status ? status : check_pointer(__func__, "closest", closest);
    if (!status)
        *closest = capsule_closest_point(*axis, radius, point);
    return status;
}

abut_status abut_box_closest_point(const abut_box *box, abut_vec3 point,
                                   abut_signed_closest *closest) {
    abut_status status = check_box(__func__, box);
    status = status ? status : check_point(__func__, "point", point);
    status = status ? status : check_pointer(__func__, "closest", closest);
    if (!status)
        *closest = box_closest_point(*box, point);
    return status;
}

/* ---- angles and orientations ---- */

abut_status abut_triangle_solid_angle(const abut_triangle *triangle, abut_vec3 point,
                                      double *angle) {
    abut_status status = check_triangle(__func__, "triangle", triangle);
    status = status ? status : check_point(__func__, "point", point);
    status = status ? status : check_pointer(__func__, "angle", angle);
    if (!status)
        *angle = triangle_solid_angle(*triangle, point);
    return status;
}

abut_status abut_orient3d(abut_vec3 a, abut_vec3 b, abut_vec3 c, abut_vec3 d, int *sign) {
    const abut_vec3 points[4] = {a, b, c, d};
    abut_status status = check_points(__func__, "point", points, 4);
    status = status ? status : check_pointer(__func__, "sign", sign);
    if (!status)
        *sign = orient3d(a, b, c, d);
    return status;
}
