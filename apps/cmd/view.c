/* abut view: several results in one browser page: meshes, scenes, fields, recordings, characters
 * with their clips, tables of contacts or points. */
#include "apps/get.h"
#include "character.h"
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESULTS_MAX = 4096, CLIP_RATE = 30, FRAMES_MAX = 480 };

/* One operand. Members of other kinds are null. */
typedef struct view_result {
    const char *path, *name;
    abut_colour colour;
    abut_mesh *mesh;
    abut_field *field;
    abut_frames *frames;
    abut_scene *scene;
    abut_character *character;
    abut_character_matrix *bones; /* from malloc */
    bool table;
} view_result;

typedef struct viewing {
    view_result *results;
    size_t count;
    uint64_t frames;
    double seconds; /* from frame to frame */
    uint32_t clip;
    tool_legend legend;
    abut_picture_options camera;
    bool edges, flat;
} viewing;

/* ---- reading ---- */

static int read_character(tool_run *tool, const tool_arguments *arguments, viewing *v,
                          view_result *r) {
    const tool_given *clip = option_given(arguments, "clip");
    abut_status status = character_find(tool, r->path, 0, &r->character);
    abut_character_info info = get_character_info(r->character);
    if (status || !info.bone_count || (!info.clip_count && !clip)) {
        abut_character_destroy(r->character);
        r->character = NULL;
        return 0; /* otherwise a mesh */
    }
    tool->up = abut_mesh_up(abut_character_rest_mesh(r->character));
    int code = clip ? clip_read(tool, r->character, clip->words, &v->clip) : 0;
    if (code)
        return code;
    double length = get_character_clip(r->character, v->clip).duration;
    v->frames = (uint64_t)fmax((double)v->frames, fmin(FRAMES_MAX, ceil(CLIP_RATE * length)));
    v->seconds = 1.0 / CLIP_RATE;
    r->bones = malloc(info.bone_count * sizeof *r->bones);
    return r->bones ? 0
                    : tool_fail_with(tool, "out of memory", "not enough memory for the character");
}

static int read_result(tool_run *tool, const tool_arguments *arguments, viewing *v,
                       view_result *r) {
    const char *ending = path_ending(r->path);
    abut_status status = ABUT_OK;
    int code = 0;
    progress_start(tool->progress, r->path);
    if (word_in(ending, "csv|txt|xyz")) {
        r->table = true;
        return 0;
    }
    if (word_in(ending, "glb|gltf") || word_in(r->path, "mannequin|mannequin-female|ogre"))
        code = read_character(tool, arguments, v, r);
    if (code || r->character)
        return code;
    if (strcmp(ending, "abutm") == 0) {
        status = abut_frames_open(tool->context, r->path, &r->frames);
        abut_frames_info info = get_frames_info(r->frames);
        v->frames = info.frame_count > v->frames ? info.frame_count : v->frames;
        v->seconds = info.seconds > 0 ? info.seconds : v->seconds;
    } else if (strcmp(ending, "json") == 0) {
        status = abut_scene_read(tool->context, r->path, &r->scene);
    } else {
        return field_or_mesh(tool, r->path, &r->field, &r->mesh);
    }
    return status ? tool_fail(tool, status) : 0;
}

static int read_results(tool_run *tool, const tool_arguments *arguments, viewing *v) {
    v->results = calloc(arguments->operand_count, sizeof *v->results);
    if (!v->results)
        return tool_fail_with(tool, "out of memory", "not enough memory for the results");
    for (size_t i = 0; i < arguments->operand_count; i++) {
        view_result *r = &v->results[v->count++];
        const char *slash = strrchr(arguments->operands[i], '/');
        r->path = arguments->operands[i];
        r->name = slash && slash[1] ? slash + 1 : r->path;
        r->colour = abut_picture_colour((uint32_t)i);
        int code = read_result(tool, arguments, v, r);
        if (code)
            return code;
    }
    return 0;
}

static void free_results(viewing *v) {
    for (size_t i = 0; i < v->count; i++) {
        view_result *r = &v->results[i];
        abut_mesh_destroy(r->mesh);
        abut_field_destroy(r->field);
        abut_frames_close(r->frames);
        abut_scene_destroy(r->scene);
        abut_character_destroy(r->character);
        free(r->bones);
    }
    free(v->results);
}

/* ---- frames ---- */

static abut_status add_mesh(const viewing *v, abut_picture *picture, abut_mesh *mesh,
                            abut_pose pose, abut_colour colour, bool two_sided) {
    abut_mesh_style style = abut_mesh_style_default();
    style.colour = colour;
    style.smooth = !v->flat;
    style.edges = v->edges;
    style.two_sided = two_sided;
    return abut_picture_add_mesh(picture, mesh, pose, &style);
}

static abut_status add_scene(const viewing *v, abut_picture *picture, const view_result *r) {
    abut_scene_arrays all = get_scene_arrays(r->scene);
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < all.body_count && !status; i++) {
        const abut_scene_body body = get_scene_body(r->scene, i);
        status = add_mesh(v, picture, body.mesh, body.collider.pose, abut_picture_colour(i), false);
    }
    return status;
}

/* Recordings that are shorter than others stay at their last frame. */
static abut_status add_recorded(const viewing *v, abut_picture *picture, const view_result *r,
                                uint64_t frame) {
    abut_frames_info info = get_frames_info(r->frames);
    abut_status status = ABUT_OK;
    if (!info.frame_count)
        return ABUT_OK;
    for (uint32_t i = 0; i < info.mesh_count && !status; i++) {
        abut_mesh *mesh = NULL;
        uint64_t at = frame < info.frame_count ? frame : info.frame_count - 1;
        status = abut_frames_mesh_at(r->frames, at, i, &mesh);
        if (!status)
            status = add_mesh(v, picture, mesh, (abut_pose){0}, abut_picture_colour(i), true);
        abut_mesh_destroy(mesh);
    }
    return status;
}

static abut_status add_character(const viewing *v, abut_picture *picture, const view_result *r,
                                 uint64_t frame) {
    abut_character_pose_options pose = abut_character_pose_options_default();
    abut_mesh *mesh = NULL;
    pose.clip = v->clip;
    pose.time = (double)frame * v->seconds;
    abut_status status = abut_character_pose(r->character, &pose, r->bones);
    if (!status)
        status = abut_character_mesh(r->character, r->bones, ABUT_CHARACTER_SKINNING_LINEAR, &mesh);
    status = status ? status : add_mesh(v, picture, mesh, (abut_pose){0}, r->colour, false);
    abut_mesh_destroy(mesh);
    return status;
}

static abut_status add_frame(tool_run *tool, const viewing *v, uint64_t frame,
                             abut_picture **picture) {
    abut_status status = abut_picture_create(tool->context, &v->camera, picture);
    for (size_t i = 0; i < v->count && !status; i++) {
        const view_result *r = &v->results[i];
        if (r->mesh)
            status = add_mesh(v, *picture, r->mesh, (abut_pose){0}, r->colour, false);
        else if (r->scene)
            status = add_scene(v, *picture, r);
        else if (r->frames)
            status = add_recorded(v, *picture, r, frame);
        else if (r->character)
            status = add_character(v, *picture, r, frame);
    }
    return status;
}

/* Names are found by colour. Bodies of a scene and meshes of a recording have their own colours,
 * so that they have names only if they are the single operand. */
static void name_layers(viewing *v) {
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
    }
}

/* ---- the page ---- */

static abut_status show_frames(tool_run *tool, viewing *v) {
    uint64_t step = v->frames > FRAMES_MAX ? (v->frames + FRAMES_MAX - 1) / FRAMES_MAX : 1;
    abut_status status = ABUT_OK;
    view_rate(tool->view, v->seconds * (double)step);
    for (uint64_t frame = 0; (!frame || frame < v->frames) && !status; frame += step) {
        abut_picture *picture = NULL;
        if (v->frames &&
            !progress_report(tool->progress, "frames", (double)frame / (double)v->frames))
            return ABUT_ERROR_CANCELLED;
        status = add_frame(tool, v, frame, &picture);
        status = status ? status : view_picture(tool->view, picture, &v->legend);
        abut_picture_destroy(picture);
    }
    return status;
}

static int write_view_page(tool_run *tool, viewing *v) {
    double size = 0;
    int code = 0;
    abut_status status = show_frames(tool, v);
    for (size_t i = 0; i < v->count && !status; i++) {
        const view_result *r = &v->results[i];
        if (r->mesh) {
            abut_box b = abut_mesh_bounds(r->mesh);
            size = fmax(size, fmax(b.hi.x - b.lo.x, fmax(b.hi.y - b.lo.y, b.hi.z - b.lo.z)));
        }
        if (!r->field)
            continue;
        abut_field_info info = get_field_info(r->field);
        tool_scale scale = scale_of(NULL, fmin(info.lowest, 0), fmax(info.highest, 0));
        status = view_field(tool->view, r->field, r->name, &scale);
    }
    code = status ? tool_fail(tool, status) : 0;
    for (size_t i = 0; i < v->count && !code; i++)
        if (v->results[i].table)
            code = view_table(tool, v->results[i].path, v->results[i].name, size);
    if (!code && (status = view_write(tool)))
        code = tool_fail(tool, status);
    return code;
}

static int run_view(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *to = option_given(arguments, "out"),
                     *title = option_given(arguments, "title"),
                     *unit = option_given(arguments, "unit");
    tool_output *out = &tool->out;
    viewing v = {.camera = abut_picture_options_default(),
                 .seconds = 1.0 / 30,
                 .edges = option_given(arguments, "edges") != NULL,
                 .flat = option_given(arguments, "flat") != NULL};
    if (arguments->operand_count > RESULTS_MAX)
        return tool_refuse(tool, "a page can show at most %d files", RESULTS_MAX);
    int code = camera_read(tool, arguments, &v.camera);
    code = code ? code : view_open_path(tool, to ? to->words : "view.html");
    if (code)
        return code;
    if (title)
        view_title(tool->view, "%s", title->words);
    else
        view_name_after(tool->view, arguments);
    if (unit)
        view_unit(tool->view, unit->words);
    code = read_results(tool, arguments, &v);
    if (!code &&
        !camera_read(tool, arguments, &v.camera)) { /* the first file may define the up axis */
        name_layers(&v);
        code = write_view_page(tool, &v);
    }
    free_results(&v);
    if (code)
        return code;
    out_object(out, NULL);
    fact_path(out, "page", view_path(tool->view));
    json_count(out, "frames", v.frames);
    out_end(out);
    answer(tool, "%s", view_path(tool->view));
    return CODE_FINE;
}

static const tool_option options[] = {
    {"out", "FILE", OPTION_TEXT, "the page to write (also -o; default: view.html)", NULL, false},
    {"title", "WORDS", OPTION_TEXT, "title of the page (default: the names of the files)", NULL,
     false},
    {"unit", "NAME", OPTION_TEXT, "unit of length for legends: mm, m, in", NULL, false},
    {"clip", "CLIP", OPTION_TEXT,
     "clip that characters play: its name or number (default: the first)", NULL, false},
    {"edges", NULL, OPTION_FLAG, "show the edges of the triangles at first", NULL, false},
    {"flat", NULL, OPTION_FLAG, "shade each triangle with its own normal instead of smoothly", NULL,
     false},
    {"view", "VIEW", OPTION_TEXT,
     "initial view direction: front, back, left, right, top, bottom, iso, or X,Y,Z (default: iso)",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT,
     "up axis: x, y, z, -x, -y, -z or X,Y,Z (default: that of the first file that has one, "
     "otherwise z)",
     "x|y|z|-x|-y|-z", false},
    {0}};

const tool_command command_view = {
    .name = "view",
    .operands = "RESULT...",
    .summary = "show meshes, fields, recordings and tables in a browser page",
    .about =
        "Writes one HTML file that shows all results together and needs no network access. The "
        "page rotates, zooms, clips and plays them. A click shows the triangle, its values and the "
        "distance to the previous click.\n\n"
        "A RESULT is a mesh, a scene (.json), a signed distance field (.abutf: a movable slice, "
        "and isosurfaces), a recording (.abutm), a character (.glb or mannequin, ogre ...) with "
        "its clip, or a table of contacts or points (.csv, .txt, .xyz) with columns x, y, z.\n\n"
        "Commands that draw pictures also write such a page, with --html FILE.\n\n"
        "The script of the viewer is built once by 'viewer/build' in the sources of abut. The "
        "command searches for it beside the program, in share/abut, and at the path in "
        "ABUT_VIEWER.",
    .examples = "  abut view a.ply b.ply -o both.html --unit mm\n"
                "  abut view part.ply part.abutf -o field.html\n"
                "  abut view sleeve.abutm -o sleeve.html\n"
                "  abut contacts a.ply b.ply --out contacts.csv\n"
                "  abut view a.ply b.ply contacts.csv -o contacts.html\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = UINT32_MAX,
    .run = run_view,
};
