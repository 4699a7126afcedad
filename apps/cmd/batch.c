/* abut batch: runs commands on many files, by many processes, resumable after interruption.
 * batch.h states the guarantees and the protocol. */
#include "batch.h"
#include "view.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAGE ".abut-batch" /* the folder in --out in which outputs are completed */

typedef struct batch {
    tool_run *tool;
    const char *folder;
    bool again;
    uint32_t shard, shards;
    batch_jobs jobs;
    batch_manifest manifest;
    size_t total, done, before, failed; /* of this shard */
} batch;

/* The state of a job that is being processed: its key and its paths. */
typedef struct attempt {
    batch_job *job;
    struct stat input;
    uint64_t key;
    tool_text staged, place, final; /* paths; batch.h describes them */
    tool_text complaint;            /* reason of the failure */
    double seconds;
    bool known; /* whether the duration is known: false if a killed process had finished the job */
} attempt;

/* ---- paths ---- */

/* Creates a folder and its parents; for a path that ends with a name only the parents. */
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

static void complain(attempt *a, const char *path, const char *what, int error) {
    text_clear(&a->complaint);
    text_safe(&a->complaint, path);
    text_print(&a->complaint, ": %s%s%s", what, error ? ": " : "", error ? strerror(error) : "");
}

/* Returns whether a symbolic link is on the path from the folder of --out to a path in it: it
 * could point outside. With `last` the path itself is included. */
static bool has_link(const batch *b, char *path, bool last) {
    struct stat about;
    for (char *at = path + strlen(b->folder) + 1; at; at++) {
        char *slash = strchr(at, '/');
        if (!slash && !last)
            return false;
        if (slash)
            *slash = 0;
        bool link = lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
        if (slash)
            *slash = '/';
        if (link || !slash)
            return link;
        at = slash;
    }
    return false;
}

/* Errors name the output, not the temporary file. */
static void rename_in(tool_text *words, const char *from, const char *to) {
    char *at = words->data ? strstr(words->data, from) : NULL;
    if (!at)
        return;
    tool_text changed = {0};
    text_bytes(&changed, words->data, (size_t)(at - words->data));
    text_safe(&changed, to);
    text_add(&changed, at + strlen(from));
    text_free(words);
    *words = changed;
}

/* ---- state of a job ---- */

/* Computes the key of the job. Returns false if the input or the output is not usable. */
static bool identify(const batch *b, attempt *a, batch_job *job) {
    tool_text name = {0};
    struct stat old;
    *a = (attempt){.job = job, .known = true};
    text_print(&a->final, "%s/%s", b->folder, job->output);
    if (stat(job->input, &a->input) != 0) {
        complain(a, job->input, "cannot be opened", errno);
        return false;
    }
    if (!S_ISREG(a->input.st_mode)) {
        complain(a, job->input,
                 S_ISDIR(a->input.st_mode) ? "is a directory, not a file" : "is not a regular file",
                 0);
        return false;
    }
    bool there = stat(a->final.data, &old) == 0;
    if (there ? S_ISDIR(old.st_mode) : errno != ENOENT) {
        complain(a, a->final.data, "cannot be written", there ? EISDIR : errno);
        return false;
    }
    text_print(&name, "%s%c%s%c%s%c%lld%c%lld.%09ld", job->words, 0, job->input, 0, job->output, 0,
               (long long)a->input.st_size, 0, (long long)a->input.st_mtim.tv_sec,
               a->input.st_mtim.tv_nsec);
    a->key = hash_bytes(HASH_START, name.data, name.used);
    text_print(&a->staged, "%s/" STAGE "/%016" PRIx64 "/output.%s", b->folder, a->key,
               path_ending(job->output));
    text_print(&a->place, "%s/" STAGE "/%016" PRIx64, b->folder, a->key);
    bool fine = !name.failed && !a->staged.failed && !a->place.failed && !a->final.failed;
    if (!fine) {
        complain(a, job->input, "out of memory", 0);
    } else if (has_link(b, a->final.data, false) || has_link(b, a->staged.data, true)) {
        complain(a, a->final.data,
                 "cannot be written: a symbolic link could point outside the folder of --out", 0);
        fine = false;
    }
    text_free(&name);
    return fine;
}

static void attempt_free(attempt *a) {
    text_free(&a->staged);
    text_free(&a->place);
    text_free(&a->final);
    text_free(&a->complaint);
}

static bool is_file(const char *path, uint64_t *bytes) {
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    *bytes = (uint64_t)about.st_size;
    return true;
}

static bool exists(const char *path) {
    struct stat about;
    return stat(path, &about) == 0;
}

/* Returns whether the manifest has this job as done, and the output exists. With --again only
 * lines of this run count. */
static bool is_recorded(const batch *b, const attempt *a) {
    const batch_record *record = manifest_find(&b->manifest, a->job->output);
    uint64_t bytes;
    return record && record->done && record->key == a->key &&
           (!b->again || record->at >= b->manifest.begun) && !exists(a->staged.data) &&
           is_file(a->final.data, &bytes) && bytes == record->bytes;
}

/* The same for a job that is not claimed: no other process may be running it. */
static bool is_done(const batch *b, const attempt *a) {
    return !exists(a->place.data) && is_recorded(b, a);
}

/* Returns whether another process has tried this job since the start of this run. */
static bool has_failed(const batch *b, const attempt *a) {
    const batch_record *record = manifest_find(&b->manifest, a->job->output);
    return record && !record->done && record->key == a->key && record->at >= b->manifest.begun;
}

/* Returns whether a process ended during this job, which this process has claimed. */
static bool was_fatal(const attempt *a) {
    return exists(a->place.data) && !exists(a->staged.data);
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

/* ---- lines of the manifest ---- */

static void add_member(tool_text *to, const char *key, const char *value) {
    text_print(to, ", \"%s\": ", key);
    text_quoted(to, value);
}

/* Adds a line: first the members of a job file, so that a manifest is one, then the result. */
static bool append_job_line(batch *b, const attempt *a, bool done, uint64_t bytes) {
    tool_text line = {0};
    text_add(&line, "{\"do\": ");
    text_quoted(&line, a->job->words);
    add_member(&line, "input", a->job->input);
    add_member(&line, "output", a->job->output);
    add_member(&line, "status", done ? "done" : "failed");
    if (done)
        text_print(&line, ", \"bytes\": %" PRIu64, bytes);
    else
        add_member(&line, "error", a->complaint.data ? a->complaint.data : "out of memory");
    if (a->known)
        text_print(&line, ", \"seconds\": %.6f", a->seconds);
    else
        text_add(&line, ", \"seconds\": null");
    text_print(&line, ", \"input_bytes\": %lld, \"input_time\": \"%lld.%09ld\", \"abut\": \"%s\"",
               (long long)a->input.st_size, (long long)a->input.st_mtim.tv_sec,
               a->input.st_mtim.tv_nsec, abut_version());
    text_print(&line, ", \"process\": %ld, \"key\": \"%016" PRIx64 "\"}\n", (long)getpid(), a->key);
    bool fine = manifest_append(&b->manifest, &line);
    text_free(&line);
    return fine;
}

/* ---- running a job ---- */

static int run_words(tool_run *tool, const attempt *a, char **words, size_t count) {
    const batch_job *job = a->job;
    tool_arguments arguments;
    tool_text out = {0};
    char **all = calloc(count + 4, sizeof *all), end[] = "--";
    int code = CODE_WORK;
    text_print(&out, "--out=%s", a->staged.data);
    if (all && !out.failed) {
        size_t n = 0;
        for (size_t i = 1; i < count; i++)
            all[n++] = words[i];
        if (job->kind->product == PRODUCT_OPTION)
            all[n++] = out.data;
        all[n++] = end;
        all[n++] = job->input;
        if (job->kind->product == PRODUCT_OPERAND)
            all[n++] = a->staged.data;
        code = options_parse(tool, tool->command, (int)n, all, &arguments);
        code = code ? code : tool->command->run(tool, &arguments);
        arguments_free(&arguments);
    }
    text_free(&out);
    free(all);
    return code;
}

/* Runs the command of a job as with --json. Its output is discarded, or is the output of the
 * job. */
static int run_command(tool_run *tool, attempt *a) {
    const tool_command *command = tool->command;
    tool_output out = tool->out;
    char *line = strdup(a->job->words), **words = NULL;
    size_t count = 0;
    int code = CODE_WORK;
    output_start(&tool->out, true);
    tool->command = a->job->kind->command;
    tool->complaint = &a->complaint;
    tool->input_taken = false;
    tool->up = (abut_vec3){0, 0, 0};
    if (line && words_split(line, &words, &count))
        code = run_words(tool, a, words, count);
    if (a->job->kind->product == PRODUCT_JSON && code == CODE_FINE) {
        abut_status status =
            tool->out.text.failed
                ? abut_set_error(ABUT_ERROR_MEMORY, "not enough memory for the report")
                : abut_context_write_file(tool->context, a->staged.data, tool->out.text.data,
                                          tool->out.text.used);
        code = status ? tool_fail(tool, status) : code;
    }
    view_close(tool->view);
    tool->view = NULL;
    progress_erase(tool->progress);
    output_free(&tool->out);
    tool->out = out;
    tool->command = command;
    tool->complaint = NULL;
    free(words);
    free(line);
    return tool_cancelled() ? CODE_CANCELLED : code;
}

/* Computes the output of a job. Returns CODE_FINE, CODE_CANCELLED, or another code on failure. */
static int compute_output(batch *b, attempt *a) {
    struct stat after;
    uint64_t bytes;
    double begun = seconds_now();
    int code = run_command(b->tool, a);
    a->seconds = seconds_now() - begun;
    if (code != CODE_FINE) {
        rename_in(&a->complaint, a->staged.data, a->final.data);
        return code;
    }
    if (stat(a->job->input, &after) != 0 || after.st_size != a->input.st_size ||
        after.st_mtim.tv_sec != a->input.st_mtim.tv_sec ||
        after.st_mtim.tv_nsec != a->input.st_mtim.tv_nsec) {
        complain(a, a->job->input, "changed while it was read", 0);
        return CODE_WORK;
    }
    if (!is_file(a->staged.data, &bytes)) {
        complain(a, a->final.data, "nothing was written", 0);
        return CODE_WORK;
    }
    return code;
}

/* Steps 2 and 3 of batch.h. If the rename fails, another line revokes the first: CODE_WORK with
 * a message. CODE_WORK without a message means that the manifest cannot be written. */
static int publish_output(batch *b, attempt *a) {
    const batch_record *known = manifest_find(&b->manifest, a->job->output);
    bool recorded = !a->known && known && known->done && known->key == a->key;
    uint64_t bytes = 0;
    is_file(a->staged.data, &bytes);
    if (!recorded && !append_job_line(b, a, true, bytes))
        return CODE_WORK;
    if (rename(a->staged.data, a->final.data) == 0)
        return CODE_FINE;
    complain(a, a->final.data, "cannot be written", errno);
    return CODE_WORK;
}

/* ---- all jobs ---- */

static void print_failure(batch *b, const attempt *a) {
    const char *words = a->complaint.data ? a->complaint.data : "out of memory";
    tool_text name = {0};
    text_safe(&name, a->job->input);
    bool named = !name.data || strstr(words, name.data);
    progress_erase(b->tool->progress);
    if (!b->tool->out.json)
        output_flush(&b->tool->out);
    fprintf(stderr, "abut batch: %s%s%s\n", named ? "" : name.data, named ? "" : ": ", words);
    text_free(&name);
    a->job->error = strdup(words); /* for the final list and the index */
}

static void print_done(batch *b, const attempt *a) {
    if (b->tool->quiet || b->tool->out.json)
        return;
    if (a->known)
        print_line(&b->tool->out, "done  %s  (%.2f s)", a->job->output, a->seconds);
    else
        print_line(&b->tool->out, "done  %s  (completed by an interrupted run)", a->job->output);
    output_flush(&b->tool->out);
}

static void count_failure(batch *b, attempt *a) {
    a->job->state = JOB_FAILED;
    b->failed++;
    print_failure(b, a);
}

static void count_before(batch *b, attempt *a) {
    a->job->state = JOB_DONE;
    b->before++;
}

/* Creates the folders of a job. A process that finishes removes STAGE if it is empty, so that it
 * may have to be created again. */
static bool make_job_folders(attempt *a) {
    for (int tries = 0; tries < 100; tries++) {
        if (!make_folders(a->final.data))
            return false;
        if (make_folders(a->staged.data))
            return true;
        if (errno != ENOENT)
            return false;
    }
    return false;
}

/* Runs a job that this process has claimed. Returns 0, or the exit code if the run has to stop. */
static int run_job(batch *b, attempt *a) {
    uint64_t bytes;
    int code = CODE_FINE;
    a->known = b->again || !is_file(a->staged.data, &bytes);
    if (!make_job_folders(a)) {
        complain(a, a->final.data, "cannot be written", errno);
        code = CODE_WORK;
    } else if (a->known) {
        code = compute_output(b, a);
    }
    if (!code && (code = publish_output(b, a)) && !a->complaint.used)
        return tool_fail(b->tool, ABUT_ERROR_FILE); /* the next run publishes the output */
    remove_job_folder(a);
    if (code == CODE_CANCELLED)
        return tool_fail(b->tool, ABUT_ERROR_CANCELLED);
    if (!code) {
        a->job->state = JOB_DONE;
        b->done++;
        print_done(b, a);
        return 0;
    }
    count_failure(b, a);
    return append_job_line(b, a, false, 0) ? 0 : tool_fail(b->tool, ABUT_ERROR_FILE);
}

/* Runs a job unless it is done or claimed. A job that another process runs, or that may have
 * ended a process, stays open until the last round, which waits for it. */
static int try_job(batch *b, batch_job *job, bool last) {
    attempt a;
    int code = 0;
    if (!identify(b, &a, job)) {
        count_failure(b, &a);
        if (!append_job_line(b, &a, false, 0))
            code = tool_fail(b->tool, ABUT_ERROR_FILE);
    } else if (is_done(b, &a)) {
        count_before(b, &a);
    } else if (manifest_claim(&b->manifest, job->output, last)) {
        if (!manifest_refresh(&b->manifest)) {
            code = tool_fail(b->tool, ABUT_ERROR_FILE);
        } else if (is_recorded(b, &a)) {
            remove_job_folder(&a);
            count_before(b, &a);
        } else if (has_failed(b, &a)) {
            complain(&a, job->input, "failed in another process; see the manifest for the reason",
                     0);
            count_failure(b, &a);
        } else if (last || !was_fatal(&a)) {
            code = run_job(b, &a);
        }
        manifest_release(&b->manifest, job->output);
    }
    attempt_free(&a);
    return code ? code : tool_cancelled() ? tool_fail(b->tool, ABUT_ERROR_CANCELLED) : 0;
}

static int do_jobs(batch *b) {
    int code = 0;
    for (int round = 0; round < 2; round++) {
        size_t number = 0;
        for (size_t i = 0; i < b->jobs.count && !code; i++) {
            batch_job *job = &b->jobs.list[i];
            number += job->state != JOB_SKIPPED;
            if (job->state != JOB_OPEN)
                continue;
            progress_number(b->tool->progress, number, b->total);
            code = try_job(b, job, round > 0);
        }
    }
    progress_number(b->tool->progress, 0, 0);
    return code;
}

/* Removes the folder STAGE unless it has jobs of other processes or leftovers of runs with other
 * lists. */
static void remove_stage_folder(const batch *b) {
    tool_text path = {0};
    text_print(&path, "%s/" STAGE, b->folder);
    if (!path.failed)
        rmdir(path.data);
    text_free(&path);
}

/* ---- the command ---- */

/* Removes the jobs of other shards, by the hash of the name of the output. */
static void choose_shard(batch *b) {
    for (size_t i = 0; i < b->jobs.count; i++) {
        batch_job *job = &b->jobs.list[i];
        uint64_t hash = hash_bytes(HASH_START, job->output, strlen(job->output));
        uint64_t shard = ((hash >> 32 ^ (hash & 0xffffffffu)) * b->shards) >> 32;
        if (shard + 1 != b->shard)
            job->state = JOB_SKIPPED;
        b->total += job->state == JOB_OPEN;
    }
}

static int read_shard(tool_run *tool, const tool_given *given, batch *b) {
    b->shard = b->shards = 1;
    if (!given)
        return 0;
    const char *slash = strchr(given->words, '/');
    char *first = slash ? strndup(given->words, (size_t)(slash - given->words)) : NULL;
    bool fine = first && read_count(first, &b->shard) && read_count(slash + 1, &b->shards) &&
                b->shard <= b->shards;
    free(first);
    return fine ? 0
                : tool_refuse(tool,
                              "--shard must be a part and the number of parts, such as 1/3, 2/3 or "
                              "3/3, not '%s'",
                              given->words);
}

static void print_failed_job(tool_output *out, const batch_job *job) {
    out_object(out, NULL);
    json_text(out, "do", job->words);
    json_path(out, "input", job->input);
    json_text(out, "output", job->output);
    json_text(out, "error", job->error ? job->error : "out of memory");
    out_end(out);
}

static int summarise_batch(batch *b) {
    tool_run *tool = b->tool;
    tool_output *out = &tool->out;
    if (out->json) {
        out_object(out, NULL);
        json_path(out, "folder", b->folder);
        json_path(out, "manifest", b->manifest.path);
        json_count(out, "jobs", b->total);
        json_count(out, "done", b->done);
        json_count(out, "done_before", b->before);
        json_count(out, "failed", b->failed);
        out_list(out, "failures");
        for (size_t i = 0; i < b->jobs.count; i++)
            if (b->jobs.list[i].state == JOB_FAILED)
                print_failed_job(out, &b->jobs.list[i]);
        out_end(out);
        out_end(out);
    } else {
        print_line(out, "%zu job%s: %zu done, %zu done before, %zu failed", b->total,
                   b->total == 1 ? "" : "s", b->done, b->before, b->failed);
    }
    answer(tool, "%zu", b->failed);
    return b->failed ? CODE_WORK : CODE_FINE;
}

/* --dry-run: lists the jobs and their states. */
static int list_jobs(batch *b) {
    tool_output *out = &b->tool->out;
    out_object(out, NULL);
    out_table(out, "jobs");
    for (size_t i = 0; i < b->jobs.count; i++) {
        batch_job *job = &b->jobs.list[i];
        attempt a;
        if (job->state != JOB_OPEN)
            continue;
        bool fine = identify(b, &a, job), done = fine && is_done(b, &a);
        b->before += done;
        out_object(out, NULL);
        fact_text(out, "state", done ? "done" : fine ? "to do" : "cannot be done");
        fact_text(out, "do", job->words);
        fact_path(out, "input", job->input);
        fact_text(out, "output", job->output);
        if (!fine)
            json_text(out, "error", a.complaint.data ? a.complaint.data : "out of memory");
        out_end(out);
        attempt_free(&a);
    }
    out_end(out);
    out_end(out);
    answer(b->tool, "%zu", b->total - b->before);
    return CODE_FINE;
}

static int run_batch(batch *b, const tool_arguments *arguments) {
    const tool_given *manifest = option_given(arguments, "manifest");
    bool look_only = option_given(arguments, "dry-run") != NULL;
    tool_text path = {0};
    if (manifest)
        text_add(&path, manifest->words);
    else
        text_print(&path, "%s/manifest.jsonl", b->folder);
    if (path.failed)
        return tool_fail(b->tool,
                         abut_set_error(ABUT_ERROR_MEMORY, "not enough memory for a name"));
    if (!look_only && !make_folders(path.data)) {
        int error = errno;
        text_free(&path);
        return tool_fail_with(b->tool, "file error", "%s: the folder cannot be created: %s",
                              b->folder, strerror(error));
    }
    if (!manifest && has_link(b, path.data, true)) {
        text_free(&path);
        return tool_fail_with(b->tool, "file error",
                              "%s/manifest.jsonl: is a symbolic link, which could point outside "
                              "the folder of --out; use --manifest with its target",
                              b->folder);
    }
    int code = manifest_open(b->tool, &b->manifest, path.data, look_only);
    if (code)
        return code;
    if (look_only)
        return list_jobs(b);
    code = do_jobs(b);
    remove_stage_folder(b);
    abut_status status = ABUT_OK;
    if (!code && option_given(arguments, "index") &&
        (status = batch_index(b->tool, b->folder, &b->jobs)))
        code = tool_fail(b->tool, status);
    return code ? code : summarise_batch(b);
}

static int run_batch_command(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *folder = option_given(arguments, "out");
    batch b = {.tool = tool, .manifest = {.file = -1}};
    if (!folder || !*folder->words)
        return tool_refuse(tool,
                           "--out FOLDER is missing: the folder of the outputs and the manifest");
    b.folder = folder->words;
    b.again = option_given(arguments, "again") != NULL;
    int code = read_shard(tool, option_given(arguments, "shard"), &b);
    code = code ? code : jobs_collect(tool, arguments, &b.jobs);
    for (size_t i = 0; i < b.jobs.count && option_given(arguments, "index") && !code; i++)
        if (strcmp(b.jobs.list[i].output, "index.html") == 0)
            code =
                tool_refuse(tool, "--index writes index.html, which is also the output of a job");
    if (!code) {
        choose_shard(&b);
        code = run_batch(&b, arguments);
    }
    manifest_close(&b.manifest);
    jobs_free(&b.jobs);
    return code;
}

static const tool_option options[] = {
    {"do", "'COMMAND OPTION...'", OPTION_TEXT,
     "command to run on each file: field, info (or report), samples, convert, offset, picture, "
     "slice or view with its options; field.vti selects another extension than the default; "
     "repeatable",
     NULL, true},
    {"out", "FOLDER", OPTION_TEXT, "output folder; created if it does not exist", NULL, false},
    {"jobs", "FILE", OPTION_TEXT,
     "list of jobs: command lines without 'abut', or JSON objects with do, input and output; - is "
     "standard input",
     NULL, false},
    {"base", "FOLDER", OPTION_TEXT,
     "name outputs by the path of their inputs relative to this folder", NULL, false},
    {"shard", "I/N", OPTION_TEXT, "run only part I of N, for N machines; each job is in one part",
     NULL, false},
    {"manifest", "FILE", OPTION_TEXT,
     "list of finished jobs (default: manifest.jsonl in the output folder)", NULL, false},
    {"index", NULL, OPTION_FLAG,
     "also write index.html into the output folder: pictures of all inputs, with links to their "
     "outputs",
     NULL, false},
    {"again", NULL, OPTION_FLAG, "also run finished jobs", NULL, false},
    {"dry-run", NULL, OPTION_FLAG, "only list the jobs and which of them are finished", NULL,
     false},
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
    .operand_kind = OPERAND_FILES,
    .operand_least = 0,
    .operand_most = UINT32_MAX,
    .run = run_batch_command,
};
