/* Files, arguments, cancelling, and running out of memory. */
#include "apps/get.h"
#include "scenes.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef ABUT_HAS_PNG
#include <png.h>
#endif

enum { W = 50, H = 41, BYTES = W * H * 4 };

static abut_picture *everything(abut_context *context) {
    abut_picture_options options = abut_picture_options_default();
    options.width = W;
    options.height = H;
    options.ground = true;
    abut_picture *picture;
    assert_ok(abut_picture_create(context, &options, &picture));
    assert_ok(add_everything(picture));
    return picture;
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* ---- PPM and PNG ---- */

TEST(ppm_holds_the_pixels) {
    static uint8_t pixels[BYTES], file[3 * W * H + 64];
    abut_picture *picture = everything(NULL);
    const char *path = test_path("picture.PpM");
    assert_ok(abut_picture_render(picture, sizeof pixels, pixels));
    assert_ok(abut_picture_write(picture, path));
    abut_picture_destroy(picture);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size_t got = fread(file, 1, sizeof file, in);
    fclose(in);
    static const char head[] = "P6\n50 41\n255\n";
    assert_int_equal(sizeof head - 1 + 3 * W * H, got);
    assert_memory_equal(head, file, sizeof head - 1);
    for (size_t i = 0; i < W * H; i++)
        assert_memory_equal(pixels + 4 * i, file + sizeof head - 1 + 3 * i, 3);
}

TEST(pixels_of_the_caller_are_written) {
    const uint8_t pixels[8] = {1, 2, 3, 0, 250, 251, 252, 99};
    static const char wanted[] = "P6\n2 1\n255\n\1\2\3\372\373\374";
    char file[64];
    const char *path = test_path("two.ppm");
    assert_ok(abut_picture_write_pixels(NULL, path, pixels, 2, 1));
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size_t got = fread(file, 1, sizeof file, in);
    fclose(in);
    assert_int_equal(sizeof wanted - 1, got);
    assert_memory_equal(wanted, file, got);
    assert_refused("16384", abut_picture_write_pixels(NULL, path, pixels, 0, 1));
    assert_refused("16384", abut_picture_write_pixels(NULL, path, pixels, 1, 16385));
    assert_refused("null", abut_picture_write_pixels(NULL, path, NULL, 2, 1));
    assert_refused(".png or", abut_picture_write_pixels(NULL, "x.jpg", pixels, 2, 1));
}

#ifdef ABUT_HAS_PNG
TEST(png_holds_the_pixels) {
    static uint8_t pixels[BYTES], file[BYTES];
    AUTO(picture) picture = everything(NULL);
    static const char *const names[] = {"picture.png", "PICTURE.PNG"};
    assert_ok(abut_picture_render(picture, sizeof pixels, pixels));
    for (int i = 0; i < 2; i++) {
        assert_ok(abut_picture_write(picture, test_path(names[i])));
        png_image image;
        memset(&image, 0, sizeof image);
        image.version = PNG_IMAGE_VERSION;
        assert_true(png_image_begin_read_from_file(&image, test_path(names[i])));
        assert_true(image.width == W && image.height == H);
        image.format = PNG_FORMAT_RGBA;
        assert_true(png_image_finish_read(&image, NULL, file, 4 * W, NULL));
        assert_memory_equal(pixels, file, sizeof pixels);
    }
}
#else
TEST(png_holds_the_pixels) {
    AUTO(picture) picture = everything(NULL);
    const char *path = test_path("picture.png");
    assert_fails(ABUT_ERROR_UNSUPPORTED, ".ppm", abut_picture_write(picture, path));
    assert_false(exists(path));
}
#endif

TEST(bad_paths_are_named) {
    AUTO(picture) picture = everything(NULL);
    static const char *const endings[] = {"", "picture", "picture.jpg", ".ppm", "ppm", "a.ppm.txt"};
    for (int i = 0; i < 6; i++)
        assert_refused(".png or .ppm", abut_picture_write(picture, endings[i]));
    const char *nowhere = test_path("no-such-folder/picture.ppm");
    assert_fails(ABUT_ERROR_FILE, "no-such-folder", abut_picture_write(picture, nowhere));
    const char *folder = test_path("folder.ppm");
    assert_int_equal(0, mkdir(folder, 0777));
    assert_fails(ABUT_ERROR_FILE, "folder.ppm", abut_picture_write(picture, folder));
    assert_refused("path is null", abut_picture_write(picture, NULL));
    assert_refused("picture is null", abut_picture_write(NULL, "x.ppm"));
    if (exists("/dev/full"))
        for (int i = 0; i < 2; i++) { /* written directly, so that the error comes at the end */
            const char *link = test_path(i ? "full.png" : "full.ppm");
            assert_int_equal(0, symlink("/dev/full", link));
            abut_status status = abut_picture_write(picture, link);
            assert_true(status == ABUT_ERROR_FILE || (i && status == ABUT_ERROR_UNSUPPORTED));
        }
}

/* ---- what was added ---- */

TEST(items_are_given_back_as_they_were_added) {
    abut_picture_options options = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    AUTO(picture) picture = NULL;
    abut_picture_item item = abut_picture_item_default();
    AUTO(mesh) mesh = square(1, 0);
    const abut_pose pose = {{0, 0, 1, 0}, {1, 2, 3}};
    const abut_colour red = {1, 0, 0, 0.5f}, two[2] = {{0, 1, 0, 1}, {0, 0, 0, 0}};
    options.height = 30;
    options.up.y = 1;
    assert_ok(abut_picture_create(NULL, &options, &picture));
    assert_int_equal(get_picture_options(picture).height, 30);
    assert_int_equal(get_picture_options(picture).width, 960);
    assert_int_equal(get_picture_options(NULL).width, 0);
    assert_int_equal(abut_picture_item_count(picture), 0);
    assert_int_equal(abut_picture_item_count(NULL), 0);
    assert_refused("0 items", abut_picture_get_item(picture, 0, &item));
    assert_ok(abut_picture_add_line(picture, (abut_vec3){1, 0, 0}, (abut_vec3){0, 1, 0}, 0, red));
    assert_ok(abut_picture_add_mesh(picture, mesh, pose, NULL));
    style.colour = red;
    style.triangle_colour = two;
    style.edges = style.two_sided = true;
    assert_ok(abut_picture_add_mesh(picture, mesh, at_home, &style));
    assert_ok(abut_picture_add_point(picture, (abut_vec3){4, 5, 6}, 3, (abut_colour){0}));
    assert_int_equal(abut_picture_item_count(picture), 4);
    assert_ok(abut_picture_get_item(picture, 0, &item));
    abut_colour first = abut_picture_colour(0);
    assert_ptr_equal(item.mesh, mesh);
    assert_memory_equal(&item.pose, &pose, sizeof pose);
    assert_memory_equal(&item.colour, &first, sizeof first);
    assert_null(item.triangle_colour);
    assert_ok(abut_picture_get_item(picture, 1, &item));
    assert_true(item.edges && item.two_sided && !item.smooth);
    assert_memory_equal(&item.triangle_colour[0], &two[0], sizeof red);
    assert_memory_equal(&item.triangle_colour[1], &red, sizeof red); /* that of the mesh */
    assert_ok(abut_picture_get_item(picture, 2, &item));
    assert_true(!item.mesh && !item.is_point && item.from.x == 1 && item.to.y == 1);
    assert_true(item.width == 2);
    assert_memory_equal(&item.colour, &red, sizeof red);
    assert_ok(abut_picture_get_item(picture, 3, &item));
    assert_true(item.is_point && item.from.z == 6 && item.width == 3);
    assert_true(item.colour.a == 1 && item.colour.r < 0.2f); /* ink */
    assert_refused("4 items", abut_picture_get_item(picture, 4, &item));
    assert_refused("picture is null", abut_picture_get_item(NULL, 0, &item));
    assert_refused("item is null", abut_picture_get_item(picture, 0, NULL));
}

/* ---- arguments ---- */

TEST(options_are_checked) {
    abut_picture *picture = NULL;
    abut_picture_options o;
#define REFUSE(change, part)                                       \
    o = abut_picture_options_default();                            \
    change;                                                        \
    assert_refused(part, abut_picture_create(NULL, &o, &picture)); \
    assert_null(picture)
    REFUSE(o.width = 16385, "16384");
    REFUSE(o.height = UINT32_MAX, "16384");
    REFUSE(o.eye_direction.y = NAN, "eye_direction");
    REFUSE(o.up.z = INFINITY, "up");
    REFUSE(o.field_of_view = 170, "170");
    REFUSE(o.field_of_view = NAN, "field_of_view");
    REFUSE(o.field_of_view = -INFINITY, "field_of_view");
    REFUSE(o.background.r = 1.01f, "background");
    REFUSE(o.background.a = NAN, "background");
    REFUSE(o.size = 0, "size");
    REFUSE(o.size += 1, "size");
#undef REFUSE
    assert_refused("picture is null", abut_picture_create(NULL, NULL, NULL));
    abut_picture_destroy(NULL);
}

TEST(meshes_are_checked) {
    AUTO(picture) picture = NULL;
    assert_ok(abut_picture_create(NULL, NULL, &picture));
    AUTO(mesh) mesh = square(1, 0);
    abut_colour colours[2] = {{1, 1, 1, 1}, {1, 1, 1, 1}};
    abut_mesh_style s = abut_mesh_style_default();
    abut_pose p = at_home;
    assert_refused("picture is null", abut_picture_add_mesh(NULL, mesh, p, NULL));
    assert_refused("mesh is null", abut_picture_add_mesh(picture, NULL, p, NULL));
    p.translation.x = NAN;
    assert_refused("pose", abut_picture_add_mesh(picture, mesh, p, NULL));
    p.translation.x = 1e91;
    assert_refused("pose", abut_picture_add_mesh(picture, mesh, p, NULL));
    p = at_home;
    p.rotation.w = INFINITY;
    assert_refused("pose", abut_picture_add_mesh(picture, mesh, p, NULL));
    s.colour.g = -0.5f;
    assert_refused("colour is", abut_picture_add_mesh(picture, mesh, at_home, &s));
    s = abut_mesh_style_default();
    s.triangle_colour = colours;
    colours[1].b = NAN;
    assert_refused("triangle_colour[1]", abut_picture_add_mesh(picture, mesh, at_home, &s));
    s.size = 3;
    assert_refused("size", abut_picture_add_mesh(picture, mesh, at_home, &s));
}

TEST(marks_are_checked) {
    AUTO(picture) picture = NULL;
    assert_ok(abut_picture_create(NULL, NULL, &picture));
    abut_vec3 good = {0, 0, 0}, nan = {0, NAN, 0}, inf = {INFINITY, 0, 0}, huge = {0, 0, 1.1e90};
    abut_colour red = {1, 0, 0, 1}, wrong = {0, 0, 2, 1};
    assert_refused("picture is null", abut_picture_add_line(NULL, good, good, 1, red));
    assert_refused("picture is null", abut_picture_add_point(NULL, good, 1, red));
    assert_refused("point is", abut_picture_add_line(picture, nan, good, 1, red));
    assert_refused("point is", abut_picture_add_line(picture, good, inf, 1, red));
    assert_refused("point is", abut_picture_add_point(picture, huge, 1, red));
    assert_refused("width", abut_picture_add_point(picture, good, -1, red));
    assert_refused("width", abut_picture_add_line(picture, good, good, NAN, red));
    assert_refused("width", abut_picture_add_line(picture, good, good, 1e9, red));
    assert_refused("colour", abut_picture_add_line(picture, good, good, 1, wrong));
    assert_refused("colour", abut_picture_add_point(picture, good, 1, wrong));
}

TEST(a_small_buffer_is_left_alone) {
    static uint8_t pixels[BYTES], before[BYTES];
    memset(pixels, 7, sizeof pixels);
    memset(before, 7, sizeof before);
    AUTO(picture) picture = everything(NULL);
    assert_fails(ABUT_ERROR_BUFFER, "8200", abut_picture_render(picture, BYTES - 1, pixels));
    assert_refused("pixels is null", abut_picture_render(picture, BYTES, NULL));
    assert_refused("picture is null", abut_picture_render(NULL, BYTES, pixels));
    assert_memory_equal(before, pixels, sizeof pixels);
}

/* A caller compiled against an older, shorter structure. */
TEST(shorter_options_are_read) {
    abut_picture_options options = abut_picture_options_default();
    options.size = offsetof(abut_picture_options, eye_direction);
    options.width = W;
    options.height = H;
    options.field_of_view = NAN; /* not part of it */
    abut_picture *picture;
    assert_ok(abut_picture_create(NULL, &options, &picture));
    free(develop(picture, W, H));
}

/* ---- cancelling and memory ---- */

typedef struct patience {
    int calls, most;
    double last;
} patience;

static bool be_patient(void *user, const char *stage, double fraction) {
    patience *p = user;
    assert_string_equal("picture", stage);
    assert_true(fraction >= p->last && fraction <= 1);
    p->last = fraction;
    return ++p->calls <= p->most;
}

TEST(cancelling_leaves_nothing_behind) {
    static uint8_t pixels[BYTES], before[BYTES];
    memset(pixels, 7, sizeof pixels);
    memset(before, 7, sizeof before);
    const char *path = test_file("old.ppm", "old", 3);
    for (int most = 0;; most++) {
        patience p = {.most = most};
        abut_context *context = test_watched(be_patient, &p);
        abut_picture *picture = everything(context);
        abut_status status = abut_picture_render(picture, sizeof pixels, pixels);
        if (status) {
            assert_int_equal(ABUT_ERROR_CANCELLED, status);
            assert_memory_equal(before, pixels, sizeof pixels);
            p = (patience){.most = most};
            assert_fails(ABUT_ERROR_CANCELLED, "picture", abut_picture_write(picture, path));
            struct stat about;
            assert_int_equal(0, stat(path, &about));
            assert_int_equal(3, about.st_size);
        }
        abut_picture_destroy(picture);
        abut_context_destroy(context);
        if (!status) {
            assert_true(most >= 10 && p.last == 1);
            break;
        }
    }
}

static abut_status draw_and_write(abut_context *context, void *data) {
    abut_picture_options options = abut_picture_options_default();
    options.width = 20;
    options.height = 15;
    options.ground = true;
    AUTO(picture) picture = NULL;
    abut_status status = abut_picture_create(context, &options, &picture);
    if (status)
        return status;
    status = add_everything(picture);
    if (status)
        return status;
    return abut_picture_write(picture, data);
}

TEST(every_allocation_may_fail) {
    char path[1024];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s", test_path(i ? "memory.ppm" : "memory.png"));
        if (i || abut_picture_has_png())
            assert_true(test_every_allocation(draw_and_write, path) > 20);
    }
}

/* The parts of a tile come from workers: their failure must reach the caller. */
TEST_THREADS(workers_may_run_out_of_memory) {
    static uint8_t pixels[BYTES];
    for (uint64_t n = 1;; n++) {
        test_memory memory = {.fail_at = n};
        abut_context *context = test_context(&memory, 4);
        abut_picture_options options = abut_picture_options_default();
        options.width = W;
        options.height = H;
        abut_picture *picture = NULL;
        abut_status status = abut_picture_create(context, &options, &picture);
        if (!status)
            status = abut_picture_render(picture, sizeof pixels, pixels);
        abut_picture_destroy(picture);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
        if (!status)
            break;
        assert_int_equal(ABUT_ERROR_MEMORY, status);
        assert_non_null(strstr(abut_last_error(), "memory"));
    }
}
