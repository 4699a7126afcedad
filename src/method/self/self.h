/* Private types and functions of the view-based self-collision search.
 *
 * Vertices are those of the mesh, followed by one ghost vertex for each hole. Triangles are those
 * of the mesh, followed by the ghosts. A tree over the triangles of the mesh finds those near
 * a ghost. The set of a triangle is a bit, so that a feature has the union of the sets around it.
 */
#ifndef ABUTI_SELF_H
#define ABUTI_SELF_H

#include "base/base.h"
#include "base/simd.h"
#include "geom/sweep.h"
#include "mesh/mesh.h"
#include "self/ghost.h"
#include "self/view_test.h"
#include "sweep/motion.h"

#include <abut/self.h>

#include <stdatomic.h>

_Static_assert((int)SET_P == 1 << ABUT_SELF_POSITIVE && SET_N == 1 << ABUT_SELF_NEGATIVE &&
                   SET_Z == 1 << ABUT_SELF_GRAZING && SET_V == 1 << ABUT_SELF_VIOLATED,
               "sets are bits");

/* The index of the bit of a set: P, N, Z, V. */
static inline uint32_t abuti_set_index(unsigned set) {
    return (set >> 1) - (set >> 3);
}

/* ---- tree.c: bounds of swept triangles in a balanced tree ---- */

#define TREE_LEAF 0x80000000u

enum {
    DOP_SLABS = 8, /* x, y, z, x + y, x + z, y + z, x - y, x - z */
    /* Depth of at most 2^31 triangles, halved. */
    TREE_LEVELS = 33,
    /* A node is replaced by two, a level lower. */
    TREE_STACK = TREE_LEVELS + 1
};

/* AUTO: with as many triangles in V0 and Vv, or in other components, sets save nothing; and with as
 * many outside the larger one of V+ and V-, the traversal is not shorter: see search.c. */
enum { DOUBT_SHARE = 8 };

/* Over the triangles of the mesh. */
typedef struct view_tree {
    uint32_t node_count, level_count;
    uint32_t level_begin[TREE_LEVELS + 2]; /* first node of each level, the root first */
    uint32_t *child; /* the first of two consecutive children, or TREE_LEAF + triangle */
    float *bounds;   /* 2 x DOP_SLABS per node: lows, highs */
} view_tree;

struct abut_self;

abut_status abuti_view_tree_build(struct abut_self *view);
void abuti_view_tree_release(struct abut_self *view);
/* Computes the frame of the current step, float positions and bounds of all vertices in it, ghosts
 * included, and the bounds of nodes. */
void abuti_view_tree_fit(struct abut_self *view);
/* Then writes those of a triangle, which may be a ghost. */
void abuti_view_triangle_bounds(const struct abut_self *view, uint32_t triangle, float *bounds);

/* Bounds are floats, rounded in the same way everywhere: see tree.c for the proof that no overlap
 * is missed. */
static inline bool bounds_overlap(const float *a, const float *b) {
    m4 met = m4_and(f4_less_equal(f4_load(a), f4_load(b + DOP_SLABS)),
                    f4_less_equal(f4_load(b), f4_load(a + DOP_SLABS)));
    met = m4_and(met, f4_less_equal(f4_load(a + 4), f4_load(b + DOP_SLABS + 4)));
    met = m4_and(met, f4_less_equal(f4_load(b + 4), f4_load(a + DOP_SLABS + 4)));
    return m4_bits(met) == 15;
}

static inline void bounds_join(float *to, const float *a, const float *b) {
    for (int k = 0; k < DOP_SLABS; k += 4) {
        f4 lo = f4_min(f4_load(a + k), f4_load(b + k));
        f4 hi = f4_max(f4_load(a + DOP_SLABS + k), f4_load(b + DOP_SLABS + k));
        f4_store(to + k, lo);
        f4_store(to + DOP_SLABS + k, hi);
    }
}

/* ---- the object ---- */

/* Lists of elements: those of i are items[begin[i]] up to items[begin[i + 1]]. */
typedef struct view_lists {
    uint32_t *begin, *items;
} view_lists;

struct abut_self {
    abut_context *context; /* retained */
    abut_mesh *mesh;       /* retained */
    abut_topology *topology;
    abut_self_options options;
    uint32_t vertex_count, triangle_count; /* of the mesh */
    uint32_t hole_count, ghost_count, part_count;
    uint32_t edge_count;
    bool usable;       /* at most two faces per edge, with opposite directions */
    bool has_sets;     /* otherwise every search is complete, and nothing is allocated for sets */
    uint32_t *corners; /* three per triangle, ghosts included */
    view_lists of_vertex; /* triangles of the mesh around a vertex, */
    view_lists of_edge;   /* and along an edge; degenerate ones included */

    view_tree tree;
    float *vertex_bounds; /* 2 x DOP_SLABS per vertex */
    vec3 centre;          /* of the frame of bounds */
    double scale;
    ghost_position *places; /* positions of vertices in that frame; tree.c */

    /* The search, on the CPU or on a device. Its positions of the mesh are followed by those of the
     * ghost vertices, which no face of it uses. */
    abut_sweep *motion;
    vec3 *start, *end; /* positions of the step: those of `motion` */
    bool end_is_free;  /* `end` has no self-intersection */
    bool is_carried;   /* sets and ghosts are those of a step that ended at `end` */
    abut_self_line line;

    /* State of AUTO. */
    bool prefers_line;
    uint32_t age;           /* steps since point and line were compared, */
    uint32_t compared;      /* and triangles in doubt then */
    uint32_t retry_in;      /* steps until the sets are tried again, */
    uint32_t retry_delay;   /* and the next such delay */
    uint64_t complete_cost; /* of the last complete search of a whole step; 0 = there was none */
    uint32_t cost_age;      /* steps by sets since then */

    uint32_t kept;            /* steps since the violated triangles were determined anew */
    unsigned char *sets;      /* SET_ bit of each triangle, ghosts included */
    unsigned char *last_sets; /* abut_self_set of each triangle in the last step with sets */
    bool sets_valid;          /* they are those of the last step */
    bool has_last;            /* there was one */
    uint32_t violated;        /* triangles violated in that step, */
    uint32_t doubted;         /* and those neither positive nor violated */

    double (*along)[2];          /* range of positions on the view-line that see a vertex */
    unsigned char *feature_sets; /* of vertices, edges and faces: search.c */

    /* boundary.c */
    atomic_uchar *near_ghost; /* of each triangle: INTERSECTS_GHOST, TOUCHES_GHOST */
    ghost_sides *ghost_sides; /* of each ghost */
    uint32_t *piece;          /* of each triangle, while pieces are computed */
};

/* Validated options of a search, with defaults applied. */
typedef struct view_limits {
    sweep_limits sweep;
    bool exact;
} view_limits;

/* ---- prepare.c: lists and holes ---- */

abut_status abuti_view_prepare(abut_self *view);
/* Computes the positions of the ghost vertices, which follow those of the mesh. */
void abuti_view_place_ghosts(const abut_self *view, vec3 *positions);

/* ---- view_line.c: the view primitive ---- */

/* The view-line along the longest axis of some vertices at the start, moving with them; large sets
 * are sampled. count is at least 1, and coordinates are in range. */
abut_self_line abuti_view_axis(const vec3 *start, const vec3 *end, uint32_t count);

/* ---- sets.c: the view test ---- */

typedef struct view_counts {
    uint32_t sets[4];    /* of the mesh */
    uint32_t regions[5]; /* as in abut_self_result */
    uint32_t ghosts;     /* ghosts that are not positive */
} view_counts;

/* For a line or, without `by_line`, for the point at its centre. */
view_primitive abuti_view_primitive(const abut_self_line *line, bool by_line);
/* Computes the set P, N or Z of every triangle for the current step. */
abut_status abuti_view_test(abut_self *view, const view_primitive *primitive, view_counts *counts);
/* Counts the final sets of the step, and the changes since the last step with sets. */
void abuti_view_count_sets(abut_self *view, abut_self_result *result);

/* ---- boundary.c ---- */

/* Allocates what the following functions need. */
abut_status abuti_view_boundary_open(abut_self *view);
/* Also releases a partially opened state. */
void abuti_view_boundary_close(abut_self *view);
/* Computes the bounds of all vertices and of the tree for the current step. */
void abuti_view_fit(abut_self *view);
/* Puts triangles into V that touch ghosts in the step, or may be beyond one. Sets *count to the
 * number of pairs of triangles and ghosts that are near. Sets *is_cheaper to false, without a
 * result, if there are more than `most`. */
abut_status abuti_view_boundary(abut_self *view, const view_limits *limits, size_t most,
                                size_t *count, bool *is_cheaper);
/* The number of pairs of triangles and ghosts above which the search by sets is not cheaper. */
size_t abuti_view_pairs_max(const abut_self *view);

/* ---- search.c ---- */

/* Input, state and result of a step. */
typedef struct view_step {
    abut_self *view;
    view_limits limits;
    view_limits of_ghosts;       /* the same without a separation */
    bool start_is_free, follows; /* follows: the start is the end of the previous step */
    bool carries;                /* sets and ghosts remain valid for the next step */
    bool is_spent;               /* AUTO: the sets were not cheaper, */
    bool is_costly;              /* which was only known after the boundary or the search */
    size_t ghost_pairs;          /* pairs of triangles and ghosts that were near */
    bool all;                    /* all impacts are requested, not only the first, */
    bool completes;              /* and if there is any, by a complete search */
    abut_impact_list impacts;    /* then the caller's list and the count */
    view_counts counts;          /* of the view test */
    abut_self_result result;     /* with the impact */
} view_step;

/* Creates the motion, and what the search needs. */
abut_status abuti_view_search_open(abut_self *view);
/* Also releases a partially opened state. */
void abuti_view_search_close(abut_self *view);
/* Searches for the first impact or for all, either by sets or completely; by sets for any, if that
 * is to be completed. */
abut_status abuti_view_search(view_step *f, bool complete);
/* Costs for AUTO, in the same unit. Of a complete search: the last one, or an assumed one. */
uint64_t abuti_view_complete_cost(const abut_self *view);
/* Of a search by sets, if `smaller` triangles are outside the larger one of V+ and V-, with counts
 * of pairs of triangles and ghosts, and of candidates. */
uint64_t abuti_view_sets_cost(const abut_self *view, uint32_t smaller, uint64_t ghost_pairs,
                              uint64_t candidates);
/* The number of pairs of triangles and ghosts above which these sets are not cheaper. */
size_t abuti_view_affordable_pairs(const abut_self *view, uint32_t smaller);

#endif
