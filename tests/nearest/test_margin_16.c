/* The margin of the nearest-point search through the compact tree, with AVX-512 if it can be
 * compiled. */
#define LANES 16
#define MEASURE_LANES 8
#include "margin_body.h"

#define abuti_bvh_search_16 search_beside /* the library has the other */
#include "nearest/nearest_16.c"

/* Boxes of the children of a node are no further than the true ones, except for the slack of a
 * bound.
 */
static void check_keys(const search *s, const bvh_wide_node *node, const opened_node *o) {
    vec3 point = v3_scale(v3_sub(s->point, s->bvh->mesh->origin), s->bvh->scale);
    float key[LANES];
    fw_store(key, o->key);
    for (uint32_t i = 0; i < node->count; i++) {
        double sum = 0;
        for (int axis = 0; axis < 3; axis++) {
            double from = node->origin[axis] - v3_get(point, axis);
            double lo = from + (double)node->lo[axis][i] * node->step[axis];
            double hi = -from - (double)node->hi[axis][i] * node->step[axis];
            double gap = fmax(fmax(lo, hi), 0);
            sum += gap * gap;
        }
        assert_true(sqrt(key[i]) <= sqrt(sum) + 0.25 * s->margin);
    }
}

/* The largest error of all triangles of a mesh and some points, by groups of four leaves as a
 * search forms them. */
static double worst_error(abut_mesh *mesh, int rounds, uint64_t seed) {
    test_random random = {seed};
    double worst = 0;
    abut_bvh *bvh = hierarchy(mesh);
    const bvh_compact *tree = bvh->compact;
    if (tree)
        assert_true(abuti_bvh_compact_fit(bvh));
    for (int round = 0; round < rounds && tree; round++) {
        search s;
        if (!start_somewhere(&s, bvh, mesh, round, &random))
            continue;
        for (uint32_t n = 0; n < tree->node_count; n++) {
            const bvh_wide_node *node = &tree->nodes[n];
            opened_node o;
            open_node(&s, node, &o);
            check_keys(&s, node, &o);
            if (node->first >= tree->leaf_count)
                continue;
            for (uint32_t from = 0; from + WIDE_GROUPS <= node->count; from++) {
                float margins[LANES], distances[LANES];
                leaf_group group;
                fw step[3], margin;
                for (uint32_t g = 0; g < WIDE_GROUPS; g++)
                    group.steps[g] = bvh->blocks[node->first + from + g].step[0][0];
                for (int axis = 0; axis < 3; axis++) {
                    step[axis] = leaf_steps(&o, axis);
                    group.lo[axis] = fw_spread_from(o.lo[axis], from);
                    group.step[axis] = fw_spread_from(step[axis], from);
                }
                group.error = fw_spread_from(corner_error(node, step), from);
                fw_store(distances, fw_sqrt(group_distances(&s, &group, &margin)));
                fw_store(margins, margin);
                for (uint32_t g = 0; g < WIDE_GROUPS; g++)
                    worst = fmax(worst, leaf_error(&s, mesh, node->first + from + g,
                                                   distances + 4 * g, margins[4 * g]));
            }
        }
    }
    abut_bvh_destroy(bvh);
    return worst;
}

int main(void) {
    return run_margin();
}
