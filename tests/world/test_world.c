/* Worlds against every pair by itself, bit for bit; and worlds that are empty, crowded, changed and
 * out of memory. */
#include "world/scene.h"

enum { MOST = 64 };

typedef struct scene {
    abut_world *world;
    abut_world_options options;
    abut_world_item items[MOST];
    bool used[MOST];
    uint32_t count;
} scene;

static void scene_begin(scene *s, abut_context *context) {
    assert_ok(abut_world_create(context, &s->options, &s->world));
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t id = 99;
        assert_ok(abut_world_add(s->world, &s->items[i], &id));
        assert_int_equal(id, i);
        s->used[i] = true;
    }
}

static size_t scene_check(const scene *s) {
    return check_world(s->world, s->items, s->used, s->count, &s->options);
}

/* ---- against every pair by itself ---- */

TEST(random_worlds_agree_with_every_pair) {
    test_random random = {11};
    size_t contacts = 0;
    for (uint32_t round = 0; round < test_rounds(8); round++) {
        scene s = {.options = abut_world_options_default(), .count = 32};
        s.options.margin = round % 3 == 1 ? 0.02 : round % 5 == 4 ? 0.4 : 0;
        s.options.samples = round % 4 == 2;
        s.options.any_normal = round % 4 == 3;
        s.options.patch_contacts = round % 6 == 5 ? 3 : 0;
        double reach = round % 2 ? 4 : 1.5, scale = round % 8 == 7 ? 1e7 : 0;
        for (uint32_t i = 0; i < s.count; i++) {
            s.items[i] = random_item(&random, reach);
            s.items[i].pose.translation.x += scale; /* far away from 0 */
        }
        scene_begin(&s, serial);
        contacts += scene_check(&s);
        abut_world_destroy(s.world);
    }
    assert_true(contacts > 500);
}

TEST(changes_are_seen) {
    test_random random = {12};
    scene s = {.options = abut_world_options_default(), .count = 24};
    for (uint32_t i = 0; i < s.count; i++)
        s.items[i] = random_item(&random, 1.5);
    scene_begin(&s, serial);
    for (uint32_t round = 0; round < test_rounds(8); round++) {
        uint32_t id = test_random_below(&random, s.count), ids[3], again;
        abut_pose poses[3];
        if (s.used[id] && round % 3 == 0) {
            assert_ok(abut_world_remove(s.world, id));
            assert_refused("no item", abut_world_remove(s.world, id));
            assert_refused("no item", abut_world_move(s.world, &id, &s.items[id].pose, 1));
            s.used[id] = false;
            if (round % 2) { /* the id is taken again */
                s.items[id] = random_item(&random, 1.5);
                assert_ok(abut_world_add(s.world, &s.items[id], &again));
                assert_int_equal(again, id);
                s.used[id] = true;
            }
        }
        for (int k = 0; k < 3; k++) { /* the third is the first once more */
            do
                ids[k] = k == 2 ? ids[0] : test_random_below(&random, s.count);
            while (!s.used[ids[k]]);
            poses[k] = random_pose(&random, 1.5);
            s.items[ids[k]].pose = poses[k];
        }
        s.items[ids[1]].pose = ids[1] == ids[0] ? poses[2] : poses[1];
        assert_ok(abut_world_move(s.world, ids, poses, 3));
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
    scene_begin(&s, serial);
    assert_true(scene_check(&s) > 4);
    abut_world_destroy(s.world);
    abut_samples_destroy(large.samples);
    abut_field_destroy(large.field);
    abut_mesh_destroy(large.mesh);
}

TEST(same_on_any_number_of_threads) {
    enum { ITEMS = 400, ROOM = 60000 };
    abut_contact *lists[2];
    size_t counts[2];
    uint64_t pair_counts[2];
    for (int n = 0; n < 2; n++) {
        test_memory memory = {0};
        test_random random = {13};
        abut_context *context = test_context(&memory, n ? 4 : 1);
        abut_world_options options = abut_world_options_default();
        abut_world *world;
        abut_pose poses[ITEMS];
        options.patch_contacts = 8;
        assert_ok(abut_world_create(context, &options, &world));
        for (uint32_t i = 0; i < ITEMS; i++) {
            abut_world_item item = random_item(&random, 4.5);
            uint32_t id;
            poses[i] = random_pose(&random, 4.5);
            assert_ok(abut_world_add(world, &item, &id));
        }
        lists[n] = calloc(ROOM, sizeof *lists[n]);
        assert_non_null(lists[n]);
        abut_contacts to = {.list = lists[n], .capacity = ROOM};
        assert_ok(abut_world_contacts(world, &to));
        assert_ok(abut_world_move(world, NULL, poses, ITEMS));
        assert_ok(abut_world_contacts(world, &to));
        counts[n] = to.count;
        abut_world_pairs(world, 0, NULL, &pair_counts[n]);
        abut_world_destroy(world);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    assert_true(counts[0] > 100);
    assert_int_equal(counts[0], counts[1]);
    assert_int_equal(pair_counts[0], pair_counts[1]);
    for (size_t i = 0; i < counts[0]; i++) {
        assert_int_equal(lists[0][i].pair, lists[1][i].pair);
        assert_same_contact(&lists[0][i], &lists[1][i]);
    }
    free(lists[0]);
    free(lists[1]);
}

/* ---- pairs ---- */

/* Nothing but the boxes, many of them and of many sizes, against all pairs of boxes. */
TEST(candidates_are_all_that_overlap) {
    enum { ITEMS = 700 };
    test_random random = {14};
    for (uint32_t round = 0; round < test_rounds(4); round++) {
        abut_world *world;
        abut_world_pair *pairs;
        uint64_t count;
        size_t found = 0;
        assert_ok(abut_world_create(serial, NULL, &world));
        for (uint32_t i = 0; i < ITEMS; i++) {
            abut_world_item item = body_item(&things[2], random_pose(&random, 20));
            uint32_t id;
            item.fixed = test_random_below(&random, 3) == 0;
            if (test_random_below(&random, 3) == 0) {
                item.kind = ABUT_WORLD_BOX; /* long ones too */
                item.shape.half =
                    v3(test_random_real(&random, 0, 9), test_random_real(&random, 0, 1), 0);
            }
            if (round == 1) /* all in a line */
                item.pose.translation.y = item.pose.translation.z = 0;
            if (round == 2 && i % 20 == 0) /* some fell out of the world */
                item.pose.translation.z = -1e9 * (1 + i % 3);
            if (round == 3 && i % 2) /* half of it is far away */
                item.pose.translation.x += 1e7;
            assert_ok(abut_world_add(world, &item, &id));
        }
        abut_world_pairs(world, 0, NULL, &count);
        pairs = malloc(count * sizeof *pairs);
        assert_ok(abut_world_pairs(world, count, pairs, &count));
        const world_item *items = world_items(world);
        for (uint32_t a = 0; a < ITEMS; a++)
            for (uint32_t b = a + 1; b < ITEMS; b++) {
                bool wanted = !(items[a].fixed && items[b].fixed) &&
                              (items[a].body.field || items[b].body.field) &&
                              box_overlaps(items[a].at.box, items[b].at.box);
                bool listed = found < count && pairs[found].a == a && pairs[found].b == b;
                assert_int_equal(wanted, listed);
                found += listed;
            }
        assert_int_equal(found, count);
        free(pairs);
        abut_world_destroy(world);
    }
}

TEST(empty_worlds_have_nothing) {
    abut_world *world;
    abut_contacts none = {.list = NULL, .capacity = 0, .count = 7};
    uint64_t count = 7;
    uint32_t id;
    abut_world_item item = body_item(&things[0], (abut_pose){{0, 0, 0, 0}, {0, 0, 0}});
    assert_ok(abut_world_create(NULL, NULL, &world));
    for (int round = 0; round < 3; round++) { /* empty, with one, empty again */
        none.count = count = 7;
        assert_ok(abut_world_contacts(world, &none));
        assert_ok(abut_world_pairs(world, 0, NULL, &count));
        assert_true(!none.count && !count);
        assert_ok(abut_world_move(world, NULL, NULL, 0));
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
    uint64_t count = 0;
    uint32_t id;
    abut_pose where = {{0, 0, 0, 1}, {0, 0, 0}};
    assert_ok(abut_world_create(serial, &options, &world));
    for (uint32_t i = 0; i < ITEMS; i++) {
        abut_world_item item = body_item(&things[1], where);
        assert_ok(abut_world_add(world, &item, &id));
    }
    assert_fails(ABUT_ERROR_BUFFER, "44850 pairs", abut_world_pairs(world, 0, NULL, &count));
    assert_int_equal(count, ITEMS * (ITEMS - 1) / 2);
    abut_world_destroy(world);

    /* Items that can never collide cost nothing: fixed ones, and solids among each other. */
    options.pair_limit = 1000;
    assert_ok(abut_world_create(serial, &options, &world));
    for (uint32_t i = 0; i < MANY; i++) {
        abut_world_item item = body_item(&things[1], where);
        item.fixed = true;
        if (i % 2) {
            item.kind = ABUT_WORLD_SPHERE;
            item.shape.sphere = (abut_sphere){{0, 0, 0}, 1};
        }
        assert_ok(abut_world_add(world, &item, &id));
    }
    assert_ok(abut_world_pairs(world, 0, NULL, &count));
    assert_int_equal(count, 0);
    abut_world_item mover = body_item(&things[1], where);
    assert_ok(abut_world_add(world, &mover, &id));
    count = 77;
    assert_fails(ABUT_ERROR_LIMIT, "more than 1000 pairs",
                 abut_world_pairs(world, 0, NULL, &count));
    assert_int_equal(count, 77);
    assert_ok(abut_world_remove(world, id));
    assert_ok(abut_world_pairs(world, 0, NULL, &count));
    abut_world_destroy(world);
}

/* ---- wrong calls ---- */

TEST(wrong_calls_are_refused) {
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    uint32_t id = 5;
    uint64_t count = 5;
    abut_pose identity = {{0, 0, 0, 0}, {0, 0, 0}}, bad = identity;
    options.margin = -1;
    assert_refused("margin", abut_world_create(NULL, &options, &world));
    options.margin = NAN;
    assert_refused("margin", abut_world_create(NULL, &options, &world));
    options = abut_world_options_default();
    options.angle = -1;
    assert_refused("angle", abut_world_create(NULL, &options, &world));
    options.size = 0;
    assert_refused("size", abut_world_create(NULL, &options, &world));
    assert_refused("world is null", abut_world_create(NULL, NULL, NULL));
    assert_null(world);
    assert_ok(abut_world_create(NULL, NULL, &world));

    abut_world_item item = body_item(&things[1], identity);
    assert_refused("item is null", abut_world_add(world, NULL, &id));
    assert_refused("id is null", abut_world_add(world, &item, NULL));
    assert_refused("world is null", abut_world_add(NULL, &item, &id));
    item.kind = (abut_world_kind)9;
    assert_refused("no kind 9", abut_world_add(world, &item, &id));
    item = body_item(&things[1], identity);
    item.pose.translation.y = NAN;
    assert_refused("finite", abut_world_add(world, &item, &id));
    item.pose = identity;
    item.pose.rotation.x = INFINITY;
    assert_refused("not finite", abut_world_add(world, &item, &id));
    item = body_item(&(thing){NULL, NULL, NULL}, identity);
    assert_refused("neither", abut_world_add(world, &item, &id));
    item.kind = ABUT_WORLD_PLANE;
    memset(&item.shape, 0, sizeof item.shape);
    assert_refused("normal", abut_world_add(world, &item, &id));
    item.kind = ABUT_WORLD_SPHERE;
    item.shape.sphere.radius = -1;
    assert_refused("size of -1", abut_world_add(world, &item, &id));
    item.kind = ABUT_WORLD_CAPSULE;
    memset(&item.shape, 0, sizeof item.shape);
    item.shape.capsule.radius = NAN;
    assert_refused("finite", abut_world_add(world, &item, &id));
    item.kind = ABUT_WORLD_BOX;
    item.shape.half = v3(1, -2, 1);
    assert_refused("size of -2", abut_world_add(world, &item, &id));
    assert_int_equal(id, 5);

    /* Of a move that fails nothing stays. */
    item = body_item(&things[1], identity);
    for (int i = 0; i < 3; i++)
        assert_ok(abut_world_add(world, &item, &id));
    abut_pose poses[3] = {{{0, 0, 0, 0}, {9, 0, 0}}, {{0, 0, 0, 0}, {19, 0, 0}}, bad};
    poses[2].translation.z = INFINITY;
    assert_refused("finite", abut_world_move(world, NULL, poses, 3));
    assert_refused("4 poses for 3", abut_world_move(world, NULL, poses, 4));
    assert_refused("poses is null", abut_world_move(world, NULL, NULL, 1));
    assert_refused("world is null", abut_world_move(NULL, NULL, poses, 1));
    assert_fails(ABUT_ERROR_BUFFER, "3 pairs", abut_world_pairs(world, 0, NULL, &count));
    assert_int_equal(count, 3);
    assert_refused("count is null", abut_world_pairs(world, 0, NULL, NULL));
    assert_refused("pairs is null", abut_world_pairs(world, 1, NULL, &count));
    assert_refused("world is null", abut_world_pairs(NULL, 0, NULL, &count));
    assert_refused("contacts is null", abut_world_contacts(world, NULL));
    assert_refused("list is null",
                   abut_world_contacts(world, &(abut_contacts){.list = NULL, .capacity = 4}));
    assert_refused("world is null", abut_world_remove(NULL, 0));
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
        abut_contacts to = {.list = list, .capacity = room};
        assert_fails(ABUT_ERROR_BUFFER, "room for", abut_world_contacts(s.world, &to));
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
    abut_contacts to = {.list = room, .capacity = 20000};
    abut_pose poses[20];
    (void)data;
    abut_status status = abut_world_create(context, NULL, &world);
    for (uint32_t i = 0; i < 20 && !status; i++) {
        abut_world_item item = random_item(&random, 1);
        uint32_t id;
        poses[i] = random_pose(&random, 1);
        status = abut_world_add(world, &item, &id);
    }
    status = status ? status : abut_world_contacts(world, &to);
    status = status ? status : abut_world_move(world, NULL, poses, 20);
    status = status ? status : abut_world_contacts(world, &to);
    abut_world_destroy(world);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(live_a_little, NULL) > 8);
}

int main(void) {
    return test_run(make_things, free_things);
}
