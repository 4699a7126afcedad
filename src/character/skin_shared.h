/* One vertex under its bones, for C and OpenCL C alike. On a device ABUTI_REAL_BITS is 64.
 *
 * Linear: the mean of the bones' matrices, by weights. Dual quaternions (Kavan et al., Geometric
 * skinning with approximate dual quaternion blending, 2008, with the two phases of section 4.4):
 * each matrix is a rotation and shift after a linear rest, M = T R S; the mean of the rests moves
 * the vertex first, the normalised mean of the dual quaternions of T R next. So rigid bones bend
 * without loss of volume, and scaled, sheared and mirrored ones still lead where their matrix does
 * where one bone has all the weight.
 *
 * The first weight is the largest, at least 1/8, and all quaternions are taken on its side: their
 * mean is at least 1/8 long along it, so that its inverse is bounded.
 *
 * Numbers of a bone are added up two at a time, which both sides do in the same order. */
#ifndef ABUTI_SKIN_SHARED_H
#define ABUTI_SKIN_SHARED_H

#include "base/math_shared.h"
#ifdef __OPENCL_C_VERSION__
#include "base/simd_cl.h"
#else
#include "base/simd.h"
#endif

/* Doubles of a bone. Linear: the matrix by rows. Dual: rotation (x y z w), half the translation
 * times it, the rest by rows, and one that is not used. */
enum { SKIN_LINEAR = 12, SKIN_DUAL = 18, SKIN_REST = 8 };

/* What vertices are made of; `step` is from one weight of a vertex to its next. */
typedef struct skin_weights {
    ABUTI_GLOBAL const word32 *bones;
    ABUTI_GLOBAL const double *weights;
    word32 step, count;
} skin_weights;

/* Morph targets: those of vertex v are from starts[v] to before starts[v + 1]; null = there are
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

/* `first` is where the weights of the vertex begin. */
static inline vec3 skin_linear(ABUTI_GLOBAL const double *numbers, const skin_weights *w,
                               size_t first, vec3 p) {
    d2 mean[6];
    for (int k = 0; k < 6; k++)
        mean[k] = d2_all(0.0);
    for (word32 i = 0; i < w->count; i++) {
        const size_t at = first + (size_t)w->step * i;
        if (!(w->weights[at] > 0.0))
            break;
        ABUTI_GLOBAL const double *bone = numbers + SKIN_LINEAR * (size_t)w->bones[at];
        const d2 weight = d2_all(w->weights[at]);
        for (int k = 0; k < 6; k++)
            mean[k] = d2_add(mean[k], d2_mul(weight, d2_load(bone + 2 * k)));
    }
    const d2 xy = d2_pair(p.x, p.y), z1 = d2_pair(p.z, 1.0);
    return v3(d2_sum(d2_add(d2_mul(mean[0], xy), d2_mul(mean[1], z1))),
              d2_sum(d2_add(d2_mul(mean[2], xy), d2_mul(mean[3], z1))),
              d2_sum(d2_add(d2_mul(mean[4], xy), d2_mul(mean[5], z1))));
}

static inline vec3 skin_dual(ABUTI_GLOBAL const double *numbers, const skin_weights *w,
                             size_t first, vec3 p) {
    ABUTI_GLOBAL const double *chief = numbers + SKIN_DUAL * (size_t)w->bones[first];
    d2 mean[SKIN_DUAL / 2];
    for (int k = 0; k < SKIN_DUAL / 2; k++)
        mean[k] = d2_all(0.0);
    for (word32 i = 0; i < w->count; i++) {
        const size_t at = first + (size_t)w->step * i;
        if (!(w->weights[at] > 0.0))
            break;
        ABUTI_GLOBAL const double *bone = numbers + SKIN_DUAL * (size_t)w->bones[at];
        const double side = d2_sum(d2_add(d2_mul(d2_load(bone), d2_load(chief)),
                                          d2_mul(d2_load(bone + 2), d2_load(chief + 2))));
        const d2 weight = d2_all(w->weights[at]);
        const d2 turned = d2_all(side < 0.0 ? -w->weights[at] : w->weights[at]);
        for (int k = 0; k < SKIN_REST / 2; k++)
            mean[k] = d2_add(mean[k], d2_mul(turned, d2_load(bone + 2 * k)));
        for (int k = SKIN_REST / 2; k < SKIN_DUAL / 2; k++)
            mean[k] = d2_add(mean[k], d2_mul(weight, d2_load(bone + 2 * k)));
    }
    double m[SKIN_DUAL];
    for (int k = 0; k < SKIN_DUAL / 2; k++)
        d2_store(m + 2 * k, mean[k]);
    const double *rest = m + SKIN_REST;
    const vec3 axis = v3(m[0], m[1], m[2]), moved = v3(m[4], m[5], m[6]);
    const vec3 still = v3(rest[0] * p.x + rest[1] * p.y + rest[2] * p.z,
                          rest[3] * p.x + rest[4] * p.y + rest[5] * p.z,
                          rest[6] * p.x + rest[7] * p.y + rest[8] * p.z);
    const double factor = 2.0 / (m[0] * m[0] + m[1] * m[1] + m[2] * m[2] + m[3] * m[3]);
    /* a rotation by q = (axis, w): v + 2 (w (axis x v) + axis x (axis x v)) / |q|^2; the shift is
     * 2 moved conj(q) / |q|^2 */
    const vec3 once = v3_cross(axis, still), twice = v3_cross(axis, once);
    const vec3 across = v3_cross(axis, moved);
    return v3(
        still.x + factor * (m[3] * once.x + twice.x + (m[3] * moved.x - m[7] * axis.x + across.x)),
        still.y + factor * (m[3] * once.y + twice.y + (m[3] * moved.y - m[7] * axis.y + across.y)),
        still.z + factor * (m[3] * once.z + twice.z + (m[3] * moved.z - m[7] * axis.z + across.z)));
}

#endif
