/* Worlds against all single pairs, bit for bit; and worlds that are empty, crowded, changed and
 * out of memory. */
#include "world/scene.h"

/* ---- against every pair by itself ---- */

TEST(random_worlds_agree_with_every_pair) {
    test_random random = {11};
    size_t contacts = 0;
    for (uint32_t round = 0; round < test_rounds(48); round++) {
        scene s = {.options = abut_world_options_default(), .count = 32};
        s.options.margin = round % 3 == 1 ? 0.02 : round % 5 == 4 ? 0.4 : 0;
        s.options.skip_edges = round % 4 == 2;
        s.options.keep_backfacing = round % 4 == 3;
        s.options.max_patch_contacts = round % 6 == 5 ? 3 : 0;
        double reach = round % 2 ? 4 : 1.5, scale = round % 8 == 7 ? 1e7 : 0;
        s.options.method = (abut_world_method)(round % 7 % 3);
        s.options.skip_verification = round % 2;
        for (uint32_t i = 0; i < s.count; i++) {
            s.items[i] = round % 4 ? varied_item(&random, reach) : random_item(&random, reach);
            s.items[i].collider.pose.translation.x += scale; /* far away from 0 */
        }
        contacts += scene_run(&s);
    }
    assert_true(contacts > 500);
}

TEST(changes_are_seen) {
    test_random random = {12};
    scene s = {.options = abut_world_options_default(), .count = 24};
    for (uint32_t i = 0; i < s.count; i++)
        s.items[i] = varied_item(&random, 1.5);
    scene_begin(&s, serial);
    for (uint32_t round = 0; round < test_rounds(64); round++) {
        uint32_t id = test_random_below(&random, s.count), ids[3], again;
        abut_pose poses[3];
        if (s.used[id] && round % 3 == 0) {
            const uint32_t old = id_at(s.world, id);
            assert_ok(abut_world_remove(s.world, old));
            assert_refused("no item", abut_world_remove(s.world, old));
            assert_refused("no item",
                           abut_world_set_poses(s.world, &old,
                                                abut_array_host(&s.items[id].collider.pose), 1));
            s.used[id] = false;
            if (round % 2) { /* a free index is used again */
                const abut_world_item item = varied_item(&random, 1.5);
                assert_ok(abut_world_add(s.world, &item, &again));
                assert_true(again != old && !s.used[abut_world_index(again)]);
                s.items[abut_world_index(again)] = item;
                s.used[abut_world_index(again)] = true;
                assert_refused("no item", abut_world_remove(s.world, old));
            }
        }
        for (int k = 0; k < 3; k++) { /* the third is the first once more */
            do
                ids[k] = k == 2 ? ids[0] : test_random_below(&random, s.count);
            while (!s.used[ids[k]]);
            poses[k] = random_pose(&random, 1.5);
            s.items[ids[k]].collider.pose = poses[k];
        }
        s.items[ids[1]].collider.pose = ids[1] == ids[0] ? poses[2] : poses[1];
        for (int k = 0; k < 3; k++)
            ids[k] = id_at(s.world, ids[k]);
        assert_ok(abut_world_set_poses(s.world, ids, abut_array_host(poses), 3));
        scene_check(&s);
    }
    abut_world_destroy(s.world);
}

/* A body in the middle of a large one, with nothing but normals of the wrong way. */
TEST(small_ones_within_large_ones) {
    scene s = {.options = abut_world_options_default(), .count = 2};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    thing large;
    shape.radius = 5;
    make_thing(&large, &shape, NULL, 0);
    abut_pose where = {{0, 0, 0, 1}, {0.4, 0.1, 0.2}};
    s.items[0] = body_item(&things[1], where);
    where.translation = v3(0, 0, 0);
    s.items[1] = body_item(&large, where);
    assert_true(scene_run(&s) > 4);
    free_thing(&large);
}

TEST_THREADS(same_on_any_number_of_threads) {
    enum { ITEMS = 160, ROOM = 30000, FEW = 4000 };
    abut_contact *lists[2];
    size_t counts[2];
    uint64_t pair_counts[2], event_counts[2];
    static abut_world_impact impacts[2][FEW];
    static abut_world_event events[2][FEW];
    abut_world_impacts swept[2] = {abut_world_impacts_default(), abut_world_impacts_default()};
    memset(events, 0, sizeof events);
    memset(impacts, 0, sizeof impacts);
    for (int n = 0; n < 2; n++) {
        test_memory memory = {0};
        test_random random = {13};
        abut_context *context = test_context(&memory, n ? 4 : 1);
        abut_world_options options = abut_world_options_default();
        abut_world *world;
        abut_pose poses[ITEMS];
        options.max_patch_contacts = 8;
        assert_ok(abut_world_create(context, &options, &world));
        for (uint32_t i = 0; i < ITEMS; i++) {
            abut_world_item item = varied_item(&random, 3.3);
            poses[i] = random_pose(&random, 3.3);
            add(world, &item);
        }
        lists[n] = calloc(ROOM, sizeof *lists[n]);
        assert_non_null(lists[n]);
        abut_contacts to = {.size = sizeof to, .list = lists[n], .capacity = ROOM};
        assert_ok(abut_world_contacts(world, &to));
        swept[n] = (abut_world_impacts){.size = sizeof(abut_world_impacts),
                                        .list = impacts[n],
                                        .capacity = FEW};
        assert_ok(
            abut_world_sweep(world, NULL, abut_array_host(poses), ITEMS / 4, NULL, &swept[n]));
        assert_ok(abut_world_set_poses(world, NULL, abut_array_host(poses), ITEMS));
        assert_ok(abut_world_contacts(world, &to));
        counts[n] = to.count;
        abut_world_pair_list pairs = pairs_of(world);
        pair_counts[n] = pairs.count;
        free(pairs.list);
        event_counts[n] = events_of(world, events[n], FEW);
        abut_world_destroy(world);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    assert_true(counts[0] > 100);
    assert_int_equal(counts[0], counts[1]);
    assert_int_equal(pair_counts[0], pair_counts[1]);
    assert_same_contacts(lists[0], lists[1], counts[0]);
    assert_true(swept[0].count > 20 && event_counts[0] > 20);
    assert_int_equal(swept[0].count, swept[1].count);
    assert_true(swept[0].time == swept[1].time && swept[0].unswept_count == swept[1].unswept_count);
    for (size_t i = 0; i < swept[0].count; i++) {
        const abut_world_impact *x = &impacts[0][i], *y = &impacts[1][i];
        assert_true(x->a == y->a && x->b == y->b && x->result.time == y->result.time);
        assert_memory_equal(&x->result.point, &y->result.point, sizeof x->result.point);
    }
    assert_int_equal(event_counts[0], event_counts[1]);
    for (size_t i = 0; i < event_counts[0]; i++) {
        const abut_world_event *x = &events[0][i], *y = &events[1][i];
        assert_true(x->a == y->a && x->b == y->b && x->kind == y->kind);
        assert_true(x->first == y->first && x->count == y->count && x->method == y->method);
        assert_same_contact(&x->deepest, &y->deepest);
    }
    free(lists[0]);
    free(lists[1]);
}

/* ---- pairs ---- */

static bool do_boxes_overlap(const void *data, uint32_t a, uint32_t b) {
    const world_item *items = data;
    return may_meet(&items[a].is, &items[b].is) && box_overlaps(items[a].at.box, items[b].at.box);
}

/* Nothing but the boxes, many of them and of many sizes, against all pairs of boxes. */
/* Searches of the items that have moved give the pairs of a search of all items with new trees. */
static void check_partial_searches(abut_world *world, uint32_t count, test_random *random) {
    abut_world_item plane = abut_world_item_default();
    uint32_t id;
    plane.collider = abut_collider_from_plane((abut_plane){{0.3, 0.2, 2}, -9}, (abut_pose){0});
    plane.is_sensor = true;
    for (plane.motion = 0; plane.motion <= ABUT_WORLD_STATIC; plane.motion++)
        assert_ok(abut_world_add(world, &plane, &id));
    for (uint32_t step = 0; step < 7; step++) {
        const uint32_t moved = step % 4 == 3 ? count : 1 + step * count / 24;
        abut_world_impacts impacts = {.size = sizeof impacts};
        for (uint32_t k = 0; k < moved; k++) {
            abut_pose where = random_pose(random, 20);
            id = test_random_below(random, count + 3);
            if (step == 5 && k == 0) /* a sweep in between */
                abut_world_sweep(world, &id, abut_array_host(&where), 1, NULL, &impacts);
            assert_ok(abut_world_set_poses(world, &id, abut_array_host(&where), 1));
        }
        if (step == 6)
            assert_ok(abut_world_remove(world, 5));
        abut_world_pair_list partial = pairs_of(world);
        world->has_pairs = world->has_last_pairs = false;
        world->tree.searches = 0;
        abut_world_pair_list all = pairs_of(world);
        assert_true(all.count > 100 && partial.count == all.count);
        assert_memory_equal(partial.list, all.list, all.count * sizeof *all.list);
        free(partial.list);
        free(all.list);
    }
}

TEST(candidates_are_all_that_overlap) {
    enum { ITEMS = 700 };
    test_random random = {14};
    for (uint32_t round = 0; round < test_rounds(4); round++) {
        abut_world *world;
        assert_ok(abut_world_create(serial, NULL, &world));
        for (uint32_t i = 0; i < ITEMS; i++) {
            abut_world_item item = body_item(&things[2], random_pose(&random, 20));
            item.collider.shape.body.bvh = things[2].bvh; /* for primitives */
            item.motion = (abut_world_motion)test_random_below(&random, 3);
            item.is_sensor = round % 2 && test_random_below(&random, 5) == 0;
            if (test_random_below(&random, 3) == 0) {
                item.collider.kind = ABUT_COLLIDER_BOX; /* long ones too */
                item.collider.shape.half =
                    v3(test_random_real(&random, 0, 9), test_random_real(&random, 0, 1), 0);
            }
            if (round == 1) /* all in a line */
                item.collider.pose.translation.y = item.collider.pose.translation.z = 0;
            if (round == 2 && i % 20 == 0) /* some fell out of the world */
                item.collider.pose.translation.z = -1e9 * (1 + i % 3);
            if (round == 3 && i % 2) /* half of it is far away */
                item.collider.pose.translation.x += 1e7;
            add(world, &item);
        }
        check_pairs_of(world, ITEMS, do_boxes_overlap, world_items(world));
        check_partial_searches(world, ITEMS, &random);
        abut_world_destroy(world);
    }
}

TEST(empty_worlds_have_nothing) {
    abut_world *world;
    abut_contacts none = {.size = sizeof none, .list = NULL, .capacity = 0, .count = 7};
    uint32_t id;
    abut_world_item item = body_item(&things[0], abut_pose_identity());
    assert_ok(abut_world_create(NULL, NULL, &world));
    for (int round = 0; round < 3; round++) { /* empty, with one, empty again */
        abut_world_pair_list pairs = {NULL, 0, 7};
        none.count = 7;
        assert_ok(abut_world_contacts(world, &none));
        assert_ok(abut_world_pairs(world, &pairs));
        assert_true(!none.count && !pairs.count);
        assert_ok(abut_world_set_poses(world, NULL, abut_array_host(NULL), 0));
        if (round == 0)
            assert_ok(abut_world_add(world, &item, &id));
        if (round == 1)
            assert_ok(abut_world_remove(world, id));
    }
    abut_world_destroy(world);
    abut_world_destroy(NULL);
}

/* As many as there are, or refused: time and memory stay with the answer. */
TEST(crowds_are_bounded) {
    enum { ITEMS = 300, MANY = 20000 };
    abut_world_options options = abut_world_options_default();
    abut_world *world;
    uint32_t id;
    abut_pose where = {{0, 0, 0, 1}, {0, 0, 0}};
    assert_ok(abut_world_create(serial, &options, &world));
    for (uint32_t i = 0; i < ITEMS; i++) {
        abut_world_item item = body_item(&things[1], where);
        assert_ok(abut_world_add(world, &item, &id));
    }
    abut_world_pair_list pairs = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_BUFFER, "44850 pairs", abut_world_pairs(world, &pairs));
    assert_int_equal(pairs.count, ITEMS * (ITEMS - 1) / 2);
    abut_world_destroy(world);

    /* Items that are never tried cost nothing: those that are not dynamic. */
    options.pair_limit = 1000;
    assert_ok(abut_world_create(serial, &options, &world));
    for (uint32_t i = 0; i < MANY; i++) {
        abut_world_item item = body_item(&things[1], where);
        item.motion = i % 3 ? ABUT_WORLD_STATIC : ABUT_WORLD_KINEMATIC;
        if (i % 2) {
            item.collider.kind = ABUT_COLLIDER_SPHERE;
            item.collider.shape.sphere = (abut_sphere){{0, 0, 0}, 1};
        }
        assert_ok(abut_world_add(world, &item, &id));
    }
    assert_ok(abut_world_pairs(world, &pairs));
    assert_int_equal(pairs.count, 0);
    abut_world_item mover = body_item(&things[1], where);
    assert_ok(abut_world_add(world, &mover, &id));
    pairs.count = 77;
    assert_fails(ABUT_ERROR_LIMIT, "more than 1000 pairs", abut_world_pairs(world, &pairs));
    assert_int_equal(pairs.count, 77);
    assert_ok(abut_world_remove(world, id));
    assert_ok(abut_world_pairs(world, &pairs));
    assert_int_equal(pairs.count, 0);
    abut_world_destroy(world);
}

/* ---- filters ---- */

/* dynamic, kinematic, static; then the same as sensors */
static const char *const motion_table[6] = {"yyyyyy", "ynnyyy", "ynnyyn",
                                            "yyyyyy", "yyyyyy", "yynyyn"};

static bool is_in_motion_table(const void *data, uint32_t a, uint32_t b) {
    (void)data;
    assert_int_equal(motion_table[a][b], motion_table[b][a]);
    return motion_table[a][b] == 'y';
}

/* All motions, with and without sensors, by the table that the page has. */
TEST(motions_and_sensors) {
    scene s = {.options = abut_world_options_default(), .count = 6};
    for (uint32_t i = 0; i < s.count; i++) {
        s.items[i] = mesh_item(&things[1], (abut_pose){{0, 0, 0, 1}, {0.1 * i, 0, 0}});
        s.items[i].motion = (abut_world_motion)(i % 3);
        s.items[i].is_sensor = i >= 3;
    }
    scene_begin(&s, serial);
    check_pairs_of(s.world, s.count, is_in_motion_table, NULL);
    assert_true(scene_check(&s) > 0);
    abut_world_destroy(s.world);
}

/* group, mask, and which of the four they are tested against */
static const struct group_row {
    uint32_t group, mask;
    const char *meets;
} group_rows[4] = {{0, 0, "yyyn"}, {1, 3, "yyyn"}, {6, 5, "yyyy"}, {4, 2, "nnyn"}};

static bool is_in_group_table(const void *data, uint32_t a, uint32_t b) {
    (void)data;
    return group_rows[a / 2].meets[b / 2] == 'y';
}

TEST(groups_and_masks) {
    scene s = {.options = abut_world_options_default(), .count = 8};
    for (uint32_t i = 0; i < s.count; i++) { /* each of them twice */
        s.items[i] = mesh_item(&things[1], (abut_pose){{0, 0, 0, 1}, {0.1 * i, 0, 0}});
        s.items[i].group = group_rows[i / 2].group;
        s.items[i].mask = group_rows[i / 2].mask;
    }
    scene_begin(&s, serial);
    check_pairs_of(s.world, s.count, is_in_group_table, NULL);
    abut_world_destroy(s.world);
}

enum { IGNORING = 40 };

typedef struct ignored_table {
    bool ignored[IGNORING][IGNORING], used[IGNORING];
} ignored_table;

static bool is_not_ignored(const void *data, uint32_t a, uint32_t b) {
    const ignored_table *t = data;
    return t->used[a] && t->used[b] && !t->ignored[a][b];
}

/* Against a table of all pairs: set, taken back, kept over moves, and forgotten with an item. */
TEST(pairs_to_ignore) {
    test_random random = {31};
    ignored_table t = {0};
    abut_world *world;
    abut_pose poses[IGNORING];
    abut_world_item item = mesh_item(&things[1], abut_pose_identity());
    uint32_t id;
    assert_ok(abut_world_create(serial, NULL, &world));
    for (uint32_t i = 0; i < IGNORING; i++) {
        assert_ok(abut_world_add(world, &item, &id));
        t.used[i] = true;
        poses[i] = item.collider.pose;
    }
    for (uint32_t round = 0; round < 3000; round++) {
        uint32_t a = test_random_below(&random, IGNORING), b = test_random_below(&random, IGNORING);
        bool ignore = test_random_below(&random, 3) > 0;
        if (a == b || !t.used[a] || !t.used[b]) {
            assert_refused(!t.used[a] || !t.used[b] ? "no item" : "must be two items",
                           abut_world_ignore(world, id_at(world, a), id_at(world, b), ignore));
            if (!t.used[a]) {
                assert_ok(abut_world_add(world, &item, &id));
                t.used[abut_world_index(id)] = true;
            }
        } else if (test_random_below(&random, 60) == 0) {
            assert_ok(abut_world_remove(world, id_at(world, a)));
            t.used[a] = false;
            for (uint32_t i = 0; i < IGNORING; i++)
                t.ignored[a][i] = t.ignored[i][a] = false;
        } else {
            assert_ok(abut_world_ignore(world, id_at(world, a), id_at(world, b), ignore));
            t.ignored[a][b] = t.ignored[b][a] = ignore;
        }
        if (round % 100)
            continue;
        id = test_random_below(&random, IGNORING);
        const uint32_t moved = id_at(world, id);
        if (t.used[id])
            assert_ok(abut_world_set_poses(world, &moved, abut_array_host(poses), 1));
        check_pairs_of(world, IGNORING, is_not_ignored, &t);
    }
    abut_world_destroy(world);
}

/* ---- events ---- */

/* What is expected of the next call: as text with indices, "+0,1" begins, "=0,1" stays, "-0,1"
 * ends. */
static void check_events(abut_world *world, const char *expected) {
    abut_world_event events[32], untouched[32];
    uint64_t count = 0, short_count = 0;
    char text[512] = "";
    memset(events, 77, sizeof events);
    memcpy(untouched, events, sizeof events);
    abut_world_event_list event_list = {NULL, 0, 0};
    abut_status status = abut_world_events(world, &event_list);
    short_count = event_list.count;
    assert_int_equal(status, short_count ? ABUT_ERROR_BUFFER : ABUT_OK);
    if (short_count) { /* nothing is forgotten by that */
        event_list = (abut_world_event_list){events, short_count - 1, 0};
        assert_fails(ABUT_ERROR_BUFFER, "but the capacity of ",
                     abut_world_events(world, &event_list));
        count = event_list.count;
        assert_int_equal(count, short_count);
        assert_memory_equal(events, untouched, sizeof events);
        count = events_of(world, events, 32);
        assert_int_equal(count, short_count);
    }
    abut_contact contacts[512];
    abut_contacts all = {.size = sizeof all, .list = contacts, .capacity = 512};
    assert_ok(abut_world_contacts(world, &all));
    uint64_t of_events = 0;
    for (size_t i = 0; i < short_count; i++) {
        const abut_world_event *e = &events[i];
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%c%u,%u", i ? " " : "",
                 "+=-"[e->kind], abut_world_index(e->a), abut_world_index(e->b));
        assert_true((e->is_sensor ? e->deepest.depth == 0 : e->deepest.depth > 0) &&
                    e->method == ABUT_WORLD_EXACT);
        assert_true(e->deepest.a == e->a && e->deepest.b == e->b);
        assert_true((e->kind == ABUT_WORLD_EVENT_END || e->is_sensor) == !e->count);
        double deepest = 0;
        for (uint64_t k = e->first; k < e->first + e->count; k++)
            deepest = fmax(deepest, contacts[k].depth);
        assert_true(!e->count || deepest == e->deepest.depth);
        of_events += e->count;
    }
    assert_string_equal(expected, text);
    assert_int_equal(of_events, all.count);
}

static void move_to(abut_world *world, uint32_t id, double x) {
    abut_pose where = {{0, 0, 0, 1}, {x, 0, 0}};
    assert_ok(abut_world_set_poses(world, &id, abut_array_host(&where), 1));
}

/* Boxes of 1.4 along x. */
TEST(events_tell_begin_stay_and_end) {
    abut_world *world;
    uint32_t id;
    abut_world_item item = mesh_item(&things[1], abut_pose_identity());
    assert_ok(abut_world_create(serial, NULL, &world));
    check_events(world, "");
    for (uint32_t i = 0; i < 4; i++) {
        item.collider.pose.translation.x = 5.0 * i;
        item.is_sensor = i == 3;
        assert_ok(abut_world_add(world, &item, &id));
    }
    check_events(world, "");
    move_to(world, 1, 1.3);
    check_events(world, "+0,1");
    check_events(world, "=0,1"); /* nothing changed */
    move_to(world, 2, 2.6);
    move_to(world, 3, 3.9); /* a sensor */
    check_events(world, "=0,1 +1,2 +2,3");
    move_to(world, 1, 1.1); /* out of 2, deeper in 0 */
    check_events(world, "=0,1 -1,2 =2,3");
    move_to(world, 1, -1.3);
    check_events(world, "=0,1 =2,3");
    move_to(world, 1, 1.3); /* there and away again between two calls is nothing */
    move_to(world, 1, -1.3);
    check_events(world, "=0,1 =2,3");

    /* Removed: the end is reported, also if another item has the index by then. */
    assert_ok(abut_world_remove(world, 3));
    check_events(world, "=0,1 -2,3");
    item.collider.pose.translation.x = 7;
    item.is_sensor = false;
    assert_ok(abut_world_add(world, &item, &id));
    assert_int_equal(abut_world_index(id), 3);
    assert_ok(abut_world_remove(world, 1));
    item.collider.pose.translation.x = 1.3;
    assert_ok(abut_world_add(world, &item, &id));
    assert_int_equal(abut_world_index(id), 1);
    check_events(world, "-0,1 +0,1 +1,2");
    assert_ok(abut_world_remove(world, id_at(world, 3)));
    assert_ok(abut_world_remove(world, 0));
    assert_ok(abut_world_remove(world, id));
    assert_ok(abut_world_remove(world, 2));
    check_events(world, "-0,1 -1,2");
    check_events(world, "");

    /* Ignored, and no longer. */
    for (uint32_t i = 0; i < 2; i++) {
        item.collider.pose.translation.x = 1.3 * i;
        assert_ok(abut_world_add(world, &item, &id));
    }
    abut_world_pair pair;
    abut_world_pair_list pairs = {&pair, 1, 0};
    assert_ok(abut_world_pairs(world, &pairs));
    char expected[16];
    snprintf(expected, sizeof expected, "+%u,%u", abut_world_index(pair.a),
             abut_world_index(pair.b));
    check_events(world, expected);
    assert_ok(abut_world_ignore(world, pair.b, pair.a, true));
    expected[0] = '-';
    check_events(world, expected);
    assert_ok(abut_world_ignore(world, pair.a, pair.b, false));
    expected[0] = '+';
    check_events(world, expected);
    abut_world_destroy(world);
}

/* Random moves, removals and reused ids against lists of pairs that touch. */
TEST(events_agree_with_every_pair) {
    enum { ITEMS = 16 };
    test_random random = {32};
    scene s = {.options = abut_world_options_default(), .count = ITEMS};
    bool before[ITEMS][ITEMS] = {{false}}, reborn[ITEMS];
    size_t told[3] = {0, 0, 0};
    for (uint32_t i = 0; i < s.count; i++)
        s.items[i] = varied_item(&random, 1.2);
    scene_begin(&s, serial);
    for (uint32_t round = 0; round < test_rounds(64) ||
                             (round < 200 && !(told[0] > 10 && told[1] > 10 && told[2] > 10));
         round++) {
        memset(reborn, 0, sizeof reborn);
        for (int k = 0; k < 3; k++) {
            uint32_t i = test_random_below(&random, ITEMS), id;
            if (!s.used[i] || test_random_below(&random, 3) == 0) {
                if (s.used[i])
                    assert_ok(abut_world_remove(s.world, id_at(s.world, i)));
                s.used[i] = false;
                reborn[i] = true;
                if (test_random_below(&random, 2)) {
                    abut_world_item item = varied_item(&random, 1.2);
                    assert_ok(abut_world_add(s.world, &item, &id));
                    s.items[abut_world_index(id)] = item;
                    s.used[abut_world_index(id)] = true;
                }
            } else {
                s.items[i].collider.pose = random_pose(&random, 1.2);
                id = id_at(s.world, i);
                assert_ok(abut_world_set_poses(s.world, &id,
                                               abut_array_host(&s.items[i].collider.pose), 1));
            }
        }
        bool now[ITEMS][ITEMS] = {{false}};
        answers all = ask_all(s.world, s.items, s.used, s.count, &s.options);
        for (size_t i = 0; i < all.count; i++)
            now[abut_world_index(all.list[i].a)][abut_world_index(all.list[i].b)] = true;
        abut_world_event events[2 * ITEMS * ITEMS];
        uint64_t count, at = 0;
        count = events_of(s.world, events, 2 * ITEMS * ITEMS);
        for (uint32_t a = 0; a < ITEMS; a++)
            for (uint32_t b = a + 1; b < ITEMS; b++) {
                bool other = reborn[a] || reborn[b];
                const bool wanted[3] = {now[a][b] && (other || !before[a][b]),
                                        now[a][b] && !other && before[a][b],
                                        before[a][b] && (other || !now[a][b])};
                static const abut_world_event_kind order[3] = {ABUT_WORLD_EVENT_END,
                                                               ABUT_WORLD_EVENT_BEGIN,
                                                               ABUT_WORLD_EVENT_PERSIST};
                for (int k = 0; k < 3; k++) {
                    if (!wanted[order[k]])
                        continue;
                    assert_true(at < count);
                    assert_int_equal(events[at].kind, order[k]);
                    assert_true(abut_world_index(events[at].a) == a &&
                                abut_world_index(events[at].b) == b);
                    assert_true(
                        order[k] == ABUT_WORLD_EVENT_END ||
                        (events[at].a == id_at(s.world, a) && events[at].b == id_at(s.world, b)));
                    told[order[k]]++;
                    if (order[k] != ABUT_WORLD_EVENT_END) {
                        assert_int_equal(events[at].method,
                                         method_of(&s.items[a], &s.items[b], &s.options));
                        assert_int_equal(events[at].is_sensor,
                                         s.items[a].is_sensor || s.items[b].is_sensor);
                    }
                    at++;
                }
            }
        assert_int_equal(at, count);
        memcpy(before, now, sizeof now);
        free(all.list);
    }
    assert_true(told[0] > 10 && told[1] > 10 && told[2] > 10);
    abut_world_destroy(s.world);
}

/* ---- wrong calls ---- */

/* Pairs with primitives are exact. A body without a BVH has no method for them, which its pair info
 * states; with a BVH the pair has contacts, for every method of the world. */
TEST(bodies_without_a_bvh_are_not_tested_against_primitives) {
    for (int method = 0; method < 2; method++) {
        abut_world_options options = abut_world_options_default();
        abut_world_item body = abut_world_item_default(), plane = body;
        abut_world_pair_info info = abut_world_pair_info_default();
        abut_contact list[64];
        abut_contacts found = {.size = sizeof found, .list = list, .capacity = 64};
        abut_world *world;
        uint32_t a, b;
        options.method = method ? ABUT_WORLD_FIELD : ABUT_WORLD_AUTO;
        assert_ok(abut_world_create(serial, &options, &world));
        body.collider =
            abut_collider_from_field(things[0].field, things[0].samples, abut_pose_identity());
        plane.collider =
            abut_collider_from_plane((abut_plane){{0, 0, 1}, 0.1}, abut_pose_identity());
        assert_ok(abut_world_add(world, &body, &a));
        assert_ok(abut_world_add(world, &plane, &b));
        assert_ok(abut_world_get_pair_info(world, a, b, &info));
        assert_int_equal(info.guarantee, ABUT_WORLD_GUARANTEE_NONE);
        assert_non_null(strstr(info.reason, "Not tested"));
        assert_ok(abut_world_contacts(world, &found));
        assert_int_equal(found.count, 0);
        body.collider.shape.body.bvh = things[0].bvh;
        assert_ok(abut_world_replace(world, a, &body));
        assert_ok(abut_world_get_pair_info(world, a, b, &info));
        assert_int_equal(info.method, ABUT_WORLD_EXACT);
        assert_ok(abut_world_contacts(world, &found));
        assert_true(found.count > 0 && fabs(list[0].depth - 0.1) < 1e-6);
        abut_world_destroy(world);
    }
}

TEST(wrong_calls_are_refused) {
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    uint32_t id = 5;
    abut_pose identity = {{0, 0, 0, 0}, {0, 0, 0}}, bad = identity;
    options.margin = -1;
    assert_refused("margin", abut_world_create(NULL, &options, &world));
    options.margin = NAN;
    assert_refused("margin", abut_world_create(NULL, &options, &world));
    options = abut_world_options_default();
    options.patch_angle = -1;
    assert_refused("angle", abut_world_create(NULL, &options, &world));
    options = abut_world_options_default();
    options.method = (abut_world_method)3;
    assert_refused("method is 3", abut_world_create(NULL, &options, &world));
    options.size = 0;
    assert_refused("size", abut_world_create(NULL, &options, &world));
    assert_refused("world is null", abut_world_create(NULL, NULL, NULL));
    assert_null(world);
    assert_ok(abut_world_create(NULL, NULL, &world));

    abut_world_item item = body_item(&things[1], identity);
    assert_refused("item is null", abut_world_add(world, NULL, &id));
    assert_refused("id is null", abut_world_add(world, &item, NULL));
    assert_refused("world is null", abut_world_add(NULL, &item, &id));
    item.collider.kind = (abut_collider_kind)9;
    assert_refused("kind is 9", abut_world_add(world, &item, &id));
    item = mesh_item(&things[1], identity);
    item.motion = (abut_world_motion)3;
    assert_refused("motion is 3", abut_world_add(world, &item, &id));
    item = body_item(&things[1], identity);
    item.collider.pose.translation.y = NAN;
    assert_refused("finite", abut_world_add(world, &item, &id));
    item.collider.pose = identity;
    item.collider.pose.rotation.x = INFINITY;
    assert_refused("not finite", abut_world_add(world, &item, &id));
    item = body_item(&(thing){NULL, NULL, NULL, NULL}, identity);
    assert_refused("neither", abut_world_add(world, &item, &id));
    item.collider.kind = ABUT_COLLIDER_PLANE;
    memset(&item.collider.shape, 0, sizeof item.collider.shape);
    assert_refused("normal", abut_world_add(world, &item, &id));
    item.collider.kind = ABUT_COLLIDER_SPHERE;
    item.collider.shape.sphere.radius = -1;
    assert_refused("radius of -1; it must be from 0", abut_world_add(world, &item, &id));
    item.collider.kind = ABUT_COLLIDER_CAPSULE;
    memset(&item.collider.shape, 0, sizeof item.collider.shape);
    item.collider.shape.capsule.radius = NAN;
    assert_refused("finite", abut_world_add(world, &item, &id));
    item.collider.kind = ABUT_COLLIDER_BOX;
    item.collider.shape.half = v3(1, -2, 1);
    assert_refused("half size of -2; it must be from 0", abut_world_add(world, &item, &id));
    item.collider.kind = ABUT_COLLIDER_CYLINDER;
    item.collider.shape.cylinder = (abut_cylinder){{{1, 2, 3}, {1, 2, 3}}, 1};
    assert_refused("both ends in one place", abut_world_add(world, &item, &id));
    item.collider.kind = ABUT_COLLIDER_HULL;
    item.collider.shape.hull = NULL;
    assert_refused("null", abut_world_add(world, &item, &id));
    item.collider.shape.hull = things[3].bvh; /* a ring */
    assert_refused("convex", abut_world_add(world, &item, &id));
    assert_int_equal(id, 5);

    /* Of a move that fails nothing stays. */
    item = body_item(&things[1], identity);
    for (int i = 0; i < 3; i++)
        assert_ok(abut_world_add(world, &item, &id));
    abut_pose poses[3] = {{{0, 0, 0, 0}, {9, 0, 0}}, {{0, 0, 0, 0}, {19, 0, 0}}, bad};
    poses[2].translation.z = INFINITY;
    assert_refused("finite", abut_world_set_poses(world, NULL, abut_array_host(poses), 3));
    assert_refused("4 poses, but the world has only 3",
                   abut_world_set_poses(world, NULL, abut_array_host(poses), 4));
    assert_refused("poses is null", abut_world_set_poses(world, NULL, abut_array_host(NULL), 1));
    assert_refused("world is null", abut_world_set_poses(NULL, NULL, abut_array_host(poses), 1));
    abut_world_pair_list pairs = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_BUFFER, "3 pairs", abut_world_pairs(world, &pairs));
    assert_int_equal(pairs.count, 3);
    assert_refused("pairs is null", abut_world_pairs(world, NULL));
    assert_refused("the list of pairs is null",
                   abut_world_pairs(world, &(abut_world_pair_list){NULL, 1, 0}));
    assert_refused("world is null", abut_world_pairs(NULL, &(abut_world_pair_list){NULL, 0, 0}));
    assert_refused("contacts is null", abut_world_contacts(world, NULL));
    assert_refused("the list of contacts is null",
                   abut_world_contacts(world, &(abut_contacts){.size = sizeof(abut_contacts),
                                                               .list = NULL,
                                                               .capacity = 4}));
    assert_refused("world is null", abut_world_remove(NULL, 0));
    assert_refused("world is null", abut_world_ignore(NULL, 0, 1, true));
    assert_refused("no item 7", abut_world_ignore(world, 0, 7, true));
    assert_refused("no item 7", abut_world_ignore(world, 7, 0, false));
    assert_refused("must be two items", abut_world_ignore(world, 1, 1, true));
    assert_refused("world is null", abut_world_events(NULL, &(abut_world_event_list){NULL, 0, 0}));
    assert_refused("events is null", abut_world_events(world, NULL));
    assert_refused("the list of events is null",
                   abut_world_events(world, &(abut_world_event_list){NULL, 1, 0}));
    abut_world_destroy(world);
}

/* Too little room: how many there are, and nothing else. */
TEST(short_lists_get_nothing) {
    scene s = {.options = abut_world_options_default(), .count = 12};
    test_random random = {15};
    for (uint32_t i = 0; i < s.count; i++)
        s.items[i] = body_item(&things[i % 2], random_pose(&random, 0.6));
    scene_begin(&s, serial);
    size_t all = scene_check(&s);
    abut_contact *list = malloc(all * sizeof *list), *untouched = malloc(all * sizeof *list);
    assert_true(all > 20 && list && untouched);
    memset(list, 77, all * sizeof *list);
    memcpy(untouched, list, all * sizeof *list);
    for (size_t room = 0; room < all; room += 7) {
        abut_contacts to = {.size = sizeof to, .list = list, .capacity = room};
        assert_fails(ABUT_ERROR_BUFFER, "but the capacity of contacts is ",
                     abut_world_contacts(s.world, &to));
        assert_int_equal(to.count, all);
        assert_memory_equal(untouched, list, all * sizeof *list);
    }
    free(untouched);
    free(list);
    abut_world_destroy(s.world);
}

static abut_status live_a_little(abut_context *context, void *data) {
    static abut_contact room[20000];
    test_random random = {16};
    abut_world *world = NULL;
    abut_contacts to = {.size = sizeof to, .list = room, .capacity = 20000};
    abut_pose poses[12];
    abut_world_event events[400];
    (void)data;
    abut_status status = abut_world_create(context, NULL, &world);
    for (uint32_t i = 0; i < 12 && !status; i++) {
        abut_world_item item = varied_item(&random, 1);
        uint32_t id;
        poses[i] = random_pose(&random, 1);
        status = abut_world_add(world, &item, &id);
    }
    status = status ? status : abut_world_ignore(world, 3, 4, true);
    status = status ? status : abut_world_contacts(world, &to);
    abut_world_event_list event_list = {events, 400, 0};
    status = status ? status : abut_world_events(world, &event_list);
    abut_world_impact list[200];
    abut_world_impacts impacts = {.size = sizeof impacts, .list = list, .capacity = 200};
    status =
        status ? status : abut_world_sweep(world, NULL, abut_array_host(poses), 12, NULL, &impacts);
    status = status ? status : abut_world_set_poses(world, NULL, abut_array_host(poses), 12);
    status = status ? status : abut_world_contacts(world, &to);
    event_list = (abut_world_event_list){events, 400, 0};
    status = status ? status : abut_world_events(world, &event_list);
    abut_world_destroy(world);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(live_a_little, NULL) > 8);
}

int main(void) {
    return test_run(make_things, free_things);
}
