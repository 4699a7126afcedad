/* Characters from arrays: poses and skins against known values, invalid arguments, memory,
 * threads. */
#include "apps/get.h"
#include "support/support.h"

#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

/* An arm along x from 0 to 2 with an elbow at 1: a prism of SECTIONS squares. The upper half is
 * bound to bone 0, the rest to bone 1, the middle to both. */
enum { SECTIONS = 5, VERTICES = 4 * SECTIONS, TRIANGLES = 8 * (SECTIONS - 1), WEIGHTS = 2 };

typedef struct arm {
    double positions[VERTICES][3];
    uint32_t indices[TRIANGLES][3];
    abut_character_bone bones[2];
    uint32_t weight_bones[VERTICES][WEIGHTS];
    double weights[VERTICES][WEIGHTS];
    double times[2], values[2][4];
    abut_character_channel channel;
    abut_character_clip clip;
    abut_character_input input;
} arm;

static void end_arm(arm *a) {
    abut_mesh_destroy(a->input.mesh);
}
#define AUTO_ARM __attribute__((cleanup(end_arm))) arm

/* Where section `i` is along x: 0, 0.5, 1, 1.5, 2. */
static double along(int i) {
    return 0.5 * i;
}

static void make_arm(abut_context *context, arm *a) {
    static const double corners[4][2] = {{-0.2, -0.2}, {0.2, -0.2}, {0.2, 0.2}, {-0.2, 0.2}};
    uint32_t count = 0;
    memset(a, 0, sizeof *a);
    for (int i = 0; i < SECTIONS; i++) {
        for (int k = 0; k < 4; k++) {
            int v = 4 * i + k;
            a->positions[v][0] = along(i);
            a->positions[v][1] = corners[k][0];
            a->positions[v][2] = corners[k][1];
            a->weight_bones[v][1] = 1;
            a->weights[v][1] = i < 2 ? 0 : i == 2 ? 0.5 : 1;
            a->weights[v][0] = 1 - a->weights[v][1];
        }
    }
    for (uint32_t i = 0; i + 1 < SECTIONS; i++) {
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t p = 4 * i + k, q = 4 * i + (k + 1) % 4;
            const uint32_t two[2][3] = {{p, q, p + 4}, {q, q + 4, p + 4}};
            memcpy(a->indices[count], two, sizeof two);
            count += 2;
        }
    }
    a->bones[0] = a->bones[1] = abut_character_bone_default();
    a->bones[0].name = "upper";
    a->bones[1].parent = 0;
    a->bones[1].translation.x = 1;
    a->times[1] = 1;
    a->values[0][3] = 1; /* from no rotation to 90 degrees about z */
    a->values[1][2] = a->values[1][3] = sqrt(0.5);
    a->channel = (abut_character_channel){1,
                                          ABUT_CHARACTER_TARGET_ROTATION,
                                          ABUT_CHARACTER_INTERPOLATION_LINEAR,
                                          2,
                                          a->times,
                                          a->values[0]};
    a->clip = (abut_character_clip){"bend", 0, 1, &a->channel};
    a->input = abut_character_input_default();
    a->input.mesh = test_mesh(context, a->positions, VERTICES, a->indices, TRIANGLES);
    a->input.bone_count = 2;
    a->input.bones = a->bones;
    a->input.weight_count = WEIGHTS;
    a->input.weight_bones = a->weight_bones[0];
    a->input.weights = a->weights[0];
    a->input.clip_count = 1;
    a->input.clips = &a->clip;
}

static abut_character *create(const arm *a) {
    abut_character *character = NULL;
    assert_ok(abut_character_create(NULL, &a->input, &character));
    return character;
}

static void near_number(double meant, double found, double tolerance) {
    if (!(fabs(meant - found) <= tolerance))
        fail_msg("%.17g instead of %.17g", found, meant);
}

static void near_vector(abut_vec3 meant, abut_vec3 found, double tolerance) {
    if (!(fabs(meant.x - found.x) <= tolerance && fabs(meant.y - found.y) <= tolerance &&
          fabs(meant.z - found.z) <= tolerance))
        fail_msg("%.17g %.17g %.17g instead of %.17g %.17g %.17g", found.x, found.y, found.z,
                 meant.x, meant.y, meant.z);
}

/* Poses by clip 0 and skins. */
static void pose_at(const abut_character *character, double time, bool clamp,
                    abut_character_skinning skinning, abut_vec3 *positions) {
    abut_character_matrix bones[4];
    abut_character_pose_options options = abut_character_pose_options_default();
    options.time = time;
    options.clamp = clamp;
    assert_ok(abut_character_pose(character, &options, bones));
    assert_ok(abut_character_skin(character, bones, skinning, positions));
}

/* About the elbow at (1, 0, 0), around z. */
static abut_vec3 turned(const double *p, double angle) {
    double x = p[0] - 1, y = p[1], c = cos(angle), s = sin(angle);
    return (abut_vec3){1 + c * x - s * y, s * x + c * y, p[2]};
}

TEST(bent_arm) {
    AUTO_ARM a;
    abut_vec3 linear[VERTICES], dual[VERTICES];
    make_arm(NULL, &a);
    AUTO(character) character = create(&a);
    pose_at(character, 1, true, ABUT_CHARACTER_SKINNING_LINEAR, linear);
    pose_at(character, 1, true, ABUT_CHARACTER_SKINNING_DUAL, dual);
    for (int v = 0; v < VERTICES; v++) {
        const double *p = a.positions[v];
        abut_vec3 still = {p[0], p[1], p[2]}, end = turned(p, PI / 2);
        abut_vec3 half = {(still.x + end.x) / 2, (still.y + end.y) / 2, (still.z + end.z) / 2};
        int section = v / 4;
        near_vector(section < 2 ? still : section > 2 ? end : half, linear[v], 1e-15);
        /* dual quaternions turn by half the angle, and so keep the distance from the elbow */
        near_vector(section < 2 ? still : section > 2 ? end : turned(p, PI / 4), dual[v], 1e-15);
    }
}

TEST(rest_pose_is_the_mesh) {
    AUTO_ARM a;
    abut_vec3 found[VERTICES];
    make_arm(NULL, &a);
    a.bones[0].rotation = (abut_quat){0.1, -0.7, 0.3, 0.4}; /* any length */
    a.bones[0].scale = (abut_vec3){2, -3, 0.5};             /* mirrored too */
    a.bones[1].has_matrix = true;                           /* sheared */
    a.bones[1].matrix = (abut_character_matrix){{{1, 0.5, 0, 1}, {0, 1, 0.25, 2}, {0.1, 0, 1, 3}}};
    a.input.clip_count = 0;
    AUTO(character) character = create(&a);
    abut_character_matrix bones[2];
    assert_ok(abut_character_pose(character, NULL, bones));
    for (int how = 0; how <= ABUT_CHARACTER_SKINNING_DUAL; how++) {
        assert_ok(abut_character_skin(character, bones, (abut_character_skinning)how, found));
        for (int v = 0; v < VERTICES; v++)
            near_vector((abut_vec3){a.positions[v][0], a.positions[v][1], a.positions[v][2]},
                        found[v], 1e-14);
    }
    abut_mesh *rest = abut_character_rest_mesh(character), *mesh = NULL;
    assert_ok(abut_character_mesh(character, bones, ABUT_CHARACTER_SKINNING_LINEAR, &mesh));
    assert_memory_equal(abut_mesh_local_positions(rest), abut_mesh_local_positions(mesh),
                        VERTICES * sizeof(abut_vec3));
    assert_memory_equal(abut_mesh_indices(mesh), a.indices, sizeof a.indices);
    abut_mesh_destroy(mesh);
}

/* Vertices of one bone go where its matrix takes them, whatever it is like: also a flat one. */
TEST(any_matrix) {
    static const abut_character_matrix matrices[] = {{{{2, 0, 0, 1}, {0, 3, 0, 2}, {0, 0, 4, 3}}},
                                                     {{{-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 5}}},
                                                     {{{1, 2, 0, 0}, {0, 1, 3, 0}, {1, 0, 1, 0}}},
                                                     {{{0, -1, 0, 0}, {1, 0, 0, 0}, {0, 0, -1, 0}}},
                                                     {{{1, 1, 0, 1}, {1, 1, 0, 2}, {0, 0, 0, 3}}},
                                                     {{{0, 0, 0, 7}, {0, 0, 0, 8}, {0, 0, 0, 9}}}};
    static const abut_character_matrix none = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
    AUTO_ARM a;
    abut_vec3 found[VERTICES];
    make_arm(NULL, &a);
    const abut_character_matrix binds[2] = {none, none};
    a.input.binds = binds;
    AUTO(character) character = create(&a);
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        const abut_character_matrix bones[2] = {matrices[i], matrices[i]};
        for (int how = 0; how <= ABUT_CHARACTER_SKINNING_DUAL; how++) {
            assert_ok(abut_character_skin(character, bones, (abut_character_skinning)how, found));
            for (int v = 0; v < VERTICES; v++) {
                double to[3];
                for (int k = 0; k < 3; k++) {
                    const double *row = matrices[i].m[k], *p = a.positions[v];
                    to[k] = row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3];
                }
                near_vector((abut_vec3){to[0], to[1], to[2]}, found[v], 1e-14);
            }
        }
    }
}

/* The rotation of the forearm about z. */
static double bend_of(const abut_character *character, double time, bool clamp) {
    abut_character_matrix bones[2];
    abut_character_pose_options options = abut_character_pose_options_default();
    options.time = time;
    options.clamp = clamp;
    assert_ok(abut_character_pose(character, &options, bones));
    return atan2(bones[1].m[1][0], bones[1].m[0][0]);
}

TEST(times) {
    AUTO_ARM a;
    make_arm(NULL, &a);
    AUTO(character) character = create(&a);
    const double times[][3] = {/* time, repeated, clamped: parts of the bend */
                               {0, 0, 0},     {0.25, 0.25, 0.25}, {0.75, 0.75, 0.75}, {1, 0, 1},
                               {2.5, 0.5, 1}, {-0.25, 0.75, 0},   {1e6 + 0.5, 0.5, 1}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        near_number(times[i][1] * PI / 2, bend_of(character, times[i][0], false), 1e-12);
        near_number(times[i][2] * PI / 2, bend_of(character, times[i][0], true), 1e-12);
    }
    abut_character_destroy(character);
    a.channel.interpolation = ABUT_CHARACTER_INTERPOLATION_STEP;
    a.clip.duration = 3; /* longer than its keys, which then hold */
    character = create(&a);
    abut_character_report report = abut_character_report_default();
    assert_ok(abut_character_get_report(character, &report));
    assert_int_equal(1, report.problems[ABUT_CHARACTER_PROBLEM_LONG_CLIP].count);
    near_number(0, bend_of(character, 0.999, false), 1e-15);
    near_number(PI / 2, bend_of(character, 1, false), 1e-15);
    near_number(PI / 2, bend_of(character, 2.9, false), 1e-15);
    near_number(0, bend_of(character, 3.5, false), 1e-15);
}

TEST(the_short_way) {
    AUTO_ARM a;
    make_arm(NULL, &a);
    for (int i = 0; i < 4; i++)
        a.values[1][i] *= -7; /* the same rotation from the other side, of another length */
    abut_character *character = create(&a);
    near_number(PI / 8, bend_of(character, 0.25, true), 1e-12);
    abut_character_destroy(character);
}

TEST(cubic_spline) {
    AUTO_ARM a;
    /* in-tangent, value, out-tangent of two keys that are 2 s apart */
    const double values[2][3][3] = {{{9, 9, 9}, {1, 0, 0}, {0.5, 2, -1}},
                                    {{-1, 0.25, 3}, {2, 4, -1}, {9, 9, 9}}};
    const double times[2] = {1, 3};
    make_arm(NULL, &a);
    a.channel.target = ABUT_CHARACTER_TARGET_TRANSLATION;
    a.channel.interpolation = ABUT_CHARACTER_INTERPOLATION_CUBIC;
    a.channel.times = times;
    a.channel.values = values[0][0];
    AUTO(character) character = create(&a);
    assert_true(get_character_clip(character, 0).duration == 3);
    for (int i = 0; i <= 12; i++) {
        double time = 0.25 * i, t = time < 1 ? 0 : (time - 1) / 2, d = 2;
        abut_character_matrix bones[2];
        abut_character_pose_options options = abut_character_pose_options_default();
        options.time = time;
        options.clamp = true;
        assert_ok(abut_character_pose(character, &options, bones));
        for (int k = 0; k < 3; k++) { /* glTF 2.0, appendix C.5 */
            double p = (2 * pow(t, 3) - 3 * t * t + 1) * values[0][1][k] +
                       d * (pow(t, 3) - 2 * t * t + t) * values[0][2][k] +
                       (-2 * pow(t, 3) + 3 * t * t) * values[1][1][k] +
                       d * (pow(t, 3) - t * t) * values[1][0][k];
            near_number(p, bones[1].m[k][3], 1e-12);
        }
    }
}

TEST(blending) {
    AUTO_ARM a;
    make_arm(NULL, &a);
    const double still[2][3] = {{3, 0, 0}, {3, 0, 0}}, large[2][3] = {{3, 3, 3}, {3, 3, 3}};
    abut_character_channel channels[2] = {a.channel, a.channel};
    channels[0].target = ABUT_CHARACTER_TARGET_TRANSLATION;
    channels[0].values = still[0];
    channels[1].target = ABUT_CHARACTER_TARGET_SCALE;
    channels[1].values = large[0];
    abut_character_clip clips[2] = {a.clip, {NULL, 0, 2, channels}};
    a.input.clips = clips;
    a.input.clip_count = 2;
    AUTO(character) character = create(&a);
    assert_string_equal("clip-1", get_character_clip(character, 1).name);
    abut_character_pose_options options = abut_character_pose_options_default();
    abut_character_matrix bones[2];
    options.time = 1; /* 90 degrees */
    options.clamp = true;
    options.blend = 0.5; /* with none, 3 instead of 1 away, three times as large */
    options.other = 1;
    assert_ok(abut_character_pose(character, &options, bones));
    near_number(2, bones[1].m[0][3], 1e-15);
    near_number(2 * cos(PI / 4), bones[1].m[0][0], 1e-15);
    near_number(2 * sin(PI / 4), bones[1].m[1][0], 1e-15);
    options.blend = 1;
    assert_ok(abut_character_pose(character, &options, bones));
    near_number(3, bones[1].m[0][0], 1e-15);
    options.other = ABUT_NONE; /* the rest pose */
    assert_ok(abut_character_pose(character, &options, bones));
    near_number(1, bones[1].m[0][0], 1e-15);
}

TEST(weights_are_kept_and_told) {
    AUTO_ARM a;
    uint32_t many_bones[VERTICES][12], bones[ABUT_CHARACTER_WEIGHT_COUNT];
    double many[VERTICES][12], weights[ABUT_CHARACTER_WEIGHT_COUNT];
    abut_character_report report = abut_character_report_default();
    make_arm(NULL, &a);
    abut_character_bone more[4] = {a.bones[1], a.bones[0], a.bones[1], a.bones[1]};
    more[0].parent = more[2].parent = more[3].parent = 1; /* a child before its parent */
    more[2].translation.x = 0;                            /* short */
    for (int v = 0; v < VERTICES; v++)
        for (int i = 0; i < 12; i++) {
            many_bones[v][i] = i ? 2 : 0;
            many[v][i] = i ? 0 : 1;
        }
    for (int i = 0; i < 12; i++)
        many[3][i] = i + 1; /* too many, and a sum of 78 */
    many[5][0] = 0;         /* none */
    many[7][0] = -1, many[7][1] = 2;
    a.input.bones = more;
    a.input.bone_count = 4;
    a.input.weight_count = 12;
    a.input.weight_bones = many_bones[0];
    a.input.weights = many[0];
    a.input.clip_count = 0;
    AUTO(character) character = create(&a);
    assert_ok(abut_character_get_report(character, &report));
    const uint32_t meant[][2] = {{ABUT_CHARACTER_PROBLEM_UNWEIGHTED_VERTEX, 5},
                                 {ABUT_CHARACTER_PROBLEM_SUM_VERTEX, 3},
                                 {ABUT_CHARACTER_PROBLEM_NEGATIVE_VERTEX, 7},
                                 {ABUT_CHARACTER_PROBLEM_DROPPED_VERTEX, 3},
                                 {ABUT_CHARACTER_PROBLEM_SHORT_BONE, 2},
                                 {ABUT_CHARACTER_PROBLEM_UNUSED_BONE, 3}};
    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++) {
        assert_int_equal(1, report.problems[meant[i][0]].count);
        assert_int_equal(meant[i][1], report.problems[meant[i][0]].first[0]);
    }
    assert_int_equal(8, get_character_info(character).weight_count);
    assert_int_equal(8, abut_character_weights(character, 3, bones, weights));
    for (int i = 0; i < 8; i++)
        near_number((12 - i) / 68.0, weights[i], 1e-15);
    assert_int_equal(1, abut_character_weights(character, 5, bones, weights));
    assert_true(bones[0] == 0 && weights[0] == 1);
    assert_int_equal(1, abut_character_weights(character, 7, bones, weights));
    assert_true(bones[0] == 2 && weights[0] == 1);
    assert_int_equal(0, abut_character_weights(character, VERTICES, bones, weights));
    assert_string_equal("upper", get_character_bone(character, 1).name);
    assert_string_equal("bone-0", get_character_bone(character, 0).name);
    assert_null(get_character_bone(character, 4).name);
    assert_null(get_character_clip(character, 0).name);
}

/* Makes the arm anew, spoils it by `statement`, and expects a sentence with `part`. */
#define REFUSED(part, statement)                                            \
    do {                                                                    \
        AUTO_ARM a;                                                         \
        abut_character *none = NULL;                                        \
        make_arm(NULL, &a);                                                 \
        statement;                                                          \
        assert_refused(part, abut_character_create(NULL, &a.input, &none)); \
        assert_null(none);                                                  \
    } while (0)

TEST(refusals) {
    abut_character_matrix binds[2] = {{{{1, 0, 0, 0}}}, {{{(double)NAN}}}};
    REFUSED("no bones", a.input.bone_count = 0);
    REFUSED("cycle", a.bones[0].parent = 1);
    REFUSED("cycle", a.bones[1].parent = 1);
    REFUSED("parent of bone 1 is 2", a.bones[1].parent = 2);
    REFUSED("rest pose of bone 1", a.bones[1].rotation.x = (double)NAN);
    REFUSED("rest pose of bone 0", a.bones[0].scale.y = 1e91);
    REFUSED("bone 1 is singular", a.bones[1].scale.x = 0);
    REFUSED("in the rest pose", a.bones[0].scale.x = a.bones[1].scale.x = 1e80);
    REFUSED("bind matrix of bone 1", a.input.binds = binds);
    REFUSED("weight_count is 0", a.input.weight_count = 0);
    REFUSED("vertex 2", a.weights[2][0] = (double)INFINITY);
    REFUSED("for bone 2; there are 2", a.weight_bones[4][1] = 2);
    REFUSED("input.weights is null", a.input.weights = NULL);
    REFUSED("input.clips is null", a.input.clips = NULL);
    REFUSED("channels of clip 0 are null", a.clip.channels = NULL);
    REFUSED("clip 0 has the duration", a.clip.duration = -1);
    REFUSED("channel 0 refers to a bone that", a.channel.bone = 2);
    REFUSED("rest pose is a matrix", a.bones[1].has_matrix = true;
            a.bones[1].matrix.m[0][0] = a.bones[1].matrix.m[1][1] = a.bones[1].matrix.m[2][2] = 1);
    REFUSED("has no keys", a.channel.key_count = 0);
    REFUSED("do not ascend", a.times[0] = 2);
    REFUSED("do not ascend", a.times[1] = (double)NAN);
    REFUSED("values that are not finite", a.values[1][2] = (double)INFINITY);
    REFUSED("unknown target", a.channel.target = (abut_character_target)4);
    REFUSED("refers to a morph target that", a.channel.target = ABUT_CHARACTER_TARGET_MORPH);

    abut_character_matrix bones[2];
    abut_vec3 positions[VERTICES];
    abut_mesh *mesh = NULL;
    AUTO_ARM a;
    make_arm(NULL, &a);
    AUTO(character) character = create(&a);
    abut_character_pose_options options = abut_character_pose_options_default();
    options.clip = 1;
    assert_refused("no clip 1", abut_character_pose(character, &options, bones));
    options.clip = 0;
    options.time = (double)NAN;
    assert_refused("must be finite", abut_character_pose(character, &options, bones));
    options.time = 0;
    options.blend = 1.5;
    assert_refused("blend is 1.5", abut_character_pose(character, &options, bones));
    assert_ok(abut_character_pose(character, NULL, bones));
    assert_refused("skinning is 2",
                   abut_character_skin(character, bones, (abut_character_skinning)2, positions));
    bones[1].m[2][1] = (double)NAN;
    positions[0].x = 42;
    assert_refused("matrix of bone 1", abut_character_skin(character, bones, 0, positions));
    assert_true(positions[0].x == 42);
    bones[1].m[2][1] = 1e89;
    assert_refused("matrix of bone 1", abut_character_mesh(character, bones, 1, &mesh));
    assert_null(mesh);
    assert_refused("bones is null", abut_character_pose(character, NULL, NULL));
    assert_refused("character is null", abut_character_get_report(NULL, NULL));
    abut_character_destroy(NULL);
    assert_null(abut_character_rest_mesh(NULL));
    assert_int_equal(0, get_character_info(NULL).bone_count);
}

TEST(empty_clip) {
    AUTO_ARM a;
    abut_character_report report = abut_character_report_default();
    make_arm(NULL, &a);
    a.clip.channel_count = 0;
    AUTO(character) character = create(&a);
    assert_ok(abut_character_get_report(character, &report));
    assert_int_equal(1, report.problems[ABUT_CHARACTER_PROBLEM_EMPTY_CLIP].count);
    near_number(0, bend_of(character, 5, false), 1e-15);
}

static abut_status all_of_it(abut_context *context, void *data) {
    arm *a = data;
    AUTO(character) character = NULL;
    abut_character_matrix bones[2];
    AUTO(mesh) mesh = NULL;
    abut_status status = abut_character_create(context, &a->input, &character);
    status = status ? status : abut_character_pose(character, NULL, bones);
    if (!status)
        status = abut_character_mesh(character, bones, ABUT_CHARACTER_SKINNING_DUAL, &mesh);
    return status;
}

TEST(every_allocation_may_fail) {
    AUTO_ARM a;
    make_arm(NULL, &a);
    assert_true(test_every_allocation(all_of_it, &a) > 15);
}

/* A sphere bound to two bones at random, large enough for several chunks. */
TEST_THREADS(threads_give_the_same_bits) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_UVSPHERE);
    abut_vec3 *made[2][2];
    shape.segments = 80;
    shape.rings = 60;
    for (uint32_t threads = 1; threads <= 4; threads += 3) {
        test_memory memory = {0};
        test_random random = {5};
        AUTO_ARM a;
        abut_context *context = test_context(&memory, threads);
        abut_mesh *mesh = NULL; /* that of the arm, which ends it */
        abut_character *character = NULL;
        assert_ok(abut_shape_create(NULL, &shape, &mesh));
        uint32_t count = abut_mesh_vertex_count(mesh);
        AUTO_FREE uint32_t *bones = malloc(2 * count * sizeof *bones);
        AUTO_FREE double *weights = malloc(2 * count * sizeof *weights);
        for (uint32_t i = 0; i < 2 * count; i++) {
            bones[i] = i & 1;
            weights[i] = test_random_real(&random, 0.01, 1);
        }
        make_arm(NULL, &a);
        abut_mesh_destroy(a.input.mesh);
        a.input.mesh = mesh;
        a.input.weights = weights;
        a.input.weight_bones = bones;
        assert_ok(abut_character_create(context, &a.input, &character));
        for (int how = 0; how < 2; how++) {
            abut_vec3 *positions = malloc(count * sizeof *positions);
            pose_at(character, 0.7, false, (abut_character_skinning)how, positions);
            made[threads > 1][how] = positions;
            if (threads > 1)
                assert_memory_equal(made[0][how], made[1][how], count * sizeof *positions);
        }
        abut_character_destroy(character);
        abut_context_destroy(context);
        assert_int_equal(0, memory.live_count);
    }
    for (int i = 0; i < 4; i++)
        free(made[i / 2][i % 2]);
}
