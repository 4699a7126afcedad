/* Normals: known values, invariances, and the guaranteed sign, checked by ray parity. */
#include "apps/get.h"
#include "mesh/shapes.h"

#include "geom/closest_shared.h"
#include "geom/predicates_shared.h"
#include "mesh/mesh.h"

typedef struct model {
    abut_mesh *mesh;
    abut_topology *topology;
    abut_normals *normals;
    abut_topology_arrays view;
    abut_normals_arrays n;
} model;

static model open_model(abut_context *context, const soup *s) {
    model m = {.mesh = soup_mesh(context, s)};
    assert_ok(abut_topology_create(m.mesh, &m.topology));
    assert_ok(abut_normals_create(m.topology, &m.normals));
    m.view = get_topology_arrays(m.topology);
    m.n = get_normals_arrays(m.normals);
    return m;
}

static void close_model(model *m) {
    abut_normals_destroy(m->normals);
    abut_topology_destroy(m->topology);
    abut_mesh_destroy(m->mesh);
}

static void assert_near(vec3 expected, vec3 got, double tolerance) {
    if (!(v3_max_abs(v3_sub(expected, got)) <= tolerance))
        fail_msg("(%.17g, %.17g, %.17g) instead of (%.17g, %.17g, %.17g)", got.x, got.y, got.z,
                 expected.x, expected.y, expected.z);
}

/* ---- known values ---- */

TEST(box_normals) {
    soup *s = fresh();
    soup_box(s, -1, 1);
    model m = open_model(NULL, s);
    for (uint32_t t = 0; t < 12; t++) { /* outwards, along an axis */
        vec3 middle = v3(0, 0, 0);
        for (int k = 0; k < 3; k++)
            middle = v3_add(middle, m.mesh->positions[m.mesh->indices[3 * t + (uint32_t)k]]);
        assert_true(v3_max_abs(m.n.faces[t]) == 1 && v3_length_sq(m.n.faces[t]) == 1);
        assert_true(v3_dot(m.n.faces[t], middle) == 3);
    }
    for (uint32_t v = 0; v < 8; v++)
        assert_near(v3_normalise(m.mesh->positions[v]), m.n.vertices[v], 1e-15);
    for (uint32_t e = 0; e < m.view.edge_count; e++) {
        vec3 a = m.mesh->positions[m.view.edges[2 * e]];
        vec3 b = m.mesh->positions[m.view.edges[2 * e + 1]];
        vec3 sum = v3_add(a, b); /* cancels along the edge */
        assert_near(v3_normalise(sum), m.n.edges[e], 1e-15);
    }
    close_model(&m);
}

/* Cutting a face in two through a vertex leaves that vertex's normal as it was: this is what the
 * weight by angle is for, and it must hold for corners beyond 90 degrees. */
TEST(cutting_a_face_changes_nothing) {
    for (int obtuse = 0; obtuse < 2; obtuse++) {
        vec3 normal[2];
        for (int cut = 0; cut < 2; cut++) {
            soup *s = fresh();
            soup_vertex(s, 0, 0, 1);
            soup_vertex(s, 5, obtuse ? -1 : 4, 0);
            soup_vertex(s, obtuse ? -5 : 1, obtuse ? -1 : 5, 0);
            soup_vertex(s, -1, 2, -3);
            soup_vertex(s, obtuse ? 0 : 3, obtuse ? -1 : 4.5, 0); /* middle of 1 and 2 */
            if (cut) {
                soup_triangle(s, 0, 1, 4);
                soup_triangle(s, 0, 4, 2);
            } else {
                soup_triangle(s, 0, 1, 2);
            }
            soup_triangle(s, 0, 2, 3);
            soup_triangle(s, 0, 3, 1);
            model m = open_model(NULL, s);
            normal[cut] = m.n.vertices[0];
            close_model(&m);
        }
        assert_near(normal[0], normal[1], 2e-15);
    }
}

TEST(thin_triangles) {
    const double n = 134217728; /* 2^27: (n+1)^2 - n (n+2) = 1 is lost in plain doubles */
    vec3 normal = abuti_unit_normal(v3(0, 0, 0), v3(n + 1, n, 0), v3(n + 2, n + 1, 0));
    assert_near(v3(0, 0, 1), normal, 0);
    normal = abuti_unit_normal(v3(0, 0, 0), v3(0, n + 1, n), v3(0, n + 2, n + 1));
    assert_near(v3(1, 0, 0), normal, 0);
    assert_false(abuti_is_degenerate(v3(0, 0, 0), v3(n + 1, n, 0), v3(n + 2, n + 1, 0)));
    vec3 line = v3(0.1, 0.2, 0.3);
    assert_near(v3(0, 0, 0), abuti_unit_normal(line, v3_scale(line, 2), v3_scale(line, 8)), 0);
    assert_true(abuti_is_degenerate(line, v3_scale(line, 2), v3_scale(line, 8)));
    assert_true(abuti_is_degenerate(line, line, line));
    line = v3(3e-310, 6e-310, 9e-310);
    assert_true(abuti_is_degenerate(v3(0, 0, 0), line, v3_scale(line, 2)));
    assert_false(abuti_is_degenerate(v3(0, 0, 0), line, v3(3e-310, 6e-310, 8e-310)));
}

TEST(degenerate_faces_add_nothing) {
    soup *s = fresh();
    for (int i = 0; i < 3; i++)
        soup_vertex(s, i, i == 1, 0);
    soup_vertex(s, 1, 0, 0);
    soup_triangle(s, 0, 2, 1);
    soup_triangle(s, 0, 3, 2); /* on a line */
    soup_triangle(s, 0, 1, 1); /* only a segment */
    model m = open_model(NULL, s);
    assert_near(v3(0, 0, 1), m.n.faces[0], 0);
    assert_near(v3(0, 0, 0), m.n.faces[1], 0);
    assert_near(v3(0, 0, 0), m.n.faces[2], 0);
    for (uint32_t v = 0; v < 3; v++)
        assert_near(v3(0, 0, 1), m.n.vertices[v], 0);
    assert_near(v3(0, 0, 0), m.n.vertices[3], 0);
    close_model(&m);

    s->triangle_count = 1; /* a triangle and its back: everything cancels */
    s->positions[2] = 0.3;
    soup_triangle(s, 0, 1, 2);
    m = open_model(NULL, s);
    for (uint32_t i = 0; i < 3; i++) {
        assert_near(v3(0, 0, 0), m.n.vertices[i], 0);
        assert_near(v3(0, 0, 0), m.n.edges[i], 0);
    }
    close_model(&m);
}

TEST(any_scale_gives_the_same_bits) {
    static soup base;
    base.vertex_count = base.triangle_count = 0;
    soup_torus(&base, 7, 5, false);
    model m = open_model(NULL, &base);
    static const double scales[] = {0x1p-100, 0x1p+100, 0x1p-290, 0x1p+290};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        soup *s = fresh();
        *s = base;
        for (uint32_t k = 0; k < 3 * s->vertex_count; k++)
            s->positions[k] *= scales[i];
        model scaled = open_model(NULL, s);
        for (uint32_t t = 0; t < s->triangle_count; t++)
            assert_near(m.n.faces[t], scaled.n.faces[t], 0);
        for (uint32_t v = 0; v < s->vertex_count; v++)
            assert_near(m.n.vertices[v], scaled.n.vertices[v], 0);
        for (uint32_t e = 0; e < m.view.edge_count; e++)
            assert_near(m.n.edges[e], scaled.n.edges[e], 0);
        close_model(&scaled);
    }
    close_model(&m);
}

/* ---- the sign ---- */

/* Whether segment p q crosses the triangle: 1, 0, or -1 if it intersects its boundary or lies in
 * its plane. */
static int crosses(vec3 p, vec3 q, vec3 a, vec3 b, vec3 c) {
    int side_p = orient3d(a, b, c, p), side_q = orient3d(a, b, c, q);
    int turn[3] = {orient3d(p, q, a, b), orient3d(p, q, b, c), orient3d(p, q, c, a)};
    if (!side_p || !side_q)
        return -1;
    if (side_p == side_q)
        return 0;
    if (turn[0] * turn[1] < 0 || turn[1] * turn[2] < 0 || turn[2] * turn[0] < 0)
        return 0;
    return turn[0] && turn[1] && turn[2] ? 1 : -1;
}

static bool is_inside(const model *m, vec3 p, test_random *random) {
    for (;;) { /* another ray where the last one was in doubt */
        vec3 q = v3(test_random_real(random, 50, 100), test_random_real(random, -60, 60),
                    test_random_real(random, -60, 60));
        int parity = 0, doubt = 0;
        for (uint32_t t = 0; t < m->view.triangle_count && !doubt; t++) {
            const uint32_t *c = m->mesh->indices + 3 * t;
            const vec3 *at = m->mesh->positions;
            int hit = crosses(p, q, at[c[0]], at[c[1]], at[c[2]]);
            doubt |= hit < 0;
            parity ^= hit > 0;
        }
        if (!doubt)
            return parity;
    }
}

/* Sign by the closest feature; 0 where the point is on the surface as good as. */
static int sign_by_normal(const model *m, vec3 p, abut_feature *feature) {
    double best = INFINITY;
    vec3 normal = v3(0, 0, 0), closest = p;
    for (uint32_t t = 0; t < m->view.triangle_count; t++) {
        const uint32_t *c = m->mesh->indices + 3 * t;
        triangle3 triangle;
        for (int k = 0; k < 3; k++)
            triangle.corner[k] = m->mesh->positions[c[k]];
        closest_on_triangle found = triangle_closest_point(triangle, p);
        if (!(found.distance < best))
            continue;
        best = found.distance;
        closest = found.point;
        *feature = found.feature;
        if (found.feature == ABUT_FEATURE_FACE)
            normal = m->n.faces[t];
        else if (found.feature <= ABUT_FEATURE_EDGE_2)
            normal = m->n.edges[m->view.triangle_edges[3 * t + found.feature - 1]];
        else
            normal = m->n.vertices[c[found.feature - ABUT_FEATURE_VERTEX_0]];
    }
    return best < 1e-9 ? 0 : v3_dot(v3_sub(p, closest), normal) < 0 ? -1 : 1;
}

/* Points all over the box, and close to vertices and edges. Returns how many had an edge or a
 * vertex as their closest feature. */
static uint32_t check_sign(const soup *s, test_random *random, int rounds) {
    model m = open_model(NULL, s);
    abut_box box = abut_mesh_bounds(m.mesh);
    uint32_t corners = 0;
    for (int i = 0; i < rounds; i++) {
        vec3 p = v3(test_random_real(random, box.lo.x - 1, box.hi.x + 1),
                    test_random_real(random, box.lo.y - 1, box.hi.y + 1),
                    test_random_real(random, box.lo.z - 1, box.hi.z + 1));
        if (i % 2) {
            uint32_t e = test_random_below(random, m.view.edge_count);
            vec3 a = m.mesh->positions[m.view.edges[2 * e]];
            vec3 b = m.mesh->positions[m.view.edges[2 * e + 1]];
            vec3 near = v3_lerp(a, b, i % 4 == 1 ? 0 : test_random_real(random, 0, 1));
            p = v3_along(near, test_random_real(random, 0, 0.2),
                         v3(test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                            test_random_real(random, -1, 1)));
        }
        abut_feature feature = ABUT_FEATURE_FACE;
        int sign = sign_by_normal(&m, p, &feature);
        if (sign == 0)
            continue;
        corners += feature != ABUT_FEATURE_FACE;
        if ((sign < 0) != is_inside(&m, p, random))
            fail_msg("(%.17g, %.17g, %.17g) has the wrong sign; its closest feature is %d", p.x,
                     p.y, p.z, (int)feature);
    }
    close_model(&m);
    return corners;
}

/* A prism over a star: concave, with acute spikes, obtuse and reflex corners. */
static void soup_star(soup *s, uint32_t spikes, double inner) {
    uint32_t n = 2 * spikes, bottom = s->vertex_count;
    for (int top = 0; top < 2; top++) {
        for (uint32_t i = 0; i < n; i++) {
            double angle = 6.283185307179586 * i / n, r = i % 2 ? inner : 2;
            soup_vertex(s, r * cos(angle), r * sin(angle), top);
        }
        soup_vertex(s, 0, 0, top);
    }
    uint32_t top = bottom + n + 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t next = (i + 1) % n;
        soup_triangle(s, bottom + n, bottom + next, bottom + i);
        soup_triangle(s, top + n, top + i, top + next);
        soup_quad(s, bottom + i, bottom + next, top + next, top + i);
    }
}

TEST(the_sign_is_right) {
    test_random random = {.state = 11};
    uint32_t corners = 0;
    soup *s = fresh();
    soup_star(s, 5, 0.4);
    corners += check_sign(s, &random, 4000);
    s = fresh();
    soup_star(s, 3, 1.9); /* nearly flat corners of almost 180 degrees */
    corners += check_sign(s, &random, 2000);
    s = fresh();
    soup_torus(s, 6, 4, false);
    corners += check_sign(s, &random, 4000);
    s = fresh(); /* a hollow box */
    soup_box(s, -2, 2);
    soup_box(s, -1, 1);
    for (uint32_t t = 12; t < 24; t++) {
        uint32_t swap = s->indices[3 * t];
        s->indices[3 * t] = s->indices[3 * t + 1];
        s->indices[3 * t + 1] = swap;
    }
    corners += check_sign(s, &random, 2000);
    assert_true(corners > 2000);
}

/* Solids that touch themselves in a vertex or along an edge, as the reliability promises. */
TEST(the_sign_is_right_where_fans_touch) {
    test_random random = {.state = 12};
    soup *s = fresh();
    soup_vertex(s, 0, 0, 0);
    soup_vertex(s, 1, 0.2, 0);
    soup_vertex(s, 0.1, 1, 0.1);
    soup_vertex(s, 0.2, 0.3, 1);
    for (uint32_t i = 1; i < 4; i++) /* mirrored at vertex 0 */
        soup_vertex(s, -s->positions[3 * i], -s->positions[3 * i + 1], -s->positions[3 * i + 2]);
    soup_tetrahedron(s, 0, 1, 2, 3);
    soup_tetrahedron(s, 0, 4, 6, 5);
    check_sign(s, &random, 4000);

    s = fresh(); /* two wedges along the edge from (0,0,0) to (0,0,1) */
    soup_vertex(s, 0, 0, 0);
    soup_vertex(s, 0, 0, 1);
    soup_vertex(s, 1, 0, 0.5);
    soup_vertex(s, 0.6, 0.8, 0.5);
    soup_vertex(s, -1, 0, 0.5);
    soup_vertex(s, -0.6, -0.8, 0.5);
    soup_tetrahedron(s, 0, 2, 3, 1);
    soup_tetrahedron(s, 0, 4, 5, 1);
    check_sign(s, &random, 4000);
}

/* ---- threads and failures ---- */

TEST_THREADS(same_on_any_thread_count) {
    static soup large;
    large.vertex_count = large.triangle_count = 0;
    soup_torus(&large, 64, 63, false);
    AUTO(context) context = test_context(NULL, 4);
    model one = open_model(NULL, &large), four = open_model(context, &large);
    assert_memory_equal(one.n.faces, four.n.faces, large.triangle_count * sizeof(vec3));
    assert_memory_equal(one.n.edges, four.n.edges, one.view.edge_count * sizeof(vec3));
    assert_memory_equal(one.n.vertices, four.n.vertices, large.vertex_count * sizeof(vec3));
    close_model(&one);
    close_model(&four);
}

static abut_status create_from_soup(abut_context *context, void *data) {
    const soup *s = data;
    AUTO(mesh) mesh = NULL;
    abut_topology *topology = NULL;
    AUTO(normals) normals = NULL;
    abut_status status = soup_try(context, s, &mesh);
    status = status ? status : abut_topology_create(mesh, &topology);
    status = status ? status : abut_normals_create(topology, &normals);
    if (status)
        assert_null(normals);
    abut_topology_destroy(topology); /* the normals live on without it */
    return status;
}

TEST(out_of_memory) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    test_every_allocation(create_from_soup, s);
}

TEST(cancelled_or_null) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    check_cancelling("normals", 10, create_from_soup, s);
    model m = open_model(NULL, s);
    assert_refused("topology is null", abut_normals_create(NULL, &(abut_normals *){NULL}));
    assert_refused("normals is null", abut_normals_create(m.topology, NULL));
    close_model(&m);
    abut_normals_destroy(NULL);
    assert_null(get_normals_arrays(NULL).faces);
}
