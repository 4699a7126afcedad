#include "clothing.h"
#include "apps/get.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLEND_SECONDS 1.0
#define GRAVITY 9.81
#define SAG 0.005 /* metres by which the springs give way to the weight of the sheet */
enum {
    ATTACHED = 2, /* every so many vertices */
    SUBSTEPS = 8, /* of a frame */
};

static abut_status no_memory(void) {
    return abut_set_error(ABUT_ERROR_MEMORY, "no memory for the motion of a cloth");
}

abut_status rival_bones(const abut_character *character, uint32_t clip, double time,
                        abut_character_matrix *bones) {
    abut_character_pose_options pose = abut_character_pose_options_default();
    const double blend = fmin(fmax(1 + time / BLEND_SECONDS, 0), 1);
    pose.clip = ABUT_NONE;
    pose.other = clip;
    pose.other_time = fmax(time, 0);
    pose.blend = blend * blend * (3 - 2 * blend);
    pose.clamp = true;
    return abut_character_pose(character, &pose, bones);
}

/* ---- simulation ---- */

typedef struct wearing {
    const rival_clothing *clothing;
    abut_radial *fields;
    abut_cloth *cloth;
    abut_character_matrix *bones;
    abut_vec3 *body,
        *skinned; /* all vertices of the body, and of the sheet where skinning puts it */
    uint32_t *attached, attached_count;
    abut_vec3 *targets; /* of attached vertices */
} wearing;

static double area_of(const abut_mesh *mesh) {
    const abut_vec3 *p = abut_mesh_local_positions(mesh);
    const uint32_t *corner = abut_mesh_indices(mesh);
    double sum = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++, corner += 3) {
        const abut_vec3 a = p[corner[0]], b = p[corner[1]], c = p[corner[2]];
        const double u[3] = {b.x - a.x, b.y - a.y, b.z - a.z};
        const double v[3] = {c.x - a.x, c.y - a.y, c.z - a.z};
        const double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                             u[0] * v[1] - u[1] * v[0]};
        sum += 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    }
    return sum;
}

/* Skins body and sheet, and updates fields and targets. */
static abut_status pose_at(wearing *w, double time) {
    const rival_clothing *c = w->clothing;
    abut_status status = rival_bones(c->body, c->clip, time, w->bones);
    if (!status)
        status = abut_character_skin(c->body, w->bones, ABUT_CHARACTER_SKINNING_LINEAR, w->body);
    if (!status)
        status =
            abut_character_skin(c->cloth, w->bones, ABUT_CHARACTER_SKINNING_LINEAR, w->skinned);
    if (!status)
        status = abut_radial_set_positions(w->fields, w->bones, abut_array_host(w->body));
    for (uint32_t i = 0; i < w->attached_count; i++)
        w->targets[i] = w->skinned[w->attached[i]];
    return status;
}

static abut_status attach(wearing *w, double density) {
    abut_mesh *sheet = abut_character_rest_mesh(w->clothing->cloth);
    const uint32_t count = w->attached_count;
    abut_cloth_attachment *list = calloc(count, sizeof *list);
    const double stiffness = density * area_of(sheet) / count * GRAVITY / SAG;
    abut_status status = list ? ABUT_OK : no_memory();
    if (!status)
        status = abut_cloth_bind(w->cloth, 0, ABUT_NONE, w->attached, count, stiffness, list);
    if (!status)
        status = abut_cloth_attach(w->cloth, 0, list, count);
    free(list);
    return status;
}

static abut_status begin(abut_context *context, wearing *w) {
    const rival_clothing *c = w->clothing;
    const uint32_t vertices = get_character_info(c->cloth).vertex_count;
    w->attached_count = (vertices + ATTACHED - 1) / ATTACHED;
    w->bones = calloc(get_character_info(c->body).bone_count, sizeof *w->bones);
    w->body = calloc(get_character_info(c->body).vertex_count, sizeof *w->body);
    w->skinned = calloc(vertices, sizeof *w->skinned);
    w->attached = calloc(w->attached_count, sizeof *w->attached);
    w->targets = calloc(w->attached_count, sizeof *w->targets);
    if (!w->bones || !w->body || !w->skinned || !w->attached || !w->targets)
        return no_memory();
    for (uint32_t i = 0; i < w->attached_count; i++)
        w->attached[i] = ATTACHED * i;

    abut_radial_options fields = abut_radial_options_default();
    abut_cloth_options options = abut_cloth_options_default();
    abut_cloth_material material = abut_cloth_material_default();
    const abut_vec3 up = abut_mesh_up(abut_character_rest_mesh(c->body));
    uint32_t index;
    fields.cell = c->cell;
    options.gravity = (abut_vec3){-GRAVITY * up.x, -GRAVITY * up.y, -GRAVITY * up.z};
    options.drag = 0.3;
    options.substeps = SUBSTEPS;
    options.ignore_self = true;
    material.stretch = 150;
    material.bend = 5e-5;
    material.damping = 0.2;
    material.friction = 0.3;
    material.density = 0.2;
    abut_status status = abut_radial_create(c->body, &fields, &w->fields);
    if (!status)
        status = pose_at(w, -BLEND_SECONDS);
    if (!status)
        status = abut_cloth_create(context, &options, &w->cloth);
    if (!status)
        status =
            abut_cloth_add_sheet(w->cloth, abut_character_rest_mesh(c->cloth), &material, &index);
    if (!status)
        status = abut_cloth_add_radial(w->cloth, w->fields);
    return status ? status : attach(w, material.density);
}

/* Steps to a time; stores the particles before the step and as predicted, unless null. */
static abut_status step_to(wearing *w, double time, abut_vec3 *from, abut_vec3 *to) {
    abut_status status = pose_at(w, time);
    if (!status)
        status = abut_cloth_set_targets(w->cloth, 0, w->attached, abut_array_host(w->targets),
                                        w->attached_count);
    if (!status && from)
        status = abut_cloth_get_positions(w->cloth, 0, abut_array_host(from));
    if (!status)
        status = abut_cloth_step(w->cloth, RIVAL_SECONDS, NULL);
    if (!status && to)
        status = abut_cloth_get_aims(w->cloth, 0, abut_array_host(to));
    return status;
}

static abut_status make_room(rival_motion *m, uint32_t frames, uint32_t particles) {
    m->frame_count = frames;
    m->particle_count = particles;
    m->from = calloc((size_t)frames * particles, sizeof *m->from);
    m->to = calloc((size_t)frames * particles, sizeof *m->to);
    return m->from && m->to ? ABUT_OK : no_memory();
}

/* The triangles of a mesh, with the positions of the first frame. */
static abut_status make_sheet(abut_context *context, const abut_mesh *like, rival_motion *m) {
    const abut_mesh_input input =
        abut_mesh_input_doubles(m->from, m->particle_count, abut_mesh_indices(like),
                                abut_mesh_triangle_count(like));
    return abut_mesh_create(context, &input, &m->sheet);
}

static abut_status simulate(wearing *w, rival_motion *m) {
    const uint32_t stride = w->clothing->stride,
                   before = (uint32_t)(BLEND_SECONDS / RIVAL_SECONDS + 0.5);
    abut_status status = ABUT_OK;
    for (uint32_t k = 1; k <= before && !status; k++)
        status = step_to(w, k * RIVAL_SECONDS - BLEND_SECONDS, NULL, NULL);
    for (uint32_t k = 1; k <= stride * m->frame_count && !status; k++) {
        const size_t first = (size_t)(k / stride - 1) * m->particle_count;
        const bool is_kept = k % stride == 0;
        status = step_to(w, k * RIVAL_SECONDS, is_kept ? m->from + first : NULL,
                         is_kept ? m->to + first : NULL);
    }
    return status;
}

abut_status rival_motion_simulate(abut_context *context, const rival_clothing *clothing,
                                  rival_motion *motion) {
    const uint32_t frames = (uint32_t)(clothing->seconds / RIVAL_SECONDS / clothing->stride + 1e-6);
    wearing w = {.clothing = clothing};
    rival_motion m = {0};
    abut_status status = begin(context, &w);
    if (!status)
        status = make_room(&m, frames, get_character_info(clothing->cloth).vertex_count);
    if (!status)
        status = simulate(&w, &m);
    if (!status)
        status = make_sheet(context, abut_character_rest_mesh(clothing->cloth), &m);
    abut_cloth_destroy(w.cloth);
    abut_radial_destroy(w.fields);
    free(w.bones);
    free(w.body);
    free(w.skinned);
    free(w.attached);
    free(w.targets);
    if (status)
        rival_motion_clear(&m);
    else
        *motion = m;
    return status;
}

/* ---- recordings ---- */

abut_status rival_motion_write(const rival_motion *motion, const char *path) {
    abut_frames_options options = abut_frames_options_default();
    abut_frames_writer *writer = NULL;
    options.type = ABUT_SCALAR_FLOAT32;
    options.aims = true;
    abut_status status = abut_frames_writer_create(&motion->sheet, 1, path, &options, &writer);
    if (status)
        return status;
    for (uint32_t k = 0; k < motion->frame_count && !status; k++) {
        const size_t first = (size_t)k * motion->particle_count;
        status = abut_frames_writer_add(writer, motion->from + first, motion->to + first);
    }
    if (!status)
        return abut_frames_writer_finish(writer);
    abut_frames_writer_discard(writer);
    return status;
}

abut_status rival_motion_read(abut_context *context, const char *path, rival_motion *motion) {
    abut_frames *frames = NULL;
    rival_motion m = {0};
    abut_status status = abut_frames_open(context, path, &frames);
    if (status)
        return status;
    const abut_frames_info info = get_frames_info(frames);
    if (!info.aims || info.mesh_count != 1)
        status = abut_set_error(ABUT_ERROR_FORMAT, "not a recording of the particles of one sheet");
    if (!status)
        status = make_room(&m, (uint32_t)info.frame_count, (uint32_t)info.vertex_count);
    for (uint32_t k = 0; k < m.frame_count && !status; k++) {
        const size_t first = (size_t)k * m.particle_count;
        status = abut_frames_read(frames, k, m.from + first, m.to + first);
    }
    if (!status)
        status = make_sheet(context, abut_frames_mesh(frames, 0), &m);
    abut_frames_close(frames);
    if (status)
        rival_motion_clear(&m);
    else
        *motion = m;
    return status;
}

void rival_motion_clear(rival_motion *motion) {
    abut_mesh_destroy(motion->sheet);
    free(motion->from);
    free(motion->to);
    *motion = (rival_motion){0};
}
