/* abut map: distance from every point of a surface to other bodies. */
#include "map.h"

#include <math.h>
#include <string.h>

/* The first surface has the map of its distances to the others. */
typedef struct map_run {
    tool_surface *surfaces;
    uint32_t count;
    abut_device *device;
    map_query_options query;
    map_show show;
} map_run;

/* ---- computation ---- */

static void load_map(tool_run *tool, const tool_arguments *arguments, map_run *r) {
    r->count = (uint32_t)arguments->operand_count;
    r->surfaces = tool_array(r->count, sizeof *r->surfaces);
    for (uint32_t i = 0; i < r->count; i++) {
        surface_load(tool, arguments, arguments->operands[i], i ? "pose" : "pose-a",
                     &r->surfaces[i]);
        if (i)
            surface_index(tool, r->device, r->query.sign, r->query.regardless, &r->surfaces[i]);
    }
    surface_map(tool, arguments, 0, r->device, &r->surfaces[0]);
}

static void print_map(tool_run *tool, const tool_arguments *arguments, const map_run *r,
                      const map_answer *found) {
    const tool_given *images = option_given(arguments, "images");
    tool_output *out = &tool->out;
    const char *const names[1] = {"area"};
    const tool_surface *others = r->query.self ? NULL : r->surfaces + 1;
    map_panel panel = panel_of(r->surfaces, found, others, r->count - 1);
    out_object(out, NULL);
    json_path(out, "a", r->surfaces[0].path);
    json_list(out, "others");
    for (uint32_t i = 1; i < r->count && out->json; i++) {
        out_object(out, NULL);
        json_path(out, "file", r->surfaces[i].path);
        out_end(out);
    }
    json_end(out);
    json_reliability(out, &found->info.reliability);
    map_print(tool, found, others);
    if (option_given(arguments, "within"))
        map_within(out, "within", found, r->query.measure.within);
    map_write(tool, arguments, &panel, 1, r->show);
    if (images)
        map_images(tool, &panel, images->words);
    map_histogram(tool, found, names, 1);
    out_end(out);
    answer_number(tool, found->measures.found, found->measures.min.distance, "none");
}

/* ---- the command ---- */

static void read_map_options(tool_run *tool, const tool_arguments *arguments, map_run *r) {
    const tool_given *show = option_given(arguments, "show"),
                     *rings = option_given(arguments, "rings"),
                     *geodesic = option_given(arguments, "geodesic");
    map_query_options *q = &r->query;
    q->query = abut_map_query_default();
    q->measure = abut_map_measure_options_default();
    q->query.limit = option_number(arguments, "max", 0);
    q->query.rings = rings ? rings->counts[0] : 0;
    q->query.geodesic = geodesic ? geodesic->numbers[0] : 0;
    q->measure.within = option_number(arguments, "within", 0);
    q->measure.exact = option_given(arguments, "exact") != NULL;
    q->self = option_given(arguments, "self") != NULL;
    q->sign = !option_given(arguments, "unsigned");
    q->regardless = option_given(arguments, "signed") != NULL;
    r->show = !show                                  ? MAP_SHOW_DISTANCE
              : strcmp(show->words, "voronoi") == 0  ? MAP_SHOW_VORONOI
              : strcmp(show->words, "gradient") == 0 ? MAP_SHOW_GRADIENT
                                                     : MAP_SHOW_DISTANCE;
    if (q->regardless && !q->sign)
        tool_refuse(tool, "--signed and --unsigned cannot be combined");
    if (!q->self && (rings || geodesic))
        tool_refuse(tool, "--rings and --geodesic require --self");
    if (q->self && (q->measure.exact || q->regardless || !q->sign))
        tool_refuse(tool, "--self cannot be combined with --exact, --signed or --unsigned");
    if (q->self && arguments->operand_count > 1)
        tool_refuse(tool, "--self needs exactly one body");
    if (!q->self && arguments->operand_count < 2 && !map_recorded(arguments))
        tool_refuse(tool,
                    "B is missing: name A and B, or use --self for the distance of A to itself");
    const tool_given *still = option_any(arguments, "pose|pose-a|images|show|uv|view|up");
    if (still && map_moves(arguments))
        tool_refuse(tool, "--%s cannot be combined with moving bodies", still->option->name);
    if (option_given(arguments, "pose") && arguments->operand_count > 2)
        tool_refuse(tool, "--pose needs exactly one B");
    map_check(tool, arguments);
}

static void run_still(tool_run *tool, const tool_arguments *arguments, map_run *r) {
    map_answer found = {0};
    load_map(tool, arguments, r);
    abut_collider *others = tool_array(r->count, sizeof *others);
    for (uint32_t i = 1; i < r->count; i++)
        others[i - 1].shape.body.bvh = r->surfaces[i].bvh;
    progress_start(tool->progress, r->surfaces[0].path);
    map_compute(r->surfaces[0].map, others, r->count - 1, &r->query);
    map_measure(r->surfaces, &r->query.measure, "near", 0, 0, &found);
    tool_print_reliability(tool, &found.info.reliability);
    print_map(tool, arguments, r, &found);
    for (uint32_t i = 0; r->surfaces && i < r->count; i++)
        surface_free(&r->surfaces[i]);
}

static int run_map(tool_run *tool, const tool_arguments *arguments) {
    map_run r = {0};
    read_map_options(tool, arguments, &r);
    r.device = device_open(tool, arguments);
    if (map_moves(arguments))
        map_frames(tool, arguments, r.device, &r.query);
    else
        run_still(tool, arguments, &r);
    abut_device_destroy(r.device);
    return CODE_FINE;
}

static const tool_option options[] = {
    OPTION("max", "D", POSITIVE,
           "largest distance to search, which is faster (default: unlimited)"),
    FLAG("exact", "refine the minimum to the exact distance of the triangles"),
    OPTION("within", "D", NUMBER, "also print the area whose distance is at most D"),
    FLAG("signed", "negative distances inside every B, by winding numbers if it has boundary edges "
                   "(default: only inside a B without)"),
    FLAG("unsigned", "distances to surfaces, never negative"),
    FLAG("self", "the distance of A to itself, without the neighbourhood of each point"),
    OPTION("rings", "N", COUNT,
           "with --self: the neighbourhood is N rings of triangles (default: 1)"),
    OPTION("geodesic", "D", POSITIVE,
           "with --self: the neighbourhood is all triangles nearer than D along edges"),
    CHOICE("show", "WHAT", CHOICE,
           "quantity that the colours of the picture show: distance, the nearest feature "
           "(voronoi), or the direction to it (gradient); default: distance",
           "distance|voronoi|gradient"),
    OPTION("images", "PREFIX", TEXT,
           "write all three as images of the atlas: PREFIX-distance.png, -voronoi, -gradient"),
    FLAG("uv", "lay out the atlas by the texture coordinates of A (OBJ, glTF), so that images have "
               "the pixels of its texture; they must not overlap"),
    POSE_OPTIONS,
    MAP_OPTIONS,
    {0}};

const tool_command command_map = {
    .name = "map",
    .operands = "A B... | A --self | FOLDER... | RECORDING",
    .summary = "distance from every point of a surface to other bodies",
    .about = "Places samples evenly on the surface of A and computes the distance from each to the "
             "nearest B. Prints minimum, maximum, mean, quantiles, and a histogram by area. The "
             "distance at each sample is exact. Between samples it differs by at most the reach: "
             "the largest distance of a surface point from the nearest sample, which is printed. "
             "Inside a B without boundary edges, distances are negative.\n\n"
             "A folder of meshes is a deforming body: its frames in the order of their names (2 "
             "before 10), all with the same triangles. A recording (.abutm) is one too; its first "
             "mesh is A. The output then has one line for each frame. --out writes a table of the "
             "frames, --png a plot, --html a page that plays them.",
    .examples = "  abut map part.obj fixture.obj --png near.png\n"
                "  abut map part.obj fixture.obj cover.obj --max 5 --within 2 --exact --json\n"
                "  abut map a.obj b.obj --pose 0,0,2 --out near.ply --out samples.csv\n"
                "  abut map a.obj b.obj --show voronoi --png sites.png --images atlas\n"
                "  abut map part.obj fixture.obj --uv --resolution 1024 --images baked\n"
                "  abut map coil.obj --self --geodesic 3 --png gaps.png\n"
                "  abut map frames/ floor.obj --out frames.csv --png plot.png --html film.html\n",
    .options = options,
    .operand_range = {1, UINT32_MAX},
    .run = run_map,
};
