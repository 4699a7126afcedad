/* Kernels of the methods: entry points only. */
#include "band_shared.h"
#include "exact_shared.h"
#include "hash_shared.h"
#include "tree_shared.h"

#define GROUP __attribute__((reqd_work_group_size(RIVAL_GROUP, 1, 1)))

/* ---- hash ---- */

__kernel GROUP void hash_enter_all(hash_table table, __global const uint *corners,
                                   __global const rival_point *positions,
                                   __global rival_triangle *triangles, __global uint *counts,
                                   __global uint *entries, __global uint *full) {
    uint i = (uint)get_global_id(0);
    if (i < table.triangle_count)
        hash_enter(&table, corners, positions, triangles, counts, entries, full, i);
}

__kernel GROUP void hash_collide_all(hash_table table, __global const rival_triangle *triangles,
                                     __global const uint *counts, __global const uint *entries,
                                     __global const rival_point *from, __global rival_point *to,
                                     float friction, uint count) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        hash_collide(&table, triangles, counts, entries, from, to, friction, i);
}

/* ---- tree ---- */

/* Leaves and the nodes above them: a work-group has all children of its nodes. */
__kernel GROUP void tree_fit_leaves(tree_shape tree, __global const uint *corners,
                                    __global const rival_point *positions,
                                    __global rival_triangle *triangles, __global tree_node *nodes) {
    uint i = (uint)get_global_id(0), j = i / TREE_WIDE;
    if (i < tree.leaf_count)
        tree_fit_leaf(&tree, corners, positions, triangles, nodes, i);
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (i % TREE_WIDE == 0 && j < tree.count[0] && tree.levels > 1)
        tree_fit_node(&tree, nodes, 0, j);
}

/* The higher levels, by one work-group. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
tree_fit_nodes(tree_shape tree, __global tree_node *nodes) {
    for (uint level = 1; level + 1 < tree.levels; level++) {
        for (uint j = (uint)get_local_id(0); j < tree.count[level]; j += 256)
            tree_fit_node(&tree, nodes, level, j);
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

__kernel GROUP void tree_collide_all(tree_shape tree, __global const rival_triangle *triangles,
                                     __global const tree_node *nodes,
                                     __global const rival_point *from, __global rival_point *to,
                                     float friction, uint count) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        tree_collide(&tree, triangles, nodes, from, to, friction, i);
}

/* ---- band ---- */

__kernel GROUP void band_draw_all(__global const band_grid *grids, __global const band_pair *pairs,
                                  uint pair_count, __global const uint *corners,
                                  __global const rival_point *positions, __global uint *cells) {
    uint i = (uint)get_global_id(0), pair = i / BAND_LANES;
    if (pair < pair_count)
        band_draw(grids, pairs[pair], corners, positions, cells, (int)(i % BAND_LANES), BAND_LANES);
}

__kernel GROUP void band_collide_all(__global const band_grid *grids, uint grid_count,
                                     __global const uint *cells, float unit, uint steps,
                                     __global const rival_point *from, __global rival_point *to,
                                     float friction, uint count) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        band_collide(grids, grid_count, cells, unit, steps, from, to, friction, i);
}

/* ---- responses to results of the library ---- */

__kernel GROUP void exact_respond_all(__global const rival_signed *nearest,
                                      __global const rival_point *from, __global rival_point *to,
                                      float friction, uint count) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        exact_respond(nearest, from, to, friction, i);
}

__kernel GROUP void field_respond_all(rival_field field, __global const float *values,
                                      __global const rival_point *from, __global rival_point *to,
                                      float friction, uint count) {
    uint i = (uint)get_global_id(0);
    if (i < count)
        field_respond(&field, values, from, to, friction, i);
}
