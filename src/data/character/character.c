/* Characters from arrays. All input is validated and copied once, so that posing and skinning need
 * no further checks. */
#include "character/character.h"

#include <string.h>

/* Weights are ratios; sums of larger ones might overflow. */
#define WEIGHT_MAX 1e30
/* Allowed error of the sum of weights: rounding of floats and of normalised bytes. */
#define SUM_TOLERANCE 1e-3

/* ---- memory ---- */

void *abuti_character_allocate(character_pool *pool, size_t count, size_t element_bytes) {
    if (pool->count == pool->room && abuti_grow(pool->context, &pool->items, pool->count,
                                                pool->count + 1, sizeof(void *), &pool->room))
        return NULL;
    void *memory = abuti_allocate(pool->context, count, element_bytes);
    if (memory)
        pool->items[pool->count++] = memory;
    return memory;
}

void abuti_character_release(character_pool *pool) {
    for (size_t i = 0; i < pool->count; i++)
        abuti_release(pool->context, pool->items[i]);
    abuti_release(pool->context, pool->items);
}

void *abuti_character_copy(abut_character *c, const void *from, size_t count,
                           size_t element_bytes) {
    void *memory = abuti_character_allocate(&c->pool, count, element_bytes);
    if (memory && count)
        memcpy(memory, from, count * element_bytes);
    return memory;
}

const char *abuti_character_copy_name(abut_character *c, const char *name, const char *kind,
                                      uint32_t i) {
    char made[32];
    snprintf(made, sizeof made, "%s-%u", kind, i);
    name = name ? name : made;
    return abuti_character_copy(c, name, strlen(name) + 1, 1);
}

static void add_problem(abut_character *c, abut_character_problem kind, uint32_t element) {
    abut_problem *problem = &c->report.problems[kind];
    if (problem->count < ABUT_PROBLEM_FIRST_COUNT)
        problem->first[problem->count] = element;
    problem->count++;
}

/* Adds the name of the input and the rest pose to the error message. */
static abut_status fail_in_rest_pose(const char *who, abut_status status) {
    char why[400];
    if (status != ABUT_ERROR_ARGUMENT)
        return status;
    snprintf(why, sizeof why, "%s", abut_last_error());
    return abuti_fail(status, "%s: in the rest pose: %s", who, why);
}

/* ---- bones ---- */

static bool are_valid_numbers(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!(fabs(numbers[i]) <= ABUT_COORDINATE_MAX)) /* false for NaN */
            return false;
    return true;
}

static abut_status copy_bones(abut_character *c, const char *who, const abut_character_bone *bones,
                              uint32_t count) {
    c->info.bone_count = count;
    c->bones = abuti_character_copy(c, bones, count, sizeof *bones);
    if (!c->bones)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        abut_character_bone *b = &c->bones[i];
        const double numbers[10] = {b->translation.x, b->translation.y, b->translation.z,
                                    b->rotation.x,    b->rotation.y,    b->rotation.z,
                                    b->rotation.w,    b->scale.x,       b->scale.y,
                                    b->scale.z};
        b->name = abuti_character_copy_name(c, b->name, "bone", i);
        if (!b->name)
            return ABUT_ERROR_MEMORY;
        if (b->parent != ABUT_NONE && b->parent >= count)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: the parent of bone %u is %u, but there are %u bones", who, i,
                              b->parent, count);
        if (!are_valid_numbers(numbers, 10) || (b->has_matrix && !matrix_is_valid(&b->matrix)))
            return abuti_fail(
                ABUT_ERROR_ARGUMENT,
                "%s: the rest pose of bone %u has a number that is not finite or exceeds %g", who,
                i, ABUT_COORDINATE_MAX);
    }
    return ABUT_OK;
}

/* Sorts bones so that parents precede children. Bones of a cycle are never reached. */
static abut_status sort_bones(abut_character *c, const char *who) {
    uint32_t count = c->info.bone_count, done = 0;
    uint32_t *child =
        abuti_allocate(c->context, count, sizeof *child); /* first child of each bone */
    uint32_t *next =
        abuti_allocate(c->context, count, sizeof *next); /* next child of the same parent */
    c->order = abuti_character_allocate(&c->pool, count, sizeof *c->order);
    if (!child || !next || !c->order) {
        ABUTI_RELEASE(c->context, child, next);
        return ABUT_ERROR_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++)
        child[i] = ABUT_NONE;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t parent = c->bones[i].parent;
        if (parent != ABUT_NONE)
            next[i] = child[parent], child[parent] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        if (c->bones[i].parent == ABUT_NONE)
            c->order[done++] = i;
    for (uint32_t i = 0; i < done; i++)
        for (uint32_t k = child[c->order[i]]; k != ABUT_NONE; k = next[k])
            c->order[done++] = k;
    ABUTI_RELEASE(c->context, child, next);
    if (done == count)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: the parents of %u of %u bones form a cycle, or lead to one; give every "
                      "chain of parents a root",
                      who, count - done, count);
}

/* Inverts an affine map; returns false if it is singular. */
static bool invert_affine(const abut_character_matrix *a, abut_character_matrix *inverse) {
    vec3 rows[3], columns[3];
    for (int i = 0; i < 3; i++)
        rows[i] = v3(a->m[i][0], a->m[i][1], a->m[i][2]);
    for (int i = 0; i < 3; i++)
        columns[i] = v3_cross(rows[(i + 1) % 3], rows[(i + 2) % 3]);
    double determinant = v3_dot(rows[0], columns[0]);
    vec3 shift = v3(0, 0, 0);
    if (!(fabs(determinant) > 0))
        return false;
    for (int i = 0; i < 3; i++)
        columns[i] = v3_scale(columns[i], 1 / determinant);
    for (int i = 0; i < 3; i++)
        shift = v3_sub(shift, v3_scale(columns[i], a->m[i][3]));
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            inverse->m[i][k] = v3_get(columns[k], i);
        inverse->m[i][3] = v3_get(shift, i);
    }
    return matrix_is_valid(inverse);
}

static abut_status bind_bones(abut_character *c, const char *who,
                              const abut_character_matrix *binds) {
    uint32_t count = c->info.bone_count;
    c->binds = abuti_character_allocate(&c->pool, count, sizeof *c->binds);
    if (!c->binds)
        return ABUT_ERROR_MEMORY;
    abut_status status =
        binds ? ABUT_OK : fail_in_rest_pose(who, abut_character_pose(c, NULL, c->binds));
    for (uint32_t i = 0; i < count && !status; i++) {
        abut_character_matrix rest = c->binds[i];
        if (binds) {
            c->binds[i] = binds[i];
            if (!matrix_is_valid(&binds[i]))
                status = abuti_fail(
                    ABUT_ERROR_ARGUMENT,
                    "%s: the bind matrix of bone %u has a number that is not finite or exceeds %g",
                    who, i, ABUT_COORDINATE_MAX);
        } else if (!invert_affine(&rest, &c->binds[i])) {
            status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                "%s: the rest pose of bone %u is singular, for example because of "
                                "a scale of 0; pass bind matrices",
                                who, i);
        }
    }
    return status;
}

/* ---- weights ---- */

/* Keeps the largest weights of a vertex in descending order, and normalises them. */
static abut_status copy_vertex_weights(abut_character *c, const char *who, uint32_t vertex,
                                       const uint32_t *bones, const double *weights, size_t count) {
    uint32_t stride = c->weight_stride, kept = 0;
    uint32_t *kept_bones = c->weight_bones + (size_t)stride * vertex;
    double *kept_weights = c->weights + (size_t)stride * vertex, sum = 0;
    bool negative = false, dropped = false;
    for (size_t i = 0; i < count; i++) {
        double weight = weights[i];
        if (bones[i] >= c->info.bone_count || !(fabs(weight) <= WEIGHT_MAX))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: vertex %u has the weight %g for bone %u; there are %u bones, "
                              "and weights must be finite",
                              who, vertex, weight, bones[i], c->info.bone_count);
        sum += weight;
        negative = negative || weight < 0;
        if (!(weight > 0))
            continue;
        dropped = dropped || kept == stride;
        if (kept == stride && !(weight > kept_weights[kept - 1]))
            continue;
        uint32_t at = kept < stride ? kept++ : kept - 1;
        for (; at && kept_weights[at - 1] < weight; at--) {
            kept_weights[at] = kept_weights[at - 1];
            kept_bones[at] = kept_bones[at - 1];
        }
        kept_weights[at] = weight;
        kept_bones[at] = bones[i];
    }
    if (negative)
        add_problem(c, ABUT_CHARACTER_PROBLEM_NEGATIVE_VERTEX, vertex);
    if (dropped)
        add_problem(c, ABUT_CHARACTER_PROBLEM_DROPPED_VERTEX, vertex);
    if (!kept) {
        add_problem(c, ABUT_CHARACTER_PROBLEM_UNWEIGHTED_VERTEX, vertex);
        kept_bones[0] = bones[0];
        kept_weights[kept++] = 1;
    } else if (fabs(sum - 1) > SUM_TOLERANCE) {
        add_problem(c, ABUT_CHARACTER_PROBLEM_SUM_VERTEX, vertex);
    }
    double total = 0;
    for (uint32_t i = 0; i < kept; i++)
        total += kept_weights[i];
    for (uint32_t i = 0; i < kept; i++) {
        kept_weights[i] /= total;
        c->moves[kept_bones[i]] = 1;
    }
    for (uint32_t i = kept; i < stride; i++) {
        kept_bones[i] = 0;
        kept_weights[i] = 0;
    }
    c->info.weight_count = kept > c->info.weight_count ? kept : c->info.weight_count;
    return ABUT_OK;
}

static abut_status copy_weights(abut_character *c, const char *who,
                                const abut_character_input *input, const size_t *starts) {
    uint32_t vertices = c->info.vertex_count, most = ABUT_CHARACTER_WEIGHT_COUNT;
    size_t widest = input->weight_count, all = 0;
    for (uint32_t i = 0; starts && i < vertices; i++)
        widest = starts[i + 1] - starts[i] > widest ? starts[i + 1] - starts[i] : widest;
    c->weight_stride = widest < most ? (uint32_t)widest : most;
    if (abuti_multiply_overflows(c->weight_stride, vertices, &all))
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: there are more weights than memory can address",
                          who);
    c->weight_bones = abuti_character_allocate(&c->pool, all, sizeof *c->weight_bones);
    c->weights = abuti_character_allocate(&c->pool, all, sizeof *c->weights);
    c->moves = abuti_character_allocate(&c->pool, c->info.bone_count, 1);
    if (!c->weight_bones || !c->weights || !c->moves)
        return ABUT_ERROR_MEMORY;
    memset(c->moves, 0, c->info.bone_count);
    for (uint32_t i = 0; i < vertices; i++) {
        size_t from = starts ? starts[i] : (size_t)input->weight_count * i;
        size_t count = starts ? starts[i + 1] - from : input->weight_count;
        abut_status status = copy_vertex_weights(c, who, i, input->weight_bones + from,
                                                 input->weights + from, count);
        if (status)
            return status;
        vec3 p = abuti_mesh_position(c->mesh, i);
        c->extent = v3(fmax(c->extent.x, fabs(p.x)), fmax(c->extent.y, fabs(p.y)),
                       fmax(c->extent.z, fabs(p.z)));
    }
    return ABUT_OK;
}

/* Reports bones that move no vertex, and bones without length. */
static abut_status report_bones(abut_character *c) {
    uint32_t count = c->info.bone_count;
    unsigned char *used = abuti_allocate(c->context, count, 1);
    if (!used)
        return ABUT_ERROR_MEMORY;
    memcpy(used, c->moves, count);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t bone = c->order[i], parent = c->bones[bone].parent;
        if (used[bone] && parent != ABUT_NONE)
            used[parent] = 1;
    }
    for (uint32_t i = 0; i < count; i++) {
        const abut_character_bone *b = &c->bones[i];
        vec3 to = b->translation;
        if (b->has_matrix)
            to = v3(b->matrix.m[0][3], b->matrix.m[1][3], b->matrix.m[2][3]);
        if (!used[i])
            add_problem(c, ABUT_CHARACTER_PROBLEM_UNUSED_BONE, i);
        else if (b->parent != ABUT_NONE && v3_max_abs(to) == 0)
            add_problem(c, ABUT_CHARACTER_PROBLEM_SHORT_BONE, i);
    }
    abuti_release(c->context, used);
    return ABUT_OK;
}

/* Reports vertices that exporters duplicated at seams. */
static abut_status report_seams(abut_character *c) {
    uint32_t count = c->info.vertex_count;
    uint32_t *same = abuti_allocate(c->context, count, sizeof *same);
    abut_status status = same ? abuti_character_seams(c, same) : ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < count && !status; v++)
        if (same[v] != v)
            add_problem(c, ABUT_CHARACTER_PROBLEM_SEAM_VERTEX, v);
    abuti_release(c->context, same);
    return status;
}

/* ---- clips ---- */

/* The problem of a channel, or null. */
static const char *find_channel_problem(const abut_character *c,
                                        const abut_character_channel *channel) {
    bool morphs = channel->target == ABUT_CHARACTER_TARGET_MORPH;
    if ((unsigned)channel->target > ABUT_CHARACTER_TARGET_MORPH ||
        (unsigned)channel->interpolation > ABUT_CHARACTER_INTERPOLATION_CUBIC)
        return "has an unknown target or interpolation";
    if (morphs && channel->bone >= c->info.morph_count)
        return "refers to a morph target that does not exist";
    if (!morphs && channel->bone >= c->info.bone_count)
        return "refers to a bone that does not exist";
    if (!morphs && c->bones[channel->bone].has_matrix)
        return "moves a bone whose rest pose is a matrix";
    if (!channel->key_count || !channel->times || !channel->values)
        return "has no keys";
    for (uint32_t i = 0; i < channel->key_count; i++)
        if (!(channel->times[i] >= (i ? channel->times[i - 1] : 0) &&
              channel->times[i] <= ABUT_COORDINATE_MAX))
            return "has times that are negative, not finite or do not ascend";
    if (!are_valid_numbers(channel->values, (size_t)channel_width(channel) * channel->key_count))
        return "has values that are not finite or too large";
    return NULL;
}

static abut_status copy_channel(abut_character *c, abut_character_channel *to) {
    size_t width = channel_width(to);
    to->times = abuti_character_copy(c, to->times, to->key_count, sizeof(double));
    to->values = abuti_character_copy(c, to->values, width * to->key_count, sizeof(double));
    return to->times && to->values ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static abut_status copy_clip(abut_character *c, const char *who, uint32_t number) {
    abut_character_clip *clip = &c->clips[number];
    const abut_character_channel *from = clip->channels;
    double last = 0;
    clip->name = abuti_character_copy_name(c, clip->name, "clip", number);
    if (!clip->name)
        return ABUT_ERROR_MEMORY;
    if (clip->channel_count && !from)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the channels of clip %u are null", who, number);
    if (!(clip->duration >= 0 && clip->duration <= ABUT_COORDINATE_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: clip %u has the duration %g; it must be finite and not negative",
                          who, number, clip->duration);
    abut_character_channel *channels =
        abuti_character_copy(c, from, clip->channel_count, sizeof *channels);
    if (!channels)
        return ABUT_ERROR_MEMORY;
    clip->channels = channels;
    for (uint32_t i = 0; i < clip->channel_count; i++) {
        const char *problem = find_channel_problem(c, &channels[i]);
        if (problem)
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: clip %u: channel %u %s", who, number, i,
                              problem);
        if (copy_channel(c, &channels[i]))
            return ABUT_ERROR_MEMORY;
        last = fmax(last, channels[i].times[channels[i].key_count - 1]);
    }
    if (!clip->channel_count)
        add_problem(c, ABUT_CHARACTER_PROBLEM_EMPTY_CLIP, number);
    else if (clip->duration > last)
        add_problem(c, ABUT_CHARACTER_PROBLEM_LONG_CLIP, number);
    clip->duration = clip->duration > 0 ? clip->duration : last;
    return ABUT_OK;
}

static abut_status copy_clips(abut_character *c, const char *who,
                              const abut_character_input *input) {
    c->info.clip_count = input->clip_count;
    c->clips = abuti_character_copy(c, input->clips, input->clip_count, sizeof *c->clips);
    abut_status status = c->clips ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < input->clip_count && !status; i++)
        status = copy_clip(c, who, i);
    return status;
}

/* ---- create ---- */

static abut_status build_character(abut_character *c, const char *who,
                                   const abut_character_input *input, const size_t *starts) {
    c->info.vertex_count = input->mesh->vertex_count;
    c->info.triangle_count = input->mesh->triangle_count;
    abut_status status = copy_bones(c, who, input->bones, input->bone_count);
    if (status || (status = sort_bones(c, who)) || (status = bind_bones(c, who, input->binds)) ||
        (status = copy_weights(c, who, input, starts)) || (status = report_bones(c)) ||
        (status = abuti_character_copy_morphs(c, who, input)) || (status = report_seams(c)) ||
        (status = copy_clips(c, who, input)))
        return status;
    abut_character_matrix *bones = abuti_allocate(c->context, c->info.bone_count, sizeof *bones);
    status = bones ? abut_character_pose(c, NULL, bones) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abut_character_mesh(c, bones, ABUT_CHARACTER_SKINNING_LINEAR, &c->rest);
    abuti_release(c->context, bones);
    return fail_in_rest_pose(who, status);
}

abut_status abuti_character_make(abut_context *context, const char *who,
                                 const abut_character_input *input, const size_t *starts,
                                 abut_character **character) {
    context = abuti_context_of(context);
    if (!input->bone_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: there are no bones; a character needs at least one", who);
    abut_character *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = made->pool.context = abuti_context_retain(context);
    atomic_init(&made->reference_count, 1);
    made->mesh = abut_mesh_retain(input->mesh);
    abut_status status = build_character(made, who, input, starts);
    if (status)
        abut_character_destroy(made);
    else
        *character = made;
    return status;
}

abut_status abut_character_create(abut_context *context, const abut_character_input *input,
                                  abut_character **character) {
    abut_character_input ours = abut_character_input_default();
    if (!input || !character)
        return abuti_null(__func__, input ? "character" : "input");
    abut_status status =
        abuti_options_read(&ours, sizeof ours, input, "abut_character_create: input");
    if (status)
        return status;
    if (!ours.mesh || (!ours.bones && ours.bone_count) || !ours.weights || !ours.weight_bones ||
        (!ours.clips && ours.clip_count) || (!ours.morphs && ours.morph_count))
        return abuti_null(__func__, !ours.mesh                       ? "input.mesh"
                                    : !ours.bones && ours.bone_count ? "input.bones"
                                    : !ours.weights                  ? "input.weights"
                                    : !ours.weight_bones             ? "input.weight_bones"
                                    : !ours.clips && ours.clip_count ? "input.clips"
                                                                     : "input.morphs");
    if (!ours.weight_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_character_create: input.weight_count is 0; it must be at least 1");
    return abuti_character_make(context, "abut_character_create", &ours, NULL, character);
}

abut_character *abuti_character_retain(abut_character *character) {
    atomic_fetch_add(&character->reference_count, 1);
    return character;
}

void abut_character_destroy(abut_character *character) {
    if (!character || atomic_fetch_sub(&character->reference_count, 1) != 1)
        return;
    abut_context *context = character->context;
    abut_mesh_destroy(character->mesh);
    abut_mesh_destroy(character->rest);
    abuti_character_release(&character->pool);
    abuti_release(context, character);
    abut_context_destroy(context);
}

/* ---- queries ---- */

abut_status abut_character_get_info(const abut_character *character, abut_character_info *info) {
    if (!character || !info)
        return abuti_null(__func__, character ? "info" : "character");
    return abuti_info_write(info, &character->info, sizeof character->info, __func__);
}

abut_status abut_character_get_bone(const abut_character *character, uint32_t index,
                                    abut_character_bone *bone) {
    if (!character || !bone)
        return abuti_null(__func__, character ? "bone" : "character");
    if (index >= character->info.bone_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: index is %u; the character has %u bones",
                          __func__, index, character->info.bone_count);
    *bone = character->bones[index];
    return ABUT_OK;
}

abut_status abut_character_get_clip(const abut_character *character, uint32_t index,
                                    abut_character_clip *clip) {
    if (!character || !clip)
        return abuti_null(__func__, character ? "clip" : "character");
    if (index >= character->info.clip_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: index is %u; the character has %u clips",
                          __func__, index, character->info.clip_count);
    *clip = character->clips[index];
    return ABUT_OK;
}

abut_status abut_character_get_morph(const abut_character *character, uint32_t index,
                                     abut_character_morph *morph) {
    if (!character || !morph)
        return abuti_null(__func__, character ? "morph" : "character");
    if (index >= character->info.morph_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: index is %u; the character has %u morphs",
                          __func__, index, character->info.morph_count);
    *morph = character->morphs[index];
    return ABUT_OK;
}

abut_mesh *abut_character_rest_mesh(const abut_character *character) {
    return character ? character->rest : NULL;
}

uint32_t abut_character_weights(const abut_character *character, uint32_t vertex, uint32_t *bones,
                                double *weights) {
    uint32_t count = 0;
    if (!character || vertex >= character->info.vertex_count || !bones || !weights)
        return 0;
    size_t from = (size_t)character->weight_stride * vertex;
    for (; count < character->weight_stride && character->weights[from + count] > 0; count++) {
        bones[count] = character->weight_bones[from + count];
        weights[count] = character->weights[from + count];
    }
    return count;
}

abut_status abut_character_get_report(const abut_character *character,
                                      abut_character_report *report) {
    if (!character || !report)
        return abuti_null(__func__, character ? "report" : "character");
    return abuti_info_write(report, &character->report, sizeof *report, __func__);
}

/* ---- names ---- */

const char *abut_character_target_name(abut_character_target target) {
    static const char *const names[] = {"translation", "rotation", "scale", "morph"};
    return ABUTI_NAME(names, target);
}

const char *abut_character_interpolation_name(abut_character_interpolation interpolation) {
    static const char *const names[] = {"linear", "step", "cubic"};
    return ABUTI_NAME(names, interpolation);
}

const char *abut_character_problem_name(abut_character_problem problem) {
    static const char *const names[] = {"unweighted-vertex", "sum-vertex", "negative-vertex",
                                        "dropped-vertex",    "short-bone", "unused-bone",
                                        "long-clip",         "empty-clip", "seam-vertex"};
    _Static_assert(sizeof names / sizeof *names == ABUT_CHARACTER_PROBLEM_SEAM_VERTEX + 1,
                   "every problem has a name");
    _Static_assert(sizeof names / sizeof *names <= ABUT_PROBLEM_KIND_MAX,
                   "the problems of a report have room for every kind");
    return ABUTI_NAME(names, problem);
}

const char *abut_character_skinning_name(abut_character_skinning skinning) {
    static const char *const names[] = {"linear", "dual"};
    return ABUTI_NAME(names, skinning);
}
