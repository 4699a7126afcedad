/* abut-bench: times the functions of the library, on inputs that are the same on every machine.
 * See docs/benchmarks.md. Exit codes: 0 success, 1 results differ, 2 wrong usage or an error. */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: abut-bench [OPTION...]\n"
    "  --list          names of the cases\n"
    "  --filter TEXT   only cases with TEXT in their name\n"
    "  --repeat N      timed runs of each (default: about a second of them, at least 5)\n"
    "  --threads N     with N threads only (default: 1, and 2 where it matters)\n"
    "  --device NAME   for the cases of devices: gpu, cpu, a number or a part of a name (default:\n"
    "                  ABUT_BENCH_DEVICE, else a GPU; without one these cases are skipped)\n"
    "  --out FILE      write the results as JSON\n"
    "  --quick         small inputs, two runs: for tests of the answers\n";

typedef struct command_line {
    bench_settings settings;
    const char *out;
    bool list, help;
} command_line;

/* ---- arguments ---- */

static bool parse_count(const char *option, const char *text, uint32_t most, uint32_t *count) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || strchr(text, '-') || value < 1 || value > most) {
        fprintf(stderr, "abut-bench: %s takes a number from 1 to %u, not '%s'\n", option, most,
                text);
        return false;
    }
    *count = (uint32_t)value;
    return true;
}

static bool parse(int count, char **words, command_line *line) {
    bench_settings *settings = &line->settings;
    const struct {
        const char *name, **text;
        uint32_t *number, most;
        bool *flag;
    } options[] = {{"--filter", &settings->filter, NULL, 0, NULL},
                   {"--device", &settings->device, NULL, 0, NULL},
                   {"--out", &line->out, NULL, 0, NULL},
                   {"--repeat", NULL, &settings->repeats, 1000, NULL},
                   {"--threads", NULL, &settings->threads, 1024, NULL},
                   {"--list", NULL, NULL, 0, &line->list},
                   {"--quick", NULL, NULL, 0, &settings->quick},
                   {"--help", NULL, NULL, 0, &line->help}};
    for (int i = 1; i < count; i++) {
        size_t k = 0;
        while (k < sizeof options / sizeof *options && strcmp(words[i], options[k].name) != 0)
            k++;
        if (k == sizeof options / sizeof *options) {
            fprintf(stderr, "abut-bench: unknown option '%s'\n%s", words[i], usage);
            return false;
        }
        if (options[k].flag) {
            *options[k].flag = true;
            continue;
        }
        if (++i == count) {
            fprintf(stderr, "abut-bench: %s needs a value\n", options[k].name);
            return false;
        }
        if (options[k].text)
            *options[k].text = words[i];
        else if (!parse_count(options[k].name, words[i], options[k].most, options[k].number))
            return false;
    }
    return true;
}

/* ---- printed table ---- */

static void print_goal(const bench_case *which, const bench_result *result, unsigned goals[2]) {
    if (which->goal_ms > 0 && (result->threads > 1 || !which->threaded)) {
        bool met = result->median_ms <= which->goal_ms;
        printf("  goal %g ms: %s", which->goal_ms, met ? "ok" : "missed");
        goals[met]++;
    }
    if (which->goal_memory > 0 && result->result_bytes > 0) {
        double ratio = (double)result->peak_bytes / result->result_bytes;
        bool met = ratio <= which->goal_memory;
        printf("  memory %.2fx, goal %gx: %s", ratio, which->goal_memory, met ? "ok" : "missed");
        goals[met]++;
    }
}

static void print_head(const bench_results *results) {
    printf("commit %s, %s, %s\n%s, %s\n\n", results->commit, results->compiler, results->flags,
           results->cpu, results->system);
    printf("%-32s %7s %11s %11s %9s %7s %18s %9s  %s\n", "case", "threads", "median ms",
           "minimum ms", "cpu ms", "repeats", "ns a unit", "peak MiB", "hash");
}

static void print_result(const bench_case *which, const bench_result *result, bool quick,
                         unsigned goals[2]) {
    char rate[32] = "";
    if (result->elements > 0)
        snprintf(rate, sizeof rate, "%.4g/%s", result->median_ms * 1e6 / result->elements,
                 result->unit);
    printf("%-32s %7u %11.4g %11.4g %9.4g %7u %18s %9.1f  %016llx", result->name, result->threads,
           result->median_ms, result->minimum_ms, result->cpu_ms, result->repeats, rate,
           (double)result->peak_bytes / 1048576, (unsigned long long)result->hash);
    if (!quick)
        print_goal(which, result, goals);
    if (which->print_details && !quick)
        which->print_details(which, result);
    printf("\n");
    fflush(stdout);
}

/* ---- all cases ---- */

typedef struct run_state {
    const bench_settings *settings;
    bench_results *results;
    unsigned goals[2]; /* missed, reached */
} run_state;

static bool take_result(void *user, const bench_case *which, const bench_result *result) {
    run_state *state = user;
    print_result(which, result, state->settings->quick, state->goals);
    return bench_results_add(state->results, result) ||
           bench_fail(ABUT_ERROR_MEMORY, "no memory") == ABUT_OK;
}

static bench_outcome run_case(const bench_case *which, run_state *state) {
    bench_outcome outcome = bench_run(which, state->settings, take_result, state);
    if (outcome == BENCH_SKIPPED)
        printf("%-32s skipped: %s\n", which->name, bench_error());
    else if (outcome != BENCH_FINE)
        fprintf(stderr, "abut-bench: %s failed: %s\n", which->name, bench_error());
    return outcome;
}

static int run_all(const command_line *line) {
    bench_results results;
    run_state state = {.settings = &line->settings, .results = &results};
    bench_outcome worst = BENCH_FINE;
    bool skipped = false;
    bench_results_begin(&results);
    results.quick = line->settings.quick;
    print_head(&results);
    const bench_case *which;
    for (size_t i = 0; (which = bench_case_at(i)); i++) {
        if (!bench_case_has(which, line->settings.filter))
            continue;
        bench_outcome outcome = run_case(which, &state);
        worst = outcome > worst ? outcome : worst;
        skipped = skipped || outcome == BENCH_SKIPPED;
    }
    if (!results.count && worst == BENCH_FINE && !skipped) {
        fprintf(stderr, "abut-bench: no case has '%s' in its name; see --list\n",
                line->settings.filter);
        worst = BENCH_BROKEN;
    }
    if (state.goals[0] + state.goals[1])
        printf("\ngoals: %u reached, %u missed\n", state.goals[1], state.goals[0]);
    if (line->out && worst == BENCH_FINE && !bench_results_write(&results, line->out))
        worst = BENCH_BROKEN;
    bench_results_clear(&results);
    return (int)worst;
}

static int list_all(const char *filter) {
    const bench_case *which;
    for (size_t i = 0; (which = bench_case_at(i)); i++)
        if (bench_case_has(which, filter))
            puts(which->name);
    return 0;
}

int main(int count, char **words) {
    command_line line;
    memset(&line, 0, sizeof line);
    if (!parse(count, words, &line))
        return 2;
    if (line.help)
        return fputs(usage, stdout) < 0 ? 2 : 0;
    if (line.list)
        return list_all(line.settings.filter);
    line.settings.folder = bench_folder_make();
    if (!line.settings.folder) {
        fprintf(stderr, "abut-bench: %s\n", bench_error());
        return 2;
    }
    int code = run_all(&line);
    bench_folder_remove(line.settings.folder);
    return code;
}
