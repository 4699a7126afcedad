/* One run of the command: global options, the options of the command, errors, signals, and the
 * exit code. */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- signals ---- */

enum {
    TICK = 100000,
    PATIENCE = 8
}; /* period of the timer in microseconds; ticks within which the work has to stop */

static volatile sig_atomic_t caught;
void (*tool_last_act)(void);

/* The first signal requests cancellation; later ones have no effect, since one Ctrl-C may arrive
 * twice (from the terminal and from a parent process). A timer then interrupts blocking reads of
 * pipes, and ends the process if the work has not stopped in time, for example inside another
 * library. All handled signals are blocked here. setitimer() is a plain system call. */
static void handle_signal(int number) {
    struct itimerval soon = {{0, TICK}, {0, TICK}};
    if (caught)
        return;
    caught = number;
    if (tool_last_act)
        tool_last_act();
    setitimer(ITIMER_REAL, &soon, NULL);
}

static void count_ticks(int number) {
    static volatile sig_atomic_t ticks;
    (void)number;
    if (caught && ++ticks == PATIENCE) {
        signal(caught, SIG_DFL);
        raise(caught); /* takes effect when this handler returns */
    }
}

bool tool_cancelled(void) {
    return caught != 0;
}

/* Signals that the parent ignores (nohup) stay ignored. A closed pipe is detected when writing
 * fails. */
static void install_signal_handlers(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    struct sigaction old, action = {.sa_handler = handle_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < COUNT; i++)
        sigaddset(&action.sa_mask, numbers[i]);
    for (size_t i = 0; i < COUNT; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    action.sa_handler = count_ticks;
    sigaction(SIGALRM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* A process may start with closed standard streams; the next opened file would get their
 * descriptor and receive our output. A descriptor that cannot be used for that takes its place. */
static void reserve_standard_streams(void) {
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* ---- the end of a run ---- */

static tool_run *running; /* the run of this process */

/* Completes the output. Returns the exit code, which may be that of another process. */
static int finish_run(tool_run *tool, int code) {
    code = share_finish(tool, code);
    progress_erase(tool->progress);
    if (!share_prints(tool))
        text_clear(&tool->out.text);
    /* A reader that closed the pipe (head) is not an error; a full disk is. */
    if (!output_flush(&tool->out) && tool->out.error != EPIPE && code != CODE_CANCELLED) {
        fprintf(stderr, "abut: standard output could not be written: %s\n",
                strerror(tool->out.error));
        code = CODE_WORK;
    }
    if (code == CODE_CANCELLED && caught) { /* by the signal, so that a loop of a shell stops too */
        signal(caught, SIG_DFL);
        raise(caught);
    }
    return code;
}

_Noreturn void tool_end(tool_run *tool, int code) {
    live_close(tool); /* its page gets the last frame */
    if (tool->error_pipe) {
        ssize_t put = write(tool->error_pipe, text_of(tool->complaint), tool->complaint->used);
        _exit(put < 0 ? CODE_WORK : code);
    }
    code = finish_run(tool, code);
    if (tool->share)
        tool->share->end(tool->share->user);
    _exit(code);
}

/* ---- errors ---- */

const char *tool_error_message(const char *sentence) {
    if (strncmp(sentence, "abut_", 5) != 0 && strncmp(sentence, "cloth_", 6) != 0)
        return sentence;
    size_t length = strspn(sentence, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return strncmp(sentence + length, ": ", 2) == 0 ? sentence + length + 2 : sentence;
}

static void print_message(tool_run *tool, const char *kind, const char *message) {
    progress_erase(tool->progress);
    fprintf(stderr, "abut%s%s: %s%s\n", tool->command ? " " : "",
            tool->command ? tool->command->name : "", kind, message);
}

static void print_error(tool_run *tool, const char *sentence) {
    if (tool->complaint) {
        text_clear(tool->complaint);
        text_add(tool->complaint, sentence);
        return;
    }
    if (!tool->out.json)
        output_flush(&tool->out); /* earlier output first; its errors are reported at the end */
    print_message(tool, "", sentence);
}

static void write_error(tool_output *out, const char *kind, const char *sentence, int code) {
    out_object(out, "error");
    json_text(out, "kind", kind);
    json_text(out, "message", sentence);
    json_integer(out, "exit_code", code);
    out_end(out);
}

void tool_print_failure(tool_run *tool, const char *kind, const char *sentence, int code) {
    tool_output *out = &tool->out;
    print_error(tool, sentence);
    if (!out->json)
        return;
    text_clear(&out->text);
    out->depth = 0;
    out_object(out, NULL);
    write_error(out, kind, sentence, code);
    out_end(out);
}

/* The name, message and exit code of a failure. A call that failed after a signal was cancelled
 * by it, regardless of its status (for example an interrupted open). */
static int classify_failure(abut_status status, const char **kind, const char **sentence) {
    if (tool_cancelled() || status == ABUT_ERROR_CANCELLED) {
        *kind = abut_status_name(ABUT_ERROR_CANCELLED);
        *sentence = "cancelled";
        return CODE_CANCELLED;
    }
    *kind = abut_status_name(status);
    *sentence = tool_error_message(abut_last_error());
    return CODE_WORK;
}

/* A reader of standard output that closed the pipe, as head(1) does, is not an error. */
static bool reader_left(abut_status status, const char *sentence) {
    return status == ABUT_ERROR_FILE && strstr(sentence, "/dev/stdout") &&
           strstr(sentence, strerror(EPIPE));
}

void tool_fail(tool_run *tool, abut_status status) {
    const char *kind, *sentence;
    int code = classify_failure(status, &kind, &sentence);
    if (reader_left(status, sentence))
        tool_end(tool, CODE_FINE);
    tool_print_failure(tool, kind, sentence, code);
    tool_end(tool, code);
}

int tool_report_error(tool_run *tool, abut_status status) {
    const char *kind, *sentence;
    int code = classify_failure(status, &kind, &sentence);
    print_error(tool, sentence);
    if (tool->out.json)
        write_error(&tool->out, kind, sentence, code);
    return code;
}

void ensure(abut_status status) {
    if (status)
        tool_fail(running, status);
}

bool lacks_room(abut_status status) {
    if (status && status != ABUT_ERROR_BUFFER)
        tool_fail(running, status);
    return status == ABUT_ERROR_BUFFER;
}

void tool_fail_with(tool_run *tool, const char *kind, const char *format, ...) {
    if (tool_cancelled()) /* any later failure results from the cancellation */
        tool_fail(tool, ABUT_ERROR_CANCELLED);
    tool_text raw = {0}, sentence = {0};
    va_list list;
    va_start(list, format);
    text_print_list(&raw, format, list);
    va_end(list);
    text_safe(&sentence, text_of(&raw));
    tool_print_failure(tool, kind, text_of(&sentence), CODE_WORK);
    tool_end(tool, CODE_WORK);
}

void tool_refuse(tool_run *tool, const char *format, ...) {
    tool_text raw = {0}, sentence = {0};
    va_list list;
    if (tool->where)
        text_print(&raw, "%s: ", tool->where);
    va_start(list, format);
    text_print_list(&raw, format, list);
    va_end(list);
    text_safe(&sentence, text_of(&raw));
    if (!strstr(text_of(&raw), "did you mean") && !strstr(text_of(&raw), "usage:"))
        text_print(&sentence, "; see 'abut help%s%s'", tool->command ? " " : "",
                   tool->command ? tool->command->name : "");
    tool_print_failure(tool, "usage error", text_of(&sentence), CODE_USAGE);
    tool_end(tool, CODE_USAGE);
}

void tool_refuse_last(tool_run *tool) {
    tool_refuse(tool, "%s", tool_error_message(abut_last_error()));
}

/* Without memory the error is printed without any. */
void tool_exhausted(void) {
    static const char message[] = "not enough memory";
    if (running->error_pipe) {
        (void)!write(running->error_pipe, message, sizeof message - 1);
        _exit(CODE_WORK);
    }
    print_message(running, "", message);
    if (running->out.json)
        printf("{\n  \"error\": {\n    \"kind\": \"out of memory\",\n    \"message\": \"%s\",\n"
               "    \"exit_code\": %d\n  }\n}\n",
               message, CODE_WORK);
    running->out = (tool_output){0};
    tool_end(running, CODE_WORK);
}

/* ---- functions that commands share ---- */

const char *tool_input(tool_run *tool, const char *path) {
    if (strcmp(path, "-") != 0)
        return path;
    bool taken = tool->input_taken || tool->share;
    tool->input_taken = true;
    if (tool->share)
        abut_set_error(ABUT_ERROR_ARGUMENT,
                       "standard input (-) is available to the first process only; use a file");
    else if (taken)
        abut_set_error(ABUT_ERROR_ARGUMENT, "standard input (-) can be read only once");
    return taken ? NULL : "/dev/stdin";
}

const char *tool_target(tool_run *tool, const char *path) {
    if (strcmp(path, "-") != 0)
        return path;
    tool->out.diverted = true;
    return "/dev/stdout";
}

abut_status tool_read(tool_run *tool, const char *path, const abut_mesh_read_options *options,
                      abut_mesh **mesh) {
    const char *from = tool_input(tool, path);
    bool apart = options && options->format == ABUT_MESH_FORMAT_OTHER;
    progress_start(tool->progress, path);
    if (!from)
        return ABUT_ERROR_ARGUMENT;
    abut_status status = apart && strstr(abut_features(), "assimp")
                             ? tool_read_apart(tool, from, options, mesh)
                             : abut_mesh_read(tool->context, from, options, mesh);
    if (!status && tool->up.x == 0 && tool->up.y == 0 && tool->up.z == 0)
        tool->up = abut_mesh_up(*mesh);
    return status;
}

abut_mesh *mesh_read(tool_run *tool, const char *path) {
    abut_mesh *mesh = NULL;
    ensure(tool_read(tool, path, NULL, &mesh));
    return mesh;
}

void tool_flush_lines(tool_run *tool) {
    progress_erase(tool->progress);
    output_flush(&tool->out);
}

abut_status mesh_report(abut_mesh *mesh, abut_mesh_report *report) {
    abut_topology *topology = NULL;
    *report = abut_mesh_report_default();
    abut_status status = abut_topology_create(mesh, &topology);
    if (!status)
        status = abut_mesh_examine(topology, report);
    abut_topology_destroy(topology);
    return status;
}

void text_mesh_size(tool_text *to, const abut_mesh *mesh) {
    text_grouped(to, abut_mesh_vertex_count(mesh));
    text_add(to, " vertices, ");
    text_grouped(to, abut_mesh_triangle_count(mesh));
    text_add(to, " triangles");
}

void mesh_write(tool_run *tool, abut_mesh *mesh, const char *path, abut_mesh_format format) {
    abut_mesh_write_options how = abut_mesh_write_options_default();
    how.format = format;
    ensure(abut_mesh_write(mesh, tool_target(tool, path), &how));
}

abut_mesh_format tool_format(const char *word) {
    if (strcmp(word, "glb") == 0)
        return ABUT_MESH_FORMAT_GLTF;
    for (unsigned i = 0; abut_mesh_format_name((abut_mesh_format)i); i++)
        if (strcmp(word, abut_mesh_format_name((abut_mesh_format)i)) == 0)
            return (abut_mesh_format)i;
    return ABUT_MESH_FORMAT_AUTO;
}

void tool_output_format(tool_run *tool, const char *path, const tool_given *to,
                        abut_mesh_format *format) {
    if (strcmp(path, "-") == 0 && !to)
        tool_refuse(
            tool, "a mesh on standard output (-) needs a format: --to obj, ply, stl, off or gltf");
    *format = tool_format(to ? to->words : path_ending(path));
    if (*format == ABUT_MESH_FORMAT_AUTO || *format == ABUT_MESH_FORMAT_OTHER)
        tool_refuse(tool,
                    "%s: unknown file extension for a mesh; use .obj, .ply, .stl, .off, .glb or "
                    ".gltf, or --to",
                    path);
}

/* ---- the run ---- */

void tool_log(void *user, abut_log_level level, const char *message) {
    tool_run *tool = user;
    if (!tool->quiet && share_prints(tool))
        print_message(tool, level == ABUT_LOG_WARNING ? "warning: " : "", message);
}

void tool_print_reliability(tool_run *tool, const abut_reliability *reliability) {
    const bool exact = reliability->level == ABUT_RELIABILITY_GUARANTEED;
    char words[512];
    if (exact && !strstr(reliability->reason, " sheet"))
        return;
    snprintf(words, sizeof words, "%s: %s", abut_reliability_level_name(reliability->level),
             reliability->reason);
    if (!tool->out.json)
        tool_log(tool, ABUT_LOG_INFO, words);
}

void json_reliability(tool_output *out, const abut_reliability *reliability) {
    json_text(out, "reliability", abut_reliability_level_name(reliability->level));
    json_text(out, "reason", reliability->reason);
}

int tool_outcome(bool found, const abut_reliability *reliability) {
    return found                                               ? CODE_FOUND
           : reliability->level == ABUT_RELIABILITY_UNRELIABLE ? CODE_WORK
                                                               : CODE_FINE;
}

const char *tool_yes_or_no(bool found, const abut_reliability *reliability) {
    return found ? "yes" : reliability->level == ABUT_RELIABILITY_UNRELIABLE ? "unknown" : "no";
}

/* Global options may precede the command: it is the first word that is neither an option nor the
 * value of --threads. */
static int find_command(int count, char **words) {
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], "--threads") == 0)
            i++;
        else if (words[i][0] != '-')
            return i;
    }
    return -1;
}

/* Commands that several processes can run together. */
#define SHARED_COMMANDS "field|sweep|distance|contacts|version|help"

abut_context_options tool_context_options(tool_run *tool) {
    abut_context_options options = abut_context_options_default();
    options.thread_count = tool->threads;
    options.progress_user = tool->progress;
    options.progress = progress_report;
    options.log_user = tool;
    options.log = tool_log;
    return options;
}

void tool_make_context(tool_run *tool) {
    const abut_context_options options = tool_context_options(tool);
    ensure(abut_context_create(&options, &tool->context));
}

/* Runs a command with parsed arguments. */
static int run_command(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *threads = option_given(arguments, "threads"),
                     *table = option_given(arguments, "out");
    tool->quiet = option_given(arguments, "quiet") != NULL;
    if (option_given(arguments, "help")) {
        help_command(tool, tool->command);
        return CODE_FINE;
    }
    option_range(tool, threads, 1, 4096, "");
    tool->threads = threads ? threads->counts[0] : 0;
    if (table && strcmp(path_ending(table->words), "json") == 0)
        tool_refuse(tool, "--out writes comma-separated values, PLY or NPY; for JSON use --json, "
                          "which prints to standard output");
    tool->progress = progress_create(!tool->quiet && share_prints(tool), tool->out.unicode);
    if (tool->share && !word_in(tool->command->name, SHARED_COMMANDS))
        tool_refuse(tool, "abut-mpi runs only %s; use abut for other commands", SHARED_COMMANDS);
    if (!tool->command->forks)
        tool_make_context(tool);
    live_check(tool, arguments);
    view_open(tool, arguments);
    int code = tool->command->run(tool, arguments);
    live_close(tool);
    view_report(tool, code);
    abut_context_destroy(tool->context);
    return code;
}

/* Without a command only --help and --version are valid. */
static int run_bare(tool_run *tool, int count, char **words) {
    static const tool_option version[] = {FLAG("version", "print the version"), {0}};
    static const tool_command bare = {.name = "", .operands = "", .options = version};
    tool_arguments arguments;
    options_parse(tool, &bare, count, words, &arguments);
    if (option_given(&arguments, "version")) {
        tool->command = &command_version;
        return run_command(tool, &arguments);
    }
    if (option_given(&arguments, "help")) {
        help_general(&tool->out.text);
        return CODE_FINE;
    }
    if (tool->out.json)
        tool_refuse(tool, "the command is missing");
    tool_text help = {0};
    help_general(&help);
    fputs(help.data, stderr);
    return CODE_USAGE;
}

static int run_command_line(tool_run *tool, int count, char **words) {
    int at = find_command(count, words);
    if (at < 0)
        return run_bare(tool, count, words);
    tool->command = command_find(words[at]);
    if (!tool->command) {
        const char *best = NULL;
        size_t distance = 0;
        for (size_t i = 0; commands[i]; i++)
            if (commands[i]->summary)
                word_closer(words[at], commands[i]->name, &best, &distance);
        if (best)
            tool_refuse(tool, "unknown command '%s'; did you mean '%s'?", words[at], best);
        tool_refuse(tool, "unknown command '%s'", words[at]);
    }
    memmove(words + at, words + at + 1, (size_t)(count - at - 1) * sizeof *words);
    tool_arguments arguments;
    options_parse(tool, tool->command, count - 1, words, &arguments);
    return run_command(tool, &arguments);
}

/* Errors must be JSON even if the command line cannot be parsed. */
static bool wants_json(int count, char **words) {
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (strcmp(words[i], "--json") == 0)
            return true;
    return false;
}

int tool_main(int count, char **words, tool_share *share) {
    static tool_text complaint;
    static tool_run tool;
    reserve_standard_streams();
    setlocale(LC_CTYPE, "");
    install_signal_handlers();
    tool = (tool_run){.share = share};
    running = &tool;
    if (!share_prints(&tool))
        tool.complaint = &complaint;
    int skip = count > 0;
    output_start(&tool.out, wants_json(count - skip, words + skip));
    return finish_run(&tool, run_command_line(&tool, count - skip, words + skip));
}
