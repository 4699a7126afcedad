/* Queries at many poses on a device: the results of the CPU, bit for bit, and no leak if it
 * fails. */
#include "bvh/meshes.h"

#include "bvh/on_device.h"
#include "device/open.h"

#include <abut/contact.h>
#include <abut/pair.h>
#include <abut/sweep.h>

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
    abut_bvh *a, *b, *there_a, *there_b;
} two_bodies;

static void destroy_two(two_bodies *two) {
    abut_bvh_destroy(two->there_a);
    abut_bvh_destroy(two->there_b);
    abut_bvh_destroy(two->a);
    abut_bvh_destroy(two->b);
}
/* Bodies that end with their scope. */
#define AUTO_TWO __attribute__((cleanup(destroy_two))) two_bodies

/* Poses of b relative to a, on the CPU. */
static abut_pair_poses poses_of(const two_bodies *two, const abut_pose *list, size_t count) {
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = two->a;
    poses.b = two->b;
    poses.poses_b = list;
    poses.count = count;
    return poses;
}

/* The same poses of those on the device. */
static abut_pair_poses poses_there(const two_bodies *two, const abut_pair_poses *poses) {
    abut_pair_poses there = *poses;
    there.a = two->there_a;
    there.b = two->there_b;
    return there;
}

static void check_overlap(const two_bodies *two, const abut_pair_poses *poses,
                          const abut_pair_options *options) {
    abut_pair_relation *got = calloc(poses->count, sizeof *got);
    abut_pair_relation *expected = calloc(poses->count, sizeof *got);
    assert_true(got && expected);
    memset(got, 0xff, poses->count * sizeof *got);
    assert_ok(abut_pair_overlap_batch(poses, options, expected, NULL));
    abut_pair_poses there = poses_there(two, poses);
    assert_ok(abut_pair_overlap_batch(&there, options, got, NULL));
    for (size_t i = 0; i < poses->count; i++)
        if (got[i] != expected[i])
            fail_msg("pose %zu: %d instead of %d", i, (int)got[i], (int)expected[i]);
    free(got);
    free(expected);
}

/* Gives one of the distances, where there is one above 0. */
static double check_distance(const two_bodies *two, const abut_pair_poses *poses,
                             const abut_pair_options *options) {
    abut_separation *got = calloc(poses->count, sizeof *got);
    abut_separation *expected = calloc(poses->count, sizeof *got);
    assert_true(got && expected);
    assert_ok(abut_pair_distance_batch(poses, options, expected));
    abut_pair_poses there = poses_there(two, poses);
    assert_ok(abut_pair_distance_batch(&there, options, got));
    for (size_t i = 0; i < poses->count; i++)
        if (!same_separation(&got[i], &expected[i]))
            fail_msg(
                "pose %zu: %.17g (%d) between %u and %u instead of %.17g (%d) between %u and %u", i,
                got[i].distance, (int)got[i].relation, got[i].triangle_a, got[i].triangle_b,
                expected[i].distance, (int)expected[i].relation, expected[i].triangle_a,
                expected[i].triangle_b);
    size_t some = poses->count / 2;
    while (some + 1 < poses->count && !(expected[some].distance > 0))
        some++;
    double distance = expected[some].distance;
    free(got);
    free(expected);
    return distance;
}

static void check_within(const two_bodies *two, const abut_pair_poses *poses, double margin,
                         const abut_pair_options *options) {
    bool *got = calloc(poses->count, sizeof *got), *expected = calloc(poses->count, sizeof *got);
    assert_true(got && expected);
    assert_ok(abut_pair_within_batch(poses, margin, options, expected, NULL));
    abut_pair_poses there = poses_there(two, poses);
    assert_ok(abut_pair_within_batch(&there, margin, options, got, NULL));
    for (size_t i = 0; i < poses->count; i++)
        if (got[i] != expected[i])
            fail_msg("pose %zu: %d instead of %d within %g", i, got[i], expected[i], margin);
    free(got);
    free(expected);
}

static two_bodies make_two(abut_mesh *mesh_a, abut_mesh *mesh_b) {
    two_bodies two;
    assert_ok(abut_bvh_create(mesh_a, NULL, &two.a));
    assert_ok(abut_bvh_create(mesh_b, NULL, &two.b));
    assert_ok(abuti_bvh_copy_to_device(two.a, device, &two.there_a));
    assert_ok(abuti_bvh_copy_to_device(two.b, device, &two.there_b));
    abut_mesh_destroy(mesh_a);
    abut_mesh_destroy(mesh_b);
    return two;
}

/* The same with trees that the device has built, which are others than those of the CPU. */
static two_bodies build_two(abut_mesh *mesh_a, abut_mesh *mesh_b) {
    two_bodies two;
    abut_bvh_options options = abut_bvh_options_default();
    options.device = device;
    assert_ok(abut_bvh_create(mesh_a, NULL, &two.a));
    assert_ok(abut_bvh_create(mesh_b, NULL, &two.b));
    assert_ok(abut_bvh_create(mesh_a, &options, &two.there_a));
    assert_ok(abut_bvh_create(mesh_b, &options, &two.there_b));
    abut_mesh_destroy(mesh_a);
    abut_mesh_destroy(mesh_b);
    return two;
}

static void check_pair(abut_mesh *mesh_a, abut_mesh *mesh_b, uint32_t count, uint64_t seed) {
    double size = largest_extent(mesh_a);
    AUTO_TWO two = make_two(mesh_a, mesh_b);
    count = test_rounds(count);
    AUTO_FREE abut_pose *list_a = make_poses(count, size, seed),
                        *list_b = make_poses(count, size, seed + 1);
    abut_pair_poses poses = abut_pair_poses_default();
    poses.a = two.a;
    poses.b = two.b;
    poses.count = count;
    for (int round = 0; round < 3; round++) {
        abut_pair_options options = abut_pair_options_default();
        options.surface_only = round == 2;
        poses.poses_a = round == 1 ? list_a : NULL;
        poses.poses_b = list_b;
        check_overlap(&two, &poses, &options);
        double distance = check_distance(&two, &poses, &options);
        /* a margin that one of the poses has exactly, one below it, and none */
        const double margins[3] = {distance, nextafter(distance, 0), 0};
        check_within(&two, &poses, margins[round], &options);
    }
    check_within(&two, &poses, INFINITY, NULL);
}

TEST(shapes) {
    check_pair(make_shape(NULL, ABUT_SHAPE_TORUS, 20), make_shape(NULL, ABUT_SHAPE_TEAPOT, 6), 100,
               1);
    check_pair(make_shape(NULL, ABUT_SHAPE_BOX, 2), make_shape(NULL, ABUT_SHAPE_BOX, 3), 100, 2);
    check_pair(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 12), make_shape(NULL, ABUT_SHAPE_BOX, 1), 100,
               3);
    abut_mesh *small = make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 1), 0.01, vec(0, 0, 0));
    check_pair(make_shape(NULL, ABUT_SHAPE_TEAPOT_SOLID, 6), small, 100, 4);
}

/* Poses that touch have the same witness points, triangles and features on a device that has built
 * trees of its own: in batches, one at a time, and after a refit. */
TEST(witnesses_of_built_trees) {
    const uint32_t count = test_rounds(400);
    abut_mesh *const meshes[3][2] = {
        {make_shape(NULL, ABUT_SHAPE_TORUS, 20), make_shape(NULL, ABUT_SHAPE_TEAPOT, 6)},
        {make_shape(NULL, ABUT_SHAPE_BOX, 3), make_shape(NULL, ABUT_SHAPE_UVSPHERE, 12)},
        {make_kind(NULL, SOUP_RANDOM, 60, 5), make_kind(NULL, SOUP_SMALL, 60, 6)}};
    for (uint32_t i = 0; i < 3; i++) {
        const double size = largest_extent(meshes[i][0]);
        AUTO(mesh) moved = make_moved(abut_mesh_retain(meshes[i][0]), 1.25, vec(0.1, 0, 0));
        AUTO_TWO two = build_two(meshes[i][0], meshes[i][1]);
        AUTO_FREE abut_pose *list = make_poses(count, 0.5 * size, 40 + i);
        abut_pair_poses poses = poses_of(&two, list, count);
        for (int round = 0; round < 2; round++) {
            uint32_t touching = 0;
            check_overlap(&two, &poses, NULL);
            check_distance(&two, &poses, NULL);
            for (uint32_t k = 0; k < count; k++) {
                const abut_collider here[2] = {abut_collider_from_bvh(two.a, abut_pose_identity()),
                                               abut_collider_from_bvh(two.b, list[k])};
                const abut_collider there[2] = {abut_collider_from_bvh(two.there_a,
                                                                       abut_pose_identity()),
                                                abut_collider_from_bvh(two.there_b, list[k])};
                abut_separation expected, got;
                assert_ok(abut_pair_distance(&here[0], &here[1], NULL, NULL, &expected));
                assert_ok(abut_pair_distance(&there[0], &there[1], NULL, NULL, &got));
                assert_true(same_separation(&got, &expected));
                touching += expected.relation == ABUT_PAIR_INTERSECTING;
            }
            assert_true(touching > count / 8);
            assert_ok(abut_bvh_set_mesh(two.a, moved));
            assert_ok(abut_bvh_set_mesh(two.there_a, moved));
        }
    }
}

TEST(soups) {
    for (soup_kind kind = 0; kind < SOUP_COUNT; kind++)
        check_pair(make_kind(NULL, kind, 60, 5 + kind), make_kind(NULL, kind, 30, 9 + kind), 20,
                   7 + kind);
    check_pair(make_kind(NULL, SOUP_RANDOM, 1, 3), make_kind(NULL, SOUP_RANDOM, 5, 4), 20, 5);
    const double scales[] = {1e-60, 1e-30, 1e30, 1e60};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        abut_mesh *a = make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 8), scales[i], vec(0, 0, 0));
        abut_mesh *b = make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 1), scales[i], vec(0, 0, 0));
        check_pair(a, b, 20, i);
    }
}

/* Single queries on a BVH that the device has built: contacts, intersection volumes and rigid
 * sweeps have the bits of the CPU's. */
TEST(single_questions_of_built_trees) {
    enum { COUNT = 24 };
    abut_mesh *small =
        make_moved(make_shape(NULL, ABUT_SHAPE_TEAPOT_SOLID, 6), 0.2, vec(0, 0, -0.1));
    AUTO_TWO two = build_two(make_shape(NULL, ABUT_SHAPE_TORUS, 20), small);
    AUTO_FREE abut_pose *list = make_poses(COUNT, 0.4, 3);
    uint32_t touching = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        static abut_patch patches[2][64];
        static abut_contact contacts[2][512];
        abut_patches found[2] = {abut_patches_default(), abut_patches_default()};
        abut_pair_measures common[2] = {abut_pair_measures_default(), abut_pair_measures_default()};
        abut_sweep_rigid_result touch[2];
        abut_pose start = list[i];
        start.translation.x += 3;
        memset(patches, 0, sizeof patches);
        memset(contacts, 0, sizeof contacts);
        memset(touch, 0, sizeof touch);
        for (int k = 0; k < 2; k++) {
            const abut_collider a =
                abut_collider_from_bvh(k ? two.there_a : two.a, abut_pose_identity());
            const abut_collider b = abut_collider_from_bvh(k ? two.there_b : two.b, list[i]);
            found[k] = (abut_patches){.size = sizeof(abut_patches),
                                      .patches.list = patches[k],
                                      .patches.capacity = 64,
                                      .contacts.list = contacts[k],
                                      .contacts.capacity = 512};
            assert_ok(abut_contact_find(&a, &b, NULL, &found[k]));
            assert_ok(abut_pair_measure(&a, &b, NULL, &common[k]));
            abut_collider moves = b;
            moves.pose = start;
            if (i % 50 < 48)
                assert_ok(abut_sweep_rigid(&a, NULL, &moves, &list[i], NULL, &touch[k]));
        }
        assert_int_equal(found[0].patches.count, found[1].patches.count);
        assert_memory_equal(patches[0], patches[1], sizeof patches[0]);
        assert_memory_equal(contacts[0], contacts[1], sizeof contacts[0]);
        assert_memory_equal(&common[0], &common[1], sizeof common[0]);
        assert_memory_equal(&touch[0], &touch[1], sizeof touch[0]);
        touching += found[0].patches.count > 0;
    }
    assert_true(touching > COUNT / 4);
}

/* More pairs at one distance than the device has room for: the tips of two cones of 40 triangles
 * each, walls of 72 triangles face to face, 100 triangles in one place. */
TEST(crowds) {
    abut_pose list[4];
    memset(list, 0, sizeof list);
    for (int i = 0; i < 4; i++) {
        list[i].rotation = (abut_quat){1, 0, 0, 0}; /* upside down */
        list[i].translation = vec(0, 0, 2.5 + 0.25 * i);
    }
    abut_mesh *const meshes[3] = {make_shape(NULL, ABUT_SHAPE_CONE, 40),
                                  make_shape(NULL, ABUT_SHAPE_BOX, 6),
                                  make_kind(NULL, SOUP_EQUAL, 100, 1)};
    for (int i = 0; i < 3; i++) {
        AUTO_TWO two = make_two(abut_mesh_retain(meshes[i]), meshes[i]);
        abut_pair_poses poses = poses_of(&two, list, 4);
        double distance = check_distance(&two, &poses, NULL);
        assert_true(distance > 0.1);
        check_within(&two, &poses, distance, NULL);
        check_within(&two, &poses, nextafter(distance, 0), NULL);
    }
}

/* Walls turned together, where distances differ by rounding: within the least of them the device
 * says what the CPU says, whichever pair is the lowest. */
TEST(within_of_ties) {
    test_random random = {6};
    AUTO_TWO two =
        make_two(make_shape(NULL, ABUT_SHAPE_BOX, 6), make_shape(NULL, ABUT_SHAPE_BOX, 7));
    for (int i = 0; i < 6; i++) {
        abut_pose at[2] = {any_pose(&random, 0.3), {{0, 0, 0, 0}, {0, 0, 0}}};
        abuti_motion motion = abuti_motion_of(&at[0]);
        at[1].rotation = at[0].rotation;
        at[1].translation = abuti_motion_apply(&motion, v3(2.5, 0.01, 0.02));
        abut_pair_poses poses = abut_pair_poses_default();
        poses.a = two.a;
        poses.b = two.b;
        poses.poses_a = &at[0];
        poses.poses_b = &at[1];
        poses.count = 1;
        double distance = check_distance(&two, &poses, NULL);
        for (int k = 0; k < 8; k++) {
            check_within(&two, &poses, distance, NULL);
            distance = nextafter(distance, 0);
        }
    }
}

/* A ball in a ball and in the shell of one, and a mesh on itself. */
TEST(nested) {
    abut_pose list[5];
    memset(list, 0, sizeof list);
    list[1].translation = vec(0.1, 0.05, 0);
    list[2].translation = vec(0.5, 0, 0);
    list[3].translation = vec(0.95, 0, 0);
    list[4].rotation = (abut_quat){0.1, 0.2, 0.3, 0.9};
    for (int i = 0; i < 2; i++) {
        abut_mesh *ball = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 6);
        abut_mesh *other =
            i ? abut_mesh_retain(ball)
              : make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4), 0.3, vec(0, 0, 0));
        AUTO_TWO two = make_two(ball, other);
        abut_pair_options options = abut_pair_options_default();
        abut_pair_poses poses = abut_pair_poses_default();
        poses.count = 5;
        for (int way = 0; way < 4; way++) {
            poses.a = way & 1 ? two.b : two.a;
            poses.b = way & 1 ? two.a : two.b;
            poses.poses_b = list;
            options.surface_only = way > 1;
            two_bodies ordered =
                way & 1 ? (two_bodies){two.b, two.a, two.there_b, two.there_a} : two;
            check_overlap(&ordered, &poses, &options);
            check_distance(&ordered, &poses, &options);
            check_within(&ordered, &poses, 0.1, &options);
        }
    }
}

/* A tree that the device built is another one, and a device without doubles is as good. */
TEST(other_trees) {
    AUTO(mesh) mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 16);
    bool doubles = device->info.has_doubles;
    AUTO_FREE abut_pose *list = make_poses(60, largest_extent(mesh), 8);
    for (int i = 0; i < 2; i++) {
        two_bodies two;
        device->info.has_doubles = doubles && i == 0;
        abut_bvh_options options = abut_bvh_options_default();
        options.device = device;
        assert_ok(abut_bvh_create(mesh, &options, &two.there_a));
        assert_ok(abut_bvh_create(mesh, NULL, &two.a));
        assert_ok(abut_bvh_create(mesh, NULL, &two.b));
        assert_ok(abuti_bvh_copy_to_device(two.b, device, &two.there_b));
        abut_pair_poses poses = poses_of(&two, list, test_rounds(60));
        check_overlap(&two, &poses, NULL);
        check_within(&two, &poses, check_distance(&two, &poses, NULL), NULL);
        destroy_two(&two);
    }
    device->info.has_doubles = doubles;
}

enum { ASKED = 20 };

typedef struct answers {
    abut_pair_relation relations[ASKED];
    abut_separation separations[ASKED];
    bool within[ASKED];
} answers;

static abut_status run_query(int question, const abut_pair_poses *poses, answers *to) {
    return question == 0   ? abut_pair_overlap_batch(poses, NULL, to ? to->relations : NULL, NULL)
           : question == 1 ? abut_pair_distance_batch(poses, NULL, to ? to->separations : NULL)
                           : abut_pair_within_batch(poses, 0.1, NULL, to ? to->within : NULL, NULL);
}

TEST(failing_device) {
    AUTO_TWO two =
        make_two(make_shape(NULL, ABUT_SHAPE_BOX, 2), make_shape(NULL, ABUT_SHAPE_BOX, 1));
    AUTO_FREE abut_pose *list = make_poses(ASKED, 1, 3);
    answers got;
    abut_pair_poses poses = poses_of(&two, list, ASKED);
    poses = poses_there(&two, &poses);
    for (int question = 0; question < 3; question++) {
        assert_ok(run_query(question, &poses, &got));
        uint64_t live = abuti_opencl_live(), n = 1;
        for (bool done = false; !done; n++) {
            abuti_opencl_fail_at(n);
            abut_status status = run_query(question, &poses, &got);
            done = abuti_opencl_calls() < n;
            abuti_opencl_fail_at(0);
            assert_int_equal(done ? ABUT_OK : ABUT_ERROR_DEVICE, status);
            assert_int_equal(live, abuti_opencl_live());
        }
        assert_true(n > (question ? 14 : 8));
    }
}

/* More poses than are searched at once; and given up after the first of them, while the next are
 * under way. */
static bool goes_on(void *user, const char *stage, double fraction) {
    (void)stage;
    (void)fraction;
    return *(const bool *)user;
}

TEST(parts) {
    enum { MANY = 4096 + 99 };
    bool on = true;
    AUTO(context) context = test_watched(goes_on, &on);
    AUTO_TWO two =
        make_two(make_shape(context, ABUT_SHAPE_BOX, 1), make_shape(context, ABUT_SHAPE_BOX, 1));
    AUTO_FREE abut_pose *list = make_poses(MANY, 2, 8);
    AUTO_FREE abut_pair_relation *got = calloc(MANY, sizeof *got);
    abut_pair_poses poses = poses_of(&two, list, MANY);
    assert_true(list && got);
    check_overlap(&two, &poses, NULL);
    abut_pair_poses there = poses_there(&two, &poses);
    on = false;
    assert_int_equal(ABUT_ERROR_CANCELLED, abut_pair_overlap_batch(&there, NULL, got, NULL));
    on = true;
    poses.count = ASKED;
    check_distance(&two, &poses, NULL);
}

TEST(wrong_arguments) {
    AUTO_TWO two =
        make_two(make_shape(NULL, ABUT_SHAPE_BOX, 2), make_shape(NULL, ABUT_SHAPE_BOX, 1));
    AUTO_FREE abut_pose *list = make_poses(ASKED, 1, 3);
    answers got, kept;
    memset(&got, 0x5a, sizeof got);
    kept = got;
    abut_pair_poses poses = abut_pair_poses_default(), other;
    poses.a = two.there_a;
    poses.b = two.there_b;
    poses.poses_b = list;
    for (int question = 0; question < 3; question++) {
        const abut_status wrong = ABUT_ERROR_ARGUMENT;
        list[7].translation.x = NAN;
        poses.count = ASKED;
        assert_fails(wrong, "b at index 7", run_query(question, &poses, &got));
        poses.count = 1;
        assert_fails(wrong, "poses is null", run_query(question, NULL, &got));
        assert_fails(wrong, "is null", run_query(question, &poses, NULL));
        other = poses;
        other.a = two.a;
        assert_fails(wrong, "on different devices", run_query(question, &other, &got));
        other.a = NULL;
        assert_fails(wrong, "poses->a is null", run_query(question, &other, &got));
        assert_memory_equal(&kept, &got, sizeof got);
        poses.count = 0;
        assert_ok(run_query(question, &poses, NULL));
    }
    poses.count = 1;
    assert_refused("margin is nan", abut_pair_within_batch(&poses, NAN, NULL, got.within, NULL));
    assert_refused("margin is -1", abut_pair_within_batch(&poses, -1, NULL, got.within, NULL));
}

static abut_status make_and_ask(abut_context *context, void *data) {
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX);
    AUTO(mesh) mesh = NULL;
    AUTO(bvh) bvh = NULL;
    AUTO(bvh) there = NULL;
    answers got;
    abut_pair_poses poses = abut_pair_poses_default();
    abut_status status = abut_shape_create(context, &box, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    status = status ? status : abuti_bvh_copy_to_device(bvh, device, &there);
    poses.a = poses.b = there;
    poses.poses_b = data;
    poses.count = ASKED;
    for (int question = 0; question < 3 && !status; question++)
        status = run_query(question, &poses, &got);
    return status;
}

TEST(no_memory) {
    /* No two faces are parallel, whatever the seed: of many pairs that are equally near, searches
     * make a table if there is memory, and go without it if there is none. */
    abut_pose list[ASKED] = {{{0, 0, 0, 0}, {0, 0, 0}}};
    for (int i = 0; i < ASKED; i++)
        list[i] = (abut_pose){{0.1 + 0.03 * i, 0.2, 0.3, 0.9}, {0.15 * i - 1, 0.05 * i, 0.4}};
    list[5].translation.x = 1e12; /* for which meshes are copied */
    assert_true(test_every_allocation(make_and_ask, list) > 20);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    device = test_device(NULL);
    int failed = test_run(NULL, NULL);
    abut_device_destroy(device);
    return failed;
}
