/* What answers say of their own worth: surfaces without border, with holes, with triangles that
 * face opposite ways, and turned inside out; asked of pairs, signs, fields, contacts and worlds. */
#include "bvh/meshes.h"

#include <abut/abut.h>

typedef enum fault { SOUND, FLIPPED, BOWL, INSIDE_OUT, FAULTS } fault;

/* A sphere of radius 1: as it is, every second triangle turned, without its top, all turned. */
static abut_mesh *sphere(fault which) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *whole = NULL, *mesh = NULL;
    shape.radius = 1;
    shape.segments = 6;
    assert_ok(abut_shape_create(NULL, &shape, &whole));
    uint32_t count = abut_mesh_triangle_count(whole), kept = 0;
    uint32_t *indices = malloc(3 * (size_t)count * sizeof *indices);
    assert_non_null(indices);
    for (uint32_t t = 0; t < count; t++) {
        const uint32_t *from = abut_mesh_indices(whole) + 3 * (size_t)t;
        bool turned = which == INSIDE_OUT || (which == FLIPPED && t % 2);
        if (which == BOWL && abut_mesh_positions(whole)[from[0]].z > 0.5)
            continue;
        uint32_t *to = indices + 3 * (size_t)kept++;
        to[0] = from[0];
        to[1] = from[turned ? 2 : 1];
        to[2] = from[turned ? 1 : 2];
    }
    abut_mesh_input input = abut_mesh_input_doubles(abut_mesh_positions(whole),
                                                    abut_mesh_vertex_count(whole), indices, kept);
    assert_ok(abut_mesh_create(NULL, &input, &mesh));
    free(indices);
    abut_mesh_destroy(whole);
    return mesh;
}

static abut_bvh *small_ball(void) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh = NULL;
    shape.radius = 0.2;
    shape.segments = 3;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    return hierarchy(mesh);
}

static const abut_verdict expected[FAULTS] = {
    [SOUND] = ABUT_VERDICT_GUARANTEED,
    [FLIPPED] = ABUT_VERDICT_UNFIT,
    [BOWL] = ABUT_VERDICT_LIMITED,
    [INSIDE_OUT] = ABUT_VERDICT_GUARANTEED,
};

static void assert_advice(abut_verdict verdict, const char *part, abut_advice advice) {
    assert_int_equal(verdict, advice.verdict);
    assert_non_null(advice.reason);
    if (!strstr(advice.reason, part))
        fail_msg("'%s' does not say '%s'", advice.reason, part);
}

/* A ball in the middle: containment decides. */
static void inside_decides(void **state) {
    abut_bvh *ball = small_ball();
    for (int f = 0; f < FAULTS; f++) {
        abut_bvh *around = hierarchy(sphere((fault)f));
        abut_posed a = {.bvh = ball}, b = {.bvh = around};
        abut_overlap one, other;
        abut_separation apart;
        abut_pair_options surfaces = abut_pair_options_default();
        abut_advice advice;
        bool within;
        bool exact = expected[f] == ABUT_VERDICT_GUARANTEED;
        surfaces.surfaces = true;
        assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &one));
        assert_advice(expected[f],
                      exact       ? "exact"
                      : f == BOWL ? "B has a border"
                                  : "of B face",
                      one.advice);
        if (f != FLIPPED)
            assert_int_equal(ABUT_PAIR_A_INSIDE, one.relation);
        assert_ok(abut_pair_overlap(&b, &a, NULL, NULL, &other));
        assert_advice(expected[f],
                      exact       ? "exact"
                      : f == BOWL ? "A has a border"
                                  : "of A face",
                      other.advice);
        assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &apart));
        assert_int_equal(one.relation, apart.relation);
        assert_ptr_equal(one.advice.reason, apart.advice.reason);
        assert_ok(abut_pair_within(&a, &b, 0.1, NULL, NULL, &within, &advice));
        assert_ptr_equal(one.advice.reason, advice.reason);
        /* what is near enough is, whatever is inside */
        assert_ok(abut_pair_within(&a, &b, 2, NULL, NULL, &within, &advice));
        assert_true(within);
        if (one.relation == ABUT_PAIR_APART)
            assert_int_equal(ABUT_VERDICT_GUARANTEED, advice.verdict);
        /* surfaces alone ask nothing of a mesh */
        assert_ok(abut_pair_overlap(&a, &b, &surfaces, NULL, &one));
        assert_int_equal(ABUT_PAIR_APART, one.relation);
        assert_int_equal(ABUT_VERDICT_GUARANTEED, one.advice.verdict);
        abut_bvh_destroy(around);
    }
    abut_bvh_destroy(ball);
}

/* Surfaces that meet, and bodies far from each other: exact, whatever they are. */
static void surfaces_decide(void **state) {
    abut_bvh *ball = small_ball();
    for (int f = 0; f < FAULTS; f++) {
        abut_bvh *around = hierarchy(sphere((fault)f));
        abut_posed a = {.bvh = ball}, b = {.bvh = around};
        abut_overlap overlap;
        abut_separation apart;
        a.pose.translation.z = -1;
        assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
        assert_int_equal(ABUT_PAIR_MEETING, overlap.relation);
        assert_advice(ABUT_VERDICT_GUARANTEED, "exact", overlap.advice);
        a.pose.translation.z = -3;
        assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &apart));
        assert_int_equal(ABUT_PAIR_APART, apart.relation);
        assert_advice(ABUT_VERDICT_GUARANTEED, "exact", apart.advice);
        abut_bvh_destroy(around);
    }
    abut_bvh_destroy(ball);
}

/* The worst of all poses, and both meshes. */
static void batches(void **state) {
    abut_bvh *ball = small_ball(), *flipped = hierarchy(sphere(FLIPPED));
    abut_bvh *bowl = hierarchy(sphere(BOWL));
    abut_pose at[3] = {{.translation = {5, 0, 0}}, {.translation = {0, 0, -1}}, {.rotation.w = 1}};
    abut_pair_poses poses = abut_pair_poses_default();
    abut_pair_relation relations[3];
    abut_separation separations[3];
    abut_advice advice;
    bool within[3];
    poses.a = ball;
    poses.b = flipped;
    poses.poses_a = at;
    for (size_t count = 2; count <= 3; count++) {
        abut_verdict verdict = count == 3 ? ABUT_VERDICT_UNFIT : ABUT_VERDICT_GUARANTEED;
        poses.count = count;
        assert_ok(abut_pair_overlap_batch(&poses, NULL, relations, &advice));
        assert_int_equal(verdict, advice.verdict);
        assert_ok(abut_pair_within_batch(&poses, 0.01, NULL, within, &advice));
        assert_int_equal(verdict, advice.verdict);
        assert_ok(abut_pair_distance_batch(&poses, NULL, separations));
        assert_int_equal(ABUT_VERDICT_GUARANTEED, separations[0].advice.verdict);
        assert_int_equal(ABUT_VERDICT_GUARANTEED, separations[1].advice.verdict);
    }
    assert_int_equal(ABUT_VERDICT_UNFIT, separations[2].advice.verdict);
    /* two meshes that are both in doubt: the worse of the two is told */
    abut_posed a = {.bvh = bowl}, b = {.bvh = flipped};
    abut_overlap overlap;
    abut_mesh *shrunk = NULL;
    assert_ok(abut_mesh_transform(abut_bvh_mesh(bowl), 0.3, a.pose, &shrunk));
    abut_bvh *small = hierarchy(shrunk);
    a.bvh = small;
    assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &overlap));
    assert_advice(ABUT_VERDICT_UNFIT, "of B face", overlap.advice);
    abut_bvh_destroy(small);
    abut_bvh_destroy(bowl);
    abut_bvh_destroy(flipped);
    abut_bvh_destroy(ball);
}

/* Signs, fields, contacts, worlds. */
static void fields_pass_it_on(void **state) {
    abut_bvh *ball = small_ball();
    abut_field_options options = abut_field_options_default();
    abut_field *own = NULL;
    abut_samples *samples = NULL;
    options.cells = 12;
    assert_ok(abut_sign_prepare(ball, NULL));
    assert_ok(abut_field_create_from(ball, &options, &own));
    assert_ok(abut_samples_create(abut_bvh_mesh(ball), NULL, &samples));
    assert_null(abut_sign_info_get(NULL).advice.reason);
    for (int f = 0; f < FAULTS; f++) {
        abut_bvh *around = hierarchy(sphere((fault)f));
        abut_field *field = NULL, *again = NULL;
        static abut_contact room[4096];
        abut_contacts found = {.list = room, .capacity = 4096};
        assert_ok(abut_sign_prepare(around, NULL));
        assert_int_equal(expected[f], abut_sign_info_get(around).advice.verdict);
        assert_ok(abut_field_create_from(around, &options, &field));
        assert_int_equal(expected[f], abut_field_info_get(field).advice.verdict);
        const char *path = test_path("field.abutf");
        assert_ok(abut_field_write(field, path, NULL));
        assert_ok(abut_field_read(NULL, path, NULL, &again));
        assert_ptr_equal(abut_field_info_get(field).advice.reason,
                         abut_field_info_get(again).advice.reason);
        abut_body a = {.field = own, .samples = samples}, b = {.field = again};
        a.pose.translation.z = -0.85;
        assert_ok(abut_contact_bodies(&a, &b, NULL, &found));
        assert_int_equal(expected[f], found.advice.verdict);
        /* samples of the ball against a plane: no field is asked */
        abut_plane plane = {{0, 0, 1}, -0.85};
        found.advice.verdict = ABUT_VERDICT_UNFIT;
        assert_ok(abut_contact_plane(&a, &plane, NULL, &found));
        assert_int_equal(ABUT_VERDICT_GUARANTEED, found.advice.verdict);

        abut_world *world = NULL;
        abut_world_item item = {.kind = ABUT_WORLD_BODY, .pose = a.pose};
        uint32_t id;
        item.shape.body.field = own;
        item.shape.body.samples = samples;
        assert_ok(abut_world_create(NULL, NULL, &world));
        assert_ok(abut_world_add(world, &item, &id));
        item.shape.body.field = again;
        item.shape.body.samples = NULL;
        item.pose.translation.z = 0;
        assert_ok(abut_world_add(world, &item, &id));
        found.capacity = 4096;
        assert_ok(abut_world_contacts(world, &found));
        assert_int_equal(expected[f], found.advice.verdict);
        abut_world_destroy(world);
        abut_field_destroy(again);
        abut_field_destroy(field);
        abut_bvh_destroy(around);
    }
    abut_samples_destroy(samples);
    abut_field_destroy(own);
    abut_bvh_destroy(ball);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside_decides),
        cmocka_unit_test(surfaces_decide),
        cmocka_unit_test(batches),
        cmocka_unit_test(fields_pass_it_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
