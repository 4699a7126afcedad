/* Scenes: any bytes are read or rejected with a message; a scene that is read satisfies the
 * guarantees of scene.h. No file is opened, since the scene is in memory. */
#include "apps/get.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    abut_scene *scene = NULL;
    abut_scene_options options = abut_scene_options_default();
    options.create_character = abut_character_create_named;
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
