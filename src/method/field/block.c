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

/* Elements of 2 or 4 bytes as integers. */
static uint32_t load_element(const unsigned char *at, size_t bytes) {
    uint32_t four;
    uint16_t two;
    memcpy(&two, at, sizeof two);
    if (bytes == sizeof two)
        return two;
    memcpy(&four, at, sizeof four);
    return four;
}

static void store_element(uint32_t value, unsigned char *to, size_t bytes) {
    const uint16_t two = (uint16_t)value;
    memcpy(to, bytes == sizeof two ? (const void *)&two : (const void *)&value, bytes);
}

static void split_planes(const unsigned char *from, size_t count, size_t bytes, unsigned char *to) {
    const unsigned shift = (unsigned)(8 * bytes - 1);
    uint32_t before = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t value = load_element(from + bytes * i, bytes), d = value - before,
                       z = d << 1 ^ (0 - (d >> shift & 1));
        before = value;
        for (size_t k = 0; k < bytes; k++)
            to[k * count + i] = (unsigned char)(z >> 8 * k);
    }
}

static void join_planes(const unsigned char *from, size_t count, size_t bytes, unsigned char *to) {
    uint32_t before = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t z = 0;
        for (size_t k = 0; k < bytes; k++)
            z |= (uint32_t)from[k * count + i] << 8 * k;
        before += z >> 1 ^ (0 - (z & 1));
        store_element(before, to + bytes * i, bytes);
    }
}

size_t abuti_block_compress(const void *from, size_t bytes, size_t element_bytes, void *scratch,
                            void *to) {
    split_planes(from, bytes / element_bytes, element_bytes, scratch);
    size_t got = ZSTD_compress(to, bytes, scratch, bytes, ZSTD_LEVEL);
    return ZSTD_isError(got) || got >= bytes ? 0 : got;
}

bool abuti_block_expand(const void *from, size_t from_bytes, size_t element_bytes, void *scratch,
                        void *to, size_t bytes) {
    size_t got = ZSTD_decompress(scratch, bytes, from, from_bytes);
    if (ZSTD_isError(got) || got != bytes)
        return false;
    join_planes(scratch, bytes / element_bytes, element_bytes, to);
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
