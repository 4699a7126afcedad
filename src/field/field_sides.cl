/* Signs of cells around a surface with a border.
 *
 * Method: field_rows.cl gives what a row from the cell towards lower x crosses, N. The generalised
 * winding number is N - S, where S is the solid angle, over 4 pi, of the strips from the border
 * along x (abuti_bvh_crossing_open). Where there is no surface between two places it changes by at
 * most the sum of length / (4 pi distance^2) over the edges of the border, times the way. So all
 * cells of a block that no surface passes through, or eight cells in a row, or a single cell, have
 * their signs unless the number may be within 0.02 of 0.5: the fast number that counts
 * (winding.c) is within 0.01 of the true one. What is left is left to the search.
 * A group a block of 8 x 8 x 8 cells; every edge is looked at for each block, for each row where
 * that does not do, and for each cell where that does not either.
 */
#include "base/math_shared.h"
#include "field/grid_kernel.h"

#define DOUBTFUL (-0x7fffffff - 1) /* instead of 0 and 1 */
#define BORDER_DOUBT 0.02f
#define POINT_ERROR 0x1p-20f /* of positions in the frame, as floats */

/* ---- strips ---- */

/* S and what it may be wrong by, here and at another place some way off. */
typedef struct strips {
    float sum, wrong, slope;
} strips;

#define PER_TURN 0.0795774715f /* 1 / (4 pi) */

/* Adds an edge, from `from` to `to`, as seen from a place; no place that matters is further than
 * `way` from there. */
static inline void add_strip(strips *s, float4 from, float4 to, float4 at, float way) {
    float4 a = to - at, b = from - at, e = to - from;
    float aa = dot_f(a, a), bb = dot_f(b, b), ee = dot_f(e, e);
    float length_a = sqrt(aa), length_b = sqrt(bb), length = sqrt(ee);
    float across_a = fma(a.y, a.y, a.z * a.z), across_b = fma(b.y, b.y, b.z * b.z);
    float beside_a = a.x >= 0.0f ? length_a + a.x : across_a / (length_a - a.x);
    float beside_b = b.x >= 0.0f ? length_b + b.x : across_b / (length_b - b.x);
    float volume = fma(a.y, b.z, -(a.z * b.y));
    float rest = fma(beside_a, beside_b, fma(a.y, b.y, a.z * b.z));
    s->sum += 2.0f * PER_TURN * atan2(volume, rest);
    /* the nearest point of the edge, less than it is */
    float t = ee > 0.0f ? clamp(-dot_f(b, e) / ee, 0.0f, 1.0f) : 0.0f;
    float4 q = (float4)(fma(t, e.x, b.x), fma(t, e.y, b.y), fma(t, e.z, b.z), 0.0f);
    float away = sqrt(dot_f(q, q)) * 0.9999f - way - 8.0f * POINT_ERROR;
    s->slope += away > 0.0f ? 1.0001f * PER_TURN * length / (away * away) : INFINITY;
    /* Positions are off by POINT_ERROR, which the slope knows, unless the row passes the edge on
     * the other side then, which makes a whole turn where the edge's strip meets the row. */
    float doubt = 4.0f * POINT_ERROR * (sqrt(across_a) + sqrt(across_b) + POINT_ERROR);
    float size = fma(beside_a, beside_b, sqrt(across_a * across_b));
    bool turns = fabs(volume) <= doubt && rest <= 8.0f * POINT_ERROR * (length_a + length_b);
    s->wrong += turns ? 1.0f : 0x1p-20f * size / fmax(fabs(volume), fabs(rest));
}

/* 1 inside, 0 outside, -1 where that is not known. `winding`: N less S. */
static inline int side_of(float winding, float wrong, float facing) {
    float w = winding * facing - 0.5f;
    return fabs(w) > wrong + BORDER_DOUBT ? w > 0.0f : -1; /* nor for NAN */
}

typedef struct border_edges {
    __global const float4 *ends;
    uint count;
    float facing;
} border_edges;

static inline strips strips_at(const border_edges *b, uint first, uint step, float4 at, float way) {
    strips s = {0.0f, 0.0f, 0.0f};
    for (uint i = first; i < b->count; i += step)
        add_strip(&s, b->ends[2 * i], b->ends[2 * i + 1], at, way);
    return s;
}

/* Sums of all items: three floats each in local memory. */
static inline strips add_strips(strips mine, __local float *sums) {
    uint item = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[item] = mine.sum;
    sums[GROUP + item] = mine.wrong;
    sums[2 * GROUP + item] = mine.slope;
    for (uint away = GROUP / 2; away > 0; away /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < away)
            for (uint k = 0; k < 3; k++)
                sums[k * GROUP + item] += sums[k * GROUP + item + away];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    strips s = {sums[0], sums[GROUP], sums[2 * GROUP]};
    return s;
}

/* S and its error for the 64 rows of a block: 128 floats of local memory. */
static inline void strips_of_rows(const field_grid *g, const border_edges *border, bool wanted,
                                  uint x, uint y, uint z, __local float *sums) {
    uint item = (uint)get_local_id(0), row = item % 64;
    float way = 4.0f * g->step;
    float4 at = middle_of(g, x + 4, y + row % 8, z + row / 8, 1);
    strips s = strips_at(border, wanted ? item / 64 : border->count, GROUP / 64, at, way);
    s.wrong += s.slope * (way + 2.0f * POINT_ERROR);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < 64) {
        sums[item] = s.sum;
        sums[64 + item] = s.wrong;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item >= 64) {
        sums[row] += s.sum;
        sums[64 + row] += s.wrong;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

static inline int side_of_cell(const field_grid *g, const border_edges *border, uint x, uint y,
                               uint z, int winding) {
    strips s = strips_at(border, 0, 1, middle_of(g, x, y, z, 1), 0.0f);
    return side_of((float)winding - s.sum, s.wrong + s.slope * 2.0f * POINT_ERROR, border->facing);
}

/* ---- all ---- */

/* Replaces N by 1 inside, 0 outside, or DOUBTFUL. bounds[i].y: less than the distance of the middle
 * of block i to the mesh. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_sides(field_grid g, __global const float2 *bounds, __global const float4 *border_ends,
            uint border_count, float facing, __global int *windings, __local float *sums) {
    border_edges border = {border_ends, border_count, facing};
    uint item = (uint)get_local_id(0), block = (uint)get_group_id(0);
    block_place p = place_of(&g, block, 8);
    uint x = 8 * p.x, y = 8 * p.y, z = 8 * p.z;
    /* from the cell in the middle, or the last before the grid ends, to any other */
    uint ix = x + min(4u, g.count[0] - x - 1), iy = y + min(4u, g.count[1] - y - 1),
         iz = z + min(4u, g.count[2] - z - 1);
    float way = 6.93f * g.step;
    bool clear = bounds[block].y > way;
    strips s = add_strips(strips_at(&border, clear ? item : border_count, GROUP,
                                    middle_of(&g, ix, iy, iz, 1), way),
                          sums);
    int all =
        clear ? side_of((float)windings[ix + (size_t)g.count[0] * (iy + (size_t)g.count[1] * iz)] -
                            s.sum,
                        s.wrong + s.slope * (way + 2.0f * POINT_ERROR), facing)
              : -1;
    strips_of_rows(&g, &border, all < 0, x, y, z, sums);
    for (uint i = item; i < 512; i += GROUP) {
        uint cx = x + i % 8, cy = y + i / 8 % 8, cz = z + i / 64;
        if (cx >= g.count[0] || cy >= g.count[1] || cz >= g.count[2])
            continue;
        size_t at = cx + (size_t)g.count[0] * (cy + (size_t)g.count[1] * cz);
        int winding = windings[at], side = all;
        if (side < 0)
            side = side_of((float)winding - sums[i / 8], sums[64 + i / 8], facing);
        if (side < 0)
            side = side_of_cell(&g, &border, cx, cy, cz, winding);
        windings[at] = side < 0 ? DOUBTFUL : side;
    }
}
