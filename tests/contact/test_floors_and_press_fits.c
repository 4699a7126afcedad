/* Exact contacts of bodies that rest on an open floor, of press fits in a tray, a round hole and
 * a cavity, and of a thin plate through a box. */
#include "contact/patches.h"

#include <math.h>

enum { MAX_PATCHES = 32 };

static abut_patch patches[MAX_PATCHES];
static abut_contact points[8 * MAX_PATCHES];

static abut_bvh *make_tree(abut_mesh *mesh) {
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

static abut_bvh *make_shape(abut_shape_kind kind, abut_vec3 extent, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    shape.extent = extent;
    shape.segments = shape.rings = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return make_tree(mesh);
}

/* A tray with a square hollow of 1 x 1 x 0.5 around the z axis, whose floor is at z = 0. */
static abut_bvh *make_tray(void) {
    static const double rings[4][2] = {{0.7, -0.2}, {0.7, 0.5}, {0.5, 0.5}, {0.5, 0}};
    static const double corners[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    abut_vec3 positions[16];
    uint32_t indices[84] = {0, 2, 1, 0, 3, 2, 12, 13, 14, 12, 14, 15}, count = 12;
    for (uint32_t i = 0; i < 16; i++)
        positions[i] = v3(corners[i % 4][0] * rings[i / 4][0], corners[i % 4][1] * rings[i / 4][0],
                          rings[i / 4][1]);
    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t a = 4 * r + k, b = 4 * r + (k + 1) % 4;
            const uint32_t two[6] = {a, b, b + 4, a, b + 4, a + 4};
            for (int i = 0; i < 6; i++)
                indices[count++] = two[i];
        }
    return make_tree(test_mesh(NULL, positions, 16, indices, count / 3));
}

static abut_patches find_contacts(const abut_bvh *a, abut_pose at, const abut_bvh *b,
                                  double margin) {
    abut_patches found = {.size = sizeof found,
                          .patches.list = patches,
                          .patches.capacity = MAX_PATCHES,
                          .contacts.list = points,
                          .contacts.capacity = 8 * MAX_PATCHES};
    abut_patch_options options = abut_patch_options_default();
    const abut_collider first = abut_collider_from_bvh(a, at),
                        second = abut_collider_from_bvh(b, abut_pose_identity());
    options.margin = margin;
    assert_ok(abut_contact_find(&first, &second, &options, &found));
    assert_true(found.patches.count > 0);
    return found;
}

/* A cube on either side of an open floor of few triangles, touching it or hardly in it. */
TEST(cube_rests_on_a_coarse_open_floor) {
    const double depths[] = {0, 1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-3};
    abut_bvh *cube = make_shape(ABUT_SHAPE_BOX, v3(1, 1, 1), 1);
    test_random random = {71};
    for (uint32_t cells = 1; cells <= 3; cells++) {
        abut_bvh *ground = make_shape(ABUT_SHAPE_SHEET, v3(10, 10, 0), cells);
        for (int i = 0; i < 56; i++) {
            const double depth = depths[i % 7], side = i % 2 ? 1 : -1;
            const abut_pose at = {{0, 0, 0, 1},
                                  {test_random_real(&random, -3, 3),
                                   test_random_real(&random, -3, 3), side * (0.5 - depth)}};
            const abut_patches found = find_contacts(cube, at, ground, i % 4 < 2 ? 0 : 0.005);
            if (!(fabs(patches[0].depth - depth) < 1e-9) || !(patches[0].normal.z * side > 0.999))
                fail_msg("%u cells: depth %g, normal %g for %g", cells, patches[0].depth,
                         patches[0].normal.z, depth);
            assert_true(found.contacts.count >= 4);
        }
        abut_bvh_destroy(ground);
    }
    abut_bvh_destroy(cube);
}

/* A cube that is wider than the tray by 2 e: four walls of e, and the floor. */
TEST(press_fit_in_a_tray_keeps_its_walls) {
    const double excess[] = {1e-6, 1e-5, 1e-4, 1e-3, 5e-3};
    abut_bvh *tray = make_tray();
    for (int i = 0; i < 10; i++) {
        const double e = excess[i / 2];
        abut_bvh *cube = make_shape(ABUT_SHAPE_BOX, v3(1 + 2 * e, 1 + 2 * e, 1), 1);
        const abut_pose at = {{0, 0, 0, 1}, {0, 0, 0.5}};
        const abut_patches found = find_contacts(cube, at, tray, i % 2 ? 0.005 : 0);
        assert_int_equal(found.patches.count, 5);
        for (int k = 0; k < 5; k++)
            if (!(fabs(patches[k].depth - (k < 4 ? e : 0)) < 1e-9))
                fail_msg("wall %d is %g deep instead of %g", k, patches[k].depth, k < 4 ? e : 0);
        abut_bvh_destroy(cube);
    }
    abut_bvh_destroy(tray);
}

/* Whether walls around the z axis push a body from all sides of it. */
static bool is_held(const abut_patches *found) {
    for (int i = 0; i < 72; i++) {
        const abut_vec3 way = v3(cos(i * 0.0872664626), sin(i * 0.0872664626), 0);
        double most = -1;
        for (uint64_t k = 0; k < found->patches.count; k++)
            most = real_max(most, v3_dot(patches[k].normal, way));
        if (most < 0.49) /* 60 degrees, of the three walls of a triangle */
            return false;
    }
    return true;
}

/* A round peg that is wider than its hole by 0.003 of the radius: walls all round, with local
 * depths and four contacts each. */
TEST(press_fit_of_a_round_peg_is_held_all_round) {
    const uint32_t sides[] = {3, 5, 6, 8, 12, 16, 24, 48};
    const abut_vec3 places[] = {{0, 0, 0}, {-0.001, -0.0005, 0}};
    const double excess = 0.003;
    for (int i = 0; i < 32; i++) {
        abut_shape peg = abut_shape_default(ABUT_SHAPE_CYLINDER),
                   hole = abut_shape_default(ABUT_SHAPE_TUBE);
        const abut_vec3 at = places[i % 2];
        peg.segments = hole.segments = sides[i / 4];
        peg.rings = hole.rings = 1;
        peg.radius = 0.5 + excess;
        peg.height = 2;
        hole.radius = 1;
        hole.radius2 = 0.5;
        hole.height = 0.5;
        abut_bvh *trees[2] = {tree_of(NULL, &peg), tree_of(NULL, &hole)};
        const abut_patches found =
            find_contacts(trees[0], shifted(at.x, at.y, at.z), trees[1], i % 4 < 2 ? 0 : 0.005);
        assert_false(found.is_verified);
        assert_true(found.patches.count >= 3 && is_held(&found));
        for (uint64_t k = 0; k < found.patches.count; k++) {
            const double local =
                excess * cos(3.14159265358979 / sides[i / 4]) - v3_dot(at, patches[k].normal);
            /* The faces of a wall differ from its normal by 26 degrees at most. */
            const double most = (local + 0.44 * v3_length(at)) / 0.9 + 1e-6;
            if (!(patches[k].depth > local - 1e-6 && patches[k].depth < most))
                fail_msg("%u sides: depth %g instead of %g", sides[i / 4], patches[k].depth, local);
            assert_true(fabs(patches[k].normal.z) < 1e-6);
            assert_int_equal(patches[k].count, 4);
        }
        for (int k = 0; k < 2; k++)
            abut_bvh_destroy(trees[k]);
    }
}

/* A cube with a side of 1.6 and a closed cubic cavity with a side of 1 in it. */
static abut_bvh *make_shell(void) {
    static const uint32_t quads[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                         {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    abut_vec3 positions[16];
    uint32_t indices[72], count = 0;
    for (uint32_t i = 0; i < 16; i++) {
        const double half = i < 8 ? 0.8 : 0.5;
        positions[i] = v3(i & 1 ? half : -half, i & 2 ? half : -half, i & 4 ? half : -half);
    }
    for (uint32_t i = 0; i < 12; i++)
        for (uint32_t k = 0; k < 6; k++) { /* those of the cavity are reversed */
            const uint32_t corner = k < 3 ? k : (k - 1) % 4;
            indices[count++] = i < 6 ? quads[i][corner] : 8 + quads[i - 6][3 - corner];
        }
    return make_tree(test_mesh(NULL, positions, 16, indices, count / 3));
}

/* A cube that is larger than a closed cavity by e on each side: six walls with local depths. */
TEST(press_fit_in_a_closed_cavity_keeps_its_walls) {
    const double excess[] = {1e-6, 1e-4, 2e-3, 1e-2, 4e-2};
    abut_bvh *shell = make_shell();
    for (uint32_t i = 0; i < 20; i++) {
        const double e = excess[i / 4], shift = i % 2 ? 0.2 * e : 0;
        abut_bvh *cube = make_shape(ABUT_SHAPE_BOX, v3(1 + 2 * e, 1 + 2 * e, 1 + 2 * e), 1 + i % 3);
        const abut_patches found =
            find_contacts(cube, shifted(shift, -0.5 * shift, 0), shell, i % 4 < 2 ? 0 : 0.005);
        assert_false(found.is_verified);
        assert_int_equal(found.patches.count, 6);
        abut_vec3 sum = v3(0, 0, 0);
        for (int k = 0; k < 6; k++) {
            const abut_vec3 n = patches[k].normal;
            sum = v3_add(sum, n);
            assert_close(patches[k].depth, e - shift * (n.x - 0.5 * n.y), 1e-9);
            assert_int_equal(patches[k].count, 4);
        }
        assert_true(v3_length(sum) < 1e-5);
        abut_bvh_destroy(cube);
    }
    abut_bvh_destroy(shell);
}

/* Two plates at exactly the same height, half in each other: the contact normal is across their
 * thickness, not along their plane. */
TEST(plates_at_the_same_height_leave_across_their_thickness) {
    const abut_vec3 places[] = {{0.5, 0, 0},    {0.2, 0, 0},    {0.5, 0.3, 0},
                                {-0.3, 0.3, 0}, {0.98, 0.1, 0}, {0, -0.4, 0}};
    abut_bvh *plate = make_shape(ABUT_SHAPE_BOX, v3(1, 1, 0.01), 1);
    for (int i = 0; i < 18; i++) {
        abut_pose at;
        assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), i / 6 * 0.4, places[i % 6], &at));
        const abut_patches found = find_contacts(plate, at, plate, i % 2 ? 0.001 : 0);
        assert_true(found.is_verified);
        assert_close(patches[0].depth, 0.01, 1e-9);
        assert_close(fabs(patches[0].normal.z), 1, 1e-9);
    }
    abut_bvh_destroy(plate);
}

/* A thin plate that an edge of a cube cuts through: the depth is not that within the plate. */
TEST(plate_through_an_edge_separates) {
    abut_bvh *cube = make_shape(ABUT_SHAPE_BOX, v3(1, 1, 1), 1),
             *plate = make_shape(ABUT_SHAPE_BOX, v3(1, 1, 0.01), 1);
    const double angles[] = {60, 30};
    const abut_vec3 places[] = {{0, 0.5, 0.7}, {0.5, 0, 0.5}};
    for (int i = 0; i < 2; i++) {
        abut_pose at;
        assert_ok(abut_pose_from_axis_angle(v3(0, 1, 2), angles[i] * 0.017453292519943295,
                                            places[i], &at));
        const abut_patches found = find_contacts(plate, at, cube, 0);
        assert_true(found.is_verified);
        assert_true(patches[0].depth > 0.01 && patches[0].depth < 0.04);
    }
    abut_bvh_destroy(plate);
    abut_bvh_destroy(cube);
}

/* An upright sheet of few triangles whose lower edge is in a cube: the contact normal is that of
 * the edge. The edge may be as wide as the cube, or wider: then no vertex of it is inside. */
TEST(upright_sheet_leaves_across_its_edge) {
    const double widths[] = {0.5, 1, 1.5, 2};
    const abut_vec3 places[] = {{0, 0, 0}, {0.13, 0.25, 0}, {0.1, -0.3, 0}};
    abut_bvh *cube = make_shape(ABUT_SHAPE_BOX, v3(1, 1, 1), 1);
    for (uint32_t i = 0; i < 48; i++) {
        const double width = widths[i % 4], depth = i / 4 % 2 ? 0.02 : 0.001;
        abut_bvh *sheet = make_shape(ABUT_SHAPE_SHEET, v3(width, width, 0), 1 + i / 8 % 2);
        abut_vec3 place = places[i / 16];
        abut_pose at;
        place.z = 0.5 + 0.5 * width - depth;
        assert_ok(abut_pose_from_axis_angle(i / 8 % 4 < 2 ? v3(1, 0, 0) : v3(0, 1, 0),
                                            1.5707963267948966, place, &at));
        const abut_patches found = find_contacts(sheet, at, cube, 0);
        assert_true(found.is_verified);
        assert_close(patches[0].depth, depth, 1e-6);
        assert_close(patches[0].normal.z, 1, 1e-4);
        abut_bvh_destroy(sheet);
    }
    abut_bvh_destroy(cube);
}

static abut_vec3 random_extent(test_random *random) {
    const double x = test_random_real(random, 0.2, 1.5), y = test_random_real(random, 0.2, 1.5);
    return v3(x, y, test_random_real(random, 0.2, 1.5));
}

/* Random boxes of 12 triangles, every third one a thin plate. */
TEST(random_boxes_separate) {
    test_random random = {5};
    for (int i = 0; i < 900; i++) {
        const abut_vec3 extent = random_extent(&random), plate = v3(1, 1, 0.01);
        const abut_pose at = random_pose(&random, 0.7);
        abut_bvh *a = make_shape(ABUT_SHAPE_BOX, i % 3 ? extent : plate, 1),
                 *b = make_shape(ABUT_SHAPE_BOX, random_extent(&random), 1);
        const abut_collider first = abut_collider_from_bvh(a, at),
                            second = abut_collider_from_bvh(b, shifted(0, 0, 0));
        abut_overlap overlap;
        assert_ok(abut_pair_overlap(&first, &second, NULL, NULL, &overlap));
        if (overlap.relation != ABUT_PAIR_APART && !find_contacts(a, at, b, 0).is_verified)
            fail_msg("pair %d: depth %g does not separate", i, patches[0].depth);
        abut_bvh_destroy(a);
        abut_bvh_destroy(b);
    }
}
