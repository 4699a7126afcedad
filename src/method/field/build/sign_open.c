/* Signs of blocks of cells of a surface with boundary edges.
 *
 * Problem: a cell is inside if the winding number is at least 1/2. The fast winding number
 * (sign/winding.c) decides, and within its error of 1/2 the exact one of strips_shared.h does. Both
 * need a BVH traversal for each cell.
 *
 * Method: away from the surface the true number w changes smoothly, and only because of the
 * boundary. Its gradient is that of the solid angle of the boundary loops (law of Biot and Savart),
 * |grad w| <= 1 / (4 pi) sum over boundary edges of integral dl / r^2. One fast number at a cell c
 * in the middle of a block, and a bound of the change over the block, decide the sign of all cells,
 * unless w may come near 1/2. Then the block is split, down to single cells with their own fast
 * number.
 *
 * If the surface passes through the block, w jumps there. Close the surface by strips from the
 * boundary edges to infinity along x. The closed surface winds around a point p, which is on none
 * of them, as often as the row of p crosses the surface before p: an integer W (sign_rows.c). w - W
 * is the part of the strips (see abuti_sign_crossing_solids()). It is smooth in a block that no
 * strip intersects, with the same bound. So w(p) = w(c) - W(c) + W(p) up to the bound.
 *
 * If a strip intersects the block, an integer n(p) is added, which is constant along a row, since
 * strips are parallel to rows. Between neighbouring cells p and q with no surface between them, w
 * does not jump, so W(q) + n(q) = W(p) + n(p). From row to row this gives n for all rows.
 *
 * Guarantee: the error of fast numbers is at most 0.01 (guaranteed by bvh.h) if the surface is not
 * too near (sign_near()), which holds at c. At p, no sign that is nearer to 1/2 than that is
 * derived from another cell. So signs do not depend on the BVH, and a device finds the same
 * (field_sides.cl), unless there are more boundary edges than STRIPS_MAX.
 */
#include "field/build/cells.h"

#include "base/simd.h"
#include "sign/sign.h"
#include "sign/strips_shared.h"

#include <assert.h>
#include <math.h>

#define FAST_ERROR 0.021 /* two fast numbers, and rounding */

enum { ROWS_MAX = FIELD_BRICK * FIELD_BRICK }; /* of a block */

typedef struct open_sign_job {
    const abut_bvh *bvh;
    const abut_grid *grid;
    const sign_boundary *border;
    const sign_rows *rows;
    const cells_span *block;
    uint32_t side;
    const float *distances; /* null if no surface is near */
} open_sign_job;

/* ---- blocks ---- */

static double fast_winding(const open_sign_job *o, const uint32_t cell[3]) {
    return abuti_sign_winding(o->bvh, bvh_sign_of(o->bvh)->far,
                              grid_centre(o->grid, cell[0], cell[1], cell[2]));
}

bool abuti_sign_open_at(const abut_bvh *bvh, const sign_boundary *border, vec3 point,
                        double distance) {
    return abuti_sign_open_inside(bvh, border->solid,
                                  abuti_sign_winding(bvh, bvh_sign_of(bvh)->far, point), point,
                                  distance);
}

/* A lower bound of the distance of a cell from the surface. */
static double distance_bound_at(const open_sign_job *o, const uint32_t cell[3]) {
    if (!o->distances)
        return INFINITY;
    const uint32_t *begin = o->block->begin;
    size_t place =
        (cell[0] - begin[0]) +
        (size_t)o->side * ((cell[1] - begin[1]) + (size_t)o->side * (cell[2] - begin[2]));
    return real_min(o->distances[place] * (1 - 1e-6), FLT_MAX);
}

static bool is_inside(const open_sign_job *o, const uint32_t cell[3]) {
    return abuti_sign_open_at(o->bvh, o->border, grid_centre(o->grid, cell[0], cell[1], cell[2]),
                              distance_bound_at(o, cell));
}

/* Whether no surface is between the cells of a span: no point between them is farther from the
 * nearest cell than half the diagonal of a cell. `more` is for rounding. */
static bool is_clear(const open_sign_job *o, const cells_span *s, double more) {
    const float least = (float)((sqrt(0.75) * o->grid->cell + more) * (1 + 1e-5));
    unsigned near = 0;
    for (uint32_t k = 0; k < s->count[2] && !near; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t *begin = o->block->begin;
            const float *row = o->distances + (s->begin[0] - begin[0]) +
                               (size_t)o->side * ((s->begin[1] + j - begin[1]) +
                                                  (size_t)o->side * (s->begin[2] + k - begin[2]));
            for (uint32_t i = 0; i < s->count[0]; i++)
                near |= !(row[i] > least);
        }
    return !near;
}

/* W of a cell. */
static int32_t winding_at(const open_sign_job *o, const uint32_t cell[3]) {
    return o->rows->crossed[sign_rows_row(o->rows, cell)]
               ? o->rows->winding[sign_rows_at(o->rows, cell)]
               : 0;
}

/* Sets all cells of a span to the same side. */
static void set_span_inside(const open_sign_job *o, const cells_span *s, bool inside) {
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            memset(o->rows->inside + sign_rows_at(o->rows, cell), inside, s->count[0]);
        }
}

/* Sets cells of a row to facing W + rest >= 1/2, where rest + 1/2 is not close to an integer. */
static void set_row(const open_sign_job *o, const uint32_t cell[3], uint32_t count, double rest) {
    const bool up = bvh_sign_of(o->bvh)->facing > 0;
    const size_t at = sign_rows_at(o->rows, cell);
    const int32_t *winding = o->rows->winding + at, least = (int32_t)ceil(0.5 - rest);
    unsigned char *inside = o->rows->inside + at;
    if (!o->rows->crossed[sign_rows_row(o->rows, cell)])
        memset(inside, 0 >= least, count);
    else if (up)
        for (uint32_t i = 0; i < count; i++)
            inside[i] = winding[i] >= least;
    else
        for (uint32_t i = 0; i < count; i++)
            inside[i] = -winding[i] >= least;
}

static void set_each_row(const open_sign_job *o, const cells_span *s, double rest) {
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            set_row(o, cell, s->count[0], rest);
        }
}

/* Decides each cell by its own winding number. */
static void decide_each_cell(const open_sign_job *o, const cells_span *s) {
    uint32_t cell[3];
    for (cell[2] = s->begin[2]; cell[2] < s->begin[2] + s->count[2]; cell[2]++)
        for (cell[1] = s->begin[1]; cell[1] < s->begin[1] + s->count[1]; cell[1]++)
            for (cell[0] = s->begin[0]; cell[0] < s->begin[0] + s->count[0]; cell[0]++)
                o->rows->inside[sign_rows_at(o->rows, cell)] = is_inside(o, cell);
}

/* ---- rows that strips intersect ---- */

/* The rows of a span, and the integers n that are added along them; see above. */
typedef struct row_jumps {
    const cells_span *s;
    double clear; /* from a cell that is farther from the surface than this, no surface is between
                     it and the next */
    uint32_t count[2];      /* rows along y and z */
    int32_t jump[ROWS_MAX]; /* n */
    unsigned char is_known[ROWS_MAX];
} row_jumps;

/* A cell of a row. */
static void row_cell(const row_jumps *rows, uint32_t row, uint32_t i, uint32_t cell[3]) {
    cell[0] = rows->s->begin[0] + i;
    cell[1] = rows->s->begin[1] + row % rows->count[0];
    cell[2] = rows->s->begin[2] + row / rows->count[0];
}

/* Derives n of a row from that of a neighbouring row, if they have cells with no surface between.
 */
static bool link_row(const open_sign_job *o, row_jumps *rows, uint32_t known, uint32_t other) {
    for (uint32_t i = 0; i < rows->s->count[0]; i++) {
        uint32_t p[3], q[3];
        row_cell(rows, known, i, p);
        row_cell(rows, other, i, q);
        if (!(distance_bound_at(o, p) > rows->clear || distance_bound_at(o, q) > rows->clear))
            continue;
        rows->jump[other] = rows->jump[known] + winding_at(o, p) - winding_at(o, q);
        rows->is_known[other] = 1;
        return true;
    }
    return false;
}

/* Propagates n from a row to all rows that can be reached. */
static void link_rows(const open_sign_job *o, row_jumps *rows, uint32_t first) {
    uint32_t stack[ROWS_MAX], used = 0; /* a row is pushed once */
    stack[used++] = first;
    rows->is_known[first] = 1;
    while (used) {
        const uint32_t row = stack[--used], at[2] = {row % rows->count[0], row / rows->count[0]};
        for (int side = 0; side < 4; side++) {
            uint32_t to[2] = {at[0], at[1]};
            to[side / 2] +=
                side % 2 ? 1 : UINT32_MAX; /* UINT32_MAX = -1: wraps to a value above the count */
            const uint32_t next = to[0] + rows->count[0] * to[1];
            if (to[0] < rows->count[0] && to[1] < rows->count[1] && !rows->is_known[next] &&
                link_row(o, rows, row, next)) {
                assert(used < ROWS_MAX);
                stack[used++] = next;
            }
        }
    }
}

/* Derives n of an unreachable row from the fast number of a cell that is not too near to the
 * surface. */
static bool sample_row(const open_sign_job *o, row_jumps *rows, uint32_t row, double rest) {
    for (uint32_t i = 0; i < rows->s->count[0]; i++) {
        uint32_t cell[3];
        row_cell(rows, row, i, cell);
        if (!(distance_bound_at(o, cell) > sign_near(o->bvh)))
            continue;
        rows->jump[row] = (int32_t)rint(fast_winding(o, cell) - winding_at(o, cell) -
                                        bvh_sign_of(o->bvh)->facing * rest);
        return true;
    }
    return false;
}

/* Decides all rows of a span. `rest` is that of one cell, valid up to an integer. */
static void set_rows(const open_sign_job *o, const cells_span *s, const uint32_t cell[3],
                     double more, double rest) {
    row_jumps rows = {.s = s, .clear = o->grid->cell + more, .count = {s->count[1], s->count[2]}};
    link_rows(o, &rows, cell[1] - s->begin[1] + rows.count[0] * (cell[2] - s->begin[2]));
    for (uint32_t row = 0; row < rows.count[0] * rows.count[1]; row++) {
        cells_span all = {.count = {s->count[0], 1, 1}};
        row_cell(&rows, row, 0, all.begin);
        if (!rows.is_known[row] && sample_row(o, &rows, row, rest))
            link_rows(o, &rows, row);
        if (rows.is_known[row])
            set_row(o, all.begin, s->count[0], rest + bvh_sign_of(o->bvh)->facing * rows.jump[row]);
        else
            decide_each_cell(o, &all);
    }
}

/* ---- spans ---- */

/* Position and extent of a span. */
typedef struct span_place {
    uint32_t cell[3]; /* in the middle */
    vec3 lo, hi;      /* centres of the corner cells */
    double away;      /* largest distance of another cell from the middle one */
    double more;      /* more than the rounding error */
} span_place;

static span_place position_of_span(const open_sign_job *o, const cells_span *s) {
    span_place at;
    uint32_t away = 0;
    for (int k = 0; k < 3; k++) {
        at.cell[k] = s->begin[k] + s->count[k] / 2;
        away += (s->count[k] / 2) * (s->count[k] / 2);
    }
    at.lo = grid_centre(o->grid, s->begin[0], s->begin[1], s->begin[2]);
    at.hi = grid_centre(o->grid, s->begin[0] + s->count[0] - 1, s->begin[1] + s->count[1] - 1,
                        s->begin[2] + s->count[2] - 1);
    at.more =
        0.01 * o->grid->cell + 0x1p-48 * (v3_max_abs(at.hi) + v3_max_abs(o->bvh->mesh->origin));
    at.away = sqrt(away) * o->grid->cell;
    return at;
}

/* Error bound of the fast number of a point for all points within a distance. */
static double error_bound_around(const open_sign_job *o, vec3 p, double distance) {
    const double scale = o->bvh->scale;
    return FAST_ERROR + abuti_sign_boundary_change(o->border,
                                                   v3_scale(v3_sub(p, o->bvh->mesh->origin), scale),
                                                   distance * scale);
}

static bool strips_intersect(const open_sign_job *o, const span_place *at) {
    const vec3 wide = v3(at->more, at->more, at->more), origin = o->bvh->mesh->origin;
    return abuti_sign_boundary_intersects(o->border, v3_sub(v3_sub(at->lo, origin), wide),
                                          v3_add(v3_sub(at->hi, origin), wide));
}

/* Computes w - W of the cell in the middle from its winding number w. Returns false if it does not
 * decide the sides of all cells. */
static bool compute_rest(const open_sign_job *o, const span_place *at, double w, double doubt,
                         double *rest) {
    const double facing = bvh_sign_of(o->bvh)->facing;
    *rest = w * facing - facing * winding_at(o, at->cell);
    return fabs(*rest - 0.5 - rint(*rest - 0.5)) > doubt;
}

/* What a fast number decides: nothing, one cell, cells with no surface between them, or other
 * cells. */
typedef enum sample_kind {
    DECIDES_NOTHING,
    DECIDES_CELL,
    DECIDES_CLEAR_SPAN,
    DECIDES_CROSSED_SPAN
} sample_kind;
typedef struct winding_sample {
    cells_span s;
    span_place at;
    sample_kind kind;
    vec3 point;
    double doubt;
} winding_sample;

static winding_sample make_sample(const open_sign_job *o, const cells_span *s) {
    winding_sample q = {.s = *s, .at = position_of_span(o, s), .kind = DECIDES_CELL};
    const span_place *at = &q.at;
    q.point = grid_centre(o->grid, at->cell[0], at->cell[1], at->cell[2]);
    if (at->away == 0)
        return q;
    q.kind = DECIDES_NOTHING;
    q.doubt = 1;
    const double distance = distance_bound_at(o, at->cell);
    if (distance > at->away + at->more || is_clear(o, s, at->more)) {
        q.kind = DECIDES_CLEAR_SPAN;
        q.point = v3_lerp(at->lo, at->hi, 0.5);
        q.doubt =
            error_bound_around(o, q.point, 0.5 * v3_length(v3_sub(at->hi, at->lo)) + at->more);
    } else if (distance > sign_near(o->bvh)) {
        q.kind = DECIDES_CROSSED_SPAN;
        q.doubt = error_bound_around(o, q.point, at->away + at->more);
    }
    if (!(q.doubt < 0.5))
        q.kind = DECIDES_NOTHING;
    return q;
}

/* Decides all cells of a span by a winding number. Returns false if it does not decide them. */
static bool assign_span_sign(const open_sign_job *o, const winding_sample *q, double w) {
    const double facing = bvh_sign_of(o->bvh)->facing;
    double rest;
    if (q->kind == DECIDES_CELL) {
        set_span_inside(o, &q->s,
                        abuti_sign_open_inside(o->bvh, o->border->solid, w, q->point,
                                               distance_bound_at(o, q->at.cell)));
        return true;
    }
    if (q->kind == DECIDES_CLEAR_SPAN && fabs(w * facing - 0.5) > q->doubt) {
        set_span_inside(o, &q->s, w * facing >= 0.5);
        return true;
    }
    if (q->kind != DECIDES_CROSSED_SPAN || !compute_rest(o, &q->at, w, q->doubt, &rest))
        return false;
    if (strips_intersect(o, &q->at))
        set_rows(o, &q->s, q->at.cell, q->at.more, rest);
    else
        set_each_row(o, &q->s, rest);
    return true;
}

/* Winding numbers for at most eight samples, except those that decide nothing. With more boundary
 * edges than STRIPS_MAX the number is the final result, so it must not depend on the SIMD width. */
static void evaluate_samples(const open_sign_job *o, const winding_sample *samples, uint32_t count,
                             double *w) {
    const bvh_far_node *far = bvh_sign_of(o->bvh)->far;
    vec3 points[8];
    double found[8];
    uint32_t sample_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (samples[i].kind != DECIDES_NOTHING)
            points[sample_count++] = samples[i].point;
    if (sample_count < 3 || o->border->solid->border_count > STRIPS_MAX)
        for (uint32_t i = 0; i < sample_count; i++)
            found[i] = abuti_sign_winding(o->bvh, far, points[i]);
    else
        ABUTI_BY_LANES(abuti_sign_windings)(o->bvh, far, points, sample_count, found);
    for (uint32_t i = 0, k = 0; i < count; i++)
        w[i] = samples[i].kind == DECIDES_NOTHING ? 0 : found[k++];
}

/* Decides at most eight spans. Splits those that one number does not decide. Ends at single cells.
 */
static void decide_spans(const open_sign_job *o, const cells_span *spans, uint32_t count) {
    winding_sample samples[8];
    double w[8];
    for (uint32_t i = 0; i < count; i++)
        samples[i] = make_sample(o, &spans[i]);
    evaluate_samples(o, samples, count, w);
    for (uint32_t i = 0; i < count; i++) {
        const cells_span *s = &spans[i];
        cells_span parts[8];
        uint32_t part_count = 0;
        if (assign_span_sign(o, &samples[i], w[i]))
            continue;
        for (int part = 0; part < 8; part++) {
            cells_span *sub = &parts[part_count];
            bool empty = false;
            for (int k = 0; k < 3; k++) {
                uint32_t first = (s->count[k] + 1) / 2;
                bool second = part >> k & 1;
                sub->begin[k] = s->begin[k] + (second ? first : 0);
                sub->count[k] = second ? s->count[k] - first : first;
                empty = empty || sub->count[k] == 0;
            }
            part_count += !empty;
        }
        decide_spans(o, parts, part_count);
    }
}

void abuti_sign_open(const abut_bvh *bvh, const abut_grid *grid, const sign_boundary *border,
                     const sign_rows *rows, const cells_span *block, uint32_t side,
                     const float *distances) {
    open_sign_job o = {bvh, grid, border, rows, block, side, distances};
    decide_spans(&o, block, 1);
}

bool abuti_sign_open_clear(const abut_bvh *bvh, const abut_grid *grid, const sign_boundary *border,
                           const sign_rows *rows, const cells_span *span, bool always) {
    open_sign_job o = {bvh, grid, border, rows, span, 0, NULL};
    if (!always) {
        const winding_sample q = make_sample(&o, span);
        double w;
        evaluate_samples(&o, &q, 1, &w);
        return assign_span_sign(&o, &q, w);
    }
    decide_spans(&o, span, 1);
    return true;
}

bool abuti_sign_open_through(const abut_bvh *bvh, const abut_grid *grid,
                             const sign_boundary *border, const sign_rows *rows,
                             const cells_span *span) {
    open_sign_job o = {bvh, grid, border, rows, span, 0, NULL};
    span_place at = position_of_span(&o, span);
    vec3 c = grid_centre(grid, at.cell[0], at.cell[1], at.cell[2]);
    double doubt = error_bound_around(&o, c, at.away + at.more), rest;
    abut_nearest nearest;
    if (!(doubt < 0.5) || strips_intersect(&o, &at))
        return false;
    abuti_nearest_point(bvh, c, sign_near(bvh), NULL, &nearest);
    if (nearest.triangle != ABUT_NONE ||
        !compute_rest(&o, &at, fast_winding(&o, at.cell), doubt, &rest))
        return false;
    set_each_row(&o, span, rest);
    return true;
}
