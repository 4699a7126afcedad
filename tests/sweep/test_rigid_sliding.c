/* Bodies that rest on each other at gaps down to 1e-12 and slide, spin or roll: nothing is found
 * that is not there, and nothing is missed. Referees: known heights, sampled times with the exact
 * test of overlap, and the sweep of vertices along straight lines. */
#include "base/base.h"
#include "geom/pose.h"
#include "support/pose.h"
#include "sweep/rigid_direction.h"

#include <math.h>

static abut_bvh *tree_of(abut_shape_kind kind, double x, double y, double z, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    AUTO(mesh) mesh;
    abut_bvh *bvh;
    if (kind == ABUT_SHAPE_BOX)
        shape.extent = v3(x, y, z);
    shape.radius = x;
    shape.segments = segments ? segments : shape.segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    return bvh;
}

/* ---- directions ---- */

/* The direction of an interval at a time, which rotates with its base. */
static vec3 direction_at(const abuti_path *base, vec3 n, double middle, double time) {
    const mat3 from = quat_matrix(abuti_path_pose(base, middle).rotation),
               to = quat_matrix(abuti_path_pose(base, time).rotation);
    const mat3 back = m3_transpose(&from);
    return m3_apply(&to, m3_apply(&back, n));
}

/* Heights of a vertex are never below the bound, which is tight to the third order. */
TEST(parabolas_bound_heights) {
    test_random random = {3};
    double worst = 0;
    for (uint32_t round = 0; round < test_rounds(4000); round++) {
        abuti_path path[2];
        double turn = pow(10, test_random_real(&random, -3, 0.4));
        for (int k = 0; k < 2; k++) {
            abuti_step step = {random_pose(&random, 1), random_pose(&random, 1)};
            path[k] = abuti_path_of(&step);
            path[k].angle = test_random_below(&random, 3) ? turn * path[k].angle / 3.2 : 0;
        }
        const double middle = test_random_real(&random, 0.1, 0.9), half = 0.1;
        const vec3 p = random_pose(&random, 1).translation;
        vec3 n = random_pose(&random, 1).translation;
        const int base = test_random_below(&random, 2) != 0;
        if (test_random_below(&random, 4) == 0) /* about itself */
            n = path[0].axis = path[1].axis;
        sweep_interval i = {.half = half,
                            .way = v3_sub(path[0].shift, path[1].shift),
                            .axis = {path[0].axis, path[1].axis},
                            .angle = {path[0].angle, path[1].angle}};
        i.speed = v3_length(i.way);
        i.apart = v3_sub(abuti_path_pose(&path[0], middle).translation,
                         abuti_path_pose(&path[1], middle).translation);
        const abut_pose at = abuti_path_pose(&path[!base], middle);
        const mat3 rotation = quat_matrix(at.rotation);
        const vec3 local = m3_apply(&rotation, p); /* rotated, from the origin of its body */
        const sweep_direction d = sweep_direction_of(&i, base, n);
        const double bound =
            sweep_direction_gap(&i, &d, 1, base ? v3_add(local, i.apart) : local, 0);
        double least = INFINITY, spin = fmax(path[0].angle, path[1].angle);
        for (int k = -20; k <= 20; k++) {
            const double time = middle + half * k / 20;
            const abut_pose one = abuti_path_pose(&path[!base], time),
                            two = abuti_path_pose(&path[base], time);
            const abuti_motion motion = abuti_motion_of(&one);
            const vec3 y = v3_sub(abuti_motion_apply(&motion, p), two.translation);
            least = fmin(least, v3_dot(direction_at(&path[base], n, middle, time), y));
        }
        assert_true(least >= bound - 1e-13);
        /* Samples exceed the minimum by up to slope x distance of the samples. */
        const double third = spin * spin * spin * half * half * half;
        worst =
            fmax(worst, least - bound - 3 * (half / 20) * (half / 20) * (1 + spin) * (1 + spin) -
                            8 * third);
        if (!(spin > 0) || (n.x == path[0].axis.x && n.y == path[0].axis.y))
            assert_true(least <= bound + 1e-12); /* linear in time */
    }
    assert_true(worst < 0.01);
}

/* ---- resting bodies ---- */

typedef struct resting {
    abut_bvh *a, *b;
    double bottom, top; /* of a and of b */
} resting;

enum { PAIRS = 6 };

static void make_pairs(resting pairs[PAIRS]) {
    pairs[0].a = tree_of(ABUT_SHAPE_BOX, 1, 1, 1, 1);
    pairs[0].b = tree_of(ABUT_SHAPE_BOX, 8, 8, 1, 1);
    pairs[1].a = tree_of(ABUT_SHAPE_BOX, 1, 1, 1, 8);
    pairs[1].b = tree_of(ABUT_SHAPE_BOX, 1, 1, 1, 8);
    pairs[2].a = tree_of(ABUT_SHAPE_ICOSPHERE, 0.5, 0, 0, 6);
    pairs[2].b = tree_of(ABUT_SHAPE_BOX, 8, 8, 1, 12);
    pairs[3].a = tree_of(ABUT_SHAPE_TEAPOT_SOLID, 1, 0, 0, 0);
    pairs[3].b = tree_of(ABUT_SHAPE_BOX, 8, 8, 1, 1);
    pairs[4].a = tree_of(ABUT_SHAPE_LETTER_E, 1, 0, 0, 0);
    pairs[4].b = tree_of(ABUT_SHAPE_BOX, 1, 1, 1, 8);
    pairs[5].a = tree_of(ABUT_SHAPE_TORUS, 0.5, 0, 0, 16);
    pairs[5].b = tree_of(ABUT_SHAPE_LETTER_E, 1, 0, 0, 0);
    for (int i = 0; i < PAIRS; i++) {
        pairs[i].bottom = abut_mesh_bounds(abut_bvh_mesh(pairs[i].a)).lo.z;
        pairs[i].top = abut_mesh_bounds(abut_bvh_mesh(pairs[i].b)).hi.z;
    }
}

/* Tolerances are relative to it. */
static double smaller_size(const resting *pair) {
    double sizes[2];
    for (int k = 0; k < 2; k++) {
        const abut_box box = abut_mesh_bounds(abut_bvh_mesh(k ? pair->b : pair->a));
        sizes[k] = v3_max_abs(v3_sub(box.hi, box.lo));
    }
    return fmin(sizes[0], sizes[1]);
}

static void destroy_pairs(resting pairs[PAIRS]) {
    for (int i = 0; i < PAIRS; i++) {
        abut_bvh_destroy(pairs[i].a);
        abut_bvh_destroy(pairs[i].b);
    }
}

static abut_quat turn_about(double x, double y, double z, double angle) {
    abut_pose p;
    assert_ok(abut_pose_from_axis_angle(v3(x, y, z), angle, v3(0, 0, 0), &p));
    return p.rotation;
}

/* Also with gaps far below the tolerance of 1e-6. */
TEST(bodies_slide_and_spin_at_small_gaps) {
    static const test_motion_path still = {{{0, 0, 0, 1}, {0, 0, 0}}, {{0, 0, 0, 1}, {0, 0, 0}}};
    const double gaps[] = {1e-3, 1e-6, 1e-9, 1e-12};
    resting pairs[PAIRS];
    make_pairs(pairs);
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < 4; k++) {
            const double height = pairs[i].top - pairs[i].bottom + gaps[k];
            test_motion_path path = {{{0, 0, 0, 1}, v3(0.013, 0.007, height)},
                                     {{0, 0, 0, 1}, v3(0.5, 0.1, height)}};
            abut_sweep_rigid_result touch;
            assert_ok(test_sweep_rigid(pairs[i].a, &path, pairs[i].b, &still, NULL, &touch));
            assert_false(touch.hit);
            path.to.translation = v3(0.3, 0.1, height + 1e-6); /* and rises */
            assert_ok(test_sweep_rigid(pairs[i].a, &path, pairs[i].b, &still, NULL, &touch));
            assert_false(touch.hit);
            path.to.translation = v3(0.3, 0.1, height);
            path.to.rotation = turn_about(0, 0, 1, 1);
            if (gaps[k] < 1e-9)
                continue; /* 1e-12 is of the order of rounding errors of a rotation */
            assert_ok(test_sweep_rigid(pairs[i].a, &path, pairs[i].b, &still, NULL, &touch));
            assert_false(touch.hit);
            /* The floor spins and moves instead; and both together. */
            test_motion_path floor = {{{0, 0, 0, 1}, v3(0, 0, 0)},
                                      {turn_about(0, 0, 1, -0.7), v3(0.1, 0, 0)}};
            assert_ok(test_sweep_rigid(pairs[i].a, &path, pairs[i].b, &floor, NULL, &touch));
            assert_false(touch.hit);
        }
    destroy_pairs(pairs);
}

/* While they slide, spin or roll, they also sink: the time is known. */
TEST(bodies_that_sink_while_they_slide_are_stopped) {
    static const test_motion_path still = {{{0, 0, 0, 1}, {0, 0, 0}}, {{0, 0, 0, 1}, {0, 0, 0}}};
    const double angles[] = {1e-6, 1e-5, 1e-4, 1e-3};
    resting pairs[PAIRS];
    make_pairs(pairs);
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < 4; k++)
            for (int spins = 0; spins < 2; spins++) {
                const double sinks = 0.4 * angles[k], gap = 0.3 * sinks;
                const double height = pairs[i].top - pairs[i].bottom + gap;
                abut_sweep_rigid_options options = {.size = sizeof options, .tolerance = 1e-9};
                test_motion_path path = {{{0, 0, 0, 1}, v3(0.013, 0.007, height)},
                                         {{0, 0, 0, 1}, v3(0.38, 0.1, height - sinks)}};
                if (spins)
                    path.to.rotation = turn_about(0, 0, 1, 0.4);
                abut_sweep_rigid_result touch;
                assert_ok(
                    test_sweep_rigid(pairs[i].a, &path, pairs[i].b, &still, &options, &touch));
                if (i == 5)
                    assert_true(!touch.hit || touch.time >= 0.3 - 1e-8 / sinks);
                else
                    assert_true(touch.hit && touch.time <= 0.3 + 1e-12 / sinks &&
                                touch.time >= 0.3 - 1e-8 / sinks);
            }
    destroy_pairs(pairs);
}

/* A wheel of a prism that rolls: its lowest vertices follow cycloids. */
TEST(balls_roll_without_a_touch) {
    AUTO(bvh) ball = tree_of(ABUT_SHAPE_ICOSPHERE, 0.5, 0, 0, 6);
    AUTO(bvh) floor = tree_of(ABUT_SHAPE_BOX, 8, 8, 1, 6);
    static const test_motion_path still = {{{0, 0, 0, 1}, {0, 0, 0}}, {{0, 0, 0, 1}, {0, 0, 0}}};
    const double gaps[] = {1e-4, 1e-6, 1e-8};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 8; i++) {
            const double angle = 0.1 * (i + 1), about = 0.7 * i;
            const vec3 axis = v3(cos(about), sin(about), 0);
            /* No vertex is farther than 0.5 from the centre. */
            test_motion_path path = {{turn_about(1, 2, i, 0.3 * i), v3(0, 0, 1 + gaps[k])},
                                     {{0, 0, 0, 1}, v3(0, 0, 1 + gaps[k])}};
            path.to.translation =
                v3_along(path.to.translation, 0.5 * angle, v3(axis.y, -axis.x, 0));
            path.to.rotation =
                quat_multiply(turn_about(axis.x, axis.y, 0, angle), path.from.rotation);
            abut_sweep_rigid_result touch;
            assert_ok(test_sweep_rigid(ball, &path, floor, &still, NULL, &touch));
            assert_false(touch.hit);
        }
}

/* ---- other referees ---- */

/* Pure translations against the sweep of all vertices along straight lines, which is another
 * program: neither is late, and both are within the tolerance. */
TEST(translations_equal_straight_sweeps) {
    resting pairs[PAIRS];
    make_pairs(pairs);
    test_random random = {29};
    uint32_t hits = 0, misses = 0;
    for (uint32_t round = 0; round < test_rounds(60); round++) {
        const resting *pair = &pairs[round % PAIRS];
        const double gap = pow(10, test_random_real(&random, -8, -3)),
                     sinks = gap * test_random_real(&random, -1, 3);
        const double height = pair->top - pair->bottom + gap;
        test_motion_path path = {{{0, 0, 0, 1}, v3(0, 0, height)},
                                 {{0, 0, 0, 1},
                                  v3(test_random_real(&random, -1, 1),
                                     test_random_real(&random, -1, 1), height - sinks)}};
        path.from.translation.x = test_random_real(&random, -0.4, 0.4);
        path.from.translation.y = test_random_real(&random, -0.4, 0.4);
        const abut_mesh *meshes[2] = {abut_bvh_mesh(pair->a), abut_bvh_mesh(pair->b)};
        const size_t count =
            (size_t)abut_mesh_vertex_count(meshes[0]) + abut_mesh_vertex_count(meshes[1]);
        AUTO_FREE vec3 *start = calloc(count, sizeof *start), *end = calloc(count, sizeof *end);
        assert_ok(abut_mesh_get_positions(meshes[0], start));
        assert_ok(abut_mesh_get_positions(meshes[1], start + abut_mesh_vertex_count(meshes[0])));
        for (size_t v = 0; v < count; v++) {
            const bool moves = v < abut_mesh_vertex_count(meshes[0]);
            end[v] = moves ? v3_add(start[v], path.to.translation) : start[v];
            start[v] = moves ? v3_add(start[v], path.from.translation) : start[v];
        }
        abut_mesh *both[2] = {(abut_mesh *)meshes[0], (abut_mesh *)meshes[1]};
        abut_sweep_options options = abut_sweep_options_default();
        abut_sweep_find_options exact = abut_sweep_find_options_default();
        options.skip_self = exact.exact = true;
        AUTO(sweep) motion;
        abut_impact impact;
        abut_impact_list found = {&impact, 1, 0};
        assert_ok(abut_sweep_create(both, 2, &options, &motion));
        assert_ok(abut_sweep_set_positions(motion, abut_array_host(start), abut_array_host(end)));
        assert_ok(abut_sweep_find(motion, ABUT_SWEEP_EARLIEST, &exact, &found, NULL));
        static const test_motion_path still = {{{0, 0, 0, 1}, {0, 0, 0}},
                                               {{0, 0, 0, 1}, {0, 0, 0}}};
        abut_sweep_rigid_options rigid = {.size = sizeof rigid, .tolerance = 0.01 * gap};
        abut_sweep_rigid_result touch;
        assert_ok(test_sweep_rigid(pair->a, &path, pair->b, &still, &rigid, &touch));
        assert_true(found.count == 0 || touch.hit);
        if (found.count) /* straight sweeps have a tolerance of 1e-10 of the extent, too */
            assert_true(touch.time <= impact.time + 1e-9 + 1e-9 / fabs(sinks) &&
                        touch.time >= 0.9 * impact.time - 0.05);
        else
            assert_true(!touch.hit || sinks > 0.98 * gap);
        hits += found.count > 0;
        misses += !touch.hit;
    }
    assert_true(hits > 1 && misses > 1);
    destroy_pairs(pairs);
}

/* Bodies that almost rest, with small rotations about any axis: no overlap before the time. */
TEST(samples_of_resting_bodies_agree) {
    resting pairs[PAIRS];
    make_pairs(pairs);
    test_random random = {31};
    uint32_t hits = 0, misses = 0;
    for (uint32_t round = 0; round < test_rounds(180); round++) {
        const resting *pair = &pairs[round % PAIRS];
        const double gap = pow(10, test_random_real(&random, -9, -3)),
                     turn = pow(10, test_random_real(&random, -7, -1)),
                     height = pair->top - pair->bottom + gap;
        test_motion_path paths[2];
        for (int k = 0; k < 2; k++) {
            const vec3 axis = random_pose(&random, 1).translation;
            paths[k].from = (abut_pose){{0, 0, 0, 1}, v3(0, 0, k ? 0 : height)};
            paths[k].to.rotation = turn_about(axis.x, axis.y, axis.z, turn);
            paths[k].to.translation =
                v3(test_random_real(&random, -0.1, 0.1), test_random_real(&random, -0.1, 0.1),
                   paths[k].from.translation.z + test_random_real(&random, -1, 1) * (gap + turn));
        }
        if (test_random_below(&random, 2))
            paths[1].to = paths[1].from;
        abut_sweep_rigid_result touch;
        assert_ok(test_sweep_rigid(pair->a, &paths[0], pair->b, &paths[1], NULL, &touch));
        hits += touch.hit;
        misses += !touch.hit;
        for (int s = 0; s <= 60; s++) {
            const double t = touch.time * s / 60 * (touch.hit ? 1 - 1e-9 : 1);
            abut_collider a = abut_collider_from_bvh(pair->a, abut_pose_identity()),
                          b = abut_collider_from_bvh(pair->b, a.pose);
            abut_overlap overlap;
            assert_ok(abut_pose_interpolate(&paths[0].from, &paths[0].to, t, &a.pose));
            assert_ok(abut_pose_interpolate(&paths[1].from, &paths[1].to, t, &b.pose));
            assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
            assert_int_equal(overlap.relation, ABUT_PAIR_APART);
            if (s < 60 || !touch.hit)
                continue;
            bool within;
            assert_ok(
                abut_pair_within(&a, &b, 1.1e-6 * smaller_size(pair), NULL, NULL, &within, NULL));
            assert_true(within);
        }
    }
    print_message("  %u hits, %u misses\n", hits, misses);
    assert_true(hits > 5 && misses > 5);
    destroy_pairs(pairs);
}
