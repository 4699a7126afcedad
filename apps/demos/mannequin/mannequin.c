/* Built-in characters: bones and rounded cones of a human, male or female, and of an ogre.
 *
 * Lengths are those of a human of 1.6 m, in metres; a style scales them part by part. Only the left
 * side (+x) is described; the right side is its mirror image. Bones have the names of common game
 * rigs and no rotation in the rest pose: arms point down by 43 degrees and fingers are spread.
 */
#include "mannequin/mannequin.h"

#include <assert.h>
#include <math.h>

/* Factors of lengths and radii of one figure. */
typedef struct figure_style {
    double scale;
    double legs, torso, arms, neck;                /* lengths */
    double shoulders, hips;                        /* widths */
    double thick, limbs, waist, head, hands, feet; /* radii, or sizes */
    double breast;                                 /* radius in metres */
    double belly;                                  /* radius in metres; 0 = none */
} figure_style;

static const figure_style styles[] = {
    [ABUT_CHARACTER_FIGURE_MALE] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.045, 0},
    [ABUT_CHARACTER_FIGURE_FEMALE] = {1, 1.02, 0.98, 0.97, 1.05, 0.9, 1.04, 0.93, 0.92, 0.83, 0.97,
                                      0.92, 0.93, 0.056, 0},
    [ABUT_CHARACTER_FIGURE_OGRE] = {2.66, 0.86, 1.12, 1.2, 0.75, 1.62, 1.55, 1.42, 1.62, 1.5, 0.98,
                                    1.5, 1.5, 0.085, 0.15},
};

/* ---- building ---- */

typedef struct builder {
    figure *f;
    const figure_style *s;
} builder;

static vec3 mirrored(vec3 p) {
    return v3(-p.x, p.y, p.z);
}

static void add_bone(builder *b, uint32_t joint, const char *name, uint32_t parent, vec3 at) {
    b->f->names[joint] = name;
    b->f->parents[joint] = parent;
    b->f->joints[joint] = v3_scale(at, b->s->scale);
}

/* Adds a bone of the left side and its mirror image. A parent on the centre line is common to
 * both. */
static void add_bones(builder *b, uint32_t joint, const char *left, const char *right,
                      uint32_t parent, vec3 at) {
    add_bone(b, joint, left, parent, at);
    add_bone(b, joint + SIDE_JOINTS, right,
             parent >= JOINT_SHOULDER ? parent + SIDE_JOINTS : parent, mirrored(at));
}

static void add_part(builder *b, uint32_t bone, vec3 from, double ra, vec3 to, double rb,
                     double blend) {
    double scale = b->s->scale;
    assert(b->f->part_count < FIGURE_PARTS);
    figure_part *p = &b->f->parts[b->f->part_count++];
    p->bone = bone;
    p->a = v3_scale(from, scale);
    p->along = v3_scale(v3_sub(to, from), scale);
    p->ra = ra * scale;
    p->rb = rb * scale;
    p->blend = blend * scale;
    p->length_sq = v3_length_sq(p->along);
}

static void add_parts(builder *b, uint32_t bone, vec3 from, double ra, vec3 to, double rb,
                      double blend) {
    add_part(b, bone, from, ra, to, rb, blend);
    add_part(b, bone >= JOINT_SHOULDER ? bone + SIDE_JOINTS : bone, mirrored(from), ra,
             mirrored(to), rb, blend);
}

static void add_ball(builder *b, uint32_t bone, vec3 at, double r, double blend) {
    if (at.x > 0)
        add_parts(b, bone, at, r, at, r, blend);
    else
        add_part(b, bone, at, r, at, r, blend);
}

/* ---- parts of the body ---- */

/* Heights along the spine: legs scale the height of the hips, the torso scales the height above
 * them. */
static double leg_height(const builder *b, double y) {
    return y * b->s->legs;
}
static double torso_height(const builder *b, double y) {
    return leg_height(b, 0.88) + (y - 0.88) * b->s->torso;
}

static void add_trunk(builder *b) {
    const figure_style *s = b->s;
    double w = s->shoulders, h = s->hips, t = s->thick, waist = t * s->waist;
    double y0 = leg_height(b, 0.88), blend = 0.05;
    add_bone(b, JOINT_ROOT, "Root", ABUT_NONE, v3(0, 0, 0));
    add_bone(b, JOINT_HIPS, "Hips", JOINT_ROOT, v3(0, y0, 0));
    add_bone(b, JOINT_SPINE, "Spine", JOINT_HIPS, v3(0, torso_height(b, 0.97), -0.005));
    add_bone(b, JOINT_SPINE1, "Spine1", JOINT_SPINE, v3(0, torso_height(b, 1.07), -0.01));
    add_bone(b, JOINT_SPINE2, "Spine2", JOINT_SPINE1, v3(0, torso_height(b, 1.18), -0.015));
    add_parts(b, JOINT_HIPS, v3(0.02 * h, y0 - 0.005, 0), 0.092 * t, v3(0.066 * h, y0 - 0.012, 0),
              0.09 * t, blend);
    add_ball(b, JOINT_HIPS, v3(0.056 * h, y0 - 0.035, -0.036 * t), 0.074 * t, blend);
    add_parts(b, JOINT_SPINE, v3(0.042 * h, torso_height(b, 0.95), 0.002), 0.086 * t,
              v3(0.038 * (h + w) / 2, torso_height(b, 1.04), 0.002), 0.083 * waist, blend);
    add_parts(b, JOINT_SPINE1, v3(0.04 * (h + w) / 2, torso_height(b, 1.06), 0), 0.083 * waist,
              v3(0.055 * w, torso_height(b, 1.15), -0.003), 0.086 * t, blend);
    add_parts(b, JOINT_SPINE2, v3(0.058 * w, torso_height(b, 1.16), -0.004), 0.088 * t,
              v3(0.078 * w, torso_height(b, 1.255), -0.012), 0.076 * t, blend);
    add_part(b, JOINT_SPINE2, v3(0, torso_height(b, 1.2), -0.005), 0.085 * t,
             v3(0, torso_height(b, 1.29), -0.015), 0.055 * t, blend);
    add_ball(b, JOINT_SPINE2, v3(0.066 * w, torso_height(b, 1.212), 0.052 * t), s->breast, 0.035);
    if (s->belly > 0)
        add_part(b, JOINT_SPINE, v3(0, torso_height(b, 0.97), 0.04), s->belly,
                 v3(0, torso_height(b, 1.05), 0.045), s->belly, blend);
}

static void add_head(builder *b) {
    const figure_style *s = b->s;
    double n = s->neck, h = s->head, t = 0.5 * (s->thick + 1);
    vec3 neck = v3(0, torso_height(b, 1.325), -0.018);
    vec3 neck1 = v3_add(neck, v3(0, 0.045 * n, 0.006)),
         head = v3_add(neck, v3(0, 0.085 * n, 0.014));
    add_bone(b, JOINT_NECK, "Neck", JOINT_SPINE2, neck);
    add_bone(b, JOINT_NECK1, "Neck1", JOINT_NECK, neck1);
    add_bone(b, JOINT_HEAD, "Head", JOINT_NECK1, head);
    add_part(b, JOINT_NECK, v3_add(neck, v3(0, -0.03, 0)), 0.056 * t, neck1, 0.05 * t, 0.03);
    add_part(b, JOINT_NECK1, neck1, 0.049 * t, v3_add(head, v3(0, 0.02, 0)), 0.047 * t, 0.02);
    vec3 skull = v3_add(head, v3(0, 0.106 * h, -0.012 * h));
    add_part(b, JOINT_HEAD, skull, 0.084 * h, v3_add(skull, v3(0, -0.012 * h, 0.024 * h)),
             0.078 * h, 0.03);
    add_part(b, JOINT_HEAD, v3_add(head, v3(0, 0.075 * h, 0.03 * h)), 0.058 * h,
             v3_add(head, v3(0, 0.018 * h, 0.047 * h)), 0.034 * h, 0.03);
    add_part(b, JOINT_HEAD, v3_add(head, v3(0, 0.1 * h, 0.082 * h)), 0.008 * h,
             v3_add(head, v3(0, 0.07 * h, 0.095 * h)), 0.012 * h, 0.014);
    add_parts(b, JOINT_HEAD, v3_add(head, v3(0.079 * h, 0.072 * h, 0.0)), 0.009 * h,
              v3_add(head, v3(0.083 * h, 0.1 * h, -0.006 * h)), 0.013 * h, 0.01);
    b->f->height = s->scale * (skull.y + 0.084 * h);
}

/* Adds a finger of three bones. */
static void add_finger(builder *b, int number, vec3 root, vec3 way, vec3 bend,
                       const double lengths[3], double radius) {
    static const char *const names[2][15] = {
        {"LeftHandThumb1", "LeftHandThumb2", "LeftHandThumb3", "LeftHandIndex1", "LeftHandIndex2",
         "LeftHandIndex3", "LeftHandMiddle1", "LeftHandMiddle2", "LeftHandMiddle3", "LeftHandRing1",
         "LeftHandRing2", "LeftHandRing3", "LeftHandPinky1", "LeftHandPinky2", "LeftHandPinky3"},
        {"RightHandThumb1", "RightHandThumb2", "RightHandThumb3", "RightHandIndex1",
         "RightHandIndex2", "RightHandIndex3", "RightHandMiddle1", "RightHandMiddle2",
         "RightHandMiddle3", "RightHandRing1", "RightHandRing2", "RightHandRing3",
         "RightHandPinky1", "RightHandPinky2", "RightHandPinky3"}};
    uint32_t parent = JOINT_HAND;
    vec3 at = root;
    for (int i = 0; i < 3; i++) {
        uint32_t bone = JOINT_THUMB + 3 * (uint32_t)number + (uint32_t)i;
        double size = b->s->hands, r0 = radius * size * (1 - 0.09 * i),
               r1 = radius * size * (1 - 0.09 * (i + 1));
        add_bones(b, bone, names[0][3 * number + i], names[1][3 * number + i], parent, at);
        vec3 to = v3_along(at, lengths[i] * size, v3_normalise(v3_along(way, 0.12 * i, bend)));
        add_parts(b, bone, at, r0, to, r1, i || number ? 0.004 * size : 0.02 * size);
        at = to;
        parent = bone;
    }
}

static void add_arm(builder *b) {
    const figure_style *s = b->s;
    double w = s->shoulders, l = s->limbs, t = s->thick, size = s->hands;
    double y = torso_height(b, 1.295);
    vec3 collar = v3(0.02 * w, y + 0.01, -0.005), shoulder = v3(0.158 * w, y, -0.015);
    vec3 down = v3_normalise(v3(0.73, -0.68, 0)), forward = v3(0, 0, 1);
    vec3 palm = v3_cross(forward, down); /* away from the body; the palm faces the other way */
    if (palm.y < 0)
        palm = v3_scale(palm, -1);
    vec3 elbow = v3_along(shoulder, 0.265 * s->arms, down);
    vec3 lower = v3_normalise(v3_along(down, 0.08, forward));
    vec3 wrist = v3_along(elbow, 0.235 * s->arms, lower);
    add_bones(b, JOINT_SHOULDER, "LeftShoulder", "RightShoulder", JOINT_SPINE2, collar);
    add_bones(b, JOINT_ARM, "LeftArm", "RightArm", JOINT_SHOULDER, shoulder);
    add_bones(b, JOINT_FOREARM, "LeftForeArm", "RightForeArm", JOINT_ARM, elbow);
    add_bones(b, JOINT_HAND, "LeftHand", "RightHand", JOINT_FOREARM, wrist);
    add_parts(b, JOINT_SHOULDER, v3(0.05 * w, y - 0.01, -0.02), 0.05 * t,
              v3(0.125 * w, y - 0.008, -0.016), 0.047 * t, 0.04);
    add_parts(b, JOINT_SHOULDER, v3(0.025 * w, y + 0.05, -0.025), 0.028 * t,
              v3(0.12 * w, y + 0.02, -0.02), 0.026 * t, 0.04);
    add_parts(b, JOINT_ARM, v3_along(shoulder, 0.008, down), 0.05 * l, elbow, 0.036 * l, 0.035);
    vec3 swell = v3_along(elbow, 0.06 * s->arms, lower);
    add_parts(b, JOINT_FOREARM, elbow, 0.0355 * l, swell, 0.038 * l, 0.006);
    add_parts(b, JOINT_FOREARM, swell, 0.038 * l, wrist, 0.0235 * l, 0.004);
    /* Four bones of the palm side by side, then the fingers. */
    static const double side[4] = {0.031, 0.0105, -0.01, -0.029};
    static const double reach[4] = {0.082, 0.085, 0.08, 0.073};
    static const double turn[4] = {0.17, 0.05, -0.07, -0.2};
    static const double radius[4] = {0.0088, 0.0092, 0.0088, 0.0078};
    static const double lengths[5][3] = {{0.036, 0.03, 0.024},
                                         {0.032, 0.022, 0.018},
                                         {0.035, 0.025, 0.019},
                                         {0.033, 0.023, 0.018},
                                         {0.026, 0.018, 0.015}};
    vec3 bend = v3_scale(palm, -1);
    vec3 knuckles[4], ways[4];
    for (int i = 0; i < 4; i++) {
        vec3 from = v3_along(v3_along(wrist, 0.012 * size, lower), 0.5 * side[i] * size, forward);
        knuckles[i] = v3_along(v3_along(wrist, reach[i] * size, lower), side[i] * size, forward);
        ways[i] = v3_normalise(v3_along(v3_along(lower, turn[i], forward), 0.08, bend));
        add_parts(b, JOINT_HAND, from, 0.0155 * size, knuckles[i], 0.0115 * size, 0.016 * size);
    }
    vec3 root = v3_along(v3_along(v3_along(wrist, 0.022 * size, lower), 0.02 * size, forward),
                         0.006 * size, bend);
    vec3 way = v3_normalise(v3_along(v3_along(v3_scale(lower, 0.72), 0.66, forward), 0.3, bend));
    add_finger(b, 0, root, way, lower, lengths[0], 0.0125);
    for (int i = 0; i < 4; i++)
        add_finger(b, i + 1, knuckles[i], ways[i], bend, lengths[i + 1], radius[i]);
}

static void add_leg(builder *b) {
    const figure_style *s = b->s;
    double h = s->hips, l = s->limbs, g = s->feet;
    vec3 hip = v3(0.088 * h, leg_height(b, 0.855), 0),
         knee = v3(0.107 * h, leg_height(b, 0.455), 0.008);
    vec3 ankle = v3(0.118 * h, leg_height(b, 0.078) * (0.4 + 0.6 * g), -0.018);
    double x = ankle.x, thigh = 0.55 * l + 0.45 * s->thick;
    vec3 ball = v3(x + 0.008 * g, 0.022 * g, -0.018 + 0.108 * g);
    add_bones(b, JOINT_THIGH, "LeftUpLeg", "RightUpLeg", JOINT_HIPS, hip);
    add_bones(b, JOINT_LEG, "LeftLeg", "RightLeg", JOINT_THIGH, knee);
    add_bones(b, JOINT_FOOT, "LeftFoot", "RightFoot", JOINT_LEG, ankle);
    add_bones(b, JOINT_TOES, "LeftToeBase", "RightToeBase", JOINT_FOOT, ball);
    add_parts(b, JOINT_THIGH, v3_add(hip, v3(0, -0.02, 0)), 0.079 * thigh, knee, 0.047 * l, 0.04);
    vec3 calf = v3_add(v3_lerp(knee, ankle, 0.3), v3(0, 0, -0.012));
    add_parts(b, JOINT_LEG, knee, 0.045 * l, calf, 0.049 * l, 0.008);
    add_parts(b, JOINT_LEG, calf, 0.049 * l, v3_add(ankle, v3(0, 0.02, 0)), 0.03 * l, 0.006);
    add_parts(b, JOINT_FOOT, v3_add(ankle, v3(0, 0.01, 0)), 0.03 * l,
              v3(x, 0.03 * g, -0.018 - 0.028 * g), 0.03 * g, 0.02);
    for (int i = -1; i <= 1; i += 2) {
        vec3 front = v3_add(ball, v3(0.017 * g * i, 0, 0));
        add_parts(b, JOINT_FOOT, v3_add(ankle, v3(0, -0.012 * g, 0.018 * g)), 0.032 * g, front,
                  0.022 * g, 0.025);
        add_parts(b, JOINT_TOES, v3_add(ball, v3(0.02 * g * i, -0.001 * g, 0.004 * g)), 0.0205 * g,
                  v3_add(ball, v3(0.014 * g * i, -0.006 * g, (i < 0 ? 0.057 : 0.047) * g)),
                  0.0155 * g, 0.02);
    }
}

void abuti_figure_fill(figure *f, abut_character_figure kind) {
    builder b = {f, &styles[kind]};
    f->part_count = 0;
    add_trunk(&b);
    add_head(&b);
    add_leg(&b);
    add_arm(&b);
    f->radius_max = 0.06 * b.s->scale * b.s->thick;
    f->blend_max = 0;
    for (uint32_t i = 0; i < f->part_count; i++)
        f->blend_max = fmax(f->blend_max, f->parts[i].blend);
}

/* ---- the character ---- */

static abut_status create_figure(abut_context *context, const figure *f, abut_mesh *mesh,
                                 abut_character **character) {
    const char *who = "abut_character_create_figure";
    character_pool pool = {.context = context};
    abut_character_bone bones[JOINT_COUNT];
    abut_character_clip clips[FIGURE_CLIPS];
    abut_character_input input = abut_character_input_default();
    size_t count = (size_t)mesh->vertex_count * FIGURE_WEIGHTS;
    uint32_t *weight_bones = abuti_character_allocate(&pool, count, sizeof *weight_bones);
    double *weights = abuti_character_allocate(&pool, count, sizeof *weights);
    for (uint32_t i = 0; i < JOINT_COUNT; i++) {
        bones[i] = abut_character_bone_default();
        bones[i].name = f->names[i];
        bones[i].parent = f->parents[i];
        bones[i].translation = f->parents[i] == ABUT_NONE
                                   ? f->joints[i]
                                   : v3_sub(f->joints[i], f->joints[f->parents[i]]);
    }
    abut_status status = weight_bones && weights ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_figure_weights(f, mesh, weight_bones, weights);
    if (!status)
        status = abuti_figure_clips(f, &pool, clips);
    input.mesh = mesh;
    input.bone_count = JOINT_COUNT;
    input.bones = bones;
    input.weight_count = FIGURE_WEIGHTS;
    input.weight_bones = weight_bones;
    input.weights = weights;
    input.clip_count = FIGURE_CLIPS;
    input.clips = clips;
    if (!status)
        status = abuti_character_make(context, who, &input, NULL, character);
    abuti_character_release(&pool);
    return status;
}

abut_status abut_character_create_figure(abut_context *context,
                                         const abut_character_figure_options *options,
                                         abut_character **character) {
    const char *who = "abut_character_create_figure";
    abut_character_figure_options o = abut_character_figure_options_default();
    if (!character)
        return abuti_null(__func__, "character");
    abut_status status =
        abuti_options_read(&o, sizeof o, options, "abut_character_create_figure: options");
    if (status)
        return status;
    if ((unsigned)o.figure >= ABUT_CHARACTER_FIGURE_COUNT)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: figure is %u; it must be a value of abut_character_figure", who,
                          (unsigned)o.figure);
    if (!o.triangles)
        o.triangles = o.figure == ABUT_CHARACTER_FIGURE_OGRE ? 17212 : 10828;
    if (o.triangles < ABUT_CHARACTER_FIGURE_TRIANGLES_MIN ||
        o.triangles > ABUT_CHARACTER_FIGURE_TRIANGLES_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: triangles is %u; it must be from %u to %u", who,
                          o.triangles, ABUT_CHARACTER_FIGURE_TRIANGLES_MIN,
                          ABUT_CHARACTER_FIGURE_TRIANGLES_MAX);
    context = abuti_context_of(context);
    figure *f = abuti_allocate(context, 1, sizeof *f);
    abut_mesh *mesh = NULL;
    if (!f)
        return ABUT_ERROR_MEMORY;
    abuti_figure_fill(f, o.figure);
    status = abuti_figure_surface(context, who, f, o.triangles, &mesh);
    if (!status)
        status = create_figure(context, f, mesh, character);
    abut_mesh_destroy(mesh);
    abuti_release(context, f);
    return status;
}

abut_status abut_character_create_named(void *user, abut_context *context, const char *name,
                                        abut_character **character) {
    abut_character_figure_options options = abut_character_figure_options_default();
    (void)user;
    if (!name)
        return abuti_null(__func__, "name");
    for (int i = 0; i < ABUT_CHARACTER_FIGURE_COUNT; i++)
        if (!strcmp(name, abut_character_figure_name((abut_character_figure)i))) {
            options.figure = (abut_character_figure)i;
            return abut_character_create_figure(context, &options, character);
        }
    return abuti_fail(ABUT_ERROR_FORMAT,
                      "there is no figure '%s'; it must be mannequin, mannequin-female or ogre",
                      name);
}

const char *abut_character_figure_name(abut_character_figure kind) {
    static const char *const names[] = {"mannequin", "mannequin-female", "ogre"};
    return ABUTI_NAME(names, kind);
}
