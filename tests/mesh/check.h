/* Helpers for tests of mesh files. */
#ifndef ABUT_TEST_MESH_CHECK_H
#define ABUT_TEST_MESH_CHECK_H

#include "support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static inline abut_mesh_read_options check_options(abut_mesh_format format) {
    abut_mesh_read_options options = abut_mesh_read_options_default();
    options.format = format;
    return options;
}

/* Reads bytes under a name, whose extension determines the format. */
static inline abut_status check_read(const void *data, size_t bytes, const char *name,
                                     abut_mesh **mesh) {
    return abut_mesh_read_memory(NULL, data, bytes, name, NULL, mesh);
}

/* The text must be refused with a sentence that holds the name and `part`; the output stays. */
static inline void check_refused(const char *text, size_t bytes, const char *name,
                                 const char *part) {
    abut_mesh *mesh = (abut_mesh *)&mesh;
    abut_status status = check_read(text, bytes, name, &mesh);
    if (status != ABUT_ERROR_FORMAT)
        fail_msg("'%.60s' gave %s (%s)", text, abut_status_name(status), abut_last_error());
    if (!strstr(abut_last_error(), name) || !strstr(abut_last_error(), part))
        fail_msg("'%.60s': the error says '%s' without '%s'", text, abut_last_error(), part);
    assert_ptr_equal(&mesh, mesh);
}

/* Absolute position of a vertex. */
static inline abut_vec3 check_position(const abut_mesh *mesh, uint32_t vertex) {
    abut_vec3 o = abut_mesh_local_origin(mesh), p = abut_mesh_local_positions(mesh)[vertex];
    return (abut_vec3){o.x + p.x, o.y + p.y, o.z + p.z};
}

static inline void check_mesh(const abut_mesh *mesh, uint32_t vertex_count, const double *positions,
                              uint32_t triangle_count, const uint32_t *indices) {
    assert_int_equal(vertex_count, abut_mesh_vertex_count(mesh));
    assert_int_equal(triangle_count, abut_mesh_triangle_count(mesh));
    for (uint32_t i = 0; i < vertex_count && positions; i++) {
        abut_vec3 p = check_position(mesh, i);
        if (p.x != positions[3 * i] || p.y != positions[3 * i + 1] || p.z != positions[3 * i + 2])
            fail_msg("vertex %u is (%.17g, %.17g, %.17g) instead of (%.17g, %.17g, %.17g)", i, p.x,
                     p.y, p.z, positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]);
    }
    for (uint32_t i = 0; i < 3 * triangle_count; i++)
        assert_int_equal(indices[i], abut_mesh_indices(mesh)[i]);
}

static inline void check_equal(const abut_mesh *a, const abut_mesh *b) {
    assert_int_equal(abut_mesh_vertex_count(a), abut_mesh_vertex_count(b));
    assert_int_equal(abut_mesh_triangle_count(a), abut_mesh_triangle_count(b));
    for (uint32_t i = 0; i < abut_mesh_vertex_count(a); i++) {
        abut_vec3 p = check_position(a, i), q = check_position(b, i);
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            fail_msg("vertex %u is (%.17g, %.17g, %.17g) and (%.17g, %.17g, %.17g)", i, p.x, p.y,
                     p.z, q.x, q.y, q.z);
    }
    assert_memory_equal(abut_mesh_indices(a), abut_mesh_indices(b),
                        3 * sizeof(uint32_t) * abut_mesh_triangle_count(a));
}

/* A wavy grid of n x n cells, 2 triangles each; `random` noise makes the digits of z long. */
static inline abut_mesh *check_grid(abut_context *context, uint32_t n, bool single) {
    uint32_t side = n + 1;
    AUTO_FREE double *positions = malloc(3 * sizeof *positions * side * side);
    uint32_t *indices = malloc(6 * sizeof *indices * n * n), *out = indices;
    test_random random = {n};
    for (uint32_t i = 0; i < side * side; i++) {
        volatile float z = (float)test_random_real(&random, -1, 1);
        positions[3 * i] = i % side * 0.25;
        positions[3 * i + 1] = i / side * 0.5;
        positions[3 * i + 2] = single ? (double)z : test_random_real(&random, -1, 1);
    }
    for (uint32_t y = 0; y < n; y++)
        for (uint32_t x = 0; x < n; x++) {
            uint32_t a = y * side + x, b = a + 1, c = a + side, d = c + 1;
            const uint32_t two[6] = {a, b, c, b, d, c};
            memcpy(out, two, sizeof two);
            out += 6;
        }
    abut_mesh *mesh = test_mesh(context, positions, side * side, indices, 2 * n * n);
    free(indices);
    return mesh;
}

#endif
