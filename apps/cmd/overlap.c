/* abut overlap: whether two meshes touch, where, and the measures of their intersection. */
#include "tool.h"

#include <math.h>

static const char *words_for(abut_pair_relation relation) {
    static const char *const words[] = {"no", "yes: triangles intersect",
                                        "yes: A, or a component of it, is inside B",
                                        "yes: B, or a component of it, is inside A"};
    return words[relation];
}

/* ---- pairs of triangles ---- */

static void find_intersections(const tool_pair *pair, abut_pair_intersection_list *found) {
    abut_collider a = pair_posed(pair, 0), b = pair_posed(pair, 1);
    FILL_LIST(found, abut_pair_intersections(&a, &b, found));
}

static const tool_column meeting_columns[] = {
    WHOLE("triangle_a"), WHOLE("triangle_b"), WORD("intersection", abut_intersection_name),
    REAL("x"),           REAL("y"),           REAL("z"),
    REAL("to_x"),        REAL("to_y"),        REAL("to_z")};

static void fill_intersection_row(const void *data, size_t row, double *values) {
    const abut_pair_intersection *m = &((const abut_pair_intersection_list *)data)->list[row];
    values[0] = m->triangle_a;
    values[1] = m->triangle_b;
    values[2] = m->kind;
    table_vector(values + 3, m->segment.end[0]);
    table_vector(values + 6, m->segment.end[1]);
}

static void json_intersections(tool_output *out, const abut_pair_intersection_list *found) {
    out_list(out, "meetings");
    for (uint64_t i = 0; out->json && i < found->count; i++) {
        const abut_pair_intersection *m = &found->list[i];
        out_object(out, NULL);
        json_count(out, "triangle_a", m->triangle_a);
        json_count(out, "triangle_b", m->triangle_b);
        json_text(out, "intersection", abut_intersection_name(m->kind));
        json_vector(out, "from", m->segment.end[0]);
        json_vector(out, "to", m->segment.end[1]);
        out_end(out);
    }
    out_end(out);
}

static void draw_intersections(tool_run *tool, const tool_arguments *arguments,
                               const tool_pair *pair, const abut_pair_intersection_list *found) {
    abut_segment *segments = tool_array((size_t)found->count + 1, sizeof *segments);
    for (uint64_t i = 0; i < found->count; i++)
        segments[i] = found->list[i].segment;
    pair_picture(tool, arguments, pair, segments, (size_t)found->count, false);
}

/* ---- one pose ---- */

static int overlap_at_pose(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair) {
    tool_output *out = &tool->out;
    bool listed = option_given(arguments, "pairs") != NULL;
    bool table = listed && (!out->json || option_given(arguments, "out"));
    abut_collider a = pair_posed(pair, 0), b = pair_posed(pair, 1);
    abut_overlap overlap;
    abut_pair_intersection_list found = {0};
    ensure(abut_pair_overlap(&a, &b, &pair->options, NULL, &overlap));
    abut_pair_relation relation = overlap.relation;
    tool_print_reliability(tool, &overlap.reliability);
    if (relation == ABUT_PAIR_APART)
        print_unit_note(tool, arguments->operands[0], abut_bvh_mesh(pair->bvh[0]),
                        arguments->operands[1], abut_bvh_mesh(pair->bvh[1]));
    if (listed || picture_given(arguments))
        find_intersections(pair, &found);
    if (table)
        pair_table(tool, arguments,
                   &(tool_table){meeting_columns, 9, (size_t)found.count, fill_intersection_row,
                                 &found});
    if (out->json || !table || option_given(arguments, "out")) {
        pair_begin(out, arguments);
        json_boolean(out, "overlap", relation != ABUT_PAIR_APART);
        json_text(out, "relation", abut_pair_relation_name(relation));
        json_reliability(out, &overlap.reliability);
        print_fact(out, "overlap", "%s", words_for(relation));
        if (listed)
            fact_count(out, "pairs", found.count);
        if (listed && !table)
            json_intersections(out, &found);
        draw_intersections(tool, arguments, pair, &found);
        out_end(out);
        answer(tool, "%s", tool_yes_or_no(relation != ABUT_PAIR_APART, &overlap.reliability));
    } else {
        draw_intersections(tool, arguments, pair, &found);
    }
    return tool_outcome(relation != ABUT_PAIR_APART, &overlap.reliability);
}

/* ---- many poses ---- */

static const tool_column pose_columns[] = {WHOLE("pose"), WORD("overlap", table_boolean),
                                           WORD("relation", abut_pair_relation_name)};

static void fill_pose_row(const void *data, size_t row, double *values) {
    const abut_pair_relation *relations = data;
    values[0] = (double)row;
    values[1] = relations[row] != ABUT_PAIR_APART;
    values[2] = relations[row];
}

/* Prints the table of all poses, and the number of those that touch with the result of each.
 * Returns the exit code. */
static int print_poses(tool_run *tool, const tool_arguments *arguments, const tool_table *table,
                       size_t touching, const abut_reliability *reliability,
                       void (*print_one)(tool_output *out, const void *results, size_t pose)) {
    tool_output *out = &tool->out;
    tool_print_reliability(tool, reliability);
    pair_table(tool, arguments, table);
    if (out->json || (option_given(arguments, "out") && !tool->quiet)) {
        pair_begin(out, arguments);
        fact_count(out, "poses", table->row_count);
        fact_count(out, "overlapping", touching);
        json_reliability(out, reliability);
        out_list(out, "answers");
        for (size_t i = 0; out->json && i < table->row_count; i++) {
            out_object(out, NULL);
            print_one(out, table->data, i);
            out_end(out);
        }
        out_end(out);
        out_end(out);
    }
    return tool_outcome(touching > 0, reliability);
}

static void print_relation(tool_output *out, const void *results, size_t pose) {
    const abut_pair_relation relation = ((const abut_pair_relation *)results)[pose];
    json_boolean(out, "overlap", relation != ABUT_PAIR_APART);
    json_text(out, "relation", abut_pair_relation_name(relation));
}

static int overlap_at_poses(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                            const abut_pair_poses *poses) {
    size_t count = poses->count, touching = 0;
    abut_pair_relation *relations = tool_array(count, sizeof *relations);
    abut_reliability reliability;
    ensure(abut_pair_overlap_batch(poses, &pair->options, relations, &reliability));
    for (size_t i = 0; i < count; i++)
        touching += relations[i] != ABUT_PAIR_APART;
    tool_table table = {pose_columns, 3, count, fill_pose_row, relations};
    return print_poses(tool, arguments, &table, touching, &reliability, print_relation);
}

/* ---- measures of the intersection ---- */

/* Surfaces with boundary edges enclose no volume: only the kind is known. */
static bool is_measured(const abut_pair_measures *measures) {
    return measures->reliability.level != ABUT_RELIABILITY_UNRELIABLE;
}

static void print_measures(tool_output *out, const void *results, size_t pose) {
    const abut_pair_measures *m = (const abut_pair_measures *)results + pose;
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"volume", m->volume},           {"area", m->area},
                   {"area_a", m->area_a},           {"area_b", m->area_b},
                   {"shared_area", m->shared_area}, {"flush_area", m->flush_area}};
    const struct {
        const char *key;
        abut_vec3 value;
    } points[] = {{"vector", m->area_vector},
                  {"centroid", m->centroid},
                  {"lo", m->bounds.lo},
                  {"hi", m->bounds.hi}};
    fact_text(out, "kind", abut_pair_kind_name(m->kind));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is_measured(m))
            fact_number(out, numbers[i].key, numbers[i].value);
        else
            json_null(out, numbers[i].key);
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        if (is_measured(m))
            fact_point(out, points[i].key, points[i].value);
        else
            json_null(out, points[i].key);
    json_reliability(out, &m->reliability);
}

static int measure_one(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair) {
    abut_collider a = pair_posed(pair, 0), b = pair_posed(pair, 1);
    abut_pair_measures measures = abut_pair_measures_default();
    ensure(abut_pair_measure(&a, &b, NULL, &measures));
    abut_pair_intersection_list found = {0};
    if (picture_given(arguments))
        find_intersections(pair, &found);
    tool_print_reliability(tool, &measures.reliability);
    pair_begin(&tool->out, arguments);
    print_measures(&tool->out, &measures, 0);
    draw_intersections(tool, arguments, pair, &found);
    out_end(&tool->out);
    if (is_measured(&measures))
        answer(tool, "%.17g", measures.volume);
    else
        answer(tool, "unknown");
    return tool_outcome(measures.kind != ABUT_PAIR_KIND_APART, &measures.reliability);
}

static const tool_column common_columns[] = {WHOLE("pose"),      WORD("kind", abut_pair_kind_name),
                                             REAL("volume"),     REAL("area"),
                                             REAL("flush_area"), REAL("x"),
                                             REAL("y"),          REAL("z")};

static void fill_measures_row(const void *data, size_t row, double *values) {
    const abut_pair_measures *measures = (const abut_pair_measures *)data + row;
    values[0] = (double)row;
    values[1] = measures->kind;
    values[2] = measures->volume;
    values[3] = measures->area;
    values[4] = measures->flush_area;
    table_vector(values + 5, measures->centroid);
    for (int k = 2; k < 8 && !is_measured(measures); k++)
        values[k] = NAN;
}

static int measure_many(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                        const abut_pair_poses *poses) {
    size_t count = poses->count, found = 0;
    abut_pair_measures *list = tool_array(count, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        abut_collider a = pair_posed(pair, 0),
                      b = abut_collider_from_bvh(poses->b, poses->poses_b[i]);
        list[i] = abut_pair_measures_default();
        ensure(abut_pair_measure(&a, &b, NULL, &list[i]));
        found += list[i].kind != ABUT_PAIR_KIND_APART;
    }
    tool_table table = {common_columns, 8, count, fill_measures_row, list};
    /* reliability is a property of the meshes: equal for all poses */
    return print_poses(tool, arguments, &table, found, &list[0].reliability, print_measures);
}

static int run_overlap(tool_run *tool, const tool_arguments *arguments) {
    if (option_given(arguments, "pairs") && option_given(arguments, "poses"))
        tool_refuse(tool, "--pairs and --poses cannot be combined");
    if (option_given(arguments, "out") && !option_any(arguments, "pairs|poses"))
        tool_refuse(tool, "--out requires --pairs or --poses");
    bool measured = option_given(arguments, "volume") != NULL;
    if (measured && (option_any(arguments, "pairs|surfaces") || device_named(arguments)))
        tool_refuse(tool, "--volume cannot be combined with --pairs, --surfaces or --device");
    if (measured)
        return pair_run(tool, arguments, measure_one, measure_many);
    return pair_run(tool, arguments, overlap_at_pose, overlap_at_poses);
}

static const tool_option options[] = {
    FLAG("pairs", "list all intersecting pairs of triangles, with their intersection"),
    FLAG("volume", "measure the intersection of the solids: volume, areas, centroid, bounding box, "
                   "and its kind"),
    PAIR_OPTIONS,
    DEVICE_OPTION,
    {0}};

const tool_command command_overlap = {
    .name = "overlap",
    .operands = "A B",
    .summary = "whether two meshes intersect or touch, and where",
    .about =
        "Tests whether two meshes touch, exactly: whether any of their triangles intersect or "
        "touch, or a component of one mesh is completely inside the other. With --pairs, all "
        "intersecting pairs of triangles are listed as comma-separated values, each with its "
        "intersection segment. With --volume, the intersection of two closed meshes is measured.",
    .found = "the meshes touch, at any pose",
    .examples = "  abut overlap a.obj b.obj --json\n"
                "  abut overlap a.obj b.obj --pose 0.5,0,0@z,30 --pairs --out pairs.csv\n"
                "  abut overlap a.obj b.obj --volume --pose 0.5,0,0\n"
                "  abut overlap a.obj b.obj --poses poses.csv >answers.csv\n",
    .options = options,
    .operand_range = {2, 2},
    .run = run_overlap,
};
