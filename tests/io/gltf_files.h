/* Small glTF documents for tests of the reader, and helpers of both programs. */
#ifndef ABUT_TEST_MESH_GLTF_H
#define ABUT_TEST_MESH_GLTF_H

#include "io/readers.h"

#include <inttypes.h>

#define HEAD "\"asset\":{\"version\":\"2.0\"}"
#define FLOATS "\"componentType\":5126,\"type\":\"VEC3\""

static inline bool has_gltf(void) {
    return strstr(abut_features(), "gltf") != NULL;
}

/* ---- documents ---- */

static inline void encode(const bytes *from, char *out) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < from->count; i += 3) {
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (i + k < from->count ? from->data[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            *out++ = i + k > from->count ? '=' : letters[bits >> (18 - 6 * k) & 63];
    }
    *out = 0;
}

/* A document whose only buffer is in the text. */
static const char *embed(const char *members, const bytes *buffer) {
    static char text[16384], data[8192];
    encode(buffer, data);
    snprintf(text, sizeof text,
             "{" HEAD ",%s,\"buffers\":[{\"byteLength\":%zu,\"uri\":\"data:application/"
             "octet-stream;base64,%s\"}]}",
             members, buffer->count, data);
    return text;
}

/* The same as a GLB. */
static inline bytes pack(const char *members, const bytes *buffer) {
    char text[4096];
    bytes glb = {.count = 0};
    snprintf(text, sizeof text, "{" HEAD ",%s,\"buffers\":[{\"byteLength\":%zu}]}", members,
             buffer->count);
    while (strlen(text) % 4)
        strcat(text, " ");
    uint32_t length = (uint32_t)strlen(text), padded = (uint32_t)(buffer->count + 3) / 4 * 4;
    append_bytes(&glb, "glTF", 4);
    put_u32(&glb, 2);
    put_u32(&glb, 12 + 8 + length + 8 + padded);
    put_u32(&glb, length);
    append_bytes(&glb, "JSON", 4);
    append_bytes(&glb, text, length);
    put_u32(&glb, padded);
    append_bytes(&glb, "BIN", 4);
    append_bytes(&glb, buffer->data, buffer->count);
    append_bytes(&glb, "\0\0\0", padded - buffer->count);
    return glb;
}

static inline abut_mesh *read_text(const char *text) {
    return read_named(text, "a.gltf");
}

static inline void refused(const char *text, const char *part) {
    check_refused(text, strlen(text), "bad.gltf", part);
}

static inline void gives(const char *text, uint32_t vertex_count, const double *positions,
                         uint32_t triangle_count, const uint32_t *indices) {
    AUTO(mesh) mesh = read_text(text);
    check_mesh(mesh, vertex_count, positions, triangle_count, indices);
}

/* A square: 4 vertices in view 0, and in view 1 six indices of 16 bits. */
static const float square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0.5f};
static const double square_at[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0.5};
static const uint32_t square_corners[] = {0, 1, 2, 0, 2, 3};

static inline bytes square_bytes(void) {
    bytes made = {.count = 0};
    static const unsigned char corners[12] = {0, 0, 1, 0, 2, 0, 0, 0, 2, 0, 3, 0};
    put_floats(&made, 12, square);
    append_bytes(&made, corners, sizeof corners);
    return made;
}

#define SQUARE_VIEWS                                     \
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":48}," \
    "{\"buffer\":0,\"byteOffset\":48,\"byteLength\":12}]"
#define SQUARE_ACCESSORS                                   \
    "\"accessors\":[{\"bufferView\":0,\"count\":4," FLOATS \
    "},{\"bufferView\":1,\"componentType\":5123,\"count\":6,\"type\":\"SCALAR\"}]"
#define SQUARE_MESH \
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}]"
#define SQUARE SQUARE_VIEWS "," SQUARE_ACCESSORS "," SQUARE_MESH
#define ONE_NODE "\"scene\":0,\"scenes\":[{\"nodes\":[0]}],\"nodes\":[{\"mesh\":0}]"

#define SPARSE(base, count, type)                                                         \
    SQUARE_VIEWS_SPARSE ",\"accessors\":[{" base "\"count\":4," FLOATS                    \
                        ",\"sparse\":{\"count\":" count ",\"indices\":{\"bufferView\":2," \
                        "\"componentType\":" type "},\"values\":{\"bufferView\":3}}},"    \
                        "{\"bufferView\":1,\"componentType\":5123,\"count\":6,\"type\":"  \
                        "\"SCALAR\"}]," SQUARE_MESH
#define SQUARE_VIEWS_SPARSE                               \
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":48},"  \
    "{\"buffer\":0,\"byteOffset\":48,\"byteLength\":12}," \
    "{\"buffer\":0,\"byteOffset\":60,\"byteLength\":4},"  \
    "{\"buffer\":0,\"byteOffset\":64,\"byteLength\":24}]"

/* ---- programs ---- */

static void says_what_is_missing(void **state) {
    abut_mesh *mesh = NULL;
    assert_fails(ABUT_ERROR_UNSUPPORTED, "a.gltf: is glTF, which this build of abut cannot read",
                 check_read("{}", 2, "a.gltf", &mesh));
    assert_null(mesh);
}

static int run_gltf(void) {
    const struct CMUnitTest without[] = {cmocka_unit_test(says_what_is_missing)};
    return has_gltf() ? test_run(NULL, NULL) : cmocka_run_group_tests(without, NULL, NULL);
}

#endif
