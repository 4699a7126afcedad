/* Skinning of one vertex, compiled as C and as OpenCL C. On a device ABUTI_REAL_BITS is 64.
 *
 * Linear: the weighted mean of the matrices of the bones. Dual quaternions: Kavan et al.,
 * "Geometric skinning with approximate dual quaternion blending" (2008), with the two phases of
 * section 4.4. Each matrix is a rotation and a translation after a linear remainder, M = T R S. The
 * mean of the remainders S is applied first, then the normalised mean of the dual quaternions of T
 * R. Rigid bones thus bend without loss of volume, and for a vertex with a single bone the result
 * is that of the matrix even if it scales, shears or mirrors.
 *
 * The first weight is the largest, at least 1/8, and all quaternions are flipped to its hemisphere.
 * So the length of the mean along it is at least 1/8, and its inverse is bounded.
 */
#ifndef ABUTI_SKIN_SHARED_H
#define ABUTI_SKIN_SHARED_H

#include "base/math_shared.h"

/* Doubles per bone. Linear: the matrix by rows. Dual: rotation (x y z w), half the translation
 * times it, the remainder by rows. */
enum { SKIN_LINEAR = 12, SKIN_DUAL = 17, SKIN_REST = 8 };

/* Weights of all vertices; `step` is the distance between consecutive weights of a vertex. */
typedef struct skin_weights {
    ABUTI_GLOBAL const word32 *bones;
    ABUTI_GLOBAL const double *weights;
    word32 step, count;
} skin_weights;

/* Offsets of morph targets: those of vertex v are [starts[v], starts[v + 1]); null = there are
 * none. */
typedef struct skin_morphs {
    ABUTI_GLOBAL const word32 *starts;
    ABUTI_GLOBAL const word32 *targets;
    ABUTI_GLOBAL const double *shifts; /* three each */
    ABUTI_GLOBAL const double *weights;
} skin_morphs;

static inline vec3 skin_morph(const skin_morphs *m, word32 vertex, vec3 p) {
    for (word32 i = m->starts[vertex]; i < m->starts[vertex + 1]; i++) {
        ABUTI_GLOBAL const double *shift = m->shifts + 3 * (size_t)i;
        double weight = m->weights[m->targets[i]];
        p = v3(p.x + weight * shift[0], p.y + weight * shift[1], p.z + weight * shift[2]);
    }
    return p;
}

/* `first` is the index of the first weight of the vertex. */
static inline vec3 skin_linear(ABUTI_GLOBAL const double *numbers, const skin_weights *w,
                               size_t first, vec3 p) {
    double m[SKIN_LINEAR] = {0.0};
    for (word32 i = 0; i < w->count; i++) {
        const size_t at = first + (size_t)w->step * i;
        const double weight = w->weights[at];
        if (!(weight > 0.0))
            break;
        ABUTI_GLOBAL const double *bone = numbers + SKIN_LINEAR * (size_t)w->bones[at];
        for (int k = 0; k < SKIN_LINEAR; k++)
            m[k] += weight * bone[k];
    }
    return v3(m[0] * p.x + m[1] * p.y + m[2] * p.z + m[3],
              m[4] * p.x + m[5] * p.y + m[6] * p.z + m[7],
              m[8] * p.x + m[9] * p.y + m[10] * p.z + m[11]);
}

static inline vec3 skin_dual(ABUTI_GLOBAL const double *numbers, const skin_weights *w,
                             size_t first, vec3 p) {
    ABUTI_GLOBAL const double *reference = numbers + SKIN_DUAL * (size_t)w->bones[first];
    double m[SKIN_DUAL] = {0.0};
    for (word32 i = 0; i < w->count; i++) {
        const size_t at = first + (size_t)w->step * i;
        const double weight = w->weights[at];
        if (!(weight > 0.0))
            break;
        ABUTI_GLOBAL const double *bone = numbers + SKIN_DUAL * (size_t)w->bones[at];
        const double side = bone[0] * reference[0] + bone[1] * reference[1] +
                            bone[2] * reference[2] + bone[3] * reference[3];
        const double signed_weight = side < 0.0 ? -weight : weight;
        for (int k = 0; k < SKIN_DUAL; k++)
            m[k] += (k < SKIN_REST ? signed_weight : weight) * bone[k];
    }
    const double *rest = m + SKIN_REST;
    const vec3 axis = v3(m[0], m[1], m[2]), moved = v3(m[4], m[5], m[6]);
    const vec3 stretched = v3(rest[0] * p.x + rest[1] * p.y + rest[2] * p.z,
                              rest[3] * p.x + rest[4] * p.y + rest[5] * p.z,
                              rest[6] * p.x + rest[7] * p.y + rest[8] * p.z);
    const double factor = 2.0 / (m[0] * m[0] + m[1] * m[1] + m[2] * m[2] + m[3] * m[3]);
    /* rotation by q = (axis, w): v + 2 (w (axis x v) + axis x (axis x v)) / |q|^2; translation: 2
     * moved conj(q) / |q|^2 */
    const vec3 once = v3_cross(axis, stretched), twice = v3_cross(axis, once);
    const vec3 across = v3_cross(axis, moved);
    return v3(stretched.x +
                  factor * (m[3] * once.x + twice.x + (m[3] * moved.x - m[7] * axis.x + across.x)),
              stretched.y +
                  factor * (m[3] * once.y + twice.y + (m[3] * moved.y - m[7] * axis.y + across.y)),
              stretched.z +
                  factor * (m[3] * once.z + twice.z + (m[3] * moved.z - m[7] * axis.z + across.z)));
}

#endif
