/* Closed concave models for tests of contacts: generated ones, and the files of a folder.
 *
 * Generated: rings and trays with a known clearance, prisms of a star-shaped outline (gears, keys),
 * bowls, bumpy spheres, knots, plates with pegs. All are closed, oriented and free of
 * self-intersections. */
#ifndef ABUT_TESTS_CONTACT_MODELS_H
#define ABUT_TESTS_CONTACT_MODELS_H

#include "support/pose.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

/* A mesh that is being built. */
typedef struct builder {
    abut_vec3 *points;
    uint32_t *indices;
    uint32_t point_count, triangle_count, point_capacity, triangle_capacity;
} builder;

static inline uint32_t add_point(builder *b, abut_vec3 point) {
    if (b->point_count == b->point_capacity) {
        b->point_capacity = 2 * b->point_capacity + 256;
        b->points = realloc(b->points, b->point_capacity * sizeof *b->points);
        assert_non_null(b->points);
    }
    b->points[b->point_count] = point;
    return b->point_count++;
}

static inline void add_triangle(builder *b, uint32_t i, uint32_t j, uint32_t k) {
    if (b->triangle_count == b->triangle_capacity) {
        b->triangle_capacity = 2 * b->triangle_capacity + 256;
        b->indices = realloc(b->indices, 3 * b->triangle_capacity * sizeof *b->indices);
        assert_non_null(b->indices);
    }
    uint32_t *corner = b->indices + 3 * b->triangle_count++;
    corner[0] = i;
    corner[1] = j;
    corner[2] = k;
}

static inline void add_quad(builder *b, uint32_t i, uint32_t j, uint32_t k, uint32_t l) {
    add_triangle(b, i, j, k);
    add_triangle(b, i, k, l);
}

static inline uint64_t edge_key(uint32_t i, uint32_t j) {
    return i < j ? (uint64_t)i << 32 | j : (uint64_t)j << 32 | i;
}

/* Cuts every triangle into four. */
static inline void subdivide(builder *b) {
    const uint32_t count = b->triangle_count, slots = 8 * count;
    uint64_t *keys = calloc(slots, sizeof *keys);
    uint32_t *middles = calloc(slots, sizeof *middles);
    assert_true(keys && middles);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t corner[3], middle[3];
        memcpy(corner, b->indices + 3 * t, sizeof corner);
        for (int k = 0; k < 3; k++) {
            const uint32_t i = corner[k], j = corner[(k + 1) % 3];
            const uint64_t key = edge_key(i, j);
            uint32_t slot = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40) % slots;
            while (keys[slot] && keys[slot] != key)
                slot = (slot + 1) % slots;
            if (!keys[slot]) {
                keys[slot] = key;
                middles[slot] = add_point(b, v3_lerp(b->points[i], b->points[j], 0.5));
            }
            middle[k] = middles[slot];
        }
        memcpy(b->indices + 3 * t, middle, sizeof middle);
        for (int k = 0; k < 3; k++)
            add_triangle(b, corner[k], middle[k], middle[(k + 2) % 3]);
    }
    free(keys);
    free(middles);
}

/* A body of a test: about the origin of its mesh, with the inertia of density 1. */
typedef struct model {
    char name[64];
    abut_bvh *bvh;
    double size;   /* longest side */
    double radius; /* of the sphere about the origin */
    abut_mesh_report report;
} model;

/* Makes a model of a mesh, which it destroys. A size above 0 is that of the longest side
 * afterwards; `centred` moves the centroid to the origin. */
static inline model model_of(const char *name, abut_mesh *raw, double size, bool centred) {
    model m = {.radius = 0};
    abut_mesh *mesh;
    snprintf(m.name, sizeof m.name, "%s", name);
    abut_box box = abut_mesh_bounds(raw);
    double longest = v3_max_abs(v3_sub(box.hi, box.lo)), scale = size > 0 ? size / longest : 1;
    abut_vec3 origin = centred ? v3_scale(test_examine(raw).centroid, -scale) : v3(0, 0, 0);
    assert_ok(abut_mesh_transform(raw, scale, (abut_pose){{0, 0, 0, 1}, origin}, &mesh));
    abut_mesh_destroy(raw);
    m.report = test_examine(mesh);
    assert_ok(abut_bvh_create(mesh, NULL, &m.bvh));
    box = abut_mesh_bounds(mesh);
    m.size = v3_max_abs(v3_sub(box.hi, box.lo));
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        abut_vec3 point = v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]);
        m.radius = real_max(m.radius, v3_length(point));
    }
    abut_mesh_destroy(mesh);
    return m;
}

static inline model build_model(const char *name, builder *b, double size, bool centred) {
    model m =
        model_of(name, test_mesh(NULL, b->points, b->point_count, b->indices, b->triangle_count),
                 size, centred);
    if (!(m.report.is_closed && m.report.is_oriented && m.report.volume > 0))
        fail_msg("%s is not a closed body", name);
    free(b->points);
    free(b->indices);
    return m;
}

static inline model shape_model(const char *name, abut_shape_kind kind, uint32_t segments,
                                uint32_t rings, double radius2, double size) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    shape.segments = segments ? segments : shape.segments;
    shape.rings = rings ? rings : shape.rings;
    shape.radius2 = radius2 > 0 ? radius2 : shape.radius2;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return model_of(name, mesh, size, true);
}

/* A box; `segments` quads a side. */
static inline model box_model(const char *name, double x, double y, double z, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    shape.extent = v3(x, y, z);
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return model_of(name, mesh, 0, false);
}

typedef struct outline_point {
    double x, y;
} outline_point;

/* A prism between two outlines of `count` points each, counterclockwise, from z0 to z1. */
static inline model ring_model(const char *name, const outline_point *outer,
                               const outline_point *inner, uint32_t count, double z0, double z1,
                               int subdivisions) {
    builder b = {0};
    for (int k = 0; k < 4; k++)
        for (uint32_t i = 0; i < count; i++) {
            const outline_point p = k < 2 ? outer[i] : inner[i];
            add_point(&b, v3(p.x, p.y, k % 2 ? z1 : z0));
        }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t j = (i + 1) % count, n = count;
        add_quad(&b, i, j, n + j, n + i);
        add_quad(&b, 2 * n + j, 2 * n + i, 3 * n + i, 3 * n + j);
        add_quad(&b, n + i, n + j, 3 * n + j, 3 * n + i);
        add_quad(&b, j, i, 2 * n + i, 2 * n + j);
    }
    for (int k = 0; k < subdivisions; k++)
        subdivide(&b);
    return build_model(name, &b, 0, false);
}

/* A prism of an outline that is star-shaped about the origin, in `layers` along z. */
static inline model star_model(const char *name, const outline_point *outline, uint32_t count,
                               double z0, double z1, uint32_t layers, double size) {
    builder b = {0};
    for (uint32_t k = 0; k <= layers; k++)
        for (uint32_t i = 0; i < count; i++)
            add_point(&b, v3(outline[i].x, outline[i].y, z0 + (z1 - z0) * k / layers));
    const uint32_t low = add_point(&b, v3(0, 0, z0)), high = add_point(&b, v3(0, 0, z1));
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t j = (i + 1) % count;
        for (uint32_t k = 0; k < layers; k++)
            add_quad(&b, k * count + i, k * count + j, (k + 1) * count + j, (k + 1) * count + i);
        add_triangle(&b, low, j, i);
        add_triangle(&b, high, layers * count + i, layers * count + j);
    }
    return build_model(name, &b, size, false);
}

/* A block of 2 x 2 with a hole through it along z, for a peg of half sides x and y. */
static inline model hole_model(double x, double y, double clearance, int subdivisions) {
    const double hx = x + clearance, hy = y + clearance;
    const outline_point outer[] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
    const outline_point inner[] = {{hx, hy}, {-hx, hy}, {-hx, -hy}, {hx, -hy}};
    return ring_model("hole", outer, inner, 4, -0.5, 0.5, subdivisions);
}

/* A block of 2 x 2 x 1.2 with a pocket for a unit cube: its floor is z = 0, its rim z = 1. */
static inline model tray_model(double clearance, int subdivisions, double size) {
    const double side[] = {1, 1, 0.5 + clearance, 0.5 + clearance}, z[] = {-0.2, 1, 1, 0};
    builder b = {0};
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 4; i++)
            add_point(&b,
                      v3(i == 0 || i == 3 ? side[k] : -side[k], i < 2 ? side[k] : -side[k], z[k]));
    for (uint32_t k = 0; k < 3; k++)
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t j = (i + 1) % 4;
            add_quad(&b, 4 * k + i, 4 * k + j, 4 * k + 4 + j, 4 * k + 4 + i);
        }
    add_quad(&b, 3, 2, 1, 0);
    add_quad(&b, 12, 13, 14, 15);
    for (int k = 0; k < subdivisions; k++)
        subdivide(&b);
    return build_model("tray", &b, size, size > 0);
}

/* A spherical shell below z = 0, from `radius` - `wall` to `radius`. */
static inline model bowl_model(double radius, double wall, uint32_t segments, uint32_t rings,
                               double size) {
    builder b = {0};
    const uint32_t half = 1 + rings * segments;
    for (int s = 0; s < 2; s++) {
        const double r = s ? radius : radius - wall;
        add_point(&b, v3(0, 0, -r));
        for (uint32_t i = 1; i <= rings; i++)
            for (uint32_t k = 0; k < segments; k++) {
                const double t = PI / 2 * i / rings, p = 2 * PI * k / segments;
                add_point(&b, v3(r * sin(t) * cos(p), r * sin(t) * sin(p), -r * cos(t)));
            }
    }
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t i = 0; i < rings; i++)
            for (uint32_t k = 0; k < segments; k++) {
                const uint32_t l = (k + 1) % segments, base = s * half;
                const uint32_t p = i ? base + 1 + (i - 1) * segments + k : base;
                const uint32_t q = i ? base + 1 + (i - 1) * segments + l : base;
                const uint32_t r = base + 1 + i * segments + l, t = base + 1 + i * segments + k;
                if (s)
                    add_triangle(&b, p, r, t);
                else
                    add_triangle(&b, p, t, r);
                if (i && s)
                    add_triangle(&b, p, q, r);
                else if (i)
                    add_triangle(&b, p, r, q);
            }
    for (uint32_t k = 0; k < segments; k++) {
        const uint32_t l = (k + 1) % segments, rim = 1 + (rings - 1) * segments;
        add_quad(&b, rim + k, half + rim + k, half + rim + l, rim + l);
    }
    return build_model("bowl", &b, size, size > 0);
}

/* An icosphere whose radius varies by up to `bump` of it, `waves` times around. */
static inline model bumpy_model(const char *name, uint32_t segments, double bump, double waves,
                                double size) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh;
    builder b = {0};
    shape.radius = 1;
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        abut_vec3 p = v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]);
        double r = 1 + bump * sin(waves * p.x) * sin(waves * p.y + 1) * sin(waves * p.z + 2);
        add_point(&b, v3_scale(p, r));
    }
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        const uint32_t *corner = abut_mesh_indices(mesh) + 3 * i;
        add_triangle(&b, corner[0], corner[1], corner[2]);
    }
    abut_mesh_destroy(mesh);
    return build_model(name, &b, size, true);
}

/* A tube of radius `tube` along the torus knot (2, 3). */
static inline model knot_model(double tube, uint32_t segments, uint32_t rings, double size) {
    builder b = {0};
    for (uint32_t i = 0; i < segments; i++) {
        abut_vec3 at[2];
        for (int k = 0; k < 2; k++) {
            const double t = 2 * PI * i / segments + 1e-5 * k, r = 2 + cos(3 * t);
            at[k] = v3(r * cos(2 * t), r * sin(2 * t), sin(3 * t));
        }
        const abut_vec3 along = v3_normalise(v3_sub(at[1], at[0]));
        const abut_vec3 radial = v3(at[0].x, at[0].y, 0);
        const abut_vec3 u = v3_normalise(v3_cross(along, radial)), v = v3_cross(u, along);
        for (uint32_t k = 0; k < rings; k++) {
            const double p = 2 * PI * k / rings;
            add_point(&b, v3_along(v3_along(at[0], -tube * cos(p), u), tube * sin(p), v));
        }
    }
    for (uint32_t i = 0; i < segments; i++)
        for (uint32_t k = 0; k < rings; k++) {
            const uint32_t j = (i + 1) % segments, l = (k + 1) % rings;
            add_quad(&b, i * rings + k, i * rings + l, j * rings + l, j * rings + k);
        }
    return build_model("knot", &b, size, true);
}

/* A plate over a grid, its top at z = 0 and its bottom at `base`. Every second cell along both axes
 * is a peg of `height`, or a pocket if that is negative. There are x_count and y_count lines of the
 * grid: even numbers, so that pegs are inside. */
static inline model plate_model(const char *name, const double *x_lines, uint32_t x_count,
                                const double *y_lines, uint32_t y_count, double height, double base,
                                int subdivisions, double size) {
    enum { LINES = 16 };
    builder b = {0};
    uint32_t low[LINES][LINES], high[LINES][LINES], rim[4 * LINES], rims = 0;
    assert_true(x_count <= LINES && y_count <= LINES && x_count % 2 == 0 && y_count % 2 == 0);
    for (uint32_t y = 0; y < y_count; y++)
        for (uint32_t x = 0; x < x_count; x++) {
            const bool inner = x > 0 && x + 1 < x_count && y > 0 && y + 1 < y_count;
            low[y][x] = add_point(&b, v3(x_lines[x], y_lines[y], 0));
            high[y][x] = inner ? add_point(&b, v3(x_lines[x], y_lines[y], height)) : ABUT_NONE;
        }
    for (uint32_t y = 0; y + 1 < y_count; y++)
        for (uint32_t x = 0; x + 1 < x_count; x++) {
            const uint32_t l[4] = {low[y][x], low[y][x + 1], low[y + 1][x + 1], low[y + 1][x]};
            const uint32_t h[4] = {high[y][x], high[y][x + 1], high[y + 1][x + 1], high[y + 1][x]};
            const bool is_peg = x % 2 && y % 2;
            const uint32_t *top = is_peg ? h : l;
            add_quad(&b, top[0], top[1], top[2], top[3]);
            for (int k = 0; k < 4 && is_peg; k++)
                add_quad(&b, l[k], l[(k + 1) % 4], h[(k + 1) % 4], h[k]);
        }
    for (uint32_t x = 0; x + 1 < x_count; x++)
        rim[rims++] = low[0][x];
    for (uint32_t y = 0; y + 1 < y_count; y++)
        rim[rims++] = low[y][x_count - 1];
    for (uint32_t x = x_count - 1; x > 0; x--)
        rim[rims++] = low[y_count - 1][x];
    for (uint32_t y = y_count - 1; y > 0; y--)
        rim[rims++] = low[y][0];
    const double middle_x = 0.5 * (x_lines[0] + x_lines[x_count - 1]);
    const double middle_y = 0.5 * (y_lines[0] + y_lines[y_count - 1]);
    const uint32_t centre = add_point(&b, v3(middle_x, middle_y, base)), first = b.point_count;
    for (uint32_t k = 0; k < rims; k++) {
        const abut_vec3 p = b.points[rim[k]];
        add_point(&b, v3(p.x, p.y, base));
    }
    for (uint32_t k = 0; k < rims; k++) {
        const uint32_t l = (k + 1) % rims;
        add_quad(&b, first + k, first + l, rim[l], rim[k]);
        add_triangle(&b, centre, first + l, first + k);
    }
    for (int k = 0; k < subdivisions; k++)
        subdivide(&b);
    return build_model(name, &b, size, size > 0);
}

/* Trapezoid teeth about a pitch circle of radius 1. */
static inline uint32_t gear_outline(uint32_t teeth, outline_point *outline) {
    const double pitch = 2 * PI / teeth, half = pitch / 4 - 0.01 * pitch, slope = tan(PI / 9);
    const double radii[4] = {0.87, 1.1, 1.1, 0.87}, side[4] = {-1, -1, 1, 1};
    for (uint32_t i = 0; i < 4 * teeth; i++) {
        const double r = radii[i % 4];
        const double t = i / 4 * pitch + side[i % 4] * (half + (1 - r) * slope);
        outline[i] = (outline_point){r * cos(t), r * sin(t)};
    }
    return 4 * teeth;
}

/* Five waves around a circle of radius 0.3 + `grow`. */
static inline uint32_t key_outline(double grow, outline_point *outline) {
    for (uint32_t i = 0; i < 60; i++) {
        const double t = 2 * PI * i / 60, r = 0.3 + 0.08 * cos(5 * t) + grow;
        outline[i] = (outline_point){r * cos(t), r * sin(t)};
    }
    return 60;
}

/* All generated models of random pairs, of size 1. Returns their number. */
static inline uint32_t make_models(model *models) {
    outline_point outline[128];
    uint32_t n = 0, count;
    models[n++] = box_model("cube", 1, 1, 1, 6);
    models[n++] = box_model("coarse-cube", 1, 1, 1, 1);
    models[n++] = shape_model("torus", ABUT_SHAPE_TORUS, 32, 14, 0, 1);
    models[n++] = shape_model("letter-e", ABUT_SHAPE_LETTER_E, 6, 0, 0, 1);
    models[n++] = shape_model("letter-g", ABUT_SHAPE_LETTER_G, 6, 0, 0, 1);
    count = gear_outline(16, outline);
    models[n++] = star_model("gear", outline, count, -0.15, 0.15, 3, 1);
    models[n++] = tray_model(0.1, 2, 1);
    const double lines[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    models[n++] = plate_model("peg-plate", lines, 10, lines, 10, 1, -0.5, 0, 1);
    models[n++] = bowl_model(1, 0.15, 24, 8, 1);
    models[n++] = bumpy_model("bumpy-low", 6, 0.25, 4, 1);
    models[n++] = bumpy_model("bumpy-high", 8, 0.15, 9, 1);
    models[n++] = knot_model(0.35, 72, 8, 1);
    models[n++] = shape_model("teapot", ABUT_SHAPE_TEAPOT_SOLID, 3, 0, 0, 1);
    models[n++] = shape_model("stairs", ABUT_SHAPE_STAIRS, 8, 6, 0, 1);
    models[n++] = shape_model("tube", ABUT_SHAPE_TUBE, 32, 4, 0, 1);
    models[n++] = box_model("small-cube", 0.2, 0.2, 0.2, 2);
    models[n++] = shape_model("small-torus", ABUT_SHAPE_TORUS, 16, 8, 0, 0.3);
    return n;
}

static inline bool ends_with(const char *text, const char *end) {
    const size_t length = strlen(text), part = strlen(end);
    return length >= part && !strcmp(text + length - part, end);
}

static inline int by_name(const void *a, const void *b) {
    return strcmp(((const model *)a)->name, ((const model *)b)->name);
}

/* Adds the closed .ply, .obj and .stl meshes of the folder that ABUT_TEST_MODELS names, if it is
 * set, scaled to size 1. Returns the number of models then. */
static inline uint32_t add_model_files(model *models, uint32_t count, uint32_t capacity) {
    const char *folder = getenv("ABUT_TEST_MODELS");
    const uint32_t first = count;
    DIR *entries = folder && folder[0] ? opendir(folder) : NULL;
    if (folder && folder[0] && !entries)
        fail_msg("ABUT_TEST_MODELS=%s is not a folder", folder);
    for (struct dirent *e; entries && (e = readdir(entries));) {
        char path[1024];
        abut_mesh *raw, *mesh;
        if (count == capacity || !(ends_with(e->d_name, ".ply") || ends_with(e->d_name, ".obj") ||
                                   ends_with(e->d_name, ".stl")))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (abut_mesh_read(NULL, path, NULL, &raw))
            continue;
        assert_ok(abut_mesh_weld(raw, 0, &mesh));
        abut_mesh_destroy(raw);
        const abut_mesh_report report = test_examine(mesh);
        if (!report.is_closed || !report.is_oriented || !report.is_solid) {
            abut_mesh_destroy(mesh);
            continue;
        }
        models[count++] = model_of(e->d_name, mesh, 1, true);
    }
    if (entries)
        closedir(entries);
    qsort(models + first, count - first, sizeof *models, by_name);
    return count;
}

#endif
