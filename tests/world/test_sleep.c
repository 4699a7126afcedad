/* Sleeping items against a twin world in which all items stay awake. */
#include "scene.h"

enum { ITEMS = 24, ROOM = 8192, EVENTS = 2 * ITEMS * ITEMS };

typedef struct twin {
    abut_world *awake, *world;
    abut_world_item items[ITEMS];
    bool asleep[ITEMS];
} twin;

static bool rests(const twin *t, uint32_t index) {
    return t->asleep[index] || t->items[index].motion == ABUT_WORLD_STATIC;
}

/* Whether a pair is set aside. Of two static items there are no pairs in either world. */
static bool is_aside(const twin *t, uint32_t a, uint32_t b) {
    return rests(t, abut_world_index(a)) && rests(t, abut_world_index(b));
}

static void make_twin(twin *t, test_random *random, const abut_world_options *options) {
    assert_ok(abut_world_create(serial, options, &t->awake));
    assert_ok(abut_world_create(serial, options, &t->world));
    for (uint32_t i = 0; i < ITEMS; i++) {
        t->items[i] = varied_item(random, 1.1);
        t->items[i].group = t->items[i].mask = 0;
        t->asleep[i] = false;
        add(t->awake, &t->items[i]);
        add(t->world, &t->items[i]);
    }
}

static void free_twin(const twin *t) {
    abut_world_destroy(t->awake);
    abut_world_destroy(t->world);
}

/* The contacts and events of the world are those of its twin, except the pairs that are set aside.
 * Returns how many of the latter touch. */
static uint32_t check_twin(twin *t, uint32_t *kinds) {
    static abut_contact lists[2][ROOM];
    static abut_world_event events[2][EVENTS];
    abut_world *worlds[2] = {t->awake, t->world};
    uint64_t counts[2], contacts[2], at = 0, next = 0;
    uint32_t aside = 0;
    for (int k = 0; k < 2; k++) {
        abut_contacts found = {.size = sizeof found, .list = lists[k], .capacity = ROOM};
        assert_ok(abut_world_contacts(worlds[k], &found));
        contacts[k] = found.count;
        counts[k] = events_of(worlds[k], events[k], EVENTS);
    }
    for (uint64_t i = 0; i < contacts[0]; i++)
        if (!is_aside(t, lists[0][i].a, lists[0][i].b)) {
            assert_true(at < contacts[1]);
            assert_memory_equal(&lists[0][i], &lists[1][at], sizeof lists[0][i]);
            at++;
        }
    assert_int_equal(at, contacts[1]);
    for (uint64_t i = 0; i < counts[0]; i++) {
        const abut_world_event *e = &events[0][i], *f = &events[1][next];
        if (e->kind == ABUT_WORLD_EVENT_PERSIST && is_aside(t, e->a, e->b)) {
            aside++;
            continue;
        }
        assert_true(next++ < counts[1]);
        assert_true(e->kind == f->kind && e->a == f->a && e->b == f->b && e->count == f->count &&
                    e->is_sensor == f->is_sensor && e->method == f->method);
        assert_memory_equal(&e->deepest, &f->deepest, sizeof e->deepest);
        if (e->count) {
            assert_true(lists[1][f->first].a == f->a && lists[1][f->first].b == f->b);
            assert_memory_equal(&lists[0][e->first], &lists[1][f->first],
                                (size_t)e->count * sizeof **lists);
        }
        kinds[e->kind]++;
    }
    assert_int_equal(next, counts[1]);
    for (uint32_t i = 0; i < ITEMS; i++)
        assert_true(abut_world_is_asleep(t->world, id_at(t->world, i)) == t->asleep[i]);
    return aside;
}

/* Moves, removes, replaces, puts to sleep and wakes one item, and never a static one that carries
 * sleeping ones. */
static void change_twin(twin *t, test_random *random) {
    const uint32_t i = test_random_below(random, ITEMS), what = test_random_below(random, 12);
    uint32_t id = id_at(t->world, i), made;
    abut_world *worlds[2] = {t->awake, t->world};
    if (what < 6) {
        t->asleep[i] = what < 5;
        assert_ok(abut_world_set_asleep(t->world, &id, 1, t->asleep[i]));
        return;
    }
    if (t->items[i].motion == ABUT_WORLD_STATIC) /* items on it are woken first, as documented */
        for (uint32_t k = 0; k < ITEMS; k++) {
            const uint32_t other = id_at(t->world, k);
            assert_ok(abut_world_set_asleep(t->world, &other, 1, false));
            t->asleep[k] = false;
        }
    t->asleep[i] = false;
    if (what < 9)
        t->items[i].collider.pose = random_pose(random, 1.1);
    else if (what == 9)
        t->items[i].collider.pose.translation.x += 1e-3;
    else
        t->items[i] = varied_item(random, 1.1);
    t->items[i].group = t->items[i].mask = 0;
    for (int k = 0; k < 2; k++)
        if (what <= 9) {
            assert_ok(abut_world_set_poses(worlds[k], &id,
                                           abut_array_host(&t->items[i].collider.pose), 1));
        } else if (what == 10) {
            assert_ok(abut_world_replace(worlds[k], id, &t->items[i]));
        } else {
            assert_ok(abut_world_remove(worlds[k], id));
            assert_ok(abut_world_add(worlds[k], &t->items[i], &made));
            assert_int_equal(abut_world_index(made), i);
        }
}

TEST(sleep_changes_nothing_else) {
    test_random random = {51};
    uint32_t kinds[3] = {0, 0, 0}, aside = 0, rounds = test_rounds(400);
    abut_world_options options = abut_world_options_default();
    twin t;
    options.margin = 0.01;
    make_twin(&t, &random, &options);
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t n = test_random_below(&random, 4); n-- > 0;)
            change_twin(&t, &random);
        aside += check_twin(&t, kinds);
    }
    assert_true(aside > rounds && kinds[0] > rounds / 8 && kinds[1] > rounds &&
                kinds[2] > rounds / 8);
    /* All awake again: every pair that touches persists. */
    assert_ok(abut_world_set_asleep(t.world, NULL, ITEMS, false));
    memset(t.asleep, 0, sizeof t.asleep);
    memset(kinds, 0, sizeof kinds);
    assert_int_equal(check_twin(&t, kinds), 0);
    assert_true(kinds[0] == 0 && kinds[1] > 10 && kinds[2] == 0);
    assert_int_equal(t.world->asleep_count, 0);
    free_twin(&t);
}

/* A state has what sleeps and the pairs that are set aside. */
TEST(sleep_is_saved) {
    test_random random = {52};
    const abut_world_options options = abut_world_options_default();
    uint32_t kinds[3] = {0, 0, 0}, ids[ITEMS];
    twin t, u;
    make_twin(&t, &random, &options);
    for (uint32_t i = 0; i < ITEMS; i++) {
        u.items[i] = t.items[i];
        ids[i] = i;
    }
    check_twin(&t, kinds);
    for (uint32_t i = 0; i < ITEMS; i += 1 + i % 2) {
        t.asleep[i] = true;
        assert_ok(abut_world_set_asleep(t.world, &ids[i], 1, true));
    }
    assert_true(check_twin(&t, kinds) > 4);
    unsigned char *states[2];
    abut_byte_list list = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_BUFFER, "bytes", abut_world_save(t.world, &list));
    for (int k = 0; k < 2; k++) {
        states[k] = malloc((size_t)list.count);
        assert_non_null(states[k]);
        list.list = states[k];
        list.capacity = list.count;
        assert_ok(abut_world_save(t.world, &list));
    }
    assert_memory_equal(states[0], states[1], (size_t)list.count);
    /* Neither saving nor a state that is refused changes what sleeps. */
    states[1][100] ^= 1;
    assert_int_equal(abut_world_restore(t.world, states[1], (size_t)list.count), ABUT_ERROR_FORMAT);
    assert_true(check_twin(&t, kinds) > 4);
    /* Another world, in which other items sleep. */
    assert_ok(abut_world_create(serial, &options, &u.world));
    for (uint32_t i = 0; i < ITEMS; i++)
        add(u.world, &u.items[i]);
    assert_ok(abut_world_set_asleep(u.world, NULL, 5, true));
    assert_ok(abut_world_contacts(u.world, &(abut_contacts){.size = sizeof(abut_contacts)}) ==
                      ABUT_ERROR_BUFFER
                  ? ABUT_OK
                  : ABUT_ERROR_ARGUMENT);
    assert_ok(abut_world_restore(u.world, states[0], (size_t)list.count));
    list.list = states[1];
    assert_ok(abut_world_save(u.world, &list));
    assert_memory_equal(states[0], states[1], (size_t)list.count);
    abut_world_destroy(t.world);
    t.world = u.world;
    memset(kinds, 0, sizeof kinds);
    assert_true(check_twin(&t, kinds) > 4 && !kinds[0] && kinds[1] && !kinds[2]);
    for (uint32_t round = 0; round < test_rounds(60); round++) {
        change_twin(&t, &random);
        check_twin(&t, kinds);
    }
    free(states[0]);
    free(states[1]);
    free_twin(&t);
}

/* Pairs that are set aside are no candidates; an item that moves wakes. */
TEST(sleeping_pairs_are_not_visited) {
    abut_world_item item = abut_world_item_default();
    abut_world_pair pairs[4];
    abut_world_pair_info info = abut_world_pair_info_default();
    abut_world_impacts impacts = abut_world_impacts_default();
    abut_world_step_result step = abut_world_step_result_default();
    abut_pose there = abut_pose_identity();
    abut_world *world;
    item.collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.6}, there);
    assert_ok(abut_world_create(serial, NULL, &world));
    for (uint32_t i = 0; i < 4; i++) {
        item.collider.pose.translation.x = i;
        item.motion = i == 3   ? ABUT_WORLD_STATIC
                      : i == 2 ? ABUT_WORLD_KINEMATIC
                               : ABUT_WORLD_DYNAMIC;
        add(world, &item);
    }
    const uint32_t sleepers[3] = {0, 1, 2};
    assert_int_equal(list_pairs(world, pairs, 4), 2); /* 2 and 3 have no forces */
    assert_ok(abut_world_set_asleep(world, sleepers, 2, true));
    assert_int_equal(list_pairs(world, pairs, 4), 1); /* a kinematic item and a sleeping one */
    assert_true(pairs[0].a == 1 && pairs[0].b == 2);
    assert_ok(abut_world_get_pair_info(world, 0, 1, &info));
    assert_true(info.guarantee == ABUT_WORLD_GUARANTEE_NONE && strstr(info.reason, "asleep"));
    assert_ok(abut_world_set_asleep(world, NULL, 4, true));
    assert_int_equal(list_pairs(world, pairs, 4), 0);
    assert_refused("item 1 is asleep",
                   abut_world_sweep(world, &sleepers[1], abut_array_host(&there), 1, NULL,
                                    &impacts));
    assert_ok(abut_world_step(world, 1, &step));
    assert_int_equal(step.pair_count, 0);
    there.translation.x = 1; /* where it is */
    assert_ok(abut_world_set_poses(world, &sleepers[1], abut_array_host(&there), 1));
    assert_true(abut_world_is_asleep(world, 1));
    there.translation.x = 1.1;
    assert_ok(abut_world_set_poses(world, &sleepers[1], abut_array_host(&there), 1));
    assert_false(abut_world_is_asleep(world, 1));
    assert_true(abut_world_is_asleep(world, 0));
    assert_ok(abut_world_step(world, 1, &step));
    assert_int_equal(step.pair_count, 2);
    assert_ok(abut_world_replace(world, 0, &item));
    assert_false(abut_world_is_asleep(world, 0));
    /* What is refused. */
    const uint32_t bad[2] = {1, 9};
    assert_refused("no item 9", abut_world_set_asleep(world, bad, 2, true));
    assert_false(abut_world_is_asleep(world, 1));
    assert_refused("only 4 items", abut_world_set_asleep(world, NULL, 5, true));
    assert_refused("world is null", abut_world_set_asleep(NULL, NULL, 0, true));
    assert_false(abut_world_is_asleep(world, 9));
    assert_false(abut_world_is_asleep(NULL, 0));
    abut_world_destroy(world);
}

static abut_status sleep_and_wake(abut_context *context, void *data) {
    static abut_world_event room[EVENTS];
    test_random random = {53};
    abut_world *world = NULL;
    abut_world_event_list events = {room, EVENTS, 0};
    static unsigned char bytes[65536];
    abut_byte_list saved = {bytes, sizeof bytes, 0};
    uint32_t id = 0;
    (void)data;
    abut_status status = abut_world_create(context, NULL, &world);
    for (uint32_t i = 0; i < 8 && !status; i++) {
        const abut_world_item item = mesh_item(&things[i % 4], random_pose(&random, 0.4));
        status = abut_world_add(world, &item, &id);
    }
    status = status ? status : abut_world_events(world, &events);
    status = status ? status : abut_world_set_asleep(world, NULL, 6, true);
    status = status ? status : abut_world_events(world, &events);
    for (uint64_t i = 0; i < events.count && !status; i++)
        assert_int_equal(events.list[i].kind, ABUT_WORLD_EVENT_PERSIST);
    status = status ? status : abut_world_save(world, &saved);
    status = status ? status : abut_world_restore(world, bytes, (size_t)saved.count);
    if (world && status)
        assert_true(world->asleep_count == 0 || world->asleep_count == 6);
    status = status ? status : abut_world_set_asleep(world, NULL, 8, false);
    status = status ? status : abut_world_events(world, &events);
    for (uint64_t i = 0; i < events.count && !status; i++)
        assert_int_equal(events.list[i].kind, ABUT_WORLD_EVENT_PERSIST);
    assert_true(status || events.count > 10);
    abut_world_destroy(world);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(sleep_and_wake, NULL) > 12);
}

int main(void) {
    return test_run(make_things, free_things);
}
