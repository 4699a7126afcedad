/* The line of the closest pair so far, and what lies beyond its ends.
 *
 * Boxes and discs do not tell that two parts are further apart than the closest pair where surfaces
 * are round: between two pipes that pass each other at a distance thousands of pairs of boxes seem
 * as near. But on the line of the closest pair all of both lies beyond its ends, but for a little,
 * and what is apart across the line is further away than its length: of two parts whose shadows
 * reach past the ends by x and y, and are z apart on a direction across it, the distance is at
 * least sqrt((length - x - y)^2 + z^2). So each part is only asked whether it reaches further past
 * the end than the other and z allow. Discs answer for most, in floats; else those below them do,
 * down to triangles in doubles. What was found is kept for the next pair.
 */
#ifndef ABUTI_PAIR_WITNESS_BOUND_H
#define ABUTI_PAIR_WITNESS_BOUND_H

#include "geom/types_shared.h"
#include "pair/disc_bounds.h"

enum { LINE_MEMORY = 256 }; /* a power of two */

/* How far corners at a place reach past the end: no more than `most`, and one by `least`. */
typedef struct line_reach {
    double most, least;
    uint32_t place, age;
} line_reach;

typedef struct pair_line {
    const pair_frame *frame;
    const pair_disc *discs[2];
    double length;
    mat3 turn;     /* the axes of side 1 along those of side 0 */
    vec3 shift;    /* of the origin of mesh 1 from that of mesh 0, along the axes of side 0 */
    vec3 way[2];   /* towards the other side, along own axes */
    double end[2]; /* how far from the origin of the mesh along it */
    uint32_t age;
    line_reach memory[2][LINE_MEMORY];
} pair_line;

/* Begins with the line of a pair, which are not in one place. */
void abuti_pair_line_start(pair_line *line, const pair_frame *frame,
                           const pair_disc *const discs[2], const closest_pair *closest);
/* Goes on with that of another pair. */
void abuti_pair_line_change(pair_line *line, const closest_pair *closest);
/* Whether all triangles at two places are further apart than `most`, which is that of the search
 * and what vertices may be off by. */
bool abuti_pair_line_beyond(pair_line *line, const uint32_t place[2], double most);

/* The corners of two leaves, seen from side 0, about the middle of the first: so that floats err by
 * parts of their sizes and of the way between them, not of where they are. Gives by how much
 * distances of their triangles in floats are off, without the steps of blocks. */
float abuti_pair_line_corners(const pair_line *line, const uint32_t place[2], wide3 a[3],
                              wide3 b[3]);

#endif
