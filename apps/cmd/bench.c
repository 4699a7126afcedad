/* abut bench: measures the speed of the library. The cases are those of abut-bench (bench/), on
 * generated models. */
#include "tool.h"

#include "bench.h"

#include <string.h>

#define REPEAT_MS 100 /* time of the repetitions of each case */

typedef struct bench_run_state {
    tool_output *out;
    tool_text skipped; /* lines of text output */
} bench_run_state;

/* ---- output ---- */

static bool print_result(void *user, const bench_case *which, const bench_result *result) {
    bench_run_state *state = user;
    tool_output *out = state->out;
    double seconds = result->median_ms * 1e-3;
    (void)which;
    out_object(out, NULL);
    fact_text(out, "case", result->name);
    fact_count(out, "threads", result->threads);
    fact_number(out, "median_ms", result->median_ms);
    fact_number(out, "minimum_ms", result->minimum_ms);
    json_number(out, "cpu_ms", result->cpu_ms);
    fact_count(out, "repeats", result->repeats);
    json_number(out, "elements", result->elements);
    json_text(out, "unit", result->unit);
    json_number(out, "elements_per_s", seconds > 0 ? result->elements / seconds : 0);
    print_fact(out, "rate", "%.4g ns/%s",
               result->elements > 0 ? result->median_ms * 1e6 / result->elements : 0, result->unit);
    json_count(out, "peak_bytes", result->peak_bytes);
    char hash[17];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)result->hash);
    fact_text(out, "hash", hash);
    out_end(out);
    return true;
}

static void print_skipped(bench_run_state *state, const char *name) {
    tool_output *out = state->out;
    json_object(out, NULL);
    json_text(out, "case", name);
    json_text(out, "skipped", tool_error_message(bench_error()));
    json_end(out);
    if (!out->json) {
        text_print(&state->skipped, "%s: skipped: ", name);
        text_safe(&state->skipped, tool_error_message(bench_error()));
        text_add(&state->skipped, "\n");
    }
}

static void print_machine(tool_output *out) {
    bench_results about;
    bench_results_begin(&about);
    json_text(out, "commit", about.commit);
    json_text(out, "compiler", about.compiler);
    json_text(out, "flags", about.flags);
    json_text(out, "cpu", about.cpu);
    json_text(out, "system", about.system);
    json_text(out, "date", about.date);
    print_line(out, "commit %s, %s\n%s, %s", about.commit, about.compiler, about.cpu, about.system);
}

/* ---- selection of cases ---- */

/* Selects the brief cases without a name, otherwise all cases with it in their names. Skips
 * device cases with --device cpu. */
static bool is_chosen(const bench_case *which, const char *part, bool cpu_only) {
    if (cpu_only && strncmp(which->name, "device/", 7) == 0)
        return false;
    return part ? bench_case_has(which, part) : bench_case_is_brief(which);
}

static size_t count_chosen(const char *part, bool cpu_only) {
    size_t count = 0;
    const bench_case *which;
    for (size_t i = 0; (which = bench_case_at(i)); i++)
        count += is_chosen(which, part, cpu_only);
    return count;
}

static void list_cases(tool_output *out, const char *part) {
    const bench_case *which;
    out_object(out, NULL);
    out_table(out, "cases");
    for (size_t i = 0; (which = bench_case_at(i)); i++) {
        if (!bench_case_has(which, part))
            continue;
        out_object(out, NULL);
        fact_text(out, "case", which->name);
        fact_text(out, "unit", which->unit);
        json_boolean(out, "brief", bench_case_is_brief(which));
        print_fact(out, "by default", bench_case_is_brief(which) ? "yes" : "");
        out_end(out);
    }
    out_end(out);
    out_end(out);
}

/* ---- the run ---- */

/* Runs the selected cases. Returns the most severe exit code. */
static void run_cases(tool_run *tool, const bench_settings *settings, const char *part,
                      bool cpu_only, bench_run_state *state) {
    size_t count = count_chosen(part, cpu_only), done = 0;
    const bench_case *which;
    for (size_t i = 0; (which = bench_case_at(i)); i++) {
        if (!is_chosen(which, part, cpu_only))
            continue;
        progress_report(tool->progress, which->name, (double)done++ / (double)count);
        bench_outcome outcome =
            tool_cancelled() ? BENCH_BROKEN : bench_run(which, settings, print_result, state);
        if (tool_cancelled())
            tool_fail(tool, ABUT_ERROR_CANCELLED);
        else if (outcome == BENCH_SKIPPED)
            print_skipped(state, which->name);
        else if (outcome != BENCH_FINE)
            tool_fail_with(tool, outcome == BENCH_DIFFERS ? "wrong result" : "failure", "%s: %s",
                           which->name, tool_error_message(bench_error()));
    }
}

static int run_bench(tool_run *tool, const tool_arguments *arguments) {
    const char *part = arguments->operand_count ? arguments->operands[0] : NULL;
    const tool_given *repeat = option_given(arguments, "repeat");
    const tool_given *device = option_given(arguments, "device");
    bool cpu_only = device && !device_named(arguments);
    if (part && !count_chosen(part, cpu_only))
        tool_refuse(tool, "no case has '%s' in its name; 'abut bench --list' lists the cases",
                    part);
    if (option_given(arguments, "list")) {
        list_cases(&tool->out, part);
        return CODE_FINE;
    }
    option_range(tool, repeat, 1, 1000, "runs");
    bench_settings settings = {.folder = bench_folder_make(),
                               .device = device_named(arguments),
                               .repeats = repeat ? repeat->counts[0] : 0,
                               .enough_ms = REPEAT_MS,
                               .cancelled = tool_cancelled,
                               .threads = tool->threads,
                               .quick = option_given(arguments, "quick") != NULL};
    if (!settings.folder)
        tool_fail_with(tool, "file error", "%s", tool_error_message(bench_error()));
    bench_run_state state = {.out = &tool->out};
    out_object(&tool->out, NULL);
    print_machine(&tool->out);
    json_boolean(&tool->out, "quick", settings.quick);
    out_table(&tool->out, "cases");
    run_cases(tool, &settings, part, cpu_only, &state);
    bench_folder_remove(settings.folder);
    out_end(&tool->out);
    text_bytes(&tool->out.text, state.skipped.data, state.skipped.used);
    out_end(&tool->out);
    return CODE_FINE;
}

static const tool_option options[] = {
    FLAG("list", "print the names of the cases and exit"),
    OPTION("repeat", "N", COUNT, "N timed runs of each case (default: as many as take 0.1 s)"),
    FLAG("quick", "small inputs, one run: for checking results, not times"),
    DEVICE_OPTION,
    {0}};

const tool_command command_bench = {
    .name = "bench",
    .operands = "[CASE]",
    .summary = "measure the speed of the library on this machine",
    .about = "Runs benchmark cases on built-in models: a representative selection, which takes "
             "some seconds, or all cases with CASE in their names. Each case runs with one thread, "
             "and with two if that matters; --threads N runs it with N instead. The hash is that "
             "of the results: it does not depend on threads, repetitions, compiler or processor, "
             "and a case with two different hashes fails. Device cases use a GPU if there is one "
             "and --device does not select another; --device cpu skips them.",
    .examples = "  abut bench\n"
                "  abut bench bvh/nearest\n"
                "  abut bench --list\n"
                "  abut bench --json >speed.json\n",
    .options = options,
    .operand_kind = OPERAND_NONE,
    .operand_range = {0, 1},
    .run = run_bench,
};
