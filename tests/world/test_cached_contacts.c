/* Pairs at rest keep their contacts bit for bit and cost next to nothing; every change of a pose or
 * shape is seen. */
#include "world/scene.h"

enum { ROOM = 4096 };

typedef struct steps {
    abut_world *world;
    uint32_t count;
    abut_contact list[ROOM];
    abut_world_pair pairs[ROOM];
    uint64_t pair_count, event_count;
    abut_world_event events[ROOM];
} steps;

static void step(steps *s) {
    abut_contacts found = {.size = sizeof found, .list = s->list, .capacity = ROOM};
    assert_ok(abut_world_contacts(s->world, &found));
    s->event_count = events_of(s->world, s->events, ROOM);
    s->pair_count = list_pairs(s->world, s->pairs, ROOM);
    s->count = (uint32_t)found.count;
}

/* Whether the contacts of all pairs without `moved` are the same bits in two steps; ABUT_NONE: of
 * all pairs. Gives how many there are. */
static uint32_t compare_rest(const steps *x, const steps *y, uint32_t moved) {
    uint32_t same = 0, i = 0, k = 0;
    for (;; i++, k++, same++) {
        while (i < x->count && (x->list[i].a == moved || x->list[i].b == moved))
            i++;
        while (k < y->count && (y->list[k].a == moved || y->list[k].b == moved))
            k++;
        if (i == x->count || k == y->count)
            break;
        const abut_contact *p = &x->list[i], *q = &y->list[k];
        assert_true(p->a == q->a && p->b == q->b);
        assert_same_contact(&x->list[i], &y->list[k]);
    }
    assert_true(i == x->count && k == y->count);
    return same;
}

/* Tori in a row, each through the next, and each with its own BVH. */
static void make_row(steps *s, uint32_t count, abut_pose *poses, abut_bvh **trees) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh;
    assert_ok(abut_shape_create(serial, &shape, &mesh));
    assert_ok(abut_world_create(serial, NULL, &s->world));
    const double step_x = 0.9 * abut_mesh_bounds(mesh).hi.x;
    for (uint32_t i = 0; i < count; i++) {
        abut_world_item item = abut_world_item_default();
        poses[i] = (abut_pose){{i % 2 ? 0.7071 : 0, 0, 0, i % 2 ? 0.7071 : 1}, {0, 0, 0}};
        poses[i].translation = (abut_vec3){step_x * i, 0.013 * i, 0.007 * i};
        assert_ok(abut_bvh_create(mesh, NULL, &trees[i]));
        item.collider.pose = poses[i];
        item.collider.shape.body.bvh = trees[i];
        add(s->world, &item);
    }
    abut_mesh_destroy(mesh);
}

static void free_row(steps *s, uint32_t count, abut_bvh **trees) {
    abut_world_destroy(s->world);
    for (uint32_t i = 0; i < count; i++)
        abut_bvh_destroy(trees[i]);
}

/* How many pairs keep their contacts. */
static uint32_t count_kept(steps *s) {
    uint64_t pairs;
    uint32_t kept = 0;
    pairs = list_pairs(s->world, s->pairs, ROOM);
    for (size_t i = 0; i < pairs; i++)
        kept += abuti_world_valid_record(s->world, i) != NULL;
    return kept;
}

static uint32_t count_of(const steps *s, uint32_t id) {
    uint32_t count = 0;
    for (size_t i = 0; i < s->pair_count; i++)
        count += s->pairs[i].a == id || s->pairs[i].b == id;
    return count;
}

TEST(pairs_at_rest_keep_their_contacts) {
    enum { COUNT = 12 };
    static steps s, first, last;
    abut_pose poses[COUNT];
    abut_bvh *trees[COUNT];
    make_row(&s, COUNT, poses, trees);
    step(&s);
    assert_true(s.event_count >= COUNT - 1);
    first = s;
    /* Moved to where they are. */
    assert_ok(abut_world_set_poses(s.world, NULL, abut_array_host(poses), COUNT));
    assert_true(s.world->has_contacts);
    step(&s);
    assert_int_equal(compare_rest(&first, &s, ABUT_NONE), first.count);
    for (uint64_t i = 0; i < s.event_count; i++)
        assert_int_equal(s.events[i].kind, ABUT_WORLD_EVENT_PERSIST);
    /* One body moves: only its pairs are computed, and all others touch as before. */
    for (uint32_t round = 0; round < 8; round++) {
        last = s;
        const uint32_t moved = round % 2 ? 4 : 11;
        poses[moved].translation.z += 1e-3;
        assert_ok(abut_world_set_poses(s.world, NULL, abut_array_host(poses), COUNT));
        const uint32_t kept = count_kept(&s);
        step(&s);
        assert_int_equal(kept + count_of(&s, moved), s.pair_count);
        assert_true(compare_rest(&last, &s, moved) > 0);
        for (uint64_t i = 0; i < s.event_count; i++) {
            const abut_world_event *e = &s.events[i];
            if (e->a == moved || e->b == moved)
                continue;
            assert_int_equal(e->kind, ABUT_WORLD_EVENT_PERSIST);
            assert_true(e->count > 0 && e->first + e->count <= s.count);
            assert_true(s.list[e->first].a == e->a && s.list[e->first].b == e->b);
            assert_true(e->deepest.a == e->a && e->deepest.b == e->b);
        }
    }
    /* An item is added, and one removed: numbers of pairs change, contacts do not. */
    last = s;
    abut_world_item ball = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_SPHERE,
                            .collider.pose = {{0, 0, 0, 1}, {0, 50, 0}}};
    ball.collider.shape.sphere.radius = 0.1;
    uint32_t id;
    assert_ok(abut_world_add(s.world, &ball, &id));
    assert_int_equal(count_kept(&s), s.pair_count);
    step(&s);
    assert_int_equal(compare_rest(&last, &s, ABUT_NONE), last.count);
    assert_ok(abut_world_remove(s.world, 0));
    step(&s);
    assert_int_equal(count_kept(&s), s.pair_count);
    compare_rest(&last, &s, 0);
    /* Both items of a pair move alike: it is computed anew. */
    const uint32_t two[2] = {4, 5};
    for (uint32_t i = 4; i < 6; i++)
        poses[i].translation.y += 0.25;
    assert_ok(abut_world_set_poses(s.world, two, abut_array_host(&poses[4]), 2));
    assert_true(count_kept(&s) < s.pair_count);
    step(&s);
    /* Nothing is computed of a pair at rest: a refit of its BVH is not noticed, which
     * is not allowed. */
    abut_mesh *flat;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    shape.radius2 *= 0.5;
    assert_ok(abut_shape_create(serial, &shape, &flat));
    assert_ok(abut_bvh_set_mesh(trees[8], flat));
    last = s;
    poses[2].translation.z += 1e-3;
    id = 2;
    assert_ok(abut_world_set_poses(s.world, &id, abut_array_host(&poses[id]), 1));
    step(&s);
    assert_true(compare_rest(&last, &s, 2) > 0);
    abut_mesh_destroy(flat);
    free_row(&s, COUNT, trees);
}

/* Rows of cubes, each in the next: of 1,000 bodies that all get poses the pairs of the one that
 * moves are computed, and no others. Where none moves nothing is computed, not even candidates. */
TEST(one_of_a_thousand_moves) {
    enum { SIDE = 10, COUNT = SIDE * SIDE * SIDE };
    static steps s, last;
    static abut_pose poses[COUNT];
    abut_bvh *tree;
    abut_mesh *mesh;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(1, 1, 1);
    shape.segments = 1;
    assert_ok(abut_shape_create(serial, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &tree));
    abut_mesh_destroy(mesh);
    assert_ok(abut_world_create(serial, NULL, &s.world));
    for (uint32_t i = 0; i < COUNT; i++) {
        abut_world_item item = abut_world_item_default();
        poses[i] = (abut_pose){{0, 0, 0, 1}, {0, 1.5 * (i / SIDE % SIDE), 1.5 * (i / SIDE / SIDE)}};
        poses[i].translation.x = 0.995 * (i % SIDE);
        item.collider.pose = poses[i];
        item.collider.shape.body.bvh = tree;
        add(s.world, &item);
    }
    step(&s);
    assert_true(s.pair_count == 900 && s.count == 3600);
    for (uint32_t round = 0; round < 5; round++) {
        const uint32_t moved = (round * 457 + 123) % COUNT;
        last = s;
        poses[moved].translation.z += round % 2 ? 100 : 0.01; /* also away from all others */
        assert_ok(abut_world_set_poses(s.world, NULL, abut_array_host(poses), COUNT));
        const uint32_t kept = count_kept(&s);
        step(&s);
        assert_int_equal(kept + count_of(&s, moved), s.pair_count);
        assert_true(count_of(&s, moved) <= 2 && kept >= 890);
        assert_true(compare_rest(&last, &s, moved) > 3500);
        /* Nothing moves. */
        assert_ok(abut_world_set_poses(s.world, NULL, abut_array_host(poses), COUNT));
        assert_true(s.world->has_pairs && s.world->has_contacts);
    }
    abut_world_destroy(s.world);
    abut_bvh_destroy(tree);
}

/* A step that moves something and then back leaves what it was. */
TEST(an_id_that_comes_twice_is_where_its_last_pose_says) {
    enum { COUNT = 3 };
    static steps s, first;
    abut_pose poses[COUNT];
    abut_bvh *trees[COUNT];
    make_row(&s, COUNT, poses, trees);
    step(&s);
    first = s;
    const uint32_t ids[2] = {1, 1};
    abut_pose two[2] = {poses[1], poses[1]};
    two[0].translation.x += 0.2;
    assert_ok(abut_world_set_poses(s.world, ids, abut_array_host(two), 2));
    step(&s);
    assert_int_equal(first.count, s.count);
    for (uint32_t i = 0; i < s.count; i++)
        assert_true(v3_length(v3_sub(first.list[i].point, s.list[i].point)) < 1e-9);
    free_row(&s, COUNT, trees);
}

/* Shapes that change under a pose that does not. */
TEST(changes_of_shape_are_seen) {
    abut_world *world;
    abut_mesh *small, *large, *ball[2];
    abut_samples *samples[2]; /* of balls of radius 0.5 and 0.55 */
    abut_field *field;
    uint32_t ids[3];
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_field_options options = abut_field_options_default();
    options.cells = 16;
    options.margin = 0.5;
    assert_ok(abut_shape_create(serial, &shape, &small));
    shape.extent.z *= 1.25;
    assert_ok(abut_shape_create(serial, &shape, &large));
    assert_ok(abut_field_create(small, &options, &field));
    for (int i = 0; i < 2; i++) {
        abut_shape round = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
        round.radius = 0.5 + 0.05 * i;
        round.segments = 8;
        assert_ok(abut_shape_create(serial, &round, &ball[i]));
        assert_ok(abut_samples_create(ball[i], NULL, &samples[i]));
    }
    const double top = abut_mesh_bounds(small).hi.z;
    abut_world_options world_options = abut_world_options_default();
    world_options.max_patch_contacts = 1;
    assert_ok(abut_world_create(serial, &world_options, &world));
    abut_world_item items[3] = {abut_world_item_default(), abut_world_item_default(),
                                abut_world_item_default()};
    items[0].collider.shape.body.field = field;
    items[1].collider.shape.body.samples = items[2].collider.shape.body.samples = samples[0];
    items[1].collider.pose = items[2].collider.pose = (abut_pose){{0, 0, 0, 1}, {0, 0, top + 0.4}};
    items[2].collider.pose.translation.y = 40;
    for (int i = 0; i < 3; i++)
        assert_ok(abut_world_add(world, &items[i], &ids[i]));
    abut_contact list[8];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 8};
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, 1);
    assert_true(fabs(list[0].depth - 0.1) < 0.02);
    /* The item is moved to where it is; then only another one is. */
    for (int k = 0; k < 2; k++) {
        const double depth = k ? 0.1 : 0.1 + abut_mesh_bounds(large).hi.z - top;
        assert_ok(abut_field_set_mesh(field, k ? small : large, NULL));
        items[2].collider.pose.translation.x += k;
        assert_ok(abut_world_set_poses(world, &ids[k ? 2 : 0],
                                       abut_array_host(&items[k ? 2 : 0].collider.pose), 1));
        assert_ok(abut_world_contacts(world, &found));
        assert_int_equal(found.count, 1);
        assert_true(fabs(list[0].depth - depth) < 0.02);
    }
    /* Another radius; and a sensor, which has no contacts. */
    items[1].collider.shape.body.samples = samples[1];
    assert_ok(abut_world_replace(world, ids[1], &items[1]));
    assert_ok(abut_world_contacts(world, &found));
    assert_true(found.count == 1 && fabs(list[0].depth - 0.15) < 0.02);
    items[1].is_sensor = true;
    assert_ok(abut_world_replace(world, ids[1], &items[1]));
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, 0);
    abut_world_destroy(world);
    for (int i = 0; i < 2; i++) {
        abut_samples_destroy(samples[i]);
        abut_mesh_destroy(ball[i]);
    }
    abut_field_destroy(field);
    abut_mesh_destroy(small);
    abut_mesh_destroy(large);
}

/* Pairs that come and go in turn leave nothing behind. */
TEST(memory_is_bounded) {
    test_memory memory = {0};
    test_random random = {61};
    abut_context *context = test_context(&memory, 1);
    abut_world *world;
    static abut_contact list[ROOM];
    abut_pose poses[2][24];
    uint64_t bytes = 0;
    assert_ok(abut_world_create(context, NULL, &world));
    for (uint32_t i = 0; i < 24; i++) {
        abut_world_item item = varied_item(&random, 1.5);
        for (int k = 0; k < 2; k++)
            poses[k][i] = random_pose(&random, 1.5);
        add(world, &item);
    }
    for (uint32_t round = 0; round < 40; round++) {
        abut_contacts found = {.size = sizeof found, .list = list, .capacity = ROOM};
        assert_ok(abut_world_set_poses(world, NULL, abut_array_host(poses[round % 2]), 24));
        assert_ok(abut_world_contacts(world, &found));
        bytes = round == 4 ? memory.live_bytes : bytes;
        assert_true(round < 4 || memory.live_bytes == bytes);
    }
    abut_world_destroy(world);
    abut_context_destroy(context);
    assert_int_equal(memory.live_count, 0);
}

int main(void) {
    return test_run(make_things, free_things);
}
