/* Filters of pairs: families, and the callback of the caller. */
#include "scene.h"

static abut_world_item ball_at(double x) {
    abut_world_item item = abut_world_item_default();
    item.collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.6}, abut_pose_identity());
    item.collider.pose.translation.x = x;
    return item;
}

/* What the callback of a world has seen, and what it decides. */
typedef struct referee {
    abut_world *world;
    uint32_t calls;
    abut_world_pair last;
    uint32_t refused; /* calls of the world from the callback */
    uint32_t series;  /* searches for pairs; within each, calls are in order */
    uint32_t modulus; /* pairs are rejected if the sum of their users is a multiple */
} referee;

static uint32_t user_of(const abut_world *world, uint32_t id) {
    return (uint32_t)(uintptr_t)abut_world_get_user(world, id);
}

static bool accept(void *user, uint32_t a, uint32_t b) {
    referee *r = user;
    const abut_world_pair pair = {a, b};
    abut_world_pair_list pairs = {NULL, 0, 0};
    assert_true(abut_world_index(a) < abut_world_index(b));
    r->series += !r->calls || world_compare_pairs(&r->last, &pair) >= 0;
    r->last = pair;
    r->calls++;
    r->refused += abut_world_pairs(r->world, &pairs) == ABUT_ERROR_ARGUMENT;
    r->refused += abut_world_remove(r->world, a) == ABUT_ERROR_ARGUMENT;
    return (user_of(r->world, a) + user_of(r->world, b)) % r->modulus != 0;
}

typedef struct family_scene {
    const abut_world *world;
    const abut_world_item *items;
    uint32_t modulus;
} family_scene;

static bool is_pair(const void *data, uint32_t a, uint32_t b) {
    const family_scene *s = data;
    const abut_world_item *p = &s->items[a], *q = &s->items[b];
    return may_meet(p, q) && (!p->family || p->family != q->family) &&
           ((uintptr_t)p->user + (uintptr_t)q->user) % s->modulus != 0;
}

/* Random families, groups and motions against the rules, with and without a callback, while items
 * move and come and go. All are at one place, so that all boxes overlap. */
TEST(pairs_are_those_that_all_filters_accept) {
    enum { COUNT = 40 };
    for (uint32_t with = 0; with < 2; with++) {
        test_random random = {41};
        referee r = {.modulus = 3};
        abut_world_item items[COUNT];
        abut_world_options options = abut_world_options_default();
        family_scene s = {.items = items, .modulus = with ? 3 : UINT32_MAX};
        abut_world *world;
        uint32_t id;
        options.accept = with ? accept : NULL;
        options.accept_user = &r;
        assert_ok(abut_world_create(serial, &options, &world));
        r.world = world;
        s.world = world;
        for (uint32_t i = 0; i < COUNT; i++) {
            items[i] = ball_at(0.001 * i);
            items[i].motion = (abut_world_motion)(test_random_below(&random, 8) % 5 % 3);
            items[i].is_sensor = test_random_below(&random, 6) == 0;
            items[i].group = test_random_below(&random, 3) ? 0 : 1 + test_random_below(&random, 3);
            items[i].family = test_random_below(&random, 4);
            items[i].user = (void *)(uintptr_t)(1 + test_random_below(&random, 50));
            add(world, &items[i]);
        }
        for (uint32_t round = 0; round < 24; round++) {
            const uint32_t i = test_random_below(&random, COUNT);
            r.calls = r.series = 0;
            check_pairs_of(world, COUNT, is_pair, &s);
            assert_true(r.series == with);
            assert_true(r.refused == (with ? 2 : 0) * r.calls);
            assert_true(!with || r.calls > 0);
            if (round % 3 == 0) {
                items[i].collider.pose.translation.x += 0.01;
                id = id_at(world, i);
                assert_ok(
                    abut_world_set_poses(world, &id, abut_array_host(&items[i].collider.pose), 1));
            } else if (round % 3 == 1) {
                items[i].family = test_random_below(&random, 4);
                items[i].user = (void *)(uintptr_t)(1 + test_random_below(&random, 50));
                assert_ok(abut_world_replace(world, id_at(world, i), &items[i]));
            } else {
                assert_ok(abut_world_remove(world, id_at(world, i)));
                items[i].family = 3;
                assert_ok(abut_world_add(world, &items[i], &id));
                assert_int_equal(abut_world_index(id), i);
            }
            r.refused = 0;
        }
        abut_world_destroy(world);
    }
}

/* The filters hold for contacts, events, sweeps and steps, and are stated by the pair info. */
TEST(filters_hold_for_all_results) {
    referee r = {.modulus = 5};
    abut_world_options options = abut_world_options_default();
    abut_world_pair_info info = abut_world_pair_info_default();
    abut_contact contacts[4];
    abut_contacts found = {.size = sizeof found, .list = contacts, .capacity = 4};
    abut_world_event events[4];
    abut_world_impact impacts[8];
    abut_world_impacts swept = {.size = sizeof swept, .list = impacts, .capacity = 8};
    abut_world_step_result step = abut_world_step_result_default();
    abut_world *world;
    options.accept = accept;
    options.accept_user = &r;
    assert_ok(abut_world_create(serial, &options, &world));
    r.world = world;
    for (uint32_t i = 0; i < 5; i++) { /* 1 and 2 have users with the sum 5; 3 and 4 are a family */
        abut_world_item item = ball_at(i);
        item.user = (void *)(uintptr_t)(i == 1 ? 2 : i == 2 ? 3 : 6);
        item.family = i < 3 ? i : 9;
        add(world, &item);
    }
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, 2);
    assert_true(contacts[0].a == 0 && contacts[0].b == 1);
    assert_true(contacts[1].a == 2 && contacts[1].b == 3);
    assert_int_equal(events_of(world, events, 4), 2);
    r.calls = 0;
    assert_ok(abut_world_contacts(world, &found)); /* nothing has changed */
    assert_int_equal(r.calls, 0);
    assert_ok(abut_world_get_pair_info(world, 1, 2, &info));
    assert_true(info.guarantee == ABUT_WORLD_GUARANTEE_NONE && strstr(info.reason, "accept"));
    assert_ok(abut_world_get_pair_info(world, 4, 3, &info));
    assert_true(info.guarantee == ABUT_WORLD_GUARANTEE_NONE && strstr(info.reason, "families"));
    r.calls = 0;
    assert_ok(abut_world_get_pair_info(world, 2, 0, &info));
    assert_int_equal(info.guarantee, ABUT_WORLD_GUARANTEE_COMPLETE);
    /* 1 moves through all others. */
    const uint32_t moved = 1;
    const abut_pose end = {{0, 0, 0, 1}, {8, 0, 0}};
    r.calls = 0;
    assert_ok(abut_world_sweep(world, &moved, abut_array_host(&end), 1, NULL, &swept));
    assert_int_equal(swept.count, 3);
    for (uint64_t i = 0; i < swept.count; i++)
        assert_false(impacts[i].a == 1 && impacts[i].b == 2);
    r.calls = 0;
    assert_ok(abut_world_step(world, 1, NULL));
    r.calls = 0;
    assert_ok(abut_world_set_poses(world, &moved, abut_array_host(&end), 1));
    assert_ok(abut_world_step(world, 1, &step));
    uint64_t hits = 0;
    for (uint64_t i = 0; i < step.pair_count; i++) {
        assert_false(step.pairs[i].a == 1 && step.pairs[i].b == 2);
        hits += step.pairs[i].has_impact && step.pairs[i].a <= 1;
    }
    assert_int_equal(hits, 3);
    abut_world_destroy(world);
}

/* A state belongs to a world with the same families. */
TEST(states_depend_on_families) {
    static unsigned char state_bytes[1024];
    abut_byte_list bytes = {state_bytes, sizeof state_bytes, 0};
    abut_world_item item = ball_at(0);
    abut_world *world;
    assert_ok(abut_world_create(serial, NULL, &world));
    item.family = 1;
    const uint32_t id = add(world, &item);
    assert_ok(abut_world_save(world, &bytes));
    assert_ok(abut_world_restore(world, state_bytes, (size_t)bytes.count));
    item.family = 2;
    assert_ok(abut_world_replace(world, id, &item));
    assert_refused("item 0 is not", abut_world_restore(world, state_bytes, (size_t)bytes.count));
    abut_world_destroy(world);
}

/* ---- sensors ---- */

/* Sensors of all kinds against the distances of the pairs, with margins. Meshes, boxes and hulls
 * are only tested for overlap; spheres, capsules, cylinders and planes by their contacts. */
TEST(sensors_touch_within_the_margin) {
    test_random random = {77};
    uint32_t touching = 0, apart = 0;
    for (uint32_t round = 0; round < test_rounds(300); round++) {
        abut_world_options options = abut_world_options_default();
        abut_world_item items[2];
        abut_world_event event;
        abut_contact contact;
        abut_contacts found = {.size = sizeof found, .list = &contact, .capacity = 1};
        abut_world *worlds[2];
        uint64_t counts[2];
        options.margin = round % 3 ? 0.05 * (round % 4) : 0;
        for (int i = 0; i < 2; i++) {
            items[i] = mesh_item(&things[test_random_below(&random, 4)],
                                 random_pose(&random, 1 + 0.1 * (round % 10)));
            items[i].margin = test_random_below(&random, 2) ? 0.03 : 0;
            const uint32_t kind = test_random_below(&random, 9);
            if (kind == 0)
                items[i].collider.kind = ABUT_COLLIDER_SPHERE,
                items[i].collider.shape.sphere = (abut_sphere){{0.1, 0, 0.2}, 0.3};
            if (kind == 1)
                items[i].collider.kind = ABUT_COLLIDER_CAPSULE,
                items[i].collider.shape.capsule =
                    (abut_capsule){{{0.1, 0, 0}, {-0.5, 0, 0.2}}, 0.2};
            if (kind == 2)
                items[i].collider.kind = ABUT_COLLIDER_CYLINDER,
                items[i].collider.shape.cylinder =
                    (abut_cylinder){{{0, 0, 0}, {-0.5, 0, 0.2}}, 0.2};
            if (kind == 3 || kind == 4)
                items[i].collider.kind = ABUT_COLLIDER_BOX,
                items[i].collider.shape.half = v3(0.3, 0.2, kind == 3 ? 0.4 : 0.01);
            if (kind == 5)
                items[i].collider.kind = ABUT_COLLIDER_HULL,
                items[i].collider.shape.hull = things[HULL].bvh;
            if (kind == 6 && !i)
                items[i].collider.kind = ABUT_COLLIDER_PLANE,
                items[i].collider.shape.plane = (abut_plane){{0.3, 0.2, 2}, -0.5};
        }
        for (int k = 0; k < 2; k++) {
            abut_world_event_list events = {&event, 1, 0};
            assert_ok(abut_world_create(serial, &options, &worlds[k]));
            for (int i = 0; i < 2; i++) {
                abut_world_item item = items[i];
                item.is_sensor = k && i == (int)(round % 2);
                add(worlds[k], &item);
            }
            assert_ok(abut_world_events(worlds[k], &events));
            counts[k] = events.count;
        }
        assert_int_equal(counts[0], counts[1]);
        assert_ok(abut_world_contacts(worlds[1], &found));
        assert_int_equal(found.count, 0);
        if (counts[1]) {
            const abut_contact nothing = {.a = 0, .b = 1};
            assert_true(event.is_sensor && event.count == 0);
            assert_memory_equal(&event.deepest, &nothing, sizeof nothing);
            touching++;
        } else {
            apart++;
        }
        if (items[0].collider.kind == ABUT_COLLIDER_BODY &&
            items[1].collider.kind == ABUT_COLLIDER_BODY) {
            abut_separation s;
            assert_ok(abut_pair_distance(&items[0].collider, &items[1].collider, NULL, NULL, &s));
            assert_true((s.distance <= options.margin + items[0].margin + items[1].margin) ==
                        (counts[1] == 1));
        }
        abut_world_destroy(worlds[0]);
        abut_world_destroy(worlds[1]);
    }
    assert_true(touching > test_rounds(300) / 5 && apart > test_rounds(300) / 5);
}

static abut_status use_sensors(abut_context *context, void *data) {
    test_random random = {78};
    abut_world *world = NULL;
    abut_world_event events[64];
    abut_world_event_list list = {events, 64, 0};
    (void)data;
    abut_status status = abut_world_create(context, NULL, &world);
    for (uint32_t i = 0; i < 8 && !status; i++) {
        abut_world_item item = mesh_item(&things[i % 4], random_pose(&random, 0.5));
        uint32_t id;
        item.is_sensor = i % 2;
        if (i == 5) {
            item.collider.kind = ABUT_COLLIDER_BOX;
            item.collider.shape.half = v3(0.3, 0.2, 0.4);
        }
        status = abut_world_add(world, &item, &id);
    }
    status = status ? status : abut_world_events(world, &list);
    assert_true(status || list.count > 6);
    abut_world_destroy(world);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(use_sensors, NULL) > 4);
}

int main(void) {
    return test_run(make_things, free_things);
}

/* A pair that a filter kept apart has no hint: not the motion while it was not tested. */
TEST(pairs_have_no_hint_when_a_filter_opens) {
    for (int way = 0; way < 4; way++) { /* ignored, family, group, asleep before its contacts */
        abut_world *world = NULL;
        abut_world_item ball = abut_world_item_default(), floor = abut_world_item_default();
        abut_contact list[8];
        abut_contacts found = {.size = sizeof found, .list = list, .capacity = 8};
        abut_pose up = {{0, 0, 0, 1}, {0, 0, 0.02}};
        uint32_t a, b;
        assert_ok(abut_world_create(NULL, NULL, &world));
        ball.collider =
            abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.5}, abut_pose_identity());
        floor.collider =
            abut_collider_from_box((abut_vec3){3, 3, 0.5}, (abut_pose){{0, 0, 0, 1}, {0, 0, -0.9}});
        floor.motion = ABUT_WORLD_STATIC;
        ball.family = floor.family = way == 1;
        floor.group = way == 2 ? 2 : 1;
        ball.mask = 1;
        assert_ok(abut_world_add(world, &ball, &a));
        assert_ok(abut_world_add(world, &floor, &b));
        if (way == 0)
            assert_ok(abut_world_ignore(world, a, b, true));
        if (way == 3)
            assert_ok(abut_world_set_asleep(world, &a, 1, true));
        assert_ok(abut_world_contacts(world, &found));
        assert_int_equal(found.count, 0);
        floor.family = 0;
        floor.group = 1;
        if (way == 0)
            assert_ok(abut_world_ignore(world, a, b, false));
        if (way == 1 || way == 2)
            assert_ok(abut_world_replace(world, b, &floor));
        assert_ok(abut_world_set_poses(world, &a, abut_array_host(&up), 1));
        assert_ok(abut_world_contacts(world, &found));
        assert_int_equal(found.count, 1);
        assert_true(fabs(list[0].depth - 0.08) < 1e-6);
        assert_true(list[0].normal.z > 1 - 1e-9);
        abut_world_destroy(world);
    }
}
