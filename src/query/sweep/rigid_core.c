/* Cores: meshes by which primitives are swept.
 *
 * A primitive is swept as a core, which is a mesh, and a radius around it. The core of a sphere or
 * capsule is a box around its axis with a thickness of CORE_THICKNESS of the radius, so that both
 * together contain the solid and exceed it by less than CORE_THICKNESS of the radius. (If the sum
 * of the radii is larger than the cores, the search by distances adds up to 0.0016 of it.) The core
 * of a cylinder is a circumscribed prism of PRISM_SIDES sides, which exceeds it by 0.0013 of the
 * radius.
 */
#include "bvh/bvh.h"
#include "sweep/rigid.h"

#include <assert.h>
#include <math.h>

#define CORE_THICKNESS 0x1p-10 /* of a radius */
/* Minimum thickness of a core, relative to its size, or absolute if it has none. */
#define MIN_CORE_FRACTION 1e-9

enum { PRISM_SIDES = 64 };

/* A right-handed frame whose first axis has a given direction. */
static void make_frame(vec3 along, vec3 axes[3]) {
    vec3 u = v3_normalise(along);
    axes[0] = v3_max_abs(u) > 0 ? u : v3(1, 0, 0);
    axes[1] = v3_cross(axes[0], fabs(axes[0].x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0));
    axes[1] = v3_normalise(axes[1]);
    axes[2] = v3_cross(axes[0], axes[1]);
}

static abut_status create_core_mesh(const char *function, abut_context *context,
                                    const vec3 *corners, uint32_t count, const uint32_t *triangles,
                                    uint32_t triangle_count, abut_bvh **bvh) {
    abut_mesh *mesh = NULL;
    vec3 *positions = abuti_allocate(context, count, sizeof *positions);
    uint32_t *indices = abuti_allocate(context, 3 * (size_t)triangle_count, sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
    memcpy(positions, corners, count * sizeof *positions);
    memcpy(indices, triangles, 3 * (size_t)triangle_count * sizeof *indices);
    abut_status status =
        abuti_mesh_derive(context, function, positions, count, indices, triangle_count, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, bvh);
    abut_mesh_destroy(mesh);
    return status;
}

/* A box with these half extents along the axes. */
static abut_status create_box_core(const char *function, abut_context *context, vec3 middle,
                                   const vec3 axes[3], vec3 half, abut_bvh **bvh) {
    static const uint32_t triangles[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                           2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
    vec3 corners[8];
    for (uint32_t i = 0; i < 8; i++) {
        corners[i] = middle;
        for (uint32_t k = 0; k < 3; k++)
            corners[i] =
                v3_along(corners[i], (i >> k & 1 ? 1 : -1) * v3_get(half, (int)k), axes[k]);
    }
    return create_core_mesh(function, context, corners, 8, triangles, 12, bvh);
}

/* A prism around a cylinder: corners alternate between both ends. */
static abut_status create_prism_core(const char *function, abut_context *context,
                                     const abut_cylinder *c, abut_bvh **bvh) {
    enum { TRIANGLES = 4 * PRISM_SIDES - 4 };
    const double pi = 3.14159265358979323846, out = c->radius / cos(pi / PRISM_SIDES) * (1 + 1e-12);
    vec3 corners[2 * PRISM_SIDES], axes[3];
    uint32_t triangles[3 * TRIANGLES], *to = triangles;
    make_frame(v3_sub(c->end[1], c->end[0]), axes);
    for (uint32_t i = 0; i < 2 * PRISM_SIDES; i++) {
        double angle = 2 * pi * (i / 2) / PRISM_SIDES;
        corners[i] = v3_along(c->end[i % 2], out * cos(angle), axes[1]);
        corners[i] = v3_along(corners[i], out * sin(angle), axes[2]);
    }
    for (uint32_t i = 0; i < PRISM_SIDES; i++) {
        const uint32_t a = 2 * i, b = 2 * ((i + 1) % PRISM_SIDES);
        const uint32_t sides[6] = {a, b, a + 1, a + 1, b, b + 1},
                       caps[6] = {0, b, a, 1, a + 1, b + 1};
        memcpy(to, sides, sizeof sides);
        to += 6;
        if (i == 0 || i == PRISM_SIDES - 1)
            continue;
        memcpy(to, caps, sizeof caps);
        to += 6;
    }
    return create_core_mesh(function, context, corners, 2 * PRISM_SIDES, triangles, TRIANGLES, bvh);
}

abut_status abuti_sweep_create_core(const char *function, abut_context *context,
                                    const abut_collider *primitive, abut_bvh **core,
                                    double *radius) {
    const abut_sphere *sphere = &primitive->shape.sphere;
    vec3 axes[3], half = primitive->shape.half;
    *radius = 0;
    if (primitive->kind == ABUT_COLLIDER_CYLINDER)
        return create_prism_core(function, context, &primitive->shape.cylinder, core);
    if (primitive->kind == ABUT_COLLIDER_BOX) {
        const double least =
            v3_max_abs(half) > 0 ? MIN_CORE_FRACTION * v3_max_abs(half) : MIN_CORE_FRACTION;
        axes[0] = v3(1, 0, 0);
        axes[1] = v3(0, 1, 0);
        axes[2] = v3(0, 0, 1);
        half = v3_max(half, v3(least, least, least));
        return create_box_core(function, context, v3(0, 0, 0), axes, half, core);
    }
    assert(primitive->kind == ABUT_COLLIDER_SPHERE || primitive->kind == ABUT_COLLIDER_CAPSULE);
    const abut_capsule c = primitive->kind == ABUT_COLLIDER_SPHERE
                               ? (abut_capsule){{sphere->centre, sphere->centre}, sphere->radius}
                               : primitive->shape.capsule;
    const double thin = c.radius > 0 ? CORE_THICKNESS * c.radius : MIN_CORE_FRACTION;
    vec3 along = v3_scale(v3_sub(c.end[1], c.end[0]), 0.5);
    make_frame(along, axes);
    *radius = real_max(c.radius - thin, 0);
    half = v3(v3_length(along) + thin, thin, thin);
    return create_box_core(function, context, v3_add(c.end[0], along), axes, half, core);
}
