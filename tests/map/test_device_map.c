/* Maps on a device: the results of the CPU, bit for bit; and no leak if the device or the memory
 * fails. */
#include "apps/get.h"
#include "device/open.h"
#include "map/surfaces.h"

static abut_device *device;

/* A map, and the bodies around it, on the CPU and on the device. */
typedef struct scene {
    abut_map *map[2];
    abut_collider others[2][4];
    uint32_t count;
} scene;

/* sign: none, automatic, or by pseudo-normals. */
enum { UNSIGNED, SIGNED, BY_NORMALS };

static void scene_add(scene *s, abut_mesh *mesh, int sign, abut_pose pose) {
    abut_sign_options signs = abut_sign_options_default();
    signs.method = sign == BY_NORMALS ? ABUT_SIGN_NORMAL : ABUT_SIGN_AUTO;
    for (int k = 0; k < 2; k++) {
        abut_bvh_options options = abut_bvh_options_default();
        abut_bvh *bvh = NULL;
        options.device = k ? device : NULL;
        assert_ok(abut_bvh_create(mesh, &options, &bvh));
        if (sign)
            assert_ok(abut_sign_prepare(bvh, &signs));
        s->others[k][s->count] = abut_collider_from_bvh(bvh, pose);
    }
    s->count++;
}

static void scene_make_with_uv(scene *s, abut_mesh *mesh, uint32_t resolution, const double *uv) {
    memset(s, 0, sizeof *s);
    for (int k = 0; k < 2; k++) {
        abut_map_options options = abut_map_options_default();
        options.resolution = resolution;
        options.uv = uv;
        options.device = k ? device : NULL;
        assert_ok(abut_map_create(mesh, &options, &s->map[k]));
    }
}

static void scene_make(scene *s, abut_mesh *mesh, uint32_t resolution) {
    scene_make_with_uv(s, mesh, resolution, NULL);
}

static void scene_free(scene *s) {
    for (int k = 0; k < 2; k++) {
        abut_map_destroy(s->map[k]);
        for (uint32_t i = 0; i < s->count; i++)
            abut_bvh_destroy((abut_bvh *)(uintptr_t)s->others[k][i].shape.body.bvh);
    }
}

/* Computes both and compares all values. */
static abut_map_measures compare(scene *s, double limit) {
    const uint32_t n = get_map_info(s->map[0]).resolution;
    abut_map_texel *texels[2];
    abut_map_measures m[2] = {abut_map_measures_default(), abut_map_measures_default()};
    abut_map_query query = abut_map_query_default();
    abut_map_measure_options wanted = abut_map_measure_options_default();
    const double half = 0.5;
    double value[2];
    query.limit = limit;
    wanted.within = 0.1;
    for (int k = 0; k < 2; k++) {
        texels[k] = malloc((size_t)n * n * sizeof **texels);
        assert_ok(abut_map_compute_distance(s->map[k], s->others[k], s->count, &query));
        wanted.quantile_count = 0;
        assert_ok(abut_map_measure(s->map[k], &wanted, NULL, &m[k])); /* there, and then here */
        assert_ok(abut_map_texels(s->map[k], (uint64_t)n * n, texels[k]));
        wanted.quantiles = &half;
        wanted.quantile_count = 1;
        assert_ok(abut_map_measure(s->map[k], &wanted, &value[k], &m[k]));
    }
    for (uint32_t i = 0; i < n * n; i++)
        if (memcmp(&texels[0][i], &texels[1][i], sizeof **texels))
            fail_msg("texel %u: %.9g of %u at triangle %u, feature %u, instead of %.9g of %u at "
                     "triangle %u, feature %u",
                     i, texels[1][i].distance, texels[1][i].other, texels[1][i].triangle,
                     texels[1][i].feature, texels[0][i].distance, texels[0][i].other,
                     texels[0][i].triangle, texels[0][i].feature);
    assert_true(m[0].mean == m[1].mean && m[0].rms == m[1].rms && value[0] == value[1]);
    assert_true(m[0].within == m[1].within && m[0].inside_area == m[1].inside_area);
    assert_true(m[0].min.distance == m[1].min.distance && m[0].min.x == m[1].min.x);
    assert_true(m[0].min.triangle == m[1].min.triangle &&
                m[0].min.other_triangle == m[1].min.other_triangle);
    assert_true(m[0].min_error == m[1].min_error && m[0].max.y == m[1].max.y);
    free(texels[0]);
    free(texels[1]);
    return m[0];
}

TEST(the_same_as_on_the_cpu) {
    AUTO(mesh)
    e = made(NULL, ABUT_SHAPE_LETTER_E, 6, 0), *g = made(NULL, ABUT_SHAPE_LETTER_G, 6, 0);
    for (int round = 0; round < 4; round++) {
        scene s;
        abut_pose pose = {{0, 0, 0, 0}, {round < 2 ? 0.9 : 0.3, 0.1, 0.07}};
        if (round == 3)
            pose.rotation = (abut_quat){0.1, 0.2, -0.3, 0.8};
        scene_make(&s, e, 96);
        scene_add(&s, g, round != 1 ? SIGNED : UNSIGNED, pose);
        abut_map_measures m = compare(&s, round == 1 ? 0.3 : 0);
        assert_true(round < 2 || m.inside > 0);
        compare(&s, 0); /* warm */
        scene_free(&s);
    }
}

/* A sheet whose texture coordinates are turned by a quarter and sheared. */
TEST(texture_coordinates) {
    AUTO(mesh)
    sheet = made(NULL, ABUT_SHAPE_SHEET, 5, 7), *ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 4, 0);
    const uint32_t count = abut_mesh_triangle_count(sheet), *index = abut_mesh_indices(sheet);
    const abut_box box = abut_mesh_bounds(sheet);
    double *uv = malloc(6 * count * sizeof *uv);
    for (uint32_t i = 0; i < 3 * count; i++) {
        const abut_vec3 p = vertex_of(sheet, index[i]);
        const double x = (p.x - box.lo.x) / (box.hi.x - box.lo.x),
                     y = (p.y - box.lo.y) / (box.hi.y - box.lo.y);
        uv[2 * i] = 0.05 + 0.7 * y + 0.2 * x;
        uv[2 * i + 1] = 0.95 - 0.9 * x;
    }
    const double bend[9] = {1, 0.4, 0, 0, 1, 0, 0.3, 0, 1};
    AUTO(mesh) bent = moved(sheet, bend, (abut_vec3){0, 0, 0});
    scene s;
    scene_make_with_uv(&s, sheet, 90, uv);
    assert_true(get_map_info(s.map[0]).uses_uv && get_map_info(s.map[1]).uses_uv);
    scene_add(&s, ball, SIGNED, (abut_pose){{0, 0, 0, 0}, {0.1, 0.1, 0.2}});
    assert_true(compare(&s, 0).inside > 0);
    for (int k = 0; k < 2; k++)
        assert_ok(abut_map_set_mesh(s.map[k], bent));
    compare(&s, 0);
    scene_free(&s);
    free(uv);
}

TEST(bodies_that_move) {
    AUTO(mesh)
    torus = made(NULL, ABUT_SHAPE_TORUS, 16, 10), *ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 5, 0);
    scene s;
    scene_make(&s, torus, 80);
    scene_add(&s, ball, SIGNED, abut_pose_identity());
    for (int frame = 0; frame < 4; frame++) {
        const double bend[9] = {1, 0.2 * frame, 0, 0, 1, 0, 0, 0.1 * frame, 1};
        AUTO(mesh)
        here = moved(torus, bend, (abut_vec3){0.1 * frame, 0, 0}),
        *there = moved(ball, bend, (abut_vec3){0.5, 0.3 * frame, 0});
        for (int k = 0; k < 2; k++) {
            assert_ok(abut_map_set_mesh(s.map[k], here));
            assert_ok(
                abut_bvh_set_mesh((abut_bvh *)(uintptr_t)s.others[k][0].shape.body.bvh, there));
        }
        compare(&s, 0);
    }
    scene_free(&s);
}

/* Several at once, some with signs; one in two places; far away; with a boundary; by
 * pseudo-normals; and one on the CPU. */
TEST(many_bodies) {
    AUTO(mesh)
    ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 3, 0), *sheet = made(NULL, ABUT_SHAPE_SHEET, 4, 4);
    scene s;
    scene_make(&s, ball, 64);
    scene_add(&s, ball, SIGNED, (abut_pose){{0, 0, 0, 0}, {0.6, 0.1, 0}});
    scene_add(&s, ball, UNSIGNED, (abut_pose){{0, 0, 0, 1}, {-0.9, 0.2, 0.1}});
    scene_add(&s, ball, SIGNED, (abut_pose){{0, 0, 0, 0}, {0.6, 0.1, 0}});
    compare(&s, 0);
    compare(&s, 0.05);
    scene_free(&s);
    scene_make(&s, ball, 64);
    scene_add(&s, ball, SIGNED, (abut_pose){{0, 0, 0, 0}, {1000, 2000, 0}});
    compare(&s, 0);
    scene_add(&s, sheet, SIGNED, (abut_pose){{0, 0, 0, 0}, {0, 0, 0.3}}); /* has a border */
    compare(&s, 0);
    scene_add(&s, ball, BY_NORMALS, (abut_pose){{0, 0, 0, 0}, {0.3, 0, 0.2}});
    assert_true(compare(&s, 0).inside > 0);
    scene_free(&s);
    scene_make(&s, ball, 64); /* no body; and itself, where many triangles are as near */
    compare(&s, 0);
    scene_add(&s, ball, SIGNED, abut_pose_identity());
    compare(&s, 0);
    /* one on the CPU */
    abut_collider here = s.others[1][0];
    s.others[1][0] = s.others[0][0];
    compare(&s, 0);
    s.others[1][0] = here;
    scene_free(&s);
}

/* Bodies of one mesh: none is nearest to itself, as if each had a map of its own. */
TEST(bodies_of_one_mesh) {
    abut_mesh *ball = made(NULL, ABUT_SHAPE_ICOSPHERE, 3, 0), *balls[8], *all;
    test_random random = {9};
    for (int i = 0; i < 8; i++)
        balls[i] = shifted(ball, test_random_real(&random, 0, 3), test_random_real(&random, 0, 3),
                           test_random_real(&random, 0, 3));
    assert_ok(abut_mesh_join(balls, 8, &all));
    const uint32_t each = abut_mesh_triangle_count(ball), n = 128;
    scene s;
    scene_make(&s, all, n);
    abut_map_texel *texels[2] = {malloc(n * n * sizeof **texels), malloc(n * n * sizeof **texels)};
    for (int frame = test_brief() ? 2 : 0; frame < 4; frame++) {
        const double bend[9] = {1, 0.1 * frame, 0, 0, 1, 0, 0, 0, 1 + 0.1 * frame};
        AUTO(mesh) now = moved(all, bend, (abut_vec3){0, 0, 0});
        abut_map_query query = abut_map_query_default();
        query.rings = ABUT_NONE;
        query.limit = frame == 3 ? 0.3 : 0;
        for (int k = 0; k < 2; k++) {
            assert_ok(abut_map_set_mesh(s.map[k], now));
            assert_ok(abut_map_compute_self_distance(s.map[k], &query));
            assert_ok(abut_map_texels(s.map[k], n * n, texels[k]));
        }
        for (uint32_t i = 0; i < n * n; i++)
            if (memcmp(&texels[0][i], &texels[1][i], sizeof **texels))
                fail_msg("frame %d, texel %u: %.9g at triangle %u, feature %u, instead of %.9g at "
                         "%u, feature %u",
                         frame, i, texels[1][i].distance, texels[1][i].triangle,
                         texels[1][i].feature, texels[0][i].distance, texels[0][i].triangle,
                         texels[0][i].feature);
        for (uint32_t i = 0; i < n * n; i += test_brief() ? 211 : 53) {
            abut_map_sample sample;
            assert_ok(abut_map_sample_at(s.map[0], i % n, i / n, &sample));
            if (sample.triangle == ABUT_NONE)
                continue;
            abut_nearest best = {.distance = INFINITY, .triangle = ABUT_NONE};
            for (uint32_t t = 0; t < 8 * each; t++) {
                abut_triangle triangle;
                abut_closest_on_triangle closest;
                for (int k = 0; k < 3; k++)
                    triangle.corner[k] =
                        vertex_of(now, abut_mesh_indices(now)[3 * t + (uint32_t)k]);
                if (t / each == sample.triangle / each)
                    continue;
                assert_ok(abut_triangle_closest_point(&triangle, sample.point, &closest));
                if (closest.distance < best.distance) {
                    best.distance = closest.distance;
                    best.triangle = t;
                }
            }
            bool within = query.limit == 0 || best.distance <= query.limit;
            assert_int_equal(texels[0][i].triangle, within ? best.triangle : ABUT_NONE);
            assert_true(texels[0][i].distance == (within ? (float)best.distance : INFINITY));
        }
    }
    free(texels[0]);
    free(texels[1]);
    scene_free(&s);
    for (int i = 0; i < 8; i++)
        abut_mesh_destroy(balls[i]);
    abut_mesh_destroy(all);
    abut_mesh_destroy(ball);
}

static abut_status live_a_little(abut_context *context, void *user) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_map_options options = abut_map_options_default();
    abut_bvh_options where = abut_bvh_options_default();
    abut_mesh *box = NULL;
    abut_bvh *bvh = NULL;
    abut_map *map = NULL;
    abut_map_measures measures = abut_map_measures_default();
    (void)user;
    where.device = options.device = device;
    options.resolution = 24;
    shape.segments = 1;
    abut_status status = abut_shape_create(context, &shape, &box);
    status = status ? status : abut_bvh_create(box, &where, &bvh);
    status = status ? status : abut_sign_prepare(bvh, NULL);
    status = status ? status : abut_map_create(box, &options, &map);
    abut_collider other = abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 0}, {0.4, 0.1, 0.05}});
    status = status ? status : abut_map_compute_distance(map, &other, 1, NULL);
    status = status ? status : abut_map_measure(map, NULL, NULL, &measures);
    if (!status)
        assert_true(measures.inside > 0);
    abut_map_texel texels[24 * 24];
    status = status ? status : abut_map_texels(map, 24 * 24, texels);
    abut_map_query query = abut_map_query_default();
    query.rings = ABUT_NONE;
    status = status ? status : abut_map_compute_self_distance(map, &query);
    abut_map_destroy(map);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(box);
    return status;
}

TEST(every_call_of_the_device) {
    test_every_device_call(live_a_little, NULL, 30, 17);
}

TEST(every_allocation) {
    assert_true(test_every_allocation(live_a_little, NULL) > 20);
}

static int set_up(void **state) {
    (void)state;
    device = test_device(NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return 0;
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
