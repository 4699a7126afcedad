/* Radial fields on a device: samples and particles with the bits of the CPU, positions that stay
 * on the device, invalid ones, failing calls. */
#include "apps/get.h"
#include "device/open.h"
#include "radial/body.h"

static abut_device *device;

static int set_up(void **state) {
    (void)state;
    device = test_device(NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    abut_device_destroy(device);
    return 0;
}

enum { BONES = 5 };

static abut_radial *fields_of(const snake *s, abut_device *where) {
    abut_radial_options options = abut_radial_options_default();
    abut_radial *radial = NULL;
    options.cell = 0.08;
    options.device = where;
    assert_ok(abut_radial_create(s->character, &options, &radial));
    return radial;
}

static void same_fields(abut_radial *a, abut_radial *b) {
    abut_radial_info info = get_radial_info(a);
    assert_int_equal(info.sample_count, get_radial_info(b).sample_count);
    uint64_t finite = 0;
    for (uint32_t f = 0; f < info.field_count; f++) {
        abut_radial_view v = get_radial_field(a, f), w = get_radial_field(b, f);
        assert_int_equal(v.around * v.along, w.around * w.along);
        assert_memory_equal(v.radii, w.radii, (size_t)v.around * v.along * sizeof *v.radii);
        assert_true(v.reach == w.reach && v.step == w.step);
        for (uint32_t i = 0; i < v.around * v.along; i++)
            finite += v.radii[i] < HUGE_VALF;
    }
    assert_true(finite > info.sample_count / 2);
}

/* Particles around the snake, some fast, some odd. */
static void scatter(test_random *random, uint32_t count, abut_vec3 *from, abut_vec3 *to) {
    for (uint32_t i = 0; i < count; i++) {
        from[i] = v3(test_random_real(random, -1, BONES + 1), test_random_real(random, -2, 3),
                     test_random_real(random, -1, 1));
        const double way = i % 4 == 0 ? 6 : i % 4 == 1 ? 0.02 : 0.3; /* 0.02: within a cell */
        to[i] = v3(from[i].x + test_random_real(random, -way, way),
                   from[i].y + test_random_real(random, -way, way),
                   from[i].z + test_random_real(random, -way, way));
    }
    from[3].y = (double)NAN;
    to[4].x = (double)INFINITY;
}

typedef struct cloud {
    uint32_t count;
    abut_vec3 *from, *to[2];
    abut_radial_hit *hits[2];
} cloud;

static cloud make_cloud(uint32_t count) {
    cloud c = {.count = count, .from = malloc(count * sizeof *c.from)};
    for (int k = 0; k < 2; k++) {
        c.to[k] = malloc(count * sizeof *c.to[k]);
        c.hits[k] = malloc(count * sizeof *c.hits[k]);
    }
    return c;
}

static void free_cloud(cloud *c) {
    free(c->from);
    for (int k = 0; k < 2; k++) {
        free(c->to[k]);
        free(c->hits[k]);
    }
}

/* The same particles on both; in buffers where `stay`. */
static void collide_both(abut_radial *const both[2], cloud *c, test_random *random, bool stay) {
    const size_t bytes = c->count * sizeof *c->from, hit_bytes = c->count * sizeof **c->hits;
    abut_buffer *buffers[3] = {NULL, NULL, NULL};
    uint64_t hit_counts[2], odd_counts[2];
    scatter(random, c->count, c->from, c->to[0]);
    memcpy(c->to[1], c->to[0], bytes);
    for (int k = 0; k < 3 && stay; k++)
        assert_ok(abut_buffer_create(device, k < 2 ? bytes : hit_bytes, &buffers[k]));
    if (stay) {
        assert_ok(abut_buffer_write(buffers[0], 0, c->from, bytes));
        assert_ok(abut_buffer_write(buffers[1], 0, c->to[1], bytes));
    }
    for (int k = 0; k < 2; k++) {
        const bool there = stay && k;
        abut_radial_particles p = abut_radial_particles_default();
        p.count = c->count;
        p.from = there ? abut_array_buffer(buffers[0]) : abut_array_host(c->from);
        p.to = there ? abut_array_buffer(buffers[1]) : abut_array_host(c->to[k]);
        p.hits = there ? abut_array_buffer(buffers[2]) : abut_array_host(c->hits[k]);
        p.radius = 0.02;
        p.friction = 0.4;
        assert_ok(abut_radial_collide(both[k], &p));
        hit_counts[k] = p.hit_count;
        odd_counts[k] = p.odd_count;
    }
    if (stay) {
        assert_ok(abut_buffer_read(buffers[1], 0, c->to[1], bytes));
        assert_ok(abut_buffer_read(buffers[2], 0, c->hits[1], hit_bytes));
    }
    for (int k = 0; k < 3; k++)
        abut_buffer_destroy(buffers[k]);
    assert_true(hit_counts[0] > 5);
    assert_int_equal(hit_counts[0], hit_counts[1]);
    assert_int_equal(2, odd_counts[0]);
    assert_int_equal(2, odd_counts[1]);
    for (uint32_t i = 0; i < c->count; i++) {
        if (memcmp(&c->hits[0][i], &c->hits[1][i], sizeof **c->hits))
            fail_msg("hit %u: field %u at %g, left %g; and %u at %g, left %g", i,
                     c->hits[0][i].field, (double)c->hits[0][i].time, (double)c->hits[0][i].left,
                     c->hits[1][i].field, (double)c->hits[1][i].time, (double)c->hits[1][i].left);
        if (i != 3 && i != 4 && memcmp(&c->to[0][i], &c->to[1][i], sizeof *c->from))
            fail_msg("particle %u differs", i);
    }
}

TEST(same_bits) {
    snake s = make_snake(NULL, BONES, 24, 16);
    const uint32_t vertices = abut_mesh_vertex_count(s.mesh);
    abut_vec3 *positions = malloc(vertices * sizeof *positions);
    abut_character_matrix bones[BONES];
    test_random random = {7};
    cloud c = make_cloud(test_rounds(4000));
    abut_radial *both[2] = {fields_of(&s, NULL), fields_of(&s, device)};
    for (int frame = 0; frame < 4; frame++) {
        bend_snake(&s, 0.15 * frame - 0.2, 0.1 * frame, bones, positions);
        for (int k = 0; k < 2; k++)
            assert_ok(abut_radial_set_positions(both[k], bones, abut_array_host(positions)));
        if (frame != 1)
            same_fields(both[0], both[1]);
        collide_both(both, &c, &random, frame > 1);
    }
    abut_radial_destroy(both[0]);
    abut_radial_destroy(both[1]);
    free_cloud(&c);
    free(positions);
    free_snake(&s);
}

/* Spheres that overlap: what comes out of one is inside of another, so that all rounds are needed
 * and all exits are tested. */
TEST(same_bits_in_a_cluster) {
    enum { SPHERES = 9 };
    abut_mesh *sphere = body_mesh(NULL, ABUT_SHAPE_UVSPHERE, 12);
    const uint32_t n = abut_mesh_vertex_count(sphere), m = abut_mesh_triangle_count(sphere);
    abut_vec3 *positions = malloc(SPHERES * n * sizeof *positions);
    uint32_t *corners = malloc((size_t)SPHERES * 3 * m * sizeof *corners);
    uint32_t *triangles = malloc((size_t)SPHERES * m * sizeof *triangles);
    abut_radial_axis axes[SPHERES];
    abut_character_matrix bones[SPHERES];
    test_random random = {11};
    for (uint32_t k = 0; k < SPHERES; k++) {
        const vec3 at = v3(0.8 * (k % 3), 0.8 * (k / 3), 0.1 * (k % 2));
        bones[k] = matrix_none();
        axes[k] = (abut_radial_axis){.bone = k,
                                     .begin = v3_add(at, v3(0, 0, -1.1)),
                                     .end = v3_add(at, v3(0, 0, 1.1)),
                                     .around = 20 + k,
                                     .along = 15 + k,
                                     .triangles = triangles + k * m,
                                     .triangle_count = m};
        for (uint32_t i = 0; i < n; i++)
            positions[k * n + i] = v3_add(at, v3_normalise(body_position(sphere, i)));
        for (uint32_t i = 0; i < 3 * m; i++)
            corners[3 * k * m + i] = k * n + abut_mesh_indices(sphere)[i];
        for (uint32_t i = 0; i < m; i++)
            triangles[k * m + i] = k * m + i;
    }
    abut_mesh *mesh = test_mesh(NULL, positions, SPHERES * n, corners, SPHERES * m);
    abut_radial_options options = abut_radial_options_default();
    abut_radial *both[2] = {NULL, NULL};
    options.axes = axes;
    options.axis_count = SPHERES;
    for (int k = 0; k < 2; k++) {
        options.device = k ? device : NULL;
        assert_ok(abut_radial_create_mesh(mesh, SPHERES, &options, &both[k]));
        assert_ok(abut_radial_set_positions(both[k], bones, abut_array_host(positions)));
    }
    /* few and many: teams of both sizes */
    for (uint32_t count = 300; count < 9000; count += 8000) {
        cloud c = make_cloud(count);
        uint32_t far = 0;
        for (uint32_t i = 0; i < count; i++) {
            c.from[i] = v3(test_random_real(&random, -1, 2.6), test_random_real(&random, -1, 2.6),
                           test_random_real(&random, -1, 1));
            c.to[0][i] = c.to[1][i] = v3_add(c.from[i], v3(test_random_real(&random, -0.2, 0.2), 0,
                                                           test_random_real(&random, -0.2, 0.2)));
        }
        for (int k = 0; k < 2; k++) {
            abut_radial_particles p = abut_radial_particles_default();
            p.count = count;
            p.from = abut_array_host(c.from);
            p.to = abut_array_host(c.to[k]);
            p.hits = abut_array_host(c.hits[k]);
            assert_ok(abut_radial_collide(both[k], &p));
        }
        assert_memory_equal(c.to[0], c.to[1], count * sizeof *c.from);
        assert_memory_equal(c.hits[0], c.hits[1], count * sizeof **c.hits);
        for (uint32_t i = 0; i < count; i++)
            far +=
                c.hits[0][i].field != ABUT_NONE && v3_length(v3_sub(c.to[0][i], c.from[i])) > 0.7;
        assert_true(far > count / 50);
        free_cloud(&c);
    }
    abut_radial_destroy(both[0]);
    abut_radial_destroy(both[1]);
    abut_mesh_destroy(mesh);
    abut_mesh_destroy(sphere);
    free(positions);
    free(corners);
    free(triangles);
}

/* Update and particles in one call are the two calls one after the other. */
TEST(both_at_once) {
    snake s = make_snake(NULL, BONES, 24, 16);
    const uint32_t vertices = abut_mesh_vertex_count(s.mesh);
    abut_vec3 *positions = malloc(vertices * sizeof *positions);
    abut_character_matrix bones[BONES];
    test_random random = {8};
    cloud c = make_cloud(test_rounds(1000));
    abut_radial *all[4];
    for (int k = 0; k < 4; k++)
        all[k] = fields_of(&s, k & 1 ? device : NULL);
    for (int frame = 0; frame < 5; frame++) {
        uint64_t hit_counts[4], odd_counts[4];
        bend_snake(&s, 0.15 * frame - 0.2, 0.1 * frame, bones, positions);
        scatter(&random, c.count, c.from, c.to[0]);
        abut_vec3 *wish = malloc(c.count * sizeof *wish);
        memcpy(wish, c.to[0], c.count * sizeof *wish);
        for (int k = 0; k < 4; k++) {
            const int to = k > 0; /* the first one is what the others are held against */
            abut_radial_particles p = abut_radial_particles_default();
            memcpy(c.to[to], wish, c.count * sizeof *wish);
            p.count = frame == 3 && k < 2 ? 0 : c.count; /* none at all, then again */
            p.from = abut_array_host(c.from);
            p.to = abut_array_host(c.to[to]);
            p.hits = abut_array_host(c.hits[to]);
            p.friction = 0.2;
            if (k < 2) {
                assert_ok(abut_radial_step(all[k], bones, abut_array_host(positions), &p));
                p.count = c.count;
                if (frame == 3)
                    assert_ok(abut_radial_collide(all[k], &p));
            } else {
                assert_ok(abut_radial_set_positions(all[k], bones, abut_array_host(positions)));
                assert_ok(abut_radial_collide(all[k], &p));
            }
            hit_counts[k] = p.hit_count;
            odd_counts[k] = p.odd_count;
            if (k) {
                assert_memory_equal(c.hits[0], c.hits[1], c.count * sizeof **c.hits);
                assert_memory_equal(c.to[0] + 5, c.to[1] + 5, (c.count - 5) * sizeof *c.from);
                assert_int_equal(hit_counts[0], hit_counts[k]);
                assert_int_equal(odd_counts[0], odd_counts[k]);
            }
        }
        free(wish);
        if (frame & 1)
            same_fields(all[0], all[1]);
    }
    abut_radial_particles p = abut_radial_particles_default();
    assert_refused("radial", abut_radial_step(NULL, bones, abut_array_host(positions), &p));
    assert_refused("bones", abut_radial_step(all[1], NULL, abut_array_host(positions), &p));
    assert_refused("particles", abut_radial_step(all[1], bones, abut_array_host(positions), NULL));
    p.count = 1;
    assert_refused("from", abut_radial_step(all[1], bones, abut_array_host(positions), &p));
    p.count = 0;
    assert_refused("positions", abut_radial_step(all[1], bones, abut_array_host(NULL), &p));
    for (int k = 0; k < 4; k++)
        abut_radial_destroy(all[k]);
    free_cloud(&c);
    free(positions);
    free_snake(&s);
}

/* From skinning to samples and points without coming back. */
TEST(positions_stay) {
    snake s = make_snake(NULL, BONES, 20, 12);
    const uint32_t vertices = abut_mesh_vertex_count(s.mesh);
    abut_vec3 *positions = malloc(vertices * sizeof *positions), at[3];
    abut_radial_answer answers[2][3];
    abut_character_matrix bones[BONES];
    abut_character_skinner_options options = abut_character_skinner_options_default();
    abut_character_skinner *skinner = NULL;
    abut_buffer *buffer = NULL;
    abut_radial *both[2] = {fields_of(&s, NULL), fields_of(&s, device)};
    options.device = device;
    assert_ok(abut_character_skinner_create(s.character, &options, &skinner));
    assert_ok(abut_buffer_create(device, vertices * sizeof *positions, &buffer));
    bend_snake(&s, 0.3, 0, bones, positions);
    assert_ok(abut_character_skinner_run(skinner, bones, NULL, abut_array_buffer(buffer)));
    assert_ok(abut_radial_set_positions(both[0], bones, abut_array_host(positions)));
    assert_ok(abut_radial_set_positions(both[1], bones, abut_array_buffer(buffer)));
    same_fields(both[0], both[1]);
    at[0] = v3(0.5, 0.1, 0.05), at[1] = v3(1.5, 0.6, 0), at[2] = v3(0, (double)NAN, 0);
    for (int k = 0; k < 2; k++)
        assert_ok(
            abut_radial_evaluate(both[k], abut_array_host(at), 3, 0, abut_array_host(answers[k])));
    for (int i = 0; i < 3; i++)
        assert_true(answers[0][i].distance == answers[1][i].distance &&
                    answers[0][i].field == answers[1][i].field);
    assert_true(answers[1][0].distance < 0);

    /* Positions on a device are not looked at: those that are not finite draw nothing. */
    for (uint32_t i = 0; i < vertices; i++)
        positions[i].x = i % 3 ? (double)NAN : 1e300;
    assert_ok(abut_buffer_write(buffer, 0, positions, vertices * sizeof *positions));
    assert_ok(abut_radial_set_positions(both[1], bones, abut_array_buffer(buffer)));
    for (uint32_t f = 0; f < get_radial_info(both[1]).field_count; f++) {
        abut_radial_view v = get_radial_field(both[1], f);
        for (uint32_t i = 0; i < v.around * v.along; i++)
            assert_true(v.radii[i] == HUGE_VALF);
    }

    abut_buffer *small = NULL;
    abut_radial_particles p = abut_radial_particles_default();
    assert_ok(abut_buffer_create(device, 24, &small));
    assert_fails(ABUT_ERROR_BUFFER, "positions",
                 abut_radial_set_positions(both[1], bones, abut_array_buffer(small)));
    p.count = 2;
    p.from = p.to = abut_array_buffer(buffer);
    p.hits = abut_array_buffer(small);
    assert_fails(ABUT_ERROR_BUFFER, "hits", abut_radial_collide(both[1], &p));
    assert_refused("on the CPU", abut_radial_collide(both[0], &p));
    assert_refused("on the CPU",
                   abut_radial_set_positions(both[0], bones, abut_array_buffer(buffer)));
    abut_buffer_destroy(small);
    abut_buffer_destroy(buffer);
    abut_character_skinner_destroy(skinner);
    abut_radial_destroy(both[0]);
    abut_radial_destroy(both[1]);
    free(positions);
    free_snake(&s);
}

typedef struct everything {
    snake s;
    abut_vec3 *positions;
    abut_character_matrix bones[BONES];
    cloud c;
} everything;

static abut_status all_of_it(abut_context *context, void *data) {
    everything *e = data;
    abut_radial_options options = abut_radial_options_default();
    abut_radial *radial = NULL;
    abut_radial_particles p = abut_radial_particles_default();
    abut_mesh *surface = NULL;
    (void)context;
    options.cell = 0.3;
    options.device = device;
    memcpy(e->c.to[0], e->c.to[1], e->c.count * sizeof *e->c.from);
    p.count = e->c.count;
    p.from = abut_array_host(e->c.from);
    p.to = abut_array_host(e->c.to[0]);
    p.hits = abut_array_host(e->c.hits[0]);
    abut_status status = abut_radial_create(e->s.character, &options, &radial);
    if (!status)
        status = abut_radial_set_positions(radial, e->bones, abut_array_host(e->positions));
    status = status ? status : abut_radial_collide(radial, &p);
    status = status ? status : abut_radial_surface(radial, ABUT_NONE, &surface);
    abut_mesh_destroy(surface);
    abut_radial_destroy(radial);
    return status;
}

TEST(every_call_may_fail) {
    everything e = {.s = make_snake(NULL, BONES, 10, 8), .c = make_cloud(40)};
    test_random random = {3};
    e.positions = malloc(abut_mesh_vertex_count(e.s.mesh) * sizeof *e.positions);
    bend_snake(&e.s, 0.2, 0, e.bones, e.positions);
    scatter(&random, e.c.count, e.c.from, e.c.to[1]);
    test_every_device_call(all_of_it, &e, UINT64_MAX, 1);
    free(e.positions);
    free_cloud(&e.c);
    free_snake(&e.s);
}

/* After a failure all is as before: samples, frames and counts. */
TEST(failures_change_nothing) {
    snake s = make_snake(NULL, BONES, 24, 16);
    const uint32_t vertices = abut_mesh_vertex_count(s.mesh);
    abut_vec3 *positions = malloc(vertices * sizeof *positions);
    abut_vec3 *others = malloc(vertices * sizeof *others);
    abut_character_matrix bones[BONES], other_bones[BONES];
    test_random random = {9};
    cloud c = make_cloud(2000);
    abut_radial *both[2] = {fields_of(&s, NULL), fields_of(&s, device)};
    for (int frame = 0; frame < 2; frame++) {
        bend_snake(&s, 0.2 * frame, 0.1, bones, positions);
        for (int k = 0; k < 2; k++)
            assert_ok(abut_radial_set_positions(both[k], bones, abut_array_host(positions)));
    }
    collide_both(both, &c, &random, false);
    bend_snake(&s, -0.4, 0.3, other_bones, others);
    uint64_t failed = 0;
    for (uint64_t n = 1, round = 0; round < 2 && n < 100; n++) {
        abuti_opencl_fail_at(n);
        abut_radial_particles lost = abut_radial_particles_default();
        lost.count = c.count;
        lost.from = abut_array_host(c.from);
        lost.to = abut_array_host(c.to[1]);
        abut_status status =
            round ? abut_radial_step(both[1], other_bones, abut_array_host(others), &lost)
                  : abut_radial_set_positions(both[1], other_bones, abut_array_host(others));
        uint64_t calls = abuti_opencl_calls();
        abuti_opencl_fail_at(0);
        if (!status) { /* all calls of it; then those of both at once, from the pose of before */
            round++;
            n = 0;
            for (int k = 0; k < 2; k++)
                for (int turn = 0; turn < 2; turn++)
                    assert_ok(
                        abut_radial_set_positions(both[k], bones, abut_array_host(positions)));
            continue;
        }
        assert_true(calls >= n);
        failed++;
        same_fields(both[0], both[1]);
        collide_both(both, &c, &random, n & 1);
        abut_radial_particles p = abut_radial_particles_default();
        p.count = c.count;
        p.from = abut_array_host(c.from);
        p.to = abut_array_host(c.to[1]);
        abuti_opencl_fail_at(n);
        (void)abut_radial_collide(both[1], &p);
        abuti_opencl_fail_at(0);
        collide_both(both, &c, &random, n & 1);
    }
    assert_true(failed > 3);
    abut_radial_destroy(both[0]);
    abut_radial_destroy(both[1]);
    free_cloud(&c);
    free(positions);
    free(others);
    free_snake(&s);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
