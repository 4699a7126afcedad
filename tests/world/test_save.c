/* Saving and restoring the state of a world: another world continues byte for byte; a state of
 * another world, of other poses, or a damaged one is rejected and changes nothing. */
#include "world/scene.h"

#include "base/checksum.h"

enum { VARIED = 8, PLATE = VARIED, ON_TOP, BELOW, CLOTH, SOFT, COUNT, ROOM = 8192, SAVED = 100 };

/* Varied items; a plate with a box that goes through it from each side; a cloth and a ring that
 * deform. */
typedef struct stage {
    abut_context *context;
    abut_world_options options;
    abut_world_item items[COUNT];
    abut_pose start[COUNT];
    abut_mesh *cloth, *ring, *plate;
    abut_vec3 *positions[2]; /* of cloth and ring */
} stage;

static abut_mesh *shape_of(abut_context *context, abut_shape_kind kind, uint32_t segments,
                           abut_vec3 extent) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    shape.segments = segments;
    shape.extent = extent;
    if (kind == ABUT_SHAPE_TORUS)
        shape.rings = segments / 2;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    return mesh;
}

static void make_stage(stage *s, abut_context *context) {
    test_random random = {71};
    memset(s, 0, sizeof *s);
    s->context = context;
    s->options = abut_world_options_default();
    s->options.margin = 0.01;
    for (int i = 0; i < VARIED; i++)
        s->items[i] = varied_item(&random, 1.4);
    s->plate = shape_of(context, ABUT_SHAPE_BOX, 1, v3(3, 3, 0.04));
    s->cloth = shape_of(context, ABUT_SHAPE_SHEET, 8, v3(1, 1, 1));
    s->ring = shape_of(context, ABUT_SHAPE_TORUS, 12, v3(1, 1, 1));
    abut_mesh *const meshes[] = {s->plate, things[HULL].mesh, things[HULL].mesh, s->cloth, s->ring};
    const abut_vec3 places[] = {
        {9, 0, 0}, {8.6, 0, 0.6}, {9.5, 0.2, -0.6}, {9, 1, 0.3}, {9, -1, 0}};
    for (int i = PLATE; i < COUNT; i++) {
        abut_world_item *item = &s->items[i];
        *item = abut_world_item_default();
        item->collider.kind = ABUT_COLLIDER_MESH;
        item->motion = i == PLATE ? ABUT_WORLD_STATIC : ABUT_WORLD_DYNAMIC;
        item->collider.shape.mesh.mesh = meshes[i - PLATE];
        item->collider.shape.mesh.deforms = i >= CLOTH;
        item->collider.shape.mesh.resolution = i == CLOTH ? 24 : 0;
        item->collider.pose = (abut_pose){{0.1, 0.2, 0.05, 1}, places[i - PLATE]};
    }
    s->items[PLATE].collider.pose.rotation = (abut_quat){0, 0, 0, 1};
    for (int i = 0; i < COUNT; i++)
        s->start[i] = s->items[i].collider.pose;
    for (int k = 0; k < 2; k++) {
        const abut_mesh *mesh = k ? s->ring : s->cloth;
        s->positions[k] = malloc(abut_mesh_vertex_count(mesh) * sizeof(abut_vec3));
    }
}

static void free_stage(stage *s) {
    abut_mesh_destroy(s->plate);
    abut_mesh_destroy(s->cloth);
    abut_mesh_destroy(s->ring);
    for (int k = 0; k < 2; k++)
        free(s->positions[k]);
}

/* Where items are in a step. A third of them rests for 20 steps at a time. */
static void place(const stage *s, uint32_t step, abut_pose *poses) {
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t round = step / 20, at = (round + i) % 3 ? step : 20 * round;
        poses[i] = s->start[i];
        if (s->items[i].motion == ABUT_WORLD_STATIC)
            continue;
        poses[i].translation.x += 0.2 * sin(0.05 * at + i);
        poses[i].translation.z += 0.1 * sin(0.09 * at + 2 * i);
        poses[i].rotation.x += 0.2 * sin(0.03 * at + i);
        /* Through the plate, and there they stay. */
        const double through = fmin(0.008 * step, 0.72);
        if (i == ON_TOP || i == BELOW)
            poses[i].translation.z = s->start[i].translation.z + (i == ON_TOP ? -through : through);
    }
}

static void deform(const stage *s, abut_world *world, uint32_t step) {
    for (int k = 0; k < 2; k++) {
        abut_mesh *mesh = k ? s->ring : s->cloth;
        abut_vec3 *to = s->positions[k];
        assert_ok(abut_mesh_get_positions(mesh, to));
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++)
            to[i].z += 0.1 * sin(4 * to[i].x + 0.02 * step) + (k ? 0 : 0.05 * cos(0.1 * step));
        assert_ok(
            abut_world_set_positions(world, (uint32_t)(CLOTH + k), NULL, abut_array_host(to)));
    }
}

static abut_world *make_world(const stage *s, uint32_t step) {
    abut_world *world;
    abut_pose poses[COUNT];
    uint32_t id;
    place(s, step, poses);
    assert_ok(abut_world_create(s->context, &s->options, &world));
    for (uint32_t i = 0; i < COUNT; i++) {
        abut_world_item item = s->items[i];
        item.collider.pose = poses[i];
        assert_ok(abut_world_add(world, &item, &id));
        assert_int_equal(id, i);
    }
    deform(s, world, step);
    return world;
}

typedef struct record {
    abut_contact list[ROOM];
    abut_world_event events[ROOM];
    uint64_t count, event_count;
} record;

static void move_on(const stage *s, abut_world *world, uint32_t step) {
    abut_pose poses[COUNT];
    place(s, step, poses);
    assert_ok(abut_world_set_poses(world, NULL, abut_array_host(poses), COUNT));
    if (step % 20 == 0)
        deform(s, world, step);
}

static void record_contacts(abut_world *world, bool events, record *to) {
    abut_contacts found = {.size = sizeof found, .list = to->list, .capacity = ROOM};
    assert_ok(abut_world_contacts(world, &found));
    to->count = found.count;
    abut_world_event_list event_list = {to->events, ROOM, 0};
    if (events)
        assert_ok(abut_world_events(world, &event_list));
    to->event_count = event_list.count;
}

static bool same_record(const record *x, const record *y) {
    bool same = x->count == y->count && x->event_count == y->event_count;
    same = same && memcmp(x->list, y->list, x->count * sizeof *x->list) == 0;
    for (uint64_t i = 0; i < x->event_count && same; i++) {
        const abut_world_event *p = &x->events[i], *q = &y->events[i];
        same = p->kind == q->kind && p->method == q->method && p->guarantee == q->guarantee &&
               p->error == q->error && p->a == q->a && p->b == q->b &&
               p->is_sensor == q->is_sensor && p->is_verified == q->is_verified &&
               p->first == q->first && p->count == q->count &&
               p->reliability.level == q->reliability.level &&
               memcmp(&p->deepest, &q->deepest, offsetof(abut_contact, part) + 4) == 0;
    }
    return same;
}

static unsigned char *save(abut_world *world, size_t *bytes) {
    size_t again;
    abut_byte_list saved = {NULL, 0, 0};
    assert_int_equal(abut_world_save(world, &saved), ABUT_ERROR_BUFFER);
    *bytes = saved.count;
    unsigned char *state = malloc(*bytes);
    saved = (abut_byte_list){state, *bytes - 1, 0};
    assert_int_equal(abut_world_save(world, &saved), ABUT_ERROR_BUFFER);
    again = saved.count;
    saved = (abut_byte_list){state, *bytes, 0};
    assert_ok(abut_world_save(world, &saved));
    again = saved.count;
    assert_int_equal(again, *bytes);
    return state;
}

/* 200 steps, saved at 100; then steps 101 to 200 in that world and in another one. Events are
 * called in each step, or in every fifth one. */
TEST(a_restored_world_goes_on_byte_for_byte) {
    static record x, y, z;
    for (uint32_t every = 1; every <= 5; every += 4) {
        stage s;
        make_stage(&s, serial);
        abut_world *first = make_world(&s, 0), *second, *fresh;
        size_t bytes;
        uint32_t step = 0, differ = 0, contacts = 0, ends = 0;
        for (; step <= SAVED; step++) {
            move_on(&s, first, step);
            record_contacts(first, step % every == 2 % every, &x);
        }
        unsigned char *saved = save(first, &bytes);
        second = make_world(&s, SAVED);
        fresh = make_world(&s, SAVED);
        assert_ok(abut_world_restore(second, saved, bytes));
        for (; step <= 2 * SAVED; step++) {
            move_on(&s, first, step);
            move_on(&s, second, step);
            record_contacts(first, step % every == 0, &x);
            record_contacts(second, step % every == 0, &y);
            assert_true(same_record(&x, &y));
            if (step <= SAVED + 10) {
                move_on(&s, fresh, step);
                record_contacts(fresh, step % every == 0, &z);
                differ += !same_record(&x, &z);
            }
            contacts += (uint32_t)x.count;
            for (uint64_t i = 0; i < x.event_count; i++)
                ends += x.events[i].kind == ABUT_WORLD_EVENT_END;
        }
        /* There is something to compare, and without the state it is something else. */
        assert_true(contacts > 1000 && ends > 1 && differ > 5);
        free(saved);
        abut_world_destroy(first);
        abut_world_destroy(second);
        abut_world_destroy(fresh);
        free_stage(&s);
    }
}

/* Saved again after it was restored, it is the same state. */
TEST(a_restored_world_has_the_same_state) {
    static record x;
    stage s;
    size_t bytes, again;
    make_stage(&s, serial);
    abut_world *first = make_world(&s, 0);
    for (uint32_t step = 0; step <= 60; step++) {
        move_on(&s, first, step);
        record_contacts(first, step % 7 == 0, &x);
    }
    for (int k = 0; k < 2; k++) { /* events are those of an earlier step, and of this one */
        unsigned char *saved = save(first, &bytes);
        abut_world *second = make_world(&s, 60);
        assert_ok(abut_world_restore(second, saved, bytes));
        unsigned char *other = save(second, &again);
        assert_int_equal(bytes, again);
        assert_memory_equal(saved, other, bytes);
        /* A world that was restored can be restored to another state. */
        assert_ok(abut_world_restore(second, other, again));
        free(saved);
        free(other);
        abut_world_destroy(second);
        record_contacts(first, true, &x);
    }
    abut_world_destroy(first);
    free_stage(&s);
}

/* Items that were removed, and others under their ids. */
TEST(events_of_items_that_are_gone_are_restored) {
    abut_world *worlds[2];
    abut_world_item ball = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_SPHERE,
                            .collider.pose = {{0, 0, 0, 1}, {0, 0, 0}}};
    ball.collider.shape.sphere.radius = 1;
    static record x, y;
    uint32_t id;
    size_t bytes;
    for (int k = 0; k < 2; k++) {
        assert_ok(abut_world_create(serial, NULL, &worlds[k]));
        for (int i = 0; i < 5; i++) {
            ball.collider.pose.translation.x = i;
            assert_ok(abut_world_add(worlds[k], &ball, &id));
        }
        if (!k)
            record_contacts(worlds[k], true, &x);
        assert_ok(abut_world_remove(worlds[k], 1));
        assert_ok(abut_world_remove(worlds[k], 4));
        ball.collider.pose.translation.x = 1;
        assert_ok(abut_world_add(worlds[k], &ball, &id));
        assert_int_equal(abut_world_index(id), 1);
    }
    unsigned char *saved = save(worlds[0], &bytes);
    assert_ok(abut_world_restore(worlds[1], saved, bytes));
    record_contacts(worlds[0], true, &x);
    record_contacts(worlds[1], true, &y);
    assert_true(same_record(&x, &y));
    uint32_t changes[3] = {0};
    for (uint64_t i = 0; i < x.event_count; i++)
        changes[x.events[i].kind]++;
    assert_true(changes[0] && changes[1] && changes[2]);
    free(saved);
    abut_world_destroy(worlds[0]);
    abut_world_destroy(worlds[1]);
}

TEST(an_empty_world_is_saved) {
    abut_world *world;
    size_t bytes;
    assert_ok(abut_world_create(serial, NULL, &world));
    unsigned char *saved = save(world, &bytes);
    assert_ok(abut_world_restore(world, saved, bytes));
    assert_refused("state is null", abut_world_restore(world, NULL, 0));
    assert_refused("world is null", abut_world_restore(NULL, saved, bytes));
    assert_refused("world is null", abut_world_save(NULL, &(abut_byte_list){NULL, 0, 0}));
    assert_refused("bytes is null", abut_world_save(world, NULL));
    assert_refused("the list of bytes is null",
                   abut_world_save(world, &(abut_byte_list){NULL, 1, 0}));
    free(saved);
    abut_world_destroy(world);
}

/* ---- what is refused ---- */

typedef struct small {
    abut_world *world;
    unsigned char *state;
    size_t bytes;
} small;

/* Two balls and a box, of which events are those of a step before. */
static small make_small(abut_context *context) {
    small s;
    abut_world_item item = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_SPHERE,
                            .collider.pose = {{0, 0, 0, 1}, {0, 0, 0}}};
    static record x;
    uint32_t id;
    item.collider.shape.sphere.radius = 1;
    assert_ok(abut_world_create(context, NULL, &s.world));
    for (int i = 0; i < 2; i++) {
        item.collider.pose.translation.x = i;
        assert_ok(abut_world_add(s.world, &item, &id));
    }
    item = mesh_item(&things[HULL], item.collider.pose);
    assert_ok(abut_world_add(s.world, &item, &id));
    record_contacts(s.world, true, &x);
    item.collider.pose.translation.z = 0.3;
    assert_ok(abut_world_set_poses(s.world, &id, abut_array_host(&item.collider.pose), 1));
    s.state = save(s.world, &s.bytes);
    return s;
}

static void free_small(small *s) {
    abut_world_destroy(s->world);
    free(s->state);
}

/* Every length and every bit; with other bytes behind it. The world stays as it is. */
TEST(damage_is_refused) {
    static record x, y;
    small s = make_small(serial);
    record_contacts(s.world, false, &x);
    unsigned char *bad = malloc(s.bytes + 1);
    for (size_t n = 0; n < s.bytes; n++) {
        unsigned char *cut = malloc(n ? n : 1); /* so that reading beyond it is found */
        memcpy(cut, s.state, n);
        assert_int_equal(abut_world_restore(s.world, cut, n), ABUT_ERROR_FORMAT);
        free(cut);
    }
    for (size_t bit = 0; bit < 8 * s.bytes; bit++) {
        memcpy(bad, s.state, s.bytes);
        bad[bit / 8] ^= (unsigned char)(1 << bit % 8);
        abut_status status = abut_world_restore(s.world, bad, s.bytes);
        assert_true(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED);
    }
    memcpy(bad, s.state, s.bytes);
    bad[s.bytes] = 0;
    assert_fails(ABUT_ERROR_FORMAT, "damaged", abut_world_restore(s.world, bad, s.bytes + 1));
    record_contacts(s.world, false, &y);
    assert_true(same_record(&x, &y));
    free(bad);
    free_small(&s);
}

/* With the checksum put right a changed word is refused, or is a hint, or is reported of a pair. */
TEST(forged_states_are_refused_or_harmless) {
    small s = make_small(serial);
    unsigned char *bad = malloc(s.bytes);
    const double words[] = {NAN, HUGE_VAL, -HUGE_VAL, 1e308, 0, 1, -1};
    const uint64_t numbers[] = {0,
                                1,
                                2,
                                UINT64_MAX,
                                (uint64_t)1 << 63,
                                (uint64_t)1 << 32,
                                SIZE_MAX / 8,
                                SIZE_MAX / 24,
                                SIZE_MAX / 120};
    uint32_t refused = 0, taken = 0;
    for (size_t at = 0; at + 16 <= s.bytes; at += 4)
        for (int k = 0; k < 16; k++) {
            uint64_t sum;
            memcpy(bad, s.state, s.bytes);
            memcpy(bad + at, k < 7 ? (const void *)&words[k] : &numbers[k - 7], 8);
            sum = abuti_checksum(bad, s.bytes - 8);
            memcpy(bad + s.bytes - 8, &sum, 8);
            abut_status status = abut_world_restore(s.world, bad, s.bytes);
            assert_true(!status || status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_ARGUMENT ||
                        status == ABUT_ERROR_UNSUPPORTED);
            *(status ? &refused : &taken) += 1;
            static record x;
            record_contacts(s.world, true, &x);
        }
    assert_true(refused > 100 && taken > 100);
    free(bad);
    free_small(&s);
}

TEST(states_of_other_worlds_are_refused) {
    small s = make_small(serial);
    abut_world *other;
    abut_world_options options = abut_world_options_default();
    static record x, y;
    record_contacts(s.world, false, &x);
    /* Another pose, however small; and back. */
    uint32_t id = 1;
    abut_pose there = {{0, 0, 0, 1}, {nextafter(1, 2), 0, 0}};
    assert_ok(abut_world_set_poses(s.world, &id, abut_array_host(&there), 1));
    assert_refused("item 1 is not as it was saved", abut_world_restore(s.world, s.state, s.bytes));
    there.translation.x = 1;
    assert_ok(abut_world_set_poses(s.world, &id, abut_array_host(&there), 1));
    assert_ok(abut_world_restore(s.world, s.state, s.bytes));
    record_contacts(s.world, false, &y);
    assert_true(same_record(&x, &y));
    /* Another radius, another mesh, another group; an item less, one more; a pair that is ignored.
     */
    abut_world_item ball = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_SPHERE,
                            .collider.pose = there};
    ball.collider.shape.sphere.radius = 1.01;
    assert_ok(abut_world_replace(s.world, 1, &ball));
    assert_refused("item 1 is", abut_world_restore(s.world, s.state, s.bytes));
    ball.collider.shape.sphere.radius = 1;
    ball.group = 2;
    assert_ok(abut_world_replace(s.world, 1, &ball));
    assert_refused("item 1 is", abut_world_restore(s.world, s.state, s.bytes));
    ball.group = 0;
    assert_ok(abut_world_replace(s.world, 1, &ball));
    abut_world_item mesh = mesh_item(&things[0], (abut_pose){{0, 0, 0, 1}, {1, 0, 0.3}});
    assert_ok(abut_world_replace(s.world, 2, &mesh));
    assert_refused("item 2 is", abut_world_restore(s.world, s.state, s.bytes));
    assert_ok(abut_world_remove(s.world, 2));
    assert_refused("item 2 is missing", abut_world_restore(s.world, s.state, s.bytes));
    mesh.collider.shape.body.bvh = things[HULL].bvh;
    assert_ok(abut_world_add(s.world, &mesh, &id));
    assert_ok(abut_world_ignore(s.world, 0, 1, true));
    assert_refused("candidate pairs", abut_world_restore(s.world, s.state, s.bytes));
    assert_ok(abut_world_ignore(s.world, 0, 1, false));
    assert_ok(abut_world_restore(s.world, s.state, s.bytes));
    ball.collider.pose.translation.y = 40;
    assert_ok(abut_world_add(s.world, &ball, &id));
    assert_refused("item 3 is not in the state", abut_world_restore(s.world, s.state, s.bytes));
    /* Other options. */
    options.margin = 0.001;
    assert_ok(abut_world_create(serial, &options, &other));
    assert_refused("other options", abut_world_restore(other, s.state, s.bytes));
    abut_world_destroy(other);
    /* A state that says of other contacts that they are those of the world. */
    assert_ok(abut_world_remove(s.world, 3));
    uint64_t sum;
    s.state[24] ^= 1;
    sum = abuti_checksum(s.state, s.bytes - 8);
    memcpy(s.state + s.bytes - 8, &sum, 8);
    assert_refused("not those that were saved", abut_world_restore(s.world, s.state, s.bytes));
    record_contacts(s.world, false, &y);
    assert_true(same_record(&x, &y));
    free_small(&s);
}

/* ---- out of memory ---- */

static const unsigned char *memory_state;
static size_t memory_bytes;

static abut_status restore_small(abut_context *context, void *data) {
    abut_world *world;
    abut_world_item item = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_SPHERE,
                            .collider.pose = {{0, 0, 0, 1}, {0, 0, 0}}};
    uint32_t id;
    (void)data;
    item.collider.shape.sphere.radius = 1;
    abut_status status = abut_world_create(context, NULL, &world);
    if (status)
        return status;
    for (int i = 0; i < 2 && !status; i++) {
        item.collider.pose.translation.x = i;
        status = abut_world_add(world, &item, &id);
    }
    item = mesh_item(&things[HULL], item.collider.pose);
    item.collider.pose.translation.z = 0.3;
    status = status ? status : abut_world_add(world, &item, &id);
    status = status ? status : abut_world_restore(world, memory_state, memory_bytes);
    unsigned char again[4096];
    size_t bytes;
    abut_byte_list saved = {again, sizeof again, 0};
    status = status ? status : abut_world_save(world, &saved);
    bytes = saved.count;
    if (!status) {
        assert_int_equal(bytes, memory_bytes);
        assert_memory_equal(again, memory_state, bytes);
    }
    abut_world_destroy(world);
    return status;
}

TEST(out_of_memory) {
    small s = make_small(serial);
    memory_state = s.state;
    memory_bytes = s.bytes;
    assert_true(test_every_allocation(restore_small, NULL) > 8);
    free_small(&s);
}

/* On another number of threads the same bytes. */
TEST_THREADS(states_do_not_depend_on_threads) {
    unsigned char *states[2];
    size_t bytes[2];
    for (int k = 0; k < 2; k++) {
        static record x;
        stage s;
        test_memory memory = {0};
        abut_context *context = test_context(&memory, k ? 4 : 1);
        make_stage(&s, context);
        abut_world *world = make_world(&s, 0);
        for (uint32_t step = 0; step <= 40; step++) {
            move_on(&s, world, step);
            record_contacts(world, true, &x);
        }
        states[k] = save(world, &bytes[k]);
        assert_ok(abut_world_restore(world, states[0], bytes[0]));
        abut_world_destroy(world);
        free_stage(&s);
        abut_context_destroy(context);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(states[0], states[1], bytes[0]);
    free(states[0]);
    free(states[1]);
}

int main(void) {
    return test_run(make_things, free_things);
}
