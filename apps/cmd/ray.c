/* abut ray: the first hit, or all hits, of rays with a mesh. */
#include "apps/get.h"
#include "view.h"

#include <math.h>

/* The first column is omitted if each ray has one result. */
static const tool_column columns[] = {WHOLE("ray"),        REAL("x"),           REAL("y"),
                                      REAL("z"),           REAL("direction_x"), REAL("direction_y"),
                                      REAL("direction_z"), REAL("parameter"),   REAL("hit_x"),
                                      REAL("hit_y"),       REAL("hit_z"),       WHOLE("triangle")};

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
    abut_vec3 at = vec_along(o, t, d);
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

static void find_first(const abut_bvh *bvh, double most, answers *a) {
    a->hits = tool_array(a->ray_count + 1, sizeof *a->hits);
    a->count = a->ray_count;
    ensure(abut_ray_first_batch(bvh, abut_array_host(a->rays), a->ray_count, most,
                                abut_array_host(a->hits)));
}

/* Starts with a capacity of a few hits for each ray, then repeats with the required capacity. */
static void find_all(const abut_bvh *bvh, answers *a) {
    uint64_t *offsets = tool_array(a->ray_count + 1, sizeof *offsets);
    uint64_t capacity = 4 * (uint64_t)a->ray_count, total = 0;
    a->hits = tool_array(capacity + 1, sizeof *a->hits);
    while (lacks_room(abut_ray_all_batch(bvh, abut_array_host(a->rays), a->ray_count, capacity,
                                         abut_array_host(offsets), abut_array_host(a->hits),
                                         &total))) {
        capacity = total;
        a->hits = tool_array(capacity + 1, sizeof *a->hits);
    }
    a->count = (size_t)total;
    a->owners = tool_array(a->count + 1, sizeof *a->owners);
    for (size_t i = 0; i < a->ray_count; i++)
        for (uint64_t k = offsets[i]; k < offsets[i + 1]; k++)
            a->owners[k] = i;
}

static void cast_rays(tool_run *tool, const tool_arguments *arguments, const abut_bvh *bvh,
                      const abut_ray *rays, size_t count) {
    const tool_given *all = option_given(arguments, "all");
    const tool_given *out_path = option_given(arguments, "out");
    answers a = {.rays = rays, .ray_count = count};
    if (all)
        find_all(bvh, &a);
    else
        find_first(bvh, option_number(arguments, "most", HUGE_VAL), &a);
    tool_table table = {all ? columns : columns + 1, all ? 12 : 11, a.count, fill_ray_row, &a};
    table_write(tool, out_path ? out_path->words : NULL, &table);
    view_rays(tool, arguments->operands[0], abut_bvh_mesh(bvh), rays, a.owners, a.hits, a.count);
    if (tool->out.json || out_path)
        summarise_ray(tool, arguments->operands[0], bvh, &a);
}

/* Reads the rays of a file, or the one of --from and --towards: origin and direction alternate. */
static void get_rays(tool_run *tool, const tool_arguments *arguments, tool_points *pairs) {
    const tool_given *from = option_given(arguments, "from"),
                     *towards = option_given(arguments, "towards");
    bool named = from || towards;
    if (named == (arguments->operand_count == 2) || !from != !towards)
        tool_refuse(tool, "the rays are missing: name a file of rays, or use --from and --towards "
                          "for a single ray");
    if (!named) {
        points_read(tool, arguments->operands[1], 6, pairs);
        return;
    }
    points_add(pairs, vec_of(from->numbers));
    points_add(pairs, vec_of(towards->numbers));
}

static int run_ray(tool_run *tool, const tool_arguments *arguments) {
    tool_points pairs = {0};
    abut_bvh *bvh = NULL;
    abut_device *device = device_open(tool, arguments);
    if (option_given(arguments, "all") && option_given(arguments, "most"))
        tool_refuse(tool, "--most and --all cannot be combined");
    get_rays(tool, arguments, &pairs);
    abut_mesh *mesh = mesh_read(tool, arguments->operands[0]);
    device_bvh(mesh, device, &bvh);
    size_t count = pairs.count / 2;
    abut_ray *rays = tool_array(count + 1, sizeof *rays);
    for (size_t i = 0; i < count; i++) {
        rays[i].origin = pairs.list[2 * i];
        rays[i].direction = pairs.list[2 * i + 1];
    }
    cast_rays(tool, arguments, bvh, rays, count);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_device_destroy(device);
    return CODE_FINE;
}

static const tool_option options[] = {
    OPTION("from", "X,Y,Z", VECTOR, "origin of a single ray"),
    OPTION("towards", "X,Y,Z", VECTOR, "direction of the single ray, of any length"),
    OPTION("most", "T", POSITIVE, "largest ray parameter (default: unlimited)"),
    FLAG("all", "print all hits of each ray, one on each line"),
    OPTION("out", "FILE", TEXT, "write the table to FILE (.csv, .ply, .npy) and print a summary"),
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
    .operand_range = {1, 2},
    .run = run_ray,
};
