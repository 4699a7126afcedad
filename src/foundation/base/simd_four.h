/* Four groups of four floats: the part of simd_groups.h that needs AVX-512. Included only by
 * simd_groups.h. */
#ifndef ABUTI_BASE_SIMD_FOUR_H
#define ABUTI_BASE_SIMD_FOUR_H

enum { WIDE_GROUPS = 4 };

typedef __m512 fw;
typedef __mmask16 mw;

#define fw_all _mm512_set1_ps
/* fw_groups: from[g] in all lanes of group g. fw_repeat: four numbers in every group. */
static inline fw fw_groups(const float from[WIDE_GROUPS]) {
    const __m512i lanes = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
    return _mm512_permutexvar_ps(lanes, _mm512_castps128_ps512(_mm_loadu_ps(from)));
}
#define fw_repeat _mm512_broadcast_f32x4
#define fw_load _mm512_loadu_ps
#define fw_store _mm512_storeu_ps
#define fw_add _mm512_add_ps
#define fw_sub _mm512_sub_ps
#define fw_mul _mm512_mul_ps
#define fw_mul_add _mm512_fmadd_ps
#define fw_mul_from _mm512_fnmadd_ps
#define fw_div _mm512_div_ps
/* a / b within two ulps, for b between 1e-30 and 1e30: an approximation of 14 bits and one Newton
 * step. A division of sixteen floats takes 16 cycles. */
static inline fw fw_quotient(fw a, fw b) {
    fw guess = _mm512_rcp14_ps(b);
    fw rest = _mm512_fnmadd_ps(b, guess, _mm512_set1_ps(1));
    return _mm512_mul_ps(a, _mm512_fmadd_ps(guess, rest, guess));
}
#define fw_abs _mm512_abs_ps
#define fw_sqrt _mm512_sqrt_ps
#define fw_min _mm512_min_ps
#define fw_max _mm512_max_ps
static inline mw fw_less(fw a, fw b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline mw fw_less_equal(fw a, fw b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
static inline mw mw_and(mw a, mw b) {
    return (mw)(a & b);
}
#define fw_where _mm512_maskz_mov_ps
static inline fw fw_unless(mw mask, fw a) {
    return _mm512_maskz_mov_ps((mw)~mask, a);
}
static inline unsigned mw_bits(mw mask) {
    return (unsigned)mask;
}
#define fw_least _mm512_reduce_min_ps
static inline fw fw_select(mw mask, fw a, fw b) {
    return _mm512_mask_blend_ps(mask, b, a);
}
static inline void fw_columns(const float *const from[16], uint32_t first, fw column[4]) {
    fw row[4];
    for (int i = 0; i < 4; i++) {
        row[i] = _mm512_castps128_ps512(_mm_loadu_ps(from[i] + first));
        row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(from[i + 4] + first), 1);
        row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(from[i + 8] + first), 2);
        row[i] = _mm512_insertf32x4(row[i], _mm_loadu_ps(from[i + 12] + first), 3);
    }
    fw low = _mm512_unpacklo_ps(row[0], row[1]), high = _mm512_unpackhi_ps(row[0], row[1]);
    fw low_2 = _mm512_unpacklo_ps(row[2], row[3]), high_2 = _mm512_unpackhi_ps(row[2], row[3]);
    column[0] = _mm512_shuffle_ps(low, low_2, 0x44);
    column[1] = _mm512_shuffle_ps(low, low_2, 0xee);
    column[2] = _mm512_shuffle_ps(high, high_2, 0x44);
    column[3] = _mm512_shuffle_ps(high, high_2, 0xee);
}
static inline uint32_t fw_number(uint32_t *to, uint32_t first, unsigned bits) {
    const __m512i order = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i all = _mm512_add_epi32(order, _mm512_set1_epi32((int)first));
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((mw)bits, all));
    return (uint32_t)__builtin_popcount(bits);
}
static inline unsigned fw_any_equal(const uint32_t a[3][4], const uint32_t b[3][4], uint32_t none) {
    const __m512i group = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
    unsigned met = 0;
    for (int k = 0; k < 3; k++) {
        __m128i four = _mm_loadu_si128((const __m128i *)(const void *)a[k]);
        __m512i one = _mm512_permutexvar_epi32(group, _mm512_castsi128_si512(four));
        mw some = _mm512_cmpneq_epi32_mask(one, _mm512_set1_epi32((int)none));
        for (int i = 0; i < 3; i++) {
            four = _mm_loadu_si128((const __m128i *)(const void *)b[i]);
            met |= _mm512_mask_cmpeq_epi32_mask(some, one, _mm512_broadcast_i32x4(four));
        }
    }
    return met;
}
static inline fw fw_load_u8(const uint8_t *from) {
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}
static inline fw fw_load_u16(const uint16_t *from) {
    __m256i words = _mm256_loadu_si256((const __m256i *)(const void *)from);
    return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(words));
}
static inline fw fw_number_lanes(fw a) {
    const __m512i numbers = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i high = _mm512_andnot_si512(_mm512_set1_epi32(15), _mm512_castps_si512(a));
    return _mm512_castsi512_ps(_mm512_or_si512(high, numbers));
}

/* Sixteen integers. */
typedef __m512i nw;
/* Writes the lanes whose bit is set consecutively. May write up to sixteen elements. */
static inline void fw_pack(float *to, unsigned bits, fw a) {
    _mm512_storeu_ps(to, _mm512_maskz_compress_ps((mw)bits, a));
}
static inline void nw_pack(uint32_t *to, unsigned bits, nw a) {
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((mw)bits, a));
}
#define nw_load _mm512_loadu_si512

/* Writes the keys of the chosen lanes among the first `count` and the corresponding values
 * consecutively, in a given order; returns their number. May write up to sixteen elements. order[i]
 * is the lane at position i; the first `count` positions have the first `count` lanes. */
static inline uint32_t fw_pack_ordered(float *keys, uint32_t *values, fw key, const uint32_t *from,
                                       const uint8_t order[16], mw chosen, uint32_t count) {
    __m512i by = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)order));
    const fw none = _mm512_set1_ps(__builtin_inff());
    fw k = _mm512_permutexvar_ps(by, _mm512_mask_blend_ps(chosen, none, key));
    unsigned bits = _mm512_cmp_ps_mask(k, none, _CMP_LT_OQ) & ((1u << count) - 1);
    nw v = _mm512_permutexvar_epi32(by, _mm512_loadu_si512(from));
    fw_pack(keys, bits, k);
    nw_pack(values, bits, v);
    return (uint32_t)__builtin_popcount(bits);
}
/* Writes the chosen lanes of keys and values consecutively and returns their number. May write up
 * to sixteen elements. */
static inline uint32_t fw_pack_pairs(float *keys, uint32_t *values, fw key, const uint32_t *from,
                                     unsigned bits) {
    nw v = nw_load(from);
    fw_pack(keys, bits, key);
    nw_pack(values, bits, v);
    return (uint32_t)__builtin_popcount(bits);
}

#endif
