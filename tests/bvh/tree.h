/* The invariants of a BVH, built on any device. */
#ifndef ABUT_TEST_BVH_TREE_H
#define ABUT_TEST_BVH_TREE_H

#include "meshes.h"

#include "bvh/bvh.h"
#include "bvh/compact.h"

/* A box of a child of the compact tree: around that of the unit, and off by so many steps. */
static inline void check_wide_box(const bvh_wide_node *node, uint32_t slot, const double unit[6],
                                  double most) {
    for (int axis = 0; axis < 3; axis++) {
        double step = node->step[axis], off = most * step + 0x1p-90;
        double lo = node->origin[axis] + step * node->lo[axis][slot];
        double hi = node->origin[axis] + step * node->hi[axis][slot];
        assert_true(lo <= unit[axis] && hi >= unit[axis + 3]);
        assert_true(lo >= unit[axis] - off && hi <= unit[axis + 3] + off);
    }
}

/* Every leaf once and equally deep; boxes are those of the BVH, rounded. */
static inline void check_compact(const abut_bvh *bvh) {
    const bvh_compact *tree = bvh->compact;
    if (!bvh_compact_ready(bvh))
        return;
    uint32_t leaves = bvh->leaf_count, unit = 0, level_end = leaves, levels = 0;
    double(*box)[6] = malloc(((size_t)leaves + tree->node_count) * sizeof *box);
    assert_non_null(box);
    assert_int_equal(tree->leaf_count, leaves);
    for (uint32_t n = 0; n < bvh->node_count; n++)
        for (int slot = 0; slot < BVH_WIDTH; slot++) {
            uint32_t child = bvh->nodes[n].child[slot];
            for (int axis = 0; axis < 3 && child != ABUT_NONE && child & BVH_LEAF; axis++) {
                box[child & ~BVH_LEAF][axis] = bvh->nodes[n].lo[axis][slot];
                box[child & ~BVH_LEAF][axis + 3] = bvh->nodes[n].hi[axis][slot];
            }
        }
    for (uint32_t n = 0; n < tree->node_count; n++) {
        const bvh_wide_node *node = &tree->nodes[n];
        double *all = box[leaves + n];
        assert_int_equal(node->first, unit);
        assert_true(node->count >= 1 && node->count <= BVH_COMPACT_WIDTH);
        memcpy(all, box[unit], sizeof *box);
        for (uint32_t i = 0; i < node->count; i++, unit++) {
            check_wide_box(node, i, box[unit], unit < leaves ? 1.05f : 4.05f);
            for (int axis = 0; axis < 3; axis++) {
                all[axis] = fmin(all[axis], box[unit][axis]);
                all[axis + 3] = fmax(all[axis + 3], box[unit][axis + 3]);
            }
        }
        if (unit == level_end) {
            level_end = leaves + n + 1;
            levels++;
        }
        assert_true(unit <= level_end);
    }
    assert_int_equal(unit, leaves + tree->node_count - 1);
    assert_int_equal(levels, tree->levels);
    free(box);
}

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
    check_compact(bvh);
    free(parents);
    free(seen);
    free(met);
}

#endif
