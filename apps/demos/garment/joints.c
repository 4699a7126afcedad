/* Which bones are hips, neck, arms and legs.
 *
 * Names come first: those of Mixamo, Blender, Unreal, Biped, VRM, Daz, SMPL and similar, without
 * case, punctuation, numbers and prefixes. A limb whose names are missing or inconsistent is found
 * by the shape of the skeleton at rest: legs are the two branches that extend farthest down, arms
 * those that extend farthest to either side, and the two longest consecutive bones of a limb are
 * its upper and lower half. Bones that move no vertex, and have no descendant that does, are
 * ignored: controls of inverse kinematics, and nodes of a scene.
 */
#include "garment/garment.h"

#include <ctype.h>
#include <math.h>

enum { LIMB_JOINTS = 3, CHAIN_MAX = 64 };
enum {
    SHAPE_SEARCH_BONES_MAX = 4096
}; /* bones: larger skeletons use names only, because the search takes quadratic time */

/* Joints of a limb: upper half, lower half, end. On the left; the next joint is on the right. */
static const abut_garment_joint legs[LIMB_JOINTS] = {ABUT_GARMENT_LEFT_THIGH, ABUT_GARMENT_LEFT_LEG,
                                                     ABUT_GARMENT_LEFT_FOOT};
static const abut_garment_joint arms[LIMB_JOINTS] = {ABUT_GARMENT_LEFT_ARM,
                                                     ABUT_GARMENT_LEFT_FOREARM,
                                                     ABUT_GARMENT_LEFT_HAND};

typedef struct branch {
    double way;   /* largest coordinate of any descendant along some direction */
    uint32_t tip; /* that descendant */
} branch;

typedef struct skeleton {
    const abut_character *character;
    uint32_t count;
    abut_character_matrix *bones; /* rest pose */
    unsigned char *counts;        /* whether a bone or a descendant moves vertices */
    branch *below;                /* by bone, for one direction at a time */
    uint32_t *joints;
} skeleton;

static vec3 bone_position(const skeleton *s, uint32_t bone) {
    const abut_character_matrix *m = &s->bones[bone];
    return v3(m->m[0][3], m->m[1][3], m->m[2][3]);
}

static uint32_t parent_of(const skeleton *s, uint32_t bone) {
    return s->character->bones[bone].parent;
}

/* ---- names ---- */

/* Words that do not identify a bone. */
static bool is_noise(const char *word) {
    static const char *const noise[] = {"mixamorig", "bip",  "valvebiped", "def",  "org",
                                        "j",         "jnt",  "joint",      "b",    "c",
                                        "bone",      "cc",   "base",       "bn",   "skeleton",
                                        "armature",  "bind", "sk",         "skel", "rig"};
    if (isdigit((unsigned char)*word))
        return true;
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        if (!strcmp(word, noise[i]))
            return true;
    return false;
}

static bool word_ends(const char *at) {
    unsigned char a = (unsigned char)at[0], b = (unsigned char)at[1];
    if (!isalnum(b) || !isdigit(a) != !isdigit(b))
        return true;
    return isupper(b) && (islower(a) || islower((unsigned char)at[2]));
}

/* Joins the words of a name without case, punctuation, numbers, prefixes and sides. Returns the
 * side: 0 left, 1 right, -1 none. */
static int read_name(const char *name, char *to, size_t room) {
    const char *colon = strrchr(name, ':');
    size_t used = 0;
    int side = -1;
    name = colon ? colon + 1 : name;
    while (*name) {
        char word[32];
        size_t length = 0;
        while (*name && !isalnum((unsigned char)*name))
            name++;
        if (!*name)
            break;
        for (bool more = true; more; name++) {
            if (length + 1 < sizeof word)
                word[length++] = (char)tolower((unsigned char)*name);
            more = !word_ends(name);
        }
        word[length] = 0;
        const char *rest = word;
        if (!strcmp(word, "l") || !strncmp(word, "left", 4)) {
            side = 0;
            rest += length > 1 ? 4 : 1;
        } else if (!strcmp(word, "r") || !strncmp(word, "right", 5)) {
            side = 1;
            rest += length > 1 ? 5 : 1;
        }
        if (!is_noise(rest) && used + strlen(rest) + 1 < room) {
            memcpy(to + used, rest, strlen(rest));
            used += strlen(rest);
        }
    }
    to[used] = 0;
    return side;
}

/* Words for the joints, best first; one entry for the joints of both sides. */
static const char *const joint_words[][9] = {
    {"hips", "pelvis", "hip", NULL},
    {"neck", "necklower", "necktwist", NULL},
    {"upperarm", "uparm", "arm", "armupper", "shldr", "shldrbend", "shoulder", NULL},
    {"forearm", "lowerarm", "lowarm", "armlower", "forearmbend", "elbow", NULL},
    {"hand", "palm", "wrist", NULL},
    {"upperleg", "upleg", "thigh", "legupper", "thighbend", "hip", NULL},
    {"lowerleg", "lowleg", "calf", "shin", "leglower", "leg", "knee", NULL},
    {"foot", "ankle", NULL},
};

static uint32_t find_named(const skeleton *s, abut_garment_joint joint) {
    int side = joint < ABUT_GARMENT_LEFT_ARM ? -1 : (int)(joint - ABUT_GARMENT_LEFT_ARM) & 1;
    size_t which = joint < ABUT_GARMENT_LEFT_ARM ? (size_t)joint : 1 + (size_t)joint / 2;
    for (const char *const *word = joint_words[which]; *word; word++)
        for (uint32_t i = 0; i < s->count; i++) {
            char name[96];
            uint32_t bone = s->character->order[i];
            if (!s->counts[bone])
                continue;
            int found = read_name(s->character->bones[bone].name, name, sizeof name);
            /* "lhand" is one word */
            bool joined = found < 0 && side >= 0 && name[0] == "lr"[side];
            if ((found == side && !strcmp(name, *word)) || (joined && !strcmp(name + 1, *word)))
                return bone;
        }
    return ABUT_NONE;
}

/* ---- trees ---- */

static bool is_below(const skeleton *s, uint32_t bone, uint32_t above) {
    while (bone != ABUT_NONE && bone != above)
        bone = parent_of(s, bone);
    return bone != ABUT_NONE;
}

static uint32_t common_ancestor(const skeleton *s, uint32_t a, uint32_t b) {
    while (a != ABUT_NONE && !is_below(s, b, a))
        a = parent_of(s, a);
    return a;
}

/* The extent of each bone and its descendants along a direction. */
static void compute_extents(skeleton *s, vec3 along) {
    for (uint32_t i = 0; i < s->count; i++)
        s->below[i] = (branch){v3_dot(bone_position(s, i), along), i};
    for (uint32_t i = s->count; i-- > 0;) {
        uint32_t bone = s->character->order[i], parent = parent_of(s, bone);
        if (parent != ABUT_NONE && s->counts[bone] && s->below[bone].way > s->below[parent].way)
            s->below[parent] = s->below[bone];
    }
}

/* Finds the bone with the two branches that extend farthest along two directions (the shorter
 * extent counts), and the tips of the branches. Branches with a bone of `without` are excluded; it
 * has 2 bones, or is null. */
static bool find_fork(skeleton *s, vec3 first, vec3 second, const uint32_t *without,
                      uint32_t tips[2]) {
    const vec3 ways[2] = {first, second};
    struct best {
        branch one, two;
        uint32_t child;
    } * best[2] = {NULL, NULL};
    abut_context *context = s->character->context;
    double most = 0;
    for (int k = 0; k < 2; k++)
        best[k] = abuti_allocate(context, s->count, sizeof **best);
    for (int k = 0; k < 2 && best[0] && best[1]; k++) {
        compute_extents(s, ways[k]);
        for (uint32_t i = 0; i < s->count; i++)
            best[k][i] = (struct best){{-HUGE_VAL, ABUT_NONE}, {-HUGE_VAL, ABUT_NONE}, ABUT_NONE};
        for (uint32_t i = 0; i < s->count; i++) {
            uint32_t bone = s->character->order[i], parent = parent_of(s, bone);
            if (parent == ABUT_NONE || !s->counts[bone] ||
                (without && (is_below(s, without[0], bone) || is_below(s, without[1], bone))))
                continue;
            struct best *b = &best[k][parent];
            branch way = {s->below[bone].way - v3_dot(bone_position(s, parent), ways[k]),
                          s->below[bone].tip};
            if (way.way > b->one.way) {
                b->two = b->one;
                b->one = way;
                b->child = bone;
            } else if (way.way > b->two.way) {
                b->two = way;
            }
        }
    }
    for (uint32_t i = 0; i < s->count && best[0] && best[1]; i++) {
        const struct best *a = &best[0][i], *b = &best[1][i];
        branch pairs[2][2] = {{a->one, b->two}, {a->two, b->one}};
        if (a->child != b->child)
            pairs[0][1] = b->one;
        for (int k = 0; k < 2; k++) {
            double less = fmin(pairs[k][0].way, pairs[k][1].way);
            if (less > most) {
                most = less;
                tips[0] = pairs[k][0].tip;
                tips[1] = pairs[k][1].tip;
            }
        }
    }
    bool complete = best[0] && best[1];
    ABUTI_RELEASE(context, best[0], best[1]);
    if (!complete)
        tips[0] = tips[1] = ABUT_NONE;
    return complete;
}

/* The two longest consecutive bones between a fork and a tip; false if there are fewer. */
static bool find_limb_bones(const skeleton *s, uint32_t fork, uint32_t tip,
                            uint32_t limb[LIMB_JOINTS]) {
    uint32_t chain[CHAIN_MAX], count = 0;
    double longest = 0;
    for (uint32_t bone = tip; bone != fork && bone != ABUT_NONE && count < CHAIN_MAX;
         bone = parent_of(s, bone)) {
        /* of bones at one position the upper one counts */
        if (count &&
            v3_length(v3_sub(bone_position(s, bone), bone_position(s, chain[count - 1]))) <=
                1e-6 * v3_length(bone_position(s, bone)))
            count--;
        chain[count++] = bone;
    }
    for (uint32_t i = 2; i < count; i++) {
        vec3 end = bone_position(s, chain[i - 2]), middle = bone_position(s, chain[i - 1]);
        double length =
            v3_length(v3_sub(end, middle)) + v3_length(v3_sub(middle, bone_position(s, chain[i])));
        if (length > longest) {
            longest = length;
            for (uint32_t k = 0; k < LIMB_JOINTS; k++)
                limb[k] = chain[i - k];
        }
    }
    return longest > 0;
}

/* ---- limbs ---- */

/* Whether names gave a complete limb with halves of similar length. */
static bool is_limb(const skeleton *s, const abut_garment_joint limb[LIMB_JOINTS], uint32_t side) {
    uint32_t a = s->joints[limb[0] + side], b = s->joints[limb[1] + side],
             c = s->joints[limb[2] + side];
    if (a == ABUT_NONE || b == ABUT_NONE || c == ABUT_NONE || a == b || b == c ||
        !is_below(s, b, a))
        return false;
    double upper = v3_length(v3_sub(bone_position(s, a), bone_position(s, b)));
    double lower = v3_length(v3_sub(bone_position(s, b), bone_position(s, c)));
    return lower > 0.25 * upper && upper > 0.25 * lower;
}

/* Whether the tips are in the order right, left: by names along the branches, otherwise by
 * position. */
static bool is_swapped(const skeleton *s, const uint32_t tips[2], vec3 left) {
    uint32_t fork = common_ancestor(s, tips[0], tips[1]);
    for (int k = 0; k < 2; k++)
        for (uint32_t bone = tips[k]; bone != fork && bone != ABUT_NONE;
             bone = parent_of(s, bone)) {
            char name[96];
            int side = read_name(s->character->bones[bone].name, name, sizeof name);
            if (side >= 0)
                return side != k;
        }
    return v3_dot(v3_sub(bone_position(s, tips[0]), bone_position(s, tips[1])), left) < 0;
}

/* Finds both limbs of a kind by shape, unless names gave them. */
static abut_status find_limbs(skeleton *s, const abut_garment_joint limb[LIMB_JOINTS], vec3 first,
                              vec3 second, vec3 left, const uint32_t *without) {
    uint32_t tips[2] = {ABUT_NONE, ABUT_NONE}, found[2][LIMB_JOINTS];
    if (is_limb(s, limb, 0) && is_limb(s, limb, 1))
        return ABUT_OK;
    if (!find_fork(s, first, second, without, tips))
        return ABUT_ERROR_MEMORY;
    if (tips[0] == ABUT_NONE)
        return ABUT_OK; /* the caller reports missing joints */
    uint32_t fork = common_ancestor(s, tips[0], tips[1]);
    if (!find_limb_bones(s, fork, tips[0], found[0]) ||
        !find_limb_bones(s, fork, tips[1], found[1]))
        return ABUT_OK;
    bool swapped = is_swapped(s, tips, left);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t k = 0; k < LIMB_JOINTS; k++)
            s->joints[limb[k] + side] = found[side ^ swapped][k];
    return ABUT_OK;
}

/* The left direction of a body that faces where its toes point, or in the usual direction of
 * files. */
static vec3 find_left(const skeleton *s, vec3 up) {
    vec3 toes = v3(0, 0, 0);
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t foot = s->joints[ABUT_GARMENT_LEFT_FOOT + side];
        for (uint32_t i = 0; i < s->count && foot != ABUT_NONE; i++)
            if (s->counts[i] && i != foot && is_below(s, i, foot))
                toes = v3_add(toes, v3_sub(bone_position(s, i), bone_position(s, foot)));
    }
    vec3 left = v3_cross(up, toes);
    if (v3_length(left) > 0.5 * v3_length(toes))
        return v3_normalise(left);
    return fabs(up.x) < 0.9 ? v3(1, 0, 0) : v3(0, 0, 1);
}

/* The child of the common parent of both arms that extends farthest up and has no arm. */
static uint32_t find_neck(skeleton *s, vec3 up) {
    uint32_t left = s->joints[ABUT_GARMENT_LEFT_ARM], right = s->joints[ABUT_GARMENT_RIGHT_ARM];
    uint32_t chest =
        left == ABUT_NONE || right == ABUT_NONE ? ABUT_NONE : common_ancestor(s, left, right);
    uint32_t neck = ABUT_NONE;
    if (chest == ABUT_NONE)
        return neck;
    compute_extents(s, up);
    for (uint32_t i = 0; i < s->count; i++)
        if (parent_of(s, i) == chest && s->counts[i] && !is_below(s, left, i) &&
            !is_below(s, right, i) && (neck == ABUT_NONE || s->below[i].way > s->below[neck].way))
            neck = i;
    return neck;
}

static abut_status find_joints_of(skeleton *s) {
    vec3 up = s->character->rest->up, down;
    up = v3_length(up) > 0 ? v3_normalise(up) : v3(0, 1, 0);
    down = v3_scale(up, -1);
    for (int i = 0; i < ABUT_GARMENT_JOINT_COUNT; i++)
        s->joints[i] = find_named(s, (abut_garment_joint)i);
    if (s->count > SHAPE_SEARCH_BONES_MAX)
        return ABUT_OK;
    abut_status status = find_limbs(s, legs, down, down, find_left(s, up), NULL);
    const uint32_t *thighs = s->joints + ABUT_GARMENT_LEFT_THIGH;
    if (status || thighs[0] == ABUT_NONE || thighs[1] == ABUT_NONE)
        return status;
    vec3 left = v3_sub(bone_position(s, thighs[0]), bone_position(s, thighs[1]));
    left = v3_normalise(v3_along(left, -v3_dot(left, up), up));
    status = find_limbs(s, arms, left, v3_scale(left, -1), left, thighs);
    if (!status && s->joints[ABUT_GARMENT_HIPS] == ABUT_NONE)
        s->joints[ABUT_GARMENT_HIPS] = common_ancestor(s, thighs[0], thighs[1]);
    if (!status && s->joints[ABUT_GARMENT_NECK] == ABUT_NONE)
        s->joints[ABUT_GARMENT_NECK] = find_neck(s, up);
    return status;
}

abut_status abuti_garment_joints(const abut_character *character,
                                 const abut_character_matrix *bones, uint32_t *joints) {
    skeleton s = {.character = character, .count = character->info.bone_count, .joints = joints};
    abut_context *context = character->context;
    s.bones = (abut_character_matrix *)bones;
    s.counts = abuti_allocate(context, s.count, sizeof *s.counts);
    s.below = abuti_allocate(context, s.count, sizeof *s.below);
    abut_status status = s.counts && s.below ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        memcpy(s.counts, character->moves, s.count * sizeof *s.counts);
        for (uint32_t i = s.count; i-- > 0;) {
            uint32_t bone = character->order[i], parent = character->bones[bone].parent;
            if (parent != ABUT_NONE && s.counts[bone])
                s.counts[parent] = 1;
        }
        status = find_joints_of(&s);
    }
    ABUTI_RELEASE(context, s.counts, s.below);
    return status;
}
