/* abut nearest: the nearest point of a mesh for many points. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const features[] = {"face",     "edge-0",   "edge-1",  "edge-2",
                                       "vertex-0", "vertex-1", "vertex-2"};

static void add_rows(tool_text *to, const tool_points *points, const abut_nearest *nearest) {
    text_add(to, "x,y,z,distance,nearest_x,nearest_y,nearest_z,triangle,feature\n");
    for (size_t i = 0; i < points->count; i++) {
        table_vector(to, points->list[i]);
        if (nearest[i].triangle == ABUT_NONE) {
            text_add(to, ",,,,,,\n");
            continue;
        }
        text_add(to, ",");
        text_number(to, nearest[i].distance);
        text_add(to, ",");
        table_vector(to, nearest[i].point);
        text_print(to, ",%u,%s\n", nearest[i].triangle, features[nearest[i].feature]);
    }
}

/* What all answers have in common. */
static void summarise(tool_output *out, const char *mesh_path, const abut_bvh *bvh,
                      const tool_points *points, const abut_nearest *nearest) {
    double least = INFINITY, most = 0, sum = 0;
    size_t found = 0;
    for (size_t i = 0; i < points->count; i++) {
        if (nearest[i].triangle == ABUT_NONE)
            continue;
        found++;
        sum += nearest[i].distance;
        least = fmin(least, nearest[i].distance);
        most = fmax(most, nearest[i].distance);
    }
    out_object(out, NULL);
    json_path(out, "mesh", mesh_path);
    json_count(out, "triangles", abut_bvh_info_get(bvh).triangle_count);
    fact_count(out, "points", points->count);
    fact_count(out, "found", found);
    if (found) {
        fact_number(out, "least_distance", least);
        fact_number(out, "mean_distance", sum / (double)found);
        fact_number(out, "largest_distance", most);
    } else {
        json_null(out, "least_distance");
        json_null(out, "mean_distance");
        json_null(out, "largest_distance");
    }
    out_end(out);
}

/* Asks the device where there is one, else the CPU path: the answers are the same. */
static abut_status ask(const abut_bvh *bvh, abut_device *device, const abut_points *points,
                       double radius, abut_nearest *nearest) {
    if (!device)
        return abut_bvh_nearest_batch(bvh, points, radius, nearest);
    abut_device_bvh *copy = NULL;
    abut_status status = abut_device_bvh_create(bvh, device, &copy);
    if (!status)
        status = abut_device_bvh_nearest(copy, points, radius, nearest);
    abut_device_bvh_destroy(copy);
    return status;
}

static int answer(tool_run *tool, const tool_arguments *arguments, const abut_bvh *bvh,
                  abut_device *device, const tool_points *points, abut_nearest *nearest) {
    const tool_given *radius = option_given(arguments, "radius");
    const tool_given *out_path = option_given(arguments, "out");
    abut_points batch = abut_points_default();
    batch.points = points->list;
    batch.count = points->count;
    abut_status status = ask(bvh, device, &batch, radius ? radius->numbers[0] : HUGE_VAL, nearest);
    if (status)
        return tool_fail(tool, status);
    tool_text table = {0};
    int code = 0;
    if (out_path || !tool->out.json)
        add_rows(&table, points, nearest);
    if (out_path)
        code = table_write(tool, out_path->words, &table);
    else if (!tool->out.json)
        text_bytes(&tool->out.text, table.data, table.used);
    text_free(&table);
    if (!code && (tool->out.json || (out_path && !tool->quiet)))
        summarise(&tool->out, arguments->operands[0], bvh, points, nearest);
    return code;
}

/* Gets the points that were asked for. */
static int get_points(tool_run *tool, const tool_arguments *arguments, const abut_mesh *mesh,
                      tool_points *points) {
    const tool_given *random = option_given(arguments, "random");
    const tool_given *seed = option_given(arguments, "seed"),
                     *near = option_given(arguments, "near");
    if (!random)
        return points_load(tool, arguments->operands[1], points);
    if (!points_random(mesh, random->counts[0], seed ? seed->counts[0] : 1,
                       near ? near->numbers[0] : 0, points))
        return tool_fail_with(tool, "out of memory", "there is no memory for %u points",
                              random->counts[0]);
    return 0;
}

static int run(tool_run *tool, const tool_arguments *arguments) {
    bool random = option_given(arguments, "random") != NULL;
    if (random == (arguments->operand_count == 2))
        return tool_refuse(tool, random ? "--random makes its own points; leave out the file"
                                        : "the points are missing: name a file or use --random N");
    if (!random && (option_given(arguments, "near") || option_given(arguments, "seed")))
        return tool_refuse(tool, "--near and --seed belong to --random");
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    tool_points points = {0};
    abut_device *device = NULL;
    int code = device_open(tool, arguments, &device);
    abut_status status = ABUT_OK;
    if (!code && (status = tool_read(tool, arguments->operands[0], NULL, &mesh)))
        code = tool_fail(tool, status);
    code = code ? code : get_points(tool, arguments, mesh, &points);
    if (!code && (status = abut_bvh_create(mesh, NULL, &bvh)))
        code = tool_fail(tool, status);
    abut_nearest *nearest = NULL;
    if (!code && !(nearest = malloc(points.count * sizeof *nearest)))
        code = tool_fail_with(tool, "out of memory", "there is no memory for the answers");
    code = code ? code : answer(tool, arguments, bvh, device, &points, nearest);
    free(nearest);
    points_free(&points);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_device_destroy(device);
    return code;
}

static const tool_option options[] = {
    {"radius", "R", OPTION_POSITIVE, "look no further than this (default: no limit)", NULL, false},
    {"random", "N", OPTION_COUNT, "N random points in the box of the mesh, a fifth larger", NULL,
     false},
    {"near", "F", OPTION_POSITIVE,
     "random points within this part of the box's diagonal from the surface instead", NULL, false},
    {"seed", "S", OPTION_COUNT, "start of the random numbers (default: 1)", NULL, false},
    {"out", "FILE", OPTION_TEXT, "write the table there and print a summary", NULL, false},
    DEVICE_OPTION,
    {0}};

const tool_command command_nearest = {
    .name = "nearest",
    .operands = "MESH [POINTS]",
    .summary = "nearest point of a mesh for each of many points",
    .about =
        "For each point prints the distance to the mesh, the nearest point on it, its triangle "
        "and the part of the triangle that it lies on, as comma-separated values. Where "
        "several triangles are equally near, the first is given. Points come from a file of "
        "numbers (.csv, .txt, .xyz: x y z a line), from the vertices of a mesh, or at random. "
        "With --json a summary is printed instead; add --out to get both.",
    .examples = "  abut nearest bunny.obj points.csv >distances.csv\n"
                "  abut nearest bunny.obj scan.ply --out distances.csv\n"
                "  abut nearest bunny.obj --random 100000 --near 0.02 --json\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 2,
    .run = run,
};
