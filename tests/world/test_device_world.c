/* Worlds on a device: the contacts of all single pairs, bit for bit and in the same order; and
 * no leak if the device or the memory fails. */
#include "device/open.h"

#include "radial/body.h"
#include "world/device.h"
#include "world/scene.h"

enum { ITEMS = 32 };

static abut_device *device;
static thing built[2]; /* a sphere and a box whose fields are on the device */

static scene device_scene(uint32_t count) {
    scene s = {.options = abut_world_options_default(), .count = count};
    s.options.device = device;
    return s;
}

/* Bodies of all layouts and solids, moved and exchanged. */
TEST(same_as_every_pair) {
    test_random random = {21};
    size_t contacts = 0;
    for (uint32_t round = 0; round < test_rounds(6); round++) {
        scene s = device_scene(ITEMS);
        abut_pose poses[ITEMS];
        uint32_t id;
        s.options.margin = round % 2 ? 0 : 0.03;
        s.options.skip_edges = round % 4 == 2;
        s.options.keep_backfacing = round % 4 == 3;
        s.options.max_patch_contacts = round == 5 ? 3 : 0;
        for (uint32_t i = 0; i < ITEMS; i++)
            s.items[i] = round % 2 ? varied_item(&random, 1.5) : random_item(&random, 1.5);
        scene_begin(&s, serial);
        contacts += scene_check(&s);
        for (uint32_t i = 0; i < ITEMS; i++)
            s.items[i].collider.pose = poses[i] = random_pose(&random, 1.5);
        assert_ok(abut_world_set_poses(s.world, NULL, abut_array_host(poses), ITEMS));
        contacts += scene_check(&s);
        assert_ok(abut_world_remove(s.world, 5));
        s.items[5] = body_item(&things[round % THINGS], random_pose(&random, 1));
        assert_ok(abut_world_add(s.world, &s.items[5], &id));
        assert_int_equal(abut_world_index(id), 5);
        scene_check(&s);
        abut_world_destroy(s.world);
    }
    assert_true(contacts > 500);
}

/* Meshes beside a device: the rule takes fields where they are thick and not small, made and tried
 * on the device, and contacts are those of a world on the CPU with the same options. */
TEST(meshes_by_the_rule) {
    enum { KINDS = 5, COUNT = 20 };
    static const struct {
        abut_shape_kind kind;
        uint32_t segments;
        abut_vec3 size; /* 0 = as it is */
        bool deforms;
        abut_world_method meant;
    } kinds[KINDS] = {{ABUT_SHAPE_ICOSPHERE, 4, {0, 0, 0}, false, ABUT_WORLD_FIELD},
                      {ABUT_SHAPE_BOX, 1, {0, 0, 0}, false, ABUT_WORLD_EXACT},    /* small */
                      {ABUT_SHAPE_BOX, 8, {1, 1, 0.05}, false, ABUT_WORLD_EXACT}, /* thin */
                      {ABUT_SHAPE_SHEET, 4, {0, 0, 0}, false, ABUT_WORLD_MAP},
                      {ABUT_SHAPE_ICOSPHERE, 4, {0, 0, 0}, true, ABUT_WORLD_EXACT}};
    enum { ROOM = 16384 };
    static abut_contact lists[2][ROOM];
    abut_contacts found[2] = {abut_contacts_default(), abut_contacts_default()};
    uint32_t fields = 0;
    for (int k = 0; k < 2; k++) {
        test_random random = {29};
        abut_world_options options = abut_world_options_default();
        abut_world *world = NULL;
        options.device = k ? device : NULL;
        assert_ok(abut_world_create(serial, &options, &world));
        for (uint32_t i = 0; i < COUNT; i++) {
            abut_shape shape = abut_shape_default(kinds[i % KINDS].kind);
            const bool by_field = kinds[i % KINDS].meant == ABUT_WORLD_FIELD;
            /* balls by fields are nearer to each other than their radius, so that all of them touch
             */
            abut_world_item item = {.size = sizeof(abut_world_item),
                                    .collider.kind = ABUT_COLLIDER_MESH,
                                    .collider.pose = random_pose(&random, by_field ? 0.25 : 0.8)};
            abut_world_item_info choice = abut_world_item_info_default();
            uint32_t id;
            shape.segments = kinds[i % KINDS].segments;
            if (kinds[i % KINDS].size.x > 0)
                shape.extent = kinds[i % KINDS].size;
            item.collider.shape.mesh.deforms = kinds[i % KINDS].deforms;
            item.collider.shape.mesh.resolution = 16;
            if (!k && by_field)
                item.method = ABUT_WORLD_FIELD;
            abut_mesh *mesh;
            assert_ok(abut_shape_create(serial, &shape, &mesh));
            item.collider.shape.mesh.mesh = mesh;
            assert_ok(abut_world_add(world, &item, &id));
            abut_mesh_destroy(mesh); /* the world holds it */
            assert_ok(abut_world_get_item_info(world, id, &choice));
            assert_int_equal(choice.method, kinds[i % KINDS].meant);
            assert_true(choice.is_forced == (item.method != ABUT_WORLD_AUTO));
        }
        found[k] =
            (abut_contacts){.size = sizeof(abut_contacts), .list = lists[k], .capacity = ROOM};
        assert_ok(abut_world_contacts(world, &found[k]));
        abut_world_event events[COUNT * COUNT];
        abut_world_event_list event_list = {events, COUNT * COUNT, 0};
        assert_ok(abut_world_events(world, &event_list));
        for (uint64_t i = 0; i < event_list.count && k; i++)
            fields += events[i].method == ABUT_WORLD_FIELD;
        abut_world_destroy(world);
    }
    assert_true(fields > 2 && found[0].count > 100);
    assert_int_equal(found[0].count, found[1].count);
    assert_same_contacts(lists[0], lists[1], found[0].count);
}

/* Pairs of a character go by the CPU, between those of bodies, wherever the fields are. */
TEST(characters_go_by_the_cpu) {
    static abut_contact lists[2][4096];
    abut_contacts found[2] = {abut_contacts_default(), abut_contacts_default()};
    abut_mesh *mesh = body_mesh(serial, ABUT_SHAPE_ICOSPHERE, 3);
    abut_radial_axis axis = {.begin = {0, 0, -0.6}, .end = {0, 0, 0.6}, .around = 24, .along = 12};
    const abut_character_matrix none = matrix_none();
    for (int k = 0; k < 2; k++) {
        test_random random = {23};
        abut_world_options options = abut_world_options_default();
        abut_radial_options radial_options = abut_radial_options_default();
        abut_radial *radial = NULL;
        abut_world *world = NULL;
        uint32_t id;
        options.device = radial_options.device = k ? device : NULL;
        options.method = ABUT_WORLD_FIELD;
        radial_options.axes = &axis;
        radial_options.axis_count = 1;
        assert_ok(abut_radial_create_mesh(mesh, 1, &radial_options, &radial));
        body_pose(radial, mesh, &none);
        assert_ok(abut_world_create(serial, &options, &world));
        for (uint32_t i = 0; i < 9; i++) {
            abut_world_item item = body_item(&things[i % THINGS], random_pose(&random, 0.7));
            if (i == 4) {
                item.collider.kind = ABUT_COLLIDER_CHARACTER;
                item.collider.pose = abut_pose_identity();
                item.collider.shape.character = radial;
            }
            assert_ok(abut_world_add(world, &item, &id));
        }
        body_pose(radial, mesh, &none);
        id = 4;
        const abut_pose here = {{0, 0, 0, 1}, {0, 0, 0}};
        assert_ok(abut_world_set_poses(world, &id, abut_array_host(&here), 1));
        found[k] =
            (abut_contacts){.size = sizeof(abut_contacts), .list = lists[k], .capacity = 4096};
        assert_ok(abut_world_contacts(world, &found[k]));
        abut_world_destroy(world);
        abut_radial_destroy(radial);
    }
    assert_true(found[0].count > 50 && found[0].count == found[1].count);
    assert_same_contacts(lists[0], lists[1], found[0].count);
    abut_mesh_destroy(mesh);
}

/* Bodies come and go: what others have of them stays there, and what is new at an old address is
 * seen. */
TEST(bodies_come_and_go) {
    enum { STAY = 3, COME = 2 };
    test_random random = {24};
    scene s = device_scene(STAY);
    size_t sizes[WORLD_SHARED], contacts = 0;
    uint32_t id;
    for (uint32_t i = 0; i < STAY; i++)
        s.items[i] = body_item(&things[i], random_pose(&random, 0.4));
    scene_begin(&s, serial);
    contacts += scene_check(&s);
    memcpy(sizes, s.world->device->sizes, sizeof sizes);
    s.count = STAY + COME;
    for (uint32_t round = 0; round < 12; round++) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
        thing guest;
        shape.radius = 0.3 + 0.05 * round;
        make_thing(&guest, &shape, NULL, 0);
        s.items[STAY] = body_item(&things[0], random_pose(&random, 0.4)); /* is there already */
        s.items[STAY + 1] = body_item(&guest, random_pose(&random, 0.4));
        for (uint32_t k = 0; k < COME; k++) {
            assert_ok(abut_world_add(s.world, &s.items[STAY + k], &id));
            assert_true(abut_world_index(id) == STAY + k && (round == 0) == (id == STAY + k));
            s.used[STAY + k] = true;
            contacts += scene_check(&s);
            if (!round)
                assert_int_equal(!k, !memcmp(sizes, s.world->device->sizes, sizeof sizes));
        }
        for (uint32_t k = 0; k < COME; k++) {
            assert_ok(abut_world_remove(s.world, id_at(s.world, STAY + k)));
            s.used[STAY + k] = false;
        }
        contacts += scene_check(&s);
        free_thing(&guest);
    }
    /* data without references are released in the end */
    assert_true(s.world->device->sizes[WORLD_FIELDS] <= 2 * (STAY + 1));
    assert_true(contacts > 500);
    abut_world_destroy(s.world);
}

/* Only the second try finds anything. */
TEST(small_ones_within_large_ones) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    scene s = device_scene(2);
    thing large;
    shape.radius = 5;
    make_thing(&large, &shape, NULL, 0);
    s.items[0] = body_item(&things[1], (abut_pose){{0, 0, 0, 1}, {0.4, 0.1, 0.2}});
    s.items[1] = body_item(&large, abut_pose_identity());
    assert_true(scene_run(&s) > 4);
    free_thing(&large);
}

/* Fields whose signs change in holes: no ball is left out. */
TEST(surfaces_with_holes) {
    test_random random = {29};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT);
    abut_field_options field = abut_field_options_default();
    scene s = device_scene(8);
    thing teapot;
    shape.segments = 2;
    field.cells = 20;
    make_thing(&teapot, &shape, &field, 0);
    assert_false(teapot.field->closed);
    for (uint32_t i = 0; i < s.count; i++)
        s.items[i] = body_item(&teapot, random_pose(&random, 1));
    assert_true(scene_run(&s) > 100);
    free_thing(&teapot);
}

static bool on_host(const thing *t) {
    return atomic_load(&t->field->host) == FIELD_HOST_READY;
}

/* Fields that were built on the device of the world, or on another, among those of the CPU. */
TEST(fields_on_devices) {
    test_random random = {25};
    abut_device *other;
    assert_ok(abut_device_open(NULL, test_device_name(), &other));
    for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
        scene s = device_scene(12);
        abut_contact *list = malloc(REFEREE_ROOM * sizeof *list);
        abut_contacts to = {.size = sizeof to, .list = list, .capacity = REFEREE_ROOM};
        assert_non_null(list);
        s.options.device = elsewhere ? other : device;
        for (uint32_t i = 0; i < s.count; i++)
            s.items[i] = body_item(i % 3 ? &built[i % 2] : &things[i / 3], random_pose(&random, 1));
        scene_begin(&s, serial);
        for (int i = 0; i < 2; i++) {
            abuti_field_invalidate_host(built[i].field);
            assert_true(abut_field_values(built[i].field) && !on_host(&built[i]));
        }
        assert_ok(abut_world_contacts(s.world, &to));
        for (int i = 0; i < 2; i++) /* only where the world has to */
            assert_int_equal(elsewhere, on_host(&built[i]));
        assert_true(to.count > 100);
        assert_true(scene_check(&s) == to.count);
        abut_world_destroy(s.world);
        free(list);
    }
    abut_device_destroy(other);
}

/* A field that was lost half-way through an update is refused, and taken when it is whole again. */
TEST(lost_fields) {
    scene s = device_scene(2);
    abut_contact *list = malloc(REFEREE_ROOM * sizeof *list);
    abut_contacts to = {.size = sizeof to, .list = list, .capacity = REFEREE_ROOM, .count = 77};
    assert_non_null(list);
    for (int i = 0; i < 2; i++)
        s.items[i] = body_item(&built[i], (abut_pose){{0, 0, 0, 1}, {0.3 * i, 0.1 * i, 0}});
    scene_begin(&s, serial);
    built[1].field->broken = true;
    assert_fails(ABUT_ERROR_DEVICE, "values of the field are invalid",
                 abut_world_contacts(s.world, &to));
    assert_int_equal(77, to.count);
    built[1].field->broken = false;
    assert_ok(abut_world_contacts(s.world, &to));
    assert_true(to.count > 4);
    abut_world_destroy(s.world);
    free(list);
}

/* What stays on the device against what comes to the host. */
static void check_records(abut_world *world) {
    abut_world_device_contacts records = abut_world_device_contacts_default();
    assert_ok(abut_world_get_device_contacts(world, &records));
    size_t count = (size_t)records.contact_count, bytes = count * sizeof(abut_contact);
    abut_contact *list = malloc(bytes + 1), *got = malloc(bytes + 1);
    uint32_t *begin = malloc((records.pair_count + 1) * sizeof *begin);
    abut_world_pair *pairs = malloc((records.pair_count + 1) * sizeof *pairs);
    size_t pair = 0;
    assert_true(count > 100 && list && got && begin && pairs);
    assert_ok(abut_buffer_read(records.pairs, 0, pairs, records.pair_count * sizeof *pairs));
    assert_ok(abut_buffer_read(records.contacts, 0, got, bytes));
    assert_ok(abut_buffer_read(records.begin, 0, begin, (records.pair_count + 1) * sizeof *begin));
    abut_contacts to = {.size = sizeof to, .list = list, .capacity = count};
    assert_ok(abut_world_contacts(world, &to));
    assert_int_equal(to.count, count);
    assert_int_equal(begin[records.pair_count], count);
    for (size_t i = 0; i < count; i++) {
        assert_same_contact(&list[i], &got[i]);
        assert_true(list[i].a == got[i].a && list[i].b == got[i].b);
        while (i >= begin[pair + 1])
            pair++;
        assert_true(pairs[pair].a == got[i].a && pairs[pair].b == got[i].b);
    }
    free(list);
    free(got);
    free(begin);
    free(pairs);
}

TEST(records_are_the_contacts) {
    test_random random = {22};
    abut_world_options options = abut_world_options_default();
    abut_world_device_contacts records = abut_world_device_contacts_default();
    abut_world *world;
    uint32_t id;
    assert_ok(abut_world_create(serial, NULL, &world));
    assert_refused("no device", abut_world_get_device_contacts(world, &records));
    assert_refused("world is null", abut_world_get_device_contacts(NULL, &records));
    abut_world_destroy(world);
    options.device = device;
    for (options.max_patch_contacts = 0; options.max_patch_contacts < 3;
         options.max_patch_contacts += 2) {
        assert_ok(abut_world_create(serial, &options, &world));
        assert_refused("contacts is null", abut_world_get_device_contacts(world, NULL));
        assert_ok(abut_world_get_device_contacts(world, &records)); /* of an empty world */
        assert_true(records.pair_count == 0 && records.contact_count == 0);
        assert_ok(abut_buffer_read(records.begin, 0, &id, sizeof id));
        assert_int_equal(id, 0);
        for (uint32_t i = 0; i < ITEMS; i++) {
            abut_world_item item = body_item(&things[i % THINGS], random_pose(&random, 1.2));
            assert_ok(abut_world_add(world, &item, &id));
        }
        check_records(world);
        abut_world_destroy(world);
    }
}

/* Reduced by every number and several angles, with and without a margin. */
TEST(reduced) {
    test_random random = {26};
    const uint32_t keep[] = {1, 2, 4, 7, 100};
    const double angles[] = {0, 0.05, 1.2, 3};
    size_t contacts = 0;
    for (uint32_t round = 0; round < test_rounds(40); round++) {
        scene s = device_scene(ITEMS / 4);
        s.options.max_patch_contacts = keep[round % 5];
        s.options.patch_angle = angles[round % 4];
        s.options.margin = round % 3 ? 0 : 0.05;
        for (uint32_t i = 0; i < s.count; i++)
            s.items[i] = body_item(&things[i % THINGS], random_pose(&random, 0.6));
        contacts += scene_run(&s);
    }
    assert_true(contacts > 100);
}

/* One in the other: more contacts than lists have room for at first. */
TEST(many_contacts_of_a_pair) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    thing ball;
    shape.segments = 6;
    make_thing(&ball, &shape, NULL, 0);
    abut_samples_destroy(ball.samples);
    abut_samples_options samples = abut_samples_options_default();
    samples.kinds = ABUT_SAMPLES_SURFACE;
    samples.count = 2000;
    assert_ok(abut_samples_create(ball.mesh, &samples, &ball.samples));
    for (uint32_t keep = 0; keep < 5; keep += 4) {
        scene s = device_scene(2);
        s.options.keep_backfacing = true;
        s.options.max_patch_contacts = keep;
        for (int i = 0; i < 2; i++)
            s.items[i] = body_item(&ball, (abut_pose){{0, 0, 0, 1}, {0.2 * i, 0.05 * i, 0}});
        size_t count = scene_run(&s);
        assert_true(keep ? count > 4 : count > 1000);
    }
    free_thing(&ball);
}

/* ---- pairs and poses that stay there ---- */

static bool by_fields(const abut_world *world, const abut_world_pair *p) {
    const world_item *a = &world_items(world)[abut_world_index(p->a)],
                     *b = &world_items(world)[abut_world_index(p->b)];
    return a->kind == ABUT_COLLIDER_BODY && b->kind == ABUT_COLLIDER_BODY &&
           abuti_world_method(world, a, b) == &abuti_world_field;
}

/* Pairs that the device has found against those of the host. Returns their number. */
static size_t check_pairs(abut_world *world) {
    abut_world_device_contacts records = abut_world_device_contacts_default();
    size_t met = 0;
    assert_ok(abut_world_get_device_contacts(world, &records));
    abut_world_pair *there = malloc((records.pair_count + 1) * sizeof *there);
    assert_non_null(there);
    assert_ok(abut_buffer_read(records.pairs, 0, there, records.pair_count * sizeof *there));
    abut_world_pair_list here = pairs_of(world);
    for (size_t i = 0; i < here.count; i++)
        if (by_fields(world, &here.list[i])) {
            assert_true(met < records.pair_count);
            assert_memory_equal(&there[met], &here.list[i], sizeof *there);
            met++;
        }
    assert_int_equal(met, records.pair_count);
    free(there);
    free(here.list);
    return met;
}

/* Many items of all kinds, groups and motions, one of them large, some far away; while they move
 * little or much, come, go and are ignored. */
TEST(pairs_are_those_of_the_host) {
    enum { CROWD = 300 };
    test_random random = {27};
    abut_world_options options = abut_world_options_default();
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_world *world;
    size_t met = 0;
    thing floor_thing;
    shape.extent = (abut_vec3){30, 30, 1};
    make_thing(&floor_thing, &shape, NULL, 0);
    options.device = device;
    options.skip_edges = true;
    options.margin = 0.02;
    assert_ok(abut_world_create(serial, &options, &world));
    for (uint32_t i = 0; i < CROWD; i++) {
        abut_world_item item = varied_item(&random, 6);
        if (i == 40)
            item = body_item(&floor_thing, (abut_pose){{0, 0, 0, 1}, {0, 0, -5}});
        if (i % 100 == 7)
            item.collider.pose.translation.x = 1e6 * i;
        add(world, &item);
    }
    for (uint32_t round = 0; round < test_rounds(48); round++) {
        for (uint32_t i = 0; i < 20 && round % 4 == 1; i++)
            assert_ok(abut_world_ignore(world, i, 40 + i % 3, round % 3 != 2));
        met += check_pairs(world);
        for (uint32_t i = 41; i < CROWD; i++) {
            abut_pose where = random_pose(&random, round % 2 ? 6 : 9);
            if (!world_items(world)[i].used)
                continue;
            assert_ok(abut_world_set_poses(world, &i, abut_array_host(&where), 1));
        }
        if (round % 4 == 2)
            assert_ok(abut_world_remove(world, 60 + round));
    }
    assert_true(met > test_rounds(48) * 100);
    options.pair_limit = 3;
    abut_world *small;
    abut_world_device_contacts records = abut_world_device_contacts_default();
    assert_ok(abut_world_create(serial, &options, &small));
    for (uint32_t i = 0; i < 5; i++) {
        abut_world_item item = body_item(&things[0], (abut_pose){{0, 0, 0, 1}, {0.01 * i, 0, 0}});
        add(small, &item);
    }
    assert_fails(ABUT_ERROR_LIMIT, "pair_limit", abut_world_get_device_contacts(small, &records));
    abut_world_destroy(small);
    abut_world_destroy(world);
    free_thing(&floor_thing);
}

/* Poses on the device: all of them, by ids, with ids that come twice, among solids, and bad ones.
 */
TEST(poses_in_buffers) {
    test_random random = {28};
    scene s = device_scene(ITEMS);
    abut_pose poses[ITEMS];
    abut_world *on_cpu;
    abut_world_device_contacts records = abut_world_device_contacts_default();
    abut_buffer *buffer, *short_buffer;
    size_t contacts = 0;
    uint32_t id;
    assert_ok(abut_buffer_create(device, sizeof poses, &buffer));
    assert_ok(abut_buffer_create(device, sizeof *poses, &short_buffer));
    for (uint32_t i = 0; i < ITEMS; i++)
        s.items[i] = body_item(&things[i % THINGS], random_pose(&random, 1.2));
    s.items[ITEMS - 1].collider.kind = ABUT_COLLIDER_SPHERE;
    s.items[ITEMS - 1].collider.shape.sphere = (abut_sphere){{0.1, 0, 0.2}, 0.3};
    scene_begin(&s, serial);
    for (uint32_t round = 0; round < test_rounds(5); round++) {
        const uint32_t bodies = ITEMS - 1, ids[4] = {7, 3, 7, 30};
        for (uint32_t i = 0; i < ITEMS; i++)
            poses[i] = random_pose(&random, 1.2);
        assert_ok(abut_buffer_write(buffer, 0, poses, sizeof poses));
        if (round % 5 < 3) {
            uint32_t count = round % 5 == 0 ? bodies : round % 5 == 1 ? ITEMS : 5;
            for (uint32_t i = 0; i < count; i++)
                s.items[i].collider.pose = poses[i];
            assert_ok(abut_world_set_poses(s.world, NULL, abut_array_buffer(buffer), count));
        } else {
            for (uint32_t i = 0; i < 4; i++)
                s.items[ids[i]].collider.pose = poses[i];
            assert_ok(abut_world_set_poses(s.world, ids, abut_array_buffer(buffer), 4));
        }
        if (round % 2) /* the host has not seen them yet */
            assert_ok(abut_world_get_device_contacts(s.world, &records));
        if (round % 5 == 2) { /* and an item changes */
            assert_ok(abut_world_remove(s.world, id_at(s.world, 9)));
            assert_ok(abut_world_add(s.world, &s.items[9], &id));
        }
        contacts += scene_check(&s);
        check_pairs(s.world);
        poses[2].translation.y = round % 2 ? NAN : 1e300;
        assert_ok(abut_buffer_write(buffer, 0, poses, sizeof poses));
        assert_refused("pose 2 of the buffer",
                       abut_world_set_poses(s.world, NULL, abut_array_buffer(buffer), bodies));
        scene_check(&s);
    }
    assert_true(contacts > 500);
    for (uint32_t i = 0; i < ITEMS; i++)
        poses[i] = random_pose(&random, 1.2);
    assert_ok(abut_buffer_write(buffer, 0, poses, sizeof poses));
    static abut_world_impact impacts[2][ITEMS * ITEMS];
    abut_world_impacts swept[2];
    for (int k = 0; k < 2; k++) { /* ends in a buffer */
        swept[k] = (abut_world_impacts){.size = sizeof(abut_world_impacts),
                                        .list = impacts[k],
                                        .capacity = ITEMS * ITEMS};
        memset(impacts[k], 0, sizeof impacts[k]);
        assert_ok(abut_world_sweep(s.world, NULL,
                                   k ? abut_array_buffer(buffer) : abut_array_host(poses), ITEMS,
                                   NULL, &swept[k]));
    }
    assert_true(swept[0].count == swept[1].count && swept[0].time == swept[1].time);
    assert_int_equal(swept[0].unswept_count, swept[1].unswept_count);
    assert_memory_equal(impacts[0], impacts[1], sizeof impacts[0]);
    assert_fails(ABUT_ERROR_BUFFER, "ends",
                 abut_world_sweep(s.world, NULL, abut_array_buffer(short_buffer), 3, NULL,
                                  &swept[0]));
    assert_fails(ABUT_ERROR_BUFFER, "poses",
                 abut_world_set_poses(s.world, NULL, abut_array_buffer(short_buffer), 3));
    id = ITEMS;
    assert_refused("no item", abut_world_set_poses(s.world, &id, abut_array_buffer(buffer), 1));
    assert_refused("33 poses, but the world has only 32",
                   abut_world_set_poses(s.world, NULL, abut_array_buffer(buffer), 33));
    assert_ok(abut_world_set_poses(s.world, NULL, abut_array_buffer(buffer), 0));
    abut_world_destroy(s.world);
    assert_ok(abut_world_create(serial, NULL, &on_cpu));
    assert_ok(abut_world_add(on_cpu, &s.items[0], &id));
    assert_refused("no device", abut_world_set_poses(on_cpu, NULL, abut_array_buffer(buffer), 1));
    assert_refused("no device",
                   abut_world_sweep(on_cpu, NULL, abut_array_buffer(buffer), 1, NULL, &swept[0]));
    abut_world_destroy(on_cpu);
    abut_buffer_destroy(buffer);
    abut_buffer_destroy(short_buffer);
}

/* Positions of a mesh in a buffer are those on the host, also for a world on the CPU. */
TEST(shapes_in_buffers) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *ball = NULL;
    shape.segments = 4;
    assert_ok(abut_shape_create(serial, &shape, &ball));
    const uint32_t count = abut_mesh_vertex_count(ball);
    const size_t bytes = count * sizeof(abut_vec3);
    abut_vec3 *positions = malloc(bytes);
    abut_buffer *buffer, *short_buffer;
    abut_contact lists[2][256];
    uint64_t counts[2];
    assert_non_null(positions);
    assert_ok(abut_buffer_create(device, bytes, &buffer));
    assert_ok(abut_buffer_create(device, bytes - 8, &short_buffer));
    for (uint32_t i = 0; i < count; i++)
        positions[i] = v3_add(v3_scale(abut_mesh_local_positions(ball)[i], 1.1), v3(0.4, 0, 0));
    assert_ok(abut_buffer_write(buffer, 0, positions, bytes));
    for (int k = 0; k < 4; k++) {
        const abut_world_options options = {.size = sizeof options,
                                            .device = k & 1 ? device : NULL};
        abut_world_item item = abut_world_item_default();
        abut_contacts found = {.size = sizeof found, .list = lists[k > 0], .capacity = 256};
        abut_world *world;
        uint32_t id;
        assert_ok(abut_world_create(serial, &options, &world));
        item.collider = abut_collider_from_mesh(ball, abut_pose_identity());
        item.method = ABUT_WORLD_EXACT;
        assert_ok(abut_world_add(world, &item, &id));
        item.collider.pose.translation.x = 0.4;
        item.collider.shape.mesh.deforms = true;
        assert_ok(abut_world_add(world, &item, &id));
        assert_refused("bytes",
                       abut_world_set_positions(world, id, NULL, abut_array_buffer(short_buffer)));
        assert_ok(abut_world_set_positions(world, id, NULL,
                                           k & 2 ? abut_array_buffer(buffer)
                                                 : abut_array_host(positions)));
        assert_ok(abut_world_contacts(world, &found));
        counts[k > 0] = found.count;
        assert_true(counts[0] > 0 && counts[0] == counts[k > 0]);
        assert_memory_equal(lists[0], lists[k > 0], counts[0] * sizeof(abut_contact));
        abut_world_destroy(world);
    }
    abut_buffer_destroy(buffer);
    abut_buffer_destroy(short_buffer);
    abut_mesh_destroy(ball);
    free(positions);
}

/* ---- failures ---- */

static abut_status live_a_little(abut_context *context, void *data) {
    static abut_contact room[20000];
    test_random random = {23};
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    abut_pose poses[5];
    (void)data;
    options.device = device;
    abut_status status = abut_world_create(context, &options, &world);
    for (uint32_t i = 0; i < 5 && !status; i++) {
        abut_world_item item = body_item(i < 4 ? &things[i] : &built[0], random_pose(&random, 0.5));
        uint32_t id;
        poses[i] = random_pose(&random, 0.5);
        status = abut_world_add(world, &item, &id);
    }
    abut_buffer *buffer = NULL;
    status = status ? status : abut_buffer_create(device, sizeof poses, &buffer);
    status = status ? status : abut_buffer_write(buffer, 0, poses, sizeof poses);
    for (int step = 0; step < 2 && !status; step++) {
        abut_contacts to = {.size = sizeof to, .list = room, .capacity = 20000, .count = 77};
        status = abut_world_contacts(world, &to);
        if (status) { /* the next try is as good as any */
            assert_int_equal(to.count, 77);
            abuti_opencl_fail_at(0);
            if (status == ABUT_ERROR_DEVICE)
                assert_ok(abut_world_contacts(world, &to));
        } else {
            status = abut_world_set_poses(world, NULL, abut_array_buffer(buffer), 5);
        }
    }
    abut_buffer_destroy(buffer);
    abut_world_destroy(world);
    return status;
}

TEST(every_call_of_the_device) {
    test_every_device_call(live_a_little, NULL, UINT64_MAX, 1);
}

TEST(every_allocation) {
    assert_true(test_every_allocation(live_a_little, NULL) > 12);
}

TEST(exact_contacts_are_of_the_cpu) {
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    options.device = device;
    options.method = ABUT_WORLD_EXACT;
    assert_refused("on the CPU", abut_world_create(NULL, &options, &world));
    assert_null(world);
}

TEST(other_rounding_is_refused) {
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    bool same = device->info.same_bits;
    options.device = device;
    device->info.same_bits = false;
    assert_fails(ABUT_ERROR_DEVICE, "round", abut_world_create(NULL, &options, &world));
    device->info.same_bits = same;
    assert_null(world);
}

static int set_up(void **state) {
    device = test_device(NULL);
    make_things(state);
    for (int i = 0; i < 2; i++) {
        abut_shape shape = abut_shape_default(i ? ABUT_SHAPE_BOX : ABUT_SHAPE_ICOSPHERE);
        abut_field_options field = abut_field_options_default();
        field.cells = 14;
        field.device = device;
        make_thing(&built[i], &shape, &field, 0);
    }
    return 0;
}

static int tear_down(void **state) {
    for (int i = 0; i < 2; i++)
        free_thing(&built[i]);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return free_things(state);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
