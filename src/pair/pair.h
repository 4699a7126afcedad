/* What the files of pair queries share: two hierarchies in a common measure, boxes and corners of
 * one seen from the other, and the checks.
 *
 * Each side keeps the axes of its own hierarchy, so that its boxes are as they are. Lengths of both
 * are brought to one unit, a power of two of the world's in which the larger mesh has coordinates
 * up to 2 and the smaller one no larger. What comes from the other side is turned and shifted in
 * floats: x = turn y + shift.
 *
 * The pad. Let u = 2^-24 be the rounding of a float, and T bound the coordinates of the shift;
 * those of boxes and corners are at most 2 in their own axes, hence 2 sqrt(3) in the other's.
 *   - Middle and half size of a box: 2u each, in absolute terms, with the rounding of the unit
 *     where it makes a float underflow.
 *   - The middle turned: entries of turn are off by u, three products and three sums: less than
 *     8u (4 + T). Its half sizes turned: 8u x 4. The difference of two middles: u (8 + T) more.
 *   - That difference along the axes of the other side: three products and sums of at most
 *     1.8 (8 + T): 8u (8 + T), and 1.8 times what it was off before: 17u (8 + T).
 * So 32u (8 + T) is beyond what any sum of them is wrong by. To this comes what separates the
 * rounded vertices of posed meshes, in doubles, from exact motions of the hierarchies: at most 2^8
 * roundings of the largest coordinate anywhere, by the count in crossing.c for each side and for
 * the turn and shift from one to the other. Where that is no longer small, `pair_start` asks for
 * copies of the meshes instead.
 */
#ifndef ABUTI_PAIR_H
#define ABUTI_PAIR_H

#include "base/simd.h"
#include "bvh/bvh.h"
#include "pair/tie_shared.h"

#include <abut/pair.h>

#include <math.h>
#include <stdatomic.h>

enum {
    /* A traversal goes down one of two hierarchies at each step, so it is at most twice as long as
     * that of one, and again leaves three pairs a step. */
    PAIR_STACK = 6 * BVH_DEPTH + 4,
    PAIR_STEPS = 128, /* of a traversal between two looks at whether to stop */
};

/* The place of a child is 4 x its node + its slot; the root has none. */
#define PAIR_ROOT ABUT_NONE

/* 32 u; see above. */
#define PAIR_MARGIN 0x1p-19f
/* Pairs as near as the nearest and this many times what coordinates may be off by are equally near.
 */
#define PAIR_TIE_DOUBTS 16.0
/* Beyond this distance, in units, floats no longer tell one triangle from the next. */
#define PAIR_FAR 64.0

typedef struct pair_side {
    const abut_bvh *bvh;
    abuti_motion motion;
    float unit;                       /* of the hierarchy's frame in common units */
    float turn[3][4], turn_abs[3][4]; /* columns: the axes of the other side, and a 0 */
    float shift[4];
} pair_side;

typedef struct pair_frame {
    pair_side side[2];
    double scale; /* common units of one unit of the world */
    float pad;
    double reach;    /* the largest coordinate of the shift: how far apart they are, about */
    double doubt;    /* of posed vertices against exact motions, in the world */
    double tie;      /* distances that differ by no more are equal; see pair_tie_reach() */
    vec3 way;        /* along which a may be beyond b, in the world; zero = none */
    vec3 own_way[2]; /* the same along the axes of each side, in floats too */
    float side_way[2][3];
    double origin_along[2]; /* how far the origin of each mesh is along it */
} pair_frame;

/* Puts two sides into a common frame. False where poses are so far away that only copies will do.
 */
bool abuti_pair_start(const abut_posed *a, const abut_posed *b, pair_frame *frame);
/* Says along which unit direction a is likely beyond b, so that a search sees it sooner. */
void abuti_pair_expect(pair_frame *frame, vec3 way);

/* The corners of a posed triangle: exactly those of abut_mesh_transform. */
static inline abut_triangle pair_triangle(const pair_side *side, uint32_t triangle) {
    abut_triangle t = bvh_triangle(side->bvh->mesh, triangle);
    for (int k = 0; k < 3; k++)
        t.corner[k] = abuti_motion_apply(&side->motion, t.corner[k]);
    return t;
}

/* A direction of the world along the axes of a side. */
static inline vec3 pair_to_side(const pair_side *side, vec3 n) {
    if (!side->motion.rotates)
        return n;
    mat3 back = m3_transpose(&side->motion.rotation);
    return m3_apply(&back, n);
}

/* Where the origin of its mesh is. */
static inline vec3 pair_origin(const pair_side *side) {
    return abuti_motion_apply(&side->motion, side->bvh->mesh->origin);
}

/* How far a triangle reaches along a direction of the side, as positions of the mesh. */
static inline double pair_triangle_reach(const abut_mesh *mesh, uint32_t triangle, vec3 n) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    double reach = -INFINITY;
    for (int k = 0; k < 3; k++)
        reach = real_max(reach, v3_dot(n, mesh->positions[corner[k]]));
    return reach;
}

/* ---- boxes ---- */

/* The middle of the box at a place in doubles, in the frame of the hierarchy. */
static inline vec3 pair_middle(const abut_bvh *bvh, uint32_t place) {
    const bvh_node *node = &bvh->nodes[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    return v3(0.5 * ((double)node->lo[0][slot] + node->hi[0][slot]),
              0.5 * ((double)node->lo[1][slot] + node->hi[1][slot]),
              0.5 * ((double)node->lo[2][slot] + node->hi[2][slot]));
}

/* How far it reaches from there along a direction. */
static inline double pair_box_reach(const abut_bvh *bvh, uint32_t place, vec3 n) {
    const bvh_node *node = &bvh->nodes[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    const double along[3] = {fabs(n.x), fabs(n.y), fabs(n.z)};
    double sum = 0;
    for (int axis = 0; axis < 3; axis++)
        sum += along[axis] * ((double)node->hi[axis][slot] - node->lo[axis][slot]);
    return 0.5 * sum;
}

/* A box as middle and half size along its own axes. */
typedef struct pair_box {
    float centre[3], half[3];
    float size; /* the sum of half sizes */
} pair_box;

/* A reference to what is at a place: a node, or BVH_LEAF + a leaf. */
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

/* A box of the other side, as this side sees it. */
typedef struct pair_view {
    float centre[4], radius[4]; /* along the axes of this side, the radius with the pad */
    float half[3];              /* along its own, with the pad */
} pair_view;

static inline pair_view pair_view_of(const pair_side *side, const pair_box *box, float pad) {
    pair_view view;
    f4 centre = f4_load(side->shift), radius = f4_all(pad);
    for (int j = 0; j < 3; j++) {
        centre = f4_add(centre, f4_mul(f4_load(side->turn[j]), f4_all(box->centre[j])));
        radius = f4_add(radius, f4_mul(f4_load(side->turn_abs[j]), f4_all(box->half[j])));
        view.half[j] = box->half[j] + pad;
    }
    f4_store(view.centre, centre);
    f4_store(view.radius, radius);
    return view;
}

/* The gaps along six axes between a view and the four boxes of a node: the distance of the shadows
 * on an axis, negative where they overlap, not a number in empty slots. */
typedef struct pair_gaps {
    f4 own[3], other[3];
    f4 along[3]; /* the difference of the middles along the axes of the other side */
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
        f4 along = f4_mul(offset[0], f4_all(side->turn[j][0]));
        f4 radius = f4_add(f4_all(view->half[j]), f4_mul(half[0], f4_all(side->turn_abs[j][0])));
        for (int i = 1; i < 3; i++) {
            along = f4_add(along, f4_mul(offset[i], f4_all(side->turn[j][i])));
            radius = f4_add(radius, f4_mul(half[i], f4_all(side->turn_abs[j][i])));
        }
        gaps->along[j] = f4_abs(along);
        gaps->other[j] = f4_sub(gaps->along[j], radius);
    }
}

/* ---- searches ---- */

/* Whether some triangles intersect; the first pair found goes into triangle[2]. */
bool abuti_pair_meets(const pair_frame *frame, uint32_t triangle[2]);
/* The number of pairs that intersect; notes up to `capacity` of them, in any order. */
uint64_t abuti_pair_list(const pair_frame *frame, uint64_t capacity,
                         abut_pair_intersection *meetings);

/* Tells all pairs of triangles that may meet if every coordinate of a vertex may be off by what
 * stands in frame->pad; some that do not. Their order is none in particular, but that of those that
 * meet is the same with any number of lanes. By pairs of leaves: bit 4 i + j of
 * `near` is set where triangle i of the first may meet triangle j of the second. Ends where it is
 * told to by true. */
typedef bool pair_visit(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned near);
void abuti_pair_candidates(const pair_frame *frame, pair_visit *visit, void *data);

/* The closest triangles of surfaces that do not meet, if closer than `limit` or as close; with
 * `any`, some that are. Fills all of the separation but the relation; false leaves it alone. */
bool abuti_pair_closest(const pair_frame *frame, double limit, bool any, abut_pair_cache *cache,
                        abut_separation *separation);
/* The same among these pairs of triangles only; not for frames beyond PAIR_FAR. */
bool abuti_pair_closest_of(const pair_frame *frame, const uint32_t (*pairs)[2], uint32_t count,
                           double limit, bool any, abut_separation *separation);
/* The bounds that such a search in floats begins with, in units: by how much distances err, and
 * beyond which no pair counts for this limit. */
float abuti_pair_bounds(const pair_frame *frame, double limit, float *upper);

/* For surfaces that do not meet: which contains a part of the other. `vertex` gets the first vertex
 * that is inside, of the inner mesh, and `doubt` what the answer rests on. */
abut_status abuti_pair_contains(const pair_frame *frame, const abut_posed *a, const abut_posed *b,
                                abut_pair_relation *relation, uint32_t *vertex, unsigned *doubt);

/* The same for the part of side `inner` that a vertex belongs to. */
abut_status abuti_pair_vertex_inside(const pair_frame *frame, int inner,
                                     const abut_pose *outer_pose, uint32_t vertex, bool *inside,
                                     unsigned *doubt);

/* What limits an answer, as a sum of bits: 0 where it is exact. Each is shifted by the side, 0 or
 * 1, that may contain the other. An answer about a sheet is exact, since a sheet has no inside. */
enum { PAIR_HOLES = 1, PAIR_FLIPS = 4, PAIR_SHEET = 16 };
abut_reliability abuti_pair_doubt(unsigned doubt);

/* ---- pair.c: one question, checked ---- */

/* Fills all of the separation but the relation where a vertex of one side, 0 or 1, is inside the
 * other. */
void abuti_pair_inside(const pair_frame *frame, int inner, uint32_t vertex,
                       abut_separation *separation);

/* Whether two posed meshes and a place for the answer are given, and sound. */
abut_status abuti_pair_check(const char *function, const abut_posed *a, const abut_posed *b,
                             const void *out, const char *out_name);
abut_status abuti_pair_check_pose(const char *function, const char *what, const abut_bvh *bvh,
                                  const abut_pose *at);
abut_status abuti_pair_overlap(const abut_posed *a, const abut_posed *b, bool surfaces,
                               abut_pair_cache *cache, abut_pair_relation *relation,
                               unsigned *doubt);
abut_status abuti_pair_distance(const abut_posed *a, const abut_posed *b, bool surfaces,
                                abut_pair_cache *cache, abut_separation *separation);
abut_status abuti_pair_within(const abut_posed *a, const abut_posed *b, double margin,
                              bool surfaces, abut_pair_cache *cache, bool *within, unsigned *doubt);

/* ---- batch.c and device.c: many poses ---- */

typedef enum pair_question { PAIR_ASK_OVERLAP, PAIR_ASK_DISTANCE, PAIR_ASK_WITHIN } pair_question;

/* What is asked, of poses that have been checked, and where the answers go. */
typedef struct pair_batch {
    const char *function;
    abut_pair_poses poses;
    pair_question what;
    bool surfaces;
    double limit;                  /* no pair further away matters */
    abut_pair_relation *relations; /* or */
    abut_separation *separations;  /* or */
    bool *within;
    atomic_uint failure; /* a status; they can only be out of memory */
    atomic_uint doubt;   /* of all poses */
} pair_batch;

/* One pose, asked of the CPU. */
abut_status abuti_pair_batch_one(pair_batch *batch, size_t i, abut_pair_cache *cache);
/* Whether a pose is valid without a closer check: finite, and of no coordinate near the largest
 * that is allowed. A rotated coordinate is at most the sum of three, each below `largest`. */
bool abuti_pair_pose_is_plain(const abut_pose *pose, double largest);
/* All, where both hierarchies are on one device. */
abut_status abuti_pair_batch_there(pair_batch *batch);

/* ---- stars.c ---- */

/* Sets clean[v] for vertices whose triangles have in common what they share by index and no more;
 * stars.c. Vertices that are not marked may be so too. */
abut_status abuti_pair_stars(const abut_mesh *mesh, unsigned char *clean);

#endif
