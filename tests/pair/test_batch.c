/* Pairs at many poses: equal to single queries, on any number of threads; out of memory; invalid
 * input. */
#include "bvh/meshes.h"

#include "base/simd.h"

enum { POSES = 600 };

typedef struct answers {
    abut_pair_relation relations[POSES];
    abut_separation separations[POSES];
    bool within[POSES];
} answers;

static void ask_all(const abut_pair_poses *poses, answers *all) {
    memset(all, 0, sizeof *all);
    assert_ok(abut_pair_overlap_batch(poses, NULL, all->relations, NULL));
    assert_ok(abut_pair_distance_batch(poses, NULL, all->separations));
    assert_ok(abut_pair_within_batch(poses, 0.1, NULL, all->within, NULL));
}

/* The same poses, with BVHs on 1 thread, on 4, and one by one. */
TEST_THREADS(batch_is_single) {
    const uint32_t count = test_brief() ? 150 : POSES;
    test_random random = {3};
    AUTO_FREE abut_pose *poses_a = malloc(POSES * sizeof *poses_a),
                        *poses_b = malloc(POSES * sizeof *poses_b);
    AUTO_FREE answers *all = malloc(3 * sizeof *all);
    assert_true(poses_a && poses_b && all);
    for (uint32_t i = 0; i < count; i++) {
        poses_a[i] = any_pose(&random, 0.3);
        poses_b[i] = any_pose(&random, i % 7 ? 1 : 1e6);
    }
    for (uint32_t run = 0; run < 2; run++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, run ? 4 : 1);
        abut_bvh *a = hierarchy(make_shape(context, ABUT_SHAPE_TORUS, 16));
        abut_bvh *b = hierarchy(make_shape(context, ABUT_SHAPE_LETTER_G, 3));
        abut_pair_poses poses = abut_pair_poses_default();
        poses.a = a;
        poses.b = b;
        poses.poses_a = poses_a;
        poses.poses_b = poses_b;
        poses.count = count;
        ask_all(&poses, &all[run]);
        for (uint32_t i = 0; i < count && run == 0; i++) {
            abut_collider at_a = abut_collider_from_bvh(a, poses_a[i]),
                          at_b = abut_collider_from_bvh(b, poses_b[i]);
            assert_ok(relation_of(&at_a, &at_b, NULL, NULL, &all[2].relations[i]));
            assert_ok(abut_pair_distance(&at_a, &at_b, NULL, NULL, &all[2].separations[i]));
            assert_ok(abut_pair_within(&at_a, &at_b, 0.1, NULL, NULL, &all[2].within[i], NULL));
        }
        poses.poses_a = NULL;
        poses.count = 3;
        abut_separation some[3], one;
        assert_ok(abut_pair_distance_batch(&poses, NULL, some));
        abut_collider at_a = abut_collider_from_bvh(a, abut_pose_identity()),
                      at_b = abut_collider_from_bvh(b, poses_b[2]);
        assert_ok(abut_pair_distance(&at_a, &at_b, NULL, NULL, &one));
        assert_memory_equal(&some[2], &one, sizeof one);
        poses.count = 0;
        assert_ok(abut_pair_overlap_batch(&poses, NULL, NULL, NULL));
        abut_bvh_destroy(a);
        abut_bvh_destroy(b);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    assert_memory_equal(all[0].separations, all[1].separations, count * sizeof *all->separations);
    assert_memory_equal(all[0].separations, all[2].separations, count * sizeof *all->separations);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(all[0].relations[i] == all[1].relations[i] &&
                    all[0].relations[i] == all[2].relations[i] &&
                    all[0].relations[i] == all[0].separations[i].relation);
        assert_true(all[0].within[i] == all[1].within[i] && all[0].within[i] == all[2].within[i] &&
                    all[0].within[i] == (all[0].separations[i].distance <= 0.1));
    }
}

/* The same bits with 4, 8 and 16 lanes: also which of many common points is reported. */
TEST(lanes_change_nothing) {
    enum { COUNT = 60 };
    test_random random = {9};
    abut_pose at[COUNT];
    AUTO_FREE answers *all = malloc(3 * sizeof *all);
    AUTO(bvh) a = hierarchy(make_shape(NULL, ABUT_SHAPE_TEAPOT, 4));
    AUTO(bvh) b = hierarchy(make_shape(NULL, ABUT_SHAPE_LETTER_G, 3));
    abut_pair_poses poses = abut_pair_poses_default();
    assert_non_null(all);
    for (int i = 0; i < COUNT; i++)
        at[i] = any_pose(&random, i % 3 ? 1 : 4);
    poses.a = a;
    poses.b = b;
    poses.poses_b = at;
    poses.count = COUNT;
    for (int k = 0; k < 3; k++) {
        abuti_simd_limit_lanes(16 >> k);
        ask_all(&poses, &all[k]);
        assert_memory_equal(&all[0], &all[k], sizeof *all);
    }
    abuti_simd_limit_lanes(16);
}

/* ---- memory ---- */

static abut_status ask_everything(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    const abut_pose *at = data;
    AUTO(mesh) mesh = NULL;
    AUTO(bvh) bvh = NULL;
    shape.segments = shape.rings = 6;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    /* a query succeeds without bounds that it would only keep for later queries */
    status = status ? status : abut_bvh_prepare(bvh, ABUT_PREPARE_DISTANCE);
    abut_collider a = abut_collider_from_bvh(bvh, at[0]), b = abut_collider_from_bvh(bvh, at[1]);
    abut_separation separation;
    abut_pair_relation relation = (abut_pair_relation)77;
    bool within;
    if (!status) {
        status = relation_of(&a, &b, NULL, NULL, &relation);
        assert_true((status == ABUT_OK) == (relation != (abut_pair_relation)77));
    }
    status = status ? status : abut_pair_distance(&a, &b, NULL, NULL, &separation);
    status = status ? status : abut_pair_within(&a, &b, 1, NULL, NULL, &within, NULL);
    abut_pair_intersection_list crossings = {NULL, 0, 0};
    status = status ? status : abut_pair_intersections(&a, &b, &crossings);
    if (!status) {
        abut_pair_poses poses = abut_pair_poses_default();
        abut_pair_relation relations[2];
        poses.a = poses.b = bvh;
        poses.poses_b = at;
        poses.count = 2;
        status = abut_pair_overlap_batch(&poses, NULL, relations, NULL);
    }
    return status;
}

TEST(out_of_memory) {
    abut_pose near[2] = {{{0, 0, 0, 0}, {0, 0, 0}}, {{0, 0, 0, 0}, {0.1, 0, 3}}};
    abut_pose far[2] = {{{1, 2, 3, 4}, {1e30, 0, 0}}, {{1, 0, 0, 1}, {1e30, 1e20, 0}}};
    uint64_t usual = test_every_allocation(ask_everything, near);
    assert_true(test_every_allocation(ask_everything, far) > usual);
}

static bool stop_at_once(void *user, const char *stage, double fraction) {
    ++*(int *)user;
    (void)fraction;
    return strcmp(stage, "pairs") != 0;
}

TEST(cancelled) {
    int calls = 0;
    AUTO(context) context = test_watched(stop_at_once, &calls);
    AUTO(bvh) bvh = hierarchy(make_shape(context, ABUT_SHAPE_BOX, 1));
    abut_pair_poses poses = abut_pair_poses_default();
    abut_pair_relation relations[4];
    poses.a = poses.b = bvh;
    poses.count = 4;
    assert_fails(ABUT_ERROR_CANCELLED, "cancelled",
                 abut_pair_overlap_batch(&poses, NULL, relations, NULL));
    assert_true(calls > 0);
}

/* ---- refusals ---- */

TEST(refusals) {
    AUTO(bvh) bvh = hierarchy(make_shape(NULL, ABUT_SHAPE_BOX, 1));
    abut_collider good = abut_collider_from_bvh(bvh, abut_pose_identity()),
                  none = abut_collider_from_bvh(NULL, abut_pose_identity());
    abut_collider odd = good, beyond = good;
    abut_pair_relation relation = (abut_pair_relation)77;
    abut_separation separation;
    bool within = true;
    memset(&separation, 0x5a, sizeof separation);
    abut_separation before = separation;
    odd.pose.rotation.y = NAN;
    beyond.pose.translation.z = 1e91;
    assert_refused("a is null", relation_of(NULL, &good, NULL, NULL, &relation));
    assert_refused("b is null", relation_of(&good, NULL, NULL, NULL, &relation));
    assert_refused("b->shape.body.bvh is null", relation_of(&good, &none, NULL, NULL, &relation));
    assert_refused("overlap is null", abut_pair_overlap(&good, &good, NULL, NULL, NULL));
    assert_refused("the pose of a is not finite", relation_of(&odd, &good, NULL, NULL, &relation));
    assert_refused("the pose of b translates by (0, 0, 1e+91)",
                   abut_pair_distance(&good, &beyond, NULL, NULL, &separation));
    abut_mesh *vast;
    assert_ok(abut_mesh_transform(abut_bvh_mesh(bvh), 1e90, good.pose, &vast));
    beyond.shape.body.bvh = hierarchy(vast);
    beyond.pose.translation.z = 9e89;
    assert_refused("the pose of b moves its bounding box beyond 1e+90",
                   abut_pair_distance(&good, &beyond, NULL, NULL, &separation));
    abut_bvh_destroy((abut_bvh *)(uintptr_t)beyond.shape.body.bvh);
    beyond.shape.body.bvh = bvh;
    assert_refused("separation is null", abut_pair_distance(&good, &good, NULL, NULL, NULL));
    assert_refused("margin is nan", abut_pair_within(&good, &good, NAN, NULL, NULL, &within, NULL));
    assert_refused("margin is -1", abut_pair_within(&good, &good, -1, NULL, NULL, &within, NULL));
    assert_refused("within is null", abut_pair_within(&good, &good, 1, NULL, NULL, NULL, NULL));
    assert_refused("the list of intersections is null",
                   abut_pair_intersections(&good, &good,
                                           &(abut_pair_intersection_list){NULL, 1, 0}));
    assert_refused("intersections is null", abut_pair_intersections(&good, &good, NULL));
    abut_pair_options options = abut_pair_options_default();
    options.size = 0;
    assert_refused("size", relation_of(&good, &good, &options, NULL, &relation));
    assert_true(relation == (abut_pair_relation)77 && within);
    assert_memory_equal(&separation, &before, sizeof before);

    abut_pair_poses poses = abut_pair_poses_default();
    abut_pose list[3] = {good.pose, good.pose, odd.pose};
    assert_refused("poses is null", abut_pair_overlap_batch(NULL, NULL, &relation, NULL));
    assert_refused("poses->a is null", abut_pair_overlap_batch(&poses, NULL, &relation, NULL));
    poses.a = bvh;
    assert_refused("poses->b is null", abut_pair_overlap_batch(&poses, NULL, &relation, NULL));
    poses.b = bvh;
    poses.poses_b = list;
    poses.count = 3;
    assert_refused("relations is null", abut_pair_overlap_batch(&poses, NULL, NULL, NULL));
    assert_refused("the pose of b at index 2 is not finite",
                   abut_pair_overlap_batch(&poses, NULL, &relation, NULL));
    assert_refused("margin is nan", abut_pair_within_batch(&poses, NAN, NULL, &within, NULL));
    assert_true(relation == (abut_pair_relation)77);
}

/* A cache that is not of these meshes, or was never any, only costs time. */
TEST(foreign_cache) {
    test_random random = {77};
    AUTO(bvh) a = hierarchy(make_shape(NULL, ABUT_SHAPE_TORUS, 9));
    AUTO(bvh) b = hierarchy(make_shape(NULL, ABUT_SHAPE_LETTER_E, 2));
    for (int i = 0; i < 200; i++) {
        abut_collider at_a = abut_collider_from_bvh(a, any_pose(&random, 0.4)),
                      at_b = abut_collider_from_bvh(b, any_pose(&random, 1));
        abut_pair_cache cache;
        memset(&cache, 0, sizeof cache);
        cache.known = 1;
        cache.triangle_a = i % 2 ? test_random_below(&random, 100) : UINT32_MAX;
        cache.triangle_b = test_random_below(&random, 1000000);
        if (i % 4 == 1)
            cache.triangle_b %= abut_mesh_triangle_count(abut_bvh_mesh(b));
        abut_separation cold, warm;
        assert_ok(abut_pair_distance(&at_a, &at_b, NULL, NULL, &cold));
        assert_ok(abut_pair_distance(&at_a, &at_b, NULL, &cache, &warm));
        assert_memory_equal(&cold, &warm, sizeof cold);
    }
}

/* Vertices move, and what was known of the mesh with them. */
TEST(refitted) {
    abut_mesh *ball = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 2);
    abut_vec3 corners[3 * 80];
    uint32_t count = abut_mesh_triangle_count(ball);
    assert_int_equal(count, 80);
    for (uint32_t t = 0; t < count; t++) {
        abut_triangle triangle = triangle_of(ball, t);
        memcpy(&corners[3 * t], triangle.corner, sizeof triangle.corner);
    }
    AUTO(mesh) soup = make_soup(NULL, corners, count);
    AUTO(bvh) around = NULL, *speck = hierarchy(make_moved(ball, 1e-3, vec(0, 0, 0)));
    assert_ok(abut_bvh_create(soup, NULL, &around));
    abut_collider a = abut_collider_from_bvh(around, abut_pose_identity()),
                  b = abut_collider_from_bvh(speck, abut_pose_identity());
    abut_pair_relation relation;
    assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
    assert_int_equal(relation, ABUT_PAIR_B_INSIDE);
    for (uint32_t t = 0; t < count; t++) /* to one side, in layers: nothing is around any more */
        for (int k = 0; k < 3; k++)
            corners[3 * t + (uint32_t)k].x = 0.5 * fabs(corners[3 * t + (uint32_t)k].x) + 0.01 + t;
    AUTO(mesh) apart = make_soup(NULL, corners, count);
    assert_ok(abut_bvh_set_mesh(around, apart));
    assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
    assert_int_equal(relation, ABUT_PAIR_APART);
}

/* A ball that a refit opens has no inside, and has one again after a refit that closes it. */
TEST(opened_and_closed) {
    abut_mesh *ball = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 2);
    abut_vec3 corners[2][3 * 80];
    for (uint32_t t = 0; t < 80; t++) {
        abut_triangle triangle = triangle_of(ball, t);
        const abut_vec3 *c = triangle.corner;
        const double up = c[0].z + c[1].z + c[2].z > 0 ? 0.1 : 0;
        for (uint32_t k = 0; k < 3; k++) {
            corners[0][3 * t + k] = c[k];
            corners[1][3 * t + k] = vec(c[k].x, c[k].y, c[k].z + up);
        }
    }
    abut_mesh *meshes[2] = {make_soup(NULL, corners[0], 80), make_soup(NULL, corners[1], 80)};
    AUTO(bvh) around = NULL, *speck = hierarchy(make_moved(ball, 1e-3, vec(0, 0, 0)));
    assert_ok(abut_bvh_create(meshes[0], NULL, &around));
    abut_collider a = abut_collider_from_bvh(around, abut_pose_identity()),
                  b = abut_collider_from_bvh(speck, abut_pose_identity());
    for (int i = 0; i < 6; i++) {
        abut_pair_relation relation;
        assert_ok(abut_bvh_set_mesh(around, meshes[i % 2]));
        assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
        assert_int_equal(relation, i % 2 ? ABUT_PAIR_APART : ABUT_PAIR_B_INSIDE);
    }
    abut_mesh_destroy(meshes[0]);
    abut_mesh_destroy(meshes[1]);
}

/* One triangle, and many in one place. */
TEST(small_and_equal) {
    abut_vec3 corners[3] = {vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0)};
    AUTO(bvh) one = hierarchy(make_soup(NULL, corners, 1));
    AUTO(bvh) equal = hierarchy(make_kind(NULL, SOUP_EQUAL, 3000, 1));
    abut_collider a = abut_collider_from_bvh(one, abut_pose_identity()),
                  b = abut_collider_from_bvh(equal, (abut_pose){{0, 0, 0, 0}, {0, 0, 0.25}});
    abut_separation separation;
    assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &separation));
    assert_true(separation.distance == 0.75 && separation.triangle_a == 0 &&
                separation.triangle_b == 0);
    b.pose.translation.z = -0.5;
    abut_pair_intersection_list crossings = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_BUFFER, "3000 intersections",
                 abut_pair_intersections(&a, &b, &crossings));
    a.shape.body.bvh = equal;
    a.pose.translation.z = 3;
    assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &separation)); /* 9 million ties */
    assert_true(separation.distance == 3.5);
    b.pose.translation.z = 3;
    abut_pair_relation relation;
    assert_ok(relation_of(&a, &b, NULL, NULL, &relation));
    assert_int_equal(relation, ABUT_PAIR_INTERSECTING);
}
