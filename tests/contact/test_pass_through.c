/* Bodies that have gone through a plate in several places at once, such as the legs of a stool:
 * each place has contacts, and the depths separate. */
#include "support/support.h"

#include <math.h>

/* Copies of a box side by side along x, and y. */
static abut_bvh *make_boxes(abut_vec3 extent, uint32_t columns, uint32_t rows, double spacing) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *box, *parts[16], *all;
    abut_bvh *bvh;
    shape.extent = extent;
    shape.segments = 1;
    assert_ok(abut_shape_create(NULL, &shape, &box));
    for (uint32_t i = 0; i < columns * rows; i++) {
        const abut_pose there = {{0, 0, 0, 1},
                                 {spacing * (i % columns - 0.5 * (columns - 1)),
                                  spacing * (i / columns - 0.5 * (rows - 1)), 0}};
        assert_ok(abut_mesh_transform(box, 1, there, &parts[i]));
    }
    assert_ok(abut_mesh_join(parts, columns * rows, &all));
    assert_ok(abut_bvh_create(all, NULL, &bvh));
    for (uint32_t i = 0; i < columns * rows; i++)
        abut_mesh_destroy(parts[i]);
    abut_mesh_destroy(all);
    abut_mesh_destroy(box);
    return bvh;
}

/* Legs of 0.6 through a plate of 0.04, at all heights and with hints of both sides. Without a hint
 * the shift is the shorter one, with one it is on its side. */
TEST(legs_go_through_a_plate) {
    const uint32_t counts[][2] = {{1, 1}, {2, 1}, {2, 2}, {3, 3}};
    abut_bvh *plate = make_boxes((abut_vec3){9, 9, 0.04}, 1, 1, 0);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        const uint32_t legs = counts[k][0] * counts[k][1];
        abut_bvh *stool = make_boxes((abut_vec3){0.6, 0.6, 0.6}, counts[k][0], counts[k][1], 2);
        for (double z = -0.31; z < 0.32; z += 0.017)
            for (int hint = -1; hint <= 1; hint++) {
                const abut_collider a = abut_collider_from_bvh(stool,
                                                               (abut_pose){{0, 0, 0.1, 1},
                                                                           {0.03, -0.05, z}}),
                                    b = abut_collider_from_bvh(plate, abut_pose_identity());
                const bool through = fabs(z) < 0.28;
                const double up = 0.32 - z, down = 0.32 + z;
                const double side = hint && through ? hint : z >= 0 ? 1 : -1;
                abut_patch_options options = abut_patch_options_default();
                abut_patch patches[32];
                abut_contact contacts[128];
                abut_patches found = {.size = sizeof found,
                                      .patches.list = patches,
                                      .patches.capacity = 32,
                                      .contacts.list = contacts,
                                      .contacts.capacity = 128};
                options.hint.z = hint;
                assert_ok(abut_contact_find(&a, &b, &options, &found));
                assert_int_equal(found.patches.count, legs);
                assert_true(found.is_verified);
                for (uint64_t i = 0; i < found.patches.count; i++) {
                    if (through && !hint && fabs(z) < 0.02)
                        continue; /* either side */
                    assert_true(fabs(patches[i].normal.z - side) < 1e-6);
                    assert_true(fabs(patches[i].depth - (side > 0 ? up : down)) < 1e-6);
                }
            }
        abut_bvh_destroy(stool);
    }
    abut_bvh_destroy(plate);
}
