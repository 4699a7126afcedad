/* Contacts of solids: known positions, promises on random pairs against supports that are written
 * anew here, and bad input. */
#include "support/pose.h"

#include <math.h>

enum { ROOM = 256 };
static abut_patch list[ROOM];
static abut_contact contacts[ROOM];

static abut_patches room(void) {
    return (abut_patches){.list = list,
                          .capacity = ROOM,
                          .contacts = contacts,
                          .contact_capacity = ROOM};
}

static void assert_close(double value, double wanted, double tolerance) {
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.17g is not %.17g within %g", value, wanted, tolerance);
}

static void assert_way(abut_vec3 way, abut_vec3 wanted, double tolerance) {
    if (!(v3_length(v3_sub(way, wanted)) <= tolerance))
        fail_msg("(%g, %g, %g) is not (%g, %g, %g)", way.x, way.y, way.z, wanted.x, wanted.y,
                 wanted.z);
}

static abut_pose shifted(double x, double y, double z) {
    return (abut_pose){{0, 0, 0, 1}, {x, y, z}};
}

/* ---- solids ---- */

static abut_bvh
    *hulls[4]; /* octahedron, a ball, a prism of 12 sides, a cube of 3 x 3 quads a side */

static abut_bvh *tree_of(const abut_shape *shape) {
    abut_mesh *mesh;
    abut_bvh *bvh;
    assert_ok(abut_shape_create(NULL, shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

static abut_bvh *tree_of_mesh(abut_mesh *mesh) {
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

static void make_hulls(void) {
    if (hulls[0])
        return;
    double octahedron[] = {1, 0, 0, -1, 0, 0, 0, .8, 0, 0, -.8, 0, 0, 0, .6, 0, 0, -.6};
    uint32_t faces[] = {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5};
    hulls[0] = tree_of_mesh(test_mesh(NULL, octahedron, 6, faces, 8));
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.radius = .7;
    shape.segments = 2;
    hulls[1] = tree_of(&shape);
    shape = abut_shape_default(ABUT_SHAPE_CYLINDER);
    shape.radius = .5;
    shape.height = 1.2;
    shape.segments = 12;
    hulls[2] = tree_of(&shape);
    shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(.9, .7, 1.1);
    shape.segments = 3;
    hulls[3] = tree_of(&shape);
}

static abut_solid box_solid(double x, double y, double z, abut_pose at) {
    return (abut_solid){.kind = ABUT_SOLID_BOX, .pose = at, .shape.half = {x, y, z}};
}

static abut_solid ball_solid(double radius, abut_pose at) {
    return (abut_solid){.kind = ABUT_SOLID_SPHERE, .pose = at, .shape.sphere = {{0, 0, 0}, radius}};
}

static abut_solid floor_solid(void) {
    return (abut_solid){.kind = ABUT_SOLID_PLANE, .shape.plane = {{0, 0, 2}, 0}};
}

/* Of length 2 in x. */
static abut_solid capsule_solid(double radius, abut_pose at) {
    return (abut_solid){.kind = ABUT_SOLID_CAPSULE,
                        .pose = at,
                        .shape.capsule = {{{-1, 0, 0}, {1, 0, 0}}, radius}};
}

/* Of height 2 in z. */
static abut_solid cylinder_solid(double radius, abut_pose at) {
    return (abut_solid){.kind = ABUT_SOLID_CYLINDER,
                        .pose = at,
                        .shape.cylinder = {{{0, 0, -1}, {0, 0, 1}}, radius}};
}

static abut_patches ask(const abut_solid *a, const abut_solid *b, double margin) {
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    options.margin = margin;
    assert_ok(abut_contact_solids(a, b, &options, &found));
    assert_true(found.count <= 1 && found.separates);
    assert_int_equal(found.advice.verdict, ABUT_VERDICT_GUARANTEED);
    return found;
}

/* How far apart contacts are along an axis. */
static double spread(const abut_patches *found, int axis) {
    double lo = INFINITY, hi = -INFINITY;
    for (uint64_t i = 0; i < found->contact_count; i++) {
        double x = v3_get(contacts[i].point, axis);
        lo = real_min(lo, x);
        hi = real_max(hi, x);
    }
    return hi - lo;
}

/* ---- known positions ---- */

TEST(names) {
    assert_string_equal(abut_solid_kind_name(ABUT_SOLID_PLANE), "plane");
    assert_string_equal(abut_solid_kind_name(ABUT_SOLID_HULL), "hull");
    assert_string_equal(abut_solid_kind_name((abut_solid_kind)17), "unknown");
}

TEST(on_a_plane) {
    abut_solid ground = floor_solid(), box = box_solid(.5, 1, 2, shifted(3, 4, 1.99));
    abut_patches found = ask(&box, &ground, 0);
    assert_int_equal(found.contact_count, 4);
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
    found = ask(&ground, &box, 0);
    assert_way(list[0].normal, v3(0, 0, -1), 0);
    assert_int_equal(contacts[0].side, 1);
    /* Apart, and within the margin. */
    box.pose.translation.z = 2.5;
    assert_int_equal(ask(&box, &ground, 0).count, 0);
    assert_int_equal(ask(&box, &ground, .4).count, 0);
    found = ask(&box, &ground, .6);
    assert_close(list[0].depth, -.5, 1e-15);
    assert_close(contacts[0].point.z, .25, 1e-15);
    abut_solid ball = ball_solid(1, shifted(0, 0, .75));
    found = ask(&ball, &ground, 0);
    assert_int_equal(found.contact_count, 1);
    assert_close(list[0].depth, .25, 1e-15);
    abut_solid capsule = capsule_solid(.5, shifted(0, 0, .4));
    found = ask(&capsule, &ground, 0);
    assert_int_equal(found.contact_count, 2);
    assert_close(spread(&found, 0), 2, 1e-15);
    abut_solid cylinder = cylinder_solid(.5, shifted(0, 0, .9));
    found = ask(&cylinder, &ground, 0);
    assert_int_equal(found.contact_count, 4);
    assert_close(list[0].depth, .1, 1e-15);
    assert_close(spread(&found, 0), 1, 1e-15);
    assert_close(spread(&found, 1), 1, 1e-15);
    /* Lying, and tilted a little: the deepest place of the rim comes first. */
    assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), acos(0), v3(0, 0, .4), &cylinder.pose));
    found = ask(&cylinder, &ground, 0);
    assert_int_equal(found.contact_count, 2);
    assert_close(spread(&found, 1), 2, 1e-15);
    assert_ok(abut_pose_from_axis_angle(v3(1, .3, 0), 1e-3, v3(0, 0, .9), &cylinder.pose));
    found = ask(&cylinder, &ground, 0);
    assert_int_equal(found.contact_count, 4);
    double tilt = 1e-3, wanted = cos(tilt) + .5 * sin(tilt) - .9;
    assert_close(list[0].depth, wanted, 1e-14);
    assert_close(contacts[0].depth, wanted, 1e-14);
    assert_close(contacts[0].point.z, -wanted / 2, 1e-14);
    assert_int_equal(ask(&ground, &ground, 5).count, 0);
}

TEST(on_each_other) {
    abut_solid below = box_solid(1, 1, 1, shifted(0, 0, 0)), box = below;
    /* Flush, deeper, with a gap, aside. */
    box.pose.translation = v3(0, 0, 2);
    abut_patches found = ask(&box, &below, 0);
    assert_int_equal(found.contact_count, 4);
    assert_close(list[0].depth, 0, 1e-15);
    assert_close(list[0].area, 4, 1e-12);
    assert_way(list[0].normal, v3(0, 0, 1), 0);
    box.pose.translation = v3(.5, .25, 1.9);
    found = ask(&box, &below, 0);
    assert_int_equal(found.contact_count, 4);
    assert_close(list[0].depth, .1, 1e-15);
    assert_close(list[0].area, 1.5 * 1.75, 1e-12);
    assert_close(spread(&found, 0), 1.5, 1e-14);
    assert_close(spread(&found, 1), 1.75, 1e-14);
    box.pose.translation.z = 2.25;
    found = ask(&box, &below, .5);
    assert_int_equal(found.contact_count, 4);
    assert_close(list[0].depth, -.25, 1e-15);
    assert_close(contacts[0].point.z, 1.125, 1e-15);
    /* Corner to corner. */
    box.pose.translation = v3(2.1, 2.1, 2.1);
    found = ask(&box, &below, .5);
    assert_close(list[0].depth, -.1 * sqrt(3), 1e-14);
    assert_way(list[0].normal, v3(sqrt(1. / 3), sqrt(1. / 3), sqrt(1. / 3)), 1e-13);
    assert_way(contacts[0].point, v3(1.05, 1.05, 1.05), 1e-14);
    /* Edge on edge: turned by 45 degrees about x above, about y below. */
    assert_ok(
        abut_pose_from_axis_angle(v3(1, 0, 0), atan(1), v3(.1, .2, 2 * sqrt(2) - .1), &box.pose));
    assert_ok(abut_pose_from_axis_angle(v3(0, 1, 0), atan(1), v3(0, 0, 0), &below.pose));
    found = ask(&box, &below, 0);
    assert_int_equal(found.contact_count, 1);
    assert_close(list[0].depth, .1, 1e-14);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-15);
    assert_way(contacts[0].point, v3(0, .2, sqrt(2) - .05), 1e-14);
    assert_int_equal(contacts[0].kind, ABUT_CONTACT_CROSSING);
    /* A capsule and a cylinder that lie on a box; a cylinder that stands there, half aside. */
    below = box_solid(2, 2, 1, shifted(0, 0, 0));
    abut_solid capsule = capsule_solid(.5, shifted(.5, 0, 1.45));
    found = ask(&capsule, &below, 0);
    assert_int_equal(found.contact_count, 2);
    assert_close(list[0].depth, .05, 1e-15);
    assert_close(spread(&found, 0), 2, 1e-14);
    capsule.pose.translation.x = 1.5;
    found = ask(&capsule, &below, 0);
    assert_int_equal(found.contact_count, 2);
    assert_close(spread(&found, 0), 1.5, 1e-14);
    abut_solid cylinder = cylinder_solid(.5, shifted(0, 0, 1.95));
    found = ask(&cylinder, &below, 0);
    assert_int_equal(found.contact_count, 4);
    assert_close(list[0].depth, .05, 1e-14);
    cylinder.pose.translation.x = 2;
    found = ask(&cylinder, &below, 0);
    assert_int_equal(found.contact_count, 4);
    assert_close(spread(&found, 0), .5, 1e-14);
    assert_ok(abut_pose_from_axis_angle(v3(1, 0, 0), acos(0), v3(0, 0, 1.45), &cylinder.pose));
    found = ask(&cylinder, &below, 0);
    assert_int_equal(found.contact_count, 2);
    assert_close(list[0].depth, .05, 1e-14);
    assert_close(spread(&found, 1), 2, 1e-14);
    /* Cylinders on each other: discs of 0.5, 0.3 aside, share 0.49; what octagons share is less. */
    abut_solid lower = cylinder_solid(.5, shifted(0, 0, 0)), upper = lower;
    for (int up = -1; up < 2; up += 2) {
        upper.pose.translation = v3(.3, 0, 1.99 * up);
        for (int turned = 0; turned < 2; turned++) {
            found = turned ? ask(&lower, &upper, 0) : ask(&upper, &lower, 0);
            assert_int_equal(found.contact_count, 4);
            assert_close(list[0].depth, .01, 1e-14);
            assert_way(list[0].normal, v3(0, 0, turned ? -up : up), 1e-15);
            assert_true(list[0].area > .4 && list[0].area < .5);
        }
    }
    /* Capsules side by side, and crossed. */
    abut_solid other = capsule_solid(.5, shifted(.5, .9, 1.45));
    capsule.pose.translation.x = 0;
    found = ask(&capsule, &other, 0);
    assert_int_equal(found.contact_count, 2);
    assert_close(list[0].depth, .1, 1e-15);
    assert_close(spread(&found, 0), 1.5, 1e-14);
    assert_ok(abut_pose_from_axis_angle(v3(0, 0, 1), acos(0), v3(.2, .1, 2.25), &other.pose));
    found = ask(&other, &capsule, 0);
    assert_int_equal(found.contact_count, 1);
    assert_close(list[0].depth, .2, 1e-15);
    assert_way(list[0].normal, v3(0, 0, 1), 1e-15);
    assert_way(contacts[0].point, v3(.2, 0, 1.85), 1e-15);
}

/* What stands on a flat end, turned and aside as it may be, has three contacts or four. */
TEST(standing) {
    make_hulls();
    test_random random = {17};
    for (uint32_t round = 0; round < test_rounds(800); round++) {
        abut_solid on[2];
        double half[2];
        for (int k = 0; k < 2; k++) {
            uint32_t kind = test_random_below(&random, 3);
            double angle = test_random_real(&random, -4, 4);
            abut_pose turned = {{0, 0, sin(angle), cos(angle)}, {0, 0, 0}};
            if (test_random_below(&random, 3) == 0) /* upside down */
                turned.rotation = (abut_quat){cos(angle), sin(angle), 0, 0};
            half[k] = kind == 0 ? .4 : kind == 1 ? 1 : .6;
            on[k] =
                kind == 0 ? box_solid(.5, .7, .4, turned)
                : kind == 1
                    ? cylinder_solid(.6, turned)
                    : (abut_solid){.kind = ABUT_SOLID_HULL, .pose = turned, .shape.hull = hulls[2]};
        }
        on[0].pose.translation = v3(test_random_real(&random, -.3, .3),
                                    test_random_real(&random, -.3, .3), half[0] + half[1] - .01);
        abut_patches found = ask(&on[0], &on[1], 0);
        assert_true(found.contact_count >= 3);
        assert_close(list[0].depth, .01, 1e-12);
        assert_way(list[0].normal, v3(0, 0, 1), 1e-12);
        assert_true(list[0].area > .2);
        for (uint64_t i = 0; i < found.contact_count; i++) {
            assert_close(contacts[i].depth, .01, 1e-12);
            assert_close(contacts[i].point.z, half[1] - .005, 1e-12);
        }
    }
}

/* Everything in one place: something separates them, always the same. */
TEST(concentric) {
    make_hulls();
    abut_solid all[] = {ball_solid(1, shifted(1, 2, 3)),
                        capsule_solid(.5, shifted(1, 2, 3)),
                        box_solid(1, 2, 3, shifted(1, 2, 3)),
                        cylinder_solid(.7, shifted(1, 2, 3)),
                        {.kind = ABUT_SOLID_HULL,
                         .pose = shifted(1, 2, 3),
                         .shape.hull = hulls[0]}};
    const double wanted[] = {2, 1.5, 2, 1.7, 1.5};
    for (int i = 0; i < 5; i++) {
        abut_patches found = ask(&all[i], &all[0], 0);
        assert_int_equal(found.count, 1);
        if (i < 4)
            assert_close(list[0].depth, wanted[i], 1e-9);
        found = ask(&all[i], &all[i], 0);
        assert_int_equal(found.count, 1);
        assert_true(found.contact_count >= 1 && list[0].depth > 0);
    }
}

/* A hint chooses the side. */
TEST(hints) {
    abut_solid plate = box_solid(1, 1, .01, shifted(0, 0, 0));
    abut_solid ball = ball_solid(.1, shifted(.1, .1, .005));
    abut_patch_options options = abut_patch_options_default();
    for (int below = 0; below < 2; below++) {
        ball.pose.translation.z = below ? -.05 : .005;
        options.hint = v3(0, 0, 0);
        abut_patches found = room();
        assert_ok(abut_contact_solids(&ball, &plate, &options, &found));
        assert_way(list[0].normal, v3(0, 0, below ? -1 : 1), 0);
        options.hint = v3(0, 0, below ? 3 : -3);
        assert_ok(abut_contact_solids(&ball, &plate, &options, &found));
        assert_way(list[0].normal, v3(0, 0, below ? 1 : -1), 0);
        assert_close(list[0].depth, below ? .16 : .115, 1e-15);
        options.hint = v3_scale(options.hint, -1);
        assert_ok(abut_contact_solids(&plate, &ball, &options, &found));
        assert_way(list[0].normal, v3(0, 0, below ? -1 : 1), 0);
    }
}

/* ---- random pairs ---- */

static abut_solid random_solid(test_random *random, abut_solid_kind kind) {
    abut_solid s = {.kind = kind};
    if (test_random_below(random, 4)) {
        s.pose = random_pose(random, 1.2);
    } else { /* a multiple of a right angle, on a grid */
        const double half = sqrt(.5);
        s.pose = shifted(.25 * test_random_below(random, 8), .25 * test_random_below(random, 8),
                         .25 * test_random_below(random, 8));
        double *q = &s.pose.rotation.x;
        q[test_random_below(random, 4)] += test_random_below(random, 2) ? half : 1;
    }
    double sizes[3];
    for (int k = 0; k < 3; k++)
        sizes[k] = test_random_below(random, 3) ? test_random_real(random, .05, 1) : .5;
    switch (kind) {
    case ABUT_SOLID_PLANE:
        s.shape.plane.normal = v3(test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                                  test_random_real(random, .1, 1));
        s.shape.plane.offset = test_random_real(random, -1, 1);
        break;
    case ABUT_SOLID_SPHERE:
        s.shape.sphere = (abut_sphere){v3(.1, .2, -.3), sizes[0]};
        break;
    case ABUT_SOLID_CAPSULE:
        s.shape.capsule =
            (abut_capsule){{v3(-sizes[0], 0, .1), v3(sizes[1], 0, .1)}, .5 * sizes[2]};
        break;
    case ABUT_SOLID_BOX:
        s.shape.half = v3(sizes[0], sizes[1], sizes[2]);
        break;
    case ABUT_SOLID_CYLINDER:
        s.shape.cylinder = (abut_cylinder){{v3(0, -sizes[0], .1), v3(0, sizes[1], .1)}, sizes[2]};
        break;
    default:
        s.shape.hull = hulls[test_random_below(random, 4)];
    }
    return s;
}

/* The furthest of a solid along a unit direction of the world. */
static double reach_of(const abut_solid *s, vec3 d) {
    mat3 turn = quat_matrix(s->pose.rotation), back = m3_transpose(&turn);
    vec3 own = m3_apply(&back, d);
    double at = v3_dot(s->pose.translation, d);
    const abut_vec3 *end = s->shape.capsule.end;
    switch (s->kind) {
    case ABUT_SOLID_PLANE: {
        double length = v3_length(s->shape.plane.normal);
        return v3_dot(own, s->shape.plane.normal) > (1 - 1e-14) * length
                   ? at + s->shape.plane.offset / length
                   : INFINITY;
    }
    case ABUT_SOLID_SPHERE:
        return at + v3_dot(own, s->shape.sphere.centre) + s->shape.sphere.radius;
    case ABUT_SOLID_CAPSULE:
        return at + real_max(v3_dot(own, end[0]), v3_dot(own, end[1])) + s->shape.capsule.radius;
    case ABUT_SOLID_BOX:
        return at + fabs(own.x) * s->shape.half.x + fabs(own.y) * s->shape.half.y +
               fabs(own.z) * s->shape.half.z;
    case ABUT_SOLID_CYLINDER: {
        vec3 axis = v3_normalise(v3_sub(end[1], end[0]));
        return at + real_max(v3_dot(own, end[0]), v3_dot(own, end[1])) +
               s->shape.cylinder.radius * v3_length(v3_cross(axis, own));
    }
    default: {
        const abut_mesh *mesh = abut_bvh_mesh(s->shape.hull);
        const abut_vec3 *positions = abut_mesh_positions(mesh);
        double most = -INFINITY;
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++)
            most = real_max(most, v3_dot(own, v3_add(positions[i], abut_mesh_origin(mesh))));
        return at + most;
    }
    }
}

/* By how much a must go along n. */
static double shift_along(const abut_solid *a, const abut_solid *b, vec3 n) {
    return reach_of(b, n) + reach_of(a, v3_scale(n, -1));
}

/* The least of many directions, and around the best of them. */
static double least_shift(test_random *random, const abut_solid *a, const abut_solid *b,
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

static void check_pair(test_random *random, const abut_solid *a, const abut_solid *b,
                       double margin) {
    abut_patches found = ask(a, b, margin);
    bool round = a->kind == ABUT_SOLID_CYLINDER || b->kind == ABUT_SOLID_CYLINDER;
    double tolerance = round ? 3e-6 : 1e-10;
    double off = !round ? 1e-9 : a->kind == b->kind ? 1e-3 : 1e-5; /* of places */
    abut_contact kept[8];
    abut_patch patch = list[0];
    if (!found.count) {
        vec3 n = v3_normalise(v3_sub(a->pose.translation, b->pose.translation));
        if (b->kind == ABUT_SOLID_PLANE || a->kind == ABUT_SOLID_PLANE)
            return;
        if (v3_length_sq(n) == 0)
            n.z = 1;
        /* Something separates them by more than the margin. */
        for (int i = 0; i < 20 && least_shift(random, a, b, n) > -margin + 1e-3; i++)
            assert_true(i < 19);
        return;
    }
    double told, least;
    if (a->kind == ABUT_SOLID_PLANE || b->kind == ABUT_SOLID_PLANE) { /* one normal for all */
        const abut_solid *plane = a->kind == ABUT_SOLID_PLANE ? a : b, *other = plane == a ? b : a;
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
        fail_msg("%s %s: depth %.17g, but along its normal %.17g", abut_solid_kind_name(a->kind),
                 abut_solid_kind_name(b->kind), patch.depth, told);
    if (!(patch.depth <= least + tolerance))
        fail_msg("%s %s: depth %.17g, but %.17g is enough", abut_solid_kind_name(a->kind),
                 abut_solid_kind_name(b->kind), patch.depth, least);
    assert_true(patch.depth >= -margin - 1e-12);
    assert_true(found.contact_count >= 1 && found.contact_count <= 4);
    assert_true(contacts[0].depth == patch.depth);
    for (uint64_t i = 0; i < found.contact_count; i++) {
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
                             abut_solid_kind_name(a->kind), abut_solid_kind_name(b->kind), (int)i,
                             (int)found.contact_count, contacts[i].depth, patch.depth, out, side);
            }
    }
    /* A hint chooses among ways out, not whether solids touch. */
    abut_patch_options options = abut_patch_options_default();
    abut_patches other = room();
    options.margin = margin;
    options.hint = v3(test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                      test_random_real(random, -1, 1));
    assert_ok(abut_contact_solids(a, b, &options, &other));
    assert_int_equal(other.count, 1);
    assert_true(list[0].depth >= patch.depth - tolerance);
    if (a->kind != ABUT_SOLID_PLANE && b->kind != ABUT_SOLID_PLANE) {
        assert_close(shift_along(a, b, list[0].normal), list[0].depth, 1e-10);
        assert_true(v3_dot(list[0].normal, options.hint) >= -1e-12 || !(patch.depth > 1e-9));
    }
    /* The same the other way round, unless that is the same question. */
    if (!memcmp(a, b, sizeof *a))
        return;
    abut_patches back = ask(b, a, margin);
    assert_true(back.count == 1 && back.contact_count == found.contact_count);
    assert_true(list[0].depth == patch.depth && list[0].area == patch.area);
    assert_way(list[0].normal, v3_scale(patch.normal, -1), 0);
    for (uint64_t i = 0; i < found.contact_count; i++) {
        assert_way(contacts[i].point, kept[i].point, 0);
        assert_true(contacts[i].depth == kept[i].depth && contacts[i].side != kept[i].side);
    }
}

TEST(random_pairs) {
    make_hulls();
    test_random random = {7};
    for (int first = 0; first <= ABUT_SOLID_HULL; first++)
        for (int second = 0; second <= first; second++)
            for (uint32_t i = 0; i < test_rounds(1600) && first; i++) {
                abut_solid a = random_solid(&random, (abut_solid_kind)first);
                abut_solid b = random_solid(&random, (abut_solid_kind)second);
                check_pair(&random, &a, &b, i % 3 == 0 ? .3 : 0);
            }
}

/* Corners keep their ids while what rests trembles, and points move as little. */
TEST(ids_stay) {
    test_random random = {5};
    abut_solid below = box_solid(2, 2, 1, shifted(0, 0, 0));
    abut_solid box = box_solid(.5, .4, .3, shifted(0, 0, 1.299));
    abut_solid resting[] = {box, capsule_solid(.3, box.pose), cylinder_solid(.4, box.pose)};
    resting[2].shape.cylinder.end[0].z = -.3;
    resting[2].shape.cylinder.end[1].z = .3;
    for (int kind = 0; kind < 3; kind++) {
        uint64_t ids[4], count = 0;
        for (uint32_t round = 0; round < 50; round++) {
            abut_solid moved = resting[kind];
            abut_pose a_little = random_pose(&random, 1e-7);
            double *q = &a_little.rotation.x;
            for (int k = 0; k < 3; k++)
                moved.pose.rotation.x = q[k] *= 1e-7;
            moved.pose.rotation = (abut_quat){q[0], q[1], q[2], 1};
            moved.pose.translation = v3_add(moved.pose.translation, a_little.translation);
            abut_patches found = ask(&moved, &below, 1e-4);
            assert_int_equal(found.contact_count, kind == 1 ? 2 : 4);
            assert_close(list[0].depth, .001, 1e-6);
            if (kind == 2)
                continue; /* which of its rim is deepest is anyone's guess */
            for (uint64_t i = 0; i < found.contact_count; i++) {
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
        abut_solid hull = {.kind = ABUT_SOLID_HULL,
                           .pose = shifted(-100, -100, -99.51),
                           .shape.hull = bvh};
        abut_solid ground = floor_solid();
        abut_patches found = ask(&hull, &ground, 0);
        assert_int_equal(found.contact_count, 4);
        assert_close(list[0].depth, .01, 1e-12);
        /* Twice as high: 0.25 deeper to both sides. */
        memcpy(moved, soup, sizeof moved);
        for (int i = 0; i < 36; i++)
            moved[i][2] += .5 * (moved[i][2] - 100);
        next = test_mesh(NULL, moved, 36, NULL, 12);
        assert_ok(abut_bvh_refit(bvh, next));
        found = ask(&hull, &ground, 0);
        assert_close(list[0].depth, .26, 1e-12);
        abut_mesh_destroy(next);
        /* One corner of one triangle leaves: open. */
        moved[0][0] -= 1;
        next = test_mesh(NULL, moved, 36, NULL, 12);
        assert_ok(abut_bvh_refit(bvh, next));
        found = room();
        assert_refused("no hull", abut_contact_solids(&hull, &ground, NULL, &found));
        abut_mesh_destroy(next);
        abut_bvh_destroy(bvh);
        abut_mesh_destroy(mesh);
    }
}

static abut_bvh *hull_tree(const vec3 *points, uint32_t count) {
    abut_mesh *mesh;
    assert_ok(abut_mesh_hull(NULL, points, count, &mesh));
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
        abut_solid hull = {.kind = ABUT_SOLID_HULL,
                           .pose = shifted(0, 0, 0),
                           .shape.hull = hull_tree(points, 200)};
        vec3 up = v3_sub(pose_apply(&at, v3(0, 0, 1)), at.translation);
        abut_solid cube = box_solid(1, 1, 1, at), below = box_solid(3, 3, 1, at);
        abut_solid ball = ball_solid(.5, random_pose(&random, 1));
        below.pose.translation = v3_along(at.translation, -1.99, up);
        ask(&cube, &ball, 2);
        double wanted = list[0].depth;
        ask(&hull, &ball, 2);
        assert_close(list[0].depth, wanted, 1e-6);
        abut_patches found = ask(&hull, &below, 0);
        assert_close(list[0].depth, .01, 1e-6);
        assert_way(list[0].normal, up, 1e-5);
        assert_int_equal(found.contact_count, 4);
        assert_close(list[0].area, 4, .5);
        abut_bvh_destroy((abut_bvh *)(uintptr_t)hull.shape.hull);
    }
}

/* Slabs, discs and needles, down to hardly more than rounding, through a cube. */
TEST(thin_hulls) {
    test_random random = {23};
    abut_solid cube = box_solid(.5, .5, .5, shifted(0, 0, 0)), ground = floor_solid();
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
            abut_solid hull = {.kind = ABUT_SOLID_HULL,
                               .pose = shifted(.1, .2, .3),
                               .shape.hull = hull_tree(points, count)};
            abut_patches found = ask(&hull, &cube, 0);
            assert_int_equal(found.count, 1);
            assert_close(list[0].depth, .2, 1.1 * thin + 1e-6);
            assert_way(list[0].normal, v3(0, 0, 1), 1e-3);
            found = ask(&cube, &hull, 0);
            assert_close(list[0].depth, .2, 1.1 * thin + 1e-6);
            hull.pose.translation.z = -.1;
            found = ask(&hull, &ground, 0);
            assert_close(list[0].depth, .1, 1.1 * thin + 1e-6);
            hull.pose.translation.z = .6;
            assert_int_equal(ask(&hull, &cube, 0).count, 0);
            assert_int_equal(ask(&hull, &cube, .11).count, 1);
            abut_bvh_destroy((abut_bvh *)(uintptr_t)hull.shape.hull);
        }
}

/* ---- bad input ---- */

TEST(bad_input) {
    make_hulls();
    abut_solid ball = ball_solid(1, shifted(0, 0, .5)), ground = floor_solid(), bad = ball;
    abut_patches found = room();
    assert_refused("a", abut_contact_solids(NULL, &ball, NULL, &found));
    assert_refused("b", abut_contact_solids(&ball, NULL, NULL, &found));
    assert_refused("patches", abut_contact_solids(&ball, &ball, NULL, NULL));
    bad.shape.sphere.radius = -1;
    assert_refused("a is a sphere with a radius of -1",
                   abut_contact_solids(&bad, &ball, NULL, &found));
    bad.shape.sphere.radius = NAN;
    assert_refused("nan", abut_contact_solids(&bad, &ball, NULL, &found));
    bad = ball;
    bad.pose.translation.x = INFINITY;
    assert_refused("b", abut_contact_solids(&ball, &bad, NULL, &found));
    bad = box_solid(1, -2, 3, shifted(0, 0, 0));
    assert_refused("half sizes of 1, -2, 3", abut_contact_solids(&bad, &ball, NULL, &found));
    bad = ground;
    bad.shape.plane.normal.z = 0;
    assert_refused("normal of 0", abut_contact_solids(&bad, &ball, NULL, &found));
    bad = cylinder_solid(1, shifted(0, 0, 0));
    bad.shape.cylinder.end[0] = bad.shape.cylinder.end[1];
    assert_refused("both ends in one place", abut_contact_solids(&bad, &ball, NULL, &found));
    bad.kind = (abut_solid_kind)9;
    assert_refused("kind 9", abut_contact_solids(&bad, &ball, NULL, &found));
    abut_patch_options options = abut_patch_options_default();
    options.margin = -1;
    assert_refused("margin", abut_contact_solids(&ball, &ball, &options, &found));
    options.margin = 0;
    options.keep = 9;
    assert_refused("keep", abut_contact_solids(&ball, &ball, &options, &found));
    /* No room. */
    found = (abut_patches){0};
    assert_fails(ABUT_ERROR_BUFFER, "1 patches with 1 contacts",
                 abut_contact_solids(&ball, &ground, NULL, &found));
    assert_int_equal(found.count, 1);
    assert_int_equal(found.contact_count, 1);
    /* Hulls that are none. */
    bad = (abut_solid){.kind = ABUT_SOLID_HULL};
    found = room();
    assert_refused("bvh", abut_contact_solids(&bad, &ball, NULL, &found));
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS),
               open = abut_shape_default(ABUT_SHAPE_SHEET);
    abut_bvh *bent = tree_of(&torus), *flat = tree_of(&open);
    bad.shape.hull = bent;
    assert_refused("not convex", abut_contact_solids(&bad, &ball, NULL, &found));
    bad.shape.hull = flat;
    assert_refused("not closed", abut_contact_solids(&ball, &bad, NULL, &found));
    abut_bvh_destroy(bent);
    abut_bvh_destroy(flat);
}

/* Sizes and places far from 1. */
TEST(sizes) {
    for (int e = -60; e <= 60; e += 30) {
        double size = pow(10, e);
        abut_solid below = box_solid(size, size, size, shifted(0, 0, 0));
        abut_solid box = below;
        box.pose.translation = v3(.5 * size, 0, 1.5 * size);
        abut_patches found = ask(&box, &below, 0);
        assert_int_equal(found.contact_count, 4);
        assert_close(list[0].depth / size, .5, 1e-12);
    }
    abut_solid ball = ball_solid(1, shifted(1e8, 1e8, 1e8 + 1.5)),
               other = ball_solid(1, shifted(1e8, 1e8, 1e8));
    ask(&ball, &other, 0);
    assert_close(list[0].depth, .5, 1e-8);
    /* Without thickness. */
    abut_solid plate = box_solid(1, 1, 0, shifted(0, 0, 0)),
               point = ball_solid(0, shifted(.1, .2, 0));
    abut_patches found = ask(&point, &plate, 0);
    assert_int_equal(found.count, 1);
    assert_close(list[0].depth, 0, 1e-15);
    plate.pose.translation.z = 1;
    assert_int_equal(ask(&plate, &point, 0).count, 0);
}

/* ---- meshes and solids ---- */

static abut_patches ask_mesh(const abut_bvh *bvh, abut_pose at, const abut_solid *b,
                             double margin) {
    abut_posed a = {bvh, at};
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    options.margin = margin;
    assert_ok(abut_contact_solid(&a, b, &options, &found));
    for (uint64_t i = 0; i < found.count; i++) {
        assert_true(list[i].count >= 1 && list[i].first < found.contact_count);
        assert_true(contacts[list[i].first].depth == list[i].depth);
        assert_true(i == 0 || list[i].depth <= list[i - 1].depth);
    }
    return found;
}

static abut_bvh *box_mesh(double x, double y, double z) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    shape.extent = v3(x, y, z);
    shape.segments = 1;
    return tree_of(&shape);
}

TEST(meshes_on_planes) {
    abut_bvh *cube = box_mesh(1, 1, 1);
    abut_solid ground = floor_solid();
    abut_patches found = ask_mesh(cube, shifted(2, 3, .49), &ground, 0);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.contact_count, 4);
    assert_true(found.separates);
    assert_close(list[0].depth, .01, 1e-15);
    assert_close(list[0].area, 1, 1e-12);
    assert_close(list[0].volume, .01, 1e-12);
    assert_close(spread(&found, 0), 1, 1e-14);
    assert_int_equal(contacts[0].kind, ABUT_CONTACT_VERTEX);
    assert_int_equal(ask_mesh(cube, shifted(0, 0, .6), &ground, 0).count, 0);
    found = ask_mesh(cube, shifted(0, 0, .6), &ground, .2);
    assert_int_equal(found.contact_count, 4);
    assert_close(list[0].depth, -.1, 1e-15);
    assert_close(list[0].volume, 0, 0);
    /* Flush, and wholly below: the lowest corners, whatever else there is. */
    abut_shape fine = abut_shape_default(ABUT_SHAPE_BOX);
    fine.extent = v3(1, 1, 1);
    fine.segments = 8;
    abut_bvh *cubes[2] = {cube, tree_of(&fine)};
    for (int i = 0; i < 2; i++) {
        found = ask_mesh(cubes[i], shifted(2, 3, .5), &ground, 0);
        assert_int_equal(found.contact_count, 4);
        assert_true(list[0].depth == 0 && !signbit(list[0].depth) && !signbit(contacts[0].depth));
        assert_close(list[0].area, 1, 1e-12);
        assert_close(list[0].volume, 0, 0);
        for (int below = 0; below < 2; below++) {
            found = ask_mesh(cubes[i], shifted(2, 3, below ? -3 : .49), &ground, 0);
            assert_int_equal(found.contact_count, 4);
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
    found = ask_mesh(cube, tilted, &ground, 0);
    assert_int_equal(found.contact_count, 2);
    assert_close(list[0].depth, .1, 1e-14);
    assert_close(list[0].area, .2, 1e-12);
    assert_close(list[0].volume, .01, 1e-12);
    abut_bvh_destroy(cube);
    /* An E that stands on its long arms: a patch for each. */
    abut_shape letter = abut_shape_default(ABUT_SHAPE_LETTER_E);
    abut_bvh *e = tree_of(&letter);
    abut_box box = abut_mesh_bounds(abut_bvh_mesh(e));
    abut_pose standing;
    assert_ok(abut_pose_from_axis_angle(v3(0, 1, 0), acos(0), v3(0, 0, box.hi.x - .01), &standing));
    found = ask_mesh(e, standing, &ground, 0);
    assert_int_equal(found.count, 2);
    assert_int_equal(found.contact_count, 8);
    for (int i = 0; i < 2; i++) {
        assert_close(list[i].depth, .01, 1e-12);
        assert_close(list[i].volume, .01 * list[i].area, 1e-10);
    }
    /* Any pose: the deepest vertex, and the volume of a box as large. */
    test_random random = {3};
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    torus.segments = 24;
    torus.rings = 12;
    abut_bvh *ring = tree_of(&torus);
    for (uint32_t round = 0; round < test_rounds(400); round++) {
        const abut_bvh *bvh = round % 2 ? ring : e;
        const abut_mesh *mesh = abut_bvh_mesh(bvh);
        abut_pose at = random_pose(&random, 1);
        abut_solid plane = random_solid(&random, ABUT_SOLID_PLANE);
        double deepest = -INFINITY;
        mat3 turn = quat_matrix(plane.pose.rotation);
        vec3 up = m3_apply(&turn, v3_normalise(plane.shape.plane.normal));
        for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
            vec3 p = v3_add(abut_mesh_positions(mesh)[i], abut_mesh_origin(mesh));
            deepest = real_max(deepest, reach_of(&plane, up) - v3_dot(up, pose_apply(&at, p)));
        }
        found = ask_mesh(bvh, at, &plane, 0);
        assert_true(found.separates);
        assert_true((found.count > 0) == (deepest > 0) || fabs(deepest) < 1e-12);
        double volume = 0;
        for (uint64_t i = 0; i < found.count; i++)
            volume += list[i].volume;
        if (found.count)
            assert_close(list[0].depth, deepest, 1e-12);
        assert_true(volume >= 0 && volume <= 10);
        for (uint64_t i = 0; i < found.count; i++) /* what is cut is no deeper than that */
            assert_true(list[i].volume <= 4 * torus.radius * torus.radius * list[i].depth + 1e-9 ||
                        bvh == e);
    }
    abut_bvh_destroy(e);
    abut_bvh_destroy(ring);
}

/* A box as a mesh against round solids is as a box. */
TEST(meshes_and_round_solids) {
    test_random random = {9};
    abut_bvh *cube = box_mesh(1, 1.4, .8);
    uint32_t touching = 0, through = 0;
    for (uint32_t round = 0; round < test_rounds(4000); round++) {
        abut_pose at = random_pose(&random, .8);
        abut_solid box = box_solid(.5, .7, .4, at);
        abut_solid b = random_solid(&random, round % 2 ? ABUT_SOLID_SPHERE : ABUT_SOLID_CAPSULE);
        double margin = round % 3 ? 0 : .2;
        abut_patches exact = ask(&box, &b, margin);
        abut_patch wanted = list[0];
        abut_patches found = ask_mesh(cube, at, &b, margin);
        abut_capsule axis = b.shape.capsule;
        abut_solid core = {.kind = b.kind, .pose = b.pose};
        core.shape.capsule = axis;
        if (b.kind == ABUT_SOLID_CAPSULE) {
            core.shape.capsule.radius = 0;
            abut_patch kept = list[0];
            uint64_t count = ask(&box, &core, 0).count;
            list[0] = kept;
            if (count) { /* the axis is in the box */
                through++;
                assert_true(found.count > 0 && found.separates);
                assert_true(list[0].depth >= wanted.depth - .004 * axis.radius || found.count > 1);
                continue;
            }
        }
        if (!exact.count) {
            assert_int_equal(found.count, 0);
            continue;
        }
        touching++;
        assert_true(found.count >= 1);
        if (wanted.depth > 0)
            assert_true(found.separates);
        assert_close(list[0].depth, wanted.depth, 1e-10);
        if (fabs(wanted.depth) > 1e-6)
            assert_true(found.count > 1 || v3_dot(list[0].normal, wanted.normal) > 1 - 1e-9 ||
                        b.kind == ABUT_SOLID_SPHERE);
    }
    assert_true(touching > 50 && through > 10);
    /* Lying on a face: both ends. */
    abut_solid capsule = capsule_solid(.3, shifted(0, 0, .65));
    capsule.shape.capsule.end[0].x = -.3;
    capsule.shape.capsule.end[1].x = .4;
    abut_patches found = ask_mesh(cube, shifted(0, 0, 0), &capsule, 0);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.contact_count, 2);
    assert_close(list[0].depth, .05, 1e-14);
    assert_way(list[0].normal, v3(0, 0, -1), 1e-15);
    assert_close(spread(&found, 0), .7, 1e-14);
    abut_bvh_destroy(cube);
}

/* Between the arms of an E, and anywhere around a torus. */
TEST(walls_and_ways_out) {
    abut_shape letter = abut_shape_default(ABUT_SHAPE_LETTER_E);
    abut_bvh *e = tree_of(&letter);
    abut_nearest near;
    /* In the middle between two arms and the back, 0.1 from each. */
    abut_solid ball = ball_solid(.13, shifted(0, -.2, 0));
    abut_patches found = ask_mesh(e, shifted(0, 0, 0), &ball, 0);
    assert_int_equal(found.count, 3);
    vec3 sum = v3(0, 0, 0);
    for (int i = 0; i < 3; i++) {
        assert_close(list[i].depth, .03, 1e-12);
        sum = v3_add(sum, list[i].normal);
    }
    assert_way(sum, v3(-1, 0, 0), 1e-12); /* both arms, and the back */
    assert_false(found.separates);        /* no shift leaves both arms */
    abut_bvh_destroy(e);

    test_random random = {21};
    abut_shape torus = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_bvh *ring = tree_of(&torus);
    for (uint32_t round = 0; round < test_rounds(800); round++) {
        vec3 c = v3(test_random_real(&random, -1.5, 1.5), test_random_real(&random, -1.5, 1.5),
                    test_random_real(&random, -.6, .6));
        double radius = test_random_real(&random, .01, .4), inside;
        ball = ball_solid(radius, shifted(c.x, c.y, c.z));
        assert_ok(abut_nearest_point(ring, c, HUGE_VAL, &near));
        assert_ok(abut_shape_distance(&torus, c, &inside));
        if (fabs(inside) < .02)
            continue; /* between the shape and its triangles */
        found = ask_mesh(ring, shifted(0, 0, 0), &ball, 0);
        double depth = radius + (inside < 0 ? near.distance : -near.distance);
        assert_int_equal(found.count > 0, depth > 0);
        if (!found.count)
            continue;
        if (inside > 0 || found.separates)
            assert_true(list[0].depth >= depth - 1e-12);
        if (inside > 0) { /* depths may be larger where walls are hollow, if they are checked */
            abut_posed a = {ring, shifted(0, 0, 0)};
            abut_patch_options options = abut_patch_options_default();
            abut_patch kept = list[0];
            abut_patches plain = room();
            options.unchecked = true;
            assert_true(list[0].depth <= 2 * depth + 1e-9);
            assert_ok(abut_contact_solid(&a, &ball, &options, &plain));
            assert_close(list[0].depth, depth, 1e-12);
            assert_false(plain.separates);
            list[0] = kept;
        }
        if (found.separates && found.count == 1) { /* the mesh moves: the centre the other way */
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
    abut_bvh *ring = tree_of(&torus);
    for (int i = 0; i < 20; i++) {
        abut_solid ball = ball_solid(.85, shifted(.002 * i, .001 * i, .55));
        abut_patches found = ask_mesh(ring, shifted(0, 0, 0), &ball, 0);
        assert_true(found.count > 1 && found.contact_count == found.count);
        for (uint64_t k = 0; k < found.count; k++) {
            vec3 way = v3_sub(contacts[k].point, ball.pose.translation);
            assert_way(v3_normalise(way), contacts[k].normal, 1e-9);
        }
    }
    abut_bvh_destroy(ring);
}

/* Which way a mesh is pushed out of a solid, with a hint. */
static abut_patch ask_hinted(const abut_bvh *bvh, const abut_solid *b, vec3 hint) {
    abut_posed a = {bvh, shifted(0, 0, 0)};
    abut_patch_options options = abut_patch_options_default();
    abut_patches found = room();
    options.hint = hint;
    assert_ok(abut_contact_solid(&a, b, &options, &found));
    assert_int_equal(found.count, 1);
    assert_true(found.separates);
    return list[0];
}

/* What has gone through a plate goes back the way it came. */
TEST(hints_with_meshes) {
    abut_bvh *plate = box_mesh(4, 4, .002), *slab = box_mesh(4, 4, .3);
    abut_solid all[] = {ball_solid(.5, shifted(.1, .1, -.1)),
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
    abut_solid ball = ball_solid(.1, shifted(.1, .1, -.12));
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
        abut_solid b = random_solid(&random, round % 3 == 0   ? ABUT_SOLID_BOX
                                             : round % 3 == 1 ? ABUT_SOLID_CYLINDER
                                                              : ABUT_SOLID_HULL);
        abut_solid box = box_solid(.5, .7, .4, at);
        double depth = ask(&box, &b, .002).count ? list[0].depth : -1; /* a cylinder has sides */
        abut_patches found = ask_mesh(cube, at, &b, 0);
        if (!(fabs(depth) < .002))
            assert_int_equal(found.count > 0, depth > 0);
        if (!found.count || found.count > 1)
            continue;
        all++;
        separate += found.separates;
        assert_true(list[0].depth >= depth - .002);
        if (!found.separates)
            continue;
        box.pose.translation = v3_along(at.translation, list[0].depth + .002, list[0].normal);
        assert_int_equal(ask(&box, &b, 0).count, 0);
    }
    assert_true(all > 20 && separate > all * 9 / 10);
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
            abut_solid all[] = {floor_solid(), ball_solid(size, shifted(z, 0, z + 1.4 * size)),
                                capsule_solid(size, shifted(z, 0, z + 1.4 * size)),
                                box_solid(size, size, size, shifted(z, 0, z + 1.4 * size)),
                                cylinder_solid(size, shifted(z, 0, z))};
            all[0].shape.plane.offset = 2 * (z - .4 * size);
            for (int k = 0; k < 2; k++) {
                all[2].shape.capsule.end[k].x *= .3 * size;
                all[4].shape.cylinder.end[k].z = (k ? 2.4 : .4) * size;
            }
            for (int i = 0; i < 5; i++) {
                abut_patches found = ask_mesh(cube, at, &all[i], 0);
                assert_int_equal(found.count, 1);
                assert_close(list[0].depth / size, .1, far ? 1e-8 : 1e-12);
                assert_close(fabs(list[0].normal.z), 1, 1e-12);
                assert_true(found.separates);
                all[i].pose.translation.z += i ? size : -size;
                found = ask_mesh(cube, at, &all[i], 0);
                assert_true(found.count == 0);
            }
        }
        abut_bvh_destroy(cube);
    }
}

static abut_status ask_all(abut_context *context, void *data) {
    static const abut_solid_kind kinds[] = {ABUT_SOLID_PLANE, ABUT_SOLID_SPHERE, ABUT_SOLID_CAPSULE,
                                            ABUT_SOLID_BOX, ABUT_SOLID_CYLINDER};
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 2;
    shape.radius = .5;
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, &bvh);
    abut_posed a = {bvh, shifted(0, 0, .3)};
    for (int i = 0; i < 5 && !status; i++) {
        abut_solid b = kinds[i] == ABUT_SOLID_PLANE      ? floor_solid()
                       : kinds[i] == ABUT_SOLID_SPHERE   ? ball_solid(.5, shifted(0, 0, 0))
                       : kinds[i] == ABUT_SOLID_CAPSULE  ? capsule_solid(.3, shifted(0, 0, 0))
                       : kinds[i] == ABUT_SOLID_CYLINDER ? cylinder_solid(.2, shifted(0, 0, 0))
                                                         : box_solid(1, 1, .1, shifted(0, 0, 0));
        abut_patches found = room();
        status = abut_contact_solid(&a, &b, NULL, &found);
        assert_true(status || found.count > 0);
    }
    abut_solid hull = {.kind = ABUT_SOLID_HULL, .shape.hull = bvh}, ground = floor_solid();
    abut_patches found = room();
    status = status ? status : abut_contact_solids(&hull, &ground, NULL, &found);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(without_memory) {
    test_every_allocation(ask_all, NULL);
}

TEST(bad_input_with_meshes) {
    abut_bvh *cube = box_mesh(1, 1, 1);
    abut_posed a = {cube, shifted(0, 0, .4)};
    abut_solid ground = floor_solid(), bad = ball_solid(-1, shifted(0, 0, 0));
    abut_patches found = room();
    assert_refused("a", abut_contact_solid(NULL, &ground, NULL, &found));
    assert_refused("b", abut_contact_solid(&a, NULL, NULL, &found));
    assert_refused("patches", abut_contact_solid(&a, &ground, NULL, NULL));
    assert_refused("radius of -1", abut_contact_solid(&a, &bad, NULL, &found));
    bad = box_solid(1, 1, 0, shifted(0, 0, 0));
    assert_refused("without thickness", abut_contact_solid(&a, &bad, NULL, &found));
    found = (abut_patches){0};
    assert_fails(ABUT_ERROR_BUFFER, "1 patches with 4 contacts",
                 abut_contact_solid(&a, &ground, NULL, &found));
    assert_int_equal(found.contact_count, 4);
    a.bvh = NULL;
    found = room();
    assert_refused("bvh", abut_contact_solid(&a, &ground, NULL, &found));
    abut_bvh_destroy(cube);
}
