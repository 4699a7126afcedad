/* The page of `abut view`: meshes, scenes, fields, recordings, characters and tables. */
#include "apps/get.h"
#include "results.h"

#include <math.h>

static void add_mesh(const viewing *v, abut_picture *picture, abut_mesh *mesh, abut_pose pose,
                     abut_colour colour, bool two_sided) {
    abut_mesh_style style = abut_mesh_style_default();
    style.colour = colour;
    style.smooth = !v->flat;
    style.edges = v->edges;
    style.two_sided = two_sided;
    ensure(abut_picture_add_mesh(picture, mesh, pose, &style));
}

/* Recordings that are shorter than others stay at their last frame. */
static void add_recorded(const viewing *v, abut_picture *picture, const view_result *r,
                         uint64_t frame) {
    abut_frames_info info = get_frames_info(r->frames);
    if (!info.frame_count)
        return;
    for (uint32_t i = 0; i < info.mesh_count; i++) {
        abut_mesh *mesh = NULL;
        uint64_t at = frame < info.frame_count ? frame : info.frame_count - 1;
        ensure(abut_frames_mesh_at(r->frames, at, i, &mesh));
        add_mesh(v, picture, mesh, (abut_pose){0}, abut_picture_colour(i), true);
        abut_mesh_destroy(mesh);
    }
}

static void add_character(const viewing *v, abut_picture *picture, const view_result *r,
                          uint64_t frame) {
    abut_character_pose_options pose = abut_character_pose_options_default();
    abut_mesh *mesh = NULL;
    pose.clip = v->clip;
    pose.time = (double)frame * v->seconds;
    ensure(abut_character_pose(r->character, &pose, r->bones));
    ensure(abut_character_mesh(r->character, r->bones, ABUT_CHARACTER_SKINNING_LINEAR, &mesh));
    add_mesh(v, picture, mesh, (abut_pose){0}, r->colour, false);
    abut_mesh_destroy(mesh);
}

static void add_frame(tool_run *tool, const viewing *v, uint64_t frame, abut_picture **picture) {
    ensure(abut_picture_create(tool->context, &v->camera, picture));
    for (size_t i = 0; i < v->count; i++) {
        const view_result *r = &v->results[i];
        if (r->mesh)
            add_mesh(v, *picture, r->mesh, (abut_pose){0}, r->colour, false);
        for (uint32_t k = 0; r->scene && k < get_scene_arrays(r->scene).body_count; k++) {
            const abut_scene_body body = get_scene_body(r->scene, k);
            add_mesh(v, *picture, body.mesh, body.collider.pose, abut_picture_colour(k), false);
        }
        if (r->frames)
            add_recorded(v, *picture, r, frame);
        else if (r->character)
            add_character(v, *picture, r, frame);
    }
}

/* Names are found by colour. Bodies of a scene and meshes of a recording have their own colours,
 * so that they have names only if they are the single operand. */
void results_name(viewing *v) {
    for (size_t i = 0; i < v->count; i++) {
        const view_result *r = &v->results[i];
        if (r->mesh || r->character)
            legend_file(&v->legend, r->colour, r->path);
        if (v->count == 1 && r->scene) {
            abut_scene_arrays all = get_scene_arrays(r->scene);
            for (uint32_t k = 0; k < all.body_count && all.body_count <= LEGEND_MAX; k++)
                legend_add(&v->legend, abut_picture_colour(k), "%s",
                           get_scene_body(r->scene, k).name);
        }
        const uint32_t meshes = get_frames_info(r->frames).mesh_count;
        for (uint32_t k = 0; v->count == 1 && k < meshes && meshes <= LEGEND_MAX; k++)
            if (abut_frames_name(r->frames, k))
                legend_add(&v->legend, abut_picture_colour(k), "%s",
                           abut_frames_name(r->frames, k));
    }
}

/* ---- the page ---- */

static void show_frames(tool_run *tool, viewing *v) {
    uint64_t step =
        v->frames > VIEW_FRAMES_MAX ? (v->frames + VIEW_FRAMES_MAX - 1) / VIEW_FRAMES_MAX : 1;
    view_rate(tool->view, v->seconds * (double)step);
    for (uint64_t frame = 0; !frame || frame < v->frames; frame += step) {
        abut_picture *picture = NULL;
        if (v->frames)
            progress_step(tool, "frames", frame, v->frames);
        add_frame(tool, v, frame, &picture);
        view_picture(tool->view, picture, &v->legend);
        abut_picture_destroy(picture);
    }
}

void results_page(tool_run *tool, viewing *v) {
    double size = 0;
    show_frames(tool, v);
    for (size_t i = 0; i < v->count; i++) {
        const view_result *r = &v->results[i];
        if (r->mesh) {
            abut_box b = abut_mesh_bounds(r->mesh);
            size = fmax(size, box_longest(&b));
        }
        if (!r->field)
            continue;
        abut_field_info info = get_field_info(r->field);
        tool_scale scale = scale_of(NULL, fmin(info.lowest, 0), fmax(info.highest, 0));
        view_field(tool->view, r->field, r->name, &scale);
    }
    for (size_t i = 0; i < v->count; i++)
        if (v->results[i].table)
            view_table(tool, v->results[i].path, v->results[i].name, size);
    view_write(tool);
}
