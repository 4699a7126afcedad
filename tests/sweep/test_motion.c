/* Motions on the CPU against all single pairs, bit for bit; and motions that are zero, fast,
 * crowded, cancelled and out of memory. */
#include "sweep/scene.h"

#include "base/simd.h"

static void check_scene(const scene *s) {
    referee r;
    scene_judge(s, &r);
    AUTO(sweep) motion = scene_motion(s);
    scene_check(s, motion, &r);
    free(r.impacts);
}

/* ---- against every pair by itself ---- */

TEST(random_motions_agree_with_every_pair) {
    test_random random = {51};
    AUTO(context) serial = test_context(NULL, 1);
    for (uint32_t round = 0; round < test_rounds(160); round++) {
        AUTO_SCENE s = random_scene(serial, &random, round);
        check_scene(&s);
    }
}

TEST(shapes_agree_with_every_pair) {
    for (int k = 0; k < 3; k++) {
        AUTO_SCENE s = shapes(NULL, 1);
        s.sweep.separation = k == 1 ? 0.02 : 0;
        s.options.skip_self = k == 2;
        check_scene(&s);
    }
}

/* Triangles that are points have no edges, those that are segments have one. */
TEST(points_and_segments_are_legal) {
    const vec3 square[4] = {{0, 0, 0}, {4, 0, 0}, {0, 4, 0}, {4, 4, 0}};
    const vec3 above[3] = {{1, 1, 1}, {3, 1, 1}, {9, 9, 9}};
    const uint32_t two[6] = {0, 1, 2, 1, 3, 2}, point[3] = {0, 0, 0}, segment[3] = {0, 1, 0};
    for (int k = 0; k < 3; k++) {
        AUTO_SCENE s = {.options = abut_sweep_options_default(),
                        .sweep = abut_sweep_find_options_default()};
        scene_add(&s, NULL, above, 3, k == 1 ? segment : point, 1); /* its last vertex is unused */
        if (k < 2)
            scene_add(&s, NULL, square, 4, two, 2);
        for (uint32_t i = 0; i < 3; i++)
            s.end[i].z -= 3;
        check_scene(&s);
        AUTO(sweep) motion = scene_motion(&s);
        abut_impact first;
        abut_impact_list found = {.list = &first, .capacity = 1};
        assert_ok(abut_sweep_find(motion, ABUT_SWEEP_EARLIEST, NULL, &found, NULL));
        assert_int_equal(k < 2, found.count);
        if (k < 2)
            assert_true(fabs(first.time - 1.0 / 3) < 1e-6 && fabs(first.point.z) < 1e-6);
    }
}

/* Long steps are searched part by part: balls that collide early, late or never, with more around
 * them that is always near itself. */
TEST(earliest_is_the_first_of_all) {
    test_random random = {54};
    uint32_t late = 0, none = 0;
    for (uint32_t round = 0; round < test_rounds(24); round++) {
        AUTO_SCENE s = {.options = abut_sweep_options_default(),
                        .sweep = abut_sweep_find_options_default()};
        double far = test_random_real(&random, 2.5, 12), part = test_random_real(&random, 0.5, 1.5);
        s.sweep.separation = round % 4 == 1 ? 0.01 : 0;
        s.sweep.exact = round % 4 == 2;
        for (int k = 0; k < 3; k++)
            add_shape(&s, NULL, ABUT_SHAPE_ICOSPHERE, 3,
                      v3(k * far, test_random_real(&random, 0, 0.5), 0), 0,
                      v3((1 - k) * part * far, test_random_real(&random, -0.3, 0.3), 0));
        add_shape(&s, NULL, ABUT_SHAPE_SHEET, 6, v3(0, 0, 4), 0, v3(20, 3, 0.5));
        AUTO(sweep) motion = scene_motion(&s);
        abut_impact_list all = {.list = malloc(SCENE_HITS * sizeof *all.list),
                                .capacity = SCENE_HITS};
        abut_impact first;
        abut_impact_list one = {.list = &first, .capacity = 1};
        assert_ok(abut_sweep_find(motion, ABUT_SWEEP_ALL, &s.sweep, &all, NULL));
        assert_ok(abut_sweep_find(motion, ABUT_SWEEP_EARLIEST, &s.sweep, &one, NULL));
        assert_int_equal(all.count > 0, one.count);
        if (all.count)
            scene_same(&all.list[0], &first);
        none += !all.count;
        late += all.count && first.time > 0.3;
        free(all.list);
    }
    assert_true(test_rounds(24) < 24 || (late > 4 && none > 1));
}

/* ---- the same on any number of threads and lanes, from step to step ---- */

TEST_THREADS(threads_and_lanes_make_no_difference) {
    for (int mode = ABUT_SWEEP_ANY; mode <= ABUT_SWEEP_ALL; mode++) {
        abut_impact *first = NULL;
        size_t first_count = 0;
        abut_sweep_counts first_counts = abut_sweep_counts_default();
        for (int k = 0; k < (abuti_simd_lanes() > 4 ? 4 : 2); k++) {
            abut_context *context = test_context(NULL, k == 1 ? 5 : 1);
            scene s = shapes(context, 1);
            abut_sweep *motion = scene_motion(&s);
            abut_impact *impacts;
            abut_sweep_counts counts = abut_sweep_counts_default();
            abuti_simd_limit_lanes(k == 2 ? 8 : k == 3 ? 4 : 16);
            size_t count = find_impacts(&s, motion, (abut_sweep_mode)mode, &impacts, &counts);
            abuti_simd_limit_lanes(16);
            abut_sweep_destroy(motion);
            scene_free(&s);
            abut_context_destroy(context);
            if (k) {
                assert_int_equal(first_count, count);
                assert_memory_equal(first, impacts, count * sizeof *impacts);
                assert_memory_equal(&first_counts, &counts, sizeof counts);
                free(impacts);
            } else {
                first = impacts;
                first_count = count;
                first_counts = counts;
            }
        }
        assert_true(first_count > 0);
        free(first);
    }
}

TEST(steps_follow_each_other) {
    test_random random = {52};
    AUTO_SCENE s = shapes(NULL, 1);
    abut_sweep *motion = scene_motion(&s);
    for (uint32_t round = 0; round < 20; round++) { /* features are sorted twice */
        /* bodies that were among each other part: the order does not fit any more */
        memcpy(s.start, s.end, s.vertex_count * sizeof *s.start);
        for (uint32_t i = s.meshes[0]->vertex_count; round == 2 && i < s.vertex_count; i++)
            s.start[i].x += 50;
        move_all(&s, &random, 0.05, false);
        assert_ok(abut_sweep_set_positions(motion, abut_array_host(round == 2 ? s.start : NULL),
                                           abut_array_host(s.end)));
        referee r;
        scene_judge(&s, &r);
        assert_true(r.count > 0);
        scene_check(&s, motion, &r);
        free(r.impacts);
    }
    abut_sweep_destroy(motion);
    motion = NULL;
    /* the first start is where the meshes are */
    assert_ok(abut_sweep_create(s.meshes, s.mesh_count, NULL, &motion));
    for (uint32_t k = 0, v = 0; k < s.mesh_count; k++)
        for (uint32_t i = 0; i < s.meshes[k]->vertex_count; i++)
            s.start[v++] = abuti_mesh_position(s.meshes[k], i);
    assert_ok(abut_sweep_set_positions(motion, abut_array_host(NULL), abut_array_host(s.end)));
    assert_memory_equal(s.start, motion->start, s.vertex_count * sizeof *s.start);
    abut_sweep_destroy(motion);
}

/* ---- too many to keep ---- */

TEST_THREADS(identical_triangles_are_counted) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 2);
    scene s = identical_triangles(context, 64);
    abut_sweep *motion = scene_motion(&s);
    check_identical(motion, 64, "30240 impacts");
    assert_true(memory.peak_bytes < 10 << 20);
    abut_sweep_destroy(motion);
    scene_free(&s);
    abut_context_destroy(context);
    assert_int_equal(0, memory.live_count);
}

typedef struct patience {
    uint32_t calls, most;
    double last;
} patience;

static bool report(void *user, const char *stage, double fraction) {
    patience *p = user;
    if (strcmp(stage, "sweep")) /* of the mesh */
        return true;
    assert_true(fraction >= p->last && fraction <= 1);
    p->last = fraction;
    return p->calls++ < p->most;
}

TEST(crowds_can_be_cancelled) {
    patience p = {.most = 1};
    abut_context_options options = abut_context_options_default();
    options.progress_user = &p;
    options.progress = report;
    options.thread_count = 2;
    AUTO(context) context;
    assert_ok(abut_context_create(&options, &context));
    AUTO_SCENE s = identical_triangles(context, 2000); /* would take a minute */
    AUTO(sweep) motion = scene_motion(&s);
    abut_impact impact = {.time = 77};
    abut_impact_list found = {.list = &impact, .capacity = 1, .count = 5};
    abut_sweep_counts counts = {sizeof counts, 6, 7};
    assert_fails(ABUT_ERROR_CANCELLED, "sweep",
                 abut_sweep_find(motion, ABUT_SWEEP_ALL, NULL, &found, &counts));
    assert_int_equal(2, p.calls);
    assert_true(impact.time == 77 && found.count == 5 && counts.vertex_face == 6);
}

/* ---- refused ---- */

static abut_status all_of_it(abut_context *context, void *data) {
    scene s;
    AUTO(sweep) motion = NULL;
    AUTO_FREE abut_impact *impacts = malloc(4096 * sizeof *impacts);
    abut_status status = copy_scene(context, data, &s, &motion);
    for (int mode = 0; !status && mode < 3; mode++) {
        abut_impact_list found = {.list = impacts, .capacity = 4096, .count = UINT64_MAX};
        status = abut_sweep_find(motion, (abut_sweep_mode)mode, &s.sweep, &found, NULL);
        assert_int_equal(!status, found.count != UINT64_MAX);
    }
    scene_free(&s);
    return status;
}

TEST(memory_that_runs_out_is_told) {
    AUTO_SCENE s = two_soups(53);
    assert_true(test_every_allocation(all_of_it, &s) > 30);
}

TEST(bad_meshes_are_refused) {
    AUTO(context) other = test_context(NULL, 1);
    scene s = identical_triangles(NULL, 2), t = identical_triangles(other, 2);
    abut_mesh *two[2] = {s.meshes[0], NULL};
    abut_sweep *motion = (abut_sweep *)&s, *kept = motion;
    assert_refused("meshes is null", abut_sweep_create(NULL, 1, NULL, &motion));
    assert_refused("count is 0", abut_sweep_create(two, 0, NULL, &motion));
    assert_refused("sweep is null", abut_sweep_create(two, 1, NULL, NULL));
    assert_refused("meshes[1] is null", abut_sweep_create(two, 2, NULL, &motion));
    two[1] = t.meshes[0];
    assert_refused("another context", abut_sweep_create(two, 2, NULL, &motion));
    abut_sweep_options options = abut_sweep_options_default();
    options.size = 0;
    assert_refused("size", abut_sweep_create(two, 1, &options, &motion));
    assert_ptr_equal(kept, motion);
    abut_sweep_destroy(NULL);
    scene_free(&s);
    scene_free(&t);
}

TEST(bad_steps_are_refused) {
    AUTO_SCENE s = identical_triangles(NULL, 2);
    AUTO(sweep) motion;
    abut_impact_list found = {.count = 3};
    assert_ok(abut_sweep_create(s.meshes, 1, NULL, &motion));
    assert_refused("abut_sweep_set_positions() first",
                   abut_sweep_find(motion, ABUT_SWEEP_ANY, NULL, &found, NULL));
    assert_refused("sweep is null", abut_sweep_set_positions(NULL, abut_array_host(s.start),
                                                             abut_array_host(s.end)));
    assert_refused("end is null", abut_sweep_set_positions(motion, abut_array_host(s.start),
                                                           abut_array_host(NULL)));
    const double bad[] = {NAN, INFINITY, -1e91};
    for (int k = 0; k < 9; k++) {
        vec3 *at = k % 2 ? &s.start[3] : &s.end[4], good = *at;
        *(k / 3 == 0 ? &at->x : k / 3 == 1 ? &at->y : &at->z) = bad[k % 3];
        assert_refused(k % 2 ? "start[3]" : "end[4]",
                       abut_sweep_set_positions(motion, abut_array_host(s.start),
                                                abut_array_host(s.end)));
        *at = good;
    }
    assert_false(motion->place.stepped);
    assert_ok(abut_sweep_set_positions(motion, abut_array_host(s.start), abut_array_host(s.end)));
}

TEST(bad_searches_are_refused) {
    AUTO_SCENE s = identical_triangles(NULL, 2);
    AUTO(sweep) motion = scene_motion(&s);
    abut_impact_list found = {.capacity = 1, .count = 3};
    assert_refused("capacity is 1", abut_sweep_find(motion, ABUT_SWEEP_ANY, NULL, &found, NULL));
    found.capacity = 0;
    assert_refused("sweep is null", abut_sweep_find(NULL, ABUT_SWEEP_ANY, NULL, &found, NULL));
    assert_refused("impacts is null", abut_sweep_find(motion, ABUT_SWEEP_ANY, NULL, NULL, NULL));
    assert_refused("mode is 3", abut_sweep_find(motion, (abut_sweep_mode)3, NULL, &found, NULL));
    const double bad[] = {-1, NAN, INFINITY};
    for (int k = 0; k < 6; k++) {
        *(k < 3 ? &s.sweep.separation : &s.sweep.tolerance) = bad[k % 3];
        assert_refused(k < 3 ? "options->separation" : "options->tolerance",
                       abut_sweep_find(motion, ABUT_SWEEP_ANY, &s.sweep, &found, NULL));
        s.sweep = abut_sweep_find_options_default();
    }
    s.sweep.exact = true;
    s.sweep.separation = 1;
    assert_refused("exact", abut_sweep_find(motion, ABUT_SWEEP_ANY, &s.sweep, &found, NULL));
    assert_int_equal(3, found.count);
    /* a separation beyond all sizes: everything is near */
    s.sweep = abut_sweep_find_options_default();
    s.sweep.separation = 1e30;
    assert_fails(ABUT_ERROR_BUFFER, "15 impacts",
                 abut_sweep_find(motion, ABUT_SWEEP_ALL, &s.sweep, &found, NULL));
}
