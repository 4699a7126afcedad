/* Meshes in a world: the chosen methods and their reasons, and every kind against every other. */
#include "world/mesh_items.h"

/* The mesh with every n-th triangle turned, or left out. */
static abut_mesh *spoil(const abut_mesh *mesh, uint32_t every, bool leave_out) {
    const uint32_t count = abut_mesh_triangle_count(mesh);
    uint32_t *indices = malloc(3 * (size_t)count * sizeof *indices), used = 0;
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t *corner = abut_mesh_indices(mesh) + 3 * (size_t)t;
        const bool chosen = t % every == 0;
        if (chosen && leave_out)
            continue;
        indices[3 * used] = corner[0];
        indices[3 * used + 1] = corner[chosen ? 2 : 1];
        indices[3 * used++ + 2] = corner[chosen ? 1 : 2];
    }
    abut_mesh *made = test_mesh(serial, abut_mesh_local_positions(mesh),
                                abut_mesh_vertex_count(mesh), indices, used);
    free(indices);
    return made;
}

/* ---- what is chosen ---- */

TEST(choices_follow_the_rule) {
    abut_world *world = make_world(0, serial);
    abut_mesh *flipped = spoil(ball, 5, false), *turned = spoil(ball, 1, false),
              *hole = spoil(ball, 40, true), *half = spoil(ball, 2, true);
    const struct {
        abut_mesh *mesh;
        bool deforms;
        abut_world_method method;
        abut_reliability_level level;
    } cases[] = {{ball, false, ABUT_WORLD_EXACT, ABUT_RELIABILITY_GUARANTEED},
                 {turned, false, ABUT_WORLD_EXACT, ABUT_RELIABILITY_GUARANTEED},
                 {plate, false, ABUT_WORLD_EXACT, ABUT_RELIABILITY_GUARANTEED},
                 {ball, true, ABUT_WORLD_EXACT, ABUT_RELIABILITY_GUARANTEED},
                 {sheet, false, ABUT_WORLD_MAP, ABUT_RELIABILITY_LIMITED},
                 {sheet, true, ABUT_WORLD_MAP, ABUT_RELIABILITY_LIMITED},
                 {half, false, ABUT_WORLD_MAP, ABUT_RELIABILITY_LIMITED},
                 {hole, false, ABUT_WORLD_FIELD, ABUT_RELIABILITY_LIMITED},
                 {flipped, false, ABUT_WORLD_EXACT, ABUT_RELIABILITY_UNRELIABLE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        abut_world_item item = of_mesh(cases[i].mesh, ABUT_WORLD_AUTO, v3(0, 0, 0));
        item.collider.shape.mesh.deforms = cases[i].deforms;
        item.collider.shape.mesh.resolution = 64;
        const abut_world_item_info choice = choice_of(world, add(world, &item));
        if (choice.method != cases[i].method || choice.reliability.level != cases[i].level)
            fail_msg("case %zu: %s, %s: %s", i, abut_world_method_name(choice.method),
                     abut_reliability_level_name(choice.reliability.level), choice.reason);
        assert_false(choice.is_forced);
        assert_int_equal(choice.cell > 0, choice.method != ABUT_WORLD_EXACT);
    }
    for (int method = ABUT_WORLD_EXACT; method <= ABUT_WORLD_LAYERS; method++) {
        const abut_world_item item = of_mesh(ball, (abut_world_method)method, v3(0, 0, 0));
        uint32_t id;
        if (method == ABUT_WORLD_RADIAL) {
            assert_refused("bones", abut_world_add(world, &item, &id));
            continue;
        }
        const abut_world_item_info choice = choice_of(world, add(world, &item));
        assert_true(choice.is_forced && choice.method == (abut_world_method)method);
    }
    /* A plate is thin compared with the cells of its field, and that is reported. */
    abut_world_item thin = of_mesh(plate, ABUT_WORLD_FIELD, v3(0, 0, 0));
    assert_true(choice_of(world, add(world, &thin)).thin_fraction > 0.9);
    thin.collider.shape.mesh.mesh = ball;
    assert_true(choice_of(world, add(world, &thin)).thin_fraction < 0.01);
    abut_world_destroy(world);
    /* A world with one method says so. */
    for (int method = ABUT_WORLD_EXACT; method <= ABUT_WORLD_FIELD; method++) {
        abut_world_options options = abut_world_options_default();
        const abut_world_item item = of_mesh(ball, ABUT_WORLD_AUTO, v3(0, 0, 0));
        options.method = (abut_world_method)method;
        assert_ok(abut_world_create(serial, &options, &world));
        const abut_world_item_info choice = choice_of(world, add(world, &item));
        assert_true(choice.is_forced && choice.method == options.method);
        abut_world_destroy(world);
    }
    abut_mesh_destroy(flipped);
    abut_mesh_destroy(turned);
    abut_mesh_destroy(hole);
    abut_mesh_destroy(half);
}

/* The reliability of a choice is that of the mesh as it is now: a slit in a ball closes and opens.
 */
TEST(choices_follow_deformations) {
    abut_mesh *slit;
    abut_world *world;
    const uint32_t vertices = abut_mesh_vertex_count(ball),
                   triangles = abut_mesh_triangle_count(ball);
    abut_vec3 *at = malloc((vertices + 1) * sizeof *at);
    uint32_t *corners = malloc(3 * triangles * sizeof *corners);
    assert_ok(abut_mesh_get_positions(ball, at));
    memcpy(corners, abut_mesh_indices(ball), 3 * triangles * sizeof *corners);
    /* One of the triangles at vertex 0 has a vertex of its own there. */
    at[vertices] = at[0];
    for (uint32_t i = 0; i < 3 * triangles; i++)
        if (corners[i] == 0) {
            corners[i] = vertices;
            break;
        }
    assert_ok(abut_world_create(NULL, NULL, &world));
    for (int start = 0; start < 2; start++) { /* open, closed */
        const abut_vec3 closed = at[0], open = {0.97 * closed.x, 0.97 * closed.y, 0.97 * closed.z};
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .collider.kind = ABUT_COLLIDER_MESH,
                                .collider.pose = {{0, 0, 0, 1}, {0, 0, 0}}};
        abut_world_item_info choice = abut_world_item_info_default();
        uint32_t id;
        at[vertices] = start ? closed : open;
        slit = test_mesh(NULL, at, vertices + 1, corners, triangles);
        item.collider.shape.mesh.mesh = slit;
        item.collider.shape.mesh.deforms = true;
        assert_ok(abut_world_add(world, &item, &id));
        for (int k = start; k < start + 3; k++) {
            at[vertices] = k % 2 ? closed : open;
            assert_ok(abut_world_set_positions(world, id, NULL, abut_array_host(at)));
            assert_ok(abut_world_get_item_info(world, id, &choice));
            assert_int_equal(choice.reliability.level,
                             k % 2 ? ABUT_RELIABILITY_GUARANTEED : ABUT_RELIABILITY_LIMITED);
            assert_true(k % 2 ? choice.hole_fraction == 0 : choice.hole_fraction > 0);
        }
        abut_mesh_destroy(slit);
    }
    abut_world_destroy(world);
    free(at);
    free(corners);
}

/* The message has what can be done, and no option that worlds do not have. */
TEST(layers_of_open_meshes_are_refused) {
    abut_world *world;
    uint32_t id;
    abut_world_item item = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_MESH,
                            .method = ABUT_WORLD_LAYERS};
    assert_ok(abut_world_create(NULL, NULL, &world));
    item.collider.shape.mesh.mesh = sheet;
    item.collider.pose.rotation.w = 1;
    assert_refused("abut_world_add: the method layers requires a closed mesh",
                   abut_world_add(world, &item, &id));
    assert_null(strstr(abut_last_error(), "options"));
    abut_world_destroy(world);
}

TEST(wrong_calls_are_refused) {
    abut_world *world = make_world(0, serial);
    abut_world_item item = of_mesh(ball, ABUT_WORLD_FIELD, v3(0, 0, 0));
    abut_world_item_info choice = abut_world_item_info_default();
    abut_world_pair_info manner = abut_world_pair_info_default();
    uint32_t id;
    item.collider.shape.mesh.deforms = true;
    assert_refused("deforms", abut_world_add(world, &item, &id));
    item = of_mesh(NULL, ABUT_WORLD_AUTO, v3(0, 0, 0));
    assert_refused("null", abut_world_add(world, &item, &id));
    item = of_mesh(sheet, ABUT_WORLD_LAYERS, v3(0, 0, 0));
    assert_refused("", abut_world_add(world, &item, &id));
    item = of_mesh(ball, (abut_world_method)6, v3(0, 0, 0));
    assert_refused("item->method is 6", abut_world_add(world, &item, &id));
    item = of_mesh(ball, ABUT_WORLD_AUTO, v3(NAN, 0, 0));
    assert_refused("finite", abut_world_add(world, &item, &id));
    item = of_mesh(ball, ABUT_WORLD_LAYERS, v3(1e300, 0, 0));
    assert_int_equal(abut_world_add(world, &item, &id), ABUT_ERROR_ARGUMENT);
    item = mesh_item(&things[0], here);
    item.method = ABUT_WORLD_FIELD;
    assert_refused("a field or samples", abut_world_add(world, &item, &id));
    item.method = ABUT_WORLD_MAP;
    assert_refused("made of meshes", abut_world_add(world, &item, &id));
    item = (abut_world_item){.size = sizeof(abut_world_item),
                             .collider.kind = ABUT_COLLIDER_SPHERE,
                             .method = ABUT_WORLD_FIELD};
    assert_refused("a sphere does not support", abut_world_add(world, &item, &id));

    item = of_mesh(ball, ABUT_WORLD_AUTO, v3(0, 0, 0));
    id = add(world, &item);
    assert_refused("rigid", abut_world_set_positions(world, id, NULL, abut_array_host(&item)));
    assert_refused("no item 7", abut_world_set_positions(world, 7, NULL, abut_array_host(&item)));
    assert_refused("world is null",
                   abut_world_set_positions(NULL, id, NULL, abut_array_host(&item)));
    item.collider.shape.mesh.deforms = true;
    id = add(world, &item);
    assert_refused("positions is null",
                   abut_world_set_positions(world, id, NULL, abut_array_host(NULL)));
    abut_character_matrix bone = matrix_none();
    assert_refused("no bones", abut_world_set_positions(world, id, &bone, abut_array_host(&item)));
    assert_refused("info is null", abut_world_get_item_info(world, id, NULL));
    assert_refused("no item 9", abut_world_get_item_info(world, 9, &choice));
    assert_refused("they must be two items", abut_world_get_pair_info(world, id, id, &manner));
    assert_refused("no item 9", abut_world_get_pair_info(world, id, 9, &manner));
    assert_refused("info is null", abut_world_get_pair_info(world, 0, id, NULL));
    assert_refused("no item 9", abut_world_replace(world, 9, &item));
    assert_refused("item is null", abut_world_replace(world, 0, NULL));
    assert_null(abut_world_method_name((abut_world_method)6));
    assert_string_equal(abut_world_method_name(ABUT_WORLD_LAYERS), "layers");
    assert_string_equal(abut_collider_kind_name(ABUT_COLLIDER_MESH), "mesh");
    assert_string_equal(abut_world_guarantee_name(ABUT_WORLD_GUARANTEE_COMPLETE), "complete");
    abut_world_destroy(world);
}

/* ---- every kind against every other ---- */

/* The table of docs/choosing.md. */
static abut_world_method expected_method(int a, int b) {
    if (a == CHARACTER || b == CHARACTER)
        return ABUT_WORLD_RADIAL;
    if (a >= SOLIDS && b >= SOLIDS)
        return a == SOLIDS && b == SOLIDS ? ABUT_WORLD_AUTO : ABUT_WORLD_EXACT;
    if (a >= SOLIDS || b >= SOLIDS)
        return ABUT_WORLD_EXACT;
    if (a == LAYERS && b == LAYERS)
        return ABUT_WORLD_LAYERS;
    if (a == FIELD && b == FIELD)
        return ABUT_WORLD_FIELD;
    if (a == MAP || b == MAP || a == SHEET || b == SHEET)
        return ABUT_WORLD_MAP;
    return ABUT_WORLD_EXACT;
}

/* Two items that overlap well have contacts, those far apart have none; normals push apart; and
 * the pair info equals that of its event. */
static void check_two(int a, int b) {
    const vec3 low = v3(0.03, 0.02, -0.01), high = v3(0.1, 0.05, 0.25);
    abut_world *world = make_world(0.01, serial);
    abut_world_item items[2] = {of_sort(a, a == SOLIDS ? v3(0, 0, 0) : low),
                                of_sort(b, b == SOLIDS ? v3(0, 0, 0) : high)};
    if (b == SHEET) /* upright */
        items[1].collider.pose.rotation = (abut_quat){0.7, 0, 0, 0.7};
    const abut_world_method method = expected_method(a, b);
    abut_world_pair_info manner = abut_world_pair_info_default();
    abut_world_event event;
    abut_contact *list = malloc((16 * ROOM) * sizeof *list);
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = (16 * ROOM)};
    for (int i = 0; i < 2; i++)
        add(world, &items[i]);
    assert_ok(abut_world_get_pair_info(world, 1, 0, &manner));
    if (manner.method != method)
        fail_msg("sorts %d and %d: %s instead of %s", a, b, abut_world_method_name(manner.method),
                 abut_world_method_name(method));
    assert_true(manner.reason && manner.error >= 0);
    assert_int_equal(manner.guarantee, method == ABUT_WORLD_AUTO ? ABUT_WORLD_GUARANTEE_NONE
                                       : method == ABUT_WORLD_FIELD || method == ABUT_WORLD_RADIAL
                                           ? ABUT_WORLD_GUARANTEE_SAMPLED
                                           : ABUT_WORLD_GUARANTEE_COMPLETE);
    assert_ok(abut_world_contacts(world, &found));
    uint64_t count = events_of(world, &event, 1);
    if (method == ABUT_WORLD_AUTO) {
        assert_true(found.count == 0 && count == 0);
    } else {
        if (found.count == 0 || count != 1)
            fail_msg("sorts %d and %d: %d contacts", a, b, (int)found.count);
        assert_true(event.method == method || event.method == ABUT_WORLD_EXACT);
        assert_true(event.guarantee == manner.guarantee && event.error <= manner.error);
        for (uint64_t i = 0; i < found.count; i++) {
            if (!(fabs(v3_length(list[i].normal) - 1) < 1e-6))
                fail_msg(
                    "sorts %d %d: kind %d side %d part %u normal of length %g, depth %g, method %s",
                    a, b, (int)list[i].kind, (int)list[i].side, list[i].part,
                    v3_length(list[i].normal), list[i].depth, abut_world_method_name(event.method));
            assert_true(list[i].depth >= -0.01);
        }
        /* Who is above is pushed up: where both have an inside and are not too deep. */
        if (b == SOLIDS && a != SHEET && a != CHARACTER)
            assert_true(event.deepest.normal.z > 0.5);
        if (a == SOLIDS && b != SHEET && b != CHARACTER)
            assert_true(event.deepest.normal.z < -0.5);
    }
    /* Far apart. */
    const uint32_t second = a == CHARACTER || b == SOLIDS ? 0 : 1;
    if (items[second].collider.kind != ABUT_COLLIDER_CHARACTER &&
        items[second].collider.kind != ABUT_COLLIDER_PLANE) {
        items[second].collider.pose.translation = v3(0, 0, 50);
        assert_ok(
            abut_world_set_poses(world, &second, abut_array_host(&items[second].collider.pose), 1));
        assert_ok(abut_world_contacts(world, &found));
        assert_int_equal(found.count, 0);
    }
    free(list);
    abut_world_destroy(world);
}

TEST(every_two_kinds_have_an_answer) {
    for (int a = 0; a < SORTS; a++)
        for (int b = 0; b < SORTS; b++)
            check_two(a, b);
}

/* A depth has no bound where a mesh has boundary edges, unless a plane measures its vertices. */
TEST(depths_of_open_meshes_have_no_bound) {
    for (int k = 0; k < 3; k++) {
        abut_world *world = make_world(0, serial);
        abut_world_item items[2] = {of_mesh(k ? sheet : ball, ABUT_WORLD_EXACT, v3(0, 0, 0)),
                                    of_mesh(ball, ABUT_WORLD_EXACT, v3(0.1, 0.05, 0.4))};
        abut_world_pair_info manner = abut_world_pair_info_default();
        abut_world_event event;
        abut_contact list[64];
        abut_contacts found = {.size = sizeof found, .list = list, .capacity = 64};
        if (k == 2)
            items[1] = of_sort(SOLIDS, v3(0, 0, 0));
        for (int i = 0; i < 2; i++)
            add(world, &items[i]);
        assert_ok(abut_world_get_pair_info(world, 0, 1, &manner));
        assert_ok(abut_world_contacts(world, &found));
        uint64_t count = events_of(world, &event, 1);
        assert_int_equal(count, 1);
        assert_int_equal(manner.guarantee, ABUT_WORLD_GUARANTEE_COMPLETE);
        assert_true(manner.error == (k == 1 ? HUGE_VAL : 0));
        assert_true(event.error == manner.error);
        assert_int_equal(event.reliability.level,
                         k ? ABUT_RELIABILITY_LIMITED : ABUT_RELIABILITY_GUARANTEED);
        abut_world_destroy(world);
    }
}

int main(void) {
    return test_run(set_up, tear_down);
}
