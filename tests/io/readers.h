/* Helpers for tests of the readers: two triangles over four corners, as every format has them,
 * files cut off anywhere, very long lines. */
#ifndef ABUT_TEST_IO_READERS_H
#define ABUT_TEST_IO_READERS_H

#include "mesh/check.h"

static const double corner_positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const uint32_t two_triangles[] = {0, 1, 2, 0, 2, 3};

typedef struct bytes {
    unsigned char data[4096];
    size_t count;
} bytes;

static inline void append_bytes(bytes *to, const void *data, size_t count) {
    assert_true(to->count + count <= sizeof to->data);
    memcpy(to->data + to->count, data, count);
    to->count += count;
}

static inline void append_text(bytes *to, const char *text) {
    append_bytes(to, text, strlen(text));
}

static inline void put_u32(bytes *to, uint32_t value) {
    const unsigned char little[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                                     (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
    append_bytes(to, little, 4);
}

static inline void put_floats(bytes *to, size_t count, const float *values) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        put_u32(to, bits);
    }
}

static inline abut_mesh *read_named(const char *text, const char *name) {
    abut_mesh *mesh = NULL;
    assert_ok(check_read(text, strlen(text), name, &mesh));
    return mesh;
}

/* The file holds the two triangles, or a quad that its first corner cuts into them. */
static inline void gives_two(const void *data, size_t size, const char *name) {
    AUTO(mesh) mesh = NULL;
    abut_mesh_read_options options = abut_mesh_read_options_default();
    options.triangulation = ABUT_TRIANGULATION_FAN;
    assert_ok(abut_mesh_read_memory(NULL, data, size, name, &options, &mesh));
    check_mesh(mesh, 4, corner_positions, 2, two_triangles);
}

#define EACH_GIVES_TWO(texts, name)                           \
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) \
    gives_two(texts[i], strlen(texts[i]), name)

/* Reads each beginning of a file of the two triangles, which is refused, or holds some of them.
 * Returns how many of them are not refused. */
static inline uint32_t check_beginnings(const void *data, size_t size, const char *name) {
    uint32_t good = 0;
    for (size_t length = 0; length < size; length++) {
        AUTO_FREE char *copy = malloc(length + 1); /* ASan sees a step too far but one */
        memcpy(copy, data, length);
        AUTO(mesh) mesh = NULL;
        abut_status status = check_read(copy, length, name, &mesh);
        if (status) {
            assert_int_equal(ABUT_ERROR_FORMAT, status);
            assert_non_null(strstr(abut_last_error(), name));
            assert_null(mesh);
        } else {
            check_mesh(mesh, 4, corner_positions, abut_mesh_triangle_count(mesh), two_triangles);
            good++;
        }
    }
    return good;
}

/* Ten million letters between two texts. */
static inline const char *filled_text(const char *start, char fill, const char *end) {
    enum { LONG = 10000000 };
    static char text[LONG + 2000];
    size_t length = strlen(start);
    memcpy(text, start, length);
    memset(text + length, fill, LONG);
    strcpy(text + length + LONG, end);
    return text;
}

#endif
