#include "base/digest.h"

#include <string.h>

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4,
 * section 4.2.2). */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_right(uint32_t x, int by) {
    return x >> by | x << (32 - by);
}

/* One round of section 6.2.2 in the letters of the standard; d and h become the new e and a. */
static inline void compress_round(uint32_t a, uint32_t b, uint32_t c, uint32_t *d, uint32_t e,
                                  uint32_t f, uint32_t g, uint32_t *h, uint32_t kw) {
    uint32_t t1 = *h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) +
                  ((e & f) ^ (~e & g)) + kw;
    uint32_t t2 = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) +
                  ((a & b) ^ (a & c) ^ (b & c));
    *d += t1;
    *h = t1 + t2;
}

static void compress_block(uint32_t state[8], const unsigned char *block) {
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3) +
               (rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10);
    }
    memcpy(s, state, sizeof s);
    /* After eight rounds every word is at its old index again, so no word has to be moved. */
    for (int i = 0; i < 64; i += 8) {
        compress_round(s[0], s[1], s[2], &s[3], s[4], s[5], s[6], &s[7], k[i] + w[i]);
        compress_round(s[7], s[0], s[1], &s[2], s[3], s[4], s[5], &s[6], k[i + 1] + w[i + 1]);
        compress_round(s[6], s[7], s[0], &s[1], s[2], s[3], s[4], &s[5], k[i + 2] + w[i + 2]);
        compress_round(s[5], s[6], s[7], &s[0], s[1], s[2], s[3], &s[4], k[i + 3] + w[i + 3]);
        compress_round(s[4], s[5], s[6], &s[7], s[0], s[1], s[2], &s[3], k[i + 4] + w[i + 4]);
        compress_round(s[3], s[4], s[5], &s[6], s[7], s[0], s[1], &s[2], k[i + 5] + w[i + 5]);
        compress_round(s[2], s[3], s[4], &s[5], s[6], s[7], s[0], &s[1], k[i + 6] + w[i + 6]);
        compress_round(s[1], s[2], s[3], &s[4], s[5], s[6], s[7], &s[0], k[i + 7] + w[i + 7]);
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

void abuti_digest_begin(abuti_digest *digest) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(digest->state, start, sizeof start);
    digest->bytes = 0;
}

void abuti_digest_add(abuti_digest *digest, const void *data, size_t bytes) {
    const unsigned char *from = data;
    size_t used = (size_t)(digest->bytes % 64);
    digest->bytes += bytes;
    while (bytes) {
        size_t part = 64 - used < bytes ? 64 - used : bytes;
        memcpy(digest->block + used, from, part);
        from += part;
        bytes -= part;
        used += part;
        if (used == 64) {
            compress_block(digest->state, digest->block);
            used = 0;
        }
    }
}

void abuti_digest_end(abuti_digest *digest, unsigned char out[ABUTI_DIGEST_BYTES]) {
    static const unsigned char padding[64] = {0x80};
    unsigned char length[8];
    uint64_t bits = digest->bytes * 8;
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    size_t used = (size_t)(digest->bytes % 64);
    abuti_digest_add(digest, padding, used < 56 ? 56 - used : 120 - used);
    abuti_digest_add(digest, length, sizeof length);
    for (int i = 0; i < 32; i++)
        out[i] = (unsigned char)(digest->state[i / 4] >> (24 - 8 * (i % 4)));
}

void abuti_digest_text(abuti_digest *digest, const char *text) {
    uint64_t length = strlen(text);
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(length >> (8 * i));
    abuti_digest_add(digest, bytes, sizeof bytes);
    abuti_digest_add(digest, text, (size_t)length);
}
