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
 * A block that a strip intersects is split too.
 *
 * Guarantee: the error of fast numbers is at most 0.01 (guaranteed by bvh.h) if the surface is not
 * too near (sign_near()), which holds at c. At p, no sign that is nearer to 1/2 than that is
 * derived from another cell. So signs do not depend on the BVH, and a device finds the same
 * (field_sides.cl), unless there are more boundary edges than STRIPS_MAX.
 */
#include "field/build/cells.h"

#include "sign/sign.h"

#include <math.h>

#define FAST_ERROR 0.021 /* two fast numbers, and rounding */

typedef struct open_sign_job {
    const abut_bvh *bvh;
    const abut_grid *grid;
    const sign_boundary *border;
    const sign_rows *rows;
    const cells_span *block;
    uint32_t side;
    const float *distances; /* null if no surface is near */
} open_sign_job;

static double fast_winding(const open_sign_job *o, vec3 point) {
    return abuti_sign_winding(o->bvh, bvh_sign_of(o->bvh)->far, point);
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

/* Sets all cells of a span to the same side. */
static void set_span_inside(const open_sign_job *o, const cells_span *s, bool inside) {
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            memset(o->rows->inside + sign_rows_at(o->rows, cell), inside, s->count[0]);
        }
}

/* Sets all cells of a span to facing W + rest >= 1/2, where rest + 1/2 is not close to an integer.
 */
static void set_span_by_rows(const open_sign_job *o, const cells_span *s, double rest) {
    const int32_t facing = bvh_sign_of(o->bvh)->facing > 0 ? 1 : -1,
                  least = (int32_t)ceil(0.5 - rest);
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
                    inside[i] = facing * winding[i] >= least;
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

/* Decides all cells of a span with no surface between them by one fast number. Returns false if it
 * does not decide them. */
static bool decide_clear_span(const open_sign_job *o, const cells_span *s, const span_place *at) {
    const vec3 p = v3_lerp(at->lo, at->hi, 0.5);
    const double doubt =
        error_bound_around(o, p, 0.5 * v3_length(v3_sub(at->hi, at->lo)) + at->more);
    if (!(doubt < 0.5))
        return false;
    const double w = fast_winding(o, p) * bvh_sign_of(o->bvh)->facing;
    if (!(fabs(w - 0.5) > doubt))
        return false;
    set_span_inside(o, s, w >= 0.5);
    return true;
}

/* Decides all cells of a span by the fast number of the middle cell, which is not too near to the
 * surface. Returns false if a strip intersects the span, or the number does not decide all cells.
 */
static bool decide_crossed_span(const open_sign_job *o, const cells_span *s, const span_place *at) {
    const double facing = bvh_sign_of(o->bvh)->facing;
    const vec3 p = grid_centre(o->grid, at->cell[0], at->cell[1], at->cell[2]),
               wide = v3(at->more, at->more, at->more), origin = o->bvh->mesh->origin;
    const double doubt = error_bound_around(o, p, at->away + at->more);
    if (!(doubt < 0.5) ||
        abuti_sign_boundary_intersects(o->border, v3_sub(v3_sub(at->lo, origin), wide),
                                       v3_add(v3_sub(at->hi, origin), wide)))
        return false;
    const int32_t crossed = o->rows->crossed[sign_rows_row(o->rows, at->cell)]
                                ? o->rows->winding[sign_rows_at(o->rows, at->cell)]
                                : 0;
    const double rest = facing * (fast_winding(o, p) - crossed);
    if (!(fabs(rest - 0.5 - rint(rest - 0.5)) > doubt))
        return false;
    set_span_by_rows(o, s, rest);
    return true;
}

/* Decides all cells of a span if one number can. A single cell is always decided. */
static bool decide_at_once(const open_sign_job *o, const cells_span *s) {
    const span_place at = position_of_span(o, s);
    const double distance = distance_bound_at(o, at.cell);
    if (at.away == 0) {
        const vec3 p = grid_centre(o->grid, at.cell[0], at.cell[1], at.cell[2]);
        set_span_inside(o, s, abuti_sign_open_at(o->bvh, o->border, p, distance));
        return true;
    }
    if (distance > at.away + at.more || is_clear(o, s, at.more))
        return decide_clear_span(o, s, &at);
    return distance > sign_near(o->bvh) && decide_crossed_span(o, s, &at);
}

/* Decides a span. Splits it if one number does not decide it, down to single cells. */
static void decide_span(const open_sign_job *o, const cells_span *s) {
    if (decide_at_once(o, s))
        return;
    for (int part = 0; part < 8; part++) {
        cells_span sub;
        bool empty = false;
        for (int k = 0; k < 3; k++) {
            uint32_t first = (s->count[k] + 1) / 2;
            bool second = part >> k & 1;
            sub.begin[k] = s->begin[k] + (second ? first : 0);
            sub.count[k] = second ? s->count[k] - first : first;
            empty = empty || sub.count[k] == 0;
        }
        if (!empty)
            decide_span(o, &sub);
    }
}

void abuti_sign_open(const abut_bvh *bvh, const abut_grid *grid, const sign_boundary *border,
                     const sign_rows *rows, const cells_span *block, uint32_t side,
                     const float *distances) {
    const open_sign_job o = {bvh, grid, border, rows, block, side, distances};
    decide_span(&o, block);
}

bool abuti_sign_open_clear(const abut_bvh *bvh, const abut_grid *grid, const sign_boundary *border,
                           const sign_rows *rows, const cells_span *span, bool always) {
    const open_sign_job o = {bvh, grid, border, rows, span, 0, NULL};
    if (!always)
        return decide_at_once(&o, span);
    decide_span(&o, span);
    return true;
}

bool abuti_sign_open_through(const abut_bvh *bvh, const abut_grid *grid,
                             const sign_boundary *border, const sign_rows *rows,
                             const cells_span *span) {
    const open_sign_job o = {bvh, grid, border, rows, span, 0, NULL};
    const span_place at = position_of_span(&o, span);
    abut_nearest nearest;
    abuti_nearest_point(bvh, grid_centre(grid, at.cell[0], at.cell[1], at.cell[2]), sign_near(bvh),
                        NULL, &nearest);
    return nearest.triangle == ABUT_NONE && decide_crossed_span(&o, span, &at);
}
