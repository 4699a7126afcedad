/* How this program was built, and on which machine it runs; and the memory bandwidth of the
 * machine, as the lower bound for all times. */
#include "bench.h"

#include "bench_build.h" /* BENCH_COMMIT, BENCH_FLAGS; written at build time */

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Copies the value of the first line "key<separator>value" of a file; false if there is none. */
static bool find_line(const char *path, const char *key, char separator, char *out,
                      size_t out_bytes) {
    FILE *file = fopen(path, "r");
    char line[512];
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        char *value = strchr(line, separator);
        if (!value || strncmp(line, key, strlen(key)) != 0)
            continue;
        value += 1 + strspn(value + 1, " \t\"");
        value[strcspn(value, "\"\n")] = 0;
        snprintf(out, out_bytes, "%s", value);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

static void describe_cpu(char *out, size_t out_bytes) {
    char implementer[32], part[32];
    if (find_line("/proc/cpuinfo", "model name", ':', out, out_bytes))
        return;
    if (find_line("/proc/cpuinfo", "CPU implementer", ':', implementer, sizeof implementer) &&
        find_line("/proc/cpuinfo", "CPU part", ':', part, sizeof part))
        snprintf(out, out_bytes, "implementer %s part %s", implementer, part);
    else
        snprintf(out, out_bytes, "unknown");
}

static void describe_system(char *out, size_t out_bytes) {
    struct utsname about;
    char name[80] = "";
    bool known = uname(&about) == 0;
    find_line("/etc/os-release", "PRETTY_NAME", '=', name, sizeof name);
    snprintf(out, out_bytes, "%.20s %.20s%s%s", known ? about.sysname : "unknown",
             known ? about.machine : "", name[0] ? ", " : "", name);
}

void bench_results_begin(bench_results *results) {
    memset(results, 0, sizeof *results);
    snprintf(results->commit, sizeof results->commit, "%s", BENCH_COMMIT);
#if defined(__clang__)
    snprintf(results->compiler, sizeof results->compiler, "clang %s", __clang_version__);
#elif defined(__GNUC__)
    snprintf(results->compiler, sizeof results->compiler, "gcc %s", __VERSION__);
#else
    snprintf(results->compiler, sizeof results->compiler, "unknown");
#endif
    for (size_t n = strlen(results->compiler);
         n && isspace((unsigned char)results->compiler[n - 1]);)
        results->compiler[--n] = 0;
    snprintf(results->flags, sizeof results->flags, "%s", BENCH_FLAGS);
    describe_cpu(results->cpu, sizeof results->cpu);
    describe_system(results->system, sizeof results->system);
    time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts))
        strftime(results->date, sizeof results->date, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

/* ---- memory bandwidth ---- */

typedef struct copy_data {
    size_t bytes;
    unsigned char *from, *to;
} copy_data;

static abut_status copy_setup(bench_state *state) {
    copy_data *data = state->data;
    data->bytes = state->quick ? 1u << 20 : 1u << 28; /* beyond any cache */
    data->from = malloc(data->bytes);
    data->to = malloc(data->bytes);
    memset(data->from, 1, data->bytes);
    state->elements = (double)data->bytes;
    state->bytes = 2 * (double)data->bytes; /* read and written */
    return ABUT_OK;
}

static abut_status copy_run(bench_state *state) {
    copy_data *data = state->data;
    memcpy(data->to, data->from, data->bytes);
    return ABUT_OK;
}

static abut_status copy_finish(bench_state *state) {
    copy_data *data = state->data;
    state->hash = bench_hash(0, data->to, data->bytes);
    return ABUT_OK;
}

/* ---- a file out of the page cache ---- */

#define WINDOW (1u << 18)

typedef struct scan_data {
    char path[600];
    int descriptor;
    uint64_t sum;
    unsigned char window[WINDOW];
} scan_data;

static abut_status scan_setup(bench_state *state) {
    scan_data *data = state->data;
    data->descriptor = -1;
    snprintf(data->path, sizeof data->path, "%s/scan", state->folder);
    FILE *file = fopen(data->path, "wb");
    size_t blocks = state->quick ? 4 : 256;
    memset(data->window, 1, WINDOW);
    bool fine = file != NULL;
    for (size_t i = 0; fine && i < blocks; i++)
        fine = fwrite(data->window, 1, WINDOW, file) == WINDOW;
    if (file)
        fine = !fclose(file) && fine;
    if (fine)
        data->descriptor = open(data->path, O_RDONLY);
    state->elements = state->bytes = (double)(blocks * WINDOW);
    return fine && data->descriptor >= 0
               ? ABUT_OK
               : bench_fail(ABUT_ERROR_FILE, "cannot write and read '%s'", data->path);
}

static abut_status scan_run(bench_state *state) {
    scan_data *data = state->data;
    ssize_t got = lseek(data->descriptor, 0, SEEK_SET);
    data->sum = 0;
    while (got >= 0 && (got = read(data->descriptor, data->window, WINDOW)) > 0)
        data->sum += (uint64_t)got;
    return got < 0 ? bench_fail(ABUT_ERROR_FILE, "cannot read '%s'", data->path) : ABUT_OK;
}

static abut_status scan_finish(bench_state *state) {
    scan_data *data = state->data;
    state->hash = bench_hash(data->sum, data->window, WINDOW);
    return ABUT_OK;
}

static void scan_teardown(bench_state *state) {
    scan_data *data = state->data;
    if (data->descriptor >= 0)
        close(data->descriptor);
    remove(data->path);
}

const bench_case bench_machine_cases[] = {
    {.name = "machine/copy",
     .unit = "byte",
     .data_bytes = sizeof(copy_data),
     .setup = copy_setup,
     .run = copy_run,
     .finish = copy_finish},
    {.name = "machine/read-file",
     .unit = "byte",
     .data_bytes = sizeof(scan_data),
     .setup = scan_setup,
     .run = scan_run,
     .finish = scan_finish,
     .teardown = scan_teardown},
    {.name = NULL},
};
