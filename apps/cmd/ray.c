/* abut ray: the first hit, or all hits, of rays with a mesh. */
#include "apps/get.h"
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first column is omitted if each ray has one result. */
static const tool_column columns[] = {
    {"ray", COLUMN_WHOLE, NULL},        {"x", COLUMN_REAL, NULL},
    {"y", COLUMN_REAL, NULL},           {"z", COLUMN_REAL, NULL},
    {"direction_x", COLUMN_REAL, NULL}, {"direction_y", COLUMN_REAL, NULL},
    {"direction_z", COLUMN_REAL, NULL}, {"parameter", COLUMN_REAL, NULL},
    {"hit_x", COLUMN_REAL, NULL},       {"hit_y", COLUMN_REAL, NULL},
    {"hit_z", COLUMN_REAL, NULL},       {"triangle", COLUMN_WHOLE, NULL}};

/* The results: one for each ray, or all hits with the index of the ray for each. */
typedef struct answers {
    const abut_ray *rays;
    size_t ray_count;
    abut_ray_hit *hits;
    size_t *owners; /* null = one for each ray */
    size_t count;
} answers;

static void fill_ray_row(const void *data, size_t row, double *values) {
    const answers *a = data;
    const abut_ray_hit *hit = &a->hits[row];
    size_t ray = a->owners ? a->owners[row] : row;
    abut_vec3 o = a->rays[ray].origin, d = a->rays[ray].direction;
    double t = hit->triangle == ABUT_NONE ? (double)NAN : hit->parameter;
    abut_vec3 at = {o.x + t * d.x, o.y + t * d.y, o.z + t * d.z};
    if (a->owners)
        *values++ = (double)ray;
    table_vector(values, o);
    table_vector(values + 3, d);
    values[6] = t;
    table_vector(values + 7, at);
    values[10] = hit->triangle == ABUT_NONE ? (double)NAN : hit->triangle;
}

static void summarise_ray(tool_run *tool, const char *path, const abut_bvh *bvh, const answers *a) {
    tool_output *out = &tool->out;
    size_t found = 0;
    for (size_t i = 0; i < a->count; i++)
        found += a->hits[i].triangle != ABUT_NONE;
    out_object(out, NULL);
    json_path(out, "mesh", path);
    json_count(out, "triangles", get_bvh_info(bvh).triangle_count);
    fact_count(out, "rays", a->ray_count);
    fact_count(out, "hits", found);
    out_end(out);
    answer(tool, "%zu", found);
}

/* ---- queries, on a device if there is one; the results are equal ---- */

static int fail_out_of_memory(tool_run *tool) {
    return tool_fail_with(tool, "out of memory", "not enough memory for the answers");
}

static int find_first(tool_run *tool, const abut_bvh *bvh, double most, answers *a) {
    a->hits = malloc((a->ray_count + 1) * sizeof *a->hits);
    if (!a->hits)
        return fail_out_of_memory(tool);
    a->count = a->ray_count;
    abut_status status = abut_ray_first_batch(bvh, abut_array_host(a->rays), a->ray_count, most,
                                              abut_array_host(a->hits));
    return status ? tool_fail(tool, status) : 0;
}

/* Starts with a capacity of a few hits for each ray, then repeats with the required capacity. */
static int find_all(tool_run *tool, const abut_bvh *bvh, answers *a) {
    uint64_t *offsets = malloc((a->ray_count + 1) * sizeof *offsets);
    uint64_t capacity = 4 * (uint64_t)a->ray_count, total = 0;
    abut_status status = ABUT_ERROR_BUFFER;
    int code = offsets ? 0 : fail_out_of_memory(tool);
    for (int tries = 0; tries < 2 && !code && status == ABUT_ERROR_BUFFER; tries++) {
        free(a->hits);
        a->hits = malloc((capacity + 1) * sizeof *a->hits);
        if (!a->hits)
            code = fail_out_of_memory(tool);
        else
            status = abut_ray_all_batch(bvh, abut_array_host(a->rays), a->ray_count, capacity,
                                        abut_array_host(offsets), abut_array_host(a->hits), &total);
        capacity = status == ABUT_ERROR_BUFFER ? total : capacity;
    }
    if (!code && status)
        code = tool_fail(tool, status);
    if (!code) {
        a->count = (size_t)total;
        a->owners = malloc((a->count + 1) * sizeof *a->owners);
        code = a->owners ? 0 : fail_out_of_memory(tool);
    }
    for (size_t i = 0; i < a->ray_count && !code; i++)
        for (uint64_t k = offsets[i]; k < offsets[i + 1]; k++)
            a->owners[k] = i;
    free(offsets);
    return code;
}

/* Writes the page: rays up to their first hit, and hits. Rays that miss end after twice the size
 * of the mesh. */
static int write_ray_page(tool_run *tool, const char *path, const abut_bvh *bvh, const answers *a) {
    static const view_kind kinds[] = {{"rays that hit", {0.1f, 0.25f, 0.6f, 1}, true},
                                      {"hits", {0.85f, 0.1f, 0.1f, 1}, false},
                                      {"rays that miss", {0.5f, 0.5f, 0.55f, 1}, true},
                                      {0}};
    size_t used = 0;
    if (!tool->view)
        return 0;
    view_mark *marks = malloc((2 * a->count + 1) * sizeof *marks);
    abut_mesh *mesh = abut_bvh_mesh(bvh);
    abut_box b = abut_mesh_bounds(mesh);
    double size = hypot(hypot(b.hi.x - b.lo.x, b.hi.y - b.lo.y), b.hi.z - b.lo.z);
    for (size_t i = 0; marks && i < a->count; i++) {
        const abut_ray *ray = &a->rays[a->owners ? a->owners[i] : i];
        abut_vec3 o = ray->origin, d = ray->direction;
        bool hit = a->hits[i].triangle != ABUT_NONE;
        double t = hit ? a->hits[i].parameter : size / hypot(hypot(d.x, d.y), d.z);
        abut_vec3 end = {o.x + t * d.x, o.y + t * d.y, o.z + t * d.z};
        marks[used++] = (view_mark){o, end, hit ? 0 : 2};
        if (hit)
            marks[used++] = (view_mark){end, end, 1};
    }
    abut_status status =
        marks ? view_marks_page(tool, path, mesh, marks, used, kinds) : ABUT_ERROR_MEMORY;
    free(marks);
    return !marks ? fail_out_of_memory(tool) : status ? tool_fail(tool, status) : 0;
}

static int cast_rays(tool_run *tool, const tool_arguments *arguments, const abut_bvh *bvh,
                     const abut_ray *rays, size_t count) {
    const tool_given *most = option_given(arguments, "most"), *all = option_given(arguments, "all");
    const tool_given *out_path = option_given(arguments, "out");
    answers a = {.rays = rays, .ray_count = count};
    int code = all ? find_all(tool, bvh, &a)
                   : find_first(tool, bvh, most ? most->numbers[0] : HUGE_VAL, &a);
    tool_table table = {all ? columns : columns + 1, all ? 12 : 11, a.count, fill_ray_row, &a};
    code = code ? code : table_write(tool, out_path ? out_path->words : NULL, &table);
    code = code ? code : write_ray_page(tool, arguments->operands[0], bvh, &a);
    if (!code && (tool->out.json || out_path))
        summarise_ray(tool, arguments->operands[0], bvh, &a);
    free(a.hits);
    free(a.owners);
    return code;
}

/* Reads the rays of a file, or the one of --from and --towards: origin and direction alternate. */
static int get_rays(tool_run *tool, const tool_arguments *arguments, tool_points *pairs) {
    const tool_given *from = option_given(arguments, "from"),
                     *towards = option_given(arguments, "towards");
    bool named = from || towards;
    if (named == (arguments->operand_count == 2) || !from != !towards)
        return tool_refuse(tool, "the rays are missing: name a file of rays, or use --from and "
                                 "--towards for a single ray");
    if (!named)
        return points_read(tool, arguments->operands[1], 6, pairs);
    abut_vec3 o = {from->numbers[0], from->numbers[1], from->numbers[2]};
    abut_vec3 d = {towards->numbers[0], towards->numbers[1], towards->numbers[2]};
    if (!points_add(pairs, o) || !points_add(pairs, d))
        return tool_fail_with(tool, "out of memory", "not enough memory for a ray");
    return 0;
}

static int run_ray(tool_run *tool, const tool_arguments *arguments) {
    tool_points pairs = {0};
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    abut_device *device = NULL;
    int code = device_open(tool, arguments, &device);
    if (!code && option_given(arguments, "all") && option_given(arguments, "most"))
        code = tool_refuse(tool, "--most and --all cannot be combined");
    code = code ? code : get_rays(tool, arguments, &pairs);
    abut_status status = ABUT_OK;
    if (!code && (status = tool_read(tool, arguments->operands[0], NULL, &mesh)))
        code = tool_fail(tool, status);
    if (!code && (status = device_bvh(mesh, device, &bvh)))
        code = tool_fail(tool, status);
    size_t count = pairs.count / 2;
    abut_ray *rays = malloc((count + 1) * sizeof *rays);
    if (!code && !rays)
        code = fail_out_of_memory(tool);
    for (size_t i = 0; i < count && !code; i++) {
        rays[i].origin = pairs.list[2 * i];
        rays[i].direction = pairs.list[2 * i + 1];
    }
    code = code ? code : cast_rays(tool, arguments, bvh, rays, count);
    free(rays);
    points_free(&pairs);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_device_destroy(device);
    return code;
}

static const tool_option options[] = {
    {"from", "X,Y,Z", OPTION_VECTOR, "origin of a single ray", NULL, false},
    {"towards", "X,Y,Z", OPTION_VECTOR, "direction of the single ray, of any length", NULL, false},
    {"most", "T", OPTION_POSITIVE, "largest ray parameter (default: unlimited)", NULL, false},
    {"all", NULL, OPTION_FLAG, "print all hits of each ray, one on each line", NULL, false},
    {"out", "FILE", OPTION_TEXT, "write the table to FILE (.csv, .ply, .npy) and print a summary",
     NULL, false},
    PAGE_OPTION,
    DEVICE_OPTION,
    {0}};

const tool_command command_ray = {
    .name = "ray",
    .operands = "MESH [RAYS]",
    .summary = "first hit, or all hits, of rays with a mesh",
    .about = "For each ray, prints the first hit as comma-separated values: the ray parameter (in "
             "lengths of the direction), the point and the triangle; the fields are empty for a "
             "miss. Hit or miss is exact. With --all, prints all hits, one on each line, with the "
             "index of the ray first. Rays come from a file with six numbers on each line, origin "
             "and direction, or from --from and --towards. With --json a summary is printed "
             "instead; add --out for both.",
    .examples = "  abut ray bunny.obj rays.csv >hits.csv\n"
                "  abut ray bunny.obj --from 0,0,5 --towards 0,0,-1 --all\n",
    .options = options,
    .operand_kind = OPERAND_FILES,
    .operand_least = 1,
    .operand_most = 2,
    .run = run_ray,
};
