/* What Cheng 2011 compares with or discards, as published: complete searches over a BVH, ICCD, view
 * tests with clusters, ghosts without a vertex, and lists of history nodes. For benchmarks only:
 * one thread, doubles without bounds on rounding errors, and an abort if memory is exhausted. */
#ifndef CHENG_BASELINE_H
#define CHENG_BASELINE_H

#include <abut/abut.h>

#include <stdlib.h>
#include <time.h>

/* Seconds of processor time, which other processes on the machine change little. */
static inline double processor_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static inline void *baseline_array(size_t count, size_t bytes) {
    void *made = calloc(count ? count : 1, bytes);
    if (!made)
        abort();
    return made;
}

/* A motion of all vertices during a step. */
typedef struct baseline_step {
    const abut_vec3 *start, *end;
    uint32_t count;
} baseline_step;

/* ---- tree.c: a binary tree of swept triangles (section 4.1.1) ---- */

#define BASELINE_LEAF 0x80000000u

enum { BASELINE_LEVELS = 34, BASELINE_SLABS = 8 };

/* Triangles are halved along the longest axis of their centres. Siblings are consecutive, nodes in
 * the order of their levels. */
typedef struct baseline_tree {
    uint32_t slabs; /* 3: bounding boxes; 8: 16-DOPs */
    uint32_t node_count, level_count, level_begin[BASELINE_LEVELS + 1];
    uint32_t *child;    /* the first of two, or BASELINE_LEAF | triangle */
    float *bounds;      /* lows, then highs of each node */
    float *of_vertices; /* of each vertex during the step */
    const uint32_t *corners;
} baseline_tree;

typedef struct baseline_pairs {
    uint32_t (*list)[2];
    size_t count, capacity;
} baseline_pairs;

void baseline_tree_build(baseline_tree *tree, uint32_t slabs, const uint32_t *corners,
                         uint32_t triangle_count, const abut_vec3 *positions,
                         uint32_t vertex_count);
void baseline_tree_release(baseline_tree *tree);
/* Computes all bounds from the leaves upwards. */
void baseline_tree_refit(baseline_tree *tree, const baseline_step *step);
bool baseline_overlap(const float *a, const float *b, uint32_t slabs);
/* Adds the pairs of triangles below two nodes of two trees, or of one, whose bounds overlap. */
void baseline_tree_cross(const baseline_tree *a, uint32_t node_a, const baseline_tree *b,
                         uint32_t node_b, baseline_pairs *pairs);
void baseline_pairs_add(baseline_pairs *pairs, uint32_t a, uint32_t b);
/* Marks every node that has a triangle of a set: all of them (table 6.16). */
void baseline_tree_mark(const baseline_tree *tree, unsigned char *marks);

/* ---- elementary.c ---- */

/* The time at which a vertex touches a face, or an edge an edge: the first root of a cubic at which
 * they overlap, by interval Newton (section 5.6); 2 if there is none. `four` has the vertex before
 * the face, or an edge before the other. */
double baseline_elementary(abut_impact_kind kind, const baseline_step *step,
                           const uint32_t four[4]);
/* Whether the swept boxes of both features overlap, by a tree that was fitted to the step. */
bool baseline_features_near(abut_impact_kind kind, const baseline_tree *tree,
                            const uint32_t four[4]);

/* ---- search.c: the first impact of a mesh with itself (table 6.4) ---- */

typedef enum baseline_kind {
    BASELINE_BOXES = 0, /* all pairs, by bounding boxes */
    BASELINE_DOPS,      /* all pairs, by 16-DOPs */
    BASELINE_ICCD,      /* 16-DOPs and connectivity-based culling: iccd.c */
    BASELINE_KINDS
} baseline_kind;

typedef struct baseline_result {
    bool hit;
    double time;
    double bounds, traversal, elementary; /* seconds of processor time */
    uint64_t pairs, tests;                /* of triangles; of features whose boxes overlap */
    uint32_t culled;                      /* ICCD: triangles in regions without self-collisions, */
    uint32_t contours;                    /* and contour tests */
} baseline_result;

typedef struct baseline_search baseline_search;

abut_status baseline_search_create(abut_mesh *mesh, baseline_kind kind, baseline_search **made);
void baseline_search_destroy(baseline_search *s);
baseline_result baseline_search_find(baseline_search *s, const baseline_step *step);
/* ICCD: the number of pairs of features without a common vertex of which all triangles are
 * adjacent. */
uint32_t baseline_search_orphans(const baseline_search *s);

/* ---- published.c: parts of the thesis that abut does not have ---- */

/* Clusters of triangles around a vertex, the largest first (section 4.2.3). `centre` receives the
 * vertex of each triangle. Returns their number. */
uint32_t baseline_clusters(const abut_topology_arrays *topology, uint32_t *centre);
/* View tests by theorem 4: of a vertex of each triangle, the first or `centre`. Regions of the line
 * are determined for each vertex, or with `centre` for each cluster. Counts triangles in V+, V- and
 * V0. */
void baseline_view_test(const abut_self_line *line, const baseline_step *step,
                        const uint32_t *corners, uint32_t triangle_count, const uint32_t *centre,
                        unsigned char *regions, uint32_t sets[3]);

/* Ghosts of all boundary loops: fans around a vertex in the middle, or around the first vertex of
 * the loop (section 4.1.4). */
typedef struct baseline_ghosts {
    uint32_t *corners, count;
    uint32_t vertex_count, centre_count; /* of the mesh, and of the ghosts after them */
    abut_topology_arrays loops;
    baseline_tree tree;
} baseline_ghosts;

void baseline_ghosts_create(baseline_ghosts *ghosts, const abut_topology_arrays *topology,
                            const abut_vec3 *positions, bool with_vertex);
void baseline_ghosts_release(baseline_ghosts *ghosts);
/* The number of triangles of the mesh, whose tree is fitted, that touch a ghost (section 4.3). */
uint32_t baseline_ghosts_touched(baseline_ghosts *ghosts, const baseline_tree *mesh,
                                 const baseline_step *step);

/* Lists of the nodes at which the traversal of each triangle ended (section 5.5). */
typedef enum baseline_policy {
    BASELINE_WITHOUT = 0, /* always from the root */
    BASELINE_ROOT,        /* with lists, which restart from the root */
    BASELINE_INITIAL,     /* which restart from those of the first frame */
    BASELINE_POLICIES
} baseline_policy;

typedef struct baseline_history baseline_history;

/* Traverses the fitted tree for each triangle. Returns the number of initial nodes. */
baseline_history *baseline_history_create(const baseline_tree *tree, baseline_policy policy,
                                          uint32_t triangle_count, uint64_t *initial);
void baseline_history_destroy(baseline_history *h);
/* Finds the pairs of `list` and all triangles whose bounds overlap; counts overlap tests. */
uint64_t baseline_history_find(baseline_history *h, const baseline_tree *tree, const uint32_t *list,
                               uint32_t count, uint64_t *tests);

#endif
