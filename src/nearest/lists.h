/* Lists of the triangles that can be nearest to some point of a block.
 *
 * Problem: a million nearest points, or all cells of a grid. Searches for neighbours repeat each
 * other: all of them measure the same few hundred triangles, in vain but for one.
 * Method: a block is a box of points. A list holds every triangle that can be nearest to a point
 * of the block. The list of a large block comes from the hierarchy (abuti_lists_collect); that of
 * a smaller block inside it is what is left of the list when the triangles that cannot be nearest
 * in there are taken out (`filter`); and for a few points all triangles of a short list are
 * measured (`measure`). Everything is in floats, many triangles at once.
 *
 * The test. Let c be the middle of a block, h its half extents, rho = |h|, and g some point of the
 * mesh. A triangle T can be dropped if d(p, T) > |p - g| for all points p = c + e of the block.
 * For q in T, and with everything relative to c,
 *     |p - q|^2 - |p - g|^2 = |q|^2 - |g|^2 + 2 e . (g - q),
 * which is linear in e, so its least value in the block is |q|^2 - |g|^2 - 2 sum h_i |g_i - q_i|.
 * Let f be the point of T that is closest to c. As T is convex, |q|^2 >= |f|^2 + |q - f|^2, and
 * with s = |q - f|, which is at most the diameter of T,
 *     |p - q|^2 - |p - g|^2 >= |f|^2 - |g|^2 - 2 sum h_i |g_i - f_i| + s^2 - 2 rho s.
 * T stays unless that is positive for all s; where f is a corner that is closest not only to c but
 * to the whole block, s is 0. The point g is the closest one of all the list to c.
 * Distances alone would keep all of a shell around c that is 2 rho thick. This keeps a patch that
 * is about 2 rho wide: where the surface is flat f - g is the way along it, and |f|^2 - |g|^2 its
 * square. A box of the hierarchy is tested in the same way, and exactly: the least value is found
 * axis by axis.
 * No neighbours are asked for, so triangles need not be connected in any way.
 *
 * Guarantee: a triangle is dropped only if some other is nearer to every point of the block by more
 * than all errors of floats together, so that what is dropped never is the answer of a complete
 * search in doubles, not even one of equals. The derivation is in lists.c.
 */
#ifndef ABUTI_NEAREST_LISTS_H
#define ABUTI_NEAREST_LISTS_H

#include "base/simd.h"
#include "bvh/bvh.h"
#include "geom/closest_shared.h"
#include "nearest/nearest_shared.h"

/* A triangle laid flat. Its longest side is on an axis u, and its height over that side divides it
 * into two triangles with a right angle at the foot of the height, which is the origin. Axis w is
 * along the height, n at right angles to both. For a point, x = u . p + du, y and z likewise; the
 * left half is at x < 0. */
enum {
    LISTS_U = 0, /* u, then du */
    LISTS_W = 4,
    LISTS_HEIGHT = 8,
    LISTS_LEFT = 9, /* length of the base, then x and y of the normal of the slanted side */
    LISTS_RIGHT = 12,
    LISTS_DN = 15,
    LISTS_ROW = 16, /* a line of the cache; the rest follows from that */
    LISTS_N = 16,
    LISTS_DIAMETER = 19,
    LISTS_COLUMNS = 20,
};
typedef struct lists_row {
    float column[LISTS_ROW];
} lists_row;

/* Triangles of a list stand in groups: column 0 of all sixteen, column 1, ... The last group is
 * filled up with the last triangle. */
enum { LISTS_GROUP = 16 };
typedef struct lists_group {
    float column[LISTS_COLUMNS][LISTS_GROUP];
} lists_group;

/* Its vertices, in the order left, right, top; and its number. */
typedef struct lists_name {
    uint32_t vertex[3], triangle;
} lists_name;

/* All triangles of a hierarchy, in the order of its leaves. */
typedef struct lists_table {
    const abut_bvh *bvh;
    lists_row *rows; /* triangle_count each */
    lists_name *names;
} lists_table;

typedef struct lists_list {
    uint32_t count;
    lists_group *groups;
    uint32_t *places; /* in the table */
} lists_list;

static inline uint32_t lists_group_count(uint32_t count) {
    return (count + LISTS_GROUP - 1) / LISTS_GROUP;
}

/* A box of points in the frame of the hierarchy. */
typedef struct lists_block {
    float centre[3], half[3];
    float margin; /* more than floats can err in distances; see lists_margin */
} lists_block;

/* The margin for points with coordinates of at most `largest`. */
static inline float lists_margin(float largest) {
    return NEAREST_MARGIN * (largest + 2);
}

/* What a block is tested with: its size, with the margin. */
typedef struct lists_limits {
    float half[3], rho;
} lists_limits;

static inline lists_limits lists_limits_of(const lists_block *block) {
    lists_limits l;
    float sum = 0;
    for (int k = 0; k < 3; k++) {
        l.half[k] = block->half[k] + block->margin;
        sum += l.half[k] * l.half[k];
    }
    l.rho = sqrtf(sum) * NEAREST_SLACK + block->margin;
    return l;
}

/* |g|^2, and what errors make of it. */
static inline float lists_limit(const lists_block *block, const lists_limits *l, float nearest_sq) {
    return nearest_sq + 16 * block->margin * (sqrtf(nearest_sq) + 2 * l->rho + block->margin);
}

/* Which boxes can hold the nearest of a point of the block. Along an axis, with q in the box and g
 * fixed, (q - c)^2 - 2 h |g - q| is the lesser of two parabolas with their vertices at c + h and
 * c - h, so its least value is where one of these is clamped to the box. */
static inline unsigned lists_boxes_met(const bvh_node *node, const lists_block *block,
                                       const lists_limits *l, const float nearest[3], float limit) {
    f4 sum = f4_all(0);
    for (int axis = 0; axis < 3; axis++) {
        f4 lo = f4_load(node->lo[axis]), hi = f4_load(node->hi[axis]);
        f4 c = f4_all(block->centre[axis]), g = f4_all(nearest[axis]);
        f4 twice = f4_all(2 * l->half[axis]), parabola[2];
        for (int side = 0; side < 2; side++) {
            f4 vertex = f4_all(block->centre[axis] + (side ? l->half[axis] : -l->half[axis]));
            f4 q = f4_min(f4_max(vertex, lo), hi), d = f4_sub(q, c);
            f4 part = f4_mul(twice, side ? f4_sub(g, q) : f4_sub(q, g));
            parabola[side] = f4_add(f4_mul(d, d), part);
        }
        sum = f4_add(sum, f4_min(parabola[0], parabola[1]));
    }
    return m4_bits(f4_less_equal(sum, f4_all(limit))); /* an empty slot gives NaN */
}

/* A vertex is clearly the nearest point of a triangle if the point lies behind both edges by more
 * than this many margins, and clearly no needle has at least that height. */
#define LISTS_CLEAR 4.0f
#define LISTS_HEIGHT_LEAST 64.0f

/* ---- lists.c ---- */

/* 80 bytes a triangle. */
abut_status abuti_lists_create(const abut_bvh *bvh, lists_table *table);
void abuti_lists_destroy(lists_table *table);

/* Finds all triangles that can be nearest to a point of the block, and some more. `nearest` is
 * some point of the mesh, the nearer to the centre the better. Gives their number, or ABUT_NONE
 * where there are more than `most`. */
uint32_t abuti_lists_collect(const abut_bvh *bvh, const lists_block *block, const float nearest[3],
                             uint32_t most, uint32_t *places);

/* A point and a triangle to be measured in doubles. */
typedef struct lists_pair {
    uint32_t point, triangle;
    double distance, weight[3]; /* as triangle_closest_point() gives them */
    vec3 closest;
} lists_pair;

/* The loops over lists; for 4, 8 or 16 lanes, with the same outcome but for rounding. */
typedef struct lists_kernel {
    /* Fills a list with `count` rows of the table; the groups are there. */
    void (*gather)(const lists_table *table, const uint32_t *places, uint32_t count,
                   lists_list *list);
    /* Finds which triangles of a list can be nearest in a block: their numbers in the list, in
     * order. `scratch` has room for 4 floats and `kept` for one number of each triangle, and
     * for a group more. Gives how many, and the distance of the centre from the nearest, squared.
     */
    uint32_t (*filter)(const lists_list *list, const lists_block *block, float *scratch,
                       uint32_t *kept, float *nearest_sq);
    /* Finds which triangles of a list can be nearest to a point. `scratch` gets the squares of all
     * distances; then, from the next group on, which of their vertices is nearest, 0 to 2, where
     * that is clear of all errors and the triangle is no needle (see LISTS_CLEAR), else 3. */
    uint32_t (*measure)(const lists_list *list, const float point[3], float margin, float *scratch,
                        uint32_t *found);
    /* Measures pairs. Points are absolute. */
    void (*exact)(const abut_mesh *mesh, const vec3 *points, lists_pair *pairs, uint32_t count);
} lists_kernel;

static inline void lists_measure_pair(const abut_mesh *mesh, const vec3 *points, lists_pair *pair) {
    closest_on_triangle closest =
        triangle_closest_point(bvh_triangle(mesh, pair->triangle), points[pair->point]);
    pair->distance = closest.distance;
    pair->closest = closest.point;
    for (int k = 0; k < 3; k++)
        pair->weight[k] = closest.barycentric[k];
}

/* The quickest kernel that runs here. */
const lists_kernel *abuti_lists_kernel(void);
/* lists_lanes.c, by lanes. */
extern const lists_kernel abuti_lists_4, abuti_lists_8, abuti_lists_16;

#endif
