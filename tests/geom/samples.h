/* Points, triangles and pairs of them that make exact tests hard: coordinates on a small grid,
 * corners placed on the other's planes and edges and moved by one ulp, mixed exponents, and all
 * kinds of degeneracy. Every coordinate is a float, so the results must be exact. */
#ifndef ABUT_TEST_SAMPLES_H
#define ABUT_TEST_SAMPLES_H

#include "support/support.h"

#include "geom/types_shared.h"

/* The family of case i: every tenth has any exponents, which is what costs the referee most. */
static inline uint32_t sample_family(uint32_t i) {
    static const uint32_t order[10] = {0, 1, 3, 4, 5, 0, 1, 3, 5, 2};
    return order[i % 10];
}

static inline float sample_coordinate(test_random *random, uint32_t family) {
    float x = (float)test_random_real(random, -1, 1);
    switch (family) {
    case 0:
        return (float)test_random_below(random, 3);
    case 1:
        return (float)test_random_below(random, 6);
    case 2: /* any exponent, any sign, often zero */
        return test_random_below(random, 4) == 0
                   ? 0.0f
                   : ldexpf(x, (int)test_random_below(random, 240) - 120);
    case 3: /* few bits, exponents near by: many ties */
        x = (float)test_random_below(random, 4);
        return ldexpf(x, (int)test_random_below(random, 4));
    case 4: /* far from the origin */
        return 1000.0f + ldexpf((float)test_random_below(random, 16), -12);
    default:
        return x;
    }
}

static inline vec3 sample_point(test_random *random, uint32_t family) {
    vec3 p;
    p.x = sample_coordinate(random, family);
    p.y = sample_coordinate(random, family);
    p.z = sample_coordinate(random, family);
    return p;
}

static inline vec3 to_float(double x, double y, double z) {
    return v3((real)(float)x, (real)(float)y, (real)(float)z);
}

/* Some combination of three points, rounded to float; now and then moved by one ulp. */
static inline vec3 sample_near(test_random *random, const vec3 *c) {
    static const double steps[7] = {0, 1, 0.5, 0.25, -0.5, 1.5, 0.3};
    double s = steps[test_random_below(random, 7)], t = steps[test_random_below(random, 7)];
    if (test_random_below(random, 2))
        t = test_random_below(random, 2) ? 0 : 1 - s;
    double r = 1 - s - t;
    vec3 p = to_float(r * c[0].x + s * c[1].x + t * c[2].x, r * c[0].y + s * c[1].y + t * c[2].y,
                      r * c[0].z + s * c[1].z + t * c[2].z);
    if (test_random_below(random, 3) == 0)
        p.z = nextafterf((float)p.z, test_random_below(random, 2) ? 10.0f : -10.0f);
    return p;
}

static inline triangle3 sample_triangle(test_random *random, uint32_t family) {
    triangle3 t;
    for (int i = 0; i < 3; i++)
        t.corner[i] = sample_point(random, family);
    switch (test_random_below(random, 12)) {
    case 0: /* in a coordinate plane, as the other may be */
        t.corner[1].z = t.corner[2].z = t.corner[0].z;
        break;
    case 1:
        t.corner[2] = t.corner[test_random_below(random, 2)];
        break;
    case 2:
        t.corner[1] = t.corner[2] = t.corner[0];
        break;
    case 3: /* a segment along an axis, the third corner anywhere on its line */
        t.corner[1] = t.corner[2] = t.corner[0];
        t.corner[1].x = sample_coordinate(random, family);
        t.corner[2].x = sample_coordinate(random, family);
        break;
    default:
        break;
    }
    return t;
}

/* A triangle made with regard to another: shared corners, corners in its plane, on its edges. */
static inline triangle3 sample_partner(test_random *random, uint32_t family, triangle3 other) {
    triangle3 t = sample_triangle(random, family);
    uint32_t kind = test_random_below(random, 6);
    for (uint32_t i = 0; i < 3; i++)
        if (kind >= 3 && i < kind - 2)
            t.corner[i] = sample_near(random, other.corner);
    uint32_t mine = test_random_below(random, 3), theirs = test_random_below(random, 3);
    if (kind == 2)
        t.corner[mine] = other.corner[theirs];
    uint32_t turn = test_random_below(random, 3);
    triangle3 turned;
    for (uint32_t i = 0; i < 3; i++)
        turned.corner[i] = t.corner[(i + turn) % 3];
    return turned;
}

#endif
