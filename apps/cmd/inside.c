/* abut inside: which points are inside a mesh. */
#include "apps/get.h"
#include "view.h"

static const char *place_name(unsigned inside) {
    return inside ? "inside" : "outside";
}

/* The last column is present only with --winding. */
static const tool_column columns[] = {REAL("x"), REAL("y"), REAL("z"), WORD("place", place_name),
                                      REAL("winding")};

typedef struct answers {
    const tool_points *points;
    bool *inside;
    double *winding; /* null without --winding */
} answers;

static void fill_inside_row(const void *data, size_t row, double *values) {
    const answers *a = data;
    table_vector(values, a->points->list[row]);
    values[3] = a->inside[row];
    if (a->winding)
        values[4] = a->winding[row];
}

static void summarise_inside(tool_run *tool, const char *mesh_path, const abut_bvh *bvh,
                             const answers *a) {
    tool_output *out = &tool->out;
    size_t inside = 0;
    for (size_t i = 0; i < a->points->count; i++)
        inside += a->inside[i];
    bool closed = get_sign_info(bvh).is_closed;
    out_object(out, NULL);
    json_path(out, "mesh", mesh_path);
    json_count(out, "triangles", get_bvh_info(bvh).triangle_count);
    json_boolean(out, "closed", closed);
    abut_reliability reliability = get_sign_info(bvh).reliability;
    json_reliability(out, &reliability);
    print_fact(out, "surface", "%s",
               closed ? "no boundary edges: exact"
                      : "boundary edges: by generalised winding numbers");
    fact_count(out, "points", a->points->count);
    fact_count(out, "inside", inside);
    out_end(out);
    answer(tool, "%zu", inside);
}

static void classify_points(tool_run *tool, const tool_arguments *arguments, const abut_bvh *bvh,
                            const tool_points *points) {
    const tool_given *out_path = option_given(arguments, "out");
    bool numbers = option_given(arguments, "winding") != NULL;
    abut_array batch = abut_array_host(points->list);
    answers a = {.points = points, .inside = tool_array(points->count + 1, sizeof *a.inside)};
    ensure(abut_sign_inside_batch(bvh, batch, points->count, abut_array_host(a.inside)));
    if (numbers) {
        a.winding = tool_array(points->count + 1, sizeof *a.winding);
        ensure(abut_sign_winding_batch(bvh, batch, points->count, abut_array_host(a.winding)));
    }
    tool_table table = {columns, numbers ? 5 : 4, points->count, fill_inside_row, &a};
    table_write(tool, out_path ? out_path->words : NULL, &table);
    view_inside(tool, arguments->operands[0], abut_bvh_mesh(bvh), points->list, a.inside,
                points->count);
    abut_reliability reliability = get_sign_info(bvh).reliability;
    tool_print_reliability(tool, &reliability);
    if (tool->out.json || out_path)
        summarise_inside(tool, arguments->operands[0], bvh, &a);
}

static int run_inside(tool_run *tool, const tool_arguments *arguments) {
    abut_bvh *bvh = NULL;
    tool_points points = {0};
    abut_device *device = device_open(tool, arguments);
    points_choose(tool, arguments);
    abut_mesh *mesh = mesh_read(tool, arguments->operands[0]);
    points_get(tool, arguments, mesh, &points);
    device_bvh(mesh, device, &bvh);
    ensure(abut_sign_prepare(bvh, NULL));
    classify_points(tool, arguments, bvh, &points);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    abut_device_destroy(device);
    return CODE_FINE;
}

static const tool_option options[] = {
    FLAG("winding", "also print the winding number of each point"),
    POINTS_OPTIONS,
    OPTION("out", "FILE", TEXT, "write the table to FILE (.csv, .ply, .npy) and print a summary"),
    PAGE_OPTION,
    DEVICE_OPTION,
    {0}};

const tool_command command_inside = {
    .name = "inside",
    .operands = "MESH [POINTS]",
    .summary = "which points are inside a mesh",
    .about = "For each query point, prints whether it is inside the mesh, as comma-separated "
             "values. A point on the surface is inside. If the mesh has no boundary edges, the "
             "result is exact, also if the mesh intersects itself or is inverted. Otherwise a "
             "point is inside if the generalised winding number is at least one half, so that "
             "small holes have no effect. Query points come from a file of numbers (.csv, .txt, "
             ".xyz: x y z on each line), from the vertices of a mesh, or at random. With --json a "
             "summary is printed instead; add --out for both.",
    .examples = "  abut inside bunny.obj points.csv >places.csv\n"
                "  abut inside bunny.obj scan.ply --winding --out places.npy\n"
                "  abut inside bunny.obj --random 100000 --json\n",
    .options = options,
    .operand_range = {1, 2},
    .run = run_inside,
};
