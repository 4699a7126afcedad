/* Nearest points of batches that are large enough for lists: equal, bit for bit, to a search for
 * each of them, which has been compared with a complete one elsewhere. And the margin of the lists.
 */
#include "bvh/meshes.h"

#include "base/simd.h"
#include "nearest/batch.h"
#include "nearest/regions.h"

#include <math.h>

enum { COUNT = 1024, MOST = 14000 }; /* the fewest for lists, if there are few triangles */

static abut_vec3 between(abut_vec3 a, abut_vec3 b, double t) {
    return vec(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z));
}

/* A place for every kind of trouble. */
static abut_vec3 some_point(const abut_mesh *mesh, test_random *random, int kind) {
    double size = largest_extent(mesh);
    abut_triangle t = triangle_of(mesh, test_random_below(random, abut_mesh_triangle_count(mesh)));
    abut_box b = abut_mesh_bounds(mesh);
    abut_vec3 d;
    switch (kind) {
    case 0: /* all about */
        return point_around(mesh, random, 1.2);
    case 1: /* near the surface */
        return point_near(mesh, random, 0.02 * size);
    case 2: /* on it, except for rounding */
        return point_near(mesh, random, 0);
    case 3: /* on vertices and middles of edges */
        return test_random_below(random, 2) ? t.corner[0] : between(t.corner[0], t.corner[1], 0.5);
    case 4: /* so many at one position that their keys are equal */
        d = random_vec(random, 1e-5 * size);
        return vec(b.hi.x + d.x, b.hi.y + d.y, b.lo.z + d.z);
    case 5: /* the middle, on the medial axis of what is symmetric */
        d = random_vec(random, test_random_below(random, 2) ? 0 : 1e-3 * size);
        return vec(b.lo.x / 2 + b.hi.x / 2 + d.x, b.lo.y / 2 + b.hi.y / 2 + d.y,
                   b.lo.z / 2 + b.hi.z / 2 + d.z);
    case 6: /* far */
        return point_around(mesh, random, test_random_below(random, 8) ? 20 : 1000);
    default: /* a lattice: as many ties as can be */
        d = vec(test_random_below(random, 9), test_random_below(random, 9),
                test_random_below(random, 9));
        return vec(b.lo.x + (b.hi.x - b.lo.x) * d.x / 8, b.lo.y + (b.hi.y - b.lo.y) * d.y / 8,
                   b.lo.z + (b.hi.z - b.lo.z) * d.z / 8);
    }
}

static void check_batch(const abut_bvh *bvh, const abut_vec3 *p, size_t count, double radius) {
    static abut_nearest got[MOST];
    abut_array points = abut_array_host(p);
    memset(got, 0xff, sizeof got);
    assert_ok(abut_nearest_point_batch(bvh, points, count, radius, abut_array_host(got)));
    static abut_nearest ordered[MOST];
    points.is_sorted = true;
    assert_ok(abut_nearest_point_batch(bvh, points, count, radius, abut_array_host(ordered)));
    assert_memory_equal(got, ordered, count * sizeof *got);
    /* and by lists, though there may be too few for them */
    nearest_batch b = {.bvh = bvh, .radius = radius, .nearest = ordered};
    memset(ordered, 0xff, sizeof ordered);
    assert_ok(abuti_bvh_points_read(__func__, bvh, points, count, &b.points));
    assert_ok(abuti_batch_lists(&b));
    assert_memory_equal(got, ordered, count * sizeof *got);
    for (size_t i = 0; i < count; i++) {
        abut_nearest one;
        memset(&one, 0xff, sizeof one);
        assert_ok(abut_nearest_point(bvh, p[i], radius, &one));
        if (memcmp(&one, &got[i], sizeof one) != 0)
            fail_msg("point %zu (%.17g, %.17g, %.17g): triangle %u at %.17g (feature %d) instead "
                     "of %u at %.17g (feature %d)",
                     i, p[i].x, p[i].y, p[i].z, got[i].triangle, got[i].distance,
                     (int)got[i].feature, one.triangle, one.distance, (int)one.feature);
    }
}

static void check_mesh(abut_mesh *mesh, uint64_t seed) {
    static abut_vec3 p[MOST];
    test_random random = {seed};
    abut_bvh *bvh = hierarchy(mesh);
    double size = largest_extent(mesh);
    uint32_t triangles = abut_mesh_triangle_count(mesh), count = COUNT;
    count = 2 * triangles > count ? 2 * triangles : count;
    assert_true(count <= MOST);
    for (uint32_t i = 0; i < count; i++) /* two kinds at a time for a while, then all */
        do
            p[i] = some_point(mesh, &random, (int)(i < count / 2 ? 16 * i / count + i % 2 : i) % 8);
        while (!(fmax(fabs(p[i].x), fmax(fabs(p[i].y), fabs(p[i].z))) <= ABUT_COORDINATE_MAX));
    check_batch(bvh, p, count, HUGE_VAL);
    if (triangles < COUNT) {
        check_batch(bvh, p, count, 0.05 * size);
        check_batch(bvh, p, count, 0);
    }
    abut_bvh_destroy(bvh);
}

TEST(shapes) {
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++)
        check_mesh(make_shape(NULL, (abut_shape_kind)kind, 6), 1 + (uint64_t)kind);
    check_mesh(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 12), 50);
    if (!test_brief())
        check_mesh(make_shape(NULL, ABUT_SHAPE_TEAPOT, 0), 51);
}

TEST(soups) {
    for (int kind = 0; kind < SOUP_COUNT; kind++) {
        check_mesh(make_kind(NULL, (soup_kind)kind, 1, 3), 100 + (uint64_t)kind);
        check_mesh(make_kind(NULL, (soup_kind)kind, 400, 4), 200 + (uint64_t)kind);
    }
}

/* Triangles twice, turned over, and on an edge that many share; vertices that coincide. */
TEST(shared_parts) {
    enum { FINS = 9, BOTH = 3 * FINS };
    abut_vec3 positions[FINS + 2];
    uint32_t indices[BOTH][3];
    positions[0] = vec(0, 0, 0);
    positions[1] = vec(0, 0, 1);
    for (uint32_t i = 0; i < FINS; i++) {
        positions[2 + i] = vec(cos(0.7 * i), sin(0.7 * i), 0.3);
        uint32_t fin[3] = {0, 1, 2 + i}, turned[3] = {1, 0, 2 + i}, bent[3] = {0, 2 + i, 2 + i};
        memcpy(indices[FINS - 1 - i], fin, sizeof fin);
        memcpy(indices[FINS + i], turned, sizeof fin);
        memcpy(indices[2 * FINS + i], i % 2 ? fin : bent, sizeof fin);
    }
    abut_mesh *mesh = test_mesh(NULL, positions, FINS + 2, indices, BOTH);
    check_mesh(mesh, 8);
}

TEST(sizes_and_places) {
    static const double scales[] = {1e-30, 1e30, 1e-80, 1e80, 1e-6};
    static const double places[] = {0, 0, 0, 0, 1e6};
    for (int i = test_brief() ? 2 : 0; i < 5; i++) {
        abut_vec3 by = vec(places[i], -places[i], 2 * places[i]);
        check_mesh(make_moved(make_shape(NULL, ABUT_SHAPE_TORUS, 12), scales[i], by), 60);
        check_mesh(make_moved(make_kind(NULL, SOUP_NEEDLES, 100, 3), scales[i], by), 61);
        check_mesh(make_moved(make_kind(NULL, SOUP_GROWING, 100, 3), scales[i], by), 62);
    }
}

/* Rows of points in a plane, all points at one place, and all of them far away. */
TEST(rows_and_places) {
    enum { ROW = 61 };
    static abut_vec3 p[ROW * ROW];
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 20);
    abut_bvh *bvh = hierarchy(abut_mesh_retain(mesh));
    abut_box b = abut_mesh_bounds(mesh);
    static const double heights[] = {-0.3, 0, 0.5, 1, 1000};
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < ROW * ROW; i++)
            p[i] = vec(b.lo.x + (b.hi.x - b.lo.x) * (i % ROW) / (ROW - 1),
                       b.lo.y + (b.hi.y - b.lo.y) * (i / ROW) / (ROW - 1),
                       b.lo.z + (b.hi.z - b.lo.z) * heights[k]);
        check_batch(bvh, p, ROW * ROW, HUGE_VAL);
    }
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < ROW * ROW; i++)
            p[i] = k ? triangle_of(mesh, 7).corner[k] : vec(0, 0, 0);
        check_batch(bvh, p, ROW * ROW, HUGE_VAL);
    }
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

/* ---- threads, memory, cancelling ---- */

static abut_status batch_work(abut_context *context, void *data) {
    static abut_nearest got[COUNT];
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_mesh *mesh;
    abut_bvh *bvh = NULL;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    if (status)
        return status;
    status = abut_bvh_create(mesh, NULL, &bvh);
    abut_array points = abut_array_host(data);
    status = status ? status
                    : abut_nearest_point_batch(bvh, points, COUNT, HUGE_VAL, abut_array_host(got));
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(out_of_memory) {
    static abut_vec3 p[COUNT];
    test_random random = {3};
    for (int i = 0; i < COUNT; i++)
        p[i] = random_vec(&random, 2);
    assert_true(test_every_allocation(batch_work, p) > 5);
}

TEST_THREADS(threads_agree) {
    enum { MANY = 70000 }; /* sorted in two parts */
    abut_vec3 *p = malloc(MANY * sizeof *p);
    abut_nearest *first = malloc(MANY * sizeof *first), *got = malloc(MANY * sizeof *got);
    assert_true(p && first && got);
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, threads);
        abut_mesh *mesh = make_shape(context, ABUT_SHAPE_TEAPOT_SOLID, 6);
        abut_bvh *bvh;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        test_random random = {9};
        for (int i = 0; i < MANY; i++)
            p[i] = some_point(mesh, &random, i % 2);
        abut_array points = abut_array_host(p);
        memset(got, 0, MANY * sizeof *got);
        assert_ok(abut_nearest_point_batch(bvh, points, MANY, HUGE_VAL,
                                           abut_array_host(threads == 1 ? first : got)));
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
        abut_context_destroy(context);
        assert_int_equal(memory.live_count, 0);
    }
    assert_memory_equal(first, got, MANY * sizeof *got);
    free(p);
    free(first);
    free(got);
}

static bool stop_nearest(void *user, const char *stage, double fraction) {
    uint32_t *left = user;
    assert_true(fraction >= 0 && fraction <= 1);
    return strcmp(stage, "nearest") != 0 || (*left)-- > 1; /* true = go on */
}

TEST(cancelling) {
    enum { MANY = 140000 }; /* three reports on up to four threads */
    uint32_t left = 2;
    abut_context_options options = abut_context_options_default();
    abut_context *context = NULL;
    options.thread_count = 2;
    options.progress = stop_nearest;
    options.progress_user = &left;
    assert_ok(abut_context_create(&options, &context));
    abut_mesh *mesh = make_shape(context, ABUT_SHAPE_BOX, 1);
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_vec3 *p = calloc(MANY, sizeof *p);
    abut_nearest *got = calloc(MANY, sizeof *got);
    assert_true(p && got);
    abut_array points = abut_array_host(p);
    assert_int_equal(ABUT_ERROR_CANCELLED,
                     abut_nearest_point_batch(bvh, points, MANY, HUGE_VAL, abut_array_host(got)));
    assert_int_equal(left, 0);
    left = 100;
    assert_ok(abut_nearest_point_batch(bvh, points, MANY, HUGE_VAL, abut_array_host(got)));
    assert_int_equal(left, 97);
    free(p);
    free(got);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
}

/* ---- kernels ---- */

/* Calls a test for every width of vectors that runs here. */
static void for_all_lanes(void (*test)(void)) {
    const int most = abuti_simd_lanes();
    for (int lanes = 4; lanes <= most; lanes *= 2) {
        abuti_simd_limit_lanes(lanes);
        test();
        abuti_simd_limit_lanes(16);
    }
}

/* A list of all features of a mesh, and room to work. */
typedef struct whole {
    abut_mesh *mesh;
    abut_bvh *bvh;
    regions_table table;
    regions_list list;
    uint32_t *kept;
} whole;

enum { FILTER_BOXES = 3 };

static whole whole_create(abut_mesh *mesh) {
    whole w = {.mesh = mesh, .bvh = hierarchy(abut_mesh_retain(mesh))};
    assert_ok(abuti_regions_create(w.bvh, FEATURES_INCIDENTS, &w.table));
    uint32_t count = w.table.features.count, room = FILTER_BOXES * regions_stride(count);
    w.kept = malloc(room * sizeof *w.kept);
    w.list = (regions_list){.count = count,
                            .columns = malloc(REGIONS_COLUMNS * room * sizeof *w.list.columns),
                            .names = malloc(room * sizeof *w.list.names)};
    assert_true(w.kept && w.list.columns && w.list.names);
    for (uint32_t i = 0; i < count; i++)
        w.list.names[i] = i;
    ABUTI_BY_LANES(abuti_regions)->gather(w.table.rows, &w.list);
    return w;
}

static void whole_destroy(whole *w) {
    free(w->kept);
    free(w->list.columns);
    free(w->list.names);
    abuti_regions_destroy(&w->table);
    abut_bvh_destroy(w->bvh);
    abut_mesh_destroy(w->mesh);
}

static vec3 in_frame(const whole *w, abut_vec3 p) {
    return v3_scale(v3_sub(p, w->mesh->origin), w->bvh->scale);
}

/* The distance from a feature in the frame; negative where that is the distance from no plane. */
static double distance_from(const whole *w, uint32_t name, vec3 p) {
    const uint32_t source = feature_source(&w->table.features, name);
    const float offset = w->table.rows[name].column[REGIONS_OFFSET];
    uint32_t ends[2] = {source, source};
    if (offset > 0)
        feature_ends(w->mesh->indices, source, ends);
    if (offset >= 0) {
        segment3 s = {{v3_scale(w->mesh->positions[ends[0]], w->bvh->scale),
                       v3_scale(w->mesh->positions[ends[1]], w->bvh->scale)}};
        return segment_closest_point(s, p).distance;
    }
    triangle3 t;
    for (uint32_t k = 0; k < 3; k++)
        t.corner[k] = v3_scale(w->mesh->positions[w->mesh->indices[3 * source + k]], w->bvh->scale);
    closest_on_triangle closest = triangle_closest_point(t, p);
    return closest.feature == ABUT_FEATURE_FACE ? closest.distance : -1;
}

/* The largest error of distances, as a part of 16 roundings of the largest coordinate and 2. */
static double worst_error(abut_mesh *mesh, uint64_t seed) {
    static regions_winners winners;
    test_random random = {seed};
    whole w = whole_create(mesh);
    double worst = 0;
    for (int round = 0; round < 2; round++) {
        vec3 p[REGIONS_POINTS];
        float at[3][REGIONS_POINTS];
        for (int i = 0; i < REGIONS_POINTS; i++) {
            p[i] = in_frame(&w, i % 8 == 6 ? point_around(mesh, &random, 40)
                                           : some_point(mesh, &random, i % 8));
            for (int k = 0; k < 3; k++)
                at[k][i] = (float)v3_get(p[i], k);
        }
        const float *const columns[3] = {at[0], at[1], at[2]};
        uint32_t count = w.list.count < REGIONS_KEPT ? w.list.count : REGIONS_KEPT;
        ABUTI_BY_LANES(abuti_regions)
            ->winners(w.table.rows, w.list.names, count, columns, 1000, &winners);
        for (uint32_t f = 0; f < count; f++)
            for (int i = 0; i < REGIONS_POINTS; i++) {
                double d = distance_from(&w, f, p[i]);
                double error = fabs(sqrt(winners.square[f][i]) - d);
                if (d >= 0)
                    worst = fmax(worst, error / (0x1p-20 * (v3_max_abs(p[i]) + 2)));
            }
    }
    whole_destroy(&w);
    return worst;
}

static void errors(void) {
    double worst = 0;
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        for (uint32_t count = 1; count < 500; count = 7 * count + 3) {
            abut_mesh *moved =
                make_moved(make_kind(NULL, (soup_kind)kind, count, 9), 1e-3, vec(7, -5, 1000));
            worst = fmax(worst, worst_error(moved, 6));
            worst = fmax(worst, worst_error(make_kind(NULL, (soup_kind)kind, count, 3), 5));
        }
    worst = fmax(worst, worst_error(make_shape(NULL, ABUT_SHAPE_TORUS, 16), 7));
    if (!(worst <= 0.65 && worst > 0.005)) /* below that nothing was measured */
        fail_msg("the largest error is %g of the margin", worst);
}

TEST(errors_are_inside) {
    for_all_lanes(errors);
}

/* Whether a list still has a feature of a triangle. */
static bool is_kept(const whole *w, const uint32_t *kept, uint32_t count, uint32_t triangle) {
    const abuti_features *features = &w->table.features;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t name = w->list.names[kept[k]];
        for (uint32_t i = features->incident_begin[name]; i < features->incident_begin[name + 1];
             i++)
            if (features->incidents[i] == triangle)
                return true;
    }
    return false;
}

/* Faces first, as in lists; they are in no order before. */
static void sort_whole(whole *w) {
    uint32_t count = 0;
    for (int side = -1; side <= 1; side++)
        for (uint32_t i = 0; i < w->list.count; i++) {
            float offset = w->table.rows[i].column[REGIONS_OFFSET];
            if ((side < 0 && offset < 0) || (side == 0 && offset > 0) || (side > 0 && offset == 0))
                w->list.names[count++] = i;
        }
    assert_int_equal(w->list.count, count);
    ABUTI_BY_LANES(abuti_regions)->gather(w->table.rows, &w->list);
}

/* What a filter drops is nearest to no point of the box. */
static void check_filter(abut_mesh *mesh, uint64_t seed) {
    enum { EACH = 8 };
    test_random random = {seed};
    whole w = whole_create(mesh);
    double size = largest_extent(mesh);
    for (int round = 0; round < 14; round++) {
        abut_vec3 c = some_point(mesh, &random, round % 6), p[FILTER_BOXES][EACH];
        double half = size * pow(10, -test_random_real(&random, 0.5, 6)) * (round % 7 ? 1 : 0);
        vec3 known = v3_scale(mesh->positions[mesh->indices[round % 3]], w.bvh->scale);
        regions_box boxes[FILTER_BOXES];
        float most[3] = {0, 0, 0}, margin = 0;
        uint32_t kept[FILTER_BOXES], count = round % 4 ? FILTER_BOXES : 1;
        if (round == 7)
            sort_whole(&w);
        for (uint32_t b = 0; b < count; b++) {
            vec3 lo = v3(INFINITY, INFINITY, INFINITY), hi = v3_scale(lo, -1);
            for (int i = 0; i < EACH; i++) {
                abut_vec3 d = random_vec(&random, half);
                p[b][i] = vec(c.x + d.x + 2 * b * half, c.y + d.y, c.z + d.z);
                lo = v3_min(lo, in_frame(&w, p[b][i]));
                hi = v3_max(hi, in_frame(&w, p[b][i]));
            }
            vec3 middle = v3_scale(v3_add(lo, hi), 0.5);
            boxes[b] = (regions_box){.reach = INFINITY};
            margin =
                fmaxf(margin, 0x1p-20f * ((float)real_max(v3_max_abs(lo), v3_max_abs(hi)) + 2));
            for (int k = 0; k < 3; k++) {
                boxes[b].centre[k] = (float)v3_get(middle, k);
                boxes[b].near[k] = boxes[b].centre[k] - (float)v3_get(known, k);
                boxes[b].near_sq += boxes[b].near[k] * boxes[b].near[k];
                most[k] = fmaxf(most[k], (float)(0.5 * (v3_get(hi, k) - v3_get(lo, k))));
            }
        }
        for (uint32_t b = 0; b < count; b++) {
            boxes[b].margin = margin;
            boxes[b].outside = (round % 2 ? 1 : 8) * margin;
            for (int k = 0; k < 3; k++)
                boxes[b].half[k] = most[k] + 0.25f * margin;
        }
        ABUTI_BY_LANES(abuti_regions)->filter(&w.list, boxes, count, w.kept, kept);
        for (uint32_t b = 0; b < count; b++)
            for (int i = 0; i < EACH; i++) {
                abut_nearest nearest;
                assert_ok(abut_nearest_point(w.bvh, p[b][i], HUGE_VAL, &nearest));
                assert_true(is_kept(&w, w.kept + b * regions_stride(w.list.count), kept[b],
                                    nearest.triangle));
            }
    }
    whole_destroy(&w);
}

static void filters(void) {
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        check_filter(make_kind(NULL, (soup_kind)kind, 300, 9), 6);
    check_filter(make_shape(NULL, ABUT_SHAPE_TORUS, 16), 7);
    check_filter(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 8), 8);
}

TEST(filters_keep_the_nearest) {
    for_all_lanes(filters);
}

/* Many at a time give the bits of one at a time. */
static void check_pairs(abut_mesh *mesh, uint64_t seed) {
    enum { PAIR_COUNT = 133 };
    static nearest_pair pairs[PAIR_COUNT];
    test_random random = {seed};
    for (uint32_t i = 0; i < PAIR_COUNT; i++) {
        nearest_pair *pair = &pairs[i];
        pair->triangle = test_random_below(&random, abut_mesh_triangle_count(mesh));
        do
            pair->point = some_point(mesh, &random, (int)(i % 8));
        while (!(v3_max_abs(pair->point) <= ABUT_COORDINATE_MAX));
        if (i % 5 == 4) /* on one of its own corners */
            pair->point = triangle_of(mesh, pair->triangle).corner[i % 3];
    }
    ABUTI_BY_LANES(abuti_nearest_measure)(mesh, pairs, PAIR_COUNT);
    for (uint32_t i = 0; i < PAIR_COUNT; i++) {
        abut_triangle t = triangle_of(mesh, pairs[i].triangle);
        abut_closest_on_triangle closest;
        assert_ok(abut_triangle_closest_point(&t, pairs[i].point, &closest));
        assert_memory_equal(&closest.distance, &pairs[i].distance, sizeof closest.distance);
        assert_memory_equal(closest.barycentric, pairs[i].weight, sizeof closest.barycentric);
    }
    abut_mesh_destroy(mesh);
}

static void pairs(void) {
    static const double scales[] = {1, 1e-30, 1e30, 1e-80, 1e80, 1e-25, 3e29};
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        for (int i = 0; i < (test_brief() ? 3 : 7); i++)
            check_pairs(make_moved(make_kind(NULL, (soup_kind)kind, 60, (uint64_t)i), scales[i],
                                   vec(0, i ? 0 : 3, 0)),
                        (uint64_t)(3 + i));
}

TEST(pairs_are_exact) {
    for_all_lanes(pairs);
}
