/* Proof of the smallest distance if many pairs of triangles tie, as for parallel faces or an edge
 * above a plate.
 *
 * A search measures each of them, since floats cannot decide which is nearest. Here the minimum is
 * proved in doubles for whole parts of two surfaces at once, and the lowest pair that ties is found
 * by its indices.
 */
#ifndef ABUTI_PAIR_CLOSEST_PROOF_H
#define ABUTI_PAIR_CLOSEST_PROOF_H

#include "geom/distance_shared.h"
#include "pair/pair.h"

/* Tolerance of a proved minimum, in multiples of pair_frame.position_error. */
#define PROOF_ERRORS 2.0

/* Bounds of the triangles of a child, in the frame of the BVH: relative to the centre of its box,
 * corners have coordinates from lo to hi along the unit vector m, and are no further than r from
 * the line along m. For any unit vector n, n . x is at most max((n . m) lo, (n . m) hi) + |n - (n .
 * m) m| r. */
typedef struct pair_slab {
    double m[3], lo, hi;
    float r;
    uint32_t first; /* its lowest triangle */
} pair_slab;

/* The largest coordinate along a unit vector, relative to the centre of the box. */
static inline double slab_reach(const pair_slab *slab, vec3 n) {
    vec3 m = v3(slab->m[0], slab->m[1], slab->m[2]);
    double c = v3_dot(n, m);
    return real_max(c * slab->lo, c * slab->hi) + v3_length(v3_sub(n, v3_scale(m, c))) * slab->r;
}

/* Returns the slabs of all places, or null if they do not pay off yet, another thread is computing
 * them, or memory is exhausted. `effort` is the effort of a search since its last call, in pairs of
 * leaves. Thread-safe. */
const pair_slab *abuti_pair_slabs(const abut_bvh *bvh, uint64_t effort);
/* The same, computed unconditionally; null if memory is exhausted. */
const pair_slab *abuti_pair_slabs_now(const abut_bvh *bvh);

/* Input and output of a proof. */
typedef struct closest_proof {
    const pair_frame *frame;
    const pair_slab *slabs[2];
    closest_pair closest;      /* the closest pair found so far */
    float upper_sq;            /* in common units: boxes further apart have no pair that ties */
    uint64_t steps_max, steps; /* allowed, and used */
    uint32_t lowest[2];
} closest_proof;

/* Proves that no pair is nearer than closest.distance by more than the tolerance. Then replaces
 * `lowest`, one of the tied pairs, by the lowest of them. Returns false if this is not proved
 * within steps_max steps. */
bool abuti_pair_prove_closest(closest_proof *tie);

#endif
