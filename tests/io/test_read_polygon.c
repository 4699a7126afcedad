/* Triangulation of polygons, checked by area: the triangles of a simple polygon all have its
 * orientation, and their areas sum to the polygon's. */
#include "mesh/check.h"

#include "geom/predicates_shared.h"
#include "io/files.h"

enum { MOST = ABUTI_POLYGON_MAX };

static vec3 positions[MOST];
static uint32_t corners[MOST], triangles[3 * MOST];

static double signed_area(uint32_t a, uint32_t b, uint32_t c) {
    vec3 p = positions[a], q = positions[b], r = positions[c];
    return ((q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x)) / 2;
}

static double polygon_area(uint32_t count) {
    double sum = 0;
    for (uint32_t i = 1; i + 1 < count; i++)
        sum += signed_area(corners[0], corners[i], corners[i + 1]);
    return sum;
}

static void prepare(uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        corners[i] = i;
}

/* Every edge of the polygon once in its sense, every other edge twice, once each way. */
static void check_edges(uint32_t count) {
    for (uint32_t i = 0; i < 3 * (count - 2); i++) {
        uint32_t a = triangles[i], b = triangles[i % 3 == 2 ? i - 2 : i + 1];
        assert_true(a < count && b < count);
        int forth = 0, back = 0;
        for (uint32_t k = 0; k < 3 * (count - 2); k++) {
            uint32_t c = triangles[k], d = triangles[k % 3 == 2 ? k - 2 : k + 1];
            forth += a == c && b == d;
            back += a == d && b == c;
        }
        bool border = b == (a + 1) % count;
        assert_int_equal(1, forth);
        assert_int_equal(border ? 0 : 1, back);
    }
}

/* A simple polygon in the plane z = 0, given as such. */
static void check_simple(uint32_t count, bool edges) {
    prepare(count);
    double area = polygon_area(count);
    int sense = area > 0 ? 1 : -1;
    abuti_polygon_triangulate(positions, corners, count, triangles);
    double sum = 0;
    for (uint32_t i = 0; i < count - 2; i++) {
        const uint32_t *t = triangles + 3 * i;
        vec3 a = positions[t[0]], b = positions[t[1]], c = positions[t[2]];
        assert_int_equal(sense, orient2d(a.x, a.y, b.x, b.y, c.x, c.y));
        sum += signed_area(t[0], t[1], t[2]);
    }
    assert_true(fabs(sum - area) <= 1e-9 * fabs(area));
    if (edges)
        check_edges(count);
}

static void turn_around(uint32_t count) {
    for (uint32_t i = 0; i < count / 2; i++) {
        vec3 swapped = positions[i];
        positions[i] = positions[count - 1 - i];
        positions[count - 1 - i] = swapped;
    }
}

TEST(cuts_known_shapes) {
    static const double shapes[][26] = {
        {4, 0, 0, 4, 2, 0, 4, 1, 2},                         /* dart */
        {4, 1, 2, 0, 0, 4, 2, 0, 4},                         /* from its notch */
        {6, 0, 0, 2, 0, 2, 1, 1, 1, 1, 2, 0, 2},             /* L */
        {5, 0, 0, 1, 0, 2, 0, 2, 2, 0, 2},                   /* a corner on an edge */
        {8, 0, 0, 1, 0, 2, 0, 2, 1, 2, 2, 1, 2, 0, 2, 0, 1}, /* on every edge */
        {12, 0, 0, 5, 0, 5, 5, 1, 5, 1, 2, 3, 2, 3, 3, 2, 3, 2, 4, 4, 4, 4, 1, 0, 1}, /* spiral */
        {8, 0, 0, 4, 3, 8, 0, 5, 4, 8, 8, 4, 5, 0, 8, 3, 4}};                         /* a star */
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        uint32_t count = (uint32_t)shapes[i][0];
        for (uint32_t start = 0; start < count; start++)
            for (int way = 0; way < 2; way++) {
                for (uint32_t k = 0; k < count; k++) {
                    uint32_t from = (start + k) % count;
                    positions[k] = v3(shapes[i][1 + 2 * from], shapes[i][2 + 2 * from], 0);
                }
                if (way)
                    turn_around(count);
                check_simple(count, true);
            }
    }
}

/* Star-shaped about the centre, so simple; wild radii make it deeply concave. */
TEST(cuts_random_stars) {
    test_random random = {7};
    for (int round = 0; round < 300; round++) {
        uint32_t count = 4 + test_random_below(&random, round < 290 ? 60 : MOST - 3);
        for (uint32_t i = 0; i < count; i++) {
            double angle = 6.283185307179586 * i / count;
            double radius = test_random_real(&random, 0.05, 1);
            positions[i] = v3(radius * cos(angle), radius * sin(angle), 0);
        }
        if (round % 2)
            turn_around(count);
        check_simple(count, count < 64);
    }
}

/* A comb: half of all corners are reflex, the worst case for the cost. */
TEST(cuts_a_comb) {
    uint32_t count = 0;
    for (uint32_t i = 0; count < MOST - 2; i++) {
        positions[count++] = v3(i, 1, 0);
        positions[count++] = v3(i + 0.5, 10, 0);
    }
    positions[count++] = v3(600, 0, 0);
    positions[count++] = v3(-1, 0, 0);
    check_simple(count, false);
    turn_around(count);
    check_simple(count, false);
}

/* The same cut whatever plane the polygon lies in. */
TEST(any_plane_will_do) {
    static const double dart[][2] = {{0, 0}, {4, 2}, {0, 4}, {1, 2}};
    for (int axis = 0; axis < 3; axis++)
        for (int way = 0; way < 2; way++) {
            for (int i = 0; i < 4; i++) {
                double p[3] = {0};
                p[(axis + 1) % 3] = dart[way ? 3 - i : i][0] + 1e9;
                p[(axis + 2) % 3] = dart[way ? 3 - i : i][1] - 1e9;
                p[axis] = 0.25 * p[(axis + 1) % 3];
                positions[i] = v3(p[0], p[1], p[2]);
            }
            prepare(4);
            abuti_polygon_triangulate(positions, corners, 4, triangles);
            check_edges(4);
            uint32_t notch = way ? 0 : 3,
                     opposite = way ? 2 : 1; /* the diagonal that lies inside */
            for (int t = 0; t < 2; t++) {
                int found = 0;
                for (int k = 0; k < 3; k++)
                    found += triangles[3 * t + k] == notch || triangles[3 * t + k] == opposite;
                assert_int_equal(2, found);
            }
        }
}

/* What has no right answer still gets one: each corner in range, count - 2 triangles. */
TEST(never_fails) {
    test_random random = {8};
    for (int round = 0; round < 2000; round++) {
        uint32_t count = 3 + test_random_below(&random, round < 1990 ? 30 : MOST - 2);
        for (uint32_t i = 0; i < count; i++) {
            double p[3];
            for (int axis = 0; axis < 3; axis++)
                p[axis] = round % 4 == 0   ? test_random_real(&random, -1, 1)
                          : round % 4 == 1 ? test_random_below(&random, 3)
                          : round % 4 == 2 ? (axis ? 0 : i)
                                           : 1e90 * (test_random_below(&random, 3) - 1.0);
            positions[i] = v3(p[0], p[1], p[2]);
        }
        prepare(count);
        memset(triangles, 0xff, sizeof triangles);
        abuti_polygon_triangulate(positions, corners, count, triangles);
        for (uint32_t i = 0; i < 3 * (count - 2); i++)
            assert_true(triangles[i] < count);
        assert_int_equal(ABUT_NONE, triangles[3 * (count - 2)]);
    }
}

/* A square with a square hole, joined by a bridge that is walked twice. */
TEST(cuts_a_keyhole) {
    static const double keyhole[][2] = {{0, 0}, {6, 0}, {6, 6}, {0, 6}, {0, 0},
                                        {2, 2}, {2, 4}, {4, 4}, {4, 2}, {2, 2}};
    for (int i = 0; i < 10; i++)
        positions[i] = v3(keyhole[i][0], keyhole[i][1], 0);
    prepare(10);
    abuti_polygon_triangulate(positions, corners, 10, triangles);
    double sum = 0;
    for (int i = 0; i < 8; i++) {
        double area = signed_area(triangles[3 * i], triangles[3 * i + 1], triangles[3 * i + 2]);
        assert_true(area >= 0);
        sum += area;
    }
    assert_true(sum == 32);
}
