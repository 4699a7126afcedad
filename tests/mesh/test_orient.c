/* Orientation: scrambled meshes come back, cavities stay cavities, one-sided ones keep a seam. */
#include "mesh/shapes.h"

#include "mesh/mesh.h"

#include <abut/abut.h>

static abut_mesh *orient(const soup *s, abut_context *context, uint32_t *flipped) {
    abut_mesh *oriented = NULL;
    AUTO(mesh) mesh = soup_mesh(context, s);
    AUTO(topology) topology = NULL;
    assert_ok(abut_topology_create(mesh, &topology));
    assert_ok(abut_mesh_orient(topology, &oriented, flipped));
    return oriented;
}

/* Turning any triangles of a good mesh and orienting gives the good mesh back. */
static void check_restored(const soup *good, uint64_t seed) {
    static soup bad;
    test_random random = {.state = seed};
    for (uint32_t percent = 0; percent <= 100; percent += 25) {
        uint32_t turned = 0, flipped = ABUT_NONE;
        bad = *good;
        for (uint32_t t = 0; t < bad.triangle_count; t++)
            if (test_random_below(&random, 100) < percent) {
                soup_turn(&bad, t);
                turned++;
            }
        AUTO(mesh) oriented = orient(&bad, NULL, &flipped);
        assert_int_equal(turned, flipped);
        assert_memory_equal(good->indices, oriented->indices,
                            3 * good->triangle_count * sizeof(uint32_t));
        for (uint32_t v = 0; v < good->vertex_count; v++) {
            vec3 p = abuti_mesh_position(oriented, v);
            assert_true(p.x == good->positions[3 * v] && p.z == good->positions[3 * v + 2]);
        }
    }
}

TEST(closed_meshes_come_back) {
    soup *s = fresh();
    soup_box(s, 5, 6);
    check_restored(s, 1);
    s = fresh();
    soup_torus(s, 9, 8, false);
    for (uint32_t i = 0; i < 3 * s->vertex_count; i++)
        s->positions[i] *= 1e-80;
    check_restored(s, 2);
}

/* Boxes in boxes, out and in by turns, and many such nests side by side and stacked. */
TEST(cavities_stay_cavities) {
    soup *s = fresh();
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t nest = i / 8, depth = i % 8, first = s->vertex_count;
        soup_box(s, -1 - (double)depth, 1 + (double)depth);
        for (uint32_t v = first; v < s->vertex_count; v++) {
            s->positions[3 * v] += 16.0 * (nest % 2); /* their outer faces touch */
            s->positions[3 * v + 1] += 16.0 * (nest / 2 % 2);
            s->positions[3 * v + 2] += 16.0 * (nest / 4);
        }
        if (depth % 2 == 0) /* the eighth is outermost: depth 7 outwards, 6 inwards, ... */
            for (uint32_t t = s->triangle_count - 12; t < s->triangle_count; t++)
                soup_turn(s, t);
    }
    check_restored(s, 3);
    AUTO(mesh) mesh = soup_mesh(NULL, s);
    abut_mesh_report r = test_examine(mesh);
    assert_int_equal(0, r.problems[ABUT_PROBLEM_INWARD_COMPONENT].count);
    assert_int_equal(ABUT_RELIABILITY_GUARANTEED,
                     abut_sign_reliability(&r, ABUT_SIGN_NORMAL).level);
}

TEST(open_meshes_follow_the_larger_area) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    s->triangle_count -= 2;
    for (uint32_t t = 0; t < 10; t++) /* all wound inwards but one */
        if (t != 4)
            soup_turn(s, t);
    uint32_t flipped;
    AUTO(mesh) oriented = orient(s, NULL, &flipped);
    assert_int_equal(1, flipped);
    assert_true(test_examine(oriented).is_oriented);
    abut_mesh_destroy(oriented);

    /* one large triangle against three small ones around it */
    s = fresh();
    soup_vertex(s, 0, 0, 0);
    soup_vertex(s, 10, 0, 0);
    soup_vertex(s, 0, 10, 0);
    soup_vertex(s, 5, -1, 0);
    soup_vertex(s, -1, 5, 0);
    soup_vertex(s, 6, 6, 0);
    soup_triangle(s, 1, 3, 0);
    soup_triangle(s, 2, 0, 4);
    soup_triangle(s, 2, 5, 1);
    soup_triangle(s, 0, 1, 2);
    soup_turn(s, 0);
    soup_turn(s, 1);
    soup_turn(s, 2);
    oriented = orient(s, NULL, &flipped);
    assert_true(flipped == 3 || flipped == 0);
    assert_int_equal(1, oriented->indices[10]); /* the large one stayed */
    assert_true(test_examine(oriented).is_oriented);
}

TEST(one_sided_meshes_keep_a_seam) {
    soup *s = fresh();
    soup_moebius(s, 12);
    test_random random = {.state = 5};
    for (uint32_t t = 0; t < s->triangle_count; t++)
        if (test_random_below(&random, 2))
            soup_turn(s, t);
    AUTO(mesh) oriented = orient(s, NULL, NULL);
    abut_mesh_report r = test_examine(oriented);
    assert_false(r.is_oriented);
    assert_true(r.problems[ABUT_PROBLEM_FLIPPED_EDGE].count >= 1);
    assert_true(r.problems[ABUT_PROBLEM_FLIPPED_EDGE].count <= 3);
}

TEST(nonmanifold_edges_part_patches) {
    soup *s = fresh(); /* three pages, and a collapsed triangle on the spine */
    for (int i = 0; i < 8; i++)
        soup_vertex(s, i, i * i, i * i * i);
    for (uint32_t i = 0; i < 3; i++)
        soup_quad(s, 0, 1, 3 + 2 * i, 2 + 2 * i);
    soup_triangle(s, 0, 1, 1);
    soup_turn(s, 1);
    soup_turn(s, 4);
    uint32_t flipped;
    AUTO(mesh) oriented = orient(s, NULL, &flipped);
    assert_int_equal(2, flipped);
    assert_true(test_examine(oriented).is_oriented);
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(s->indices[18 + k], oriented->indices[18 + k]);
}

TEST_THREADS(random_soups_end_oriented_or_one_sided) {
    test_random random = {.state = 6};
    AUTO(context) context = test_context(NULL, 3);
    for (int round = 0; round < 200; round++) {
        soup *s = fresh();
        soup_random(s, &random, 1 + test_random_below(&random, 30),
                    1 + test_random_below(&random, 60));
        uint32_t flipped[3];
        AUTO(mesh) once = orient(s, NULL, &flipped[0]), *threaded = orient(s, context, &flipped[1]);
        size_t bytes = 3 * s->triangle_count * sizeof(uint32_t);
        assert_memory_equal(once->indices, threaded->indices, bytes);
        memcpy(s->indices, once->indices, bytes);
        abut_mesh_destroy(orient(s, NULL, &flipped[2]));
        if (test_examine(once).is_oriented) /* a second call flips no triangle */
            assert_int_equal(0, flipped[2]);
    }
}

/* ---- failures ---- */

static abut_status orient_soup(abut_context *context, void *data) {
    const soup *s = data;
    AUTO(mesh) mesh = NULL, *oriented = NULL;
    AUTO(topology) topology = NULL;
    uint32_t flipped = 77;
    abut_status status = soup_try(context, s, &mesh);
    status = status ? status : abut_topology_create(mesh, &topology);
    status = status ? status : abut_mesh_orient(topology, &oriented, &flipped);
    if (status) {
        assert_null(oriented);
        assert_int_equal(77, flipped);
    }
    return status;
}

TEST(failures) {
    soup *s = fresh();
    soup_box(s, -1, 1);
    soup_box(s, -2, 2);
    test_every_allocation(orient_soup, s);
    check_cancelling("orient", 8, orient_soup, s);
    abut_mesh *oriented = NULL;
    AUTO(mesh) mesh = soup_mesh(NULL, s);
    AUTO(topology) topology = NULL;
    assert_ok(abut_topology_create(mesh, &topology));
    assert_refused("topology is null", abut_mesh_orient(NULL, &oriented, NULL));
    assert_refused("oriented is null", abut_mesh_orient(topology, NULL, NULL));
    assert_null(oriented);
}
