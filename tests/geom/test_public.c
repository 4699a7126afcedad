/* The public functions: known results, invalid arguments, and properties for all input. */
#include "support/support.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

static abut_vec3 vec(double x, double y, double z) {
    abut_vec3 v = {x, y, z};
    return v;
}
static abut_vec3 random_vec(test_random *random, double size) {
    double x = test_random_real(random, -size, size), y = test_random_real(random, -size, size);
    return vec(x, y, test_random_real(random, -size, size));
}
static void assert_vec(abut_vec3 v, double x, double y, double z, double tolerance) {
    if (!(fabs(v.x - x) <= tolerance && fabs(v.y - y) <= tolerance && fabs(v.z - z) <= tolerance))
        fail_msg("(%.17g, %.17g, %.17g) instead of (%g, %g, %g)", v.x, v.y, v.z, x, y, z);
}
static void assert_near(double value, double expected, double tolerance) {
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.17g instead of %.17g", value, expected);
}

static const abut_triangle unit_triangle = {{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}};

TEST(segment_known) {
    abut_segment s = {{{0, 0, 0}, {4, 0, 0}}};
    abut_closest_on_segment closest;
    assert_ok(abut_segment_closest_point(&s, vec(1, 3, 4), &closest));
    assert_true(closest.distance == 5 && closest.parameter == 0.25);
    assert_vec(closest.point, 1, 0, 0, 0);
    assert_ok(abut_segment_closest_point(&s, vec(-3, 0, 4), &closest));
    assert_true(closest.distance == 5 && closest.parameter == 0);
    assert_ok(abut_segment_closest_point(&s, vec(7, 4, 0), &closest));
    assert_true(closest.distance == 5 && closest.parameter == 1);
    assert_vec(closest.point, 4, 0, 0, 0);
    abut_segment point = {{{1, 1, 1}, {1, 1, 1}}};
    assert_ok(abut_segment_closest_point(&point, vec(1, 1, 3), &closest));
    assert_true(closest.distance == 2);
}

/* A query in each of the seven regions of the unit triangle. */
TEST(triangle_regions) {
    static const struct {
        abut_vec3 query, point;
        double distance;
        abut_feature feature;
    } cases[] = {
        {{0.25, 0.25, 2}, {0.25, 0.25, 0}, 2, ABUT_FEATURE_FACE},
        {{0.5, -3, 4}, {0.5, 0, 0}, 5, ABUT_FEATURE_EDGE_0},
        {{2, 2, 0}, {0.5, 0.5, 0}, 2.1213203435596424, ABUT_FEATURE_EDGE_1},
        {{-3, 0.5, 4}, {0, 0.5, 0}, 5, ABUT_FEATURE_EDGE_2},
        {{-3, -4, 0}, {0, 0, 0}, 5, ABUT_FEATURE_VERTEX_0},
        {{4, -4, 0}, {1, 0, 0}, 5, ABUT_FEATURE_VERTEX_1},
        {{-4, 4, 0}, {0, 1, 0}, 5, ABUT_FEATURE_VERTEX_2},
        {{0.25, 0.5, 0}, {0.25, 0.5, 0}, 0, ABUT_FEATURE_FACE},
        {{1, 0, 0}, {1, 0, 0}, 0, ABUT_FEATURE_VERTEX_1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        abut_closest_on_triangle c;
        assert_ok(abut_triangle_closest_point(&unit_triangle, cases[i].query, &c));
        assert_int_equal(cases[i].feature, c.feature);
        assert_near(c.distance, cases[i].distance, 1e-15);
        assert_vec(c.point, cases[i].point.x, cases[i].point.y, cases[i].point.z, 1e-16);
    }
}

TEST(degenerate_triangles) {
    abut_closest_on_triangle c;
    abut_triangle line = {{{0, 0, 0}, {4, 0, 0}, {1, 0, 0}}};
    assert_ok(abut_triangle_closest_point(&line, vec(3, 2, 0), &c));
    assert_true(c.distance == 2 && c.feature == ABUT_FEATURE_EDGE_0);
    assert_vec(c.point, 3, 0, 0, 0);
    abut_triangle point = {{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}}};
    assert_ok(abut_triangle_closest_point(&point, vec(1, 2, 5), &c));
    assert_true(c.distance == 2 && c.feature == ABUT_FEATURE_VERTEX_0 && c.barycentric[0] == 1);
    abut_intersection meeting;
    abut_segment s;
    assert_ok(abut_triangle_triangle_intersect(&line, &unit_triangle, &meeting, &s));
    assert_int_equal(ABUT_INTERSECTION_SEGMENT, meeting);
    assert_ok(abut_triangle_triangle_intersect(&point, &unit_triangle, &meeting, &s));
    assert_int_equal(ABUT_INTERSECTION_NONE, meeting);
}

TEST(pairs_known) {
    abut_segment a = {{{0, 0, 0}, {2, 0, 0}}}, b = {{{1, -1, 3}, {1, 1, 3}}};
    abut_closest_pair pair;
    assert_ok(abut_segment_segment_closest(&a, &b, &pair));
    assert_true(pair.distance == 3);
    assert_vec(pair.point_a, 1, 0, 0, 0);
    assert_vec(pair.point_b, 1, 0, 3, 0);
    abut_segment crossing = {{{1, -1, 0}, {1, 1, 0}}};
    assert_ok(abut_segment_segment_closest(&a, &crossing, &pair));
    assert_true(pair.distance == 0);
    assert_vec(pair.point_a, 1, 0, 0, 0);
    assert_vec(pair.point_b, 1, 0, 0, 0);
    /* the two closest are in the middle of edges of both */
    abut_triangle ta = {{{-1, 0, 0}, {1, 0, 0}, {0, 0, -5}}};
    abut_triangle tb = {{{0, -1, 2}, {0, 1, 2}, {0, 0, 9}}};
    assert_ok(abut_triangle_triangle_closest(&ta, &tb, &pair));
    assert_true(pair.distance == 2);
    assert_vec(pair.point_a, 0, 0, 0, 0);
    assert_vec(pair.point_b, 0, 0, 2, 0);
    /* apart by less than rounding can show is still apart */
    abut_triangle low = {{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}};
    abut_triangle high = {{{0, 0, 1e-60}, {1, 0, 1e-60}, {0, 1, 1e-60}}};
    assert_ok(abut_triangle_triangle_closest(&low, &high, &pair));
    assert_true(pair.distance > 0 && pair.distance < 1e-15);
}

TEST(meetings_known) {
    abut_triangle through = {{{0.25, 0.25, -1}, {0.25, 0.25, 1}, {3, 0.25, 0}}};
    abut_intersection meeting;
    abut_segment s;
    assert_ok(abut_triangle_triangle_intersect(&unit_triangle, &through, &meeting, &s));
    assert_int_equal(ABUT_INTERSECTION_SEGMENT, meeting);
    if (s.end[0].x > s.end[1].x)
        s = (abut_segment){{s.end[1], s.end[0]}};
    assert_vec(s.end[0], 0.25, 0.25, 0, 1e-16);
    assert_vec(s.end[1], 0.75, 0.25, 0, 1e-16);
    abut_triangle touching = {{{0.25, 0.25, 0}, {0, 0, 1}, {1, 0, 1}}};
    assert_ok(abut_triangle_triangle_intersect(&unit_triangle, &touching, &meeting, &s));
    assert_int_equal(ABUT_INTERSECTION_POINT, meeting);
    assert_vec(s.end[1], 0.25, 0.25, 0, 0);
    abut_triangle flat = {{{0.25, 0.25, 0}, {2, 0, 0}, {2, 2, 0}}};
    assert_ok(abut_triangle_triangle_intersect(&unit_triangle, &flat, &meeting, NULL));
    assert_int_equal(ABUT_INTERSECTION_COPLANAR, meeting);
    abut_triangle beside = {{{1, 0, 0}, {0, 1, 0}, {1, 1, 0}}}; /* shares an edge */
    assert_ok(abut_triangle_triangle_intersect(&unit_triangle, &beside, &meeting, &s));
    assert_int_equal(ABUT_INTERSECTION_SEGMENT, meeting);
    beside.corner[1].y = 2;
    assert_ok(abut_triangle_triangle_intersect(&unit_triangle, &beside, &meeting, &s));
    assert_int_equal(ABUT_INTERSECTION_POINT, meeting);

    abut_segment needle = {{{0.25, 0.25, 2}, {0.25, 0.25, -2}}};
    bool meet;
    abut_vec3 at;
    assert_ok(abut_segment_triangle_intersect(&needle, &unit_triangle, &meet, &at));
    assert_true(meet);
    assert_vec(at, 0.25, 0.25, 0, 0);
    abut_ray ray = {{-1, 0.25, 0}, {2, 0, 0}}; /* in the plane */
    abut_ray_triangle_hit hit;
    assert_ok(abut_ray_triangle_intersect(&ray, &unit_triangle, &meet, &hit));
    assert_true(meet);
    assert_near(hit.parameter, 0.5, 1e-16);
    assert_near(hit.barycentric[2], 0.25, 1e-16);
    ray.direction.x = -2;
    assert_ok(abut_ray_triangle_intersect(&ray, &unit_triangle, &meet, NULL));
    assert_false(meet);
    abut_box box = {{0.4, 0.4, -1}, {2, 2, 1}};
    assert_ok(abut_box_triangle_intersect(&box, &unit_triangle, &meet));
    assert_true(meet);
    box.lo = vec(0.51, 0.51, -1);
    assert_ok(abut_box_triangle_intersect(&box, &unit_triangle, &meet));
    assert_false(meet);
    /* a box that is a segment in the triangle's slanted plane, beside the triangle */
    abut_triangle slanted = {{{0, 0, 0}, {1, 1, 0}, {0, 0, 1}}};
    box = (abut_box){{0.75, 0.75, 0.5}, {0.75, 0.75, 1}};
    assert_ok(abut_box_triangle_intersect(&box, &slanted, &meet));
    assert_false(meet);
    int sign;
    assert_ok(abut_orient3d(vec(0, 0, 0), vec(1, 0, 0), vec(0, 1, 0), vec(0, 0, 1), &sign));
    assert_int_equal(1, sign);
}

/* Rays through shared edges and corners of a closed fan hit at least one triangle of it. */
TEST(rays_do_not_leak) {
    test_random random = {41};
    for (int i = 0; i < 20000; i++) {
        abut_vec3 rim[5], hub = random_vec(&random, 0.1);
        for (int k = 0; k < 5; k++)
            rim[k] =
                vec(cos(2 * pi * k / 5), sin(2 * pi * k / 5), test_random_real(&random, -1, 1));
        abut_ray ray = {vec(0.1 * test_random_real(&random, -1, 1), 0, -7), vec(0, 0, 0)};
        double t = test_random_below(&random, 4) ? test_random_real(&random, 0, 0.9) : 0;
        abut_vec3 target = rim[test_random_below(&random, 5)]; /* a point of a spoke, rounded */
        target = vec(hub.x + t * (target.x - hub.x), hub.y + t * (target.y - hub.y),
                     hub.z + t * (target.z - hub.z));
        ray.direction =
            vec(target.x - ray.origin.x, target.y - ray.origin.y, target.z - ray.origin.z);
        int hits = 0;
        for (int k = 0; k < 5; k++) {
            abut_triangle fan = {{hub, rim[k], rim[(k + 1) % 5]}};
            bool meet;
            assert_ok(abut_ray_triangle_intersect(&ray, &fan, &meet, NULL));
            hits += meet;
        }
        assert_true(hits >= 1);
    }
}

TEST(solids_known) {
    abut_signed_closest c;
    assert_ok(abut_plane_closest_point(&(abut_plane){{0, 0, 2}, 6}, vec(1, 2, 5), &c));
    assert_true(c.distance == 2);
    assert_vec(c.point, 1, 2, 3, 0);
    assert_ok(abut_plane_closest_point(&(abut_plane){{3e-60, 4e-60, 0}, 0}, vec(-3, -4, 1), &c));
    assert_near(c.distance, -5, 1e-15);
    abut_sphere sphere = {{1, 1, 1}, 2};
    assert_ok(abut_sphere_closest_point(&sphere, vec(1, 1, 2), &c));
    assert_true(c.distance == -1);
    assert_vec(c.point, 1, 1, 3, 0);
    assert_ok(abut_sphere_closest_point(&sphere, vec(1, 1, 1), &c));
    assert_true(c.distance == -2);
    assert_vec(c.point, 3, 1, 1, 0);
    abut_capsule capsule = {{{0, 0, 0}, {0, 0, 4}}, 1};
    assert_ok(abut_capsule_closest_point(&capsule, vec(3, 4, 2), &c));
    assert_true(c.distance == 4);
    assert_vec(c.point, 0.6, 0.8, 2, 1e-15);
    assert_ok(abut_capsule_closest_point(&capsule, vec(0, 0, 7), &c));
    assert_true(c.distance == 2);
    assert_vec(c.point, 0, 0, 5, 0);
    assert_ok(abut_capsule_closest_point(&capsule, vec(0, 0, 3), &c)); /* on the axis */
    assert_true(c.distance == -1 && c.point.z == 3);
    assert_near(c.point.x * c.point.x + c.point.y * c.point.y, 1, 1e-15);
    capsule.end[1] = capsule.end[0];
    assert_ok(abut_capsule_closest_point(&capsule, vec(0, 0, 0), &c));
    assert_vec(c.point, 1, 0, 0, 0);
    abut_box box = {{0, 0, 0}, {4, 4, 4}};
    assert_ok(abut_box_closest_point(&box, vec(7, 8, 2), &c));
    assert_true(c.distance == 5);
    assert_vec(c.point, 4, 4, 2, 0);
    assert_ok(abut_box_closest_point(&box, vec(1, 2, 3.5), &c));
    assert_true(c.distance == -0.5);
    assert_vec(c.point, 1, 2, 4, 0);
    assert_ok(abut_box_closest_point(&box, vec(4, 2, 2), &c));
    assert_true(c.distance == 0);
    assert_vec(c.point, 4, 2, 2, 0);
}

/* The two triangles of each face of the unit cube, outward. */
static abut_triangle cube_triangle(int i) {
    static const int quad[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                   {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
    static const int half[2][3] = {{0, 1, 2}, {0, 2, 3}};
    abut_triangle t;
    for (int k = 0; k < 3; k++) {
        int corner = quad[i / 2][half[i % 2][k]];
        t.corner[k] = vec(corner & 1, corner >> 1 & 1, corner >> 2);
    }
    return t;
}

TEST(solid_angles) {
    test_random random = {42};
    double angle;
    abut_triangle octant = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    assert_ok(abut_triangle_solid_angle(&octant, vec(0, 0, 0), &angle));
    assert_near(angle, pi / 2, 1e-15);
    assert_ok(abut_triangle_solid_angle(&octant, vec(1, 1, 1), &angle));
    assert_true(angle < 0);
    assert_ok(abut_triangle_solid_angle(&unit_triangle, vec(0.25, 0.25, 0), &angle));
    assert_true(angle == 0); /* on it */
    assert_ok(abut_triangle_solid_angle(&unit_triangle, vec(0.25, 0.25, -1e-50), &angle));
    assert_near(angle, 2 * pi, 1e-15);
    assert_ok(abut_triangle_solid_angle(&unit_triangle, vec(0.25, 0.25, 1e-50), &angle));
    assert_near(angle, -2 * pi, 1e-15);
    for (int i = 0; i < 5000; i++) {
        abut_vec3 p = random_vec(&random, 1.5);
        double sum = 0;
        for (int k = 0; k < 12; k++) {
            abut_triangle t = cube_triangle(k);
            assert_ok(abut_triangle_solid_angle(&t, p, &angle));
            sum += angle;
        }
        bool inside = p.x > 0 && p.x < 1 && p.y > 0 && p.y < 1 && p.z > 0 && p.z < 1;
        double reach = fmax(fabs(p.x - 0.5), fmax(fabs(p.y - 0.5), fabs(p.z - 0.5)));
        double gap = fabs(reach - 0.5); /* to the surface, at least: next to it angles are worse */
        assert_near(sum, inside ? 4 * pi : 0, 1e-14 / gap);
    }
}

/* Nothing overflows up to the limit, nothing underflows far below. */
TEST(extreme_sizes) {
    for (int exponent = -1000; exponent <= 297; exponent++) {
        double s = ldexp(1, exponent);
        abut_triangle t = {{{0, 0, 0}, {s, 0, 0}, {0, s, 0}}};
        abut_closest_on_triangle c;
        assert_ok(abut_triangle_closest_point(&t, vec(s / 4, s / 4, 2 * s), &c));
        assert_true(c.distance == 2 * s && c.feature == ABUT_FEATURE_FACE);
        abut_triangle other = {{{0, 0, 2 * s}, {s, 0, 2 * s}, {0, s, 2 * s}}};
        abut_closest_pair pair;
        if (exponent > -300) {
            assert_ok(abut_triangle_triangle_closest(&t, &other, &pair));
            assert_true(pair.distance == 2 * s);
        }
    }
}

/* Every argument of every function refuses what it must, and leaves the result alone. */
TEST(refusals) {
    const double bad[3] = {NAN, INFINITY, -1.1e90};
    abut_closest_on_segment on_segment = {.distance = -7};
    abut_closest_on_triangle on_triangle = {.distance = -7};
    abut_closest_pair pair = {.distance = -7};
    abut_signed_closest closest = {.distance = -7};
    abut_intersection meeting = (abut_intersection)99;
    bool meet = true;
    double angle = -7;
    int sign = -7;
    for (int i = 0; i < 3; i++) {
        abut_vec3 p = vec(0, bad[i], 0), o = vec(0, 0, 0);
        abut_segment s = {{{0, 0, 0}, {1, 0, bad[i]}}}, good = {{{0, 0, 0}, {1, 0, 0}}};
        abut_triangle t = unit_triangle;
        t.corner[2] = p;
        abut_box box = {p, o};
        abut_ray ray = {o, p}, fine = {o, vec(1, 0, 0)};
        abut_status e = ABUT_ERROR_ARGUMENT;
        assert_fails(e, "segment[1]", abut_segment_closest_point(&s, o, &on_segment));
        assert_fails(e, "point", abut_segment_closest_point(&good, p, &on_segment));
        assert_fails(e, "triangle[2]", abut_triangle_closest_point(&t, o, &on_triangle));
        assert_fails(e, "point", abut_triangle_closest_point(&unit_triangle, p, &on_triangle));
        assert_fails(e, "b[1]", abut_segment_segment_closest(&good, &s, &pair));
        assert_fails(e, "a[2]", abut_triangle_triangle_closest(&t, &unit_triangle, &pair));
        assert_fails(e, "b[2]",
                     abut_triangle_triangle_intersect(&unit_triangle, &t, &meeting, NULL));
        assert_fails(e, "segment[1]",
                     abut_segment_triangle_intersect(&s, &unit_triangle, &meet, NULL));
        assert_fails(e, "triangle[2]", abut_segment_triangle_intersect(&good, &t, &meet, NULL));
        assert_fails(e, "direction",
                     abut_ray_triangle_intersect(&ray, &unit_triangle, &meet, NULL));
        assert_fails(e, "triangle[2]", abut_ray_triangle_intersect(&fine, &t, &meet, NULL));
        assert_fails(e, "box->lo", abut_box_triangle_intersect(&box, &unit_triangle, &meet));
        abut_plane planes[2] = {{p, 0}, {{1, 0, 0}, bad[i]}};
        abut_sphere spheres[2] = {{o, bad[i]}, {p, 1}};
        abut_capsule capsule = {{o, p}, 1};
        assert_fails(e, "normal", abut_plane_closest_point(&planes[0], o, &closest));
        assert_fails(e, "offset", abut_plane_closest_point(&planes[1], o, &closest));
        assert_fails(e, "radius", abut_sphere_closest_point(&spheres[0], o, &closest));
        assert_fails(e, "centre", abut_sphere_closest_point(&spheres[1], o, &closest));
        assert_fails(e, "end[1]", abut_capsule_closest_point(&capsule, o, &closest));
        assert_fails(e, "box->lo", abut_box_closest_point(&box, o, &closest));
        assert_fails(e, "point", abut_triangle_solid_angle(&unit_triangle, p, &angle));
        assert_fails(e, "point[3]", abut_orient3d(o, o, o, p, &sign));
    }
    assert_true(on_segment.distance == -7 && on_triangle.distance == -7 && pair.distance == -7);
    assert_true(closest.distance == -7 && (int)meeting == 99 && meet && angle == -7 && sign == -7);
}

TEST(refuses_null_and_nonsense) {
    abut_vec3 o = vec(0, 0, 0);
    abut_segment s = {{{0, 0, 0}, {1, 0, 0}}};
    abut_closest_on_segment on_segment;
    abut_closest_pair pair;
    abut_signed_closest closest;
    bool meet;
    abut_status e = ABUT_ERROR_ARGUMENT;
    assert_fails(e, "segment is null", abut_segment_closest_point(NULL, o, &on_segment));
    assert_fails(e, "closest is null", abut_segment_closest_point(&s, o, NULL));
    assert_fails(e, "closest is null", abut_triangle_closest_point(&unit_triangle, o, NULL));
    assert_fails(e, "triangle is null", abut_triangle_solid_angle(NULL, o, NULL));
    assert_fails(e, "angle is null", abut_triangle_solid_angle(&unit_triangle, o, NULL));
    assert_fails(e, "b is null", abut_segment_segment_closest(&s, NULL, &pair));
    assert_fails(e, "a is null", abut_triangle_triangle_closest(NULL, &unit_triangle, &pair));
    assert_fails(e, "intersection is null",
                 abut_triangle_triangle_intersect(&unit_triangle, &unit_triangle, NULL, NULL));
    assert_fails(e, "intersects is null",
                 abut_segment_triangle_intersect(&s, &unit_triangle, NULL, NULL));
    assert_fails(e, "ray is null", abut_ray_triangle_intersect(NULL, &unit_triangle, &meet, NULL));
    assert_fails(e, "box is null", abut_box_triangle_intersect(NULL, &unit_triangle, &meet));
    assert_fails(e, "sign is null", abut_orient3d(o, o, o, o, NULL));
    abut_sphere negative = {{0, 0, 0}, -1};
    abut_plane none = {{0, 0, 0}, 1};
    assert_fails(e, "capsule is null", abut_capsule_closest_point(NULL, o, &closest));
    assert_fails(e, "sphere is null", abut_sphere_closest_point(NULL, o, &closest));
    assert_fails(e, "plane is null", abut_plane_closest_point(NULL, o, &closest));
    assert_fails(e, "radius is -1", abut_sphere_closest_point(&negative, o, &closest));
    assert_fails(e, "normal is zero", abut_plane_closest_point(&none, o, &closest));
    abut_ray still = {{0, 0, 0}, {0, 0, 0}};
    assert_fails(e, "direction is zero",
                 abut_ray_triangle_intersect(&still, &unit_triangle, &meet, NULL));
    abut_box inverted = {{0, 1, 0}, {1, 0, 1}};
    assert_fails(e, "lo must not exceed",
                 abut_box_triangle_intersect(&inverted, &unit_triangle, &meet));
}
