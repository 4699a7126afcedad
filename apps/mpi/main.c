/* abut-mpi: commands of abut by several processes, started by mpirun. Every process reads the
 * same arguments; they communicate through apps/cmd/share.c and libabut-mpi. */
#include "tool.h"

#include <abut/mpi.h>

#include <stdlib.h>
#include <sys/resource.h>

typedef struct session {
    abut_mpi_traffic traffic;
    double begun, processor; /* when MPI was initialised */
    bool wants_report;
    int rank, count;
} session;

static void gather(void *user, const void *own, const uint64_t *sizes, void *all) {
    session *s = user;
    abut_mpi_gather(MPI_COMM_WORLD, own, sizes, all, &s->traffic);
}

static void collect(void *user, const void *own, const uint64_t *sizes, void *all) {
    session *s = user;
    abut_mpi_collect(MPI_COMM_WORLD, own, sizes, all, &s->traffic);
}

static void give_up(void *user, const char *why) {
    (void)user;
    fprintf(stderr, "abut-mpi: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, CODE_WORK);
    abort();
}

static abut_status write_field(void *user, abut_mesh *mesh, const abut_field_options *options,
                               const char *path, bool plain, abut_field_info *info) {
    session *s = user;
    return abut_mpi_field_write(MPI_COMM_WORLD, mesh, options, path, plain, info, &s->traffic);
}

/* ---- report ---- */

static double processor_seconds(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)use.ru_utime.tv_sec + 1e-6 * (double)use.ru_utime.tv_usec +
           (double)use.ru_stime.tv_sec + 1e-6 * (double)use.ru_stime.tv_usec;
}

/* Prints one line per process on standard error of the first. Processor seconds exclude those
 * spent waiting in MPI. */
static void report(const session *s) {
    enum { NUMBERS = 5 };
    const double own[NUMBERS] = {MPI_Wtime() - s->begun,
                                 processor_seconds() - s->processor - s->traffic.processor,
                                 s->traffic.waited, (double)s->traffic.sent,
                                 (double)s->traffic.written};
    double *all = malloc((size_t)s->count * sizeof own);
    if (!all)
        give_up(NULL, "there is no memory for the report");
    MPI_Gather(own, NUMBERS, MPI_DOUBLE, all, NUMBERS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (s->rank == 0)
        fputs("process,seconds,processor_seconds,mpi_seconds,sent_bytes,written_bytes\n", stderr);
    for (int i = 0; i < s->count && s->rank == 0; i++) {
        const double *a = all + NUMBERS * i;
        fprintf(stderr, "%d,%.3f,%.3f,%.3f,%.0f,%.0f\n", i, a[0], a[1], a[2], a[3], a[4]);
    }
    free(all);
}

static void end(void *user) {
    const session *s = user;
    if (s->wants_report)
        report(s);
    MPI_Finalize();
}

/* Removes an argument from the command line, if it is present. */
static bool take_word(int *count, char **words, const char *word) {
    int kept = 0;
    for (int i = 0; i < *count; i++)
        if (!i || strcmp(words[i], word) != 0)
            words[kept++] = words[i];
    const bool found = kept != *count;
    *count = kept;
    return found;
}

static const char help[] =
    "abut-mpi: commands of abut by several processes, with the same output\n"
    "Usage: mpirun -n PROCESSES abut-mpi COMMAND [OPTION...] [FILE...]\n"
    "\n"
    "  field MESH OUT.abutf --sparse   bricks of a sparse field, into one file\n"
    "  sweep RECORDING.abutm           steps of a recorded motion\n"
    "  distance A B --poses FILE       poses of two meshes\n"
    "  contacts SCENE.json             pairs of bodies of a scene\n"
    "\n"
    "Options are those of abut: try 'abut help COMMAND'. --report prints on standard\n"
    "error the time of each process. See docs/mpi.md.\n";

/* Returns whether there is no command, or only a request for help. */
static bool is_help_request(int count, char **words) {
    return count < 2 ||
           (count == 2 && (strcmp(words[1], "--help") == 0 || strcmp(words[1], "help") == 0));
}

int main(int count, char **words) {
    int level;
    if (MPI_Init_thread(&count, &words, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return CODE_WORK;
    setenv("NO_COLOR", "1", 0); /* mpirun gives every process a pseudo-terminal */
    session s = {.begun = MPI_Wtime(),
                 .processor = processor_seconds(),
                 .wants_report = take_word(&count, words, "--report")};
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.count);
    tool_share share = {.rank = (uint32_t)s.rank,
                        .count = (uint32_t)s.count,
                        .user = &s,
                        .gather = gather,
                        .collect = collect,
                        .give_up = give_up,
                        .end = end,
                        .write_field = write_field};
    tool_last_act = abut_mpi_clean;
    int code = CODE_FINE;
    if (!is_help_request(count, words))
        code = tool_main(count, words, &share);
    else if (s.rank == 0)
        fputs(help, count < 2 ? stderr : stdout);
    code = count < 2 ? CODE_USAGE : code;
    end(&s);
    return code;
}
