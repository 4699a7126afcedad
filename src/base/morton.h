/* Places along a curve that fills space (Morton 1966): neighbours on it are neighbours in space. */
#ifndef ABUTI_BASE_MORTON_H
#define ABUTI_BASE_MORTON_H

#include <stdint.h>

/* Two zeros between each of the lowest sixteen bits. */
static inline uint64_t morton_spread(uint64_t x) {
    x = (x | x << 16) & 0x0000ff0000ffu;
    x = (x | x << 8) & 0x00f00f00f00fu;
    x = (x | x << 4) & 0x0c30c30c30c3u;
    return (x | x << 2) & 0x249249249249u;
}

/* The code of three numbers of up to sixteen bits. */
static inline uint64_t morton_code(uint32_t x, uint32_t y, uint32_t z) {
    return morton_spread(x) | morton_spread(y) << 1 | morton_spread(z) << 2;
}

#endif
