/* Maps against single queries, sample by sample, and measures against sums. */
#include "apps/get.h"
#include "map/surfaces.h"

static abut_map_texel *texels_of(const abut_map *map) {
    const uint32_t n = get_map_info(map).resolution;
    abut_map_texel *texels = malloc((size_t)n * n * sizeof *texels);
    assert_ok(abut_map_texels(map, (uint64_t)n * n, texels));
    return texels;
}

static void find_one(abut_map *map, const abut_bvh *bvh, double limit) {
    abut_collider other = abut_collider_from_bvh(bvh, abut_pose_identity());
    abut_map_query query = abut_map_query_default();
    query.limit = limit;
    assert_ok(abut_map_compute_distance(map, &other, 1, &query));
}

/* Every sample has what a single query gives there; some of them are looked at. */
static void check_samples(const abut_map *map, const abut_collider *others, uint32_t count,
                          double limit, uint32_t step) {
    const uint32_t n = get_map_info(map).resolution;
    abut_map_texel *texels = texels_of(map);
    for (uint32_t i = 0; i < n * n; i += step) {
        abut_map_sample sample;
        assert_ok(abut_map_sample_at(map, i % n, i / n, &sample));
        const abut_map_texel *texel = &texels[i];
        if (sample.triangle == ABUT_NONE) {
            assert_true(isnan(texel->distance));
            assert_int_equal(texel->other, ABUT_NONE);
            continue;
        }
        float best = INFINITY;
        abut_nearest winner = {.triangle = ABUT_NONE};
        uint32_t other = ABUT_NONE;
        for (uint32_t k = 0; k < count; k++) {
            abut_nearest nearest;
            bool sign = get_sign_info(others[k].shape.body.bvh).method != ABUT_SIGN_AUTO;
            abut_status status =
                sign ? abut_sign_nearest(others[k].shape.body.bvh, sample.point, limit, &nearest)
                     : abut_nearest_point(others[k].shape.body.bvh, sample.point, limit, &nearest);
            assert_ok(status);
            if (nearest.triangle != ABUT_NONE && (float)nearest.distance < best) {
                best = (float)nearest.distance;
                winner = nearest;
                other = k;
            }
        }
        assert_true(texel->distance == best);
        assert_int_equal(texel->other, other);
        assert_int_equal(texel->triangle, winner.triangle);
        if (other == ABUT_NONE)
            continue;
        assert_int_equal(texel->feature, winner.feature);
        abut_vec3 way = add(winner.point, -1, sample.point);
        assert_true(texel->vector[0] == (float)way.x && texel->vector[1] == (float)way.y &&
                    texel->vector[2] == (float)way.z);
    }
    free(texels);
}

TEST(samples_are_those_of_single_queries) {
    AUTO(mesh)
    e = made(NULL, ABUT_SHAPE_LETTER_E, 6, 0), *g0 = made(NULL, ABUT_SHAPE_LETTER_G, 6, 0);
    for (int round = 0; round < 4; round++) {
        const bool sign = round & 1;
        AUTO(mesh) g = shifted(g0, round < 2 ? 0.9 : 0.3, 0.1, 0.07);
        AUTO(bvh) bvh = hierarchy_of(g, sign);
        AUTO(map) map = map_of(e, 200);
        abut_collider other = abut_collider_from_bvh(bvh, abut_pose_identity());
        find_one(map, bvh, 0);
        assert_true(get_map_info(map).has_distances);
        assert_int_equal(get_map_info(map).has_sign, sign);
        check_samples(map, &other, 1, HUGE_VAL, 7);
        find_one(map, bvh, 0.2);
        check_samples(map, &other, 1, 0.2, 7);
    }
}

TEST(the_nearest_of_many_bodies_wins) {
    abut_mesh *ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 4, 0), *others[12];
    abut_collider posed[12] = {{0}};
    test_random random = {3};
    for (int i = 0; i < 12; i++) {
        others[i] = shifted(ball, test_random_real(&random, -2, 2),
                            test_random_real(&random, -2, 2), test_random_real(&random, -2, 2));
        posed[i].shape.body.bvh = hierarchy_of(others[i], i % 3 != 0);
    }
    abut_bvh_destroy((abut_bvh *)(uintptr_t)posed[11].shape.body.bvh);
    posed[11].shape.body.bvh = posed[10].shape.body.bvh; /* the same twice: the first one wins */
    abut_map *map = map_of(ball, 128);
    assert_ok(abut_map_compute_distance(map, posed, 12, NULL));
    check_samples(map, posed, 12, HUGE_VAL, 3);
    abut_map_query query = abut_map_query_default();
    query.limit = 0.1;
    assert_ok(abut_map_compute_distance(map, posed, 12, &query));
    check_samples(map, posed, 12, 0.1, 3);
    /* None is infinitely far. */
    assert_ok(abut_map_compute_distance(map, NULL, 0, NULL));
    check_samples(map, NULL, 0, HUGE_VAL, 1);
    abut_map_measures measures = abut_map_measures_default();
    assert_ok(abut_map_measure(map, NULL, NULL, &measures));
    assert_int_equal(measures.found, 0);
    assert_int_equal(measures.min.other, ABUT_NONE);
    abut_map_destroy(map);
    for (int i = 0; i < 12; i++) {
        if (i < 11)
            abut_bvh_destroy((abut_bvh *)(uintptr_t)posed[i].shape.body.bvh);
        abut_mesh_destroy(others[i]);
    }
    abut_mesh_destroy(ball);
}

TEST(poses_move_bodies) {
    AUTO(mesh)
    ball = made(NULL, ABUT_SHAPE_TORUS, 24, 12), *e = made(NULL, ABUT_SHAPE_LETTER_E, 5, 0);
    AUTO(bvh) bvh = hierarchy_of(e, true);
    abut_collider other =
        abut_collider_from_bvh(bvh, (abut_pose){{0.5, 0.1, -0.3, 0.7}, {0.4, 0.2, 0.5}});
    abut_pose inverse;
    AUTO(map) map = map_of(ball, 128);
    assert_ok(abut_map_compute_distance(map, &other, 1, NULL));
    assert_ok(abut_pose_invert(&other.pose, &inverse));
    abut_map_texel *texels = texels_of(map);
    for (uint32_t i = 0; i < 128 * 128; i += 5) {
        abut_map_sample sample;
        abut_nearest nearest;
        abut_vec3 there, back;
        assert_ok(abut_map_sample_at(map, i % 128, i / 128, &sample));
        if (sample.triangle == ABUT_NONE)
            continue;
        assert_ok(abut_pose_apply(&inverse, sample.point, &there));
        assert_ok(abut_sign_nearest(bvh, there, HUGE_VAL, &nearest));
        assert_close(texels[i].distance, nearest.distance, 1e-6);
        assert_ok(abut_pose_apply(&other.pose, nearest.point, &back));
        const float *v = texels[i].vector;
        abut_vec3 end = add(sample.point, 1, (abut_vec3){v[0], v[1], v[2]});
        assert_true(distance_of(end, back) < 1e-5 || fabs(nearest.distance) > 1e-3);
    }
    free(texels);
}

/* ---- measures ---- */

TEST(measures_are_sums_over_texels) {
    AUTO(mesh)
    e = made(NULL, ABUT_SHAPE_LETTER_E, 6, 0), *g0 = made(NULL, ABUT_SHAPE_LETTER_G, 6, 0);
    AUTO(mesh) g = shifted(g0, 0.35, 0.1, 0.07);
    AUTO(bvh) bvh = hierarchy_of(g, true);
    AUTO(map) map = map_of(e, 160);
    find_one(map, bvh, 0.3);
    abut_map_texel *texels = texels_of(map);
    double area = 0, found = 0, within = 0, inside = 0, sum = 0, least = HUGE_VAL, most = -HUGE_VAL;
    uint64_t count = 0;
    for (uint32_t i = 0; i < 160 * 160; i++) {
        abut_map_sample sample;
        assert_ok(abut_map_sample_at(map, i % 160, i / 160, &sample));
        area += sample.area;
        if (texels[i].other == ABUT_NONE)
            continue;
        double d = texels[i].distance;
        count++;
        found += sample.area;
        within += d <= 0.1 ? sample.area : 0;
        inside += d < 0 ? sample.area : 0;
        sum += sample.area * d;
        least = fmin(least, d);
        most = fmax(most, d);
    }
    const double quantiles[] = {0, 0.1, 0.5, 0.9, 1};
    double values[5], bins[10], total = 0;
    abut_map_measure_options options = abut_map_measure_options_default();
    abut_map_measures m = abut_map_measures_default();
    options.within = 0.1;
    options.quantiles = quantiles;
    options.quantile_count = 5;
    assert_ok(abut_map_measure(map, &options, values, &m));
    assert_int_equal(m.found, count);
    assert_true(inside > 0 && found < area);
    assert_close(m.area, area, 1e-9);
    assert_close(m.found_area, found, 1e-9);
    assert_close(m.within_area, within, 1e-9);
    assert_close(m.inside_area, inside, 1e-9);
    assert_close(m.mean, sum / found, 1e-9);
    assert_true(m.min.distance == least && m.max.distance == most);
    assert_true(values[0] == least && values[4] == most);
    for (int q = 1; q < 4; q++) {
        double below = 0, at = 0;
        for (uint32_t i = 0; i < 160 * 160; i++) {
            abut_map_sample sample;
            assert_ok(abut_map_sample_at(map, i % 160, i / 160, &sample));
            below +=
                texels[i].other != ABUT_NONE && texels[i].distance < values[q] ? sample.area : 0;
            at += texels[i].distance == values[q] ? sample.area : 0;
        }
        assert_true(below <= quantiles[q] * found * (1 + 1e-9));
        assert_true(below + at >= quantiles[q] * found * (1 - 1e-9));
    }
    assert_ok(abut_map_histogram(map, 0, 0.2, 10, bins));
    for (int i = 0; i < 10; i++)
        total += bins[i];
    assert_close(total, found, 1e-9);
    assert_true(bins[0] >= inside);
    uint64_t near_count;
    abut_index_list below = {NULL, 0, 0};
    assert_int_equal(abut_map_find_below(map, 0.1, &below), ABUT_ERROR_BUFFER);
    near_count = below.count;
    assert_int_equal(near_count, m.within);
    uint32_t *near_texels = malloc(near_count * sizeof *near_texels);
    below = (abut_index_list){near_texels, near_count, 0};
    assert_ok(abut_map_find_below(map, 0.1, &below));
    near_count = below.count;
    for (uint64_t i = 0; i < near_count; i++)
        assert_true(texels[near_texels[i]].distance <= 0.1 &&
                    (!i || near_texels[i] > near_texels[i - 1]));
    free(near_texels);
    free(texels);
}

TEST(exact_measures_are_those_of_pairs) {
    AUTO(mesh)
    torus = made(NULL, ABUT_SHAPE_TORUS, 20, 10), *ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 3, 0);
    AUTO(bvh) ours = hierarchy_of(torus, false), *bvh = hierarchy_of(ball, false);
    AUTO(map) map = map_of(torus, 64);
    test_random random = {11};
    for (int round = 0; round < 40; round++) {
        abut_collider others[3] = {{0}}, a = abut_collider_from_bvh(ours, abut_pose_identity());
        double best = HUGE_VAL;
        for (int k = 0; k < 3; k++) {
            others[k].shape.body.bvh = bvh;
            others[k].pose.translation =
                (abut_vec3){test_random_real(&random, 2.5, 4), test_random_real(&random, -3, 3),
                            test_random_real(&random, -3, 3)};
            abut_separation s;
            abut_pair_options surfaces = abut_pair_options_default();
            surfaces.surface_only = true;
            assert_ok(abut_pair_distance(&a, &others[k], &surfaces, NULL, &s));
            best = fmin(best, s.distance);
        }
        assert_ok(abut_map_compute_distance(map, others, 3, NULL));
        abut_map_measure_options options = abut_map_measure_options_default();
        abut_map_measures plain = abut_map_measures_default(), exact = abut_map_measures_default();
        assert_ok(abut_map_measure(map, &options, NULL, &plain));
        options.exact = true;
        assert_ok(abut_map_measure(map, &options, NULL, &exact));
        assert_true(exact.min.distance == best && exact.min_error == 0);
        assert_true(plain.min.distance >= best * (1 - 1e-6));
        assert_true(plain.min.distance - plain.min_error <= best);
        assert_true(best == 0 ||
                    fabs(distance_of(exact.min.point, exact.min.other_point) - best) < 1e-9);
    }
}

/* Penetration depths come from samples only: the error bound covers all of the surface. */
TEST(exact_measures_of_bodies_that_overlap) {
    AUTO(mesh)
    ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 3, 0), *box = made(NULL, ABUT_SHAPE_BOX, 3, 0),
    *cone = made(NULL, ABUT_SHAPE_CONE, 8, 1);
    AUTO(bvh) bvh = hierarchy_of(box, true);
    test_random random = {23};
    for (int round = 0; round < 8; round++) {
        /* The tip of a cone goes into the box between samples: all of these are outside. */
        const bool tip = round >= 4;
        const abut_box at = abut_mesh_bounds(tip ? cone : ball), to = abut_mesh_bounds(box);
        AUTO(mesh)
        here = shifted(tip ? cone : ball, 0.1, 0.05,
                       tip ? to.lo.z - at.hi.z + 0.002 : to.lo.z - at.hi.z + 0.05 * round);
        AUTO(map) map = map_of(here, tip ? 12 : 40);
        abut_map_measure_options options = abut_map_measure_options_default();
        abut_map_measures exact = abut_map_measures_default();
        find_one(map, bvh, 0);
        options.exact = true;
        assert_ok(abut_map_measure(map, &options, NULL, &exact));
        double least = HUGE_VAL;
        for (int i = 0; i < 20000; i++) {
            uint32_t t;
            double weight[3];
            abut_nearest nearest;
            const uint32_t vertices = abut_mesh_vertex_count(here);
            abut_vec3 p = point_on(here, &random, &t, weight);
            if ((uint32_t)i < vertices)
                p = add(abut_mesh_local_origin(here), 1, abut_mesh_local_positions(here)[i]);
            assert_ok(abut_sign_nearest(bvh, p, HUGE_VAL, &nearest));
            least = fmin(least, nearest.distance);
        }
        assert_true(exact.min.distance - exact.min_error <= least);
        assert_true(round == 0 || least < 0);
        if (tip)
            assert_true(exact.min.distance == 0);
    }
}

/* Distances of one state of a body are not refined by another. */
TEST(bodies_that_were_refitted) {
    AUTO(mesh)
    ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 2, 0), *away = shifted(ball, 3, 0, 0),
    *near = shifted(ball, 2, 0, 0);
    AUTO(bvh) bvh = hierarchy_of(away, true);
    AUTO(map) map = map_of(ball, 64);
    abut_map_measure_options options = abut_map_measure_options_default();
    abut_patch_options patch_options = abut_patch_options_default();
    abut_patches patches = abut_patches_default();
    abut_map_measures before = abut_map_measures_default(), after = abut_map_measures_default();
    find_one(map, bvh, 0);
    options.exact = true;
    assert_ok(abut_map_measure(map, &options, NULL, &before));
    assert_ok(abut_bvh_set_mesh(bvh, near));
    assert_refused("others[0] was refitted", abut_map_measure(map, &options, NULL, &after));
    assert_refused("others[0] was refitted", abut_map_contacts(map, &patch_options, &patches));
    assert_ok(abut_map_measure(map, NULL, NULL, &after)); /* of samples */
    find_one(map, bvh, 0);
    assert_ok(abut_map_measure(map, &options, NULL, &after));
    assert_close(before.min.distance - after.min.distance, 1, 1e-6);
}

/* Distances are floats: sizes that these do not hold are refused, and bounds hold for the rest. */
TEST(sizes_beyond_floats) {
    AUTO(mesh) ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 2, 0);
    const double sizes[] = {1e-89, 1e-45, 1e-31, 1e-29, 1, 1e29, 1e31, 1e38, 1e45, 1e89};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const double k = sizes[i], scale[9] = {k, 0, 0, 0, k, 0, 0, 0, k};
        AUTO(mesh) here = moved(ball, scale, (abut_vec3){0, 0, 0});
        AUTO(bvh) bvh = hierarchy_of(here, true);
        abut_map_options options = abut_map_options_default();
        AUTO(map) map = NULL;
        options.resolution = 32;
        if (k > 2e-30 && k < 1e30) {
            assert_ok(abut_map_create(here, &options, &map));
            abut_collider other =
                abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 1}, {3 * k, 0, 0}});
            abut_map_measures m = abut_map_measures_default();
            abut_map_measure_options exact = abut_map_measure_options_default();
            exact.exact = true;
            assert_ok(abut_map_compute_distance(map, &other, 1, NULL));
            assert_ok(abut_map_measure(map, NULL, NULL, &m));
            const double lower = m.min.distance - m.min_error;
            assert_ok(abut_map_measure(map, &exact, NULL, &m));
            assert_true(m.min.distance > k && lower <= m.min.distance);
            other.pose.translation.x = 1e31;
            assert_refused("at most 1e+30", abut_map_compute_distance(map, &other, 1, NULL));
            other.pose.translation.x = 1e90;
            assert_refused("at most 1e+30", abut_map_compute_distance(map, &other, 1, NULL));
        } else {
            assert_refused(k < 1 ? "at least 1e-30" : "at most 1e+30",
                           abut_map_create(here, &options, &map));
            assert_null(map);
            assert_ok(abut_map_create(ball, &options, &map));
            assert_refused(k < 1 ? "at least 1e-30" : "at most 1e+30",
                           abut_map_set_mesh(map, here));
            assert_refused(k < 1 ? "at least 1e-30" : "at most 1e+30",
                           abut_map_replace_mesh(map, here, NULL));
        }
    }
}

TEST(corners_have_values_too) { /* they may lie off all rows of samples */
    AUTO(mesh)
    pot = made(NULL, ABUT_SHAPE_TEAPOT_SOLID, 0, 0), *ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 2, 0);
    AUTO(bvh) bvh = hierarchy_of(ball, false);
    AUTO(map) map = map_of(pot, 512);
    find_one(map, bvh, 0);
    for (uint32_t t = 0; t < abut_mesh_triangle_count(pot); t++)
        for (int k = 0; k < 3; k++) {
            const double corner[3] = {k == 0, k == 1, k == 2};
            abut_map_value value;
            assert_ok(abut_map_evaluate(map, t, corner, &value));
            assert_true(value.lower <= value.distance && value.distance <= value.upper);
        }
}

/* Far nearer to the other surface than the samples are: what samples were rounded by counts. */
TEST(upper_bounds_hold_next_to_the_other_surface) {
    AUTO(mesh)
    e = made(NULL, ABUT_SHAPE_LETTER_E, 4, 0), *here = shifted(e, 0.3, 0, 0.1),
    *g = made(NULL, ABUT_SHAPE_LETTER_G, 4, 0);
    AUTO(map) map = map_of(e, 96);
    AUTO(bvh) bvh = hierarchy_of(g, false);
    assert_ok(abut_map_set_mesh(map, here));
    find_one(map, bvh, 0);
    for (int i = 1; i < 400; i++) { /* an edge of triangle 61 goes through the other */
        const double weight[3] = {0.5 - 1e-5 * i, 0, 0.5 + 1e-5 * i};
        abut_map_value value;
        abut_nearest nearest;
        abut_vec3 p = {0, 0, 0};
        for (uint32_t k = 0; k < 3; k++)
            p = add(p, weight[k], vertex_of(here, abut_mesh_indices(here)[3 * 61 + k]));
        assert_ok(abut_map_evaluate(map, 61, weight, &value));
        assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &nearest));
        assert_true(value.lower <= nearest.distance && nearest.distance <= value.upper);
    }
}

TEST(values_anywhere_are_within_their_bounds) {
    AUTO(mesh)
    e = made(NULL, ABUT_SHAPE_LETTER_E, 4, 0), *g = made(NULL, ABUT_SHAPE_LETTER_G, 4, 0);
    const double shear[9] = {1, 10, 0, 0, 1, 0, 0.3, 0, 1};
    AUTO(map) map = map_of(e, 96);
    test_random random = {5};
    for (int round = 0; round < 4; round++) {
        AUTO(mesh)
        here = round & 1 ? moved(e, shear, (abut_vec3){0.1, 0, 0.1}) : shifted(e, 0.3, 0, 0.1);
        AUTO(bvh) bvh = hierarchy_of(g, round & 2);
        assert_ok(abut_map_set_mesh(map, here));
        find_one(map, bvh, round == 3 ? 0.2 : 0);
        for (uint32_t i = 0; i < (test_thorough() ? 250000 : 375); i++) { /* a million points */
            uint32_t t;
            double weight[3], reach;
            abut_map_value value;
            abut_nearest nearest;
            abut_vec3 p = point_on(here, &random, &t, weight);
            assert_ok(abut_map_evaluate(map, t, weight, &value));
            abut_status status = round & 2 ? abut_sign_nearest(bvh, p, HUGE_VAL, &nearest)
                                           : abut_nearest_point(bvh, p, HUGE_VAL, &nearest);
            assert_ok(status);
            assert_ok(abut_map_reach(map, t, &reach));
            assert_true(value.lower <= nearest.distance && nearest.distance <= value.upper);
            assert_true(value.lower <= value.distance && value.distance <= value.upper);
            if (value.upper < HUGE_VAL)
                assert_true(value.upper - value.lower <= 2.001 * reach + 1e-6);
        }
    }
    const double half[3] = {0.5, 0.5, 0.5}, below[3] = {-0.5, 1, 0.5}, fine[3] = {1, 0, 0};
    abut_map_value value;
    assert_int_equal(abut_map_evaluate(map, 0, half, &value), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_map_evaluate(map, 0, below, &value), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_map_evaluate(map, 1 << 30, fine, &value), ABUT_ERROR_ARGUMENT);
}

/* ---- contacts ---- */

/* A table with two feet on a floor: two patches of the feet's size, four contacts each. */
TEST(patches_are_where_bodies_are_near) {
    AUTO(mesh)
    box = made(NULL, ABUT_SHAPE_BOX, 4, 0); /* from -1 to 1 or so: scaled to what we want */
    abut_box bounds = abut_mesh_bounds(box);
    const double size = bounds.hi.x - bounds.lo.x;
    const double foot[9] = {0.2 / size, 0, 0, 0, 0.2 / size, 0, 0, 0, 1 / size};
    const double flat[9] = {4 / size, 0, 0, 0, 4 / size, 0, 0, 0, 1 / size};
    abut_mesh *feet[2] = {moved(box, foot, (abut_vec3){-0.5, 0, 0.5}),
                          moved(box, foot, (abut_vec3){0.5, 0, 0.5})},
              *table, *floor = moved(box, flat, (abut_vec3){0, 0, -0.5});
    assert_ok(abut_mesh_join(feet, 2, &table));
    for (int round = 0; round < 3; round++) {
        const double gap = round == 0 ? 0.004 : round == 1 ? 0 : -0.01;
        AUTO(mesh) here = shifted(table, 0, 0, gap);
        AUTO(bvh) bvh = hierarchy_of(floor, true);
        AUTO(map) map = map_of(here, 256);
        abut_patch list[4];
        abut_contact contacts[16];
        abut_patch_options options = abut_patch_options_default();
        abut_patches patches = {.size = sizeof patches,
                                .patches.list = list,
                                .patches.capacity = 4,
                                .contacts.list = contacts,
                                .contacts.capacity = 16};
        options.margin = 0.005;
        find_one(map, bvh, 0);
        assert_ok(abut_map_contacts(map, &options, &patches));
        assert_int_equal(patches.patches.count, 2);
        assert_false(patches.is_verified);
        for (int k = 0; k < 2; k++) {
            const double walls = gap < 0 ? 4 * 0.2 * -gap : 0; /* of each foot below the floor */
            assert_true(list[k].area > 0.9 * 0.04 &&
                        list[k].area < 1.25 * (0.04 + walls + 0.8 * 0.005));
            assert_close(fabs(list[k].centre.x), 0.5, 0.01);
            assert_true(list[k].normal.z > 0.9);
            assert_close(list[k].depth, -gap, 1e-6);
            assert_close(list[k].volume, gap < 0 ? 0.04 * -gap : 0, 0.05 * 0.04 * 0.01);
            assert_int_equal(list[k].count, 4);
            for (uint32_t i = 0; i < list[k].count; i++) {
                const abut_contact *c = &contacts[list[k].first + i];
                assert_true(c->normal.z > 0.99);
                assert_int_equal(c->kind, ABUT_CONTACT_SURFACE);
                assert_true(fabs(fabs(c->point.x) - 0.5) < 0.101 && fabs(c->point.y) < 0.101);
                for (uint32_t j = 0; j < i; j++)
                    assert_true(c->id != contacts[list[k].first + j].id);
            }
        }
        patches.patches.capacity = 1;
        assert_int_equal(abut_map_contacts(map, &options, &patches), ABUT_ERROR_BUFFER);
        assert_int_equal(patches.patches.count, 2);
        options.margin = NAN;
        assert_int_equal(abut_map_contacts(map, &options, &patches), ABUT_ERROR_ARGUMENT);
    }
    for (int i = 0; i < 2; i++)
        abut_mesh_destroy(feet[i]);
    abut_mesh_destroy(table);
    abut_mesh_destroy(floor);
}

/* A sheet on the top of a box has normals out of the box, however little it is above or below,
 * which way it faces and whichever of both is sampled; also if the box faces inwards. */
TEST(sheets_that_lie_on_a_body_are_outside) {
    const double gaps[] = {0, 1e-16, -1e-16, 2e-16, -2e-16, 1e-14, -1e-14, 1e-12, -1e-12, 1e-9};
    const double sheet_at[] = {-.5, -.5, .5, .5, -.5, .5, .5, .5, .5, -.5, .5, .5};
    const uint32_t up[] = {0, 1, 2, 0, 2, 3}, down[] = {0, 2, 1, 0, 3, 2};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = (abut_vec3){2, 2, 1};
    shape.segments = 2;
    AUTO(mesh) box;
    AUTO(mesh) turned;
    assert_ok(abut_shape_create(NULL, &shape, &box));
    const uint32_t triangle_count = abut_mesh_triangle_count(box);
    uint32_t *indices = malloc(3 * sizeof *indices * triangle_count);
    assert_non_null(indices);
    for (uint32_t i = 0; i < 3 * triangle_count; i++)
        indices[i] = abut_mesh_indices(box)[i - i % 3 + 2 - i % 3];
    turned = test_mesh(NULL, &abut_mesh_local_positions(box)[0].x, abut_mesh_vertex_count(box),
                       indices, triangle_count);
    for (int inward = 0; inward < 2; inward++)
        for (int face = 0; face < 2; face++)
            for (int sampled = 0; sampled < 2; sampled++) /* the sheet, then the box */
                for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
                    AUTO(mesh) sheet = test_mesh(NULL, sheet_at, 4, face ? down : up, 2);
                    abut_mesh *closed = inward ? turned : box;
                    AUTO(bvh) bvh = hierarchy_of(sampled ? sheet : closed, !sampled && !inward);
                    AUTO(map) map = map_of(sampled ? closed : sheet, 64);
                    abut_collider other = abut_collider_from_bvh(
                        bvh, (abut_pose){{0, 0, 0, 1}, {0, 0, sampled ? gaps[i] : -gaps[i]}});
                    abut_map_query query = abut_map_query_default();
                    abut_patch_options options = abut_patch_options_default();
                    abut_patch list[8];
                    abut_contact contacts[32];
                    abut_patches found = {.size = sizeof found,
                                          .patches.list = list,
                                          .patches.capacity = 8,
                                          .contacts.list = contacts,
                                          .contacts.capacity = 32};
                    options.margin = 1e-3;
                    assert_ok(abut_map_compute_distance(map, &other, 1, &query));
                    assert_ok(abut_map_contacts(map, &options, &found));
                    assert_true(found.patches.count >= 1);
                    /* Distances to a sheet have no sign: which side is meant is known at 0 alone.
                     */
                    bool known = sampled ? fabs(gaps[i]) <= 1e-14 && !inward
                                         : !inward || gaps[i] >= 0 || fabs(gaps[i]) <= 1e-14;
                    for (uint64_t k = 0; k < found.contacts.count && known; k++)
                        if (!((sampled ? -1 : 1) * contacts[k].normal.z > 0.99))
                            fail_msg("gap %g, sampled %d, face %d, inward %d: normal %g %g %g",
                                     gaps[i], sampled, face, inward, contacts[k].normal.x,
                                     contacts[k].normal.y, contacts[k].normal.z);
                }
    free(indices);
}

/* A rod through a ring that is too narrow: normals all around add up to nothing. */
TEST(patches_have_the_volume_of_the_overlap) {
    AUTO(mesh)
    ring = made(NULL, ABUT_SHAPE_TORUS, 32, 16), *rod = made(NULL, ABUT_SHAPE_CYLINDER, 24, 1);
    const abut_box wide = abut_mesh_bounds(rod);
    const double k = 0.7 / (wide.hi.x - wide.lo.x), scale[9] = {k, 0, 0, 0, k, 0, 0, 0, 3};
    AUTO(mesh) here = moved(rod, scale, (abut_vec3){0.02, 0, 0});
    AUTO(bvh) bvh = hierarchy_of(ring, true), *ours = hierarchy_of(here, false);
    abut_patch list[256];
    abut_contact contacts[1024];
    abut_patches patches = {.size = sizeof patches,
                            .patches.list = list,
                            .patches.capacity = 256,
                            .contacts.list = contacts,
                            .contacts.capacity = 1024};
    AUTO(map) map = map_of(here, 128);
    const abut_collider a = abut_collider_from_bvh(ours, abut_pose_identity()),
                        b = abut_collider_from_bvh(bvh, abut_pose_identity());
    abut_pair_measures common = abut_pair_measures_default();
    double volume = 0;
    find_one(map, bvh, 0);
    assert_ok(abut_pair_measure(&a, &b, NULL, &common));
    assert_true(common.volume > 1e-3);
    assert_ok(abut_map_contacts(map, NULL, &patches));
    assert_true(patches.patches.count > 0 && list[0].depth > 0);
    for (uint64_t i = 0; i < patches.patches.count; i++)
        volume += list[i].volume;
    assert_close(volume, common.volume, 1e-12);
    abut_map_destroy(map);
    map = map_of(here, 128); /* open: not measured */
    AUTO(mesh) sheet = made(NULL, ABUT_SHAPE_SHEET, 4, 4);
    AUTO(bvh) open = hierarchy_of(sheet, true);
    find_one(map, open, 0);
    assert_ok(abut_map_contacts(map, NULL, &patches));
    for (uint64_t i = 0; i < patches.patches.count; i++)
        assert_true(list[i].volume == 0);
}

/* ---- depth ---- */

static bool is_separated(abut_mesh *a, const abut_bvh *b, abut_pose pose, abut_vec3 shift) {
    AUTO(bvh) ours = hierarchy_of(a, true);
    const double slack = 1 + 1e-9;
    const abut_collider here = abut_collider_from_bvh(ours,
                                                      (abut_pose){{0, 0, 0, 1},
                                                                  {slack * shift.x, slack * shift.y,
                                                                   slack * shift.z}}),
                        there = abut_collider_from_bvh(b, pose);
    abut_overlap found;
    assert_ok(abut_pair_overlap(&here, &there, NULL, NULL, &found));
    return found.relation == ABUT_PAIR_APART;
}

/* Boxes and balls, whose depths are known: bounds contain them, and the shift separates. */
TEST(depth_is_bounded) {
    AUTO(mesh) box = made(NULL, ABUT_SHAPE_BOX, 4, 0);
    AUTO(mesh) ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 16, 0);
    const double side = abut_mesh_bounds(box).hi.x - abut_mesh_bounds(box).lo.x,
                 radius = abut_mesh_bounds(ball).hi.z;
    for (int round = 0; round < 8; round++) {
        const double depth = 0.3 * side * (round + 1) / 8;
        const bool round_bodies = round % 2;
        abut_mesh *mesh = round_bodies ? ball : box;
        AUTO(bvh) bvh = hierarchy_of(mesh, true);
        AUTO(map) map = map_of(mesh, 128);
        const double apart = (round_bodies ? 2 * radius : side) - (round_bodies ? 0.5 : 1) * depth;
        const double known = round_bodies ? 0.5 * depth : depth;
        const double angle = 0.4 * round, turn = round_bodies ? angle : 0;
        const abut_pose pose = {{0, 0, sin(turn), cos(turn)},
                                {apart * cos(round_bodies ? angle : 0),
                                 apart * sin(round_bodies ? angle : 0), 0}};
        const abut_collider other = abut_collider_from_bvh(bvh, pose);
        abut_map_depth found = abut_map_depth_default();
        assert_ok(abut_map_compute_distance(map, &other, 1, NULL));
        assert_ok(abut_map_measure_depth(map, 0, &found));
        const double slack = round_bodies ? 0.01 * radius : 1e-12; /* facets of a ball */
        assert_true(found.lower <= known + 1e-12 && found.upper >= known - slack);
        assert_true(found.upper - found.lower <= get_map_info(map).reach + 1e-6);
        assert_true(found.lower > known - slack - get_map_info(map).reach);
        assert_true(found.shift_lower <= known + slack && found.shift_upper >= known - slack);
        assert_true(found.shift_upper <= known + slack);
        assert_close(distance_of(found.shift, (abut_vec3){0, 0, 0}), found.shift_upper, 1e-12);
        assert_true(is_separated(mesh, bvh, pose, found.shift));
        const abut_collider away =
            abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 1}, {3 * side, 0, 0}});
        assert_ok(abut_map_compute_distance(map, &away, 1, NULL));
        assert_ok(abut_map_measure_depth(map, 0, &found));
        assert_true(found.lower == 0 && found.upper == 0 && found.shift_upper == 0);
    }
}

/* Between samples: random points of the surface are not deeper than the upper bound; after a
 * shear, and for several bodies. */
TEST(no_point_is_deeper_than_the_bound) {
    AUTO(mesh) letter = made(NULL, ABUT_SHAPE_LETTER_E, 3, 0);
    AUTO(mesh) ring = made(NULL, ABUT_SHAPE_TORUS, 24, 12);
    AUTO(bvh) bvh = hierarchy_of(ring, true);
    const double shear[9] = {1, 0.7, 0, 0, 1, 0, 0, 0.3, 1};
    AUTO(mesh) here = moved(letter, shear, (abut_vec3){0, 0, 0});
    AUTO(map) map = map_of(letter, 40);
    assert_ok(abut_map_set_mesh(map, here));
    const abut_collider others[2] = {
        abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 1}, {0.3, 0.1, 0}}),
        abut_collider_from_bvh(bvh, (abut_pose){{0.6, 0, 0, 0.8}, {-0.2, 0.2, 0.1}})};
    assert_ok(abut_map_compute_distance(map, others, 2, NULL));
    for (uint32_t k = 0; k < 2; k++) {
        abut_map_depth found = abut_map_depth_default();
        assert_ok(abut_map_measure_depth(map, k, &found));
        assert_true(found.lower > 0 && found.upper >= found.lower);
        assert_true(is_separated(here, bvh, others[k].pose, found.shift));
        test_random random = {k};
        double deepest = 0;
        for (int i = 0; i < 20000; i++) {
            const uint32_t t = test_random_below(&random, abut_mesh_triangle_count(here)),
                           *corner = abut_mesh_indices(here) + 3 * (size_t)t;
            double u = test_random_below(&random, 1000) / 999.0,
                   v = test_random_below(&random, 1000) / 999.0;
            if (u + v > 1) {
                u = 1 - u;
                v = 1 - v;
            }
            abut_vec3 p = add(vertex_of(here, corner[0]), -u - v, vertex_of(here, corner[0]));
            p = add(add(p, u, vertex_of(here, corner[1])), v, vertex_of(here, corner[2]));
            abut_pose inverse;
            abut_nearest nearest;
            assert_ok(abut_pose_invert(&others[k].pose, &inverse));
            assert_ok(abut_pose_apply(&inverse, p, &p));
            assert_ok(abut_sign_nearest(bvh, p, HUGE_VAL, &nearest));
            deepest = fmax(deepest, -nearest.distance);
        }
        assert_true(deepest > 0 && deepest <= found.upper);
    }
}

TEST(depth_needs_signs) {
    AUTO(mesh) box = made(NULL, ABUT_SHAPE_BOX, 2, 0);
    AUTO(bvh) bvh = hierarchy_of(box, false);
    AUTO(map) map = map_of(box, 64);
    abut_map_depth found = abut_map_depth_default();
    assert_refused("compute_distance", abut_map_measure_depth(map, 0, &found));
    find_one(map, bvh, 0);
    assert_refused("have no sign", abut_map_measure_depth(map, 0, &found));
    assert_refused("must be below 1", abut_map_measure_depth(map, 1, &found));
    assert_int_equal(abut_map_measure_depth(map, 0, NULL), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_map_measure_depth(NULL, 0, &found), ABUT_ERROR_ARGUMENT);
    assert_ok(abut_sign_prepare(bvh, NULL));
    find_one(map, bvh, 0);
    found.size = 0;
    assert_int_equal(abut_map_measure_depth(map, 0, &found), ABUT_ERROR_ARGUMENT);
    abut_map_query query = abut_map_query_default();
    found = abut_map_depth_default();
    assert_ok(abut_map_compute_self_distance(map, &query));
    assert_refused("other bodies", abut_map_measure_depth(map, 0, &found));
}

/* ---- bad input, memory, threads ---- */

TEST(what_is_not_legal_is_refused) {
    AUTO(mesh) box = made(NULL, ABUT_SHAPE_BOX, 2, 0);
    AUTO(bvh) bvh = hierarchy_of(box, false);
    AUTO(map) map = map_of(box, 64);
    abut_map_measures measures = abut_map_measures_default();
    abut_map_texel *texels = malloc(64 * 64 * sizeof *texels);
    assert_int_equal(abut_map_measure(map, NULL, NULL, &measures), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_map_texels(map, 64 * 64, texels), ABUT_ERROR_ARGUMENT);
    abut_collider other = abut_collider_from_bvh(bvh, abut_pose_identity());
    abut_map_query query = abut_map_query_default();
    const double bad[] = {NAN, -1};
    for (int i = 0; i < 2; i++) {
        query.limit = bad[i];
        assert_int_equal(abut_map_compute_distance(map, &other, 1, &query), ABUT_ERROR_ARGUMENT);
    }
    assert_int_equal(abut_map_compute_distance(NULL, &other, 1, NULL), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_map_compute_distance(map, NULL, 1, NULL), ABUT_ERROR_ARGUMENT);
    other.pose.translation.x = INFINITY;
    assert_int_equal(abut_map_compute_distance(map, &other, 1, NULL), ABUT_ERROR_ARGUMENT);
    other.shape.body.bvh = NULL;
    assert_int_equal(abut_map_compute_distance(map, &other, 1, NULL), ABUT_ERROR_ARGUMENT);
    find_one(map, bvh, 0); /* the surface on itself */
    assert_ok(abut_map_measure(map, NULL, NULL, &measures));
    assert_true(measures.max.distance <= 1e-12);
    assert_int_equal(abut_map_texels(map, 64 * 64 - 1, texels), ABUT_ERROR_BUFFER);
    const double past = 1.5;
    abut_map_measure_options options = abut_map_measure_options_default();
    options.quantiles = &past;
    options.quantile_count = 1;
    double value;
    assert_int_equal(abut_map_measure(map, &options, &value, &measures), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_map_histogram(map, 1, 1, 4, &value), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_map_histogram(map, 0, 1, 0, &value), ABUT_ERROR_ARGUMENT);
    abut_map_sample sample;
    assert_int_equal(abut_map_sample_at(map, 64, 0, &sample), ABUT_ERROR_ARGUMENT);
    assert_int_equal(abut_map_create(NULL, NULL, &map), ABUT_ERROR_ARGUMENT);
    assert_int_equal(get_map_info(NULL).resolution, 0);
    abut_map_destroy(NULL);
    free(texels);
}

/* Far from the origin distances are still those of doubles. */
TEST(places_far_from_the_origin) {
    AUTO(mesh)
    e0 = made(NULL, ABUT_SHAPE_LETTER_E, 4, 0), *g0 = made(NULL, ABUT_SHAPE_LETTER_G, 4, 0);
    AUTO(mesh) e = shifted(e0, 1e6, 1e6, 1e6), *g = shifted(g0, 1e6 + 0.9, 1e6, 1e6);
    AUTO(bvh) bvh = hierarchy_of(g, true);
    abut_collider other = abut_collider_from_bvh(bvh, abut_pose_identity());
    AUTO(map) map = map_of(e, 128);
    find_one(map, bvh, 0);
    check_samples(map, &other, 1, HUGE_VAL, 5);
}

static abut_status make_and_ask(abut_context *context, void *data) {
    abut_mesh *mesh = NULL, *other = NULL;
    abut_bvh *bvh = NULL;
    abut_map *map = NULL;
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX);
    abut_map_options options = abut_map_options_default();
    abut_map_measures measures = abut_map_measures_default();
    const double half = 0.5;
    double value;
    uint32_t from[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ABUT_NONE, ABUT_NONE};
    (void)data;
    options.resolution = 32;
    box.segments = 1;
    abut_status status = abut_shape_create(context, &box, &mesh);
    status = status ? status : abut_shape_create(context, &box, &other);
    status = status ? status : abut_bvh_create(other, NULL, &bvh);
    status = status ? status : abut_map_create(mesh, &options, &map);
    status = status ? status : abut_map_replace_mesh(map, other, from);
    abut_collider posed = abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 1}, {0.5, 0, 0.1}});
    status = status ? status : abut_map_compute_distance(map, &posed, 1, NULL);
    abut_map_measure_options wanted = abut_map_measure_options_default();
    wanted.quantiles = &half;
    wanted.quantile_count = 1;
    status = status ? status : abut_map_measure(map, &wanted, &value, &measures);
    abut_patch list[8];
    abut_contact contacts[64];
    abut_patches patches = {.size = sizeof patches,
                            .patches.list = list,
                            .patches.capacity = 8,
                            .contacts.list = contacts,
                            .contacts.capacity = 64};
    abut_patch_options margin = abut_patch_options_default();
    margin.margin = 0.2;
    status = status ? status : abut_map_contacts(map, &margin, &patches);
    abut_map_destroy(map);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(other);
    return status;
}

TEST(no_memory_leaves_nothing_behind) {
    assert_true(test_every_allocation(make_and_ask, NULL) > 20);
}

TEST_THREADS(answers_do_not_depend_on_threads) {
    abut_map_texel *first = NULL;
    abut_map_measures one = abut_map_measures_default(), many = abut_map_measures_default();
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, threads);
        AUTO(mesh)
        e = made(context, ABUT_SHAPE_LETTER_E, 5, 0), *g = made(context, ABUT_SHAPE_LETTER_G, 5, 0);
        AUTO(bvh) bvh = hierarchy_of(g, true);
        AUTO(map) map = map_of(e, 160);
        find_one(map, bvh, 0);
        abut_map_texel *texels = texels_of(map);
        many = abut_map_measures_default();
        assert_ok(abut_map_measure(map, NULL, NULL, &many));
        if (first) {
            assert_memory_equal(first, texels, 160 * 160 * sizeof *texels);
            assert_true(one.mean == many.mean && one.rms == many.rms);
            free(first);
        }
        one = many;
        first = texels;
        abut_context_destroy(context);
    }
    free(first);
}
