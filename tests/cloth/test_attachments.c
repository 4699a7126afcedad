/* Attached vertices of a cloth: pins, springs, and points of a solid; and cloth that such a
 * solid crushes. */
#include "fixture.h"

static double apart(vec a, vec b) {
    return vec_length(vec_sub(a, b));
}

/* ---- places that the caller gives ---- */

TEST(pins_are_where_they_are_told) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 6, 1, at(0, 0, 0));
    const cloth_options options = {.bend = 1e-4, .gravity = {0, 0, -10}, .damping = 1};
    cloth *c = make_cloth(sheet, &options);
    const cloth_hold holds[2] = {{.vertex = 0, .triangle = ABUT_NONE},
                                 {.vertex = 6, .triangle = ABUT_NONE}};
    assert_ok(cloth_add_holds(c, holds, 2));
    vec first[2] = {cloth_positions(c)[0], cloth_positions(c)[6]};
    double path = 0;
    for (int i = 1; i <= 60; i++) {
        cloth_report report;
        vec to[2], before = cloth_positions(c)[0];
        for (int k = 0; k < 2; k++)
            to[k] = vec_add(first[k], vec_of(0.3 * sin(0.1 * i), 0.01 * i, 0.2 * sin(0.05 * i)));
        assert_ok(cloth_move_holds(c, to));
        assert_ok(cloth_step(c, 1.0 / 60, NULL, &report));
        for (int k = 0; k < 2; k++) {
            vec now = cloth_positions(c)[holds[k].vertex], want = vec_round(to[k]);
            assert_memory_equal(&now, &want, sizeof now);
        }
        path += apart(before, cloth_positions(c)[0]);
        /* the air feels how fast they go: that of the last substep is that of the step */
        vec speed = vec_scale(vec_sub(to[0], before), 60);
        assert_true(apart(speed, c->velocity[0]) < 1e-4 * (1 + vec_length(speed)));
    }
    assert_true(path > 0.5);
    /* targets that are not set stay */
    cloth_report report;
    vec last = cloth_positions(c)[6];
    assert_ok(cloth_step(c, 1.0 / 60, NULL, &report));
    assert_memory_equal(&last, &cloth_positions(c)[6], sizeof last);
    cloth_destroy(c);
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
    cloth *c = make_cloth(mesh, &options);
    const double stiffness = 20, mass = 0.6 * 0.5 / 3;
    cloth_hold holds[3];
    for (uint32_t i = 0; i < 3; i++)
        holds[i] = (cloth_hold){.vertex = i, .triangle = ABUT_NONE, .stiffness = stiffness};
    assert_ok(cloth_add_holds(c, holds, 3));
    for (int i = 0; i < 400; i++) {
        step(c, 1.0 / 60, NULL);
    }
    for (uint32_t i = 0; i < 3; i++)
        assert_true(fabs(cloth_positions(c)[i].z + mass * 10 / stiffness) < 1e-4);
    cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* ---- places of the solid ---- */

static vec turned(vec p, double angle) {
    return vec_of(p.x * cos(angle) - p.y * sin(angle), p.x * sin(angle) + p.y * cos(angle),
                  p.z + 0.2 * angle);
}

/* A ball turns and rises, and takes along what is bound to it: as a rigid motion would. */
TEST(bound_vertices_go_with_the_solid) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 8, 1, at(0, 0, 0.62));
    abut_mesh *ball = make_shape_at(ABUT_SHAPE_ICOSPHERE, 6, 0.6, at(0, 0, 0));
    for (int soft = 0; soft < 2; soft++) {
        const cloth_options options = {.bend = 1e-4,
                                       .gravity = {0, 0, -3},
                                       .thickness = 0.01,
                                       .damping = 3};
        cloth *c = make_cloth(sheet, &options);
        assert_ok(cloth_add_solid(c, ball));
        uint32_t vertices[5] = {40, 39, 41, 31, 49}, solid = abut_mesh_vertex_count(ball);
        cloth_hold holds[5];
        assert_ok(cloth_bind(c, vertices, 5, soft ? 2000 : 0, holds));
        assert_ok(cloth_add_holds(c, holds, 5));
        vec *start = malloc(c->all_vertices * sizeof *start), *to = malloc(solid * sizeof *to);
        assert_non_null(start);
        assert_non_null(to);
        memcpy(start, c->position, c->all_vertices * sizeof *start);
        for (int i = 1; i <= 60; i++) {
            cloth_report report;
            for (uint32_t k = 0; k < solid; k++)
                to[k] = vec_round(turned(start[c->vertices + k], 0.02 * i));
            assert_ok(cloth_step(c, 1.0 / 60, to, &report));
            assert_true(report.fraction == 1);
            assert_true(is_free(c));
            for (int k = 0; k < 5; k++) {
                double off =
                    apart(cloth_positions(c)[vertices[k]], turned(start[vertices[k]], 0.02 * i));
                assert_true(off < (soft ? 0.02 : 2e-6));
            }
        }
        free(start);
        free(to);
        cloth_destroy(c);
    }
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(ball);
}

/* A place beside a thin triangle, and one without an area. */
TEST(binding_to_slivers) {
    const vec thin[6] = {{0, 0, 0}, {1, 0, 0}, {0.5, 1e-9, 0}, {0, 0, 5}, {0, 0, 5}, {0, 0, 5}};
    abut_mesh *solid = test_mesh(serial, thin, 6, NULL, 0);
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 2, 1, at(0.4, 0.1, 0.6));
    const cloth_options options = {.stretch = 100};
    cloth *c = make_cloth(sheet, &options);
    assert_ok(cloth_add_solid(c, solid));
    cloth_hold holds[2];
    const uint32_t vertices[2] = {4, 8};
    assert_ok(cloth_bind(c, vertices, 2, 0, holds));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++)
            assert_true(fabs(holds[k].weight[i]) <= 4);
    assert_ok(cloth_add_holds(c, holds, 2));
    step(c, 0.01, NULL);
    assert_true(is_free(c));
    cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(solid);
}

/* ---- crushed ---- */

/* Two boxes as one solid. */
static abut_mesh *make_jaws(void) {
    abut_mesh *one = make_shape_at(ABUT_SHAPE_BOX, 3, 0.5, at(0, 0, 0));
    uint32_t count = abut_mesh_vertex_count(one), triangles = abut_mesh_triangle_count(one);
    vec *p = malloc(2 * count * sizeof *p);
    uint32_t *t = malloc(6 * triangles * sizeof *t);
    assert_non_null(p);
    assert_non_null(t);
    for (uint32_t i = 0; i < 2 * count; i++)
        p[i] =
            vec_add(vec_add(abut_mesh_local_origin(one), abut_mesh_local_positions(one)[i % count]),
                    vec_of(0.02, 0.01, i < count ? 0.5 : -0.5));
    for (uint32_t i = 0; i < 6 * triangles; i++)
        t[i] = abut_mesh_indices(one)[i % (3 * triangles)] + (i < 3 * triangles ? 0 : count);
    abut_mesh *both = test_mesh(serial, p, 2 * count, t, 2 * triangles);
    free(p);
    free(t);
    abut_mesh_destroy(one);
    return both;
}

/* The boxes close on a sheet, pass into each other, and part again. Without yielding everything
 * stops before it is crushed; with it the faces that touch the sheet lag behind, and come back. */
TEST(crushed_cloth_ends_in_small_steps_or_dents) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 7, 1, at(0, 0, 0)), *jaws = make_jaws();
    uint32_t solid = abut_mesh_vertex_count(jaws);
    vec *to = malloc(solid * sizeof *to);
    assert_non_null(to);
    for (int yields = 0; yields < 2; yields++) {
        const cloth_options options = {
            .bend = 1e-4, .damping = 1, .friction = 0.3, .substeps = 4, .solid_yields = yields};
        cloth *c = make_cloth(sheet, &options);
        assert_ok(cloth_add_solid(c, jaws));
        double time = 0, deepest = 0, least = 1;
        uint32_t late = 0;
        for (int i = 0; i < 60; i++) {
            double closed = 0.45 * sin(3.14159 * fmin(time + 1, 50) / 50); /* 0.2 = touching */
            cloth_report report;
            for (uint32_t k = 0; k < solid; k++) {
                vec p = vec_add(abut_mesh_local_origin(jaws), abut_mesh_local_positions(jaws)[k]);
                to[k] = vec_round(vec_along(p, k < solid / 2 ? -closed : closed, vec_of(0, 0, 1)));
            }
            assert_ok(cloth_step(c, 1.0 / 60, to, &report));
            assert_true(is_free(c));
            time += report.fraction;
            least = fmin(least, report.fraction);
            deepest = fmax(deepest, report.latest);
            late = report.solid_late;
        }
        if (yields) {
            assert_true(least == 1 && late == 0);
            assert_true(deepest > 0.1 && deepest < 0.4);
        } else {
            assert_true(least < 0.1 && time < 40);
        }
        cloth_destroy(c);
    }
    free(to);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(jaws);
}

/* ---- refusals ---- */

TEST(refusals) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 2, 1, at(0, 0, 0));
    abut_mesh *box = make_shape_at(ABUT_SHAPE_BOX, 1, 1, at(0, 0, 2));
    const cloth_options options = {.stretch = 100};
    cloth *c = make_cloth(sheet, &options);
    assert_refused("and fields", cloth_add_radial(c, NULL));
    const vec none[2] = {{(double)NAN, 0, 0}, {0, 0, 0}};
    const uint32_t vertices[2] = {0, 99};
    cloth_hold holds[2] = {{.vertex = 0, .triangle = ABUT_NONE},
                           {.vertex = 1, .triangle = ABUT_NONE}};
    assert_refused("with a solid", cloth_bind(c, vertices, 1, 0, holds));
    assert_ok(cloth_add_solid(c, box));
    assert_refused("no such vertex", cloth_bind(c, vertices, 2, 0, holds));
    assert_refused("with holds", cloth_move_holds(c, none));
    assert_refused("and holds", cloth_add_holds(c, NULL, 2));
    holds[0] = (cloth_hold){.vertex = 0, .triangle = ABUT_NONE};
    holds[1].vertex = 99;
    assert_refused("hold 1 is of a vertex", cloth_add_holds(c, holds, 2));
    holds[1].vertex = 0;
    assert_refused("second one", cloth_add_holds(c, holds, 2));
    holds[1].vertex = 1;
    holds[1].triangle = 12;
    assert_refused("does not have", cloth_add_holds(c, holds, 2));
    holds[1].triangle = 11;
    holds[1].weight[2] = (double)INFINITY;
    assert_refused("not finite", cloth_add_holds(c, holds, 2));
    holds[1].weight[2] = 1;
    holds[1].stiffness = -1;
    assert_refused("stiffness", cloth_add_holds(c, holds, 2));
    holds[1].stiffness = 5;
    assert_ok(cloth_add_holds(c, holds, 2));
    assert_refused("without holds", cloth_add_holds(c, holds, 2));
    assert_refused("not finite", cloth_move_holds(c, none));
    cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
}

static abut_status run_small(abut_context *context, void *data) {
    const cloth_options options = {.gravity = {0, 0, -1}, .substeps = 2};
    const uint32_t vertices[2] = {0, 3};
    abut_mesh *sheet = NULL, *box = NULL;
    cloth_hold holds[2];
    cloth *c = NULL;
    cloth_report report;
    vec to[2] = {{0, 0, 1}, {1, 0, 1}};
    (void)data;
    abut_status status = make_sheet(context, 3, 1, vec_of(0, 0, 0), &sheet);
    NEXT(create_shape(context, ABUT_SHAPE_BOX, 1, 1, 1, at(0, 0, 2), &box));
    NEXT(cloth_create(context, sheet, &options, &c));
    NEXT(cloth_add_solid(c, box));
    NEXT(cloth_bind(c, vertices, 2, 10, holds));
    holds[0].triangle = ABUT_NONE;
    NEXT(cloth_add_holds(c, holds, 2));
    NEXT(cloth_move_holds(c, to));
    NEXT(cloth_step(c, 1.0 / 60, NULL, &report));
    cloth_destroy(c);
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
