/* Scenes of the cases of rivals: a character, and the motion of its garment (clothing.h). */
#include "conditions.h"
#include "apps/get.h"
#include "clothing.h"

#include <abut/garment.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frames from one sample to the next; a quick run simulates QUICK_SECONDS of a ball. */
enum { STRIDE = 20, QUICK_STRIDE = 20 };
#define QUICK_SECONDS 2.0

typedef struct condition {
    const char *body, *cloth;
    int figure;
    abut_garment_kind garment;
    uint32_t triangles, particles;
} condition;

enum {
    MALE = ABUT_CHARACTER_FIGURE_MALE,
    FEMALE = ABUT_CHARACTER_FIGURE_FEMALE,
    OGRE = ABUT_CHARACTER_FIGURE_OGRE,
    BALL = 100
};

static const condition conditions[RIVAL_CONDITIONS + 1] = {
    {"Ball", "Shell", BALL, ABUT_GARMENT_COUNT, 500, 92},
    {"Male Low", "Trouser & Top Low", MALE, ABUT_GARMENT_TROUSERS_AND_TOP, 10827, 1297},
    {"Male Low", "Trouser & Top Med", MALE, ABUT_GARMENT_TROUSERS_AND_TOP, 10827, 4825},
    {"Male Med", "Trouser & Top Low", MALE, ABUT_GARMENT_TROUSERS_AND_TOP, 37744, 1297},
    {"Male Med", "Trouser & Top Med", MALE, ABUT_GARMENT_TROUSERS_AND_TOP, 37744, 4825},
    {"Female Med", "Overcoat Med", FEMALE, ABUT_GARMENT_OVERCOAT, 37744, 5118},
    {"Female Med", "Overcoat High", FEMALE, ABUT_GARMENT_OVERCOAT, 37744, 13090},
    {"Female High", "Overcoat Med", FEMALE, ABUT_GARMENT_OVERCOAT, 64176, 5118},
    {"Female High", "Overcoat High", FEMALE, ABUT_GARMENT_OVERCOAT, 64176, 13090},
    {"Ogre", "Cape Med", OGRE, ABUT_GARMENT_CAPE, 17211, 8562},
    {"Ogre", "Cape High", OGRE, ABUT_GARMENT_CAPE, 17211, 29737},
};

static abut_status no_memory(void) {
    return bench_fail(ABUT_ERROR_MEMORY, "no memory");
}

/* ---- characters ---- */

abut_status rival_ball(double radius, uint32_t segments, abut_character **made) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    abut_mesh *mesh = NULL;
    shape.radius = radius;
    shape.segments = segments;
    abut_status status = abut_shape_create(NULL, &shape, &mesh);
    const uint32_t count = status ? 0 : abut_mesh_vertex_count(mesh);
    uint32_t *owners = calloc(2 * (size_t)count + 1, sizeof *owners);
    double *weights = calloc(2 * (size_t)count + 1, sizeof *weights);
    abut_character_bone bones[2] = {abut_character_bone_default(), abut_character_bone_default()};
    bones[1].parent = 0;
    for (size_t i = 0; owners && weights && i < count; i++) {
        const double x = abut_mesh_local_positions(mesh)[i].x + abut_mesh_local_origin(mesh).x;
        owners[2 * i + 1] = 1;
        weights[2 * i] = fmin(fmax(0.5 + 1 / radius * x, 0), 1);
        weights[2 * i + 1] = 1 - weights[2 * i];
    }
    /* Keys that need no libm: constant rotations, and a straight path. */
    static const double times[4] = {0, 2, 4, 10},
                        values[16] = {0, 0,          0, 1,          20 / 101.0, 0, 0, 99 / 101.0,
                                      0, 20 / 101.0, 0, 99 / 101.0, 0,          0, 0, 1};
    static const double way_times[2] = {0, 10}, way[6] = {0, 0, 0, 3, 2, -1};
    const abut_character_channel channels[2] = {
        {.bone = 1,
         .target = ABUT_CHARACTER_TARGET_ROTATION,
         .interpolation = ABUT_CHARACTER_INTERPOLATION_STEP,
         .key_count = 4,
         .times = times,
         .values = values},
        {.bone = 0,
         .target = ABUT_CHARACTER_TARGET_TRANSLATION,
         .interpolation = ABUT_CHARACTER_INTERPOLATION_LINEAR,
         .key_count = 2,
         .times = way_times,
         .values = way},
    };
    const abut_character_clip clip = {.channel_count = 2, .channels = channels};
    abut_character_input input = abut_character_input_default();
    input.mesh = mesh;
    input.bone_count = 2;
    input.bones = bones;
    input.weight_count = 2;
    input.weight_bones = owners;
    input.weights = weights;
    input.clip_count = 1;
    input.clips = &clip;
    if (!status)
        status = owners && weights ? abut_character_create(NULL, &input, made) : no_memory();
    abut_mesh_destroy(mesh);
    free(owners);
    free(weights);
    return status;
}

/* Created at the first call, then shared. */
static abut_status get_figure(int figure, uint32_t triangles, abut_character **made) {
    static struct {
        int figure;
        uint32_t triangles;
        abut_character *character;
    } kept[8];
    size_t k = 0;
    for (; k < sizeof kept / sizeof *kept && kept[k].character; k++)
        if (kept[k].figure == figure && kept[k].triangles == triangles) {
            *made = kept[k].character;
            return ABUT_OK;
        }
    if (k == sizeof kept / sizeof *kept)
        return bench_fail(ABUT_ERROR_LIMIT, "too many figures");
    abut_character_figure_options options = abut_character_figure_options_default();
    options.figure = (abut_character_figure)figure;
    options.triangles = triangles;
    abut_status status = figure == BALL
                             ? rival_ball(0.1, (uint32_t)sqrt(triangles / 20.0), &kept[k].character)
                             : abut_character_create_figure(NULL, &options, &kept[k].character);
    kept[k].figure = figure;
    kept[k].triangles = triangles;
    *made = kept[k].character;
    return status;
}

/* ---- clothes ---- */

static uint32_t clip_named(const abut_character *character, const char *name) {
    const uint32_t count = get_character_info(character).clip_count;
    for (uint32_t k = 0; k < count; k++) {
        const char *its = get_character_clip(character, k).name;
        if (its && strcmp(its, name) == 0)
            return k;
    }
    return 0;
}

static abut_status simulate(const condition *c, const rival_scene *s, uint32_t clip,
                            rival_motion *motion) {
    abut_garment_options options = abut_garment_options_default();
    abut_garment *garment = NULL;
    abut_character *shell = NULL;
    options.kind = c->garment;
    options.particles = c->particles;
    abut_status status = c->figure == BALL ? rival_ball(0.098, 3, &shell)
                                           : abut_garment_create(s->character, &options, &garment);
    rival_clothing clothing = {.body = s->character,
                               .cloth = garment ? abut_garment_character(garment) : shell,
                               .clip = clip,
                               .stride = c->figure == BALL ? QUICK_STRIDE : STRIDE,
                               .seconds = c->figure == BALL
                                              ? QUICK_SECONDS
                                              : get_character_clip(s->character, clip).duration,
                               .cell = s->cell};
    if (!status)
        status = rival_motion_simulate(NULL, &clothing, motion);
    abut_garment_destroy(garment);
    abut_character_destroy(shell);
    return status;
}

/* Replays the recording of a condition, if there is a folder for them; otherwise simulates the
 * cloth, and records it. */
static abut_status find_motion(const condition *c, const rival_scene *s, uint32_t clip,
                               rival_motion *motion) {
    const char *folder = getenv("ABUT_BENCH_RECORDINGS");
    char path[4096];
    if (!folder || !*folder)
        return simulate(c, s, clip, motion);
    const int length = snprintf(path, sizeof path, "%s/condition-%u.abutm", folder, s->condition);
    if (length < 0 || (size_t)length >= sizeof path)
        return bench_fail(ABUT_ERROR_FILE, "the path of ABUT_BENCH_RECORDINGS is too long");
    FILE *file = fopen(path, "rb");
    if (file) {
        fclose(file);
        return rival_motion_read(NULL, path, motion);
    }
    abut_status status = simulate(c, s, clip, motion);
    return status ? status : rival_motion_write(motion, path);
}

/* ---- frames ---- */

static abut_status make_frames(rival_scene *s, const rival_motion *motion, uint32_t clip,
                               uint32_t stride) {
    const uint32_t bones = get_character_info(s->character).bone_count;
    s->frame_count = motion->frame_count;
    s->frames = calloc(s->frame_count, sizeof *s->frames);
    abut_character_matrix *at = calloc((size_t)s->frame_count * 2 * bones, sizeof *at);
    abut_status status = s->frames && at ? ABUT_OK : no_memory();
    for (uint32_t k = 0; k < s->frame_count && !status; k++)
        for (uint32_t now = 0; now < 2 && !status; now++) {
            rival_frame *f = &s->frames[k];
            f->bones[now] = at + ((size_t)2 * k + now) * bones;
            f->from = motion->from + (size_t)k * s->particles;
            f->to = motion->to + (size_t)k * s->particles;
            status = rival_bones(s->character, clip, ((k + 1) * stride - 1 + now) * RIVAL_SECONDS,
                                 f->bones[now]);
        }
    return status;
}

static abut_status make(uint32_t number, rival_scene *s) {
    const condition *c = &conditions[number];
    rival_motion motion = {0};
    s->condition = number;
    s->body_name = c->body;
    s->cloth_name = c->cloth;
    s->particles = c->particles;
    s->cell = 0.01;
    s->field_cell = c->figure == OGRE ? 0.035 : 0.01;
    abut_status status = get_figure(c->figure, c->triangles, &s->character);
    if (status)
        return status;
    s->triangles = get_character_info(s->character).triangle_count;
    s->vertices = get_character_info(s->character).vertex_count;
    const uint32_t clip = clip_named(s->character, "gymnastics");
    status = find_motion(c, s, clip, &motion);
    if (!status && motion.particle_count != c->particles)
        status = bench_fail(ABUT_ERROR_FORMAT, "condition %u has %u particles instead of %u",
                            number, motion.particle_count, c->particles);
    if (!status)
        status = make_frames(s, &motion, clip, number ? STRIDE : QUICK_STRIDE);
    s->cloth = motion.sheet;
    return status;
}

const rival_scene *rival_scene_get(uint32_t number) {
    static rival_scene scenes[RIVAL_CONDITIONS + 1];
    static bool made[RIVAL_CONDITIONS + 1];
    if (number > RIVAL_CONDITIONS)
        return NULL;
    if (!made[number] && make(number, &scenes[number]))
        return NULL;
    made[number] = true;
    return &scenes[number];
}
