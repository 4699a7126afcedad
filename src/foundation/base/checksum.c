#include "base/checksum.h"

#include <string.h>

/* XXH64 (Collet, xxHash specification 0.1.1). The five primes of the specification. */
#define P1 0x9E3779B185EBCA87u
#define P2 0xC2B2AE3D27D4EB4Fu
#define P3 0x165667B19E3779F9u
#define P4 0x85EBCA77C2B2AE63u
#define P5 0x27D4EB2F165667C5u

static uint64_t rotate_left(uint64_t x, int by) {
    return x << by | x >> (64 - by);
}

/* Reads a little-endian number of up to 8 bytes, on machines of any byte order. */
static uint64_t read_word(const unsigned char *at, int bytes) {
    uint64_t value = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&value, at, (size_t)bytes);
#else
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
#endif
    return value;
}

static uint64_t mix_round(uint64_t sum, uint64_t value) {
    return rotate_left(sum + value * P2, 31) * P1;
}

uint64_t abuti_checksum(const void *data, size_t bytes) {
    const unsigned char *at = data;
    uint64_t sum = P5, left = bytes;
    if (left >= 32) {
        uint64_t a = P1 + P2, b = P2, c = 0, d = 0 - P1;
        for (; left >= 32; left -= 32, at += 32) {
            a = mix_round(a, read_word(at, 8));
            b = mix_round(b, read_word(at + 8, 8));
            c = mix_round(c, read_word(at + 16, 8));
            d = mix_round(d, read_word(at + 24, 8));
        }
        sum = rotate_left(a, 1) + rotate_left(b, 7) + rotate_left(c, 12) + rotate_left(d, 18);
        sum = (sum ^ mix_round(0, a)) * P1 + P4;
        sum = (sum ^ mix_round(0, b)) * P1 + P4;
        sum = (sum ^ mix_round(0, c)) * P1 + P4;
        sum = (sum ^ mix_round(0, d)) * P1 + P4;
    }
    sum += bytes;
    for (; left >= 8; left -= 8, at += 8)
        sum = rotate_left(sum ^ mix_round(0, read_word(at, 8)), 27) * P1 + P4;
    if (left >= 4) {
        sum = rotate_left(sum ^ read_word(at, 4) * P1, 23) * P2 + P3;
        left -= 4;
        at += 4;
    }
    for (; left; left--, at++)
        sum = rotate_left(sum ^ *at * P5, 11) * P1;
    sum = (sum ^ sum >> 33) * P2;
    sum = (sum ^ sum >> 29) * P3;
    return sum ^ sum >> 32;
}
