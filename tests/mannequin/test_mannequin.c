/* Built-in characters: valid bodies of any triangle count, weights that stay on their limbs,
 * clips that stay on the ground and do not tear the body. */
#include "apps/get.h"
#include "support/support.h"

#include "mannequin/mannequin.h"

#include <math.h>
#include <stdlib.h>

static abut_character *make(abut_context *context, abut_character_figure kind, uint32_t triangles) {
    abut_character_figure_options options = abut_character_figure_options_default();
    abut_character *character = NULL;
    options.figure = kind;
    options.triangles = triangles;
    assert_ok(abut_character_create_figure(context, &options, &character));
    return character;
}

/* A human that several tests look at. */
static abut_character *shared(void) {
    static abut_character *character;
    if (!character)
        character = make(NULL, ABUT_CHARACTER_FIGURE_MALE, 8000);
    return character;
}

static abut_mesh_report examine(abut_mesh *mesh) {
    abut_mesh_report report = test_examine(mesh);
    abut_bvh *bvh = NULL;
    assert_ok(abut_bvh_create(mesh, NULL, &bvh));
    assert_ok(abut_pair_examine(bvh, NULL, &report));
    abut_bvh_destroy(bvh);
    return report;
}

static uint32_t bone_named(const abut_character *character, const char *name) {
    for (uint32_t i = 0; i < get_character_info(character).bone_count; i++)
        if (!strcmp(name, get_character_bone(character, i).name))
            return i;
    fail_msg("there is no bone %s", name);
    return 0;
}

/* The left side is +x. */
static bool is_of(const char *name, const char *side, const char *what) {
    return !strncmp(name, side, strlen(side)) && strstr(name, what);
}

static void check_weights(const abut_character *character, double scale) {
    const abut_mesh *rest = abut_character_rest_mesh(character);
    for (uint32_t v = 0; v < rest->vertex_count; v++) {
        uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
        double weights[ABUT_CHARACTER_WEIGHT_COUNT], sum = 0;
        uint32_t count = abut_character_weights(character, v, bones, weights);
        vec3 p = v3_scale(abuti_mesh_position(rest, v), 1 / scale);
        assert_in_range(count, 1, FIGURE_WEIGHTS);
        for (uint32_t i = 0; i < count; i++) {
            const char *name = get_character_bone(character, bones[i]).name;
            sum += weights[i];
            /* Below the armpits, between the arms, nothing goes with an arm. */
            if (fabs(p.x) < 0.12 && p.y < 1.08 && weights[i] > 0.03 &&
                (strstr(name, "Arm") || strstr(name, "Hand")))
                fail_msg("vertex %u of the trunk goes with %s by %g", v, name, weights[i]);
            /* Legs are their own side's. */
            if (p.y < 0.65 &&
                ((p.x > 0 && is_of(name, "Right", "Leg")) ||
                 (p.x < 0 && is_of(name, "Left", "Leg"))) &&
                weights[i] > 0.03)
                fail_msg("vertex %u of a leg goes with %s by %g", v, name, weights[i]);
        }
        assert_true(fabs(sum - 1) < 1e-9);
    }
}

TEST(bodies_are_sound) {
    static const uint32_t counts[ABUT_CHARACTER_FIGURE_COUNT] = {8000, 10827, 0};
    static const double heights[ABUT_CHARACTER_FIGURE_COUNT] = {1.6, 1.6, 4};
    for (int kind = 0; kind < ABUT_CHARACTER_FIGURE_COUNT; kind += test_brief() ? 2 : 1) {
        abut_character *character =
            kind ? make(NULL, (abut_character_figure)kind, counts[kind]) : shared();
        abut_mesh *rest = abut_character_rest_mesh(character);
        abut_mesh_report report = examine(rest);
        abut_character_report health = abut_character_report_default();
        abut_character_info info = get_character_info(character);
        abut_box box = abut_mesh_bounds(rest);
        uint32_t wanted = counts[kind] ? counts[kind] : 17212;
        assert_int_equal(wanted + wanted % 2, info.triangle_count);
        assert_true(report.is_closed && report.is_manifold && report.is_oriented);
        assert_int_equal(2, report.euler_number);
        assert_int_equal(1, report.component_count);
        assert_int_equal(0, report.problems[ABUT_PROBLEM_SELF_INTERSECTION].count);
        assert_true(fabs(box.hi.y - heights[kind]) < 0.04 * heights[kind]);
        assert_true(fabs(box.lo.y) < 0.01 * heights[kind]);
        assert_true(abut_mesh_up(rest).y > 0);
        assert_in_range(info.bone_count, 50, 60);
        assert_int_equal(FIGURE_WEIGHTS, info.weight_count);
        assert_ok(abut_character_get_report(character, &health));
        for (int i = 0; i < ABUT_PROBLEM_KIND_MAX; i++)
            assert_int_equal(0, health.problems[i].count);
        if (kind != ABUT_CHARACTER_FIGURE_OGRE)
            check_weights(character, 1);
        if (kind)
            abut_character_destroy(character);
    }
}

/* Over all clips the lowest vertex is at the ground or above it, and turned limbs keep most of
 * their volume. */
TEST(clips_stand_on_the_ground) {
    static const char *const names[] = {"walk", "jump", "gymnastics"};
    abut_character *character = shared();
    abut_character_info info = get_character_info(character);
    abut_character_matrix *bones = malloc(info.bone_count * sizeof *bones);
    vec3 *positions = malloc(info.vertex_count * sizeof *positions);
    uint32_t head = bone_named(character, "Head");
    assert_non_null(bones);
    assert_non_null(positions);
    assert_int_equal(3, info.clip_count);
    for (uint32_t clip = 0; clip < info.clip_count; clip++) {
        abut_character_clip c = get_character_clip(character, clip);
        double touches = 0, steps = 0;
        assert_string_equal(names[clip], c.name);
        assert_true(c.duration > (clip == 2 ? 9.5 : 0.8));
        for (double time = 0; time < c.duration; time += test_brief() ? 0.3 : 0.07, steps++) {
            abut_character_pose_options options = abut_character_pose_options_default();
            double low = INFINITY;
            options.clip = clip;
            options.time = time;
            assert_ok(abut_character_pose(character, &options, bones));
            assert_ok(
                abut_character_skin(character, bones, ABUT_CHARACTER_SKINNING_DUAL, positions));
            for (uint32_t v = 0; v < info.vertex_count; v++)
                low = fmin(low, positions[v].y);
            assert_true(low > -0.03);
            touches += low < 0.03;
            assert_true(fabs(bones[head].m[0][3]) < 4 && bones[head].m[1][3] < 2.6);
        }
        assert_true(touches > 0.5 * steps);
    }
    free(bones);
    free(positions);
}

/* The walk ends as it began, with its sides half a cycle apart. */
TEST(walking_is_a_cycle) {
    abut_character *character = shared();
    abut_character_matrix at[3][JOINT_COUNT];
    abut_character_clip walk = get_character_clip(character, 0);
    uint32_t left = bone_named(character, "LeftFoot"), right = bone_named(character, "RightFoot");
    for (int i = 0; i < 3; i++) {
        abut_character_pose_options options = abut_character_pose_options_default();
        options.time = 0.5 * i * walk.duration;
        options.clamp = true;
        assert_ok(abut_character_pose(character, &options, at[i]));
    }
    assert_true(fabs(at[0][left].m[2][3] - at[2][left].m[2][3]) < 1e-12);
    assert_true(fabs(at[0][left].m[2][3] - at[1][right].m[2][3]) < 1e-9);
    assert_true(at[0][left].m[2][3] - at[0][right].m[2][3] > 0.3); /* a step */
}

TEST(bad_options_are_refused) {
    abut_character_figure_options options = abut_character_figure_options_default();
    abut_character *character = NULL;
    assert_refused("character is null", abut_character_create_figure(NULL, &options, NULL));
    options.triangles = 7999;
    assert_refused("triangles is 7999", abut_character_create_figure(NULL, &options, &character));
    options.triangles = 1000001;
    assert_refused("it must be from 8000 to 1000000",
                   abut_character_create_figure(NULL, &options, &character));
    options.triangles = 0;
    options.figure = ABUT_CHARACTER_FIGURE_COUNT;
    assert_refused("figure is 3", abut_character_create_figure(NULL, &options, &character));
    options.size = 0;
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_character_create_figure(NULL, &options, &character));
    assert_null(character);
    assert_null(abut_character_figure_name(ABUT_CHARACTER_FIGURE_COUNT));
    assert_string_equal("ogre", abut_character_figure_name(ABUT_CHARACTER_FIGURE_OGRE));
}

TEST_THREADS(threads_make_no_difference) {
    test_memory memory = {0};
    abut_context *context = test_context(&memory, 3);
    abut_character *character = make(context, ABUT_CHARACTER_FIGURE_MALE, 8000);
    const abut_mesh *a = abut_character_rest_mesh(character),
                    *b = abut_character_rest_mesh(shared());
    assert_int_equal(a->vertex_count, b->vertex_count);
    assert_memory_equal(a->positions, b->positions, a->vertex_count * sizeof *a->positions);
    abut_character_destroy(character);
    abut_context_destroy(context);
}

/* The slow parts have tests of their own; here some places of the whole. */
TEST(memory_may_end) {
    static const uint64_t places[] = {1, 2, 3, 5, 8, 12, 20, 45};
    for (size_t i = 0; i < sizeof places / sizeof *places; i += test_brief() ? 3 : 2) {
        test_memory memory = {.fail_at = places[i]};
        abut_context *context = test_context(&memory, 1);
        abut_character_figure_options options = abut_character_figure_options_default();
        abut_character *character = NULL;
        options.triangles = 8000;
        assert_int_equal(ABUT_ERROR_MEMORY,
                         abut_character_create_figure(context, &options, &character));
        assert_null(character);
        assert_int_equal(1, memory.live_count); /* the context */
        abut_context_destroy(context);
    }
}

static abut_status weigh(abut_context *context, void *data) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *box = NULL;
    uint32_t bones[8 * FIGURE_WEIGHTS];
    double weights[8 * FIGURE_WEIGHTS];
    character_pool pool = {.context = context};
    abut_character_clip clips[FIGURE_CLIPS];
    shape.segments = 1;
    abut_status status = abut_shape_create(context, &shape, &box);
    if (!status)
        status = abuti_figure_weights(data, box, bones, weights);
    if (!status)
        status = abuti_figure_clips(data, &pool, clips);
    abuti_character_release(&pool);
    abut_mesh_destroy(box);
    return status;
}

TEST(weights_and_clips_need_memory) {
    figure *f = malloc(sizeof *f);
    assert_non_null(f);
    abuti_figure_fill(f, ABUT_CHARACTER_FIGURE_MALE);
    assert_true(f->part_count <= FIGURE_PARTS);
    assert_true(test_every_allocation(weigh, f) > 15);
    free(f);
}
