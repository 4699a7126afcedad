/* Moving and joining meshes. */
#include "mesh/shapes.h"

#include "mesh/mesh.h"

static double volume_of(abut_mesh *mesh) {
    abut_mesh_report report = test_examine(mesh);
    assert_true(report.is_closed && report.is_oriented);
    return report.volume;
}

static abut_pose pose_of(double x, double y, double z, double w, double tx, double ty, double tz) {
    return (abut_pose){{x, y, z, w}, {tx, ty, tz}};
}

TEST(moves_turns_and_mirrors) {
    soup *s = fresh();
    soup_box(s, 1, 2);
    AUTO(mesh) mesh = soup_mesh(NULL, s), *moved = NULL, *other = NULL;
    abut_pose still = {0};
    assert_ok(abut_mesh_transform(mesh, 1, still, &moved)); /* the identity changes no bit */
    for (uint32_t v = 0; v < 8; v++) {
        vec3 p = abuti_mesh_position(mesh, v), q = abuti_mesh_position(moved, v);
        assert_memory_equal(&p, &q, sizeof p);
    }
    assert_memory_equal(mesh->indices, moved->indices, 36 * sizeof(uint32_t));
    abut_mesh_destroy(moved);

    /* scale first, about the absolute origin, then a quarter turn about z (of any length: this
     * quaternion has length 5 sqrt 2), then the shift */
    assert_ok(abut_mesh_transform(mesh, 3, pose_of(0, 0, 5, 5, 100, 0, 0), &moved));
    for (uint32_t v = 0; v < 8; v++) {
        vec3 p = abuti_mesh_position(mesh, v), q = abuti_mesh_position(moved, v);
        vec3 expected = v3(100 - 3 * p.y, 3 * p.x, 3 * p.z);
        assert_true(v3_max_abs(v3_sub(expected, q)) < 1e-13);
    }
    assert_true(fabs(volume_of(moved) - 27) < 1e-11);
    abut_mesh_destroy(moved);

    assert_ok(abut_mesh_transform(mesh, -2, pose_of(1, 2, 3, 4, -5, 6, 7), &moved));
    assert_true(fabs(volume_of(moved) - 8) < 1e-12); /* still outwards */
    for (uint32_t t = 0; t < 12; t++)
        assert_int_equal(mesh->indices[3 * t], moved->indices[3 * t]);
    abut_mesh_destroy(moved);

    /* tiny and huge quaternions */
    assert_ok(abut_mesh_transform(mesh, 1, pose_of(1e-200, 0, 0, 2e-200, 0, 0, 0), &moved));
    assert_ok(abut_mesh_transform(mesh, 1, pose_of(1e200, 0, 0, 2e200, 0, 0, 0), &other));
    for (uint32_t v = 0; v < 8; v++)
        assert_true(v3_max_abs(v3_sub(abuti_mesh_position(moved, v),
                                      abuti_mesh_position(other, v))) < 1e-15);
}

TEST(joins_in_order) {
    soup *s = fresh();
    soup_box(s, 1, 2);
    AUTO(mesh) box = soup_mesh(NULL, s), *far = NULL, *joined = NULL;
    assert_ok(abut_mesh_transform(box, 1, pose_of(0, 0, 0, 0, 1000, 0, 0), &far));
    abut_mesh *list[3] = {box, far, box};
    assert_ok(abut_mesh_join(list, 3, &joined));
    assert_int_equal(24, joined->vertex_count);
    assert_int_equal(36, joined->triangle_count);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t v = 0; v < 8; v++) {
            vec3 p = abuti_mesh_position(list[i], v), q = abuti_mesh_position(joined, 8 * i + v);
            assert_memory_equal(&p, &q, sizeof p);
        }
        for (uint32_t k = 0; k < 36; k++)
            assert_int_equal(8 * i + box->indices[k], joined->indices[36 * i + k]);
    }
    abut_mesh_destroy(joined);
    list[1] = NULL;
    joined = NULL;
    assert_refused("mesh 1 is null", abut_mesh_join(list, 3, &joined));
    assert_refused("no meshes", abut_mesh_join(list, 0, &joined));
    assert_refused("meshes is null", abut_mesh_join(NULL, 1, &joined));
    assert_refused("joined is null", abut_mesh_join(list, 1, NULL));
    assert_null(joined);
}

TEST(refusals) {
    soup *s = fresh();
    soup_box(s, 1, 2);
    AUTO(mesh) mesh = soup_mesh(NULL, s), *moved = NULL;
    abut_pose still = {0};
    assert_refused("mesh is null", abut_mesh_transform(NULL, 1, still, &moved));
    assert_refused("moved is null", abut_mesh_transform(mesh, 1, still, NULL));
    assert_refused("scale is 0", abut_mesh_transform(mesh, 0, still, &moved));
    assert_refused("nan", abut_mesh_transform(mesh, NAN, still, &moved));
    assert_refused("inf", abut_mesh_transform(mesh, -INFINITY, still, &moved));
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 2; j++) {
            double all[7] = {0, 0, 0, 1, 0, 0, 0};
            all[i] = j ? NAN : INFINITY;
            abut_pose p = pose_of(all[0], all[1], all[2], all[3], all[4], all[5], all[6]);
            assert_refused("pose", abut_mesh_transform(mesh, 1, p, &moved));
        }
    assert_refused("vertex 0", abut_mesh_transform(mesh, 1e91, still, &moved));
    assert_refused("vertex 0", abut_mesh_transform(mesh, 1e308, still, &moved));
    assert_null(moved);
}

static abut_status move_and_join(abut_context *context, void *data) {
    const soup *s = data;
    AUTO(mesh) mesh = NULL, *moved = NULL, *joined = NULL;
    abut_pose still = {0};
    abut_status status = soup_try(context, s, &mesh);
    status = status ? status : abut_mesh_transform(mesh, -1, still, &moved);
    if (!status)
        status = abut_mesh_join((abut_mesh *[2]){mesh, moved}, 2, &joined);
    return status;
}

TEST(out_of_memory) {
    soup *s = fresh();
    soup_box(s, 1, 2);
    test_every_allocation(move_and_join, s);
}
