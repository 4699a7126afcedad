/* Particles against radial fields: no tunnelling, friction, moving fields, invalid particles;
 * points and their signed distances. */
#include "apps/get.h"
#include "radial/body.h"

/* Whether a point is inside of the surface between samples, by rays from the axis through the
 * triangles of the mesh of that surface: the referee of cells. -1 = in doubt. */
static int is_inside(const abut_mesh *surface, vec3 begin, vec3 axis, vec3 p, double margin) {
    const vec3 d = v3_sub(p, begin), o = v3_along(begin, v3_dot(d, axis), axis);
    const vec3 way = v3_sub(p, o);
    const uint32_t *t = abut_mesh_indices(surface);
    const double r = v3_length(way);
    for (uint32_t i = 0; i < abut_mesh_triangle_count(surface); i++) {
        vec3 c[3];
        double e[3];
        for (uint32_t k = 0; k < 3; k++)
            c[k] = v3_sub(body_position(surface, t[3 * i + k]), o);
        for (int k = 0; k < 3; k++)
            e[k] = v3_dot(way, v3_cross(c[(k + 1) % 3], c[(k + 2) % 3]));
        if (e[0] < 0 || e[1] < 0 || e[2] < 0 || e[0] + e[1] + e[2] <= 0)
            continue;
        const vec3 n = v3_cross(v3_sub(c[1], c[0]), v3_sub(c[2], c[0]));
        const double at = v3_dot(n, c[0]) / v3_dot(n, way); /* of the way to p */
        return fabs(at - 1) * r < margin ? -1 : at > 1;
    }
    return 0;
}

/* A rough potato: a sphere whose radii are random. */
static abut_radial *make_potato(test_random *random, abut_mesh **mesh, double rough) {
    abut_mesh *sphere = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 20);
    const uint32_t count = abut_mesh_vertex_count(sphere);
    abut_vec3 *p = malloc(count * sizeof *p);
    for (uint32_t i = 0; i < count; i++)
        p[i] = v3_scale(v3_normalise(body_position(sphere, i)),
                        1 + test_random_real(random, -rough, rough));
    *mesh = test_mesh(NULL, p, count, abut_mesh_indices(sphere), abut_mesh_triangle_count(sphere));
    abut_radial *radial = body_field(*mesh, -1.2, 1.2, 30, 25);
    const abut_character_matrix none = matrix_none();
    body_pose(radial, *mesh, &none);
    free(p);
    abut_mesh_destroy(sphere);
    return radial;
}

static void collide(abut_radial *radial, uint32_t count, const abut_vec3 *from, abut_vec3 *to,
                    abut_radial_hit *hits, double friction, double radius) {
    abut_radial_particles p = abut_radial_particles_default();
    p.count = count;
    p.from = abut_array_host(from);
    p.to = abut_array_host(to);
    p.hits = abut_array_host(hits);
    p.friction = friction;
    p.radius = radius;
    assert_ok(abut_radial_collide(radial, &p));
}

static vec3 random_point(test_random *random, double r) {
    const double x = test_random_real(random, -r, r), y = test_random_real(random, -r, r);
    return v3(x, y, test_random_real(random, -r, r));
}

/* The referee walks the way in tiny steps. */
TEST(every_cell_meets_what_tiny_steps_meet) {
    test_random random = {4};
    uint32_t met = 0;
    for (uint32_t round = 0; round < test_rounds(16); round++) {
        abut_mesh *mesh, *surface = NULL;
        abut_radial *radial = make_potato(&random, &mesh, 0.15);
        const abut_radial_view v = get_radial_field(radial, 0);
        assert_ok(abut_radial_surface(radial, 0, &surface));
        for (int i = 0; i < 24; i++) {
            enum { FINE = 250 };
            abut_vec3 a = random_point(&random, 1.6), b = random_point(&random, 1.6), to = b;
            abut_radial_hit hit;
            if (i % 8 == 0) { /* straight through the axis */
                a.z = b.z = test_random_real(&random, -0.9, 0.9);
                b = v3(-a.x, -a.y, b.z);
                to = b;
            }
            collide(radial, 1, &a, &to, &hit, 0, 0);
            double first = 2;
            bool doubt = false;
            for (int k = 0; k <= FINE && first > 1 && !doubt; k++) {
                const vec3 p = v3_lerp(a, b, (double)k / FINE);
                const int in = is_inside(surface, v.begin, v.axis, p, 1e-5);
                doubt = in < 0;
                first = in > 0 ? (double)k / FINE : first;
            }
            if (first <= 1 && !doubt) {
                met++;
                if (hit.field != 0 || hit.time > first + 1e-4)
                    fail_msg("impact at %g instead of %g", (double)hit.time, first);
            }
            if (hit.field == 0) { /* never early: there it is on the surface, or
                                   * comes to be inside */
                const vec3 p = v3_lerp(a, b, hit.time), q = v3_lerp(a, b, hit.time + 1e-4);
                assert_true(hit.time == 0 || is_inside(surface, v.begin, v.axis, p, 2e-4) ||
                            is_inside(surface, v.begin, v.axis, q, 2e-4));
                assert_true(fabs(hit.normal[0] * hit.normal[0] + hit.normal[1] * hit.normal[1] +
                                 hit.normal[2] * hit.normal[2] - 1) < 1e-5);
            } else if (!doubt)
                assert_true(first > 1 && v3_equal(to, b));
            assert_true(is_inside(surface, v.begin, v.axis, to, 1e-4) != 1);
        }
        abut_mesh_destroy(surface);
        abut_radial_destroy(radial);
        abut_mesh_destroy(mesh);
    }
    assert_true(met > 6 * test_rounds(16));
}

/* From where it enters, a particle slides on, as far as friction lets it. */
TEST(particles_slide_along_the_surface) {
    test_random random = {6};
    abut_mesh *mesh;
    abut_radial *radial = make_potato(&random, &mesh, 0);
    for (int rub = 0; rub < 2; rub++) {
        const abut_vec3 from = v3(1.05, 0.01, 0.02);
        abut_vec3 to = v3(0.9, 0.3, 0.05);
        abut_radial_hit hit;
        collide(radial, 1, &from, &to, &hit, rub, 0);
        const double angle = atan2(to.y, to.x), r = v3_length(to);
        assert_int_equal(hit.field, 0);
        assert_true(r > 0.98 && r < 1.02);
        if (rub ? angle > 0.25 : fabs(angle - atan2(0.3, 0.9)) > 0.03)
            fail_msg("friction %d: it came to %g", rub, angle);
    }
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

/* From far outside to far beyond: whatever the speed, particles stay on their side. */
TEST(no_speed_is_too_great) {
    test_random random = {5};
    abut_mesh *mesh;
    abut_radial *radial = make_potato(&random, &mesh, 0.05);
    for (uint32_t i = 0; i < test_rounds(8000); i++) {
        const double speed = pow(10, test_random_real(&random, 0, i % 4 ? 12 : 60));
        const vec3 d = v3_normalise(random_point(&random, 1));
        vec3 target = random_point(&random, 0.4);
        abut_vec3 from = v3_along(target, -3, d), to = v3_along(target, speed, d);
        abut_radial_hit hit;
        collide(radial, 1, &from, &to, &hit, 1, 0);
        assert_int_equal(hit.field, 0);
        /* with all friction it sticks about where it came in */
        const double along = v3_dot(v3_sub(to, target), d);
        assert_true(fabs(along) < 1e61);
        if (speed < 1e12 && !(along < 0.8 && along > -2))
            fail_msg("speed %g: %g behind", speed, along);
    }
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

TEST(radius_is_kept) {
    test_random random = {6};
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 48);
    const double r = abut_mesh_bounds(mesh).hi.z;
    abut_radial *radial = body_field(mesh, -1.01 * r, 1.01 * r, 64, 48);
    const abut_character_matrix none = matrix_none();
    body_pose(radial, mesh, &none);
    for (int i = 0; i < 300; i++) {
        const vec3 d = v3_normalise(random_point(&random, 1));
        abut_vec3 from = v3_scale(d, 1.5 * r), to = v3_scale(d, 0.7 * r);
        abut_radial_hit hit;
        to = v3_add(to, random_point(&random, 0.1 * r));
        collide(radial, 1, &from, &to, &hit, 0, 0.05 * r);
        assert_int_equal(hit.field, 0);
        const double at = v3_length(to) / r;
        if (!(at > 1.04 && at < 1.2))
            fail_msg("%g radii from the middle", at);
    }
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

/* On a large box, which has flat walls. */
TEST(friction) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh;
    shape.segments = 1;
    shape.extent = (abut_vec3){4, 4, 4};
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    abut_radial *radial = body_field(mesh, -1.9, 1.9, 64, 20);
    const abut_character_matrix none = matrix_none();
    body_pose(radial, mesh, &none);
    for (int k = 0; k <= 4; k++) {
        const double mu = 0.25 * k;
        /* down by 1, through the wall at x = 2 halfway, along it by 0.4 */
        abut_vec3 from = {2.5, 0.1, 0.05}, to = {1.5, 0.5, 0.05};
        abut_radial_hit hit;
        collide(radial, 1, &from, &to, &hit, mu, 0);
        assert_true(fabs(hit.time - 0.5) < 1e-4 && hit.normal[0] > 0.9999f);
        assert_true(fabs(to.x - 2) < 1e-4 && fabs(to.z - 0.05) < 1e-4);
        /* 0.2 of the way along is below the surface: mu of it is taken back */
        if (!(fabs(to.y - (0.5 - mu * 0.2)) < 1e-4))
            fail_msg("friction %g: y = %g", mu, to.y);
    }
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

TEST(moving_field_and_resting_particle) {
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 32);
    const double r = abut_mesh_bounds(mesh).hi.z;
    abut_radial *radial = body_field(mesh, -1.01 * r, 1.01 * r, 48, 32);
    abut_character_matrix bone = matrix_none();
    body_pose(radial, mesh, &bone);
    abut_vec3 at = {1.5 * r, 0, 0}, to = at;
    abut_radial_hit hit;
    collide(radial, 1, &at, &to, &hit, 1, 0);
    assert_true(hit.field == ABUT_NONE && v3_equal(at, to)); /* nothing has moved */
    bone.m[0][3] = 0.6 * r;
    body_pose(radial, mesh, &bone);
    collide(radial, 1, &at, &to, &hit, 1, 0);
    assert_int_equal(hit.field, 0);
    assert_true(hit.normal[0] > 0.9f && fabs(to.x - 1.6 * r) < 0.02 * r);
    /* also where the field has gone right over it */
    at = to = (abut_vec3){4 * r, 0.1 * r, 0};
    bone.m[0][3] = 9 * r;
    body_pose(radial, mesh, &bone);
    collide(radial, 1, &at, &to, &hit, 0, 0);
    assert_int_equal(hit.field, 0);
    assert_true(to.x > 9.9 * r && to.x < 10.1 * r);
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

TEST(odd_particles) {
    test_random random = {7};
    abut_mesh *mesh;
    abut_radial *radial = make_potato(&random, &mesh, 0.05);
    const double odd[] = {NAN, INFINITY, -INFINITY, 1e200};
    abut_radial_particles p = abut_radial_particles_default();
    abut_vec3 from[16], to[16], meant[16];
    abut_radial_hit hits[16];
    for (int i = 0; i < 16; i++) {
        from[i] = to[i] = v3(0, 0, 3);
        (&(i < 8 ? from : to)[i].x)[i % 3] = odd[i % 4];
        meant[i] = to[i];
    }
    p.count = 16;
    p.from = abut_array_host(from);
    p.to = abut_array_host(to);
    p.hits = abut_array_host(hits);
    for (int round = 0; round < 2; round++) {
        assert_ok(abut_radial_collide(radial, &p));
        assert_int_equal(p.odd_count, 16);
        assert_int_equal(p.hit_count, 0);
        assert_memory_equal(to, meant, sizeof to);
        /* on the axis, in samples, at the ends */
        for (int i = 0; i < 16; i++) {
            from[i] = v3(0, 0, -1.2 + 0.15 * i);
            to[i] = v3(0, 0, i % 2 ? -1.2 + 0.15 * i : 0);
        }
        assert_ok(abut_radial_collide(radial, &p));
        assert_int_equal(p.odd_count, 0);
        for (int i = 0; i < 16; i++) {
            assert_true(v3_length(to[i]) < 2 && v3_length(to[i]) > 0.8);
            assert_true(hits[i].left < 0.05f); /* half a cell */
        }
        memcpy(to, meant, sizeof to);
        for (int i = 0; i < 16; i++) {
            from[i] = v3(0, 0, 3);
            if (i < 8)
                (&from[i].x)[i % 3] = odd[i % 4];
        }
    }
    assert_refused("radial", abut_radial_collide(NULL, &p));
    assert_refused("particles", abut_radial_collide(radial, NULL));
    p.radius = -1;
    assert_refused("radius is -1", abut_radial_collide(radial, &p));
    p.radius = 0;
    p.friction = NAN;
    assert_refused("friction", abut_radial_collide(radial, &p));
    p.friction = 0;
    p.to = abut_array_host(NULL);
    assert_refused("to", abut_radial_collide(radial, &p));
    p.count = 0;
    assert_ok(abut_radial_collide(radial, &p));
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

/* Particles around a snake that winds, for many frames: none is ever deep inside of any field. */
TEST(snake_among_particles) {
    enum { COUNT = 400, BONES = 5 };
    test_random random = {8};
    snake s = make_snake(NULL, BONES, 33, 20);
    const uint32_t vertices = get_character_info(s.character).vertex_count;
    abut_character_matrix bones[BONES];
    abut_vec3 *positions = malloc(vertices * sizeof *positions), at[COUNT], to[COUNT];
    abut_radial_answer answers[COUNT];
    abut_radial_hit hits[COUNT];
    abut_radial_options options = abut_radial_options_default();
    abut_radial *radial = NULL;
    uint32_t met = 0;
    options.cell = 0.04;
    assert_ok(abut_radial_create(s.character, &options, &radial));
    for (int i = 0; i < COUNT; i++)
        at[i] = v3(test_random_real(&random, -1, 6), test_random_real(&random, 0.5, 2),
                   test_random_real(&random, -1, 1));
    for (int frame = 0; frame < (test_brief() ? 10 : 25); frame++) {
        bend_snake(&s, 0.5 * sin(0.2 * frame), 0.05 * frame, bones, positions);
        assert_ok(abut_radial_set_positions(radial, bones, abut_array_host(positions)));
        for (int i = 0; i < COUNT; i++)
            to[i] = v3_add(at[i], random_point(&random, 0.1));
        collide(radial, COUNT, at, to, hits, 0.2, 0);
        assert_ok(
            abut_radial_evaluate(radial, abut_array_host(to), COUNT, 0, abut_array_host(answers)));
        for (int i = 0; i < COUNT; i++) {
            met += hits[i].field != ABUT_NONE;
            if (!(answers[i].distance > -options.cell))
                fail_msg("frame %d: particle %d is %g deep, %g left", frame, i,
                         -answers[i].distance, (double)hits[i].left);
        }
        memcpy(at, to, sizeof at);
    }
    assert_true(met > 100);
    free(positions);
    abut_radial_destroy(radial);
    free_snake(&s);
}

/* ---- points ---- */

TEST(distances_of_points) {
    test_random random = {9};
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 64);
    const double r = abut_mesh_bounds(mesh).hi.z;
    abut_radial *radial = body_field(mesh, -1.001 * r, 1.001 * r, 96, 64);
    const abut_character_matrix none = matrix_none();
    body_pose(radial, mesh, &none);
    enum { COUNT = 300 };
    abut_vec3 points[COUNT];
    abut_radial_answer answers[COUNT];
    for (int i = 0; i < COUNT; i++)
        points[i] =
            v3_scale(v3_normalise(random_point(&random, 1)), r * test_random_real(&random, 0.6, 2));
    points[0] = v3(NAN, 0, 0);
    assert_ok(
        abut_radial_evaluate(radial, abut_array_host(points), COUNT, 0, abut_array_host(answers)));
    assert_true(answers[0].distance == HUGE_VAL && answers[0].field == ABUT_NONE);
    for (int i = 1; i < COUNT; i++) {
        const double meant = v3_length(points[i]) - r;
        if (!(fabs(answers[i].distance - meant) < 0.03 * r))
            fail_msg("%g instead of %g", answers[i].distance, meant);
        assert_true(v3_dot(answers[i].normal, v3_normalise(points[i])) > 0.9);
        assert_true(fabs(v3_length(answers[i].point) - r) < 0.03 * r);
    }
    assert_ok(abut_radial_evaluate(radial, abut_array_host(points), COUNT, 0.1 * r,
                                   abut_array_host(answers)));
    for (int i = 1; i < COUNT; i++) {
        const double meant = v3_length(points[i]) - r;
        if (meant > 0.2 * r)
            assert_true(answers[i].distance == HUGE_VAL);
        else if (meant < 0.05 * r)
            assert_true(answers[i].distance < 0.1 * r);
    }
    assert_refused("radial", abut_radial_evaluate(NULL, abut_array_host(points), 1, 0,
                                                  abut_array_host(answers)));
    assert_refused("limit", abut_radial_evaluate(radial, abut_array_host(points), 1, -1,
                                                 abut_array_host(answers)));
    assert_refused("points", abut_radial_evaluate(radial, abut_array_host(NULL), 1, 0,
                                                  abut_array_host(answers)));
    assert_refused("answers", abut_radial_evaluate(radial, abut_array_host(points), 1, 0,
                                                   abut_array_host(NULL)));
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

/* Neither limits nor neighbours in a list change a result: particles are skipped only if they
 * cannot matter. Points go in short steps, and now and then far away. */
TEST(what_is_left_out_changes_nothing) {
    enum { COUNT = 400, BONES = 5 };
    test_random random = {10};
    snake s = make_snake(NULL, BONES, 33, 20);
    const uint32_t vertices = get_character_info(s.character).vertex_count;
    abut_character_matrix bones[BONES];
    abut_vec3 *positions = malloc(vertices * sizeof *positions), points[COUNT];
    abut_capsule dots[COUNT];
    abut_radial_answer whole[COUNT], answers[COUNT], one;
    abut_contact list[COUNT];
    abut_radial_options options = abut_radial_options_default();
    abut_contact_options near = abut_contact_options_default();
    abut_radial *radial = NULL;
    uint32_t kinds[3] = {0, 0, 0}, cuts = 0; /* inside, near, out of reach */
    options.cell = 0.04;
    assert_ok(abut_radial_create(s.character, &options, &radial));
    bend_snake(&s, 0.4, 0.3, bones, positions);
    assert_ok(abut_radial_set_positions(radial, bones, abut_array_host(positions)));
    for (int round = 0;
         round < (int)test_rounds(40) ||
         (round < 200 && !(kinds[0] > 100 && kinds[1] > 100 && kinds[2] > 100 && cuts > 0));
         round++) {
        const double limit = pow(10, test_random_real(&random, -4, 0.5));
        for (int i = 0; i < COUNT; i++) {
            const vec3 any = positions[test_random_below(&random, vertices)];
            points[i] = i % 40 ? v3_add(points[i - 1], random_point(&random, 0.05))
                               : v3_add(any, random_point(&random, 0.3));
            dots[i] = (abut_capsule){{points[i], points[i]}, 0};
        }
        assert_ok(abut_radial_evaluate(radial, abut_array_host(points), COUNT, 0,
                                       abut_array_host(whole)));
        assert_ok(abut_radial_evaluate(radial, abut_array_host(points), COUNT, limit,
                                       abut_array_host(answers)));
        near.margin = limit / 2;
        abut_contacts found = {.size = sizeof found, .list = list, .capacity = COUNT};
        assert_ok(abut_radial_contacts(radial, COUNT, dots, &near, &found));
        const abut_contact *next = list;
        for (int i = 0; i < COUNT; i++) {
            assert_ok(abut_radial_evaluate(radial, abut_array_host(&points[i]), 1, 0,
                                           abut_array_host(&one)));
            assert_true(one.distance == whole[i].distance && one.field == whole[i].field &&
                        one.within == whole[i].within && v3_equal(one.normal, whole[i].normal));
            const bool reached = whole[i].distance < limit;
            /* an estimate that was cut off at its bound: limits and depths are of the whole one */
            const bool cut = fabs(whole[i].distance) == whole[i].within;
            assert_true(whole[i].field == ABUT_NONE || fabs(whole[i].distance) <= whole[i].within);
            cuts += whole[i].field != ABUT_NONE && cut;
            if (whole[i].field != ABUT_NONE && cut) {
                if (next < list + found.count && next->element == (uint32_t)i)
                    assert_true(fabs((next++)->depth) >= whole[i].within);
                continue;
            }
            kinds[whole[i].distance < 0 ? 0 : reached ? 1 : 2]++;
            assert_true(answers[i].distance == (reached ? whole[i].distance : HUGE_VAL));
            assert_int_equal(answers[i].field, reached ? whole[i].field : ABUT_NONE);
            if (whole[i].distance > near.margin)
                continue;
            assert_true(next < list + found.count);
            assert_int_equal(next->element, i);
            assert_true(next->depth == -whole[i].distance);
            assert_true(v3_equal(next->normal, v3_scale(whole[i].normal, -1)));
            next++;
        }
        assert_true(next == list + found.count);
    }
    assert_true(kinds[0] > 100 && kinds[1] > 100 && kinds[2] > 100 && cuts > 0);
    free(positions);
    abut_radial_destroy(radial);
    free_snake(&s);
}

TEST(contacts_of_capsules) {
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 64);
    const double r = abut_mesh_bounds(mesh).hi.z;
    abut_radial *radial = body_field(mesh, -1.001 * r, 1.001 * r, 96, 64);
    const abut_character_matrix none = matrix_none();
    body_pose(radial, mesh, &none);
    /* a point inside, a sphere that touches, one that does not, a capsule across, one at its end */
    const abut_capsule things[5] = {{{{0.9 * r, 0, 0}, {0.9 * r, 0, 0}}, 0},
                                    {{{0, 1.2 * r, 0}, {0, 1.2 * r, 0}}, 0.3 * r},
                                    {{{0, 1.5 * r, 0}, {0, 1.5 * r, 0}}, 0.3 * r},
                                    {{{-2 * r, -1.1 * r, 0}, {2 * r, -1.1 * r, 0}}, 0.2 * r},
                                    {{{3 * r, 0, 0}, {1.1 * r, 0, 0}}, 0.2 * r}};
    static const uint32_t elements[] = {0, 1, 3, 4}, parts[] = {0, 0, 2, 1};
    const double depths[] = {0.1 * r, 0.1 * r, 0.1 * r, 0.1 * r};
    const abut_vec3 outs[] = {{1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {1, 0, 0}};
    abut_contact list[8];
    abut_contacts contacts = {.size = sizeof contacts, .list = list, .capacity = 3};
    abut_contact_options options = abut_contact_options_default();
    options.a = 9;
    options.b = 7;
    assert_fails(ABUT_ERROR_BUFFER, "4 contacts, but the capacity of contacts is",
                 abut_radial_contacts(radial, 5, things, &options, &contacts));
    assert_int_equal(contacts.count, 4);
    contacts.capacity = 8;
    assert_ok(abut_radial_contacts(radial, 5, things, &options, &contacts));
    assert_int_equal(contacts.count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(list[i].element, elements[i]);
        assert_int_equal(list[i].part, parts[i]);
        assert_int_equal(list[i].side, 1);
        assert_true(list[i].a == 9 && list[i].b == 7);
        assert_true(fabs(list[i].depth - depths[i]) < 0.02 * r);
        assert_true(v3_dot(list[i].normal, outs[i]) < -0.99);
        assert_true(fabs(v3_length(list[i].point) - (r - list[i].depth)) < 0.03 * r);
    }
    options.margin = 0.25 * r;
    assert_ok(abut_radial_contacts(radial, 5, things, &options, &contacts));
    assert_int_equal(contacts.count, 5); /* the sphere 0.2 r off, too */
    assert_true(list[2].element == 2 && list[2].depth < 0);
    options.margin = -1;
    assert_refused("margin is -1", abut_radial_contacts(radial, 5, things, &options, &contacts));
    const abut_capsule odd = {{{NAN, 0, 0}, {0, 0, 0}}, 1};
    assert_refused("capsules[0]", abut_radial_contacts(radial, 1, &odd, NULL, &contacts));
    assert_refused("radial", abut_radial_contacts(NULL, 1, &odd, NULL, &contacts));
    assert_refused("contacts", abut_radial_contacts(radial, 1, &odd, NULL, NULL));
    assert_refused("capsules", abut_radial_contacts(radial, 1, NULL, NULL, &contacts));
    assert_ok(abut_radial_contacts(radial, 0, NULL, NULL, &contacts));
    assert_int_equal(contacts.count, 0);
    abut_radial_destroy(radial);
    abut_mesh_destroy(mesh);
}

TEST(measures) {
    abut_mesh *mesh = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 64), *box;
    const double r = abut_mesh_bounds(mesh).hi.z;
    const abut_character_matrix none = matrix_none();
    const uint32_t count = abut_mesh_triangle_count(mesh);
    double *errors = malloc(count * sizeof *errors), last = 1;
    abut_radial_measures m = abut_radial_measures_default();
    for (uint32_t n = 16; n <= 64; n *= 2) { /* error falls with the square of cells */
        abut_radial *radial = body_field(mesh, -1.001 * r, 1.001 * r, 2 * n, n);
        body_pose(radial, mesh, &none);
        assert_ok(abut_radial_measure(radial, mesh, errors, &m));
        assert_true(m.mean < last / 2 && m.mean <= m.rms && m.p50 <= m.p90);
        assert_true(m.p90 <= m.p99 && m.p99 <= m.max && m.max_triangle < count);
        assert_true(fabs(errors[m.max_triangle]) == m.max);
        assert_true(fabs(m.seen_area + m.missing_area + m.buried_area - m.area) < 1e-9 * m.area);
        last = m.mean;
        abut_radial_destroy(radial);
    }
    /* half of it has no field */
    abut_radial *half = body_field(mesh, 0, 1.001 * r, 64, 32);
    body_pose(half, mesh, &none);
    assert_ok(abut_radial_measure(half, mesh, NULL, &m));
    assert_true(m.missing_area > 0.4 * m.area && m.missing_area < 0.6 * m.area);
    box = body_mesh(NULL, ABUT_SHAPE_BOX, 1);
    assert_refused("12 triangles", abut_radial_measure(half, box, NULL, &m));
    assert_refused("radial", abut_radial_measure(NULL, mesh, NULL, &m));
    assert_refused("mesh", abut_radial_measure(half, NULL, NULL, &m));
    assert_refused("measures", abut_radial_measure(half, mesh, NULL, NULL));
    abut_mesh_destroy(box);
    abut_radial_destroy(half);
    abut_mesh_destroy(mesh);
    free(errors);
}
