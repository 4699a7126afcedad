/* Signs of boxes of cells of a surface with boundary edges.
 *
 * Problem: a cell is inside if its winding number w is at least 1/2. w = N - S, where N counts the
 * crossings of the row of the cell, towards lower x (sign_rows.c), and S is the solid angle of the
 * strips that extend from the boundary edges along x (sign/boundary_shared.h).
 *
 * Method: S is computed in the middle of a box of cells, with a bound of its change over the box.
 * N is an integer, so the signs are decided unless some integer minus S is within the bound of 1/2.
 * Otherwise, and if a strip may pass through the box, the box is halved. Rows are parallel to the
 * strips, so no strip passes between the cells of a row. For a single cell the error is reduced
 * until it decides.
 *
 * Guarantee: the sign is correct unless |w - 1/2| is less than 1e-12 (see sign/boundary_shared.h).
 */
#include "field/build/cells.h"
#include "sign/sign.h"

#include <math.h>

typedef struct open_sign_job {
    const abut_bvh *bvh;
    const abut_grid *grid;
    const sign_rows *rows;
    boundary_view boundary;
    int32_t facing;
} open_sign_job;

/* Sets all cells of a span to facing (N - S) >= 1/2; that is not close to an equality. */
static void set_span(const open_sign_job *o, const cells_span *s, double shift) {
    const int32_t least = (int32_t)ceil(0.5 + o->facing * shift);
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            const size_t at = sign_rows_at(o->rows, cell);
            const int32_t *winding = o->rows->winding + at;
            unsigned char *inside = o->rows->inside + at;
            if (!o->rows->crossed[sign_rows_row(o->rows, cell)])
                memset(inside, 0 >= least, s->count[0]);
            else
                for (uint32_t i = 0; i < s->count[0]; i++)
                    inside[i] = o->facing * winding[i] >= least;
        }
}

static void set_cell(const open_sign_job *o, const uint32_t cell[3]) {
    const box3 *box = &o->bvh->mesh->bounds;
    const size_t at = sign_rows_at(o->rows, cell);
    axis_ray ray = {grid_centre(o->grid, cell[0], cell[1], cell[2]), 0, 0};
    const bool crossed =
        axis_ray_along_x(&ray, box->lo, box->hi) && o->rows->crossed[sign_rows_row(o->rows, cell)];
    o->rows->inside[at] =
        (unsigned char)boundary_inside(&o->boundary, &ray, crossed ? o->rows->winding[at] : 0,
                                       o->facing);
}

/* Decides all cells of a span by one number. Returns the result of boundary_decide_box(). */
static int decide_span(const open_sign_job *o, const cells_span *s) {
    const vec3 lo = grid_centre(o->grid, s->begin[0], s->begin[1], s->begin[2]),
               hi = grid_centre(o->grid, s->begin[0] + s->count[0] - 1,
                                s->begin[1] + s->count[1] - 1, s->begin[2] + s->count[2] - 1);
    double shift;
    const int decided = boundary_decide_box(&o->boundary, lo, hi, o->grid->cell, &shift);
    if (decided > 0)
        set_span(o, s, shift);
    return decided;
}

/* Decides a span. Splits it if one number does not decide it, down to single cells. */
static void divide_span(const open_sign_job *o, const cells_span *s) {
    if (s->count[0] * s->count[1] * s->count[2] == 1) {
        set_cell(o, s->begin);
        return;
    }
    const int decided = decide_span(o, s);
    if (decided > 0)
        return;
    int axis = s->count[2] > s->count[1] ? 2 : 1;
    if (s->count[axis] == 1 || (!decided && s->count[0] > s->count[axis]))
        axis = 0;
    cells_span parts[2] = {*s, *s};
    parts[0].count[axis] /= 2;
    parts[1].begin[axis] += parts[0].count[axis];
    parts[1].count[axis] -= parts[0].count[axis];
    divide_span(o, &parts[0]);
    divide_span(o, &parts[1]);
}

bool abuti_sign_open(const abut_bvh *bvh, const abut_grid *grid, const sign_rows *rows,
                     const cells_span *span, bool always) {
    const struct bvh_sign *sign = bvh_sign_of(bvh);
    const open_sign_job o = {bvh, grid, rows, abuti_sign_boundary_view(bvh),
                             sign->facing > 0 ? 1 : -1};
    if (!always)
        return decide_span(&o, span) > 0;
    divide_span(&o, span);
    return true;
}
