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

/* Ends the process by the signal that cancelled the work, so that a loop of a shell stops too. */
static int end_cancelled(void) {
    signal(caught, SIG_DFL);
    raise(caught);
    return CODE_CANCELLED;
}

/* A process may start with closed standard streams; the next opened file would get their
 * descriptor and receive our output. A descriptor that cannot be used for that takes its place. */
static void reserve_standard_streams(void) {
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) < 0)
            return;
}

/* ---- errors ---- */

const char *tool_error_message(const char *sentence) {
    if (strncmp(sentence, "abut_", 5) != 0 && strncmp(sentence, "cloth_", 6) != 0)
        return sentence;
    size_t length = strspn(sentence, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return strncmp(sentence + length, ": ", 2) == 0 ? sentence + length + 2 : sentence;
}

static void print_error(tool_run *tool, const char *sentence) {
    if (tool->complaint) {
        text_clear(tool->complaint);
        text_add(tool->complaint, sentence);
        return;
    }
    progress_erase(tool->progress);
    if (!tool->out.json)
        output_flush(
            &tool->out); /* flushes earlier output first; its errors are reported at the end */
    fprintf(stderr, "abut%s%s: %s\n", tool->command ? " " : "",
            tool->command ? tool->command->name : "", sentence);
}

static void write_error(tool_output *out, const char *kind, const char *sentence, int code) {
    out_object(out, "error");
    json_text(out, "kind", kind);
    json_text(out, "message", sentence);
    json_integer(out, "exit_code", code);
    out_end(out);
}

/* Discards the output so far and replaces it with the error. */
static void replace_output(tool_output *out, const char *kind, const char *sentence, int code) {
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

int tool_fail(tool_run *tool, abut_status status) {
    const char *kind, *sentence;
    int code = classify_failure(status, &kind, &sentence);
    if (reader_left(status, sentence))
        return CODE_FINE;
    print_error(tool, sentence);
    replace_output(&tool->out, kind, sentence, code);
    return code;
}

int tool_report_error(tool_run *tool, abut_status status) {
    const char *kind, *sentence;
    int code = classify_failure(status, &kind, &sentence);
    print_error(tool, sentence);
    if (tool->out.json)
        write_error(&tool->out, kind, sentence, code);
    return code;
}

int tool_fail_with(tool_run *tool, const char *kind, const char *format, ...) {
    if (tool_cancelled()) /* any later failure results from the cancellation */
        return tool_fail(tool, ABUT_ERROR_CANCELLED);
    tool_text raw = {0}, sentence = {0};
    va_list list;
    va_start(list, format);
    text_print_list(&raw, format, list);
    va_end(list);
    text_safe(&sentence, raw.data ? raw.data : "out of memory");
    const char *words = sentence.data ? sentence.data : "out of memory";
    print_error(tool, words);
    replace_output(&tool->out, kind, words, CODE_WORK);
    text_free(&raw);
    text_free(&sentence);
    return CODE_WORK;
}

int tool_refuse(tool_run *tool, const char *format, ...) {
    tool_text raw = {0}, sentence = {0};
    va_list list;
    va_start(list, format);
    text_print_list(&raw, format, list);
    va_end(list);
    text_safe(&sentence, raw.data ? raw.data : "out of memory");
    const char *said = sentence.data ? sentence.data : "";
    if (!strstr(said, "did you mean") && !strstr(said, "usage:") && !tool->complaint)
        text_print(&sentence, "; see 'abut help%s%s'", tool->command ? " " : "",
                   tool->command ? tool->command->name : "");
    const char *words = sentence.data ? sentence.data : "out of memory";
    print_error(tool, words);
    replace_output(&tool->out, "usage error", words, CODE_USAGE);
    text_free(&raw);
    text_free(&sentence);
    return CODE_USAGE;
}

int tool_refuse_last(tool_run *tool) {
    return tool_refuse(tool, "%s", tool_error_message(abut_last_error()));
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

abut_mesh_format tool_format(const char *word) {
    if (strcmp(word, "glb") == 0)
        return ABUT_MESH_FORMAT_GLTF;
    for (unsigned i = 0; abut_mesh_format_name((abut_mesh_format)i); i++)
        if (strcmp(word, abut_mesh_format_name((abut_mesh_format)i)) == 0)
            return (abut_mesh_format)i;
    return ABUT_MESH_FORMAT_AUTO;
}

int tool_output_format(tool_run *tool, const char *path, const tool_given *to,
                       abut_mesh_format *format) {
    if (strcmp(path, "-") == 0 && !to)
        return tool_refuse(
            tool, "a mesh on standard output (-) needs a format: --to obj, ply, stl, off or gltf");
    *format = tool_format(to ? to->words : path_ending(path));
    if (*format == ABUT_MESH_FORMAT_AUTO || *format == ABUT_MESH_FORMAT_OTHER)
        return tool_refuse(tool,
                           "%s: unknown file extension for a mesh; use .obj, .ply, .stl, .off, "
                           ".glb or .gltf, or --to",
                           path);
    return 0;
}

/* ---- the run ---- */

void tool_log(void *user, abut_log_level level, const char *message) {
    tool_run *tool = user;
    if (tool->quiet || !share_prints(tool))
        return;
    progress_erase(tool->progress);
    fprintf(stderr, "abut%s%s: %s%s\n", tool->command ? " " : "",
            tool->command ? tool->command->name : "", level == ABUT_LOG_WARNING ? "warning: " : "",
            message);
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

static int refuse_command(tool_run *tool, const char *name) {
    const char *best = NULL;
    size_t distance = 0;
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->summary)
            word_closer(name, commands[i]->name, &best, &distance);
    if (best)
        return tool_refuse(tool, "unknown command '%s'; did you mean '%s'?", name, best);
    return tool_refuse(tool, "unknown command '%s'", name);
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

/* Runs a command with parsed arguments. */
static int run_command(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *threads = option_given(arguments, "threads"),
                     *table = option_given(arguments, "out");
    tool->quiet = option_given(arguments, "quiet") != NULL;
    if (option_given(arguments, "help"))
        return help_command(tool, tool->command);
    if (threads)
        tool->threads = threads->counts[0];
    if (tool->threads > 4096)
        return tool_refuse(tool, "--threads must be a whole number from 1 to 4096, not '%u'",
                           tool->threads);
    if (table && strcmp(path_ending(table->words), "json") == 0)
        return tool_refuse(tool, "--out writes comma-separated values, PLY or NPY; for JSON use "
                                 "--json, which prints to standard output");
    tool->progress = progress_create(!tool->quiet && share_prints(tool), tool->out.unicode);
    abut_context_options options = abut_context_options_default();
    options.thread_count = tool->threads;
    options.progress_user = tool->progress;
    options.progress = progress_report;
    options.log_user = tool;
    options.log = tool_log;
    abut_status status = abut_context_create(&options, &tool->context);
    if (status)
        return tool_fail(tool, status);
    int code = tool->share && !word_in(tool->command->name, SHARED_COMMANDS)
                   ? tool_refuse(tool, "abut-mpi runs only %s; use abut for other commands",
                                 SHARED_COMMANDS)
                   : view_open(tool, arguments);
    code = code ? code : view_report(tool, tool->command->run(tool, arguments));
    view_close(tool->view);
    progress_erase(tool->progress);
    abut_context_destroy(tool->context);
    return code;
}

/* Without a command only --help and --version are valid. */
static int run_bare(tool_run *tool, int count, char **words) {
    static const tool_option version[] = {{"version", NULL, OPTION_FLAG, "print the version", NULL,
                                           false},
                                          {0}};
    static const tool_command bare = {.name = "", .operands = "", .options = version};
    tool_arguments arguments;
    int code = options_parse(tool, &bare, count, words, &arguments);
    if (!code && option_given(&arguments, "version")) {
        tool->command = &command_version;
        code = run_command(tool, &arguments);
    } else if (!code && option_given(&arguments, "help")) {
        help_general(&tool->out.text);
    } else if (!code && tool->out.json) {
        code = tool_refuse(tool, "the command is missing");
    } else if (!code) {
        tool_text help = {0};
        help_general(&help);
        fputs(help.data ? help.data : "", stderr);
        text_free(&help);
        code = CODE_USAGE;
    }
    arguments_free(&arguments);
    return code;
}

static int run_command_line(tool_run *tool, int count, char **words) {
    int at = find_command(count, words);
    if (at < 0)
        return run_bare(tool, count, words);
    tool->command = command_find(words[at]);
    if (!tool->command)
        return refuse_command(tool, words[at]);
    memmove(words + at, words + at + 1, (size_t)(count - at - 1) * sizeof *words);
    tool_arguments arguments;
    int code = options_parse(tool, tool->command, count - 1, words, &arguments);
    if (!code)
        code = run_command(tool, &arguments);
    arguments_free(&arguments);
    return code;
}

/* Errors must be JSON even if the command line cannot be parsed. */
static bool wants_json(int count, char **words) {
    for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        if (strcmp(words[i], "--json") == 0)
            return true;
    return false;
}

int tool_main(int count, char **words, tool_share *share) {
    tool_text complaint = {0};
    reserve_standard_streams();
    setlocale(LC_CTYPE, "");
    install_signal_handlers();
    tool_run tool = {.share = share};
    if (!share_prints(&tool))
        tool.complaint = &complaint;
    int skip = count > 0;
    output_start(&tool.out, wants_json(count - skip, words + skip));
    int code = share_agree(&tool, run_command_line(&tool, count - skip, words + skip));
    progress_free(tool.progress);
    tool.progress = NULL;
    if (!share_prints(&tool))
        text_clear(&tool.out.text);
    /* A reader that closed the pipe (head) is not an error; a full disk is. */
    if (!output_flush(&tool.out) && tool.out.error != EPIPE && code != CODE_CANCELLED) {
        fprintf(stderr, "abut: standard output could not be written: %s\n",
                strerror(tool.out.error));
        code = CODE_WORK;
    }
    output_free(&tool.out);
    text_free(&complaint);
    return code == CODE_CANCELLED && caught ? end_cancelled() : code;
}
