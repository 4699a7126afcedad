/* The first impact of a mesh with itself: top-down over a BVH that is refitted in each step, then
 * elementary tests of the pairs of triangles that were found (Cheng 2011, sections 4.4 and 4.5). */
#include "iccd.h"

struct baseline_search {
    baseline_kind kind;
    abut_mesh *mesh;
    abut_topology *topology;
    abut_topology_arrays t;
    const uint32_t *corners;
    unsigned char *owned; /* of all pairs: bits of the vertices and edges that a triangle tests */
    baseline_tree tree;
    baseline_pairs pairs;
    iccd iccd;
};

/* Every vertex and edge belongs to its first triangle (section 4.1.3). */
static void assign_features(baseline_search *s) {
    s->owned = baseline_array(s->t.triangle_count, 1);
    for (uint32_t i = 0; i < 3 * s->t.triangle_count; i++) {
        const uint32_t v = s->corners[i], e = s->t.triangle_edges[i];
        if (s->t.vertex_faces[s->t.vertex_face_begin[v]] == i / 3)
            s->owned[i / 3] |= (unsigned char)(1 << i % 3);
        if (s->t.edge_faces[s->t.edge_face_begin[e]] == i / 3)
            s->owned[i / 3] |= (unsigned char)(8 << i % 3);
    }
}

static bool has_degenerate(const uint32_t *corners, uint32_t triangle_count) {
    for (uint32_t i = 0; i < triangle_count; i++) {
        const uint32_t *c = corners + 3 * (size_t)i;
        if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0])
            return true;
    }
    return false;
}

abut_status baseline_search_create(abut_mesh *mesh, baseline_kind kind, baseline_search **made) {
    if (abut_mesh_triangle_count(mesh) == 0 ||
        has_degenerate(abut_mesh_indices(mesh), abut_mesh_triangle_count(mesh)))
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "the mesh has no triangles, or one with a vertex twice");
    baseline_search *s = baseline_array(1, sizeof *s);
    const uint32_t vertices = abut_mesh_vertex_count(mesh);
    s->kind = kind;
    s->mesh = abut_mesh_retain(mesh);
    s->corners = abut_mesh_indices(mesh);
    s->t = abut_topology_arrays_default();
    abut_status status = abut_topology_create(mesh, &s->topology);
    if (!status)
        status = abut_topology_get_arrays(s->topology, &s->t);
    if (status) {
        baseline_search_destroy(s);
        return status;
    }
    baseline_tree_build(&s->tree, kind == BASELINE_BOXES ? 3 : BASELINE_SLABS, s->corners,
                        s->t.triangle_count, abut_mesh_local_positions(mesh), vertices);
    if (kind == BASELINE_ICCD)
        iccd_create(&s->iccd, &s->tree, &s->t);
    else
        assign_features(s);
    *made = s;
    return ABUT_OK;
}

void baseline_search_destroy(baseline_search *s) {
    if (!s)
        return;
    baseline_tree_release(&s->tree);
    iccd_release(&s->iccd);
    free(s->owned);
    free(s->pairs.list);
    abut_topology_destroy(s->topology);
    abut_mesh_destroy(s->mesh);
    free(s);
}

uint32_t baseline_search_orphans(const baseline_search *s) {
    return s->iccd.orphan_count;
}

/* ---- traversal ---- */

static uint32_t count_triangles(const baseline_tree *tree, uint32_t node) {
    const uint32_t child = tree->child[node];
    return child & BASELINE_LEAF ? 1
                                 : count_triangles(tree, child) + count_triangles(tree, child + 1);
}

static void find_pairs(baseline_search *s, uint32_t node, const baseline_step *step,
                       baseline_result *result) {
    const uint32_t child = s->tree.child[node];
    if (child & BASELINE_LEAF)
        return;
    if (s->kind == BASELINE_ICCD && iccd_is_free(&s->iccd, node, step, &result->contours)) {
        result->culled += count_triangles(&s->tree, node);
        return;
    }
    find_pairs(s, child, step, result);
    find_pairs(s, child + 1, step, result);
    baseline_tree_cross(&s->tree, child, &s->tree, child + 1, &s->pairs);
}

/* ---- elementary tests ---- */

static void test_features(const baseline_search *s, const baseline_step *step,
                          abut_impact_kind kind, const uint32_t four[4], baseline_result *result) {
    const int first = kind == ABUT_IMPACT_VERTEX_FACE ? 1 : 2;
    for (int i = 0; i < first; i++)
        for (int j = first; j < 4; j++)
            if (four[i] == four[j])
                return;
    if (!baseline_features_near(kind, &s->tree, four))
        return;
    result->tests++;
    const double time = baseline_elementary(kind, step, four);
    if (time <= 1 && (!result->hit || time < result->time)) {
        result->hit = true;
        result->time = time;
    }
}

static void test_vertex(const baseline_search *s, const baseline_step *step, uint32_t vertex,
                        uint32_t face, baseline_result *result) {
    const uint32_t *corner = s->corners + 3 * (size_t)face;
    const uint32_t four[4] = {vertex, corner[0], corner[1], corner[2]};
    test_features(s, step, ABUT_IMPACT_VERTEX_FACE, four, result);
}

static void test_edges(const baseline_search *s, const baseline_step *step, uint32_t a, uint32_t b,
                       baseline_result *result) {
    const uint32_t *e = s->t.edges;
    const uint32_t four[4] = {e[2 * (size_t)a], e[2 * (size_t)a + 1], e[2 * (size_t)b],
                              e[2 * (size_t)b + 1]};
    test_features(s, step, ABUT_IMPACT_EDGE_EDGE, four, result);
}

/* Whether two triangles, in this order, are the first ones of two features that are not adjacent:
 * the representatives of the pair. */
static bool represent(const baseline_search *s, const uint32_t *of_a, uint32_t count_a,
                      const uint32_t *of_b, uint32_t count_b, uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < count_a; i++)
        for (uint32_t j = 0; j < count_b; j++)
            if (!iccd_are_adjacent(s->corners, of_a[i], of_b[j]))
                return of_a[i] == a && of_b[j] == b;
    return false;
}

static bool tests_vertex(const baseline_search *s, uint32_t a, int corner, uint32_t face) {
    const uint32_t v = s->corners[3 * (size_t)a + (size_t)corner],
                   begin = s->t.vertex_face_begin[v];
    if (s->kind != BASELINE_ICCD)
        return s->owned[a] >> corner & 1;
    return represent(s, s->t.vertex_faces + begin, s->t.vertex_face_begin[v + 1] - begin, &face, 1,
                     a, face);
}

static bool tests_edges(const baseline_search *s, uint32_t a, int i, uint32_t b, int j) {
    if (s->kind != BASELINE_ICCD)
        return (s->owned[a] >> (3 + i) & 1) && (s->owned[b] >> (3 + j) & 1);
    const uint32_t e = s->t.triangle_edges[3 * (size_t)a + (size_t)i],
                   f = s->t.triangle_edges[3 * (size_t)b + (size_t)j];
    if (e > f) /* the order of the pair must not matter */
        return tests_edges(s, b, j, a, i);
    const uint32_t at = s->t.edge_face_begin[e], there = s->t.edge_face_begin[f];
    return represent(s, s->t.edge_faces + at, s->t.edge_face_begin[e + 1] - at,
                     s->t.edge_faces + there, s->t.edge_face_begin[f + 1] - there, a, b);
}

static void test_triangles(const baseline_search *s, const baseline_step *step, uint32_t a,
                           uint32_t b, baseline_result *result) {
    for (int i = 0; i < 3; i++) {
        if (tests_vertex(s, a, i, b))
            test_vertex(s, step, s->corners[3 * (size_t)a + (size_t)i], b, result);
        if (tests_vertex(s, b, i, a))
            test_vertex(s, step, s->corners[3 * (size_t)b + (size_t)i], a, result);
        for (int j = 0; j < 3; j++)
            if (tests_edges(s, a, i, b, j))
                test_edges(s, step, s->t.triangle_edges[3 * (size_t)a + (size_t)i],
                           s->t.triangle_edges[3 * (size_t)b + (size_t)j], result);
    }
}

static void test_orphans(const baseline_search *s, const baseline_step *step,
                         baseline_result *result) {
    for (uint32_t i = 0; i < s->iccd.orphan_count; i++) {
        const iccd_orphan *o = &s->iccd.orphans[i];
        if (o->kind == ABUT_IMPACT_VERTEX_FACE)
            test_vertex(s, step, o->element[0], o->element[1], result);
        else
            test_edges(s, step, o->element[0], o->element[1], result);
    }
}

baseline_result baseline_search_find(baseline_search *s, const baseline_step *step) {
    baseline_result result = {.time = 1};
    const double begun = processor_seconds();
    baseline_tree_refit(&s->tree, step);
    if (s->kind == BASELINE_ICCD)
        iccd_fit_cones(&s->iccd, &s->tree, step);
    const double fitted = processor_seconds();
    s->pairs.count = 0;
    find_pairs(s, 0, step, &result);
    const double found = processor_seconds();
    for (size_t i = 0; i < s->pairs.count; i++) {
        const uint32_t a = s->pairs.list[i][0], b = s->pairs.list[i][1];
        if (s->kind != BASELINE_ICCD || !iccd_are_adjacent(s->corners, a, b))
            test_triangles(s, step, a, b, &result);
    }
    test_orphans(s, step, &result);
    result.pairs = s->pairs.count;
    result.bounds = fitted - begun;
    result.traversal = found - fitted;
    result.elementary = processor_seconds() - found;
    return result;
}
