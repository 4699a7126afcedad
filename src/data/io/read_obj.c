/* Wavefront OBJ: vertices (v) and faces (f), and texture coordinates (vt) if they are requested;
 * everything else is skipped.
 *
 * A comment goes from # to the end of the line, also directly after a vertex or face.
 *
 * Corners may be written v, v/t, v//n or v/t/n. Positive indices count from 1 and may refer to
 * vertices that follow later; negative ones count back from the last vertex so far. A backslash at
 * the end of a line continues a vertex or face. It continues nothing else: a comment or material
 * that ends with one (a Windows path) must not skip the vertex on the next line.
 */
#include "io/files.h"

#include <inttypes.h>

/* The highest vertex index in a face, and its line: whether it exists is known at the end. */
typedef struct highest_index {
    uint32_t vertex;
    uint64_t line; /* 0 = no face yet */
} highest_index;

static bool read_vertex(abuti_reader *reader) {
    double p[3];
    for (int axis = 0; axis < 3; axis++) {
        if (!abuti_text_blanks(reader, true) || *reader->source.at == '#')
            return abuti_read_fail(reader, "a vertex needs 3 coordinates; it has %d", axis);
        if (!abuti_text_coordinate(reader, axis, &p[axis]))
            return false;
    }
    if (!abuti_read_vertex(reader, v3(p[0], p[1], p[2])))
        return false;
    while (abuti_text_blanks(reader, true) && *reader->source.at != '#')
        abuti_text_skip_word(reader); /* weight or colour */
    return true;
}

/* Texture coordinates: u, optionally v and a third one. */
static bool read_texture_coordinates(abuti_reader *reader) {
    double uv[2] = {0, 0};
    int count = 0;
    for (; abuti_text_blanks(reader, true) && *reader->source.at != '#'; count++)
        if (count > 1)
            abuti_text_skip_word(reader);
        else if (!abuti_text_number(reader, "a texture coordinate", &uv[count]))
            return false;
    if (!count)
        return abuti_read_fail(reader, "texture coordinates need a number");
    return abuti_read_uv(reader, uv[0], uv[1]);
}

/* The rest of a corner after its vertex: nothing, /t, //n or /t/n. Sets *texture to t, or 0. */
static const unsigned char *skip_slashes(const unsigned char *at, const unsigned char *end,
                                         int64_t *texture) {
    int64_t unused;
    *texture = 0;
    for (int part = 0; part < 2 && at < end && *at == '/'; part++) {
        at++;
        const unsigned char *after = abuti_text_digits(at, end, part ? &unused : texture);
        if (after)
            at = after;
    }
    return at;
}

static bool read_corner(abuti_reader *reader, highest_index *highest) {
    const unsigned char *end = abuti_text_end(reader);
    int64_t index, texture = 0, so_far = (int64_t)reader->positions.count;
    const unsigned char *after = abuti_text_digits(reader->source.at, end, &index);
    if (!abuti_text_continue(reader, after ? skip_slashes(after, end, &texture) : NULL,
                             "a corner of a face (v, v/t, v//n or v/t/n)"))
        return false;
    if (index == 0)
        return abuti_read_fail(reader, "a face refers to vertex 0; OBJ counts from 1");
    if (index < -so_far)
        return abuti_read_fail(reader,
                               "a face refers to vertex %" PRId64 ", but only %" PRId64
                               " vertices come before it",
                               index, so_far);
    if (index >= ABUT_NONE)
        return abuti_read_fail(reader, "a face refers to vertex %" PRId64 ", which is out of range",
                               index);
    uint32_t vertex = (uint32_t)(index < 0 ? so_far + index : index - 1);
    if (vertex >= so_far && (!highest->line || vertex > highest->vertex))
        *highest = (highest_index){vertex, reader->line};
    if (!reader->wants_uv)
        return abuti_read_corner(reader, vertex);
    const int64_t place = texture < 0 ? (int64_t)reader->uv.count + texture : texture - 1;
    if (place < 0 || place >= ABUT_NONE)
        return abuti_read_fail(reader, "a corner of a face has no texture coordinates");
    return abuti_read_corner_uv(reader, vertex, (uint32_t)place);
}

static bool read_face(abuti_reader *reader, highest_index *highest) {
    abuti_read_face_begin(reader);
    while (abuti_text_blanks(reader, true) && *reader->source.at != '#')
        if (!read_corner(reader, highest))
            return false;
    return abuti_read_face_end(reader);
}

bool abuti_read_obj(abuti_reader *reader, const char *path) {
    abuti_source *source = &reader->source;
    highest_index highest = {0, 0};
    (void)path;
    reader->marks = "#\\";
    reader->uv_is_up = true;
    while (abuti_text_space(reader)) {
        size_t visible = abuti_read_fill(reader, 2);
        unsigned char letter = *source->at;
        bool alone = visible < 2 || abuti_is_space(source->at[1]) || source->at[1] == '\\';
        bool is_element = alone && (letter == 'v' || letter == 'f');
        bool is_texture = reader->wants_uv && !alone && letter == 'v' && source->at[1] == 't';
        source->at += is_element ? 1 : is_texture ? 2 : 0;
        if (is_texture) {
            if (!read_texture_coordinates(reader))
                return false;
        } else if (!is_element)
            abuti_text_skip_line(reader);
        else if (!(letter == 'v' ? read_vertex(reader) : read_face(reader, &highest)))
            return false;
        if (!abuti_read_tick(reader))
            return false;
    }
    if (!highest.line || highest.vertex < reader->positions.count)
        return true;
    reader->line = highest.line;
    return abuti_read_fail(reader, "a face refers to vertex %" PRIu64 ", but the file has only %zu",
                           (uint64_t)highest.vertex + 1, reader->positions.count);
}
