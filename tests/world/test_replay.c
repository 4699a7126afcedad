/* A run with additions and removals is recorded: its input (a log of calls), its output (contacts,
 * events, impacts), and states every few steps. From each state the run is replayed to its end, in
 * a new world that is built by the log, and in the same world after it is rolled back: every byte
 * is the same. */
#include "support/pose.h"
#include "support/support.h"

#include <math.h>

enum { STEPS = 30, SAVE_EVERY = 10, ITEMS_MAX = 64, ROOM = 2048, CALLS = 4096 };

/* ---- the log ---- */

typedef enum call_kind { CALL_ADD, CALL_REMOVE, CALL_POSE } call_kind;

typedef struct call {
    call_kind kind;
    uint32_t step, id, shape;
    abut_pose pose;
} call;

typedef struct call_log {
    call list[CALLS];
    uint32_t count;
} call_log;

static abut_bvh *ring;

static abut_world_item item_of(uint32_t shape, abut_pose at) {
    abut_world_item item = abut_world_item_default();
    item.motion = shape ? ABUT_WORLD_DYNAMIC : ABUT_WORLD_STATIC;
    item.is_sensor = shape % 7 == 6;
    if (shape == 0)
        item.collider = abut_collider_from_box((abut_vec3){4, 4, 0.1}, at);
    else if (shape % 3 == 0)
        item.collider = abut_collider_from_box((abut_vec3){0.3, 0.2, 0.25}, at);
    else if (shape % 3 == 1)
        item.collider = abut_collider_from_bvh(ring, at);
    else
        item.collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.3}, at);
    return item;
}

/* Adds to the log, and carries out. The id of an addition is that of the log, or is set. */
static void carry_out(abut_world *world, call *c, bool is_recording) {
    const abut_world_item item = item_of(c->shape, c->pose);
    uint32_t id = c->id;
    if (c->kind == CALL_ADD) {
        assert_ok(abut_world_add(world, &item, &id));
        if (is_recording)
            c->id = id;
        assert_int_equal(c->id, id);
    } else if (c->kind == CALL_REMOVE) {
        assert_ok(abut_world_remove(world, c->id));
    } else {
        assert_ok(abut_world_set_poses(world, &c->id, abut_array_host(&c->pose), 1));
    }
}

static void record_call(call_log *log, abut_world *world, call c) {
    assert_true(log->count < CALLS);
    log->list[log->count] = c;
    carry_out(world, &log->list[log->count++], true);
}

/* ---- the output ---- */

typedef struct record {
    abut_contact contacts[ROOM];
    abut_world_event events[ROOM];
    abut_world_impact impacts[ROOM];
    uint64_t contact_count, event_count, impact_count;
    double time;
} record;

/* Contacts, events, and the impacts if one item moves far through all others. */
static void compute(abut_world *world, uint32_t probe, record *to) {
    memset(to, 0, sizeof *to);
    abut_contacts found = {.size = sizeof found, .list = to->contacts, .capacity = ROOM};
    abut_world_event_list events = {to->events, ROOM, 0};
    abut_world_impacts impacts = {.size = sizeof impacts, .list = to->impacts, .capacity = ROOM};
    const abut_pose end = {{0.3, 0.1, 0, 1}, {3, 2, -1}};
    assert_ok(abut_world_contacts(world, &found));
    assert_ok(abut_world_events(world, &events));
    assert_ok(abut_world_sweep(world, &probe, abut_array_host(&end), 1, NULL, &impacts));
    to->contact_count = found.count;
    to->event_count = events.count;
    to->impact_count = impacts.count;
    to->time = impacts.time;
}

static void assert_same(const record *x, const record *y) {
    assert_int_equal(x->contact_count, y->contact_count);
    assert_int_equal(x->event_count, y->event_count);
    assert_int_equal(x->impact_count, y->impact_count);
    assert_true(x->time == y->time);
    assert_memory_equal(x->contacts, y->contacts, x->contact_count * sizeof *x->contacts);
    for (uint64_t i = 0; i < x->event_count; i++) {
        const abut_world_event *p = &x->events[i], *q = &y->events[i];
        assert_true(p->kind == q->kind && p->a == q->a && p->b == q->b && p->first == q->first &&
                    p->count == q->count && p->error == q->error && p->is_sensor == q->is_sensor &&
                    p->is_verified == q->is_verified);
        assert_memory_equal(&p->deepest, &q->deepest, offsetof(abut_contact, part) + 4);
    }
    for (uint64_t i = 0; i < x->impact_count; i++) {
        const abut_world_impact *p = &x->impacts[i], *q = &y->impacts[i];
        assert_true(p->a == q->a && p->b == q->b && p->result.time == q->result.time);
        assert_memory_equal(&p->result.point, &q->result.point, 2 * sizeof p->result.point);
    }
}

/* ---- the run ---- */

typedef struct saved_state {
    uint8_t *bytes;
    size_t count;
} saved_state;

static saved_state save(abut_world *world) {
    abut_byte_list list = {NULL, 0, 0};
    assert_int_equal(abut_world_save(world, &list), ABUT_ERROR_BUFFER);
    list.list = malloc(list.count);
    list.capacity = list.count;
    assert_ok(abut_world_save(world, &list));
    return (saved_state){list.list, (size_t)list.count};
}

static void make_ring(void) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh;
    shape.segments = 10;
    shape.rings = 6;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &ring));
    abut_mesh_destroy(mesh);
}

/* Items fall, turn and come to rest on the floor; some vanish and others come. */
static void record_step(call_log *log, abut_world *world, test_random *random, uint32_t step,
                        uint32_t *live, uint32_t *live_count) {
    if (step % 3 != 2)
        for (uint32_t k = 0; k < (step ? 1 : 12); k++) {
            abut_pose at = random_pose(random, 1.5);
            const uint32_t shape = step || k ? 1 + test_random_below(random, 9) : 0;
            at.translation.z = shape ? 0.4 + 0.5 * fabs(at.translation.z) : 0;
            if (!shape)
                at = abut_pose_identity();
            record_call(log, world,
                        (call){.kind = CALL_ADD, .step = step, .shape = shape, .pose = at});
            live[(*live_count)++] = log->list[log->count - 1].id;
            assert_true(*live_count < ITEMS_MAX);
        }
    if (step % 4 == 3) { /* never the floor and the probe */
        const uint32_t which = 2 + test_random_below(random, *live_count - 2);
        record_call(log, world, (call){.kind = CALL_REMOVE, .step = step, .id = live[which]});
        live[which] = live[--*live_count];
    }
    for (uint32_t i = 1; i < *live_count; i++) {
        abut_pose at = {{0, 0, 0, 1}, {0, 0, 0}};
        for (uint32_t k = log->count; k-- > 0;) /* its last pose */
            if (log->list[k].id == live[i]) {
                at = log->list[k].pose;
                break;
            }
        if ((step + i) % 4 == 0) /* it rests */
            continue;
        at.translation.z = fmax(at.translation.z - 0.03, 0.2);
        at.rotation.x += 0.02 * sin(step + i);
        at.translation.x += 0.02 * cos(step + 2 * i);
        record_call(log, world, (call){.kind = CALL_POSE, .step = step, .id = live[i], .pose = at});
    }
}

static abut_world *create_world(void) {
    abut_world *world;
    abut_world_options options = abut_world_options_default();
    options.margin = 0.01;
    assert_ok(abut_world_create(NULL, &options, &world));
    return world;
}

TEST(a_run_is_replayed_from_every_saved_state) {
    static record expected[STEPS], found;
    static call_log log;
    saved_state states[STEPS / SAVE_EVERY];
    uint32_t live[ITEMS_MAX], live_count = 0;
    uint64_t contacts = 0, events = 0, impacts = 0;
    test_random random = {7};
    make_ring();
    abut_world *world = create_world();
    log.count = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        record_step(&log, world, &random, step, live, &live_count);
        compute(world, live[1], &expected[step]);
        contacts += expected[step].contact_count;
        events += expected[step].event_count;
        impacts += expected[step].impact_count;
        if (step % SAVE_EVERY == SAVE_EVERY - 1)
            states[step / SAVE_EVERY] = save(world);
    }
    assert_true(contacts > 500 && events > 100 && impacts > 30);
    const uint32_t probe = live[1];
    for (uint32_t from = 0; from < STEPS / SAVE_EVERY; from++) {
        const uint32_t saved_at = from * SAVE_EVERY + SAVE_EVERY - 1;
        abut_world *other = create_world();
        uint32_t next = 0;
        for (; next < log.count && log.list[next].step <= saved_at; next++)
            carry_out(other, &log.list[next], false);
        assert_ok(abut_world_restore(other, states[from].bytes, states[from].count));
        for (uint32_t step = saved_at + 1; step < STEPS; step++) {
            for (; next < log.count && log.list[next].step == step; next++)
                carry_out(other, &log.list[next], false);
            compute(other, probe, &found);
            assert_same(&expected[step], &found);
        }
        assert_int_equal(next, log.count);
        const saved_state end = save(other), *wanted = &states[STEPS / SAVE_EVERY - 1];
        assert_int_equal(end.count, wanted->count);
        assert_memory_equal(end.bytes, wanted->bytes, end.count);
        free(end.bytes);
        abut_world_destroy(other);
    }
    for (uint32_t i = 0; i < STEPS / SAVE_EVERY; i++)
        free(states[i].bytes);
    abut_world_destroy(world);
    abut_bvh_destroy(ring);
}

/* Roll-back, as of games over a network: the world itself returns to a saved step, and makes the
 * same steps again, then others. */
TEST(a_world_is_rolled_back) {
    enum { BODIES = 12, BACK = 6 };
    static record expected[2][2 * BACK], found;
    make_ring();
    abut_world *worlds[2] = {create_world(), create_world()};
    saved_state saved = {NULL, 0};
    abut_pose poses[2 * BACK][BODIES], other[BODIES];
    test_random random = {11};
    for (uint32_t i = 0; i < BODIES; i++) {
        poses[0][i] = random_pose(&random, 1);
        poses[0][i].translation.z = i ? 0.5 * fabs(poses[0][i].translation.z) : 0;
        const abut_world_item item = item_of(i, i ? poses[0][i] : abut_pose_identity());
        for (int k = 0; k < 2; k++) {
            uint32_t id;
            assert_ok(abut_world_add(worlds[k], &item, &id));
        }
    }
    for (uint32_t step = 1; step < 2 * BACK; step++)
        for (uint32_t i = 0; i < BODIES; i++) {
            poses[step][i] = poses[step - 1][i];
            poses[step][i].translation.z -= (i + step) % 3 ? 0.02 : 0;
        }
    /* The second world makes other steps after BACK: the truth for a corrected input. */
    for (uint32_t step = 0; step < 2 * BACK; step++)
        for (int k = 0; k < 2; k++) {
            memcpy(other, poses[step], sizeof other);
            if (k == 1 && step >= BACK)
                other[3].translation.x += 0.05 * (step - BACK + 1);
            assert_ok(abut_world_set_poses(worlds[k], NULL, abut_array_host(other), BODIES));
            compute(worlds[k], 1, &expected[k][step]);
            if (k == 0 && step == BACK - 1)
                saved = save(worlds[0]);
        }
    for (int k = 0; k < 2; k++) { /* the same again, then the corrected input */
        assert_ok(abut_world_set_poses(worlds[0], NULL, abut_array_host(poses[BACK - 1]), BODIES));
        assert_ok(abut_world_restore(worlds[0], saved.bytes, saved.count));
        for (uint32_t step = BACK; step < 2 * BACK; step++) {
            memcpy(other, poses[step], sizeof other);
            if (k == 1)
                other[3].translation.x += 0.05 * (step - BACK + 1);
            assert_ok(abut_world_set_poses(worlds[0], NULL, abut_array_host(other), BODIES));
            compute(worlds[0], 1, &found);
            assert_same(&expected[k][step], &found);
        }
    }
    free(saved.bytes);
    for (int k = 0; k < 2; k++)
        abut_world_destroy(worlds[k]);
    abut_bvh_destroy(ring);
}
