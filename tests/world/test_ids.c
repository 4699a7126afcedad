/* Ids of items: the id of a removed item is never that of the next item with its index. */
#include "scene.h"

#include "base/checksum.h"

static abut_world_item ball_at(double x) {
    abut_world_item item = abut_world_item_default();
    item.collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.6}, abut_pose_identity());
    item.collider.pose.translation.x = x;
    return item;
}

/* A row of balls, each in contact with the next one. */
static abut_world *make_row(abut_context *context, uint32_t count, uint32_t *ids) {
    abut_world *world;
    assert_ok(abut_world_create(context, NULL, &world));
    for (uint32_t i = 0; i < count; i++) {
        const abut_world_item item = ball_at(i);
        assert_ok(abut_world_add(world, &item, &ids[i]));
        assert_int_equal(ids[i], i);
    }
    return world;
}

/* Removes an item and adds another one in its place, which gets its index. */
static uint32_t exchange(abut_world *world, uint32_t id) {
    const abut_world_item item = ball_at(abut_world_index(id));
    uint32_t next;
    assert_ok(abut_world_remove(world, id));
    assert_ok(abut_world_add(world, &item, &next));
    assert_int_equal(abut_world_index(next), abut_world_index(id));
    assert_int_equal(next, id + ((uint32_t)1 << ABUT_WORLD_INDEX_BITS));
    return next;
}

/* Every function with an id. */
TEST(stale_ids_are_refused) {
    uint32_t ids[3];
    int user;
    abut_world *world = make_row(serial, 3, ids);
    abut_world_item item = ball_at(0);
    item.user = &user;
    assert_ok(abut_world_replace(world, ids[1], &item));
    assert_ptr_equal(abut_world_get_user(world, ids[1]), &user);
    const uint32_t old = ids[1];
    for (int again = 0; again < 2; again++) {
        const char *why = again ? "there is no item 1 in the world; if it was an item, it was "
                                  "removed, and its index 1 now belongs to item 4194305"
                                : "there is no item 1 in the world";
        abut_world_item_info info = abut_world_item_info_default();
        abut_world_pair_info pair = abut_world_pair_info_default();
        abut_world_impacts impacts = abut_world_impacts_default();
        abut_array poses = abut_array_host(&item.collider.pose);
        abut_cloth *cloth;
        uint32_t index;
        if (again) {
            assert_ok(abut_world_add(world, &item, &index));
            assert_int_equal(index, 4194305);
        } else {
            assert_ok(abut_world_remove(world, old));
        }
        assert_refused(why, abut_world_remove(world, old));
        assert_refused(why, abut_world_replace(world, old, &item));
        assert_refused(why, abut_world_set_poses(world, &old, poses, 1));
        assert_refused(why, abut_world_set_positions(world, old, NULL, poses));
        assert_refused(why, abut_world_ignore(world, old, ids[0], true));
        assert_refused(why, abut_world_ignore(world, ids[0], old, true));
        assert_refused(why, abut_world_get_item_info(world, old, &info));
        assert_refused(why, abut_world_get_pair_info(world, old, ids[0], &pair));
        assert_refused(why, abut_world_get_pair_info(world, ids[2], old, &pair));
        assert_refused(why, abut_world_sweep(world, &old, poses, 1, NULL, &impacts));
        assert_refused(why, abut_world_get_cloth(world, old, &cloth, &index));
        assert_null(abut_world_get_user(world, old));
        if (!again)
            assert_refused("no item with the index 1", abut_world_set_poses(world, NULL, poses, 2));
    }
    assert_ptr_equal(abut_world_get_user(world, 4194305), &user);
    /* Without ids, poses are those of the indices. */
    const abut_pose poses[3] = {{{0, 0, 0, 1}, {0, 0, 0}},
                                {{0, 0, 0, 1}, {1, 0, 0}},
                                {{0, 0, 0, 1}, {2, 0, 0}}};
    assert_ok(abut_world_set_poses(world, NULL, abut_array_host(poses), 3));
    assert_true(world_items(world)[1].at.pose.translation.x == 1);
    assert_refused("no item 4294967295", abut_world_remove(world, ABUT_NONE));
    abut_world_destroy(world);
}

/* The index that has been free for the longest time is used first. The ids of an index repeat after
 * 1024 removals, as documented. */
TEST(indices_are_reused_in_order) {
    uint32_t ids[4], id, first;
    abut_world *world = make_row(serial, 4, ids);
    const uint32_t order[3] = {2, 0, 3};
    const abut_world_item item = ball_at(9);
    for (int i = 0; i < 3; i++)
        assert_ok(abut_world_remove(world, order[i]));
    for (int i = 0; i < 3; i++) {
        assert_ok(abut_world_add(world, &item, &id));
        assert_int_equal(abut_world_index(id), order[i]);
    }
    assert_ok(abut_world_add(world, &item, &id));
    assert_int_equal(id, 4);
    first = id;
    for (int i = 1; i <= 1024; i++) {
        assert_ok(abut_world_remove(world, id));
        assert_ok(abut_world_add(world, &item, &id));
        assert_int_equal(abut_world_index(id), 4);
        assert_true((id == first) == (i == 1024));
    }
    abut_world_destroy(world);
}

/* All lists have ids, in the order of their indices. */
TEST(results_have_ids) {
    enum { COUNT = 4 };
    uint32_t ids[COUNT];
    abut_world *world = make_row(serial, COUNT, ids);
    abut_contact contacts[COUNT];
    abut_contacts found = {.size = sizeof found, .list = contacts, .capacity = COUNT};
    abut_world_event events[2 * COUNT];
    abut_world_pair pairs[COUNT];
    abut_world_impact list[COUNT];
    abut_world_impacts impacts = {.size = sizeof impacts, .list = list, .capacity = COUNT};
    abut_world_step_result step = abut_world_step_result_default();
    assert_int_equal(events_of(world, events, 2 * COUNT), 3);
    ids[0] = exchange(world, exchange(world, ids[0]));
    ids[2] = exchange(world, ids[2]);
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, 3);
    assert_int_equal(list_pairs(world, pairs, COUNT), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(contacts[i].a == ids[i] && contacts[i].b == ids[i + 1]);
        assert_true(pairs[i].a == ids[i] && pairs[i].b == ids[i + 1]);
        assert_true(contacts[i].normal.x < -0.99 && fabs(contacts[i].depth - 0.2) < 1e-12);
    }
    const uint64_t count = events_of(world, events, 2 * COUNT);
    assert_int_equal(count, 6); /* an end and a begin of each pair */
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(events[i].kind, i % 2 ? ABUT_WORLD_EVENT_BEGIN : ABUT_WORLD_EVENT_END);
        assert_true(abut_world_index(events[i].a) == i / 2);
        assert_true(i % 2 ? events[i].a == ids[i / 2] && events[i].b == ids[i / 2 + 1]
                          : events[i].a == i / 2 && events[i].b == i / 2 + 1);
        assert_true(events[i].deepest.a == events[i].a && events[i].deepest.b == events[i].b);
    }
    const abut_pose end = {{0, 0, 0, 1}, {2.5, 0, 0}};
    assert_ok(abut_world_sweep(world, &ids[2], abut_array_host(&end), 1, NULL, &impacts));
    assert_int_equal(impacts.count, 2);
    assert_true(list[0].a == 1 && list[0].b == ids[2] && list[1].a == ids[2] && list[1].b == 3);
    assert_ok(abut_world_step(world, 1, &step));
    assert_int_equal(step.pair_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(step.pairs[i].a == ids[i] && step.pairs[i].b == ids[i + 1]);
    /* An item that is far away, with another index than its place in the order of ids. */
    assert_ok(abut_world_set_poses(world, &ids[0], abut_array_host(&end), 1));
    assert_ok(abut_world_step(world, 1, &step));
    assert_int_equal(step.pair_count, 5);
    assert_true(step.pairs[0].a == ids[0] && step.pairs[0].b == 1 && step.pairs[0].has_impact);
    assert_true(step.pairs[1].a == ids[0] && step.pairs[1].b == ids[2]);
    assert_true(step.pairs[2].a == ids[0] && step.pairs[2].b == 3);
    /* Ignored pairs are those of the items, not of their indices. */
    assert_ok(abut_world_ignore(world, ids[0], ids[2], true));
    assert_ok(abut_world_contacts(world, &found));
    for (uint64_t i = 0; i < found.count; i++)
        assert_false(contacts[i].a == ids[0] && contacts[i].b == ids[2]);
    ids[0] = exchange(world, ids[0]);
    assert_int_equal(world->ignored.count, 0);
    abut_world_destroy(world);
}

/* ---- saved states ---- */

static size_t save(abut_world *world, unsigned char *bytes, size_t capacity) {
    abut_byte_list list = {bytes, capacity, 0};
    assert_ok(abut_world_save(world, &list));
    return (size_t)list.count;
}

enum { STATE_BYTES = 4096 };

/* Another world, and the same one after other items came and went, give later items the same
 * ids. */
TEST(states_have_ids) {
    uint32_t ids[6], others[6], id, wanted[4];
    static unsigned char bytes_of[STATE_BYTES], again[STATE_BYTES];
    abut_world *world = make_row(serial, 6, ids), *other = make_row(serial, 5, others);
    const abut_world_item far = ball_at(90);
    ids[1] = exchange(world, exchange(world, ids[1]));
    assert_ok(abut_world_remove(world, 3));
    assert_ok(abut_world_remove(world, 0));
    assert_ok(abut_world_remove(world, 5));
    const size_t bytes = save(world, bytes_of, STATE_BYTES);
    assert_ok(abut_world_remove(other, 0));
    assert_ok(abut_world_remove(other, 3));
    assert_ok(abut_world_restore(other, bytes_of, bytes)); /* with a free index more */
    assert_int_equal(save(other, again, STATE_BYTES), bytes);
    assert_memory_equal(bytes_of, again, bytes);
    for (int i = 0; i < 4; i++)
        assert_ok(abut_world_add(world, &far, &wanted[i]));
    const uint32_t order[4] = {3, 0, 5, 6};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(abut_world_index(wanted[i]), order[i]);
        assert_ok(abut_world_add(other, &far, &id));
        assert_int_equal(id, wanted[i]);
    }
    assert_refused("not in the state", abut_world_restore(world, bytes_of, bytes));
    for (int i = 3; i >= 0; i--)
        assert_ok(abut_world_remove(world, wanted[i]));
    assert_ok(abut_world_restore(world, bytes_of, bytes)); /* with a free index less */
    assert_int_equal(save(world, again, STATE_BYTES), bytes);
    assert_memory_equal(bytes_of, again, bytes);
    for (int i = 0; i < 4; i++) {
        assert_ok(abut_world_add(world, &far, &id));
        assert_int_equal(id, wanted[i]);
    }
    assert_ok(abut_world_remove(world, ids[1]));
    abut_world_destroy(other);
    abut_world_destroy(world);
}

/* Ids that no world can have. The ids are the last but the free indices, starts and checksum. */
TEST(forged_ids_are_refused) {
    uint32_t ids[3];
    static unsigned char bytes_of[STATE_BYTES], forged[STATE_BYTES], again[STATE_BYTES];
    abut_world *world = make_row(serial, 3, ids);
    ids[1] = exchange(world, ids[1]);
    assert_ok(abut_world_remove(world, 0));
    assert_ok(abut_world_remove(world, 2));
    const size_t bytes = save(world, bytes_of, STATE_BYTES), at = bytes - 8 - 3 - 2 * 4 - 3 * 4;
    const struct {
        size_t number;
        uint32_t value;
    } forgeries[] = {{0, 1}, {1, 2}, {3, 1}, {3, 2}, {4, 0}, {4, 3}, {3, ABUT_NONE}};
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        memcpy(forged, bytes_of, bytes);
        memcpy(forged + at + 4 * forgeries[i].number, &forgeries[i].value, 4);
        const uint64_t sum = abuti_checksum(forged, bytes - 8);
        memcpy(forged + bytes - 8, &sum, 8);
        assert_fails(ABUT_ERROR_FORMAT, "invalid id", abut_world_restore(world, forged, bytes));
        assert_int_equal(save(world, again, STATE_BYTES), bytes);
        assert_memory_equal(bytes_of, again, bytes);
    }
    assert_ok(abut_world_restore(world, bytes_of, bytes));
    abut_world_destroy(world);
}

static const unsigned char *memory_state;
static size_t memory_bytes;

static abut_status restore_row(abut_context *context, void *data) {
    static unsigned char again[STATE_BYTES];
    abut_world *world;
    uint32_t id;
    (void)data;
    abut_status status = abut_world_create(context, NULL, &world);
    if (status)
        return status;
    for (int i = 0; i < 3 && !status; i++) {
        const abut_world_item item = ball_at(i);
        status = abut_world_add(world, &item, &id);
    }
    if (!status) {
        status = abut_world_restore(world, memory_state, memory_bytes);
        const abut_status removed = abut_world_remove(world, status ? 1 : 4194305);
        assert_true(removed == ABUT_OK); /* the ids change together with the rest */
    }
    if (!status) {
        const abut_world_item item = ball_at(1);
        status = abut_world_add(world, &item, &id);
        abut_byte_list list = {again, sizeof again, 0};
        status = status ? status : abut_world_save(world, &list);
    }
    abut_world_destroy(world);
    return status;
}

TEST(out_of_memory) {
    uint32_t ids[3];
    static unsigned char bytes_of[STATE_BYTES];
    abut_world *world = make_row(serial, 3, ids);
    ids[1] = exchange(world, ids[1]);
    memory_bytes = save(world, bytes_of, STATE_BYTES);
    memory_state = bytes_of;
    assert_true(test_every_allocation(restore_row, NULL) > 4);
    abut_world_destroy(world);
}

int main(void) {
    return test_run(make_things, free_things);
}

/* A ball at the index of a removed one has another id, which all queries return and filters use. */
TEST(reused_indices_have_new_ids) {
    abut_world *world = NULL;
    abut_world_item item = abut_world_item_default();
    const abut_collider ball = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.25},
                                                         (abut_pose){{0, 0, 0, 1}, {0, 0, 2}});
    const abut_pose end = {{0, 0, 0, 1}, {0, 0, -2}};
    const abut_ray ray = {{0, 0, 3}, {0, 0, -1}};
    const abut_vec3 point = {0, 0, 0.75};
    uint32_t old, id, other;
    assert_ok(abut_world_create(NULL, NULL, &world));
    item.collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.5}, abut_pose_identity());
    assert_ok(abut_world_add(world, &item, &old));
    assert_ok(abut_world_remove(world, old));
    assert_ok(abut_world_add(world, &item, &id));
    item.collider.pose.translation.x = 4;
    assert_ok(abut_world_add(world, &item, &other));
    assert_true(id != old && abut_world_index(id) == abut_world_index(old));
    assert_ok(abut_world_prepare_queries(world));
    for (int round = 0; round < 3; round++) { /* all; the old id ignored; the new one ignored */
        abut_world_query_options options = abut_world_query_options_default();
        const uint32_t first = round < 2 ? id : ABUT_NONE, nearest = round < 2 ? id : other;
        abut_world_hit hit, hits[4];
        abut_world_hit_list found_hits = {hits, 4, 0};
        abut_world_nearest close;
        abut_world_separation separations[2];
        abut_world_separation_list separation_list = {separations, 2, 0};
        abut_world_cast cast, casts[2];
        abut_world_cast_list cast_list = {casts, 2, 0};
        uint32_t any, ids[2];
        abut_index_list id_list = {ids, 2, 0};
        uint64_t offsets[2];
        options.ignored = round ? (round == 1 ? &old : &id) : NULL;
        options.ignored_count = round > 0;
        const abut_array rays = abut_array_host(&ray), points = abut_array_host(&point);
        assert_ok(abut_world_ray_first(world, rays, 1, HUGE_VAL, &options, &hit, NULL));
        assert_int_equal(hit.id, first);
        assert_ok(
            abut_world_ray_all(world, rays, 1, HUGE_VAL, &options, offsets, &found_hits, NULL));
        assert_int_equal(found_hits.count, round < 2 ? 2 : 0);
        for (uint64_t i = 0; i < found_hits.count; i++)
            assert_int_equal(hits[i].id, id);
        assert_ok(abut_world_nearest_point(world, points, 1, HUGE_VAL, &options, &close, NULL));
        assert_int_equal(close.id, nearest);
        assert_ok(
            abut_world_nearest_items(world, &ball, HUGE_VAL, &options, &separation_list, NULL));
        assert_int_equal(separation_list.count, round < 2 ? 2 : 1);
        assert_int_equal(separations[0].id, nearest);
        assert_ok(abut_world_overlap_any(world, &ball, 1, 2, &options, &any, NULL));
        assert_int_equal(any, first);
        assert_ok(abut_world_overlap_all(world, &ball, 1, 2, &options, offsets, &id_list, NULL));
        assert_int_equal(id_list.count, round < 2);
        assert_true(!id_list.count || ids[0] == id);
        assert_ok(abut_world_cast_first(world, &ball, &end, 1, NULL, &options, &cast, NULL));
        assert_int_equal(cast.id, first);
        assert_ok(
            abut_world_cast_all(world, &ball, &end, 1, NULL, &options, offsets, &cast_list, NULL));
        assert_int_equal(cast_list.count, round < 2);
        assert_true(!cast_list.count || casts[0].id == id);
    }
    abut_world_destroy(world);
}
