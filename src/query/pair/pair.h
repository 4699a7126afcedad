/* Types and functions that the files of pair queries share: two BVHs in a common frame, boxes and
 * corners of one side in the axes of the other, and the validation of arguments.
 *
 * Each side keeps the axes of its own BVH, so its boxes stay unchanged. Lengths of both are scaled
 * to a common unit: a power of two of the world unit in which the larger mesh has coordinates up to
 * 2 and the smaller one no larger. Points of the other side are rotated and shifted in floats: x =
 * rotation y + shift.
 *
 * Padding. Let u = 2^-24 be the rounding error of a float, and T a bound of the coordinates of the
 * shift. Coordinates of boxes and corners are at most 2 in their own axes, hence 2 sqrt(3) in the
 * axes of the other side.
 *   - Centre and half size of a box: 2u each, absolute, including the rounding by the unit if a
 *     float underflows.
 *   - The rotated centre: entries of the rotation have an error of u; three products and three
 *     sums: less than 8u (4 + T). The rotated half sizes: 8u x 4. The difference of two centres
 *     adds u (8 + T).
 *   - That difference along the axes of the other side: three products and sums of at most 1.8 (8 +
 *     T): 8u (8 + T), and 1.8 times the error before: 17u (8 + T).
 *
 * So 32u (8 + T) exceeds the error of any sum of them. The padding also includes the difference
 * between the rounded vertices of posed meshes, in doubles, and exact motions of the BVHs: at most
 * 2^8 roundings of the largest coordinate, by the count in crossing.c for each side and for the
 * rotation and shift from one side to the other. If that is not small, abuti_pair_frame_init()
 * returns false and the caller uses transformed copies of the meshes.
 */
#ifndef ABUTI_PAIR_H
#define ABUTI_PAIR_H

#include "base/simd.h"
#include "bvh/bvh.h"
#include "pair/pair_shared.h"

#include <abut/pair.h>

#include <math.h>
#include <stdatomic.h>

/* A BVH at a pose. */
typedef struct abuti_posed {
    const abut_bvh *bvh;
    abut_pose pose;
} abuti_posed;

enum {
    /* A traversal descends in one of two BVHs at each step, so it is at most twice as deep as in
     * one BVH, and leaves three pairs per step on the stack. */
    PAIR_STACK = 6 * BVH_DEPTH + 4,
    PAIR_STEPS_PER_STOP_CHECK = 128, /* steps of a traversal between two calls of abuti_stop() */
};

/* A place identifies a child of a node: BVH_WIDTH x node + slot. The root is no child; this is its
 * place. */
#define PAIR_ROOT ABUT_NONE

/* 32 u; see above. */
#define PAIR_FLOAT_ERROR 0x1p-19f
/* A tie: pairs whose distances differ by at most this many times the error of coordinates. */
#define PAIR_TIE_ERRORS 16.0
/* Beyond this distance, in common units, floats do not distinguish neighbouring triangles. */
#define PAIR_FAR_DISTANCE 64.0

typedef struct pair_side {
    const abut_bvh *bvh;
    abuti_motion motion;
    float unit; /* common units per unit of the BVH frame */
    float rotation[3][4],
        rotation_abs[3][4]; /* columns: the axes of the other side, padded with 0 */
    float shift[4];
} pair_side;

typedef struct pair_frame {
    pair_side side[2];
    double scale; /* common units per world unit */
    float pad;
    double reach; /* the largest coordinate of the shift: the approximate distance of the meshes */
    double position_error; /* bound of the difference of posed vertices from exact motions, in world
                              units */
    double tie;            /* distances that differ by no more are a tie; see pair_tie_reach() */
} pair_frame;

/* Initialises the common frame of two sides. Returns false if the poses are so far away that only
 * transformed copies of the meshes are accurate enough. */
bool abuti_pair_frame_init(const abuti_posed *a, const abuti_posed *b, pair_frame *frame);

/* The corners of a posed triangle, with the same bits as abut_mesh_transform(). */
static inline abut_triangle pair_triangle(const pair_side *side, uint32_t triangle) {
    abut_triangle t = bvh_triangle(side->bvh->mesh, triangle);
    for (int k = 0; k < 3; k++)
        t.corner[k] = abuti_motion_apply(&side->motion, t.corner[k]);
    return t;
}

/* Converts a direction from the world to the axes of a side. */
static inline vec3 pair_to_side(const pair_side *side, vec3 n) {
    if (!side->motion.rotates)
        return n;
    mat3 back = m3_transpose(&side->motion.rotation);
    return m3_apply(&back, n);
}

/* The origin of the mesh of a side in the world. */
static inline vec3 pair_origin(const pair_side *side) {
    return abuti_motion_apply(&side->motion, side->bvh->mesh->origin);
}

/* The largest coordinate of a triangle along a direction of its side, from the local origin of the
 * mesh. */
static inline double pair_triangle_reach(const abut_mesh *mesh, uint32_t triangle, vec3 n) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    double reach = -INFINITY;
    for (int k = 0; k < 3; k++)
        reach = real_max(reach, v3_dot(n, mesh->positions[corner[k]]));
    return reach;
}

/* ---- boxes ---- */

/* The centre of the box at a place, in doubles, in the frame of the BVH. */
static inline vec3 pair_box_centre(const abut_bvh *bvh, uint32_t place) {
    const bvh_node *node = &bvh->nodes[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    return v3(0.5 * ((double)node->lo[0][slot] + node->hi[0][slot]),
              0.5 * ((double)node->lo[1][slot] + node->hi[1][slot]),
              0.5 * ((double)node->lo[2][slot] + node->hi[2][slot]));
}

/* The half extent of the box at a place along a direction. */
static inline double pair_box_reach(const abut_bvh *bvh, uint32_t place, vec3 n) {
    const bvh_node *node = &bvh->nodes[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    const double along[3] = {fabs(n.x), fabs(n.y), fabs(n.z)};
    double sum = 0;
    for (int axis = 0; axis < 3; axis++)
        sum += along[axis] * ((double)node->hi[axis][slot] - node->lo[axis][slot]);
    return 0.5 * sum;
}

/* A box as centre and half size along its own axes. */
typedef struct pair_box {
    float centre[3], half[3];
    float size; /* the sum of half sizes */
} pair_box;

/* The child at a place: a node, or BVH_LEAF + a leaf. */
static inline uint32_t pair_child(const pair_side *side, uint32_t place) {
    return place == PAIR_ROOT ? 0 : side->bvh->nodes[place / BVH_WIDTH].child[place % BVH_WIDTH];
}

static inline pair_box pair_box_at(const pair_side *side, uint32_t place) {
    const bvh_node *nodes = side->bvh->nodes;
    pair_box box;
    float half_unit = 0.5f * side->unit;
    box.size = 0;
    for (int axis = 0; axis < 3; axis++) {
        float lo, hi;
        if (place == PAIR_ROOT) {
            lo = nodes[0].lo[axis][0];
            hi = nodes[0].hi[axis][0];
            for (int i = 1; i < BVH_WIDTH; i++) {
                lo = nodes[0].lo[axis][i] < lo ? nodes[0].lo[axis][i] : lo;
                hi = nodes[0].hi[axis][i] > hi ? nodes[0].hi[axis][i] : hi;
            }
        } else {
            lo = nodes[place / BVH_WIDTH].lo[axis][place % BVH_WIDTH];
            hi = nodes[place / BVH_WIDTH].hi[axis][place % BVH_WIDTH];
        }
        box.centre[axis] = (lo + hi) * half_unit;
        box.half[axis] = (hi - lo) * half_unit;
        box.size += box.half[axis];
    }
    return box;
}

/* A box of the other side in the axes of this side. */
typedef struct pair_view {
    float centre[4], radius[4]; /* along the axes of this side; the radius includes the padding */
    float half[3];              /* along its own axes, with padding */
} pair_view;

static inline pair_view pair_view_of(const pair_side *side, const pair_box *box, float pad) {
    pair_view view;
    f4 centre = f4_load(side->shift), radius = f4_all(pad);
    for (int j = 0; j < 3; j++) {
        centre = f4_add(centre, f4_mul(f4_load(side->rotation[j]), f4_all(box->centre[j])));
        radius = f4_add(radius, f4_mul(f4_load(side->rotation_abs[j]), f4_all(box->half[j])));
        view.half[j] = box->half[j] + pad;
    }
    f4_store(view.centre, centre);
    f4_store(view.radius, radius);
    return view;
}

/* The gaps along six axes between a view and the four boxes of a node: the distances of their
 * projections on an axis, negative if they overlap, NaN in empty slots. */
typedef struct pair_gaps {
    f4 own[3], other[3];
    f4 along[3]; /* the difference of the centres along the axes of the other side */
} pair_gaps;

static inline void pair_gaps_own(const pair_side *side, const pair_view *view, const bvh_node *node,
                                 pair_gaps *gaps, f4 offset[3], f4 half[3]) {
    f4 half_unit = f4_all(0.5f * side->unit);
    for (int i = 0; i < 3; i++) {
        f4 lo = f4_load(node->lo[i]), hi = f4_load(node->hi[i]);
        offset[i] = f4_sub(f4_mul(f4_add(lo, hi), half_unit), f4_all(view->centre[i]));
        half[i] = f4_mul(f4_sub(hi, lo), half_unit);
        gaps->own[i] = f4_sub(f4_abs(offset[i]), f4_add(half[i], f4_all(view->radius[i])));
    }
}

static inline void pair_gaps_other(const pair_side *side, const pair_view *view, pair_gaps *gaps,
                                   const f4 offset[3], const f4 half[3]) {
    for (int j = 0; j < 3; j++) {
        f4 along = f4_mul(offset[0], f4_all(side->rotation[j][0]));
        f4 radius =
            f4_add(f4_all(view->half[j]), f4_mul(half[0], f4_all(side->rotation_abs[j][0])));
        for (int i = 1; i < 3; i++) {
            along = f4_add(along, f4_mul(offset[i], f4_all(side->rotation[j][i])));
            radius = f4_add(radius, f4_mul(half[i], f4_all(side->rotation_abs[j][i])));
        }
        gaps->along[j] = f4_abs(along);
        gaps->other[j] = f4_sub(gaps->along[j], radius);
    }
}

/* ---- searches ---- */

/* Whether any two triangles intersect. Writes the first pair found to triangle[2]. */
bool abuti_pair_find_intersection(const pair_frame *frame, uint32_t triangle[2]);
/* Counts the pairs of triangles that intersect. Writes up to `capacity` of them, in any order. */
uint64_t abuti_pair_list_intersections(const pair_frame *frame, uint64_t capacity,
                                       abut_pair_intersection *pairs);

/* Reports all pairs of triangles that may intersect if every coordinate of a vertex may have an
 * error of frame->pad; also some that do not. Pairs that intersect are reported in the same order
 * with any number of lanes. `visit` receives pairs of leaves: bit 4 i + j of `candidates` is set if
 * triangle i of the first may intersect triangle j of the second. The traversal stops if it returns
 * true. */
typedef bool pair_visit(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned candidates);
void abuti_pair_candidates(const pair_frame *frame, pair_visit *visit, void *data);

/* Finds the closest triangles of surfaces that do not intersect, if their distance is at most
 * `limit`; with `any`, the first pair found within it. Fills the separation except for the
 * relation. Leaves the separation unchanged if there is no such pair. Fails only if memory for
 * bounds is missing. */
abut_status abuti_pair_closest(const pair_frame *frame, double limit, bool any,
                               abut_pair_cache *cache, bool *is_found, abut_separation *separation);
/* The same for a list of pairs of triangles. Returns whether there is a pair. The frame must be
 * within PAIR_FAR_DISTANCE. */
bool abuti_pair_closest_of(const pair_frame *frame, const uint32_t (*pairs)[2], uint32_t count,
                           double limit, bool any, abut_separation *separation);
/* The initial bounds of a search in floats, in common units. Returns the error of distances and
 * writes an upper bound of the distances that matter for this limit. */
float abuti_pair_bounds(const pair_frame *frame, double limit, float *upper);

/* For surfaces that do not intersect: determines which mesh contains a component of the other.
 * Writes the first inner vertex, an index of the inner mesh, and adds to the reliability flags. */
abut_status abuti_pair_contains(const pair_frame *frame, const abuti_posed *a, const abuti_posed *b,
                                abut_pair_relation *relation, uint32_t *vertex, unsigned *flags);

/* The same for the component of side `inner` that a vertex belongs to. */
abut_status abuti_pair_vertex_inside(const pair_frame *frame, int inner,
                                     const abut_pose *outer_pose, uint32_t vertex, bool *inside,
                                     unsigned *flags);

/* Why a result is not guaranteed, as a set of bits: 0 if it is exact. Each bit is multiplied by 1
 * for a and 2 for b, the side that may contain the other. A result about a sheet is exact, since a
 * sheet has no interior. */
enum { PAIR_HOLES = 1, PAIR_FLIPS = 4, PAIR_SHEET = 16 };
abut_reliability abuti_pair_reliability_of(unsigned flags);

/* ---- pair.c: single queries ---- */

/* Fills the separation except for the relation, for a vertex of side `inner` inside the other mesh.
 */
void abuti_pair_inside(const pair_frame *frame, int inner, uint32_t vertex,
                       abut_separation *separation);

/* Converts two colliders and validates them and the output pointer. */
abut_status abuti_pair_read(const char *function, const abut_collider *a, const abut_collider *b,
                            const void *out, const char *out_name, abuti_posed posed[2]);
/* Converts one collider: a body with a BVH or a hull. */
abut_status abuti_posed_read(const char *function, const char *what, const abut_collider *collider,
                             abuti_posed *posed);
/* Validates two posed meshes and the output pointer. */
abut_status abuti_pair_check(const char *function, const abuti_posed *a, const abuti_posed *b,
                             const void *out, const char *out_name);
abut_status abuti_pair_check_pose(const char *function, const char *what, const abut_bvh *bvh,
                                  const abut_pose *at);
abut_status abuti_pair_overlap(const abuti_posed *a, const abuti_posed *b, bool surfaces,
                               abut_pair_cache *cache, abut_pair_relation *relation,
                               unsigned *flags);
abut_status abuti_pair_distance(const abuti_posed *a, const abuti_posed *b, bool surfaces,
                                abut_pair_cache *cache, abut_separation *separation);
/* The same if the distance is at most `limit`; otherwise leaves the separation unchanged. */
abut_status abuti_pair_distance_below(const abuti_posed *a, const abuti_posed *b, double limit,
                                      bool surfaces, abut_pair_cache *cache, bool *is_found,
                                      abut_separation *separation);
abut_status abuti_pair_within(const abuti_posed *a, const abuti_posed *b, double margin,
                              bool surfaces, abut_pair_cache *cache, bool *within, unsigned *flags);

/* ---- intersect.c and intersect_lanes.c ----
 *
 * intersect_lanes.c finds candidate pairs, intersect.c decides them. */

typedef struct intersect_search {
    const pair_frame *frame;
    bool find_all; /* otherwise only the first pair */
    uint64_t capacity, count;
    abut_pair_intersection *pairs;
    uint32_t triangle[2]; /* the first pair */
    pair_visit *visit;    /* receives candidate pairs instead of the exact test; or null */
    void *data;
} intersect_search;

/* Tests exactly whether two triangles intersect, and records them. Returns true if the search is
 * finished. */
bool abuti_pair_intersect_exactly(intersect_search *s, uint32_t a, uint32_t b);

/* intersect_lanes.c; ABUTI_BY_LANES(abuti_pair_intersect) is the fastest that this processor can
 * run. */
void abuti_pair_intersect_4(intersect_search *s);
void abuti_pair_intersect_8(intersect_search *s);
void abuti_pair_intersect_16(intersect_search *s);

/* ---- batch.c and device.c: many poses ---- */

typedef enum pair_query { PAIR_QUERY_OVERLAP, PAIR_QUERY_DISTANCE, PAIR_QUERY_WITHIN } pair_query;

/* A query at many poses, whose arguments have been validated, and its outputs. */
typedef struct pair_batch {
    const char *function;
    abut_pair_poses poses;
    pair_query what;
    bool surfaces;
    double limit;                  /* larger distances do not matter */
    abut_pair_relation *relations; /* one of these three outputs is set */
    abut_separation *separations;
    bool *within;
    atomic_uint failure; /* an abut_status; only ABUT_ERROR_MEMORY occurs */
    atomic_uint flags;   /* reliability flags of all poses */
} pair_batch;

/* Answers the query at one pose on the CPU. */
abut_status abuti_pair_batch_one(pair_batch *batch, size_t i, abut_pair_cache *cache);
/* Whether a pose is certainly valid: finite, and no coordinate close to the limit. A rotated
 * coordinate is at most the sum of three, each below `largest`. */
bool abuti_pair_pose_is_plain(const abut_pose *pose, double largest);
/* Answers all queries, if both BVHs are on one device. */
abut_status abuti_pair_batch_on_device(pair_batch *batch);

/* ---- vertex_fans.c ---- */

/* Sets clean[v] for vertices whose triangles have only those points in common that they share by
 * index; see vertex_fans.c. Vertices that are not marked may be clean too. */
abut_status abuti_pair_clean_vertices(const abut_mesh *mesh, unsigned char *clean);

#endif
