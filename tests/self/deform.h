/* Deforming meshes, and a plain search as reference for view-based culling. */
#ifndef ABUT_TEST_DEFORM_H
#define ABUT_TEST_DEFORM_H

#include "apps/get.h"
#include "support/support.h"

#include "geom/sweep.h"

#include <stdlib.h>

/* One thread for all small meshes: more would mostly wait for each other. Kept to the end. */
static inline abut_context *one_thread(void) {
    static abut_context *context;
    context = context ? context : test_context(NULL, 1);
    return context;
}

/* What all pairs of features, one after the other, give. */
typedef struct brute_hit {
    double time; /* 2 = free */
    uint32_t kind, first, second;
} brute_hit;

static inline void brute_try(int kind, const uint32_t four[4], uint32_t first, uint32_t second,
                             const abut_vec3 *start, const abut_vec3 *end, sweep_limits *limits,
                             brute_hit *best) {
    for (int i = 0; i < kind; i++)
        for (int j = kind; j < 4; j++)
            if (four[i] == four[j])
                return;
    vec3 from[4], to[4];
    for (int k = 0; k < 4; k++) {
        from[k] = start[four[k]];
        to[k] = end[four[k]];
    }
    for (int axis = 0; axis < 3; axis++) { /* boxes, to be done before the tests are */
        double lo[2] = {1e300, 1e300}, hi[2] = {-1e300, -1e300};
        for (int k = 0; k < 4; k++) {
            double a = v3_get(from[k], axis), b = v3_get(to[k], axis);
            int side = k >= kind;
            lo[side] = real_min(lo[side], real_min(a, b));
            hi[side] = real_max(hi[side], real_max(a, b));
        }
        if (lo[0] > hi[1] || lo[1] > hi[0])
            return;
    }
    sweep_answer answer;
    limits->latest = real_min(1, best->time);
    /* order of the caller: time, kind, first, second, so that ties keep the first */
    if (sweep_pair(kind, from, to, limits, &answer) && answer.time < best->time)
        *best = (brute_hit){answer.time, kind == SWEEP_EDGE_EDGE, first, second};
}

static inline brute_hit brute_find(abut_mesh *mesh, const abut_vec3 *start, const abut_vec3 *end,
                                   double tolerance) {
    abut_topology *topology;
    assert_ok(abut_topology_create(mesh, &topology));
    abut_topology_arrays t = get_topology_arrays(topology);
    const uint32_t *corner = abut_mesh_indices(mesh);
    sweep_limits limits = {0, tolerance, 1, 1000000};
    brute_hit best = {2, 0, 0, 0};
    for (uint32_t v = 0; v < t.vertex_count; v++)
        for (uint32_t f = 0; f < t.triangle_count; f++) {
            const uint32_t four[4] = {v, corner[3 * f], corner[3 * f + 1], corner[3 * f + 2]};
            brute_try(SWEEP_VERTEX_FACE, four, v, f, start, end, &limits, &best);
        }
    for (uint32_t e = 0; e < t.edge_count; e++)
        for (uint32_t g = e + 1; g < t.edge_count; g++) {
            const uint32_t four[4] = {t.edges[2 * e], t.edges[2 * e + 1], t.edges[2 * g],
                                      t.edges[2 * g + 1]};
            brute_try(SWEEP_EDGE_EDGE, four, e, g, start, end, &limits, &best);
        }
    abut_topology_destroy(topology);
    return best;
}

/* A sheet of `wide` x `high` quads; round: rolled into a tube along z, open at both ends. */
static inline abut_mesh *make_sheet(abut_context *context, uint32_t wide, uint32_t high,
                                    bool round) {
    uint32_t columns = round ? wide : wide + 1;
    abut_vec3 *p = malloc(columns * (high + 1) * sizeof *p);
    uint32_t *indices = malloc(6 * (size_t)wide * high * sizeof *indices), used = 0;
    for (uint32_t j = 0; j <= high; j++)
        for (uint32_t i = 0; i < columns; i++) {
            double angle = 6.283185307179586 * i / wide, z = 2.0 * j / high - 1;
            p[j * columns + i] = round ? (abut_vec3){0.5 * cos(angle), 0.5 * sin(angle), z}
                                       : (abut_vec3){2.0 * i / wide - 1, z, 0};
        }
    for (uint32_t j = 0; j < high; j++)
        for (uint32_t i = 0; i < wide; i++) {
            uint32_t k = round ? (i + 1) % wide : i + 1;
            uint32_t a = j * columns + i, b = j * columns + k, c = a + columns, d = b + columns;
            const uint32_t two[6] = {a, b, d, a, d, c};
            memcpy(indices + used, two, sizeof two);
            used += 6;
        }
    abut_mesh *mesh = test_mesh(context, p, columns * (high + 1), indices, used / 3);
    free(p);
    free(indices);
    return mesh;
}

/* A step between positions on the host. */
static inline abut_self_step step_of(const abut_vec3 *start, const abut_vec3 *end) {
    abut_self_step step = abut_self_step_default();
    step.start = abut_array_host(start);
    step.end = abut_array_host(end);
    return step;
}

static inline double tolerance_of(const abut_vec3 *p, uint32_t count) {
    box3 box = box_empty();
    for (uint32_t i = 0; i < count; i++)
        box = box_grow(box, p[i]);
    return SWEEP_TOLERANCE * v3_max_abs(v3_sub(box.hi, box.lo));
}

static inline void same_impact(const abut_impact *a, const abut_impact *b) {
    assert_true(a->time == b->time);
    assert_int_equal(a->kind, b->kind);
    assert_memory_equal(a->mesh, b->mesh, sizeof a->mesh);
    assert_memory_equal(a->element, b->element, sizeof a->element);
    assert_memory_equal(&a->point, &b->point, sizeof a->point);
    assert_memory_equal(&a->normal, &b->normal, sizeof a->normal);
    assert_memory_equal(a->weights, b->weights, sizeof a->weights);
}

/* The hit of a step is that of all pairs. */
static inline void assert_truth(brute_hit truth, bool hit, const abut_impact *impact) {
    assert_int_equal(truth.time <= 1, hit);
    if (!hit)
        return;
    assert_true(impact->time == truth.time);
    assert_int_equal(truth.kind, impact->kind);
    assert_int_equal(truth.first, impact->element[0]);
    assert_int_equal(truth.second, impact->element[1]);
}

static inline abut_mesh *make_shape(abut_context *context, abut_shape_kind kind,
                                    uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    shape.segments = shape.rings = segments;
    abut_mesh *mesh;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    return mesh;
}

/* Absolute positions; to be freed. */
static inline abut_vec3 *positions_of(const abut_mesh *mesh) {
    uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *p = malloc(count * sizeof *p), origin = abut_mesh_local_origin(mesh);
    for (uint32_t i = 0; i < count; i++)
        p[i] = v3_add(origin, abut_mesh_local_positions(mesh)[i]);
    return p;
}

static inline vec3 random_vector(test_random *random, double size) {
    double x = test_random_real(random, -size, size), y = test_random_real(random, -size, size);
    return v3(x, y, test_random_real(random, -size, size));
}

/* Moves everything by a few pulls, each of which fades with the distance from its centre, and some
 * noise: folds and dents that grow from step to step. */
static inline void random_motion(test_random *random, const abut_vec3 *start, abut_vec3 *end,
                                 uint32_t count, double size, double noise) {
    vec3 centre[3], pull[3];
    double reach[3];
    for (int k = 0; k < 3; k++) {
        centre[k] = start[test_random_below(random, count)];
        pull[k] = random_vector(random, size);
        reach[k] = test_random_real(random, 0.2, 1.0);
    }
    for (uint32_t i = 0; i < count; i++) {
        vec3 move = random_vector(random, noise);
        for (int k = 0; k < 3; k++) {
            double far = v3_length_sq(v3_sub(start[i], centre[k])) / (reach[k] * reach[k]);
            move = v3_along(move, exp(-far), pull[k]);
        }
        end[i] = v3_add(start[i], move);
    }
}

/* Two closed surfaces in one mesh: side by side, or one in the other. */
static inline abut_mesh *make_two(abut_context *context, double shift, double scale) {
    abut_mesh *one = make_shape(context, ABUT_SHAPE_ICOSPHERE, 2), *two;
    uint32_t vertices = abut_mesh_vertex_count(one), triangles = abut_mesh_triangle_count(one);
    AUTO_FREE abut_vec3 *from = positions_of(one), *p = malloc(2 * vertices * sizeof *p);
    AUTO_FREE uint32_t *indices = malloc(6 * (size_t)triangles * sizeof *indices);
    for (uint32_t i = 0; i < vertices; i++) {
        p[i] = from[i];
        p[vertices + i] = v3_add(v3_scale(from[i], scale), v3(shift, 0, 0));
    }
    for (uint32_t i = 0; i < 3 * triangles; i++) {
        indices[i] = abut_mesh_indices(one)[i];
        indices[3 * triangles + i] = vertices + indices[i];
    }
    two = test_mesh(context, p, 2 * vertices, indices, 2 * triangles);
    abut_mesh_destroy(one);
    return two;
}

#endif
