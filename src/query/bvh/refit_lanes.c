/* Boxes and blocks of a BVH, from the leaves up: the last step of every build, and all of a refit.
 *
 * Guarantee: each box contains everything below it. The box of a leaf is rounded outwards from the
 * doubles of its triangles, once, and boxes of inner nodes are minima and maxima of those.
 */
#include "bvh/cull.h"

#include "base/simd_lanes.h"

enum { NODES_PER_TASK = 512 };

/* The box of four triangles, rounded outwards. */
static inline void fit_box(const d4 corner[3][3], float lo[3], float hi[3]) {
    for (int axis = 0; axis < 3; axis++) {
        const d4 *c = corner[axis];
        lo[axis] = bvh_float_below(d4_least(d4_min(c[0], d4_min(c[1], c[2]))));
        hi[axis] = bvh_float_above(d4_greatest(d4_max(c[0], d4_max(c[1], c[2]))));
    }
}

/* Quantises corners on one axis, in steps from its low end. Differences are in doubles; the
 * additional error of floats is less than a hundredth of a step. */
static inline void quantise_corners(const d4 corner[3], float lo, float hi,
                                    uint16_t *const steps[3]) {
    double per_step = BVH_STEPS / ((double)hi - lo);
    f4 factor = f4_all(per_step <= FLT_MAX ? (float)per_step : 0); /* 0: too flat to be quantised */
    d4 from = d4_all(lo);
    for (int k = 0; k < 3; k++) {
        f4 at = f4_mul(f4_from_d4(d4_sub(corner[k], from)), factor);
        at = f4_min(f4_max(f4_add(at, f4_all(0.5f)), f4_all(0)), f4_all(BVH_STEPS));
        f4_store_u16(steps[k], at);
    }
}

static void fit_leaf(abut_bvh *bvh, const abut_mesh *mesh, bvh_node *node, int slot) {
    uint32_t leaf = node->child[slot] & ~BVH_LEAF;
    d4 corner[3][3];
    float lo[3], hi[3];
    bvh_leaf_corners(bvh, mesh, leaf, corner);
    fit_box(corner, lo, hi);
    bvh_block *block = &bvh->blocks[leaf];
    for (int axis = 0; axis < 3; axis++) {
        uint16_t *steps[3] = {block->step[0][axis], block->step[1][axis], block->step[2][axis]};
        node->lo[axis][slot] = lo[axis];
        node->hi[axis][slot] = hi[axis];
        quantise_corners(corner[axis], lo[axis], hi[axis], steps);
    }
}

typedef struct fit_task_data {
    abut_bvh *bvh;
    const abut_mesh *mesh;
} fit_task_data;

static void leaves_task(void *data, size_t chunk, size_t begin, size_t end) {
    fit_task_data *fit = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        bvh_node *node = &fit->bvh->nodes[i];
        for (int slot = 0; slot < BVH_WIDTH; slot++)
            if (node->child[slot] != ABUT_NONE && node->child[slot] & BVH_LEAF)
                fit_leaf(fit->bvh, fit->mesh, node, slot);
    }
}

/* Writes the box of all slots of a node to a slot of its parent. Returns half the surface area. */
static double fit_parent_slot(const bvh_node *node, bvh_node *parent, int slot) {
    double extent[3];
    for (int axis = 0; axis < 3; axis++) {
        float lo = node->lo[axis][0], hi = node->hi[axis][0];
        for (int i = 1; i < BVH_WIDTH; i++) {
            lo = node->lo[axis][i] < lo ? node->lo[axis][i] : lo;
            hi = node->hi[axis][i] > hi ? node->hi[axis][i] : hi;
        }
        if (parent) {
            parent->lo[axis][slot] = lo;
            parent->hi[axis][slot] = hi;
        }
        extent[axis] = (double)hi - lo;
    }
    return extent[0] * extent[1] + extent[1] * extent[2] + extent[2] * extent[0];
}

/* Adds half the surface area of every slot of a node. */
static double add_half_areas(double sum, const bvh_node *node) {
    for (int slot = 0; slot < BVH_WIDTH; slot++) {
        double extent[3];
        if (node->child[slot] == ABUT_NONE)
            continue;
        for (int axis = 0; axis < 3; axis++)
            extent[axis] = (double)node->hi[axis][slot] - node->lo[axis][slot];
        sum += extent[0] * extent[1] + extent[1] * extent[2] + extent[2] * extent[0];
    }
    return sum;
}

void BY_LANES(abuti_bvh_fit)(abut_bvh *bvh, const abut_mesh *mesh) {
    fit_task_data fit = {bvh, mesh};
    bvh->scale = abuti_bvh_scale(mesh);
    abuti_parallel_for(bvh->context, bvh->node_count, NODES_PER_TASK, leaves_task, &fit);
    double sum = 0;
    for (size_t i = bvh->node_count;
         i-- > 0;) { /* children have higher indices than their parents */
        bvh_node *node = &bvh->nodes[i];
        for (int slot = 0; slot < BVH_WIDTH; slot++)
            if (node->child[slot] != ABUT_NONE && !(node->child[slot] & BVH_LEAF))
                fit_parent_slot(&bvh->nodes[node->child[slot]], node, slot);
        sum = add_half_areas(sum, node);
    }
    double whole = fit_parent_slot(&bvh->nodes[0], NULL, 0);
    bvh->cost = whole > 0 ? 1 + sum / whole : 1;
}
