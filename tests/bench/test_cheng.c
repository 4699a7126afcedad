/* The baselines of Cheng 2011: complete searches and ICCD find the first impact of
 * abut_sweep_find(), and the other parts of the thesis do what it says. */
#include "self/deform.h"

#include "baseline.h"

#include <math.h>

/* Times of impact may differ by more than rounding errors: ours are early within a tolerance. */
#define TIME_TOLERANCE 1e-6

typedef struct searches {
    abut_mesh *mesh;
    baseline_search *by[BASELINE_KINDS];
    abut_sweep *sweep;
    uint32_t hits, frees;
    uint64_t culled;
} searches;

static searches open_searches(abut_mesh *mesh) {
    searches s = {.mesh = mesh};
    for (int k = 0; k < BASELINE_KINDS; k++)
        assert_ok(baseline_search_create(mesh, (baseline_kind)k, &s.by[k]));
    assert_ok(abut_sweep_create(&mesh, 1, NULL, &s.sweep));
    return s;
}

static void close_searches(searches *s) {
    for (int k = 0; k < BASELINE_KINDS; k++)
        baseline_search_destroy(s->by[k]);
    abut_sweep_destroy(s->sweep);
    abut_mesh_destroy(s->mesh);
}

/* Every baseline finds the first impact of the library. Returns whether there is one. */
static bool compare_step(searches *s, const abut_vec3 *start, const abut_vec3 *end) {
    const baseline_step step = {start, end, abut_mesh_vertex_count(s->mesh)};
    abut_impact impact;
    abut_impact_list found = {&impact, 1, 0};
    assert_ok(abut_sweep_set_positions(s->sweep, abut_array_host(start), abut_array_host(end)));
    assert_ok(abut_sweep_find(s->sweep, ABUT_SWEEP_EARLIEST, NULL, &found, NULL));
    for (int k = 0; k < BASELINE_KINDS; k++) {
        const baseline_result r = baseline_search_find(s->by[k], &step);
        assert_int_equal(found.count > 0, r.hit);
        if (found.count)
            assert_true(fabs(impact.time - r.time) <= TIME_TOLERANCE);
        s->culled += r.culled;
        assert_true(k == BASELINE_ICCD || r.culled == 0);
    }
    s->hits += found.count > 0;
    s->frees += !found.count;
    return found.count > 0;
}

/* Positions move on until something touches, then begin anew. */
static void compare_random_motion(abut_mesh *mesh, unsigned seed, double size, int steps) {
    searches s = open_searches(mesh);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    test_random random = {seed};
    AUTO_FREE abut_vec3 *rest = positions_of(mesh), *from = positions_of(mesh),
                        *to = positions_of(mesh);
    for (int k = 0; k < steps; k++) {
        random_motion(&random, from, to, count, size, 0.002);
        memcpy(from, compare_step(&s, from, to) ? rest : to, count * sizeof *from);
    }
    assert_true(s.hits > 2);
    assert_true(s.frees > 2);
    assert_true(s.culled > 0);
    close_searches(&s);
}

TEST(first_impacts_are_those_of_sweeps) {
    (void)state;
    compare_random_motion(make_sheet(one_thread(), 16, 16, false), 1, 0.6, 40);
    if (test_brief())
        return;
    compare_random_motion(make_sheet(one_thread(), 20, 24, true), 2, 0.4, 40);
    compare_random_motion(make_shape(one_thread(), ABUT_SHAPE_ICOSPHERE, 8), 3, 0.5, 40);
    compare_random_motion(make_shape(one_thread(), ABUT_SHAPE_TORUS, 24), 4, 0.4, 40);
    compare_random_motion(make_two(one_thread(), 2.2, 1), 5, 0.5, 40);
}

/* A sheet whose rows are rolled up by an angle at their last one. */
static void roll(const abut_vec3 *rest, abut_vec3 *to, uint32_t count, double angle) {
    for (uint32_t i = 0; i < count; i++) {
        const double a = 0.5 * (rest[i].x + 1) * angle, r = 2 / angle;
        to[i] = (abut_vec3){r * sin(a), rest[i].y, r * (1 - cos(a))};
    }
}

TEST(a_region_within_a_cone_is_culled) {
    (void)state;
    abut_mesh *mesh = make_sheet(one_thread(), 16, 16, false);
    searches s = open_searches(mesh);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    AUTO_FREE abut_vec3 *rest = positions_of(mesh), *from = positions_of(mesh),
                        *to = positions_of(mesh);
    roll(rest, from, count, 0.5);
    roll(rest, to, count, 1.0);
    const baseline_step step = {from, to, count};
    const baseline_result r = baseline_search_find(s.by[BASELINE_ICCD], &step);
    assert_int_equal(512, r.culled); /* the whole sheet, by one contour test */
    assert_int_equal(1, r.contours);
    assert_int_equal(0, r.pairs);
    assert_false(r.hit);
    /* rolled up until the last row reaches the first one */
    roll(rest, from, count, 5.5);
    roll(rest, to, count, 7.0);
    assert_true(compare_step(&s, from, to));
    close_searches(&s);
}

/* The turns of a spiral, seen along its axis: all normals are the same, and only the contour shows
 * that they lie over each other. */
TEST(a_ramp_needs_the_contour_test) {
    (void)state;
    abut_mesh *mesh = make_sheet(one_thread(), 32, 4, false);
    searches s = open_searches(mesh);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    AUTO_FREE abut_vec3 *rest = positions_of(mesh), *from = positions_of(mesh),
                        *to = positions_of(mesh);
    for (uint32_t i = 0; i < count; i++) {
        const double angle = 4.5 * (rest[i].x + 1), r = 1.5 + 0.5 * rest[i].y;
        from[i] = (abut_vec3){r * cos(angle), r * sin(angle), 0.02 * angle};
        to[i] = from[i];
        to[i].z = 0.001 * sin(3 * angle); /* the turns touch */
    }
    const baseline_step step = {from, from, count};
    const baseline_result r = baseline_search_find(s.by[BASELINE_ICCD], &step);
    assert_true(r.contours > 1);
    assert_true(r.culled > 0);
    assert_true(r.pairs > 0);
    assert_true(compare_step(&s, from, to));
    close_searches(&s);
}

/* The corner of a triangle passes through its neighbour: all triangles of both are adjacent. */
TEST(orphans_are_tested) {
    (void)state;
    const abut_vec3 from[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.3, 0.3, 1}};
    const uint32_t indices[6] = {0, 1, 2, 1, 0, 3};
    abut_vec3 to[4];
    memcpy(to, from, sizeof to);
    to[3].z = -1;
    searches s = open_searches(test_mesh(one_thread(), from, 4, indices, 2));
    const baseline_step step = {from, to, 4};
    assert_true(compare_step(&s, from, to));
    assert_true(fabs(baseline_search_find(s.by[BASELINE_ICCD], &step).time - 0.5) < 1e-9);
    assert_true(baseline_search_orphans(s.by[BASELINE_ICCD]) > 0);
    assert_int_equal(0, baseline_search_orphans(s.by[BASELINE_DOPS]));
    close_searches(&s);
}

TEST(elementary_tests_agree_with_sweeps) {
    (void)state;
    test_random random = {11};
    const uint32_t four[4] = {0, 1, 2, 3};
    uint32_t hits = 0, apart = 0;
    for (int k = 0; k < 20000; k++) {
        abut_vec3 start[4], end[4];
        for (int i = 0; i < 4; i++) {
            start[i] = random_vector(&random, 1);
            end[i] = random_vector(&random, 1);
        }
        const baseline_step step = {start, end, 4};
        const bool face = k & 1;
        abut_sweep_result r;
        assert_ok(face ? abut_sweep_vertex_face(start, end, NULL, &r)
                       : abut_sweep_edge_edge(start, end, NULL, &r));
        const abut_impact_kind kind = face ? ABUT_IMPACT_VERTEX_FACE : ABUT_IMPACT_EDGE_EDGE;
        const double time = baseline_elementary(kind, &step, four);
        assert_int_equal(r.hit, time <= 1);
        if (r.hit)
            assert_true(fabs(r.time - time) <= TIME_TOLERANCE);
        const uint32_t corners[3] = {0, 1, 2};
        baseline_tree tree;
        baseline_tree_build(&tree, 3, corners, 1, start, 4);
        baseline_tree_refit(&tree, &step);
        assert_true(!r.hit || baseline_features_near(kind, &tree, four));
        apart += !baseline_features_near(kind, &tree, four);
        baseline_tree_release(&tree);
        hits += r.hit;
    }
    assert_in_range(hits, 1000, 19000);
    assert_true(apart > 100);
}

/* All four vertices stay in a plane, so that the cubic is zero throughout. */
TEST(coplanar_features_are_decided) {
    (void)state;
    abut_vec3 start[4] = {{-1, 0.3, 0}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, end[4];
    const uint32_t four[4] = {0, 1, 2, 3};
    memcpy(end, start, sizeof end);
    end[0].x = 0.5;
    const baseline_step step = {start, end, 4};
    const double time = baseline_elementary(ABUT_IMPACT_VERTEX_FACE, &step, four);
    assert_true(fabs(2.0 / 3 - time) <= TIME_TOLERANCE);
    end[0].x = -0.5;
    assert_true(baseline_elementary(ABUT_IMPACT_VERTEX_FACE, &step, four) > 1);
}

TEST(every_triangle_is_in_a_cluster) {
    (void)state;
    AUTO(mesh) mesh = make_shape(one_thread(), ABUT_SHAPE_ICOSPHERE, 6);
    AUTO(topology) topology = NULL;
    assert_ok(abut_topology_create(mesh, &topology));
    const abut_topology_arrays t = get_topology_arrays(topology);
    const uint32_t *corner = abut_mesh_indices(mesh);
    AUTO_FREE uint32_t *centre = calloc(t.triangle_count, sizeof *centre);
    AUTO_FREE uint32_t *used = calloc(t.vertex_count, sizeof *used);
    const uint32_t clusters = baseline_clusters(&t, centre);
    uint32_t centres = 0;
    for (uint32_t i = 0; i < t.triangle_count; i++) {
        const uint32_t *c = corner + 3 * i;
        assert_true(centre[i] == c[0] || centre[i] == c[1] || centre[i] == c[2]);
        centres += used[centre[i]]++ == 0;
    }
    assert_int_equal(clusters, centres);
    assert_true(3 * clusters < 2 * t.vertex_count);
    /* view tests of a growing ball: all exits, whichever vertex is tested; of its reverse, none */
    AUTO_FREE abut_vec3 *from = positions_of(mesh), *to = positions_of(mesh);
    AUTO_FREE unsigned char *regions = calloc(t.vertex_count, 1);
    for (uint32_t i = 0; i < t.vertex_count; i++)
        to[i] = v3_scale(from[i], 1.5);
    const baseline_step step = {from, to, t.vertex_count};
    const abut_self_line line = {.start = {{-0.3, 0, 0}, {0.3, 0, 0}}};
    for (int k = 0; k < 2; k++) {
        uint32_t sets[3];
        baseline_view_test(&line, &step, corner, t.triangle_count, k ? centre : NULL, regions,
                           sets);
        assert_int_equal(t.triangle_count, sets[0]);
        assert_int_equal(0, sets[1] + sets[2]);
    }
    for (uint32_t i = 0; i < t.vertex_count; i++)
        to[i] = v3_scale(from[i], -1); /* through the line */
    uint32_t sets[3];
    baseline_view_test(&line, &step, corner, t.triangle_count, NULL, regions, sets);
    assert_true(sets[2] > t.triangle_count / 2);
}

/* A tube whose first row moves inwards, through a ghost of its end. */
TEST(ghosts_with_and_without_a_vertex) {
    (void)state;
    AUTO(mesh) mesh = make_sheet(one_thread(), 12, 8, true);
    AUTO(topology) topology = NULL;
    assert_ok(abut_topology_create(mesh, &topology));
    const abut_topology_arrays t = get_topology_arrays(topology);
    AUTO_FREE abut_vec3 *from = positions_of(mesh), *to = positions_of(mesh);
    for (uint32_t i = 12; i < 24; i++) { /* the second row passes the first one within it */
        from[i].x *= 0.5;
        from[i].y *= 0.5;
        to[i] = from[i];
        to[i].z = -1.2;
    }
    baseline_tree tree;
    baseline_tree_build(&tree, BASELINE_SLABS, abut_mesh_indices(mesh), t.triangle_count, from,
                        t.vertex_count);
    for (int k = 0; k < 2; k++) {
        baseline_ghosts ghosts;
        baseline_ghosts_create(&ghosts, &t, from, k);
        assert_int_equal(k ? 24 : 20, ghosts.count);
        const baseline_step rest = {from, from, t.vertex_count}, step = {from, to, t.vertex_count};
        baseline_tree_refit(&tree, &rest);
        assert_int_equal(0, baseline_ghosts_touched(&ghosts, &tree, &rest));
        baseline_tree_refit(&tree, &step);
        assert_in_range(baseline_ghosts_touched(&ghosts, &tree, &step), 24, 72);
        baseline_ghosts_release(&ghosts);
    }
    baseline_tree_release(&tree);
}

TEST(history_nodes_find_the_same_pairs) {
    (void)state;
    AUTO(mesh) mesh = make_sheet(one_thread(), 24, 24, false);
    const uint32_t count = abut_mesh_vertex_count(mesh), triangles = abut_mesh_triangle_count(mesh);
    AUTO_FREE abut_vec3 *rest = positions_of(mesh), *from = positions_of(mesh),
                        *to = positions_of(mesh);
    AUTO_FREE uint32_t *list = calloc(triangles, sizeof *list);
    baseline_tree tree;
    baseline_tree_build(&tree, BASELINE_SLABS, abut_mesh_indices(mesh), triangles, rest, count);
    roll(rest, from, count, 0.1);
    const baseline_step first = {from, from, count};
    baseline_tree_refit(&tree, &first);
    baseline_history *h[BASELINE_POLICIES];
    uint64_t initial = 0, tests[BASELINE_POLICIES] = {0};
    for (int k = 0; k < BASELINE_POLICIES; k++)
        h[k] = baseline_history_create(&tree, (baseline_policy)k, triangles, &initial);
    assert_true(initial > 10 * (uint64_t)triangles);
    for (uint32_t frame = 0; frame < 30; frame++) {
        uint32_t listed = 0;
        roll(rest, from, count, 0.1 + 0.2 * frame);
        roll(rest, to, count, 0.3 + 0.2 * frame);
        const baseline_step step = {from, to, count};
        baseline_tree_refit(&tree, &step);
        for (uint32_t i = frame % 3; i < triangles; i += 3)
            list[listed++] = i;
        uint64_t pairs[BASELINE_POLICIES];
        for (int k = 0; k < BASELINE_POLICIES; k++)
            pairs[k] = baseline_history_find(h[k], &tree, list, listed, &tests[k]);
        assert_true(pairs[0] > listed);
        assert_true(pairs[0] == pairs[1] && pairs[0] == pairs[2]);
    }
    assert_true(tests[BASELINE_ROOT] < tests[BASELINE_WITHOUT]);
    assert_true(tests[BASELINE_INITIAL] < tests[BASELINE_WITHOUT]);
    for (int k = 0; k < BASELINE_POLICIES; k++)
        baseline_history_destroy(h[k]);
    AUTO_FREE unsigned char *marks = calloc(tree.node_count, 1);
    baseline_tree_mark(&tree, marks);
    for (uint32_t i = 0; i < tree.node_count; i++)
        assert_int_equal(1, marks[i]);
    baseline_tree_release(&tree);
}

TEST(meshes_that_the_baselines_cannot_search) {
    (void)state;
    const abut_vec3 p[3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    const uint32_t indices[3] = {0, 1, 1};
    AUTO(mesh) mesh = test_mesh(one_thread(), p, 3, indices, 1);
    baseline_search *s = NULL;
    assert_refused("a vertex twice", baseline_search_create(mesh, BASELINE_ICCD, &s));
    assert_null(s);
}
