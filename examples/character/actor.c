#include "actor.h"

#include <abut/garment.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GRAVITY 9.81
#define BLEND_SECONDS 1.0 /* from the rest pose into the clip */
#define SAG 0.01          /* metres by which the springs give way to the weight of the garment */
#define DENSITY 0.2
#define STEP_SECONDS (1.0 / 120)
enum { SUBSTEPS = 5, PARTICLES = 2000, ATTACHED = 2 };

struct actor {
    abut_context *context;
    abut_character *character, *welded;
    abut_garment *garment;
    abut_radial *fields;
    abut_cloth *cloth;
    uint32_t clip, attached_count, *attached;
    double clip_seconds, step_seconds, time;
    abut_character_matrix *bones;
    abut_vec3 *skinned, *targets; /* the garment where skinning puts it; of attached vertices */
    uint32_t counts[ACTOR_PARTS];
    abut_vec3 *before[ACTOR_PARTS], *now[ACTOR_PARTS];
    float *shown[ACTOR_PARTS];
};

static double now_ms(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* ---- motion ---- */

/* The clip forwards and backwards: a jump from its end to its start would tear the garment off. */
static abut_status pose(actor *a) {
    abut_character_pose_options pose = abut_character_pose_options_default();
    const double on = fmax(a->time - BLEND_SECONDS, 0), blend = fmin(a->time / BLEND_SECONDS, 1);
    const double twice = a->clip_seconds > 0 ? fmod(on, 2 * a->clip_seconds) : 0;
    pose.clip = ABUT_NONE;
    pose.other = a->clip;
    pose.other_time = fmin(twice, 2 * a->clip_seconds - twice);
    pose.blend = a->clip == ABUT_NONE ? 0 : blend * blend * (3 - 2 * blend);
    pose.clamp = true;
    return abut_character_pose(a->character, &pose, a->bones);
}

/* Skins the body and the garment: the latter gives the points to which springs pull. */
static abut_status skin(actor *a) {
    abut_status status = pose(a);
    if (!status)
        status = abut_character_skin(a->character, a->bones, ABUT_CHARACTER_SKINNING_LINEAR,
                                     a->now[ACTOR_BODY]);
    if (!status)
        status = abut_character_skin(abut_garment_character(a->garment), a->bones,
                                     ABUT_CHARACTER_SKINNING_LINEAR, a->skinned);
    for (uint32_t i = 0; i < a->attached_count && !status; i++)
        a->targets[i] = a->skinned[a->attached[i]];
    return status;
}

abut_status actor_step(actor *a, actor_report *report) {
    abut_cloth_report cloth = abut_cloth_report_default();
    const double begun = now_ms();
    for (int part = 0; part < ACTOR_PARTS; part++)
        memcpy(a->before[part], a->now[part], a->counts[part] * sizeof *a->now[part]);
    a->time += a->step_seconds;
    abut_status status = skin(a);
    const double skinned = now_ms();
    if (!status)
        status =
            abut_radial_set_positions(a->fields, a->bones, abut_array_host(a->now[ACTOR_BODY]));
    const double updated = now_ms();
    if (!status)
        status = abut_cloth_set_targets(a->cloth, 0, a->attached, abut_array_host(a->targets),
                                        a->attached_count);
    if (!status)
        status = abut_cloth_step(a->cloth, a->step_seconds, &cloth);
    if (!status)
        status = abut_cloth_get_positions(a->cloth, 0, abut_array_host(a->now[ACTOR_GARMENT]));
    if (!status && report)
        *report = (actor_report){.skin_ms = skinned - begun,
                                 .fields_ms = updated - skinned,
                                 .cloth_ms = now_ms() - updated,
                                 .depth = cloth.depth};
    return status;
}

void actor_interpolate(actor *a, double share) {
    for (int part = 0; part < ACTOR_PARTS; part++)
        for (uint32_t i = 0; i < a->counts[part]; i++) {
            const abut_vec3 p = a->before[part][i], q = a->now[part][i];
            float *to = a->shown[part] + 3 * (size_t)i;
            to[0] = (float)(p.x + share * (q.x - p.x));
            to[1] = (float)(p.y + share * (q.y - p.y));
            to[2] = (float)(p.z + share * (q.z - p.z));
        }
}

/* ---- loading ---- */

static bool is_built_in(const char *name) {
    for (int k = 0; k < ABUT_CHARACTER_FIGURE_COUNT; k++)
        if (!strcmp(name, abut_character_figure_name((abut_character_figure)k)))
            return true;
    return false;
}

static abut_status find_clip(actor *a, const char *name) {
    abut_character_info info = abut_character_info_default();
    abut_status status = abut_character_get_info(a->character, &info);
    a->clip = ABUT_NONE;
    for (uint32_t k = 0; k < info.clip_count && a->clip == ABUT_NONE && !status; k++) {
        abut_character_clip clip;
        status = abut_character_get_clip(a->character, k, &clip);
        if (!status && (!name || (clip.name && !strcmp(clip.name, name)))) {
            a->clip = k;
            a->clip_seconds = clip.duration;
        }
    }
    if (!status && name && a->clip == ABUT_NONE)
        status = abut_set_error(ABUT_ERROR_ARGUMENT, "the character has no clip of this name");
    return status;
}

static abut_status load(actor *a, const actor_options *o) {
    abut_status status =
        is_built_in(o->character)
            ? abut_character_create_named(NULL, a->context, o->character, &a->character)
            : abut_character_read(a->context, o->character, &a->character);
    return status ? status : find_clip(a, o->clip);
}

/* The welded body is only for the garment: the vertices of the body stay those of the file. */
static abut_status make_garment(actor *a, const actor_options *o) {
    abut_garment_options options = abut_garment_options_default();
    const char *name = o->garment ? o->garment : "dress";
    int kind = 0;
    while (kind < ABUT_GARMENT_COUNT &&
           strcmp(name, abut_garment_kind_name((abut_garment_kind)kind)) != 0)
        kind++;
    if (kind == ABUT_GARMENT_COUNT)
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "the garment must be trousers-and-top, overcoat, cape or dress");
    options.kind = (abut_garment_kind)kind;
    options.particles = o->particles ? o->particles : PARTICLES;
    abut_status status = abut_character_weld(a->character, &a->welded);
    return status ? status : abut_garment_create(a->welded, &options, &a->garment);
}

static abut_status make_arrays(actor *a, const actor_options *o) {
    abut_character_info info = abut_character_info_default();
    abut_status status = abut_character_get_info(a->character, &info);
    const uint32_t every = o->attached ? o->attached : ATTACHED;
    bool is_complete = true;
    for (int part = 0; part < ACTOR_PARTS && !status; part++) {
        const uint32_t count = abut_mesh_vertex_count(actor_mesh(a, (actor_part)part));
        a->counts[part] = count;
        a->before[part] = calloc(count, sizeof *a->before[part]);
        a->now[part] = calloc(count, sizeof *a->now[part]);
        a->shown[part] = calloc(count, 3 * sizeof *a->shown[part]);
        is_complete = is_complete && a->before[part] && a->now[part] && a->shown[part];
    }
    a->attached_count = (a->counts[ACTOR_GARMENT] + every - 1) / every;
    a->bones = calloc(info.bone_count, sizeof *a->bones);
    a->skinned = calloc(a->counts[ACTOR_GARMENT], sizeof *a->skinned);
    a->attached = calloc(a->attached_count, sizeof *a->attached);
    a->targets = calloc(a->attached_count, sizeof *a->targets);
    if (!status && !(is_complete && a->bones && a->skinned && a->attached && a->targets))
        status = abut_set_error(ABUT_ERROR_MEMORY, "no memory for the vertices");
    for (uint32_t i = 0; i < a->attached_count && !status; i++)
        a->attached[i] = every * i;
    return status;
}

/* Springs that give way by SAG to the weight of the garment. */
static abut_status attach(actor *a) {
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    abut_cloth_attachment *list = calloc(a->attached_count, sizeof *list);
    abut_status status = list ? abut_topology_create(actor_mesh(a, ACTOR_GARMENT), &topology)
                              : abut_set_error(ABUT_ERROR_MEMORY, "no memory for the springs");
    if (!status)
        status = abut_mesh_examine(topology, &report);
    const double stiffness = DENSITY * report.area * GRAVITY / SAG / a->attached_count;
    if (!status)
        status = abut_cloth_bind(a->cloth, 0, ABUT_NONE, a->attached, a->attached_count, stiffness,
                                 list);
    if (!status)
        status = abut_cloth_attach(a->cloth, 0, list, a->attached_count);
    abut_topology_destroy(topology);
    free(list);
    return status;
}

static abut_status make_fields(actor *a) {
    abut_radial_options options = abut_radial_options_default();
    abut_status status = abut_radial_create(a->character, &options, &a->fields);
    if (!status)
        status = skin(a);
    if (!status)
        status =
            abut_radial_set_positions(a->fields, a->bones, abut_array_host(a->now[ACTOR_BODY]));
    return status;
}

static abut_status make_cloth(actor *a) {
    const abut_vec3 up = abut_mesh_up(actor_mesh(a, ACTOR_BODY));
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material material = abut_cloth_material_default();
    uint32_t sheet;
    options.gravity = (abut_vec3){-GRAVITY * up.x, -GRAVITY * up.y, -GRAVITY * up.z};
    options.drag = 0.3;
    options.substeps = SUBSTEPS;
    options.ignore_self = true;
    material.stretch = 150;
    material.bend = 5e-5;
    material.damping = 0.2;
    material.friction = 0.3;
    material.density = DENSITY;
    abut_status status = abut_cloth_create(a->context, &options, &a->cloth);
    if (!status)
        status = abut_cloth_add_sheet(a->cloth, actor_mesh(a, ACTOR_GARMENT), &material, &sheet);
    if (!status)
        status = abut_cloth_add_radial(a->cloth, a->fields);
    if (!status)
        status = attach(a);
    if (!status)
        status = abut_cloth_get_positions(a->cloth, 0, abut_array_host(a->now[ACTOR_GARMENT]));
    return status;
}

static abut_status build(actor *a, const actor_options *o) {
    abut_context_options threads = abut_context_options_default();
    threads.thread_count = o->threads;
    a->step_seconds = o->step_seconds > 0 ? o->step_seconds : STEP_SECONDS;
    abut_status status = abut_context_create(&threads, &a->context);
    if (!status)
        status = load(a, o);
    if (!status)
        status = make_garment(a, o);
    if (!status)
        status = make_arrays(a, o);
    if (!status)
        status = make_fields(a);
    if (!status)
        status = make_cloth(a);
    for (int part = 0; part < ACTOR_PARTS && !status; part++)
        memcpy(a->before[part], a->now[part], a->counts[part] * sizeof *a->now[part]);
    if (!status)
        actor_interpolate(a, 1);
    return status;
}

abut_status actor_create(const actor_options *options, actor **made) {
    if (!options || !options->character || !made)
        return abut_set_error(ABUT_ERROR_ARGUMENT, "actor_create: no character");
    actor *a = calloc(1, sizeof *a);
    if (!a)
        return abut_set_error(ABUT_ERROR_MEMORY, "no memory for an actor");
    abut_status status = build(a, options);
    if (status)
        actor_destroy(a);
    else
        *made = a;
    return status;
}

void actor_destroy(actor *a) {
    if (!a)
        return;
    abut_cloth_destroy(a->cloth);
    abut_radial_destroy(a->fields);
    abut_garment_destroy(a->garment);
    abut_character_destroy(a->welded);
    abut_character_destroy(a->character);
    abut_context_destroy(a->context);
    for (int part = 0; part < ACTOR_PARTS; part++) {
        free(a->before[part]);
        free(a->now[part]);
        free(a->shown[part]);
    }
    free(a->bones);
    free(a->skinned);
    free(a->attached);
    free(a->targets);
    free(a);
}

/* ---- state ---- */

double actor_step_seconds(const actor *a) {
    return a->step_seconds;
}

uint32_t actor_field_count(const actor *a) {
    abut_radial_info info = abut_radial_info_default();
    abut_radial_get_info(a->fields, &info);
    return info.field_count;
}

abut_mesh *actor_mesh(const actor *a, actor_part part) {
    return abut_character_rest_mesh(part == ACTOR_BODY ? a->character
                                                       : abut_garment_character(a->garment));
}

const float *actor_vertices(const actor *a, actor_part part, uint32_t *count) {
    *count = a->counts[part];
    return a->shown[part];
}
