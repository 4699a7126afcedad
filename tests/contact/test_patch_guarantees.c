/* Contacts from exact geometry: guarantees on random pairs, positions in which nothing is general,
 * open, flipped, tiny and distant meshes, contacts that stay while bodies tremble. */
#include "contact/mesh_patches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- guarantees ---- */

/* Random poses: who overlaps has a contact; nothing apart by more than the margin has one; the
 * depth along the normal separates; the normal shrinks the overlap; exchanged, the same. */
static void check_pair(const abut_collider *a, const abut_collider *b, uint32_t *apart,
                       uint32_t *separated) {
    abut_overlap overlap;
    assert_ok(abut_pair_overlap(a, b, NULL, NULL, &overlap));
    abut_patches found = room(), turned = room();
    assert_ok(abut_contact_find(a, b, NULL, &found));
    if (overlap.relation == ABUT_PAIR_APART) {
        abut_separation separation;
        assert_ok(abut_pair_distance(a, b, NULL, NULL, &separation));
        assert_true(found.patches.count == 0 || separation.distance < 1e-6);
        ++*apart;
        return;
    }
    assert_true(found.patches.count > 0 && found.contacts.count >= found.patches.count);
    abut_patch first = list[0];
    abut_contact deepest = contacts[0];
    assert_close(v3_length(first.normal), 1, 1e-12);
    assert_true(first.depth >= 0 || overlap.relation == ABUT_PAIR_INTERSECTING);
    assert_true(deepest.depth == first.depth && first.depth > -1e-6);
    for (uint64_t i = 0; i < found.contacts.count; i++)
        for (uint64_t k = 0; k < i; k++)
            assert_true(contacts[i].id != contacts[k].id);
    assert_ok(abut_contact_find(b, a, NULL, &turned));
    assert_true(turned.patches.count == found.patches.count &&
                turned.contacts.count == found.contacts.count);
    assert_true(list[0].depth == first.depth && list[0].volume == first.volume);
    assert_way(list[0].normal, v3_scale(first.normal, -1), 0);
    assert_int_equal(contacts[0].side, !deepest.side);
    if (!found.is_verified)
        return;
    ++*separated;
    abut_collider out = *a;
    assert_ok(abut_contact_find(a, b, NULL, &found));
    abut_vec3 shift = v3(0, 0, 0);
    double along[64] = {0}; /* each normal: never negative */
    assert_true(found.patches.count <= 64);
    for (int round = 0; round < 1000; round++) /* the shortest that satisfies all (Hildreth 1957) */
        for (uint64_t i = 0; i < found.patches.count; i++) {
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
                abut_collider a = abut_collider_from_bvh(bodies[i], random_pose(&random, 0.8));
                abut_collider b = abut_collider_from_bvh(bodies[k], random_pose(&random, 0));
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
                abut_collider a =
                    abut_collider_from_bvh(cube, shifted(0.25 * x, 0.25 * y, 0.25 * z));
                abut_collider b = abut_collider_from_bvh(asked % 2 ? cube : bar, shifted(0, 0, 0));
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
    abut_patches found = find_patches(loose, shifted(0.1, 0.2, 0.99), cube, shifted(0, 0, 0), 0);
    assert_int_equal(found.reliability.level, ABUT_RELIABILITY_GUARANTEED);
    assert_int_equal(found.contacts.count, 4);
    assert_close(list[0].depth, 0.01, 1e-7);
    assert_close(list[0].volume, 0.9 * 0.8 * 0.01, 1e-6);
    abut_mesh_destroy(soup);
    abut_bvh_destroy(loose);
    abut_bvh_destroy(cube);
}

/* Open meshes are limited, flipped neighbours unreliable; both still have contacts where they
 * intersect. */
TEST(verdicts_say_what_surfaces_allow) {
    const double square[] = {-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0};
    const uint32_t faces[] = {0, 1, 2, 0, 2, 3}, flipped[] = {0, 1, 2, 0, 3, 2};
    abut_bvh *ball = ball_of(0.3, 4), *open, *turned;
    abut_mesh *meshes[2] = {test_mesh(NULL, square, 4, faces, 2),
                            test_mesh(NULL, square, 4, flipped, 2)};
    assert_ok(abut_bvh_create(meshes[0], NULL, &open));
    assert_ok(abut_bvh_create(meshes[1], NULL, &turned));
    abut_patches found = find_patches(ball, shifted(0.1, 0, 0.29), open, shifted(0, 0, 0), 0);
    assert_int_equal(found.reliability.level, ABUT_RELIABILITY_LIMITED);
    assert_true(found.patches.count == 1 && found.contacts.count >= 1);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-3);
    found = find_patches(ball, shifted(0.1, 0, 0.29), turned, shifted(0, 0, 0), 0);
    assert_int_equal(found.reliability.level, ABUT_RELIABILITY_UNRELIABLE);
    assert_true(found.patches.count >= 1);
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
        abut_patches found =
            find_patches(cube, shifted(0.2 * u, 0, 0.99 * u), cube, shifted(0, 0, 0), 0);
        assert_int_equal(found.contacts.count, 4);
        assert_close(list[0].depth, 0.01 * u, 1e-7 * u);
        assert_way(list[0].normal, v3(0, 0, 1), 1e-6);
        found = find_patches(cube, shifted(1e6 * u, 2e6 * u, 0.99 * u), cube,
                             shifted(1e6 * u, 2e6 * u, 0), 0);
        assert_int_equal(found.contacts.count, 4);
        assert_close(list[0].depth, 0.01 * u, 1e-6 * u);
        abut_bvh_destroy(cube);
    }
}

/* After a refit the contacts are those of a new BVH. */
TEST(refits_are_followed) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.segments = 2;
    abut_mesh *mesh, *larger;
    abut_bvh *cube = tree_of(NULL, &shape), *fresh;
    abut_bvh *floor = box_of(4, 4, 1, 1);
    mesh = abut_bvh_mesh(cube);
    find_patches(cube, shifted(0, 0, 0.99), floor, shifted(0, 0, 0), 0);
    assert_ok(abut_mesh_transform(mesh, 1.1, shifted(0, 0, 0), &larger));
    assert_ok(abut_bvh_set_mesh(cube, larger));
    assert_ok(abut_bvh_create(larger, NULL, &fresh));
    abut_patches found = find_patches(cube, shifted(0, 0, 1), floor, shifted(0, 0, 0), 0);
    abut_patch first = list[0];
    assert_close(first.depth, 0.5 + 1.1 * shape.extent.z / 2 - 1, 1e-7);
    found = find_patches(fresh, shifted(0, 0, 1), floor, shifted(0, 0, 0), 0);
    assert_int_equal(found.patches.count, 1);
    assert_true(list[0].depth == first.depth);
    abut_mesh_destroy(larger);
    abut_bvh_destroy(cube);
    abut_bvh_destroy(fresh);
    abut_bvh_destroy(floor);
}

/* Offsets that are computed where bodies touch, after a refit, have the bits of those that are
 * computed for all vertices. */
TEST(refits_keep_bits) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TEAPOT_SOLID);
    shape.segments = 2;
    abut_bvh *used = tree_of(NULL, &shape), *unused = tree_of(NULL, &shape), *trees[2];
    abut_mesh *twisted, *mesh = abut_bvh_mesh(used);
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 *positions = calloc(count, sizeof *positions);
    test_random random = {31};
    static abut_contact first[64];
    uint64_t all = 0;
    assert_ok(abut_mesh_get_positions(mesh, positions));
    for (uint32_t i = 0; i < count; i++)
        positions[i].x += 0.1 * positions[i].y * positions[i].z;
    twisted =
        test_mesh(NULL, positions, count, abut_mesh_indices(mesh), abut_mesh_triangle_count(mesh));
    find_patches(used, shifted(0, 0, 0.5), used, shifted(0, 0, 0), 0);
    trees[0] = used;
    trees[1] = unused;
    for (int k = 0; k < 2; k++)
        assert_ok(abut_bvh_set_mesh(trees[k], twisted));
    for (uint32_t round = 0; round < test_rounds(160); round++) {
        const abut_pose to = random_pose(&random, 3);
        uint64_t contact_count = 0;
        for (int k = 0; k < 2; k++) {
            const abut_patches found =
                find_patches(trees[k], to, trees[k], shifted(0, 0, 0), round % 2 ? 0.05 : 0);
            assert_true(found.contacts.count <= 64);
            assert_true(k == 0 || found.contacts.count == contact_count);
            contact_count = found.contacts.count;
            if (k == 0)
                memcpy(first, contacts, contact_count * sizeof *first);
        }
        for (uint64_t i = 0; i < contact_count; i++) {
            assert_memory_equal(&first[i].point, &contacts[i].point, sizeof(abut_vec3));
            assert_memory_equal(&first[i].normal, &contacts[i].normal, sizeof(abut_vec3));
            assert_true(first[i].depth == contacts[i].depth && first[i].id == contacts[i].id);
        }
        all += contact_count;
    }
    assert_true(all > 20);
    free(positions);
    abut_mesh_destroy(twisted);
    abut_bvh_destroy(used);
    abut_bvh_destroy(unused);
}

/* A mesh that a refit turns inside out, and back, has the contacts of a new BVH. */
TEST(refits_turn_inside_out) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.segments = 1;
    abut_bvh *cube = tree_of(NULL, &shape), *floor = box_of(4, 4, 1, 1), *fresh;
    abut_mesh *mesh = abut_bvh_mesh(cube), *mirrored;
    const uint32_t count = abut_mesh_vertex_count(mesh);
    abut_vec3 positions[64];
    assert_true(count <= 64);
    assert_ok(abut_mesh_get_positions(mesh, positions));
    for (int turn = 0; turn < 2; turn++) {
        find_patches(cube, shifted(0, 0, 0.99), floor, shifted(0, 0, 0), 0);
        for (uint32_t i = 0; i < count; i++)
            positions[i].x = -positions[i].x;
        mirrored = test_mesh(NULL, positions, count, abut_mesh_indices(abut_bvh_mesh(cube)),
                             abut_mesh_triangle_count(abut_bvh_mesh(cube)));
        assert_ok(abut_bvh_set_mesh(cube, mirrored));
        assert_ok(abut_bvh_create(mirrored, NULL, &fresh));
        abut_patches found = find_patches(fresh, shifted(0, 0, 0.99), floor, shifted(0, 0, 0), 0);
        const abut_patch wanted = list[0];
        assert_int_equal(found.patches.count, 1);
        found = find_patches(cube, shifted(0, 0, 0.99), floor, shifted(0, 0, 0), 0);
        assert_int_equal(found.patches.count, 1);
        assert_close(wanted.volume, 0.01, 1e-9);
        assert_close(list[0].depth, wanted.depth, 1e-12);
        assert_close(list[0].volume, wanted.volume, 1e-12);
        abut_mesh_destroy(mirrored);
        abut_bvh_destroy(fresh);
    }
    abut_bvh_destroy(cube);
    abut_bvh_destroy(floor);
}

/* ---- contacts of a patch ---- */

/* A prism of eight sides has eight contact points if they are requested. */
TEST(many_points_go_round) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_CYLINDER);
    shape.segments = 8;
    abut_bvh *prism = tree_of(NULL, &shape), *floor = box_of(8, 8, 1, 1);
    abut_box bounds = abut_mesh_bounds(abut_bvh_mesh(prism));
    for (int k = 0; k < 8; k++) {
        abut_pose turned;
        assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), 0.05 * k,
                                            v3(0, 0, 0.5 - bounds.lo.z - 0.001), &turned));
        abut_collider a = abut_collider_from_bvh(prism, turned),
                      b = abut_collider_from_bvh(floor, shifted(0, 0, 0));
        abut_patch_options options = abut_patch_options_default();
        abut_patches found = room();
        options.max_contacts = 8;
        assert_ok(abut_contact_find(&a, &b, &options, &found));
        assert_true(found.patches.count == 1 && found.contacts.count == 8);
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
            abut_patches found = find_patches(cases[i / 2].a, at, cases[i / 2].b, shifted(0, 0, 0),
                                              i % 2 ? 0.005 : 0);
            assert_true(found.contacts.count > 0 && found.contacts.count <= 16);
            for (uint64_t k = 0; k < found.contacts.count; k++)
                ids[k] = contacts[k].id;
            qsort(ids, found.contacts.count, sizeof *ids, by_number);
            if (!round) {
                count = found.contacts.count;
                memcpy(first, ids, sizeof ids);
            }
            assert_int_equal(found.contacts.count, count);
            assert_memory_equal(ids, first, count * sizeof *ids);
        }
    }
    abut_bvh_destroy(cube);
    abut_bvh_destroy(floor);
    abut_bvh_destroy(ball);
}
