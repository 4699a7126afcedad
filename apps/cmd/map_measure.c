/* Computes surface distance maps of bodies and prints their statistics: text with a table and
 * bars, or JSON. */
#include "apps/get.h"
#include "map.h"

#include <math.h>
#include <string.h>

enum { BAR_COLUMNS = 24, RESOLUTION = 512, RESOLUTION_MAX = 16384 };

const double map_shares[MAP_QUANTILES] = {0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99};

/* ---- bodies ---- */

void map_check(tool_run *tool, const tool_arguments *arguments) {
    bool picture = false;
    abut_picture_options camera = abut_picture_options_default();
    for (size_t i = 0; i < arguments->given_count; i++) {
        const tool_given *given = &arguments->given[i];
        const char *name = given->option->name;
        if (strcmp(name, "png") == 0)
            picture_check(tool, given->words);
        else if (strcmp(name, "out") == 0 && strcmp(given->words, "-") != 0 &&
                 !word_in(path_ending(given->words), "ply|csv|npy|png|ppm"))
            tool_refuse(tool,
                        "--out %s: the name must end in .ply, .csv, .npy or .png, or be - for rows "
                        "on standard output",
                        given->words);
        picture = picture || word_in(name, "png|html") ||
                  (strcmp(name, "out") == 0 && word_in(path_ending(given->words), "png|ppm"));
    }
    if (!picture && option_any(arguments, "view|up"))
        tool_refuse(tool, "--view and --up require --png or --html");
    if (option_given(arguments, "precision") && option_any(arguments, "resolution|samples"))
        tool_refuse(tool, "--precision determines the resolution; it cannot be combined with --%s",
                    option_any(arguments, "resolution|samples")->option->name);
    camera_read(tool, arguments, &camera);
}

void surface_load(tool_run *tool, const tool_arguments *arguments, const char *path,
                  const char *pose, tool_surface *surface) {
    abut_pose motion;
    const bool given = pose && pose_option(tool, arguments, pose, &motion);
    abut_mesh_read_options options = abut_mesh_read_options_default();
    options.uv = option_given(arguments, "uv") && pose && strcmp(pose, "pose-a") == 0;
    surface->path = path;
    ensure(tool_read(tool, path, &options, &surface->mesh));
    surface->textured = options.uv ? abut_mesh_retain(surface->mesh) : NULL;
    if (given) {
        abut_mesh *still = surface->mesh;
        surface->mesh = NULL;
        ensure(abut_mesh_transform(still, 1, motion, &surface->mesh));
        abut_mesh_destroy(still);
    }
}

void surface_index(tool_run *tool, abut_device *device, bool sign, bool regardless,
                   tool_surface *surface) {
    device_bvh(surface->mesh, device, &surface->bvh);
    if (sign)
        ensure(abut_sign_prepare(surface->bvh, NULL));
    const abut_sign_info info = get_sign_info(surface->bvh);
    if (!sign || regardless || info.is_closed)
        return;
    tool_text words = {0};
    text_safe(&words, surface->path);
    text_print(&words, ": %s and therefore no interior: distances to it are unsigned",
               info.reliability.level == ABUT_RELIABILITY_UNRELIABLE
                   ? "has neighbours that face opposite ways"
                   : "has boundary edges");
    if (!tool->out.json)
        tool_log(tool, ABUT_LOG_INFO, words.data);
    abut_bvh_destroy(surface->bvh);
    surface->bvh = NULL;
    device_bvh(surface->mesh, device, &surface->bvh);
}

/* The library names a member of a struct, the command an option. */
_Noreturn static void fail_with_hint(tool_run *tool, const char *path, abut_status status) {
    const char *message = tool_error_message(abut_last_error());
    const char *hint = strstr(message, "set options->uv_fallback");
    const int length = hint ? (int)(hint - message) : (int)strlen(message);
    tool_fail_with(tool, abut_status_name(status), "%s: %.*s%s", path, length, message,
                   hint ? "omit --uv" : "");
}

void surface_map(tool_run *tool, const tool_arguments *arguments, uint32_t resolution,
                 abut_device *device, tool_surface *surface) {
    const tool_given *given = option_given(arguments, "resolution");
    abut_map_options options = abut_map_options_default();
    double enough = ceil(sqrt(4.0 * abut_mesh_triangle_count(surface->mesh)));
    options.device = device;
    options.precision = option_number(arguments, "precision", 0);
    options.uv = abut_mesh_uv(surface->textured);
    options.resolution = given                   ? given->counts[0]
                         : options.precision > 0 ? 0
                         : resolution            ? resolution
                                      : (uint32_t)fmin(RESOLUTION_MAX, fmax(RESOLUTION, enough));
    if (given && options.resolution > RESOLUTION_MAX)
        tool_refuse(tool, "--resolution must be a whole number from 1 to %d, not '%s'",
                    RESOLUTION_MAX, given->words);
    if (options.resolution > RESOLUTION_MAX)
        tool_refuse(tool, "--samples would need more than the maximum of %d x %d texels",
                    RESOLUTION_MAX, RESOLUTION_MAX);
    progress_start(tool->progress, surface->path);
    abut_status status = abut_map_create(surface->mesh, &options, &surface->map);
    if (status == ABUT_ERROR_LIMIT || (status == ABUT_ERROR_ARGUMENT && options.uv))
        fail_with_hint(tool, surface->path, status);
    ensure(status);
}

void surfaces_load(tool_run *tool, const tool_arguments *arguments, const bool sign[2],
                   bool regardless, tool_surface surfaces[2]) {
    for (int k = 0; k < 2; k++) {
        surface_load(tool, arguments, arguments->operands[k], k ? "pose" : "pose-a", &surfaces[k]);
        surface_index(tool, NULL, sign[k], regardless, &surfaces[k]);
    }
}

void surface_free(tool_surface *surface) {
    abut_map_destroy(surface->map);
    abut_mesh_destroy(surface->textured);
    abut_bvh_destroy(surface->bvh);
    abut_mesh_destroy(surface->mesh);
}

/* ---- statistics ---- */

void map_compute(abut_map *map, const abut_collider *others, uint32_t count,
                 const map_query_options *query) {
    if (query->self)
        ensure(abut_map_compute_self_distance(map, &query->query));
    else
        ensure(abut_map_compute_distance(map, others, count, &query->query));
}

static double largest_component(abut_vec3 v) {
    return fmax(fabs(v.x), fmax(fabs(v.y), fabs(v.z)));
}

/* The rounding error of distances at samples, with a margin. */
static double rounding(const abut_map_measures *m) {
    return 1e-14 *
           (sqrt(m->area) + largest_component(m->min.point) + largest_component(m->max.point));
}

double map_rounded(double distance, const abut_map_measures *m) {
    return fabs(distance) < rounding(m) ? 0 : distance;
}

void map_inside(const abut_map *map, const abut_map_measures *m, double *area) {
    double areas[2] = {0}, depth = rounding(m);
    if (m->inside && depth > 0) /* the first bin includes all smaller values */
        ensure(abut_map_histogram(map, -2 * depth, 0, 2, areas));
    *area = areas[0];
}

/* An additional bin counts the values beyond a truncated scale. */
static void find_areas(const abut_map *map, map_answer *a) {
    const double lo = a->scale.least, hi = a->scale.most;
    double areas[MAP_BINS + 1];
    if (a->cut)
        ensure(abut_map_histogram(map, lo, hi + (hi - lo) / MAP_BINS, MAP_BINS + 1, areas));
    else
        ensure(abut_map_histogram(map, lo, hi, MAP_BINS, areas));
    memcpy(a->areas, areas, sizeof a->areas);
}

void map_measure(const tool_surface *surface, const abut_map_measure_options *options,
                 const char *palette, double lo, double hi, map_answer *answer) {
    abut_map_measure_options ours = options ? *options : abut_map_measure_options_default();
    ours.quantiles = map_shares;
    ours.quantile_count = MAP_QUANTILES;
    answer->what = answer->what ? answer->what : "distance";
    answer->info = get_map_info(surface->map);
    answer->measures = abut_map_measures_default();
    ensure(abut_map_measure(surface->map, &ours, answer->quantiles, &answer->measures));
    const abut_map_measures *m = &answer->measures;
    map_inside(surface->map, m, &answer->inside_area);
    if (!(lo < hi) && m->found) {
        lo = fmin(m->min.distance, m->max.distance);
        hi = m->max.distance;
    }
    if (m->found && fmax(fabs(lo), fabs(hi)) < rounding(m)) {
        /* a scale over a single value has no range */
        lo = lo < 0 ? -1e-6 * sqrt(m->area) : 0;
        hi = 1e-6 * sqrt(m->area);
    }
    answer->scale = scale_of(palette, lo, hi);
    find_areas(surface->map, answer);
}

/* ---- text output ---- */

/* A number without rounding errors of floats, so that 5.5e-9 is 0 beside numbers of size 1. */
static double drop_rounding_error(double x, double size) {
    return fabs(x) < 2e-7 * size ? 0 : x;
}

void text_point(tool_text *to, abut_vec3 p, double reach) {
    double size = largest_component(p),
           digits = reach > 0 && size > 0 ? ceil(log10(size / reach)) + 3 : 6;
    int shown = (int)fmin(15, fmax(6, digits)); /* also far from the origin */
    text_print(to, "%.*g, %.*g, %.*g", shown, drop_rounding_error(p.x, size), shown,
               drop_rounding_error(p.y, size), shown, drop_rounding_error(p.z, size));
}

static void json_witness(tool_output *out, const char *key, const abut_map_witness *w, double error,
                         const tool_surface *others) {
    if (w->other == ABUT_NONE) {
        json_null(out, key);
        return;
    }
    json_object(out, key);
    json_number(out, "distance", w->distance);
    json_number(out, "error", error);
    json_vector(out, "point", w->point);
    json_count(out, "triangle", w->triangle);
    if (others)
        json_path(out, "other", others[w->other].path);
    json_vector(out, "other_point", w->other_point);
    json_count(out, "other_triangle", w->other_triangle);
    json_text(out, "feature", abut_feature_name(w->feature));
    json_end(out);
}

static void print_witness(tool_output *out, const char *key, const map_answer *a,
                          const abut_map_witness *w, double error, const tool_surface *others) {
    const double reach = a->info.reach;
    if (w->other == ABUT_NONE) {
        print_fact(out, key, "nothing found");
        return;
    }
    tool_text words = {0};
    text_print(&words, "%.6g", map_rounded(w->distance, &a->measures));
    if (error > 0 && error < HUGE_VAL)
        text_print(&words, " (at most %.2g %s)", error, strcmp(key, "least") ? "more" : "less");
    text_add(&words, " at ");
    text_point(&words, w->point, reach);
    text_print(&words, " on triangle %u; to ", w->triangle);
    text_point(&words, w->other_point, reach);
    text_print(&words, " on triangle %u", w->other_triangle);
    if (others) {
        text_add(&words, " of ");
        text_safe(&words, path_name(others[w->other].path));
    }
    text_print(&words, ", %s", abut_feature_name(w->feature));
    print_fact(out, key, "%s", text_of(&words));
}

static void print_samples(tool_output *out, const abut_map_info *info) {
    json_count(out, "resolution", info->resolution);
    json_count(out, "samples", info->sample_count);
    json_number(out, "used", info->used);
    json_number(out, "reach", info->reach);
    json_boolean(out, "signed", info->has_sign);
    tool_text words = {0};
    text_grouped(&words, info->sample_count);
    print_fact(out, "samples", "%s in %.1f%% of %u x %u texels; reach %.2g", text_of(&words),
               100 * info->used, info->resolution, info->resolution, info->reach);
}

static void print_quantiles(tool_output *out, const map_answer *a) {
    tool_text words = {0};
    json_list(out, "quantiles");
    for (int k = 0; k < MAP_QUANTILES; k++) {
        if (out->json)
            json_numbers(out, NULL, (double[2]){map_shares[k], a->quantiles[k]}, 2);
        text_print(&words, "%s%g%%: %.4g", k ? ", " : "", 100 * map_shares[k],
                   map_rounded(a->quantiles[k], &a->measures));
    }
    json_end(out);
    print_fact(out, "quantiles", "%s", text_of(&words));
}

/* Prints an area and its percentage. */
static void print_area(tool_output *out, const char *key, double area, double all) {
    json_number(out, key, area);
    print_fact(out, key, "%.6g, %.3g%%", area, all > 0 ? 100 * area / all : 0);
}

void map_number(tool_output *out, const char *key, double distance, const abut_map_measures *m) {
    fact_number(out, key, out->json ? distance : map_rounded(distance, m));
}

void map_within(tool_output *out, const char *key, const map_answer *answer, double limit) {
    const abut_map_measures *m = &answer->measures;
    char area_key[32];
    snprintf(area_key, sizeof area_key, "%s_area", key);
    json_number(out, key, limit);
    json_number(out, area_key, m->within_area);
    print_fact(out, key, "%.6g: area %.6g, %.3g%%", limit, m->within_area,
               m->area > 0 ? 100 * m->within_area / m->area : 0);
}

void map_print(tool_run *tool, const map_answer *a, const tool_surface *others) {
    tool_output *out = &tool->out;
    const abut_map_measures *m = &a->measures;
    print_samples(out, &a->info);
    json_witness(out, "least", &m->min, m->min_error, others);
    json_witness(out, "greatest", &m->max, m->max_error, others);
    print_witness(out, "least", a, &m->min, m->min_error, others);
    print_witness(out, "greatest", a, &m->max, m->max_error, others);
    json_number(out, "area", m->area);
    if (m->found) {
        map_number(out, "mean", m->mean, m);
        map_number(out, "rms", m->rms, m);
        print_quantiles(out, a);
    }
    if (m->found < m->samples)
        print_area(out, "not_found", m->area - m->found_area, m->area);
    if (a->info.has_sign)
        print_area(out, "inside", a->inside_area, m->area);
    if (!m->found) {
        json_null(out, "histogram");
        return;
    }
    json_object(out, "histogram");
    json_number(out, "from", a->scale.least);
    json_number(out, "to", a->scale.most);
    json_numbers(out, "areas", a->areas, MAP_BINS);
    json_end(out);
}

/* ---- histogram ---- */

/* Adds a bar of `share`, from 0 to 1, of the full width; in eighths of a column if the terminal
 * can show them. */
static void add_bar(tool_text *to, double share, bool unicode) {
    static const char *const eighths[8] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    long parts = lrint(8 * BAR_COLUMNS * share);
    parts = parts == 0 && share > 0 ? 1 : parts; /* a positive share is visible */
    for (long k = 0; k < parts / 8; k++)
        text_add(to, unicode ? "█" : "#");
    if (unicode)
        text_add(to, eighths[parts % 8]);
    else if (parts % 8)
        text_add(to, parts < 8 ? "." : "#");
}

static double area_of(const map_answer *a, int line) {
    const int bins = MAP_BINS / MAP_LINES;
    double area = 0;
    for (int k = 0; k < bins; k++)
        area += a->areas[line * bins + k];
    return area;
}

void map_histogram(tool_run *tool, const map_answer *answers, const char *const *names,
                   uint32_t count) {
    tool_output *out = &tool->out;
    const tool_scale *scale = &answers->scale;
    const double range = scale->most - scale->least;
    const double size = fmax(fabs(scale->least), fabs(scale->most));
    double most = 0;
    bool less = false, more = false; /* beyond the scale */
    bool apart = false;              /* by more than rounding errors */
    if (out->json)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const abut_map_measures *m = &answers[i].measures;
        apart =
            apart || map_rounded(m->min.distance, m) != 0 || map_rounded(m->max.distance, m) != 0;
        less = less || (m->found && m->min.distance < scale->least - 1e-5 * range);
        more =
            more || (m->found && !answers[i].cut && m->max.distance > scale->most + 1e-5 * range);
        for (int line = 0; line < MAP_LINES; line++)
            most = fmax(most, area_of(&answers[i], line) / m->area);
    }
    if (!(most > 0) || !apart || range < 1e-5 * size) /* all values are equal */
        return;
    const int digits = range < 1e-3 * size ? 8 : 4;
    out_table(out, "histogram");
    for (int line = 0; line < MAP_LINES; line++) {
        double step = range / MAP_LINES, from = scale->least + line * step;
        out_object(out, NULL);
        if (line == 0 && less)
            print_fact(out, answers->what, "below %.*g", digits,
                       drop_rounding_error(from + step, range));
        else if (line == MAP_LINES - 1 && more)
            print_fact(out, answers->what, "%.*g or more", digits,
                       drop_rounding_error(from, range));
        else
            print_fact(out, answers->what, "%.*g to %.*g", digits, drop_rounding_error(from, range),
                       digits, drop_rounding_error(from + step, range));
        for (uint32_t i = 0; i < count; i++) {
            double share = area_of(&answers[i], line) / answers[i].measures.area;
            tool_text cell = {0};
            text_print(&cell, share >= 0.0005 || share == 0 ? "%5.1f%%" : "%5.1g%%", 100 * share);
            text_add(&cell, share > 0 ? " " : "");
            add_bar(&cell, share / most, out->unicode);
            print_fact(out, names[i], "%s", text_of(&cell));
        }
        out_end(out);
    }
    out_end(out);
}
