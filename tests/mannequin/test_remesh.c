/* Remeshing: counts are reached, the topology is kept, triangles are regular, boundaries stay in
 * place. */
#include "support/support.h"

#include "mannequin/remesh.h"

#include <math.h>

static vec3 onto_sphere(void *data, vec3 p) {
    (void)data;
    return v3_normalise(p);
}

static double finer_above(void *data, vec3 p) {
    (void)data;
    return p.z > 0 ? 0.4 : 1;
}

static abut_mesh *make(abut_shape_kind kind, uint32_t segments, uint32_t rings) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh = NULL;
    shape.segments = segments;
    shape.rings = rings;
    shape.radius = shape.radius > 0 ? 1 : 0;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

/* The smallest ratio of height to longest side, 0.87 for equal sides. */
static double worst_shape(const abut_mesh *mesh) {
    double worst = 1;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *c = mesh->indices + 3 * t;
        vec3 a = mesh->positions[c[0]], b = mesh->positions[c[1]], d = mesh->positions[c[2]];
        double longest = fmax(v3_length_sq(v3_sub(a, b)),
                              fmax(v3_length_sq(v3_sub(b, d)), v3_length_sq(v3_sub(d, a))));
        worst = fmin(worst, v3_length(v3_cross(v3_sub(b, a), v3_sub(d, a))) / longest);
    }
    return worst;
}

static abut_mesh *remesh(const abut_mesh *mesh, const abuti_remesh *how) {
    abut_mesh *made = NULL;
    assert_ok(abuti_mesh_remesh(mesh, "test", how, &made));
    return made;
}

TEST(a_sphere_has_the_wanted_triangles) {
    abut_mesh *sphere = make(ABUT_SHAPE_UVSPHERE, 60, 30); /* thin triangles at its poles */
    assert_true(worst_shape(sphere) < 0.2);
    for (uint32_t wanted = 200; wanted <= 5000; wanted *= 5) {
        abuti_remesh how = {.project = onto_sphere, .triangles = wanted - 1}; /* odd: one more */
        abut_mesh *made = remesh(sphere, &how);
        abut_mesh_report report = test_examine(made);
        assert_int_equal(wanted, made->triangle_count);
        assert_true(report.is_closed && report.is_manifold && report.is_oriented);
        assert_int_equal(2, report.euler_number);
        assert_true(worst_shape(made) > 0.4);
        for (uint32_t v = 0; v < made->vertex_count; v++)
            assert_true(fabs(v3_length(abuti_mesh_position(made, v)) - 1) < 1e-12);
        abut_mesh_destroy(made);
    }
    abut_mesh_destroy(sphere);
}

TEST(lengths_may_differ) {
    abut_mesh *sphere = make(ABUT_SHAPE_ICOSPHERE, 12, 0);
    abuti_remesh how = {.project = onto_sphere, .length = finer_above, .triangles = 3000};
    abut_mesh *made = remesh(sphere, &how);
    uint32_t above = 0;
    for (uint32_t v = 0; v < made->vertex_count; v++)
        above += abuti_mesh_position(made, v).z > 0;
    /* 1 / 0.4^2 as many: 6.25 */
    assert_true(above > 4 * (made->vertex_count - above));
    assert_true(above < 8 * (made->vertex_count - above));
    abut_mesh_destroy(made);
    abut_mesh_destroy(sphere);
}

TEST(borders_stay) {
    abut_mesh *sheet = make(ABUT_SHAPE_SHEET, 40, 10);
    box3 before = sheet->bounds;
    abuti_remesh how = {.vertices = 700};
    abut_mesh *made = remesh(sheet, &how);
    abut_mesh_report report = test_examine(made);
    double area = 0;
    for (uint32_t t = 0; t < made->triangle_count; t++) {
        const uint32_t *c = made->indices + 3 * t;
        vec3 n = v3_cross(v3_sub(made->positions[c[1]], made->positions[c[0]]),
                          v3_sub(made->positions[c[2]], made->positions[c[0]]));
        assert_true(n.z > 0);
        area += 0.5 * n.z;
    }
    assert_int_equal(700, made->vertex_count);
    assert_true(report.is_manifold && report.is_oriented);
    assert_int_equal(1, report.loop_count);
    assert_int_equal(1, report.euler_number);
    assert_true(fabs(area - (before.hi.x - before.lo.x) * (before.hi.y - before.lo.y)) < 1e-9);
    assert_true(worst_shape(made) > 0.3);
    abut_mesh_destroy(made);
    abut_mesh_destroy(sheet);
}

TEST(a_handle_stays) {
    abut_mesh *torus = make(ABUT_SHAPE_TORUS, 60, 24);
    abuti_remesh how = {.triangles = 400};
    abut_mesh *made = remesh(torus, &how);
    abut_mesh_report report = test_examine(made);
    assert_int_equal(400, made->triangle_count);
    assert_true(report.is_closed && report.is_manifold && report.is_oriented);
    assert_int_equal(0, report.euler_number);
    abut_mesh_destroy(made);
    abut_mesh_destroy(torus);
}

/* A tetrahedron cannot have fewer triangles: it is not collapsed to nothing. */
TEST(what_cannot_be_collapsed_stays) {
    abut_mesh *sphere = make(ABUT_SHAPE_ICOSPHERE, 3, 0);
    abuti_remesh how = {.project = onto_sphere, .triangles = 2};
    abut_mesh *made = remesh(sphere, &how);
    assert_true(made->triangle_count >= 4);
    assert_true(test_examine(made).is_closed);
    abut_mesh_destroy(made);
    abut_mesh_destroy(sphere);
}

static abut_status remesh_in(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *box = NULL, *made = NULL;
    const abuti_remesh how = {.triangles = 300};
    (void)data;
    shape.segments = 3;
    abut_status status = abut_shape_create(context, &shape, &box);
    if (!status)
        status = abuti_mesh_remesh(box, "test", &how, &made);
    abut_mesh_destroy(made);
    abut_mesh_destroy(box);
    return status;
}

TEST(every_allocation_may_fail) {
    assert_true(test_every_allocation(remesh_in, NULL) > 8);
}
