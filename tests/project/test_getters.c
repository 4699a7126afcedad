/* The getters of all modules: abut_x_get_info(x, &info) and those for arrays and options. Also the
 * functions that fill a report or other result with a size.
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
GETTER(abut_cloth_get_info, abut_cloth, abut_cloth_info)
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

GETTER(abut_mesh_examine, abut_topology, abut_mesh_report)
GETTER(abut_character_get_report, abut_character, abut_character_report)

static abut_status measure_itself(const void *object, void *out) {
    const abut_collider body = abut_collider_from_bvh(object, abut_pose_identity());
    return abut_pair_measure(&body, &body, NULL, (abut_pair_measures *)out);
}

static abut_status measure_map(const void *object, void *out) {
    return abut_map_measure((const abut_map *)object, NULL, NULL, (abut_map_measures *)out);
}

static abut_status measure_depth(const void *object, void *out) {
    return abut_map_measure_depth((const abut_map *)object, 0, (abut_map_depth *)out);
}

static abut_status measure_hausdorff(const void *object, void *out) {
    return abut_pair_hausdorff(object, object, NULL, (abut_pair_hausdorff_result *)out);
}

static abut_mesh *radial_mesh;

static abut_status measure_radial(const void *object, void *out) {
    return abut_radial_measure((abut_radial *)(uintptr_t)object, radial_mesh, NULL,
                               (abut_radial_measures *)out);
}

static abut_status find_self(const void *object, void *out) {
    abut_self_step step = abut_self_step_default();
    abut_vec3 end[26] = {{0, 0, 0}};
    if (object)
        assert_ok(abut_mesh_get_positions(radial_mesh, end));
    step.start = step.end = abut_array_host(end);
    return abut_self_find((abut_self *)(uintptr_t)object, &step, NULL, (abut_self_result *)out);
}

static abut_status count_sweep(const void *object, void *out) {
    abut_impact_list none = {NULL, 0, 0};
    if (!out)
        return abut_set_error(ABUT_ERROR_ARGUMENT, "counts may be null: counts is null");
    return abut_sweep_find((abut_sweep *)(uintptr_t)object, ABUT_SWEEP_ALL, NULL, &none,
                           (abut_sweep_counts *)out);
}

static abut_status get_picture_item(const void *object, void *out) {
    return abut_picture_get_item((const abut_picture *)object, 0, (abut_picture_item *)out);
}

static abut_status get_energy(const void *object, void *out) {
    return abut_cloth_get_energy((abut_cloth *)(uintptr_t)object, (abut_cloth_energy *)out);
}

static abut_status get_material(const void *object, void *out) {
    return abut_cloth_get_material((const abut_cloth *)object, 0, (abut_cloth_material *)out);
}

enum { ROOM = 2048, UNTOUCHED = 0x5a };

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
    AUTO(mesh) mesh = box();
    AUTO(bvh) bvh = NULL;
    AUTO(topology) topology = NULL;
    AUTO(normals) normals = NULL;
    AUTO(samples) samples = NULL;
    AUTO(field) field = NULL;
    AUTO(map) map = NULL;
    AUTO(self) self = NULL;
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
    check_getter(call_abut_mesh_examine, topology, sizeof(abut_mesh_report));
    check_getter(measure_itself, bvh, sizeof(abut_pair_measures));
    check_getter(measure_hausdorff, bvh, sizeof(abut_pair_hausdorff_result));
    const abut_collider body = abut_collider_from_bvh(bvh, abut_pose_identity());
    assert_ok(abut_map_compute_distance(map, &body, 1, NULL));
    check_getter(measure_map, map, sizeof(abut_map_measures));
    check_getter(measure_depth, map, sizeof(abut_map_depth));
    abut_self_result first = abut_self_result_default();
    radial_mesh = mesh;
    assert_ok(find_self(self, &first)); /* the next steps change no set */
    check_getter(find_self, self, sizeof(abut_self_result));
    AUTO(sweep) sweep = NULL;
    abut_vec3 end[26];
    assert_ok(abut_sweep_create(&mesh, 1, NULL, &sweep));
    assert_ok(abut_mesh_get_positions(mesh, end));
    assert_ok(abut_sweep_set_positions(sweep, abut_array_host(NULL), abut_array_host(end)));
    check_getter(count_sweep, sweep, sizeof(abut_sweep_counts));
}

TEST(of_characters) {
    AUTO(character) character = NULL;
    AUTO(radial) radial = NULL;
    abut_character_figure_options options = abut_character_figure_options_default();
    abut_character_bone bone;
    abut_character_clip clip;
    abut_character_morph morph;
    abut_character_info info = abut_character_info_default();
    options.triangles = ABUT_CHARACTER_FIGURE_TRIANGLES_MIN;
    assert_ok(abut_character_create_figure(NULL, &options, &character));
    assert_ok(abut_radial_create(character, NULL, &radial));
    check_getter(call_abut_character_get_info, character, sizeof(abut_character_info));
    check_getter(call_abut_character_get_report, character, sizeof(abut_character_report));
    check_getter(call_abut_radial_get_info, radial, sizeof(abut_radial_info));
    radial_mesh = abut_character_rest_mesh(character);
    check_getter(measure_radial, radial, sizeof(abut_radial_measures));
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
}

TEST(of_cloth) {
    AUTO(mesh) mesh = box();
    AUTO(cloth) cloth = NULL;
    uint32_t sheet;
    assert_ok(abut_cloth_create(NULL, NULL, &cloth));
    assert_ok(abut_cloth_add_sheet(cloth, mesh, NULL, &sheet));
    check_getter(call_abut_cloth_get_info, cloth, sizeof(abut_cloth_info));
    check_getter(get_energy, cloth, sizeof(abut_cloth_energy));
    check_getter(get_material, cloth, sizeof(abut_cloth_material));
}

TEST(of_worlds_and_pictures) {
    AUTO(mesh) mesh = box();
    AUTO(world) world = NULL;
    AUTO(picture) picture = NULL;
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
    assert_ok(abut_picture_add_point(picture, (abut_vec3){1, 2, 3}, 4, (abut_colour){1, 1, 1, 1}));
    check_getter(get_picture_item, picture, sizeof(abut_picture_item));
}

TEST(of_files) {
    char path[256];
    AUTO(mesh) mesh = box();
    abut_vec3 positions[26];
    abut_frames_writer *writer = NULL;
    abut_frames *frames = NULL;
    AUTO(scene) scene = NULL;
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
    const abut_status status =
        abut_scene_read_memory(NULL, text, sizeof text - 1, NULL, NULL, &scene);
    if (status != ABUT_ERROR_UNSUPPORTED) { /* a build without yajl */
        assert_ok(status);
        check_getter(call_abut_scene_get_arrays, scene, sizeof(abut_scene_arrays));
    }
}

/* ---- results with lists ---- */

/* Sets the size of a result to values that the library does not know. */
#define CHECK_SIZES(result, call)                            \
    do {                                                     \
        const size_t all = sizeof(result);                   \
        (result).size = 0;                                   \
        assert_refused("size field of the result is", call); \
        (result).size = all + 1;                             \
        assert_refused("size field of the result is", call); \
        (result).size = all;                                 \
    } while (0)

TEST(of_lists) {
    AUTO(mesh) mesh = box();
    AUTO(bvh) bvh = NULL;
    AUTO(layers) layers = NULL;
    AUTO(world) world = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_layers_create(NULL, NULL, &layers));
    assert_ok(abut_world_create(NULL, NULL, &world));
    const abut_pose poses[2] = {{{0, 0, 0, 1}, {0, 0, 0}}, {{0, 0, 0, 1}, {0, 0, 0.9}}};
    abut_collider bodies[2];
    for (int i = 0; i < 2; i++) {
        bodies[i] = abut_collider_from_bvh(bvh, poses[i]);
        abut_layers_item solid = abut_layers_item_default();
        solid.collider = bodies[i];
        abut_world_item item = abut_world_item_default();
        uint32_t id;
        item.collider = bodies[i];
        assert_ok(abut_layers_add(layers, &solid, NULL));
        assert_ok(abut_world_add(world, &item, &id));
    }
    abut_patch patches[8];
    abut_contact contacts[64];
    abut_patches manifold = abut_patches_default();
    CHECK_SIZES(manifold, abut_contact_find(&bodies[0], &bodies[1], NULL, &manifold));
    assert_int_equal(ABUT_ERROR_BUFFER, abut_contact_find(&bodies[0], &bodies[1], NULL, &manifold));
    assert_true(manifold.patches.count == 1 && manifold.contacts.count == 4);
    assert_true(!manifold.is_verified && !manifold.reliability.reason);
    manifold.patches = (abut_patch_list){patches, 8, 0};
    assert_fails(ABUT_ERROR_BUFFER, "4 contacts, but the capacity of patches->contacts is 0",
                 abut_contact_find(&bodies[0], &bodies[1], NULL, &manifold));
    manifold.contacts = (abut_contact_list){NULL, 3, 0};
    assert_refused("the list of patches->contacts is null",
                   abut_contact_find(&bodies[0], &bodies[1], NULL, &manifold));
    manifold.contacts = (abut_contact_list){contacts, 64, 0};
    manifold.size = offsetof(abut_patches, reliability); /* an older, shorter struct */
    assert_ok(abut_contact_find(&bodies[0], &bodies[1], NULL, &manifold));
    assert_true(manifold.contacts.count == 4 && manifold.is_verified);
    assert_null(manifold.reliability.reason);

    abut_contacts found = abut_contacts_default();
    found.list = contacts;
    found.capacity = 64;
    CHECK_SIZES(found, abut_world_contacts(world, &found));
    found.size = offsetof(abut_contacts, reliability);
    assert_ok(abut_world_contacts(world, &found));
    assert_true(found.count == 4 && !found.reliability.reason);
    found.size = sizeof found;
    assert_ok(abut_world_contacts(world, &found));
    assert_non_null(found.reliability.reason);

    abut_layers_pair pairs[4];
    abut_layers_result result = abut_layers_result_default();
    CHECK_SIZES(result, abut_layers_find(layers, NULL, &result));
    assert_fails(ABUT_ERROR_BUFFER, "1 pairs, but the capacity of result->pairs is 0",
                 abut_layers_find(layers, NULL, &result));
    assert_true(result.pairs.count == 1 && result.fragments == 0);
    result.pairs = (abut_layers_pair_list){pairs, 4, 0};
    result.size = offsetof(abut_layers_result, tolerance);
    assert_ok(abut_layers_find(layers, NULL, &result));
    assert_true(result.fragments > 0 && result.tolerance == 0);
    result.hits = (abut_layers_hit_list){NULL, 1, 0};
    assert_refused("the list of result->hits is null", abut_layers_find(layers, NULL, &result));

    abut_world_impact list[4];
    abut_world_impacts impacts = abut_world_impacts_default();
    CHECK_SIZES(impacts, abut_world_sweep(world, NULL, abut_array_host(poses), 2, NULL, &impacts));
    assert_int_equal(ABUT_ERROR_BUFFER,
                     abut_world_sweep(world, NULL, abut_array_host(poses), 2, NULL, &impacts));
    assert_true(impacts.count == 1 && impacts.time == 0 && !impacts.reliability.reason);
    impacts.list = list;
    impacts.capacity = 4;
    assert_ok(abut_world_sweep(world, NULL, abut_array_host(poses), 2, NULL, &impacts));
    assert_true(impacts.count == 1 && impacts.reliability.reason);

    /* The size of the first object applies to all. */
    abut_pair_object objects[2] = {abut_pair_object_default(), abut_pair_object_default()};
    abut_pair_group group = abut_pair_group_default();
    bool any = false;
    objects[0].bvh = objects[1].bvh = bvh;
    group.objects = objects;
    group.object_count = 2;
    group.configuration_count = 1;
    assert_ok(abut_pair_group_any(&group, &any, NULL));
    assert_true(any);
    objects[0].size = 0;
    assert_refused("group->objects[0]: its size field is 0",
                   abut_pair_group_any(&group, &any, NULL));

    /* Reliabilities need a report with a size. */
    abut_mesh_report report;
    memset(&report, 0, sizeof report);
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE, abut_pair_reliability(&report).level);
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE, abut_self_reliability(&report).level);
    assert_int_equal(ABUT_RELIABILITY_UNRELIABLE,
                     abut_sign_reliability(&report, ABUT_SIGN_AUTO).level);
    assert_refused("size field of the result is 0", abut_pair_examine(bvh, NULL, &report));
}
