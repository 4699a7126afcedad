/* Measures of a body: joints, axes, parts and girth. */
#include "garment/garment.h"

#include <math.h>

/* The joints that the caller passed, or that were found. */
static abut_status choose_joints(const abut_character *character, const char *who,
                                 const abut_character_matrix *bones, const uint32_t *given,
                                 uint32_t *joints) {
    abut_status status = abuti_garment_joints(character, bones, joints);
    for (int i = 0; i < ABUT_GARMENT_JOINT_COUNT && !status; i++) {
        if (given && given[i] != ABUT_NONE)
            joints[i] = given[i];
        if (given && given[i] != ABUT_NONE && given[i] >= character->info.bone_count)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: joints[%d] is %u, but there are only %u bones", who, i, given[i],
                              character->info.bone_count);
        if (joints[i] == ABUT_NONE)
            status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                "%s: no bone was found for the joint %s, neither by common names "
                                "nor by the shape of the skeleton; set it in options.joints "
                                "(--joints)",
                                who, abut_garment_joint_name((abut_garment_joint)i));
    }
    return status;
}

static abut_status find_joints(const abut_character *character, const uint32_t *given,
                               garment_body *b) {
    vec3 *places[ABUT_GARMENT_JOINT_COUNT] = {&b->hips,     &b->neck,       &b->arm[0],
                                              &b->arm[1],   &b->forearm[0], &b->forearm[1],
                                              &b->hand[0],  &b->hand[1],    &b->thigh[0],
                                              &b->thigh[1], &b->leg[0],     &b->leg[1],
                                              &b->foot[0],  &b->foot[1]};
    abut_character_matrix *bones =
        abuti_allocate(b->context, character->info.bone_count, sizeof *bones);
    abut_status status = bones ? abut_character_pose(character, NULL, bones) : ABUT_ERROR_MEMORY;
    if (!status)
        status = choose_joints(character, b->who, bones, given, b->joints);
    for (int i = 0; i < ABUT_GARMENT_JOINT_COUNT && !status; i++)
        *places[i] = v3(bones[b->joints[i]].m[0][3], bones[b->joints[i]].m[1][3],
                        bones[b->joints[i]].m[2][3]);
    abuti_release(b->context, bones);
    return status;
}

abut_status abut_garment_joints(const abut_character *character, uint32_t *joints) {
    uint32_t found[ABUT_GARMENT_JOINT_COUNT];
    if (!character || !joints)
        return abuti_null(__func__, character ? "joints" : "character");
    abut_character_matrix *bones =
        abuti_allocate(character->context, character->info.bone_count, sizeof *bones);
    abut_status status = bones ? abut_character_pose(character, NULL, bones) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_garment_joints(character, bones, found);
    if (!status)
        memcpy(joints, found, sizeof found);
    abuti_release(character->context, bones);
    return status;
}

const char *abut_garment_joint_name(abut_garment_joint joint) {
    static const char *const names[] = {"hips",         "neck",          "left-arm",  "right-arm",
                                        "left-forearm", "right-forearm", "left-hand", "right-hand",
                                        "left-thigh",   "right-thigh",   "left-leg",  "right-leg",
                                        "left-foot",    "right-foot"};
    return ABUTI_NAME(names, joint);
}

static abut_status compute_axes(garment_body *b) {
    vec3 up = v3_sub(b->neck, b->hips), left = v3_sub(b->thigh[0], b->thigh[1]);
    vec3 sides[3] = {v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)};
    for (int i = 0; i < 3; i++) /* upright bodies lean a little; cuts should be level */
        if (fabs(v3_dot(up, sides[i])) > 0.9 * v3_length(up))
            up = v3_scale(sides[i], v3_dot(up, sides[i]));
    b->up = v3_normalise(up);
    b->left = v3_normalise(v3_along(left, -v3_dot(left, b->up), b->up));
    b->forward = v3_cross(b->left, b->up);
    double height = garment_height(b, b->neck) - garment_height(b, b->foot[0]);
    b->scale = height / 1.247; /* 1 for the mannequin */
    vec3 legs = v3_sub(b->hips, v3_lerp(b->foot[0], b->foot[1], 0.5));
    if (!(height > 0) || !(v3_length_sq(b->left) > 0.5) ||
        !(v3_dot(legs, b->up) > 0.5 * v3_length(legs)))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the character does not stand on two legs in its rest pose: its neck "
                          "is not above its hips, or its hips are not above its feet",
                          b->who);
    return ABUT_OK;
}

static double segment_distance(vec3 p, vec3 a, vec3 b) {
    vec3 ab = v3_sub(b, a);
    double length_sq = v3_length_sq(ab);
    double t = length_sq > 0 ? real_clamp(v3_dot(v3_sub(p, a), ab) / length_sq, 0, 1) : 0;
    return v3_length(v3_sub(p, v3_along(a, t, ab)));
}

double abuti_garment_arm_distance(const garment_body *b, vec3 p, int side) {
    vec3 way = v3_normalise(v3_sub(b->hand[side], b->forearm[side]));
    vec3 tip = v3_along(b->hand[side], 0.2 * b->scale, way);
    return fmin(segment_distance(p, b->arm[side], b->forearm[side]),
                segment_distance(p, b->forearm[side], tip));
}

double abuti_garment_trunk_distance(const garment_body *b, vec3 p) {
    return fmin(segment_distance(p, b->hips, b->neck),
                fmin(segment_distance(p, b->thigh[0], b->leg[0]),
                     segment_distance(p, b->thigh[1], b->leg[1])));
}

/* The part of the body that a bone belongs to. */
static garment_part part_of(const abut_character *character, const uint32_t *joints,
                            uint32_t bone) {
    static const garment_part parts[ABUT_GARMENT_JOINT_COUNT] = {
        PART_LEGS, PART_TRUNK, PART_ARM,  PART_ARM,  PART_FOREARM, PART_FOREARM, PART_HAND,
        PART_HAND, PART_LEGS,  PART_LEGS, PART_LEGS, PART_LEGS,    PART_LEGS,    PART_LEGS};
    uint32_t hips = joints[ABUT_GARMENT_HIPS];
    if (bone == hips)
        return PART_LEGS;
    for (; bone != ABUT_NONE && bone != hips; bone = character->bones[bone].parent)
        for (int i = ABUT_GARMENT_JOINT_COUNT - 1; i >= 0; i--)
            if (bone == joints[i])
                return parts[i];
    return PART_TRUNK;
}

/* The parts of all vertices, by their largest weights. */
static abut_status find_parts(const abut_character *character, garment_body *b) {
    uint32_t bone_count = character->info.bone_count, count = b->mesh->vertex_count;
    unsigned char *of_bones = abuti_allocate(b->context, bone_count, 1);
    b->parts = abuti_allocate(b->context, count, 1);
    for (uint32_t i = 0; i < bone_count && of_bones; i++)
        of_bones[i] = character->moves[i] ? (unsigned char)part_of(character, b->joints, i) : 0;
    for (uint32_t v = 0; v < count && of_bones && b->parts; v++) {
        uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
        double weights[ABUT_CHARACTER_WEIGHT_COUNT];
        b->parts[v] =
            abut_character_weights(character, v, bones, weights) ? of_bones[bones[0]] : PART_TRUNK;
    }
    abut_status status = of_bones && b->parts ? ABUT_OK : ABUT_ERROR_MEMORY;
    abuti_release(b->context, of_bones);
    return status;
}

/* The girth of hips and thighs, without objects that hang over them. */
static void compute_girth(garment_body *b) {
    double waist = 0.25 * garment_height(b, b->neck), knee = garment_height(b, b->leg[0]);
    double most = 0;
    for (uint32_t v = 0; v < b->mesh->vertex_count; v++) {
        vec3 p = v3_sub(abuti_mesh_position(b->mesh, v), b->hips);
        double height = v3_dot(p, b->up);
        if (height < waist && height > knee && b->parts[v] == PART_LEGS)
            most = fmax(most, v3_length(v3_along(p, -height, b->up)));
    }
    b->girth = most;
}

abut_status abuti_garment_measure(const abut_character *character, const uint32_t *joints,
                                  garment_body *b) {
    abut_field_options options = abut_field_options_default();
    b->mesh = character->rest;
    abut_status status = find_joints(character, joints, b);
    if (!status)
        status = compute_axes(b);
    if (status)
        return status;
    status = find_parts(character, b);
    if (status)
        return status;
    compute_girth(b);
    options.cell = 0.012 * b->scale;
    options.margin = 0.06 * b->scale;
    status = abut_bvh_create(b->mesh, NULL, &b->bvh);
    if (status)
        return status;
    return abut_field_create_from(b->bvh, &options, &b->field);
}

void abuti_garment_release(garment_body *b) {
    abuti_release(b->context, b->parts);
    abut_field_destroy(b->field);
    abut_bvh_destroy(b->bvh);
}
