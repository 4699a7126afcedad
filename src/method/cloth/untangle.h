/* Private declarations of untangling; see untangle.c. */
#ifndef ABUTI_CLOTH_UNTANGLE_H
#define ABUTI_CLOTH_UNTANGLE_H

#include "cloth/contours.h"

#include <abut/sign.h>

/* Memory of abut_cloth_untangle(). */
typedef struct cloth_untangler {
    abut_cloth *c;
    cloth_contours contours;
    vec3 *start, *best; /* positions of sheets: initial, and with the fewest pairs */
    double *length;     /* of edges of sheets at the start */
    vec3 *push;         /* motion of vertices of sheets in an iteration: the sum, then the mean */
    double *weight;
    abut_nearest *nearest; /* of vertices of sheets on bodies, signed; if bodies have an inside */
    bool bodies_are_solid;
    uint32_t *mark, *cut; /* per vertex, per edge: of the current patch */
    uint32_t *queue[2];   /* vertices of both sides of a curve */
    uint32_t stamp;
    double clearance, step_max;     /* lengths: distance to move beyond a surface; per iteration */
    uint32_t stagnation;            /* iterations since the number of pairs decreased */
    uint32_t iteration, iterations; /* the current one; at most */
} cloth_untangler;

/* ---- resolve.c ---- */

/* Sums the motion of an iteration from the contours. */
abut_status abuti_cloth_resolve_contours(cloth_untangler *u);
/* The way from a vertex of a sheet to the mean of its neighbours. */
vec3 abuti_cloth_way_to_mean(const abut_cloth *c, uint32_t v);

/* ---- settle.c ---- */

/* Steps without forces and velocities, which push surfaces apart until they keep the thickness.
 * The state must be free of intersections. On failure the positions are undefined, everything else
 * is as before. Writes the smallest gap. */
abut_status abuti_cloth_settle(abut_cloth *c, double *gap);

#endif
