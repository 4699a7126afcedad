/* SIMD operations on four or more floats: the only file with processor-specific code.
 *
 * Vector types of gcc and clang, with a few intrinsics of SSE2 on x86-64 and of NEON on aarch64,
 * which every such processor has, so binaries run on all of them; without intrinsics on other
 * processors and if ABUT_NO_SIMD is defined. All three give the same bits: the operations are those
 * of IEEE 754 with one rounding each. Processors differ in two operations,
 * which are therefore defined here, lane by lane: f4_min(a, b) is a < b ? a : b, and f4_max(a, b)
 * is a > b ? a : b. The result is b if both are equal or one is not a number.
 *
 * For work whose rounding does not matter there are also groups of four floats: two groups in a
 * file that is compiled for AVX2 and FMA, four in a file that is compiled for AVX-512 and sixteen
 * LANES, otherwise one. abuti_simd_lanes() returns which of these files may be called. Products may
 * be added without an intermediate rounding, so bits differ between widths.
 */
#ifndef ABUTI_BASE_SIMD_H
#define ABUTI_BASE_SIMD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The number of lanes of the *_lanes.c variant to call: 16 (AVX-512), 8 (AVX2) or 4. */
int abuti_simd_lanes(void);
/* The address of the widest variant that this processor can run, of name_4, name_8 and name_16,
 * which a file *_lanes.c defines. */
#if ABUTI_WIDE_LANES >= 16
#define ABUTI_BY_LANES(name) \
    (abuti_simd_lanes() >= 16 ? &name##_16 : abuti_simd_lanes() >= 8 ? &name##_8 : &name##_4)
#elif defined(ABUTI_WIDE_LANES)
#define ABUTI_BY_LANES(name) (abuti_simd_lanes() >= 8 ? &name##_8 : &name##_4)
#else
#define ABUTI_BY_LANES(name) (&name##_4)
#endif
/* For tests: behave as on a processor with at most this many lanes. */
void abuti_simd_limit_lanes(int lanes);

/* Prefetches a cache line. */
#if defined(__GNUC__)
#define ABUTI_PREFETCH(address) __builtin_prefetch(address)
#else
#define ABUTI_PREFETCH(address) ((void)0)
#endif

#if !defined(ABUT_NO_SIMD) && defined(__SSE2__)
#define ABUTI_SSE
#ifdef __FMA__
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif
#elif !defined(ABUT_NO_SIMD) && defined(__aarch64__) && defined(__ARM_NEON)
#define ABUTI_NEON
#include <arm_neon.h>
#else
#include <math.h>
#endif

/* Vector types of the compiler, which implements them on every processor. Operations that it does
 * not compile well have intrinsics. */
typedef float f4 __attribute__((vector_size(16)));
typedef int32_t m4 __attribute__((vector_size(16))); /* all bits of a lane set, or none */
typedef uint16_t abuti_u16x4 __attribute__((vector_size(8)));
typedef uint8_t abuti_u8x4 __attribute__((vector_size(4)));

static inline f4 f4_all(float x) {
    return (f4){x, x, x, x};
}
/* Loads and stores accept any alignment. */
static inline f4 f4_load(const float *from) {
    f4 r;
    memcpy(&r, from, sizeof r);
    return r;
}
static inline void f4_store(float *to, f4 a) {
    memcpy(to, &a, sizeof a);
}
static inline f4 f4_load_u16(const uint16_t *from) {
#ifdef ABUTI_SSE
    __m128i words = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(words, _mm_setzero_si128()));
#else
    abuti_u16x4 words;
    memcpy(&words, from, sizeof words);
    return __builtin_convertvector(__builtin_convertvector(words, m4), f4);
#endif
}
static inline f4 f4_load_u8(const uint8_t *from) {
#ifdef ABUTI_SSE
    int32_t four;
    memcpy(&four, from, sizeof four);
    __m128i zero = _mm_setzero_si128(), bytes = _mm_unpacklo_epi8(_mm_cvtsi32_si128(four), zero);
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(bytes, zero));
#else
    abuti_u8x4 bytes;
    memcpy(&bytes, from, sizeof bytes);
    return __builtin_convertvector(__builtin_convertvector(bytes, m4), f4);
#endif
}
/* Truncates towards zero. */
static inline void f4_store_int(int32_t *to, f4 a) {
    m4 n = __builtin_convertvector(a, m4);
    memcpy(to, &n, sizeof n);
}
/* Integers from 0 to 65535. */
static inline void f4_store_u16(uint16_t *to, f4 a) {
    abuti_u16x4 words = __builtin_convertvector(__builtin_convertvector(a, m4), abuti_u16x4);
    memcpy(to, &words, sizeof words);
}
static inline f4 f4_add(f4 a, f4 b) {
    return a + b;
}
static inline f4 f4_sub(f4 a, f4 b) {
    return a - b;
}
static inline f4 f4_mul(f4 a, f4 b) {
    return a * b;
}
static inline f4 f4_div(f4 a, f4 b) {
    return a / b;
}
static inline m4 f4_less(f4 a, f4 b) {
    return a < b;
}
static inline m4 f4_less_equal(f4 a, f4 b) {
    return a <= b;
}
static inline m4 m4_and(m4 a, m4 b) {
#ifdef ABUTI_SSE
    return (m4)_mm_and_ps((__m128)a, (__m128)b);
#else
    return a & b;
#endif
}
/* Lanes whose integer has its highest bit set. */
static inline m4 m4_highest(const uint32_t values[4]) {
    m4 v;
    memcpy(&v, values, sizeof v);
    return v < 0;
}
/* Lanes in which one of the three rows equals `one`. */
static inline m4 m4_any_equal(const uint32_t values[3][4], uint32_t one) {
    m4 v[3], all = {(int32_t)one, (int32_t)one, (int32_t)one, (int32_t)one};
    memcpy(v, values, sizeof v);
    return (v[0] == all) | (v[1] == all) | (v[2] == all);
}
/* a where the mask is set, b elsewhere; and 0 elsewhere */
static inline f4 f4_select(m4 mask, f4 a, f4 b) {
#ifdef ABUTI_SSE /* compilers would use instructions for integers, whose results arrive later */
    return _mm_or_ps(_mm_and_ps((__m128)mask, a), _mm_andnot_ps((__m128)mask, b));
#else
    return (f4)((mask & (m4)a) | (~mask & (m4)b));
#endif
}
static inline f4 f4_where(m4 mask, f4 a) {
#ifdef ABUTI_SSE
    return _mm_and_ps((__m128)mask, a);
#else
    return (f4)(mask & (m4)a);
#endif
}
static inline f4 f4_abs(f4 a) {
#ifdef ABUTI_SSE
    return _mm_andnot_ps(_mm_set1_ps(-0.0f), a);
#else
    return (f4)((m4)a & INT32_MAX);
#endif
}
static inline f4 f4_min(f4 a, f4 b) {
#ifdef ABUTI_SSE
    return _mm_min_ps(a, b);
#else
    return f4_select(a < b, a, b);
#endif
}
static inline f4 f4_max(f4 a, f4 b) {
#ifdef ABUTI_SSE
    return _mm_max_ps(a, b);
#else
    return f4_select(a > b, a, b);
#endif
}
static inline f4 f4_sqrt(f4 a) {
#if defined(ABUTI_SSE)
    return _mm_sqrt_ps(a);
#elif defined(ABUTI_NEON)
    return vsqrtq_f32(a);
#else
    return (f4){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
#endif
}
/* Bit k for lane k. */
static inline unsigned m4_bits(m4 mask) {
#ifdef ABUTI_SSE
    return (unsigned)_mm_movemask_ps((__m128)mask);
#else
    mask &= (m4){1, 2, 4, 8};
    return (unsigned)(mask[0] | mask[1] | mask[2] | mask[3]);
#endif
}
/* a b + c and c - a b, rounded once or twice */
static inline f4 f4_mul_add(f4 a, f4 b, f4 c) {
#if defined(ABUTI_SSE) && defined(__FMA__)
    return _mm_fmadd_ps(a, b, c);
#elif defined(ABUTI_NEON)
    return vfmaq_f32(c, a, b);
#else
    return a * b + c;
#endif
}
static inline f4 f4_mul_from(f4 a, f4 b, f4 c) {
    return f4_mul_add(-a, b, c);
}
/* Loads four floats from each of four arrays and transposes them: column[k] has element first + k
 * of every array. */
static inline void f4_columns(const float *const from[4], uint32_t first, f4 column[4]) {
    f4 row[4];
    for (int i = 0; i < 4; i++)
        row[i] = f4_load(from[i] + first);
#ifdef ABUTI_SSE
    _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
    memcpy(column, row, sizeof row);
#else
    for (int k = 0; k < 4; k++)
        column[k] = (f4){row[0][k], row[1][k], row[2][k], row[3][k]};
#endif
}

/* The minimum of the lanes, none of which is NaN. */
static inline float f4_least(f4 a) {
    float lane[4];
    f4_store(lane, a);
    float low = lane[0] < lane[1] ? lane[0] : lane[1], high = lane[2] < lane[3] ? lane[2] : lane[3];
    return low < high ? low : high;
}
/* Writes first + k for every set bit k; returns their number. Always writes up to four elements of
 * `to`. */
static inline uint32_t f4_number(uint32_t *to, uint32_t first, unsigned bits) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < 4; k++) { /* no branch: it would not be predictable */
        to[count] = first + k;
        count += bits >> k & 1;
    }
    return count;
}

/* ---- groups of four ---- */

#include "base/simd_groups.h"

/* ---- sorting four ---- */

typedef struct keyed {
    float key;
    uint32_t value;
} keyed;

/* Writes the chosen lanes by descending key, lower lanes first if keys are equal, and returns their
 * number. */
static inline uint32_t f4_sort(f4 key, m4 chosen, const uint32_t values[4], keyed to[4]) {
    float keys[4];
    const unsigned mask = m4_bits(chosen);
    uint32_t count = 0;
    f4_store(keys, key);
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t at = count;
        if (!(mask >> i & 1))
            continue;
        for (; at > 0 && to[at - 1].key < keys[i]; at--)
            to[at] = to[at - 1];
        to[at] = (keyed){keys[i], values[i]};
        count++;
    }
    return count;
}

#endif
