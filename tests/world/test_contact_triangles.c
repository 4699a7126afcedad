/* Triangles of contacts against all triangles of both items. */
#include "scene.h"

enum { ROOM = 4096 };

/* The distance of a point in world coordinates from a triangle of an item. */
static double distance_of(const abut_world *world, uint32_t id, uint32_t triangle, vec3 point) {
    const world_item *item = &world_items(world)[abut_world_index(id)];
    static abut_vec3 positions[ROOM];
    const uint32_t *corner = item->bvh->mesh->indices + 3 * (size_t)triangle;
    abut_closest_on_triangle closest;
    assert_true(item->bvh->mesh->vertex_count <= ROOM);
    assert_ok(abut_mesh_get_positions(item->bvh->mesh, positions));
    const abut_triangle t = {{positions[corner[0]], positions[corner[1]], positions[corner[2]]}};
    const vec3 local = contact_to_local(&item->at.motion, point);
    assert_ok(abut_triangle_closest_point(&t, local, &closest));
    return v3_length(v3_sub(local, closest.point));
}

/* Random bodies by both methods, and solids: the triangle is as near to the point on the surface of
 * its item as any triangle. */
TEST(triangles_are_the_nearest) {
    test_random random = {61};
    static abut_contact list[ROOM];
    static uint32_t triangles[2 * ROOM];
    uint32_t checked = 0, solids = 0;
    for (uint32_t round = 0; round < test_rounds(4); round++) {
        scene s = {.options = abut_world_options_default(), .count = 10};
        abut_contacts found = {.size = sizeof found, .list = list, .capacity = ROOM};
        s.options.margin = 0.01;
        for (uint32_t i = 0; i < s.count; i++) {
            s.items[i] = varied_item(&random, 1);
            if (s.items[i].collider.kind == ABUT_COLLIDER_BODY)
                s.items[i] = mesh_item(&things[i % 2], s.items[i].collider.pose);
            s.items[i].is_sensor = false;
        }
        scene_begin(&s, serial);
        assert_ok(abut_world_contacts(s.world, &found));
        assert_ok(abut_world_contact_triangles(s.world, list, (size_t)found.count, triangles));
        for (uint64_t i = 0; i < found.count; i += 1 + found.count / 12)
            for (uint32_t k = 0; k < 2; k++) {
                const uint32_t id = k ? list[i].b : list[i].a, triangle = triangles[2 * i + k];
                const abut_bvh *bvh = world_items(s.world)[id].bvh;
                const vec3 point =
                    v3_along(list[i].point, (k ? 0.5 : -0.5) * list[i].depth, list[i].normal);
                if (!bvh) {
                    assert_int_equal(triangle, ABUT_NONE);
                    solids++;
                    continue;
                }
                assert_true(triangle < bvh->mesh->triangle_count);
                const double distance = distance_of(s.world, id, triangle, point);
                for (uint32_t other = 0; other < bvh->mesh->triangle_count; other++)
                    assert_true(distance <= distance_of(s.world, id, other, point) + 1e-9);
                checked++;
            }
        abut_world_destroy(s.world);
    }
    assert_true(checked > 8 * test_rounds(4) && solids > 0);
}

/* A cube on a floor of squares: the triangle of each corner is in the square below it. By exact
 * contacts, and by fields, whose points are on the surface of one item. */
TEST(materials_of_a_floor) {
    for (int by_field = 0; by_field < 2; by_field++) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
        abut_world_options options = abut_world_options_default();
        thing parts[2]; /* floor and cube */
        abut_world *world;
        static abut_contact list[ROOM];
        abut_contacts found = {.size = sizeof found, .list = list, .capacity = ROOM};
        static uint32_t triangles[2 * ROOM];
        uint32_t squares = 0;
        options.method = by_field ? ABUT_WORLD_FIELD : ABUT_WORLD_EXACT;
        assert_ok(abut_world_create(serial, &options, &world));
        for (int k = 0; k < 2; k++) {
            const abut_pose at = {{0, 0, 0, 1}, {0, 0, k ? 0.98 : 0}};
            shape.extent = k ? v3(2.2, 2.2, 1) : v3(4, 4, 1);
            shape.segments = k ? 1 : 4;
            make_thing(&parts[k], &shape, NULL, 0);
            assert_ok(abut_bvh_create(parts[k].mesh, NULL, &parts[k].bvh));
            abut_world_item item = body_item(&parts[k], at);
            item.collider.shape.body.bvh = parts[k].bvh;
            add(world, &item);
        }
        assert_ok(abut_world_contacts(world, &found));
        assert_true(found.count >= 4);
        assert_ok(abut_world_contact_triangles(world, list, (size_t)found.count, triangles));
        for (uint64_t i = 0; i < found.count; i++) {
            const uint32_t *corner = parts[0].mesh->indices + 3 * (size_t)triangles[2 * i];
            static abut_vec3 positions[ROOM];
            abut_vec3 middle = {0, 0, 0};
            assert_ok(abut_mesh_get_positions(parts[0].mesh, positions));
            for (int k = 0; k < 3; k++)
                middle = v3_along(middle, 1.0 / 3, positions[corner[k]]);
            assert_true(fabs(middle.z - 0.5) < 1e-9);
            if (by_field) /* some points are on the lines between squares */
                continue;
            assert_true(floor(middle.x) == floor(list[i].point.x));
            assert_true(floor(middle.y) == floor(list[i].point.y));
            squares |= 1u << (4 * ((int)floor(middle.x) + 2) + (int)floor(middle.y) + 2);
        }
        assert_true(by_field || squares == (1u << 0 | 1u << 3 | 1u << 12 | 1u << 15));
        abut_world_destroy(world);
        free_thing(&parts[0]);
        free_thing(&parts[1]);
    }
}

TEST(wrong_calls_are_refused) {
    abut_world *world;
    abut_contact contact = {.a = 0, .b = 1};
    uint32_t triangles[2] = {7, 7};
    assert_ok(abut_world_create(serial, NULL, &world));
    abut_world_item item = mesh_item(&things[1], abut_pose_identity());
    add(world, &item);
    assert_refused("no item 1", abut_world_contact_triangles(world, &contact, 1, triangles));
    assert_int_equal(triangles[0], 7);
    add(world, &item);
    assert_refused("world is null", abut_world_contact_triangles(NULL, &contact, 1, triangles));
    assert_refused("contacts is null", abut_world_contact_triangles(world, NULL, 1, triangles));
    assert_refused("triangles is null", abut_world_contact_triangles(world, &contact, 1, NULL));
    assert_ok(abut_world_contact_triangles(world, NULL, 0, NULL));
    contact.point.x = NAN;
    assert_refused("finite", abut_world_contact_triangles(world, &contact, 1, triangles));
    contact = (abut_contact){.a = 1, .b = 1, .element = 3, .part = 5};
    assert_ok(abut_world_contact_triangles(world, &contact, 1, triangles));
    assert_true(triangles[0] == 3 && triangles[1] == 5);
    abut_world_destroy(world);
}

int main(void) {
    return test_run(make_things, free_things);
}
