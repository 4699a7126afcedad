/* Contacts from exact geometry: solids whose overlap is known, promises on random pairs, positions
 * in which nothing is general, and bad input. */
#include "base/base.h"
#include "contact/patches.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static abut_bvh *box_of(double x, double y, double z, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(x, y, z);
    shape.segments = segments;
    return tree_of(NULL, &shape);
}

static abut_bvh *ball_of(double radius, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.radius = radius;
    shape.segments = segments;
    return tree_of(NULL, &shape);
}

static abut_patches ask(const abut_bvh *a, abut_pose pose_a, const abut_bvh *b, abut_pose pose_b,
                        double margin) {
    abut_posed posed[2] = {{a, pose_a}, {b, pose_b}};
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    options.margin = margin;
    assert_ok(abut_contact_patches(&posed[0], &posed[1], &options, &found));
    return found;
}

/* ---- solids whose overlap is known ---- */

/* A cube on a cube: flush, deeper, with a gap, aside, with sides in one plane or not. */
TEST(cubes_stand_on_four_corners) {
    const uint32_t segments[] = {1, 3};
    for (int s = 0; s < 2; s++) {
        abut_bvh *cube = box_of(1, 1, 1, segments[s]);
        const double heights[] = {1, 0.999, 1.001}, aside[] = {0, 0.25};
        for (int h = 0; h < 3; h++)
            for (int k = 0; k < 2; k++) {
                double wide = 1 - aside[k], deep = 1 - heights[h], margin = deep < 0 ? 0.005 : 0;
                abut_patches found =
                    ask(cube, shifted(aside[k], 0, heights[h]), cube, shifted(0, 0, 0), margin);
                assert_int_equal(found.count, 1);
                assert_int_equal(found.contact_count, 4);
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
    abut_patches found = ask(ball, shifted(0, d, 0), ball, shifted(0, 0, 0), 0);
    double cap = r - d / 2, volume = 2 * pi * cap * cap * (3 * r - cap) / 3;
    assert_int_equal(found.count, 1);
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
    abut_patches found = ask(ball, shifted(0.1, 0.2, 0.0505), plate, shifted(0, 0, 0), 0);
    assert_int_equal(found.count, 1);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
    assert_close(list[0].depth, 0.0005, 1e-6);
    found = ask(ball, shifted(0.1, 0.2, 0.02), plate, shifted(0, 0, 0), 0);
    assert_int_equal(found.count, 1);
    assert_true(found.is_verified);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-6); /* the shorter way */
    assert_close(list[0].depth, 0.031, 1e-6);
    abut_posed posed[2] = {{ball, shifted(0.1, 0.2, 0.02)}, {plate, shifted(0, 0, 0)}};
    abut_patch_options options = abut_patch_options_default();
    options.hint = v3(0.1, 0, -1); /* it came from below */
    found = room();
    assert_ok(abut_contact_patches(&posed[0], &posed[1], &options, &found));
    assert_way(list[0].normal, v3(0, 0, -1), 1e-6);
    assert_close(list[0].depth, 0.071, 1e-6);
    assert_true(found.is_verified);
    found = ask(plate, shifted(0.2, 0, 0.0015), plate, shifted(0, 0, 0), 0);
    assert_int_equal(found.contact_count, 4);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
    assert_close(list[0].depth, 0.0005, 1e-7);
    abut_pose across;
    assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), 1.5707963267948966, v3(0, 0, 0.4), &across));
    found =
        ask(plate, across, plate, shifted(0, 0, 0), 0); /* an upright plate through a flat one */
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
            abut_patches found =
                ask(bar, shifted(at[0], at[1], at[2]), cube, shifted(0, 0, 0), 0.005 * (i % 2));
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
        abut_posed box = {cube, shifted(0.001, 0.1, 0.3)}, around = {slot, shifted(0, 0, 0)};
        abut_patch_options options = abut_patch_options_default();
        options.hint = v3(k, 0, 0);
        abut_patches found = room();
        assert_ok(abut_contact_patches(&box, &around, &options, &found));
        assert_false(found.is_verified);
        assert_int_equal(found.count, 2);
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

/* Volumes of patches add up to that of the overlap, also where one region has several walls, and
 * each wall has its own area: of a box in a corner, and of a peg that fills its hole. */
TEST(walls_share_the_volume) {
    abut_shape stairs = abut_shape_default(ABUT_SHAPE_STAIRS),
               tube = abut_shape_default(ABUT_SHAPE_TUBE);
    stairs.extent = v3(2, 2, 2);
    stairs.segments = 2;
    stairs.rings = 1;
    tube.radius = sqrt(2);
    tube.radius2 = sqrt(0.5);
    tube.height = 0.6;
    tube.segments = 4;
    tube.rings = 1;
    abut_bvh *steps = tree_of(NULL, &stairs), *box = box_of(0.5, 0.5, 0.5, 1),
             *hole = tree_of(NULL, &tube), *peg = box_of(1.002, 1.002, 1.4, 1);
    abut_pose turned;
    assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), 0.78539816339744828, v3(0, 0, 0), &turned));
    for (int k = 0; k < 2; k++) {
        abut_patches found = k ? ask(peg, shifted(0, 0, 0.2), hole, turned, 0)
                               : ask(box, shifted(-0.24, 0, 0.24), steps, shifted(0, 0, 0), 0);
        double volume = 0;
        assert_int_equal(found.count, k ? 4 : 2);
        for (uint64_t i = 0; i < found.count; i++) {
            volume += list[i].volume;
            assert_close(list[i].depth, k ? 0.001 : 0.01, 1e-6);
            if (k)
                assert_close(list[i].area, 0.6, 0.01);
        }
        assert_close(volume, k ? 0.6 * (1.002 * 1.002 - 1) : 0.5 * (0.25 - 0.49 * 0.49), 1e-6);
    }
    abut_bvh_destroy(steps);
    abut_bvh_destroy(box);
    abut_bvh_destroy(hole);
    abut_bvh_destroy(peg);
}

/* A body inside another has no contour, and leaves by a short way. */
TEST(what_is_inside_has_a_contact) {
    abut_bvh *cube = box_of(1, 1, 1, 1), *ball = ball_of(0.05, 4);
    for (int swap = 0; swap < 2; swap++) {
        abut_patches found = swap ? ask(cube, shifted(0, 0, 0), ball, shifted(0.1, 0.2, 0.3), 0)
                                  : ask(ball, shifted(0.1, 0.2, 0.3), cube, shifted(0, 0, 0), 0);
        assert_int_equal(found.count, 1);
        assert_true(found.contact_count >= 1 && found.is_verified);
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
    abut_patches found = ask(bumps, shifted(0, 0, 0.79), floor, shifted(0, 0, 0), 0);
    assert_int_equal(found.count, 2);
    assert_close(list[0].depth, 0.01, 2e-3);
    assert_close(list[1].depth, 0.005, 2e-3);
    assert_true(list[0].depth > list[1].depth && list[0].centre.x < 0.5 && list[1].centre.x > 0.5);
    assert_int_equal(list[1].first, list[0].count);
    assert_int_equal(found.contact_count, list[0].count + list[1].count);
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
            abut_patches found = ask(odd, shifted(0.2, 0, 0.99 * up), cube, shifted(0, 0, 0), 0);
            assert_true(found.count == 1 && found.contact_count == 4 && found.is_verified);
            assert_close(list[0].volume, 0.008, 1e-6);
            assert_close(list[0].depth, 0.01, 1e-7);
        }
        abut_bvh_destroy(odd);
        abut_mesh_destroy(made);
    }
    abut_bvh_destroy(cube);
}

/* Of two balls in one mesh one meets the floor and the other is wholly in it: both have a patch. A
 * cavity that is wholly in the floor has none of its own. */
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
        abut_posed a = {bodies, shifted(0, 0, 0.59)}, b = {floor, shifted(0, 0, 0)};
        abut_patches found = room();
        assert_ok(abut_contact_patches(swap ? &b : &a, swap ? &a : &b, NULL, &found));
        assert_int_equal(found.count, 2);
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
    abut_patches found = ask(bodies, shifted(0, 0, 0.55), floor, shifted(0, 0, 0), 0);
    assert_int_equal(found.count, 1);
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
        abut_patches found =
            ask(box, shifted(-0.25 + deep[k], 0, 0.25 - deep[k]), steps, shifted(0, 0, 0), margin);
        assert_int_equal(found.count, 2);
        assert_int_equal(found.contact_count, 8);
        assert_true(found.is_verified);
        for (int i = 0; i < 2; i++) {
            assert_close(list[i].depth, deep[k], 1e-6);
            assert_close(fabs(list[i].normal.x) + list[i].normal.z, 1, 1e-6);
        }
        assert_close(list[0].normal.x + list[1].normal.x, -1, 1e-6);
        assert_close(list[0].normal.z + list[1].normal.z, 1, 1e-6);
    }
    /* Sunk into the floor, and a gap to the wall. */
    abut_patches found = ask(box, shifted(-0.26, 0, 0.24), steps, shifted(0, 0, 0), 0.02);
    assert_int_equal(found.count, 2);
    assert_true(found.is_verified);
    assert_close(list[0].depth, 0.01, 1e-6);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
    assert_close(list[1].depth, -0.01, 1e-6);
    assert_way(list[1].normal, v3(-1, 0, 0), 1e-6);
    found = ask(ball, shifted(-0.49, 0, 0.49), steps, shifted(0, 0, 0), 0);
    assert_int_equal(found.count, 2);
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
        abut_patches found = ask(k & 1 ? turned : cube, shifted(0.25, 0, 0.99),
                                 k & 2 ? turned : cube, shifted(0, 0, 0), 0);
        assert_true(found.count == 1 && found.contact_count == 4 && found.is_verified);
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
    assert_int_equal(ask(cube, shifted(0, 0, 1 + 1e-9), cube, shifted(0, 0, 0), 0).count, 0);
    assert_int_equal(ask(cube, shifted(1.09, 1.09, 1.09), cube, shifted(0, 0, 0), 0.1).count, 0);
    abut_patches found = ask(cube, shifted(0, 0, 1.5), cube, shifted(0, 0, 0), 0.8);
    assert_true(found.count >= 1);
    for (uint64_t i = 0; i < found.contact_count; i++)
        assert_true(contacts[i].depth >= -0.8 - 1e-9);
    /* A corner that just touches a face. */
    abut_pose stands;
    assert_ok(abut_pose_from_axis_angle(v3(1, -1, 0), 0.95531661812450928, v3(0, 0, 0), &stands));
    const double deep[] = {0, 5e-8, 1e-7, 1e-3};
    for (int k = 0; k < 4; k++) {
        stands.translation = v3(0.1, 0.2, 0.5 + sqrt(0.75) - deep[k]);
        found = ask(cube, stands, cube, shifted(0, 0, 0), 0);
        assert_int_equal(found.count, 1);
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
        abut_posed a = {bodies[round % BODIES], random_pose(&random, 1.5)};
        abut_posed b = {bodies[round / BODIES % BODIES], random_pose(&random, 0)};
        abut_patch_options options = abut_patch_options_default();
        abut_patches found = room();
        abut_separation separation;
        options.margin = test_random_real(&random, 0, round % 3 == 1 ? 0.06 : 1);
        options.skip_verification =
            round % 2 && options.margin > 0.1; /* that is wide for all of them */
        assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &separation));
        assert_ok(abut_contact_patches(&a, &b, &options, &found));
        if (separation.distance == 0 || separation.distance > options.margin) {
            assert_true((separation.distance == 0) == (found.count > 0));
            continue;
        }
        for (uint64_t i = 0; i < found.contact_count; i++)
            assert_true(contacts[i].depth <= 1e-6 - separation.distance &&
                        contacts[i].depth >= -options.margin - 1e-9);
        assert_true(found.contact_count > 0);
        gaps++;
    }
    assert_true(gaps > 40);
    for (int i = 0; i < BODIES; i++)
        abut_bvh_destroy(bodies[i]);
}

/* Two poses of a cube and a letter E that random ones found: at a corner the skins of a narrow
 * margin told a gap of 0.01296 between bodies 0.01358 apart, and those of a wide one hid an
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
        abut_posed a = {cube, cases[i].a}, b = {e, cases[i].b};
        abut_patch_options options = abut_patch_options_default();
        abut_patches found = room();
        abut_separation separation;
        options.margin = cases[i].margin;
        assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &separation));
        assert_ok(abut_contact_patches(&a, &b, &options, &found));
        assert_true((separation.distance == 0) == (i == 1) && found.count > 0);
        if (i)
            assert_true(contacts[0].depth > 0.01);
        else
            assert_close(contacts[0].depth, -separation.distance, 1e-6);
    }
    abut_bvh_destroy(cube);
    abut_bvh_destroy(e);
}

/* ---- promises ---- */

/* Random poses: who overlaps has a contact; nothing apart by more than the margin has one; the
 * depth along the normal separates; the normal shrinks the overlap; exchanged, the same. */
static void check_pair(const abut_posed *a, const abut_posed *b, uint32_t *apart,
                       uint32_t *separated) {
    abut_overlap overlap;
    assert_ok(abut_pair_overlap(a, b, NULL, NULL, &overlap));
    abut_patches found = room(), turned = room();
    assert_ok(abut_contact_patches(a, b, NULL, &found));
    if (overlap.relation == ABUT_PAIR_APART) {
        abut_separation separation;
        assert_ok(abut_pair_distance(a, b, NULL, NULL, &separation));
        assert_true(found.count == 0 || separation.distance < 1e-6);
        ++*apart;
        return;
    }
    assert_true(found.count > 0 && found.contact_count >= found.count);
    abut_patch first = list[0];
    abut_contact deepest = contacts[0];
    assert_close(v3_length(first.normal), 1, 1e-12);
    assert_true(first.depth >= 0 || overlap.relation == ABUT_PAIR_INTERSECTING);
    assert_true(deepest.depth == first.depth && first.depth > -1e-6);
    for (uint64_t i = 0; i < found.contact_count; i++)
        for (uint64_t k = 0; k < i; k++)
            assert_true(contacts[i].id != contacts[k].id);
    assert_ok(abut_contact_patches(b, a, NULL, &turned));
    assert_true(turned.count == found.count && turned.contact_count == found.contact_count);
    assert_true(list[0].depth == first.depth && list[0].volume == first.volume);
    assert_way(list[0].normal, v3_scale(first.normal, -1), 0);
    assert_int_equal(contacts[0].side, !deepest.side);
    if (!found.is_verified)
        return;
    ++*separated;
    abut_posed out = *a;
    assert_ok(abut_contact_patches(a, b, NULL, &found));
    abut_vec3 shift = v3(0, 0, 0);
    double along[64] = {0}; /* each normal: never negative */
    assert_true(found.count <= 64);
    for (int round = 0; round < 1000; round++) /* the shortest that satisfies all (Hildreth 1957) */
        for (uint64_t i = 0; i < found.count; i++) {
            double wanted = list[i].depth * (1 + 2e-6) + 1e-6;
            double missing = wanted - v3_dot(shift, list[i].normal);
            double step = real_max(missing, -along[i]);
            along[i] += step;
            shift = v3_along(shift, step, list[i].normal);
        }
    out.pose.translation = v3_add(out.pose.translation, shift);
    assert_ok(abut_pair_overlap(&out, b, NULL, NULL, &overlap));
    assert_int_equal(overlap.relation, ABUT_PAIR_APART);
}

TEST(overlaps_have_contacts_that_separate) {
    abut_shape letter = abut_shape_default(ABUT_SHAPE_LETTER_E);
    abut_bvh *bodies[] = {box_of(1, 1, 1, 1), box_of(1, 1, 0.002, 1), ball_of(0.3, 4),
                          tree_of(NULL, &letter)};
    enum { BODIES = sizeof bodies / sizeof *bodies };
    test_random random = {41};
    uint32_t asked = 0, apart = 0, separated = 0;
    for (uint32_t round = 0; round < test_rounds(400); round++)
        for (int i = 0; i < BODIES; i++)
            for (int k = 0; k <= i; k++, asked++) {
                abut_posed a = {bodies[i], random_pose(&random, 0.8)};
                abut_posed b = {bodies[k], random_pose(&random, 0)};
                check_pair(&a, &b, &apart, &separated);
            }
    print_message("  of %u, %u are apart; %u of the others separate\n", asked, apart, separated);
    /* of 270 overlaps at most 6 do not separate, for 50 seeds */
    assert_true(apart < asked * 3 / 5 && separated >= (asked - apart) * 95 / 100);
    for (int i = 0; i < BODIES; i++)
        abut_bvh_destroy(bodies[i]);
}

/* Cubes on a lattice: faces in planes, edges on edges, corners on corners, one in the place of the
 * other. Also turned by quarters. */
TEST(no_special_position_is_missed) {
    abut_bvh *cube = box_of(1, 1, 1, 1), *bar = box_of(1, 0.5, 0.25, 2);
    uint32_t apart = 0, separated = 0, asked = 0;
    for (int x = -4; x <= 4; x++)
        for (int y = -4; y <= 4; y++)
            for (int z = -4; z <= 4; z++, asked++) {
                abut_posed a = {cube, shifted(0.25 * x, 0.25 * y, 0.25 * z)};
                abut_posed b = {asked % 2 ? cube : bar, shifted(0, 0, 0)};
                if (asked % 3 == 0)
                    assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), 1.5707963267948966,
                                                        a.pose.translation, &a.pose));
                check_pair(&a, &b, &apart, &separated);
            }
    assert_true(apart < asked / 2 && separated > (asked - apart) * 99 / 100);
    abut_bvh_destroy(cube);
    abut_bvh_destroy(bar);
}

/* ---- meshes that are not so good ---- */

/* Triangles of a soup that share no vertices give the contacts of the welded mesh. */
TEST(soup_has_the_contacts_of_its_solid) {
    abut_bvh *cube = box_of(1, 1, 1, 1);
    abut_mesh *mesh = abut_bvh_mesh(cube), *soup;
    const uint32_t *indices = abut_mesh_indices(mesh), count = abut_mesh_triangle_count(mesh);
    abut_vec3 corners[36];
    uint32_t own[36];
    assert_int_equal(count, 12);
    for (uint32_t i = 0; i < 36; i++) {
        corners[i] =
            v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[indices[i]]);
        own[i] = i;
    }
    soup = test_mesh(NULL, corners, 36, own, 12);
    abut_bvh *loose;
    assert_ok(abut_bvh_create(soup, NULL, &loose));
    abut_patches found = ask(loose, shifted(0.1, 0.2, 0.99), cube, shifted(0, 0, 0), 0);
    assert_int_equal(found.reliability.level, ABUT_RELIABILITY_GUARANTEED);
    assert_int_equal(found.contact_count, 4);
    assert_close(list[0].depth, 0.01, 1e-7);
    assert_close(list[0].volume, 0.9 * 0.8 * 0.01, 1e-6);
    abut_mesh_destroy(soup);
    abut_bvh_destroy(loose);
    abut_bvh_destroy(cube);
}

/* Open meshes are limited, flipped neighbours unreliable; both still have contacts where they meet.
 */
TEST(reliability_says_what_surfaces_allow) {
    const double square[] = {-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0};
    const uint32_t faces[] = {0, 1, 2, 0, 2, 3}, flipped[] = {0, 1, 2, 0, 3, 2};
    abut_bvh *ball = ball_of(0.3, 4), *open, *turned;
    abut_mesh *meshes[2] = {test_mesh(NULL, square, 4, faces, 2),
                            test_mesh(NULL, square, 4, flipped, 2)};
    assert_ok(abut_bvh_create(meshes[0], NULL, &open));
    assert_ok(abut_bvh_create(meshes[1], NULL, &turned));
    abut_patches found = ask(ball, shifted(0.1, 0, 0.29), open, shifted(0, 0, 0), 0);
    assert_int_equal(found.reliability.level, ABUT_RELIABILITY_LIMITED);
    assert_true(found.count == 1 && found.contact_count >= 1);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-3);
    found = ask(ball, shifted(0.1, 0, 0.29), turned, shifted(0, 0, 0), 0);
    assert_int_equal(found.reliability.level, ABUT_RELIABILITY_UNRELIABLE);
    assert_true(found.count >= 1);
    for (int i = 0; i < 2; i++)
        abut_mesh_destroy(meshes[i]);
    abut_bvh_destroy(ball);
    abut_bvh_destroy(open);
    abut_bvh_destroy(turned);
}

/* 1e-9 and 1e9, and far from the origin. */
TEST(sizes_and_places_do_not_matter) {
    const double sizes[] = {1e-9, 1, 1e9};
    for (int s = 0; s < 3; s++) {
        double u = sizes[s];
        abut_bvh *cube = box_of(u, u, u, 1);
        abut_patches found = ask(cube, shifted(0.2 * u, 0, 0.99 * u), cube, shifted(0, 0, 0), 0);
        assert_int_equal(found.contact_count, 4);
        assert_close(list[0].depth, 0.01 * u, 1e-7 * u);
        assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
        found =
            ask(cube, shifted(1e6 * u, 2e6 * u, 0.99 * u), cube, shifted(1e6 * u, 2e6 * u, 0), 0);
        assert_int_equal(found.contact_count, 4);
        assert_close(list[0].depth, 0.01 * u, 1e-6 * u);
        abut_bvh_destroy(cube);
    }
}

/* After a refit the contacts are those of a new hierarchy. */
TEST(refits_are_followed) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.segments = 2;
    abut_mesh *mesh, *larger;
    abut_bvh *cube = tree_of(NULL, &shape), *fresh;
    abut_bvh *floor = box_of(4, 4, 1, 1);
    mesh = abut_bvh_mesh(cube);
    ask(cube, shifted(0, 0, 0.99), floor, shifted(0, 0, 0), 0);
    assert_ok(abut_mesh_transform(mesh, 1.1, shifted(0, 0, 0), &larger));
    assert_ok(abut_bvh_set_mesh(cube, larger));
    assert_ok(abut_bvh_create(larger, NULL, &fresh));
    abut_patches found = ask(cube, shifted(0, 0, 1), floor, shifted(0, 0, 0), 0);
    abut_patch first = list[0];
    assert_close(first.depth, 0.5 + 1.1 * shape.extent.z / 2 - 1, 1e-7);
    found = ask(fresh, shifted(0, 0, 1), floor, shifted(0, 0, 0), 0);
    assert_int_equal(found.count, 1);
    assert_true(list[0].depth == first.depth);
    abut_mesh_destroy(larger);
    abut_bvh_destroy(cube);
    abut_bvh_destroy(fresh);
    abut_bvh_destroy(floor);
}

/* ---- doors ---- */

TEST(bad_calls_are_refused) {
    abut_bvh *cube = box_of(1, 1, 1, 1);
    abut_posed a = {cube, shifted(0, 0, 0.99)}, b = {cube, shifted(0, 0, 0)}, none = {NULL, a.pose};
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    assert_refused("a is null", abut_contact_patches(NULL, &b, NULL, &found));
    assert_refused("b is null", abut_contact_patches(&a, NULL, NULL, &found));
    assert_refused("null", abut_contact_patches(&a, &none, NULL, &found));
    assert_refused("patches is null", abut_contact_patches(&a, &b, NULL, NULL));
    found.list = NULL;
    assert_refused("null", abut_contact_patches(&a, &b, NULL, &found));
    found = room();
    options.margin = NAN;
    assert_refused("margin", abut_contact_patches(&a, &b, &options, &found));
    options = abut_patch_options_default();
    options.max_contacts = 9;
    assert_refused("keep", abut_contact_patches(&a, &b, &options, &found));
    options = abut_patch_options_default();
    options.hint.y = INFINITY;
    assert_refused("hint", abut_contact_patches(&a, &b, &options, &found));
    a.pose.translation.x = NAN;
    assert_refused("pose of a", abut_contact_patches(&a, &b, NULL, &found));
    a = b;
    a.pose.translation.z = 0.99;
    contacts[0].depth = 77;
    list[0].depth = 77;
    found =
        (abut_patches){.list = list, .capacity = 4, .contacts = contacts, .contact_capacity = 3};
    assert_fails(ABUT_ERROR_BUFFER, "1 patches with 4 contacts",
                 abut_contact_patches(&a, &b, NULL, &found));
    assert_true(found.count == 1 && found.contact_count == 4);
    assert_true(contacts[0].depth == 77 && list[0].depth == 77);
    found = (abut_patches){0};
    assert_fails(ABUT_ERROR_BUFFER, "room for 0", abut_contact_patches(&a, &b, NULL, &found));
    a.pose.translation.z = 3;
    assert_ok(abut_contact_patches(&a, &b, NULL, &found));
    assert_int_equal(found.count, 0);
    options = abut_patch_options_default();
    for (uint32_t keep = 1; keep <= 8; keep++) { /* so many, and no more */
        options.max_contacts = keep;
        a.pose.translation.z = 0.99;
        a.pose.translation.x = 0.1;
        found = room();
        assert_ok(abut_contact_patches(&a, &b, &options, &found));
        assert_true(found.contact_count >= (keep < 4 ? keep : 4) && found.contact_count <= keep);
    }
    abut_bvh_destroy(cube);
}

static abut_status ask_all(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    shape.segments = 3;
    (void)data;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    abut_posed a = {bvh, shifted(0, 0.1, 0.3)}, b = {bvh, shifted(0, 0, 0)};
    abut_patches found = room();
    status = status ? status : abut_contact_patches(&a, &b, NULL, &found);
    abut_mesh_destroy(mesh);
    abut_bvh_destroy(bvh);
    return status;
}

TEST(memory_may_run_out) {
    assert_true(test_every_allocation(ask_all, NULL) > 10);
}

static bool go_on(void *user, const char *stage, double fraction) {
    (void)stage;
    (void)fraction;
    return *(bool *)user;
}

/* A callback may end it; nothing half-found is told, and the next call is as good as any. */
TEST(a_callback_may_cancel) {
    abut_context_options options = abut_context_options_default();
    abut_context *context = NULL;
    bool goes_on = true;
    options.progress = go_on;
    options.progress_user = &goes_on;
    assert_ok(abut_context_create(&options, &context));
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_bvh *ball = tree_of(context, &shape);
    abut_posed a = {ball, shifted(0.3, 0.1, 0)}, b = {ball, shifted(0, 0, 0)};
    abut_patches found = room();
    double seconds = abuti_progress_interval;
    abuti_progress_interval = 0;
    goes_on = false;
    found.count = 77;
    assert_fails(ABUT_ERROR_CANCELLED, "cancelled", abut_contact_patches(&a, &b, NULL, &found));
    assert_int_equal(found.count, 77);
    goes_on = true;
    assert_ok(abut_contact_patches(&a, &b, NULL, &found));
    assert_true(found.count == 1 && found.is_verified);
    abuti_progress_interval = seconds;
    abut_bvh_destroy(ball);
    abut_context_destroy(context);
}

/* A prism of eight sides stands on eight points if they are asked for. */
TEST(many_points_go_round) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_CYLINDER);
    shape.segments = 8;
    abut_bvh *prism = tree_of(NULL, &shape), *floor = box_of(8, 8, 1, 1);
    abut_box bounds = abut_mesh_bounds(abut_bvh_mesh(prism));
    for (int k = 0; k < 8; k++) {
        abut_pose turned;
        assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), 0.05 * k,
                                            v3(0, 0, 0.5 - bounds.lo.z - 0.001), &turned));
        abut_posed a = {prism, turned}, b = {floor, shifted(0, 0, 0)};
        abut_patch_options options = abut_patch_options_default();
        abut_patches found = room();
        options.max_contacts = 8;
        assert_ok(abut_contact_patches(&a, &b, &options, &found));
        assert_true(found.count == 1 && found.contact_count == 8);
        for (int i = 0; i < 8; i++)
            assert_close(contacts[i].depth, 0.001, 1e-7);
    }
    abut_bvh_destroy(prism);
    abut_bvh_destroy(floor);
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Bodies at rest in an engine shake a little: contacts keep their ids. */
TEST(ids_stay_while_bodies_shake) {
    abut_bvh *cube = box_of(1, 1, 1, 1), *floor = box_of(8, 8, 1, 1), *ball = ball_of(0.5, 8);
    abut_pose turned;
    assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), 0.4, v3(0.1, 0.05, 0.9999), &turned));
    const struct {
        const abut_bvh *a, *b;
        abut_pose at;
    } cases[] = {{cube, cube, shifted(0, 0, 0.9999)},
                 {cube, cube, shifted(0.3, 0.2, 0.9999)},
                 {cube, cube, turned},
                 {cube, floor, turned},
                 {ball, floor, shifted(0, 0, 0.999)},
                 {ball, ball, shifted(0.1, 0.2, 0.93)}};
    test_random random = {29};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        uint64_t first[16], ids[16], count = 0;
        for (int round = 0; round < 50; round++) {
            abut_pose at = cases[i / 2].at;
            double shake = i / 2 == 2 ? 1e-10 : 1e-7; /* an octagon has more than four corners */
            double *numbers = (double *)&at;
            for (int k = 0; k < 7; k++)
                numbers[k] += k == 3 ? 0 : test_random_real(&random, -shake, shake);
            abut_patches found =
                ask(cases[i / 2].a, at, cases[i / 2].b, shifted(0, 0, 0), i % 2 ? 0.005 : 0);
            assert_true(found.contact_count > 0 && found.contact_count <= 16);
            for (uint64_t k = 0; k < found.contact_count; k++)
                ids[k] = contacts[k].id;
            qsort(ids, found.contact_count, sizeof *ids, by_number);
            if (!round) {
                count = found.contact_count;
                memcpy(first, ids, sizeof ids);
            }
            assert_int_equal(found.contact_count, count);
            assert_memory_equal(ids, first, count * sizeof *ids);
        }
    }
    abut_bvh_destroy(cube);
    abut_bvh_destroy(floor);
    abut_bvh_destroy(ball);
}

/* Many threads ask the same two hierarchies for the first time. */
static const abut_bvh *shared[2];

static void *ask_once(void *data) {
    abut_patch one[4];
    abut_contact few[16];
    abut_patches found = {.list = one, .capacity = 4, .contacts = few, .contact_capacity = 16};
    abut_posed a = {shared[0], shifted(0, 0, 0.99)}, b = {shared[1], shifted(0, 0, 0)};
    *(double *)data = abut_contact_patches(&a, &b, NULL, &found) ? -1 : one[0].depth;
    return NULL;
}

TEST_THREADS(threads_share_what_is_made_first) {
    abut_bvh *cube = box_of(1, 1, 1, 4), *other = box_of(1, 1, 1, 3);
    pthread_t threads[4];
    double depths[4];
    shared[0] = cube;
    shared[1] = other;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_once, &depths[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        assert_true(depths[i] == depths[0] && fabs(depths[i] - 0.01) < 1e-7);
    abut_bvh_destroy(cube);
    abut_bvh_destroy(other);
}
