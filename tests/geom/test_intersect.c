/* Intersections against the rational referee: the kind must be equal, the points near. */
#include "samples.h"

#include "clip.h"
#include "geom/intersect_shared.h"

static rational3 exactly(vec3 p) {
    return point_of(p.x, p.y, p.z);
}
static void exact_corners(triangle3 t, rational3 *p) {
    for (int i = 0; i < 3; i++)
        p[i] = exactly(t.corner[i]);
}
static triangle3 turned(triangle3 t, int turn) {
    triangle3 r = {{t.corner[turn], t.corner[(turn + 1) % 3], t.corner[(turn + 2) % 3]}};
    return r;
}
static triangle3 mirrored(triangle3 t) {
    triangle3 r = {{t.corner[0], t.corner[2], t.corner[1]}};
    return r;
}

static double largest_coordinate(const vec3 *p, int count) {
    double largest = 0;
    for (int i = 0; i < count; i++)
        largest = fmax(largest, v3_max_abs(p[i]));
    return largest;
}
static double root_in_ulp(number sq, double size) {
    int exponent;
    frexp(size, &exponent);
    return size > 0 ? ldexp(root_of(sq), 53 - exponent) : root_of(sq) > 0 ? 1e9 : 0;
}
/* The distance between a rounded and an exact point, in ulp of a size. */
static double gap_in_ulp(vec3 rounded, rational3 exact, double size) {
    return root_in_ulp(length_sq(point_minus(exactly(rounded), exact)), size);
}

static double worst_end;

static void check_segment(abut_intersection meeting, segment3 s, polygon *common, triangle3 a,
                          triangle3 b) {
    vec3 all[6] = {a.corner[0], a.corner[1], a.corner[2], b.corner[0], b.corner[1], b.corner[2]};
    double size = largest_coordinate(all, 6), gap;
    if (meeting == ABUT_INTERSECTION_COPLANAR) {
        rational3 pa[3], pb[3];
        exact_corners(a, pa);
        exact_corners(b, pb);
        for (int i = 0; i < 2; i++) {
            gap = root_in_ulp(point_triangle_sq(exactly(s.end[i]), pa), size);
            worst_end = fmax(worst_end, gap);
            gap = root_in_ulp(point_triangle_sq(exactly(s.end[i]), pb), size);
            worst_end = fmax(worst_end, gap);
        }
        return;
    }
    rational3 far_end = meeting == ABUT_INTERSECTION_POINT ? common->p[0] : common->p[1];
    gap = fmax(gap_in_ulp(s.end[0], common->p[0], size), gap_in_ulp(s.end[1], far_end, size));
    double swapped =
        fmax(gap_in_ulp(s.end[1], common->p[0], size), gap_in_ulp(s.end[0], far_end, size));
    worst_end = fmax(worst_end, fmin(gap, swapped));
}

TEST(triangles) {
    test_random random = {31};
    int found[4] = {0};
    worst_end = 0;
    for (uint32_t i = 0, rounds = test_rounds(40000); i < rounds; i++) {
        uint32_t family = sample_family(i);
        triangle3 a = sample_triangle(&random, family);
        triangle3 b = sample_partner(&random, family, a);
        rational3 pa[3], pb[3];
        exact_corners(a, pa);
        exact_corners(b, pb);
        convex_set set = set_of_triangle(pa);
        polygon common = {.p = {pb[0], pb[1], pb[2]}, .count = 3};
        common = clip(common, &set);
        abut_intersection expected = (abut_intersection)(polygon_dimension(&common) + 1);
        segment3 s;
        abut_intersection meeting = triangle_triangle_intersect(a, b, &s);
        if (expected != meeting)
            fail_msg("case %u: %d instead of %d", i, (int)meeting, (int)expected);
        found[meeting]++;
        if (meeting)
            check_segment(meeting, s, &common, a, b);
        /* the order of triangles and corners does not matter */
        int turn = (int)test_random_below(&random, 3);
        assert_int_equal(expected, triangle_triangle_intersect(b, a, NULL));
        assert_int_equal(expected, triangle_triangle_intersect(turned(a, turn), mirrored(b), &s));
        if (meeting)
            check_segment(meeting, s, &common, a, b);
    }
    print_message("  %d apart, %d in a point, %d in a segment, %d in an area; ends within %.2f ulp "
                  "of the largest coordinate\n",
                  found[0], found[1], found[2], found[3], worst_end);
    for (int i = 0; i < 4; i++)
        assert_true(found[i] > (int)test_rounds(400)); /* 700 to 1,000 of the rarest */
    assert_true(worst_end <= 4);
}

/* A segment or ray that has to do with the triangle or not. */
static void sample_ends(test_random *random, uint32_t family, triangle3 t, vec3 *ends) {
    for (int i = 0; i < 2; i++)
        ends[i] = test_random_below(random, 2) ? sample_point(random, family)
                                               : sample_near(random, t.corner);
    if (test_random_below(random, 16) == 0)
        ends[1] = ends[0];
}

TEST(segments) {
    test_random random = {32};
    int hits = 0;
    double worst = 0;
    for (uint32_t i = 0, rounds = test_rounds(40000); i < rounds; i++) {
        uint32_t family = sample_family(i);
        triangle3 t = sample_triangle(&random, family);
        segment3 s;
        sample_ends(&random, family, t, s.end);
        rational3 p[3], a = exactly(s.end[0]), b = exactly(s.end[1]);
        exact_corners(t, p);
        convex_set set = set_of_triangle(p);
        number first;
        int expected = first_in_set(a, point_minus(b, a), number_of(1), &set, &first);
        path3 path = segment_path(s);
        path_hit hit;
        int meet = path_triangle_intersect(&path, t, &hit);
        if (expected != meet)
            fail_msg("case %u: %d instead of %d", i, meet, expected);
        hits += meet;
        if (meet) {
            vec3 all[5] = {t.corner[0], t.corner[1], t.corner[2], s.end[0], s.end[1]};
            rational3 at = point_plus(a, point_times(point_minus(b, a), first));
            double size = largest_coordinate(all, 5);
            worst = fmax(worst, gap_in_ulp(path_point(&path, hit.parameter), at, size));
        }
        segment3 back = {{s.end[1], s.end[0]}};
        path = segment_path(back);
        assert_int_equal(expected, path_triangle_intersect(&path, t, NULL));
        path = segment_path(s);
        assert_int_equal(expected, path_triangle_intersect(&path, mirrored(t), NULL));
        assert_int_equal(expected, path_triangle_intersect(&path, turned(t, 1), NULL));
    }
    print_message("  %d hits; points within %.2f ulp of the largest coordinate\n", hits, worst);
    assert_true(hits > (int)test_rounds(8000) && hits < (int)test_rounds(40000));
    assert_true(worst <= 4);
}

TEST(rays) {
    test_random random = {33};
    int hits = 0;
    uint32_t tiny = 0;
    double worst = 0, worst_weight = 0;
    for (uint32_t i = 0, rounds = test_rounds(40000); i < rounds; i++) {
        uint32_t family = sample_family(i);
        triangle3 t = sample_triangle(&random, family);
        vec3 ends[2];
        sample_ends(&random, family, t, ends);
        vec3 d = v3_sub(ends[1], ends[0]);
        ray3 ray = {ends[0], to_float(d.x, d.y, d.z)};
        if (v3_equal(ray.direction, v3(0, 0, 0)) || family == 0) {
            ray.direction = sample_point(&random, 0);
            ray.direction = v3(ray.direction.x - 1, ray.direction.y - 1, 1);
        }
        rational3 p[3], o = exactly(ray.origin), direction = exactly(ray.direction);
        exact_corners(t, p);
        convex_set set = set_of_triangle(p);
        number first;
        int expected = first_in_set(o, direction, NULL, &set, &first);
        path3 path = ray_path(ray);
        path_hit hit;
        int meet = path_triangle_intersect(&path, t, &hit);
        if (expected != meet)
            fail_msg("case %u: %d instead of %d", i, meet, expected);
        hits += meet;
        if (meet) {
            double exact = mpq_get_d(first);
            assert_true(hit.parameter >= 0);
            if (exact == 0)
                assert_true(hit.parameter == 0);
            else
                worst = fmax(worst, fabs(hit.parameter - exact) / exact / DBL_EPSILON);
            assert_true(fabs(hit.weight[0] + hit.weight[1] + hit.weight[2] - 1) <= 1e-15);
            /* the weights give the point */
            rational3 at = point_plus(o, point_times(direction, first)), by = point_of(0, 0, 0);
            for (int k = 0; k < 3; k++) {
                assert_true(hit.weight[k] >= 0);
                by = point_plus(by, point_times(p[k], number_of(hit.weight[k])));
            }
            vec3 all[4] = {t.corner[0], t.corner[1], t.corner[2], ray.origin};
            worst_weight = fmax(worst_weight, root_in_ulp(length_sq(point_minus(at, by)),
                                                          largest_coordinate(all, 4)));
        }
        path = ray_path(ray);
        assert_int_equal(expected, path_triangle_intersect(&path, mirrored(t), NULL));
        assert_int_equal(expected, path_triangle_intersect(&path, turned(t, 2), NULL));
        /* a direction may have any length */
        path_hit scaled;
        int exponent = i % 2 ? -850 : -1030;
        vec3 along = ray.direction, shorter = v3(ldexp(along.x, exponent), ldexp(along.y, exponent),
                                                 ldexp(along.z, exponent));
        if (!v3_equal(along, v3(ldexp(shorter.x, -exponent), ldexp(shorter.y, -exponent),
                                ldexp(shorter.z, -exponent))))
            continue; /* that is another direction */
        tiny++;
        ray.direction = shorter;
        path = ray_path(ray);
        assert_int_equal(expected, path_triangle_intersect(&path, t, &scaled));
        assert_true(!meet || (scaled.parameter == ldexp(hit.parameter, -exponent) &&
                              memcmp(scaled.weight, hit.weight, sizeof hit.weight) == 0));
    }
    print_message("  %d hits; parameter within %.2f relative ulp, weighted point within %.2f ulp\n",
                  hits, worst, worst_weight);
    assert_true(hits > (int)test_rounds(6000) && hits < (int)test_rounds(40000));
    assert_true(tiny > test_rounds(20000));
    assert_true(worst <= 8);
    assert_true(worst_weight <= 8);
}

TEST(boxes) {
    test_random random = {34};
    int hits = 0;
    for (uint32_t i = 0, rounds = test_rounds(40000); i < rounds; i++) {
        uint32_t family = sample_family(i);
        triangle3 t = sample_triangle(&random, family);
        vec3 ends[2];
        sample_ends(&random, family, t, ends);
        uint32_t flat = test_random_below(&random, 16);
        if (flat & 1 && flat < 8)
            ends[1].x = ends[0].x;
        if (flat & 2 && flat < 8)
            ends[1].y = ends[0].y;
        if (flat & 4 && flat < 8)
            ends[1].z = ends[0].z;
        box3 box = {v3_min(ends[0], ends[1]), v3_max(ends[0], ends[1])};
        rational3 p[3];
        exact_corners(t, p);
        convex_set set = set_of_box(exactly(box.lo), exactly(box.hi));
        polygon common = {.p = {p[0], p[1], p[2]}, .count = 3};
        common = clip(common, &set);
        int meet = box_triangle_intersect(box, t);
        if ((common.count > 0) != meet)
            fail_msg("case %u: %d instead of %d", i, meet, common.count > 0);
        hits += meet;
        assert_int_equal(meet, box_triangle_intersect(box, mirrored(t)));
        assert_int_equal(meet, box_triangle_intersect(box, turned(t, 1)));
    }
    print_message("  %d hits\n", hits);
    assert_true(hits > (int)test_rounds(8000) && hits < (int)test_rounds(40000));
}
