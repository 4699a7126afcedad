/* Rays and triangles: every sheet once, depths against rays, views, bad input. */
#include "base/simd.h"
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
        raster_corner p[3];
        raster_shape shapes[RASTER_CORNERS];
        for (int k = 0; k < 3; k++)
            p[k] = raster_corner_of(&camera->lens, &frame,
                                    mesh->positions[mesh->indices[3 * t + (uint32_t)k]]);
        int made = raster_shapes(&camera->lens, &p[0], &p[1], &p[2], 0, t, false, image, shapes);
        for (int i = 0; i < made; i++) {
            raster_rect r = raster_rect_clip(raster_rect_of(&camera->lens, &shapes[i], 0), image);
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

/* ---- closed meshes ---- */

TEST(rays_enter_as_often_as_they_leave) {
    test_random random = {5};
    const abut_shape_kind kinds[] = {ABUT_SHAPE_BOX, ABUT_SHAPE_ICOSPHERE, ABUT_SHAPE_TORUS,
                                     ABUT_SHAPE_LETTER_G, ABUT_SHAPE_TEAPOT_SOLID};
    enum { SIDE = 96 };
    int *enters = calloc(2 * SIDE * SIDE, sizeof *enters), *leaves = enters + SIDE * SIDE;
    assert_non_null(enters);
    uint64_t covered = 0;
    for (uint32_t round = 0; round < test_rounds(60); round++) {
        AUTO(mesh) mesh = make(kinds[round % 5], 4 + round % 9);
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
    }
    assert_true(covered > 10000);
    free(enters);
}

TEST(an_eye_inside_leaves_once_more) {
    AUTO(mesh) mesh = make(ABUT_SHAPE_ICOSPHERE, 6);
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
}

TEST(depths_are_those_of_rays) {
    test_random random = {8};
    AUTO(mesh) mesh = make(ABUT_SHAPE_TORUS, 24);
    AUTO(bvh) bvh = NULL;
    AUTO(raster) raster = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_raster_create(NULL, NULL, &raster));
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
        abut_raster_image image = {.size = sizeof(abut_raster_image),
                                   .capacity = SIDE * SIDE,
                                   .depths = abut_array_host(depths),
                                   .items = abut_array_host(items),
                                   .triangles = abut_array_host(triangles)};
        abut_collider item = abut_collider_from_mesh(mesh, abut_pose_identity());
        assert_ok(abut_raster_draw(raster, &view, &item, 1, &image));
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
}

TEST(bad_input_is_refused) {
    AUTO(mesh) mesh = make(ABUT_SHAPE_BOX, 1);
    abut_raster_view view = abut_raster_view_default();
    abut_collider item = abut_collider_from_mesh(mesh, abut_pose_identity());
    float depths[16];
    abut_raster_image image = {.size = sizeof(abut_raster_image),
                               .capacity = 16,
                               .depths = abut_array_host(depths)};
    AUTO(raster) raster = NULL;
    abut_raster_options options = {.size = 1};
    assert_refused("size", abut_raster_create(NULL, &options, &raster));
    assert_refused("raster", abut_raster_create(NULL, NULL, NULL));
    assert_ok(abut_raster_create(NULL, NULL, &raster));
    view.width = view.height = 4;
    assert_ok(abut_raster_draw(raster, &view, &item, 1, &image));
    assert_ok(abut_raster_draw(raster, &view, NULL, 0, &image)); /* nothing */
    assert_true(isinf(depths[0]));
    view.width = 5;
    assert_int_equal(abut_raster_draw(raster, &view, &item, 1, &image), ABUT_ERROR_BUFFER);
    assert_int_equal(image.width, 5);
    view.width = 200000;
    assert_int_equal(abut_raster_draw(raster, &view, &item, 1, &image), ABUT_ERROR_LIMIT);
    view.width = 4;
    view.direction.x = NAN;
    assert_refused("not finite", abut_raster_draw(raster, &view, &item, 1, &image));
    view.direction.x = 0;
    view.perspective = true;
    view.eye = (abut_vec3){0, 0, -10};
    assert_refused("sees nothing", abut_raster_draw(raster, &view, &item, 1, &image));
    view.angle = 4;
    assert_refused("angle", abut_raster_draw(raster, &view, &item, 1, &image));
    view = abut_raster_view_default();
    item.pose.translation.x = INFINITY;
    assert_refused("finite", abut_raster_draw(raster, &view, &item, 1, &image));
    item.shape.mesh.mesh = NULL;
    assert_refused("mesh", abut_raster_draw(raster, &view, &item, 1, &image));
    item = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 1}, abut_pose_identity());
    assert_refused("colliders[0] is a sphere; it must be a mesh, a hull, or a body with a BVH",
                   abut_raster_draw(raster, &view, &item, 1, &image));
    item = abut_collider_from_hull(NULL, abut_pose_identity());
    assert_refused("colliders[0].shape.hull is null",
                   abut_raster_draw(raster, &view, &item, 1, &image));
    item.kind = (abut_collider_kind)99;
    assert_refused("kind is 99", abut_raster_draw(raster, &view, &item, 1, &image));
    image.size = 0;
    item = abut_collider_from_mesh(mesh, abut_pose_identity());
    assert_refused("size field is 0", abut_raster_draw(raster, &view, &item, 1, &image));
    image.size = sizeof image;
    assert_refused("image", abut_raster_draw(raster, &view, &item, 1, NULL));
    assert_refused("colliders is null", abut_raster_draw(raster, &view, NULL, 1, &image));
    assert_refused("raster", abut_raster_draw(NULL, &view, &item, 1, &image));
    image.items.buffer = (abut_buffer *)(void *)depths; /* not looked into */
    view.width = view.height = 4;
    item = abut_collider_from_mesh(mesh, abut_pose_identity());
    assert_refused("no device", abut_raster_draw(raster, &view, &item, 1, &image));
    abut_raster_destroy(NULL);
}

static abut_status draw_a_little(abut_context *context, void *user) {
    abut_raster_view view = abut_raster_view_default();
    abut_collider item = abut_collider_from_mesh(user, abut_pose_identity());
    float depths[64];
    abut_raster_image image = {.size = sizeof(abut_raster_image),
                               .capacity = 64,
                               .depths = abut_array_host(depths)};
    abut_raster *raster = NULL;
    view.width = view.height = 8;
    abut_status status = abut_raster_create(context, NULL, &raster);
    status = status ? status : abut_raster_draw(raster, &view, &item, 1, &image);
    abut_raster_destroy(raster);
    return status;
}

/* A mesh, its BVH and a hull give the same image. */
TEST(kinds_of_colliders) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    AUTO(mesh) mesh;
    AUTO(bvh) bvh;
    AUTO(raster) raster;
    float depths[3][256];
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_raster_create(NULL, NULL, &raster));
    const abut_pose at = {{0.1, 0.2, 0.3, 0.9}, {1, 2, 3}};
    const abut_collider kinds[3] = {abut_collider_from_mesh(mesh, at),
                                    abut_collider_from_bvh(bvh, at),
                                    abut_collider_from_hull(bvh, at)};
    for (int i = 0; i < 3; i++) {
        abut_raster_view view = abut_raster_view_default();
        abut_raster_image image = abut_raster_image_default();
        view.width = view.height = 16;
        image.capacity = 256;
        image.depths = abut_array_host(depths[i]);
        assert_ok(abut_raster_draw(raster, &view, &kinds[i], 1, &image));
        assert_true(image.width == 16 && image.height == 16);
        assert_memory_equal(depths[0], depths[i], sizeof depths[0]);
    }
}

TEST(no_memory) {
    AUTO(mesh) mesh = make(ABUT_SHAPE_BOX, 2);
    assert_true(test_every_allocation(draw_a_little, mesh) >= 4);
}

/* Each triangle by itself, in doubles: what is certainly in a widened square is drawn, and nothing
 * that is certainly outside; depths are no more than those of the triangle above the square. */
TEST(conservative_images_miss_nothing) {
    test_random random = {12};
    AUTO(raster) raster = NULL;
    assert_ok(abut_raster_create(NULL, NULL, &raster));
    enum { SIDE = 24 };
    float depths[SIDE * SIDE];
    uint32_t touched = 0;
    for (uint32_t round = 0; round < 200; round++) {
        double size = round % 3 ? 1 : 0.02, p[9];
        double at[2] = {test_random_real(&random, -0.8, 0.8), test_random_real(&random, -0.8, 0.8)};
        for (int k = 0; k < 9; k++)
            p[k] = test_random_real(&random, -size, size) + (k % 3 < 2 ? at[k % 3] : 0);
        if (round % 5 == 1) /* a line on the image */
            for (int k = 0; k < 2; k++)
                p[6 + k] = p[k] + 0.3 * (p[3 + k] - p[k]);
        static const uint32_t t[] = {0, 1, 2};
        AUTO(mesh) mesh = test_mesh(NULL, p, 3, t, 1);
        abut_raster_view view = abut_raster_view_default();
        view.region = (abut_box){{-1, -1, -2}, {1, 1, 2}};
        view.width = view.height = SIDE;
        abut_collider item = abut_collider_from_mesh(mesh, abut_pose_identity());
        abut_raster_image image = {.size = sizeof(abut_raster_image),
                                   .capacity = SIDE * SIDE,
                                   .conservative = true,
                                   .depths = abut_array_host(depths)};
        assert_ok(abut_raster_draw(raster, &view, &item, 1, &image));
        raster_camera camera;
        assert_ok(abuti_raster_camera("test", &view, mesh->bounds, 0, &camera));
        bool inside[SIDE * SIDE] = {false};
        for (uint32_t i = 0; i < 2000; i++) { /* points of the triangle */
            double u = test_random_real(&random, 0, 1), v = test_random_real(&random, 0, 1 - u);
            vec3 q = v3(p[0] + u * (p[3] - p[0]) + v * (p[6] - p[0]),
                        p[1] + u * (p[4] - p[1]) + v * (p[7] - p[1]),
                        p[2] + u * (p[5] - p[2]) + v * (p[8] - p[2]));
            vec3 from = v3_sub(q, camera.origin);
            int x = (int)floor(v3_dot(camera.axes.row[0], from) * camera.scale + SIDE / 2),
                y = (int)floor(v3_dot(camera.axes.row[1], from) * camera.scale + SIDE / 2);
            if (x < 0 || y < 0 || x >= SIDE || y >= SIDE)
                continue;
            double depth = v3_dot(camera.axes.row[2], from) + camera.begin;
            inside[y * SIDE + x] = true;
            assert_true((double)depths[y * SIDE + x] <= depth + 1e-6);
        }
        image.conservative = false;
        float centres[SIDE * SIDE];
        image.depths = abut_array_host(centres);
        assert_ok(abut_raster_draw(raster, &view, &item, 1, &image));
        uint32_t seen = 0, drawn = 0;
        for (uint32_t i = 0; i < SIDE * SIDE; i++) {
            assert_true(depths[i] <= centres[i]);
            seen += inside[i] ? 1u : 0u;
            drawn += isfinite(depths[i]) ? 1u : 0u;
        }
        assert_true(drawn >= seen && drawn <= 3 * seen + 8);
        touched += seen;
    }
    assert_true(touched > 2000);
}
