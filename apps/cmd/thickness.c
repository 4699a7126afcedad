/* abut thickness: wall thickness at every point of a solid. */
#include "map.h"

/* Rays start against the normal; the library does not test which way a closed component faces. */
static void check_inwards(abut_mesh *mesh, abut_reliability *reliability) {
    abut_mesh_report report;
    ensure(mesh_report(mesh, &report));
    if (report.problems[ABUT_PROBLEM_INWARD_COMPONENT].count)
        *reliability =
            (abut_reliability){ABUT_RELIABILITY_UNRELIABLE,
                               "The mesh faces inwards, so that the space around it is measured "
                               "instead of the wall: 'abut convert --orient' flips it."};
}

static void print_thickness(tool_run *tool, const tool_arguments *arguments,
                            const tool_surface *surface, const map_answer *found,
                            abut_map_thickness kind) {
    const tool_given *below = option_given(arguments, "below");
    tool_output *out = &tool->out;
    const char *const names[1] = {"area"};
    map_panel panel = panel_of(surface, found, NULL, 0);
    out_object(out, NULL);
    json_path(out, "file", surface->path);
    json_text(out, "kind", abut_map_thickness_name(kind));
    json_reliability(out, &found->info.reliability);
    map_print(tool, found, NULL);
    if (below)
        map_within(out, "below", found, below->numbers[0]);
    map_write(tool, arguments, &panel, 1, MAP_SHOW_DISTANCE);
    map_histogram(tool, found, names, 1);
    out_end(out);
    answer_number(tool, found->measures.found, found->measures.min.distance, "none");
}

static int run_thickness(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *below = option_given(arguments, "below"),
                     *most = option_given(arguments, "max");
    const abut_map_thickness kind =
        option_given(arguments, "ball") ? ABUT_MAP_THICKNESS_BALL : ABUT_MAP_THICKNESS_RAY;
    abut_map_query query = abut_map_query_default();
    abut_map_measure_options measure = abut_map_measure_options_default();
    tool_surface surface = {0};
    map_answer found = {.what = "thickness"};
    query.limit = most ? most->numbers[0] : 0;
    measure.within = below ? below->numbers[0] : 0;
    found.limits[0] = measure.within;
    map_check(tool, arguments);
    abut_device *device = device_open(tool, arguments);
    surface_load(tool, arguments, arguments->operands[0], NULL, &surface);
    surface_map(tool, arguments, 0, device, &surface);
    ensure(abut_map_compute_thickness(surface.map, kind, &query));
    map_measure(&surface, &measure, "near", 0, 0, &found);
    check_inwards(surface.mesh, &found.info.reliability);
    if (!found.measures.found && !most &&
        found.info.reliability.level != ABUT_RELIABILITY_UNRELIABLE) /* as for a sheet */
        found.info.reliability = (abut_reliability){
            ABUT_RELIABILITY_UNRELIABLE,
            "No sample has an opposite side, so that there is no wall to measure."};
    tool_print_reliability(tool, &found.info.reliability);
    print_thickness(tool, arguments, &surface, &found, kind);
    surface_free(&surface);
    abut_device_destroy(device);
    if (!below)
        return CODE_FINE;
    return tool_outcome(found.measures.found && found.measures.min.distance < measure.within,
                        &found.info.reliability);
}

static const tool_option options[] = {
    FLAG("ball",
         "diameter of the largest inscribed ball that touches the point, instead of the chord"),
    OPTION("below", "D", POSITIVE,
           "print the area that is at most D thick; the exit code is 3 if a sample is thinner"),
    OPTION("max", "D", POSITIVE, "largest thickness to search (default: unlimited)"),
    MAP_OPTIONS,
    {0}};

const tool_command command_thickness = {
    .name = "thickness",
    .operands = "MESH",
    .summary = "wall thickness at every point of a solid",
    .about =
        "Places samples evenly on the surface and computes the wall thickness at each: the length "
        "of the chord against the normal, or the diameter of the largest inscribed ball. Prints "
        "minimum, maximum, mean, quantiles, and a histogram by area. The mesh should be closed and "
        "face outwards; otherwise a line states the reliability of the result.",
    .found = "a sample is thinner than --below",
    .examples = "  abut thickness part.stl --below 1.2 --png walls.png\n"
                "  abut thickness part.stl --ball --out walls.ply --json\n",
    .options = options,
    .operand_range = {1, 1},
    .run = run_thickness,
};
