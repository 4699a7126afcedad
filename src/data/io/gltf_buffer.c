/* The bytes of a glTF document.
 *
 * The container is JSON text or GLB (4.4), distinguished by the first bytes. Buffers are the binary
 * part of a GLB, data: URIs in base64, or files in the folder of the document or below. They are
 * read on first use, as many bytes as the document declares. Symbolic links must not lead out of
 * that folder. A size that exceeds the file or the text fails before memory is allocated.
 */
#include "base/system.h"
#include "io/gltf.h"

#ifdef ABUT_HAS_GLTF

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Reads the next `wanted` bytes of a source. Bytes that are in memory already are not copied. If
 * the size of the source is unknown (a pipe), memory grows as data arrive. */
static void load_bytes(abuti_gltf *gltf, abuti_source *source, uint64_t wanted,
                       abuti_gltf_bytes *to) {
    abut_context *context = gltf->reader->context;
    size_t room = 0, step = 1u << 16;
    if (source->descriptor < 0) {
        size_t available = (size_t)(source->end - source->at);
        to->data = source->at;
        to->count = wanted < available ? (size_t)wanted : available;
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
        if (abuti_gltf_set_error(gltf, abuti_grow(context, &to->owned, to->count, to->count + left,
                                                  1, &room)))
            return;
        size_t got = abuti_source_read(source, to->owned + to->count, left);
        to->count += got;
        step = to->count; /* a pipe, or a file that has grown since it was opened */
        if (abuti_gltf_set_error(gltf, abuti_progress(context, gltf->reader->stage, 0)))
            return;
    }
    to->data = to->owned;
    gltf->bytes += to->count;
}

#define GLB_HEADER_BYTES 12
#define CHUNK_HEADER_BYTES 8
#define CHUNK_JSON 0x4e4f534au
#define CHUNK_BINARY 0x004e4942u

/* Reads the header of the next chunk; its length is checked against the file and the header of the
 * GLB. */
static bool read_chunk_header(abuti_gltf *gltf, uint64_t *left, uint32_t *bytes, uint32_t *type) {
    abuti_source *source = &gltf->reader->source;
    if (*left < CHUNK_HEADER_BYTES)
        return false;
    if (abuti_source_fill(source, CHUNK_HEADER_BYTES) < CHUNK_HEADER_BYTES) {
        abuti_gltf_fail(gltf, "the file ends before its %s chunk; it may be truncated",
                        gltf->text.data ? "next" : "first");
        return false;
    }
    *bytes = abuti_gltf_u32(source->at);
    *type = abuti_gltf_u32(source->at + 4);
    *left -= CHUNK_HEADER_BYTES;
    source->at += CHUNK_HEADER_BYTES;
    if (*bytes > *left || *bytes > abuti_read_left(gltf->reader)) {
        abuti_gltf_fail(gltf,
                        "a chunk has %" PRIu32 " bytes by its header, but only %" PRIu64
                        " are left; it may be truncated",
                        *bytes,
                        *left < abuti_read_left(gltf->reader) ? *left
                                                              : abuti_read_left(gltf->reader));
        return false;
    }
    *left -= *bytes;
    return true;
}

static void load_chunk(abuti_gltf *gltf, uint32_t bytes, abuti_gltf_bytes *to) {
    load_bytes(gltf, &gltf->reader->source, bytes, to);
    if (to->count < bytes)
        abuti_gltf_fail(gltf, "the file ends in a chunk of %" PRIu32 " bytes; it may be truncated",
                        bytes);
}

/* GLB: a header of 12 bytes, the JSON, and perhaps the binary part. Later chunks are ignored. */
static void read_binary(abuti_gltf *gltf) {
    abuti_source *source = &gltf->reader->source;
    uint32_t bytes, type;
    if (abuti_source_fill(source, GLB_HEADER_BYTES) < GLB_HEADER_BYTES) {
        abuti_gltf_fail(gltf,
                        "the file ends in the header of a GLB (12 bytes); it may be truncated");
        return;
    }
    uint32_t version = abuti_gltf_u32(source->at + 4);
    uint64_t left = abuti_gltf_u32(source->at + 8);
    source->at += GLB_HEADER_BYTES;
    if (version != 2)
        abuti_gltf_fail(gltf, "is a GLB of version %" PRIu32 "; only version 2 is read", version);
    else if (left < GLB_HEADER_BYTES)
        abuti_gltf_fail(gltf, "has %" PRIu64 " bytes by its header, less than the header itself",
                        left);
    if (gltf->status)
        return;
    left -= GLB_HEADER_BYTES;
    if (!read_chunk_header(gltf, &left, &bytes, &type) || type != CHUNK_JSON) {
        abuti_gltf_fail(gltf, "its first chunk is not JSON");
        return;
    }
    load_chunk(gltf, bytes, &gltf->text);
    if (gltf->status || !read_chunk_header(gltf, &left, &bytes, &type) || type != CHUNK_BINARY)
        return;
    gltf->has_binary = true;
    load_chunk(gltf, bytes, &gltf->binary);
}

void abuti_gltf_load(abuti_gltf *gltf) {
    abuti_source *source = &gltf->reader->source;
    if (abuti_source_fill(source, 4) >= 4 && !memcmp(source->at, "glTF", 4))
        read_binary(gltf);
    else
        load_bytes(gltf, source, UINT64_MAX, &gltf->text);
}

/* ---- URIs ---- */

static int base64_digit(unsigned char letter) {
    return letter >= 'A' && letter <= 'Z'   ? letter - 'A'
           : letter >= 'a' && letter <= 'z' ? letter - 'a' + 26
           : letter >= '0' && letter <= '9' ? letter - '0' + 52
           : letter == '+' || letter == '-' ? 62
           : letter == '/' || letter == '_' ? 63
                                            : -1;
}

/* Decodes base64; false if it is invalid. `out` has 3 bytes for every 4 letters or part of them. */
static bool decode_base64(const unsigned char *text, size_t letters, unsigned char *out,
                          size_t *bytes) {
    uint32_t bits = 0;
    size_t count = 0;
    while (letters && text[letters - 1] == '=')
        letters--;
    for (size_t i = 0; i < letters; i++) {
        int digit = base64_digit(text[i]);
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
        abuti_gltf_set_error(gltf, ABUT_ERROR_MEMORY);
    else if (!decode_base64((const unsigned char *)uri + head, letters, to->owned, &to->count))
        abuti_gltf_fail(gltf, "its data: URI is not base64");
    else
        to->data = to->owned;
    gltf->bytes += to->count;
}

static int hex_digit(char letter) {
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
           : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                            : -1;
}

/* Decodes the percent-encoding of a URI; false if it is not the name of a file in this folder or
 * below. */
static bool decode_name(const char *uri, size_t length, char *name) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        char letter = uri[i];
        if (letter == '%') {
            int high = i + 2 < length ? hex_digit(uri[i + 1]) : -1;
            int low = i + 2 < length ? hex_digit(uri[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            letter = (char)(high << 4 | low);
            i += 2;
        } else if (letter == ':' || letter == '?' || letter == '#') {
            return false; /* a scheme, a query or a fragment */
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

/* Whether a path without symbolic links is below the folder that the first folder_bytes of another
 * path denote. */
static bool is_below(const char *target, char *path, size_t folder_bytes) {
    char kept = path[folder_bytes];
    path[folder_bytes] = 0;
    char *folder = abuti_system_real_path(folder_bytes ? path : ".");
    path[folder_bytes] = kept;
    size_t length = folder ? strlen(folder) : 0;
    while (length && folder[length - 1] == '/')
        length--;
    bool below = folder && !strncmp(target, folder, length) && target[length] == '/';
    free(folder);
    return below;
}

/* Opens a regular file below the folder of the document, also after symbolic links are resolved: a
 * document from elsewhere may contain links. A pipe would wait for its writer. */
static bool open_beside(abuti_gltf *gltf, char *path, size_t folder_bytes, abuti_source *source) {
    struct stat about;
    char *target = abuti_system_real_path(path);
    if (!target || stat(target, &about) != 0) {
        abuti_gltf_fail(gltf, "the file '%s' cannot be opened: %s", path, strerror(errno));
    } else if (!is_below(target, path, folder_bytes)) {
        abuti_gltf_fail(gltf,
                        "the file '%s' is a symbolic link out of the folder of the "
                        "document; copy it there",
                        path);
    } else if (!S_ISREG(about.st_mode)) {
        abuti_gltf_fail(gltf, "'%s' is not a regular file", path);
    } else {
        int file = abuti_system_open(ABUTI_NO_FOLDER, target, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
        abuti_gltf_set_error(gltf, abuti_source_open_descriptor(source, gltf->reader->context, file,
                                                                path));
    }
    free(target);
    return !gltf->status;
}

/* A buffer in a file beside the document. */
static void load_file(abuti_gltf *gltf, const char *uri, size_t length, uint64_t wanted,
                      abuti_gltf_bytes *to) {
    const char *slash = gltf->path ? strrchr(gltf->path, '/') : NULL;
    size_t folder = slash ? (size_t)(slash - gltf->path) + 1 : 0;
    int shown = length < 100 ? (int)length : 100;
    if (!gltf->path) {
        abuti_gltf_fail(
            gltf, "is in the file '%.*s', which a document in memory or in a pipe cannot name",
            shown, uri);
        return;
    }
    char *path = abuti_allocate(gltf->reader->context, folder + length + 1, 1);
    if (!path) {
        abuti_gltf_set_error(gltf, ABUT_ERROR_MEMORY);
        return;
    }
    memcpy(path, gltf->path, folder);
    abuti_source source;
    if (!decode_name(uri, length, path + folder)) {
        abuti_gltf_fail(gltf, "'%.*s' does not name a file in the folder of the document or below",
                        shown, uri);
    } else if (open_beside(gltf, path, folder, &source)) {
        if (source.total < wanted)
            abuti_gltf_fail(gltf, "has %" PRIu64 " bytes, but the file '%s' only %" PRIu64, wanted,
                            path, source.total);
        else
            load_bytes(gltf, &source, wanted, to);
        abuti_source_close(&source);
    }
    abuti_release(gltf->reader->context, path);
}

void abuti_gltf_load_buffer(abuti_gltf *gltf, uint32_t index) {
    abuti_gltf_bytes *to = &gltf->buffers[index];
    uint32_t object = abuti_gltf_at(gltf, ABUTI_GLTF_BUFFERS, index);
    uint64_t bytes = abuti_gltf_integer(gltf, object, "byteLength", 0);
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
        abuti_gltf_fail(gltf, "has %" PRIu64 " bytes, but only %zu are available", bytes,
                        to->count);
    if (!gltf->status && !bytes)
        abuti_gltf_fail(gltf, "has no byteLength");
    to->count = (size_t)bytes;
}

#endif
