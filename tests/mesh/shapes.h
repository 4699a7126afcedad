/* Small meshes made by hand, whose properties are known. */
#ifndef ABUT_TEST_SHAPES_H
#define ABUT_TEST_SHAPES_H

#include "support/support.h"

#include <math.h>
#include <stdlib.h>

typedef struct soup {
    double positions[3 * 4096];
    uint32_t indices[3 * 8192];
    uint32_t vertex_count, triangle_count;
} soup;

/* The only soup of a file, which is too large for some stacks, without its elements. */
static inline soup *fresh(void) {
    static soup shape;
    shape.vertex_count = shape.triangle_count = 0;
    return &shape;
}

static inline uint32_t soup_vertex(soup *s, double x, double y, double z) {
    double *p = s->positions + 3 * s->vertex_count;
    assert_true(s->vertex_count < 4096);
    p[0] = x;
    p[1] = y;
    p[2] = z;
    return s->vertex_count++;
}

static inline void soup_triangle(soup *s, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t *t = s->indices + 3 * s->triangle_count++;
    assert_true(s->triangle_count <= 8192);
    t[0] = a;
    t[1] = b;
    t[2] = c;
}

/* Reverses a triangle. */
static inline void soup_turn(soup *s, uint32_t t) {
    uint32_t swap = s->indices[3 * t + 1];
    s->indices[3 * t + 1] = s->indices[3 * t + 2];
    s->indices[3 * t + 2] = swap;
}

static inline void soup_quad(soup *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    soup_triangle(s, a, b, c);
    soup_triangle(s, a, c, d);
}

/* For tests in which creation may fail. */
static inline abut_status soup_try(abut_context *context, const soup *s, abut_mesh **mesh) {
    abut_mesh_input input =
        abut_mesh_input_doubles(s->positions, s->vertex_count, s->indices, s->triangle_count);
    return abut_mesh_create(context, &input, mesh);
}

static inline abut_mesh *soup_mesh(abut_context *context, const soup *s) {
    abut_mesh *mesh = NULL;
    assert_ok(soup_try(context, s, &mesh));
    return mesh;
}

typedef struct refusal {
    const char *stage;
    double limit;
} refusal;

static inline bool refuse_stage(void *user, const char *stage, double fraction) {
    const refusal *refused = user;
    return strcmp(stage, refused->stage) != 0 || fraction < refused->limit;
}

/* `work` is cancelled whenever its caller says so in a stage, up to some tenths of it. */
static inline void check_cancelling(const char *stage, int tenths,
                                    abut_status (*work)(abut_context *context, void *data),
                                    void *data) {
    for (int i = 0; i <= tenths; i++) {
        refusal refused = {stage, i / 10.0};
        AUTO(context) context = test_watched(refuse_stage, &refused);
        assert_fails(ABUT_ERROR_CANCELLED, stage, work(context, data));
    }
}

/* A box with outward triangles: vertex 4 i + 2 j + k at lo + (i, j, k) (hi - lo). */
static inline void soup_box(soup *s, double lo, double hi) {
    uint32_t v = s->vertex_count;
    for (int i = 0; i < 8; i++)
        soup_vertex(s, i & 4 ? hi : lo, i & 2 ? hi : lo, i & 1 ? hi : lo);
    soup_quad(s, v, v + 1, v + 3, v + 2);
    soup_quad(s, v + 4, v + 6, v + 7, v + 5);
    soup_quad(s, v, v + 4, v + 5, v + 1);
    soup_quad(s, v + 2, v + 3, v + 7, v + 6);
    soup_quad(s, v, v + 2, v + 6, v + 4);
    soup_quad(s, v + 1, v + 5, v + 7, v + 3);
}

/* An outward tetrahedron over four vertices that turn right-handed: (b-a, c-a, d-a) > 0. */
static inline void soup_tetrahedron(soup *s, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    soup_triangle(s, a, c, b);
    soup_triangle(s, a, b, d);
    soup_triangle(s, b, c, d);
    soup_triangle(s, c, a, d);
}

/* A torus of n x m quads. `klein` joins the last column to the first mirrored, which makes the
 * surface one-sided (the points then do not matter). */
static inline void soup_torus(soup *s, uint32_t n, uint32_t m, bool klein) {
    const double turn = 6.283185307179586;
    uint32_t v = s->vertex_count;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m; j++) {
            double u = turn * i / n, w = turn * j / m;
            soup_vertex(s, (2 + cos(w)) * cos(u), (2 + cos(w)) * sin(u), sin(w));
        }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < m; j++) {
            uint32_t j1 = (j + 1) % m, i1 = (i + 1) % n;
            bool mirrored = klein && i + 1 == n;
            uint32_t far = mirrored ? (m - j) % m : j, far1 = mirrored ? (m - j1) % m : j1;
            soup_quad(s, v + i * m + j, v + i1 * m + far, v + i1 * m + far1, v + i * m + j1);
        }
}

/* A strip of n quads that closes with a half turn. */
static inline void soup_moebius(soup *s, uint32_t n) {
    uint32_t v = s->vertex_count;
    for (uint32_t i = 0; i < n; i++) {
        double u = 6.283185307179586 * i / n, r = 0.4 * cos(u / 2), z = 0.4 * sin(u / 2);
        soup_vertex(s, (1 + r) * cos(u), (1 + r) * sin(u), z);
        soup_vertex(s, (1 - r) * cos(u), (1 - r) * sin(u), -z);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = v + 2 * i, b = i + 1 < n ? a + 2 : v + 1, c = i + 1 < n ? a + 3 : v;
        soup_quad(s, a, b, c, a + 1);
    }
}

/* Random triangles over few vertices, some of which name a vertex twice. */
static inline void soup_random(soup *s, test_random *random, uint32_t vertices,
                               uint32_t triangles) {
    for (uint32_t i = 0; i < vertices; i++)
        soup_vertex(s, test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                    test_random_real(random, -1, 1));
    for (uint32_t i = 0; i < triangles; i++)
        soup_triangle(s, test_random_below(random, vertices), test_random_below(random, vertices),
                      test_random_below(random, vertices));
}

#endif
