/* abut ray: what rays hit first. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const tool_column columns[] = {
    {"x", COLUMN_REAL, NULL},           {"y", COLUMN_REAL, NULL},
    {"z", COLUMN_REAL, NULL},           {"direction_x", COLUMN_REAL, NULL},
    {"direction_y", COLUMN_REAL, NULL}, {"direction_z", COLUMN_REAL, NULL},
    {"parameter", COLUMN_REAL, NULL},   {"hit_x", COLUMN_REAL, NULL},
    {"hit_y", COLUMN_REAL, NULL},       {"hit_z", COLUMN_REAL, NULL},
    {"triangle", COLUMN_WHOLE, NULL}};

typedef struct ray_rows {
    const abut_ray *rays;
    const abut_bvh_hit *hits;
} ray_rows;

static void give_row(const void *data, size_t row, double *values) {
    const ray_rows *rows = data;
    const abut_bvh_hit *hit = &rows->hits[row];
    abut_vec3 o = rows->rays[row].origin, d = rows->rays[row].direction;
    double t = hit->triangle == ABUT_NONE ? (double)NAN : hit->parameter;
    abut_vec3 at = {o.x + t * d.x, o.y + t * d.y, o.z + t * d.z};
    table_vector(values, o);
    table_vector(values + 3, d);
    values[6] = t;
    table_vector(values + 7, at);
    values[10] = hit->triangle == ABUT_NONE ? (double)NAN : hit->triangle;
}

static void summarise(tool_output *out, const char *path, const abut_bvh *bvh,
                      const abut_bvh_hit *hits, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += hits[i].triangle != ABUT_NONE;
    out_object(out, NULL);
    json_path(out, "mesh", path);
    json_count(out, "triangles", abut_bvh_info_get(bvh).triangle_count);
    fact_count(out, "rays", count);
    fact_count(out, "hits", found);
    out_end(out);
}

/* Asks the device where there is one, else the CPU path: the answers are the same. */
static abut_status ask(const abut_bvh *bvh, abut_device *device, const abut_ray *rays, size_t count,
                       double most, abut_bvh_hit *hits) {
    if (!device)
        return abut_bvh_ray_batch(bvh, rays, count, most, hits);
    abut_device_bvh *copy = NULL;
    abut_status status = abut_device_bvh_create(bvh, device, &copy);
    if (!status)
        status = abut_device_bvh_ray_first(copy, rays, count, most, hits);
    abut_device_bvh_destroy(copy);
    return status;
}

static int answer(tool_run *tool, const tool_arguments *arguments, const abut_bvh *bvh,
                  abut_device *device, const abut_ray *rays, size_t count, abut_bvh_hit *hits) {
    const tool_given *most = option_given(arguments, "most");
    const tool_given *out_path = option_given(arguments, "out");
    abut_status status = ask(bvh, device, rays, count, most ? most->numbers[0] : HUGE_VAL, hits);
    if (status)
        return tool_fail(tool, status);
    ray_rows rows = {rays, hits};
    tool_table table = {columns, sizeof columns / sizeof *columns, count, give_row, &rows};
    int code = table_put(tool, out_path ? out_path->words : NULL, &table);
    if (!code && (tool->out.json || (out_path && !tool->quiet)))
        summarise(&tool->out, arguments->operands[0], bvh, hits, count);
    return code;
}

/* The rays of a file, or the one of --from and --towards: origin and direction in turn. */
static int get_rays(tool_run *tool, const tool_arguments *arguments, tool_points *pairs) {
    const tool_given *from = option_given(arguments, "from"),
                     *towards = option_given(arguments, "towards");
    bool named = from || towards;
    if (named == (arguments->operand_count == 2) || !from != !towards)
        return tool_refuse(tool, "name a file of rays, or one ray by --from and --towards");
    if (!named)
        return points_read(tool, arguments->operands[1], 6, pairs);
    abut_vec3 o = {from->numbers[0], from->numbers[1], from->numbers[2]};
    abut_vec3 d = {towards->numbers[0], towards->numbers[1], towards->numbers[2]};
    if (!points_add(pairs, o) || !points_add(pairs, d))
        return tool_fail_with(tool, "out of memory", "there is no memory for a ray");
    return 0;
}

static int run(tool_run *tool, const tool_arguments *arguments) {
    tool_points pairs = {0};
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_device *device = NULL;
    int code = device_open(tool, arguments, &device);
    code = code ? code : get_rays(tool, arguments, &pairs);
    abut_status status = ABUT_OK;
    if (!code && (status = tool_read(tool, arguments->operands[0], NULL, &mesh)))
        code = tool_fail(tool, status);
    if (!code && (status = abut_bvh_create(mesh, NULL, &bvh)))
        code = tool_fail(tool, status);
    size_t count = pairs.count / 2;
    abut_ray *rays = malloc((count + 1) * sizeof *rays);
    abut_bvh_hit *hits = malloc((count + 1) * sizeof *hits);
    if (!code && (!rays || !hits))
        code = tool_fail_with(tool, "out of memory", "there is no memory for the answers");
    for (size_t i = 0; i < count && !code; i++) {
        rays[i].origin = pairs.list[2 * i];
        rays[i].direction = pairs.list[2 * i + 1];
    }
    code = code ? code : answer(tool, arguments, bvh, device, rays, count, hits);
    free(rays);
    free(hits);
    points_free(&pairs);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_device_destroy(device);
    return code;
}

static const tool_option options[] = {
    {"from", "X,Y,Z", OPTION_VECTOR, "origin of a single ray", NULL, false},
    {"towards", "X,Y,Z", OPTION_VECTOR, "its direction, of any length", NULL, false},
    {"most", "T", OPTION_POSITIVE, "look no further than this parameter (default: no limit)", NULL,
     false},
    {"out", "FILE", OPTION_TEXT, "write the table there (.csv, .ply, .npy) and print a summary",
     NULL, false},
    DEVICE_OPTION,
    {0}};

const tool_command command_ray = {
    .name = "ray",
    .operands = "MESH [RAYS]",
    .summary = "what rays hit first",
    .about =
        "For each ray prints the first hit as comma-separated values: the parameter (in lengths "
        "of the direction), the point and the triangle; nothing on a miss. Hit or miss is "
        "exact. Rays come from a file with six numbers a line, origin and direction, or from "
        "--from and --towards. With --json a summary is printed instead; add --out to get "
        "both.",
    .examples = "  abut ray bunny.obj rays.csv >hits.csv\n"
                "  abut ray bunny.obj --from 0,0,5 --towards 0,0,-1\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 2,
    .run = run,
};
