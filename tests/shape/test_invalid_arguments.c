/* Invalid arguments: rejected with a message, the output unchanged, nothing leaked. */
#include "shape/check.h"

static abut_mesh *const untouched = (abut_mesh *)&untouched;

static void check_refused(abut_status expected, const char *part, const abut_shape *shape) {
    abut_mesh *mesh = untouched;
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1);
    assert_fails(expected, part, abut_shape_create(context, shape, &mesh));
    assert_ptr_equal(untouched, mesh);
    abut_context_destroy(context);
    assert_int_equal(0, memory.live_count);
}

TEST(names) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        abut_shape_kind found = ABUT_SHAPE_COUNT;
        assert_ok(abut_shape_kind_from_name(abut_shape_kind_name((abut_shape_kind)kind), &found));
        assert_int_equal(kind, found);
    }
    assert_null(abut_shape_kind_name(ABUT_SHAPE_COUNT));
    assert_null(abut_shape_kind_name((abut_shape_kind)-1));
    abut_shape_kind kind = ABUT_SHAPE_TORUS;
    assert_refused("letter-g", abut_shape_kind_from_name("dodo", &kind));
    assert_refused("\\xff", abut_shape_kind_from_name("\xff", &kind));
    assert_refused("name is null", abut_shape_kind_from_name(NULL, &kind));
    assert_refused("kind is null", abut_shape_kind_from_name("box", NULL));
    assert_int_equal(ABUT_SHAPE_TORUS, kind);
    assert_int_equal(ABUT_SHAPE_BOX, abut_shape_default((abut_shape_kind)77).kind);
}

TEST(null_and_unknown) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    double d = 5;
    check_refused(ABUT_ERROR_ARGUMENT, "shape is null", NULL);
    assert_refused("mesh is null", abut_shape_create(NULL, &shape, NULL));
    assert_refused("null", abut_shape_distance(NULL, v3(0, 0, 0), &d));
    assert_refused("null", abut_shape_distance(&shape, v3(0, 0, 0), NULL));
    shape.kind = (abut_shape_kind)77;
    check_refused(ABUT_ERROR_ARGUMENT, "kind is 77", &shape);
    assert_refused("kind is 77", abut_shape_distance(&shape, v3(0, 0, 0), &d));
    shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.size = 0;
    check_refused(ABUT_ERROR_ARGUMENT, "size", &shape);
    shape.size = sizeof shape + 8;
    check_refused(ABUT_ERROR_ARGUMENT, "size", &shape);
    assert_true(d == 5);
}

/* A caller compiled against a shorter structure gets defaults for the rest. */
TEST(short_structure) {
    abut_shape shape = {.size = offsetof(abut_shape, extent), .kind = ABUT_SHAPE_ICOSPHERE};
    shape.segments = 4000000000u; /* beyond `size`, so not read */
    AUTO(mesh) mesh = check_make(&shape);
    assert_int_equal(1280, abut_mesh_triangle_count(mesh));
}

TEST(bad_sizes) {
    const double bad[] = {-1, -0x1p-1070, NAN, INFINITY, -INFINITY, 1e-91, 1e91, 0x1p-1070};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (int kind = 0; kind < ABUT_SHAPE_TEAPOT; kind++) {
            abut_shape good = abut_shape_default((abut_shape_kind)kind);
            for (int field = 0; field < 6; field++) {
                abut_shape shape = good;
                double *fields[] = {&shape.extent.x, &shape.extent.y, &shape.extent.z,
                                    &shape.radius,   &shape.radius2,  &shape.height};
                bool used = *fields[field] > 0;
                const char *part[] = {"extent.x", "extent.y", "extent.z",
                                      "radius",   "radius2",  "height"};
                double d = 5;
                *fields[field] = bad[i];
                if (used) {
                    check_refused(ABUT_ERROR_ARGUMENT, part[field], &shape);
                    assert_refused(part[field], abut_shape_distance(&shape, v3(0, 0, 0), &d));
                    assert_true(d == 5);
                } else {
                    assert_ok(abut_shape_distance(&shape, v3(0, 0, 0), &d));
                }
            }
        }
}

#define BAD(which, status, part, change)                               \
    do {                                                               \
        abut_shape shape = abut_shape_default((abut_shape_kind)which); \
        change;                                                        \
        check_refused(status, part, &shape);                           \
    } while (0)
#define INVALID ABUT_ERROR_ARGUMENT
#define BEYOND ABUT_ERROR_LIMIT

TEST(bad_proportions) {
    for (int kind = ABUT_SHAPE_TORUS; kind <= ABUT_SHAPE_TUBE; kind += 4)
        for (int twice = 1; twice <= 2; twice++)
            BAD(kind, INVALID, "radius2", shape.radius2 = twice * shape.radius);
    /* its rings would fall together */
    BAD(ABUT_SHAPE_TORUS, INVALID, "thick", shape.radius2 = 1e-30);
    BAD(ABUT_SHAPE_TUBE, INVALID, "thick", shape.radius = 1; shape.radius2 = 1 - 0x1p-53);
    abut_shape capsule = abut_shape_default(ABUT_SHAPE_CAPSULE);
    capsule.height = 1e80; /* the caps vanish: flat, but not degenerate */
    AUTO(mesh) mesh = check_make(&capsule);
    mesh_facts facts = check_mesh(mesh);
    assert_sound(&facts);
}

TEST(bad_counts) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        BAD(kind, BEYOND, "triangles", shape.segments = 4000000000u);
        BAD(kind, BEYOND, "triangles", shape.segments = shape.rings = UINT32_MAX);
        if (abut_shape_default((abut_shape_kind)kind).rings)
            BAD(kind, BEYOND, "triangles", shape.rings = 4000000000u);
    }
    BAD(ABUT_SHAPE_LETTER_E, BEYOND, "triangles", shape.extent.z = 1e30);
    BAD(ABUT_SHAPE_UVSPHERE, INVALID, "segments", shape.segments = 2);
    BAD(ABUT_SHAPE_UVSPHERE, INVALID, "rings", shape.segments = 3; shape.rings = 1);
    BAD(ABUT_SHAPE_TORUS, INVALID, "rings", shape.rings = 2);
    BAD(ABUT_SHAPE_TEAPOT, INVALID, "segments", shape.segments = 1);
    BAD(ABUT_SHAPE_TEAPOT_SOLID, INVALID, "segments", shape.segments = 1);
}

TEST(bad_points) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    double d = 5;
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e91};
    for (int i = 0; i < 4; i++) {
        assert_refused("point", abut_shape_distance(&shape, v3(bad[i], 0, 0), &d));
        assert_refused("point", abut_shape_distance(&shape, v3(0, bad[i], 0), &d));
        assert_refused("point", abut_shape_distance(&shape, v3(0, 0, bad[i]), &d));
    }
    shape.kind = ABUT_SHAPE_TEAPOT;
    assert_fails(ABUT_ERROR_UNSUPPORTED, "teapot", abut_shape_distance(&shape, v3(0, 0, 0), &d));
    shape.kind = ABUT_SHAPE_TEAPOT_SOLID;
    assert_fails(ABUT_ERROR_UNSUPPORTED, "teapot", abut_shape_distance(&shape, v3(0, 0, 0), &d));
    assert_true(d == 5);
}

static abut_status make_and_destroy(abut_context *context, void *data) {
    AUTO(mesh) mesh = NULL;
    return abut_shape_create(context, data, &mesh);
}

TEST(out_of_memory_everywhere) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        abut_shape shape = abut_shape_default((abut_shape_kind)kind);
        assert_true(test_every_allocation(make_and_destroy, &shape) >= 3);
    }
}
