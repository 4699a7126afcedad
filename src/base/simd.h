/* Four floats at once: the only file with processor-specific code.
 *
 * SSE2 on x86-64 and NEON on aarch64, which every such processor has, so that binaries run
 * anywhere; plain C elsewhere and where ABUT_NO_SIMD is defined. All three give the same bits: the
 * operations are those of IEEE 754, one rounding each, and the two that processors disagree on are
 * pinned down: f4_min(a, b) is a < b ? a : b and f4_max(a, b) is a > b ? a : b, lane by lane, so
 * that b stands where the two are equal or one is not a number.
 */
#ifndef ABUTI_SIMD_H
#define ABUTI_SIMD_H

#include <stdint.h>
#include <string.h>

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

#endif
#endif
