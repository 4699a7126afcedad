/* Sheets and bodies that are added and removed between steps: all others keep their state, bit for
 * bit. */
#include "changes.h"

static uint32_t add_sheet(abut_cloth *c, abut_mesh *mesh) {
    uint32_t index = ABUT_NONE;
    assert_ok(abut_cloth_add_sheet(c, mesh, NULL, &index));
    return index;
}

static uint32_t add_body_at(abut_cloth *c, abut_mesh *mesh, double x) {
    abut_cloth_body_options body = abut_cloth_body_options_default();
    uint32_t index = ABUT_NONE;
    body.pose = pose_at(x, 0, 0);
    assert_ok(abut_cloth_add_body(c, mesh, &body, &index));
    return index;
}

static abut_cloth_info info_of(abut_cloth *c) {
    abut_cloth_info info = abut_cloth_info_default();
    assert_ok(abut_cloth_get_info(c, &info));
    return info;
}

static void assert_equal_state(abut_cloth *a, abut_cloth *b) {
    const vec *of_a = positions_of(a), *of_b = positions_of(b);
    assert_int_equal(a->all_vertices, b->all_vertices);
    assert_memory_equal(of_a, of_b, a->all_vertices * sizeof(vec));
    assert_memory_equal(a->aim, b->aim, a->all_vertices * sizeof(vec));
    assert_memory_equal(a->velocity, b->velocity, a->vertices * sizeof(vec));
}

/* ---- indices ---- */

TEST(indices_stay_and_are_reused) {
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 2), *box = make_shape(ABUT_SHAPE_BOX, 1);
    abut_cloth *c = NULL;
    vec at[9];
    bool free_of;
    const uint32_t vertex = 0;
    abut_cloth_attachment a = {.body = 0, .weights = {1, 0, 0}};
    abut_cloth_material m = abut_cloth_material_default();
    assert_ok(abut_cloth_create(serial, NULL, &c));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(i, add_sheet(c, sheet));
        assert_int_equal(i, add_body_at(c, box, 3 + 2 * i));
    }
    assert_ok(abut_cloth_remove_sheet(c, 0));
    assert_ok(abut_cloth_remove_sheet(c, 2));
    assert_ok(abut_cloth_remove_body(c, 0));
    assert_int_equal(1, info_of(c).sheet_count);
    assert_int_equal(2, info_of(c).body_count);
    assert_int_equal(9, info_of(c).vertex_count);
    assert_int_equal(24, info_of(c).body_triangle_count);
    /* functions refuse removed ones */
    assert_refused("sheet 0 was removed", abut_cloth_remove_sheet(c, 0));
    assert_refused("body 0 was removed", abut_cloth_remove_body(c, 0));
    assert_refused("body is 3; there are 3", abut_cloth_remove_body(c, 3));
    assert_refused("cloth is null", abut_cloth_remove_sheet(NULL, 0));
    assert_refused("sheet 0 was removed", abut_cloth_get_positions(c, 0, abut_array_host(at)));
    assert_refused("sheet 0 was removed", abut_cloth_get_material(c, 0, &m));
    assert_refused("body 0 was removed", abut_cloth_set_body_pose(c, 0, abut_pose_identity()));
    assert_refused("sheet 2 was removed", abut_cloth_detach(c, 2, &vertex, 1));
    assert_refused("body 0 was removed", abut_cloth_bind(c, 1, 0, &vertex, 1, 0, &a));
    assert_refused("attachments[0].body is 0, which does not exist",
                   abut_cloth_attach(c, 1, &a, 1));
    assert_ok(abut_cloth_step(c, 0.01, NULL));
    assert_ok(abut_cloth_get_positions(c, 1, abut_array_host(at)));
    assert_int_equal(0, add_body_at(c, box, -3));
    assert_int_equal(2, add_sheet(c, sheet)); /* freed last; where sheet 1 is */
    assert_refused("vertex 0 of sheet 1 and vertex 0 of sheet 2", abut_cloth_step(c, 0.01, NULL));
    assert_ok(abut_cloth_remove_sheet(c, 2));
    assert_ok(abut_cloth_step(c, 0.01, NULL));
    assert_ok(abut_cloth_is_free(c, &free_of));
    assert_true(free_of);
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
}

/* An addition that intersects makes steps fail and changes nothing; its removal makes them work. */
TEST(crossed_additions_are_refused_until_removed) {
    const abut_pose upright = {{1, 0, 0, 1}, {0, 0, 0.1}};
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 4), *box = make_shape(ABUT_SHAPE_BOX, 1),
              *crossed = make_shape_at(ABUT_SHAPE_SHEET, 4, 0.4, upright);
    const cloth_options options = {.gravity = {0, 0, -1}};
    abut_cloth *c[2];
    for (int k = 0; k < 2; k++) {
        c[k] = make_cloth(sheet, NULL, &options);
        assert_ok(abut_cloth_step(c[k], 0.02, NULL));
    }
    for (int k = 0; k < 4; k++) {
        const bool is_body = k & 1;
        const uint32_t index = is_body ? add_body_at(c[1], box, 0) : add_sheet(c[1], crossed);
        assert_refused(is_body ? "of body 0" : "of sheet 1", abut_cloth_step(c[1], 0.02, NULL));
        assert_false(is_free(c[1]));
        assert_ok(is_body ? abut_cloth_remove_body(c[1], index)
                          : abut_cloth_remove_sheet(c[1], index));
        for (int i = 0; i < 2; i++)
            assert_ok(abut_cloth_step(c[i], 0.02, NULL));
        assert_equal_state(c[0], c[1]);
    }
    abut_cloth_destroy(c[0]);
    abut_cloth_destroy(c[1]);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
    abut_mesh_destroy(crossed);
}

/* ---- state ---- */

static void pin_all(abut_cloth *c, uint32_t sheet, const abut_mesh *mesh) {
    for (uint32_t v = 0; v < abut_mesh_vertex_count(mesh); v++)
        assert_ok(attach_changing(c, sheet, ABUT_NONE, v, 0));
}

/* A sheet and a body far away that come, stay where they are, and go do not change the bits of the
 * others: of a deformed closed sheet under pressure, attachments, targets, and of bodies that lag.
 * A third sheet keeps the bounding box of all, on which tolerances depend. */
TEST(others_keep_their_state) {
    changing s[2] = {{0}};
    abut_cloth_report reports[2];
    uint32_t late = 0;
    abut_mesh *last = make_shape_at(ABUT_SHAPE_ICOSPHERE, 3, 0.4, pose_at(4, 0, 0));
    abut_mesh *visitor = make_shape_at(ABUT_SHAPE_ICOSPHERE, 3, 0.4, pose_at(2, 0, 0)),
              *block = make_shape_at(ABUT_SHAPE_BOX, 1, 0.4, pose_at(3, 0, 0));
    for (int k = 0; k < 2; k++) {
        assert_ok(make_changing(serial, NULL, &s[k]));
        assert_ok(add_changing(&s[k], s[k].ball, 0));
        assert_ok(add_box(&s[k], 0, 0.3, 0));  /* below the ball */
        assert_ok(add_box(&s[k], 0, 1.45, 1)); /* above it */
        assert_ok(add_changing(&s[k], last, 1));
        pin_all(s[k].c, 1, last);
        assert_ok(attach_changing(s[k].c, 0, 0, 7, 40));
        assert_ok(attach_changing(s[k].c, 0, ABUT_NONE, 11, 0));
        assert_ok(attach_changing(s[k].c, 0, ABUT_NONE, 12, 30));
    }
    for (int frame = 0; frame < 24; frame++) {
        const uint32_t held[2] = {12, 11};
        const vec to = {0.01 * frame, 0.4, 0.5};
        for (int k = 0; k < 2; k++) {
            reports[k] = abut_cloth_report_default();
            assert_ok(abut_cloth_set_body_pose(s[k].c, 1, pose_at(0, 0, 1.45 - 0.04 * frame)));
            if (frame == 5)
                assert_ok(abut_cloth_set_targets(s[k].c, 0, held, abut_array_host(&to), 1));
            if (k && frame == 2) {
                assert_ok(add_changing(&s[k], visitor, 2));
                pin_all(s[k].c, 2, visitor);
            }
            if (k && frame == 4)
                assert_int_equal(2, add_body_at(s[k].c, block, 0));
            if (k && frame == 5)
                assert_ok(abut_cloth_remove_body(s[k].c, 2));
            if (k && frame == 8)
                assert_ok(abut_cloth_remove_sheet(s[k].c, 2));
            if (k && frame >= 12 && frame % 3 == 0) /* nothing is built between */
                assert_int_equal(2, add_body_at(s[k].c, block, 0));
            if (k && frame >= 12 && frame % 3 == 1)
                assert_ok(abut_cloth_remove_body(s[k].c, 2));
            assert_ok(abut_cloth_step(s[k].c, 0.02, &reports[k]));
        }
        const size_t sheet = s[0].c->vertices, bodies = s[0].c->all_vertices - sheet;
        assert_memory_equal(positions_of(s[0].c), positions_of(s[1].c), sheet * sizeof(vec));
        assert_memory_equal(s[0].c->velocity, s[1].c->velocity, sheet * sizeof(vec));
        assert_memory_equal(s[0].c->position + sheet, s[1].c->position + s[1].c->vertices,
                            bodies * sizeof(vec));
        assert_memory_equal(s[0].c->target, s[1].c->target, bodies * sizeof(vec));
        assert_memory_equal(s[0].c->goal, s[1].c->goal, bodies * sizeof(vec));
        assert_int_equal(reports[0].lagging, reports[1].lagging);
        assert_true((info_of(s[1].c).attachment_count == info_of(s[0].c).attachment_count) ==
                    (frame < 2 || frame >= 8));
        late += reports[1].lagging;
        assert_true(is_free(s[1].c));
    }
    assert_true(late > 0);
    destroy_changing(&s[0]);
    destroy_changing(&s[1]);
    abut_mesh_destroy(last);
    abut_mesh_destroy(visitor);
    abut_mesh_destroy(block);
}

/* A body that is removed and added again where it was gives the same steps. */
TEST(equal_recreation_changes_nothing) {
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 6),
              *box = make_shape_at(ABUT_SHAPE_BOX, 2, 0.3, pose_at(0, 0, -0.25));
    const cloth_options options = {.gravity = {0, 0, -9}, .bend = 1e-4, .friction = 0.3};
    abut_cloth *c[2];
    for (int k = 0; k < 2; k++)
        c[k] = make_cloth(sheet, box, &options);
    for (int i = 0; i < 20; i++) {
        if (i % 4 == 3) {
            assert_ok(abut_cloth_remove_body(c[1], 0));
            assert_int_equal(0, add_body_at(c[1], box, 0));
        }
        const abut_cloth_report a = step(c[0], 0.02, NULL), b = step(c[1], 0.02, NULL);
        assert_equal_state(c[0], c[1]);
        assert_int_equal(a.contacts, b.contacts);
        assert_int_equal(a.impacts, b.impacts);
        assert_true(a.gap == b.gap && (i < 10 || a.contacts));
    }
    abut_cloth_destroy(c[0]);
    abut_cloth_destroy(c[1]);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
}

/* Attachments to a removed body, and those of a removed sheet, are removed; the others hold on to
 * the same vertices and triangles. */
TEST(attachments_follow) {
    changing s = {0};
    abut_cloth_report report;
    assert_ok(make_changing(serial, NULL, &s));
    const uint32_t counts[CHANGING_FRAMES] = {0, 0, 0, 3, 3, 4, 4, 4, 2, 0, 0, 0, 0, 0, 0, 0};
    for (int frame = 0; frame < CHANGING_FRAMES; frame++) {
        assert_ok(step_changing(&s, frame, &report));
        assert_int_equal(counts[frame], info_of(s.c).attachment_count);
        assert_true(report.fraction == 1 && is_free(s.c));
        for (uint32_t h = 0; h < s.c->holds.count; h++)
            assert_int_equal(h, s.c->held_of[ABUTI_AT(&s.c->holds, cloth_hold, h).vertex]);
        if (frame >= 4 && frame < 9) /* pinned at the target that was set once */
            assert_true(positions_of(s.c)[cloth_first_of(s.c, SHEETS, 0)].z == (double)0.04f);
        for (uint32_t v = 0; frame >= 8 && v < s.c->vertices; v++)
            assert_true((s.c->inverse_mass[v] > 0) == (v != 0 || frame != 8));
    }
    destroy_changing(&s);
}

TEST_THREADS(threads_change_nothing) {
    test_memory memory[2] = {{.fail_at = 0}, {.fail_at = 0}};
    abut_context *contexts[2];
    changing s[2] = {{0}};
    for (uint32_t k = 0; k < 2; k++) {
        contexts[k] = test_context(&memory[k], 1 + k);
        assert_ok(make_changing(contexts[k], NULL, &s[k]));
    }
    for (int frame = 0; frame < CHANGING_FRAMES; frame++) {
        abut_cloth_report report;
        for (int k = 0; k < 2; k++)
            assert_ok(step_changing(&s[k], frame, &report));
        assert_equal_state(s[0].c, s[1].c);
    }
    for (int k = 0; k < 2; k++) {
        destroy_changing(&s[k]);
        abut_context_destroy(contexts[k]);
        assert_int_equal(0, memory[k].live_count);
    }
}

/* ---- without sheets ---- */

TEST(bodies_move_without_sheets) {
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 3), *box = make_shape(ABUT_SHAPE_BOX, 1);
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth *c = NULL;
    vec now[8];
    options.gravity.z = -1;
    options.body_may_lag = true;
    assert_ok(abut_cloth_create(serial, &options, &c));
    assert_ok(abut_cloth_step(c, 0.01, NULL)); /* of nothing */
    assert_true(is_free(c) && energy_of(c).kinetic == 0);
    assert_int_equal(0, add_body_at(c, box, 0));
    for (int i = 0; i < 3; i++) {
        abut_cloth_report report = abut_cloth_report_default();
        const abut_pose to = {{0.1 * i, 0, 0, 1}, {0, 0, -1 - 0.1 * i}};
        assert_ok(abut_cloth_set_body_pose(c, 0, to));
        assert_ok(abut_cloth_step(c, 0.01, &report));
        assert_true(report.fraction == 1 && report.lagging == 0 && is_free(c));
        assert_int_equal(ABUT_RELIABILITY_GUARANTEED, report.guarantee.level);
        assert_ok(abut_cloth_get_body_positions(c, 0, abut_array_host(now)));
        for (uint32_t v = 0; v < 8; v++)
            assert_true(v3_length(v3_sub(now[v], pose_apply(&to, abuti_mesh_position(box, v)))) <
                        1e-6);
        if (i == 1) { /* a sheet comes and goes */
            assert_int_equal(0, add_sheet(c, sheet));
            assert_ok(abut_cloth_step(c, 0.01, NULL));
            assert_true(info_of(c).vertex_count == 16 && positions_of(c)[5].z < 0);
            assert_ok(abut_cloth_remove_sheet(c, 0));
        }
    }
    assert_refused("seconds is 0", abut_cloth_step(c, 0, NULL));
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
}

/* ---- failures ---- */

/* A step that fails leaves the state as it was, and succeeds when it is repeated. */
static abut_status run_changing(abut_context *context, void *data) {
    static vec ends[CHANGING_FRAMES][160]; /* of a run without failures */
    const bool is_first = data != NULL;
    changing s = {0};
    abut_status status = make_changing(context, NULL, &s);
    for (int frame = 0; frame < (test_brief() ? 9 : CHANGING_FRAMES) && !status; frame++) {
        status = change(&s, frame);
        if (status) { /* some of them, and steps go on */
            assert_ok(abut_cloth_step(s.c, 0.02, NULL));
            break;
        }
        status = abut_cloth_step(s.c, 0.02, NULL);
        if (status)
            assert_ok(abut_cloth_step(s.c, 0.02, NULL));
        const size_t bytes = s.c->all_vertices * sizeof(vec);
        assert_true(bytes <= sizeof ends[frame]);
        if (is_first)
            memcpy(ends[frame], s.c->position, bytes);
        assert_memory_equal(ends[frame], s.c->position, bytes);
    }
    destroy_changing(&s);
    return status;
}

TEST(out_of_memory) {
    assert_ok(run_changing(serial, serial));
    assert_true(test_every_allocation(run_changing, NULL) > 500);
}

int main(void) {
    return run_serial();
}
