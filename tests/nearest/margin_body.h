/* The margin of the nearest-point search: how far the distances in floats are from the true ones.
 * Once for each number of LANES. */
#include "bvh/meshes.h"

#define abuti_nearest_search_4 search_beside_4 /* the library has the others */
#define abuti_nearest_search_8 search_beside_8
#define abuti_nearest_search_16 search_beside_16
#define abuti_bvh_wide_4 wide_beside_4
#define abuti_bvh_wide_8 wide_beside_8
#define abuti_bvh_wide_16 wide_beside_16
#include "bvh/wide_lanes.c"
/* Sanitizer builds have no library files for 16 lanes; all widths measure the same bits. */
#define abuti_nearest_measure_16 abuti_nearest_measure_4
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

/* The largest error of the distances of a leaf's triangles, beyond what the steps of its corners
 * explain, as a part of the margin without them. */
static double leaf_error(const search *s, const abut_mesh *mesh, const wide_leaf *leaf) {
    float margin, distance[LANES];
    double worst = 0;
    fw_store(distance, fw_sqrt(leaf_distances(s, leaf, &margin)));
    for (uint32_t i = 0; i < leaf->count; i++) {
        abut_triangle t = triangle_of(mesh, leaf->triangle[i]);
        abut_closest_on_triangle closest;
        assert_ok(abut_triangle_closest_point(&t, s->point, &closest));
        double error = fabs(distance[i] - closest.distance * s->bvh->scale);
        double steps = (margin - s->margin) * 0.8661; /* half of one on each axis */
        worst = fmax(worst, (error - steps) / s->margin);
        assert_true(error < margin);
    }
    return worst;
}

/* The float distance of the box of each child is not beyond that of its triangles. */
static void check_boxes(const search *s, const abut_mesh *mesh, const bvh_wide *tree,
                        const wide_node *node) {
    path_node opened;
    open_node(s, node, &opened);
    for (uint32_t i = 0; i < node->count; i++) {
        uint32_t child = node->child[i];
        while (!(child & BVH_LEAF)) /* the first leaf below */
            child = ((const wide_node *)tree->nodes)[child].child[0];
        const wide_leaf *leaf = (const wide_leaf *)tree->leaves + (child & ~BVH_LEAF);
        for (uint32_t k = 0; k < leaf->count; k++) {
            abut_triangle t = triangle_of(mesh, leaf->triangle[k]);
            abut_closest_on_triangle closest;
            assert_ok(abut_triangle_closest_point(&t, s->point, &closest));
            assert_true(opened.key[i] <= box_bound((float)(closest.distance * s->bvh->scale)));
        }
    }
    for (uint32_t i = node->count; i < LANES; i++)
        assert_true(opened.key[i] == INFINITY);
}

/* The largest error of all triangles of a mesh and some points. */
static double worst_error(abut_mesh *mesh, int rounds, uint64_t seed) {
    test_random random = {seed};
    double worst = 0;
    abut_bvh *bvh = hierarchy(mesh);
    bvh_attachment *part = NULL;
    assert_ok(abuti_bvh_share_attachment(bvh, &BY_LANES(abuti_bvh_wide), &part));
    const bvh_wide *tree = (const bvh_wide *)(void *)part;
    for (int round = 0; round < rounds; round++) {
        search s;
        if (!start_somewhere(&s, bvh, mesh, round, &random))
            continue;
        for (uint32_t n = 0; n < tree->node_count; n++)
            check_boxes(&s, mesh, tree, (const wide_node *)tree->nodes + n);
        for (uint32_t n = 0; n < tree->leaf_count; n++)
            worst = fmax(worst, leaf_error(&s, mesh, (const wide_leaf *)tree->leaves + n));
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
