/* abut nearest: the closest point of a mesh, or the k nearest triangles, for many points. */
#include "apps/get.h"
#include "view.h"

#include <math.h>
#include <string.h>

/* The first column is omitted if each point has one result. */
static const tool_column columns[] = {WHOLE("point"),    REAL("x"),
                                      REAL("y"),         REAL("z"),
                                      REAL("distance"),  REAL("nearest_x"),
                                      REAL("nearest_y"), REAL("nearest_z"),
                                      WHOLE("triangle"), WORD("feature", abut_feature_name)};

/* The results: one for each point, or several with the index of the point for each. */
typedef struct answers {
    const tool_points *points;
    abut_nearest *nearest;
    size_t *owners; /* null = one for each point */
    size_t count;
} answers;

static void fill_nearest_row(const void *data, size_t row, double *values) {
    const answers *found = data;
    const abut_nearest *nearest = &found->nearest[row];
    size_t point = found->owners ? found->owners[row] : row;
    if (found->owners)
        *values++ = (double)point;
    table_vector(values, found->points->list[point]);
    for (int i = 3; i < 9; i++)
        values[i] = NAN;
    if (nearest->triangle == ABUT_NONE)
        return;
    values[3] = nearest->distance;
    table_vector(values + 4, nearest->point);
    values[7] = nearest->triangle;
    values[8] = nearest->feature;
}

/* Statistics of all results. */
static void summarise_nearest(tool_output *out, const char *mesh_path, const abut_bvh *bvh,
                              const answers *a) {
    double least = INFINITY, most = -INFINITY, sum = 0;
    size_t found = 0, inside = 0;
    for (size_t i = 0; i < a->count; i++) {
        const abut_nearest *nearest = &a->nearest[i];
        if (nearest->triangle == ABUT_NONE)
            continue;
        found++;
        inside += nearest->distance < 0;
        sum += nearest->distance;
        least = fmin(least, nearest->distance);
        most = fmax(most, nearest->distance);
    }
    out_object(out, NULL);
    json_path(out, "mesh", mesh_path);
    json_count(out, "triangles", get_bvh_info(bvh).triangle_count);
    fact_count(out, "points", a->points->count);
    fact_count(out, "found", found);
    if (get_sign_info(bvh).method) {
        abut_reliability reliability = get_sign_info(bvh).reliability;
        json_reliability(out, &reliability);
        fact_count(out, "inside", inside);
    }
    if (found || out->json) { /* null if nothing was found */
        fact_number(out, "least_distance", least);
        fact_number(out, "mean_distance", sum / (double)found);
        fact_number(out, "largest_distance", most);
    }
    out_end(out);
}

/* ---- queries ---- */

static void find_many(const abut_bvh *bvh, const tool_points *points, double radius, uint32_t most,
                      answers *a) {
    uint32_t triangles = get_bvh_info(bvh).triangle_count;
    most = most < triangles ? most : triangles;
    uint32_t *counts = tool_array(points->count + 1, sizeof *counts);
    a->nearest = tool_array(points->count + 1, most * sizeof *a->nearest);
    ensure(abut_nearest_k_batch(bvh, abut_array_host(points->list), points->count, radius, most,
                                abut_array_host(a->nearest), abut_array_host(counts)));
    a->owners = tool_array(points->count * most + 1, sizeof *a->owners);
    for (size_t i = 0; i < points->count; i++) /* into one list, without gaps */
        for (uint32_t k = 0; k < counts[i]; k++) {
            a->nearest[a->count] = a->nearest[i * most + k];
            a->owners[a->count++] = i;
        }
}

static void find_one(const abut_bvh *bvh, const tool_points *points, double radius, bool is_signed,
                     answers *a) {
    a->nearest = tool_array(points->count + 1, sizeof *a->nearest);
    a->count = points->count;
    const abut_array batch = abut_array_host(points->list);
    if (is_signed)
        ensure(abut_sign_nearest_batch(bvh, batch, points->count, radius,
                                       abut_array_host(a->nearest)));
    else
        ensure(abut_nearest_point_batch(bvh, batch, points->count, radius,
                                        abut_array_host(a->nearest)));
}

static void find_nearest(tool_run *tool, const tool_arguments *arguments, const abut_bvh *bvh,
                         const tool_points *points) {
    const tool_given *most = option_given(arguments, "most");
    const tool_given *out_path = option_given(arguments, "out");
    double reach = option_number(arguments, "radius", HUGE_VAL);
    answers a = {.points = points};
    if (most)
        find_many(bvh, points, reach, most->counts[0], &a);
    else
        find_one(bvh, points, reach, option_given(arguments, "sign"), &a);
    tool_table table = {most ? columns : columns + 1, most ? 10 : 9, a.count, fill_nearest_row, &a};
    table_write(tool, out_path ? out_path->words : NULL, &table);
    view_nearest(tool, arguments->operands[0], abut_bvh_mesh(bvh), points->list, a.owners,
                 a.nearest, a.count);
    abut_reliability reliability = get_sign_info(bvh).reliability;
    if (reliability.reason)
        tool_print_reliability(tool, &reliability);
    if (tool->out.json || (out_path && !tool->quiet))
        summarise_nearest(&tool->out, arguments->operands[0], bvh, &a);
}

/* Prepares the BVH for signs if --sign is given. */
static void prepare_signs(const tool_arguments *arguments, abut_bvh *bvh) {
    const tool_given *sign = option_given(arguments, "sign");
    abut_sign_options sign_options = abut_sign_options_default();
    if (!sign)
        return;
    if (strcmp(sign->words, "normal") == 0)
        sign_options.method = ABUT_SIGN_NORMAL;
    ensure(abut_sign_prepare(bvh, &sign_options));
}

static int run_nearest(tool_run *tool, const tool_arguments *arguments) {
    abut_bvh *bvh = NULL;
    tool_points points = {0};
    points_choose(tool, arguments);
    abut_device *device = device_open(tool, arguments);
    if (option_given(arguments, "sign") && option_given(arguments, "most"))
        tool_refuse(tool, "--sign and --most cannot be combined: a point has one sign");
    abut_mesh *mesh = mesh_read(tool, arguments->operands[0]);
    points_get(tool, arguments, mesh, &points);
    device_bvh(mesh, device, &bvh);
    prepare_signs(arguments, bvh);
    find_nearest(tool, arguments, bvh, &points);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_device_destroy(device);
    return CODE_FINE;
}

static const tool_option options[] = {
    OPTION("radius", "R", POSITIVE, "search radius (default: unlimited)"),
    CHOICE("sign", "METHOD", CHOICE,
           "signed distances, negative inside: by winding numbers or by pseudo-normals",
           "winding|normal"),
    OPTION("most", "K", COUNT, "the K nearest triangles of each point"),
    POINTS_OPTIONS,
    OPTION("out", "FILE", TEXT, "write the table to FILE (.csv, .ply, .npy) and print a summary"),
    PAGE_OPTION,
    DEVICE_OPTION,
    {0}};

const tool_command command_nearest = {
    .name = "nearest",
    .operands = "MESH [POINTS]",
    .summary = "closest point of a mesh, or k nearest triangles, for many points",
    .about =
        "For each query point, prints comma-separated values: the distance to the mesh, the "
        "closest point on it, its triangle and the feature of the triangle (face, edge, vertex). "
        "If several triangles are equally near, the lowest index is printed. Query points come "
        "from a file of numbers (.csv, .txt, .xyz: x y z on each line), from the vertices of a "
        "mesh, or at random. With --json a summary is printed instead; add --out for both.",
    .examples = "  abut nearest bunny.obj points.csv >distances.csv\n"
                "  abut nearest bunny.obj scan.ply --out distances.csv\n"
                "  abut nearest bunny.obj scan.ply --sign winding --out distances.npy\n"
                "  abut nearest bunny.obj --random 100000 --near 0.02 --json\n",
    .options = options,
    .operand_range = {1, 2},
    .run = run_nearest,
};
