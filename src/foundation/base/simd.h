/* SIMD operations on four or more floats: the only file with processor-specific code.
 *
 * SSE2 on x86-64 and NEON on aarch64, which every such processor has, so binaries run on all of
 * them; plain C on other processors and if ABUT_NO_SIMD is defined. All three give the same bits:
 * the operations are those of IEEE 754 with one rounding each. Processors differ in two operations,
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
#ifdef ABUTI_WIDE_FILES
#define ABUTI_BY_LANES(name) \
    (abuti_simd_lanes() >= 16 ? &name##_16 : abuti_simd_lanes() >= 8 ? &name##_8 : &name##_4)
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

#ifdef __FMA__
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif

typedef __m128 f4;
typedef __m128 m4; /* all bits of a lane set, or none */

#define f4_all _mm_set1_ps
/* Loads and stores accept any alignment. */
#define f4_load _mm_loadu_ps
static inline f4 f4_load_u16(const uint16_t *from) {
    __m128i words = _mm_loadl_epi64((const __m128i *)(const void *)from);
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(words, _mm_setzero_si128()));
}
static inline f4 f4_load_u8(const uint8_t *from) {
    int32_t four;
    memcpy(&four, from, sizeof four);
    __m128i zero = _mm_setzero_si128(), words = _mm_unpacklo_epi8(_mm_cvtsi32_si128(four), zero);
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(words, zero));
}
#define f4_store _mm_storeu_ps
/* Truncates towards zero. */
static inline void f4_store_int(int32_t *to, f4 a) {
    _mm_storeu_si128((__m128i *)(void *)to, _mm_cvttps_epi32(a));
}
/* Integers from 0 to 65535. */
static inline void f4_store_u16(uint16_t *to, f4 a) {
    __m128i n = _mm_sub_epi32(_mm_cvttps_epi32(a), _mm_set1_epi32(32768));
    n = _mm_xor_si128(_mm_packs_epi32(n, n), _mm_set1_epi16(INT16_MIN));
    _mm_storel_epi64((__m128i *)(void *)to, n);
}
#define f4_add _mm_add_ps
#define f4_sub _mm_sub_ps
#define f4_mul _mm_mul_ps
#define f4_div _mm_div_ps
#define f4_sqrt _mm_sqrt_ps
#define f4_min _mm_min_ps
#define f4_max _mm_max_ps
#define f4_less _mm_cmplt_ps
#define f4_less_equal _mm_cmple_ps
#define m4_and _mm_and_ps
/* Lanes whose integer has its highest bit set. */
static inline m4 m4_highest(const uint32_t values[4]) {
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)values);
    return _mm_castsi128_ps(_mm_srai_epi32(v, 31));
}
/* Lanes in which one of the three rows equals `one`. */
static inline m4 m4_any_equal(const uint32_t values[3][4], uint32_t one) {
    __m128i all = _mm_set1_epi32((int32_t)one), met = _mm_setzero_si128();
    for (int i = 0; i < 3; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)values[i]);
        met = _mm_or_si128(met, _mm_cmpeq_epi32(v, all));
    }
    return _mm_castsi128_ps(met);
}
/* a where the mask is set, b elsewhere */
static inline f4 f4_select(m4 mask, f4 a, f4 b) {
    return _mm_or_ps(_mm_and_ps(mask, a), _mm_andnot_ps(mask, b));
}
/* Bit k for lane k. */
static inline unsigned m4_bits(m4 mask) {
    return (unsigned)_mm_movemask_ps(mask);
}
/* a b + c and c - a b, rounded once or twice */
#ifdef __FMA__
#define f4_mul_add _mm_fmadd_ps
#define f4_mul_from _mm_fnmadd_ps
#else
static inline f4 f4_mul_add(f4 a, f4 b, f4 c) {
    return _mm_add_ps(_mm_mul_ps(a, b), c);
}
static inline f4 f4_mul_from(f4 a, f4 b, f4 c) {
    return _mm_sub_ps(c, _mm_mul_ps(a, b));
}
#endif
static inline f4 f4_abs(f4 a) {
    return _mm_andnot_ps(_mm_set1_ps(-0.0f), a);
}
/* a where the mask is set, 0 elsewhere */
#define f4_where _mm_and_ps
/* Loads four floats from each of four arrays and transposes them: column[k] has element first + k
 * of every array. */
static inline void f4_columns(const float *const from[4], uint32_t first, f4 column[4]) {
    for (int i = 0; i < 4; i++)
        column[i] = _mm_loadu_ps(from[i] + first);
    _MM_TRANSPOSE4_PS(column[0], column[1], column[2], column[3]);
}

/* Two doubles, for passes over memory. */
typedef __m128d d2;

#define d2_all _mm_set1_pd
#define d2_load _mm_loadu_pd
#define d2_store _mm_storeu_pd
#define d2_add _mm_add_pd
#define d2_sub _mm_sub_pd
#define d2_mul _mm_mul_pd
#define d2_min _mm_min_pd
#define d2_max _mm_max_pd
/* x in the lower lane, y in the upper lane; and the sum of both lanes */
static inline d2 d2_pair(double x, double y) {
    return _mm_setr_pd(x, y);
}
static inline double d2_sum(d2 a) {
    return _mm_cvtsd_f64(_mm_add_sd(a, _mm_unpackhi_pd(a, a)));
}

#elif !defined(ABUT_NO_SIMD) && defined(__aarch64__) && defined(__ARM_NEON)

#include <arm_neon.h>

typedef float32x4_t f4;
typedef uint32x4_t m4;

#define f4_all vdupq_n_f32
#define f4_load vld1q_f32
static inline f4 f4_load_u16(const uint16_t *from) {
    return vcvtq_f32_u32(vmovl_u16(vld1_u16(from)));
}
static inline f4 f4_load_u8(const uint8_t *from) {
    uint32_t four;
    memcpy(&four, from, sizeof four);
    uint16x8_t words = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(four)));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(words)));
}
#define f4_store vst1q_f32
static inline void f4_store_int(int32_t *to, f4 a) {
    vst1q_s32(to, vcvtq_s32_f32(a));
}
static inline void f4_store_u16(uint16_t *to, f4 a) {
    vst1_u16(to, vmovn_u32(vcvtq_u32_f32(a)));
}
#define f4_add vaddq_f32
#define f4_sub vsubq_f32
#define f4_mul vmulq_f32
#define f4_div vdivq_f32
#define f4_sqrt vsqrtq_f32
#define f4_less vcltq_f32
#define f4_less_equal vcleq_f32
#define m4_and vandq_u32
static inline m4 m4_highest(const uint32_t values[4]) {
    return vcltzq_s32(vreinterpretq_s32_u32(vld1q_u32(values)));
}
static inline m4 m4_any_equal(const uint32_t values[3][4], uint32_t one) {
    uint32x4_t all = vdupq_n_u32(one), met = vceqq_u32(vld1q_u32(values[0]), all);
    met = vorrq_u32(met, vceqq_u32(vld1q_u32(values[1]), all));
    return vorrq_u32(met, vceqq_u32(vld1q_u32(values[2]), all));
}
#define f4_select vbslq_f32
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
static inline f4 f4_mul_add(f4 a, f4 b, f4 c) {
    return vfmaq_f32(c, a, b);
}
static inline f4 f4_mul_from(f4 a, f4 b, f4 c) {
    return vfmsq_f32(c, a, b);
}
#define f4_abs vabsq_f32
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

/* Two doubles, for passes over memory. */
typedef float64x2_t d2;

#define d2_all vdupq_n_f64
#define d2_load vld1q_f64
#define d2_store vst1q_f64
#define d2_add vaddq_f64
#define d2_sub vsubq_f64
#define d2_mul vmulq_f64
static inline d2 d2_pair(double x, double y) {
    return vsetq_lane_f64(y, vdupq_n_f64(x), 1);
}
static inline double d2_sum(d2 a) {
    return vgetq_lane_f64(a, 0) + vgetq_lane_f64(a, 1);
}
static inline d2 d2_min(d2 a, d2 b) {
    return vbslq_f64(vcltq_f64(a, b), a, b);
}
static inline d2 d2_max(d2 a, d2 b) {
    return vbslq_f64(vcgtq_f64(a, b), a, b);
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
static inline f4 f4_load_u8(const uint8_t *from) {
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
static inline m4 m4_highest(const uint32_t values[4]) {
    m4 r = {values[0] >> 31 | values[1] >> 31 << 1 | values[2] >> 31 << 2 | values[3] >> 31 << 3};
    return r;
}
static inline m4 m4_any_equal(const uint32_t values[3][4], uint32_t one) {
    m4 r = {0};
    for (unsigned i = 0; i < 12; i++)
        r.bits |= (unsigned)(values[i / 4][i % 4] == one) << i % 4;
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
static inline f4 f4_mul_add(f4 a, f4 b, f4 c) {
    return f4_add(f4_mul(a, b), c);
}
static inline f4 f4_mul_from(f4 a, f4 b, f4 c) {
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

/* Two doubles, for passes over memory. */
typedef struct d2 {
    double lane[2];
} d2;

static inline d2 d2_all(double x) {
    return (d2){{x, x}};
}
static inline d2 d2_load(const double *from) {
    return (d2){{from[0], from[1]}};
}
static inline void d2_store(double *to, d2 a) {
    to[0] = a.lane[0];
    to[1] = a.lane[1];
}
static inline d2 d2_add(d2 a, d2 b) {
    return (d2){{a.lane[0] + b.lane[0], a.lane[1] + b.lane[1]}};
}
static inline d2 d2_sub(d2 a, d2 b) {
    return (d2){{a.lane[0] - b.lane[0], a.lane[1] - b.lane[1]}};
}
static inline d2 d2_mul(d2 a, d2 b) {
    return (d2){{a.lane[0] * b.lane[0], a.lane[1] * b.lane[1]}};
}
static inline d2 d2_pair(double x, double y) {
    return (d2){{x, y}};
}
static inline double d2_sum(d2 a) {
    return a.lane[0] + a.lane[1];
}
static inline d2 d2_min(d2 a, d2 b) {
    return (d2){{a.lane[0] < b.lane[0] ? a.lane[0] : b.lane[0],
                 a.lane[1] < b.lane[1] ? a.lane[1] : b.lane[1]}};
}
static inline d2 d2_max(d2 a, d2 b) {
    return (d2){{a.lane[0] > b.lane[0] ? a.lane[0] : b.lane[0],
                 a.lane[1] > b.lane[1] ? a.lane[1] : b.lane[1]}};
}

#endif

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

/* f4_sort(key, chosen, values, to) writes the chosen lanes by descending key and returns their
 * number. It always writes all four elements of `to`. Keys are not negative; they may be lowered by
 * up to three ulps. f4_sort_lanes does the same with the values first, first + 1 and so on. */
#ifdef ABUTI_SIMD_WIDE

static inline uint32_t abuti_sort(f4 key, m4 chosen, __m128i values, keyed to[4]) {
    /* the lane index replaces the lowest bits of the key; lanes that are not chosen become -1 */
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
    for (int i = 0; i < 4; i++) { /* no branch: it would not be predictable */
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
