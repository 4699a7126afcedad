/* The parts of glTF 2.0 that all readers of it need (Khronos specification 2.0.1; sections in
 * parentheses).
 *
 * Container: JSON text, or GLB (4.4), told apart by the first bytes. Buffers are the binary part of
 * a GLB, data: URIs in base64, or files in the folder of the document or below; they are read when
 * something names them, as far as the document says, and a size that the file or the text does not
 * have is refused before memory is taken.
 *
 * Accessors (3.6.2) are checked once, when opened: after that every element lies in its buffer.
 */
#include "mesh/gltf.h"

#ifdef ABUT_HAS_GLTF

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *key;  /* in the document */
    const char *name; /* of several elements, for sentences */
} lists[ABUTI_GLTF_LIST_COUNT] = {{"accessors", "accessors"}, {"bufferViews", "buffer views"},
                                  {"buffers", "buffers"},     {"meshes", "meshes"},
                                  {"nodes", "nodes"},         {"scenes", "scenes"},
                                  {"skins", "skins"}};

/* ---- failing ---- */

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

/* Keeps a failure whose sentence stands already. */
static bool failed(abuti_gltf *gltf, abut_status status) {
    if (!gltf->status)
        gltf->status = status;
    return gltf->status != ABUT_OK;
}

/* ---- members ---- */

uint32_t abuti_gltf_at(abuti_gltf *gltf, abuti_gltf_list list, uint32_t index) {
    snprintf(gltf->where, sizeof gltf->where, "%s[%" PRIu32 "]: ", lists[list].key, index);
    return gltf->lists[list].values[index];
}

/* The member of any kind; 0 where it is missing. */
static uint32_t find(abuti_gltf *gltf, uint32_t object, const char *name) {
    bool twice = false;
    if (gltf->status)
        return 0;
    uint32_t value = abuti_json_member(&gltf->json, object, name, &twice);
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
    uint32_t value = find(gltf, object, name);
    return value && is_kind(gltf, value, name, kind) ? value : 0;
}

static uint64_t whole_of(abuti_gltf *gltf, uint32_t value, const char *name) {
    if (!is_kind(gltf, value, name, ABUTI_JSON_NUMBER))
        return 0;
    double number = gltf->json.values[value].is.number;
    if (number >= 0 && number <= 0x1p53 && number == floor(number))
        return (uint64_t)number;
    abuti_gltf_fail(gltf, "'%s' is %g; it must be a whole number, not negative", name, number);
    return 0;
}

uint64_t abuti_gltf_whole(abuti_gltf *gltf, uint32_t object, const char *name, uint64_t missing) {
    uint32_t value = find(gltf, object, name);
    return value ? whole_of(gltf, value, name) : missing;
}

/* `count` numbers; whether they are there. */
static bool numbers_of(abuti_gltf *gltf, uint32_t object, const char *name, uint32_t count,
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
    uint64_t index = whole_of(gltf, value, name);
    if (!gltf->status && index >= gltf->lists[list].count)
        abuti_gltf_fail(gltf,
                        "'%s' is %" PRIu64 ", but there are only %" PRIu32 " %s, counted from 0",
                        name, index, gltf->lists[list].count, lists[list].name);
    return gltf->status ? ABUT_NONE : (uint32_t)index;
}

uint32_t abuti_gltf_reference(abuti_gltf *gltf, uint32_t object, const char *name,
                              abuti_gltf_list list) {
    uint32_t value = find(gltf, object, name);
    return value ? abuti_gltf_reference_of(gltf, value, name, list) : ABUT_NONE;
}

/* ---- bytes ---- */

/* Takes the next `wanted` bytes of a source. Memory that is readable already is not copied. Where
 * the size of the source is unknown (a pipe), memory grows with what arrives. */
static void load(abuti_gltf *gltf, abuti_source *source, uint64_t wanted, abuti_gltf_bytes *to) {
    abut_context *context = gltf->reader->context;
    size_t room = 0, step = 1u << 16;
    if (source->descriptor < 0) {
        size_t there = (size_t)(source->end - source->at);
        to->data = source->at;
        to->count = wanted < there ? (size_t)wanted : there;
        source->at += to->count;
        gltf->bytes += to->count;
        return;
    }
    uint64_t offset = abuti_source_offset(source);
    if (source->total > offset)
        step = (size_t)(wanted < source->total - offset ? wanted : source->total - offset);
    step = step ? step : 1;
    while (to->count < wanted && abuti_source_fill(source, 1)) {
        size_t left = (size_t)(wanted - to->count < step ? wanted - to->count : step);
        if (failed(gltf, abuti_grow(context, &to->owned, to->count, to->count + left, 1, &room)))
            return;
        size_t got = abuti_source_read(source, to->owned + to->count, left);
        to->count += got;
        step = to->count; /* a pipe, or a file that has grown since it was opened */
        if (failed(gltf, abuti_progress(context, gltf->reader->stage, 0)))
            return;
    }
    to->data = to->owned;
    gltf->bytes += to->count;
}

static uint32_t read_u32(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

#define GLB_HEAD 12
#define CHUNK_HEAD 8
#define CHUNK_JSON 0x4e4f534au
#define CHUNK_BINARY 0x004e4942u

/* The head of the next chunk; its bytes are checked against those of the file and of the head. */
static bool chunk_head(abuti_gltf *gltf, uint64_t *left, uint32_t *bytes, uint32_t *type) {
    abuti_source *source = &gltf->reader->source;
    if (*left < CHUNK_HEAD)
        return false;
    if (abuti_source_fill(source, CHUNK_HEAD) < CHUNK_HEAD) {
        abuti_gltf_fail(gltf, "the file ends before its %s chunk; it may be cut off",
                        gltf->text.data ? "next" : "first");
        return false;
    }
    *bytes = read_u32(source->at);
    *type = read_u32(source->at + 4);
    *left -= CHUNK_HEAD;
    source->at += CHUNK_HEAD;
    if (*bytes > *left || *bytes > abuti_read_left(gltf->reader)) {
        abuti_gltf_fail(gltf,
                        "a chunk of %" PRIu32 " bytes by its head, but only %" PRIu64
                        " are left; it may be cut off",
                        *bytes,
                        *left < abuti_read_left(gltf->reader) ? *left
                                                              : abuti_read_left(gltf->reader));
        return false;
    }
    *left -= *bytes;
    return true;
}

static void load_chunk(abuti_gltf *gltf, uint32_t bytes, abuti_gltf_bytes *to) {
    load(gltf, &gltf->reader->source, bytes, to);
    if (to->count < bytes)
        abuti_gltf_fail(gltf, "the file ends in a chunk of %" PRIu32 " bytes; it may be cut off",
                        bytes);
}

/* GLB: a head of 12 bytes, the JSON, and perhaps the binary part. Later chunks are not ours. */
static void read_binary(abuti_gltf *gltf) {
    abuti_source *source = &gltf->reader->source;
    uint32_t bytes, type;
    if (abuti_source_fill(source, GLB_HEAD) < GLB_HEAD) {
        abuti_gltf_fail(gltf, "the file ends in the head of a GLB (12 bytes); it may be cut off");
        return;
    }
    uint32_t version = read_u32(source->at + 4);
    uint64_t left = read_u32(source->at + 8);
    source->at += GLB_HEAD;
    if (version != 2)
        abuti_gltf_fail(gltf, "is a GLB of version %" PRIu32 "; only version 2 is read", version);
    else if (left < GLB_HEAD)
        abuti_gltf_fail(gltf, "has %" PRIu64 " bytes by its head, less than the head itself", left);
    if (gltf->status)
        return;
    left -= GLB_HEAD;
    if (!chunk_head(gltf, &left, &bytes, &type) || type != CHUNK_JSON) {
        abuti_gltf_fail(gltf, "its first chunk is not JSON");
        return;
    }
    load_chunk(gltf, bytes, &gltf->text);
    if (gltf->status || !chunk_head(gltf, &left, &bytes, &type) || type != CHUNK_BINARY)
        return;
    gltf->has_binary = true;
    load_chunk(gltf, bytes, &gltf->binary);
}

/* ---- URIs ---- */

static int digit64(unsigned char letter) {
    return letter >= 'A' && letter <= 'Z'   ? letter - 'A'
           : letter >= 'a' && letter <= 'z' ? letter - 'a' + 26
           : letter >= '0' && letter <= '9' ? letter - '0' + 52
           : letter == '+' || letter == '-' ? 62
           : letter == '/' || letter == '_' ? 63
                                            : -1;
}

/* Decodes base64; false where it is not. `out` has room for 3 bytes for each 4 letters begun. */
static bool decode64(const unsigned char *text, size_t letters, unsigned char *out, size_t *bytes) {
    uint32_t bits = 0;
    size_t count = 0;
    while (letters && text[letters - 1] == '=')
        letters--;
    for (size_t i = 0; i < letters; i++) {
        int digit = digit64(text[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4)
            out[count++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    *bytes = count;
    return letters % 4 != 1;
}

/* A buffer in the text itself: "data:<type>;base64,<letters>". */
static void load_data(abuti_gltf *gltf, const char *uri, size_t length, abuti_gltf_bytes *to) {
    static const char mark[] = ";base64,";
    const char *comma = memchr(uri, ',', length);
    size_t head = comma ? (size_t)(comma - uri) + 1 : 0;
    if (head < sizeof mark - 1 ||
        memcmp(uri + head - (sizeof mark - 1), mark, sizeof mark - 1) != 0) {
        abuti_gltf_fail(gltf, "its data: URI is not in base64");
        return;
    }
    size_t letters = length - head;
    to->owned = abuti_allocate(gltf->reader->context, letters / 4 + 1, 3);
    if (!to->owned)
        failed(gltf, ABUT_ERROR_MEMORY);
    else if (!decode64((const unsigned char *)uri + head, letters, to->owned, &to->count))
        abuti_gltf_fail(gltf, "its data: URI is not base64");
    else
        to->data = to->owned;
    gltf->bytes += to->count;
}

static int digit16(char letter) {
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
           : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                            : -1;
}

/* Writes a URI with its %20 and the like decoded; false where it is not a name of a file in this
 * folder or below. */
static bool decode_name(const char *uri, size_t length, char *name) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        char letter = uri[i];
        if (letter == '%') {
            int high = i + 2 < length ? digit16(uri[i + 1]) : -1;
            int low = i + 2 < length ? digit16(uri[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            letter = (char)(high << 4 | low);
            i += 2;
        } else if (letter == ':' || letter == '?' || letter == '#') {
            return false; /* a scheme, or a part of what a name leads to */
        }
        if (!letter || letter == '\\')
            return false;
        name[count++] = letter;
    }
    name[count] = 0;
    if (!count || name[0] == '/')
        return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
            return false;
    }
    return true;
}

/* Opens a regular file; a pipe would let us wait for its writer. */
static bool open_beside(abuti_gltf *gltf, const char *path, abuti_source *source) {
    struct stat about;
    if (stat(path, &about) != 0)
        abuti_gltf_fail(gltf, "the file '%s' cannot be opened: %s", path, strerror(errno));
    else if (!S_ISREG(about.st_mode))
        abuti_gltf_fail(gltf, "'%s' is no regular file", path);
    else
        return !failed(gltf, abuti_source_open(source, gltf->reader->context, path));
    return false;
}

/* A buffer in a file beside the document. */
static void load_file(abuti_gltf *gltf, const char *uri, size_t length, uint64_t wanted,
                      abuti_gltf_bytes *to) {
    const char *slash = gltf->path ? strrchr(gltf->path, '/') : NULL;
    size_t folder = slash ? (size_t)(slash - gltf->path) + 1 : 0;
    int shown = length < 100 ? (int)length : 100;
    if (!gltf->path) {
        abuti_gltf_fail(gltf, "is in the file '%.*s', which a document in memory cannot name",
                        shown, uri);
        return;
    }
    char *path = abuti_allocate(gltf->reader->context, folder + length + 1, 1);
    if (!path) {
        failed(gltf, ABUT_ERROR_MEMORY);
        return;
    }
    memcpy(path, gltf->path, folder);
    abuti_source source;
    if (!decode_name(uri, length, path + folder)) {
        abuti_gltf_fail(gltf, "'%.*s' does not name a file in the folder of the document or below",
                        shown, uri);
    } else if (open_beside(gltf, path, &source)) {
        if (source.total < wanted)
            abuti_gltf_fail(gltf, "has %" PRIu64 " bytes, but the file '%s' only %" PRIu64, wanted,
                            path, source.total);
        else
            load(gltf, &source, wanted, to);
        abuti_source_close(&source);
    }
    abuti_release(gltf->reader->context, path);
}

/* The bytes of a buffer, at least as many as it says. */
static void load_buffer(abuti_gltf *gltf, uint32_t index) {
    abuti_gltf_bytes *to = &gltf->buffers[index];
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_BUFFERS, index);
    uint64_t bytes = abuti_gltf_whole(gltf, object, "byteLength", 0);
    uint32_t uri = abuti_gltf_member(gltf, object, "uri", ABUTI_JSON_TEXT);
    if (gltf->status)
        return;
    if (uri) {
        const char *text = abuti_json_characters(&gltf->json, gltf->json.values[uri].is.text.at);
        size_t length = gltf->json.values[uri].is.text.bytes;
        if (length >= 5 && !memcmp(text, "data:", 5))
            load_data(gltf, text, length, to);
        else
            load_file(gltf, text, length, bytes, to);
    } else if (index == 0 && gltf->has_binary) {
        to->data = gltf->binary.data;
        to->count = gltf->binary.count;
    } else {
        abuti_gltf_fail(gltf, "has no bytes: neither a uri nor the binary part of a GLB");
    }
    if (!gltf->status && to->count < bytes)
        abuti_gltf_fail(gltf, "has %" PRIu64 " bytes, but only %zu are there", bytes, to->count);
    if (!gltf->status && !bytes)
        abuti_gltf_fail(gltf, "has no byteLength");
    to->count = (size_t)bytes;
}

/* ---- accessors ---- */

typedef struct component_kind {
    uint32_t bytes; /* 0 = unknown */
    double whole;   /* what 1 is of normalized integers */
} component_kind;

static component_kind component_of(uint64_t type) {
    switch (type) {
    case 5120:
        return (component_kind){1, 127};
    case 5121:
        return (component_kind){1, 255};
    case 5122:
        return (component_kind){2, 32767};
    case 5123:
        return (component_kind){2, 65535};
    case 5125:
    case 5126:
        return (component_kind){4, 0};
    default:
        return (component_kind){0, 0};
    }
}

static double component_at(const unsigned char *at, uint32_t type) {
    uint32_t wide;
    float single;
    switch (type) {
    case 5120:
        return at[0] < 128 ? at[0] : at[0] - 256.0;
    case 5121:
        return at[0];
    case 5122:
    case 5123:
        wide = (uint32_t)(at[0] | at[1] << 8);
        return type == 5122 && wide > 32767 ? wide - 65536.0 : wide;
    case 5125:
        return read_u32(at);
    default:
        wide = read_u32(at);
        memcpy(&single, &wide, sizeof single);
        return single;
    }
}

/* `bytes` bytes of `count` elements at `offset` of a buffer view. A `stride` of 0 asks for that of
 * the view, and gets it, or packed elements. */
static const unsigned char *view(abuti_gltf *gltf, uint32_t index, uint64_t offset, uint64_t count,
                                 uint32_t bytes, size_t *stride) {
    char where[sizeof gltf->where];
    if (gltf->status)
        return NULL;
    memcpy(where, gltf->where, sizeof where);
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_VIEWS, index);
    uint32_t buffer = abuti_gltf_reference(gltf, object, "buffer", ABUTI_GLTF_BUFFERS);
    uint64_t begin = abuti_gltf_whole(gltf, object, "byteOffset", 0);
    uint64_t length = abuti_gltf_whole(gltf, object, "byteLength", 0);
    uint64_t apart = abuti_gltf_whole(gltf, object, "byteStride", 0);
    if (!gltf->status && buffer == ABUT_NONE)
        abuti_gltf_fail(gltf, "names no buffer");
    if (!gltf->status && apart && apart < bytes)
        abuti_gltf_fail(gltf,
                        "its byteStride is %" PRIu64 ", but its elements have %" PRIu32 " bytes",
                        apart, bytes);
    apart = apart && !*stride ? apart : bytes;
    if (!gltf->status && !gltf->buffers[buffer].data)
        load_buffer(gltf, buffer);
    if (gltf->status)
        return NULL;
    abuti_gltf_at(gltf, ABUTI_GLTF_VIEWS, index);
    size_t there = gltf->buffers[buffer].count;
    if (begin > there || length > there - begin) {
        abuti_gltf_fail(gltf,
                        "is bytes %" PRIu64 " to %" PRIu64 " of buffer %" PRIu32
                        ", which has only %zu",
                        begin, begin + length, buffer, there);
        return NULL;
    }
    memcpy(gltf->where, where, sizeof where);
    /* a count of 2^53 at a stride of 2^53 would not fit 64 bits */
    if (offset > length ||
        (count && (bytes > length - offset || (count - 1) > (length - offset - bytes) / apart))) {
        abuti_gltf_fail(gltf,
                        "%" PRIu64 " elements of %" PRIu32 " bytes, %" PRIu64
                        " apart, from byte %" PRIu64 " on do not fit bufferViews[%" PRIu32
                        "], which has %" PRIu64 " bytes",
                        count, bytes, apart, offset, index, length);
        return NULL;
    }
    *stride = (size_t)apart;
    return gltf->buffers[buffer].data + begin + offset;
}

static uint32_t sparse_index(const abuti_gltf_accessor *accessor, uint32_t i) {
    const unsigned char *at =
        accessor->sparse_indices + (size_t)i * component_of(accessor->sparse_component).bytes;
    return (uint32_t)component_at(at, accessor->sparse_component);
}

/* Elements that replace others (3.6.2.3). */
static void open_sparse(abuti_gltf *gltf, uint32_t object, uint32_t bytes,
                        abuti_gltf_accessor *accessor) {
    uint64_t count = abuti_gltf_whole(gltf, object, "count", 0);
    uint32_t indices = abuti_gltf_member(gltf, object, "indices", ABUTI_JSON_OBJECT);
    uint32_t values = abuti_gltf_member(gltf, object, "values", ABUTI_JSON_OBJECT);
    if (!gltf->status && (!count || count > accessor->count || !indices || !values))
        abuti_gltf_fail(gltf,
                        "its sparse part must have indices, values and a count from 1 to that of "
                        "the accessor");
    if (gltf->status)
        return;
    uint64_t type = abuti_gltf_whole(gltf, indices, "componentType", 0);
    if (!gltf->status && type != 5121 && type != 5123 && type != 5125)
        abuti_gltf_fail(gltf, "its sparse indices have componentType %" PRIu64, type);
    uint32_t index_view = abuti_gltf_reference(gltf, indices, "bufferView", ABUTI_GLTF_VIEWS);
    uint32_t value_view = abuti_gltf_reference(gltf, values, "bufferView", ABUTI_GLTF_VIEWS);
    if (!gltf->status && (index_view == ABUT_NONE || value_view == ABUT_NONE))
        abuti_gltf_fail(gltf, "its sparse part names no buffer view");
    if (gltf->status)
        return;
    size_t packed = 1;
    accessor->sparse_component = (uint32_t)type;
    accessor->sparse_indices =
        view(gltf, index_view, abuti_gltf_whole(gltf, indices, "byteOffset", 0), count,
             component_of(type).bytes, &packed);
    packed = 1;
    accessor->sparse_values =
        view(gltf, value_view, abuti_gltf_whole(gltf, values, "byteOffset", 0), count, bytes,
             &packed);
    if (gltf->status)
        return;
    accessor->sparse_count = (uint32_t)count;
    for (uint32_t i = 0, last = 0; i < count; i++) {
        uint32_t index = sparse_index(accessor, i);
        if (index >= accessor->count || (i && index <= last)) {
            abuti_gltf_fail(gltf,
                            "its sparse indices must ascend and stay below %" PRIu32 "; %" PRIu32
                            " does not",
                            accessor->count, index);
            return;
        }
        last = index;
    }
}

/* The type of an accessor, and how many components it has. */
static uint32_t components_of(abuti_gltf *gltf, uint32_t object, const char *wanted) {
    static const char *const types[] = {"SCALAR", "VEC2", "VEC3", "VEC4", "MAT4"};
    static const uint32_t counts[] = {1, 2, 3, 4, 16};
    uint32_t value = abuti_gltf_member(gltf, object, "type", ABUTI_JSON_TEXT);
    if (value && !abuti_json_is(&gltf->json, gltf->json.values[value].is.text.at,
                                gltf->json.values[value].is.text.bytes, wanted))
        value = 0;
    if (!value)
        abuti_gltf_fail(gltf, "its type must be %s here", wanted);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i], wanted))
            return counts[i];
    return 0;
}

abuti_gltf_accessor abuti_gltf_accessor_open(abuti_gltf *gltf, uint32_t index, const char *type) {
    const abuti_gltf_accessor none = {0};
    abuti_gltf_accessor accessor = {0};
    if (gltf->status)
        return none;
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_ACCESSORS, index);
    uint64_t count = abuti_gltf_whole(gltf, object, "count", 0);
    uint64_t component = abuti_gltf_whole(gltf, object, "componentType", 0);
    uint64_t offset = abuti_gltf_whole(gltf, object, "byteOffset", 0);
    uint32_t normalized = abuti_gltf_member(gltf, object, "normalized", ABUTI_JSON_BOOLEAN);
    uint32_t from = abuti_gltf_reference(gltf, object, "bufferView", ABUTI_GLTF_VIEWS);
    uint32_t sparse = abuti_gltf_member(gltf, object, "sparse", ABUTI_JSON_OBJECT);
    accessor.component_count = components_of(gltf, object, type);
    accessor.normalized = normalized && gltf->json.values[normalized].is.number != 0;
    uint32_t bytes = component_of(component).bytes * accessor.component_count;
    if (!gltf->status && !bytes)
        abuti_gltf_fail(gltf, "its componentType is %" PRIu64 ", which glTF 2.0 does not have",
                        component);
    if (!gltf->status && (!count || count > ABUT_NONE - 1))
        abuti_gltf_fail(gltf, "its count is %" PRIu64 "; it must be from 1 to %u", count,
                        ABUT_NONE - 1);
    if (!gltf->status && accessor.normalized && !(component_of(component).whole > 0))
        abuti_gltf_fail(gltf, "is normalized, which integers of 8 and 16 bits can be alone");
    if (!gltf->status && from == ABUT_NONE && !sparse)
        abuti_gltf_fail(gltf, "has no data: neither a buffer view nor a sparse part");
    if (gltf->status)
        return none;
    accessor.component = (uint32_t)component;
    accessor.count = (uint32_t)count;
    if (from != ABUT_NONE)
        accessor.data = view(gltf, from, offset, count, bytes, &accessor.stride);
    if (sparse)
        open_sparse(gltf, sparse, bytes, &accessor);
    return gltf->status ? none : accessor;
}

/* Which of the sparse elements stands for this one; null where none does. */
static const unsigned char *sparse_find(const abuti_gltf_accessor *accessor, uint32_t index) {
    uint32_t low = 0, high = accessor->sparse_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sparse_index(accessor, middle) < index)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == accessor->sparse_count || sparse_index(accessor, low) != index)
        return NULL;
    return accessor->sparse_values +
           (size_t)low * accessor->component_count * component_of(accessor->component).bytes;
}

void abuti_gltf_get(const abuti_gltf_accessor *accessor, uint32_t index, double *components) {
    const unsigned char *at = accessor->sparse_count ? sparse_find(accessor, index) : NULL;
    component_kind kind = component_of(accessor->component);
    if (!at && accessor->data)
        at = accessor->data + (size_t)index * accessor->stride;
    for (uint32_t i = 0; i < accessor->component_count; i++) {
        double value = at ? component_at(at + (size_t)i * kind.bytes, accessor->component) : 0;
        if (accessor->normalized)
            value = value < -kind.whole ? -1 : value / kind.whole;
        components[i] = value;
    }
}

/* ---- nodes ---- */

abuti_gltf_affine abuti_gltf_transform(abuti_gltf *gltf, uint32_t node) {
    double m[16], t[3] = {0, 0, 0}, r[4] = {0, 0, 0, 1}, s[3] = {1, 1, 1};
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_NODES, node);
    bool moved = numbers_of(gltf, object, "translation", 3, t);
    bool turned = numbers_of(gltf, object, "rotation", 4, r);
    bool scaled = numbers_of(gltf, object, "scale", 3, s);
    abuti_gltf_affine here = {.shift = v3(t[0], t[1], t[2])};
    if (numbers_of(gltf, object, "matrix", 16, m)) { /* by columns */
        for (int i = 0; i < 3; i++)
            here.linear.row[i] = v3(m[i], m[i + 4], m[i + 8]);
        here.shift = v3(m[12], m[13], m[14]);
        if (moved || turned || scaled)
            abuti_gltf_fail(gltf, "has a matrix, and a translation, rotation or scale beside it");
        /* exporters that multiply floats miss 0 and 1 by a few roundings */
        if (!(fabs(m[3]) + fabs(m[7]) + fabs(m[11]) + fabs(m[15] - 1) < 1e-5))
            abuti_gltf_fail(gltf, "the last row of its matrix is not 0 0 0 1");
        return here;
    }
    if (!(fabs(r[0]) + fabs(r[1]) + fabs(r[2]) + fabs(r[3]) > 0))
        abuti_gltf_fail(gltf, "its rotation is zero");
    quat rotation = {.x = r[0], .y = r[1], .z = r[2], .w = r[3]};
    here.linear = quat_matrix(rotation);
    for (int i = 0; i < 3; i++) {
        vec3 row = here.linear.row[i];
        here.linear.row[i] = v3(row.x * s[0], row.y * s[1], row.z * s[2]);
    }
    return here;
}

/* ---- the document ---- */

/* What a mesh does not change by: how it looks. */
static bool is_known(const char *name, size_t length) {
    static const char *const whole[] = {"KHR_mesh_quantization", "KHR_lights_punctual",
                                        "MSFT_texture_dds"};
    static const char *const starts[] = {"KHR_materials_", "KHR_texture_", "EXT_texture_"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (length == strlen(whole[i]) && !memcmp(name, whole[i], length))
            return true;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (length > strlen(starts[i]) && !memcmp(name, starts[i], strlen(starts[i])))
            return true;
    return false;
}

static void check_extensions(abuti_gltf *gltf) {
    uint32_t list = abuti_gltf_member(gltf, 0, "extensionsRequired", ABUTI_JSON_LIST);
    if (!list)
        return;
    const abuti_json_value *values = gltf->json.values;
    for (uint32_t i = list + 1; i < values[list].next && !gltf->status; i = values[i].next) {
        if (!is_kind(gltf, i, "extensionsRequired", ABUTI_JSON_TEXT))
            return;
        const char *name = abuti_json_characters(&gltf->json, values[i].is.text.at);
        size_t length = values[i].is.text.bytes;
        if (!is_known(name, length))
            abuti_gltf_fail(gltf, "needs the extension %.*s, which abut does not read",
                            length < 100 ? (int)length : 100, name);
    }
}

/* The version must be 2.x, and no later one be needed (3.2). */
static void check_version(abuti_gltf *gltf) {
    uint32_t asset = abuti_gltf_member(gltf, 0, "asset", ABUTI_JSON_OBJECT);
    uint32_t version = asset ? abuti_gltf_member(gltf, asset, "version", ABUTI_JSON_TEXT) : 0;
    uint32_t least = asset ? abuti_gltf_member(gltf, asset, "minVersion", ABUTI_JSON_TEXT) : 0;
    if (!version) {
        abuti_gltf_fail(gltf, "is not glTF: asset.version is missing");
        return;
    }
    const abuti_json_value *found = &gltf->json.values[least ? least : version];
    const char *text = abuti_json_characters(&gltf->json, found->is.text.at);
    size_t length = found->is.text.bytes;
    if (length < 2 || memcmp(text, least ? "2.0" : "2.", least && length > 2 ? 3 : 2) != 0)
        abuti_gltf_fail(gltf, "is glTF %.*s; 2.0 is what can be read",
                        length < 20 ? (int)length : 20, text);
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
            failed(gltf, ABUT_ERROR_MEMORY);
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
        failed(gltf, ABUT_ERROR_MEMORY);
}

abut_status abuti_gltf_open(abuti_gltf *gltf, abuti_reader *reader, const char *path) {
    abuti_source *source = &reader->source;
    *gltf = (abuti_gltf){.reader = reader, .path = path};
    gltf->json.context = reader->context;
    if (abuti_source_fill(source, 4) >= 4 && !memcmp(source->at, "glTF", 4))
        read_binary(gltf);
    else
        load(gltf, source, UINT64_MAX, &gltf->text);
    if (gltf->status)
        return gltf->status;
    size_t bytes = gltf->text.count;
    while (bytes && !gltf->text.data[bytes - 1])
        bytes--; /* chunks are to be filled up with spaces, but some are with zeros */
    if (failed(gltf, abuti_json_read(reader->context, reader->name, reader->stage, reader->locale,
                                     gltf->text.data, bytes, &gltf->json)))
        return gltf->status;
    if (gltf->json.values[0].kind != ABUTI_JSON_OBJECT)
        return abuti_gltf_fail(gltf, "is not glTF: its JSON is no object");
    check_version(gltf);
    check_extensions(gltf);
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
    abuti_release(context, gltf->text.owned);
    abuti_release(context, gltf->binary.owned);
}

#endif
