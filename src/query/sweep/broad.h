/* Broad phase of continuous collision detection: pairs of features whose swept bounding boxes
 * overlap.
 *
 * Vertices are sorted along a Morton curve (Morton 1966); edges and faces are sorted by their
 * lowest vertex. Each of the three lists has an implicit tree with 16 children per node: box k of a
 * level bounds group k of 16 boxes of the level below. Groups are structures of arrays of floats,
 * so that SIMD operations test all boxes of a group at once. The traversal for one group of
 * features visits the groups that it overlaps in ascending order. A traversal can therefore be
 * resumed from one index, and candidates are generated in portions of bounded size. The order is
 * kept from step to step and only boxes are refitted; every SORT_INTERVAL steps features are sorted
 * again.
 *
 * Comparisons of floats give the results of doubles. Coordinates are converted by monotonic
 * operations (one subtraction, one multiplication, one rounding, one clamp). So boxes that overlap
 * in doubles also overlap in floats, and a strict inequality of floats implies the same inequality
 * of doubles. Only equal floats need a comparison of doubles.
 */
#ifndef ABUTI_SWEEP_BROAD_H
#define ABUTI_SWEEP_BROAD_H

#include "base/base.h"
#include "base/math_shared.h"
#include "sweep/device_shared.h"

struct abut_sweep;

enum {
    SWEEP_GROUP = 16,
    SWEEP_LEVELS = 9,    /* allows 16^8 features */
    SWEEP_PORTION = 2048 /* candidates per portion */
};

/* Unused slots have lo = infinity and hi = -infinity. */
typedef struct sweep_group {
    float lo[3][SWEEP_GROUP], hi[3][SWEEP_GROUP];
} sweep_group;

/* Sets of the features of a group: bit k is set if feature k, or group k of the level below, has
 * the first set, the second, or any other. Pairs are candidates if one has the first set and the
 * other the second, or if one has another set. */
typedef struct sweep_group_sets {
    uint16_t has[3];
} sweep_group_sets;

/* The boxes of one kind of features. Level 0 has the boxes of the features. */
typedef struct sweep_tree {
    uint32_t count;   /* features */
    uint32_t corners; /* vertices per feature: 1, 2 or 3 */
    uint32_t *which;  /* by slot: index of the feature */
    uint32_t *corner; /* by slot: slots of its vertices; null for vertices */
    uint32_t top;     /* the level that is a single group */
    sweep_group *groups[SWEEP_LEVELS];
    sweep_group_sets *sets[SWEEP_LEVELS]; /* null = all pairs are candidates */
    uint32_t *owner[SWEEP_LEVELS];        /* of each group of the level; null without skip_self */
    uint32_t group_count[SWEEP_LEVELS];
} sweep_tree;

typedef struct sweep_broad {
    uint32_t age;      /* searches since features were sorted; 0 = not sorted yet */
    uint32_t *place;   /* slot of each vertex; ABUT_NONE if no face has it */
    uint32_t *owner;   /* by slot of a vertex; null if all pairs of meshes are searched */
    vec3 *start, *end; /* by slot */
    float *boxes;      /* 8 per vertex, by slot: lower corner, 0, negated upper corner, 0 */
    sweep_tree vertices, edges, faces;
    sweep_group *memory; /* groups of all trees */
    sweep_group_sets *set_memory;
    uint32_t *owner_memory;
    const unsigned char *sets; /* null = all pairs */
} sweep_broad;

/* Allocates everything for the vertices, edges and faces of a motion. */
abut_status abuti_broad_create(struct abut_sweep *motion);
void abuti_broad_destroy(struct abut_sweep *motion);

/* abuti_motion_set_sets() */
abut_status abuti_broad_set_sets(struct abut_sweep *motion, const unsigned char *sets);

/* Refits all boxes to the part [0, to] of the step, with a margin that is enlarged by the
 * rounding error. Sorts features again if necessary. Fails only if memory is exhausted. */
abut_status abuti_broad_fit(struct abut_sweep *motion, double to, double margin);

/* The lists whose pairs are searched: vertices and faces, or edges and edges. */
typedef struct sweep_sides {
    const sweep_tree *first, *second; /* equal lists: each pair within it once */
    const sweep_broad *broad;
    double margin;           /* as passed to abuti_broad_fit() */
    bool closed;             /* equal floats count as overlap without comparing doubles */
    bool no_self, no_others; /* skip pairs within a mesh; skip pairs of two meshes */
} sweep_sides;

/* The remaining groups of the first list, and the position of the traversal for the next one. */
typedef struct sweep_cursor {
    uint32_t group, end;
    uint32_t next; /* group of the second list */
} sweep_cursor;

typedef struct sweep_candidates {
    uint32_t count;
    uint32_t pairs[2 * SWEEP_PORTION];   /* slots */
    uint32_t corners[4 * SWEEP_PORTION]; /* slots of vertices */
} sweep_candidates;

/* Adds candidates until a further pair of groups might not fit, or all groups are done. The order
 * of pairs does not depend on the number of lanes. See collect_lanes.c. */
typedef void abuti_collect(const sweep_sides *sides, sweep_cursor *cursor,
                           sweep_candidates *candidates);
abuti_collect abuti_collect_4, abuti_collect_8, abuti_collect_16;

/* The margin of each of two boxes for a separation. */
static inline double abuti_broad_margin(double separation) {
    return separation - 0.5 * separation; /* does not underflow to 0 */
}

/* Whether the boxes of two features overlap, in doubles. */
bool abuti_broad_overlap(const sweep_sides *sides, uint32_t first, uint32_t second);
#endif
