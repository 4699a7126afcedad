/* Runs the comparisons with other libraries, which are separate programs, since the library is
 * never linked to those. Each prints its lines and writes a result file, which is read here. */
#include "bench.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const struct {
    const char *name, *package;
} peers[] = {
    {"embree", "libembree-dev"}, {"fcl", "libfcl-dev"}, {"cgal", "libcgal-dev"},
    {"bullet", "libbullet-dev"}, {"ode", "libode-dev"}, {"openvdb", "libopenvdb-dev"},
};

static bool complain(const char *program, const char *what) {
    fprintf(stderr, "abut-bench: %s: %s\n", program, what);
    return false;
}

/* Runs program --out FILE [--quick] MODEL... to its end. */
static bool run_program(const char *program, const char *out, bool quick, char *const *models,
                        int model_count) {
    char **words = calloc((size_t)model_count + 5, sizeof *words);
    if (!words)
        return complain(program, "out of memory");
    size_t count = 0;
    words[count++] = (char *)program;
    words[count++] = "--out";
    words[count++] = (char *)out;
    if (quick)
        words[count++] = "--quick";
    for (int i = 0; i < model_count; i++)
        words[count++] = models[i];
    pid_t child;
    fflush(stdout);
    int error = posix_spawn(&child, program, NULL, NULL, words, environ), status = 0;
    free(words);
    if (error)
        return complain(program, strerror(error));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return complain(program, strerror(errno));
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || complain(program, "failed");
}

/* Adds the results of a file, which is removed. */
static bool add_results(const char *path, bench_results *results, unsigned faster[2]) {
    bench_results read;
    if (!bench_results_read(&read, path))
        return false;
    bool fine = true;
    for (size_t i = 0; i < read.count && fine; i++) {
        faster[read.list[i].minimum_ms < read.list[i].peer_minimum_ms]++;
        fine = bench_results_add(results, &read.list[i]) || complain(path, "out of memory");
    }
    bench_results_clear(&read);
    remove(path);
    return fine;
}

bool bench_peers(char *const *models, int model_count, bool quick, const char *folder,
                 bench_results *results) {
    const char *where = getenv("ABUT_BENCH_PEERS");
    unsigned faster[2] = {0, 0};
    bool fine = true;
    where = where && where[0] ? where : BENCH_PEERS;
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++) {
        char program[1024], out[1024];
        snprintf(program, sizeof program, "%s/peer-%s", where, peers[i].name);
        snprintf(out, sizeof out, "%s/%s.json", folder, peers[i].name);
        printf("\n");
        if (access(program, X_OK) != 0)
            printf("%s: not built; bench/peers/setup installs %s and builds it\n", peers[i].name,
                   peers[i].package);
        else
            fine = run_program(program, out, quick, models, model_count) &&
                   add_results(out, results, faster) && fine;
    }
    printf("\n%u comparisons; abut is faster in %u. Ratio: their time over ours, of the best "
           "rounds.\n",
           faster[0] + faster[1], faster[1]);
    return fine;
}
