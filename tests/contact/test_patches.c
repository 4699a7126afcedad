/* Contacts from exact geometry: solids whose overlap is known. */
#include "contact/mesh_patches.h"

#include <math.h>
#include <string.h>

/* A cube on a cube: flush, deeper, with a gap, aside, with sides in one plane or not. */
TEST(cubes_stand_on_four_corners) {
    const uint32_t segments[] = {1, 3};
    for (int s = 0; s < 2; s++) {
        abut_bvh *cube = box_of(1, 1, 1, segments[s]);
        const double heights[] = {1, 0.999, 1.001}, aside[] = {0, 0.25};
        for (int h = 0; h < 3; h++)
            for (int k = 0; k < 2; k++) {
                double wide = 1 - aside[k], deep = 1 - heights[h], margin = deep < 0 ? 0.005 : 0;
                abut_patches found = find_patches(cube, shifted(aside[k], 0, heights[h]), cube,
                                                  shifted(0, 0, 0), margin);
                assert_int_equal(found.patches.count, 1);
                assert_int_equal(found.contacts.count, 4);
                assert_true(found.is_verified);
                assert_int_equal(found.reliability.level, ABUT_RELIABILITY_GUARANTEED);
                assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
                assert_close(list[0].depth, deep, 1e-7);
                /* of the true overlap; flush faces touch in a layer of 2e-8 */
                assert_close(list[0].area, deep < 0 ? 0 : wide, 1e-4);
                assert_close(list[0].volume, deep < 0 ? 0 : wide * deep, 1e-7);
                for (int i = 0; i < 4; i++) {
                    assert_close(contacts[i].depth, deep, 1e-7);
                    assert_close(contacts[i].point.z, 0.5 * (heights[h]), 1e-7);
                }
                assert_true(spread(&found, 0) > 0.95 * wide && spread(&found, 1) > 0.95);
            }
        abut_bvh_destroy(cube);
    }
}

/* The overlap of two balls is a lens: its volume and the area of its middle are known. */
TEST(balls_overlap_in_a_lens) {
    const double pi = 3.14159265358979323846, r = 0.5, d = 0.9;
    abut_bvh *ball = ball_of(r, 24);
    abut_patches found = find_patches(ball, shifted(0, d, 0), ball, shifted(0, 0, 0), 0);
    double cap = r - d / 2, volume = 2 * pi * cap * cap * (3 * r - cap) / 3;
    assert_int_equal(found.patches.count, 1);
    assert_true(found.is_verified);
    assert_way(list[0].normal, v3(0, 1, 0), 1e-3);
    assert_close(list[0].depth, 2 * r - d, 1e-3);
    assert_close(list[0].area, pi * (r * r - d * d / 4), 0.02 * pi * (r * r - d * d / 4));
    assert_close(list[0].volume, volume, 0.03 * volume);
    assert_way(list[0].centre, v3(0, d / 2, 0), 1e-3);
    abut_bvh_destroy(ball);
}

/* Thin plates: a ball on one, a ball that went through, plates on plates and through each other. */
TEST(thin_plates_are_no_special_case) {
    abut_bvh *plate = box_of(1, 1, 0.002, 1), *ball = ball_of(0.05, 8);
    abut_patches found = find_patches(ball, shifted(0.1, 0.2, 0.0505), plate, shifted(0, 0, 0), 0);
    assert_int_equal(found.patches.count, 1);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
    assert_close(list[0].depth, 0.0005, 1e-6);
    found = find_patches(ball, shifted(0.1, 0.2, 0.02), plate, shifted(0, 0, 0), 0);
    assert_int_equal(found.patches.count, 1);
    assert_true(found.is_verified);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-6); /* the shorter way */
    assert_close(list[0].depth, 0.031, 1e-6);
    abut_collider posed[2] = {abut_collider_from_bvh(ball, shifted(0.1, 0.2, 0.02)),
                              abut_collider_from_bvh(plate, shifted(0, 0, 0))};
    abut_patch_options options = abut_patch_options_default();
    options.hint = v3(0.1, 0, -1); /* it came from below */
    found = room();
    assert_ok(abut_contact_find(&posed[0], &posed[1], &options, &found));
    assert_way(list[0].normal, v3(0, 0, -1), 1e-6);
    assert_close(list[0].depth, 0.071, 1e-6);
    assert_true(found.is_verified);
    found = find_patches(plate, shifted(0.2, 0, 0.0015), plate, shifted(0, 0, 0), 0);
    assert_int_equal(found.contacts.count, 4);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
    assert_close(list[0].depth, 0.0005, 1e-7);
    abut_pose across;
    assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), 1.5707963267948966, v3(0, 0, 0.4), &across));
    found = find_patches(plate, across, plate, shifted(0, 0, 0),
                         0); /* an upright plate through a flat one */
    assert_true(found.is_verified);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
    assert_close(list[0].depth, 0.101, 1e-6);
    abut_bvh_destroy(plate);
    abut_bvh_destroy(ball);
}

/* A bar through a cube leaves by the nearest side, whichever that is. */
TEST(what_went_through_takes_the_shortest_way) {
    abut_bvh *cube = box_of(1, 1, 1, 1);
    for (int along = 0; along < 3; along++)
        for (int i = 0; i < 4; i++) {
            double extent[3] = {0.3, 0.25, 0.2}, at[3] = {0, 0, 0}, way[3] = {0, 0, 0};
            int side = (along + 1 + i % 2) % 3, other = (along + 2 - i % 2) % 3;
            extent[along] = 3;
            way[side] = i < 2 ? 1 : -1;
            at[side] = way[side] * 0.3;
            at[other] = 0.1;
            abut_bvh *bar = box_of(extent[0], extent[1], extent[2], 1);
            abut_patches found = find_patches(bar, shifted(at[0], at[1], at[2]), cube,
                                              shifted(0, 0, 0), 0.005 * (i % 2));
            assert_true(found.is_verified);
            assert_way(list[0].normal, v3(way[0], way[1], way[2]), 1e-6);
            assert_close(list[0].depth, 0.2 + 0.5 * extent[side], 1e-6);
            abut_bvh_destroy(bar);
        }
    abut_bvh_destroy(cube);
}

/* A box that is pressed into a slot: no short shift separates it. Both walls push it by their own
 * depths, with a hint and without. */
TEST(what_is_clasped_is_pushed_by_both_sides) {
    abut_bvh *cube = box_of(1, 1, 1, 1), *slot = NULL;
    abut_mesh *walls[2], *joined = NULL;
    for (int i = 0; i < 2; i++)
        assert_ok(abut_mesh_transform(abut_bvh_mesh(cube), 1, shifted(i ? 0.995 : -0.995, 0, 0),
                                      &walls[i]));
    assert_ok(abut_mesh_join(walls, 2, &joined));
    assert_ok(abut_bvh_create(joined, NULL, &slot));
    for (int k = 0; k < 2; k++) {
        abut_collider box = abut_collider_from_bvh(cube, shifted(0.001, 0.1, 0.3)),
                      around = abut_collider_from_bvh(slot, shifted(0, 0, 0));
        abut_patch_options options = abut_patch_options_default();
        options.hint = v3(k, 0, 0);
        abut_patches found = room();
        assert_ok(abut_contact_find(&box, &around, &options, &found));
        assert_false(found.is_verified);
        assert_int_equal(found.patches.count, 2);
        assert_close(list[0].depth, 0.006, 1e-6);
        assert_close(list[1].depth, 0.004, 1e-6);
        assert_way(list[0].normal, v3(-1, 0, 0), 1e-6);
        assert_way(list[1].normal, v3(1, 0, 0), 1e-6);
    }
    abut_bvh_destroy(slot);
    abut_bvh_destroy(cube);
    abut_mesh_destroy(joined);
    abut_mesh_destroy(walls[0]);
    abut_mesh_destroy(walls[1]);
}

/* A body inside another has no contour, and leaves by a short way. */
TEST(what_is_inside_has_a_contact) {
    abut_bvh *cube = box_of(1, 1, 1, 1), *ball = ball_of(0.05, 4);
    for (int swap = 0; swap < 2; swap++) {
        abut_patches found =
            swap ? find_patches(cube, shifted(0, 0, 0), ball, shifted(0.1, 0.2, 0.3), 0)
                 : find_patches(ball, shifted(0.1, 0.2, 0.3), cube, shifted(0, 0, 0), 0);
        assert_int_equal(found.patches.count, 1);
        assert_true(found.contacts.count >= 1 && found.is_verified);
        assert_way(list[0].normal, v3(0, 0, swap ? -1 : 1), 1e-6);
        assert_close(list[0].depth, 0.25, 2e-3);
    }
    abut_bvh_destroy(cube);
    abut_bvh_destroy(ball);
}

/* Two bumps of one body touch at two places: two patches. */
TEST(regions_that_are_apart_are_patches) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *ball, *moved, *both[2], *pair;
    abut_bvh *bumps, *floor = box_of(4, 4, 1, 1);
    shape.radius = 0.3;
    assert_ok(abut_shape_create(NULL, &shape, &ball));
    assert_ok(abut_mesh_transform(ball, 1, shifted(1, 0, 0.005), &moved));
    both[0] = ball;
    both[1] = moved;
    assert_ok(abut_mesh_join(both, 2, &pair));
    assert_ok(abut_bvh_create(pair, NULL, &bumps));
    abut_patches found = find_patches(bumps, shifted(0, 0, 0.79), floor, shifted(0, 0, 0), 0);
    assert_int_equal(found.patches.count, 2);
    assert_close(list[0].depth, 0.01, 2e-3);
    assert_close(list[1].depth, 0.005, 2e-3);
    assert_true(list[0].depth > list[1].depth && list[0].centre.x < 0.5 && list[1].centre.x > 0.5);
    assert_int_equal(list[1].first, list[0].count);
    assert_int_equal(found.contacts.count, list[0].count + list[1].count);
    abut_mesh_destroy(ball);
    abut_mesh_destroy(moved);
    abut_mesh_destroy(pair);
    abut_bvh_destroy(bumps);
    abut_bvh_destroy(floor);
}

/* A cube with its triangles turned round. */
static abut_mesh *inward_cube(const abut_bvh *cube) {
    const abut_mesh *mesh = abut_bvh_mesh(cube);
    uint32_t indices[36];
    abut_vec3 corners[8];
    for (uint32_t i = 0; i < 36; i++)
        indices[i] = abut_mesh_indices(mesh)[i - i % 3 + 2 - i % 3];
    for (uint32_t i = 0; i < 8; i++)
        corners[i] = v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]);
    return test_mesh(NULL, corners, 8, indices, 12);
}

/* A triangle that names a vertex twice joins what it names for no flood. */
TEST(collapsed_triangles_join_nothing) {
    abut_bvh *cube = box_of(1, 1, 1, 1), *odd;
    const abut_mesh *mesh = abut_bvh_mesh(cube);
    for (uint32_t k = 1; k < 8; k++) {
        uint32_t indices[39];
        abut_vec3 corners[8];
        memcpy(indices, abut_mesh_indices(mesh), 36 * sizeof *indices);
        indices[36] = indices[37] = 0;
        indices[38] = k;
        for (uint32_t i = 0; i < 8; i++)
            corners[i] = v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]);
        abut_mesh *made = test_mesh(NULL, corners, 8, indices, 13);
        assert_ok(abut_bvh_create(made, NULL, &odd));
        for (int up = -1; up < 2; up += 2) {
            abut_patches found =
                find_patches(odd, shifted(0.2, 0, 0.99 * up), cube, shifted(0, 0, 0), 0);
            assert_true(found.patches.count == 1 && found.contacts.count == 4 && found.is_verified);
            assert_close(list[0].volume, 0.008, 1e-6);
            assert_close(list[0].depth, 0.01, 1e-7);
        }
        abut_bvh_destroy(odd);
        abut_mesh_destroy(made);
    }
    abut_bvh_destroy(cube);
}

/* Of two balls in one mesh one intersects the floor and the other is completely in it: both have a
 * patch. A cavity that is wholly in the floor has none of its own. */
TEST(parts_wholly_inside_have_patches) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *ball, *parts[2], *joined;
    abut_bvh *bodies, *floor = box_of(8, 8, 1, 1);
    shape.radius = 0.1;
    assert_ok(abut_shape_create(NULL, &shape, &ball));
    parts[0] = ball;
    assert_ok(abut_mesh_transform(ball, 1, shifted(1, 0, -0.35), &parts[1]));
    assert_ok(abut_mesh_join(parts, 2, &joined));
    assert_ok(abut_bvh_create(joined, NULL, &bodies));
    for (int swap = 0; swap < 2; swap++) {
        abut_collider a = abut_collider_from_bvh(bodies, shifted(0, 0, 0.59)),
                      b = abut_collider_from_bvh(floor, shifted(0, 0, 0));
        abut_patches found = room();
        assert_ok(abut_contact_find(swap ? &b : &a, swap ? &a : &b, NULL, &found));
        assert_int_equal(found.patches.count, 2);
        assert_true(found.is_verified && list[0].centre.x > 0.5 && list[1].centre.x < 0.5);
        assert_way(list[0].normal, v3(0, 0, swap ? -1 : 1), 1e-3);
        assert_close(list[0].depth, 0.36, 4e-3);
        assert_close(list[1].depth, 0.01, 2e-3);
    }
    abut_bvh_destroy(bodies);
    abut_mesh_destroy(joined);
    abut_mesh_destroy(parts[1]);
    abut_mesh_destroy(ball);
    /* a thick shell that stands in the floor, with its cavity wholly in it */
    abut_bvh *cube = box_of(1, 1, 1, 1);
    parts[1] = inward_cube(cube);
    assert_ok(abut_mesh_transform(parts[1], 0.2, shifted(0, 0, -0.3), &parts[0]));
    abut_mesh_destroy(parts[1]);
    parts[1] = abut_bvh_mesh(cube);
    assert_ok(abut_mesh_join(parts, 2, &joined));
    assert_ok(abut_bvh_create(joined, NULL, &bodies));
    abut_patches found = find_patches(bodies, shifted(0, 0, 0.55), floor, shifted(0, 0, 0), 0);
    assert_int_equal(found.patches.count, 1);
    assert_true(found.is_verified);
    assert_close(list[0].depth, 0.45, 1e-6);
    abut_bvh_destroy(bodies);
    abut_bvh_destroy(floor);
    abut_bvh_destroy(cube);
    abut_mesh_destroy(joined);
    abut_mesh_destroy(parts[0]);
}

/* A box in the corner of a step touches floor and wall: two normals, each as deep as it is. So does
 * a ball, in two places. With gaps the same. */
TEST(corners_have_two_normals) {
    abut_shape stairs = abut_shape_default(ABUT_SHAPE_STAIRS);
    stairs.extent = v3(2, 2, 2);
    stairs.segments = 2;
    stairs.rings = 1;
    abut_bvh *steps = tree_of(NULL, &stairs), *box = box_of(0.5, 0.5, 0.5, 1),
             *ball = ball_of(0.5, 8);
    const double deep[] = {0.01, 2e-6, -0.01};
    for (int k = 0; k < 3; k++) {
        double margin = deep[k] < 0 ? 0.02 : 0;
        abut_patches found = find_patches(box, shifted(-0.25 + deep[k], 0, 0.25 - deep[k]), steps,
                                          shifted(0, 0, 0), margin);
        assert_int_equal(found.patches.count, 2);
        assert_int_equal(found.contacts.count, 8);
        assert_true(found.is_verified);
        for (int i = 0; i < 2; i++) {
            assert_close(list[i].depth, deep[k], 1e-6);
            assert_close(fabs(list[i].normal.x) + list[i].normal.z, 1, 1e-6);
        }
        assert_close(list[0].normal.x + list[1].normal.x, -1, 1e-6);
        assert_close(list[0].normal.z + list[1].normal.z, 1, 1e-6);
    }
    /* Sunk into the floor, and a gap to the wall. */
    abut_patches found = find_patches(box, shifted(-0.26, 0, 0.24), steps, shifted(0, 0, 0), 0.02);
    assert_int_equal(found.patches.count, 2);
    assert_true(found.is_verified);
    assert_close(list[0].depth, 0.01, 1e-6);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
    assert_close(list[1].depth, -0.01, 1e-6);
    assert_way(list[1].normal, v3(-1, 0, 0), 1e-6);
    found = find_patches(ball, shifted(-0.49, 0, 0.49), steps, shifted(0, 0, 0), 0);
    assert_int_equal(found.patches.count, 2);
    assert_true(found.is_verified);
    assert_close(list[0].depth, 0.01, 2e-3);
    assert_close(list[1].depth, 0.01, 2e-3);
    abut_bvh_destroy(steps);
    abut_bvh_destroy(box);
    abut_bvh_destroy(ball);
}

/* Inside out, and all the same. */
TEST(inward_meshes_are_turned) {
    abut_bvh *cube = box_of(1, 1, 1, 1), *turned;
    abut_mesh *inward = inward_cube(cube);
    assert_ok(abut_bvh_create(inward, NULL, &turned));
    for (int k = 1; k < 4; k++) {
        abut_patches found = find_patches(k & 1 ? turned : cube, shifted(0.25, 0, 0.99),
                                          k & 2 ? turned : cube, shifted(0, 0, 0), 0);
        assert_true(found.patches.count == 1 && found.contacts.count == 4 && found.is_verified);
        assert_close(list[0].depth, 0.01, 1e-7);
        assert_close(list[0].volume, 0.0075, 1e-6);
        assert_way(list[0].normal, v3(0, 0, 1), 1e-9);
    }
    abut_mesh_destroy(inward);
    abut_bvh_destroy(turned);
    abut_bvh_destroy(cube);
}

/* No contact is further away than the margin, and none is where bodies are apart without one. */
TEST(gaps_end_at_the_margin) {
    abut_bvh *cube = box_of(1, 1, 1, 1);
    assert_int_equal(
        find_patches(cube, shifted(0, 0, 1 + 1e-9), cube, shifted(0, 0, 0), 0).patches.count, 0);
    assert_int_equal(
        find_patches(cube, shifted(1.09, 1.09, 1.09), cube, shifted(0, 0, 0), 0.1).patches.count,
        0);
    abut_patches found = find_patches(cube, shifted(0, 0, 1.5), cube, shifted(0, 0, 0), 0.8);
    assert_true(found.patches.count >= 1);
    for (uint64_t i = 0; i < found.contacts.count; i++)
        assert_true(contacts[i].depth >= -0.8 - 1e-9);
    /* A corner that just touches a face. */
    abut_pose on_corner;
    assert_ok(
        abut_pose_from_axis_angle(v3(1, -1, 0), 0.95531661812450928, v3(0, 0, 0), &on_corner));
    const double deep[] = {0, 5e-8, 1e-7, 1e-3};
    for (int k = 0; k < 4; k++) {
        on_corner.translation = v3(0.1, 0.2, 0.5 + sqrt(0.75) - deep[k]);
        found = find_patches(cube, on_corner, cube, shifted(0, 0, 0), 0);
        assert_int_equal(found.patches.count, 1);
        assert_way(list[0].normal, v3(0, 0, 1), 1e-2);
    }
    abut_bvh_destroy(cube);
}

/* Bodies that do not touch have gaps and no depth, however wide the margin is; also where skins
 * fold, as between the bars of a letter. */
TEST(wide_margins_make_no_depth) {
    abut_shape letter = abut_shape_default(ABUT_SHAPE_LETTER_E);
    abut_bvh *bodies[] = {box_of(1, 1, 1, 1), box_of(1, 1, 0.002, 1), ball_of(0.3, 4),
                          tree_of(NULL, &letter)};
    enum { BODIES = sizeof bodies / sizeof *bodies };
    test_random random = {17};
    uint32_t gaps = 0;
    for (uint32_t round = 0; round < test_rounds(2800); round++) {
        abut_collider a = abut_collider_from_bvh(bodies[round % BODIES], random_pose(&random, 1.5));
        abut_collider b =
            abut_collider_from_bvh(bodies[round / BODIES % BODIES], random_pose(&random, 0));
        abut_patch_options options = abut_patch_options_default();
        abut_patches found = room();
        abut_separation separation;
        options.margin = test_random_real(&random, 0, round % 3 == 1 ? 0.06 : 1);
        options.skip_verification =
            round % 2 && options.margin > 0.1; /* that is wide for all of them */
        assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &separation));
        assert_ok(abut_contact_find(&a, &b, &options, &found));
        if (separation.distance == 0 || separation.distance > options.margin) {
            assert_true((separation.distance == 0) == (found.patches.count > 0));
            continue;
        }
        for (uint64_t i = 0; i < found.contacts.count; i++)
            assert_true(contacts[i].depth <= 1e-6 - separation.distance &&
                        contacts[i].depth >= -options.margin - 1e-9);
        assert_true(found.contacts.count > 0);
        gaps++;
    }
    assert_true(gaps > 40);
    for (int i = 0; i < BODIES; i++)
        abut_bvh_destroy(bodies[i]);
}

/* Two poses of a cube and a letter E that random ones found: at a corner the skins of a narrow
 * margin reported a gap of 0.01296 between bodies 0.01358 apart, and those of a wide one hid an
 * overlap. */
TEST(skins_of_a_letter) {
    abut_shape letter = abut_shape_default(ABUT_SHAPE_LETTER_E);
    abut_bvh *cube = box_of(1, 1, 1, 1), *e = tree_of(NULL, &letter);
    const struct {
        abut_pose a, b;
        double margin;
    } cases[] = {
        {{{-0.065913539214470102, -0.052158070304480601, 0.8148090079890834, 0.57360371472836647},
          {-0.44380393648523753, -0.90169892530047224, 0.51490075092186194}},
         {{-0.36407951704583863, -0.73184896177395153, 0.57316412267492178, 0.057672271468578729},
          {0, 0, 0}},
         0.021716848773354447},
        {{{0.11472466057717449, -0.57977377788479767, -0.77824115662695126, -0.21222940622021805},
          {0.72284671144901047, -0.30065195272457856, -0.76627338095656905}},
         {{-0.63183204904507118, -0.27381055814209276, 0.58388323121547625, 0.42999582829929545},
          {0, 0, 0}},
         0.578561},
    };
    for (int i = 0; i < 2; i++) {
        abut_collider a = abut_collider_from_bvh(cube, cases[i].a),
                      b = abut_collider_from_bvh(e, cases[i].b);
        abut_patch_options options = abut_patch_options_default();
        abut_patches found = room();
        abut_separation separation;
        options.margin = cases[i].margin;
        assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &separation));
        assert_ok(abut_contact_find(&a, &b, &options, &found));
        assert_true((separation.distance == 0) == (i == 1) && found.patches.count > 0);
        if (i)
            assert_true(contacts[0].depth > 0.01);
        else
            assert_close(contacts[0].depth, -separation.distance, 1e-6);
    }
    abut_bvh_destroy(cube);
    abut_bvh_destroy(e);
}

/* Twice the area of a polygon with these corners around the z axis. */
static double doubled_area(const abut_contact *corners, uint64_t count) {
    double angle[8], sum = 0;
    uint64_t order[8];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t k = i;
        angle[i] = atan2(corners[i].point.y, corners[i].point.x);
        for (; k > 0 && angle[order[k - 1]] > angle[i]; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (uint64_t i = 0; i < count; i++) {
        abut_vec3 p = corners[order[i]].point, q = corners[order[(i + 1) % count]].point;
        sum += p.x * q.y - p.y * q.x;
    }
    return sum;
}

/* A prism stands on a floor, a little tilted. Its contacts are corners of the prism, with the
 * deepest one; they keep a share of the area of its base, and are the same in every query. */
TEST(contacts_of_a_face_are_its_corners) {
    abut_bvh *floor = box_of(4, 4, 1, 1);
    const uint32_t sides[] = {5, 8, 16, 33}, most[] = {1, 2, 4, 8};
    for (int s = 0; s < 4; s++) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_CYLINDER);
        shape.segments = sides[s];
        shape.rings = 1;
        shape.radius = 0.5;
        shape.height = 1;
        abut_bvh *prism = tree_of(NULL, &shape);
        abut_collider below = abut_collider_from_bvh(floor, shifted(0, 0, -0.5)), above;
        abut_pose tilted;
        assert_ok(abut_pose_from_axis_angle(v3(0.6, 0.8, 0), 0.005, v3(0, 0, 0.49), &tilted));
        above = abut_collider_from_bvh(prism, tilted);
        const double base = sides[s] * 0.25 * sin(2 * 3.14159265358979323846 / sides[s]);
        for (int m = 0; m < 4; m++) {
            abut_patch_options options = abut_patch_options_default();
            abut_patches found = room();
            abut_contact before[8];
            options.max_contacts = most[m];
            for (int again = 0; again < 2; again++) {
                assert_ok(abut_contact_find(&above, &below, &options, &found));
                assert_int_equal(found.patches.count, 1);
                assert_in_range(found.contacts.count, most[m] < 5 ? most[m] : 5, most[m]);
                if (again)
                    assert_memory_equal(before, contacts, found.contacts.count * sizeof *before);
                memcpy(before, contacts, found.contacts.count * sizeof *before);
            }
            assert_true(contacts[0].depth == list[0].depth);
            for (uint64_t i = 0; i < found.contacts.count; i++) {
                assert_true(contacts[i].depth <= list[0].depth);
                assert_close(hypot(contacts[i].point.x, contacts[i].point.y), 0.5, 0.01);
            }
            if (most[m] >= 4)
                assert_true(doubled_area(contacts, found.contacts.count) >
                            (most[m] == 4 ? 0.55 : 0.8) * base);
        }
        abut_bvh_destroy(prism);
    }
    abut_bvh_destroy(floor);
}
