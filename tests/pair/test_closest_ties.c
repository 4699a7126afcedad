/* Pairs that are equally near: slabs bound their triangles, and the lowest pair is found, with
 * slabs and without, as a search through all finds it. */
#include "bvh/meshes.h"
#include "pair/frame.h"

#include "pair/disc_bounds.h"

static const abut_pose still = {{0, 0, 0, 0}, {0, 0, 0}};

static const pair_slab *walls_of(const abut_bvh *bvh) {
    const pair_slabs *walls = abuti_pair_slabs(bvh, bvh->leaf_count);
    assert_non_null(walls);
    return walls->slabs;
}

/* All triangles below a place are in its wall. */
static void check_walls(const abut_bvh *bvh, const pair_slab *walls) {
    uint32_t list[4096];
    for (uint32_t place = 0; place < BVH_WIDTH * bvh->node_count; place++) {
        const uint32_t count = list_below(bvh, place, list);
        const pair_slab *wall = &walls[place];
        const vec3 m = v3(wall->m[0], wall->m[1], wall->m[2]), middle = pair_box_centre(bvh, place);
        uint32_t first = ABUT_NONE;
        test_random random = {place};
        for (uint32_t i = 0; i < 3 * count; i++) {
            uint32_t corner = bvh->mesh->indices[3 * (size_t)list[i / 3] + i % 3];
            vec3 from = v3_sub(v3_scale(bvh->mesh->positions[corner], bvh->scale), middle);
            double along = v3_dot(from, m);
            assert_true(along >= wall->lo && along <= wall->hi);
            assert_true(v3_length(v3_sub(from, v3_scale(m, along))) <= wall->r);
            vec3 n = v3_normalise(random_vec(&random, 1));
            assert_true(v3_dot(n, from) <= slab_reach(wall, n) + 1e-15);
            first = list[i / 3] < first ? list[i / 3] : first;
        }
        assert_true(!count || (wall->first == first && fabs(v3_dot(m, m) - 1) < 1e-15));
    }
}

TEST(walls) {
    for (int i = 0; i < SOUP_COUNT + 2; i++) {
        AUTO(bvh)
        bvh = hierarchy(i < SOUP_COUNT
                            ? make_kind(NULL, (soup_kind)i, 300, 7)
                            : make_shape(NULL, i % 2 ? ABUT_SHAPE_TORUS : ABUT_SHAPE_BOX, 10));
        check_walls(bvh, walls_of(bvh));
    }
    /* A wall of many triangles, turned, is flat to the last digits. */
    test_random random = {5};
    abut_pose turned = any_pose(&random, 1);
    abut_mesh *sheet = make_shape(NULL, ABUT_SHAPE_SHEET, 40), *moved = NULL;
    assert_ok(abut_mesh_transform(sheet, 1, turned, &moved));
    abut_bvh *bvh = hierarchy(moved);
    const pair_slab *walls = walls_of(bvh);
    for (uint32_t slot = 0; slot < BVH_WIDTH; slot++)
        if (bvh->nodes[0].child[slot] != ABUT_NONE)
            assert_true(walls[slot].hi - walls[slot].lo < 1e-13);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(sheet);
}

/* ---- answers ---- */

/* The lowest of all pairs that are no further than the nearest, within the tolerance of ties. */
static abut_separation slowly(const abut_collider *a, const abut_collider *b) {
    pair_frame frame;
    abut_separation slow;
    double least = INFINITY;
    memset(&slow, 0, sizeof slow);
    slow.distance = INFINITY;
    assert_true(init_frame(a, b, &frame));
    const uint32_t count[2] = {a->shape.body.bvh->triangle_count,
                               b->shape.body.bvh->triangle_count};
    AUTO_FREE double *distance = malloc((size_t)count[0] * count[1] * sizeof *distance);
    assert_non_null(distance);
    for (uint32_t i = 0; i < count[0] * count[1]; i++) {
        abut_triangle s = pair_triangle(&frame.side[0], i / count[1]);
        abut_triangle t = pair_triangle(&frame.side[1], i % count[1]);
        abut_closest_pair pair;
        assert_ok(abut_triangle_triangle_closest(&s, &t, &pair));
        distance[i] = pair.distance;
        least = fmin(least, pair.distance);
    }
    for (uint32_t i = 0; i < count[0] * count[1] && isinf(slow.distance); i++)
        if (distance[i] <= pair_tie_reach(least, frame.tie)) {
            slow.distance = distance[i];
            slow.triangle_a = i / count[1];
            slow.triangle_b = i % count[1];
        }
    return slow;
}

/* With walls that were made before, with those that a search makes, and by a search through all. */
static void check(abut_mesh *mesh_a, abut_mesh *mesh_b, abut_pose at_a, abut_pose at_b) {
    abut_pair_options options = abut_pair_options_default();
    abut_bvh *bvh[2][2];
    abut_separation slow, got[2], cached;
    abut_pair_cache cache;
    memset(&cache, 0, sizeof cache);
    options.surface_only = true;
    for (int k = 0; k < 2; k++) {
        assert_ok(abut_bvh_create(mesh_a, NULL, &bvh[k][0]));
        assert_ok(abut_bvh_create(mesh_b, NULL, &bvh[k][1]));
        if (k) {
            walls_of(bvh[k][0]);
            walls_of(bvh[k][1]);
        }
        abut_collider a = abut_collider_from_bvh(bvh[k][0], at_a),
                      b = abut_collider_from_bvh(bvh[k][1], at_b);
        assert_ok(abut_pair_distance(&a, &b, &options, NULL, &got[k]));
        if (!k)
            slow = slowly(&a, &b);
        assert_true(got[k].distance == slow.distance && got[k].triangle_a == slow.triangle_a &&
                    got[k].triangle_b == slow.triangle_b);
        assert_ok(abut_pair_distance(&a, &b, &options, &cache, &cached));
        assert_memory_equal(&got[k], &cached, sizeof cached);
    }
    assert_memory_equal(&got[0], &got[1], sizeof got[0]);
    for (int k = 0; k < 4; k++)
        abut_bvh_destroy(bvh[k / 2][k % 2]);
}

/* Boxes, plates, rings and cylinders beside and upon each other, turned together at random; a
 * little tilted, by less than the tolerance of ties, by about that and by more. */
TEST(walls_face_each_other) {
    static const abut_shape_kind kinds[4] = {ABUT_SHAPE_BOX, ABUT_SHAPE_CYLINDER, ABUT_SHAPE_TORUS,
                                             ABUT_SHAPE_SHEET};
    static const double tilts[5] = {0, 0, 1e-15, 1e-13, 1e-9};
    test_random random = {41};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++)
            for (int axis = 0; axis < (j ? 1 : 3); axis++) {
                AUTO(mesh) a = make_shape(NULL, kinds[i], 5);
                AUTO(mesh) b = make_shape(NULL, kinds[i], j % 2 ? 4 : 5);
                double by[3] = {0.01, 0.02, 0.03};
                by[j ? 2 : axis] = 3;
                abut_pose at_a = any_pose(&random, 0.2), at_b = at_a;
                if (!j)
                    at_a = at_b = still;
                at_b.rotation.x += tilts[j] * (at_b.rotation.w == 0 ? 0 : 1);
                abuti_motion motion = abuti_motion_of(&at_a);
                vec3 to = abuti_motion_apply(&motion, v3(by[0], by[1], by[2]));
                at_b.translation = to;
                check(a, b, at_a, at_b);
            }
}

/* A peg in the middle of a shaft: four pairs of walls at one distance, none of which is outermost.
 */
TEST(peg_in_a_shaft) {
    test_random random = {2};
    abut_mesh *shaft = NULL, *wall[4];
    for (int k = 0; k < 4; k++) {
        abut_mesh *box = make_shape(NULL, ABUT_SHAPE_BOX, 4);
        double x = k < 2 ? (k ? 2.5 : -2.5) : 0, y = k < 2 ? 0 : (k == 2 ? 2.5 : -2.5);
        wall[k] = make_moved(box, 1, vec(x, y, 0));
    }
    shaft = make_joined(make_joined(wall[0], wall[1]), make_joined(wall[2], wall[3]));
    AUTO(mesh) peg = make_shape(NULL, ABUT_SHAPE_BOX, 4);
    for (int i = 0; i < 4; i++) {
        abut_pose at = i < 2 ? still : any_pose(&random, 0.3), off = at;
        if (i % 2)
            off.translation.x += 1e-13;
        if (i == 1 || i == 2)
            check(shaft, peg, at, off);
        else
            check(peg, shaft, off, at);
    }
    abut_mesh_destroy(shaft);
}

/* The same of all sizes, and far from the origin: posed there, and as the coordinates came in. */
TEST(sizes_and_places) {
    static const double sizes[5] = {1e-89, 1e-85, 1e-9, 1e9, 1e60};
    test_random random = {8};
    for (int i = 0; i < 5; i++) {
        AUTO(mesh) box = make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 4), sizes[i], vec(0, 0, 0));
        abut_pose at_a = any_pose(&random, 0), at_b = at_a;
        abuti_motion motion = abuti_motion_of(&at_a);
        vec3 by = v3_scale(v3(0.01, 3, 0.02), sizes[i]);
        at_b.translation = abuti_motion_apply(&motion, by);
        check(box, box, at_a, at_b);
        at_a = at_b = still;
        at_b.translation = by;
        check(box, box, at_a, at_b);
    }
    for (int i = 0; i < 3; i++) {
        vec3 away = v3(i < 2 ? 1e4 : 1e8, 0, i ? 1e5 : 0);
        AUTO(mesh) box = make_moved(make_shape(NULL, ABUT_SHAPE_BOX, 4), 1, away);
        AUTO(mesh)
        next = make_moved(make_shape(NULL, ABUT_SHAPE_CYLINDER, 6), 1,
                          v3_add(away, v3(0.01, 0.02, 3)));
        abut_pose tilted = {{1e-9, 0, 0, 1}, {0, 0, 0}};
        check(box, next, still, still);
        if (i < 2) { /* otherwise copies are queried */
            check(box, box, still, (abut_pose){{0, 0, 0, 0}, {3, 0, 0.01}});
            check(box, next, tilted, tilted);
        }
    }
}

/* Thin triangles have inaccurate normals, and those of subnormal width none: proofs do not rely
 * on them. */
TEST(needles) {
    static const double widths[4] = {1e-6, 1e-15, 3e-309, 0};
    enum { NEEDLES = 40 };
    test_random random = {77};
    for (int i = 0; i < 8; i++) {
        abut_vec3 corners[2][3 * NEEDLES];
        for (int n = 0; n < 6 * NEEDLES; n += 3) {
            abut_vec3 *c = &corners[n / (3 * NEEDLES)][n % (3 * NEEDLES)];
            double z = n < 3 * NEEDLES ? 0 : 0.04, x = test_random_below(&random, 8);
            vec3 to = i % 2 ? random_vec(&random, 0.5) : v3(0.7, 0.5, 0.3);
            c[0] = vec(x, n % 7, z);
            c[1] = v3_add(c[0], v3(to.x, to.y, n < 3 * NEEDLES ? -fabs(to.z) : fabs(to.z)));
            c[2] = v3_add(v3_scale(c[1], 1 - 0x1p-20), v3_scale(c[0], 0x1p-20));
            c[2].y += widths[i / 2];
        }
        AUTO(mesh) a = make_soup(NULL, corners[0], NEEDLES);
        AUTO(mesh) b = make_soup(NULL, corners[1], NEEDLES);
        check(a, b, still, still);
        check(a, b, any_pose(&random, 0.01), still);
    }
}

/* Where walls of a hundred thousand pairs are equally near, a search ends soon after walls were
 * made, gives the same pair, and does without where there is no memory. */
TEST(large_walls) {
    test_memory memory = {0};
    AUTO(context) context = test_context(&memory, 1);
    AUTO(mesh) box = make_shape(context, ABUT_SHAPE_BOX, 60);
    AUTO(bvh) bvh = NULL;
    abut_separation first, next;
    assert_ok(abut_bvh_create(box, NULL, &bvh));
    abut_collider a = abut_collider_from_bvh(bvh, still),
                  b = abut_collider_from_bvh(bvh, (abut_pose){{0, 0, 0, 0}, {3, 0.01, 0.02}});
    abut_pair_options options = abut_pair_options_default();
    options.surface_only = true;
    memory.fail_at = memory.calls + 1;
    assert_ok(abut_pair_distance(&a, &b, &options, NULL, &first));
    memory.fail_at = 0;
    for (int i = 0; i < 30; i++) {
        assert_ok(abut_pair_distance(&a, &b, &options, NULL, &next));
        assert_memory_equal(&first, &next, sizeof first);
    }
    assert_non_null(abuti_pair_slabs(bvh, 0));
    assert_ok(abut_bvh_set_mesh(bvh, box));
    assert_null(abuti_pair_slabs(bvh, 0));
}
