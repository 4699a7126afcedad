/* Scenes that press cloth together: no frame has an intersection, and once the solid does not move,
 * the energy does not grow. */
#include "fixture.h"

/* Energy of jammed cloth fluctuates by a few percent. */
#define GROWTH_MAX 0.1

/* Runs a scene for some frames. Returns the number of impacts. */
static uint32_t run_scene(scene_kind kind, uint32_t triangles, uint32_t frames) {
    scene *s = NULL;
    const scene_options options = {.kind = kind, .triangles = triangles};
    assert_ok(scene_create(serial, &options, &s));
    assert_true(is_free(scene_cloth(s)));
    double start = 0, scale = 0;
    uint32_t impacts = 0;
    for (uint32_t frame = 1; frame <= frames; frame++) {
        abut_cloth_report report = abut_cloth_report_default();
        assert_ok(scene_step(s, &report));
        impacts += report.impacts;
        if (!is_free(scene_cloth(s)))
            fail_msg("%s: frame %u has an intersection", scene_name(kind), frame);
        if (scene_time(s) < scene_rest_time(s) - 1e-9)
            continue;
        const abut_cloth_energy e = energy_of(scene_cloth(s));
        const double sum = e.kinetic + e.gravity + e.elastic;
        if (scale == 0) {
            start = sum;
            scale = e.kinetic + fabs(e.gravity) + e.elastic;
        }
        if (sum > start + GROWTH_MAX * scale)
            fail_msg("%s: the energy grows from %g J to %g J in frame %u", scene_name(kind), start,
                     sum, frame);
    }
    scene_destroy(s);
    return impacts;
}

TEST(twisted_cylinders) {
    assert_true(run_scene(SCENE_TWIST, 300, test_brief() ? 60 : 150) > 0);
}

TEST(knots) {
    assert_true(run_scene(SCENE_KNOT, 600, test_brief() ? 140 : 300) > 0);
}

TEST(piles) {
    assert_true(run_scene(SCENE_PILE, 600, test_brief() ? 40 : 120) > 100);
}

TEST(funnels) {
    assert_true(run_scene(SCENE_FUNNEL, 400, test_brief() ? 60 : 300) > 0);
}

/* The rings turn ten times, and the scenes have the sheets that they should have. */
TEST(scenes_are_complete) {
    const struct {
        scene_kind kind;
        uint32_t sheets, pins;
    } list[] = {{SCENE_TWIST, 1, 20},
                {SCENE_KNOT, 1, 10},
                {SCENE_PILE, 20, 0},
                {SCENE_FUNNEL, 1, 4}};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        scene *s = NULL;
        const scene_options options = {.kind = list[k].kind, .triangles = 3000};
        abut_cloth_info info = abut_cloth_info_default();
        abut_mesh *mesh = NULL;
        assert_ok(scene_create(serial, &options, &s));
        assert_ok(abut_cloth_get_info(scene_cloth(s), &info));
        assert_int_equal(list[k].sheets, info.sheet_count);
        assert_int_equal(1, info.body_count);
        assert_true(info.attachment_count >= list[k].pins);
        assert_true(list[k].pins > 0 || info.attachment_count == 0);
        assert_true(info.triangle_count > 2500 && info.triangle_count < 3500);
        assert_int_equal(info.triangle_count, abut_mesh_triangle_count(scene_mesh(s, 0)));
        assert_ok(scene_create_mesh(s, 0, &mesh));
        assert_int_equal(info.vertex_count, abut_mesh_vertex_count(mesh));
        abut_mesh_destroy(mesh);
        scene_destroy(s);
    }
}

int main(void) {
    return run_serial();
}
