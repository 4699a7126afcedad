/* The operations of base/simd.h on four floats for kernels, with the same bits. OpenCL C has vector
 * types, so most loads are plain reads. */
#ifndef ABUTI_BASE_SIMD_CL_H
#define ABUTI_BASE_SIMD_CL_H

typedef float4 f4;
typedef int4 m4;

static inline f4 f4_all(float x) {
    return (f4)x;
}
static inline f4 f4_load(float4 from) {
    return from;
}
static inline void f4_store(float *to, f4 a) {
    vstore4(a, 0, to);
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
static inline f4 f4_sqrt(f4 a) {
    return sqrt(a);
}
static inline m4 f4_less(f4 a, f4 b) {
    return a < b;
}
static inline uint m4_bits(m4 mask) {
    return (mask.x ? 1 : 0) | (mask.y ? 2 : 0) | (mask.z ? 4 : 0) | (mask.w ? 8 : 0);
}

#endif
