/* A cloth on a device has exactly the positions of the CPU. */
#include "device/open.h"

#include "changes.h"
#include "panels.h"

static abut_device *device;

static abut_mesh *make_cone(uint32_t segments, uint32_t rings) {
    abut_mesh *mesh = NULL;
    assert_ok(create_shape(serial, ABUT_SHAPE_CONE, segments, rings, 1, pose_at(0, 0, 0), &mesh));
    return mesh;
}

static void assert_same(abut_cloth *a, abut_cloth *b) {
    size_t bytes = a->all_vertices * sizeof(vec);
    assert_int_equal(a->all_vertices, b->all_vertices);
    assert_memory_equal(positions_of(a), positions_of(b), bytes);
    assert_memory_equal(a->aim, b->aim, bytes);
    assert_memory_equal(a->velocity, b->velocity, a->vertices * sizeof(vec));
    for (uint32_t i = 0; i < cloth_count_of(a, BODIES); i++) {
        const cloth_item *one = cloth_item_of(a, BODIES, i), *other = cloth_item_of(b, BODIES, i);
        assert_memory_equal(&one->impulse, &other->impulse, sizeof one->impulse);
        assert_memory_equal(&one->moment, &other->moment, sizeof one->moment);
    }
}

/* Whole animations, every frame of them free of intersections. */
TEST(scenes_are_those_of_the_cpu) {
    uint32_t impacts = 0, touches = 0, by_views = 0;
    for (int k = 0; k < SCENE_SOLID_COUNT; k++) {
        scene *s[2] = {NULL, NULL};
        for (int i = 0; i < 2; i++) {
            scene_options options = {.kind = (scene_kind)k,
                                     .triangles = 300,
                                     .device = i ? device : NULL};
            assert_ok(scene_create(serial, &options, &s[i]));
        }
        for (uint32_t frame = 0; frame < test_rounds(16) + 6; frame++) {
            abut_cloth_report reports[2] = {abut_cloth_report_default(),
                                            abut_cloth_report_default()};
            bool is_free = false;
            for (int i = 0; i < 2; i++)
                assert_ok(scene_step(s[i], &reports[i]));
            assert_int_equal(reports[0].contacts, reports[1].contacts);
            assert_int_equal(reports[0].impacts, reports[1].impacts);
            assert_int_equal(reports[0].sweeps, reports[1].sweeps);
            assert_true(reports[0].gap == reports[1].gap);
            assert_int_equal(ABUT_SELF_COMPLETE, reports[1].self_scheme);
            assert_int_equal(ABUT_SELF_COST, reports[1].self_reason);
            by_views += reports[0].self_scheme != ABUT_SELF_COMPLETE;
            assert_same(scene_cloth(s[0]), scene_cloth(s[1]));
            assert_ok(abut_cloth_is_free(scene_cloth(s[1]), &is_free));
            assert_true(is_free);
            impacts += reports[1].impacts;
            touches += reports[1].contacts;
        }
        for (int i = 0; i < 2; i++)
            scene_destroy(s[i]);
    }
    assert_true(impacts > 0 && touches > 100 && by_views > 5);
}

/* The top of a ball of cloth falls through its bottom. The CPU culls pairs by views, and searches
 * completely once it has found an impact; the device always does. */
TEST(self_impacts_are_those_of_the_cpu) {
    abut_mesh *ball = make_shape(ABUT_SHAPE_ICOSPHERE, 8);
    abut_cloth *c[2];
    uint32_t by_views = 0, completed = 0, impacts = 0;
    for (int k = 0; k < 2; k++) {
        const cloth_options options = {.stretch = 1,
                                       .substeps = 2,
                                       .thickness = 0.01,
                                       .device = k ? device : NULL};
        c[k] = make_cloth(ball, NULL, &options);
        for (uint32_t i = 0; i < c[k]->vertices; i++)
            c[k]->velocity[i].z = c[k]->position[i].z > 0.3 * 0.5 ? -12 : 0;
    }
    for (int i = 0; i < 14; i++) {
        abut_cloth_report reports[2];
        for (int k = 0; k < 2; k++)
            reports[k] = step(c[k], 0.01, NULL);
        assert_same(c[0], c[1]);
        assert_int_equal(reports[0].impacts, reports[1].impacts);
        assert_int_equal(reports[0].sweeps, reports[1].sweeps);
        assert_true(is_free(c[0]));
        by_views += reports[0].self_scheme != ABUT_SELF_COMPLETE;
        completed += reports[0].self_reason == ABUT_SELF_IMPACTS || reports[0].sweeps > 1;
        impacts += reports[0].impacts;
    }
    assert_true(by_views > 2 && completed > 1 && impacts > 5);
    abut_cloth_destroy(c[0]);
    abut_cloth_destroy(c[1]);
    abut_mesh_destroy(ball);
}

/* Several patches, and constraints one after the other at an apex of 150 edges; pins, all forces,
 * and so much thickness that neighbours push each other. */
TEST(forces_and_patches_are_those_of_the_cpu) {
    abut_mesh *meshes[] = {make_cone(150, 2), make_shape(ABUT_SHAPE_SHEET, 32)};
    const uint32_t pins[] = {3, 7};
    for (int m = 0; m < 2; m++) {
        cloth_options options = {.bend = 1e-4,
                                 .gravity = {0, 0.1, -9},
                                 .wind = {1, 2, 3},
                                 .drag = 0.5,
                                 .pressure = m ? 0 : 3,
                                 .damping = 0.3,
                                 .substeps = 2,
                                 .thickness = m ? 0.05 : 0,
                                 .friction = 0.2,
                                 .pins = pins,
                                 .pin_count = 2};
        abut_cloth *c[2] = {NULL, NULL};
        abut_cloth_report report;
        c[0] = make_cloth(meshes[m], NULL, &options);
        options.device = device;
        c[1] = make_cloth(meshes[m], NULL, &options);
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < 2; k++) {
                assert_ok(abut_cloth_set_wind(c[k], v3(1, 2, i)));
                assert_ok(try_step(c[k], 1.0 / 60, NULL, &report));
            }
            assert_same(c[0], c[1]);
        }
        assert_true(c[1]->patches.patches.count > 1 && (m == 0 || report.contacts > 1000));
        abut_cloth_destroy(c[0]);
        abut_cloth_destroy(c[1]);
        abut_mesh_destroy(meshes[m]);
    }
}

/* Local memory of devices bounds the size of a patch. */
TEST(too_many_neighbours_are_refused) {
    abut_mesh *cone = make_cone(1500, 1);
    cloth_options options = {.gravity = {0, 0, -1}};
    abut_cloth *c = NULL;
    abut_cloth_report report;
    assert_ok(create_cloth(serial, cone, &options, &c));
    assert_ok(try_step(c, 0.01, NULL, &report));
    abut_cloth_destroy(c);
    options.device = device;
    assert_ok(create_cloth(serial, cone, &options, &c));
    assert_fails(ABUT_ERROR_LIMIT, "too many neighbours", try_step(c, 0.01, NULL, &report));
    abut_cloth_destroy(c);
    abut_mesh_destroy(cone);
}

/* A box drops at a sheet all of whose vertices are pinned, rests for a step, and drops on: whatever
 * is held back, halved and cut is so on the device too. */
TEST(last_means_are_those_of_the_cpu) {
    const abut_pose above = {{0.1, 0.2, 0, 1}, {0, 0, 0.6}};
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 4);
    abut_mesh *box = make_shape_at(ABUT_SHAPE_BOX, 1, 0.5, above);
    uint32_t pins[25];
    for (uint32_t i = 0; i < 25; i++)
        pins[i] = i;
    cloth_options options = {.gravity = {0, 0, -10}, .substeps = 2, .pins = pins, .pin_count = 25};
    abut_cloth *c[2] = {NULL, NULL};
    double taken = 0;
    for (int k = 0; k < 2; k++) {
        options.device = k ? device : NULL;
        c[k] = make_cloth(sheet, box, &options);
    }
    for (int i = 0; i < 6; i++) {
        abut_cloth_report reports[2];
        for (int k = 0; k < 2; k++) {
            vec to[8];
            for (uint32_t v = 0; v < 8; v++)
                to[v] = v3_add(positions_of(c[k])[25 + v], v3(0, 0, -0.15));
            assert_ok(try_step(c[k], 0.01, i == 2 ? NULL : to, &reports[k]));
        }
        assert_same(c[0], c[1]);
        assert_true(reports[0].fraction == reports[1].fraction);
        assert_int_equal(reports[0].sweeps, reports[1].sweeps);
        taken += reports[1].fraction;
    }
    assert_true(taken < 5); /* it was stopped */
    for (int k = 0; k < 2; k++)
        abut_cloth_destroy(c[k]);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
}

/* Pins and pulls, at places that are given and at a ball that turns and squeezes the sheet. */
TEST(holds_are_those_of_the_cpu) {
    const abut_pose above = {{0.1, 0.2, 0, 1}, {0, 0, 0.4}};
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 6);
    abut_mesh *box = make_shape_at(ABUT_SHAPE_BOX, 2, 0.5, above);
    const uint32_t vertices[4] = {24, 25, 0, 6}, pins[3] = {23, 17, 31};
    abut_cloth *c[2] = {NULL, NULL};
    for (int k = 0; k < 2; k++) {
        const cloth_options options = {.bend = 1e-4,
                                       .gravity = {0, 0, -9},
                                       .substeps = 3,
                                       .body_may_lag = true,
                                       .pins = pins,
                                       .pin_count = 3,
                                       .device = k ? device : NULL};
        abut_cloth_attachment holds[4];
        c[k] = make_cloth(sheet, box, &options);
        assert_ok(abut_cloth_bind(c[k], 0, 0, vertices, 4, 50, holds));
        holds[0].stiffness = holds[2].stiffness = 0;
        holds[2].body = holds[3].body = ABUT_NONE;
        assert_ok(abut_cloth_attach(c[k], 0, holds, 4));
    }
    uint32_t late = 0, count = abut_mesh_vertex_count(box);
    for (int i = 0; i < 6; i++) {
        abut_cloth_report reports[2];
        for (int k = 0; k < 2; k++) {
            vec to[64], given[2] = {{-0.5 - 0.01 * i, -0.5, 0}, {0.5, -0.5, 1}};
            assert_true(count <= 64);
            for (uint32_t v = 0; v < count; v++)
                to[v] = v3_add(positions_of(c[k])[49 + v], v3(0.01, 0, v % 2 ? -0.1 : 0.02));
            assert_ok(abut_cloth_set_targets(c[k], 0, vertices + 2, abut_array_host(given), 2));
            assert_ok(try_step(c[k], 0.01, i == 2 ? NULL : to, &reports[k]));
        }
        assert_same(c[0], c[1]);
        assert_int_equal(reports[0].lagging, reports[1].lagging);
        late += reports[1].lagging;
    }
    assert_true(late > 0);
    for (int k = 0; k < 2; k++)
        abut_cloth_destroy(c[k]);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
}

/* Two sheets of different cloth, one of them closed and under pressure, on two bodies of different
 * friction; an attachment that comes and goes; positions from and to buffers. */
TEST(systems_are_those_of_the_cpu) {
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 6);
    abut_mesh *ball = make_shape_at(ABUT_SHAPE_ICOSPHERE, 3, 0.4, pose_at(0, 0, 0.4));
    abut_mesh *box = make_shape_at(ABUT_SHAPE_BOX, 1, 0.4, pose_at(0, 0, -0.3));
    abut_cloth *c[2];
    abut_buffer *buffer = NULL;
    uint32_t contacts = 0, index;
    assert_ok(abut_buffer_create(device, 64 * sizeof(vec), &buffer));
    for (int k = 0; k < 2; k++) {
        abut_cloth_options options = abut_cloth_options_default();
        abut_cloth_material m = abut_cloth_material_default();
        abut_cloth_body_options body = abut_cloth_body_options_default();
        options.gravity.z = -9;
        options.substeps = 3;
        options.device = k ? device : NULL;
        assert_ok(abut_cloth_create(serial, &options, &c[k]));
        m.friction = 0.4;
        m.thickness = 0.06;
        m.damping = 1;
        assert_ok(abut_cloth_add_sheet(c[k], sheet, &m, &index));
        m.pressure = 20;
        m.friction = 0.1;
        m.thickness = 0.02;
        m.bend = 1e-4;
        assert_ok(abut_cloth_add_sheet(c[k], ball, &m, &index));
        assert_ok(abut_cloth_add_body(c[k], box, NULL, &index));
        body.friction = 0.7;
        body.pose.translation.x = 0.45;
        assert_ok(abut_cloth_add_body(c[k], box, &body, &index));
    }
    for (int i = 0; i < 12; i++) {
        abut_cloth_report reports[2];
        const uint32_t corner = 0;
        for (int k = 0; k < 2; k++) {
            const abut_pose up = {{0, 0, 0.01 * i, 1}, {0.4, 0, 0.01 * i}};
            vec to[8];
            assert_ok(abut_cloth_set_body_pose(c[k], 1, up));
            for (uint32_t v = 0; v < 8; v++)
                to[v] = v3_add(abuti_mesh_position(box, v), v3(0, 0.005 * i, 0));
            if (k) {
                assert_ok(abut_buffer_write(buffer, 0, to, sizeof to));
                assert_ok(abut_cloth_set_body_positions(c[k], 0, abut_array_buffer(buffer)));
            } else {
                assert_ok(abut_cloth_set_body_positions(c[k], 0, abut_array_host(to)));
            }
            if (i == 3)
                assert_ok(pin(c[k], &corner, 1));
            if (i == 7)
                assert_ok(abut_cloth_detach(c[k], 0, &corner, 1));
            reports[k] = step(c[k], 0.02, NULL);
        }
        assert_same(c[0], c[1]);
        assert_true(is_free(c[1]));
        assert_int_equal(reports[0].contacts, reports[1].contacts);
        contacts += reports[1].contacts;
    }
    assert_true(contacts > 100);
    vec here[64], there[64];
    const uint32_t count = abut_mesh_vertex_count(sheet);
    assert_true(count <= 64);
    assert_ok(abut_cloth_get_positions(c[0], 0, abut_array_host(here)));
    assert_ok(abut_cloth_get_positions(c[1], 0, abut_array_buffer(buffer)));
    assert_ok(abut_buffer_read(buffer, 0, there, count * sizeof(vec)));
    assert_memory_equal(here, there, count * sizeof(vec));
    assert_ok(abut_cloth_get_velocities(c[0], 0, abut_array_host(here)));
    assert_ok(abut_cloth_get_velocities(c[1], 0, abut_array_buffer(buffer)));
    assert_ok(abut_buffer_read(buffer, 0, there, count * sizeof(vec)));
    assert_memory_equal(here, there, count * sizeof(vec));
    abut_buffer *small = NULL;
    assert_ok(abut_buffer_create(device, 24, &small));
    assert_fails(ABUT_ERROR_BUFFER, "positions has 24 bytes",
                 abut_cloth_get_positions(c[1], 0, abut_array_buffer(small)));
    abut_buffer_destroy(small);
    abut_buffer_destroy(buffer);
    abut_cloth_destroy(c[0]);
    abut_cloth_destroy(c[1]);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(ball);
    abut_mesh_destroy(box);
}

/* Sheets that fall onto each other on a box: those in the middle have contacts on both sides. */
TEST(layers_are_those_of_the_cpu) {
    abut_mesh *sheet = make_shape(ABUT_SHAPE_SHEET, 6);
    abut_mesh *box = make_shape_at(ABUT_SHAPE_BOX, 1, 0.4, pose_at(0, 0, -0.22));
    abut_cloth *c[2];
    uint32_t index;
    for (int k = 0; k < 2; k++) {
        abut_cloth_options options = abut_cloth_options_default();
        options.gravity.z = -9;
        options.device = k ? device : NULL;
        assert_ok(abut_cloth_create(serial, &options, &c[k]));
        assert_ok(abut_cloth_add_body(c[k], box, NULL, &index));
        for (int i = 0; i < 5; i++) {
            abut_mesh *placed = NULL;
            assert_ok(abut_mesh_transform(sheet, 1, pose_at(0.01 * i, 0, 0.02 * i), &placed));
            assert_ok(abut_cloth_add_sheet(c[k], placed, NULL, &index));
            abut_mesh_destroy(placed);
        }
    }
    for (int i = 0; i < 20; i++) {
        const abut_cloth_report here = step(c[0], 1.0 / 240, NULL),
                                there = step(c[1], 1.0 / 240, NULL);
        assert_same(c[0], c[1]);
        assert_int_equal(here.contacts, there.contacts);
        assert_true(i > 0 || there.contacts > 6 * 49); /* more than one per vertex, and the box's */
        assert_true(is_free(c[1]));
    }
    for (int k = 0; k < 2; k++)
        abut_cloth_destroy(c[k]);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
}

/* Sheets and bodies that come and go. */
TEST(changes_are_those_of_the_cpu) {
    changing s[2] = {{0}};
    for (int k = 0; k < 2; k++)
        assert_ok(make_changing(serial, k ? device : NULL, &s[k]));
    for (int frame = 0; frame < CHANGING_FRAMES; frame++) {
        abut_cloth_report reports[2];
        for (int k = 0; k < 2; k++)
            assert_ok(step_changing(&s[k], frame, &reports[k]));
        assert_same(s[0].c, s[1].c);
        assert_int_equal(reports[0].contacts, reports[1].contacts);
        assert_int_equal(reports[0].impacts, reports[1].impacts);
    }
    destroy_changing(&s[0]);
    destroy_changing(&s[1]);
}

/* Seams that contract around a cylinder and change between steps, and one to a sheet that is
 * removed. */
TEST(seams_are_those_of_the_cpu) {
    panels p[2] = {{0}};
    for (int k = 0; k < 2; k++) {
        assert_ok(create_panels(serial, k ? device : NULL, -0.05, 1.7, &p[k]));
        assert_ok(sew_sides(p[k].c));
    }
    double first = 0, last = 0;
    uint32_t contacts = 0;
    for (int i = 0; i < 100; i++) {
        abut_cloth_report reports[2];
        const abut_cloth_seam changed = {0, 0, 1, 5, 0.1, 70, 0};
        for (int k = 0; k < 2; k++) {
            if (i == 20)
                assert_ok(abut_cloth_sew(p[k].c, &changed, 1));
            if (i == 60)
                assert_ok(abut_cloth_unsew(p[k].c, &changed, 1));
            if (i == 98)
                assert_ok(abut_cloth_remove_sheet(p[k].c, 0));
            reports[k] = step(p[k].c, 1.0 / 60, NULL);
        }
        assert_same(p[0].c, p[1].c);
        assert_int_equal(reports[0].contacts, reports[1].contacts);
        assert_true(reports[0].seam_gap == reports[1].seam_gap);
        first = i ? first : reports[1].seam_gap;
        last = i < 98 ? reports[1].seam_gap : last;
        contacts += reports[1].contacts;
    }
    assert_true(last < 0.1 * first && contacts > 500);
    destroy_panels(&p[0]);
    destroy_panels(&p[1]);
}

TEST(other_devices_are_refused) {
    abut_mesh *mesh = make_shape(ABUT_SHAPE_SHEET, 2);
    abut_device_info *info = &device->info, kept = *info;
    cloth_options options = {.device = device};
    abut_cloth *c = NULL;
    info->same_bits = false;
    assert_fails(ABUT_ERROR_DEVICE, kept.name, create_cloth(serial, mesh, &options, &c));
    assert_fails(ABUT_ERROR_DEVICE, "rounds floats", create_cloth(serial, mesh, &options, &c));
    info->has_doubles = false;
    assert_fails(ABUT_ERROR_DEVICE, "no doubles", create_cloth(serial, mesh, &options, &c));
    *info = kept;
    assert_null(c);
    abut_mesh_destroy(mesh);
}

/* Two steps, in which a box runs into a sheet. What fails leaves the cloth where it was; where a
 * device failed it goes on from there as if nothing had happened. */
static abut_status step_twice(abut_cloth *c) {
    static vec ends[2][24]; /* of the first run, in which nothing fails */
    static bool known[2];
    vec position[24], velocity[16], to[8];
    abut_cloth_report report;
    abut_status status = ABUT_OK;
    for (int i = 0; i < 2 && !status; i++) {
        assert_int_equal(24, c->all_vertices);
        memcpy(position, c->position, sizeof position);
        memcpy(velocity, c->velocity, sizeof velocity);
        for (int k = 0; k < 8; k++)
            to[k] = v3_add(position[16 + k], v3(0.05, 0.1, -0.3));
        status = try_step(c, 1.0 / 60, to, &report);
        if (status) {
            assert_memory_equal(position, c->position, sizeof position);
            assert_memory_equal(velocity, c->velocity, sizeof velocity);
            if (status == ABUT_ERROR_MEMORY)
                break;
            abuti_opencl_fail_at(0);
            assert_ok(try_step(c, 1.0 / 60, to, &report));
        }
        assert_true(report.impacts > 0 || i == 0);
        if (!known[i])
            memcpy(ends[i], c->position, sizeof ends[i]);
        known[i] = true;
        assert_memory_equal(ends[i], c->position, sizeof ends[i]);
    }
    return status;
}

static abut_status run_small(abut_context *context, void *data) {
    const abut_pose above = {{0.4, 0.3, 0, 1}, {0, 0, 1.1}};
    cloth_options options = {
        .bend = 1e-4, .drag = 1, .pressure = 1, .substeps = 2, .device = device};
    const abut_cloth_attachment pulled = {.vertex = 5, .body = ABUT_NONE, .stiffness = 1};
    const abut_cloth_seam sewn = {.vertex_a = 0, .vertex_b = 3};
    abut_mesh *sheet = NULL, *box = NULL;
    abut_cloth *c = NULL;
    (void)data;
    abut_status status = make_sheet(context, 3, 1, v3(0, 0, 0), &sheet);
    NEXT(create_shape(context, ABUT_SHAPE_BOX, 1, 1, 1, above, &box));
    NEXT(create_cloth(context, sheet, &options, &c));
    NEXT(add_body(c, box));
    NEXT(abut_cloth_attach(c, 0, &pulled, 1));
    NEXT(abut_cloth_sew(c, &sewn, 1));
    NEXT(step_twice(c));
    abut_cloth_destroy(c);
    abut_mesh_destroy(sheet);
    abut_mesh_destroy(box);
    return status;
}

TEST(failures_leave_it_where_it_was) {
    test_every_device_call(run_small, NULL, 40, 97);
    assert_true(test_every_allocation(run_small, NULL) > 100);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    serial = test_context(NULL, 1);
    device = test_device(serial);
    int failed = test_run(NULL, NULL);
    abut_device_destroy(device);
    abut_context_destroy(serial);
    return failed;
}
