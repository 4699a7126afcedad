/* Coverage of many triangles at once, compiled for 4, 8 and 16 lanes: plain loops over arrays,
 * which compilers vectorise. All numbers are exact, so that all widths give the same bits.
 *
 * Edge functions are those of raster_side_of(). They are exact in doubles because the triangles are
 * small: less than N = raster_near() steps wide and high, with N^2 <= 2^(28 + shift). From pixel to
 * pixel an edge function changes by a multiple of 2^shift, so that division by that, rounded down,
 * keeps its sign. The quotient is at most 2 N^2 / 2^shift <= 2^29, and fits 32 bits.
 */
#include "raster/raster.h"

#include "base/simd_lanes.h"

static inline int lower(int a, int b) {
    return a < b ? a : b;
}
static inline int higher(int a, int b) {
    return a > b ? a : b;
}

static void find_boxes(const raster_lens *lens, raster_rect within, raster_boxes *b) {
    const int shift = (int)lens->shift, middle = 1 << (shift - 1), near = raster_near(lens);
    for (int i = 0; i < RASTER_BOXES; i++) {
        int ax = b->x[0][i], bx = b->x[1][i], cx = b->x[2][i];
        int ay = b->y[0][i], by = b->y[1][i], cy = b->y[2][i];
        int x_lo = lower(lower(ax, bx), cx), x_hi = higher(higher(ax, bx), cx);
        int y_lo = lower(lower(ay, by), cy), y_hi = higher(higher(ay, by), cy);
        int x0 = higher((x_lo + middle - 1) >> shift, within.x0);
        int y0 = higher((y_lo + middle - 1) >> shift, within.y0);
        int x1 = lower((x_hi - middle) >> shift, within.x1);
        int y1 = lower((y_hi - middle) >> shift, within.y1);
        b->rect[0][i] = x0;
        b->rect[1][i] = y0;
        b->rect[2][i] = x1;
        b->rect[3][i] = y1;
        b->wanted[i] = (x0 <= x1) & (y0 <= y1);
        b->near[i] = (x_hi - x_lo < near) & (y_hi - y_lo < near);
    }
    for (int i = 0; i < RASTER_BOXES; i++) {
        int bx = b->x[1][i], by = b->y[1][i], cx = b->x[2][i], cy = b->y[2][i];
        double ux = bx - b->x[0][i], uy = by - b->y[0][i];
        double vx = cx - b->x[0][i], vy = cy - b->y[0][i];
        double area = ux * vy - vx * uy;
        int enters = area < 0;
        b->enters[i] = enters;
        b->wanted[i] &= (area != 0) | !b->near[i];
        b->x[1][i] = enters ? cx : bx;
        b->y[1][i] = enters ? cy : by;
        b->x[2][i] = enters ? bx : cx;
        b->y[2][i] = enters ? by : cy;
    }
}

/* The edge function of side k in the first pixel of each block, and its changes per pixel. */
static void compute_sides(const raster_lens *lens, const raster_blocks *b, int count, int k,
                          int *restrict at, int *restrict dx, int *restrict dy) {
    const int to = k == 2 ? 0 : k + 1, shift = (int)lens->shift, middle = 1 << (shift - 1);
    const double part = 1.0 / (double)(1 << shift), zero = 1073741824.0;
    for (int i = 0; i < count; i++) {
        int right = b->x[to][i] - b->x[k][i], high = b->y[to][i] - b->y[k][i];
        int over = (b->x0[i] << shift) + middle - b->x[k][i];
        int down = (b->y0[i] << shift) + middle - b->y[k][i];
        int open =
            1 - ((high < 0) | ((high == 0) & (right > 0))); /* neither a top nor a left edge */
        double e = (double)right * (double)down - (double)high * (double)over - (double)open;
        at[i] = (int)(e * part + zero) - (int)zero;
        dx[i] = -high;
        dy[i] = right;
    }
}

static void cover(const raster_lens *lens, raster_blocks *b) {
    int at[3][RASTER_BLOCKS], dx[3][RASTER_BLOCKS], dy[3][RASTER_BLOCKS];
    const int count = (b->count + 15) & ~15;
    for (int k = 0; k < 3; k++)
        compute_sides(lens, b, count, k, at[k], dx[k], dy[k]);
    for (int i = 0; i < count; i++) {
        int ea = at[0][i], eb = at[1][i], ec = at[2][i];
        uint32_t bits = 0;
        for (int y = 0; y < 4; y++) {
            int a = ea, c = ec, d = eb;
            for (int x = 0; x < 4; x++) {
                bits |= (uint32_t)((a | d | c) >= 0) << (4 * y + x);
                a += dx[0][i];
                d += dx[1][i];
                c += dx[2][i];
            }
            ea += dy[0][i];
            eb += dy[1][i];
            ec += dy[2][i];
        }
        bits &= b->mask[i];
        b->mask[i] = bits;
        bits = (bits & 0x5555) + (bits >> 1 & 0x5555);
        bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
        bits = (bits & 0x0f0f) + (bits >> 4 & 0x0f0f);
        b->covered[i] = (bits + (bits >> 8)) & 31;
    }
}

const raster_kernel BY_LANES(abuti_raster_kernel) = {find_boxes, cover};
