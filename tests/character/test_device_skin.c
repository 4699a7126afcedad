/* Skinning on a device: the bits of the CPU, positions in buffers, calls that fail. */
#include "character/rig.h"
#include "device/open.h"

static abut_device *device;

static int set_up(void **state) {
    device = test_device(NULL);
    return 0;
}

static int tear_down(void **state) {
    abut_device_destroy(device);
    return 0;
}

static abut_character_skinner *skinner_of(abut_character *character, int how, abut_device *where) {
    abut_character_skinner_options options = abut_character_skinner_options_default();
    abut_character_skinner *skinner = NULL;
    options.skinning = (abut_character_skinning)how;
    options.device = where;
    assert_ok(abut_character_skinner_create(character, &options, &skinner));
    return skinner;
}

TEST(same_bits) {
    for (int round = 0; round < 4; round++) {
        AUTO_RIG *r =
            rig_make((uint64_t)round + 1, 16 + 5 * (uint32_t)round, round & 1, 10.0 * round);
        test_random random = {9};
        AUTO(character) character = NULL;
        AUTO(buffer) buffer = NULL;
        size_t bytes = r->vertices * sizeof(abut_vec3);
        AUTO_FREE abut_vec3 *here = malloc(bytes), *there = malloc(bytes);
        assert_ok(abut_character_create(NULL, &r->input, &character));
        assert_ok(abut_buffer_create(device, bytes + 40, &buffer));
        for (int how = 0; how < 2; how++) {
            AUTO(character_skinner)
            cpu = skinner_of(character, how, NULL), *on = skinner_of(character, how, device);
            for (int frame = 0; frame < 3; frame++) {
                abut_character_matrix bones[RIG_BONES];
                const double weights[RIG_MORPHS] = {test_random_real(&random, -1, 2), 0.5, 1};
                const double *morphs = frame ? weights : NULL;
                rig_pose(&random, frame == 2, bones, NULL);
                assert_ok(abut_character_skinner_run(cpu, bones, morphs, abut_array_host(here)));
                memset(there, 0, bytes);
                assert_ok(abut_character_skinner_run(on, bones, morphs, abut_array_host(there)));
                assert_memory_equal(here, there, bytes);
                assert_ok(abut_character_skinner_run(on, bones, morphs, abut_array_buffer(buffer)));
                memset(there, 0, bytes);
                assert_ok(abut_buffer_read(buffer, 0, there, bytes));
                assert_memory_equal(here, there, bytes);
            }
        }
    }
}

TEST(refusals) {
    AUTO_RIG *r = rig_make(2, 8, false, 0);
    AUTO(character) character = NULL;
    abut_character_matrix bones[RIG_BONES];
    AUTO(buffer) buffer = NULL;
    assert_ok(abut_character_create(NULL, &r->input, &character));
    assert_ok(abut_character_pose(character, NULL, bones));
    AUTO(character_skinner)
    cpu = skinner_of(character, 0, NULL), *on = skinner_of(character, 0, device);
    assert_ok(abut_buffer_create(device, r->vertices * sizeof(abut_vec3) - 1, &buffer));
    assert_fails(ABUT_ERROR_BUFFER, "positions",
                 abut_character_skinner_run(on, bones, NULL, abut_array_buffer(buffer)));
    assert_refused("positions",
                   abut_character_skinner_run(cpu, bones, NULL, abut_array_buffer(buffer)));
    bones[3].m[0][0] = (double)NAN;
    abut_vec3 first = {42, 0, 0};
    assert_refused("matrix of bone 3",
                   abut_character_skinner_run(on, bones, NULL, abut_array_host(&first)));
    assert_true(first.x == 42);
}

/* Positions go from skinning to a sweep without coming back. */
TEST(sweeps_take_the_buffer) {
    AUTO_RIG *r = rig_make(3, 12, false, 0);
    test_random random = {4};
    AUTO(character) character = NULL;
    abut_buffer *buffers[2] = {NULL, NULL};
    abut_sweep *motions[2] = {NULL, NULL};
    abut_vec3 *positions[2];
    size_t bytes = r->vertices * sizeof(abut_vec3);
    assert_ok(abut_character_create(NULL, &r->input, &character));
    AUTO(character_skinner) on = skinner_of(character, 1, device);
    abut_mesh *rest = abut_character_rest_mesh(character);
    for (int i = 0; i < 2; i++) {
        abut_character_matrix bones[RIG_BONES];
        abut_sweep_options options = abut_sweep_options_default();
        rig_pose(&random, false, bones, NULL);
        positions[i] = malloc(bytes);
        assert_ok(abut_buffer_create(device, bytes, &buffers[i]));
        assert_ok(abut_character_skinner_run(on, bones, NULL, abut_array_buffer(buffers[i])));
        assert_ok(
            abut_character_skin(character, bones, ABUT_CHARACTER_SKINNING_DUAL, positions[i]));
        options.device = i ? device : NULL;
        assert_ok(abut_sweep_create(&rest, 1, &options, &motions[i]));
    }
    assert_ok(abut_sweep_set_positions(motions[0], abut_array_host(positions[0]),
                                       abut_array_host(positions[1])));
    assert_ok(abut_sweep_set_positions(motions[1], abut_array_buffer(buffers[0]),
                                       abut_array_buffer(buffers[1])));
    abut_impact found[2];
    uint64_t counts[2];
    for (int i = 0; i < 2; i++) {
        abut_impact_list impacts = {.list = &found[i], .capacity = 1};
        assert_ok(abut_sweep_find(motions[i], ABUT_SWEEP_EARLIEST, NULL, &impacts, NULL));
        counts[i] = impacts.count;
        abut_sweep_destroy(motions[i]);
        abut_buffer_destroy(buffers[i]);
        free(positions[i]);
    }
    assert_int_equal(1, counts[0]);
    assert_int_equal(1, counts[1]);
    assert_true(found[0].time == found[1].time && found[0].kind == found[1].kind);
}

static abut_status all_of_it(abut_context *context, void *data) {
    rig *r = data;
    AUTO(character) character = NULL;
    AUTO(character_skinner) skinner = NULL;
    abut_character_matrix bones[RIG_BONES];
    AUTO(mesh) mesh = NULL;
    abut_device *own = NULL;
    AUTO(buffer) buffer = NULL;
    abut_character_skinner_options options = abut_character_skinner_options_default();
    abut_status status = abut_character_create(context, &r->input, &character);
    status = status ? status : abut_character_pose(character, NULL, bones);
    own = options.device = device;
    status = status ? status : abut_character_skinner_create(character, &options, &skinner);
    status = status ? status : abut_buffer_create(own, r->vertices * sizeof(abut_vec3), &buffer);
    if (!status)
        status = abut_character_skinner_run(skinner, bones, NULL, abut_array_buffer(buffer));
    return status ? status : abut_character_skinner_mesh(skinner, bones, NULL, &mesh);
}

TEST(every_call_may_fail) {
    AUTO_RIG *r = rig_make(5, 8, true, 0);
    test_every_device_call(all_of_it, r, UINT64_MAX, 1);
}

TEST(every_allocation_may_fail) {
    AUTO_RIG *r = rig_make(5, 8, true, 0);
    assert_true(test_every_allocation(all_of_it, r) > 20);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
