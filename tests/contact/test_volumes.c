/* Volumes of contact patches: those of a pair sum to the volume that both solids have in common. */
#include "contact/contact_models.h"
#include "contact/mesh_patches.h"

enum { MAX_MODELS = 20 };

/* Sums the volumes of all patches of a pair, none of which is below 0. */
static double sum_volumes(const abut_collider *a, const abut_collider *b,
                          const abut_patch_options *options) {
    abut_patches found = room();
    double sum = 0;
    assert_ok(abut_contact_find(a, b, options, &found));
    for (uint64_t i = 0; i < found.patches.count; i++) {
        assert_true(list[i].volume >= 0);
        assert_true(list[i].depth >= 0 || list[i].volume == 0);
        sum += list[i].volume;
    }
    return sum;
}

/* Compares with abut_pair_measure(): vertices of skins are moved by 1e-9 of the size. Returns the
 * common volume. */
static double check_volume(const abut_bvh *a, abut_pose pose_a, const abut_bvh *b,
                           abut_pose pose_b) {
    const abut_collider posed[2] = {abut_collider_from_bvh(a, pose_a),
                                    abut_collider_from_bvh(b, pose_b)};
    abut_pair_measures common = abut_pair_measures_default();
    assert_ok(abut_pair_measure(&posed[0], &posed[1], NULL, &common));
    for (int k = 0; k < 4; k++) {
        abut_patch_options options = abut_patch_options_default();
        options.margin = k == 1 ? 0.01 : 0;
        options.skip_verification = k == 2;
        const double sum = sum_volumes(&posed[k == 3], &posed[k != 3], &options);
        if (!(fabs(sum - common.volume) <= 5e-9 * (common.area + 1)))
            fail_msg("%d: volumes of patches sum to %.12g, the overlap has %.12g", k, sum,
                     common.volume);
    }
    return common.volume;
}

static abut_bvh *make_tree(abut_mesh *mesh) {
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    abut_mesh_destroy(mesh);
    return bvh;
}

/* A copy of a mesh at half its size, with its triangles reversed. */
static abut_mesh *make_cavity(const abut_mesh *mesh) {
    const uint32_t count = abut_mesh_triangle_count(mesh);
    uint32_t *indices = malloc(3 * (size_t)count * sizeof *indices);
    abut_mesh *reversed, *cavity;
    assert_non_null(indices);
    for (uint32_t i = 0; i < 3 * count; i++)
        indices[i] = abut_mesh_indices(mesh)[i - i % 3 + 2 - i % 3];
    reversed = test_mesh(NULL, abut_mesh_local_positions(mesh), abut_mesh_vertex_count(mesh),
                         indices, count);
    assert_ok(abut_mesh_transform(reversed, 0.5, shifted(0, 0, 0), &cavity));
    abut_mesh_destroy(reversed);
    free(indices);
    return cavity;
}

/* A cube of side 1 with a cubic cavity of side 0.5. */
static abut_bvh *make_hollow_cube(void) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *parts[2], *joined;
    shape.extent = v3(1, 1, 1);
    assert_ok(abut_shape_create(NULL, &shape, &parts[0]));
    parts[1] = make_cavity(parts[0]);
    assert_ok(abut_mesh_join(parts, 2, &joined));
    abut_mesh_destroy(parts[0]);
    abut_mesh_destroy(parts[1]);
    return make_tree(joined);
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
        abut_patches found =
            k ? find_patches(peg, shifted(0, 0, 0.2), hole, turned, 0)
              : find_patches(box, shifted(-0.24, 0, 0.24), steps, shifted(0, 0, 0), 0);
        double volume = 0;
        assert_int_equal(found.patches.count, k ? 4 : 2);
        for (uint64_t i = 0; i < found.patches.count; i++) {
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

/* Pressed into two walls and the floor, and only into one of them: later shifts divide regions. */
TEST(corner_overlaps_have_the_common_volume) {
    model peg = box_model("peg", 0.98, 0.98, 1.4, 1), cube = box_model("cube", 1, 1, 1, 1),
          hole = hole_model(0.49, 0.49, 0.01, 0), tray = tray_model(0.01, 0, 0),
          stairs = shape_model("stairs", ABUT_SHAPE_STAIRS, 2, 1, 0, 2);
    const double in[] = {0.001, 0.0105, 0.013, 0.02, 0.1, 0.3};
    const abut_pose here = shifted(0, 0, 0);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) {
            assert_true(check_volume(peg.bvh, shifted(0.01 + in[i], 0.01 + in[k], 0.2), hole.bvh,
                                     here) > 0);
            assert_true(check_volume(cube.bvh, shifted(0.01 + in[i], 0.01 + in[k], 0.4995),
                                     tray.bvh, here) > 0);
            check_volume(cube.bvh, shifted(0.5 - in[i], 0, 0.5 - in[k]), stairs.bvh, here);
        }
    model *const all[] = {&peg, &cube, &hole, &tray, &stairs};
    for (int i = 0; i < 5; i++)
        abut_bvh_destroy(all[i]->bvh);
}

/* Concave models at random poses, shallow and deep, and wholly inside each other. */
TEST(random_overlaps_have_the_common_volume) {
    model models[MAX_MODELS];
    const uint32_t count = make_models(models);
    test_random random = {20};
    int overlaps = 0;
    for (int i = 0; i < 200; i++) {
        const model *a = &models[test_random_below(&random, count)],
                    *b = &models[test_random_below(&random, count)];
        const double reach = i % 4 ? 0.35 * (a->size + b->size) : 0.1;
        overlaps +=
            check_volume(a->bvh, random_pose(&random, reach), b->bvh, random_pose(&random, 0)) > 0;
    }
    assert_true(overlaps > 60);
    for (uint32_t i = 0; i < count; i++)
        abut_bvh_destroy(models[i].bvh);
}

/* Cavities are subtracted, also if a patch stands for none of them, and parts wholly inside have
 * their own volumes. */
TEST(cavities_and_inner_parts_count) {
    abut_bvh *hollow = make_hollow_cube();
    model ball = shape_model("ball", ABUT_SHAPE_ICOSPHERE, 4, 0, 0, 0.3),
          block = box_model("block", 3, 3, 3, 1), bar = box_model("bar", 0.6, 0.6, 3, 1);
    const abut_pose here = shifted(0, 0, 0);
    assert_close(check_volume(hollow, here, block.bvh, here), 0.875, 1e-9);
    assert_close(check_volume(hollow, shifted(0, 0, 1.2), block.bvh, here), 0.675, 1e-9);
    assert_true(check_volume(hollow, shifted(0, 0, 1.5), block.bvh, here) > 0);
    assert_true(check_volume(hollow, here, bar.bvh, here) > 0);
    assert_true(check_volume(hollow, here, hollow, shifted(0.1, 0.2, 0.3)) > 0);
    assert_true(check_volume(hollow, here, hollow, shifted(0.6, 0.2, 0.3)) > 0);
    assert_close(check_volume(ball.bvh, here, hollow, here), 0, 0);
    assert_true(check_volume(ball.bvh, shifted(0.3, 0, 0), hollow, here) > 0);
    assert_close(check_volume(ball.bvh, shifted(1, 0, 0), block.bvh, here), ball.report.volume,
                 1e-9);
    abut_bvh_destroy(hollow);
    abut_bvh_destroy(ball.bvh);
    abut_bvh_destroy(block.bvh);
    abut_bvh_destroy(bar.bvh);
}

/* A mesh that was refitted has the volume of its new shape. */
TEST(volumes_follow_a_refit) {
    model block = box_model("block", 3, 3, 3, 1), cube = box_model("cube", 1, 1, 1, 1);
    const abut_pose here = shifted(0, 0, 0);
    abut_mesh *smaller;
    assert_close(check_volume(cube.bvh, here, block.bvh, here), 1, 1e-9);
    assert_ok(abut_mesh_transform(abut_bvh_mesh(cube.bvh), 0.5, here, &smaller));
    assert_ok(abut_bvh_set_mesh(cube.bvh, smaller));
    assert_close(check_volume(cube.bvh, here, block.bvh, here), 0.125, 1e-9);
    abut_mesh_destroy(smaller);
    abut_bvh_destroy(cube.bvh);
    abut_bvh_destroy(block.bvh);
}

/* What is below a plane, of bodies with and without a cavity; of an open one it is 0. */
TEST(volumes_below_a_plane) {
    model cube = box_model("cube", 1, 1, 1, 2);
    abut_bvh *hollow = make_hollow_cube(), *open;
    abut_mesh *mesh = abut_bvh_mesh(cube.bvh);
    open = make_tree(test_mesh(NULL, abut_mesh_local_positions(mesh), abut_mesh_vertex_count(mesh),
                               abut_mesh_indices(mesh), abut_mesh_triangle_count(mesh) - 1));
    abut_collider ground = {.kind = ABUT_COLLIDER_PLANE};
    ground.shape.plane.normal.z = 1;
    const double heights[] = {0.45, 0.1, 0, -0.4, -2};
    for (int i = 0; i < 5; i++) {
        const double h = heights[i], below = real_min(0.5 - h, 1),
                     cavity = 0.25 * real_clamp(0.25 - h, 0, 0.5);
        const abut_bvh *const bodies[] = {cube.bvh, hollow, open};
        for (int k = 0; k < 3; k++) {
            const abut_collider a = abut_collider_from_bvh(bodies[k], shifted(0, 0, h));
            abut_patches found = room();
            double sum = 0;
            assert_ok(abut_contact_find(&a, &ground, NULL, &found));
            for (uint64_t p = 0; p < found.patches.count; p++)
                sum += list[p].volume;
            assert_close(sum, k == 2 ? 0 : below - k * cavity, 1e-12);
        }
    }
    abut_bvh_destroy(cube.bvh);
    abut_bvh_destroy(hollow);
    abut_bvh_destroy(open);
}

/* Sheets, and solids with a small hole, have no volume. */
TEST(open_meshes_have_no_volume) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_SHEET);
    model ball = shape_model("ball", ABUT_SHAPE_ICOSPHERE, 6, 0, 0, 1);
    abut_mesh *mesh = abut_bvh_mesh(ball.bvh);
    abut_bvh *sheet = tree_of(NULL, &shape),
             *holed = make_tree(test_mesh(NULL, abut_mesh_local_positions(mesh),
                                          abut_mesh_vertex_count(mesh), abut_mesh_indices(mesh),
                                          abut_mesh_triangle_count(mesh) - 1));
    const abut_bvh *const bodies[] = {sheet, holed};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            const abut_collider a = abut_collider_from_bvh(ball.bvh,
                                                           shifted(0.05, 0.07, 0.2 * i + 0.05)),
                                b = abut_collider_from_bvh(bodies[k], shifted(0, 0, 0));
            abut_patches found = room();
            assert_ok(abut_contact_find(&a, &b, NULL, &found));
            assert_true(found.patches.count > 0);
            assert_close(sum_volumes(&a, &b, NULL), 0, 0);
        }
    abut_bvh_destroy(ball.bvh);
    abut_bvh_destroy(sheet);
    abut_bvh_destroy(holed);
}
