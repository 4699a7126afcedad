/* Searches for points with more candidates than the list holds, and for distant points, for
 * kernels. */
#ifndef ABUTI_NEAREST_COMPLETE_CL_H
#define ABUTI_NEAREST_COMPLETE_CL_H

#include "nearest/measure_cl.h"
#include "nearest/walk_cl.h"

/* The search in doubles, as k_nearest.c: in units in which the point and the mesh are
 * within 2 of the local origin, so that boxes are measured to 2^-50. */
static void walk_complete(measured *m, __global const bvh_node *nodes,
                          __global const uint *tree_order, __global const double *corners,
                          mesh_frame frame) {
    far_point f = make_far_point(m->point, frame);
    double distances[STACK];
    uint children[STACK], used = 0, index = 0;
    for (;;) {
        used = far_children(&f, nodes + index, INFINITY, distances, children, used);
        bool found = false;
        while (used && !found) {
            used--;
            double limit = real_min(m->best, m->radius) * f.unit * SLACK_FAR + MARGIN_FAR;
            if (distances[used] > limit * limit)
                continue;
            index = children[used];
            found = !(index & BVH_LEAF);
            for (uint i = 0; !found && i < BVH_WIDTH; i++)
                measure_apart(m, corners, tree_order[(index & ~BVH_LEAF) * BVH_WIDTH + i]);
        }
        if (!found)
            return;
    }
}

/* The search in floats again, but candidates that do not fit the list are measured at once. */
typedef struct measuring_search {
    search s;
    measured m;
    __global const double *corners;
    __global const uint *tree_order;
    double scale;
} measuring_search;

static void measure_list(measuring_search *to) {
    for (uint i = 0; i < to->s.count; i++)
        if (to->s.distance_sq[i] <= to->s.reach_sq)
            measure_apart(&to->m, to->corners, to->tree_order[to->s.place[i]]);
    to->s.count = 0;
    set_best(&to->s, fmin(to->s.best, (float)(to->m.best * to->scale) * NEAREST_SLACK));
}

static void visit_and_measure(measuring_search *to, __global const float4 *triangles, uint leaf) {
    if (to->s.count > CANDIDATES - BVH_WIDTH)
        measure_list(to);
    visit_leaf(&to->s, triangles, leaf);
}

DEFINE_WALK(walk_measuring, measuring_search, &state->s, visit_and_measure)

#endif
