/* Hints of exact contacts: a body that has passed through another returns to its side. */
#include "world/scene.h"

/* A ball that has gone halfway and more through a plate is pushed back to the side it came from: by
 * last step's normal, or by its motion. */
TEST(thin_plates_remember_the_side) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    thing plate = {NULL, NULL, NULL, NULL};
    shape.extent = v3(4, 4, 0.01);
    assert_ok(abut_shape_create(serial, &shape, &plate.mesh));
    assert_ok(abut_bvh_create(plate.mesh, NULL, &plate.bvh));
    const abut_pose origin = {{0, 0, 0, 1}, {0.2, 0.1, 0}};
    const double radius = abut_mesh_bounds(things[2].mesh).hi.z;
    const double half = 0.2 * radius;
    abut_world_item balls[3] = {mesh_item(&things[2], origin)};
    balls[1] = (abut_world_item){.size = sizeof(abut_world_item),
                                 .collider.kind = ABUT_COLLIDER_SPHERE,
                                 .collider.shape.sphere = {{0, 0, 0}, radius}};
    balls[2] = (abut_world_item){.size = sizeof(abut_world_item),
                                 .collider.kind = ABUT_COLLIDER_CAPSULE,
                                 .collider.shape.capsule = {{{-half, 0, 0}, {half, 0, 0}}, radius}};
    for (int kind = 0; kind < 12; kind++)
        for (int slowly = 0; slowly < 2; slowly++)
            for (int swapped = 0; swapped < 2; swapped++) {
                abut_world *world;
                abut_pose at = origin;
                int side = kind % 2 ? 1 : -1;
                double through = kind < 6 ? 0.1 : 0.5;
                at.translation.z = side * (slowly ? 0.5 : 1.2) * radius;
                uint32_t ids[2];
                assert_ok(abut_world_create(serial, NULL, &world));
                for (int i = 0; i < 2; i++) {
                    bool ball = i == swapped;
                    abut_world_item item = ball ? balls[kind / 2 % 3] : mesh_item(&plate, origin);
                    item.collider.pose = ball ? at : origin;
                    item.motion = ball ? ABUT_WORLD_DYNAMIC : ABUT_WORLD_STATIC;
                    assert_ok(abut_world_add(world, &item, &ids[i]));
                }
                abut_world_event event;
                uint64_t count = events_of(world, &event, 1);
                assert_int_equal(count, slowly);
                at.translation.z = -through * side * radius; /* the middle is through */
                assert_ok(abut_world_set_poses(world, &ids[swapped], abut_array_host(&at), 1));
                count = events_of(world, &event, 1);
                assert_int_equal(count, 1);
                double out = event.deepest.normal.z * (swapped ? -1 : 1) * side;
                assert_true(out > 0.9);
                assert_true(event.is_verified);
                double depth = (1 + through) * radius + 0.005;
                assert_true(fabs(event.deepest.depth - depth) < 0.01 * radius);
                abut_world_destroy(world);
            }
    abut_bvh_destroy(plate.bvh);
    abut_mesh_destroy(plate.mesh);
}

int main(void) {
    return test_run(make_things, free_things);
}
