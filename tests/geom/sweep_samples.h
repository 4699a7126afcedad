/* Hard sweeps: pairs that touch exactly, nearly, all the time, at the ends of the step, on borders
 * of features, with features that are degenerate. */
#ifndef ABUT_TEST_SWEEP_SAMPLES_H
#define ABUT_TEST_SWEEP_SAMPLES_H

#include "support/support.h"

#include "base/math_shared.h"

enum { SWEEP_FAMILIES = 10 };

typedef struct sweep_query {
    vec3 start[4], end[4];
} sweep_query;

static inline vec3 random_point(test_random *random) {
    return v3(test_random_real(random, -1, 1), test_random_real(random, -1, 1),
              test_random_real(random, -1, 1));
}
/* Whole coordinates from -most to most. */
static inline vec3 random_cell(test_random *random, uint32_t most) {
    double p[3];
    for (int k = 0; k < 3; k++)
        p[k] = (double)test_random_below(random, 2 * most + 1) - (double)most;
    return v3(p[0], p[1], p[2]);
}
/* 0, 1, halfway, or anything between. */
static inline double random_part(test_random *random) {
    switch (test_random_below(random, 5)) {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return 0.5;
    default:
        return test_random_real(random, 0, 1);
    }
}
static inline double random_offset(test_random *random) {
    static const double offsets[] = {0, 0, 1e-17, 1e-16, 1e-15, 1e-12, -1e-12, 1e-8, -1e-9, 1e-5};
    return offsets[test_random_below(random, 10)];
}

/* Three vertices move at random; the last except for an offset so that it touches at some time, and
 * along the other feature in half of the cases. */
static inline void random_contact(test_random *random, int kind, sweep_query *q, int whole) {
    double time = random_part(random), s = random_part(random), r = random_part(random);
    vec3 at[4], speed[4];
    for (int k = 0; k < 4; k++) {
        at[k] = whole ? random_cell(random, 8) : random_point(random);
        speed[k] = whole ? random_cell(random, 8) : random_point(random);
    }
    vec3 u, w, contact;
    if (kind == 1) {
        u = v3_sub(at[2], at[1]);
        w = v3_sub(at[3], at[1]);
        if (s + r > 1)
            r = 1 - s;
        contact = v3_along(v3_along(at[1], s, u), r, w);
    } else {
        w = v3_sub(at[3], at[2]);
        contact = v3_along(at[2], s, w);
        u = v3_sub(contact, at[1]);
        contact = r > 0.1 ? v3_along(at[1], 1 / r, u) : contact;
    }
    vec3 normal = v3_normalise(v3_cross(u, w));
    at[0] = v3_along(contact, random_offset(random), normal);
    if (test_random_below(random, 2)) { /* slides */
        for (int k = 1; k < 4; k++)
            speed[k] = speed[1];
        speed[0] = v3_along(v3_along(speed[1], test_random_real(random, -1, 1), u),
                            test_random_real(random, -1, 1), w);
    }
    for (int k = 0; k < 4; k++) {
        q->start[k] = v3_along(at[k], -time, speed[k]);
        q->end[k] = v3_along(at[k], 1 - time, speed[k]);
    }
}

static inline void sample_sweep(test_random *random, int kind, uint32_t family, sweep_query *q) {
    uint32_t most = 1 + test_random_below(random, 4), odd = test_random_below(random, 4);
    for (int k = 0; k < 4; k++) { /* a coarse grid: all degenerate cases come up */
        q->start[k] = random_cell(random, most);
        q->end[k] = random_cell(random, most);
    }
    switch (family % SWEEP_FAMILIES) {
    case 0:
        for (int k = 0; k < 4; k++) {
            q->start[k] = random_point(random);
            q->end[k] = random_point(random);
        }
        break;
    case 1:
        break;
    case 2: /* nearly degenerate */
        q->start[odd].x += random_offset(random);
        q->end[odd].y += random_offset(random);
        break;
    case 3:
    case 4:
        random_contact(random, kind, q, family & 1);
        break;
    case 5: /* in one plane, z = x + y, for all times */
        for (int k = 0; k < 4; k++) {
            q->start[k].z = q->start[k].x + q->start[k].y;
            q->end[k].z = q->end[k].x + q->end[k].y;
        }
        if (test_random_below(random, 2))
            q->end[odd].z += random_offset(random);
        break;
    case 6: /* on one line, nearly */
        for (int k = 0; k < 4; k++) {
            q->start[k] = v3(q->start[k].x, 2 * q->start[k].x, 0);
            q->end[k] = v3(q->end[k].x, 2 * q->end[k].x, 0);
        }
        q->end[odd].z += random_offset(random);
        break;
    case 7: /* parallel edges, or a thin face */
        q->start[3] = v3_add(q->start[2], v3_sub(q->start[1], q->start[0]));
        q->end[3] = v3_add(q->end[2], v3_sub(q->end[1], q->end[0]));
        q->end[3].x += random_offset(random);
        break;
    case 8: /* nothing moves, or all by the same */
        for (int k = 0; k < 4; k++)
            q->end[k] = v3_add(q->start[k], v3(odd, 0, -0.25 * odd));
        q->start[odd].y += random_offset(random);
        break;
    case 9: /* two vertices at one place, at the start or always */
        q->start[odd] = q->start[(odd + 1) & 3];
        if (most & 1)
            q->end[odd] = q->end[(odd + 1) & 3];
        q->end[0].z += random_offset(random);
        break;
    }
    if (test_random_below(random, 4) == 0) { /* of any size, anywhere */
        double scale = ldexp(1, (int)test_random_below(random, 120) - 60);
        vec3 far = test_random_below(random, 2) ? v3(1024, -512, 4096) : v3(0, 0, 0);
        for (int k = 0; k < 4; k++) {
            q->start[k] = v3_scale(v3_add(q->start[k], far), scale);
            q->end[k] = v3_scale(v3_add(q->end[k], far), scale);
        }
    }
}

static inline double sweep_size(const sweep_query *q) {
    double most = 0;
    for (int k = 0; k < 4; k++)
        most = fmax(most, fmax(v3_max_abs(v3_sub(q->start[k], q->start[3])),
                               v3_max_abs(v3_sub(q->end[k], q->end[3]))));
    return most;
}

#endif
