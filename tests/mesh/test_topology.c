/* Topology against a plain, quadratic referee, and against meshes with known results. */
#include "apps/get.h"
#include "mesh/shapes.h"

#include "mesh/mesh.h"

#include <time.h>

/* ---- the referee ---- */

static bool has_corner(const uint32_t *corner, uint32_t v) {
    return corner[0] == v || corner[1] == v || corner[2] == v;
}
static bool is_collapsed(const uint32_t *c) {
    return c[0] == c[1] || c[1] == c[2] || c[2] == c[0];
}

/* Every list is rebuilt from the triangles by looking at all of them for each element. */
static void check_edges(const soup *s, const abut_topology_arrays *v) {
    uint32_t edge = 0, face = 0;
    for (uint32_t high = 0; high < s->vertex_count; high++)
        for (uint32_t low = 0; low < high; low++) {
            bool exists = false;
            uint32_t faces[8192], count = 0;
            for (uint32_t t = 0; t < s->triangle_count; t++) {
                const uint32_t *c = s->indices + 3 * t;
                if (!has_corner(c, low) || !has_corner(c, high))
                    continue;
                exists = true;
                if (!is_collapsed(c))
                    faces[count++] = t;
            }
            if (!exists)
                continue;
            assert_true(edge < v->edge_count);
            assert_int_equal(low, v->edges[2 * edge]);
            assert_int_equal(high, v->edges[2 * edge + 1]);
            assert_int_equal(face, v->edge_face_begin[edge]);
            for (uint32_t i = 0; i < count; i++)
                assert_int_equal(faces[i], v->edge_faces[face + i]);
            face += count;
            edge++;
        }
    assert_int_equal(edge, v->edge_count);
    assert_int_equal(face, v->edge_face_begin[edge]);
}

static void check_triangles(const soup *s, const abut_topology_arrays *v) {
    for (uint32_t t = 0; t < s->triangle_count; t++)
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t *c = s->indices + 3 * t;
            uint32_t p = c[k], q = c[(k + 1) % 3], e = v->triangle_edges[3 * t + k];
            if (p == q) {
                assert_int_equal(ABUT_NONE, e);
                assert_int_equal(ABUT_NONE, v->neighbours[3 * t + k]);
                continue;
            }
            assert_true(e < v->edge_count);
            assert_int_equal(p < q ? p : q, v->edges[2 * e]);
            assert_int_equal(p < q ? q : p, v->edges[2 * e + 1]);
            uint32_t others = 0, other = ABUT_NONE;
            for (uint32_t u = 0; u < s->triangle_count; u++) {
                const uint32_t *d = s->indices + 3 * u;
                if (u != t && !is_collapsed(d) && has_corner(d, p) && has_corner(d, q)) {
                    others++;
                    other = u;
                }
            }
            assert_int_equal(others == 1 && !is_collapsed(c) ? other : ABUT_NONE,
                             v->neighbours[3 * t + k]);
        }
}

static void check_vertices(const soup *s, const abut_topology_arrays *v) {
    uint32_t at = 0;
    for (uint32_t p = 0; p < s->vertex_count; p++) {
        assert_int_equal(at, v->vertex_face_begin[p]);
        for (uint32_t t = 0; t < s->triangle_count; t++)
            if (has_corner(s->indices + 3 * t, p))
                assert_int_equal(t, v->vertex_faces[at++]);
    }
    assert_int_equal(at, v->vertex_face_begin[s->vertex_count]);
}

static void check_components(const soup *s, const abut_topology_arrays *v) {
    static uint32_t label[8192];
    for (uint32_t t = 0; t < s->triangle_count; t++)
        label[t] = t;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t t = 0; t < s->triangle_count; t++)
            for (uint32_t u = 0; u < t; u++) {
                const uint32_t *c = s->indices + 3 * t, *d = s->indices + 3 * u;
                bool share = false;
                for (int k = 0; k < 3; k++)
                    share |= c[k] != c[(k + 1) % 3] && has_corner(d, c[k]) &&
                             has_corner(d, c[(k + 1) % 3]);
                if (!share || label[t] == label[u])
                    continue;
                label[t] = label[u] = label[t] < label[u] ? label[t] : label[u];
                changed = true;
            }
    }
    uint32_t count = 0;
    for (uint32_t t = 0; t < s->triangle_count; t++) {
        assert_int_equal(label[t] == t ? count : v->triangle_component[label[t]],
                         v->triangle_component[t]);
        count += label[t] == t;
    }
    assert_int_equal(count, v->component_count);
}

/* The boundary edge between two vertices, and whether its face runs from p to q. */
static uint32_t boundary_edge(const soup *s, const abut_topology_arrays *v, uint32_t p, uint32_t q,
                              bool *along) {
    for (uint32_t e = 0; e < v->edge_count; e++) {
        if (v->edges[2 * e] != (p < q ? p : q) || v->edges[2 * e + 1] != (p < q ? q : p))
            continue;
        assert_int_equal(1, v->edge_face_begin[e + 1] - v->edge_face_begin[e]);
        const uint32_t *c = s->indices + 3 * v->edge_faces[v->edge_face_begin[e]];
        *along = false;
        for (int k = 0; k < 3; k++)
            *along |= c[k] == p && c[(k + 1) % 3] == q;
        return e;
    }
    fail_msg("loop without an edge");
    return 0;
}

static void check_loops(const soup *s, const abut_topology_arrays *v) {
    static unsigned char seen[3 * 8192];
    memset(seen, 0, v->edge_count);
    uint32_t boundary_count = 0, visited = 0;
    bool is_plain = true; /* consistently wound, no non-manifold edge */
    for (uint32_t e = 0; e < v->edge_count; e++) {
        uint32_t begin = v->edge_face_begin[e], count = v->edge_face_begin[e + 1] - begin;
        boundary_count += count == 1;
        is_plain &= count <= 2;
        if (count == 2)
            is_plain &= abuti_runs_up(v, s->indices, v->edge_faces[begin], e) !=
                        abuti_runs_up(v, s->indices, v->edge_faces[begin + 1], e);
    }
    if (is_plain)
        assert_int_equal(0, v->chain_count);
    for (uint32_t i = 0; i < v->loop_count + v->chain_count; i++) {
        bool is_loop = i < v->loop_count;
        uint32_t j = is_loop ? i : i - v->loop_count;
        const uint32_t *begin = is_loop ? v->loop_begin : v->chain_begin;
        const uint32_t *at = (is_loop ? v->loop_vertices : v->chain_vertices) + begin[j];
        uint32_t length = begin[j + 1] - begin[j];
        assert_true(length >= (is_loop ? 3 : 2));
        for (uint32_t k = 0; k < length; k++)
            for (uint32_t l = 0; l < k; l++)
                assert_int_not_equal(at[l], at[k]);
        for (uint32_t k = 0; k < (is_loop ? length : length - 1); k++) {
            bool along;
            uint32_t e = boundary_edge(s, v, at[k], at[(k + 1) % length], &along);
            assert_false(seen[e]);
            seen[e] = 1;
            visited++;
            if (is_plain)
                assert_true(along);
        }
    }
    assert_int_equal(boundary_count, visited);
}

static void check(const soup *s, abut_context *context) {
    abut_mesh *mesh = soup_mesh(context, s);
    AUTO(topology) topology = NULL;
    assert_ok(abut_topology_create(mesh, &topology));
    abut_mesh_destroy(mesh); /* the topology keeps it */
    abut_topology_arrays v = get_topology_arrays(topology);
    assert_int_equal(s->vertex_count, v.vertex_count);
    assert_int_equal(s->triangle_count, v.triangle_count);
    check_edges(s, &v);
    check_triangles(s, &v);
    check_vertices(s, &v);
    check_components(s, &v);
    check_loops(s, &v);
}

/* ---- tests ---- */

typedef struct counts {
    uint32_t edges, components, loops, chains;
} counts;

static void expect(const soup *s, counts expected) {
    check(s, NULL);
    AUTO(mesh) mesh = soup_mesh(NULL, s);
    AUTO(topology) topology = NULL;
    assert_ok(abut_topology_create(mesh, &topology));
    abut_topology_arrays v = get_topology_arrays(topology);
    assert_int_equal(expected.edges, v.edge_count);
    assert_int_equal(expected.components, v.component_count);
    assert_int_equal(expected.loops, v.loop_count);
    assert_int_equal(expected.chains, v.chain_count);
}

TEST(known_meshes) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    expect(s, (counts){18, 1, 0, 0});

    s->triangle_count -= 2; /* without a lid */
    expect(s, (counts){17, 1, 1, 0});

    s = fresh();
    soup_torus(s, 6, 5, false);
    expect(s, (counts){90, 1, 0, 0});

    s = fresh();
    soup_torus(s, 6, 5, true);
    expect(s, (counts){90, 1, 0, 0});

    s = fresh();
    soup_moebius(s, 7);
    expect(s, (counts){28, 1, 1, 0}); /* one boundary, twice around */

    s = fresh(); /* two boxes, each with its own vertices */
    soup_box(s, 0, 1);
    soup_box(s, 2, 3);
    expect(s, (counts){36, 2, 0, 0});
}

TEST(touching_fans) {
    soup *s = fresh(); /* two triangles that share a vertex */
    for (int i = 0; i < 5; i++)
        soup_vertex(s, i, i * i, 0);
    soup_triangle(s, 0, 1, 2);
    soup_triangle(s, 2, 3, 4);
    expect(s, (counts){6, 2, 2, 0});

    s = fresh(); /* two tetrahedra that share a vertex */
    for (int i = 0; i < 7; i++)
        soup_vertex(s, i, i * i, i * i * i);
    soup_tetrahedron(s, 0, 1, 2, 3);
    soup_tetrahedron(s, 3, 4, 5, 6);
    expect(s, (counts){12, 2, 0, 0});

    s = fresh(); /* and an edge: joined by it, although it is non-manifold */
    for (int i = 0; i < 6; i++)
        soup_vertex(s, i, i * i, i * i * i);
    soup_tetrahedron(s, 0, 1, 2, 3);
    soup_tetrahedron(s, 2, 3, 4, 5);
    expect(s, (counts){11, 1, 0, 0});

    s = fresh(); /* three pages of a book: nine boundary edges, odd at both ends of the spine */
    for (int i = 0; i < 8; i++)
        soup_vertex(s, i, i * i, i * i * i);
    for (uint32_t i = 0; i < 3; i++)
        soup_quad(s, 0, 1, 3 + 2 * i, 2 + 2 * i);
    expect(s, (counts){13, 1, 1, 1});
}

/* Two quads that share two opposite corners: each has its own loop. */
TEST(fans_that_touch_twice) {
    soup *s = fresh();
    for (int i = 0; i < 6; i++)
        soup_vertex(s, i, i * i, i * i * i);
    soup_quad(s, 1, 2, 3, 0);
    soup_quad(s, 4, 2, 5, 0);
    expect(s, (counts){10, 2, 2, 0});
    AUTO(mesh) mesh = soup_mesh(NULL, s);
    AUTO(topology) topology = NULL;
    assert_ok(abut_topology_create(mesh, &topology));
    abut_topology_arrays v = get_topology_arrays(topology);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t *loop = v.loop_vertices + v.loop_begin[i];
        assert_int_equal(4, v.loop_begin[i + 1] - v.loop_begin[i]);
        for (int k = 0; k < 4; k++) /* 1 and 3, or 4 and 5 */
            assert_true(loop[k] == 0 || loop[k] == 2 || (loop[k] < 4) == (i == 0));
    }
}

/* A ring of quads pinched to one vertex: one trail along the boundary that passes it twice. */
TEST(pinched_ring) {
    soup *s = fresh();
    uint32_t n = 6;
    for (uint32_t i = 0; i < 2 * n; i++)
        soup_vertex(s, cos(i), sin(i), i);
    for (uint32_t i = 0; i + 1 < n; i++)
        soup_quad(s, 2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2);
    for (uint32_t i = 0; i < 3 * s->triangle_count; i++) /* last upper corner = first upper one */
        if (s->indices[i] == 2 * n - 1)
            s->indices[i] = 1;
    check(s, NULL);
    AUTO(mesh) mesh = soup_mesh(NULL, s);
    AUTO(topology) topology = NULL;
    assert_ok(abut_topology_create(mesh, &topology));
    assert_int_equal(2, get_topology_arrays(topology).loop_count);
}

TEST(collapsed_triangles) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    soup_triangle(s, 0, 1, 0); /* on an edge of the box: nothing changes */
    soup_triangle(s, 3, 3, 3);
    soup_triangle(s, 3, 3, 3);
    expect(s, (counts){18, 3, 0, 0});
    soup_triangle(s, 0, 7, 7); /* across the box: an edge without a face */
    soup_triangle(s, 7, 0, 7);
    expect(s, (counts){19, 4, 0, 0});

    s = fresh(); /* nothing but a point */
    soup_vertex(s, 1, 2, 3);
    soup_triangle(s, 0, 0, 0);
    expect(s, (counts){0, 1, 0, 0});
}

TEST(one_and_equal_triangles) {
    soup *s = fresh();
    for (int i = 0; i < 3; i++)
        soup_vertex(s, i, i * i, 0);
    soup_triangle(s, 2, 0, 1);
    expect(s, (counts){3, 1, 1, 0});
    for (int i = 0; i < 100; i++)
        soup_triangle(s, 2, 0, 1);
    expect(s, (counts){3, 1, 0, 0});
}

TEST_THREADS(random_soups) {
    test_random random = {.state = 1};
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1), *threaded = test_context(NULL, 3);
    for (int round = 0; round < 600; round++) {
        soup *s = fresh();
        uint32_t vertices = 1 + test_random_below(&random, round % 2 ? 40 : 8);
        soup_random(s, &random, vertices, 1 + test_random_below(&random, 40));
        check(s, round % 3 ? context : threaded);
    }
    abut_context_destroy(context);
    abut_context_destroy(threaded);
    assert_int_equal(0, memory.live_count);
}

/* Pieces of a torus: manifold with boundary, and bow-ties where removed triangles touch. */
TEST(random_holes) {
    test_random random = {.state = 2};
    for (int round = 0; round < 200; round++) {
        soup *s = fresh();
        soup_torus(s, 5, 6, round % 4 == 0);
        uint32_t kept = 0, percent = 30 + test_random_below(&random, 70);
        for (uint32_t t = 0; t < s->triangle_count; t++) {
            if (test_random_below(&random, 100) >= percent && kept + 1 < s->triangle_count)
                continue;
            bool turn = round % 3 == 0 && test_random_below(&random, 4) == 0;
            uint32_t a = s->indices[3 * t], b = s->indices[3 * t + 1], c = s->indices[3 * t + 2];
            s->indices[3 * kept] = a;
            s->indices[3 * kept + 1] = turn ? c : b;
            s->indices[3 * kept + 2] = turn ? b : c;
            kept++;
        }
        s->triangle_count = kept ? kept : 1;
        check(s, NULL);
    }
}

/* ---- many triangles ---- */

static void assert_same(const uint32_t *a, const uint32_t *b, size_t count) {
    assert_memory_equal(a, b, count * sizeof *a);
}

static abut_mesh *large_mesh(abut_context *context, uint32_t vertices, uint32_t triangles,
                             uint64_t seed) {
    test_random random = {.state = seed};
    double *positions = malloc(vertices * 3 * sizeof *positions);
    uint32_t *indices = malloc(triangles * 3 * sizeof *indices);
    for (uint32_t i = 0; i < 3 * vertices; i++)
        positions[i] = test_random_real(&random, -1, 1);
    for (uint32_t i = 0; i < 3 * triangles; i++)
        indices[i] = test_random_below(&random, i % 7 ? vertices : 50);
    abut_mesh *mesh = test_mesh(context, positions, vertices, indices, triangles);
    free(positions);
    free(indices);
    return mesh;
}

TEST_THREADS(same_on_any_thread_count) {
    abut_topology *topology[2];
    abut_topology_arrays v[2];
    for (int i = 0; i < 2; i++) {
        abut_context *context = test_context(NULL, i ? 4 : 1);
        abut_mesh *mesh = large_mesh(context, 20000, 60000, 3);
        assert_ok(abut_topology_create(mesh, &topology[i]));
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
        v[i] = get_topology_arrays(topology[i]);
    }
    assert_int_equal(v[0].edge_count, v[1].edge_count);
    assert_int_equal(v[0].component_count, v[1].component_count);
    assert_int_equal(v[0].loop_count, v[1].loop_count);
    assert_int_equal(v[0].chain_count, v[1].chain_count);
    assert_true(v[0].chain_count > 0);
    assert_same(v[0].edges, v[1].edges, 2 * v[0].edge_count);
    assert_same(v[0].edge_face_begin, v[1].edge_face_begin, v[0].edge_count + 1);
    assert_same(v[0].edge_faces, v[1].edge_faces, v[0].edge_face_begin[v[0].edge_count]);
    assert_same(v[0].triangle_edges, v[1].triangle_edges, 3 * v[0].triangle_count);
    assert_same(v[0].neighbours, v[1].neighbours, 3 * v[0].triangle_count);
    assert_same(v[0].triangle_component, v[1].triangle_component, v[0].triangle_count);
    assert_same(v[0].loop_vertices, v[1].loop_vertices, v[0].loop_begin[v[0].loop_count]);
    assert_same(v[0].chain_vertices, v[1].chain_vertices, v[0].chain_begin[v[0].chain_count]);
    abut_topology_destroy(topology[0]);
    abut_topology_destroy(topology[1]);
}

/* A million triangles around one vertex, of lowest or highest number: a bucket of a million. The
 * bound is generous; quadratic time would take hours. */
TEST(one_vertex_in_all_triangles) {
    const uint32_t n = test_brief() ? 100000 : 1000000;
    AUTO_FREE double *positions = calloc(3 * ((size_t)n + 1), sizeof *positions);
    AUTO_FREE uint32_t *indices = malloc(3 * (size_t)n * sizeof *indices);
    for (int high = 0; high < 2; high++) {
        uint32_t hub = high ? n : 0, rim = high ? 0 : 1;
        for (uint32_t i = 0; i < n; i++) {
            positions[3 * (size_t)(i + rim)] = i;
            indices[3 * i] = hub;
            indices[3 * i + 1] = rim + (uint32_t)((uint64_t)i * 7919 % n);
            indices[3 * i + 2] = rim + (uint32_t)((uint64_t)(i + 1) * 7919 % n);
        }
        AUTO(topology) topology = NULL;
        AUTO(mesh) mesh = test_mesh(NULL, positions, n + 1, indices, n);
        clock_t start = clock();
        assert_ok(abut_topology_create(mesh, &topology));
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 60);
        abut_topology_arrays v = get_topology_arrays(topology);
        assert_int_equal(2 * n, v.edge_count);
        assert_int_equal(1, v.component_count);
        assert_int_equal(1, v.loop_count);
        assert_int_equal(n, v.loop_begin[1]);
    }
}

TEST(scratch_is_modest) {
    test_memory memory = {0};
    AUTO(context) context = test_context(&memory, 1);
    AUTO(mesh) mesh = large_mesh(context, 50000, 100000, 5);
    uint64_t before = memory.live_bytes;
    memory.peak_bytes = before;
    abut_topology *topology;
    assert_ok(abut_topology_create(mesh, &topology));
    assert_true(memory.peak_bytes - before <= 2 * (memory.live_bytes - before));
    abut_topology_destroy(topology);
    assert_int_equal(before, memory.live_bytes);
}

/* ---- failures ---- */

static abut_status create_from_soup(abut_context *context, void *data) {
    const soup *s = data;
    AUTO(mesh) mesh = NULL;
    AUTO(topology) topology = NULL;
    abut_status status = soup_try(context, s, &mesh);
    status = status ? status : abut_topology_create(mesh, &topology);
    if (status)
        assert_null(topology);
    return status;
}

TEST(out_of_memory) {
    soup *s = fresh(); /* with every extra: long buckets, collapsed triangles, loops, chains */
    test_random random = {.state = 9};
    soup_random(s, &random, 40, 300);
    assert_true(test_every_allocation(create_from_soup, s) > 20);
}

TEST(can_be_cancelled) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    check_cancelling("topology", 10, create_from_soup, s);
}

TEST(null_arguments) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    AUTO(mesh) mesh = soup_mesh(NULL, s);
    abut_topology *topology = NULL;
    assert_refused("mesh is null", abut_topology_create(NULL, &topology));
    assert_refused("topology is null", abut_topology_create(mesh, NULL));
    assert_null(topology);
    abut_topology_destroy(NULL);
    assert_int_equal(0, get_topology_arrays(NULL).edge_count);
    assert_null(get_topology_arrays(NULL).edges);
}

/* ---- the tools below ---- */

/* ---- the border ---- */

enum { BORDER_VERTICES = 300, BORDER_TRIANGLES = 9000 };

/* By counting how often each pair of vertices is run along. */
static void check_border(const uint32_t *indices, const uint32_t *names, uint32_t triangles,
                         const abuti_boundary *border) {
    static int runs[BORDER_VERTICES][BORDER_VERTICES];
    uint32_t count = 0;
    bool flipped = false;
    memset(runs, 0, sizeof runs);
    for (uint32_t i = 0; i < 3 * triangles; i++) {
        uint32_t from = indices[i], to = indices[i % 3 == 2 ? i - 2 : i + 1];
        from = names ? names[from] : from;
        to = names ? names[to] : to;
        if (from != to)
            runs[from < to ? from : to][from < to ? to : from] += from < to ? 1 : -1;
    }
    for (uint32_t low = 0; low < BORDER_VERTICES; low++)
        for (uint32_t high = low + 1; high < BORDER_VERTICES; high++) {
            int more = runs[low][high];
            flipped = flipped || more > 1 || more < -1;
            for (int k = 0; k < (more < 0 ? -more : more); k++, count++) {
                assert_true(count < border->count);
                assert_int_equal(more > 0 ? low : high, border->edges[count][0]);
                assert_int_equal(more > 0 ? high : low, border->edges[count][1]);
            }
        }
    assert_int_equal(count, border->count);
    assert_int_equal(flipped, border->flipped);
}

TEST(borders_of_anything) {
    static abut_vec3 positions[BORDER_VERTICES];
    static uint32_t indices[3 * BORDER_TRIANGLES], names[BORDER_VERTICES];
    test_random random = {.state = 3};
    for (uint32_t vertices = 3; vertices <= BORDER_VERTICES; vertices = 2 * vertices - 1)
        for (uint32_t triangles = 1; triangles <= BORDER_TRIANGLES; triangles *= 9) {
            AUTO(mesh) mesh = NULL;
            abuti_boundary border;
            for (uint32_t i = 0; i < vertices; i++)
                names[i] = test_random_below(&random, i + 1);
            for (uint32_t i = 0; i < 3 * triangles; i++)
                indices[i] = test_random_below(&random, vertices);
            abut_mesh_input input =
                abut_mesh_input_doubles(positions, vertices, indices, triangles);
            assert_ok(abut_mesh_create(NULL, &input, &mesh));
            for (int named = 0; named < 2; named++) {
                assert_ok(abuti_boundary_find(mesh, named ? names : NULL, &border));
                check_border(indices, named ? names : NULL, triangles, &border);
                abuti_boundary_release(&border);
            }
        }
}
