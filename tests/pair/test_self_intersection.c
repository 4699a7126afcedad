/* Pairs of triangles of one mesh that intersect. The referee tests all pairs with exact rationals:
 * the second triangle clipped by the first, and whether a corner of the clipped polygon lies
 * outside the hull of the common vertices. */
#include "bvh/meshes.h"

#include "base/simd.h"
#include "geom/clip.h"

/* One thread, for meshes so small that starting more would be most of the work. */
static abut_context *serial;

/* ---- the referee ---- */

static bool is_common(const abut_mesh *mesh, bool by_index, uint32_t v, uint32_t w) {
    abut_vec3 p = abut_mesh_local_positions(mesh)[v], q = abut_mesh_local_positions(mesh)[w];
    return v == w || (!by_index && p.x == q.x && p.y == q.y && p.z == q.z);
}

static void exact_corners(const abut_mesh *mesh, uint32_t triangle, rational3 *p) {
    abut_triangle t = triangle_of(mesh, triangle);
    for (int k = 0; k < 3; k++)
        p[k] = point_of(t.corner[k].x, t.corner[k].y, t.corner[k].z);
}

/* Whether boxes are apart, in doubles: exact, and it saves the referee most of its work. */
static bool boxes_apart(const abut_mesh *mesh, uint32_t a, uint32_t b) {
    abut_triangle s = triangle_of(mesh, a), t = triangle_of(mesh, b);
    for (int axis = 0; axis < 3; axis++) {
        double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
        for (int k = 0; k < 3; k++) {
            const double *p = &s.corner[k].x, *q = &t.corner[k].x;
            lo[0] = fmin(lo[0], p[axis]);
            hi[0] = fmax(hi[0], p[axis]);
            lo[1] = fmin(lo[1], q[axis]);
            hi[1] = fmax(hi[1], q[axis]);
        }
        if (hi[0] < lo[1] || hi[1] < lo[0])
            return true;
    }
    return false;
}

static bool referee_meets(const abut_mesh *mesh, bool by_index, uint32_t a, uint32_t b) {
    if (boxes_apart(mesh, a, b))
        return false;
    const uint32_t *ia = abut_mesh_indices(mesh) + 3 * a, *ib = abut_mesh_indices(mesh) + 3 * b;
    unsigned in_a = 0, in_b = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (is_common(mesh, by_index, ia[i], ib[j])) {
                in_a |= 1u << i;
                in_b |= 1u << j;
            }
    if (in_a == 7 && in_b == 7)
        return true;
    rational3 pa[3], pb[3], hull[3];
    exact_corners(mesh, a, pa);
    exact_corners(mesh, b, pb);
    convex_set set = set_of_triangle(pa);
    polygon rest = {.p = {pb[0], pb[1], pb[2]}, .count = 3};
    rest = clip(rest, &set);
    int hull_count = 0;
    for (int i = 0; i < 3; i++)
        if (in_a >> i & 1)
            hull[hull_count++] = pa[i];
    if (hull_count == 0)
        return rest.count > 0;
    for (int i = 0; i < rest.count; i++) { /* at most two distinct vertices are common */
        number away = point_segment_sq(rest.p[i], hull[0], hull[hull_count - 1]);
        if (hull_count == 3)
            away = least(away, point_segment_sq(rest.p[i], hull[0], hull[1]));
        if (mpq_sgn(away) > 0)
            return true;
    }
    return false;
}

/* How many pairs there are, without a list. */
static uint64_t count_pairs(const abut_bvh *bvh, const abut_pair_self_options *options) {
    abut_pair_self_intersection_list none = {NULL, 0, 0};
    const abut_status status = abut_pair_self_intersections(bvh, options, &none);
    assert_int_equal(status, none.count ? ABUT_ERROR_BUFFER : ABUT_OK);
    return none.count;
}

static bool intersects(const abut_bvh *bvh, const abut_pair_self_options *options) {
    bool any;
    assert_ok(abut_pair_self_intersects(bvh, options, &any));
    return any;
}

/* Each mesh with the next number of lanes; pairs are counted with the most. */
static uint64_t check(abut_mesh *mesh, bool by_index) {
    static const int lanes[] = {4, 8, 16};
    static size_t checks;
    abut_pair_self_options options = abut_pair_self_options_default();
    options.by_index = by_index;
    AUTO(bvh) bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    uint32_t n = abut_mesh_triangle_count(mesh);
    uint64_t count = count_pairs(bvh, &options), at = 0;
    AUTO_FREE abut_pair_self_intersection *pairs = calloc(count + 1, sizeof *pairs);
    assert_non_null(pairs);
    abuti_simd_limit_lanes(lanes[checks++ % 3]);
    abut_pair_self_intersection_list self_pairs = {pairs, count, 0};
    assert_ok(abut_pair_self_intersections(bvh, &options, &self_pairs));
    assert_int_equal(count, self_pairs.count);
    assert_int_equal(intersects(bvh, &options), count > 0);
    abuti_simd_limit_lanes(16);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            bool listed = at < count && pairs[at].triangle[0] == a && pairs[at].triangle[1] == b;
            if (referee_meets(mesh, by_index, a, b) != listed)
                fail_msg("triangles %u and %u of %u: %s", a, b, n,
                         listed ? "listed" : "not listed");
            if (!listed)
                continue;
            abut_triangle s = triangle_of(mesh, a), t = triangle_of(mesh, b);
            abut_intersection meeting;
            abut_segment segment;
            assert_ok(abut_triangle_triangle_intersect(&s, &t, &meeting, &segment));
            assert_int_equal(meeting, pairs[at].kind);
            assert_memory_equal(&segment, &pairs[at].segment, sizeof segment);
            at++;
        }
    assert_int_equal(at, count);
    return count;
}

static uint64_t check_and_destroy(abut_mesh *mesh) {
    uint64_t count = check(mesh, false);
    uint64_t strict = check(mesh, true);
    assert_true(strict >= count);
    abut_mesh_destroy(mesh);
    return count;
}

/* ---- meshes ---- */

static abut_mesh *make_indexed(const abut_vec3 *positions, uint32_t vertex_count,
                               const uint32_t *indices, uint32_t triangle_count) {
    return test_mesh(serial, positions, vertex_count, indices, triangle_count);
}

/* Random triangles over few vertices on a small lattice, so that every way to share vertices, to
 * lie in one plane and to be degenerate comes up. */
TEST(lattices) {
    test_random random = {41};
    uint64_t found = 0;
    for (int round = 0; round < (int)test_rounds(24); round++) {
        enum { VERTICES = 24, TRIANGLES = 32 };
        abut_vec3 positions[VERTICES];
        uint32_t indices[3 * TRIANGLES];
        bool flat = round % 4 == 0, line = round % 12 == 5;
        for (int i = 0; i < VERTICES; i++) {
            double x = test_random_below(&random, 5), y = test_random_below(&random, 5);
            positions[i] =
                line ? vec(x, 2 * x, -x) : vec(x, y, flat ? x - y : test_random_below(&random, 5));
        }
        for (int i = 0; i < 3 * TRIANGLES; i++)
            indices[i] = test_random_below(&random, VERTICES);
        found += check_and_destroy(make_indexed(positions, VERTICES, indices, TRIANGLES));
    }
    assert_true(found > test_rounds(1500));
}

TEST(soups) {
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        for (uint32_t count = 1; count < 30; count = 2 * count + 1) {
            uint64_t found = check_and_destroy(make_kind(serial, (soup_kind)kind, count, count));
            uint64_t all = (uint64_t)count * (count - 1) / 2;
            if (kind == SOUP_EQUAL || kind == SOUP_POINT)
                assert_int_equal(found, all);
        }
    for (int power = -90; power <= 88; power += 89) {
        abut_mesh *mesh = make_moved(make_kind(serial, SOUP_LATTICE, 40, 3), pow(10, power),
                                     vec(pow(10, power), 0, 0));
        assert_true(check_and_destroy(mesh) > 5);
    }
}

/* Valid shapes do not intersect themselves, also without shared indices. */
TEST(shapes) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++) {
        if (kind == ABUT_SHAPE_TEAPOT)
            continue; /* its spout goes through its body */
        AUTO(mesh) mesh = make_shape(serial, (abut_shape_kind)kind, 8);
        const uint32_t *indices = abut_mesh_indices(mesh);
        uint32_t n = abut_mesh_triangle_count(mesh);
        AUTO_FREE abut_vec3 *corners = malloc(3 * (size_t)n * sizeof *corners);
        assert_non_null(corners);
        for (uint32_t i = 0; i < 3 * n; i++)
            corners[i] = abut_mesh_local_positions(mesh)[indices[i]];
        AUTO(mesh) soup = make_soup(serial, corners, n);
        if (n < 200)
            assert_int_equal(check(mesh, false), 0);
        AUTO(bvh) bvh = hierarchy(abut_mesh_retain(mesh));
        AUTO(bvh) loose = hierarchy(abut_mesh_retain(soup));
        abut_pair_self_options strict = abut_pair_self_options_default();
        strict.by_index = true;
        assert_false(intersects(bvh, NULL));
        assert_false(intersects(loose, NULL));
        assert_true(intersects(loose, &strict));
    }
}

/* A sheet of squares; `place` says where. */
static abut_mesh *make_sheet(uint32_t side, abut_vec3 (*place)(double u, double v)) {
    abut_vec3 positions[32 * 32];
    uint32_t indices[6 * 32 * 32], count = 0;
    for (uint32_t i = 0; i <= side; i++)
        for (uint32_t j = 0; j <= side; j++)
            positions[i * (side + 1) + j] = place(i, j);
    for (uint32_t i = 0; i < side; i++)
        for (uint32_t j = 0; j < side; j++) {
            uint32_t a = i * (side + 1) + j, b = a + 1, c = a + side + 1, d = c + 1;
            uint32_t six[6] = {a, c, b, b, c, d};
            memcpy(indices + 3 * (size_t)count, six, sizeof six);
            count += 2;
        }
    return make_indexed(positions, (side + 1) * (side + 1), indices, count);
}

static abut_vec3 place_flat(double u, double v) {
    return vec(u, v, 0);
}
static abut_vec3 place_folded(double u, double v) { /* along u = 4, onto itself */
    return vec(u <= 4 ? u : 8 - u, v, 0);
}
static abut_vec3 place_creased(double u, double v) { /* the same, but open by an angle */
    return vec(u <= 4 ? u : 8 - u, v, u <= 4 ? 0 : u - 4);
}
static abut_vec3 place_rolled(double u, double v) { /* the end through the beginning */
    return vec(cos(u), sin(u), v + 0.01 * u);
}
static abut_vec3 place_saddle(double u, double v) {
    return vec(u, v, (u - 4) * (u - 4) - (v - 4) * (v - 4));
}

TEST(sheets) {
    assert_int_equal(check_and_destroy(make_sheet(8, place_flat)), 0);
    assert_int_equal(check_and_destroy(make_sheet(8, place_creased)), 0);
    assert_int_equal(check_and_destroy(make_sheet(8, place_saddle)), 0);
    assert_true(check_and_destroy(make_sheet(8, place_folded)) > 60);
    assert_true(check_and_destroy(make_sheet(8, place_rolled)) > 10);
}

/* Closed rings around a vertex, which are cleared as a whole where they may be: flat and steep
 * ones, such as go around twice, back and forth, or over themselves, with ties on a lattice. */
TEST(rings) {
    test_random random = {77};
    uint64_t found = 0;
    uint32_t sound = 0, rounds = test_rounds(120);
    for (uint32_t round = 0;
         round < rounds || (round < 10 * rounds && (found <= rounds || sound <= rounds / 6));
         round++) {
        uint32_t k = 3 + test_random_below(&random, 8), way = test_random_below(&random, 4);
        abut_vec3 positions[12];
        uint32_t indices[3 * 11];
        double steep = way == 3 ? 5 : 0.5;
        positions[0] = vec(0, 0, 0);
        for (uint32_t i = 0; i < k; i++) {
            double around = way == 1 ? 2 : 1, angle = 6.283185307179586 * around * i / k;
            double far = test_random_real(&random, 0.5, 1.5);
            abut_vec3 p =
                vec(far * cos(angle), far * sin(angle), steep * test_random_real(&random, -1, 1));
            if (way == 2)
                p = vec(test_random_below(&random, 5) - 2.0, test_random_below(&random, 5) - 2.0,
                        test_random_below(&random, 3) - 1.0);
            p = vec(floor(64 * p.x) / 64, floor(64 * p.y) / 64, floor(64 * p.z) / 64);
            positions[i + 1] = round & 1 ? p : vec(p.y, p.z, p.x);
            uint32_t corners[3] = {0, i + 1, i + 1 == k ? 1 : i + 2};
            for (uint32_t c = 0; c < 3; c++) /* either way round, from any corner */
                indices[3 * i + c] = corners[(round & 2 ? 2 * c : c + i) % 3];
        }
        abut_mesh *mesh = make_indexed(positions, k + 1, indices, k);
        uint64_t here = check(mesh, round & 4);
        sound += here == 0;
        found += here;
        abut_mesh_destroy(mesh);
    }
    assert_true(found > rounds && sound > rounds / 6);
}

/* A thin triangle through a sphere, whose faces and edges it hits; and both teapots. */
TEST(spikes) {
    abut_mesh *parts[2], *joined;
    parts[0] = make_shape(serial, ABUT_SHAPE_UVSPHERE, 12);
    abut_vec3 needle[3] = {{0, 0, -3}, {0, 0, 3}, {1e-9, 0, 3}};
    parts[1] = make_soup(serial, needle, 1);
    assert_ok(abut_mesh_join(parts, 2, &joined));
    assert_true(check_and_destroy(joined) >= 2);
    abut_mesh_destroy(parts[0]);
    abut_mesh_destroy(parts[1]);
    AUTO(mesh) teapot = make_shape(serial, ABUT_SHAPE_TEAPOT, 2);
    print_message("  teapot of %u triangles: %llu pairs\n", abut_mesh_triangle_count(teapot),
                  (unsigned long long)check(teapot, false));
}

/* ---- threads, memory, limits ---- */

TEST_THREADS(threads) {
    uint64_t first_count = 0;
    abut_pair_self_intersection *first = NULL;
    for (uint32_t n = 1; n <= 4; n += n < 2 ? 1 : 2) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, n);
        abut_mesh *mesh = make_kind(context, SOUP_RANDOM, 1000, 9);
        abut_bvh *bvh;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        const uint64_t count = count_pairs(bvh, NULL);
        abut_pair_self_intersection *pairs = calloc(count, sizeof *pairs);
        assert_non_null(pairs);
        abut_pair_self_intersection_list self_pairs = {pairs, count, 0};
        assert_ok(abut_pair_self_intersections(bvh, NULL, &self_pairs));
        assert_true(intersects(bvh, NULL) && count > 1000 && count == self_pairs.count);
        abut_pair_self_options few = abut_pair_self_options_default();
        few.limit = 100;
        self_pairs = (abut_pair_self_intersection_list){pairs, count, 0};
        assert_fails(ABUT_ERROR_LIMIT, "options->limit",
                     abut_pair_self_intersections(bvh, &few, &self_pairs));
        const uint64_t some = self_pairs.count;
        assert_true(some < count);
        if (first) {
            assert_int_equal(first_count, count + some);
            assert_memory_equal(first, pairs, count * sizeof *pairs);
            free(pairs);
        } else {
            first = pairs;
            first_count = count + some;
        }
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    free(first);
}

static abut_status find_intersections(abut_context *context, void *data) {
    (void)data;
    abut_vec3 corners[300];
    test_random random = {4};
    for (int i = 0; i < 300; i++)
        corners[i] = random_vec(&random, 1);
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    AUTO(mesh) mesh = NULL;
    AUTO(bvh) bvh = NULL;
    input.positions = corners;
    input.vertex_count = 300;
    static abut_pair_self_intersection pairs[5000];
    bool any;
    abut_status status = abut_mesh_create(context, &input, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    abut_pair_self_intersection_list self_pairs = {pairs, 5000, 0};
    status = status ? status : abut_pair_self_intersections(bvh, NULL, &self_pairs);
    status = status ? status : abut_pair_self_intersects(bvh, NULL, &any);
    abut_mesh_report report = {.size = sizeof report, .triangle_count = 100};
    status = status ? status : abut_pair_examine(bvh, NULL, &report);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(find_intersections, NULL) > 15);
}

/* The health report: what is said before, and after, of a sound and of an unsound mesh. */
TEST(reports) {
    for (int round = 0; round < 2; round++) {
        abut_mesh *parts[2], *mesh;
        parts[0] = make_shape(serial, ABUT_SHAPE_ICOSPHERE, 4);
        parts[1] = make_moved(make_shape(serial, ABUT_SHAPE_ICOSPHERE, 4), 1,
                              round ? vec(0, 0, -0.9) : vec(5, 0, 0));
        assert_ok(abut_mesh_join(parts, 2, &mesh));
        AUTO(topology) topology;
        AUTO(bvh) bvh, *other;
        abut_mesh_report report = abut_mesh_report_default(), before = abut_mesh_report_default();
        assert_ok(abut_topology_create(mesh, &topology));
        assert_ok(abut_mesh_examine(topology, &report));
        assert_false(report.has_self_intersection_test);
        assert_non_null(strstr(abut_pair_reliability(&report).reason,
                               "if the surface does not intersect itself"));
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        assert_ok(abut_bvh_create(parts[0], NULL, &other));
        before = report;
        assert_refused("report of the mesh of the BVH", abut_pair_examine(other, NULL, &report));
        assert_memory_equal(&before, &report, sizeof report);
        assert_ok(abut_pair_examine(bvh, NULL, &report));
        assert_true(report.has_self_intersection_test);
        const uint64_t count = count_pairs(bvh, NULL);
        assert_int_equal(report.self_intersection_count, count);
        const abut_problem *problem = &report.problems[ABUT_PROBLEM_SELF_INTERSECTION];
        abut_reliability_level expected =
            round ? ABUT_RELIABILITY_LIMITED : ABUT_RELIABILITY_GUARANTEED;
        assert_int_equal(count > 0, round);
        assert_int_equal(problem->count > 0, round);
        assert_true(problem->count <= 2 * count);
        assert_int_equal(abut_sign_reliability(&report, ABUT_SIGN_NORMAL).level, expected);
        assert_int_equal(abut_pair_reliability(&report).level, ABUT_RELIABILITY_GUARANTEED);
        assert_true(!strstr(abut_pair_reliability(&report).reason, "twice") == !round);
        assert_int_equal(abut_sign_reliability(&report, ABUT_SIGN_AUTO).level,
                         ABUT_RELIABILITY_GUARANTEED);
        for (uint32_t i = 1; i < problem->count && i < ABUT_PROBLEM_FIRST_COUNT; i++)
            assert_true(problem->first[i - 1] < problem->first[i]);
        assert_refused("bvh is null", abut_pair_examine(NULL, NULL, &report));
        assert_refused("report is null", abut_pair_examine(bvh, NULL, NULL));
        abut_mesh_destroy(mesh);
        abut_mesh_destroy(parts[0]);
        abut_mesh_destroy(parts[1]);
    }
}

/* A slanted closed cylinder of long thin triangles, each end a fan of 1,498 triangles at one
 * vertex: the boxes of 6.7 million pairs overlap, and none intersect. That is within the default
 * limit; one pair is found as soon as a vertex is pulled to the other side. */
TEST(long_triangles_and_fans) {
    enum { SIDES = 1500 };
    static abut_vec3 positions[2 * SIDES];
    static uint32_t indices[3 * (4 * SIDES - 4)];
    uint32_t count = 0, *to = indices;
    if (test_brief())
        return; /* it takes a few seconds there */
    for (uint32_t i = 0; i < 2 * SIDES; i++) {
        double angle = 6.283185307179586 * (i % SIDES) / SIDES, x = cos(angle), y = sin(angle);
        double along = i < SIDES ? 0 : 10;
        positions[i] = vec(0.7 * x + 0.4 * y + along, -0.7 * x + 0.4 * y + along, along - 0.8 * y);
    }
    for (uint32_t i = 0; i < SIDES; i++) {
        const uint32_t next = (i + 1) % SIDES;
        const uint32_t corners[12] = {
            i,         next,      SIDES + next, i, SIDES + next,
            SIDES + i, 0,         next,         i, /* the ends, but where i is 0 */
            SIDES,     SIDES + i, SIDES + next};
        for (uint32_t k = 0; k < (i && next ? 12 : 6); k++)
            *to++ = corners[k];
    }
    count = (uint32_t)(to - indices) / 3;
    assert_int_equal(count, 4 * SIDES - 4);
    abut_mesh *mesh = make_indexed(positions, 2 * SIDES, indices, count);
    assert_true(test_examine(mesh).is_closed);
    AUTO(bvh) bvh = hierarchy(mesh);
    assert_int_equal(0, count_pairs(bvh, NULL));
    positions[SIDES / 2] = vec(1.4, -1.4, 0);
    AUTO(bvh) pulled = hierarchy(make_indexed(positions, 2 * SIDES, indices, count));
    assert_true(count_pairs(pulled, NULL) > 0);
}

/* Five hundred thousand million pairs: ended soon, with little memory, and with its own error. */
TEST_THREADS(hostile) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 2);
    abut_mesh *mesh = make_kind(context, SOUP_EQUAL, test_rounds(200000), 1);
    abut_bvh *bvh;
    uint64_t count = 7;
    bool any = false;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_pair_self_intersects(bvh, NULL, &any));
    assert_true(any);
    uint64_t before = memory.live_bytes;
    memory.peak_bytes = before;
    abut_pair_self_options options = abut_pair_self_options_default();
    options.limit = 1000000;
    abut_pair_self_intersection_list self_pairs = {NULL, 0, 0};
    assert_fails(ABUT_ERROR_LIMIT, "limit of 1000000",
                 abut_pair_self_intersections(bvh, &options, &self_pairs));
    count = self_pairs.count;
    assert_true(count >= 1000000 / 16 && count < 2000000 / 16);
    assert_true(memory.peak_bytes - before < 24 * 1024 * 1024);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    /* slanted sheets over each other: all boxes overlap, and no triangles intersect */
    abut_vec3 *corners = malloc(30000 * sizeof *corners);
    assert_non_null(corners);
    for (uint32_t i = 0; i < 10000; i++)
        for (int k = 0; k < 3; k++)
            corners[3 * i + (uint32_t)k] = vec((k == 0) + 1e-6 * i, (k == 1) + 1e-6 * i, k == 2);
    mesh = make_soup(context, corners, 10000);
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_fails(ABUT_ERROR_LIMIT, "found 0 pairs", abut_pair_self_intersects(bvh, &options, &any));
    free(corners);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
    assert_int_equal(memory.live_count, 0);
}

typedef struct patience {
    uint32_t calls, most;
    double last;
} patience;

static bool impatient(void *user, const char *stage, double fraction) {
    patience *p = user;
    if (strcmp(stage, "self") != 0)
        return true;
    assert_true(fraction >= p->last && fraction <= 1);
    p->last = fraction;
    return ++p->calls < p->most;
}

TEST(cancelled) {
    patience p = {0, UINT32_MAX, 0};
    AUTO(context) context = test_watched(impatient, &p);
    AUTO(mesh) mesh = make_kind(context, SOUP_RANDOM, 1500, 9);
    AUTO(bvh) bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_true(count_pairs(bvh, NULL) > 0);
    assert_true(p.calls > 1 && p.last > 0.9);
    uint32_t all = p.calls;
    for (uint32_t most = 1; most <= all; most++) {
        p = (patience){0, most, 0};
        abut_pair_self_intersection none;
        abut_pair_self_intersection_list self_pairs = {&none, 1, 77};
        assert_fails(ABUT_ERROR_CANCELLED, "self",
                     abut_pair_self_intersections(bvh, NULL, &self_pairs));
        assert_int_equal(self_pairs.count, 77);
    }
}

TEST(refusals) {
    abut_mesh *mesh = make_shape(serial, ABUT_SHAPE_BOX, 1);
    bool any;
    abut_pair_self_intersection pair;
    abut_pair_self_intersection_list one = {&pair, 1, 5};
    abut_pair_self_options options = abut_pair_self_options_default();
    AUTO(bvh) bvh = hierarchy(mesh);
    assert_refused("bvh is null", abut_pair_self_intersections(NULL, NULL, &one));
    assert_refused("pairs is null", abut_pair_self_intersections(bvh, NULL, NULL));
    assert_refused("the list of pairs is null",
                   abut_pair_self_intersections(bvh, NULL,
                                                &(abut_pair_self_intersection_list){NULL, 1, 0}));
    assert_refused("any is null", abut_pair_self_intersects(bvh, NULL, NULL));
    assert_refused("bvh is null", abut_pair_self_intersects(NULL, NULL, &any));
    options.size = 0;
    assert_refused("size", abut_pair_self_intersections(bvh, &options, &one));
    assert_int_equal(one.count, 5);
    assert_ok(abut_pair_self_intersections(bvh, NULL, &one));
    assert_int_equal(one.count, 0);
}

int main(void) {
    serial = test_context(NULL, 1);
    int failures = test_run(NULL, NULL);
    abut_context_destroy(serial);
    return failures;
}
