/* Boxes and blocks of a hierarchy, from the leaves up: the end of every build, and all of a refit.
 *
 * Guarantee: each box holds what is below it. A box is rounded outwards from the doubles of its
 * triangles, once, and boxes of inner nodes are minima and maxima of those.
 */
#include "bvh/bvh.h"

#include <math.h>

enum { NODES_A_TASK = 512 };

double abuti_bvh_scale(const abut_mesh *mesh) {
    vec3 lo = v3_sub(mesh->bounds.lo, mesh->origin), hi = v3_sub(mesh->bounds.hi, mesh->origin);
    double largest = real_max(v3_max_abs(lo), v3_max_abs(hi));
    int exponent;
    if (!(largest > 0))
        return 1;
    frexp(largest, &exponent);
    exponent = 1 - exponent;
    return ldexp(1, exponent > 1000 ? 1000 : exponent); /* the smallest doubles need no more */
}

/* How many steps from lo the coordinate is. */
static uint16_t steps_of(double x, float lo, double per_step) {
    double steps = (x - lo) * per_step + 0.5;
    return (uint16_t)(steps < 0 ? 0 : steps > BVH_STEPS ? BVH_STEPS : steps);
}

static void fit_leaf(abut_bvh *bvh, const abut_mesh *mesh, bvh_node *node, int slot) {
    uint32_t leaf = node->child[slot] & ~BVH_LEAF;
    const uint32_t *order = bvh->order + (size_t)leaf * BVH_WIDTH;
    double lo[3], hi[3];
    bvh_triangle_box(mesh, bvh->scale, order[0], lo, hi);
    for (int i = 1; i < BVH_WIDTH; i++) {
        double lo_i[3], hi_i[3];
        bvh_triangle_box(mesh, bvh->scale, order[i], lo_i, hi_i);
        for (int axis = 0; axis < 3; axis++) {
            lo[axis] = real_min(lo[axis], lo_i[axis]);
            hi[axis] = real_max(hi[axis], hi_i[axis]);
        }
    }
    double per_step[3];
    for (int axis = 0; axis < 3; axis++) {
        node->lo[axis][slot] = bvh_float_below(lo[axis]);
        node->hi[axis][slot] = bvh_float_above(hi[axis]);
        double extent = (double)node->hi[axis][slot] - node->lo[axis][slot];
        per_step[axis] = extent > 0 ? BVH_STEPS / extent : 0;
    }
    bvh_block *block = &bvh->blocks[leaf];
    for (int i = 0; i < BVH_WIDTH; i++)
        for (int k = 0; k < 3; k++) {
            vec3 p = mesh->positions[mesh->indices[3 * (size_t)order[i] + (size_t)k]];
            for (int axis = 0; axis < 3; axis++)
                block->step[k][axis][i] =
                    steps_of(v3_get(p, axis) * bvh->scale, node->lo[axis][slot], per_step[axis]);
        }
}

typedef struct fitting {
    abut_bvh *bvh;
    const abut_mesh *mesh;
} fitting;

static void leaves_task(void *data, size_t chunk, size_t begin, size_t end) {
    fitting *fit = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        bvh_node *node = &fit->bvh->nodes[i];
        for (int slot = 0; slot < BVH_WIDTH; slot++)
            if (node->child[slot] != ABUT_NONE && node->child[slot] & BVH_LEAF)
                fit_leaf(fit->bvh, fit->mesh, node, slot);
    }
}

/* The box of all slots of a node into a slot of its parent; gives half the surface. */
static double join_slots(const bvh_node *node, bvh_node *parent, int slot) {
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

static double slot_area(const bvh_node *node, int slot) {
    double extent[3];
    for (int axis = 0; axis < 3; axis++)
        extent[axis] = (double)node->hi[axis][slot] - node->lo[axis][slot];
    return extent[0] * extent[1] + extent[1] * extent[2] + extent[2] * extent[0];
}

double abuti_bvh_cost(const abut_bvh *bvh) {
    double sum = 0, whole = join_slots(&bvh->nodes[0], NULL, 0);
    for (size_t i = bvh->node_count; i-- > 0;)
        for (int slot = 0; slot < BVH_WIDTH; slot++)
            if (bvh->nodes[i].child[slot] != ABUT_NONE)
                sum += slot_area(&bvh->nodes[i], slot);
    return whole > 0 ? 1 + sum / whole : 1;
}

void abuti_bvh_fit(abut_bvh *bvh, const abut_mesh *mesh) {
    bvh->scale = abuti_bvh_scale(mesh);
    fitting fit = {bvh, mesh};
    abuti_parallel_for(bvh->context, bvh->node_count, NODES_A_TASK, leaves_task, &fit);
    for (size_t i = bvh->node_count; i-- > 0;) { /* children stand after their parents */
        bvh_node *node = &bvh->nodes[i];
        for (int slot = 0; slot < BVH_WIDTH; slot++)
            if (node->child[slot] != ABUT_NONE && !(node->child[slot] & BVH_LEAF))
                join_slots(&bvh->nodes[node->child[slot]], node, slot);
    }
    bvh->cost = abuti_bvh_cost(bvh);
}
