/* The motion of cloth that all methods get: it follows the body, its predictions enter the body,
 * and a recording of it has the same bits. */
#include "clothing.h"
#include "support/support.h"

#include <math.h>

#define BALL_RADIUS 0.1
#define WAY 0.5 /* metres in two seconds */
enum { FRAMES = 6, STRIDE = 20 };

/* A sphere with one bone that moves along x. */
static abut_character *make_ball(double radius, uint32_t segments) {
    static const double times[2] = {0, 2}, way[6] = {0, 0, 0, WAY, 0, 0};
    const abut_character_channel channel = {.bone = 0,
                                            .target = ABUT_CHARACTER_TARGET_TRANSLATION,
                                            .interpolation = ABUT_CHARACTER_INTERPOLATION_LINEAR,
                                            .key_count = 2,
                                            .times = times,
                                            .values = way};
    const abut_character_clip clip = {.channel_count = 1, .channels = &channel};
    const abut_character_bone bone = abut_character_bone_default();
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    AUTO(mesh) mesh = NULL;
    shape.radius = radius;
    shape.segments = segments;
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    const uint32_t count = abut_mesh_vertex_count(mesh);
    uint32_t *bones = calloc(count, sizeof *bones);
    double *weights = calloc(count, sizeof *weights);
    for (uint32_t i = 0; i < count; i++)
        weights[i] = 1;
    abut_character_input input = abut_character_input_default();
    abut_character *made = NULL;
    input.mesh = mesh;
    input.bone_count = 1;
    input.bones = &bone;
    input.weight_count = 1;
    input.weight_bones = bones;
    input.weights = weights;
    input.clip_count = 1;
    input.clips = &clip;
    assert_ok(abut_character_create(NULL, &input, &made));
    free(bones);
    free(weights);
    return made;
}

/* A shell that springs pull 2 mm into the ball. */
static abut_status simulate(abut_context *context, rival_motion *motion) {
    rival_clothing clothing = {.body = make_ball(BALL_RADIUS, 5),
                               .cloth = make_ball(BALL_RADIUS - 0.002, 3),
                               .clip = 0,
                               .stride = STRIDE,
                               .seconds = 2,
                               .cell = 0.01};
    abut_status status = rival_motion_simulate(context, &clothing, motion);
    abut_character_destroy(clothing.body);
    abut_character_destroy(clothing.cloth);
    return status;
}

static double distance_to(abut_vec3 p, double x) {
    return sqrt((p.x - x) * (p.x - x) + p.y * p.y + p.z * p.z);
}

TEST(cloth_follows_the_body) {
    rival_motion m = {0};
    uint32_t inside = 0;
    assert_ok(simulate(NULL, &m));
    assert_int_equal(m.frame_count, FRAMES);
    assert_int_equal(m.particle_count, 92);
    assert_int_equal(abut_mesh_vertex_count(m.sheet), m.particle_count);
    for (uint32_t k = 0; k < FRAMES; k++) {
        const double before = WAY / 2 * (STRIDE * (k + 1) - 1) * RIVAL_SECONDS,
                     now = WAY / 2 * STRIDE * (k + 1) * RIVAL_SECONDS;
        for (uint32_t i = 0; i < m.particle_count; i++) {
            const size_t at = (size_t)k * m.particle_count + i;
            const double from = distance_to(m.from[at], before), to = distance_to(m.to[at], now);
            assert_true(from > BALL_RADIUS - 1e-3 && from < BALL_RADIUS + 0.03);
            assert_true(to > BALL_RADIUS - 0.03 && to < BALL_RADIUS + 0.03);
            assert_true((double)(float)m.to[at].x == m.to[at].x);
            inside += to < BALL_RADIUS - 1e-3;
        }
    }
    assert_true(inside > FRAMES * m.particle_count / 4); /* otherwise methods have nothing to do */
    rival_motion_clear(&m);
}

TEST(bones_blend_from_rest_into_the_clip) {
    abut_character *ball = make_ball(BALL_RADIUS, 3);
    static const double times[][2] = {{-2, 0}, {-1, 0}, {0, 0}, {1, WAY / 2}, {2, WAY}, {9, WAY}};
    for (size_t k = 0; k < sizeof times / sizeof *times; k++) {
        abut_character_matrix bone;
        assert_ok(rival_bones(ball, 0, times[k][0], &bone));
        assert_true(fabs(bone.m[0][3] - times[k][1]) < 1e-12);
    }
    abut_character_destroy(ball);
}

TEST(a_recording_has_the_same_bits) {
    rival_motion made = {0}, read = {0};
    const char *path = test_file("shell.abutm", "", 0);
    assert_ok(simulate(NULL, &made));
    assert_ok(rival_motion_write(&made, path));
    assert_ok(rival_motion_read(NULL, path, &read));
    const size_t bytes = (size_t)made.frame_count * made.particle_count * sizeof *made.from;
    assert_int_equal(read.frame_count, made.frame_count);
    assert_int_equal(read.particle_count, made.particle_count);
    assert_memory_equal(read.from, made.from, bytes);
    assert_memory_equal(read.to, made.to, bytes);
    assert_int_equal(abut_mesh_triangle_count(read.sheet), abut_mesh_triangle_count(made.sheet));
    rival_motion_clear(&made);
    rival_motion_clear(&read);
    assert_null(read.from);
}

/* A file without aims is not a recording of particles, and leaves the motion as it is. */
TEST(other_recordings_are_refused) {
    abut_character *ball = make_ball(BALL_RADIUS, 3);
    abut_mesh *mesh = abut_character_rest_mesh(ball);
    abut_frames_writer *writer = NULL;
    const char *path = test_file("ball.abutm", "", 0);
    rival_motion motion = {.frame_count = 7};
    assert_ok(abut_frames_writer_create(&mesh, 1, path, NULL, &writer));
    assert_ok(abut_frames_writer_add(writer, abut_mesh_local_positions(mesh), NULL));
    assert_ok(abut_frames_writer_finish(writer));
    assert_fails(ABUT_ERROR_FORMAT, "not a recording", rival_motion_read(NULL, path, &motion));
    assert_fails(ABUT_ERROR_FILE, "no/such", rival_motion_read(NULL, "/no/such.abutm", &motion));
    assert_int_equal(motion.frame_count, 7);
    abut_character_destroy(ball);
}

TEST_THREADS(threads_give_the_same) {
    rival_motion one = {0}, many = {0};
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 4);
    assert_ok(simulate(NULL, &one));
    assert_ok(simulate(context, &many));
    assert_memory_equal(one.to, many.to,
                        (size_t)one.frame_count * one.particle_count * sizeof *one.to);
    rival_motion_clear(&one);
    rival_motion_clear(&many);
    abut_context_destroy(context);
    assert_int_equal(0, memory.live_count);
}
