/* Slow and plain checks of a mesh, independent of the mesh module. */
#ifndef ABUT_TEST_SHAPE_CHECK_H
#define ABUT_TEST_SHAPE_CHECK_H

#include "support/support.h"

#include "base/math_shared.h"

#include <stdlib.h>

typedef struct mesh_facts {
    uint32_t vertices, triangles, edges;
    uint32_t open_edges;     /* one face */
    uint32_t crowded_edges;  /* more than two */
    uint32_t flipped_edges;  /* two faces that run along them the same way */
    uint32_t unused;         /* vertices without a face */
    uint32_t coincident;     /* vertices at the place of another */
    uint32_t split_vertices; /* faces around them form more than one fan */
    uint32_t flat;           /* triangles without area */
    uint32_t components;
    int64_t euler;
    double volume, area, longest_edge, least_angle; /* radians */
} mesh_facts;

static inline vec3 check_position(const abut_mesh *mesh, uint32_t vertex) {
    return v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[vertex]);
}

static inline void check_triangle(const abut_mesh *mesh, uint32_t triangle, vec3 corner[3]) {
    for (uint32_t k = 0; k < 3; k++)
        corner[k] = check_position(mesh, abut_mesh_indices(mesh)[3 * triangle + k]);
}

typedef struct half_edge {
    uint32_t low, high, face;
    bool backwards;
} half_edge;

static int compare_half_edges(const void *a, const void *b) {
    const half_edge *p = a, *q = b;
    if (p->low != q->low)
        return p->low < q->low ? -1 : 1;
    if (p->high != q->high)
        return p->high < q->high ? -1 : 1;
    return p->face < q->face ? -1 : p->face > q->face;
}

static int compare_positions(const void *a, const void *b) {
    const vec3 *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    if (p->y != q->y)
        return p->y < q->y ? -1 : 1;
    return p->z < q->z ? -1 : p->z > q->z;
}

static uint32_t find_root(uint32_t *parent, uint32_t i) {
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void check_edges(const abut_mesh *mesh, mesh_facts *facts) {
    size_t count = 3 * (size_t)facts->triangles;
    AUTO_FREE half_edge *halves = malloc(count * sizeof *halves);
    /* corners of faces, joined if faces share an edge: one set a fan */
    uint32_t *fans = malloc(count * sizeof *fans), *shells = malloc(count * sizeof *shells);
    const uint32_t *index = abut_mesh_indices(mesh);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t a = index[i], b = index[i % 3 == 2 ? i - 2 : i + 1];
        halves[i] = (half_edge){a < b ? a : b, a < b ? b : a, i / 3, a > b};
        fans[i] = i;
        shells[i] = i / 3 * 3;
    }
    qsort(halves, count, sizeof *halves, compare_half_edges);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && halves[end].low == halves[i].low &&
               halves[end].high == halves[i].high)
            end++;
        facts->edges++;
        facts->open_edges += end - i == 1;
        facts->crowded_edges += end - i > 2;
        if (end - i == 2) {
            facts->flipped_edges += halves[i].backwards == halves[i + 1].backwards;
            shells[find_root(shells, 3 * halves[i].face)] =
                find_root(shells, 3 * halves[i + 1].face);
            for (uint32_t k = 0; k < 9; k++) {
                uint32_t p = 3 * halves[i].face + k / 3, q = 3 * halves[i + 1].face + k % 3;
                if (index[p] == index[q] &&
                    (index[p] == halves[i].low || index[p] == halves[i].high))
                    fans[find_root(fans, p)] = find_root(fans, q);
            }
        }
        i = end;
    }
    uint32_t *seen = calloc(facts->vertices, sizeof *seen), fan_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        seen[index[i]] = 1;
        fan_count += fans[i] == i;
        facts->components += i % 3 == 0 && shells[i] == i;
    }
    for (uint32_t i = 0; i < facts->vertices; i++)
        facts->unused += !seen[i];
    facts->split_vertices = fan_count - (facts->vertices - facts->unused);
    facts->euler = (int64_t)facts->vertices - facts->unused - facts->edges + facts->triangles;
    free(seen);
    free(shells);
    free(fans);
}

static inline mesh_facts check_mesh(const abut_mesh *mesh) {
    mesh_facts facts = {.vertices = abut_mesh_vertex_count(mesh),
                        .triangles = abut_mesh_triangle_count(mesh),
                        .least_angle = 4};
    check_edges(mesh, &facts);
    vec3 *sorted = malloc(facts.vertices * sizeof *sorted);
    memcpy(sorted, abut_mesh_local_positions(mesh), facts.vertices * sizeof *sorted);
    qsort(sorted, facts.vertices, sizeof *sorted, compare_positions);
    for (uint32_t i = 1; i < facts.vertices; i++)
        facts.coincident += !compare_positions(&sorted[i - 1], &sorted[i]);
    free(sorted);
    for (uint32_t i = 0; i < facts.triangles; i++) {
        vec3 c[3];
        check_triangle(mesh, i, c);
        vec3 normal = v3_cross(v3_sub(c[1], c[0]), v3_sub(c[2], c[0]));
        facts.flat += !(v3_max_abs(normal) > 0);
        facts.area += 0.5 * v3_length(normal);
        facts.volume += v3_dot(c[0], v3_cross(c[1], c[2])) / 6;
        for (int k = 0; k < 3; k++) {
            vec3 e = v3_sub(c[(k + 1) % 3], c[k]), f = v3_sub(c[(k + 2) % 3], c[k]);
            double angle = atan2(v3_length(v3_cross(e, f)), v3_dot(e, f));
            facts.longest_edge = real_max(facts.longest_edge, v3_length(e));
            facts.least_angle = real_min(facts.least_angle, angle);
        }
    }
    return facts;
}

static inline abut_mesh *check_make(const abut_shape *shape) {
    abut_mesh *mesh = NULL;
    assert_ok(abut_shape_create(NULL, shape, &mesh));
    assert_non_null(mesh);
    return mesh;
}

/* Fails unless the mesh is sound: no crowded, flipped, split, flat, unused or coincident parts. */
static inline void assert_sound(const mesh_facts *facts) {
    assert_int_equal(0, facts->crowded_edges);
    assert_int_equal(0, facts->flipped_edges);
    assert_int_equal(0, facts->unused);
    assert_int_equal(0, facts->coincident);
    assert_int_equal(0, facts->split_vertices);
    assert_int_equal(0, facts->flat);
}

/* ... and unless it is one closed surface around a volume. */
static inline void assert_solid(const mesh_facts *facts, int64_t euler) {
    assert_sound(facts);
    assert_int_equal(0, facts->open_edges);
    assert_int_equal(1, facts->components);
    assert_int_equal(euler, facts->euler);
    assert_true(facts->volume > 0);
}

/* ---- referees ---- */

/* Distance from a point to a segment, and to a triangle: its plane where the foot is inside, else
 * the nearest of its sides. */
static inline double referee_segment(vec3 p, vec3 a, vec3 b) {
    vec3 ab = v3_sub(b, a), ap = v3_sub(p, a);
    double t = real_clamp(v3_dot(ap, ab) / v3_length_sq(ab), 0, 1);
    return v3_length(v3_sub(ap, v3_scale(ab, t)));
}

static inline double referee_triangle(vec3 p, const vec3 c[3]) {
    vec3 normal = v3_normalise(v3_cross(v3_sub(c[1], c[0]), v3_sub(c[2], c[0])));
    bool inside = true;
    for (int k = 0; k < 3; k++) {
        vec3 side = v3_sub(c[(k + 1) % 3], c[k]);
        inside &= v3_dot(v3_cross(normal, side), v3_sub(p, c[k])) >= 0;
    }
    if (inside)
        return fabs(v3_dot(normal, v3_sub(p, c[0])));
    double nearest = HUGE_VAL;
    for (int k = 0; k < 3; k++)
        nearest = real_min(nearest, referee_segment(p, c[k], c[(k + 1) % 3]));
    return nearest;
}

/* Signed solid angle of a triangle (Van Oosterom & Strackee 1983). */
static inline double referee_angle(vec3 p, const vec3 c[3]) {
    vec3 a = v3_sub(c[0], p), b = v3_sub(c[1], p), d = v3_sub(c[2], p);
    double la = v3_length(a), lb = v3_length(b), ld = v3_length(d);
    double below = la * lb * ld + v3_dot(a, b) * ld + v3_dot(b, d) * la + v3_dot(d, a) * lb;
    return 2 * atan2(v3_dot(a, v3_cross(b, d)), below);
}

static inline double referee_winding(const abut_mesh *mesh, vec3 p) {
    double sum = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        vec3 c[3];
        check_triangle(mesh, i, c);
        sum += referee_angle(p, c);
    }
    return sum / (4 * 3.14159265358979323846);
}

/* Signed distance to a closed mesh, unsigned to an open one, by looking at every triangle. */
static inline double referee_distance(const abut_mesh *mesh, vec3 p, bool closed) {
    double nearest = HUGE_VAL;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        vec3 c[3];
        check_triangle(mesh, i, c);
        nearest = real_min(nearest, referee_triangle(p, c));
    }
    return closed && referee_winding(mesh, p) > 0.5 ? -nearest : nearest;
}

#endif
