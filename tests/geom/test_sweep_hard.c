/* Elementary sweeps against the exact referee, on a million hard pairs: nothing missed; of samples,
 * no time late, no hit away from the tolerance, and exact arithmetic right. */
#include "sweep_samples.h"

#include "geom/sweep.h"
#include "rational.h"
#include "sweep_referee.h"

#include "sweep_naive.h"

#include <math.h>
#include <stdlib.h>

static rational3 exact_at(vec3 start, vec3 end, double time) {
    rational3 a = point_of(start.x, start.y, start.z), b = point_of(end.x, end.y, end.z);
    return point_plus(a, point_times(point_minus(b, a), number_of(time)));
}
/* The distance at a time, exact except for the last rounding. */
static double distance_at(int kind, const sweep_query *q, double time) {
    rational3 p[4];
    for (int k = 0; k < 4; k++)
        p[k] = exact_at(q->start[k], q->end[k], time);
    number sq =
        kind == 1 ? point_triangle_sq(p[0], p + 1) : segment_segment_sq(p[0], p[1], p[2], p[3]);
    return root_of(sq);
}

static void print_query(const sweep_query *q) {
    for (int k = 0; k < 4; k++)
        print_message("  {%a, %a, %a} to {%a, %a, %a}\n", q->start[k].x, q->start[k].y,
                      q->start[k].z, q->end[k].x, q->end[k].y, q->end[k].z);
}

typedef struct totals {
    uint32_t hits, filtered, measured, touching, cubic_missed, newton_missed;
    double steps, furthest;
} totals;

/* Samples are one in a prime number, so that all families and tolerances have their turn. */
static void check_query(int kind, const sweep_query *q, uint32_t i, bool survives, totals *sum) {
    static const double tolerances[] = {1e-8, 1e-12, 1e-3};
    double size = sweep_size(q);
    sweep_limits limits = {0, fmax(size, 1e-300) * tolerances[i % 3], 1, 1000000};
    sweep_answer answer, again;
    int hit = sweep_pair(kind, q->start, q->end, &limits, &answer);
    sum->steps += answer.steps;
    sum->hits += (uint32_t)hit;
    sum->filtered += !survives;
    double safe = hit ? answer.time : 1; /* what is said to be free up to here must be */
    if ((!hit || i % 7 == 0) && referee_touches(kind, q->start, q->end, safe)) {
        print_query(q);
        fail_msg("kind %d, case %u: touches before %a", kind, i, safe);
    }
    if (!survives && hit && referee_touches(kind, q->start, q->end, 1)) {
        print_query(q);
        fail_msg("kind %d, case %u: filtered, but touches", kind, i);
    }
    if (hit && i % 61 == 0) {
        double distance = distance_at(kind, q, answer.time) / limits.tolerance;
        sum->measured++;
        sum->furthest = fmax(sum->furthest, distance);
        if (distance > 1.01) {
            print_query(q);
            fail_msg("kind %d, case %u: a hit at %a, %g tolerances away", kind, i, answer.time,
                     distance);
        }
    }
    if (i % 31 == 0) {
        bool touches;
        assert_ok(abuti_sweep_exact(abuti_context_of(NULL), kind, q->start, q->end, &touches));
        if (touches != referee_touches(kind, q->start, q->end, 1)) {
            print_query(q);
            fail_msg("kind %d, case %u: exact arithmetic says %d", kind, i, (int)touches);
        }
        sum->touching += touches;
        sum->cubic_missed += touches && !naive_sweep_cubic(kind, q->start, q->end);
        sum->newton_missed += touches && !naive_sweep_newton(kind, q->start, q->end);
    }
    if (i % 11 == 0) {
        limits.latest = (double)(i / 11 % 5) / 4;
        int hit_again = sweep_pair(kind, q->start, q->end, &limits, &again);
        assert_true(!hit_again || (hit && again.time == answer.time));
        assert_true(hit_again || !hit || answer.time > limits.latest);
    }
}

static void hard(int kind) {
    enum { BATCH = 500 };
    static sweep_query q[BATCH];
    static vec3 start[4 * BATCH], end[4 * BATCH];
    static uint32_t four[4 * BATCH], survivors[BATCH];
    test_random random = {(uint64_t)kind};
    totals sum = {0};
    uint32_t batches = test_rounds(1000);
    for (uint32_t i = 0; i < 4 * BATCH; i++)
        four[i] = i;
    for (uint32_t b = 0; b < batches; b++) {
        for (uint32_t i = 0; i < BATCH; i++) {
            sample_sweep(&random, kind, i, &q[i]);
            for (int k = 0; k < 4; k++) {
                start[4 * i + (uint32_t)k] = q[i].start[k];
                end[4 * i + (uint32_t)k] = q[i].end[k];
            }
        }
        const sweep_limits limits = {0, 1e-300, 1, 0};
        size_t left = abuti_sweep_filter(kind, start, end, four, BATCH, &limits, survivors), at = 0;
        for (uint32_t i = 0; i < BATCH; i++) {
            bool survives = at < left && survivors[at] == i;
            at += survives;
            check_query(kind, &q[i], b * BATCH + i, survives, &sum);
        }
        assert_int_equal(left, at);
    }
    print_message("  %u pairs: %u hits, %.1f steps, %u filtered; %u hits at most %.3f tolerances "
                  "away\n",
                  batches * BATCH, sum.hits, sum.steps / (batches * BATCH), sum.filtered,
                  sum.measured, sum.furthest);
    print_message("  of one in 31, %u touch; a cubic solver misses %u, interval Newton %u\n",
                  sum.touching, sum.cubic_missed, sum.newton_missed);
    assert_true(sum.cubic_missed > 0 && sum.newton_missed > 0);
    assert_true(sum.hits > batches * BATCH / 8 && sum.hits < batches * BATCH * 7 / 8);
}

TEST(vertex_face) {
    hard(1);
}
TEST(edge_edge) {
    hard(2);
}

/* With a separation there is no referee for all times, only for some of them. */
TEST(separations) {
    test_random random = {9};
    uint32_t hits = 0, rounds = test_rounds(1600);
    for (uint32_t i = 0; i < rounds; i++) {
        int kind = 1 + (int)(i & 1);
        sweep_query q;
        sample_sweep(&random, kind, i / 2, &q);
        double size = sweep_size(&q) + 1e-300;
        sweep_limits limits = {size * ldexp(1, -(int)test_random_below(&random, 20)), size * 1e-9,
                               1, 1000000};
        sweep_answer answer;
        uint32_t four[4] = {0, 1, 2, 3}, survivor;
        int hit = sweep_pair(kind, q.start, q.end, &limits, &answer);
        double safe = hit ? answer.time : 1;
        hits += (uint32_t)hit;
        for (int k = 0; k < 6; k++) {
            double time = k == 0 ? 0 : k == 1 ? safe : safe * test_random_real(&random, 0, 1);
            double distance = distance_at(kind, &q, time) - limits.separation;
            /* the distance is rounded, so that it may seem a little less */
            if ((!hit || time < safe) && distance < -1e-14 * size) {
                print_query(&q);
                fail_msg("case %u: %g within the separation at %a", i, distance, time);
            }
            if (hit && k == 1 && distance > 1.01 * limits.tolerance) {
                print_query(&q);
                fail_msg("case %u: a hit at %a, %g outside", i, time, distance);
            }
        }
        if (!abuti_sweep_filter(kind, q.start, q.end, four, 1, &limits, &survivor))
            assert_false(hit);
    }
    print_message("  %u hits of %u\n", hits, rounds);
    assert_true(hits > rounds / 8 && hits < rounds * 7 / 8);
}
