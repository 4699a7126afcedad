/* Rays against fields, and bodies in motion: what they hit, and when. */
#include "field/things.h"

/* ---- rays ---- */

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
        abut_body a = body_of(&t, random_pose(&random, 1));
        abut_pose back = pose_inverse(&a.pose);
        abut_ray ray = {random_pose(&random, 3).translation, random_pose(&random, 1).translation};
        ray.direction = v3_sub(v3_add(a.pose.translation, ray.direction), ray.origin);
        abut_ray local = {pose_apply(&back, ray.origin), {0, 0, 0}};
        local.direction =
            v3_sub(pose_apply(&back, v3_add(ray.origin, ray.direction)), local.origin);
        abut_ray_hit wanted;
        abut_field_hit hit, cell;
        assert_ok(abut_ray_first(t.bvh, &local, 2, &wanted));
        assert_ok(abut_contact_ray(&a, &ray, 2, ABUT_CONTACT_RAY_TRACE, &hit));
        assert_ok(abut_contact_ray(&a, &ray, 2, ABUT_CONTACT_RAY_CELLS, &cell));
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

/* ---- motion ---- */

/* A ball through a thin plate within one step. */
static void check_tunnel(abut_field_layout layout) {
    abut_shape plate_shape = abut_shape_default(ABUT_SHAPE_BOX),
               ball_shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_field_options options = abut_field_options_default();
    options.cells = 64;
    options.layout = layout;
    plate_shape.extent = v3(2, 2, 0.2);
    ball_shape.radius = 0.1;
    thing plate = thing_of(&plate_shape, &options);
    options.cells = 24;
    thing ball = thing_of(&ball_shape, &options);
    double lowest = abut_mesh_bounds(ball.mesh).lo.z;
    abut_body a = body_of(&ball, shifted(0, 0, 0)), b = body_of(&plate, shifted(0, 0, 0));
    for (double speed = 1; speed < 1e6; speed *= 10) {
        abut_path falls = {shifted(0.3, 0.2, 50), shifted(0.3, 0.2, 50 - 100 * speed)},
                  rests = {shifted(0, 0, 0), shifted(0, 0, 0)};
        abut_touch touch;
        assert_ok(abut_contact_sweep(&a, &falls, &b, &rests, 1e-3, &touch));
        double wanted = (50 - 0.1 + lowest) / (100 * speed);
        assert_true(touch.time <= wanted + 1e-6);
        assert_true(touch.time * 100 * speed >= wanted * 100 * speed - 0.01);
        assert_true(angle_between(touch.contact.normal, v3(0, 0, 1)) < 2);
        assert_true(fabs(touch.contact.point.z - 0.1) < 0.01);
        /* The same seen from the ball. */
        abut_path rises = {shifted(-0.3, -0.2, -50), shifted(-0.3, -0.2, -50 + 100 * speed)};
        assert_ok(abut_contact_sweep(&b, &rises, &a, &rests, 1e-3, &touch));
        assert_true(fabs(touch.time - wanted) * 100 * speed < 0.01);
        falls.to.translation = v3(0.3, 0.2, 0.25);
        assert_ok(abut_contact_sweep(&a, &falls, &b, &rests, 1e-3, &touch));
        assert_true(touch.time == HUGE_VAL);
    }
    thing_free(&plate);
    thing_free(&ball);
}

TEST(fast_bodies_do_not_tunnel) {
    check_tunnel(ABUT_FIELD_DENSE);
    check_tunnel(ABUT_FIELD_SPARSE);
}

/* With rotations, against small steps in time. */
TEST(turning_bodies_touch_in_time) {
    thing things[2] = {thing_by(ABUT_SHAPE_BOX, 1, 24), thing_by(ABUT_SHAPE_TORUS, 16, 24)};
    test_random random = {77};
    abut_contact_options options = abut_contact_options_default();
    uint32_t touches = 0;
    options.any_normal = true;
    for (uint32_t round = 0; round < test_rounds(24); round++) {
        abut_body a = body_of(&things[round % 2], shifted(0, 0, 0)),
                  b = body_of(&things[round / 2 % 2], shifted(0, 0, 0));
        abut_path move_a = {random_pose(&random, 1), random_pose(&random, 1)},
                  move_b = {random_pose(&random, 1), random_pose(&random, 1)};
        move_a.from.translation.x -= 4;
        double tolerance = 0.002;
        abut_touch touch;
        assert_ok(abut_contact_sweep(&a, &move_a, &b, &move_b, tolerance, &touch));
        double seen = HUGE_VAL;
        for (int i = 0; i <= 400 && seen > 1; i++) {
            double t = i / 400.0;
            for (int k = 0; k < 2; k++) {
                abut_path *m = k ? &move_b : &move_a;
                abut_quat p = m->from.rotation, q = m->to.rotation, *r;
                double dot = p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
                double sign = dot < 0 ? -1 : 1, angle = acos(fmin(1, fabs(dot)));
                double u = sin((1 - t) * angle) / sin(angle),
                       v = sign * sin(t * angle) / sin(angle);
                abut_pose *to = k ? &b.pose : &a.pose;
                r = &to->rotation;
                *r = (abut_quat){u * p.x + v * q.x, u * p.y + v * q.y, u * p.z + v * q.z,
                                 u * p.w + v * q.w};
                to->translation = v3_lerp(m->from.translation, m->to.translation, t);
            }
            abut_contacts c = {.capacity = 0};
            abut_contact_bodies(&a, &b, &options, &c);
            if (c.count)
                seen = t;
        }
        assert_true(touch.time <= seen + 1e-6); /* never late */
        if (touch.time < HUGE_VAL) {
            touches++;
            /* Not early: what touches is within the tolerance of the other then. */
            assert_true(touch.contact.depth >= -tolerance * 1.001);
        }
    }
    assert_true(touches > test_rounds(24) / 4);
    thing_free(&things[0]);
    thing_free(&things[1]);
}

static int run(void) {
    return test_run(NULL, NULL);
}

int main(void) {
    return run_serial(run);
}
