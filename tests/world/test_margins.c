/* Margins of items, which add up with that of the world. */
#include "support/support.h"

#include <math.h>

/* Two spheres with a gap have a contact if the margins of world and items together reach it. */
TEST(margins_of_items_add_up) {
    for (int motion = 0; motion < 2; motion++) { /* of a plane that may be b */
        abut_world_options options = abut_world_options_default();
        abut_world_item ball = abut_world_item_default(), other = ball;
        abut_contact list[4];
        abut_contacts contacts = {.size = sizeof contacts, .list = list, .capacity = 4};
        abut_world *world;
        uint32_t a, b;
        options.margin = 0.01;
        assert_ok(abut_world_create(NULL, &options, &world));
        ball.collider =
            abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 1}, abut_pose_identity());
        other.collider =
            motion
                ? abut_collider_from_plane((abut_plane){{0, 0, 1}, -1.1}, abut_pose_identity())
                : abut_collider_from_sphere((abut_sphere){{0, 0, -2.1}, 1}, abut_pose_identity());
        assert_ok(abut_world_add(world, &ball, &a));
        assert_ok(abut_world_add(world, &other, &b));
        assert_ok(abut_world_contacts(world, &contacts));
        assert_int_equal(contacts.count, 0);
        ball.margin = 0.08; /* 0.01 + 0.08 < 0.1 */
        assert_ok(abut_world_replace(world, a, &ball));
        assert_ok(abut_world_contacts(world, &contacts));
        assert_int_equal(contacts.count, 0);
        other.margin = 0.02;
        assert_ok(abut_world_replace(world, b, &other));
        assert_ok(abut_world_contacts(world, &contacts));
        assert_int_equal(contacts.count, 1);
        assert_true(fabs(list[0].depth + 0.1) < 1e-12);
        other.margin = 0;
        assert_ok(abut_world_replace(world, b, &other));
        assert_ok(abut_world_contacts(world, &contacts));
        assert_int_equal(contacts.count, 0);
        const double bad[] = {-1, NAN, INFINITY, 0.6 * ABUT_COORDINATE_MAX};
        for (int i = 0; i < 4; i++) {
            other.margin = bad[i];
            assert_refused("item->margin", abut_world_add(world, &other, &b));
        }
        other.margin = 0.4 * ABUT_COORDINATE_MAX; /* every pair is within this margin */
        assert_ok(abut_world_replace(world, b, &other));
        assert_ok(abut_world_contacts(world, &contacts));
        assert_int_equal(contacts.count, 1);
        abut_world_destroy(world);
    }
}
