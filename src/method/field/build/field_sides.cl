/* Signs of cells of a surface with boundary edges.
 *
 * Method: field_rows.cl gives N, the crossings of the ray from the cell towards lower x. The
 * winding number is N - S, where S is the solid angle of the strips that extend from the boundary
 * edges along x (sign/boundary_shared.h). One S decides all cells of a box if its change over the
 * box is small. Blocks of 32 x 32 x 32 cells are tried first, then blocks of 8 x 8 x 8 in those
 * that are not decided, then rows of 8, then single cells. Rows are parallel to the strips, so no
 * strip passes through a row.
 */
#include "field/build/grid_cl.h"
#include "sign/boundary_shared.h"

#if ABUTI_REAL_BITS == 64

#define ROWS 64 /* of a block of 8 x 8 x 8 cells */

static inline boundary_view view_of(const field_grid *g, __global const boundary_node *nodes,
                                    __global const double *vertices, uint node_count) {
    boundary_view b;
    b.nodes = nodes;
    b.vertices = vertices;
    b.node_count = node_count;
    b.scale = g->scale;
    for (int axis = 0; axis < 3; axis++)
        b.origin[axis] = g->mesh_origin[axis];
    return b;
}

static inline vec3 centre_at(const field_grid *g, uint x, uint y, uint z) {
    return v3(g->origin[0] + g->cell * (x + g->first[0]),
              g->origin[1] + g->cell * (y + g->first[1]),
              g->origin[2] + g->cell * (z + g->first[2]));
}

/* S of the blocks of FIELD_COARSE, one work-item per block, or of 8 x 8 x 8 cells in those that
 * were not decided; NaN if it does not decide their signs. Undecided blocks are counted and listed.
 */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_shifts(field_grid g, __global const boundary_node *nodes, __global const double *vertices,
             uint node_count, uint side, __global const uint *parents, __global float *shifts,
             __global uint *undecided, volatile __global uint *counters) {
    const uint along = FIELD_COARSE / 8, each = along * along * along;
    const boundary_view b = view_of(&g, nodes, vertices, node_count);
    bool coarse = side == FIELD_COARSE;
    uint count = coarse ? blocks_along(g.count[0], side) * blocks_along(g.count[1], side) *
                              blocks_along(g.count[2], side)
                        : each * counters[FIELD_COUNT_UNDECIDED];
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        block_place p = place_of(&g, coarse ? i : parents[i / each], FIELD_COARSE);
        if (!coarse) {
            p.x = along * p.x + i % along;
            p.y = along * p.y + i / along % along;
            p.z = along * p.z + i % each / (along * along);
        }
        uint block = block_at(&g, side, p.x, p.y, p.z);
        if (block == ABUT_NONE)
            continue;
        vec3 lo = centre_at(&g, side * p.x, side * p.y, side * p.z),
             hi = centre_at(&g, min(side * p.x + side, g.count[0]) - 1,
                            min(side * p.y + side, g.count[1]) - 1,
                            min(side * p.z + side, g.count[2]) - 1);
        double shift;
        bool decided = boundary_decide_box(&b, lo, hi, g.cell, &shift) > 0;
        shifts[block] = decided ? (float)shift : NAN;
        if (!decided)
            undecided[atomic_inc(&counters[coarse ? FIELD_COUNT_UNDECIDED : FIELD_COUNT_MIXED])] =
                block;
    }
}

/* Replaces N by 1 inside or 0 outside in the rows of undecided blocks, one work-item per row. A row
 * with undecided cells is listed for field_rest(), by the index of its first cell. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_sides(field_grid g, __global const boundary_node *nodes, __global const double *vertices,
            uint node_count, double facing, __global const uint *blocks,
            volatile __global uint *counters, __global int *windings, __global uint *rows,
            uint rows_max) {
    const boundary_view b = view_of(&g, nodes, vertices, node_count);
    uint count = ROWS * counters[FIELD_COUNT_MIXED];
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        block_place p = place_of(&g, blocks[i / ROWS], 8);
        uint x = 8 * p.x, y = 8 * p.y + i % 8, z = 8 * p.z + i / 8 % 8;
        if (y >= g.count[1] || z >= g.count[2])
            continue;
        uint end = min(x + 8, g.count[0]);
        size_t first = (size_t)g.count[0] * (y + (size_t)g.count[1] * z);
        double shift;
        if (boundary_decide_box(&b, centre_at(&g, x, y, z), centre_at(&g, end - 1, y, z), g.cell,
                                &shift) > 0) {
            for (uint k = x; k < end; k++)
                windings[first + k] = (windings[first + k] - shift) * facing >= 0.5;
            continue;
        }
        uint to = atomic_inc(&counters[FIELD_COUNT_ROWS]);
        if (to < rows_max)
            rows[to] = (uint)(first + x);
    }
}

/* Cells of undecided rows, one work-item each. Rays are those of points (axis_ray_along_x()); `end`
 * is the largest x of the mesh. */
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
field_rest(field_grid g, __global const boundary_node *nodes, __global const double *vertices,
           uint node_count, double facing, __global const uint *rows, uint rows_max,
           volatile __global uint *counters, __global int *windings, double end) {
    const boundary_view b = view_of(&g, nodes, vertices, node_count);
    uint count = 8 * min(counters[FIELD_COUNT_ROWS], rows_max);
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        uint cell = rows[i / 8] + i % 8, x = rows[i / 8] % g.count[0] + i % 8;
        if (x >= g.count[0])
            continue;
        axis_ray ray;
        ray.from = centre_at(&g, x, cell / g.count[0] % g.count[1], cell / g.count[0] / g.count[1]);
        ray.axis = 0;
        ray.sense = ray.from.x > end ? 1 : -1;
        int crossings = ray.sense > 0 ? 0 : windings[cell];
        windings[cell] = boundary_inside(&b, &ray, crossings, facing);
    }
}

#endif
