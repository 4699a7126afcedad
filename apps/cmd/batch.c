/* abut batch: runs commands on many files, by many processes, resumable after interruption.
 *
 * A job has four steps. Each is atomic: if the process is killed, it either happened or did not.
 *
 *   1. A child process runs the command, which writes FOLDER/.abut-batch/KEY/output.EXTENSION (to
 *      a temporary file that is renamed, as for all files of abut).
 *   2. A line with "done" is added to the manifest and synced to disk.
 *   3. The file is renamed to its final name.
 *   4. The folder KEY is removed, and the claim is released.
 *
 * KEY is a hash of command, options, input with its size and time, and output. An output in a
 * folder of that name is therefore the complete output of exactly this job: a process that finds
 * one continues with step 2 or 3, and no finished work is repeated. A job is done if its last
 * line has this key and "done", there is no such output, and the file has the size in the line.
 *
 * A folder KEY without an output, of a job that is not claimed, shows that a process ended
 * during the job, for example for lack of memory. Such a job is run last.
 *
 * The manifest is JSON lines, append-only, shared by any number of processes. A line is added by
 * one write under a lock. A truncated line, after a power failure or on a full disk, is not valid
 * JSON and is ignored; the next line begins after a newline. Claims are locks on bytes of the
 * manifest far beyond its end: POSIX record locks, which end with their process and which NFS
 * supports. Closing any other descriptor of the file would release them, so that there is one. */
#include "batch.h"
#include "view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define STAGE ".abut-batch" /* the folder in --out in which outputs are completed */

/* Offsets of the locked bytes, beyond the end of any manifest. */
static const off_t APPENDING = ((off_t)1 << 60) - 1, CLAIMS = (off_t)1 << 60;

typedef struct batch {
    tool_run *tool;
    const char *folder, *manifest; /* paths */
    int file;                      /* the manifest; -1 = not open */
    uint64_t read_to, begun;       /* the part of it that was read; its end when the run began */
    bool again;
    uint32_t shard, shards;
    batch_jobs jobs;
    size_t total, done, before, failed; /* of this shard */
} batch;

/* The state of a job that is being processed: its key and its paths. */
typedef struct attempt {
    batch_job *job;
    struct stat input;
    uint64_t key;
    tool_text staged, place, final; /* paths */
    tool_text complaint;            /* reason of the failure */
    double seconds;                 /* negative: a killed process had finished the job */
} attempt;

static bool exists(const char *path) {
    struct stat about;
    return stat(path, &about) == 0;
}

/* ---- the manifest ---- */

static _Noreturn void fail_manifest(const batch *b, const char *what, int error) {
    tool_fail_with(b->tool, "file error", "%s: %s: %s", b->manifest, what, strerror(error));
}

/* Returns false if another process holds the lock, or a signal arrived. */
static bool lock(const batch *b, off_t byte, short type, bool wait) {
    struct flock about = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    int result;
    do
        result = fcntl(b->file, wait ? F_SETLKW : F_SETLK, &about);
    while (result < 0 && errno == EINTR && !tool_cancelled());
    return result == 0;
}

static off_t claim_of(const char *output) {
    return CLAIMS + (off_t)(hash_bytes(output, strlen(output)) & ((uint64_t)CLAIMS - 1));
}

/* Reads the complete lines that this and other processes have added. */
static void refresh_manifest(batch *b) {
    struct stat about;
    if (b->file < 0)
        return;
    if (fstat(b->file, &about) != 0)
        fail_manifest(b, "cannot be read", errno);
    size_t bytes = (uint64_t)about.st_size > b->read_to ? (size_t)about.st_size - b->read_to : 0,
           used = 0;
    char *text = tool_alloc(bytes + 1), *line = text, *end;
    while (used < bytes) {
        ssize_t got = pread(b->file, text + used, bytes - used, (off_t)(b->read_to + used));
        if (got < 0 && errno != EINTR)
            fail_manifest(b, "cannot be read", errno);
        if (!got)
            break;
        used += got > 0 ? (size_t)got : 0;
    }
    for (; (end = memchr(line, '\n', used - (size_t)(line - text))); line = end + 1) {
        *end = 0;
        uint64_t at = b->read_to + (uint64_t)(line - text);
        flat_object object = flat_parse(line);
        const char *output = flat_value(&object, "output"), *status = flat_value(&object, "status"),
                   *key = flat_value(&object, "key"), *size = flat_value(&object, "bytes");
        batch_job *job = output && status && key ? jobs_find(&b->jobs, output) : NULL;
        if (job)
            job->record =
                (batch_record){strtoull(key, NULL, 16), size ? strtoull(size, NULL, 10) : 0, at + 1,
                               strcmp(status, "done") == 0};
    }
    b->read_to += (uint64_t)(line - text);
    tool_free(text);
}

static bool write_bytes(int file, const char *bytes, size_t count) {
    while (count) {
        ssize_t put = write(file, bytes, count);
        if (put < 0 && errno == EINTR)
            continue; /* a short line is completed even after cancellation */
        if (put <= 0)
            return false;
        bytes += put;
        count -= (size_t)put;
    }
    return true;
}

/* Adds a line, which ends with a newline, and syncs it to disk; or ends the run with the manifest
 * unchanged. */
static void append_line(batch *b, const tool_text *line) {
    struct flock about = {.l_type = F_WRLCK,
                          .l_whence = SEEK_SET,
                          .l_start = APPENDING,
                          .l_len = 1};
    struct stat size;
    char last = '\n';
    while (fcntl(b->file, F_SETLKW, &about) != 0)
        if (errno != EINTR)
            fail_manifest(b, "cannot be locked", errno);
    if (fstat(b->file, &size) != 0 ||
        (size.st_size && pread(b->file, &last, 1, size.st_size - 1) != 1))
        fail_manifest(b, "cannot be read", errno);
    if ((last != '\n' && !write_bytes(b->file, "\n", 1)) ||
        !write_bytes(b->file, line->data, line->used) || fdatasync(b->file) != 0) {
        int error = errno;
        bool cut = ftruncate(b->file, size.st_size) == 0;
        fail_manifest(b,
                      cut ? "no line could be added; the run stops"
                          : "only a part of a line could be added; the run stops",
                      error);
    }
    lock(b, APPENDING, F_UNLCK, false);
}

static void add_member(tool_text *to, const char *key, const char *value) {
    text_print(to, "%s\"%s\": ", to->used ? ", " : "{", key);
    text_quoted(to, value);
}

/* Adds the line of a job: first the members of a job file, so that a manifest is one, then the
 * result. */
static void record_job(batch *b, const attempt *a, bool done) {
    tool_text line = {0};
    add_member(&line, "do", a->job->words);
    add_member(&line, "input", a->job->input);
    add_member(&line, "output", a->job->output);
    add_member(&line, "status", done ? "done" : "failed");
    if (done)
        text_print(&line, ", \"bytes\": %" PRId64, batch_file_bytes(a->staged.data));
    else
        add_member(&line, "error", text_of(&a->complaint));
    if (a->seconds >= 0)
        text_print(&line, ", \"seconds\": %.6f", a->seconds);
    else
        text_add(&line, ", \"seconds\": null");
    text_print(&line, ", \"input_bytes\": %lld, \"input_time\": \"%lld.%09ld\", \"abut\": \"%s\"",
               (long long)a->input.st_size, (long long)a->input.st_mtim.tv_sec,
               a->input.st_mtim.tv_nsec, abut_version());
    text_print(&line, ", \"process\": %ld, \"key\": \"%016" PRIx64 "\"}\n", (long)getpid(), a->key);
    append_line(b, &line);
    tool_free(line.data);
}

/* Opens the manifest, and creates it unless `look` is set. */
static void open_manifest(batch *b, bool look) {
    struct stat about;
    b->file = open(b->manifest,
                   look ? O_RDONLY | O_CLOEXEC : O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (b->file < 0 && !(look && errno == ENOENT))
        fail_manifest(b, "cannot be opened", errno);
    if (b->file >= 0 && fstat(b->file, &about) == 0 && !S_ISREG(about.st_mode))
        fail_manifest(b, "is not a regular file", S_ISDIR(about.st_mode) ? EISDIR : EINVAL);
    if (!look && !(lock(b, APPENDING, F_WRLCK, true) && lock(b, APPENDING, F_UNLCK, false)))
        fail_manifest(b,
                      "cannot be locked, which 'abut batch' requires; use --manifest with a file "
                      "on another file system",
                      errno);
    refresh_manifest(b);
    b->begun = b->read_to;
}

/* ---- the state of a job ---- */

/* Creates the parent folders of a path. */
static bool make_folders(char *path) {
    for (char *at = path + (*path == '/'); (at = strchr(at, '/')); at++) {
        *at = 0;
        bool fine = mkdir(path, 0777) == 0 || errno == EEXIST || errno == EISDIR;
        *at = '/';
        if (!fine)
            return false;
    }
    return true;
}

/* Returns whether a symbolic link is on the path from the folder of --out to a path in it: it
 * could point outside. With `last` the path itself is included. */
static bool has_link(const batch *b, char *path, bool last) {
    struct stat about;
    bool link = false;
    for (char *at = path + strlen(b->folder) + 1; at && !link;) {
        char *slash = strchr(at, '/');
        if (!slash && !last)
            return false;
        if (slash)
            *slash = 0;
        link = lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
        if (slash)
            *slash = '/';
        at = slash ? slash + 1 : NULL;
    }
    return link;
}

/* Sets the reason of a failure. Returns false. */
static bool complain(attempt *a, const char *path, const char *what, int error) {
    text_clear(&a->complaint);
    text_safe(&a->complaint, path);
    text_print(&a->complaint, ": %s%s%s", what, error ? ": " : "", error ? strerror(error) : "");
    return false;
}

/* Computes the key and the paths. Returns false if the input or the output is not usable. */
static bool identify(const batch *b, attempt *a, batch_job *job) {
    tool_text name = {0};
    struct stat old;
    *a = (attempt){.job = job};
    text_print(&a->final, "%s/%s", b->folder, job->output);
    if (stat(job->input, &a->input) != 0)
        return complain(a, job->input, "cannot be opened", errno);
    if (!S_ISREG(a->input.st_mode))
        return complain(a, job->input,
                        S_ISDIR(a->input.st_mode) ? "is a directory, not a file"
                                                  : "is not a regular file",
                        0);
    bool there = stat(a->final.data, &old) == 0;
    if (there ? S_ISDIR(old.st_mode) : errno != ENOENT)
        return complain(a, a->final.data, "cannot be written", there ? EISDIR : errno);
    text_print(&name, "%s%c%s%c%s%c%lld%c%lld.%09ld", job->words, 0, job->input, 0, job->output, 0,
               (long long)a->input.st_size, 0, (long long)a->input.st_mtim.tv_sec,
               a->input.st_mtim.tv_nsec);
    a->key = hash_bytes(name.data, name.used);
    tool_free(name.data);
    text_print(&a->place, "%s/" STAGE "/%016" PRIx64, b->folder, a->key);
    text_print(&a->staged, "%s/output.%s", a->place.data, path_ending(job->output));
    if (has_link(b, a->final.data, false) || has_link(b, a->staged.data, true))
        return complain(
            a, a->final.data,
            "cannot be written: a symbolic link could point outside the folder of --out", 0);
    return true;
}

static void attempt_free(attempt *a) {
    text_free(&a->staged);
    text_free(&a->place);
    text_free(&a->final);
    text_free(&a->complaint);
}

/* Returns whether the manifest has this job as done, and the output exists. With --again only
 * lines of this run count. */
static bool is_recorded(const batch *b, const attempt *a) {
    const batch_record *record = &a->job->record;
    return record->at && record->done && record->key == a->key &&
           (!b->again || record->at > b->begun) && !exists(a->staged.data) &&
           batch_file_bytes(a->final.data) == (int64_t)record->bytes;
}

/* Removes the folder of a job that this process has claimed, with partial files of killed
 * processes. */
static void remove_job_folder(const attempt *a) {
    struct dirent *entry;
    DIR *folder = opendir(a->place.data);
    while (folder && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(a->place.data);
}

/* Removes STAGE unless it has jobs of other processes. */
static void remove_stage_folder(const batch *b) {
    tool_text stage = {0};
    text_print(&stage, "%s/" STAGE, b->folder);
    rmdir(stage.data);
}

static void stop_if_cancelled(const batch *b) {
    if (!tool_cancelled())
        return;
    remove_stage_folder(b);
    tool_fail(b->tool, ABUT_ERROR_CANCELLED);
}

/* ---- running a job ---- */

/* Runs the command of a job as with --json, in a child process. Its output is discarded, or is
 * the output of the job; its error goes to the pipe. */
static _Noreturn void run_child(tool_run *tool, const attempt *a, int pipe_end, pid_t parent) {
    const batch_job *job = a->job;
    const tool_text staged = a->staged;
    static tool_text complaint;
    tool_text out = {0};
    tool_arguments arguments;
    char **words, end[] = "--";
    size_t count, n = 0;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a job does not survive the process that claims it */
#endif
    if (getppid() != parent)
        _exit(CODE_WORK);
    words_split(tool_copy(job->words), &words, &count);
    char **all = tool_array(count + 4, sizeof *all);
    output_start(&tool->out, true);
    tool->command = job->kind->command;
    tool->complaint = &complaint;
    tool->error_pipe = pipe_end;
    tool->input_taken = false;
    for (size_t i = 1; i < count; i++)
        all[n++] = words[i];
    text_print(&out, "--out=%s", staged.data);
    if (job->kind->product == PRODUCT_OPTION)
        all[n++] = out.data;
    all[n++] = end;
    all[n++] = tool_copy(job->input);
    if (job->kind->product == PRODUCT_OPERAND)
        all[n++] = staged.data;
    options_parse(tool, tool->command, (int)n, all, &arguments);
    tool_make_context(tool);
    int code = tool->command->run(tool, &arguments);
    if (job->kind->product == PRODUCT_JSON && code == CODE_FINE)
        ensure(abut_context_write_file(tool->context, staged.data, tool->out.text.data,
                                       tool->out.text.used));
    tool_end(tool, code);
}

/* Errors name the output, not the temporary file. */
static void rename_in(tool_text *words, const char *from, const char *to) {
    const char *at = strstr(text_of(words), from);
    if (!at)
        return;
    tool_text changed = {0};
    text_bytes(&changed, words->data, (size_t)(at - words->data));
    text_safe(&changed, to);
    text_add(&changed, at + strlen(from));
    text_free(words);
    *words = changed;
}

/* Computes the output of a job. Returns whether it is there; otherwise the reason is set. */
static bool compute_output(batch *b, attempt *a) {
    struct stat after;
    int ends[2], state = 0;
    char part[4096];
    double begun = seconds_now();
    if (pipe(ends) != 0)
        return complain(a, a->job->input, "no process can be started", errno);
    fflush(NULL);
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(b->tool, a, ends[1], parent);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return complain(a, a->job->input, "no process can be started", errno);
    }
    for (ssize_t got = -1; got;) {
        if (tool_cancelled())
            kill(child, SIGTERM);
        got = read(ends[0], part, sizeof part);
        if (got > 0)
            text_bytes(&a->complaint, part, (size_t)got);
        else if (got < 0 && errno != EINTR)
            break;
    }
    close(ends[0]);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        if (tool_cancelled())
            kill(child, SIGTERM);
    a->seconds = seconds_now() - begun;
    rename_in(&a->complaint, a->staged.data, a->final.data);
    if (WIFSIGNALED(state)) {
        snprintf(part, sizeof part, "its process ended by signal %d, perhaps for lack of memory",
                 WTERMSIG(state));
        return complain(a, a->job->input, part, 0);
    }
    if (WEXITSTATUS(state) != CODE_FINE)
        return false;
    if (stat(a->job->input, &after) != 0 || after.st_size != a->input.st_size ||
        after.st_mtim.tv_sec != a->input.st_mtim.tv_sec ||
        after.st_mtim.tv_nsec != a->input.st_mtim.tv_nsec)
        return complain(a, a->job->input, "changed while it was read", 0);
    return batch_file_bytes(a->staged.data) >= 0 ||
           complain(a, a->final.data, "nothing was written", 0);
}

/* Prints a failure, and adds it to the manifest. */
static void fail_job(batch *b, attempt *a, bool recorded) {
    const char *words = text_of(&a->complaint);
    tool_text name = {0};
    text_safe(&name, a->job->input);
    bool named = strstr(words, text_of(&name));
    progress_erase(b->tool->progress);
    if (!b->tool->out.json)
        output_flush(&b->tool->out);
    fprintf(stderr, "abut batch: %s%s%s\n", named ? "" : name.data, named ? "" : ": ", words);
    a->job->error = tool_copy(words); /* for the final list and the index */
    a->job->state = JOB_FAILED;
    b->failed++;
    if (!recorded)
        record_job(b, a, false);
}

/* Runs a job that this process has claimed. */
static void run_job(batch *b, attempt *a) {
    const batch_record *record = &a->job->record;
    bool fine = true;
    a->seconds = b->again || batch_file_bytes(a->staged.data) < 0 ? 0 : -1;
    for (int tries = 0; tries < 100; tries++) /* a process that finishes removes an empty STAGE */
        if (!(fine = make_folders(a->final.data)) || (fine = make_folders(a->staged.data)) ||
            errno != ENOENT)
            break;
    if (!fine)
        complain(a, a->final.data, "cannot be written", errno);
    else if (a->seconds >= 0)
        fine = compute_output(b, a);
    if (tool_cancelled())
        remove_job_folder(a);
    stop_if_cancelled(b);
    if (fine && !(a->seconds < 0 && record->at && record->done && record->key == a->key))
        record_job(b, a, true);
    if (fine && rename(a->staged.data, a->final.data) != 0)
        fine = complain(a, a->final.data, "cannot be written", errno);
    remove_job_folder(a);
    if (!fine) {
        fail_job(b, a, false);
        return;
    }
    a->job->state = JOB_DONE;
    b->done++;
    if (!b->tool->quiet && !b->tool->out.json) {
        if (a->seconds >= 0)
            print_line(&b->tool->out, "done  %s  (%.2f s)", a->job->output, a->seconds);
        else
            print_line(&b->tool->out, "done  %s  (completed by an interrupted run)",
                       a->job->output);
        output_flush(&b->tool->out);
    }
}

/* Runs a job unless it is done or claimed. A job that another process runs, or that may have
 * ended a process, stays open until the last round, which waits for it. */
static void try_job(batch *b, batch_job *job, bool last) {
    const batch_record *record = &job->record;
    attempt a;
    if (!identify(b, &a, job)) {
        fail_job(b, &a, false);
    } else if (!exists(a.place.data) && is_recorded(b, &a)) {
        job->state = JOB_DONE;
        b->before++;
    } else if (lock(b, claim_of(job->output), F_WRLCK, last)) {
        refresh_manifest(b);
        if (is_recorded(b, &a)) {
            remove_job_folder(&a);
            job->state = JOB_DONE;
            b->before++;
        } else if (record->at > b->begun && !record->done && record->key == a.key) {
            complain(&a, job->input, "failed in another process; see the manifest for the reason",
                     0);
            fail_job(b, &a, true);
        } else if (last || !exists(a.place.data) || exists(a.staged.data)) {
            run_job(b, &a);
        }
        lock(b, claim_of(job->output), F_UNLCK, false);
    }
    attempt_free(&a);
    stop_if_cancelled(b);
}

/* ---- the command ---- */

/* Removes the jobs of other shards, by the hash of the name of the output. */
static void choose_shard(batch *b, const tool_given *given) {
    const char *slash = given ? strchr(given->words, '/') : NULL;
    char first[16] = "1";
    b->shard = b->shards = 1;
    if (slash)
        snprintf(first, sizeof first, "%.*s", (int)(slash - given->words), given->words);
    if (given &&
        (!slash || slash - given->words >= (int)sizeof first || !read_count(first, &b->shard) ||
         !read_count(slash + 1, &b->shards) || b->shard > b->shards))
        tool_refuse(
            b->tool,
            "--shard must be a part and the number of parts, such as 1/3, 2/3 or 3/3, not '%s'",
            given->words);
    for (size_t i = 0; i < b->jobs.count; i++) {
        batch_job *job = &b->jobs.list[i];
        uint64_t hash = hash_bytes(job->output, strlen(job->output));
        uint64_t shard = ((hash >> 32 ^ (hash & 0xffffffffu)) * b->shards) >> 32;
        if (shard + 1 != b->shard)
            job->state = JOB_SKIPPED;
        b->total += job->state == JOB_OPEN;
    }
}

static int summarise_batch(batch *b) {
    tool_output *out = &b->tool->out;
    out_object(out, NULL);
    json_path(out, "folder", b->folder);
    json_path(out, "manifest", b->manifest);
    json_count(out, "jobs", b->total);
    json_count(out, "done", b->done);
    json_count(out, "done_before", b->before);
    json_count(out, "failed", b->failed);
    out_list(out, "failures");
    for (size_t i = 0; i < b->jobs.count; i++) {
        const batch_job *job = &b->jobs.list[i];
        if (job->state != JOB_FAILED)
            continue;
        out_object(out, NULL);
        json_text(out, "do", job->words);
        json_path(out, "input", job->input);
        json_text(out, "output", job->output);
        json_text(out, "error", job->error);
        out_end(out);
    }
    out_end(out);
    out_end(out);
    print_line(out, "%zu job%s: %zu done, %zu done before, %zu failed", b->total,
               b->total == 1 ? "" : "s", b->done, b->before, b->failed);
    answer(b->tool, "%zu", b->failed);
    return b->failed ? CODE_WORK : CODE_FINE;
}

/* --dry-run: lists the jobs and their states. */
static void list_jobs(batch *b) {
    tool_output *out = &b->tool->out;
    out_object(out, NULL);
    out_table(out, "jobs");
    for (size_t i = 0; i < b->jobs.count; i++) {
        batch_job *job = &b->jobs.list[i];
        attempt a;
        if (job->state != JOB_OPEN)
            continue;
        bool fine = identify(b, &a, job),
             done = fine && !exists(a.place.data) && is_recorded(b, &a);
        b->before += done;
        out_object(out, NULL);
        fact_text(out, "state", done ? "done" : fine ? "to do" : "cannot be done");
        fact_text(out, "do", job->words);
        fact_path(out, "input", job->input);
        fact_text(out, "output", job->output);
        if (!fine)
            json_text(out, "error", text_of(&a.complaint));
        out_end(out);
        attempt_free(&a);
    }
    out_end(out);
    out_end(out);
    answer(b->tool, "%zu", b->total - b->before);
}

static int run_batch(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *folder = option_given(arguments, "out"),
                     *manifest = option_given(arguments, "manifest");
    const bool look_only = option_given(arguments, "dry-run"),
               index = option_given(arguments, "index");
    batch b = {.tool = tool, .file = -1, .again = option_given(arguments, "again") != NULL};
    tool_text path = {0};
    if (!folder || !*folder->words)
        tool_refuse(tool, "--out FOLDER is missing: the folder of the outputs and the manifest");
    b.folder = folder->words;
    jobs_collect(tool, arguments, &b.jobs);
    choose_shard(&b, option_given(arguments, "shard"));
    if (index && jobs_find(&b.jobs, "index.html"))
        tool_refuse(tool, "--index writes index.html, which is also the output of a job");
    text_print(&path, "%s%s", manifest ? manifest->words : b.folder,
               manifest ? "" : "/manifest.jsonl");
    b.manifest = path.data;
    if (!look_only && !make_folders(path.data))
        tool_fail_with(tool, "file error", "%s: the folder cannot be created: %s", b.folder,
                       strerror(errno));
    if (!manifest && has_link(&b, path.data, true))
        tool_fail_with(tool, "file error",
                       "%s: is a symbolic link, which could point outside the folder of --out; use "
                       "--manifest with its target",
                       path.data);
    open_manifest(&b, look_only);
    if (look_only) {
        list_jobs(&b);
        return CODE_FINE;
    }
    for (int round = 0; round < 2; round++) {
        size_t number = 0;
        for (size_t i = 0; i < b.jobs.count; i++) {
            batch_job *job = &b.jobs.list[i];
            number += job->state != JOB_SKIPPED;
            progress_number(tool->progress, number, b.total);
            if (job->state == JOB_OPEN)
                try_job(&b, job, round > 0);
        }
    }
    progress_number(tool->progress, 0, 0);
    remove_stage_folder(&b);
    if (index)
        batch_write_index(b.tool, b.folder, &b.jobs);
    return summarise_batch(&b);
}

static const tool_option options[] = {
    REPEATED("do", "'COMMAND OPTION...'", TEXT,
             "command to run on each file: field, info (or report), samples, convert, offset, "
             "picture, slice or view with its options; field.vti selects another extension than "
             "the default; repeatable"),
    OPTION("out", "FOLDER", TEXT, "output folder; created if it does not exist"),
    OPTION("jobs", "FILE", TEXT,
           "list of jobs: command lines without 'abut', or JSON objects with do, input and output; "
           "- is standard input"),
    OPTION("base", "FOLDER", TEXT,
           "name outputs by the path of their inputs relative to this folder"),
    OPTION("shard", "I/N", TEXT, "run only part I of N, for N machines; each job is in one part"),
    OPTION("manifest", "FILE", TEXT,
           "list of finished jobs (default: manifest.jsonl in the output folder)"),
    FLAG("index", "also write index.html into the output folder: pictures of all inputs, with "
                  "links to their outputs"),
    FLAG("again", "also run finished jobs"),
    FLAG("dry-run", "only list the jobs and which of them are finished"),
    {0}};

const tool_command command_batch = {
    .name = "batch",
    .operands = "[FILE... | -]",
    .summary = "run commands on many files, resumable after interruption",
    .about = "Runs each --do on each FILE; - reads file names from standard input. The output of "
             "models/part.obj is models/part.obj.abutf in the output folder, with the extension of "
             "the command. A job that fails does not stop the others.\n\n"
             "The manifest lists the finished jobs. Run the same line again after an interruption, "
             "even by kill -9: finished jobs are skipped; jobs that are missing, failed, or have "
             "changed inputs or options are run. Several processes can work on one folder; each "
             "job is run by one of them.",
    .examples = "  abut batch models/*.obj --do 'field --cells 128' --do report --out results\n"
                "  find . -name '*.stl' | abut batch - --do 'samples.npy --count 99' --out points\n"
                "  abut batch --jobs jobs.txt --out results --shard 1/3\n"
                "  abut batch models/*.obj --do picture --do view --out pages --index\n",
    .options = options,
    .operand_range = {0, UINT32_MAX},
    .run = run_batch,
    .forks = true,
};
