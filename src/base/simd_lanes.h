/* Eight or sixteen floats at once, and as many bytes of doubles: for the few files that are built
 * for processors that have them. Beside simd.h the only file with processor-specific code.
 *
 * Names are those of simd.h with another number of lanes. Fused products may be rounded once or
 * twice: they are for bounds with a margin, never for an answer.
 */
#ifndef ABUTI_BASE_SIMD_LANES_H
#define ABUTI_BASE_SIMD_LANES_H

#include "base/simd.h"

#if !defined(ABUT_NO_SIMD) && defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__) && \
    !defined(ABUTI_SIMD_FOUR_GROUPS)
/* The wide vectors of simd.h are just these. */
typedef fw f8;
typedef mw m8;
#define f8_all fw_all
#define f8_store fw_store
#define f8_add fw_add
#define f8_sub fw_sub
#define f8_mul fw_mul
#define f8_fused fw_mul_add
#define f8_fused_less fw_mul_from
#define f8_min fw_min
#define f8_max fw_max
#define f8_less fw_less
#define f8_sqrt fw_sqrt
#define f8_div fw_div
#define f8_less_equal fw_less_equal
#define f8_where fw_where
#define f8_least fw_least
#define m8_bits mw_bits
static inline f8 f8_load(const float *from) {
    return _mm256_loadu_ps(from);
}
static inline f8 f8_abs(f8 a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
static inline f8 f8_select(m8 mask, f8 a, f8 b) {
    return _mm256_blendv_ps(b, a, mask);
}
static inline void f8_columns(const float *const from[8], uint32_t first, f8 column[4]) {
    f8 row[4];
    for (int i = 0; i < 4; i++)
        row[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from[i] + first)),
                                      _mm_loadu_ps(from[i + 4] + first), 1);
    f8 low = _mm256_unpacklo_ps(row[0], row[1]), high = _mm256_unpackhi_ps(row[0], row[1]);
    f8 low_2 = _mm256_unpacklo_ps(row[2], row[3]), high_2 = _mm256_unpackhi_ps(row[2], row[3]);
    column[0] = _mm256_shuffle_ps(low, low_2, 0x44);
    column[1] = _mm256_shuffle_ps(low, low_2, 0xee);
    column[2] = _mm256_shuffle_ps(high, high_2, 0x44);
    column[3] = _mm256_shuffle_ps(high, high_2, 0xee);
}

static inline uint32_t f8_number(uint32_t *to, uint32_t first, unsigned bits) {
    uint64_t bytes = _pdep_u64(bits, 0x0101010101010101u) * 0xff;
    uint64_t numbers = _pext_u64(0x0706050403020100u, bytes);
    __m256i all = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)numbers));
    all = _mm256_add_epi32(all, _mm256_set1_epi32((int)first));
    _mm256_storeu_si256((__m256i *)(void *)to, all);
    return (uint32_t)__builtin_popcount(bits);
}

#endif

#if !defined(ABUT_NO_SIMD) && defined(__AVX512F__)
typedef __m512 f16;
typedef __mmask16 m16;

static inline f16 f16_all(float x) {
    return _mm512_set1_ps(x);
}
static inline f16 f16_load(const float *from) {
    return _mm512_loadu_ps(from);
}
static inline void f16_store(float *to, f16 a) {
    _mm512_storeu_ps(to, a);
}
static inline f16 f16_add(f16 a, f16 b) {
    return _mm512_add_ps(a, b);
}
static inline f16 f16_sub(f16 a, f16 b) {
    return _mm512_sub_ps(a, b);
}
static inline f16 f16_mul(f16 a, f16 b) {
    return _mm512_mul_ps(a, b);
}
static inline f16 f16_fused(f16 a, f16 b, f16 c) {
    return _mm512_fmadd_ps(a, b, c);
}
static inline f16 f16_fused_less(f16 a, f16 b, f16 c) {
    return _mm512_fnmadd_ps(a, b, c);
}
static inline f16 f16_min(f16 a, f16 b) {
    return _mm512_min_ps(a, b);
}
static inline f16 f16_max(f16 a, f16 b) {
    return _mm512_max_ps(a, b);
}
static inline f16 f16_abs(f16 a) {
    return _mm512_abs_ps(a);
}
static inline f16 f16_div(f16 a, f16 b) {
    return _mm512_div_ps(a, b);
}
static inline f16 f16_sqrt(f16 a) {
    return _mm512_sqrt_ps(a);
}
static inline m16 f16_less(f16 a, f16 b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline m16 f16_less_equal(f16 a, f16 b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
static inline f16 f16_select(m16 mask, f16 a, f16 b) {
    return _mm512_mask_blend_ps(mask, b, a);
}
static inline f16 f16_where(m16 mask, f16 a) {
    return _mm512_maskz_mov_ps(mask, a);
}
static inline unsigned m16_bits(m16 mask) {
    return (unsigned)mask;
}
static inline void f16_columns(const float *const from[16], uint32_t first, f16 column[4]) {
    f16 row[4];
    for (int i = 0; i < 4; i++) {
        row[i] = _mm512_castps128_ps512(_mm_loadu_ps(from[i] + first));
        row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(from[i + 4] + first), 1);
        row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(from[i + 8] + first), 2);
        row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(from[i + 12] + first), 3);
    }
    f16 low = _mm512_unpacklo_ps(row[0], row[1]), high = _mm512_unpackhi_ps(row[0], row[1]);
    f16 low_2 = _mm512_unpacklo_ps(row[2], row[3]), high_2 = _mm512_unpackhi_ps(row[2], row[3]);
    column[0] = _mm512_shuffle_ps(low, low_2, 0x44);
    column[1] = _mm512_shuffle_ps(low, low_2, 0xee);
    column[2] = _mm512_shuffle_ps(high, high_2, 0x44);
    column[3] = _mm512_shuffle_ps(high, high_2, 0xee);
}
static inline float f16_least(f16 a) {
    return _mm512_reduce_min_ps(a);
}
/* Writes the lanes whose bits are set, close together; there must be room for all. */
static inline void f16_pack(float *to, unsigned bits, f16 a) {
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps((__mmask16)bits, a));
}
static inline uint32_t f16_number(uint32_t *to, uint32_t first, unsigned bits) {
    const __m512i order = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i all = _mm512_add_epi32(order, _mm512_set1_epi32((int)first));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)bits, all));
    return (uint32_t)__builtin_popcount(bits);
}

/* Eight doubles. */
typedef __m512d d8;
typedef __mmask8 n8;
static inline d8 d8_all(double x) {
    return _mm512_set1_pd(x);
}
static inline d8 d8_load(const double *from) {
    return _mm512_loadu_pd(from);
}
static inline void d8_store(double *to, d8 a) {
    _mm512_storeu_pd(to, a);
}
static inline d8 d8_add(d8 a, d8 b) {
    return _mm512_add_pd(a, b);
}
static inline d8 d8_sub(d8 a, d8 b) {
    return _mm512_sub_pd(a, b);
}
static inline d8 d8_mul(d8 a, d8 b) {
    return _mm512_mul_pd(a, b);
}
static inline d8 d8_div(d8 a, d8 b) {
    return _mm512_div_pd(a, b);
}
static inline d8 d8_sqrt(d8 a) {
    return _mm512_sqrt_pd(a);
}
static inline d8 d8_abs(d8 a) {
    return _mm512_abs_pd(a);
}
static inline d8 d8_negative(d8 a) {
    return _mm512_castsi512_pd(
        _mm512_xor_si512(_mm512_castpd_si512(a), _mm512_castpd_si512(_mm512_set1_pd(-0.0))));
}
static inline n8 d8_less(d8 a, d8 b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ);
}
static inline n8 d8_less_equal(d8 a, d8 b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ);
}
static inline n8 d8_equal(d8 a, d8 b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_EQ_OQ);
}
static inline n8 d8_and(n8 a, n8 b) {
    return (n8)(a & b);
}
static inline d8 d8_select(n8 mask, d8 a, d8 b) {
    return _mm512_mask_blend_pd(mask, b, a);
}
static inline unsigned d8_bits(n8 mask) {
    return mask;
}
/* As d4_load_three. */
static inline void d8_load_three(const double *const from[8], d8 out[3]) {
    d4 low[3], high[3];
    d4_load_three(from, low);
    d4_load_three(from + 4, high);
    for (int k = 0; k < 3; k++)
        out[k] = _mm512_insertf64x4(_mm512_castpd256_pd512(low[k]), high[k], 1);
}
/* Turns eight rows of eight into columns. */
static inline void d8_columns(const double *const from[8], d8 column[8]) {
    d8 pair[8], four[8];
    for (int i = 0; i < 8; i += 2) {
        d8 a = _mm512_loadu_pd(from[i]), b = _mm512_loadu_pd(from[i + 1]);
        pair[i] = _mm512_unpacklo_pd(a, b);     /* columns 0 2 4 6 of two rows */
        pair[i + 1] = _mm512_unpackhi_pd(a, b); /* columns 1 3 5 7 */
    }
    for (int i = 0; i < 8; i += 4)
        for (int odd = 0; odd < 2;
             odd++) { /* columns odd and 4 + odd of four rows, then the rest */
            four[i + odd] = _mm512_shuffle_f64x2(pair[i + odd], pair[i + 2 + odd], 0x88);
            four[i + 2 + odd] = _mm512_shuffle_f64x2(pair[i + odd], pair[i + 2 + odd], 0xdd);
        }
    for (int k = 0; k < 4; k++) {
        column[k] = _mm512_shuffle_f64x2(four[k], four[4 + k], 0x88);
        column[4 + k] = _mm512_shuffle_f64x2(four[k], four[4 + k], 0xdd);
    }
}

#endif

#endif
