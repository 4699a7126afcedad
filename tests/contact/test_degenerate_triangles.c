/* Contacts of meshes without area, of segments and points: normals are unit vectors there too. */
#include "contact/solids.h"

/* Up to four triangles of zero area, on a line through the origin; `scale` 0 makes a point. */
static abut_bvh *make_needle(test_random *random, double scale) {
    const vec3 ways[] = {v3(1, 0, 0), v3(1, .3, .7), v3(1, 1, 0), v3(.1, -.3, .9)};
    const uint32_t triangles[] = {0, 1, 2, 0, 2, 1, 0, 1, 3, 1, 0, 3};
    const vec3 way = ways[test_random_below(random, 4)];
    double positions[12];
    for (int i = 0; i < 4; i++) {
        double along = test_random_below(random, 2) ? test_random_real(random, -1, 1)
                                                    : .5 * test_random_below(random, 4) - .5;
        for (int k = 0; k < 3; k++)
            positions[3 * i + k] = scale * along * v3_get(way, k);
    }
    return tree_of_mesh(test_mesh(NULL, positions, 4, triangles, 1 + test_random_below(random, 4)));
}

static void check_normals(const abut_patches *found) {
    for (uint64_t i = 0; i < found->patches.count; i++)
        assert_close(v3_length(list[i].normal), 1, 1e-12);
    for (uint64_t i = 0; i < found->contacts.count; i++)
        assert_close(v3_length(contacts[i].normal), 1, 1e-12);
}

static abut_pose needle_pose(test_random *random) {
    if (test_random_below(random, 3) == 0)
        return random_pose(random, 1);
    return shifted(.5 * test_random_below(random, 3) - .5, .5 * test_random_below(random, 3) - .5,
                   .5 * test_random_below(random, 3) - .5);
}

TEST(normals_of_needles_are_unit_vectors) {
    make_hulls();
    test_random random = {3};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(2, 2, 1);
    shape.segments = 2;
    abut_bvh *box = tree_of(NULL, &shape);
    shape = abut_shape_default(ABUT_SHAPE_SHEET);
    shape.extent = v3(2, 2, 0);
    abut_bvh *sheet = tree_of(NULL, &shape);
    uint32_t touching = 0;
    for (uint32_t round = 0; round < test_rounds(8000); round++) {
        abut_bvh *needle = make_needle(&random, test_random_below(&random, 4) ? 1 : 0);
        abut_bvh *second = make_needle(&random, test_random_below(&random, 4) ? 1 : 0);
        uint32_t which = test_random_below(&random, 4);
        abut_collider a = abut_collider_from_bvh(needle, needle_pose(&random));
        abut_collider b = abut_collider_from_bvh(which == 0   ? box
                                                 : which == 1 ? sheet
                                                              : second,
                                                 needle_pose(&random));
        abut_patch_options options = abut_patch_options_default();
        options.margin = test_random_below(&random, 4) ? .05 : 0;
        options.skip_verification = test_random_below(&random, 2);
        abut_patches found = room();
        assert_ok(abut_contact_find(&a, &b, &options, &found));
        touching += found.patches.count > 0;
        check_normals(&found);
        assert_ok(abut_contact_find(&b, &a, &options, &found));
        check_normals(&found);
        abut_collider solid =
            random_solid(&random,
                         (abut_collider_kind)(ABUT_COLLIDER_PLANE + test_random_below(&random, 6)));
        found = room();
        assert_ok(abut_contact_find(&a, &solid, &options, &found));
        check_normals(&found);
        abut_bvh_destroy(needle);
        abut_bvh_destroy(second);
    }
    assert_true(touching > test_rounds(8000) / 20);
    abut_bvh_destroy(box);
    abut_bvh_destroy(sheet);
}

/* Degenerate triangles at a distance below rounding errors: their closest points are equal. */
TEST(needles_within_rounding) {
    const double on_point[] = {-0.53105398688266514, -0.15931619606479955,  -0.37173779081786557,
                               -0.13281512273641627, -0.039844536820924877, -0.092970585915491386,
                               0.19452821829676492,  0.058358465489029475,  0.13616975280773544};
    const double on_box[] = {0.52339856577746113,  0.15701956973323833,  0.36637899604422275,
                             -0.6475073840212775,  -0.19425221520638325, -0.45325516881489419,
                             -0.39189831791275864, -0.11756949537382759, -0.27432882253893104};
    const double origin[9] = {0};
    const uint32_t triangle[] = {0, 1, 2};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(2, 2, 1);
    shape.segments = 2;
    abut_bvh *first[] = {tree_of_mesh(test_mesh(NULL, on_point, 3, triangle, 1)),
                         tree_of_mesh(test_mesh(NULL, on_box, 3, triangle, 1))};
    abut_bvh *second[] = {tree_of_mesh(test_mesh(NULL, origin, 3, triangle, 1)),
                          tree_of(NULL, &shape)};
    for (int i = 0; i < 2; i++) {
        abut_collider a =
            abut_collider_from_bvh(first[i], i ? shifted(.5, 1, -.5) : shifted(0, 0, 0));
        abut_collider b = abut_collider_from_bvh(second[i], shifted(0, 0, 0));
        abut_patch_options options = abut_patch_options_default();
        options.margin = .05;
        for (int swapped = 0; swapped < 2; swapped++) {
            abut_patches found = room();
            assert_ok(abut_contact_find(swapped ? &b : &a, swapped ? &a : &b, &options, &found));
            assert_true(found.patches.count > 0);
            check_normals(&found);
        }
        abut_bvh_destroy(first[i]);
        abut_bvh_destroy(second[i]);
    }
}

/* A sheet that lies exactly on the top of a box, facing up or down, is outside of it. */
TEST(flush_sheets_are_outside) {
    const double at[] = {-.5, -.5, 0, .5, -.5, 0, .5, .5, 0, -.5, .5, 0};
    const uint32_t faces[2][6] = {{0, 1, 2, 0, 2, 3}, {0, 2, 1, 0, 3, 2}};
    const double gaps[] = {0, 1e-16, -1e-16, 2e-16, -2e-16, 1e-14, -1e-14, 1e-12, -1e-12};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(2, 2, 1);
    shape.segments = 2;
    abut_bvh *box = tree_of(NULL, &shape);
    for (int face = 0; face < 2; face++)
        for (int wide = 0; wide < 2; wide++)
            for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
                abut_bvh *sheet = tree_of_mesh(test_mesh(NULL, at, 4, faces[face], 2));
                abut_collider a = abut_collider_from_bvh(sheet, shifted(.1, .05, .5 + gaps[i])),
                              b = abut_collider_from_bvh(box, shifted(0, 0, 0));
                abut_patch_options options = abut_patch_options_default();
                options.margin = wide ? .005 : 0;
                for (int swapped = 0; swapped < 2; swapped++) {
                    abut_patches found = room();
                    assert_ok(
                        abut_contact_find(swapped ? &b : &a, swapped ? &a : &b, &options, &found));
                    assert_true(found.patches.count || gaps[i] != 0);
                    for (uint64_t k = 0; k < found.contacts.count; k++)
                        assert_way(contacts[k].normal, v3(0, 0, swapped ? -1 : 1), 1e-6);
                }
                abut_bvh_destroy(sheet);
            }
    abut_bvh_destroy(box);
}
