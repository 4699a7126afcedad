/* Lists of the features that can be nearest to some point of a box.
 *
 * Problem: the closest points of grid cells, of texels, of a million points. Neighbours have the
 * same few nearest features (faces, edges, vertices; features.h), and separate searches find them
 * again. Method: a list contains every feature that can be nearest to some point of a box. That of
 * a large box is collected from the BVH (abuti_regions_collect). That of a smaller box inside it is
 * filtered: features are removed that cannot be nearest in it, because another point of the mesh is
 * nearer to all of the box, or because the box is outside the region in which the feature can be
 * nearest. Sixteen points are then measured against the few remaining features (`winners`). All of
 * that is in floats, with many lanes; the caller measures the candidates in doubles.
 *
 * No result is lost. Everything is in the frame of the BVH. Let p be a point and q the point of the
 * mesh that is exactly nearest to it, in the interior of a feature F. Then p is in the region of F:
 * no direction along the mesh leads from q nearer to p. With e = 2^-24, P the largest coordinate of
 * p, and 2 that of the mesh, t of features.h has the error of the rounding of p and of the place,
 * sqrt(3) e (P + 2), and of that of the difference r, the unit vector and the product of both, 5 e
 * |r|; |r| is at most sqrt(3) (P + 2), so it is less than 10.4 e (P + 2) in total. Distances have
 * no larger errors. The margin m is at least 16 e (P + 2): F passes every test with this margin.
 * Only a face lower than FEATURE_HEIGHT is no feature: if q is on such a sliver, one of its edges
 * or vertices is at most 2^-21 from q, which is less than m / 2, and passes by distance. Edges and
 * vertices of slivers are marked, and their regions are limited only by the ends of edges. If a
 * marked feature is among the candidates, the caller must search. Upper bounds follow from edges
 * and vertices directly, and from a face only if p is above it by m: beyond the tip of a sharp
 * triangle both edges are near, and the plane gives no bound. So F is within 2 m of the smallest
 * bound, and within m of its region: a candidate.
 *
 * Culling by a near point. Let c be the centre of a box, h its half extents, rho = |h|, and g a
 * point of the mesh. F can be removed if |p - q| > |p - g| for all points p of the box and q of F.
 * With everything relative to c, the difference of the squares is at least |q|^2 - |g|^2 - 2 sum
 * h_i |g_i - q_i| (regions.c). Let f be the point of F, or of the plane of a face, that is nearest
 * to c, and s = |q - f|. As F is convex, |q|^2 >= |f|^2 + s^2; and with x = sum h_i |u_i| for the
 * direction u of an edge, x = rho for a face, that is at least
 *     |f|^2 - |g|^2 - 2 sum h_i |g_i - f_i| + s^2 - 2 x s.
 * F is kept unless that is positive for all s, which are at most the length of an edge, and 0 for a
 * vertex. The point g is the nearest known one to c. Coordinates and the vectors from f and g to c
 * have errors below m; regions.c derives the limit for that.
 */
#ifndef ABUTI_NEAREST_REGIONS_H
#define ABUTI_NEAREST_REGIONS_H

#include "bvh/bvh.h"
#include "nearest/features.h"
#include "nearest/nearest.h"

#include <math.h>

enum {
    REGIONS_GROUP = 16,
    REGIONS_LIST_MAX = 32768,              /* features of a list */
    REGIONS_ROOM = 65536,                  /* features of all lists from the first to the last */
    REGIONS_BOXES = 8,                     /* at most, for which features are tested at once */
    REGIONS_PLACES = 4 * REGIONS_LIST_MAX, /* of the remaining features of all of them */
};

/* The capacity of a list of so many features. */
static inline uint32_t regions_capacity(uint32_t count) {
    return (count + REGIONS_GROUP - 1) / REGIONS_GROUP * REGIONS_GROUP;
}

/* Entries for each box for which such a list is filtered: lanes behind the last are written too. */
static inline uint32_t regions_stride(uint32_t count) {
    return regions_capacity(count) + REGIONS_GROUP;
}

/* Boxes for which such a list can be filtered at once. */
static inline uint32_t regions_boxes_at_once(uint32_t count) {
    const uint32_t boxes = REGIONS_PLACES / regions_stride(count);
    return boxes < REGIONS_BOXES ? boxes : REGIONS_BOXES;
}

/* ---- the features of a BVH ---- */

/* A row is a feature_record without the kind; the offset of faces is negative. */
enum {
    REGIONS_PLACE = 0,
    REGIONS_OFFSET = 3,
    REGIONS_FIRST = 4,
    REGIONS_THIRD_X = 7,
    REGIONS_SECOND = 8,
    REGIONS_THIRD_Y = 11,
    REGIONS_FOURTH = 12,
    REGIONS_THIRD_Z = 15,
    REGIONS_COLUMNS = 16,
};
typedef struct regions_row {
    float column[REGIONS_COLUMNS];
} regions_row;

typedef struct regions_table {
    const abut_bvh *bvh;
    abuti_features features; /* their records are the rows */
    regions_row *rows;
} regions_table;

/* `wanted` is that of abuti_features_create(). */
abut_status abuti_regions_create(const abut_bvh *bvh, unsigned wanted, regions_table *table);
void abuti_regions_destroy(regions_table *table);

/* ---- lists ---- */

/* Columns of sixteen consecutive features are adjacent: loops read one stream of memory, and
 * columns have constant distances. The last feature is repeated up to the next multiple of the
 * lanes. Faces are first, then edges. */
typedef struct regions_list {
    uint32_t count;
    float *columns;
    uint32_t *names; /* rows of the table */
    float near[3];   /* a point of the mesh near the box of the list: an initial bound */
} regions_list;

/* The index of the columns of the i-th feature; column c is c groups further. */
static inline size_t regions_columns_at(uint32_t i) {
    return (size_t)(i / REGIONS_GROUP) * (REGIONS_GROUP * REGIONS_COLUMNS) + i % REGIONS_GROUP;
}

/* A box of points in the frame. */
typedef struct regions_box {
    float centre[3], half[3];
    float margin;  /* at least 16 e (P + 2) */
    float outside; /* how far points may be outside a region; at least the margin */
    float reach;   /* larger distances do not matter; may be infinite */
    /* The vector to the centre from the nearest known point of the mesh, and its square. */
    float near[3], near_sq;
} regions_box;

static inline float regions_radius(const regions_box *box) {
    const float *h = box->half;
    return sqrtf(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) * NEAREST_SLACK;
}

/* For sixteen points: the smallest bound; the nearest feature by its position in a list, its square
 * and that of the second; and the squares of all features if there are not too many: infinite if a
 * point is outside the region of a feature. */
enum { REGIONS_POINTS = 16, REGIONS_KEPT = 16384 };
typedef struct regions_winners {
    float bound[REGIONS_POINTS], best[REGIONS_POINTS], next[REGIONS_POINTS];
    float place[REGIONS_POINTS];
    float square[REGIONS_KEPT][REGIONS_POINTS];
    /* The result of `candidates`: positions in the list in the high bits, points in the low bits.
     */
    uint32_t candidate_count, candidate[REGIONS_KEPT];
} regions_winners;

static inline uint32_t regions_candidate_place(const regions_winners *w, uint32_t c) {
    return w->candidate[c] >> REGIONS_POINTS;
}

static inline bool regions_is_candidate(const regions_winners *w, uint32_t c, uint32_t point) {
    return w->candidate[c] >> point & 1;
}

/* Features within this distance of point i are candidates for it. */
static inline float regions_reach_sq(const regions_winners *w, float margin, uint32_t i) {
    float reach = sqrtf(w->bound[i]) + 2 * margin;
    return reach * reach * NEAREST_SLACK;
}

/* The loops over lists; for 4, 8 or 16 lanes, with the same results up to rounding. */
typedef struct regions_kernel {
    /* Fills the columns of a list with rows of the table. */
    void (*gather)(const regions_row *rows, regions_list *list);
    /* Finds which features of a list can be nearest in each of some boxes, which differ only by
     * their centres: their positions in the list, in order. `kept` has regions_stride() entries for
     * each box. Finds the point of the mesh that is nearest to each centre, within the margin, if
     * the list has all features that are nearest within. */
    void (*filter)(const regions_list *list, regions_box *boxes, uint32_t box_count, uint32_t *kept,
                   uint32_t *kept_count);
    /* Measures sixteen points: at[k] has a coordinate of each. */
    void (*winners)(const regions_row *rows, const uint32_t *names, uint32_t count,
                    const float *const at[3], float outside, regions_winners *winners);
    /* Lists the features, in order, that are candidates for some of these points: all in one pass
     * over the squares, as a pass for each point would be bound by memory. None if squares were not
     * kept. */
    void (*candidates)(uint32_t count, float margin, unsigned points, regions_winners *winners);
} regions_kernel;

/* regions_lanes.c; ABUTI_BY_LANES(abuti_regions) is the fastest that this processor can run. */
extern const regions_kernel abuti_regions_4, abuti_regions_8, abuti_regions_16;

/* The workspace of a worker for lists. */
typedef struct regions_room {
    const regions_table *table;
    const regions_kernel *kernel;
    uint64_t *seen; /* a bit for each group of the table */
    uint32_t used;  /* of the workspace */
    bvh_hint hint;  /* of the last list from the BVH, if that was near */
    uint32_t kept[REGIONS_PLACES];
    uint32_t names[REGIONS_ROOM];
    float columns[REGIONS_ROOM * REGIONS_COLUMNS];
} regions_room;

/* The number of words of these bits. */
static inline size_t regions_seen_words(const regions_table *table) {
    return table->features.count / (64 * REGIONS_GROUP) + 1;
}

typedef enum regions_outcome { REGIONS_LISTED, REGIONS_NOTHING, REGIONS_TOO_MANY } regions_outcome;

/* The list of a box. */
typedef struct regions_narrowed {
    const regions_list *list; /* null: nothing is within reach */
    regions_list own;
} regions_narrowed;

/* Creates the first list of a workspace, for a box, from the BVH; with at most so many features. If
 * nothing is within reach there is none. */
regions_outcome abuti_regions_collect(regions_room *room, const regions_box *box, uint32_t most,
                                      regions_list *list);
/* Creates a list for each of some boxes from that of a larger one, if it pays off: `made[i]` may be
 * `from` itself. Boxes differ only by their centres, and are no more than regions_boxes_at_once().
 */
void abuti_regions_narrow(regions_room *room, const regions_list *from, regions_box *boxes,
                          uint32_t box_count, regions_narrowed *made);

/* Finds which features of a list can be nearest in each of some boxes, as above. Returns their
 * numbers, and their names in `kept`, regions_stride() apart. */
void abuti_regions_filter(regions_room *room, const regions_list *list, regions_box *boxes,
                          uint32_t box_count, uint32_t *kept_count);

#endif
