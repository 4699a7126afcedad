/* Contacts of primitives: known positions, guarantees on random pairs against independent
 * support functions, and invalid input. */
#include "contact/solids.h"

/* ---- known positions ---- */

TEST(names) {
    assert_string_equal(abut_collider_kind_name(ABUT_COLLIDER_PLANE), "plane");
    assert_string_equal(abut_collider_kind_name(ABUT_COLLIDER_HULL), "hull");
    assert_null(abut_collider_kind_name((abut_collider_kind)17));
}

TEST(on_a_plane) {
    abut_collider ground = floor_solid(), box = box_solid(.5, 1, 2, shifted(3, 4, 1.99));
    abut_patches found = find_solid_patches(&box, &ground, 0);
    assert_int_equal(found.contacts.count, 4);
    assert_way(list[0].normal, v3(0, 0, 1), 0);
    assert_close(list[0].depth, .01, 1e-15);
    assert_close(list[0].area, 2, 1e-12);
    assert_close(spread(&found, 0), 1, 1e-15);
    assert_close(spread(&found, 1), 2, 1e-15);
    for (int i = 0; i < 4; i++) {
        assert_close(contacts[i].depth, .01, 1e-15);
        assert_close(contacts[i].point.z, -.005, 1e-15);
        assert_int_equal(contacts[i].kind, ABUT_CONTACT_SOLID);
        assert_int_equal(contacts[i].side, 0);
    }
    found = find_solid_patches(&ground, &box, 0);
    assert_way(list[0].normal, v3(0, 0, -1), 0);
    assert_int_equal(contacts[0].side, 1);
    /* Apart, and within the margin. */
    box.pose.translation.z = 2.5;
    assert_int_equal(find_solid_patches(&box, &ground, 0).patches.count, 0);
    assert_int_equal(find_solid_patches(&box, &ground, .4).patches.count, 0);
    found = find_solid_patches(&box, &ground, .6);
    assert_close(list[0].depth, -.5, 1e-15);
    assert_close(contacts[0].point.z, .25, 1e-15);
    abut_collider ball = ball_solid(1, shifted(0, 0, .75));
    found = find_solid_patches(&ball, &ground, 0);
    assert_int_equal(found.contacts.count, 1);
    assert_close(list[0].depth, .25, 1e-15);
    abut_collider capsule = capsule_solid(.5, shifted(0, 0, .4));
    found = find_solid_patches(&capsule, &ground, 0);
    assert_int_equal(found.contacts.count, 2);
    assert_close(spread(&found, 0), 2, 1e-15);
    abut_collider cylinder = cylinder_solid(.5, shifted(0, 0, .9));
    found = find_solid_patches(&cylinder, &ground, 0);
    assert_int_equal(found.contacts.count, 4);
    assert_close(list[0].depth, .1, 1e-15);
    assert_close(spread(&found, 0), 1, 1e-15);
    assert_close(spread(&found, 1), 1, 1e-15);
    /* Lying, and tilted a little: the deepest place of the rim comes first. */
    assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), acos(0), v3(0, 0, .4), &cylinder.pose));
    found = find_solid_patches(&cylinder, &ground, 0);
    assert_int_equal(found.contacts.count, 2);
    assert_close(spread(&found, 1), 2, 1e-15);
    assert_ok(abut_pose_from_axis_angle(v3(1, .3, 0), 1e-3, v3(0, 0, .9), &cylinder.pose));
    found = find_solid_patches(&cylinder, &ground, 0);
    assert_int_equal(found.contacts.count, 4);
    double tilt = 1e-3, wanted = cos(tilt) + .5 * sin(tilt) - .9;
    assert_close(list[0].depth, wanted, 1e-14);
    assert_close(contacts[0].depth, wanted, 1e-14);
    assert_close(contacts[0].point.z, -wanted / 2, 1e-14);
    assert_int_equal(find_solid_patches(&ground, &ground, 5).patches.count, 0);
}

TEST(on_each_other) {
    abut_collider below = box_solid(1, 1, 1, shifted(0, 0, 0)), box = below;
    /* Flush, deeper, with a gap, aside. */
    box.pose.translation = v3(0, 0, 2);
    abut_patches found = find_solid_patches(&box, &below, 0);
    assert_int_equal(found.contacts.count, 4);
    assert_close(list[0].depth, 0, 1e-15);
    assert_close(list[0].area, 4, 1e-12);
    assert_way(list[0].normal, v3(0, 0, 1), 0);
    box.pose.translation = v3(.5, .25, 1.9);
    found = find_solid_patches(&box, &below, 0);
    assert_int_equal(found.contacts.count, 4);
    assert_close(list[0].depth, .1, 1e-15);
    assert_close(list[0].area, 1.5 * 1.75, 1e-12);
    assert_close(spread(&found, 0), 1.5, 1e-14);
    assert_close(spread(&found, 1), 1.75, 1e-14);
    box.pose.translation.z = 2.25;
    found = find_solid_patches(&box, &below, .5);
    assert_int_equal(found.contacts.count, 4);
    assert_close(list[0].depth, -.25, 1e-15);
    assert_close(contacts[0].point.z, 1.125, 1e-15);
    /* Corner to corner. */
    box.pose.translation = v3(2.1, 2.1, 2.1);
    found = find_solid_patches(&box, &below, .5);
    assert_close(list[0].depth, -.1 * sqrt(3), 1e-14);
    assert_way(list[0].normal, v3(sqrt(1. / 3), sqrt(1. / 3), sqrt(1. / 3)), 1e-13);
    assert_way(contacts[0].point, v3(1.05, 1.05, 1.05), 1e-14);
    /* Edge on edge: turned by 45 degrees about x above, about y below. */
    assert_ok(
        abut_pose_from_axis_angle(v3(1, 0, 0), atan(1), v3(.1, .2, 2 * sqrt(2) - .1), &box.pose));
    assert_ok(abut_pose_from_axis_angle(v3(0, 1, 0), atan(1), v3(0, 0, 0), &below.pose));
    found = find_solid_patches(&box, &below, 0);
    assert_int_equal(found.contacts.count, 1);
    assert_close(list[0].depth, .1, 1e-14);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-15);
    assert_way(contacts[0].point, v3(0, .2, sqrt(2) - .05), 1e-14);
    assert_int_equal(contacts[0].kind, ABUT_CONTACT_CROSSING);
    /* A capsule and a cylinder that lie on a box; a cylinder that stands there, half aside. */
    below = box_solid(2, 2, 1, shifted(0, 0, 0));
    abut_collider capsule = capsule_solid(.5, shifted(.5, 0, 1.45));
    found = find_solid_patches(&capsule, &below, 0);
    assert_int_equal(found.contacts.count, 2);
    assert_close(list[0].depth, .05, 1e-15);
    assert_close(spread(&found, 0), 2, 1e-14);
    capsule.pose.translation.x = 1.5;
    found = find_solid_patches(&capsule, &below, 0);
    assert_int_equal(found.contacts.count, 2);
    assert_close(spread(&found, 0), 1.5, 1e-14);
    abut_collider cylinder = cylinder_solid(.5, shifted(0, 0, 1.95));
    found = find_solid_patches(&cylinder, &below, 0);
    assert_int_equal(found.contacts.count, 4);
    assert_close(list[0].depth, .05, 1e-14);
    cylinder.pose.translation.x = 2;
    found = find_solid_patches(&cylinder, &below, 0);
    assert_int_equal(found.contacts.count, 4);
    assert_close(spread(&found, 0), .5, 1e-14);
    assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), acos(0), v3(0, 0, 1.45), &cylinder.pose));
    found = find_solid_patches(&cylinder, &below, 0);
    assert_int_equal(found.contacts.count, 2);
    assert_close(list[0].depth, .05, 1e-14);
    assert_close(spread(&found, 1), 2, 1e-14);
    /* Cylinders on each other: discs of 0.5, 0.3 aside, share 0.49; what octagons share is less. */
    abut_collider lower = cylinder_solid(.5, shifted(0, 0, 0)), upper = lower;
    for (int up = -1; up < 2; up += 2) {
        upper.pose.translation = v3(.3, 0, 1.99 * up);
        for (int turned = 0; turned < 2; turned++) {
            found = turned ? find_solid_patches(&lower, &upper, 0)
                           : find_solid_patches(&upper, &lower, 0);
            assert_int_equal(found.contacts.count, 4);
            assert_close(list[0].depth, .01, 1e-14);
            assert_way(list[0].normal, v3(0, 0, turned ? -up : up), 1e-15);
            assert_true(list[0].area > .4 && list[0].area < .5);
        }
    }
    /* Capsules side by side, and crossed. */
    abut_collider other = capsule_solid(.5, shifted(.5, .9, 1.45));
    capsule.pose.translation.x = 0;
    found = find_solid_patches(&capsule, &other, 0);
    assert_int_equal(found.contacts.count, 2);
    assert_close(list[0].depth, .1, 1e-15);
    assert_close(spread(&found, 0), 1.5, 1e-14);
    assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), acos(0), v3(.2, .1, 2.25), &other.pose));
    found = find_solid_patches(&other, &capsule, 0);
    assert_int_equal(found.contacts.count, 1);
    assert_close(list[0].depth, .2, 1e-15);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-15);
    assert_way(contacts[0].point, v3(.2, 0, 1.85), 1e-15);
}

/* What stands on a flat end, turned and aside as it may be, has three contacts or four. */
TEST(standing) {
    make_hulls();
    test_random random = {17};
    for (uint32_t round = 0; round < test_rounds(800); round++) {
        abut_collider on[2];
        double half[2];
        for (int k = 0; k < 2; k++) {
            uint32_t kind = test_random_below(&random, 3);
            double angle = test_random_real(&random, -4, 4);
            abut_pose turned = {{0, 0, sin(angle), cos(angle)}, {0, 0, 0}};
            if (test_random_below(&random, 3) == 0) /* upside down */
                turned.rotation = (abut_quat){cos(angle), sin(angle), 0, 0};
            half[k] = kind == 0 ? .4 : kind == 1 ? 1 : .6;
            on[k] = kind == 0   ? box_solid(.5, .7, .4, turned)
                    : kind == 1 ? cylinder_solid(.6, turned)
                                : (abut_collider){.kind = ABUT_COLLIDER_HULL,
                                                  .pose = turned,
                                                  .shape.hull = hulls[2]};
        }
        on[0].pose.translation = v3(test_random_real(&random, -.3, .3),
                                    test_random_real(&random, -.3, .3), half[0] + half[1] - .01);
        abut_patches found = find_solid_patches(&on[0], &on[1], 0);
        assert_true(found.contacts.count >= 3);
        assert_close(list[0].depth, .01, 1e-12);
        assert_way(list[0].normal, v3(0, 0, 1), 1e-12);
        assert_true(list[0].area > .2);
        for (uint64_t i = 0; i < found.contacts.count; i++) {
            assert_close(contacts[i].depth, .01, 1e-12);
            assert_close(contacts[i].point.z, half[1] - .005, 1e-12);
        }
    }
}

/* Everything in one place: something separates them, always the same. */
TEST(concentric) {
    make_hulls();
    abut_collider all[] = {ball_solid(1, shifted(1, 2, 3)),
                           capsule_solid(.5, shifted(1, 2, 3)),
                           box_solid(1, 2, 3, shifted(1, 2, 3)),
                           cylinder_solid(.7, shifted(1, 2, 3)),
                           {.kind = ABUT_COLLIDER_HULL,
                            .pose = shifted(1, 2, 3),
                            .shape.hull = hulls[0]}};
    const double wanted[] = {2, 1.5, 2, 1.7, 1.5};
    for (int i = 0; i < 5; i++) {
        abut_patches found = find_solid_patches(&all[i], &all[0], 0);
        assert_int_equal(found.patches.count, 1);
        if (i < 4)
            assert_close(list[0].depth, wanted[i], 1e-9);
        found = find_solid_patches(&all[i], &all[i], 0);
        assert_int_equal(found.patches.count, 1);
        assert_true(found.contacts.count >= 1 && list[0].depth > 0);
    }
}

/* A hint chooses the side. */
TEST(hints) {
    abut_collider plate = box_solid(1, 1, .01, shifted(0, 0, 0));
    abut_collider ball = ball_solid(.1, shifted(.1, .1, .005));
    abut_patch_options options = abut_patch_options_default();
    for (int below = 0; below < 2; below++) {
        ball.pose.translation.z = below ? -.05 : .005;
        options.hint = v3(0, 0, 0);
        abut_patches found = room();
        assert_ok(abut_contact_find(&ball, &plate, &options, &found));
        assert_way(list[0].normal, v3(0, 0, below ? -1 : 1), 0);
        options.hint = v3(0, 0, below ? 3 : -3);
        assert_ok(abut_contact_find(&ball, &plate, &options, &found));
        assert_way(list[0].normal, v3(0, 0, below ? 1 : -1), 0);
        assert_close(list[0].depth, below ? .16 : .115, 1e-15);
        options.hint = v3_scale(options.hint, -1);
        assert_ok(abut_contact_find(&plate, &ball, &options, &found));
        assert_way(list[0].normal, v3(0, 0, below ? -1 : 1), 0);
    }
}

/* ---- random pairs ---- */

/* By how much a must go along n. */
static double shift_along(const abut_collider *a, const abut_collider *b, vec3 n) {
    return reach_of(b, n) + reach_of(a, v3_scale(n, -1));
}

/* The least of many directions, and around the best of them. */
static double least_shift(test_random *random, const abut_collider *a, const abut_collider *b,
                          vec3 near) {
    double least = shift_along(a, b, near);
    vec3 best = near;
    for (int i = 0; i < 60; i++) {
        vec3 n = v3_normalise(v3(test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                                 test_random_real(random, -1, 1)));
        if (v3_length_sq(n) > 0 && shift_along(a, b, n) < least) {
            best = n;
            least = shift_along(a, b, n);
        }
    }
    for (double step = .2; step > 1e-8; step *= .8)
        for (int i = 0; i < 4; i++) {
            vec3 n = v3_normalise(
                v3_along(best, step,
                         v3(test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                            test_random_real(random, -1, 1))));
            double here = shift_along(a, b, n);
            if (here < least) {
                least = here;
                best = n;
            }
        }
    return least;
}

static void check_pair(test_random *random, const abut_collider *a, const abut_collider *b,
                       double margin) {
    abut_patches found = find_solid_patches(a, b, margin);
    bool round = a->kind == ABUT_COLLIDER_CYLINDER || b->kind == ABUT_COLLIDER_CYLINDER;
    double tolerance = round ? 3e-6 : 1e-10;
    double off = !round ? 1e-9 : a->kind == b->kind ? 1e-3 : 1e-5; /* of places */
    abut_contact kept[8];
    abut_patch patch = list[0];
    if (!found.patches.count) {
        vec3 n = v3_normalise(v3_sub(a->pose.translation, b->pose.translation));
        if (b->kind == ABUT_COLLIDER_PLANE || a->kind == ABUT_COLLIDER_PLANE)
            return;
        if (v3_length_sq(n) == 0)
            n.z = 1;
        /* Something separates them by more than the margin. */
        for (int i = 0; i < 20 && least_shift(random, a, b, n) > -margin + 1e-3; i++)
            assert_true(i < 19);
        return;
    }
    double told, least;
    if (a->kind == ABUT_COLLIDER_PLANE || b->kind == ABUT_COLLIDER_PLANE) { /* one normal for all */
        const abut_collider *plane = a->kind == ABUT_COLLIDER_PLANE ? a : b,
                            *other = plane == a ? b : a;
        mat3 turn = quat_matrix(plane->pose.rotation);
        vec3 up = m3_apply(&turn, v3_normalise(plane->shape.plane.normal));
        assert_way(v3_scale(patch.normal, plane == a ? -1 : 1), up, 1e-14);
        least = told = shift_along(other, plane, up);
    } else {
        told = shift_along(a, b, patch.normal);
        least = least_shift(random, a, b, patch.normal);
    }
    assert_close(v3_length(patch.normal), 1, 1e-14);
    if (!(fabs(told - patch.depth) <= 1e-10))
        fail_msg("%s %s: depth %.17g, but along its normal %.17g", abut_collider_kind_name(a->kind),
                 abut_collider_kind_name(b->kind), patch.depth, told);
    if (!(patch.depth <= least + tolerance))
        fail_msg("%s %s: depth %.17g, but %.17g is enough", abut_collider_kind_name(a->kind),
                 abut_collider_kind_name(b->kind), patch.depth, least);
    assert_true(patch.depth >= -margin - 1e-12);
    assert_true(found.contacts.count >= 1 && found.contacts.count <= 4);
    assert_true(contacts[0].depth == patch.depth);
    for (uint64_t i = 0; i < found.contacts.count; i++) {
        kept[i] = contacts[i];
        assert_true(contacts[i].depth <= patch.depth && contacts[i].depth >= -margin - 1e-12);
        for (uint64_t k = 0; k < i; k++)
            assert_true(contacts[k].id != contacts[i].id);
        /* Half the depth to both sides are places of both. */
        for (int side = 0; side < 2; side++)
            for (int d = 0; d < 6; d++) {
                vec3 n = v3(d / 2 == 0 ? 1 : 0, d / 2 == 1 ? 1 : 0, d / 2 == 2 ? 1 : 0);
                n = v3_scale(n, d % 2 ? -1 : 1);
                vec3 at = v3_along(contacts[i].point, (side ? .5 : -.5) * contacts[i].depth,
                                   patch.normal);
                double out = v3_dot(at, n) - reach_of(side ? b : a, n);
                if (!(out <= (i ? .02 : off)))
                    fail_msg("%s %s: contact %d of %d, depth %g of %g, is %g out of side %d",
                             abut_collider_kind_name(a->kind), abut_collider_kind_name(b->kind),
                             (int)i, (int)found.contacts.count, contacts[i].depth, patch.depth, out,
                             side);
            }
    }
    /* A hint selects among contact normals, not whether solids touch. */
    abut_patch_options options = abut_patch_options_default();
    abut_patches other = room();
    options.margin = margin;
    options.hint = v3(test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                      test_random_real(random, -1, 1));
    assert_ok(abut_contact_find(a, b, &options, &other));
    assert_int_equal(other.patches.count, 1);
    assert_true(list[0].depth >= patch.depth - tolerance);
    if (a->kind != ABUT_COLLIDER_PLANE && b->kind != ABUT_COLLIDER_PLANE) {
        assert_close(shift_along(a, b, list[0].normal), list[0].depth, 1e-10);
        assert_true(v3_dot(list[0].normal, options.hint) >= -1e-12 || !(patch.depth > 1e-9));
    }
    /* The same the other way round, unless that is the same question. */
    if (!memcmp(a, b, sizeof *a))
        return;
    abut_patches back = find_solid_patches(b, a, margin);
    assert_true(back.patches.count == 1 && back.contacts.count == found.contacts.count);
    assert_true(list[0].depth == patch.depth && list[0].area == patch.area);
    assert_way(list[0].normal, v3_scale(patch.normal, -1), 0);
    for (uint64_t i = 0; i < found.contacts.count; i++) {
        assert_way(contacts[i].point, kept[i].point, 0);
        assert_true(contacts[i].depth == kept[i].depth && contacts[i].side != kept[i].side);
    }
}

TEST(random_pairs) {
    make_hulls();
    test_random random = {7};
    for (int first = ABUT_COLLIDER_SPHERE; first <= ABUT_COLLIDER_HULL; first++)
        for (int second = ABUT_COLLIDER_PLANE; second <= first; second++)
            for (uint32_t i = 0; i < test_rounds(test_brief() ? 400 : 1600); i++) {
                abut_collider a = random_solid(&random, (abut_collider_kind)first);
                abut_collider b = random_solid(&random, (abut_collider_kind)second);
                check_pair(&random, &a, &b, i % 3 == 0 ? .3 : 0);
            }
}

/* Corners keep their ids while what rests trembles, and points move as little. */
TEST(ids_stay) {
    test_random random = {5};
    abut_collider below = box_solid(2, 2, 1, shifted(0, 0, 0));
    abut_collider box = box_solid(.5, .4, .3, shifted(0, 0, 1.299));
    abut_collider resting[] = {box, capsule_solid(.3, box.pose), cylinder_solid(.4, box.pose)};
    resting[2].shape.cylinder.end[0].z = -.3;
    resting[2].shape.cylinder.end[1].z = .3;
    for (int kind = 0; kind < 3; kind++) {
        uint64_t ids[4], count = 0;
        for (uint32_t round = 0; round < 50; round++) {
            abut_collider moved = resting[kind];
            abut_pose a_little = random_pose(&random, 1e-7);
            double *q = &a_little.rotation.x;
            for (int k = 0; k < 3; k++)
                moved.pose.rotation.x = q[k] *= 1e-7;
            moved.pose.rotation = (abut_quat){q[0], q[1], q[2], 1};
            moved.pose.translation = v3_add(moved.pose.translation, a_little.translation);
            abut_patches found = find_solid_patches(&moved, &below, 1e-4);
            assert_int_equal(found.contacts.count, kind == 1 ? 2 : 4);
            assert_close(list[0].depth, .001, 1e-6);
            if (kind == 2)
                continue; /* which of its rim is deepest is anyone's guess */
            for (uint64_t i = 0; i < found.contacts.count; i++) {
                bool known = round == 0;
                for (uint64_t k = 0; k < count; k++)
                    known |= ids[k] == contacts[i].id;
                assert_true(known);
                if (round == 0)
                    ids[count++] = contacts[i].id;
            }
        }
    }
}

/* A hull may face inwards, be a soup, and move. */
TEST(hulls_as_they_come) {
    double corners[8][3], soup[36][3], moved[36][3];
    static const uint32_t quads[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4},
                                         {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 3; k++)
            corners[i][k] = (i >> k & 1 ? .5 : -.5) + 100;
    for (int inward = 0; inward < 2; inward++) {
        uint32_t count = 0;
        for (int f = 0; f < 6; f++)
            for (int t = 0; t < 2; t++)
                for (int k = 0; k < 3; k++) {
                    int at = k == 0 ? 0 : inward ? t + 3 - k : t + k;
                    memcpy(soup[count++], corners[quads[f][at]], sizeof soup[0]);
                }
        abut_mesh *mesh = test_mesh(NULL, soup, 36, NULL, 12), *next;
        abut_bvh *bvh;
        assert_ok(abut_bvh_create(mesh, NULL, &bvh));
        abut_collider hull = {.kind = ABUT_COLLIDER_HULL,
                              .pose = shifted(-100, -100, -99.51),
                              .shape.hull = bvh};
        abut_collider ground = floor_solid();
        abut_patches found = find_solid_patches(&hull, &ground, 0);
        assert_int_equal(found.contacts.count, 4);
        assert_close(list[0].depth, .01, 1e-12);
        /* Twice as high: 0.25 deeper to both sides. */
        memcpy(moved, soup, sizeof moved);
        for (int i = 0; i < 36; i++)
            moved[i][2] += .5 * (moved[i][2] - 100);
        next = test_mesh(NULL, moved, 36, NULL, 12);
        assert_ok(abut_bvh_set_mesh(bvh, next));
        found = find_solid_patches(&hull, &ground, 0);
        assert_close(list[0].depth, .26, 1e-12);
        abut_mesh_destroy(next);
        /* One corner of one triangle leaves: open. */
        moved[0][0] -= 1;
        next = test_mesh(NULL, moved, 36, NULL, 12);
        assert_ok(abut_bvh_set_mesh(bvh, next));
        found = room();
        assert_refused("not a convex hull", abut_contact_find(&hull, &ground, NULL, &found));
        abut_mesh_destroy(next);
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
    }
}

static abut_bvh *hull_tree(const vec3 *points, uint32_t count) {
    abut_mesh *mesh;
    assert_ok(abut_mesh_create_hull(NULL, points, count, &mesh));
    return tree_of_mesh(mesh);
}

static vec3 random_point(test_random *random) {
    return v3(test_random_real(random, -1, 1), test_random_real(random, -1, 1),
              test_random_real(random, -1, 1));
}

/* Points on the faces of turned cubes, rounded to floats: as good as the cube. */
TEST(rounded_hulls) {
    test_random random = {17};
    vec3 points[200];
    for (uint32_t round = 0; round < test_rounds(100); round++) {
        abut_pose at = random_pose(&random, 0);
        for (int i = 0; i < 200; i++) {
            vec3 p =
                i < 8 ? v3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1) : random_point(&random);
            double *side = i % 3 == 0 ? &p.x : i % 3 == 1 ? &p.y : &p.z;
            *side = *side > 0 ? 1 : -1;
            p = pose_apply(&at, p);
            points[i] = v3((float)p.x, (float)p.y, (float)p.z);
        }
        abut_collider hull = {.kind = ABUT_COLLIDER_HULL,
                              .pose = shifted(0, 0, 0),
                              .shape.hull = hull_tree(points, 200)};
        vec3 up = v3_sub(pose_apply(&at, v3(0, 0, 1)), at.translation);
        abut_collider cube = box_solid(1, 1, 1, at), below = box_solid(3, 3, 1, at);
        abut_collider ball = ball_solid(.5, random_pose(&random, 1));
        below.pose.translation = v3_along(at.translation, -1.99, up);
        find_solid_patches(&cube, &ball, 2);
        double wanted = list[0].depth;
        find_solid_patches(&hull, &ball, 2);
        assert_close(list[0].depth, wanted, 1e-6);
        abut_patches found = find_solid_patches(&hull, &below, 0);
        assert_close(list[0].depth, .01, 1e-6);
        assert_way(list[0].normal, up, 1e-5);
        assert_in_range(found.contacts.count, 3, 4);
        /* Rounding tilts thin triangles, and then less of the face counts: down to a fifth of it,
         * and to three contacts, in one of 600 rounds. */
        assert_true(list[0].area > 0.1 && list[0].area < 4.01);
        abut_bvh_destroy((abut_bvh *)(uintptr_t)hull.shape.hull);
    }
}

/* Slabs, discs and rods, down to little more than rounding errors, through a cube. */
TEST(thin_hulls) {
    test_random random = {23};
    abut_collider cube = box_solid(.5, .5, .5, shifted(0, 0, 0)), ground = floor_solid();
    vec3 points[100];
    for (double thin = 1e-3; thin > 1e-14; thin *= .1)
        for (int kind = 0; kind < 4; kind++) {
            uint32_t count = kind == 0 ? 8 : kind == 1 ? 5 : 100;
            for (uint32_t i = 0; i < count; i++) {
                vec3 p = random_point(&random);
                if (kind < 2) /* a slab, a roof */
                    p = i == 4 && kind == 1 ? v3(0, 0, 1)
                                            : v3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1);
                points[i] = v3(p.x, kind == 3 ? thin * p.y : p.y, thin * p.z);
            }
            abut_collider hull = {.kind = ABUT_COLLIDER_HULL,
                                  .pose = shifted(.1, .2, .3),
                                  .shape.hull = hull_tree(points, count)};
            abut_patches found = find_solid_patches(&hull, &cube, 0);
            assert_int_equal(found.patches.count, 1);
            assert_close(list[0].depth, .2, 1.1 * thin + 1e-6);
            assert_way(list[0].normal, v3(0, 0, 1), 1e-3);
            found = find_solid_patches(&cube, &hull, 0);
            assert_close(list[0].depth, .2, 1.1 * thin + 1e-6);
            hull.pose.translation.z = -.1;
            found = find_solid_patches(&hull, &ground, 0);
            assert_close(list[0].depth, .1, 1.1 * thin + 1e-6);
            hull.pose.translation.z = .6;
            assert_int_equal(find_solid_patches(&hull, &cube, 0).patches.count, 0);
            assert_int_equal(find_solid_patches(&hull, &cube, .11).patches.count, 1);
            abut_bvh_destroy((abut_bvh *)(uintptr_t)hull.shape.hull);
        }
}

/* ---- bad input ---- */

TEST(bad_input) {
    make_hulls();
    abut_collider ball = ball_solid(1, shifted(0, 0, .5)), ground = floor_solid(), bad = ball;
    abut_patches found = room();
    assert_refused("a", abut_contact_find(NULL, &ball, NULL, &found));
    assert_refused("b", abut_contact_find(&ball, NULL, NULL, &found));
    assert_refused("patches", abut_contact_find(&ball, &ball, NULL, NULL));
    bad.shape.sphere.radius = -1;
    assert_refused("a is a sphere with a radius of -1",
                   abut_contact_find(&bad, &ball, NULL, &found));
    bad.shape.sphere.radius = NAN;
    assert_refused("nan", abut_contact_find(&bad, &ball, NULL, &found));
    bad = ball;
    bad.pose.translation.x = INFINITY;
    assert_refused("b", abut_contact_find(&ball, &bad, NULL, &found));
    bad = box_solid(1, -2, 3, shifted(0, 0, 0));
    assert_refused("a half size of -2", abut_contact_find(&bad, &ball, NULL, &found));
    bad = ground;
    bad.shape.plane.normal.z = 0;
    assert_refused("normal of 0", abut_contact_find(&bad, &ball, NULL, &found));
    bad = cylinder_solid(1, shifted(0, 0, 0));
    bad.shape.cylinder.end[0] = bad.shape.cylinder.end[1];
    assert_refused("both ends in one place", abut_contact_find(&bad, &ball, NULL, &found));
    bad.kind = (abut_collider_kind)9;
    assert_refused("a->kind is 9", abut_contact_find(&bad, &ball, NULL, &found));
    abut_patch_options options = abut_patch_options_default();
    options.margin = -1;
    assert_refused("margin", abut_contact_find(&ball, &ball, &options, &found));
    options.margin = 0;
    options.max_contacts = 9;
    assert_refused("max_contacts", abut_contact_find(&ball, &ball, &options, &found));
    /* No room. */
    found = abut_patches_default();
    assert_fails(ABUT_ERROR_BUFFER, "1 contacts, but the capacity of patches->contacts is",
                 abut_contact_find(&ball, &ground, NULL, &found));
    assert_int_equal(found.patches.count, 1);
    assert_int_equal(found.contacts.count, 1);
    /* Hulls that are none. */
    bad = (abut_collider){.kind = ABUT_COLLIDER_HULL};
    found = room();
    assert_refused("bvh", abut_contact_find(&bad, &ball, NULL, &found));
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS),
               open = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_bvh *bent = tree_of(NULL, &torus), *flat = tree_of(NULL, &open);
    bad.shape.hull = bent;
    assert_refused("not convex", abut_contact_find(&bad, &ball, NULL, &found));
    bad.shape.hull = flat;
    assert_refused("not closed", abut_contact_find(&ball, &bad, NULL, &found));
    abut_bvh_destroy(bent);
    abut_bvh_destroy(flat);
}

/* Sizes and places far from 1. */
TEST(sizes) {
    for (int e = -60; e <= 60; e += 30) {
        double size = pow(10, e);
        abut_collider below = box_solid(size, size, size, shifted(0, 0, 0));
        abut_collider box = below;
        box.pose.translation = v3(.5 * size, 0, 1.5 * size);
        abut_patches found = find_solid_patches(&box, &below, 0);
        assert_int_equal(found.contacts.count, 4);
        assert_close(list[0].depth / size, .5, 1e-12);
    }
    abut_collider ball = ball_solid(1, shifted(1e8, 1e8, 1e8 + 1.5)),
                  other = ball_solid(1, shifted(1e8, 1e8, 1e8));
    find_solid_patches(&ball, &other, 0);
    assert_close(list[0].depth, .5, 1e-8);
    /* Without thickness. */
    abut_collider plate = box_solid(1, 1, 0, shifted(0, 0, 0)),
                  point = ball_solid(0, shifted(.1, .2, 0));
    abut_patches found = find_solid_patches(&point, &plate, 0);
    assert_int_equal(found.patches.count, 1);
    assert_close(list[0].depth, 0, 1e-15);
    plate.pose.translation.z = 1;
    assert_int_equal(find_solid_patches(&plate, &point, 0).patches.count, 0);
}
