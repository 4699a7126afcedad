/* View-based culling against the complete search, over every frame of the scenes of cloth: steps
 * to the final positions, to the aims before collision response, and several times as far.
 * Results are equal for every scheme, and equal to those of all pairs of features. */
#include "self/deform.h"

#include "cloth_scene.h"

enum {
    GOES = 0, /* steps lead to the next frame: free, and each starts where the last one ended */
    AIMS,     /* to where vertices were about to go */
    LEAPS,    /* much further that way: there are impacts */
    WAYS
};

enum { VIEWS = 7, AUTOS = 2, LEAP = 24, BRUTE_EVERY = 16 };

typedef struct scheme {
    abut_self_scheme scheme;
    bool box_boundary, exact;
    bool companion; /* the line is that of the solid */
} scheme;

static const scheme schemes[VIEWS] = {{ABUT_SELF_POINT, false, false, false},
                                      {ABUT_SELF_LINE, false, false, false},
                                      {ABUT_SELF_AUTO, false, false, false},
                                      {ABUT_SELF_LINE, true, false, false},
                                      {ABUT_SELF_AUTO, false, true, false},
                                      {ABUT_SELF_POINT, true, true, true},
                                      {ABUT_SELF_LINE, false, false, true}};

typedef struct pursuit {
    abut_mesh *mesh;
    uint32_t count, all;
    abut_sweep *motion;
    abut_self *views[WAYS][VIEWS];
    abut_vec3 *start, *end; /* of the solid too, which comes second */
    uint32_t hits[WAYS], steps[WAYS], by_sets;
} pursuit;

static void open_views(pursuit *p, const scene *s) {
    abut_mesh *mesh = scene_mesh(s, 0);
    p->mesh = mesh;
    p->count = abut_mesh_vertex_count(mesh);
    p->all = scene_vertex_count(s);
    p->start = malloc(p->all * sizeof *p->start);
    p->end = malloc(p->all * sizeof *p->end);
    assert_true(p->start && p->end);
    assert_ok(abut_sweep_create(&mesh, 1, NULL, &p->motion));
    for (int way = 0; way < WAYS; way++)
        for (int k = 0; k < VIEWS; k++) {
            abut_self_options options = abut_self_options_default();
            options.scheme = schemes[k].scheme;
            options.box_boundary = schemes[k].box_boundary;
            assert_ok(abut_self_create(mesh, &options, &p->views[way][k]));
        }
}

static void close_views(pursuit *p) {
    for (int way = 0; way < WAYS; way++)
        for (int k = 0; k < VIEWS; k++)
            abut_self_destroy(p->views[way][k]);
    abut_sweep_destroy(p->motion);
    free(p->start);
    free(p->end);
}

static void check_against_all(const pursuit *p, const abut_impact_list *impacts) {
    box3 box = box_empty();
    for (uint32_t i = 0; i < p->count; i++)
        box = box_grow(box, p->start[i]);
    vec3 side = v3_sub(box.hi, box.lo);
    double tolerance = SWEEP_TOLERANCE * real_max(side.x, real_max(side.y, side.z));
    brute_hit truth = brute_find(p->mesh, p->start, p->end, tolerance);
    assert_int_equal(truth.time <= 1, impacts->count);
    assert_true(!impacts->count || truth.time == impacts->list[0].time);
}

/* One step, from `start` to `end`, by every scheme. */
static void check_step(pursuit *p, int way, bool against_all) {
    abut_impact impact[2];
    abut_impact_list impacts[2] = {{&impact[0], 1, 0},
                                   {&impact[1], 1, 0}}; /* the second: exactly */
    abut_sweep_find_options sweep = abut_sweep_find_options_default();
    abut_self_step step = abut_self_step_default();
    abut_self_line line;
    assert_ok(abut_self_fit_line(p->start + p->count, p->end + p->count, p->all - p->count, &line));
    assert_ok(
        abut_sweep_set_positions(p->motion, abut_array_host(p->start), abut_array_host(p->end)));
    for (int k = 0; k < 2; k++) {
        sweep.exact = k;
        assert_ok(abut_sweep_find(p->motion, ABUT_SWEEP_EARLIEST, &sweep, &impacts[k], NULL));
    }
    step.start = abut_array_host(p->start);
    step.end = abut_array_host(p->end);
    for (int k = 0; k < VIEWS; k++) {
        const abut_impact_list *truth = &impacts[schemes[k].exact];
        abut_self_result result = abut_self_result_default();
        sweep.exact = schemes[k].exact;
        step.line = schemes[k].companion ? &line : NULL;
        assert_ok(abut_self_find(p->views[way][k], &step, &sweep, &result));
        assert_int_equal(truth->count, result.hit);
        p->by_sets += schemes[k].scheme != ABUT_SELF_AUTO && result.scheme != ABUT_SELF_COMPLETE;
        if (!result.hit)
            continue;
        assert_true(truth->list->time == result.impact.time);
        assert_int_equal(truth->list->kind, result.impact.kind);
        assert_int_equal(truth->list->element[0], result.impact.element[0]);
        assert_int_equal(truth->list->element[1], result.impact.element[1]);
    }
    if (against_all)
        check_against_all(p, &impacts[0]);
    p->hits[way] += impacts[0].count > 0;
    p->steps[way]++;
}

static void follow(pursuit *p, scene *s, uint32_t frames) {
    abut_vec3 *aims = malloc(p->all * sizeof *aims);
    assert_non_null(aims);
    for (uint32_t frame = 0; frame < frames; frame++) {
        abut_cloth_report report = abut_cloth_report_default();
        bool against_all = frame % BRUTE_EVERY == BRUTE_EVERY / 2;
        assert_ok(scene_get_positions(s, p->start, NULL));
        assert_ok(scene_step(s, &report));
        assert_ok(scene_get_positions(s, p->end, aims));
        check_step(p, GOES, against_all);
        memcpy(p->end, aims, p->all * sizeof *p->end);
        check_step(p, AIMS, against_all);
        for (uint32_t i = 0; i < p->all; i++)
            p->end[i] = v3_along(p->start[i], LEAP, v3_sub(p->end[i], p->start[i]));
        check_step(p, LEAPS, against_all);
    }
    free(aims);
}

static void run_scene(scene_kind kind) {
    scene *s = NULL;
    pursuit p = {0};
    scene_options options = {.kind = kind, .triangles = 240, .solid_triangles = 160};
    uint32_t frames = test_rounds(8) + 20;
    assert_ok(scene_create(one_thread(), &options, &s));
    open_views(&p, s);
    follow(&p, s, frames);
    assert_int_equal(0, p.hits[GOES]);
    assert_true(p.hits[LEAPS] > 3 && p.hits[LEAPS] < frames);
    /* nearly all were found by sets, and not by the complete search in their place, but where AUTO
     * may choose that */
    assert_true(p.by_sets > WAYS * (VIEWS - AUTOS) * frames * 9 / 10);
    close_views(&p);
    scene_destroy(s);
}

TEST(ball) {
    run_scene(SCENE_BALL);
}

TEST(sleeve) {
    run_scene(SCENE_SLEEVE);
}

TEST(sheet) {
    run_scene(SCENE_SHEET);
}
