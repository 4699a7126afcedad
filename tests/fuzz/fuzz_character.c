/* Any bytes as the JSON of a GLB and, after the first zero, its binary part. A valid character
 * must pose and skin at any time, or return an error. */
#include "apps/get.h"
#include "fuzz.h"

static void use(const abut_character *character) {
    abut_character_info info = get_character_info(character);
    abut_character_matrix *bones = malloc(info.bone_count * sizeof *bones);
    FUZZ_CHECK(info.bone_count && info.weight_count && bones);
    fuzz_valid(abut_character_rest_mesh(character));
    for (uint32_t clip = 0; clip <= info.clip_count && clip < 4; clip++) {
        abut_character_pose_options options = abut_character_pose_options_default();
        options.clip = clip < info.clip_count ? clip : ABUT_NONE;
        options.time = 0.3;
        abut_status status = abut_character_pose(character, &options, bones);
        FUZZ_CHECK(!status || (clip < info.clip_count && status == ABUT_ERROR_ARGUMENT));
        for (int how = 0; how <= ABUT_CHARACTER_SKINNING_DUAL && !status; how++) {
            abut_mesh *mesh = NULL;
            abut_status skinned =
                abut_character_mesh(character, bones, (abut_character_skinning)how, &mesh);
            FUZZ_CHECK(!skinned || skinned == ABUT_ERROR_ARGUMENT);
            if (mesh)
                fuzz_valid(mesh);
            abut_mesh_destroy(mesh);
        }
    }
    free(bones);
}

/* Morph targets by a clip, and the same without seams. */
static void use_more(abut_character *character) {
    abut_character_info info = get_character_info(character);
    abut_character_pose_options options = abut_character_pose_options_default();
    double *weights = calloc(info.morph_count + 1u, sizeof *weights);
    abut_character *welded = NULL;
    FUZZ_CHECK(weights);
    options.clip = info.clip_count ? 0 : ABUT_NONE;
    options.time = 0.3;
    FUZZ_CHECK(!abut_character_pose_morphs(character, &options, weights));
    abut_status status = abut_character_weld(character, &welded);
    FUZZ_CHECK(!status || status == ABUT_ERROR_ARGUMENT);
    if (welded)
        FUZZ_CHECK(get_character_info(welded).vertex_count <= info.vertex_count);
    abut_character_destroy(welded);
    free(weights);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    size_t all;
    abut_character *character = NULL;
    uint8_t *glb = fuzz_glb(data, bytes, 0, &all);
    if (!glb)
        return 0;
    abut_status status = abut_character_read_memory(fuzz_context(), glb, all, "fuzz", &character);
    FUZZ_CHECK(!status == (character != NULL));
    if (status)
        FUZZ_CHECK((status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED ||
                    status == ABUT_ERROR_LIMIT) &&
                   !strncmp(abut_last_error(), "fuzz: ", 6));
    else {
        use(character);
        use_more(character);
    }
    abut_character_destroy(character);
    free(glb);
    return 0;
}
