/* Lower bounds of distances from the line between the witness points of the closest pair so far.
 *
 * Boxes and discs cannot show that two parts are further apart than the closest pair if surfaces
 * are curved: between two pipes that pass each other, thousands of pairs of boxes seem equally
 * near. But along the line of the closest pair almost all of both surfaces is beyond its ends, and
 * parts that are apart across the line are further away than its length. If the projections of two
 * parts extend past the ends by x and y, and the parts are z apart on a direction across the line,
 * their distance is at least sqrt((length - x - y)^2 + z^2). So for each part it is sufficient to
 * decide whether it extends further past the end than the other part and z allow. Slabs decide most
 * cases; otherwise their children do, down to triangles. Results are cached for the next pair.
 *
 * Two parts that are not separated along the line may be separated along the normal of one of their
 * slabs, as a peg in the middle of a shaft.
 */
#ifndef ABUTI_PAIR_WITNESS_BOUND_H
#define ABUTI_PAIR_WITNESS_BOUND_H

#include "geom/types_shared.h"
#include "pair/disc_bounds.h"

enum { WITNESS_CACHE_SIZE = 256 }; /* a power of two */

/* Bounds of the distance that corners at a place extend past the end. */
typedef struct witness_reach {
    double upper, lower;
    uint32_t place, generation;
} witness_reach;

typedef struct witness_bound {
    const pair_frame *frame;
    const pair_slab *slabs[2];
    double length;
    mat3 rotation; /* from the axes of side 1 to those of side 0 */
    mat3 inverse;
    vec3 shift;        /* from the origin of mesh 0 to that of mesh 1, along the axes of side 0 */
    vec3 direction[2]; /* of the line towards the other side, along own axes */
    double end[2];     /* coordinate of the end along it, from the local origin */
    double past[2];    /* bounds of how far each surface extends past its end */
    uint32_t generation;
    witness_reach cache[2][WITNESS_CACHE_SIZE];
} witness_bound;

/* Initialises the bound with a closest pair whose points differ. */
void abuti_witness_bound_start(witness_bound *line, const pair_frame *frame,
                               const pair_slabs *const slabs[2], const closest_pair *closest);
/* Replaces the closest pair. */
void abuti_witness_bound_update(witness_bound *line, const closest_pair *closest);
/* Whether all triangles at two places are further apart than `upper`, up to the error of vertex
 * positions. The bound holds for any two points, so the closest pair may have been replaced. With
 * `descend` also by the bounds below these places and by the normals of slabs. */
bool abuti_witness_bound_excludes(witness_bound *line, const uint32_t place[2], double upper,
                                  bool descend);

/* Computes the corners of two leaves in the axes of side 0, relative to the centre of the first, so
 * that errors of floats are relative to their sizes and distance instead of their coordinates.
 * Returns the error of distances of their triangles in floats, without quantisation. */
float abuti_witness_bound_corners(const witness_bound *line, const uint32_t place[2], wide3 a[3],
                                  wide3 b[3]);

#endif
