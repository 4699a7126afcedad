/* Vectors of groups of four floats: two groups with AVX2, four with AVX-512 in files that are
 * compiled for sixteen lanes, otherwise one. Included only by simd.h, which has the operations on
 * four floats. */
#ifndef ABUTI_BASE_SIMD_GROUPS_H
#define ABUTI_BASE_SIMD_GROUPS_H

#if !defined(ABUT_NO_SIMD) && defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#define ABUTI_SIMD_WIDE

/* Four doubles, one rounding per operation: the same bits as scalar code. */
typedef __m256d d4;

#define d4_all _mm256_set1_pd
#define d4_store _mm256_storeu_pd
#define d4_add _mm256_add_pd
#define d4_sub _mm256_sub_pd
#define d4_mul _mm256_mul_pd
/* a b - c, rounded once */
#define d4_mul_sub _mm256_fmsub_pd
#define d4_div _mm256_div_pd
#define d4_sqrt _mm256_sqrt_pd
static inline d4 d4_negative(d4 a) {
    return _mm256_xor_pd(a, _mm256_set1_pd(-0.0));
}
static inline d4 d4_abs(d4 a) {
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
}
/* a < b ? a : b and a > b ? a : b */
#define d4_min _mm256_min_pd
#define d4_max _mm256_max_pd
/* Masks are d4 as well, all bits of a lane set or none. */
static inline d4 d4_less(d4 a, d4 b) {
    return _mm256_cmp_pd(a, b, _CMP_LT_OQ);
}
static inline d4 d4_less_equal(d4 a, d4 b) {
    return _mm256_cmp_pd(a, b, _CMP_LE_OQ);
}
static inline d4 d4_equal(d4 a, d4 b) {
    return _mm256_cmp_pd(a, b, _CMP_EQ_OQ);
}
#define d4_and _mm256_and_pd
static inline d4 d4_select(d4 mask, d4 a, d4 b) {
    return _mm256_blendv_pd(b, a, mask);
}
static inline unsigned d4_bits(d4 mask) {
    return (unsigned)_mm256_movemask_pd(mask);
}
#define f4_from_d4 _mm256_cvtpd_ps
static inline double d4_least(d4 a) {
    __m128d m = _mm_min_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_min_sd(m, _mm_unpackhi_pd(m, m)));
}
static inline double d4_greatest(d4 a) {
    __m128d m = _mm_max_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_max_sd(m, _mm_unpackhi_pd(m, m)));
}
/* Loads three numbers from each of four arrays: out[0] has the first of each, and so on. */
static inline void d4_load_three(const double *const from[4], d4 out[3]) {
    d4 even = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from[0])),
                                   _mm_loadu_pd(from[2]), 1);
    d4 odd = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from[1])),
                                  _mm_loadu_pd(from[3]), 1);
    out[0] = _mm256_unpacklo_pd(even, odd);
    out[1] = _mm256_unpackhi_pd(even, odd);
    out[2] = _mm256_setr_pd(from[0][2], from[1][2], from[2][2], from[3][2]);
}

/* A bounding box as its lower corner and its negated upper corner, so that the union of boxes is a
 * minimum. The fourth elements are arbitrary. The bits do not depend on the processor. */
typedef __m256 box4;

#define box4_load _mm256_loadu_ps
#define box4_store _mm256_storeu_ps
#define box4_all _mm256_set1_ps
#define box4_join _mm256_min_ps
#define box4_low _mm256_castps256_ps128
static inline f4 box4_minus_high(box4 a) {
    return _mm256_extractf128_ps(a, 1);
}

#if defined(LANES) && LANES == 16

#include "base/simd_four.h"

#else

enum { WIDE_GROUPS = 2 };

typedef __m256 fw;
typedef __m256 mw;

#define fw_all _mm256_set1_ps
/* fw_groups: from[g] in all lanes of group g. fw_repeat: four numbers in every group. */
static inline fw fw_groups(const float from[WIDE_GROUPS]) {
    return _mm256_blend_ps(_mm256_broadcast_ss(from), _mm256_broadcast_ss(from + 1), 0xf0);
}
static inline fw fw_repeat(f4 a) {
    return _mm256_insertf128_ps(_mm256_castps128_ps256(a), a, 1);
}
#define fw_load _mm256_loadu_ps
#define fw_store _mm256_storeu_ps
#define fw_add _mm256_add_ps
#define fw_sub _mm256_sub_ps
#define fw_mul _mm256_mul_ps
/* a b + c */
#define fw_mul_add _mm256_fmadd_ps
/* c - a b */
#define fw_mul_from _mm256_fnmadd_ps
#define fw_div _mm256_div_ps
/* a / b within two ulps, for b between 1e-30 and 1e30. */
#define fw_quotient _mm256_div_ps
#define fw_sqrt _mm256_sqrt_ps
#define fw_min _mm256_min_ps
#define fw_max _mm256_max_ps
static inline mw fw_less(fw a, fw b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline mw fw_less_equal(fw a, fw b) {
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
#define mw_and _mm256_and_ps
/* a if the mask is set, 0 otherwise; and the opposite */
#define fw_where _mm256_and_ps
#define fw_unless _mm256_andnot_ps
static inline unsigned mw_bits(mw mask) {
    return (unsigned)_mm256_movemask_ps(mask);
}
/* a if the mask is set, b otherwise */
static inline fw fw_abs(fw a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
static inline fw fw_select(mw mask, fw a, fw b) {
    return _mm256_blendv_ps(b, a, mask);
}
/* As f4_columns and f4_number. */
static inline void fw_columns(const float *const from[8], uint32_t first, fw column[4]) {
    fw row[4];
    for (int i = 0; i < 4; i++)
        row[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(from[i] + first)),
                                      _mm_loadu_ps(from[i + 4] + first), 1);
    fw low = _mm256_unpacklo_ps(row[0], row[1]), high = _mm256_unpackhi_ps(row[0], row[1]);
    fw low_2 = _mm256_unpacklo_ps(row[2], row[3]), high_2 = _mm256_unpackhi_ps(row[2], row[3]);
    column[0] = _mm256_shuffle_ps(low, low_2, 0x44);
    column[1] = _mm256_shuffle_ps(low, low_2, 0xee);
    column[2] = _mm256_shuffle_ps(high, high_2, 0x44);
    column[3] = _mm256_shuffle_ps(high, high_2, 0xee);
}
/* The indices of the lanes whose bits are set, in ascending order. */
static inline __m256i abuti_lanes_of(unsigned bits) {
    uint64_t bytes = _pdep_u64(bits, 0x0101010101010101u) * 0xff;
    return _mm256_cvtepu8_epi32(
        _mm_cvtsi64_si128((long long)_pext_u64(0x0706050403020100u, bytes)));
}
static inline uint32_t fw_number(uint32_t *to, uint32_t first, unsigned bits) {
    __m256i all = _mm256_add_epi32(abuti_lanes_of(bits), _mm256_set1_epi32((int)first));
    _mm256_storeu_si256((__m256i *)(void *)to, all);
    return (uint32_t)__builtin_popcount(bits);
}
/* As in simd_four.h. */
static inline uint32_t fw_pack_pairs(float *keys, uint32_t *values, fw key, const uint32_t *from,
                                     unsigned bits) {
    __m256i lanes = abuti_lanes_of(bits);
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)from);
    _mm256_storeu_ps(keys, _mm256_permutevar8x32_ps(key, lanes));
    _mm256_storeu_si256((__m256i *)(void *)values, _mm256_permutevar8x32_epi32(v, lanes));
    return (uint32_t)__builtin_popcount(bits);
}
static inline uint32_t fw_pack_ordered(float *keys, uint32_t *values, fw key, const uint32_t *from,
                                       const uint8_t order[8], mw chosen, uint32_t count) {
    __m256i by = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)order));
    unsigned bits = mw_bits(_mm256_permutevar8x32_ps(chosen, by)) & ((1u << count) - 1);
    __m256i lanes = _mm256_permutevar8x32_epi32(by, abuti_lanes_of(bits));
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)from);
    _mm256_storeu_ps(keys, _mm256_permutevar8x32_ps(key, lanes));
    _mm256_storeu_si256((__m256i *)(void *)values, _mm256_permutevar8x32_epi32(v, lanes));
    return (uint32_t)__builtin_popcount(bits);
}
static inline unsigned fw_any_equal(const uint32_t a[3][4], const uint32_t b[3][4], uint32_t none) {
    unsigned met = 0;
    for (int half = 0; half < 2; half++) {
        const __m256i group = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
        __m256i any = _mm256_setzero_si256();
        for (int k = 0; k < 3; k++) {
            __m128i two = _mm_loadl_epi64((const __m128i *)(const void *)(a[k] + 2 * half));
            __m256i one = _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(two), group);
            __m256i equal = _mm256_setzero_si256();
            for (int i = 0; i < 3; i++) {
                __m128i four = _mm_loadu_si128((const __m128i *)(const void *)b[i]);
                __m256i others = _mm256_broadcastsi128_si256(four);
                equal = _mm256_or_si256(equal, _mm256_cmpeq_epi32(one, others));
            }
            __m256i missing = _mm256_cmpeq_epi32(one, _mm256_set1_epi32((int)none));
            any = _mm256_or_si256(any, _mm256_andnot_si256(missing, equal));
        }
        met |= (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(any)) << 8 * half;
    }
    return met;
}
/* The minimum of all lanes. */
static inline float fw_least(fw a) {
    __m128 m = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_shuffle_ps(m, m, 1)));
}

/* Loads as many integers as there are lanes. */
static inline fw fw_load_u8(const uint8_t *from) {
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}
static inline fw fw_load_u16(const uint16_t *from) {
    __m128i words = _mm_loadu_si128((const __m128i *)(const void *)from);
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(words));
}
/* Replaces the lowest bits of each lane by the number of the lane. */
static inline fw fw_number_lanes(fw a) {
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i high = _mm256_andnot_si256(_mm256_set1_epi32(7), _mm256_castps_si256(a));
    return _mm256_castsi256_ps(_mm256_or_si256(high, numbers));
}

#endif

#else

enum { WIDE_GROUPS = 1 };

typedef f4 fw;
typedef m4 mw;

static inline fw fw_groups(const float from[WIDE_GROUPS]) {
    return f4_all(from[0]);
}
static inline fw fw_repeat(f4 a) {
    return a;
}
static inline fw fw_unless(mw mask, fw a) {
    return f4_select(mask, f4_all(0), a);
}
#define fw_all f4_all
#define fw_load f4_load
#define fw_store f4_store
#define fw_add f4_add
#define fw_sub f4_sub
#define fw_mul f4_mul
#define fw_mul_add f4_mul_add
#define fw_mul_from f4_mul_from
#define fw_div f4_div
#define fw_sqrt f4_sqrt
#define fw_min f4_min
#define fw_max f4_max
#define fw_abs f4_abs
#define fw_less f4_less
#define fw_less_equal f4_less_equal
#define fw_select f4_select
#define fw_where f4_where
#define fw_columns f4_columns
#define fw_number f4_number
#define fw_least f4_least
#define fw_quotient f4_div
#define fw_load_u8 f4_load_u8
#define fw_load_u16 f4_load_u16
static inline fw fw_number_lanes(fw a) {
    uint32_t lane[4];
    memcpy(lane, &a, sizeof lane);
    for (uint32_t i = 0; i < 4; i++)
        lane[i] = (lane[i] & ~3u) | i;
    memcpy(&a, lane, sizeof lane);
    return a;
}
#define mw_and m4_and
#define mw_bits m4_bits
static inline uint32_t fw_pack_pairs(float *keys, uint32_t *values, fw key, const uint32_t *from,
                                     unsigned bits) {
    float lane[4];
    uint32_t count = 0;
    f4_store(lane, key);
    for (int i = 0; i < 4; i++) {
        keys[count] = lane[i];
        values[count] = from[i];
        count += bits >> i & 1;
    }
    return count;
}
static inline uint32_t fw_pack_ordered(float *keys, uint32_t *values, fw key, const uint32_t *from,
                                       const uint8_t order[4], mw chosen, uint32_t count) {
    float lane[4];
    uint32_t packed = 0, bits = m4_bits(chosen);
    f4_store(lane, key);
    for (uint32_t i = 0; i < count; i++) {
        keys[packed] = lane[order[i]];
        values[packed] = from[order[i]];
        packed += bits >> order[i] & 1;
    }
    return packed;
}

/* Bit 4 i + j is set if one of a[0][i], a[1][i], a[2][i] equals one of b[0][j], b[1][j], b[2][j];
 * `none` equals nothing. */
static inline unsigned fw_any_equal(const uint32_t a[3][4], const uint32_t b[3][4], uint32_t none) {
    unsigned met = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 3; k++)
            if (a[k][i] != none)
                met |= m4_bits(m4_any_equal(b, a[k][i])) << 4 * i;
    return met;
}

typedef struct d4 {
    double lane[4];
} d4;

#define ABUTI_LANES(name, expression)            \
    static inline d4 name(d4 a, d4 b) {          \
        for (int i = 0; i < 4; i++) {            \
            double x = a.lane[i], y = b.lane[i]; \
            a.lane[i] = (expression);            \
        }                                        \
        return a;                                \
    }
ABUTI_LANES(d4_sub, x - y)
ABUTI_LANES(d4_mul, x *y)
ABUTI_LANES(d4_min, x < y ? x : y)
ABUTI_LANES(d4_max, x > y ? x : y)
#undef ABUTI_LANES
static inline d4 d4_all(double x) {
    d4 r = {{x, x, x, x}};
    return r;
}
static inline void d4_store(double *to, d4 a) {
    memcpy(to, a.lane, sizeof a.lane);
}
static inline f4 f4_from_d4(d4 a) {
    float lane[4];
    for (int i = 0; i < 4; i++)
        lane[i] = (float)a.lane[i];
    return f4_load(lane);
}
static inline double d4_least(d4 a) {
    double x = a.lane[0] < a.lane[2] ? a.lane[0] : a.lane[2];
    double y = a.lane[1] < a.lane[3] ? a.lane[1] : a.lane[3];
    return x < y ? x : y;
}
static inline double d4_greatest(d4 a) {
    double x = a.lane[0] > a.lane[2] ? a.lane[0] : a.lane[2];
    double y = a.lane[1] > a.lane[3] ? a.lane[1] : a.lane[3];
    return x > y ? x : y;
}
static inline void d4_load_three(const double *const from[4], d4 out[3]) {
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++)
            out[k].lane[i] = from[i][k];
}

typedef struct box4 {
    f4 low, minus_high;
} box4;

static inline box4 box4_load(const float from[8]) {
    box4 r = {f4_load(from), f4_load(from + 4)};
    return r;
}
static inline void box4_store(float to[8], box4 a) {
    f4_store(to, a.low);
    f4_store(to + 4, a.minus_high);
}
static inline box4 box4_all(float x) {
    box4 r = {f4_all(x), f4_all(x)};
    return r;
}
static inline box4 box4_join(box4 a, box4 b) {
    box4 r = {f4_min(a.low, b.low), f4_min(a.minus_high, b.minus_high)};
    return r;
}
static inline f4 box4_low(box4 a) {
    return a.low;
}
static inline f4 box4_minus_high(box4 a) {
    return a.minus_high;
}

#endif

#endif
