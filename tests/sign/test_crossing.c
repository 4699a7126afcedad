/* Exact winding numbers: equal to those in rationals, for any point. */
#include "winding.h"

#include "sign/sign.h"

static void check_point(const abut_bvh *bvh, const abut_mesh *mesh, const abut_pose *motion,
                        abut_vec3 point, test_random *random) {
    exact_winding expected = winding_exactly(mesh, point, random);
    int64_t winding = 77;
    bool on_surface = !expected.on_surface;
    abuti_sign_crossing(bvh, motion, point, &winding, &on_surface);
    if (winding != expected.winding || on_surface != expected.on_surface)
        fail_msg("at (%.17g, %.17g, %.17g): %lld%s instead of %lld%s", point.x, point.y, point.z,
                 (long long)winding, on_surface ? " on the surface" : "",
                 (long long)expected.winding, expected.on_surface ? " on the surface" : "");
}

/* Points around, near and on: on corners, on edges, and in line with up to three corners. `mesh` is
 * the posed triangles of the BVH. */
static void check_points(const abut_bvh *bvh, const abut_mesh *mesh, const abut_pose *motion,
                         int rounds, uint64_t seed) {
    test_random random = {seed};
    double size = largest_extent(mesh);
    uint32_t count = abut_mesh_triangle_count(mesh);
    for (int i = 0; i < rounds; i++) {
        check_point(bvh, mesh, motion, point_around(mesh, &random, 1.1), &random);
        check_point(bvh, mesh, motion, point_near(mesh, &random, 1e-14 * size), &random);
        check_point(bvh, mesh, motion, point_near(mesh, &random, 0), &random);
        abut_vec3 a[3];
        for (int k = 0; k < 3; k++)
            a[k] = triangle_of(mesh, test_random_below(&random, count)).corner[k];
        check_point(bvh, mesh, motion, a[0], &random);
        check_point(bvh, mesh, motion, vec(a[0].x, a[1].y, a[2].z), &random);
        check_point(bvh, mesh, motion, vec(a[0].x, a[0].y, a[1].z), &random);
        check_point(bvh, mesh, motion, vec(a[1].x, a[0].y, a[0].z), &random);
        check_point(bvh, mesh, motion, vec(a[0].x, a[1].y, a[0].z), &random);
        abut_triangle t = triangle_of(mesh, test_random_below(&random, count));
        const abut_vec3 *c = t.corner;
        abut_vec3 middle = vec((c[0].x + c[1].x) / 2, (c[0].y + c[1].y) / 2, (c[0].z + c[1].z) / 2);
        check_point(bvh, mesh, motion, middle, &random);
        abut_vec3 inner =
            vec((middle.x + c[2].x) / 2, (middle.y + c[2].y) / 2, (middle.z + c[2].z) / 2);
        check_point(bvh, mesh, motion, inner, &random);
        check_point(bvh, mesh, motion, vec(inner.x, inner.y, nextafter(inner.z, HUGE_VAL)),
                    &random);
        check_point(bvh, mesh, motion, vec(nextafter(inner.x, -HUGE_VAL), inner.y, inner.z),
                    &random);
        check_point(bvh, mesh, motion, vec(middle.x, a[0].y, middle.z), &random);
    }
    if (motion)
        return;
    check_point(bvh, mesh, motion, vec(0, 0, 0), &random);
    check_point(bvh, mesh, motion, vec(ABUT_COORDINATE_MAX, 0, 0), &random);
    check_point(bvh, mesh, motion, vec(0, -ABUT_COORDINATE_MAX, 1), &random);
}

static void check_posed(abut_mesh *mesh, const abut_bvh *bvh, abut_pose motion, int rounds,
                        uint64_t seed) {
    abut_mesh *moved;
    assert_ok(abut_mesh_transform(mesh, 1, motion, &moved));
    check_points(bvh, moved, &motion, rounds, seed);
    abut_mesh_destroy(moved);
}

/* At rest and in several poses. Takes the mesh. */
static void check_mesh(abut_mesh *mesh, int rounds, uint64_t seed) {
    test_random random = {seed};
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    check_points(bvh, mesh, NULL, rounds, seed);
    double size = largest_extent(mesh);
    abut_pose motion = {{0, 0, 0, 0}, {0, 0, 0}};
    check_posed(mesh, bvh, motion, 1 + rounds / 4, seed + 1);
    motion.translation = vec(size / 3, -2 * size, size / 7);
    check_posed(mesh, bvh, motion, 1 + rounds / 4, seed + 2);
    motion.rotation = (abut_quat){0, 0, 1, 1}; /* a quarter turn: all but parallel */
    check_posed(mesh, bvh, motion, 1 + rounds / 4, seed + 3);
    motion.rotation = (abut_quat){1, 1e-17, 3e-40, 0};
    check_posed(mesh, bvh, motion, 1 + rounds / 4, seed + 4);
    abut_vec3 q = random_vec(&random, 1);
    motion.rotation = (abut_quat){q.x, q.y, q.z, 0.3};
    check_posed(mesh, bvh, motion, 1 + rounds / 2, seed + 5);
    motion.translation = vec(1e7 * size, 3e6 * size, -2e7 * size); /* coarse */
    check_posed(mesh, bvh, motion, 1 + rounds / 2, seed + 6);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

static abut_mesh *unit_box(void) {
    return make_shape(NULL, ABUT_SHAPE_BOX, 1);
}

TEST(simple_solids) {
    check_mesh(unit_box(), 12, 1);
    check_mesh(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 6), 4, 2);
    check_mesh(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 2), 3, 3);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TORUS, 7), 4, 4);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT_SOLID, 2), 1, 5);
}

TEST(shells) {
    check_mesh(make_flipped(unit_box()), 6, 10);
    /* a cavity, and twice inside */
    check_mesh(make_joined(unit_box(), make_flipped(make_moved(unit_box(), 0.5, vec(0, 0, 0)))), 6,
               11);
    check_mesh(make_joined(unit_box(), make_moved(unit_box(), 0.5, vec(0, 0, 0))), 6, 12);
    /* through each other; along a face, an edge, a corner; the same place */
    check_mesh(make_joined(unit_box(), make_moved(unit_box(), 1, vec(0.25, 0.5, 0.125))), 6, 13);
    check_mesh(make_joined(unit_box(), make_moved(unit_box(), 1, vec(1, 0, 0))), 6, 14);
    check_mesh(make_joined(unit_box(), make_moved(unit_box(), 1, vec(1, 1, 0))), 6, 15);
    check_mesh(make_joined(unit_box(), make_moved(unit_box(), 1, vec(-1, 1, 1))), 6, 16);
    check_mesh(make_joined(unit_box(), unit_box()), 6, 17);
    check_mesh(make_joined(unit_box(), make_flipped(unit_box())), 6, 18);
    check_mesh(make_joined(make_shape(NULL, ABUT_SHAPE_TORUS, 5),
                           make_flipped(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 1))),
               3, 19);
}

/* Tetrahedra on a lattice, in soups: with shared planes, edges and corners, and flat ones. */
TEST(lattice_soups) {
    for (uint64_t seed = 0; seed < 8; seed++) {
        test_random random = {seed};
        enum { SOLIDS = 5 };
        abut_vec3 corners[SOLIDS * 12];
        static const int face[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
        for (int i = 0; i < SOLIDS; i++) {
            abut_vec3 v[4];
            for (int k = 0; k < 4; k++) {
                abut_vec3 r = random_vec(&random, 2);
                v[k] = vec(floor(r.x), floor(r.y), floor(r.z));
            }
            for (int f = 0; f < 4; f++)
                for (int k = 0; k < 3; k++)
                    corners[12 * i + 3 * f + k] = v[face[f][k]];
        }
        check_mesh(make_soup(NULL, corners, 4 * SOLIDS), 4, 100 + seed);
    }
}

TEST(sizes_and_places) {
    static const double scales[] = {1e-30, 1e30, 1e-80, 1e80, 1e-6};
    static const double places[] = {0, 0, 0, 0, 1e6};
    for (int i = 0; i < 5; i++) {
        abut_vec3 by = vec(places[i], -places[i], 2 * places[i]);
        check_mesh(make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 4), scales[i], by), 2, 60);
    }
}

/* On the surface is exact for meshes with a border too, and for what is only segments and points.
 */
TEST(borders) {
    for (int kind = 0; kind < SOUP_COUNT; kind++) {
        test_random random = {(uint64_t)kind};
        abut_mesh *mesh = make_kind(NULL, (soup_kind)kind, 30, 5);
        abut_bvh *bvh;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        for (int i = 0; i < 60; i++) {
            abut_vec3 p = i % 3 == 0 ? point_near(mesh, &random, 0)
                          : i % 3 == 1
                              ? triangle_of(mesh, test_random_below(&random, 30)).corner[i / 3 % 3]
                              : point_around(mesh, &random, 1);
            int64_t winding;
            bool on_surface;
            abuti_sign_crossing(bvh, NULL, p, &winding, &on_surface);
            assert_int_equal(winding_exactly(mesh, p, &random).on_surface, on_surface);
        }
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
    }
}
