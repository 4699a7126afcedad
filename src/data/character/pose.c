/* Forward kinematics: channels of clips give translation, rotation and scale of each bone relative
 * to its parent; products from the roots down give matrices to world space.
 *
 * Keys are interpolated as in glTF 2.0 (appendix C): rotations by slerp along the shorter arc,
 * cubic splines with tangents per second, rotations normalised afterwards.
 */
#include "character/character.h"

/* Transformation of a bone relative to its parent. */
typedef struct local_transform {
    vec3 translation, scale;
    quat rotation;
} local_transform;

/* ---- channels ---- */

static double quat_dot(quat a, quat b) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/* Spherical interpolation of unit quaternions along the shorter arc. */
static quat slerp(quat a, quat b, double t) {
    double cosine = quat_dot(a, b), sign = cosine < 0 ? -1 : 1, from = 1 - t, to = t;
    cosine *= sign;
    if (cosine < 1 - 1e-8) { /* for smaller angles, chord and arc are equal in doubles */
        double angle = acos(cosine), sine = sin(angle);
        from = sin(from * angle) / sine;
        to = sin(to * angle) / sine;
    }
    to *= sign;
    quat q = {from * a.x + to * b.x, from * a.y + to * b.y, from * a.z + to * b.z,
              from * a.w + to * b.w};
    return quat_normalise(q);
}

/* The last key at or before `time`, or the first key. */
static uint32_t find_key(const abut_character_channel *channel, double time) {
    uint32_t low = 0, high = channel->key_count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (channel->times[middle] <= time)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The value of a channel: three numbers, four for a rotation, one for a morph target. */
static void sample_channel(const abut_character_channel *channel, double time, double *value) {
    bool turns = channel->target == ABUT_CHARACTER_TARGET_ROTATION;
    bool cubic = channel->interpolation == ABUT_CHARACTER_INTERPOLATION_CUBIC;
    size_t step = channel_width(channel), width = cubic ? step / 3 : step;
    uint32_t key = find_key(channel, time);
    const double *a = channel->values + key * step + (cubic ? width : 0), *b = a + step;
    bool between = key + 1 < channel->key_count && time > channel->times[key] &&
                   channel->interpolation != ABUT_CHARACTER_INTERPOLATION_STEP;
    double length = between ? channel->times[key + 1] - channel->times[key] : 1;
    double t = between ? (time - channel->times[key]) / length : 0;
    if (!between) {
        for (size_t i = 0; i < width; i++)
            value[i] = a[i];
    } else if (cubic) {
        double t2 = t * t, t3 = t2 * t;
        for (size_t i = 0; i < width; i++)
            value[i] = (2 * t3 - 3 * t2 + 1) * a[i] + length * (t3 - 2 * t2 + t) * a[width + i] +
                       (3 * t2 - 2 * t3) * b[i] + length * (t3 - t2) * (b - width)[i];
    } else if (turns) {
        quat from = {a[0], a[1], a[2], a[3]}, to = {b[0], b[1], b[2], b[3]};
        quat q = slerp(quat_normalise(from), quat_normalise(to), t);
        value[0] = q.x, value[1] = q.y, value[2] = q.z, value[3] = q.w;
    } else {
        for (size_t i = 0; i < width; i++)
            value[i] = a[i] + t * (b[i] - a[i]);
    }
}

/* The time within a clip: clamped or repeated. */
static double clip_time(const abut_character_clip *clip, double time, bool clamp) {
    if (clamp || !(clip->duration > 0))
        return fmin(fmax(time, 0), clip->duration);
    double rest = fmod(time, clip->duration);
    return rest < 0 ? rest + clip->duration : rest;
}

static void sample_bones(const abut_character *c, uint32_t number, double time, bool clamp,
                         local_transform *locals) {
    for (uint32_t i = 0; i < c->info.bone_count; i++)
        locals[i] = (local_transform){c->bones[i].translation, c->bones[i].scale,
                                      quat_normalise(c->bones[i].rotation)};
    if (number == ABUT_NONE)
        return;
    const abut_character_clip *clip = &c->clips[number];
    time = clip_time(clip, time, clamp);
    for (uint32_t i = 0; i < clip->channel_count; i++) {
        const abut_character_channel *channel = &clip->channels[i];
        double v[4];
        if (channel->target == ABUT_CHARACTER_TARGET_MORPH)
            continue;
        local_transform *bone = &locals[channel->bone];
        sample_channel(channel, time, v);
        if (channel->target == ABUT_CHARACTER_TARGET_ROTATION)
            bone->rotation = quat_normalise((quat){v[0], v[1], v[2], v[3]});
        else
            *(channel->target == ABUT_CHARACTER_TARGET_SCALE ? &bone->scale : &bone->translation) =
                v3(v[0], v[1], v[2]);
    }
}

static void sample_morphs(const abut_character *c, uint32_t number, double time, bool clamp,
                          double *weights) {
    for (uint32_t i = 0; i < c->info.morph_count; i++)
        weights[i] = c->morphs[i].weight;
    if (number == ABUT_NONE)
        return;
    const abut_character_clip *clip = &c->clips[number];
    time = clip_time(clip, time, clamp);
    for (uint32_t i = 0; i < clip->channel_count; i++)
        if (clip->channels[i].target == ABUT_CHARACTER_TARGET_MORPH)
            sample_channel(&clip->channels[i], time, &weights[clip->channels[i].bone]);
}

static void blend_bones(const abut_character *c, local_transform *locals,
                        const local_transform *others, double t) {
    for (uint32_t i = 0; i < c->info.bone_count; i++) {
        local_transform *a = &locals[i];
        const local_transform *b = &others[i];
        a->translation = v3_add(v3_scale(a->translation, 1 - t), v3_scale(b->translation, t));
        a->scale = v3_add(v3_scale(a->scale, 1 - t), v3_scale(b->scale, t));
        a->rotation = slerp(a->rotation, b->rotation, t);
    }
}

/* ---- matrices ---- */

static abut_character_matrix local_matrix(const abut_character_bone *bone,
                                          const local_transform *l) {
    if (bone->has_matrix)
        return bone->matrix;
    mat3 turn = quat_matrix(l->rotation);
    abut_character_matrix made;
    for (int i = 0; i < 3; i++) {
        made.m[i][0] = turn.row[i].x * l->scale.x;
        made.m[i][1] = turn.row[i].y * l->scale.y;
        made.m[i][2] = turn.row[i].z * l->scale.z;
        made.m[i][3] = v3_get(l->translation, i);
    }
    return made;
}

static abut_status multiply_along_bones(const abut_character *c, const local_transform *locals,
                                        abut_character_matrix *world) {
    for (uint32_t i = 0; i < c->info.bone_count; i++) {
        uint32_t bone = c->order[i], parent = c->bones[bone].parent;
        abut_character_matrix here = local_matrix(&c->bones[bone], &locals[bone]);
        world[bone] = parent == ABUT_NONE ? here : matrix_multiply(&world[parent], &here);
        if (!matrix_is_valid(&world[bone]))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_character_pose: the matrix of bone %u has a number that is not "
                              "finite or exceeds %g",
                              bone, ABUT_COORDINATE_MAX);
    }
    return ABUT_OK;
}

static abut_status check_pose_options(const abut_character *c, const char *function,
                                      const abut_character_pose_options *o) {
    if (!(o->blend >= 0 && o->blend <= 1))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: blend is %g; it must be from 0 to 1", function,
                          o->blend);
    uint32_t other = o->blend > 0 ? o->other : ABUT_NONE;
    if ((o->clip != ABUT_NONE && o->clip >= c->info.clip_count) ||
        (other != ABUT_NONE && other >= c->info.clip_count))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: there is no clip %u; the character has %u clips", function,
                          o->clip != ABUT_NONE && o->clip >= c->info.clip_count ? o->clip : other,
                          c->info.clip_count);
    if (!isfinite(o->time) || !isfinite(o->other_time))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: time and other_time must be finite", function);
    return ABUT_OK;
}

/* Reads options; null selects the rest pose. */
static abut_status read_pose_options(const abut_character *c, const char *function,
                                     const abut_character_pose_options *theirs,
                                     abut_character_pose_options *ours) {
    char what[64];
    snprintf(what, sizeof what, "%s: options", function);
    *ours = abut_character_pose_options_default();
    abut_status status = abuti_options_read(ours, sizeof *ours, theirs, what);
    if (!theirs)
        ours->clip = ABUT_NONE;
    return status ? status : check_pose_options(c, function, ours);
}

abut_status abut_character_pose(const abut_character *character,
                                const abut_character_pose_options *options,
                                abut_character_matrix *bones) {
    if (!character || !bones)
        return abuti_null(__func__, character ? "bones" : "character");
    const abut_character *c = character;
    size_t count = c->info.bone_count;
    abut_character_pose_options o;
    abut_status status = read_pose_options(c, __func__, options, &o);
    if (status)
        return status;
    local_transform *locals = abuti_allocate(c->context, 2 * count, sizeof *locals);
    abut_character_matrix *world = abuti_allocate(c->context, count, sizeof *world);
    status = locals && world ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        sample_bones(c, o.clip, o.time, o.clamp, locals);
        if (o.blend > 0) {
            sample_bones(c, o.other, o.other_time, o.clamp, locals + count);
            blend_bones(c, locals, locals + count, o.blend);
        }
        status = multiply_along_bones(c, locals, world);
    }
    for (size_t i = 0; i < count && !status; i++)
        bones[i] = world[i];
    ABUTI_RELEASE(c->context, locals, world);
    return status;
}

abut_status abut_character_pose_morphs(const abut_character *character,
                                       const abut_character_pose_options *options,
                                       double *weights) {
    if (!character || !weights)
        return abuti_null(__func__, character ? "weights" : "character");
    const abut_character *c = character;
    size_t count = c->info.morph_count;
    abut_character_pose_options o;
    abut_status status = read_pose_options(c, __func__, options, &o);
    if (status)
        return status;
    double *others = abuti_allocate(c->context, o.blend > 0 ? count : 0, sizeof *others);
    if (!others)
        return ABUT_ERROR_MEMORY;
    sample_morphs(c, o.clip, o.time, o.clamp, weights);
    if (o.blend > 0) {
        sample_morphs(c, o.other, o.other_time, o.clamp, others);
        for (size_t i = 0; i < count; i++)
            weights[i] = weights[i] * (1 - o.blend) + others[i] * o.blend;
    }
    abuti_release(c->context, others);
    return ABUT_OK;
}
