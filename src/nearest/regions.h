/* Lists of the features that can be nearest to some point of a box.
 *
 * Problem: the nearest points of cells of a grid, of texels, of a million points. Neighbours have
 * the same few features (faces, edges, vertices; features.h) nearest to them, and a search for each
 * finds them again.
 * Method: a list holds every feature that can be nearest to some point of a box. That of a large
 * box comes from the hierarchy (abuti_regions_collect), that of a smaller box inside it is what is
 * left when the features that cannot be nearest in there are taken out: because some other point of
 * the mesh is nearer to all of the box, or because the box is outside the region in which the
 * feature is nearest to anything. Sixteen points are then measured against the few features that
 * are left (`winners`). All of that is in floats, many lanes at once; what may win is measured in
 * doubles by the caller.
 *
 * Nothing that wins is lost. All is in the frame of the hierarchy. Let p be a point and q the point
 * of the mesh that is nearest to it, exactly, on the inside of a feature F. Then p is in the region
 * of F: no way along the mesh leads from q nearer to p. With e = 2^-24, P the largest coordinate of
 * p, and 2 that of the mesh, t of features.h errs by the rounding of p and of the place, sqrt(3) e
 * (P + 2), and by that of the difference r, the unit vector and the product of both, 5 e |r|; |r|
 * is at most sqrt(3) (P + 2), so that it is less than 10.4 e (P + 2) in all. Distances are no
 * worse. The margin m is at least 16 e (P + 2): F passes every test that has this margin. Only a
 * face lower than FEATURE_HEIGHT is no feature: where q is on such a needle an edge of it or a
 * vertex is at most 2^-21 from q, which is less than m / 2, and passes by distance. Edges and
 * vertices of needles are marked, and have no regions but for the ends of edges. Where a marked
 * feature is among those that may win, the caller has to search.
 * Bounds come from edges and vertices as they are, and from a face only where p is over it by m:
 * beyond the point of a sharp triangle both borders are near, and the plane is worth nothing.
 * So F is within 2 m of the least bound, and within m of its region: a candidate.
 *
 * By a near point. Let c be the middle of a box, h its half extents, rho = |h|, and g some point of
 * the mesh. F can be dropped if |p - q| > |p - g| for all points p of the box and q of F. With
 * everything relative to c, the difference of the squares is at least |q|^2 - |g|^2 - 2 sum h_i
 * |g_i
 * - q_i| (regions.c). Let f be the point of F, or of the plane of a face, that is nearest to c, and
 * s = |q - f|. As F is convex, |q|^2 >= |f|^2 + s^2; and with x = sum h_i |u_i| for the direction u
 * of an edge, x = rho for a face, that is at least
 *     |f|^2 - |g|^2 - 2 sum h_i |g_i - f_i| + s^2 - 2 x s.
 * F stays unless that is positive for all s, which are at most the length of an edge, and 0 for a
 * vertex. The point g is the nearest to c that is known. Coordinates and the ways from f and g to c
 * err by less than m; the limit for that is derived in regions.c.
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
    REGIONS_BOXES = 8,                     /* that features are looked at for at once, at most */
    REGIONS_PLACES = 4 * REGIONS_LIST_MAX, /* of features that are left for all of them */
};

/* Features that a list of so many takes room for. */
static inline uint32_t regions_capacity(uint32_t count) {
    return (count + REGIONS_GROUP - 1) / REGIONS_GROUP * REGIONS_GROUP;
}

/* Numbers for each box that such a list is filtered for: lanes behind the last are written too. */
static inline uint32_t regions_stride(uint32_t count) {
    return regions_capacity(count) + REGIONS_GROUP;
}

/* Boxes that such a list can be filtered for at once. */
static inline uint32_t regions_boxes_at_once(uint32_t count) {
    const uint32_t boxes = REGIONS_PLACES / regions_stride(count);
    return boxes < REGIONS_BOXES ? boxes : REGIONS_BOXES;
}

/* ---- the features of a hierarchy ---- */

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

/* A feature in doubles: distances are those to the plane, the line or the point. */
typedef struct regions_support {
    vec3 place, vector; /* unit normal of a face, direction of an edge, 0 of a vertex */
    bool is_face, is_marked;
} regions_support;

/* Of a table with rests. */
static inline regions_support regions_support_of(const regions_table *table, uint32_t name) {
    const float *row = table->rows[name].column;
    const bool face = row[REGIONS_OFFSET]<0, edge = row[REGIONS_OFFSET]> 0;
    uint32_t word[4];
    memcpy(word, table->features.rest[name].word, sizeof word);
    const float left[3] = {rest_low(word[0], word[1], REST_VECTOR_STEP),
                           rest_low(word[2], word[3], REST_VECTOR_STEP),
                           rest_high(word[3], REST_VECTOR_STEP)};
    double p[3], v[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        p[k] = (double)row[REGIONS_PLACE + k] + rest_high(word[k], REST_PLACE_STEP);
        if (face || edge)
            v[k] = (double)row[face ? REGIONS_THIRD_X + 4 * k : REGIONS_FOURTH + k] + left[k];
    }
    return (regions_support){.place = v3(p[0], p[1], p[2]),
                             .vector = v3(v[0], v[1], v[2]),
                             .is_face = face,
                             .is_marked = word[3] & REST_MARK};
}

/* `wanted` is that of abuti_features_create(). */
abut_status abuti_regions_create(const abut_bvh *bvh, unsigned wanted, regions_table *table);
void abuti_regions_destroy(regions_table *table);

/* ---- lists ---- */

/* Groups of sixteen features, one after the other, have their columns side by side: loops read one
 * stream of memory, and columns are known steps apart. Up to the next multiple of the lanes the
 * last feature is there again. Faces stand first, then edges. */
typedef struct regions_list {
    uint32_t count;
    float *columns;
    uint32_t *names; /* rows of the table */
    float near[3]; /* a point of the mesh, near to the box it was made for: a bound to start from */
} regions_list;

/* Where the columns of the i-th feature begin; column c is c groups further on. */
static inline size_t regions_columns_at(uint32_t i) {
    return (size_t)(i / REGIONS_GROUP) * (REGIONS_GROUP * REGIONS_COLUMNS) + i % REGIONS_GROUP;
}

/* A box of points in the frame. */
typedef struct regions_box {
    float centre[3], half[3];
    float margin;  /* at least 16 e (P + 2) */
    float outside; /* of regions, that is let pass; at least the margin */
    float reach;   /* distances beyond are of no interest; may be infinite */
    /* The way to the centre from the nearest point of the mesh that is known, and its square. */
    float near[3], near_sq;
} regions_box;

static inline float regions_radius(const regions_box *box) {
    const float *h = box->half;
    return sqrtf(h[0] * h[0] + h[1] * h[1] + h[2] * h[2]) * NEAREST_SLACK;
}

/* Of sixteen points: the least bound; the nearest feature by its place in a list, its square and
 * that of the next; and the squares of all features where there are not too many: infinite where a
 * point is outside the region of a feature. */
enum { REGIONS_POINTS = 16, REGIONS_KEPT = 16384 };
typedef struct regions_winners {
    float bound[REGIONS_POINTS], best[REGIONS_POINTS], next[REGIONS_POINTS];
    float place[REGIONS_POINTS];
    float square[REGIONS_KEPT][REGIONS_POINTS];
    /* What `candidates` finds: places in the list above, points below as bits. */
    uint32_t candidate_count, candidate[REGIONS_KEPT];
} regions_winners;

static inline uint32_t regions_candidate_place(const regions_winners *w, uint32_t c) {
    return w->candidate[c] >> REGIONS_POINTS;
}

static inline bool regions_is_candidate(const regions_winners *w, uint32_t c, uint32_t point) {
    return w->candidate[c] >> point & 1;
}

/* Features no farther than that from point i may win it. */
static inline float regions_reach_sq(const regions_winners *w, float margin, uint32_t i) {
    float reach = sqrtf(w->bound[i]) + 2 * margin;
    return reach * reach * NEAREST_SLACK;
}

/* The loops over lists; for 4, 8 or 16 lanes, with the same outcome but for rounding. */
typedef struct regions_kernel {
    /* Fills the columns of a list with rows of the table. */
    void (*gather)(const regions_row *rows, regions_list *list);
    /* Finds which features of a list can be nearest in each of some boxes, which differ by their
     * centres alone: their places in the list, in order. `kept` has room for regions_stride()
     * numbers of each box. Finds the point of the mesh that is nearest to each centre, within the
     * margin, if the list has all that are nearest within. */
    void (*filter)(const regions_list *list, regions_box *boxes, uint32_t box_count, uint32_t *kept,
                   uint32_t *kept_count);
    /* Measures sixteen points: at[k] has a coordinate of each. */
    void (*winners)(const regions_row *rows, const uint32_t *names, uint32_t count,
                    const float *const at[3], float outside, regions_winners *winners);
    /* Lists the features, in order, that may win some of these points: all of them in one pass over
     * the squares, as a pass for each point waits for memory. None where squares were not kept. */
    void (*candidates)(uint32_t count, float margin, unsigned points, regions_winners *winners);
} regions_kernel;

/* regions_lanes.c; ABUTI_BY_LANES(abuti_regions) is the quickest that runs here. */
extern const regions_kernel abuti_regions_4, abuti_regions_8, abuti_regions_16;

/* What a worker makes lists in. */
typedef struct regions_room {
    const regions_table *table;
    const regions_kernel *kernel;
    uint64_t *seen; /* a bit for each group of the table */
    uint32_t used;  /* of the room */
    bvh_hint hint;  /* of the last list from the hierarchy, if that was near by */
    uint32_t kept[REGIONS_PLACES];
    uint32_t names[REGIONS_ROOM];
    float columns[REGIONS_ROOM * REGIONS_COLUMNS];
} regions_room;

/* Words of the bits that a room needs. */
static inline size_t regions_seen_words(const regions_table *table) {
    return table->features.count / (64 * REGIONS_GROUP) + 1;
}

typedef enum regions_outcome { REGIONS_LISTED, REGIONS_NOTHING, REGIONS_TOO_MANY } regions_outcome;

/* What a list is for a box. */
typedef struct regions_narrowed {
    const regions_list *list; /* null: nothing is within reach */
    bool clear;               /* no surface passes through the box */
    regions_list own;
} regions_narrowed;

/* Makes the first list of a room, for a box, from the hierarchy; of at most so many features. Where
 * nothing is within reach there is none. `clear`: no surface passes through the box. */
regions_outcome abuti_regions_collect(regions_room *room, const regions_box *box, uint32_t most,
                                      regions_list *list, bool *clear);
/* Makes a list for each of some boxes from that of a larger one, if it is worth it: `made[i]` may
 * be `from` itself. Boxes differ by their centres alone, and are no more than
 * regions_boxes_at_once(). */
void abuti_regions_narrow(regions_room *room, const regions_list *from, regions_box *boxes,
                          uint32_t box_count, regions_narrowed *made);

/* Finds which features of a list can be nearest in each of some boxes, as above: gives their
 * numbers, and their names in `kept`, regions_stride() apart. */
void abuti_regions_filter(regions_room *room, const regions_list *list, regions_box *boxes,
                          uint32_t box_count, uint32_t *kept_count);

#endif
