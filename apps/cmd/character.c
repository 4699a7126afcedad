/* abut character: bones, clips, weights and defects of a skinned mesh; a pose as a mesh, a
 * picture or a film strip. */
#include "character.h"
#include "apps/get.h"

#include <math.h>
#include <string.h>

/* ---- bones, clips and problems ---- */

static void count_vertices(character_subject *s) {
    s->bones = tool_array(s->info.bone_count, sizeof *s->bones);
    s->morphs = tool_array(s->info.morph_count + 1u, sizeof *s->morphs);
    s->vertices = tool_array(s->info.bone_count, sizeof *s->vertices);
    for (uint32_t v = 0; v < s->info.vertex_count; v++) {
        uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
        double weights[ABUT_CHARACTER_WEIGHT_COUNT];
        uint32_t count = abut_character_weights(s->character, v, bones, weights);
        for (uint32_t i = 0; i < count; i++)
            s->vertices[bones[i]]++;
    }
}

static void print_bones(tool_output *out, const character_subject *s) {
    out_table(out, "bones");
    for (uint32_t i = 0; i < s->info.bone_count; i++) {
        abut_character_bone bone = get_character_bone(s->character, i);
        out_object(out, NULL);
        fact_count(out, "bone", i);
        fact_text(out, "name", bone.name);
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

static void print_clips(tool_output *out, const character_subject *s) {
    out_table(out, "clips");
    for (uint32_t i = 0; i < s->info.clip_count; i++) {
        abut_character_clip clip = get_character_clip(s->character, i);
        uint64_t keys = 0;
        for (uint32_t k = 0; k < clip.channel_count; k++)
            keys += clip.channels[k].key_count;
        out_object(out, NULL);
        fact_count(out, "clip", i);
        fact_text(out, "name", clip.name);
        fact_number(out, "seconds", clip.duration);
        fact_count(out, "channels", clip.channel_count);
        fact_count(out, "keys", keys);
        out_end(out);
    }
    out_end(out);
}

static void print_morphs(tool_output *out, const character_subject *s) {
    out_table(out, "morphs");
    for (uint32_t i = 0; i < s->info.morph_count; i++) {
        abut_character_morph morph = get_character_morph(s->character, i);
        out_object(out, NULL);
        fact_count(out, "morph", i);
        fact_text(out, "name", morph.name);
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
        print_fact(out, "first", "%s", text_of(&first));
        out_end(out);
    }
    out_end(out);
    return kinds;
}

static void print_character(tool_run *tool, const char *path, const character_subject *s) {
    tool_output *out = &tool->out;
    abut_character_report report = abut_character_report_default();
    ensure(abut_character_get_report(s->character, &report));
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
        return;
    print_bones(out, s);
    if (s->info.clip_count || out->json)
        print_clips(out, s);
    if (s->info.morph_count || out->json)
        print_morphs(out, s);
    if (kinds || out->json)
        print_health(out, &report);
}

/* ---- garments ---- */

static void make_garment(tool_run *tool, const tool_arguments *arguments, character_subject *s) {
    const tool_given *kind = option_given(arguments, "garment"),
                     *particles = option_given(arguments, "particles"),
                     *ease = option_given(arguments, "ease"),
                     *named = option_given(arguments, "joints");
    abut_garment_options options = abut_garment_options_default();
    uint32_t joints[ABUT_GARMENT_JOINT_COUNT];
    const tool_given *own = option_any(arguments, "particles|joints|ease");
    if (own && !kind)
        tool_refuse(tool, "--%s requires --garment", own->option->name);
    if (particles && (particles->counts[0] < ABUT_GARMENT_PARTICLES_MIN ||
                      particles->counts[0] > ABUT_GARMENT_PARTICLES_MAX))
        tool_refuse(tool, "--particles must be from %u to %u, not %u", ABUT_GARMENT_PARTICLES_MIN,
                    ABUT_GARMENT_PARTICLES_MAX, particles->counts[0]);
    if (named)
        joints_read(tool, s->character, named->words, joints);
    if (!kind)
        return;
    options.joints = named ? joints : NULL;
    while (strcmp(kind->words, abut_garment_kind_name(options.kind)))
        options.kind =
            (abut_garment_kind)(options.kind + 1); /* the option parser has validated the name */
    options.particles = particles ? particles->counts[0] : 0;
    options.ease = ease ? ease->numbers[0] : 0;
    ensure(abut_garment_create(s->character, &options, &s->garment));
}

static void print_garment(tool_run *tool, const tool_given *kind, const character_subject *s) {
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

static void write_character(tool_run *tool, const character_subject *s, const char *path,
                            abut_mesh_format format) {
    abut_mesh *mesh = NULL;
    character_pose_mesh(s, &mesh);
    if (s->garment) {
        abut_mesh_destroy(mesh);
        mesh = NULL;
        character_pose_garment(s, &mesh);
    }
    mesh_write(tool, mesh, path, format);
    abut_mesh_destroy(mesh);
}

static int run_character(tool_run *tool, const tool_arguments *arguments) {
    character_subject subject = {0}, *s = &subject;
    const tool_given *to = option_given(arguments, "out"), *png = picture_given(arguments),
                     *html = option_given(arguments, "html"),
                     *film = option_given(arguments, "film");
    const char *path = arguments->operands[0];
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_format format = ABUT_MESH_FORMAT_AUTO;
    if (to)
        tool_output_format(tool, to->words, NULL, &format);
    if (png)
        picture_check(tool, png->words);
    if (film)
        picture_check(tool, film->words);
    progress_start(tool->progress, path);
    character_load(tool, arguments, path, &s->character);
    s->info = get_character_info(s->character);
    tool->up = abut_mesh_up(abut_character_rest_mesh(s->character));
    count_vertices(s);
    if (film && !option_given(arguments, "clip"))
        tool_refuse(tool, "--film requires --clip");
    pose_options(tool, arguments, s->character, &s->options, &s->skinning);
    camera_read(tool, arguments, &camera);
    abut_character_skinner_options how = abut_character_skinner_options_default();
    how.skinning = s->skinning;
    ensure(abut_character_skinner_create(s->character, &how, &s->skinner));
    make_garment(tool, arguments, s);
    out_object(&tool->out, NULL);
    print_character(tool, path, s);
    if (s->garment)
        print_garment(tool, option_given(arguments, "garment"), s);
    if (to)
        write_character(tool, s, to->words, format);
    /* a page has the whole clip */
    if (html && option_given(arguments, "clip"))
        character_film(tool, s, &camera, html->words);
    if (png)
        character_draw(tool, s, &camera, png->words);
    if (film)
        character_film(tool, s, &camera, film->words);
    if (to && (!tool->quiet || tool->out.json))
        fact_path(&tool->out, "mesh", to->words);
    if (!tool->quiet || tool->out.json)
        pictures_print_paths(tool, arguments);
    out_end(&tool->out);
    abut_character_skinner_destroy(s->skinner);
    abut_garment_destroy(s->garment);
    abut_character_destroy(s->character);
    return CODE_FINE;
}

static const tool_option options[] = {
    CHARACTER_OPTIONS,
    CHOICE("garment", "KIND", CHOICE,
           "dress the character: --out writes the garment, --png and --film show both",
           "trousers-and-top|overcoat|cape|dress"),
    OPTION("particles", "N", COUNT, "number of vertices of the garment (default: 4825 to 8700)"),
    OPTION("ease", "D", POSITIVE,
           "approximate distance of the garment from the body; increase it if the garment touches "
           "itself or the body (default: 1/100 of the height)"),
    OPTION("joints", "LIST", TEXT,
           "bones that determine the cut of the garment, such as neck=head,left-hand=wrist.l "
           "(default: by common names, or by the shape of the skeleton)"),
    OPTION("out", "FILE", TEXT, "write the posed mesh (.obj, .ply, .stl, .off, .gltf)"),
    OPTION("png", "FILE", TEXT, "draw the posed mesh and its bones"),
    PAGE_OPTION,
    OPTION("film", "FILE", TEXT, "draw eight frames of the clip side by side"),
    CAMERA_OPTIONS("iso"),
    OPTION("fov", "DEGREES", NUMBER, "vertical field of view; 0 is orthographic (default: 30)"),
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
    .operand_range = {1, 1},
    .run = run_character,
};
