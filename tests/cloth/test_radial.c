/* Cloth against radial fields: motion, and vertices that leave the solid exactly. */
#include "fixture.h"

static abut_cloth *make_radial_cloth(abut_mesh *mesh, abut_mesh *body, const cloth_options *options,
                                     abut_radial *radial) {
    abut_cloth *c = make_cloth(mesh, body, options);
    assert_ok(abut_cloth_add_radial(c, radial));
    return c;
}

/* Fields of a ball that is far from everything. */
static abut_radial *far_ball(void) {
    abut_mesh *mesh = NULL;
    abut_radial *radial = NULL;
    vec to[200];
    assert_ok(make_ball(serial, 0.2, NULL, &mesh, &radial));
    assert_true(abut_mesh_vertex_count(mesh) <= 200);
    const abut_character_matrix bone = ball_at(mesh, v3(50, 0, 0), to);
    assert_ok(abut_radial_set_positions(radial, &bone, abut_array_host(to)));
    abut_mesh_destroy(mesh);
    return radial;
}

/* ---- motion ---- */

/* A sheet falls on a ball that moves. Its vertices end outside, on any number of threads the same.
 */
TEST_THREADS(sheets_lie_on_balls) {
    vec ends[2][1200];
    for (int k = 0; k < 2; k++) {
        test_memory memory = {.fail_at = 0};
        abut_context *context = test_context(&memory, 1 + (uint32_t)k);
        abut_mesh *sheet = NULL, *ball = NULL;
        abut_radial *radial = NULL;
        abut_cloth *c = NULL;
        const uint32_t corner[1] = {0};
        abut_cloth_attachment hold;
        assert_ok(make_ball(context, 0.4, NULL, &ball, &radial));
        assert_ok(make_sheet(context, 20, 1.2, v3(0, 0, 0.45), &sheet));
        const cloth_options options = {
            .gravity = {0, 0, -9.81}, .bend = 1e-4, .friction = 0.4, .drag = 0.1, .grain = 50};
        assert_ok(create_cloth(context, sheet, &options, &c));
        assert_ok(add_body(c, ball));
        assert_ok(abut_cloth_add_radial(c, radial));
        assert_refused("already", abut_cloth_add_radial(c, radial));
        assert_ok(abut_cloth_bind(c, 0, 0, corner, 1, 20, &hold));
        assert_ok(abut_cloth_attach(c, 0, &hold, 1));
        vec to[200];
        uint32_t hits = 0;
        for (int i = 0; i <= 40; i++) {
            const abut_character_matrix bone = ball_at(ball, v3(0.005 * i, 0, 0), to);
            abut_cloth_report report;
            assert_ok(abut_radial_set_positions(radial, &bone, abut_array_host(to)));
            assert_ok(try_step(c, 1.0 / 60, to, &report));
            assert_true(report.depth < BALL_CELL && report.fraction == 1);
            hits += report.impacts;
        }
        assert_true(hits > 40 * 10);
        assert_true(c->all_vertices <= 1200);
        for (uint32_t i = 0; i < c->vertices; i++) {
            const vec off = v3_sub(positions_of(c)[i], v3(0.2, 0, 0));
            assert_true(v3_length(off) > 0.4 - BALL_CELL);
        }
        memcpy(ends[k], positions_of(c), c->all_vertices * sizeof(vec));

        bool is_free = false;
        assert_ok(abut_cloth_is_free(c, &is_free)); /* may be called in any state */
        const uint32_t bytes = c->all_vertices * (uint32_t)sizeof(vec);
        abut_cloth_destroy(c);
        abut_radial_destroy(radial);
        abut_mesh_destroy(sheet);
        abut_mesh_destroy(ball);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
        if (k)
            assert_memory_equal(ends[0], ends[1], bytes);
    }
}

/* Where fields see nothing vertices leave the solid exactly: all that are not too deep, except for
 * pinned ones. They do not go on inwards. */
TEST(vertices_leave_the_solid) {
    abut_radial *radial = far_ball();
    abut_mesh *sheet = NULL, *ball = NULL;
    abut_radial *unused = NULL;
    assert_ok(make_ball(serial, 0.4, NULL, &ball, &unused));
    assert_ok(make_sheet(serial, 20, 1.2, v3(0, 0, 0.3), &sheet));
    const uint32_t pins[] = {220};
    const cloth_options options = {.thickness = 0.01, .pins = pins, .pin_count = 1};
    uint32_t moved = 0;
    double deepest = 0;
    abut_cloth *c = make_radial_cloth(sheet, NULL, &options, radial);
    assert_refused("and a body", abut_cloth_push_out(c, 0.1, &moved, &deepest));
    abut_cloth_destroy(c);
    c = make_cloth(sheet, ball, &options);
    assert_refused("radial fields", abut_cloth_push_out(c, 0.1, &moved, &deepest));
    assert_ok(abut_cloth_add_radial(c, radial));
    assert_refused("above 0", abut_cloth_push_out(c, 0, &moved, &deepest));
    assert_refused("moved is null", abut_cloth_push_out(c, 1, NULL, &deepest));
    assert_refused("cloth is null", abut_cloth_push_out(NULL, 1, &moved, &deepest));
    uint32_t inside = 0, stay = 0;
    for (uint32_t i = 0; i < c->vertices; i++) {
        c->velocity[i] = v3(1, 0, -1);
        inside += v3_length(c->position[i]) < 0.39 && i != 220;
    }
    vec *before = malloc(c->vertices * sizeof *before);
    assert_non_null(before);
    memcpy(before, c->position, c->vertices * sizeof *before);
    assert_ok(abut_cloth_push_out(c, 0.2, &moved, &deepest));
    assert_true(inside > 20 && moved >= inside && deepest > 0.07 && deepest < 0.1);
    for (uint32_t i = 0; i < c->vertices; i++) {
        const vec at = positions_of(c)[i], way = v3_sub(at, before[i]);
        assert_true(i == 220 || v3_length(at) > 0.38); /* the ball has edges */
        assert_true(v3_length(way) < deepest + 0.011);
        if (v3_length(way) > 0)
            assert_true(v3_dot(c->velocity[i], way) > -1e-12);
        else
            stay++;
    }
    assert_int_equal(c->vertices - moved, stay);
    assert_ok(abut_cloth_push_out(c, 0.2, &moved, &deepest));
    assert_int_equal(0, moved);
    free(before);
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(ball);
    abut_radial_destroy(radial);
    abut_radial_destroy(unused);
}

/* ---- bad input ---- */

TEST(refusals) {
    abut_radial *radial = far_ball();
    abut_mesh *sheet = NULL;
    assert_ok(make_sheet(serial, 4, 1, v3(0, 0, 0), &sheet));
    const cloth_options options = {.gravity = {0, 0, -1e30}};
    abut_cloth_report report;
    abut_cloth *c = make_radial_cloth(sheet, NULL, &options, radial);
    vec before[25], velocity[25];
    memcpy(before, positions_of(c), sizeof before);
    memcpy(velocity, c->velocity, sizeof velocity);
    assert_fails(ABUT_ERROR_LIMIT, "flies apart", try_step(c, 1, NULL, &report));
    assert_memory_equal(before, positions_of(c), sizeof before);
    assert_memory_equal(velocity, c->velocity, sizeof velocity);
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE, abuti_cloth_guarantee(c).level);
    abut_cloth_destroy(c);
    abut_mesh *ball = NULL;
    abut_radial *unused = NULL;
    assert_ok(make_ball(serial, 0.2, NULL, &ball, &unused));
    c = make_cloth(sheet, ball, &options);
    assert_refused("on a device",
                   abut_cloth_set_body_positions(c, 0,
                                                 abut_array_buffer((abut_buffer *)(void *)before)));
    assert_refused("on a device",
                   abut_cloth_get_positions(c, 0,
                                            abut_array_buffer((abut_buffer *)(void *)before)));
    abut_radial_destroy(unused);
    abut_mesh_destroy(ball);
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_radial_destroy(radial);
}

static abut_status run_small(abut_context *context, void *data) {
    const cloth_options options = {.gravity = {0, 0, -1}, .bend = 1e-4, .substeps = 2};
    const abut_cloth_attachment pulled = {.vertex = 5, .body = ABUT_NONE, .stiffness = 1};
    abut_mesh *sheet = NULL, *ball = NULL;
    abut_radial *radial = NULL;
    abut_cloth *c = NULL;
    abut_cloth_report report;
    vec to[200];
    (void)data;
    abut_status status = make_sheet(context, 3, 1, v3(0, 0, 0.3), &sheet);
    NEXT(make_ball(context, 0.2, NULL, &ball, &radial));
    NEXT(create_cloth(context, sheet, &options, &c));
    NEXT(add_body(c, ball));
    NEXT(abut_cloth_add_radial(c, radial));
    NEXT(abut_cloth_attach(c, 0, &pulled, 1));
    for (int i = 0; i < 2 && !status; i++) {
        const abut_character_matrix bone = ball_at(ball, v3(0, 0, 0.05 * i), to);
        status = abut_radial_set_positions(radial, &bone, abut_array_host(to));
        vec before[16], velocity[16];
        memcpy(before, positions_of(c), sizeof before);
        memcpy(velocity, c->velocity, sizeof velocity);
        uint32_t moved;
        double deepest;
        NEXT(abut_cloth_push_out(c, 0.1, &moved, &deepest));
        NEXT(try_step(c, 1.0 / 60, to, &report));
        if (status) {
            assert_memory_equal(before, positions_of(c), sizeof before);
            assert_memory_equal(velocity, c->velocity, sizeof velocity);
        }
    }
    abut_cloth_destroy(c);
    abut_radial_destroy(radial);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(ball);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(run_small, NULL) > 50);
}

int main(void) {
    return run_serial();
}
