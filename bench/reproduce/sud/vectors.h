/* Vectors and boxes of floats, as a GPU of 2006 had them. */
#ifndef SUD_VECTORS_H
#define SUD_VECTORS_H

#include <float.h>
#include <math.h>

typedef struct vec3 {
    float x, y, z;
} vec3;

typedef struct box3 {
    vec3 lo, hi;
} box3;

static inline vec3 v3(float x, float y, float z) {
    return (vec3){x, y, z};
}
static inline vec3 v3_add(vec3 a, vec3 b) {
    return v3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline vec3 v3_sub(vec3 a, vec3 b) {
    return v3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline vec3 v3_scale(vec3 a, float s) {
    return v3(a.x * s, a.y * s, a.z * s);
}
/* a + s b */
static inline vec3 v3_along(vec3 a, float s, vec3 b) {
    return v3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
static inline vec3 v3_lerp(vec3 a, vec3 b, float t) {
    return v3_along(a, t, v3_sub(b, a));
}
static inline vec3 v3_min(vec3 a, vec3 b) {
    return v3(a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z);
}
static inline vec3 v3_max(vec3 a, vec3 b) {
    return v3(a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z);
}
static inline vec3 v3_abs(vec3 a) {
    return v3(fabsf(a.x), fabsf(a.y), fabsf(a.z));
}
static inline float v3_max_abs(vec3 a) {
    return fmaxf(fabsf(a.x), fmaxf(fabsf(a.y), fabsf(a.z)));
}
static inline float v3_dot(vec3 a, vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline vec3 v3_cross(vec3 a, vec3 b) {
    return v3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline float v3_length_sq(vec3 a) {
    return v3_dot(a, a);
}
static inline float v3_length(vec3 a) {
    return sqrtf(v3_length_sq(a));
}
/* The unit vector; zero for zero. */
static inline vec3 v3_normalise(vec3 a) {
    const float length = v3_length(a);
    return length > 0 ? v3_scale(a, 1 / length) : v3(0, 0, 0);
}
static inline float v3_get(vec3 a, int axis) {
    return axis == 0 ? a.x : axis == 1 ? a.y : a.z;
}

static inline box3 box_empty(void) {
    return (box3){{FLT_MAX, FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX, -FLT_MAX}};
}
static inline box3 box_grow(box3 b, vec3 p) {
    return (box3){v3_min(b.lo, p), v3_max(b.hi, p)};
}
static inline box3 box_join(box3 a, box3 b) {
    return (box3){v3_min(a.lo, b.lo), v3_max(a.hi, b.hi)};
}
static inline vec3 box_centre(box3 b) {
    return v3_lerp(b.lo, b.hi, 0.5f);
}
static inline int box_longest_axis(box3 b) {
    const vec3 size = v3_sub(b.hi, b.lo);
    return size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
}

#endif
