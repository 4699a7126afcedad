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

#ifdef ABUT_HAS_ZSTD

bool abuti_block_can_compress(void) {
    return true;
}

/* Elements of 2 or 4 bytes as integers. Compilers create both versions of these functions. */
static inline uint32_t load_element(const unsigned char *at, size_t bytes) {
    uint32_t four;
    uint16_t two;
    if (bytes == sizeof four) {
        memcpy(&four, at, sizeof four);
        return four;
    }
    memcpy(&two, at, sizeof two);
    return two;
}

static inline void split_planes(const unsigned char *from, size_t count, size_t bytes,
                                unsigned char *to) {
    uint32_t before = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t value = load_element(from + bytes * i, bytes), d = value - before,
                       z = d << 1 ^ (0 - (d >> (8 * bytes - 1) & 1));
        before = value;
        for (size_t k = 0; k < bytes; k++)
            to[k * count + i] = (unsigned char)(z >> 8 * k);
    }
}

/* Works in chunks that fit into the L1 cache: first a loop that compilers vectorise, then the
 * prefix sums. */
static inline void join_planes(const unsigned char *from, size_t count, size_t bytes,
                               unsigned char *to) {
    enum { CHUNK_VALUES = 1024 };
    uint32_t before = 0, piece[CHUNK_VALUES];
    for (size_t begin = 0; begin < count; begin += CHUNK_VALUES) {
        const size_t some = count - begin < CHUNK_VALUES ? count - begin : CHUNK_VALUES;
        for (size_t i = 0; i < some; i++) {
            uint32_t z = 0;
            for (size_t k = 0; k < bytes; k++)
                z |= (uint32_t)from[k * count + begin + i] << 8 * k;
            piece[i] = z >> 1 ^ (0 - (z & 1));
        }
        for (size_t i = 0; i < some; i++) {
            before += piece[i];
            const uint16_t two = (uint16_t)before;
            memcpy(to + bytes * (begin + i), bytes == 4 ? (const void *)&before : &two, bytes);
        }
    }
}

size_t abuti_block_compress(const void *from, size_t bytes, size_t element_bytes, void *scratch,
                            void *to) {
    if (element_bytes == 4)
        split_planes(from, bytes / 4, 4, scratch);
    else
        split_planes(from, bytes / 2, 2, scratch);
    size_t got = ZSTD_compress(to, bytes, scratch, bytes, ZSTD_LEVEL);
    return ZSTD_isError(got) || got >= bytes ? 0 : got;
}

bool abuti_block_expand(const void *from, size_t from_bytes, size_t element_bytes, void *scratch,
                        void *to, size_t bytes) {
    size_t got = ZSTD_decompress(scratch, bytes, from, from_bytes);
    if (ZSTD_isError(got) || got != bytes)
        return false;
    if (element_bytes == 4)
        join_planes(scratch, bytes / 4, 4, to);
    else
        join_planes(scratch, bytes / 2, 2, to);
    return true;
}

#else

bool abuti_block_can_compress(void) {
    return false;
}

size_t abuti_block_compress(const void *from, size_t bytes, size_t element_bytes, void *scratch,
                            void *to) {
    (void)from, (void)bytes, (void)element_bytes, (void)scratch, (void)to;
    return 0;
}

bool abuti_block_expand(const void *from, size_t from_bytes, size_t element_bytes, void *scratch,
                        void *to, size_t bytes) {
    (void)from, (void)from_bytes, (void)element_bytes, (void)scratch, (void)to, (void)bytes;
    return false;
}

#endif
