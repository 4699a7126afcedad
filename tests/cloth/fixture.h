/* What tests of cloth share: a context of one thread, shapes, cloths, and a ball of one radial
 * field.
 */
#ifndef TEST_CLOTH_FIXTURE_H
#define TEST_CLOTH_FIXTURE_H

#include "support/support.h"

#include "parts.h"
#include "scenes.h"

#include <math.h>
#include <stdlib.h>

/* The next call of a sequence that ends at the first failure, but releases what it has created: for
 * tests that make each allocation fail. */
#define NEXT(call)           \
    do                       \
        if (!status)         \
            status = (call); \
    while (0)

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

static inline abut_pose at(double x, double y, double z) {
    return (abut_pose){.translation = {x, y, z}};
}

static inline abut_mesh *make_shape(abut_shape_kind kind, uint32_t segments) {
    return make_shape_at(kind, segments, 1, abut_pose_identity());
}

static inline cloth *make_cloth(abut_mesh *mesh, const cloth_options *options) {
    cloth *c = NULL;
    assert_ok(cloth_create(serial, mesh, options, &c));
    return c;
}

/* A step that must succeed. */
static inline cloth_report step(cloth *c, double seconds, const vec *solid_end) {
    cloth_report report;
    assert_ok(cloth_step(c, seconds, solid_end, &report));
    return report;
}

static inline bool is_free(cloth *c) {
    bool answer = false;
    assert_ok(cloth_is_free(c, &answer));
    return answer;
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
        to[i] = vec_add(vec_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]),
                        shift);
    return (abut_character_matrix){{{1, 0, 0, shift.x}, {0, 1, 0, shift.y}, {0, 0, 1, shift.z}}};
}

static inline abut_status make_sheet(abut_context *context, uint32_t segments, double side,
                                     vec shift, abut_mesh **mesh) {
    return create_shape(context, ABUT_SHAPE_SHEET, segments, segments, side,
                        at(shift.x, shift.y, shift.z), mesh);
}

#endif
