/* Rays and triangles: every sheet once, depths against rays, views, bad input. */
#include "raster/raster.h"
#include "support/pose.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

static abut_mesh *make(abut_shape_kind kind, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh = NULL;
    shape.segments = segments;
    shape.rings = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

/* How often the centre of each pixel is covered: by shapes that rays enter, and by others. */
static void count_cover(const raster_camera *camera, const abut_mesh *mesh, const abut_pose *place,
                        int *enters, int *leaves) {
    raster_motion motion = raster_motion_of(place);
    raster_frame frame = raster_frame_of(camera, &motion, mesh->origin);
    raster_rect image = {0, 0, (int)camera->lens.width - 1, (int)camera->lens.height - 1};
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        raster_point p[3];
        raster_shape shapes[RASTER_CORNERS];
        for (int k = 0; k < 3; k++)
            p[k] = raster_apply(&frame, mesh->positions[mesh->indices[3 * t + (uint32_t)k]]);
        int made = raster_shapes(&camera->lens, p, 0, t, false, shapes);
        for (int i = 0; i < made; i++) {
            raster_rect r = raster_rect_cut(raster_rect_of(&camera->lens, &shapes[i], 0), image);
            raster_side side[3];
            for (int k = 0; k < 3; k++)
                side[k] = raster_side_of(&camera->lens, &shapes[i], k);
            for (int y = r.y0; y <= r.y1; y++)
                for (int x = r.x0; x <= r.x1; x++) {
                    if (raster_covers(side, x, y))
                        ((shapes[i].owner & 3) == RASTER_ENTERS
                             ? enters
                             : leaves)[(size_t)y * camera->lens.width + (size_t)x]++;
                }
        }
    }
}

TEST(rays_enter_as_often_as_they_leave) {
    test_random random = {5};
    const abut_shape_kind kinds[] = {ABUT_SHAPE_BOX, ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TORUS,
                                     ABUT_SHAPE_LETTER_G, ABUT_SHAPE_TEAPOT_SOLID};
    enum { SIDE = 96 };
    int *enters = calloc(2 * SIDE * SIDE, sizeof *enters), *leaves = enters + SIDE * SIDE;
    assert_non_null(enters);
    uint64_t covered = 0;
    for (uint32_t round = 0; round < test_rounds(60); round++) {
        abut_mesh *mesh = make(kinds[round % 5], 4 + round % 9);
        abut_raster_view view = abut_raster_view_default();
        view.width = view.height = SIDE - round % 7;
        if (round % 2) { /* along an axis: centres on edges and vertices */
            view.direction = (abut_vec3){round % 6 == 1, round % 6 == 3, round % 6 == 5};
            view.width = view.height = 32;
        } else {
            view.direction = (abut_vec3){test_random_real(&random, -1, 1),
                                         test_random_real(&random, -1, 1), 0.3};
        }
        abut_pose place = {0};
        if (round % 4 == 2)
            place = random_pose(&random, 1);
        abuti_motion motion = abuti_motion_of(&place);
        vec3 at = abuti_motion_apply(&motion, box_centre(mesh->bounds));
        double size = v3_length(v3_sub(mesh->bounds.hi, mesh->bounds.lo));
        if (round % 3) /* all of it, or what sticks out of a region */
            view.region =
                (abut_box){v3_sub(at, v3(size, size, size)), v3_add(at, v3(size, size, size))};
        else
            view.region = (abut_box){at, v3_add(at, v3(size / 9, size / 9, size / 9))};
        raster_camera camera;
        assert_ok(abuti_raster_camera("test", &view, mesh->bounds, 0, &camera));
        for (size_t i = 0; i < 2 * SIDE * SIDE; i++)
            enters[i] = 0;
        count_cover(&camera, mesh, &place, enters, leaves);
        for (size_t i = 0; i < (size_t)camera.lens.width * camera.lens.height; i++) {
            assert_int_equal(enters[i], leaves[i]);
            covered += (uint64_t)enters[i];
        }
        abut_mesh_destroy(mesh);
    }
    assert_true(covered > 10000);
    free(enters);
}

TEST(an_eye_inside_leaves_once_more) {
    abut_mesh *mesh = make(ABUT_SHAPE_ICOSPHERE, 6);
    abut_raster_view view = abut_raster_view_default();
    view.perspective = true;
    view.direction = (abut_vec3){0.3, 0.5, 0.2};
    view.angle = 2.2;
    view.width = 64;
    raster_camera camera;
    assert_ok(abuti_raster_camera("test", &view, mesh->bounds, 0, &camera));
    int *enters = calloc(2 * 64 * 64, sizeof *enters), *leaves = enters + 64 * 64;
    assert_non_null(enters);
    const abut_pose place = {0};
    count_cover(&camera, mesh, &place, enters, leaves);
    for (size_t i = 0; i < 64 * 64; i++)
        assert_int_equal(leaves[i] - enters[i], 1);
    free(enters);
    abut_mesh_destroy(mesh);
}

TEST(depths_are_those_of_rays) {
    test_random random = {8};
    abut_mesh *mesh = make(ABUT_SHAPE_TORUS, 24);
    abut_bvh *bvh = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    enum { SIDE = 64 };
    float depths[SIDE * SIDE];
    uint32_t items[SIDE * SIDE], triangles[SIDE * SIDE], same = 0, hits = 0;
    for (uint32_t round = 0; round < 8; round++) {
        abut_raster_view view = abut_raster_view_default();
        view.width = view.height = SIDE;
        view.direction =
            (abut_vec3){test_random_real(&random, -1, 1), test_random_real(&random, -1, 1), -0.4};
        view.perspective = round % 2;
        view.eye = v3_scale(v3_normalise(view.direction), -5);
        abut_raster_image image = {.capacity = SIDE * SIDE,
                                   .depths = depths,
                                   .items = items,
                                   .triangles = triangles};
        abut_raster_item item = {.mesh = mesh};
        assert_ok(abut_raster_draw(NULL, &view, &item, 1, &image));
        raster_camera camera;
        assert_ok(abuti_raster_camera("test", &view, mesh->bounds, 0, &camera));
        for (uint32_t i = 0; i < SIDE * SIDE; i++) {
            double x = i % SIDE + 0.5, y = i / SIDE + 0.5;
            abut_vec3 from = abuti_raster_point(&camera, x, y, 0);
            abut_vec3 to = abuti_raster_point(&camera, x, y, RASTER_DEPTHS);
            abut_ray ray = {from, v3_sub(to, from)};
            abut_ray_hit hit;
            assert_ok(abut_ray_first(bvh, &ray, HUGE_VAL, &hit));
            if (hit.triangle == ABUT_NONE || items[i] == ABUT_NONE)
                continue;
            hits++;
            assert_int_equal(items[i], 0);
            double depth = v3_dot(v3_scale(ray.direction, hit.parameter), camera.axes.row[2]);
            if (hit.triangle == triangles[i]) {
                assert_true(fabs(depth - (double)depths[i]) < 1e-4);
                same++;
            }
        }
    }
    assert_true(hits > 3000 && same > 0.98 * hits);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

TEST(bad_input_is_refused) {
    abut_mesh *mesh = make(ABUT_SHAPE_BOX, 1);
    abut_raster_view view = abut_raster_view_default();
    abut_raster_item item = {.mesh = mesh};
    float depths[16];
    abut_raster_image image = {.capacity = 16, .depths = depths};
    view.width = view.height = 4;
    assert_ok(abut_raster_draw(NULL, &view, &item, 1, &image));
    assert_ok(abut_raster_draw(NULL, &view, NULL, 0, &image)); /* nothing */
    assert_true(isinf(depths[0]));
    view.width = 5;
    assert_int_equal(abut_raster_draw(NULL, &view, &item, 1, &image), ABUT_ERROR_BUFFER);
    assert_int_equal(image.width, 5);
    view.width = 200000;
    assert_int_equal(abut_raster_draw(NULL, &view, &item, 1, &image), ABUT_ERROR_LIMIT);
    view.width = 4;
    view.direction.x = NAN;
    assert_refused("not finite", abut_raster_draw(NULL, &view, &item, 1, &image));
    view.direction.x = 0;
    view.perspective = true;
    view.eye = (abut_vec3){0, 0, -10};
    assert_refused("sees nothing", abut_raster_draw(NULL, &view, &item, 1, &image));
    view.angle = 4;
    assert_refused("angle", abut_raster_draw(NULL, &view, &item, 1, &image));
    view = abut_raster_view_default();
    item.pose.translation.x = INFINITY;
    assert_refused("finite", abut_raster_draw(NULL, &view, &item, 1, &image));
    item.mesh = NULL;
    assert_refused("mesh", abut_raster_draw(NULL, &view, &item, 1, &image));
    assert_refused("image", abut_raster_draw(NULL, &view, &item, 1, NULL));
    abut_mesh_destroy(mesh);
}

TEST(no_memory) {
    abut_mesh *mesh = make(ABUT_SHAPE_BOX, 2);
    abut_raster_view view = abut_raster_view_default();
    abut_raster_item item = {.mesh = mesh};
    float depths[64];
    abut_raster_image image = {.capacity = 64, .depths = depths};
    view.width = view.height = 8;
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1);
    assert_ok(abut_raster_draw(context, &view, &item, 1, &image));
    uint64_t calls = memory.calls;
    assert_true(calls > 3);
    for (uint64_t k = 1; k <= calls; k++) {
        memory.calls = 0;
        memory.fail_at = k;
        assert_int_equal(abut_raster_draw(context, &view, &item, 1, &image), ABUT_ERROR_MEMORY);
        assert_int_equal(memory.live_count, 1);
    }
    abut_context_destroy(context);
    abut_mesh_destroy(mesh);
}
