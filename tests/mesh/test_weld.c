/* Welding against plain quadratic clustering, and degenerate input in bounded time. */
#include "mesh/shapes.h"

#include "mesh/mesh.h"

#include <time.h>

/* ---- the referee ---- */

/* Transitive clusters by relabelling until nothing changes; then the mesh as promised. */
static void weld_slowly(const soup *s, double tolerance, soup *out) {
    static uint32_t label[4096], number[4096];
    for (uint32_t i = 0; i < s->vertex_count; i++) {
        label[i] = i;
        number[i] = ABUT_NONE;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < s->vertex_count; i++)
            for (uint32_t j = 0; j < i; j++) {
                const double *p = s->positions + 3 * i, *q = s->positions + 3 * j;
                double x = p[0] - q[0], y = p[1] - q[1], z = p[2] - q[2];
                bool same = x == 0 && y == 0 && z == 0;
                if ((!same && !(sqrt(x * x + y * y + z * z) < tolerance)) || label[i] == label[j])
                    continue;
                label[i] = label[j] = label[i] < label[j] ? label[i] : label[j];
                changed = true;
            }
    }
    out->vertex_count = out->triangle_count = 0;
    for (uint32_t t = 0; t < s->triangle_count; t++) {
        uint32_t c[3];
        for (uint32_t k = 0; k < 3; k++)
            c[k] = label[s->indices[3 * t + k]];
        if (abuti_is_collapsed(c))
            continue;
        soup_triangle(out, c[0], c[1], c[2]);
        for (int k = 0; k < 3; k++)
            number[c[k]] = 0;
    }
    for (uint32_t i = 0; i < s->vertex_count; i++)
        if (number[i] != ABUT_NONE)
            number[i] = soup_vertex(out, s->positions[3 * i], s->positions[3 * i + 1],
                                    s->positions[3 * i + 2]);
    for (uint32_t i = 0; i < 3 * out->triangle_count; i++)
        out->indices[i] = number[out->indices[i]];
}

static void check(const soup *s, double tolerance, abut_context *context) {
    static soup expected;
    weld_slowly(s, tolerance, &expected);
    AUTO(mesh) mesh = soup_mesh(context, s), *welded = NULL;
    if (expected.triangle_count == 0) {
        assert_refused("tolerance", abut_mesh_weld(mesh, tolerance, &welded));
        assert_null(welded);
        return;
    }
    assert_ok(abut_mesh_weld(mesh, tolerance, &welded));
    assert_int_equal(expected.vertex_count, welded->vertex_count);
    assert_int_equal(expected.triangle_count, welded->triangle_count);
    assert_memory_equal(expected.indices, welded->indices,
                        3 * expected.triangle_count * sizeof(uint32_t));
    for (uint32_t v = 0; v < expected.vertex_count; v++) {
        vec3 p = abuti_mesh_position(welded, v); /* kept, bit for bit */
        assert_true(p.x == expected.positions[3 * v] && p.y == expected.positions[3 * v + 1] &&
                    p.z == expected.positions[3 * v + 2]);
    }
}

/* ---- tests ---- */

TEST(random_soups) {
    test_random random = {.state = 31};
    for (int round = 0; round < 400; round++) {
        soup *s = fresh();
        uint32_t vertices = 1 + test_random_below(&random, round % 10 ? 60 : 800);
        soup_random(s, &random, vertices, 1 + test_random_below(&random, 100));
        /* clusters of points, lines of points, and lattices where distances tie with the
         * tolerance */
        for (uint32_t i = 0; i < 3 * vertices; i++) {
            if (round % 4 == 1)
                s->positions[i] = floor(4 * s->positions[i]) / 4;
            if (round % 4 == 2 && i % 3)
                s->positions[i] = 0;
            if (round % 4 == 3)
                s->positions[i] = 1e-3 * s->positions[i] +
                                  (double)test_random_below(&random, 3) * (i % 2 ? 1 : -1);
        }
        double tolerance = round % 5 == 0   ? 0
                           : round % 5 == 1 ? 0.25
                           : round % 5 == 2 ? 1e-3
                                            : pow(10, test_random_real(&random, -4, 0.5));
        check(s, tolerance, NULL);
    }
}

TEST(far_away_and_tiny) {
    test_random random = {.state = 32};
    for (int round = 0; round < 40; round++) {
        soup *s = fresh();
        soup_random(s, &random, 50, 100);
        for (uint32_t i = 0; i < 3 * s->vertex_count; i++)
            s->positions[i] *= round % 2 ? 1e80 : 1e-80;
        check(s, round % 2 ? 3e79 : 3e-81, NULL);
        check(s, 1e-300, NULL);
        check(s, 5e-324, NULL);
        check(s, 1e85, NULL);
    }
}

TEST(a_cut_box_is_closed_again) {
    soup *s = fresh();
    for (int i = 0; i < 2; i++) /* every triangle with vertices of its own */
        soup_box(s, 0, 1);
    static soup exploded;
    exploded.vertex_count = exploded.triangle_count = 0;
    for (uint32_t i = 0; i < 36; i++) {
        const double *p = s->positions + 3 * s->indices[i];
        soup_vertex(&exploded, p[0], p[1] == 0 ? -0.0 : p[1], p[2]);
        if (i % 3 == 2)
            soup_triangle(&exploded, i - 2, i - 1, i);
    }
    soup_triangle(&exploded, 5, 5, 6); /* a collapsed one goes as well */
    AUTO(mesh) mesh = soup_mesh(NULL, &exploded), *welded = NULL;
    assert_ok(abut_mesh_weld(mesh, 0, &welded));
    assert_int_equal(8, welded->vertex_count);
    assert_int_equal(12, welded->triangle_count);
    abut_mesh_report report = test_examine(welded);
    assert_true(report.is_closed && report.is_manifold && report.is_oriented);
}

/* ---- hostile input ---- */

static uint32_t weld_many(const double *positions, uint32_t count, double tolerance) {
    AUTO(mesh) mesh = test_mesh(NULL, positions, count, NULL, count / 3), *welded = NULL;
    clock_t start = clock();
    abut_status status = abut_mesh_weld(mesh, tolerance, &welded);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 60);
    return status ? 0 : abut_mesh_vertex_count(welded);
}

TEST(hostile_input_takes_no_square_time) {
    const uint32_t n = test_rounds(600000);
    test_random random = {.state = 33};
    AUTO_FREE double *p = calloc(3 * (size_t)n, sizeof *p);
    assert_int_equal(0, weld_many(p, n, 0)); /* all in one point */
    for (uint32_t i = 0; i < 3 * n; i++)
        p[i] = test_random_real(&random, 0, 1);
    assert_int_equal(n, weld_many(p, n, 0));
    assert_int_equal(0, weld_many(p, n, 10));   /* all within the tolerance */
    assert_int_equal(0, weld_many(p, n, 0.05)); /* a dense cloud */
    assert_true(weld_many(p, n, 1e-4) > n / 2);
    assert_int_equal(n, weld_many(p, n, 1e-300)); /* cells of any kind would overflow */
    for (uint32_t i = 0; i < n; i++) /* two dense clouds a little more than the tolerance apart */
        p[3 * i] = p[3 * i] * 1e-3 + (i % 2 ? 1.1 : 0);
    assert_true(weld_many(p, n, 1.0985) == 0);
    for (uint32_t i = 0; i < 3 * n; i++) /* powers: every scale at once */
        p[i] = ldexp(test_random_real(&random, 1, 2), (int)test_random_below(&random, 400) - 200);
    assert_true(weld_many(p, n, 1e-6) > 0);
}

/* ---- failures ---- */

typedef struct job {
    const soup *s;
    double tolerance;
} job;

static abut_status weld_soup(abut_context *context, void *data) {
    const job *work = data;
    AUTO(mesh) mesh = NULL, *welded = NULL;
    abut_status status = soup_try(context, work->s, &mesh);
    status = status ? status : abut_mesh_weld(mesh, work->tolerance, &welded);
    if (status)
        assert_null(welded);
    return status;
}

TEST(out_of_memory) {
    soup *s = fresh();
    test_random random = {.state = 34};
    soup_random(s, &random, 100, 200);
    test_every_allocation(weld_soup, &(job){s, 0.3});
    test_every_allocation(weld_soup, &(job){s, 0});
}

TEST(refusals) {
    soup *s = fresh();
    soup_box(s, 0, 1);
    AUTO(mesh) mesh = soup_mesh(NULL, s), *welded = NULL;
    assert_refused("mesh is null", abut_mesh_weld(NULL, 0, &welded));
    assert_refused("welded is null", abut_mesh_weld(mesh, 0, NULL));
    assert_refused("-1", abut_mesh_weld(mesh, -1, &welded));
    assert_refused("nan", abut_mesh_weld(mesh, NAN, &welded));
    assert_refused("inf", abut_mesh_weld(mesh, INFINITY, &welded));
    assert_refused("smaller", abut_mesh_weld(mesh, 5, &welded));
    assert_null(welded);
    check_cancelling("weld", 8, weld_soup, &(job){s, 0.1});
}

TEST_THREADS(same_on_any_thread_count) {
    test_random random = {.state = 35};
    soup *s = fresh();
    soup_random(s, &random, 4000, 8000);
    AUTO(context) context = test_context(NULL, 4);
    AUTO(mesh) one = soup_mesh(NULL, s), *four = soup_mesh(context, s), *a = NULL, *b = NULL;
    assert_ok(abut_mesh_weld(one, 0.05, &a));
    assert_ok(abut_mesh_weld(four, 0.05, &b));
    assert_int_equal(a->triangle_count, b->triangle_count);
    assert_memory_equal(a->indices, b->indices, 3 * a->triangle_count * sizeof(uint32_t));
}
