/* Sundholm (2010, section 6.2.5): one work-item for each cell tests every triangle. A work-group
 * stages triangles in local memory. */
#include "brute_shared.h"

__kernel __attribute__((reqd_work_group_size(BRUTE_GROUP, 1, 1))) void
brute_field(brute_cells cells, __global const brute_triangle *triangles, uint triangle_count,
            __global float *values, __local brute_triangle *staged) {
    const uint i = (uint)get_global_id(0), lane = (uint)get_local_id(0);
    const uint row = i / cells.wide;
    const vec3 p = brute_centre(&cells, row, i % cells.wide);
    float nearest = REAL_MAX;
    for (uint base = 0; base < triangle_count; base += BRUTE_GROUP) {
        const uint count = min(triangle_count - base, (uint)BRUTE_GROUP);
        if (lane < count)
            staged[lane] = triangles[base + lane];
        barrier(CLK_LOCAL_MEM_FENCE);
        ABUTI_ROLLED
        for (uint k = 0; k < count; k++)
            nearest = brute_nearer(nearest, brute_distance_sq(p, &staged[k]));
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < cells.row_count)
        values[i] = brute_root(nearest);
}
