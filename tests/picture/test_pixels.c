/* Pictures through the public functions: known pixels. */
#include "scenes.h"

static const uint8_t *pixel(const uint8_t *pixels, size_t width, size_t x, size_t y) {
    return pixels + 4 * (y * width + x);
}

static abut_picture *new_picture(const abut_picture_options *options) {
    abut_picture *picture;
    assert_ok(abut_picture_create(NULL, options, &picture));
    return picture;
}

static abut_picture *plan(uint32_t size) {
    abut_picture_options options = plan_view(size);
    return new_picture(&options);
}

/* A red square and a smaller blue one in front of it, added in both orders: the same picture. */
static uint8_t *two_squares(uint32_t size, float alpha) {
    uint8_t *drawn[2];
    for (int order = 0; order < 2; order++) {
        abut_picture *picture = plan(size);
        for (int i = 0; i < 2; i++)
            if (i == order)
                add_mesh(picture, square(1, 0), painted(1, 0, 0, alpha));
            else
                add_mesh(picture, square(0.5, 0.1), painted(0, 0, 1, alpha));
        drawn[order] = develop(picture, size, size);
    }
    assert_memory_equal(drawn[0], drawn[1], size * size * 4);
    free(drawn[1]);
    return drawn[0];
}

#define assert_near(expected, actual, tolerance)                                                  \
    do {                                                                                          \
        double near_a = (expected), near_b = (actual);                                            \
        if (!(fabs(near_a - near_b) <= (tolerance)))                                              \
            fail_msg("%s is %g, not %g within %g", #actual, near_b, near_a, (double)(tolerance)); \
    } while (0)

TEST(a_red_square_fills_its_pixels) {
    abut_picture *picture = plan(100);
    add_mesh(picture, square(1, 0), painted(1, 0, 0, 1));
    AUTO_FREE uint8_t *pixels = develop(picture, 100, 100);
    const uint8_t *middle = pixel(pixels, 100, 50, 50);
    for (size_t y = 0; y < 100; y++)
        for (size_t x = 0; x < 100; x++) {
            const uint8_t *p = pixel(pixels, 100, x, y);
            bool inside = x >= 6 && x < 94 && y >= 6 && y < 94;
            bool border = inside && !(x >= 8 && x < 92 && y >= 8 && y < 92);
            assert_int_equal(255, p[3]);
            if (inside) {
                assert_true(p[0] > (border ? 150 : 200) && p[1] < 60 && p[2] < 60);
                assert_near(middle[0], p[0], border ? 80 : 1); /* borders have a thin dark line */
            } else {
                assert_true(p[0] == 255 && p[1] == 255 && p[2] == 255);
            }
        }
}

/* Two halves of one plane, whose colours have a boundary at a quarter of pixel 50. */
TEST(borders_are_filtered_in_linear_light) {
    const double split = 0.25 / 44; /* 44 pixels a unit */
    const double p[] = {-1, -1, 0, split, -1, 0, 1, -1, 0, 1, 1, 0, split, 1, 0, -1, 1, 0};
    static const uint32_t t[] = {0, 1, 4, 0, 4, 5, 1, 2, 3, 1, 3, 4};
    static const abut_colour colours[4] = {{0, 0.3f, 0, 1},
                                           {0, 0.3f, 0, 1},
                                           {1, 0.9f, 1, 1},
                                           {1, 0.9f, 1, 1}};
    abut_mesh_style style = painted(1, 1, 1, 1);
    style.triangle_colour = colours;
    for (int turned = 0; turned < 2; turned++) {
        abut_picture_options options = plan_view(100);
        if (turned)
            options.up = (abut_vec3){1, 0, 0}; /* the same with rows: +x is up */
        abut_picture *picture = new_picture(&options);
        add_mesh(picture, test_mesh(NULL, p, 6, t, 4), style);
        AUTO_FREE uint8_t *pixels = develop(picture, 100, 100);
        double mixed[3];
        for (int i = 0; i < 3; i++)
            mixed[i] = linear(turned ? pixel(pixels, 100, 40, (size_t)(50 - i))[1]
                                     : pixel(pixels, 100, (size_t)(49 + i), 40)[1]);
        assert_true(mixed[2] > mixed[0] + 0.3);
        assert_near(0.25 * mixed[0] + 0.75 * mixed[2], mixed[1], 0.01);
    }
}

/* The line is half as wide where the neighbour is missing, and not there in the plane's middle. */
TEST(borders_have_a_line) {
    abut_picture *picture = plan(100);
    add_mesh(picture, square(1, 0), painted(1, 1, 1, 1));
    AUTO_FREE uint8_t *pixels = develop(picture, 100, 100);
    uint8_t plain = pixel(pixels, 100, 20, 50)[0];
    assert_true(pixel(pixels, 100, 6, 50)[0] < plain - 20);
    assert_true(pixel(pixels, 100, 8, 50)[0] == plain);
    assert_true(pixel(pixels, 100, 50, 49)[0] == plain); /* the diagonal is no crease */
}

TEST(the_back_has_another_hue) {
    static const abut_colour fronts[] = {{1, 0, 0, 1},
                                         {0.1f, 0.3f, 0.9f, 1},
                                         {0.5f, 0.5f, 0.5f, 1}};
    for (size_t i = 0; i < 3; i++) {
        int red_over_blue[2];
        for (int side = 0; side < 2; side++) {
            abut_picture_options options = plan_view(64);
            options.eye_direction.z = side ? -1 : 1;
            abut_picture *picture = new_picture(&options);
            add_mesh(picture, square(1, 0), painted(fronts[i].r, fronts[i].g, fronts[i].b, 1));
            AUTO_FREE uint8_t *pixels = develop(picture, 64, 64);
            const uint8_t *p = pixel(pixels, 64, 32, 32);
            red_over_blue[side] = p[0] - p[2];
        }
        assert_true(abs(red_over_blue[1] - red_over_blue[0]) > 80);
    }
    /* flipped triangles of a single mesh, through colours a triangle */
    static const double p[] = {-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0};
    static const uint32_t t[] = {0, 1, 2, 0, 3, 2};
    static const abut_colour colours[2] = {{0.2f, 0.4f, 0.8f, 1}, {0, 0, 0, 0}};
    abut_mesh_style style = painted(0.2f, 0.4f, 0.8f, 1);
    style.triangle_colour = colours;
    abut_picture *picture = plan(64);
    add_mesh(picture, test_mesh(NULL, p, 4, t, 2), style);
    AUTO_FREE uint8_t *pixels = develop(picture, 64, 64);
    const uint8_t *front = pixel(pixels, 64, 48, 40), *back = pixel(pixels, 64, 16, 24);
    assert_true(front[2] > front[0] + 40);
    assert_true(back[0] > back[2] + 40);
}

TEST(nearer_covers_farther_in_any_order) {
    AUTO_FREE uint8_t *drawn = two_squares(80, 1);
    const uint8_t *middle = pixel(drawn, 80, 40, 40), *rim = pixel(drawn, 80, 10, 10);
    assert_true(middle[2] > 150 && middle[0] < 80);
    assert_true(rim[0] > 150 && rim[2] < 80);
}

TEST(see_through_mixes_in_any_order) {
    abut_picture *picture = plan(80);
    add_mesh(picture, square(1, 0), painted(0.2f, 0.4f, 0.8f, 1));
    uint8_t *solid = develop(picture, 80, 80);
    picture = plan(80);
    add_mesh(picture, square(1, 0), painted(0.2f, 0.4f, 0.8f, 0.25f));
    uint8_t *glass = develop(picture, 80, 80);
    for (int c = 0; c < 3; c++)
        assert_near(0.75 + 0.25 * linear(pixel(solid, 80, 40, 40)[c]),
                    linear(pixel(glass, 80, 40, 40)[c]), 0.01);
    free(solid);
    free(glass);
    AUTO_FREE uint8_t *drawn = two_squares(80, 0.6f);
    const uint8_t *middle = pixel(drawn, 80, 40, 40);
    assert_true(middle[2] > middle[0]); /* the nearer one counts more */
}

/* Two see-through planes that cross along the y axis: each is the nearer one on one side, which no
 * order of whole triangles can show. */
TEST(crossing_glass_is_sorted_by_sample) {
    abut_picture *picture = plan(80);
    for (int i = 0; i < 2; i++) {
        double tilt = i ? 0.5 : -0.5;
        double p[] = {-1, -1, -tilt, 1, -1, tilt, 1, 1, tilt, -1, 1, -tilt};
        static const uint32_t t[] = {0, 1, 2, 0, 2, 3};
        add_mesh(picture, test_mesh(NULL, p, 4, t, 2), painted((float)!i, 0, (float)i, 0.7f));
    }
    AUTO_FREE uint8_t *pixels = develop(picture, 80, 80);
    const uint8_t *left = pixel(pixels, 80, 20, 40), *right = pixel(pixels, 80, 60, 40);
    assert_true(left[0] > left[2] + 40);   /* z = tilt x: the red one is nearer on the left */
    assert_true(right[2] > right[0] + 40); /* and the blue one on the right */
}

TEST(a_line_covers_its_pixels) {
    abut_picture *picture = plan(100);
    abut_colour colour = {0x33 / 255.0f, 0x66 / 255.0f, 0x99 / 255.0f, 1};
    assert_ok(
        abut_picture_add_line(picture, (abut_vec3){-1, 0, 0}, (abut_vec3){1, 0, 0}, 10, colour));
    /* something that fixes the frame */
    add_mesh(picture, square(1, -1), painted(1, 1, 1, 0.001f));
    AUTO_FREE uint8_t *pixels = develop(picture, 100, 100);
    for (size_t y = 0; y < 100; y++) {
        const uint8_t *p = pixel(pixels, 100, 50, y);
        if (y >= 45 && y < 55)
            assert_true(p[0] == 0x33 && p[1] == 0x66 && p[2] == 0x99);
        else
            assert_true(p[0] > 250 && p[1] > 250 && p[2] > 250);
    }
    for (size_t x = 0; x < 100; x++) { /* rounded ends, from pixel 1 to pixel 98 */
        const uint8_t *p = pixel(pixels, 100, x, 50);
        bool on = x >= 2 && x < 98, off = x < 1 || x >= 99;
        assert_true(!on || p[0] == 0x33);
        assert_true(!off || p[0] > 250);
    }
}

TEST(a_hidden_line_is_fainter) {
    uint8_t seen[4][3]; /* alone, before, on and behind a white square */
    static const double heights[4] = {0, 0.5, 0, -0.5};
    for (int i = 0; i < 4; i++) {
        abut_picture *picture = plan(100);
        add_mesh(picture, square(1, 0), painted(1, 1, 1, i ? 1 : 0.001f));
        abut_vec3 from = {-1, 0, heights[i]}, to = {1, 0, heights[i]};
        assert_ok(abut_picture_add_line(picture, from, to, 6, (abut_colour){0, 0, 0, 1}));
        AUTO_FREE uint8_t *pixels = develop(picture, 100, 100);
        memcpy(seen[i], pixel(pixels, 100, 50, 50), 3);
        if (i == 3) {
            uint8_t wall = pixel(pixels, 100, 50, 20)[0];
            assert_true(seen[i][0] < wall - 15 && seen[i][0] > wall / 2);
        }
    }
    for (int i = 0; i < 3; i++)
        assert_true(seen[i][0] == 0 && seen[i][1] == 0 && seen[i][2] == 0);
}

TEST(a_half_opaque_line_mixes_once) {
    abut_picture *picture = plan(100);
    add_mesh(picture, square(1, -1), painted(1, 1, 1, 0.001f));
    abut_colour half = {0, 0, 0, 0.5f};
    /* two lines that overlap must not darken twice where they cross */
    assert_ok(abut_picture_add_line(picture, (abut_vec3){-1, 0, 0}, (abut_vec3){0, 0, 0}, 8, half));
    assert_ok(abut_picture_add_line(picture, (abut_vec3){0, 0, 0}, (abut_vec3){1, 0, 0}, 8, half));
    AUTO_FREE uint8_t *pixels = develop(picture, 100, 100);
    assert_near(0.5, linear(pixel(pixels, 100, 50, 50)[0]), 0.01);
    assert_near(0.5, linear(pixel(pixels, 100, 20, 50)[0]), 0.01);
}

TEST(a_dot_is_round) {
    abut_picture *picture = plan(61); /* odd, so that the middle of a pixel is the middle */
    assert_ok(abut_picture_add_point(picture, (abut_vec3){3, 4, 5}, 40, (abut_colour){0, 0, 1, 1}));
    AUTO_FREE uint8_t *pixels = develop(picture, 61, 61);
    for (int y = 0; y < 61; y++)
        for (int x = 0; x < 61; x++) {
            double r = sqrt((x - 30.0) * (x - 30.0) + (y - 30.0) * (y - 30.0));
            const uint8_t *p = pixel(pixels, 61, (size_t)x, (size_t)y);
            if (r < 16)
                assert_true(p[0] == 0 && p[1] == 0 && p[2] == 255);
            if (r > 21)
                assert_true(p[0] == 255 && p[2] == 255);
            if (r > 18.8 && r < 19.2)
                assert_true(p[0] == 0 && p[2] > 100 && p[2] < 200); /* the rim */
        }
}

/* Edges darken only near edges, and fade out on a mesh that is finer than the pixels. */
TEST(edges_are_drawn_and_fade) {
    for (int fine = 0; fine < 2; fine++) {
        double mean[2] = {0, 0};
        for (int edges = 0; edges < 2; edges++) {
            abut_picture *picture = plan(100);
            abut_mesh_style style = painted(1, 1, 1, 1);
            style.edges = edges;
            add_mesh(picture, fine ? ball(400, false) : square(1, 0), style);
            AUTO_FREE uint8_t *pixels = develop(picture, 100, 100);
            for (size_t i = 0; i < 100 * 100; i++)
                mean[edges] += pixels[4 * i] / 1e4;
            if (!fine && edges) {
                assert_true(pixel(pixels, 100, 50, 49)[0] < 200); /* the diagonal */
                assert_true(pixel(pixels, 100, 70, 70)[0] > 200);
            }
        }
        assert_true(mean[1] <= mean[0]);
        assert_true(fine ? mean[0] - mean[1] < 1 : mean[0] - mean[1] > 1);
    }
}

/* How many bytes differ by more than `tolerance`. */
static size_t difference(const uint8_t *a, const uint8_t *b, size_t bytes, int tolerance) {
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += abs(a[i] - b[i]) > tolerance;
    return count;
}

static uint8_t *portrait(abut_mesh *mesh, bool smooth, uint32_t size) {
    abut_picture_options options = abut_picture_options_default();
    options.width = options.height = size;
    abut_picture *picture = new_picture(&options);
    abut_mesh_style style = abut_mesh_style_default();
    style.smooth = smooth;
    add_mesh(picture, mesh, style);
    return develop(picture, size, size);
}

TEST(smooth_welds_soups_and_keeps_creases) {
    enum { SIZE = 120, BYTES = SIZE * SIZE * 4 };
    uint8_t *flat = portrait(ball(24, false), false, SIZE),
            *whole = portrait(ball(24, false), true, SIZE),
            *soup = portrait(ball(24, true), true, SIZE);
    assert_true(difference(flat, whole, BYTES, 4) > BYTES / 10);
    assert_int_equal(0, difference(whole, soup, BYTES, 1));
    free(flat);
    free(whole);
    free(soup);
    flat = portrait(box((abut_vec3){0, 0, 0}, 1), false, SIZE);
    whole = portrait(box((abut_vec3){0, 0, 0}, 1), true, SIZE);
    assert_int_equal(0, difference(flat, whole, BYTES, 1));
    free(flat);
    free(whole);
}

/* A sheet from behind: another hue, or its own. */
TEST(back_sides_have_a_hue_of_their_own_but_where_asked) {
    enum { SIZE = 40 };
    static const double corners[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    static const uint32_t indices[2][3] = {{0, 1, 2}, {0, 2, 1}};
    uint8_t *seen[2][2];
    for (int behind = 0; behind < 2; behind++)
        for (int both = 0; both < 2; both++) {
            abut_mesh_input input = abut_mesh_input_doubles(corners, 3, indices[behind], 1);
            abut_picture_options options = abut_picture_options_default();
            abut_mesh_style style = abut_mesh_style_default();
            abut_picture *picture;
            abut_mesh *mesh;
            options.width = options.height = SIZE;
            options.eye_direction = (abut_vec3){0, 0, 1};
            style.colour = (abut_colour){0.2f, 0.3f, 0.8f, 1};
            style.two_sided = both;
            assert_ok(abut_mesh_create(NULL, &input, &mesh));
            picture = new_picture(&options);
            add_mesh(picture, mesh, style);
            seen[behind][both] = develop(picture, SIZE, SIZE);
        }
    assert_memory_equal(seen[0][0], seen[0][1], 4 * SIZE * SIZE);
    assert_int_equal(0, difference(seen[0][1], seen[1][1], 4 * SIZE * SIZE, 8));
    assert_true(difference(seen[0][0], seen[1][0], 4 * SIZE * SIZE, 30) > SIZE * SIZE / 10);
    for (int k = 0; k < 4; k++)
        free(seen[k / 2][k % 2]);
}

static uint8_t *portrait_at(double scale, abut_vec3 middle, double fov) {
    abut_picture_options options = abut_picture_options_default();
    options.width = 96;
    options.height = 72;
    options.ground = true;
    options.field_of_view = fov;
    abut_picture *picture = new_picture(&options);
    abut_mesh_style style = abut_mesh_style_default();
    style.edges = true;
    add_mesh(picture, box(middle, scale), style);
    abut_vec3 top = {middle.x, middle.y, middle.z + 1.5 * scale};
    assert_ok(abut_picture_add_line(picture, middle, top, 3, (abut_colour){1, 0, 0, 1}));
    return develop(picture, 96, 72);
}

TEST(size_and_place_do_not_matter) {
    enum { BYTES = 96 * 72 * 4 };
    for (int parallel = 0; parallel < 2; parallel++) {
        double fov = parallel ? -1 : 40;
        AUTO_FREE uint8_t *plain = portrait_at(1, (abut_vec3){0, 0, 0}, fov);
        static const double scales[] = {0x1p-100, 0x1p100, 1e-30, 1e30, 1e-80, 1e80};
        for (int i = 0; i < 6; i++) {
            AUTO_FREE uint8_t *other = portrait_at(scales[i], (abut_vec3){0, 0, 0}, fov);
            if (i < 2)
                assert_memory_equal(plain, other, BYTES);
            assert_true(difference(plain, other, BYTES, 3) < 20);
        }
        AUTO_FREE uint8_t *far = portrait_at(1, (abut_vec3){4e6, -7e6, 1e6}, fov);
        assert_true(difference(plain, far, BYTES, 3) < 20);
    }
}

/* Everything lies within the frame; two opposite margins are 6%, the other two are equal. */
TEST(the_frame_is_tight) {
    enum { W = 200, H = 150 };
    static const double views[] = {-1, 0.001, 10, 30, 60, 90};
    test_random random = {7};
    for (int i = 0; i < 60; i++) {
        abut_picture_options options = abut_picture_options_default();
        options.width = W;
        options.height = H;
        options.background = (abut_colour){0, 1, 0, 1};
        options.field_of_view = views[i % 6];
        for (int k = 0; k < 3; k++)
            (&options.eye_direction.x)[k] = test_random_real(&random, -1, 1);
        abut_picture *picture = new_picture(&options);
        for (int k = 0; k < 30; k++) {
            abut_vec3 p = {test_random_real(&random, -1, 1), test_random_real(&random, -2, 1),
                           test_random_real(&random, -1, 3)};
            assert_ok(abut_picture_add_point(picture, p, 1, (abut_colour){1, 0, 1, 1}));
        }
        AUTO_FREE uint8_t *pixels = develop(picture, W, H);
        int lo[2] = {W, H}, hi[2] = {-1, -1};
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                const uint8_t *p = pixel(pixels, W, (size_t)x, (size_t)y);
                if (p[0] == 0)
                    continue;
                lo[0] = x < lo[0] ? x : lo[0];
                lo[1] = y < lo[1] ? y : lo[1];
                hi[0] = x > hi[0] ? x : hi[0];
                hi[1] = y > hi[1] ? y : hi[1];
            }
        double left = lo[0] / (double)W, top = lo[1] / (double)H,
               right = (W - 1 - hi[0]) / (double)W, bottom = (H - 1 - hi[1]) / (double)H;
        assert_near(left, right, 2.0 / W);
        assert_near(top, bottom, 2.0 / H);
        assert_near(0.06, fmin(left, top), 2.0 / H);
    }
}

TEST(odd_scenes_are_drawn) {
    /* nothing at all: the background */
    abut_picture_options options = plan_view(32);
    options.ground = true;
    abut_picture *picture = new_picture(&options);
    uint8_t *pixels = develop(picture, 32, 32);
    for (size_t i = 0; i < 32 * 32 * 4; i++)
        assert_int_equal(255, pixels[i]);
    free(pixels);
    /* a triangle that is a point, one that is a line, and a camera that looks along `up` */
    static const double p[] = {2, 2, 2, 5, 2, 2, 9, 2, 2};
    static const uint32_t t[] = {0, 0, 0, 0, 1, 2};
    for (uint32_t count = 1; count <= 2; count++)
        for (int k = 0; k < 12; k++) {
            static const double fields[] = {-1, 0, 1e-300, 169.9};
            options = plan_view(33);
            options.field_of_view = fields[k % 4];
            options.up = k / 4 == 0   ? (abut_vec3){0, 0, 1}
                         : k / 4 == 1 ? (abut_vec3){0, 0, -1e-300}
                                      : (abut_vec3){0, 1e300, 0};
            options.ground = k % 2;
            picture = new_picture(&options);
            abut_mesh_style style = abut_mesh_style_default();
            style.edges = style.smooth = true;
            add_mesh(picture, test_mesh(NULL, p, 3, t, count), style);
            assert_ok(abut_picture_add_line(picture, (abut_vec3){5, 2, 2}, (abut_vec3){5, 2, 2}, 5,
                                            (abut_colour){0}));
            free(develop(picture, 33, 33));
        }
    /* pictures of one pixel, one row, one column */
    static const uint32_t sizes[][2] = {{1, 1}, {1, 700}, {16384, 1}, {31, 33}};
    for (int k = 0; k < 4; k++) {
        options = abut_picture_options_default();
        options.width = sizes[k][0];
        options.height = sizes[k][1];
        options.ground = true;
        picture = new_picture(&options);
        assert_ok(add_everything(picture));
        free(develop(picture, sizes[k][0], sizes[k][1]));
    }
    /* along y, with y up */
    options = plan_view(33);
    options.eye_direction = options.up = (abut_vec3){0, 2, 0};
    picture = new_picture(&options);
    add_mesh(picture, box((abut_vec3){0, 0, 0}, 1), painted(1, 0, 0, 1));
    pixels = develop(picture, 33, 33);
    assert_true(pixel(pixels, 33, 16, 16)[0] > 100 && pixel(pixels, 33, 16, 16)[1] < 100);
    free(pixels);
}

/* Looking along up and against it, for z up and y up: where is the front? */
TEST(plans_have_the_front_at_the_bottom) {
    for (int k = 0; k < 4; k++) {
        bool y_up = k & 1, below = k & 2;
        double side = below ? -2 : 2;
        abut_picture_options options = plan_view(60);
        options.up = y_up ? (abut_vec3){0, 1, 0} : (abut_vec3){0, 0, 1};
        options.eye_direction = y_up ? (abut_vec3){0, side, 0} : (abut_vec3){0, 0, side};
        abut_picture *picture = new_picture(&options);
        abut_vec3 front = y_up ? (abut_vec3){0, 0, 1} : (abut_vec3){0, -1, 0};
        abut_vec3 rear = {-front.x, -front.y, -front.z};
        assert_ok(abut_picture_add_point(picture, front, 8, (abut_colour){1, 0, 0, 1}));
        assert_ok(abut_picture_add_point(picture, rear, 8, (abut_colour){0, 0, 1, 1}));
        AUTO_FREE uint8_t *pixels = develop(picture, 60, 60);
        const uint8_t *top = pixel(pixels, 60, 30, 4), *bottom = pixel(pixels, 60, 30, 56);
        assert_true(below ? top[0] > top[2] : top[2] > top[0]);
        assert_true(below ? bottom[2] > bottom[0] : bottom[0] > bottom[2]);
    }
}

/* A floor is darker under the thing than far away from it, and there is none from below. */
TEST(the_floor_takes_a_shadow) {
    for (int below = 0; below < 2; below++) {
        size_t dark = 0;
        abut_picture_options options = abut_picture_options_default();
        options.width = 120;
        options.height = 90;
        options.ground = true;
        options.background = (abut_colour){1, 1, 1, 1};
        options.eye_direction = (abut_vec3){0.6, -1, below ? -0.55 : 0.55};
        abut_picture *picture = new_picture(&options);
        add_mesh(picture, box((abut_vec3){0, 0, 0}, 1), painted(1, 0, 0, 1));
        AUTO_FREE uint8_t *pixels = develop(picture, 120, 90);
        for (size_t i = 0; i < 120 * 90; i++) {
            const uint8_t *p = pixels + 4 * i;
            dark += p[0] < 240 && p[0] == p[1] && p[1] == p[2];
        }
        assert_true(below ? dark == 0 : dark > 100);
        assert_int_equal(255, pixels[0]);
    }
}

TEST_THREADS(threads_do_not_change_a_byte) {
    enum { W = 203, H = 157 };
    static uint8_t drawn[2][W * H * 4];
    for (int i = 0; i < 2; i++) {
        abut_context *context = test_context(NULL, i ? 4 : 1);
        abut_picture_options options = abut_picture_options_default();
        options.width = W;
        options.height = H;
        options.ground = true;
        AUTO(picture) picture = NULL;
        assert_ok(abut_picture_create(context, &options, &picture));
        abut_context_destroy(context); /* the picture keeps it */
        assert_ok(add_everything(picture));
        assert_ok(abut_picture_render(picture, sizeof drawn[i], drawn[i]));
        memset(drawn[i], 0, sizeof drawn[i]); /* a second render is the same as the first */
        assert_ok(abut_picture_render(picture, sizeof drawn[i], drawn[i]));
    }
    assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
}

/* Meshes without a colour take those of the palette in their order, and others do not count. */
TEST(the_palette_is_known) {
    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t k = 0; k < i; k++) {
            abut_colour a = abut_picture_colour(i), b = abut_picture_colour(k);
            assert_true(fabsf(a.r - b.r) + fabsf(a.g - b.g) + fabsf(a.b - b.b) > 0.1f);
            assert_true(a.a > 0.99f);
        }
    abut_colour first = abut_picture_colour(0), ninth = abut_picture_colour(8);
    assert_memory_equal(&first, &ninth, sizeof first);
    abut_shape ball = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    AUTO(mesh) mesh = NULL;
    assert_ok(abut_shape_create(NULL, &ball, &mesh));
    static uint8_t images[2][64 * 48 * 4];
    for (int named = 0; named < 2; named++) {
        abut_picture_options options = abut_picture_options_default();
        AUTO(picture) picture = NULL;
        options.width = 64;
        options.height = 48;
        picture = new_picture(&options);
        for (uint32_t i = 0; i < 3; i++) {
            abut_mesh_style style = abut_mesh_style_default();
            if (named)
                style.colour = abut_picture_colour(i);
            abut_pose pose = {.rotation = {0, 0, 0, 1}, .translation = {3.0 * i, 0, 0}};
            assert_ok(abut_picture_add_mesh(picture, mesh, pose, &style));
        }
        assert_ok(abut_picture_render(picture, sizeof images[named], images[named]));
    }
    assert_memory_equal(images[0], images[1], sizeof images[0]);
}
