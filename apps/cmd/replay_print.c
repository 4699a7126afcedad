/* Output of abut replay: a line for each step, or the means of all steps, as in tables 6.2 to
 * 6.17 of Cheng 2011. */
#include "apps/get.h"
#include "replay.h"

/* ---- steps ---- */

void replay_print_step(tool_run *tool, const replay *r, uint64_t frame, bool counts, int which,
                       const abut_self_result *result, const double stages[STAGES]) {
    tool_output *out = &tool->out;
    if (!out->json || r->summary)
        return;
    out_object(out, NULL);
    json_count(out, "frame", frame);
    json_text(out, "scheme", replay_rivals[which].name);
    json_boolean(out, "counts", counts);
    json_boolean(out, "complete", result->scheme == ABUT_SELF_COMPLETE);
    json_text(out, "reason", abut_self_fallback_name(result->reason));
    json_boolean(out, "hit", result->hit);
    if (result->hit) {
        json_number(out, "time", result->impact.time);
        json_vector(out, "point", result->impact.point);
    }
    for (int k = 0; k < 4; k++)
        json_count(out, abut_self_set_name((abut_self_set)k), result->sets[k]);
    for (int k = 0; k < STAGES; k++)
        json_number(out, replay_stages[k], stages[k]);
    out_end(out);
    tool_flush_lines(tool);
}

/* ---- text output ---- */

/* Begins a row of a table for a scheme. */
static void begin_row(tool_output *out, const char *head, int which) {
    out_object(out, NULL);
    print_fact(out, head, "%s", replay_rivals[which].about);
}

static void print_times(tool_output *out, const replay *r) {
    const double share = 1e3 / (double)r->counted;
    out_table(out, "milliseconds");
    for (int k = 0; k < SCHEMES; k++) {
        const replay_tally *t = &r->tallies[k];
        if (!r->wanted[k])
            continue;
        begin_row(out, "milliseconds", k);
        for (int s = 0; s < STAGES; s++)
            if (s != STAGE_START)
                print_fact(out, replay_stages[s], "%.2f", share * t->stages[s]);
        const double total = replay_total(t);
        print_fact(out, "total", "%.2f", share * total);
        if (r->wanted[RIVAL_SWEEP] && k != RIVAL_SWEEP && total > 0)
            print_fact(out, "x sweep", "%.2f", replay_total(&r->tallies[RIVAL_SWEEP]) / total);
        else if (r->wanted[RIVAL_SWEEP])
            print_fact(out, "x sweep", "-");
        out_end(out);
    }
    out_end(out);
}

static void print_sets_facts(tool_output *out, const replay *r) {
    const double steps = (double)r->counted;
    out_table(out, "sets");
    for (int k = 0; k < SCHEMES; k++) {
        const replay_tally *t = &r->tallies[k];
        if (!r->wanted[k])
            continue;
        begin_row(out, "mean per step", k);
        for (int s = 0; s < 4; s++)
            print_fact(out, abut_self_set_name((abut_self_set)s), "%.0f", t->sets[s] / steps);
        print_fact(out, "features", "%.0f", t->features / steps);
        out_end(out);
    }
    out_end(out);
}

/* Prints the triangles that changed their view set, from and to each. */
static void print_changes(tool_output *out, const replay *r) {
    static const char *const heads[8] = {"to V+", "to V-", "to V0", "to Vv",
                                         "V+ to", "V- to", "V0 to", "Vv to"};
    out_table(out, "changes");
    for (int k = 0; k < SCHEMES; k++) {
        const replay_tally *t = &r->tallies[k];
        if (!r->wanted[k] || replay_rivals[k].scheme == ABUT_SELF_COMPLETE)
            continue;
        begin_row(out, "changes", k);
        for (int s = 0; s < 8; s++)
            print_fact(out, heads[s], "%.1f",
                       (s < 4 ? t->entered[s] : t->left[s - 4]) / (double)r->counted);
        out_end(out);
    }
    out_end(out);
}

static void print_regions(tool_output *out, const replay *r) {
    out_table(out, "regions");
    for (int k = 0; k < SCHEMES; k++) {
        const replay_tally *t = &r->tallies[k];
        if (!r->wanted[k] || !t->lines)
            continue;
        begin_row(out, "vertices", k);
        for (int i = 0; i < 5; i++)
            print_fact(out, replay_regions[i], "%.1f", t->regions[i] / (double)t->lines);
        out_end(out);
    }
    out_end(out);
}

/* Prints the number of steps with an impact. If several schemes ran, adds whether they agree. */
static void print_hits(tool_output *out, const replay *r) {
    const replay_tally *t = &r->tallies[r->leader];
    int schemes = 0;
    for (int k = 0; k < SCHEMES; k++)
        schemes += r->wanted[k];
    char means[96] = "";
    if (r->counted < r->step_count)
        snprintf(means, sizeof means, "; the means include %llu steps, %llu with an impact",
                 (unsigned long long)r->counted, (unsigned long long)t->counted_hits);
    print_line(out, "%llu of %llu steps with an impact%s%s", (unsigned long long)t->hits,
               (unsigned long long)r->step_count, means,
               schemes > 1 && !r->differed ? "; all schemes have the same results" : "");
}

static void print_summary_facts(tool_output *out, const replay *r) {
    abut_self_info info = get_self_info(r->tallies[r->leader].view);
    tool_text words = {0};
    text_grouped(&words, info.triangle_count);
    print_line_of(out, r->path, "%s triangles, %u vertices, %u holes, %u ghosts", text_of(&words),
                  info.vertex_count, info.hole_count, info.ghost_count);
    print_times(out, r);
    print_sets_facts(out, r);
    print_changes(out, r);
    print_regions(out, r);
    print_hits(out, r);
    for (int k = 0; k < SCHEMES; k++)
        if (r->wanted[k] && (r->tallies[k].differ || r->tallies[k].fallbacks))
            print_line(out, "%s: %llu results differ, %llu steps fell back to a complete search",
                       replay_rivals[k].name, (unsigned long long)r->tallies[k].differ,
                       (unsigned long long)r->tallies[k].fallbacks);
}

/* ---- JSON output ---- */

static void print_numbers(tool_output *out, const char *key, const char *const *names, int count,
                          const double *sums, double share) {
    out_object(out, key);
    for (int k = 0; k < count; k++)
        json_number(out, names[k], share * sums[k]);
    out_end(out);
}

static void print_sets(tool_output *out, const char *key, const double sums[4], double share) {
    const char *names[4];
    for (int k = 0; k < 4; k++)
        names[k] = abut_self_set_name((abut_self_set)k);
    print_numbers(out, key, names, 4, sums, share);
}

static void print_scheme(tool_output *out, const replay *r, int which) {
    const replay_tally *t = &r->tallies[which];
    double share = 1 / (double)r->counted, total = replay_total(t);
    out_object(out, NULL);
    json_text(out, "scheme", replay_rivals[which].name);
    print_numbers(out, "milliseconds", replay_stages, STAGES, t->stages, 1e3 * share);
    json_number(out, "total", 1e3 * share * total);
    if (r->wanted[RIVAL_SWEEP] && total > 0)
        json_number(out, "ratio_to_sweep", replay_total(&r->tallies[RIVAL_SWEEP]) / total);
    print_sets(out, "sets", t->sets, share);
    print_sets(out, "entered", t->entered, share);
    print_sets(out, "left", t->left, share);
    if (t->lines)
        print_numbers(out, "regions", replay_regions, 5, t->regions, 1 / (double)t->lines);
    json_number(out, "features", share * t->features);
    json_count(out, "hits", t->hits);
    json_count(out, "searched_completely", t->fallbacks);
    json_count(out, "differ", t->differ);
    out_end(out);
}

static void print_summary(tool_output *out, const replay *r) {
    abut_self_info info = get_self_info(r->tallies[r->leader].view);
    out_object(out, NULL);
    json_path(out, "recording", r->path);
    device_print(out, r->device);
    json_text(out, "line", r->companion ? "companion" : "own");
    json_text(out, "steps_to", r->recording.aims ? "aims" : "frames");
    json_count(out, "triangles", info.triangle_count);
    json_count(out, "vertices", info.vertex_count);
    json_count(out, "holes", info.hole_count);
    json_count(out, "ghosts", info.ghost_count);
    json_count(out, "from", r->recording.first);
    json_count(out, "to", r->recording.last);
    json_count(out, "every", r->every);
    json_count(out, "steps", r->step_count);
    json_count(out, "steps_that_count", r->counted);
    out_list(out, "schemes");
    for (int k = 0; k < SCHEMES; k++)
        if (r->wanted[k])
            print_scheme(out, r, k);
    out_end(out);
    out_end(out);
}

void replay_print_summary(tool_run *tool, const replay *r) {
    if (!tool->out.json)
        print_summary_facts(&tool->out, r);
    else if (r->summary)
        print_summary(&tool->out, r);
    answer(tool, "%llu", (unsigned long long)r->tallies[r->leader].hits);
}
