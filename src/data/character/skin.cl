/* Skinning, one work-item per vertex: skin_by_matrices and skin_by_duals. */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "character/skin_shared.h"

static vec3 morphed_position(uint vertex, uint first_morph, uint has_morphs,
                             __global const double *places, __global const uint *starts,
                             __global const uint *targets, __global const double *shifts,
                             __global const double *numbers) {
    __global const double *from = places + 3 * (size_t)vertex;
    const vec3 p = v3(from[0], from[1], from[2]);
    if (!has_morphs)
        return p;
    const skin_morphs morphs = {starts, targets, shifts, numbers + first_morph};
    return skin_morph(&morphs, vertex, p);
}

static void store_position(__global double *positions, uint vertex, vec3 p) {
    __global double *to = positions + 3 * (size_t)vertex;
    to[0] = p.x;
    to[1] = p.y;
    to[2] = p.z;
}

#define SKIN_KERNEL(name, skin)                                                              \
    __kernel void name(uint vertices, uint weight_count, uint first_morph, uint has_morphs,  \
                       __global const double *places, __global const uint *bones,            \
                       __global const double *weights, __global const uint *starts,          \
                       __global const uint *targets, __global const double *shifts,          \
                       __global const double *numbers, __global double *positions) {         \
        const uint v = (uint)get_global_id(0);                                               \
        if (v >= vertices)                                                                   \
            return;                                                                          \
        const skin_weights w = {bones, weights, vertices, weight_count};                     \
        const vec3 p = morphed_position(v, first_morph, has_morphs, places, starts, targets, \
                                        shifts, numbers);                                    \
        store_position(positions, v, skin(numbers, &w, v, p));                               \
    }

SKIN_KERNEL(skin_by_matrices, skin_linear)
SKIN_KERNEL(skin_by_duals, skin_dual)

#endif
