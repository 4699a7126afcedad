/* Helpers for all fuzz targets. */
#ifndef ABUT_FUZZ_H
#define ABUT_FUZZ_H

#include <abut/abut.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define FUZZ_CHECK(condition)                                                                \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", __FILE__, __LINE__, \
                    #condition, abut_last_error());                                          \
            abort();                                                                         \
        }                                                                                    \
    } while (0)

static char fuzz_file[64];

static inline void fuzz_remove(void) {
    unlink(fuzz_file);
    *strrchr(fuzz_file, '/') = 0;
    rmdir(fuzz_file);
}

/* A file in a folder of this process, as caches need one; in memory where the system offers that.
 */
static inline const char *fuzz_path(void) {
    if (!fuzz_file[0]) {
        const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(fuzz_file, sizeof fuzz_file, "%s/abut-fuzz-XXXXXX", folder);
        FUZZ_CHECK(mkdtemp(fuzz_file));
        strcat(fuzz_file, "/file");
        atexit(fuzz_remove);
    }
    return fuzz_file;
}

/* One thread: inputs are tiny, and starting threads would be most of the work. */
static inline abut_context *fuzz_context(void) {
    static abut_context *context;
    if (!context) {
        abut_context_options options = abut_context_options_default();
        options.thread_count = 1;
        FUZZ_CHECK(abut_context_create(&options, &context) == ABUT_OK);
    }
    return context;
}

static inline void fuzz_put(uint8_t *to, size_t value) {
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* Bytes as the JSON of a GLB and, after the first zero, its binary part, in the frame as it must
 * be; `skip` bytes stay before it. */
static inline uint8_t *fuzz_glb(const uint8_t *data, size_t bytes, size_t skip, size_t *all) {
    const uint8_t *start = data + skip,
                  *zero = bytes > skip ? memchr(start, 0, bytes - skip) : NULL;
    size_t text = zero ? (size_t)(zero - start) : bytes - skip;
    size_t binary = zero ? bytes - skip - 1 - text : 0, length = 12 + 8 + text + 8 + binary;
    uint8_t *file = malloc(skip + length);
    *all = skip + length;
    if (!file)
        return NULL;
    uint8_t *glb = file + skip;
    if (skip)
        memcpy(file, data, skip);
    memcpy(glb, "glTF\2\0\0\0", 8);
    fuzz_put(glb + 8, length);
    fuzz_put(glb + 12, text);
    memcpy(glb + 16, "JSON", 4);
    if (text)
        memcpy(glb + 20, start, text);
    fuzz_put(glb + 20 + text, binary);
    memcpy(glb + 24 + text, "BIN", 4);
    if (binary)
        memcpy(glb + 28 + text, zero + 1, binary);
    return file;
}

/* What every mesh promises. */
static inline void fuzz_valid(const abut_mesh *mesh) {
    uint32_t vertices = abut_mesh_vertex_count(mesh), triangles = abut_mesh_triangle_count(mesh);
    FUZZ_CHECK(triangles > 0);
    for (size_t i = 0; i < 3 * (size_t)triangles; i++)
        FUZZ_CHECK(abut_mesh_indices(mesh)[i] < vertices);
    abut_vec3 o = abut_mesh_local_origin(mesh);
    for (uint32_t i = 0; i < vertices; i++) {
        abut_vec3 p = abut_mesh_local_positions(mesh)[i];
        FUZZ_CHECK(fabs(o.x + p.x) <= ABUT_COORDINATE_MAX &&
                   fabs(o.y + p.y) <= ABUT_COORDINATE_MAX &&
                   fabs(o.z + p.z) <= ABUT_COORDINATE_MAX);
    }
}

/* Two meshes that must be equal in every number. */
static inline void fuzz_same(const abut_mesh *a, const abut_mesh *b) {
    uint32_t vertices = abut_mesh_vertex_count(a), triangles = abut_mesh_triangle_count(a);
    FUZZ_CHECK(vertices == abut_mesh_vertex_count(b));
    FUZZ_CHECK(triangles == abut_mesh_triangle_count(b));
    FUZZ_CHECK(!memcmp(abut_mesh_indices(a), abut_mesh_indices(b), 12 * (size_t)triangles));
    abut_vec3 o = abut_mesh_local_origin(a), u = abut_mesh_local_origin(b);
    for (uint32_t i = 0; i < vertices; i++) {
        abut_vec3 p = abut_mesh_local_positions(a)[i], q = abut_mesh_local_positions(b)[i];
        FUZZ_CHECK(o.x + p.x == u.x + q.x && o.y + p.y == u.y + q.y && o.z + p.z == u.z + q.z);
    }
}

/* Writes the mesh and reads it back; OBJ and PLY must give the same mesh. STL merges equal corners,
 * and it and glTF round to floats, so there only the triangles are counted. */
static inline void fuzz_round_trip(const abut_mesh *mesh, abut_mesh_format format, bool ascii) {
    bool lossy = format == ABUT_MESH_FORMAT_STL || format == ABUT_MESH_FORMAT_GLTF;
    abut_mesh_write_options options = abut_mesh_write_options_default();
    options.format = format;
    options.ascii = ascii;
    const char *path = fuzz_path();
    abut_status status = abut_mesh_write(mesh, path, &options);
    if (status) {
        /* coordinates that do not fit a float */
        FUZZ_CHECK(lossy && status == ABUT_ERROR_ARGUMENT);
        return;
    }
    abut_mesh_read_options read_options = abut_mesh_read_options_default();
    read_options.format = format;
    abut_mesh *back = NULL;
    FUZZ_CHECK(abut_mesh_read(fuzz_context(), path, &read_options, &back) == ABUT_OK);
    FUZZ_CHECK(abut_mesh_triangle_count(back) == abut_mesh_triangle_count(mesh));
    if (!lossy)
        fuzz_same(mesh, back);
    abut_mesh_destroy(back);
}

#endif
