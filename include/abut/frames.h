/* Recorded motion: the triangles of one or several meshes once, then where all vertices are, frame
 * after frame, in one file (.abutm). Every frame can be read without the others, is checked, and
 * comes back bit for bit, so that every method and every benchmark sees the same motion.
 */
#ifndef ABUT_FRAMES_H
#define ABUT_FRAMES_H

#include <abut/base.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- writing ---- */

typedef struct abut_frames_writer abut_frames_writer;

typedef struct abut_frames_options {
    size_t size;
    abut_scalar_type type; /* what positions are kept as; NONE = doubles, which hold them all.
                            * Nothing is rounded: with floats, a position that is none is refused */
    bool aims;             /* each frame also has where vertices were about to go in the step that
                            * led to it, before collisions were handled */
    double seconds;        /* from frame to frame; 0 = 1/60 */
} abut_frames_options;

ABUT_DEFAULT(abut_frames_options)

/* Begins a file for some meshes, of which only the triangles are written: by custom what deforms
 * comes first. The file appears under its name when it is finished. Null `options` gives the
 * defaults. Thread-safe. */
ABUT_API abut_status abut_frames_writer_create(abut_mesh *const *meshes, uint32_t count,
                                               const char *path, const abut_frames_options *options,
                                               abut_frames_writer **writer);
/* Adds a frame: the positions of all vertices in absolute coordinates, mesh after mesh, and as many
 * aims, which are null where the file has none. Refused: what is not finite, beyond
 * ABUT_COORDINATE_MAX, or no float where it should be. One thread a writer. */
ABUT_API abut_status abut_frames_writer_add(abut_frames_writer *writer, const abut_vec3 *positions,
                                            const abut_vec3 *aims);
/* Completes the file, of at least one frame, and frees the writer in any case. */
ABUT_API abut_status abut_frames_writer_finish(abut_frames_writer *writer);
/* Frees a writer without leaving a file. Null is allowed. */
ABUT_API void abut_frames_writer_discard(abut_frames_writer *writer);

/* ---- reading ---- */

typedef struct abut_frames abut_frames;

/* Opens a file. Nothing in it is trusted: lengths are held against the size of the file before
 * memory is taken, triangles and the first frame are checked now, every other frame when it is
 * read. Thread-safe. */
ABUT_API abut_status abut_frames_open(abut_context *context, const char *path,
                                      abut_frames **frames);
/* The same for a file in memory, which must stay there. `name` is for messages; may be null. */
ABUT_API abut_status abut_frames_open_memory(abut_context *context, const void *data, size_t bytes,
                                             const char *name, abut_frames **frames);
/* Null is allowed. One thread at a time may use what was opened. */
ABUT_API void abut_frames_close(abut_frames *frames);

typedef struct abut_frames_info {
    size_t size; /* sizeof(abut_frames_info), set by the default function */
    uint32_t mesh_count;
    uint64_t frame_count;
    uint64_t vertex_count, triangle_count; /* of all meshes together */
    abut_scalar_type type;
    bool aims;
    double seconds; /* from frame to frame */
} abut_frames_info;

ABUT_DEFAULT(abut_frames_info)

/* Gets the counts of a recording. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_frames_get_info(const abut_frames *frames, abut_frames_info *info);
/* A mesh as it is in the first frame; null where there is none of that number. It lives as long as
 * the file is open. */
ABUT_API abut_mesh *abut_frames_mesh(const abut_frames *frames, uint32_t mesh);
/* Reads a frame, counted from 0: room for vertex_count each. `aims` may be null, and must be where
 * the file has none. On failure both are untouched. */
ABUT_API abut_status abut_frames_read(abut_frames *frames, uint64_t frame, abut_vec3 *positions,
                                      abut_vec3 *aims);
/* Makes a mesh of one frame. */
ABUT_API abut_status abut_frames_mesh_at(abut_frames *frames, uint64_t frame, uint32_t mesh,
                                         abut_mesh **made);

#ifdef __cplusplus
}
#endif

#endif
