/* abut overlap: whether two meshes touch, where, and the measures of their intersection. */
#include "tool.h"

#include <math.h>
#include <stdlib.h>

static const char *words_for(abut_pair_relation relation) {
    static const char *const words[] = {"no", "yes: triangles intersect",
                                        "yes: A, or a component of it, is inside B",
                                        "yes: B, or a component of it, is inside A"};
    return words[relation];
}

/* ---- pairs of triangles ---- */

/* The caller releases found->list by free(). */
static int find_intersections(tool_run *tool, const tool_pair *pair,
                              abut_pair_intersection_list *found) {
    abut_collider a = pair_posed(pair, 0), b = pair_posed(pair, 1);
    abut_status status = abut_pair_intersections(&a, &b, found);
    if (status == ABUT_ERROR_BUFFER) {
        found->capacity = found->count;
        found->list = found->count < SIZE_MAX / sizeof *found->list
                          ? malloc((size_t)found->count * sizeof *found->list)
                          : NULL;
        if (!found->list)
            return tool_fail_with(tool, "out of memory", "not enough memory for %llu pairs",
                                  (unsigned long long)found->count);
        status = abut_pair_intersections(&a, &b, found);
    }
    return status ? tool_fail(tool, status) : 0;
}

static const tool_column meeting_columns[] = {{"triangle_a", COLUMN_WHOLE, NULL},
                                              {"triangle_b", COLUMN_WHOLE, NULL},
                                              {"intersection", COLUMN_WORD, abut_intersection_name},
                                              {"x", COLUMN_REAL, NULL},
                                              {"y", COLUMN_REAL, NULL},
                                              {"z", COLUMN_REAL, NULL},
                                              {"to_x", COLUMN_REAL, NULL},
                                              {"to_y", COLUMN_REAL, NULL},
                                              {"to_z", COLUMN_REAL, NULL}};

static void fill_intersection_row(const void *data, size_t row, double *values) {
    const abut_pair_intersection *m = &((const abut_pair_intersection_list *)data)->list[row];
    values[0] = m->triangle_a;
    values[1] = m->triangle_b;
    values[2] = m->kind;
    table_vector(values + 3, m->segment.end[0]);
    table_vector(values + 6, m->segment.end[1]);
}

static int list_intersections(tool_run *tool, const tool_arguments *arguments,
                              const abut_pair_intersection_list *found) {
    tool_table table = {meeting_columns, 9, (size_t)found->count, fill_intersection_row, found};
    return pair_table(tool, arguments, &table);
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

static int draw_intersections(tool_run *tool, const tool_arguments *arguments,
                              const tool_pair *pair, const abut_pair_intersection_list *found) {
    abut_segment *segments = malloc(((size_t)found->count + 1) * sizeof *segments);
    if (!segments)
        return tool_fail_with(tool, "out of memory", "not enough memory for the picture");
    for (uint64_t i = 0; i < found->count; i++)
        segments[i] = found->list[i].segment;
    int code = pair_picture(tool, arguments, pair, segments, (size_t)found->count, false);
    free(segments);
    return code;
}

/* ---- one pose ---- */

static int overlap_at_pose(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair) {
    tool_output *out = &tool->out;
    bool listed = option_given(arguments, "pairs") != NULL;
    bool table = listed && (!out->json || option_given(arguments, "out"));
    abut_collider a = pair_posed(pair, 0), b = pair_posed(pair, 1);
    abut_overlap overlap;
    abut_pair_intersection_list found = {0};
    abut_status status = abut_pair_overlap(&a, &b, &pair->options, NULL, &overlap);
    if (status)
        return tool_fail(tool, status);
    abut_pair_relation relation = overlap.relation;
    int code = 0;
    tool_print_reliability(tool, &overlap.reliability);
    if (relation == ABUT_PAIR_APART)
        print_unit_note(tool, arguments->operands[0], abut_bvh_mesh(pair->bvh[0]),
                        arguments->operands[1], abut_bvh_mesh(pair->bvh[1]));
    if (listed || picture_given(arguments))
        code = find_intersections(tool, pair, &found);
    if (!code && table)
        code = list_intersections(tool, arguments, &found);
    if (!code && (out->json || !table || option_given(arguments, "out"))) {
        pair_begin(out, arguments);
        json_boolean(out, "overlap", relation != ABUT_PAIR_APART);
        json_text(out, "relation", abut_pair_relation_name(relation));
        json_reliability(out, &overlap.reliability);
        print_fact(out, "overlap", "%s", words_for(relation));
        if (listed)
            fact_count(out, "pairs", found.count);
        if (listed && !table)
            json_intersections(out, &found);
        code = draw_intersections(tool, arguments, pair, &found);
        out_end(out);
        answer(tool, "%s", tool_yes_or_no(relation != ABUT_PAIR_APART, &overlap.reliability));
    } else if (!code) {
        code = draw_intersections(tool, arguments, pair, &found);
    }
    free(found.list);
    return code ? code : tool_outcome(relation != ABUT_PAIR_APART, &overlap.reliability);
}

/* ---- many poses ---- */

static const tool_column pose_columns[] = {{"pose", COLUMN_WHOLE, NULL},
                                           {"overlap", COLUMN_WORD, table_boolean},
                                           {"relation", COLUMN_WORD, abut_pair_relation_name}};

static void fill_pose_row(const void *data, size_t row, double *values) {
    const abut_pair_relation *relations = data;
    values[0] = (double)row;
    values[1] = relations[row] != ABUT_PAIR_APART;
    values[2] = relations[row];
}

static int overlap_at_poses(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                            const abut_pair_poses *poses) {
    tool_output *out = &tool->out;
    size_t count = poses->count, touching = 0;
    abut_pair_relation *relations = malloc(count * sizeof *relations);
    if (!relations)
        return tool_fail_with(tool, "out of memory", "not enough memory for the answers");
    abut_reliability reliability;
    abut_status status = abut_pair_overlap_batch(poses, &pair->options, relations, &reliability);
    int code = status ? tool_fail(tool, status) : 0;
    if (!code)
        tool_print_reliability(tool, &reliability);
    for (size_t i = 0; !code && i < count; i++)
        touching += relations[i] != ABUT_PAIR_APART;
    tool_table table = {pose_columns, 3, count, fill_pose_row, relations};
    code = code ? code : pair_table(tool, arguments, &table);
    if (!code && (out->json || (option_given(arguments, "out") && !tool->quiet))) {
        pair_begin(out, arguments);
        fact_count(out, "poses", count);
        fact_count(out, "overlapping", touching);
        json_reliability(out, &reliability);
        out_list(out, "answers");
        for (size_t i = 0; out->json && i < count; i++) {
            out_object(out, NULL);
            json_boolean(out, "overlap", relations[i] != ABUT_PAIR_APART);
            json_text(out, "relation", abut_pair_relation_name(relations[i]));
            out_end(out);
        }
        out_end(out);
        out_end(out);
    }
    free(relations);
    return code ? code : tool_outcome(touching > 0, &reliability);
}

/* ---- measures of the intersection ---- */

static void print_vector(tool_output *out, const char *key, abut_vec3 v) {
    char words[POINT_WORDS];
    json_vector(out, key, v);
    print_fact(out, key, "%s", point_words(v, 6, words));
}

/* Surfaces with boundary edges enclose no volume: only the kind is known. */
static bool is_measured(const abut_pair_measures *measures) {
    return measures->reliability.level != ABUT_RELIABILITY_UNRELIABLE;
}

static void print_measures(tool_output *out, const abut_pair_measures *measures) {
    fact_number(out, "volume", measures->volume);
    fact_number(out, "area", measures->area);
    fact_number(out, "area_a", measures->area_a);
    fact_number(out, "area_b", measures->area_b);
    fact_number(out, "shared_area", measures->shared_area);
    fact_number(out, "flush_area", measures->flush_area);
    print_vector(out, "vector", measures->area_vector);
    print_vector(out, "centroid", measures->centroid);
    print_vector(out, "lo", measures->bounds.lo);
    print_vector(out, "hi", measures->bounds.hi);
}

static void print_pair_measures(tool_output *out, const abut_pair_measures *measures) {
    static const char *const keys[] = {"volume",     "area",   "area_a",   "area_b", "shared_area",
                                       "flush_area", "vector", "centroid", "lo",     "hi"};
    fact_text(out, "kind", abut_pair_kind_name(measures->kind));
    if (is_measured(measures))
        print_measures(out, measures);
    for (size_t i = 0; !is_measured(measures) && i < sizeof keys / sizeof *keys; i++)
        json_null(out, keys[i]);
    json_reliability(out, &measures->reliability);
}

static int measure_one(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair) {
    abut_collider a = pair_posed(pair, 0), b = pair_posed(pair, 1);
    abut_pair_measures measures = abut_pair_measures_default();
    abut_status status = abut_pair_measure(&a, &b, NULL, &measures);
    if (status)
        return tool_fail(tool, status);
    abut_pair_intersection_list found = {0};
    int code = picture_given(arguments) ? find_intersections(tool, pair, &found) : 0;
    if (code)
        return code;
    tool_print_reliability(tool, &measures.reliability);
    pair_begin(&tool->out, arguments);
    print_pair_measures(&tool->out, &measures);
    code = draw_intersections(tool, arguments, pair, &found);
    out_end(&tool->out);
    free(found.list);
    if (is_measured(&measures))
        answer(tool, "%.17g", measures.volume);
    else
        answer(tool, "unknown");
    return code ? code : tool_outcome(measures.kind != ABUT_PAIR_KIND_APART, &measures.reliability);
}

static const tool_column common_columns[] = {
    {"pose", COLUMN_WHOLE, NULL},      {"kind", COLUMN_WORD, abut_pair_kind_name},
    {"volume", COLUMN_REAL, NULL},     {"area", COLUMN_REAL, NULL},
    {"flush_area", COLUMN_REAL, NULL}, {"x", COLUMN_REAL, NULL},
    {"y", COLUMN_REAL, NULL},          {"z", COLUMN_REAL, NULL}};

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
    tool_output *out = &tool->out;
    size_t count = poses->count, found = 0;
    abut_pair_measures *list = malloc(count * sizeof *list);
    if (!list)
        return tool_fail_with(tool, "out of memory", "not enough memory for the answers");
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < count && !status; i++) {
        abut_collider a = pair_posed(pair, 0),
                      b = abut_collider_from_bvh(poses->b, poses->poses_b[i]);
        list[i] = abut_pair_measures_default();
        status = abut_pair_measure(&a, &b, NULL, &list[i]);
        found += !status && list[i].kind != ABUT_PAIR_KIND_APART;
    }
    int code = status ? tool_fail(tool, status) : 0;
    if (!code)
        tool_print_reliability(
            tool, &list[0].reliability); /* a property of the meshes: equal for all poses */
    tool_table table = {common_columns, 8, count, fill_measures_row, list};
    code = code ? code : pair_table(tool, arguments, &table);
    if (!code && (out->json || (option_given(arguments, "out") && !tool->quiet))) {
        pair_begin(out, arguments);
        fact_count(out, "poses", count);
        fact_count(out, "overlapping", found);
        out_list(out, "answers");
        for (size_t i = 0; out->json && i < count; i++) {
            out_object(out, NULL);
            print_pair_measures(out, &list[i]);
            out_end(out);
        }
        out_end(out);
        out_end(out);
    }
    code = code ? code : tool_outcome(found > 0, &list[0].reliability);
    free(list);
    return code;
}

static int run_overlap(tool_run *tool, const tool_arguments *arguments) {
    if (option_given(arguments, "pairs") && option_given(arguments, "poses"))
        return tool_refuse(tool, "--pairs and --poses cannot be combined");
    if (option_given(arguments, "out") && !option_given(arguments, "pairs") &&
        !option_given(arguments, "poses"))
        return tool_refuse(tool, "--out requires --pairs or --poses");
    bool measured = option_given(arguments, "volume") != NULL;
    if (measured && (option_given(arguments, "pairs") || option_given(arguments, "surfaces") ||
                     device_named(arguments)))
        return tool_refuse(tool,
                           "--volume cannot be combined with --pairs, --surfaces or --device");
    if (measured)
        return pair_run(tool, arguments, measure_one, measure_many);
    return pair_run(tool, arguments, overlap_at_pose, overlap_at_poses);
}

static const tool_option options[] = {
    {"pairs", NULL, OPTION_FLAG,
     "list all intersecting pairs of triangles, with their intersection", NULL, false},
    {"volume", NULL, OPTION_FLAG,
     "measure the intersection of the solids: volume, areas, centroid, bounding box, and its kind",
     NULL, false},
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
    .operand_kind = OPERAND_FILES,
    .operand_least = 2,
    .operand_most = 2,
    .run = run_overlap,
};
