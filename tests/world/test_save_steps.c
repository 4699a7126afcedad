/* Saved states of worlds with cloth and steps: a restored world makes the same steps, bit for bit.
 */
#include "world/saved_steps.h"

#include "base/checksum.h"

/* ---- restored runs ---- */

TEST_THREADS(restored_worlds_make_the_same_steps) {
    for (uint32_t i = 0; i < 2; i++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, i ? 4 : 1);
        check_restored_steps(context, NULL);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
}

/* Items that moved after a step start the next one where they are; items that were added after a
 * step have no start. */
TEST(starts_are_where_items_are) {
    abut_world *worlds[2];
    size_t bytes = 0;
    unsigned char *saved = NULL;
    const abut_pose up = {{0, 0, 0, 1}, {0, 0, 3}}, down = {{0, 0, 0, 1}, {0, 0, -3}};
    const uint32_t late = 2;
    for (int k = 0; k < 2; k++) {
        const abut_world_item still = of_sort(SOLIDS + 3, v3(0, 0, 0)),
                              fast = of_sort(SOLIDS + 1, v3(0, 0, k ? 3 : -3)),
                              other = of_sort(SOLIDS + 1, v3(0, 0, 3));
        worlds[k] = make_world(0, serial);
        add(worlds[k], &still);
        add(worlds[k], &fast);
        if (!k) {
            step(worlds[k]);
            assert_ok(abut_world_set_poses(worlds[k], &(uint32_t){1}, abut_array_host(&up), 1));
        }
        assert_int_equal(late, add(worlds[k], &other));
        if (!k)
            saved = save_world(worlds[k], &bytes);
        else
            assert_ok(abut_world_restore(worlds[k], saved, bytes));
    }
    const abut_pose poses[3] = {here, down, down};
    assert_ok(abut_world_set_poses(worlds[1], NULL, abut_array_host(poses), 3));
    const abut_world_step_result result = step(worlds[1]);
    const abut_world_step_pair *pair = find_pair(&result, 0, 1);
    assert_true(pair && pair->has_impact && !find_pair(&result, 0, late));
    free(saved);
    abut_world_destroy(worlds[0]);
    abut_world_destroy(worlds[1]);
}

/* Before the first step, sheets are where the cloth has rounded them to, also if they touch. */
TEST(a_world_is_saved_before_its_first_step) {
    static stage_frame before, after;
    stage s[2] = {{0}};
    size_t bytes = 0;
    unsigned char *saved = NULL;
    for (int k = 0; k < 2; k++) {
        abut_world_item crossed = of_mesh(teapot, ABUT_WORLD_EXACT, v3(0, 0, 0.45));
        assert_ok(create_stage(serial, NULL, &s[k]));
        add(s[k].world, &crossed);
        crossed = of_mesh(sheet, ABUT_WORLD_EXACT, v3(0.1, 0.7, 0.33));
        crossed.collider.pose.rotation = (abut_quat){0.1, 0.2, 0.3, 0.9};
        crossed.cloth = &(abut_cloth_material){.size = sizeof(abut_cloth_material)};
        add(s[k].world, &crossed);
        place_stage(&s[k], 0);
    }
    saved = save_world(s[0].world, &bytes);
    read_stage(&s[0], &before);
    assert_true(before.contact_count > 20);
    assert_ok(abut_world_restore(s[1].world, saved, bytes));
    read_stage(&s[1], &after);
    assert_memory_equal(&before, &after, sizeof before);
    assert_refused("intersects", abut_world_step(s[1].world, 0.01, NULL));
    free(saved);
    destroy_stage(&s[0]);
    destroy_stage(&s[1]);
}

/* A sheet on a ball and on a plane, with contacts of equal depth. */
static abut_world *make_draped(const abut_mesh *cover) {
    abut_world_options options = abut_world_options_default();
    abut_cloth_options air = abut_cloth_options_default();
    const abut_cloth_material cotton = abut_cloth_material_default();
    const abut_plane ground = {{0, 0, 1}, 0};
    abut_world *world = NULL;
    abut_world_item item = abut_world_item_default();
    uint32_t id;
    air.gravity.z = -9.81;
    options.cloth = &air;
    options.margin = 0.02;
    assert_ok(abut_world_create(serial, &options, &world));
    item.collider = abut_collider_from_plane(ground, here);
    assert_ok(abut_world_add(world, &item, &id));
    item.collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.15}, here);
    item.collider.pose.translation.z = 0.2;
    assert_ok(abut_world_add(world, &item, &id));
    item.collider = abut_collider_from_mesh(cover, here);
    item.collider.pose.translation = v3(0.2, 0, 0.6);
    item.cloth = &cotton;
    assert_ok(abut_world_add(world, &item, &id));
    return world;
}

/* Every state can be restored, however the shape of cloth has changed since it was added. */
TEST(draped_cloth_is_restored) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_mesh *cover = NULL;
    abut_world *worlds[2];
    uint64_t contacts = 0;
    shape.segments = shape.rings = 16;
    shape.extent = v3(1.2, 1.2, 0);
    assert_ok(abut_shape_create(serial, &shape, &cover));
    for (int k = 0; k < 2; k++)
        worlds[k] = make_draped(cover);
    for (int frame = 0; frame < 40; frame++) {
        size_t bytes;
        contacts += step(worlds[0]).contact_count;
        if (frame < 20)
            continue;
        unsigned char *saved = save_world(worlds[0], &bytes);
        assert_ok(abut_world_restore(worlds[1], saved, bytes));
        free(saved);
    }
    assert_true(contacts > 400);
    abut_world_destroy(worlds[0]);
    abut_world_destroy(worlds[1]);
    abut_mesh_destroy(cover);
}

/* ---- what is refused ---- */

static void assert_refused_unchanged(stage *s, const char *part, const unsigned char *bad,
                                     size_t bytes) {
    static stage_frame before, after;
    read_stage(s, &before);
    const abut_status status = abut_world_restore(s->world, bad, bytes);
    assert_true(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_ARGUMENT ||
                status == ABUT_ERROR_UNSUPPORTED);
    if (part && !strstr(abut_last_error(), part))
        fail_msg("%s: %s", part, abut_last_error());
    read_stage(s, &after);
    assert_memory_equal(&before, &after, sizeof before);
}

static void set_checksum(unsigned char *state, size_t bytes) {
    const uint64_t sum = abuti_checksum(state, bytes - sizeof sum);
    memcpy(state + bytes - sizeof sum, &sum, sizeof sum);
}

/* Bytes of the cloth inside the state, which are valid up to the checksum of the whole. */
TEST(damage_is_refused) {
    stage s = {0};
    size_t bytes;
    assert_ok(create_stage(serial, NULL, &s));
    run_stage(&s, 0, 4);
    unsigned char *saved = save_world(s.world, &bytes), *bad = malloc(bytes);
    for (size_t i = 0; i < bytes; i += 1 + i / 50) {
        memcpy(bad, saved, bytes);
        bad[i] ^= 4;
        assert_refused_unchanged(&s, NULL, bad, bytes);
        assert_refused_unchanged(&s, NULL, saved, i);
        if (i + 8 < bytes - 8 && i > bytes / 2) { /* a byte of the cloth */
            set_checksum(bad, bytes);
            assert_refused_unchanged(&s, "damaged", bad, bytes);
        }
    }
    free(bad);
    free(saved);
    destroy_stage(&s);
}

/* Other materials, and contacts that do not follow: the shapes of sheets are those before. */
TEST(other_worlds_are_refused) {
    stage s = {0}, other = {0};
    size_t bytes;
    assert_ok(create_stage(serial, NULL, &s));
    run_stage(&s, 0, 4);
    unsigned char *saved = save_world(s.world, &bytes);
    run_stage(&s, 4, 7);
    place_stage(&s, 3); /* except the sheet, all is as it was saved */
    saved[24] ^= 1;     /* of the digest of contacts */
    set_checksum(saved, bytes);
    assert_refused_unchanged(&s, "not those that were saved", saved, bytes);
    saved[24] ^= 1;
    set_checksum(saved, bytes);
    other.density = 0.4;
    assert_ok(create_stage(serial, NULL, &other));
    place_stage(&other, 3);
    assert_refused_unchanged(&other, "its mesh or its material", saved, bytes);
    assert_ok(abut_world_restore(s.world, saved, bytes));
    free(saved);
    destroy_stage(&s);
    destroy_stage(&other);
}

/* ---- memory ---- */

static const unsigned char *memory_state;
static size_t memory_bytes;

static abut_status restore_and_step(abut_context *context, void *data) {
    stage s = {0};
    abut_world_step_result result = abut_world_step_result_default();
    abut_status status = create_stage(context, NULL, &s);
    if (!status)
        place_stage_quietly(&s, 3, &status);
    if (!status)
        status = abut_world_restore(s.world, memory_state, memory_bytes);
    if (!status)
        status = abut_world_step(s.world, 1.0 / 60, &result);
    destroy_stage(&s);
    return status;
}

/* A digest for which there is no memory is only not cached, so that some failures have no effect.
 */
TEST(out_of_memory) {
    stage s = {0};
    uint32_t failures = 0, successes = 0;
    assert_ok(create_stage(serial, NULL, &s));
    run_stage(&s, 0, 4);
    unsigned char *saved = save_world(s.world, &memory_bytes);
    memory_state = saved;
    bool is_done = false;
    for (uint64_t n = 1; !is_done; n += 1 + n / 64) {
        test_memory memory = {.fail_at = n};
        abut_context *context = test_context(&memory, 1);
        const abut_status status = restore_and_step(context, NULL);
        is_done = memory.calls < n;
        if (status && (is_done || status != ABUT_ERROR_MEMORY))
            fail_msg("allocation %u: %s", (uint32_t)n, abut_last_error());
        failures += status == ABUT_ERROR_MEMORY;
        successes += !status;
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
    }
    assert_true(failures > 100 && successes < 10);
    free(saved);
    destroy_stage(&s);
}

int main(void) {
    return test_run(set_up, tear_down);
}
