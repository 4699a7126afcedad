/* Fields by brute force (Sundholm 2010, appendix A) against abut_field: equal distances up to
 * rounding of floats, equal signs by pseudo-normals. Threads and a device give the same. */
#include "brute.h"

#include "device/open.h"

#include <float.h>
#include <math.h>

enum { SIDE = 20, CELLS = SIDE * SIDE * SIDE };

static abut_mesh *make_shape(abut_context *context, abut_shape_kind kind, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    shape.segments = segments;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    return mesh;
}

/* A cube about the mesh, shifted so that no centre is on a plane of symmetry. */
static abut_grid grid_about(const abut_mesh *mesh) {
    const abut_box b = abut_mesh_bounds(mesh);
    const double longest = fmax(b.hi.x - b.lo.x, fmax(b.hi.y - b.lo.y, b.hi.z - b.lo.z));
    return (abut_grid){.origin = {b.lo.x - 0.053 * longest, b.lo.y - 0.057 * longest,
                                  b.lo.z - 0.059 * longest},
                       .cell = 1.1 * longest / (SIDE - 1),
                       .count = {SIDE, SIDE, SIDE}};
}

static void field_values(abut_mesh *mesh, const abut_grid *grid, abut_sign_method sign,
                         float *values) {
    abut_field_options options = abut_field_options_default();
    AUTO(field) field = NULL;
    options.grid = *grid;
    options.sign = sign;
    const uint32_t begin[3] = {0, 0, 0};
    assert_ok(abut_field_create(mesh, &options, &field));
    assert_ok(abut_field_copy(field, begin, grid->count, values));
}

static void brute_values(abut_context *context, abut_mesh *mesh, const brute_cells *cells,
                         float *values) {
    brute_mesh triangles;
    assert_ok(brute_mesh_create(context, mesh, &triangles));
    brute_compute(&triangles, cells, values);
    brute_mesh_clear(&triangles);
}

/* The largest difference of magnitudes, and the number of opposite signs beyond it. */
static uint32_t compare(const float *found, const float *expected, double *difference) {
    uint32_t opposite = 0;
    *difference = 0;
    for (int i = 0; i < CELLS; i++)
        *difference = fmax(*difference, fabs(fabs((double)found[i]) - fabs((double)expected[i])));
    for (int i = 0; i < CELLS; i++)
        opposite += fabsf(found[i]) > *difference && (found[i] < 0) != (expected[i] < 0);
    return opposite;
}

static const struct {
    abut_shape_kind kind;
    uint32_t segments;
} shapes[] = {{ABUT_SHAPE_BOX, 1},     {ABUT_SHAPE_CONE, 8},         {ABUT_SHAPE_CYLINDER, 16},
              {ABUT_SHAPE_TORUS, 20},  {ABUT_SHAPE_TEAPOT_SOLID, 3}, {ABUT_SHAPE_UVSPHERE, 24},
              {ABUT_SHAPE_LETTER_G, 5}};

TEST(values_are_those_of_fields) {
    static float found[CELLS], expected[CELLS], crossings[CELLS];
    const size_t count = test_brief() ? 2 : sizeof shapes / sizeof *shapes;
    for (size_t i = 0; i < count; i++) {
        AUTO(mesh) mesh = make_shape(NULL, shapes[i].kind, shapes[i].segments);
        const abut_grid grid = grid_about(mesh);
        const brute_cells cells = brute_cells_of(mesh, &grid, 0);
        double difference;
        assert_int_equal(brute_cell_count(&cells), CELLS);
        brute_values(NULL, mesh, &cells, found);
        field_values(mesh, &grid, ABUT_SIGN_NORMAL, expected);
        field_values(mesh, &grid, ABUT_SIGN_AUTO, crossings);
        const uint32_t opposite = compare(found, expected, &difference);
        if (!(difference < 30 * FLT_EPSILON * SIDE * grid.cell))
            fail_msg("shape %zu: distances differ by %g cells", i, difference / grid.cell);
        assert_int_equal(opposite, 0);
        assert_int_equal(compare(found, crossings, &difference), 0);
    }
}

/* The teapot has boundary edges: distances are equal, but pseudo-normals give some cells another
 * sign than winding numbers do. */
TEST(open_meshes_have_some_other_signs) {
    static float found[CELLS], expected[CELLS];
    if (test_brief()) /* the same code as above, with more triangles */
        return;
    AUTO(mesh) teapot = make_shape(NULL, ABUT_SHAPE_TEAPOT, 3);
    const abut_grid grid = grid_about(teapot);
    const brute_cells cells = brute_cells_of(teapot, &grid, 0);
    double difference;
    brute_values(NULL, teapot, &cells, found);
    field_values(teapot, &grid, ABUT_SIGN_AUTO, expected);
    const uint32_t opposite = compare(found, expected, &difference);
    assert_true(difference < 30 * FLT_EPSILON * SIDE * grid.cell);
    assert_true(opposite > 0 && opposite < CELLS / 50);
}

/* Inside and outside both occur, and a cell at a known distance has it. */
TEST(distances_from_a_box) {
    AUTO(mesh) box = make_shape(NULL, ABUT_SHAPE_BOX, 1); /* a unit cube about the origin */
    const abut_box b = abut_mesh_bounds(box);
    const abut_grid grid = {{b.lo.x - 0.5, b.lo.y - 0.25, b.lo.z + 0.125}, 0.25, {3, 2, 2}};
    const brute_cells cells = brute_cells_of(box, &grid, 0);
    float found[12];
    brute_values(NULL, box, &cells, found);
    const double edge = sqrt(0.25 * 0.25 + 0.25 * 0.25), corner = sqrt(0.5 * 0.5 + 0.25 * 0.25);
    const double expected[6] = {corner, edge, 0.25, 0.5, 0.25, 0}; /* y below, y on the face */
    for (int i = 0; i < 12; i++)
        assert_true(fabs(fabs((double)found[i]) - expected[i % 6]) < 1e-6);
    assert_true(found[0] > 0 && found[3] > 0);
}

TEST(rows_are_those_of_all) {
    static float all[CELLS], some[CELLS];
    AUTO(mesh) mesh = make_shape(NULL, ABUT_SHAPE_TORUS, test_brief() ? 5 : 12);
    const abut_grid grid = grid_about(mesh);
    const brute_cells cells = brute_cells_of(mesh, &grid, 0),
                      rows = brute_cells_of(mesh, &grid, 50);
    assert_int_equal(cells.row_step, 1);
    assert_int_equal(rows.row_step, 9); /* 400 rows by 50, and odd */
    assert_int_equal(rows.row_count, 45);
    brute_values(NULL, mesh, &cells, all);
    brute_values(NULL, mesh, &rows, some);
    for (uint32_t row = 0; row < rows.row_count; row++)
        assert_memory_equal(some + row * SIDE, all + row * rows.row_step * SIDE,
                            SIDE * sizeof *some);
}

TEST_THREADS(threads_give_the_same) {
    static float one[CELLS], many[CELLS];
    test_memory memory = {0};
    AUTO(mesh) mesh = make_shape(NULL, ABUT_SHAPE_LETTER_G, test_brief() ? 1 : 3);
    const abut_grid grid = grid_about(mesh);
    const brute_cells cells = brute_cells_of(mesh, &grid, 0);
    abut_context *context = test_context(&memory, 4);
    brute_values(NULL, mesh, &cells, one);
    brute_values(context, mesh, &cells, many);
    assert_memory_equal(one, many, sizeof one);
    abut_context_destroy(context);
    assert_int_equal(memory.live_count, 0);
}

/* 300 triangles: two full groups of local memory and a part of one; 8000 cells: the last group of
 * work-items has cells beyond the end. */
TEST(devices_give_the_same) {
    static float here[CELLS], there[CELLS];
    const char *absence = test_device_absence();
    if (absence) {
        printf("skipped: %s\n", absence);
        return;
    }
    AUTO(mesh) mesh = make_shape(NULL, ABUT_SHAPE_BOX, 5);
    const abut_grid grid = grid_about(mesh);
    const brute_cells cells = brute_cells_of(mesh, &grid, test_brief() ? 50 : 0);
    abut_device *device = test_device(NULL);
    brute_mesh triangles;
    brute_device kernels;
    assert_int_equal(abut_mesh_triangle_count(mesh), 300);
    assert_ok(brute_mesh_create(NULL, mesh, &triangles));
    assert_ok(brute_device_open(device, &kernels));
    brute_compute(&triangles, &cells, here);
    assert_ok(brute_compute_on_device(&kernels, &triangles, &cells, there));
    assert_memory_equal(here, there, sizeof here);
    brute_device_close(&kernels);
    brute_mesh_clear(&triangles);
    abut_device_destroy(device);
}

static abut_status compute_brute(abut_context *context, void *data) {
    const abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    brute_mesh triangles = {0};
    abut_status status = abut_shape_create(context, &shape, &mesh);
    (void)data;
    if (status)
        return status;
    status = brute_mesh_create(context, mesh, &triangles);
    if (!status)
        brute_mesh_clear(&triangles);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(without_memory) {
    test_every_allocation(compute_brute, NULL);
}
