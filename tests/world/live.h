/* A small world that lives for some frames, with every part of a step, for tests of
 * abut_world_step(). */
#ifndef ABUT_TESTS_WORLD_LIVE_H
#define ABUT_TESTS_WORLD_LIVE_H

#include "world/mesh_items.h"

enum { MIXED_FRAMES = 12 };

static inline uint64_t live_digest(uint64_t before, const void *data, size_t bytes) {
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        before = (before ^ p[i]) * UINT64_C(0x100000001b3);
    return before;
}

/* A sheet, a deforming ball that touches itself, a box and a sphere that moves through them. */
static inline abut_status live(abut_context *context, abut_device *device, uint32_t frames,
                               uint64_t *hash) {
    abut_world_options options = abut_world_options_default();
    abut_cloth_options air = abut_cloth_options_default();
    abut_cloth_material cotton = abut_cloth_material_default();
    const abut_shape_kind kinds[] = {ABUT_SHAPE_SHEET, ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_BOX};
    abut_mesh *meshes[3] = {NULL, NULL, NULL};
    abut_world *world = NULL;
    abut_vec3 positions[256];
    uint32_t ids[4] = {0};
    abut_status status = ABUT_OK;
    air.gravity.z = -9.81;
    options.cloth = &air;
    options.device = device;
    for (int i = 0; i < 3 && !status; i++) {
        abut_shape shape = abut_shape_default(kinds[i]);
        shape.segments = i == 0 ? 5 : 2;
        shape.rings = 5;
        status = abut_shape_create(context, &shape, &meshes[i]);
    }
    status = status ? status : abut_world_create(context, &options, &world);
    for (int i = 0; i < 4 && !status; i++) {
        abut_world_item item = of_mesh(meshes[i % 3], ABUT_WORLD_EXACT, v3(0.1 * i, 0, -0.9 * i));
        item.cloth = i == 0 ? &cotton : NULL;
        item.collider.shape.mesh.deforms = item.self_collides = i == 1;
        if (i == 3) {
            item.collider.kind = ABUT_COLLIDER_SPHERE;
            item.collider.shape.sphere = (abut_sphere){{0, 0, 0}, 0.2};
        }
        status = abut_world_add(world, &item, &ids[i]);
    }
    for (uint32_t frame = 0; frame < frames && !status; frame++) {
        const abut_pose to = {{0, 0, 0, 1}, v3(0.3, 0.1, -2.5 + 1.1 * (frame % 3))};
        abut_world_step_result result = abut_world_step_result_default();
        for (uint32_t i = 0; i < abut_mesh_vertex_count(meshes[1]); i++) {
            const abut_vec3 p = body_position(meshes[1], i);
            positions[i] = v3(p.x * (1 - 0.2 * frame), p.y, p.z); /* turns inside out */
        }
        status = abut_world_set_positions(world, ids[1], NULL, abut_array_host(positions));
        status = status ? status : abut_world_set_poses(world, &ids[3], abut_array_host(&to), 1);
        status = status ? status : abut_world_step(world, 1.0 / 60, &result);
        for (uint64_t i = 0; i < result.pair_count && !status; i++) {
            const abut_world_step_pair *p = &result.pairs[i];
            const double numbers[] = {p->a,    p->b,       (double)p->count, p->has_impact,
                                      p->time, p->point.x, p->error,         p->normal.z};
            *hash = live_digest(*hash, numbers, sizeof numbers);
        }
        if (!status)
            *hash =
                live_digest(*hash, result.contacts, result.contact_count * sizeof *result.contacts);
    }
    abut_world_destroy(world);
    for (int i = 0; i < 3; i++)
        abut_mesh_destroy(meshes[i]);
    return status;
}

#endif
