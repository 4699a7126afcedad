/* Meshes in a world: what is chosen for them and told of it, every kind against every other, each
 * method against the module behind it, shapes that change, and bad meshes. */
#include "radial/body.h"
#include "world/scene.h"

enum { ROOM = 16384, BONES = 4 };

static const abut_pose here = {{0, 0, 0, 1}, {0, 0, 0}};
static abut_mesh *ball, *sheet, *teapot, *plate, *cube;
static snake worm;
static abut_radial *fields;

static abut_mesh *make_shape(abut_shape_kind kind, uint32_t segments, abut_vec3 extent) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh = NULL;
    shape.segments = segments;
    shape.extent = extent;
    assert_ok(abut_shape_create(serial, &shape, &mesh));
    return mesh;
}

static int set_up(void **state) {
    abut_radial_options options = abut_radial_options_default();
    abut_character_matrix bones[BONES];
    make_things(state);
    ball = make_shape(ABUT_SHAPE_ICOSPHERE, 4, v3(1, 1, 1));
    sheet = make_shape(ABUT_SHAPE_SHEET, 8, v3(2, 2, 0));
    teapot = make_shape(ABUT_SHAPE_TEAPOT, 4, v3(1, 1, 1));
    plate = make_shape(ABUT_SHAPE_BOX, 4, v3(2, 2, 0.001));
    cube = make_shape(ABUT_SHAPE_BOX, 1, v3(1, 1, 1));
    worm = make_snake(serial, BONES, 24, 16);
    options.cell = 0.1;
    assert_ok(abut_radial_create(worm.character, &options, &fields));
    abut_vec3 *positions = malloc((size_t)abut_mesh_vertex_count(worm.mesh) * sizeof *positions);
    bend_snake(&worm, 0.1, 0, bones, positions);
    assert_ok(abut_radial_set_positions(fields, bones, abut_array_host(positions)));
    free(positions);
    return 0;
}

static int tear_down(void **state) {
    abut_mesh *all[] = {ball, sheet, teapot, plate, cube};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        abut_mesh_destroy(all[i]);
    abut_radial_destroy(fields);
    free_snake(&worm);
    return free_things(state);
}

static abut_world_item of_mesh(abut_mesh *mesh, abut_world_method method, abut_vec3 at) {
    abut_world_item item;
    memset(&item, 0, sizeof item);
    item.kind = ABUT_WORLD_MESH;
    item.method = method;
    item.pose = here;
    item.pose.translation = at;
    item.shape.mesh.mesh = mesh;
    item.shape.mesh.resolution = method == ABUT_WORLD_FIELD ? 24 : 0;
    return item;
}

static abut_world *make_world(double margin, abut_context *context) {
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    options.margin = margin;
    assert_ok(abut_world_create(context, &options, &world));
    return world;
}

static uint32_t add(abut_world *world, const abut_world_item *item) {
    uint32_t id;
    assert_ok(abut_world_add(world, item, &id));
    return id;
}

static abut_world_item_info choice_of(const abut_world *world, uint32_t id) {
    abut_world_item_info choice = abut_world_item_info_default();
    assert_ok(abut_world_get_item_info(world, id, &choice));
    assert_true(choice.reason && strlen(choice.reason) > 10);
    return choice;
}

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
        item.shape.mesh.deforms = cases[i].deforms;
        item.shape.mesh.resolution = 64;
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
    /* A plate is thin beside the cells of its field, and that is told. */
    abut_world_item thin = of_mesh(plate, ABUT_WORLD_FIELD, v3(0, 0, 0));
    assert_true(choice_of(world, add(world, &thin)).thin_fraction > 0.9);
    thin.shape.mesh.mesh = ball;
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
        abut_world_item item = {.kind = ABUT_WORLD_MESH, .pose = {{0, 0, 0, 1}, {0, 0, 0}}};
        abut_world_item_info choice = abut_world_item_info_default();
        uint32_t id;
        at[vertices] = start ? closed : open;
        slit = test_mesh(NULL, at, vertices + 1, corners, triangles);
        item.shape.mesh.mesh = slit;
        item.shape.mesh.deforms = true;
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
    abut_world_item item = {.kind = ABUT_WORLD_MESH, .method = ABUT_WORLD_LAYERS};
    assert_ok(abut_world_create(NULL, NULL, &world));
    item.shape.mesh.mesh = sheet;
    item.pose.rotation.w = 1;
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
    item.shape.mesh.deforms = true;
    assert_refused("deforms", abut_world_add(world, &item, &id));
    item = of_mesh(NULL, ABUT_WORLD_AUTO, v3(0, 0, 0));
    assert_refused("null", abut_world_add(world, &item, &id));
    item = of_mesh(sheet, ABUT_WORLD_LAYERS, v3(0, 0, 0));
    assert_refused("", abut_world_add(world, &item, &id));
    item = of_mesh(ball, (abut_world_method)6, v3(0, 0, 0));
    assert_refused("method is 6", abut_world_add(world, &item, &id));
    item = of_mesh(ball, ABUT_WORLD_AUTO, v3(NAN, 0, 0));
    assert_refused("finite", abut_world_add(world, &item, &id));
    item = of_mesh(ball, ABUT_WORLD_LAYERS, v3(1e300, 0, 0));
    assert_int_equal(abut_world_add(world, &item, &id), ABUT_ERROR_ARGUMENT);
    item = mesh_item(&things[0], here);
    item.method = ABUT_WORLD_FIELD;
    assert_refused("a field or samples", abut_world_add(world, &item, &id));
    item.method = ABUT_WORLD_MAP;
    assert_refused("made of meshes", abut_world_add(world, &item, &id));
    item = (abut_world_item){.kind = ABUT_WORLD_SPHERE, .method = ABUT_WORLD_FIELD};
    assert_refused("a sphere does not support", abut_world_add(world, &item, &id));

    item = of_mesh(ball, ABUT_WORLD_AUTO, v3(0, 0, 0));
    id = add(world, &item);
    assert_refused("rigid", abut_world_set_positions(world, id, NULL, abut_array_host(&item)));
    assert_refused("no item 7", abut_world_set_positions(world, 7, NULL, abut_array_host(&item)));
    assert_refused("world is null",
                   abut_world_set_positions(NULL, id, NULL, abut_array_host(&item)));
    item.shape.mesh.deforms = true;
    id = add(world, &item);
    assert_refused("positions is null",
                   abut_world_set_positions(world, id, NULL, abut_array_host(NULL)));
    abut_character_matrix bone = matrix_none();
    assert_refused("no bones", abut_world_set_positions(world, id, &bone, abut_array_host(&item)));
    assert_refused("info is null", abut_world_get_item_info(world, id, NULL));
    assert_refused("no item 9", abut_world_get_item_info(world, 9, &choice));
    assert_refused("must be two items", abut_world_get_pair_info(world, id, id, &manner));
    assert_refused("no item 9", abut_world_get_pair_info(world, id, 9, &manner));
    assert_refused("info is null", abut_world_get_pair_info(world, 0, id, NULL));
    assert_refused("no item 9", abut_world_replace(world, 9, &item));
    assert_refused("item is null", abut_world_replace(world, 0, NULL));
    assert_null(abut_world_method_name((abut_world_method)6));
    assert_string_equal(abut_world_method_name(ABUT_WORLD_LAYERS), "layers");
    assert_string_equal(abut_world_kind_name(ABUT_WORLD_MESH), "mesh");
    assert_string_equal(abut_world_guarantee_name(ABUT_WORLD_GUARANTEE_COMPLETE), "complete");
    abut_world_destroy(world);
}

/* ---- every kind against every other ---- */

enum {
    EXACT,
    FIELD,
    MAP,
    LAYERS,
    SHEET,
    DEFORMS,
    SOLIDS, /* from the plane on */
    CHARACTER = SOLIDS + 6,
    SORTS
};

static abut_world_item of_sort(int sort, abut_vec3 at) {
    static const abut_world_method methods[] = {ABUT_WORLD_EXACT, ABUT_WORLD_FIELD,
                                                ABUT_WORLD_MAP,   ABUT_WORLD_LAYERS,
                                                ABUT_WORLD_AUTO,  ABUT_WORLD_AUTO};
    abut_world_item item =
        of_mesh(sort == SHEET ? sheet : ball, sort < SOLIDS ? methods[sort] : ABUT_WORLD_AUTO, at);
    item.shape.mesh.deforms = sort == DEFORMS;
    if (sort == MAP || sort == SHEET)
        item.shape.mesh.resolution = 64;
    if (sort < SOLIDS)
        return item;
    item.kind = (abut_world_kind)(sort - SOLIDS + ABUT_WORLD_PLANE);
    memset(&item.shape, 0, sizeof item.shape);
    if (item.kind == ABUT_WORLD_PLANE)
        item.shape.plane = (abut_plane){{0, 0, 1}, 0.05};
    else if (item.kind == ABUT_WORLD_SPHERE)
        item.shape.sphere = (abut_sphere){{0, 0, 0}, 0.4};
    else if (item.kind == ABUT_WORLD_CAPSULE)
        item.shape.capsule = (abut_capsule){{{-0.3, 0, 0}, {0.4, 0, 0}}, 0.3};
    else if (item.kind == ABUT_WORLD_BOX)
        item.shape.half = v3(0.4, 0.5, 0.3);
    else if (item.kind == ABUT_WORLD_CYLINDER)
        item.shape.cylinder = (abut_cylinder){{{0, 0, -0.4}, {0, 0, 0.4}}, 0.4};
    else if (item.kind == ABUT_WORLD_HULL)
        item.shape.hull = things[HULL].bvh;
    if (sort == CHARACTER) {
        item.pose = here;
        item.shape.character = fields;
    }
    return item;
}

/* The table of docs/choosing.md. */
static abut_world_method expected_method(int a, int b) {
    if (a == CHARACTER || b == CHARACTER)
        return ABUT_WORLD_RADIAL;
    if (a >= SOLIDS && b >= SOLIDS)
        return a == SOLIDS && b == SOLIDS ? ABUT_WORLD_AUTO : ABUT_WORLD_EXACT;
    if (a >= SOLIDS || b >= SOLIDS) { /* cylinders and hulls know no fields */
        const int mesh = a < b ? a : b, solid = a < b ? b : a;
        return mesh == FIELD && solid - SOLIDS + ABUT_WORLD_PLANE <= ABUT_WORLD_BOX
                   ? ABUT_WORLD_FIELD
                   : ABUT_WORLD_EXACT;
    }
    if (a == LAYERS && b == LAYERS)
        return ABUT_WORLD_LAYERS;
    if (a == FIELD && b == FIELD)
        return ABUT_WORLD_FIELD;
    if (a == MAP || b == MAP || a == SHEET || b == SHEET)
        return ABUT_WORLD_MAP;
    return ABUT_WORLD_EXACT;
}

/* Two items that overlap well have contacts, those far apart have none; normals push apart; and
 * what is told of the pair is what its event says. */
static void check_two(int a, int b) {
    const vec3 low = v3(0.03, 0.02, -0.01), high = v3(0.1, 0.05, 0.25);
    abut_world *world = make_world(0.01, serial);
    abut_world_item items[2] = {of_sort(a, a == SOLIDS ? v3(0, 0, 0) : low),
                                of_sort(b, b == SOLIDS ? v3(0, 0, 0) : high)};
    if (b == SHEET) /* upright */
        items[1].pose.rotation = (abut_quat){0.7, 0, 0, 0.7};
    const abut_world_method method = expected_method(a, b);
    abut_world_pair_info manner = abut_world_pair_info_default();
    abut_world_event event;
    abut_contact *list = malloc((16 * ROOM) * sizeof *list);
    abut_contacts found = {.list = list, .capacity = (16 * ROOM)};
    uint64_t count;
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
    assert_ok(abut_world_events(world, 1, &event, &count));
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
    if (items[second].kind != ABUT_WORLD_CHARACTER && items[second].kind != ABUT_WORLD_PLANE) {
        items[second].pose.translation = v3(0, 0, 50);
        assert_ok(abut_world_set_poses(world, &second, abut_array_host(&items[second].pose), 1));
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

/* ---- methods against the modules behind them ---- */

/* Exact and by fields: as bodies that the user made. */
TEST(meshes_are_the_bodies_made_of_them) {
    test_random random = {9};
    for (int method = ABUT_WORLD_EXACT; method <= ABUT_WORLD_FIELD; method++) {
        static abut_contact ours[ROOM], theirs[ROOM];
        abut_world *worlds[2] = {make_world(0.02, NULL), make_world(0.02, serial)};
        abut_contacts found[2] = {{.list = ours, .capacity = ROOM},
                                  {.list = theirs, .capacity = ROOM}};
        thing made = {0};
        abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
        abut_field_options field = abut_field_options_default();
        field.cells = 24;
        shape.segments = 12;
        make_thing(&made, &shape, &field, 0);
        assert_ok(abut_bvh_create(made.mesh, NULL, &made.bvh));
        for (int i = 0; i < 16; i++) {
            abut_world_item item = of_mesh(made.mesh, (abut_world_method)method, v3(0, 0, 0));
            item.pose = random_pose(&random, 1);
            add(worlds[0], &item);
            item = method == ABUT_WORLD_EXACT ? mesh_item(&made, item.pose)
                                              : body_item(&made, item.pose);
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
        abut_contacts found = {.list = list, .capacity = ROOM};
        abut_world *world = make_world(round % 2 ? 0.02 : 0, round % 3 ? serial : NULL);
        abut_mesh *first = round % 4 == 3 ? sheet : cube;
        abut_world_item items[2] = {of_mesh(first, ABUT_WORLD_MAP, v3(0, 0, 0)),
                                    of_mesh(ball, ABUT_WORLD_AUTO, v3(0, 0, 0))};
        abut_world_event event;
        uint64_t count;
        const bool swapped = round % 5 == 1;
        items[0].pose = random_pose(&random, 0.2);
        items[1].pose = random_pose(&random, 1.1);
        items[0].shape.mesh.resolution = round % 7 ? 0 : first == sheet ? 32 : 8; /* coarse */
        for (int i = 0; i < 2; i++)
            add(world, &items[i ^ swapped]);
        assert_ok(abut_world_contacts(world, &found));
        assert_ok(abut_world_events(world, 1, &event, &count));
        const abut_posed p = {tree, items[1].pose};
        abut_bvh *other = NULL;
        bool touch = false;
        assert_ok(abut_bvh_create(first, NULL, &other));
        const abut_posed q = {other, items[0].pose};
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
        assert_ok(abuti_contact_pose("test", "a pose", &items[1].pose, &m));
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
        assert_ok(abuti_contact_pose("test", "a pose", &items[0].pose, &m));
        for (uint32_t i = 0; i < abut_mesh_vertex_count(first); i++) {
            const vec3 at = contact_to_world(&m, body_position(first, i));
            contact_motion n;
            abut_nearest nearest;
            assert_ok(abuti_contact_pose("test", "a pose", &items[1].pose, &n));
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
    abut_layers_result result = {.pairs = pairs, .capacity = COUNT * COUNT};
    abut_layers_query query = abut_layers_query_default();
    abut_contact list[COUNT * COUNT];
    abut_contacts found = {.list = list, .capacity = COUNT * COUNT};
    abut_world_pair candidates[COUNT * COUNT];
    uint64_t candidate_count;
    query.resolution = 128;
    assert_ok(abut_layers_create(serial, NULL, &layers));
    for (uint32_t i = 0; i < COUNT; i++) {
        abut_world_item item = of_mesh(i % 3 ? ball : cube, ABUT_WORLD_LAYERS, v3(0, 0, 0));
        item.pose = random_pose(&random, 0.9);
        item.shape.mesh.resolution = 128;
        const abut_layers_item solid = {.mesh = item.shape.mesh.mesh, .pose = item.pose};
        add(world, &item);
        assert_ok(abut_layers_add(layers, &solid, NULL));
    }
    for (int step = 0; step < 2; step++) { /* also after an item went and came back */
        assert_ok(abut_world_contacts(world, &found));
        assert_ok(abut_world_pairs(world, COUNT * COUNT, candidates, &candidate_count));
        assert_ok(abut_layers_find(layers, &query, &result));
        uint64_t at = 0;
        assert_true(result.count > 2);
        for (uint64_t i = 0; i < found.count; i++) {
            const abut_world_pair *pair = &candidates[list[i].pair];
            if (list[i].kind != ABUT_CONTACT_OVERLAP)
                continue; /* no ray is in both */
            assert_true(pairs[at].a == pair->a && pairs[at].b == pair->b);
            assert_true(pairs[at].depth == list[i].depth);
            assert_memory_equal(&pairs[at].centre, &list[i].point, sizeof list[i].point);
            if (v3_length(pairs[at].normal) > 0)
                assert_memory_equal(&pairs[at].normal, &list[i].normal, sizeof list[i].normal);
            at++;
        }
        assert_int_equal(at, result.count);
        if (step)
            break;
        abut_world_item item = of_mesh(cube, ABUT_WORLD_LAYERS, v3(0.3, 0, 0));
        item.shape.mesh.resolution = 128;
        assert_ok(abut_world_remove(world, 4));
        assert_ok(abut_layers_remove(layers, 4));
        assert_int_equal(add(world, &item), 4);
        const abut_layers_item solid = {.mesh = cube, .pose = item.pose};
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
            abut_contacts found = {.list = ours, .capacity = ROOM},
                          expected = {.list = theirs, .capacity = ROOM};
            abut_contact_options options = abut_contact_options_default();
            abut_topology *topology = NULL;
            abut_field *field = NULL;
            abut_field_options cells = abut_field_options_default();
            abut_world_pair_info manner = abut_world_pair_info_default();
            items[0].shape.mesh.deforms = true;
            cells.cells = 24;
            options.margin = 0.02;
            for (int i = 0; i < 2; i++)
                add(world, &items[i ^ swapped]);
            assert_ok(abut_world_get_pair_info(world, 0, 1, &manner));
            assert_int_equal(manner.method, fine ? ABUT_WORLD_FIELD : ABUT_WORLD_MAP);
            assert_ok(abut_world_contacts(world, &found));
            assert_ok(abut_topology_create(cloth, &topology));
            assert_ok(abut_field_create(ball, &cells, &field));
            const abut_body body = {field, NULL, items[1].pose};
            assert_ok(
                abut_contact_mesh(&body, cloth, topology, &items[0].pose, &options, &expected));
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

/* A ball in a hair-thin plate, and on it; boxes that touch face to face; one inside another. */
TEST(thin_flush_and_within) {
    static const abut_world_method ways[] = {ABUT_WORLD_AUTO, ABUT_WORLD_MAP, ABUT_WORLD_LAYERS};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (int which = 0; which < 4; which++) {
            abut_world *world = make_world(which == 2 ? 1e-6 : 0, serial);
            abut_mesh *meshes[4][2] = {{plate, ball}, {plate, ball}, {cube, cube}, {ball, cube}};
            const double heights[4] = {0.2, 5, 1, 0};
            abut_contact list[256];
            abut_contacts found = {.list = list, .capacity = 256};
            for (int k = 0; k < 2; k++) {
                abut_world_item item =
                    of_mesh(meshes[which][k], ways[i], v3(0, 0, k * heights[which]));
                item.shape.mesh.resolution = 64;
                add(world, &item);
            }
            assert_ok(abut_world_contacts(world, &found));
            if ((found.count > 0) != (which != 1))
                fail_msg("%s, which %d: %d contacts", abut_world_method_name(ways[i]), which,
                         (int)found.count);
            abut_world_destroy(world);
        }
}

/* ---- shapes that change ---- */

static void stretch(const abut_mesh *mesh, double by, double up, abut_vec3 *positions) {
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        positions[i] = body_position(mesh, i);
        positions[i].z = positions[i].z * by + up;
    }
}

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
            abut_contacts found[2] = {{.list = ours, .capacity = ROOM},
                                      {.list = theirs, .capacity = ROOM}};
            abut_world_item item = of_mesh(mesh, way, v3(0.1, 0, -0.2));
            abut_world_event events[4];
            uint64_t count;
            item.shape.mesh.deforms = true;
            item.shape.mesh.resolution = 64;
            assert_true(abut_mesh_vertex_count(mesh) <= 4096);
            add(worlds[0], &item);
            const double by[3] = {1, 1.3, 0.5}, up[3] = {0.1, 0.3, -9};
            abut_world_item rest = of_mesh(ball, way, v3(0, 0, 0.35));
            rest.shape.mesh.resolution = 64;
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
                item.shape.mesh.mesh = now;
                assert_ok(abut_world_replace(worlds[1], 0, &item));
            }
            assert_ok(abut_world_events(worlds[0], 4, events, &count));
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
    uint64_t count;
    first.shape.mesh.deforms = true;
    add(world, &first);
    add(world, &second);
    stretch(cube, 2, 0, positions);
    assert_ok(abut_world_set_positions(world, 0, NULL, abut_array_host(positions)));
    assert_ok(abut_world_events(world, 4, events, &count));
    assert_true(count == 1 && events[0].kind == ABUT_WORLD_EVENT_BEGIN);
    const double depth = events[0].deepest.depth;
    /* A kinematic sensor of another group: it goes on, and is as deformed as before. */
    first.motion = ABUT_WORLD_KINEMATIC;
    first.is_sensor = true;
    first.group = 6;
    assert_ok(abut_world_replace(world, 0, &first));
    assert_ok(abut_world_events(world, 4, events, &count));
    assert_true(count == 1 && events[0].kind == ABUT_WORLD_EVENT_PERSIST && events[0].is_sensor);
    assert_true(fabs(events[0].deepest.depth - depth) < 1e-12);
    second.mask = 1;
    assert_ok(abut_world_replace(world, 1, &second));
    assert_ok(abut_world_events(world, 4, events, &count));
    assert_true(count == 1 && events[0].kind == ABUT_WORLD_EVENT_END);
    /* A pair that is ignored stays so. */
    second.mask = 0;
    assert_ok(abut_world_ignore(world, 0, 1, true));
    assert_ok(abut_world_replace(world, 1, &second));
    assert_ok(abut_world_pairs(world, 0, &pair, &count));
    assert_int_equal(count, 0);
    abut_world_pair_info manner = abut_world_pair_info_default();
    assert_ok(abut_world_get_pair_info(world, 0, 1, &manner));
    assert_non_null(strstr(manner.reason, "ignore"));
    assert_ok(abut_world_ignore(world, 0, 1, false));
    assert_ok(abut_world_events(world, 4, events, &count));
    assert_true(count == 1 && events[0].kind == ABUT_WORLD_EVENT_BEGIN);
    /* Another kind, in all ways. */
    for (int sort = 0; sort < SORTS; sort++) {
        const abut_world_item item = of_sort(sort, v3(0, 0, 0.3));
        assert_ok(abut_world_replace(world, 1, &item));
        assert_ok(abut_world_events(world, 4, events, &count));
        if (!(count == 2 && events[0].kind == ABUT_WORLD_EVENT_END))
            fail_msg("sort %d: count %d change %d", sort, (int)count, events[0].kind);
        assert_true(events[1].kind == ABUT_WORLD_EVENT_BEGIN);
        assert_ok(abut_world_get_item_info(world, 1, &choice));
    }
    /* What is refused changes nothing. */
    abut_world_item wrong = of_mesh(sheet, ABUT_WORLD_LAYERS, v3(0, 0, 0));
    assert_int_equal(abut_world_replace(world, 1, &wrong), ABUT_ERROR_ARGUMENT);
    assert_ok(abut_world_events(world, 4, events, &count));
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
                item.pose = random_pose(&random, 1.2);
            add(world, &item);
        }
    return count;
}

TEST(same_bits_on_any_number_of_threads) {
    static abut_contact lists[2][20 * ROOM];
    abut_world *worlds[2] = {make_world(0.01, NULL), make_world(0.01, serial)};
    abut_contacts found[2] = {{.list = lists[0], .capacity = 20 * ROOM},
                              {.list = lists[1], .capacity = 20 * ROOM}};
    for (int i = 0; i < 2; i++) {
        fill(worlds[i]);
        assert_ok(abut_world_contacts(worlds[i], &found[i]));
    }
    assert_true(found[0].count > 500 && found[0].count == found[1].count);
    for (uint64_t i = 0; i < found[0].count; i++) {
        assert_same_contact(&lists[0][i], &lists[1][i]);
        assert_int_equal(lists[0][i].pair, lists[1][i].pair);
    }
    for (int i = 0; i < 2; i++)
        abut_world_destroy(worlds[i]);
}

static abut_status live_a_little(abut_context *context, void *data) {
    static abut_contact room[4 * ROOM];
    abut_world *world = NULL;
    abut_contacts to = {.list = room, .capacity = 4 * ROOM};
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
        item.shape.mesh.mesh = meshes[sort == SHEET];
        item.shape.mesh.resolution = sort == LAYERS ? 16 : 8;
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
