/* abut-cheng: searches a recording by the methods of table 6.4 of Cheng 2011, one after the other
 * in each step, and measures parts of the thesis that abut does not have. Times are processor time
 * of one thread. Prints JSON. Exit codes: 0 success, 1 methods differ, 2 wrong usage or an error.
 */
#include "baseline.h"

#include "apps/get.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: abut-cheng RECORDING [OPTION...]\n"
    "  --every N    two consecutive steps in N frames, of which the second is measured (default: "
    "1,\n"
    "               all steps but the first)\n"
    "  --history N  lists of history nodes over N consecutive frames (default: 30)\n";

/* Largest difference between times of impact that is not an error: ours are early by up to 1e-10 of
 * the extent, roots have an error, too. */
#define TIME_TOLERANCE 1e-4

enum { SWEEP = BASELINE_KINDS, POINT, LINE, AUTO, METHODS };
static const char *const method_names[METHODS] = {"boxes", "dops", "iccd", "sweep",
                                                  "point", "line", "auto"};

/* Numbers of table 6.15 are of this many runs. */
enum { VIEW_RUNS = 3 };

typedef struct run {
    abut_context *context;
    abut_frames *frames;
    abut_frames_info info;
    abut_mesh *mesh;
    abut_topology *topology;
    abut_topology_arrays t;
    abut_vec3 *start, *end, *next;
    baseline_step step;
    uint64_t every, history, frame_count;

    baseline_search *searches[BASELINE_KINDS];
    abut_sweep *sweep;
    abut_self *views[METHODS];
    uint64_t steps, hits, differ;
    double seconds[METHODS];
    baseline_result sums[BASELINE_KINDS];
    double largest_difference;

    uint32_t *centre, clusters;
    double view[2]; /* without and with clusters */
    uint64_t view_sets[3];
    double marking;
    baseline_ghosts ghosts[2]; /* without and with a vertex */
    double ghost_seconds[2];
    uint64_t touched[2];
} run;

static void ensure(abut_status status) {
    if (!status)
        return;
    fprintf(stderr, "abut-cheng: %s\n", abut_last_error());
    exit(2);
}

/* ---- steps ---- */

/* A step from a frame to the aims, as abut replay searches it. */
static void read_step(run *r, uint64_t frame) {
    ensure(abut_frames_read(r->frames, frame - 1, r->start, NULL));
    ensure(abut_frames_read(r->frames, frame, r->info.aims ? r->next : r->end,
                            r->info.aims ? r->end : NULL));
    r->step = (baseline_step){r->start, r->end, abut_mesh_vertex_count(r->mesh)};
}

static void find_by_sweep(run *r, bool *hit, double *time) {
    abut_impact impact;
    abut_impact_list found = {.list = &impact, .capacity = 1};
    ensure(abut_sweep_set_positions(r->sweep, abut_array_host(r->start), abut_array_host(r->end)));
    ensure(abut_sweep_find(r->sweep, ABUT_SWEEP_EARLIEST, NULL, &found, NULL));
    *hit = found.count > 0;
    *time = *hit ? impact.time : 1;
}

static void find_by_view(run *r, int method, bool is_free, bool *hit, double *time) {
    abut_self_step step = abut_self_step_default();
    abut_self_result result = abut_self_result_default();
    step.start = abut_array_host(r->start);
    step.end = abut_array_host(r->end);
    step.start_is_free = is_free;
    ensure(abut_self_find(r->views[method], &step, NULL, &result));
    *hit = result.hit;
    *time = result.hit ? result.impact.time : 1;
}

static void add_baseline(baseline_result *sum, const baseline_result *one) {
    sum->bounds += one->bounds;
    sum->traversal += one->traversal;
    sum->elementary += one->elementary;
    sum->pairs += one->pairs;
    sum->tests += one->tests;
    sum->culled += one->culled;
    sum->contours += one->contours;
}

static void search_step(run *r, bool counts, bool is_free) {
    bool hits[METHODS];
    double times[METHODS];
    for (int k = 0; k < METHODS; k++) {
        const double begun = processor_seconds();
        if (k < BASELINE_KINDS) {
            const baseline_result found = baseline_search_find(r->searches[k], &r->step);
            hits[k] = found.hit;
            times[k] = found.hit ? found.time : 1;
            if (counts)
                add_baseline(&r->sums[k], &found);
        } else if (k == SWEEP) {
            find_by_sweep(r, &hits[k], &times[k]);
        } else {
            find_by_view(r, k, is_free, &hits[k], &times[k]);
        }
        r->seconds[k] += counts ? processor_seconds() - begun : 0;
    }
    r->hits += hits[SWEEP];
    for (int k = 0; k < METHODS; k++) {
        const double off = fabs(times[k] - times[SWEEP]);
        if (hits[k] != hits[SWEEP] || off > TIME_TOLERANCE)
            r->differ++;
        else if (off > r->largest_difference)
            r->largest_difference = off;
    }
}

/* ---- parts of the thesis ---- */

static void measure_views(run *r) {
    unsigned char *regions = baseline_array(r->step.count, 1);
    abut_self_line line;
    uint32_t sets[3];
    ensure(abut_self_fit_line(r->start, r->end, r->step.count, &line));
    for (int i = 0; i < 2 * VIEW_RUNS; i++) {
        const double begun = processor_seconds();
        baseline_view_test(&line, &r->step, abut_mesh_indices(r->mesh), r->t.triangle_count,
                           i & 1 ? r->centre : NULL, regions, sets);
        r->view[i & 1] += (processor_seconds() - begun) / VIEW_RUNS;
        for (int k = 0; k < 3 && i == 0; k++)
            r->view_sets[k] += sets[k];
    }
    free(regions);
}

static void measure_parts(run *r, baseline_tree *tree) {
    unsigned char *marks = baseline_array(tree->node_count, 1);
    measure_views(r);
    baseline_tree_refit(tree, &r->step);
    double begun = processor_seconds();
    baseline_tree_mark(tree, marks);
    r->marking += processor_seconds() - begun;
    free(marks);
    for (int k = 0; k < 2 && r->t.loop_count; k++) {
        begun = processor_seconds();
        r->touched[k] += baseline_ghosts_touched(&r->ghosts[k], tree, &r->step);
        r->ghost_seconds[k] += processor_seconds() - begun;
    }
}

typedef struct history_result {
    double initial_seconds, seconds[BASELINE_POLICIES];
    uint64_t initial, frames, listed, pairs[BASELINE_POLICIES], tests[BASELINE_POLICIES];
} history_result;

/* The triangles in V-, V0 and Vv of the view-line, for which the thesis traverses on a GPU. */
static uint32_t list_doubtful(run *r, uint32_t *list) {
    bool hit;
    double time;
    uint32_t count = 0;
    find_by_view(r, LINE, true, &hit, &time);
    const unsigned char *sets = abut_self_sets(r->views[LINE]);
    for (uint32_t i = 0; i < r->t.triangle_count; i++)
        if (!sets || sets[i] != ABUT_SELF_POSITIVE)
            list[count++] = i;
    return count;
}

/* Consecutive frames from the middle of the recording; the initial lists are those of frame 1. */
static history_result measure_history(run *r, baseline_tree *tree) {
    history_result h = {.frames = r->history};
    baseline_history *policies[BASELINE_POLICIES];
    uint32_t *list = baseline_array(r->t.triangle_count, sizeof *list);
    read_step(r, 1);
    baseline_tree_refit(tree, &r->step);
    for (int k = 0; k < BASELINE_POLICIES; k++) {
        const double begun = processor_seconds();
        policies[k] =
            baseline_history_create(tree, (baseline_policy)k, r->t.triangle_count, &h.initial);
        h.initial_seconds = processor_seconds() - begun;
    }
    if (h.frames > r->frame_count - 1)
        h.frames = r->frame_count - 1;
    const uint64_t first = 1 + (r->frame_count - 1 - h.frames) / 2;
    for (uint64_t i = 0; i < h.frames; i++) {
        read_step(r, first + i);
        const uint32_t count = list_doubtful(r, list);
        h.listed += count;
        baseline_tree_refit(tree, &r->step);
        for (int k = 0; k < BASELINE_POLICIES; k++) {
            const double begun = processor_seconds();
            h.pairs[k] += baseline_history_find(policies[k], tree, list, count, &h.tests[k]);
            h.seconds[k] += processor_seconds() - begun;
        }
        for (int k = 1; k < BASELINE_POLICIES; k++)
            r->differ += h.pairs[k] != h.pairs[0];
    }
    for (int k = 0; k < BASELINE_POLICIES; k++)
        baseline_history_destroy(policies[k]);
    free(list);
    return h;
}

/* ---- output ---- */

static void print_searches(const run *r, double share) {
    printf(" \"milliseconds\": {");
    for (int k = 0; k < METHODS; k++)
        printf("%s\"%s\": %.6g", k ? ", " : "", method_names[k], 1e3 * share * r->seconds[k]);
    printf("},\n \"baselines\": {");
    for (int k = 0; k < BASELINE_KINDS; k++) {
        const baseline_result *s = &r->sums[k];
        printf("%s\n  \"%s\": {\"bounds\": %.6g, \"traversal\": %.6g, \"elementary\": %.6g, "
               "\"pairs\": %.6g, \"tests\": %.6g}",
               k ? "," : "", method_names[k], 1e3 * share * s->bounds, 1e3 * share * s->traversal,
               1e3 * share * s->elementary, share * (double)s->pairs, share * (double)s->tests);
    }
    const baseline_result *iccd = &r->sums[BASELINE_ICCD];
    printf("},\n \"iccd\": {\"culled\": %.6g, \"contour_tests\": %.6g, \"orphans\": %u},\n",
           share * iccd->culled, share * iccd->contours,
           baseline_search_orphans(r->searches[BASELINE_ICCD]));
}

static void print_parts(const run *r, const history_result *h, double share) {
    static const char *const policies[BASELINE_POLICIES] = {"without", "root", "initial"};
    const double frames = h->frames ? 1.0 / (double)h->frames : 0;
    printf(" \"clusters\": {\"count\": %u, \"vertices\": %u, \"without\": %.6g, \"with\": %.6g, "
           "\"sets\": [%.6g, %.6g, %.6g]},\n",
           r->clusters, r->t.vertex_count, 1e3 * share * r->view[0], 1e3 * share * r->view[1],
           share * (double)r->view_sets[0], share * (double)r->view_sets[1],
           share * (double)r->view_sets[2]);
    printf(" \"marking\": %.6g,\n \"ghosts\": {", 1e3 * share * r->marking);
    for (int k = 0; k < 2; k++)
        printf("%s\"%s\": {\"count\": %u, \"milliseconds\": %.6g, \"violated\": %.6g}",
               k ? ", " : "", k ? "with" : "without", r->ghosts[k].count,
               1e3 * share * r->ghost_seconds[k], share * (double)r->touched[k]);
    printf("},\n \"history\": {\"initial_milliseconds\": %.6g, \"initial_nodes\": %llu, "
           "\"frames\": %llu, "
           "\"listed\": %.6g",
           1e3 * h->initial_seconds, (unsigned long long)h->initial, (unsigned long long)h->frames,
           frames * (double)h->listed);
    for (int k = 0; k < BASELINE_POLICIES; k++)
        printf(", \"%s\": {\"milliseconds\": %.6g, \"tests\": %.6g}", policies[k],
               1e3 * frames * h->seconds[k], frames * (double)h->tests[k]);
    printf("}\n");
}

/* ---- the program ---- */

static bool parse(int count, char **words, run *r) {
    r->every = 1;
    r->history = 30;
    for (int i = 2; i + 1 < count; i += 2) {
        char *end;
        const unsigned long value = strtoul(words[i + 1], &end, 10);
        uint64_t *to = !strcmp(words[i], "--every")     ? &r->every
                       : !strcmp(words[i], "--history") ? &r->history
                                                        : NULL;
        if (!to || *end || end == words[i + 1] || (to == &r->every && value < 1))
            return false;
        *to = value;
    }
    return count >= 2 && count % 2 == 0 && words[1][0] != '-';
}

static void open_run(run *r, const char *path) {
    abut_context_options options = abut_context_options_default();
    options.thread_count = 1;
    ensure(abut_context_create(&options, &r->context));
    ensure(abut_frames_open(r->context, path, &r->frames));
    r->info = get_frames_info(r->frames);
    r->frame_count = r->info.frame_count;
    if (r->frame_count < 2)
        ensure(abut_set_error(ABUT_ERROR_ARGUMENT, "the recording has only one frame"));
    r->mesh = abut_frames_mesh(r->frames, 0);
    ensure(abut_topology_create(r->mesh, &r->topology));
    r->t = get_topology_arrays(r->topology);
    r->start = baseline_array(r->info.vertex_count, sizeof *r->start);
    r->end = baseline_array(r->info.vertex_count, sizeof *r->end);
    r->next = baseline_array(r->info.vertex_count, sizeof *r->next);
    for (int k = 0; k < BASELINE_KINDS; k++)
        ensure(baseline_search_create(r->mesh, (baseline_kind)k, &r->searches[k]));
    ensure(abut_sweep_create(&r->mesh, 1, NULL, &r->sweep));
    const abut_self_scheme schemes[] = {ABUT_SELF_POINT, ABUT_SELF_LINE, ABUT_SELF_AUTO};
    for (int k = POINT; k < METHODS; k++) {
        abut_self_options of_view = abut_self_options_default();
        of_view.scheme = schemes[k - POINT];
        ensure(abut_self_create(r->mesh, &of_view, &r->views[k]));
    }
    r->centre = baseline_array(r->t.triangle_count, sizeof *r->centre);
    r->clusters = baseline_clusters(&r->t, r->centre);
    for (int k = 0; k < 2 && r->t.loop_count; k++)
        baseline_ghosts_create(&r->ghosts[k], &r->t, abut_mesh_local_positions(r->mesh), k);
}

static void close_run(run *r) {
    for (int k = 0; k < 2; k++)
        baseline_ghosts_release(&r->ghosts[k]);
    for (int k = 0; k < BASELINE_KINDS; k++)
        baseline_search_destroy(r->searches[k]);
    for (int k = 0; k < METHODS; k++)
        abut_self_destroy(r->views[k]);
    abut_sweep_destroy(r->sweep);
    abut_topology_destroy(r->topology);
    abut_frames_close(r->frames);
    abut_context_destroy(r->context);
    free(r->start);
    free(r->end);
    free(r->next);
    free(r->centre);
}

/* Searches all steps, or the second of two consecutive ones in every few frames: the first one
 * prepares the state of views. Recordings have no intersections, so that only the start of a
 * sequence is tested. */
static void search_steps(run *r, baseline_tree *tree) {
    const bool samples = r->every > 1;
    for (uint64_t frame = 1; frame + samples < r->frame_count; frame += r->every) {
        read_step(r, frame);
        search_step(r, !samples && frame > 1, r->info.aims && !samples && frame > 1);
        if (samples) {
            read_step(r, frame + 1);
            search_step(r, true, r->info.aims);
        } else if (frame == 1) {
            continue;
        }
        measure_parts(r, tree);
        r->steps++;
    }
}

int main(int count, char **words) {
    run r = {0};
    baseline_tree tree;
    if (!parse(count, words, &r)) {
        fputs(usage, stderr);
        return 2;
    }
    open_run(&r, words[1]);
    baseline_tree_build(&tree, BASELINE_SLABS, abut_mesh_indices(r.mesh), r.t.triangle_count,
                        abut_mesh_local_positions(r.mesh), r.t.vertex_count);
    search_steps(&r, &tree);
    const history_result h = measure_history(&r, &tree);
    const double share = r.steps ? 1.0 / (double)r.steps : 0;
    printf(
        "{\"triangles\": %u, \"frames\": %llu, \"every\": %llu, \"steps\": %llu, \"hits\": %llu, "
        "\"differ\": %llu, \"largest_difference\": %.3g,\n",
        r.t.triangle_count, (unsigned long long)r.frame_count, (unsigned long long)r.every,
        (unsigned long long)r.steps, (unsigned long long)r.hits, (unsigned long long)r.differ,
        r.largest_difference);
    print_searches(&r, share);
    print_parts(&r, &h, share);
    printf("}\n");
    baseline_tree_release(&tree);
    close_run(&r);
    return r.differ > 0;
}
