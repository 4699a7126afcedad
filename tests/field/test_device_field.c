/* Fields on a device: the bits of a search at every cell, whatever the mesh and the grid; and
 * nothing lost when the device or the memory fails. */
#include "bvh/meshes.h"

#include "device/open.h"
#include "field/device.h"

static abut_device *device;

/* ---- making ---- */

static abut_bvh *prepare(abut_mesh *mesh, abut_sign_method method) {
    abut_bvh *bvh;
    abut_sign_options sign = abut_sign_options_default();
    sign.method = method;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_bvh_prepare_sign(bvh, &sign));
    return bvh;
}

/* A grid about a mesh: its box, larger by this part on each side, `cells` along the longest. */
static abut_grid grid_about(const abut_mesh *mesh, uint32_t cells, double more) {
    abut_box box = abut_mesh_bounds(mesh);
    abut_vec3 size = vec(box.hi.x - box.lo.x, box.hi.y - box.lo.y, box.hi.z - box.lo.z);
    double longest = fmax(fmax(size.x, size.y), size.z);
    longest = longest > 0 ? longest : fmax(fabs(box.lo.x), 1);
    double cell = longest * (1 + 2 * more) / cells, lo[3] = {box.lo.x, box.lo.y, box.lo.z};
    const double extent[3] = {size.x, size.y, size.z};
    abut_grid grid;
    memset(&grid, 0, sizeof grid);
    for (int axis = 0; axis < 3; axis++) {
        grid.count[axis] = (uint32_t)fmax(2, ceil((extent[axis] + 2 * more * longest) / cell));
        lo[axis] += 0.5 * (extent[axis] - cell * (grid.count[axis] - 1));
    }
    grid.origin = vec(lo[0], lo[1], lo[2]);
    grid.cell = cell;
    return grid;
}

/* ---- comparing ---- */

/* The obvious way: a search for every cell. */
static float *values_of(const abut_bvh *bvh, const abut_grid *grid, double band) {
    size_t count = grid_cells(grid);
    abut_vec3 *points = malloc(count * sizeof *points);
    abut_nearest *nearest = malloc(count * sizeof *nearest);
    float *values = malloc(count * sizeof *values);
    assert_true(points && nearest && values);
    for (size_t i = 0; i < count; i++)
        points[i] = grid_centre(grid, (uint32_t)(i % grid->count[0]),
                                (uint32_t)(i / grid->count[0] % grid->count[1]),
                                (uint32_t)(i / grid->count[0] / grid->count[1]));
    abut_points batch = abut_points_default();
    batch.points = points;
    batch.count = count;
    assert_ok(abut_bvh_nearest_signed_batch(bvh, &batch, HUGE_VAL, nearest));
    for (size_t i = 0; i < count; i++)
        values[i] = (float)fmax(-band, fmin(band, nearest[i].distance));
    free(points);
    free(nearest);
    return values;
}

/* Gives what the build did. */
static field_account check_grid(const abut_bvh *bvh, abut_device_bvh *there, const abut_grid *grid,
                                double band) {
    abut_device_field *field;
    abut_field_options options = abut_field_options_default();
    field_account account = {.doubtful = 0};
    field_parts *parts;
    options.grid = *grid;
    options.band = band;
    band = band > 0 ? band : HUGE_VAL;
    assert_ok(abuti_device_field_account(there, &account));
    assert_ok(abuti_field_parts(there, &parts));
    parts->cells_least = 0; /* lists for grids that would not be worth them */
    assert_ok(abut_device_field_build(there, &options, &field));
    assert_ok(abuti_device_field_account(there, NULL));
    abut_field_info info = abut_device_field_info_get(field);
    assert_memory_equal(&info.grid, grid, sizeof *grid);
    float *got = malloc(info.bytes), *expected = values_of(bvh, grid, band);
    assert_non_null(got);
    assert_ok(abut_device_field_read(field, (const uint32_t[3]){0, 0, 0}, grid->count, got));
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (size_t i = 0; i < grid_cells(grid); i++) {
        if (memcmp(&got[i], &expected[i], sizeof *got) != 0)
            fail_msg("cell %zu (%u, %u, %u): %.9g instead of %.9g", i,
                     (uint32_t)(i % grid->count[0]),
                     (uint32_t)(i / grid->count[0] % grid->count[1]),
                     (uint32_t)(i / grid->count[0] / grid->count[1]), got[i], expected[i]);
        least = fmin(least, expected[i]);
        most = fmax(most, expected[i]);
    }
    assert_true(info.least == least && info.most == most);
    free(got);
    free(expected);
    abut_device_field_destroy(field);
    return account;
}

static void check_mesh(abut_mesh *mesh, uint32_t cells) {
    abut_bvh *bvh = prepare(mesh, ABUT_SIGN_AUTO);
    abut_device_bvh *there;
    assert_ok(abut_device_bvh_create(bvh, device, &there));
    abut_grid grid = grid_about(mesh, cells, 0.1);
    check_grid(bvh, there, &grid, 0);
    check_grid(bvh, there, &grid, 3 * grid.cell);
    abut_device_bvh_destroy(there);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* Without every fifth triangle. */
static abut_mesh *make_torn(abut_mesh *mesh, uint32_t each) {
    uint32_t count = abut_mesh_triangle_count(mesh), kept = 0;
    uint32_t *indices = malloc(3 * (size_t)count * sizeof *indices);
    assert_non_null(indices);
    for (uint32_t t = 0; t < count; t++)
        if (t % each)
            memcpy(indices + 3 * (size_t)kept++, abut_mesh_indices(mesh) + 3 * (size_t)t,
                   3 * sizeof *indices);
    abut_mesh_input input = abut_mesh_input_default();
    abut_mesh *torn;
    input.positions = abut_mesh_positions(mesh);
    input.vertex_count = abut_mesh_vertex_count(mesh);
    input.indices = indices;
    input.triangle_count = kept;
    assert_ok(abut_mesh_create(NULL, &input, &torn));
    free(indices);
    abut_mesh_destroy(mesh);
    return torn;
}

/* ---- tests ---- */

static void closed_surfaces(void **state) {
    (void)state;
    check_mesh(make_shape(NULL, ABUT_SHAPE_TORUS, 40), 45);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 6), 33);
    check_mesh(make_shape(NULL, ABUT_SHAPE_BOX, 1), 24);
    /* its middle has everything equally near */
    check_mesh(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 48), 25);
    check_mesh(make_joined(make_shape(NULL, ABUT_SHAPE_TORUS, 12),
                           make_flipped(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3))),
               20);
}

static void open_surfaces(void **state) {
    (void)state;
    check_mesh(make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 30), 200), 40);
    check_mesh(make_torn(make_shape(NULL, ABUT_SHAPE_TEAPOT, 6), 31), 26);
    check_mesh(make_torn(make_shape(NULL, ABUT_SHAPE_BOX, 1), 6), 24);
}

static void soups(void **state) {
    (void)state;
    for (soup_kind kind = 0; kind < SOUP_COUNT; kind++)
        check_mesh(make_kind(NULL, kind, 60, 5 + kind), 12);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    device = test_device(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_surfaces),
        cmocka_unit_test(open_surfaces),
        cmocka_unit_test(soups),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    abut_device_destroy(device);
    return failed;
}
