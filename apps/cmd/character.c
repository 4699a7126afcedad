/* abut character: bones, clips, weights and defects of a skinned mesh; a pose as a mesh, a
 * picture or a film strip. */
#include "apps/get.h"
#include "character.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A loaded character with its current pose. */
typedef struct subject {
    abut_character *character;
    abut_character_info info;
    abut_character_skinner *skinner;
    abut_garment *garment;        /* null = none */
    abut_character_matrix *bones; /* positions of the pose; from malloc */
    double *morphs;               /* weights of morph targets; from malloc */
    uint32_t *vertices;           /* number of vertices that each bone moves; from malloc */
    abut_character_pose_options options;
    abut_character_skinning skinning;
} subject;

/* ---- bones, clips and problems ---- */

static bool count_vertices(subject *s) {
    s->bones = malloc(s->info.bone_count * sizeof *s->bones);
    s->morphs = calloc(s->info.morph_count + 1u, sizeof *s->morphs);
    s->vertices = calloc(s->info.bone_count, sizeof *s->vertices);
    for (uint32_t v = 0; s->bones && s->vertices && v < s->info.vertex_count; v++) {
        uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
        double weights[ABUT_CHARACTER_WEIGHT_COUNT];
        uint32_t count = abut_character_weights(s->character, v, bones, weights);
        for (uint32_t i = 0; i < count; i++)
            s->vertices[bones[i]]++;
    }
    return s->bones && s->morphs && s->vertices;
}

/* A name of the file, escaped for terminals. */
static void name_fact(tool_output *out, const char *key, const char *name) {
    tool_text safe = {0};
    text_safe(&safe, name);
    fact_text(out, key, safe.data ? safe.data : "");
    text_free(&safe);
}

static void print_bones(tool_output *out, const subject *s) {
    out_table(out, "bones");
    for (uint32_t i = 0; i < s->info.bone_count; i++) {
        abut_character_bone bone = get_character_bone(s->character, i);
        out_object(out, NULL);
        fact_count(out, "bone", i);
        name_fact(out, "name", bone.name);
        if (bone.parent != ABUT_NONE) {
            fact_count(out, "parent", bone.parent);
        } else {
            json_null(out, "parent");
            print_fact(out, "parent", "-");
        }
        fact_count(out, "vertices", s->vertices[i]);
        out_end(out);
    }
    out_end(out);
}

static void print_clips(tool_output *out, const subject *s) {
    out_table(out, "clips");
    for (uint32_t i = 0; i < s->info.clip_count; i++) {
        abut_character_clip clip = get_character_clip(s->character, i);
        uint64_t keys = 0;
        for (uint32_t k = 0; k < clip.channel_count; k++)
            keys += clip.channels[k].key_count;
        out_object(out, NULL);
        fact_count(out, "clip", i);
        name_fact(out, "name", clip.name);
        fact_number(out, "seconds", clip.duration);
        fact_count(out, "channels", clip.channel_count);
        fact_count(out, "keys", keys);
        out_end(out);
    }
    out_end(out);
}

static void print_morphs(tool_output *out, const subject *s) {
    out_table(out, "morphs");
    for (uint32_t i = 0; i < s->info.morph_count; i++) {
        abut_character_morph morph = get_character_morph(s->character, i);
        out_object(out, NULL);
        fact_count(out, "morph", i);
        name_fact(out, "name", morph.name);
        fact_number(out, "weight", morph.weight);
        fact_count(out, "vertices", morph.shift_count);
        out_end(out);
    }
    out_end(out);
}

/* Returns the number of kinds of problems. */
static int print_health(tool_output *out, const abut_character_report *report) {
    int kinds = 0;
    out_table(out, "problems");
    for (int kind = 0; abut_character_problem_name((abut_character_problem)kind); kind++) {
        const abut_problem *problem = &report->problems[kind];
        tool_text first = {0};
        double elements[ABUT_PROBLEM_FIRST_COUNT];
        uint32_t shown =
            problem->count < ABUT_PROBLEM_FIRST_COUNT ? problem->count : ABUT_PROBLEM_FIRST_COUNT;
        kinds += problem->count > 0;
        if (!problem->count && !out->json)
            continue;
        for (uint32_t i = 0; i < shown; i++) {
            elements[i] = problem->first[i];
            text_print(&first, "%s%u", i ? ", " : "", problem->first[i]);
        }
        text_add(&first, problem->count > shown ? ", ..." : "");
        out_object(out, NULL);
        fact_text(out, "problem", abut_character_problem_name((abut_character_problem)kind));
        fact_count(out, "count", problem->count);
        json_numbers(out, "first", elements, shown);
        print_fact(out, "first", "%s", first.data ? first.data : "");
        out_end(out);
        text_free(&first);
    }
    out_end(out);
    return kinds;
}

static int print_character(tool_run *tool, const char *path, const subject *s) {
    tool_output *out = &tool->out;
    abut_character_report report = abut_character_report_default();
    abut_status status = abut_character_get_report(s->character, &report);
    if (status)
        return tool_fail(tool, status);
    int kinds = 0;
    for (int i = 0; i < ABUT_PROBLEM_KIND_MAX; i++)
        kinds += report.problems[i].count > 0;
    json_path(out, "file", path);
    json_count(out, "vertices", s->info.vertex_count);
    json_count(out, "triangles", s->info.triangle_count);
    json_count(out, "weights", s->info.weight_count);
    print_line_of(
        out, path,
        "%u triangles, %u bone%s, up to %u weight%s per vertex, %u clip%s; %d kind%s of problem",
        s->info.triangle_count, s->info.bone_count, s->info.bone_count == 1 ? "" : "s",
        s->info.weight_count, s->info.weight_count == 1 ? "" : "s", s->info.clip_count,
        s->info.clip_count == 1 ? "" : "s", kinds, kinds == 1 ? "" : "s");
    if (tool->quiet && !out->json)
        return 0;
    print_bones(out, s);
    if (s->info.clip_count || out->json)
        print_clips(out, s);
    if (s->info.morph_count || out->json)
        print_morphs(out, s);
    if (kinds || out->json)
        print_health(out, &report);
    return 0;
}

/* ---- pose ---- */

static int read_pose(tool_run *tool, const tool_arguments *arguments, subject *s) {
    if (option_given(arguments, "film") && !option_given(arguments, "clip"))
        return tool_refuse(tool, "--film requires --clip");
    return pose_options(tool, arguments, s->character, &s->options, &s->skinning);
}

/* ---- drawing ---- */

static abut_status pose_mesh(const subject *s, abut_mesh **mesh) {
    abut_status status = abut_character_pose(s->character, &s->options, s->bones);
    status = status ? status : abut_character_pose_morphs(s->character, &s->options, s->morphs);
    return status ? status : abut_character_skinner_mesh(s->skinner, s->bones, s->morphs, mesh);
}

/* Skins the garment in the pose of the last pose_mesh(). */
static abut_status pose_garment(const subject *s, abut_mesh **mesh) {
    return abut_character_mesh(abut_garment_character(s->garment), s->bones, s->skinning, mesh);
}

static abut_vec3 place_of(const abut_character_matrix *bone) {
    return (abut_vec3){bone->m[0][3], bone->m[1][3], bone->m[2][3]};
}

static const abut_colour bone_colour = {0.75f, 0.1f, 0.1f, 1};
enum { PAGE_RATE = 30 }; /* frames per second of a page */

/* Draws the mesh translucent, and each bone as a line from its parent. */
static abut_status draw_character(tool_run *tool, const subject *s,
                                  const abut_picture_options *options, abut_picture **picture) {
    const abut_colour ink = bone_colour;
    abut_mesh_style style = abut_mesh_style_default();
    abut_mesh *mesh = NULL, *cloth = NULL;
    style.smooth = true;
    style.colour = abut_picture_colour(0);
    style.colour.a = s->garment ? 1 : 0.6f;
    abut_status status = pose_mesh(s, &mesh);
    status = status ? status : abut_picture_create(tool->context, options, picture);
    status = status ? status : abut_picture_add_mesh(*picture, mesh, (abut_pose){0}, &style);
    style.colour = abut_picture_colour(1);
    if (s->garment && !status)
        status = pose_garment(s, &cloth);
    if (s->garment && !status)
        status = abut_picture_add_mesh(*picture, cloth, (abut_pose){0}, &style);
    abut_mesh_destroy(cloth);
    for (uint32_t i = 0; i < s->info.bone_count && !status && !s->garment; i++) {
        uint32_t parent = get_character_bone(s->character, i).parent;
        if (!s->vertices[i])
            continue;
        status = abut_picture_add_point(*picture, place_of(&s->bones[i]), 5, ink);
        if (!status && parent != ABUT_NONE && s->vertices[parent])
            status = abut_picture_add_line(*picture, place_of(&s->bones[parent]),
                                           place_of(&s->bones[i]), 2, ink);
    }
    abut_mesh_destroy(mesh);
    return status;
}

static int write_picture(tool_run *tool, const subject *s, abut_picture_options *options,
                         const char *path) {
    abut_picture *picture = NULL;
    abut_status status = draw_character(tool, s, options, &picture);
    if (!status)
        status = picture_write(tool, picture, options, NULL, path);
    abut_picture_destroy(picture);
    return status ? tool_fail(tool, status) : 0;
}

/* Draws frames at equal time steps over the clip. */
static int write_film(tool_run *tool, const subject *s, const abut_picture_options *camera,
                      const char *path) {
    tool_film film = {0};
    subject frame = *s;
    abut_picture_options options = *camera;
    abut_status status = ABUT_OK;
    double duration = get_character_clip(s->character, s->options.clip).duration;
    options.width = FILM_WIDTH;
    options.height = FILM_HEIGHT;
    if (!film_start(tool, &film, path, 1.0 / PAGE_RATE))
        return tool_fail(tool, abut_set_error(ABUT_ERROR_MEMORY, "out of memory for a film strip"));
    int count = film.pixels ? FILM_FRAMES : (int)fmin(1e4, fmax(2, ceil(PAGE_RATE * duration)));
    legend_add(&film.legend, abut_picture_colour(0), "body");
    legend_add(&film.legend, abut_picture_colour(1), "garment");
    legend_add(&film.legend, bone_colour, "bones");
    for (int i = 0; i < count && !status; i++) {
        abut_picture *picture = NULL;
        frame.options.time = duration * i / count;
        if (!progress_report(tool->progress, "frames", (double)i / count))
            status = ABUT_ERROR_CANCELLED;
        status = status ? status : draw_character(tool, &frame, &options, &picture);
        if (!status && film.pixels)
            status = film_add_frame(&film, picture);
        else if (!status)
            status = film_page(&film, picture);
        abut_picture_destroy(picture);
    }
    if (!status)
        status = film_write(tool, &film, path);
    film_free(&film);
    return status ? tool_fail(tool, status) : 0;
}

/* ---- garments ---- */

static int make_garment(tool_run *tool, const tool_arguments *arguments, subject *s) {
    const tool_given *kind = option_given(arguments, "garment"),
                     *particles = option_given(arguments, "particles"),
                     *ease = option_given(arguments, "ease"),
                     *named = option_given(arguments, "joints");
    abut_garment_options options = abut_garment_options_default();
    uint32_t joints[ABUT_GARMENT_JOINT_COUNT];
    if ((particles || named || ease) && !kind)
        return tool_refuse(tool, "--%s requires --garment",
                           particles ? "particles"
                           : named   ? "joints"
                                     : "ease");
    if (particles && (particles->counts[0] < ABUT_GARMENT_PARTICLES_MIN ||
                      particles->counts[0] > ABUT_GARMENT_PARTICLES_MAX))
        return tool_refuse(tool, "--particles must be from %u to %u, not %u",
                           ABUT_GARMENT_PARTICLES_MIN, ABUT_GARMENT_PARTICLES_MAX,
                           particles->counts[0]);
    int code = named ? joints_read(tool, s->character, named->words, joints) : 0;
    if (!kind || code)
        return code;
    options.joints = named ? joints : NULL;
    while (strcmp(kind->words, abut_garment_kind_name(options.kind)))
        options.kind =
            (abut_garment_kind)(options.kind + 1); /* the option parser has validated the name */
    options.particles = particles ? particles->counts[0] : 0;
    options.ease = ease ? ease->numbers[0] : 0;
    abut_status status = abut_garment_create(s->character, &options, &s->garment);
    return status ? tool_fail(tool, status) : 0;
}

static void print_garment(tool_run *tool, const tool_given *kind, const subject *s) {
    abut_character_info info = get_character_info(abut_garment_character(s->garment));
    uint32_t pins;
    abut_garment_pins(s->garment, &pins);
    if (!tool->quiet)
        print_line_of(&tool->out, kind->words,
                      "%u particles, %u triangles, %u pins; no contact in the rest pose",
                      info.vertex_count, info.triangle_count, pins);
    out_object(&tool->out, "garment");
    json_text(&tool->out, "kind", kind->words);
    json_count(&tool->out, "particles", info.vertex_count);
    json_count(&tool->out, "triangles", info.triangle_count);
    json_count(&tool->out, "pins", pins);
    out_end(&tool->out);
}

/* ---- the command ---- */

static int write_mesh(tool_run *tool, const subject *s, const char *path, abut_mesh_format format) {
    abut_mesh_write_options how = abut_mesh_write_options_default();
    abut_mesh *mesh = NULL;
    how.format = format;
    abut_status status = pose_mesh(s, &mesh);
    if (s->garment && !status) {
        abut_mesh_destroy(mesh);
        mesh = NULL;
        status = pose_garment(s, &mesh);
    }
    if (!status)
        status = abut_mesh_write(mesh, tool_target(tool, path), &how);
    abut_mesh_destroy(mesh);
    return status ? tool_fail(tool, status) : 0;
}

static int run_character(tool_run *tool, const tool_arguments *arguments, subject *s) {
    const tool_given *to = option_given(arguments, "out"), *png = picture_given(arguments),
                     *html = option_given(arguments, "html"),
                     *film = option_given(arguments, "film");
    const char *path = arguments->operands[0];
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_format format = ABUT_MESH_FORMAT_AUTO;
    int code = to ? tool_output_format(tool, to->words, NULL, &format) : 0;
    code = code || !png ? code : picture_check(tool, png->words);
    code = code || !film ? code : picture_check(tool, film->words);
    if (code)
        return code;
    progress_start(tool->progress, path);
    if ((code = character_load(tool, arguments, path, &s->character)))
        return code;
    s->info = get_character_info(s->character);
    tool->up = abut_mesh_up(abut_character_rest_mesh(s->character));
    if (!count_vertices(s))
        return tool_fail(tool, abut_set_error(ABUT_ERROR_MEMORY, "out of memory for the pose"));
    code = read_pose(tool, arguments, s);
    code = code ? code : camera_read(tool, arguments, &camera);
    if (code)
        return code;
    abut_character_skinner_options how = abut_character_skinner_options_default();
    how.skinning = s->skinning;
    abut_status status = abut_character_skinner_create(s->character, &how, &s->skinner);
    if (status)
        return tool_fail(tool, status);
    code = make_garment(tool, arguments, s);
    if (code)
        return code;
    out_object(&tool->out, NULL);
    code = print_character(tool, path, s);
    if (!code && s->garment)
        print_garment(tool, option_given(arguments, "garment"), s);
    code = code || !to ? code : write_mesh(tool, s, to->words, format);
    /* a page has the whole clip */
    if (!code && html && option_given(arguments, "clip"))
        code = write_film(tool, s, &camera, html->words);
    code = code || !png ? code : write_picture(tool, s, &camera, png->words);
    code = code || !film ? code : write_film(tool, s, &camera, film->words);
    if (code)
        return code;
    if (to && (!tool->quiet || tool->out.json))
        fact_path(&tool->out, "mesh", to->words);
    if (!tool->quiet || tool->out.json)
        pictures_print_paths(tool, arguments);
    out_end(&tool->out);
    return 0;
}

static int run_character_command(tool_run *tool, const tool_arguments *arguments) {
    subject s = {0};
    int code = run_character(tool, arguments, &s);
    abut_character_skinner_destroy(s.skinner);
    abut_garment_destroy(s.garment);
    free(s.bones);
    free(s.morphs);
    free(s.vertices);
    abut_character_destroy(s.character);
    return code;
}

static const tool_option options[] = {
    CHARACTER_OPTIONS,
    {"garment", "KIND", OPTION_CHOICE,
     "dress the character: --out writes the garment, --png and --film show both",
     "trousers-and-top|overcoat|cape|dress", false},
    {"particles", "N", OPTION_COUNT, "number of vertices of the garment (default: 4825 to 8700)",
     NULL, false},
    {"ease", "D", OPTION_POSITIVE,
     "approximate distance of the garment from the body; increase it if the garment touches itself "
     "or the body (default: 1/100 of the height)",
     NULL, false},
    {"joints", "LIST", OPTION_TEXT,
     "bones that determine the cut of the garment, such as neck=head,left-hand=wrist.l (default: "
     "by common names, or by the shape of the skeleton)",
     NULL, false},
    {"out", "FILE", OPTION_TEXT, "write the posed mesh (.obj, .ply, .stl, .off, .gltf)", NULL,
     false},
    {"png", "FILE", OPTION_TEXT, "draw the posed mesh and its bones", NULL, false},
    PAGE_OPTION,
    {"film", "FILE", OPTION_TEXT, "draw eight frames of the clip side by side", NULL, false},
    {"view", "VIEW", OPTION_TEXT,
     "view direction: front, back, left, right, top, bottom, iso, or X,Y,Z (default: iso)",
     "front|back|left|right|top|bottom|iso", false},
    {"up", "AXIS", OPTION_TEXT, "up axis: x, y, z, -x, -y, -z or X,Y,Z (default: y)",
     "x|y|z|-x|-y|-z", false},
    {"fov", "DEGREES", OPTION_NUMBER, "vertical field of view; 0 is orthographic (default: 30)",
     NULL, false},
    {0}};

const tool_command command_character = {
    .name = "character",
    .operands = "FILE",
    .summary = "list bones, clips and defects of a skinned mesh, and pose it",
    .about = "Reads a skinned, animated mesh from glTF or GLB, or uses a built-in one: mannequin, "
             "mannequin-female, ogre. Lists its bones with the number of vertices that each one "
             "moves, its clips, its morph targets, and the defects of its weights. --out, --png "
             "and --film write the mesh in its rest pose or in a pose of a clip.",
    .examples = "  abut character human.glb\n"
                "  abut character human.glb --clip walk --time 0.5 --out step.ply\n"
                "  abut character human.glb --clip dance --skinning dual --film dance.png\n"
                "  abut character mannequin --triangles 38000 --clip gymnastics --film jump.png\n"
                "  abut character mannequin-female --garment dress --out dress.obj\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 1,
    .run = run_character_command,
};
