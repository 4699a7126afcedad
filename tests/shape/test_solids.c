/* Properties of every generated mesh: closed, manifold, oriented outwards, with the right
 * counts, converging. */
#include "shape/check.h"

#include <stdio.h>

static const double pi = 3.14159265358979323846;

static int64_t euler_of(abut_shape_kind kind) {
    return kind == ABUT_SHAPE_TORUS || kind == ABUT_SHAPE_TUBE ? 0 : 2;
}

static bool is_teapot(abut_shape_kind kind) {
    return kind == ABUT_SHAPE_TEAPOT || kind == ABUT_SHAPE_TEAPOT_SOLID;
}

/* Every kind but the teapots, over a range of counts that includes the smallest. */
TEST(solids_are_solid) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        if (is_teapot((abut_shape_kind)kind))
            continue;
        for (uint32_t segments = 1; segments <= 9; segments++)
            for (uint32_t rings = 1; rings <= 5; rings++) {
                abut_shape shape = abut_shape_default((abut_shape_kind)kind);
                shape.segments = segments;
                shape.rings = rings;
                AUTO(mesh) mesh = NULL;
                abut_status status = abut_shape_create(NULL, &shape, &mesh);
                if (status) {
                    assert_int_equal(ABUT_ERROR_ARGUMENT, status);
                    assert_true(segments < 3 || rings < 3);
                    continue;
                }
                mesh_facts facts = check_mesh(mesh);
                if (kind == ABUT_SHAPE_SHEET) {
                    assert_sound(&facts);
                    assert_int_equal(2 * (segments + rings), facts.open_edges);
                    assert_int_equal(1, facts.euler);
                } else {
                    assert_solid(&facts, euler_of((abut_shape_kind)kind));
                }
            }
    }
}

static void assert_counts(abut_shape_kind kind, uint32_t segments, uint32_t rings,
                          uint32_t vertices, uint32_t triangles, uint32_t edges) {
    abut_shape shape = abut_shape_default(kind);
    shape.segments = segments;
    shape.rings = rings;
    abut_mesh *mesh = check_make(&shape);
    mesh_facts facts = check_mesh(mesh);
    assert_int_equal(vertices, facts.vertices);
    assert_int_equal(triangles, facts.triangles);
    assert_int_equal(edges, facts.edges);
    abut_mesh_destroy(mesh);
}

TEST(counts_are_as_documented) {
    /* the cube of document 000: 5 x 5 quads a side */
    assert_counts(ABUT_SHAPE_BOX, 5, 0, 152, 300, 450);
    assert_counts(ABUT_SHAPE_BOX, 1, 0, 8, 12, 18);
    assert_counts(ABUT_SHAPE_UVSPHERE, 8, 4, 26, 48, 72);
    assert_counts(ABUT_SHAPE_ICOSPHERE, 1, 0, 12, 20, 30);
    assert_counts(ABUT_SHAPE_ICOSPHERE, 4, 0, 162, 320, 480);
    assert_counts(ABUT_SHAPE_TORUS, 6, 4, 24, 48, 72);
    assert_counts(ABUT_SHAPE_CONE, 6, 1, 8, 12, 18);
    assert_counts(ABUT_SHAPE_CYLINDER, 6, 1, 14, 24, 36);
    assert_counts(ABUT_SHAPE_CAPSULE, 6, 2, 26, 48, 72);
    assert_counts(ABUT_SHAPE_TUBE, 6, 1, 24, 48, 72);
    assert_counts(ABUT_SHAPE_SHEET, 3, 2, 12, 12, 23);
    assert_counts(ABUT_SHAPE_STAIRS, 1, 1, 8, 12, 18);
    assert_counts(ABUT_SHAPE_STAIRS, 2, 1, 16, 28, 42);
}

static double true_volume(const abut_shape *s) {
    double r = s->radius, q = s->radius2, h = s->height;
    switch (s->kind) {
    case ABUT_SHAPE_BOX:
        return s->extent.x * s->extent.y * s->extent.z;
    case ABUT_SHAPE_UVSPHERE:
    case ABUT_SHAPE_ICOSPHERE:
        return 4 * pi / 3 * r * r * r;
    case ABUT_SHAPE_TORUS:
        return 2 * pi * pi * r * q * q;
    case ABUT_SHAPE_CONE:
        return pi / 3 * r * r * h;
    case ABUT_SHAPE_CYLINDER:
        return pi * r * r * h;
    case ABUT_SHAPE_CAPSULE:
        return pi * r * r * h + 4 * pi / 3 * r * r * r;
    case ABUT_SHAPE_TUBE:
        return pi * (r * r - q * q) * h;
    case ABUT_SHAPE_STAIRS:
        return s->extent.x * s->extent.y * s->extent.z * (s->segments + 1) / (2 * s->segments);
    case ABUT_SHAPE_LETTER_E: /* two long bars, one short, and the rest of the spine */
        return h * h * s->extent.z * (2 * 0.6 * 0.2 + 0.5 * 0.2 + 2 * 0.2 * 0.2);
    case ABUT_SHAPE_LETTER_G: /* two long bars, the stem between, the hook */
        return h * h * s->extent.z * (2 * 0.7 * 0.2 + 0.6 * 0.2 + 0.2 * 0.2 + 0.35 * 0.15);
    default:
        return 0;
    }
}

/* Polyhedra have their volume at once; for the others halving the edges must quarter the error. */
TEST(volumes_converge_with_second_order) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        if (is_teapot((abut_shape_kind)kind) || kind == ABUT_SHAPE_SHEET)
            continue;
        double error[2], relative = 0;
        for (uint32_t i = 0; i < 2; i++) {
            abut_shape shape = abut_shape_default((abut_shape_kind)kind);
            shape.segments = kind == ABUT_SHAPE_STAIRS ? 11 : 32u << i;
            shape.rings = 24u << i;
            AUTO(mesh) mesh = check_make(&shape);
            error[i] = check_mesh(mesh).volume - true_volume(&shape);
            relative = fabs(error[i]) / true_volume(&shape);
        }
        bool polyhedron = kind == ABUT_SHAPE_BOX || kind >= ABUT_SHAPE_STAIRS;
        if (polyhedron) {
            if (!(relative < 1e-12))
                fail_msg("%s: %g", abut_shape_kind_name((abut_shape_kind)kind), relative);
        } else {
            double order = log2(error[0] / error[1]);
            printf("%-10s relative volume error %.2e, order %.3f\n",
                   abut_shape_kind_name((abut_shape_kind)kind), relative, order);
            assert_true(error[1] < 0); /* inscribed */
            assert_true(order > 1.97 && order < 2.03);
        }
    }
}

TEST(sizes_are_kept) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = (abut_vec3){2, 3, 5};
    shape.segments = 7;
    AUTO(mesh) mesh = check_make(&shape);
    abut_box bounds = abut_mesh_bounds(mesh);
    assert_true(bounds.hi.x == 1 && bounds.hi.y == 1.5 && bounds.hi.z == 2.5);
    assert_true(bounds.lo.x == -1 && bounds.lo.y == -1.5 && bounds.lo.z == -2.5);
    abut_mesh_destroy(mesh);

    shape = abut_shape_default(ABUT_SHAPE_CAPSULE);
    shape.radius = 0.25;
    shape.height = 2;
    mesh = check_make(&shape);
    bounds = abut_mesh_bounds(mesh);
    assert_true(bounds.hi.x == 0.25 && bounds.lo.y == -0.25);
    assert_true(bounds.hi.z == 1.25 && bounds.lo.z == -1.25);
    abut_mesh_destroy(mesh);

    shape = abut_shape_default(ABUT_SHAPE_CONE);
    mesh = check_make(&shape);
    bounds = abut_mesh_bounds(mesh);
    assert_true(bounds.lo.z == -0.5 && bounds.hi.z == 0.5 && bounds.hi.x == 0.5);
    abut_mesh_destroy(mesh);

    shape = abut_shape_default(ABUT_SHAPE_LETTER_G);
    shape.height = 3;
    mesh = check_make(&shape);
    bounds = abut_mesh_bounds(mesh);
    assert_true(bounds.hi.y == 1.5 && bounds.lo.y == -1.5);
    assert_true(bounds.hi.z == 0.1 && bounds.lo.x == -bounds.hi.x);
}

/* No edge of a letter may be longer than height / segments, nor may any triangle be thin. */
TEST(letters_are_cut_finely) {
    for (int kind = ABUT_SHAPE_LETTER_E; kind <= ABUT_SHAPE_LETTER_G; kind++)
        for (uint32_t segments = 1; segments <= 40; segments += 3) {
            abut_shape shape = abut_shape_default((abut_shape_kind)kind);
            shape.segments = segments;
            AUTO(mesh) mesh = check_make(&shape);
            mesh_facts facts = check_mesh(mesh);
            assert_solid(&facts, 2);
            assert_true(facts.longest_edge <= 1.0 / segments * (1 + 1e-12));
            if (segments >= 10)
                assert_true(facts.least_angle > 25 * pi / 180);
        }
}

/* Every vertex of a curved shape has all its mirror images, to the bit. */
TEST(meshes_are_symmetric) {
    const abut_shape_kind round_kinds[] = {ABUT_SHAPE_BOX,     ABUT_SHAPE_UVSPHERE,
                                           ABUT_SHAPE_TORUS,   ABUT_SHAPE_CYLINDER,
                                           ABUT_SHAPE_CAPSULE, ABUT_SHAPE_TUBE,
                                           ABUT_SHAPE_SHEET,   ABUT_SHAPE_ICOSPHERE};
    for (size_t k = 0; k < sizeof round_kinds / sizeof *round_kinds; k++) {
        abut_shape shape = abut_shape_default(round_kinds[k]);
        shape.segments = 20;
        shape.rings = 7;
        AUTO(mesh) mesh = check_make(&shape);
        uint32_t count = abut_mesh_vertex_count(mesh);
        for (int mirror = 1; mirror < 8; mirror++) {
            AUTO_FREE vec3 *sorted = malloc(2 * count * sizeof *sorted);
            for (uint32_t i = 0; i < count; i++) {
                vec3 p = check_position(mesh, i);
                sorted[i] = p;
                sorted[count + i] =
                    v3(mirror & 1 ? -p.x : p.x, mirror & 2 ? -p.y : p.y, mirror & 4 ? -p.z : p.z);
            }
            qsort(sorted, count, sizeof *sorted, compare_positions);
            qsort(sorted + count, count, sizeof *sorted, compare_positions);
            for (uint32_t i = 0; i < count; i++)
                if (compare_positions(&sorted[i], &sorted[count + i]))
                    fail_msg("%s mirror %d: %.17g %.17g %.17g, %.17g %.17g %.17g",
                             abut_shape_kind_name(shape.kind), mirror, sorted[i].x, sorted[i].y,
                             sorted[i].z, sorted[count + i].x, sorted[count + i].y,
                             sorted[count + i].z);
        }
    }
}

/* The circle is our own; it must be as good as the library's. */
TEST(vertices_lie_on_the_surface) {
    for (uint32_t segments = 3; segments < 400; segments++) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
        shape.segments = segments;
        shape.rings = 3;
        shape.radius = 1;
        shape.radius2 = 0.25;
        AUTO(mesh) mesh = check_make(&shape);
        for (uint32_t i = 0; i < segments; i++) {
            vec3 p = check_position(mesh, i);
            assert_true(fabs(p.x - 1.25 * cos(2 * pi * i / segments)) < 1e-15 * 2);
            assert_true(fabs(p.y - 1.25 * sin(2 * pi * i / segments)) < 1e-15 * 2);
        }
    }
}

/* A fingerprint of all bytes, so that another machine would notice a different bit. */
static uint64_t fingerprint(const abut_mesh *mesh) {
    uint64_t hash = 14695981039346656037u;
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        vec3 p = check_position(mesh, i);
        double c[3] = {p.x, p.y, p.z};
        for (int k = 0; k < 3; k++) {
            uint64_t bits;
            memcpy(&bits, &c[k], sizeof bits);
            hash = (hash ^ bits) * 1099511628211u;
        }
    }
    for (uint32_t i = 0; i < 3 * abut_mesh_triangle_count(mesh); i++)
        hash = (hash ^ abut_mesh_indices(mesh)[i]) * 1099511628211u;
    return hash;
}

/* Of the default descriptions, from gcc on x86-64. */
static const uint64_t fingerprints[ABUT_SHAPE_COUNT] = {
    [ABUT_SHAPE_BOX] = 0x0d178e689fdb0f6d,       [ABUT_SHAPE_UVSPHERE] = 0x834be61ebc16f3d9,
    [ABUT_SHAPE_ICOSPHERE] = 0x425362af9861eac9, [ABUT_SHAPE_TORUS] = 0x4eb56345498824e1,
    [ABUT_SHAPE_CONE] = 0xd13882657b61c7f5,      [ABUT_SHAPE_CYLINDER] = 0x5a7aef82c24648d1,
    [ABUT_SHAPE_CAPSULE] = 0x936c6d606f5bce49,   [ABUT_SHAPE_TUBE] = 0x32e71a2cceba92f1,
    [ABUT_SHAPE_SHEET] = 0x769a633d2abef2b7,     [ABUT_SHAPE_STAIRS] = 0x230c4e0f5bd90923,
    [ABUT_SHAPE_LETTER_E] = 0x2a12c1efd690ba5d,  [ABUT_SHAPE_LETTER_G] = 0x40726e8dbd013db9,
    [ABUT_SHAPE_TEAPOT] = 0xd797f993075853d2,    [ABUT_SHAPE_TEAPOT_SOLID] = 0xd87d4fa9d9dc6f88,
};

TEST(same_description_same_bits) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        abut_shape shape = abut_shape_default((abut_shape_kind)kind);
        AUTO(mesh) mesh = check_make(&shape), *zeros = NULL;
        abut_shape empty = {.size = sizeof empty, .kind = (abut_shape_kind)kind};
        assert_ok(abut_shape_create(NULL, &empty, &zeros));
        mesh_facts facts = check_mesh(mesh);
        printf("%-12s %6u vertices %6u triangles, %016llx\n", abut_shape_kind_name(shape.kind),
               facts.vertices, facts.triangles, (unsigned long long)fingerprint(mesh));
        assert_int_equal(fingerprint(mesh), fingerprint(zeros));
        assert_int_equal(fingerprints[kind], fingerprint(mesh));
    }
}

/* Very small and very large shapes are as sound as others. */
TEST(any_scale_will_do) {
    const double scales[] = {1e-85, 1e-30, 1e30, 1e85};
    for (int kind = 0; kind < ABUT_SHAPE_TEAPOT; kind++)
        for (int i = 0; i < 4; i++) {
            abut_shape shape = abut_shape_default((abut_shape_kind)kind);
            shape.extent = v3_scale(shape.extent, scales[i]);
            shape.radius *= scales[i];
            shape.radius2 *= scales[i];
            shape.height *= scales[i];
            AUTO(mesh) mesh = check_make(&shape);
            mesh_facts facts = check_mesh(mesh);
            assert_sound(&facts);
            if (kind != ABUT_SHAPE_SHEET)
                assert_solid(&facts, euler_of((abut_shape_kind)kind));
        }
}
