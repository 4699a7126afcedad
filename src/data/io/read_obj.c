/* Wavefront OBJ: vertices (v) and faces (f); everything else is skipped.
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

static abut_status read_vertex(abuti_reader *reader) {
    double p[3];
    for (int axis = 0; axis < 3; axis++) {
        static const char *const names[] = {"a number for x", "a number for y", "a number for z"};
        if (!abuti_text_blanks(reader, true) || *reader->source.at == '#')
            return abuti_read_fail(reader, "a vertex needs 3 coordinates; it has %d", axis);
        abut_status status = abuti_text_number(reader, names[axis], &p[axis]);
        if (status)
            return status;
    }
    abut_status status = abuti_read_vertex(reader, v3(p[0], p[1], p[2]));
    /* weight or colour */
    while (!status && abuti_text_blanks(reader, true) && *reader->source.at != '#')
        abuti_text_skip_word(reader);
    return status;
}

/* The rest of a corner after its vertex: nothing, /t, //n or /t/n. Null if it is anything else. */
static const unsigned char *skip_slashes(const unsigned char *at, const unsigned char *end) {
    int64_t unused;
    for (int part = 0; part < 2 && at < end && *at == '/'; part++) {
        at++;
        const unsigned char *after = abuti_text_digits(at, end, &unused);
        if (after)
            at = after;
    }
    return at == end || abuti_is_space(*at) || *at == '\\' || *at == '#' ? at : NULL;
}

static abut_status read_corner(abuti_reader *reader, highest_index *highest) {
    abuti_source *source = &reader->source;
    size_t visible = abuti_read_fill(reader, ABUTI_SOURCE_LOOKAHEAD);
    const unsigned char *end =
        source->at + (visible < ABUTI_SOURCE_LOOKAHEAD ? visible : ABUTI_SOURCE_LOOKAHEAD);
    int64_t index;
    const unsigned char *after = abuti_text_digits(source->at, end, &index);
    if (after)
        after = skip_slashes(after, end);
    if (!after || after - source->at >= ABUTI_SOURCE_LOOKAHEAD)
        return abuti_text_fail_word(reader, "a corner of a face (v, v/t, v//n or v/t/n)");
    source->at = after;
    int64_t so_far = (int64_t)reader->positions.count;
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
    return abuti_read_corner(reader, vertex);
}

static abut_status read_face(abuti_reader *reader, highest_index *highest) {
    abut_status status = ABUT_OK;
    abuti_read_face_begin(reader);
    while (!status && abuti_text_blanks(reader, true) && *reader->source.at != '#')
        status = read_corner(reader, highest);
    return status ? status : abuti_read_face_end(reader);
}

abut_status abuti_read_obj(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    highest_index highest = {0, 0};
    abut_status status = ABUT_OK;
    reader->marks = "#\\";
    while (!status && abuti_text_space(reader)) {
        size_t visible = abuti_read_fill(reader, 2);
        unsigned char letter = *source->at;
        bool alone = visible < 2 || abuti_is_space(source->at[1]) || source->at[1] == '\\';
        if (alone && letter == 'v') {
            source->at++;
            status = read_vertex(reader);
        } else if (alone && letter == 'f') {
            source->at++;
            status = read_face(reader, &highest);
        } else {
            abuti_text_skip_line(reader);
        }
        if (!status)
            status = abuti_read_tick(reader);
    }
    if (!status && highest.line && highest.vertex >= reader->positions.count) {
        reader->line = highest.line;
        status = abuti_read_fail(reader,
                                 "a face refers to vertex %" PRIu64 ", but the file has only %zu",
                                 (uint64_t)highest.vertex + 1, reader->positions.count);
    }
    return status;
}
