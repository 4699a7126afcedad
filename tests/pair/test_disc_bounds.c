/* Discs of BVHs contain their triangles, their bounds are conservative, and results are the
 * same with them and without. */
#include "bvh/meshes.h"
#include "pair/frame.h"

#include "pair/disc_bounds.h"

static const abut_pose still = {{0, 0, 0, 0}, {0, 0, 0}};

/* Creates them after any number of queries. */
static const pair_disc *discs_of(const abut_bvh *bvh) {
    const pair_slabs *slabs = abuti_pair_slabs(bvh, bvh->leaf_count);
    assert_non_null(slabs);
    return slabs->discs;
}

/* All triangles below a place are in its disc. */
static void check_discs(const abut_bvh *bvh, const pair_disc *discs) {
    uint32_t list[4096];
    for (uint32_t place = 0; place < BVH_WIDTH * bvh->node_count; place++) {
        const uint32_t count = list_below(bvh, place, list), slot = place % BVH_WIDTH;
        const pair_disc *disc = &discs[place / BVH_WIDTH];
        const vec3 m = v3(disc->m[0][slot], disc->m[1][slot], disc->m[2][slot]);
        const vec3 centre = v3_along(pair_box_centre(bvh, place), disc->s[slot], m);
        for (uint32_t i = 0; i < 3 * count; i++) {
            uint32_t corner = bvh->mesh->indices[3 * (size_t)list[i / 3] + i % 3];
            vec3 from = v3_sub(v3_scale(bvh->mesh->positions[corner], bvh->scale), centre);
            double along = v3_dot(from, m) / v3_length(m);
            assert_true(fabs(v3_length(m) - 1) < 1e-6);
            assert_true(fabs(along) <= disc->t[slot]);
            assert_true(v3_length_sq(from) - along * along <=
                        (double)disc->r[slot] * disc->r[slot]);
        }
    }
}

/* No bound of two discs is beyond the triangles of leaves in them. How much nearer it is than that,
 * at most. */
static double check_bounds(const abut_bvh *a, abut_pose at_a, const abut_bvh *b, abut_pose at_b) {
    const abut_collider posed[2] = {abut_collider_from_bvh(a, at_a),
                                    abut_collider_from_bvh(b, at_b)};
    const pair_disc *discs[2] = {discs_of(a), discs_of(b)};
    pair_frame frame;
    double least = 1;
    assert_true(init_frame(&posed[0], &posed[1], &frame));
    for (uint32_t place = 0; place < BVH_WIDTH * a->node_count; place++) {
        uint32_t leaf_a = pair_child(&frame.side[0], place);
        if (leaf_a == ABUT_NONE || !(leaf_a & BVH_LEAF))
            continue;
        pair_box box = pair_box_at(&frame.side[0], place);
        pair_view view = pair_view_of(&frame.side[1], &box, frame.pad);
        disc_view disc = disc_view_of(&frame.side[1], &frame.side[0], discs[0], place);
        for (uint32_t node = 0; node < b->node_count; node++) {
            float lower_sq[4];
            pair_gaps gaps;
            f4 offset[3], half[3];
            pair_gaps_own(&frame.side[1], &view, &b->nodes[node], &gaps, offset, half);
            f4_store(lower_sq, discs_lower_bound_sq(&frame.side[1], &disc, &discs[1][node], offset,
                                                    frame.pad));
            for (uint32_t i = 0; i < BVH_WIDTH * BVH_WIDTH * BVH_WIDTH; i++) {
                uint32_t slot = i % BVH_WIDTH, leaf_b = b->nodes[node].child[slot];
                if (leaf_b == ABUT_NONE || !(leaf_b & BVH_LEAF))
                    continue;
                uint32_t j = (leaf_a & ~BVH_LEAF) * BVH_WIDTH + i / BVH_WIDTH % BVH_WIDTH;
                uint32_t k = (leaf_b & ~BVH_LEAF) * BVH_WIDTH + i / BVH_WIDTH / BVH_WIDTH;
                abut_triangle s = pair_triangle(&frame.side[0], a->order[j]);
                abut_triangle t = pair_triangle(&frame.side[1], b->order[k]);
                abut_closest_pair pair;
                assert_ok(abut_triangle_triangle_closest(&s, &t, &pair));
                double lower = sqrt(lower_sq[slot]), is = pair.distance * frame.scale;
                assert_true(lower <= is * (1 + 1e-6));
                least = lower < 0.01 ? least : fmin(least, is / lower - 1);
            }
        }
    }
    return least;
}

TEST(discs) {
    test_random random = {17};
    double least = 1;
    for (int i = 0; i < SOUP_COUNT + 4; i++) {
        AUTO(bvh)
        a = hierarchy(i < SOUP_COUNT ? make_kind(NULL, (soup_kind)i, 60, 7)
                                     : make_shape(NULL, ABUT_SHAPE_TORUS, 10));
        AUTO(bvh)
        b = hierarchy(
            make_moved(make_shape(NULL, ABUT_SHAPE_ICOSPHERE, 2), i % 2 ? 1 : 0.02, vec(0, 0, 0)));
        check_discs(a, discs_of(a));
        check_discs(b, discs_of(b));
        least = fmin(least, check_bounds(a, any_pose(&random, 0.1), b, any_pose(&random, 3)));
    }
    assert_true(least < 0.05);
}

/* Distances are the same with discs and without, for triangles of every kind, in all places and
 * sizes. test_closest_ties.c has searches that make them, refits, and failures of memory. */
TEST(soups_with_discs) {
    test_random random = {23};
    abut_pair_options options = abut_pair_options_default();
    int apart = 0;
    options.surface_only = true;
    for (int i = 0; i < SOUP_COUNT; i++)
        for (int j = i; j < SOUP_COUNT; j++) {
            abut_bvh *with[2], *without[2];
            for (int k = 0; k < 2; k++) {
                soup_kind kind = (soup_kind)(k ? j : i);
                with[k] = hierarchy(make_kind(NULL, kind, 70, (uint64_t)k + 1));
                without[k] = hierarchy(make_kind(NULL, kind, 70, (uint64_t)k + 1));
                discs_of(with[k]);
            }
            for (int n = 0; n < 4; n++) {
                abut_pose at = any_pose(&random, n < 2 ? 1.5 : 6);
                abut_collider a = abut_collider_from_bvh(with[0], still),
                              b = abut_collider_from_bvh(with[1], at);
                abut_separation found, expected;
                assert_ok(abut_pair_distance(&a, &b, &options, NULL, &found));
                a.shape.body.bvh = without[0];
                b.shape.body.bvh = without[1];
                assert_ok(abut_pair_distance(&a, &b, &options, NULL, &expected));
                assert_memory_equal(&found, &expected, sizeof found);
                apart += found.relation == ABUT_PAIR_APART;
            }
            for (int k = 0; k < 2; k++) {
                abut_bvh_destroy(with[k]);
                abut_bvh_destroy(without[k]);
            }
        }
    assert_true(apart > 20);
}
