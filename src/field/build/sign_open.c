/* Signs of blocks of cells around a surface with a border.
 *
 * Problem: a cell is inside where the winding number is at least 1/2. The fast one (sign/winding.c)
 * tells, and nearer to 1/2 than it may be wrong by, that of strips_shared.h; both take a walk of
 * the hierarchy for each cell. Method: the true number w changes smoothly away from the surface,
 * and only because of the border: its gradient is that of the solid angle of the border's loops
 * (the law of Biot and Savart), |grad w| <= 1 / (4 pi) sum over border edges of integral dl / r^2.
 * One fast number at a cell c in the middle of a block and a bound of the change over the block
 * settle the sign of all cells, unless w may come near 1/2; then the block is cut, down to single
 * cells that ask the fast number itself. Where the surface passes through the block, w jumps there.
 * Close the surface by strips from the border edges to infinity along x: around a point p, which is
 * on none of them, the whole winds as often as the row of p crosses the surface before p, a whole
 * number W (sign_rows.c), and w - W is the part of the strips (see abuti_sign_crossing_solids()).
 * That is smooth in a block which no strip passes, with the same bound. So w(p) = w(c) - W(c) +
 * W(p) but for the bound. Where a strip passes, a whole number n(p) is added, which is the same
 * along a row, since strips run along rows. From a cell p to a cell q next to it, with no surface
 * between, w does not jump, so that W(q) + n(q) = W(p) + n(p): from row to row that gives n for all
 * of them. Guarantee: fast numbers are off by 0.01 at most (which bvh.h promises) where the surface
 * is not too near (sign_near()), as it is not at c; and at p: no sign that is nearer to 1/2 than
 * that is taken from elsewhere. So signs depend on no hierarchy, and a device finds the same
 * (field_sides.cl), unless there are more border edges than STRIPS_MAX.
 */
#include "field/build/cells.h"

#include "base/simd.h"
#include "sign/sign.h"
#include "sign/strips_shared.h"

#include <math.h>

#define FAST_ERROR 0.021 /* two fast numbers, and rounding */

enum { ROWS_MAX = FIELD_BRICK * FIELD_BRICK }; /* of a block */

typedef struct opening {
    const abut_bvh *bvh;
    const abut_grid *grid;
    const sign_border *border;
    const sign_rows *rows;
    const cells_span *block;
    uint32_t side;
    const float *distances; /* null where no surface is near */
} opening;

/* ---- blocks ---- */

static double fast_winding(const opening *o, const uint32_t cell[3]) {
    return abuti_sign_winding(o->bvh, bvh_sign_of(o->bvh)->far,
                              grid_centre(o->grid, cell[0], cell[1], cell[2]));
}

bool abuti_sign_open_at(const abut_bvh *bvh, const sign_border *border, vec3 point,
                        double distance) {
    return abuti_sign_open_inside(bvh, border->solid,
                                  abuti_sign_winding(bvh, bvh_sign_of(bvh)->far, point), point,
                                  distance);
}

/* How far the surface is from a cell, at least. */
static double distance_of(const opening *o, const uint32_t cell[3]) {
    if (!o->distances)
        return INFINITY;
    const uint32_t *begin = o->block->begin;
    size_t place =
        (cell[0] - begin[0]) +
        (size_t)o->side * ((cell[1] - begin[1]) + (size_t)o->side * (cell[2] - begin[2]));
    return real_min(o->distances[place] * (1 - 1e-6), FLT_MAX);
}

static bool is_inside(const opening *o, const uint32_t cell[3]) {
    return abuti_sign_open_at(o->bvh, o->border, grid_centre(o->grid, cell[0], cell[1], cell[2]),
                              distance_of(o, cell));
}

/* Whether no surface is between the cells of a span: no point there is farther from the nearest of
 * them than half the diagonal of a cell. `more` is for rounding. */
static bool is_clear(const opening *o, const cells_span *s, double more) {
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
static int32_t winding_at(const opening *o, const uint32_t cell[3]) {
    return o->rows->crossed[sign_rows_row(o->rows, cell)]
               ? o->rows->winding[sign_rows_at(o->rows, cell)]
               : 0;
}

/* Sets all cells of a span to the same. */
static void set_all(const opening *o, const cells_span *s, bool inside) {
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            memset(o->rows->inside + sign_rows_at(o->rows, cell), inside, s->count[0]);
        }
}

/* Sets cells of a row to facing W + rest >= 1/2, where rest + 1/2 is not nearly a whole number. */
static void set_row(const opening *o, const uint32_t cell[3], uint32_t count, double rest) {
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

static void set_each_row(const opening *o, const cells_span *s, double rest) {
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            set_row(o, cell, s->count[0], rest);
        }
}

/* Cells one by one. */
static void ask_all(const opening *o, const cells_span *s) {
    uint32_t cell[3];
    for (cell[2] = s->begin[2]; cell[2] < s->begin[2] + s->count[2]; cell[2]++)
        for (cell[1] = s->begin[1]; cell[1] < s->begin[1] + s->count[1]; cell[1]++)
            for (cell[0] = s->begin[0]; cell[0] < s->begin[0] + s->count[0]; cell[0]++)
                o->rows->inside[sign_rows_at(o->rows, cell)] = is_inside(o, cell);
}

/* ---- rows where strips pass ---- */

/* The rows of a span, and whole numbers that are added along them; see above. */
typedef struct row_jumps {
    const cells_span *s;
    double clear;      /* from a cell that is farther from the surface there is none to the next */
    uint32_t count[2]; /* rows along y and z */
    int32_t jump[ROWS_MAX]; /* n */
    unsigned char is_known[ROWS_MAX];
} row_jumps;

/* A cell of a row. */
static void row_cell(const row_jumps *rows, uint32_t row, uint32_t i, uint32_t cell[3]) {
    cell[0] = rows->s->begin[0] + i;
    cell[1] = rows->s->begin[1] + row % rows->count[0];
    cell[2] = rows->s->begin[2] + row / rows->count[0];
}

/* Gives a row its number from that of the next, if they have cells with no surface between. */
static bool link_row(const opening *o, row_jumps *rows, uint32_t known, uint32_t other) {
    for (uint32_t i = 0; i < rows->s->count[0]; i++) {
        uint32_t p[3], q[3];
        row_cell(rows, known, i, p);
        row_cell(rows, other, i, q);
        if (!(distance_of(o, p) > rows->clear || distance_of(o, q) > rows->clear))
            continue;
        rows->jump[other] = rows->jump[known] + winding_at(o, p) - winding_at(o, q);
        rows->is_known[other] = 1;
        return true;
    }
    return false;
}

/* Goes from a row to all that can be reached. */
static void link_rows(const opening *o, row_jumps *rows, uint32_t first) {
    uint32_t stack[ROWS_MAX], used = 0; /* a row gets there once */
    stack[used++] = first;
    rows->is_known[first] = 1;
    while (used) {
        const uint32_t row = stack[--used], at[2] = {row % rows->count[0], row / rows->count[0]};
        for (int side = 0; side < 4; side++) {
            uint32_t to[2] = {at[0], at[1]};
            to[side / 2] += side % 2 ? 1 : UINT32_MAX; /* before the first is after the last */
            const uint32_t next = to[0] + rows->count[0] * to[1];
            if (to[0] < rows->count[0] && to[1] < rows->count[1] && !rows->is_known[next] &&
                link_row(o, rows, row, next))
                stack[used++] = next;
        }
    }
}

/* Gives a row that cannot be reached its number from the fast one of a cell that is not too near to
 * the surface for that. */
static bool ask_row(const opening *o, row_jumps *rows, uint32_t row, double rest) {
    for (uint32_t i = 0; i < rows->s->count[0]; i++) {
        uint32_t cell[3];
        row_cell(rows, row, i, cell);
        if (!(distance_of(o, cell) > sign_near(o->bvh)))
            continue;
        rows->jump[row] = (int32_t)rint(fast_winding(o, cell) - winding_at(o, cell) -
                                        bvh_sign_of(o->bvh)->facing * rest);
        return true;
    }
    return false;
}

/* Settles all rows of a span: `rest` is that of a cell, and holds but for whole numbers. */
static void set_rows(const opening *o, const cells_span *s, const uint32_t cell[3], double more,
                     double rest) {
    row_jumps rows = {.s = s, .clear = o->grid->cell + more, .count = {s->count[1], s->count[2]}};
    link_rows(o, &rows, cell[1] - s->begin[1] + rows.count[0] * (cell[2] - s->begin[2]));
    for (uint32_t row = 0; row < rows.count[0] * rows.count[1]; row++) {
        cells_span all = {.count = {s->count[0], 1, 1}};
        row_cell(&rows, row, 0, all.begin);
        if (!rows.is_known[row] && ask_row(o, &rows, row, rest))
            link_rows(o, &rows, row);
        if (rows.is_known[row])
            set_row(o, all.begin, s->count[0], rest + bvh_sign_of(o->bvh)->facing * rows.jump[row]);
        else
            ask_all(o, &all);
    }
}

/* ---- spans ---- */

/* Where a span is. */
typedef struct span_place {
    uint32_t cell[3]; /* in the middle */
    vec3 lo, hi;      /* cells at the corners */
    double away;      /* how far the cell may be from others */
    double more;      /* than rounding */
} span_place;

static span_place place_of(const opening *o, const cells_span *s) {
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

/* How sure fast numbers are within some distance of a point. */
static double doubt_around(const opening *o, vec3 p, double distance) {
    const double scale = o->bvh->scale;
    return FAST_ERROR + abuti_sign_border_change(o->border,
                                                 v3_scale(v3_sub(p, o->bvh->mesh->origin), scale),
                                                 distance * scale);
}

static bool strips_pass(const opening *o, const span_place *at) {
    const vec3 wide = v3(at->more, at->more, at->more), origin = o->bvh->mesh->origin;
    return abuti_sign_border_meets(o->border, v3_sub(v3_sub(at->lo, origin), wide),
                                   v3_add(v3_sub(at->hi, origin), wide));
}

/* Gives w - W of the cell in the middle, where w is right; false where it does not tell the sides
 * of all cells. */
static bool find_rest(const opening *o, const span_place *at, double w, double doubt,
                      double *rest) {
    const double facing = bvh_sign_of(o->bvh)->facing;
    *rest = w * facing - facing * winding_at(o, at->cell);
    return fabs(*rest - 0.5 - rint(*rest - 0.5)) > doubt;
}

/* What the fast number of a point is to tell about a span: of a cell by itself; of cells with no
 * surface between them; of others. */
typedef enum question_kind { OF_NOTHING, OF_CELL, OF_CLEAR, OF_OTHERS } question_kind;
typedef struct question {
    cells_span s;
    span_place at;
    question_kind kind;
    vec3 point;
    double doubt;
} question;

static question question_of(const opening *o, const cells_span *s) {
    question q = {.s = *s, .at = place_of(o, s), .kind = OF_CELL};
    const span_place *at = &q.at;
    q.point = grid_centre(o->grid, at->cell[0], at->cell[1], at->cell[2]);
    if (at->away == 0)
        return q;
    q.kind = OF_NOTHING;
    q.doubt = 1;
    const double distance = distance_of(o, at->cell);
    if (distance > at->away + at->more || is_clear(o, s, at->more)) {
        q.kind = OF_CLEAR;
        q.point = v3_lerp(at->lo, at->hi, 0.5);
        q.doubt = doubt_around(o, q.point, 0.5 * v3_length(v3_sub(at->hi, at->lo)) + at->more);
    } else if (distance > sign_near(o->bvh)) {
        q.kind = OF_OTHERS;
        q.doubt = doubt_around(o, q.point, at->away + at->more);
    }
    if (!(q.doubt < 0.5))
        q.kind = OF_NOTHING;
    return q;
}

/* Settles all cells of a span by the answer; false where it does not tell. */
static bool assign_span_sign(const opening *o, const question *q, double w) {
    const double facing = bvh_sign_of(o->bvh)->facing;
    double rest;
    if (q->kind == OF_CELL) {
        set_all(o, &q->s,
                abuti_sign_open_inside(o->bvh, o->border->solid, w, q->point,
                                       distance_of(o, q->at.cell)));
        return true;
    }
    if (q->kind == OF_CLEAR && fabs(w * facing - 0.5) > q->doubt) {
        set_all(o, &q->s, w * facing >= 0.5);
        return true;
    }
    if (q->kind != OF_OTHERS || !find_rest(o, &q->at, w, q->doubt, &rest))
        return false;
    if (strips_pass(o, &q->at))
        set_rows(o, &q->s, q->at.cell, q->at.more, rest);
    else
        set_each_row(o, &q->s, rest);
    return true;
}

/* Answers of all questions, at most eight, that are not of nothing. With more border edges than
 * strips are made for the number itself is the answer, and must not depend on the lanes. */
static void answer(const opening *o, const question *questions, uint32_t count, double *w) {
    const bvh_far_node *far = bvh_sign_of(o->bvh)->far;
    vec3 points[8];
    double found[8];
    uint32_t asked = 0;
    for (uint32_t i = 0; i < count; i++)
        if (questions[i].kind != OF_NOTHING)
            points[asked++] = questions[i].point;
    if (asked < 3 || o->border->solid->border_count > STRIPS_MAX)
        for (uint32_t i = 0; i < asked; i++)
            found[i] = abuti_sign_winding(o->bvh, far, points[i]);
    else
        ABUTI_BY_LANES(abuti_sign_windings)(o->bvh, far, points, asked, found);
    for (uint32_t i = 0, k = 0; i < count; i++)
        w[i] = questions[i].kind == OF_NOTHING ? 0 : found[k++];
}

/* Settles some spans, at most eight; cuts those that cannot be settled at once. Ends at single
 * cells. */
static void settle_parts(const opening *o, const cells_span *spans, uint32_t count) {
    question questions[8];
    double w[8];
    for (uint32_t i = 0; i < count; i++)
        questions[i] = question_of(o, &spans[i]);
    answer(o, questions, count, w);
    for (uint32_t i = 0; i < count; i++) {
        const cells_span *s = &spans[i];
        cells_span parts[8];
        uint32_t part_count = 0;
        if (assign_span_sign(o, &questions[i], w[i]))
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
        settle_parts(o, parts, part_count);
    }
}

void abuti_sign_open(const abut_bvh *bvh, const abut_grid *grid, const sign_border *border,
                     const sign_rows *rows, const cells_span *block, uint32_t side,
                     const float *distances) {
    opening o = {bvh, grid, border, rows, block, side, distances};
    settle_parts(&o, block, 1);
}

bool abuti_sign_open_clear(const abut_bvh *bvh, const abut_grid *grid, const sign_border *border,
                           const sign_rows *rows, const cells_span *span, bool always) {
    opening o = {bvh, grid, border, rows, span, 0, NULL};
    if (!always) {
        const question q = question_of(&o, span);
        double w;
        answer(&o, &q, 1, &w);
        return assign_span_sign(&o, &q, w);
    }
    settle_parts(&o, span, 1);
    return true;
}

bool abuti_sign_open_through(const abut_bvh *bvh, const abut_grid *grid, const sign_border *border,
                             const sign_rows *rows, const cells_span *span) {
    opening o = {bvh, grid, border, rows, span, 0, NULL};
    span_place at = place_of(&o, span);
    vec3 c = grid_centre(grid, at.cell[0], at.cell[1], at.cell[2]);
    double doubt = doubt_around(&o, c, at.away + at.more), rest;
    abut_nearest nearest;
    if (!(doubt < 0.5) || strips_pass(&o, &at))
        return false;
    abuti_nearest_point(bvh, c, sign_near(bvh), NULL, &nearest);
    if (nearest.triangle != ABUT_NONE ||
        !find_rest(&o, &at, fast_winding(&o, at.cell), doubt, &rest))
        return false;
    set_each_row(&o, span, rest);
    return true;
}
