/* abut_mesh_create and the life of a mesh. */
#include "mesh/check.h"

#include "base/math_shared.h"

static const double positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const uint32_t indices[] = {0, 1, 2, 0, 2, 3};

static abut_mesh_input good(void) {
    return abut_mesh_input_doubles(positions, 4, indices, 2);
}

TEST(copies_what_it_gets) {
    double own[12];
    uint32_t own_indices[6];
    memcpy(own, positions, sizeof own);
    memcpy(own_indices, indices, sizeof own_indices);
    abut_mesh_input input = good();
    input.positions = own;
    input.indices = own_indices;
    AUTO(mesh) mesh = NULL;
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    memset(own, 0x55, sizeof own);
    memset(own_indices, 0x55, sizeof own_indices);
    check_mesh(mesh, 4, positions, 2, indices);
    abut_box bounds = abut_mesh_bounds(mesh);
    assert_true(bounds.lo.x == 0 && bounds.lo.y == 0 && bounds.lo.z == 0);
    assert_true(bounds.hi.x == 1 && bounds.hi.y == 1 && bounds.hi.z == 1);
}

/* Every type at every stride and misalignment, in blocks that end with the last element: ASan sees
 * a step too far. */
TEST(takes_any_layout) {
    for (int type = 0; type < 2; type++)
        for (int index_type = 0; index_type < 2; index_type++)
            for (size_t gap = 0; gap < 9; gap++) {
                size_t scalar = type ? 4 : 8, index = index_type ? 2 : 4;
                size_t stride = 3 * scalar + gap, index_stride = 3 * index + gap;
                size_t bytes = 3 * stride + 3 * scalar, index_bytes = index_stride + 3 * index;
                AUTO_FREE unsigned char *block = malloc(bytes + 1),
                                        *index_block = malloc(index_bytes + 1);
                for (size_t i = 0; i < 12; i++) {
                    float single = (float)positions[i];
                    memcpy(block + 1 + i / 3 * stride + i % 3 * scalar,
                           type ? (void *)&single : (void *)(uintptr_t)&positions[i], scalar);
                }
                for (size_t i = 0; i < 6; i++) {
                    uint16_t narrow = (uint16_t)indices[i];
                    memcpy(index_block + 1 + i / 3 * index_stride + i % 3 * index,
                           index_type ? (void *)&narrow : (void *)(uintptr_t)&indices[i], index);
                }
                abut_mesh_input input = good();
                input.positions = block + 1;
                input.position_type = type ? ABUT_SCALAR_FLOAT32 : ABUT_SCALAR_FLOAT64;
                input.position_stride = gap ? stride : 0;
                input.indices = index_block + 1;
                input.index_type = index_type ? ABUT_INDEX_UINT16 : ABUT_INDEX_UINT32;
                input.index_stride = gap ? index_stride : 0;
                AUTO(mesh) mesh = NULL;
                assert_ok(abut_mesh_create(NULL, &input, &mesh));
                check_mesh(mesh, 4, positions, 2, indices);
            }
}

TEST(null_indices_mean_soup) {
    static const double soup[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1};
    static const uint32_t order[] = {0, 1, 2, 3, 4, 5};
    abut_mesh_input input = abut_mesh_input_doubles(soup, 6, NULL, 0);
    abut_mesh *mesh = NULL;
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    check_mesh(mesh, 6, soup, 2, order);
    abut_mesh_destroy(mesh);
    input.triangle_count = 1; /* fewer than there are */
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    check_mesh(mesh, 6, soup, 1, order);
    abut_mesh_destroy(mesh);
    mesh = NULL;
    input.triangle_count = 3; /* more */
    assert_refused("6 vertices make 2 triangles, not triangle_count = 3",
                   abut_mesh_create(NULL, &input, &mesh));
    input.triangle_count = 0;
    input.vertex_count = 5;
    assert_refused("multiple of 3; it is 5", abut_mesh_create(NULL, &input, &mesh));
    input.vertex_count = 6;
    input.triangle_count = UINT32_MAX; /* refused before anything of that size is allocated */
    assert_refused("4294967295", abut_mesh_create(NULL, &input, &mesh));
    input.indices = order;
    input.triangle_count = UINT32_MAX / 3;
    assert_fails(ABUT_ERROR_LIMIT, "1431655765", abut_mesh_create(NULL, &input, &mesh));
    assert_null(mesh);
}

TEST(refuses_bad_arguments) {
    abut_mesh *mesh = (abut_mesh *)&mesh;
    abut_mesh_input input = good();
    assert_refused("input is null", abut_mesh_create(NULL, NULL, &mesh));
    assert_refused("mesh is null", abut_mesh_create(NULL, &input, NULL));
#define REFUSED(part, change)                                        \
    do {                                                             \
        input = good();                                              \
        change;                                                      \
        assert_refused(part, abut_mesh_create(NULL, &input, &mesh)); \
    } while (0)
    REFUSED("size", input.size = 0);
    REFUSED("size", input.size = sizeof input + 1);
    REFUSED("no positions", input.positions = NULL);
    REFUSED("no positions", input.vertex_count = 0);
    REFUSED("no triangles", input.triangle_count = 0);
    REFUSED("position_type is 3", input.position_type = (abut_scalar_type)3);
    REFUSED("set it to", input.position_type = ABUT_SCALAR_NONE); /* what the default says */
    REFUSED("index_type", input.index_type = (abut_index_type)-1);
    REFUSED("position_stride is 23", input.position_stride = 23);
    REFUSED("position_stride", input.position_stride = SIZE_MAX / 2);
    REFUSED("index_stride is 11", input.index_stride = 11);
    assert_ptr_equal(&mesh, mesh);
}

TEST(refuses_bad_elements) {
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1.0000001e90,
                                 -2e90};
    abut_mesh *mesh = NULL;
    for (int i = 0; i < 5; i++)
        for (int at = 0; at < 12; at++) {
            double own[12];
            memcpy(own, positions, sizeof own);
            own[at] = bad[i];
            abut_mesh_input input = good();
            input.positions = own;
            char part[32];
            snprintf(part, sizeof part, "vertex %d is (", at / 3);
            assert_refused(part, abut_mesh_create(NULL, &input, &mesh));
        }
    float single[12] = {0};
    single[7] = (float)INFINITY;
    abut_mesh_input input = good();
    input.positions = single;
    input.position_type = ABUT_SCALAR_FLOAT32;
    assert_refused("vertex 2", abut_mesh_create(NULL, &input, &mesh));
    for (int at = 0; at < 6; at++) {
        uint32_t own[6];
        memcpy(own, indices, sizeof own);
        own[at] = at % 2 ? 4 : UINT32_MAX;
        input = good();
        input.indices = own;
        char part[64];
        snprintf(part, sizeof part, "triangle %d refers to vertex %u, but there are only 4", at / 3,
                 own[at]);
        assert_refused(part, abut_mesh_create(NULL, &input, &mesh));
    }
    assert_null(mesh);
}

TEST(degenerate_input_is_legal) {
    static const double far[] = {1e90, -1e90, 1e90, 5e-324, 0, 0, 7, 7, 7};
    static const uint32_t odd[] = {0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0};
    AUTO(mesh) mesh = test_mesh(NULL, far, 3, odd, 4);
    check_mesh(mesh, 3, far, 4, odd);
    abut_box bounds = abut_mesh_bounds(mesh); /* without vertex 2, which no triangle uses */
    assert_true(bounds.lo.x == 5e-324 && bounds.lo.y == -1e90 && bounds.lo.z == 0);
    assert_true(bounds.hi.x == 1e90 && bounds.hi.y == 0 && bounds.hi.z == 1e90);
}

/* origin + position must be what came in, and floats must stay floats when taken relative. */
TEST(the_origin_costs_no_bit) {
    enum { COUNT = 60 };
    test_random random = {21};
    for (int round = 0; round < 4000; round++) {
        double p[3 * COUNT];
        bool floats = round % 2;
        double centre =
            ldexp(test_random_real(&random, -1, 1), (int)test_random_below(&random, 60) - 20);
        double spread = fabs(centre) * pow(10, -test_random_real(&random, -1, 17));
        if (round % 16 < 2) /* next to each other: no room between them for a centre */
            spread = fabs(centre) * 0x1p-52;
        for (int i = 0; i < 3 * COUNT; i++) {
            double x =
                (i % 3 == 2 && round % 3 ? 0 : centre) + test_random_real(&random, -1, 1) * spread;
            volatile float single = (float)x;
            p[i] = floats ? (double)single : x;
        }
        AUTO(mesh) mesh = test_mesh(NULL, p, COUNT, NULL, 0);
        for (uint32_t i = 0; i < COUNT; i++) {
            abut_vec3 q = check_position(mesh, i), relative = abut_mesh_local_positions(mesh)[i];
            assert_true(q.x == p[3 * i] && q.y == p[3 * i + 1] && q.z == p[3 * i + 2]);
            const double r[3] = {relative.x, relative.y, relative.z};
            for (int axis = 0; axis < 3 && floats; axis++) {
                volatile float single = (float)r[axis];
                assert_true((double)single == r[axis]);
            }
        }
    }
    /* far away, relative positions are small */
    static const double far[] = {1e6, 1e6, 0, 1e6 + 1, 1e6, 0, 1e6, 1e6 + 1, 0};
    AUTO(mesh) mesh = test_mesh(NULL, far, 3, NULL, 0);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(abut_mesh_local_positions(mesh)[i].x) <= 1 &&
                    fabs(abut_mesh_local_positions(mesh)[i].y) <= 1);
}

TEST(null_is_empty) {
    assert_int_equal(0, abut_mesh_vertex_count(NULL));
    assert_int_equal(0, abut_mesh_triangle_count(NULL));
    assert_null(abut_mesh_local_positions(NULL));
    assert_null(abut_mesh_indices(NULL));
    assert_true(abut_mesh_local_origin(NULL).x == 0);
    assert_true(abut_mesh_bounds(NULL).hi.z == 0);
    assert_null(abut_mesh_retain(NULL));
    abut_mesh_destroy(NULL);
}

TEST(holds_are_counted) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1);
    abut_mesh_input input = good();
    abut_mesh *mesh = NULL;
    assert_ok(abut_mesh_create(context, &input, &mesh));
    assert_ptr_equal(mesh, abut_mesh_retain(mesh));
    abut_context_destroy(context); /* the mesh keeps it */
    abut_mesh_destroy(mesh);
    assert_int_equal(4, abut_mesh_vertex_count(mesh));
    abut_mesh_destroy(mesh);
    assert_int_equal(0, memory.live_count);
}

static abut_status create_once(abut_context *context, void *user) {
    AUTO(mesh) mesh = NULL;
    abut_status status = abut_mesh_create(context, user, &mesh);
    assert_true(!status == !!mesh);
    return status;
}

TEST(any_allocation_may_fail) {
    abut_mesh_input input = good();
    assert_int_equal(3, test_every_allocation(create_once, &input));
    input.index_stride = 0;
    uint32_t bad[6] = {0, 1, 2, 0, 1, 9}; /* refused, and nothing left behind */
    input.indices = bad;
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1);
    assert_int_equal(ABUT_ERROR_ARGUMENT, create_once(context, &input));
    abut_context_destroy(context);
    assert_int_equal(0, memory.live_count);
}

/* ---- hulls ---- */

/* Closed, outward, and no point is above a triangle, by exact signs. */
static void check_hull(const abut_mesh *hull, const abut_vec3 *points, size_t count) {
    const abut_vec3 *p = abut_mesh_local_positions(hull);
    const uint32_t *corner = abut_mesh_indices(hull);
    uint32_t triangles = abut_mesh_triangle_count(hull), vertices = abut_mesh_vertex_count(hull);
    abut_vec3 origin = abut_mesh_local_origin(hull);
    assert_int_equal(triangles, 2 * vertices - 4); /* a sphere */
    for (uint32_t t = 0; t < triangles; t++) {
        abut_vec3 at[3];
        for (int k = 0; k < 3; k++) {
            at[k] = v3_add(p[corner[3 * t + (uint32_t)k]], origin);
            uint32_t from = corner[3 * t + (uint32_t)k], to = corner[3 * t + (uint32_t)(k + 1) % 3];
            uint32_t back = 0;
            for (uint32_t o = 0; o < 3 * triangles; o++)
                back += corner[o] == to && corner[o - o % 3 + (o + 1) % 3] == from;
            assert_int_equal(back, 1);
        }
        for (size_t i = 0; i < count; i++) {
            int sign;
            assert_ok(abut_orient3d(at[0], at[1], at[2], points[i], &sign));
            assert_true(sign <= 0);
        }
    }
}

TEST(hull_of_a_grid) {
    /* 5 x 4 x 3 points, each twice: all but 8 are within faces, edges or the inside. */
    abut_vec3 points[120];
    for (int i = 0; i < 120; i++)
        points[i] = (abut_vec3){i % 60 % 5, i % 60 / 5 % 4, i % 60 / 20};
    AUTO(mesh) hull = NULL;
    assert_ok(abut_mesh_create_hull(NULL, points, 120, &hull));
    check_hull(hull, points, 120);
    assert_int_equal(abut_mesh_vertex_count(hull), 8);
}

TEST(hull_of_random_points) {
    test_random random = {11};
    for (uint32_t round = 0; round < test_rounds(400); round++) {
        abut_vec3 points[60];
        uint32_t count = 4 + test_random_below(&random, 57), kind = round % 4;
        for (uint32_t i = 0; i < count; i++) {
            double *x = &points[i].x;
            for (int k = 0; k < 3; k++) /* anywhere, on a grid, thin, far away */
                x[k] = kind == 1   ? (double)test_random_below(&random, 4)
                       : kind == 2 ? test_random_real(&random, 0, 1) * (k == 2 ? 1e-14 : 1)
                       : kind == 3 ? 1048576 + (double)test_random_below(&random, 1 << 20)
                                   : test_random_real(&random, -1, 1);
        }
        AUTO(mesh) hull = NULL;
        abut_status status = abut_mesh_create_hull(NULL, points, count, &hull);
        if (status) {
            assert_int_equal(kind, 1); /* few points of a grid may be in one plane */
            assert_int_equal(status, ABUT_ERROR_ARGUMENT);
            continue;
        }
        if (kind != 2) /* whose positions are rounded when they become relative */
            check_hull(hull, points, count);
    }
}

/* Where products would underflow points are scaled: the same hull, and an end for all input. */
TEST(hull_of_points_of_any_size) {
    test_random random = {17};
    for (int round = 0; round < 200; round++) {
        abut_vec3 points[40], shrunk[40];
        const int exponent = -(int)test_random_below(&random, 1050);
        for (int i = 0; i < 40; i++) {
            points[i] = (abut_vec3){test_random_below(&random, 1000), test_random_below(&random, 9),
                                    test_random_below(&random, 1000)};
            shrunk[i] = (abut_vec3){ldexp(points[i].x, exponent), ldexp(points[i].y, exponent),
                                    ldexp(points[i].z, exponent)};
        }
        abut_mesh *hull = NULL, *small = NULL;
        assert_ok(abut_mesh_create_hull(NULL, points, 40, &hull));
        if (exponent < -310) { /* 2e-91 for 1000 */
            assert_refused("at least 1e-90", abut_mesh_create_hull(NULL, shrunk, 40, &small));
        } else if (exponent >= -300) {
            assert_ok(abut_mesh_create_hull(NULL, shrunk, 40, &small));
            assert_int_equal(abut_mesh_triangle_count(hull), abut_mesh_triangle_count(small));
            assert_memory_equal(abut_mesh_indices(hull), abut_mesh_indices(small),
                                12 * abut_mesh_triangle_count(hull));
        }
        abut_mesh_destroy(hull);
        abut_mesh_destroy(small);
        /* Coordinates of very different sizes. */
        for (int i = 0; i < 40; i++)
            for (int k = 0; k < 3; k++)
                (&points[i].x)[k] = ldexp(test_random_real(&random, -1, 1),
                                          round % 2 ? exponent - (int)test_random_below(&random, 70)
                                                    : -(int)test_random_below(&random, 1074));
        hull = NULL;
        abut_status status = abut_mesh_create_hull(NULL, points, 40, &hull);
        assert_true(status == ABUT_OK || status == ABUT_ERROR_ARGUMENT);
        if (!status)
            assert_int_equal(abut_mesh_triangle_count(hull), 2 * abut_mesh_vertex_count(hull) - 4);
        abut_mesh_destroy(hull);
    }
}

static bool stop_hull(void *user, const char *stage, double fraction) {
    assert_string_equal(stage, "hull");
    assert_true(fraction >= 0 && fraction <= 1);
    return ++*(int *)user < 3;
}

TEST(hulls_can_be_cancelled) {
    static abut_vec3 points[5000];
    test_random random = {19};
    int calls = 0;
    for (int i = 0; i < 5000; i++) { /* on a ball: all are vertices */
        abut_vec3 p = {test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                       test_random_real(&random, -1, 1)};
        points[i] = v3_normalise(p);
    }
    AUTO(context) context = test_watched(stop_hull, &calls);
    abut_mesh *hull = NULL;
    assert_int_equal(ABUT_ERROR_CANCELLED, abut_mesh_create_hull(context, points, 5000, &hull));
    assert_null(hull);
    assert_int_equal(3, calls);
}

TEST(hull_of_what_has_none) {
    abut_vec3 points[5] = {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}};
    abut_mesh *hull;
    assert_refused("points", abut_mesh_create_hull(NULL, NULL, 5, &hull));
    assert_refused("hull", abut_mesh_create_hull(NULL, points, 5, NULL));
    assert_refused("3 points", abut_mesh_create_hull(NULL, points, 3, &hull));
    assert_refused("points are equal", abut_mesh_create_hull(NULL, points, 5, &hull));
    points[1].x = points[2].y = 7;
    points[2].x = -5;
    points[2].y = 2;
    assert_refused("one line", abut_mesh_create_hull(NULL, points, 5, &hull));
    points[3].y = 9;
    assert_refused("one plane", abut_mesh_create_hull(NULL, points, 5, &hull));
    points[4].z = NAN;
    assert_refused("point 4", abut_mesh_create_hull(NULL, points, 5, &hull));
}

static abut_status make_a_hull(abut_context *context, void *data) {
    abut_vec3 points[40];
    test_random random = {5};
    for (int i = 0; i < 40; i++)
        points[i] = (abut_vec3){test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                                test_random_real(&random, -1, 1)};
    AUTO(mesh) hull = NULL;
    return abut_mesh_create_hull(context, points, 40, &hull);
}

TEST(hulls_without_memory) {
    test_every_allocation(make_a_hull, NULL);
}

/* Far from the origin, positions are kept relative to another one; a copy is absolute. */
TEST(copied_positions_are_absolute) {
    const abut_vec3 corners[3] = {{1000, -2000, 5}, {1001, -2001, 6}, {1002, -2000, 7.25}};
    abut_vec3 copy[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    AUTO(mesh) mesh = test_mesh(NULL, corners, 3, NULL, 1);
    assert_true(abut_mesh_local_origin(mesh).x != 0);
    assert_ok(abut_mesh_get_positions(mesh, copy));
    assert_memory_equal(copy, corners, sizeof corners);
    assert_refused("positions is null", abut_mesh_get_positions(mesh, NULL));
    assert_refused("mesh is null", abut_mesh_get_positions(NULL, copy));
}
