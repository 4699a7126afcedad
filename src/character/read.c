/* Characters from glTF 2.0: bones and weights come with the triangles (abuti_rig), names, rest
 * poses and clips are read here while the document is open. */
#include "character/character.h"
#include "mesh/gltf.h"

#include <inttypes.h>
#include <string.h>

/* What is found, for abuti_character_make(). */
typedef struct found {
    abuti_rig rig; /* first: finish() gets its address */
    abut_context *context;
    character_pool pool;
    char who[400]; /* the file */
    abut_character_bone *bones;
    abut_character_matrix *binds;
    abut_character_clip *clips;
    uint32_t clip_count;
    uint64_t skipped; /* channels of morph targets and of what is not a bone */
} found;

#ifdef ABUT_HAS_GLTF

static void *take(found *f, abuti_gltf *gltf, size_t count, size_t element_bytes) {
    void *memory = gltf->status ? NULL : abuti_character_allocate(&f->pool, count, element_bytes);
    if (!memory)
        abuti_gltf_keep(gltf, ABUT_ERROR_MEMORY);
    return memory;
}

/* The name of an element; null where it has none. */
static const char *name_of(found *f, abuti_gltf *gltf, uint32_t object) {
    uint32_t value = abuti_gltf_member(gltf, object, "name", ABUTI_JSON_TEXT);
    if (!value || !gltf->json.values[value].is.text.bytes)
        return NULL;
    uint32_t bytes = gltf->json.values[value].is.text.bytes;
    char *name = take(f, gltf, (size_t)bytes + 1, 1);
    if (!name)
        return NULL;
    memcpy(name, abuti_json_characters(&gltf->json, gltf->json.values[value].is.text.at), bytes);
    name[bytes] = 0;
    return name;
}

static abut_character_matrix matrix_of(const abuti_gltf_affine *a) {
    abut_character_matrix made;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            made.m[i][k] = k < 3 ? v3_get(a->linear.row[i], k) : v3_get(a->shift, i);
    return made;
}

/* ---- bones ---- */

static void read_bones(found *f, abuti_gltf *gltf) {
    static const abut_character_matrix none = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    size_t count = f->rig.bones.count;
    f->bones = take(f, gltf, count, sizeof *f->bones);
    f->binds = take(f, gltf, count, sizeof *f->binds);
    for (size_t i = 0; i < count && !gltf->status; i++) {
        const abuti_rig_bone *from = abuti_list_at(&f->rig.bones, i);
        abut_character_bone bone = abut_character_bone_default();
        uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_NODES, from->node);
        bone.parent = from->parent;
        bone.name = name_of(f, gltf, object);
        if (f->rig.bone_of[from->node] == i) { /* else it is where its parent is */
            abuti_gltf_place place = abuti_gltf_place_of(gltf, from->node);
            bone.translation = place.translation;
            bone.rotation = place.rotation;
            bone.scale = place.scale;
            bone.has_matrix = place.has_matrix;
            if (place.has_matrix)
                bone.matrix = matrix_of(&place.matrix);
        }
        f->bones[i] = bone;
        f->binds[i] = from->bound ? matrix_of(&from->bind) : none;
    }
}

/* ---- clips ---- */

/* Which of the words a member is; `missing` where there is none, `count` for any other. */
static unsigned word_of(abuti_gltf *gltf, uint32_t object, const char *name,
                        const char *const *words, unsigned count, unsigned missing) {
    uint32_t value = abuti_gltf_member(gltf, object, name, ABUTI_JSON_TEXT);
    if (!value)
        return missing;
    for (unsigned i = 0; i < count; i++)
        if (abuti_json_is(&gltf->json, gltf->json.values[value].is.text.at,
                          gltf->json.values[value].is.text.bytes, words[i]))
            return i;
    return count;
}

/* All numbers of an accessor. */
static const double *read_numbers(found *f, abuti_gltf *gltf, const abuti_gltf_accessor *from) {
    uint32_t width = from->component_count;
    if (!abuti_gltf_spend(gltf, (uint64_t)from->count * width))
        return NULL;
    double *numbers = take(f, gltf, (size_t)from->count * width, sizeof *numbers);
    for (uint32_t i = 0; numbers && i < from->count && !gltf->status; i++) {
        abuti_gltf_get(from, i, numbers + (size_t)i * width);
        gltf->status = abuti_read_tick(gltf->reader);
    }
    return numbers;
}

/* The keys of a sampler. */
static void read_sampler(found *f, abuti_gltf *gltf, uint32_t sampler,
                         abut_character_channel *channel) {
    static const char *const words[] = {"LINEAR", "STEP", "CUBICSPLINE"};
    bool turns = channel->target == ABUT_CHARACTER_TARGET_ROTATION;
    unsigned how = word_of(gltf, sampler, "interpolation", words, 3, 0);
    uint32_t input = abuti_gltf_reference(gltf, sampler, "input", ABUTI_GLTF_ACCESSORS);
    uint32_t output = abuti_gltf_reference(gltf, sampler, "output", ABUTI_GLTF_ACCESSORS);
    if (!gltf->status && (how > 2 || input == ABUT_NONE || output == ABUT_NONE))
        abuti_gltf_fail(gltf, "a sampler needs input, output, and an interpolation that is "
                              "LINEAR, STEP or CUBICSPLINE");
    if (gltf->status)
        return;
    abuti_gltf_accessor times = abuti_gltf_accessor_filled(gltf, input, "SCALAR");
    abuti_gltf_accessor values = abuti_gltf_accessor_filled(gltf, output, turns ? "VEC4" : "VEC3");
    uint32_t each = how == ABUT_CHARACTER_INTERPOLATION_CUBIC ? 3 : 1;
    if (!gltf->status && values.count != (uint64_t)each * times.count)
        abuti_gltf_fail(gltf, "has %" PRIu32 " values for %" PRIu32 " keys; there must be %d a key",
                        values.count, times.count, (int)each);
    channel->interpolation = (abut_character_interpolation)how;
    channel->key_count = times.count;
    channel->times = read_numbers(f, gltf, &times);
    channel->values = read_numbers(f, gltf, &values);
}

/* What a channel moves; false where that is no bone. */
static bool read_target(found *f, abuti_gltf *gltf, uint32_t object,
                        abut_character_channel *channel) {
    static const char *const words[] = {"translation", "rotation", "scale"};
    uint32_t target = abuti_gltf_member(gltf, object, "target", ABUTI_JSON_OBJECT);
    uint32_t node = ABUT_NONE;
    if (target)
        node = abuti_gltf_reference(gltf, target, "node", ABUTI_GLTF_NODES);
    unsigned path = target ? word_of(gltf, target, "path", words, 3, 3) : 3;
    if (gltf->status || node == ABUT_NONE || path > 2 || f->rig.bone_of[node] == ABUT_NONE) {
        f->skipped++;
        return false;
    }
    channel->bone = f->rig.bone_of[node];
    channel->target = (abut_character_target)path;
    return true;
}

static void read_clip(found *f, abuti_gltf *gltf, uint32_t number, abut_character_clip *clip) {
    const abuti_json_value *values = gltf->json.values;
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_ANIMATIONS, number);
    clip->name = name_of(f, gltf, object);
    uint32_t channels = abuti_gltf_member(gltf, object, "channels", ABUTI_JSON_LIST);
    uint32_t samplers = abuti_gltf_member(gltf, object, "samplers", ABUTI_JSON_LIST);
    uint32_t count = samplers ? values[samplers].is.count : 0, made = 0;
    uint32_t *at = take(f, gltf, count, sizeof *at); /* where each sampler stands */
    abut_character_channel *list =
        take(f, gltf, channels ? values[channels].is.count : 0, sizeof *list);
    if (gltf->status)
        return;
    for (uint32_t i = 0, value = samplers + 1; i < count; i++, value = values[value].next)
        at[i] = value;
    for (uint32_t i = channels + 1; channels && i < values[channels].next && !gltf->status;
         i = values[i].next) {
        abut_character_channel channel = {0};
        abuti_gltf_at(gltf, ABUTI_GLTF_ANIMATIONS, number);
        uint64_t sampler = UINT64_MAX;
        if (values[i].kind == ABUTI_JSON_OBJECT)
            sampler = abuti_gltf_whole(gltf, i, "sampler", UINT64_MAX);
        if (sampler >= count || values[at[sampler]].kind != ABUTI_JSON_OBJECT)
            abuti_gltf_fail(gltf, "a channel names no sampler that is there");
        else if (read_target(f, gltf, i, &channel))
            read_sampler(f, gltf, at[sampler], &channel);
        else
            continue;
        list[made++] = channel;
    }
    clip->channels = list;
    clip->channel_count = made;
}

static void finish(abuti_rig *rig, abuti_gltf *gltf) {
    found *f = (found *)(void *)rig;
    uint32_t count = gltf->lists[ABUTI_GLTF_ANIMATIONS].count;
    snprintf(f->who, sizeof f->who, "%s", gltf->reader->name);
    read_bones(f, gltf);
    f->clips = take(f, gltf, count, sizeof *f->clips);
    for (uint32_t i = 0; i < count && !gltf->status; i++) {
        f->clips[i] = (abut_character_clip){0};
        read_clip(f, gltf, i, &f->clips[i]);
    }
    f->clip_count = count;
    if (!gltf->status && f->skipped)
        abuti_log(f->context, ABUT_LOG_WARNING,
                  "%s: %" PRIu64 " channels of clips move morph targets or what is not in the "
                  "scene, and are left out",
                  f->who, f->skipped);
}

#else

static void finish(abuti_rig *rig, abuti_gltf *gltf) {
    (void)rig;
    (void)gltf;
}

#endif

/* ---- the whole ---- */

/* Makes the character of what was found. */
static abut_status make(found *f, abut_mesh *mesh, abut_character **character) {
    size_t vertices = f->rig.starts.count, all = f->rig.weights.count;
    size_t *starts = abuti_character_allocate(&f->pool, vertices + 1, sizeof *starts);
    uint32_t *bones = abuti_character_allocate(&f->pool, all, sizeof *bones);
    double *weights = abuti_character_allocate(&f->pool, all, sizeof *weights);
    if (!starts || !bones || !weights)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < vertices; i++)
        starts[i] = *(size_t *)abuti_list_at(&f->rig.starts, i);
    starts[vertices] = all;
    for (size_t i = 0; i < all; i++) {
        const abuti_rig_weight *weight = abuti_list_at(&f->rig.weights, i);
        bones[i] = weight->bone;
        weights[i] = weight->weight;
    }
    abut_character_input input = abut_character_input_default();
    input.mesh = mesh;
    input.bone_count = (uint32_t)f->rig.bones.count;
    input.bones = f->bones;
    input.binds = f->binds;
    input.weight_bones = bones;
    input.weights = weights;
    input.clip_count = f->clip_count;
    input.clips = f->clips;
    abut_status status = abuti_character_make(f->context, f->who, &input, starts, character);
    return status == ABUT_ERROR_ARGUMENT ? ABUT_ERROR_FORMAT : status;
}

static abut_status read_any(abut_context *context, const char *path, const void *data, size_t bytes,
                            const char *name, abut_character **character) {
    found f = {.context = abuti_context_of(context)};
    abut_mesh *mesh = NULL;
    f.pool.context = f.context;
    f.rig.bones.element_bytes = sizeof(abuti_rig_bone);
    f.rig.weights.element_bytes = sizeof(abuti_rig_weight);
    f.rig.starts.element_bytes = sizeof(size_t);
    f.rig.finish = finish;
    abut_status status = abuti_mesh_read_rigged(f.context, path, data, bytes, name, &f.rig, &mesh);
    status = status ? status : make(&f, mesh, character);
    abut_mesh_destroy(mesh);
    abuti_list_release(f.context, &f.rig.bones);
    abuti_list_release(f.context, &f.rig.weights);
    abuti_list_release(f.context, &f.rig.starts);
    abuti_character_release(&f.pool);
    return status;
}

abut_status abut_character_read(abut_context *context, const char *path,
                                abut_character **character) {
    if (!path || !character)
        return abuti_null(__func__, path ? "character" : "path");
    return read_any(context, path, NULL, 0, path, character);
}

abut_status abut_character_read_memory(abut_context *context, const void *data, size_t bytes,
                                       const char *name, abut_character **character) {
    if ((!data && bytes) || !character)
        return abuti_null(__func__, character ? "data" : "character");
    return read_any(context, NULL, data, bytes, name ? name : "memory", character);
}
