/* Rasters against rays through every pixel in doubles; ties; threads. */
#include "layers/scene.h"

enum { PIXELS = 48 * 48 };

static float depths[PIXELS];
static uint32_t items[PIXELS], triangles[PIXELS];
static abut_raster *raster; /* on one thread */

static abut_raster_image image_of(uint64_t capacity) {
    return (abut_raster_image){.size = sizeof(abut_raster_image),
                               .capacity = capacity,
                               .depths = abut_array_host(depths),
                               .items = abut_array_host(items),
                               .triangles = abut_array_host(triangles)};
}

/* The plane of the triangle that was named, in the pixel's centre. */
static double plane_depth(const reference *r, const scene *s, uint32_t pixel, uint32_t item,
                          uint32_t triangle) {
    reference_solid solid = reference_solid_of(models[s->model[item]], s->poses[item], NULL, false);
    vec3 p[3];
    for (uint32_t k = 0; k < 3; k++)
        p[k] = reference_project(&r->view, solid.points[solid.indices[3 * triangle + k]]);
    free(solid.points);
    double x = pixel % r->view.width, y = pixel / r->view.width, depth = 0,
           area = reference_side(p[0], p[1], p[2].x, p[2].y);
    for (int k = 0; k < 3; k++)
        depth += reference_side(p[(k + 1) % 3], p[(k + 2) % 3], x, y) / area * p[k].z;
    return depth;
}

TEST(images_agree_with_rays) {
    test_random random = {1};
    for (uint32_t round = 0; round < test_rounds(160); round++) {
        scene s;
        scene_random(&s, &random, 6, 1);
        abut_collider list[6];
        for (uint32_t i = 0; i < 6; i++) {
            free(s.deformed[i]);
            s.deformed[i] = NULL;
            list[i] = abut_collider_from_mesh(models[s.model[i]], s.poses[i]);
        }
        abut_raster_view view = random_view(&random, 3, 48);
        abut_raster_image image = image_of(PIXELS);
        assert_ok(abut_raster_draw(raster, &view, list, 6, &image));
        reference *r = scene_reference(&s, &view, 0);
        assert_true(image.width == view.width && image.height == view.height);
        double nearest[PIXELS];
        for (uint32_t i = 0; i < PIXELS; i++)
            nearest[i] = INFINITY;
        for (size_t i = 0; i < r->count; i++) {
            double *d = &nearest[r->crossings[i].pixel];
            *d = fmin(*d, r->crossings[i].depth);
        }
        for (uint32_t i = 0; i < image.width * image.height; i++) {
            if (r->doubt[i])
                continue;
            if (isinf(nearest[i])) {
                assert_true(isinf(depths[i]) && items[i] == ABUT_NONE);
                continue;
            }
            assert_true(fabs(depths[i] - nearest[i]) < 1e-5);
            assert_true(fabs(plane_depth(r, &s, i, items[i], triangles[i]) - nearest[i]) < 1e-5);
        }
        reference_free(r);
    }
}

/* Finer and finer, however triangles fall: every ray enters a closed mesh as often as it leaves
 * it, so that none sees the inside. Seen along axes, edges and vertices are in centres of pixels.
 */
TEST(no_holes) {
    abut_collider item = abut_collider_from_mesh(models[1], at_origin);
    test_random random = {2};
    for (uint32_t round = 0; round < test_rounds(64); round++) {
        abut_raster_view view = random_view(&random, 0.5, 8 + test_random_below(&random, 40));
        item.pose = round % 2 ? random_pose(&random, 0) : at_origin;
        if (round % 4 == 0)
            view.direction = v3(0, 0, -1), view.up = v3(0, 1, 0);
        abut_raster_image image = image_of(PIXELS);
        assert_ok(abut_raster_draw(raster, &view, &item, 1, &image));
        reference_view v = reference_view_of(&view);
        for (uint32_t i = 0; i < image.width * image.height; i++) {
            double x = i % image.width, y = i / image.width;
            vec3 middle = reference_project(&v, v3(0, 0, 0));
            double away = hypot(x - middle.x, y - middle.y) * v.pixel;
            if (away < 0.45) /* the front of the ball, not its back */
                assert_true(depths[i] < middle.z);
            if (away > 0.5 + v.pixel)
                assert_true(isinf(depths[i]));
        }
    }
}

TEST(ties_go_to_the_lowest) {
    abut_collider two[2] = {abut_collider_from_mesh(models[0], at_origin),
                            abut_collider_from_mesh(models[0], at_origin)};
    abut_raster_view view = abut_raster_view_default();
    view.region = (abut_box){{-1, -1, -1}, {1, 1, 1}};
    view.width = view.height = 32;
    abut_raster_image image = image_of(PIXELS);
    assert_ok(abut_raster_draw(raster, &view, two, 2, &image));
    for (uint32_t i = 0; i < 32 * 32; i++)
        assert_true(items[i] == 0 || items[i] == ABUT_NONE);
    assert_int_equal(items[16 * 32 + 16], 0);
    image.capacity = 32 * 32 - 1;
    assert_int_equal(abut_raster_draw(raster, &view, two, 2, &image), ABUT_ERROR_BUFFER);
    assert_true(image.width == 32 && image.height == 32);
    image = image_of(PIXELS);
    image.depths = image.items = image.triangles = abut_array_host(NULL);
    assert_ok(abut_raster_draw(raster, &view, two, 2, &image));
    image = image_of(PIXELS);
    assert_ok(abut_raster_draw(raster, &view, two, 0, &image));
    assert_true(isinf(depths[500]) && items[500] == ABUT_NONE);
    view.perspective = true;
    view.eye = v3(0, 0, 9);
    assert_ok(abut_raster_draw(raster, &view, two, 1, &image));
    assert_true(fabs(depths[16 * 32 + 16] - (9 - 0.3 - 0.010)) < 0.01);
}

static abut_status draw_a_little(abut_context *context, void *data) {
    abut_collider list[3] = {abut_collider_from_mesh(models[1], shifted(0.1, 0, 0)),
                             abut_collider_from_mesh(models[2], at_origin),
                             abut_collider_from_mesh(models[4], at_origin)};
    abut_raster_view view = abut_raster_view_default();
    view.region = (abut_box){{-1, -1, -1}, {1, 1, 1}};
    view.width = 40;
    abut_raster_image image = image_of(PIXELS);
    abut_raster *here = NULL;
    abut_status status = abut_raster_create(context, NULL, &here);
    (void)data;
    status = status ? status : abut_raster_draw(here, &view, list, 3, &image);
    abut_raster_destroy(here);
    return status;
}

TEST_THREADS(same_on_any_number_of_threads) {
    static float first[PIXELS];
    static uint32_t first_items[PIXELS], first_triangles[PIXELS];
    for (uint32_t n = 1; n <= 4; n += 3) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, n);
        assert_ok(draw_a_little(context, NULL));
        if (n == 1) {
            memcpy(first, depths, sizeof first);
            memcpy(first_items, items, sizeof items);
            memcpy(first_triangles, triangles, sizeof triangles);
        }
        assert_memory_equal(first, depths, 40 * 40 * sizeof *first);
        assert_memory_equal(first_items, items, 40 * 40 * sizeof *items);
        assert_memory_equal(first_triangles, triangles, 40 * 40 * sizeof *triangles);
        abut_context_destroy(context);
    }
}

static int set_up(void **state) {
    int failed = make_models(state);
    assert_ok(abut_raster_create(serial, NULL, &raster));
    return failed;
}

static int tear_down(void **state) {
    abut_raster_destroy(raster);
    return free_models(state);
}

int main(void) {
    return test_run(set_up, tear_down);
}
