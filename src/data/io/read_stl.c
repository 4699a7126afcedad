/* STL, binary and text. It has no shared vertices, so corners with equal coordinates become one
 * vertex, in the order of their first appearance.
 *
 * Text starts with "solid", but so do many binary files. The size decides: 80 arbitrary bytes, a
 * count, and 50 bytes per triangle. Text cannot have exactly that size: its bytes 80 to 83 are
 * printable and would be a count of more than 150 million triangles.
 */
#include "io/files.h"

#include <inttypes.h>
#include <string.h>

#define HEADER_BYTES 84
#define TRIANGLE_BYTES 50

static uint32_t read_u32(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* ---- equal corners ---- */

static bool resize_table(abuti_reader *reader, abuti_vertex_table *table, size_t room) {
    return abuti_read_check(reader, abuti_vertex_table_resize(reader->context, table, room,
                                                              reader->positions.data,
                                                              (uint32_t)reader->positions.count));
}

static inline bool find_or_add_vertex(abuti_reader *reader, abuti_vertex_table *table, vec3 p,
                                      uint32_t *vertex) {
    uint32_t *slot = abuti_vertex_slot(table, reader->positions.data, p);
    if (*slot == ABUT_NONE) {
        *slot = (uint32_t)reader->positions.count;
        *vertex = *slot;
        return abuti_read_vertex(reader, p) &&
               (reader->positions.count <= table->capacity / 3 * 2 ||
                resize_table(reader, table, table->capacity));
    }
    *vertex = *slot;
    return true;
}

/* ---- binary ---- */

bool abuti_stl_size_fits(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    if (abuti_source_fill(source, HEADER_BYTES) < HEADER_BYTES)
        return false;
    return source->total == HEADER_BYTES + (uint64_t)TRIANGLE_BYTES * read_u32(source->at + 80);
}

static bool read_binary_triangle(abuti_reader *reader, abuti_vertex_table *table) {
    const unsigned char *at = reader->source.at + 12; /* after the normal */
    uint32_t corners[3];
    for (int k = 0; k < 3; k++, at += 12) {
        float p[3];
        for (int axis = 0; axis < 3; axis++) {
            uint32_t bits = read_u32(at + 4 * axis);
            memcpy(&p[axis], &bits, sizeof bits);
        }
        if (!find_or_add_vertex(reader, table, v3(p[0], p[1], p[2]), &corners[k]))
            return false;
    }
    reader->source.at += TRIANGLE_BYTES;
    return abuti_read_triangle(reader, corners[0], corners[1], corners[2]);
}

static bool read_binary(abuti_reader *reader, abuti_vertex_table *table) {
    abuti_source *source = &reader->source;
    reader->place = ABUTI_PLACE_BYTE;
    if (abuti_source_fill(source, HEADER_BYTES) < HEADER_BYTES)
        return abuti_read_fail_end(reader, "in the header of a binary STL (84 bytes)");
    uint32_t count = read_u32(source->at + 80);
    reader->byte = 80;
    source->at += HEADER_BYTES;
    uint64_t left = abuti_read_left(reader);
    if (left / TRIANGLE_BYTES < count)
        return abuti_read_fail(reader,
                               "a binary STL of %" PRIu32
                               " triangles by this count, but only %" PRIu64 " bytes (%" PRIu64
                               " triangles) follow",
                               count, left, left / TRIANGLE_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        if (abuti_read_fill(reader, TRIANGLE_BYTES) < TRIANGLE_BYTES)
            return abuti_read_fail_end(reader, "in a triangle");
        reader->byte = abuti_source_offset(source);
        if (!read_binary_triangle(reader, table) || !abuti_read_tick(reader))
            return false;
    }
    return true;
}

/* ---- text ---- */

static bool expect_word(abuti_reader *reader, const char *text) {
    if (!abuti_text_space(reader))
        return abuti_read_fail_end(reader, "in a facet");
    const char *word;
    size_t length = abuti_text_word(reader, &word);
    if (abuti_text_is(word, length, text))
        return true;
    reader->source.at = (const unsigned char *)word;
    char what[32];
    snprintf(what, sizeof what, "the word '%s'", text);
    return abuti_text_fail_word(reader, what);
}

static bool read_text_vertex(abuti_reader *reader, abuti_vertex_table *table) {
    double p[3];
    uint32_t vertex;
    for (int axis = 0; axis < 3; axis++) {
        if (!abuti_text_space(reader))
            return abuti_read_fail_end(reader, "in a vertex");
        if (!abuti_text_coordinate(reader, axis, &p[axis]))
            return false;
    }
    return find_or_add_vertex(reader, table, v3(p[0], p[1], p[2]), &vertex) &&
           abuti_read_corner(reader, vertex);
}

/* Whether a word that begins with "end" follows, by its first letter. */
static bool is_end(const abuti_reader *reader) {
    return *reader->source.at == 'e' || *reader->source.at == 'E';
}

/* Reads the rest of a facet after "facet". The normal is skipped: it is often wrong, and always
 * redundant. */
static bool read_facet(abuti_reader *reader, abuti_vertex_table *table) {
    if (!expect_word(reader, "normal"))
        return false;
    for (int i = 0; i < 3; i++) {
        if (!abuti_text_space(reader))
            return abuti_read_fail_end(reader, "in a facet");
        abuti_text_skip_word(reader);
    }
    if (!expect_word(reader, "outer") || !expect_word(reader, "loop"))
        return false;
    abuti_read_face_begin(reader);
    for (;;) {
        if (!abuti_text_space(reader))
            return abuti_read_fail_end(reader, "in a facet");
        if (is_end(reader))
            break;
        if (!expect_word(reader, "vertex") || !read_text_vertex(reader, table))
            return false;
    }
    return expect_word(reader, "endloop") && abuti_read_face_end(reader) &&
           expect_word(reader, "endfacet");
}

static bool read_text(abuti_reader *reader, abuti_vertex_table *table) {
    bool open = false; /* inside a solid */
    while (abuti_text_space(reader)) {
        if (open && !is_end(reader)) {
            if (!expect_word(reader, "facet") || !read_facet(reader, table))
                return false;
        } else {
            if (!expect_word(reader, open ? "endsolid" : "solid"))
                return false;
            abuti_text_skip_line(reader); /* its name */
            open = !open;
        }
        if (!abuti_read_tick(reader))
            return false;
    }
    return !open || abuti_read_fail_end(reader, "without 'endsolid'");
}

/* ---- text or binary ---- */

static bool is_text(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    size_t visible = abuti_source_fill(source, 512);
    if (abuti_stl_size_fits(reader))
        return false;
    const unsigned char *p = source->at, *end = p + (visible < 512 ? visible : 512);
    if (memchr(p, 0, (size_t)(end - p)) && visible >= HEADER_BYTES)
        return false;
    while (p < end && abuti_is_space(*p))
        p++;
    return (size_t)(end - p) >= 5 && abuti_text_is((const char *)p, 5, "solid");
}

bool abuti_read_stl(abuti_reader *reader, const char *path) {
    abuti_vertex_table table = {.slots = NULL};
    (void)path;
    bool is_read = resize_table(reader, &table, 512) &&
                   (is_text(reader) ? read_text : read_binary)(reader, &table);
    abuti_release(reader->context, table.slots);
    return is_read;
}
