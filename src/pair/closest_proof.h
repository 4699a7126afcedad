/* Where many pairs of triangles are equally near: walls that face each other, rims on a plate.
 *
 * A search looks at each of them, since floats do not tell which is nearest. Here the least is
 * proved in doubles for whole parts of two surfaces at once, and the lowest pair that is as near is
 * found by its numbers.
 */
#ifndef ABUTI_PAIR_CLOSEST_PROOF_H
#define ABUTI_PAIR_CLOSEST_PROOF_H

#include "geom/distance_shared.h"
#include "pair/pair.h"

/* What is proved of the nearest may be wrong by this many times the doubt of a frame. */
#define PROOF_DOUBTS 2.0

/* A child of a node, in the hierarchy's frame: seen from the middle of its box, corners reach from
 * lo to hi along the unit vector m, and no further than r from the line along m. Such that n . x is
 * at most the larger of (n . m) lo and (n . m) hi, and |n - (n . m) m| r more, for any unit vector
 * n. */
typedef struct pair_wall {
    double m[3], lo, hi;
    float r;
    uint32_t first; /* its lowest triangle */
} pair_wall;

/* How far it reaches along a unit vector. */
static inline double wall_reach(const pair_wall *wall, vec3 n) {
    vec3 m = v3(wall->m[0], wall->m[1], wall->m[2]);
    double c = v3_dot(n, m);
    return real_max(c * wall->lo, c * wall->hi) + v3_length(v3_sub(n, v3_scale(m, c))) * wall->r;
}

/* Those of all places, or null: it does not pay to make them yet, another thread is about it, or
 * there is no memory. `effort` is what a search has spent since it asked last, in pairs of leaves.
 * Thread-safe. */
const pair_wall *abuti_pair_walls(const abut_bvh *bvh, uint64_t effort);
/* The same, made by all means; null where there is no memory. */
const pair_wall *abuti_pair_walls_now(const abut_bvh *bvh);

/* What is known of the closest pair, and which it is in the end. */
typedef struct pair_tie {
    const pair_frame *frame;
    const pair_wall *walls[2];
    closest_pair closest;       /* the nearest found so far */
    float upper_sq;             /* boxes that are further apart have no pair as near, in units */
    uint64_t steps_most, steps; /* at most, and taken */
    uint32_t lowest[2];
} pair_tie;

/* Whether no pair is nearer by more than the doubt of a proof, and which is the lowest of those
 * that are equally near; `lowest` has one of them before. False where that is not known after so
 * many steps. */
bool abuti_pair_tied(pair_tie *tie);

#endif
