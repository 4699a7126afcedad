/* Impulses of sheets on bodies: weight, pull, torque, and the balance of momentum in every step. */
#include "fixture.h"

typedef struct impulse {
    vec linear, angular;
} impulse;

static impulse impulse_about(abut_cloth *c, vec point) {
    impulse i = {{9, 9, 9}, {9, 9, 9}};
    assert_ok(abut_cloth_get_body_impulse(c, 0, point, &i.linear, &i.angular));
    return i;
}

static double mass_of(const abut_cloth *c) {
    double sum = 0;
    for (uint32_t i = 0; i < c->vertices; i++)
        sum += c->mass[i];
    return sum;
}

/* Linear momentum of the sheets, and angular momentum about the origin. */
static impulse momentum_of(abut_cloth *c) {
    impulse sum = {{0, 0, 0}, {0, 0, 0}};
    const vec *x = positions_of(c);
    for (uint32_t i = 0; i < c->vertices; i++) {
        const vec one = v3_scale(c->velocity[i], c->mass[i]);
        sum.linear = v3_add(sum.linear, one);
        sum.angular = v3_add(sum.angular, v3_cross(x[i], one));
    }
    return sum;
}

/* A sheet of 0.7 m and one patch above a box with the upper face at z = 0.5. */
static abut_cloth *make_table(const cloth_options *o, double height, abut_mesh **mesh,
                              abut_mesh **body) {
    assert_ok(make_sheet(serial, 9, 0.7, v3(0, 0, 0.5 + height), mesh));
    *body = make_shape(ABUT_SHAPE_BOX, 3);
    return make_cloth(*mesh, *body, o);
}

static void destroy(abut_cloth *c, abut_mesh *mesh, abut_mesh *body) {
    abut_cloth_destroy(c);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(body);
}

TEST(weight_rests_on_the_body) {
    const double dt = 1.0 / 60;
    const cloth_options options = {.gravity = {0, 0, -9.81},
                                   .bend = 1e-4,
                                   .friction = 0.4,
                                   .damping = 1};
    abut_mesh *mesh, *body;
    abut_cloth *c = make_table(&options, 0.03, &mesh, &body);
    assert_true(v3_length(impulse_about(c, v3(0, 0, 0)).linear) == 0);
    for (int i = 0; i < 60; i++)
        step(c, dt, NULL);
    vec linear = {0, 0, 0}, angular = {0, 0, 0};
    for (int i = 0; i < 20; i++) {
        step(c, dt, NULL);
        const impulse one = impulse_about(c, v3(1, 0, 0));
        linear = v3_along(linear, 0.05, one.linear);
        angular = v3_along(angular, 0.05, one.angular);
    }
    const double weight = mass_of(c) * 9.81 * dt;
    assert_close(-weight, linear.z, 0.02 * weight);
    assert_close(0, linear.x, 0.02 * weight);
    assert_close(0, linear.y, 0.02 * weight);
    assert_close(-weight, angular.y, 0.03 * weight); /* (-1, 0, 0) x (0, 0, -w) = (0, -w, 0) */
    assert_close(0, angular.x, 0.03 * weight);
    destroy(c, mesh, body);
}

/* Two corners and the vertices between them, pinned to or on springs of a box. */
TEST(sheets_pull_what_they_hang_on) {
    const double dt = 1.0 / 60, stiffness[] = {0, 400};
    for (int k = 0; k < 2; k++) {
        const cloth_options options = {.gravity = {0, 0, -9.81}, .bend = 1e-4, .damping = 3};
        const uint32_t held[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
        abut_cloth_attachment list[10];
        abut_mesh *mesh, *body = make_shape(ABUT_SHAPE_BOX, 3);
        assert_ok(make_sheet(serial, 9, 0.7, v3(0, 1, 0), &mesh));
        abut_cloth *c = make_cloth(mesh, body, &options);
        assert_ok(abut_cloth_bind(c, 0, 0, held, 10, stiffness[k], list));
        assert_ok(abut_cloth_attach(c, 0, list, 10));
        for (int i = 0; i < 240; i++)
            step(c, dt, NULL);
        vec linear = {0, 0, 0};
        for (int i = 0; i < 20; i++) {
            step(c, dt, NULL);
            linear = v3_along(linear, 0.05, impulse_about(c, v3(0, 0, 0)).linear);
        }
        const double weight = mass_of(c) * 9.81 * dt;
        assert_close(-weight, linear.z, 0.02 * weight);
        assert_close(0, v3_length(v3(linear.x, linear.y, 0)), 0.05 * weight);
        destroy(c, mesh, body);
    }
}

/* The momentum of a sheet that falls on a body changes by weight and impulse, in every step. */
static void check_balance(abut_mesh *mesh, abut_mesh *body, const cloth_options *o, vec velocity,
                          double dt, int steps, uint32_t *impacts, uint32_t *halvings) {
    abut_cloth *c = make_cloth(mesh, body, o);
    for (uint32_t i = 0; i < c->vertices; i++)
        c->velocity[i] = velocity;
    double largest = 0, scale = mass_of(c) * (v3_length(velocity) + 9.81 * dt);
    for (int i = 0; i < steps; i++) {
        const impulse before = momentum_of(c);
        const abut_cloth_report report = step(c, dt, NULL);
        assert_true(report.fraction == 1);
        const impulse after = momentum_of(c), on_body = impulse_about(c, v3(0, 0, 0));
        vec change = v3_sub(after.linear, before.linear);
        change = v3_along(change, -dt * mass_of(c), o->gravity);
        if (v3_length(v3_add(change, on_body.linear)) > 1e-6 * scale)
            fail_msg("step %d: momentum changes by %g, the body gets %g (%u impacts)", i, change.z,
                     on_body.linear.z, report.impacts);
        largest = fmax(largest, v3_length(on_body.linear));
        *impacts += report.impacts;
        *halvings += report.halvings;
    }
    assert_true(largest > 0.02 * scale);
    abut_cloth_destroy(c);
}

TEST(momentum_is_balanced) {
    abut_mesh *mesh, *ball = make_shape_at(ABUT_SHAPE_ICOSPHERE, 3, 0.5, pose_at(0, 0, 0)),
                     *cone = make_shape_at(ABUT_SHAPE_CONE, 5, 0.5, pose_at(0, 0, 0));
    uint32_t impacts = 0, halvings = 0;
    assert_ok(make_sheet(serial, 14, 0.7, v3(0.05, 0.02, 0.32), &mesh));
    cloth_options options = {.gravity = {0, 0, -9.81},
                             .bend = 1e-4,
                             .friction = 0.5,
                             .ignore_self = true};
    check_balance(mesh, ball, &options, v3(0, 0, -1), 1.0 / 60, 30, &impacts, &halvings);
    options.substeps = 1;
    options.thickness = 0.002;
    check_balance(mesh, ball, &options, v3(0, 0, -20), 1.0 / 60, 12, &impacts, &halvings);
    check_balance(mesh, cone, &options, v3(0, 1, -30), 1.0 / 60, 12, &impacts, &halvings);
    assert_true(impacts > 1000);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(ball);
    abut_mesh_destroy(cone);
}

/* Two boxes crush a sheet, whose vertices stop between them. Both impulses together are its
 * momentum. */
TEST(stopped_vertices_are_balanced) {
    const cloth_options options = {.bend = 1e-4,
                                   .friction = 0.5,
                                   .thickness = 0.01,
                                   .ignore_self = true,
                                   .body_may_lag = true};
    abut_mesh *mesh, *body;
    abut_cloth *c = make_table(&options, 0.02, &mesh, &body);
    abut_cloth_body_options above = abut_cloth_body_options_default();
    uint32_t upper, halvings = 0;
    above.pose = pose_at(0.1, 0, 1.06);
    assert_ok(abut_cloth_add_body(c, body, &above, &upper));
    double largest = 0;
    for (int i = 0; i < 20; i++) {
        const impulse before = momentum_of(c);
        assert_ok(abut_cloth_set_body_pose(c, upper, pose_at(0.1, 0, 1.06 - 0.01 * i)));
        const abut_cloth_report report = step(c, 1.0 / 60, NULL);
        halvings += report.halvings;
        vec sum = v3_sub(momentum_of(c).linear, before.linear), one, angular;
        for (uint32_t k = 0; k < 2 && report.fraction == 1; k++) {
            assert_ok(abut_cloth_get_body_impulse(c, k, v3(0, 0, 0), &one, &angular));
            sum = v3_add(sum, one);
            largest = fmax(largest, v3_length(one));
        }
        assert_true(report.fraction < 1 || v3_length(sum) <= 1e-5 * largest);
    }
    assert_true(halvings > 0 && largest > 0);
    destroy(c, mesh, body);
}

/* A sheet on a box that turns is dragged along, and brakes the box. */
TEST(turning_bodies_are_braked) {
    const double dt = 1.0 / 120, speed = 4;
    const cloth_options options = {.gravity = {0, 0, -9.81},
                                   .bend = 1e-4,
                                   .friction = 0.5,
                                   .ignore_self = true};
    abut_mesh *mesh, *body;
    abut_cloth *c = make_table(&options, 0.02, &mesh, &body);
    double braked = 0;
    for (int i = 1; i <= 60; i++) {
        const double half = 0.5 * speed * dt * i;
        assert_ok(
            abut_cloth_set_body_pose(c, 0, (abut_pose){{0, 0, sin(half), cos(half)}, {0, 0, 0}}));
        step(c, dt, NULL);
        braked += impulse_about(c, v3(0, 0, 0)).angular.z;
    }
    const double spin = momentum_of(c).angular.z;
    assert_true(spin > 0.01 && braked < 0);
    assert_close(-spin, braked, 0.1 * spin);
    destroy(c, mesh, body);
}

/* Impulses are those of the last successful step, and zero with a new body. */
TEST(impulses_stay_until_the_next_step) {
    const cloth_options options = {.gravity = {0, 0, -9.81}};
    abut_mesh *mesh, *body;
    abut_cloth *c = make_table(&options, 0.02, &mesh, &body);
    for (int i = 0; i < 5; i++)
        step(c, 1.0 / 60, NULL);
    const impulse before = impulse_about(c, v3(1, 2, 3));
    assert_true(v3_length(before.linear) > 0);
    assert_refused("seconds is -1", abut_cloth_step(c, -1, NULL));
    uint32_t crossing;
    assert_ok(abut_cloth_add_body(c, body, NULL, &crossing));
    vec linear, angular;
    assert_ok(abut_cloth_get_body_impulse(c, crossing, v3(0, 0, 0), &linear, &angular));
    assert_true(v3_length(linear) == 0 && v3_length(angular) == 0);
    const impulse after = impulse_about(c, v3(1, 2, 3));
    assert_memory_equal(&before, &after, sizeof after);
    assert_ok(abut_cloth_remove_sheet(c, 0));
    step(c, 1.0 / 60, NULL);
    assert_true(v3_length(impulse_about(c, v3(0, 0, 0)).linear) == 0);
    destroy(c, mesh, body);
}

TEST(refusals) {
    const cloth_options options = {0};
    abut_mesh *mesh, *body;
    abut_cloth *c = make_table(&options, 0.02, &mesh, &body);
    vec a = {7, 7, 7}, b = {7, 7, 7};
    const vec origin = {0, 0, 0};
    assert_refused("cloth", abut_cloth_get_body_impulse(NULL, 0, origin, &a, &b));
    assert_refused("body is 1", abut_cloth_get_body_impulse(c, 1, origin, &a, &b));
    assert_refused("linear", abut_cloth_get_body_impulse(c, 0, origin, NULL, &b));
    assert_refused("angular", abut_cloth_get_body_impulse(c, 0, origin, &a, NULL));
    assert_refused("point is (0, ", abut_cloth_get_body_impulse(c, 0, v3(0, NAN, 0), &a, &b));
    assert_true(a.x == 7 && b.z == 7);
    destroy(c, mesh, body);
}

int main(void) {
    return run_serial();
}
