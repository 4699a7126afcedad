/* abut_bvh_prepare(): after it, queries keep no new memory, and results are those without it; its
 * arguments and failures. */
#include "bvh/meshes.h"

enum { QUERY_COUNT = 200, RAY_COUNT = 4096 };

/* What the queries of one round return. */
typedef struct round_results {
    abut_overlap overlap[QUERY_COUNT];
    abut_separation separation[QUERY_COUNT];
    double depth[QUERY_COUNT], volume[QUERY_COUNT];
    bool inside[QUERY_COUNT];
    abut_ray_hit hits[RAY_COUNT];
} round_results;

static abut_pose random_pose(test_random *random, double size) {
    abut_pose pose = {{test_random_real(random, -1, 1), test_random_real(random, -1, 1),
                       test_random_real(random, -1, 1), 1},
                      random_vec(random, size)};
    return pose;
}

static void run_queries(uint32_t data, const abut_bvh *bvh, const abut_bvh *other,
                        round_results *results) {
    test_random random = {7};
    memset(results, 0, sizeof *results);
    for (int i = 0; i < QUERY_COUNT; i++) {
        const abut_collider a = abut_collider_from_bvh(bvh, abut_pose_identity());
        const abut_collider b = abut_collider_from_bvh(other, random_pose(&random, 2));
        if (data & ABUT_PREPARE_OVERLAP)
            assert_ok(abut_pair_overlap(&a, &b, NULL, NULL, &results->overlap[i]));
        if (data & ABUT_PREPARE_DISTANCE)
            assert_ok(abut_pair_distance(&a, &b, NULL, NULL, &results->separation[i]));
        if (data & ABUT_PREPARE_CONTACTS) {
            abut_patch patch[64];
            abut_contact contact[256];
            abut_patches patches = abut_patches_default();
            patches.patches = (abut_patch_list){patch, 64, 0};
            patches.contacts = (abut_contact_list){contact, 256, 0};
            assert_ok(abut_contact_find(&a, &b, NULL, &patches));
            results->depth[i] = patches.patches.count ? patch[0].depth : -1;
        }
        if (data & ABUT_PREPARE_VOLUME) {
            abut_pair_measures measures = abut_pair_measures_default();
            assert_ok(abut_pair_measure(&a, &b, NULL, &measures));
            results->volume[i] = measures.volume;
        }
        if (data & ABUT_PREPARE_HULL) {
            const abut_collider hull = abut_collider_from_hull(bvh, a.pose);
            const abut_collider ball =
                abut_collider_from_sphere((abut_sphere){{0, 0, 0}, 0.5}, b.pose);
            abut_patch patch[1];
            abut_contact contact[4];
            abut_patches patches = abut_patches_default();
            patches.patches = (abut_patch_list){patch, 1, 0};
            patches.contacts = (abut_contact_list){contact, 4, 0};
            assert_ok(abut_contact_find(&hull, &ball, NULL, &patches));
            results->depth[i] = patches.patches.count ? patch[0].depth : -1;
        }
        if (data & ABUT_PREPARE_SIGNS)
            assert_ok(abut_sign_inside(bvh, random_vec(&random, 1.2), &results->inside[i]));
    }
    if (data & ABUT_PREPARE_RAYS) {
        static abut_ray rays[RAY_COUNT];
        for (int i = 0; i < RAY_COUNT; i++)
            rays[i] = (abut_ray){random_vec(&random, 2), random_vec(&random, 1)};
        assert_ok(abut_ray_first_batch(bvh, abut_array_host(rays), RAY_COUNT, HUGE_VAL,
                                       abut_array_host(results->hits)));
    }
}

/* An open mesh: a shape without its last triangles. */
static abut_mesh *open_shape(abut_context *context) {
    abut_mesh *whole = make_shape(context, ABUT_SHAPE_UVSPHERE, 24), *mesh;
    const uint32_t vertices = abut_mesh_vertex_count(whole);
    abut_vec3 *positions = malloc(vertices * sizeof *positions);
    assert_non_null(positions);
    assert_ok(abut_mesh_get_positions(whole, positions));
    mesh = test_mesh(context, positions, vertices, abut_mesh_indices(whole),
                     abut_mesh_triangle_count(whole) - 3);
    free(positions);
    abut_mesh_destroy(whole);
    return mesh;
}

TEST(queries_keep_no_new_memory) {
    static round_results without, with;
    for (int open = 0; open < 2; open++)
        for (uint32_t data = 1; data <= ABUT_PREPARE_SIGNS; data *= 2) {
            if (open && data == ABUT_PREPARE_HULL)
                continue; /* needs a closed mesh */
            test_memory memory = {0};
            abut_context *context = test_context(&memory, 1);
            abut_mesh *mesh =
                open ? open_shape(context) : make_shape(context, ABUT_SHAPE_UVSPHERE, 24);
            abut_mesh *far = make_shape(NULL, ABUT_SHAPE_TORUS, 24);
            abut_bvh *lazy, *eager, *other;
            assert_ok(abut_bvh_create(far, NULL, &other));
            assert_ok(abut_bvh_create(mesh, NULL, &lazy));
            assert_ok(abut_bvh_create(mesh, NULL, &eager));
            if (data == ABUT_PREPARE_SIGNS)
                assert_ok(abut_sign_prepare(lazy, NULL));
            uint64_t before = memory.live_bytes;
            run_queries(data, lazy, other, &without);
            /* The queries without preparation build the data. Signs are always prepared. */
            if (data != ABUT_PREPARE_SIGNS)
                assert_true(memory.live_bytes > before);

            before = memory.live_bytes;
            assert_ok(abut_bvh_prepare(eager, data));
            assert_true(memory.live_bytes > before);
            const uint64_t prepared = memory.live_bytes;
            run_queries(data, eager, other, &with);
            assert_int_equal(memory.live_bytes, prepared);
            assert_ok(abut_bvh_prepare(eager, data)); /* again: keeps what exists */
            assert_int_equal(memory.live_bytes, prepared);
            assert_memory_equal(&without, &with, sizeof with);
            abut_bvh_destroy(lazy);
            abut_bvh_destroy(eager);
            abut_bvh_destroy(other);
            abut_mesh_destroy(mesh);
            abut_mesh_destroy(far);
            abut_context_destroy(context);
            assert_int_equal(memory.live_count, 0);
        }
}

/* A preparation of signs by other options stays. */
TEST(signs_stay) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_UVSPHERE, 8);
    abut_bvh *bvh;
    abut_sign_options options = abut_sign_options_default();
    abut_sign_info info = abut_sign_info_default();
    options.method = ABUT_SIGN_NORMAL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_sign_prepare(bvh, &options));
    assert_ok(abut_bvh_prepare(bvh, ABUT_PREPARE_SIGNS));
    assert_ok(abut_sign_get_info(bvh, &info));
    assert_int_equal(info.method, ABUT_SIGN_NORMAL);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

TEST(arguments) {
    abut_mesh *mesh = make_shape(NULL, ABUT_SHAPE_TORUS, 8);
    abut_bvh *bvh;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_refused("bvh is null", abut_bvh_prepare(NULL, ABUT_PREPARE_RAYS));
    assert_refused("0x80", abut_bvh_prepare(bvh, 0x80));
    assert_refused("convex", abut_bvh_prepare(bvh, ABUT_PREPARE_HULL));
    assert_ok(abut_bvh_prepare(bvh, 0));
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
}

static abut_status prepare_all(abut_context *context, void *data) {
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_shape shape = abut_shape_default(ABUT_SHAPE_UVSPHERE);
    (void)data;
    shape.segments = shape.rings = 6;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, &bvh);
    if (!status)
        status = abut_bvh_prepare(bvh, 0x7f);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    return status;
}

TEST(no_memory) {
    assert_true(test_every_allocation(prepare_all, NULL) > 10);
}
