/* Pruning beyond the line of a closest pair: it never prunes a nearer pair, and results are the
 * same with and without it. */
#include "bvh/meshes.h"
#include "pair/frame.h"

#include "pair/witness_bound.h"

enum { TRIANGLES = 60 };

static const abut_pose still = {{0, 0, 0, 0}, {0, 0, 0}};

static const pair_slabs *slabs_of(const abut_bvh *bvh) {
    const pair_slabs *slabs = abuti_pair_slabs(bvh, bvh->leaf_count);
    assert_non_null(slabs);
    return slabs;
}

typedef struct counts {
    int beyond, excluded;
} counts;

/* Tests all nodes, with the line of any pair and any bound: the test is conservative. */
static void check_line(const abut_bvh *a, const abut_bvh *b, abut_pose at, test_random *random,
                       counts *seen) {
    static double distance[TRIANGLES][TRIANGLES];
    const abut_collider posed[2] = {abut_collider_from_bvh(a, still),
                                    abut_collider_from_bvh(b, at)};
    const pair_slabs *slabs[2] = {slabs_of(a), slabs_of(b)};
    uint32_t list[2][TRIANGLES];
    pair_frame frame;
    witness_bound line;
    closest_pair closest = {0, {0, 0, 0}, {0, 0, 0}}, least = {INFINITY, {0, 0, 0}, {0, 0, 0}};
    assert_true(init_frame(&posed[0], &posed[1], &frame));
    for (uint32_t i = 0; i < a->triangle_count; i++)
        for (uint32_t j = 0; j < b->triangle_count; j++) {
            abut_triangle s = pair_triangle(&frame.side[0], i);
            abut_triangle t = pair_triangle(&frame.side[1], j);
            abut_closest_pair pair;
            assert_ok(abut_triangle_triangle_closest(&s, &t, &pair));
            distance[i][j] = pair.distance;
            closest.distance = pair.distance;
            closest.point_a = pair.point_a;
            closest.point_b = pair.point_b;
            least = pair.distance < least.distance ? closest : least;
        }
    if (!(least.distance > 0))
        return;
    abuti_witness_bound_start(&line, &frame, slabs, &least);
    for (int turn = 0; turn < 3; turn++) {
        double most =
            (turn < 2 ? least : closest).distance * (1 + turn * test_random_real(random, 0, 1)) +
            4 * frame.position_error;
        if (turn == 2 && closest.distance > 0)
            abuti_witness_bound_update(&line, &closest);
        for (uint32_t i = 0; i < BVH_WIDTH * a->node_count; i++)
            for (uint32_t j = 0; j < BVH_WIDTH * b->node_count; j++) {
                const uint32_t place[2] = {i, j};
                const uint32_t count[2] = {list_below(a, i, list[0]), list_below(b, j, list[1])};
                double nearest = INFINITY;
                for (uint32_t k = 0; k < count[0] * count[1]; k++)
                    nearest = fmin(nearest, distance[list[0][k / count[1]]][list[1][k % count[1]]]);
                if (!count[0] || !count[1])
                    continue;
                bool is_excluded = abuti_witness_bound_excludes(&line, place, most, true);
                assert_false(is_excluded && nearest < most - 4 * frame.position_error);
                seen->beyond += turn < 2 && nearest > most;
                seen->excluded += turn < 2 && is_excluded;
            }
    }
}

/* Distances of all triangles of leaves about a middle, in floats: within the stated error of the
 * true ones. How near, at most, as a part of that. */
static double check_corners(const abut_bvh *a, const abut_bvh *b, abut_pose at) {
    const abut_collider posed[2] = {abut_collider_from_bvh(a, still),
                                    abut_collider_from_bvh(b, at)};
    const pair_slabs *slabs[2] = {slabs_of(a), slabs_of(b)};
    const abut_bvh *bvh[2] = {a, b};
    uint32_t list[2][TRIANGLES];
    double worst = 0;
    pair_frame frame;
    witness_bound line;
    assert_true(init_frame(&posed[0], &posed[1], &frame));
    abuti_witness_bound_start(&line, &frame, slabs,
                              &(closest_pair){1, {0, 0, 0}, {1, 0, 0}}); /* any will do */
    for (uint32_t i = 0; i < BVH_WIDTH * a->node_count; i++)
        for (uint32_t j = 0; j < BVH_WIDTH * b->node_count; j++) {
            const uint32_t place[2] = {i, j};
            uint32_t count[2];
            float steps = 0, got[4];
            wide3 corner[3];
            wide_triangle one, four;
            bool leaves = true;
            for (int k = 0; k < 2; k++) {
                const bvh_node *node = &bvh[k]->nodes[place[k] / BVH_WIDTH];
                uint32_t slot = place[k] % BVH_WIDTH;
                leaves = leaves && node->child[slot] != ABUT_NONE && node->child[slot] & BVH_LEAF;
                float longest = 0;
                for (int axis = 0; axis < 3; axis++)
                    longest = fmaxf(longest, node->hi[axis][slot] - node->lo[axis][slot]);
                steps += longest * (frame.side[k].unit / BVH_STEPS);
            }
            if (!leaves)
                continue;
            for (int k = 0; k < 2; k++)
                count[k] = list_below(bvh[k], place[k], list[k]);
            float about = abuti_witness_bound_corners(&line, place, corner, four.corner);
            triangle_prepare(&four);
            for (uint32_t m = 0; m < count[0]; m++) {
                broadcast_triangle(corner, m, one.corner);
                triangle_prepare(&one);
                f4_store(got, f4_sqrt(triangle_distance_sq(&one, &four)));
                for (uint32_t n = 0; n < count[1]; n++) {
                    abut_triangle s = pair_triangle(&frame.side[0], list[0][m]);
                    abut_triangle t = pair_triangle(&frame.side[1], list[1][n]);
                    abut_closest_pair pair;
                    assert_ok(abut_triangle_triangle_closest(&s, &t, &pair));
                    double off = fabs(got[n] - pair.distance * frame.scale);
                    assert_true(pair.distance == 0 || off <= about + steps);
                    if (pair.distance > 0)
                        worst = fmax(worst, (off - 0.8661 * steps) / about);
                }
            }
        }
    return worst;
}

TEST(corners_about_a_middle) {
    test_random random = {43};
    double worst = 0;
    for (int i = 0; i < 2 * SOUP_COUNT; i++) {
        AUTO(bvh) a = hierarchy(make_kind(NULL, (soup_kind)(i / 2), TRIANGLES, 5));
        AUTO(bvh)
        b = hierarchy(
            make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 5), i % 2 ? 1 : 0.02, vec(0, 0, 0)));
        worst = fmax(worst, check_corners(a, b, any_pose(&random, i % 3 ? 6 : 2)));
    }
    /* A mesh of one position says nothing of how small the other is. */
    for (int i = 0; i < 3; i++) {
        const abut_vec3 position = vec(0, 0, 0);
        const uint32_t triangle[1][3] = {{0, 0, 0}};
        const double scale[] = {1e-13, 1e-15, 1e-17};
        AUTO(bvh) a = hierarchy(test_mesh(NULL, &position, 1, triangle, 1));
        AUTO(bvh)
        b = hierarchy(make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 5), scale[i], vec(0, 0, 0)));
        check_corners(a, b, any_pose(&random, scale[i]));
    }
    if (!(worst > 0 && worst < 0.25)) /* beyond the steps; 0 = nothing was measured */
        fail_msg("the largest error is %g of its bound", worst);
}

/* Two triangles at a distance of 2.5 along a line of length 3, in any direction: the way between
 * their middles across the line is rounding error, and no reason to prune them. */
TEST(middles_on_the_line) {
    const abut_vec3 corners[3] = {{-0.01, 0, 0.01}, {0.01, 0, -0.01}, {0, 0.001, 0}};
    const uint32_t triangle[1][3] = {{0, 1, 2}}, place[2] = {0, 0};
    test_random random = {47};
    AUTO(bvh) bvh = hierarchy(test_mesh(NULL, corners, 3, triangle, 1));
    const pair_slabs *slabs[2] = {slabs_of(bvh), slabs_of(bvh)};
    for (uint32_t i = 0; i < 1000; i++) {
        const vec3 way = v3_normalise(random_vec(&random, 1));
        const abut_collider posed[2] = {
            abut_collider_from_bvh(bvh, still),
            abut_collider_from_bvh(bvh, (abut_pose){still.rotation, v3_scale(way, 2.5)})};
        pair_frame frame;
        witness_bound line;
        assert_true(init_frame(&posed[0], &posed[1], &frame));
        abuti_witness_bound_start(&line, &frame, slabs,
                                  &(closest_pair){3, {0, 0, 0}, v3_scale(way, 3)});
        assert_false(abuti_witness_bound_excludes(&line, place, 3, true));
    }
}

TEST(beyond_the_line) {
    test_random random = {41};
    counts seen = {0, 0};
    for (int i = 0; i < SOUP_COUNT + 12; i++) {
        /* the smaller one of the last two is as small as a mesh may be */
        const double all = i < SOUP_COUNT + 8 ? 1 : i % 2 ? 1e-89 : 1e-88;
        AUTO(bvh)
        a = hierarchy(i < SOUP_COUNT
                          ? make_kind(NULL, (soup_kind)i, TRIANGLES, 5)
                          : make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 5), all, vec(0, 0, 0)));
        AUTO(bvh)
        b = hierarchy(make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 5), i % 2 ? all : 0.02 * all,
                                 vec(0, 0, 0)));
        assert_true(a->triangle_count <= TRIANGLES && b->triangle_count <= TRIANGLES);
        check_line(a, b, any_pose(&random, all * (i % 3 ? 6 : 2)), &random, &seen);
    }
    assert_true(seen.excluded > seen.beyond / 2);
}

static abut_bvh *pipe(double radius, double height, uint32_t segments, uint32_t rings) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_CYLINDER);
    abut_mesh *mesh = NULL;
    shape.radius = radius;
    shape.height = height;
    shape.segments = segments;
    shape.rings = rings;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return hierarchy(mesh);
}

/* Pipes that pass each other, a thin one or one as thick, and rings: the same with slabs and the
 * line as without both. */
TEST(pipes_and_rings) {
    enum { POSES = 30, KINDS = 3 };
    test_random random = {7};
    int apart = 0;
    for (int k = 0; k < KINDS; k++) {
        abut_bvh *with[2], *without[2];
        for (int i = 0; i < 2; i++) {
            abut_bvh **list = i ? with : without;
            list[0] =
                k < 2 ? pipe(0.1, 4, 24, 150) : hierarchy(make_shape(NULL, ABUT_SHAPE_TORUS, 60));
            list[1] = k == 1 ? pipe(0.02, 4, 6, 150) : list[0];
        }
        for (int i = 0; i < 2; i++) {
            slabs_of(with[i]);
            atomic_store(&without[i]->pair_steps, SIZE_MAX / 2); /* as if they were being made */
        }
        for (int i = 0; i < POSES; i++) {
            abut_separation found, expected;
            abut_collider a = abut_collider_from_bvh(with[0], still),
                          b = abut_collider_from_bvh(with[1], any_pose(&random, 0));
            b.pose.translation = random_vec(&random, i % 2 ? 2 : 0.5);
            if (k == 2 && i % 4 == 0) {
                b.pose.rotation = still.rotation;
                b.pose.translation = vec(0.01, -0.02, 1);
            }
            assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &found));
            a.shape.body.bvh = without[0];
            b.shape.body.bvh = without[1];
            assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &expected));
            assert_memory_equal(&found, &expected, sizeof found);
            apart += found.relation == ABUT_PAIR_APART;
        }
        for (int i = 0; i < 2; i++) {
            abut_bvh **list = i ? with : without;
            if (list[1] != list[0])
                abut_bvh_destroy(list[1]);
            abut_bvh_destroy(list[0]);
        }
    }
    assert_true(apart > POSES);
}
