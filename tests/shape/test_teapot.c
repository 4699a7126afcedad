/* The teapot as published. */
#include "shape/check.h"

static abut_mesh *teapot(uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT);
    shape.segments = segments;
    return check_make(&shape);
}

/* Counts of the documents and of the well-known file; open where lid, rim, tubes end. */
TEST(counts_and_bounds) {
    for (uint32_t n = 2; n <= 14; n++) {
        AUTO(mesh) mesh = teapot(n);
        mesh_facts facts = check_mesh(mesh);
        assert_int_equal(64 * n * n - 8 * n, facts.triangles);
        assert_int_equal(16 * n, facts.open_edges);
        assert_int_equal(4, facts.components);
        /* lid and body are discs, handle and spout tubes */
        assert_int_equal(2, facts.euler);
        assert_int_equal(0, facts.crowded_edges);
        assert_int_equal(0, facts.flipped_edges);
        assert_int_equal(0, facts.unused);
        assert_int_equal(0, facts.split_vertices);
        assert_int_equal(0, facts.flat);
        /* the handle's lower end touches the body in one control point; parts stay separate */
        assert_int_equal(1, facts.coincident);
        abut_box bounds = abut_mesh_bounds(mesh);
        assert_true(bounds.lo.x == -3 && bounds.lo.y == -2 && bounds.lo.z == 0);
        assert_true(bounds.hi.y == 2 && bounds.hi.z == 3.15);
        assert_true(bounds.hi.x > 3.38 && bounds.hi.x < 3.435);
    }
    AUTO(mesh) four = teapot(4), *ten = teapot(10);
    assert_int_equal(992, abut_mesh_triangle_count(four));
    assert_int_equal(6320, abut_mesh_triangle_count(ten));
}

/* y -> -y maps the teapot to itself, bit for bit; lid and body also x -> -x and x <-> y. */
TEST(mirror_images_are_exact) {
    AUTO(mesh) mesh = teapot(7);
    uint32_t count = abut_mesh_vertex_count(mesh), turned = 6 * 7 * 4 * 7 + 2;
    for (int mirror = 0; mirror < 3; mirror++) {
        uint32_t used = mirror == 0 ? count : turned;
        AUTO_FREE vec3 *sorted = malloc(2 * used * sizeof *sorted);
        for (uint32_t i = 0; i < used; i++) {
            vec3 p = sorted[i] = check_position(mesh, i);
            sorted[used + i] = mirror == 0   ? v3(p.x, -p.y, p.z)
                               : mirror == 1 ? v3(-p.x, p.y, p.z)
                                             : v3(p.y, p.x, p.z);
        }
        qsort(sorted, used, sizeof *sorted, compare_positions);
        qsort(sorted + used, used, sizeof *sorted, compare_positions);
        for (uint32_t i = 0; i < used; i++)
            assert_int_equal(0, compare_positions(&sorted[i], &sorted[used + i]));
    }
}

/* Points known from the table of control points, and one worked out by hand: the middle of a patch
 * side is (a + 3b + 3c + d) / 8. */
TEST(passes_through_known_points) {
    const vec3 known[] = {
        {0, 0, 3.15},
        {0, 0, 0},
        {1.4, 0, 2.4},
        {0, -1.5, 2.4},
        {2, 0, 0.9},
        {1.5, 0, 0.15},
        {-3, 0, 1.8},
        {-1.6, 0, 2.025},
        {3.3, 0, 2.4},
        {2.8, 0, 2.4},
        {1.7, 0, 0.6},
        {-1.9, 0, 0.6},
        {(1.5 + 3 * 1.75 + 3 * 2 + 2) / 8, 0, (2.4 + 3 * 1.875 + 3 * 1.35 + 0.9) / 8},
        {(2 + 3 * 2 + 3 * 1.12) / 8, -(2 + 3 * 2 + 3 * 1.12) / 8, 0.9},
        {(3.3 + 3 * 3.525 + 3 * 3.45 + 3.2) / 8, 0, (2.4 + 3 * 2.49375 + 3 * 2.5125 + 2.4) / 8},
    };
    AUTO(mesh) mesh = teapot(6);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        double nearest = HUGE_VAL;
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++)
            nearest = real_min(nearest, v3_length(v3_sub(check_position(mesh, i), known[k])));
        assert_true(nearest < 1e-15);
    }
}

/* The body's faces look away from a point inside it. Lid and tubes are judged by the winding
 * numbers in the test of the solid. */
TEST(faces_look_outwards) {
    AUTO(mesh) mesh = teapot(8);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        vec3 c[3];
        check_triangle(mesh, i, c);
        vec3 normal = v3_cross(v3_sub(c[1], c[0]), v3_sub(c[2], c[0]));
        vec3 centre = v3_scale(v3_add(c[0], v3_add(c[1], c[2])), 1.0 / 3);
        bool body = centre.z < 2.39 && centre.z > 0.3 && hypot(centre.x, centre.y) > 1.55 &&
                    fabs(centre.y) > 0.6;
        wrong += body && !(v3_dot(normal, v3_sub(centre, v3(0, 0, 1.2))) > 0);
    }
    assert_int_equal(0, wrong);
}
