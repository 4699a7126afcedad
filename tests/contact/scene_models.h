/* Models of scenes: screw threads, gears, sheets, terrain, and bodies that fall into a bowl. */
#ifndef ABUT_TESTS_CONTACT_SCENE_MODELS_H
#define ABUT_TESTS_CONTACT_SCENE_MODELS_H

#include "contact/contact_models.h"

/* ---- threads: M20 x 2.5 (ISO 68-1), in centimetres ---- */

#define THREAD_PITCH 0.25
#define THREAD_PLAY 0.02 /* of the nut along the axis: 0.1 mm on either side of a tooth */

enum { THREAD_SEGMENTS = 48, THREAD_ROWS = 4 /* a pitch */ };

/* How wide the basic profile's tooth is along the axis, at a radius: P/8 at the major radius of 1,
 * with flanks of 30 degrees. */
static inline double thread_width(double r) {
    return THREAD_PITCH / 8 + 2 * tan(PI / 6) * (1 - r);
}

/* The k-th corner of the profile: r in x, z in z. */
static inline abut_vec3 thread_corner(bool is_nut, uint32_t k) {
    const double tip = is_nut ? 1.02 : 1, root = is_nut ? 1 - 0.54127 * THREAD_PITCH : 0.8466;
    const double play = is_nut ? THREAD_PLAY : 0;
    const double r = k % 4 < 2 ? tip : root, half = 0.5 * (thread_width(r) + play);
    const double along = k % 4 == 0 || k % 4 == 3 ? -half : half;
    return v3(r, 0, (k / 4 + (k % 4 == 3)) * THREAD_PITCH + along);
}

/* A right-handed thread of `turns` pitches about z, a bolt or a nut around it, its middle at the
 * origin. Rows of vertices go up with the helix: the end of row k is the beginning of row k + 4.
 * So both ends are helices with a step at angle 0, which a fan closes. */
static inline model thread_model(bool is_nut, uint32_t turns) {
    const uint32_t n = THREAD_SEGMENTS, rows = THREAD_ROWS * turns + 1;
    const double length = (turns + 1) * THREAD_PITCH, outer = 1.5;
    builder b = {0};
    uint32_t ring[2][THREAD_SEGMENTS + 1];
    for (uint32_t k = 0; k < rows; k++)
        for (uint32_t i = 0; i < n; i++) {
            const abut_vec3 c = thread_corner(is_nut, k);
            const double t = 2 * PI * i / n;
            add_point(&b,
                      v3(c.x * cos(t), c.x * sin(t), c.z + THREAD_PITCH * i / n - 0.5 * length));
        }
    for (uint32_t end = 0; end < 2; end++)
        for (uint32_t i = 0; i <= n; i++) {
            const double t = 2 * PI * i / n, z = end ? 0.5 * length : -0.5 * length;
            ring[end][i] = i == n || (!is_nut && i) ? ring[end][0]
                           : is_nut ? add_point(&b, v3(outer * cos(t), outer * sin(t), z))
                                    : add_point(&b, v3(0, 0, z));
        }
    const uint32_t first = b.triangle_count;
    for (uint32_t i = 0; i < n; i++) { /* as for a bolt; turned round below for a nut */
        const uint32_t j = (i + 1) % n, up = i + 1 == n ? THREAD_ROWS : 0;
        for (uint32_t k = 0; k + 1 + up < rows; k++)
            add_quad(&b, k * n + i, (k + up) * n + j, (k + 1 + up) * n + j, (k + 1) * n + i);
        add_triangle(&b, ring[0][i], up * n + j, i);
        if (up == 0)
            add_triangle(&b, ring[1][i], (rows - 1) * n + i, (rows - 1) * n + j);
        else
            add_triangle(&b, ring[1][i], (rows - 1 - up) * n + i, (rows - 1) * n + j);
        if (is_nut) {
            add_triangle(&b, ring[0][i], ring[0][i + 1], up * n + j);
            add_triangle(&b, ring[1][i], (rows - 1) * n + j, ring[1][i + 1]);
            add_quad(&b, ring[0][i], ring[1][i], ring[1][i + 1], ring[0][i + 1]);
        }
    }
    for (uint32_t k = 0; k < THREAD_ROWS; k++) { /* the steps, at angle 0 and at the last segment */
        const uint32_t top = rows - 1 - THREAD_ROWS + k;
        add_triangle(&b, ring[0][0], k * n, (k + 1) * n);
        add_triangle(&b, ring[1][n - 1], (top + 1) * n + n - 1, top * n + n - 1);
    }
    for (uint32_t i = first; i < b.triangle_count && is_nut; i++) {
        const uint32_t other = b.indices[3 * i + 1];
        b.indices[3 * i + 1] = b.indices[3 * i + 2];
        b.indices[3 * i + 2] = other;
    }
    return build_model(is_nut ? "nut" : "bolt", &b, 0, false);
}

/* ---- open meshes ---- */

/* Makes a model of a mesh that may be open; its centroid is the origin if `centred`. */
static inline model build_open_model(const char *name, builder *b, bool centred) {
    model m =
        model_of(name, test_mesh(NULL, b->points, b->point_count, b->indices, b->triangle_count), 0,
                 centred);
    free(b->points);
    free(b->indices);
    return m;
}

/* Half a sphere without thickness, open above, about its centroid. */
static inline model half_bowl_model(double radius, uint32_t segments, uint32_t rings) {
    builder b = {0};
    add_point(&b, v3(0, 0, -radius));
    for (uint32_t i = 1; i <= rings; i++)
        for (uint32_t k = 0; k < segments; k++) {
            const double t = PI / 2 * i / rings, p = 2 * PI * k / segments;
            add_point(&b, v3(radius * sin(t) * cos(p), radius * sin(t) * sin(p), -radius * cos(t)));
        }
    for (uint32_t k = 0; k < segments; k++) {
        const uint32_t l = (k + 1) % segments;
        add_triangle(&b, 0, 1 + l, 1 + k);
        for (uint32_t i = 0; i + 1 < rings; i++)
            add_quad(&b, 1 + i * segments + k, 1 + i * segments + l, 1 + (i + 1) * segments + l,
                     1 + (i + 1) * segments + k);
    }
    return build_open_model("half-bowl", &b, true);
}

/* ---- terrain ---- */

static inline double terrain_height(double x, double y) {
    return 0.4 * sin(0.9 * x) * cos(0.7 * y) + 0.05 * sin(5 * x + 3 * y);
}

/* Hills of 12 x 12 as a height field of 2 x 60 x 60 triangles; closed: with sides and a bottom. */
static inline model terrain_model(bool is_closed) {
    enum { SIDE = 60 };
    const double size = 12;
    builder b = {0};
    uint32_t rim[4 * SIDE], rims = 0;
    for (uint32_t i = 0; i <= SIDE; i++)
        for (uint32_t k = 0; k <= SIDE; k++) {
            const double x = size * (k / (double)SIDE - 0.5), y = size * (i / (double)SIDE - 0.5);
            add_point(&b, v3(x, y, terrain_height(x, y)));
        }
    for (uint32_t i = 0; i < SIDE; i++)
        for (uint32_t k = 0; k < SIDE; k++) {
            const uint32_t p = i * (SIDE + 1) + k, q = p + SIDE + 1;
            add_quad(&b, p, p + 1, q + 1, q);
        }
    if (!is_closed)
        return build_open_model("open-terrain", &b, false);
    for (uint32_t k = 0; k < SIDE; k++)
        rim[rims++] = k;
    for (uint32_t k = 0; k < SIDE; k++)
        rim[rims++] = k * (SIDE + 1) + SIDE;
    for (uint32_t k = SIDE; k > 0; k--)
        rim[rims++] = SIDE * (SIDE + 1) + k;
    for (uint32_t k = SIDE; k > 0; k--)
        rim[rims++] = k * (SIDE + 1);
    const uint32_t centre = add_point(&b, v3(0, 0, -3)), first = b.point_count;
    for (uint32_t k = 0; k < rims; k++)
        add_point(&b, v3(b.points[rim[k]].x, b.points[rim[k]].y, -3));
    for (uint32_t k = 0; k < rims; k++) {
        const uint32_t l = (k + 1) % rims;
        add_quad(&b, first + k, first + l, rim[l], rim[k]);
        add_triangle(&b, centre, first + l, first + k);
    }
    return build_model("terrain", &b, 0, false);
}

/* ---- by name, so that a pose which a scene prints can be looked at alone ---- */

/* The model of that name; without a BVH if there is none. */
static inline model scene_model(const char *name) {
    outline_point outline[128];
    model m = {.radius = 0};
    if (!strcmp(name, "nut"))
        m = thread_model(true, 4);
    else if (!strcmp(name, "bolt"))
        m = thread_model(false, 10);
    else if (!strcmp(name, "wheel"))
        m = star_model("wheel", outline, gear_outline(16, outline), -0.15, 0.15, 1, 0);
    else if (!strcmp(name, "floor"))
        m = box_model("floor", 8, 8, 0.5, 1);
    else if (!strcmp(name, "leaf"))
        m = shape_model("leaf", ABUT_SHAPE_SHEET, 8, 8, 0, 1);
    else if (!strcmp(name, "half-bowl"))
        m = half_bowl_model(0.5, 24, 8);
    else if (!strcmp(name, "terrain"))
        m = terrain_model(true);
    else if (!strcmp(name, "open-terrain"))
        m = terrain_model(false);
    else if (!strcmp(name, "fence")) /* a side of it */
        m = box_model("fence", 0.5, 13, 6, 1);
    else if (!strcmp(name, "stone"))
        m = box_model("stone", 0.6, 0.6, 0.6, 1);
    else if (!strcmp(name, "ring"))
        m = shape_model("ring", ABUT_SHAPE_TORUS, 20, 12, 0, 0.9);
    else if (!strcmp(name, "basin"))
        m = bowl_model(3, 0.4, 32, 10, 0);
    else if (!strcmp(name, "shaft")) { /* above the basin, as wide */
        for (int i = 0; i < 64; i++)
            outline[i] = (outline_point){(i < 32 ? 3 : 2.6) * cos(2 * PI * (i % 32) / 32),
                                         (i < 32 ? 3 : 2.6) * sin(2 * PI * (i % 32) / 32)};
        m = ring_model("shaft", outline, outline + 32, 32, 0, 30, 0);
    } else if (!strcmp(name, "basin-torus"))
        m = shape_model("basin-torus", ABUT_SHAPE_TORUS, 20, 10, 0, 0.9);
    else if (!strcmp(name, "basin-knot"))
        m = knot_model(0.35, 48, 6, 0.9);
    else if (!strcmp(name, "basin-gear"))
        m = star_model("basin-gear", outline, gear_outline(8, outline), -0.25, 0.25, 1, 0.8);
    else if (!strcmp(name, "basin-letter"))
        m = shape_model("basin-letter", ABUT_SHAPE_LETTER_E, 2, 0, 0, 0.9);
    snprintf(m.name, sizeof m.name, "%s", name);
    return m;
}

#endif
