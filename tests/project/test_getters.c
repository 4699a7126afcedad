/* The getters of all modules: abut_x_get_info(x, &info) and those for arrays and options.
 *
 * Each rejects null and a size field that this library does not know, writes no more than the size
 * field allows, as for a caller that was compiled against a shorter structure, and keeps that
 * field.
 */
#include "support/support.h"

#include <stdio.h>

typedef abut_status (*getter)(const void *object, void *out);

/* The same signature for all getters. */
#define GETTER(function, object_type, out_type)                         \
    static abut_status call_##function(const void *object, void *out) { \
        return function((const object_type *)object, (out_type *)out);  \
    }
GETTER(abut_bvh_get_info, abut_bvh, abut_bvh_info)
GETTER(abut_sign_get_info, abut_bvh, abut_sign_info)
GETTER(abut_topology_get_arrays, abut_topology, abut_topology_arrays)
GETTER(abut_normals_get_arrays, abut_normals, abut_normals_arrays)
GETTER(abut_samples_get_arrays, abut_samples, abut_samples_arrays)
GETTER(abut_field_get_info, abut_field, abut_field_info)
GETTER(abut_map_get_info, abut_map, abut_map_info)
GETTER(abut_self_get_info, abut_self, abut_self_info)
GETTER(abut_character_get_info, abut_character, abut_character_info)
GETTER(abut_radial_get_info, abut_radial, abut_radial_info)
GETTER(abut_picture_get_options, abut_picture, abut_picture_options)
GETTER(abut_frames_get_info, abut_frames, abut_frames_info)
GETTER(abut_scene_get_arrays, abut_scene, abut_scene_arrays)

static abut_status get_first_field(const void *object, void *out) {
    return abut_radial_get_field((abut_radial *)(uintptr_t)object, 0, (abut_radial_view *)out);
}

static abut_status get_first_item(const void *object, void *out) {
    return abut_world_get_item_info((const abut_world *)object, 0, (abut_world_item_info *)out);
}

static abut_status get_first_pair(const void *object, void *out) {
    return abut_world_get_pair_info((const abut_world *)object, 0, 1, (abut_world_pair_info *)out);
}

enum { ROOM = 1024, UNTOUCHED = 0x5a };

static void set_size(unsigned char *out, size_t size) {
    memset(out, UNTOUCHED, ROOM);
    memcpy(out, &size, sizeof size);
}

static void check_untouched(const unsigned char *out, size_t from) {
    for (size_t i = from; i < ROOM; i++)
        assert_int_equal(UNTOUCHED, out[i]);
}

static void check_getter(getter get, const void *object, size_t bytes) {
    unsigned char whole[ROOM], part[ROOM];
    assert_true(bytes + 1 < ROOM);
    set_size(whole, bytes);
    assert_refused(" is null", get(NULL, whole));
    assert_refused(" is null", get(object, NULL));
    const size_t wrong[] = {0, sizeof(size_t) - 1, bytes + 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        set_size(part, wrong[i]);
        assert_refused("size", get(object, part));
        check_untouched(part, sizeof(size_t));
    }
    set_size(whole, bytes);
    assert_ok(get(object, whole));
    check_untouched(whole, bytes);
    const size_t half = sizeof(size_t) + (bytes - sizeof(size_t)) / 2;
    set_size(part, half);
    assert_ok(get(object, part));
    check_untouched(part, half);
    size_t size;
    memcpy(&size, part, sizeof size);
    assert_int_equal(half, size);
    assert_memory_equal(whole + sizeof size, part + sizeof size, half - sizeof size);
}

static abut_mesh *box(void) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    shape.segments = 1;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return mesh;
}

TEST(of_meshes) {
    abut_mesh *mesh = box();
    abut_bvh *bvh = NULL;
    abut_topology *topology = NULL;
    abut_normals *normals = NULL;
    abut_samples *samples = NULL;
    abut_field *field = NULL;
    abut_map *map = NULL;
    abut_self *self = NULL;
    abut_field_options options = abut_field_options_default();
    options.cells = 8;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_topology_create(mesh, &topology));
    assert_ok(abut_normals_create(topology, &normals));
    assert_ok(abut_samples_create(mesh, NULL, &samples));
    assert_ok(abut_field_create(mesh, &options, &field));
    assert_ok(abut_map_create(mesh, NULL, &map));
    assert_ok(abut_self_create(mesh, NULL, &self));
    check_getter(call_abut_bvh_get_info, bvh, sizeof(abut_bvh_info));
    check_getter(call_abut_sign_get_info, bvh, sizeof(abut_sign_info));
    assert_ok(abut_sign_prepare(bvh, NULL));
    check_getter(call_abut_sign_get_info, bvh, sizeof(abut_sign_info));
    check_getter(call_abut_topology_get_arrays, topology, sizeof(abut_topology_arrays));
    check_getter(call_abut_normals_get_arrays, normals, sizeof(abut_normals_arrays));
    check_getter(call_abut_samples_get_arrays, samples, sizeof(abut_samples_arrays));
    check_getter(call_abut_field_get_info, field, sizeof(abut_field_info));
    check_getter(call_abut_map_get_info, map, sizeof(abut_map_info));
    check_getter(call_abut_self_get_info, self, sizeof(abut_self_info));
    abut_self_destroy(self);
    abut_map_destroy(map);
    abut_field_destroy(field);
    abut_samples_destroy(samples);
    abut_normals_destroy(normals);
    abut_topology_destroy(topology);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

TEST(of_characters) {
    abut_character *character = NULL;
    abut_radial *radial = NULL;
    abut_character_figure_options options = abut_character_figure_options_default();
    abut_character_bone bone;
    abut_character_clip clip;
    abut_character_morph morph;
    abut_character_info info = abut_character_info_default();
    options.triangles = ABUT_CHARACTER_FIGURE_TRIANGLES_MIN;
    assert_ok(abut_character_create_figure(NULL, &options, &character));
    assert_ok(abut_radial_create(character, NULL, &radial));
    check_getter(call_abut_character_get_info, character, sizeof(abut_character_info));
    check_getter(call_abut_radial_get_info, radial, sizeof(abut_radial_info));
    check_getter(get_first_field, radial, sizeof(abut_radial_view));
    assert_ok(abut_character_get_info(character, &info));
    assert_ok(abut_character_get_bone(character, info.bone_count - 1, &bone));
    assert_ok(abut_character_get_clip(character, info.clip_count - 1, &clip));
    assert_refused("index is", abut_character_get_bone(character, info.bone_count, &bone));
    assert_refused("index is", abut_character_get_clip(character, info.clip_count, &clip));
    assert_refused("index is", abut_character_get_morph(character, info.morph_count, &morph));
    assert_refused("bone is null", abut_character_get_bone(character, 0, NULL));
    assert_refused("character is null", abut_character_get_clip(NULL, 0, &clip));
    abut_radial_view view = abut_radial_view_default();
    assert_refused("there are", abut_radial_get_field(radial, ABUT_NONE, &view));
    abut_radial_destroy(radial);
    abut_character_destroy(character);
}

TEST(of_worlds_and_pictures) {
    abut_mesh *mesh = box();
    abut_world *world = NULL;
    abut_picture *picture = NULL;
    assert_ok(abut_world_create(NULL, NULL, &world));
    for (int i = 0; i < 2; i++) {
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .collider.kind = ABUT_COLLIDER_MESH,
                                .collider.pose = {{0, 0, 0, 1}, {0, 0, 0}}};
        uint32_t id;
        item.collider.shape.mesh.mesh = mesh;
        assert_ok(abut_world_add(world, &item, &id));
    }
    check_getter(get_first_item, world, sizeof(abut_world_item_info));
    check_getter(get_first_pair, world, sizeof(abut_world_pair_info));
    assert_ok(abut_picture_create(NULL, NULL, &picture));
    check_getter(call_abut_picture_get_options, picture, sizeof(abut_picture_options));
    abut_picture_destroy(picture);
    abut_world_destroy(world);
    abut_mesh_destroy(mesh);
}

TEST(of_files) {
    char path[256];
    abut_mesh *mesh = box();
    abut_vec3 positions[26];
    abut_frames_writer *writer = NULL;
    abut_frames *frames = NULL;
    abut_scene *scene = NULL;
    assert_in_range(abut_mesh_vertex_count(mesh), 1, 26);
    snprintf(path, sizeof path, "%s/getters.abutm", ABUT_BINARY_DIR);
    assert_ok(abut_mesh_get_positions(mesh, positions));
    assert_ok(abut_frames_writer_create(&mesh, 1, path, NULL, &writer));
    assert_ok(abut_frames_writer_add(writer, positions, NULL));
    assert_ok(abut_frames_writer_finish(writer));
    assert_ok(abut_frames_open(NULL, path, &frames));
    check_getter(call_abut_frames_get_info, frames, sizeof(abut_frames_info));
    abut_frames_close(frames);
    remove(path);
    static const char text[] = "{\"meshes\": {\"cube\": {\"shape\": \"box\"}},"
                               " \"bodies\": [{\"name\": \"left\", \"mesh\": \"cube\"}]}";
    const abut_status status = abut_scene_read_memory(NULL, text, sizeof text - 1, NULL, &scene);
    if (status != ABUT_ERROR_UNSUPPORTED) { /* a build without yajl */
        assert_ok(status);
        check_getter(call_abut_scene_get_arrays, scene, sizeof(abut_scene_arrays));
    }
    abut_scene_destroy(scene);
    abut_mesh_destroy(mesh);
}
