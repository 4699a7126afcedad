/* Scenes: any bytes are read or rejected with a message; a scene that is read satisfies the
 * guarantees of scene.h. No file is opened, since the scene is in memory. */
#include "apps/get.h"
#include "fuzz.h"

/* A box with one bone that moves up, instead of a figure, which takes a second. */
static abut_status create_character(void *user, abut_context *context, const char *name,
                                    abut_character **character) {
    static const double times[2] = {0, 1}, values[6] = {0, 0, 0, 0, 1, 0};
    static const uint32_t weight_bones[8];
    static const double weights[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    const abut_character_channel up = {.key_count = 2, .times = times, .values = values};
    const abut_character_clip walk = {.name = "walk", .channel_count = 1, .channels = &up};
    const abut_character_bone root = abut_character_bone_default();
    abut_character_input input = abut_character_input_default();
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    (void)user;
    FUZZ_CHECK(name);
    if (strcmp(name, "ogre") != 0)
        return abut_set_error(ABUT_ERROR_FORMAT, "there is no such figure");
    shape.segments = 1;
    FUZZ_CHECK(!abut_shape_create(context, &shape, &input.mesh));
    FUZZ_CHECK(abut_mesh_vertex_count(input.mesh) == 8);
    input.bone_count = 1;
    input.bones = &root;
    input.weight_count = 1;
    input.weight_bones = weight_bones;
    input.weights = weights;
    input.clip_count = 1;
    input.clips = &walk;
    FUZZ_CHECK(!abut_character_create(context, &input, character));
    abut_mesh_destroy(input.mesh);
    return ABUT_OK;
}

/* A sheet with one pin, instead of a garment, which takes seconds. */
static abut_status create_garment(void *user, abut_context *context, const abut_character *wearer,
                                  const char *name, uint32_t triangles, double ease,
                                  abut_mesh **mesh, uint32_t **pins, uint32_t *pin_count) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    (void)user;
    (void)triangles;
    FUZZ_CHECK(ease >= 0);
    FUZZ_CHECK(wearer && name);
    shape.segments = shape.rings = 1;
    uint32_t *made = abut_context_allocate(context, 1, sizeof *made);
    FUZZ_CHECK(made && !abut_shape_create(context, &shape, mesh));
    *made = 0;
    *pins = made;
    *pin_count = 1;
    return ABUT_OK;
}

static void check_motion(const abut_scene *scene, uint32_t index, uint32_t body_count) {
    const abut_scene_body body = get_scene_body(scene, index);
    abut_pose pose;
    FUZZ_CHECK(body.mass >= 0 && (body.mass == 0 || !body.cloth));
    FUZZ_CHECK(body.cloth || !body.pin_count);
    FUZZ_CHECK(body.pin_body == ABUT_NONE || body.pin_body < body_count);
    for (uint32_t i = 0; i < body.pin_count; i++)
        FUZZ_CHECK(body.pins[i] < abut_mesh_vertex_count(body.mesh) &&
                   (!i || body.pins[i - 1] < body.pins[i]));
    const abut_status status = abut_scene_pose_body(scene, index, 0.25, &pose, NULL);
    FUZZ_CHECK(!status || status == ABUT_ERROR_ARGUMENT);
    FUZZ_CHECK(!(body.mass > 0 || body.cloth) || status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    abut_scene *scene = NULL;
    abut_scene_options options = abut_scene_options_default();
    options.create_character = create_character;
    options.create_garment = create_garment;
    abut_status status =
        abut_scene_read_memory(fuzz_context(), data, bytes, NULL, &options, &scene);
    FUZZ_CHECK(!status == (scene != NULL));
    if (status) {
        FUZZ_CHECK(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_LIMIT ||
                   status == ABUT_ERROR_UNSUPPORTED);
        FUZZ_CHECK(!strncmp(abut_last_error(), "memory: ", 8) || status == ABUT_ERROR_UNSUPPORTED);
        return 0;
    }
    abut_scene_arrays it = get_scene_arrays(scene);
    for (uint32_t i = 0; i < it.body_count; i++) {
        const abut_scene_body each = get_scene_body(scene, i), *body = &each;
        FUZZ_CHECK(body->name[0] && body->mesh && body->mask);
        FUZZ_CHECK(body->group && !(body->group & (body->group - 1)));
        FUZZ_CHECK(body->group == 1 || body->group <= UINT32_C(1) << it.group_count);
        FUZZ_CHECK(isfinite(body->collider.pose.translation.x) &&
                   isfinite(body->collider.pose.rotation.w));
        FUZZ_CHECK(!abut_scene_should_collide(scene, i, i));
        check_motion(scene, i, it.body_count);
    }
    for (uint64_t i = 0; i < it.ignored_count; i++) {
        abut_scene_pair pair = it.ignored[i];
        FUZZ_CHECK(pair.a < pair.b && pair.b < it.body_count);
        FUZZ_CHECK(!abut_scene_should_collide(scene, pair.a, pair.b));
        FUZZ_CHECK(!i || it.ignored[i - 1].a < pair.a ||
                   (it.ignored[i - 1].a == pair.a && it.ignored[i - 1].b < pair.b));
    }
    abut_scene_destroy(scene);
    return 0;
}
