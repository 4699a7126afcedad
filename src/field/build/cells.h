/* Distances of cells from lists of features: what compute.c and its loops share.
 *
 * Method: lists of the features that can be nearest to some cell of a box shrink from large boxes
 * to sixteen cells (nearest/regions.h), and the distance from the one feature that wins is found
 * once more in doubles.
 *
 * The last step. Features within 2 m of the least bound and within m of their region may win, the
 * nearest, F, among them, and the distance is that of p to the plane, the line or the vertex of F.
 * Mostly there is only one. With u = 2^-53 and L the largest coordinate difference of p and the
 * mesh, it errs by:
 *   - p and the vertices relative to the origin of the mesh, and their difference: 4 u L;
 *   - directions of edges and normals are good to 8 u, but that a normal may turn about the longest
 *     edge by 8 u L / h, where h is the height over it; the place is on that edge, so that p, which
 *     is over the face, is no further from it than h: 8 u L more;
 *   - places are floats and rests, good to 2^-44 in each coordinate, sqrt(3) 512 u: less than 444 u
 *     L, as L is at least 2; and directions to 2^-45 each, for ways up to sqrt(3) L: 768 u L;
 *   - products, sums and the root: 10 u L.
 * That is less than 1250 u L with the 4 ulp of the search, 8 u L (geom/closest_shared.h). We take
 * 1280 u L for e. If d - e and d + e are the same float, that is the float of the search,
 * whatever its last bits are. Else, and where d is not above e, the search is asked. Where there
 * are several, that of F is no less than the least of them, and no more than the greatest. Nor is
 * it more than the distance from a point of an edge or a vertex: p may be beyond the ends of an
 * edge by m, so that its line is at d and the edge at most at sqrt(d^2 + m^2). (We take 4 m^2.) If
 * all of that is one float, it is the value. Else these features are measured as they are, by the
 * mesh instead of places and directions: that errs by less than 64 u L, of which we take the
 * double.
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

/* What distances from features are off by, e, where coordinates are at most `largest`; and by how
 * much less where they are measured by the mesh. */
#define CELLS_EXACTER (1.0 / 8)
static inline double cells_error(double largest) {
    return 0x1.4p-43 * (largest + 2);
}

/* Sixteen cells: 4 along x, 2 along y, 2 along z. */
enum { CELLS_X = 4, CELLS_Y = 2, CELLS_Z = 2, CELLS_COUNT = CELLS_X * CELLS_Y * CELLS_Z };
/* A coordinate of each of them, x fastest, in the frame: as it is and rounded. */
typedef struct cells_lanes {
    double exact[CELLS_COUNT];
    float rounded[CELLS_COUNT];
} cells_lanes;

/* How a distance becomes a value. */
typedef struct cells_rule {
    float margin;
    double error;    /* e, in the frame */
    double to_world; /* 1 / scale */
    double band;     /* in the world */
} cells_rule;

/* Whether a distance d of the frame is good enough; gives its value. */
static inline bool cells_value(const cells_rule *rule, double d, float *value) {
    double lo = (d - rule->error) * rule->to_world, hi = (d + rule->error) * rule->to_world;
    *value = (float)(lo < rule->band ? lo : rule->band);
    return d > rule->error && *value == (float)(hi < rule->band ? hi : rule->band);
}

/* For 4, 8 or 16 lanes, with the same outcome but for rounding. */
typedef struct cells_kernel {
    /* Measures all cells. Gives those, as bits, whose value is not certain. */
    unsigned (*measure)(const regions_table *table, const uint32_t *names, uint32_t count,
                        const cells_lanes *const at[3], const cells_rule *rule,
                        regions_winners *winners, float values[CELLS_COUNT]);
} cells_kernel;

/* cells_lanes.c; ABUTI_BY_LANES(abuti_cells) is the quickest that runs here. */
extern const cells_kernel abuti_cells_4, abuti_cells_8, abuti_cells_16;

/* ---- sign_rows.c: winding numbers along rows of cells ---- */

/* A box of cells. */
typedef struct cells_span {
    uint32_t begin[3], count[3];
} cells_span;

/* A number for each cell of a box, x fastest. */
typedef struct sign_rows {
    cells_span cells;
    int32_t *winding;       /* of rows that are crossed; of others it is 0, and not here */
    unsigned char *inside;  /* 1 or 0 */
    unsigned char *crossed; /* of a row: 1 where the surface is crossed */
} sign_rows;

static inline size_t sign_rows_at(const sign_rows *rows, const uint32_t cell[3]) {
    const uint32_t *begin = rows->cells.begin;
    return grid_at(rows->cells.count, cell[0] - begin[0], cell[1] - begin[1], cell[2] - begin[2]);
}

static inline size_t sign_rows_row(const sign_rows *rows, const uint32_t cell[3]) {
    const uint32_t *begin = rows->cells.begin;
    return (cell[1] - begin[1]) + (size_t)rows->cells.count[1] * (cell[2] - begin[2]);
}

/* How often the surface is crossed on the way along x to each cell, counted by the side: the
 * winding number where there is no border. Those where it is not 0 are inside, for now. Of cells on
 * the surface nothing is known. */
void abuti_sign_rows(const abut_bvh *bvh, const abut_grid *grid, sign_rows *rows);

/* ---- border.c: the border of a surface ---- */

enum { BORDER_WIDTH = 4, BORDER_LEVELS = 17 };

/* Four edges, or balls of four groups each. In the frame, relative to the mesh's origin: middle,
 * direction and half the length of an edge, or of all edges of a ball; and the radius of that. And
 * the box but for the greatest x, as it is. */
typedef struct border_group {
    float middle[3][BORDER_WIDTH], along[3][BORDER_WIDTH], half[BORDER_WIDTH], radius[BORDER_WIDTH];
    double lo[3][BORDER_WIDTH], hi[2][BORDER_WIDTH];
} border_group;

typedef struct sign_border {
    const bvh_solid *solid;
    border_group *groups;
    uint32_t levels, first[BORDER_LEVELS]; /* edges first; the last level is one group */
} sign_border;

/* Of a mesh with a border. */
abut_status abuti_sign_border(const abut_bvh *bvh, sign_border *border);
void abuti_sign_border_destroy(const abut_bvh *bvh, sign_border *border);

/* How much the winding number can change within rho of a point, in the frame; any number from 1/2
 * on is as good as another. The integral over an edge (see sign_open.c) is at most its length over
 * the square of its distance, less rho. Floats err by less than 2^-19 in that where coordinates are
 * no more than 8 (where the place on the edge that they take for the nearest is not quite that, it
 * is farther by no more than it is off), and what is added up by far less than we take for it. */
double abuti_sign_border_change(const sign_border *border, vec3 p, double rho);
/* Whether the strip from an edge to infinity along x may pass through a box. */
bool abuti_sign_border_meets(const sign_border *border, vec3 lo, vec3 hi);

/* ---- sign_open.c: signs where there is a border ---- */

/* Whether a point at some distance is inside. */
bool abuti_sign_open_at(const abut_bvh *bvh, const sign_border *border, vec3 point,
                        double distance);

/* Finds which cells of a span are inside, as abuti_sign_open_at() does: `rows` has the crossings,
 * and gets the answers. The distances of a block, `side` along each axis from the begin of the span
 * on, are not above the true ones but for the rounding to floats; of cells with distance 0 nothing
 * is known. */
void abuti_sign_open(const abut_bvh *bvh, const abut_grid *grid, const sign_border *border,
                     const sign_rows *rows, const cells_span *block, uint32_t side,
                     const float *distances);
/* The same for a span that no surface passes through. False, and nothing done, where not all cells
 * can be settled at once; `always`: one by one, then. */
bool abuti_sign_open_clear(const abut_bvh *bvh, const abut_grid *grid, const sign_border *border,
                           const sign_rows *rows, const cells_span *span, bool always);
/* The same for a span that a surface may pass through, before distances are known. False, and
 * nothing done, where not all cells can be settled at once. */
bool abuti_sign_open_through(const abut_bvh *bvh, const abut_grid *grid, const sign_border *border,
                             const sign_rows *rows, const cells_span *span);

#endif
