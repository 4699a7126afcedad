/* Motions on a device: the impacts of the CPU and of all single pairs, bit for bit; with lists
 * that are too small at first; and no leak if the device or the memory fails. */
#include "device/open.h"

#include "sweep/device.h"
#include "sweep/scene.h"

static abut_device *device;

static abut_sweep *begin(scene *s) {
    s->options.device = device;
    return scene_motion(s);
}

/* The same on the CPU. */
static abut_sweep *begin_here(scene *s) {
    s->options.device = NULL;
    return scene_motion(s);
}

/* Makes all lists as small as they can be. */
static void make_small(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    assert_true(d->pairs.room && d->tried.room && d->open.room && d->hits.room);
    d->pairs.room = d->tried.room = d->open.room = d->hits.room = 1;
}

/* Makes EARLIEST cut the step as it does where there is much to look at. */
static void look_twice(abut_sweep *motion) {
    motion->on_device->ordered_pairs = 0;
}

TEST(random_motions_agree_with_every_pair) {
    test_random random = {61};
    AUTO(context) serial = test_context(NULL, 1);
    for (uint32_t round = 0; round < test_rounds(32); round++) {
        AUTO_SCENE s = random_scene(serial, &random, round);
        referee r;
        scene_judge(&s, &r);
        AUTO(sweep) motion = begin(&s);
        scene_check(&s, motion, &r);
        if (motion->on_device->pairs.room) {
            look_twice(motion);
            if (round % 4 == 0)
                make_small(motion);
            scene_check(&s, motion, &r);
        }
        free(r.impacts);
    }
}

/* Points too, which the referee does not have. */
static void same_as_the_cpu(const scene *s, abut_sweep *there, abut_sweep *here) {
    abut_impact *impacts[2];
    abut_sweep_counts counts[2] = {abut_sweep_counts_default(), abut_sweep_counts_default()};
    size_t count = find_impacts(s, there, ABUT_SWEEP_ALL, &impacts[0], &counts[0]);
    assert_int_equal(count, find_impacts(s, here, ABUT_SWEEP_ALL, &impacts[1], &counts[1]));
    assert_true(count > 0);
    assert_memory_equal(&counts[0], &counts[1], sizeof counts[0]);
    for (size_t i = 0; i < count; i++) {
        scene_same(&impacts[1][i], &impacts[0][i]);
        assert_memory_equal(&impacts[1][i].point, &impacts[0][i].point, sizeof(vec3));
    }
    free(impacts[0]);
    free(impacts[1]);
}

/* Shapes with more than one level of blocks, from step to step. */
TEST(steps_agree_with_the_cpu) {
    test_random random = {62};
    for (int k = 0; k < 3; k++) {
        AUTO_SCENE s = shapes(NULL, k == 0 ? 2 : 1);
        s.sweep.separation = k == 1 ? 0.02 : 0;
        s.options.skip_self = k == 2;
        AUTO(sweep) there = begin(&s), *here = begin_here(&s);
        same_as_the_cpu(&s, there, here);
        if (k) {
            make_small(there);
            same_as_the_cpu(&s, there, here);
        }
        for (uint32_t round = 0; k && round < 2; round++) {
            memcpy(s.start, s.end, s.vertex_count * sizeof *s.start);
            move_all(&s, &random, 0.05, false);
            assert_ok(
                abut_sweep_set_positions(there, abut_array_host(NULL), abut_array_host(s.end)));
            assert_ok(
                abut_sweep_set_positions(here, abut_array_host(NULL), abut_array_host(s.end)));
            same_as_the_cpu(&s, there, here);
        }
    }
}

/* ---- positions that are on the device ---- */

static abut_buffer *upload(const vec3 *positions, uint32_t count) {
    abut_buffer *buffer;
    assert_ok(abut_buffer_create(device, count * sizeof *positions, &buffer));
    assert_ok(abut_buffer_write(buffer, 0, positions, count * sizeof *positions));
    return buffer;
}

/* From step to step, some through the host: the same answers as without a device, bit for bit. */
TEST(steps_on_the_device_agree) {
    test_random random = {64};
    AUTO_SCENE s = shapes(NULL, 1);
    AUTO(sweep) there, *here;
    abut_buffer *buffers[2];
    s.options.device = device;
    assert_ok(abut_sweep_create(s.meshes, s.mesh_count, &s.options, &there));
    s.options.device = NULL;
    assert_ok(abut_sweep_create(s.meshes, s.mesh_count, &s.options, &here));
    assert_ok(abut_sweep_set_positions(here, abut_array_host(s.start), abut_array_host(s.end)));
    buffers[0] = upload(s.start, s.vertex_count);
    buffers[1] = upload(s.end, s.vertex_count);
    assert_ok(abut_sweep_set_positions(there, abut_array_buffer(buffers[0]),
                                       abut_array_buffer(buffers[1])));
    same_as_the_cpu(&s, there, here);
    for (uint32_t round = 0; round < 5; round++) {
        s.sweep.exact = round % 2; /* wants positions here */
        memcpy(s.start, s.end, s.vertex_count * sizeof *s.start);
        move_all(&s, &random, 0.05, false);
        assert_ok(abut_sweep_set_positions(here, abut_array_host(NULL), abut_array_host(s.end)));
        if (round == 2) { /* some that no one looks at; and a start that is the last end */
            assert_ok(
                abut_sweep_set_positions(there, abut_array_host(s.end), abut_array_host(s.start)));
            assert_ok(
                abut_sweep_set_positions(there, abut_array_host(NULL), abut_array_host(s.end)));
            assert_ok(
                abut_sweep_set_positions(there, abut_array_host(NULL), abut_array_host(s.start)));
            assert_ok(
                abut_sweep_set_positions(there, abut_array_host(s.start), abut_array_host(s.end)));
            assert_false(there->place.has_start);
        } else if (round == 4) {
            assert_ok(abut_buffer_write(buffers[0], 0, s.start, s.vertex_count * sizeof *s.end));
            assert_ok(abut_buffer_write(buffers[1], 0, s.end, s.vertex_count * sizeof *s.end));
            assert_ok(abut_sweep_set_positions(there, abut_array_buffer(buffers[0]),
                                               abut_array_buffer(buffers[1])));
            assert_false(there->place.has_start);
            assert_ok(abut_sweep_set_positions(there, abut_array_buffer(buffers[0]),
                                               abut_array_buffer(buffers[1])));
            assert_true(there->place.has_start);
        } else {
            assert_ok(abut_buffer_write(buffers[1], 0, s.end, s.vertex_count * sizeof *s.end));
            assert_ok(abut_sweep_set_positions(there, abut_array_buffer(NULL),
                                               abut_array_buffer(buffers[1])));
        }
        same_as_the_cpu(&s, there, here);
        assert_true(there->place.extent == here->place.extent &&
                    there->place.box.lo.x == here->place.box.lo.x &&
                    there->place.box.hi.z == here->place.box.hi.z);
    }
    for (int k = 0; k < 2; k++)
        abut_buffer_destroy(buffers[k]);
}

/* What is refused changes nothing: the same search gives the same answer afterwards. */
TEST(refused_on_the_device) {
    AUTO_SCENE s = shapes(NULL, 1);
    AUTO(sweep) there = begin(&s), *here;
    AUTO_FREE abut_impact *before, *after;
    const uint32_t last = s.vertex_count - 1;
    abut_buffer *good = upload(s.end, s.vertex_count), *small = upload(s.end, last), *bad;
    vec3 kept = s.end[last];
    s.options.device = NULL;
    assert_ok(abut_sweep_create(s.meshes, s.mesh_count, &s.options, &here));
    size_t count = find_impacts(&s, there, ABUT_SWEEP_ALL, &before, NULL);
    assert_refused("sweep is null", abut_sweep_set_positions(NULL, abut_array_buffer(NULL),
                                                             abut_array_buffer(good)));
    assert_refused("end is null", abut_sweep_set_positions(there, abut_array_buffer(good),
                                                           abut_array_buffer(NULL)));
    assert_refused("without a device", abut_sweep_set_positions(here, abut_array_buffer(NULL),
                                                                abut_array_buffer(good)));
    assert_fails(ABUT_ERROR_BUFFER, "start has",
                 abut_sweep_set_positions(there, abut_array_buffer(small),
                                          abut_array_buffer(good)));
    assert_fails(ABUT_ERROR_BUFFER, "end has",
                 abut_sweep_set_positions(there, abut_array_buffer(NULL),
                                          abut_array_buffer(small)));
    const double values[] = {NAN, INFINITY, -2e90};
    for (int k = 0; k < 3; k++) {
        char text[64];
        s.end[last] = kept;
        (&s.end[last].x)[k] = values[k];
        bad = upload(s.end, s.vertex_count);
        snprintf(text, sizeof text, "end[%u] is (", last);
        assert_refused(text, abut_sweep_set_positions(there, abut_array_buffer(NULL),
                                                      abut_array_buffer(bad)));
        snprintf(text, sizeof text, "start[%u] is (", last);
        assert_refused(text, abut_sweep_set_positions(there, abut_array_buffer(bad),
                                                      abut_array_buffer(good)));
        assert_refused(text, abut_sweep_set_positions(there, abut_array_host(s.end),
                                                      abut_array_host(s.start)));
        abut_buffer_destroy(bad);
    }
    s.end[last] = kept;
    vec3 *tiny = malloc(s.vertex_count * sizeof *tiny);
    assert_non_null(tiny);
    for (uint32_t i = 0; i < s.vertex_count; i++)
        tiny[i] = v3_scale(s.end[i], 1e-120);
    bad = upload(tiny, s.vertex_count);
    assert_refused("end: the longest side", abut_sweep_set_positions(there, abut_array_buffer(NULL),
                                                                     abut_array_buffer(bad)));
    assert_refused("start: the longest side",
                   abut_sweep_set_positions(there, abut_array_buffer(bad),
                                            abut_array_buffer(good)));
    assert_refused("end: the longest side",
                   abut_sweep_set_positions(there, abut_array_buffer(NULL), abut_array_host(tiny)));
    abut_buffer_destroy(bad);
    free(tiny);
    AUTO(device) other = test_device(NULL);
    assert_ok(abut_buffer_create(other, s.vertex_count * sizeof(vec3), &bad));
    assert_refused("is not on the device", abut_sweep_set_positions(there, abut_array_buffer(NULL),
                                                                    abut_array_buffer(bad)));
    abut_buffer_destroy(bad);
    assert_int_equal(count, find_impacts(&s, there, ABUT_SWEEP_ALL, &after, NULL));
    assert_memory_equal(before, after, count * sizeof *before);
    abut_buffer_destroy(good);
    abut_buffer_destroy(small);
}

/* Candidates that are too many for the memory of the device are made in parts. */
TEST(parts_agree_with_the_cpu) {
    AUTO_SCENE s = shapes(NULL, 1);
    AUTO(sweep) there = begin(&s), *here = begin_here(&s);
    there->on_device->tried.limit = 1024;
    same_as_the_cpu(&s, there, here);
    assert_int_equal(1024, there->on_device->tried.room);
    for (int mode = ABUT_SWEEP_ANY; mode <= ABUT_SWEEP_EARLIEST; mode++) {
        abut_impact *impacts[2];
        look_twice(there);
        assert_int_equal(1, find_impacts(&s, there, (abut_sweep_mode)mode, &impacts[0], NULL));
        assert_int_equal(1, find_impacts(&s, here, (abut_sweep_mode)mode, &impacts[1], NULL));
        if (mode == ABUT_SWEEP_EARLIEST)
            scene_same(impacts[1], impacts[0]);
        free(impacts[0]);
        free(impacts[1]);
    }
    there->on_device->hits.limit = 3; /* and too many hits are refused */
    there->on_device->hits.room = 1;
    abut_impact_list found = {.count = 5};
    assert_fails(ABUT_ERROR_LIMIT, "the limit is 3",
                 abut_sweep_find(there, ABUT_SWEEP_ALL, NULL, &found, NULL));
    there->on_device->pairs.limit = 2;
    there->on_device->pairs.room = 1;
    assert_fails(ABUT_ERROR_LIMIT, "pairs of blocks of 32 features; the limit is 2",
                 abut_sweep_find(there, ABUT_SWEEP_ALL, NULL, &found, NULL));
    assert_int_equal(5, found.count);
}

/* The same every time, also with lists that are too small. */
TEST(any_is_the_same_every_time) {
    AUTO_SCENE s = shapes(NULL, 1);
    AUTO(sweep) motion = begin(&s);
    AUTO_FREE abut_impact *first;
    size_t count = find_impacts(&s, motion, ABUT_SWEEP_ANY, &first, NULL);
    assert_int_equal(1, count);
    for (int k = 0; k < 3; k++) {
        AUTO_FREE abut_impact *again;
        if (k)
            make_small(motion);
        assert_int_equal(1, find_impacts(&s, motion, ABUT_SWEEP_ANY, &again, NULL));
        assert_memory_equal(first, again, sizeof *first);
    }
}

TEST(identical_triangles_are_counted) {
    AUTO_SCENE s = identical_triangles(NULL, 64);
    AUTO(sweep) motion = begin(&s);
    check_identical(motion, 64, "30240 impacts");
    abut_impact impacts[1];
    /* Where one is wanted, too many others are no matter. */
    motion->on_device->hits.limit = motion->on_device->hits.room = 4096;
    abut_impact_list found = {.list = impacts, .capacity = 1};
    for (int k = 0; k < 2; k++) {
        assert_ok(abut_sweep_find(motion, ABUT_SWEEP_EARLIEST, NULL, &found, NULL));
        assert_true(found.count == 1 && impacts[0].kind == ABUT_IMPACT_VERTEX_FACE);
        assert_true(impacts[0].element[0] == 0 && impacts[0].element[1] == 1);
        look_twice(motion);
    }
}

/* Sweeps of more steps than all rounds have, and of fewer than one has. */
TEST(steps_are_counted_as_on_the_cpu) {
    static const uint32_t steps[] = {1, 3, 7, 100};
    AUTO_SCENE s = shapes(NULL, 1);
    AUTO(sweep) there = begin(&s), *here = begin_here(&s);
    for (int k = 0; k < 4; k++) {
        s.sweep.steps = steps[k];
        there->on_device->round_steps[0] = 1 + k;
        there->on_device->round_steps[1] = 2 + k;
        same_as_the_cpu(&s, there, here);
    }
}

/* ---- failures ---- */

/* A step from positions on the device, of which a failure changes nothing. */
static abut_status step_there(abut_sweep *motion, const scene *s) {
    abut_impact impact;
    abut_impact_list found = {.list = &impact, .capacity = 1};
    AUTO(buffer) end = NULL;
    const size_t bytes = s->vertex_count * sizeof(vec3);
    abut_status status = abut_buffer_create(device, bytes, &end);
    status = status ? status : abut_buffer_write(end, 0, s->end, bytes);
    if (!status &&
        (status = abut_sweep_set_positions(motion, abut_array_buffer(NULL),
                                           abut_array_buffer(end))) == ABUT_ERROR_DEVICE) {
        abuti_opencl_fail_at(0);
        assert_ok(
            abut_sweep_set_positions(motion, abut_array_buffer(NULL), abut_array_buffer(end)));
        assert_ok(abut_sweep_find(motion, ABUT_SWEEP_ANY, NULL, &found, NULL));
        assert_int_equal(1, found.count);
    }
    return status;
}

/* The meshes are there before anything may fail, and made again for each context. */
static abut_status live_a_little(abut_context *context, void *data) {
    const scene *from = data;
    scene s;
    AUTO(sweep) motion = NULL;
    AUTO_FREE abut_impact *impacts = malloc(4096 * sizeof *impacts);
    abut_status status = copy_scene(context, from, &s, &motion);
    for (int mode = 0; !status && mode < 3; mode++) {
        abut_impact_list found = {.list = impacts, .capacity = 4096, .count = UINT64_MAX};
        if (mode == 2)
            make_small(motion);
        look_twice(motion);
        status = abut_sweep_find(motion, (abut_sweep_mode)mode, NULL, &found, NULL);
        assert_int_equal(!status, found.count != UINT64_MAX);
        if (status == ABUT_ERROR_DEVICE) { /* the next try is as good as any */
            abuti_opencl_fail_at(0);
            assert_ok(abut_sweep_find(motion, (abut_sweep_mode)mode, NULL, &found, NULL));
            assert_true(found.count > 0 && found.count != UINT64_MAX);
        }
    }
    if (!status && (status = abut_sweep_set_positions(motion, abut_array_host(NULL),
                                                      abut_array_host(from->start)))) {
        assert_memory_equal(motion->end, from->end, from->vertex_count * sizeof(vec3));
        abuti_opencl_fail_at(0);
        abut_impact_list found = {.list = impacts, .capacity = 4096};
        assert_ok(abut_sweep_find(motion, ABUT_SWEEP_ANY, NULL, &found, NULL));
        assert_int_equal(1, found.count);
    }
    status = status ? status : step_there(motion, from);
    scene_free(&s);
    return status;
}

TEST(every_call_of_the_device) {
    AUTO_SCENE s = two_soups(63);
    s.options.device = device;
    /* Every argument of a kernel is a call: of those of the searches one in 29 is tried. */
    test_every_device_call(live_a_little, &s, 100, 29);
}

TEST(every_allocation) {
    AUTO_SCENE s = two_soups(63);
    s.options.device = device;
    assert_true(test_every_allocation(live_a_little, &s) > 12);
}

TEST(other_devices_are_refused) {
    AUTO_SCENE s = two_soups(63);
    s.options.device = device;
    abut_sweep *motion = NULL;
    device->info.has_doubles = false;
    assert_fails(ABUT_ERROR_DEVICE, "has no doubles",
                 abut_sweep_create(s.meshes, 1, &s.options, &motion));
    device->info.has_doubles = true;
    bool same = device->info.same_bits;
    device->info.same_bits = false;
    assert_fails(ABUT_ERROR_DEVICE, "round", abut_sweep_create(s.meshes, 1, &s.options, &motion));
    device->info.same_bits = same;
    assert_null(motion);
}

static int set_up(void **state) {
    device = test_device(NULL);
    return 0;
}

static int tear_down(void **state) {
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return 0;
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
