/* Garments on characters: they fit, and stay free of the body and of themselves. */
#include "character/character.h"
#include "fixture.h"

#include <stdio.h>

static abut_character *walker; /* of all tests: made by the first that needs it */

static abut_character *woman(void) {
    abut_character_figure_options options = abut_character_figure_options_default();
    options.figure = ABUT_CHARACTER_FIGURE_FEMALE;
    options.triangles = ABUT_CHARACTER_FIGURE_TRIANGLES_MIN;
    if (!walker)
        assert_ok(abut_character_create_figure(serial, &options, &walker));
    return walker;
}

/* The same in another context, without making its surface again. */
static abut_character *twin_of(const abut_character *from, abut_context *context) {
    enum { EACH = ABUT_CHARACTER_WEIGHT_COUNT };
    abut_character_input input = abut_character_input_default();
    abut_character *character = NULL;
    const size_t room = from->info.vertex_count * (size_t)EACH;
    uint32_t *bones = calloc(room, sizeof *bones);
    double *weights = calloc(room, sizeof *weights);
    assert_true(bones && weights);
    for (uint32_t v = 0; v < from->info.vertex_count; v++)
        abut_character_weights(from, v, bones + v * (size_t)EACH, weights + v * (size_t)EACH);
    input.mesh = abut_character_rest_mesh(from);
    input.bone_count = from->info.bone_count;
    input.bones = from->bones;
    input.weight_count = EACH;
    input.weight_bones = bones;
    input.weights = weights;
    input.clip_count = from->info.clip_count;
    input.clips = from->clips;
    assert_ok(abut_character_create(context, &input, &character));
    free(bones);
    free(weights);
    return character;
}

/* Garments on a body that walks, and a cape on one that stands in the wind: the body arrives where
 * it is to be, the garment does not fall, and no frame has an intersection. */
TEST(dressed_figures_walk) {
    const uint32_t frames = test_brief() ? 3 : test_rounds(4) + 10;
    abut_character *figure = woman();
    for (int kind = SCENE_DRESS; kind <= (test_brief() ? SCENE_DRESS : SCENE_TROUSERS_AND_TOP);
         kind++) {
        scene_options options = {.kind = (scene_kind)kind,
                                 .triangles = 2000,
                                 .character = figure,
                                 .clip = kind == SCENE_CAPE ? ABUT_NONE : 0,
                                 .windy = kind == SCENE_CAPE};
        scene *s = NULL;
        assert_ok(scene_create(serial, &options, &s));
        abut_cloth *c = scene_cloth(s);
        assert_true(is_free(c));
        double before = abut_mesh_bounds(scene_mesh(s, 0)).hi.y;
        uint32_t contacts = 0;
        for (uint32_t frame = 0; frame < frames; frame++) {
            abut_cloth_report report = abut_cloth_report_default();
            assert_ok(scene_step(s, &report));
            assert_true(report.fraction == 1);
            assert_true(report.lag < 0.02);
            contacts += report.contacts;
            if (!is_free(c))
                fail_msg("%s: frame %u has an intersection", scene_name((scene_kind)kind), frame);
        }
        abut_mesh *now = NULL;
        assert_ok(abut_cloth_create_mesh(c, 0, &now));
        assert_true(abut_mesh_bounds(now).hi.y > before - 0.15);
        assert_true(contacts > 30 * frames);
        abut_box view = scene_view(s);
        assert_true(view.hi.y - view.lo.y > 1.4 && view.hi.y - view.lo.y < 1.8);
        abut_mesh_destroy(now);
        scene_destroy(s);
    }
}

/* From the rest pose into a walk. */
static void walk_to(const abut_character *figure, double time, abut_character_matrix *bones,
                    vec *body) {
    abut_character_pose_options into = abut_character_pose_options_default();
    into.clip = ABUT_NONE;
    into.blend = fmin(time, 1);
    into.other_time = time;
    assert_ok(abut_character_pose(figure, &into, bones));
    assert_ok(abut_character_skin(figure, bones, ABUT_CHARACTER_SKINNING_LINEAR, body));
}

/* An overcoat over trousers and top over a body that walks: three layers, none of which passes
 * through another. */
TEST(garments_over_garments) {
    const uint32_t frames = test_brief() ? 2 : test_rounds(8) + 8;
    const abut_garment_kind kinds[2] = {ABUT_GARMENT_TROUSERS_AND_TOP, ABUT_GARMENT_OVERCOAT};
    const double eases[2] = {0.012, 0.045};
    abut_character *figure = woman();
    abut_mesh *body = abut_character_rest_mesh(figure);
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material material = abut_cloth_material_default();
    abut_garment *garments[2] = {NULL, NULL};
    abut_cloth *c = NULL;
    uint32_t index, contacts = 0;
    options.gravity.y = -9.81;
    options.substeps = 20;
    options.body_may_lag = true;
    material.stretch = 150;
    material.bend = 5e-5;
    material.friction = 0.3;
    material.damping = 0.2;
    assert_ok(abut_cloth_create(serial, &options, &c));
    for (int k = 0; k < 2; k++) {
        abut_garment_options cut = abut_garment_options_default();
        cut.kind = kinds[k];
        cut.ease = eases[k];
        cut.particles = ABUT_GARMENT_PARTICLES_MIN;
        assert_ok(abut_garment_create(figure, &cut, &garments[k]));
        abut_mesh *sheet = abut_character_rest_mesh(abut_garment_character(garments[k]));
        assert_ok(abut_cloth_add_sheet(c, sheet, &material, &index));
        assert_int_equal(k, index);
    }
    assert_ok(abut_cloth_add_body(c, body, NULL, &index));
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t count;
        const uint32_t *pins = abut_garment_pins(garments[k], &count);
        abut_cloth_attachment *list = malloc((count + 1) * sizeof *list);
        assert_non_null(list);
        assert_ok(abut_cloth_bind(c, k, 0, pins, count, 50, list));
        assert_ok(abut_cloth_attach(c, k, list, count));
        free(list);
    }
    abut_character_info info = abut_character_info_default();
    assert_ok(abut_character_get_info(figure, &info));
    abut_character_matrix *bones = malloc(info.bone_count * sizeof *bones);
    vec *to = malloc(info.vertex_count * sizeof *to);
    assert_true(bones && to);
    for (uint32_t frame = 1; frame <= frames; frame++) {
        abut_cloth_report report = abut_cloth_report_default();
        walk_to(figure, frame / 30.0, bones, to);
        assert_ok(abut_cloth_set_body_positions(c, 0, abut_array_host(to)));
        assert_ok(abut_cloth_step(c, 1.0 / 30, &report));
        assert_true(report.fraction == 1 && report.lag < 0.02);
        contacts += report.contacts;
        if (!is_free(c))
            fail_msg("frame %u has an intersection", frame);
    }
    assert_true(contacts > 100 * frames);
    free(bones);
    free(to);
    abut_cloth_destroy(c);
    for (int k = 0; k < 2; k++)
        abut_garment_destroy(garments[k]);
}

/* A dress by radial fields: no vertex ends a frame deeper inside the body than a cell, with the
 * same bits on two threads. */
TEST_THREADS(radial_fields_keep_vertices_out) {
    const uint32_t frames = test_brief() ? 1 : test_rounds(4) + 2;
    vec *ends[2] = {NULL, NULL};
    uint32_t count = 0;
    for (int k = 0; k < 2; k++) {
        test_memory memory = {.fail_at = 0};
        abut_context *context = test_context(&memory, 1 + (uint32_t)k);
        abut_character *figure = twin_of(woman(), context);
        scene *s = NULL;
        uint32_t hits = 0;
        scene_options options = {
            .kind = SCENE_DRESS,
            .triangles = 2000,
            .character = figure,
            .radial = true,
        };
        assert_ok(scene_create(context, &options, &s));
        scene_cloth(s)->grain = 64;
        for (uint32_t frame = 0; frame < frames; frame++) {
            abut_cloth_report report = abut_cloth_report_default();
            double depth = 1;
            assert_ok(scene_step(s, &report));
            assert_ok(scene_depth(s, &depth));
            assert_true(depth < SCENE_CELL && report.depth < SCENE_CELL);
            hits += report.impacts;
        }
        assert_true(test_brief() || hits > 60 * frames); /* in the first frame it is loose */
        count = scene_vertex_count(s);
        ends[k] = malloc(count * sizeof **ends);
        assert_non_null(ends[k]);
        memcpy(ends[k], positions_of(scene_cloth(s)), count * sizeof **ends);
        scene_destroy(s);
        abut_character_destroy(figure);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
    }
    assert_memory_equal(ends[0], ends[1], count * sizeof **ends);
    free(ends[0]);
    free(ends[1]);
}

TEST(refusals) {
    abut_character *figure = woman();
    scene *s = NULL;
    scene_options options = {.kind = SCENE_DRESS};
    assert_refused("needs a character", scene_create(serial, &options, &s));
    options.character = figure;
    options.clip = 3;
    assert_refused("no such clip", scene_create(serial, &options, &s));
    options.clip = ABUT_NONE;
    options.up.x = (double)NAN;
    assert_refused("up must be finite", scene_create(serial, &options, &s));
    options.up.x = 0;
    options.triangles = 1000000;
    assert_fails(ABUT_ERROR_LIMIT, "at most 398000", scene_create(serial, &options, &s));
    assert_null(s);
}

/* A garment that was cut for the rest pose, on a body some frames later: legs and arms stick out of
 * it. It is untangled and then simulated. ABUT_TEST_PRINT=1 prints each. */
TEST(garments_on_another_pose_are_untangled) {
    const uint32_t rounds = test_brief() ? 1 : test_rounds(16) + 1;
    abut_character *figure = woman();
    abut_mesh *rest = abut_character_rest_mesh(figure);
    abut_character_info info = abut_character_info_default();
    assert_ok(abut_character_get_info(figure, &info));
    abut_character_matrix *bones = malloc(info.bone_count * sizeof *bones);
    vec *to = malloc(info.vertex_count * sizeof *to);
    assert_true(bones && to);
    for (uint32_t kind = 0; kind < 2; kind++) {
        abut_garment_options cut = abut_garment_options_default();
        abut_garment *garment = NULL;
        uint32_t crossed = 0;
        cut.kind = kind ? ABUT_GARMENT_TROUSERS_AND_TOP : ABUT_GARMENT_DRESS;
        cut.particles = ABUT_GARMENT_PARTICLES_MIN;
        assert_ok(abut_garment_create(figure, &cut, &garment));
        for (uint32_t round = 0; round < rounds; round++) {
            const double time = 0.15 + 0.25 * (round + 1) / rounds;
            abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
            abut_cloth *c = NULL;
            uint32_t index;
            walk_to(figure, time, bones, to);
            abut_mesh *body = test_mesh(serial, to, info.vertex_count, abut_mesh_indices(rest),
                                        abut_mesh_triangle_count(rest));
            assert_ok(abut_cloth_create(serial, NULL, &c));
            assert_ok(
                abut_cloth_add_sheet(c, abut_character_rest_mesh(abut_garment_character(garment)),
                                     NULL, &index));
            assert_ok(abut_cloth_add_body(c, body, NULL, &index));
            assert_ok(abut_cloth_untangle(c, NULL, &report));
            crossed += report.pairs_before > 0;
            if (getenv("ABUT_TEST_PRINT"))
                printf("garment %u at %.2f s: %llu pairs, %llu remain, %u iterations, moved %.3f, "
                       "gap %g, %.2f s\n",
                       kind, time, (unsigned long long)report.pairs_before,
                       (unsigned long long)report.pairs, report.iterations, report.distance,
                       report.gap, report.seconds);
            assert_true(report.is_free && report.distance < 0.2);
            for (int i = 0; i < 3; i++)
                assert_true(step(c, 1.0 / 30, NULL).fraction == 1 && is_free(c));
            abut_cloth_destroy(c);
            abut_mesh_destroy(body);
        }
        assert_true(crossed > 0);
        abut_garment_destroy(garment);
    }
    free(bones);
    free(to);
}

int main(void) {
    serial = test_context(NULL, 1);
    int failed = test_run(NULL, NULL);
    abut_character_destroy(walker);
    abut_context_destroy(serial);
    return failed;
}
