/* abut thickness: wall thickness at every point of a solid. */
#include "map.h"

#include <math.h>

/* Rays start against the normal; the library does not test which way a closed component faces. */
static int check_inwards(tool_run *tool, abut_mesh *mesh, abut_reliability *reliability) {
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    abut_status status = abut_topology_create(mesh, &topology);
    status = status ? status : abut_mesh_examine(topology, &report);
    abut_topology_destroy(topology);
    if (status)
        return tool_fail(tool, status);
    if (report.problems[ABUT_PROBLEM_INWARD_COMPONENT].count)
        *reliability =
            (abut_reliability){ABUT_RELIABILITY_UNRELIABLE,
                               "The mesh faces inwards, so that the space around it is measured "
                               "instead of the wall: 'abut convert --orient' flips it."};
    return 0;
}

/* A sheet has no opposite side: then no thickness is known. */
static void check_found(const abut_map_measures *measures, bool limited,
                        abut_reliability *reliability) {
    if (!measures->found && !limited && reliability->level != ABUT_RELIABILITY_UNRELIABLE)
        *reliability = (abut_reliability){
            ABUT_RELIABILITY_UNRELIABLE,
            "No sample has an opposite side, so that there is no wall to measure."};
}

static int print_thickness(tool_run *tool, const tool_arguments *arguments,
                           const tool_surface *surface, const map_answer *found,
                           abut_map_thickness kind) {
    const tool_given *below = option_given(arguments, "below");
    const abut_map_measures *m = &found->measures;
    tool_output *out = &tool->out;
    const map_answer *answers[1] = {found};
    const char *const names[1] = {"area"};
    map_panel panel = panel_of(surface, found, NULL, 0);
    out_object(out, NULL);
    json_path(out, "file", surface->path);
    json_text(out, "kind", abut_map_thickness_name(kind));
    json_reliability(out, &found->info.reliability);
    map_print(tool, found, NULL);
    if (below) {
        json_number(out, "below", below->numbers[0]);
        json_number(out, "below_area", m->within_area);
        print_fact(out, "below", "%.6g: area %.6g, %.3g%%", below->numbers[0], m->within_area,
                   m->area > 0 ? 100 * m->within_area / m->area : 0);
    }
    int code = map_write(tool, arguments, &panel, 1, MAP_SHOW_DISTANCE);
    if (code)
        return code;
    map_histogram(tool, answers, names, 1);
    out_end(out);
    tool_text words = {0};
    if (m->found)
        text_number(&words, m->min.distance);
    answer(tool, "%s", words.data ? words.data : "none");
    text_free(&words);
    return 0;
}

static int run_thickness(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *below = option_given(arguments, "below"),
                     *most = option_given(arguments, "max");
    const abut_map_thickness kind =
        option_given(arguments, "ball") ? ABUT_MAP_THICKNESS_BALL : ABUT_MAP_THICKNESS_RAY;
    abut_map_query query = abut_map_query_default();
    abut_map_measure_options measure = abut_map_measure_options_default();
    abut_device *device = NULL;
    tool_surface surface = {0};
    map_answer found = {.what = "thickness"};
    query.limit = most ? most->numbers[0] : 0;
    measure.within = below ? below->numbers[0] : 0;
    found.limits[0] = measure.within;
    int code = map_check(tool, arguments);
    code = code ? code : device_open(tool, arguments, &device);
    code = code ? code : surface_load(tool, arguments, arguments->operands[0], NULL, &surface);
    code = code ? code : surface_map(tool, arguments, 0, device, &surface);
    abut_status status = code ? ABUT_OK : abut_map_compute_thickness(surface.map, kind, &query);
    code = status ? tool_fail(tool, status) : code;
    code = code ? code : map_measure(tool, &surface, &measure, "near", 0, 0, &found);
    code = code ? code : check_inwards(tool, surface.mesh, &found.info.reliability);
    if (!code) {
        check_found(&found.measures, most != NULL, &found.info.reliability);
        tool_print_reliability(tool, &found.info.reliability);
    }
    code = code ? code : print_thickness(tool, arguments, &surface, &found, kind);
    surface_free(&surface);
    abut_device_destroy(device);
    if (code || !below)
        return code;
    return tool_outcome(found.measures.found && found.measures.min.distance < measure.within,
                        &found.info.reliability);
}

static const tool_option options[] = {
    {"ball", NULL, OPTION_FLAG,
     "diameter of the largest inscribed ball that touches the point, instead of the chord", NULL,
     false},
    {"below", "D", OPTION_POSITIVE,
     "print the area that is at most D thick; the exit code is 3 if a sample is thinner", NULL,
     false},
    {"max", "D", OPTION_POSITIVE, "largest thickness to search (default: unlimited)", NULL, false},
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
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 1,
    .run = run_thickness,
};
