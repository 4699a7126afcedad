/* The file format of recorded motion (.abutm).
 *
 *     frames_head, with its own checksum
 *     one frames_entry per mesh, then a checksum of all of them
 *     since version 2: frames_extra, then `name_bytes` bytes: a name for each mesh, empty if it has
 *         none, each with a zero at its end
 *     the indices of each mesh, whose checksum is in its entry
 *     frames: positions of all vertices, aims if there are any, and a frame_checksum
 *     frames_tail, with its own checksum: a truncated recording has none
 *
 * All frames have the same length, so that the position of a frame is a product. Numbers have the
 * byte order of the machine that wrote them; `order` detects the other byte order, which is not
 * supported.
 */
#ifndef ABUTI_FRAMES_H
#define ABUTI_FRAMES_H

#include "base/checksum.h"
#include "geom/pose.h"
#include "mesh/mesh.h"

#include <abut/frames.h>

enum { FRAMES_VERSION = 2, FRAMES_ORDER = 0x01020304 };
#define FRAMES_MAGIC "\211abutm\r\n"
#define FRAMES_END "abut.end"
#define FRAMES_SECONDS (1.0 / 60)

typedef struct frames_head {
    unsigned char magic[8];
    uint32_t order, version;
    uint32_t mesh_count, type;
    uint32_t aims, reserved;
    double seconds;
    uint64_t checksum; /* of all bytes before it */
} frames_head;

typedef struct frames_entry {
    uint32_t vertex_count, triangle_count;
    uint64_t checksum; /* of the indices */
} frames_entry;

typedef struct frames_extra {
    double up[3]; /* a unit vector, or zero */
    uint64_t name_bytes;
    uint64_t name_checksum;
    uint64_t checksum; /* of all bytes before it */
} frames_extra;

typedef struct frames_tail {
    unsigned char magic[8];
    uint64_t frame_count;
    uint64_t checksum;
} frames_tail;

_Static_assert(sizeof(frames_head) == 48 && sizeof(frames_entry) == 16 &&
                   sizeof(frames_extra) == 48 && sizeof(frames_tail) == 24,
               "layout in files");

static inline size_t frames_scalar_bytes(abut_scalar_type type) {
    return type == ABUT_SCALAR_FLOAT32 ? sizeof(float) : sizeof(double);
}

/* Whether bytes are a valid name of a mesh. */
static inline bool frames_is_name(const char *name, size_t bytes) {
    for (size_t i = 0; i < bytes && i <= ABUT_FRAMES_NAME_BYTES; i++)
        if ((unsigned char)name[i] < 32 || name[i] == 127)
            return false;
    return bytes <= ABUT_FRAMES_NAME_BYTES;
}

/* Includes the number of the frame, so that exchanged frames are detected. */
static inline uint64_t frame_checksum(const void *data, size_t bytes, uint64_t frame) {
    return abuti_checksum(data, bytes) ^ frame * UINT64_C(0x9E3779B97F4A7C15);
}

#endif
