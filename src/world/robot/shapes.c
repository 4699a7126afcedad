/* Shapes of links and obstacles: their bounds, and tests of two shapes.
 *
 * Two shapes are tested in the order of cost: bounding spheres, oriented bounding boxes by
 * separating axes (Gottschalk, Lin and Manocha 1996), then the exact test of both meshes. Bounds
 * are enlarged by ROUNDING of the coordinates, so they never reject shapes that touch. */
#include "robot/robot.h"

#include "bvh/bvh.h"
#include "collider/collider.h"
#include "sweep/rigid.h"

#include <math.h>

/* Relative error of bounds: they take about 20 roundings of 2^-53 of the largest coordinate. */
#define ROUNDING 0x1p-44
#define PADDING_MAX 4.0   /* padding of boxes in units of a pair; floats are too coarse beyond */
#define PARALLEL_SQ 1e-12 /* squared sine of edges that are too parallel for a separating axis */

/* ---- creation ---- */

static abut_status make_surface(const char *function, const char *what, abut_context *context,
                                robot_shape *shape) {
    const abut_collider *c = &shape->collider;
    const abut_mesh *mesh;
    abut_status status;
    switch (c->kind) {
    case ABUT_COLLIDER_SPHERE:
    case ABUT_COLLIDER_CAPSULE:
    case ABUT_COLLIDER_BOX:
    case ABUT_COLLIDER_CYLINDER:
        if ((status = abuti_collider_check_primitive(function, what, c)))
            return status;
        return abuti_sweep_create_core(function, context, c, &shape->bvh, &shape->radius);
    case ABUT_COLLIDER_BODY:
    case ABUT_COLLIDER_HULL:
        if ((status = abuti_collider_read_mesh(function, what, SIZE_MAX, c, &mesh)))
            return status;
        shape->bvh =
            abuti_bvh_retain(c->kind == ABUT_COLLIDER_HULL ? c->shape.hull : c->shape.body.bvh);
        return abuti_bvh_ensure_host(shape->bvh);
    case ABUT_COLLIDER_MESH:
        if ((status = abuti_collider_read_mesh(function, what, SIZE_MAX, c, &mesh)))
            return status;
        return abut_bvh_create((abut_mesh *)mesh, NULL, &shape->bvh);
    default:
        return abuti_collider_refuse(function, what, c,
                                     "a body with a BVH, a mesh, or a primitive");
    }
}

static void measure_bounds(robot_shape *shape) {
    const abut_mesh *mesh = shape->bvh->mesh;
    double largest = 0;
    shape->centre = box_centre(mesh->bounds);
    const vec3 local = v3_sub(shape->centre, mesh->origin),
               r = {shape->radius, shape->radius, shape->radius};
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        largest = real_max(largest, v3_length_sq(v3_sub(mesh->positions[mesh->indices[i]], local)));
    shape->ball = sqrt(largest) + shape->radius;
    shape->half = v3_add(v3_scale(v3_sub(mesh->bounds.hi, mesh->bounds.lo), 0.5), r);
}

abut_status abuti_robot_make_shape(const char *function, const char *what, abut_context *context,
                                   const abut_collider *collider, bool allow_plane,
                                   robot_shape *shape) {
    memset(shape, 0, sizeof *shape);
    abut_status status = abuti_collider_read(function, what, collider, &shape->collider);
    const quat *turn = &shape->collider.pose.rotation;
    shape->is_moved = turn->x != 0 || turn->y != 0 || turn->z != 0 ||
                      v3_max_abs(shape->collider.pose.translation) > 0;
    if (status || (status = abuti_pose_check(function, what, &shape->collider.pose)))
        return status;
    if (shape->collider.kind == ABUT_COLLIDER_PLANE && allow_plane)
        return abuti_collider_check_primitive(function, what, &shape->collider);
    status = make_surface(function, what, context, shape);
    if (!status)
        status = abuti_pair_check_pose(function, what, shape->bvh, &shape->collider.pose);
    if (!status)
        measure_bounds(shape);
    return status;
}

void abuti_robot_release_shape(robot_shape *shape) {
    abut_bvh_destroy(shape->bvh);
}

robot_place abuti_robot_place(const robot_shape *shape, const abut_pose *owner) {
    robot_place at;
    at.pose = shape->is_moved ? pose_multiply(owner, &shape->collider.pose) : *owner;
    at.axes = quat_matrix(at.pose.rotation);
    if (shape->bvh) {
        at.centre = v3_add(m3_apply(&at.axes, shape->centre), at.pose.translation);
    } else { /* the first axis is the normal, the centre a point of the plane */
        const abut_plane *plane = &shape->collider.shape.plane;
        const vec3 normal = v3_normalise(plane->normal);
        const double length = v3_length(plane->normal);
        at.centre = v3_add(m3_apply(&at.axes, v3_scale(normal, plane->offset / length)),
                           at.pose.translation);
        at.axes.row[0] = m3_apply(&at.axes, normal);
    }
    at.slack = ROUNDING * (v3_max_abs(at.centre) + shape->ball);
    at.ball = shape->ball + at.slack;
    return at;
}

/* ---- bounds ---- */

/* Extent of a box along a unit vector of the world. */
static double box_extent(const robot_shape *shape, const robot_place *at, vec3 n) {
    const mat3 back = m3_transpose(&at->axes);
    const vec3 along = v3_abs(m3_apply(&back, n));
    return v3_dot(along, shape->half);
}

static bool is_above_plane(const robot_shape *shape, const robot_place *at,
                           const robot_place *plane, double margin) {
    const vec3 n = plane->axes.row[0];
    const double height = v3_dot(n, v3_sub(at->centre, plane->centre));
    return height - real_min(at->ball, box_extent(shape, at, n)) >
           margin + at->slack + plane->slack;
}

/* Whether an axis separates two boxes: the faces of both, then the products of their edges. */
static bool boxes_are_apart(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                            const robot_place *at_b, vec3 between, double margin) {
    const mat3 back = m3_transpose(&at_a->axes), turn = m3_multiply(&back, &at_b->axes);
    const vec3 t = m3_apply(&back, between);
    const double ha[3] = {a->half.x, a->half.y, a->half.z},
                 hb[3] = {b->half.x, b->half.y, b->half.z}, d[3] = {t.x, t.y, t.z};
    double c[3][3], s[3][3];
    for (int i = 0; i < 3; i++) {
        c[i][0] = turn.row[i].x, c[i][1] = turn.row[i].y, c[i][2] = turn.row[i].z;
        for (int j = 0; j < 3; j++)
            s[i][j] = fabs(c[i][j]);
        if (fabs(d[i]) - ha[i] - (s[i][0] * hb[0] + s[i][1] * hb[1] + s[i][2] * hb[2]) > margin)
            return true;
    }
    for (int j = 0; j < 3; j++) {
        const double along = d[0] * c[0][j] + d[1] * c[1][j] + d[2] * c[2][j];
        const double extent = ha[0] * s[0][j] + ha[1] * s[1][j] + ha[2] * s[2][j] + hb[j];
        if (fabs(along) - extent > margin)
            return true;
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            const double length_sq = 1 - c[i][j] * c[i][j];
            const double gap =
                fabs(d[i2] * c[i1][j] - d[i1] * c[i2][j]) -
                (ha[i1] * s[i2][j] + ha[i2] * s[i1][j] + hb[j1] * s[i][j2] + hb[j2] * s[i][j1]);
            if (length_sq > PARALLEL_SQ && gap > 0 && gap * gap > margin * margin * length_sq)
                return true;
        }
    return false;
}

double abuti_robot_lower_bound(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                               const robot_place *at_b) {
    if (!b->bvh) {
        const vec3 n = at_b->axes.row[0];
        return v3_dot(n, v3_sub(at_a->centre, at_b->centre)) - box_extent(a, at_a, n) -
               at_a->slack - at_b->slack;
    }
    const vec3 between = v3_sub(at_b->centre, at_a->centre);
    double bound = v3_length(between) - at_a->ball - at_b->ball;
    for (int side = 0; side < 2; side++) { /* the axes of both boxes */
        const mat3 axes = m3_transpose(&(side ? at_b : at_a)->axes);
        const vec3 half = (side ? b : a)->half;
        for (int i = 0; i < 3; i++) {
            const double gap = fabs(v3_dot(axes.row[i], between)) - v3_get(half, i) -
                               box_extent(side ? a : b, side ? at_a : at_b, axes.row[i]);
            bound = real_max(bound, gap - at_a->slack - at_b->slack);
        }
    }
    return bound;
}

bool abuti_robot_is_apart(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                          const robot_place *at_b, double margin) {
    if (!b->bvh)
        return is_above_plane(a, at_a, at_b, margin);
    const vec3 between = v3_sub(at_b->centre, at_a->centre);
    const double reach = at_a->ball + at_b->ball + margin;
    return v3_length_sq(between) > reach * reach ||
           boxes_are_apart(a, at_a, b, at_b, between, margin + at_a->slack + at_b->slack);
}

/* ---- exact tests ---- */

double abuti_robot_plane_height(const robot_shape *shape, const robot_place *at,
                                const robot_shape *plane, const robot_place *plane_at,
                                vec3 *point) {
    (void)plane;
    const abut_mesh *mesh = shape->bvh->mesh;
    const abuti_motion motion = abuti_motion_of(&at->pose);
    const vec3 n = plane_at->axes.row[0];
    double lowest = INFINITY;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        const vec3 p = abuti_motion_apply(&motion, abuti_mesh_position(mesh, mesh->indices[i]));
        const double height = v3_dot(n, v3_sub(p, plane_at->centre)) - shape->radius;
        if (height < lowest) {
            lowest = height;
            if (point)
                *point = v3_along(p, -shape->radius, n);
        }
    }
    return lowest;
}

static bool stop_at_candidate(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned candidates) {
    (void)leaf_a;
    (void)leaf_b;
    *(bool *)data = candidates != 0;
    return candidates != 0;
}

bool abuti_robot_may_touch(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                           const robot_place *at_b, double margin) {
    if (!b->bvh)
        return abuti_robot_plane_height(a, at_a, b, at_b, NULL) <= margin;
    const abuti_posed posed_a = {a->bvh, at_a->pose}, posed_b = {b->bvh, at_b->pose};
    const double reach = margin + a->radius + b->radius;
    pair_frame frame;
    bool found = false;
    if (!abuti_pair_frame_init(&posed_a, &posed_b, &frame) ||
        !(reach * frame.scale <= PADDING_MAX) || frame.reach > PAIR_FAR_DISTANCE)
        return true;
    frame.pad += (float)(reach * frame.scale * (1 + 1e-4));
    abuti_pair_candidates(&frame, stop_at_candidate, &found);
    return found;
}

abut_status abuti_robot_within(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                               const robot_place *at_b, double margin, bool surfaces,
                               abut_pair_cache *cache, bool *within, unsigned *flags) {
    if (!b->bvh) {
        *within = abuti_robot_plane_height(a, at_a, b, at_b, NULL) <= margin;
        return ABUT_OK;
    }
    const abuti_posed posed_a = {a->bvh, at_a->pose}, posed_b = {b->bvh, at_b->pose};
    const double reach = margin + a->radius + b->radius;
    if (reach > 0)
        return abuti_pair_within(&posed_a, &posed_b, reach, surfaces, cache, within, flags);
    abut_pair_relation relation;
    abut_status status = abuti_pair_overlap(&posed_a, &posed_b, surfaces, cache, &relation, flags);
    if (!status)
        *within = relation != ABUT_PAIR_APART;
    return status;
}
