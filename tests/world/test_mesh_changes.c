/* Meshes in a world: shapes that change, threads and memory. */
#include "world/mesh_items.h"

/* ---- shapes that change ---- */

/* A deformed item has the contacts of one that was added as it is now. */
TEST(deformed_is_as_if_new) {
    abut_vec3 *positions = malloc(4096 * sizeof *positions);
    for (int sort = 0; sort < 4; sort++)
        for (int step = 0; step < 3; step++) {
            static abut_contact ours[ROOM], theirs[ROOM];
            abut_mesh *mesh = sort == 1 ? sheet : ball;
            const abut_world_method way = sort == 2   ? ABUT_WORLD_MAP
                                          : sort == 3 ? ABUT_WORLD_LAYERS
                                                      : ABUT_WORLD_AUTO;
            abut_world *worlds[2] = {make_world(0.01, NULL), make_world(0.01, serial)};
            abut_contacts found[2] = {
                {.size = sizeof(abut_contacts), .list = ours, .capacity = ROOM},
                {.size = sizeof(abut_contacts), .list = theirs, .capacity = ROOM}};
            abut_world_item item = of_mesh(mesh, way, v3(0.1, 0, -0.2));
            abut_world_event events[4];
            item.collider.shape.mesh.deforms = true;
            item.collider.shape.mesh.resolution = 64;
            assert_true(abut_mesh_vertex_count(mesh) <= 4096);
            add(worlds[0], &item);
            const double by[3] = {1, 1.3, 0.5}, up[3] = {0.1, 0.3, -9};
            abut_world_item rest = of_mesh(ball, way, v3(0, 0, 0.35));
            rest.collider.shape.mesh.resolution = 64;
            add(worlds[0], &rest);
            assert_ok(abut_world_contacts(worlds[0], &found[0]));
            stretch(mesh, by[step], up[step], positions);
            assert_ok(abut_world_set_positions(worlds[0], 0, NULL, abut_array_host(positions)));
            abut_mesh *now = test_mesh(serial, positions, abut_mesh_vertex_count(mesh),
                                       abut_mesh_indices(mesh), abut_mesh_triangle_count(mesh));
            /* The atlas of a map stays that of the shape at rest, so the other gets it too. */
            add(worlds[1], &item);
            add(worlds[1], &rest);
            assert_ok(abut_world_set_positions(worlds[1], 0, NULL, abut_array_host(positions)));
            if (sort == 0 || sort == 3) {
                item.collider.shape.mesh.mesh = now;
                assert_ok(abut_world_replace(worlds[1], 0, &item));
            }
            abut_world_event_list event_list = {events, 4, 0};
            assert_ok(abut_world_events(worlds[0], &event_list));
            assert_ok(abut_world_contacts(worlds[0], &found[0]));
            assert_ok(abut_world_contacts(worlds[1], &found[1]));
            assert_int_equal(found[0].count, found[1].count);
            if ((found[0].count > 0) != (step < 2))
                fail_msg("sort %d step %d", sort, step);
            for (uint64_t i = 0; i < found[0].count; i++)
                assert_true(fabs(ours[i].depth - theirs[i].depth) < 1e-12);
            /* What is refused leaves it as it is. */
            const uint64_t before = found[0].count;
            positions[3].x = NAN;
            assert_int_equal(abut_world_set_positions(worlds[0], 0, NULL,
                                                      abut_array_host(positions)),
                             ABUT_ERROR_ARGUMENT);
            assert_ok(abut_world_contacts(worlds[0], &found[0]));
            assert_int_equal(found[0].count, before);
            abut_mesh_destroy(now);
            for (int i = 0; i < 2; i++)
                abut_world_destroy(worlds[i]);
        }
    free(positions);
}

/* Groups, motion and pose change in place, and pairs go on; another shape ends them. */
TEST(replaced_in_place) {
    abut_world *world = make_world(0, serial);
    abut_world_item first = of_mesh(cube, ABUT_WORLD_AUTO, v3(0, 0, 0)),
                    second = of_mesh(ball, ABUT_WORLD_AUTO, v3(0, 0, 0.3));
    abut_vec3 *positions = malloc(4096 * sizeof *positions);
    abut_world_event events[4];
    abut_world_pair pair;
    abut_world_item_info choice = abut_world_item_info_default();
    first.collider.shape.mesh.deforms = true;
    add(world, &first);
    add(world, &second);
    stretch(cube, 2, 0, positions);
    assert_ok(abut_world_set_positions(world, 0, NULL, abut_array_host(positions)));
    uint64_t count = events_of(world, events, 4);
    assert_true(count == 1 && events[0].kind == ABUT_WORLD_EVENT_BEGIN);
    const double depth = events[0].deepest.depth;
    /* A kinematic sensor of another group: it goes on, and is as deformed as before. */
    first.motion = ABUT_WORLD_KINEMATIC;
    first.is_sensor = true;
    first.group = 6;
    assert_ok(abut_world_replace(world, 0, &first));
    count = events_of(world, events, 4);
    assert_true(count == 1 && events[0].kind == ABUT_WORLD_EVENT_PERSIST && events[0].is_sensor);
    assert_true(fabs(events[0].deepest.depth - depth) < 1e-12);
    second.mask = 1;
    assert_ok(abut_world_replace(world, 1, &second));
    count = events_of(world, events, 4);
    assert_true(count == 1 && events[0].kind == ABUT_WORLD_EVENT_END);
    /* A pair that is ignored stays so. */
    second.mask = 0;
    assert_ok(abut_world_ignore(world, 0, 1, true));
    assert_ok(abut_world_replace(world, 1, &second));
    count = list_pairs(world, &pair, 0);
    assert_int_equal(count, 0);
    abut_world_pair_info manner = abut_world_pair_info_default();
    assert_ok(abut_world_get_pair_info(world, 0, 1, &manner));
    assert_non_null(strstr(manner.reason, "ignore"));
    assert_ok(abut_world_ignore(world, 0, 1, false));
    count = events_of(world, events, 4);
    assert_true(count == 1 && events[0].kind == ABUT_WORLD_EVENT_BEGIN);
    /* Another kind, in all ways. */
    for (int sort = 0; sort < SORTS; sort++) {
        const abut_world_item item = of_sort(sort, v3(0, 0, 0.3));
        assert_ok(abut_world_replace(world, 1, &item));
        count = events_of(world, events, 4);
        if (!(count == 2 && events[0].kind == ABUT_WORLD_EVENT_END))
            fail_msg("sort %d: count %d change %d", sort, (int)count, events[0].kind);
        assert_true(events[1].kind == ABUT_WORLD_EVENT_BEGIN);
        assert_ok(abut_world_get_item_info(world, 1, &choice));
    }
    /* What is refused changes nothing. */
    abut_world_item wrong = of_mesh(sheet, ABUT_WORLD_LAYERS, v3(0, 0, 0));
    assert_int_equal(abut_world_replace(world, 1, &wrong), ABUT_ERROR_ARGUMENT);
    count = events_of(world, events, 4);
    assert_true(count == 1 && events[0].kind == ABUT_WORLD_EVENT_PERSIST);
    free(positions);
    abut_world_destroy(world);
}

/* ---- threads and memory ---- */

static size_t fill(abut_world *world) {
    test_random random = {33};
    size_t count = 0;
    for (int sort = 0; sort < SORTS; sort++)
        for (int k = 0; k < (sort == SOLIDS || sort == CHARACTER ? 1 : 3); k++, count++) {
            abut_world_item item = of_sort(sort, v3(0, 0, 0));
            if (sort != CHARACTER)
                item.collider.pose = random_pose(&random, 1.2);
            add(world, &item);
        }
    return count;
}

TEST(same_bits_on_any_number_of_threads) {
    static abut_contact lists[2][20 * ROOM];
    abut_world *worlds[2] = {make_world(0.01, NULL), make_world(0.01, serial)};
    abut_contacts found[2] = {
        {.size = sizeof(abut_contacts), .list = lists[0], .capacity = 20 * ROOM},
        {.size = sizeof(abut_contacts), .list = lists[1], .capacity = 20 * ROOM}};
    for (int i = 0; i < 2; i++) {
        fill(worlds[i]);
        assert_ok(abut_world_contacts(worlds[i], &found[i]));
    }
    assert_true(found[0].count > 500 && found[0].count == found[1].count);
    for (uint64_t i = 0; i < found[0].count; i++) {
        assert_same_contact(&lists[0][i], &lists[1][i]);
        assert_int_equal(lists[0][i].a, lists[1][i].a);
        assert_int_equal(lists[0][i].b, lists[1][i].b);
    }
    for (int i = 0; i < 2; i++)
        abut_world_destroy(worlds[i]);
}

static abut_status live_a_little(abut_context *context, void *data) {
    static abut_contact room[4 * ROOM];
    abut_world *world = NULL;
    abut_contacts to = {.size = sizeof to, .list = room, .capacity = 4 * ROOM};
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX),
               cloth = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_mesh *meshes[2] = {NULL, NULL};
    abut_vec3 positions[8];
    uint32_t id = 0;
    (void)data;
    box.segments = 1;
    cloth.segments = cloth.rings = 2;
    abut_status status = abut_shape_create(context, &box, &meshes[0]);
    status = status ? status : abut_shape_create(context, &cloth, &meshes[1]);
    status = status ? status : abut_world_create(context, NULL, &world);
    for (int sort = 0; sort < SOLIDS && !status; sort++) { /* fields fail in tests of their own */
        abut_world_item item = of_sort(sort == FIELD ? MAP : sort, v3(0.1 * sort, 0, 0.05 * sort));
        item.collider.shape.mesh.mesh = meshes[sort == SHEET];
        item.collider.shape.mesh.resolution = sort == LAYERS ? 16 : 8;
        status = abut_world_add(world, &item, &id);
    }
    abut_world_item other = of_sort(SOLIDS + 3, v3(0, 0, 0));
    status = status ? status : abut_world_add(world, &other, &id);
    status = status ? status : abut_world_contacts(world, &to);
    if (!status) {
        stretch(meshes[0], 1.5, 0, positions);
        status = abut_world_set_positions(world, DEFORMS, NULL, abut_array_host(positions));
    }
    other = of_sort(SOLIDS + 4, v3(0, 0, 0));
    status = status ? status : abut_world_replace(world, EXACT, &other);
    status = status ? status : abut_world_contacts(world, &to);
    abut_world_destroy(world);
    abut_mesh_destroy(meshes[0]);
    abut_mesh_destroy(meshes[1]);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(live_a_little, NULL) > 100);
}

int main(void) {
    return test_run(set_up, tear_down);
}
