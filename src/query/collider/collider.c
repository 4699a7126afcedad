/* Colliders: names, bounds, and validation of the values that callers pass. */
#include "collider/collider.h"

#include "base/base.h"
#include "bvh/bvh.h"
#include "geom/pose.h"

#include <math.h>
#include <stdio.h>

/* Items of worlds contain colliders, so their size must not change. */
_Static_assert(sizeof(abut_collider) == 160, "a collider has 160 bytes");

const char *abut_collider_kind_name(abut_collider_kind kind) {
    static const char *const names[] = {"body",     "plane", "sphere",    "capsule", "box",
                                        "cylinder", "hull",  "character", "mesh"};
    return ABUTI_NAME(names, kind);
}

abut_status abuti_collider_read(const char *function, const char *what,
                                const abut_collider *collider, abut_collider *ours) {
    if (!collider)
        return abuti_null(function, what);
    *ours = *collider;
    if ((uint32_t)ours->kind <= ABUT_COLLIDER_MESH)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: %s->kind is %u; it must be from 0 to %d (abut_collider_kind)", function,
                      what, (uint32_t)ours->kind, ABUT_COLLIDER_MESH);
}

abut_status abuti_collider_refuse(const char *function, const char *what,
                                  const abut_collider *collider, const char *accepted) {
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is a %s; it must be %s", function, what,
                      abut_collider_kind_name(collider->kind), accepted);
}

abut_status abuti_collider_check_primitive(const char *function, const char *what,
                                           const abut_collider *solid) {
    const double *numbers = (const double *)&solid->shape;
    static const size_t counts[] = {[ABUT_COLLIDER_PLANE] = 4,
                                    [ABUT_COLLIDER_SPHERE] = 4,
                                    [ABUT_COLLIDER_CAPSULE] = 7,
                                    [ABUT_COLLIDER_BOX] = 3,
                                    [ABUT_COLLIDER_CYLINDER] = 7};
    abut_status status = abuti_check_numbers(function, what, numbers, counts[solid->kind]);
    if (status)
        return status;
    if (solid->kind == ABUT_COLLIDER_PLANE && !(v3_length(solid->shape.plane.normal) > 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is a plane with a normal of 0", function,
                          what);
    const size_t first = solid->kind == ABUT_COLLIDER_BOX ? 0 : counts[solid->kind] - 1;
    for (size_t i = first; i < counts[solid->kind] && solid->kind != ABUT_COLLIDER_PLANE; i++)
        if (!(numbers[i] >= 0))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: %s is a %s with a %s of %g; it must be from 0 to %g units of "
                              "the coordinates",
                              function, what, abut_collider_kind_name(solid->kind),
                              solid->kind == ABUT_COLLIDER_BOX ? "half size" : "radius", numbers[i],
                              ABUT_COORDINATE_MAX);
    const abut_vec3 *end = solid->shape.cylinder.end;
    if (solid->kind == ABUT_COLLIDER_CYLINDER && v3_max_abs(v3_sub(end[1], end[0])) == 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is a cylinder with both ends in one place",
                          function, what);
    return ABUT_OK;
}

static const abut_mesh *mesh_of(const abut_collider *collider) {
    const abut_bvh *bvh = collider->kind == ABUT_COLLIDER_BODY   ? collider->shape.body.bvh
                          : collider->kind == ABUT_COLLIDER_HULL ? collider->shape.hull
                                                                 : NULL;
    return collider->kind == ABUT_COLLIDER_MESH ? collider->shape.mesh.mesh
           : bvh                                ? bvh->mesh
                                                : NULL;
}

abut_status abuti_collider_read_mesh(const char *function, const char *what, size_t index,
                                     const abut_collider *collider, const abut_mesh **mesh) {
    *mesh = mesh_of(collider);
    if (*mesh)
        return ABUT_OK;
    abut_collider ours;
    char name[64];
    snprintf(name, sizeof name, index == SIZE_MAX ? "%s" : "%s[%zu]", what, index);
    abut_status status = abuti_collider_read(function, name, collider, &ours);
    if (status)
        return status;
    const char *member = ours.kind == ABUT_COLLIDER_MESH   ? "mesh.mesh"
                         : ours.kind == ABUT_COLLIDER_HULL ? "hull"
                         : ours.kind == ABUT_COLLIDER_BODY ? "body.bvh"
                                                           : NULL;
    return member
               ? abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s.shape.%s is null", function, name, member)
               : abuti_collider_refuse(function, name, &ours,
                                       "a mesh, a hull, or a body with a BVH");
}

static box3 extend_box(vec3 a, vec3 b, vec3 by) {
    return (box3){v3_sub(v3_min(a, b), by), v3_add(v3_max(a, b), by)};
}

box3 abuti_collider_bounds(const abut_collider *collider) {
    const abut_sphere *s = &collider->shape.sphere;
    const abut_capsule *c = &collider->shape.capsule;
    const abut_cylinder *y = &collider->shape.cylinder;
    vec3 r;
    switch (collider->kind) {
    case ABUT_COLLIDER_SPHERE:
        return extend_box(s->centre, s->centre, v3(s->radius, s->radius, s->radius));
    case ABUT_COLLIDER_CAPSULE:
        return extend_box(c->end[0], c->end[1], v3(c->radius, c->radius, c->radius));
    case ABUT_COLLIDER_BOX:
        return (box3){v3_scale(collider->shape.half, -1), collider->shape.half};
    case ABUT_COLLIDER_CYLINDER: /* extent of a disc along each axis */
        r = v3_normalise(v3_sub(y->end[1], y->end[0]));
        r = v3_scale(v3(sqrt(real_max(1 - r.x * r.x, 0)), sqrt(real_max(1 - r.y * r.y, 0)),
                        sqrt(real_max(1 - r.z * r.z, 0))),
                     y->radius * (1 + 1e-12));
        return extend_box(y->end[0], y->end[1], r);
    case ABUT_COLLIDER_HULL:
        return collider->shape.hull->mesh->bounds;
    default:
        return (box3){{0, 0, 0}, {0, 0, 0}};
    }
}
