/* Helpers for tests of queries on a device: a mesh with its BVH on host and device, points and
 * rays of all kinds, degenerate meshes, and a device that fails. */
#ifndef ABUT_TEST_BVH_DEVICE_QUERIES_H
#define ABUT_TEST_BVH_DEVICE_QUERIES_H

#include "meshes.h"

#include "bvh/on_device.h"
#include "device/open.h"

static abut_device *device;

typedef struct both {
    abut_mesh *mesh;
    abut_bvh *bvh, *there;
} both;

/* Builds on the device. */
static inline abut_status build_there(abut_mesh *mesh, abut_bvh **bvh) {
    abut_bvh_options options = abut_bvh_options_default();
    options.device = device;
    return abut_bvh_create(mesh, &options, bvh);
}

/* Takes the mesh. */
static inline both make_both(abut_mesh *mesh) {
    both b = {mesh, NULL, NULL};
    assert_ok(abut_bvh_create(mesh, NULL, &b.bvh));
    assert_ok(abuti_bvh_copy_to_device(b.bvh, device, &b.there));
    return b;
}

static inline void free_both(both *b) {
    abut_bvh_destroy(b->there);
    abut_bvh_destroy(b->bvh);
    abut_mesh_destroy(b->mesh);
}

/* ---- questions ---- */

static inline double clamp(double x) {
    return fmax(-ABUT_COORDINATE_MAX, fmin(x, ABUT_COORDINATE_MAX));
}

static inline abut_vec3 toward(abut_vec3 from, abut_vec3 to) {
    return vec(clamp(to.x - from.x), clamp(to.y - from.y), clamp(to.z - from.z));
}

static inline abut_triangle any_triangle(const abut_mesh *mesh, test_random *random) {
    return triangle_of(mesh, test_random_below(random, abut_mesh_triangle_count(mesh)));
}

/* Points everywhere: around, near, on, on corners, far, absurdly far. */
static inline abut_vec3 *make_points(const abut_mesh *mesh, size_t count, uint64_t seed) {
    test_random random = {seed};
    double size = largest_extent(mesh);
    abut_vec3 *points = malloc(count * sizeof *points);
    assert_non_null(points);
    for (size_t i = 0; i < count; i++) {
        abut_triangle t = any_triangle(mesh, &random);
        switch (i % 8) {
        case 0:
            points[i] = point_near(mesh, &random, 0.02 * size);
            break;
        case 1:
            points[i] = point_near(mesh, &random, 1e-7 * size);
            break;
        case 2:
            points[i] = point_near(mesh, &random, 0);
            break;
        case 3:
            points[i] = t.corner[i / 8 % 3];
            break;
        case 4:
            points[i] = point_around(mesh, &random, i % 64 == 4 ? 1000 : 3);
            break;
        default:
            points[i] = point_around(mesh, &random, 1.2);
        }
        points[i] = toward(vec(0, 0, 0), points[i]);
    }
    return points;
}

/* A point of a triangle: a corner, a middle of an edge, or inside. */
static inline abut_vec3 target(const abut_mesh *mesh, test_random *random) {
    abut_triangle t = any_triangle(mesh, random);
    uint32_t k = test_random_below(random, 3);
    abut_vec3 a = t.corner[k], b = t.corner[(k + 1) % 3];
    switch (test_random_below(random, 3)) {
    case 0:
        return a;
    case 1:
        return vec(a.x / 2 + b.x / 2, a.y / 2 + b.y / 2, a.z / 2 + b.z / 2);
    default:
        return point_near(mesh, random, 0);
    }
}

/* From everywhere to everywhere: through vertices and edges, along axes and edges, in the planes of
 * triangles, from the surface itself, from far and absurdly far away, of all lengths. */
static inline abut_ray make_ray(const abut_mesh *mesh, size_t i, test_random *random) {
    abut_ray ray;
    abut_triangle t = any_triangle(mesh, random);
    ray.origin = point_around(mesh, random, i % 3 == 0 ? 3 : 1);
    switch (i % 10) {
    case 0:
        ray.direction = random_vec(random, 1);
        break;
    case 1:
        ray.direction = vec(i / 10 % 3 == 0, i / 10 % 3 == 1, -(double)(i / 10 % 3 == 2));
        if (i % 4)
            ray.origin = target(mesh, random);
        break;
    case 2: /* along an edge */
        ray.direction = toward(t.corner[0], t.corner[1]);
        ray.origin = vec(t.corner[0].x - 3 * ray.direction.x, t.corner[0].y - 3 * ray.direction.y,
                         t.corner[0].z - 3 * ray.direction.z);
        break;
    case 3: /* from one place of a triangle to another */
        ray.origin = target(mesh, random);
        ray.direction = toward(ray.origin, target(mesh, random));
        break;
    case 4: /* from far away; the CPU is slow for the furthest */
        ray.origin =
            point_around(mesh, random,
                         pow(10, test_random_real(random, 1,
                                                  abut_mesh_triangle_count(mesh) < 100 ? 14 : 8)));
        ray.direction = toward(ray.origin, target(mesh, random));
        break;
    case 5: /* a little beside an axis */
        ray.direction = vec(1e-30 * (double)(i % 3), i % 20 == 5 ? 1e-20 : -1e-9, 1);
        ray.origin = target(mesh, random);
        ray.origin.z -= largest_extent(mesh);
        break;
    default:
        ray.direction = toward(ray.origin, target(mesh, random));
    }
    double length = i % 7 == 0 ? pow(2, test_random_real(random, -60, 60)) : 1;
    double *scalar = &ray.origin.x;
    for (int k = 0; k < 6; k++)
        scalar[k] = clamp(k < 3 ? scalar[k] : scalar[k] * length);
    if (fmax(fabs(ray.direction.x), fmax(fabs(ray.direction.y), fabs(ray.direction.z))) == 0)
        ray.direction = vec(0, 0, i % 2 ? 1 : -1e-300);
    return ray;
}

static inline abut_ray *make_rays(const abut_mesh *mesh, size_t count, uint64_t seed) {
    test_random random = {seed};
    abut_ray *rays = malloc(count * sizeof *rays);
    assert_non_null(rays);
    for (size_t i = 0; i < count; i++)
        rays[i] = make_ray(mesh, i, &random);
    return rays;
}

/* ---- answers ---- */

static inline void assert_nearest(const abut_nearest *got, const abut_nearest *expected,
                                  size_t count) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &expected[i], sizeof *got) != 0)
            fail_msg("answer %zu: triangle %u at %.17g (feature %d) instead of %u at %.17g "
                     "(feature %d)",
                     i, got[i].triangle, got[i].distance, (int)got[i].feature, expected[i].triangle,
                     expected[i].distance, (int)expected[i].feature);
}

static inline void assert_hits(const abut_ray_hit *got, const abut_ray_hit *expected,
                               size_t count) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &expected[i], offsetof(abut_ray_hit, triangle)) != 0 ||
            got[i].triangle != expected[i].triangle)
            fail_msg("hit %zu: triangle %u at %.17g instead of %u at %.17g", i, got[i].triangle,
                     got[i].parameter, expected[i].triangle, expected[i].parameter);
}

/* ---- meshes ---- */

/* Runs `count` queries on a mesh, of which it takes ownership. */
typedef void check_mesh_type(abut_mesh *mesh, size_t count, uint64_t seed);

static inline void check_soups_there(check_mesh_type *check, uint32_t triangles, size_t count) {
    for (soup_kind kind = 0; kind < SOUP_COUNT; kind++)
        check(make_kind(NULL, kind, triangles, 5 + kind), count, 7 + kind);
    for (uint32_t few = 1; few < 18; few += 4)
        check(make_kind(NULL, SOUP_RANDOM, few, few), count, few);
}

static inline void check_sizes_there(check_mesh_type *check, size_t count) {
    const double scales[] = {1e-80, 1e-30, 1e-7, 1e7, 1e30, 1e80};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        double s = scales[i];
        abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 8);
        check(make_moved(mesh, s, vec(0, 0, 0)), count, i);
        mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 8);
        check(make_moved(mesh, s, vec(1e3 * s, 0, -1e5 * s)), count, i);
    }
}

/* ---- a device that fails ---- */

/* The device fails at the n-th call, for every n of test_next_fault(): an error, nothing left
 * behind, and the same BVH works afterwards. `query` checks its results. Each time
 * with a new BVH, whose creation may fail too if `from_scratch`. */
static inline void check_failing(const abut_bvh *bvh, bool from_scratch,
                                 abut_status (*query)(abut_bvh *there, void *data), void *data) {
    uint64_t live = abuti_opencl_live();
    abut_status status = ABUT_ERROR_DEVICE;
    for (uint64_t n = 1; status; n = test_next_fault(n)) {
        assert_true(n < 10000);
        abut_bvh *there = NULL;
        abuti_opencl_fail_at(from_scratch ? n : 0);
        status = abuti_bvh_copy_to_device(bvh, device, &there);
        assert_true(!status == (there != NULL));
        assert_true(!status || from_scratch);
        if (!from_scratch)
            abuti_opencl_fail_at(n);
        status = status ? status : query(there, data);
        abuti_opencl_fail_at(0);
        if (status)
            assert_int_equal(status, ABUT_ERROR_DEVICE);
        if (status && there && (n % 5 == 0 || n % 8 == 0))
            assert_ok(query(there, data));
        abut_bvh_destroy(there);
        assert_int_equal(abuti_opencl_live(), live);
    }
}

/* ---- stopping ---- */

typedef struct stopping {
    const char *stage;
    int reports; /* until it stops; 0 = never */
} stopping;

static inline bool stop(void *user, const char *stage, double fraction) {
    stopping *when = user;
    (void)fraction;
    return strcmp(stage, when->stage) != 0 || when->reports == 0 || --when->reports > 0;
}

static inline abut_context *stopping_context(stopping *when) {
    abut_context *context = test_watched(stop, when);
    return context;
}

/* ---- all tests of a program ---- */

#define RUN_THERE()                              \
    do {                                         \
        SKIP_WITHOUT_DEVICE();                   \
        device = test_device(NULL);              \
        int failed_count = test_run(NULL, NULL); \
        abut_device_destroy(device);             \
        return failed_count;                     \
    } while (0)

#endif
