/* Public batches on a BVH that a device built, against one that the CPU built: two trees of one
 * mesh. Other tests of queries on devices copy the CPU's tree, which shows less. Results that
 * depend on the tree by their contract (docs/device.md) are compared with their bounds here. */
#include "apps/get.h"
#include "bvh/device_queries.h"

#include "support/pose.h"

enum { COUNT = 800, NEIGHBOURS = 5, ROOM = 200000, POSES = 60 };

static abut_bvh *trees[2]; /* CPU, device */

static void build_trees(abut_mesh *mesh) {
    assert_ok(abut_bvh_create(mesh, NULL, &trees[0]));
    assert_ok(build_there(mesh, &trees[1]));
    for (int k = 0; k < 2; k++)
        assert_ok(abut_sign_prepare(trees[k], NULL));
}

static void destroy_trees(void) {
    for (int k = 0; k < 2; k++)
        abut_bvh_destroy(trees[k]);
}

static void compare_nearest(abut_array points, double radius) {
    static abut_nearest nearest[2][COUNT], many[2][COUNT * NEIGHBOURS];
    static uint32_t counts[2][COUNT];
    for (int k = 0; k < 2; k++) {
        assert_ok(
            abut_nearest_point_batch(trees[k], points, COUNT, radius, abut_array_host(nearest[k])));
        memset(many[k], 0, sizeof many[k]);
        assert_ok(abut_nearest_k_batch(trees[k], points, COUNT, radius, NEIGHBOURS,
                                       abut_array_host(many[k]), abut_array_host(counts[k])));
    }
    assert_nearest(nearest[1], nearest[0], COUNT);
    assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
    for (size_t i = 0; i < COUNT; i++)
        assert_nearest(&many[1][i * NEIGHBOURS], &many[0][i * NEIGHBOURS], counts[0][i]);
}

static void compare_signs(abut_array points) {
    static abut_nearest nearest[2][COUNT];
    static double winding[2][COUNT];
    static bool inside[2][COUNT];
    const bool closed = get_sign_info(trees[0]).is_closed;
    if (!closed && !device->info.same_bits)
        return;
    for (int k = 0; k < 2; k++) {
        assert_ok(abut_sign_nearest_batch(trees[k], points, COUNT, HUGE_VAL,
                                          abut_array_host(nearest[k])));
        assert_ok(abut_sign_winding_batch(trees[k], points, COUNT, abut_array_host(winding[k])));
        assert_ok(abut_sign_inside_batch(trees[k], points, COUNT, abut_array_host(inside[k])));
    }
    for (size_t i = 0; i < COUNT; i++) {
        const bool doubtful = !closed && fabs(fabs(winding[0][i]) - 0.5) < 0.02;
        assert_true(fabs(winding[0][i] - winding[1][i]) <= (closed ? 0 : 0.02));
        assert_true(doubtful || inside[0][i] == inside[1][i]);
        assert_true(doubtful || nearest[0][i].distance == nearest[1][i].distance);
        assert_true(fabs(nearest[0][i].distance) == fabs(nearest[1][i].distance));
    }
}

static void compare_rays(const abut_ray *rays) {
    static abut_ray_hit first[2][COUNT], all[2][ROOM];
    static bool any[2][COUNT];
    static uint64_t offsets[2][COUNT + 1];
    uint64_t total[2];
    const abut_array from = abut_array_host((void *)(uintptr_t)rays);
    for (int k = 0; k < 2; k++) {
        assert_ok(abut_ray_first_batch(trees[k], from, COUNT, HUGE_VAL, abut_array_host(first[k])));
        assert_ok(abut_ray_any_batch(trees[k], from, COUNT, HUGE_VAL, abut_array_host(any[k])));
        assert_ok(abut_ray_all_batch(trees[k], from, COUNT, ROOM, abut_array_host(offsets[k]),
                                     abut_array_host(all[k]), &total[k]));
    }
    assert_hits(first[1], first[0], COUNT);
    assert_memory_equal(any[0], any[1], sizeof any[0]);
    assert_int_equal(total[0], total[1]);
    assert_memory_equal(offsets[0], offsets[1], sizeof offsets[0]);
    assert_hits(all[1], all[0], total[0]);
}

static void compare_boxes(const abut_vec3 *points, double size) {
    static abut_box boxes[COUNT];
    static uint32_t triangles[2][ROOM];
    static uint64_t offsets[2][COUNT + 1];
    uint64_t total[2];
    for (size_t i = 0; i < COUNT; i++) {
        const double half = size * (double)(i % 10) / 200;
        boxes[i] = (abut_box){vec(points[i].x - half, points[i].y - half, points[i].z - half),
                              vec(points[i].x + half, points[i].y + half, points[i].z + half)};
    }
    for (int k = 0; k < 2; k++)
        assert_ok(abut_bvh_find_in_box_batch(trees[k], abut_array_host(boxes), COUNT, ROOM,
                                             abut_array_host(offsets[k]),
                                             abut_array_host(triangles[k]), &total[k]));
    assert_int_equal(total[0], total[1]);
    assert_memory_equal(offsets[0], offsets[1], sizeof offsets[0]);
    assert_memory_equal(triangles[0], triangles[1], total[0] * sizeof **triangles);
}

/* Two of the mesh, at random poses about each other. Where they touch, which of their common points
 * is given depends on the tree. */
static void compare_pairs(double size, test_random *random) {
    static abut_pose poses[POSES];
    static abut_separation apart[2][POSES];
    static abut_pair_relation relations[2][POSES];
    static bool within[2][POSES];
    for (size_t i = 0; i < POSES; i++)
        poses[i] = random_pose(random, i % 2 ? 1.2 * size : 0.5 * size);
    for (int k = 0; k < 2; k++) {
        abut_pair_poses at = abut_pair_poses_default();
        at.a = at.b = trees[k];
        at.poses_b = poses;
        at.count = POSES;
        assert_ok(abut_pair_overlap_batch(&at, NULL, relations[k], NULL));
        assert_ok(abut_pair_distance_batch(&at, NULL, apart[k]));
        assert_ok(abut_pair_within_batch(&at, 0.1 * size, NULL, within[k], NULL));
    }
    assert_memory_equal(relations[0], relations[1], sizeof relations[0]);
    assert_memory_equal(within[0], within[1], sizeof within[0]);
    for (size_t i = 0; i < POSES; i++) {
        const abut_separation *a = &apart[0][i], *b = &apart[1][i];
        assert_true(a->distance == b->distance && a->relation == b->relation);
        if (a->relation == ABUT_PAIR_APART)
            assert_true(a->triangle_a == b->triangle_a && a->triangle_b == b->triangle_b &&
                        memcmp(&a->point_a, &b->point_a, 2 * sizeof a->point_a) == 0);
    }
}

/* Takes the mesh. */
static void compare_all(abut_mesh *mesh, uint64_t seed) {
    test_random random = {seed};
    const double size = largest_extent(mesh);
    abut_vec3 *points = make_points(mesh, COUNT, seed);
    abut_ray *rays = make_rays(mesh, COUNT, seed);
    build_trees(mesh);
    const abut_array batch = abut_array_host(points);
    compare_nearest(batch, HUGE_VAL);
    compare_nearest(batch, 0.1 * size);
    compare_signs(batch);
    compare_rays(rays);
    compare_boxes(points, size);
    compare_pairs(size, &random);
    destroy_trees();
    abut_mesh_destroy(mesh);
    free(points);
    free(rays);
}

TEST(closed_surfaces) {
    compare_all(make_shape(NULL, ABUT_SHAPE_TORUS, 24), 1);
    compare_all(make_shape(NULL, ABUT_SHAPE_LETTER_G, 4), 2);
}

TEST(open_surfaces) {
    compare_all(make_shape(NULL, ABUT_SHAPE_TEAPOT, 5), 3);
    compare_all(make_kind(NULL, SOUP_RANDOM, 150, 9), 4);
}

int main(void) {
    RUN_THERE();
}
