/* The reliability of results: surfaces without boundary, with holes, with triangles that face
 * opposite ways, and inverted ones; for pairs, signs, fields, contacts and worlds, on the CPU or
 * on a device. Mesh reports have the same levels. */
#ifndef ABUT_TEST_PAIR_RELIABILITY_H
#define ABUT_TEST_PAIR_RELIABILITY_H

#include "apps/get.h"
#include "bvh/meshes.h"

#include <abut/abut.h>

static abut_device *truth_device; /* null = the CPU */

typedef enum fault { SOUND, FLIPPED, BOWL, INSIDE_OUT, INWARD_CUBE, MOEBIUS, FAULTS } fault;

/* A strip about the z axis that is turned over once. */
static abut_mesh *strip(void) {
    enum { PIECES = 24 };
    abut_vec3 positions[2 * PIECES];
    uint32_t indices[2 * PIECES][3];
    for (uint32_t i = 0; i < PIECES; i++)
        for (uint32_t k = 0; k < 2; k++) {
            double angle = 8 * atan(1) * i / PIECES, side = k ? 0.3 : -0.3;
            double far = 1 + side * cos(angle / 2);
            positions[2 * i + k] = vec(far * cos(angle), far * sin(angle), side * sin(angle / 2));
        }
    for (uint32_t i = 0; i < PIECES; i++) {
        uint32_t a = 2 * i, b = a + 1, last = i + 1 == PIECES;
        uint32_t c = last ? 1 : a + 2, d = last ? 0 : a + 3;
        const uint32_t two[2][3] = {{a, b, c}, {c, b, d}};
        memcpy(indices[2 * i], two, sizeof two);
    }
    return test_mesh(NULL, positions, 2 * PIECES, indices, 2 * PIECES);
}

/* A sphere of radius 1: as it is, every second triangle turned, without its top, all turned; a cube
 * around it that is turned, a Moebius strip. */
static abut_mesh *faulty(fault which) {
    if (which == MOEBIUS)
        return strip();
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *whole = NULL, *mesh = NULL;
    shape.radius = 1;
    shape.segments = 6;
    if (which == INWARD_CUBE) {
        shape = abut_shape_default(ABUT_SHAPE_BOX);
        shape.extent = vec(2, 2, 2);
    }
    assert_ok(abut_shape_create(NULL, &shape, &whole));
    uint32_t count = abut_mesh_triangle_count(whole), kept = 0;
    AUTO_FREE uint32_t *indices = malloc(3 * (size_t)count * sizeof *indices);
    assert_non_null(indices);
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t *from = abut_mesh_indices(whole) + 3 * (size_t)t;
        bool turned = which == INSIDE_OUT || which == INWARD_CUBE || (which == FLIPPED && t % 2);
        if (which == BOWL && abut_mesh_local_positions(whole)[from[0]].z > 0.95)
            continue;
        uint32_t *to = indices + 3 * (size_t)kept++;
        to[0] = from[0];
        to[1] = from[turned ? 2 : 1];
        to[2] = from[turned ? 1 : 2];
    }
    abut_mesh_input input = abut_mesh_input_doubles(abut_mesh_local_positions(whole),
                                                    abut_mesh_vertex_count(whole), indices, kept);
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    abut_mesh_destroy(whole);
    return mesh;
}

/* Takes the mesh. */
static abut_bvh *hierarchy_of(abut_mesh *mesh) {
    abut_bvh_options options = abut_bvh_options_default();
    abut_bvh *bvh = NULL;
    options.device = truth_device;
    assert_ok(abut_bvh_create(mesh, &options, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

static abut_bvh *small_ball(void) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh = NULL;
    shape.radius = 0.2;
    shape.segments = 3;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return hierarchy_of(mesh);
}

static const abut_reliability_level expected[FAULTS] = {
    [SOUND] = ABUT_RELIABILITY_GUARANTEED,       [FLIPPED] = ABUT_RELIABILITY_UNRELIABLE,
    [BOWL] = ABUT_RELIABILITY_LIMITED,           [INSIDE_OUT] = ABUT_RELIABILITY_GUARANTEED,
    [INWARD_CUBE] = ABUT_RELIABILITY_GUARANTEED, [MOEBIUS] = ABUT_RELIABILITY_UNRELIABLE,
};

/* A Moebius strip is a sheet: it has no inside, so nothing is in doubt. */
static abut_reliability_level expected_of_pair(int f) {
    return f == MOEBIUS ? ABUT_RELIABILITY_GUARANTEED : expected[f];
}

/* The pose at which the ball intersects the surface. */
static const abut_vec3 at_surface[FAULTS] = {
    [SOUND] = {0, 0, -1},      [FLIPPED] = {0, 0, -1},     [BOWL] = {0, 0, -1},
    [INSIDE_OUT] = {0, 0, -1}, [INWARD_CUBE] = {0, 0, -1}, [MOEBIUS] = {1, 0, 0},
};

static void assert_reliability(abut_reliability_level level, const char *part,
                               abut_reliability reliability) {
    assert_int_equal(level, reliability.level);
    assert_non_null(reliability.reason);
    if (!strstr(reliability.reason, part))
        fail_msg("'%s' does not say '%s'", reliability.reason, part);
}

/* A ball in the middle: containment decides. */
TEST(inside_decides) {
    AUTO(bvh) ball = small_ball();
    for (int f = 0; f < FAULTS; f++) {
        AUTO(bvh) around = hierarchy_of(faulty((fault)f));
        abut_collider a = abut_collider_from_bvh(ball, abut_pose_identity()),
                      b = abut_collider_from_bvh(around, abut_pose_identity());
        abut_overlap one, other;
        abut_separation apart;
        abut_pair_options surfaces = abut_pair_options_default();
        abut_reliability reliability;
        bool within;
        const abut_reliability_level level = expected_of_pair(f);
        const bool exact = level == ABUT_RELIABILITY_GUARANTEED;
        surfaces.surface_only = true;
        assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &one));
        assert_reliability(level,
                           f == MOEBIUS ? "Mesh b is a sheet"
                           : exact      ? "exact"
                           : f == BOWL  ? "Mesh b is not closed"
                                        : "of mesh b face",
                           one.reliability);
        if (level != ABUT_RELIABILITY_UNRELIABLE)
            assert_int_equal(f == MOEBIUS ? ABUT_PAIR_APART : ABUT_PAIR_A_INSIDE, one.relation);
        assert_ok(abut_pair_overlap(&b, &a, NULL, NULL, &other));
        assert_reliability(level,
                           f == MOEBIUS ? "Mesh a is a sheet"
                           : exact      ? "exact"
                           : f == BOWL  ? "Mesh a is not closed"
                                        : "of mesh a face",
                           other.reliability);
        assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &apart));
        assert_int_equal(one.relation, apart.relation);
        assert_ptr_equal(one.reliability.reason, apart.reliability.reason);
        assert_ok(abut_pair_within(&a, &b, 0.1, NULL, NULL, &within, &reliability));
        assert_ptr_equal(one.reliability.reason, reliability.reason);
        /* what is near enough is, whatever is inside */
        assert_ok(abut_pair_within(&a, &b, 2, NULL, NULL, &within, &reliability));
        assert_true(within);
        if (one.relation == ABUT_PAIR_APART)
            assert_int_equal(ABUT_RELIABILITY_GUARANTEED, reliability.level);
        /* surface_only requires nothing of a mesh */
        assert_ok(abut_pair_overlap(&a, &b, &surfaces, NULL, &one));
        assert_int_equal(ABUT_PAIR_APART, one.relation);
        assert_int_equal(ABUT_RELIABILITY_GUARANTEED, one.reliability.level);
    }
}

/* Surfaces that intersect, and distant bodies: exact for any mesh. */
TEST(surfaces_decide) {
    AUTO(bvh) ball = small_ball();
    for (int f = 0; f < FAULTS; f++) {
        AUTO(bvh) around = hierarchy_of(faulty((fault)f));
        abut_collider a = abut_collider_from_bvh(ball, abut_pose_identity()),
                      b = abut_collider_from_bvh(around, abut_pose_identity());
        abut_overlap overlap;
        abut_separation apart;
        a.pose.translation = at_surface[f];
        assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
        assert_int_equal(ABUT_PAIR_INTERSECTING, overlap.relation);
        assert_reliability(ABUT_RELIABILITY_GUARANTEED, "exact", overlap.reliability);
        a.pose.translation = vec(0, 0, -3);
        assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &apart));
        assert_int_equal(ABUT_PAIR_APART, apart.relation);
        assert_reliability(ABUT_RELIABILITY_GUARANTEED, "exact", apart.reliability);
    }
}

/* The worst of all poses, and both meshes. */
TEST(batches) {
    AUTO(bvh) ball = small_ball();
    for (int f = 0; f < FAULTS; f++) {
        AUTO(bvh) around = hierarchy_of(faulty((fault)f));
        abut_pose at[3] = {{.translation = {5, 0, 0}}, {.rotation.w = 1}, {.rotation.w = 1}};
        abut_pair_poses poses = abut_pair_poses_default();
        abut_pair_relation relations[3];
        abut_separation separations[3];
        abut_reliability reliability;
        bool within[3];
        at[1].translation = at_surface[f];
        poses.a = ball;
        poses.b = around;
        poses.poses_a = at;
        for (size_t count = 2; count <= 3; count++) {
            abut_reliability_level level =
                count == 3 ? expected_of_pair(f) : ABUT_RELIABILITY_GUARANTEED;
            poses.count = count;
            assert_ok(abut_pair_overlap_batch(&poses, NULL, relations, &reliability));
            assert_int_equal(level, reliability.level);
            assert_ok(abut_pair_within_batch(&poses, 0.01, NULL, within, &reliability));
            assert_int_equal(level, reliability.level);
            assert_ok(abut_pair_distance_batch(&poses, NULL, separations));
            assert_int_equal(ABUT_RELIABILITY_GUARANTEED, separations[0].reliability.level);
            assert_int_equal(ABUT_RELIABILITY_GUARANTEED, separations[1].reliability.level);
        }
        assert_int_equal(ABUT_PAIR_APART, relations[0]);
        assert_int_equal(ABUT_PAIR_INTERSECTING, relations[1]);
        assert_int_equal(expected_of_pair(f), separations[2].reliability.level);
        if (expected[f] != ABUT_RELIABILITY_UNRELIABLE)
            assert_true(relations[2] == ABUT_PAIR_A_INSIDE && within[2]);
    }
}

/* Two meshes that are both in doubt: the lower level is reported. */
TEST(both_in_doubt) {
    AUTO(bvh) bowl = hierarchy_of(faulty(BOWL)), *flipped = hierarchy_of(faulty(FLIPPED));
    abut_collider a = abut_collider_from_bvh(bowl, abut_pose_identity()),
                  b = abut_collider_from_bvh(flipped, abut_pose_identity());
    abut_overlap overlap;
    abut_mesh *shrunk = NULL;
    assert_ok(abut_mesh_transform(abut_bvh_mesh(bowl), 0.3, a.pose, &shrunk));
    AUTO(bvh) small = hierarchy_of(shrunk);
    a.shape.body.bvh = small;
    assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
    assert_reliability(ABUT_RELIABILITY_UNRELIABLE, "of mesh b face", overlap.reliability);
}

/* What a report says of a mesh is what answers say. */
TEST(reports_agree) {
    for (int f = 0; f < FAULTS; f++) {
        AUTO(mesh) mesh = faulty((fault)f);
        AUTO(topology) topology;
        abut_mesh_report report = abut_mesh_report_default();
        assert_ok(abut_topology_create(mesh, &topology));
        assert_ok(abut_mesh_examine(topology, &report));
        assert_int_equal(expected[f], abut_sign_reliability(&report, ABUT_SIGN_WINDING).level);
        assert_int_equal(expected[f], abut_sign_reliability(&report, ABUT_SIGN_AUTO).level);
        assert_int_equal(f == MOEBIUS ? ABUT_RELIABILITY_LIMITED : expected[f],
                         abut_pair_reliability(&report).level);
        assert_int_equal(expected[f] ? ABUT_RELIABILITY_UNRELIABLE : ABUT_RELIABILITY_GUARANTEED,
                         abut_sign_reliability(&report, ABUT_SIGN_NORMAL).level);
    }
}

/* And of any mesh: soups, seams, turned parts, extra faces. Takes the mesh. */
static abut_reliability_level check_agreement(abut_mesh *mesh) {
    AUTO(topology) topology;
    abut_mesh_report report = abut_mesh_report_default();
    assert_ok(abut_topology_create(mesh, &topology));
    assert_ok(abut_mesh_examine(topology, &report));
    AUTO(bvh) bvh = hierarchy_of(mesh);
    assert_ok(abut_sign_prepare(bvh, NULL));
    abut_reliability_level level = get_sign_info(bvh).reliability.level;
    assert_int_equal(level, abut_sign_reliability(&report, ABUT_SIGN_WINDING).level);
    assert_int_equal(report.is_sheet ? ABUT_RELIABILITY_LIMITED : level,
                     abut_pair_reliability(&report).level);
    assert_true(report.has_boundary == (level != ABUT_RELIABILITY_GUARANTEED));
    return level;
}

TEST(any_mesh_agrees) {
    test_random random = {31};
    uint32_t seen[3] = {0, 0, 0};
    for (soup_kind kind = 0; kind < SOUP_COUNT; kind++)
        seen[check_agreement(make_kind(NULL, kind, 30, 5 + kind))]++;
    /* triangles of a box: some left out, turned, added again, or with vertices of their own */
    for (uint32_t round = 0; round < test_rounds(1600); round++) {
        abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
        AUTO(mesh) box = NULL;
        shape.segments = 1;
        assert_ok(abut_shape_create(NULL, &shape, &box));
        uint32_t indices[40][3], count = 0;
        abut_vec3 positions[60];
        uint32_t vertices = abut_mesh_vertex_count(box);
        memcpy(positions, abut_mesh_local_positions(box), vertices * sizeof *positions);
        for (uint32_t t = 0; t < abut_mesh_triangle_count(box); t++) {
            uint32_t change = test_random_below(&random, round % 2 ? 40 : 4);
            memcpy(indices[count], abut_mesh_indices(box) + 3 * (size_t)t, sizeof *indices);
            if (change == 1 || change == 2) { /* turned, or once more */
                uint32_t *copy = indices[count + (change == 2)];
                const uint32_t turned[3] = {indices[count][0], indices[count][2],
                                            indices[count][1]};
                memcpy(copy, turned, sizeof turned);
                count += change == 2;
            } else if (change == 3) {
                for (int k = 0; k < 3; k++) {
                    positions[vertices] = positions[indices[count][k]];
                    indices[count][k] = vertices++;
                }
            }
            count += change || round % 4 > 1 || t > 10;
        }
        abut_mesh *mesh = test_mesh(NULL, positions, vertices, indices, count);
        seen[check_agreement(mesh)]++;
    }
    assert_true(seen[0] > 20 && seen[1] > 20 && seen[2] > 20);
}

/* What is inside where that is said to be known, by either method; 0.9 is above the rim of a bowl.
 */
static void check_signs(abut_bvh *bvh, fault f) {
    const abut_vec3 list[3] = {{0, 0, 0}, {0, 0, -0.8}, {0, 0, -1.5}};
    const abut_array points = abut_array_host(list);
    abut_sign_options options = abut_sign_options_default();
    for (options.method = ABUT_SIGN_WINDING; options.method <= ABUT_SIGN_NORMAL; options.method++) {
        abut_nearest nearest[3], one;
        bool inside[3];
        const bool by_normals = options.method == ABUT_SIGN_NORMAL;
        if (by_normals && expected[f] != ABUT_RELIABILITY_GUARANTEED) {
            assert_int_equal(ABUT_ERROR_ARGUMENT, abut_sign_prepare(bvh, &options));
            continue;
        }
        assert_ok(abut_sign_prepare(bvh, &options));
        assert_int_equal(by_normals ? ABUT_RELIABILITY_LIMITED : expected[f],
                         get_sign_info(bvh).reliability.level);
        assert_ok(abut_sign_inside_batch(bvh, points, 3, abut_array_host(inside)));
        assert_ok(abut_sign_nearest_batch(bvh, points, 3, HUGE_VAL, abut_array_host(nearest)));
        for (int i = 0; i < 3; i++) {
            assert_ok(abut_sign_nearest(bvh, list[i], HUGE_VAL, &one));
            assert_true(one.distance == nearest[i].distance);
            assert_int_equal(inside[i], nearest[i].distance < 0);
            if (expected[f] != ABUT_RELIABILITY_UNRELIABLE)
                assert_int_equal(i < 2, inside[i]);
        }
    }
}

/* Signs, fields, contacts, worlds. */
TEST(fields_pass_it_on) {
    AUTO(bvh) ball = small_ball();
    abut_field_options options = abut_field_options_default();
    AUTO(field) own = NULL;
    AUTO(samples) samples = NULL;
    abut_world_options on = abut_world_options_default();
    options.cells = 12;
    options.device = on.device = truth_device;
    assert_ok(abut_sign_prepare(ball, NULL));
    assert_ok(abut_field_create_from(ball, &options, &own));
    assert_ok(abut_samples_create(abut_bvh_mesh(ball), NULL, &samples));
    assert_null(get_sign_info(NULL).reliability.reason);
    for (int f = 0; f < FAULTS; f++) {
        AUTO(bvh) around = hierarchy_of(faulty((fault)f));
        AUTO(field) field = NULL, *again = NULL;
        static abut_contact room[4096];
        abut_contacts found = {.size = sizeof found, .list = room, .capacity = 4096};
        check_signs(around, (fault)f);
        assert_ok(abut_sign_prepare(around, NULL));
        assert_int_equal(expected[f], get_sign_info(around).reliability.level);
        assert_ok(abut_field_create_from(around, &options, &field));
        assert_int_equal(expected[f], get_field_info(field).reliability.level);
        const char *path = test_path("field.abutf");
        assert_ok(abut_field_write(field, path, NULL));
        assert_ok(abut_field_read(NULL, path, &again));
        assert_ptr_equal(get_field_info(field).reliability.reason,
                         get_field_info(again).reliability.reason);
        abut_collider a = abut_collider_from_field(own, samples, abut_pose_identity()),
                      b = abut_collider_from_field(again, NULL, abut_pose_identity());
        a.pose.translation.z = -0.85;
        assert_ok(abut_contact_find_sampled(&a, &b, NULL, &found));
        assert_int_equal(expected[f], found.reliability.level);
        abut_ray down = {{0, 0, 3}, {0, 0, -1}};
        abut_field_hit hit = {.parameter = 7};
        assert_ok(abut_contact_ray(&b, &down, 9, &hit));
        assert_int_equal(expected[f], hit.reliability.level);
        assert_ptr_equal(expected[f] ? get_field_info(field).reliability.reason
                                     : hit.reliability.reason,
                         hit.reliability.reason);
        down.direction.z = 1; /* a miss says so too */
        hit.reliability.level = (abut_reliability_level)9;
        assert_ok(abut_contact_ray(&b, &down, 9, &hit));
        assert_true(hit.parameter == HUGE_VAL && hit.reliability.level == expected[f]);
        assert_non_null(hit.reliability.reason);
        AUTO(world) world = NULL;
        abut_world_item item = {.size = sizeof(abut_world_item),
                                .collider.kind = ABUT_COLLIDER_BODY,
                                .collider.pose = a.pose};
        uint32_t id;
        item.collider.shape.body.field = own;
        item.collider.shape.body.samples = samples;
        assert_ok(abut_world_create(NULL, &on, &world));
        assert_ok(abut_world_add(world, &item, &id));
        item.collider.shape.body.field = again;
        item.collider.shape.body.samples = NULL;
        item.collider.pose.translation.z = 0;
        assert_ok(abut_world_add(world, &item, &id));
        found.capacity = 4096;
        assert_ok(abut_world_contacts(world, &found));
        assert_int_equal(expected[f], found.reliability.level);
    }
}

#endif
