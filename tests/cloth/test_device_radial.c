/* Cloth against radial fields on a device has exactly the positions of the CPU, and they stay on
 * the device. */
#include "device/open.h"

#include "fixture.h"

static abut_device *device;

enum { BALL_ROOM = 200, HOLDS = 3 };

typedef struct fallen {
    abut_mesh *sheet, *ball;
    abut_radial *radial;
    abut_buffer *body; /* null = the ball's vertices come from the host */
    abut_cloth *c;
} fallen;

static abut_status make_fallen(abut_context *context, const cloth_options *options,
                               uint32_t segments, bool buffered, fallen *f) {
    const uint32_t held[HOLDS] = {0, 1, segments};
    abut_cloth_attachment holds[HOLDS];
    abut_status status = make_ball(context, 0.3, options->device, &f->ball, &f->radial);
    NEXT(make_sheet(context, segments, 1, v3(0, 0, 0.33), &f->sheet));
    NEXT(create_cloth(context, f->sheet, options, &f->c));
    NEXT(add_body(f->c, f->ball));
    NEXT(abut_cloth_add_radial(f->c, f->radial));
    NEXT(abut_cloth_bind(f->c, 0, 0, held, HOLDS, 20, holds));
    holds[0].stiffness = 0;
    holds[2].body = ABUT_NONE;
    NEXT(abut_cloth_attach(f->c, 0, holds, HOLDS));
    if (options->pin_count)
        NEXT(pin(f->c, options->pins, options->pin_count));
    if (!status && buffered)
        status = abut_buffer_create(options->device, BALL_ROOM * sizeof(vec), &f->body);
    return status;
}

static void destroy_fallen(fallen *f) {
    abut_cloth_destroy(f->c);
    abut_radial_destroy(f->radial);
    abut_buffer_destroy(f->body);
    abut_mesh_destroy(f->sheet);
    abut_mesh_destroy(f->ball);
}

static abut_status move_ball(fallen *f, int frame, vec *to) {
    const abut_character_matrix bone = ball_at(f->ball, v3(0.01 * frame, 0, 0.015 * frame), to);
    abut_array body = f->body ? abut_array_buffer(f->body) : abut_array_host(to);
    assert_true(abut_mesh_vertex_count(f->ball) <= BALL_ROOM);
    abut_status status = ABUT_OK;
    if (f->body)
        status = abut_buffer_write(f->body, 0, to, abut_mesh_vertex_count(f->ball) * sizeof(vec));
    if (status)
        return status;
    return abut_radial_set_positions(f->radial, &bone, body);
}

static abut_status step_on(fallen *f, int frame, abut_cloth_report *report) {
    vec to[BALL_ROOM];
    abut_status status = move_ball(f, frame, to);
    abut_array body = f->body ? abut_array_buffer(f->body) : abut_array_host(to);
    if (status)
        return status;
    if (frame != 3)
        status = abut_cloth_set_body_positions(f->c, 0, body);
    *report = abut_cloth_report_default();
    NEXT(abut_cloth_step(f->c, 1.0 / 60, report));
    return status;
}

/* With and without self-collision, pressure, wind; the body on the host or in a buffer. Several
 * patches, and steps without a download of positions. */
TEST(steps_are_those_of_the_cpu) {
    for (int kind = 0; kind < 3; kind++) {
        const uint32_t pins[] = {3, 77};
        cloth_options options = {.gravity = {0, 0.1, -9},
                                 .bend = kind ? 1e-4 : 0,
                                 .drag = kind == 1 ? 0.5 : 0,
                                 .wind = {1, 2, 3},
                                 .pressure = kind == 2 ? 3 : 0,
                                 .thickness = kind ? 0.02 : 0,
                                 .friction = 0.3,
                                 .substeps = 3 + (uint32_t)kind,
                                 .ignore_self = kind == 1,
                                 .pins = pins,
                                 .pin_count = 2};
        fallen f[2] = {{0}, {0}};
        uint32_t selves = 0, hits = 0, outside = 0;
        for (int k = 0; k < 2; k++) {
            options.device = k ? device : NULL;
            assert_ok(make_fallen(serial, &options, 16, k && kind, &f[k]));
            for (uint32_t i = 100; i < f[k].c->vertices && kind != 1; i += 7) /* crumpled */
                f[k].c->position[i] = v3_add(f[k].c->position[150], v3(0, 0, 0.001 * i));
        }
        for (int frame = 0; frame < 6; frame++) {
            abut_cloth_report r[2];
            for (int k = 0; k < 2; k++)
                assert_ok(step_on(&f[k], frame, &r[k]));
            assert_int_equal(r[0].contacts, r[1].contacts);
            assert_int_equal(r[0].impacts, r[1].impacts);
            assert_true(r[0].depth == r[1].depth && r[0].gap == r[1].gap);
            selves += r[1].contacts;
            hits += r[1].impacts;
            if (frame % 2 == 0)
                continue;
            uint32_t moved[2];
            double deepest[2];
            for (int k = 0; k < 2; k++) { /* one is put inside */
                assert_non_null(positions_of(f[k].c));
                f[k].c->position[120] = v3(0.01 * frame, 0.02, 0.25 + 0.015 * frame);
                if (f[k].c->backend->changed)
                    f[k].c->backend->changed(f[k].c);
                assert_ok(abut_cloth_push_out(f[k].c, 0.1, &moved[k], &deepest[k]));
            }
            assert_int_equal(moved[0], moved[1]);
            assert_true(deepest[0] == deepest[1]);
            outside += moved[1];
            const size_t bytes = f[0].c->all_vertices * sizeof(vec);
            assert_memory_equal(positions_of(f[0].c), positions_of(f[1].c), bytes);
            assert_memory_equal(f[0].c->aim, f[1].c->aim, bytes);
            assert_memory_equal(f[0].c->velocity, f[1].c->velocity, f[0].c->vertices * sizeof(vec));
        }
        assert_true(hits > (kind == 2 ? 3u : 20u) && outside > 2);
        assert_true(kind == 1 ? selves == 0 : selves > 20);
        for (int k = 0; k < 2; k++)
            destroy_fallen(&f[k]);
    }
}

/* A sheet that is added after the positions of the body were set in a buffer, and removed. The
 * fields themselves are added after a step. */
TEST(changes_are_those_of_the_cpu) {
    fallen f[2] = {{0}, {0}};
    uint32_t extra[2];
    for (int k = 0; k < 2; k++) {
        const cloth_options options = {.gravity = {0, 0, -9},
                                       .substeps = 2,
                                       .device = k ? device : NULL};
        const uint32_t corner = 0;
        abut_cloth_attachment hold;
        assert_ok(make_ball(serial, 0.3, options.device, &f[k].ball, &f[k].radial));
        assert_ok(make_sheet(serial, 6, 1, v3(0, 0, 0.33), &f[k].sheet));
        assert_ok(create_cloth(serial, f[k].sheet, &options, &f[k].c));
        assert_ok(add_body(f[k].c, f[k].ball));
        assert_ok(abut_cloth_step(f[k].c, 1.0 / 60, NULL));
        assert_ok(abut_cloth_add_radial(f[k].c, f[k].radial));
        assert_ok(abut_cloth_bind(f[k].c, 0, 0, &corner, 1, 20, &hold));
        assert_ok(abut_cloth_attach(f[k].c, 0, &hold, 1));
        if (k)
            assert_ok(abut_buffer_create(device, BALL_ROOM * sizeof(vec), &f[k].body));
    }
    for (int frame = 0; frame < 8; frame++) {
        for (int k = 0; k < 2; k++) {
            vec to[BALL_ROOM];
            assert_ok(move_ball(&f[k], frame, to));
            assert_ok(abut_cloth_set_body_positions(f[k].c, 0,
                                                    k ? abut_array_buffer(f[k].body)
                                                      : abut_array_host(to)));
            if (frame == 2 || frame == 6)
                assert_ok(abut_cloth_add_sheet(f[k].c, f[k].sheet, NULL, &extra[k]));
            if (frame == 4)
                assert_ok(abut_cloth_remove_sheet(f[k].c, extra[k]));
            assert_ok(abut_cloth_step(f[k].c, 1.0 / 60, NULL));
        }
        if (frame == 1)
            continue; /* the next change downloads */
        const size_t bytes = f[0].c->all_vertices * sizeof(vec);
        assert_int_equal(f[0].c->all_vertices, f[1].c->all_vertices);
        assert_memory_equal(positions_of(f[0].c), positions_of(f[1].c), bytes);
        assert_memory_equal(f[0].c->velocity, f[1].c->velocity, f[0].c->vertices * sizeof(vec));
    }
    for (int k = 0; k < 2; k++)
        destroy_fallen(&f[k]);
}

TEST(refusals) {
    cloth_options options = {.gravity = {0, 0, -1e30}, .substeps = 2, .device = device};
    fallen f = {0};
    abut_cloth_report report;
    assert_ok(make_fallen(serial, &options, 3, true, &f));
    vec before[16], velocity[16];
    memcpy(before, positions_of(f.c), sizeof before);
    memcpy(velocity, f.c->velocity, sizeof velocity);
    assert_fails(ABUT_ERROR_LIMIT, "flies apart", step_on(&f, 0, &report));
    assert_memory_equal(before, positions_of(f.c), sizeof before);
    assert_memory_equal(velocity, f.c->velocity, sizeof velocity);
    abut_buffer *small = NULL;
    assert_ok(abut_buffer_create(device, 24, &small));
    assert_fails(ABUT_ERROR_BUFFER, "positions",
                 abut_cloth_set_body_positions(f.c, 0, abut_array_buffer(small)));
    abut_buffer_destroy(small);
    destroy_fallen(&f);
    /* fields elsewhere */
    fallen g = {0};
    abut_radial *here = NULL;
    abut_mesh *ball = NULL;
    options.gravity.z = -1;
    assert_ok(make_ball(serial, 0.2, NULL, &ball, &here));
    assert_ok(make_sheet(serial, 3, 1, v3(0, 0, 0.5), &g.sheet));
    assert_ok(create_cloth(serial, g.sheet, &options, &g.c));
    assert_ok(abut_cloth_add_radial(g.c, here));
    assert_refused("from", try_step(g.c, 0.01, NULL, &report));
    abut_mesh_destroy(ball);
    abut_radial_destroy(here);
    destroy_fallen(&g);
}

/* What fails leaves the cloth where it was, and it goes on from there as if nothing had happened.
 */
static abut_status run_small(abut_context *context, void *data) {
    static vec ends[2][16]; /* of the first run, in which nothing fails */
    static bool known[2];
    const cloth_options options = {.gravity = {0, 0, -9},
                                   .bend = 1e-4,
                                   .substeps = 2,
                                   .device = device};
    fallen f = {0};
    abut_cloth_report report;
    (void)data;
    abut_status status = make_fallen(context, &options, 3, true, &f);
    for (int i = 0; i < 2 && !status; i++) {
        status = step_on(&f, i, &report);
        if (status == ABUT_ERROR_DEVICE) {
            abuti_opencl_fail_at(0);
            assert_ok(step_on(&f, i, &report));
        }
        if (status && status != ABUT_ERROR_DEVICE)
            break;
        uint32_t moved;
        double deepest;
        abut_status left = abut_cloth_push_out(f.c, 0.1, &moved, &deepest);
        if (left == ABUT_ERROR_DEVICE) {
            abuti_opencl_fail_at(0);
            assert_ok(abut_cloth_push_out(f.c, 0.1, &moved, &deepest));
        }
        status = left ? left : status;
        if (left && left != ABUT_ERROR_DEVICE)
            break;
        vec at[16];
        if (abut_cloth_get_positions(f.c, 0, abut_array_host(at))) {
            status = ABUT_ERROR_DEVICE;
            abuti_opencl_fail_at(0);
            assert_ok(abut_cloth_get_positions(f.c, 0, abut_array_host(at)));
        }
        if (!known[i])
            memcpy(ends[i], at, sizeof ends[i]);
        known[i] = true;
        assert_memory_equal(ends[i], at, sizeof ends[i]);
    }
    destroy_fallen(&f);
    return status;
}

TEST(failures_leave_it_where_it_was) {
    test_every_device_call(run_small, NULL, 20, 61);
    assert_true(test_every_allocation(run_small, NULL) > 100);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    serial = test_context(NULL, 1);
    device = test_device(serial);
    int failed = test_run(NULL, NULL);
    abut_device_destroy(device);
    abut_context_destroy(serial);
    return failed;
}
