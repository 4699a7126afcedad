/* Members, nodes and the top level of a glTF 2.0 document (Khronos specification 2.0.1; sections in
 * parentheses). */
#include "io/gltf.h"

#ifdef ABUT_HAS_GLTF

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

static const struct {
    const char *key;  /* in the document */
    const char *name; /* plural, for messages */
} lists[ABUTI_GLTF_LIST_COUNT] = {{"accessors", "accessors"}, {"bufferViews", "buffer views"},
                                  {"buffers", "buffers"},     {"meshes", "meshes"},
                                  {"nodes", "nodes"},         {"scenes", "scenes"},
                                  {"skins", "skins"},         {"animations", "animations"}};

/* The work budget of a file, in vertices, corners, primitives and keys: a constant, and an amount
 * for each of its bytes. 10,000 instances of 1,000 vertices use a fifth of the budget of their
 * file; a malicious file of a few bytes ends at 25 MB. */
#define BUDGET_BASE 1000000u
#define BUDGET_PER_BYTE 64u

/* ---- errors ---- */

abut_status abuti_gltf_fail(abuti_gltf *gltf, const char *format, ...) {
    if (gltf->status)
        return gltf->status;
    char message[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    gltf->status =
        abuti_fail(ABUT_ERROR_FORMAT, "%s: %s%s", gltf->reader->name, gltf->where, message);
    return gltf->status;
}

/* JSON lookups count too, because every instance looks up its mesh again. */
bool abuti_gltf_spend(abuti_gltf *gltf, uint64_t amount) {
    uint64_t budget = BUDGET_BASE + BUDGET_PER_BYTE * gltf->bytes;
    if (gltf->status)
        return false;
    gltf->work += amount; /* each amount is below 2^35 */
    if (gltf->work + gltf->lookups <= budget)
        return true;
    gltf->status = abuti_fail(ABUT_ERROR_LIMIT,
                              "%s: its instances need more than %" PRIu64
                              " vertices, corners and keys of %" PRIu64 " bytes",
                              gltf->reader->name, budget, gltf->bytes);
    return false;
}

/* ---- members ---- */

uint32_t abuti_gltf_at(abuti_gltf *gltf, abuti_gltf_list list, uint32_t index) {
    snprintf(gltf->where, sizeof gltf->where, "%s[%" PRIu32 "]: ", lists[list].key, index);
    return gltf->lists[list].values[index];
}

/* The member, of any kind; 0 if it is missing. */
static uint32_t find_member(abuti_gltf *gltf, uint32_t object, const char *name) {
    bool twice = false;
    if (gltf->status)
        return 0;
    uint32_t value = abuti_json_member(&gltf->json, object, name, &twice, &gltf->lookups);
    if (!twice)
        return value;
    abuti_gltf_fail(gltf, "has '%s' twice", name);
    return 0;
}

static bool is_kind(abuti_gltf *gltf, uint32_t value, const char *name, abuti_json_kind kind) {
    static const char *const kinds[] = {"null",     "true or false", "a number",
                                        "a string", "a list",        "an object"};
    if (gltf->json.values[value].kind == kind)
        return true;
    abuti_gltf_fail(gltf, "'%s' is %s; it must be %s", name, kinds[gltf->json.values[value].kind],
                    kinds[kind]);
    return false;
}

uint32_t abuti_gltf_member(abuti_gltf *gltf, uint32_t object, const char *name,
                           abuti_json_kind kind) {
    uint32_t value = find_member(gltf, object, name);
    return value && is_kind(gltf, value, name, kind) ? value : 0;
}

static uint64_t read_integer(abuti_gltf *gltf, uint32_t value, const char *name) {
    if (!is_kind(gltf, value, name, ABUTI_JSON_NUMBER))
        return 0;
    double number = gltf->json.values[value].is.number;
    if (number >= 0 && number <= 0x1p53 && number == floor(number))
        return (uint64_t)number;
    abuti_gltf_fail(gltf, "'%s' is %g; it must be an integer, not negative", name, number);
    return 0;
}

uint64_t abuti_gltf_integer(abuti_gltf *gltf, uint32_t object, const char *name, uint64_t missing) {
    uint32_t value = find_member(gltf, object, name);
    return value ? read_integer(gltf, value, name) : missing;
}

/* Reads `count` numbers; false if they are missing. */
static bool read_numbers(abuti_gltf *gltf, uint32_t object, const char *name, uint32_t count,
                         double *numbers) {
    uint32_t list = abuti_gltf_member(gltf, object, name, ABUTI_JSON_LIST);
    if (!list)
        return false;
    if (gltf->json.values[list].is.count != count) {
        abuti_gltf_fail(gltf, "'%s' has %" PRIu32 " numbers; it must have %" PRIu32, name,
                        gltf->json.values[list].is.count, count);
        return false;
    }
    uint32_t value = list + 1;
    for (uint32_t i = 0; i < count; i++, value = gltf->json.values[value].next) {
        if (!is_kind(gltf, value, name, ABUTI_JSON_NUMBER))
            return false;
        numbers[i] = gltf->json.values[value].is.number;
    }
    return true;
}

uint32_t abuti_gltf_reference_of(abuti_gltf *gltf, uint32_t value, const char *name,
                                 abuti_gltf_list list) {
    uint64_t index = read_integer(gltf, value, name);
    if (!gltf->status && index >= gltf->lists[list].count)
        abuti_gltf_fail(gltf,
                        "'%s' is %" PRIu64 ", but there are only %" PRIu32 " %s, counted from 0",
                        name, index, gltf->lists[list].count, lists[list].name);
    return gltf->status ? ABUT_NONE : (uint32_t)index;
}

uint32_t abuti_gltf_reference(abuti_gltf *gltf, uint32_t object, const char *name,
                              abuti_gltf_list list) {
    uint32_t value = find_member(gltf, object, name);
    return value ? abuti_gltf_reference_of(gltf, value, name, list) : ABUT_NONE;
}

/* ---- nodes ---- */

abuti_gltf_trs abuti_gltf_read_trs(abuti_gltf *gltf, uint32_t node) {
    double m[16], t[3] = {0, 0, 0}, r[4] = {0, 0, 0, 1}, s[3] = {1, 1, 1};
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_NODES, node);
    bool has_translation = read_numbers(gltf, object, "translation", 3, t);
    bool has_rotation = read_numbers(gltf, object, "rotation", 4, r);
    bool has_scale = read_numbers(gltf, object, "scale", 3, s);
    abuti_gltf_trs here = {.translation = v3(t[0], t[1], t[2]),
                           .scale = v3(s[0], s[1], s[2]),
                           .rotation = {.x = r[0], .y = r[1], .z = r[2], .w = r[3]}};
    if (read_numbers(gltf, object, "matrix", 16, m)) { /* column-major */
        for (int i = 0; i < 3; i++)
            here.matrix.linear.row[i] = v3(m[i], m[i + 4], m[i + 8]);
        here.matrix.shift = v3(m[12], m[13], m[14]);
        here.has_matrix = true;
        if (has_translation || has_rotation || has_scale)
            abuti_gltf_fail(gltf, "has both a matrix and a translation, rotation or scale");
        /* exporters that multiply floats miss 0 and 1 by a few rounding errors */
        if (!(fabs(m[3]) + fabs(m[7]) + fabs(m[11]) + fabs(m[15] - 1) < 1e-5))
            abuti_gltf_fail(gltf, "the last row of its matrix is not 0 0 0 1");
        return here;
    }
    if (!(fabs(r[0]) + fabs(r[1]) + fabs(r[2]) + fabs(r[3]) > 0))
        abuti_gltf_fail(gltf, "its rotation is zero");
    return here;
}

abuti_affine abuti_gltf_transform(abuti_gltf *gltf, uint32_t node) {
    abuti_gltf_trs place = abuti_gltf_read_trs(gltf, node);
    abuti_affine here = {quat_matrix(place.rotation), place.translation};
    if (place.has_matrix)
        return place.matrix;
    for (int i = 0; i < 3; i++) {
        vec3 row = here.linear.row[i], s = place.scale;
        here.linear.row[i] = v3(row.x * s.x, row.y * s.y, row.z * s.z);
    }
    return here;
}

/* ---- the document ---- */

/* Extensions that change the appearance, not the mesh. */
static bool is_irrelevant_extension(const char *name, size_t length) {
    static const char *const whole[] = {"KHR_mesh_quantization", "KHR_lights_punctual",
                                        "MSFT_texture_dds", "FB_ngon_encoding"};
    static const char *const starts[] = {"KHR_materials_", "KHR_texture_", "EXT_texture_"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (length == strlen(whole[i]) && !memcmp(name, whole[i], length))
            return true;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (length > strlen(starts[i]) && !memcmp(name, starts[i], strlen(starts[i])))
            return true;
    return false;
}

/* Fails for required extensions that are not supported; logs a warning for others. */
static void check_extensions(abuti_gltf *gltf, const char *key, bool required) {
    const abuti_json_value *values = gltf->json.values;
    uint32_t list = abuti_gltf_member(gltf, 0, key, ABUTI_JSON_LIST);
    ABUTI_GLTF_EACH(gltf, i, list) {
        if (!is_kind(gltf, i, key, ABUTI_JSON_TEXT))
            return;
        const char *name = abuti_json_characters(&gltf->json, values[i].is.text.at);
        size_t length = values[i].is.text.bytes;
        int shown = length < 100 ? (int)length : 100;
        if (is_irrelevant_extension(name, length))
            continue;
        if (required) {
            abuti_gltf_fail(gltf, "needs the extension %.*s, which abut does not read", shown,
                            name);
        } else {
            abuti_log(gltf->reader->context, ABUT_LOG_WARNING,
                      "%s: uses the extension %.*s, which abut does not read", gltf->reader->name,
                      shown, name);
            return; /* one warning suffices */
        }
    }
}

/* The version must be 2.x, and the minimum version at most 2.0 (3.2). */
static void check_version(abuti_gltf *gltf) {
    uint32_t asset = abuti_gltf_member(gltf, 0, "asset", ABUTI_JSON_OBJECT);
    uint32_t version = asset ? abuti_gltf_member(gltf, asset, "version", ABUTI_JSON_TEXT) : 0;
    uint32_t minimum = asset ? abuti_gltf_member(gltf, asset, "minVersion", ABUTI_JSON_TEXT) : 0;
    if (!version) {
        abuti_gltf_fail(gltf, "%s",
                        find_member(gltf, 0, "bodies") ? "is a scene, not a mesh"
                                                       : "is not glTF: asset.version is missing");
        return;
    }
    const abuti_json_value *found = &gltf->json.values[minimum ? minimum : version];
    const char *text = abuti_json_characters(&gltf->json, found->is.text.at);
    size_t length = found->is.text.bytes;
    if (length < 2 || memcmp(text, minimum ? "2.0" : "2.", minimum && length > 2 ? 3 : 2) != 0)
        abuti_gltf_fail(gltf, "is glTF %.*s; only 2.0 can be read", length < 20 ? (int)length : 20,
                        text);
}

static void find_lists(abuti_gltf *gltf) {
    abut_context *context = gltf->reader->context;
    for (int i = 0; i < ABUTI_GLTF_LIST_COUNT && !gltf->status; i++) {
        uint32_t list = abuti_gltf_member(gltf, 0, lists[i].key, ABUTI_JSON_LIST);
        if (!list)
            continue;
        uint32_t count = gltf->json.values[list].is.count;
        gltf->lists[i].values = abuti_allocate(context, count, sizeof(uint32_t));
        if (!gltf->lists[i].values) {
            abuti_gltf_set_error(gltf, ABUT_ERROR_MEMORY);
            return;
        }
        uint32_t value = list + 1;
        for (uint32_t k = 0; k < count; k++, value = gltf->json.values[value].next) {
            gltf->lists[i].values[k] = value;
            if (!is_kind(gltf, value, lists[i].key, ABUTI_JSON_OBJECT))
                return;
        }
        gltf->lists[i].count = count;
    }
    if (gltf->status)
        return;
    gltf->buffers = abuti_allocate_zeroed(context, gltf->lists[ABUTI_GLTF_BUFFERS].count,
                                          sizeof *gltf->buffers);
    if (!gltf->buffers)
        abuti_gltf_set_error(gltf, ABUT_ERROR_MEMORY);
}

abut_status abuti_gltf_open(abuti_gltf *gltf, abuti_reader *reader, const char *path) {
    *gltf = (abuti_gltf){.reader = reader, .path = path};
    gltf->json.context = reader->context;
    abuti_gltf_load(gltf);
    if (gltf->status)
        return gltf->status;
    size_t bytes = gltf->text.count;
    while (bytes && !gltf->text.data[bytes - 1])
        bytes--; /* chunks should be padded with spaces, but some are padded with zeros */
    if (abuti_gltf_set_error(gltf, abuti_json_read(reader->context, reader->name, reader->stage,
                                                   gltf->text.data, bytes, &gltf->json)))
        return gltf->status;
    if (gltf->json.values[0].kind != ABUTI_JSON_OBJECT)
        return abuti_gltf_fail(gltf, "is not glTF: its JSON is not an object");
    check_version(gltf);
    check_extensions(gltf, "extensionsRequired", true);
    check_extensions(gltf, "extensionsUsed", false);
    find_lists(gltf);
    return gltf->status;
}

void abuti_gltf_close(abuti_gltf *gltf) {
    abut_context *context = gltf->reader->context;
    for (uint32_t i = 0; gltf->buffers && i < gltf->lists[ABUTI_GLTF_BUFFERS].count; i++)
        abuti_release(context, gltf->buffers[i].owned);
    abuti_release(context, gltf->buffers);
    for (int i = 0; i < ABUTI_GLTF_LIST_COUNT; i++)
        abuti_release(context, gltf->lists[i].values);
    abuti_json_release(&gltf->json);
    ABUTI_RELEASE(context, gltf->text.owned, gltf->binary.owned);
}

#endif
