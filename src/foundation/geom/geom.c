/* The public functions of <abut/geom.h>: they validate arguments and call the shared headers in
 * double precision. */
#include "geom/distance_shared.h"
#include "geom/pose.h"
#include "geom/solid_shared.h"

#include "base/base.h"

#include <float.h>

/* ---- validation ---- */

#ifdef __GNUC__
#define CHECK_INLINE static inline __attribute__((always_inline))
#else
#define CHECK_INLINE static inline
#endif

/* An argument that must not be null, and the points that it consists of, which must be finite and
 * in range. */
typedef struct argument {
    const char *name;
    const void *pointer;
    int point_count;
} argument;

static abut_status fail_position(const char *function, const argument *of, int which) {
    const abut_vec3 p = ((const abut_vec3 *)of->pointer)[which];
    char position[16] = "";
    if (of->point_count > 1)
        snprintf(position, sizeof position, "[%d]", which);
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s%s is (%g, %g, %g); coordinates must be finite and at most %g in "
                      "magnitude",
                      function, of->name, position, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
}

/* Inlined, so that loops over the literals of CHECK() are unrolled: otherwise the shortest
 * functions take 1.2 to 1.4 times as long. */
CHECK_INLINE abut_status check_arguments(const char *function, const argument *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!list[i].pointer)
            return abuti_null(function, list[i].name);
        for (int k = 0; k < list[i].point_count; k++)
            if (!abuti_is_position(((const abut_vec3 *)list[i].pointer)[k]))
                return fail_position(function, &list[i], k);
    }
    return ABUT_OK;
}

/* CHECK({"segment", segment, 2}, {"closest", closest, 0}) */
#define CHECK(...)                                             \
    check_arguments(__func__, (const argument[]){__VA_ARGS__}, \
                    sizeof((const argument[]){__VA_ARGS__}) / sizeof(argument))

/* Fails if a direction is zero. */
static abut_status check_direction(const char *function, const char *what, vec3 direction) {
    if (v3_max_abs(direction) > 0)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is zero; it may have any length except 0",
                      function, what);
}

static abut_status check_box(const char *function, const abut_box *box) {
    if (!box)
        return abuti_null(function, "box");
    const argument ends[2] = {{"box->lo", &box->lo, 1}, {"box->hi", &box->hi, 1}};
    abut_status status = check_arguments(function, ends, 2);
    if (status || (box->lo.x <= box->hi.x && box->lo.y <= box->hi.y && box->lo.z <= box->hi.z))
        return status;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: the box has lo (%g, %g, %g) beyond hi (%g, %g, %g); lo must not exceed "
                      "hi on any axis",
                      function, box->lo.x, box->lo.y, box->lo.z, box->hi.x, box->hi.y, box->hi.z);
}

/* ---- closest points ---- */

abut_status abut_segment_closest_point(const abut_segment *segment, abut_vec3 point,
                                       abut_closest_on_segment *closest) {
    abut_status status =
        CHECK({"segment", segment, 2}, {"point", &point, 1}, {"closest", closest, 0});
    if (!status)
        *closest = segment_closest_point(*segment, point);
    return status;
}

abut_status abut_triangle_closest_point(const abut_triangle *triangle, abut_vec3 point,
                                        abut_closest_on_triangle *closest) {
    abut_status status =
        CHECK({"triangle", triangle, 3}, {"point", &point, 1}, {"closest", closest, 0});
    if (!status)
        *closest = triangle_closest_point(*triangle, point);
    return status;
}

abut_status abut_segment_segment_closest(const abut_segment *a, const abut_segment *b,
                                         abut_closest_pair *closest) {
    abut_status status = CHECK({"a", a, 2}, {"b", b, 2}, {"closest", closest, 0});
    if (!status)
        *closest = segment_segment_closest(*a, *b);
    return status;
}

abut_status abut_triangle_triangle_closest(const abut_triangle *a, const abut_triangle *b,
                                           abut_closest_pair *closest) {
    abut_status status = CHECK({"a", a, 3}, {"b", b, 3}, {"closest", closest, 0});
    if (!status)
        *closest = triangle_triangle_closest(*a, *b);
    return status;
}

/* ---- intersections ---- */

abut_status abut_triangle_triangle_intersect(const abut_triangle *a, const abut_triangle *b,
                                             abut_intersection *intersection,
                                             abut_segment *segment) {
    abut_status status = CHECK({"a", a, 3}, {"b", b, 3}, {"intersection", intersection, 0});
    if (!status)
        *intersection = triangle_triangle_intersect(*a, *b, segment);
    return status;
}

abut_status abut_segment_triangle_intersect(const abut_segment *segment,
                                            const abut_triangle *triangle, bool *intersects,
                                            abut_vec3 *point) {
    abut_status status =
        CHECK({"segment", segment, 2}, {"triangle", triangle, 3}, {"intersects", intersects, 0});
    if (status)
        return status;
    path3 path = segment_path(*segment);
    path_hit hit;
    *intersects = path_triangle_intersect(&path, *triangle, point ? &hit : NULL);
    if (*intersects && point)
        *point = path_point(&path, hit.parameter);
    return ABUT_OK;
}

abut_status abut_ray_triangle_intersect(const abut_ray *ray, const abut_triangle *triangle,
                                        bool *intersects, abut_ray_triangle_hit *hit) {
    if (!ray)
        return abuti_null(__func__, "ray");
    abut_status status =
        CHECK({"ray->origin", &ray->origin, 1}, {"ray->direction", &ray->direction, 1},
              {"triangle", triangle, 3}, {"intersects", intersects, 0});
    if (status || (status = check_direction(__func__, "ray->direction", ray->direction)))
        return status;
    path3 path = ray_path(*ray);
    path_hit found;
    *intersects = path_triangle_intersect(&path, *triangle, hit ? &found : NULL);
    if (*intersects && hit) {
        hit->parameter = found.parameter;
        memcpy(hit->barycentric, found.weight, sizeof hit->barycentric);
    }
    return ABUT_OK;
}

abut_status abut_box_triangle_intersect(const abut_box *box, const abut_triangle *triangle,
                                        bool *intersects) {
    abut_status status = check_box(__func__, box);
    if (status || (status = CHECK({"triangle", triangle, 3}, {"intersects", intersects, 0})))
        return status;
    const abut_box own = *box; /* a copy, which `intersects` cannot alias */
    *intersects = box_triangle_intersect(own, *triangle);
    return ABUT_OK;
}

/* ---- solids ---- */

abut_status abut_plane_closest_point(const abut_plane *plane, abut_vec3 point,
                                     abut_signed_closest *closest) {
    if (!plane)
        return abuti_null(__func__, "plane");
    abut_status status;
    if ((status =
             CHECK({"normal", &plane->normal, 1}, {"point", &point, 1}, {"closest", closest, 0})) ||
        (status = check_direction(__func__, "normal", plane->normal)) ||
        (status = abuti_check_range(__func__, "offset over the length of normal",
                                    plane->offset / v3_max_abs(plane->normal), -ABUT_COORDINATE_MAX,
                                    ABUT_COORDINATE_MAX, "units of the coordinates")))
        return status;
    *closest = plane_closest_point(plane->normal, plane->offset, point);
    return ABUT_OK;
}

abut_status abut_sphere_closest_point(const abut_sphere *sphere, abut_vec3 point,
                                      abut_signed_closest *closest) {
    if (!sphere)
        return abuti_null(__func__, "sphere");
    abut_status status =
        CHECK({"centre", &sphere->centre, 1}, {"point", &point, 1}, {"closest", closest, 0});
    if (!status)
        status = abuti_check_length(__func__, "radius", sphere->radius);
    if (!status)
        *closest = sphere_closest_point(sphere->centre, sphere->radius, point);
    return status;
}

abut_status abut_capsule_closest_point(const abut_capsule *capsule, abut_vec3 point,
                                       abut_signed_closest *closest) {
    if (!capsule)
        return abuti_null(__func__, "capsule");
    abut_status status =
        CHECK({"end", capsule->end, 2}, {"point", &point, 1}, {"closest", closest, 0});
    if (!status)
        status = abuti_check_length(__func__, "radius", capsule->radius);
    if (!status)
        *closest = capsule_closest_point((abut_segment){{capsule->end[0], capsule->end[1]}},
                                         capsule->radius, point);
    return status;
}

abut_status abut_box_closest_point(const abut_box *box, abut_vec3 point,
                                   abut_signed_closest *closest) {
    abut_status status = check_box(__func__, box);
    if (!status)
        status = CHECK({"point", &point, 1}, {"closest", closest, 0});
    if (!status)
        *closest = box_closest_point(*box, point);
    return status;
}

/* ---- poses ---- */

abut_status abuti_check_numbers(const char *function, const char *what, const double *numbers,
                                size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(numbers[i]) <= ABUT_COORDINATE_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: %s has the number %g; all must be finite and at most %g in "
                              "magnitude",
                              function, what, numbers[i], ABUT_COORDINATE_MAX);
    return ABUT_OK;
}

abut_status abuti_pose_check(const char *function, const char *what, const abut_pose *p) {
    const abut_quat *q = &p->rotation;
    const abut_vec3 *t = &p->translation;
    const double all[7] = {q->x, q->y, q->z, q->w, t->x, t->y, t->z};
    for (int i = 0; i < 7; i++)
        if (!(fabs(all[i]) <= DBL_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is not finite", function, what);
    if (!(v3_max_abs(*t) <= ABUT_COORDINATE_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s translates by (%g, %g, %g); coordinates must be at most %g in "
                          "magnitude",
                          function, what, t->x, t->y, t->z, ABUT_COORDINATE_MAX);
    return ABUT_OK;
}

/* Largest deviation of the rows of a matrix from orthonormal. */
#define ORTHONORMAL_TOLERANCE 1e-5

static abut_status check_rigid(const char *function, const abut_vec3 *row) {
    for (int i = 0; i < 3; i++)
        for (int k = i; k < 3; k++) {
            double product = v3_dot(row[i], row[k]);
            if (!(fabs(product - (i == k)) <= ORTHONORMAL_TOLERANCE))
                return abuti_fail(ABUT_ERROR_ARGUMENT,
                                  "%s: the dot product of rows %d and %d is %g; it must be %d "
                                  "within %g: the matrix "
                                  "is not rigid",
                                  function, i, k, product, i == k, ORTHONORMAL_TOLERANCE);
        }
    if (v3_dot(v3_cross(row[0], row[1]), row[2]) < 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the matrix is a reflection; its determinant is -1 and must be 1",
                          function);
    return ABUT_OK;
}

/* The components of the quaternion times four times its largest component (Shepperd 1978): no
 * cancellation. */
static abut_quat quaternion_of_matrix(const abut_vec3 *r) {
    double trace = r[0].x + r[1].y + r[2].z;
    abut_quat w = {r[2].y - r[1].z, r[0].z - r[2].x, r[1].x - r[0].y, 1 + trace};
    abut_quat x = {1 + 2 * r[0].x - trace, r[0].y + r[1].x, r[0].z + r[2].x, w.x};
    abut_quat y = {x.y, 1 + 2 * r[1].y - trace, r[1].z + r[2].y, w.y};
    abut_quat z = {x.z, y.z, 1 + 2 * r[2].z - trace, w.z};
    double largest = fmax(fmax(w.w, x.x), fmax(y.y, z.z));
    abut_quat q = w.w == largest ? w : x.x == largest ? x : y.y == largest ? y : z;
    return quat_normalise(q);
}

/* Largest deviation of the fourth row of a matrix from 0 0 0 1. */
#define FOURTH_ROW_TOLERANCE 1e-9

static abut_status check_fourth_row(const char *function, const double *row) {
    for (int i = 0; i < 4; i++)
        if (!(fabs(row[i] - (i == 3)) <= FOURTH_ROW_TOLERANCE))
            return abuti_fail(
                ABUT_ERROR_ARGUMENT,
                "%s: the fourth row is %g %g %g %g; it must be 0 0 0 1: the matrix is not rigid",
                function, row[0], row[1], row[2], row[3]);
    return ABUT_OK;
}

static abut_status read_matrix(const char *function, const double *matrix, bool has_fourth_row,
                               abut_pose *p) {
    abut_vec3 row[4];
    for (int i = 0; i < 3; i++)
        row[i] = v3(matrix[4 * i], matrix[4 * i + 1], matrix[4 * i + 2]);
    row[3] = v3(matrix[3], matrix[7], matrix[11]);
    const argument points[2] = {{"row", row, 3}, {"the translation", &row[3], 1}};
    abut_status status = check_arguments(function, points, 2);
    if (!status)
        status = check_rigid(function, row);
    if (!status && has_fourth_row)
        status = check_fourth_row(function, matrix + 12);
    if (!status)
        *p = (abut_pose){quaternion_of_matrix(row), row[3]};
    return status;
}

abut_status abut_pose_from_matrix(const double matrix[12], abut_pose *p) {
    abut_status status = CHECK({"matrix", matrix, 0}, {"pose", p, 0});
    return status ? status : read_matrix(__func__, matrix, false, p);
}

abut_status abut_pose_from_matrices(const double *matrices, size_t stride, size_t count,
                                    abut_pose *poses) {
    if (stride < 12)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: stride is %zu; it must be at least 12, the numbers of a matrix",
                          __func__, stride);
    if (!count)
        return ABUT_OK;
    abut_status status = CHECK({"matrices", matrices, 0}, {"poses", poses, 0});
    for (int write = 0; write < 2;
         write++) /* all matrices are validated before a pose is written */
        for (size_t i = 0; i < count && !status; i++) {
            abut_pose result;
            status = read_matrix(__func__, matrices + i * stride, stride == 16, &result);
            if (status) {
                char function[64];
                snprintf(function, sizeof function, "%s: matrix %zu", __func__, i);
                return read_matrix(function, matrices + i * stride, stride == 16, &result);
            }
            if (write)
                poses[i] = result;
        }
    return status;
}

abut_status abut_pose_to_matrix(const abut_pose *p, double matrix[12]) {
    abut_status status = CHECK({"pose", p, 0}, {"matrix", matrix, 0});
    if (status || (status = abuti_pose_check(__func__, "the pose", p)))
        return status;
    mat3 m = quat_matrix(p->rotation);
    const double shift[3] = {p->translation.x, p->translation.y, p->translation.z};
    for (int i = 0; i < 3; i++) {
        matrix[4 * i] = m.row[i].x;
        matrix[4 * i + 1] = m.row[i].y;
        matrix[4 * i + 2] = m.row[i].z;
        matrix[4 * i + 3] = shift[i];
    }
    return ABUT_OK;
}

abut_status abut_pose_from_axis_angle(abut_vec3 axis, double angle, abut_vec3 translation,
                                      abut_pose *p) {
    abut_status status;
    if ((status = CHECK({"axis", &axis, 1}, {"translation", &translation, 1}, {"pose", p, 0})) ||
        (status = abuti_check_range(__func__, "angle", angle, -DBL_MAX, DBL_MAX, "radians")) ||
        (status = check_direction(__func__, "axis", axis)))
        return status;
    vec3 turn = v3_scale(v3_normalise(axis), sin(0.5 * angle));
    *p = (abut_pose){{turn.x, turn.y, turn.z, cos(0.5 * angle)}, translation};
    return ABUT_OK;
}

/* Writes a computed pose if it is in range. */
static abut_status write_pose(const char *function, abut_pose result, abut_pose *p) {
    abut_status status = abuti_pose_check(function, "the result", &result);
    if (!status)
        *p = result;
    return status;
}

abut_status abut_pose_compose(const abut_pose *outer, const abut_pose *inner, abut_pose *composed) {
    abut_status status = CHECK({"outer", outer, 0}, {"inner", inner, 0}, {"composed", composed, 0});
    if (status || (status = abuti_pose_check(__func__, "outer", outer)) ||
        (status = abuti_pose_check(__func__, "inner", inner)))
        return status;
    abut_pose result = pose_multiply(outer, inner);
    result.rotation = quat_normalise(result.rotation);
    return write_pose(__func__, result, composed);
}

abut_status abut_pose_invert(const abut_pose *p, abut_pose *inverse) {
    abut_status status = CHECK({"pose", p, 0}, {"inverse", inverse, 0});
    if (status || (status = abuti_pose_check(__func__, "the pose", p)))
        return status;
    return write_pose(__func__, pose_inverse(p), inverse);
}

abut_status abut_pose_apply(const abut_pose *p, abut_vec3 point, abut_vec3 *moved) {
    abut_status status = CHECK({"pose", p, 0}, {"moved", moved, 0}, {"point", &point, 1});
    if (status || (status = abuti_pose_check(__func__, "the pose", p)))
        return status;
    abuti_motion motion = abuti_motion_of(p);
    *moved = abuti_motion_apply(&motion, point);
    return ABUT_OK;
}

abuti_path abuti_path_of(const abuti_step *step) {
    abuti_path p = {.from = quat_normalise(step->from.rotation),
                    .start = step->from.translation,
                    .shift = v3_sub(step->to.translation, step->from.translation)};
    quat turn = quat_multiply(quat_normalise(step->to.rotation), quat_conjugate(p.from));
    double sign = turn.w < 0 ? -1 : 1;
    vec3 part = v3_scale(v3(turn.x, turn.y, turn.z), sign);
    p.axis = v3_normalise(part);
    p.angle = 2 * atan2(v3_length(part), sign * turn.w);
    return p;
}

abut_status abut_pose_interpolate(const abut_pose *from, const abut_pose *to, double time,
                                  abut_pose *at) {
    abut_status status = CHECK({"from", from, 0}, {"to", to, 0}, {"pose", at, 0});
    if (status || (status = abuti_pose_check(__func__, "from", from)) ||
        (status = abuti_pose_check(__func__, "to", to)))
        return status;
    if (!(time >= 0 && time <= 1))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: time is %g; it must be from 0 to 1", __func__,
                          time);
    const abuti_path p = abuti_path_of(&(abuti_step){*from, *to});
    *at = abuti_path_pose(&p, time);
    return ABUT_OK;
}

/* ---- angles and orientations ---- */

abut_status abut_triangle_solid_angle(const abut_triangle *triangle, abut_vec3 point,
                                      double *angle) {
    abut_status status =
        CHECK({"triangle", triangle, 3}, {"point", &point, 1}, {"angle", angle, 0});
    if (!status)
        *angle = triangle_solid_angle(*triangle, point);
    return status;
}

abut_status abut_orient3d(abut_vec3 a, abut_vec3 b, abut_vec3 c, abut_vec3 d, int *sign) {
    const abut_vec3 points[4] = {a, b, c, d};
    abut_status status = CHECK({"point", points, 4}, {"sign", sign, 0});
    if (!status)
        *sign = orient3d(a, b, c, d);
    return status;
}

/* ---- names ---- */

const char *abut_feature_name(abut_feature feature) {
    static const char *const names[] = {"face",     "edge-0",   "edge-1",  "edge-2",
                                        "vertex-0", "vertex-1", "vertex-2"};
    return ABUTI_NAME(names, feature);
}

const char *abut_intersection_name(abut_intersection intersection) {
    static const char *const names[] = {"none", "point", "segment", "coplanar"};
    return ABUTI_NAME(names, intersection);
}
