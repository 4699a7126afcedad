/* What tests of cloth share: a context of one thread, shapes, cloths, and a ball of one radial
 * field.
 */
#ifndef TEST_CLOTH_FIXTURE_H
#define TEST_CLOTH_FIXTURE_H

#include "support/support.h"

#include "cloth/cloth.h"
#include "cloth_scene.h"

#include <math.h>
#include <stdlib.h>

/* The next call of a sequence that ends at the first failure, but releases what it has created: for
 * tests that make each allocation fail. */
#define NEXT(call)           \
    do                       \
        if (!status)         \
            status = (call); \
    while (0)

typedef vec3 vec;

#define BALL_CELL 0.05
#define assert_close(a, b, most) assert_true(fabs((a) - (b)) <= (most))

static abut_context *serial; /* small work is quicker so */

static inline int run_serial(void) {
    serial = test_context(NULL, 1);
    int failed = test_run(NULL, NULL);
    abut_context_destroy(serial);
    return failed;
}

/* A shape, scaled and moved. */
static inline abut_status create_shape(abut_context *context, abut_shape_kind kind,
                                       uint32_t segments, uint32_t rings, double scale,
                                       abut_pose to, abut_mesh **mesh) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *raw = NULL;
    shape.segments = segments;
    shape.rings = rings;
    abut_status status = abut_shape_create(context, &shape, &raw);
    NEXT(abut_mesh_transform(raw, scale, to, mesh));
    abut_mesh_destroy(raw);
    return status;
}

static inline abut_mesh *make_shape_at(abut_shape_kind kind, uint32_t segments, double scale,
                                       abut_pose to) {
    abut_mesh *mesh = NULL;
    assert_ok(create_shape(serial, kind, segments, segments, scale, to, &mesh));
    return mesh;
}

static inline abut_pose pose_at(double x, double y, double z) {
    return (abut_pose){.translation = {x, y, z}};
}

static inline abut_mesh *make_shape(abut_shape_kind kind, uint32_t segments) {
    return make_shape_at(kind, segments, 1, abut_pose_identity());
}

/* Options and material of a cloth of one sheet and at most one body, and pinned vertices. */
typedef struct cloth_options {
    double stretch, shear, bend, density, damping, pressure, thickness, friction, drag;
    vec gravity, wind;
    uint32_t substeps;
    bool ignore_self, body_may_lag;
    abut_device *device;
    const uint32_t *pins;
    uint32_t pin_count;
    uint32_t grain;
} cloth_options;

static inline abut_status create_cloth(abut_context *context, abut_mesh *mesh,
                                       const cloth_options *o, abut_cloth **made) {
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material material = abut_cloth_material_default();
    options.gravity = o->gravity;
    options.wind = o->wind;
    options.drag = o->drag;
    options.substeps = o->substeps;
    options.ignore_self = o->ignore_self;
    options.body_may_lag = o->body_may_lag;
    options.device = o->device;
    material.stretch = o->stretch;
    material.shear = o->shear;
    material.bend = o->bend;
    material.density = o->density;
    material.damping = o->damping;
    material.pressure = o->pressure;
    material.thickness = o->thickness;
    material.friction = o->friction;
    uint32_t sheet = 9;
    abut_cloth *c = NULL;
    abut_status status = abut_cloth_create(context, &options, &c);
    if (!status)
        status = abut_cloth_add_sheet(c, mesh, &material, &sheet);
    if (status) {
        abut_cloth_destroy(c);
        return status;
    }
    assert_int_equal(0, sheet);
    c->grain = o->grain ? o->grain : c->grain;
    *made = c;
    return ABUT_OK;
}

/* Adds a body to a cloth that has none. */
static inline abut_status add_body(abut_cloth *c, abut_mesh *mesh) {
    uint32_t body;
    return abut_cloth_add_body(c, mesh, NULL, &body);
}

static inline abut_status pin(abut_cloth *c, const uint32_t *vertices, uint32_t count) {
    abut_cloth_attachment list[256];
    assert_true(count <= 256);
    abut_status status = abut_cloth_bind(c, 0, ABUT_NONE, vertices, count, 0, list);
    NEXT(abut_cloth_attach(c, 0, list, count));
    return status;
}

/* The body is added before pins, which use the cloth. */
static inline abut_cloth *make_cloth(abut_mesh *mesh, abut_mesh *body, const cloth_options *o) {
    abut_cloth *c = NULL;
    uint32_t index = 9;
    assert_ok(create_cloth(serial, mesh, o, &c));
    if (body) {
        assert_ok(abut_cloth_add_body(c, body, NULL, &index));
        assert_int_equal(0, index);
    }
    if (o->pin_count)
        assert_ok(pin(c, o->pins, o->pin_count));
    assert_ok(abuti_cloth_build(c));
    return c;
}

/* Current positions of all vertices: those of sheets, then those of bodies. */
static inline const vec *positions_of(abut_cloth *c) {
    assert_ok(abuti_cloth_build(c));
    assert_ok(cloth_fetch(c));
    return c->position;
}

/* A step in which the body moves to `body_end`; null = where it is. */
static inline abut_status try_step(abut_cloth *c, double seconds, const vec *body_end,
                                   abut_cloth_report *report) {
    abut_status status = ABUT_OK;
    *report = abut_cloth_report_default();
    if (body_end)
        status = abut_cloth_set_body_positions(c, 0, abut_array_host(body_end));
    NEXT(abut_cloth_step(c, seconds, report));
    return status;
}

static inline abut_cloth_report step(abut_cloth *c, double seconds, const vec *body_end) {
    abut_cloth_report report;
    assert_ok(try_step(c, seconds, body_end, &report));
    return report;
}

static inline bool is_free(abut_cloth *c) {
    bool answer = false;
    assert_ok(abut_cloth_is_free(c, &answer));
    return answer;
}

static inline abut_cloth_energy energy_of(abut_cloth *c) {
    abut_cloth_energy e = abut_cloth_energy_default();
    assert_ok(abut_cloth_get_energy(c, &e));
    return e;
}

static inline abut_status make_ball(abut_context *context, double radius, abut_device *device,
                                    abut_mesh **mesh, abut_radial **radial) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.radius = radius;
    shape.segments = 4;
    const abut_radial_axis axis = {.begin = {0, 0, -1.1 * radius}, .end = {0, 0, 1.1 * radius}};
    abut_radial_options options = abut_radial_options_default();
    options.cell = BALL_CELL;
    options.axes = &axis;
    options.axis_count = 1;
    options.device = device;
    abut_status status = abut_shape_create(context, &shape, mesh);
    if (status)
        return status;
    return abut_radial_create_mesh(*mesh, 1, &options, radial);
}

/* The ball's vertices and its bone, shifted. */
static inline abut_character_matrix ball_at(const abut_mesh *mesh, vec shift, vec *to) {
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++)
        to[i] =
            v3_add(v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]), shift);
    return (abut_character_matrix){{{1, 0, 0, shift.x}, {0, 1, 0, shift.y}, {0, 0, 1, shift.z}}};
}

static inline abut_status make_sheet(abut_context *context, uint32_t segments, double side,
                                     vec shift, abut_mesh **mesh) {
    return create_shape(context, ABUT_SHAPE_SHEET, segments, segments, side,
                        pose_at(shift.x, shift.y, shift.z), mesh);
}

#endif
