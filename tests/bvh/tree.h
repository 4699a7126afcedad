/* The invariants of a BVH, built on any device. */
#ifndef ABUT_TEST_BVH_TREE_H
#define ABUT_TEST_BVH_TREE_H

#include "meshes.h"

#include "bvh/bvh.h"

/* Every triangle in exactly one leaf and inside its box, boxes inside those of their parents, no
 * node twice, parents before children. */
static inline void check_tree(const abut_bvh *bvh) {
    const abut_mesh *mesh = bvh->mesh;
    uint32_t *parents = calloc(bvh->node_count, sizeof *parents);
    uint8_t *seen = calloc(mesh->triangle_count, 1);
    uint8_t *met = calloc(bvh->leaf_count, 1);
    assert_true(parents && seen && met);
    for (uint32_t n = 0; n < bvh->node_count; n++) {
        const bvh_node *node = &bvh->nodes[n];
        for (int slot = 0; slot < BVH_WIDTH; slot++) {
            uint32_t child = node->child[slot];
            if (child == ABUT_NONE) {
                assert_true(node->lo[0][slot] == INFINITY && node->hi[0][slot] == -INFINITY);
                continue;
            }
            if (!(child & BVH_LEAF)) {
                assert_true(child > n && child < bvh->node_count);
                parents[child]++;
                for (int axis = 0; axis < 3; axis++)
                    for (int i = 0; i < BVH_WIDTH; i++)
                        assert_true(bvh->nodes[child].child[i] == ABUT_NONE ||
                                    (bvh->nodes[child].lo[axis][i] >= node->lo[axis][slot] &&
                                     bvh->nodes[child].hi[axis][i] <= node->hi[axis][slot]));
                continue;
            }
            uint32_t leaf = child & ~BVH_LEAF;
            assert_true(leaf < bvh->leaf_count && !met[leaf]);
            met[leaf] = 1;
            for (uint32_t i = 0; i < bvh_leaf_fill(bvh, leaf); i++) {
                uint32_t t = bvh->order[leaf * BVH_WIDTH + i];
                assert_true(t < mesh->triangle_count && !seen[t]);
                seen[t] = 1;
                double lo[3], hi[3];
                bvh_triangle_box(mesh, bvh->scale, t, lo, hi);
                for (int axis = 0; axis < 3; axis++) {
                    assert_true(node->lo[axis][slot] <= lo[axis]);
                    assert_true(node->hi[axis][slot] >= hi[axis]);
                    assert_true(fabs(lo[axis]) <= 2 && fabs(hi[axis]) <= 2);
                }
            }
        }
    }
    for (uint32_t n = 0; n < bvh->node_count; n++)
        assert_int_equal(parents[n], n > 0);
    for (uint32_t t = 0; t < mesh->triangle_count; t++)
        assert_true(seen[t]);
    assert_true(bvh->depth <= BVH_DEPTH);
    free(parents);
    free(seen);
    free(met);
}

#endif
