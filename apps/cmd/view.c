/* abut view: several results in one browser page: meshes, scenes, fields, recordings, characters
 * with their clips, tables of contacts or points. */
#include "apps/get.h"
#include "character.h"
#include "results.h"

#include <math.h>
#include <string.h>

enum { RESULTS_MAX = 4096, CLIP_RATE = 30 };

/* ---- reading ---- */

static void read_character(tool_run *tool, const tool_arguments *arguments, viewing *v,
                           view_result *r) {
    const tool_given *clip = option_given(arguments, "clip");
    (void)character_find(tool, r->path, 0, &r->character); /* a failure means: a mesh */
    abut_character_info info = get_character_info(r->character);
    if (!info.bone_count || (!info.clip_count && !clip)) {
        abut_character_destroy(r->character);
        r->character = NULL;
        return; /* otherwise a mesh */
    }
    tool->up = abut_mesh_up(abut_character_rest_mesh(r->character));
    if (clip)
        clip_read(tool, r->character, clip->words, &v->clip);
    double length = get_character_clip(r->character, v->clip).duration;
    v->frames = (uint64_t)fmax((double)v->frames, fmin(VIEW_FRAMES_MAX, ceil(CLIP_RATE * length)));
    v->seconds = 1.0 / CLIP_RATE;
    r->bones = tool_array(info.bone_count, sizeof *r->bones);
}

static void read_result(tool_run *tool, const tool_arguments *arguments, viewing *v,
                        view_result *r) {
    const char *ending = path_ending(r->path);
    progress_start(tool->progress, r->path);
    if (word_in(ending, "csv|txt|xyz")) {
        r->table = true;
        return;
    }
    if (word_in(ending, "glb|gltf") || word_in(r->path, "mannequin|mannequin-female|ogre"))
        read_character(tool, arguments, v, r);
    if (r->character)
        return;
    if (strcmp(ending, "abutm") == 0) {
        ensure(abut_frames_open(tool->context, r->path, &r->frames));
        abut_frames_info info = get_frames_info(r->frames);
        v->frames = info.frame_count > v->frames ? info.frame_count : v->frames;
        v->seconds = info.seconds > 0 ? info.seconds : v->seconds;
        tool->up = info.up;
    } else if (strcmp(ending, "json") == 0) {
        abut_scene_options options = abut_scene_options_default();
        options.create_character = abut_character_create_named;
        options.create_garment = abut_garment_create_named;
        ensure(abut_scene_read(tool->context, r->path, &options, &r->scene));
        tool->up = get_scene_arrays(r->scene).up;
    } else {
        field_or_mesh(tool, r->path, &r->field, &r->mesh);
        return;
    }
}

static void read_results(tool_run *tool, const tool_arguments *arguments, viewing *v) {
    v->results = tool_array(arguments->operand_count, sizeof *v->results);
    for (size_t i = 0; i < arguments->operand_count; i++) {
        view_result *r = &v->results[v->count++];
        r->path = arguments->operands[i];
        r->name = path_name(r->path);
        r->colour = abut_picture_colour((uint32_t)i);
        read_result(tool, arguments, v, r);
    }
}

static void free_results(viewing *v) {
    for (size_t i = 0; i < v->count; i++) {
        view_result *r = &v->results[i];
        abut_mesh_destroy(r->mesh);
        abut_field_destroy(r->field);
        abut_frames_close(r->frames);
        abut_scene_destroy(r->scene);
        abut_character_destroy(r->character);
    }
}

/* abut view --live */
static int run_live(tool_run *tool, const tool_arguments *arguments, viewing *v) {
    const tool_given *page = option_any(arguments, "out|title|clip");
    if (page)
        tool_refuse(tool, "--%s does not apply to --live", page->option->name);
    read_results(tool, arguments, v);
    camera_read(tool, arguments, &v->camera);
    view_live(tool, arguments, v);
    free_results(v);
    return CODE_FINE;
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
        tool_refuse(tool, "a page can show at most %d files", RESULTS_MAX);
    camera_read(tool, arguments, &v.camera);
    if (option_given(arguments, "live"))
        return run_live(tool, arguments, &v);
    view_open_path(tool, to ? to->words : "view.html");
    if (title)
        view_title(tool->view, "%s", title->words);
    else
        view_name_after(tool->view, arguments);
    if (unit)
        view_unit(tool->view, unit->words);
    read_results(tool, arguments, &v);
    camera_read(tool, arguments, &v.camera); /* the first file may define the up axis */
    results_name(&v);
    results_page(tool, &v);
    free_results(&v);
    out_object(out, NULL);
    fact_path(out, "page", view_path(tool->view));
    json_count(out, "frames", v.frames);
    out_end(out);
    answer(tool, "%s", view_path(tool->view));
    return CODE_FINE;
}

static const tool_option options[] = {
    OPTION("out", "FILE", TEXT, "the page to write (also -o; default: view.html)"),
    OPTION("title", "WORDS", TEXT, "title of the page (default: the names of the files)"),
    OPTION("unit", "NAME", TEXT, "unit of length for legends: mm, m, in"),
    OPTION("clip", "CLIP", TEXT,
           "clip that characters play: its name or number (default: the first)"),
    FLAG("edges", "show the edges of the triangles at first"),
    FLAG("flat", "shade each triangle with its own normal instead of smoothly"),
    CAMERA_OPTIONS("iso"),
    LIVE_OPTIONS("serve a page on this machine instead: drag bodies and see their contacts or "
                 "their distance"),
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
        "With --live no file is written. The command serves a page to browsers of this machine "
        "until Ctrl-C, and prints its URL. Drag a body to move it, with Shift to rotate it. The "
        "page shows the contacts and the penetration depth of bodies that touch, otherwise the "
        "closest points and the distance.\n\n"
        "Commands that draw pictures also write such a page, with --html FILE.\n\n"
        "The script of the viewer is built once by 'viewer/build' in the sources of abut. The "
        "command searches for it beside the program, in share/abut, and at the path in "
        "ABUT_VIEWER.",
    .examples = "  abut view a.ply b.ply -o both.html --unit mm\n"
                "  abut view part.ply part.abutf -o field.html\n"
                "  abut view sleeve.abutm -o sleeve.html\n"
                "  abut contacts a.ply b.ply --out contacts.csv\n"
                "  abut view a.ply b.ply contacts.csv -o contacts.html\n"
                "  abut view a.ply b.ply --live\n",
    .options = options,
    .operand_range = {1, UINT32_MAX},
    .run = run_view,
};
