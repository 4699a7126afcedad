/* Values of blocks against a search for every cell, bit for bit: on shapes and degenerate
 * triangle soups, for every SIMD width and any number of threads. */
#include "apps/get.h"
#include "bvh/meshes.h"

#include "base/simd.h"
#include "expected_value.h"
#include "field/build/compute.h"

#include <stdatomic.h>

/* ---- the search ---- */

static float wanted_value(const abut_bvh *bvh, const abut_grid *grid, const uint32_t cell[3],
                          double limit) {
    abut_nearest nearest;
    const abut_vec3 centre = grid_centre(grid, cell[0], cell[1], cell[2]);
    assert_ok(abut_sign_nearest(bvh, centre, HUGE_VAL, &nearest));
    double d = wanted_distance(bvh, centre, nearest.distance);
    return (float)(d > limit ? limit : d < -limit ? -limit : d);
}

/* ---- the engine ---- */

typedef struct answers {
    abut_grid grid;
    const uint32_t *wanted; /* null = all */
    float *values;          /* of each block */
    size_t blocks;
    atomic_size_t put;
} answers;

static void put_answers(void *data, size_t at, const uint32_t begin[3], const float *values) {
    answers *a = data;
    (void)begin;
    assert_true(at < a->blocks);
    memcpy(a->values + at * BLOCK_CELLS, values, BLOCK_CELLS * sizeof *values);
    atomic_fetch_add(&a->put, 1);
}

static void make_answers(const abut_bvh *bvh, const abut_grid *grid, double band,
                         const uint32_t *wanted, size_t wanted_count, answers *a) {
    field_job job = {.bvh = bvh,
                     .grid = grid,
                     .band = band,
                     .wanted = wanted,
                     .wanted_count = wanted_count,
                     .store = put_answers,
                     .always_lists = true,
                     .data = a,
                     .to = 1};
    for (int k = 0; k < 3; k++)
        job.blocks[k] = (grid->count[k] + FIELD_BRICK - 1) / FIELD_BRICK;
    memset(a, 0, sizeof *a);
    a->grid = *grid;
    a->wanted = wanted;
    a->blocks = wanted ? wanted_count : (size_t)job.blocks[0] * job.blocks[1] * job.blocks[2];
    a->values = malloc(a->blocks * BLOCK_CELLS * sizeof *a->values);
    assert_non_null(a->values);
    memset(a->values, 0xff, a->blocks * BLOCK_CELLS * sizeof *a->values);
    assert_ok(abuti_field_compute(&job));
    assert_int_equal(a->blocks, a->put);
}

/* ---- comparing ---- */

/* Which cell a value is of; false where it may be whatever. */
static bool cell_of(const answers *a, size_t value, uint32_t cell[3]) {
    size_t at = value / BLOCK_CELLS, number = a->wanted ? a->wanted[at] : at,
           c = value % BLOCK_CELLS;
    const size_t within[3] = {c % FIELD_BRICK, c / FIELD_BRICK % FIELD_BRICK,
                              c / FIELD_BRICK / FIELD_BRICK};
    bool inside = true;
    for (int k = 0; k < 3; k++) {
        size_t blocks = (a->grid.count[k] + FIELD_BRICK - 1) / FIELD_BRICK;
        cell[k] = (uint32_t)(FIELD_BRICK * (number % blocks) + within[k]);
        number /= blocks;
        inside = inside && cell[k] < a->grid.count[k];
    }
    return inside;
}

static size_t value_count(const answers *a) {
    return a->blocks * BLOCK_CELLS;
}

static void check_cells(const abut_bvh *bvh, const answers *a, double band) {
    uint32_t cell[3];
    for (size_t i = 0; i < value_count(a); i++) {
        if (!cell_of(a, i, cell))
            continue;
        float want = wanted_value(bvh, &a->grid, cell, band);
        if (memcmp(&a->values[i], &want, sizeof want) != 0)
            fail_msg("cell %u %u %u: %.9g instead of %.9g", cell[0], cell[1], cell[2],
                     (double)a->values[i], (double)want);
    }
}

static void check_equal(const answers *a, const answers *b) {
    uint32_t cell[3];
    assert_int_equal(value_count(a), value_count(b));
    for (size_t i = 0; i < value_count(a); i++)
        if (cell_of(a, i, cell) && memcmp(&a->values[i], &b->values[i], sizeof(float)) != 0)
            fail_msg("cell %u %u %u: %.9g instead of %.9g", cell[0], cell[1], cell[2],
                     (double)b->values[i], (double)a->values[i]);
}

/* All widths that run here, the first against the search and the others against the first. */
static void check_grid_of(const abut_bvh *bvh, const abut_grid *grid, double band) {
    const int lanes = abuti_simd_lanes();
    answers first;
    abuti_simd_limit_lanes(4);
    make_answers(bvh, grid, band, NULL, 0, &first);
    check_cells(bvh, &first, band);
    for (int k = 8; k <= lanes; k *= 2) {
        answers other;
        abuti_simd_limit_lanes(k);
        make_answers(bvh, grid, band, NULL, 0, &other);
        check_equal(&first, &other);
        free(other.values);
    }
    abuti_simd_limit_lanes(16);
    free(first.values);
}

static abut_grid grid_about(const abut_mesh *mesh, uint32_t cells, double times) {
    abut_box b = abut_mesh_bounds(mesh);
    double size = largest_extent(mesh), wide = times * (size > 0 ? size : 1);
    abut_grid grid = {.cell = wide / cells, .count = {cells, cells, cells}};
    grid.origin = vec(b.lo.x / 2 + b.hi.x / 2 - wide / 2 + grid.cell / 2,
                      b.lo.y / 2 + b.hi.y / 2 - wide / 2 + grid.cell / 2,
                      b.lo.z / 2 + b.hi.z / 2 - wide / 2 + grid.cell / 2);
    return grid;
}

static abut_bvh *hierarchy_of(abut_mesh *mesh) {
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_sign_prepare(bvh, NULL));
    abut_mesh_destroy(mesh);
    return bvh;
}

/* Takes the mesh. With a band and bricks that share layers, too. */
static void check_mesh(abut_mesh *mesh, uint32_t cells) {
    AUTO(bvh) bvh = hierarchy_of(mesh);
    cells = test_rounds(8) < 8 ? 9 : cells; /* for builds that only have to do as the full one */
    abut_grid grid = grid_about(bvh->mesh, cells, 1.2);
    grid.count[1] -= 3;
    check_grid_of(bvh, &grid, INFINITY);
    check_grid_of(bvh, &grid, 1.7 * grid.cell);
}

/* ---- meshes ---- */

TEST(shapes) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++)
        check_mesh(make_shape(NULL, (abut_shape_kind)kind, 7), 13);
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 3), 28); /* with a border */
    check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT_SOLID, 3), 26);
}

TEST(soups) {
    for (int kind = 0; kind < SOUP_COUNT; kind++) {
        check_mesh(make_kind(NULL, (soup_kind)kind, 1, 3), 11);
        check_mesh(make_kind(NULL, (soup_kind)kind, 60, 4), 12);
    }
}

/* Surfaces through each other and through themselves, and turned inside out. */
TEST(overlaps) {
    abut_mesh *both =
        make_joined(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 5),
                    make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 9), 1.1, vec(0.3, 0.2, 0.1)));
    check_mesh(both, 20);
    check_mesh(make_flipped(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 4)), 14);
    check_mesh(make_joined(make_shape(NULL, ABUT_SHAPE_BOX, 1),
                           make_flipped(
                               make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 1), 0.5, vec(0, 0, 0)))),
               14);
    check_mesh(make_joined(make_shape(NULL, ABUT_SHAPE_BOX, 1),
                           make_shape(NULL, ABUT_SHAPE_BOX, 1)),
               14);
}

/* Takes a mesh; gives it without the triangles near some points, in units of half its size. */
static abut_mesh *make_pierced(abut_mesh *mesh, const abut_vec3 *points, size_t count,
                               double radius) {
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    const uint32_t *indices = abut_mesh_indices(mesh), triangles = abut_mesh_triangle_count(mesh);
    uint32_t *left = malloc(3 * sizeof *left * triangles), used = 0;
    abut_mesh *made;
    assert_non_null(left);
    for (uint32_t t = 0; t < triangles; t++) {
        vec3 at = v3_scale(bvh_triangle(mesh, t).corner[0], 2 / largest_extent(mesh));
        bool near = false;
        for (size_t i = 0; i < count; i++)
            near = near || v3_length(v3_sub(at, points[i])) < radius;
        for (size_t k = 0; k < 3 && !near; k++)
            left[used++] = indices[3 * (size_t)t + k];
    }
    input.positions = abut_mesh_local_positions(mesh);
    input.vertex_count = abut_mesh_vertex_count(mesh);
    input.indices = left;
    input.triangle_count = used / 3;
    assert_true(used > 0 && used / 3 < triangles);
    assert_ok(abut_mesh_create(NULL, &input, &made));
    free(left);
    abut_mesh_destroy(mesh);
    return made;
}

/* Strips from borders pass through surfaces behind them; inside and outside, and many at once. */
TEST(holes) {
    static const abut_vec3 points[] = {{-1, 0, 0}, {0, 0.1, 1}, {-0.4, -0.9, 0}, {0.7, 0.7, 0}};
    for (int flip = 0; flip < 2; flip++) {
        abut_mesh *ball = make_pierced(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 9), points,
                                       flip ? 1 : 4, flip ? 0.5 : 0.22);
        check_mesh(flip ? make_flipped(ball) : ball, 23);
    }
    /* far from the hole, where a strip comes out */
    abut_bvh *bvh =
        hierarchy_of(make_pierced(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 9), points, 1, 0.25));
    double half = largest_extent(bvh->mesh) / 2;
    abut_grid grid = {.origin = vec(0.7 * half, -0.24 * half, -0.25 * half),
                      .cell = 0.031 * half,
                      .count = {16, 16, 16}};
    check_grid_of(bvh, &grid, INFINITY);
    abut_bvh_destroy(bvh);
    /* two walls close to each other, which hide one from the other */
    abut_mesh *walls =
        make_joined(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 8),
                    make_flipped(make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 8), 0.93,
                                            vec(0.02, 0, 0))));
    check_mesh(make_pierced(walls, points, 2, 0.3), 23);
}

/* A ball without every third triangle, so that its border is as long as can be. */
static abut_bvh *make_sieve(uint32_t detail) {
    abut_mesh *ball = make_shape(NULL, ABUT_SHAPE_ICOSPHERE, detail), *sieve;
    const uint32_t *indices = abut_mesh_indices(ball), triangles = abut_mesh_triangle_count(ball);
    uint32_t(*left)[3] = malloc(triangles * sizeof *left), used = 0;
    assert_non_null(left);
    for (uint32_t t = 0; t < triangles; t++)
        if (t % 3)
            memcpy(left[used++], indices + 3 * (size_t)t, sizeof *left);
    sieve =
        test_mesh(NULL, abut_mesh_local_positions(ball), abut_mesh_vertex_count(ball), left, used);
    abut_mesh_destroy(ball);
    free(left);
    return hierarchy_of(sieve);
}

TEST(long_borders) {
    AUTO(bvh) bvh = make_sieve(20);
    abut_grid grid = grid_about(bvh->mesh, 19, 1.3);
    check_grid_of(bvh, &grid, INFINITY);
}

/* Centres on vertices, edges and faces. */
TEST(aligned) {
    for (int kind = 0; kind < 2; kind++) {
        AUTO(bvh)
        bvh = hierarchy_of(kind ? make_kind(NULL, SOUP_LATTICE, 60, 5)
                                : make_shape(NULL, ABUT_SHAPE_BOX, 4));
        abut_box b = abut_mesh_bounds(bvh->mesh);
        abut_grid grid = {.origin = b.lo, .count = {18, 18, 18}};
        grid.cell = (b.hi.x - b.lo.x) / 16;
        check_grid_of(bvh, &grid, INFINITY);
        grid.origin = vec(b.lo.x - grid.cell, b.lo.y - grid.cell, b.lo.z - 2 * grid.cell);
        check_grid_of(bvh, &grid, 2 * grid.cell);
    }
}

TEST(sizes_and_places) {
    static const double scales[] = {1e-30, 1e30, 1e-80, 1e80, 1e-6, 1};
    static const double places[] = {0, 0, 0, 0, 1e6, 1e9};
    for (int i = 0; i < 6; i++) {
        abut_vec3 by = vec(places[i], -places[i], 2 * places[i]);
        check_mesh(make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 8), scales[i], by), 11);
        check_mesh(make_moved(make_kind(NULL, SOUP_NEEDLES, 30, 3), scales[i], by), 11);
    }
}

/* Cells far from the mesh, and so small that they have the same coordinates. */
TEST(odd_grids) {
    AUTO(bvh) bvh = hierarchy_of(make_shape(NULL, ABUT_SHAPE_TEAPOT, 3));
    abut_grid grid = grid_about(bvh->mesh, 12, 40);
    check_grid_of(bvh, &grid, INFINITY);
    grid = grid_about(bvh->mesh, 10, 1);
    grid.origin.x += 1e5;
    check_grid_of(bvh, &grid, INFINITY);
    grid.origin = abut_mesh_bounds(bvh->mesh).hi;
    grid.cell = 1e-17;
    check_grid_of(bvh, &grid, INFINITY);
    grid.cell = 1e-300;
    check_grid_of(bvh, &grid, 1e-3);
}

/* The middle of a sphere, where every list would be too long. */
TEST(long_lists) {
    AUTO(bvh) bvh = hierarchy_of(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 41));
    abut_grid grid = {.origin = vec(-1e-4, -1e-4, -1e-4), .cell = 1e-4, .count = {3, 4, 3}};
    assert_true(bvh->triangle_count > REGIONS_LIST_MAX);
    check_grid_of(bvh, &grid, INFINITY);
    grid.cell = 0.05; /* and lists that are made for small boxes only */
    grid.origin = vec(-0.5, -0.1, -0.1);
    grid.count[0] = 20;
    check_grid_of(bvh, &grid, INFINITY);
}

/* Beyond the point of a sharp triangle cells are hardly outside its two long edges, but far from
 * it. */
TEST(sharp_points) {
    static const abut_vec3 positions[] = {{0, 0, 0}, {1, 0.001, 0}, {1, -0.001, 0}};
    static const uint32_t indices[][3] = {{0, 1, 2}};
    AUTO(bvh) bvh = hierarchy_of(test_mesh(NULL, positions, 3, indices, 1));
    abut_grid grid = {.origin = vec(-0.004, -0.0005, 0.1), .cell = 0.00025, .count = {20, 5, 4}};
    check_grid_of(bvh, &grid, INFINITY);
}

/* Some blocks, on a grid that is longer than a tile. */
static void check_wanted(abut_mesh *mesh, uint64_t seed) {
    AUTO(bvh) bvh = hierarchy_of(mesh);
    abut_grid grid = grid_about(bvh->mesh, 300, 1.2);
    grid.count[1] = grid.count[2] = 41;
    grid.origin.y = grid.origin.z = -20 * grid.cell;
    uint32_t wanted[60], count = 0;
    test_random random = {seed};
    for (uint32_t n = 0; n < 38 * 36 && count < 60; n += 1 + test_random_below(&random, 44))
        wanted[count++] = n;
    answers a;
    make_answers(bvh, &grid, INFINITY, wanted, count, &a);
    check_cells(bvh, &a, INFINITY);
    free(a.values);
}

TEST(wanted_blocks) {
    check_wanted(make_shape(NULL, ABUT_SHAPE_TORUS, 9), 6);
    check_wanted(make_shape(NULL, ABUT_SHAPE_TEAPOT, 3), 7);
}

/* ---- meshes that move ---- */

/* The same mesh with some vertices moved: those within `reach` of the corner of its box. */
static abut_mesh *make_bent(abut_context *context, const abut_mesh *mesh, double reach,
                            abut_vec3 by) {
    uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *p = malloc(count * sizeof *p), hi = abut_mesh_bounds(mesh).hi;
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    abut_mesh *bent = NULL;
    assert_non_null(p);
    for (uint32_t v = 0; v < count; v++) {
        p[v] = abuti_mesh_position(mesh, v);
        if (hi.x - p[v].x <= reach)
            p[v] = v3_add(p[v], by);
    }
    input.positions = p;
    input.vertex_count = count;
    input.indices = abut_mesh_indices(mesh);
    input.triangle_count = abut_mesh_triangle_count(mesh);
    assert_ok(abut_mesh_create(context, &input, &bent));
    free(p);
    return bent;
}

static void check_same_field(const abut_field *a, const abut_field *b) {
    abut_field_info x = get_field_info(a), y = get_field_info(b);
    assert_int_equal(x.bytes, y.bytes);
    assert_int_equal(x.bricks, y.bricks);
    assert_true(x.lowest == y.lowest && x.highest == y.highest && x.step == y.step);
    assert_true(x.closed == y.closed && a->value_count == b->value_count);
    assert_memory_equal(a->values, b->values,
                        a->value_count * (x.type == ABUT_FIELD_FLOAT ? sizeof(float) : 2));
}

/* A few steps, each against a new field. */
static void check_moving(abut_shape_kind kind, abut_field_options options, double reach) {
    AUTO(mesh) mesh = make_shape(NULL, kind, 7);
    abut_field *field, *fresh;
    uint64_t recomputed = 77, all;
    options.grid = grid_about(mesh, 30, 1.5);
    all = 4 * 4 * 4;
    assert_ok(abut_field_create(mesh, &options, &field));
    assert_ok(abut_field_set_mesh(field, mesh, &recomputed));
    if (options.layout == ABUT_FIELD_DENSE && options.sign != ABUT_SIGN_NORMAL)
        assert_int_equal(0, recomputed);
    for (int step = 0; step < 3; step++) {
        abut_mesh *bent = make_bent(NULL, mesh, step == 2 ? 100 : reach,
                                    vec(0.05 * (step + 1), 0.03, step == 1 ? -0.06 : 0.01));
        assert_ok(abut_field_set_mesh(field, bent, &recomputed));
        assert_ok(abut_field_create(bent, &options, &fresh));
        check_same_field(field, fresh);
        if (step < 2 && options.layout == ABUT_FIELD_DENSE && options.type == ABUT_FIELD_FLOAT &&
            options.sign != ABUT_SIGN_NORMAL)
            assert_true(recomputed > 0 && recomputed < (options.band > 0 ? all / 2 : all));
        abut_field_destroy(fresh);
        abut_mesh_destroy(mesh);
        mesh = bent;
    }
    abut_field_destroy(field);
}

TEST(moving) {
    abut_field_options options = abut_field_options_default();
    check_moving(ABUT_SHAPE_TORUS, options, 0.2);
    check_moving(ABUT_SHAPE_TEAPOT, options, 0.3);
    options.band = 0.1;
    check_moving(ABUT_SHAPE_TORUS, options, 0.2);
    options.type = ABUT_FIELD_INT16;
    check_moving(ABUT_SHAPE_TORUS, options, 0.2);
    options.layout = ABUT_FIELD_SPARSE;
    check_moving(ABUT_SHAPE_TORUS, options, 0.2);
    options = abut_field_options_default();
    options.sign = ABUT_SIGN_NORMAL;
    check_moving(ABUT_SHAPE_ICOSPHERE, options, 0.2);
}

/* A surface far away moves across everything: distances stay and signs change. */
TEST(moving_across) {
    abut_mesh *inner = make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3), 0.1, vec(0, 0, 0));
    AUTO(mesh)
    mesh = make_joined(make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 1), 40, vec(0, 0, 0)), inner);
    AUTO(mesh)
    gone = make_joined(make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 1), 40, vec(100, 0, 0)),
                       make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 3), 0.1, vec(0, 0, 0)));
    abut_field_options options = abut_field_options_default();
    AUTO(field) field;
    AUTO(field) fresh;
    uint64_t recomputed;
    options.grid.origin = vec(-0.3, -0.31, -0.32);
    options.grid.cell = 0.05;
    options.grid.count[0] = options.grid.count[1] = options.grid.count[2] = 14;
    assert_ok(abut_field_create(mesh, &options, &field));
    assert_true(get_field_info(field).highest < 0);
    assert_ok(abut_field_set_mesh(field, gone, &recomputed));
    assert_int_equal(0, recomputed);
    assert_true(get_field_info(field).highest > 0);
    assert_ok(abut_field_create(gone, &options, &fresh));
    check_same_field(field, fresh);
    assert_refused("null", abut_field_set_mesh(field, NULL, NULL));
    assert_refused("null", abut_field_set_mesh(NULL, mesh, NULL));
    AUTO(mesh) other = make_shape(NULL, ABUT_SHAPE_BOX, 2);
    assert_refused("triangles", abut_field_set_mesh(field, other, &recomputed));
    check_same_field(field, fresh);
}

static abut_status update_one(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh = NULL, *moved = NULL;
    abut_field *field = NULL;
    const abut_pose aside = {{0, 0, 0, 0}, {0.1, 0, 0}};
    shape.segments = 3;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_mesh_transform(mesh, 1, aside, &moved);
    status = status ? status : abut_field_create(mesh, data, &field);
    status = status ? status : abut_field_set_mesh(field, moved, NULL);
    abut_field_destroy(field);
    abut_mesh_destroy(moved);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(updating_without_memory) {
    abut_field_options options = abut_field_options_default();
    options.cells = 9;
    test_every_allocation(update_one, &options);
}

/* ---- threads, memory, cancelling ---- */

TEST_THREADS(threads_agree) {
    answers first = {.blocks = 0};
    for (uint32_t threads = 1; threads < 6; threads += 3) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, threads);
        abut_bvh *bvh = hierarchy_of(make_shape(context, ABUT_SHAPE_TEAPOT, 4));
        abut_grid grid = grid_about(bvh->mesh, test_rounds(8) < 8 ? 40 : 70, 1.2);
        answers a;
        make_answers(bvh, &grid, INFINITY, NULL, 0, &a);
        if (threads == 1) {
            first = a;
        } else {
            check_equal(&first, &a);
            free(a.values);
        }
        abut_bvh_destroy(bvh);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
    }
    free(first.values);
}

/* What a field takes while it is built. */
TEST_THREADS(memory_is_bounded) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 2);
    abut_mesh *mesh = make_shape(context, ABUT_SHAPE_TEAPOT_SOLID, 8);
    abut_field_options options = abut_field_options_default();
    abut_field *field;
    for (int layout = 0; layout < 2; layout++) {
        options.cells = layout ? 96 : 64;
        options.layout = layout ? ABUT_FIELD_SPARSE : ABUT_FIELD_DENSE;
        assert_ok(abut_field_create(mesh, &options, &field));
        double bytes = (double)get_field_info(field).bytes;
        assert_true((double)memory.peak_bytes <= 1.5 * bytes + 0x1p26);
        abut_field_destroy(field);
    }
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
    assert_int_equal(0, memory.live_count);
}

static bool stop_field(void *user, const char *stage, double fraction) {
    uint32_t *left = user;
    return strcmp(stage, "field") != 0 || fraction < 0 || (*left)-- > 1; /* true = go on */
}

TEST(cancelling) {
    uint32_t left = 1;
    abut_context *context = test_watched(stop_field, &left);
    AUTO(mesh) mesh = make_shape(context, ABUT_SHAPE_BOX, 1);
    AUTO(field) field = NULL;
    assert_int_equal(ABUT_ERROR_CANCELLED, abut_field_create(mesh, NULL, &field));
    assert_null(field);
    assert_int_equal(0, left);
    left = 100;
    assert_ok(abut_field_create(mesh, NULL, &field));
    assert_true(left < 100);
    abut_context_destroy(context);
}
