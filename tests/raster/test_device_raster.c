/* Images on a device: the image of the CPU, bit for bit; and no leak if the device or the memory
 * fails. */
#include "device/open.h"
#include "raster/raster.h"
#include "support/pose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MESHES = 4, MOST = 200 * 200 };

static abut_device *device;
static abut_mesh *meshes[MESHES];

static abut_raster *create(abut_device *on) {
    abut_raster_options options = abut_raster_options_default();
    abut_raster *raster = NULL;
    options.device = on;
    assert_ok(abut_raster_create(NULL, &options, &raster));
    return raster;
}

typedef struct pixels {
    float depths[MOST];
    uint32_t items[MOST], triangles[MOST];
} pixels;

static abut_raster_image image_of(pixels *to, bool conservative) {
    memset(to, 0xee, sizeof *to);
    return (abut_raster_image){.size = sizeof(abut_raster_image),
                               .capacity = MOST,
                               .conservative = conservative,
                               .depths = abut_array_host(to->depths),
                               .items = abut_array_host(to->items),
                               .triangles = abut_array_host(to->triangles)};
}

/* Both draw the same; how many pixels have something. */
static uint32_t compare(abut_raster *here, abut_raster *there, const abut_raster_view *view,
                        const abut_collider *items, size_t count, bool conservative) {
    static pixels a, b;
    abut_raster_image on_cpu = image_of(&a, conservative), on_device = image_of(&b, conservative);
    assert_ok(abut_raster_draw(here, view, items, count, &on_cpu));
    assert_ok(abut_raster_draw(there, view, items, count, &on_device));
    assert_true(on_cpu.width == on_device.width && on_cpu.height == on_device.height);
    assert_memory_equal(&a, &b, sizeof a);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < on_cpu.width * on_cpu.height; i++)
        seen += a.items[i] != ABUT_NONE;
    return seen;
}

/* `target` is in front of an eye: a view that sees nothing of its region is refused. */
static abut_raster_view view_of(test_random *random, uint32_t round, abut_vec3 target) {
    abut_raster_view view = abut_raster_view_default();
    view.width = 1 + test_random_below(random, 200);
    view.height = 1 + test_random_below(random, 200);
    view.direction = (abut_vec3){test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                                 test_random_real(random, -1, 1)};
    if (round % 3 == 1) { /* an eye among the items: the near plane cuts some */
        view.perspective = true;
        view.eye = (abut_vec3){0.3, -0.2, 0.1};
        view.angle = 2;
        if (v3_dot(view.direction, v3_sub(target, view.eye)) < 0)
            view.direction = v3_scale(view.direction, -1);
    }
    if (round % 3 == 2) /* a small part: the guard cuts */
        view.region = (abut_box){{-0.1, -0.1, -0.1}, {0.05, 0.1, 0.1}};
    return view;
}

TEST(same_as_the_cpu) {
    test_random random = {7};
    AUTO(raster) here = create(NULL), *there = create(device);
    const uint64_t part_pixels = there->part_pixels;
    uint32_t seen = 0;
    for (uint32_t round = 0; round < test_rounds(96); round++) {
        abut_collider items[30];
        uint32_t count = round % 8 == 7 ? 0 : 1 + test_random_below(&random, 30);
        for (uint32_t i = 0; i < count; i++) { /* some in one place: ties */
            items[i] = abut_collider_from_mesh(meshes[test_random_below(&random, MESHES)],
                                               random_pose(&random, 1));
            if (i && round % 4 == 1)
                items[i] = items[i - 1];
        }
        abut_raster_view view =
            view_of(&random, round, count ? items[0].pose.translation : (abut_vec3){0, 0, 0});
        there->part_pixels = round % 4 == 3 ? 700 : part_pixels; /* as with little memory */
        seen += compare(here, there, &view, items, count, false);
        seen += compare(here, there, &view, items, count, true);
    }
    assert_true(seen > 20000);
}

/* More large triangles than the list has room for at first. */
TEST(the_list_of_large_triangles_grows) {
    AUTO(raster) here = create(NULL), *there = create(device);
    enum { ITEMS = 250 };
    abut_collider items[ITEMS];
    for (uint32_t i = 0; i < ITEMS; i++) {
        items[i] = abut_collider_from_mesh(meshes[0], abut_pose_identity());
        items[i].pose.translation.z = 0.01 * i;
    }
    abut_raster_view view = abut_raster_view_default();
    view.width = 200;
    view.height = 160;
    view.direction = (abut_vec3){0.2, 0.1, -1};
    assert_true(compare(here, there, &view, items, ITEMS, false) > 10000);
    assert_true(compare(here, there, &view, items, ITEMS, true) > 10000);
}

TEST(images_stay_in_buffers) {
    enum { SIDE = 40, COUNT = SIDE * SIDE };
    static pixels a;
    AUTO(raster) here = create(NULL), *there = create(device);
    abut_raster_view view = abut_raster_view_default();
    view.width = view.height = SIDE;
    abut_collider items[2] = {abut_collider_from_mesh(meshes[1], abut_pose_identity()),
                              abut_collider_from_mesh(meshes[2], abut_pose_identity())};
    abut_raster_image image = image_of(&a, false);
    assert_ok(abut_raster_draw(here, &view, items, 2, &image));
    abut_buffer *buffers[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++)
        assert_ok(abut_buffer_create(device, COUNT * sizeof(float), &buffers[k]));
    there->part_pixels = 5 * SIDE;
    uint32_t items_there[COUNT], triangles_there[COUNT];
    float depths_there[COUNT];
    image = (abut_raster_image){.size = sizeof(abut_raster_image),
                                .capacity = COUNT,
                                .depths = abut_array_buffer(buffers[0]),
                                .items = abut_array_host(items_there),
                                .triangles = abut_array_buffer(buffers[1])};
    assert_ok(abut_raster_draw(there, &view, items, 2, &image));
    assert_ok(abut_buffer_read(buffers[0], 0, depths_there, sizeof depths_there));
    assert_ok(abut_buffer_read(buffers[1], 0, triangles_there, sizeof triangles_there));
    assert_memory_equal(a.depths, depths_there, sizeof depths_there);
    assert_memory_equal(a.items, items_there, sizeof items_there);
    assert_memory_equal(a.triangles, triangles_there, sizeof triangles_there);
    image.depths = image.triangles = abut_array_host(NULL); /* one alone, and none */
    memset(items_there, 0, sizeof items_there);
    assert_ok(abut_raster_draw(there, &view, items, 2, &image));
    assert_memory_equal(a.items, items_there, sizeof items_there);
    image.items = abut_array_host(NULL);
    assert_ok(abut_raster_draw(there, &view, items, 2, &image));
    /* bad ones */
    image.items = (abut_array){.host = items_there, .buffer = buffers[0]};
    assert_refused("has both a host pointer", abut_raster_draw(there, &view, items, 2, &image));
    image.items = abut_array_buffer(buffers[0]);
    assert_refused("no device", abut_raster_draw(here, &view, items, 2, &image));
    view.height = SIDE + 1;
    image.capacity = COUNT + SIDE;
    assert_fails(ABUT_ERROR_BUFFER, "are needed", abut_raster_draw(there, &view, items, 2, &image));
    for (int k = 0; k < 2; k++)
        abut_buffer_destroy(buffers[k]);
}

/* A mesh that is drawn stays, also where its maker has given it up; others come and go. */
TEST(meshes_come_and_go) {
    AUTO(raster) here = create(NULL), *there = create(device);
    abut_raster_view view = abut_raster_view_default();
    view.width = view.height = 50;
    for (uint32_t round = 0; round < 6; round++) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
        shape.segments = 5 + round;
        AUTO(mesh) mesh = NULL;
        assert_ok(abut_shape_create(NULL, &shape, &mesh));
        abut_collider items[2] = {abut_collider_from_mesh(mesh, abut_pose_identity()),
                                  abut_collider_from_mesh(meshes[round % MESHES],
                                                          abut_pose_identity())};
        assert_true(compare(here, there, &view, items, 2, false) > 100);
        assert_true(compare(here, there, &view, items, 1, false) > 100);
    }
}

static abut_status draw_a_little(abut_context *context, void *user) {
    abut_raster_options options = abut_raster_options_default();
    abut_raster *raster = NULL;
    options.device = device;
    abut_status status = abut_raster_create(context, &options, &raster);
    abut_raster_view view = abut_raster_view_default();
    view.width = view.height = 24;
    float depths[24 * 24];
    abut_raster_image image = {.size = sizeof(abut_raster_image),
                               .capacity = 24 * 24,
                               .depths = abut_array_host(depths)};
    abut_collider items[3] = {abut_collider_from_mesh(meshes[0], abut_pose_identity()),
                              abut_collider_from_mesh(meshes[1], abut_pose_identity()),
                              abut_collider_from_mesh(meshes[0], abut_pose_identity())};
    items[1].pose.translation.x = 0.5;
    (void)user;
    for (uint32_t count = 1; count <= 3 && !status; count++)
        status = abut_raster_draw(raster, &view, items, count, &image);
    abut_raster_destroy(raster);
    return status;
}

TEST(every_call_of_the_device) {
    test_every_device_call(draw_a_little, NULL, UINT64_MAX, 1);
}

TEST(every_allocation) {
    assert_true(test_every_allocation(draw_a_little, NULL) > 6);
}

/* What failed once is drawn the next time. */
TEST(a_failure_leaves_it_usable) {
    static pixels a, b;
    AUTO(raster) here = create(NULL), *there = create(device);
    abut_raster_view view = abut_raster_view_default();
    view.width = view.height = 30;
    abut_collider items[2] = {abut_collider_from_mesh(meshes[1], abut_pose_identity()),
                              abut_collider_from_mesh(meshes[3], abut_pose_identity())};
    abut_raster_image image = image_of(&a, false);
    assert_ok(abut_raster_draw(here, &view, items, 2, &image));
    for (uint64_t n = 1; n < 40; n += 3) {
        abut_raster_image again = image_of(&b, false);
        items[1].shape.mesh.mesh = meshes[n % 2 ? 3 : 2]; /* meshes are sent anew */
        abuti_opencl_fail_at(n);
        abut_status status = abut_raster_draw(there, &view, items, 2, &again);
        abuti_opencl_fail_at(0);
        assert_true(status == ABUT_OK || status == ABUT_ERROR_DEVICE);
        items[1].shape.mesh.mesh = meshes[3];
        again = image_of(&b, false);
        assert_ok(abut_raster_draw(there, &view, items, 2, &again));
        assert_memory_equal(&a, &b, sizeof a);
    }
}

TEST(other_rounding_is_refused) {
    abut_raster_options options = abut_raster_options_default();
    abut_raster *raster = NULL;
    bool same = device->info.same_bits;
    options.device = device;
    device->info.same_bits = false;
    assert_fails(ABUT_ERROR_DEVICE, "round", abut_raster_create(NULL, &options, &raster));
    device->info.same_bits = same;
    assert_null(raster);
}

static abut_mesh *make(abut_shape_kind kind, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh = NULL;
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

static int set_up(void **state) {
    (void)state;
    device = test_device(NULL);
    meshes[0] = make(ABUT_SHAPE_BOX, 1);
    meshes[1] = make(ABUT_SHAPE_ICOSPHERE, 6);
    meshes[2] = make(ABUT_SHAPE_TORUS, 9);
    meshes[3] = make(ABUT_SHAPE_LETTER_G, 4);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (int i = 0; i < MESHES; i++)
        abut_mesh_destroy(meshes[i]);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    return 0;
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
