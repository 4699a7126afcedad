/* The pairs of features whose swept boxes overlap.
 *
 * Vertices are sorted along a curve that fills space (Morton 1966); edges and faces stand in the
 * order of their lowest corner. Over each of the three lists is a tree of sixteen children a node
 * that needs no pointers: box k of a level holds the group of sixteen boxes k of the level below.
 * Groups are structures of arrays of floats, so that one SIMD operation looks at all of them. A
 * group of features asks the tree for the groups that it overlaps, in ascending order, so that all
 * there is to know about a walk that is interrupted is where it stopped: candidates are made in
 * portions of bounded size. From step to step the order is kept and only boxes are made anew, until
 * the groups have spread too far.
 *
 * Floats decide what doubles would. A coordinate becomes a float by steps that never turn the order
 * of two around (one subtraction, one multiplication, one rounding, one clamp), so that boxes that
 * overlap in doubles overlap in floats too, and where floats compare as strictly less the doubles
 * do too. Only where two floats are equal are the doubles looked at.
 */
#ifndef ABUTI_SWEEP_BROAD_H
#define ABUTI_SWEEP_BROAD_H

#include "base/base.h"
#include "base/math_shared.h"

struct abut_sweep;

enum {
    SWEEP_GROUP = 16,
    SWEEP_LEVELS = 9,    /* 16^8 features */
    SWEEP_PORTION = 2048 /* candidates at a time */
};

/* Of an empty place: lo = infinity, hi = -infinity. */
typedef struct sweep_group {
    float lo[3][SWEEP_GROUP], hi[3][SWEEP_GROUP];
} sweep_group;

/* The boxes of one kind of features. Level 0 has those of the features themselves. */
typedef struct sweep_tree {
    uint32_t count;   /* features */
    uint32_t corners; /* of each: 1, 2 or 3 */
    uint32_t *which;  /* by place: which feature it is */
    uint32_t *corner; /* by place: its vertices, by their places; null for vertices */
    uint32_t top;     /* the level that is one group */
    sweep_group *groups[SWEEP_LEVELS];
    uint32_t group_count[SWEEP_LEVELS];
} sweep_tree;

typedef struct sweep_broad {
    bool ordered;
    double spread;     /* how far groups reached for the size of features when ordered */
    uint32_t *place;   /* of each vertex; ABUT_NONE where no face has it */
    uint32_t *mesh;    /* of a vertex, by place; null where all pairs of meshes are wanted */
    vec3 *start, *end; /* by place */
    float *boxes;      /* 8 a vertex, by place: low corner, 0, minus the high corner, 0 */
    sweep_tree vertices, edges, faces;
    sweep_group *memory; /* of all trees */
} sweep_broad;

/* Makes room, for a motion with vertices, edges and faces. */
abut_status abuti_broad_create(struct abut_sweep *motion);
void abuti_broad_destroy(struct abut_sweep *motion);

/* Fits everything to a part of the step, from 0 to 1 for the whole, with boxes grown by `margin`,
 * and more where that must be rounded. Fails for memory only. */
abut_status abuti_broad_fit(struct abut_sweep *motion, double from, double to, double margin);

/* Which pairs are asked for: of vertices and faces, or of edges. */
typedef struct sweep_sides {
    const sweep_tree *first, *second; /* the same twice: pairs within it, each once */
    const sweep_broad *broad;
    double margin; /* as it was fitted with */
    bool closed;   /* floats that are equal count as overlap: doubles need not be looked at */
    bool no_self, no_others; /* pairs within a mesh, of two meshes */
} sweep_sides;

/* Groups of the first side that are left, and how far the next one has come. */
typedef struct sweep_cursor {
    uint32_t group, end;
    uint32_t next; /* group of the second side */
} sweep_cursor;

typedef struct sweep_candidates {
    uint32_t count;
    uint32_t pairs[2 * SWEEP_PORTION];   /* places */
    uint32_t corners[4 * SWEEP_PORTION]; /* of vertices */
} sweep_candidates;

/* Goes on until there is no room for the pairs of two groups, or to the end. Which order pairs have
 * does not depend on the lanes; see collect_lanes.c. */
typedef void abuti_collect(const sweep_sides *sides, sweep_cursor *cursor,
                           sweep_candidates *candidates);
abuti_collect abuti_collect_4, abuti_collect_8, abuti_collect_16;

/* What the box of each of two features is grown by. */
static inline double abuti_broad_margin(double separation) {
    return separation - 0.5 * separation; /* not 0 by underflow */
}

/* Whether the boxes of two features overlap, in doubles. */
bool abuti_broad_overlap(const sweep_sides *sides, uint32_t first, uint32_t second);
/* The same for the four vertices of a pair as sweep_pair() has them, of which the first feature has
 * `first_count`: what makes a pair of features a candidate of abut_sweep_find(). */
bool abuti_broad_is_candidate(int first_count, const vec3 start[4], const vec3 end[4],
                              double separation);

#endif
