/* Surfaces with a boundary, and the referee of their winding numbers. */
#ifndef ABUT_TEST_SIGN_SURFACES_H
#define ABUT_TEST_SIGN_SURFACES_H

#include "bvh/meshes.h"

#include <abut/sign.h>

static inline abut_bvh *make_bvh(abut_mesh *mesh, abut_sign_method method) {
    abut_bvh *bvh;
    abut_sign_options options = abut_sign_options_default();
    options.method = method;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_sign_prepare(bvh, &options));
    return bvh;
}

/* Leaves out one triangle of `each`. */
static inline abut_mesh *make_torn(abut_mesh *mesh, uint32_t each) {
    uint32_t count = abut_mesh_triangle_count(mesh), kept = 0;
    abut_vec3 *corners = malloc(3 * (size_t)count * sizeof *corners);
    assert_non_null(corners);
    for (uint32_t i = 0; i < count; i++)
        if (i % each) {
            memcpy(corners + 3 * (size_t)kept, triangle_of(mesh, i).corner, 3 * sizeof *corners);
            kept++;
        }
    abut_mesh *torn = make_soup(NULL, corners, kept);
    free(corners);
    abut_mesh_destroy(mesh);
    return torn;
}

/* Adds a grid of n x n squares from `o` along two edges; facing their cross product. */
static inline void add_grid(abut_vec3 *positions, uint32_t *indices, size_t *vertices,
                            size_t *corners, abut_vec3 o, abut_vec3 u, abut_vec3 v, uint32_t n) {
    const uint32_t base = (uint32_t)*vertices;
    for (uint32_t i = 0; i <= n; i++)
        for (uint32_t j = 0; j <= n; j++) {
            double s = (double)i / n, t = (double)j / n;
            positions[(*vertices)++] =
                vec(o.x + s * u.x + t * v.x, o.y + s * u.y + t * v.y, o.z + s * u.z + t * v.z);
        }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            const uint32_t a = base + i * (n + 1) + j, b = a + n + 1;
            const uint32_t two[6] = {a, b, b + 1, a, b + 1, a + 1};
            memcpy(indices + *corners, two, sizeof two);
            *corners += 6;
        }
}

/* A pile of layers: sheets that all face up, or boxes without a lid. */
static inline abut_mesh *make_pile(uint32_t layers, uint32_t n, bool boxes) {
    const size_t sides = boxes ? 5 : 1;
    abut_vec3 *positions = malloc(layers * sides * (n + 1) * (n + 1) * sizeof *positions);
    uint32_t *indices = malloc(layers * sides * n * n * 6 * sizeof *indices);
    size_t vertices = 0, corners = 0;
    for (uint32_t i = 0; i < layers; i++) {
        const double z = (double)i / layers, h = 0.5 / layers;
        const abut_vec3 x = {1, 0, 0}, y = {0, 1, 0}, up = {0, 0, h};
        if (!boxes) {
            add_grid(positions, indices, &vertices, &corners, vec(0, 0, z), x, y, n);
            continue;
        }
        add_grid(positions, indices, &vertices, &corners, vec(0, 0, z), y, x, n);
        add_grid(positions, indices, &vertices, &corners, vec(0, 0, z), x, up, n);
        add_grid(positions, indices, &vertices, &corners, vec(0, 0, z), up, y, n);
        add_grid(positions, indices, &vertices, &corners, vec(0, 1, z), up, x, n);
        add_grid(positions, indices, &vertices, &corners, vec(1, 0, z), y, up, n);
    }
    abut_mesh *mesh =
        test_mesh(NULL, positions, (uint32_t)vertices, indices, (uint32_t)corners / 3);
    free(positions);
    free(indices);
    return mesh;
}

/* The sum over all triangles, each by its solid angle. */
static inline double winding_sum(const abut_mesh *mesh, abut_vec3 p) {
    const abut_vec3 o = abut_mesh_local_origin(mesh), *at = abut_mesh_local_positions(mesh);
    const uint32_t *corner = abut_mesh_indices(mesh);
    long double sum = 0;
    for (size_t t = 0; t < abut_mesh_triangle_count(mesh); t++, corner += 3) {
        long double v[3][3], length[3], dot[3];
        for (int k = 0; k < 3; k++) {
            v[k][0] = (long double)(o.x + at[corner[k]].x) - p.x;
            v[k][1] = (long double)(o.y + at[corner[k]].y) - p.y;
            v[k][2] = (long double)(o.z + at[corner[k]].z) - p.z;
            length[k] = sqrtl(v[k][0] * v[k][0] + v[k][1] * v[k][1] + v[k][2] * v[k][2]);
        }
        for (int k = 0; k < 3; k++) {
            const long double *a = v[k], *b = v[(k + 1) % 3];
            dot[k] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        }
        long double volume = v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) +
                             v[0][1] * (v[1][2] * v[2][0] - v[1][0] * v[2][2]) +
                             v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
        sum += 2 * atan2l(volume, length[0] * length[1] * length[2] + dot[0] * length[2] +
                                      dot[1] * length[0] + dot[2] * length[1]);
    }
    return (double)(sum / (4 * 3.14159265358979323846264338328L));
}

#endif
