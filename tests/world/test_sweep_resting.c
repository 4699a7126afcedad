/* Steps of bodies that touch at the start: they may slide and leave, and may not go deeper. */
#include "support/pose.h"
#include "support/support.h"

#include <math.h>

static const abut_pose HERE = {{0, 0, 0, 1}, {0, 0, 0}};

typedef enum floor_kind { FLOOR_MESH, FLOOR_FINE_MESH, FLOOR_BOX, FLOOR_PLANE, FLOORS } floor_kind;
typedef enum body_kind {
    BODY_MESH,
    BODY_BOX,
    BODY_HULL,
    BODY_SPHERE,
    BODY_CYLINDER,
    BODIES
} body_kind;

static abut_bvh *make_tree(double x, double y, double z, uint32_t segments) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    abut_bvh *bvh;
    shape.extent = (abut_vec3){x, y, z};
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

/* The top of the floor is at z = 0; bodies are 1 high, and their bottom is at `height`. */
static abut_world *make_world(floor_kind floor, body_kind body, double height) {
    abut_world *world;
    uint32_t id;
    abut_bvh *ground = make_tree(20, 20, 1, floor == FLOOR_FINE_MESH ? 31 : 1),
             *cube = make_tree(1, 1, 1, 1);
    abut_world_item item = {.size = sizeof(abut_world_item),
                            .motion = ABUT_WORLD_STATIC,
                            .collider.pose = {{0, 0, 0, 1}, {0.13, 0.07, -0.5}}};
    if (floor == FLOOR_PLANE) {
        item.collider.kind = ABUT_COLLIDER_PLANE;
        item.collider.pose = HERE;
        item.collider.shape.plane = (abut_plane){{0, 0, 1}, 0};
    } else if (floor == FLOOR_BOX) {
        item.collider.kind = ABUT_COLLIDER_BOX;
        item.collider.shape.half = (abut_vec3){10, 10, 0.5};
    } else {
        item.collider.shape.body.bvh = ground;
    }
    assert_ok(abut_world_create(NULL, NULL, &world));
    assert_ok(abut_world_add(world, &item, &id));
    abut_world_item on = {.size = sizeof(abut_world_item),
                          .collider.kind = ABUT_COLLIDER_BODY,
                          .collider.pose = {{0, 0, 0, 1}, {0, 0, 0.5 + height}}};
    if (body == BODY_MESH) {
        on.collider.shape.body.bvh = cube;
    } else if (body == BODY_BOX) {
        on.collider.kind = ABUT_COLLIDER_BOX;
        on.collider.shape.half = (abut_vec3){0.5, 0.5, 0.5};
    } else if (body == BODY_HULL) {
        on.collider.kind = ABUT_COLLIDER_HULL;
        on.collider.shape.hull = cube;
    } else if (body == BODY_SPHERE) {
        on.collider.kind = ABUT_COLLIDER_SPHERE;
        on.collider.shape.sphere.radius = 0.5;
    } else {
        on.collider.kind = ABUT_COLLIDER_CYLINDER;
        on.collider.shape.cylinder = (abut_cylinder){{{0, 0, -0.5}, {0, 0, 0.5}}, 0.5};
    }
    assert_ok(abut_world_add(world, &on, &id));
    abut_bvh_destroy(ground);
    abut_bvh_destroy(cube);
    return world;
}

static double time_of(abut_world *world, abut_vec3 way, abut_quat turn, double height) {
    abut_world_impact impacts[4];
    abut_world_impacts to = {.size = sizeof to, .list = impacts, .capacity = 4};
    const uint32_t id = 1;
    const abut_pose end = {turn, {way.x, way.y, 0.5 + height + way.z}};
    assert_ok(abut_world_sweep(world, &id, abut_array_host(&end), 1, NULL, &to));
    assert_true(to.time >= 0 && to.time <= 1);
    return to.time;
}

TEST(resting_bodies_slide_and_leave_and_do_not_sink) {
    const abut_quat same = {0, 0, 0, 1}, tilt = {0.2, 0, 0, 0.98}, spin = {0, 0, 0.4, 0.9};
    const double heights[] = {0, -0.001, -0.02}; /* touching, and two depths */
    for (floor_kind floor = 0; floor < FLOORS; floor++)
        for (body_kind body = 0; body < BODIES; body++)
            for (int k = 0; k < 3; k++) {
                const double h = heights[k];
                abut_world *world = make_world(floor, body, h);
                /* Through the floor, also on a slant. */
                assert_true(time_of(world, (abut_vec3){0, 0, -5}, same, h) == 0);
                assert_true(time_of(world, (abut_vec3){0, 0, -0.1}, same, h) == 0);
                assert_true(time_of(world, (abut_vec3){1, 0, -5}, same, h) < 0.01);
                /* Along it, about the vertical, up, and a little up. */
                assert_true(time_of(world, (abut_vec3){1.7, 0.3, 0}, same, h) == 1);
                assert_true(time_of(world, (abut_vec3){0.4, 0, 0}, spin, h) == 1);
                assert_true(time_of(world, (abut_vec3){0, 0, 2}, same, h) == 1);
                assert_true(time_of(world, (abut_vec3){1, 0, 0.01}, same, h) == 1);
                /* A step that ends where it begins. */
                assert_true(time_of(world, (abut_vec3){0, 0, 0}, same, h) == 1);
                /* Tilted about its middle, an edge goes down; a ball only turns. */
                const double tilted = time_of(world, (abut_vec3){0, 0, 0}, tilt, h);
                if (body == BODY_SPHERE)
                    assert_true(tilted == 1);
                else
                    assert_true(tilted < 0.03);
                /* Tilted while it is lifted by enough. */
                assert_true(time_of(world, (abut_vec3){0, 0, 2}, tilt, h) == 1);
                abut_world_destroy(world);
            }
}

/* Bodies that are apart are not concerned. */
TEST(bodies_above_the_floor_fall_onto_it) {
    const abut_quat same = {0, 0, 0, 1};
    abut_world *world = make_world(FLOOR_MESH, BODY_MESH, 0.0001);
    const double time = time_of(world, (abut_vec3){0, 0, -5}, same, 0.0001);
    assert_true(time > 0 && time <= 2e-5);
    assert_true(time_of(world, (abut_vec3){3, 0, 0}, same, 0.0001) == 1);
    abut_world_destroy(world);
}

/* A body that rests on one part of a mesh is stopped by another part of the same mesh. */
TEST(walls_of_the_same_mesh_stop_a_sliding_body) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *parts[2], *placed, *room;
    abut_world *world;
    uint32_t id;
    shape.extent = (abut_vec3){20, 20, 1};
    assert_ok(abut_shape_create(NULL, &shape, &parts[0]));
    shape.extent = (abut_vec3){1, 20, 4};
    assert_ok(abut_shape_create(NULL, &shape, &placed));
    assert_ok(abut_mesh_transform(placed, 1, (abut_pose){{0, 0, 0, 1}, {3, 0, 2}}, &parts[1]));
    assert_ok(abut_mesh_join(parts, 2, &room));
    assert_ok(abut_world_create(NULL, NULL, &world));
    abut_world_item item = {.size = sizeof(abut_world_item),
                            .collider.kind = ABUT_COLLIDER_MESH,
                            .motion = ABUT_WORLD_STATIC};
    item.collider.pose = (abut_pose){{0, 0, 0, 1}, {0, 0, -0.5}};
    item.collider.shape.mesh.mesh = room;
    assert_ok(abut_world_add(world, &item, &id));
    abut_world_item box = {.size = sizeof(abut_world_item),
                           .collider.kind = ABUT_COLLIDER_BOX,
                           .collider.pose = {{0, 0, 0, 1}, {0, 0, 0.499}}};
    box.collider.shape.half = (abut_vec3){0.5, 0.5, 0.5};
    assert_ok(abut_world_add(world, &box, &id));
    const double time = time_of(world, (abut_vec3){8, 0, 0}, (abut_quat){0, 0, 0, 1}, -0.001);
    assert_true(fabs(time - 2.0 / 8) < 1e-3);
    for (int i = 0; i < 2; i++)
        abut_mesh_destroy(parts[i]);
    abut_mesh_destroy(placed);
    abut_mesh_destroy(room);
    abut_world_destroy(world);
}

/* A box that rests in a moving tray goes with it, also when both turn upside down. */
TEST(bodies_that_move_together_do_not_limit_the_step) {
    abut_world *world = make_world(FLOOR_BOX, BODY_BOX, -0.001);
    const uint32_t ids[2] = {0, 1};
    const double c = sqrt(0.5);
    abut_world_item floor = {.size = sizeof(abut_world_item),
                             .collider.kind = ABUT_COLLIDER_BOX,
                             .collider.pose = {{0, 0, 0, 1}, {0.13, 0.07, -0.5}}};
    floor.collider.shape.half = (abut_vec3){10, 10, 0.5};
    assert_ok(abut_world_replace(world, 0, &floor));
    /* About x by a right angle, and along y. Paths are chords, so that the box does not stay where
     * it is on the floor, but close to it. */
    const abut_pose ends[2] = {{{c, 0, 0, c}, {0.13, 3 + 0.5, 0.07}},
                               {{c, 0, 0, c}, {0, 3 - 0.499, 0}}};
    abut_world_impact impacts[4];
    abut_world_impacts to = {.size = sizeof to, .list = impacts, .capacity = 4};
    assert_ok(abut_world_sweep(world, ids, abut_array_host(ends), 2, NULL, &to));
    assert_true(to.time > 0);
    const abut_pose shifted[2] = {{{0, 0, 0, 1}, {1.13, 2.07, 2.5}}, {{0, 0, 0, 1}, {1, 2, 3.499}}};
    assert_ok(abut_world_sweep(world, ids, abut_array_host(shifted), 2, NULL, &to));
    assert_true(to.time == 1);
    abut_world_destroy(world);
}

static abut_quat random_quat(test_random *random, double most) {
    return (abut_quat){test_random_real(random, -most, most), test_random_real(random, -most, most),
                       test_random_real(random, -most, most), 1};
}

/* The penetration depth of two primitives, by their own exact function; negative if apart. */
static double depth_of(const abut_collider *a, const abut_collider *b) {
    abut_patch patch;
    abut_contact contacts[8];
    abut_patches found = {.size = sizeof found,
                          .patches.list = &patch,
                          .patches.capacity = 1,
                          .contacts.list = contacts,
                          .contacts.capacity = 8};
    assert_ok(abut_contact_find(a, b, NULL, &found));
    return found.patches.count ? patch.depth : -1;
}

/* The guarantee for random convex bodies that touch or overlap at the start, whose depth is known
 * exactly: before the time that is safe they are nowhere deeper than at the start and the slack. */
TEST(random_bodies_do_not_go_deeper_than_the_slack) {
    test_random random = {17};
    uint32_t counts[3] = {0, 0, 0}; /* of times that are 0, 1 and between */
    for (uint32_t round = 0; round < test_rounds(1600); round++) {
        abut_world_item items[2] = {{.size = sizeof(abut_world_item),
                                     .collider.kind = ABUT_COLLIDER_BOX},
                                    {.size = sizeof(abut_world_item),
                                     .collider.kind = ABUT_COLLIDER_BOX}};
        abut_collider solids[2] = {{.kind = ABUT_COLLIDER_BOX}, {.kind = ABUT_COLLIDER_BOX}};
        double slack = 0, sizes[2];
        for (int k = 0; k < 2; k++) {
            const abut_vec3 half = {test_random_real(&random, 0.2, 1),
                                    test_random_real(&random, 0.2, 1),
                                    test_random_real(&random, 0.2, 1)};
            items[k].collider.shape.half = solids[k].shape.half = half;
            sizes[k] = 2 * fmax(half.x, fmax(half.y, half.z));
            if (test_random_below(&random, 4) == 0) {
                items[k].collider.kind = ABUT_COLLIDER_SPHERE;
                solids[k].kind = ABUT_COLLIDER_SPHERE;
                items[k].collider.shape.sphere = solids[k].shape.sphere =
                    (abut_sphere){{0, 0, 0}, half.x};
                sizes[k] = 2 * half.x;
                slack += 0.004 * half.x;
            }
            items[k].collider.pose.rotation = random_quat(&random, 1);
        }
        slack += 1e-4 * fmin(sizes[0], sizes[1]);
        /* b along a random way, to where both are a little deep. */
        const abut_vec3 way = {test_random_real(&random, -1, 1), test_random_real(&random, -1, 1),
                               test_random_real(&random, 0.1, 1)};
        const double wanted =
            test_random_below(&random, 3) ? test_random_real(&random, 0, 0.03) : 0;
        double near = 0, far = 20;
        for (int i = 0; i < 60; i++) {
            const double at = 0.5 * (near + far);
            items[1].collider.pose.translation = (abut_vec3){at * way.x, at * way.y, at * way.z};
            for (int k = 0; k < 2; k++)
                solids[k].pose = items[k].collider.pose;
            *(depth_of(&solids[0], &solids[1]) > wanted ? &near : &far) = at;
        }
        items[1].collider.pose.translation = (abut_vec3){near * way.x, near * way.y, near * way.z};
        solids[1].pose = items[1].collider.pose;
        const double start = fmax(depth_of(&solids[0], &solids[1]), 0);
        abut_world *world;
        uint32_t ids[2];
        test_motion_path paths[2];
        abut_pose ends[2];
        assert_ok(abut_world_create(NULL, NULL, &world));
        for (int k = 0; k < 2; k++) {
            assert_ok(abut_world_add(world, &items[k], &ids[k]));
            ends[k] = items[k].collider.pose;
            const abut_quat turn = random_quat(&random, 0.1);
            const double step = test_random_below(&random, 2) ? 0.3 : 0.01;
            ends[k].rotation.x += turn.x;
            ends[k].rotation.y += turn.y;
            ends[k].translation.x += test_random_real(&random, -step, step);
            ends[k].translation.y += test_random_real(&random, -step, step);
            ends[k].translation.z += test_random_real(&random, -step, step);
            paths[k] = (test_motion_path){items[k].collider.pose, ends[k]};
        }
        abut_world_impact impacts[2];
        abut_world_impacts to = {.size = sizeof to, .list = impacts, .capacity = 2};
        abut_contact contacts[64];
        abut_contacts known = {.size = sizeof known, .list = contacts, .capacity = 64};
        if (round % 2) /* which the sweep then uses */
            assert_ok(abut_world_contacts(world, &known));
        assert_ok(abut_world_sweep(world, ids, abut_array_host(ends), 2, NULL, &to));
        counts[to.time == 0 ? 0 : to.time == 1 ? 1 : 2]++;
        for (int i = 0; i <= 40 && to.time > 0; i++) {
            for (int k = 0; k < 2; k++)
                assert_ok(abut_pose_interpolate(&paths[k].from, &paths[k].to, to.time * i / 40,
                                                &solids[k].pose));
            assert_true(depth_of(&solids[0], &solids[1]) <= start + slack + 1e-6);
        }
        abut_world_destroy(world);
    }
    assert_true(counts[0] > 5 && counts[1] > 5 && counts[2] > 5);
}

/* A sensor stops nothing. */
TEST(sensors_do_not_limit_the_step) {
    abut_world *world = make_world(FLOOR_MESH, BODY_MESH, -0.001);
    abut_world_item ghost = {.size = sizeof(abut_world_item),
                             .collider.kind = ABUT_COLLIDER_BOX,
                             .is_sensor = true};
    ghost.collider.pose = (abut_pose){{0, 0, 0, 1}, {0, 0, 0.499}};
    ghost.collider.shape.half = (abut_vec3){0.5, 0.5, 0.5};
    assert_ok(abut_world_replace(world, 1, &ghost));
    assert_true(time_of(world, (abut_vec3){0, 0, -5}, (abut_quat){0, 0, 0, 1}, -0.001) == 1);
    abut_world_destroy(world);
}
