/* The exact distance functions against every triangle of a mesh. */
#include "shape/check.h"

#include <stdio.h>

static bool is_polyhedron(abut_shape_kind kind) {
    return kind == ABUT_SHAPE_BOX || kind == ABUT_SHAPE_SHEET || kind == ABUT_SHAPE_STAIRS ||
           kind == ABUT_SHAPE_LETTER_E || kind == ABUT_SHAPE_LETTER_G;
}

static double distance(const abut_shape *shape, vec3 point) {
    double d = 0;
    assert_ok(abut_shape_distance(shape, point, &d));
    return d;
}

static vec3 random_point(test_random *random, double reach) {
    return v3(test_random_real(random, -reach, reach), test_random_real(random, -reach, reach),
              test_random_real(random, -reach, reach));
}

/* Random points, and points on the axes, planes and centre, where formulas tend to break. */
static vec3 probe(test_random *random, int i) {
    vec3 p = random_point(random, i % 3 ? 0.8 : 2.5);
    if (i % 4 == 1)
        p.x = 0;
    if (i % 8 == 1)
        p.y = 0;
    if (i % 5 == 1)
        p.z = 0;
    return p;
}

/* Polyhedra: the same to rounding. */
TEST(polyhedra_measure_like_their_meshes) {
    test_random random = {1};
    for (int kind = 0; kind < ABUT_SHAPE_TEAPOT; kind++) {
        if (!is_polyhedron((abut_shape_kind)kind))
            continue;
        for (uint32_t segments = 1; segments <= 7; segments += 3) {
            abut_shape shape = abut_shape_default((abut_shape_kind)kind);
            shape.extent = v3(1.3, 0.9, 0.7);
            shape.segments = segments;
            shape.rings = 2;
            AUTO(mesh) mesh = check_make(&shape);
            bool closed = kind != ABUT_SHAPE_SHEET;
            for (int i = 0; i < 400; i++) {
                vec3 p = probe(&random, i);
                double d = distance(&shape, p), referee = referee_distance(mesh, p, closed);
                if (!(fabs(d - referee) < 1e-14))
                    fail_msg("%s at (%g, %g, %g): %.17g, referee %.17g",
                             abut_shape_kind_name(shape.kind), p.x, p.y, p.z, d, referee);
            }
        }
    }
}

/* The largest difference between formula and mesh over a few points. */
static double largest_error(abut_shape_kind kind, uint32_t fineness) {
    abut_shape shape = abut_shape_default(kind);
    shape.segments = kind == ABUT_SHAPE_ICOSPHERE ? fineness / 4 : fineness;
    shape.rings = fineness / 2;
    AUTO(mesh) mesh = check_make(&shape);
    test_random random = {7};
    double largest = 0;
    for (uint32_t i = 0; i < (test_thorough() ? 150 : 60); i++) {
        vec3 p = probe(&random, (int)i);
        largest = real_max(largest, fabs(distance(&shape, p) - referee_distance(mesh, p, true)));
    }
    return largest;
}

/* Curved shapes: the mesh comes closer with the square of its edge length, so the limit is the
 * formula, signs included. */
TEST(curved_shapes_are_the_limit_of_their_meshes) {
    for (int kind = 0; kind < ABUT_SHAPE_TEAPOT; kind++) {
        if (is_polyhedron((abut_shape_kind)kind))
            continue;
        double coarse = largest_error((abut_shape_kind)kind, 24);
        double fine = largest_error((abut_shape_kind)kind, 96);
        double order = log2(coarse / fine) / 2;
        printf("%-10s distance error %.2e, order %.2f\n",
               abut_shape_kind_name((abut_shape_kind)kind), fine, order);
        assert_true(fine < 2e-3);
        assert_true(order > 1.8 && order < 2.2);
    }
}

/* |d(p) - d(q)| <= |p - q| for any two points. */
TEST(distances_are_lipschitz) {
    test_random random = {3};
    for (int kind = 0; kind < ABUT_SHAPE_TEAPOT; kind++) {
        abut_shape shape = abut_shape_default((abut_shape_kind)kind);
        for (int i = 0; i < 20000; i++) {
            vec3 p = probe(&random, i);
            double reach = pow(10, -test_random_real(&random, 0, 6));
            vec3 q = v3_add(p, random_point(&random, reach));
            double change = fabs(distance(&shape, p) - distance(&shape, q));
            assert_true(change <= v3_length(v3_sub(p, q)) + 1e-15);
        }
    }
}

/* The gradient has length 1 except on the medial axis, which random points almost never hit. */
TEST(gradients_have_unit_length) {
    test_random random = {4};
    for (int kind = 0; kind < ABUT_SHAPE_TEAPOT; kind++) {
        abut_shape shape = abut_shape_default((abut_shape_kind)kind);
        const double step = 1e-5;
        int bad = 0;
        for (int i = 0; i < 5000; i++) {
            vec3 p = random_point(&random, i % 2 ? 0.6 : 1.5);
            vec3 gradient = v3(distance(&shape, v3(p.x + step, p.y, p.z)) -
                                   distance(&shape, v3(p.x - step, p.y, p.z)),
                               distance(&shape, v3(p.x, p.y + step, p.z)) -
                                   distance(&shape, v3(p.x, p.y - step, p.z)),
                               distance(&shape, v3(p.x, p.y, p.z + step)) -
                                   distance(&shape, v3(p.x, p.y, p.z - step)));
            bad += fabs(v3_length(gradient) / (2 * step) - 1) > 1e-4;
        }
        /* points within a step of the medial axis or of the unsigned sheet */
        assert_true(bad <= 10);
    }
}

/* Every vertex lies on the ideal surface. */
TEST(vertices_have_no_distance) {
    for (int kind = 0; kind < ABUT_SHAPE_TEAPOT; kind++) {
        abut_shape shape = abut_shape_default((abut_shape_kind)kind);
        AUTO(mesh) mesh = check_make(&shape);
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++)
            assert_true(fabs(distance(&shape, check_position(mesh, i))) < 4e-16);
    }
}

TEST(known_values) {
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX);
    assert_true(distance(&box, v3(0, 0, 0)) == -0.5);
    assert_true(distance(&box, v3(3.5, 4.5, 0)) == 5);
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    torus.radius = 2;
    torus.radius2 = 0.5;
    assert_true(distance(&torus, v3(0, 0, 0)) == 1.5);
    assert_true(distance(&torus, v3(0, 2, 0)) == -0.5);
    abut_shape cone = abut_shape_default(ABUT_SHAPE_CONE);
    cone.radius = 3;
    cone.height = 4;
    assert_true(fabs(distance(&cone, v3(0, 0, 6)) - 4) < 1e-15);
    assert_true(fabs(distance(&cone, v3(0, 0, -0.5)) + 1.5) < 1e-15); /* base and slant alike */
    assert_true(fabs(distance(&cone, v3(3, 0, -6)) - 4) < 1e-15);
    abut_shape tube = abut_shape_default(ABUT_SHAPE_TUBE);
    tube.radius = 2;
    tube.radius2 = 1;
    tube.height = 10;
    assert_true(distance(&tube, v3(0, 0, 0)) == 1);
    assert_true(distance(&tube, v3(0, 1.5, 0)) == -0.5);
    assert_true(distance(&tube, v3(0, 0, 5)) == 1);
    abut_shape sheet = abut_shape_default(ABUT_SHAPE_SHEET);
    assert_true(distance(&sheet, v3(0, 0, 0)) == 0);
    assert_true(distance(&sheet, v3(0.2, 0, -2)) == 2);
    abut_shape letter = abut_shape_default(ABUT_SHAPE_LETTER_G);
    assert_true(fabs(distance(&letter, v3(0.075, -0.025, 0)) + 0.075) < 1e-16 * 2);
}

/* Distance scales with the shape, from 1e-30 to 1e30. */
TEST(any_scale_will_do) {
    test_random random = {5};
    const double scales[] = {0x1p-280, 0x1p-100, 0x1p100, 0x1p280};
    for (int kind = 0; kind < ABUT_SHAPE_TEAPOT; kind++)
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 200; i++) {
                abut_shape shape = abut_shape_default((abut_shape_kind)kind);
                vec3 p = probe(&random, i);
                double expected = distance(&shape, p);
                shape.extent = v3_scale(shape.extent, scales[k]);
                shape.radius *= scales[k];
                shape.radius2 *= scales[k];
                shape.height *= scales[k];
                double d = distance(&shape, v3_scale(p, scales[k]));
                assert_true(fabs(d / scales[k] - expected) <= 1e-15);
            }
}

/* Stairs are measured in constant time, so also these. */
TEST(four_thousand_million_steps) {
    abut_shape stairs = abut_shape_default(ABUT_SHAPE_STAIRS);
    stairs.extent = v3(1, 1, 1);
    stairs.segments = 4000000000u;
    double slope = distance(&stairs, v3(0.3, 0, -0.3)), expected = sqrt(0.18);
    assert_true(fabs(slope + real_min(0.2, expected)) < 1e-9);
    assert_true(fabs(distance(&stairs, v3(-0.3, 0, 0.3)) - expected) < 1e-9);
}
