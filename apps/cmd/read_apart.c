/* Reads files with Assimp in a child process. Importers of Assimp do not validate their input:
 * some crash, some allocate without bound, some do not return. The child therefore reads the
 * file under limits of memory and time, and sends the mesh as a PLY file through a pipe.
 *
 * The pipe carries one byte, the status of the child, followed by the mesh or the error message. */
#include "tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_SECONDS 120
#define MEMORY_LIMIT_GIB 4

/* ---- the child ---- */

/* Returns the bytes of address space in use. Known on Linux only; otherwise 0. */
static uint64_t space_in_use(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%llu", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_limit(int resource, uint64_t most) {
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_max == RLIM_INFINITY || most < limit.rlim_max)
        limit.rlim_cur = limit.rlim_max = (rlim_t)most;
    setrlimit(resource, &limit);
}

static void set_limits(void) {
    set_limit(RLIMIT_AS, space_in_use() + ((uint64_t)MEMORY_LIMIT_GIB << 30));
    set_limit(RLIMIT_CPU, TIMEOUT_SECONDS);
    set_limit(RLIMIT_CORE, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

static void write_bytes(int to, const char *bytes, size_t count) {
    while (count) {
        ssize_t written = write(to, bytes, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        bytes += written;
        count -= (size_t)written;
    }
}

/* Single-threaded: the threads of the parent do not exist after fork(). */
static abut_status read_here(tool_run *tool, const char *path,
                             const abut_mesh_read_options *options, abut_mesh **mesh) {
    abut_context_options ours = abut_context_options_default();
    abut_context *context = NULL;
    ours.thread_count = 1;
    ours.log = tool_log;
    ours.log_user = tool;
    abut_status status = abut_context_create(&ours, &context);
    if (!status)
        status = abut_mesh_read(context, path, options, mesh);
    abut_context_destroy(context);
    return status;
}

static _Noreturn void run_child(tool_run *tool, const char *path,
                                const abut_mesh_read_options *options, int to) {
    abut_mesh *mesh = NULL;
    char pipe_path[32], code;
    set_limits();
    abut_status status = read_here(tool, path, options, &mesh);
    code = (char)status;
    write_bytes(to, &code, 1);
    if (status) {
        write_bytes(to, abut_last_error(), strlen(abut_last_error()));
    } else {
        abut_mesh_write_options writing = abut_mesh_write_options_default();
        writing.format = ABUT_MESH_FORMAT_PLY;
        snprintf(pipe_path, sizeof pipe_path, "/dev/fd/%d", to);
        status = abut_mesh_write(mesh, pipe_path, &writing);
    }
    _exit(status ? CODE_WORK : CODE_FINE);
}

/* ---- the parent ---- */

static abut_status set_read_error(abut_status status, const char *path, const char *format, ...)
    TOOL_PRINTF(3, 4);
static abut_status set_read_error(abut_status status, const char *path, const char *format, ...) {
    char words[300], sentence[1000];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    snprintf(sentence, sizeof sentence, "%.600s: %s", path, words);
    return abut_set_error(status, sentence);
}

/* Waits until the child has written something or has exited. */
static abut_status wait_for(tool_run *tool, const char *path, int from) {
    double end = seconds_now() + TIMEOUT_SECONDS;
    for (;;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (poll(&ready, 1, 100) > 0)
            return ABUT_OK;
        if (!progress_report(tool->progress, "reading", 0) || tool_cancelled())
            return set_read_error(ABUT_ERROR_CANCELLED, path, "cancelled");
        if (seconds_now() > end)
            return set_read_error(ABUT_ERROR_LIMIT, path,
                                  "Assimp did not finish within %d seconds and was stopped",
                                  TIMEOUT_SECONDS);
    }
}

/* Reads what the child has sent. Sets `silent` if it ended early; the caller reports that. */
static abut_status receive(tool_run *tool, const char *path, int from, bool *silent,
                           abut_mesh **mesh) {
    abut_status status = wait_for(tool, path, from);
    char code, sentence[1000], pipe_path[32];
    *silent = false;
    if (status)
        return status;
    if (read(from, &code, 1) != 1) {
        *silent = true;
        return ABUT_ERROR_FORMAT;
    }
    if (code) {
        size_t used = 0;
        ssize_t got;
        while (used + 1 < sizeof sentence &&
               ((got = read(from, sentence + used, sizeof sentence - 1 - used)) > 0 ||
                (got < 0 && errno == EINTR)))
            used += got > 0 ? (size_t)got : 0;
        sentence[used] = 0;
        return abut_set_error((abut_status)code, sentence);
    }
    abut_mesh_read_options reading = abut_mesh_read_options_default();
    reading.format = ABUT_MESH_FORMAT_PLY;
    snprintf(pipe_path, sizeof pipe_path, "/dev/fd/%d", from);
    status = abut_mesh_read(tool->context, pipe_path, &reading, mesh);
    *silent = status == ABUT_ERROR_FORMAT;
    return status;
}

abut_status tool_read_apart(tool_run *tool, const char *path, const abut_mesh_read_options *options,
                            abut_mesh **mesh) {
    int ends[2], state = 0;
    bool silent;
    if (pipe(ends) != 0)
        return set_read_error(ABUT_ERROR_FILE, path,
                              "cannot create a pipe to the process that reads it: %s",
                              strerror(errno));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(tool, path, options, ends[1]);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return set_read_error(ABUT_ERROR_FILE, path, "cannot start the process that reads it: %s",
                              strerror(errno));
    }
    abut_status status = receive(tool, path, ends[0], &silent, mesh);
    close(ends[0]);
    if (status && !silent)
        kill(child, SIGKILL); /* the child may still be running */
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    if (silent && WIFSIGNALED(state) && WTERMSIG(state) == SIGXCPU)
        return set_read_error(ABUT_ERROR_LIMIT, path,
                              "Assimp did not finish within %d seconds and was stopped",
                              TIMEOUT_SECONDS);
    if (silent)
        return set_read_error(ABUT_ERROR_FORMAT, path,
                              "Assimp crashed, or needed more than %d GiB (signal %d)",
                              MEMORY_LIMIT_GIB, WIFSIGNALED(state) ? WTERMSIG(state) : 0);
    return status;
}
