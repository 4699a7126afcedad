/* Debug drawing: every line and point of small scenes. */
#include "scene.h"

enum { LINES = 20000, POINTS = 2000 };

typedef struct canvas {
    abut_world *world;
    abut_vec3 ends[LINES][2], points[POINTS];
    uint32_t colours[LINES], ids[LINES], line_count, point_count, refused;
} canvas;

static canvas drawn;

static void keep_line(void *user, abut_vec3 from, abut_vec3 to, uint32_t colour, uint32_t id) {
    canvas *c = user;
    assert_true(c->line_count < LINES);
    c->ends[c->line_count][0] = from;
    c->ends[c->line_count][1] = to;
    c->colours[c->line_count] = colour;
    c->ids[c->line_count++] = id;
    if (id != ABUT_NONE)
        c->refused += abut_world_remove(c->world, id) == ABUT_ERROR_ARGUMENT;
}

static void keep_point(void *user, abut_vec3 at, uint32_t colour, uint32_t id) {
    canvas *c = user;
    assert_true(c->point_count < POINTS && colour && id == ABUT_NONE);
    c->points[c->point_count++] = at;
}

static abut_status draw(abut_world *world, uint32_t parts, double crease_angle) {
    abut_world_draw_options options = abut_world_draw_options_default();
    drawn.world = world;
    drawn.line_count = drawn.point_count = drawn.refused = 0;
    options.parts = parts;
    options.crease_angle = crease_angle;
    options.user = &drawn;
    options.line = keep_line;
    options.point = keep_point;
    return abut_world_draw(world, &options);
}

static abut_pose place(double x) {
    return (abut_pose){{0, 0, 0.6, 0.8}, {x, 1, 2}};
}

/* Adds an item far from others and returns the number of its lines. */
static uint32_t count_lines(abut_world *world, const abut_world_item *item) {
    const uint32_t id = add(world, item);
    assert_ok(draw(world, ABUT_WORLD_DRAW_SHAPES, 0));
    for (uint32_t i = 0; i < drawn.line_count; i++)
        assert_int_equal(drawn.ids[i], id);
    assert_int_equal(drawn.refused, drawn.line_count);
    assert_int_equal(drawn.point_count, 0);
    const uint32_t count = drawn.line_count;
    assert_ok(abut_world_remove(world, id));
    return count;
}

/* All ends of lines are on the surface of their shape, which bounds them. */
TEST(shapes_are_outlined) {
    abut_world *world;
    abut_world_item item = abut_world_item_default();
    assert_ok(abut_world_create(serial, NULL, &world));
    item.collider = abut_collider_from_box(v3(1, 2, 3), place(1));
    assert_int_equal(count_lines(world, &item), 12);
    for (int i = 0; i < 12; i++)
        for (int k = 0; k < 2; k++) {
            const vec3 local = v3_sub(drawn.ends[i][k], v3(1, 1, 2)); /* rotated about z */
            assert_true(fabs(fabs(local.z) - 3) < 1e-12);
            assert_true(fabs(local.x * local.x + local.y * local.y - 5) < 1e-12);
        }
    item.collider = abut_collider_from_sphere((abut_sphere){{1, 0, 0}, 2}, place(1));
    assert_int_equal(count_lines(world, &item), 3 * 32);
    const vec3 centre = v3(1 + 0.28, 1 + 0.96, 2);
    for (uint32_t i = 0; i < drawn.line_count; i++)
        for (int k = 0; k < 2; k++)
            assert_true(fabs(v3_length(v3_sub(drawn.ends[i][k], centre)) - 2) < 1e-12);
    for (int round = 0; round < 2; round++) {
        const vec3 ends[2] = {v3(1, 0, 0), v3(1, 3, 0.5)};
        if (round)
            item.collider = abut_collider_from_capsule((abut_capsule){{ends[0], ends[1]}, 0.5},
                                                       abut_pose_identity());
        else
            item.collider = abut_collider_from_cylinder((abut_cylinder){{ends[0], ends[1]}, 0.5},
                                                        abut_pose_identity());
        assert_int_equal(count_lines(world, &item), round ? 4 + 4 * 32 : 4 + 2 * 32);
        for (uint32_t i = 0; i < drawn.line_count; i++)
            for (int k = 0; k < 2; k++) {
                abut_closest_on_segment near;
                const abut_segment axis = {{ends[0], ends[1]}};
                assert_ok(abut_segment_closest_point(&axis, drawn.ends[i][k], &near));
                assert_true(fabs(near.distance - 0.5) < 1e-12);
            }
    }
    item.collider = abut_collider_from_plane((abut_plane){{0, 3, 4}, 10}, abut_pose_identity());
    assert_int_equal(count_lines(world, &item), 5);
    for (int i = 0; i < 4; i++) { /* a square of 10 in the plane; then the normal */
        assert_true(fabs(v3_length(v3_sub(drawn.ends[i][0], drawn.ends[i][1])) - 10) < 1e-12);
        assert_true(fabs(v3_dot(drawn.ends[i][0], v3(0, 3, 4)) - 10) < 1e-12);
    }
    assert_true(v3_dot(v3_sub(drawn.ends[4][1], drawn.ends[4][0]), v3(0, 3, 4)) > 0);
    /* The box of 12 triangles has 18 edges, of which 12 are creases. */
    item = mesh_item(&things[1], place(0));
    assert_int_equal(count_lines(world, &item), 18);
    add(world, &item);
    assert_ok(draw(world, ABUT_WORLD_DRAW_SHAPES, 0.3));
    assert_int_equal(drawn.line_count, 12);
    /* Fields and samples alone: their box. */
    item = body_item(&things[0], place(0));
    assert_ok(abut_world_replace(world, drawn.ids[0], &item));
    assert_ok(draw(world, ABUT_WORLD_DRAW_SHAPES | ABUT_WORLD_DRAW_BOXES, 0));
    assert_int_equal(drawn.line_count, 24);
    abut_world_destroy(world);
}

/* Contacts, also those of sleeping pairs; colours by motion and sleep. */
TEST(contacts_are_drawn) {
    abut_world *world;
    abut_contact list[2];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 2};
    uint32_t ids[2], colours[6];
    assert_ok(abut_world_create(serial, NULL, &world));
    for (uint32_t i = 0; i < 2; i++) {
        abut_world_item item = abut_world_item_default();
        item.collider =
            abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.6}, abut_pose_identity());
        item.collider.pose.translation.x = i;
        ids[i] = add(world, &item);
    }
    assert_ok(abut_world_contacts(world, &found));
    assert_int_equal(found.count, 1);
    for (int asleep = 0; asleep < 2; asleep++) {
        assert_ok(abut_world_set_asleep(world, ids, 2, asleep));
        assert_ok(draw(world, 0, 0));
        assert_int_equal(drawn.point_count, 1);
        assert_int_equal(drawn.line_count, 2 * (3 * 32 + 12) + 1);
        assert_memory_equal(&drawn.points[0], &list[0].point, sizeof(vec3));
        const vec3 *normal = drawn.ends[drawn.line_count - 1];
        assert_memory_equal(&normal[0], &list[0].point, sizeof(vec3));
        assert_true(v3_length(v3_sub(v3_sub(normal[1], normal[0]), v3_scale(list[0].normal, 0.3))) <
                    1e-6); /* a quarter of the box */
        colours[asleep] = drawn.colours[0];
    }
    for (int motion = 0; motion < 4; motion++) {
        abut_world_item item = abut_world_item_default();
        item.collider = abut_collider_from_box(v3(1, 1, 1), abut_pose_identity());
        item.motion = (abut_world_motion)(motion % 3);
        item.is_sensor = motion == 3;
        assert_ok(abut_world_replace(world, ids[0], &item));
        assert_ok(draw(world, ABUT_WORLD_DRAW_SHAPES, 0));
        colours[2 + motion] = drawn.colours[0];
    }
    assert_int_equal(colours[0], colours[2]); /* dynamic */
    for (int i = 1; i < 6; i++)
        for (int k = 1; k < i; k++)
            assert_true(colours[i] != colours[k]);
    abut_world_destroy(world);
}

TEST(wrong_calls_are_refused) {
    abut_world *world;
    abut_world_draw_options options = abut_world_draw_options_default();
    assert_ok(abut_world_create(serial, NULL, &world));
    assert_ok(abut_world_draw(world, &options)); /* nothing is drawn */
    assert_refused("world is null", abut_world_draw(NULL, &options));
    assert_refused("options is null", abut_world_draw(world, NULL));
    options.normal_length = -1;
    assert_refused("normal_length", abut_world_draw(world, &options));
    options.normal_length = 0;
    options.plane_size = NAN;
    assert_refused("plane_size", abut_world_draw(world, &options));
    options.plane_size = 0;
    options.crease_angle = 4;
    assert_refused("crease_angle", abut_world_draw(world, &options));
    options.size = 0;
    assert_refused("size", abut_world_draw(world, &options));
    abut_world_destroy(world);
}

static abut_status draw_scene(abut_context *context, void *data) {
    test_random random = {71};
    abut_world *world = NULL;
    (void)data;
    abut_status status = abut_world_create(context, NULL, &world);
    for (uint32_t i = 0; i < 4 && !status; i++) {
        const abut_world_item item = mesh_item(&things[i % 2], random_pose(&random, 0.5));
        uint32_t id;
        status = abut_world_add(world, &item, &id);
    }
    status = status ? status : draw(world, 0, 0.2);
    assert_true(status || (drawn.line_count > 100 && drawn.point_count > 4));
    abut_world_destroy(world);
    return status;
}

TEST(out_of_memory) {
    assert_true(test_every_allocation(draw_scene, NULL) > 4);
}

int main(void) {
    return test_run(make_things, free_things);
}
