/* Distances of cells from lists of features: what compute.c and its loops share.
 *
 * Problem: the distance at every cell of a grid. Neighbouring cells have the same few features
 * (faces, edges, vertices; nearest/features.h) nearest to them, and a search for each finds them
 * again.
 * Method: a list holds every feature that can be nearest to some cell of a box. That of a large box
 * comes from the hierarchy, that of a smaller box inside it is what is left when the features that
 * cannot be nearest in there are taken out: by their distance, or because the box is outside the
 * region in which the feature is nearest to anything. Sixteen cells are then measured against the
 * few features that are left. All of that is in floats, many lanes at once; the distance from the
 * one feature that wins is found once more in doubles.
 *
 * Nothing that wins is lost. All is in the frame of the hierarchy. Let p be a cell and q the point
 * of the mesh that is nearest to it, exactly, on the inside of a feature F. Then p is in the region
 * of F: no way along the mesh leads from q nearer to p. With e = 2^-24, P the largest coordinate of
 * p, and 2 that of the mesh, t of features.h errs by the rounding of p and of the place, sqrt(3) e
 * (P + 2), and by that of the difference r, the unit vector and the product of both, 5 e |r|; |r|
 * is at most sqrt(3) (P + 2), so that it is less than 10.4 e (P + 2) in all. Distances are no
 * worse. The margin m is 16 e (P + 2): F passes every test that has this margin. Only a face lower
 * than FEATURE_HEIGHT is no feature: where q is on such a needle an edge of it or a vertex is at
 * most 2^-21 from q, which is less than m / 2, and passes by distance. Edges and vertices of
 * needles are marked, and have no regions but for the ends of edges. Where a marked feature is
 * among those that may win, the search is asked.
 *
 * The last step. Features within 2 m of the least distance and within m of their region may win, F
 * among them, and the distance is that of p to the plane, the line or the vertex of F. Mostly there
 * is only one. With u = 2^-53 and L the largest coordinate difference of p and the mesh, it errs
 * by:
 *   - p and the vertices relative to the origin of the mesh, and their difference: 4 u L;
 *   - directions of edges and normals are good to 8 u, but that a normal may turn about the longest
 *     edge by 8 u L / h, where h is the height over it; the place is on that edge, so that p, which
 *     is over the face, is no further from it than h: 8 u L more;
 *   - products, sums and the root: 10 u L.
 * That is less than 32 u L in all; the search errs by 4 ulp, 8 u L (geom/closest_shared.h). We take
 * 128 u L for e. If d - e and d + e are the same float, that is the float of the search, whatever
 * its last bits are. Else, and where d is not above e, the search is asked.
 * Where there are several, let d be the least of all. That of F is no less. Others may be too low:
 * p may be outside their region by up to m at two borders, and then the true distance, which is not
 * below that of F, is at most sqrt(d^2 + 2 m^2). (We take 4 m^2.) So the distance of F is in
 * between, and no more than the greatest. If all of that is one float, it is the value. Else these
 * features are measured as they are, with their ends.
 */
#ifndef ABUTI_FIELD_BUILD_CELLS_H
#define ABUTI_FIELD_BUILD_CELLS_H

#include "base/base.h"
#include "bvh/bvh.h"
#include "nearest/features.h"
#include "nearest/lists.h"

#include "field/field.h"

#include <math.h>

enum { CELLS_GROUP = 16 };

/* An odd number of groups, so that columns do not get into each other's way in the cache. */
static inline uint32_t cells_stride(uint32_t count) {
    return (((count + CELLS_GROUP - 1) / CELLS_GROUP + 1) | 1) * CELLS_GROUP;
}

/* ---- table.c: the features of a hierarchy ---- */

/* A row is a feature_record without the kind; the offset of faces is negative. */
enum {
    CELLS_PLACE = 0,
    CELLS_OFFSET = 3,
    CELLS_FIRST = 4,
    CELLS_THIRD_X = 7,
    CELLS_SECOND = 8,
    CELLS_THIRD_Y = 11,
    CELLS_FOURTH = 12,
    CELLS_THIRD_Z = 15,
    CELLS_COLUMNS = 16,
};
typedef struct cells_row {
    float column[CELLS_COLUMNS];
} cells_row;

typedef struct cells_table {
    const abut_bvh *bvh;
    abuti_features features; /* their records are the rows */
    cells_row *rows;
    const feature_support *exact; /* of the features */
    float *columns;               /* the rows again, as one list */
    uint32_t stride;
} cells_table;

/* Some 700 bytes a triangle. */
abut_status abuti_cells_create(const abut_bvh *bvh, cells_table *table);
void abuti_cells_destroy(cells_table *table);

/* ---- lists ---- */

/* Column c of all features begins at c x stride. Behind the last there is room for a group, and up
 * to the next multiple of a group it is there again. Faces stand first, then edges. */
typedef struct cells_list {
    uint32_t count, stride;
    float *columns;
    uint32_t *names; /* rows of the table */
} cells_list;

/* A box of cells in the frame. */
typedef struct cells_box {
    float centre[3], half[3];
    float margin;
    float reach; /* distances beyond are of no interest; may be infinite */
} cells_box;

static inline float cells_margin(float largest) {
    return 0x1p-20f * (largest + 2);
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

/* Of sixteen cells: the nearest feature of each by its place in a list, the squares of its distance
 * and of the next, and those of all features where there are not too many: infinite where a cell is
 * outside the region of a feature. */
enum { CELLS_KEPT = 1024 };
typedef struct cells_winners {
    float best[CELLS_COUNT], next[CELLS_COUNT], place[CELLS_COUNT];
    float square[CELLS_KEPT][CELLS_COUNT];
} cells_winners;

/* Features no farther than that from cell i may win it. */
static inline float cells_reach_sq(const cells_winners *w, const cells_rule *rule, uint32_t i) {
    float reach = sqrtf(w->best[i]) + 2 * rule->margin;
    return reach * reach * NEAREST_SLACK;
}

/* The loops over lists; for 4, 8 or 16 lanes, with the same outcome but for rounding. */
typedef struct cells_kernel {
    /* Fills the columns of a list with rows of the table. */
    void (*gather)(const cells_row *rows, cells_list *list);
    /* The same, where they are those of another list at some places, ascending. */
    void (*take)(const cells_row *rows, const cells_list *from, const uint32_t *places,
                 cells_list *list);
    /* Finds which features of a list can be nearest in a box: their places in the list, in order.
     * `scratch` has room for 2 floats and `kept` for one number of each feature, and for a group
     * more. `nearest` is how far the centre is from the nearest of them, within the margin, if the
     * list has all that are nearest within. */
    uint32_t (*filter)(const cells_list *list, const cells_box *box, float *scratch, uint32_t *kept,
                       float *nearest);
    /* Measures all cells. Gives those, as bits, whose value is not certain. */
    unsigned (*measure)(const cells_table *table, const uint32_t *names, uint32_t count,
                        const cells_lanes *const at[3], const cells_rule *rule,
                        cells_winners *winners, float values[CELLS_COUNT]);
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

/* ---- sign_open.c: signs where there is a border ---- */

typedef struct sign_border {
    uint32_t count;
    /* Of each edge, relative to the mesh's origin: its middle, direction and half its length, in
     * the frame, up to a multiple of four; and its box but for the greatest x. */
    float *middle[3], *along[3], *half;
    double *lo[3], *hi[2];
    double *memory; /* all of them */
} sign_border;

/* Of a mesh with a border. */
abut_status abuti_sign_border(const abut_bvh *bvh, sign_border *border);
void abuti_sign_border_destroy(const abut_bvh *bvh, sign_border *border);

/* Finds which cells of a span are inside, as abut_sign_nearest() does: `rows` has the
 * crossings, and gets the answers. The distances of a block, `side` along each axis from the begin
 * of the span on, are not above the true ones but for the rounding to floats; of cells with
 * distance 0 nothing is known. */
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
