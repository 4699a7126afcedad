/* Questions about many poses on a device: the answers of the CPU, bit for bit, and nothing lost
 * when it fails. */
#include "meshes.h"

#include "bvh/device_query.h"
#include "device/open.h"

#include <abut/pair.h>

static abut_device *device;

/* Poses at which bodies of this size are apart, touch, cut and contain each other. */
static abut_pose *make_poses(size_t count, double size, uint64_t seed) {
    test_random random = {seed};
    size = size > 0 ? size : 1; /* all in one point */
    abut_pose *poses = calloc(count, sizeof *poses);
    assert_non_null(poses);
    for (size_t i = 0; i < count; i++) {
        poses[i].translation = random_vec(&random, i % 5 ? 1.2 * size : 0.1 * size);
        if (i % 3 == 0) { /* a lattice: faces in one plane, edges on edges */
            poses[i].translation.x = floor(2 * poses[i].translation.x / size) * size / 2;
            poses[i].translation.y = floor(2 * poses[i].translation.y / size) * size / 2;
            poses[i].translation.z = floor(2 * poses[i].translation.z / size) * size / 2;
        } else {
            abut_vec3 axis = random_vec(&random, 1);
            poses[i].rotation =
                (abut_quat){axis.x, axis.y, axis.z, test_random_real(&random, -1, 1)};
        }
        if (i % 50 == 49)
            poses[i].translation.x = 1e3 * size;
        if (i % 50 == 48)
            poses[i].translation.x = 1e12 * size;
    }
    return poses;
}

/* The same bits in every field. */
static bool same_separation(const abut_separation *a, const abut_separation *b) {
    return memcmp(&a->distance, &b->distance, sizeof a->distance) == 0 &&
           memcmp(&a->point_a, &b->point_a, sizeof a->point_a) == 0 &&
           memcmp(&a->point_b, &b->point_b, sizeof a->point_b) == 0 && a->relation == b->relation &&
           a->triangle_a == b->triangle_a && a->triangle_b == b->triangle_b &&
           a->feature_a == b->feature_a && a->feature_b == b->feature_b;
}

typedef struct two_bodies {
    abut_bvh *a, *b;
    abut_device_bvh *there_a, *there_b;
} two_bodies;

static void check_overlap(const two_bodies *two, const abut_pair_poses *poses,
                          const abut_pair_options *options) {
    abut_pair_relation *got = calloc(poses->count, sizeof *got);
    abut_pair_relation *expected = calloc(poses->count, sizeof *got);
    assert_true(got && expected);
    memset(got, 0xff, poses->count * sizeof *got);
    assert_ok(abut_pair_overlap_batch(poses, options, expected));
    assert_ok(abut_device_pair_overlap(two->there_a, two->there_b, poses, options, got));
    for (size_t i = 0; i < poses->count; i++)
        if (got[i] != expected[i])
            fail_msg("pose %zu: %d instead of %d", i, (int)got[i], (int)expected[i]);
    free(got);
    free(expected);
}

/* Gives the middle one of the distances. */
static double check_distance(const two_bodies *two, const abut_pair_poses *poses,
                             const abut_pair_options *options) {
    abut_separation *got = calloc(poses->count, sizeof *got);
    abut_separation *expected = calloc(poses->count, sizeof *got);
    assert_true(got && expected);
    assert_ok(abut_pair_distance_batch(poses, options, expected));
    assert_ok(abut_device_pair_distance(two->there_a, two->there_b, poses, options, got));
    for (size_t i = 0; i < poses->count; i++)
        if (!same_separation(&got[i], &expected[i]))
            fail_msg(
                "pose %zu: %.17g (%d) between %u and %u instead of %.17g (%d) between %u and %u", i,
                got[i].distance, (int)got[i].relation, got[i].triangle_a, got[i].triangle_b,
                expected[i].distance, (int)expected[i].relation, expected[i].triangle_a,
                expected[i].triangle_b);
    double middle = expected[poses->count / 2].distance;
    free(got);
    free(expected);
    return middle;
}

static void check_within(const two_bodies *two, const abut_pair_poses *poses, double margin,
                         const abut_pair_options *options) {
    bool *got = calloc(poses->count, sizeof *got), *expected = calloc(poses->count, sizeof *got);
    assert_true(got && expected);
    assert_ok(abut_pair_within_batch(poses, margin, options, expected));
    assert_ok(abut_device_pair_within(two->there_a, two->there_b, poses, margin, options, got));
    for (size_t i = 0; i < poses->count; i++)
        if (got[i] != expected[i])
            fail_msg("pose %zu: %d instead of %d within %g", i, got[i], expected[i], margin);
    free(got);
    free(expected);
}

static void check_pair(abut_mesh *mesh_a, abut_mesh *mesh_b, size_t count, uint64_t seed) {
    two_bodies two;
    assert_ok(abut_bvh_create(mesh_a, NULL, &two.a));
    assert_ok(abut_bvh_create(mesh_b, NULL, &two.b));
    assert_ok(abut_device_bvh_create(two.a, device, &two.there_a));
    assert_ok(abut_device_bvh_create(two.b, device, &two.there_b));
    double size = largest_extent(mesh_a);
    abut_pair_poses poses = abut_pair_poses_default();
    abut_pose *list_a = make_poses(count, size, seed), *list_b = make_poses(count, size, seed + 1);
    poses.a = two.a;
    poses.b = two.b;
    poses.count = count;
    for (int round = 0; round < 3; round++) {
        abut_pair_options options = abut_pair_options_default();
        options.surfaces = round == 2;
        poses.poses_a = round == 1 ? list_a : NULL;
        poses.poses_b = list_b;
        check_overlap(&two, &poses, &options);
        double middle = check_distance(&two, &poses, &options);
        /* a margin that one of the poses has exactly, one below it, and any */
        const double margins[3] = {middle, nextafter(middle, 0), 0.2 * size};
        check_within(&two, &poses, margins[round], &options);
    }
    check_within(&two, &poses, 0, NULL);
    check_within(&two, &poses, INFINITY, NULL);
    free(list_a);
    free(list_b);
    abut_device_bvh_destroy(two.there_a);
    abut_device_bvh_destroy(two.there_b);
    abut_bvh_destroy(two.a);
    abut_bvh_destroy(two.b);
    abut_mesh_destroy(mesh_a);
    abut_mesh_destroy(mesh_b);
}

static void shapes(void **state) {
    (void)state;
    check_pair(make_shape(NULL, ABUT_SHAPE_TORUS, 20), make_shape(NULL, ABUT_SHAPE_TEAPOT, 6), 300,
               1);
    check_pair(make_shape(NULL, ABUT_SHAPE_BOX, 2), make_shape(NULL, ABUT_SHAPE_BOX, 3), 300, 2);
    check_pair(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 12), make_shape(NULL, ABUT_SHAPE_BOX, 1), 300,
               3);
    abut_mesh *small = make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 1), 0.01, vec(0, 0, 0));
    check_pair(make_shape(NULL, ABUT_SHAPE_TEAPOT_SOLID, 6), small, 300, 4);
}

static void soups(void **state) {
    (void)state;
    for (soup_kind kind = 0; kind < SOUP_COUNT; kind++)
        check_pair(make_kind(NULL, kind, 60, 5 + kind), make_kind(NULL, kind, 30, 9 + kind), 60,
                   7 + kind);
    check_pair(make_kind(NULL, SOUP_RANDOM, 1, 3), make_kind(NULL, SOUP_RANDOM, 5, 4), 60, 5);
    const double scales[] = {1e-60, 1e-30, 1e30, 1e60};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        abut_mesh *a = make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 8), scales[i], vec(0, 0, 0));
        abut_mesh *b = make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 1), scales[i], vec(0, 0, 0));
        check_pair(a, b, 100, i);
    }
}

static void failing_device(void **state) {
    (void)state;
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_BOX, 2);
    abut_bvh *bvh;
    abut_device_bvh *there;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_device_bvh_create(bvh, device, &there));
    abut_pose *list = make_poses(20, 1, 3);
    abut_pair_relation got[20];
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = poses.b = bvh;
    poses.poses_b = list;
    poses.count = 20;
    assert_ok(abut_device_pair_overlap(there, there, &poses, NULL, got));
    uint64_t live = abuti_opencl_live(), n = 1;
    for (bool done = false; !done; n++) {
        abuti_opencl_fail_at(n);
        abut_status status = abut_device_pair_overlap(there, there, &poses, NULL, got);
        done = abuti_opencl_calls() < n;
        abuti_opencl_fail_at(0);
        assert_int_equal(done ? ABUT_OK : ABUT_ERROR_DEVICE, status);
        assert_int_equal(live, abuti_opencl_live());
    }
    assert_true(n > 8);
    memset(got, 0x5a, sizeof got);
    list[7].translation.x = NAN;
    abut_pair_relation kept = got[0];
    assert_int_equal(ABUT_ERROR_ARGUMENT,
                     abut_device_pair_overlap(there, there, &poses, NULL, got));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_pair_overlap(NULL, there, &poses, NULL, got));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_pair_overlap(there, NULL, &poses, NULL, got));
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_device_pair_overlap(there, there, NULL, NULL, got));
    poses.count = 1;
    assert_int_equal(ABUT_ERROR_ARGUMENT,
                     abut_device_pair_overlap(there, there, &poses, NULL, NULL));
    assert_int_equal(kept, got[0]);
    poses.count = 0;
    assert_ok(abut_device_pair_overlap(there, there, &poses, NULL, NULL));
    free(list);
    abut_device_bvh_destroy(there);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    device = test_device(NULL);
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(soups),
                                       cmocka_unit_test(failing_device)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    abut_device_destroy(device);
    return failed;
}
