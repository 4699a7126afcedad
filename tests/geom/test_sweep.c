/* Elementary sweeps: cases with known answers. */
#include "support/support.h"

#include "geom/sweep.h"

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

static void vertex_falls_on_face(void **state) {
    (void)state;
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

static void edges_cross(void **state) {
    (void)state;
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

/* Points, needles, things that do not move, motions without measure. */
static void degenerate(void **state) {
    (void)state;
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

/* What the filter leaves out is free. */
static void filter(void **state) {
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vertex_falls_on_face),
        cmocka_unit_test(edges_cross),
        cmocka_unit_test(degenerate),
        cmocka_unit_test(filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
