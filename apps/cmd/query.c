/* abut query: rays, closest points, overlaps and shape casts against all bodies of a scene. */
#include "apps/get.h"
#include "interfere.h"

#include <math.h>
#include <string.h>

enum { QUERY_VALUES = 8 };

/* A row of the table: the index of the query, the body (ABUT_NONE: none), and further values. */
typedef struct query_row {
    size_t query;
    uint32_t body;
    double values[QUERY_VALUES];
} query_row;

typedef struct query_run {
    tool_assembly assembly;
    abut_world *world;
    abut_world_query_options filter;
    abut_world_query_report report;
    const tool_column *columns;
    uint32_t column_count;
    query_row *rows;
    size_t row_count, row_room;
    size_t query_count, found; /* rows with a body */
} query_run;

static const tool_column ray_columns[] = {WHOLE("ray"),     NAME("body"), REAL("parameter"),
                                          REAL("x"),        REAL("y"),    REAL("z"),
                                          REAL("nx"),       REAL("ny"),   REAL("nz"),
                                          WHOLE("triangle")};
static const tool_column point_columns[] = {WHOLE("point"),   NAME("body"), REAL("distance"),
                                            REAL("x"),        REAL("y"),    REAL("z"),
                                            WHOLE("triangle")};
static const tool_column overlap_columns[] = {WHOLE("pose"), NAME("body")};
static const tool_column nearest_columns[] = {WHOLE("pose"),  NAME("body"),   REAL("distance"),
                                              REAL("x"),      REAL("y"),      REAL("z"),
                                              REAL("body_x"), REAL("body_y"), REAL("body_z")};
static const tool_column cast_columns[] = {WHOLE("pose"),    NAME("body"), REAL("time"),
                                           REAL("x"),        REAL("y"),    REAL("z"),
                                           REAL("nx"),       REAL("ny"),   REAL("nz"),
                                           WHOLE("triangle")};

#define SET_COLUMNS(run, list) \
    ((run)->columns = (list), (run)->column_count = sizeof(list) / sizeof *(list))

static double index_value(uint32_t index) {
    return index == ABUT_NONE ? (double)NAN : index;
}

/* Adds a row; values are missing if there is no body. */
static double *add_row(query_run *r, size_t query, uint32_t body) {
    tool_grow(&r->rows, r->row_count, &r->row_room, sizeof *r->rows);
    query_row *row = &r->rows[r->row_count++];
    row->query = query;
    row->body = body;
    r->found += body != ABUT_NONE;
    for (int i = 0; i < QUERY_VALUES; i++)
        row->values[i] = (double)NAN;
    return row->values;
}

static void fill_row(const void *data, size_t index, double *values) {
    const query_run *r = data;
    const query_row *row = &r->rows[index];
    values[0] = (double)row->query;
    values[1] = index_value(row->body);
    memcpy(values + 2, row->values, (r->column_count - 2) * sizeof *values);
}

/* ---- rays and points ---- */

static void add_hit(query_run *r, size_t ray, const abut_world_hit *hit) {
    double *values = add_row(r, ray, hit->id);
    if (hit->id == ABUT_NONE)
        return;
    values[0] = hit->parameter;
    table_vector(values + 1, hit->point);
    table_vector(values + 4, hit->normal);
    values[7] = index_value(hit->triangle);
}

static void cast_rays(const tool_arguments *arguments, query_run *r, const tool_points *pairs) {
    const double limit = option_number(arguments, "most", HUGE_VAL);
    const abut_array rays = abut_array_host(pairs->list); /* origin and direction alternate */
    const size_t count = r->query_count = pairs->count / 2;
    SET_COLUMNS(r, ray_columns);
    if (!option_given(arguments, "all")) {
        abut_world_hit *hits = tool_array(count + 1, sizeof *hits);
        ensure(abut_world_ray_first(r->world, rays, count, limit, &r->filter, hits, &r->report));
        for (size_t i = 0; i < count; i++)
            add_hit(r, i, &hits[i]);
        return;
    }
    uint64_t *offsets = tool_array(count + 1, sizeof *offsets);
    abut_world_hit_list found = {NULL, 0, 0};
    FILL_LIST(&found, abut_world_ray_all(r->world, rays, count, limit, &r->filter, offsets, &found,
                                         &r->report));
    for (size_t i = 0; i < count; i++)
        for (uint64_t k = offsets[i]; k < offsets[i + 1]; k++)
            add_hit(r, i, &found.list[k]);
}

static void find_nearest(const tool_arguments *arguments, query_run *r, const tool_points *points) {
    abut_world_nearest *nearest = tool_array(points->count + 1, sizeof *nearest);
    SET_COLUMNS(r, point_columns);
    r->query_count = points->count;
    ensure(abut_world_nearest_point(r->world, abut_array_host(points->list), points->count,
                                    option_number(arguments, "radius", HUGE_VAL), &r->filter,
                                    nearest, &r->report));
    for (size_t i = 0; i < points->count; i++) {
        double *values = add_row(r, i, nearest[i].id);
        if (nearest[i].id == ABUT_NONE)
            continue;
        values[0] = nearest[i].distance;
        table_vector(values + 1, nearest[i].point);
        values[4] = index_value(nearest[i].triangle);
    }
}

/* ---- shapes ---- */

static void find_overlaps(const tool_arguments *arguments, query_run *r,
                          const abut_collider *colliders, size_t count) {
    uint64_t *offsets = tool_array(count + 1, sizeof *offsets);
    abut_index_list found = {NULL, 0, 0};
    const double margin = option_number(arguments, "margin", 0);
    SET_COLUMNS(r, overlap_columns);
    FILL_LIST(&found, abut_world_overlap_all(r->world, colliders, count, margin, &r->filter,
                                             offsets, &found, &r->report));
    for (size_t i = 0; i < count; i++)
        for (uint64_t k = offsets[i]; k < offsets[i + 1]; k++)
            add_row(r, i, found.list[k]);
}

static void find_nearest_bodies(const tool_arguments *arguments, query_run *r,
                                const abut_collider *colliders, size_t count) {
    const uint32_t most = option_count(arguments, "nearest", 1);
    const uint64_t capacity = most < r->assembly.count ? most : r->assembly.count;
    abut_world_separation_list found = {tool_array((size_t)capacity + 1, sizeof *found.list),
                                        capacity, 0};
    SET_COLUMNS(r, nearest_columns);
    for (size_t i = 0; i < count; i++) {
        ensure(abut_world_nearest_items(r->world, &colliders[i],
                                        option_number(arguments, "radius", HUGE_VAL), &r->filter,
                                        &found, &r->report));
        for (uint64_t k = 0; k < found.count; k++) {
            double *values = add_row(r, i, found.list[k].id);
            values[0] = found.list[k].distance;
            table_vector(values + 1, found.list[k].point_collider);
            table_vector(values + 4, found.list[k].point_item);
        }
    }
}

static void add_cast(query_run *r, size_t pose, const abut_world_cast *cast) {
    double *values = add_row(r, pose, cast->id);
    if (cast->id == ABUT_NONE)
        return;
    values[0] = cast->result.time;
    table_vector(values + 1, cast->result.point);
    table_vector(values + 4, cast->result.normal);
    values[7] = index_value(cast->result.triangle[1]);
}

static void cast_shapes(const tool_arguments *arguments, query_run *r,
                        const abut_collider *colliders, size_t count, abut_pose end) {
    abut_sweep_rigid_options sweep = abut_sweep_rigid_options_default();
    abut_pose *ends = tool_array(count + 1, sizeof *ends);
    sweep.separation = option_number(arguments, "margin", 0);
    SET_COLUMNS(r, cast_columns);
    for (size_t i = 0; i < count; i++)
        ends[i] = end;
    if (!option_given(arguments, "all")) {
        abut_world_cast *hits = tool_array(count + 1, sizeof *hits);
        ensure(abut_world_cast_first(r->world, colliders, ends, count, &sweep, &r->filter, hits,
                                     &r->report));
        for (size_t i = 0; i < count; i++)
            add_cast(r, i, &hits[i]);
        return;
    }
    uint64_t *offsets = tool_array(count + 1, sizeof *offsets);
    abut_world_cast_list found = {NULL, 0, 0};
    FILL_LIST(&found, abut_world_cast_all(r->world, colliders, ends, count, &sweep, &r->filter,
                                          offsets, &found, &r->report));
    for (size_t i = 0; i < count; i++)
        for (uint64_t k = offsets[i]; k < offsets[i + 1]; k++)
            add_cast(r, i, &found.list[k]);
}

/* The shape of --with or --mesh at a pose. A primitive may have a pose of its own. */
static abut_collider shape_at(tool_run *tool, const tool_arguments *arguments, const abut_bvh *bvh,
                              const abut_pose *pose) {
    const tool_given *with = option_given(arguments, "with");
    abut_collider shape;
    if (!with)
        return abut_collider_from_bvh(bvh, *pose);
    solid_read(tool, with->words, pose, &shape);
    if (shape.kind == ABUT_COLLIDER_PLANE)
        tool_refuse(tool, "--with must not be a plane: it is %s", with->words);
    return shape;
}

static void query_shape(tool_run *tool, const tool_arguments *arguments, query_run *r) {
    const tool_given *file = option_given(arguments, "mesh"),
                     *many = option_given(arguments, "poses");
    abut_bvh *bvh = NULL;
    tool_poses poses = {0};
    abut_pose one, end;
    const bool moves = pose_option(tool, arguments, "to", &end);
    pose_option(tool, arguments, "pose", &one);
    if (many)
        poses_load(tool, many->words, &poses);
    else
        poses = (tool_poses){&one, 1, 1};
    if (file) {
        abut_mesh *mesh = mesh_read(tool, file->words);
        ensure(abut_bvh_create(mesh, NULL, &bvh));
        abut_mesh_destroy(mesh);
    }
    abut_collider *colliders = tool_array(poses.count, sizeof *colliders);
    for (size_t i = 0; i < poses.count; i++)
        colliders[i] = shape_at(tool, arguments, bvh, &poses.list[i]);
    const abut_pose end_of_shape = moves ? shape_at(tool, arguments, bvh, &end).pose : end;
    r->query_count = poses.count;
    if (moves)
        cast_shapes(arguments, r, colliders, poses.count, end_of_shape);
    else if (option_given(arguments, "nearest"))
        find_nearest_bodies(arguments, r, colliders, poses.count);
    else
        find_overlaps(arguments, r, colliders, poses.count);
    abut_bvh_destroy(bvh);
}

/* ---- command line ---- */

/* Ends the run unless exactly one kind of query is given, with the options that it has. */
static const char *choose_query(tool_run *tool, const tool_arguments *arguments) {
    static const char *const kinds[][2] = {{"from|towards|rays", "from|towards|rays|all|most"},
                                           {"point|points", "point|points|radius"},
                                           {"with|mesh",
                                            "with|mesh|pose|poses|to|margin|nearest|radius|all"}};
    const char *kind = NULL, *options = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (option_any(arguments, kinds[i][0])) {
            if (kind)
                tool_refuse(tool, "rays, points and shapes cannot be combined");
            kind = kinds[i][0];
            options = kinds[i][1];
        }
    if (!kind)
        tool_refuse(tool, "the query is missing: use --from and --towards, --rays, --point, "
                          "--points, --with or --mesh");
    for (size_t i = 0; i < arguments->given_count; i++) {
        const char *name = arguments->given[i].option->name;
        if (!word_in(name, options) && !word_in(name, "skip|mask|out|json|quiet|threads|help"))
            tool_refuse(tool, "--%s does not apply to this query", name);
    }
    if (option_given(arguments, "with") && option_given(arguments, "mesh"))
        tool_refuse(tool, "--with and --mesh cannot be combined");
    if (option_given(arguments, "pose") && option_given(arguments, "poses"))
        tool_refuse(tool, "--pose and --poses cannot be combined");
    if (option_given(arguments, "nearest") && option_any(arguments, "to|margin"))
        tool_refuse(tool, "--nearest cannot be combined with --to and --margin");
    if (option_given(arguments, "radius") && strcmp(kind, "with|mesh") == 0 &&
        !option_given(arguments, "nearest"))
        tool_refuse(tool, "--radius of a shape requires --nearest");
    option_length(tool, option_given(arguments, "margin"));
    return kind;
}

static void make_world(tool_run *tool, const tool_arguments *arguments, query_run *r) {
    tool_item item = {0};
    assembly_load(tool, arguments, false, &r->assembly);
    if (!r->assembly.scene)
        tool_refuse(tool, "%s is not a scene; see docs/scene.md", arguments->operands[0]);
    ensure(abut_world_create(tool->context, NULL, &r->world));
    for (uint32_t i = 0; i < r->assembly.count; i++)
        if (item_add(&r->assembly, i, ABUT_WORLD_EXACT, r->world, &item)) {
            tool_text name = {0};
            assembly_name(&r->assembly, i, &name);
            text_print(&name, ": %s", abut_last_error());
            ensure(abut_set_error(ABUT_ERROR_ARGUMENT, name.data));
        }
    ensure(abut_world_prepare_queries(r->world));
}

static void read_filter(tool_run *tool, const tool_arguments *arguments, query_run *r) {
    uint32_t *ignored = tool_array(arguments->given_count + 1, sizeof *ignored);
    r->filter = abut_world_query_options_default();
    r->report = abut_world_query_report_default();
    r->filter.mask = option_count(arguments, "mask", 0);
    r->filter.ignored = ignored;
    for (size_t i = 0; i < arguments->given_count; i++) {
        const tool_given *given = &arguments->given[i];
        uint32_t body = 0;
        if (strcmp(given->option->name, "skip") != 0)
            continue;
        while (body < r->assembly.count && strcmp(r->assembly.bodies[body].name, given->words) != 0)
            body++;
        if (body == r->assembly.count)
            tool_refuse(tool, "--skip %s: the scene has no body of this name", given->words);
        ignored[r->filter.ignored_count++] = body;
    }
}

static void print_summary(tool_run *tool, const tool_arguments *arguments, const query_run *r) {
    tool_output *out = &tool->out;
    double values[TABLE_COLUMNS];
    out_object(out, NULL);
    json_path(out, "scene", arguments->operands[0]);
    fact_count(out, "bodies", r->assembly.count);
    fact_count(out, "queries", r->query_count);
    fact_count(out, "found", r->found);
    json_count(out, "unseen", r->report.unseen_count);
    json_reliability(out, &r->report.reliability);
    out_list(out, "list");
    for (size_t i = 0; out->json && i < r->row_count; i++) {
        fill_row(r, i, values);
        out_object(out, NULL);
        for (uint32_t k = 0; k < r->column_count; k++)
            if (isnan(values[k]))
                json_null(out, r->columns[k].name);
            else if (r->columns[k].kind == COLUMN_NAME)
                json_text(out, r->columns[k].name, r->assembly.bodies[(size_t)values[k]].name);
            else if (r->columns[k].kind == COLUMN_WHOLE)
                json_count(out, r->columns[k].name, (uint64_t)values[k]);
            else
                json_number(out, r->columns[k].name, values[k]);
        out_end(out);
    }
    out_end(out);
    out_end(out);
}

static int run_query(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *path = option_given(arguments, "out");
    const char *kind = choose_query(tool, arguments);
    query_run r = {.world = NULL};
    tool_points points = {0};
    make_world(tool, arguments, &r);
    read_filter(tool, arguments, &r);
    if (strcmp(kind, "with|mesh") == 0) {
        query_shape(tool, arguments, &r);
    } else {
        const bool is_ray = strcmp(kind, "point|points") != 0;
        const tool_given *from = option_given(arguments, is_ray ? "from" : "point"),
                         *towards = option_given(arguments, "towards"),
                         *file = option_given(arguments, is_ray ? "rays" : "points");
        if (!from == !file || (is_ray && !from != !towards))
            tool_refuse(tool, is_ray ? "use either --from and --towards, or --rays"
                                     : "use either --point or --points");
        if (file && is_ray)
            points_read(tool, file->words, 6, &points);
        else if (file)
            points_load(tool, file->words, &points);
        else
            points_add(&points, vec_of(from->numbers));
        if (towards)
            points_add(&points, vec_of(towards->numbers));
        if (is_ray)
            cast_rays(arguments, &r, &points);
        else
            find_nearest(arguments, &r, &points);
    }
    const tool_table table = {r.columns, r.column_count, r.row_count, fill_row, &r};
    if (!tool->out.json)
        tool_print_reliability(tool, &r.report.reliability);
    table_put_bodies(tool, path ? path->words : NULL, &table, r.assembly.bodies);
    if (tool->out.json || path)
        print_summary(tool, arguments, &r);
    if (tool->out.json || path)
        answer(tool, "%zu", r.found);
    const bool measures = r.columns == point_columns || r.columns == nearest_columns;
    abut_world_destroy(r.world);
    assembly_free(&r.assembly);
    return r.found && !measures ? CODE_FOUND : CODE_FINE;
}

static const tool_option options[] = {
    OPTION("from", "X,Y,Z", VECTOR, "origin of a single ray"),
    OPTION("towards", "X,Y,Z", VECTOR, "direction of the single ray, of any length"),
    OPTION("rays", "FILE", TEXT, "many rays: six numbers on each line, origin and direction"),
    OPTION("most", "T", POSITIVE, "rays: largest ray parameter (default: unlimited)"),
    OPTION("point", "X,Y,Z", VECTOR, "the closest point of all surfaces to this point"),
    OPTION("points", "FILE", TEXT,
           "the same for many points: three numbers on each line, or a "
           "mesh file"),
    OPTION("with", "PRIMITIVE", TEXT,
           "the bodies that overlap sphere:X,Y,Z,R, capsule:X,Y,Z,X,Y,Z,R, box:X,Y,Z,SX,SY,SZ or "
           "cylinder:X,Y,Z,X,Y,Z,R"),
    OPTION("mesh", "FILE", TEXT, "the bodies that overlap this mesh"),
    OPTION("pose", "POSE", TEXT,
           "pose of the shape: X,Y,Z (translation), @z,30 (rotation by 30 degrees about z), "
           "X,Y,Z@1,1,0,30 (rotation, then translation) or X,Y,Z,QX,QY,QZ,QW (with a quaternion)"),
    OPTION("poses", "FILE", TEXT,
           "many poses of the shape, one on each line: x y z, or x y z qx qy qz qw"),
    OPTION("to", "POSE", TEXT,
           "shape cast: the shape moves to this pose, and the first impact is "
           "printed"),
    OPTION("margin", "M", NUMBER,
           "overlap: also bodies within this distance of the shape. With "
           "--to: bodies at this distance count as touching"),
    OPTION("nearest", "K", COUNT, "the K bodies nearest to the shape, with closest points"),
    OPTION("radius", "R", POSITIVE, "points and --nearest: largest distance (default: unlimited)"),
    FLAG("all", "rays and --to: all hits, sorted, one on each line"),
    REPEATED("skip", "NAME", TEXT, "a body that is not seen"),
    OPTION("mask", "BITS", COUNT,
           "only bodies in these groups: the sum of 1 for bodies without a group, "
           "2 for the first group of the scene, 4 for the second and so on"),
    OPTION("out", "FILE", TEXT, "write the table to FILE (.csv, .ply, .npy) and print a summary"),
    {0}};

const tool_command command_query = {
    .name = "query",
    .operands = "SCENE.json",
    .summary = "rays, closest points, overlaps and shape casts in a scene",
    .about =
        "Prints which bodies of a scene (see docs/scene.md) a query hits, as comma-separated "
        "values with the names of bodies. A query is one of four kinds:\n"
        "  rays        --from and --towards, or --rays: the first surface hit\n"
        "  points      --point or --points: the closest point of all surfaces\n"
        "  overlap     --with or --mesh: the bodies that overlap a shape;\n"
        "              with --nearest, the bodies nearest to it\n"
        "  shape cast  --with or --mesh, and --to: the first impact of a shape\n"
        "Characters are meshes in their first pose. Fields are empty for a miss. With --json a "
        "summary with all results is printed instead.",
    .found = "a hit, an overlap or an impact",
    .examples = "  abut query scene.json --from 0,0,9 --towards 0,0,-1\n"
                "  abut query scene.json --rays rays.csv --out hits.csv\n"
                "  abut query scene.json --with sphere:0,0,1,0.5 --margin 0.1\n"
                "  abut query scene.json --mesh robot.ply --pose 5,0,0 --to -5,0,0\n",
    .options = options,
    .operand_range = {1, 1},
    .run = run_query,
};
