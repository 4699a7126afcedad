/* Items as triangles: obstacles of cloth, and shapes of sweeps whose vertices move one by one.
 *
 * Spheres and capsules are circumscribed: no point of their surface is outside the triangles. A
 * plane is a large square.
 */
#include "world/world.h"

#include "geom/pose.h"

#include <abut/shape.h>
#include <math.h>

enum { SPHERE_SEGMENTS = 8, CAPSULE_SEGMENTS = 40, CAPSULE_RINGS = 10 };

#define PLANE_SIZE 1000 /* side of the square for a plane, or ... */
#define PLANE_SCALE 100 /* ... times the extent of all sheets, if that is larger */

bool abuti_world_has_surface(const world_item *item) {
    const bool is_character = item->kind == ABUT_COLLIDER_CHARACTER;
    return is_character ? item->track && item->track->given
                        : item->kind != ABUT_COLLIDER_BODY || item->bvh;
}

const abut_mesh *abuti_world_triangles(const world_item *item) {
    return item->method->mesh ? item->method->mesh(item)
           : item->bvh        ? item->bvh->mesh
                              : item->core->mesh;
}

void abuti_world_positions(const world_item *item, vec3 *to) {
    if (item->kind == ABUT_COLLIDER_CHARACTER) {
        memcpy(to, item->track->given, item->track->count * sizeof *to);
        return;
    }
    const abut_mesh *mesh = item->asset->mesh;
    const abuti_motion motion = abuti_motion_of(&item->at.pose);
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        to[i] = abuti_motion_apply(&motion, abuti_mesh_position(mesh, i));
}

/* ---- primitives ---- */

/* The smallest distance of a triangle's plane from the origin. */
static double inscribed_radius(const abut_mesh *mesh) {
    double least = INFINITY;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *c = mesh->indices + 3 * (size_t)t;
        const vec3 a = abuti_mesh_position(mesh, c[0]);
        const vec3 n = v3_normalise(v3_cross(v3_sub(abuti_mesh_position(mesh, c[1]), a),
                                             v3_sub(abuti_mesh_position(mesh, c[2]), a)));
        least = fmin(least, fabs(v3_dot(n, a)));
    }
    return least;
}

/* Moves the axis z through the origin to a segment: to its middle, along its direction. */
static abut_pose along_segment(const abut_vec3 end[2]) {
    const vec3 way = v3_normalise(v3_sub(end[1], end[0]));
    /* The half turn about the bisector of z and the direction. */
    vec3 axis = v3_add(way, v3(0, 0, 1));
    axis = v3_dot(axis, axis) > 1e-12 ? v3_normalise(axis) : v3(1, 0, 0);
    return (abut_pose){{axis.x, axis.y, axis.z, 0}, v3_scale(v3_add(end[0], end[1]), 0.5)};
}

/* The mesh of a shape, scaled by `scale` and then moved. */
static abut_status create_moved(abut_context *context, const abut_shape *shape, double scale,
                                const abut_pose *to, abut_mesh **mesh) {
    abut_mesh *made = NULL;
    abut_status status = abut_shape_create(context, shape, &made);
    const uint32_t count = status ? 0 : made->vertex_count;
    vec3 *positions = status ? NULL : abuti_allocate(context, count, sizeof *positions);
    if (!status && !positions)
        status = ABUT_ERROR_MEMORY;
    const abuti_motion motion = abuti_motion_of(to);
    for (uint32_t i = 0; i < count && !status; i++)
        positions[i] = abuti_motion_apply(&motion, v3_scale(abuti_mesh_position(made, i), scale));
    if (!status) {
        const abut_mesh_input input =
            abut_mesh_input_doubles(positions, count, made->indices, made->triangle_count);
        status = abut_mesh_create(context, &input, mesh);
    }
    abuti_release(context, positions);
    abut_mesh_destroy(made);
    return status;
}

static abut_status create_sphere(abut_context *context, vec3 centre, double radius,
                                 abut_mesh **mesh) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *unit = NULL;
    const abut_pose to = {{0, 0, 0, 1}, centre};
    shape.radius = 1;
    shape.segments = SPHERE_SEGMENTS;
    abut_status status = abut_shape_create(context, &shape, &unit);
    if (!status)
        status =
            create_moved(context, &shape, radius / inscribed_radius(unit) * (1 + 1e-12), &to, mesh);
    abut_mesh_destroy(unit);
    return status;
}

static abut_status create_capsule(abut_context *context, const abut_capsule *c, abut_mesh **mesh) {
    const double length = v3_length(v3_sub(c->end[1], c->end[0]));
    const double half_step = 3.14159265358979323846 / CAPSULE_SEGMENTS; /* around and per ring */
    abut_shape shape = abut_shape_default(ABUT_SHAPE_CAPSULE);
    const abut_pose to = along_segment(c->end);
    if (!(length > 1e-6 * c->radius))
        return create_sphere(context, to.translation, c->radius + 0.5 * length, mesh);
    shape.radius = c->radius / (cos(half_step) * cos(half_step)) * (1 + 1e-12);
    shape.height = length;
    shape.segments = CAPSULE_SEGMENTS;
    shape.rings = CAPSULE_RINGS;
    return create_moved(context, &shape, 1, &to, mesh);
}

static double extent_of_sheets(const abut_world *world) {
    box3 box = box_empty();
    for (size_t i = 0; i < world->items.count; i++)
        if (world_items(world)[i].used && world_is_sheet(&world_items(world)[i]))
            box = box_join(box, world_items(world)[i].at.box);
    return box.lo.x <= box.hi.x ? v3_max_abs(v3_sub(box.hi, box.lo)) : 0;
}

/* A square in the plane, around its point that is closest to the origin. */
static abut_status create_square(const abut_world *world, const abut_plane *plane,
                                 abut_mesh **mesh) {
    const double half = fmax(0.5 * PLANE_SIZE, 0.5 * PLANE_SCALE * extent_of_sheets(world));
    const vec3 n = v3_normalise(plane->normal);
    const vec3 side = fabs(n.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0);
    const vec3 u = v3_scale(v3_normalise(v3_cross(side, n)), half), v = v3_cross(n, u);
    const vec3 middle = v3_scale(n, plane->offset / v3_length(plane->normal));
    const vec3 corners[4] = {v3_sub(v3_sub(middle, u), v), v3_sub(v3_add(middle, u), v),
                             v3_add(v3_add(middle, u), v), v3_add(v3_sub(middle, u), v)};
    static const uint32_t indices[6] = {0, 1, 2, 0, 2, 3};
    const abut_mesh_input input = abut_mesh_input_doubles(corners, 4, indices, 2);
    return abut_mesh_create(world->context, &input, mesh);
}

/* ---- all kinds ---- */

abut_status abuti_world_create_surface(abut_world *world, const world_item *item,
                                       abut_mesh **mesh) {
    const abut_collider *c = &item->is.collider;
    const bool deforms = world_deforms(item);
    if (item->kind == ABUT_COLLIDER_SPHERE)
        return create_sphere(world->context, c->shape.sphere.centre, c->shape.sphere.radius, mesh);
    if (item->kind == ABUT_COLLIDER_CAPSULE)
        return create_capsule(world->context, &c->shape.capsule, mesh);
    if (item->kind == ABUT_COLLIDER_PLANE)
        return create_square(world, &c->shape.plane, mesh);
    if (item->kind != ABUT_COLLIDER_CHARACTER && !item->bvh) {
        abut_status status = abuti_world_core(world->context, (world_item *)(uintptr_t)item);
        if (status)
            return status;
    }
    const abut_mesh *from = abuti_world_triangles(item);
    vec3 *positions = abuti_allocate(world->context, from->vertex_count, sizeof *positions);
    if (!positions)
        return ABUT_ERROR_MEMORY;
    if (deforms && item->track && item->track->has_start && item->track->from)
        memcpy(positions, item->track->from, from->vertex_count * sizeof *positions);
    else if (deforms)
        abuti_world_positions(item, positions);
    else
        for (uint32_t i = 0; i < from->vertex_count; i++)
            positions[i] = abuti_mesh_position(from, i);
    const abut_mesh_input input =
        abut_mesh_input_doubles(positions, from->vertex_count, from->indices, from->triangle_count);
    abut_status status = abut_mesh_create(world->context, &input, mesh);
    abuti_release(world->context, positions);
    return status;
}
