/* Meshes in a world: each method against the module behind it, and thin, flush and inner meshes. */
#include "world/mesh_items.h"

/* ---- methods against the modules behind them ---- */

/* Exact and by fields: as bodies that the user made. */
TEST(meshes_are_the_bodies_made_of_them) {
    test_random random = {9};
    for (int method = ABUT_WORLD_EXACT; method <= ABUT_WORLD_FIELD; method++) {
        static abut_contact ours[ROOM], theirs[ROOM];
        abut_world *worlds[2] = {make_world(0.02, NULL), make_world(0.02, serial)};
        abut_contacts found[2] = {{.size = sizeof(abut_contacts), .list = ours, .capacity = ROOM},
                                  {.size = sizeof(abut_contacts),
                                   .list = theirs,
                                   .capacity = ROOM}};
        thing made = {0};
        abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
        abut_field_options field = abut_field_options_default();
        field.cells = 24;
        shape.segments = 12;
        make_thing(&made, &shape, &field, 0);
        assert_ok(abut_bvh_create(made.mesh, NULL, &made.bvh));
        for (int i = 0; i < 16; i++) {
            abut_world_item item = of_mesh(made.mesh, (abut_world_method)method, v3(0, 0, 0));
            item.collider.pose = random_pose(&random, 1);
            add(worlds[0], &item);
            item = method == ABUT_WORLD_EXACT ? mesh_item(&made, item.collider.pose)
                                              : body_item(&made, item.collider.pose);
            add(worlds[1], &item);
        }
        assert_ok(abut_world_contacts(worlds[0], &found[0]));
        assert_ok(abut_world_contacts(worlds[1], &found[1]));
        assert_in_range(found[0].count, 10, ROOM);
        assert_int_equal(found[0].count, found[1].count);
        for (uint64_t i = 0; i < found[0].count; i++)
            assert_same_contact(&ours[i], &theirs[i]);
        for (int i = 0; i < 2; i++)
            abut_world_destroy(worlds[i]);
        abut_bvh_destroy(made.bvh);
        abut_samples_destroy(made.samples);
        abut_field_destroy(made.field);
        abut_mesh_destroy(made.mesh);
    }
}

/* By a map: every contact is a sample, and as deep as an exact signed distance says; where none
 * touches, exact patches. The deepest place of the surface is no deeper than the error allows. */
TEST(maps_agree_with_signed_distances) {
    test_random random = {10};
    abut_bvh *tree = NULL;
    uint32_t by_map = 0, by_exact = 0;
    assert_ok(abut_bvh_create(ball, NULL, &tree));
    assert_ok(abut_sign_prepare(tree, NULL));
    for (uint32_t round = 0; round < test_rounds(160); round++) {
        static abut_contact list[ROOM];
        abut_contacts found = {.size = sizeof found, .list = list, .capacity = ROOM};
        abut_world *world = make_world(round % 2 ? 0.02 : 0, round % 3 ? serial : NULL);
        abut_mesh *first = round % 4 == 3 ? sheet : cube;
        abut_world_item items[2] = {of_mesh(first, ABUT_WORLD_MAP, v3(0, 0, 0)),
                                    of_mesh(ball, ABUT_WORLD_AUTO, v3(0, 0, 0))};
        abut_world_event event;
        const bool swapped = round % 5 == 1;
        items[0].collider.pose = random_pose(&random, 0.2);
        items[1].collider.pose = random_pose(&random, 1.1);
        items[0].collider.shape.mesh.resolution = round % 7        ? 0
                                                  : first == sheet ? 32
                                                                   : 8; /* coarse */
        for (int i = 0; i < 2; i++)
            add(world, &items[i ^ swapped]);
        assert_ok(abut_world_contacts(world, &found));
        uint64_t count = events_of(world, &event, 1);
        const abut_collider p = abut_collider_from_bvh(tree, items[1].collider.pose);
        abut_bvh *other = NULL;
        bool touch = false;
        assert_ok(abut_bvh_create(first, NULL, &other));
        const abut_collider q = abut_collider_from_bvh(other, items[0].collider.pose);
        assert_ok(abut_pair_within(&p, &q, round % 2 ? 0.02 : 0, NULL, NULL, &touch, NULL));
        abut_bvh_destroy(other);
        if (!touch || !count) {
            assert_true(!touch && !count && !found.count);
            abut_world_destroy(world);
            continue;
        }
        by_map += event.method == ABUT_WORLD_MAP;
        by_exact += event.method == ABUT_WORLD_EXACT;
        contact_motion m;
        assert_ok(abuti_contact_pose("test", "a pose", &items[1].collider.pose, &m));
        for (uint64_t i = 0; i < found.count && event.method == ABUT_WORLD_MAP; i++) {
            const abut_contact *c = &list[i];
            /* The point is halfway to the surface; so both ways along the normal. */
            const double sign = swapped ? -0.5 : 0.5;
            const vec3 sample = v3_along(c->point, -sign * c->depth, c->normal);
            abut_nearest nearest;
            assert_ok(abut_sign_nearest(tree, contact_to_local(&m, sample), HUGE_VAL, &nearest));
            assert_true(fabs(nearest.distance + c->depth) < 1e-5);
            assert_int_equal(c->side, swapped);
            assert_int_equal(c->kind, ABUT_CONTACT_SURFACE);
        }
        /* No vertex of it, which is on the surface, is deeper than the error allows. */
        assert_ok(abuti_contact_pose("test", "a pose", &items[0].collider.pose, &m));
        for (uint32_t i = 0; i < abut_mesh_vertex_count(first); i++) {
            const vec3 at = contact_to_world(&m, body_position(first, i));
            contact_motion n;
            abut_nearest nearest;
            assert_ok(abuti_contact_pose("test", "a pose", &items[1].collider.pose, &n));
            assert_ok(abut_sign_nearest(tree, contact_to_local(&n, at), HUGE_VAL, &nearest));
            if (event.method == ABUT_WORLD_MAP)
                assert_true(-nearest.distance <= event.deepest.depth + event.error + 1e-5);
        }
        abut_world_destroy(world);
    }
    assert_true(by_map > 3 && (by_exact > 0 || !test_thorough()));
    abut_bvh_destroy(tree);
}

/* By layers: one contact a pair, of abut_layers_find(). */
TEST(layers_agree_with_layers) {
    enum { COUNT = 9 };
    test_random random = {12};
    abut_world *world = make_world(0, NULL);
    abut_layers *layers = NULL;
    abut_layers_pair pairs[COUNT * COUNT];
    abut_layers_result result = {.size = sizeof result,
                                 .pairs.list = pairs,
                                 .pairs.capacity = COUNT * COUNT};
    abut_layers_query query = abut_layers_query_default();
    abut_contact list[COUNT * COUNT];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = COUNT * COUNT};
    abut_world_pair candidates[COUNT * COUNT];
    query.resolution = 128;
    assert_ok(abut_layers_create(serial, NULL, &layers));
    for (uint32_t i = 0; i < COUNT; i++) {
        abut_world_item item = of_mesh(i % 3 ? ball : cube, ABUT_WORLD_LAYERS, v3(0, 0, 0));
        item.collider.pose = random_pose(&random, 0.9);
        item.collider.shape.mesh.resolution = 128;
        const abut_layers_item solid = {.size = sizeof(abut_layers_item),
                                        .collider =
                                            abut_collider_from_mesh(item.collider.shape.mesh.mesh,
                                                                    item.collider.pose)};
        add(world, &item);
        assert_ok(abut_layers_add(layers, &solid, NULL));
    }
    for (int step = 0; step < 2; step++) { /* also after an item went and came back */
        assert_ok(abut_world_contacts(world, &found));
        abut_world_pair_list candidate_list = {candidates, COUNT * COUNT, 0};
        assert_ok(abut_world_pairs(world, &candidate_list));
        assert_ok(abut_layers_find(layers, &query, &result));
        uint64_t at = 0;
        assert_true(result.pairs.count > 2);
        for (uint64_t i = 0; i < found.count; i++) {
            const abut_contact *pair = &list[i];
            if (list[i].kind != ABUT_CONTACT_OVERLAP)
                continue; /* no ray is in both */
            assert_true(pairs[at].a == abut_world_index(pair->a) &&
                        pairs[at].b == abut_world_index(pair->b));
            assert_true(pairs[at].depth == list[i].depth);
            assert_memory_equal(&pairs[at].centre, &list[i].point, sizeof list[i].point);
            if (v3_length(pairs[at].normal) > 0)
                assert_memory_equal(&pairs[at].normal, &list[i].normal, sizeof list[i].normal);
            at++;
        }
        assert_int_equal(at, result.pairs.count);
        if (step)
            break;
        abut_world_item item = of_mesh(cube, ABUT_WORLD_LAYERS, v3(0.3, 0, 0));
        item.collider.shape.mesh.resolution = 128;
        assert_ok(abut_world_remove(world, 4));
        assert_ok(abut_layers_remove(layers, 4));
        assert_int_equal(abut_world_index(add(world, &item)), 4);
        const abut_layers_item solid = {.size = sizeof(abut_layers_item),
                                        .collider =
                                            abut_collider_from_mesh(cube, item.collider.pose)};
        uint32_t id;
        assert_ok(abut_layers_add(layers, &solid, &id));
        assert_int_equal(id, 4);
    }
    abut_layers_destroy(layers);
    abut_world_destroy(world);
}

/* A sheet as fine as cells goes by its vertices against a field, one that is coarse by its map. */
TEST(fine_sheets_go_by_vertices) {
    for (int fine = 0; fine < 2; fine++)
        for (int swapped = 0; swapped < 2; swapped++) {
            static abut_contact ours[ROOM], theirs[ROOM];
            abut_mesh *cloth = make_shape(ABUT_SHAPE_SHEET, fine ? 48 : 8, v3(2, 2, 0));
            abut_world *world = make_world(0.02, NULL);
            abut_world_item items[2] = {of_mesh(cloth, ABUT_WORLD_AUTO, v3(0, 0, 0.45)),
                                        of_mesh(ball, ABUT_WORLD_FIELD, v3(0.1, 0.1, 0))};
            abut_contacts found = {.size = sizeof found, .list = ours, .capacity = ROOM},
                          expected = {.size = sizeof expected, .list = theirs, .capacity = ROOM};
            abut_contact_options options = abut_contact_options_default();
            abut_topology *topology = NULL;
            abut_field *field = NULL;
            abut_field_options cells = abut_field_options_default();
            abut_world_pair_info manner = abut_world_pair_info_default();
            items[0].collider.shape.mesh.deforms = true;
            cells.cells = 24;
            options.margin = 0.02;
            for (int i = 0; i < 2; i++)
                add(world, &items[i ^ swapped]);
            assert_ok(abut_world_get_pair_info(world, 0, 1, &manner));
            assert_int_equal(manner.method, fine ? ABUT_WORLD_FIELD : ABUT_WORLD_MAP);
            assert_ok(abut_world_contacts(world, &found));
            assert_ok(abut_topology_create(cloth, &topology));
            assert_ok(abut_field_create(ball, &cells, &field));
            const abut_collider body =
                abut_collider_from_field(field, NULL, items[1].collider.pose);
            assert_ok(abut_contact_mesh(&body, cloth, topology, &items[0].collider.pose, &options,
                                        &expected));
            assert_true(found.count > 0);
            for (uint64_t i = 0; i < expected.count && fine; i++) {
                assert_int_equal(found.count, expected.count);
                assert_true(ours[i].depth == theirs[i].depth &&
                            ours[i].element == theirs[i].element);
                assert_int_equal(ours[i].side, swapped ? 1 : 0);
                assert_true(swapped ? ours[i].normal.z < 0 : ours[i].normal.z > 0);
            }
            abut_world_destroy(world);
            abut_field_destroy(field);
            abut_topology_destroy(topology);
            abut_mesh_destroy(cloth);
        }
}

/* ---- what is hard ---- */

/* A ball in a very thin plate, and on it; boxes that touch face to face; one inside another. */
TEST(thin_flush_and_within) {
    static const abut_world_method ways[] = {ABUT_WORLD_AUTO, ABUT_WORLD_MAP, ABUT_WORLD_LAYERS};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int which = 0; which < 4; which++) {
            abut_world *world = make_world(which == 2 ? 1e-6 : 0, serial);
            abut_mesh *meshes[4][2] = {{plate, ball}, {plate, ball}, {cube, cube}, {ball, cube}};
            const double heights[4] = {0.2, 5, 1, 0};
            abut_contact list[256];
            abut_contacts found = {.size = sizeof found, .list = list, .capacity = 256};
            for (int k = 0; k < 2; k++) {
                abut_world_item item =
                    of_mesh(meshes[which][k], ways[i], v3(0, 0, k * heights[which]));
                item.collider.shape.mesh.resolution = 64;
                add(world, &item);
            }
            assert_ok(abut_world_contacts(world, &found));
            if ((found.count > 0) != (which != 1))
                fail_msg("%s, which %d: %d contacts", abut_world_method_name(ways[i]), which,
                         (int)found.count);
            abut_world_destroy(world);
        }
}

int main(void) {
    return test_run(set_up, tear_down);
}
