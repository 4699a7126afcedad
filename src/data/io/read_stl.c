/* STL, binary and text. It has no shared vertices, so corners with equal coordinates become one
 * vertex, in the order of their first appearance, through a hash table.
 *
 * Text starts with "solid", but so do many binary files. The size decides: 80 arbitrary bytes, a
 * count, and 50 bytes per triangle. Text cannot have exactly that size: its bytes 80 to 83 are
 * printable and would be a count of more than 150 million triangles.
 */
#include "io/files.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define HEADER_BYTES 84
#define TRIANGLE_BYTES 50

static uint32_t read_u32(const unsigned char *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

/* ---- equal corners ---- */

/* Open addressing with linear probing, at most two thirds full. An entry has a vertex and part of
 * its hash, so that most comparisons need not read the vertex. The seed prevents malicious files
 * from targeting one slot; the result does not depend on it. */
typedef struct entry {
    uint32_t vertex, tag;
} entry;

typedef struct corner_table {
    entry *entries;
    size_t capacity; /* a power of two */
    uint64_t seed;
} corner_table;

static uint64_t mix_bits(uint64_t h) { /* the finaliser of MurmurHash3 (Appleby) */
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 33;
}

static uint64_t hash_position(vec3 p, uint64_t seed) {
    p = v3_add(p, v3(0, 0, 0)); /* -0 becomes 0 */
    uint64_t bits[3];
    memcpy(bits, &p, sizeof bits);
    uint64_t h = mix_bits(bits[0] ^ seed);
    h = mix_bits(h ^ bits[1]) + seed;
    return mix_bits(h ^ bits[2]);
}

static abut_status table_create(abuti_reader *reader, corner_table *table, size_t capacity) {
    entry *entries = abuti_allocate(reader->context, capacity, sizeof *entries);
    if (!entries)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < capacity; i++)
        entries[i].vertex = ABUT_NONE;
    table->entries = entries;
    table->capacity = capacity;
    return ABUT_OK;
}

/* Doubles the table. */
static abut_status table_grow(abuti_reader *reader, corner_table *table) {
    corner_table old = *table;
    abut_status status = table_create(reader, table, 2 * old.capacity);
    if (status)
        return status;
    for (size_t v = 0; v < reader->positions.count; v++) {
        vec3 p;
        memcpy(&p, abuti_block_list_at(&reader->positions, v), sizeof p);
        uint64_t h = hash_position(p, table->seed);
        size_t slot = h & (table->capacity - 1);
        while (table->entries[slot].vertex != ABUT_NONE)
            slot = (slot + 1) & (table->capacity - 1);
        table->entries[slot] = (entry){(uint32_t)v, (uint32_t)(h >> 32)};
    }
    abuti_release(reader->context, old.entries);
    return ABUT_OK;
}

static abut_status find_or_add_vertex(abuti_reader *reader, corner_table *table, vec3 p,
                                      uint32_t *vertex) {
    uint64_t h = hash_position(p, table->seed);
    uint32_t tag = (uint32_t)(h >> 32);
    size_t slot = h & (table->capacity - 1);
    for (; table->entries[slot].vertex != ABUT_NONE; slot = (slot + 1) & (table->capacity - 1)) {
        if (table->entries[slot].tag != tag)
            continue;
        vec3 q;
        memcpy(&q, abuti_block_list_at(&reader->positions, table->entries[slot].vertex), sizeof q);
        if (p.x == q.x && p.y == q.y && p.z == q.z) {
            *vertex = table->entries[slot].vertex;
            return ABUT_OK;
        }
    }
    *vertex = (uint32_t)reader->positions.count;
    abut_status status = abuti_read_vertex(reader, p);
    if (status)
        return status;
    table->entries[slot] = (entry){*vertex, tag};
    return reader->positions.count > table->capacity / 3 * 2 ? table_grow(reader, table) : ABUT_OK;
}

/* ---- binary ---- */

bool abuti_stl_size_fits(abuti_reader *reader) {
    abuti_source *source = &reader->source;
    if (abuti_source_fill(source, HEADER_BYTES) < HEADER_BYTES)
        return false;
    return source->total == HEADER_BYTES + (uint64_t)TRIANGLE_BYTES * read_u32(source->at + 80);
}

static abut_status read_binary_triangle(abuti_reader *reader, corner_table *table) {
    abuti_source *source = &reader->source;
    uint32_t corners[3];
    for (int k = 0; k < 3; k++) {
        float p[3];
        for (int axis = 0; axis < 3; axis++) {
            uint32_t bits = read_u32(source->at + 12 + 12 * k + 4 * axis);
            memcpy(&p[axis], &bits, sizeof bits);
        }
        abut_status status = find_or_add_vertex(reader, table, v3(p[0], p[1], p[2]), &corners[k]);
        if (status)
            return status;
    }
    source->at += TRIANGLE_BYTES;
    return abuti_read_triangle(reader, corners[0], corners[1], corners[2]);
}

static abut_status read_binary(abuti_reader *reader, corner_table *table) {
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
    abut_status status = ABUT_OK;
    if (left != UINT64_MAX)
        status = abuti_block_list_reserve(reader->context, &reader->triangles, count);
    for (uint32_t i = 0; i < count && !status; i++) {
        if (abuti_read_fill(reader, TRIANGLE_BYTES) < TRIANGLE_BYTES)
            return abuti_read_fail_end(reader, "in a triangle");
        reader->byte = abuti_source_offset(source);
        status = read_binary_triangle(reader, table);
        if (!status)
            status = abuti_read_tick(reader);
    }
    return status;
}

/* ---- text ---- */

static abut_status expect_word(abuti_reader *reader, const char *text) {
    if (!abuti_text_space(reader))
        return abuti_read_fail_end(reader, "in a facet");
    const char *word;
    size_t length = abuti_text_word(reader, &word);
    if (abuti_text_is(word, length, text))
        return ABUT_OK;
    reader->source.at = (const unsigned char *)word;
    char what[32];
    snprintf(what, sizeof what, "the word '%s'", text);
    return abuti_text_fail_word(reader, what);
}

static abut_status read_text_vertex(abuti_reader *reader, corner_table *table) {
    static const char *const names[] = {"a number for x", "a number for y", "a number for z"};
    double p[3];
    for (int axis = 0; axis < 3; axis++) {
        if (!abuti_text_space(reader))
            return abuti_read_fail_end(reader, "in a vertex");
        abut_status status = abuti_text_number(reader, names[axis], &p[axis]);
        if (status)
            return status;
    }
    uint32_t vertex;
    abut_status status = find_or_add_vertex(reader, table, v3(p[0], p[1], p[2]), &vertex);
    return status ? status : abuti_read_corner(reader, vertex);
}

/* Reads the rest of a facet after "facet". The normal is skipped: it is often wrong, and always
 * redundant. */
static abut_status read_facet(abuti_reader *reader, corner_table *table) {
    abut_status status = expect_word(reader, "normal");
    for (int i = 0; i < 3 && !status; i++) {
        if (!abuti_text_space(reader))
            return abuti_read_fail_end(reader, "in a facet");
        abuti_text_skip_word(reader);
    }
    if (!status)
        status = expect_word(reader, "outer");
    if (!status)
        status = expect_word(reader, "loop");
    abuti_read_face_begin(reader);
    while (!status) {
        if (!abuti_text_space(reader))
            return abuti_read_fail_end(reader, "in a facet");
        int letter = *reader->source.at;
        if (letter == 'e' || letter == 'E')
            break;
        status = expect_word(reader, "vertex");
        if (!status)
            status = read_text_vertex(reader, table);
    }
    if (!status)
        status = expect_word(reader, "endloop");
    if (!status)
        status = abuti_read_face_end(reader);
    return status ? status : expect_word(reader, "endfacet");
}

static abut_status read_text(abuti_reader *reader, corner_table *table) {
    bool open = false; /* inside a solid */
    abut_status status = ABUT_OK;
    while (!status && abuti_text_space(reader)) {
        int letter = *reader->source.at;
        if (!open) {
            status = expect_word(reader, "solid");
            abuti_text_skip_line(reader); /* its name */
            open = true;
        } else if (letter == 'e' || letter == 'E') {
            status = expect_word(reader, "endsolid");
            if (!status)
                abuti_text_skip_line(reader);
            open = false;
        } else {
            status = expect_word(reader, "facet");
            if (!status)
                status = read_facet(reader, table);
        }
        if (!status)
            status = abuti_read_tick(reader);
    }
    if (!status && open)
        return abuti_read_fail_end(reader, "without 'endsolid'");
    return status;
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

abut_status abuti_read_stl(abuti_reader *reader) {
    corner_table table = {0};
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    table.seed = mix_bits((uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uintptr_t)&table);
    abut_status status = table_create(reader, &table, 1024);
    if (!status)
        status = is_text(reader) ? read_text(reader, &table) : read_binary(reader, &table);
    abuti_release(reader->context, table.entries);
    return status;
}
