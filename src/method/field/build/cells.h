/* Distances of cells from feature lists, and signs of rows of cells.
 *
 * Method: lists of the features that can be nearest to some cell of a box shrink from large boxes
 * to sixteen cells (nearest/regions.h). The distances to the features that may win are then
 * computed from the mesh in doubles.
 *
 * The last step. Candidates are the features within 2 m of the smallest bound and within m of their
 * region, where m is the margin. The nearest feature F is one of them, and the distance is that of
 * p to the triangle, the edge or the vertex of F. Usually there is only one candidate. A face that
 * is the only one, and a bound, contains the foot of p: the distance is that to its plane. With u =
 * 2^-53 and L the largest coordinate difference of p and the mesh, p and the vertices relative to
 * the origin of the mesh, their difference and the arithmetic of the query have an error of less
 * than 64 u L, distances to planes and edges one of 24 u L (field_cells.cl), and the closest-point
 * query one of 8 u L (4 ulp, geom/closest_shared.h). We use e = 160 u L. If d - e and d + e round
 * to the same float, it is the float of the query. Otherwise, and if d is not above e, the query
 * computes the value.
 */
#ifndef ABUTI_FIELD_BUILD_CELLS_H
#define ABUTI_FIELD_BUILD_CELLS_H

#include "base/base.h"
#include "bvh/bvh.h"
#include "nearest/regions.h"

#include "field/field.h"

#include <math.h>

static inline float cells_margin(float largest) {
    return 0x1p-20f * (largest + 2);
}

/* The error bound e for coordinates of at most `largest`. */
static inline double cells_error(double largest) {
    return 0x1.4p-46 * (largest + 2);
}

/* Sixteen cells: 4 along x, 2 along y, 2 along z. */
enum { CELLS_X = 4, CELLS_Y = 2, CELLS_Z = 2, CELLS_COUNT = CELLS_X * CELLS_Y * CELLS_Z };
/* One coordinate of the sixteen cells, x fastest, in the scaled frame of the BVH. */
typedef struct cells_lanes {
    float at[CELLS_COUNT];
} cells_lanes;

/* A feature in doubles, in the scaled frame. */
typedef struct cells_feature {
    uint32_t name;      /* ABUT_NONE = none */
    int kind;           /* -1: a face, 0: a vertex, 1: an edge */
    vec3 at, direction; /* unit normal of a face, or direction of an edge; 0 of a vertex */
    double length;      /* of an edge, otherwise 0 */
} cells_feature;
enum { CELLS_CACHE = 128 };

/* Conversion of a distance to a value. */
typedef struct cells_rule {
    float margin;
    double error;    /* e, in the scaled frame */
    double to_world; /* 1 / scale */
    double band;     /* in world units */
} cells_rule;

/* Converts a distance d of the scaled frame to a value. Returns whether the value is certain. */
static inline bool cells_value(const cells_rule *rule, double d, float *value) {
    double lo = (d - rule->error) * rule->to_world, hi = (d + rule->error) * rule->to_world;
    *value = (float)(lo < rule->band ? lo : rule->band);
    return d > rule->error && *value == (float)(hi < rule->band ? hi : rule->band);
}

/* ---- sign_rows.c: winding numbers along rows of cells ---- */

/* A box of cells. */
typedef struct cells_span {
    uint32_t begin[3], count[3];
} cells_span;

/* Winding numbers of a box of cells, x fastest. */
typedef struct sign_rows {
    cells_span cells;
    int32_t *winding;       /* only set in rows that the surface crosses; 0 in all others */
    unsigned char *inside;  /* 1 or 0 */
    unsigned char *crossed; /* for each row, 1 if the surface crosses it */
} sign_rows;

static inline size_t sign_rows_at(const sign_rows *rows, const uint32_t cell[3]) {
    const uint32_t *begin = rows->cells.begin;
    return grid_at(rows->cells.count, cell[0] - begin[0], cell[1] - begin[1], cell[2] - begin[2]);
}

static inline size_t sign_rows_row(const sign_rows *rows, const uint32_t cell[3]) {
    const uint32_t *begin = rows->cells.begin;
    return (cell[1] - begin[1]) + (size_t)rows->cells.count[1] * (cell[2] - begin[2]);
}

/* Computes for each cell how often its row along x crosses the surface before the cell, with signs.
 * Without boundary edges this is the winding number. Cells whose number is not 0 are set as inside,
 * preliminarily. Results for cells on the surface are undefined. */
void abuti_sign_rows(const abut_bvh *bvh, const abut_grid *grid, sign_rows *rows);

/* ---- sign_open.c: signs of surfaces with boundary edges ---- */

/* Finds which cells of a span are inside, if one winding number decides them, or always. `rows` has
 * the crossings and receives the results. Returns whether it did. Results for cells at distance 0
 * are undefined. abuti_sign_boundary() has been called. */
bool abuti_sign_open(const abut_bvh *bvh, const abut_grid *grid, const sign_rows *rows,
                     const cells_span *span, bool always);

#endif
