/* Characters from glTF 2.0. The mesh reader provides bones and weights with the triangles
 * (abuti_rig). Names, rest poses and clips are read here while the document is open. */
#include "character/character.h"
#include "io/gltf.h"

#include <inttypes.h>
#include <string.h>

/* Data of a file, for abuti_character_make(). */
typedef struct gltf_character {
    abuti_rig rig; /* first member: read_rig() converts its address */
    abut_context *context;
    character_pool pool;
    char who[400]; /* file name */
    abut_character_bone *bones;
    abut_character_matrix *binds;
    abut_character_clip *clips;
    uint32_t clip_count;
    abut_character_morph *morphs;
    uint64_t skipped; /* channels whose target is not in the scene */
} gltf_character;

#ifdef ABUT_HAS_GLTF

static void *allocate_in_pool(gltf_character *f, abuti_gltf *gltf, size_t count,
                              size_t element_bytes) {
    void *memory = gltf->status ? NULL : abuti_character_allocate(&f->pool, count, element_bytes);
    if (!memory)
        abuti_gltf_set_error(gltf, ABUT_ERROR_MEMORY);
    return memory;
}

/* A copy of a string of the document; null if it is missing or empty. */
static const char *copy_text(gltf_character *f, abuti_gltf *gltf, uint32_t value) {
    if (!value || !gltf->json.values[value].is.text.bytes)
        return NULL;
    uint32_t bytes = gltf->json.values[value].is.text.bytes;
    char *name = allocate_in_pool(f, gltf, (size_t)bytes + 1, 1);
    if (!name)
        return NULL;
    memcpy(name, abuti_json_characters(&gltf->json, gltf->json.values[value].is.text.at), bytes);
    name[bytes] = 0;
    return name;
}

/* The name of an element, or null. */
static const char *copy_element_name(gltf_character *f, abuti_gltf *gltf, uint32_t object) {
    return copy_text(f, gltf, abuti_gltf_member(gltf, object, "name", ABUTI_JSON_TEXT));
}

static abut_character_matrix convert_matrix(const abuti_affine *a) {
    abut_character_matrix made;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++)
            made.m[i][k] = k < 3 ? v3_get(a->linear.row[i], k) : v3_get(a->shift, i);
    return made;
}

/* ---- bones ---- */

static void read_bones(gltf_character *f, abuti_gltf *gltf) {
    static const abut_character_matrix none = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    size_t count = f->rig.bones.count;
    f->bones = allocate_in_pool(f, gltf, count, sizeof *f->bones);
    f->binds = allocate_in_pool(f, gltf, count, sizeof *f->binds);
    for (size_t i = 0; i < count && !gltf->status; i++) {
        const abuti_rig_bone *from = &ABUTI_AT(&f->rig.bones, abuti_rig_bone, i);
        abut_character_bone bone = abut_character_bone_default();
        uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_NODES, from->node);
        bone.parent = from->parent;
        bone.name = copy_element_name(f, gltf, object);
        if (f->rig.bone_of[from->node] == i) { /* otherwise its transformation is the identity */
            abuti_gltf_trs place = abuti_gltf_read_trs(gltf, from->node);
            bone.translation = place.translation;
            bone.rotation = place.rotation;
            bone.scale = place.scale;
            bone.has_matrix = place.has_matrix;
            if (place.has_matrix)
                bone.matrix = convert_matrix(&place.matrix);
        }
        f->bones[i] = bone;
        f->binds[i] = from->bound ? convert_matrix(&from->bind) : none;
    }
}

/* ---- morph targets ---- */

/* A member of `kind` of application data; 0 if it is missing or of another kind, which is no
 * error. */
static uint32_t find_extra(abuti_gltf *gltf, uint32_t object, const char *name,
                           abuti_json_kind kind) {
    bool twice = false;
    uint32_t value = abuti_json_member(&gltf->json, object, name, &twice, &gltf->lookups);
    return value && gltf->json.values[value].kind == (uint32_t)kind ? value : 0;
}

/* Names come from mesh.extras.targetNames, which most exporters write. */
static void read_morphs(gltf_character *f, abuti_gltf *gltf) {
    const abuti_json_value *values = gltf->json.values;
    size_t count = f->rig.morphs.count;
    f->morphs = allocate_in_pool(f, gltf, count, sizeof *f->morphs);
    uint32_t name = 0, end = 0;
    for (size_t i = 0; i < count && !gltf->status; i++) {
        const abuti_rig_morph *from = &ABUTI_AT(&f->rig.morphs, abuti_rig_morph, i);
        if (!from->target) { /* the first target of a node */
            uint32_t mesh = abuti_gltf_at(gltf, ABUTI_GLTF_MESHES, from->mesh);
            uint32_t extras = find_extra(gltf, mesh, "extras", ABUTI_JSON_OBJECT), list = 0;
            if (extras)
                list = find_extra(gltf, extras, "targetNames", ABUTI_JSON_LIST);
            name = list + 1;
            end = list ? values[list].next : 0;
            abuti_gltf_spend(gltf, 1);
        }
        f->morphs[i] = (abut_character_morph){.weight = from->weight};
        if (name < end) {
            if (values[name].kind == ABUTI_JSON_TEXT)
                f->morphs[i].name = copy_text(f, gltf, name);
            name = values[name].next;
        }
    }
}

/* ---- clips ---- */

/* The index of a member's text in `words`; `missing` if the member is missing, `count` for any
 * other text. */
static unsigned find_word(abuti_gltf *gltf, uint32_t object, const char *name,
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
static const double *read_numbers(gltf_character *f, abuti_gltf *gltf,
                                  const abuti_gltf_accessor *from) {
    uint32_t width = from->component_count;
    if (!abuti_gltf_spend(gltf, (uint64_t)from->count * width))
        return NULL;
    double *numbers = allocate_in_pool(f, gltf, (size_t)from->count * width, sizeof *numbers);
    for (uint32_t i = 0; numbers && i < from->count && !gltf->status; i++) {
        abuti_gltf_get(from, i, numbers + (size_t)i * width);
        abuti_gltf_check(gltf, abuti_read_tick(gltf->reader));
    }
    return numbers;
}

/* Reads the keys of a sampler. For morph targets, each key has the weights of all `morphs` of
 * them. */
static void read_sampler(gltf_character *f, abuti_gltf *gltf, uint32_t sampler, uint32_t morphs,
                         abut_character_channel *channel) {
    static const char *const words[] = {"LINEAR", "STEP", "CUBICSPLINE"};
    bool turns = channel->target == ABUT_CHARACTER_TARGET_ROTATION;
    const char *type = morphs ? "SCALAR" : turns ? "VEC4" : "VEC3";
    unsigned how = find_word(gltf, sampler, "interpolation", words, 3, 0);
    uint32_t input = abuti_gltf_reference(gltf, sampler, "input", ABUTI_GLTF_ACCESSORS);
    uint32_t output = abuti_gltf_reference(gltf, sampler, "output", ABUTI_GLTF_ACCESSORS);
    if (!gltf->status && (how > 2 || input == ABUT_NONE || output == ABUT_NONE))
        abuti_gltf_fail(gltf, "a sampler must have input and output, and an interpolation of "
                              "LINEAR, STEP or CUBICSPLINE");
    if (gltf->status)
        return;
    abuti_gltf_accessor times = abuti_gltf_accessor_filled(gltf, input, "SCALAR");
    abuti_gltf_accessor values = abuti_gltf_accessor_filled(gltf, output, type);
    uint32_t each = (how == ABUT_CHARACTER_INTERPOLATION_CUBIC ? 3 : 1) * (morphs ? morphs : 1);
    if (!gltf->status && values.count != (uint64_t)each * times.count)
        abuti_gltf_fail(gltf,
                        "has %" PRIu32 " values for %" PRIu32 " keys; there must be %" PRIu32
                        " per key",
                        values.count, times.count, each);
    channel->interpolation = (abut_character_interpolation)how;
    channel->key_count = times.count;
    channel->times = read_numbers(f, gltf, &times);
    channel->values = read_numbers(f, gltf, &values);
}

/* Reads the target of a channel. Returns false if it is not in the scene. For morph targets, sets
 * the first one and their number.
 */
static bool read_target(gltf_character *f, abuti_gltf *gltf, uint32_t object,
                        abut_character_channel *channel, uint32_t *morphs) {
    static const char *const words[] = {"translation", "rotation", "scale", "weights"};
    uint32_t target = abuti_gltf_member(gltf, object, "target", ABUTI_JSON_OBJECT);
    uint32_t node = ABUT_NONE, first = 0;
    size_t all = f->rig.morphs.count;
    *morphs = 0;
    if (target)
        node = abuti_gltf_reference(gltf, target, "node", ABUTI_GLTF_NODES);
    unsigned path = target ? find_word(gltf, target, "path", words, 4, 4) : 4;
    channel->target = (abut_character_target)path;
    if (gltf->status || node == ABUT_NONE || path > 3 || f->rig.bone_of[node] == ABUT_NONE)
        return false;
    channel->bone = f->rig.bone_of[node];
    if (path < 3)
        return true;
    while (first < all && ABUTI_AT(&f->rig.morphs, abuti_rig_morph, first).node != node)
        first++;
    channel->bone = first;
    while (first < all && ABUTI_AT(&f->rig.morphs, abuti_rig_morph, first).node == node)
        ++*morphs, first++;
    return abuti_gltf_spend(gltf, first) && *morphs;
}

/* Splits a channel of weights into one channel per morph target. */
static uint32_t split_morph_channel(gltf_character *f, abuti_gltf *gltf,
                                    const abut_character_channel *from, uint32_t morphs,
                                    abut_character_channel *to) {
    uint32_t tangents = from->interpolation == ABUT_CHARACTER_INTERPOLATION_CUBIC ? 3 : 1;
    size_t rows = (size_t)from->key_count * tangents;
    double *values = allocate_in_pool(f, gltf, rows * morphs, sizeof *values);
    if (!abuti_gltf_spend(gltf, rows * morphs))
        return 0;
    for (uint32_t i = 0; i < morphs; i++) {
        to[i] = *from;
        to[i].bone = from->bone + i;
        to[i].values = values + rows * i;
        for (size_t k = 0; k < rows; k++)
            values[rows * i + k] = from->values[morphs * k + i];
    }
    return morphs;
}

/* An upper bound of the number of channels of a list. */
static size_t count_channels_max(gltf_character *f, abuti_gltf *gltf, uint32_t channels) {
    const abuti_json_value *values = gltf->json.values;
    size_t most = 0;
    ABUTI_GLTF_EACH(gltf, i, channels) {
        abut_character_channel channel = {0};
        uint32_t morphs = 0;
        if (values[i].kind == ABUTI_JSON_OBJECT)
            read_target(f, gltf, i, &channel, &morphs);
        most += morphs ? morphs : 1;
    }
    return most;
}

static void read_clip(gltf_character *f, abuti_gltf *gltf, uint32_t number,
                      abut_character_clip *clip) {
    const abuti_json_value *values = gltf->json.values;
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_ANIMATIONS, number);
    clip->name = copy_element_name(f, gltf, object);
    uint32_t channels = abuti_gltf_member(gltf, object, "channels", ABUTI_JSON_LIST);
    uint32_t samplers = abuti_gltf_member(gltf, object, "samplers", ABUTI_JSON_LIST);
    uint32_t count = samplers ? values[samplers].is.count : 0, made = 0, morphs;
    uint32_t *at = allocate_in_pool(f, gltf, count, sizeof *at); /* JSON value of each sampler */
    size_t most = count_channels_max(f, gltf, channels);
    abut_character_channel *list =
        abuti_gltf_spend(gltf, most) ? allocate_in_pool(f, gltf, most, sizeof *list) : NULL;
    if (gltf->status)
        return;
    for (uint32_t i = 0, value = samplers + 1; i < count; i++, value = values[value].next)
        at[i] = value;
    ABUTI_GLTF_EACH(gltf, i, channels) {
        abut_character_channel channel = {0};
        abuti_gltf_at(gltf, ABUTI_GLTF_ANIMATIONS, number);
        uint64_t sampler = UINT64_MAX;
        if (values[i].kind == ABUTI_JSON_OBJECT)
            sampler = abuti_gltf_integer(gltf, i, "sampler", UINT64_MAX);
        if (sampler >= count || values[at[sampler]].kind != ABUTI_JSON_OBJECT) {
            abuti_gltf_fail(gltf, "the sampler of a channel is missing or does not exist");
        } else if (!read_target(f, gltf, i, &channel, &morphs)) {
            f->skipped++;
        } else {
            read_sampler(f, gltf, at[sampler], morphs, &channel);
            if (!gltf->status && morphs)
                made += split_morph_channel(f, gltf, &channel, morphs, list + made);
            else
                list[made++] = channel;
        }
    }
    clip->channels = list;
    clip->channel_count = made;
}

static void read_rig(abuti_rig *rig, abuti_gltf *gltf) {
    gltf_character *f = (gltf_character *)(void *)rig;
    uint32_t count = gltf->lists[ABUTI_GLTF_ANIMATIONS].count;
    snprintf(f->who, sizeof f->who, "%s", gltf->reader->name);
    read_bones(f, gltf);
    read_morphs(f, gltf);
    f->clips = allocate_in_pool(f, gltf, count, sizeof *f->clips);
    for (uint32_t i = 0; i < count && !gltf->status; i++) {
        f->clips[i] = (abut_character_clip){0};
        read_clip(f, gltf, i, &f->clips[i]);
    }
    f->clip_count = count;
    if (!gltf->status && f->skipped)
        abuti_log(f->context, ABUT_LOG_WARNING,
                  "%s: %" PRIu64 " channels of clips refer to nodes that are not in the scene; "
                  "they are ignored",
                  f->who, f->skipped);
}

#else

static void read_rig(abuti_rig *rig, abuti_gltf *gltf) {
    (void)rig;
    (void)gltf;
}

#endif

/* ---- create ---- */

/* Sorts offsets by morph target. */
static abut_status sort_shifts_by_target(gltf_character *f) {
    size_t morphs = f->rig.morphs.count, all = f->rig.shifts.count;
    uint32_t *vertices = abuti_character_allocate(&f->pool, all, sizeof *vertices);
    vec3 *shifts = abuti_character_allocate(&f->pool, all, sizeof *shifts);
    size_t *next = abuti_character_allocate(&f->pool, morphs + 1, sizeof *next);
    if (!vertices || !shifts || !next)
        return ABUT_ERROR_MEMORY;
    memset(next, 0, (morphs + 1) * sizeof *next);
    for (size_t i = 0; i < all; i++)
        next[ABUTI_AT(&f->rig.shifts, abuti_rig_shift, i).morph + 1]++;
    for (size_t i = 0; i < morphs; i++) {
        f->morphs[i].shift_count = (uint32_t)next[i + 1];
        next[i + 1] += next[i];
        f->morphs[i].vertices = vertices + next[i];
        f->morphs[i].shifts = shifts + next[i];
    }
    for (size_t i = 0; i < all; i++) {
        const abuti_rig_shift *from = &ABUTI_AT(&f->rig.shifts, abuti_rig_shift, i);
        size_t at = next[from->morph]++;
        vertices[at] = from->vertex;
        shifts[at] = from->shift;
    }
    return ABUT_OK;
}

/* Creates the character from the data of the file. */
static abut_status create_from_gltf(gltf_character *f, abut_mesh *mesh,
                                    abut_character **character) {
    abut_character_input input = abut_character_input_default();
    input.mesh = mesh;
    input.bone_count = (uint32_t)f->rig.bones.count;
    input.bones = f->bones;
    input.binds = f->binds;
    input.weight_bones = f->rig.weight_bones.data;
    input.weights = f->rig.weights.data;
    input.clip_count = f->clip_count;
    input.clips = f->clips;
    input.morph_count = (uint32_t)f->rig.morphs.count;
    input.morphs = f->morphs;
    abut_status status = sort_shifts_by_target(f);
    if (!status)
        status = abuti_character_make(f->context, f->who, &input, f->rig.starts.data, character);
    return status == ABUT_ERROR_ARGUMENT ? ABUT_ERROR_FORMAT : status;
}

static abut_status read_character(abut_context *context, const char *path, const void *data,
                                  size_t bytes, const char *name, abut_character **character) {
    gltf_character f = {.context = abuti_context_of(context)};
    abut_mesh *mesh = NULL;
    f.pool.context = f.context;
    f.rig.finish = read_rig;
    abut_status status = abuti_mesh_read_rigged(f.context, path, data, bytes, name, &f.rig, &mesh);
    if (!status)
        status = create_from_gltf(&f, mesh, character);
    abut_mesh_destroy(mesh);
    ABUTI_RELEASE(f.context, f.rig.bones.data, f.rig.weight_bones.data, f.rig.weights.data,
                  f.rig.starts.data, f.rig.morphs.data, f.rig.shifts.data);
    abuti_character_release(&f.pool);
    return status;
}

abut_status abut_character_read(abut_context *context, const char *path,
                                abut_character **character) {
    if (!path || !character)
        return abuti_null(__func__, path ? "character" : "path");
    return read_character(context, path, NULL, 0, path, character);
}

abut_status abut_character_read_memory(abut_context *context, const void *data, size_t bytes,
                                       const char *name, abut_character **character) {
    if ((!data && bytes) || !character)
        return abuti_null(__func__, character ? "data" : "character");
    return read_character(context, NULL, data, bytes, name ? name : "memory", character);
}
