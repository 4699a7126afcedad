/* Vector operations of the cloth, for C and OpenCL C. In doubles and without contraction, so
 * that both give the same bits. */
#ifndef CLOTH_VECTOR_H
#define CLOTH_VECTOR_H

#ifdef __OPENCL_C_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define CLOTH_GLOBAL __global
#define CLOTH_LOCAL __local
typedef uint uint32_t;
typedef struct vec {
    double x, y, z;
} vec;
typedef struct vec_nearest { /* as abut_nearest */
    double distance;
    vec point;
    double barycentric[3];
    uint32_t triangle, feature;
} vec_nearest;
#define VEC_NONE UINT_MAX
#else
#include <abut/bvh.h>

#include <math.h>

#define CLOTH_GLOBAL
#define CLOTH_LOCAL
typedef abut_vec3 vec;
typedef abut_nearest vec_nearest;
#define VEC_NONE ABUT_NONE
#endif

static inline vec vec_of(double x, double y, double z) {
    vec v = {x, y, z};
    return v;
}
static inline vec vec_add(vec a, vec b) {
    return vec_of(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline vec vec_sub(vec a, vec b) {
    return vec_of(a.x - b.x, a.y - b.y, a.z - b.z);
}
/* a + s b */
static inline vec vec_along(vec a, double s, vec b) {
    return vec_of(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
static inline vec vec_scale(vec a, double s) {
    return vec_of(a.x * s, a.y * s, a.z * s);
}
static inline double vec_dot(vec a, vec b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline vec vec_cross(vec a, vec b) {
    return vec_of(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline double vec_length(vec a) {
    return sqrt(vec_dot(a, a));
}
/* Returns whether a position is valid: finite, and far below the largest float. */
static inline bool vec_is_near(vec a) {
    return fabs(a.x) < 1e15 && fabs(a.y) < 1e15 && fabs(a.z) < 1e15;
}
/* Rounds to floats: positions at the end of a step are floats, so that files of floats store
 * them exactly. */
static inline vec vec_round(vec a) {
    return vec_of((double)(float)a.x, (double)(float)a.y, (double)(float)a.z);
}

#endif
