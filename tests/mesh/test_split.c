/* Solids of a mesh: touching ones stay separate, cavities stay with the solid around them, and all
 * triangles are kept. */
#include "mesh/shapes.h"

#include "mesh/mesh.h"

static soup shape;

/* Adds a box, or the wall of a cavity of that size if it is inward. */
static void add_box(double x, double y, double z, double size, bool inward) {
    static const uint32_t sides[12][3] = {{0, 2, 1}, {0, 3, 2}, {4, 5, 6}, {4, 6, 7},
                                          {0, 1, 5}, {0, 5, 4}, {1, 2, 6}, {1, 6, 5},
                                          {2, 3, 7}, {2, 7, 6}, {3, 0, 4}, {3, 4, 7}};
    uint32_t v[8];
    for (int k = 0; k < 8; k++)
        v[k] = soup_vertex(&shape, x + (k % 4 == 1 || k % 4 == 2 ? size : 0),
                           y + (k % 4 >= 2 ? size : 0), z + (k >= 4 ? size : 0));
    for (int t = 0; t < 12; t++)
        soup_triangle(&shape, v[sides[t][0]], v[sides[t][inward ? 2 : 1]],
                      v[sides[t][inward ? 1 : 2]]);
}

static abut_mesh *solids[8];

/* Splits the shape into `expected` solids, whose triangles are all of it. */
static void split(uint32_t expected) {
    abut_mesh_list found = {solids, 8, 77};
    abut_mesh *mesh = soup_mesh(NULL, &shape);
    uint32_t triangles = 0;
    assert_ok(abut_mesh_split(mesh, &found));
    assert_int_equal(expected, found.count);
    for (uint32_t i = 0; i < expected; i++)
        triangles += solids[i]->triangle_count;
    assert_int_equal(shape.triangle_count, triangles);
    abut_mesh_destroy(mesh);
    shape.vertex_count = shape.triangle_count = 0;
}

static void destroy(uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        abut_mesh_destroy(solids[i]);
}

TEST(separate_solids_in_the_order_of_their_first_triangles) {
    add_box(5, 0, 0, 1, false);
    add_box(0, 0, 0, 2, false);
    split(2);
    assert_true(abut_mesh_bounds(solids[0]).lo.x == 5 && abut_mesh_bounds(solids[1]).hi.x == 2);
    assert_int_equal(solids[0]->vertex_count, 8);
    destroy(2);
}

/* Two boxes with a common edge, and four around one: the edge has four and eight faces. */
TEST(boxes_that_touch_along_an_edge_stay_separate) {
    add_box(0, 0, 0, 1, false);
    add_box(1, 1, 0, 1, false);
    split(2);
    destroy(2);
    for (int k = 0; k < 4; k++)
        add_box(k % 2, k / 2, 0, 1, false);
    split(4);
    for (int k = 0; k < 4; k++)
        assert_true(abut_mesh_bounds(solids[k]).lo.x == k % 2 &&
                    abut_mesh_bounds(solids[k]).lo.y == k / 2);
    destroy(4);
}

/* The wall belongs to the smaller of two boxes around it; a solid in the cavity is one of its own;
 * an inward shell in no other one is one too. */
TEST(a_cavity_belongs_to_the_smallest_solid_around_it) {
    add_box(0, 0, 0, 9, false);
    add_box(1, 1, 1, 6, false);
    add_box(2, 2, 2, 3, true);
    add_box(3, 3, 3, 1, false);
    add_box(20, 0, 0, 1, true);
    split(4);
    assert_int_equal(solids[0]->triangle_count, 12);
    assert_int_equal(solids[1]->triangle_count, 24);
    assert_int_equal(solids[2]->triangle_count, 12);
    assert_true(abut_mesh_bounds(solids[3]).lo.x == 20);
    destroy(4);
}

TEST(a_soup_is_connected_by_equal_positions) {
    static const double corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const int faces[4][3] = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
    for (int t = 0; t < 4; t++) {
        uint32_t v[3];
        for (int k = 0; k < 3; k++) {
            const double *p = corners[faces[t][k]];
            v[k] = soup_vertex(&shape, 1e3 + p[0], p[1], p[2]);
        }
        soup_triangle(&shape, v[0], v[1], v[2]);
    }
    split(1);
    assert_int_equal(solids[0]->vertex_count, 4);
    assert_true(abut_mesh_bounds(solids[0]).lo.x == 1e3);
    destroy(1);
}

static abut_status split_and_destroy(abut_context *context, void *data) {
    abut_mesh *mesh = NULL, *list[2];
    abut_mesh_list found = {list, 2, 0};
    abut_status status = soup_try(context, &shape, &mesh);
    if (!status)
        status = abut_mesh_split(mesh, &found);
    for (uint64_t i = 0; !status && i < found.count; i++)
        abut_mesh_destroy(list[i]);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(failing_allocations_and_arguments) {
    abut_mesh_list none = {NULL, 0, 77};
    add_box(0, 0, 0, 3, false);
    add_box(1, 1, 1, 1, true);
    test_every_allocation(split_and_destroy, NULL);
    abut_mesh *mesh = soup_mesh(NULL, &shape);
    assert_refused("mesh is null", abut_mesh_split(NULL, &none));
    assert_fails(ABUT_ERROR_BUFFER, "solids", abut_mesh_split(mesh, &none));
    assert_int_equal(none.count, 1);
    abut_mesh_destroy(mesh);
    shape.vertex_count = shape.triangle_count = 0;
}
