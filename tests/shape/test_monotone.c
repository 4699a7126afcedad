/* Triangulation of monotone polygons: covers the polygon, and is Delaunay. */
#include "support/support.h"

#include "geom/predicates_shared.h"
#include "shape/shape.h"

#include <stdlib.h>

enum { MOST = 200 };

typedef struct polygon {
    abuti_vec2 p[MOST];
    uint32_t left_count, count;
} polygon;

static double twice_area(abuti_vec2 a, abuti_vec2 b, abuti_vec2 c) {
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/* Left side at x < 0, right side at x > 0, heights falling from 1 to 0; some of them level. */
static polygon random_polygon(test_random *random) {
    polygon made = {.left_count = 1 + test_random_below(random, 60)};
    uint32_t right_count = 1 + test_random_below(random, 60);
    if (made.left_count + right_count < 3)
        right_count = 2;
    made.count = made.left_count + right_count;
    made.p[0] = (abuti_vec2){0, 1};
    for (uint32_t i = 1; i < made.count; i++) {
        bool left = i < made.left_count;
        double of =
            left ? (double)i / made.left_count : (double)(i - made.left_count + 1) / right_count;
        double x = test_random_real(random, 0.05, 1);
        made.p[i] = (abuti_vec2){left ? -x : x, 1 - of};
    }
    made.p[made.count - 1] = (abuti_vec2){0, 0};
    return made;
}

/* In the order around the polygon, counter-clockwise. */
static abuti_vec2 around(const polygon *q, uint32_t i) {
    return i < q->left_count ? q->p[i] : q->p[q->count - 1 - (i - q->left_count)];
}

static bool in_circle(abuti_vec2 a, abuti_vec2 b, abuti_vec2 c, abuti_vec2 d) {
    double ax = a.x - d.x, ay = a.y - d.y, bx = b.x - d.x, by = b.y - d.y;
    double cx = c.x - d.x, cy = c.y - d.y;
    double a2 = ax * ax + ay * ay, b2 = bx * bx + by * by, c2 = cx * cx + cy * cy;
    double det = ax * (by * c2 - b2 * cy) - ay * (bx * c2 - b2 * cx) + a2 * (bx * cy - by * cx);
    return det > 1e-9;
}

static bool has(const uint32_t *t, uint32_t v) {
    return t[0] == v || t[1] == v || t[2] == v;
}

static void assert_triangulated(const polygon *q) {
    uint32_t indices[3 * MOST];
    assert_ok(
        abuti_triangulate_monotone(abuti_context_of(NULL), q->p, q->left_count, q->count, indices));
    double whole = 0, sum = 0;
    for (uint32_t i = 1; i + 1 < q->count; i++)
        whole += twice_area(around(q, 0), around(q, i), around(q, i + 1));
    for (uint32_t i = 0; i + 2 < q->count; i++) {
        const uint32_t *t = indices + 3 * i;
        abuti_vec2 a = q->p[t[0]], b = q->p[t[1]], c = q->p[t[2]];
        assert_int_equal(1, orient2d(a.x, a.y, b.x, b.y, c.x, c.y));
        sum += twice_area(a, b, c);
        for (uint32_t j = 0; j < i; j++) { /* neighbours: not inside each other's circle */
            const uint32_t *o = indices + 3 * j;
            int shared = has(t, o[0]) + has(t, o[1]) + has(t, o[2]);
            assert_true(shared < 3);
            for (int k = 0; k < 3 && shared == 2; k++) {
                abuti_vec2 d = q->p[o[k]];
                if (has(t, o[k]) || !in_circle(a, b, c, d))
                    continue;
                fail_msg("triangles %u and %u of %u should be flipped", j, i, q->count - 2);
            }
        }
    }
    /* count - 2 triangles, all the right way round and of the right total: nothing overlaps */
    assert_true(fabs(sum - whole) < 1e-13);
}

TEST(random_polygons) {
    test_random random = {21};
    for (int i = 0; i < 3000; i++) {
        polygon q = random_polygon(&random);
        assert_triangulated(&q);
    }
}

/* Level rows at the top and the bottom, and straight sides, as the holes in the teapot have. */
TEST(level_and_straight_sides) {
    polygon q = {.left_count = 5, .count = 15};
    const abuti_vec2 p[] = {{0, 5}, {0, 3.5}, {0.5, 3}, {0.5, 2}, {0, 1.5}, {1, 5}, {2, 5}, {3, 5},
                            {3, 4}, {3, 3},   {3, 1},   {3, 0},   {2, 0},   {1, 0}, {0, 0}};
    memcpy(q.p, p, sizeof p);
    assert_triangulated(&q);
}

static abut_status triangulate(abut_context *context, void *data) {
    polygon *q = data;
    uint32_t indices[3 * MOST];
    return abuti_triangulate_monotone(context, q->p, q->left_count, q->count, indices);
}

TEST(out_of_memory) {
    test_random random = {22};
    polygon q = random_polygon(&random);
    assert_int_equal(2, test_every_allocation(triangulate, &q));
}
