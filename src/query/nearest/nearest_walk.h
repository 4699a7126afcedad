/* The traversal of a BVH for the closest point, one node after the other: for nearest.c and
 * nearest_walk.c.
 */
#ifndef ABUTI_NEAREST_NEAREST_WALK_H
#define ABUTI_NEAREST_NEAREST_WALK_H

#include "nearest/search.h"

/* Initialises a search in floats. Returns false if the point is too far away. */
static inline bool init_float_search(search *s, const bvh_hint *hint) {
    double scale = s->bvh->scale;
    vec3 p = v3_scale(v3_sub(s->point, s->bvh->mesh->origin), scale);
    double largest = v3_max_abs(p);
    if (!(largest < NEAREST_FAR))
        return false;
    const double at[3] = {p.x, p.y, p.z};
    for (int axis = 0; axis < 3; axis++) {
        float nearest = (float)at[axis], rounding = fabsf(nearest) * FLT_EPSILON + FLT_MIN;
        s->at[axis] = nearest;
        s->lo[axis] = nearest - rounding;
        s->hi[axis] = nearest + rounding;
    }
    s->margin = NEAREST_MARGIN * ((float)largest + 2);
    s->box_margin = s->margin * 0x1p-20f;
    s->count = s->prefetched = 0;
    /* Nothing is further than this. */
    double limit = real_min(s->radius * scale, 4 * NEAREST_FAR);
    if (hint && hint->known)
        limit = real_min(limit, v3_length(v3_sub(p, v3_scale(hint->point, scale))));
    set_bound(s, (float)limit * NEAREST_SLACK + s->margin);
    return true;
}

/* ---- leaves ---- */

/* The leaves at the given places, node and slot: their data for the search, and their indices. */
static inline leaf_group gather_leaves(const search *s, const uint32_t places[WIDE_GROUPS],
                                       uint32_t leaves[WIDE_GROUPS]) {
    leaf_group group;
    const float *box[WIDE_GROUPS];
    for (int g = 0; g < WIDE_GROUPS; g++) {
        const bvh_node *node = &s->bvh->nodes[places[g] / BVH_WIDTH];
        uint32_t slot = places[g] % BVH_WIDTH;
        box[g] = &node->lo[0][slot];
        leaves[g] = node->child[slot] & ~BVH_LEAF;
        group.steps[g] = s->bvh->blocks[leaves[g]].step[0][0];
    }
    for (int axis = 0; axis < 3; axis++) {
        const float *lo_at[WIDE_GROUPS], *hi_at[WIDE_GROUPS];
        for (int g = 0; g < WIDE_GROUPS; g++) {
            lo_at[g] = box[g] + BVH_WIDTH * axis;
            hi_at[g] = box[g] + BVH_WIDTH * (axis + 3);
        }
        fw lowest = fw_each(lo_at);
        group.step[axis] = fw_mul(fw_sub(fw_each(hi_at), lowest), fw_all(1.0f / BVH_STEPS));
        group.lo[axis] = fw_sub(lowest, fw_all(s->at[axis]));
    }
    group.error = fw_max(fw_max(group.step[0], group.step[1]), group.step[2]);
    return group;
}

static inline void visit_leaves(search *s, const uint32_t places[WIDE_GROUPS]) {
    uint32_t leaves[WIDE_GROUPS];
    leaf_group group = gather_leaves(s, places, leaves);
    prefetch_candidates(s);
    visit_group(s, &group, leaves);
}

/* ---- nodes ---- */

/* Squared distances to four boxes. */
static inline f4 box_distances_sq(const search *s, const bvh_node *node) {
    f4 sum = f4_all(0);
    for (int axis = 0; axis < 3; axis++) {
        f4 below = f4_sub(f4_load(node->lo[axis]), f4_all(s->hi[axis]));
        f4 above = f4_sub(f4_all(s->lo[axis]), f4_load(node->hi[axis]));
        f4 d = f4_max(f4_max(below, above), f4_all(0));
        sum = f4_mul_add(d, d, sum);
    }
    return sum;
}

/* Prefetches the nodes that are next, and the blocks and indices of the leaves of a node: those of
 * one node are mostly consecutive. Prefetching beyond the last block does no harm. */
PREFETCH_FUNCTION void prefetch_next(const abut_bvh *bvh, const keyed *stack, uint32_t used,
                                     const bvh_node *node, unsigned leaf_mask) {
    for (uint32_t i = 1; i <= 2; i++) {
        const bvh_node *next = &bvh->nodes[used >= i ? stack[used - i].value : 0];
        __builtin_prefetch(next);
        __builtin_prefetch(next->child);
    }
    if (!leaf_mask)
        return;
    uint32_t slot = (uint32_t)__builtin_ctz(leaf_mask), leaf = node->child[slot] & ~BVH_LEAF;
    const char *block = (const char *)&bvh->blocks[leaf];
    __builtin_prefetch(block);
    __builtin_prefetch(block + 64);
    __builtin_prefetch(block + 128);
    __builtin_prefetch(block + 192);
    __builtin_prefetch(&bvh->order[(size_t)leaf * BVH_WIDTH]);
}

/* Children within the bound are pushed; leaves are collected and visited as soon as there are
 * enough for all lanes. */
static inline void search_in_floats(search *s) {
    keyed stack[BVH_STACK + BVH_WIDTH], leaves[WIDE_GROUPS + 2 * BVH_WIDTH];
    uint32_t used = 0, waiting = 0, index = 0;
    for (bool more = true; more;) {
        const bvh_node *node = &s->bvh->nodes[index];
        f4 all = box_distances_sq(s, node);
        m4 near = f4_less_equal(all, f4_all(s->upper_sq)), leaf = m4_highest(node->child);
        used += f4_sort(all, m4_without(near, leaf), node->child, stack + used);
        waiting += f4_sort_lanes(all, m4_and(near, leaf), index * BVH_WIDTH, leaves + waiting);
        prefetch_next(s->bvh, stack, used, node, m4_bits(m4_and(near, leaf)));
        do {
            while (waiting >= WIDE_GROUPS) {
                uint32_t places[WIDE_GROUPS];
                bool near_enough = false;
                waiting -= WIDE_GROUPS;
                for (uint32_t g = 0; g < WIDE_GROUPS; g++) {
                    places[g] = leaves[waiting + g].value;
                    near_enough |= leaves[waiting + g].key <= s->upper_sq;
                }
                if (near_enough)
                    visit_leaves(s, places);
            }
            while (used && !(stack[used - 1].key <= s->upper_sq))
                used--;
            more = used > 0;
            for (uint32_t g = 1; !more && waiting && g < WIDE_GROUPS; g++)
                leaves[waiting++] = leaves[0]; /* the last one fills all lanes */
        } while (!more && waiting);
        if (more)
            index = stack[--used].value;
    }
    measure_candidates(s);
}

#endif
