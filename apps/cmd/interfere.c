/* abut interfere: interference of many solids: pairs, penetration depths, volumes and positions. */
#include "interfere.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS_MAX = 16 };

/* ---- the table ---- */

static const tool_column columns[] = {NAME("a"),
                                      NAME("b"),
                                      WORD("kind", clash_kind_name),
                                      WHOLE("pixels"),
                                      REAL("depth"),
                                      REAL("volume"),
                                      REAL("volume_error"),
                                      REAL("area"),
                                      REAL("nx"),
                                      REAL("ny"),
                                      REAL("nz"),
                                      REAL("x"),
                                      REAL("y"),
                                      REAL("z"),
                                      REAL("distance"),
                                      REAL("surface"),
                                      REAL("thickness")};

static bool has_normal(const abut_layers_pair *pair) {
    return pair->normal.x != 0 || pair->normal.y != 0 || pair->normal.z != 0;
}

/* Returns whether rays measured a depth; some kinds have none. */
static bool has_depth(const tool_clash *clash) {
    return clash->pair.pixels || clash->kind == CLASH_FLUSH || clash->kind == CLASH_TOUCH;
}

double clash_thickness(const tool_clash *clash) {
    const abut_layers_pair *pair = &clash->pair;
    return pair->surface > 0 ? 2 * pair->volume / pair->surface : NAN;
}

static void fill_interfere_row(const void *data, size_t row, double *values) {
    const tool_clash *clash = &((const tool_clash *)data)[row];
    const abut_layers_pair *pair = &clash->pair;
    values[0] = pair->a;
    values[1] = pair->b;
    values[2] = clash->kind;
    values[3] = (double)pair->pixels;
    values[4] = has_depth(clash) ? pair->depth : NAN;
    values[5] = pair->volume;
    values[6] = pair->volume_error;
    values[7] = pair->area;
    table_vector(values + 8, pair->normal);
    table_vector(values + 11, pair->centre);
    values[14] = clash->distance;
    values[15] = pair->surface > 0 ? pair->surface : NAN;
    values[16] = clash_thickness(clash);
    for (int k = 8; k < 11 && !has_normal(pair); k++)
        values[k] = NAN;
}

/* ---- text output ---- */

/* Sorts by severity: the largest volume first, then the smallest distance; equal floats in the
 * order of the bodies. */
static float severity_of(const tool_clash *clash) {
    return (float)(clash->kind == CLASH_NEAR ? -clash->distance : clash->pair.volume);
}

static int compare_severity(const void *a, const void *b) {
    const tool_clash *p = *(const tool_clash *const *)a, *q = *(const tool_clash *const *)b;
    float left = severity_of(p), right = severity_of(q);
    return left > right ? -1 : left < right ? 1 : p < q ? -1 : p > q;
}

/* Prints the depth of images, otherwise the thickness; or the distance. */
static void print_size(tool_output *out, const clash_options *options, const tool_clash *clash) {
    const char *key = options->query.measure_volume ? "thickness" : "depth";
    double size = clash->kind == CLASH_FLUSH || clash->kind == CLASH_TOUCH ? 0
                  : options->query.measure_volume && clash->kind != CLASH_ITSELF
                      ? clash_thickness(clash)
                  : has_depth(clash) ? clash->pair.depth
                                     : NAN;
    if (clash->kind == CLASH_NEAR)
        print_fact(out, key, "gap %.4g", clash->distance);
    else if (isfinite(size))
        print_fact(out, key, "%.4g", size);
    else
        print_fact(out, key, "%s", "");
}

static void print_vector(tool_output *out, const char *key, bool there, abut_vec3 v, double small) {
    double n[3] = {v.x, v.y, v.z};
    for (int k = 0; k < 3; k++)
        n[k] = fabs(n[k]) < small ? 0 : n[k];
    char words[POINT_WORDS];
    if (there)
        print_fact(out, key, "%s", point_words(vec_of(n), 4, words));
    else
        print_fact(out, key, "%s", "");
}

static void print_row(tool_output *out, const tool_assembly *assembly, const clash_options *options,
                      const tool_clash *clash) {
    const abut_layers_pair *pair = &clash->pair;
    tool_text names[2] = {{0}, {0}};
    text_safe(&names[0], assembly->bodies[pair->a].name);
    if (pair->b != pair->a)
        text_safe(&names[1], assembly->bodies[pair->b].name);
    out_object(out, NULL);
    print_fact(out, "a", "%s", text_of(&names[0]));
    print_fact(out, "", "%s", clash_kind_words(clash->kind));
    print_fact(out, "b", "%s", text_of(&names[1]));
    print_size(out, options, clash);
    if (options->query.measure_volume && clash->kind != CLASH_ITSELF)
        print_fact(out, "volume", "%.6g", pair->volume);
    else
        print_fact(out, "volume", "%.4g +- %.1g", pair->volume, pair->volume_error);
    if (options->query.measure_volume) /* of the intersection, or of the contact area */
        print_fact(out, "surface", "%.4g", pair->surface > 0 ? pair->surface : pair->area);
    else
        print_fact(out, "area", "%.4g", pair->area);
    print_vector(out, "normal", has_normal(pair), pair->normal, 1e-6);
    double size = box_diagonal(&pair->box); /* digits due to rounding or pixels */
    print_vector(out, "position", true, pair->centre,
                 (options->query.measure_volume ? 1e-9 : 1e-3) * size);
    if (options->query.count_edges)
        print_fact(out, "edges of a, b", "%llu, %llu", (unsigned long long)pair->edges_a,
                   (unsigned long long)pair->edges_b);
    out_end(out);
}

void clashes_print(tool_run *tool, const tool_assembly *assembly, const clash_options *options,
                   const tool_clashes *clashes, size_t first) {
    tool_output *out = &tool->out;
    const tool_clash **order = tool_array(clashes->count + 1, sizeof *order);
    for (size_t i = 0; i < clashes->count; i++)
        order[i] = &clashes->list[i];
    qsort(order, clashes->count, sizeof *order, compare_severity);
    out_table(out, "pairs");
    for (size_t i = 0; i < clashes->count && i < first; i++)
        print_row(out, assembly, options, order[i]);
    out_end(out);
    if (clashes->count > first)
        print_line(out, "... and %zu more; --first N shows N, --out FILE writes all",
                   clashes->count - first);
}

/* ---- JSON output ---- */

static void json_pair(tool_output *out, const tool_assembly *assembly, const clash_options *options,
                      const tool_clash *clash) {
    const abut_layers_pair *pair = &clash->pair;
    out_object(out, NULL);
    json_text(out, "a", assembly->bodies[pair->a].name);
    json_text(out, "b", assembly->bodies[pair->b].name);
    json_text(out, "kind", clash_kind_name(clash->kind));
    if (clash->kind == CLASH_NEAR) {
        json_number(out, "distance", clash->distance);
        json_vector(out, "from", clash->from);
        json_vector(out, "to", clash->to);
        out_end(out);
        return;
    }
    json_count(out, "views", pair->view_count);
    json_count(out, "pixels", pair->pixels);
    json_number(out, "depth", has_depth(clash) ? pair->depth : NAN);
    json_number(out, "length", has_depth(clash) ? pair->length : NAN);
    json_number(out, "mean_length", has_depth(clash) ? pair->mean_length : NAN);
    json_number(out, "volume", pair->volume);
    json_number(out, "volume_error", pair->volume_error);
    json_number(out, "area", pair->area);
    if (options->query.measure_volume) {
        json_number(out, "surface", pair->surface);
        json_number(out, "thickness", clash_thickness(clash));
    }
    if (has_normal(pair))
        json_vector(out, "normal", pair->normal);
    else
        json_null(out, "normal");
    json_vector(out, "centre", pair->centre);
    json_numbers(out, "box", &pair->box.lo.x, 6);
    if (options->query.count_edges) {
        json_count(out, "edges_a", pair->edges_a);
        json_count(out, "edges_b", pair->edges_b);
    }
    out_end(out);
}

void clashes_count(tool_output *out, const tool_clashes *clashes) {
    static const char *const words[CLASH_KINDS] = {[CLASH_OVERLAP] = "overlap",
                                                   [CLASH_CUTS] = "intersect",
                                                   [CLASH_A_INSIDE] = "inside another",
                                                   [CLASH_B_INSIDE] = "inside another",
                                                   [CLASH_SAME] = "identical",
                                                   [CLASH_FLUSH] = "flush",
                                                   [CLASH_TOUCH] = "touch",
                                                   [CLASH_NEAR] = "near",
                                                   [CLASH_ITSELF] = "overlap themselves"};
    size_t counts[CLASH_KINDS] = {0};
    tool_text text = {0};
    for (size_t i = 0; i < clashes->count; i++) {
        clash_kind kind = clashes->list[i].kind;
        counts[kind == CLASH_B_INSIDE ? CLASH_A_INSIDE : kind]++;
    }
    for (int k = 0; k < CLASH_KINDS; k++)
        if (counts[k])
            text_print(&text, "%s%zu %s", text.used ? ", " : "", counts[k], words[k]);
    print_fact(out, "found", "%s", text.data ? text.data : "nothing");
}

static void print_clashes(tool_run *tool, const tool_arguments *arguments,
                          const tool_assembly *assembly, const clash_options *options,
                          const tool_clashes *clashes) {
    tool_output *out = &tool->out;
    const tool_given *path = option_given(arguments, "out"),
                     *images = option_given(arguments, "images");
    tool_table table = {columns, sizeof columns / sizeof *columns, clashes->count,
                        fill_interfere_row, clashes->list};
    if (path)
        table_put_bodies(tool, path->words, &table, assembly->bodies);
    out_object(out, NULL);
    fact_count(out, "bodies", assembly->count);
    json_count(out, "found", clashes->count);
    if (assembly->count == 1 && !clashes->count)
        print_fact(out, "found", "nothing: there is only one body%s",
                   assembly->scene                    ? ""
                   : option_given(arguments, "parts") ? ", also with --parts"
                                                      : "; with --parts each solid is a body");
    else
        clashes_count(out, clashes);
    json_number(out, "tolerance", clashes->tolerance);
    json_count(out, "fragments", clashes->fragments);
    if (options->query.measure_volume)
        json_count(out, "candidates", clashes->candidates);
    json_reliability(out, &clashes->reliability);
    pictures_print_paths(tool, arguments);
    if (images)
        clashes_images(tool, clashes, &options->query, images->words);
    if (out->json) {
        out_list(out, "pairs");
        for (size_t i = 0; i < clashes->count; i++)
            json_pair(out, assembly, options, &clashes->list[i]);
        out_end(out);
    } else if (clashes->count && !path) {
        clashes_print(tool, assembly, options, clashes, option_count(arguments, "first", 30));
    }
    out_end(out);
    answer(tool, "%zu", clashes->count);
}

/* ---- options ---- */

/* Reads "x", "xyz", or X,Y,Z;X,Y,Z: directions of parallel rays. */
static void read_views(tool_run *tool, const char *words, abut_raster_view *views,
                       abut_layers_query *query) {
    uint32_t count = 0;
    bool good = true;
    if (word_in(words, "x|y|z|xy|xz|yz|xyz")) {
        for (; *words; words++)
            views[count++].direction =
                (abut_vec3){*words == 'x', *words == 'y', *words == 'z' ? -1 : 0};
    } else {
        char one[100];
        for (const char *at = words; good && at; count++) {
            const char *end = strchr(at, ';');
            size_t length = end ? (size_t)(end - at) : strlen(at);
            double n[3];
            good = count < VIEWS_MAX && length < sizeof one;
            if (!good)
                break;
            memcpy(one, at, length);
            one[length] = 0;
            good = read_numbers(one, n, 3) == 3 && (n[0] != 0 || n[1] != 0 || n[2] != 0);
            if (good)
                views[count].direction = vec_of(n);
            at = end ? end + 1 : NULL;
        }
    }
    if (!good)
        tool_refuse(tool,
                    "--views must be some of xyz, or up to %d directions X,Y,Z;X,Y,Z, not '%s'",
                    VIEWS_MAX, words);
    query->views = views;
    query->view_count = count;
}

static void read_interfere_options(tool_run *tool, const tool_arguments *arguments,
                                   abut_raster_view *views, clash_options *options) {
    const tool_given *directions = option_given(arguments, "views"),
                     *method = option_given(arguments, "method"),
                     *resolution = option_given(arguments, "resolution"),
                     *tolerance = option_given(arguments, "tolerance"),
                     *clearance = option_given(arguments, "clearance");
    *options = (clash_options){.query = abut_layers_query_default()};
    abut_layers_query *query = &options->query;
    for (int i = 0; i < VIEWS_MAX; i++)
        views[i] = abut_raster_view_default();
    if (resolution &&
        (!read_count(resolution->words, &query->resolution) || query->resolution > ABUT_RASTER_MAX))
        tool_refuse(tool, "--resolution must be a whole number from 1 to %d, not '%s'",
                    ABUT_RASTER_MAX, resolution->words);
    option_length(tool, tolerance);
    option_length(tool, clearance);
    query->tolerance = tolerance ? tolerance->numbers[0] : 0;
    /* 0.05 in a file is not exact in binary: a relative margin makes the test independent of
     * rounding. */
    options->clearance =
        clearance ? fmin(clearance->numbers[0] * (1 + 1e-6), ABUT_COORDINATE_MAX) : 0;
    if (method && !word_in(method->words, "exact|images"))
        tool_refuse(tool, "--method must be exact or images, not '%s'", method->words);
    query->measure_volume = !method || strcmp(method->words, "exact") == 0;
    if (option_given(arguments, "touching") && !query->measure_volume)
        tool_refuse(tool, "--touching requires --method exact: images do not show bodies that "
                          "touch without an intersection volume");
    options->touching = option_given(arguments, "touching") || clearance;
    query->count_edges = option_given(arguments, "edges") != NULL;
    query->find_self = option_given(arguments, "own") != NULL;
    if ((directions || resolution) && query->measure_volume && !query->count_edges &&
        !query->find_self && !option_given(arguments, "images"))
        tool_refuse(tool,
                    "--views and --resolution require --method images, --own, --edges or --images");
    options->cap = option_given(arguments, "cap") != NULL;
    picture_options_check(tool, arguments);
    if (directions)
        read_views(tool, directions->words, views, query);
}

static int run_interfere(tool_run *tool, const tool_arguments *arguments, tool_assembly *assembly,
                         const clash_options *options, tool_clashes *clashes) {
    const tool_given *png = picture_given(arguments);
    clashes_find(tool, assembly, options, clashes);
    clashes_print_reliability(tool, assembly, options, clashes);
    abut_picture_options camera = abut_picture_options_default();
    if (png)
        camera_read(tool, arguments, &camera);
    if (png)
        clashes_draw(tool, &camera, assembly, clashes, png->words);
    print_clashes(tool, arguments, assembly, options, clashes);
    return clashes->count ? CODE_FOUND : CODE_FINE;
}

static int run_interfere_command(tool_run *tool, const tool_arguments *arguments) {
    tool_assembly assembly = {0};
    tool_clashes clashes = {0};
    clash_options options;
    abut_raster_view views[VIEWS_MAX];
    read_interfere_options(tool, arguments, views, &options);
    options.device = device_open(tool, arguments);
    assembly_load(tool, arguments, option_given(arguments, "parts") != NULL, &assembly);
    int code = run_interfere(tool, arguments, &assembly, &options, &clashes);
    abut_layers_destroy(clashes.layers);
    assembly_free(&assembly);
    abut_device_destroy(options.device);
    return code;
}

static const tool_option options[] = {
    FLAG("touching",
         "also pairs that touch without an intersection volume: flush faces, an edge, a point"),
    OPTION("clearance", "D", POSITIVE, "also pairs that touch or whose distance is at most D"),
    OPTION("tolerance", "T", POSITIVE,
           "intersections at most this thick have no volume: the bodies touch (default: 1e-9 of "
           "the smaller body; with --method images along a ray, 1e-6 of the depth of a view)"),
    CHOICE("method", "METHOD", TEXT,
           "exact: from the triangles (default); images: from rays through the pixels of several "
           "views, which miss overlaps smaller than a pixel",
           "exact|images"),
    CHOICE("views", "DIRECTIONS", TEXT,
           "images: ray directions, some of xyz, or X,Y,Z;X,Y,Z (default: xyz)", "x|xy|xyz"),
    OPTION("resolution", "N", TEXT,
           "images: pixels along the larger side of a view (default: 1024)"),
    FLAG("own", "also solids that overlap themselves, from images"),
    FLAG("edges",
         "also the number of pixels in which edges of one body are inside the other, from images"),
    FLAG("parts", "each solid of a file is a body: for an assembly in one file"),
    FLAG("cap", "close the holes of meshes; without it, open meshes are an error"),
    OPTION("first", "N", COUNT,
           "rows of the printed table, the largest volume first (default: 30)"),
    OPTION("out", "FILE", TEXT, "write all pairs to FILE (.csv, .npy, .ply) and print a summary"),
    OPTION("png", "FILE", TEXT, "draw the intersections in colours and the bodies translucent"),
    PAGE_OPTION,
    OPTION("images", "PREFIX", TEXT,
           "write images of the first view: PREFIX-count.png and so on (surfaces, depths, edges, "
           "overlaps, pairs), and PREFIX-all.png with all of them"),
    CAMERA_OPTIONS("iso"),
    DEVICE_OPTION,
    {0}};

const tool_command command_interfere = {
    .name = "interfere",
    .operands = "SCENE.json | MESH...",
    .summary = "interference of many solids: pairs, volumes, positions",
    .about =
        "Finds all pairs of bodies that intersect, and no others, exactly from their triangles. "
        "Bodies are those of a scene (see docs/scene.md), or one for each file; meshes have to be "
        "closed.\n\n"
        "Prints for each pair its kind, the volume and surface area of the intersection, its mean "
        "thickness (twice the volume over the area), the normal (from b to a) and the position.\n\n"
        "--method images finds overlaps by rays through the pixels of several views instead, also "
        "on a device: it misses overlaps smaller than a pixel. The depth is then the longest "
        "interval of a ray inside both bodies, in the view in which this is shortest.",
    .found = "an overlap, with --touching a touch, with --clearance a pair within it",
    .examples = "  abut interfere plate.stl bolt.stl nut.stl\n"
                "  abut interfere assembly.stl --parts --out clashes.csv\n"
                "  abut interfere scene.json --clearance 0.01 --png clashes.png\n"
                "  abut interfere scene.json --method images --resolution 256 --images view\n",
    .options = options,
    .operand_range = {1, UINT32_MAX},
    .run = run_interfere_command,
};
