/* Signs of blocks of cells around a surface with a border.
 *
 * Problem: a cell is inside where the fast winding number (bvh/winding.c) is at least 1/2, and that
 * takes a walk of the hierarchy for each cell.
 * Method: the true number w changes smoothly away from the surface, and only because of the border:
 * its gradient is that of the solid angle of the border's loops (the law of Biot and Savart),
 *     |grad w| <= 1 / (4 pi)  sum over border edges of  integral dl / r^2.
 * One fast number at a cell c in the middle of a block and a bound of the change over the block
 * settle the sign of all cells, unless w may come near 1/2; then the block is cut, down to single
 * cells that ask the fast number itself.
 * Where the surface passes through the block, w jumps there. Close the surface by strips from the
 * border edges to infinity along x: around a point p, which is on none of them, the whole winds as
 * often as the row of p crosses the surface before p, a whole number W (sign_rows.c), and w - W is
 * the part of the strips (see abuti_bvh_crossing_open()). That is smooth in a block which no strip
 * passes, with the same bound. So w(p) = w(c) - W(c) + W(p) but for the bound.
 * Guarantee: fast numbers are off by 0.01 at most (which bvh.h promises), at c and at p: no sign
 * that is nearer to 1/2 than that is taken from elsewhere.
 */
#include "field/cells.h"

#include "base/simd.h"
#include "bvh/sign.h"

#include <math.h>

#define PI 3.14159265358979323846
#define FAST_ERROR 0.021 /* two fast numbers, and rounding */

/* With more border edges than this, a bound takes longer than the fast number itself. */
enum { BORDER_MOST = 4096 };

typedef struct opening {
    const abut_bvh *bvh;
    const abut_grid *grid;
    const sign_border *border;
    const sign_rows *rows;
    const cells_span *block;
    uint32_t side;
    const float *distances; /* null where no surface is near */
} opening;

/* ---- border ---- */

abut_status abuti_sign_border(const abut_bvh *bvh, sign_border *border) {
    const bvh_solid *solid;
    const vec3 *positions = bvh->mesh->positions;
    abut_status status = abuti_bvh_solid(bvh, &solid);
    if (status)
        return status;
    size_t n = solid->border_count, room = (n + 3) / 4 * 4;
    double *memory = abuti_allocate(bvh->context, 5 * n + 2 * room, sizeof *memory);
    if (!memory)
        return ABUT_ERROR_MEMORY;
    border->count = solid->border_count;
    border->memory = memory;
    for (size_t k = 0; k < 3; k++) {
        border->lo[k] = memory + k * n;
        border->middle[k] = (float *)(memory + 5 * n) + k * room;
    }
    border->hi[0] = memory + 3 * n;
    border->hi[1] = memory + 4 * n;
    border->half = (float *)(memory + 5 * n) + 3 * room;
    for (size_t i = 0; i < room; i++) {
        vec3 a = positions[solid->border[i < n ? i : 0][0]],
             b = positions[solid->border[i < n ? i : 0][1]];
        vec3 middle = v3_lerp(a, b, 0.5), lo = v3_min(a, b), hi = v3_max(a, b);
        border->half[i] = i < n ? (float)(0.5 * v3_length(v3_sub(b, a)) * bvh->scale) : 0;
        for (int k = 0; k < 3; k++)
            border->middle[k][i] = i < n ? (float)(v3_get(middle, k) * bvh->scale) : 0x1p50f;
        for (int k = 0; i < n && k < 3; k++)
            border->lo[k][i] = v3_get(lo, k);
        if (i < n) {
            border->hi[0][i] = hi.y;
            border->hi[1][i] = hi.z;
        }
    }
    return ABUT_OK;
}

void abuti_sign_border_destroy(const abut_bvh *bvh, sign_border *border) {
    abuti_release(bvh->context, border->memory);
    border->memory = NULL;
}

/* How much w can change within rho of a point, in the frame; any number from 1/2 on is as good as
 * another. Floats err by less than 2^-20 where coordinates are no more than 8, and what is added up
 * by far less than we take for it. */
static double change_within(const sign_border *border, vec3 p, double rho) {
    const f4 x = f4_all((float)p.x), y = f4_all((float)p.y), z = f4_all((float)p.z);
    const f4 around = f4_all((float)rho * (1 + 0x1p-20f) + 0x1p-19f), zero = f4_all(0);
    const float factor = (float)(rho / (2 * PI)) * 1.001f;
    float sum = 0;
    if (!(v3_max_abs(p) < 8 && rho < 8))
        return 1;
    for (uint32_t i = 0; i < border->count && factor * sum < 0.5f; i += 4) {
        f4 dx = f4_sub(f4_load(border->middle[0] + i), x),
           dy = f4_sub(f4_load(border->middle[1] + i), y),
           dz = f4_sub(f4_load(border->middle[2] + i), z), half = f4_load(border->half + i);
        f4 sq = f4_add(f4_add(f4_mul(dx, dx), f4_mul(dy, dy)), f4_mul(dz, dz));
        f4 apart = f4_sub(f4_sub(f4_sqrt(sq), half), around);
        f4 part = f4_div(half, f4_mul(apart, apart));
        float lane[4];
        f4_store(lane, f4_select(f4_less(zero, apart), part, f4_all(INFINITY)));
        sum += (lane[0] + lane[1]) + (lane[2] + lane[3]);
    }
    return factor * sum;
}

/* Whether a strip may pass through a box. */
static bool meets_strip(const sign_border *border, vec3 lo, vec3 hi) {
    unsigned met = 0;
    for (uint32_t i = 0; i < border->count; i++)
        met |= (unsigned)(border->lo[0][i] <= hi.x) & (unsigned)(border->lo[1][i] <= hi.y) &
               (unsigned)(border->lo[2][i] <= hi.z) & (unsigned)(border->hi[0][i] >= lo.y) &
               (unsigned)(border->hi[1][i] >= lo.z);
    return met;
}

/* ---- blocks ---- */

static double fast_winding(const opening *o, const uint32_t cell[3]) {
    return abuti_bvh_winding(o->bvh, o->bvh->sign->far,
                             grid_centre(o->grid, cell[0], cell[1], cell[2]));
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

/* Sets all cells of a span to facing W + rest >= 1/2; without W where there is no surface. */
static void set_all(const opening *o, const cells_span *s, bool crossed, double rest) {
    const double facing = o->bvh->sign->facing;
    for (uint32_t k = 0; k < s->count[2]; k++)
        for (uint32_t j = 0; j < s->count[1]; j++) {
            const uint32_t cell[3] = {s->begin[0], s->begin[1] + j, s->begin[2] + k};
            size_t at = sign_rows_at(o->rows, cell);
            const int32_t *winding = o->rows->winding + at;
            unsigned char *inside = o->rows->inside + at;
            if (!crossed)
                memset(inside, rest >= 0.5, s->count[0]);
            for (uint32_t i = 0; crossed && i < s->count[0]; i++)
                inside[i] = facing * winding[i] + rest >= 0.5;
        }
}

/* Settles all cells of a span at once; false where that cannot be. */
static bool settle(const opening *o, const cells_span *s) {
    const double facing = o->bvh->sign->facing, size = o->grid->cell, scale = o->bvh->scale;
    const vec3 origin = o->bvh->mesh->origin;
    uint32_t cell[3], end[3], across = 0, away = 0;
    for (int k = 0; k < 3; k++) {
        cell[k] = s->begin[k] + s->count[k] / 2;
        end[k] = s->begin[k] + s->count[k] - 1;
        across += (s->count[k] - 1) * (s->count[k] - 1);
        away += (s->count[k] / 2) * (s->count[k] / 2);
    }
    if (away == 0) {
        set_all(o, s, false, fast_winding(o, cell) * facing);
        return true;
    }
    vec3 lo = grid_centre(o->grid, s->begin[0], s->begin[1], s->begin[2]);
    vec3 hi = grid_centre(o->grid, end[0], end[1], end[2]), middle = v3_lerp(lo, hi, 0.5);
    double more = 0.01 * size + 0x1p-48 * (v3_max_abs(hi) + v3_max_abs(origin)); /* than rounding */
    double distance = distance_of(o, cell), rho = 0.5 * sqrt(across) * size + more;
    if (distance > sqrt(away) * size + more || is_clear(o, s, more)) { /* from the middle */
        double doubt =
            FAST_ERROR +
            change_within(o->border, v3_scale(v3_sub(middle, origin), scale), rho * scale);
        if (!(doubt < 0.5))
            return false;
        double w = abuti_bvh_winding(o->bvh, o->bvh->sign->far, middle) * facing;
        if (!(fabs(w - 0.5) > doubt))
            return false;
        set_all(o, s, false, w);
        return true;
    }
    vec3 c = v3_scale(v3_sub(grid_centre(o->grid, cell[0], cell[1], cell[2]), origin), scale);
    double doubt = FAST_ERROR + change_within(o->border, c, (sqrt(away) * size + more) * scale);
    vec3 wide = v3(more, more, more);
    if (!(doubt < 0.5 && distance > 0) ||
        meets_strip(o->border, v3_sub(v3_sub(lo, origin), wide), v3_add(v3_sub(hi, origin), wide)))
        return false;
    double rest =
        fast_winding(o, cell) * facing - facing * o->rows->winding[sign_rows_at(o->rows, cell)];
    if (!(fabs(rest - 0.5 - rint(rest - 0.5)) > doubt))
        return false;
    set_all(o, s, true, rest);
    return true;
}

/* Cells one by one. */
static void ask_all(const opening *o, const cells_span *s) {
    uint32_t cell[3];
    for (cell[2] = s->begin[2]; cell[2] < s->begin[2] + s->count[2]; cell[2]++)
        for (cell[1] = s->begin[1]; cell[1] < s->begin[1] + s->count[1]; cell[1]++)
            for (cell[0] = s->begin[0]; cell[0] < s->begin[0] + s->count[0]; cell[0]++)
                o->rows->inside[sign_rows_at(o->rows, cell)] =
                    fast_winding(o, cell) * o->bvh->sign->facing >= 0.5;
}

static void settle_parts(const opening *o, const cells_span *s) {
    if (settle(o, s))
        return;
    for (int part = 0; part < 8; part++) { /* ends at single cells */
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
            settle_parts(o, &sub);
    }
}

void abuti_sign_open(const abut_bvh *bvh, const abut_grid *grid, const sign_border *border,
                     const sign_rows *rows, const cells_span *block, uint32_t side,
                     const float *distances) {
    opening o = {bvh, grid, border, rows, block, side, distances};
    if (border->count > BORDER_MOST)
        ask_all(&o, block);
    else
        settle_parts(&o, block);
}

bool abuti_sign_open_clear(const abut_bvh *bvh, const abut_grid *grid, const sign_border *border,
                           const sign_rows *rows, const cells_span *span, bool always) {
    opening o = {bvh, grid, border, rows, span, 0, NULL};
    if (!always)
        return border->count <= BORDER_MOST && settle(&o, span);
    if (border->count > BORDER_MOST)
        ask_all(&o, span);
    else
        settle_parts(&o, span);
    return true;
}
