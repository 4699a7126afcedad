/* Object File Format of Geomview: counts, vertices, faces, as words separated by any white space.
 *
 *      OFF                  keyword, optional. Letters before OFF state what vertices have
 *      8 6 12               vertices, faces, edges; the last is not used, and optional
 *      0.5 0.5 0.5          one vertex: coordinates, then a normal (N), colour (C), texture (ST)
 *      4 0 1 2 3 255 0 0    one face: its corners, from 0; a colour up to the end of the line
 *
 * Comments go from # to the end of the line, anywhere, also directly after a number. The
 * coordinates of a vertex and the corners of a face may be on any number of lines. Colours have no
 * fixed length, so an element with one ends with its line. Anything after the last face is an
 * error: then the counts, or our interpretation of the lines, are wrong. Faces of one or two
 * corners are points and edges, not part of a mesh.
 */
#include "io/files.h"

#include <inttypes.h>

typedef struct off_header {
    bool normals;         /* three more numbers per vertex */
    bool colours;         /* numbers up to the end of the line */
    int64_t vertex_count; /* as the file states; only used to find the end */
    int64_t face_count;
} off_header;

/* Skips white space and comments; false at the end of the file. */
static bool skip_to_word(abuti_reader *reader) {
    while (abuti_text_space(reader)) {
        if (*reader->source.at != '#')
            return true;
        abuti_text_skip_line(reader);
    }
    return false;
}

/* Skips blanks and a comment; returns whether a word follows on this line. */
static bool has_word_on_line(abuti_reader *reader) {
    return abuti_text_blanks(reader, false) && *reader->source.at != '#';
}

static bool read_integer(abuti_reader *reader, const char *where, const char *what,
                         int64_t *value) {
    return skip_to_word(reader) ? abuti_text_integer(reader, what, value)
                                : abuti_read_fail_end(reader, where);
}

/* Parses the letters before OFF; false if it is not such a word. */
static bool is_keyword(const char *word, size_t length, off_header *header, char *other) {
    size_t at = 0;
    *other = 0;
    if (length >= 2 && word[0] == 'S' && word[1] == 'T') {
        header->colours = true; /* texture: two numbers, also at the end of the line */
        at = 2;
    }
    if (at < length && word[at] == 'C') {
        header->colours = true;
        at++;
    }
    if (at < length && word[at] == 'N') {
        header->normals = true;
        at++;
    }
    if (at < length && word[at] == '4')
        *other = word[at++];
    if (at < length && word[at] == 'n')
        *other = word[at++];
    return length - at == 3 && !memcmp(word + at, "OFF", 3);
}

bool abuti_off_starts(const unsigned char *at, size_t bytes) {
    off_header header = {0};
    char other;
    size_t length = 0;
    while (length < bytes && length < 16 && !abuti_is_space(at[length]) && at[length] != '#')
        length++;
    return is_keyword((const char *)at, length, &header, &other);
}

static bool read_header(abuti_reader *reader, off_header *header) {
    const char *before_counts = "before the counts of vertices and faces";
    if (!skip_to_word(reader))
        return abuti_read_fail_end(reader, before_counts);
    unsigned char first = *reader->source.at;
    if (first < '0' || first > '9' ||
        abuti_off_starts(reader->source.at, abuti_read_fill(reader, 16))) {
        const char *word;
        char other;
        size_t length = abuti_text_word(reader, &word);
        if (!is_keyword(word, length, header, &other))
            return abuti_read_fail(reader, "the file does not begin with OFF or with counts");
        if (other)
            return abuti_read_fail(reader, "%cOFF has vertices that are not three-dimensional",
                                   other);
        if (has_word_on_line(reader) && *reader->source.at == 'B')
            return abuti_read_fail(reader, "binary OFF cannot be read; write it as text");
    }
    int64_t edges;
    if (!read_integer(reader, before_counts, "the number of vertices", &header->vertex_count) ||
        !read_integer(reader, "before the number of faces", "the number of faces",
                      &header->face_count) ||
        (has_word_on_line(reader) && !abuti_text_integer(reader, "the number of edges", &edges)))
        return false;
    return (header->vertex_count >= 0 && header->face_count >= 0) ||
           abuti_read_fail(reader, "a count is negative");
}

static bool read_vertex(abuti_reader *reader, const off_header *header) {
    double values[6];
    int count = header->normals ? 6 : 3;
    for (int i = 0; i < count; i++) {
        if (!skip_to_word(reader))
            return abuti_read_fail_end(reader, "in the vertices");
        if (!abuti_text_number(reader, i < 3 ? "a coordinate" : "part of a normal", &values[i]))
            return false;
    }
    if (header->colours)
        abuti_text_skip_line(reader);
    return abuti_read_vertex(reader, v3(values[0], values[1], values[2]));
}

static bool read_corner(abuti_reader *reader) {
    int64_t vertex;
    if (!read_integer(reader, "in a face", "a corner of a face", &vertex))
        return false;
    if (vertex < 0 || (uint64_t)vertex >= reader->positions.count)
        return abuti_read_fail(reader,
                               "a face refers to vertex %" PRId64 ", but the file has only %zu, "
                               "counted from 0",
                               vertex, reader->positions.count);
    return abuti_read_corner(reader, (uint32_t)vertex);
}

static bool read_face(abuti_reader *reader, uint64_t *skipped) {
    int64_t corners;
    if (!read_integer(reader, "in the faces", "the number of corners", &corners))
        return false;
    if (corners < 1)
        return abuti_read_fail(reader, "a face has %" PRId64 " corners", corners);
    abuti_read_face_begin(reader);
    for (int64_t i = 0; i < corners; i++)
        if (!read_corner(reader))
            return false;
    *skipped += corners < 3;
    if (corners >= 3 && !abuti_read_face_end(reader))
        return false;
    abuti_text_skip_line(reader); /* colour */
    return true;
}

bool abuti_read_off(abuti_reader *reader, const char *path) {
    off_header header = {0};
    uint64_t skipped = 0;
    (void)path;
    reader->marks = "#";
    if (!read_header(reader, &header))
        return false;
    for (int64_t i = 0; i < header.vertex_count; i++)
        if (!read_vertex(reader, &header) || !abuti_read_tick(reader))
            return false;
    for (int64_t i = 0; i < header.face_count; i++)
        if (!read_face(reader, &skipped) || !abuti_read_tick(reader))
            return false;
    if (skip_to_word(reader))
        return abuti_read_fail(reader,
                               "there is more than %" PRId64 " vertices and %" PRId64
                               " faces, which the file declares",
                               header.vertex_count, header.face_count);
    if (skipped)
        abuti_log(reader->context, ABUT_LOG_WARNING,
                  "%s: %" PRIu64 " faces of one or two corners are points or edges, and skipped",
                  reader->name, skipped);
    return true;
}
