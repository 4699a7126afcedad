/* Declarations shared by the readers and the writer of mesh files.
 *
 * A reader streams: it sees the file through the window of an abuti_source, appends elements to
 * lists that grow as data arrive, and creates arrays of exact size at the end. A count in a header
 * never causes an allocation beyond what the file has bytes for. So memory stays below three times
 * the result, and a malicious file costs no more than a small multiple of its own size.
 *
 * Functions that read return false on failure; the status is then in the reader.
 */
#ifndef ABUTI_MESH_FILES_H
#define ABUTI_MESH_FILES_H

#include "mesh/mesh.h"

/* ---- numbers as text (number.c) ---- */

/* Reads a decimal number at `at`, also "nan" and "inf", correctly rounded to double in any locale.
 * Returns the first byte after it, or null if there is no number. */
const unsigned char *abuti_number_read(const unsigned char *at, const unsigned char *end,
                                       double *value);

#define ABUTI_NUMBER_BYTES 40
/* Writes a finite number with as few digits as needed to read it back exactly: as a double, or, if
 * `single` (the value is a float, and the reader will know), as a float. No terminating zero.
 * Returns the length, below ABUTI_NUMBER_BYTES. */
size_t abuti_number_write(char *out, double value, bool single);
/* The same for an integer. */
size_t abuti_integer_write(char *out, uint64_t value);

/* ---- a file being read ---- */

/* A face of more than three corners: stored as a fan of corner_count - 2 triangles from `first` on,
 * and triangulated when all positions are known. */
typedef struct abuti_polygon {
    uint32_t first, corner_count;
} abuti_polygon;

/* The kind of position that error messages give. */
typedef enum abuti_place { ABUTI_PLACE_LINE = 0, ABUTI_PLACE_BYTE, ABUTI_PLACE_NONE } abuti_place;

typedef struct abuti_reader {
    abut_context *context;
    abuti_source source;
    abut_status status; /* the reason why a function returned false */
    char name[400];     /* printable, for messages */
    char stage[420];    /* "reading NAME" */
    abut_triangulation triangulation;
    abuti_place place;
    const char *marks;          /* bytes that end a word as white space does; null = none */
    uint64_t line;              /* 1 = first */
    uint64_t byte;              /* offset of the element that is being read */
    uint64_t ticks;             /* elements so far, for progress */
    abuti_vector positions;     /* vec3 */
    abuti_vector triangles;     /* uint32_t[3] */
    abuti_vector polygons;      /* abuti_polygon */
    bool wants_uv;              /* texture coordinates are read, too: */
    bool uv_is_up;              /* v points up in this format */
    abuti_vector uv;            /* double[2] */
    abuti_vector triangle_uv;   /* uint32_t[3]: elements of `uv`, for each triangle */
    uint32_t first_uv, last_uv; /* of the face being built */
    uint32_t first_corner, last_corner, corner_count; /* of the face being built */
    uint32_t face_first;                              /* its first triangle */
    vec3 up;                                          /* as defined by the format; zero = unknown */
    struct abuti_rig *rig;                            /* of a character; null = a mesh is read */
} abuti_reader;

/* Reads a character, from glTF only: from the file `path`, or, if that is null, from memory. The
 * mesh has the bind pose of the rig (see abuti_rig). */
abut_status abuti_mesh_read_rigged(abut_context *context, const char *path, const void *data,
                                   size_t bytes, const char *name, struct abuti_rig *rig,
                                   abut_mesh **mesh);

/* One reader for each format; fills the lists. `path` locates the buffers of glTF beside the file;
 * null when reading memory. */
typedef bool abuti_format_reader(abuti_reader *reader, const char *path);
abuti_format_reader abuti_read_obj, abuti_read_ply, abuti_read_stl, abuti_read_off, abuti_read_gltf;
/* Whether a file that begins with these bytes is OFF, by its keyword. */
bool abuti_off_starts(const unsigned char *at, size_t bytes);
/* Whether the size of the file matches the binary layout of STL; needs a known size. */
bool abuti_stl_size_fits(abuti_reader *reader);
/* From the file `path`, or, if that is null, from memory with the file name ending `hint`. */
bool abuti_read_assimp(abuti_reader *reader, const char *path, const char *hint);
/* The format by the ending of a name, or AUTO if the ending is unknown. */
abut_mesh_format abuti_mesh_format_of_name(const char *name);

/* Fails with "NAME: line 12: ..." or "NAME: byte 345: ...". */
bool abuti_read_fail(abuti_reader *reader, const char *format, ...) ABUTI_PRINTF(2, 3);
/* Fails because the file ends too early; `where` is "in a face" or similar. */
bool abuti_read_fail_end(abuti_reader *reader, const char *where);
/* Fails with a status whose message is set, unless it is ABUT_OK. */
static inline bool abuti_read_check(abuti_reader *reader, abut_status status) {
    reader->status = status;
    return !status;
}
/* Called once per element; reports progress at intervals. */
bool abuti_read_report(abuti_reader *reader);
static inline bool abuti_read_tick(abuti_reader *reader) {
    return ++reader->ticks % 65536 || abuti_read_report(reader);
}

/* Bytes left to read, or UINT64_MAX if the size of the source is unknown. */
static inline uint64_t abuti_read_left(const abuti_reader *reader) {
    const abuti_source *source = &reader->source;
    if (!source->total && source->descriptor >= 0)
        return UINT64_MAX;
    uint64_t offset = abuti_source_offset(source);
    return source->total > offset ? source->total - offset : 0;
}

/* Adds a vertex; fails if it is not finite or too large. */
bool abuti_read_vertex(abuti_reader *reader, vec3 position);
/* Adds the corners of a face one by one, between begin and end. */
static inline void abuti_read_face_begin(abuti_reader *reader) {
    reader->corner_count = 0;
    reader->face_first = (uint32_t)reader->triangles.count;
}
bool abuti_read_corner(abuti_reader *reader, uint32_t vertex);
/* The same with texture coordinates, an element of `uv`, which may follow later. */
bool abuti_read_corner_uv(abuti_reader *reader, uint32_t vertex, uint32_t uv);
bool abuti_read_face_end(abuti_reader *reader);
/* Adds a triangle. */
bool abuti_read_triangle(abuti_reader *reader, uint32_t a, uint32_t b, uint32_t c);
/* Add texture coordinates, and those of a triangle: elements of `uv`. */
bool abuti_read_uv(abuti_reader *reader, double u, double v);
bool abuti_read_triangle_uv(abuti_reader *reader, uint32_t a, uint32_t b, uint32_t c);

/* Triangulates polygons and creates the mesh. */
bool abuti_read_finish(abuti_reader *reader, abut_mesh **mesh);

/* abuti_source_fill(), without a call if enough bytes are visible. */
static inline size_t abuti_read_fill(abuti_reader *reader, size_t wanted) {
    size_t visible = (size_t)(reader->source.end - reader->source.at);
    return visible >= wanted ? visible : abuti_source_fill(&reader->source, wanted);
}

/* ---- nodes of scenes ---- */

/* A linear part and a translation. */
typedef struct abuti_affine {
    mat3 linear;
    vec3 shift;
} abuti_affine;

static inline vec3 abuti_affine_apply(const abuti_affine *a, vec3 p) {
    return v3_add(m3_apply(&a->linear, p), a->shift);
}
/* First `inner`, then `outer`. */
static inline abuti_affine abuti_affine_compose(const abuti_affine *outer,
                                                const abuti_affine *inner) {
    return (abuti_affine){m3_multiply(&outer->linear, &inner->linear),
                          abuti_affine_apply(outer, inner->shift)};
}
/* A reflection flips triangles (glTF 2.0, section 3.7.4). */
static inline bool abuti_affine_flips(const abuti_affine *a) {
    const vec3 *row = a->linear.row;
    return v3_dot(row[0], v3_cross(row[1], row[2])) < 0;
}

/* ---- text (read_text.c) ---- */

/* Blanks are spaces and tabs; a line ends with LF, CR LF or CR. */
static inline bool abuti_is_space(int byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}
static inline bool abuti_is_line_end(int byte) {
    return byte == '\n' || byte == '\r';
}
/* The next byte, or -1 at the end. */
static inline int abuti_text_peek(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    if (source->at == source->end && !abuti_source_fill(source, 1))
        return -1;
    return *source->at;
}
/* Skips blanks; returns whether a word follows on this line. With `continued`, a backslash at the
 * end of a line joins the next line to it. */
bool abuti_text_blanks(abuti_reader *reader, bool continued);
/* Skips blanks and line ends; false at the end of the file. */
bool abuti_text_space(abuti_reader *reader);
/* Skips the rest of this line and its end. */
void abuti_text_skip_line(abuti_reader *reader);
/* Skips the rest of this word. */
void abuti_text_skip_word(abuti_reader *reader);
/* Reads the word up to the next white space, at most ABUTI_SOURCE_LOOKAHEAD bytes. Valid until the
 * next call. Empty only at white space or the end. */
size_t abuti_text_word(abuti_reader *reader, const char **word);
/* The end of the visible bytes, at most ABUTI_SOURCE_LOOKAHEAD. */
const unsigned char *abuti_text_end(abuti_reader *reader);
/* Continues after a number or index that ends at `after`: fails as abuti_text_fail_word() if that
 * is null, or if the word goes on there. */
bool abuti_text_continue(abuti_reader *reader, const unsigned char *after, const char *what);
/* Whether a word equals `text`, ignoring case (`text` is in lower case). */
bool abuti_text_is(const char *word, size_t length, const char *text);
/* Reads a number or an integer, which white space or the end must follow; `what` names it in the
 * message. */
bool abuti_text_number(abuti_reader *reader, const char *what, double *value);
bool abuti_text_integer(abuti_reader *reader, const char *what, int64_t *value);
/* Reads the number of a position along an axis. */
bool abuti_text_coordinate(abuti_reader *reader, int axis, double *value);
/* Reads digits with an optional sign at `at`; null if there are none. Saturates. */
const unsigned char *abuti_text_digits(const unsigned char *at, const unsigned char *end,
                                       int64_t *value);
/* Fails with "... is not WHAT", quoting the word here. */
bool abuti_text_fail_word(abuti_reader *reader, const char *what);

/* ---- polygons (polygon.c) ---- */

/* Polygons with more corners are triangulated as fans, so that time stays linear in the size of a
 * file. */
#define ABUTI_POLYGON_MAX 1024

/* Splits a polygon into count - 2 triangles, which use only its corners and have its orientation.
 * `corners` has `count` (3 to ABUTI_POLYGON_MAX) indices of positions. */
void abuti_polygon_triangulate(const vec3 *positions, const uint32_t *corners, uint32_t count,
                               uint32_t *triangles);

#endif
