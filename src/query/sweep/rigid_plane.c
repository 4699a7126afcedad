/* Time of impact of a shape and a plane, both of which move from pose to pose.
 *
 * The height of a point x of a shape is f = n . (x - p) - offset, with the origin p and the normal
 * n of the plane. In an interval of time of length d ("piece"), it deviates from the straight line
 * between its ends by at most d^2 / 8 max |f''|, with |f''| <= u^2 R + 2 u (v + w r) + w^2 r: u and
 * w are the angles of plane and shape per unit of time, v is the relative speed of the origins, R
 * the largest distance of points from p. So a piece is free if both ends are higher than that;
 * otherwise it is halved, until the deviation is half the tolerance. Then the first point that
 * reaches the limit is the result.
 */
#include "bvh/bvh.h"
#include "sweep/rigid.h"

#include <assert.h>
#include <math.h>

enum { PIECES = 48 };

/* Sets the points that determine the height of a shape; false if there are none. */
static bool set_plane_points(sweep_plane *f) {
    const abut_collider *c = f->shape->collider;
    f->points = f->few;
    if (c->kind == ABUT_COLLIDER_SPHERE) {
        f->few[f->count++] = c->shape.sphere.centre;
        f->radius = c->shape.sphere.radius;
    } else if (c->kind == ABUT_COLLIDER_CAPSULE) {
        f->few[f->count++] = c->shape.capsule.end[0];
        f->few[f->count++] = c->shape.capsule.end[1];
        f->radius = c->shape.capsule.radius;
    } else if (c->kind == ABUT_COLLIDER_BOX) {
        const vec3 h = c->shape.half;
        for (; f->count < 8; f->count++)
            f->few[f->count] =
                v3(f->count & 1 ? h.x : -h.x, f->count & 2 ? h.y : -h.y, f->count & 4 ? h.z : -h.z);
    } else if (f->shape->bvh) {
        const abut_mesh *mesh = f->shape->bvh->mesh;
        f->points = mesh->positions;
        f->count = mesh->vertex_count;
        f->origin = mesh->origin;
    }
    return f->count > 0;
}

/* The plane at a time, in the coordinates of the shape without its origin: height = normal . local
 * - offset. */
static abut_plane plane_at(const sweep_plane *f, double t) {
    const abut_plane *plane = f->plane;
    abut_pose at = abuti_path_pose(&f->path, t), on = abuti_path_pose(&f->plane_path, t);
    mat3 turn = quat_matrix(at.rotation), turn_plane = quat_matrix(on.rotation);
    mat3 back = m3_transpose(&turn);
    vec3 n = m3_apply(&turn_plane, v3_scale(plane->normal, 1 / f->normal_length));
    vec3 away = v3_add(v3_sub(at.translation, on.translation), m3_apply(&turn, f->origin));
    return (abut_plane){m3_apply(&back, n),
                        plane->offset / f->normal_length + f->radius - v3_dot(n, away)};
}

double abuti_sweep_plane_height(const sweep_plane *f, double t, size_t *which) {
    abut_plane plane = plane_at(f, t);
    double least = INFINITY;
    for (size_t i = 0; i < f->count; i++) {
        double height = v3_dot(plane.normal, f->points[i]);
        if (height < least) {
            least = height;
            *which = i;
        }
    }
    return least - plane.offset;
}

/* The first time in a piece at which a point reaches `limit`, on straight lines. */
static double first_time_below(const sweep_plane *f, double from, double to, double limit,
                               size_t *which) {
    abut_plane p = plane_at(f, from), q = plane_at(f, to);
    double first = INFINITY;
    for (size_t i = 0; i < f->count; i++) {
        double start = v3_dot(p.normal, f->points[i]) - p.offset - limit;
        double end = v3_dot(q.normal, f->points[i]) - q.offset - limit;
        double t = start <= 0 ? 0 : end <= 0 ? start / (start - end) : INFINITY;
        if (t < first) {
            first = t;
            *which = i;
        }
    }
    return from + first * (to - from);
}

static void set_impact(const sweep_plane *f, double time, size_t which,
                       abut_sweep_rigid_result *result) {
    abut_pose at = abuti_path_pose(&f->path, time), on = abuti_path_pose(&f->plane_path, time);
    mat3 turn = quat_matrix(at.rotation), turn_plane = quat_matrix(on.rotation);
    vec3 n = m3_apply(&turn_plane, v3_scale(f->plane->normal, 1 / f->normal_length));
    vec3 point = v3_add(f->origin, f->points[which]);
    point = v3_add(m3_apply(&turn, point), at.translation);
    result->hit = true;
    result->time = time;
    result->point = v3_along(point, -f->radius, n);
    result->normal = time > 0 ? n : v3(0, 0, 0);
}

/* Processes pieces of time, earliest first. */
void abuti_sweep_plane_search(const sweep_plane *f, abut_sweep_rigid_result *result) {
    struct {
        double from, to;
        uint32_t depth;
    } stack[PIECES + 2];
    uint32_t used = 0;
    size_t which = 0;
    if (abuti_sweep_plane_height(f, 0, &which) <= f->separation) {
        set_impact(f, 0, which, result);
        return;
    }
    stack[used].from = 0;
    stack[used].to = 1;
    stack[used++].depth = 0;
    while (used) {
        double from = stack[--used].from, to = stack[used].to, length = to - from;
        double limit = f->separation + f->bend * length * length;
        uint32_t depth = stack[used].depth;
        if (real_min(abuti_sweep_plane_height(f, from, &which),
                     abuti_sweep_plane_height(f, to, &which)) > limit)
            continue;
        if (f->bend * length * length <= 0.5 * f->tolerance || depth >= PIECES) {
            double time = first_time_below(f, from, to, limit, &which);
            if (time <= to) {
                set_impact(f, time, which, result);
                return;
            }
            continue;
        }
        assert(used + 2 <= sizeof stack / sizeof *stack); /* depth < PIECES, and one sibling each */
        stack[used].from = 0.5 * (from + to);
        stack[used].to = to;
        stack[used++].depth = depth + 1;
        stack[used].from = from;
        stack[used].to = 0.5 * (from + to);
        stack[used++].depth = depth + 1;
    }
}

bool abuti_sweep_plane_init(sweep_plane *f, const sweep_shape *shape, const abuti_step *step,
                            const abut_plane *plane, const abuti_step *plane_step,
                            const abut_sweep_rigid_options *options) {
    *f = (sweep_plane){.shape = shape,
                       .plane = plane,
                       .path = abuti_path_of(step),
                       .plane_path = abuti_path_of(plane_step),
                       .origin = {0, 0, 0}};
    if (!set_plane_points(f))
        return false;
    double r = sweep_shape_reach(shape), w = f->path.angle, u = f->plane_path.angle;
    vec3 apart = v3_sub(f->path.start, f->plane_path.start);
    vec3 way = v3_sub(f->path.shift, f->plane_path.shift);
    double far = real_max(v3_length(apart), v3_length(v3_add(apart, way))) + r;
    f->normal_length = v3_length(plane->normal);
    f->bend = (u * u * far + 2 * u * (v3_length(way) + w * r) + w * w * r) / 8;
    double largest = far + fabs(plane->offset) / f->normal_length + v3_max_abs(f->path.start) +
                     v3_max_abs(f->plane_path.start);
    f->separation = options->separation + RIGID_ROUNDING * largest;
    f->tolerance = options->tolerance > 0 ? options->tolerance : RIGID_TOLERANCE * r;
    f->tolerance = real_max(f->tolerance, RIGID_ROUNDING * largest);
    return true;
}
