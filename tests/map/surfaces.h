/* Meshes for maps, how they deform, and points on them. */
#ifndef ABUT_TEST_MAP_SURFACES_H
#define ABUT_TEST_MAP_SURFACES_H

#include "support/support.h"

#include <math.h>
#include <stdlib.h>

#define assert_close(a, b, most) assert_true(fabs((a) - (b)) <= (most))

static inline abut_mesh *made(abut_context *context, abut_shape_kind kind, uint32_t segments,
                              uint32_t rings) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    shape.segments = segments ? segments : shape.segments;
    shape.rings = rings ? rings : shape.rings;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    return mesh;
}

static inline abut_vec3 add(abut_vec3 a, double s, abut_vec3 b) {
    return (abut_vec3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}
static inline double distance_of(abut_vec3 a, abut_vec3 b) {
    return sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z));
}

static inline abut_vec3 vertex_of(const abut_mesh *mesh, uint32_t vertex) {
    return add(abut_mesh_local_origin(mesh), 1, abut_mesh_local_positions(mesh)[vertex]);
}

/* The same triangles, every vertex taken to another place by a matrix and a shift. */
static inline abut_mesh *moved(abut_mesh *mesh, const double m[9], abut_vec3 shift) {
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *points = malloc(count * sizeof *points);
    for (uint32_t i = 0; i < count; i++) {
        abut_vec3 p = vertex_of(mesh, i);
        points[i] = (abut_vec3){m[0] * p.x + m[1] * p.y + m[2] * p.z + shift.x,
                                m[3] * p.x + m[4] * p.y + m[5] * p.z + shift.y,
                                m[6] * p.x + m[7] * p.y + m[8] * p.z + shift.z};
    }
    abut_mesh *other =
        test_mesh(NULL, points, count, abut_mesh_indices(mesh), abut_mesh_triangle_count(mesh));
    free(points);
    return other;
}

static inline abut_mesh *shifted(abut_mesh *mesh, double x, double y, double z) {
    const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    return moved(mesh, unit, (abut_vec3){x, y, z});
}

static inline abut_bvh *hierarchy_of(abut_mesh *mesh, bool sign) {
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    if (sign)
        assert_ok(abut_sign_prepare(bvh, NULL));
    return bvh;
}

static inline abut_map *map_of(abut_mesh *mesh, uint32_t resolution) {
    abut_map_options options = abut_map_options_default();
    abut_map *map;
    options.resolution = resolution;
    assert_ok(abut_map_create(mesh, &options, &map));
    return map;
}

/* A random point of a random triangle. */
static inline abut_vec3 point_on(const abut_mesh *mesh, test_random *random, uint32_t *triangle,
                                 double weight[3]) {
    *triangle = test_random_below(random, abut_mesh_triangle_count(mesh));
    double u = test_random_real(random, 0, 1), v = test_random_real(random, 0, 1);
    switch (test_random_below(random, 8)) { /* also edges and corners */
    case 0:
        v = 0;
        break;
    case 1:
        u = 0;
        break;
    case 2:
        u = 1, v = 0;
        break;
    default:
        break;
    }
    if (u + v > 1) {
        u = 1 - u;
        v = 1 - v;
    }
    weight[0] = 1 - u - v;
    weight[1] = u;
    weight[2] = v;
    const uint32_t *corner = abut_mesh_indices(mesh) + 3 * (size_t)*triangle;
    abut_vec3 p = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        p = add(p, weight[k], vertex_of(mesh, corner[k]));
    return p;
}

#endif
