/* Garments on characters: they fit, and stay free of the body and of themselves. */
#include "support/support.h"

#include "figure.h"
#include "garment.h"
#include "parts.h"
#include "scenes.h"

#include <math.h>
#include <stdlib.h>

static abut_context *serial;

static const abut_vec3 up = {0, 0, 1};

static bool is_free(cloth *c) {
    bool answer = false;
    assert_ok(cloth_is_free(c, &answer));
    return answer;
}

TEST(garments_are_around_the_body) {
    abut_character *figure = NULL;
    assert_ok(figure_create(serial, 1500, &figure));
    abut_mesh *body = abut_character_rest(figure);
    abut_bvh *bvh = NULL;
    assert_ok(abut_bvh_create(body, NULL, &bvh));
    for (int kind = 0; kind < 2; kind++) {
        garment_options options = {.kind = (garment_kind)kind,
                                   .triangles = 1000,
                                   .up = up,
                                   .ease = 0.02};
        abut_mesh *mesh = NULL;
        uint32_t held = 0;
        assert_ok(garment_create(serial, body, &options, &mesh, &held));
        uint32_t count = abut_mesh_triangle_count(mesh);
        assert_true(count > 700 && count < 1400);
        assert_true(held > 5 && held < 100);
        abut_mesh_report report;
        abut_topology *topology = NULL;
        assert_ok(abut_topology_create(mesh, &topology));
        assert_ok(abut_mesh_examine(topology, &report));
        assert_int_equal(kind ? 1 : 2, report.loop_count);
        abut_topology_destroy(topology);
        double top = abut_mesh_bounds(mesh).hi.z;
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
            abut_vec3 p = vec_add(abut_mesh_origin(mesh), abut_mesh_positions(mesh)[i]);
            abut_nearest near;
            assert_ok(abut_nearest_point(bvh, p, HUGE_VAL, &near));
            assert_true(near.distance > 0.005 && near.distance < 0.4);
            assert_true(i >= held || p.z > top - 1e-6);
        }
        abut_mesh_destroy(mesh);
    }
    abut_bvh_destroy(bvh);
    abut_character_destroy(figure);
}

/* Both garments over whole seconds of a dance: the body arrives where it is to be, the garment does
 * not fall, and no frame has an intersection. */
TEST(dressed_figures_dance) {
    const uint32_t frames = test_brief() ? 6 : test_rounds(30) + 20;
    abut_character *figure = NULL;
    assert_ok(figure_create(serial, test_brief() ? 300 : 600, &figure));
    for (int kind = SCENE_DRESS; kind <= SCENE_CAPE; kind++) {
        scene_options options = {.kind = (scene_kind)kind,
                                 .triangles = 500,
                                 .character = figure,
                                 .up = up};
        scene *s = NULL;
        assert_ok(scene_create(serial, &options, &s));
        cloth *c = scene_cloth(s);
        assert_true(is_free(c));
        double before = abut_mesh_bounds(scene_mesh(s, 0)).hi.z;
        uint32_t contacts = 0;
        for (uint32_t frame = 0; frame < frames; frame++) {
            cloth_report report;
            assert_ok(scene_step(s, &report));
            assert_true(report.fraction == 1);
            assert_true(report.latest < 0.02);
            contacts += report.contacts;
            if (!is_free(c))
                fail_msg("%s: frame %u has an intersection", scene_name((scene_kind)kind), frame);
        }
        abut_mesh *now = NULL;
        assert_ok(cloth_mesh(c, 0, &now));
        assert_true(abut_mesh_bounds(now).hi.z > before - 0.15);
        assert_true(contacts > 3 * frames);
        abut_box view = scene_view(s);
        assert_true(view.hi.z - view.lo.z > 1.4 && view.hi.z - view.lo.z < 1.8);
        abut_mesh_destroy(now);
        scene_destroy(s);
    }
    abut_character_destroy(figure);
}

/* The same by radial fields: no vertex ends a frame deeper inside the body than a cell, with the
 * same bits on two threads. */
TEST_THREADS(radial_fields_keep_vertices_out) {
    const uint32_t frames = test_brief() ? 2 : test_rounds(10) + 5;
    vec *ends[2] = {NULL, NULL};
    uint32_t count = 0;
    for (int k = 0; k < 2; k++) {
        test_memory memory = {.fail_at = 0};
        abut_context *context = test_context(&memory, 1 + (uint32_t)k);
        abut_character *figure = NULL;
        scene *s = NULL;
        uint32_t hits = 0;
        assert_ok(figure_create(context, 1000, &figure));
        scene_options options = {.kind = SCENE_DRESS,
                                 .triangles = 600,
                                 .character = figure,
                                 .up = up,
                                 .radial = true,
                                 .grain = 64};
        assert_ok(scene_create(context, &options, &s));
        for (uint32_t frame = 0; frame < frames; frame++) {
            cloth_report report;
            double depth = 1;
            assert_ok(scene_step(s, &report));
            assert_ok(scene_depth(s, &depth));
            assert_true(depth < SCENE_CELL && report.deepest < SCENE_CELL);
            hits += report.impacts;
        }
        assert_true(hits > 60 * frames);
        count = cloth_vertex_count(scene_cloth(s));
        ends[k] = malloc(count * sizeof **ends);
        assert_non_null(ends[k]);
        memcpy(ends[k], cloth_positions(scene_cloth(s)), count * sizeof **ends);
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
    abut_character *figure = NULL;
    scene *s = NULL;
    assert_ok(figure_create(serial, 600, &figure));
    scene_options options = {.kind = SCENE_DRESS, .triangles = 500};
    assert_refused("needs a character", scene_create(serial, &options, &s));
    options.character = figure;
    options.clip = 1;
    assert_refused("no such clip", scene_create(serial, &options, &s));
    options.clip = 0;
    options.up.x = (double)NAN;
    assert_refused("up must be finite", scene_create(serial, &options, &s));
    abut_mesh *large = NULL, *garment = NULL;
    uint32_t held;
    assert_ok(abut_mesh_transform(abut_character_rest(figure), 100, (abut_pose){0}, &large));
    garment_options centimetres = {.triangles = 500, .up = up, .ease = 1};
    assert_refused("metres tall", garment_create(serial, large, &centimetres, &garment, &held));
    assert_null(garment);
    assert_null(s);
    abut_mesh_destroy(large);
    abut_character_destroy(figure);
}

static abut_status cut_small(abut_context *context, void *data) {
    const garment_options options = {.triangles = 100, .up = up, .ease = 0.02};
    abut_mesh *garment = NULL;
    uint32_t held;
    abut_status status = garment_create(context, data, &options, &garment, &held);
    abut_mesh_destroy(garment);
    return status;
}

/* The rest has its own tests of it; whole scenes take minutes under sanitizers. */
TEST(out_of_memory) {
    abut_character *figure = NULL;
    assert_ok(figure_create(serial, 150, &figure));
    assert_true(test_every_allocation(cut_small, abut_character_rest(figure)) > 5);
    abut_character_destroy(figure);
}

int main(void) {
    serial = test_context(NULL, 1);
    int failed = test_run(NULL, NULL);
    abut_context_destroy(serial);
    return failed;
}
