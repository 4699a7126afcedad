/* The margin of the nearest-point search: how far the distances in floats are from the true ones.
 * Once for each number of LANES. */
#include "bvh/meshes.h"

#define abuti_nearest_search_4 search_beside_4 /* the library has the others */
#define abuti_nearest_search_8 search_beside_8
#define abuti_nearest_search_16 search_beside_16
#include "nearest/search_lanes.c"

#include <math.h>

/* Ready to look from a point around, near or far from a mesh. */
static bool start_somewhere(search *s, const abut_bvh *bvh, const abut_mesh *mesh, int round,
                            test_random *random) {
    double size = largest_extent(mesh);
    s->bvh = bvh;
    s->radius = s->found.distance = INFINITY;
    s->found.triangle = ABUT_NONE;
    s->point = round % 4 == 0   ? point_around(mesh, random, 1.5)
               : round % 4 == 1 ? point_near(mesh, random, 0)
               : round % 4 == 2 ? point_near(mesh, random, 1e-4 * size)
                                : point_around(mesh, random, 40);
    if (!(v3_max_abs(v3_sub(s->point, bvh->mesh->origin)) * bvh->scale < NEAREST_FAR))
        return false;
    init_search(s, NULL);
    return true;
}

/* The largest error of the distances of a leaf's triangles, beyond what the steps of blocks and
 * boxes explain, as a part of the margin without them. */
static double leaf_error(const search *s, const abut_mesh *mesh, uint32_t leaf,
                         const float *distance, float margin) {
    double worst = 0;
    for (uint32_t i = 0; i < bvh_leaf_fill(s->bvh, leaf); i++) {
        abut_triangle t = triangle_of(mesh, s->bvh->order[leaf * BVH_WIDTH + i]);
        abut_closest_on_triangle closest;
        assert_ok(abut_triangle_closest_point(&t, s->point, &closest));
        double error = fabs(distance[i] - closest.distance * s->bvh->scale);
        double steps = (margin - s->margin) * 0.8661; /* half of one on each axis */
        worst = fmax(worst, (error - steps) / s->margin);
        assert_true(error < margin);
    }
    return worst;
}

static bool is_leaf(uint32_t child) {
    return child != ABUT_NONE && child & BVH_LEAF;
}

/* That of all triangles of a mesh and some points. */
static double worst_error(abut_mesh *mesh, int rounds, uint64_t seed) {
    test_random random = {seed};
    double worst = 0;
    abut_bvh *bvh = hierarchy(mesh);
    uint32_t some_leaf = 0;
    while (!is_leaf(bvh->nodes[some_leaf / BVH_WIDTH].child[some_leaf % BVH_WIDTH]))
        some_leaf++;
    for (int round = 0; round < rounds; round++) {
        search s;
        if (!start_somewhere(&s, bvh, mesh, round, &random))
            continue;
        for (uint32_t n = 0; n < bvh->node_count; n++)
            for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
                uint32_t child = bvh->nodes[n].child[slot];
                if (!is_leaf(child))
                    continue;
                float margins[4 * WIDE_GROUPS], distances[4 * WIDE_GROUPS];
                uint32_t places[WIDE_GROUPS] = {0}, group = slot % WIDE_GROUPS;
                for (uint32_t g = 0; g < WIDE_GROUPS; g++) /* with another leaf beside it */
                    places[g] = g == group ? n * BVH_WIDTH + slot : some_leaf;
                uint32_t leaves[WIDE_GROUPS];
                leaf_group some = gather_leaves(&s, places, leaves);
                fw every_margin, squares = group_distances(&s, &some, &every_margin);
                fw_store(distances, fw_sqrt(squares));
                fw_store(margins, every_margin);
                some_leaf = n * BVH_WIDTH + slot;
                worst = fmax(worst, leaf_error(&s, mesh, child & ~BVH_LEAF, distances + 4 * group,
                                               margins[4 * group]));
            }
    }
    abut_bvh_destroy(bvh);
    return worst;
}

TEST(errors_are_inside) {
    double worst = 0;
    for (int kind = 0; kind < SOUP_COUNT; kind++)
        for (uint32_t count = 1; count < 3000; count = 7 * count + 3) {
            worst = fmax(worst, worst_error(make_kind(NULL, (soup_kind)kind, count, count), 40, 5));
            worst = fmax(worst, worst_error(make_moved(make_kind(NULL, (soup_kind)kind, count, 9),
                                                       1e-3, vec(7, -5, 1000)),
                                            40, 6));
        }
    for (int kind = 0; kind < ABUT_SHAPE_COUNT; kind++)
        worst = fmax(worst, worst_error(make_shape(NULL, (abut_shape_kind)kind, 8), 40, 7));
    if (!(worst <= 0.25 && worst > 0.01)) /* below that nothing was measured */
        fail_msg("the largest error is %g of the margin", worst);
}

static int run_margin(void) {
    if ((WIDE_GROUPS > 1 && abuti_simd_lanes() < 8) || (WIDE_GROUPS > 2 && abuti_simd_lanes() < 16))
        return 77; /* no such processor */
    return test_run(NULL, NULL);
}
