/* Two boxes: all measures of their overlap, in views of all kinds. */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static abut_mesh *make_box(double x, double y, double z) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    shape.extent = (abut_vec3){x, y, z};
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

/* A unit cube about 0 and one that reaches into it by 0.5, 0.75 and 0.1. */
static abut_layers *two_boxes(void) {
    abut_mesh *box = make_box(1, 1, 1);
    abut_layers *layers = NULL;
    assert_ok(abut_layers_create(NULL, NULL, &layers));
    abut_layers_item item = {.size = sizeof(abut_layers_item),
                             .collider = abut_collider_from_mesh(box, abut_pose_identity())};
    assert_ok(abut_layers_add(layers, &item, NULL));
    item.collider.pose.translation = (abut_vec3){0.5, 0.25, 0.9};
    assert_ok(abut_layers_add(layers, &item, NULL));
    abut_mesh_destroy(box);
    return layers;
}

TEST(what_is_told_of_a_pair) {
    AUTO(layers) layers = two_boxes();
    abut_layers_pair pair;
    abut_layers_result result = {.size = sizeof result, .pairs.list = &pair, .pairs.capacity = 1};
    abut_layers_query query = abut_layers_query_default();
    query.resolution = 512;
    query.count_edges = true;
    assert_ok(abut_layers_find(layers, &query, &result));
    assert_int_equal(result.pairs.count, 1);
    assert_true(pair.a == 0 && pair.b == 1 && pair.view_count == 3);
    assert_true(fabs(pair.length - 0.75) < 1e-6 && fabs(pair.depth - 0.1) < 1e-6);
    assert_true(fabs(pair.mean_length - 0.1) < 1e-6);
    assert_true(fabs(pair.volume - 0.0375) < pair.volume_error && pair.volume_error < 0.001);
    /* The part of a inside b: faces of 0.375, 0.075 and 0.05 outwards along z, x and y. */
    double area = sqrt(0.375 * 0.375 + 0.075 * 0.075 + 0.05 * 0.05);
    assert_true(fabs(pair.area - area) < 0.01);
    assert_true(fabs(pair.normal.z + 0.375 / area) < 0.01);
    assert_true(fabs(pair.normal.x + 0.075 / area) < 0.01);
    assert_true(fabs(pair.centre.x - 0.25) < 0.005 && fabs(pair.centre.y - 0.125) < 0.005);
    assert_true(fabs(pair.centre.z - 0.45) < 0.005);
    assert_true(fabs(pair.box.lo.z - 0.4) < 1e-6 && fabs(pair.box.hi.z - 0.5) < 1e-6);
    assert_true(pair.edges_a > 0 && pair.edges_b > 0);
}

TEST(an_eye_and_regions) {
    AUTO(layers) layers = two_boxes();
    abut_layers_pair pair;
    abut_layers_result result = {.size = sizeof result, .pairs.list = &pair, .pairs.capacity = 1};
    abut_layers_query query = abut_layers_query_default();
    abut_raster_view view = abut_raster_view_default();
    query.views = &view;
    query.view_count = 1;
    view.width = 700;
    view.perspective = true;
    view.eye = (abut_vec3){0.25, 0.125, 4};
    view.angle = 0.5;
    assert_ok(abut_layers_find(layers, &query, &result));
    assert_int_equal(result.pairs.count, 1);
    assert_true(fabs(pair.volume - 0.0375) < pair.volume_error && pair.volume_error < 0.001);
    assert_true(pair.depth > 0.1 - 1e-5 && pair.depth < 0.1 * 1.05);
    /* From inside both: what is before the eye, capped. */
    view.eye = (abut_vec3){0.25, 0.125, 0.45};
    view.angle = 1.5;
    view.near_distance = 0.001;
    assert_ok(abut_layers_find(layers, &query, &result));
    assert_int_equal(result.pairs.count, 1);
    assert_int_equal(pair.pixels, 700 * 700);
    /* A parallel view that begins inside the overlap. */
    view = abut_raster_view_default();
    view.width = view.height = 256;
    view.region = (abut_box){{-1, -1, -1}, {1, 1, 0.45}};
    assert_ok(abut_layers_find(layers, &query, &result));
    assert_int_equal(result.pairs.count, 1);
    assert_true(fabs(pair.length - 0.05) < 1e-6);
    view.region = (abut_box){{-1, -1, -1}, {1, 1, 0.39}}; /* ends before it */
    assert_ok(abut_layers_find(layers, &query, &result));
    assert_int_equal(result.pairs.count, 0);
}

TEST(images_show_it) {
    AUTO(layers) layers = two_boxes();
    abut_raster_view view = abut_raster_view_default();
    view.width = view.height = 150; /* 1.5 x 1.25 seen from above */
    float *pixels = malloc(150 * 150 * sizeof *pixels);
    assert_non_null(pixels);
    uint32_t width, height;
    double sum[8] = {0};
    for (int show = 0; show < 8; show++) {
        assert_ok(abut_layers_image(layers, &view, (abut_layers_show)show, 150 * 150, pixels,
                                    &width, &height));
        assert_true(width == 150 && height == 150);
        for (int i = 0; i < 150 * 150; i++)
            sum[show] += isinf(pixels[i]) ? 0 : (double)pixels[i];
    }
    assert_true(fabs(sum[ABUT_LAYERS_COUNT] - 4 * 10000) < 400);
    assert_true(fabs(sum[ABUT_LAYERS_PAIRS] - 3750) < 100);
    assert_true(fabs(sum[ABUT_LAYERS_LENGTH] - 375) < 10);
    assert_true(sum[ABUT_LAYERS_INSIDE] > 100 && sum[ABUT_LAYERS_EDGES] > 100);
    assert_true(fabs(sum[ABUT_LAYERS_SECOND] - (3750 - (22500 - 3750))) < 200);
    assert_int_equal(abut_layers_image(layers, &view, ABUT_LAYERS_COUNT, 10, pixels, &width,
                                       &height),
                     ABUT_ERROR_BUFFER);
    free(pixels);
}

/* Two cubes in one mesh that overlap, and a small one in what they have in common. */
TEST(volumes_of_what_cuts_itself_are_limited) {
    AUTO(mesh)
    cube = make_box(1, 1, 1), *moved = NULL, *both = NULL, *small = make_box(0.2, 0.2, 0.2);
    const abut_pose aside = {.translation = {0.5, 0, 0}};
    assert_ok(abut_mesh_transform(cube, 1, aside, &moved));
    abut_mesh *parts[] = {cube, moved};
    assert_ok(abut_mesh_join(parts, 2, &both));
    AUTO(layers) layers = NULL;
    assert_ok(abut_layers_create(NULL, NULL, &layers));
    abut_layers_item item = {.size = sizeof(abut_layers_item),
                             .collider = abut_collider_from_mesh(both, abut_pose_identity())};
    assert_ok(abut_layers_add(layers, &item, NULL));
    item.collider.shape.mesh.mesh = small;
    item.collider.pose.translation.x = 0.25;
    assert_ok(abut_layers_add(layers, &item, NULL));
    abut_layers_pair pair;
    abut_layers_result result = {.size = sizeof result, .pairs.list = &pair, .pairs.capacity = 1};
    abut_layers_query query = abut_layers_query_default();
    query.resolution = 64;
    assert_ok(abut_layers_find(layers, &query, &result));
    assert_int_equal(result.reliability.level,
                     ABUT_RELIABILITY_GUARANTEED); /* rays count it once */
    assert_true(fabs(pair.volume - 0.008) < pair.volume_error);
    query.measure_volume = true;
    assert_ok(abut_layers_find(layers, &query, &result));
    assert_int_equal(result.reliability.level, ABUT_RELIABILITY_LIMITED);
    assert_non_null(strstr(result.reliability.reason, "itself"));
    assert_ok(abut_layers_remove(layers, 0));
    item = (abut_layers_item){.size = sizeof(abut_layers_item),
                              .collider = abut_collider_from_mesh(cube, abut_pose_identity())};
    assert_ok(abut_layers_add(layers, &item, NULL));
    assert_ok(abut_layers_find(layers, &query, &result));
    assert_int_equal(result.reliability.level, ABUT_RELIABILITY_GUARANTEED);
    assert_true(fabs(pair.volume - 0.008) < 1e-15);
}

TEST(what_views_cannot_tell) {
    AUTO(layers) layers = two_boxes();
    abut_layers_pair pair;
    abut_layers_result result = {.size = sizeof result, .pairs.list = &pair, .pairs.capacity = 1};
    abut_layers_query query = abut_layers_query_default();
    abut_raster_view views[3];
    for (int k = 0; k < 3; k++) {
        views[k] = abut_raster_view_default();
        views[k].direction = (abut_vec3){1, k == 1 ? 0.001 : 0, k == 2 ? 0.001 : 0};
        views[k].width = 64;
    }
    query.views = views;
    for (query.view_count = 1; query.view_count <= 3; query.view_count++) { /* all one way */
        assert_ok(abut_layers_find(layers, &query, &result));
        assert_true(result.pairs.count == 1 && pair.volume > 0 && pair.area == 0);
        assert_true(pair.normal.x == 0 && pair.normal.y == 0 && pair.normal.z == 0);
    }
    /* A speck within a box is between all rays: its place is known from boxes. */
    AUTO(mesh) speck = make_box(1e-5, 1e-5, 1e-5);
    abut_layers_item item = {.size = sizeof(abut_layers_item),
                             .collider = abut_collider_from_mesh(speck, abut_pose_identity())};
    item.collider.pose.translation = (abut_vec3){-0.3, -0.2, -0.1};
    assert_ok(abut_layers_remove(layers, 1));
    assert_ok(abut_layers_add(layers, &item, NULL));
    query = abut_layers_query_default();
    query.resolution = 8;
    query.is_exact = true;
    assert_ok(abut_layers_find(layers, &query, &result));
    assert_true(result.pairs.count == 1 && pair.relation == ABUT_PAIR_B_INSIDE && !pair.pixels);
    assert_true(fabs(pair.centre.x + 0.3) < 1e-6 && fabs(pair.centre.y + 0.2) < 1e-6 &&
                fabs(pair.centre.z + 0.1) < 1e-6);
}
