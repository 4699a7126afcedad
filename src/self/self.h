/* What the files of the view-based search share.
 *
 * Vertices are those of the mesh and behind them one ghost vertex for each hole; triangles those of
 * the mesh and behind them the ghosts. Two trees: one over the triangles of the mesh, one over the
 * ghosts. A triangle's set is a bit, so that the marks of a node are the sum of those below it.
 */
#ifndef ABUTI_SELF_H
#define ABUTI_SELF_H

#include "base/base.h"
#include "base/simd.h"
#include "geom/sweep.h"
#include "mesh/mesh.h"
#include "self/bounds_shared.h"
#include "self/ghost_shared.h"
#include "self/view_shared.h"
#include "sweep/motion.h"

#include <abut/self.h>

#include <stdatomic.h>

_Static_assert((int)SET_P == 1 << ABUT_SELF_POSITIVE && SET_N == 1 << ABUT_SELF_NEGATIVE &&
                   SET_Z == 1 << ABUT_SELF_GRAZING && SET_V == 1 << ABUT_SELF_VIOLATED,
               "sets are bits");

/* Whether a triangle, or a node with such triangles, has to be looked at with another:
 * (P, N), (all, Z) and (all, V). */
static inline bool abuti_sets_pair(unsigned a, unsigned b) {
    return (((a | b) & (SET_Z | SET_V)) | ((a & SET_P) & (b >> 1)) | ((a >> 1) & (b & SET_P))) != 0;
}

static inline uint32_t abuti_count_bytes(const unsigned char *bytes, uint32_t count,
                                         unsigned wanted) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += bytes[i] == wanted;
    return found;
}

/* ---- tree.c: bounds of swept triangles in a balanced tree ---- */

#define TREE_LEAF 0x80000000u

enum {
    /* Halves of at most 2^31 triangles. */
    TREE_LEVELS = 33,
    /* A pair gives up to two where one side is opened, and one node with itself gives three; each
     * opening goes a level down on one side. */
    TREE_STACK = 4 * TREE_LEVELS + 4
};

typedef struct view_tree {
    uint32_t first, count; /* triangles */
    uint32_t node_count, level_count;
    uint32_t level_begin[TREE_LEVELS + 2]; /* nodes level by level, the root first */
    uint32_t *child;  /* the first of two side by side, or TREE_LEAF + triangle */
    uint32_t *parent; /* of the root: itself */
    uint32_t *leaf;   /* the node of triangle first + i */
    float *bounds;    /* 2 x slabs a node: lows, highs */
} view_tree;

struct abut_self;

abut_status abuti_view_tree_build(struct abut_self *view, uint32_t first, uint32_t count,
                                  view_tree *tree);
void abuti_view_tree_release(abut_context *context, view_tree *tree);
/* Bounds of all vertices for the step that is set and placed. */
void abuti_view_fit_vertices(struct abut_self *view, double separation);
/* Then those of nodes. */
void abuti_view_tree_fit(struct abut_self *view, view_tree *tree);

/* Bounds are floats, rounded in one way everywhere: see tree.c for why none is missed. */
static inline bool bounds_overlap(const float *a, const float *b, int slabs) {
    m4 met = m4_and(f4_less_equal(f4_load(a), f4_load(b + slabs)),
                    f4_less_equal(f4_load(b), f4_load(a + slabs)));
    if (slabs == DOP_SLABS) {
        met = m4_and(met, f4_less_equal(f4_load(a + 4), f4_load(b + slabs + 4)));
        met = m4_and(met, f4_less_equal(f4_load(b + 4), f4_load(a + slabs + 4)));
    }
    return m4_bits(met) == 15;
}

static inline void bounds_join(float *to, const float *a, const float *b, int slabs) {
    for (int k = 0; k < slabs; k += 4) {
        f4 lo = f4_min(f4_load(a + k), f4_load(b + k));
        f4 hi = f4_max(f4_load(a + slabs + k), f4_load(b + slabs + k));
        f4_store(to + k, lo);
        f4_store(to + slabs + k, hi);
    }
}

/* ---- the object ---- */

/* Lists of elements: those of i are items[begin[i]] up to items[begin[i + 1]]. */
typedef struct view_lists {
    uint32_t *begin, *items;
} view_lists;

struct abut_self {
    abut_context *context; /* held */
    abut_mesh *mesh;       /* held */
    abut_topology *topology;
    abut_self_options options;
    uint32_t vertex_count, triangle_count; /* of the mesh */
    uint32_t hole_count, ghost_count, part_count;
    bool usable;          /* two faces an edge at most, and these run opposite ways */
    uint32_t *corners;    /* 3 a triangle, ghosts too */
    view_lists of_vertex; /* triangles of the mesh around a vertex, */
    view_lists of_edge;   /* and along an edge; collapsed ones too */

    view_tree tree, ghosts;
    int slabs;
    float *vertex_bounds; /* 2 x slabs a vertex */
    vec3 centre;          /* of the frame of bounds */
    double scale;
    ghost_place *places; /* of vertices in it; float_positions.c */

    const struct view_backend *backend;
    struct view_device *on_device; /* of device.c alone */

    /* Where vertices are. `next` becomes `end` with success; `start` is `end` or `first`. With a
     * device they are those of its motion, and may not be here: fetch(). */
    vec3 *start, *end, *next;
    bool end_is_free; /* known of `end` */
    bool is_carried;  /* sets and ghosts are those of a step that ended at `end` */
    abut_self_line line;
    uint32_t sampled;    /* vertices for finding it, */
    uint32_t *sample_at; /* these, */
    vec3 *sample;        /* and where they are, at the start and at the end */

    /* AUTO */
    bool prefers_line;
    uint32_t age;           /* steps since both were compared, */
    uint32_t compared;      /* and triangles in doubt then */
    uint32_t rest;          /* steps until the sets are tried again, */
    uint32_t next_rest;     /* and how many it will be the next time */
    uint64_t complete_cost; /* of the last complete search; 0 = there was none */

    uint32_t kept;       /* steps since the violated were looked at anew */
    unsigned char *sets; /* SET_ of each triangle, ghosts too */
    unsigned char *public_sets;
    bool sets_stand;   /* of the last step */
    bool is_public;    /* public_sets are those of the last step */
    bool marks_stand;  /* what the last step has marked is known */
    uint32_t violated; /* of the last step that was marked, */
    uint32_t doubted;  /* and those neither positive nor violated */

    /* Of the CPU alone: cpu.c. */
    abut_sweep *sweep;                 /* for complete searches; made when it is needed */
    vec3 *room;                        /* for three times the vertices */
    vec3 *first;                       /* the third part */
    box3 start_box, end_box, next_box; /* without ghosts */
    bool is_placed, is_fitted;         /* `places` and bounds are those of this step, */
    double fitted_apart;               /* and bounds of things that are so far apart overlap */
    double (*along)[2];                /* of a vertex: where on the line, least and most */
    unsigned char *last_sets;          /* of the mesh in the step before */
    unsigned char *marks;              /* of each node of `tree` */
    atomic_uchar *near_ghost;          /* of each triangle: MEETS, TOUCHES */
    ghost_sides *ghost_sides;          /* of each ghost */
    uint32_t *piece;                   /* of each triangle, while pieces are found */
};

/* What a search is told, checked and with no zeros left. */
typedef struct view_limits {
    sweep_limits sweep;
    bool exact;
} view_limits;

/* ---- prepare.c: lists and holes ---- */

abut_status abuti_view_prepare(abut_self *view);
/* Puts the ghost vertices before the middle of their holes, on the outer side. By the positions of
 * all vertices, or, where these are null, of the rims of all holes. */
void abuti_view_place_ghosts(const abut_self *view, const vec3 *positions, const vec3 *rims,
                             vec3 *ghosts);

/* ---- view_line.c: where to look from ---- */

/* Of so many vertices so many are looked at, and these. */
uint32_t abuti_view_sample_size(uint32_t count);
void abuti_view_sample(uint32_t count, uint32_t *at);
/* Along the longest axis of some vertices at the start, and moving with them; of many a sample is
 * looked at. There is one at least, and coordinates are legal. */
abut_self_line abuti_view_axis(const vec3 *start, const vec3 *end, uint32_t count);

/* ---- float_positions.c ---- */

/* Finds the frame of the step that is set, and the places of vertices in it, ghosts too. `box`: of
 * the mesh over the whole step. */
void abuti_view_place(struct abut_self *view, box3 box);
/* Finds the frame alone. */
void abuti_view_frame(struct abut_self *view, box3 box);

/* ---- sets.c: the view test ---- */

typedef struct view_counts {
    uint32_t sets[4];             /* of the mesh */
    uint32_t regions[5];          /* as in abut_self_result */
    uint32_t ghosts;              /* ghosts that are not positive */
    uint32_t entered[4], left[4]; /* of a device alone: against the last step that was marked */
} view_counts;

/* For a line, or, not `by_line`, for the point in its middle. */
view_sight abuti_view_sight(const abut_self_line *line, bool by_line);
/* Finds the set P, N or Z of every triangle for the step that is set. */
abut_status abuti_view_test(abut_self *view, const view_sight *sight, view_counts *counts);

/* ---- sets_floats.c: the view test in floats ---- */

/* The view primitive in the frame. */
typedef struct view_floats {
    bool usable;
    float start[3], end[3];             /* the point, or where the line begins */
    float along_start[3], along_end[3]; /* L */
    float rest;                         /* of T, for each E' F' */
} view_floats;

view_floats abuti_view_floats(const abut_self *view, const view_sight *sight);
/* Looks at four triangles of the mesh, whose corners stand one after the other: bit k where the
 * test in double finds P for triangle k, bit 4 + k where N; some may have neither. `along`: the two
 * check points of each on the line; null for the point. */
unsigned abuti_view_floats_test(const view_floats *v, const ghost_place *places,
                                const uint32_t corner[12], const float (*along)[4]);

/* ---- boundary.c ---- */

/* Puts those triangles into V that touch ghosts in the step, or may be beyond one. `is_worth`: not
 * where more pairs of triangles and ghosts are near than `most`; `pairs`: how many are. */
abut_status abuti_view_boundary(abut_self *view, const view_limits *limits, size_t most,
                                size_t *pairs, bool *is_worth);
/* Whether the pieces of the step before can be gone on with: what was violated stays so. Now and
 * then, and where steps do not follow each other, they are found anew. */
bool abuti_view_goes_on(abut_self *view);
/* Pairs of triangles and ghosts beyond which it is not worth it. */
size_t abuti_view_pairs_most(const abut_self *view);

/* ---- node_sets.c ---- */

/* Brings the marks of nodes up to date with the sets, which differ from last_sets only where
 * marks stand; counts what changed. */
void abuti_view_mark(abut_self *view, abut_self_result *result);
/* All anew. Exposed to tests. */
void abuti_view_mark_all(const abut_self *view, unsigned char *marks);

/* ---- search.c ---- */

/* What a search finds: the first hit or, where `all` are wanted, a list. */
typedef struct view_hits {
    bool all;
    uint64_t room;    /* that the caller has; once there are more they are only counted */
    motion_hit first; /* of one: with a time of 2 where there is none */
    motion_hit *kept; /* of all, by time, as abut_sweep_find() has them; to be released */
    size_t kept_count, kept_room;
    uint64_t count;
} view_hits;

/* Looks at all pairs of triangles that the sets let through, or at all where `complete`. The bounds
 * are those of the step, grown by separation, for all hits by the tolerance too. `budget`: the cost
 * after which it ends and `is_spent` is set; then the hits mean nothing. */
abut_status abuti_view_search(abut_self *view, bool complete, const view_limits *limits,
                              uint64_t budget, view_hits *hits, bool *is_spent,
                              abut_self_result *result);

/* ---- a step, and where it is made ---- */

/* What a step is looked for with, and what is found. */
typedef struct view_finding {
    abut_self *view;
    view_limits limits;
    view_limits of_ghosts;       /* the same without a separation: they are no cloth */
    double extent;               /* the longest side of the start, or of all where it has none */
    bool start_is_free, follows; /* the start is the end of the step before */
    bool carries;                /* sets and ghosts can be gone on with */
    uint64_t budget;             /* what looking at the sets may cost; UINT64_MAX = anything */
    uint64_t cost;               /* of looking at them so far */
    bool is_spent;
    bool all;                /* impacts are wanted, not the first alone */
    abut_impacts impacts;    /* then the caller's room, and how many there are */
    view_counts counts;      /* of the view test, then of the boundary */
    abut_self_result result; /* with the impact */
} view_finding;

/* The same promise and the same sets on the CPU and on a device. */
typedef struct view_backend {
    /* With all in place but positions, which are those of the mesh. */
    abut_status (*open)(abut_self *view);
    /* Also what is half open. */
    void (*close)(abut_self *view);
    /* Takes the positions of the step, ghosts too: `start`, `next`, `follows` and `extent` are set
     * then. On failure all is as before. */
    abut_status (*take)(view_finding *f, const abut_self_step *step);
    /* Makes `next` the `end`, or goes back to before the step. */
    void (*accept)(abut_self *view);
    void (*undo)(abut_self *view);
    /* Brings `start` and `next` to the host. */
    abut_status (*fetch)(abut_self *view);
    /* abuti_view_axis() of the step. */
    abut_status (*axis)(abut_self *view, abut_self_line *line);
    /* For AUTO: what looking at the sets may cost until a complete search costs less. */
    uint64_t (*budget)(const abut_self *view);
    /* Finds the set P, N or Z of every triangle; `counts` of them. */
    abut_status (*test)(view_finding *f, const view_sight *sight);
    /* Counts for two view primitives; then the sets, and `counts`, of one of them. */
    abut_status (*compare)(view_finding *f, const view_sight sights[2], view_counts counts[2]);
    abut_status (*choose)(view_finding *f, const view_sight sights[2], const view_counts counts[2],
                          int which);
    /* For AUTO, after the view test: whether to go on by sets. */
    bool (*is_worth)(const view_finding *f);
    /* Puts those triangles into V that touch ghosts in the step, or may be beyond one. Not where
     * too many are near. */
    abut_status (*boundary)(view_finding *f, bool *is_worth);
    /* The sets stand: counts them, and what changed since the step before. */
    void (*mark)(view_finding *f);
    /* Looks for the first impact, or for all, by sets, where `is_spent` may become true, or
     * completely. */
    abut_status (*search)(view_finding *f, bool complete);
    /* test(), mark() and search() by sets without a look at the counts in between; null where that
     * saves nothing. */
    abut_status (*search_blindly)(view_finding *f, const view_sight *sight);
    /* Brings the sets of the last step to the host. */
    abut_status (*show)(abut_self *view);
} view_backend;

extern const view_backend abuti_view_cpu, abuti_view_device;

#endif
