/* Cloth that starts crossed: abut_cloth_untangle(). Freedom is tested exactly, by
 * abut_cloth_is_free(). */
#include "saving.h"
#include "tangled.h"

#include <stdio.h>
#include <string.h>

static abut_cloth_untangle_report untangle(abut_cloth *c) {
    abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
    assert_ok(abut_cloth_untangle(c, NULL, &report));
    assert_int_equal(report.is_free, is_free(c));
    assert_int_equal(report.is_free, report.pairs == 0);
    return report;
}

/* Files of floats store the positions. */
static void check_floats(abut_cloth *c) {
    const vec *x = positions_of(c);
    for (uint32_t v = 0; v < c->vertices; v++) {
        const vec rounded = cloth_round(x[v]);
        assert_memory_equal(&rounded, &x[v], sizeof rounded);
    }
}

static uint64_t count_intersections(abut_cloth *c) {
    abut_cloth_intersection_list found = {0};
    const abut_status status = abut_cloth_find_intersections(c, &found);
    assert_true(status == ABUT_OK || status == ABUT_ERROR_BUFFER);
    return found.count;
}

/* The largest length of an edge relative to its rest length. */
static double largest_stretch(abut_cloth *c) {
    const vec *x = positions_of(c);
    double most = 0;
    for (uint32_t e = 0; e < c->edge_count; e++)
        most = fmax(most, cloth_length(v3_sub(x[c->edges[e].vertex[1]], x[c->edges[e].vertex[0]])) /
                              c->edges[e].rest);
    return most;
}

/* ---- random tangles ---- */

/* Every kind of tangle comes apart, and steps go on without intersections. A start that stays
 * crossed would be reported with what remains. ABUT_TEST_PRINT=1 prints the table of docs/cloth.md.
 */
static void check_kind(tangle_kind kind) {
    const uint32_t full = test_rounds(100), rounds = full == 100 ? full : test_brief() ? 1 : 2;
    test_random random = {(uint64_t)kind + 1};
    uint32_t solved = 0, iterations = 0, most = 0;
    double seconds = 0, pairs = 0, stretch = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        tangle t = make_tangle(serial, kind, &random);
        const uint64_t before = count_intersections(t.c);
        const abut_cloth_untangle_report report = untangle(t.c);
        assert_true(report.pairs_before == before && report.pairs == count_intersections(t.c));
        assert_true(report.iterations > 0 && report.moved > 0 && report.distance > 0);
        check_floats(t.c);
        if (report.is_free) {
            assert_true(report.gap > 0);
            stretch = fmax(stretch, largest_stretch(t.c));
            for (int i = 0; i < 3; i++) {
                assert_true(step(t.c, 1.0 / 60, NULL).fraction > 0);
                assert_true(is_free(t.c));
            }
        }
        solved += report.is_free;
        iterations += report.iterations;
        most = report.iterations > most ? report.iterations : most;
        pairs += (double)report.pairs_before / rounds;
        seconds += report.seconds / rounds;
        destroy_tangle(&t);
    }
    if (getenv("ABUT_TEST_PRINT"))
        printf("| %s | %u of %u | %.0f | %.0f | %u | %.2f | %.2f |\n", tangle_names[kind], solved,
               rounds, pairs, (double)iterations / rounds, most, seconds, stretch);
    assert_true(solved * 10 >= rounds * 9);
}

TEST(sheets_through_sheets) {
    check_kind(TANGLE_SHEETS);
}

TEST(strips_through_themselves) {
    check_kind(TANGLE_LOOP);
}

TEST(corners_through_their_sheet) {
    check_kind(TANGLE_FLAP);
}

TEST(sheets_in_bodies) {
    check_kind(TANGLE_CORNER);
}

TEST(limbs_through_sheets) {
    check_kind(TANGLE_LIMB);
}

TEST(bodies_through_garments) {
    check_kind(TANGLE_BULGE);
}

TEST(four_sheets_at_once) {
    check_kind(TANGLE_LAYERS);
}

TEST(crumpled_sheets) {
    check_kind(TANGLE_WAVES);
}

/* ---- the sides ---- */

/* A sheet that is a little inside a ball leaves it on the shorter way, and only there. */
TEST(the_rest_of_a_sheet_stays) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 30, 1, pose_at(0, 0, 0));
    abut_mesh *ball = make_shape_at(ABUT_SHAPE_ICOSPHERE, 6, 0.2, pose_at(0, 0, -0.08));
    const cloth_options options = {.bend = 1e-4};
    abut_cloth *c = make_cloth(sheet, ball, &options);
    const uint32_t count = abut_mesh_vertex_count(sheet);
    vec before[961];
    assert_true(count <= 961);
    memcpy(before, positions_of(c), count * sizeof *before);
    const abut_cloth_untangle_report report = untangle(c);
    assert_true(report.is_free && report.distance < 0.05 && report.moved > 5);
    const vec *x = positions_of(c);
    uint32_t above = 0;
    for (uint32_t v = 0; v < count; v++) {
        const bool is_over = before[v].x * before[v].x + before[v].y * before[v].y < 0.0025;
        above += is_over;
        if (is_over)
            assert_true(x[v].z > 0); /* it went up, not down through the ball */
        if (fabs(before[v].x) > 0.45 || fabs(before[v].y) > 0.45)
            assert_true(v3_length(v3_sub(x[v], before[v])) < 1e-3);
    }
    assert_true(above > 4);
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(ball);
}

/* ---- free cloth ---- */

/* It does not change at all, also while it moves. */
TEST(free_cloth_is_unchanged) {
    saving s = {0};
    assert_ok(create_saving(serial, NULL, &s));
    for (int turn = 0; turn < 2; turn++) {
        size_t bytes[2];
        unsigned char *before = save_cloth(s.c, &bytes[0]);
        const abut_cloth_untangle_report report = untangle(s.c);
        unsigned char *after = save_cloth(s.c, &bytes[1]);
        assert_true(report.is_free && !report.iterations && !report.moved && !report.pairs_before);
        assert_true(bytes[0] == bytes[1] && memcmp(before, after, bytes[0]) == 0);
        free(before);
        free(after);
        run_saving(&s, 0, SAVED_AT);
    }
    destroy_saving(&s);
    abut_cloth *empty = NULL;
    assert_ok(abut_cloth_create(serial, NULL, &empty));
    assert_true(untangle(empty).is_free);
    abut_cloth_destroy(empty);
}

static double fastest(abut_cloth *c) {
    double most = 0;
    positions_of(c);
    for (uint32_t v = 0; v < c->vertices; v++)
        most = fmax(most, v3_length(c->velocity[v]));
    return most;
}

/* Sheets nearer than their thickness fly apart, unless they are separated before the first step. */
TEST(near_sheets_are_separated_without_velocity) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 18, 1, pose_at(0, 0, 0));
    abut_mesh *upper = make_shape_at(ABUT_SHAPE_SHEET, 18, 1, pose_at(0.01, 0.02, 0.005));
    double speed[2];
    for (int separates = 0; separates < 2; separates++) {
        const cloth_options options = {.bend = 1e-4, .thickness = 0.011};
        abut_cloth *c = make_cloth(sheet, NULL, &options);
        abut_cloth_untangle_options how = abut_cloth_untangle_options_default();
        abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
        abut_cloth_material material = abut_cloth_material_default();
        uint32_t index;
        material.bend = 1e-4;
        material.thickness = 0.011;
        assert_ok(abut_cloth_add_sheet(c, upper, &material, &index));
        how.separate = separates;
        assert_ok(abut_cloth_untangle(c, &how, &report));
        assert_true(report.is_free && !report.iterations && (report.moved > 0) == separates);
        assert_true(fastest(c) == 0);
        for (int i = 0; i < 10; i++)
            step(c, 1.0 / 60, NULL);
        assert_true(is_free(c));
        speed[separates] = fastest(c);
        abut_cloth_destroy(c);
    }
    assert_true(speed[0] > 0.1 && speed[1] < 0.1 * speed[0]);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(upper);
}

/* ---- what does not move ---- */

/* Pinned vertices and bodies stay. Targets of both are kept for the next step. */
TEST(pins_bodies_and_targets_stay) {
    crossing s = {0};
    assert_ok(create_crossing(serial, NULL, 7, &s));
    vec before[FLAT_VERTICES], ball[400];
    const uint32_t first = s.c->vertices, count = abut_mesh_vertex_count(s.ball);
    const uint32_t moved_pin = 3;
    const vec to = v3(-0.02, -0.5, 0.02);
    assert_true(count <= 400);
    memcpy(before, positions_of(s.c), sizeof before);
    memcpy(ball, positions_of(s.c) + first, count * sizeof *ball);
    assert_ok(abut_cloth_set_body_pose(s.c, 0, pose_at(0, 0, -0.01)));
    assert_ok(abut_cloth_set_targets(s.c, 0, &moved_pin, abut_array_host(&to), 1));
    assert_refused("abut_cloth_untangle() moves sheets apart", abut_cloth_step(s.c, 0.01, NULL));
    assert_true(untangle(s.c).is_free);
    assert_memory_equal(before + 1, positions_of(s.c) + 1, 6 * sizeof *before);
    assert_memory_equal(ball, positions_of(s.c) + first, count * sizeof *ball);
    vec velocities[FLAT_VERTICES], none[FLAT_VERTICES] = {{0, 0, 0}}, aims[FLAT_VERTICES];
    assert_ok(abut_cloth_get_velocities(s.c, 0, abut_array_host(velocities)));
    assert_memory_equal(none, velocities, sizeof none);
    assert_ok(abut_cloth_get_aims(s.c, 0, abut_array_host(aims)));
    assert_memory_equal(positions_of(s.c), aims, sizeof aims);
    assert_true(step(s.c, 1.0 / 60, NULL).fraction == 1 && is_free(s.c));
    for (uint32_t v = 0; v < count; v++)
        assert_close(positions_of(s.c)[first + v].z, ball[v].z - 0.01, 1e-6);
    const vec there = cloth_round(to);
    assert_memory_equal(&there, &positions_of(s.c)[moved_pin], sizeof there);
    destroy_crossing(&s);
}

/* If nothing may move, the call says so, and the next step fails as before. */
TEST(failures_are_reported) {
    crossing s = {0};
    assert_ok(create_crossing(serial, NULL, FLAT_VERTICES, &s));
    abut_cloth_attachment pins[36];
    uint32_t all[36];
    for (uint32_t v = 0; v < 36; v++)
        all[v] = v;
    assert_ok(abut_cloth_bind(s.c, 1, ABUT_NONE, all, 36, 0, pins));
    assert_ok(abut_cloth_attach(s.c, 1, pins, 36));
    abut_cloth_untangle_options options = abut_cloth_untangle_options_default();
    abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
    vec before[FLAT_VERTICES + 36];
    memcpy(before, positions_of(s.c), sizeof before);
    options.iterations = 5;
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(abut_cloth_untangle(s.c, &options, &report));
        assert_true(!report.is_free && report.iterations == 5 && report.pairs > 0);
        assert_true(report.pairs <= report.pairs_before);
        assert_true(report.pairs == count_intersections(s.c) && !is_free(s.c));
        assert_true(report.bounds.lo.x < report.bounds.hi.x && report.bounds.lo.z < 0.2);
        assert_true(report.gap == 0);
        for (uint32_t v = 1; v < FLAT_VERTICES + 36; v++) /* vertex 0 has a spring */
            assert_memory_equal(&before[v], &positions_of(s.c)[v], sizeof *before);
        assert_refused("intersects triangle", abut_cloth_step(s.c, 0.01, NULL));
    }
    destroy_crossing(&s);
}

/* Sheets in exactly one place come apart. Seams of one sheet are an error. */
TEST(coincident_sheets_come_apart) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 8, 1, pose_at(0, 0, 0));
    const cloth_options options = {.bend = 1e-4};
    abut_cloth *c = make_cloth(sheet, NULL, &options);
    uint32_t index;
    assert_ok(abut_cloth_add_sheet(c, sheet, NULL, &index));
    assert_true(untangle(c).is_free);
    step(c, 1.0 / 60, NULL);
    assert_true(is_free(c));
    abut_cloth_destroy(c);
    abut_mesh *beside = make_shape_at(ABUT_SHAPE_SHEET, 8, 1, pose_at(1, 1, 0));
    for (uint32_t pinned = 0; pinned < 2; pinned++) { /* of two corners the free one moves */
        const uint32_t corner = pinned ? 0 : 80;
        abut_cloth_attachment pin;
        c = make_cloth(sheet, NULL, &options);
        assert_ok(abut_cloth_add_sheet(c, beside, NULL, &index));
        assert_ok(abut_cloth_bind(c, pinned, ABUT_NONE, &corner, 1, 0, &pin));
        assert_ok(abut_cloth_attach(c, pinned, &pin, 1));
        assert_true(untangle(c).is_free);
        step(c, 1.0 / 60, NULL);
        abut_cloth_destroy(c);
    }
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(beside);
    const abut_vec3 seam[6] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1.5, 0}};
    abut_mesh *mesh = test_mesh(serial, seam, 6, NULL, 0);
    c = make_cloth(mesh, NULL, &options);
    assert_refused("abut_cloth_untangle: vertex 1 of sheet 0 and vertex 3 of sheet 0 are at the "
                   "same position",
                   abut_cloth_untangle(c, NULL, NULL));
    for (uint32_t v = 0; v < 6; v++)
        assert_memory_equal(&seam[v], &positions_of(c)[v], sizeof *seam);
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
}

/* With ignore_self only bodies matter. */
TEST(sheets_that_may_pass_are_left_alone) {
    abut_mesh *sheet = make_shape_at(ABUT_SHAPE_SHEET, 8, 1, pose_at(0, 0, 0));
    abut_mesh *ball = make_shape_at(ABUT_SHAPE_ICOSPHERE, 4, 0.2, pose_at(0.4, 0.4, 0));
    const abut_pose aside = {{0.7, 0, 0, 0.7}, {0, -0.3, 0}};
    abut_mesh *steep = make_shape_at(ABUT_SHAPE_SHEET, 7, 0.5, aside);
    const cloth_options options = {.ignore_self = true};
    abut_cloth *c = make_cloth(sheet, ball, &options);
    abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
    uint32_t index;
    assert_ok(abut_cloth_add_sheet(c, steep, NULL, &index));
    assert_ok(abut_cloth_untangle(c, NULL, &report));
    assert_true(report.is_free && report.pairs_before > 0 && report.pairs == 0);
    assert_false(is_free(c)); /* the sheets still cross */
    step(c, 1.0 / 60, NULL);
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(steep);
    abut_mesh_destroy(ball);
}

/* ---- threads, memory, cancellation, arguments ---- */

TEST_THREADS(threads_do_not_change_bits) {
    static const uint32_t threads[3] = {1, 2, 5};
    vec *at[3];
    for (int k = 0; k < 3; k++) {
        abut_context *context = test_context(NULL, threads[k]);
        test_random random = {7};
        tangle t = make_tangle(context, TANGLE_BULGE, &random);
        t.c->grain = 16;
        assert_true(untangle(t.c).is_free);
        step(t.c, 1.0 / 60, NULL);
        at[k] = malloc(t.c->vertices * sizeof *at[k]);
        assert_non_null(at[k]);
        memcpy(at[k], positions_of(t.c), t.c->vertices * sizeof *at[k]);
        if (k)
            assert_memory_equal(at[0], at[k], t.c->vertices * sizeof *at[k]);
        destroy_tangle(&t);
        abut_context_destroy(context);
    }
    for (int k = 0; k < 3; k++)
        free(at[k]);
}

static abut_status untangle_crossing(abut_context *context, void *data) {
    crossing s = {0};
    abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
    abut_status status = create_crossing(context, NULL, 7, &s);
    vec before[FLAT_VERTICES], now[FLAT_VERTICES];
    (void)data;
    NEXT(abut_cloth_get_positions(s.c, 0, abut_array_host(before)));
    if (!status) {
        status = abut_cloth_untangle(s.c, NULL, &report);
        if (status) {
            assert_int_equal(0, report.iterations);
            assert_ok(abut_cloth_get_positions(s.c, 0, abut_array_host(now)));
            assert_memory_equal(before, now, sizeof before);
        }
    }
    if (!status)
        assert_true(report.is_free);
    NEXT(abut_cloth_step(s.c, 0.01, NULL));
    destroy_crossing(&s);
    return status;
}

TEST(failing_allocations_change_nothing) {
    assert_true(test_every_allocation(untangle_crossing, NULL) > 50);
}

typedef struct stopper {
    uint32_t calls, stop_at, ours;
} stopper;

static bool stop(void *user, const char *stage, double fraction) {
    stopper *s = user;
    assert_true(fraction >= 0 && fraction <= 1);
    s->ours += !strcmp(stage, "untangle");
    return ++s->calls != s->stop_at;
}

/* Cancelled at any call, it changes nothing, and a later call does as if there had been none. */
TEST(cancelled_calls_change_nothing) {
    const double before = abuti_progress_interval;
    stopper s = {0};
    abut_context *context = test_watched(stop, &s);
    vec result[2][FLAT_VERTICES];
    abuti_progress_interval = 0;
    for (int turn = 0; turn < 2; turn++) {
        crossing t = {0};
        assert_ok(create_crossing(context, NULL, 7, &t));
        size_t bytes[2];
        uint32_t cancelled = 0;
        abut_status status = ABUT_ERROR_CANCELLED;
        unsigned char *saved = save_cloth(t.c, &bytes[0]);
        for (uint32_t n = turn ? 1 : 0; status == ABUT_ERROR_CANCELLED; n += 1 + n / 8) {
            s = (stopper){.stop_at = n};
            status = abut_cloth_untangle(t.c, NULL, NULL);
            cancelled += status != ABUT_OK;
            if (!status)
                break;
            assert_int_equal(ABUT_ERROR_CANCELLED, status);
            s = (stopper){0};
            unsigned char *now = save_cloth(t.c, &bytes[1]);
            assert_true(bytes[0] == bytes[1] && memcmp(saved, now, bytes[0]) == 0);
            free(now);
        }
        assert_ok(status);
        assert_true(s.ours > 0 && (turn ? cancelled > 5 : !cancelled));
        assert_true(is_free(t.c));
        memcpy(result[turn], positions_of(t.c), sizeof result[turn]);
        free(saved);
        destroy_crossing(&t);
    }
    assert_memory_equal(result[0], result[1], sizeof result[0]);
    abuti_progress_interval = before;
    abut_context_destroy(context);
}

TEST(refusals) {
    abut_cloth_untangle_options options = abut_cloth_untangle_options_default();
    abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
    abut_cloth *c = NULL;
    abut_mesh *ball = NULL, *sheet = make_shape(ABUT_SHAPE_SHEET, 3);
    abut_radial *fields = NULL;
    uint32_t index;
    assert_refused("cloth is null", abut_cloth_untangle(NULL, &options, &report));
    assert_ok(abut_cloth_create(serial, NULL, &c));
    options.size = 0;
    assert_refused("abut_cloth_untangle", abut_cloth_untangle(c, &options, &report));
    options = abut_cloth_untangle_options_default();
    report.size = 0;
    assert_refused("abut_cloth_untangle", abut_cloth_untangle(c, &options, &report));
    report = abut_cloth_untangle_report_default();
    assert_ok(make_ball(serial, 0.4, NULL, &ball, &fields));
    assert_ok(abut_cloth_add_sheet(c, sheet, NULL, &index));
    assert_ok(abut_cloth_add_radial(c, fields));
    assert_refused("the cloth has radial fields", abut_cloth_untangle(c, &options, &report));
    abut_cloth_destroy(c);
    abut_radial_destroy(fields);
    abut_mesh_destroy(ball);
    abut_mesh_destroy(sheet);
}

int main(void) {
    return run_serial();
}
