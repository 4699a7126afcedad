/* Sweeps with an allowed depth, safe times of single items, and what engines do with them: fast
 * bodies do not pass through thin ones. */
#include "support/pose.h"
#include "support/support.h"

#include <math.h>

static abut_bvh *make_tree(double x, double y, double z) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    abut_bvh *bvh;
    shape.extent = (abut_vec3){x, y, z};
    shape.segments = 1;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

static uint32_t add(abut_world *world, const abut_collider *collider, abut_world_motion motion) {
    abut_world_item item = abut_world_item_default();
    uint32_t id;
    item.collider = *collider;
    item.motion = motion;
    assert_ok(abut_world_add(world, &item, &id));
    return id;
}

static abut_pose at(double x, double y, double z) {
    return (abut_pose){{0, 0, 0, 1}, {x, y, z}};
}

/* ---- the allowed depth ---- */

/* Bodies of height 1 whose lowest point is `height` above a floor, which ends at z = 0. */
enum { BODIES = 4, FLOORS = 3 };

static abut_world *make_pair(int body, int floor, double height, abut_bvh *cube, abut_bvh *ground) {
    abut_world *world;
    const abut_pose up = at(0, 0, 0.5 + height), below = at(0.13, 0.07, -0.5);
    const abut_collider floors[FLOORS] = {abut_collider_from_bvh(ground, below),
                                          abut_collider_from_box((abut_vec3){10, 10, 0.5}, below),
                                          abut_collider_from_plane((abut_plane){{0, 0, 3}, 0},
                                                                   abut_pose_identity())};
    const abut_collider bodies[BODIES] = {abut_collider_from_bvh(cube, up),
                                          abut_collider_from_box((abut_vec3){0.5, 0.5, 0.5}, up),
                                          abut_collider_from_hull(cube, up),
                                          abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.5},
                                                                    up)};
    assert_ok(abut_world_create(NULL, NULL, &world));
    add(world, &floors[floor], ABUT_WORLD_STATIC);
    add(world, &bodies[body], ABUT_WORLD_DYNAMIC);
    return world;
}

TEST(bodies_sink_to_the_allowed_depth) {
    abut_bvh *cube = make_tree(1, 1, 1), *ground = make_tree(20, 20, 1);
    const double heights[] = {0.01, 0.001, 0, -0.002, -0.02};
    const uint32_t id = 1;
    for (int floor = 0; floor < FLOORS; floor++)
        for (int body = 0; body < BODIES; body++)
            for (int k = 0; k < 5; k++)
                for (int tilts = 0; tilts < 2; tilts++) {
                    const double h = heights[k], allowed = 0.005, down = 0.4;
                    abut_world *world = make_pair(body, floor, h, cube, ground);
                    abut_world_impact list[2];
                    double time = 7;
                    abut_world_impacts to = {.size = sizeof to,
                                             .list = list,
                                             .capacity = 2,
                                             .times = &time};
                    abut_world_sweep_options options = abut_world_sweep_options_default();
                    options.allowed_depth = allowed;
                    abut_pose end = at(0.1, 0, 0.5 + h - down);
                    if (tilts) /* about the vertical */
                        end.rotation.z = 0.3;
                    assert_ok(
                        abut_world_sweep(world, &id, abut_array_host(&end), 1, &options, &to));
                    /* Until it is as deep as allowed, or as at the start. */
                    const double depth = fmax(allowed, -h), round = body == 3 ? 0.004 * 0.5 : 0,
                                 slack = 1e-4 + round;
                    assert_int_equal(to.count, 1);
                    assert_true(to.time == time);
                    if (h <= -allowed)
                        assert_true(time < 0.01);
                    else
                        assert_true(time * down <= h + depth + slack + 1e-6 &&
                                    time * down >= h + depth - round - 0.5 * slack);
                    /* A little down is free; the impact is listed all the same. */
                    end.translation.z = 0.5 + h - 0.002;
                    assert_ok(
                        abut_world_sweep(world, &id, abut_array_host(&end), 1, &options, &to));
                    assert_int_equal(to.count, h < 0.002);
                    if (h > -allowed)
                        assert_true(to.time == 1);
                    else if (body != 3)             /* its slack is larger */
                        assert_true(to.time < 0.1); /* it also slides */
                    /* Through the floor. */
                    end.translation.z = -500;
                    assert_ok(
                        abut_world_sweep(world, &id, abut_array_host(&end), 1, &options, &to));
                    assert_true(to.time < 1e-4);
                    abut_world_destroy(world);
                }
    abut_bvh_destroy(cube);
    abut_bvh_destroy(ground);
}

TEST(allowed_depths_are_validated_and_limited) {
    abut_bvh *cube = make_tree(1, 1, 1), *ground = make_tree(20, 20, 0.002);
    abut_world *world = make_pair(0, 0, 0.5, cube, ground);
    abut_world_impact list[2];
    abut_world_impacts to = {.size = sizeof to, .list = list, .capacity = 2};
    abut_world_sweep_options options = abut_world_sweep_options_default();
    const abut_pose end = at(0, 0, -60);
    const uint32_t id = 1;
    const double bad[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        options.allowed_depth = bad[i];
        assert_refused("allowed_depth",
                       abut_world_sweep(world, &id, abut_array_host(&end), 1, &options, &to));
    }
    options.allowed_depth = 1e6; /* a quarter of the size of the smaller one */
    assert_ok(abut_world_sweep(world, &id, abut_array_host(&end), 1, &options, &to));
    assert_true(to.count == 1 && to.time > 0 && to.time < 0.05);
    abut_world_destroy(world);
    abut_bvh_destroy(cube);
    abut_bvh_destroy(ground);
}

/* ---- times of single items ---- */

TEST(items_stop_by_themselves) {
    abut_world *world;
    assert_ok(abut_world_create(NULL, NULL, &world));
    const abut_sphere ball = {{0, 0, 0}, 0.5};
    abut_collider one = abut_collider_from_plane((abut_plane){{0, 0, 1}, 0}, abut_pose_identity());
    add(world, &one, ABUT_WORLD_STATIC);
    const double xs[] = {0, 10, 20, 40, 42}, zs[] = {2, 4, 6, 3, 3};
    for (int i = 0; i < 5; i++) {
        one = abut_collider_from_sphere(ball, at(xs[i], 0, zs[i]));
        add(world, &one, ABUT_WORLD_DYNAMIC);
    }
    /* Three fall by 3; the last two fly past each other, and the first of these hits the floor. */
    const uint32_t ids[] = {3, 2, 1, 4, 5};
    const abut_pose ends[] = {at(20, 0, 3), at(10, 0, 1), at(0, 0, -1), at(43, 0.2, -1),
                              at(39, 1.6, 3)};
    abut_world_impact list[8];
    double times[5];
    abut_world_impacts to = {.size = sizeof to, .list = list, .capacity = 8, .times = times};
    assert_ok(abut_world_sweep(world, ids, abut_array_host(ends), 5, NULL, &to));
    assert_true(times[0] == 1 && times[1] == 1 && fabs(times[2] - 0.5) < 1e-3);
    assert_true(times[3] == times[4] && times[3] > 0.2 && times[3] <= 0.5 / 0.8);
    assert_true(to.time == fmin(times[2], times[3]));
    /* One that stays where it is does not stop others, and is not stopped by them. */
    const abut_pose still[] = {at(20, 0, 6), at(10, 0, 1), at(0, 0, 2), at(43, 0.2, -1),
                               at(42, 0, 3)};
    assert_ok(abut_world_sweep(world, ids, abut_array_host(still), 5, NULL, &to));
    assert_true(times[0] == 1 && times[1] == 1 && times[2] == 1 && times[4] == 1);
    assert_true(times[3] > 0.2 && times[3] <= 0.5 / 0.8);
    /* If the list is too small, nothing else is written. */
    to.capacity = 0;
    times[0] = 77;
    assert_int_equal(abut_world_sweep(world, ids, abut_array_host(ends), 5, NULL, &to),
                     ABUT_ERROR_BUFFER);
    assert_true(times[0] == 77);
    abut_world_destroy(world);
}

/* All items move until their own times: no pair that is separate at the start overlaps on the way,
 * also if one of the two has stopped before the other. */
TEST(items_that_stop_by_themselves_do_not_overlap) {
    enum { ITEMS = 24, SAMPLES = 30 };
    test_random random = {41};
    abut_bvh *cube = make_tree(1, 0.4, 0.2);
    uint32_t stopped = 0, longer = 0;
    for (uint32_t round = 0; round < test_rounds(60); round++) {
        abut_world *world;
        abut_collider items[ITEMS];
        test_motion_path paths[ITEMS];
        abut_world_impact list[ITEMS * ITEMS];
        double times[ITEMS];
        abut_pose ends[ITEMS];
        abut_world_impacts to = {.size = sizeof to,
                                 .list = list,
                                 .capacity = ITEMS * ITEMS,
                                 .times = times};
        assert_ok(abut_world_create(NULL, NULL, &world));
        for (int i = 0; i < ITEMS; i++) {
            paths[i].from = random_pose(&random, 2.5);
            paths[i].from.translation.x *= 2;
            paths[i].to = random_pose(&random, 0.7);
            paths[i].to.translation = v3_add(paths[i].from.translation, paths[i].to.translation);
            if (i % 4 == 0)
                paths[i].to = paths[i].from;
            items[i] = i % 3 == 0
                           ? abut_collider_from_box((abut_vec3){0.3, 0.3, 0.1}, paths[i].from)
                           : abut_collider_from_bvh(cube, paths[i].from);
            add(world, &items[i], ABUT_WORLD_DYNAMIC);
            ends[i] = paths[i].to;
        }
        assert_ok(abut_world_sweep(world, NULL, abut_array_host(ends), ITEMS, NULL, &to));
        for (int i = 0; i < ITEMS; i++) {
            assert_true(times[i] >= to.time && times[i] <= 1);
            stopped += times[i] < 1;
            longer += times[i] > to.time;
        }
        bool touches[ITEMS][ITEMS] = {{false}};
        for (uint64_t i = 0; i < to.count; i++)
            touches[list[i].a][list[i].b] = list[i].result.time == 0;
        for (int s = 0; s < SAMPLES; s++) {
            for (int i = 0; i < ITEMS; i++)
                assert_ok(abut_pose_interpolate(&paths[i].from, &paths[i].to,
                                                fmin(times[i] * (1 - 1e-9), (double)s / SAMPLES),
                                                &items[i].pose));
            for (int a = 0; a < ITEMS; a++)
                for (int b = a + 1; b < ITEMS; b++) {
                    abut_patch patch[4];
                    abut_contact contacts[32];
                    abut_patches found = {.size = sizeof found,
                                          .patches.list = patch,
                                          .patches.capacity = 4,
                                          .contacts.list = contacts,
                                          .contacts.capacity = 32};
                    if (touches[a][b] || v3_length(v3_sub(items[a].pose.translation,
                                                          items[b].pose.translation)) > 1.2)
                        continue;
                    assert_ok(abut_contact_find(&items[a], &items[b], NULL, &found));
                    for (uint64_t k = 0; k < found.patches.count; k++)
                        assert_true(patch[k].depth < 1e-6);
                }
        }
        abut_world_destroy(world);
    }
    print_message("  %u stopped, %u moved on\n", stopped, longer);
    assert_true(stopped > 5 && longer > 5);
    abut_bvh_destroy(cube);
}

/* ---- bullets ---- */

enum { BALLS = 20, FRAMES = 3 };

#define FRAME (1.0 / 120)

/* 20 balls at 100 to 1,050 m/s above a plate of 0.002, with speed x FRAME as their margins if
 * `speculative`. Ball and plate are of any of four kinds. */
static abut_world *make_range(int kinds, bool speculative, abut_bvh *plate, abut_bvh *ball) {
    abut_world *world;
    assert_ok(abut_world_create(NULL, NULL, &world));
    abut_world_item item = abut_world_item_default();
    uint32_t id;
    item.motion = ABUT_WORLD_STATIC;
    item.collider = kinds & 1 ? abut_collider_from_box((abut_vec3){5, 5, 0.001}, at(0, 0, 0))
                              : abut_collider_from_bvh(plate, at(0, 0, 0));
    assert_ok(abut_world_add(world, &item, &id));
    for (int i = 0; i < BALLS; i++) {
        const abut_pose from = at(-4 + 0.4 * i, 0.1 * i, 1 + 0.1 * i);
        item.motion = ABUT_WORLD_DYNAMIC;
        item.collider = kinds & 2 ? abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.05}, from)
                                  : abut_collider_from_bvh(ball, from);
        item.margin = speculative ? (100 + 50 * i) * FRAME : 0;
        assert_ok(abut_world_add(world, &item, &id));
    }
    return world;
}

/* The three recipes of docs/world.md. */
typedef enum recipe { WHOLE_WORLD, SINGLE_ITEMS, MARGINS, UNPROTECTED, RECIPES } recipe;

/* The fraction of its way by which a ball may move, by its contacts within the margin. */
static double speculative_fraction(abut_world *world, uint32_t id, double way) {
    static abut_contact list[4096];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 4096};
    double fraction = 1;
    assert_ok(abut_world_contacts(world, &found));
    for (uint64_t i = 0; i < found.count; i++)
        if (list[i].a == id || list[i].b == id) {
            const double towards = way * fabs(list[i].normal.z); /* the ball goes down */
            if (-list[i].depth < towards * fraction)
                fraction = fmax(-list[i].depth / towards, 0);
        }
    return fraction;
}

TEST(no_bullet_passes_a_plate) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh;
    abut_bvh *plate = make_tree(10, 10, 0.002), *ball;
    shape.radius = 0.05;
    shape.segments = 2;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_bvh_create(mesh, NULL, &ball));
    abut_mesh_destroy(mesh);
    for (int kinds = 0; kinds < 4; kinds++)
        for (recipe how = 0; how < RECIPES; how++) {
            abut_world *world = make_range(kinds, how == MARGINS, plate, ball);
            abut_pose poses[BALLS];
            uint32_t ids[BALLS], passed = 0;
            for (uint32_t i = 0; i < BALLS; i++) {
                ids[i] = i + 1;
                poses[i] = at(-4 + 0.4 * i, 0.1 * i, 1 + 0.1 * i);
            }
            bool stopped[BALLS] = {false};
            for (int frame = 0; frame < FRAMES; frame++) {
                double left[BALLS];
                for (int i = 0; i < BALLS; i++)
                    left[i] = stopped[i] ? 0 : 1;
                bool is_left = true;
                for (int part = 0; is_left && part < (how == WHOLE_WORLD ? 40 : 1); part++) {
                    abut_pose ends[BALLS];
                    abut_world_impact list[64];
                    double times[BALLS];
                    abut_world_impacts to = {.size = sizeof to,
                                             .list = list,
                                             .capacity = 64,
                                             .times = times};
                    for (int i = 0; i < BALLS; i++) {
                        ends[i] = poses[i];
                        ends[i].translation.z -= (100 + 50 * i) * FRAME * left[i];
                    }
                    assert_ok(
                        abut_world_sweep(world, ids, abut_array_host(ends), BALLS, NULL, &to));
                    for (int i = 0; i < BALLS; i++) {
                        double t = how == WHOLE_WORLD    ? to.time
                                   : how == SINGLE_ITEMS ? times[i]
                                   : how == UNPROTECTED
                                       ? 1
                                       : speculative_fraction(world, ids[i],
                                                              (100 + 50 * i) * FRAME * left[i]);
                        /* A solver would take the speed of balls that hit. */
                        assert_ok(abut_pose_interpolate(&poses[i], &ends[i], t, &poses[i]));
                        left[i] *= 1 - t;
                    }
                    for (uint64_t k = 0; k < to.count && how == WHOLE_WORLD; k++)
                        if (list[k].result.time <= to.time)
                            left[list[k].b - 1] = 0, stopped[list[k].b - 1] = true;
                    assert_ok(abut_world_set_poses(world, ids, abut_array_host(poses), BALLS));
                    is_left = false;
                    for (int i = 0; i < BALLS; i++)
                        is_left |= left[i] > 0;
                }
            }
            for (int i = 0; i < BALLS; i++)
                passed += poses[i].translation.z < 0;
            if (how == UNPROTECTED)
                assert_int_equal(passed, BALLS);
            else
                assert_int_equal(passed, 0);
            abut_world_destroy(world);
        }
    abut_bvh_destroy(plate);
    abut_bvh_destroy(ball);
}

/* Two that fly through each other within a step, and two that pass each other closely. */
TEST(bullets_that_pass_each_other_are_found) {
    abut_bvh *plate = make_tree(0.002, 1, 1);
    const double offsets[] = {0, 0.999, 1.001, 3};
    for (int k = 0; k < 4; k++) {
        abut_world *world;
        abut_collider one = abut_collider_from_bvh(plate, at(-50, 0, 0));
        assert_ok(abut_world_create(NULL, NULL, &world));
        add(world, &one, ABUT_WORLD_DYNAMIC);
        one.pose = at(50, offsets[k], 0);
        add(world, &one, ABUT_WORLD_DYNAMIC);
        const abut_pose ends[2] = {at(60, 0, 0), at(-45, offsets[k], 0)};
        abut_world_impact list[1];
        double times[2];
        abut_world_impacts to = {.size = sizeof to, .list = list, .capacity = 1, .times = times};
        assert_ok(abut_world_sweep(world, NULL, abut_array_host(ends), 2, NULL, &to));
        assert_int_equal(to.count, k < 2);
        assert_true(times[0] == times[1] && times[0] == to.time);
        assert_true(k < 2 ? fabs(to.time - (100 - 0.002) / (110 + 95)) < 1e-6 : to.time == 1);
        abut_world_destroy(world);
    }
    abut_bvh_destroy(plate);
}
