/* Samples: the counts of the document, what each of them is, and how even they are. */
#include "support/support.h"

#include "mesh/mesh.h"

#include <math.h>
#include <stdlib.h>

static abut_mesh *mesh_of(abut_shape_kind kind, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

static abut_samples *samples_of(abut_mesh *mesh, const abut_samples_options *options) {
    abut_samples *samples;
    assert_ok(abut_samples_create(mesh, options, &samples));
    return samples;
}

static uint32_t count_of(abut_mesh *mesh, uint32_t kinds, double cell) {
    abut_samples_options options = abut_samples_options_default();
    options.kinds = kinds;
    options.cell = cell;
    abut_samples *samples = samples_of(mesh, &options);
    uint32_t count = abut_samples_arrays_get(samples).count;
    abut_samples_destroy(samples);
    return count;
}

/* All, but of flat regions only the middle. */
static uint32_t middles_of(abut_mesh *mesh, double cell) {
    abut_samples_options options = abut_samples_options_default();
    options.cell = cell;
    options.face_middles = true;
    abut_samples *samples = samples_of(mesh, &options);
    uint32_t count = abut_samples_arrays_get(samples).count;
    abut_samples_destroy(samples);
    return count;
}

/* ---- features ---- */

/* Sundholm 2010, table 5.1. 480 samples on 60 edges are 8 on each, so 9 parts: an edge is a fifth
 * of the side L, and the diagonal of a cell from L/45 on, but below L/40. That is a grid of 70 to
 * 77 cells along the cube, such as 80 with a margin of two cells at each end. */
TEST(the_cube_of_the_document) {
    abut_mesh *cube = mesh_of(ABUT_SHAPE_BOX, 5);
    assert_int_equal(abut_mesh_vertex_count(cube), 152);
    assert_int_equal(abut_mesh_triangle_count(cube), 300);
    for (int cells = 69; cells <= 78; cells++) {
        double cell = 1.0 / cells;
        bool fits = cells >= 70 && cells <= 77;
        assert_int_equal(count_of(cube, ABUT_SAMPLES_VERTICES, cell), 56);
        assert_true((count_of(cube, ABUT_SAMPLES_VERTICES | ABUT_SAMPLES_EDGES, cell) == 536) ==
                    fits);
        assert_true((count_of(cube, 0, cell) == 542 + 24) == fits); /* four corners a side */
        assert_true((middles_of(cube, cell) == 542) == fits);
    }
    abut_field_options options = abut_field_options_default();
    abut_field *field;
    options.cells = 80;
    options.band = 0.001; /* values do not matter here */
    assert_ok(abut_field_create(cube, &options, &field));
    assert_int_equal(middles_of(cube, abut_field_info_get(field).grid.cell), 542);
    abut_field_destroy(field);
    abut_mesh_destroy(cube);
}

TEST(each_is_what_it_says) {
    const abut_shape_kind kinds[] = {ABUT_SHAPE_BOX, ABUT_SHAPE_LETTER_G, ABUT_SHAPE_TUBE,
                                     ABUT_SHAPE_TEAPOT_SOLID};
    for (size_t s = 0; s < sizeof kinds / sizeof *kinds; s++) {
        abut_mesh *mesh = mesh_of(kinds[s], 6);
        abut_samples *samples = samples_of(mesh, NULL);
        abut_samples_arrays view = abut_samples_arrays_get(samples);
        abut_topology *topology;
        abut_bvh *bvh;
        assert_ok(abut_topology_create(mesh, &topology));
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        abut_topology_arrays t = abut_topology_arrays_get(topology);
        assert_int_equal(view.count, view.kind_count[0] + view.kind_count[1] + view.kind_count[2]);
        for (uint32_t i = 0; i < view.count; i++) {
            const abut_sample *sample = &view.samples[i];
            abut_nearest nearest;
            assert_ok(abut_nearest_point(bvh, sample->point, HUGE_VAL, &nearest));
            assert_true(nearest.distance < 1e-12); /* regions like rings too */
            assert_true(fabs(v3_length(sample->normal) - 1) < 1e-12);
            if (i) {
                const abut_sample *before = sample - 1;
                assert_true(before->kind < sample->kind ||
                            (before->kind == sample->kind && (before->element < sample->element ||
                                                              (before->element == sample->element &&
                                                               before->part < sample->part))));
            }
            if (sample->kind == ABUT_SAMPLE_VERTEX) {
                vec3 p = abuti_mesh_position(mesh, sample->element);
                assert_memory_equal(&p, &sample->point, sizeof p);
            } else if (sample->kind == ABUT_SAMPLE_EDGE) {
                vec3 a = abuti_mesh_position(mesh, t.edges[2 * sample->element]),
                     b = abuti_mesh_position(mesh, t.edges[2 * sample->element + 1]);
                double u = v3_length(v3_sub(sample->point, a)),
                       v = v3_length(v3_sub(sample->point, b)), whole = v3_length(v3_sub(a, b));
                assert_true(fabs(u + v - whole) < 1e-12);
                assert_true(u <= (sample->part + 1) * view.spacing * (1 + 1e-9));
            }
        }
        abut_bvh_destroy(bvh);
        abut_topology_destroy(topology);
        abut_samples_destroy(samples);
        abut_mesh_destroy(mesh);
    }
}

/* Every vertex of a curved surface counts; none inside a flat one does, and borders do. */
TEST(what_is_flat) {
    abut_mesh *sphere = mesh_of(ABUT_SHAPE_ICOSPHERE, 32), *sheet = mesh_of(ABUT_SHAPE_SHEET, 5);
    assert_int_equal(count_of(sphere, ABUT_SAMPLES_VERTICES, 0), abut_mesh_vertex_count(sphere));
    assert_int_equal(count_of(sphere, ABUT_SAMPLES_FACES, 0), 0);
    abut_samples *samples = samples_of(sheet, NULL);
    abut_samples_arrays view = abut_samples_arrays_get(samples);
    assert_int_equal(view.kind_count[ABUT_SAMPLE_FACE], 5);
    assert_true(view.kind_count[ABUT_SAMPLE_VERTEX] < abut_mesh_vertex_count(sheet));
    for (uint32_t i = 0; i < view.kind_count[ABUT_SAMPLE_VERTEX]; i++)
        assert_true(fabs(fabs(view.samples[i].point.x) - 0.5) < 1e-12 ||
                    fabs(fabs(view.samples[i].point.y) - 0.5) < 1e-12);
    abut_samples_destroy(samples);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(sphere);
}

/* ---- even ones ---- */

/* The least distance between two samples of the same side, the slow way. */
static double least_distance(const abut_samples_arrays *view) {
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < view->count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (v3_dot(view->samples[i].normal, view->samples[k].normal) >= 0)
                least =
                    fmin(least, v3_length(v3_sub(view->samples[i].point, view->samples[k].point)));
    return least;
}

TEST(even_ones_keep_their_distance) {
    abut_mesh *mesh = mesh_of(ABUT_SHAPE_TORUS, 40);
    abut_samples_options options = abut_samples_options_default();
    test_random random = {5};
    options.radius = 0.08;
    abut_samples *samples = samples_of(mesh, &options);
    abut_samples_arrays view = abut_samples_arrays_get(samples);
    assert_int_equal(view.count, view.kind_count[ABUT_SAMPLE_EVEN]);
    assert_true(least_distance(&view) >= 0.08);
    /* Darts without end fill a surface to 0.60 of the densest packing. */
    assert_true(view.count > 0.5 * view.area / (0.08 * 0.08 * sqrt(0.75)));
    /* Nowhere on it is a hole much wider than the radius. */
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    for (int round = 0; round < 500; round++) {
        abut_vec3 p = {test_random_real(&random, -2, 2), test_random_real(&random, -2, 2),
                       test_random_real(&random, -1, 1)};
        abut_nearest nearest;
        double least = HUGE_VAL;
        assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &nearest));
        for (uint32_t i = 0; i < view.count; i++)
            least = fmin(least, v3_length(v3_sub(view.samples[i].point, nearest.point)));
        assert_true(least < 1.3 * 0.08);
    }
    abut_bvh_destroy(bvh);
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);
}

TEST(counts_and_limits_are_kept) {
    abut_mesh *mesh = mesh_of(ABUT_SHAPE_TORUS, 48);
    abut_samples_options options = abut_samples_options_default();
    options.count = 500;
    abut_samples *samples = samples_of(mesh, &options);
    abut_samples_arrays view = abut_samples_arrays_get(samples);
    assert_int_equal(view.count, 500);
    /* Of the densest packing of circles, whose distance would be this, three fifths. */
    assert_true(least_distance(&view) > 0.6 * sqrt(view.area / 500 / sqrt(0.75)));
    abut_samples_destroy(samples);

    options.count = 0;
    options.limit = 200;
    options.kinds = ABUT_SAMPLES_VERTICES;
    samples = samples_of(mesh, &options);
    view = abut_samples_arrays_get(samples);
    assert_int_equal(view.count, 200);

    assert_true(least_distance(&view) > 0.6 * sqrt(view.area / 200 / sqrt(0.75)));
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);

    /* Many triangles in one place: still quick, and as many as were asked for. */
    enum { COPIES = 20000 };
    double positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    uint32_t *indices = malloc(3 * COPIES * sizeof *indices);
    assert_non_null(indices);
    for (uint32_t i = 0; i < 3 * COPIES; i++)
        indices[i] = i % 3;
    mesh = test_mesh(NULL, positions, 3, indices, COPIES);
    options = abut_samples_options_default();
    options.count = 1000;
    samples = samples_of(mesh, &options);
    assert_int_equal(abut_samples_arrays_get(samples).count, 1000);
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);
    free(indices);
}

TEST_THREADS(same_on_any_number_of_threads) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT);
    abut_samples_options options = abut_samples_options_default();
    abut_samples_arrays first = {0};
    abut_samples *kept = NULL;
    options.kinds = 15;
    options.limit = 700;
    options.cell = 0.1;
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, threads);
        abut_mesh *mesh;
        assert_ok(abut_shape_create(context, &shape, &mesh));
        abut_samples *samples = samples_of(mesh, &options);
        abut_samples_arrays view = abut_samples_arrays_get(samples);
        abut_mesh_destroy(mesh);
        if (!kept) {
            abut_mesh *again;
            assert_ok(abut_shape_create(NULL, &shape, &again));
            kept = samples_of(again, &options);
            first = abut_samples_arrays_get(kept);
            abut_mesh_destroy(again);
        }
        assert_int_equal(view.count, 700);
        for (uint32_t i = 0; i < view.count; i++) {
            assert_memory_equal(&view.samples[i].point, &first.samples[i].point,
                                2 * sizeof(abut_vec3));
            assert_int_equal(view.samples[i].element, first.samples[i].element);
        }
        abut_samples_destroy(samples);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    abut_samples_destroy(kept);
}

/* ---- refusals ---- */

TEST(wrong_options_are_refused) {
    abut_mesh *mesh = mesh_of(ABUT_SHAPE_BOX, 2);
    abut_samples *samples = NULL;
    abut_samples_options options = abut_samples_options_default();
    assert_refused("mesh is null", abut_samples_create(NULL, NULL, &samples));
    assert_refused("samples is null", abut_samples_create(mesh, NULL, NULL));
    options.cell = NAN;
    assert_refused("cell", abut_samples_create(mesh, &options, &samples));
    options.cell = 1e-12;
    assert_fails(ABUT_ERROR_LIMIT, "threshold", abut_samples_create(mesh, &options, &samples));
    options.kinds = ABUT_SAMPLES_EVEN;
    assert_fails(ABUT_ERROR_LIMIT, "radius", abut_samples_create(mesh, &options, &samples));
    options.kinds = 16;
    assert_refused("kinds", abut_samples_create(mesh, &options, &samples));
    options = abut_samples_options_default();
    options.count = 5;
    options.radius = 1;
    assert_refused("one of them", abut_samples_create(mesh, &options, &samples));
    options = abut_samples_options_default();
    options.flat_angle = 90;
    assert_refused("radians", abut_samples_create(mesh, &options, &samples));
    assert_null(samples);
    assert_int_equal(abut_samples_arrays_get(NULL).count, 0);
    abut_samples_destroy(NULL);
    abut_mesh_destroy(mesh);
}

static abut_status make_all(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_samples_options options = abut_samples_options_default();
    abut_mesh *mesh = NULL;
    abut_samples *samples = NULL;
    (void)data;
    options.kinds = 15;
    options.limit = 50;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_samples_create(mesh, &options, &samples);
    abut_samples_destroy(samples);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(make_all, NULL) > 10);
}
