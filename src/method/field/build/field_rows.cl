/* Exact crossings of rows of cells with the surface.
 *
 * Method: every triangle is scanned over the rows along x that its projection may cover. A row that
 * crosses it adds 1 or -1 at the first cell beyond the crossing. Prefix sums along the rows give
 * the winding number of each cell. With boundary edges they give the crossings of the ray from the
 * cell towards lower x. Ties are broken as in winding_exact.c, by the same exact predicates, so
 * that the number is the one that a ray along -x finds. Cost: the rows in the bounding box of each
 * projected triangle, 32 of them at once. */
#include "field/build/grid_cl.h"
#include "sign/crossing_shared.h"

#if ABUTI_REAL_BITS == 64

#define ROW_CELLS_PER_ITEM 4 /* per work-item */

/* The cells along an axis between two coordinates, plus one at both ends for rounding. */
static inline uint2 cells_between(const field_grid *g, int axis, double lo, double hi) {
    double last = (double)g->count[axis] - 1.0;
    double before = (double)g->first[axis];
    double first = floor((lo - g->origin[axis]) / g->cell) - 1.0 - before,
           end = ceil((hi - g->origin[axis]) / g->cell) + 1.0 - before;
    if (!(first <= last && end >= 0.0))
        return (uint2)(1, 0);
    return (uint2)((uint)fmax(first, 0.0), (uint)fmin(end, last));
}

static inline double centre_at(const field_grid *g, int axis, uint i) {
    return g->origin[axis] + g->cell * (i + g->first[axis]);
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_cross(__global const double *corners, uint triangle_count, field_grid g,
            __global int *windings) {
    uint triangle = (uint)(get_global_id(0) / FIELD_EACH),
         lane = (uint)get_local_id(0) % FIELD_EACH;
    if (triangle >= triangle_count)
        return;
    const triangle3 t = load_triangle(corners, triangle);
    vec3 a = t.corner[0], b = t.corner[1], c = t.corner[2];
    vec3 lo = v3_min(a, v3_min(b, c)), hi = v3_max(a, v3_max(b, c));
    uint2 along_y = cells_between(&g, 1, lo.y, hi.y), along_z = cells_between(&g, 2, lo.z, hi.z);
    uint columns = g.count[0];
    if (along_y.x > along_y.y || along_z.x > along_z.y || lo.x > centre_at(&g, 0, columns - 1))
        return;
    uint high = along_y.y - along_y.x + 1;
    ulong rows = (ulong)high * (along_z.y - along_z.x + 1);
    for (ulong row = lane; row < rows; row += FIELD_EACH) {
        uint j = along_y.x + (uint)(row % high), k = along_z.x + (uint)(row / high);
        vec3 p = v3(0.0, centre_at(&g, 1, j), centre_at(&g, 2, k));
        if (p.y < lo.y || p.y > hi.y || p.z < lo.z || p.z > hi.z)
            continue;
        int side = side_of_edge(0, a, b, p);
        if (side == 0 || side_of_edge(0, b, c, p) != side || side_of_edge(0, c, a, p) != side)
            continue;
        uint i = triangle_first_beyond(t, side, p, g.origin[0], g.cell, g.first[0],
                                       g.first[0] + columns) -
                 g.first[0];
        if (i < columns)
            atomic_add(&windings[i + (size_t)columns * (j + (size_t)g.count[1] * k)], -side);
    }
}

/* Prefix sums along rows, one work-group per row. */
__kernel __attribute__((reqd_work_group_size(FIELD_ROW_GROUP, 1, 1))) void
field_sum(__global int *windings, uint columns, __local int *room) {
    uint item = (uint)get_local_id(0);
    __global int *row = windings + (size_t)get_group_id(0) * columns;
    int before = 0;
    for (uint first = 0; first < columns; first += FIELD_ROW_GROUP * ROW_CELLS_PER_ITEM) {
        uint begin = first + ROW_CELLS_PER_ITEM * item;
        int sums[ROW_CELLS_PER_ITEM], sum = 0;
        for (uint k = 0; k < ROW_CELLS_PER_ITEM; k++) {
            sum += begin + k < columns ? row[begin + k] : 0;
            sums[k] = sum;
        }
        room[item] = sum;
        for (uint away = 1; away < FIELD_ROW_GROUP; away *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int more = item >= away ? room[item - away] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            room[item] += more;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        int mine = before + room[item] - sum;
        before += room[FIELD_ROW_GROUP - 1];
        for (uint k = 0; k < ROW_CELLS_PER_ITEM; k++)
            if (begin + k < columns)
                row[begin + k] = mine + sums[k];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif
