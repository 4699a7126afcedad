/* Signs of cells of a surface with boundary edges.
 *
 * Method: field_rows.cl gives N, the crossings of the ray from the cell towards lower x. The
 * generalised winding number is w = N - S. S is the solid angle, over 4 pi, of the strips that
 * extend from the boundary edges along x (abuti_sign_crossing_solids). The surface of all strips
 * has the same boundary as the surface. So between points with no strip between them, S changes by
 * at most the sum of length / (4 pi distance^2) over the boundary edges, times the distance of the
 * points. A block that no strip intersects has one S for all its cells, within a bound. N is an
 * integer, so the signs are decided unless some integer minus S is within the error of 0.5. Rows
 * along x are parallel to the strips, so no strip passes through a row. Blocks of 32 x 32 x 32
 * cells are tried first, then blocks of 8 x 8 x 8 in those that are not decided, then rows of 8,
 * then single cells. Doubles decide the remaining cells (field_unsure() of field_rows.cl).
 */
#include "base/math_shared.h"
#include "field/build/grid_cl.h"
#include "field/field_shared.h"

#define WINDING_DOUBT 0x1p-16f /* in addition to the computed error bound of the floats */
#define LANES (GROUP / 8)

/* ---- strips ---- */

/* S, the bound of its error at this point, and its slope for other points. */
typedef struct strips {
    float sum, wrong, slope;
} strips;

#define INVERSE_4_PI 0.0795774715f /* 1 / (4 pi) */

/* The point at which strips are evaluated. All relevant cells are within `way` of it, and within
 * `half_size` along y and z. `error`: of positions in the scaled frame. */
typedef struct viewpoint {
    float4 at;
    float way, half_size, error;
} viewpoint;

/* A quarter of the margin covers the error of two positions and of their interpolation. */
static inline viewpoint view_of(const field_grid *g, uint x, uint y, uint z, uint side) {
    float half_size = 0.5f * (float)(side - 1) * g->step, error = 0.25f * g->margin;
    viewpoint v = {middle_of(g, x, y, z, side), FIELD_DIAGONAL * half_size, half_size + error,
                   error};
    return v;
}

/* Whether the strip of an edge may pass through the cells: tests the box of the edge, extended
 * along x. */
static inline bool may_pass_through(float4 a, float4 b, float half_size) {
    return fmin(a.y, b.y) <= half_size && fmax(a.y, b.y) >= -half_size &&
           fmin(a.z, b.z) <= half_size && fmax(a.z, b.z) >= -half_size &&
           fmin(a.x, b.x) <= half_size;
}

/* Adds the strip of an edge from `from` to `to`. */
static inline void add_strip(strips *s, float4 from, float4 to, const viewpoint *v) {
    float4 a = to - v->at, b = from - v->at, e = to - from;
    float aa = dot_f(a, a), bb = dot_f(b, b), ee = dot_f(e, e);
    float length_a = sqrt(aa), length_b = sqrt(bb), length = sqrt(ee);
    float across_a = fma(a.y, a.y, a.z * a.z), across_b = fma(b.y, b.y, b.z * b.z);
    float beside_a = a.x >= 0.0f ? length_a + a.x : across_a / (length_a - a.x);
    float beside_b = b.x >= 0.0f ? length_b + b.x : across_b / (length_b - b.x);
    float volume = fma(a.y, b.z, -(a.z * b.y));
    float rest = fma(beside_a, beside_b, fma(a.y, b.y, a.z * b.z));
    s->sum += 2.0f * INVERSE_4_PI * atan2(volume, rest);
    /* the nearest point of the edge; rounding gives a lower bound of its distance */
    float t = ee > 0.0f ? clamp(-dot_f(b, e) / ee, 0.0f, 1.0f) : 0.0f;
    float4 q = (float4)(fma(t, e.x, b.x), fma(t, e.y, b.y), fma(t, e.z, b.z), 0.0f);
    float away = sqrt(dot_f(q, q)) * 0.9999f - v->way - 8.0f * v->error;
    s->slope += away > 0.0f ? 1.0001f * INVERSE_4_PI * length / (away * away) : INFINITY;
    /* Positions have the error, which the slope accounts for, unless the row then passes the edge
     * on the other side. If the strip of the edge intersects the row, that is a whole turn. */
    float doubt = 4.0f * v->error * (sqrt(across_a) + sqrt(across_b) + v->error);
    float size = fma(beside_a, beside_b, sqrt(across_a * across_b));
    bool turns = fabs(volume) <= doubt && rest <= 8.0f * v->error * (length_a + length_b);
    s->wrong += turns ? 1.0f : 0x1p-20f * size / fmax(fabs(volume), fabs(rest));
}

/* Error bound of S at a cell that is `way` from the viewpoint. */
static inline float error_bound_at(strips s, float way, float error) {
    return s.wrong + s.slope * (way + 2.0f * error);
}

/* 1 inside, 0 outside, -1 if not known. `winding`: N minus S. */
static inline int side_of(float winding, float wrong, float facing) {
    float w = winding * facing - 0.5f;
    return fabs(w) > wrong + WINDING_DOUBT ? w > 0.0f : -1; /* -1 for NaN */
}

/* Whether the sign is decided for every integer N. */
static inline bool is_decided(float sum, float wrong) {
    float away = sum - 0.5f;
    return fabs(away - rint(away)) > wrong + WINDING_DOUBT; /* false for NaN */
}

typedef struct boundary_edges {
    __global const float4 *ends;
    uint count;
    float facing;
} boundary_edges;

static inline strips strips_at(const boundary_edges *b, uint first, uint step, const viewpoint *v) {
    strips s = {0.0f, 0.0f, 0.0f};
    for (uint i = first; i < b->count; i += step)
        add_strip(&s, b->ends[2 * i], b->ends[2 * i + 1], v);
    return s;
}

/* Sums over all work-items; three floats each in local memory. */
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

/* S for all cells of a block, or NaN if it does not decide their signs. */
static inline float shift_of(const field_grid *g, const boundary_edges *border, uint x, uint y,
                             uint z, uint side, __local float *sums) {
    viewpoint v = view_of(g, x, y, z, side);
    uint item = (uint)get_local_id(0);
    strips mine = strips_at(border, item, GROUP, &v);
    for (uint i = item; i < border->count; i += GROUP)
        if (may_pass_through(border->ends[2 * i] - v.at, border->ends[2 * i + 1] - v.at,
                             v.half_size))
            mine.wrong = INFINITY;
    strips s = add_strips(mine, sums);
    return is_decided(s.sum, error_bound_at(s, v.way, v.error)) ? s.sum : NAN;
}

/* ---- blocks ---- */

/* S of the blocks of FIELD_COARSE, one work-group per block, or of 8 x 8 x 8 cells in those that
 * were not decided. Undecided blocks are counted and listed. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_shifts(field_grid g, __global const float4 *border_ends, uint border_count, uint side,
             __global const uint *parents, __global float *shifts, __global uint *undecided,
             volatile __global uint *counters, __local float *sums) {
    const uint along = FIELD_COARSE / 8, each = along * along * along;
    boundary_edges border = {border_ends, border_count, 1.0f};
    bool coarse = side == FIELD_COARSE;
    uint count = coarse ? (uint)get_num_groups(0) : each * counters[FIELD_COUNT_UNDECIDED];
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        block_place p = place_of(&g, coarse ? i : parents[i / each], FIELD_COARSE);
        if (!coarse) {
            p.x = along * p.x + i % along;
            p.y = along * p.y + i / along % along;
            p.z = along * p.z + i % each / (along * along);
        }
        uint block = block_at(&g, side, p.x, p.y, p.z);
        float shift = shift_of(&g, &border, side * p.x, side * p.y, side * p.z, side, sums);
        if (get_local_id(0) == 0 && block != ABUT_NONE) {
            shifts[block] = shift;
            if (isnan(shift))
                undecided[atomic_inc(
                    &counters[coarse ? FIELD_COUNT_UNDECIDED : FIELD_COUNT_MIXED])] = block;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* ---- rows ---- */

/* Cells whose signs are not known. */
typedef struct unsure_cells {
    __global uint *cells;
    uint most;
    volatile __global uint *counters;
} unsure_cells;

/* The side, or N if the cell is appended to the list. */
static inline int side_or_unsure(const unsure_cells *u, size_t cell, int side, int crossed) {
    if (side >= 0)
        return side;
    uint to = atomic_inc(&u->counters[FIELD_COUNT_UNSURE]);
    if (to < u->most)
        u->cells[to] = (uint)cell;
    return crossed;
}

/* Sum of `count` consecutive floats in local memory. */
static inline float sum_of(__local const float *from, uint count) {
    float sum = 0.0f;
    for (uint k = 0; k < count; k++)
        sum += from[k];
    return sum;
}

/* Replaces N by 1 inside or 0 outside in the rows of undecided blocks of 8 x 8 x 8 cells. A group
 * has 16 rows with 8 work-items each. A row with undecided cells is listed for field_rest(), by the
 * index of its first cell. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_sides(field_grid g, __global const float4 *border_ends, uint border_count, float facing,
            __global const uint *blocks, volatile __global uint *counters, __global int *windings,
            __global uint *rows, uint rows_max, __global uint *unsure, uint unsure_max,
            __local float *sums) {
    boundary_edges border = {border_ends, border_count, facing};
    unsure_cells left = {unsure, unsure_max, counters};
    uint item = (uint)get_local_id(0), count = 4 * counters[FIELD_COUNT_MIXED];
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        block_place p = place_of(&g, blocks[i / 4], 8);
        uint first_row = 16 * (i % 4), row = first_row + item / 8, x = 8 * p.x;
        viewpoint v = view_of(&g, x + 4, 8 * p.y + row % 8, 8 * p.z + row / 8, 1);
        v.way = 4.0f * g.step;
        strips s = strips_at(&border, item % 8, 8, &v);
        sums[item] = s.sum;
        sums[GROUP + item] = error_bound_at(s, v.way, v.error);
        barrier(CLK_LOCAL_MEM_FENCE);
        row = first_row + item % 16;
        uint y = 8 * p.y + row % 8, z = 8 * p.z + row / 8, unknown = 0, to = rows_max;
        bool valid = item < 16 && y < g.count[1] && z < g.count[2];
        size_t first = x + (size_t)g.count[0] * (y + (size_t)g.count[1] * z);
        uint length = valid ? min(8u, g.count[0] - x) : 0;
        float sum = sum_of(sums + 8 * (item % 16), 8),
              wrong = sum_of(sums + GROUP + 8 * (item % 16), 8);
        for (uint k = 0; k < length; k++)
            unknown += side_of((float)windings[first + k] - sum, wrong, facing) < 0;
        if (unknown)
            to = atomic_inc(&counters[FIELD_COUNT_ROWS]);
        if (to < rows_max)
            rows[to] = (uint)first; /* field_rest() needs N */
        for (uint k = 0; to >= rows_max && k < length; k++) {
            int crossed = windings[first + k];
            int side = side_of((float)crossed - sum, wrong, facing);
            windings[first + k] = side_or_unsure(&left, first + k, side, crossed);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* ---- cells ---- */

/* Cells of undecided rows, with 16 work-items each. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_rest(field_grid g, __global const float4 *border_ends, uint border_count, float facing,
           __global const uint *rows, uint rows_max, volatile __global uint *counters,
           __global int *windings, __global uint *unsure, uint unsure_max, __local float *sums) {
    boundary_edges border = {border_ends, border_count, facing};
    unsure_cells left = {unsure, unsure_max, counters};
    uint item = (uint)get_local_id(0), lane = item % LANES,
         count = min(counters[FIELD_COUNT_ROWS], rows_max);
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        uint x = rows[i] % g.count[0], y = rows[i] / g.count[0] % g.count[1],
             z = rows[i] / g.count[0] / g.count[1];
        viewpoint v = view_of(&g, x + item / LANES, y, z, 1);
        strips s = strips_at(&border, lane, LANES, &v);
        sums[item] = s.sum;
        sums[GROUP + item] = error_bound_at(s, 0.0f, v.error);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane == 0 && x + item / LANES < g.count[0]) {
            float sum = sum_of(sums + item, LANES), wrong = sum_of(sums + GROUP + item, LANES);
            uint cell = rows[i] + item / LANES;
            int side = side_of((float)windings[cell] - sum, wrong, facing);
            windings[cell] = side_or_unsure(&left, cell, side, windings[cell]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
