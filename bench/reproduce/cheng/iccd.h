/* Parts of ICCD: iccd.c, used by search.c. */
#ifndef CHENG_ICCD_H
#define CHENG_ICCD_H

#include "baseline.h"

/* Contains the normals of all triangles below a node at all times of the step. */
typedef struct iccd_cone {
    float axis[3], half; /* half angle; ICCD_OPEN if they are not within a half space */
} iccd_cone;

#define ICCD_OPEN 4.0f

/* A pair of features without a common vertex of which all triangles are adjacent. */
typedef struct iccd_orphan {
    abut_impact_kind kind;
    uint32_t element[2];
} iccd_orphan;

/* An edge of a boundary, in the plane of the contour test. */
typedef struct iccd_edge {
    double low[2], high[2]; /* at both ends of the step */
    uint32_t from;          /* its first vertex, in the order of the boundary */
} iccd_edge;

typedef struct iccd {
    iccd_cone *cones; /* of each node */
    /* the boundary of each node's triangles, if it is one loop: vertices in their order */
    uint32_t *contour_begin, *contours;
    iccd_orphan *orphans;
    uint32_t orphan_count;
    double (*points)[4]; /* of a contour test: two coordinates at the start and at the end */
    iccd_edge *edges;
} iccd;

void iccd_create(iccd *c, const baseline_tree *tree, const abut_topology_arrays *t);
void iccd_release(iccd *c);
void iccd_fit_cones(iccd *c, const baseline_tree *tree, const baseline_step *step);
/* Whether the triangles below a node cannot touch each other during the step, unless they share a
 * vertex. `tests` counts contour tests. */
bool iccd_is_free(const iccd *c, uint32_t node, const baseline_step *step, uint32_t *tests);
bool iccd_are_adjacent(const uint32_t *corners, uint32_t a, uint32_t b);

#endif
