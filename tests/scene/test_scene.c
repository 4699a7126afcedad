/* Scenes: the content of a file is read completely, and invalid content is rejected with its
 * name. */
#include "apps/get.h"
#include "support/support.h"

#include <math.h>
#include <stdio.h>

static bool readable(void) {
    return strstr(abut_features(), "gltf") != NULL;
}

/* Text with ' for ", so that it can be read here. */
static abut_status read_scene(abut_context *context, const char *words, abut_scene **scene) {
    static char text[1 << 20];
    size_t bytes = strlen(words);
    assert_true(bytes < sizeof text);
    for (size_t i = 0; i < bytes; i++)
        text[i] = words[i] == '\'' ? '"' : words[i];
    abut_scene_options options = abut_scene_options_default();
    options.create_character = abut_character_create_named;
    return abut_scene_read_memory(context, text, bytes, NULL, &options, scene);
}

static void refused(const char *part, const char *words) {
    abut_scene *none = NULL;
    assert_fails(ABUT_ERROR_FORMAT, part, read_scene(NULL, words, &none));
    assert_null(none);
}

static const char whole[] =
    "{'about': 'two plates, a bolt',\n"
    " 'meshes': {'plate': {'shape': 'box', 'size': [2, 2, 0.5], 'segments': 1},\n"
    "            'bolt': {'shape': 'cylinder', 'radius': 0.25, 'height': 4, 'scale': 2,\n"
    "                     'segments': 12, 'rings': 2}},\n"
    " 'bodies': [{'name': 'low', 'mesh': 'plate', 'group': 'plates'},\n"
    "            {'name': 'high', 'mesh': 'plate', 'position': [0, 0, 0.5], 'group': 'plates'},\n"
    "            {'name': 'b\\u00f6lt', 'mesh': 'bolt', 'axis': [0, 0, 3], 'degrees': 90,\n"
    "             'group': 'bolts'},\n"
    "            {'mesh': {'shape': 'torus'}, 'rotation': [0, 0, 2, 0], 'position': [9, 8, 7]},\n"
    "            {'name': 'last', 'mesh': 'bolt', 'about': 'alone'}],\n"
    " 'ignore': [['plates', 'plates'], ['last', 'bolts'], ['#3', 'last'], ['last', '#3']]}\n";

TEST(a_whole_scene) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 1);
    abut_scene *scene = NULL;
    if (!readable()) {
        assert_int_equal(read_scene(context, whole, &scene), ABUT_ERROR_UNSUPPORTED);
        abut_context_destroy(context);
        return;
    }
    assert_ok(read_scene(context, whole, &scene));
    abut_scene_arrays it = get_scene_arrays(scene);
    assert_int_equal(it.body_count, 5);
    static const char *const names[] = {"low", "high", "b\xc3\xb6lt", "#3", "last"};
    for (uint32_t i = 0; i < 5; i++)
        assert_string_equal(get_scene_body(scene, i).name, names[i]);
    assert_ptr_equal(get_scene_body(scene, 0).mesh, get_scene_body(scene, 1).mesh);
    assert_ptr_equal(get_scene_body(scene, 2).mesh, get_scene_body(scene, 4).mesh);
    abut_box box = abut_mesh_bounds(get_scene_body(scene, 0).mesh);
    assert_true(box.hi.x == 1 && box.lo.y == -1 && box.hi.z == 0.25);
    box = abut_mesh_bounds(get_scene_body(scene, 2).mesh);
    assert_true(box.hi.z == 4 && fabs(box.hi.x - 0.5) < 1e-15);
    assert_true(get_scene_body(scene, 1).collider.pose.translation.z == 0.5 &&
                get_scene_body(scene, 1).collider.pose.rotation.w == 1);
    assert_true(fabs(get_scene_body(scene, 2).collider.pose.rotation.z - sqrt(0.5)) < 1e-15 &&
                fabs(get_scene_body(scene, 2).collider.pose.rotation.w - sqrt(0.5)) < 1e-15);
    assert_true(get_scene_body(scene, 3).collider.pose.rotation.z == 2 &&
                get_scene_body(scene, 3).collider.pose.translation.x == 9);
    assert_int_equal(it.group_count, 2);
    assert_string_equal(it.groups[0], "plates");
    assert_string_equal(it.groups[1], "bolts");
    assert_true(get_scene_body(scene, 0).group == 2 && get_scene_body(scene, 2).group == 4 &&
                get_scene_body(scene, 4).group == 1);
    assert_true(get_scene_body(scene, 0).mask == ~2u && get_scene_body(scene, 2).mask == ~0u);
    assert_int_equal(it.ignored_count, 2);
    assert_true(it.ignored[0].a == 2 && it.ignored[0].b == 4);
    assert_true(it.ignored[1].a == 3 && it.ignored[1].b == 4);
    for (uint32_t a = 0; a < 6; a++)
        for (uint32_t b = 0; b < 6; b++) {
            uint32_t lo = a < b ? a : b, hi = a < b ? b : a;
            bool tried = lo < hi && hi < 5 && !(lo == 0 && hi == 1) && !(lo == 2 && hi == 4) &&
                         !(lo == 3 && hi == 4);
            assert_int_equal(abut_scene_should_collide(scene, a, b), tried);
        }
    assert_false(abut_scene_should_collide(NULL, 0, 1));
    assert_int_equal(get_scene_arrays(NULL).body_count, 0);
    abut_scene_destroy(scene);
    abut_scene_destroy(NULL);
    abut_context_destroy(context);
    assert_int_equal(memory.live_count, 0);
}

#define PART_FILE "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"

TEST(meshes_in_files) {
    abut_scene *scene = NULL;
    if (!readable())
        return;
    test_file("part.off", PART_FILE, sizeof PART_FILE - 1);
    static const char text[] = "\xef\xbb\xbf{\"bodies\": [{\"mesh\": {\"file\": \"part.off\", "
                               "\"scale\": 10}}]}";
    const char *path = test_file("scene.json", text, sizeof text - 1);
    assert_ok(abut_scene_read(NULL, path, NULL, &scene));
    assert_true(abut_mesh_bounds(get_scene_body(scene, 0).mesh).hi.x == 10);
    abut_scene_destroy(scene);
    scene = NULL;
    assert_ok(
        abut_scene_read_memory(NULL, text, sizeof text - 1, path, NULL, &scene)); /* its folder */
    abut_scene_destroy(scene);
    scene = NULL;
    char absolute[300];
    snprintf(absolute, sizeof absolute, "{\"bodies\":[{\"mesh\":{\"file\":\"%s\"}}]}",
             test_path("part.off"));
    assert_ok(abut_scene_read_memory(NULL, absolute, strlen(absolute), "elsewhere", NULL, &scene));
    assert_string_equal(test_path("part.off"), get_scene_body(scene, 0).file);
    abut_scene_destroy(scene);
    scene = NULL;
    static const char missing[] = "{\"bodies\":[{\"mesh\":{\"file\":\"nothing.obj\"}}]}",
                      folder[] = "{\"bodies\":[{\"mesh\":{\"file\":\".\"}}]}",
                      broken[] = "{\"bodies\":[{\"mesh\":{\"file\":\"scene.json\"}}]}";
    assert_fails(ABUT_ERROR_FILE, "scene.json: bodies[0]: ",
                 abut_scene_read_memory(NULL, missing, sizeof missing - 1, path, NULL, &scene));
    assert_fails(ABUT_ERROR_FILE, "nothing.obj: cannot be opened",
                 abut_scene_read_memory(NULL, missing, sizeof missing - 1, path, NULL, &scene));
    assert_fails(ABUT_ERROR_FORMAT, "'.' is not a regular file",
                 abut_scene_read_memory(NULL, folder, sizeof folder - 1, path, NULL, &scene));
    assert_fails(ABUT_ERROR_FORMAT, "scene.json",
                 abut_scene_read_memory(NULL, broken, sizeof broken - 1, path, NULL, &scene));
    assert_fails(ABUT_ERROR_FILE, "none.json",
                 abut_scene_read(NULL, test_path("none.json"), NULL, &scene));
    assert_refused("path is null", abut_scene_read(NULL, NULL, NULL, &scene));
    assert_refused("scene is null", abut_scene_read(NULL, path, NULL, NULL));
    assert_refused("data is null", abut_scene_read_memory(NULL, NULL, 1, NULL, NULL, &scene));
}

#define MESH(members) "{'meshes': {'y': {" members "}}, 'bodies': []}"
#define BODY(members) "{'bodies': [{'mesh': {'shape': 'box', 'segments': 1}, " members "}]}"
#define TWO(rest)                                                   \
    "{'meshes': {'m': {'shape': 'box', 'segments': 1}}, 'bodies': " \
    "[{'mesh': 'm', 'name': 'a', 'group': 'g'}, {'mesh': 'm', 'name': " rest "}"

/* A figure in its walk is the mesh that its bones make; others have none. Where all is slow the
 * figure of the scene is its own referee, and stands there once. */
TEST(characters_and_methods) {
    abut_scene *scene = NULL;
    if (!readable())
        return;
#define WALKS                                                                     \
    "{'bodies': [{'mesh': {'figure': 'mannequin', 'clip': 'walk', 'time': 0.3}}," \
    " {'mesh': {'shape': 'box'}, 'method': 'map', 'margin': 0.25}"
#define STANDS ", {'mesh': {'figure': 'mannequin'}, 'position': [1, 0, 0]}"
    assert_ok(read_scene(NULL, test_brief() ? WALKS "]}" : WALKS STANDS "]}", &scene));
    const abut_scene_arrays it = get_scene_arrays(scene);
    abut_character *made = NULL;
    abut_mesh *mesh = NULL;
    abut_character_matrix bones[256];
    abut_character_pose_options pose = abut_character_pose_options_default();
    if (!test_brief())
        assert_ok(abut_character_create_figure(NULL, NULL, &made));
    const abut_character *figure = made ? made : get_scene_body(scene, 0).character;
    assert_true(get_character_info(figure).bone_count <= 256);
    pose.time = 0.3;
    for (uint32_t i = 0; i < it.body_count; i += 2) {
        pose.clip = i ? ABUT_NONE : 0;
        assert_string_equal(get_character_clip(figure, 0).name, "walk");
        assert_ok(abut_character_pose(figure, &pose, bones));
        assert_ok(abut_character_mesh(figure, bones, ABUT_CHARACTER_SKINNING_LINEAR, &mesh));
        const abut_scene_body each = get_scene_body(scene, i), *body = &each;
        assert_non_null(body->character);
        assert_memory_equal(body->bones, bones,
                            get_character_info(figure).bone_count * sizeof *bones);
        assert_memory_equal(abut_mesh_local_positions(body->mesh), abut_mesh_local_positions(mesh),
                            abut_mesh_vertex_count(mesh) * sizeof(abut_vec3));
        abut_mesh_destroy(mesh);
    }
    assert_null(get_scene_body(scene, 0).method);
    assert_string_equal(get_scene_body(scene, 1).method, "map");
    assert_true(get_scene_body(scene, 0).margin == 0 && get_scene_body(scene, 1).margin == 0.25);
    assert_null(get_scene_body(scene, 1).character);
    assert_true(test_brief() || get_scene_body(scene, 2).collider.pose.translation.x == 1);
    abut_character_destroy(made);
    abut_scene_destroy(scene);
}

/* A sheet with one pin: a garment that takes no time. */
static abut_status create_patch(void *user, abut_context *context, const abut_character *wearer,
                                const char *name, uint32_t triangles, double ease, abut_mesh **mesh,
                                uint32_t **pins, uint32_t *pin_count) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    (void)user;
    shape.segments = shape.rings = 1;
    assert_non_null(wearer);
    if (strcmp(name, "patch") != 0)
        return abut_set_error(ABUT_ERROR_FORMAT, "there is no such garment");
    assert_int_equal(triangles, 77);
    assert_true(ease == 0.03125);
    *pins = abut_context_allocate(context, 1, sizeof **pins);
    if (!*pins)
        return ABUT_ERROR_MEMORY;
    **pins = 3;
    *pin_count = 1;
    return abut_shape_create(context, &shape, mesh);
}

TEST(motion) {
    abut_scene *scene = NULL;
    if (!readable())
        return;
    assert_ok(read_scene(NULL,
                         "{'up': 'y', 'wind': [1, 0, 2], 'drag': 0.5, 'bodies': ["
                         "{'mesh': {'shape': 'sheet'}, 'solid': true, 'friction': 0.25},"
                         "{'name': 'die', 'mesh': {'shape': 'box', 'size': [1, 2, 3]}, 'mass': 12,"
                         " 'position': [0, 4, 0], 'velocity': [1, 2, 3], 'spin': [4, 5, 6],"
                         " 'bounce': 0.75},"
                         "{'name': 'wheel', 'mesh': {'shape': 'torus'}, 'spin': [0, 0, 2],"
                         " 'velocity': [1, 0, 0], 'position': [0, 0, 1]},"
                         "{'mesh': {'shape': 'box', 'size': 2, 'segments': 1}, 'density': 3},"
                         "{'mesh': {'shape': 'sheet', 'size': [1, 1, 0], 'segments': 2,"
                         " 'rings': 2}, 'position': [0, 9, 0], 'cloth': {'stretch': 100,"
                         " 'bend': 2e-4, 'density': 0.3, 'thickness': 0.01, 'friction': 0.2,"
                         " 'pressure': -1}, 'pins': [8, 2]},"
                         "{'mesh': {'shape': 'sheet', 'size': [1, 1, 0], 'segments': 2,"
                         " 'rings': 2}, 'cloth': {}, 'pins': {'box': [[1, 1, -1], [-1, 0.4, 1]],"
                         " 'to': 'die', 'stiffness': 50}}]}",
                         &scene));
    const abut_scene_arrays it = get_scene_arrays(scene);
    assert_true(it.up.y == 1 && it.up.z == 0 && it.gravity.y == -9.81 && it.gravity.z == 0);
    assert_true(it.wind.x == 1 && it.wind.z == 2 && it.drag == 0.5);
    abut_scene_body body = get_scene_body(scene, 0);
    assert_true(body.friction == 0.25 && body.bounce == 0 && body.mass == 0 && !body.cloth);
    assert_true(body.pin_body == ABUT_NONE && body.clip == ABUT_NONE);
    body = get_scene_body(scene, 1);
    assert_true(fabs(body.mass - 12) < 1e-12 && body.friction == 0.5 && body.bounce == 0.75);
    assert_true(body.velocity.y == 2 && body.spin.z == 6 && fabs(body.centre.y) < 1e-12);
    for (int k = 0; k < 3; k++) /* a box: m (b^2 + c^2) / 12 */
        assert_true(fabs(body.inertia[k] - (k == 0 ? 13 : k == 1 ? 10 : 5)) < 1e-9);
    assert_true(fabs(body.inertia[3]) < 1e-12);
    body = get_scene_body(scene, 3);
    assert_true(fabs(body.mass - 24) < 1e-12);
    body = get_scene_body(scene, 4);
    assert_true(body.cloth && body.cloth->stretch == 100 && body.cloth->bend == 2e-4 &&
                body.cloth->density == 0.3 && body.cloth->thickness == 0.01 &&
                body.cloth->friction == 0.2 && body.cloth->pressure == -1 &&
                body.cloth->shear == 0);
    assert_int_equal(body.pin_count, 2);
    assert_true(body.pins[0] == 2 && body.pins[1] == 8 && body.pin_body == ABUT_NONE);
    body = get_scene_body(scene, 5);
    assert_int_equal(body.pin_count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(abut_mesh_local_positions(body.mesh)[body.pins[i]].y > 0.4);
    assert_true(body.pin_body == 1 && body.pin_stiffness == 50);

    abut_pose pose = abut_pose_identity();
    assert_ok(abut_scene_pose_body(scene, 2, 0.5, &pose, NULL));
    assert_true(pose.translation.x == 0.5 && pose.translation.z == 1);
    assert_true(fabs(pose.rotation.z - sin(0.5)) < 1e-14 &&
                fabs(pose.rotation.w - cos(0.5)) < 1e-14);
    assert_ok(abut_scene_pose_body(scene, 0, 1e9, &pose, NULL));
    assert_true(pose.translation.x == 0 && pose.rotation.w == 1);
    assert_refused("body 1 has a mass", abut_scene_pose_body(scene, 1, 0, &pose, NULL));
    assert_refused("body 4 is cloth", abut_scene_pose_body(scene, 4, 0, &pose, NULL));
    assert_refused("index is 6; it must be less than 6",
                   abut_scene_pose_body(scene, 6, 0, &pose, NULL));
    assert_refused("seconds is -1", abut_scene_pose_body(scene, 0, -1, &pose, NULL));
    assert_refused("the pose of the body", abut_scene_pose_body(scene, 2, 1e300, &pose, NULL));
    assert_refused("scene is null", abut_scene_pose_body(NULL, 0, 0, &pose, NULL));
    assert_refused("pose is null", abut_scene_pose_body(scene, 0, 0, NULL, NULL));
    assert_true(pose.rotation.w == 1);
    abut_scene_destroy(scene);
}

/* Seams by indices, and by boxes: each vertex of the longer edge has the nearest of the other one
 * at the start. */
TEST(seams) {
    abut_scene *scene = NULL;
    if (!readable())
        return;
    assert_ok(read_scene(
        NULL,
        "{'bodies': [{'mesh': {'shape': 'box'}},"
        "{'name': 'b', 'mesh': {'shape': 'sheet', 'size': 1, 'segments': 2, 'rings': 2},"
        " 'position': [3, 0, 0], 'cloth': {}},"
        "{'name': 'a', 'mesh': {'shape': 'sheet', 'size': 1, 'segments': 3, 'rings': 3},"
        " 'position': [0, 0, 0], 'axis': [0, 0, 1], 'degrees': 180, 'cloth': {}, 'seams': ["
        "{'vertices': [5, 5, 2], 'to_vertices': [1, 0, 7], 'length': 0.25, 'speed': 2},"
        "{'box': [[-0.5, 1, 0], [-0.5, -1, 0]], 'to': 'b', 'to_box': [[-0.5, -1, 0], [-0.5, 1, 0]],"
        " 'stiffness': 9}]}]}",
        &scene));
    const abut_scene_arrays it = get_scene_arrays(scene);
    assert_int_equal(it.seam_count, 7);
    const abut_scene_body a = get_scene_body(scene, 2), b = get_scene_body(scene, 1);
    uint32_t boxed = 0, used[9] = {0};
    for (uint64_t i = 0; i < it.seam_count; i++) {
        const abut_cloth_seam *s = &it.seams[i];
        if (s->sheet_a != 1)
            continue;
        /* rotated by 180 degrees, the left edge of a is opposite the left edge of b */
        const abut_vec3 p = abut_mesh_local_positions(b.mesh)[s->vertex_a],
                        q = abut_mesh_local_positions(a.mesh)[s->vertex_b];
        assert_true(s->sheet_b == 2 && s->stiffness == 9 && s->length == 0 && s->speed == 0);
        assert_true(p.x == -0.5 && q.x == -0.5 && fabs(p.y + q.y) < 0.2);
        used[s->vertex_a]++;
        boxed++;
    }
    assert_int_equal(boxed, 4);
    for (uint32_t v = 0; v < 9; v++)
        assert_true((used[v] > 0) == (abut_mesh_local_positions(b.mesh)[v].x == -0.5));
    const abut_cloth_seam *own = it.seams + 4;
    assert_true(own[0].sheet_a == 2 && own[0].sheet_b == 2 && own[0].vertex_a == 0 &&
                own[0].vertex_b == 5 && own[0].length == 0.25 && own[0].speed == 2);
    assert_true(own[1].vertex_a == 1 && own[1].vertex_b == 5);
    assert_true(own[2].vertex_a == 2 && own[2].vertex_b == 7 && own[2].stiffness == 0);
    abut_scene_destroy(scene);
}

/* A copy of a figure that is created once, since that takes a second. */
static abut_status copy_figure(void *user, abut_context *context, const char *name,
                               abut_character **character) {
    abut_character **figure = user;
    if (!*figure)
        assert_ok(abut_character_create_named(NULL, context, name, figure));
    return abut_character_weld(*figure, character);
}

/* A character accelerates from its rest pose into the clip, and the garment is where it stands. */
TEST(characters_in_time) {
    abut_scene *scene = NULL;
    abut_pose pose;
    abut_character_matrix bones[256], walk[256], rest[256];
    if (!readable())
        return;
    static const char text[] =
        "{\"bodies\": [{\"name\": \"she\", \"mesh\": {\"figure\": \"ogre\", "
        "\"clip\": \"walk\", \"time\": 0.25, \"speed\": 2, \"blend\": 1}, \"self\": true, "
        "\"position\": [3, 2, 1], \"velocity\": [0, 0, 1.5]}, {\"mesh\": {\"garment\": "
        "\"patch\", \"on\": \"she\", \"triangles\": 77, \"ease\": 0.03125}, \"cloth\": {}}]}";
    abut_scene_options options = abut_scene_options_default();
    abut_character *ogre = NULL;
    options.create_character = copy_figure;
    options.user = &ogre;
    options.create_garment = create_patch;
    assert_ok(abut_scene_read_memory(NULL, text, sizeof text - 1, NULL, &options, &scene));
    const abut_scene_body she = get_scene_body(scene, 0), patch = get_scene_body(scene, 1);
    const size_t bytes = get_character_info(she.character).bone_count * sizeof *bones;
    assert_true(bytes <= sizeof bones);
    assert_true(she.self_collides && she.clip == 0 && she.clip_time == 0.25 &&
                she.clip_speed == 2 && she.clip_blend == 1);
    assert_true(patch.collider.pose.translation.x == 3 && patch.pin_count == 1 &&
                patch.pins[0] == 3 && patch.pin_body == 0 && patch.pin_stiffness == 50);
    abut_character_pose_options at = abut_character_pose_options_default();
    at.clip = ABUT_NONE;
    assert_ok(abut_character_pose(she.character, &at, rest));
    assert_memory_equal(she.bones, rest, bytes);
    assert_ok(abut_scene_pose_body(scene, 0, 0, &pose, bones));
    assert_memory_equal(bones, rest, bytes);
    assert_ok(abut_scene_pose_body(scene, 0, 2, &pose, bones));
    assert_true(pose.translation.z == 1 + 1.5 * 1.5); /* the first second counts as a half */
    at.clip = 0;
    at.time = 0.25 + 2 * 1.5;
    assert_ok(abut_character_pose(she.character, &at, walk));
    assert_memory_equal(bones, walk, bytes);
    abut_scene_destroy(scene);
    options.create_garment = NULL;
    assert_fails(ABUT_ERROR_FORMAT, "requires abut_scene_options.create_garment",
                 abut_scene_read_memory(NULL, text, sizeof text - 1, NULL, &options, &scene));
    options.create_garment = create_patch;
    static const char other[] =
        "{\"bodies\": [{\"name\": \"o\", \"mesh\": {\"figure\": \"ogre\"}}, "
        "{\"mesh\": {\"garment\": \"hat\", \"on\": \"o\"}, \"cloth\": {}}]}";
    assert_fails(ABUT_ERROR_FORMAT, "bodies[1]: there is no such garment",
                 abut_scene_read_memory(NULL, other, sizeof other - 1, NULL, &options, &scene));
    abut_character_destroy(ogre);
}

static uint32_t find_bone(const abut_character *character, const char *name) {
    const uint32_t count = get_character_info(character).bone_count;
    uint32_t i = 0;
    while (i < count && strcmp(get_character_bone(character, i).name, name) != 0)
        i++;
    assert_true(i < count);
    return i;
}

/* A character without its head and a hand, with the same bones and clips. */
TEST(characters_without_parts) {
    abut_scene *scene = NULL;
    abut_character *ogre = NULL, *reduced = NULL;
    abut_scene_options options = abut_scene_options_default();
    if (!readable())
        return;
    options.create_character = copy_figure;
    options.user = &ogre;
#define OGRE(without) "{\"bodies\": [{\"mesh\": {\"figure\": \"ogre\", \"without\": " without "}}]}"
    static const char text[] = OGRE("[\"Head\", \"LeftHand\", \"Head\"]");
    assert_ok(abut_scene_read_memory(NULL, text, sizeof text - 1, NULL, &options, &scene));
    const abut_scene_body body = get_scene_body(scene, 0);
    const uint32_t bones[2] = {find_bone(ogre, "LeftHand"), find_bone(ogre, "Head")};
    assert_ok(abut_character_remove_bones(ogre, bones, 2, &reduced));
    const abut_character_info all = get_character_info(ogre),
                              expected = get_character_info(reduced),
                              info = get_character_info(body.character);
    assert_int_equal(expected.triangle_count, info.triangle_count);
    assert_int_equal(expected.vertex_count, abut_mesh_vertex_count(body.mesh));
    assert_int_equal(all.bone_count, info.bone_count);
    assert_int_equal(all.clip_count, info.clip_count);
    assert_true(info.triangle_count < all.triangle_count && body.clip == ABUT_NONE);
    abut_character_destroy(reduced);
    abut_scene_destroy(scene);
    static const struct {
        const char *text, *message;
    } bad[] = {{OGRE("[\"Hat\"]"), "bodies[0]: 'without': there is no bone 'Hat'"},
               {OGRE("[3]"), "bodies[0]: 'without' must be a list of names of bones"},
               {OGRE("[\"Hips\"]"), "bodies[0]: 'without' leaves no triangle"},
               {OGRE("\"Head\""), "'without' is a string; it must be a list"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_fails(ABUT_ERROR_FORMAT, bad[i].message,
                     abut_scene_read_memory(NULL, bad[i].text, strlen(bad[i].text), NULL, &options,
                                            &scene));
        const char *place = strstr(abut_last_error(), "bodies[0]: ");
        assert_null(place ? strstr(place + 1, "bodies[0]: ") : "no place"); /* named once */
    }
    abut_character_destroy(ogre);
}

TEST(solids) {
    abut_scene *scene = NULL;
    if (!readable())
        return;
    assert_ok(read_scene(
        NULL,
        "{'meshes': {'post': {'shape': 'cylinder', 'radius': 0.25, 'height': 1, 'scale': 2},"
        "            'pill': {'shape': 'capsule', 'radius': 0.5, 'height': 3}},"
        " 'bodies': [{'position': [0, 0, 0], 'mesh': {'shape': 'sheet'}, 'solid': true}, "
        "{'position': [1, 0, 0], 'mesh': 'post', 'solid': true},"
        " {'position': [2, 0, 0], 'mesh': 'post', 'solid': false}, {'position': [3, 0, 0], 'mesh': "
        "'post'}, {'position': [4, 0, 0], 'mesh': 'pill', 'solid': true},"
        " {'position': [5, 0, 0], 'mesh': {'shape': 'box', 'size': [2, 4, 6]}, 'solid': true},"
        " {'position': [6, 0, 0], 'mesh': {'shape': 'icosphere', 'radius': 7}, 'solid': true},"
        " {'position': [7, 0, 0], 'mesh': {'shape': 'uvsphere', 'radius': 8}, 'solid': true},"
        " {'position': [8, 0, 0], 'mesh': {'shape': 'cone'}, 'solid': true}]}",
        &scene));
    static const abut_collider_kind kinds[9] = {ABUT_COLLIDER_PLANE,   ABUT_COLLIDER_CYLINDER,
                                                ABUT_COLLIDER_MESH,    ABUT_COLLIDER_MESH,
                                                ABUT_COLLIDER_CAPSULE, ABUT_COLLIDER_BOX,
                                                ABUT_COLLIDER_SPHERE,  ABUT_COLLIDER_SPHERE,
                                                ABUT_COLLIDER_HULL};
    abut_collider c[9];
    abut_world *world;
    assert_ok(abut_world_create(NULL, NULL, &world));
    for (uint32_t i = 0; i < 9; i++) {
        const abut_scene_body body = get_scene_body(scene, i);
        abut_world_item item = abut_world_item_default();
        uint32_t id;
        c[i] = body.collider;
        assert_non_null(body.mesh);
        assert_int_equal(c[i].kind, kinds[i]);
        assert_true(c[i].pose.translation.x == i);
        if (kinds[i] == ABUT_COLLIDER_MESH)
            assert_ptr_equal(c[i].shape.mesh.mesh, body.mesh);
        item.collider = c[i]; /* without further code */
        item.motion = kinds[i] == ABUT_COLLIDER_PLANE ? ABUT_WORLD_STATIC : ABUT_WORLD_DYNAMIC;
        assert_ok(abut_world_add(world, &item, &id));
    }
    abut_world_destroy(world);
    assert_true(c[0].shape.plane.normal.z == 1 && c[0].shape.plane.offset == 0);
    const abut_cylinder *post = &c[1].shape.cylinder; /* it is scaled */
    assert_true(post->radius == 0.5 && post->end[0].z == -1 && post->end[1].z == 1);
    const abut_capsule *pill = &c[4].shape.capsule;
    assert_true(pill->radius == 0.5 && pill->end[0].z == -1.5 && pill->end[1].z == 1.5);
    const abut_vec3 half = c[5].shape.half;
    assert_true(half.x == 1 && half.y == 2 && half.z == 3);
    assert_true(c[6].shape.sphere.radius == 7 && c[7].shape.sphere.radius == 8);
    abut_scene_body kept = abut_scene_body_default();
    kept.group = 77;
    assert_refused("index is 9; it must be less than 9", abut_scene_get_body(scene, 9, &kept));
    assert_refused("scene is null", abut_scene_get_body(NULL, 0, &kept));
    assert_refused("body is null", abut_scene_get_body(scene, 0, NULL));
    kept.size = 0;
    assert_refused("size", abut_scene_get_body(scene, 0, &kept));
    assert_int_equal(kept.group, 77);
    abut_scene_destroy(scene);
}

#define SEAM(members) BODY("'cloth': {}, 'seams': [{" members "}]")

TEST(what_is_refused) {
    if (!readable())
        return;
    refused("is empty", "");
    refused("invalid JSON", "{");
    refused("must be an object", "[]");
    refused("needs 'bodies'", "{}");
    refused("no member 'boddies'; allowed are about, meshes, bodies, ignore, up",
            "{'boddies': []}");
    refused("'bodies' occurs twice", "{'bodies': [], 'bodies': []}");
    refused("'bodies' is an object; it must be a list", "{'bodies': {}}");
    refused("bodies[0]: it must be an object", "{'bodies': [1]}");
    refused("bodies[0]: it has no 'mesh'", "{'bodies': [{}]}");
    refused("'mesh' is a number; it must be a string or an object", "{'bodies': [{'mesh': 3}]}");
    refused("bodies[1]: there is no mesh 'x'",
            "{'meshes': {'y': {'shape': 'box'}}, 'bodies': [{'mesh': 'y'}, {'mesh': 'x'}]}");

    refused("meshes.y: it needs one of 'file', 'shape', 'figure' and 'garment'", MESH(""));
    refused("meshes.y: it must be an object", "{'meshes': {'y': []}, 'bodies': []}");
    refused("two meshes with the name 'y'",
            "{'meshes': {'y': {'shape': 'box'}, 'y': {'shape': 'box'}}, 'bodies': []}");
    refused("no shape 'sphear'", MESH("'shape': 'sphear'"));
    refused("a box has no 'radius'", MESH("'shape': 'box', 'radius': 1"));
    refused("'radius' is -1; it must be greater than 0", MESH("'shape': 'torus', 'radius': -1"));
    refused("meshes.y: abut_shape_create", MESH("'shape': 'torus', 'radius': 1, 'radius2': 2"));
    refused("'size' must be greater than 0 along y", MESH("'shape': 'box', 'size': [1, 0, 1]"));
    refused("'size' must be a list of 3 numbers", MESH("'shape': 'box', 'size': [1, [], 1]"));
    refused("'segments' is 129", MESH("'shape': 'box', 'segments': 129"));
    refused("'segments' is 1.5", MESH("'shape': 'box', 'segments': 1.5"));
    refused("'radius' is only allowed with 'shape'", MESH("'file': 'a.obj', 'radius': 1"));
    refused("has no folder", MESH("'file': 'a.obj'"));
    refused("'file' must be a path", MESH("'file': ''"));
    refused("too large", MESH("'shape': 'box', 'scale': 1e300"));
    refused("one of 'file', 'shape', 'figure' and 'garment'",
            MESH("'shape': 'box', 'figure': 'ogre'"));
    refused("meshes.y: there is no figure 'orge'", MESH("'figure': 'orge'"));
    refused("meshes.y: there is no clip 'wlak' among the 3",
            MESH("'figure': 'mannequin', 'clip': 'wlak'"));
    refused("'clip' is only allowed with 'figure'", MESH("'shape': 'box', 'clip': 'walk'"));
    refused("'scale' is not allowed for characters", MESH("'figure': 'ogre', 'scale': 2"));
    refused("'rings' is only allowed with 'shape'", MESH("'figure': 'ogre', 'rings': 2"));

    refused("bodies[0]: 'position' must be a list of 3 numbers", BODY("'position': [1, 2]"));
    refused("'position' must be a list of 3 numbers", BODY("'position': [1, 2, '3']"));
    refused("'position' is too far from", BODY("'position': [1e300, 0, 0]"));
    refused("beyond the range of double", BODY("'position': [1e999, 0, 0]"));
    refused("'rotation' must not be all 0", BODY("'rotation': [0, 0, 0, 0]"));
    refused("'axis' must not be all 0", BODY("'axis': [0, 0, 0], 'degrees': 3"));
    refused("must be given together", BODY("'axis': [0, 0, 1]"));
    refused("not both", BODY("'rotation': [0, 0, 0, 1], 'axis': [0, 0, 1], 'degrees': 3"));
    refused("'name' must have 1 to 200 bytes", BODY("'name': ''"));
    refused("control character", BODY("'name': 'a\\u0000b'"));
    refused("begins with #", BODY("'name': '#0'"));
    refused("no member 'naem'", BODY("'naem': 'x'"));
    refused("'margin' is -1; it must be", BODY("'margin': -1"));
    refused("'margin' is 1e+99; it must be", BODY("'margin': 1e99"));
    refused("'margin' is a string; it must be a number", BODY("'margin': 'wide'"));
    refused("'method' is 'fast'; it must be", BODY("'method': 'fast'"));
    refused("'solid' is a number; it must be true or false", BODY("'solid': 1"));
    refused("'method' is not allowed for a 'solid'", BODY("'solid': true, 'method': 'exact'"));

    refused("'up' is 'x'; it must be y or z", "{'up': 'x', 'bodies': []}");
    refused("'gravity' must be a list of 3 numbers", "{'gravity': [1], 'bodies': []}");
    refused("'wind' has the number 1e+07", "{'wind': [1e7, 0, 0], 'bodies': []}");
    refused("'drag' is -1; it must be from 0", "{'drag': -1, 'bodies': []}");
    refused("'mass' is 0; it must be greater than 0", BODY("'mass': 0"));
    refused("'mass' is 1e+31; it must be from 0 to 1e+30", BODY("'mass': 1e31"));
    refused("give 'mass' or 'density', not both", BODY("'mass': 1, 'density': 1"));
    refused("'velocity' must be a list of 3 numbers", BODY("'velocity': [1, 2]"));
    refused("'spin' has the number -1e+07", BODY("'spin': [0, 0, -1e7]"));
    refused("'friction' is -1", BODY("'friction': -1"));
    refused("'bounce' is 2; it must be from 0 to 1", BODY("'bounce': 2"));
    refused("'self' is only allowed for characters", BODY("'self': true"));
    refused("'pins' is only allowed with 'cloth'", BODY("'pins': [1]"));
    refused("'seams' is only allowed with 'cloth'", BODY("'seams': []"));
    refused("bodies[0]: seams[0]: it must be an object", BODY("'cloth': {}, 'seams': [1]"));
    refused("no member 'lenght'", SEAM("'lenght': 1"));
    refused("needs either 'vertices' and 'to_vertices', or", SEAM("'vertices': [1]"));
    refused("needs either 'vertices' and 'to_vertices', or", SEAM("'to_box': []"));
    refused("needs either 'vertices' and 'to_vertices', or",
            SEAM("'box': [], 'to_box': [], 'vertices': [], 'to_vertices': []"));
    refused("needs either 'vertices' and 'to_vertices', or",
            SEAM("'box': [], 'to_box': [], 'vertices': []"));
    refused("'vertices' has 2 entries, and 'to_vertices' 1",
            SEAM("'vertices': [1, 2], 'to_vertices': [3]"));
    refused("'to_vertices' must be a list of indices of vertices, from 0 to 7",
            SEAM("'vertices': [1], 'to_vertices': [8]"));
    refused("'to': there is no body 'x'", SEAM("'to': 'x'"));
    refused("'to': 'b' is not cloth",
            TWO("'b'}, {'mesh': {'shape': 'sheet'}, 'cloth': {}, 'seams': [{'to': 'b'}]}]"));
    refused("'length' is -1", SEAM("'length': -1"));
    refused("'stiffness' is -1", SEAM("'stiffness': -1"));
    refused("'speed' is -1", SEAM("'speed': -1"));
    refused("'to_box' must be a list of two corners",
            SEAM("'box': [[-9, -9, -9], [9, 9, 9]], 'to_box': []"));
    refused("'box' contains no vertex",
            SEAM("'box': [[8, 8, 8], [9, 9, 9]], 'to_box': [[8, 8, 8], [9, 9, 9]]"));
    refused("vertex 0 is sewn to itself",
            SEAM("'box': [[-9, -9, -9], [9, 9, 9]], 'to_box': [[-9, -9, -9], [9, 9, 9]]"));
    refused("vertex 1 of bodies[0] and vertex 2 of bodies[0] are sewn twice",
            SEAM("'vertices': [1, 2], 'to_vertices': [2, 1]"));
    refused("'without' is only allowed with 'figure'", MESH("'shape': 'box', 'without': []"));
    refused("'scale' is not allowed", MESH("'figure': 'ogre', 'without': [], 'scale': 2"));
    refused("'cloth' is true or false; it must be an object", BODY("'cloth': true"));
    refused("no member 'strech'", BODY("'cloth': {'strech': 1}"));
    refused("'stretch' is -1; it must be from 0", BODY("'cloth': {'stretch': -1}"));
    refused("'mass' is not allowed for cloth", BODY("'cloth': {}, 'mass': 1"));
    refused("'velocity' is not allowed for cloth", BODY("'cloth': {}, 'velocity': [1, 0, 0]"));
    refused("'cloth' is not allowed for a 'solid'", BODY("'cloth': {}, 'solid': true"));
    refused("from 0 to 7", BODY("'cloth': {}, 'pins': [8]"));
    refused("from 0 to 7", BODY("'cloth': {}, 'pins': [0.5]"));
    refused("from 0 to 7", BODY("'cloth': {}, 'pins': ['a']"));
    refused("'pins' has the vertex 3 twice", BODY("'cloth': {}, 'pins': [3, 1, 3]"));
    refused("more entries than the mesh has vertices",
            BODY("'cloth': {}, 'pins': [0, 0, 0, 0, 0, 0, 0, 0, 0]"));
    refused("'pins' needs either 'vertices' or 'box'", BODY("'cloth': {}, 'pins': {}"));
    refused("'pins' needs either 'vertices' or 'box'",
            BODY("'cloth': {}, 'pins': {'vertices': [1], 'box': [[0, 0, 0], [1, 1, 1]]}"));
    refused("'box' must be a list of two corners", BODY("'cloth': {}, 'pins': {'box': [[], 1]}"));
    refused("'box' must be a list of 3 numbers", BODY("'cloth': {}, 'pins': {'box': [[], []]}"));
    refused("'box' contains no vertex",
            BODY("'cloth': {}, 'pins': {'box': [[8, 8, 8], [9, 9, 9]]}"));
    refused("'to': there is no body 'x'",
            BODY("'cloth': {}, 'pins': {'vertices': [1], 'to': 'x'}"));
    refused("'to': 'a' is cloth",
            BODY("'name': 'a', 'cloth': {}, 'pins': {'vertices': [1], 'to': 'a'}"));
    refused("'stiffness' is -1", BODY("'cloth': {}, 'pins': {'vertices': [1], 'stiffness': -1}"));
    refused("a plane, which no force moves",
            "{'bodies': [{'mesh': {'shape': 'sheet'}, 'solid': true, 'mass': 1}]}");
    refused("a plane does not move",
            "{'bodies': [{'mesh': {'shape': 'sheet'}, 'solid': true, 'spin': [1, 0, 0]}]}");
    refused("'density' needs a closed mesh",
            "{'bodies': [{'mesh': {'shape': 'sheet'}, 'density': 1}]}");
    refused("'speed' and 'blend' need a 'clip'", MESH("'figure': 'ogre', 'speed': 2"));
    refused("'blend' is -1", MESH("'figure': 'ogre', 'clip': 'walk', 'blend': -1"));
    refused("'on' is only allowed with 'garment'", MESH("'shape': 'box', 'on': 'a'"));
    refused("a 'garment' must be the 'mesh' of a body", MESH("'garment': 'cape', 'on': 'a'"));
    refused("a 'garment' needs 'on'", "{'bodies': [{'mesh': {'garment': 'cape'}, 'cloth': {}}]}");
    refused("there is no character 'a' before this body",
            TWO("'b'}, {'mesh': {'garment': 'cape', 'on': 'a'}, 'cloth': {}}]"));
    refused("'ease' is only allowed with 'garment'", MESH("'shape': 'box', 'ease': 1"));
    refused("'ease' is 0", TWO("'b'}, {'mesh': {'garment': 'cape', 'on': 'a', 'ease': 0}}]"));
    refused("'ease' is -1", TWO("'b'}, {'mesh': {'garment': 'cape', 'on': 'a', 'ease': -1}}]"));

    refused("two bodies with the name 'a'", TWO("'a'}]"));
    refused("'g', which is also the name of a group", TWO("'g'}]"));
    refused("ignore[0]: there is no body or group 'x'", TWO("'b'}], 'ignore': [['a', 'x']]"));
    refused("ignore[1]: it must be a list of two names",
            TWO("'b'}], 'ignore': [['a', 'b'], ['a']]"));
}

TEST(limits) {
    enum { BYTES = 1 << 19 };
    static char text[BYTES];
    abut_scene *scene = NULL;
    if (!readable())
        return;
    int used = snprintf(text, BYTES, "{'meshes':{'m':{'shape':'box','segments':1}},'bodies':[");
    for (int i = 0; i < 32; i++)
        used += snprintf(text + used, (size_t)(BYTES - used), "%s{'mesh':'m','group':'g%d'}",
                         i ? "," : "", i);
    snprintf(text + used, (size_t)(BYTES - used), "]}");
    refused("bodies[31]: there are more than 31 groups", text);
    used = snprintf(text, BYTES, "{'bodies':[");
    for (int i = 0; i < 60; i++)
        used += snprintf(text + used, (size_t)(BYTES - used),
                         "%s{'mesh':{'shape':'box','segments':128}}", i ? "," : "");
    snprintf(text + used, (size_t)(BYTES - used), "]}");
    assert_fails(ABUT_ERROR_LIMIT, "triangles in all", read_scene(NULL, text, &scene));
    /* 2,000 bodies in a group that one of them ignores, and all names in the opposite order */
    used = snprintf(text, BYTES, "{'meshes':{'m':{'shape':'box','segments':1}},'bodies':[");
    for (int i = 2000; i > 0; i--)
        used += snprintf(text + used, (size_t)(BYTES - used),
                         "{'mesh':'m','name':'n%04d','group':'g'},", i);
    snprintf(text + used, (size_t)(BYTES - used), "{'mesh':'m'}],'ignore':[['#2000','g']]}");
    assert_ok(read_scene(NULL, text, &scene));
    assert_int_equal(get_scene_arrays(scene).ignored_count, 2000);
    assert_false(abut_scene_should_collide(scene, 2000, 77));
    assert_true(abut_scene_should_collide(scene, 78, 77));
    abut_scene_destroy(scene);
}

static abut_status read_and_destroy(abut_context *context, void *data) {
    abut_scene *scene = NULL;
    abut_status status = abut_scene_read(context, data, NULL, &scene);
    abut_scene_destroy(scene);
    return status;
}

TEST(no_memory) {
    if (!readable())
        return;
    test_file("part.off", PART_FILE, sizeof PART_FILE - 1);
    static const char text[] =
        "{\"meshes\":{\"p\":{\"file\":\"part.off\",\"scale\":2}},\"bodies\":"
        "[{\"mesh\":\"p\",\"group\":\"g\"},{\"mesh\":{\"shape\":\"box\","
        "\"segments\":1},\"mass\":1},{\"mesh\":\"p\",\"cloth\":{},"
        "\"pins\":{\"vertices\":[1],\"to\":\"#0\"},\"seams\":[{\"vertices\":[0],"
        "\"to_vertices\":[2]},{\"box\":[[-99,-99,-99],[99,99,99]],\"to\":\"#3\",\"to_box\":"
        "[[-99,-99,-99],[99,99,99]]}]},{\"mesh\":{\"shape\":\"sheet\"},\"cloth\":{}}],\"ignore\":[["
        "\"#0\",\"#1\"]]}";
    char *path = (char *)test_file("memory.json", text, sizeof text - 1);
    assert_true(test_every_allocation(read_and_destroy, path) > 8);
}
