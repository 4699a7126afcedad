/* A system of which states are saved: a closed sheet under pressure that is crushed between two
 * boxes that may lag, and a flat sheet with pins, springs and seams in the wind over a body that
 * deforms; and the check that a restored cloth goes on, bit for bit. */
#ifndef TEST_CLOTH_SAVING_H
#define TEST_CLOTH_SAVING_H

#include "fixture.h"

enum { SAVED_AT = 9, LAST_FRAME = 22, SAVING_VERTICES = 800 };

typedef struct saving {
    abut_cloth *c;
    abut_mesh *balloon, *flag, *box, *blob;
} saving;

static inline abut_status add_saving_bodies(saving *s) {
    abut_cloth_body_options body = abut_cloth_body_options_default();
    abut_status status = ABUT_OK;
    uint32_t index;
    body.pose = pose_at(0, 0, 0);
    NEXT(abut_cloth_add_body(s->c, s->box, &body, &index));
    body.pose = pose_at(0, 0, 1.15);
    body.friction = 0.6;
    NEXT(abut_cloth_add_body(s->c, s->box, &body, &index));
    NEXT(abut_cloth_add_body(s->c, s->blob, NULL, &index));
    return status;
}

static inline abut_status add_saving_sheets(saving *s) {
    abut_cloth_material m = abut_cloth_material_default();
    uint32_t index;
    m.bend = 1e-4;
    m.friction = 0.3;
    m.thickness = 0.02;
    m.pressure = 20;
    abut_status status = abut_cloth_add_sheet(s->c, s->balloon, &m, &index);
    m.pressure = 0;
    m.thickness = 0.03;
    NEXT(abut_cloth_add_sheet(s->c, s->flag, &m, &index));
    return status;
}

static inline abut_status create_saving(abut_context *context, abut_device *device, saving *s) {
    abut_cloth_options options = abut_cloth_options_default();
    options.gravity.z = -9;
    options.drag = 0.5;
    options.substeps = 3;
    options.body_may_lag = true;
    options.device = device;
    abut_status status =
        create_shape(context, ABUT_SHAPE_ICOSPHERE, 3, 3, 0.4, pose_at(0, 0, 0.5), &s->balloon);
    NEXT(create_shape(context, ABUT_SHAPE_SHEET, 8, 8, 1, pose_at(2, 0, 0.5), &s->flag));
    NEXT(create_shape(context, ABUT_SHAPE_BOX, 2, 2, 0.4, pose_at(0, 0, 0), &s->box));
    NEXT(create_shape(context, ABUT_SHAPE_ICOSPHERE, 2, 2, 0.5, pose_at(2, 0, 0.1), &s->blob));
    NEXT(abut_cloth_create(context, &options, &s->c));
    if (!status)
        s->c->grain = 16;
    NEXT(add_saving_bodies(s));
    NEXT(add_saving_sheets(s));
    return status;
}

static inline void destroy_saving(saving *s) {
    abut_cloth_destroy(s->c);
    abut_mesh_destroy(s->balloon);
    abut_mesh_destroy(s->flag);
    abut_mesh_destroy(s->box);
    abut_mesh_destroy(s->blob);
}

static inline abut_status attach_one(abut_cloth *c, uint32_t sheet, uint32_t body, uint32_t vertex,
                                     double stiffness) {
    abut_cloth_attachment a;
    abut_status status = abut_cloth_bind(c, sheet, body, &vertex, 1, stiffness, &a);
    NEXT(abut_cloth_attach(c, sheet, &a, 1));
    return status;
}

static inline abut_status attach_saving(abut_cloth *c) {
    abut_status status = attach_one(c, 0, 0, 7, 40);
    NEXT(attach_one(c, 1, 2, 44, 0));
    NEXT(attach_one(c, 1, ABUT_NONE, 0, 0));
    NEXT(attach_one(c, 1, ABUT_NONE, 8, 30));
    NEXT(attach_one(c, 1, 2, 40, 20));
    const abut_cloth_seam seams[3] = {{.sheet_a = 1, .vertex_a = 9, .sheet_b = 1, .vertex_b = 63},
                                      {.sheet_a = 1, .vertex_a = 36, .sheet_b = 0, .vertex_b = 3},
                                      {1, 17, 1, 71, 0.3, 50, 2}};
    NEXT(abut_cloth_sew(c, seams, 3));
    return status;
}

/* What the caller passes before a step. */
static inline abut_status drive_saving(saving *s, int frame) {
    const uint32_t held[2] = {0, 8}, detached = 40;
    const abut_cloth_seam unsewn = {.sheet_a = 1, .vertex_a = 9, .sheet_b = 1, .vertex_b = 63};
    const vec to[2] = {{1.5, -0.5, 0.5 + 0.01 * frame}, {2.5, -0.5, 0.55}};
    vec blob[SAVING_VERTICES];
    for (uint32_t i = 0; i < abut_mesh_vertex_count(s->blob); i++) {
        blob[i] = abuti_mesh_position(s->blob, i);
        blob[i].z += 0.004 * frame * (1 + blob[i].x - 2);
    }
    abut_status status = abut_cloth_set_body_pose(s->c, 1, pose_at(0, 0, 1.15 - 0.04 * frame));
    NEXT(abut_cloth_set_body_positions(s->c, 2, abut_array_host(blob)));
    if (frame % 4 == 0) /* otherwise they keep theirs */
        NEXT(abut_cloth_set_targets(s->c, 1, held, abut_array_host(to), 2));
    if (frame == 5)
        NEXT(abut_cloth_set_wind(s->c, v3(3, 1, 0.5)));
    if (frame == SAVED_AT + 6)
        NEXT(abut_cloth_detach(s->c, 1, &detached, 1));
    if (frame == SAVED_AT + 3)
        NEXT(abut_cloth_unsew(s->c, &unsewn, 1));
    return status;
}

static inline abut_status step_saving(saving *s, int frame, abut_cloth_report *report) {
    abut_cloth_report made = abut_cloth_report_default();
    abut_status status = frame ? ABUT_OK : attach_saving(s->c);
    NEXT(drive_saving(s, frame));
    NEXT(abut_cloth_step(s->c, 0.02, &made));
    if (report)
        *report = made;
    return status;
}

static inline void run_saving(saving *s, int from, int to) {
    for (int frame = from; frame < to; frame++)
        assert_ok(step_saving(s, frame, NULL));
}

static inline unsigned char *save_cloth(abut_cloth *c, size_t *bytes) {
    abut_byte_list saved = {NULL, 0, 0};
    assert_int_equal(abut_cloth_save(c, &saved), ABUT_ERROR_BUFFER);
    *bytes = saved.count;
    unsigned char *state = malloc(*bytes);
    saved = (abut_byte_list){state, *bytes, 0};
    assert_ok(abut_cloth_save(c, &saved));
    assert_int_equal(*bytes, saved.count);
    return state;
}

/* A frame of a run. */
typedef struct saved_frame {
    vec positions[SAVING_VERTICES], velocities[SAVING_VERTICES], impulse;
    uint32_t contacts, impacts, sweeps, lagging;
    double lag, gap;
} saved_frame;

static inline void record_saving(saving *s, int frame, saved_frame *to) {
    abut_cloth_report report;
    vec moment;
    memset(to, 0, sizeof *to);
    assert_ok(step_saving(s, frame, &report));
    assert_true(s->c->all_vertices <= SAVING_VERTICES);
    memcpy(to->positions, positions_of(s->c), s->c->all_vertices * sizeof(vec));
    memcpy(to->velocities, s->c->velocity, s->c->vertices * sizeof(vec));
    assert_ok(abut_cloth_get_body_impulse(s->c, 1, v3(0, 0, 0), &to->impulse, &moment));
    to->contacts = report.contacts;
    to->impacts = report.impacts;
    to->sweeps = report.sweeps;
    to->lagging = report.lagging;
    to->lag = report.lag;
    to->gap = report.gap;
}

/* Saves a run, continues it, and continues again from the state in the same cloth and in new ones:
 * on other threads, and on the other one of CPU and device. */
static inline void check_restored_runs(abut_context *const contexts[2], abut_device *device) {
    static saved_frame expected[LAST_FRAME], again;
    saving s = {0};
    size_t bytes, bytes_again;
    uint32_t lagging = 0, impacts = 0;
    assert_ok(create_saving(contexts[0], device, &s));
    run_saving(&s, 0, SAVED_AT);
    unsigned char *state = save_cloth(s.c, &bytes);
    for (int frame = SAVED_AT; frame < LAST_FRAME; frame++) {
        record_saving(&s, frame, &expected[frame]);
        lagging += expected[frame].lagging;
        impacts += expected[frame].impacts;
    }
    assert_true(lagging > 0 && impacts > 0);
    for (int run = 0; run < 4; run++) {
        if (run) { /* a new cloth */
            destroy_saving(&s);
            assert_ok(create_saving(contexts[run % 2], run == 2 ? NULL : device, &s));
        }
        if (run == 3) /* that has gone another way */
            run_saving(&s, 0, 4);
        assert_ok(abut_cloth_restore(s.c, state, bytes));
        unsigned char *same = save_cloth(s.c, &bytes_again);
        assert_int_equal(bytes, bytes_again);
        assert_memory_equal(state, same, bytes);
        free(same);
        for (int frame = SAVED_AT; frame < LAST_FRAME; frame++) {
            record_saving(&s, frame, &again);
            assert_memory_equal(&expected[frame], &again, sizeof again);
        }
        assert_true(is_free(s.c));
    }
    destroy_saving(&s);
    free(state);
}

static inline void shift_fields(abut_radial *radial, const abut_mesh *ball, int frame,
                                vec *shifted) {
    const abut_character_matrix bone = ball_at(ball, v3(0, 0, 0.01 * frame), shifted);
    assert_ok(abut_radial_set_positions(radial, &bone, abut_array_host(shifted)));
}

/* With radial fields. On a device, positions of sheets and bodies may be only there. */
static inline void check_restored_on_fields(abut_device *device) {
    enum { SAVED = 6, FRAMES = 12 };
    abut_mesh *ball = NULL, *sheet = NULL;
    abut_radial *radial = NULL;
    abut_cloth *c = NULL;
    size_t bytes = 0;
    unsigned char *state = NULL;
    uint32_t hits = 0;
    static vec shifted[SAVING_VERTICES], ends[FRAMES][SAVING_VERTICES];
    assert_ok(make_ball(serial, 0.4, device, &ball, &radial));
    assert_ok(make_sheet(serial, 8, 1, v3(0, 0, 0.45), &sheet));
    const cloth_options options = {.gravity = {0, 0, -9}, .thickness = 0.02, .device = device};
    assert_ok(create_cloth(serial, sheet, &options, &c));
    assert_ok(add_body(c, ball));
    assert_ok(abut_cloth_add_radial(c, radial));
    assert_ok(attach_one(c, 0, 0, 40, 0)); /* follows the body */
    for (int frame = 0; frame < 2 * FRAMES - SAVED; frame++) {
        const int at = frame < FRAMES ? frame : frame - FRAMES + SAVED;
        abut_cloth_report report = abut_cloth_report_default();
        if (frame == SAVED)
            state = save_cloth(c, &bytes);
        if (frame == FRAMES) { /* the fields move from where they were, too */
            assert_ok(abut_cloth_restore(c, state, bytes));
            shift_fields(radial, ball, SAVED - 1, shifted);
        }
        shift_fields(radial, ball, at, shifted);
        if (at != SAVED) /* otherwise the targets are those of the state */
            assert_ok(abut_cloth_set_body_positions(c, 0, abut_array_host(shifted)));
        assert_ok(abut_cloth_step(c, 0.02, &report));
        hits += report.impacts;
        const vec *now = positions_of(c);
        if (frame < FRAMES)
            memcpy(ends[at], now, c->all_vertices * sizeof *now);
        else
            assert_memory_equal(ends[at], now, c->all_vertices * sizeof *now);
    }
    assert_true(hits > 20);
    free(state);
    abut_cloth_destroy(c);
    abut_radial_destroy(radial);
    abut_mesh_destroy(ball);
    abut_mesh_destroy(sheet);
}

#endif
