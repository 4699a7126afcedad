/* First hits of rays against fields, and those of Sundholm (2010). */
#include "bench/reproduce/sundholm/cells.h"
#include "field/field_shapes.h"

static void check_rays(abut_field_layout layout, uint64_t seed) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_TORUS);
    abut_field_options options = abut_field_options_default();
    shape.segments = 48;
    options.cells = 64;
    options.layout = layout;
    thing t = thing_of(&shape, &options);
    test_random random = {seed};
    uint32_t hits = 0, late = 0;
    for (uint32_t round = 0; round < test_rounds(1000); round++) {
        abut_collider a = body_of(&t, random_pose(&random, 1));
        abut_pose back = pose_inverse(&a.pose);
        abut_ray ray = {random_pose(&random, 3).translation, random_pose(&random, 1).translation};
        ray.direction = v3_sub(v3_add(a.pose.translation, ray.direction), ray.origin);
        abut_ray local = {pose_apply(&back, ray.origin), {0, 0, 0}};
        local.direction =
            v3_sub(pose_apply(&back, v3_add(ray.origin, ray.direction)), local.origin);
        abut_ray_hit wanted;
        abut_field_hit hit;
        sundholm_hit cell;
        assert_ok(abut_ray_first(t.bvh, &local, 2, &wanted));
        assert_ok(abut_contact_ray(&a, &ray, 2, &hit));
        assert_ok(sundholm_ray(&a, &ray, 2, &cell));
        double length = v3_length(ray.direction);
        double start = truth(&t, &a.pose, ray.origin);
        if (start < t.cell) {
            assert_true(start > -t.cell || (hit.parameter == 0 && hit.depth > 0.1 * t.cell));
            continue;
        }
        if (hit.parameter < HUGE_VAL) {
            hits++;
            assert_true(fabs(truth(&t, &a.pose, hit.point)) < 0.1 * t.cell);
            assert_true(fabs(v3_length(hit.normal) - 1) < 1e-6);
            if (hit.parameter > 0)
                assert_true(v3_dot(hit.normal, ray.direction) < 0.1 * length);
        }
        /* Grazing ones may differ by what interpolation does. */
        late += !(hit.parameter == wanted.parameter ||
                  fabs(hit.parameter - wanted.parameter) * length < t.cell);
        if (cell.parameter < HUGE_VAL && hit.parameter < HUGE_VAL)
            assert_true(cell.depth > 0 && fabs(truth(&t, &a.pose, cell.point) + cell.depth) < 1e-5);
    }
    assert_true(hits > test_rounds(1000) / 8);
    assert_true(late <= test_rounds(1000) / 50 + 1);
    thing_free(&t);
}

TEST(rays_hit_where_triangles_are) {
    check_rays(ABUT_FIELD_DENSE, 31);
    check_rays(ABUT_FIELD_SPARSE, 32);
}

static int run(void) {
    return test_run(NULL, NULL);
}

int main(void) {
    return run_serial(run);
}
