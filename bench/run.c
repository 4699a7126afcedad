/* Runs one case: setup, a warm-up that fills caches, then repeats until there are enough for a
 * median. Only `run` is timed; hashing and releasing the result is not. */
#include "apps/counted.h"
#include "bench.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENOUGH_MS 1000.0
#define LEAST_REPEATS 5
#define MOST_REPEATS 1000

static abut_status make_context(counted_memory *count, uint32_t threads, abut_context **context) {
    abut_context_options options = abut_context_options_default();
    counted_use(&options, count);
    options.thread_count = threads;
    return abut_context_create(&options, context);
}

/* ---- errors ---- */

static char own_error[512];

abut_status bench_fail(abut_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(own_error, sizeof own_error, format, arguments);
    va_end(arguments);
    return status;
}

const char *bench_error(void) {
    return own_error[0] ? own_error : abut_last_error();
}

/* ---- what the harness releases ---- */

static void keep(bench_state *state, void *object, void (*release)(void *)) {
    assert(state->kept_count < BENCH_KEPT);
    state->kept[state->kept_count].object = object;
    state->kept[state->kept_count++].release = release;
}

void *bench_array(bench_state *state, size_t count, size_t bytes) {
    void *array = calloc(count ? count : 1, bytes);
    if (!array) {
        fprintf(stderr, "abut-bench: no memory for %zu elements of %zu bytes\n", count, bytes);
        exit(2);
    }
    keep(state, array, free);
    return array;
}

#define DEFINE_KEEP(name)                                             \
    static void release_##name(void *object) {                        \
        abut_##name##_destroy(object);                                \
    }                                                                 \
    void bench_keep_##name(bench_state *state, abut_##name *object) { \
        keep(state, object, release_##name);                          \
    }
BENCH_OBJECTS(DEFINE_KEEP)

/* ---- one case ---- */

static double clock_ms(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

double bench_now_ms(void) {
    return clock_ms(CLOCK_MONOTONIC);
}

double bench_cpu_ms(void) {
    return clock_ms(CLOCK_PROCESS_CPUTIME_ID);
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, uint32_t count) {
    qsort(values, count, sizeof *values, by_size);
    return !count      ? 0
           : count % 2 ? values[count / 2]
                       : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

static bool wants_more(const bench_settings *settings, bool threaded, uint32_t done,
                       double total_ms) {
    if (settings->repeats)
        return done < settings->repeats;
    if (settings->quick) /* two results to compare, on one and on two threads if required */
        return done < (threaded && !settings->threads ? 1 : 2);
    double enough = settings->enough_ms > 0 ? settings->enough_ms : ENOUGH_MS;
    uint32_t least = enough < ENOUGH_MS ? 1 : LEAST_REPEATS;
    return done < least || (total_ms < enough && done < MOST_REPEATS);
}

/* Runs and finishes once; writes the time of the run to *ms, and the processor time to *cpu. */
static abut_status run_once(bench_state *state, counted_memory *count, bench_result *result,
                            double *ms, double *cpu) {
    uint64_t before = atomic_load(&count->live);
    atomic_store(&count->peak, before);
    state->hash = 0;
    double cpu_start = bench_cpu_ms(), start = bench_now_ms();
    TRY(state->which->run(state));
    *ms = bench_now_ms() - start;
    *cpu = bench_cpu_ms() - cpu_start;
    uint64_t used = atomic_load(&count->peak) - before;
    if (result->peak_bytes < used)
        result->peak_bytes = used;
    return state->which->finish ? state->which->finish(state) : ABUT_OK;
}

static bench_outcome run_repeats(bench_state *state, counted_memory *count,
                                 const bench_settings *settings, bench_result *result) {
    double times[MOST_REPEATS], cpu_times[MOST_REPEATS], ms, cpu, total = 0;
    if (!settings->quick && run_once(state, count, result, &ms, &cpu)) /* warm-up */
        return BENCH_BROKEN;
    result->hash = state->hash; /* 0 = none yet */
    while (wants_more(settings, state->which->threaded, result->repeats, total)) {
        if (settings->cancelled && settings->cancelled()) {
            bench_fail(ABUT_ERROR_CANCELLED, "cancelled");
            return BENCH_BROKEN;
        }
        if (run_once(state, count, result, &ms, &cpu))
            return BENCH_BROKEN;
        if (!result->hash)
            result->hash = state->hash;
        if (state->hash != result->hash)
            return BENCH_DIFFERS;
        times[result->repeats] = ms;
        cpu_times[result->repeats++] = cpu;
        total += ms;
    }
    result->median_ms = bench_median(times, result->repeats);
    result->minimum_ms = times[0]; /* sorted by now */
    result->cpu_ms = bench_median(cpu_times, result->repeats);
    return BENCH_FINE;
}

/* Runs one case with one thread count. */
static bench_outcome run_with(const bench_case *which, uint32_t threads,
                              const bench_settings *settings, bench_result *result) {
    counted_memory count;
    atomic_init(&count.live, 0);
    atomic_init(&count.peak, 0);
    memset(result, 0, sizeof *result);
    snprintf(result->name, sizeof result->name, "%s", which->name);
    snprintf(result->unit, sizeof result->unit, "%s", which->unit);
    result->threads = threads;
    own_error[0] = 0;
    bench_state state = {.which = which,
                         .folder = settings->folder,
                         .device = settings->device,
                         .quick = settings->quick};
    if (which->data_bytes && !(state.data = calloc(1, which->data_bytes))) {
        bench_fail(ABUT_ERROR_MEMORY, "no memory");
        return BENCH_BROKEN;
    }
    if (make_context(&count, threads, &state.context)) {
        free(state.data);
        return BENCH_BROKEN;
    }
    bench_outcome outcome = BENCH_BROKEN;
    if (!which->setup || !which->setup(&state))
        outcome = run_repeats(&state, &count, settings, result);
    else if (state.skipped)
        outcome = BENCH_SKIPPED;
    if (which->teardown)
        which->teardown(&state);
    while (state.kept_count-- > 0)
        state.kept[state.kept_count].release(state.kept[state.kept_count].object);
    free(state.data);
    abut_context_destroy(state.context);
    result->elements = state.elements;
    result->bytes = state.bytes;
    result->result_bytes = state.result_bytes;
    if (atomic_load(&count.live) && outcome == BENCH_FINE) {
        bench_fail(ABUT_ERROR_MEMORY, "%llu bytes were not released",
                   (unsigned long long)atomic_load(&count.live));
        outcome = BENCH_BROKEN;
    }
    return outcome;
}

bench_outcome bench_run(const bench_case *which, const bench_settings *settings,
                        bool (*take)(void *user, const bench_case *which, const bench_result *),
                        void *user) {
    uint32_t counts[2] = {1, 2};
    int last = which->threaded ? 1 : 0;
    if (settings->threads) {
        counts[0] = settings->threads;
        last = 0;
    }
    uint64_t hash = 0;
    for (int i = 0; i <= last; i++) {
        bench_result result;
        bench_outcome outcome = run_with(which, counts[i], settings, &result);
        if (outcome == BENCH_DIFFERS || (outcome == BENCH_FINE && i > 0 && result.hash != hash)) {
            bench_fail(ABUT_OK, "it gives another answer with %s",
                       outcome == BENCH_DIFFERS ? "every run" : "two threads");
            return BENCH_DIFFERS;
        }
        if (outcome != BENCH_FINE)
            return outcome;
        hash = result.hash;
        if (!take(user, which, &result))
            return BENCH_BROKEN;
    }
    return BENCH_FINE;
}
