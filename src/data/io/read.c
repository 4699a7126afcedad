/* Reading mesh files: finds the format, calls its reader, creates the mesh. */
#include "io/files.h"

#include <string.h>

/* ---- format ---- */

/* The ending of a name without its dot, in lower case; empty if there is none. */
static void ending_of(const char *name, char *ending, size_t bytes) {
    const char *slash = name ? strrchr(name, '/') : NULL;
    const char *base = slash ? slash + 1 : name;
    const char *dot = base ? strrchr(base, '.') : NULL;
    size_t length = 0;
    for (dot = dot ? dot + 1 : ""; dot[length] && length + 1 < bytes; length++)
        ending[length] =
            (char)(dot[length] >= 'A' && dot[length] <= 'Z' ? dot[length] + 32 : dot[length]);
    ending[dot[length] ? 0 : length] = 0; /* longer than any known ending */
}

/* The formats that are read here, by their value. The name is also the ending. */
static const struct {
    const char *name;
    abuti_format_reader *read;
} formats[] = {[ABUT_MESH_FORMAT_AUTO] = {"auto", NULL},
               [ABUT_MESH_FORMAT_OBJ] = {"obj", abuti_read_obj},
               [ABUT_MESH_FORMAT_PLY] = {"ply", abuti_read_ply},
               [ABUT_MESH_FORMAT_STL] = {"stl", abuti_read_stl},
               [ABUT_MESH_FORMAT_OFF] = {"off", abuti_read_off},
               [ABUT_MESH_FORMAT_GLTF] = {"gltf", abuti_read_gltf},
               [ABUT_MESH_FORMAT_OTHER] = {"other", NULL}};

static abut_mesh_format format_of_ending(const char *ending) {
    for (int i = 0; i <= ABUT_MESH_FORMAT_OTHER; i++)
        if (formats[i].read && !strcmp(ending, formats[i].name))
            return (abut_mesh_format)i;
    return strcmp(ending, "glb") ? ABUT_MESH_FORMAT_AUTO : ABUT_MESH_FORMAT_GLTF;
}

abut_mesh_format abuti_mesh_format_of_name(const char *name) {
    char ending[16];
    ending_of(name, ending, sizeof ending);
    return format_of_ending(ending);
}

/* Whether the first line that is neither empty nor a comment is a statement of OBJ. */
static bool looks_like_obj(const unsigned char *p, const unsigned char *end) {
    static const char *const words[] = {"v", "vn", "vt",     "vp",     "f", "o",
                                        "g", "s",  "mtllib", "usemtl", "l", "p"};
    if (end - p >= 5 && !memcmp(p, "#VRML", 5))
        return false;
    bool comment = false;
    while (p < end && (abuti_is_space(*p) || *p == '#')) {
        comment = comment || *p == '#';
        if (*p == '#')
            while (p < end && !abuti_is_line_end(*p))
                p++;
        else
            p++;
    }
    if (p == end)
        return comment; /* only comments in the visible bytes */
    size_t length = 0;
    while (p + length < end && !abuti_is_space(p[length]))
        length++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && !memcmp(p, words[i], length))
            return true;
    return false;
}

/* GLB by its first word, or JSON; no other supported format begins with a brace. */
static bool looks_like_gltf(const unsigned char *p, const unsigned char *end) {
    if (end - p >= 4 && !memcmp(p, "glTF", 4))
        return true;
    while (p < end && abuti_is_space(*p))
        p++;
    return p < end && *p == '{';
}

/* For a pipe, whose size is unknown: bytes that are not text, and none of the other binary formats,
 * which all begin with their name. */
static bool looks_like_binary_stl(const unsigned char *p, size_t visible) {
    return visible >= 84 && memchr(p, 0, 84) && memcmp(p, "glTF", 4) &&
           memcmp(p, "Kaydara FBX", 11) && memcmp(p, "3ds", 3) && memcmp(p, "BLENDER", 7);
}

static abut_mesh_format format_of_bytes(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    size_t visible = abuti_source_fill(source, ABUTI_SOURCE_LOOKAHEAD);
    const unsigned char *p = source->at;
    if (visible > ABUTI_SOURCE_LOOKAHEAD)
        visible = ABUTI_SOURCE_LOOKAHEAD;
    if (visible >= 4 && !memcmp(p, "ply", 3) && abuti_is_space(p[3]))
        return ABUT_MESH_FORMAT_PLY;
    if (abuti_off_starts(p, visible))
        return ABUT_MESH_FORMAT_OFF;
    if (!source->total && source->descriptor >= 0 && looks_like_binary_stl(p, visible))
        return ABUT_MESH_FORMAT_STL;
    if (abuti_stl_size_fits(reader) || (visible >= 5 && !memcmp(p, "solid", 5)))
        return ABUT_MESH_FORMAT_STL;
    if (looks_like_gltf(p, p + visible))
        return ABUT_MESH_FORMAT_GLTF;
    return looks_like_obj(p, p + visible) ? ABUT_MESH_FORMAT_OBJ : ABUT_MESH_FORMAT_AUTO;
}

static abut_mesh_format choose_format(abuti_reader *reader, const char *name) {
    char ending[16];
    ending_of(name, ending, sizeof ending);
    abut_mesh_format format = format_of_ending(ending);
    return format != ABUT_MESH_FORMAT_AUTO ? format : format_of_bytes(reader);
}

/* The known format with which an invalid file begins, as text for the message; null if unknown. */
static const char *beginning_of(abuti_reader *reader, abut_mesh_format format) {
    static const struct {
        const char *bytes, *words;
        abut_mesh_format format;
    } known[] = {{"ply\n", "PLY does: set that format, or rename the file", ABUT_MESH_FORMAT_PLY},
                 {"ply\r", "PLY does: set that format, or rename the file", ABUT_MESH_FORMAT_PLY},
                 {"OFF\n", "OFF does: set that format, or rename the file", ABUT_MESH_FORMAT_OFF},
                 {"solid ", "STL does: set that format, or rename the file", ABUT_MESH_FORMAT_STL},
                 {"glTF", "glTF does: set that format, or rename the file", ABUT_MESH_FORMAT_GLTF},
                 {"\x89PNG", "a PNG picture does", ABUT_MESH_FORMAT_AUTO},
                 {"\xff\xd8\xff", "a JPEG picture does", ABUT_MESH_FORMAT_AUTO},
                 {"%PDF", "PDF does", ABUT_MESH_FORMAT_AUTO},
                 {"<", "XML or HTML does", ABUT_MESH_FORMAT_AUTO},
                 {"PK\3\4", "a ZIP archive does: unpack it", ABUT_MESH_FORMAT_AUTO},
                 {"\x1f\x8b", "gzip does: unpack it", ABUT_MESH_FORMAT_AUTO},
                 {"\x28\xb5\x2f\xfd", "zstd does: unpack it", ABUT_MESH_FORMAT_AUTO},
                 {"BZh", "bzip2 does: unpack it", ABUT_MESH_FORMAT_AUTO},
                 {"\xfd"
                  "7zXZ",
                  "xz does: unpack it", ABUT_MESH_FORMAT_AUTO},
                 {"Kaydara FBX", "FBX does: set the format 'other'", ABUT_MESH_FORMAT_OTHER},
                 {"BLENDER", "a file of Blender does: export it", ABUT_MESH_FORMAT_OTHER}};
    size_t visible = abuti_source_fill(&reader->source, 16);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].bytes);
        if (visible >= length && !memcmp(reader->source.at, known[i].bytes, length) &&
            (format != known[i].format || format == ABUT_MESH_FORMAT_AUTO))
            return known[i].words;
    }
    return NULL;
}

/* Adds the format with which the file begins to the message of a failure. */
static abut_status fail_with_beginning(abut_status status, const char *begins) {
    char words[600];
    if (!begins || (status != ABUT_ERROR_FORMAT && status != ABUT_ERROR_UNSUPPORTED))
        return status;
    snprintf(words, sizeof words, "%s", abut_last_error());
    return abuti_fail(status, "%s; it begins as %s", words, begins);
}

/* ---- reading ---- */

/* A name for messages: printable, and of a very long one only the end. */
static void format_name(const char *name, char *shown, size_t bytes) {
    const size_t shown_max = 300;
    size_t length = strlen(name), skipped = length > shown_max ? length - shown_max : 0;
    size_t dots = skipped ? 3 : 0;
    memcpy(shown, "...", dots);
    abuti_escape(name + skipped, shown + dots, bytes - dots);
}

/* Skips a byte order mark of UTF-8. UTF-16 text fails: readers would only report that the file is
 * empty. No supported binary format begins with these bytes. */
static abut_status skip_byte_order_mark(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    size_t visible = abuti_source_fill(source, 4);
    const unsigned char *p = source->at;
    if (visible >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) {
        source->at += 3;
    } else if (visible >= 4 && (!memcmp(p, "\xff\xfe", 2) || !memcmp(p, "\xfe\xff", 2)) &&
               !(p[2] && p[3])) {
        return abuti_fail(ABUT_ERROR_FORMAT, "%s: is UTF-16 text; save it as UTF-8", reader->name);
    }
    return ABUT_OK;
}

/* Whether it begins as a file of <abut/frames.h>. */
static bool is_recording(abuti_source *source) {
    static const char magic[] = "\211abutm\r\n"; /* FRAMES_MAGIC of a module above this one */
    return abuti_source_fill(source, sizeof magic - 1) >= sizeof magic - 1 &&
           !memcmp(source->at, magic, sizeof magic - 1);
}

/* Reads the elements of a file whose format is known or AUTO. `path` is null for memory; `name` has
 * the ending. */
static abut_status read_format(abuti_reader *reader, const char *path, const char *name,
                               abut_mesh_format format) {
    char ending[16];
    if (reader->rig && format != ABUT_MESH_FORMAT_GLTF)
        return abuti_fail(ABUT_ERROR_FORMAT,
                          "%s: is not glTF; characters can only be read from glTF", reader->name);
    abut_status status = abuti_progress(reader->context, reader->stage, 0);
    if (status)
        return status;
    if (reader->wants_uv && format != ABUT_MESH_FORMAT_OBJ && format != ABUT_MESH_FORMAT_GLTF)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: is neither OBJ nor glTF; texture coordinates can only be read from "
                          "these",
                          reader->name);
    if (formats[format].read) {
        formats[format].read(reader, path);
        return reader->status;
    }
    if (format == ABUT_MESH_FORMAT_AUTO && is_recording(&reader->source))
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: is a recording of moving meshes (.abutm), not a mesh; abut view, "
                          "map and replay read it, and abut_frames_open()",
                          reader->name);
    if (format == ABUT_MESH_FORMAT_AUTO)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: is not OBJ, PLY, STL, OFF or glTF; set the format 'other' to read "
                          "it through Assimp",
                          reader->name);
    if (path && !reader->source.total) /* Assimp opens the path itself; a pipe opens only once */
        return abuti_fail(ABUT_ERROR_FORMAT,
                          "%s: Assimp, which reads other formats, cannot read pipes", reader->name);
    ending_of(name, ending, sizeof ending);
    abuti_read_assimp(reader, path, ending);
    return reader->status;
}

static abut_status read_source(abuti_reader *reader, const char *path, const char *name,
                               abut_mesh_format format, abut_mesh **mesh) {
    abuti_source *source = &reader->source;
    if (!abuti_source_fill(source, 1) && !source->failed)
        return abuti_fail(ABUT_ERROR_FORMAT, "%s: is empty", reader->name);
    const char *begins = NULL;
    abut_status status = skip_byte_order_mark(reader);
    if (!status) {
        if (format == ABUT_MESH_FORMAT_AUTO)
            format = choose_format(reader, name);
        begins = beginning_of(reader, format);
        status = read_format(reader, path, name, format);
    }
    if (source->cancelled)
        return abuti_source_outcome(source, status);
    if (source->failed)
        return abuti_fail(ABUT_ERROR_FILE, "%s: byte %llu: cannot be read further", reader->name,
                          (unsigned long long)abuti_source_offset(source));
    if (!status && !abuti_read_finish(reader, mesh))
        status = reader->status;
    return fail_with_beginning(status, begins);
}

static abut_status check_options(const char *function, const abut_mesh_read_options *options,
                                 abut_mesh_read_options *ours) {
    *ours = abut_mesh_read_options_default();
    abut_status status = abuti_options_read(ours, sizeof *ours, options, function);
    if (!status && ((unsigned)ours->format > ABUT_MESH_FORMAT_OTHER ||
                    (unsigned)ours->triangulation > ABUT_TRIANGULATION_FAN))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: unknown format %u or triangulation %u",
                            function, (unsigned)ours->format, (unsigned)ours->triangulation);
    return status;
}

/* Opens the file `path`, or, if that is null, memory; reads a mesh, and closes it. */
static abut_status open_and_read(abuti_reader *reader, const char *path, const void *data,
                                 size_t bytes, const char *name,
                                 const abut_mesh_read_options *options, abut_mesh **mesh) {
    abut_context *context = abuti_context_of(reader->context);
    abut_status status = ABUT_OK;
    name = path ? path : name;
    if (path)
        status = abuti_source_open(&reader->source, context, path);
    else
        abuti_source_memory(&reader->source, context, data, bytes, name);
    if (status)
        return status;
    reader->context = context;
    reader->line = 1;
    reader->triangulation = options->triangulation;
    reader->wants_uv = options->uv;
    format_name(name ? name : "memory", reader->name, sizeof reader->name);
    snprintf(reader->stage, sizeof reader->stage, "reading %s", reader->name);
    reader->source.stage = reader->stage;
    status = read_source(reader, path, name, options->format, mesh);
    ABUTI_RELEASE(context, reader->positions.data, reader->triangles.data, reader->polygons.data,
                  reader->uv.data, reader->triangle_uv.data);
    abuti_source_close(&reader->source);
    return status;
}

abut_status abut_mesh_read(abut_context *context, const char *path,
                           const abut_mesh_read_options *options, abut_mesh **mesh) {
    if (!path || !mesh)
        return abuti_null(__func__, path ? "mesh" : "path");
    abut_mesh_read_options ours;
    abuti_reader reader = {.context = context};
    abut_status status = check_options("abut_mesh_read", options, &ours);
    return status ? status : open_and_read(&reader, path, NULL, 0, NULL, &ours, mesh);
}

abut_status abut_mesh_read_memory(abut_context *context, const void *data, size_t bytes,
                                  const char *name, const abut_mesh_read_options *options,
                                  abut_mesh **mesh) {
    if ((!data && bytes) || !mesh)
        return abuti_null(__func__, mesh ? "data" : "mesh");
    abut_mesh_read_options ours;
    abuti_reader reader = {.context = context};
    abut_status status = check_options("abut_mesh_read_memory", options, &ours);
    return status ? status : open_and_read(&reader, NULL, data, bytes, name, &ours, mesh);
}

abut_status abuti_mesh_read_rigged(abut_context *context, const char *path, const void *data,
                                   size_t bytes, const char *name, struct abuti_rig *rig,
                                   abut_mesh **mesh) {
    const abut_mesh_read_options options = abut_mesh_read_options_default();
    abuti_reader reader = {.context = context, .rig = rig};
    return open_and_read(&reader, path, data, bytes, name, &options, mesh);
}

/* ---- names ---- */

const char *abut_mesh_format_name(abut_mesh_format format) {
    return (unsigned)format <= ABUT_MESH_FORMAT_OTHER ? formats[format].name : NULL;
}

const char *abut_triangulation_name(abut_triangulation triangulation) {
    static const char *const names[] = {"auto", "fan"};
    return ABUTI_NAME(names, triangulation);
}
