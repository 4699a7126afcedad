/* Garments: the requested number of particles, regular triangles, boundaries at their expected
 * positions, and no intersection with the body or with itself, tested exactly. */
#include "apps/get.h"
#include "support/support.h"

#include "garment/garment.h"

#include <math.h>
#include <stdlib.h>

/* A human that all tests dress; on one thread, since these are many small steps. */
static test_memory memory;
static abut_character *human(void) {
    static abut_character *character;
    abut_character_figure_options options = abut_character_figure_options_default();
    options.triangles = 8000;
    if (!character)
        assert_ok(abut_character_create_figure(test_context(&memory, 1), &options, &character));
    return character;
}

static abut_garment *make(abut_garment_kind kind, uint32_t particles) {
    abut_garment_options options = abut_garment_options_default();
    abut_garment *garment = NULL;
    options.kind = kind;
    options.particles = particles;
    assert_ok(abut_garment_create(human(), &options, &garment));
    return garment;
}

static void touches_nothing(abut_mesh *mesh) {
    abut_bvh *cloth = NULL, *body = NULL;
    uint64_t count = 1;
    bool any = true;
    assert_ok(abut_bvh_create(mesh, NULL, &cloth));
    assert_ok(abut_bvh_create(abut_character_rest_mesh(human()), NULL, &body));
    const abut_collider a = abut_collider_from_bvh(cloth, abut_pose_identity()),
                        b = abut_collider_from_bvh(body, abut_pose_identity());
    abut_pair_intersection_list crossings = {NULL, 0, 0};
    assert_ok(abut_pair_intersections(&a, &b, &crossings));
    count = crossings.count;
    assert_int_equal(0, count);
    assert_ok(abut_pair_self_intersects(cloth, NULL, &any));
    assert_false(any);
    abut_bvh_destroy(cloth);
    abut_bvh_destroy(body);
}

/* Most triangles are nearly equilateral. */
static void is_even(const abut_mesh *mesh) {
    uint32_t thin = 0;
    for (uint32_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *c = mesh->indices + 3 * t;
        vec3 a = mesh->positions[c[0]], b = mesh->positions[c[1]], d = mesh->positions[c[2]];
        double longest = fmax(v3_length_sq(v3_sub(a, b)),
                              fmax(v3_length_sq(v3_sub(b, d)), v3_length_sq(v3_sub(d, a))));
        thin += v3_length(v3_cross(v3_sub(b, a), v3_sub(d, a))) < 0.4 * longest;
    }
    assert_true(thin < 0.01 * mesh->triangle_count);
}

TEST(garments_fit) {
    static const struct {
        uint32_t particles, loops, parts;
    } wanted[ABUT_GARMENT_COUNT] = {
        {1297, 7, 2}, /* waist and ankles; neck, sleeves and hem */
        {5118, 3, 1}, /* sleeves; neck, hem and the opening are one */
        {3000, 1, 1},
        {2500, 4, 1}, /* neck, arms, hem */
    };
    for (int kind = 0; kind < ABUT_GARMENT_COUNT; kind += test_brief() ? 2 : 1) {
        abut_garment *garment = make((abut_garment_kind)kind, wanted[kind].particles);
        abut_character *cloth = abut_garment_character(garment);
        abut_mesh *mesh = abut_character_rest_mesh(cloth);
        abut_mesh_report report = test_examine(mesh);
        uint32_t pin_count;
        const uint32_t *pins = abut_garment_pins(garment, &pin_count);
        assert_int_equal(wanted[kind].particles, mesh->vertex_count);
        assert_int_equal(wanted[kind].loops, report.loop_count);
        assert_int_equal(wanted[kind].parts, report.component_count);
        assert_true(report.is_manifold && report.is_oriented);
        is_even(mesh);
        touches_nothing(mesh);
        assert_int_equal(get_character_info(human()).bone_count,
                         get_character_info(cloth).bone_count);
        assert_true(pin_count > 10 && pin_count < mesh->vertex_count / 4);
        for (uint32_t i = 1; i < pin_count; i++)
            assert_true(pins[i - 1] < pins[i]);
        assert_true(pins[pin_count - 1] < mesh->vertex_count);
        abut_garment_destroy(garment);
    }
}

/* Pins of trousers are at the waist, and go with the hips and the spine. */
TEST(pins_follow_the_body) {
    abut_garment *garment = make(ABUT_GARMENT_TROUSERS_AND_TOP, 0); /* 4825 */
    abut_character *cloth = abut_garment_character(garment);
    abut_mesh *mesh = abut_character_rest_mesh(cloth);
    uint32_t pin_count, waist = 0;
    const uint32_t *pins = abut_garment_pins(garment, &pin_count);
    assert_int_equal(4825, mesh->vertex_count);
    for (uint32_t i = 0; i < pin_count; i++) {
        uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
        double weights[ABUT_CHARACTER_WEIGHT_COUNT];
        assert_true(abut_character_weights(cloth, pins[i], bones, weights) > 0);
        const char *name = get_character_bone(cloth, bones[0]).name;
        if (abuti_mesh_position(mesh, pins[i]).y < 1.1) {
            waist++;
            assert_true(!strcmp(name, "Hips") || !strcmp(name, "Spine"));
        }
    }
    assert_true(waist > 10 && waist < pin_count);
    abut_garment_destroy(garment);
}

TEST(bad_options_are_refused) {
    abut_garment_options options = abut_garment_options_default();
    abut_garment *garment = NULL;
    uint32_t count = 1;
    assert_refused("character is null", abut_garment_create(NULL, &options, &garment));
    assert_refused("garment is null", abut_garment_create(human(), &options, NULL));
    options.particles = 999;
    assert_refused("particles is 999", abut_garment_create(human(), &options, &garment));
    options.particles = 0;
    options.ease = -1;
    assert_refused("ease is -1", abut_garment_create(human(), &options, &garment));
    options.ease = NAN;
    assert_refused("must be finite", abut_garment_create(human(), &options, &garment));
    options.ease = 3;
    assert_refused("ease is 3; it must be at most",
                   abut_garment_create(human(), &options, &garment));
    options.ease = 0;
    options.kind = ABUT_GARMENT_COUNT;
    assert_refused("kind is 4", abut_garment_create(human(), &options, &garment));
    assert_null(garment);
    assert_null(abut_garment_character(NULL));
    assert_null(abut_garment_pins(NULL, &count));
    assert_int_equal(0, count);
    assert_null(abut_garment_kind_name(ABUT_GARMENT_COUNT));
    abut_garment_destroy(NULL);
}

/* The message names the bones that move what is touched. */
TEST(garments_have_names) {
    abut_mesh *mesh = NULL;
    uint32_t *pins = NULL, count = 0;
    assert_ok(
        abut_garment_create_named(NULL, NULL, human(), "cape", 2500, 0, &mesh, &pins, &count));
    const uint32_t triangles = abut_mesh_triangle_count(mesh);
    assert_true(triangles > 2300 && triangles < 2700);
    assert_true(count > 3);
    for (uint32_t i = 0; i < count; i++)
        assert_true(pins[i] < abut_mesh_vertex_count(mesh) && (!i || pins[i - 1] < pins[i]));
    const abut_box close = abut_mesh_bounds(mesh);
    abut_mesh_destroy(mesh);
    abut_context_free(NULL, pins);
    assert_ok(
        abut_garment_create_named(NULL, NULL, human(), "cape", 2500, 0.05, &mesh, &pins, &count));
    assert_true(abut_mesh_bounds(mesh).hi.x > close.hi.x + 0.01); /* further from the body */
    abut_mesh_destroy(mesh);
    abut_context_free(NULL, pins);
    mesh = NULL;
    assert_fails(ABUT_ERROR_FORMAT, "there is no garment 'hat'",
                 abut_garment_create_named(NULL, NULL, human(), "hat", 0, 0, &mesh, &pins, &count));
    assert_refused("wearer is null",
                   abut_garment_create_named(NULL, NULL, NULL, "cape", 0, 0, &mesh, &pins, &count));
    assert_refused("name is null", abut_garment_create_named(NULL, NULL, human(), NULL, 0, 0, &mesh,
                                                             &pins, &count));
    assert_refused("mesh is null", abut_garment_create_named(NULL, NULL, human(), "cape", 0, 0,
                                                             NULL, &pins, &count));
    assert_refused("pins is null", abut_garment_create_named(NULL, NULL, human(), "cape", 0, 0,
                                                             &mesh, NULL, &count));
    assert_refused("pin_count is null", abut_garment_create_named(NULL, NULL, human(), "cape", 0, 0,
                                                                  &mesh, &pins, NULL));
    assert_null(mesh);
}

TEST(touched_bones_are_named) {
    abut_garment_options options = abut_garment_options_default();
    abut_garment *garment = NULL;
    options.kind = ABUT_GARMENT_CAPE;
    options.particles = 1000;
    options.ease = 1e-6;
    assert_refused("the cape would touch the body at the bones 'Spine2', '",
                   abut_garment_create(human(), &options, &garment));
    assert_non_null(strstr(abut_last_error(), "or use a larger ease (at most 0.0"));
    assert_null(garment);
}

/* The joints of the mannequin as other rigs call them. */
static const char *const rigs[][ABUT_GARMENT_JOINT_COUNT] = {
    {"mixamorig:Hips", "mixamorig:Neck", "mixamorig:LeftArm", "mixamorig:RightArm",
     "mixamorig:LeftForeArm", "mixamorig:RightForeArm", "mixamorig:LeftHand", "mixamorig:RightHand",
     "mixamorig:LeftUpLeg", "mixamorig:RightUpLeg", "mixamorig:LeftLeg", "mixamorig:RightLeg",
     "mixamorig:LeftFoot", "mixamorig:RightFoot"},
    {"DEF-pelvis", "DEF-neck", "DEF-upper_arm.L", "DEF-upper_arm.R", "DEF-forearm.L",
     "DEF-forearm.R", "DEF-hand.L", "DEF-hand.R", "DEF-thigh.L", "DEF-thigh.R", "DEF-shin.L",
     "DEF-shin.R", "DEF-foot.L", "DEF-foot.R"},
    {"Bip01 Pelvis", "Bip01 Neck", "Bip01 L UpperArm", "Bip01 R UpperArm", "Bip01 L Forearm",
     "Bip01 R Forearm", "Bip01 L Hand", "Bip01 R Hand", "Bip01 L Thigh", "Bip01 R Thigh",
     "Bip01 L Calf", "Bip01 R Calf", "Bip01 L Foot", "Bip01 R Foot"},
    {"J_Bip_C_Hips", "J_Bip_C_Neck", "J_Bip_L_UpperArm", "J_Bip_R_UpperArm", "J_Bip_L_LowerArm",
     "J_Bip_R_LowerArm", "J_Bip_L_Hand", "J_Bip_R_Hand", "J_Bip_L_UpperLeg", "J_Bip_R_UpperLeg",
     "J_Bip_L_LowerLeg", "J_Bip_R_LowerLeg", "J_Bip_L_Foot", "J_Bip_R_Foot"},
    {"pelvis", "neck_01", "upperarm_l", "upperarm_r", "lowerarm_l", "lowerarm_r", "hand_l",
     "hand_r", "thigh_l", "thigh_r", "calf_l", "calf_r", "foot_l", "foot_r"},
    {"hip", "neckLower", "lShldrBend", "rShldrBend", "lForearmBend", "rForearmBend", "lHand",
     "rHand", "lThighBend", "rThighBend", "lShin", "rShin", "lFoot", "rFoot"},
    {"Pelvis", "Neck", "L_Shoulder", "R_Shoulder", "L_Elbow", "R_Elbow", "L_Wrist", "R_Wrist",
     "L_Hip", "R_Hip", "L_Knee", "R_Knee", "L_Ankle", "R_Ankle"},
    {0}, /* no names at all */
};

/* The human with other names for its joints, and none for its other bones. */
static abut_character *rename_joints(const uint32_t *joints, const char *const *names) {
    abut_character *character = NULL;
    const abut_character *from = human();
    abut_character_input input = abut_character_input_default();
    uint32_t vertices = from->info.vertex_count, bones = from->info.bone_count;
    abut_character_bone *renamed = malloc(bones * sizeof *renamed);
    assert_non_null(renamed);
    memcpy(renamed, from->bones, bones * sizeof *renamed);
    for (uint32_t i = 0; i < bones; i++)
        renamed[i].name = NULL;
    for (int i = 0; i < ABUT_GARMENT_JOINT_COUNT; i++)
        renamed[joints[i]].name = names[i];
    input.mesh = abut_character_rest_mesh(human());
    input.bone_count = bones;
    input.bones = renamed;
    input.weight_count = ABUT_CHARACTER_WEIGHT_COUNT;
    uint32_t *weight_bones =
        calloc(vertices * (size_t)ABUT_CHARACTER_WEIGHT_COUNT, sizeof *weight_bones);
    double *weights = calloc(vertices * (size_t)ABUT_CHARACTER_WEIGHT_COUNT, sizeof *weights);
    assert_non_null(weight_bones);
    assert_non_null(weights);
    for (uint32_t v = 0; v < vertices; v++)
        abut_character_weights(from, v, weight_bones + v * (size_t)ABUT_CHARACTER_WEIGHT_COUNT,
                               weights + v * (size_t)ABUT_CHARACTER_WEIGHT_COUNT);
    input.weight_bones = weight_bones;
    input.weights = weights;
    assert_ok(abut_character_create(NULL, &input, &character));
    free(renamed);
    free(weight_bones);
    free(weights);
    return character;
}

TEST(joints_are_found_by_names_and_by_shape) {
    static const char *const own[ABUT_GARMENT_JOINT_COUNT] = {
        "Hips",         "Neck",     "LeftArm",   "RightArm",  "LeftForeArm",
        "RightForeArm", "LeftHand", "RightHand", "LeftUpLeg", "RightUpLeg",
        "LeftLeg",      "RightLeg", "LeftFoot",  "RightFoot"};
    uint32_t joints[ABUT_GARMENT_JOINT_COUNT], again[ABUT_GARMENT_JOINT_COUNT];
    assert_ok(abut_garment_joints(human(), joints));
    for (int i = 0; i < ABUT_GARMENT_JOINT_COUNT; i++)
        assert_string_equal(own[i], get_character_bone(human(), joints[i]).name);
    for (size_t k = 0; k < sizeof rigs / sizeof *rigs; k += test_brief() ? 7 : 1) {
        abut_character *character = rename_joints(joints, rigs[k]);
        assert_ok(abut_garment_joints(character, again));
        for (int i = 0; i < ABUT_GARMENT_JOINT_COUNT; i++)
            if (joints[i] != again[i])
                fail_msg("rig %zu: %s is bone %u, not %u", k,
                         abut_garment_joint_name((abut_garment_joint)i), again[i], joints[i]);
        abut_character_destroy(character);
    }
    assert_refused("character is null", abut_garment_joints(NULL, again));
    assert_refused("joints is null", abut_garment_joints(human(), NULL));
    assert_string_equal("right-foot", abut_garment_joint_name(ABUT_GARMENT_RIGHT_FOOT));
    assert_null(abut_garment_joint_name(ABUT_GARMENT_JOINT_COUNT));
}

TEST(joints_can_be_given) {
    uint32_t joints[ABUT_GARMENT_JOINT_COUNT];
    abut_garment_options options = abut_garment_options_default();
    abut_garment *garment = NULL;
    for (int i = 0; i < ABUT_GARMENT_JOINT_COUNT; i++)
        joints[i] = ABUT_NONE;
    options.joints = joints;
    joints[ABUT_GARMENT_NECK] = get_character_info(human()).bone_count;
    assert_refused("joints[1] is", abut_garment_create(human(), &options, &garment));
    joints[ABUT_GARMENT_NECK] = 0; /* on the floor */
    assert_refused("does not stand on two legs", abut_garment_create(human(), &options, &garment));
    assert_null(garment);
    joints[ABUT_GARMENT_NECK] = ABUT_NONE;
    options.particles = 1000;
    if (!test_brief())
        assert_ok(abut_garment_create(human(), &options, &garment));
    abut_garment_destroy(garment);
}

TEST(joints_that_are_missing_are_named) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_character_bone bone = abut_character_bone_default();
    abut_character_input input = abut_character_input_default();
    abut_character *character = NULL;
    abut_garment *garment = NULL;
    uint32_t bones[8] = {0};
    double weights[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    shape.segments = 1;
    assert_ok(abut_shape_create(NULL, &shape, &input.mesh));
    bone.name = "mixamorig:Hips";
    input.bone_count = input.weight_count = 1;
    input.bones = &bone;
    input.weight_bones = bones;
    input.weights = weights;
    assert_ok(abut_character_create(NULL, &input, &character));
    assert_refused("no bone was found for the joint neck",
                   abut_garment_create(character, NULL, &garment));
    assert_null(garment);
    abut_character_destroy(character);
    abut_mesh_destroy(input.mesh);
}

TEST(memory_may_end) {
    abut_character *character = human();
    static const uint64_t places[] = {1, 2, 3, 4, 6, 9, 25};
    for (size_t i = 0; i < sizeof places / sizeof *places; i += test_brief() ? 3 : 2) {
        abut_garment *garment = NULL;
        uint64_t live = memory.live_count;
        memory.fail_at = memory.calls + places[i];
        assert_int_equal(ABUT_ERROR_MEMORY, abut_garment_create(character, NULL, &garment));
        assert_null(garment);
        assert_int_equal(live, memory.live_count);
    }
    memory.fail_at = 0;
}
