/* A ball of one radial field, for tests of cloth against fields. */
#ifndef TEST_CLOTH_BALL_H
#define TEST_CLOTH_BALL_H

#include "support/support.h"

#include "parts.h"

#define BALL_CELL 0.05
#define assert_close(a, b, most) assert_true(fabs((a) - (b)) <= (most))

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
    return status ? status : abut_radial_create_mesh(*mesh, 1, &options, radial);
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
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_mesh *raw = NULL;
    shape.segments = shape.rings = segments;
    shape.extent = vec_of(side, side, 0);
    abut_status status = abut_shape_create(context, &shape, &raw);
    const abut_pose pose = {{0, 0, 0, 0}, shift};
    status = status ? status : abut_mesh_transform(raw, 1, pose, mesh);
    abut_mesh_destroy(raw);
    return status;
}

#endif
