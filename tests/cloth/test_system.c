/* Several sheets and several bodies in one cloth: piles, layers over layers, and what each sheet
 * and body has for itself. No step ends with an intersection. */
#include "fixture.h"

typedef struct stack {
    abut_cloth *c;
    abut_mesh *meshes[12];
    uint32_t mesh_count;
} stack;

static uint32_t add_sheet(stack *s, abut_mesh *mesh, const abut_cloth_material *material) {
    uint32_t sheet = ABUT_NONE;
    s->meshes[s->mesh_count++] = mesh;
    assert_ok(abut_cloth_add_sheet(s->c, mesh, material, &sheet));
    return sheet;
}

static uint32_t add_to(stack *s, abut_mesh *mesh, const abut_cloth_body_options *options) {
    uint32_t body = ABUT_NONE;
    s->meshes[s->mesh_count++] = mesh;
    assert_ok(abut_cloth_add_body(s->c, mesh, options, &body));
    return body;
}

static void destroy(stack *s) {
    abut_cloth_destroy(s->c);
    while (s->mesh_count)
        abut_mesh_destroy(s->meshes[--s->mesh_count]);
}

static stack open_stack(abut_context *context, const abut_cloth_options *options) {
    stack s = {0};
    assert_ok(abut_cloth_create(context, options, &s.c));
    return s;
}

static abut_mesh *shape_in(abut_context *context, abut_shape_kind kind, uint32_t segments,
                           double scale, abut_pose pose_to) {
    abut_mesh *mesh = NULL;
    assert_ok(create_shape(context, kind, segments, segments, scale, pose_to, &mesh));
    return mesh;
}

/* The mean of one coordinate of a sheet. */
static double mean_height(abut_cloth *c, uint32_t sheet) {
    const uint32_t count = cloth_item_of(c, SHEETS, sheet)->mesh->vertex_count;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += positions_of(c)[cloth_first_of(c, SHEETS, sheet) + i].z;
    return sum / count;
}

/* ---- a pile ---- */

enum { PILE = 5 };

/* Five sheets of different cloth fall on a box that moves to and fro, and on a ball. */
static stack make_pile(abut_context *context, abut_device *device) {
    abut_cloth_options options = abut_cloth_options_default();
    options.gravity.z = -9.81;
    options.drag = 0.1;
    options.device = device;
    stack s = open_stack(context, &options);
    for (uint32_t i = 0; i < PILE; i++) {
        abut_cloth_material m = abut_cloth_material_default();
        m.bend = 1e-5 * (i + 1);
        m.density = 0.1 + 0.05 * i;
        m.friction = 0.3 + 0.1 * i;
        m.damping = 0.5;
        m.thickness = 0.01 + 0.002 * i;
        const abut_pose to = {{0, 0, 0.15 * i, 1}, {0.02 * i, 0, 0.46 + 0.05 * i}};
        assert_int_equal(i, add_sheet(&s, shape_in(context, ABUT_SHAPE_SHEET, 8 + i, 1, to), &m));
    }
    abut_cloth_body_options box = abut_cloth_body_options_default();
    box.friction = 0.4;
    assert_int_equal(0, add_to(&s, shape_in(context, ABUT_SHAPE_BOX, 2, 0.8, abut_pose_identity()),
                               &box));
    assert_int_equal(1,
                     add_to(&s, shape_in(context, ABUT_SHAPE_ICOSPHERE, 4, 0.2, pose_at(0.3, 0, 0)),
                            NULL));
    s.c->grain = 64;
    return s;
}

static abut_cloth_report step_pile(stack *s, uint32_t frame) {
    const double t = frame / 60.0;
    const abut_pose pose_now = {{0, 0, 0.1 * sin(3 * t), 1}, {0.04 * sin(4 * t), 0, 0}};
    abut_cloth_report report = abut_cloth_report_default();
    assert_ok(abut_cloth_set_body_pose(s->c, 0, pose_now));
    assert_ok(abut_cloth_step(s->c, 1.0 / 60, &report));
    return report;
}

TEST(pile_on_bodies) {
    stack s = make_pile(serial, NULL);
    uint32_t contacts = 0, impacts = 0;
    for (uint32_t frame = 0; frame < 40 + test_rounds(160); frame++) {
        const abut_cloth_report report = step_pile(&s, frame);
        assert_true(report.fraction == 1);
        if (!is_free(s.c))
            fail_msg("frame %u has an intersection", frame);
        contacts += report.contacts;
        impacts += report.impacts;
        for (uint32_t i = 0; i < PILE && frame == 50; i++) /* they hang over both */
            assert_true(mean_height(s.c, i) < 0.5 && mean_height(s.c, i) > 0.1);
    }
    assert_true(contacts > 4000 && impacts > 0);
    destroy(&s);
}

TEST_THREADS(threads_change_nothing) {
    test_memory memory[2] = {{.fail_at = 0}, {.fail_at = 0}};
    abut_context *contexts[2];
    stack s[2];
    for (uint32_t k = 0; k < 2; k++) {
        contexts[k] = test_context(&memory[k], 1 + k);
        s[k] = make_pile(contexts[k], NULL);
    }
    const uint32_t frames = test_brief() ? 9 : 10 + test_rounds(80); /* they touch after seven */
    for (uint32_t frame = 0; frame < frames; frame++) {
        const abut_cloth_report a = step_pile(&s[0], frame), b = step_pile(&s[1], frame);
        assert_int_equal(a.contacts, b.contacts);
        assert_int_equal(a.impacts, b.impacts);
    }
    assert_memory_equal(s[0].c->position, s[1].c->position, s[0].c->all_vertices * sizeof(vec));
    for (int k = 0; k < 2; k++) {
        destroy(&s[k]);
        abut_context_destroy(contexts[k]);
        assert_int_equal(0, memory[k].live_count);
    }
}

/* ---- layers ---- */

/* Two tubes of cloth, one in the other, on a rod that swings and bends: inner and outer garment. */
static vec rod_at(vec p, double t) {
    const double bend = 0.5 * sin(2 * t), turn = 0.4 * sin(3 * t);
    p.y += bend * p.z * p.z;
    return v3(p.x * cos(turn) - p.z * sin(turn), p.y, p.x * sin(turn) + p.z * cos(turn));
}

static abut_mesh *make_tube(double radius, double length, uint32_t around, uint32_t along) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_mesh *flat = NULL, *rolled = NULL, *tube = NULL;
    shape.segments = around;
    shape.rings = along;
    assert_ok(abut_shape_create(serial, &shape, &flat));
    const uint32_t count = abut_mesh_vertex_count(flat);
    vec *p = malloc(count * sizeof *p);
    assert_non_null(p);
    assert_ok(abut_mesh_get_positions(flat, p));
    for (uint32_t i = 0; i < count; i++) { /* the seam is closed by welding */
        const uint32_t column = (uint32_t)floor((p[i].x + 0.5) * around + 0.5) % around;
        const double angle = 6.283185307179586 * column / around;
        p[i] = v3(radius * cos(angle), radius * sin(angle), length * p[i].y);
    }
    rolled = test_mesh(serial, p, count, abut_mesh_indices(flat), abut_mesh_triangle_count(flat));
    assert_ok(abut_mesh_weld(rolled, 0, &tube));
    free(p);
    abut_mesh_destroy(flat);
    abut_mesh_destroy(rolled);
    return tube;
}

TEST(layers_over_layers) {
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material m = abut_cloth_material_default();
    options.gravity.z = -9.81;
    options.body_may_lag = true;
    m.bend = 1e-4;
    m.friction = 0.3;
    m.thickness = 0.01;
    stack s = open_stack(serial, &options);
    const uint32_t inner = add_sheet(&s, make_tube(0.14, 0.8, 20, 18), &m);
    m.thickness = 0.015;
    const uint32_t outer = add_sheet(&s, make_tube(0.18, 0.6, 24, 14), &m);
    abut_mesh *rod = make_shape_at(ABUT_SHAPE_BOX, 6, 1, pose_at(0, 0, 0));
    vec start[400], to[400];
    const uint32_t count = abut_mesh_vertex_count(rod);
    assert_true(count <= 400);
    assert_ok(abut_mesh_get_positions(rod, start));
    abut_mesh_destroy(rod);
    for (uint32_t i = 0; i < count; i++)
        start[i] = v3(0.15 * start[i].x, 0.15 * start[i].y, 1.2 * start[i].z);
    abut_mesh *box = make_shape_at(ABUT_SHAPE_BOX, 6, 1, pose_at(0, 0, 0));
    rod = test_mesh(serial, start, count, abut_mesh_indices(box), abut_mesh_triangle_count(box));
    abut_mesh_destroy(box);
    const uint32_t body = add_to(&s, rod, NULL);
    for (uint32_t which = 0; which < 2; which++) { /* held by their upper vertices */
        uint32_t held[64], used = 0;
        const abut_mesh *mesh = s.meshes[which];
        for (uint32_t v = 0; v < abut_mesh_vertex_count(mesh); v++)
            if (abuti_mesh_position(mesh, v).z > (which ? 0.299 : 0.399) && used < 64)
                held[used++] = v;
        abut_cloth_attachment list[64];
        assert_true(used == (which ? 24 : 20));
        assert_ok(abut_cloth_bind(s.c, which, body, held, used, 100, list));
        assert_ok(abut_cloth_attach(s.c, which, list, used));
    }
    uint32_t contacts = 0;
    for (uint32_t frame = 1; frame <= 30 + test_rounds(120); frame++) {
        abut_cloth_report report = abut_cloth_report_default();
        for (uint32_t i = 0; i < count; i++)
            to[i] = rod_at(start[i], frame / 60.0);
        assert_ok(abut_cloth_set_body_positions(s.c, body, abut_array_host(to)));
        assert_ok(abut_cloth_step(s.c, 1.0 / 60, &report));
        contacts += report.contacts;
        if (!is_free(s.c))
            fail_msg("frame %u has an intersection", frame);
        for (uint32_t i = 0; i < s.c->vertices; i++) { /* nothing has slipped through */
            vec p = s.c->position[i];
            assert_true(v3_length(p) < 1.2);
        }
    }
    assert_true(contacts > 1000);
    assert_true(mean_height(s.c, inner) > -0.3 && mean_height(s.c, outer) > -0.3);
    destroy(&s);
}

/* ---- what each has for itself ---- */

/* Sheets that do not touch move as if they were alone: with their own stiffness, mass, damping,
 * pressure and volume. */
TEST(sheets_apart_move_as_alone) {
    abut_cloth_options options = abut_cloth_options_default();
    options.gravity.z = -3;
    options.drag = 0.2;
    options.wind.x = 1;
    stack all = open_stack(serial, &options), one[3];
    abut_mesh *ball = make_shape(ABUT_SHAPE_ICOSPHERE, 5), *sheet = make_shape(ABUT_SHAPE_SHEET, 9);
    for (uint32_t i = 0; i < 3; i++) {
        abut_cloth_material m = abut_cloth_material_default();
        abut_mesh *mesh = NULL;
        m.stretch = 50 + 100 * i;
        m.shear = 20 + 50 * i;
        m.bend = 1e-4 * i;
        m.damping = 0.3 * i;
        m.density = 0.1 + 0.1 * i;
        m.pressure = i == 2 ? 0 : 5 + 10 * i;
        m.thickness = 0.02;
        one[i] = open_stack(serial, &options);
        assert_ok(abut_mesh_transform(i == 2 ? sheet : ball, 1, pose_at(8 * i, 0, 0), &mesh));
        add_sheet(&all, abut_mesh_retain(mesh), &m);
        add_sheet(&one[i], mesh, &m);
    }
    for (int frame = 0; frame < 20; frame++) {
        assert_ok(abut_cloth_step(all.c, 1.0 / 60, NULL));
        for (uint32_t i = 0; i < 3; i++)
            assert_ok(abut_cloth_step(one[i].c, 1.0 / 60, NULL));
    }
    for (uint32_t i = 0; i < 3; i++) {
        const vec *mine = positions_of(one[i].c),
                  *common = positions_of(all.c) + cloth_first_of(all.c, SHEETS, i);
        for (uint32_t v = 0; v < one[i].c->vertices; v++)
            assert_true(v3_length(v3_sub(mine[v], common[v])) < 1e-6);
        destroy(&one[i]);
    }
    destroy(&all);
    abut_mesh_destroy(ball);
    abut_mesh_destroy(sheet);
}

/* On a tilted board a smooth sheet slides, and a rough one stays; so do sheets on a rough and on a
 * smooth board. */
TEST(friction_is_of_both_sides) {
    double path[4];
    for (int k = 0; k < 4; k++) {
        abut_cloth_options options = abut_cloth_options_default();
        abut_cloth_material m = abut_cloth_material_default();
        abut_cloth_body_options board = abut_cloth_body_options_default();
        options.gravity = v3(4, 0, -9); /* as if tilted */
        m.friction = k & 1 ? 0.9 : 0.05;
        m.thickness = 0.02;
        board.friction = k & 2 ? 0.9 : 0;
        stack s = open_stack(serial, &options);
        add_sheet(&s, make_shape_at(ABUT_SHAPE_SHEET, 5, 0.5, pose_at(0, 0, 0.53)), &m);
        add_to(&s, make_shape_at(ABUT_SHAPE_BOX, 3, 1, pose_at(0, 0, 0)), &board);
        const double before = positions_of(s.c)[0].x;
        for (int i = 0; i < 20; i++)
            assert_ok(abut_cloth_step(s.c, 1.0 / 60, NULL));
        path[k] = positions_of(s.c)[0].x - before;
        destroy(&s);
    }
    assert_true(path[0] > 0.1);            /* 0.05 */
    assert_true(path[1] < 0.05);           /* 0.9 */
    assert_true(path[2] < path[0] * 0.75); /* the mean of 0.05 and 0.9 */
    assert_true(path[3] < 0.05);
}

/* A thick sheet on a thin one keeps the mean of both distances. */
TEST(thickness_is_of_both_sides) {
    double gaps[2];
    for (int k = 0; k < 2; k++) {
        abut_cloth_options options = abut_cloth_options_default();
        abut_cloth_material m = abut_cloth_material_default();
        options.gravity.z = -2;
        m.damping = 3;
        m.thickness = 0.02;
        stack s = open_stack(serial, &options);
        add_sheet(&s, make_shape_at(ABUT_SHAPE_SHEET, 6, 1, pose_at(0, 0, 0)), &m);
        m.thickness = k ? 0.06 : 0.02;
        add_sheet(&s, make_shape_at(ABUT_SHAPE_SHEET, 6, 0.8, pose_at(0, 0, 0.08)), &m);
        uint32_t pins[49];
        for (uint32_t i = 0; i < 49; i++)
            pins[i] = i;
        assert_ok(pin(s.c, pins, 49));
        abut_cloth_material read = abut_cloth_material_default();
        assert_ok(abut_cloth_get_material(s.c, 1, &read));
        assert_true(read.thickness == m.thickness && read.stretch == 200 && read.shear == 200);
        for (int i = 0; i < 60; i++)
            assert_ok(abut_cloth_step(s.c, 1.0 / 60, NULL));
        gaps[k] = mean_height(s.c, 1);
        destroy(&s);
    }
    assert_close(0.02, gaps[0], 0.005);
    assert_close(0.04, gaps[1], 0.007);
}

/* A body in a pose is its mesh in that pose, from the first one on. It goes on to it after a part
 * of a step, and state is copied to arrays. */
TEST(rigid_bodies_follow_poses) {
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_body_options body = abut_cloth_body_options_default();
    stack s = open_stack(serial, &options);
    body.pose = (abut_pose){{0, 0, 1, 1}, {0, 0, 2}};
    abut_mesh *box = make_shape_at(ABUT_SHAPE_BOX, 1, 1, pose_at(1, 0, 0));
    add_sheet(&s, make_shape(ABUT_SHAPE_SHEET, 3), NULL);
    add_to(&s, box, &body);
    const abut_pose poses[3] = {body.pose, {{1, 0, 0, 1}, {0, 1, 3}}, {{1, 0, 0, 1}, {0, 1, 3}}};
    for (int k = 0; k < 3; k++) {
        vec now[8];
        if (k)
            assert_ok(abut_cloth_step(s.c, 0.01, NULL));
        assert_ok(abut_cloth_get_body_positions(s.c, 0, abut_array_host(now)));
        for (uint32_t v = 0; v < 8; v++) {
            const vec want = pose_apply(&poses[k], abuti_mesh_position(box, v));
            assert_true(v3_length(v3_sub(now[v], want)) < 1e-6);
        }
        assert_ok(abut_cloth_set_body_pose(s.c, 0, poses[1]));
    }
    vec state_of[3][16];
    assert_ok(abut_cloth_get_positions(s.c, 0, abut_array_host(state_of[0])));
    assert_ok(abut_cloth_get_aims(s.c, 0, abut_array_host(state_of[1])));
    assert_ok(abut_cloth_get_velocities(s.c, 0, abut_array_host(state_of[2])));
    assert_memory_equal(state_of[0], positions_of(s.c), sizeof state_of[0]);
    assert_memory_equal(state_of[1], s.c->aim, sizeof state_of[1]);
    assert_memory_equal(state_of[2], s.c->velocity, sizeof state_of[2]);
    assert_refused("contiguous", abut_cloth_get_positions(s.c, 0, abut_array_floats(state_of[0])));
    /* positions of bodies from floats */
    float floats[24];
    for (uint32_t v = 0; v < 24; v++)
        floats[v] = (float)(v % 3 == 2 ? 2 + v / 24.0 : v / 12.0);
    assert_ok(abut_cloth_set_body_positions(s.c, 0, abut_array_floats(floats)));
    assert_ok(abut_cloth_step(s.c, 0.01, NULL));
    vec now[8];
    assert_ok(abut_cloth_get_body_positions(s.c, 0, abut_array_host(now)));
    for (uint32_t v = 0; v < 24; v++)
        assert_true((&now[v / 3].x)[v % 3] == (double)floats[v]);
    abut_mesh *made = NULL;
    assert_ok(abut_cloth_create_body_mesh(s.c, 0, &made));
    assert_int_equal(12, abut_mesh_triangle_count(made));
    abut_mesh_destroy(made);
    destroy(&s);
}

/* Two sheets of which one begins in the other: the message and the list name them. */
TEST(sheets_that_start_crossed_are_refused) {
    stack s = open_stack(serial, NULL);
    const abut_pose upright = {{1, 0, 0, 1}, {0, 0, 0.1}};
    add_sheet(&s, make_shape(ABUT_SHAPE_SHEET, 2), NULL);
    add_sheet(&s, make_shape_at(ABUT_SHAPE_SHEET, 2, 1, pose_at(0, 0, 3)), NULL);
    add_sheet(&s, make_shape_at(ABUT_SHAPE_SHEET, 2, 0.3, upright), NULL);
    assert_refused("of sheet 2", abut_cloth_step(s.c, 0.01, NULL));
    abut_cloth_intersection list[64];
    abut_cloth_intersection_list found = {list, 64, 0};
    assert_ok(abut_cloth_find_intersections(s.c, &found));
    assert_true(found.count > 0);
    for (uint64_t i = 0; i < found.count; i++) {
        assert_int_equal(0, list[i].sheet);
        assert_int_equal(2, list[i].other_sheet);
        assert_true(list[i].triangle < 8 && list[i].other_triangle < 8);
    }
    destroy(&s);
}

/* ---- memory ---- */

static abut_status run_small(abut_context *context, void *data) {
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material m = abut_cloth_material_default();
    options.gravity.z = -9;
    options.substeps = 2;
    options.body_may_lag = true;
    m.pressure = 1;
    m.bend = 1e-4;
    abut_cloth *c = NULL;
    abut_mesh *sheet = NULL, *box = NULL, *made = NULL;
    uint32_t index;
    vec at[16];
    abut_cloth_intersection list[4];
    abut_cloth_intersection_list found = {list, 4, 0};
    (void)data;
    abut_status status = create_shape(context, ABUT_SHAPE_SHEET, 2, 2, 1, pose_at(0, 0, 0), &sheet);
    NEXT(create_shape(context, ABUT_SHAPE_BOX, 1, 1, 0.3, pose_at(0, 0, 0.2), &box));
    NEXT(abut_cloth_create(context, &options, &c));
    NEXT(abut_cloth_add_sheet(c, sheet, &m, &index));
    for (int i = 0; i < 2; i++) {
        abut_cloth_body_options body = abut_cloth_body_options_default();
        body.pose.translation.x = i;
        NEXT(abut_cloth_add_body(c, box, &body, &index));
    }
    for (int i = 0; i < 2; i++) {
        const abut_pose down = {{0, 0, 0, 1}, {0, 0, -0.2}};
        NEXT(abut_cloth_set_body_pose(c, 0, down));
        NEXT(abut_cloth_step(c, 0.1, NULL));
        NEXT(abut_cloth_find_intersections(c, &found));
    }
    NEXT(abut_cloth_get_positions(c, 0, abut_array_host(at)));
    NEXT(abut_cloth_create_mesh(c, 0, &made));
    abut_mesh_destroy(made);
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
