/* abut deviation: deviation of a scan from its model over both surfaces, and the Hausdorff
 * distance. */
#include "map.h"

#include <math.h>

/* The first surface is the scan. */
typedef struct deviation {
    tool_surface surfaces[2];
    map_answer answers[2];
    abut_pair_hausdorff_result farthest[2]; /* from each surface to the other */
    int ways;                               /* 2, or 1 with --one-sided */
    double tolerance;                       /* 0 = none */
    double within[2];                       /* area within it */
    abut_device *device;
} deviation;

/* ---- computation ---- */

static void load_deviation(tool_run *tool, const tool_arguments *arguments, deviation *d) {
    const bool sign[2] = {false, option_given(arguments, "signed")};
    surfaces_load(tool, arguments, sign, true, d->surfaces);
    print_unit_note(tool, arguments->operands[0], d->surfaces[0].mesh, arguments->operands[1],
                    d->surfaces[1].mesh);
}

static void compute_deviation(tool_run *tool, const tool_arguments *arguments, deviation *d) {
    const tool_given *samples = option_given(arguments, "samples");
    const uint32_t resolution =
        samples ? (uint32_t)fmin(1e9, ceil(sqrt(samples->counts[0] / 0.9))) : 0;
    for (int k = 0; k < d->ways; k++) {
        abut_collider other = abut_collider_from_bvh(d->surfaces[1 - k].bvh, abut_pose_identity());
        d->answers[k].what = "deviation";
        d->answers[k].limits[0] = d->tolerance;
        d->answers[k].limits[1] = -d->tolerance;
        surface_map(tool, arguments, resolution, d->device, &d->surfaces[k]);
        ensure(abut_map_compute_distance(d->surfaces[k].map, &other, 1, NULL));
        progress_start(tool->progress, d->surfaces[k].path);
        d->farthest[k] = abut_pair_hausdorff_result_default();
        ensure(
            abut_pair_hausdorff(d->surfaces[k].bvh, other.shape.body.bvh, NULL, &d->farthest[k]));
    }
}

/* The range of the colours: all but a few outliers, or twice the tolerance. */
static double range_of(const deviation *d) {
    double range = 2 * d->tolerance;
    for (int k = 0; k < d->ways && !(d->tolerance > 0); k++) {
        const map_answer *a = &d->answers[k];
        double most = fmax(fabs(a->measures.min.distance), fabs(a->measures.max.distance));
        double usual = 1.25 * fmax(fabs(a->quantiles[0]), fabs(a->quantiles[MAP_QUANTILES - 1]));
        range = fmax(range, a->measures.found ? fmin(most, usual) : 0);
    }
    return range;
}

static void measure_statistics(deviation *d) {
    double range = 0, bins[4];
    for (int round = 0; round < 2; round++) { /* the second map uses the scale of the first */
        for (int k = 0; k < d->ways; k++)
            map_measure(&d->surfaces[k], NULL, "diverging",
                        d->answers[0].info.has_sign ? -range : 0, range, &d->answers[k]);
        range = range_of(d);
    }
    for (int k = 0; k < d->ways && d->tolerance > 0; k++) {
        ensure(
            abut_map_histogram(d->surfaces[k].map, -2 * d->tolerance, 2 * d->tolerance, 4, bins));
        d->within[k] = bins[1] + bins[2];
    }
}

/* ---- output ---- */

/* Prints one number if both bounds are equal in the printed digits. */
static void print_bounds(tool_output *out, const char *key, double lower, double upper) {
    if (upper - lower <= 1e-6 * upper)
        print_fact(out, key, "%.6g", upper);
    else
        print_fact(out, key, "%.6g to %.6g", lower, upper);
}

static void print_samples(tool_output *out, const deviation *d) {
    tool_text words = {0};
    for (int k = 0; k < d->ways; k++) {
        text_add(&words, k ? " and " : "");
        text_grouped(&words, d->answers[k].info.sample_count);
    }
    print_fact(out, "samples", "%s; reach %.2g", text_of(&words),
               fmax(d->answers[0].info.reach, d->answers[1].info.reach));
}

static void print_way(tool_run *tool, const deviation *d, int k) {
    tool_output *out = &tool->out;
    const map_answer *a = &d->answers[k];
    const abut_map_measures *m = &a->measures;
    const abut_pair_hausdorff_result *far = &d->farthest[k];
    out_object(out, NULL);
    fact_path(out, "from", d->surfaces[k].path);
    if (out->json) {
        json_path(out, "to", d->surfaces[1 - k].path);
        map_print(tool, a, &d->surfaces[1 - k]);
        if (d->tolerance > 0)
            json_number(out, "within_area", d->within[k]);
        out_object(out, "farthest");
        json_number(out, "lower", far->lower);
        json_number(out, "upper", far->upper);
        json_vector(out, "point", far->point);
        json_count(out, "triangle", far->triangle);
        json_vector(out, "other_point", far->other_point);
        json_count(out, "other_triangle", far->other_triangle);
        out_end(out);
    } else {
        tool_text place = {0};
        text_point(&place, far->point, a->info.reach);
        map_number(out, "mean", m->mean, m);
        map_number(out, "rms", m->rms, m);
        print_fact(out, "5% to 95%", "%.4g to %.4g", map_rounded(a->quantiles[1], m),
                   map_rounded(a->quantiles[5], m));
        if (d->tolerance > 0)
            print_fact(out, "within", "%.2f%%", 100 * d->within[k] / fmax(m->area, 1e-300));
        print_bounds(out, "farthest", far->lower, far->upper);
        print_fact(out, "at", "%s", text_of(&place));
    }
    out_end(out);
}

static void print_deviation(tool_run *tool, const tool_arguments *arguments, const deviation *d,
                            double lower, double upper) {
    tool_output *out = &tool->out;
    const char *names[2] = {"scan", "model"};
    map_panel panels[2] = {panel_of(&d->surfaces[0], &d->answers[0], NULL, 0),
                           panel_of(&d->surfaces[1], &d->answers[1], NULL, 0)};
    for (int k = 0; k < d->ways; k++) {
        panels[k].marked = "farthest";
        panels[k].marks[0] = d->farthest[k].point;
        panels[k].marks[1] = d->farthest[k].other_point;
        panels[k].value = d->farthest[k].lower;
        panels[k].hidden = k > 0; /* the model coincides with the scan */
    }
    out_object(out, NULL);
    json_path(out, "scan", d->surfaces[0].path);
    json_path(out, "model", d->surfaces[1].path);
    json_reliability(out, &d->answers[0].info.reliability);
    print_samples(out, d);
    if (d->tolerance > 0)
        fact_number(out, "tolerance", d->tolerance);
    if (d->ways == 2) {
        json_number(out, "hausdorff_lower", lower);
        json_number(out, "hausdorff_upper", upper);
        print_bounds(out, "hausdorff", lower, upper);
    }
    map_write(tool, arguments, panels, (uint32_t)d->ways, MAP_SHOW_DISTANCE);
    out_table(out, "ways");
    for (int k = 0; k < d->ways; k++)
        print_way(tool, d, k);
    out_end(out);
    map_histogram(tool, d->answers, names, (uint32_t)d->ways);
    out_end(out);
    answer_number(tool, true, lower, "");
}

/* ---- the command ---- */

static int run_deviation(tool_run *tool, const tool_arguments *arguments) {
    deviation d = {.ways = option_given(arguments, "one-sided") ? 1 : 2};
    if (option_given(arguments, "samples") && option_given(arguments, "resolution"))
        tool_refuse(tool, "--samples and --resolution cannot be combined");
    d.tolerance = option_number(arguments, "tolerance", 0);
    map_check(tool, arguments);
    d.device = device_open(tool, arguments);
    load_deviation(tool, arguments, &d);
    compute_deviation(tool, arguments, &d);
    measure_statistics(&d);
    double lower = fmax(d.farthest[0].lower, d.farthest[1].lower),
           upper = fmax(d.farthest[0].upper, d.farthest[1].upper);
    tool_print_reliability(tool, &d.answers[0].info.reliability);
    print_deviation(tool, arguments, &d, lower, upper);
    for (int k = 0; k < 2; k++)
        surface_free(&d.surfaces[k]);
    abut_device_destroy(d.device);
    return d.tolerance > 0 && upper > d.tolerance ? CODE_FOUND : CODE_FINE;
}

static const tool_option options[] = {
    FLAG("signed", "deviations of the scan are negative inside the model, which should have no "
                   "boundary edges"),
    OPTION("tolerance", "T", POSITIVE,
           "print the area within T; the exit code is 3 if any point is farther"),
    OPTION("samples", "N", COUNT,
           "approximate number of samples on each surface, instead of --resolution"),
    FLAG("one-sided",
         "only from the scan to the model: parts of the model without scan do not count"),
    POSE_OPTIONS,
    MAP_OPTIONS,
    {0}};

const tool_command command_deviation = {
    .name = "deviation",
    .operands = "SCAN MODEL",
    .summary = "deviation of a scan from its model, Hausdorff distance",
    .about = "Places samples evenly on both surfaces and computes the distance from each to the "
             "other surface. Prints mean, RMS and quantiles by area, and a histogram. The farthest "
             "point of each surface, and with it the Hausdorff distance, is searched among all "
             "points, not only samples, and printed with a lower and an upper bound. The picture "
             "shows the scan in colours beside the model in colours.",
    .found = "a point is farther than --tolerance",
    .examples = "  abut deviation scan.ply model.obj --signed --png deviation.png\n"
                "  abut deviation scan.ply model.obj --tolerance 0.1 --samples 1000000 --json\n",
    .options = options,
    .operand_range = {2, 2},
    .run = run_deviation,
};
