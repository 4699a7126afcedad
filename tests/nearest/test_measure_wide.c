/* Four triangles measured at once: bit for bit equal to the routine for one. */
#include "bvh/meshes.h"

#include "base/simd.h"
#include "geom/closest_shared.h"
#include "nearest/nearest.h"

#ifdef ABUTI_SIMD_WIDE

/* Measures four triangles both ways. */
static void compare(const abut_triangle t[4], abut_vec3 point) {
    uint32_t indices[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    vec3 positions[12];
    nearest_pair pairs[4];
    for (uint32_t i = 0; i < 4; i++) {
        memcpy(positions + 3 * i, t[i].corner, sizeof t[i].corner);
        pairs[i] = (nearest_pair){.point = point, .triangle = i};
    }
    const abut_mesh mesh = {.positions = positions, .indices = indices};
    ABUTI_BY_LANES(abuti_nearest_measure)(&mesh, pairs, 4);
    for (int i = 0; i < 4; i++) {
        closest_on_triangle one = triangle_closest_point(t[i], point);
        const double *weight = pairs[i].weight;
        if (memcmp(&one.distance, &pairs[i].distance, sizeof one.distance) != 0 ||
            memcmp(one.barycentric, weight, sizeof one.barycentric) != 0)
            fail_msg(
                "lane %d is %.17g (%.17g, %.17g, %.17g) instead of %.17g (%.17g, %.17g, %.17g)", i,
                pairs[i].distance, weight[0], weight[1], weight[2], one.distance,
                one.barycentric[0], one.barycentric[1], one.barycentric[2]);
    }
}

/* All kinds of triangles, and points around, near, in the plane, on edges and on corners. */
TEST(same_bits) {
    enum { COUNT = 400, ROUNDS = 40 };
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
            compare(t, p);
        }
        abut_mesh_destroy(mesh);
    }
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
            compare(t, random_vec(&random, scales[k]));
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

int main(void) {
    return abuti_simd_lanes() >= 8 ? test_run(NULL, NULL) : 77;
}

#else

int main(void) {
    return 77; /* not on this processor */
}

#endif
