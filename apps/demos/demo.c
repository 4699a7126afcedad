/* abut demo: selects and runs the demonstration scenes; the scenes with fields in ODE are here. */
#include "tool.h"

#include <string.h>

#ifdef ABUT_HAS_ODE
#include "drop.h"

/* Takes frames for the film strip at equal time steps. */
typedef struct film {
    tool_run *tool;
    const drop_scene *scene;
    double seconds;
    abut_mesh *floor; /* for the scene `plane`; otherwise null */
    tool_film strip;
} film;

static const abut_colour bowl_colour = {0.80f, 0.84f, 0.90f, 1},
                         floor_colour = {0.55f, 0.62f, 0.70f, 1};

static void draw_demo(const film *f, const abut_pose *poses, uint32_t count,
                      abut_picture **picture) {
    abut_picture_options camera = abut_picture_options_default();
    abut_mesh_style style = abut_mesh_style_default();
    camera.width = FILM_WIDTH;
    camera.height = FILM_HEIGHT;
    camera.eye_direction = (abut_vec3){0.25, -1, f->floor ? 0.45 : 0.95};
    ensure(abut_picture_create(f->tool->context, &camera, picture));
    style.smooth = true;
    style.colour = f->floor ? floor_colour : bowl_colour;
    style.colour.a = f->floor ? 1 : 0.35f; /* the bowl is translucent: bodies are inside it */
    abut_pose floor = {{0, 0, 0, 1}, {0, 0, drop_plane()}};
    if (f->floor)
        ensure(abut_picture_add_mesh(*picture, f->floor, floor, &style));
    else
        ensure(abut_picture_add_mesh(*picture, drop_bowl(f->scene), (abut_pose){0}, &style));
    /* all frames show the same region: up to the highest body */
    abut_vec3 top = {0, 0, drop_top().z - (f->floor ? 0.9 : 0)};
    ensure(abut_picture_add_point(*picture, top, 0.1, (abut_colour){1, 1, 1, 0.01f}));
    for (uint32_t i = 0; i < count; i++) {
        abut_mesh *mesh = drop_mesh(f->scene, i, &style.colour);
        ensure(abut_picture_add_mesh(*picture, mesh, poses[i], &style));
    }
}

static bool add_film_frame(void *user, double time, const abut_pose *poses, uint32_t count) {
    film *f = user;
    char stage[48];
    snprintf(stage, sizeof stage, "frame %.0f of %.0f", 60 * time, 60 * f->seconds);
    if (!progress_report(f->tool->progress, stage, time / f->seconds))
        return false;
    bool due = f->strip.pixels && f->strip.taken < FILM_FRAMES &&
               time >= f->seconds * (f->strip.taken + 1) / FILM_FRAMES - 0.02;
    if (!due && !f->strip.page)
        return true;
    abut_picture *picture = NULL;
    draw_demo(f, poses, count, &picture);
    film_page(&f->strip, picture);
    if (due)
        film_add_frame(&f->strip, picture);
    abut_picture_destroy(picture);
    return true;
}

static void print_drop(tool_output *out, const char *name, const drop_result *r) {
    out_object(out, name);
    json_count(out, "bodies", r->bodies);
    json_number(out, "seconds", r->seconds);
    json_number(out, "wall_seconds", r->wall);
    json_number(out, "times_real_time", r->seconds / r->wall);
    json_number(out, "contact_seconds", r->collide);
    json_number(out, "contacts_a_step", r->contacts);
    json_number(out, "deepest_cells", r->deepest);
    json_number(out, "deepest_cells_at_end", r->deepest_last);
    json_number(out, "energy_growth", r->energy_growth);
    json_number(out, "energy_left", r->energy_last / r->energy_first);
    json_number(out, "speed_at_end", r->speed_last);
    json_count(out, "lost", r->lost);
    if (!out->json) {
        print_line(out, "%s:", name);
        print_fact(out, "time",
                   "%.2f s for %.1f s of the scene: %.2f times real time; contacts %.2f s", r->wall,
                   r->seconds, r->seconds / r->wall, r->collide);
        print_fact(out, "contacts", "%.0f a step", r->contacts);
        print_fact(out, "deepest", "%.2f cells at any time, %.2f at the end", r->deepest,
                   r->deepest_last);
        print_fact(out, "energy",
                   "grew by at most %.3g of the first in a tenth of a second; %.0f%% left",
                   r->energy_growth, 100 * r->energy_last / r->energy_first);
        print_fact(out, "at the end", "fastest %.3g, lost %u of %u", r->speed_last, r->lost,
                   r->bodies);
    }
    out_end(out);
}

static void run_scene(tool_run *tool, drop_scene *scene, drop_options *options, film *f,
                      const char *name, drop_result *result) {
    options->user = f;
    options->frame = add_film_frame;
    f->scene = scene;
    f->tool = tool;
    f->strip.taken = 0;
    f->seconds = options->seconds;
    progress_start(tool->progress, name);
    ensure(drop_run(scene, options, result));
    progress_erase(tool->progress);
}

static int run_drop(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *png = picture_given(arguments), *bodies = option_given(arguments, "bodies"),
                     *seconds = option_given(arguments, "seconds");
    bool plane = strcmp(arguments->operands[0], "plane") == 0;
    drop_options options = {.bodies = bodies  ? bodies->counts[0]
                                      : plane ? 1
                                              : 100,
                            .seed = option_count(arguments, "seed", 1),
                            .plane = plane};
    drop_scene *scene = NULL;
    drop_result fields, meshes;
    film f = {0};
    option_range(tool, bodies, 1, 2000, "bodies");
    options.seconds = seconds                        ? seconds->numbers[0]
                      : plane && options.bodies == 1 ? 1.6
                                                     : drop_seconds(options.bodies);
    legend_add(&f.strip.legend, plane ? floor_colour : bowl_colour, plane ? "floor" : "bowl");
    legend_add(&f.strip.legend, (abut_colour){0.85f, 0.55f, 0.30f, 1}, "teapots");
    legend_add(&f.strip.legend, (abut_colour){0.30f, 0.55f, 0.80f, 1}, "rings");
    legend_add(&f.strip.legend, (abut_colour){0.45f, 0.70f, 0.40f, 1}, "critters");
    if (png)
        film_start(tool, &f.strip, png->words, 1.0 / 60);
    progress_start(tool->progress, "models");
    ensure(drop_create(tool->context, &scene));
    abut_shape sheet = abut_shape_default(ABUT_SHAPE_SHEET);
    sheet.extent = (abut_vec3){options.bodies > 1 ? 9 : 3, options.bodies > 1 ? 9 : 3, 0};
    if (plane)
        ensure(abut_shape_create(tool->context, &sheet, &f.floor));
    run_scene(tool, scene, &options, &f, "abut", &fields);
    if (png)
        film_write(tool, &f.strip, png->words);
    bool compare = option_given(arguments, "compare") != NULL;
    film_end(&f.strip); /* also of the page */
    options.trimesh = true;
    if (compare)
        run_scene(tool, scene, &options, &f, "ODE", &meshes);
    out_object(&tool->out, NULL);
    print_drop(&tool->out, "abut", &fields);
    if (compare)
        print_drop(&tool->out, "ode", &meshes);
    pictures_print_paths(tool, arguments);
    out_end(&tool->out);
    answer(tool, "%.6g", fields.seconds / fields.wall);
    abut_mesh_destroy(f.floor);
    drop_destroy(scene);
    return CODE_FINE;
}
#else
static int run_drop(tool_run *tool, const tool_arguments *arguments) {
    (void)arguments;
    tool_fail_with(tool, "not supported",
                   "this build has no physics engine; install libode-dev and build again");
}
#endif

/* Reports an error for options that do not apply to the demo. */
static void check_options(tool_run *tool, const tool_arguments *arguments, const char *allowed) {
    for (size_t i = 0; i < arguments->given_count; i++) {
        const char *name = arguments->given[i].option->name;
        if (!word_in(name, allowed) && !word_in(name, "html|json|quiet|threads|help"))
            tool_refuse(tool, "--%s does not apply to demo %s", name, arguments->operands[0]);
    }
}

static int run_demo(tool_run *tool, const tool_arguments *arguments) {
    const char *which = arguments->operand_count ? arguments->operands[0] : "";
    const tool_given *png = picture_given(arguments);
    bool drop = word_in(which, "drop|plane"), line = !strcmp(which, "line"),
         clash = !strcmp(which, "clash"), pass = !strcmp(which, "letters"),
         stand = word_in(which, "stack|wall|plates|shot|dominoes|bowl"),
         fall = word_in(which, "stairs|snow|bounce");
    if (!drop && !line && !stand && !fall && !clash && !pass &&
        !word_in(which, "ball|sleeve|sheet|dress|cape"))
        tool_refuse(
            tool,
            "%s%s%s; there are stack, wall, plates, shot, dominoes, bowl, drop, plane, line, "
            "letters, stairs, snow, bounce, clash, ball, sleeve, sheet, dress and cape",
            *which ? "unknown demo '" : "the name of a demo is missing", which, *which ? "'" : "");
    check_options(tool, arguments,
                  drop                              ? "png|bodies|seconds|seed|compare"
                  : !strcmp(which, "shot")          ? "png|seconds"
                  : word_in(which, "wall|dominoes") ? "png|bodies|seconds"
                  : stand                           ? "png|bodies|seconds|seed"
                  : line                            ? "png"
                  : pass                            ? "png|plot|frames|resolution|compare|device"
                  : clash                           ? "png|bodies|seed"
                  : !strcmp(which, "stairs") ? "png|bodies|frames|seed|resolution|compare|device"
                  : fall ? "png|bodies|frames|seed|resolution|compare|device|model"
                  : word_in(which, "dress|cape")
                      ? "png|triangles|solid|frames|record|meshes|device|model|clip|joints|without|"
                        "wind|method|self|outside"
                      : "png|triangles|solid|frames|record|meshes|device");
    if (png)
        picture_check(tool, png->words);
    return drop    ? run_drop(tool, arguments)
           : stand ? demo_stand(tool, arguments)
           : line  ? demo_line(tool, arguments)
           : pass  ? demo_letters(tool, arguments)
           : clash ? demo_clash(tool, arguments)
           : fall  ? demo_falls(tool, arguments)
                   : demo_cloth(tool, arguments);
}

static const tool_option options[] = {
    OPTION("png", "FILE", TEXT, "draw a film strip"),
    PAGE_OPTION,
    OPTION("plot", "FILE", TEXT, "letters: plot curves over the frames"),
    OPTION("triangles", "N", COUNT, "cloth: approximate number of triangles (default: 6000)"),
    OPTION("solid", "N", COUNT,
           "cloth: approximate number of triangles of the solid (default: half of that), or of a "
           "built-in character (10828)"),
    OPTION("frames", "N", COUNT,
           "number of frames, 60 per second: cloth 360 by default; stairs, snow, bounce 240; "
           "letters 100; dress and cape: 300, 30 per second"),
    OPTION("record", "FILE", TEXT, "cloth: write the motion to FILE (.abutm)"),
    OPTION("meshes", "FOLDER", TEXT, "cloth: write the meshes of every frame into FOLDER"),
    DEVICE_OPTION,
    OPTION("bodies", "N", COUNT,
           "drop, bowl: number of bodies (default: 100); plane: 1; stack: cubes (10); wall: rows "
           "(5); plates: 4; dominoes: 12; stairs: 250; snow: 500; bounce: 40; clash: parts (2000)"),
    OPTION("seconds", "S", POSITIVE,
           "drop, bowl: simulated time (default: until all bodies are at rest); plane: 1.6; "
           "others: 10"),
    OPTION("seed", "S", COUNT,
           "drop, plane, bowl, stack, plates, stairs, snow, bounce, clash: seed of the random "
           "numbers (default: 1)"),
    OPTION("resolution", "N", COUNT,
           "stairs, snow, bounce: pixels along the larger side of each of three views (default: "
           "1024); letters: texels along each side of a map (512)"),
    OPTION("model", "FILE", TEXT,
           "snow, bounce: a closed mesh to fall on (default: a critter); dress, cape: the "
           "character: glTF or GLB, in metres, mannequin, mannequin-female (default) or ogre"),
    OPTION("clip", "CLIP", TEXT,
           "dress, cape: clip of the character, by name or number (default: the first)"),
    OPTION("without", "LIST", TEXT,
           "dress, cape: remove the triangles that these bones move, such as a sword or a hat"),
    OPTION(
        "joints", "LIST", TEXT,
        "dress, cape: bones that determine the cut, such as neck=head (see 'abut help character')"),
    FLAG("wind", "dress, cape: simulate wind; without --clip, the character does not move"),
    CHOICE("method", "HOW", CHOICE,
           "dress, cape: collision of the cloth with the body: exact continuous collision "
           "detection, or radial fields (default: exact)",
           "exact|radial"),
    FLAG("self",
         "dress, cape with --method radial: also keep vertices of the garment away from its faces"),
    FLAG("outside", "dress, cape with --method radial: at the end of each frame, move vertices "
                    "that are inside the body (tested exactly) to its surface"),
    FLAG("compare", "drop, plane: also run with ODE's own triangle mesh colliders; stairs, snow, "
                    "bounce: also find pairs by CInDeR as published, one for each pixel; letters: "
                    "also by distance fields, built again in each frame"),
    {0}};

const tool_command command_demo = {
    .name = "demo",
    .operands = "SCENE",
    .summary = "run demonstration scenes: physics, cloth, images, assemblies",
    .about =
        "stack, wall, plates, shot, dominoes, bowl: a stack of cubes, a wall of bricks, thin "
        "plates that fall on each other, a ball at 100 m/s against a plate 0.002 thick, a row of "
        "dominoes, and a hundred cubes, plates, rings, letters and critters that fall into a bowl. "
        "The Open Dynamics Engine moves the bodies. Contacts come from exact geometry and "
        "continuous collision detection (examples/ode/stand.c). Prints tilt, drift, the time at "
        "which all bodies are at rest, and the number of bodies at a wrong position. The exit code "
        "is 3 if there is one.\n\n"
        "drop: a hundred teapots, rings and critters fall into a bowl and come to rest. The Open "
        "Dynamics Engine moves them; signed distance fields of abut are one of its geometry "
        "classes (examples/ode) and give the contacts. Prints the time, the penetration depth in "
        "cells of the field of the bowl, and whether energy grew.\n\n"
        "plane: the same on a plane instead of the bowl, with one teapot by default.\n\n"
        "line: a thousand segments through a teapot with a field: the first entry of each, by the "
        "field and exactly.\n\n"
        "letters: E and G twist, bend, stretch and pass each other, each with a surface distance "
        "map to the other (Sud et al. 2006). Prints the time of a frame, the reach of the samples, "
        "and the number of frames in which the distance by triangles is outside the bounds of the "
        "maps. The exit code is 3 if there is one. With --compare the same distances also come "
        "from fields over the bounding box of both, with cells whose half diagonal is the usual "
        "reach of the samples.\n\n"
        "stairs, snow, bounce: 250 spheres bounce down 11 steps; flakes stick to a critter that "
        "rotates; spheres reflect off it by the normals of its edges (Malmsten and Klasen 2005). "
        "Images find the overlaps (examples/layers), and every frame is compared with exact tests. "
        "Prints the number of pairs found, missed and false. The exit code is 3 if the exact "
        "methods differ, or an overlap of two pixels was missed.\n\n"
        "clash: an assembly of 2,000 generated parts (bolts in plates, pipes through walls, flush "
        "boxes, duplicates, a pin inside a block). Compares the result of 'abut interfere "
        "--touching' with the known one. The exit code is 3 if they differ.\n\n"
        "ball, sleeve, sheet: cloth that collides with a moving solid and with itself, without "
        "passing through (examples/cloth): a critter in a ball of cloth, a sleeve on a rod that "
        "bends, a sheet on a board in the wind. Prints the time of a frame, the number of impacts, "
        "the smallest gap, and the number of frames with an intersection, decided exactly. The "
        "exit code is 3 if there is one.\n\n"
        "dress, cape: the same for a garment on a character that moves from its rest pose into a "
        "clip. A body whose parts pass through each other would crush the cloth between them. "
        "There its vertices are delayed; the number of them and the largest delay are printed. "
        "With radial fields only vertices are kept out of the body, and the cloth can pass through "
        "itself. Then the penetration depth is printed, and more than a cell of 1 cm is exit code "
        "3.",
    .found =
        "a body at a wrong position, a missed entry or overlap, a distance outside its bounds, a "
        "wrong result for the assembly, or cloth that passed through a body or itself",
    .examples = "  abut demo stack --png stack.png\n"
                "  abut demo drop --png drop.png\n"
                "  abut demo drop --bodies 30 --compare --json\n"
                "  abut demo plane --png plane.png\n"
                "  abut demo line --png line.png\n"
                "  abut demo letters --png letters.png --plot plot.png --compare\n"
                "  abut demo stairs --png stairs.png\n"
                "  abut demo stairs --bodies 50 --compare\n"
                "  abut demo snow --png snow.png\n"
                "  abut demo bounce --png bounce.png\n"
                "  abut demo clash --png clash.png\n"
                "  abut demo sleeve --png sleeve.png\n"
                "  abut demo sheet --triangles 80000 --frames 1166 --record sheet.abutm\n"
                "  abut demo ball --triangles 49000 --device gpu\n"
                "  abut demo dress --model human.glb --clip dance --png dress.png\n"
                "  abut demo cape --method radial --png cape.png\n",
    .options = options,
    .operand_kind = OPERAND_NONE,
    .operand_range = {0, 1},
    .run = run_demo,
};
