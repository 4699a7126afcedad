/* Inside, winding numbers and signed distances: exact on surfaces without border, and close to the
 * sum of all solid angles on others. */
#include "apps/get.h"
#include "surfaces.h"
#include "winding.h"

#include "base/simd.h"
#include "sign/sign.h"
#include "sign/winding_shared.h"

/* What the headers promise. */
#define WINDING_ERROR 0.01

/* ---- without border ---- */

static void check_exact(const abut_bvh *bvh, const abut_mesh *mesh, abut_vec3 p,
                        test_random *random) {
    exact_winding expected = winding_exactly(mesh, p, random);
    bool inside = false;
    double winding;
    abut_nearest with, without;
    assert_ok(abut_sign_inside(bvh, p, &inside));
    assert_int_equal(expected.on_surface || expected.winding != 0, inside);
    assert_ok(abut_sign_winding(bvh, p, &winding));
    assert_true(winding == (expected.on_surface ? 0.5 : (double)expected.winding));
    assert_ok(abut_sign_nearest(bvh, p, HUGE_VAL, &with));
    assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &without));
    if (inside && without.distance > 0)
        without.distance = -without.distance;
    if (memcmp(&with, &without, sizeof with) != 0)
        fail_msg("at (%.17g, %.17g, %.17g): %.17g instead of %.17g (triangle %u, feature %d)", p.x,
                 p.y, p.z, with.distance, without.distance, with.triangle, (int)with.feature);
}

/* Takes the mesh. */
static void check_closed(abut_mesh *mesh, abut_sign_method method, int rounds, uint64_t seed) {
    test_random random = {seed};
    abut_bvh *bvh = make_bvh(mesh, method);
    double size = largest_extent(mesh);
    uint32_t count = abut_mesh_triangle_count(mesh);
    abut_sign_info info = get_sign_info(bvh);
    assert_true(info.is_closed);
    assert_int_equal(method ? method : ABUT_SIGN_WINDING, info.method);
    assert_true(info.bytes > 0);
    for (int i = 0; i < rounds; i++) {
        check_exact(bvh, mesh, point_around(mesh, &random, 1.3), &random);
        check_exact(bvh, mesh, point_near(mesh, &random, 0.05 * size), &random);
        check_exact(bvh, mesh, point_near(mesh, &random, 1e-9 * size), &random);
        check_exact(bvh, mesh, point_near(mesh, &random, 1e-15 * size), &random);
        abut_vec3 v = triangle_of(mesh, test_random_below(&random, count)).corner[i % 3];
        check_exact(bvh, mesh, v, &random);
        abut_vec3 d = random_vec(&random, 1e-6 * size);
        check_exact(bvh, mesh, vec(v.x + d.x, v.y + d.y, v.z + d.z), &random);
        check_exact(bvh, mesh, vec(v.x + 1e5 * d.x, v.y, v.z), &random);
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

static abut_mesh *unit_box(void) {
    return make_shape(NULL, ABUT_SHAPE_BOX, 1);
}

TEST(solids) {
    for (int method = 0; method <= ABUT_SIGN_NORMAL; method++) {
        abut_sign_method m = (abut_sign_method)method;
        check_closed(unit_box(), m, 12, 1);
        check_closed(make_shape(NULL, ABUT_SHAPE_TORUS, 6), m, 6, 2);
        check_closed(make_shape(NULL, ABUT_SHAPE_LETTER_G, 1), m, 6, 3);
        check_closed(make_shape(NULL, ABUT_SHAPE_STAIRS, 2), m, 6, 4);
        check_closed(make_moved(make_shape(NULL, ABUT_SHAPE_CONE, 4), 1e-30, vec(0, 0, 0)), m, 4,
                     5);
        check_closed(make_moved(make_shape(NULL, ABUT_SHAPE_CONE, 4), 1e30, vec(0, 0, 0)), m, 4, 6);
        check_closed(make_moved(make_shape(NULL, ABUT_SHAPE_CONE, 4), 1e-3, vec(1e5, 0, -1e4)), m,
                     4, 7);
    }
}

/* What only winding numbers get right: turned inside out, one in another, through each other, seams
 * between vertices of equal coordinates. */
TEST(unruly_solids) {
    const abut_sign_method m = ABUT_SIGN_AUTO;
    check_closed(make_flipped(unit_box()), m, 8, 11);
    check_closed(make_joined(unit_box(), make_moved(unit_box(), 0.5, vec(0, 0, 0))), m, 8, 12);
    check_closed(make_joined(unit_box(), make_moved(unit_box(), 1, vec(0.3, 0.4, 0.2))), m, 8, 13);
    check_closed(make_joined(unit_box(), make_flipped(make_moved(unit_box(), 1, vec(3, 0, 0)))), m,
                 8, 14);
    check_closed(make_joined(unit_box(), make_moved(unit_box(), 1, vec(1, 0, 0))), m, 8, 15);
}

/* A mesh of the box with indices; `turn` swaps two corners of each triangle. */
static abut_mesh *make_indexed(const abut_vec3 *v, uint32_t vertex_count, const uint32_t *indices,
                               uint32_t triangle_count, bool turn) {
    uint32_t turned[96];
    assert_true(triangle_count <= 32);
    for (uint32_t i = 0; i < triangle_count; i++) {
        turned[3 * i] = indices[3 * i];
        turned[3 * i + 1] = indices[3 * i + (turn ? 2 : 1)];
        turned[3 * i + 2] = indices[3 * i + (turn ? 1 : 2)];
    }
    return test_mesh(NULL, v, vertex_count, turned, triangle_count);
}

/* Spikes, wedges and dents so sharp that the normals around all but cancel; by both methods, and
 * wound either way. Around a sharp corner, many faces are equally near. */
TEST(sharp_solids) {
    static const uint32_t tetrahedron[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    static const uint32_t dented[] = {0, 2, 1, 0, 1, 3, 1, 4, 3, 4, 2, 3, 1, 2, 4, 2, 0, 3};
    static const double thin[] = {0.1, 1e-3, 1e-6, 1e-9, 1e-12};
    for (int i = 0; i < 5; i++)
        for (int method = 0; method <= ABUT_SIGN_NORMAL; method++)
            for (int turn = 0; turn < 2; turn++) {
                abut_sign_method m = (abut_sign_method)method;
                double t = thin[i];
                uint64_t seed = (uint64_t)(10 * i + turn);
                abut_vec3 spike[] = {{-t, -t, 0}, {t, -t, 0}, {0, t, 0}, {0.25, 0.125, 1}};
                check_closed(make_indexed(spike, 4, tetrahedron, 4, turn), m, 6, seed);
                abut_vec3 wedge[] = {{0, 0, 0}, {1, 0, 0}, {0.5, 1, -t}, {0.5, 1, t}};
                check_closed(make_indexed(wedge, 4, tetrahedron, 4, turn), m, 6, seed + 1);
                abut_vec3 plate[] = {{0, 0, 0}, {1, 0, 0}, {0.3, 1, 0}, {0.4, 0.3, t}};
                check_closed(make_indexed(plate, 4, tetrahedron, 4, turn), m, 6, seed + 2);
                /* the edge from 1 to 2 pulled in, almost to the other side */
                abut_vec3 dent[] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {t, t, t}};
                check_closed(make_indexed(dent, 5, dented, 6, turn), m, 6, seed + 3);
            }
}

/* ---- against formulas ---- */

TEST(formulas) {
    /* a solid, how fine, and how far its mesh is from it */
    static const struct {
        abut_shape_kind kind;
        uint32_t segments;
        double error;
    } cases[] = {{ABUT_SHAPE_BOX, 3, 1e-15},
                 {ABUT_SHAPE_LETTER_E, 2, 1e-15},
                 {ABUT_SHAPE_ICOSPHERE, 24, 2e-3},
                 {ABUT_SHAPE_TORUS, 64, 3e-3}};
    for (int c = 0; c < 4; c++) {
        test_random random = {77};
        abut_shape shape = abut_shape_default(cases[c].kind);
        shape.segments = shape.rings = cases[c].segments;
        abut_mesh *mesh;
        assert_ok(abut_shape_create(NULL, &shape, &mesh));
        for (int method = ABUT_SIGN_WINDING; method <= ABUT_SIGN_NORMAL; method++) {
            abut_bvh *bvh = make_bvh(mesh, (abut_sign_method)method);
            for (int i = 0; i < 500; i++) {
                abut_vec3 p = point_around(mesh, &random, 1.5);
                double expected;
                abut_nearest nearest;
                assert_ok(abut_shape_distance(&shape, p, &expected));
                assert_ok(abut_sign_nearest(bvh, p, HUGE_VAL, &nearest));
                assert_true(fabs(nearest.distance - expected) <= cases[c].error);
            }
            abut_bvh_destroy(bvh);
        }
        abut_mesh_destroy(mesh);
    }
}

/* ---- with a border ---- */

static double worst_error;

static void check_open(abut_mesh *mesh, int rounds, uint64_t seed) {
    test_random random = {seed};
    abut_bvh *bvh = make_bvh(mesh, ABUT_SIGN_AUTO);
    double size = largest_extent(mesh), facing = 0;
    assert_false(get_sign_info(bvh).is_closed);
    for (int i = 0; i < rounds; i++) {
        abut_vec3 p = i % 4 == 0   ? point_around(mesh, &random, 1.2)
                      : i % 4 == 1 ? point_near(mesh, &random, 0.05 * size)
                      : i % 4 == 2 ? point_near(mesh, &random, 1e-10 * size)
                                   : point_around(mesh, &random, i % 32 == 3 ? 1e9 : 10);
        double expected = brute_winding(mesh, p), got;
        assert_ok(abut_sign_winding(bvh, p, &got));
        worst_error = fmax(worst_error, fabs(got - expected));
        if (fabs(got - expected) > WINDING_ERROR)
            fail_msg("at (%.17g, %.17g, %.17g): %.17g instead of %.17g", p.x, p.y, p.z, got,
                     expected);
        bool inside;
        abut_nearest with, without;
        assert_ok(abut_sign_inside(bvh, p, &inside));
        assert_ok(abut_sign_nearest(bvh, p, HUGE_VAL, &with));
        assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &without));
        assert_true(fabs(with.distance) == without.distance);
        if (without.distance == 0)
            continue;
        assert_int_equal(inside, with.distance < 0);
        if (inside) { /* which way it faces is one for all points */
            assert_true(facing * expected >= 0);
            facing = expected;
            assert_true(fabs(expected) > 0.5 - WINDING_ERROR);
        } else if (facing * expected > 0)
            assert_true(fabs(expected) < 0.5 + WINDING_ERROR);
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* The arc tangent that takes the place of the C library's. */
TEST(angles) {
    test_random random = {77};
    for (uint32_t i = 0; i < test_rounds(20000); i++) {
        double x = ldexp(test_random_real(&random, -1, 1), -(int)(i % 40));
        double y = ldexp(test_random_real(&random, -1, 1), -(int)(i / 40 % 40));
        assert_true(fabs(direction_angle(x, y) - atan2(y, x)) < 1e-15);
    }
    const double ends[][3] = {{1, 0, 0}, {0, 1, M_PI / 2}, {-1, 0, M_PI}, {0, -1, -M_PI / 2}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        assert_true(direction_angle(ends[i][0], ends[i][1]) == ends[i][2]);
}

TEST(torn_shapes) {
    check_open(make_shape(NULL, ABUT_SHAPE_TEAPOT, 0), 100, 21);
    check_open(make_torn(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 12), 10), 200, 22);
    check_open(make_flipped(make_torn(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 12), 10)), 200, 23);
    check_open(make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 30), 100), 200, 24);
    check_open(make_torn(make_shape(NULL, ABUT_SHAPE_BOX, 1), 6), 200, 25);
    check_open(make_moved(make_torn(make_shape(NULL, ABUT_SHAPE_CAPSULE, 12), 7), 1e-30,
                          vec(0, 0, 0)),
               100, 26);
    check_open(make_moved(make_torn(make_shape(NULL, ABUT_SHAPE_CAPSULE, 12), 7), 1e30,
                          vec(0, 0, 0)),
               100, 27);
    check_open(make_moved(make_torn(make_shape(NULL, ABUT_SHAPE_CAPSULE, 12), 7), 1e-3,
                          vec(1e6, 1e5, 0)),
               100, 28);
    check_open(make_shape(NULL, ABUT_SHAPE_SHEET, 8), 100, 29);
    print_message("worst error of a winding number: %.2g\n", worst_error);
}

/* Anything at all is answered, and touching counts as inside, exactly. */
TEST(soups) {
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        for (uint32_t count = 1; count <= 60; count = 4 * count + 1) {
            test_random random = {count};
            abut_mesh *mesh = make_kind(NULL, (soup_kind)kind, count, 9 + count);
            abut_bvh *bvh = make_bvh(mesh, ABUT_SIGN_AUTO);
            for (int i = 0; i < 20; i++) {
                abut_triangle t = triangle_of(mesh, test_random_below(&random, count));
                bool inside = false;
                assert_ok(abut_sign_inside(bvh, t.corner[i % 3], &inside));
                assert_true(inside);
                abut_vec3 p =
                    i % 2 ? point_near(mesh, &random, 0.1) : point_around(mesh, &random, 2);
                double winding, expected = brute_winding(mesh, p);
                assert_ok(abut_sign_winding(bvh, p, &winding));
                if (!get_sign_info(bvh).is_closed)
                    assert_true(fabs(winding - expected) <= count * WINDING_ERROR);
                abut_nearest with;
                assert_ok(abut_sign_nearest(bvh, p, HUGE_VAL, &with));
                assert_true(isfinite(with.distance));
            }
            abut_bvh_destroy(bvh);
            abut_mesh_destroy(mesh);
        }
}

/* ---- moving ---- */

/* Answers after a refit are those of a new BVH. */
TEST(refits) {
    abut_mesh *meshes[3] = {make_shape(NULL, ABUT_SHAPE_TORUS, 8),
                            make_shape(NULL, ABUT_SHAPE_TEAPOT, 2),
                            make_flipped(make_shape(NULL, ABUT_SHAPE_TORUS, 8))};
    for (int i = 0; i < 3; i++)
        for (int method = ABUT_SIGN_WINDING; method <= (i ? ABUT_SIGN_WINDING : ABUT_SIGN_NORMAL);
             method++) {
            test_random random = {31};
            abut_mesh *moved;
            abut_pose aside = {{0.1, 0.2, 0.3, 1}, {0.5, 0, 0.25}};
            assert_ok(abut_mesh_transform(meshes[i], 1.5, aside, &moved));
            abut_bvh *bvh = make_bvh(meshes[i], (abut_sign_method)method);
            assert_ok(abut_bvh_set_mesh(bvh, moved));
            abut_bvh *fresh = make_bvh(moved, (abut_sign_method)method);
            for (int k = 0; k < 200; k++) {
                abut_vec3 p = point_around(moved, &random, 1.2);
                abut_nearest one, other;
                double w, v;
                assert_ok(abut_sign_nearest(bvh, p, HUGE_VAL, &one));
                assert_ok(abut_sign_nearest(fresh, p, HUGE_VAL, &other));
                assert_ok(abut_sign_winding(bvh, p, &w));
                assert_ok(abut_sign_winding(fresh, p, &v));
                assert_true(fabs(w - v) <= 2 * WINDING_ERROR);
                if (fabs(fabs(w) - 0.5) > 2 * WINDING_ERROR)
                    assert_memory_equal(&one, &other, sizeof one);
            }
            abut_bvh_destroy(fresh);
            abut_bvh_destroy(bvh);
            abut_mesh_destroy(moved);
        }
    for (int i = 0; i < 3; i++)
        abut_mesh_destroy(meshes[i]);
}

/* A box whose faces only happen to be in one place: once they have moved apart, it has a border. */
TEST(seams_that_open) {
    abut_mesh *mesh = make_flipped(unit_box());
    uint32_t count = abut_mesh_triangle_count(mesh);
    abut_bvh *bvh = make_bvh(mesh, ABUT_SIGN_AUTO);
    assert_true(get_sign_info(bvh).is_closed);
    abut_vec3 corners[12 * 3];
    assert_int_equal(12, count);
    for (uint32_t i = 0; i < count; i++) {
        abut_triangle t = triangle_of(mesh, i);
        for (uint32_t k = 0; k < 3; k++) {
            abut_vec3 c = t.corner[k];
            corners[3 * i + k] = i < 2 ? vec(c.x, c.y, c.z + 0.125) : c;
        }
    }
    abut_mesh *apart = test_mesh(NULL, corners, 3 * count, abut_mesh_indices(mesh), count);
    double winding;
    bool inside = false;
    assert_ok(abut_bvh_set_mesh(bvh, apart));
    assert_false(get_sign_info(bvh).is_closed);
    assert_ok(abut_sign_winding(bvh, vec(0.1, 0.1, 0.1), &winding));
    assert_true(fabs(winding - brute_winding(apart, vec(0.1, 0.1, 0.1))) < WINDING_ERROR);
    assert_true(winding < -0.6);
    assert_ok(abut_sign_inside(bvh, vec(0.1, 0.1, 0.1), &inside));
    assert_true(inside);
    assert_ok(abut_bvh_set_mesh(bvh, mesh));
    assert_true(get_sign_info(bvh).is_closed);
    assert_ok(abut_sign_winding(bvh, vec(0.1, 0.1, 0.1), &winding));
    assert_true(winding == -1);
    abut_bvh_destroy(bvh);
    /* prepared again, it is looked at again */
    bvh = make_bvh(apart, ABUT_SIGN_AUTO);
    assert_false(get_sign_info(bvh).is_closed);
    assert_ok(abut_bvh_set_mesh(bvh, mesh));
    assert_ok(abut_sign_prepare(bvh, NULL));
    assert_true(get_sign_info(bvh).is_closed);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(apart);
    abut_mesh_destroy(mesh);
}

/* ---- batches ---- */

TEST_THREADS(batch_is_single) {
    enum { COUNT = 3000 };
    abut_vec3 *p = malloc(COUNT * sizeof *p);
    abut_nearest *nearest = malloc(COUNT * sizeof *nearest), one;
    bool *inside = malloc(COUNT * sizeof *inside), in;
    double *winding = malloc(COUNT * sizeof *winding), w;
    assert_true(p && nearest && inside && winding);
    for (int open = 0; open < 2; open++)
        for (int method = ABUT_SIGN_WINDING;
             method <= (open ? ABUT_SIGN_WINDING : ABUT_SIGN_NORMAL); method++)
            for (uint32_t threads = 1; threads <= 4; threads += 3) {
                test_memory memory = {0};
                test_random random = {41};
                abut_context *context = test_context(&memory, threads);
                abut_mesh *mesh =
                    make_shape(context, open ? ABUT_SHAPE_TEAPOT : ABUT_SHAPE_TORUS, open ? 2 : 20);
                abut_bvh *bvh = make_bvh(mesh, (abut_sign_method)method);
                for (int i = 0; i < COUNT; i++)
                    p[i] =
                        i % 2 ? point_around(mesh, &random, 1.2) : point_near(mesh, &random, 0.01);
                abut_array points = abut_array_host(p);
                assert_ok(abut_sign_nearest_batch(bvh, points, COUNT, HUGE_VAL,
                                                  abut_array_host(nearest)));
                assert_ok(abut_sign_inside_batch(bvh, points, COUNT, abut_array_host(inside)));
                assert_ok(abut_sign_winding_batch(bvh, points, COUNT, abut_array_host(winding)));
                for (int i = 0; i < COUNT; i++) {
                    assert_ok(abut_sign_nearest(bvh, p[i], HUGE_VAL, &one));
                    assert_memory_equal(&one, &nearest[i], sizeof one);
                    assert_ok(abut_sign_inside(bvh, p[i], &in));
                    assert_int_equal(in, inside[i]);
                    assert_ok(abut_sign_winding(bvh, p[i], &w));
                    assert_true(w == winding[i]);
                }
                assert_ok(
                    abut_sign_nearest_batch(bvh, points, COUNT, 0.05, abut_array_host(nearest)));
                for (int i = 0; i < COUNT; i++) {
                    assert_ok(abut_sign_nearest(bvh, p[i], 0.05, &one));
                    assert_memory_equal(&one, &nearest[i], sizeof one);
                    assert_true(fabs(one.distance) <= 0.05 || one.distance == INFINITY);
                }
                abut_bvh_destroy(bvh);
                abut_mesh_destroy(mesh);
                abut_context_destroy(context);
                assert_int_equal(0, memory.live_count);
            }
    free(p);
    free(nearest);
    free(inside);
    free(winding);
}

/* Sides spread from point to point, but not through the surface: pairs of neighbours next to it, at
 * distances of a few roundings, one about as far from the other as from the surface. */
TEST(batch_next_to_surface) {
    test_random random = {43};
    abut_mesh *mesh = make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3), 3, vec(0.1, 0.2, 0.3));
    abut_bvh *bvh = make_bvh(mesh, ABUT_SIGN_AUTO);
    int across = 0;
    for (int i = 0; i < 20000; i++) {
        abut_vec3 p[2] = {point_near(mesh, &random, i % 2 ? 1e-14 : 1e-15)};
        abut_nearest near, nearest[2], one;
        assert_ok(abut_nearest_point(bvh, p[0], HUGE_VAL, &near));
        double t = test_random_real(&random, 0.5, 1.5);
        p[1] = vec(p[0].x + t * (near.point.x - p[0].x), p[0].y + t * (near.point.y - p[0].y),
                   p[0].z + t * (near.point.z - p[0].z));
        abut_array points = abut_array_host(p);
        assert_ok(abut_sign_nearest_batch(bvh, points, 2, HUGE_VAL, abut_array_host(nearest)));
        for (int k = 0; k < 2; k++) {
            assert_ok(abut_sign_nearest(bvh, p[k], HUGE_VAL, &one));
            assert_memory_equal(&one, &nearest[k], sizeof one);
        }
        across += (nearest[0].distance < 0) != (nearest[1].distance < 0);
    }
    assert_true(across > 500);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* Cancels whatever runs in the stage that it is given. */
static bool stop_at(void *user, const char *stage, double fraction) {
    (void)fraction;
    return strcmp(stage, *(const char **)user) != 0;
}

TEST(cancelled) {
    const char *stage = "none";
    abut_context *context = test_watched(stop_at, &stage);
    abut_mesh *mesh = make_shape(context, ABUT_SHAPE_TEAPOT, 2);
    abut_bvh *bvh = make_bvh(mesh, ABUT_SIGN_AUTO);
    double p[20][3] = {{0}}, winding[20];
    bool inside[20];
    abut_nearest nearest[20];
    abut_array points = abut_array_host(p);
    stage = "inside";
    assert_int_equal(ABUT_ERROR_CANCELLED,
                     abut_sign_inside_batch(bvh, points, 20, abut_array_host(inside)));
    assert_ok(abut_sign_winding_batch(bvh, points, 20, abut_array_host(winding)));
    stage = "winding";
    assert_int_equal(ABUT_ERROR_CANCELLED,
                     abut_sign_winding_batch(bvh, points, 20, abut_array_host(winding)));
    stage = "nearest";
    assert_int_equal(ABUT_ERROR_CANCELLED,
                     abut_sign_nearest_batch(bvh, points, 20, HUGE_VAL, abut_array_host(nearest)));
    assert_ok(abut_sign_inside_batch(bvh, points, 20, abut_array_host(inside)));
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
}

/* ---- refusals ---- */

typedef struct memory_case {
    abut_shape_kind kind;
    bool soup;
    abut_sign_method method;
} memory_case;

static abut_status prepare_and_ask(abut_context *context, void *data) {
    const memory_case *what = data;
    abut_shape shape = abut_shape_default(what->kind);
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_status status;
    shape.segments = shape.rings = 3;
    status = abut_shape_create(context, &shape, &mesh);
    if (!status && what->soup) {
        abut_mesh *pair[2] = {mesh, mesh}, *joined = NULL;
        status = abut_mesh_join(pair, 2, &joined);
        abut_mesh_destroy(mesh);
        mesh = joined;
    }
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    abut_sign_options options = abut_sign_options_default();
    options.method = what->method;
    status = status ? status : abut_sign_prepare(bvh, &options);
    double p[20][3] = {{0}};
    bool inside[20];
    abut_nearest nearest[20];
    abut_array points = abut_array_host(p);
    status = status ? status : abut_sign_prepare(bvh, &options); /* again */
    status = status ? status : abut_sign_inside_batch(bvh, points, 20, abut_array_host(inside));
    status = status ? status
                    : abut_sign_nearest_batch(bvh, points, 20, HUGE_VAL, abut_array_host(nearest));
    status = status ? status : abut_bvh_set_mesh(bvh, mesh);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(no_memory) {
    memory_case cases[] = {{ABUT_SHAPE_TORUS, false, ABUT_SIGN_AUTO},
                           {ABUT_SHAPE_TORUS, false, ABUT_SIGN_NORMAL},
                           {ABUT_SHAPE_TEAPOT, false, ABUT_SIGN_AUTO},
                           {ABUT_SHAPE_SHEET, true, ABUT_SIGN_AUTO}};
    for (int i = 0; i < 4; i++)
        assert_true(test_every_allocation(prepare_and_ask, &cases[i]) > 5);
}

TEST(refusals) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TEAPOT, 2);
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_vec3 p = vec(0, 0, 0);
    bool inside;
    double winding = 77;
    abut_nearest nearest;
    memset(&inside, 0x5a, sizeof inside);
    memset(&nearest, 0x5a, sizeof nearest);
    abut_nearest before = nearest;
    abut_array points = abut_array_host(&p);
    assert_int_equal(0, get_sign_info(NULL).bytes);
    assert_int_equal(ABUT_SIGN_AUTO, get_sign_info(bvh).method);
    assert_refused("abut_sign_prepare() first", abut_sign_inside(bvh, p, &inside));
    assert_refused("abut_sign_prepare() first",
                   abut_sign_inside_batch(bvh, points, 1, abut_array_host(&inside)));
    assert_refused("abut_sign_prepare() first", abut_sign_winding(bvh, p, &winding));
    assert_refused("abut_sign_prepare() first",
                   abut_sign_winding_batch(bvh, points, 1, abut_array_host(&winding)));
    assert_refused("abut_sign_prepare() first", abut_sign_nearest(bvh, p, 1, &nearest));
    assert_refused("abut_sign_prepare() first",
                   abut_sign_nearest_batch(bvh, points, 1, 1, abut_array_host(&nearest)));
    abut_sign_options options = abut_sign_options_default();
    options.method = ABUT_SIGN_NORMAL;
    assert_refused("closed and consistently oriented", abut_sign_prepare(bvh, &options));
    options.method = (abut_sign_method)9;
    assert_refused("must be an abut_sign_method", abut_sign_prepare(bvh, &options));
    options.size = 0;
    assert_refused("size", abut_sign_prepare(bvh, &options));
    assert_refused("bvh is null", abut_sign_prepare(NULL, NULL));
    assert_int_equal(ABUT_SIGN_AUTO, get_sign_info(bvh).method);
    assert_ok(abut_sign_prepare(bvh, NULL));
    options = abut_sign_options_default();
    options.method = ABUT_SIGN_NORMAL;
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_sign_prepare(bvh, &options));
    assert_int_equal(ABUT_SIGN_WINDING, get_sign_info(bvh).method); /* stays */
    assert_refused("bvh is null", abut_sign_inside(NULL, p, &inside));
    assert_refused("inside is null", abut_sign_inside(bvh, p, NULL));
    assert_refused("winding is null", abut_sign_winding(bvh, p, NULL));
    assert_refused("nearest is null", abut_sign_nearest(bvh, p, 1, NULL));
    assert_refused("radius is nan", abut_sign_nearest(bvh, p, NAN, &nearest));
    assert_refused("radius is -1",
                   abut_sign_nearest_batch(bvh, points, 1, -1, abut_array_host(&nearest)));
    assert_refused("points is null",
                   abut_sign_inside_batch(bvh, abut_array_host(NULL), 1, abut_array_host(&inside)));
    assert_refused("inside is null", abut_sign_inside_batch(bvh, points, 1, abut_array_host(NULL)));
    assert_refused("winding is null",
                   abut_sign_winding_batch(bvh, points, 1, abut_array_host(NULL)));
    p.y = NAN;
    assert_refused("point is (", abut_sign_inside(bvh, p, &inside));
    assert_refused("point is (", abut_sign_winding(bvh, p, &winding));
    assert_refused("point is (", abut_sign_nearest(bvh, p, 1, &nearest));
    assert_refused("point 0 is (",
                   abut_sign_nearest_batch(bvh, points, 1, 1, abut_array_host(&nearest)));
    assert_true(winding == 77);
    assert_memory_equal(&nearest, &before, sizeof nearest);
    assert_ok(abut_sign_inside_batch(bvh, points, 0, abut_array_host(NULL)));
    assert_ok(abut_sign_winding_batch(bvh, points, 0, abut_array_host(NULL)));
    assert_ok(abut_sign_nearest_batch(bvh, points, 0, 1, abut_array_host(NULL)));
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* ---- layers ---- */

/* The promise of 0.01 holds however many layers there are, and however finely they are cut. */
TEST(layers_do_not_add_up) {
    static const struct {
        uint32_t layers, n;
    } piles[] = {{2, 8}, {10, 4}, {50, 4}, {50, 1}, {200, 2}, {1000, 1}, {1000, 2}};
    enum { POINTS = 60 };
    double worst = 0;
    for (size_t i = 0; i < sizeof piles / sizeof *piles; i++)
        for (int boxes = 0; boxes < 2; boxes++) {
            abut_mesh *mesh = make_pile(piles[i].layers, piles[i].n, boxes);
            abut_bvh *bvh = NULL;
            test_random random = {i + 1};
            abut_vec3 points[POINTS];
            double got[POINTS];
            assert_ok(abut_bvh_create(mesh, NULL, &bvh));
            assert_ok(abut_sign_prepare(bvh, NULL));
            for (int k = 0; k < POINTS; k++) {
                /* never on a layer, which are at multiples of a thousandth at most */
                double x = (test_random_below(&random, 1000000) + 0.5) / 1e6,
                       y = (test_random_below(&random, 1000000) + 0.5) / 1e6,
                       z = (test_random_below(&random, 1000000) + 0.5) / 1e6,
                       spread = k % 3 == 0   ? 1
                                : k % 3 == 1 ? 3
                                             : 8;
                points[k] = vec(0.5 + spread * (x - 0.5), 0.5 + spread * (y - 0.5),
                                0.5 + spread * (z - 0.5));
            }
            abut_array batch = abut_array_host(points);
            assert_ok(abut_sign_winding_batch(bvh, batch, POINTS, abut_array_host(got)));
            double here = 0;
            for (int k = 0; k < POINTS; k++) {
                double error = fabs(got[k] - winding_sum(mesh, points[k]));
                here = error > here ? error : here;
            }
            if (here > 0.01)
                fail_msg("%u %s of %u x %u: off by %g", piles[i].layers, boxes ? "boxes" : "sheets",
                         piles[i].n, piles[i].n, here);
            worst = here > worst ? here : worst;
            abut_bvh_destroy(bvh);
            abut_mesh_destroy(mesh);
        }
    print_message("piles: off by at most %.2g\n", worst);
}
