/* Radial fields: frames, and rasterisation of triangles into samples, for C and OpenCL C. On a
 * device ABUTI_REAL_BITS is 64.
 *
 * A field is an axis that moves with a bone (Friston and Steed 2019, section 4). Field space is a
 * rigid frame on that axis: x and y across it in units of length, z along it in cells. So rows of
 * samples have integer z, and a point that moves with a stretched axis keeps its z. Sample (i, j)
 * is on the ray from (0, 0, j) at the angle 2 pi i / around. Its value is the distance of the
 * nearest surface along that ray that faces outwards. Infinity means none.
 *
 * Distances are polar (the method that section 12 of the paper names as future work). The
 * half-plane of column i intersects a triangle in a segment, whose ends are on two edges. In
 * coordinates rotated by the angle of the column, t along and s across it, an edge from a to b
 * intersects it at r = (tb sa - ta sb) / (sa - sb),    z = (zb sa - za sb) / (sa - sb) which is the
 * polar equation of the line through a and b. Between the ends r is linear in z. So samples are
 * exact up to rounding.
 *
 * Coverage. Both formulas give the same bits if a and b are exchanged. So the triangles on both
 * sides of an edge agree on its intersection with the half-plane, also if they have separate
 * vertices. Sides are decided by s >= 0 and z <= j, and the orientation of a triangle by which of
 * its two edges goes from negative s to non-negative s. So the outline of a closed surface in the
 * half-plane is a closed polygon with consistent corners, and a ray crosses it equally often
 * inwards and outwards. No sample is lost between triangles, and none is duplicated.
 *
 * If the axis leaves the surface (finger tips), the samples close it: the first row beyond has
 * radius 0 where it is empty.
 */
#ifndef ABUTI_RADIAL_SHARED_H
#define ABUTI_RADIAL_SHARED_H

#include "base/math_shared.h"

#ifdef __OPENCL_C_VERSION__
typedef volatile ABUTI_GLOBAL uint *radial_word; /* modified concurrently by work-items */
static inline void radial_atomic_min(radial_word word, word32 value) {
    atomic_min(word, value); /* reading the word first would add latency */
}
static inline void radial_atomic_max(radial_word word, word32 value) {
    if (value > *word)
        atomic_max(word, value);
}
static inline word32 radial_bits(float x) {
    return as_uint(x);
}
static inline float radial_sqrt(float x) {
    return sqrt(x);
}
#else
#include <stdatomic.h>
typedef atomic_uint *radial_word;
static inline void radial_atomic_min(radial_word word, word32 value) {
    unsigned seen = atomic_load_explicit(word, memory_order_relaxed);
    while (value < seen &&
           !atomic_compare_exchange_weak_explicit(word, &seen, value, memory_order_relaxed,
                                                  memory_order_relaxed))
        continue;
}
static inline void radial_atomic_max(radial_word word, word32 value) {
    unsigned seen = atomic_load_explicit(word, memory_order_relaxed);
    while (value > seen &&
           !atomic_compare_exchange_weak_explicit(word, &seen, value, memory_order_relaxed,
                                                  memory_order_relaxed))
        continue;
}
static inline word32 radial_bits(float x) {
    union {
        float real;
        word32 bits;
    } both = {x};
    return both.bits;
}
static inline float radial_sqrt(float x) {
    return sqrtf(x);
}
#endif

#define RADIAL_EMPTY 0x7f800000u /* bits of infinity */
#define RADIAL_FAR 1e15          /* bound of coordinates in field space */

/* Constant data of a field. */
typedef struct radial_field {
    word32 around, along;              /* numbers of samples: at least 4 and 2 */
    word32 first;                      /* sample (i, j) is at index first + j around + i */
    word32 first_turn;                 /* offset of its `around` directions */
    word32 first_vertex, vertex_count; /* range of the vertices that it uses */
    word32 first_triangle, triangle_count;
} radial_field;

/* The direction of a column. */
typedef struct radial_turn {
    float c, s;
} radial_turn;

/* The current position of the axis. */
typedef struct radial_frame {
    vec3 origin;
    vec3 to[3];   /* rows that map differences to field space */
    vec3 axis[3]; /* unit vectors: angle 0, a quarter turn, along the axis; right-handed */
    double length;
    double row;       /* length of a cell along the axis, in units of field space */
    float step;       /* the same as a float */
    word32 mirrored;  /* 1: triangles have the opposite orientation to that at rest */
    word32 collapsed; /* 1: the axis has no length, and the field no samples */
    word32 unused;
} radial_frame;

/* Results of rasterisation besides samples; all zero before. */
typedef struct radial_mark {
    word32 reach;  /* bits of the largest radius */
    word32 top;    /* 1 + the first row after the axis leaves the surface; 0 = none */
    word32 bottom; /* along - the first row before the axis enters the surface; 0 = none */
    word32 unused;
} radial_mark;

/* A point in field space. */
typedef struct radial_point {
    float x, y, z;
    float turn; /* its angle in columns, accurate to 0.02; NaN on the axis */
} radial_point;

/* ---- points ---- */

#ifdef __OPENCL_C_VERSION__
#define RADIAL_COORDINATE_MAX 1e90 /* ABUT_COORDINATE_MAX */
#else
#define RADIAL_COORDINATE_MAX ABUT_COORDINATE_MAX
#endif

static inline bool radial_is_in_range(vec3 p) { /* false for NaN */
    return fabs(p.x) <= RADIAL_COORDINATE_MAX && fabs(p.y) <= RADIAL_COORDINATE_MAX &&
           fabs(p.z) <= RADIAL_COORDINATE_MAX;
}

static inline float radial_float(double x) {
    return (float)(x < -RADIAL_FAR ? -RADIAL_FAR : x > RADIAL_FAR ? RADIAL_FAR : x);
}

/* The angle in [0, around], by a polynomial (error below 2e-6 radians), since library functions
 * differ between platforms. NaN for zero. */
static inline float radial_angle(float x, float y, float around) {
    const float ax = x < 0.0f ? -x : x, ay = y < 0.0f ? -y : y;
    const float least = ax < ay ? ax : ay, most = ax < ay ? ay : ax;
    const float k = least / most, q = k * k;
    float a = -0.01172120f;
    a = a * q + 0.05265332f;
    a = a * q - 0.11643287f;
    a = a * q + 0.19354346f;
    a = a * q - 0.33262347f;
    a = (a * q + 0.99997726f) * k * 0.15915494f; /* of a full turn */
    a = ay > ax ? 0.25f - a : a;
    a = x < 0.0f ? 0.5f - a : a;
    a = y < 0.0f ? 1.0f - a : a;
    return a * around;
}

static inline radial_point radial_to_field(const radial_frame *f, word32 around, vec3 p) {
    const vec3 d = v3_sub(p, f->origin);
    radial_point q;
    q.x = radial_float(v3_dot(f->to[0], d));
    q.y = radial_float(v3_dot(f->to[1], d));
    q.z = radial_float(v3_dot(f->to[2], d));
    q.turn = radial_angle(q.x, q.y, (float)around);
    return q;
}

/* The smallest integer not below x, for x above -2^30. */
static inline int radial_ceil(float x) {
    const int whole = (int)x;
    return whole + ((float)whole < x);
}

static inline float radial_clamp(float x, float lo, float hi) {
    return x < lo ? lo : x > hi ? hi : x;
}

/* The columns that a triangle may intersect: *count of them from *begin on, modulo around. A
 * triangle within less than half a turn is not wider than its corners; any other may surround the
 * axis. */
static inline void radial_columns(const radial_point p[3], word32 around, int *begin, int *count) {
    const float n = (float)around, pad = 0.05f;
    float a = p[1].turn - p[0].turn, b = p[2].turn - p[0].turn;
    a = a > 0.5f * n ? a - n : a < -0.5f * n ? a + n : a;
    b = b > 0.5f * n ? b - n : b < -0.5f * n ? b + n : b;
    float lo = a < b ? a : b, hi = a < b ? b : a;
    lo = lo < 0.0f ? lo : 0.0f;
    hi = hi > 0.0f ? hi : 0.0f;
    if (!(hi - lo < 0.48f * n) || !(a == a) ||
        !(b == b)) { /* the angle of a corner on the axis is NaN */
        *begin = 0;
        *count = (int)around;
        return;
    }
    *begin = radial_ceil(p[0].turn + lo - pad);
    *count = radial_ceil(p[0].turn + hi + pad) - *begin;
    *count = *count > (int)around ? (int)around : *count;
}

/* ---- polar distances ---- */

/* Marks the end of the surface where the axis passes through a triangle. */
static inline void radial_pierce(const radial_point p[3], word32 along, word32 mirrored,
                                 radial_word top, radial_word bottom) {
    float e[3];
    for (int k = 0; k < 3; k++) {
        const radial_point a = p[(k + 1) % 3], b = p[(k + 2) % 3];
        e[k] = a.x * b.y - a.y * b.x;
    }
    const float sum = e[0] + e[1] + e[2];
    if (!(sum > 0.0f ? e[0] >= 0.0f && e[1] >= 0.0f && e[2] >= 0.0f
                     : sum < 0.0f && e[0] <= 0.0f && e[1] <= 0.0f && e[2] <= 0.0f))
        return;
    float z = e[0] / sum * p[0].z + e[1] / sum * p[1].z + e[2] / sum * p[2].z;
    z = radial_clamp(z, -1.0f, (float)along);
    const int row = radial_ceil(z);
    if ((sum > 0.0f) != (mirrored != 0u)) {
        if (row >= 0 && row < (int)along)
            radial_atomic_max(top, 1u + (word32)row);
    } else {
        const int below = (float)row > z ? row - 1 : row;
        if (below >= 0 && below < (int)along)
            radial_atomic_max(bottom, along - (word32)below);
    }
}

/* Computes the samples of one column; `s` are the sides of the corners. Returns the larger of
 * `reach` and the largest radius. */
static inline float radial_column(const radial_point p[3], const float s[3], radial_turn turn,
                                  const radial_field *f, word32 column, word32 mirrored,
                                  radial_word samples, float reach) {
    /* intersections with the half-plane: of the edge that leaves its positive side, and of the one
     * that enters */
    float r0 = 0.0f, r1 = 0.0f, z0 = 0.0f, z1 = 0.0f;
    for (int k = 0; k < 3; k++) {
        const int m = k == 2 ? 0 : k + 1, leaves = s[k] >= 0.0f;
        if (leaves == (s[m] >= 0.0f))
            continue;
        const float ta = turn.c * p[k].x + turn.s * p[k].y, tb = turn.c * p[m].x + turn.s * p[m].y;
        const float whole = s[k] - s[m];
        const float r = (tb * s[k] - ta * s[m]) / whole;
        const float z = (p[m].z * s[k] - p[k].z * s[m]) / whole;
        r1 = leaves ? r : r1;
        z1 = leaves ? z : z1;
        r0 = leaves ? r0 : r;
        z0 = leaves ? z0 : z;
    }
    if (r0 < 0.0f && r1 < 0.0f)
        return reach;
    const float below = mirrored ? z1 : z0, above = mirrored ? z0 : z1, rows = (float)f->along;
    const float first = mirrored ? r1 : r0,
                last = mirrored ? r0 : r1; /* at the lower and the upper end */
    int row = radial_ceil(radial_clamp(below, 0.0f, rows));
    const int end = radial_ceil(radial_clamp(above, 0.0f, rows));
    for (; row < end; row++) { /* below <= row < above: the triangle faces outwards */
        const float a = below - (float)row, b = above - (float)row;
        const float radius = (first * b - last * a) / (b - a);
        if (radius >= 0.0f) {
            radial_atomic_min(samples + f->first + (word32)row * f->around + column,
                              radial_bits(radius + 0.0f)); /* avoids minus zero */
            reach = radius > reach ? radius : reach;
        }
    }
    return reach;
}

/* Processes every `lanes`-th column of a triangle, starting with number `lane`. */
static inline void radial_draw(const radial_field *f, word32 mirrored,
                               ABUTI_GLOBAL const radial_turn *turns, const radial_point p[3],
                               int lane, int lanes, radial_word samples, radial_word reach,
                               radial_word top, radial_word bottom) {
    float lo = p[0].z < p[1].z ? p[0].z : p[1].z, hi = p[0].z < p[1].z ? p[1].z : p[0].z;
    lo = p[2].z < lo ? p[2].z : lo;
    hi = p[2].z > hi ? p[2].z : hi;
    const float rows = (float)f->along - 1.0f;
    if (hi < 0.0f || lo > rows)
        return;
    int i, count;
    radial_columns(p, f->around, &i, &count);
    if (count == (int)f->around && lane == 0)
        radial_pierce(p, f->along, mirrored, top, bottom);
    /* rounding moves intersections beyond the range of the corners by a few ulps at most */
    if ((float)radial_ceil(radial_clamp(lo - 0.01f, -1.0f, rows)) > hi + 0.01f)
        return;
    float most = 0.0f;
    i += lane;
    for (count -= lane; count > 0; count -= lanes, i += lanes) {
        const word32 column = (word32)(i < 0                 ? i + (int)f->around
                                       : i >= (int)f->around ? i - (int)f->around
                                                             : i);
        const radial_turn turn = turns[f->first_turn + column];
        float s[3];
        for (int k = 0; k < 3; k++)
            s[k] = turn.c * p[k].y - turn.s * p[k].x;
        const int a = s[0] >= 0.0f, b = s[1] >= 0.0f, c = s[2] >= 0.0f;
        if (a != b || b != c)
            most = radial_column(p, s, turn, f, column, mirrored, samples, most);
    }
    if (most > 0.0f)
        radial_atomic_max(reach, radial_bits(most));
}

/* ---- samples ---- */

/* The effective radius of a sample: 0 at closed ends where it is empty. */
static inline float radial_radius(const radial_field *f, ABUTI_GLOBAL const float *radii,
                                  word32 top, word32 bottom, word32 i, word32 j) {
    const float radius = radii[f->first + j * f->around + i];
    const int closed = j + 1u == top || (bottom != 0u && j == f->along - bottom);
    return closed && radius == INFINITY ? 0.0f : radius;
}

#endif
