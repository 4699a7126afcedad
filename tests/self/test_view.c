/* The guarantee of view-based culling: from an intersection-free start it finds the first impact
 * of all pairs, for any shape, view primitive, holes and components. */
#include "self/deform.h"

#include "geom/solid_shared.h"
#include "self/self.h"

#include <math.h>

typedef struct promise {
    abut_mesh *mesh;
    abut_self *views[6]; /* complete, complete by boxes, point, line, auto, line box-only */
    abut_sweep *motion;
    uint32_t hits, frees;
} promise;

enum { VIEWS = 6 };

static void open_views(promise *p) {
    const abut_self_scheme schemes[VIEWS] = {ABUT_SELF_COMPLETE, ABUT_SELF_COMPLETE,
                                             ABUT_SELF_POINT,    ABUT_SELF_LINE,
                                             ABUT_SELF_AUTO,     ABUT_SELF_LINE};
    for (int k = 0; k < VIEWS; k++) {
        abut_self_options options = abut_self_options_default();
        options.scheme = schemes[k];
        options.box_boundary = k == 5;
        assert_ok(abut_self_create(p->mesh, &options, &p->views[k]));
    }
    assert_ok(abut_sweep_create(&p->mesh, 1, NULL, &p->motion));
}

static void close_views(promise *p) {
    for (int k = 0; k < VIEWS; k++)
        abut_self_destroy(p->views[k]);
    abut_sweep_destroy(p->motion);
    abut_mesh_destroy(p->mesh);
}

/* The complete search of whole meshes. */
static void check_motion(const promise *p, const abut_vec3 *start, const abut_vec3 *end,
                         brute_hit truth) {
    abut_impact impact;
    abut_impact_list impacts = {&impact, 1, 0};
    assert_ok(abut_sweep_set_positions(p->motion, abut_array_host(start), abut_array_host(end)));
    assert_ok(abut_sweep_find(p->motion, ABUT_SWEEP_EARLIEST, NULL, &impacts, NULL));
    assert_truth(truth, impacts.count, &impact);
}

static void check_result(promise *p, int k, const abut_self_result *r, brute_hit truth) {
    assert_truth(truth, r->hit, &r->impact);
    if (r->reason) { /* AUTO may choose the complete search */
        assert_int_equal(4, k);
        assert_true(r->reason == ABUT_SELF_COST || r->reason == ABUT_SELF_BOUNDARY);
        assert_int_equal(ABUT_SELF_COMPLETE, r->scheme);
    } else if (k > 1) {
        assert_int_equal(abut_mesh_triangle_count(p->mesh),
                         r->sets[0] + r->sets[1] + r->sets[2] + r->sets[3]);
    }
}

/* A random line: mostly inside, sometimes anywhere, still or moving, sometimes a point. */
static abut_self_line random_line(test_random *random, const abut_vec3 *p, uint32_t count) {
    abut_self_line line;
    double size = test_random_below(random, 4) ? 0.2 : 2;
    vec3 mean = v3(0, 0, 0);
    for (uint32_t i = 0; i < count; i++)
        mean = v3_along(mean, 1.0 / count, p[i]);
    bool moves = test_random_below(random, 2);
    for (int k = 0; k < 2; k++) {
        line.start[k] = v3_add(mean, random_vector(random, size));
        line.end[k] =
            moves ? v3_add(line.start[k], random_vector(random, 0.5 * size)) : line.start[k];
    }
    if (test_random_below(random, 8) == 0) {
        line.start[1] = line.start[0];
        line.end[1] = line.end[0];
    }
    return line;
}

/* A step that ends next to its impact: with exact arithmetic yes and no are those of the complete
 * search, and the time of a hit is. */
static void check_near_miss(const promise *p, const abut_vec3 *start, abut_vec3 *end, double time) {
    uint32_t count = abut_mesh_vertex_count(p->mesh);
    abut_sweep_find_options exact = abut_sweep_find_options_default();
    abut_impact impact;
    abut_impact_list impacts = {&impact, 1, 0};
    for (uint32_t i = 0; i < count; i++)
        end[i] = v3_lerp(start[i], end[i], time);
    exact.exact = true;
    abut_self_step step = step_of(start, end);
    assert_ok(abut_sweep_set_positions(p->motion, abut_array_host(start), abut_array_host(end)));
    assert_ok(abut_sweep_find(p->motion, ABUT_SWEEP_EARLIEST, &exact, &impacts, NULL));
    for (int k = 0; k < VIEWS; k++) {
        abut_self_result result = abut_self_result_default();
        assert_ok(abut_self_find(p->views[k], &step, &exact, &result));
        assert_int_equal(impacts.count, result.hit);
        assert_true(!result.hit || result.impact.time == impact.time);
    }
}

/* Steps of random motion; after an impact goes on from shortly before it. */
static void follow(promise *p, test_random *random, uint32_t steps, double size, double noise) {
    uint32_t count = abut_mesh_vertex_count(p->mesh);
    AUTO_FREE abut_vec3 *start = positions_of(p->mesh), *end = positions_of(p->mesh);
    AUTO_FREE abut_vec3 *next = positions_of(p->mesh);
    open_views(p);
    for (uint32_t s = 0; s < steps; s++) {
        random_motion(random, start, end, count, size, noise);
        brute_hit truth = brute_find(p->mesh, start, end, tolerance_of(start, count));
        check_motion(p, start, end, truth);
        abut_self_line line = random_line(random, start, count);
        bool own = test_random_below(random, 3) > 0;
        for (int k = 0; k < VIEWS; k++) {
            abut_self_result result = abut_self_result_default();
            abut_self_step step = step_of(start, end);
            step.line = own ? &line : NULL;
            assert_ok(abut_self_find(p->views[k], &step, NULL, &result));
            check_result(p, k, &result, truth);
        }
        p->hits += truth.time <= 1;
        p->frees += truth.time > 1;
        /* on to the end, or to nine tenths of the way to the impact */
        double share = truth.time <= 1 ? 0.9 * truth.time : 1;
        for (uint32_t i = 0; i < count; i++)
            next[i] = share < 1 ? v3_lerp(start[i], end[i], share) : end[i];
        if (truth.time <= 1)
            check_near_miss(p, start, end, truth.time * (1 + test_random_real(random, 0, 1e-7)));
        memcpy(start, next, count * sizeof *next);
    }
    close_views(p);
}

/* Three at least, so that there are hits and steps without. */
static uint32_t rounds_of(uint32_t full) {
    return test_rounds(full) < 3 ? 3 : test_rounds(full);
}

TEST(test_closed) {
    abut_context *context = one_thread();
    test_random random = {1};
    uint32_t hits = 0, frees = 0;
    for (uint32_t round = 0; round < rounds_of(9); round++) {
        const abut_shape_kind kinds[3] = {ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TORUS, ABUT_SHAPE_BOX};
        promise p = {.mesh = make_shape(context, kinds[round % 3], round % 3 == 1 ? 7 : 3)};
        follow(&p, &random, 16, round % 2 ? 0.5 : 0.25, round % 4 ? 0.05 : 0.0);
        hits += p.hits;
        frees += p.frees;
    }
    assert_true(hits > 0 && frees > 0);
}

TEST(test_open) {
    abut_context *context = one_thread();
    test_random random = {9}; /* a draw that fails without boundary handling, and without pieces */
    uint32_t hits = 0, frees = 0;
    for (uint32_t round = 0; round < rounds_of(12); round++) {
        promise p = {.mesh = make_sheet(context, 6, 6, round % 2)};
        follow(&p, &random, 16, round % 4 < 2 ? 0.8 : 0.4, round % 3 ? 0.05 : 0.0);
        hits += p.hits;
        frees += p.frees;
    }
    assert_true(hits > 0 && frees > 0);
}

TEST(test_parts) {
    abut_context *context = one_thread();
    test_random random = {3};
    uint32_t hits = 0, frees = 0;
    for (uint32_t round = 0; round < rounds_of(8); round++) {
        promise p = {.mesh = round % 2 ? make_two(context, 2.2, 1) : make_two(context, 0.1, 0.6)};
        follow(&p, &random, 12, 0.4, 0.02);
        hits += p.hits;
        frees += p.frees;
    }
    assert_true(hits > 0 && frees > 0);
}

/* A sheet of ALONG x UP quads rolled around the z axis as a spiral. */
enum { ALONG = 14, UP = 4, CURL = (UP + 1) * (ALONG + 1) };

typedef struct curl {
    double angle, radius, slope, bulge;
} curl;

static curl random_curl(test_random *random, double most) {
    double slope = test_random_real(random, 0.03, 0.2);
    curl c = {test_random_real(random, 4, most), test_random_real(random, 0.5, 1),
              test_random_below(random, 2) ? slope : -slope, test_random_real(random, -0.1, 0.1)};
    return c;
}

/* A little further on. */
static curl next_curl(test_random *random, curl c) {
    c.angle = real_clamp(c.angle + test_random_real(random, -2, 2), 4, 11);
    c.slope = real_clamp(c.slope + test_random_real(random, -0.15, 0.15), -0.25, 0.25);
    c.bulge = test_random_real(random, -0.2, 0.2);
    return c;
}

static void roll(test_random *random, curl c, abut_vec3 *p) {
    for (uint32_t i = 0; i < CURL; i++) {
        double u = i % (ALONG + 1) / (double)ALONG, v = i / (ALONG + 1) / (double)UP;
        double at = c.angle * (u - 0.5),
               r = c.radius + c.slope * u + c.bulge * 4 * v * (1 - v) * (u - 0.5);
        p[i] = v3_add(v3(r * cos(at), r * sin(at), 2 * v - 1), random_vector(random, 1e-3));
    }
}

/* Cancels while the flag is set. */
static bool stop_while(void *user, const char *stage, double fraction) {
    (void)stage;
    return !(*(const bool *)user && fraction > 0);
}

typedef struct curling {
    abut_context *context;
    bool stops;
    abut_mesh *mesh;
    abut_self *view;
    curl first, now;
    abut_vec3 start[CURL], end[CURL];
    uint32_t hits, frees, stopped, complete;
} curling;

/* How often the mesh and its ghosts, which close it, wind around a place at the start. */
static int winding_of(const abut_self *view, vec3 at) {
    double sum = 0;
    for (uint32_t i = 0; i < view->triangle_count + view->ghost_count; i++) {
        const uint32_t *corner = view->corners + 3 * i;
        triangle3 t = {{view->start[corner[0]], view->start[corner[1]], view->start[corner[2]]}};
        sum += triangle_solid_angle(t, at);
    }
    return (int)lrint(sum / (4 * 3.14159265358979324));
}

/* What boundary handling promises: triangles that the view test judges are at one level, that is,
 * the surface winds as often around the places next to the outer side of each. */
static void check_levels(const abut_self *view) {
    bool any = false;
    int level = 0;
    for (uint32_t i = 0; i < view->triangle_count; i++) {
        const uint32_t *corner = view->corners + 3 * i;
        vec3 a = view->start[corner[0]], b = view->start[corner[1]], c = view->start[corner[2]];
        vec3 normal = v3_normalise(v3_cross(v3_sub(b, a), v3_sub(c, a)));
        vec3 middle = v3_scale(v3_add(a, v3_add(b, c)), 1.0 / 3);
        if (view->sets[i] == SET_V)
            continue;
        int own = winding_of(view, v3_along(middle, 1e-5, normal));
        level = any ? level : own;
        any = true;
        assert_int_equal(level, own);
    }
}

/* All pairs of features take longest: `truly` every other time, and with a hit. */
static void check_curl(curling *c, const abut_self_result *result, bool truly) {
    if (result->reason == ABUT_SELF_NOT_NEEDED) {
        c->hits += result->hit;
        c->frees += !result->hit;
        check_levels(c->view);
    }
    if (!truly && !result->hit)
        return;
    brute_hit truth = brute_find(c->mesh, c->start, c->end, tolerance_of(c->start, CURL));
    assert_int_equal(truth.time <= 1, result->hit);
    if (result->hit)
        assert_true(result->impact.time == truth.time);
}

static void step_curl(curling *c, test_random *random) {
    const abut_self_line axis = {{{0, 0, -0.6}, {0, 0, 0.6}}, {{0, 0, -0.6}, {0, 0, 0.6}}};
    abut_self_step step = abut_self_step_default();
    abut_sweep_find_options apart = abut_sweep_find_options_default();
    abut_self_result result = abut_self_result_default();
    uint32_t kind = test_random_below(random, 6);
    curl next = next_curl(random, c->now);
    roll(random, next, c->end);
    step.start = abut_array_host(c->start);
    step.end = abut_array_host(c->end);
    step.line = &axis;
    apart.separation = 1e-9; /* is searched completely */
    c->stops = kind == 0;
    abut_status status = abut_self_find(c->view, &step, kind < 3 && kind ? &apart : NULL, &result);
    c->stopped += status == ABUT_ERROR_CANCELLED;
    c->stops = false;
    if (status == ABUT_ERROR_CANCELLED) /* it starts there once more */
        return;
    assert_ok(status);
    c->complete += kind && kind < 3 && !result.hit;
    if (kind > 2)
        check_curl(c, &result, kind % 2);
    uint32_t jump = test_random_below(random, 8);
    c->now = jump > 1 ? next : jump ? c->first : random_curl(random, 11);
    if (jump > 1)
        memcpy(c->start, c->end, sizeof c->end);
    else
        roll(random, c->now, c->start);
}

/* Seen from the axis all of a curl is positive, whether it overlaps itself or not: only ghosts show
 * it its layers apart. Steps follow each other, go on behind an impact, or jump to the start or
 * anywhere; some fail, and some are searched completely. So a state that is kept for too long is
 * found out. */
TEST(test_curls) {
    test_random random = {4}; /* a draw that fails without any of the resets of the state */
    curling c = {0};
    abut_context_options options = abut_context_options_default();
    options.thread_count = 1;
    options.progress = stop_while;
    options.progress_user = &c.stops;
    assert_ok(abut_context_create(&options, &c.context));
    c.mesh = make_sheet(c.context, ALONG, UP, false);
    for (uint32_t round = 0;
         round < rounds_of(48) ||
         (round < 100 && !(c.hits > 0 && c.frees > 0 && c.stopped > 0 && c.complete > 0));
         round++) {
        abut_self_options of_view = abut_self_options_default();
        of_view.scheme = round % 2 ? ABUT_SELF_LINE : ABUT_SELF_POINT;
        assert_ok(abut_self_create(c.mesh, &of_view, &c.view));
        c.now = c.first = random_curl(&random, 6);
        roll(&random, c.first, c.start);
        for (int s = 0; s < 12; s++)
            step_curl(&c, &random);
        abut_self_destroy(c.view);
    }
    abut_mesh_destroy(c.mesh);
    abut_context_destroy(c.context);
    assert_true(c.hits > 0 && c.frees > 0 && c.stopped > 0 && c.complete > 0);
}

/* Motions of whole numbers, full of ties, contacts of edges with edges along their length, and
 * vertices on vertices: the time is that of all pairs within the tolerance. */
TEST(test_ties) {
    abut_context *context = one_thread();
    test_random random = {4};
    uint32_t hits = 0;
    for (uint32_t round = 0; round < rounds_of(16); round++) {
        AUTO(mesh)
        mesh = round % 2 ? make_shape(context, ABUT_SHAPE_BOX, 3)
                         : make_sheet(context, 4, 4, round % 4 == 0);
        uint32_t count = abut_mesh_vertex_count(mesh);
        AUTO_FREE abut_vec3 *start = positions_of(mesh), *end = positions_of(mesh);
        AUTO(self) view;
        abut_self_options options = abut_self_options_default();
        options.scheme = round / 4 % 2 ? ABUT_SELF_LINE : ABUT_SELF_POINT;
        assert_ok(abut_self_create(mesh, &options, &view));
        for (int s = 0; s < 16; s++) {
            for (uint32_t i = 0; i < count; i++)
                end[i] = test_random_below(&random, 4)
                             ? start[i]
                             : v3(start[i].x + test_random_below(&random, 3) - 1,
                                  start[i].y + test_random_below(&random, 3) - 1,
                                  start[i].z + test_random_below(&random, 3) - 1);
            brute_hit truth = brute_find(mesh, start, end, tolerance_of(start, count));
            abut_self_result result = abut_self_result_default();
            abut_self_step step = step_of(start, end);
            assert_ok(abut_self_find(view, &step, NULL, &result));
            assert_int_equal(ABUT_SELF_NOT_NEEDED, result.reason);
            assert_int_equal(truth.time <= 1, result.hit);
            if (result.hit)
                assert_true(fabs(result.impact.time - truth.time) <= 1e-6);
            hits += result.hit;
        }
    }
    assert_true(hits > 0);
}

/* ---- AUTO ---- */

enum { AUTO_STEPS = 24 };

typedef enum bending { DENT, PLEATS, BOWL, RING } bending;

/* A ball with a dent; a sheet of pleats that are pressed together, of which half enters; a sheet
 * that becomes a bowl; a ring that moves by several triangles per step, of which a third faces its
 * centre. Sheets are in doubt while they are flat. `far`: 0 to 1, from shape to shape. */
static abut_vec3 bent(abut_vec3 p, bending how, double far) {
    if (how == DENT)
        return v3(p.x, p.y,
                  p.z > 0 ? p.z * (1 - 1.5 * far * exp(-3 * (p.x * p.x + p.y * p.y))) : p.z);
    if (how == RING)
        return v3(p.x + 10 * far, p.y, p.z);
    if (how == BOWL)
        return v3(p.x, p.y, -4 * far * (p.x * p.x + p.y * p.y));
    double height = fabs(fmod(8 * p.x + 16, 2) - 1);
    return v3(p.x * (1 - 0.6 * far), p.y, 0.1 * far * height);
}

/* Takes all steps by AUTO, held against sweeps; gives how many were searched completely. */
static uint32_t follow_auto(uint32_t threads, bending how, double from, double to,
                            abut_self_scheme schemes[AUTO_STEPS]) {
    abut_context_options of_context = abut_context_options_default();
    abut_context *context;
    uint32_t complete = 0;
    of_context.thread_count = threads;
    assert_ok(abut_context_create(&of_context, &context));
    abut_mesh *mesh = how == DENT   ? make_shape(context, ABUT_SHAPE_ICOSPHERE, 12)
                      : how == RING ? make_shape(context, ABUT_SHAPE_TORUS, 32)
                                    : make_sheet(context, 32, 32, false);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *flat = positions_of(mesh), *start = positions_of(mesh), *end = positions_of(mesh);
    abut_self *view;
    abut_sweep *motion;
    assert_ok(abut_self_create(mesh, NULL, &view));
    assert_ok(abut_sweep_create(&mesh, 1, NULL, &motion));
    for (uint32_t s = 0; s <= AUTO_STEPS; s++) {
        abut_self_result result = abut_self_result_default();
        abut_impact impact;
        abut_impact_list impacts = {&impact, 1, 0};
        memcpy(start, end, count * sizeof *start);
        for (uint32_t i = 0; i < count; i++)
            end[i] = bent(flat[i], how, from + (to - from) * s / AUTO_STEPS);
        if (s == 0)
            continue;
        abut_self_step step = step_of(start, end);
        step.start_is_free = true;
        assert_ok(abut_sweep_set_positions(motion, step.start, step.end));
        assert_ok(abut_sweep_find(motion, ABUT_SWEEP_EARLIEST, NULL, &impacts, NULL));
        assert_ok(abut_self_find(view, &step, NULL, &result));
        assert_int_equal(impacts.count, result.hit);
        assert_true(!result.hit || result.impact.time == impact.time);
        assert_int_equal(result.scheme == ABUT_SELF_COMPLETE,
                         result.reason != ABUT_SELF_NOT_NEEDED);
        complete += result.scheme == ABUT_SELF_COMPLETE;
        schemes[s - 1] = result.scheme;
    }
    abut_sweep_destroy(motion);
    abut_self_destroy(view);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
    free(flat);
    free(start);
    free(end);
    return complete;
}

/* AUTO takes all pairs where sets save nothing, sets where they save much, tries them again where
 * that changes, and does the same in every run. */
TEST(test_auto) {
    abut_self_scheme one[AUTO_STEPS], two[AUTO_STEPS];
    assert_int_equal(0, follow_auto(1, DENT, 0, 0.9, one));
    assert_int_equal(0, follow_auto(2, DENT, 0, 0.9, two));
    assert_memory_equal(one, two, sizeof one);
    assert_int_equal(AUTO_STEPS, follow_auto(1, BOWL, 0, 0, one)); /* flat */
    uint32_t complete = follow_auto(1, BOWL, 0, 1, one); /* nearly all is positive later */
    assert_true(complete > 0 && complete < AUTO_STEPS);
    assert_int_equal(ABUT_SELF_COMPLETE, one[0]);
    assert_int_equal(complete, follow_auto(2, BOWL, 0, 1, two));
    assert_memory_equal(one, two, sizeof one);
}

/* Pairs within V- are culled, too. If many triangles are in V-, AUTO needs the candidates of a
 * complete search first, and uses sets if they leave fewer. */
TEST(test_auto_with_negatives) {
    static const bending ways[2] = {PLEATS, RING};
    abut_self_scheme one[AUTO_STEPS], two[AUTO_STEPS];
    for (int k = 0; k < 2; k++) {
        assert_int_equal(2, follow_auto(1, ways[k], 0, k ? 1 : 0.5, one));
        assert_int_equal(ABUT_SELF_COMPLETE, one[1]);
        assert_int_not_equal(ABUT_SELF_COMPLETE, one[2]);
        assert_int_equal(2, follow_auto(2, ways[k], 0, k ? 1 : 0.5, two));
        assert_memory_equal(one, two, sizeof one);
    }
    /* hardly any pairs are near */
    assert_int_equal(AUTO_STEPS, follow_auto(1, RING, 0, 0.001, one));
}
