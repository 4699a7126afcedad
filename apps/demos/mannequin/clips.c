/* Clips of a figure: walk, jump and gymnastics.
 *
 * A posture is a set of joint angles (knee flexion, arm elevation, ...) and a height above the
 * ground. Walking is a function of the phase. The other clips are postures at given times,
 * interpolated by monotone cubic splines (Fritsch & Carlson 1980), which do not overshoot: a
 * stretched knee never bends backwards. Clips are sampled 30 times per second into rotation keys.
 * The height of the hips follows from the posture: the lowest point of the body is on the ground,
 * or `lift` above it.
 */
#include "mannequin/mannequin.h"

#include "base/turn.h"

#include <math.h>

#define KEYS_PER_SECOND 30 /* keys per second */

typedef enum limb_angle {
    ARM_RAISE, /* 0 = hangs down, 90 = horizontal */
    ARM_SWING, /* forward */
    ARM_TURN,  /* about its own axis, outwards */
    ELBOW,
    WRIST,
    FINGERS,     /* curled */
    THIGH_SWING, /* forward */
    THIGH_OUT,
    THIGH_TURN, /* toes outwards */
    KNEE,
    ANKLE, /* toes down */
    TOES,  /* up */
    LIMB_ANGLES
} limb_angle;

/* Angles in degrees, lengths as fractions of the height. */
typedef struct posture {
    double time;
    double lift;              /* height of the lowest point above the ground */
    double forward, left;     /* position of the hips */
    double pitch, yaw, roll;  /* of the whole body: forward, to the left, leaning left */
    double bend, lean, twist; /* of the spine: forward, left, to the left */
    double nod;
    double limbs[2][LIMB_ANGLES]; /* left, right */
} posture;

enum { POSTURE_NUMBERS = sizeof(posture) / sizeof(double) };

/* ---- angles ---- */

static quat rotation(vec3 axis, double degrees) {
    double turns = degrees / 720, part = turns - floor(turns); /* half the angle */
    const uint64_t whole = UINT64_C(1) << 32;
    abuti_vec2 c = abuti_turn((uint64_t)(part * (double)whole) % whole, whole);
    return (quat){axis.x * c.y, axis.y * c.y, axis.z * c.y, c.x};
}
static quat about_x(double degrees) {
    return rotation(v3(1, 0, 0), degrees);
}
static quat about_y(double degrees) {
    return rotation(v3(0, 1, 0), degrees);
}
static quat about_z(double degrees) {
    return rotation(v3(0, 0, 1), degrees);
}
static quat compose(quat a, quat b) { /* b is applied first */
    return quat_multiply(a, b);
}

static vec3 bone_direction(const figure *f, uint32_t from, uint32_t to) {
    return v3_normalise(v3_sub(f->joints[to], f->joints[from]));
}

/* Rotations of the bones of one side, from the angles of the left side. */
static void set_limb_rotations(const figure *f, const double *angle, quat *to, bool mirror) {
    quat q[JOINT_COUNT];
    vec3 arm = bone_direction(f, JOINT_ARM, JOINT_FOREARM), forward = v3(0, 0, 1);
    vec3 inwards = v3_normalise(v3_cross(arm, forward)); /* direction of the palm */
    inwards = inwards.y > 0 ? v3_scale(inwards, -1) : inwards;
    vec3 hinge = v3_normalise(v3_cross(arm, forward)), grip = v3_normalise(v3_cross(arm, inwards));
    double rest = 47, raise = angle[ARM_RAISE] - rest; /* rest: elevation in the rest pose */
    /* The collar bone follows the arm upwards, to the side or forward. */
    double collar = 0.22 * fmax(raise, 0), ahead = fmax(angle[ARM_SWING] - 60, 0) * 0.2;
    for (uint32_t i = JOINT_SHOULDER; i < JOINT_LEFT_END; i++)
        q[i] = (quat){0, 0, 0, 1};
    q[JOINT_SHOULDER] = compose(about_z(0.5 * ahead), about_z(collar));
    q[JOINT_ARM] =
        compose(compose(about_x(-angle[ARM_SWING]), about_z(raise - collar - 0.5 * ahead)),
                rotation(arm, -angle[ARM_TURN]));
    q[JOINT_FOREARM] = rotation(hinge, angle[ELBOW]);
    q[JOINT_HAND] = rotation(grip, angle[WRIST]);
    for (uint32_t i = 0; i < 15; i++) {
        double part = i < 3 ? 0.3 : i % 3 == 0 ? 0.8 : 1;
        q[JOINT_THUMB + i] = rotation(grip, part * angle[FINGERS]);
    }
    q[JOINT_THIGH] = compose(compose(about_x(-angle[THIGH_SWING]), about_z(angle[THIGH_OUT])),
                             about_y(angle[THIGH_TURN]));
    q[JOINT_LEG] = about_x(angle[KNEE]);
    q[JOINT_FOOT] = about_x(angle[ANKLE]);
    q[JOINT_TOES] = about_x(-angle[TOES]);
    for (uint32_t i = JOINT_SHOULDER; i < JOINT_LEFT_END; i++)
        to[mirror ? i + SIDE_JOINTS : i] = mirror ? (quat){q[i].x, -q[i].y, -q[i].z, q[i].w} : q[i];
}

static void set_rotations(const figure *f, const posture *p, quat *q) {
    q[JOINT_ROOT] = (quat){0, 0, 0, 1};
    q[JOINT_HIPS] = compose(compose(about_y(p->yaw), about_x(p->pitch)), about_z(-p->roll));
    for (uint32_t i = JOINT_SPINE; i <= JOINT_SPINE2; i++)
        q[i] = compose(compose(about_y(p->twist / 3), about_x(p->bend / 3)), about_z(-p->lean / 3));
    q[JOINT_NECK] = q[JOINT_NECK1] = about_x(0.3 * p->nod);
    q[JOINT_HEAD] = about_x(0.4 * p->nod);
    for (int side = 0; side < 2; side++)
        set_limb_rotations(f, p->limbs[side], q, side);
}

/* Height of the lowest point of the body relative to its hips. */
static double lowest_point(const figure *f, const quat *q) {
    quat turned[JOINT_COUNT];
    vec3 at[JOINT_COUNT];
    double least = INFINITY;
    for (uint32_t i = JOINT_HIPS; i < JOINT_COUNT; i++) { /* parents precede children */
        uint32_t parent = f->parents[i];
        bool root = i == JOINT_HIPS;
        mat3 m = quat_matrix(root ? q[i] : turned[parent]);
        vec3 way = root ? v3(0, 0, 0) : v3_sub(f->joints[i], f->joints[parent]);
        at[i] = root ? way : v3_add(at[parent], m3_apply(&m, way));
        turned[i] = root ? q[i] : quat_normalise(quat_multiply(turned[parent], q[i]));
    }
    for (uint32_t i = 0; i < f->part_count; i++) {
        const figure_part *part = &f->parts[i];
        mat3 m = quat_matrix(turned[part->bone]);
        vec3 a = v3_sub(part->a, f->joints[part->bone]), b = v3_add(a, part->along);
        double base = at[part->bone].y;
        least = fmin(least, base + m3_apply(&m, a).y - part->ra);
        least = fmin(least, base + m3_apply(&m, b).y - part->rb);
    }
    return least;
}

/* ---- clips from postures ---- */

/* Allocates channels for the rotation of all bones and the translation of the hips. */
static abut_status allocate_channels(character_pool *pool, uint32_t keys,
                                     abut_character_clip *clip) {
    abut_character_channel *channels =
        abuti_character_allocate(pool, JOINT_COUNT, sizeof *channels);
    double *times = abuti_character_allocate(pool, keys, sizeof *times);
    double *values = abuti_character_allocate(pool, 4 * (size_t)keys * JOINT_COUNT, sizeof *values);
    if (!channels || !times || !values)
        return ABUT_ERROR_MEMORY;
    for (uint32_t k = 0; k < keys; k++)
        times[k] = (double)k / KEYS_PER_SECOND;
    for (uint32_t i = 0; i < JOINT_COUNT;
         i++) /* channel 0 is the translation of the hips: the root does not move */
        channels[i] = (abut_character_channel){.bone = i ? i : JOINT_HIPS,
                                               .target = i ? ABUT_CHARACTER_TARGET_ROTATION
                                                           : ABUT_CHARACTER_TARGET_TRANSLATION,
                                               .key_count = keys,
                                               .times = times,
                                               .values = values + 4 * (size_t)keys * i};
    clip->channel_count = JOINT_COUNT;
    clip->channels = channels;
    clip->duration = times[keys - 1];
    return ABUT_OK;
}

static void set_key(const figure *f, const abut_character_clip *clip, uint32_t key,
                    const posture *p) {
    quat q[JOINT_COUNT];
    set_rotations(f, p, q);
    double *place = (double *)clip->channels[0].values + 3 * (size_t)key;
    place[0] = p->left * f->height;
    place[1] = p->lift * f->height - lowest_point(f, q);
    place[2] = p->forward * f->height;
    for (uint32_t i = 1; i < JOINT_COUNT; i++)
        memcpy((double *)clip->channels[i].values + 4 * (size_t)key, &q[i], 4 * sizeof(double));
}

/* Slope of the monotone spline at key i of a column. */
static double slope(const double *keys, uint32_t count, uint32_t i, uint32_t column) {
    if (i == 0 || i + 1 == count)
        return 0;
    const double *a = keys + (size_t)(i - 1) * POSTURE_NUMBERS, *b = a + POSTURE_NUMBERS,
                 *c = b + POSTURE_NUMBERS;
    double before = (b[column] - a[column]) / (b[0] - a[0]),
           after = (c[column] - b[column]) / (c[0] - b[0]);
    return before * after > 0 ? 2 * before * after / (before + after) : 0;
}

static posture interpolate_posture(const posture *postures, uint32_t count, double time) {
    const double *keys = (const double *)postures;
    uint32_t i = 0;
    posture made;
    double *to = (double *)&made;
    while (i + 2 < count && postures[i + 1].time <= time)
        i++;
    double length = postures[i + 1].time - postures[i].time;
    double t = real_clamp((time - postures[i].time) / length, 0, 1), t2 = t * t, t3 = t2 * t;
    const double *a = keys + (size_t)i * POSTURE_NUMBERS, *b = a + POSTURE_NUMBERS;
    to[0] = time;
    for (uint32_t k = 1; k < POSTURE_NUMBERS; k++)
        to[k] = (2 * t3 - 3 * t2 + 1) * a[k] +
                (t3 - 2 * t2 + t) * length * slope(keys, count, i, k) + (3 * t2 - 2 * t3) * b[k] +
                (t3 - t2) * length * slope(keys, count, i + 1, k);
    return made;
}

static abut_status make_clip(const figure *f, character_pool *pool, const char *name,
                             const posture *postures, uint32_t count, abut_character_clip *clip) {
    uint32_t keys = (uint32_t)(postures[count - 1].time * KEYS_PER_SECOND + 1.5);
    abut_status status = allocate_channels(pool, keys, clip);
    clip->name = name;
    for (uint32_t k = 0; k < keys && !status; k++) {
        posture p = interpolate_posture(postures, count, (double)k / KEYS_PER_SECOND);
        set_key(f, clip, k, &p);
    }
    return status;
}

/* ---- walk ---- */

/* A bump of height 1 around the phase `centre`, of the given width; phases are fractions of a
 * cycle. */
static double bump(double phase, double centre, double width) {
    double off = phase - centre;
    off = fabs(off - floor(off + 0.5)) / width;
    return off < 0.5 ? (1 - 4 * off * off) * (1 - 4 * off * off) : 0;
}

/* Phase 0 is the heel strike of the left foot; the right side is half a cycle later. */
static posture walk_posture(uint32_t key, uint32_t keys) {
    posture p = {0};
    const uint64_t fine = 4 * (uint64_t)keys;
    for (uint32_t side = 0; side < 2; side++) {
        uint64_t part = (4 * (uint64_t)key + side * 2 * keys) % fine;
        double phase = (double)part / (double)fine;
        abuti_vec2 c = abuti_turn(part, fine);
        double *l = p.limbs[side];
        l[ARM_RAISE] = 17;
        l[ARM_SWING] = 2 - 22 * c.x;
        l[ELBOW] = 22 - 9 * c.x;
        l[FINGERS] = 18;
        l[WRIST] = 4;
        l[THIGH_SWING] = 3 + 23 * c.x;
        l[THIGH_OUT] = -1;
        l[THIGH_TURN] = 4;
        l[KNEE] = 5 + 12 * bump(phase, 0.14, 0.28) + 55 * bump(phase, 0.73, 0.46);
        l[ANKLE] = 17 * bump(phase, 0.63, 0.2) - 6 * bump(phase, 0.97, 0.25) -
                   8 * bump(phase, 0.42, 0.4) - 4 * bump(phase, 0.82, 0.3);
        l[TOES] = 22 * bump(phase, 0.56, 0.2);
        if (side == 0) {
            p.yaw = -5 * c.x;
            p.twist = 10 * c.x;
            p.lean = 2.5 * c.y;
            p.roll = -2.5 * c.y;
        }
    }
    p.bend = 4;
    p.pitch = 1;
    return p;
}

static abut_status make_walk(const figure *f, character_pool *pool, abut_character_clip *clip) {
    const uint32_t keys = 32;
    abut_status status = allocate_channels(pool, keys + 1, clip);
    clip->name = "walk";
    for (uint32_t k = 0; k <= keys && !status; k++) {
        posture p = walk_posture(k % keys, keys);
        set_key(f, clip, k, &p);
    }
    return status;
}

/* ---- jump and gymnastics ---- */

/*                 raise swing turn elbow wrist fingers  thigh out turn knee ankle toes */
#define HANGING \
    { 15, 4, 0, 14, 3, 16, 0, 1, 5, 2, 0, 0 }
#define CROUCHED \
    { 22, -38, 0, 20, 0, 20, 78, 6, 8, 104, -26, 0 }
#define FLUNG_UP \
    { 30, 140, 0, 12, 0, 8, -6, 3, 5, 6, 42, 0 }
#define BALANCED \
    { 62, 38, 0, 14, 0, 8, 52, 8, 8, 84, -30, 0 }
#define STAR \
    { 128, 0, 0, 6, 0, 0, 4, 44, 10, 6, 34, 0 }
#define TUCKED \
    { 30, 58, 0, 52, 0, 40, 106, 10, 4, 122, 26, 0 }

static const posture jump[] = {
    {.time = 0, .limbs = {HANGING, HANGING}},
    {.time = 0.45, .bend = 28, .pitch = 14, .nod = -18, .limbs = {CROUCHED, CROUCHED}},
    {.time = 0.62, .bend = -6, .nod = -10, .limbs = {FLUNG_UP, FLUNG_UP}},
    {.time = 0.9, .lift = 0.26, .bend = 0, .limbs = {FLUNG_UP, FLUNG_UP}},
    {.time = 1.18, .bend = 8, .limbs = {HANGING, HANGING}},
    {.time = 1.35, .bend = 24, .pitch = 8, .nod = -14, .limbs = {BALANCED, BALANCED}},
    {.time = 1.9, .limbs = {HANGING, HANGING}},
};

static const posture gymnastics[] = {
    {.time = 0, .limbs = {HANGING, HANGING}},
    {.time = 0.4, .bend = 28, .pitch = 14, .nod = -18, .limbs = {CROUCHED, CROUCHED}},
    {.time = 0.75, .lift = 0.24, .limbs = {STAR, STAR}},
    {.time = 1.1, .bend = 24, .pitch = 8, .limbs = {BALANCED, BALANCED}},
    {.time = 1.3, .bend = 26, .pitch = 16, .nod = -10, .limbs = {CROUCHED, CROUCHED}},
    /* a somersault */
    {.time = 1.5, .lift = 0.05, .pitch = 20, .limbs = {FLUNG_UP, FLUNG_UP}},
    {.time = 1.8, .lift = 0.34, .pitch = 150, .bend = 52, .nod = 30, .limbs = {TUCKED, TUCKED}},
    {.time = 2.05, .lift = 0.3, .pitch = 280, .bend = 52, .nod = 30, .limbs = {TUCKED, TUCKED}},
    {.time = 2.3, .pitch = 362, .bend = 22, .limbs = {BALANCED, BALANCED}},
    {.time = 2.7, .pitch = 360, .limbs = {STAR, STAR}},
    /* a kick with the left leg, one with the right */
    {.time = 3.0,
     .pitch = 360,
     .limbs = {{40, -20, 0, 30, 0, 50, -18, 2, 5, 20, 0, 10},
               {50, 40, 0, 40, 0, 50, 8, 2, 5, 14, -6, 0}}},
    {.time = 3.3,
     .pitch = 348,
     .bend = 14,
     .limbs = {{62, -10, 0, 20, 0, 60, 112, 4, 5, 8, 28, 0},
               {60, 70, 0, 30, 0, 60, -4, 3, 12, 10, 0, 0}}},
    {.time = 3.7,
     .pitch = 360,
     .limbs = {{50, 40, 0, 40, 0, 50, 8, 2, 5, 14, -6, 0},
               {40, -20, 0, 30, 0, 50, -18, 2, 5, 20, 0, 10}}},
    {.time = 4.0,
     .pitch = 348,
     .bend = 14,
     .limbs = {{60, 70, 0, 30, 0, 60, -4, 3, 12, 10, 0, 0},
               {62, -10, 0, 20, 0, 60, 112, 4, 5, 8, 28, 0}}},
    {.time = 4.4, .pitch = 360, .limbs = {HANGING, HANGING}},
    /* down into the splits, arms out */
    {.time = 5.0,
     .pitch = 362,
     .bend = -8,
     .limbs = {{96, 0, 0, 6, 0, 0, 84, 0, 0, 3, 36, 0}, {96, 0, 0, 6, 0, 0, -76, 0, 0, 6, 40, 0}}},
    {.time = 5.5,
     .pitch = 362,
     .bend = 30,
     .limbs = {{30, 110, 0, 6, 0, 0, 84, 0, 0, 3, 36, 0},
               {30, 110, 0, 6, 0, 0, -76, 0, 0, 6, 40, 0}}},
    {.time = 6.0, .pitch = 360, .bend = 4, .limbs = {STAR, STAR}},
    /* bend backwards, twist to either side */
    {.time = 6.4,
     .pitch = 340,
     .bend = -52,
     .nod = -40,
     .limbs = {{30, 150, 0, 14, 0, 0, -16, 6, 8, 44, -8, 10},
               {30, 150, 0, 14, 0, 0, -16, 6, 8, 44, -8, 10}}},
    {.time = 6.9,
     .pitch = 364,
     .bend = 40,
     .twist = 62,
     .limbs = {{92, 0, 0, 8, 0, 0, 2, 20, 10, 6, 0, 0}, {92, 0, 0, 8, 0, 0, 2, 20, 10, 6, 0, 0}}},
    {.time = 7.4,
     .pitch = 364,
     .bend = 40,
     .twist = -62,
     .limbs = {{92, 0, 0, 8, 0, 0, 2, 20, 10, 6, 0, 0}, {92, 0, 0, 8, 0, 0, 2, 20, 10, 6, 0, 0}}},
    /* a cartwheel to the left */
    {.time = 7.8,
     .pitch = 360,
     .limbs = {{150, 0, 0, 6, 0, 0, 4, 24, 8, 4, 10, 0}, {150, 0, 0, 6, 0, 0, 4, 24, 8, 4, 10, 0}}},
    {.time = 8.1,
     .pitch = 360,
     .roll = 90,
     .left = 0.4,
     .limbs = {{158, 0, 0, 4, 0, 0, 4, 44, 8, 4, 30, 0}, {158, 0, 0, 4, 0, 0, 4, 44, 8, 4, 30, 0}}},
    {.time = 8.35,
     .pitch = 360,
     .roll = 180,
     .left = 0.75,
     .limbs = {{160, 0, 0, 4, 0, 0, 4, 52, 8, 4, 36, 0}, {160, 0, 0, 4, 0, 0, 4, 52, 8, 4, 36, 0}}},
    {.time = 8.6,
     .pitch = 360,
     .roll = 270,
     .left = 1.1,
     .limbs = {{158, 0, 0, 4, 0, 0, 4, 44, 8, 4, 30, 0}, {158, 0, 0, 4, 0, 0, 4, 44, 8, 4, 30, 0}}},
    {.time = 8.9, .pitch = 360, .roll = 360, .left = 1.5, .limbs = {STAR, STAR}},
    {.time = 9.3,
     .pitch = 372,
     .roll = 360,
     .left = 1.5,
     .bend = 26,
     .limbs = {CROUCHED, CROUCHED}},
    {.time = 9.55,
     .lift = 0.2,
     .pitch = 360,
     .roll = 360,
     .left = 1.5,
     .yaw = 180,
     .limbs = {FLUNG_UP, FLUNG_UP}},
    {.time = 9.8,
     .pitch = 364,
     .roll = 360,
     .left = 1.5,
     .yaw = 360,
     .bend = 22,
     .limbs = {BALANCED, BALANCED}},
    {.time = 10.2, .pitch = 360, .roll = 360, .left = 1.5, .yaw = 360, .limbs = {HANGING, HANGING}},
};

abut_status abuti_figure_clips(const figure *f, character_pool *pool,
                               abut_character_clip clips[FIGURE_CLIPS]) {
    memset(clips, 0, FIGURE_CLIPS * sizeof *clips);
    abut_status status = make_walk(f, pool, &clips[0]);
    if (status)
        return status;
    status = make_clip(f, pool, "jump", jump, sizeof jump / sizeof *jump, &clips[1]);
    if (status)
        return status;
    return make_clip(f, pool, "gymnastics", gymnastics, sizeof gymnastics / sizeof *gymnastics,
                     &clips[2]);
}
