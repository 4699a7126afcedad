/* Seams: flat panels that become garments, what seams conserve, what they change, and what is
 * refused. */
#include "panels.h"

/* The largest distance of sewn vertices beyond their length, and beyond half of the thickness. */
static double gap_of(abut_cloth *c) {
    const vec *x = positions_of(c);
    double gap = 0;
    for (size_t i = 0; i < c->seams.count; i++) {
        const cloth_seam *s = &ABUTI_AT(&c->seams, cloth_seam, i);
        gap = fmax(gap, v3_length(v3_sub(x[s->of[1]], x[s->of[0]])) - s->rest);
    }
    return gap;
}

static uint32_t seam_count(const abut_cloth *c) {
    abut_cloth_info info = abut_cloth_info_default();
    assert_ok(abut_cloth_get_info(c, &info));
    return info.seam_count;
}

/* ---- garments ---- */

/* Two panels close around a cylinder, gradually, and stay closed; with the same bits on any number
 * of threads. */
TEST_THREADS(panels_become_a_tube) {
    test_memory memory[2] = {{.fail_at = 0}, {.fail_at = 0}};
    abut_context *contexts[2];
    panels p[2] = {{0}};
    for (uint32_t k = 0; k < 2; k++) {
        contexts[k] = test_context(&memory[k], 1 + 2 * k);
        assert_ok(create_panels(contexts[k], NULL, 0, 1.7, &p[k]));
        assert_ok(sew_sides(p[k].c));
        assert_int_equal(2 * SIDE, seam_count(p[k].c));
    }
    const double start = gap_of(p[0].c), most = 1.1 * 0.5 / 60;
    assert_true(start > 0.7);
    double before = start;
    for (int i = 0; i < 150; i++) {
        const abut_cloth_report report = step(p[0].c, 1.0 / 60, NULL);
        step(p[1].c, 1.0 / 60, NULL);
        assert_memory_equal(p[0].c->position, p[1].c->position, p[0].c->all_vertices * sizeof(vec));
        assert_true(is_free(p[0].c));
        assert_true(report.fraction == 1);
        assert_close(before, report.seam_gap, 1e-6);
        before = gap_of(p[0].c);
        assert_true(before > report.seam_gap - most); /* about the speed of a seam */
    }
    assert_true(before < 1e-3);
    double closest = 1;
    for (uint32_t v = 0; v < p[0].c->vertices; v++) { /* around the cylinder, not beside it */
        const vec at = p[0].c->position[v];
        if (fabs(at.z) < 0.25) /* beside the cylinder */
            closest = fmin(closest, at.x * at.x + at.y * at.y);
        assert_true((at.y < 0.1) == (v < SIDE * SIDE) || (at.y > -0.1) != (v < SIDE * SIDE));
    }
    assert_true(sqrt(closest) > 0.98 * 1.7 / 6.2832);
    for (uint32_t k = 0; k < 2; k++) {
        destroy_panels(&p[k]);
        abut_context_destroy(contexts[k]);
        assert_int_equal(0, memory[k].live_count);
    }
}

/* The back panel hangs on its seams only. */
TEST(seams_hold_under_gravity) {
    panels p = {0};
    uint32_t top[SIDE];
    double widest = 0;
    assert_ok(create_panels(serial, NULL, -9.81, 0, &p));
    assert_ok(sew_sides(p.c));
    for (uint32_t i = 0; i < SIDE; i++)
        top[i] = positions_of(p.c)[i].z > positions_of(p.c)[SIDE * GRID].z ? i : SIDE * GRID + i;
    assert_ok(pin(p.c, top, SIDE));
    abut_cloth_attachment held;
    for (uint32_t i = 0; i < 2; i++) { /* until the seams are closed */
        const uint32_t corner = top[i ? GRID : 0];
        assert_ok(abut_cloth_bind(p.c, 1, ABUT_NONE, &corner, 1, 0, &held));
        assert_ok(abut_cloth_attach(p.c, 1, &held, 1));
    }
    for (int i = 0; i < 240; i++) {
        const uint32_t corners[2] = {top[0], top[GRID]};
        step(p.c, 1.0 / 60, NULL);
        assert_true(is_free(p.c));
        if (i == 60)
            assert_ok(abut_cloth_detach(p.c, 1, corners, 2));
        if (i >= 180)
            widest = fmax(widest, gap_of(p.c));
    }
    assert_true(widest < 2e-3);
    double lowest = 0;
    for (uint32_t v = 0; v < p.c->vertices; v++)
        lowest = fmin(lowest, p.c->position[v].z);
    assert_true(lowest > -1.2);
    destroy_panels(&p);
}

/* One sheet, slightly curved, becomes a cylinder. */
TEST(a_sheet_becomes_a_cylinder) {
    abut_mesh *flat = make_shape(ABUT_SHAPE_SHEET, GRID), *sheet = NULL;
    vec at[SIDE * SIDE];
    abut_cloth_seam seams[SIDE];
    for (uint32_t v = 0; v < SIDE * SIDE; v++) {
        at[v] = abuti_mesh_position(flat, v);
        at[v].z = 0.3 * at[v].x * at[v].x;
    }
    sheet = test_mesh(serial, at, SIDE * SIDE, abut_mesh_indices(flat), 2 * GRID * GRID);
    const cloth_options options = {.damping = 1, .substeps = 20};
    abut_cloth *c = make_cloth(sheet, NULL, &options);
    for (uint32_t i = 0; i < SIDE; i++)
        seams[i] = (abut_cloth_seam){.vertex_a = SIDE * i, .vertex_b = SIDE * i + GRID};
    assert_ok(abut_cloth_sew(c, seams, SIDE));
    for (int i = 0; i < 240; i++) {
        step(c, 1.0 / 60, NULL);
        assert_true(is_free(c));
    }
    assert_true(gap_of(c) < 1e-3);
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(flat);
}

/* ---- momentum and energy ---- */

static vec momentum_of(const abut_cloth *c) {
    vec sum = v3(0, 0, 0);
    for (uint32_t v = 0; v < c->vertices; v++)
        sum = v3_along(sum, c->mass[v], c->velocity[v]);
    return sum;
}

/* Seams of different stiffness contract and conserve momentum; closed ones add no energy. */
TEST(seams_conserve_momentum_and_add_no_energy) {
    panels p = {0};
    abut_cloth_seam seams[2 * SIDE];
    double energy = HUGE_VAL, most = 0;
    assert_ok(create_panels(serial, NULL, 0, 0, &p));
    list_sides(seams);
    for (uint32_t i = 0; i < 2 * SIDE; i++) {
        seams[i].stiffness = i % 3 ? 100 * i : 0;
        seams[i].speed = 1;
    }
    assert_ok(abut_cloth_sew(p.c, seams + 2, 2 * SIDE - 5)); /* not symmetric */
    for (int i = 0; i < 300; i++) {
        step(p.c, 1.0 / 60, NULL);
        assert_true(v3_length(momentum_of(p.c)) < 1e-7);
        const abut_cloth_energy e = energy_of(p.c);
        most = fmax(most, e.kinetic);
        if (i >= 100)
            assert_true(e.kinetic + e.elastic < energy + 1e-4);
        energy = e.kinetic + e.elastic;
    }
    assert_true(most > 1e-3 && energy < 0.2 * most);
    destroy_panels(&p);
}

/* A spring between two triangles that are pulled apart by gravity is as long as Hooke says. */
TEST(soft_seams_are_springs) {
    const vec corners[3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    vec below[3];
    for (int k = 0; k < 3; k++)
        below[k] = v3_sub(corners[k], v3(0, 0, 0.3));
    abut_mesh *upper = test_mesh(serial, corners, 3, NULL, 0),
              *lower = test_mesh(serial, below, 3, NULL, 0);
    const uint32_t all[3] = {0, 1, 2};
    const cloth_options options = {.gravity = {0, 0, -10},
                                   .density = 0.6,
                                   .damping = 4,
                                   .substeps = 40,
                                   .pins = all,
                                   .pin_count = 3};
    abut_cloth *c = make_cloth(upper, NULL, &options);
    abut_cloth_material m = abut_cloth_material_default();
    abut_cloth_seam seams[3];
    uint32_t index;
    const double stiffness = 20, mass = 0.6 * 0.5 / 3;
    m.density = 0.6;
    m.damping = 4;
    assert_ok(abut_cloth_add_sheet(c, lower, &m, &index));
    for (uint32_t i = 0; i < 3; i++)
        seams[i] = (abut_cloth_seam){0, i, 1, i, 0.25, stiffness, 5};
    assert_ok(abut_cloth_sew(c, seams, 3));
    for (int i = 0; i < 400; i++)
        step(c, 1.0 / 60, NULL);
    for (uint32_t i = 0; i < 3; i++)
        assert_close(-0.25 - mass * 10 / stiffness, positions_of(c)[3 + i].z, 1e-4);
    const double off = mass * 10 / stiffness;
    assert_close(3 * 0.5 * stiffness * off * off, energy_of(c).elastic, 5e-4);
    abut_cloth_destroy(c);
    abut_mesh_destroy(upper);
    abut_mesh_destroy(lower);
}

/* ---- contacts ---- */

/* Two panels side by side, closer than the thickness: contacts push them apart unless they are
 * sewn, and a system at rest stays at rest. */
TEST(contacts_across_a_seam_are_ignored) {
    for (int sewn = 0; sewn < 2; sewn++) {
        abut_mesh *left = make_shape_at(ABUT_SHAPE_SHEET, GRID, 1, pose_at(0, 0, 0)),
                  *right = make_shape_at(ABUT_SHAPE_SHEET, GRID, 1, pose_at(1.01, 0, 0));
        const cloth_options options = {.bend = 1e-4};
        abut_cloth *c = make_cloth(left, NULL, &options);
        abut_cloth_seam seams[SIDE];
        uint32_t index;
        assert_ok(abut_cloth_add_sheet(c, right, NULL, &index));
        for (uint32_t i = 0; i < SIDE; i++)
            seams[i] = (abut_cloth_seam){0, SIDE * i + GRID, 1, SIDE * i, 0.01, 0, 0};
        if (sewn)
            assert_ok(abut_cloth_sew(c, seams, SIDE));
        const abut_cloth_report report = step(c, 1.0 / 60, NULL);
        double fastest = 0;
        for (uint32_t v = 0; v < c->vertices; v++)
            fastest = fmax(fastest, v3_length(c->velocity[v]));
        assert_true(sewn ? report.contacts == 0 : report.contacts > 2 * GRID);
        assert_true(sewn ? fastest < 1e-5 : fastest > 0.01);
        abut_cloth_destroy(c);
        abut_mesh_destroy(left);
        abut_mesh_destroy(right);
    }
}

/* Shortest ways through a knot, by all pairs of its vertices. */
static bool are_near(const abut_cloth *c, const uint32_t *knot_of, uint32_t u, uint32_t v) {
    const vec *rest = abut_mesh_local_positions(c->groups[SHEETS].mesh);
    for (uint32_t a = 0; a < c->vertices; a++)
        for (uint32_t b = 0; b < c->vertices; b++) {
            if (knot_of[a] == ABUT_NONE || knot_of[a] != knot_of[b] ||
                c->part_of[a] != c->part_of[u] || c->part_of[b] != c->part_of[v])
                continue;
            const double range = fmax(c->parts[0].rest_range, c->parts[1].rest_range),
                         p = v3_length(v3_sub(rest[a], rest[u])),
                         q = v3_length(v3_sub(rest[b], rest[v]));
            if (p <= range && q <= range && p / range + q / range <= 1)
                return true;
        }
    return false;
}

/* Sheets of different resolution, and a knot of three vertices. */
TEST(ways_across_seams_are_found) {
    abut_mesh *left = make_shape_at(ABUT_SHAPE_SHEET, 6, 1, pose_at(0, 0, 0)),
              *right = make_shape_at(ABUT_SHAPE_SHEET, 9, 1, pose_at(1.5, 0, 0));
    const cloth_options options = {.bend = 1e-4};
    abut_cloth *c = make_cloth(left, NULL, &options);
    const abut_cloth_seam seams[5] = {{0, 6, 1, 0, 0, 0, 0},
                                      {0, 20, 1, 20, 0, 0, 0},
                                      {1, 21, 0, 20, 0, 0, 0},
                                      {0, 48, 0, 42, 0, 0, 0},
                                      {1, 90, 0, 48, 0, 0, 0}};
    uint32_t index, knot_of[200], found = 0;
    assert_ok(abut_cloth_add_sheet(c, right, NULL, &index));
    assert_ok(abut_cloth_sew(c, seams, 5));
    assert_true(c->vertices <= 200);
    assert_ok(abuti_cloth_find_knots(c));
    memset(knot_of, 0xff, sizeof knot_of);
    knot_of[6] = knot_of[49] = 0;
    knot_of[20] = knot_of[69] = knot_of[70] = 1;
    knot_of[48] = knot_of[42] = knot_of[139] = 2;
    const cloth_sheets all = {.knot_begin = c->knot_begin, .knots = c->knots.data};
    for (uint32_t u = 0; u < c->vertices; u++)
        for (uint32_t v = 0; v < c->vertices; v++) {
            const bool near = cloth_is_sewn_near(&all, u, v);
            assert_int_equal(are_near(c, knot_of, u, v), near);
            found += near && c->part_of[u] != c->part_of[v];
        }
    assert_true(found > 40);
    abut_cloth_destroy(c);
    abut_mesh_destroy(left);
    abut_mesh_destroy(right);
}

/* ---- changes ---- */

/* The order of calls has no effect, replaced and removed seams have none, and those of removed
 * sheets are removed. */
TEST(seams_change_between_steps) {
    panels p[2] = {{0}};
    abut_cloth_seam seams[2 * SIDE], other;
    uint32_t index;
    list_sides(seams);
    for (int k = 0; k < 2; k++)
        assert_ok(create_panels(serial, NULL, -1, 0, &p[k]));
    assert_ok(abut_cloth_sew(p[0].c, seams, 2 * SIDE));
    for (uint32_t i = 2 * SIDE; i-- > 0;) { /* one after the other, the other way round, twice */
        const abut_cloth_seam s = seams[i];
        other = (abut_cloth_seam){s.sheet_b, s.vertex_b, s.sheet_a, s.vertex_a, 0.3, 5, 9};
        assert_ok(abut_cloth_sew(p[1].c, &other, 1));
        other.length = other.stiffness = other.speed = 0;
        assert_ok(abut_cloth_sew(p[1].c, &other, 1));
    }
    other = (abut_cloth_seam){0, 7, 0, 50, 0, 0, 0};
    assert_ok(abut_cloth_sew(p[1].c, &other, 1));
    assert_int_equal(2 * SIDE + 1, seam_count(p[1].c));
    other.length = (double)NAN; /* ignored */
    assert_ok(abut_cloth_unsew(p[1].c, &other, 1));
    assert_ok(abut_cloth_unsew(p[1].c, &other, 1));
    assert_int_equal(2 * SIDE, seam_count(p[1].c));
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < 2; k++)
            step(p[k].c, 1.0 / 60, NULL);
        assert_memory_equal(p[0].c->position, p[1].c->position, p[0].c->vertices * sizeof(vec));
    }
    /* a third sheet before the others is removed, added, and sewn */
    abut_cloth *c = p[0].c;
    other = (abut_cloth_seam){2, 3, 1, 5, 0, 0, 0};
    abut_mesh *away = make_shape_at(ABUT_SHAPE_SHEET, 3, 1, pose_at(0, 5, 0));
    assert_ok(abut_cloth_add_sheet(c, away, NULL, &index));
    assert_int_equal(2, index);
    assert_ok(abut_cloth_sew(c, &other, 1));
    assert_int_equal(2 * SIDE + 1, seam_count(c));
    step(c, 1.0 / 60, NULL);
    assert_ok(abut_cloth_remove_sheet(c, 0));
    assert_int_equal(1, seam_count(c));
    const double before = gap_of(c);
    step(c, 1.0 / 60, NULL);
    assert_true(gap_of(c) < before - 0.004); /* vertices were renumbered */
    assert_ok(abut_cloth_add_sheet(c, p[0].front, NULL, &index));
    assert_int_equal(0, index);
    step(c, 1.0 / 60, NULL);
    assert_true(gap_of(c) < before - 0.008);
    assert_ok(abut_cloth_remove_sheet(c, 1));
    assert_int_equal(0, seam_count(c));
    step(c, 1.0 / 60, NULL);
    abut_mesh_destroy(away);
    destroy_panels(&p[0]);
    destroy_panels(&p[1]);
}

/* Two vertices that are pinned at a distance from each other, and a seam that is far too short. */
TEST(impossible_seams_do_no_harm) {
    panels p = {0};
    abut_cloth_seam seams[2 * SIDE];
    assert_ok(create_panels(serial, NULL, 0, 1.7, &p));
    list_sides(seams);
    for (uint32_t i = 0; i < 2 * SIDE; i++) {
        seams[i].length = 1e-300;
        seams[i].speed = 10;
    }
    const uint32_t corner = 0;
    abut_cloth_attachment a;
    for (uint32_t sheet = 0; sheet < 2; sheet++) {
        assert_ok(abut_cloth_bind(p.c, sheet, ABUT_NONE, &corner, 1, 0, &a));
        assert_ok(abut_cloth_attach(p.c, sheet, &a, 1));
    }
    assert_ok(abut_cloth_sew(p.c, seams, 2 * SIDE));
    for (int i = 0; i < 60; i++) {
        step(p.c, 1.0 / 60, NULL);
        assert_true(is_free(p.c));
        for (size_t k = 0; k < p.c->seams.count; k++) {
            const cloth_seam *s = &ABUTI_AT(&p.c->seams, cloth_seam, k);
            assert_true(v3_length(v3_sub(p.c->position[s->of[1]], p.c->position[s->of[0]])) > 0);
        }
    }
    destroy_panels(&p);
}

/* Random pairs of vertices crumple two sheets on a ball. Seams may stay open, but nothing ever
 * intersects. */
TEST(random_seams_never_intersect) {
    abut_mesh *lower = make_shape_at(ABUT_SHAPE_SHEET, GRID, 1, pose_at(0, 0, 0.55)),
              *upper = make_shape_at(ABUT_SHAPE_SHEET, GRID, 1, pose_at(0.1, 0, 0.7)),
              *ball = make_shape_at(ABUT_SHAPE_ICOSPHERE, 4, 0.6, pose_at(0, 0, 0.1));
    const cloth_options options = {.gravity = {0, 0, -10}, .friction = 0.3};
    const double stiffness[3] = {0, 100, 1e4};
    abut_cloth *c = make_cloth(lower, ball, &options);
    test_random random = {11};
    uint32_t index, impacts = 0;
    assert_ok(abut_cloth_add_sheet(c, upper, NULL, &index));
    for (int i = 0; i < 40; i++) {
        for (uint32_t k = 0; k < 12 && i % 10 == 0; k++) {
            const uint32_t a = (uint32_t)test_random_real(&random, 0, SIDE * SIDE - 1),
                           b = (uint32_t)test_random_real(&random, 0, SIDE * SIDE - 1);
            const abut_cloth_seam seam = {0, a, a == b || k % 2, b, 0, stiffness[k % 3], 1 + k % 4};
            assert_ok(abut_cloth_sew(c, &seam, 1));
        }
        impacts += step(c, 1.0 / 60, NULL).impacts;
        assert_true(is_free(c));
    }
    assert_true(impacts > 100);
    abut_cloth_destroy(c);
    abut_mesh_destroy(lower);
    abut_mesh_destroy(upper);
    abut_mesh_destroy(ball);
}

/* Along a seam of two sheets with different resolutions, groups of vertices have many corners. The
 * patches there stay far below the limit of devices. */
TEST(patches_along_seams_are_small) {
    abut_mesh *left = make_shape_at(ABUT_SHAPE_SHEET, 90, 1, pose_at(0, 0, 0)),
              *right = make_shape_at(ABUT_SHAPE_SHEET, 71, 1, pose_at(1.1, 0, 0));
    const cloth_options options = {.bend = 1e-5};
    abut_cloth *c = make_cloth(left, NULL, &options);
    abut_cloth_seam seams[91];
    uint32_t index;
    assert_ok(abut_cloth_add_sheet(c, right, NULL, &index));
    for (uint32_t i = 0; i <= 90; i++)
        seams[i] = (abut_cloth_seam){0, 91 * i + 90, 1, 72 * (i * 71 / 90), 0, 0, 0};
    assert_ok(abut_cloth_sew(c, seams, 91));
    assert_ok(abuti_cloth_divide(c));
    assert_true(c->patches.largest <= PATCH_ALL / 4);
    abut_cloth_destroy(c);
    abut_mesh_destroy(left);
    abut_mesh_destroy(right);
}

/* ---- refusals ---- */

TEST(refusals) {
    panels p = {0};
    abut_cloth_seam s[2] = {{0, 1, 1, 2, 0, 0, 0}, {0, 3, 1, 4, 0, 0, 0}};
    uint32_t index;
    assert_ok(create_panels(serial, NULL, 0, 0, &p));
    assert_ok(abut_cloth_sew(p.c, s, 2));
    step(p.c, 1.0 / 60, NULL);
    assert_refused("cloth is null", abut_cloth_sew(NULL, s, 2));
    assert_refused("cloth is null", abut_cloth_unsew(NULL, s, 2));
    assert_refused("seams is null", abut_cloth_sew(p.c, NULL, 2));
    assert_refused("seams is null", abut_cloth_unsew(p.c, NULL, 2));
    assert_ok(abut_cloth_sew(p.c, NULL, 0));
    assert_ok(abut_cloth_unsew(p.c, NULL, 0));
    s[1].sheet_b = 2;
    assert_refused("seams[1].sheet_b is 2", abut_cloth_sew(p.c, s, 2));
    assert_refused("seams[1].sheet_b is 2", abut_cloth_unsew(p.c, s, 2));
    s[1].sheet_b = 1;
    s[1].vertex_a = SIDE * SIDE;
    assert_refused("seams[1].vertex_a is 121; the sheet has 121", abut_cloth_sew(p.c, s, 2));
    s[1] = (abut_cloth_seam){0, 9, 0, 9, 0, 0, 0};
    assert_refused("seams[1] sews vertex 9 of sheet 0 to itself", abut_cloth_sew(p.c, s, 2));
    s[1] = (abut_cloth_seam){1, 2, 0, 1, 0, 0, 0};
    assert_refused("seams[1] sews the vertices of seams[0]", abut_cloth_sew(p.c, s, 2));
    const double bad[3] = {-1, (double)NAN, (double)INFINITY};
    for (int k = 0; k < 3; k++) {
        s[1] = (abut_cloth_seam){0, 5, 1, 6, bad[k], 0, 0};
        assert_refused("seams[1].length is", abut_cloth_sew(p.c, s, 2));
        s[1] = (abut_cloth_seam){0, 5, 1, 6, 0, bad[k], 0};
        assert_refused("seams[1].stiffness is", abut_cloth_sew(p.c, s, 2));
        s[1] = (abut_cloth_seam){0, 5, 1, 6, 0, 0, bad[k]};
        assert_refused("seams[1].speed is", abut_cloth_sew(p.c, s, 2));
    }
    assert_int_equal(2, seam_count(p.c));
    assert_true(p.c->is_prepared); /* nothing has changed */
    s[1] = (abut_cloth_seam){0, 5, 1, 6, 0, 0, 0};
    assert_ok(abut_cloth_remove_sheet(p.c, 1));
    assert_refused("seams[0].sheet_b is 1", abut_cloth_sew(p.c, s, 2));
    assert_ok(abut_cloth_add_sheet(p.c, p.back, NULL, &index));
    assert_int_equal(0, seam_count(p.c));
    assert_ok(abut_cloth_sew(p.c, s, 2));
    assert_int_equal(2, seam_count(p.c));
    destroy_panels(&p);
}

static abut_status run_small(abut_context *context, void *data) {
    const cloth_options options = {.gravity = {0, 0, -1}, .substeps = 2};
    const abut_cloth_seam seams[3] = {{0, 3, 1, 0, 0, 0, 0},
                                      {0, 7, 1, 4, 0, 5, 0},
                                      {0, 12, 0, 15, 0, 0, 0}};
    abut_mesh *left = NULL, *right = NULL;
    abut_cloth *c = NULL;
    uint32_t index, before = 0;
    (void)data;
    abut_status status = make_sheet(context, 3, 1, v3(0, 0, 0), &left);
    NEXT(make_sheet(context, 3, 1, v3(1.2, 0, 0), &right));
    NEXT(create_cloth(context, left, &options, &c));
    NEXT(abut_cloth_add_sheet(c, right, NULL, &index));
    for (uint32_t i = 0; i < 3 && !status; i++) {
        NEXT(abut_cloth_sew(c, &seams[i], 1));
        before += !status;
        assert_int_equal(before, seam_count(c)); /* on failure nothing changes */
        NEXT(abut_cloth_step(c, 1.0 / 60, NULL));
    }
    NEXT(abut_cloth_unsew(c, seams, 1));
    NEXT(abut_cloth_step(c, 1.0 / 60, NULL));
    abut_cloth_destroy(c);
    abut_mesh_destroy(left);
    abut_mesh_destroy(right);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(run_small, NULL) > 50);
}

int main(void) {
    return run_serial();
}
