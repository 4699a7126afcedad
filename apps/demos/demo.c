/* abut demo: selects and runs the demonstration scenes. */
#include "tool.h"

#include <string.h>

/* Reports an error for options that do not apply to the demo. */
static void check_options(tool_run *tool, const tool_arguments *arguments, const char *allowed) {
    for (size_t i = 0; i < arguments->given_count; i++) {
        const char *name = arguments->given[i].option->name;
        const bool is_film = !word_in(arguments->operands[0], "line|clash");
        if (!word_in(name, allowed) && !word_in(name, "html|json|quiet|threads|help") &&
            !(is_film && word_in(name, "live|port")))
            tool_refuse(tool, "--%s does not apply to demo %s", name, arguments->operands[0]);
    }
}

static int run_demo(tool_run *tool, const tool_arguments *arguments) {
    const char *which = arguments->operand_count ? arguments->operands[0] : "";
    const tool_given *png = picture_given(arguments);
    bool line = !strcmp(which, "line"), clash = !strcmp(which, "clash"),
         pass = !strcmp(which, "letters"), drop = word_in(which, "drop|plane"),
         stand = drop || word_in(which, "stack|wall|plates|shot|dominoes|bowl"),
         fall = word_in(which, "stairs|snow|bounce");
    if (!line && !stand && !fall && !clash && !pass &&
        !word_in(which, "ball|sleeve|sheet|twist|knot|pile|funnel|" DEMO_GARMENTS))
        tool_refuse(
            tool,
            "%s%s%s; there are stack, wall, plates, shot, dominoes, bowl, drop, plane, line, "
            "letters, stairs, snow, bounce, clash, ball, sleeve, sheet, twist, knot, pile, funnel, "
            "dress, cape, overcoat and trousers-and-top",
            *which ? "unknown demo '" : "the name of a demo is missing", which, *which ? "'" : "");
    check_options(
        tool, arguments,
        drop                              ? "png|bodies|seconds|seed|compare|device"
        : !strcmp(which, "shot")          ? "png|seconds"
        : word_in(which, "wall|dominoes") ? "png|bodies|seconds"
        : stand                           ? "png|bodies|seconds|seed"
        : line                            ? "png"
        : pass                            ? "png|plot|frames|resolution|compare|device"
        : clash                           ? "png|bodies|seed"
        : !strcmp(which, "stairs")        ? "png|bodies|frames|seed|resolution|compare|device|speed"
        : fall                     ? "png|bodies|frames|seed|resolution|compare|device|model|speed"
        : !strcmp(which, "sleeve") ? "png|triangles|solid|frames|record|meshes|device|slight"
        : word_in(which, DEMO_GARMENTS)
            ? "png|triangles|solid|frames|record|meshes|device|model|clip|joints|without|ease|"
              "wind|method|self|outside"
            : "png|triangles|solid|frames|record|meshes|device");
    if (png)
        picture_check(tool, png->words);
    return stand   ? demo_stand(tool, arguments)
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
           "letters 100; garments: 300, 30 per second"),
    OPTION("record", "FILE", TEXT, "cloth: write the motion to FILE (.abutm)"),
    OPTION("meshes", "FOLDER", TEXT, "cloth: write the meshes of every frame into FOLDER"),
    DEVICE_OPTION,
    OPTION("bodies", "N", COUNT,
           "drop, bowl: number of bodies (default: 100); plane: 1; stack: cubes (10); wall: rows "
           "(5); plates: 4; dominoes: 12; stairs: 250; snow: 500; bounce: 40; clash: parts (2000)"),
    OPTION("seconds", "S", POSITIVE,
           "drop, plane, bowl: simulated time (default: 5 s after all bodies are released); "
           "others: 10"),
    OPTION("seed", "S", COUNT,
           "drop, plane, bowl, stack, plates, stairs, snow, bounce, clash: seed of the random "
           "numbers (default: 1)"),
    OPTION("resolution", "N", COUNT,
           "stairs, snow, bounce: pixels along the larger side of each of three views (default: "
           "1024); letters: texels along each side of a map (512)"),
    OPTION("speed", "FACTOR", POSITIVE,
           "stairs, snow, bounce: factor on the motion between two frames; also find what bodies "
           "touch between frames, by sweeps"),
    OPTION("model", "FILE", TEXT,
           "snow, bounce: a closed mesh to fall on (default: a critter); garments: the "
           "character: glTF or GLB, mannequin, mannequin-female (default) or ogre"),
    OPTION("clip", "CLIP", TEXT,
           "garments: clip of the character, by name or number (default: the first)"),
    OPTION("without", "LIST", TEXT,
           "garments: remove the triangles that these bones move, such as a sword or a hat"),
    OPTION("ease", "METRES", POSITIVE,
           "garments: distance between body and garment (default: about 1/100 of the height); "
           "increased if the garment would touch the body or itself"),
    OPTION("joints", "LIST", TEXT,
           "garments: bones that determine the cut, such as neck=head (see 'abut help character')"),
    FLAG("slight", "sleeve: the rod bends less and slower, so that the sleeve slides and wrinkles "
                   "without a knot (animation five of Cheng 2011)"),
    FLAG("wind", "garments: simulate wind; without --clip, the character does not move"),
    CHOICE("method", "HOW", CHOICE,
           "garments: collision of the cloth with the body: exact continuous collision "
           "detection, or radial fields (default: exact)",
           "exact|radial"),
    FLAG("self",
         "garments with --method radial: also keep vertices of the garment away from its faces"),
    FLAG("outside", "garments with --method radial: at the end of each frame, move vertices "
                    "that are inside the body (tested exactly) to its surface"),
    FLAG("compare", "drop, plane: also run with ODE's own triangle mesh colliders; stairs, snow, "
                    "bounce: also find pairs by CInDeR as published, one for each pixel; letters: "
                    "also by distance fields, built again in each frame"),
    LIVE_OPTIONS("serve a page on this machine that shows the frames while they are computed; not "
                 "for line and clash. snow, bounce: drag the model to move or turn it. stairs, "
                 "snow, bounce: run until Ctrl-C, unless --frames is given"),
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
        "drop: the same for a hundred teapots, rings and critters that fall into a bowl, with "
        "contacts of signed distance fields: samples of vertices, edges and flat regions of each "
        "body in the field of the other. With --device fields are built and all pairs are tested "
        "on a device, with equal results.\n\n"
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
        "methods differ, or an overlap of two pixels was missed. With --speed it also prints how "
        "many of the pairs that touch between two frames the images of both frames show, and how "
        "many sweeps find; one that sweeps miss is exit code 3, too.\n\n"
        "With --live a page shows these while they run, without comparisons: drag the model of "
        "snow or bounce to move it, with Shift to turn it.\n\n"
        "clash: an assembly of 2,000 generated parts (bolts in plates, pipes through walls, flush "
        "boxes, duplicates, a pin inside a block). Compares the result of 'abut interfere "
        "--touching' with the known one. The exit code is 3 if they differ.\n\n"
        "ball, sleeve, sheet: cloth that collides with a moving solid and with itself, without "
        "passing through: a critter in a ball of cloth, a sleeve on a rod that "
        "bends, a sheet on a board in the wind. Prints the time of a frame, the number of impacts, "
        "the smallest gap, and the number of frames with an intersection, decided exactly. The "
        "exit code is 3 if there is one.\n\n"
        "twist, knot, pile, funnel: the same where cloth is pressed together: a cylinder that is "
        "twisted by ten turns, a tube with a knot that is pulled tight, twenty sheets that fall on "
        "a plate, a sheet that is pulled through a funnel. Also prints the energy from the time at "
        "which the solid stops. The exit code is 3 if it grows by more than 10%.\n\n"
        "dress, cape, overcoat, trousers-and-top: the same for a garment on a character that moves "
        "from its rest pose into a "
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
                "  abut demo drop --device gpu\n"
                "  abut demo plane --png plane.png\n"
                "  abut demo line --png line.png\n"
                "  abut demo letters --png letters.png --plot plot.png --compare\n"
                "  abut demo stairs --png stairs.png\n"
                "  abut demo stairs --bodies 50 --compare\n"
                "  abut demo stairs --speed 10\n"
                "  abut demo snow --png snow.png\n"
                "  abut demo snow --live\n"
                "  abut demo bounce --png bounce.png\n"
                "  abut demo clash --png clash.png\n"
                "  abut demo sleeve --png sleeve.png\n"
                "  abut demo sheet --triangles 80000 --frames 1166 --record sheet.abutm\n"
                "  abut demo ball --triangles 49000 --device gpu\n"
                "  abut demo dress --model human.glb --clip dance --png dress.png\n"
                "  abut demo cape --method radial --png cape.png\n"
                "  abut demo overcoat --model human.glb --ease 0.03 --png overcoat.png\n",
    .options = options,
    .operand_kind = OPERAND_NONE,
    .operand_range = {0, 1},
    .run = run_demo,
};
