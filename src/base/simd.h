/* Four floats at once, or more: the only file with processor-specific code.
 *
 * SSE2 on x86-64 and NEON on aarch64, which every such processor has, so that binaries run
 * anywhere; plain C elsewhere and where ABUT_NO_SIMD is defined. All three give the same bits: the
 * operations are those of IEEE 754, one rounding each, and the two that processors disagree on are
 * pinned down: f4_min(a, b) is a < b ? a : b and f4_max(a, b) is a > b ? a : b, lane by lane, so
 * that b stands where the two are equal or one is not a number.
 *
 * Beside them, for work whose rounding does not matter, groups of four: two of them in a file that
 * is compiled for AVX2 and FMA (and called only where abuti_simd_wide() says so), four in one that
 * is compiled for AVX-512 and defines ABUTI_FOUR_GROUPS (abuti_simd_lanes() says 16), else one.
 * Products may be added without a rounding in between, so that bits differ.
 */
#ifndef ABUTI_SIMD_H
#define ABUTI_SIMD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Whether files that are compiled for AVX2 and FMA may be called here. */
bool abuti_simd_wide(void);
/* How many floats at once files for several widths should take: 16 (AVX-512), 8 or 4. */
int abuti_simd_lanes(void);
/* Tests: behave as on a processor that has no more lanes than so many; or than four. */
void abuti_simd_at_most(int lanes);
void abuti_simd_narrow(bool only);

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
/* Without what stands behind the point. */
static inline void f4_store_int(int32_t *to, f4 a) {
    _mm_storeu_si128((__m128i *)(void *)to, _mm_cvttps_epi32(a));
}
/* Whole numbers from 0 to 65535. */
static inline void f4_store_u16(uint16_t *to, f4 a) {
    __m128i n = _mm_sub_epi32(_mm_cvttps_epi32(a), _mm_set1_epi32(32768));
    n = _mm_xor_si128(_mm_packs_epi32(n, n), _mm_set1_epi16(INT16_MIN));
    _mm_storel_epi64((__m128i *)(void *)to, n);
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
/* a where b is not */
static inline m4 m4_without(m4 a, m4 b) {
    return _mm_andnot_ps(b, a);
}
/* Lanes whose number has its highest bit set. */
static inline m4 m4_highest(const uint32_t values[4]) {
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)values);
    return _mm_castsi128_ps(_mm_srai_epi32(v, 31));
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
static inline void f4_store_int(int32_t *to, f4 a) {
    vst1q_s32(to, vcvtq_s32_f32(a));
}
static inline void f4_store_u16(uint16_t *to, f4 a) {
    vst1_u16(to, vmovn_u32(vcvtq_u32_f32(a)));
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
static inline m4 m4_without(m4 a, m4 b) {
    return vbicq_u32(a, b);
}
static inline m4 m4_highest(const uint32_t values[4]) {
    return vcltzq_s32(vreinterpretq_s32_u32(vld1q_u32(values)));
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
static inline void f4_store_int(int32_t *to, f4 a) {
    for (int i = 0; i < 4; i++)
        to[i] = (int32_t)a.lane[i];
}
static inline void f4_store_u16(uint16_t *to, f4 a) {
    for (int i = 0; i < 4; i++)
        to[i] = (uint16_t)a.lane[i];
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
static inline m4 m4_without(m4 a, m4 b) {
    a.bits &= ~b.bits;
    return a;
}
static inline m4 m4_highest(const uint32_t values[4]) {
    m4 r = {values[0] >> 31 | values[1] >> 31 << 1 | values[2] >> 31 << 2 | values[3] >> 31 << 3};
    return r;
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

/* ---- groups of four ---- */

#if !defined(ABUT_NO_SIMD) && defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#define ABUTI_SIMD_WIDE

/* Whole numbers of 16 bits are put into the lowest bits of 2^23, which makes them floats at once:
 * differences are exact, and taking 2^23 away gives the numbers. */
#define WIDE_STEPS_ZERO 8388608.0f

#if defined(ABUTI_FOUR_GROUPS) && defined(__AVX512F__) && defined(__AVX512BW__) && \
    defined(__AVX512DQ__) && defined(__AVX512VL__)

#define ABUTI_SIMD_FOUR_GROUPS
#include "base/simd_four.h"

#else

enum { WIDE_GROUPS = 2 };

typedef __m256 fw;
typedef __m256 mw;

static inline fw fw_all(float x) {
    return _mm256_set1_ps(x);
}
/* A number for each group. */
static inline fw fw_each(const float *const from[WIDE_GROUPS]) {
    return _mm256_blend_ps(_mm256_broadcast_ss(from[0]), _mm256_broadcast_ss(from[1]), 0xf0);
}
static inline void fw_store(float *to, fw a) {
    _mm256_storeu_ps(to, a);
}
static inline fw fw_add(fw a, fw b) {
    return _mm256_add_ps(a, b);
}
static inline fw fw_sub(fw a, fw b) {
    return _mm256_sub_ps(a, b);
}
static inline fw fw_mul(fw a, fw b) {
    return _mm256_mul_ps(a, b);
}
/* a b + c */
static inline fw fw_mul_add(fw a, fw b, fw c) {
    return _mm256_fmadd_ps(a, b, c);
}
/* c - a b */
static inline fw fw_mul_from(fw a, fw b, fw c) {
    return _mm256_fnmadd_ps(a, b, c);
}
static inline fw fw_div(fw a, fw b) {
    return _mm256_div_ps(a, b);
}
/* a / b within two roundings, for b between 1e-30 and 1e30. */
static inline fw fw_quotient(fw a, fw b) {
    return _mm256_div_ps(a, b);
}
static inline fw fw_sqrt(fw a) {
    return _mm256_sqrt_ps(a);
}
static inline fw fw_min(fw a, fw b) {
    return _mm256_min_ps(a, b);
}
static inline fw fw_max(fw a, fw b) {
    return _mm256_max_ps(a, b);
}
static inline mw fw_less(fw a, fw b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline mw fw_less_equal(fw a, fw b) {
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}
static inline mw mw_and(mw a, mw b) {
    return _mm256_and_ps(a, b);
}
/* a where the mask is set, 0 elsewhere; and the other way round */
static inline fw fw_where(mw mask, fw a) {
    return _mm256_and_ps(mask, a);
}
static inline fw fw_unless(mw mask, fw a) {
    return _mm256_andnot_ps(mask, a);
}
static inline unsigned mw_bits(mw mask) {
    return (unsigned)_mm256_movemask_ps(mask);
}
/* The least of all lanes. */
static inline float fw_least(fw a) {
    __m128 m = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_min_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_min_ss(m, _mm_shuffle_ps(m, m, 1)));
}

/* Nine times four numbers a group: out[i] holds 2^23 + from[group][4 i + lane]. */
static inline void fw_load_steps(const uint16_t *const from[WIDE_GROUPS], fw out[9]) {
    const __m256i high = _mm256_set1_epi16(0x4b00);
    for (int i = 0; i < 4; i++) {
        __m256i two = _mm256_inserti128_si256(
            _mm256_castsi128_si256(
                _mm_loadu_si128((const __m128i *)(const void *)(from[0] + 8 * i))),
            _mm_loadu_si128((const __m128i *)(const void *)(from[1] + 8 * i)), 1);
        out[2 * i] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(two, high));
        out[2 * i + 1] = _mm256_castsi256_ps(_mm256_unpackhi_epi16(two, high));
    }
    __m256i last =
        _mm256_inserti128_si256(_mm256_castsi128_si256(
                                    _mm_loadl_epi64((const __m128i *)(const void *)(from[0] + 32))),
                                _mm_loadl_epi64((const __m128i *)(const void *)(from[1] + 32)), 1);
    out[8] = _mm256_castsi256_ps(_mm256_unpacklo_epi16(last, high));
}

#endif

/* fw_mul_add for four. */
static inline f4 f4_mul_add(f4 a, f4 b, f4 c) {
    return _mm_fmadd_ps(a, b, c);
}

/* Four doubles, one rounding an operation: the same bits as one after the other. */
typedef __m256d d4;

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
static inline d4 d4_negative(d4 a) {
    return _mm256_xor_pd(a, _mm256_set1_pd(-0.0));
}
static inline d4 d4_abs(d4 a) {
    return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
}
/* a < b ? a : b and a > b ? a : b */
static inline d4 d4_min(d4 a, d4 b) {
    return _mm256_min_pd(a, b);
}
static inline d4 d4_max(d4 a, d4 b) {
    return _mm256_max_pd(a, b);
}
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
static inline d4 d4_and(d4 a, d4 b) {
    return _mm256_and_pd(a, b);
}
static inline d4 d4_select(d4 mask, d4 a, d4 b) {
    return _mm256_blendv_pd(b, a, mask);
}
static inline unsigned d4_bits(d4 mask) {
    return (unsigned)_mm256_movemask_pd(mask);
}
static inline f4 f4_from_d4(d4 a) {
    return _mm256_cvtpd_ps(a);
}
static inline double d4_least(d4 a) {
    __m128d m = _mm_min_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_min_sd(m, _mm_unpackhi_pd(m, m)));
}
static inline double d4_greatest(d4 a) {
    __m128d m = _mm_max_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_max_sd(m, _mm_unpackhi_pd(m, m)));
}
/* The least of a[0], of a[1], of a[2], and of a[2] again; none is NaN. The greatest likewise. */
static inline d4 d4_least_three(const d4 a[3]) {
    d4 two = _mm256_min_pd(_mm256_unpacklo_pd(a[0], a[1]), _mm256_unpackhi_pd(a[0], a[1]));
    d4 one = _mm256_min_pd(a[2], _mm256_permute_pd(a[2], 5));
    return _mm256_min_pd(_mm256_permute2f128_pd(two, one, 0x20),
                         _mm256_permute2f128_pd(two, one, 0x31));
}
static inline d4 d4_greatest_three(const d4 a[3]) {
    d4 two = _mm256_max_pd(_mm256_unpacklo_pd(a[0], a[1]), _mm256_unpackhi_pd(a[0], a[1]));
    d4 one = _mm256_max_pd(a[2], _mm256_permute_pd(a[2], 5));
    return _mm256_max_pd(_mm256_permute2f128_pd(two, one, 0x20),
                         _mm256_permute2f128_pd(two, one, 0x31));
}
/* The largest floats that are not above, by a step of whole numbers; below 0 comes -0 and one
 * more. */
static inline f4 f4_below_d4(d4 a) {
    const __m256i even = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    __m128 nearest = _mm256_cvtpd_ps(a);
    d4 over = _mm256_cmp_pd(_mm256_cvtps_pd(nearest), a, _CMP_GT_OQ);
    __m128i step =
        _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(_mm256_castpd_si256(over), even));
    __m128i bits = _mm_castps_si128(nearest);
    __m128i zero = _mm_cmpeq_epi32(_mm_add_epi32(bits, bits), _mm_setzero_si128());
    bits = _mm_or_si128(bits, _mm_slli_epi32(_mm_and_si128(step, zero), 31));
    __m128i back = _mm_or_si128(_mm_srai_epi32(bits, 31), _mm_set1_epi32(1)); /* -1 below 0 */
    return _mm_castsi128_ps(_mm_sub_epi32(bits, _mm_and_si128(step, back)));
}
static inline f4 f4_above_d4(d4 a) {
    return _mm_xor_ps(f4_below_d4(d4_negative(a)), _mm_set1_ps(-0.0f));
}
/* Three numbers from each of four places: the first of all in out[0], and so on. */
static inline void d4_load_three(const double *const from[4], d4 out[3]) {
    d4 even = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from[0])),
                                   _mm_loadu_pd(from[2]), 1);
    d4 odd = _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(from[1])),
                                  _mm_loadu_pd(from[3]), 1);
    out[0] = _mm256_unpacklo_pd(even, odd);
    out[1] = _mm256_unpackhi_pd(even, odd);
    out[2] = _mm256_setr_pd(from[0][2], from[1][2], from[2][2], from[3][2]);
}

/* Places of up to sixteen keys in ascending order; of equal ones the lowest tie comes first, and no
 * two ties are equal. There must be sixteen of each; beyond `count` they do not matter. */
static inline void abuti_rank(const int32_t key[16], const int32_t tie[16], uint32_t count,
                              uint32_t place[16]) {
    const __m256i *keys = (const __m256i *)(const void *)key;
    const __m256i *ties = (const __m256i *)(const void *)tie;
    for (uint32_t half = 0; 8 * half < count; half++) {
        __m256i k = _mm256_loadu_si256(keys + half), t = _mm256_loadu_si256(ties + half);
        __m256i lower = _mm256_setzero_si256();
        for (uint32_t j = 0; j < count; j++) { /* a key above, or as high with a tie above */
            __m256i more = _mm256_sub_epi32(k, _mm256_cmpgt_epi32(t, _mm256_set1_epi32(tie[j])));
            lower = _mm256_sub_epi32(lower, _mm256_cmpgt_epi32(more, _mm256_set1_epi32(key[j])));
        }
        _mm256_storeu_si256((__m256i *)(void *)(place + 8 * half), lower);
    }
}

/* A box as its low corner and its high one with the sign changed, so that boxes are joined by
 * minima alone. The fourth numbers are 0, or whatever. Bits do not depend on the processor. */
typedef __m256 box4;

static inline box4 box4_load(const float from[8]) {
    return _mm256_loadu_ps(from);
}
static inline void box4_store(float to[8], box4 a) {
    _mm256_storeu_ps(to, a);
}
static inline box4 box4_all(float x) {
    return _mm256_set1_ps(x);
}
static inline box4 box4_join(box4 a, box4 b) {
    return _mm256_min_ps(a, b);
}
static inline f4 box4_low(box4 a) {
    return _mm256_castps256_ps128(a);
}
static inline f4 box4_minus_high(box4 a) {
    return _mm256_extractf128_ps(a, 1);
}

#else

enum { WIDE_GROUPS = 1 };

typedef f4 fw;
typedef m4 mw;

static inline fw fw_all(float x) {
    return f4_all(x);
}
static inline fw fw_each(const float *const from[WIDE_GROUPS]) {
    return f4_all(*from[0]);
}
static inline void fw_store(float *to, fw a) {
    f4_store(to, a);
}
static inline fw fw_add(fw a, fw b) {
    return f4_add(a, b);
}
static inline fw fw_sub(fw a, fw b) {
    return f4_sub(a, b);
}
static inline fw fw_mul(fw a, fw b) {
    return f4_mul(a, b);
}
static inline fw fw_mul_add(fw a, fw b, fw c) {
    return f4_add(f4_mul(a, b), c);
}
static inline fw fw_mul_from(fw a, fw b, fw c) {
    return f4_sub(c, f4_mul(a, b));
}
static inline f4 f4_mul_add(f4 a, f4 b, f4 c) {
    return f4_add(f4_mul(a, b), c);
}
static inline fw fw_div(fw a, fw b) {
    return f4_div(a, b);
}
static inline fw fw_quotient(fw a, fw b) {
    return f4_div(a, b);
}
static inline fw fw_sqrt(fw a) {
    return f4_sqrt(a);
}
static inline fw fw_min(fw a, fw b) {
    return f4_min(a, b);
}
static inline fw fw_max(fw a, fw b) {
    return f4_max(a, b);
}
static inline mw fw_less(fw a, fw b) {
    return f4_less(a, b);
}
static inline mw fw_less_equal(fw a, fw b) {
    return f4_less_equal(a, b);
}
static inline mw mw_and(mw a, mw b) {
    return m4_and(a, b);
}
static inline fw fw_where(mw mask, fw a) {
    return f4_select(mask, a, f4_all(0));
}
static inline fw fw_unless(mw mask, fw a) {
    return f4_select(mask, f4_all(0), a);
}
static inline unsigned mw_bits(mw mask) {
    return m4_bits(mask);
}
static inline float fw_least(fw a) {
    float lane[4];
    f4_store(lane, a);
    float x = lane[0] < lane[1] ? lane[0] : lane[1], y = lane[2] < lane[3] ? lane[2] : lane[3];
    return x < y ? x : y;
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

static inline void abuti_rank(const int32_t key[16], const int32_t tie[16], uint32_t count,
                              uint32_t place[16]) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t lower = 0;
        for (uint32_t j = 0; j < count; j++)
            lower += (key[j] < key[i]) | ((key[j] == key[i]) & (tie[j] < tie[i]));
        place[i] = lower;
    }
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

#define WIDE_STEPS_ZERO 0.0f

static inline void fw_load_steps(const uint16_t *const from[WIDE_GROUPS], fw out[9]) {
    for (int i = 0; i < 9; i++)
        out[i] = f4_load_u16(from[0] + 4 * i);
}

#endif

/* ---- sorting four ---- */

typedef struct keyed {
    float key;
    uint32_t value;
} keyed;

/* f4_sort(key, chosen, values, to) writes the chosen lanes by descending key, and gives their
 * number. It writes to all four places, whatever the number. Keys are not negative; they may come
 * out lower by three roundings. f4_sort_lanes does the same with first, first + 1 and so on as
 * values. */
#ifdef ABUTI_SIMD_WIDE

static inline uint32_t abuti_sort(f4 key, m4 chosen, __m128i values, keyed to[4]) {
    /* the lane in the lowest bits of the key; what is not chosen becomes -1 */
    __m128i k = _mm_or_si128(_mm_andnot_si128(_mm_set1_epi32(3), _mm_castps_si128(key)),
                             _mm_setr_epi32(0, 1, 2, 3));
    k = _mm_or_si128(k, _mm_xor_si128(_mm_castps_si128(chosen), _mm_set1_epi32(-1)));
    __m128i other = _mm_shuffle_epi32(k, _MM_SHUFFLE(2, 3, 0, 1));
    k = _mm_blend_epi32(_mm_max_epi32(k, other), _mm_min_epi32(k, other), 10);
    other = _mm_shuffle_epi32(k, _MM_SHUFFLE(1, 0, 3, 2));
    k = _mm_blend_epi32(_mm_max_epi32(k, other), _mm_min_epi32(k, other), 12);
    other = _mm_shuffle_epi32(k, _MM_SHUFFLE(3, 1, 2, 0));
    k = _mm_blend_epi32(_mm_max_epi32(k, other), _mm_min_epi32(k, other), 4);
    __m128i v = _mm_castps_si128(_mm_permutevar_ps(_mm_castsi128_ps(values), k));
    _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi32(k, v));
    _mm_storeu_si128((__m128i *)(void *)(to + 2), _mm_unpackhi_epi32(k, v));
    return (uint32_t)_mm_popcnt_u32((unsigned)_mm_movemask_ps(chosen));
}

static inline uint32_t f4_sort(f4 key, m4 chosen, const uint32_t values[4], keyed to[4]) {
    return abuti_sort(key, chosen, _mm_loadu_si128((const __m128i *)(const void *)values), to);
}

static inline uint32_t f4_sort_lanes(f4 key, m4 chosen, uint32_t first, keyed to[4]) {
    __m128i values = _mm_add_epi32(_mm_set1_epi32((int)first), _mm_setr_epi32(0, 1, 2, 3));
    return abuti_sort(key, chosen, values, to);
}

#else

static inline void keyed_order(keyed *a, keyed *b) {
    if (a->key < b->key) {
        keyed kept = *a;
        *a = *b;
        *b = kept;
    }
}

static inline uint32_t f4_sort(f4 key, m4 chosen, const uint32_t values[4], keyed to[4]) {
    float keys[4];
    unsigned mask = m4_bits(chosen);
    uint32_t count = 0;
    f4_store(keys, key);
    for (int i = 0; i < 4; i++) { /* no branch: none could be foreseen */
        to[count].key = keys[i];
        to[count].value = values[i];
        count += mask >> i & 1;
    }
    if (count == 2) {
        keyed_order(&to[0], &to[1]);
    } else if (count == 3) {
        keyed_order(&to[0], &to[1]);
        keyed_order(&to[1], &to[2]);
        keyed_order(&to[0], &to[1]);
    } else if (count == 4) {
        keyed_order(&to[0], &to[1]);
        keyed_order(&to[2], &to[3]);
        keyed_order(&to[0], &to[2]);
        keyed_order(&to[1], &to[3]);
        keyed_order(&to[1], &to[2]);
    }
    return count;
}

static inline uint32_t f4_sort_lanes(f4 key, m4 chosen, uint32_t first, keyed to[4]) {
    const uint32_t values[4] = {first, first + 1, first + 2, first + 3};
    return f4_sort(key, chosen, values, to);
}

#endif
#endif
