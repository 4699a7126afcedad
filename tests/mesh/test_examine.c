/* The health report: known meshes, mass properties, and referees for counts that need a search. */
#include "mesh/shapes.h"

#include "mesh/mesh.h"

#include <abut/abut.h>

#include <time.h>

static abut_mesh_report examine_mesh(abut_mesh *mesh) {
    abut_mesh_report report = test_examine(mesh);
    abut_mesh_destroy(mesh);
    return report;
}

static abut_mesh_report examine(const soup *s) {
    return examine_mesh(soup_mesh(NULL, s));
}

static uint32_t count_of(const abut_mesh_report *r, abut_problem_kind kind) {
    return r->problems[kind].count;
}

static void turn_from(soup *s, uint32_t first) {
    for (uint32_t t = first; t < s->triangle_count; t++)
        soup_turn(s, t);
}

static void assert_close(double expected, double got, double tolerance) {
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("%.17g instead of %.17g", got, expected);
}

enum { METHODS = 5 };

static abut_reliability reliability_of(const abut_mesh_report *r, int method) {
    return method == 0   ? abut_nearest_reliability(r)
           : method == 1 ? abut_sign_reliability(r, ABUT_SIGN_NORMAL)
           : method == 2 ? abut_sign_reliability(r, ABUT_SIGN_WINDING)
           : method == 3 ? abut_pair_reliability(r)
                         : abut_self_reliability(r);
}

static void assert_levels(const abut_mesh_report *r, abut_reliability_level pseudo_normal,
                          abut_reliability_level winding, abut_reliability_level containment,
                          abut_reliability_level self_view) {
    const abut_reliability_level expected[METHODS] = {ABUT_RELIABILITY_GUARANTEED, pseudo_normal,
                                                      winding, containment, self_view};
    for (int i = 0; i < METHODS; i++) {
        abut_reliability reliability = reliability_of(r, i);
        assert_int_equal(expected[i], reliability.level);
        const char *reason = reliability.reason;
        assert_non_null(reason);
        assert_true(strlen(reason) > 20 && reason[strlen(reason) - 1] == '.');
    }
}

#define YES ABUT_RELIABILITY_GUARANTEED
#define PARTLY ABUT_RELIABILITY_LIMITED
#define NO ABUT_RELIABILITY_UNRELIABLE

/* ---- known meshes ---- */

TEST(healthy_meshes) {
    soup *s = fresh();
    soup_box(s, 0, 2);
    abut_mesh_report r = examine(s);
    for (int i = 0; i < ABUT_PROBLEM_KIND_MAX; i++)
        assert_int_equal(0, r.problems[i].count);
    assert_true(r.is_closed && r.is_manifold && r.is_oriented && r.is_solid);
    assert_int_equal(2, r.euler_number);
    assert_int_equal(1, r.component_count);
    assert_true(r.bounds.lo.x == 0 && r.bounds.hi.z == 2);
    assert_close(24, r.area, 1e-13);
    assert_close(8, r.volume, 1e-14);
    assert_close(1, r.centroid.x, 1e-15);
    for (int i = 0; i < 3; i++) {
        assert_close(8.0 * (4 + 4) / 12, r.inertia[i], 1e-14); /* m (b^2 + c^2) / 12 */
        assert_close(0, r.inertia[3 + i], 1e-14);
    }
    assert_levels(&r, YES, YES, YES, YES);

    s = fresh();
    soup_torus(s, 8, 6, false);
    r = examine(s);
    assert_int_equal(0, r.euler_number);
    assert_true(r.is_closed && r.is_manifold && r.is_oriented && r.volume > 0);
    assert_levels(&r, YES, YES, YES, YES);
}

TEST(open_meshes) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    s->triangle_count -= 2;
    abut_mesh_report r = examine(s);
    assert_int_equal(4, count_of(&r, ABUT_PROBLEM_BOUNDARY_EDGE));
    assert_int_equal(1, r.loop_count);
    assert_int_equal(1, r.euler_number);
    assert_true(!r.is_closed && r.is_manifold && r.is_oriented && !r.is_solid);
    assert_close(5, r.area, 1e-14);
    assert_close(0.4, r.centroid.z, 1e-15); /* of the surface */
    assert_levels(&r, NO, PARTLY, PARTLY, PARTLY);
}

TEST(one_sided_meshes) {
    soup *s = fresh();
    soup_moebius(s, 9);
    abut_mesh_report r = examine(s);
    assert_int_equal(1, count_of(&r, ABUT_PROBLEM_FLIPPED_EDGE));
    assert_int_equal(0, r.euler_number);
    assert_false(r.is_oriented);
    assert_levels(&r, NO, NO, PARTLY, NO); /* a sheet, which has no inside */

    s = fresh();
    soup_torus(s, 6, 5, true);
    r = examine(s);
    assert_true(r.is_closed && r.is_manifold && !r.is_oriented);
    assert_int_equal(5, count_of(&r, ABUT_PROBLEM_FLIPPED_EDGE));
    assert_int_equal(0, r.euler_number);
    assert_levels(&r, NO, NO, NO, NO);
}

TEST(touching_solids) {
    soup *s = fresh(); /* in a vertex: two fans, but every edge has two faces */
    soup_vertex(s, 0, 0, 0);
    soup_vertex(s, 1, 0, 0);
    soup_vertex(s, 0, 1, 0);
    soup_vertex(s, 0, 0, 1);
    soup_vertex(s, -1, 0, 0);
    soup_vertex(s, 0, -1, 0);
    soup_vertex(s, 0, 0, -1);
    soup_tetrahedron(s, 0, 1, 2, 3);
    soup_tetrahedron(s, 0, 4, 6, 5);
    abut_mesh_report r = examine(s);
    assert_int_equal(1, count_of(&r, ABUT_PROBLEM_NONMANIFOLD_VERTEX));
    assert_int_equal(0, r.problems[ABUT_PROBLEM_NONMANIFOLD_VERTEX].first[0]);
    assert_true(r.is_closed && r.is_oriented && !r.is_manifold);
    assert_int_equal(3, r.euler_number);
    assert_close(1.0 / 3, r.volume, 1e-15);
    assert_levels(&r, YES, YES, YES, NO);

    s->triangle_count = 4; /* along an edge: four faces that balance; its ends are one fan */
    s->vertex_count = 4;
    soup_vertex(s, 0, -1, 0);
    soup_vertex(s, -1, -1, 0.5);
    soup_tetrahedron(s, 0, 5, 4, 3);
    r = examine(s);
    assert_int_equal(1, count_of(&r, ABUT_PROBLEM_NONMANIFOLD_EDGE));
    assert_int_equal(0, count_of(&r, ABUT_PROBLEM_NONMANIFOLD_VERTEX));
    assert_true(!r.is_closed && !r.is_manifold && r.is_oriented && !r.is_solid && r.volume > 0);
    assert_levels(&r, YES, YES, YES, NO);

    soup_triangle(s, 0, 3, 1); /* a third page, and it does not balance */
    r = examine(s);
    assert_levels(&r, NO, PARTLY, PARTLY, NO);
}

TEST(inward_and_nested) {
    soup *s = fresh();
    soup_box(s, -2, 2);
    turn_from(s, 0);
    abut_mesh_report r = examine(s);
    assert_int_equal(1, count_of(&r, ABUT_PROBLEM_INWARD_COMPONENT));
    assert_close(-64, r.volume, 1e-12);
    assert_true(r.is_solid && r.inertia[0] > 0); /* mass is not negative */
    assert_levels(&r, YES, YES, YES, NO);        /* all of it, so that signs know */
    assert_non_null(strstr(abut_pair_reliability(&r).reason, "its volume is negative"));
    soup_box(s, 3, 4); /* two that disagree */
    r = examine(s);
    assert_levels(&r, NO, YES, YES, NO);
    s->triangle_count -= 2; /* and one of them is open */
    r = examine(s);
    assert_int_equal(1, count_of(&r, ABUT_PROBLEM_INWARD_COMPONENT));
    assert_levels(&r, NO, PARTLY, PARTLY, NO);
    assert_non_null(
        strstr(abut_sign_reliability(&r, ABUT_SIGN_WINDING).reason, "faces the other way"));

    s = fresh(); /* a hollow box: the wall of the cavity faces inwards and is right */
    soup_box(s, -2, 2);
    soup_box(s, -1, 1);
    turn_from(s, 12);
    r = examine(s);
    assert_int_equal(0, count_of(&r, ABUT_PROBLEM_INWARD_COMPONENT));
    assert_close(56, r.volume, 1e-12);
    assert_levels(&r, YES, YES, YES, PARTLY);

    soup_box(s, -0.5, 0.5); /* a pebble in the cavity, the wrong way round */
    turn_from(s, 24);
    r = examine(s);
    assert_int_equal(1, count_of(&r, ABUT_PROBLEM_INWARD_COMPONENT));
    assert_int_equal(24, r.problems[ABUT_PROBLEM_INWARD_COMPONENT].first[0]);
    turn_from(s, 24);
    r = examine(s);
    assert_int_equal(0, count_of(&r, ABUT_PROBLEM_INWARD_COMPONENT));
    assert_levels(&r, YES, YES, YES, PARTLY);

    s = fresh(); /* a solid in a solid: nothing inward, but between them the sign is in doubt */
    soup_box(s, -2, 2);
    soup_box(s, -1, 1);
    r = examine(s);
    assert_int_equal(0, count_of(&r, ABUT_PROBLEM_INWARD_COMPONENT));
    assert_levels(&r, PARTLY, YES, YES, PARTLY);
}

/* Boxes that touch along whole faces, edges and corners are not inside each other. */
TEST(neighbours_are_not_nested) {
    for (int wrong = 0; wrong < 27; wrong++) {
        soup *s = fresh();
        for (int i = 0; i < 27; i++) {
            uint32_t first = s->vertex_count;
            soup_box(s, 0, 1);
            for (uint32_t v = first; v < s->vertex_count; v++) {
                s->positions[3 * v] += i % 3;
                s->positions[3 * v + 1] += i / 3 % 3;
                s->positions[3 * v + 2] += i / 9;
            }
            if (i == wrong)
                turn_from(s, s->triangle_count - 12);
        }
        abut_mesh_report r = examine(s);
        assert_int_equal(1, count_of(&r, ABUT_PROBLEM_INWARD_COMPONENT));
        assert_int_equal(12 * wrong, r.problems[ABUT_PROBLEM_INWARD_COMPONENT].first[0]);
    }
}

TEST(bad_triangles_and_vertices) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    soup_vertex(s, 0, -0.0, 1); /* 8: as vertex 1, with a negative zero */
    soup_vertex(s, 0.5, 0.5, 0.5);
    soup_triangle(s, 3, 1, 0); /* 12: as triangle 0, turned */
    soup_triangle(s, 5, 5, 4); /* 13: on an edge of the box */
    soup_triangle(s, 4, 5, 5); /* 14: the same */
    soup_triangle(s, 4, 4, 5); /* 15: names the other twice */
    soup_triangle(s, 6, 6, 6);
    soup_triangle(s, 6, 6, 6); /* 17 */
    abut_mesh_report r = examine(s);
    assert_int_equal(5, count_of(&r, ABUT_PROBLEM_DEGENERATE_TRIANGLE));
    assert_int_equal(13, r.problems[ABUT_PROBLEM_DEGENERATE_TRIANGLE].first[0]);
    assert_int_equal(3, count_of(&r, ABUT_PROBLEM_DUPLICATE_TRIANGLE));
    assert_int_equal(12, r.problems[ABUT_PROBLEM_DUPLICATE_TRIANGLE].first[0]);
    assert_int_equal(14, r.problems[ABUT_PROBLEM_DUPLICATE_TRIANGLE].first[1]);
    assert_int_equal(17, r.problems[ABUT_PROBLEM_DUPLICATE_TRIANGLE].first[2]);
    assert_int_equal(1, count_of(&r, ABUT_PROBLEM_COINCIDENT_VERTEX));
    assert_int_equal(8, r.problems[ABUT_PROBLEM_COINCIDENT_VERTEX].first[0]);
    assert_int_equal(2, count_of(&r, ABUT_PROBLEM_UNUSED_VERTEX));
    assert_int_equal(3, count_of(&r, ABUT_PROBLEM_NONMANIFOLD_EDGE));

    s = fresh(); /* a collapsed triangle on the surface harms the sign only near it */
    soup_box(s, 0, 1);
    soup_triangle(s, 5, 5, 4);
    r = examine(s);
    assert_true(r.is_closed && r.is_manifold && r.is_solid);
    assert_levels(&r, PARTLY, YES, YES, YES);
    soup_triangle(s, 0, 7, 7); /* across the inside, it is a surface of its own */
    r = examine(s);
    assert_false(r.is_closed);
    assert_levels(&r, NO, YES, YES, PARTLY);
}

TEST(no_volume) {
    soup *s = fresh(); /* a triangle and its back, in a general position */
    soup_vertex(s, 0.1, 0.2, 0.7);
    soup_vertex(s, 1.3, 0.4, 0.3);
    soup_vertex(s, 0.2, 1.1, 0.9);
    soup_triangle(s, 0, 1, 2);
    soup_triangle(s, 0, 2, 1);
    abut_mesh_report r = examine(s);
    assert_true(r.is_closed && r.is_oriented && !r.is_solid);
    assert_close(0.1 + 1.3 + 0.2, 3 * r.centroid.x, 1e-15);
    assert_levels(&r, NO, YES, YES, YES);

    soup_box(s, 5, 6); /* beside a proper solid */
    r = examine(s);
    assert_int_equal(ABUT_RELIABILITY_LIMITED, abut_sign_reliability(&r, ABUT_SIGN_NORMAL).level);

    s = fresh(); /* nothing at all */
    soup_vertex(s, 1, 2, 3);
    soup_triangle(s, 0, 0, 0);
    r = examine(s);
    assert_true(r.area == 0 && r.volume == 0 && r.centroid.y == 2 && r.inertia[0] == 0);
    assert_int_equal(2, r.euler_number);
    assert_levels(&r, NO, YES, YES, YES);
}

TEST(only_the_first_eight_are_named) {
    soup *s = fresh();
    soup_torus(s, 60, 50, false);
    for (uint32_t i = 0; i < 600; i++)
        soup_vertex(s, i, 0, 9);
    abut_mesh_report r = examine(s);
    assert_int_equal(600, count_of(&r, ABUT_PROBLEM_UNUSED_VERTEX));
    for (uint32_t i = 0; i < ABUT_PROBLEM_FIRST_COUNT; i++)
        assert_int_equal(3000 + i, r.problems[ABUT_PROBLEM_UNUSED_VERTEX].first[i]);
}

/* ---- mass ---- */

/* A box of a x b x c about `centre`, turned by a quaternion. */
static void soup_turned_box(soup *s, vec3 size, quat q, vec3 centre) {
    mat3 m = quat_matrix(q);
    soup_box(s, -0.5, 0.5);
    for (uint32_t v = 0; v < s->vertex_count; v++) {
        double *p = s->positions + 3 * v;
        vec3 at = v3_add(m3_apply(&m, v3(p[0] * size.x, p[1] * size.y, p[2] * size.z)), centre);
        p[0] = at.x;
        p[1] = at.y;
        p[2] = at.z;
    }
}

/* R diag R^T for the inertia of a box. */
static void box_inertia(vec3 size, quat q, double *inertia) {
    mat3 r = quat_matrix(q), d = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}}, t = m3_transpose(&r);
    double mass = size.x * size.y * size.z;
    d.row[0].x = mass * (size.y * size.y + size.z * size.z) / 12;
    d.row[1].y = mass * (size.z * size.z + size.x * size.x) / 12;
    d.row[2].z = mass * (size.x * size.x + size.y * size.y) / 12;
    mat3 rd = m3_multiply(&r, &d), full = m3_multiply(&rd, &t);
    inertia[0] = full.row[0].x;
    inertia[1] = full.row[1].y;
    inertia[2] = full.row[2].z;
    inertia[3] = full.row[0].y;
    inertia[4] = full.row[1].z;
    inertia[5] = full.row[2].x;
}

TEST(mass_of_turned_boxes) {
    test_random random = {.state = 21};
    for (int round = 0; round < 100; round++) {
        double far = round % 2 ? 1000 : 1, expected[6];
        vec3 size = v3(test_random_real(&random, 0.5, 3), test_random_real(&random, 0.5, 3),
                       test_random_real(&random, 0.5, 3));
        vec3 centre = v3(test_random_real(&random, -far, far), test_random_real(&random, -far, far),
                         test_random_real(&random, -far, far));
        quat q = {test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                  test_random_real(&random, -1, 1), test_random_real(&random, -1, 1)};
        soup *s = fresh();
        soup_turned_box(s, size, q, centre);
        box_inertia(size, q, expected);
        abut_mesh_report r = examine(s);
        double error = far * 1e-13; /* the corners themselves are rounded that far out */
        assert_true(r.is_solid);
        assert_close(size.x * size.y * size.z, r.volume, 30 * error);
        assert_close(2 * (size.x * size.y + size.y * size.z + size.z * size.x), r.area, 30 * error);
        assert_close(0, v3_max_abs(v3_sub(r.centroid, centre)), error);
        for (int i = 0; i < 6; i++)
            assert_close(expected[i], r.inertia[i], 300 * error);
    }
}

/* The surface: an open box without two opposite sides equals four rectangles. */
TEST(mass_of_a_surface) {
    soup *s = fresh();
    soup_box(s, -1, 1);
    for (uint32_t i = 0; i < 3 * 8; i++) /* leave out the two sides across x */
        s->indices[i] = s->indices[i + 12];
    s->triangle_count = 8;
    abut_mesh_report r = examine(s);
    assert_false(r.is_solid);
    assert_close(16, r.area, 1e-14);
    /* A square of area 4 at distance 1: in its plane 4 (2^2 + 2^2) / 12 + 4 about its normal axis
     * through the centre, 4 x 2^2 / 12 + 4 about one in its plane. x is in the plane of all four.
     */
    assert_close(4 * (4.0 / 3 + 4), r.inertia[0], 1e-13);
    assert_close(2 * (4.0 / 3 + 4) + 2 * (8.0 / 3), r.inertia[1], 1e-13);
    assert_close(r.inertia[1], r.inertia[2], 1e-13);
    for (int i = 3; i < 6; i++)
        assert_close(0, r.inertia[i], 1e-13);
}

TEST(mass_of_any_scale) {
    static const double scales[] = {1e-90, 1e-60, 1e-30, 1e30, 1e60, 4e89};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        double k = scales[i];
        soup *s = fresh();
        soup_box(s, 0, k);
        abut_mesh_report r = examine(s);
        assert_true(r.is_closed && r.is_solid);
        assert_close(1, r.area / (6 * k * k), 1e-14);
        assert_close(1, r.volume / (k * k * k), 1e-14);
        assert_close(0.5, r.centroid.x / k, 1e-15);
        /* k^5 / 6 is beyond doubles for the largest: infinite, as the true value would be */
        if (k < 1e60 && k > 1e-60)
            assert_close(1, r.inertia[0] / (k * k * k * k * k / 6), 1e-14);
        if (k == 4e89)
            assert_true(isinf(r.inertia[0]));
        if (k == 1e-90)
            assert_true(r.inertia[0] == 0);
        assert_levels(&r, YES, YES, YES, YES);
    }
}

/* ---- referees ---- */

static void brute_counts(const soup *s, uint32_t *duplicates, uint32_t *coincident,
                         uint32_t *vertices) {
    *duplicates = *coincident = *vertices = 0;
    for (uint32_t t = 0; t < s->triangle_count; t++) {
        bool found = false;
        for (uint32_t u = 0; u < t; u++) {
            uint32_t a[3], b[3];
            memcpy(a, s->indices + 3 * t, sizeof a);
            memcpy(b, s->indices + 3 * u, sizeof b);
            static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
            for (int k = 0; k < 6; k++)
                found |=
                    a[0] == b[orders[k][0]] && a[1] == b[orders[k][1]] && a[2] == b[orders[k][2]];
        }
        *duplicates += found;
    }
    for (uint32_t v = 0; v < s->vertex_count; v++) {
        bool found = false;
        for (uint32_t u = 0; u < v; u++)
            found |= s->positions[3 * v] == s->positions[3 * u] &&
                     s->positions[3 * v + 1] == s->positions[3 * u + 1] &&
                     s->positions[3 * v + 2] == s->positions[3 * u + 2];
        *coincident += found;
    }
    /* Fans: label the faces of each vertex, spreading across common edges at the vertex. */
    for (uint32_t v = 0; v < s->vertex_count; v++) {
        uint32_t faces[256], label[256], count = 0, fans = 0;
        for (uint32_t t = 0; t < s->triangle_count; t++) {
            const uint32_t *c = s->indices + 3 * t;
            if ((c[0] == v || c[1] == v || c[2] == v) && !abuti_is_collapsed(c)) {
                label[count] = count;
                faces[count++] = t;
            }
        }
        for (uint32_t round = 0; round < count; round++)
            for (uint32_t i = 0; i < count; i++)
                for (uint32_t j = 0; j < count; j++)
                    for (int k = 0; k < 9; k++) {
                        uint32_t p = s->indices[3 * faces[i] + (uint32_t)k / 3];
                        if (p != v && p == s->indices[3 * faces[j] + (uint32_t)k % 3] &&
                            label[j] > label[i])
                            label[j] = label[i];
                    }
        for (uint32_t i = 0; i < count; i++)
            fans += label[i] == i;
        *vertices += fans > 1;
    }
}

TEST_THREADS(random_soups) {
    test_random random = {.state = 22};
    AUTO(context) threaded = test_context(NULL, 3);
    for (int round = 0; round < 300; round++) {
        soup *s = fresh();
        soup_random(s, &random, 1 + test_random_below(&random, round % 2 ? 30 : 5),
                    1 + test_random_below(&random, 60));
        for (uint32_t i = 0; i < 3 * s->vertex_count; i++) /* few positions, so that some agree */
            s->positions[i] = (double)test_random_below(&random, 3) - 1;
        uint32_t duplicates, coincident, vertices;
        brute_counts(s, &duplicates, &coincident, &vertices);
        abut_mesh_report r = examine_mesh(soup_mesh(round % 2 ? threaded : NULL, s));
        assert_int_equal(duplicates, count_of(&r, ABUT_PROBLEM_DUPLICATE_TRIANGLE));
        assert_int_equal(coincident, count_of(&r, ABUT_PROBLEM_COINCIDENT_VERTEX));
        assert_int_equal(vertices, count_of(&r, ABUT_PROBLEM_NONMANIFOLD_VERTEX));
    }
}

/* Numbering vertices and triangles another way changes no count and no mass. */
TEST(order_does_not_matter) {
    static soup other;
    test_random random = {.state = 23};
    soup *s = fresh();
    soup_torus(s, 12, 10, false);
    soup_box(s, -0.3, 0.4);
    s->triangle_count -= 3;
    other = *s;
    uint32_t place[4096];
    for (uint32_t i = 0; i < s->vertex_count; i++) {
        uint32_t j = test_random_below(&random, i + 1);
        place[i] = place[j];
        place[j] = i;
    }
    for (uint32_t i = 0; i < s->vertex_count; i++)
        memcpy(other.positions + 3 * place[i], s->positions + 3 * i, 3 * sizeof(double));
    for (uint32_t t = s->triangle_count; t-- > 0;) {
        uint32_t *to = other.indices + 3 * (s->triangle_count - 1 - t);
        for (uint32_t k = 0; k < 3; k++)
            to[k] = place[s->indices[3 * t + (k + t) % 3]];
    }
    abut_mesh_report a = examine(s), b = examine(&other);
    assert_int_equal(a.edge_count, b.edge_count);
    assert_int_equal(a.euler_number, b.euler_number);
    assert_int_equal(a.component_count, b.component_count);
    assert_int_equal(a.loop_count, b.loop_count);
    for (int i = 0; i < ABUT_PROBLEM_KIND_MAX; i++)
        assert_int_equal(a.problems[i].count, b.problems[i].count);
    assert_close(a.area, b.area, 1e-12);
    assert_close(a.volume, b.volume, 1e-12);
    for (int i = 0; i < METHODS; i++)
        assert_ptr_equal(reliability_of(&a, i).reason, reliability_of(&b, i).reason);
}

TEST_THREADS(same_on_any_thread_count) {
    test_random random = {.state = 24};
    soup *s = fresh();
    soup_torus(s, 60, 50, false);
    soup_random(s, &random, 500, 1000);
    for (int i = 0; i < 20; i++)
        soup_box(s, -i - 1, i + 1);
    AUTO(context) context = test_context(NULL, 4);
    abut_mesh_report a = examine(s), b = examine_mesh(soup_mesh(context, s));
    assert_memory_equal(&a, &b, sizeof a);
}

/* ---- hostile input ---- */

static abut_mesh_report timed(double *positions, uint32_t vertices, uint32_t *indices,
                              uint32_t triangles) {
    abut_mesh *mesh = test_mesh(NULL, positions, vertices, indices, triangles);
    clock_t start = clock();
    abut_mesh_report r = examine_mesh(mesh);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 60);
    return r;
}

TEST(hostile_meshes_take_no_square_time) {
    const uint32_t n = test_brief() ? 40000 : 400000;
    AUTO_FREE double *positions = calloc(3 * (size_t)n, sizeof *positions);
    AUTO_FREE uint32_t *indices = malloc(3 * (size_t)n * sizeof *indices);
    for (uint32_t i = 0; i < n; i++) { /* a book of n pages, all points equal */
        indices[3 * i] = 0;
        indices[3 * i + 1] = 1;
        indices[3 * i + 2] = 2 + i % (n / 2);
    }
    abut_mesh_report r = timed(positions, n, indices, n);
    assert_int_equal(n / 2, count_of(&r, ABUT_PROBLEM_DUPLICATE_TRIANGLE));
    assert_int_equal(n - 1, count_of(&r, ABUT_PROBLEM_COINCIDENT_VERTEX));
    assert_int_equal(n, count_of(&r, ABUT_PROBLEM_DEGENERATE_TRIANGLE));

    for (uint32_t i = 0; i < n; i++) /* all triangles the same */
        memcpy(indices + 3 * i, (uint32_t[3]){0, 1, 2}, 3 * sizeof *indices);
    r = timed(positions, n, indices, n);
    assert_int_equal(n - 1, count_of(&r, ABUT_PROBLEM_DUPLICATE_TRIANGLE));
}

/* Tens of thousands of closed parts: nested in one, and each in the shadow of all others. */
TEST(many_parts) {
    const uint32_t n = test_brief() ? 10000 : 50000;
    AUTO_FREE double *positions = malloc(12 * (size_t)n * sizeof *positions);
    AUTO_FREE uint32_t *indices = malloc(12 * (size_t)n * sizeof *indices);
    test_random random = {.state = 25};
    for (int entangled = 0; entangled < 2; entangled++) {
        for (uint32_t i = 0; i < n; i++) {
            static const double corner[4][3] = {{-1, -1, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
            static const uint32_t face[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
            double size = i == 0 ? 1000 : entangled ? 40 : 0.001;
            double at[3];
            for (int k = 0; k < 3; k++)
                at[k] = i == 0 ? 0 : test_random_real(&random, -50, 50);
            for (uint32_t k = 0; k < 12; k++)
                positions[12 * (size_t)i + k] = corner[k / 3][k % 3] * size + at[k % 3];
            for (uint32_t k = 0; k < 12; k++)
                indices[12 * (size_t)i + k] = 4 * i + face[k];
        }
        abut_mesh_report r = timed(positions, 4 * n, indices, 4 * n);
        assert_int_equal(n, r.component_count);
        if (!entangled) /* solids inside a solid */
            assert_int_equal(ABUT_RELIABILITY_LIMITED,
                             abut_sign_reliability(&r, ABUT_SIGN_NORMAL).level);
    }
}

/* ---- failures and names ---- */

static abut_status examine_soup(abut_context *context, void *data) {
    const soup *s = data;
    AUTO(mesh) mesh = NULL;
    AUTO(topology) topology = NULL;
    abut_mesh_report report, untouched;
    memset(&report, 0x55, sizeof report);
    report.size = sizeof report;
    untouched = report;
    abut_status status = soup_try(context, s, &mesh);
    status = status ? status : abut_topology_create(mesh, &topology);
    status = status ? status : abut_mesh_examine(topology, &report);
    if (status)
        assert_memory_equal(&untouched, &report, sizeof report);
    return status;
}

TEST(out_of_memory) {
    soup *s = fresh(); /* long edges, collapsed triangles, nested components */
    test_random random = {.state = 26};
    soup_box(s, -2, 2);
    soup_box(s, -1, 1);
    soup_random(s, &random, 4, 200);
    assert_true(test_every_allocation(examine_soup, s) > 40);
}

TEST(cancelled_or_null) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    check_cancelling("health", 10, examine_soup, s);
    AUTO(mesh) mesh = soup_mesh(NULL, s);
    AUTO(topology) topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    assert_ok(abut_topology_create(mesh, &topology));
    assert_refused("topology is null", abut_mesh_examine(NULL, &report));
    assert_refused("report is null", abut_mesh_examine(topology, NULL));
    assert_refused("topology is null",
                   abut_mesh_get_problem_elements(NULL, ABUT_PROBLEM_BOUNDARY_EDGE,
                                                  &(abut_index_list){NULL, 0, 0}));
    assert_refused("elements is null",
                   abut_mesh_get_problem_elements(topology, ABUT_PROBLEM_BOUNDARY_EDGE, NULL));
    assert_refused("the list of elements is null",
                   abut_mesh_get_problem_elements(topology, ABUT_PROBLEM_BOUNDARY_EDGE,
                                                  &(abut_index_list){NULL, 1, 0}));
    assert_refused("a kind other than self-intersection",
                   abut_mesh_get_problem_elements(topology, ABUT_PROBLEM_SELF_INTERSECTION,
                                                  &(abut_index_list){NULL, 0, 0}));
}

TEST(names) {
    assert_string_equal("boundary-edge", abut_problem_kind_name(ABUT_PROBLEM_BOUNDARY_EDGE));
    assert_string_equal("unused-vertex", abut_problem_kind_name(ABUT_PROBLEM_UNUSED_VERTEX));
    assert_string_equal("limited", abut_reliability_level_name(ABUT_RELIABILITY_LIMITED));
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE,
                     abut_sign_reliability(NULL, ABUT_SIGN_AUTO).level);
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE, abut_pair_reliability(NULL).level);
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE, abut_self_reliability(NULL).level);
}

/* All offenders of every kind: as many as the report counts, ascending, the first of them its. */
TEST(every_offender_is_listed) {
    abut_shape sheet = abut_shape_default(ABUT_SHAPE_SHEET);
    AUTO(mesh) mesh = NULL;
    assert_ok(abut_shape_create(NULL, &sheet, &mesh));
    const uint32_t vertices = abut_mesh_vertex_count(mesh), faces = abut_mesh_triangle_count(mesh);
    AUTO_FREE abut_vec3 *positions = malloc((2 * vertices + 20) * sizeof *positions);
    AUTO_FREE uint32_t *indices = malloc(3 * (2 * (size_t)faces + 40) * sizeof *indices);
    const abut_vec3 *p = abut_mesh_local_positions(mesh);
    for (uint32_t i = 0; i < vertices; i++) /* twice at the same place, and some unused */
        positions[i] = positions[vertices + i] = p[i];
    for (uint32_t i = 0; i < 20; i++)
        positions[2 * vertices + i] = (abut_vec3){i, 9, 9};
    memcpy(indices, abut_mesh_indices(mesh), 3 * (size_t)faces * sizeof *indices);
    for (size_t i = 0; i < 3 * (size_t)faces; i++)
        indices[3 * (size_t)faces + i] = vertices + indices[i];
    for (uint32_t i = 0; i < 20; i++) { /* twenty duplicates, and twenty without area */
        memcpy(indices + 3 * (2 * (size_t)faces + i), indices + 3 * (size_t)i, 3 * sizeof *indices);
        uint32_t *flat = indices + 3 * (2 * (size_t)faces + 20 + i);
        flat[0] = flat[1] = i;
        flat[2] = i + 1;
    }
    abut_mesh_input input =
        abut_mesh_input_doubles(positions, 2 * vertices + 20, indices, 2 * faces + 40);
    AUTO(mesh) made = NULL;
    AUTO(topology) topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    assert_ok(abut_mesh_create(NULL, &input, &made));
    assert_ok(abut_topology_create(made, &topology));
    assert_ok(abut_mesh_examine(topology, &report));
    int many = 0;
    for (unsigned kind = 0; kind < ABUT_PROBLEM_SELF_INTERSECTION; kind++) {
        const abut_problem *problem = &report.problems[kind];
        AUTO_FREE uint32_t *list = malloc((problem->count + 1) * sizeof *list);
        abut_index_list listed = {list, problem->count - 1, 12345};
        if (problem->count)
            assert_int_equal(ABUT_ERROR_BUFFER,
                             abut_mesh_get_problem_elements(topology, (abut_problem_kind)kind,
                                                            &listed));
        listed.capacity = problem->count;
        assert_ok(abut_mesh_get_problem_elements(topology, (abut_problem_kind)kind, &listed));
        assert_int_equal(problem->count, listed.count);
        for (uint32_t i = 0; i < listed.count; i++) {
            assert_true(!i || list[i] > list[i - 1]);
            if (i < ABUT_PROBLEM_FIRST_COUNT)
                assert_int_equal(problem->first[i], list[i]);
        }
        many += listed.count > ABUT_PROBLEM_FIRST_COUNT;
    }
    assert_true(many >= 5);
}
