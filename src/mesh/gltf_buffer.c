/* The bytes of a glTF document.
 *
 * Container: JSON text, or GLB (4.4), told apart by the first bytes. Buffers are the binary part of
 * a GLB, data: URIs in base64, or files in the folder of the document or below; they are read when
 * something names them, as far as the document says. Symbolic links must not lead out of that
 * folder. A size that the file or the text does not have is refused before memory is taken.
 */
#include "base/system.h"
#include "mesh/gltf.h"

#ifdef ABUT_HAS_GLTF

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
        if (abuti_gltf_keep(gltf,
                            abuti_grow(context, &to->owned, to->count, to->count + left, 1, &room)))
            return;
        size_t got = abuti_source_read(source, to->owned + to->count, left);
        to->count += got;
        step = to->count; /* a pipe, or a file that has grown since it was opened */
        if (abuti_gltf_keep(gltf, abuti_progress(context, gltf->reader->stage, 0)))
            return;
    }
    to->data = to->owned;
    gltf->bytes += to->count;
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
    *bytes = abuti_gltf_u32(source->at);
    *type = abuti_gltf_u32(source->at + 4);
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
    uint32_t version = abuti_gltf_u32(source->at + 4);
    uint64_t left = abuti_gltf_u32(source->at + 8);
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

void abuti_gltf_load(abuti_gltf *gltf) {
    abuti_source *source = &gltf->reader->source;
    if (abuti_source_fill(source, 4) >= 4 && !memcmp(source->at, "glTF", 4))
        read_binary(gltf);
    else
        load(gltf, source, UINT64_MAX, &gltf->text);
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
        abuti_gltf_keep(gltf, ABUT_ERROR_MEMORY);
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

/* Whether a path without symbolic links is below the folder that the first bytes of another path
 * name. */
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

/* Opens a regular file below the folder of the document, also after symbolic links were followed: a
 * document from elsewhere may come with links of its own. A pipe would wait for its writer. */
static bool open_beside(abuti_gltf *gltf, char *path, size_t folder_bytes, abuti_source *source) {
    struct stat about;
    char *target = abuti_system_real_path(path);
    if (!target || stat(target, &about) != 0) {
        abuti_gltf_fail(gltf, "the file '%s' cannot be opened: %s", path, strerror(errno));
    } else if (!is_below(target, path, folder_bytes)) {
        abuti_gltf_fail(gltf,
                        "the file '%s' is reached by a symbolic link out of the folder of the "
                        "document; copy it there",
                        path);
    } else if (!S_ISREG(about.st_mode)) {
        abuti_gltf_fail(gltf, "'%s' is no regular file", path);
    } else {
        int file = abuti_system_open(ABUTI_NO_FOLDER, target, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
        abuti_gltf_keep(gltf,
                        abuti_source_open_descriptor(source, gltf->reader->context, file, path));
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
        abuti_gltf_keep(gltf, ABUT_ERROR_MEMORY);
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
            load(gltf, &source, wanted, to);
        abuti_source_close(&source);
    }
    abuti_release(gltf->reader->context, path);
}

void abuti_gltf_load_buffer(abuti_gltf *gltf, uint32_t index) {
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

#endif
