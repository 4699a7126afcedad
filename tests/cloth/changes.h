/* A system whose sheets and bodies are added and removed between steps, with attachments, pressure
 * and bodies that may lag. */
#ifndef TEST_CLOTH_CHANGES_H
#define TEST_CLOTH_CHANGES_H

#include "fixture.h"

enum { CHANGING_FRAMES = 16 };

typedef struct changing {
    abut_cloth *c;
    abut_mesh *sheet, *ball, *box;
} changing;

static inline abut_status make_changing(abut_context *context, abut_device *device, changing *s) {
    abut_cloth_options options = abut_cloth_options_default();
    options.gravity.z = -9;
    options.substeps = 3;
    options.body_may_lag = true;
    options.device = device;
    abut_status status =
        create_shape(context, ABUT_SHAPE_SHEET, 6, 6, 1, pose_at(0, 0, 0), &s->sheet);
    NEXT(create_shape(context, ABUT_SHAPE_ICOSPHERE, 3, 3, 0.4, pose_at(0, 0, 0.5), &s->ball));
    NEXT(create_shape(context, ABUT_SHAPE_BOX, 1, 1, 0.4, pose_at(0, 0, -0.3), &s->box));
    NEXT(abut_cloth_create(context, &options, &s->c));
    if (!status)
        s->c->grain = 16;
    return status;
}

static inline void destroy_changing(changing *s) {
    abut_cloth_destroy(s->c);
    abut_mesh_destroy(s->sheet);
    abut_mesh_destroy(s->ball);
    abut_mesh_destroy(s->box);
}

static inline abut_status add_changing(changing *s, abut_mesh *mesh, uint32_t expected) {
    abut_cloth_material m = abut_cloth_material_default();
    uint32_t index = ABUT_NONE;
    m.bend = 1e-4;
    m.friction = 0.3;
    m.thickness = 0.02;
    m.pressure = mesh == s->ball ? 20 : 0;
    abut_status status = abut_cloth_add_sheet(s->c, mesh, &m, &index);
    assert_true(status || index == expected);
    return status;
}

static inline abut_status add_box(changing *s, double x, double z, uint32_t expected) {
    abut_cloth_body_options body = abut_cloth_body_options_default();
    uint32_t index = ABUT_NONE;
    body.pose = pose_at(x, 0, z);
    abut_status status = abut_cloth_add_body(s->c, s->box, &body, &index);
    assert_true(status || index == expected);
    return status;
}

static inline abut_status attach_changing(abut_cloth *c, uint32_t sheet, uint32_t body,
                                          uint32_t vertex, double stiffness) {
    abut_cloth_attachment a;
    abut_status status = abut_cloth_bind(c, sheet, body, &vertex, 1, stiffness, &a);
    NEXT(abut_cloth_attach(c, sheet, &a, 1));
    return status;
}

/* The changes before a step. */
static inline abut_status change(changing *s, int frame) {
    const uint32_t corner = 0;
    const vec target = {-0.5, -0.5, 0.01 * frame};
    abut_cloth *c = s->c;
    abut_status status = ABUT_OK;
    switch (frame) {
    case 0:
        return add_box(s, 0, 0, 0);
    case 1:
        return add_changing(s, s->sheet, 0);
    case 3:
        NEXT(add_changing(s, s->ball, 1));
        NEXT(attach_changing(c, 0, ABUT_NONE, 0, 0));
        NEXT(attach_changing(c, 0, 0, 24, 50));
        NEXT(attach_changing(c, 1, 0, 5, 3));
        return status;
    case 4:
        return abut_cloth_set_targets(c, 0, &corner, abut_array_host(&target), 1);
    case 5:
        NEXT(add_box(s, 0.45, 0, 1));
        return attach_changing(c, 0, 1, 48, 9);
    case 8:
        return abut_cloth_remove_body(c, 0); /* with two attachments */
    case 9:
        NEXT(abut_cloth_remove_sheet(c, 0));
        return add_box(s, 0.1, -0.6, 0);
    case 11:
        NEXT(abut_cloth_remove_sheet(c, 1));
        return abut_cloth_remove_body(c, 1);
    case 13: /* the index that was freed last first */
        NEXT(add_changing(s, s->ball, 1));
        return add_changing(s, s->sheet, 0);
    default:
        return ABUT_OK;
    }
}

static inline abut_status step_changing(changing *s, int frame, abut_cloth_report *report) {
    abut_status status = change(s, frame);
    const uint32_t body = frame < 8 ? 0 : 1;
    if (frame < 11)
        NEXT(abut_cloth_set_body_pose(s->c, body, pose_at(body * 0.45, 0, 0.03 * frame)));
    *report = abut_cloth_report_default();
    NEXT(abut_cloth_step(s->c, 0.02, report));
    return status;
}

#endif
