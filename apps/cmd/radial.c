/* abut radial: the radial fields of a posed character, their errors, and pictures of them. */
#include "radial.h"
#include "apps/get.h"
#include "character.h"

#include <math.h>
#include <string.h>

enum {
    POINTS = 20000, /* default number of evaluation points of a report */
    BLAMED = 8,     /* bones in text output */
    RUNS = 5        /* updates of which the shortest time is printed */
};

/* ---- building ---- */

void radial_build(radial_subject *s) {
    abut_radial_destroy(s->radial);
    s->radial = NULL;
    s->seconds = HUGE_VAL;
    ensure(abut_radial_create(s->character, &s->options, &s->radial));
    for (int run = 0; run < RUNS; run++) {
        const double begun = seconds_now();
        ensure(abut_radial_set_positions(s->radial, s->bones, abut_array_host(s->positions)));
        s->seconds = fmin(s->seconds, seconds_now() - begun);
    }
    s->info = get_radial_info(s->radial);
}

static void load_radial(tool_run *tool, const tool_arguments *arguments, radial_subject *s) {
    s->path = arguments->operands[0];
    progress_start(tool->progress, s->path);
    character_load(tool, arguments, s->path, &s->character);
    s->of_character = get_character_info(s->character);
    tool->up = abut_mesh_up(abut_character_rest_mesh(s->character));
    pose_options(tool, arguments, s->character, &s->pose, &s->skinning);
    s->bones = tool_array((s->of_character.bone_count + (size_t)1), sizeof *s->bones);
    s->positions = tool_array((s->of_character.vertex_count + (size_t)1), sizeof *s->positions);
    ensure(abut_character_pose(s->character, &s->pose, s->bones));
    ensure(abut_character_skin(s->character, s->bones, s->skinning, s->positions));
    ensure(abut_character_mesh(s->character, s->bones, s->skinning, &s->mesh));
    const abut_box rest = abut_mesh_bounds(abut_character_rest_mesh(s->character));
    s->extent = box_longest(&rest);
}

static void read_radial_options(tool_run *tool, const tool_arguments *arguments,
                                radial_subject *s) {
    const tool_given *cell = option_given(arguments, "cell"),
                     *cells = option_given(arguments, "resolution"),
                     *weight = option_given(arguments, "weight");
    s->options = abut_radial_options_default();
    if (cell && cells)
        tool_refuse(tool, "--cell and --resolution cannot be combined; use one of them");
    if (cell)
        s->options.cell = cell->numbers[0];
    if (cells)
        s->options.cell = s->extent / cells->counts[0];
    if (weight)
        s->options.weight = weight->numbers[0];
    s->options.device = device_open(tool, arguments);
}

/* ---- list of fields ---- */

/* Returns whether the mesh faces inwards; fields represent only what faces outwards. */
static abut_reliability reliability_of(const radial_subject *s) {
    const abut_mesh *rest = abut_character_rest_mesh(s->character);
    const abut_vec3 *p = abut_mesh_local_positions(rest); /* relative to the centre of the mesh */
    const uint32_t *corner = abut_mesh_indices(rest);
    double volume = 0;
    for (uint32_t t = 0; t < s->of_character.triangle_count; t++, corner += 3) {
        const abut_vec3 a = p[corner[0]], b = p[corner[1]], c = p[corner[2]];
        volume += vec_dot(a, vec_cross(b, c));
    }
    return volume < 0 ? (abut_reliability){ABUT_RELIABILITY_UNRELIABLE,
                                           "The surface faces inwards, and fields represent only "
                                           "what faces outwards: flip its triangles first, with "
                                           "'abut convert --orient'."}
                      : (abut_reliability){
                            ABUT_RELIABILITY_LIMITED,
                            "A field does not represent surface that is hidden behind other "
                            "surface, seen from its bone: --report prints how much that is."};
}

/* The name of a bone, which may be null. */
static void name_fact(tool_output *out, const radial_subject *s, uint32_t bone) {
    const char *name = get_character_bone(s->character, bone).name;
    fact_text(out, "bone", name ? name : "");
}

/* Prints a few digits in text output, all of them in JSON. */
static void short_fact(tool_output *out, const char *key, double value) {
    json_number(out, key, value);
    print_fact(out, key, "%.3g", value);
}

static void percent_fact(tool_output *out, const char *key, double share) {
    json_number(out, key, share);
    print_fact(out, key, "%.2f%%", 100 * share);
}

static void print_fields(tool_output *out, const radial_subject *s) {
    out_table(out, "fields");
    for (uint32_t f = 0; f < s->info.field_count; f++) {
        const abut_radial_view view = get_radial_field(s->radial, f);
        const double length = vec_length(vec_sub(view.end, view.begin));
        uint64_t filled = 0;
        for (size_t i = 0; i < (size_t)view.around * view.along && view.radii; i++)
            filled += !isinf(view.radii[i]);
        out_object(out, NULL);
        fact_count(out, "field", f);
        name_fact(out, s, view.bone);
        fact_count(out, "around", view.around);
        fact_count(out, "along", view.along);
        fact_count(out, "triangles", view.triangle_count);
        short_fact(out, "length", length);
        short_fact(out, "reach", view.reach);
        percent_fact(out, "filled", (double)filled / ((double)view.around * view.along));
        fact_count(out, "bytes", sizeof(float) * (uint64_t)view.around * view.along);
        json_vector(out, "begin", view.begin);
        json_vector(out, "end", view.end);
        out_end(out);
    }
    out_end(out);
}

static void print_radial(tool_run *tool, const radial_subject *s) {
    tool_output *out = &tool->out;
    const abut_radial_info *i = &s->info;
    json_path(out, "file", s->path);
    json_count(out, "triangles", i->triangle_count);
    json_count(out, "unseen_triangles", i->unseen_count);
    json_count(out, "samples", i->sample_count);
    json_count(out, "bytes", i->bytes);
    json_number(out, "cell", i->cell);
    const abut_reliability reliability = reliability_of(s);
    json_reliability(out, &reliability);
    if (reliability.level == ABUT_RELIABILITY_UNRELIABLE)
        tool_print_reliability(tool, &reliability);
    print_line_of(
        out, s->path,
        "%u field%s, %llu samples, %.3g KB, cell size %.3g; %u of %u triangles are in no field",
        i->field_count, i->field_count == 1 ? "" : "s", (unsigned long long)i->sample_count,
        (double)i->bytes / 1024, i->cell, i->unseen_count, i->triangle_count);
    if (!tool->quiet || out->json)
        print_fields(out, s);
}

/* ---- points ---- */

static void print_points(tool_run *tool, const tool_arguments *arguments, const radial_subject *s) {
    tool_output *out = &tool->out;
    out_table(out, "points");
    for (size_t i = 0; i < arguments->given_count; i++) {
        const tool_given *given = &arguments->given[i];
        if (strcmp(given->option->name, "at"))
            continue;
        const abut_vec3 point = vec_of(given->numbers);
        abut_radial_answer answer;
        ensure(abut_radial_evaluate(s->radial, abut_array_host(&point), 1, 0,
                                    abut_array_host(&answer)));
        out_object(out, NULL);
        json_vector(out, "point", point);
        print_fact(out, "point", "%s", given->words);
        if (answer.field == ABUT_NONE) {
            json_null(out, "distance");
            print_fact(out, "distance", "no field in range");
        } else {
            fact_number(out, "distance", answer.distance);
            if (answer.within < HUGE_VAL)
                fact_number(out, "within", answer.within);
            json_vector(out, "nearest", answer.point);
            json_vector(out, "normal", answer.normal);
            name_fact(out, s, get_radial_field(s->radial, answer.field).bone);
        }
        out_end(out);
    }
    out_end(out);
}

/* ---- the report ---- */

static void print_level(tool_output *out, const radial_level *l) {
    out_object(out, NULL);
    short_fact(out, "cell", l->cell);
    json_count(out, "bytes", l->bytes);
    print_fact(out, "KB", "%.0f", (double)l->bytes / 1024);
    json_number(out, "update_seconds", l->seconds);
    print_fact(out, "ms", "%.3g", 1e3 * l->seconds);
    short_fact(out, "mean", l->error.mean);
    short_fact(out, "median", l->error.median);
    short_fact(out, "p95", l->error.p95);
    short_fact(out, "p99", l->error.p99);
    short_fact(out, "most", l->error.most);
    json_vector(out, "worst", l->error.worst);
    json_number(out, "unanswered", l->error.unanswered);
    percent_fact(out, "bare", l->error.bare);
    percent_fact(out, "buried", l->error.buried);
    out_end(out);
}

static void print_blames(tool_output *out, const radial_subject *s, const radial_bone_error *blames,
                         uint32_t count) {
    out_table(out, "bones");
    for (uint32_t i = 0; i < count && (out->json || i < BLAMED); i++) {
        if (!out->json && !(blames[i].bare + blames[i].buried > 0))
            break;
        out_object(out, NULL);
        name_fact(out, s, blames[i].bone);
        percent_fact(out, "surface", blames[i].area);
        percent_fact(out, "bare", blames[i].bare);
        percent_fact(out, "buried", blames[i].buried);
        short_fact(out, "p95", blames[i].p95);
        out_end(out);
    }
    out_end(out);
}

/* Computes the report at all resolutions. */
static void measure_levels(radial_subject *s, const radial_truth *truth, radial_level *levels) {
    const double cell = s->info.cell;
    for (int i = 0; i < RADIAL_LEVELS; i++) {
        radial_subject at = *s;
        at.radial = NULL;
        at.options.cell = cell * ldexp(4, -i);
        radial_build(&at);
        levels[i] =
            (radial_level){.cell = at.info.cell, .seconds = at.seconds, .bytes = at.info.bytes};
        radial_error_make(&at, truth, &levels[i].error);
        abut_radial_destroy(at.radial);
    }
}

static void print_radial_report(tool_run *tool, const tool_arguments *arguments,
                                radial_subject *s) {
    const tool_given *plot = option_given(arguments, "plot");
    tool_output *out = &tool->out;
    radial_level levels[RADIAL_LEVELS];
    radial_truth truth = {0};
    memset(levels, 0, sizeof levels);
    radial_truth_make(tool, s, option_count(arguments, "points", POINTS), 2 * s->info.cell, &truth);
    measure_levels(s, &truth, levels);
    out_object(out, "report");
    json_count(out, "points", truth.count);
    json_number(out, "reach", 2 * truth.limit);
    json_number(out, "limit", truth.limit);
    json_number(out, "hidden", truth.hidden);
    json_reliability(out, &truth.reliability);
    print_line(out, "%s", "");
    print_line(out,
               "Errors of signed distances at %zu points within %.3g of the surface. bare: the "
               "fields are more than %.3g below the surface; buried: above it. %.1f%% of the "
               "surface is inside the body and is not evaluated.",
               truth.count, 2 * truth.limit, truth.limit, 100 * truth.hidden);
    out_table(out, "levels");
    for (int i = 0; i < RADIAL_LEVELS; i++)
        print_level(out, &levels[i]);
    out_end(out);
    radial_error error = {0};
    radial_bone_error *blames = NULL;
    uint32_t count = 0;
    radial_error_make(s, &truth, &error);
    radial_bone_errors_make(s, &truth, &error, &blames, &count);
    print_blames(out, s, blames, count);
    out_end(out);
    if (plot)
        radial_plot_levels(tool, levels, truth.limit, plot->words);
    if (!out->json)
        tool_print_reliability(tool, &truth.reliability);
}

/* ---- the command ---- */

static void draw_radial(tool_run *tool, const tool_arguments *arguments, const radial_subject *s) {
    const tool_given *png = picture_given(arguments), *error = option_given(arguments, "error"),
                     *unrolled = option_given(arguments, "unrolled");
    abut_picture_options camera = abut_picture_options_default();
    camera_read(tool, arguments, &camera);
    if (png)
        radial_draw_surface(tool, s, &camera, png->words);
    if (error)
        radial_draw_error(tool, s, &camera, error->words);
    if (unrolled)
        radial_draw_unrolled(tool, s, unrolled->words);
}

static void check_radial_options(tool_run *tool, const tool_arguments *arguments,
                                 abut_mesh_format *format) {
    static const char *const pictures[] = {"png", "error", "unrolled", "plot"};
    const tool_given *to = option_given(arguments, "out");
    if (to)
        tool_output_format(tool, to->words, NULL, format);
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        const tool_given *given = option_given(arguments, pictures[i]);
        if (given)
            picture_check(tool, given->words);
    }
    const tool_given *own = option_any(arguments, "points|plot");
    if (own && !option_given(arguments, "report"))
        tool_refuse(tool, "--%s requires --report", own->option->name);
}

static int run_radial(tool_run *tool, const tool_arguments *arguments) {
    radial_subject subject = {0}, *s = &subject;
    const tool_given *to = option_given(arguments, "out");
    abut_mesh_format format = ABUT_MESH_FORMAT_AUTO;
    check_radial_options(tool, arguments, &format);
    load_radial(tool, arguments, s);
    read_radial_options(tool, arguments, s);
    radial_build(s);
    out_object(&tool->out, NULL);
    print_radial(tool, s);
    if (option_given(arguments, "at"))
        print_points(tool, arguments, s);
    if (option_given(arguments, "report"))
        print_radial_report(tool, arguments, s);
    if (to) {
        abut_mesh *mesh = NULL;
        ensure(abut_radial_surface(s->radial, ABUT_NONE, &mesh));
        mesh_write(tool, mesh, to->words, format);
        abut_mesh_destroy(mesh);
    }
    draw_radial(tool, arguments, s);
    out_end(&tool->out);
    abut_radial_destroy(s->radial);
    abut_device_destroy(s->options.device);
    abut_mesh_destroy(s->mesh);
    abut_character_destroy(s->character);
    return CODE_FINE;
}

static const tool_option options[] = {
    CHARACTER_OPTIONS,
    OPTION("cell", "SIZE", POSITIVE,
           "cell size (default: 1/160 of the longest side of the bounding box in the rest pose)"),
    OPTION("resolution", "N", COUNT, "cells along the longest side, instead of --cell"),
    OPTION("weight", "W", POSITIVE,
           "a field uses triangles with a corner of at least this weight (default: 0.2)"),
    REPEATED("at", "X,Y,Z", VECTOR, "evaluate the signed distance at this point; repeatable"),
    FLAG("report", "errors against exact signed distances, for cells from four times to a quarter "
                   "of the cell size"),
    OPTION("points", "N", COUNT, "number of evaluation points of the report (default: 20000)"),
    OPTION("plot", "FILE", TEXT, "plot the errors of the report over the cell size"),
    OPTION("out", "FILE", TEXT, "write the surface of all fields (.obj, .ply, .stl, .off, .gltf)"),
    OPTION("png", "FILE", TEXT, "draw the surface of the fields inside the body"),
    PAGE_OPTION,
    OPTION("error", "FILE", TEXT,
           "draw the distance of the fields from the body, as colours on the body"),
    OPTION("unrolled", "FILE", TEXT, "draw all fields unrolled"),
    CAMERA_OPTIONS("iso"),
    OPTION("fov", "DEGREES", NUMBER, "vertical field of view; 0 is orthographic (default: 30)"),
    DEVICE_OPTION,
    {0}};

const tool_command command_radial = {
    .name = "radial",
    .operands = "CHARACTER",
    .summary = "compute radial fields of a character, and measure their error",
    .about = "Computes the radial fields of a posed skinned mesh (glTF, GLB, or a built-in one: "
             "mannequin, mannequin-female, ogre). A radial field has samples of the distance of "
             "the surface from the axis of a bone; cloth collides with these fields. The command "
             "lists the fields, evaluates the signed distance at points (--at), and writes or "
             "draws the interpolated surface.\n\n"
             "--report compares the fields with exact signed distances. It prints the error, and "
             "which part of the surface the fields cannot represent.",
    .examples = "  abut radial mannequin --clip gymnastics --time 1\n"
                "  abut radial human.glb --report --plot error.png\n"
                "  abut radial human.glb --cell 0.02 --png fields.png --error error.png\n"
                "  abut radial ogre --unrolled fields.png --out surface.obj\n",
    .options = options,
    .operand_range = {1, 1},
    .run = run_radial,
};
