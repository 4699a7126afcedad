/* The numbers of docs/limits.md: beyond each of them a call returns an error with a message and
 * no result; up to it, if that takes no time, it succeeds. */
#include "support/support.h"

#include <math.h>

static abut_mesh *box(void) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    shape.segments = 1;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

static void refuses(abut_status status) {
    assert_true(status == ABUT_ERROR_ARGUMENT || status == ABUT_ERROR_LIMIT);
    assert_true(abut_last_error()[0]);
}

TEST(coordinates) {
    (void)state;
    double positions[3][3] = {{0, 0, 0}, {1e90, 0, 0}, {0, 1e90, 0}};
    const uint32_t corners[3] = {0, 1, 2};
    abut_mesh_input input = abut_mesh_input_doubles(positions, 3, corners, 1);
    abut_mesh *mesh = NULL;
    assert_true(ABUT_COORDINATE_MAX == 1e90);
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    abut_mesh_destroy(mesh);
    mesh = NULL;
    positions[1][0] = nextafter(1e90, INFINITY);
    refuses(abut_mesh_create(NULL, &input, &mesh));
    assert_null(mesh);
}

TEST(counts_of_meshes) {
    (void)state;
    const double place[3] = {0, 0, 0};
    abut_mesh_input input = abut_mesh_input_doubles(place, ABUT_NONE, NULL, 0);
    abut_mesh *mesh = NULL;
    input.position_stride = 1; /* never read: the count is looked at first */
    assert_int_equal(ABUT_ERROR_LIMIT, abut_mesh_create(NULL, &input, &mesh));
    assert_null(mesh);
    assert_true(ABUT_NONE - 1 == UINT32_C(4294967294));
    assert_true(ABUT_NONE / 3 - 1 == UINT32_C(1431655764));
}

TEST(patches) {
    (void)state;
    AUTO(mesh) mesh = box();
    AUTO(bvh) bvh = NULL;
    abut_patch patch[4];
    abut_contact contacts[32];
    abut_patches found = {.size = sizeof found,
                          .patches.list = patch,
                          .patches.capacity = 4,
                          .contacts.list = contacts,
                          .contacts.capacity = 32};
    abut_patch_options options = abut_patch_options_default();
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    const abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity()),
                        b = abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 1}, {0, 0, 0.9}});
    options.max_contacts = 8;
    assert_ok(abut_contact_find(&a, &b, &options, &found));
    assert_in_range(found.contacts.count, 1, 8);
    options.max_contacts = 9;
    refuses(abut_contact_find(&a, &b, &options, &found));
}

TEST(images) {
    (void)state;
    AUTO(mesh) mesh = box();
    abut_map *map = NULL;
    abut_map_options options = abut_map_options_default();
    options.resolution = 16385;
    refuses(abut_map_create(mesh, &options, &map));
    assert_null(map);

    abut_picture_options size = abut_picture_options_default();
    abut_picture *picture = NULL;
    size.width = 16384;
    size.height = 1;
    assert_ok(abut_picture_create(NULL, &size, &picture));
    abut_picture_destroy(picture);
    picture = NULL;
    size.width = 16385;
    refuses(abut_picture_create(NULL, &size, &picture));
    assert_null(picture);
    assert_int_equal(100000, ABUT_RASTER_MAX);
}

TEST(characters) {
    (void)state;
    abut_character_figure_options options = abut_character_figure_options_default();
    abut_character *character = NULL;
    options.triangles = 7999;
    refuses(abut_character_create_figure(NULL, &options, &character));
    options.triangles = 1000001;
    refuses(abut_character_create_figure(NULL, &options, &character));
    assert_null(character);
    assert_int_equal(8, ABUT_CHARACTER_WEIGHT_COUNT);
    assert_int_equal(1000, ABUT_GARMENT_PARTICLES_MIN);
    assert_int_equal(200000, ABUT_GARMENT_PARTICLES_MAX);
    assert_int_equal(8192, ABUT_RADIAL_SAMPLES_MAX);
    assert_true(ABUT_CLOTH_COORDINATE_MAX == 1e15);
    assert_int_equal(1000, ABUT_CLOTH_SUBSTEPS_MAX);
    assert_true(ABUT_PAIR_SELF_LIMIT(1) == 67108864 + 1024);
}

TEST(fields) {
    (void)state;
    AUTO(mesh) mesh = box();
    abut_field *field = NULL;
    abut_field_options options = abut_field_options_default();
    options.cell = 1e-12;
    assert_int_equal(ABUT_ERROR_LIMIT, abut_field_create(mesh, &options, &field));
    assert_null(field);
}

TEST(candidates_of_worlds) {
    (void)state;
    AUTO(mesh) mesh = box();
    AUTO(bvh) bvh = NULL;
    AUTO(world) world = NULL;
    abut_world_options options = abut_world_options_default();
    abut_world_item item = {.size = sizeof(abut_world_item), .collider.kind = ABUT_COLLIDER_BODY};
    abut_contact list[64];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 64};
    uint32_t id;
    options.pair_limit = 2;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_world_create(NULL, &options, &world));
    item.collider.shape.body.bvh = bvh;
    for (int i = 0; i < 3; i++) { /* a row: two pairs, then all three on each other */
        item.collider.pose = (abut_pose){{0, 0, 0, 1}, {0.9 * i, 0, 0}};
        assert_ok(abut_world_add(world, &item, &id));
    }
    assert_ok(abut_world_contacts(world, &found));
    item.collider.pose.translation.x = 0.9;
    assert_ok(abut_world_add(world, &item, &id));
    assert_int_equal(ABUT_ERROR_LIMIT, abut_world_contacts(world, &found));
}
