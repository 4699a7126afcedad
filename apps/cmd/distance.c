/* abut distance: distance and closest points of two meshes. */
#include "tool.h"

#include <math.h>

/* ---- one pose ---- */

/* Prints one of the two closest points. */
static void print_point(tool_output *out, const char *key, abut_vec3 point, uint32_t triangle,
                        abut_feature feature) {
    char words[POINT_WORDS];
    point_words(point, 9, words);
    json_object(out, key);
    json_vector(out, "point", point);
    if (triangle == ABUT_NONE) {
        json_null(out, "triangle");
        print_fact(out, key, "%s, inside", words);
    } else {
        json_count(out, "triangle", triangle);
        json_text(out, "feature", abut_feature_name(feature));
        print_fact(out, key, "%s on triangle %u, %s", words, triangle, abut_feature_name(feature));
    }
    json_end(out);
}

static int run_margin(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                      double margin) {
    tool_output *out = &tool->out;
    abut_collider a = pair_posed(pair, 0), b = pair_posed(pair, 1);
    bool within;
    abut_reliability reliability;
    ensure(abut_pair_within(&a, &b, margin, &pair->options, NULL, &within, &reliability));
    tool_print_reliability(tool, &reliability);
    pair_begin(out, arguments);
    json_number(out, "margin", margin);
    json_boolean(out, "within", within);
    json_reliability(out, &reliability);
    print_fact(out, "within", "%s", within ? "yes" : "no");
    out_end(out);
    answer(tool, "%s", tool_yes_or_no(within, &reliability));
    return tool_outcome(within, &reliability);
}

static int distance_at_pose(tool_run *tool, const tool_arguments *arguments,
                            const tool_pair *pair) {
    const tool_given *margin = option_given(arguments, "margin");
    tool_output *out = &tool->out;
    abut_collider a = pair_posed(pair, 0), b = pair_posed(pair, 1);
    abut_separation found;
    if (margin)
        return run_margin(tool, arguments, pair, margin->numbers[0]);
    ensure(abut_pair_distance(&a, &b, &pair->options, NULL, &found));
    tool_print_reliability(tool, &found.reliability);
    if (found.relation == ABUT_PAIR_APART)
        print_unit_note(tool, arguments->operands[0], abut_bvh_mesh(pair->bvh[0]),
                        arguments->operands[1], abut_bvh_mesh(pair->bvh[1]));
    pair_begin(out, arguments);
    fact_number(out, "distance", found.distance);
    fact_text(out, "relation", abut_pair_relation_name(found.relation));
    json_reliability(out, &found.reliability);
    print_point(out, "closest_a", found.point_a, found.triangle_a, found.feature_a);
    print_point(out, "closest_b", found.point_b, found.triangle_b, found.feature_b);
    abut_segment between = {{found.point_a, found.point_b}};
    pair_picture(tool, arguments, pair, &between, 1, true);
    out_end(out);
    answer_number(tool, true, found.distance, "");
    return CODE_FINE;
}

/* ---- many poses ---- */

/* The results for many poses; one of the lists is null. */
typedef struct answers {
    size_t count;
    abut_separation *separations;
    bool *within;
    abut_reliability reliability; /* pose with the least reliable result */
} answers;

static const tool_column columns[] = {
    WHOLE("pose"),       REAL("distance"),   WORD("relation", abut_pair_relation_name),
    REAL("a_x"),         REAL("a_y"),        REAL("a_z"),
    REAL("b_x"),         REAL("b_y"),        REAL("b_z"),
    WHOLE("triangle_a"), WHOLE("triangle_b")};
static const tool_column within_columns[] = {WHOLE("pose"), WORD("within", table_boolean)};

static void fill_distance_row(const void *data, size_t row, double *values) {
    const answers *all = data;
    values[0] = (double)row;
    if (all->within) {
        values[1] = all->within[row];
        return;
    }
    const abut_separation *s = &all->separations[row];
    values[1] = s->distance;
    values[2] = s->relation;
    table_vector(values + 3, s->point_a);
    table_vector(values + 6, s->point_b);
    values[9] = s->triangle_a != ABUT_NONE ? (double)s->triangle_a : NAN;
    values[10] = s->triangle_b != ABUT_NONE ? (double)s->triangle_b : NAN;
}

static size_t count_near(const answers *all) {
    size_t near = 0;
    for (size_t i = 0; i < all->count; i++)
        near += all->within ? all->within[i] : all->separations[i].distance == 0;
    return near;
}

static void summarise_distance(tool_run *tool, const tool_arguments *arguments,
                               const answers *all) {
    tool_output *out = &tool->out;
    double least = INFINITY;
    for (size_t i = 0; i < all->count; i++)
        least = all->within ? least : fmin(least, all->separations[i].distance);
    pair_begin(out, arguments);
    fact_count(out, "poses", all->count);
    fact_count(out, all->within ? "within" : "touching", count_near(all));
    if (!all->within)
        fact_number(out, "least_distance", least);
    json_reliability(out, &all->reliability);
    out_list(out, "answers");
    for (size_t i = 0; out->json && i < all->count; i++) {
        const abut_separation *s = all->separations ? &all->separations[i] : NULL;
        out_object(out, NULL);
        if (!s) {
            json_boolean(out, "within", all->within[i]);
        } else {
            json_number(out, "distance", s->distance);
            json_text(out, "relation", abut_pair_relation_name(s->relation));
            print_point(out, "closest_a", s->point_a, s->triangle_a, s->feature_a);
            print_point(out, "closest_b", s->point_b, s->triangle_b, s->feature_b);
        }
        out_end(out);
    }
    out_end(out);
    out_end(out);
}

enum { POSES_PER_CHUNK = 64 }; /* poses are assigned to processes in chunks of this size */

/* Keeps the poses of this process. Returns their indices. */
static uint64_t *keep_own_poses(const tool_run *tool, const tool_pair *pair,
                                abut_pair_poses *poses) {
    size_t kept = 0;
    uint64_t *keys = tool_array(poses->count + 1, sizeof *keys);
    for (size_t i = 0; i < poses->count; i++)
        if (share_mine(tool, i, POSES_PER_CHUNK)) {
            pair->poses.list[kept] = pair->poses.list[i];
            keys[kept++] = i;
        }
    poses->count = kept;
    return keys;
}

/* Computes the results for the poses of this process. `worst` is the pose of the reliability. */
static void compute_distances(const tool_given *margin, const tool_pair *pair,
                              const abut_pair_poses *poses, answers *all, size_t *worst) {
    all->count = poses->count;
    if (margin)
        all->within = tool_array(all->count + 1, sizeof *all->within);
    else
        all->separations = tool_array(all->count + 1, sizeof *all->separations);
    if (!all->count)
        return;
    if (margin)
        ensure(abut_pair_within_batch(poses, margin->numbers[0], &pair->options, all->within,
                                      &all->reliability));
    else
        ensure(abut_pair_distance_batch(poses, &pair->options, all->separations));
    for (size_t i = 0; !margin && i < all->count; i++)
        if (!i || all->separations[i].reliability.level > all->reliability.level) {
            all->reliability = all->separations[i].reliability;
            *worst = i;
        }
}

/* Collects all results in the first process. */
static void collect_answers(tool_run *tool, const uint64_t *keys, size_t worst, answers *all) {
    uint64_t count = all->count;
    share_agree(tool);
    if (!tool->share)
        return;
    share_worst(tool, &all->reliability,
                count ? keys[worst] : UINT64_MAX); /* no results: the best level */
    if (all->within)
        share_collect(tool, &all->within, &count, sizeof *all->within, keys);
    else
        share_collect(tool, &all->separations, &count, sizeof *all->separations, keys);
    all->count = (size_t)count;
}

static int distance_at_poses(tool_run *tool, const tool_arguments *arguments, const tool_pair *pair,
                             const abut_pair_poses *poses) {
    const tool_given *margin = option_given(arguments, "margin");
    abut_pair_poses mine = *poses;
    size_t worst = 0;
    answers all = {0};
    uint64_t *keys = keep_own_poses(tool, pair, &mine);
    compute_distances(margin, pair, &mine, &all, &worst);
    collect_answers(tool, keys, worst, &all);
    if (all.count)
        tool_print_reliability(tool, &all.reliability);
    if (!share_prints(tool))
        return CODE_FINE;
    tool_table table = {margin ? within_columns : columns, margin ? 2 : 11, all.count,
                        fill_distance_row, &all};
    pair_table(tool, arguments, &table);
    if (tool->out.json || (option_given(arguments, "out") && !tool->quiet))
        summarise_distance(tool, arguments, &all);
    return margin ? tool_outcome(count_near(&all) > 0, &all.reliability) : CODE_FINE;
}

static int run_distance(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *margin = option_given(arguments, "margin");
    option_length(tool, margin);
    if (tool->share && (!option_given(arguments, "poses") || device_named(arguments)))
        tool_refuse(tool, "several processes need --poses, without --device");
    if (margin && picture_given(arguments))
        tool_refuse(
            tool,
            "--png and --html cannot be combined with --margin, which computes no closest points");
    if (option_given(arguments, "out") && !option_given(arguments, "poses"))
        tool_refuse(tool, "--out requires --poses");
    return pair_run(tool, arguments, distance_at_pose, distance_at_poses);
}

static const tool_option options[] = {
    OPTION("margin", "M", NUMBER, "only test whether the distance is at most M, which is faster"),
    PAIR_OPTIONS,
    DEVICE_OPTION,
    {0}};

const tool_command command_distance = {
    .name = "distance",
    .operands = "A B",
    .summary = "distance and closest points of two meshes",
    .about = "Prints the distance between two meshes, their closest points, and the triangles that "
             "contain these points. If the meshes touch, or one is inside the other, the distance "
             "is 0. With --png both meshes are drawn with the segment between the closest points.",
    .found = "the distance is at most --margin, at any pose",
    .examples = "  abut distance a.obj b.obj --pose 0,0,2 --png apart.png\n"
                "  abut distance a.obj b.obj --margin 0.01 --json\n"
                "  abut distance a.obj b.obj --poses poses.csv --out distances.csv\n",
    .options = options,
    .operand_range = {2, 2},
    .run = run_distance,
};
