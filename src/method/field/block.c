/* Lossless compression of the blocks of field files.
 *
 * Neighbouring values differ little, but the low bits of floats are noise to a compressor that sees
 * bytes. So values are treated as integers. Each is replaced by its difference from the previous
 * one, with the sign in the lowest bit. Then the lowest bytes of all values are written first, then
 * all second bytes, and so on. The upper byte planes are nearly all zeros, which zstd compresses
 * well.
 */
#include "field/field.h"

#ifdef ABUT_HAS_ZSTD
#include <zstd.h>
#endif

enum { ZSTD_LEVEL = 1 }; /* zstd level: 3 gains 1% on a teapot at 128^3 and takes twice as long */

bool abuti_block_can_compress(void) {
#ifdef ABUT_HAS_ZSTD
    return true;
#else
    return false;
#endif
}

#ifdef ABUT_HAS_ZSTD

static void split_planes_4(const unsigned char *from, size_t count, unsigned char *to) {
    uint32_t before = 0, value;
    for (size_t i = 0; i < count; i++) {
        memcpy(&value, from + 4 * i, sizeof value);
        uint32_t d = value - before, z = d << 1 ^ (0 - (d >> 31));
        before = value;
        to[i] = (unsigned char)z;
        to[count + i] = (unsigned char)(z >> 8);
        to[2 * count + i] = (unsigned char)(z >> 16);
        to[3 * count + i] = (unsigned char)(z >> 24);
    }
}

/* Works in chunks that fit into the L1 cache: first a loop that compilers vectorise, then the
 * prefix sums. */
static void join_planes_4(const unsigned char *from, size_t count, unsigned char *to) {
    enum { CHUNK_VALUES = 1024 };
    uint32_t before = 0, piece[CHUNK_VALUES];
    for (size_t begin = 0; begin < count; begin += CHUNK_VALUES) {
        size_t some = count - begin < CHUNK_VALUES ? count - begin : CHUNK_VALUES;
        const unsigned char *a = from + begin, *b = a + count, *c = b + count, *d = c + count;
        for (size_t i = 0; i < some; i++) {
            uint32_t z =
                (uint32_t)a[i] | (uint32_t)b[i] << 8 | (uint32_t)c[i] << 16 | (uint32_t)d[i] << 24;
            piece[i] = z >> 1 ^ (0 - (z & 1));
        }
        for (size_t i = 0; i < some; i++)
            piece[i] = before += piece[i];
        memcpy(to + 4 * begin, piece, some * sizeof *piece);
    }
}

static void split_planes_2(const unsigned char *from, size_t count, unsigned char *to) {
    uint32_t before = 0;
    uint16_t value;
    for (size_t i = 0; i < count; i++) {
        memcpy(&value, from + 2 * i, sizeof value);
        uint32_t d = (value - before) & 0xffff, z = d << 1 ^ (0 - (d >> 15));
        before = value;
        to[i] = (unsigned char)z;
        to[count + i] = (unsigned char)(z >> 8);
    }
}

static void join_planes_2(const unsigned char *from, size_t count, unsigned char *to) {
    uint32_t before = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t z = (uint32_t)from[i] | (uint32_t)from[count + i] << 8;
        before += z >> 1 ^ (0 - (z & 1));
        uint16_t value = (uint16_t)before;
        memcpy(to + 2 * i, &value, sizeof value);
    }
}

size_t abuti_block_compress(const void *from, size_t bytes, size_t element_bytes, void *scratch,
                            void *to) {
    if (element_bytes == 4)
        split_planes_4(from, bytes / 4, scratch);
    else
        split_planes_2(from, bytes / 2, scratch);
    size_t got = ZSTD_compress(to, bytes, scratch, bytes, ZSTD_LEVEL);
    return ZSTD_isError(got) || got >= bytes ? 0 : got;
}

bool abuti_block_expand(const void *from, size_t from_bytes, size_t element_bytes, void *scratch,
                        void *to, size_t bytes) {
    size_t got = ZSTD_decompress(scratch, bytes, from, from_bytes);
    if (ZSTD_isError(got) || got != bytes)
        return false;
    if (element_bytes == 4)
        join_planes_4(scratch, bytes / 4, to);
    else
        join_planes_2(scratch, bytes / 2, to);
    return true;
}

#else

size_t abuti_block_compress(const void *from, size_t bytes, size_t element_bytes, void *scratch,
                            void *to) {
    (void)from;
    (void)bytes;
    (void)element_bytes;
    (void)scratch;
    (void)to;
    return 0;
}

bool abuti_block_expand(const void *from, size_t from_bytes, size_t element_bytes, void *scratch,
                        void *to, size_t bytes) {
    (void)from;
    (void)from_bytes;
    (void)element_bytes;
    (void)scratch;
    (void)to;
    (void)bytes;
    return false;
}

#endif
