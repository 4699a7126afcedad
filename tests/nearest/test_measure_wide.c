/* Four triangles measured at once: bit for bit equal to the routine for one. */
#include "bvh/meshes.h"

#include "bvh/bvh.h"
#include "nearest/measure_lanes.h"

#ifdef ABUTI_SIMD_WIDE

/* Measures four triangles both ways; gives how many were left to the routine. */
static unsigned compare(const abut_triangle t[4], abut_vec3 point) {
    vec3d corner[3];
    measured out;
    double distance[4], weights[3][4];
    unsigned left = 0;
    for (int k = 0; k < 3; k++) {
        const double *const from[4] = {&t[0].corner[k].x, &t[1].corner[k].x, &t[2].corner[k].x,
                                       &t[3].corner[k].x};
        d4 at[3];
        d4_load_three(from, at);
        corner[k].x = at[0];
        corner[k].y = at[1];
        corner[k].z = at[2];
    }
    measure_lanes(corner, v3d_all(point), &out);
    d4_store(distance, out.distance);
    for (int k = 0; k < 3; k++)
        d4_store(weights[k], out.weight[k]);
    for (int i = 0; i < 4; i++) {
        closest_on_triangle one = triangle_closest_point(t[i], point);
        const double weight[3] = {weights[0][i], weights[1][i], weights[2][i]};
        if (out.unfinished >> i & 1) {
            left++;
            continue;
        }
        if (memcmp(&one.distance, &distance[i], sizeof one.distance) != 0 ||
            memcmp(one.barycentric, weight, sizeof weight) != 0)
            fail_msg(
                "lane %d is %.17g (%.17g, %.17g, %.17g) instead of %.17g (%.17g, %.17g, %.17g)", i,
                distance[i], weight[0], weight[1], weight[2], one.distance, one.barycentric[0],
                one.barycentric[1], one.barycentric[2]);
    }
    return left;
}

/* All kinds of triangles, and points around, near, in the plane, on edges and on corners. */
TEST(same_bits) {
    enum { COUNT = 400, ROUNDS = 40 };
    unsigned left = 0, total = 0;
    for (int kind = 0; kind < SOUP_COUNT; kind++) {
        test_random random = {11 + (uint64_t)kind};
        abut_mesh *mesh = make_kind(NULL, (soup_kind)kind, COUNT, 3);
        double size = largest_extent(mesh);
        for (uint32_t i = 0; i < COUNT * ROUNDS; i++) {
            abut_triangle t[4];
            uint32_t first = test_random_below(&random, COUNT);
            for (uint32_t k = 0; k < 4; k++) /* neighbours, or four times the same turned round */
                t[k] = triangle_of(mesh, (first + (i % 3 ? k : 0)) % COUNT);
            for (int k = 1; k < 3 && i % 3 == 0; k++)
                for (int c = 0; c < 3; c++)
                    t[k].corner[c] = t[0].corner[(c + k) % 3];
            double s = test_random_real(&random, 0, 1);
            abut_vec3 a = t[0].corner[0], b = t[0].corner[1];
            abut_vec3 p = i % 5 == 0   ? point_around(mesh, &random, 1.5)
                          : i % 5 == 1 ? point_near(mesh, &random, 1e-6 * size)
                          : i % 5 == 2 ? a
                          : i % 5 == 3 ? vec(a.x + s * (b.x - a.x), a.y + s * (b.y - a.y),
                                             a.z + s * (b.z - a.z))
                                       : point_around(mesh, &random, 1000);
            left += compare(t, p);
            total += 4;
        }
        abut_mesh_destroy(mesh);
    }
    if (left > total / 4)
        fail_msg("%u of %u were left to the routine", left, total);
}

/* What must be scaled is left to the routine. */
TEST(extremes) {
    static const double scales[] = {1e-80, 1e-30, 1e-24, 1e30, 1e33, 1e80};
    for (int k = 0; k < 6; k++) {
        test_random random = {5};
        for (int i = 0; i < 1000; i++) {
            abut_triangle t[4];
            for (int j = 0; j < 12; j++)
                t[j / 3].corner[j % 3] = random_vec(&random, j % 2 ? scales[k] : 1);
            compare(t, random_vec(&random, scales[k]));
            for (int j = 0; j < 12; j++)
                t[j / 3].corner[j % 3] = random_vec(&random, scales[k]);
            unsigned left = compare(t, random_vec(&random, scales[k]));
            if (k == 0 || k == 5)
                assert_int_equal(left, 4);
        }
    }
}

static double next_to_nothing(test_random *random) {
    return ldexp(test_random_real(random, -1, 1), -40 - (int)test_random_below(random, 1000));
}

/* Distances whose squares, or the tails of these, underflow. */
TEST(underflow) {
    test_random random = {6};
    for (int i = 0; i < 100000; i++) {
        abut_vec3 p =
            vec(next_to_nothing(&random), next_to_nothing(&random), next_to_nothing(&random));
        abut_triangle t[4];
        for (int j = 0; j < 4; j++) {
            double x = j % 2 ? 1 : test_random_real(&random, 0.5, 2), y = j < 2 ? 1 : 0.75;
            t[j] = (abut_triangle){{vec(0, 0, 0), vec(x, 0, 0), vec(0, y, j == 3 ? 0.5 : 0)}};
        }
        p.x += i % 3 ? 0 : 0.25; /* beside a corner, an edge or the face */
        p.y += i % 9 ? 0 : 0.25;
        compare(t, p);
    }
}

/* Floats beside doubles are those of the plain routine, bit for bit. */
TEST(floats_beside) {
    static const double special[] = {0,           -0.0,         1,        -1,
                                     0x1p-149,    -0x1p-149,    0x1p-150, -0x1p-150,
                                     1e-300,      -1e-300,      0x1p-126, -0x1p-126,
                                     1 + 0x1p-30, -1 - 0x1p-30, FLT_MAX,  -FLT_MAX};
    test_random random = {17};
    for (int i = 0; i < 4000; i++) {
        double x[4];
        for (int k = 0; k < 4; k++)
            x[k] = i < 16 ? special[(i + k) % 16]
                          : ldexp(test_random_real(&random, -1, 1),
                                  (int)test_random_below(&random, 300) - 180);
        float below[4], above[4];
        f4_store(below, f4_below_d4(d4_load(x)));
        f4_store(above, f4_above_d4(d4_load(x)));
        for (int k = 0; k < 4; k++) {
            float expected[2] = {bvh_float_below(x[k]), bvh_float_above(x[k])};
            assert_memory_equal(&below[k], &expected[0], sizeof(float));
            assert_memory_equal(&above[k], &expected[1], sizeof(float));
        }
    }
}

/* Places of keys: those of counting, with many equal keys. */
TEST(ranks) {
    test_random random = {23};
    for (int round = 0; round < 2000; round++) {
        int32_t key[16] = {0}, tie[16] = {0};
        uint32_t count = 1 + test_random_below(&random, 16), place[16];
        for (uint32_t i = 0; i < count; i++) {
            key[i] = (int32_t)test_random_below(&random, round % 2 ? 4 : 1u << 30) - 2;
            tie[i] = (int32_t)(i * 7 % 17 + 100 * (i % 3)); /* no two are equal */
        }
        abuti_rank(key, tie, count, place);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t lower = 0;
            for (uint32_t j = 0; j < count; j++)
                lower += key[j] < key[i] || (key[j] == key[i] && tie[j] < tie[i]);
            assert_int_equal(place[i], lower);
        }
    }
}

int main(void) {
    return abuti_simd_lanes() >= 8 ? test_run(NULL, NULL) : 77;
}

#else

int main(void) {
    return 77; /* not on this processor */
}

#endif
