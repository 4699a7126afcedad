/* Small vectors, matrices, quaternions, poses and boxes, for C and OpenCL C.
 *
 * A translation unit (a .c file or an OpenCL program) has one precision, `real`: double in C and
 * float on a device, unless ABUTI_REAL_BITS is defined before the first include. Vectors are packed
 * structs of three numbers, because float3 has another layout. Scalar functions have names of their
 * own, because a bare sqrt is double in C and float in OpenCL C. Contraction is off on both sides,
 * so the same precision gives the same bits. __OPENCL_C_VERSION__ identifies OpenCL C because every
 * compiler sets it; drivers define __OPENCL_VERSION__, which is missing in a syntax check.
 */
#ifndef ABUTI_BASE_MATH_SHARED_H
#define ABUTI_BASE_MATH_SHARED_H

#ifdef __OPENCL_C_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#ifndef ABUTI_REAL_BITS
#define ABUTI_REAL_BITS 32
#endif
#if ABUTI_REAL_BITS == 64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define ABUTI_GLOBAL __global
/* Before a loop that should not be unrolled: device compilers need long for every copy. */
#define ABUTI_ROLLED _Pragma("unroll 1")
#define ABUT_NONE 0xffffffffu /* as in <abut/base.h> */
typedef uint word32;
#else
#include <abut/base.h>
#include <float.h>
#include <math.h>
#ifndef ABUTI_REAL_BITS
#define ABUTI_REAL_BITS 64
#endif
#define ABUTI_GLOBAL
#define ABUTI_ROLLED
typedef uint32_t word32;
#endif

#if ABUTI_REAL_BITS == 64
typedef double real;
#define REAL(x) x
#define REAL_MAX DBL_MAX
#define REAL_MIN DBL_MIN
#define REAL_EPSILON DBL_EPSILON
#else
typedef float real;
#define REAL(x) x##f
#define REAL_MAX FLT_MAX
#define REAL_MIN FLT_MIN
#define REAL_EPSILON FLT_EPSILON
#endif

#if !defined(__OPENCL_C_VERSION__) && ABUTI_REAL_BITS == 32
static inline real real_sqrt(real x) {
    return sqrtf(x);
}
static inline real real_abs(real x) {
    return fabsf(x);
}
static inline real real_atan2(real y, real x) {
    return atan2f(y, x);
}
#else
static inline real real_sqrt(real x) {
    return sqrt(x);
}
static inline real real_abs(real x) {
    return fabs(x);
}
static inline real real_atan2(real y, real x) {
    return atan2(y, x);
}
#endif
static inline real real_min(real a, real b) {
    return b < a ? b : a;
}
static inline real real_max(real a, real b) {
    return a < b ? b : a;
}
static inline real real_clamp(real x, real lo, real hi) {
    return x < lo ? lo : hi < x ? hi : x;
}

/* ---- vectors ---- */

#if !defined(__OPENCL_C_VERSION__) && ABUTI_REAL_BITS == 64
typedef abut_vec3 vec3;
typedef abut_quat quat;
typedef abut_pose pose;
typedef abut_box box3;
#else
typedef struct vec3 {
    real x, y, z;
} vec3;
typedef struct quat {
    real x, y, z, w;
} quat;
typedef struct pose {
    quat rotation;
    vec3 translation;
} pose;
typedef struct box3 {
    vec3 lo, hi;
} box3;
#endif

static inline vec3 v3(real x, real y, real z) {
    vec3 v;
    v.x = x;
    v.y = y;
    v.z = z;
    return v;
}
static inline vec3 v3_add(vec3 a, vec3 b) {
    return v3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline vec3 v3_sub(vec3 a, vec3 b) {
    return v3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline vec3 v3_scale(vec3 a, real s) {
    return v3(a.x * s, a.y * s, a.z * s);
}
/* a + s b */
static inline vec3 v3_along(vec3 a, real s, vec3 b) {
    return v3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
static inline vec3 v3_lerp(vec3 a, vec3 b, real t) {
    return v3_along(a, t, v3_sub(b, a));
}
static inline vec3 v3_min(vec3 a, vec3 b) {
    return v3(real_min(a.x, b.x), real_min(a.y, b.y), real_min(a.z, b.z));
}
static inline vec3 v3_max(vec3 a, vec3 b) {
    return v3(real_max(a.x, b.x), real_max(a.y, b.y), real_max(a.z, b.z));
}
static inline real v3_dot(vec3 a, vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline vec3 v3_abs(vec3 a) {
    return v3(real_abs(a.x), real_abs(a.y), real_abs(a.z));
}
static inline vec3 v3_cross(vec3 a, vec3 b) {
    return v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline real v3_length_sq(vec3 a) {
    return v3_dot(a, a);
}
/* Largest coordinate in magnitude. */
static inline real v3_max_abs(vec3 a) {
    return real_max(real_abs(a.x), real_max(real_abs(a.y), real_abs(a.z)));
}
/* The length of a vector whose square overflows or underflows, for example the normal of a triangle
 * of size 1e80 or 1e-80. */
static inline real v3_length_scaled(vec3 a) {
    real largest = v3_max_abs(a);
    if (!(largest > REAL(0.0) && largest <= REAL_MAX)) /* zero, infinite or not a number */
        return real_sqrt(v3_length_sq(a));
    vec3 scaled = v3(a.x / largest, a.y / largest, a.z / largest);
    return largest * real_sqrt(v3_length_sq(scaled));
}
static inline real v3_length(vec3 a) {
    real square = v3_length_sq(a);
    return square >= REAL_MIN / REAL_EPSILON && square <= REAL_MAX ? real_sqrt(square)
                                                                   : v3_length_scaled(a);
}
/* The unit vector, or zero for zero. Scales by the largest coordinate first, so that the squares of
 * 1e-30 and 1e30 neither underflow nor overflow. */
static inline vec3 v3_normalise(vec3 a) {
    real largest = v3_max_abs(a);
    if (!(largest > REAL(0.0)))
        return v3(REAL(0.0), REAL(0.0), REAL(0.0));
    vec3 scaled = v3(a.x / largest, a.y / largest, a.z / largest);
    real length = v3_length(scaled);
    return v3(scaled.x / length, scaled.y / length, scaled.z / length);
}
static inline real v3_get(vec3 a, int axis) {
    return axis == 0 ? a.x : axis == 1 ? a.y : a.z;
}

/* ---- 3x3 matrices, by rows ---- */

typedef struct mat3 {
    vec3 row[3];
} mat3;

static inline vec3 m3_apply(const mat3 *m, vec3 v) {
    return v3(v3_dot(m->row[0], v), v3_dot(m->row[1], v), v3_dot(m->row[2], v));
}
static inline mat3 m3_transpose(const mat3 *m) {
    mat3 t;
    t.row[0] = v3(m->row[0].x, m->row[1].x, m->row[2].x);
    t.row[1] = v3(m->row[0].y, m->row[1].y, m->row[2].y);
    t.row[2] = v3(m->row[0].z, m->row[1].z, m->row[2].z);
    return t;
}
static inline mat3 m3_multiply(const mat3 *a, const mat3 *b) {
    mat3 columns = m3_transpose(b), product;
    for (int i = 0; i < 3; i++)
        product.row[i] = m3_apply(&columns, a->row[i]);
    return product;
}

/* ---- quaternions and poses ---- */

/* The unit quaternion; identity for zero (see abut_pose). */
static inline quat quat_normalise(quat q) {
    real largest =
        real_max(real_max(real_abs(q.x), real_abs(q.y)), real_max(real_abs(q.z), real_abs(q.w)));
    if (!(largest > REAL(0.0))) {
        q.w = REAL(1.0);
        return q;
    }
    q.x /= largest;
    q.y /= largest;
    q.z /= largest;
    q.w /= largest;
    real length = real_sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    q.x /= length;
    q.y /= length;
    q.z /= length;
    q.w /= length;
    return q;
}
/* First b, then a. */
static inline quat quat_multiply(quat a, quat b) {
    quat q;
    q.x = a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y;
    q.y = a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x;
    q.z = a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w;
    q.w = a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z;
    return q;
}
static inline quat quat_conjugate(quat q) {
    q.x = -q.x;
    q.y = -q.y;
    q.z = -q.z;
    return q;
}
/* The rotation matrix of a quaternion of any length. */
static inline mat3 quat_matrix(quat any) {
    quat q = quat_normalise(any);
    real xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    real xy = q.x * q.y, yz = q.y * q.z, zx = q.z * q.x;
    real wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    mat3 m;
    m.row[0] = v3(REAL(1.0) - REAL(2.0) * (yy + zz), REAL(2.0) * (xy - wz), REAL(2.0) * (zx + wy));
    m.row[1] = v3(REAL(2.0) * (xy + wz), REAL(1.0) - REAL(2.0) * (zz + xx), REAL(2.0) * (yz - wx));
    m.row[2] = v3(REAL(2.0) * (zx - wy), REAL(2.0) * (yz + wx), REAL(1.0) - REAL(2.0) * (xx + yy));
    return m;
}
static inline vec3 pose_apply(const pose *p, vec3 v) {
    mat3 m = quat_matrix(p->rotation);
    return v3_add(m3_apply(&m, v), p->translation);
}
/* First b, then a. */
static inline pose pose_multiply(const pose *a, const pose *b) {
    pose p;
    p.rotation = quat_multiply(quat_normalise(a->rotation), quat_normalise(b->rotation));
    p.translation = pose_apply(a, b->translation);
    return p;
}
static inline pose pose_inverse(const pose *a) {
    pose p;
    p.rotation = quat_conjugate(quat_normalise(a->rotation));
    mat3 m = quat_matrix(p.rotation);
    p.translation = v3_scale(m3_apply(&m, a->translation), REAL(-1.0));
    return p;
}

/* ---- boxes ---- */

/* The empty box; extending it by a point gives the box of that point. */
static inline box3 box_empty(void) {
    box3 b;
    b.lo = v3(REAL_MAX, REAL_MAX, REAL_MAX);
    b.hi = v3(-REAL_MAX, -REAL_MAX, -REAL_MAX);
    return b;
}
static inline box3 box_grow(box3 b, vec3 p) {
    b.lo = v3_min(b.lo, p);
    b.hi = v3_max(b.hi, p);
    return b;
}
static inline box3 box_join(box3 a, box3 b) {
    a.lo = v3_min(a.lo, b.lo);
    a.hi = v3_max(a.hi, b.hi);
    return a;
}
static inline int box_overlaps(box3 a, box3 b) {
    return a.lo.x <= b.hi.x && b.lo.x <= a.hi.x && a.lo.y <= b.hi.y && b.lo.y <= a.hi.y &&
           a.lo.z <= b.hi.z && b.lo.z <= a.hi.z;
}
static inline int box_contains(box3 b, vec3 p) {
    return b.lo.x <= p.x && p.x <= b.hi.x && b.lo.y <= p.y && p.y <= b.hi.y && b.lo.z <= p.z &&
           p.z <= b.hi.z;
}
/* Halves before adding, because the sum could overflow. The result is inside the box, except for
 * coordinates below 2 REAL_MIN, whose halves are rounded. */
static inline vec3 box_centre(box3 b) {
    return v3_add(v3_scale(b.lo, REAL(0.5)), v3_scale(b.hi, REAL(0.5)));
}
static inline int box_longest_axis(box3 b) {
    const vec3 size = v3_sub(b.hi, b.lo);
    return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
}

#endif
