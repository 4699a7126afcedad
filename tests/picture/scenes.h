/* Small things to look at, shared by the picture tests. */
#ifndef ABUT_TEST_SCENES_H
#define ABUT_TEST_SCENES_H

#include "support/support.h"

#include <math.h>
#include <stdlib.h>

static const abut_pose at_home = {{0, 0, 0, 0}, {0, 0, 0}};

/* The square [-half, half]^2 at height z, facing +z. */
static inline abut_mesh *square(double half, double z) {
    double p[] = {-half, -half, z, half, -half, z, half, half, z, -half, half, z};
    static const uint32_t t[] = {0, 1, 2, 0, 2, 3};
    return test_mesh(NULL, p, 4, t, 2);
}

static inline abut_mesh *box(abut_vec3 middle, double half) {
    double p[24];
    for (int i = 0; i < 8; i++) {
        p[3 * i] = middle.x + (i & 1 ? half : -half);
        p[3 * i + 1] = middle.y + (i & 2 ? half : -half);
        p[3 * i + 2] = middle.z + (i & 4 ? half : -half);
    }
    static const uint32_t t[] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                 2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    return test_mesh(NULL, p, 8, t, 12);
}

/* A sphere of n x n/2 quads; `soup`: no two triangles share a vertex. */
static inline abut_mesh *ball(uint32_t n, bool soup) {
    const double pi = 3.14159265358979323846;
    uint32_t m = n / 2, count = 2 * n * m;
    AUTO_FREE double *p = malloc(count * 9 * sizeof *p);
    AUTO_FREE uint32_t *t = malloc(count * 3 * sizeof *t);
    uint32_t used = 0;
    assert_true(p && t);
    for (uint32_t j = 0; j <= m; j++)
        for (uint32_t i = 0; i < n; i++) {
            double a = 2 * pi * i / n, b = pi * j / m, *q = p + 3 * (j * n + i);
            q[0] = sin(b) * cos(a);
            q[1] = sin(b) * sin(a);
            q[2] = cos(b);
        }
    for (uint32_t j = 0; j < m; j++)
        for (uint32_t i = 0; i < n; i++) {
            uint32_t a = j * n + i, b = j * n + (i + 1) % n, c = a + n, d = b + n;
            const uint32_t quad[6] = {a, c, d, a, d, b};
            memcpy(t + 3 * used, quad, sizeof quad);
            used += 2;
        }
    abut_mesh *mesh;
    if (soup) {
        double *loose = malloc(count * 9 * sizeof *loose);
        assert_non_null(loose);
        for (uint32_t i = 0; i < 3 * count; i++)
            memcpy(loose + 3 * i, p + 3 * t[i], 3 * sizeof *loose);
        mesh = test_mesh(NULL, loose, 3 * count, NULL, count);
        free(loose);
    } else {
        mesh = test_mesh(NULL, p, n * (m + 1), t, count);
    }
    return mesh;
}

/* Looking down at the plane z = 0 with y up: with a parallel camera the square of half size 1 fills
 * all but 6% on each side of a square picture. */
static inline abut_picture_options plan_view(uint32_t size) {
    abut_picture_options options = abut_picture_options_default();
    options.width = options.height = size;
    options.eye_direction = (abut_vec3){0, 0, 1};
    options.up = (abut_vec3){0, 1, 0};
    options.field_of_view = -1;
    options.background = (abut_colour){1, 1, 1, 1};
    return options;
}

static inline abut_mesh_style painted(float r, float g, float b, float a) {
    abut_mesh_style style = abut_mesh_style_default();
    style.colour = (abut_colour){r, g, b, a};
    return style;
}

/* Adds a mesh and gives up the caller's hold on it. */
static inline void add_mesh(abut_picture *picture, abut_mesh *mesh, abut_mesh_style style) {
    assert_ok(abut_picture_add_mesh(picture, mesh, at_home, &style));
    abut_mesh_destroy(mesh);
}

/* Renders and destroys; free() the result. */
static inline uint8_t *develop(abut_picture *picture, size_t width, size_t height) {
    uint8_t *pixels = malloc(width * height * 4);
    assert_non_null(pixels);
    assert_ok(abut_picture_render(picture, width * height * 4, pixels));
    abut_picture_destroy(picture);
    return pixels;
}

static inline double linear(uint8_t byte) {
    double s = byte / 255.0;
    return s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
}

/* Everything at once: floor, smooth, edges, see-through, colours a triangle, lines and dots. */
static inline abut_status add_everything(abut_picture *picture) {
    static abut_colour colours[12];
    for (int i = 0; i < 12; i++)
        colours[i] = (abut_colour){(float)i / 12, 0.5f, 0.5f, i % 3 ? 1 : 0.4f};
    abut_mesh *first = ball(24, true), *second = box((abut_vec3){0.8, 0, 0}, 0.7);
    abut_mesh *third = square(1.5, -0.2);
    abut_mesh_style style = abut_mesh_style_default();
    style.smooth = style.edges = true;
    abut_status status = abut_picture_add_mesh(picture, first, at_home, &style);
    style.triangle_colour = colours;
    style.smooth = false;
    if (!status)
        status = abut_picture_add_mesh(picture, second, at_home, &style);
    style = painted(0.2f, 0.6f, 0.3f, 0.5f);
    if (!status)
        status = abut_picture_add_mesh(picture, third, at_home, &style);
    abut_mesh_destroy(first);
    abut_mesh_destroy(second);
    abut_mesh_destroy(third);
    for (int i = 0; i < 9 && !status; i++) {
        double s = i / 4.0 - 1;
        status = abut_picture_add_line(picture, (abut_vec3){-2, s, 0}, (abut_vec3){2, -s, s}, i % 3,
                                       (abut_colour){0.8f, 0, 0, i % 2 ? 1 : 0.5f});
        if (!status)
            status = abut_picture_add_point(picture, (abut_vec3){s, s, s}, i, (abut_colour){0});
    }
    return status;
}

#endif
