/* The parts of view-based culling: sets by exact rationals, ghosts, violations, fallbacks,
 * threads, memory and invalid input. */
#include "apps/get.h"
#include "self/deform.h"

#include "geom/rational.h"
#include "self/self.h"

#include <math.h>

/* ---- sets ---- */

static rational3 exact_of(vec3 p) {
    return point_of(p.x, p.y, p.z);
}

static rational3 exact_at(vec3 a, vec3 b, number t) {
    rational3 from = exact_of(a);
    return point_plus(from, point_times(point_minus(exact_of(b), from), t));
}

/* The sign with which the view primitive sees the point of weights u, v of a moving triangle. */
static int seen_sign(const vec3 start[3], const vec3 end[3], const abut_self_line *line,
                     bool by_line, double time, double u, double v) {
    number t = number_of(time), one = number_of(1), half = number_of(0.5);
    rational3 c[3];
    for (int k = 0; k < 3; k++)
        c[k] = exact_at(start[k], end[k], t);
    rational3 b = point_minus(c[1], c[0]), d = point_minus(c[2], c[0]), normal = cross(b, d);
    rational3 p =
        point_plus(c[0], point_plus(point_times(b, number_of(u)), point_times(d, number_of(v))));
    rational3 q0 = exact_at(line->start[0], line->end[0], t);
    rational3 along = point_minus(exact_at(line->start[1], line->end[1], t), q0);
    number s = half;
    if (by_line) {
        number size = length_sq(along);
        s = mpq_sgn(size) ? over(dot(point_minus(p, q0), along), size) : number_of(0);
        s = mpq_sgn(s) < 0 ? number_of(0) : least(s, one);
    }
    return mpq_sgn(dot(point_minus(p, point_plus(q0, point_times(along, s))), normal));
}

static void check_sign(unsigned set, int sign) {
    if (set == SET_P)
        assert_int_equal(1, sign);
    if (set == SET_N)
        assert_int_equal(-1, sign);
}

/* Points at several times, corners and ends of the step among them. */
static void check_set(test_random *random, unsigned set, const vec3 start[3], const vec3 end[3],
                      const abut_self_line *line, bool by_line) {
    static const double corner[3][2] = {{0, 0}, {1, 0}, {0, 1}};
    for (int i = 0; i < 4; i++) {
        double time = i < 2 ? i : test_random_real(random, 0, 1);
        double u = test_random_real(random, 0, 1), v = test_random_real(random, 0, 1 - u);
        check_sign(set, seen_sign(start, end, line, by_line, time, u, v));
        for (int k = 0; k < 3; k++)
            check_sign(set, seen_sign(start, end, line, by_line, time, corner[k][0], corner[k][1]));
    }
}

static bool all_were_seen(const uint32_t seen[8]) {
    return seen[SET_P] && seen[SET_N] && seen[SET_Z] && seen[SET_P] + seen[SET_N] > seen[SET_Z];
}

/* Sets of whole steps against points at times, exactly; with lines that stand, move and turn. */
TEST(sets_are_true) {
    test_random random = {11};
    AUTO(mesh) mesh = make_shape(one_thread(), ABUT_SHAPE_ICOSPHERE, 2);
    uint32_t count = abut_mesh_vertex_count(mesh), seen[8] = {0};
    AUTO_FREE abut_vec3 *start = positions_of(mesh), *end = positions_of(mesh);
    for (uint32_t round = 0; round < test_rounds(24) || (round < 200 && !all_were_seen(seen));
         round++) {
        bool by_line = round % 3;
        abut_self_options options = abut_self_options_default();
        abut_self_result result = abut_self_result_default();
        abut_self_line line;
        abut_self *view;
        options.scheme = by_line ? ABUT_SELF_LINE : ABUT_SELF_POINT;
        for (int k = 0; k < 2; k++) {
            line.start[k] = random_vector(&random, 0.6);
            line.end[k] =
                round % 4 ? v3_add(line.start[k], random_vector(&random, 0.3)) : line.start[k];
        }
        random_motion(&random, start, end, count, 0.5, 0.1);
        abut_self_step step = step_of(start, end);
        step.line = &line;
        step.start_is_free = true;
        assert_ok(abut_self_create(mesh, &options, &view));
        assert_ok(abut_self_find(view, &step, NULL, &result));
        for (uint32_t i = 0; i < view->triangle_count; i++) {
            const uint32_t *corner = view->corners + 3 * i;
            const vec3 from[3] = {start[corner[0]], start[corner[1]], start[corner[2]]};
            const vec3 to[3] = {end[corner[0]], end[corner[1]], end[corner[2]]};
            check_set(&random, view->sets[i], from, to, &line, by_line);
            seen[view->sets[i]]++;
        }
        assert_true(abut_self_sets(view)[0] <= ABUT_SELF_GRAZING);
        abut_self_destroy(view);
    }
    assert_true(all_were_seen(seen));
}

/* The set of a triangle as seen from a point that stands still. */
static unsigned set_from(const vec3 start[3], const vec3 end[3], vec3 point) {
    const view_checks checks = {.start = {point}, .end = {point}, .count = 1};
    return view_set_of(start, end, &checks);
}

/* Triangles whose planes pass the view-point at the limit of rounding: never the wrong sign. And
 * clear ones are never in doubt. */
TEST(rounding_is_safe) {
    test_random random = {12};
    uint32_t sure = 0;
    for (uint32_t round = 0; round < test_rounds(4000); round++) {
        vec3 start[3], end[3], q = random_vector(&random, 1), far = random_vector(&random, 1000);
        vec3 a = random_vector(&random, 1), b = random_vector(&random, 1);
        double off = pow(10, -test_random_real(&random, 12, 18));
        for (int k = 0; k < 3; k++) { /* in the plane of q, a, b, offset by `off` */
            double u = test_random_real(&random, 0.5, 1), v = test_random_real(&random, 0.5, 1);
            start[k] = v3_add(v3_along(v3_along(q, u, a), v, b), random_vector(&random, off));
            end[k] = round % 2 ? start[k] : v3_add(start[k], random_vector(&random, off));
            if (round % 4 == 3) {
                start[k] = v3_add(start[k], far);
                end[k] = v3_add(end[k], far);
            }
        }
        if (round % 4 == 3)
            q = v3_add(q, far);
        abut_self_line line = {{q, q}, {q, q}};
        unsigned set = set_from(start, end, q);
        sure += set != SET_Z;
        for (int i = 0; i < 3; i++)
            check_sign(set, seen_sign(start, end, &line, false, 0.5 * i, 0.25, 0.25));
    }
    assert_true(sure > 0);
    const vec3 clear[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, zero = {0, 0, 0};
    const vec3 flipped[3] = {{1, 0, 0}, {0, 0, 1}, {0, 1, 0}};
    vec3 tiny[3];
    assert_int_equal(SET_P, set_from(clear, clear, zero));
    assert_int_equal(SET_N, set_from(flipped, flipped, zero));
    assert_int_equal(SET_Z, set_from(clear, flipped, zero));
    for (int k = 0; k < 3; k++)
        tiny[k] = v3_scale(clear[k], 1e-100);
    assert_int_equal(SET_Z, set_from(tiny, tiny, zero));
}

/* The document's theorem 3 fails here: vertices of one triangle see the line with different signs,
 * although it does not touch the line. */
TEST(one_vertex_is_not_enough) {
    const vec3 t[3] = {{1, 5, 1}, {-1, 5, -1}, {0, 7, 0}};
    abut_self_line line = {{{0, 0, -2}, {0, 0, 2}}, {{0, 0, -2}, {0, 0, 2}}};
    int first = seen_sign(t, t, &line, true, 0, 0, 0),
        second = seen_sign(t, t, &line, true, 0, 1, 0);
    assert_true(first * second < 0);
    const view_checks checks = {{{0, 0, -1}, {0, 0, 1}}, {{0, 0, -1}, {0, 0, 1}}, 2, 2};
    assert_int_equal(SET_Z, view_set_of(t, t, &checks));
}

/* ---- ghosts ---- */

/* With its ghosts a mesh is closed: every directed edge has its opposite. */
TEST(ghosts_close) {
    abut_mesh *mesh = make_sheet(one_thread(), 8, 3, true);
    abut_self *view;
    assert_ok(abut_self_create(mesh, NULL, &view));
    abut_self_info info = get_self_info(view);
    assert_int_equal(2, info.hole_count);
    assert_int_equal(16, info.ghost_count);
    assert_int_equal(1, info.part_count);
    assert_true(info.usable && info.bytes > 0);
    uint32_t all = 3 * (info.triangle_count + info.ghost_count);
    for (uint32_t i = 0; i < all; i++) {
        uint32_t from = view->corners[i], to = view->corners[i % 3 == 2 ? i - 2 : i + 1], other = 0;
        for (uint32_t j = 0; j < all; j++)
            other += view->corners[j] == to && view->corners[j % 3 == 2 ? j - 2 : j + 1] == from;
        assert_int_equal(1, other);
    }
    abut_self_destroy(view);
    mesh = (abut_mesh_destroy(mesh), make_shape(one_thread(), ABUT_SHAPE_BOX, 1));
    assert_ok(abut_self_create(mesh, NULL, &view));
    assert_int_equal(0, get_self_info(view).ghost_count);
    abut_self_destroy(view);
    abut_mesh_destroy(mesh);
    assert_int_equal(0, get_self_info(NULL).triangle_count);
    assert_null(abut_self_sets(NULL));
}

/* The mesh of the ghosts has the corners of the ghosts, where they are at the end of the step. */
TEST(ghosts_are_a_mesh) {
    abut_mesh *mesh = make_sheet(one_thread(), 8, 3, true), *ghosts = NULL;
    abut_self_options options = abut_self_options_default();
    abut_self_result result = abut_self_result_default();
    abut_self *view;
    assert_ok(abut_self_create(mesh, &options, &view));
    for (int moved = 0; moved < 2; moved++) {
        assert_ok(abut_self_get_ghosts(view, &ghosts));
        assert_int_equal(16, abut_mesh_triangle_count(ghosts));
        assert_int_equal(18, abut_mesh_vertex_count(ghosts));
        const uint32_t *corners = abut_mesh_indices(ghosts);
        for (uint32_t i = 0; i < 3 * 16; i++) {
            const uint32_t v = view->corners[3 * view->triangle_count + i];
            const vec3 at = abuti_mesh_position(ghosts, corners[i]);
            /* half the root of the area of the octagon in front of its hole */
            const double height = 1 + 0.5 * sqrt(0.5 * sqrt(2));
            vec3 expected = v3(moved, 0, at.z > 0 ? height : -height);
            if (v < view->vertex_count)
                expected = v3_add(abuti_mesh_position(mesh, v), v3(moved, 0, 0));
            assert_true(v3_length(v3_sub(expected, at)) < 1e-12);
        }
        abut_mesh_destroy(ghosts);
        AUTO_FREE abut_vec3 *end = positions_of(mesh);
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++)
            end[i].x += 1;
        const abut_self_step step = step_of(NULL, end);
        assert_ok(abut_self_find(view, &step, NULL, &result));
    }
    abut_self_destroy(view);
    options.scheme = ABUT_SELF_COMPLETE;
    assert_ok(abut_self_create(mesh, &options, &view));
    assert_ok(abut_self_get_ghosts(view, &ghosts));
    assert_null(ghosts);
    assert_refused("ghosts is null", abut_self_get_ghosts(view, NULL));
    assert_refused("view is null", abut_self_get_ghosts(NULL, &ghosts));
    abut_self_destroy(view);
    mesh = (abut_mesh_destroy(mesh), make_shape(one_thread(), ABUT_SHAPE_BOX, 1));
    assert_ok(abut_self_create(mesh, NULL, &view));
    assert_ok(abut_self_get_ghosts(view, &ghosts));
    assert_null(ghosts);
    abut_self_destroy(view);
    abut_mesh_destroy(mesh);
}

/* A tube whose rim is pushed in and comes out again: violated while it is beyond the ghosts, and
 * free again afterwards, without all of it being positive. */
TEST(violated_until_back) {
    AUTO(mesh) mesh = make_sheet(one_thread(), 8, 8, true);
    uint32_t count = abut_mesh_vertex_count(mesh);
    AUTO_FREE abut_vec3 *in = positions_of(mesh), *rest = positions_of(mesh);
    AUTO(self) view;
    abut_self_result result = abut_self_result_default();
    abut_self_step step = abut_self_step_default();
    abut_self_options options = abut_self_options_default();
    for (uint32_t i = 0; i < count; i++)
        if (rest[i].z > 0.7 && rest[i].z < 0.9 && rest[i].x > 0.4) /* out through the ghosts */
            in[i] = v3(0.1, rest[i].y, 2);
    options.scheme = ABUT_SELF_LINE;
    assert_ok(abut_self_create(mesh, &options, &view));
    step.end = abut_array_host(rest);
    assert_ok(abut_self_find(view, &step, NULL, &result));
    assert_int_equal(0, result.sets[ABUT_SELF_VIOLATED]);
    assert_false(result.hit);
    step.end = abut_array_host(in);
    assert_ok(abut_self_find(view, &step, NULL, &result));
    assert_true(result.sets[ABUT_SELF_VIOLATED] > 0);
    assert_int_equal(result.sets[ABUT_SELF_VIOLATED], result.entered[ABUT_SELF_VIOLATED]);
    bool hit = result.hit;
    step.end = abut_array_host(rest);
    for (int s = 0; s < 10; s++)
        assert_ok(abut_self_find(view, &step, NULL, &result));
    assert_int_equal(0, result.sets[ABUT_SELF_VIOLATED]);
    assert_false(hit && result.hit);
}

TEST(names) {
    assert_string_equal("auto", abut_self_scheme_name(ABUT_SELF_AUTO));
    assert_string_equal("complete", abut_self_scheme_name(ABUT_SELF_COMPLETE));
    assert_string_equal("cost", abut_self_fallback_name(ABUT_SELF_COST));
    assert_string_equal("violated", abut_self_set_name(ABUT_SELF_VIOLATED));
    assert_string_equal("edge-edge", abut_impact_kind_name(ABUT_IMPACT_EDGE_EDGE));
    assert_string_equal("all", abut_sweep_mode_name(ABUT_SWEEP_ALL));
    assert_null(abut_self_scheme_name((abut_self_scheme)4));
    assert_null(abut_self_fallback_name((abut_self_fallback)-1));
    assert_null(abut_self_set_name((abut_self_set)4));
    assert_null(abut_impact_kind_name((abut_impact_kind)2));
    assert_null(abut_sweep_mode_name((abut_sweep_mode)3));
}

/* ---- fallbacks ---- */

static abut_mesh *make_mesh(const abut_vec3 *p, uint32_t vertices, const uint32_t *indices,
                            uint32_t triangles) {
    return test_mesh(one_thread(), p, vertices, indices, triangles);
}

static abut_self_result find_one(abut_mesh *mesh, const abut_self_options *options,
                                 const abut_vec3 *end, const abut_sweep_find_options *sweep) {
    abut_self *view;
    abut_self_step step = abut_self_step_default();
    abut_self_result result = abut_self_result_default();
    step.end = abut_array_host(end);
    assert_ok(abut_self_create(mesh, options, &view));
    assert_ok(abut_self_find(view, &step, sweep, &result));
    if (result.scheme == ABUT_SELF_COMPLETE)
        assert_null(abut_self_sets(view));
    else
        assert_non_null(abut_self_sets(view));
    abut_self_destroy(view);
    return result;
}

TEST(fallbacks) {
    const abut_vec3 p[5] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, -1, 0}};
    const uint32_t three[9] = {0, 1, 2, 0, 1, 3, 0, 1, 4}, same[6] = {0, 1, 2, 0, 1, 3};
    const uint32_t twice[3] = {0, 1, 1};
    abut_mesh *bad[3] = {make_mesh(p, 5, three, 3), make_mesh(p, 4, same, 2),
                         make_mesh(p, 2, twice, 1)};
    for (int k = 0; k < 3; k++) {
        AUTO_FREE abut_vec3 *end = positions_of(bad[k]);
        abut_self_result result = find_one(bad[k], NULL, end, NULL);
        assert_int_equal(ABUT_SELF_COMPLETE, result.scheme);
        assert_int_equal(ABUT_SELF_TOPOLOGY, result.reason);
        abut_mesh_destroy(bad[k]);
    }
    /* two triangles through each other */
    const abut_vec3 crossing[6] = {{0, 0, 0},      {1, 0, 0},     {0, 1, 0},
                                   {0.2, 0.2, -1}, {0.2, 0.2, 1}, {0.3, 0.3, 1}};
    const uint32_t two[6] = {0, 1, 2, 3, 4, 5};
    abut_mesh *mesh = make_mesh(crossing, 6, two, 2);
    abut_self_options options = abut_self_options_default();
    assert_int_equal(ABUT_SELF_COST, find_one(mesh, &options, crossing, NULL).reason);
    options.scheme = ABUT_SELF_LINE;
    assert_int_equal(ABUT_SELF_START, find_one(mesh, &options, crossing, NULL).reason);
    abut_mesh_destroy(mesh);
    mesh = make_shape(one_thread(), ABUT_SHAPE_BOX, 2);
    AUTO_FREE abut_vec3 *end = positions_of(mesh);
    abut_sweep_find_options sweep = abut_sweep_find_options_default();
    sweep.separation = 1e-3;
    abut_self_result result = find_one(mesh, NULL, end, &sweep);
    assert_int_equal(ABUT_SELF_SEPARATION, result.reason);
    options.scheme = ABUT_SELF_COMPLETE;
    result = find_one(mesh, &options, end, NULL);
    assert_int_equal(ABUT_SELF_COMPLETE, result.scheme);
    assert_int_equal(ABUT_SELF_NOT_NEEDED, result.reason);
    assert_false(result.hit);
    assert_false(find_one(mesh, NULL, end, NULL).hit); /* at once: nothing is looked at */
    assert_int_equal(0, find_one(mesh, NULL, end, NULL).vertex_face);
    abut_mesh_destroy(mesh);
}

/* Everything near every ghost: too much, and the complete search finds what there is. */
TEST(entangled_boundary) {
    AUTO(mesh) mesh = make_sheet(one_thread(), 100, 2, false);
    AUTO_FREE abut_vec3 *end = positions_of(mesh);
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++)
        end[i] = v3(-end[i].x, -end[i].y, 0.5 * end[i].x);
    abut_self_options options = abut_self_options_default();
    options.scheme = ABUT_SELF_LINE;
    abut_self_result result = find_one(mesh, &options, end, NULL);
    assert_int_equal(ABUT_SELF_BOUNDARY, result.reason);
    assert_true(result.hit);
}

/* Of a ghost and a triangle whose motions touch, none is above the other; many others are. */
TEST(touching_is_near) {
    test_random random = {77};
    uint32_t touching = 0, kept_apart = 0;
    for (uint32_t round = 0; round < 400; round++) {
        vec3 p[2][6]; /* three corners of a long ghost, three of a small triangle */
        ghost_position place[6];
        ghost_sides sides;
        bool touches = false;
        vec3 centre = random_vector(&random, 0.2);
        for (int k = 0; k < 6; k++) {
            vec3 at = k < 2    ? v3(0.8 + 0.05 * k, 0.01 * k, 0)
                      : k == 2 ? v3(-0.9, -0.1, 0.1)
                               : v3_add(centre, random_vector(&random, 0.1));
            p[0][k] = v3_add(at, random_vector(&random, 0.02));
            p[1][k] = v3_add(p[0][k], random_vector(&random, 0.1));
            for (int end = 0; end < 2; end++) {
                const float to[4] = {(float)p[end][k].x, (float)p[end][k].y, (float)p[end][k].z};
                memcpy(place[k].at[end], to, sizeof to);
            }
        }
        for (int pair = 0; pair < 15 && !touches; pair++) {
            const bool edges = pair < 9;
            int i = pair % 3, j = pair / 3, a = i + 1 < 3 ? i + 1 : 0, b = j + 1 < 3 ? j + 1 : 0;
            const int of_edges[4] = {i, a, 3 + j, 3 + b};
            const int of_face[4] = {pair < 12 ? i : 3 + i, pair < 12 ? 3 : 0, pair < 12 ? 4 : 1,
                                    pair < 12 ? 5 : 2};
            vec3 from[4], to[4];
            for (int k = 0; k < 4; k++) {
                from[k] = p[0][edges ? of_edges[k] : of_face[k]];
                to[k] = p[1][edges ? of_edges[k] : of_face[k]];
            }
            assert_ok(abuti_sweep_exact(abuti_context_of(NULL),
                                        edges ? SWEEP_EDGE_EDGE : SWEEP_VERTEX_FACE, from, to,
                                        &touches));
        }
        ghost_sides_of(place, &sides);
        ghost_values lowest = ghost_values_of(&sides, &place[3]);
        float lo[3] = {9, 9, 9}, hi[3] = {-9, -9, -9};
        for (int k = 3; k < 6; k++) {
            lowest = ghost_lower(lowest, ghost_values_of(&sides, &place[k]));
            for (int i = 0; i < 6; i++) {
                float x = place[k].at[i / 3][i % 3];
                lo[i % 3] = x < lo[i % 3] ? x : lo[i % 3];
                hi[i % 3] = x > hi[i % 3] ? x : hi[i % 3];
            }
        }
        bool near = ghost_is_near(&sides, &lowest), near_box = ghost_box_is_near(&sides, lo, hi);
        assert_true(near || !touches);
        assert_true(near_box || !near);
        touching += touches;
        kept_apart += !near;
    }
    assert_true(touching > 20 && kept_apart > 100);
}

/* ---- steps that follow each other ---- */

/* The answer, and all counts, are the same on any number of threads. */
TEST_THREADS(threads_agree) {
    abut_self_result results[2][6];
    for (int k = 0; k < 2; k++) {
        test_memory memory = {0};
        test_random random = {21};
        AUTO(context) context = test_context(&memory, k ? 4 : 1);
        AUTO(mesh) mesh = make_sheet(context, 40, 30, true);
        uint32_t count = abut_mesh_vertex_count(mesh);
        AUTO_FREE abut_vec3 *start = positions_of(mesh), *end = positions_of(mesh);
        AUTO(self) view;
        assert_ok(abut_self_create(mesh, NULL, &view));
        for (int s = 0; s < 6; s++) {
            random_motion(&random, start, end, count, 0.3, 0.0);
            abut_self_step step = step_of(start, end);
            step.start_is_free = true; /* or not: the answers are the same in any case */
            results[k][s] = abut_self_result_default();
            assert_ok(abut_self_find(view, &step, NULL, &results[k][s]));
            memset(&results[k][s].times, 0, sizeof results[k][s].times);
            memcpy(start, end, count * sizeof *end);
        }
    }
    for (int s = 0; s < 6; s++) {
        const abut_self_result *a = &results[0][s], *b = &results[1][s];
        assert_int_equal(a->hit, b->hit);
        assert_memory_equal(&a->impact, &b->impact, sizeof a->impact);
        assert_memory_equal(a->sets, b->sets, sizeof a->sets);
        assert_memory_equal(a->entered, b->entered, sizeof a->entered);
        assert_true(a->vertex_face == b->vertex_face && a->edge_edge == b->edge_edge);
    }
}

static abut_status step_view(abut_context *context, void *data) {
    abut_vec3 *end = data;
    AUTO(mesh) mesh = NULL, *ghosts = NULL;
    AUTO(self) view = NULL;
    abut_self_result result = abut_self_result_default();
    abut_self_step step = abut_self_step_default();
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    shape.segments = shape.rings = 3;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_self_create(mesh, NULL, &view);
    step.end = abut_array_host(end);
    status = status ? status : abut_self_find(view, &step, NULL, &result);
    status = status ? status : abut_self_get_ghosts(view, &ghosts);
    return status;
}

TEST(memory_runs_out) {
    abut_vec3 end[16];
    for (int i = 0; i < 16; i++)
        end[i] = v3(i % 4 * 0.1, i / 4 * 0.2 * (i % 2 ? 1 : -1), i * i * 0.01);
    assert_true(test_every_allocation(step_view, end) > 20);
}

static bool refuse(void *user, const char *stage, double fraction) {
    (void)user;
    (void)fraction;
    return strcmp(stage, "sweep") != 0;
}

typedef struct watch {
    double last;
    uint32_t calls, back, beyond, values; /* that went back, that are no fraction, that went on */
} watch;

static bool look_at_progress(void *user, const char *stage, double fraction) {
    watch *w = user;
    if (strcmp(stage, "view") != 0)
        return true;
    w->calls++;
    w->beyond += !(fraction >= 0 && fraction <= 1);
    w->back += fraction < w->last;
    w->values += fraction > w->last;
    w->last = fraction;
    return true;
}

/* Progress goes on, never back, and to the end. */
TEST(progress_is_real) {
    const abut_self_line outside = {{{0.6, 0, 0}, {0.6, 0, 0}}, {{0.6, 0, 0}, {0.6, 0, 0}}};
    test_random random = {16};
    watch w = {0};
    abut_context_options options = abut_context_options_default();
    AUTO(context) context;
    options.progress = look_at_progress;
    options.progress_user = &w;
    options.thread_count = 1;
    assert_ok(abut_context_create(&options, &context));
    AUTO(mesh) mesh = make_sheet(context, 90, 90, true);
    AUTO_FREE abut_vec3 *end = positions_of(mesh);
    uint32_t count = abut_mesh_vertex_count(mesh);
    for (uint32_t i = 0; i < count; i++)
        end[i] = v3_add(end[i], random_vector(&random, 3e-3));
    for (int k = 0; k < 2; k++) {
        abut_self_options of_view = abut_self_options_default();
        abut_self_step step = abut_self_step_default();
        abut_self_result result = abut_self_result_default();
        AUTO(self) view;
        of_view.scheme = k ? ABUT_SELF_POINT : ABUT_SELF_COMPLETE;
        step.end = abut_array_host(end);
        step.line = &outside;
        step.start_is_free = true;
        memset(&w, 0, sizeof w);
        assert_ok(abut_self_create(mesh, &of_view, &view));
        assert_ok(abut_self_find(view, &step, NULL, &result));
        assert_int_equal(k ? ABUT_SELF_POINT : ABUT_SELF_COMPLETE, result.scheme);
        assert_false(result.hit);
        assert_int_equal(0, w.back + w.beyond);
        assert_true(w.calls > 0);
    }
}

TEST(refusals) {
    abut_mesh *mesh = make_shape(one_thread(), ABUT_SHAPE_BOX, 1);
    AUTO_FREE abut_vec3 *end = positions_of(mesh);
    abut_self *view = NULL;
    abut_self_result result = abut_self_result_default(), before = abut_self_result_default();
    abut_self_options options = abut_self_options_default();
    abut_self_step step = abut_self_step_default();
    abut_sweep_find_options sweep = abut_sweep_find_options_default();
    assert_refused("mesh is null", abut_self_create(NULL, NULL, &view));
    assert_refused("view is null", abut_self_create(mesh, NULL, NULL));
    options.scheme = (abut_self_scheme)9;
    assert_refused("scheme is 9", abut_self_create(mesh, &options, &view));
    options = abut_self_options_default();
    options.size = 0;
    assert_refused("options", abut_self_create(mesh, &options, &view));
    assert_ok(abut_self_create(mesh, NULL, &view));
    memset(&result, 0x55, sizeof result);
    result.size = sizeof result;
    before = result;
    assert_refused("end is null", abut_self_find(view, &step, NULL, &result));
    step.end = abut_array_host(end);
    assert_refused("view is null", abut_self_find(NULL, &step, NULL, &result));
    assert_refused("step is null", abut_self_find(view, NULL, NULL, &result));
    assert_refused("result is null", abut_self_find(view, &step, NULL, NULL));
    end[3].y = NAN;
    assert_refused("step->end[3]", abut_self_find(view, &step, NULL, &result));
    end[3].y = 1e91;
    assert_refused("step->end[3]", abut_self_find(view, &step, NULL, &result));
    end[3].y = 0;
    abut_self_line line = {{{0, 0, INFINITY}, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
    step.line = &line;
    assert_refused("line", abut_self_find(view, &step, NULL, &result));
    step.line = NULL;
    sweep.separation = -1;
    assert_refused("separation", abut_self_find(view, &step, &sweep, &result));
    sweep.separation = 0;
    sweep.tolerance = NAN;
    assert_refused("tolerance", abut_self_find(view, &step, &sweep, &result));
    sweep.tolerance = 0;
    sweep.exact = true;
    sweep.separation = 1;
    assert_refused("exact", abut_self_find(view, &step, &sweep, &result));
    step.size = 0;
    assert_refused("step", abut_self_find(view, &step, NULL, &result));
    assert_memory_equal(&before, &result, sizeof result);
    abut_self_destroy(view);
    abut_self_destroy(NULL);
    abut_mesh_destroy(mesh);
    abut_context_options impatient = abut_context_options_default();
    AUTO(context) context;
    impatient.progress = refuse;
    impatient.thread_count = 1;
    assert_ok(abut_context_create(&impatient, &context));
    mesh = make_sheet(context, 2, 2, false);
    assert_ok(abut_self_create(mesh, NULL, &view));
    step = abut_self_step_default();
    AUTO_FREE abut_vec3 *sheet = positions_of(mesh);
    step.end = abut_array_host(sheet);
    assert_int_equal(ABUT_ERROR_CANCELLED, abut_self_find(view, &step, NULL, &result));
    abut_self_destroy(view);
    abut_mesh_destroy(mesh);
}

/* No motion, a large one, a point of a mesh, the same place for all: nothing breaks. */
TEST(extremes) {
    abut_mesh *mesh = make_shape(one_thread(), ABUT_SHAPE_ICOSPHERE, 2);
    uint32_t count = abut_mesh_vertex_count(mesh);
    AUTO_FREE abut_vec3 *start = positions_of(mesh), *end = positions_of(mesh);
    assert_false(find_one(mesh, NULL, end, NULL).hit);
    for (uint32_t i = 0; i < count; i++)
        end[i] = v3_add(start[i], v3(1e20, -1e20, 3e19));
    abut_self_options options = abut_self_options_default();
    options.scheme = ABUT_SELF_LINE;
    abut_self_result far = find_one(mesh, &options, end, NULL);
    assert_true(far.scheme != ABUT_SELF_COMPLETE);
    for (uint32_t i = 0; i < count; i++)
        end[i] = v3(0, 0, 0);
    assert_true(find_one(mesh, NULL, end, NULL).hit);
    for (uint32_t i = 0; i < count; i++)
        end[i] = v3_scale(start[i], -1);
    assert_true(find_one(mesh, NULL, end, NULL).hit);
    abut_mesh_destroy(mesh);
    const abut_vec3 p[3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    const uint32_t one[3] = {0, 1, 2};
    mesh = make_mesh(p, 3, one, 1);
    assert_false(find_one(mesh, NULL, p, NULL).hit);
    abut_mesh_destroy(mesh);
}
