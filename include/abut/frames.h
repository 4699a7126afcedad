/* Recorded motion: the triangles of one or several meshes, and the positions of all vertices in
 * each frame, in one file (.abutm).
 *
 * Any frame can be read without the others. Every frame has a checksum and is restored bit for bit,
 * so all methods and benchmarks can run on the same motion.
 */
#ifndef ABUT_FRAMES_H
#define ABUT_FRAMES_H

#include <abut/base.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum length of the name of a mesh. */
#define ABUT_FRAMES_NAME_BYTES 1000

/* ---- writing ---- */

typedef struct abut_frames_writer abut_frames_writer;

typedef struct abut_frames_options {
    size_t size;
    abut_scalar_type type;    /* type of the stored positions; NONE = double. Positions are never
                               * rounded: with float, a position that is not a float is an error */
    bool aims;                /* each frame also has aims: the predicted positions of the step that
                               * led to it, before collision response */
    double seconds;           /* time from frame to frame; 0 = 1/60 */
    const char *const *names; /* one for each mesh, of at most ABUT_FRAMES_NAME_BYTES without
                               * control characters; null = none, as for each of them */
    abut_vec3 up;             /* direction of any length; zero = unknown */
} abut_frames_options;

ABUT_DEFAULT(abut_frames_options)

/* Starts a file for `count` meshes and writes their triangles. By convention, deforming meshes come
 * first. The file appears at `path` when it is finished. Null `options` select the defaults.
 * Thread-safe. */
ABUT_API abut_status abut_frames_writer_create(abut_mesh *const *meshes, uint32_t count,
                                               const char *path, const abut_frames_options *options,
                                               abut_frames_writer **writer);
/* Adds a frame: the absolute positions of all vertices, mesh after mesh, and as many aims. `aims`
 * is null if and only if the file has none. Returns ABUT_ERROR_ARGUMENT if a coordinate is not
 * finite, exceeds ABUT_COORDINATE_MAX, or is not a float in a file of floats. Returns
 * ABUT_ERROR_FILE if writing fails. One thread per writer. */
ABUT_API abut_status abut_frames_writer_add(abut_frames_writer *writer, const abut_vec3 *positions,
                                            const abut_vec3 *aims);
/* Completes the file and frees the writer, also on failure. Returns ABUT_ERROR_ARGUMENT if there is
 * no frame. One thread per writer. */
ABUT_API abut_status abut_frames_writer_finish(abut_frames_writer *writer);
/* Frees a writer and discards its file. Null is allowed. One thread per writer. */
ABUT_API void abut_frames_writer_discard(abut_frames_writer *writer);

/* ---- reading ---- */

typedef struct abut_frames abut_frames;

/* Opens a file. Files of all earlier versions are supported. The content is not trusted: all
 * lengths are compared with the file size before memory is allocated. The function validates the
 * triangles and the first frame. Every other frame is validated when it is read. Returns
 * ABUT_ERROR_FORMAT if the file is truncated or damaged, and ABUT_ERROR_UNSUPPORTED if its byte
 * order or version is not supported. Thread-safe. */
ABUT_API abut_status abut_frames_open(abut_context *context, const char *path,
                                      abut_frames **frames);
/* The same for a file in memory. The memory must stay valid until abut_frames_close(). `name` is
 * used in messages and may be null. Thread-safe. */
ABUT_API abut_status abut_frames_open_memory(abut_context *context, const void *data, size_t bytes,
                                             const char *name, abut_frames **frames);
/* Closes the file and frees the object. Null is allowed. One thread at a time may use an open file.
 */
ABUT_API void abut_frames_close(abut_frames *frames);

typedef struct abut_frames_info {
    size_t size; /* sizeof(abut_frames_info), set by the default function */
    uint32_t mesh_count;
    uint64_t frame_count;
    uint64_t vertex_count, triangle_count; /* sums over all meshes */
    abut_scalar_type type;
    bool aims;
    double seconds; /* time from frame to frame */
    abut_vec3 up;   /* unit vector; zero = unknown */
} abut_frames_info;

ABUT_DEFAULT(abut_frames_info)

/* Stores the properties of the file. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_frames_get_info(const abut_frames *frames, abut_frames_info *info);
/* Returns a mesh with the positions of the first frame; null for an invalid index. The mesh is
 * valid until the file is closed. Thread-safe. */
ABUT_API abut_mesh *abut_frames_mesh(const abut_frames *frames, uint32_t mesh);
/* Returns the name of a mesh; null if it has none, or for an invalid index. The text is valid until
 * the file is closed. Thread-safe. */
ABUT_API const char *abut_frames_name(const abut_frames *frames, uint32_t mesh);
/* Reads frame `frame`, counted from 0, into arrays of vertex_count elements. `aims` may be null; it
 * must be null if the file has none. Returns ABUT_ERROR_ARGUMENT if the frame does not exist, and
 * ABUT_ERROR_FORMAT if it is damaged. Both arrays are unchanged on failure. One thread per file. */
ABUT_API abut_status abut_frames_read(abut_frames *frames, uint64_t frame, abut_vec3 *positions,
                                      abut_vec3 *aims);
/* Creates a mesh with the positions of a frame. The caller destroys it. One thread per file. */
ABUT_API abut_status abut_frames_mesh_at(abut_frames *frames, uint64_t frame, uint32_t mesh,
                                         abut_mesh **made);

#ifdef __cplusplus
}
#endif

#endif
