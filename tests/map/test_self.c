/* Distances of a surface to itself, and how thick walls are: against complete searches. */
#include "apps/get.h"
#include "surfaces.h"

static abut_map_texel *texels_of(const abut_map *map) {
    const uint32_t n = get_map_info(map).resolution;
    abut_map_texel *texels = malloc((size_t)n * n * sizeof *texels);
    assert_non_null(texels);
    assert_ok(abut_map_texels(map, (uint64_t)n * n, texels));
    return texels;
}

/* Calls `check` for every texel with a sample. */
typedef void sample_check(const abut_map *map, const abut_map_sample *sample,
                          const abut_map_texel *texel, const void *data);
static uint32_t for_samples(const abut_map *map, sample_check *check, const void *data) {
    const uint32_t n = get_map_info(map).resolution;
    abut_map_texel *texels = texels_of(map);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n * n; i++) {
        abut_map_sample sample;
        assert_ok(abut_map_sample_at(map, i % n, i / n, &sample));
        assert_int_equal(sample.triangle == ABUT_NONE, isnan(texels[i].distance) != 0);
        if (sample.triangle == ABUT_NONE)
            continue;
        check(map, &sample, &texels[i], data);
        count++;
    }
    free(texels);
    return count;
}

static abut_triangle triangle_at(const abut_mesh *mesh, uint32_t t) {
    abut_triangle triangle;
    for (int k = 0; k < 3; k++)
        triangle.corner[k] = vertex_of(mesh, abut_mesh_indices(mesh)[3 * t + (uint32_t)k]);
    return triangle;
}

static bool same_place(abut_vec3 a, abut_vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* The same triangles, each with vertices of its own. */
static abut_mesh *apart(const abut_mesh *mesh) {
    const uint32_t count = abut_mesh_triangle_count(mesh);
    abut_triangle *triangles = malloc(count * sizeof *triangles);
    assert_non_null(triangles);
    for (uint32_t t = 0; t < count; t++)
        triangles[t] = triangle_at(mesh, t);
    abut_mesh *soup = test_mesh(NULL, triangles, 3 * count, NULL, 0);
    free(triangles);
    return soup;
}

static abut_mesh *joined(abut_mesh *a, abut_mesh *b) {
    abut_mesh *both[2] = {a, b}, *mesh;
    assert_ok(abut_mesh_join(both, 2, &mesh));
    abut_mesh_destroy(a);
    abut_mesh_destroy(b);
    return mesh;
}

static void find_self(abut_map *map, uint32_t rings, double geodesic, double limit) {
    abut_map_query query = abut_map_query_default();
    query.rings = rings;
    query.geodesic = geodesic;
    query.limit = limit;
    assert_ok(abut_map_compute_self_distance(map, &query));
}

/* ---- itself: a complete search ---- */

typedef struct around {
    uint32_t count;
    double limit;
    bool *excluded; /* count x count */
} around;

/* For every corner of every triangle the first one in the same place. */
static uint32_t *places_of(const abut_mesh *mesh) {
    const uint32_t count = 3 * abut_mesh_triangle_count(mesh), *indices = abut_mesh_indices(mesh);
    uint32_t *places = malloc(count * sizeof *places);
    assert_non_null(places);
    for (uint32_t i = 0; i < count; i++)
        for (places[i] = 0;
             !same_place(vertex_of(mesh, indices[i]), vertex_of(mesh, indices[places[i]]));)
            places[i]++;
    return places;
}

/* Ways along edges from the corners of a triangle to all places, by relaxation. */
static void ways_from(const abut_mesh *mesh, const uint32_t *places, uint32_t from, double *ways) {
    const uint32_t count = abut_mesh_triangle_count(mesh);
    for (uint32_t i = 0; i < 3 * count; i++)
        ways[i] = INFINITY;
    for (uint32_t k = 0; k < 3; k++)
        ways[places[3 * from + k]] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t t = 0; t < count; t++) {
            const abut_triangle a = triangle_at(mesh, t);
            for (uint32_t k = 0; k < 9; k++) {
                double *to = &ways[places[3 * t + k % 3]], way = ways[places[3 * t + k / 3]];
                way += distance_of(a.corner[k / 3], a.corner[k % 3]);
                changed |= way < *to;
                *to = fmin(way, *to);
            }
        }
    }
}

static around around_all(const abut_mesh *mesh, uint32_t rings, double geodesic, double limit) {
    const uint32_t count = abut_mesh_triangle_count(mesh);
    around a = {count, limit, calloc((size_t)count * count, 1)};
    uint32_t *places = places_of(mesh);
    bool *reached = calloc(3 * (size_t)count, 1);
    double *ways = malloc(3 * (size_t)count * sizeof *ways);
    assert_true(a.excluded && reached && ways);
    for (uint32_t s = 0; s < count; s++) {
        bool *here = a.excluded + (size_t)s * count;
        here[s] = true;
        for (uint32_t ring = 0; ring < rings; ring++) {
            memset(reached, 0, 3 * (size_t)count);
            for (uint32_t i = 0; i < 3 * count; i++)
                reached[places[i]] |= here[i / 3];
            for (uint32_t i = 0; i < 3 * count; i++)
                here[i / 3] |= reached[places[i]];
        }
        if (geodesic > 0)
            ways_from(mesh, places, s, ways);
        for (uint32_t t = 0; geodesic > 0 && t < count; t++)
            here[t] |= fmax(fmax(ways[places[3 * t]], ways[places[3 * t + 1]]),
                            ways[places[3 * t + 2]]) < geodesic;
    }
    free(places);
    free(reached);
    free(ways);
    return a;
}

static void check_self(const abut_map *map, const abut_map_sample *sample,
                       const abut_map_texel *texel, const void *data) {
    const around *a = data;
    const abut_mesh *mesh = abut_map_mesh(map);
    abut_closest_on_triangle best = {.distance = INFINITY}, here;
    uint32_t winner = ABUT_NONE;
    for (uint32_t t = 0; t < a->count; t++) {
        abut_triangle triangle = triangle_at(mesh, t);
        if (a->excluded[(size_t)sample->triangle * a->count + t])
            continue;
        assert_ok(abut_triangle_closest_point(&triangle, sample->point, &here));
        if (here.distance < best.distance && here.distance <= a->limit) {
            best = here;
            winner = t;
        }
    }
    assert_int_equal(texel->triangle, winner);
    assert_true(texel->distance == (float)best.distance);
    assert_int_equal(texel->other, winner == ABUT_NONE ? ABUT_NONE : 0);
    if (winner == ABUT_NONE)
        return;
    assert_int_equal(texel->feature, best.feature);
    assert_true(texel->vector[0] == (float)(best.point.x - sample->point.x) &&
                texel->vector[1] == (float)(best.point.y - sample->point.y) &&
                texel->vector[2] == (float)(best.point.z - sample->point.z));
}

/* Takes the mesh. */
static void compare_self(abut_mesh *mesh, uint32_t rings, double geodesic, double limit) {
    AUTO(map) map = map_of(mesh, 32);
    around a = around_all(mesh, rings ? rings : 1, geodesic, limit > 0 ? limit : HUGE_VAL);
    find_self(map, rings, geodesic, limit);
    assert_true(for_samples(map, check_self, &a) > 100);
    free(a.excluded);
    abut_mesh_destroy(mesh);
}

TEST(itself_is_as_in_a_complete_search) {
    const abut_shape_kind kinds[5] = {ABUT_SHAPE_TORUS, ABUT_SHAPE_SHEET, ABUT_SHAPE_TUBE,
                                      ABUT_SHAPE_CONE, ABUT_SHAPE_LETTER_G};
    for (int i = 0; i < (test_thorough() ? 5 : test_brief() ? 2 : 3); i++) {
        const double size = 0.4 + 0.1 * i;
        compare_self(made(NULL, kinds[i], 7, 5), 0, 0, 0);
        compare_self(made(NULL, kinds[i], 7, 5), 2, 0, 0);
        compare_self(made(NULL, kinds[i], 7, 5), 1, size, 0);
        compare_self(made(NULL, kinds[i], 7, 5), 3, 2 * size, 0.5);
    }
}

TEST(itself_without_shared_vertices) {
    AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_TORUS, 8, 6), *soup = apart(mesh);
    for (int i = 0; i < 3; i++)
        compare_self(abut_mesh_retain(soup), (uint32_t)i, i == 2 ? 0.6 : 0, 0);
    AUTO(map) one = map_of(mesh, 48), *other = map_of(soup, 48);
    find_self(one, 1, 0.3, 0);
    find_self(other, 1, 0.3, 0);
    abut_map_texel *a = texels_of(one), *b = texels_of(other);
    assert_memory_equal(a, b, 48 * 48 * sizeof *a);
    assert_true(get_map_info(one).has_distances && !get_map_info(one).has_sign);
    free(a);
    free(b);
}

TEST(itself_degenerate_and_far_away) {
    abut_vec3 corners[3 * 24];
    test_random random = {5};
    for (int i = 0; i < 3 * 24; i++) /* whole numbers: many in one place, segments, points */
        corners[i] = (abut_vec3){floor(test_random_real(&random, 0, 4)),
                                 floor(test_random_real(&random, 0, 4)), i / 3 % 3};
    compare_self(test_mesh(NULL, corners, 3 * 24, NULL, 0), 1, 0, 0);
    compare_self(test_mesh(NULL, corners, 3 * 24, NULL, 0), 1, 1.5, 0);
    AUTO(mesh) torus = made(NULL, ABUT_SHAPE_TORUS, 8, 6);
    compare_self(shifted(torus, 1e6, -2e6, 3e6), 1, 0, 0);
}

static void check_plates(const abut_map *map, const abut_map_sample *sample,
                         const abut_map_texel *texel, const void *data) {
    (void)map;
    (void)sample;
    assert_close(texel->distance, *(const double *)data, 1e-7);
}

static void check_nothing(const abut_map *map, const abut_map_sample *sample,
                          const abut_map_texel *texel, const void *data) {
    (void)map;
    (void)sample;
    (void)data;
    assert_true(isinf(texel->distance) && texel->triangle == ABUT_NONE &&
                texel->other == ABUT_NONE);
}

TEST(itself_across_a_gap) {
    /* of two sheets each is as far from the other as they are apart, once its own neighbourhood is
     * out; if all is out nothing is left */
    abut_mesh *sheet = made(NULL, ABUT_SHAPE_SHEET, 6, 6);
    double gap = 0.125;
    AUTO(mesh) mesh = joined(shifted(sheet, 0, 0, gap), sheet);
    AUTO(map) map = map_of(mesh, 64);
    find_self(map, 20, 0, 0);
    for_samples(map, check_plates, &gap);
    find_self(map, 1, 100, 0);
    for_samples(map, check_plates, &gap);
    find_self(map, 20, 0, 0.1);
    for_samples(map, check_nothing, NULL);
    abut_map_destroy(map);
    abut_mesh_destroy(mesh);
    mesh = made(NULL, ABUT_SHAPE_BOX, 1, 1);
    map = map_of(mesh, 32);
    find_self(map, 2, 0, 0);
    for_samples(map, check_nothing, NULL);
}

/* ---- thickness ---- */

static void find_thickness(abut_map *map, abut_map_thickness kind, double limit) {
    abut_map_query query = abut_map_query_default();
    query.limit = limit;
    assert_ok(abut_map_compute_thickness(map, kind, &query));
}

static abut_vec3 normal_of(const abut_mesh *mesh, uint32_t t) {
    const abut_triangle a = triangle_at(mesh, t);
    abut_vec3 u = add(a.corner[1], -1, a.corner[0]), v = add(a.corner[2], -1, a.corner[0]);
    abut_vec3 n = {u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x};
    const double length = sqrt(n.x * n.x + n.y * n.y + n.z * n.z);
    return (abut_vec3){n.x / length, n.y / length, n.z / length};
}

static double dot(abut_vec3 a, abut_vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static abut_mesh *box_of(double x, double y, double z, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    shape.extent = (abut_vec3){x, y, z};
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

static double least_of(const double extent[3], const abut_map_sample *sample, abut_vec3 normal,
                       bool ball) {
    const double at[3] = {sample->point.x, sample->point.y, sample->point.z},
                 n[3] = {normal.x, normal.y, normal.z};
    double through = INFINITY, beside = INFINITY;
    for (int i = 0; i < 3; i++)
        if (fabs(n[i]) > 0.5)
            through = extent[i];
        else
            beside = fmin(beside, extent[i] / 2 - fabs(at[i]));
    return ball ? fmin(through, 2 * beside) : through;
}

typedef struct box_case {
    double extent[3];
    abut_map_thickness kind;
} box_case;

static void check_box(const abut_map *map, const abut_map_sample *sample,
                      const abut_map_texel *texel, const void *data) {
    const box_case *c = data;
    const abut_vec3 normal = normal_of(abut_map_mesh(map), sample->triangle);
    const double expected = least_of(c->extent, sample, normal, c->kind);
    if (!(fabs(texel->distance - expected) <= 1e-6))
        fail_msg("at (%g, %g, %g): %.9g instead of %.9g", sample->point.x, sample->point.y,
                 sample->point.z, texel->distance, expected);
    /* the far side is on a wall */
    const double far[3] = {sample->point.x + texel->vector[0], sample->point.y + texel->vector[1],
                           sample->point.z + texel->vector[2]};
    double off = INFINITY;
    for (int i = 0; i < 3; i++)
        off = fmin(off, fabs(fabs(far[i]) - c->extent[i] / 2));
    assert_true(off < 1e-6 && texel->other == 0);
}

TEST(boxes_are_as_thick_as_they_are) {
    const double extents[3][3] = {{4, 4, 0.25}, {1, 2, 3}, {0.5, 0.5, 6}};
    for (int i = 0; i < 3; i++)
        for (int kind = 0; kind < 2; kind++) {
            box_case c = {{extents[i][0], extents[i][1], extents[i][2]}, (abut_map_thickness)kind};
            AUTO(mesh) mesh = box_of(c.extent[0], c.extent[1], c.extent[2], 1 + 3 * (uint32_t)i);
            AUTO(map) map = map_of(mesh, 64);
            find_thickness(map, c.kind, 0);
            for_samples(map, check_box, &c);
        }
}

TEST(surfaces_that_have_moved) {
    const double wide[9] = {2, 0, 0, 0, 0.5, 0, 0.3, 0, 1};
    AUTO(mesh)
    mesh = made(NULL, ABUT_SHAPE_TORUS, 8, 6), *later = moved(mesh, wide, (abut_vec3){1, 2, 3});
    AUTO(map) map = map_of(mesh, 32);
    around a = around_all(later, 1, 0, HUGE_VAL);
    find_self(map, 0, 0, 0);
    assert_ok(abut_map_set_mesh(map, later));
    find_self(map, 0, 0, 0);
    for_samples(map, check_self, &a);
    free(a.excluded);
    abut_map_destroy(map);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(later);
    const double thin[9] = {1, 0, 0, 0, 1, 0, 0, 0, 0.25};
    box_case c = {{4, 4, 0.5}, ABUT_MAP_THICKNESS_BALL};
    mesh = box_of(4, 4, 2, 2);
    later = moved(mesh, thin, (abut_vec3){0, 0, 0});
    map = map_of(mesh, 32);
    assert_ok(abut_map_set_mesh(map, later));
    for (int kind = 0; kind < 2; kind++) {
        c.kind = (abut_map_thickness)kind;
        find_thickness(map, c.kind, 0);
        for_samples(map, check_box, &c);
    }
}

typedef struct limits {
    double least, most;
} limits;

static void check_limits(const abut_map *map, const abut_map_sample *sample,
                         const abut_map_texel *texel, const void *data) {
    const limits *l = data;
    (void)map;
    if (!(texel->distance >= l->least && texel->distance <= l->most))
        fail_msg("at (%g, %g, %g): %g is not from %g to %g", sample->point.x, sample->point.y,
                 sample->point.z, texel->distance, l->least, l->most);
}

TEST(balls_and_rings_are_as_thick_as_they_are) {
    /* normals of facets are off by up to 5 degrees, and so are balls by some percent */
    AUTO(mesh)
    ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 12, 0), *ring = made(NULL, ABUT_SHAPE_TORUS, 72, 36);
    const double radius = abut_shape_default(ABUT_SHAPE_ICOSPHERE).radius,
                 tube = abut_shape_default(ABUT_SHAPE_TORUS).radius2;
    AUTO(map) map = map_of(ball, 80);
    find_thickness(map, ABUT_MAP_THICKNESS_RAY, 0);
    for_samples(map, check_limits, &(limits){1.98 * radius, 2.0 * radius});
    find_thickness(map, ABUT_MAP_THICKNESS_BALL, 0);
    for_samples(map, check_limits, &(limits){1.78 * radius, 2.0 * radius});
    abut_map_destroy(map);
    map = map_of(ring, 80);
    find_thickness(map, ABUT_MAP_THICKNESS_BALL, 0);
    for_samples(map, check_limits, &(limits){1.6 * tube, 2.0 * tube});
}

/* No wall that faces another way is inside the ball, and it touches one. */
static void check_ball(const abut_map *map, const abut_map_sample *sample,
                       const abut_map_texel *texel, const void *data) {
    const abut_mesh *mesh = abut_map_mesh(map);
    const abut_vec3 normal = normal_of(mesh, sample->triangle);
    const double r = 0.5 * texel->distance;
    const abut_vec3 centre = add(sample->point, -r, normal);
    const float *v = texel->vector;
    const abut_vec3 far = {sample->point.x + v[0], sample->point.y + v[1], sample->point.z + v[2]};
    const abut_vec3 *normals = data;
    double nearest = INFINITY;
    assert_true(isfinite(texel->distance) && texel->triangle != ABUT_NONE);
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++) {
        if (dot(normals[t], normal) > 0.7071)
            continue;
        abut_triangle triangle = triangle_at(mesh, t);
        abut_closest_on_triangle here;
        assert_ok(abut_triangle_closest_point(&triangle, centre, &here));
        nearest = fmin(nearest, here.distance);
    }
    if (!(nearest >= r - 2e-6) || !(fabs(distance_of(far, centre) - r) < 2e-6))
        fail_msg("a ball of radius %g has a wall %g from its centre, and touches at %g", r, nearest,
                 distance_of(far, centre));
}

/* The first triangle from behind, of all. */
static void check_ray(const abut_map *map, const abut_map_sample *sample,
                      const abut_map_texel *texel, const void *data) {
    const abut_mesh *mesh = abut_map_mesh(map);
    const abut_vec3 normal = normal_of(mesh, sample->triangle);
    const abut_ray ray = {sample->point, {-normal.x, -normal.y, -normal.z}};
    const abut_vec3 *normals = data;
    double first = INFINITY;
    for (uint32_t t = 0; t < abut_mesh_triangle_count(mesh); t++) {
        bool meet;
        abut_ray_triangle_hit hit;
        if (t == sample->triangle || dot(normals[t], normal) > -1e-9)
            continue;
        abut_triangle triangle = triangle_at(mesh, t);
        assert_ok(abut_ray_triangle_intersect(&ray, &triangle, &meet, &hit));
        if (meet && hit.parameter > 1e-8)
            first = fmin(first, hit.parameter);
    }
    assert_true(isinf(first) ? isinf(texel->distance) : fabs(texel->distance - first) < 1e-6);
}

TEST(walls_of_any_shape) {
    const abut_shape_kind kinds[4] = {ABUT_SHAPE_LETTER_E, ABUT_SHAPE_TUBE, ABUT_SHAPE_STAIRS,
                                      ABUT_SHAPE_TEAPOT_SOLID};
    for (int i = 0; i < (test_brief() ? 2 : 4); i++) {
        AUTO(mesh) mesh = made(NULL, kinds[i], 3, 3);
        const uint32_t count = abut_mesh_triangle_count(mesh);
        abut_vec3 *normals = malloc(count * sizeof *normals);
        assert_non_null(normals);
        for (uint32_t t = 0; t < count; t++)
            normals[t] = normal_of(mesh, t);
        AUTO(map) map = map_of(mesh, i == 3 ? 40 : 24);
        find_thickness(map, ABUT_MAP_THICKNESS_BALL, 0);
        for_samples(map, check_ball, normals);
        find_thickness(map, ABUT_MAP_THICKNESS_RAY, 0);
        for_samples(map, check_ray, normals);
        free(normals);
    }
}

TEST(walls_beyond_the_limit_and_none) {
    AUTO(mesh) box = box_of(1, 2, 3, 2);
    abut_map *map = map_of(box, 32);
    for (int kind = 0; kind < 2; kind++) {
        find_thickness(map, (abut_map_thickness)kind, 2.5);
        abut_map_texel *texels = texels_of(map);
        for (int i = 0; i < 32 * 32; i++)
            assert_true(!(texels[i].distance > 2.5) || isinf(texels[i].distance));
        free(texels);
    }
    find_thickness(map, ABUT_MAP_THICKNESS_RAY, 0.5);
    for_samples(map, check_nothing, NULL);
    abut_map_destroy(map);
    /* another box rests on it, with a side in the same place */
    abut_mesh *two = joined(shifted(box, 0, 0, 3), abut_mesh_retain(box));
    map = map_of(two, 64);
    find_thickness(map, ABUT_MAP_THICKNESS_RAY, 0);
    for_samples(map, check_limits, &(limits){0.999999, 3.000001});
    abut_map_destroy(map);
    abut_mesh_destroy(two);
    /* far away from 0, where coordinates are coarse */
    abut_mesh *away = shifted(box, 1e6, -3e6, 2e6);
    map = map_of(away, 32);
    find_thickness(map, ABUT_MAP_THICKNESS_RAY, 0);
    for_samples(map, check_limits, &(limits){0.999999, 3.000001});
    find_thickness(map, ABUT_MAP_THICKNESS_BALL, 0);
    for_samples(map, check_limits, &(limits){0, 1.000002});
    abut_map_destroy(map);
    abut_mesh_destroy(away);
    /* nothing behind a sheet; nor where all triangles are points or segments */
    AUTO(mesh) sheet = made(NULL, ABUT_SHAPE_SHEET, 3, 3);
    const abut_vec3 flat[6] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}};
    AUTO(mesh) thin = test_mesh(NULL, flat, 6, NULL, 0);
    for (int kind = 0; kind < 2; kind++) {
        map = map_of(sheet, 16);
        find_thickness(map, (abut_map_thickness)kind, 0);
        for_samples(map, check_nothing, NULL);
        abut_map_destroy(map);
        map = map_of(thin, 16);
        find_thickness(map, (abut_map_thickness)kind, 0);
        for_samples(map, check_nothing, NULL);
        abut_map_destroy(map);
    }
}

static abut_reliability_level level_of(abut_mesh *mesh) {
    abut_map *map = map_of(mesh, 32);
    find_thickness(map, ABUT_MAP_THICKNESS_RAY, 0);
    const abut_reliability reliability = get_map_info(map).reliability;
    assert_true(reliability.reason && *reliability.reason);
    abut_map_destroy(map);
    abut_mesh_destroy(mesh);
    return reliability.level;
}

TEST(what_thickness_is_worth) {
    assert_int_equal(level_of(box_of(1, 2, 3, 2)), ABUT_RELIABILITY_GUARANTEED);
    assert_int_equal(level_of(made(NULL, ABUT_SHAPE_SHEET, 3, 3)), ABUT_RELIABILITY_LIMITED);
    abut_mesh *box = box_of(1, 2, 3, 2), *closed = apart(box);
    const uint32_t count = 3 * abut_mesh_triangle_count(box);
    uint32_t *indices = malloc(count * sizeof *indices);
    assert_non_null(indices);
    memcpy(indices, abut_mesh_indices(box), count * sizeof *indices);
    indices[0] = abut_mesh_indices(box)[1];
    indices[1] = abut_mesh_indices(box)[0];
    abut_mesh *turned = test_mesh(NULL, abut_mesh_local_positions(box), abut_mesh_vertex_count(box),
                                  indices, count / 3);
    free(indices);
    abut_mesh_destroy(box);
    assert_int_equal(level_of(closed), ABUT_RELIABILITY_GUARANTEED);
    assert_int_equal(level_of(turned), ABUT_RELIABILITY_UNRELIABLE);
}

/* ---- the rest ---- */

static abut_map_texel *ask_on(uint32_t threads, int question) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, threads);
    abut_mesh *mesh = made(context, ABUT_SHAPE_TORUS, 16, 10);
    abut_map *map = map_of(mesh, 48);
    if (question == 2)
        find_self(map, 1, 0.2, 0);
    else
        find_thickness(map, (abut_map_thickness)question, 0);
    abut_map_texel *texels = texels_of(map);
    abut_map_destroy(map);
    abut_mesh_destroy(mesh);
    abut_context_destroy(context);
    assert_int_equal(memory.live_count, 0);
    return texels;
}

TEST_THREADS(any_number_of_threads) {
    for (int question = 0; question < 3; question++) {
        abut_map_texel *one = ask_on(1, question), *many = ask_on(4, question);
        assert_memory_equal(one, many, 48 * 48 * sizeof *one);
        free(one);
        free(many);
    }
}

static abut_status ask_all(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_map_options options = abut_map_options_default();
    abut_map_query query = abut_map_query_default();
    abut_mesh *mesh = NULL;
    abut_map *map = NULL;
    (void)data;
    shape.segments = shape.rings = 4;
    options.resolution = 16;
    query.geodesic = 0.5;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_map_create(mesh, &options, &map);
    status = status ? status : abut_map_compute_self_distance(map, &query);
    status = status ? status : abut_map_compute_thickness(map, ABUT_MAP_THICKNESS_BALL, &query);
    abut_map_destroy(map);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(memory) {
    assert_true(test_every_allocation(ask_all, NULL) > 10);
}

static bool stop_map(void *user, const char *stage, double fraction) {
    (void)user;
    (void)fraction;
    return strcmp(stage, "map") != 0;
}

TEST(cancelled) {
    abut_context *context = test_watched(stop_map, NULL);
    AUTO(mesh) mesh = made(context, ABUT_SHAPE_TORUS, 12, 8);
    AUTO(map) map = map_of(mesh, 64);
    abut_map_texel texel;
    assert_int_equal(abut_map_compute_self_distance(map, NULL), ABUT_ERROR_CANCELLED);
    assert_int_equal(abut_map_compute_thickness(map, ABUT_MAP_THICKNESS_RAY, NULL),
                     ABUT_ERROR_CANCELLED);
    assert_false(get_map_info(map).has_distances);
    assert_refused("no distances", abut_map_texels(map, 1, &texel));
    abut_context_destroy(context);
}

TEST(refusals) {
    AUTO(mesh) mesh = made(NULL, ABUT_SHAPE_BOX, 1, 1);
    AUTO(map) map = map_of(mesh, 16);
    abut_map_query query = abut_map_query_default();
    assert_refused("map is null", abut_map_compute_self_distance(NULL, NULL));
    assert_refused("map is null", abut_map_compute_thickness(NULL, ABUT_MAP_THICKNESS_RAY, NULL));
    assert_refused("kind", abut_map_compute_thickness(map, (abut_map_thickness)7, NULL));
    query.geodesic = NAN;
    assert_refused("geodesic", abut_map_compute_self_distance(map, &query));
    query.geodesic = 0;
    query.limit = -1;
    assert_refused("limit", abut_map_compute_self_distance(map, &query));
    assert_refused("limit", abut_map_compute_thickness(map, ABUT_MAP_THICKNESS_BALL, &query));
}
