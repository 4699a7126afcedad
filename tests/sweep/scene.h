/* Generated motions, and a plain search of all pairs as their referee. */
#ifndef ABUT_TEST_SWEEP_SCENE_H
#define ABUT_TEST_SWEEP_SCENE_H

#include "support/support.h"

#include "geom/sweep.h"
#include "mesh/mesh.h"
#include "sweep/motion.h"

#include <math.h>
#include <stdlib.h>

enum { SCENE_MESHES = 4, SCENE_HITS = 1 << 17 };

typedef struct scene {
    abut_mesh *meshes[SCENE_MESHES];
    uint32_t mesh_count, vertex_count;
    uint32_t owners[SCENE_MESHES]; /* of the meshes: skip_self skips the pairs of one owner */
    vec3 *start, *end;
    abut_sweep_options options;
    abut_sweep_find_options sweep;
} scene;

static inline void scene_free(scene *s) {
    for (uint32_t k = 0; k < s->mesh_count; k++)
        abut_mesh_destroy(s->meshes[k]);
    free(s->start);
    free(s->end);
}

/* A scene that ends with its scope. */
#define AUTO_SCENE __attribute__((cleanup(scene_free))) scene

/* Adds a mesh of positions and triangles. */
static inline void scene_add(scene *s, abut_context *context, const vec3 *positions,
                             uint32_t vertex_count, const uint32_t *indices,
                             uint32_t triangle_count) {
    s->owners[s->mesh_count] = s->mesh_count;
    abut_mesh_input input =
        abut_mesh_input_doubles(positions, vertex_count, indices, triangle_count);
    assert_ok(abut_mesh_create(context, &input, &s->meshes[s->mesh_count++]));
    s->start = realloc(s->start, (s->vertex_count + vertex_count) * sizeof *s->start);
    s->end = realloc(s->end, (s->vertex_count + vertex_count) * sizeof *s->end);
    memcpy(s->start + s->vertex_count, positions, vertex_count * sizeof *positions);
    memcpy(s->end + s->vertex_count, positions, vertex_count * sizeof *positions);
    s->vertex_count += vertex_count;
}

/* ---- scenes that are made up ---- */

/* Triangles between any vertices, some of them twice the same. On a coarse grid many things touch,
 * are in one plane and have equal coordinates. */
static inline void add_soup(scene *s, abut_context *context, test_random *random,
                            uint32_t vertex_count, uint32_t triangle_count, bool grid) {
    vec3 positions[64];
    uint32_t indices[3 * 64];
    assert_true(vertex_count <= 64 && triangle_count <= 64);
    for (uint32_t i = 0; i < vertex_count; i++) {
        double at[3];
        for (int k = 0; k < 3; k++)
            at[k] = grid ? (double)test_random_below(random, 5) : test_random_real(random, 0, 4);
        positions[i] = v3(at[0], at[1], at[2]);
    }
    for (uint32_t i = 0; i < 3 * triangle_count; i++)
        indices[i] = test_random_below(random, vertex_count);
    scene_add(s, context, positions, vertex_count, indices, triangle_count);
}

static inline void move_all(scene *s, test_random *random, double by, bool grid) {
    for (uint32_t i = 0; i < s->vertex_count; i++) {
        double move[3];
        for (int k = 0; k < 3; k++)
            move[k] = grid ? by * ((double)test_random_below(random, 3) - 1)
                           : test_random_real(random, -by, by);
        s->end[i] = v3_add(s->start[i], v3(move[0], move[1], move[2]));
    }
}

static inline scene random_scene(abut_context *context, test_random *random, uint32_t round) {
    scene s = {.options = abut_sweep_options_default(), .sweep = abut_sweep_find_options_default()};
    const bool grid = round % 3 == 1;
    const uint32_t meshes = 1 + round % SCENE_MESHES;
    for (uint32_t k = 0; k < meshes; k++)
        add_soup(&s, context, random, 4 + test_random_below(random, 20),
                 1 + test_random_below(random, 24), grid);
    if (round % 8 == 5 && meshes > 1) /* the same mesh twice, in the same place */
        memcpy(s.start, s.start + s.meshes[0]->vertex_count, 4 * sizeof *s.start);
    move_all(&s, random, round % 5 == 0 ? 0 : round % 5 == 1 ? 3 : 0.5, grid);
    if (round % 7 == 3)
        s.end[test_random_below(random, s.vertex_count)].y = 1e20;
    s.options.skip_self = round % 6 == 2;
    if (round % 12 == 2) /* these have three meshes */
        s.owners[1] = s.owners[0];
    s.options.skip_pairs = round % 6 == 4;
    s.sweep.separation = round % 4 == 3 ? 0.25 : 0;
    s.sweep.tolerance = round % 9 == 8 ? 1e-3 : 0;
    s.sweep.exact = round % 3 == 2 && s.sweep.separation == 0;
    return s;
}

/* A shape at a place, whose vertices go where `to` says: turned about z by an angle that grows
 * along it, and shifted. */
static inline void add_shape(scene *s, abut_context *context, abut_shape_kind kind,
                             uint32_t segments, vec3 at, double twist, vec3 shift) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    shape.segments = shape.rings = segments;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    const uint32_t first = s->vertex_count;
    vec3 *positions = malloc(mesh->vertex_count * sizeof *positions);
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        positions[i] = v3_add(abuti_mesh_position(mesh, i), at);
    scene_add(s, context, positions, mesh->vertex_count, mesh->indices, mesh->triangle_count);
    for (uint32_t i = first; i < s->vertex_count; i++) {
        vec3 p = v3_sub(s->start[i], at);
        double angle = twist * p.z, c = cos(angle), d = sin(angle);
        p = v3(c * p.x - d * p.y, d * p.x + c * p.y, p.z);
        s->end[i] = v3_add(v3_add(p, at), shift);
    }
    free(positions);
    abut_mesh_destroy(mesh);
}

/* `fine`: how many times finer than coarse. */
static inline scene shapes(abut_context *context, uint32_t fine) {
    scene s = {.options = abut_sweep_options_default(), .sweep = abut_sweep_find_options_default()};
    add_shape(&s, context, ABUT_SHAPE_TORUS, 12 * fine, v3(0, 0, 0), 1, v3(0, 0, 0));
    add_shape(&s, context, ABUT_SHAPE_ICOSPHERE, 5 * fine, v3(1.2, 0.1, 0), 0, v3(-1, 0, 0.1));
    add_shape(&s, context, ABUT_SHAPE_CYLINDER, 8 * fine, v3(0, 0, 2), 20, v3(0, 0.1, -1));
    return s;
}

static inline scene identical_triangles(abut_context *context, uint32_t count) {
    scene s = {.options = abut_sweep_options_default(), .sweep = abut_sweep_find_options_default()};
    AUTO_FREE vec3 *positions = malloc(3 * count * sizeof *positions);
    AUTO_FREE uint32_t *indices = malloc(3 * count * sizeof *indices);
    for (uint32_t i = 0; i < 3 * count; i++) {
        positions[i] = v3(i % 3 == 0, i % 3 == 1, i % 3 == 2);
        indices[i] = i;
    }
    scene_add(&s, context, positions, 3 * count, indices, count);
    return s;
}

/* All pairs of n identical triangles touch from the start. Where there is no room for all, their
 * number is returned, and nothing is written. */
static inline void check_identical(abut_sweep *motion, uint32_t n, const char *told) {
    const uint64_t faces = (uint64_t)3 * n * (n - 1), edges = (uint64_t)9 * n * (n - 1) / 2;
    abut_impact impacts[7], untouched[7];
    memset(impacts, 77, sizeof impacts);
    memcpy(untouched, impacts, sizeof impacts);
    for (size_t room = 0; room <= 7; room += 7) {
        abut_impact_list found = {.list = room ? impacts : NULL, .capacity = room};
        abut_sweep_counts counts = {sizeof counts, 6, 7};
        assert_fails(ABUT_ERROR_BUFFER, told,
                     abut_sweep_find(motion, ABUT_SWEEP_ALL, NULL, &found, &counts));
        assert_true(counts.vertex_face == 6 && counts.edge_edge == 7);
        assert_int_equal(faces + edges, found.count);
        assert_memory_equal(untouched, impacts, sizeof impacts);
    }
    abut_impact_list all = {malloc((size_t)(faces + edges) * sizeof *all.list), faces + edges, 0};
    abut_sweep_counts counts = abut_sweep_counts_default();
    assert_ok(abut_sweep_find(motion, ABUT_SWEEP_ALL, NULL, &all, &counts));
    assert_true(counts.vertex_face == faces && counts.edge_edge == edges);
    assert_int_equal(faces + edges, all.count);
    for (uint32_t i = 0; i < 7; i++) {
        assert_true(all.list[i].time == 0 && all.list[i].kind == ABUT_IMPACT_VERTEX_FACE);
        assert_int_equal(0, all.list[i].element[0]);
        assert_int_equal(1 + i, all.list[i].element[1]);
    }
    free(all.list);
    abut_impact_list first = {.list = impacts, .capacity = 1};
    assert_ok(abut_sweep_find(motion, ABUT_SWEEP_EARLIEST, NULL, &first, NULL));
    assert_int_equal(1, first.count);
    assert_true(impacts[0].time == 0 && impacts[0].kind == ABUT_IMPACT_VERTEX_FACE);
    assert_int_equal(0, impacts[0].element[0]);
    assert_int_equal(1, impacts[0].element[1]);
}

/* ---- the referee ---- */

typedef struct referee {
    abut_impact *impacts;
    size_t count;
    abut_sweep_counts counts;
    double tolerance;
} referee;

static inline box3 scene_box(const scene *s, const uint32_t *vertices, uint32_t count) {
    const double half = s->sweep.separation / 2;
    box3 box = box_empty();
    for (uint32_t k = 0; k < count; k++)
        box = box_grow(box_grow(box, s->start[vertices[k]]), s->end[vertices[k]]);
    box.lo = v3_sub(box.lo, v3(half, half, half));
    box.hi = v3_add(box.hi, v3(half, half, half));
    return box;
}

static inline double scene_tolerance(const scene *s) {
    if (s->sweep.tolerance > 0)
        return s->sweep.tolerance;
    box3 box = box_empty();
    for (uint32_t i = 0; i < s->vertex_count; i++)
        box = box_grow(box, s->start[i]);
    double extent = v3_max_abs(v3_sub(box.hi, box.lo));
    for (uint32_t i = 0; !(extent > 0) && i < s->vertex_count; i++)
        box = box_grow(box, s->end[i]);
    return fmax(SWEEP_TOLERANCE * v3_max_abs(v3_sub(box.hi, box.lo)), 1e-200);
}

static inline void scene_try(const scene *s, referee *r, abut_impact impact,
                             const uint32_t corner[4]) {
    const int kind = impact.kind == ABUT_IMPACT_EDGE_EDGE ? SWEEP_EDGE_EDGE : SWEEP_VERTEX_FACE;
    const bool same = impact.mesh[0] == impact.mesh[1];
    for (int a = 0; a < kind; a++)
        for (int b = kind; b < 4; b++)
            if (corner[a] == corner[b])
                return;
    if ((s->owners[impact.mesh[0]] == s->owners[impact.mesh[1]] && s->options.skip_self) ||
        (!same && s->options.skip_pairs))
        return;
    if (!box_overlaps(scene_box(s, corner, (uint32_t)kind),
                      scene_box(s, corner + kind, 4 - (uint32_t)kind)))
        return;
    if (kind == SWEEP_EDGE_EDGE)
        r->counts.edge_edge++;
    else
        r->counts.vertex_face++;
    vec3 start[4], end[4];
    for (int k = 0; k < 4; k++) {
        start[k] = s->start[corner[k]];
        end[k] = s->end[corner[k]];
    }
    sweep_limits limits = {.separation = s->sweep.separation,
                           .tolerance = r->tolerance,
                           .latest = 1,
                           .steps = s->sweep.steps ? (int)s->sweep.steps : 1000000};
    sweep_answer answer;
    const uint32_t four[4] = {0, 1, 2, 3};
    uint32_t survivor; /* a filter may prove free what a sweep alone takes for a near miss */
    if (!abuti_sweep_filter(kind, start, end, four, 1, &limits, &survivor) ||
        !sweep_pair(kind, start, end, &limits, &answer))
        return;
    bool touches = true;
    if (s->sweep.exact)
        assert_ok(abuti_sweep_exact(s->meshes[0]->context, kind, start, end, &touches));
    if (!touches)
        return;
    impact.time = answer.time;
    impact.normal = answer.normal;
    memcpy(impact.weights, answer.weights, sizeof impact.weights);
    assert_true(r->count < SCENE_HITS);
    r->impacts[r->count++] = impact;
}

static inline int scene_compare(const void *a, const void *b) {
    const abut_impact *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    for (int k = 0; k < 2; k++) {
        if (x->mesh[k] != y->mesh[k])
            return x->mesh[k] < y->mesh[k] ? -1 : 1;
        if (x->element[k] != y->element[k])
            return x->element[k] < y->element[k] ? -1 : 1;
    }
    return 0;
}

static inline bool scene_uses(const abut_mesh *mesh, uint32_t vertex) {
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        if (mesh->indices[i] == vertex)
            return true;
    return false;
}

/* Tries every pair of every two meshes. */
static inline void scene_judge(const scene *s, referee *r) {
    abut_topology *topologies[SCENE_MESHES];
    uint32_t first[SCENE_MESHES + 1] = {0};
    r->impacts = malloc(SCENE_HITS * sizeof *r->impacts);
    r->count = 0;
    r->tolerance = scene_tolerance(s);
    memset(&r->counts, 0, sizeof r->counts);
    for (uint32_t k = 0; k < s->mesh_count; k++) {
        assert_ok(abut_topology_create(s->meshes[k], &topologies[k]));
        first[k + 1] = first[k] + s->meshes[k]->vertex_count;
    }
    for (uint32_t k = 0; k < s->mesh_count; k++)
        for (uint32_t l = 0; l < s->mesh_count; l++) {
            const abut_mesh *a = s->meshes[k], *b = s->meshes[l];
            const abut_topology_arrays *of_a = &topologies[k]->view, *of_b = &topologies[l]->view;
            for (uint32_t v = 0; v < a->vertex_count; v++) {
                const uint32_t faces = scene_uses(a, v) ? b->triangle_count : 0;
                for (uint32_t f = 0; f < faces; f++) {
                    abut_impact pair = {.mesh = {k, l}, .element = {v, f}};
                    uint32_t corner[4] = {first[k] + v};
                    for (uint32_t i = 0; i < 3; i++)
                        corner[1 + i] = first[l] + b->indices[3 * f + i];
                    scene_try(s, r, pair, corner);
                }
            }
            for (uint32_t d = 0; l >= k && d < of_a->edge_count; d++)
                for (uint32_t e = l == k ? d + 1 : 0; e < of_b->edge_count; e++) {
                    abut_impact pair = {.kind = ABUT_IMPACT_EDGE_EDGE,
                                        .mesh = {k, l},
                                        .element = {d, e}};
                    const uint32_t corner[4] = {first[k] + of_a->edges[2 * d],
                                                first[k] + of_a->edges[2 * d + 1],
                                                first[l] + of_b->edges[2 * e],
                                                first[l] + of_b->edges[2 * e + 1]};
                    scene_try(s, r, pair, corner);
                }
        }
    for (uint32_t k = 0; k < s->mesh_count; k++)
        abut_topology_destroy(topologies[k]);
    qsort(r->impacts, r->count, sizeof *r->impacts, scene_compare);
}

/* Bit for bit except for the point, which the referee does not have. */
static inline void scene_same(const abut_impact *a, const abut_impact *b) {
    assert_int_equal(0, scene_compare(a, b));
    assert_memory_equal(&a->normal, &b->normal, sizeof a->normal);
    assert_memory_equal(a->weights, b->weights, sizeof a->weights);
}

/* Holds all three modes against the referee. */
static inline void scene_check(const scene *s, abut_sweep *motion, const referee *r) {
    abut_impact_list found = {.list = malloc((r->count + 1) * sizeof *found.list),
                              .capacity = r->count + 1};
    abut_sweep_counts counts = abut_sweep_counts_default();
    assert_ok(abut_sweep_find(motion, ABUT_SWEEP_ALL, &s->sweep, &found, &counts));
    if (s->sweep.separation == 0) { /* with one, boxes are rounded outwards */
        assert_int_equal(r->counts.vertex_face, counts.vertex_face);
        assert_int_equal(r->counts.edge_edge, counts.edge_edge);
    }
    assert_int_equal(r->count, found.count);
    for (size_t i = 0; i < r->count; i++)
        scene_same(&r->impacts[i], &found.list[i]);
    found.count = 99;
    assert_ok(abut_sweep_find(motion, ABUT_SWEEP_EARLIEST, &s->sweep, &found, NULL));
    assert_int_equal(r->count > 0, found.count);
    if (r->count)
        scene_same(&r->impacts[0], &found.list[0]);
    assert_ok(abut_sweep_find(motion, ABUT_SWEEP_ANY, &s->sweep, &found, NULL));
    assert_int_equal(r->count > 0, found.count);
    bool known = !r->count;
    for (size_t i = 0; i < r->count && !known; i++)
        known = !scene_compare(&r->impacts[i], &found.list[0]);
    assert_true(known);
    free(found.list);
}

/* The motion of a scene, at its step. */
static inline abut_sweep *scene_motion(const scene *s) {
    abut_sweep *motion;
    assert_ok(abuti_motion_create(s->meshes, s->owners, s->mesh_count, &s->options, &motion));
    assert_ok(abut_sweep_set_positions(motion, abut_array_host(s->start), abut_array_host(s->end)));
    return motion;
}

static inline size_t find_impacts(const scene *s, abut_sweep *motion, abut_sweep_mode mode,
                                  abut_impact **impacts, abut_sweep_counts *counts) {
    abut_impact_list found = {.list = calloc(SCENE_HITS, sizeof *found.list),
                              .capacity = SCENE_HITS};
    assert_ok(abut_sweep_find(motion, mode, &s->sweep, &found, counts));
    *impacts = found.list;
    return found.count;
}

/* The same scene with meshes of another context, and its motion; anything may fail. */
static inline abut_status copy_scene(abut_context *context, const scene *from, scene *s,
                                     abut_sweep **motion) {
    abut_status status = ABUT_OK;
    *s = (scene){.options = from->options, .sweep = from->sweep};
    for (uint32_t k = 0; !status && k < from->mesh_count; k++) {
        abut_mesh_input input =
            abut_mesh_input_doubles(from->meshes[k]->positions, from->meshes[k]->vertex_count,
                                    from->meshes[k]->indices, from->meshes[k]->triangle_count);
        status = abut_mesh_create(context, &input, &s->meshes[k]);
        s->mesh_count += !status;
    }
    status = status ? status : abut_sweep_create(s->meshes, s->mesh_count, &s->options, motion);
    return status ? status
                  : abut_sweep_set_positions(*motion, abut_array_host(from->start),
                                             abut_array_host(from->end));
}

static inline scene two_soups(uint64_t seed) {
    test_random random = {seed};
    scene s = {.options = abut_sweep_options_default(), .sweep = abut_sweep_find_options_default()};
    for (uint32_t k = 0; k < 2; k++)
        add_soup(&s, NULL, &random, 20, 24, false);
    move_all(&s, &random, 1, false);
    s.options.skip_pairs = true;
    return s;
}

#endif
