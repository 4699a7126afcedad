/* Contacts of meshes with primitives: known positions, guarantees on random pairs, and invalid
 * input. */
#include "contact/solids.h"

static abut_patches find_mesh_patches(const abut_bvh *bvh, abut_pose at, const abut_collider *b,
                                      double margin) {
    abut_collider a = abut_collider_from_bvh(bvh, at);
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    options.margin = margin;
    assert_ok(abut_contact_find(&a, b, &options, &found));
    for (uint64_t i = 0; i < found.patches.count; i++) {
        assert_true(list[i].count >= 1 && list[i].first < found.contacts.count);
        assert_true(contacts[list[i].first].depth == list[i].depth);
        assert_true(i == 0 || list[i].depth <= list[i - 1].depth);
    }
    return found;
}

static abut_bvh *box_mesh(double x, double y, double z) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(x, y, z);
    shape.segments = 1;
    return tree_of(NULL, &shape);
}

TEST(meshes_on_planes) {
    abut_bvh *cube = box_mesh(1, 1, 1);
    abut_collider ground = floor_solid();
    abut_patches found = find_mesh_patches(cube, shifted(2, 3, .49), &ground, 0);
    assert_int_equal(found.patches.count, 1);
    assert_int_equal(found.contacts.count, 4);
    assert_true(found.is_verified);
    assert_close(list[0].depth, .01, 1e-15);
    assert_close(list[0].area, 1, 1e-12);
    assert_close(list[0].volume, .01, 1e-12);
    assert_close(spread(&found, 0), 1, 1e-14);
    assert_int_equal(contacts[0].kind, ABUT_CONTACT_VERTEX);
    assert_int_equal(find_mesh_patches(cube, shifted(0, 0, .6), &ground, 0).patches.count, 0);
    found = find_mesh_patches(cube, shifted(0, 0, .6), &ground, .2);
    assert_int_equal(found.contacts.count, 4);
    assert_close(list[0].depth, -.1, 1e-15);
    assert_close(list[0].volume, 0, 0);
    /* Flush, and wholly below: the lowest corners, whatever else there is. */
    abut_shape fine = abut_shape_default(ABUT_SHAPE_BOX);
    fine.extent = v3(1, 1, 1);
    fine.segments = 8;
    abut_bvh *cubes[2] = {cube, tree_of(NULL, &fine)};
    for (int i = 0; i < 2; i++) {
        found = find_mesh_patches(cubes[i], shifted(2, 3, .5), &ground, 0);
        assert_int_equal(found.contacts.count, 4);
        assert_true(list[0].depth == 0 && !signbit(list[0].depth) && !signbit(contacts[0].depth));
        assert_close(list[0].area, 1, 1e-12);
        assert_close(list[0].volume, 0, 0);
        for (int below = 0; below < 2; below++) {
            found = find_mesh_patches(cubes[i], shifted(2, 3, below ? -3 : .49), &ground, 0);
            assert_int_equal(found.contacts.count, 4);
            assert_close(spread(&found, 0), 1, 1e-14);
            assert_close(spread(&found, 1), 1, 1e-14);
            for (int k = 0; k < 4; k++)
                assert_close(contacts[k].depth, below ? 3.5 : .01, 1e-12);
        }
    }
    abut_bvh_destroy(cubes[1]);
    /* On an edge. */
    abut_pose tilted;
    assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), atan(1), v3(0, 0, sqrt(.5) - .1), &tilted));
    found = find_mesh_patches(cube, tilted, &ground, 0);
    assert_int_equal(found.contacts.count, 2);
    assert_close(list[0].depth, .1, 1e-14);
    assert_close(list[0].area, .2, 1e-12);
    assert_close(list[0].volume, .01, 1e-12);
    abut_bvh_destroy(cube);
    /* An E that stands on its long arms: a patch for each. */
    abut_shape letter = abut_shape_default(ABUT_SHAPE_LETTER_E);
    abut_bvh *e = tree_of(NULL, &letter);
    abut_box box = abut_mesh_bounds(abut_bvh_mesh(e));
    abut_pose standing;
    assert_ok(abut_pose_from_axis_angle(v3(0, 1, 0), acos(0), v3(0, 0, box.hi.x - .01), &standing));
    found = find_mesh_patches(e, standing, &ground, 0);
    assert_int_equal(found.patches.count, 2);
    assert_int_equal(found.contacts.count, 8);
    for (int i = 0; i < 2; i++) {
        assert_close(list[i].depth, .01, 1e-12);
        assert_close(list[i].volume, .01 * list[i].area, 1e-10);
    }
    /* Any pose: the deepest vertex, and the volume of a box as large. */
    test_random random = {3};
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    torus.segments = 24;
    torus.rings = 12;
    abut_bvh *ring = tree_of(NULL, &torus);
    for (uint32_t round = 0; round < test_rounds(400); round++) {
        const abut_bvh *bvh = round % 2 ? ring : e;
        const abut_mesh *mesh = abut_bvh_mesh(bvh);
        abut_pose at = random_pose(&random, 1);
        abut_collider plane = random_solid(&random, ABUT_COLLIDER_PLANE);
        double deepest = -INFINITY;
        mat3 turn = quat_matrix(plane.pose.rotation);
        vec3 up = m3_apply(&turn, v3_normalise(plane.shape.plane.normal));
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
            vec3 p = v3_add(abut_mesh_local_positions(mesh)[i], abut_mesh_local_origin(mesh));
            deepest = real_max(deepest, reach_of(&plane, up) - v3_dot(up, pose_apply(&at, p)));
        }
        found = find_mesh_patches(bvh, at, &plane, 0);
        assert_true(found.is_verified);
        assert_true((found.patches.count > 0) == (deepest > 0) || fabs(deepest) < 1e-12);
        double volume = 0;
        for (uint64_t i = 0; i < found.patches.count; i++)
            volume += list[i].volume;
        if (found.patches.count)
            assert_close(list[0].depth, deepest, 1e-12);
        assert_true(volume >= 0 && volume <= 10);
        for (uint64_t i = 0; i < found.patches.count; i++) /* what is cut is no deeper than that */
            assert_true(list[i].volume <= 4 * torus.radius * torus.radius * list[i].depth + 1e-9 ||
                        bvh == e);
    }
    abut_bvh_destroy(e);
    abut_bvh_destroy(ring);
}

/* A box as a mesh against round solids is as a box. */
/* A round body lies on its deepest ring, not on shallow vertices of a wider circle. */
TEST(round_meshes_lie_on_planes) {
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_bvh *ring = tree_of(NULL, &torus);
    abut_bvh *box = box_mesh(4, 4, 1);
    const abut_collider grounds[2] = {floor_solid(),
                                      abut_collider_from_bvh(box, shifted(0, 0, -.5))};
    const double bottom = abut_mesh_bounds(abut_bvh_mesh(ring)).lo.z;
    for (int i = 0; i < 40; i++) {
        const double angle = .3 * i, depth = 1e-3 * (i / 2 + 1);
        abut_pose at;
        assert_ok(abut_pose_from_axis_angle(v3(cos(angle), sin(angle), 0), 1e-4,
                                            v3(0, 0, -bottom - depth), &at));
        abut_patches found = find_mesh_patches(ring, at, &grounds[i % 2], 0);
        assert_int_equal(found.contacts.count, 4);
        for (int k = 0; k < 4; k++)
            assert_true(contacts[k].depth > .7 * depth);
        for (int d = 0; d < 16; d++) { /* all around the axis */
            double extent = 0;
            for (int k = 0; k < 4; k++)
                extent =
                    fmax(extent, v3_dot(contacts[k].point, v3(cos(.3927 * d), sin(.3927 * d), 0)));
            assert_true(extent > .1);
        }
    }
    abut_bvh_destroy(ring);
    abut_bvh_destroy(box);
}

TEST(meshes_and_round_solids) {
    test_random random = {9};
    abut_bvh *cube = box_mesh(1, 1.4, .8);
    uint32_t touching = 0, through = 0, unseparated = 0;
    for (uint32_t round = 0; round < test_rounds(4000); round++) {
        abut_pose at = random_pose(&random, .8);
        abut_collider box = box_solid(.5, .7, .4, at);
        abut_collider b =
            random_solid(&random, round % 2 ? ABUT_COLLIDER_SPHERE : ABUT_COLLIDER_CAPSULE);
        double margin = round % 3 ? 0 : .2;
        abut_patches exact = find_solid_patches(&box, &b, margin);
        abut_patch wanted = list[0];
        abut_patches found = find_mesh_patches(cube, at, &b, margin);
        abut_capsule axis = b.shape.capsule;
        abut_collider core = {.kind = b.kind, .pose = b.pose};
        core.shape.capsule = axis;
        if (b.kind == ABUT_COLLIDER_CAPSULE) {
            core.shape.capsule.radius = 0;
            abut_patch kept = list[0];
            uint64_t count = find_solid_patches(&box, &core, 0).patches.count;
            list[0] = kept;
            if (count) { /* the axis is in the box */
                through++;
                assert_true(found.patches.count > 0);
                unseparated += !found.is_verified;
                assert_true(list[0].depth >= wanted.depth - .004 * axis.radius ||
                            found.patches.count > 1 || !found.is_verified);
                continue;
            }
        }
        if (!exact.patches.count) {
            assert_int_equal(found.patches.count, 0);
            continue;
        }
        touching++;
        assert_true(found.patches.count >= 1);
        if (wanted.depth > 0)
            assert_true(found.is_verified);
        assert_close(list[0].depth, wanted.depth, 1e-10);
        if (fabs(wanted.depth) > 1e-6)
            assert_true(found.patches.count > 1 ||
                        v3_dot(list[0].normal, wanted.normal) > 1 - 1e-9 ||
                        b.kind == ABUT_COLLIDER_SPHERE);
    }
    assert_true(touching > 50 && through > 10 && unseparated <= 1 + through / 100);
    /* Lying on a face: both ends. */
    abut_collider capsule = capsule_solid(.3, shifted(0, 0, .65));
    capsule.shape.capsule.end[0].x = -.3;
    capsule.shape.capsule.end[1].x = .4;
    abut_patches found = find_mesh_patches(cube, shifted(0, 0, 0), &capsule, 0);
    assert_int_equal(found.patches.count, 1);
    assert_int_equal(found.contacts.count, 2);
    assert_close(list[0].depth, .05, 1e-14);
    assert_way(list[0].normal, v3(0, 0, -1), 1e-15);
    assert_close(spread(&found, 0), .7, 1e-14);
    abut_bvh_destroy(cube);
}

/* Between the arms of an E, and anywhere around a torus. */
TEST(walls_and_ways_out) {
    abut_shape letter = abut_shape_default(ABUT_SHAPE_LETTER_E);
    abut_bvh *e = tree_of(NULL, &letter);
    abut_nearest near;
    /* In the middle between two arms and the back, 0.1 from each. */
    abut_collider ball = ball_solid(.13, shifted(0, -.2, 0));
    abut_patches found = find_mesh_patches(e, shifted(0, 0, 0), &ball, 0);
    assert_int_equal(found.patches.count, 3);
    vec3 sum = v3(0, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_close(list[i].depth, .03, 1e-12);
        sum = v3_add(sum, list[i].normal);
    }
    assert_way(sum, v3(-1, 0, 0), 1e-12); /* both arms, and the back */
    assert_false(found.is_verified);      /* no shift leaves both arms */
    abut_bvh_destroy(e);

    test_random random = {21};
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_bvh *ring = tree_of(NULL, &torus);
    for (uint32_t round = 0; round < test_rounds(800); round++) {
        vec3 c = v3(test_random_real(&random, -1.5, 1.5), test_random_real(&random, -1.5, 1.5),
                    test_random_real(&random, -.6, .6));
        double radius = test_random_real(&random, .01, .4), inside;
        ball = ball_solid(radius, shifted(c.x, c.y, c.z));
        assert_ok(abut_nearest_point(ring, c, HUGE_VAL, &near));
        assert_ok(abut_shape_distance(&torus, c, &inside));
        if (fabs(inside) < .02)
            continue; /* between the shape and its triangles */
        found = find_mesh_patches(ring, shifted(0, 0, 0), &ball, 0);
        double depth = radius + (inside < 0 ? near.distance : -near.distance);
        assert_int_equal(found.patches.count > 0, depth > 0);
        if (!found.patches.count)
            continue;
        if (inside > 0 || found.is_verified)
            assert_true(list[0].depth >= depth - 1e-12);
        if (inside > 0) { /* depths may be larger where walls are hollow, if they are checked */
            abut_collider a = abut_collider_from_bvh(ring, shifted(0, 0, 0));
            abut_patch_options options = abut_patch_options_default();
            abut_patch kept = list[0];
            abut_patches plain = room();
            options.skip_verification = true;
            assert_true(list[0].depth <= 2 * depth + 1e-9);
            assert_ok(abut_contact_find(&a, &ball, &options, &plain));
            assert_close(list[0].depth, depth, 1e-12);
            assert_false(plain.is_verified);
            list[0] = kept;
        }
        if (found.is_verified &&
            found.patches.count == 1) { /* the mesh moves: the centre the other way */
            double left;
            vec3 out = v3_along(c, -list[0].depth * (1 + 1e-5), list[0].normal);
            assert_ok(abut_shape_distance(&torus, out, &left));
            assert_ok(abut_nearest_point(ring, out, HUGE_VAL, &near));
            assert_true(near.distance >= radius * (1 - 1e-5) && left > 0);
        }
    }
    abut_bvh_destroy(ring);
}

/* A ball on a ring touches many triangles: each contact is where its normal leads. */
TEST(points_along_normals) {
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    torus.radius = 1;
    torus.radius2 = .3;
    abut_bvh *ring = tree_of(NULL, &torus);
    for (int i = 0; i < 20; i++) {
        abut_collider ball = ball_solid(.85, shifted(.002 * i, .001 * i, .55));
        abut_patches found = find_mesh_patches(ring, shifted(0, 0, 0), &ball, 0);
        assert_true(found.patches.count > 1 && found.contacts.count == found.patches.count);
        for (uint64_t k = 0; k < found.patches.count; k++) {
            vec3 way = v3_sub(contacts[k].point, ball.pose.translation);
            assert_way(v3_normalise(way), contacts[k].normal, 1e-9);
        }
    }
    abut_bvh_destroy(ring);
}

/* Which way a mesh is pushed out of a solid, with a hint. */
static abut_patch ask_hinted(const abut_bvh *bvh, const abut_collider *b, vec3 hint) {
    abut_collider a = abut_collider_from_bvh(bvh, shifted(0, 0, 0));
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    options.hint = hint;
    assert_ok(abut_contact_find(&a, b, &options, &found));
    assert_int_equal(found.patches.count, 1);
    assert_true(found.is_verified);
    return list[0];
}

/* What has gone through a plate goes back the way it came. */
TEST(hints_with_meshes) {
    abut_bvh *plate = box_mesh(4, 4, .002), *slab = box_mesh(4, 4, .3);
    abut_collider all[] = {ball_solid(.5, shifted(.1, .1, -.1)),
                           capsule_solid(.5, shifted(.1, .1, -.1)),
                           box_solid(.5, .5, .5, shifted(.1, .1, -.1)),
                           cylinder_solid(.5, shifted(.1, .1, -.6))};
    all[3].shape.cylinder.end[0].z = 0; /* from -.6 to .4 */
    for (int i = 0; i < 4; i++)
        for (int side = -1; side <= 1; side++) {
            abut_patch patch = ask_hinted(plate, &all[i], v3(0, 0, 3 * side));
            assert_way(patch.normal, v3(0, 0, side < 0 ? -1 : 1), 1e-9);
            assert_close(patch.depth, side < 0 ? .601 : .401, i == 1 ? .0015 : 1e-6);
        }
    /* A hint that no overlap is against changes nothing. */
    abut_patch patch = ask_hinted(plate, &all[0], v3(1, 0, 0));
    assert_way(patch.normal, v3(0, 0, 1), 1e-12);
    /* In a slab, nearer to the bottom, which is all that the ball reaches; and in a deep cube,
     * where nothing is on the side of the hint for long. */
    abut_collider ball = ball_solid(.1, shifted(.1, .1, -.12));
    patch = ask_hinted(slab, &ball, v3(0, 0, 0));
    assert_way(patch.normal, v3(0, 0, 1), 1e-12);
    assert_close(patch.depth, .13, 1e-12);
    patch = ask_hinted(slab, &ball, v3(0, 0, -1));
    assert_way(patch.normal, v3(0, 0, -1), 1e-12);
    assert_close(patch.depth, .37, 1e-12);
    abut_bvh *block = box_mesh(4, 4, 4);
    ball.pose.translation.z = 1.95;
    patch = ask_hinted(block, &ball, v3(0, 0, 1));
    assert_way(patch.normal, v3(0, 0, -1), 1e-12);
    abut_bvh_destroy(plate);
    abut_bvh_destroy(slab);
    abut_bvh_destroy(block);
}

/* Boxes, cylinders and hulls are meshes: what separates is checked with solids. */
TEST(meshes_and_flat_solids) {
    make_hulls();
    test_random random = {13};
    abut_bvh *cube = box_mesh(1, 1.4, .8);
    uint32_t separate = 0, all = 0;
    for (uint32_t round = 0; round < test_rounds(480); round++) {
        abut_pose at = random_pose(&random, .8);
        abut_collider b = random_solid(&random, round % 3 == 0   ? ABUT_COLLIDER_BOX
                                                : round % 3 == 1 ? ABUT_COLLIDER_CYLINDER
                                                                 : ABUT_COLLIDER_HULL);
        abut_collider box = box_solid(.5, .7, .4, at);
        double depth = find_solid_patches(&box, &b, .002).patches.count
                           ? list[0].depth
                           : -1; /* a cylinder has sides */
        abut_patches found = find_mesh_patches(cube, at, &b, 0);
        if (!(fabs(depth) < .002))
            assert_int_equal(found.patches.count > 0, depth > 0);
        if (!found.patches.count || found.patches.count > 1)
            continue;
        all++;
        separate += found.is_verified;
        if (!found.is_verified) /* then the depth is that of a place */
            continue;
        assert_true(list[0].depth >= depth - .002);
        box.pose.translation = v3_along(at.translation, list[0].depth + .002, list[0].normal);
        assert_int_equal(find_solid_patches(&box, &b, 0).patches.count, 0);
    }
    assert_true(all > 10 && separate > all * 3 / 4);
    abut_bvh_destroy(cube);
}

/* A hundred-millionth and a hundred million in size, and far away. */
TEST(sizes_of_meshes) {
    for (int e = -8; e <= 8; e += 8) {
        double size = pow(10, e);
        abut_bvh *cube = box_mesh(size, size, size);
        for (int far = 0; far < 2; far++) {
            double z = far ? 1e6 * size : 0;
            abut_pose at = shifted(z, 0, z);
            abut_collider all[] = {floor_solid(), ball_solid(size, shifted(z, 0, z + 1.4 * size)),
                                   capsule_solid(size, shifted(z, 0, z + 1.4 * size)),
                                   box_solid(size, size, size, shifted(z, 0, z + 1.4 * size)),
                                   cylinder_solid(size, shifted(z, 0, z))};
            all[0].shape.plane.offset = 2 * (z - .4 * size);
            for (int k = 0; k < 2; k++) {
                all[2].shape.capsule.end[k].x *= .3 * size;
                all[4].shape.cylinder.end[k].z = (k ? 2.4 : .4) * size;
            }
            for (int i = 0; i < 5; i++) {
                abut_patches found = find_mesh_patches(cube, at, &all[i], 0);
                assert_int_equal(found.patches.count, 1);
                assert_close(list[0].depth / size, .1, far ? 1e-8 : 1e-12);
                assert_close(fabs(list[0].normal.z), 1, 1e-12);
                assert_true(found.is_verified);
                all[i].pose.translation.z += i ? size : -size;
                found = find_mesh_patches(cube, at, &all[i], 0);
                assert_true(found.patches.count == 0);
            }
        }
        abut_bvh_destroy(cube);
    }
}

static abut_status ask_all(abut_context *context, void *data) {
    static const abut_collider_kind kinds[] = {ABUT_COLLIDER_PLANE, ABUT_COLLIDER_SPHERE,
                                               ABUT_COLLIDER_CAPSULE, ABUT_COLLIDER_BOX,
                                               ABUT_COLLIDER_CYLINDER};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 2;
    shape.radius = .5;
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    abut_collider a = abut_collider_from_bvh(bvh, shifted(0, 0, .3));
    for (int i = 0; i < 5 && !status; i++) {
        abut_collider b = kinds[i] == ABUT_COLLIDER_PLANE     ? floor_solid()
                          : kinds[i] == ABUT_COLLIDER_SPHERE  ? ball_solid(.5, shifted(0, 0, 0))
                          : kinds[i] == ABUT_COLLIDER_CAPSULE ? capsule_solid(.3, shifted(0, 0, 0))
                          : kinds[i] == ABUT_COLLIDER_CYLINDER
                              ? cylinder_solid(.2, shifted(0, 0, 0))
                              : box_solid(1, 1, .1, shifted(0, 0, 0));
        abut_patches found = room();
        status = abut_contact_find(&a, &b, NULL, &found);
        assert_true(status || found.patches.count > 0);
    }
    abut_collider hull = {.kind = ABUT_COLLIDER_HULL, .shape.hull = bvh}, ground = floor_solid();
    abut_patches found = room();
    status = status ? status : abut_contact_find(&hull, &ground, NULL, &found);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(without_memory) {
    test_every_allocation(ask_all, NULL);
}

TEST(bad_input_with_meshes) {
    abut_bvh *cube = box_mesh(1, 1, 1);
    abut_collider a = abut_collider_from_bvh(cube, shifted(0, 0, .4));
    abut_collider ground = floor_solid(), bad = ball_solid(-1, shifted(0, 0, 0));
    abut_patches found = room();
    assert_refused("a", abut_contact_find(NULL, &ground, NULL, &found));
    assert_refused("b", abut_contact_find(&a, NULL, NULL, &found));
    assert_refused("patches", abut_contact_find(&a, &ground, NULL, NULL));
    assert_refused("radius of -1", abut_contact_find(&a, &bad, NULL, &found));
    bad = box_solid(1, 1, 0, shifted(0, 0, 0));
    assert_refused("without thickness", abut_contact_find(&a, &bad, NULL, &found));
    found = abut_patches_default();
    assert_fails(ABUT_ERROR_BUFFER, "4 contacts, but the capacity of patches->contacts is",
                 abut_contact_find(&a, &ground, NULL, &found));
    assert_int_equal(found.contacts.count, 4);
    a.shape.body.bvh = NULL;
    found = room();
    assert_refused("bvh", abut_contact_find(&a, &ground, NULL, &found));
    abut_bvh_destroy(cube);
}
