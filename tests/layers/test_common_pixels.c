/* The pixels in which two bounding balls can overlap. */
#include "layers/layers_shared.h"
#include "support/support.h"

#include <math.h>

/* Anywhere, or within 4 of a place. */
static layers_ball random_ball(test_random *random, const layers_view *v, const vec3 *place) {
    vec3 at = v3(test_random_real(random, 2, 30), test_random_real(random, 2, 30),
                 test_random_real(random, 2, 30));
    if (place)
        at = v3_along(*place, 0.25, v3_sub(at, v3(16, 16, 16)));
    raster_motion still = {.rotation = v->camera.axes};
    double radius = test_random_real(random, 0.1, test_random_below(random, 4) ? 4 : 40);
    layers_ball ball = layers_ball_of(v, &still, at, radius);
    assert_true(fabs(ball.x - at.x) < 1e-9 && fabs(ball.y - at.y) < 1e-9 &&
                fabs(ball.z - at.z) < 1e-9 && fabs(ball.radius - radius) < 1e-6);
    return ball;
}

static bool is_in_ball(const layers_ball *b, vec3 p) {
    return v3_length(v3_sub(p, v3(b->x, b->y, b->z))) <= b->radius;
}

/* Pixels of points that are in both balls, a rectangle and some depths are kept; in most cases
 * others are not. Image of 32 pixels, depths of 0 to 32. */
TEST(balls_cut_windows_and_lose_nothing) {
    test_random random = {21};
    layers_view v = {.camera = {.lens = {.depth = 1 << 20, .width = 32, .height = 32},
                                .axes = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
                                .scale = 1},
                     .depth_pixels = 1.0 / (1 << 20)};
    uint32_t inside = 0, cut = 0;
    for (uint32_t round = 0; round < test_rounds(4000); round++) {
        int x = (int)test_random_below(&random, 24), y = (int)test_random_below(&random, 24);
        raster_rect r = {x, y, x + 7, y + 7};
        uint32_t near = test_random_below(&random, 32u << 20), far = near + (8u << 20);
        vec3 middle = v3(x + 4, y + 4, near * v.depth_pixels + 4); /* of what is kept */
        const vec3 *place = round % 4 ? NULL : &middle;
        layers_ball a = random_ball(&random, &v, place), b = random_ball(&random, &v, place);
        raster_rect kept = layers_common_pixels(&v, &a, &b, near, far, r),
                    swapped = layers_common_pixels(&v, &b, &a, near, far, r);
        assert_memory_equal(&kept, &swapped, sizeof kept);
        cut += raster_rect_empty(kept) || memcmp(&kept, &r, sizeof r);
        for (uint32_t i = 0; i < 200; i++) {
            int px = x + (int)test_random_below(&random, 8),
                py = y + (int)test_random_below(&random, 8);
            vec3 p = v3(px + 0.5, py + 0.5,
                        (near + test_random_real(&random, 0, 8 << 20)) * v.depth_pixels);
            if (!is_in_ball(&a, p) || !is_in_ball(&b, p))
                continue;
            assert_true(px >= kept.x0 && px <= kept.x1 && py >= kept.y0 && py <= kept.y1);
            inside++;
        }
    }
    assert_true(inside > 1000 && cut > 100);
    layers_ball huge = {1e300, -1e300, 1e300, 1e300}, lost = {NAN, 0, 0, 1}, one = {1, 2, 3, 4};
    raster_rect all = {0, 0, 31, 31}, kept = layers_common_pixels(&v, &one, &lost, 0, 9, all);
    assert_memory_equal(&kept, &all, sizeof all);
    kept = layers_common_pixels(&v, &huge, &huge, 0, 9, all);
    assert_memory_equal(&kept, &all, sizeof all);
}
