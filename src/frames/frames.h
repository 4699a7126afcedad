/* Files of recorded motion (.abutm), as they are on disk.
 *
 *     frames_head, with its own checksum
 *     a frames_entry for each mesh, then a checksum of all of them
 *     the indices of each mesh, whose checksum is in its entry
 *     frames: positions of all vertices, aims where there are, and a frame_checksum
 *     frames_tail, with its own checksum: a recording that was cut off has none
 *
 * All frames have the same length, so that any of them is found by a product. Numbers are as the
 * machine has them; one of the other byte order is told by `order` and refused.
 */
#ifndef ABUTI_FRAMES_H
#define ABUTI_FRAMES_H

#include "base/checksum.h"
#include "mesh/mesh.h"

#include <abut/frames.h>

enum { FRAMES_VERSION = 1, FRAMES_ORDER = 0x01020304 };
#define FRAMES_MAGIC "\211abutm\r\n"
#define FRAMES_END "abut.end"
#define FRAMES_SECONDS (1.0 / 60)

typedef struct frames_head {
    unsigned char magic[8];
    uint32_t order, version;
    uint32_t mesh_count, type;
    uint32_t aims, reserved;
    double seconds;
    uint64_t checksum; /* of all before, as in the others */
} frames_head;

typedef struct frames_entry {
    uint32_t vertex_count, triangle_count;
    uint64_t checksum; /* of the indices */
} frames_entry;

typedef struct frames_tail {
    unsigned char magic[8];
    uint64_t frame_count;
    uint64_t checksum;
} frames_tail;

_Static_assert(sizeof(frames_head) == 48 && sizeof(frames_entry) == 16 && sizeof(frames_tail) == 24,
               "as in files");

static inline size_t frames_scalar_bytes(abut_scalar_type type) {
    return type == ABUT_SCALAR_FLOAT32 ? sizeof(float) : sizeof(double);
}

/* The number is part of it, so that a frame in the place of another is noticed. */
static inline uint64_t frame_checksum(const void *data, size_t bytes, uint64_t frame) {
    return abuti_checksum(data, bytes) ^ frame * UINT64_C(0x9E3779B97F4A7C15);
}

#endif
