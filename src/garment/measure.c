/* Taking measure: bones by their names, heights and girth. */
#include "garment/garment.h"

#include <ctype.h>
#include <math.h>

/* Words for a bone, without case and signs; %s is "left" and the like. */
static const char *const words_of[][6] = {
    {"hips", "pelvis", "hip", NULL},
    {"neck", "neck01", "neck1", NULL},
    {"%sarm", "upperarm%s", "%supperarm", "arm%s", NULL},
    {"%sforearm", "lowerarm%s", "%slowerarm", "forearm%s", NULL},
    {"%shand", "hand%s", NULL},
    {"%supleg", "thigh%s", "%sthigh", "upperleg%s", "%supperleg", NULL},
    {"%sleg", "calf%s", "%scalf", "lowerleg%s", "%slowerleg", NULL},
    {"%sfoot", "foot%s", NULL},
};
static const char *const called[] = {"Hips", "Neck",  "Arm", "ForeArm",
                                     "Hand", "UpLeg", "Leg", "Foot"};

/* A name without case, signs and what stands before a colon. */
static void simplify(const char *name, char *to, size_t room) {
    const char *colon = strrchr(name, ':');
    size_t used = 0;
    name = colon ? colon + 1 : name;
    for (; *name && used + 1 < room; name++)
        if (isalnum((unsigned char)*name))
            to[used++] = (char)tolower((unsigned char)*name);
    to[used] = 0;
    if (!strncmp(to, "mixamorig", 9))
        memmove(to, to + 9, used - 8);
}

static uint32_t find_bone(const abut_character *character, size_t which, int side) {
    static const char *const sides[2][2] = {{"left", "l"}, {"right", "r"}};
    for (uint32_t i = 0; i < character->info.bone_count; i++) {
        char name[64], word[64];
        simplify(character->bones[i].name, name, sizeof name);
        for (int k = 0; words_of[which][k]; k++)
            for (int form = 0; form < 2; form++) {
                const char *pattern = words_of[which][k], *mark = strstr(pattern, "%s");
                if (mark)
                    snprintf(word, sizeof word, "%.*s%s%s", (int)(mark - pattern), pattern,
                             sides[side][form], mark + 2);
                else
                    snprintf(word, sizeof word, "%s", pattern);
                if (!strcmp(name, word))
                    return i;
            }
    }
    return ABUT_NONE;
}

static abut_status find_joints(const abut_character *character, garment_body *b) {
    static const char *const side_names[2] = {"Left", "Right"};
    vec3 *places[8][2] = {{&b->hips, NULL},           {&b->neck, NULL},
                          {&b->arm[0], &b->arm[1]},   {&b->forearm[0], &b->forearm[1]},
                          {&b->hand[0], &b->hand[1]}, {&b->thigh[0], &b->thigh[1]},
                          {&b->leg[0], &b->leg[1]},   {&b->foot[0], &b->foot[1]}};
    abut_character_matrix *bones =
        abuti_allocate(b->context, character->info.bone_count, sizeof *bones);
    abut_status status = bones ? abut_character_pose(character, NULL, bones) : ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < 8 && !status; i++)
        for (int side = 0; side < 2 && places[i][side] && !status; side++) {
            uint32_t bone = find_bone(character, i, side);
            if (bone == ABUT_NONE)
                status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                    "%s: the character has no bone called %s%s, or a usual name "
                                    "for it; garments are cut by such bones",
                                    b->who, i < 2 ? "" : side_names[side], called[i]);
            else
                *places[i][side] =
                    v3(bones[bone].m[0][3], bones[bone].m[1][3], bones[bone].m[2][3]);
        }
    abuti_release(b->context, bones);
    return status;
}

static abut_status find_axes(garment_body *b) {
    vec3 up = v3_sub(b->neck, b->hips), left = v3_sub(b->thigh[0], b->thigh[1]);
    vec3 sides[3] = {v3(1, 0, 0), v3(0, 1, 0), v3(0, 0, 1)};
    for (int i = 0; i < 3; i++) /* upright bodies lean a little; cuts should be level */
        if (fabs(v3_dot(up, sides[i])) > 0.9 * v3_length(up))
            up = v3_scale(sides[i], v3_dot(up, sides[i]));
    b->up = v3_normalise(up);
    b->left = v3_normalise(v3_along(left, -v3_dot(left, b->up), b->up));
    b->forward = v3_cross(b->left, b->up);
    double height = garment_height(b, b->neck) - garment_height(b, b->foot[0]);
    b->scale = height / 1.247; /* as the mannequin has them */
    if (!(height > 0) || !(v3_length_sq(b->left) > 0.5))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the character does not stand in its rest pose: its neck is not "
                          "above its feet",
                          b->who);
    return ABUT_OK;
}

static double segment_distance(vec3 p, vec3 a, vec3 b) {
    vec3 ab = v3_sub(b, a);
    double length_sq = v3_length_sq(ab);
    double t = length_sq > 0 ? real_clamp(v3_dot(v3_sub(p, a), ab) / length_sq, 0, 1) : 0;
    return v3_length(v3_sub(p, v3_along(a, t, ab)));
}

double abuti_garment_from_arm(const garment_body *b, vec3 p, int side) {
    vec3 way = v3_normalise(v3_sub(b->hand[side], b->forearm[side]));
    vec3 tip = v3_along(b->hand[side], 0.2 * b->scale, way);
    return fmin(segment_distance(p, b->arm[side], b->forearm[side]),
                segment_distance(p, b->forearm[side], tip));
}

double abuti_garment_from_trunk(const garment_body *b, vec3 p) {
    return fmin(segment_distance(p, b->hips, b->neck),
                fmin(segment_distance(p, b->thigh[0], b->leg[0]),
                     segment_distance(p, b->thigh[1], b->leg[1])));
}

/* The girth from knees to waist, without hands. */
static void find_girth(garment_body *b) {
    double waist = 0.25 * garment_height(b, b->neck), knee = garment_height(b, b->leg[0]);
    double most = 0;
    for (uint32_t v = 0; v < b->mesh->vertex_count; v++) {
        vec3 at = abuti_mesh_position(b->mesh, v), p = v3_sub(at, b->hips);
        double height = v3_dot(p, b->up), trunk = abuti_garment_from_trunk(b, at);
        if (height < waist && height > knee && trunk < abuti_garment_from_arm(b, at, 0) &&
            trunk < abuti_garment_from_arm(b, at, 1))
            most = fmax(most, v3_length(v3_along(p, -height, b->up)));
    }
    b->girth = most;
}

abut_status abuti_garment_measure(const abut_character *character, garment_body *b) {
    abut_field_options options = abut_field_options_default();
    b->mesh = character->rest;
    abut_status status = find_joints(character, b);
    status = status ? status : find_axes(b);
    if (status)
        return status;
    find_girth(b);
    options.cell = 0.012 * b->scale;
    options.margin = 0.06 * b->scale;
    status = abut_bvh_create(b->mesh, NULL, &b->bvh);
    return status ? status : abut_field_create_from(b->bvh, &options, &b->field);
}

void abuti_garment_forget(garment_body *b) {
    abut_field_destroy(b->field);
    abut_bvh_destroy(b->bvh);
}
