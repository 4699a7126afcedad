/* The atlas: every triangle has texels, no texel two triangles, and samples are near. */
#include "apps/get.h"
#include "map/surfaces.h"

/* All samples, by texel, and by triangle. */
typedef struct samples {
    abut_map_sample *at;
    uint32_t *count, resolution;
} samples;

static samples samples_of(const abut_map *map) {
    samples s = {.resolution = get_map_info(map).resolution};
    s.at = malloc((size_t)s.resolution * s.resolution * sizeof *s.at);
    s.count = calloc(abut_mesh_triangle_count(abut_map_mesh(map)), sizeof *s.count);
    for (uint32_t y = 0; y < s.resolution; y++)
        for (uint32_t x = 0; x < s.resolution; x++) {
            abut_map_sample *sample = &s.at[y * s.resolution + x];
            assert_ok(abut_map_sample_at(map, x, y, sample));
            if (sample->triangle != ABUT_NONE)
                s.count[sample->triangle]++;
        }
    return s;
}

static void free_samples(samples *s) {
    free(s->at);
    free(s->count);
}

/* Twice the area of a triangle of the plane. */
static double turn(const double a[2], const double b[2], double x, double y) {
    return (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
}

/* Samples are what the corners in the atlas say; every triangle has one; areas add up. */
static void check_atlas(abut_map *map) {
    abut_mesh *mesh = abut_map_mesh(map);
    samples s = samples_of(map);
    uint32_t used = 0;
    double area = 0;
    for (uint32_t i = 0; i < s.resolution * s.resolution; i++) {
        const abut_map_sample *sample = &s.at[i];
        if (sample->triangle == ABUT_NONE)
            continue;
        double corners[3][2], x = i % s.resolution + 0.5, y = i / s.resolution + 0.5;
        assert_ok(abut_map_corners(map, sample->triangle, corners));
        double all = turn(corners[0], corners[1], corners[2][0], corners[2][1]);
        assert_true(all > 0 || get_map_info(map).uses_uv);
        for (int k = 0; k < 3; k++) {
            double part = turn(corners[(k + 1) % 3], corners[(k + 2) % 3], x, y) / all;
            assert_true(part > -1e-12);
            assert_close(sample->barycentric[k], part, 1e-12);
        }
        used++;
        area += sample->area;
    }
    abut_map_info info = get_map_info(map);
    assert_int_equal(used, info.sample_count);
    assert_true(fabs(area - info.area) <= 1e-9 * info.area);
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++) {
        double corners[3][2];
        assert_true(s.count[t] > 0);
        assert_ok(abut_map_corners(map, t, corners));
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 2; c++)
                assert_true(corners[k][c] >= 0 && corners[k][c] <= s.resolution);
    }
    free_samples(&s);
}

/* No point of a triangle is farther from its samples than the reach. */
static void check_reach(const abut_map *map, uint32_t rounds) {
    abut_mesh *mesh = abut_map_mesh(map);
    samples s = samples_of(map);
    test_random random = {7};
    double worst = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t t;
        double weight[3], corners[3][2], reach, best = HUGE_VAL;
        abut_vec3 p = point_on(mesh, &random, &t, weight);
        assert_ok(abut_map_corners(map, t, corners));
        assert_ok(abut_map_reach(map, t, &reach));
        uint32_t lo[2], hi[2];
        for (int c = 0; c < 2; c++) {
            lo[c] = (uint32_t)fmin(corners[0][c], fmin(corners[1][c], corners[2][c]));
            hi[c] = (uint32_t)ceil(fmax(corners[0][c], fmax(corners[1][c], corners[2][c])));
        }
        for (uint32_t y = lo[1]; y < hi[1]; y++)
            for (uint32_t x = lo[0]; x < hi[0] && x < s.resolution; x++)
                if (s.at[y * s.resolution + x].triangle == t)
                    best = fmin(best, distance_of(p, s.at[y * s.resolution + x].point));
        assert_true(best <= reach * (1 + 1e-12));
        worst = fmax(worst, best);
    }
    abut_map_info info = get_map_info(map);
    assert_true(worst <= info.reach);
    assert_true(worst >= 0.1 * info.reach || rounds < 1000); /* the bound says something */
    free_samples(&s);
}

TEST(triangles_fill_the_square) {
    const struct {
        abut_shape_kind kind;
        uint32_t segments, rings;
        double used;
    } cases[] = {{ABUT_SHAPE_LETTER_E, 0, 0, 0.93},  {ABUT_SHAPE_LETTER_G, 0, 0, 0.93},
                 {ABUT_SHAPE_ICOSPHERE, 10, 0, 0.9}, {ABUT_SHAPE_TORUS, 40, 25, 0.9},
                 {ABUT_SHAPE_CAPSULE, 40, 12, 0.85}, {ABUT_SHAPE_UVSPHERE, 40, 26, 0.9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        AUTO(mesh) mesh = made(NULL, cases[i].kind, cases[i].segments, cases[i].rings);
        AUTO(map) map = map_of(mesh, 512);
        abut_map_info info = get_map_info(map);
        assert_true(info.used >= cases[i].used);
        assert_true(info.uneven < 0.1);
        assert_true(fabs(info.density * info.area - info.sample_count) < 0.03 * info.sample_count);
        check_atlas(map);
    }
}

TEST(few_and_many_triangles_have_places) {
    const uint32_t segments[] = {1, 2, 8, 16};
    for (size_t i = 0; i < 4; i++)
        for (uint32_t resolution = 57; resolution < 300; resolution += 80) {
            AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_BOX, segments[i], 0);
            AUTO(map) map = map_of(mesh, resolution);
            check_atlas(map);
            check_reach(map, 500);
        }
}

TEST(samples_are_within_reach_also_when_triangles_deform) {
    const double change[][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1},   {1, 10, 0, 0, 1, 0, 0, 0, 1},
                                {1, 0, 0, -10, 1, 3, 0, 0, 1}, {5, 0, 0, 0, 0.2, 0, 0, 0, 1},
                                {1, 0, 0, 0, 1, 0, 0, 0, 1e6}, {0, 0, 0, 0, 0, 0, 0, 0, 0}};
    const abut_shape_kind kinds[] = {ABUT_SHAPE_LETTER_G, ABUT_SHAPE_TORUS, ABUT_SHAPE_CONE,
                                     ABUT_SHAPE_TEAPOT};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        AUTO(mesh) mesh = made(NULL, kinds[i], 0, 0);
        AUTO(map) map = map_of(mesh, 256);
        for (size_t k = 0; k < sizeof change / sizeof *change; k++) {
            AUTO(mesh) other = moved(mesh, change[k], (abut_vec3){1, 2, 3});
            assert_ok(abut_map_set_mesh(map, other));
            if (k < 5)
                check_reach(map, test_thorough() ? 50000 : 250); /* a million points */
            assert_true(k || get_map_info(map).reach <= 1.0001 * get_map_info(map).reach_at_rest);
        }
        assert_true(get_map_info(map).reach == 0);
    }
}

TEST(the_resolution_that_is_needed_is_named) {
    AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_ICOSPHERE, 16, 0); /* 5,120 triangles */
    abut_map_options options = abut_map_options_default();
    abut_map *map = NULL;
    options.resolution = 64;
    assert_int_equal(abut_map_create(mesh, &options, &map), ABUT_ERROR_LIMIT);
    const char *told = strstr(abut_last_error(), "a resolution of at least ");
    assert_non_null(told);
    options.resolution = (uint32_t)atoi(told + strlen("a resolution of at least "));
    assert_in_range(options.resolution, 72, 76);
    assert_ok(abut_map_create(mesh, &options, &map));
    check_atlas(map);
    abut_map_destroy(map);
    options.resolution--;
    assert_int_equal(abut_map_create(mesh, &options, &map), ABUT_ERROR_LIMIT);
    options.resolution = 16385;
    assert_int_equal(abut_map_create(mesh, &options, &map), ABUT_ERROR_ARGUMENT);
}

/* The reach is at most the precision, and at most about a fiftieth less than possible. */
TEST(precision_determines_the_resolution) {
    const abut_shape_kind kinds[] = {ABUT_SHAPE_BOX, ABUT_SHAPE_LETTER_E, ABUT_SHAPE_TEAPOT_SOLID};
    const double precisions[] = {0.2, 0.03, 0.004};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        AUTO(mesh) mesh = made(NULL, kinds[k], 4, 0);
        const abut_box box = abut_mesh_bounds(mesh);
        for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
            abut_map_options options = abut_map_options_default();
            AUTO(map) map = NULL;
            AUTO(map) coarser = NULL;
            options.precision = precisions[i] * (box.hi.y - box.lo.y);
            assert_ok(abut_map_create(mesh, &options, &map));
            const abut_map_info info = get_map_info(map);
            assert_true(info.reach <= options.precision);
            check_reach(map, 1000);
            const double precision = options.precision;
            options.precision = 0;
            options.resolution = (uint32_t)(0.9 * info.resolution);
            if (abut_map_create(mesh, &options, &coarser) == ABUT_OK)
                assert_true(get_map_info(coarser).reach > precision);
        }
    }
}

TEST(precision_has_limits) {
    AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_BOX, 2, 0);
    abut_map_options options = abut_map_options_default();
    AUTO(map) map = NULL;
    const double bad[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        options.precision = bad[i];
        assert_refused("options->precision is", abut_map_create(mesh, &options, &map));
    }
    options.precision = 0.1;
    options.resolution = 64;
    assert_refused("set only one of them", abut_map_create(mesh, &options, &map));
    options.resolution = 0;
    options.precision = 1e-7;
    assert_int_equal(abut_map_create(mesh, &options, &map), ABUT_ERROR_LIMIT);
    assert_non_null(strstr(abut_last_error(), "the maximum of 16384 x 16384 texels is "));
    assert_null(map);
    const double dot[] = {1, 2, 3};
    const uint32_t same[] = {0, 0, 0};
    AUTO(mesh) point = test_mesh(NULL, dot, 1, same, 1);
    options.precision = 0.5;
    assert_ok(abut_map_create(point, &options, &map));
    assert_true(get_map_info(map).reach == 0);
}

static abut_status make_precise(abut_context *context, void *data) {
    abut_shape box = abut_shape_default(ABUT_SHAPE_BOX);
    abut_map_options options = abut_map_options_default();
    abut_mesh *mesh = NULL;
    abut_map *map = NULL;
    (void)data;
    options.precision = 0.03;
    abut_status status = abut_shape_create(context, &box, &mesh);
    status = status ? status : abut_map_create(mesh, &options, &map);
    abut_map_destroy(map);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(precision_survives_failing_allocations) {
    assert_true(test_every_allocation(make_precise, NULL) > 10);
}

TEST(triangles_without_area_are_sampled) {
    const double points[] = {0, 0, 0, 1, 0, 0, 0.5, 0, 0, 0, 1, 0, 1e-9, 1e-9, 0};
    const uint32_t indices[] = {0, 1, 2, 0, 0, 0, 0, 1, 3, 3, 3, 1, 0, 1, 4};
    AUTO(mesh) mesh = test_mesh(NULL, points, 5, indices, 5);
    AUTO(map) map = map_of(mesh, 64);
    check_atlas(map);
    check_reach(map, 2000);
    double reach;
    assert_ok(abut_map_reach(map, 0, &reach)); /* a segment, 1 long */
    assert_true(reach < 0.2);
    assert_ok(abut_map_reach(map, 1, &reach)); /* a point */
    assert_true(reach == 0);
    abut_map_destroy(map);
    abut_mesh_destroy(mesh);
    const double dot[] = {1, 2, 3};
    const uint32_t same[] = {0, 0, 0};
    mesh = test_mesh(NULL, dot, 1, same, 1);
    map = map_of(mesh, 2);
    assert_true(get_map_info(map).sample_count >= 1);
}

TEST(importance_gives_samples) {
    AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_BOX, 8, 0);
    double importance[768];
    for (int t = 0; t < 768; t++)
        importance[t] = t < 128 ? 8 : 1;
    abut_map_options options = abut_map_options_default();
    options.resolution = 256;
    options.importance = importance;
    abut_map *map;
    assert_ok(abut_map_create(mesh, &options, &map));
    check_atlas(map);
    samples s = samples_of(map);
    double ratio = (double)s.count[0] / s.count[700];
    assert_true(ratio > 6.5 && ratio < 9.5);
    assert_true(get_map_info(map).uneven < 0.1);
    free_samples(&s);
    abut_map_destroy(map);
    const double bad[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        importance[5] = bad[i];
        assert_int_equal(abut_map_create(mesh, &options, &map), ABUT_ERROR_ARGUMENT);
    }
}

/* Takes out some triangles, adds others, and gives each new triangle's old number. */
static abut_mesh *changed(abut_mesh *mesh, uint32_t every, uint32_t more, uint32_t *from) {
    const uint32_t count = abut_mesh_triangle_count(mesh);
    uint32_t *indices = malloc(3 * (count + more) * sizeof *indices), kept = 0;
    abut_vec3 *points = malloc(abut_mesh_vertex_count(mesh) * sizeof *points);
    for (uint32_t v = 0; v < abut_mesh_vertex_count(mesh); v++)
        points[v] = vertex_of(mesh, v);
    for (uint32_t t = 0; t < count; t++) {
        if (every && t % every == 0)
            continue;
        memcpy(indices + 3 * kept, abut_mesh_indices(mesh) + 3 * t, 3 * sizeof *indices);
        from[kept++] = t;
    }
    for (uint32_t i = 0; i < more; i++) {
        const uint32_t *of =
            abut_mesh_indices(mesh) + 3 * (every ? every * (i % (count / every)) : i);
        const uint32_t turned[3] = {of[1], of[2], of[0]};
        memcpy(indices + 3 * kept, turned, sizeof turned);
        from[kept++] = ABUT_NONE;
    }
    abut_mesh *other = test_mesh(NULL, points, abut_mesh_vertex_count(mesh), indices, kept);
    free(indices);
    free(points);
    return other;
}

TEST(changes_keep_the_places_of_others) {
    uint32_t from[4096];
    AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_LETTER_E, 12, 0);
    const uint32_t count = abut_mesh_triangle_count(mesh);
    assert_true(2 * count < 4096);
    for (int round = 0; round < 3; round++) {
        const uint32_t every = round == 2 ? 0 : 10, more = round == 0   ? count / 20
                                                           : round == 1 ? count / 10
                                                                        : count;
        AUTO(map) map = map_of(mesh, 256);
        AUTO(mesh) other = changed(mesh, every, more, from);
        const uint32_t now = abut_mesh_triangle_count(other);
        double(*corners)[3][2] = malloc(count * sizeof *corners);
        for (uint32_t t = 0; t < count; t++)
            assert_ok(abut_map_corners(map, t, corners[t]));
        assert_int_equal(abut_map_set_mesh(map, other),
                         ABUT_ERROR_ARGUMENT); /* without saying so */
        assert_ok(abut_map_replace_mesh(map, other, from));
        check_atlas(map);
        check_reach(map, 1000);
        assert_int_equal(get_map_info(map).placed, round == 2 ? now : more);
        for (uint32_t t = 0; t < now && round < 2; t++) {
            double there[3][2];
            assert_ok(abut_map_corners(map, t, there));
            if (from[t] != ABUT_NONE)
                assert_memory_equal(there, corners[from[t]], sizeof there);
        }
        assert_ok(abut_map_replace_mesh(map, mesh, NULL)); /* and all anew */
        assert_int_equal(get_map_info(map).placed, count);
        free(corners);
    }
    AUTO(map) map = map_of(mesh, 256);
    for (uint32_t t = 0; t < count; t++)
        from[t] = t;
    from[3] = 4;
    assert_int_equal(abut_map_replace_mesh(map, mesh, from), ABUT_ERROR_ARGUMENT);
    from[3] = count;
    assert_int_equal(abut_map_replace_mesh(map, mesh, from), ABUT_ERROR_ARGUMENT);
    assert_int_equal(get_map_info(map).placed, count);
}

/* ---- texture coordinates ---- */

/* A sheet of `side` x `side` quads with texture coordinates from 0 to 1: those of its positions,
 * with inner vertices moved at random. Six numbers for each triangle; free them. */
static double *sheet_coordinates(const abut_mesh *mesh, double most, bool mirrored, uint64_t seed) {
    const uint32_t count = abut_mesh_triangle_count(mesh), *index = abut_mesh_indices(mesh);
    const abut_box box = abut_mesh_bounds(mesh);
    double(*at)[2] = malloc(abut_mesh_vertex_count(mesh) * sizeof *at);
    double *uv = malloc(6 * count * sizeof *uv);
    test_random random = {seed};
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        const abut_vec3 p = vertex_of(mesh, i);
        at[i][0] = (p.x - box.lo.x) / (box.hi.x - box.lo.x);
        at[i][1] = (p.y - box.lo.y) / (box.hi.y - box.lo.y);
        const bool inner = fmin(fmin(at[i][0], 1 - at[i][0]), fmin(at[i][1], 1 - at[i][1])) > 1e-9;
        for (int axis = 0; axis < 2 && inner; axis++)
            at[i][axis] += most * (test_random_below(&random, 2001) / 1000.0 - 1);
        at[i][0] = mirrored ? 1 - at[i][0] : at[i][0];
    }
    for (uint32_t i = 0; i < 3 * count; i++)
        memcpy(&uv[2 * i], at[index[i]], sizeof *at);
    free(at);
    return uv;
}

/* Every texel of the square belongs to one triangle, also on the sides that triangles share;
 * samples are within the reach, also after a deformation. */
TEST(texture_coordinates_are_the_layout) {
    AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_SHEET, 8, 8);
    const double change[9] = {2, 0.7, 0, 0, 0.5, 0, 0.3, 0, 1};
    AUTO(mesh) other = moved(mesh, change, (abut_vec3){1, 2, 3});
    for (int k = 0; k < 12; k++) {
        double *uv = sheet_coordinates(mesh, k < 2 ? 0 : 0.04, k % 2, (uint64_t)k);
        abut_map_options options = abut_map_options_default();
        AUTO(map) map = NULL;
        options.resolution = k < 2 ? 64 : 37 + 16 * (uint32_t)k;
        options.uv = uv;
        assert_ok(abut_map_create(mesh, &options, &map));
        const abut_map_info info = get_map_info(map);
        assert_true(info.uses_uv);
        assert_int_equal(info.sample_count, options.resolution * options.resolution);
        check_atlas(map);
        check_reach(map, 500);
        for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++) {
            double corners[3][2];
            assert_ok(abut_map_corners(map, t, corners));
            for (int i = 0; i < 6; i++)
                assert_close(corners[i / 2][i % 2], uv[6 * t + (uint32_t)i] * options.resolution,
                             0.5 / 256);
        }
        assert_ok(abut_map_set_mesh(map, other));
        check_reach(map, 500);
        free(uv);
    }
}

static void refuse_uv(abut_mesh *mesh, double *uv, uint32_t resolution, abut_status status,
                      const char *part) {
    abut_map_options options = abut_map_options_default();
    AUTO(map) map = NULL;
    options.resolution = resolution;
    options.uv = uv;
    assert_int_equal(abut_map_create(mesh, &options, &map), status);
    assert_non_null(strstr(abut_last_error(), part));
    assert_null(map);
    options.uv_fallback = true;
    assert_ok(abut_map_create(mesh, &options, &map));
    assert_false(get_map_info(map).uses_uv);
    check_atlas(map);
}

TEST(layouts_that_are_not_valid_are_refused) {
    AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_SHEET, 4, 4);
    double *uv = sheet_coordinates(mesh, 0, false, 1), kept[6];
    memcpy(kept, uv, sizeof kept);
    const double bad[] = {-0.01, 1.01, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        uv[3] = bad[i];
        refuse_uv(mesh, uv, 64, ABUT_ERROR_ARGUMENT, "coordinate v of corner 1 of triangle 0");
    }
    memcpy(uv, uv + 6 * 9, sizeof kept); /* where triangle 9 is */
    refuse_uv(mesh, uv, 64, ABUT_ERROR_ARGUMENT, "triangles 0 and 9 overlap");
    for (int i = 0; i < 3; i++)
        memcpy(uv + 2 * i, kept, 2 * sizeof *uv);
    refuse_uv(mesh, uv, 64, ABUT_ERROR_ARGUMENT, "triangle 0 has no area in the texture");
    memcpy(uv, kept, sizeof kept);
    for (int i = 0; i < 6; i++)
        uv[i] = kept[i] + (i >= 2) * (kept[i] > kept[i % 2] ? -0.249 : 0);
    refuse_uv(mesh, uv, 64, ABUT_ERROR_LIMIT, "triangle 0 contains the centre of no texel");
    /* What no resolution can change is reported first. */
    const double last = uv[6 * 31];
    uv[6 * 31] = 2;
    refuse_uv(mesh, uv, 64, ABUT_ERROR_ARGUMENT, "coordinate u of corner 0 of triangle 31");
    uv[6 * 31] = last;
    memcpy(uv, kept, sizeof kept);
    abut_map_options options = abut_map_options_default();
    double importance[32];
    AUTO(map) map = NULL;
    for (int t = 0; t < 32; t++)
        importance[t] = 1;
    options.uv = uv;
    options.importance = importance;
    assert_refused("cannot be combined with options->importance",
                   abut_map_create(mesh, &options, &map));
    options.importance = NULL;
    options.precision = 0.02; /* finds the resolution of charts, too */
    assert_ok(abut_map_create(mesh, &options, &map));
    assert_true(get_map_info(map).uses_uv && get_map_info(map).reach <= 0.02);
    /* other triangles: kept ones have their charts; a new one has none */
    const uint32_t count = abut_mesh_triangle_count(mesh);
    uint32_t from[64];
    AUTO(mesh) fewer = changed(mesh, 4, 0, from);
    assert_ok(abut_map_replace_mesh(map, fewer, from));
    assert_true(get_map_info(map).uses_uv);
    assert_int_equal(get_map_info(map).placed, 0);
    check_atlas(map);
    for (uint32_t t = 0; t < count; t++)
        from[t] = t < abut_mesh_triangle_count(fewer) ? t : ABUT_NONE;
    assert_ok(abut_map_replace_mesh(map, mesh, from));
    assert_false(get_map_info(map).uses_uv);
    check_atlas(map);
    free(uv);
}

static abut_status make_charts(abut_context *context, void *data) {
    abut_shape sheet = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_map_options options = abut_map_options_default();
    abut_mesh *mesh = NULL;
    abut_map *map = NULL;
    double *uv = data;
    sheet.segments = sheet.rings = 2;
    abut_status status = abut_shape_create(context, &sheet, &mesh);
    options.uv = uv;
    options.resolution = 16;
    status = status ? status : abut_map_create(mesh, &options, &map);
    abut_map_destroy(map);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(charts_survive_failing_allocations) {
    AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_SHEET, 2, 2);
    double *uv = sheet_coordinates(mesh, 0, false, 1);
    assert_true(test_every_allocation(make_charts, uv) > 8);
    free(uv);
}
