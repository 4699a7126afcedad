/* Attached vertices of a cloth: pins, springs, and points of a solid; and cloth that such a
 * solid crushes. */
#include "fixture.h"

static double apart(vec a, vec b) {
    return v3_length(v3_sub(a, b));
}

/* ---- places that the caller gives ---- */

TEST(pins_are_where_they_are_told) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 6, 1, pose_at(0, 0, 0));
    const cloth_options options = {.bend = 1e-4, .gravity = {0, 0, -10}, .damping = 1};
    abut_cloth *c = make_cloth(sheet, NULL, &options);
    const abut_cloth_attachment holds[2] = {{.vertex = 0, .body = ABUT_NONE},
                                            {.vertex = 6, .body = ABUT_NONE}};
    assert_ok(abut_cloth_attach(c, 0, holds, 2));
    const uint32_t held[2] = {0, 6};
    vec first[2] = {positions_of(c)[0], positions_of(c)[6]};
    double path = 0;
    for (int i = 1; i <= 60; i++) {
        abut_cloth_report report;
        vec to[2], before = positions_of(c)[0];
        for (int k = 0; k < 2; k++)
            to[k] = v3_add(first[k], v3(0.3 * sin(0.1 * i), 0.01 * i, 0.2 * sin(0.05 * i)));
        assert_ok(abut_cloth_set_targets(c, 0, held, abut_array_host(to), 2));
        assert_ok(try_step(c, 1.0 / 60, NULL, &report));
        for (int k = 0; k < 2; k++) {
            vec now = positions_of(c)[holds[k].vertex], want = cloth_round(to[k]);
            assert_memory_equal(&now, &want, sizeof now);
        }
        path += apart(before, positions_of(c)[0]);
        /* the air feels how fast they go: that of the last substep is that of the step */
        vec speed = v3_scale(v3_sub(to[0], before), 60);
        assert_true(apart(speed, c->velocity[0]) < 1e-4 * (1 + v3_length(speed)));
    }
    assert_true(path > 0.5);
    /* targets that are not set stay */
    abut_cloth_report report;
    vec last = positions_of(c)[6];
    assert_ok(try_step(c, 1.0 / 60, NULL, &report));
    assert_memory_equal(&last, &positions_of(c)[6], sizeof last);
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
}

/* One triangle on three springs hangs as low as Hooke says; pinned ones do not give. */
TEST(soft_holds_are_springs) {
    const vec corners[3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    abut_mesh *mesh = test_mesh(serial, corners, 3, NULL, 0);
    const cloth_options options = {.gravity = {0, 0, -10},
                                   .density = 0.6,
                                   .damping = 4,
                                   .substeps = 40};
    abut_cloth *c = make_cloth(mesh, NULL, &options);
    const double stiffness = 20, mass = 0.6 * 0.5 / 3;
    abut_cloth_attachment holds[3];
    for (uint32_t i = 0; i < 3; i++)
        holds[i] = (abut_cloth_attachment){.vertex = i, .body = ABUT_NONE, .stiffness = stiffness};
    assert_ok(abut_cloth_attach(c, 0, holds, 3));
    for (int i = 0; i < 400; i++) {
        step(c, 1.0 / 60, NULL);
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_true(fabs(positions_of(c)[i].z + mass * 10 / stiffness) < 1e-4);
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* ---- places of the solid ---- */

static vec turned(vec p, double angle) {
    return v3(p.x * cos(angle) - p.y * sin(angle), p.x * sin(angle) + p.y * cos(angle),
              p.z + 0.2 * angle);
}

/* A ball turns and rises, and takes along what is bound to it: as a rigid motion would. */
TEST(bound_vertices_go_with_the_solid) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 8, 1, pose_at(0, 0, 0.62));
    abut_mesh *ball = make_shape_at(ABUT_SHAPE_ICOSPHERE, 6, 0.6, pose_at(0, 0, 0));
    for (int soft = 0; soft < 2; soft++) {
        const cloth_options options = {.bend = 1e-4,
                                       .gravity = {0, 0, -3},
                                       .thickness = 0.01,
                                       .damping = 3};
        abut_cloth *c = make_cloth(sheet, ball, &options);
        uint32_t vertices[5] = {40, 39, 41, 31, 49}, solid = abut_mesh_vertex_count(ball);
        abut_cloth_attachment holds[5];
        assert_ok(abut_cloth_bind(c, 0, 0, vertices, 5, soft ? 2000 : 0, holds));
        assert_ok(abut_cloth_attach(c, 0, holds, 5));
        vec *start = malloc(c->all_vertices * sizeof *start), *to = malloc(solid * sizeof *to);
        assert_non_null(start);
        assert_non_null(to);
        memcpy(start, c->position, c->all_vertices * sizeof *start);
        for (int i = 1; i <= 60; i++) {
            abut_cloth_report report;
            for (uint32_t k = 0; k < solid; k++)
                to[k] = cloth_round(turned(start[c->vertices + k], 0.02 * i));
            assert_ok(try_step(c, 1.0 / 60, to, &report));
            assert_true(report.fraction == 1);
            assert_true(is_free(c));
            for (int k = 0; k < 5; k++) {
                double off =
                    apart(positions_of(c)[vertices[k]], turned(start[vertices[k]], 0.02 * i));
                assert_true(off < (soft ? 0.02 : 2e-6));
            }
        }
        free(start);
        free(to);
        abut_cloth_destroy(c);
    }
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(ball);
}

/* A place beside a thin triangle, and one without an area. */
TEST(binding_to_slivers) {
    const vec thin[6] = {{0, 0, 0}, {1, 0, 0}, {0.5, 1e-9, 0}, {0, 0, 5}, {0, 0, 5}, {0, 0, 5}};
    abut_mesh *solid = test_mesh(serial, thin, 6, NULL, 0);
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 2, 1, pose_at(0.4, 0.1, 0.6));
    const cloth_options options = {.stretch = 100};
    abut_cloth *c = make_cloth(sheet, solid, &options);
    abut_cloth_attachment holds[2];
    const uint32_t vertices[2] = {4, 8};
    assert_ok(abut_cloth_bind(c, 0, 0, vertices, 2, 0, holds));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++)
            assert_true(fabs(holds[k].weights[i]) <= 4);
    assert_ok(abut_cloth_attach(c, 0, holds, 2));
    step(c, 0.01, NULL);
    assert_true(is_free(c));
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(solid);
}

/* ---- crushed ---- */

/* Two boxes as one solid. */
static abut_mesh *make_jaws(void) {
    abut_mesh *one = make_shape_at(ABUT_SHAPE_BOX, 3, 0.5, pose_at(0, 0, 0));
    uint32_t count = abut_mesh_vertex_count(one), triangles = abut_mesh_triangle_count(one);
    vec *p = malloc(2 * count * sizeof *p);
    uint32_t *t = malloc(6 * triangles * sizeof *t);
    assert_non_null(p);
    assert_non_null(t);
    for (uint32_t i = 0; i < 2 * count; i++)
        p[i] =
            v3_add(v3_add(abut_mesh_local_origin(one), abut_mesh_local_positions(one)[i % count]),
                   v3(0.02, 0.01, i < count ? 0.5 : -0.5));
    for (uint32_t i = 0; i < 6 * triangles; i++)
        t[i] = abut_mesh_indices(one)[i % (3 * triangles)] + (i < 3 * triangles ? 0 : count);
    abut_mesh *both = test_mesh(serial, p, 2 * count, t, 2 * triangles);
    free(p);
    free(t);
    abut_mesh_destroy(one);
    return both;
}

/* 5 cm and about 3 degrees per frame. */
static vec run_and_roll(vec p, double frame) {
    const double c = cos(0.05 * frame), s = sin(0.05 * frame);
    return v3(p.x + 0.05 * frame, c * p.y - s * p.z, s * p.y + c * p.z);
}

/* The height of the plane of a triangle at p, or NaN if the vertical line through p misses it. */
static double height_at(const vec *x, const uint32_t *corner, vec p) {
    const vec a = x[corner[0]], b = x[corner[1]], c = x[corner[2]];
    const double area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x),
                 s = ((p.x - a.x) * (c.y - a.y) - (p.y - a.y) * (c.x - a.x)) / area,
                 t = ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x)) / area;
    return s > 0 && t > 0 && s + t < 1 ? a.z + s * (b.z - a.z) + t * (c.z - a.z) : (double)NAN;
}

/* Nothing has tunnelled: the upper box is still above the sheet, the lower one below. */
static void check_sides(abut_cloth *c, const abut_mesh *jaws) {
    const uint32_t triangles = abut_mesh_triangle_count(jaws);
    const vec *x = positions_of(c) + c->vertices;
    for (uint32_t v = 0; v < c->vertices; v++)
        for (uint32_t t = 0; t < triangles; t++) {
            const vec p = positions_of(c)[v];
            const double z = height_at(x, abut_mesh_indices(jaws) + 3 * (size_t)t, p);
            if (!isnan(z))
                assert_true(t < triangles / 2 ? z > p.z : z < p.z);
        }
}

/* The boxes close on a sheet, pass into each other, and part again. Without yielding everything
 * stops before it is crushed; with it the faces that touch the sheet lag behind, and come back. The
 * third time the boxes also run 3 m and roll over: the places that lag run and roll along. */
TEST(crushed_cloth_ends_in_small_steps_or_dents) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 7, 1, pose_at(0, 0, 0)), *jaws = make_jaws();
    uint32_t solid = abut_mesh_vertex_count(jaws);
    vec *to = malloc(solid * sizeof *to);
    assert_non_null(to);
    for (int turn = 0; turn < 3; turn++) {
        const bool yields = turn > 0;
        const cloth_options options = {
            .bend = 1e-4, .damping = 1, .friction = 0.3, .substeps = 4, .body_may_lag = yields};
        abut_cloth *c = make_cloth(sheet, jaws, &options);
        double time = 0, deepest = 0, least = 1;
        uint32_t late = 0;
        for (int i = 0; i < 60; i++) {
            double closed = 0.45 * sin(3.14159 * fmin(time + 1, 50) / 50); /* 0.2 = touching */
            abut_cloth_report report;
            for (uint32_t k = 0; k < solid; k++) {
                vec p = v3_add(abut_mesh_local_origin(jaws), abut_mesh_local_positions(jaws)[k]);
                p = v3_along(p, k < solid / 2 ? -closed : closed, v3(0, 0, 1));
                to[k] = cloth_round(turn == 2 ? run_and_roll(p, time + 1) : p);
            }
            assert_ok(try_step(c, 1.0 / 60, to, &report));
            assert_true(is_free(c));
            if (turn < 2) /* the last time they roll */
                check_sides(c, jaws);
            time += report.fraction;
            least = fmin(least, report.fraction);
            deepest = fmax(deepest, report.lag);
            late = report.lagging;
        }
        if (yields) {
            assert_true(least == 1 && late == 0);
            assert_true(deepest > 0.1 && deepest < 0.4);
        } else {
            assert_true(least < 0.1 && time < 40);
        }
        abut_cloth_destroy(c);
    }
    free(to);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(jaws);
}

/* ---- refusals ---- */

/* Attachments come and go between steps: a sheet hangs by a corner, is let go, and is caught. */
TEST(attachments_change) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 4, 1, pose_at(0, 0, 0));
    const cloth_options options = {.gravity = {0, 0, -10}};
    abut_cloth *c = make_cloth(sheet, NULL, &options);
    const uint32_t corners[3] = {0, 4, 24};
    assert_ok(pin(c, corners, 3));
    const vec at[3] = {positions_of(c)[0], positions_of(c)[4], positions_of(c)[24]};
    for (int i = 0; i < 10; i++)
        step(c, 1.0 / 60, NULL);
    for (int k = 0; k < 3; k++)
        assert_memory_equal(&at[k], &positions_of(c)[corners[k]], sizeof *at);
    abut_cloth_info info = abut_cloth_info_default();
    assert_ok(abut_cloth_get_info(c, &info));
    assert_int_equal(3, info.attachment_count);
    const uint32_t released[3] = {0, 7, 0}; /* one without an attachment, one twice */
    assert_ok(abut_cloth_detach(c, 0, released, 3));
    assert_ok(abut_cloth_get_info(c, &info));
    assert_int_equal(2, info.attachment_count);
    for (int i = 0; i < 10; i++)
        step(c, 1.0 / 60, NULL);
    assert_true(positions_of(c)[0].z < -0.05);
    for (int k = 1; k < 3; k++)
        assert_memory_equal(&at[k], &positions_of(c)[corners[k]], sizeof *at);
    const vec now = positions_of(c)[0];
    abut_cloth_attachment again[2];
    assert_ok(abut_cloth_bind(c, 0, ABUT_NONE, corners, 2, 0, again));
    assert_ok(abut_cloth_attach(c, 0, again, 2)); /* the second is attached already */
    for (int i = 0; i < 10; i++)
        step(c, 1.0 / 60, NULL);
    assert_memory_equal(&now, &positions_of(c)[0], sizeof now);
    assert_ok(abut_cloth_get_info(c, &info));
    assert_int_equal(3, info.attachment_count);
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
}

TEST(refusals) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 2, 1, pose_at(0, 0, 0));
    abut_mesh *box = make_shape_at(ABUT_SHAPE_BOX, 1, 1, pose_at(0, 0, 2));
    const cloth_options options = {.stretch = 100};
    abut_cloth *c = make_cloth(sheet, box, &options);
    const abut_array none = abut_array_host((const vec[2]){{(double)NAN, 0, 0}, {0, 0, 0}});
    const uint32_t vertices[2] = {0, 99};
    abut_cloth_attachment holds[2] = {{.vertex = 0, .body = ABUT_NONE},
                                      {.vertex = 1, .body = ABUT_NONE}};
    assert_refused("radial is null", abut_cloth_add_radial(c, NULL));
    assert_refused("sheet is 1; there are 1", abut_cloth_bind(c, 1, 0, vertices, 1, 0, holds));
    assert_refused("body is 1; there are 1", abut_cloth_bind(c, 0, 1, vertices, 1, 0, holds));
    assert_refused("vertices[1] is 99", abut_cloth_bind(c, 0, 0, vertices, 2, 0, holds));
    assert_refused("stiffness is -1", abut_cloth_bind(c, 0, 0, vertices, 1, -1, holds));
    assert_refused("attachments is null", abut_cloth_bind(c, 0, 0, vertices, 1, 0, NULL));
    assert_refused("not attached", abut_cloth_set_targets(c, 0, vertices, none, 1));
    assert_refused("attachments is null", abut_cloth_attach(c, 0, NULL, 2));
    assert_refused("cloth is null", abut_cloth_attach(NULL, 0, holds, 2));
    holds[1].vertex = 99;
    assert_refused("attachments[1].vertex is 99", abut_cloth_attach(c, 0, holds, 2));
    holds[1].vertex = 0;
    assert_refused("second one", abut_cloth_attach(c, 0, holds, 2));
    holds[1].vertex = 1;
    holds[1].body = 1;
    assert_refused("attachments[1].body is 1", abut_cloth_attach(c, 0, holds, 2));
    holds[1].body = 0;
    holds[1].triangle = 12;
    assert_refused("attachments[1].triangle is 12", abut_cloth_attach(c, 0, holds, 2));
    holds[1].triangle = 11;
    holds[1].weights[2] = (double)INFINITY;
    assert_refused("not finite", abut_cloth_attach(c, 0, holds, 2));
    holds[1].weights[0] = holds[1].weights[1] = 0;
    holds[1].weights[2] = 1.01;
    assert_refused("sum to 1.01", abut_cloth_attach(c, 0, holds, 2));
    holds[1].weights[2] = 1;
    holds[1].stiffness = -1;
    assert_refused("stiffness", abut_cloth_attach(c, 0, holds, 2));
    holds[1].stiffness = 5;
    assert_ok(abut_cloth_attach(c, 0, holds, 2));
    assert_refused("targets[0] is not finite", abut_cloth_set_targets(c, 0, vertices, none, 1));
    const uint32_t bound = 1;
    assert_refused("not attached", abut_cloth_set_targets(c, 0, &bound, none, 1));
    assert_refused("vertices is null", abut_cloth_detach(c, 0, NULL, 1));
    assert_ok(abut_cloth_attach(c, 0, NULL, 0));
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
}

static abut_status run_small(abut_context *context, void *data) {
    const cloth_options options = {.gravity = {0, 0, -1}, .substeps = 2};
    const uint32_t vertices[2] = {0, 3};
    abut_mesh *sheet = NULL, *box = NULL;
    abut_cloth_attachment holds[2];
    abut_cloth *c = NULL;
    abut_cloth_report report;
    vec to[1] = {{0, 0, 0.1}};
    (void)data;
    abut_status status = make_sheet(context, 3, 1, v3(0, 0, 0), &sheet);
    NEXT(create_shape(context, ABUT_SHAPE_BOX, 1, 1, 1, pose_at(0, 0, 2), &box));
    NEXT(create_cloth(context, sheet, &options, &c));
    NEXT(add_body(c, box));
    NEXT(abut_cloth_bind(c, 0, 0, vertices, 2, 10, holds));
    holds[0].body = ABUT_NONE;
    NEXT(abut_cloth_attach(c, 0, holds, 2));
    NEXT(abut_cloth_set_targets(c, 0, vertices, abut_array_host(to), 1));
    NEXT(try_step(c, 1.0 / 60, NULL, &report));
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(run_small, NULL) > 50);
}

int main(void) {
    return run_serial();
}
