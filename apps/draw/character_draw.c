/* Pictures of `abut character`: a posed character, and film strips of its clips. */
#include "apps/get.h"
#include "character.h"

#include <math.h>

void character_pose_mesh(const character_subject *s, abut_mesh **mesh) {
    ensure(abut_character_pose(s->character, &s->options, s->bones));
    ensure(abut_character_pose_morphs(s->character, &s->options, s->morphs));
    ensure(abut_character_skinner_mesh(s->skinner, s->bones, s->morphs, mesh));
}

/* Skins the garment in the pose of the last character_pose_mesh(). */
void character_pose_garment(const character_subject *s, abut_mesh **mesh) {
    ensure(abut_character_mesh(abut_garment_character(s->garment), s->bones, s->skinning, mesh));
}

static abut_vec3 place_of(const abut_character_matrix *bone) {
    return (abut_vec3){bone->m[0][3], bone->m[1][3], bone->m[2][3]};
}

static const abut_colour bone_colour = {0.75f, 0.1f, 0.1f, 1};
enum { PAGE_RATE = 30 }; /* frames per second of a page */

/* Draws the mesh translucent, and each bone as a line from its parent. */
static void draw_character(tool_run *tool, const character_subject *s,
                           const abut_picture_options *options, abut_picture **picture) {
    const abut_colour ink = bone_colour;
    abut_mesh *mesh = NULL, *cloth = NULL;
    character_pose_mesh(s, &mesh);
    ensure(abut_picture_create(tool->context, options, picture));
    picture_body(*picture, mesh, (abut_pose){0}, abut_picture_colour(0), s->garment ? 1 : 0.6f);
    if (s->garment) {
        character_pose_garment(s, &cloth);
        picture_body(*picture, cloth, (abut_pose){0}, abut_picture_colour(1), 1);
        abut_mesh_destroy(cloth);
    }
    for (uint32_t i = 0; i < s->info.bone_count && !s->garment; i++) {
        uint32_t parent = get_character_bone(s->character, i).parent;
        if (!s->vertices[i])
            continue;
        ensure(abut_picture_add_point(*picture, place_of(&s->bones[i]), 5, ink));
        if (parent != ABUT_NONE && s->vertices[parent])
            ensure(abut_picture_add_line(*picture, place_of(&s->bones[parent]),
                                         place_of(&s->bones[i]), 2, ink));
    }
    abut_mesh_destroy(mesh);
}

void character_draw(tool_run *tool, const character_subject *s, abut_picture_options *options,
                    const char *path) {
    abut_picture *picture = NULL;
    draw_character(tool, s, options, &picture);
    picture_write(tool, picture, options, NULL, path);
    abut_picture_destroy(picture);
}

/* Draws frames at equal time steps over the clip. */
void character_film(tool_run *tool, const character_subject *s, const abut_picture_options *camera,
                    const char *path) {
    tool_film film = {0};
    character_subject frame = *s;
    abut_picture_options options = *camera;
    double duration = get_character_clip(s->character, s->options.clip).duration;
    options.width = FILM_WIDTH;
    options.height = FILM_HEIGHT;
    film_start(tool, &film, path, 1.0 / PAGE_RATE);
    int count = film.pixels ? FILM_FRAMES : (int)fmin(1e4, fmax(2, ceil(PAGE_RATE * duration)));
    legend_add(&film.legend, abut_picture_colour(0), "body");
    legend_add(&film.legend, abut_picture_colour(1), "garment");
    legend_add(&film.legend, bone_colour, "bones");
    for (int i = 0; i < count; i++) {
        abut_picture *picture = NULL;
        frame.options.time = duration * i / count;
        progress_step(tool, "frames", (uint64_t)i, (uint64_t)count);
        draw_character(tool, &frame, &options, &picture);
        if (film.pixels)
            film_add_frame(&film, picture);
        else
            film_page(&film, picture);
        abut_picture_destroy(picture);
    }
    film_write(tool, &film, path);
}
