/* Shapes with fields and samples, for the tests of contacts. */
#ifndef ABUT_TEST_FIELD_SHAPES_H
#define ABUT_TEST_FIELD_SHAPES_H

#include "apps/get.h"
#include "support/pose.h"
#include "support/support.h"

#include "contact/contact.h"

#include <math.h>
#include <stdlib.h>

#define DEGREE 0.017453292519943295

typedef struct thing {
    abut_mesh *mesh;
    abut_field *field;
    abut_samples *samples;
    abut_bvh *bvh; /* ready for signs */
    double cell;
} thing;

/* One thread: more would wait for each other more than work. */
static abut_context *serial;

static inline thing thing_of(const abut_shape *shape, const abut_field_options *field_options) {
    thing t;
    abut_samples_options options = abut_samples_options_default();
    assert_ok(abut_shape_create(serial, shape, &t.mesh));
    assert_ok(abut_bvh_create(t.mesh, NULL, &t.bvh));
    assert_ok(abut_sign_prepare(t.bvh, NULL));
    assert_ok(abut_field_create_from(t.bvh, field_options, &t.field));
    options.cell = t.cell = get_field_info(t.field).grid.cell;
    assert_ok(abut_samples_create(t.mesh, &options, &t.samples));
    return t;
}

static inline thing thing_by(abut_shape_kind kind, uint32_t segments, uint32_t cells) {
    abut_shape shape = abut_shape_default(kind);
    abut_field_options options = abut_field_options_default();
    shape.segments = segments;
    options.cells = cells;
    return thing_of(&shape, &options);
}

static inline void thing_free(thing *t) {
    abut_samples_destroy(t->samples);
    abut_field_destroy(t->field);
    abut_bvh_destroy(t->bvh);
    abut_mesh_destroy(t->mesh);
}

static inline abut_collider body_of(const thing *t, abut_pose where) {
    abut_collider body = abut_collider_from_field(t->field, t->samples, where);
    return body;
}

static inline abut_pose shifted(double x, double y, double z) {
    abut_pose p = {{0, 0, 0, 1}, {x, y, z}};
    return p;
}

#define ROOM 20000
static abut_contact room[ROOM];
static inline abut_contacts contacts_room(void) {
    abut_contacts c = {.size = sizeof c, .list = room, .capacity = ROOM};
    return c;
}

static inline double angle_between(abut_vec3 a, abut_vec3 b) {
    return atan2(v3_length(v3_cross(a, b)), v3_dot(a, b)) / DEGREE;
}

/* The true distance of a point of the world to a posed thing. */
static inline double truth(const thing *t, const abut_pose *where, abut_vec3 point) {
    abut_pose back;
    abut_nearest nearest;
    assert_ok(abut_pose_invert(where, &back));
    assert_ok(abut_sign_nearest(t->bvh, pose_apply(&back, point), HUGE_VAL, &nearest));
    return nearest.distance;
}

/* Runs tests with one thread. */
static inline int run_serial(int (*run)(void)) {
    abut_context_options options = abut_context_options_default();
    options.thread_count = 1;
    if (abut_context_create(&options, &serial))
        return 1;
    int failed = run();
    abut_context_destroy(serial);
    return failed;
}

#endif
