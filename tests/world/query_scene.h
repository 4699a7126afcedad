/* Worlds for tests of queries: items of all kinds, and each mesh in world coordinates. */
#ifndef ABUT_TEST_QUERY_SCENE_H
#define ABUT_TEST_QUERY_SCENE_H

#include "world/scene.h"

enum { QUERY_ITEMS = 40 };

typedef struct query_scene {
    abut_world *world;
    abut_world_item items[QUERY_ITEMS];
    abut_bvh *posed[QUERY_ITEMS]; /* at the pose of the item; null for primitives other than hulls,
                                   * and for bodies without a BVH */
    uint32_t count;
} query_scene;

static inline bool is_solid(const abut_world_item *item) {
    return item->collider.kind >= ABUT_COLLIDER_PLANE && item->collider.kind < ABUT_COLLIDER_HULL;
}

static inline abut_triangle mesh_triangle(const abut_mesh *mesh, uint32_t triangle) {
    abut_triangle t;
    const uint32_t *corner = abut_mesh_indices(mesh) + 3 * (size_t)triangle;
    for (int k = 0; k < 3; k++)
        t.corner[k] = abuti_mesh_position(mesh, corner[k]);
    return t;
}

static inline const abut_bvh *collider_bvh(const abut_collider *c) {
    return c->kind == ABUT_COLLIDER_BODY   ? c->shape.body.bvh
           : c->kind == ABUT_COLLIDER_HULL ? c->shape.hull
                                           : NULL;
}

/* The signed distance of a cylinder: the larger of two distances inside, a corner outside. */
static inline double cylinder_distance(const abut_cylinder *c, abut_vec3 point) {
    const abut_vec3 axis = v3_normalise(v3_sub(c->end[1], c->end[0])),
                    from = v3_sub(point, v3_scale(v3_add(c->end[0], c->end[1]), 0.5));
    const double along = fabs(v3_dot(from, axis)) - 0.5 * v3_length(v3_sub(c->end[1], c->end[0])),
                 out = v3_length(v3_along(from, -v3_dot(from, axis), axis)) - c->radius;
    return along > 0 && out > 0 ? hypot(along, out) : fmax(along, out);
}

/* The signed distance of a point from a primitive other than a hull, at its pose. */
static inline double solid_distance(const abut_collider *c, abut_vec3 point) {
    abut_pose back;
    abut_signed_closest closest = {.distance = HUGE_VAL};
    const abut_box box = {v3_scale(c->shape.half, -1), c->shape.half};
    assert_ok(abut_pose_invert(&c->pose, &back));
    assert_ok(abut_pose_apply(&back, point, &point));
    if (c->kind == ABUT_COLLIDER_PLANE)
        assert_ok(abut_plane_closest_point(&c->shape.plane, point, &closest));
    else if (c->kind == ABUT_COLLIDER_SPHERE)
        assert_ok(abut_sphere_closest_point(&c->shape.sphere, point, &closest));
    else if (c->kind == ABUT_COLLIDER_CAPSULE)
        assert_ok(abut_capsule_closest_point(&c->shape.capsule, point, &closest));
    else if (c->kind == ABUT_COLLIDER_BOX)
        assert_ok(abut_box_closest_point(&box, point, &closest));
    else
        closest.distance = cylinder_distance(&c->shape.cylinder, point);
    return closest.distance;
}

/* The first items are of all kinds; one is a plane. Some bodies have no BVH. */
static inline void query_scene_begin(query_scene *s, test_random *random, uint32_t count,
                                     double reach, double plane_height) {
    memset(s, 0, sizeof *s);
    s->count = count;
    assert_true(count <= QUERY_ITEMS);
    assert_ok(abut_world_create(serial, NULL, &s->world));
    for (uint32_t i = 0; i < count; i++) {
        abut_world_item item;
        do
            item = varied_item(random, reach);
        while (i <= ABUT_COLLIDER_HULL ? item.collider.kind != (abut_collider_kind)i
                                       : item.collider.kind == ABUT_COLLIDER_PLANE);
        if (i == 0)
            item.collider.shape.body.bvh = things[0].bvh;
        if (item.collider.kind == ABUT_COLLIDER_PLANE)
            item.collider.shape.plane.offset = plane_height;
        s->items[i] = item;
        assert_int_equal(add(s->world, &item), i);
        const abut_bvh *bvh = collider_bvh(&item.collider);
        abut_mesh *mesh = NULL;
        if (!bvh)
            continue;
        assert_ok(abut_mesh_transform(abut_bvh_mesh(bvh), 1, item.collider.pose, &mesh));
        assert_ok(abut_bvh_create(mesh, NULL, &s->posed[i]));
        abut_mesh_destroy(mesh);
    }
    assert_ok(abut_world_prepare_queries(s->world));
}

static inline void query_scene_end(query_scene *s) {
    for (uint32_t i = 0; i < s->count; i++)
        abut_bvh_destroy(s->posed[i]);
    abut_world_destroy(s->world);
}

#endif
