/* Elementary sweeps: cases with known results, the public functions, exact arithmetic. */
#include "support/support.h"

#include "base/simd.h"
#include "geom/sweep.h"
#include "sweep_referee.h"

#include <math.h>

static const sweep_limits usual = {0, 1e-8, 1, 100000};

/* Moves the first feature along `motion`. */
static int sweep_by(int kind, const vec3 *start, vec3 motion, const sweep_limits *limits,
                    sweep_answer *answer) {
    vec3 end[4];
    for (int k = 0; k < 4; k++)
        end[k] = k < kind ? v3_add(start[k], motion) : start[k];
    return sweep_pair(kind, start, end, limits, answer);
}

TEST(vertex_falls_on_face) {
    const vec3 start[4] = {{0.25, 0.25, 1}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    sweep_answer answer;
    assert_true(sweep_by(SWEEP_VERTEX_FACE, start, v3(0, 0, -2), &usual, &answer));
    assert_true(answer.time <= 0.5 && answer.time >= 0.5 - 1e-8);
    assert_true(answer.normal.z == 1);
    assert_true(fabs(answer.weights[0] - 0.5) < 1e-9 && fabs(answer.weights[1] - 0.25) < 1e-9);
    assert_false(sweep_by(SWEEP_VERTEX_FACE, start, v3(0, 0, -0.999), &usual, &answer));
    assert_true(answer.time == 2);
    /* beside the face */
    assert_false(sweep_by(SWEEP_VERTEX_FACE, start, v3(2, 2, -2), &usual, &answer));
    /* the separation counts */
    sweep_limits apart = usual;
    apart.separation = 0.1;
    assert_true(sweep_by(SWEEP_VERTEX_FACE, start, v3(0, 0, -2), &apart, &answer));
    assert_true(answer.time <= 0.45 && answer.time >= 0.45 - 1e-8);
    /* what comes later than the latest may be left out, what does not may not */
    apart.latest = 0.4;
    assert_false(sweep_by(SWEEP_VERTEX_FACE, start, v3(0, 0, -2), &apart, &answer));
    apart.latest = 0.45;
    assert_true(sweep_by(SWEEP_VERTEX_FACE, start, v3(0, 0, -2), &apart, &answer));
}

TEST(edges_cross) {
    const vec3 start[4] = {{-1, 0, 1}, {1, 0, 1}, {0, -1, 0}, {0, 1, 0}};
    sweep_answer answer;
    assert_true(sweep_by(SWEEP_EDGE_EDGE, start, v3(0, 0, -4), &usual, &answer));
    assert_true(answer.time <= 0.25 && answer.time >= 0.25 - 1e-8);
    assert_true(answer.normal.z == 1);
    assert_true(fabs(answer.weights[0] - 0.5) < 1e-9 && fabs(answer.weights[1] - 0.5) < 1e-9);
    assert_false(sweep_by(SWEEP_EDGE_EDGE, start, v3(8, 0, -4), &usual, &answer));
    /* parallel, side by side and in line */
    const vec3 parallel[4] = {{0, 0, 1}, {1, 0, 1}, {0.5, 0, 0}, {1.5, 0, 0}};
    assert_true(sweep_by(SWEEP_EDGE_EDGE, parallel, v3(0, 0, -2), &usual, &answer));
    assert_true(answer.time <= 0.5 && answer.time >= 0.5 - 1e-8);
    assert_false(sweep_by(SWEEP_EDGE_EDGE, parallel, v3(0, 0.1, 0), &usual, &answer));
    const vec3 in_line[4] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}};
    assert_true(sweep_by(SWEEP_EDGE_EDGE, in_line, v3(2, 0, 0), &usual, &answer));
    assert_true(answer.time <= 0.5 && answer.time >= 0.5 - 1e-8);
    assert_false(sweep_by(SWEEP_EDGE_EDGE, in_line, v3(0.9, 0, 0), &usual, &answer));
}

/* Points, degenerate triangles, features that do not move, motions of infinite length. */
TEST(degenerate) {
    for (int kind = 1; kind <= 2; kind++) {
        sweep_answer answer;
        vec3 start[4], end[4];
        const vec3 origin = {0, 0, 0}, none = {0, 0, 0};
        for (int k = 0; k < 4; k++)
            start[k] = origin;
        assert_true(sweep_by(kind, start, none, &usual, &answer)); /* all in one place */
        assert_true(answer.time == 0);
        for (int k = 0; k < kind; k++)
            start[k] = v3(1, 0, 0);
        assert_false(sweep_by(kind, start, none, &usual, &answer)); /* two points */
        assert_true(sweep_by(kind, start, v3(-1, 0, 0), &usual, &answer));
        assert_true(answer.time <= 1 && answer.time >= 1 - 1e-7);
        static const double scales[] = {1e-310, 1e-200, 1e-20, 1e20, 1e200, 8e307};
        for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
            double s = scales[i];
            sweep_limits limits = usual;
            limits.tolerance = s * 1e-8;
            const vec3 ends[2][4] = {{{s, 0, 0}, {-s, -s, -s}, {-s, s, -s}, {-s, 0, s}},
                                     {{s, 0, -s}, {s, 0, s}, {-s, -s, 0}, {-s, s, 0}}};
            for (int k = 0; k < 4; k++) {
                start[k] = ends[kind - 1][k];
                end[k] = k < kind ? v3(-start[k].x, start[k].y, start[k].z) : start[k];
            }
            assert_true(sweep_pair(kind, start, end, &limits, &answer));
            assert_true(answer.time <= 1 && answer.time >= 1 - 1e-7);
            for (int k = 0; k < kind; k++)
                end[k].x = -s / 2;
            assert_false(sweep_pair(kind, start, end, &limits, &answer));
        }
        /* one step is a hit at the earliest open time */
        sweep_limits one = usual;
        one.steps = 1;
        for (int k = 0; k < kind; k++)
            end[k].x = -start[k].x;
        assert_true(sweep_pair(kind, start, end, &one, &answer));
        assert_true(answer.time == 0);
    }
}

/* What the filter leaves out is free, and the same with any number of lanes. */
TEST(filter) {
    enum { POINTS = 64, PAIRS = 5000 };
    test_random random = {7};
    vec3 start[POINTS], end[POINTS];
    static uint32_t four[4 * PAIRS], survivors[PAIRS];
    for (int i = 0; i < POINTS; i++) {
        start[i] = v3(test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                      test_random_real(&random, -1, 1));
        end[i] = v3_along(start[i], 0.3, start[test_random_below(&random, (uint32_t)i + 1)]);
    }
    for (int i = 0; i < 4 * PAIRS; i++)
        four[i] = test_random_below(&random, POINTS);
    for (int kind = 1; kind <= 2; kind++) {
        size_t left = abuti_sweep_filter(kind, start, end, four, PAIRS, &usual, survivors), at = 0;
        static uint32_t again[PAIRS];
        for (int lanes = 4; lanes <= 16; lanes *= 2) {
            abuti_simd_limit_lanes(lanes);
            assert_int_equal(left,
                             abuti_sweep_filter(kind, start, end, four, PAIRS, &usual, again));
            assert_memory_equal(survivors, again, left * sizeof *again);
        }
        size_t hits = 0;
        for (uint32_t i = 0; i < PAIRS; i++) {
            vec3 from[4], to[4];
            sweep_answer answer;
            for (int k = 0; k < 4; k++) {
                from[k] = start[four[4 * i + (uint32_t)k]];
                to[k] = end[four[4 * i + (uint32_t)k]];
            }
            bool survives = at < left && survivors[at] == i;
            at += survives;
            int hit = sweep_pair(kind, from, to, &usual, &answer);
            hits += (size_t)hit;
            assert_true(survives || !hit);
        }
        assert_int_equal(left, at);
        assert_true(hits > 100 && left < 2 * hits + PAIRS / 10);
    }
}

/* Bodies that slide past each other: coordinates are equal, or off by far less than the rounding
 * of the rest. What touches is a hit, and most of what does not is free all the same; also where
 * differences overflow. */
TEST(sliding) {
    static const double offsets[] = {0, 0, 0x1p-57, -0x1p-57, 0x1p-60, -0x1p-60, 0x1p-90};
    test_random random = {11};
    uint32_t touching = 0, alarms = 0, apart = 0;
    for (uint32_t i = 0, rounds = test_rounds(20000); i < rounds; i++) {
        int kind = 1 + (int)(i & 1);
        double scale = i % 5 ? 1 : 0x1p1022, down = test_random_real(&random, 0, 2);
        vec3 start[4], end[4];
        sweep_answer answer;
        for (int k = 0; k < 4; k++) {
            double at[2][3];
            for (int axis = 0; axis < 3; axis++) {
                at[0][axis] = test_random_below(&random, 2);
                for (int m = 1; m >= 0; m--)
                    at[m][axis] = at[0][axis] + offsets[test_random_below(&random, 7)];
            }
            at[0][1] += k < kind ? 1 : 0;
            at[1][1] += k < kind ? 1 - down : 0;
            start[k] = v3_scale(v3(at[0][0], at[0][1], at[0][2]), scale);
            end[k] = v3_scale(v3(at[1][0], at[1][1], at[1][2]), scale);
        }
        sweep_limits limits = {0, 1e-10 * scale, 1, 1000};
        bool hit = sweep_pair(kind, start, end, &limits, &answer);
        bool touches = referee_touches(kind, start, end, 1);
        assert_true(hit || !touches);
        assert_true(hit == (answer.time <= 1));
        touching += touches;
        alarms += hit && !touches;
        apart += !hit;
    }
    print_message("  %u touch, %u are free, %u false alarms\n", touching, apart, alarms);
    assert_true(touching > test_rounds(1000) && apart > test_rounds(1000));
    assert_true(10 * alarms < touching + apart);
}

/* ---- the public functions ---- */

TEST(known_sweeps) {
    const abut_vec3 start[4] = {{0.25, 0.25, 1}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    const abut_vec3 end[4] = {{0.25, 0.25, -1}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    abut_sweep_result sweep;
    assert_ok(abut_sweep_vertex_face(start, end, NULL, &sweep));
    assert_true(sweep.hit && sweep.time <= 0.5 && sweep.time > 0.5 - 1e-9);
    assert_true(sweep.normal.z == 1 && fabs(sweep.point.z) < 1e-9 && sweep.point.x == 0.25);
    assert_true(sweep.steps > 0);
    assert_ok(abut_sweep_vertex_face(start, start, NULL, &sweep));
    assert_true(!sweep.hit && sweep.time == 1 && sweep.normal.z == 0);
    const abut_vec3 over[4] = {{-1, 0, 1}, {1, 0, 1}, {0, -1, 0}, {0, 1, 0}};
    const abut_vec3 under[4] = {{-1, 0, -1}, {1, 0, -1}, {0, -1, 0}, {0, 1, 0}};
    abut_sweep_find_options options = abut_sweep_find_options_default();
    options.separation = 0.5;
    assert_ok(abut_sweep_edge_edge(over, under, &options, &sweep));
    assert_true(sweep.hit && sweep.time <= 0.25 && sweep.time > 0.25 - 1e-9);
    assert_true(fabs(sweep.point.z - 0.25) < 1e-9 && sweep.weights[0] == 0.5);
    /* 2^-60 beside an edge of the face along an axis: within any tolerance, but no touch */
    abut_vec3 beside[4] = {{0.5, -0x1p-60, 1}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    abut_vec3 below[4] = {{0.5, -0x1p-60, -1}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    assert_ok(abut_sweep_vertex_face(beside, below, NULL, &sweep));
    assert_true(!sweep.hit && sweep.time == 1 && sweep.weights[0] == 0);
    options = abut_sweep_find_options_default();
    options.tolerance = 0.1;
    assert_ok(abut_sweep_vertex_face(beside, below, &options, &sweep));
    assert_false(sweep.hit);
    options.separation = 1e-300; /* below the resolution of doubles */
    assert_ok(abut_sweep_vertex_face(beside, below, &options, &sweep));
    assert_true(sweep.hit);
    /* the last bit beside the edge that is not: only exactly */
    beside[0] = v3(0.5 + 0x1p-53, 0.5, 1);
    below[0] = v3(0.5 + 0x1p-53, 0.5, -1);
    assert_ok(abut_sweep_vertex_face(beside, below, NULL, &sweep));
    assert_true(sweep.hit);
    options = abut_sweep_find_options_default();
    options.exact = true;
    assert_ok(abut_sweep_vertex_face(beside, below, &options, &sweep));
    assert_false(sweep.hit);
    beside[0] = v3(0.5, 0, 1);
    below[0] = v3(0.5, 0, -1);
    assert_ok(abut_sweep_vertex_face(beside, below, &options, &sweep));
    assert_true(sweep.hit);
    /* the least and the largest of numbers together */
    beside[0] = v3(0.5, -0x1p-1074, 0x1p1000);
    below[0] = v3(0.5, -0x1p-1074, -0x1p1000);
    assert_ok(abut_sweep_vertex_face(beside, below, &options, &sweep));
    assert_false(sweep.hit);
    beside[0].y = below[0].y = 0x1p-1074;
    assert_ok(abut_sweep_vertex_face(beside, below, &options, &sweep));
    assert_true(sweep.hit);
}

TEST(refusals) {
    abut_vec3 start[4] = {{0, 0, 1}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, end[4];
    memcpy(end, start, sizeof end);
    abut_sweep_result sweep, before;
    memset(&sweep, 7, sizeof sweep);
    before = sweep;
    abut_sweep_find_options options = abut_sweep_find_options_default();
    assert_refused("start is null", abut_sweep_vertex_face(NULL, end, NULL, &sweep));
    assert_refused("end is null", abut_sweep_edge_edge(start, NULL, NULL, &sweep));
    assert_refused("result is null", abut_sweep_edge_edge(start, end, NULL, NULL));
    static const double bad[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        options.separation = bad[i];
        assert_refused("separation", abut_sweep_vertex_face(start, end, &options, &sweep));
        options.separation = 0;
        options.tolerance = bad[i];
        assert_refused("tolerance", abut_sweep_edge_edge(start, end, &options, &sweep));
        options.tolerance = 0;
        end[2].y = i ? bad[i] : -INFINITY;
        assert_refused("end[2]", abut_sweep_vertex_face(start, end, &options, &sweep));
        end[2].y = 0;
    }
    options.exact = true;
    options.separation = 0.1;
    assert_refused("exact", abut_sweep_vertex_face(start, end, &options, &sweep));
    options.size = 1000000;
    assert_refused("abut_sweep_vertex_face", abut_sweep_vertex_face(start, end, &options, &sweep));
    assert_memory_equal(&before, &sweep, sizeof sweep);
}

/* ---- exact arithmetic on numbers of all sizes ---- */

static double any_size(test_random *random) {
    static const double sizes[] = {0, 1, 0x1p-60, 0x1p-200, 0x1p40, 0x1p200, 1};
    double x = (double)test_random_below(random, 9) - 4;
    return x * sizes[test_random_below(random, 7)];
}

TEST(hostile_sizes) {
    test_random random = {5};
    int found[2] = {0, 0};
    const int least = (int)test_rounds(16); /* of each answer */
    for (uint32_t i = 0, rounds = test_rounds(160);
         i < rounds || (i < 10 * rounds && (found[0] <= least || found[1] <= least)); i++) {
        vec3 start[4], end[4];
        int kind = 1 + (int)(i & 1);
        for (int k = 0; k < 4; k++) {
            start[k] = v3(any_size(&random), any_size(&random), any_size(&random));
            end[k] = v3(any_size(&random), any_size(&random), any_size(&random));
        }
        bool touches;
        assert_ok(abuti_sweep_exact(abuti_context_of(NULL), kind, start, end, &touches));
        assert_int_equal(touches, referee_touches(kind, start, end, 1));
        found[touches]++;
        sweep_limits limits = {0, DBL_MIN, 1, 1000};
        sweep_answer answer;
        assert_true(sweep_pair(kind, start, end, &limits, &answer) || !touches);
    }
    assert_true(found[0] > least && found[1] > least);
}

/* A vertex touches the corner of a face immediately, on the way to an end where differences
 * overflow. */
TEST(ends_too_far_apart) {
    const double far = 1.7e308;
    const vec3 start[4] = {{1, 1, 0}, {0, 0, 0}, {-1, -1, 1}, {-1, -1, -1}};
    for (int axis = 0; axis < 3; axis++)
        for (int side = -1; side < 2; side += 2) {
            vec3 from[4], to[4];
            abut_sweep_result sweep;
            for (int k = 0; k < 4; k++) {
                const double end = k ? far : -far, s[3] = {start[k].x, start[k].y, start[k].z};
                const double e[3] = {end, end, s[2]};
                from[k] = v3(side * s[axis], side * s[(axis + 1) % 3], side * s[(axis + 2) % 3]);
                to[k] = v3(side * e[axis], side * e[(axis + 1) % 3], side * e[(axis + 2) % 3]);
            }
            assert_ok(abut_sweep_vertex_face(from, to, NULL, &sweep));
            assert_true(sweep.hit);
        }
}

static abut_status exact_work(abut_context *context, void *data) {
    (void)data;
    /* they touch just at the end, or just not, which doubles cannot decide */
    const vec3 start[4] = {{-1, 0, 1}, {1, 0, 1}, {0, -1, 0}, {0, 1, 0}};
    const vec3 end[4] = {{-1, 0x1p-300, 0}, {1, 0, 0x1p-200}, {0, -1, 0}, {0x1p-400, 1, 0}};
    bool touches;
    return abuti_sweep_exact(context, 2, start, end, &touches);
}
TEST(out_of_memory) {
    assert_true(test_every_allocation(exact_work, NULL) >= 1);
}
