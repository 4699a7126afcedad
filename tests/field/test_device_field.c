/* Fields on a device: the bits of a search at every cell, for any mesh and grid; and no leak if
 * the device or the memory fails. */
#include "apps/get.h"
#include "bvh/device_queries.h"

#include "device/open.h"
#include "expected_value.h"
#include "field/build/device.h"

/* ---- making ---- */

static abut_bvh *prepare(abut_mesh *mesh, abut_sign_method method) {
    abut_bvh *bvh;
    abut_sign_options sign = abut_sign_options_default();
    sign.method = method;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_sign_prepare(bvh, &sign));
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
    abut_array batch = abut_array_host(points);
    assert_ok(abut_sign_nearest_batch(bvh, batch, count, HUGE_VAL, abut_array_host(nearest)));
    for (size_t i = 0; i < count; i++)
        values[i] =
            (float)fmax(-band, fmin(band, wanted_distance(bvh, points[i], nearest[i].distance)));
    free(points);
    free(nearest);
    return values;
}

/* Returns the statistics of the last build. */
static const field_parts *check_grid(const abut_bvh *bvh, abut_bvh *there, const abut_grid *grid,
                                     double band) {
    abut_field *field;
    abut_field_options options = abut_field_options_default();
    field_parts *parts;
    options.grid = *grid;
    options.band = band;
    band = band > 0 ? band : HUGE_VAL;
    assert_ok(abuti_field_parts(there->there, &parts));
    parts->cells_min = 0; /* lists for grids that would not be worth them */
    assert_ok(abut_field_create_from(there, &options, &field));
    assert_non_null(abut_field_values(field));
    uint64_t blocks = 0;
    assert_ok(abut_field_update_from(field, there, &blocks)); /* now with two queues */
    assert_int_equal(blocks, ((grid->count[0] + 7) / 8) * ((grid->count[1] + 7) / 8) *
                                 ((grid->count[2] + 7) / 8));
    abut_field_info info = get_field_info(field);
    assert_memory_equal(&info.grid, grid,
                        offsetof(abut_grid, count) + sizeof grid->count); /* not its padding */
    float *got = malloc(info.bytes), *expected = values_of(bvh, grid, band);
    assert_non_null(got);
    assert_null(field->values);
    assert_ok(abut_buffer_read(abut_field_values(field), 0, got, info.bytes));
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
    assert_true(info.lowest == least && info.highest == most);
    free(got);
    free(expected);
    abut_field_destroy(field);
    return parts;
}

/* The features of a BVH, as they are on the device. */
typedef struct features_there {
    uint32_t count, *begin, *incidents;
    feature_record *records;
    feature_exact *exact;
} features_there;

static void *read_memory(device_features *features, uint32_t which, size_t bytes) {
    void *memory = malloc(bytes);
    assert_non_null(memory);
    assert_ok(abuti_kit_download(&features->kit, which, memory, bytes, 1));
    return memory;
}

static features_there read_features(const abut_bvh *there) {
    device_features *features;
    assert_ok(abuti_features_on_device(there->there, &features));
    features_there f = {.count = features->count};
    f.begin = read_memory(features, FEATURES_INCIDENT_BEGIN, 4 * (size_t)(f.count + 1));
    f.incidents = read_memory(features, FEATURES_INCIDENT_PLACES, 4 * (size_t)f.begin[f.count]);
    f.records = read_memory(features, FEATURES_RECORDS, f.count * sizeof *f.records);
    f.exact = read_memory(features, FEATURES_EXACT, f.count * sizeof *f.exact);
    return f;
}

static void free_features(features_there *f) {
    free(f->begin);
    free(f->incidents);
    free(f->records);
    free(f->exact);
}

/* Those that the device makes against those of the CPU, bit for bit; but a vertex with many
 * neighbours may have others of them for its vectors. */
static void check_features(const abut_bvh *there) {
    const bvh_on_device *on = there->there;
    const size_t places = (size_t)on->tree.leaf_count * BVH_WIDTH;
    uint32_t *order = malloc(places * sizeof *order);
    abuti_features here = {0};
    features_there made = read_features(there);
    assert_non_null(order);
    assert_ok(abuti_buffer_fetch(&on->tree.order, 0, there->context, order, 4 * places));
    assert_ok(abuti_features_create(on->tree.mesh, on->tree.scale, order, on->tree.leaf_count,
                                    FEATURES_INCIDENTS, &here));
    assert_int_equal(here.count, made.count);
    assert_memory_equal(here.incident_begin, made.begin, 4 * (size_t)(here.count + 1));
    for (uint32_t i = 0; i < made.begin[here.count]; i++)
        assert_int_equal(here.incidents[i], order[made.incidents[i]]);
    for (uint32_t i = 0; i < here.count; i++) {
        const bool is_face = feature_kind_of(&here.records[i]) == FEATURE_FACE;
        if (memcmp(&here.records[i], &made.records[i], sizeof *here.records) != 0)
            assert_true(made.begin[i + 1] - made.begin[i] > 64);
        assert_int_equal(is_face, made.exact[i].is & FEATURE_IS_FACE);
        if (is_face)
            assert_int_equal(feature_source(&here, i), made.exact[i].triangle);
    }
    abuti_features_destroy(&here);
    free_features(&made);
    free(order);
}

static void check_mesh(abut_mesh *mesh, uint32_t cells) {
    AUTO(bvh) bvh = prepare(mesh, ABUT_SIGN_AUTO);
    AUTO(bvh) there;
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &there));
    abut_grid grid = grid_about(mesh, cells, 0.1);
    check_features(there);
    check_grid(bvh, there, &grid, 0);
    check_grid(bvh, there, &grid, 3 * grid.cell);
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
    abut_mesh *torn = test_mesh(NULL, abut_mesh_local_positions(mesh), abut_mesh_vertex_count(mesh),
                                indices, kept);
    free(indices);
    abut_mesh_destroy(mesh);
    return torn;
}

/* ---- tests ---- */

TEST(closed_surfaces) {
    check_mesh(make_shape(NULL, ABUT_SHAPE_TORUS, 24), 34);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 5), 20);
    check_mesh(make_shape(NULL, ABUT_SHAPE_BOX, 1), 16);
    /* its middle has everything equally near */
    check_mesh(make_shape(NULL, ABUT_SHAPE_UVSPHERE, 48), 17);
    check_mesh(make_joined(make_shape(NULL, ABUT_SHAPE_TORUS, 12),
                           make_flipped(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3))),
               20);
}

TEST(open_surfaces) {
    check_mesh(make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 24), 200), 34);
    check_mesh(make_torn(make_shape(NULL, ABUT_SHAPE_TEAPOT, 5), 31), 18);
    check_mesh(make_torn(make_shape(NULL, ABUT_SHAPE_BOX, 1), 6), 16);
}

/* A device builds another BVH than the CPU; values do not depend on it, nor on whether they
 * go by lists or by the search. Afterwards the BVH computes winding numbers as well. */
TEST(from_other_hierarchies) {
    abut_mesh *meshes[] = {make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 24), 150),
                           make_shape(NULL, ABUT_SHAPE_TEAPOT, 4),
                           make_torn(make_shape(NULL, ABUT_SHAPE_BOX, 1), 4)};
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++)
        for (uint32_t cells = 8; cells <= 40; cells += 32) {
            abut_field_options options = abut_field_options_default();
            AUTO(field) here;
            AUTO(field) there;
            AUTO(bvh) bvh;
            double winding;
            options.cells = cells;
            assert_ok(abut_field_create(meshes[m], &options, &here));
            options.device = device;
            assert_ok(abut_field_create(meshes[m], &options, &there));
            uint64_t bytes = get_field_info(here).bytes;
            float *values = malloc(bytes);
            assert_non_null(values);
            assert_ok(abut_buffer_read(abut_field_values(there), 0, values, bytes));
            assert_memory_equal(values, here->values, bytes);
            abut_field_destroy(there);
            assert_ok(build_there(meshes[m], &bvh));
            assert_ok(abut_field_create_from(bvh, &options, &there));
            assert_ok(abut_sign_winding(bvh, abut_mesh_bounds(meshes[m]).lo, &winding));
            assert_true(fabs(winding) < 1);
            free(values);
        }
    for (size_t m = 0; m < sizeof meshes / sizeof *meshes; m++)
        abut_mesh_destroy(meshes[m]);
}

TEST(soups) {
    for (soup_kind kind = 0; kind < SOUP_COUNT; kind++)
        check_mesh(make_kind(NULL, kind, 40, 5 + kind), 9);
    /* a vertex in so many triangles that there are no features */
    AUTO(mesh) hub = make_shape(NULL, ABUT_SHAPE_CONE, FEATURES_DEGREE + 4);
    AUTO(bvh) bvh = prepare(hub, ABUT_SIGN_AUTO), *there;
    abut_grid grid = grid_about(hub, 20, 0.1);
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &there));
    assert_true(check_grid(bvh, there, &grid, 0)->is_searched);
}

/* ---- the ways around lists ---- */

/* Lists of one slice, and long ones in the middle of a sphere. */
TEST(long_lists) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_UVSPHERE, 48);
    abut_bvh *bvh = prepare(mesh, ABUT_SIGN_AUTO);
    abut_bvh *there;
    field_parts *parts;
    abut_grid grid = grid_about(mesh, 36, 0.1);
    grid.count[2] = 20; /* some blocks have fewer than eight parts */
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &there));
    assert_ok(abuti_field_parts(there->there, &parts));
    parts->slices_max = 1;
    assert_true(check_grid(bvh, there, &grid, 0)->counters[FIELD_COUNT_LONG_8] > 0);
    check_grid(bvh, there, &grid, 2 * grid.cell);
    abut_bvh_destroy(there);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    check_mesh(make_shape(NULL, ABUT_SHAPE_BOX, 1), 34);
}

/* Grids that are left to the search, a pool that must grow, and the report of a build. */
TEST(other_ways) {
    AUTO(mesh) mesh = make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 16), 90);
    AUTO(bvh) bvh = prepare(mesh, ABUT_SIGN_AUTO);
    AUTO(bvh) there;
    field_parts *parts;
    abut_grid grid = grid_about(mesh, 16, 0.1), far = grid;
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &there));
    const field_parts *built = check_grid(bvh, there, &grid, 0);
    assert_true(!built->is_searched && built->counters[FIELD_COUNT_ENTRIES] > 0);
    assert_ok(abuti_field_parts(there->there, &parts));
    parts->pool_count = 1; /* what the buffer has beside that is not used */
    parts->pool_fixed = true;
    built = check_grid(bvh, there, &grid, 0);
    assert_true(!built->is_searched && built->counters[FIELD_COUNT_ENTRIES] > 0);
    assert_true(parts->pool_count > 1);
    parts->pool_fixed = false;
    far.cell *= 2000;
    far.count[0] = far.count[1] = far.count[2] = 4;
    assert_true(check_grid(bvh, there, &far, 0)->is_searched);
    assert_true(check_grid(bvh, there, &far, grid.cell)->is_searched);
    abut_bvh_destroy(there);
    abut_bvh_destroy(bvh);
    /* pseudo-normals use the search */
    AUTO(mesh) closed = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    bvh = prepare(closed, ABUT_SIGN_NORMAL);
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &there));
    grid = grid_about(closed, 6, 0.1);
    assert_true(check_grid(bvh, there, &grid, 0)->is_searched);
}

/* abut_field_create() with a device: the same bytes as without. Floats stay there until someone
 * queries on the CPU; fields of 16 bits are downloaded. */
TEST(for_the_cpu) {
    AUTO(mesh) mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 12);
    for (int round = 0; round < 4; round++) {
        const bool type = round % 2;
        abut_field_options options = abut_field_options_default();
        abut_field *here, *built;
        options.cells = 14 - (uint32_t)round / 2;
        options.type = type ? ABUT_FIELD_INT16 : ABUT_FIELD_FLOAT;
        assert_ok(abut_field_create(mesh, &options, &here));
        assert_null(abut_field_values(here));
        options.device = device;
        assert_ok(abut_field_create(mesh, &options, &built));
        abut_field_info a = get_field_info(here), b = get_field_info(built);
        assert_true(a.lowest == b.lowest && a.highest == b.highest && a.step == b.step);
        assert_int_equal(a.bytes, b.bytes);
        assert_true((abut_field_values(built) != NULL) == !type);
        assert_true((built->values == NULL) == !type);
        assert_ok(abuti_field_host(built));
        assert_memory_equal(here->values, built->values, a.bytes);
        abut_field_destroy(here);
        abut_field_destroy(built);
    }
}

typedef struct asking {
    const abut_field *here, *there;
    atomic_uint wrong;
} asking;

/* Whatever comes first brings the values over. */
static void ask_task(void *data, size_t chunk, size_t begin, size_t end) {
    asking *a = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const uint32_t first[3] = {(uint32_t)(i % 5), (uint32_t)(i % 7), 0}, two[3] = {2, 2, 2};
        abut_vec3 point = vec(0.1 * (double)(i % 13), 0.3, -0.02 * (double)i);
        abut_field_value p, q;
        float x[8], y[8];
        if (abut_field_evaluate(a->there, point, ABUT_INTERPOLATION_CUBIC, &p) ||
            abut_field_evaluate(a->here, point, ABUT_INTERPOLATION_CUBIC, &q) ||
            p.distance != q.distance || p.gradient.x != q.gradient.x ||
            abut_field_copy(a->there, first, two, x) || abut_field_copy(a->here, first, two, y) ||
            memcmp(x, y, sizeof x) != 0)
            atomic_fetch_add(&a->wrong, 1);
    }
}

/* All queries of the CPU on a field of a device, from several threads at once; a file of it; and
 * a cache, which gives it back on the device. */
TEST(questions) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 12), *surface[2];
    abut_field_options options = abut_field_options_default();
    abut_field *here, *there, *again, *joined;
    options.cells = 14;
    assert_ok(abut_field_create(mesh, &options, &here));
    options.device = device;
    for (int round = 0; round < 4; round++) {
        assert_ok(abut_field_create(mesh, &options, &there));
        asking a = {.here = here, .there = there};
        const uint32_t *all = here->grid.count, layers[3] = {all[0], all[1], all[2] - 3},
                       second[3] = {0, 0, 2};
        float *x = malloc(sizeof *x * there->value_count),
              *y = malloc(sizeof *y * here->value_count);
        assert_ok(abut_field_copy(there, second, layers, x)); /* straight from the device */
        assert_ok(abut_field_copy(here, second, layers, y));
        assert_null(there->values);
        assert_memory_equal(x, y, sizeof *x * grid_at(all, 0, 0, all[2] - 3));
        free(x);
        free(y);
        abuti_parallel_for(here->context, 64, 1, ask_task, &a);
        assert_int_equal(0, atomic_load(&a.wrong));
        abut_field_destroy(there);
    }
    assert_ok(abut_field_create(mesh, &options, &there));
    assert_ok(abut_field_isosurface(here, 0.05, &surface[0]));
    assert_ok(abut_field_isosurface(there, 0.05, &surface[1]));
    assert_int_equal(abut_mesh_triangle_count(surface[0]), abut_mesh_triangle_count(surface[1]));
    abut_field_destroy(there);
    assert_ok(abut_field_create(mesh, &options, &there));
    assert_ok(abut_field_combine(there, here, ABUT_COMBINATION_UNION, &joined));
    assert_memory_equal(joined->values, here->values, get_field_info(here).bytes);
    abut_field_destroy(there);
    assert_ok(abut_field_create(mesh, &options, &there));
    const abut_vec3 centre = vec(0.9, 0.1, 0.2);
    const abut_pose none = {{0, 0, 0, 1}, {0, 0, 0}};
    abut_contact found[2][32];
    abut_contacts lists[2] = {{.size = sizeof(abut_contacts), .list = found[0], .capacity = 32},
                              {.size = sizeof(abut_contacts), .list = found[1], .capacity = 32}};
    for (int i = 0; i < 2; i++) {
        const abut_collider body = abut_collider_from_field(i ? there : here, NULL, none);
        assert_ok(abut_contact_points(&body, abut_array_host(&centre), 1, 0.3, NULL, &lists[i]));
    }
    assert_true(lists[0].count > 0 && lists[0].count == lists[1].count);
    for (size_t i = 0; i < lists[0].count; i++)
        assert_true(found[0][i].id == found[1][i].id && found[0][i].depth == found[1][i].depth);
    abut_field_destroy(there);
    options.cache = test_path("device-cache");
    assert_ok(abut_field_create(mesh, &options, &there));
    assert_ok(abut_field_create(mesh, &options, &again)); /* is read, and goes there */
    float *values = malloc(get_field_info(here).bytes);
    assert_non_null(values);
    assert_ok(abut_buffer_read(abut_field_values(again), 0, values, get_field_info(here).bytes));
    assert_memory_equal(values, here->values, get_field_info(here).bytes);
    free(values);
    assert_ok(abut_field_cache_clear(NULL, options.cache, 0, NULL, NULL));
    abut_field_destroy(joined);
    abut_field_destroy(again);
    abut_field_destroy(there);
    abut_field_destroy(here);
    abut_mesh_destroy(surface[0]);
    abut_mesh_destroy(surface[1]);
    abut_mesh_destroy(mesh);
}

/* A mesh that moves: the values of a new field, for BVH and field on any device. A device that
 * fails half-way leaves a field that says so, until it is updated. */
TEST(updates) {
    const abut_pose aside = {{0, 0, 0, 1}, {0.03, 0.01, 0}};
    AUTO(mesh) mesh = make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 12), 40), *moved;
    abut_field_options options = abut_field_options_default();
    AUTO(field) field;
    AUTO(field) fresh;
    AUTO(bvh) bvh;
    AUTO(bvh) there;
    abut_field_value value;
    uint64_t blocks = 0;
    options.grid = grid_about(mesh, 16, 0.1);
    assert_ok(abut_mesh_transform(mesh, 1, aside, &moved));
    assert_ok(abut_field_create(moved, &options, &fresh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(build_there(mesh, &there));
    options.device = device;
    assert_ok(abut_field_create_from(bvh, &options, &field)); /* which prepares signs */
    assert_ok(abut_field_evaluate(field, vec(0, 0, 0), ABUT_INTERPOLATION_LINEAR, &value));
    assert_ok(abut_field_set_mesh(field, moved, &blocks));
    assert_true(blocks > 0 && field->values == NULL);
    assert_ok(abuti_field_host(field));
    assert_memory_equal(field->values, fresh->values, get_field_info(fresh).bytes);
    assert_ok(abut_field_update_from(field, bvh, NULL));
    assert_ok(abuti_field_host(field));
    assert_true(memcmp(field->values, fresh->values, get_field_info(fresh).bytes) != 0);
    assert_ok(abut_field_update_from(field, there, NULL));
    assert_ok(abut_bvh_set_mesh(there, moved));
    uint32_t broken = 0;
    abut_status status = ABUT_ERROR_DEVICE;
    for (uint64_t n = 1; status; n += 17) {
        abuti_opencl_fail_at(n);
        status = abut_field_update_from(field, there, NULL);
        abuti_opencl_fail_at(0);
        assert_true(!status || status == ABUT_ERROR_DEVICE);
        assert_true(!status == !field->broken || !broken);
        if (field->broken)
            assert_fails(ABUT_ERROR_DEVICE, "update the field again",
                         abut_field_evaluate(field, vec(0, 0, 0), ABUT_INTERPOLATION_LINEAR,
                                             &value));
        broken += field->broken;
    }
    assert_true(broken > 0);
    assert_ok(abut_field_update_from(field, there, NULL));
    assert_ok(abuti_field_host(field));
    assert_memory_equal(field->values, fresh->values, get_field_info(fresh).bytes);
    /* a field of the CPU, by a BVH of the device */
    options.device = NULL;
    AUTO(field) plain;
    assert_ok(abut_field_create(mesh, &options, &plain));
    assert_ok(abut_field_update_from(plain, there, NULL));
    assert_memory_equal(plain->values, fresh->values, get_field_info(fresh).bytes);
}

static void check_sparse(abut_mesh *mesh, abut_field_options options) {
    AUTO(field) here;
    AUTO(field) built;
    options.layout = ABUT_FIELD_SPARSE;
    options.device = NULL;
    assert_ok(abut_field_create(mesh, &options, &here));
    options.device = device;
    assert_ok(abut_field_create(mesh, &options, &built));
    abut_field_info a = get_field_info(here), b = get_field_info(built);
    size_t bricks = (size_t)here->bricks[0] * here->bricks[1] * here->bricks[2];
    const abut_grid corners = field_corners(here);
    assert_true(a.lowest == b.lowest && a.highest == b.highest && a.step == b.step);
    assert_int_equal(a.bytes, b.bytes);
    assert_true(a.bricks > 0 && a.bricks == b.bricks);
    assert_memory_equal(here->index, built->index, bricks * sizeof *here->index);
    assert_memory_equal(here->coarse, built->coarse, grid_cells(&corners) * sizeof *here->coarse);
    assert_memory_equal(here->values, built->values, here->value_count * field_value_bytes(here));
    abut_mesh_destroy(mesh);
}

/* Sparse fields: the same bytes, also where there are several windows. */
TEST(sparse_for_the_cpu) {
    abut_field_options options = abut_field_options_default();
    options.cells = 38;
    check_sparse(make_shape(NULL, ABUT_SHAPE_TORUS, 10), options);
    options.type = ABUT_FIELD_INT16;
    check_sparse(make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 10), 40), options);
    options = abut_field_options_default();
    options.grid.cell = 0.015;
    options.grid.origin = vec(-1.6, -0.1, -0.12);
    options.grid.count[0] = 213;
    options.grid.count[1] = 18;
    options.grid.count[2] = 15;
    check_sparse(make_torn(make_shape(NULL, ABUT_SHAPE_TORUS, 10), 40), options);
    options = abut_field_options_default();
    options.sign = ABUT_SIGN_NORMAL;
    options.cells = 12;
    check_sparse(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 2), options);
}

/* ---- failures ---- */

typedef struct failing {
    abut_field_options options;
    abut_mesh *mesh;
} failing;

static abut_status build(abut_bvh *there, const failing *f) {
    abut_field *field = NULL;
    field_parts *parts;
    abut_status status = abuti_field_parts(there->there, &parts);
    if (!status)
        parts->cells_min = 0;
    status = status ? status : abut_field_create_from(there, &f->options, &field);
    assert_true(!status == (field != NULL));
    abut_field_destroy(field);
    return status;
}

/* The device fails at the n-th call, for some n: an error, nothing left behind, and the same
 * BVH builds the field afterwards. */
TEST(failing_device) {
    AUTO(mesh) mesh = make_torn(make_shape(NULL, ABUT_SHAPE_BOX, 1), 6);
    AUTO(bvh) bvh = prepare(mesh, ABUT_SIGN_AUTO);
    failing f = {abut_field_options_default(), mesh};
    f.options.grid = grid_about(mesh, 6, 0.1);
    for (int warm = 0; warm < 2; warm++) {
        abut_bvh *there = NULL;
        uint64_t step = warm ? 11 : 23;
        bool done = false;
        assert_ok(abuti_bvh_copy_to_device(bvh, device, &there));
        check_grid(bvh, there, &f.options.grid, 0); /* programs are there from now on */
        if (!warm)
            abut_bvh_destroy(there);
        uint64_t live = abuti_opencl_live(), tries = 0;
        for (uint64_t n = 1; !done; n += step, tries++) {
            if (!warm)
                assert_ok(abuti_bvh_copy_to_device(bvh, device, &there));
            abuti_opencl_fail_at(n);
            abut_status status = build(there, &f);
            done = abuti_opencl_calls() < n;
            abuti_opencl_fail_at(0);
            assert_int_equal(done ? ABUT_OK : ABUT_ERROR_DEVICE, status);
            if (tries % 4 == 0)
                check_grid(bvh, there, &f.options.grid, 0);
            if (!warm)
                abut_bvh_destroy(there);
            assert_int_equal(live, abuti_opencl_live());
        }
        assert_true(tries > 10);
        if (warm)
            abut_bvh_destroy(there);
    }
}

/* The same for sparse fields, which are made from nothing each time. */
TEST(failing_sparse) {
    AUTO(mesh) mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1);
    abut_field_options options = abut_field_options_default();
    abut_field *field = NULL;
    options.layout = ABUT_FIELD_SPARSE;
    options.cells = 12;
    options.device = device;
    assert_ok(abut_field_create(mesh, &options, &field));
    abut_field_destroy(field);
    uint64_t live = abuti_opencl_live(), tries = 0;
    bool done = false;
    for (uint64_t n = 1; !done; n += 31, tries++) {
        field = NULL;
        abuti_opencl_fail_at(n);
        abut_status status = abut_field_create(mesh, &options, &field);
        done = abuti_opencl_calls() < n;
        abuti_opencl_fail_at(0);
        assert_int_equal(done ? ABUT_OK : ABUT_ERROR_DEVICE, status);
        assert_true(!status == (field != NULL));
        abut_field_destroy(field);
        assert_int_equal(live, abuti_opencl_live());
    }
    assert_true(tries > 10);
}

static abut_status from_nothing(abut_context *context, void *data) {
    const failing *f = data;
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_bvh *there = NULL;
    input.positions = abut_mesh_local_positions(f->mesh);
    input.vertex_count = abut_mesh_vertex_count(f->mesh);
    input.indices = abut_mesh_indices(f->mesh);
    input.triangle_count = abut_mesh_triangle_count(f->mesh);
    abut_status status = abut_mesh_create(context, &input, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    status = status ? status : abut_sign_prepare(bvh, NULL);
    status = status ? status : abuti_bvh_copy_to_device(bvh, device, &there);
    status = status ? status : build(there, f);
    abut_bvh_destroy(there);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

static abut_status sparse_from_nothing(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    abut_field *field = NULL;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_field_create(mesh, data, &field);
    abut_field_destroy(field);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(out_of_memory) {
    AUTO(mesh) mesh = make_torn(make_shape(NULL, ABUT_SHAPE_BOX, 1), 6);
    failing f = {abut_field_options_default(), mesh};
    f.options.grid = grid_about(mesh, 4, 0.1);
    assert_ok(from_nothing(NULL, &f));
    uint64_t live = abuti_opencl_live();
    assert_true(test_every_allocation(from_nothing, &f) > 20);
    abut_field_options sparse = abut_field_options_default();
    sparse.layout = ABUT_FIELD_SPARSE;
    sparse.cells = 10;
    sparse.device = device;
    assert_true(test_every_allocation(sparse_from_nothing, &sparse) > 20);
    assert_int_equal(live, abuti_opencl_live());
}

TEST(wrong_arguments) {
    AUTO(mesh) mesh = make_shape(NULL, ABUT_SHAPE_BOX, 1), *other;
    AUTO(bvh) bvh = prepare(mesh, ABUT_SIGN_AUTO), *there, *stranger;
    abut_field *field = NULL, *made;
    abut_field_options options = abut_field_options_default(), bad;
    float value = 7;
    options.cells = 4;
    other = make_shape(NULL, ABUT_SHAPE_BOX, 2);
    assert_ok(abut_bvh_create(other, NULL, &stranger));
    assert_ok(abuti_bvh_copy_to_device(bvh, device, &there));
    assert_refused("bvh is null", abut_field_create_from(NULL, &options, &field));
    assert_refused("field is null", abut_field_create_from(there, &options, NULL));
    bad = options;
    bad.sign = ABUT_SIGN_NORMAL;
    assert_refused("another sign method", abut_field_create_from(there, &bad, &field));
    bad = options;
    bad.cells = 0;
    bad.grid = grid_about(mesh, 4, 0.1);
    bad.grid.count[0] = bad.grid.count[1] = bad.grid.count[2] = 2000;
    assert_fails(ABUT_ERROR_LIMIT, "2000 x 2000 x 2000",
                 abut_field_create_from(there, &bad, &field));
    assert_null(field);
    assert_ok(abut_field_create_from(there, &options, &made));
    const uint32_t none[3] = {0, 0, 0}, one[3] = {1, 1, 1}, past[3] = {1000, 0, 0};
    assert_refused("null", abut_field_copy(made, none, one, NULL));
    assert_refused("axis 0", abut_field_copy(made, past, one, &value));
    assert_true(value == 7 && made->values == NULL);
    assert_refused("bvh is null", abut_field_update_from(made, NULL, NULL));
    assert_refused("field is null", abut_field_update_from(NULL, bvh, NULL));
    assert_refused("triangles", abut_field_update_from(made, stranger, NULL));
    assert_ok(abut_field_copy(made, none, one, &value));
    assert_true(value > 0);
    assert_null(abut_field_values(NULL));
    abut_field_destroy(made);
}

int main(void) {
    RUN_THERE();
}
