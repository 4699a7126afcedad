/* Four floats at once, or eight, or sixteen: the only file with processor-specific code.
 *
 * SSE2 on x86-64 and NEON on aarch64, which every such processor has, so that binaries run
 * anywhere; plain C elsewhere and where ABUT_NO_SIMD is defined. All three give the same bits: the
 * operations are those of IEEE 754, one rounding each, and the two that processors disagree on are
 * pinned down: f4_min(a, b) is a < b ? a : b and f4_max(a, b) is a > b ? a : b, lane by lane, so
 * that b stands where the two are equal or one is not a number. Two operations differ: f4_fused(a,
 * b, c), which is a b + c, and f4_fused_less(a, b, c), which is c - a b, with one rounding or two,
 * whichever is quicker; they are for bounds only.
 *
 * Eight and sixteen floats are there in files that are built for AVX2 with FMA, or AVX-512; who
 * calls into such a file asks simd_lanes() first.
 */
#ifndef ABUTI_SIMD_H
#define ABUTI_SIMD_H

#include <stdint.h>
#include <string.h>

/* Brings a line of memory near. */
#if defined(__GNUC__)
#define ABUTI_PREFETCH(address) __builtin_prefetch(address)
#else
#define ABUTI_PREFETCH(address) ((void)0)
#endif

#if !defined(ABUT_NO_SIMD) && defined(__SSE2__)

#include <emmintrin.h>

typedef __m128 f4;
typedef __m128 m4; /* all bits of a lane set, or none */

static inline f4 f4_all(float x) {
    return _mm_set1_ps(x);
}
/* Any alignment, as all loads and stores here. */
static inline f4 f4_load(const float *from) {
    return _mm_loadu_ps(from);
}
static inline f4 f4_load_u16(const uint16_t *from) {
    __m128i words = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(words, _mm_setzero_si128()));
}
static inline void f4_store(float *to, f4 a) {
    _mm_storeu_ps(to, a);
}
static inline f4 f4_add(f4 a, f4 b) {
    return _mm_add_ps(a, b);
}
static inline f4 f4_sub(f4 a, f4 b) {
    return _mm_sub_ps(a, b);
}
static inline f4 f4_mul(f4 a, f4 b) {
    return _mm_mul_ps(a, b);
}
static inline f4 f4_div(f4 a, f4 b) {
    return _mm_div_ps(a, b);
}
static inline f4 f4_sqrt(f4 a) {
    return _mm_sqrt_ps(a);
}
static inline f4 f4_min(f4 a, f4 b) {
    return _mm_min_ps(a, b);
}
static inline f4 f4_max(f4 a, f4 b) {
    return _mm_max_ps(a, b);
}
static inline m4 f4_less(f4 a, f4 b) {
    return _mm_cmplt_ps(a, b);
}
static inline m4 f4_less_equal(f4 a, f4 b) {
    return _mm_cmple_ps(a, b);
}
static inline m4 m4_and(m4 a, m4 b) {
    return _mm_and_ps(a, b);
}
/* a where the mask is set, b elsewhere */
static inline f4 f4_select(m4 mask, f4 a, f4 b) {
    return _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b));
}
/* Bit k for lane k. */
static inline unsigned m4_bits(m4 mask) {
    return (unsigned)_mm_movemask_ps(mask);
}
static inline f4 f4_fused(f4 a, f4 b, f4 c) {
    return _mm_add_ps(_mm_mul_ps(a, b), c);
}
static inline f4 f4_fused_less(f4 a, f4 b, f4 c) {
    return _mm_sub_ps(c, _mm_mul_ps(a, b));
}
static inline f4 f4_abs(f4 a) {
    return _mm_andnot_ps(_mm_set1_ps(-0.0f), a);
}
/* a where the mask is set, 0 elsewhere */
static inline f4 f4_where(m4 mask, f4 a) {
    return _mm_and_ps(mask, a);
}
/* Four floats from each of four places and beyond: column[k] gets the (first + k)-th of all. */
static inline void f4_columns(const float *const from[4], uint32_t first, f4 column[4]) {
    for (int i = 0; i < 4; i++)
        column[i] = _mm_loadu_ps(from[i] + first);
    _MM_TRANSPOSE4_PS(column[0], column[1], column[2], column[3]);
}

#elif !defined(ABUT_NO_SIMD) && defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

typedef float32x4_t f4;
typedef uint32x4_t m4;

static inline f4 f4_all(float x) {
    return vdupq_n_f32(x);
}
static inline f4 f4_load(const float *from) {
    return vld1q_f32(from);
}
static inline f4 f4_load_u16(const uint16_t *from) {
    return vcvtq_f32_u32(vmovl_u16(vld1_u16(from)));
}
static inline void f4_store(float *to, f4 a) {
    vst1q_f32(to, a);
}
static inline f4 f4_add(f4 a, f4 b) {
    return vaddq_f32(a, b);
}
static inline f4 f4_sub(f4 a, f4 b) {
    return vsubq_f32(a, b);
}
static inline f4 f4_mul(f4 a, f4 b) {
    return vmulq_f32(a, b);
}
static inline f4 f4_div(f4 a, f4 b) {
    return vdivq_f32(a, b);
}
static inline f4 f4_sqrt(f4 a) {
    return vsqrtq_f32(a);
}
static inline m4 f4_less(f4 a, f4 b) {
    return vcltq_f32(a, b);
}
static inline m4 f4_less_equal(f4 a, f4 b) {
    return vcleq_f32(a, b);
}
static inline m4 m4_and(m4 a, m4 b) {
    return vandq_u32(a, b);
}
static inline f4 f4_select(m4 mask, f4 a, f4 b) {
    return vbslq_f32(mask, a, b);
}
static inline f4 f4_min(f4 a, f4 b) {
    return vbslq_f32(vcltq_f32(a, b), a, b);
}
static inline f4 f4_max(f4 a, f4 b) {
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}
static inline unsigned m4_bits(m4 mask) {
    const uint32_t weight[4] = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(mask, vld1q_u32(weight)));
}
static inline f4 f4_fused(f4 a, f4 b, f4 c) {
    return vfmaq_f32(c, a, b);
}
static inline f4 f4_fused_less(f4 a, f4 b, f4 c) {
    return vfmsq_f32(c, a, b);
}
static inline f4 f4_abs(f4 a) {
    return vabsq_f32(a);
}
static inline f4 f4_where(m4 mask, f4 a) {
    return vreinterpretq_f32_u32(vandq_u32(mask, vreinterpretq_u32_f32(a)));
}
static inline void f4_columns(const float *const from[4], uint32_t first, f4 column[4]) {
    float32x4x2_t even = vzipq_f32(vld1q_f32(from[0] + first), vld1q_f32(from[2] + first));
    float32x4x2_t odd = vzipq_f32(vld1q_f32(from[1] + first), vld1q_f32(from[3] + first));
    float32x4x2_t low = vzipq_f32(even.val[0], odd.val[0]);
    float32x4x2_t high = vzipq_f32(even.val[1], odd.val[1]);
    column[0] = low.val[0];
    column[1] = low.val[1];
    column[2] = high.val[0];
    column[3] = high.val[1];
}

#else

#include <math.h>

typedef struct f4 {
    float lane[4];
} f4;
typedef struct m4 {
    unsigned bits;
} m4;

static inline f4 f4_all(float x) {
    f4 r = {{x, x, x, x}};
    return r;
}
static inline f4 f4_load(const float *from) {
    f4 r;
    memcpy(r.lane, from, sizeof r.lane);
    return r;
}
static inline f4 f4_load_u16(const uint16_t *from) {
    f4 r = {{(float)from[0], (float)from[1], (float)from[2], (float)from[3]}};
    return r;
}
static inline void f4_store(float *to, f4 a) {
    memcpy(to, a.lane, sizeof a.lane);
}
#define ABUTI_LANES(name, expression)           \
    static inline f4 name(f4 a, f4 b) {         \
        f4 r;                                   \
        for (int i = 0; i < 4; i++) {           \
            float x = a.lane[i], y = b.lane[i]; \
            r.lane[i] = (expression);           \
        }                                       \
        return r;                               \
    }
#define ABUTI_LANES_TEST(name, expression)         \
    static inline m4 name(f4 a, f4 b) {            \
        m4 r = {0};                                \
        for (int i = 0; i < 4; i++) {              \
            float x = a.lane[i], y = b.lane[i];    \
            r.bits |= (unsigned)(expression) << i; \
        }                                          \
        return r;                                  \
    }
ABUTI_LANES(f4_add, x + y)
ABUTI_LANES(f4_sub, x - y)
ABUTI_LANES(f4_mul, x *y)
ABUTI_LANES(f4_div, x / y)
ABUTI_LANES(f4_min, x < y ? x : y)
ABUTI_LANES(f4_max, x > y ? x : y)
ABUTI_LANES_TEST(f4_less, x < y)
ABUTI_LANES_TEST(f4_less_equal, x <= y)
#undef ABUTI_LANES
#undef ABUTI_LANES_TEST
static inline f4 f4_sqrt(f4 a) {
    for (int i = 0; i < 4; i++)
        a.lane[i] = sqrtf(a.lane[i]);
    return a;
}
static inline m4 m4_and(m4 a, m4 b) {
    a.bits &= b.bits;
    return a;
}
static inline f4 f4_select(m4 mask, f4 a, f4 b) {
    for (int i = 0; i < 4; i++)
        if (mask.bits >> i & 1)
            b.lane[i] = a.lane[i];
    return b;
}
static inline unsigned m4_bits(m4 mask) {
    return mask.bits;
}
static inline f4 f4_fused(f4 a, f4 b, f4 c) {
    return f4_add(f4_mul(a, b), c);
}
static inline f4 f4_fused_less(f4 a, f4 b, f4 c) {
    return f4_sub(c, f4_mul(a, b));
}
static inline f4 f4_where(m4 mask, f4 a) {
    return f4_select(mask, a, f4_all(0));
}
static inline f4 f4_abs(f4 a) {
    for (int i = 0; i < 4; i++)
        a.lane[i] = fabsf(a.lane[i]);
    return a;
}
static inline void f4_columns(const float *const from[4], uint32_t first, f4 column[4]) {
    for (uint32_t k = 0; k < 4; k++)
        for (uint32_t i = 0; i < 4; i++)
            column[k].lane[i] = from[i][first + k];
}

#endif

/* The least of the lanes, none of which is NaN. */
static inline float f4_least(f4 a) {
    float lane[4];
    f4_store(lane, a);
    float low = lane[0] < lane[1] ? lane[0] : lane[1], high = lane[2] < lane[3] ? lane[2] : lane[3];
    return low < high ? low : high;
}
/* Writes first + k for every bit k that is set; gives how many. There must be room for four. */
static inline uint32_t f4_number(uint32_t *to, uint32_t first, unsigned bits) {
    uint32_t count = 0;
    for (uint32_t k = 0; k < 4; k++) { /* no branch: none could be foreseen */
        to[count] = first + k;
        count += bits >> k & 1;
    }
    return count;
}

/* ---- more lanes ---- */

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* How many lanes this processor has: 16, 8 or 4. */
static inline int simd_lanes(void) {
#if !defined(ABUT_NO_SIMD) && defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return __builtin_cpu_supports("avx512f") ? 16 : 8;
#endif
    return 4;
}

#if !defined(ABUT_NO_SIMD) && defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__)
#define ABUTI_SIMD_8

typedef __m256 f8;
typedef __m256 m8;

static inline f8 f8_all(float x) {
    return _mm256_set1_ps(x);
}
static inline f8 f8_load(const float *from) {
    return _mm256_loadu_ps(from);
}
static inline void f8_store(float *to, f8 a) {
    _mm256_storeu_ps(to, a);
}
static inline f8 f8_add(f8 a, f8 b) {
    return _mm256_add_ps(a, b);
}
static inline f8 f8_sub(f8 a, f8 b) {
    return _mm256_sub_ps(a, b);
}
static inline f8 f8_mul(f8 a, f8 b) {
    return _mm256_mul_ps(a, b);
}
static inline f8 f8_fused(f8 a, f8 b, f8 c) {
    return _mm256_fmadd_ps(a, b, c);
}
static inline f8 f8_fused_less(f8 a, f8 b, f8 c) {
    return _mm256_fnmadd_ps(a, b, c);
}
static inline f8 f8_min(f8 a, f8 b) {
    return _mm256_min_ps(a, b);
}
static inline f8 f8_max(f8 a, f8 b) {
    return _mm256_max_ps(a, b);
}
static inline f8 f8_abs(f8 a) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
}
static inline m8 f8_less(f8 a, f8 b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline m8 f8_less_equal(f8 a, f8 b) {
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
static inline f8 f8_select(m8 mask, f8 a, f8 b) {
    return _mm256_blendv_ps(b, a, mask);
}
static inline f8 f8_where(m8 mask, f8 a) {
    return _mm256_and_ps(mask, a);
}
static inline unsigned m8_bits(m8 mask) {
    return (unsigned)_mm256_movemask_ps(mask);
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

static inline float f8_least(f8 a) {
    return f4_least(_mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1)));
}
static inline uint32_t f8_number(uint32_t *to, uint32_t first, unsigned bits) {
    uint64_t bytes = _pdep_u64(bits, 0x0101010101010101u) * 0xff;
    uint64_t numbers = _pext_u64(0x0706050403020100u, bytes);
    __m256i all = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)numbers));
    all = _mm256_add_epi32(all, _mm256_set1_epi32((int)first));
    _mm256_storeu_si256((__m256i *)(void *)to, all);
    return (uint32_t)__builtin_popcount(bits);
}

/* Four doubles. */
typedef __m256d d4;
typedef __m256d n4; /* a mask */
static inline d4 d4_all(double x) {
    return _mm256_set1_pd(x);
}
static inline d4 d4_load(const double *from) {
    return _mm256_loadu_pd(from);
}
static inline void d4_store(double *to, d4 a) {
    _mm256_storeu_pd(to, a);
}
static inline d4 d4_add(d4 a, d4 b) {
    return _mm256_add_pd(a, b);
}
static inline d4 d4_sub(d4 a, d4 b) {
    return _mm256_sub_pd(a, b);
}
static inline d4 d4_mul(d4 a, d4 b) {
    return _mm256_mul_pd(a, b);
}
static inline d4 d4_div(d4 a, d4 b) {
    return _mm256_div_pd(a, b);
}
static inline d4 d4_sqrt(d4 a) {
    return _mm256_sqrt_pd(a);
}
static inline d4 d4_abs(d4 a) {
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
}
static inline d4 d4_minus(d4 a) {
    return _mm256_xor_pd(_mm256_set1_pd(-0.0), a);
}
static inline n4 d4_less(d4 a, d4 b) {
    return _mm256_cmp_pd(a, b, _CMP_LT_OQ);
}
static inline n4 d4_less_equal(d4 a, d4 b) {
    return _mm256_cmp_pd(a, b, _CMP_LE_OQ);
}
static inline n4 d4_equal(d4 a, d4 b) {
    return _mm256_cmp_pd(a, b, _CMP_EQ_OQ);
}
static inline n4 d4_and(n4 a, n4 b) {
    return _mm256_and_pd(a, b);
}
static inline n4 d4_or(n4 a, n4 b) {
    return _mm256_or_pd(a, b);
}
static inline d4 d4_select(n4 mask, d4 a, d4 b) {
    return _mm256_blendv_pd(b, a, mask);
}
static inline unsigned d4_bits(n4 mask) {
    return (unsigned)_mm256_movemask_pd(mask);
}

#endif

#if !defined(ABUT_NO_SIMD) && defined(__AVX512F__)
#define ABUTI_SIMD_16

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
static inline d8 d8_minus(d8 a) {
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
static inline n8 d8_or(n8 a, n8 b) {
    return (n8)(a | b);
}
static inline d8 d8_select(n8 mask, d8 a, d8 b) {
    return _mm512_mask_blend_pd(mask, b, a);
}
static inline unsigned d8_bits(n8 mask) {
    return mask;
}

#endif
#endif
