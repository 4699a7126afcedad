/* Builds the list of jobs from files and --do, from lists of names, and from job files. */
#include "batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Commands that produce one output file from one input file. */
static const batch_kind kinds[] = {{&command_field, PRODUCT_OPERAND, "abutf|vti|npy"},
                                   {&command_info, PRODUCT_JSON, "json"},
                                   {&command_samples, PRODUCT_OPTION, "csv|ply|npy"},
                                   {&command_convert, PRODUCT_OPERAND, "ply|obj|stl|off|glb|gltf"},
                                   {&command_offset, PRODUCT_OPERAND, "ply|obj|stl|off|glb|gltf"},
                                   {&command_picture, PRODUCT_OPERAND, "png|ppm"},
                                   {&command_slice, PRODUCT_OPERAND, "png|ppm"},
                                   {&command_view, PRODUCT_OPTION, "html"}};
enum { KINDS = sizeof kinds / sizeof *kinds, MEMBERS = 24 };

void jobs_free(batch_jobs *jobs) {
    for (size_t i = 0; i < jobs->count; i++) {
        free(jobs->list[i].words);
        free(jobs->list[i].input);
        free(jobs->list[i].output);
        free(jobs->list[i].error);
    }
    free(jobs->list);
    *jobs = (batch_jobs){0};
}

/* ---- one job ---- */

/* A job during parsing: COMMAND[.EXTENSION] OPTION..., for one input or for any. */
typedef struct draft {
    const char *where; /* prefix of error messages */
    const batch_kind *kind;
    const char *ending; /* as given, or null */
    tool_text words;    /* command and options as in batch_job */
    const char *input, *output;
} draft;

static int refuse_kind(tool_run *tool, const char *where, const char *word) {
    tool_text names = {0};
    for (size_t i = 0; i < KINDS; i++)
        text_print(&names, "%s%s", i ? ", " : "", kinds[i].command->name);
    int code = tool_refuse(tool, "%s: 'abut batch' cannot run '%s'; the possible commands are %s",
                           where, word, names.data ? names.data : "");
    text_free(&names);
    return code;
}

static int find_kind(tool_run *tool, draft *d, char *word) {
    char *dot = strchr(word, '.');
    size_t length = dot ? (size_t)(dot - word) : strlen(word);
    for (size_t i = 0; i < KINDS && !d->kind; i++)
        if (strlen(kinds[i].command->name) == length &&
            strncmp(kinds[i].command->name, word, length) == 0)
            d->kind = &kinds[i];
    if (!d->kind && length == 6 && strncmp(word, "report", 6) == 0)
        d->kind = &kinds[1]; /* the extension of the output of info */
    if (!d->kind)
        return refuse_kind(tool, d->where, word);
    d->ending = dot ? dot + 1 : NULL;
    words_join(&d->words, d->kind->command->name);
    return 0;
}

/* Reports an error for options that do not apply to a job: each job writes one file, and options
 * of the whole run belong to 'abut batch'. */
static int check_option(tool_run *tool, draft *d, const tool_given *given) {
    const char *name = given->option->name;
    if (word_in(name, "json|quiet|threads|help"))
        return tool_refuse(tool,
                           "%s: --%s is not an option of a job; use it with 'abut batch' itself",
                           d->where, name);
    if (d->kind->product == PRODUCT_OPTION && strcmp(name, "out") == 0) {
        if (d->output)
            return tool_refuse(tool, "%s: the job has two outputs", d->where);
        d->output = given->words;
        return 0;
    }
    if (given->option->argument && strcmp(given->option->argument, "FILE") == 0)
        return tool_refuse(tool, "%s: --%s would write a second file, but a job has one output",
                           d->where, name);
    if (strcmp(name, "to") == 0)
        return tool_refuse(tool, "%s: the extension of the output replaces --to: write %s.%s",
                           d->where, d->kind->command->name, given->words);
    if (strcmp(name, "strict") == 0)
        return tool_refuse(tool,
                           "%s: --strict has no effect in a job, which has no exit code; see "
                           "problem_total in the report",
                           d->where);
    tool_text option = {0};
    text_print(&option, given->words ? "--%s=%s" : "--%s", name, given->words);
    words_join(&d->words, option.data ? option.data : "");
    d->words.failed = d->words.failed || option.failed;
    text_free(&option);
    return 0;
}

/* Parses the words of a job with the option table of its command. `operands` is the number of
 * allowed operands: input and output, or none. */
static int parse_job_words(tool_run *tool, draft *d, char **words, size_t count,
                           uint32_t operands) {
    if (!count)
        return tool_refuse(tool, "%s: the command is missing", d->where);
    int code = find_kind(tool, d, words[0]);
    if (code)
        return code;
    tool_command command = *d->kind->command;
    tool_arguments arguments;
    tool_text complaint = {0};
    const tool_command *batch = tool->command;
    command.operand_least = operands ? 1 : 0;
    command.operand_most = operands;
    tool->command = &command;
    tool->complaint = &complaint;
    code = options_parse(tool, &command, (int)count - 1, words + 1, &arguments);
    tool->complaint = NULL;
    tool->command = batch;
    if (code)
        tool_refuse(tool, "%s: %s", d->where, complaint.data ? complaint.data : "out of memory");
    text_free(&complaint);
    if (!code && arguments.operand_count)
        d->input = arguments.operands[0];
    if (!code && arguments.operand_count > 1)
        d->output = arguments.operands[1];
    for (size_t i = 0; i < arguments.given_count && !code; i++)
        code = check_option(tool, d, &arguments.given[i]);
    arguments_free(&arguments);
    return code;
}

/* Computes the path of the output of an input: its path relative to `base` (may be null),
 * without parts that leave the folder, in printable UTF-8, with the extension. */
static void add_output(tool_text *to, const draft *d, const char *base, const char *input) {
    tool_text clean = {0};
    size_t above = base ? strlen(base) : 0;
    while (above && base[above - 1] == '/')
        above--;
    if (base && strncmp(input, base, above) == 0 && input[above] == '/')
        input += above;
    while (*input) {
        size_t length = strcspn(input, "/");
        bool dots = length <= 2 && strspn(input, ".") >= length;
        if (!dots) {
            text_add(&clean, clean.used ? "/" : "");
            text_bytes(&clean, input, length);
        }
        input += length + (input[length] == '/');
    }
    size_t length = strcspn(d->kind->endings, "|");
    text_safe(to, clean.data ? clean.data : "");
    text_print(to, ".%.*s", (int)(d->ending ? strlen(d->ending) : length),
               d->ending ? d->ending : d->kind->endings);
    to->failed = to->failed || clean.failed;
    text_free(&clean);
}

static bool leaves_folder(const char *output) {
    if (*output == '/')
        return true;
    for (const char *s = output; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
        if (strncmp(s, "..", 2) == 0 && (s[2] == '/' || !s[2]))
            return true;
    return false;
}

static int check_output(tool_run *tool, const draft *d, const char *output) {
    const char *ending = path_ending(output), *last = strrchr(output, '/');
    if (leaves_folder(output))
        return tool_refuse(tool, "%s: the output %s is outside the folder of --out", d->where,
                           output);
    if (!text_is_utf8(output) || strpbrk(output, "\n\r") || (last && !last[1]) ||
        strncmp(output, ".abut-", 6) == 0)
        return tool_refuse(tool, "%s: '%s' is not a valid name for an output", d->where, output);
    if (*ending && word_in(ending, d->kind->endings))
        return 0;
    return tool_refuse(tool, "%s: %s cannot write %s; allowed extensions are %s", d->where,
                       d->kind->command->name, output, d->kind->endings);
}

static int add_job(tool_run *tool, batch_jobs *jobs, const draft *d, const char *input) {
    tool_text output = {0};
    const char *last = strrchr(input, '/');
    if (word_in(last ? last + 1 : input, "|.|.."))
        return tool_refuse(tool, "%s: '%s' is not a valid file name", d->where, input);
    if (d->output)
        text_add(&output, d->output);
    else
        add_output(&output, d, jobs->base, input);
    int code = output.failed ? 0 : check_output(tool, d, output.data);
    if (code) {
        text_free(&output);
        return code;
    }
    batch_job job = {.kind = d->kind,
                     .words = d->words.data ? strdup(d->words.data) : NULL,
                     .input = strdup(input),
                     .output = output.failed ? NULL : strdup(output.data)};
    text_free(&output);
    if (job.words && job.input && job.output && !d->words.failed &&
        tool_grow(&jobs->list, jobs->count, &jobs->room, sizeof job)) {
        jobs->list[jobs->count++] = job;
        return 0;
    }
    free(job.words);
    free(job.input);
    free(job.output);
    return tool_fail(tool,
                     abut_set_error(ABUT_ERROR_MEMORY, "not enough memory for the list of jobs"));
}

/* ---- files with --do ---- */

static int add_for_all(tool_run *tool, const tool_arguments *arguments, batch_jobs *jobs,
                       const char *input) {
    int code = 0;
    for (size_t i = 0; i < arguments->given_count && !code; i++) {
        if (strcmp(arguments->given[i].option->name, "do") != 0)
            continue;
        draft d = {.where = "--do"};
        char *line = strdup(arguments->given[i].words), **words = NULL;
        size_t count = 0;
        if (!line || !words_split(line, &words, &count))
            code =
                tool_refuse(tool, "--do: missing closing quote in: %s", arguments->given[i].words);
        code = code ? code : parse_job_words(tool, &d, words, count, 0);
        if (!code && d.output)
            code = tool_refuse(
                tool,
                "--do: --out would be one file for all jobs; select an extension with %s.EXTENSION",
                d.kind->command->name);
        if (!code && input)
            code = add_job(tool, jobs, &d, input);
        text_free(&d.words);
        free(words);
        free(line);
    }
    return code;
}

/* Reads file names, one on each line, or each terminated by 0 as `find -print0` writes them. */
static int add_names(tool_run *tool, const tool_arguments *arguments, batch_jobs *jobs) {
    tool_text bytes = {0};
    if (tool->input_taken)
        return tool_refuse(tool, "standard input (-) can be read only once");
    tool->input_taken = true;
    int code = input_read(tool, &bytes);
    char end = bytes.used && memchr(bytes.data, 0, bytes.used) ? 0 : '\n';
    for (size_t at = 0; at < bytes.used && !code;) {
        char *start = bytes.data + at, *stop = memchr(start, end, bytes.used - at);
        size_t length = stop ? (size_t)(stop - start) : bytes.used - at;
        at += length + 1;
        if (end == '\n' && length && start[length - 1] == '\r')
            length--;
        start[length] = 0; /* the buffer has one byte after the last */
        if (length)
            code = add_for_all(tool, arguments, jobs, start);
    }
    text_free(&bytes);
    return code;
}

/* ---- job files ---- */

static int add_json(tool_run *tool, batch_jobs *jobs, draft *d, char *line) {
    flat_member members[MEMBERS];
    size_t count = flat_parse(line, members, MEMBERS), word_count = 0;
    const char *what = flat_value(members, count, "do"),
               *input = flat_value(members, count, "input");
    if (!what || !input || !*input)
        return tool_refuse(tool, "%s: not a JSON object with \"do\" and \"input\"", d->where);
    char *copy = strdup(what), **words = NULL;
    int code = 0;
    if (!copy || !words_split(copy, &words, &word_count))
        code = tool_refuse(tool, "%s: missing closing quote", d->where);
    code = code ? code : parse_job_words(tool, d, words, word_count, 0);
    if (!code && flat_value(members, count, "output"))
        d->output = flat_value(members, count, "output");
    code = code ? code : add_job(tool, jobs, d, input);
    free(words);
    free(copy);
    return code;
}

/* Parses a command line without the leading "abut". */
static int add_line(tool_run *tool, batch_jobs *jobs, draft *d, char *line) {
    char **words = NULL;
    size_t count = 0;
    int code = words_split(line, &words, &count)
                   ? 0
                   : tool_refuse(tool, "%s: missing closing quote", d->where);
    code = code ? code : parse_job_words(tool, d, words, count, 2);
    code = code ? code : add_job(tool, jobs, d, d->input);
    free(words);
    return code;
}

static int read_whole(tool_run *tool, const char *path, tool_text *bytes) {
    if (strcmp(path, "-") == 0) {
        if (tool->input_taken)
            return tool_refuse(tool, "standard input (-) can be read only once");
        tool->input_taken = true;
        return input_read(tool, bytes);
    }
    FILE *file = fopen(path, "rb");
    char part[65536];
    size_t got;
    errno = file ? 0 : errno;
    while (file && !tool_cancelled() && (got = fread(part, 1, sizeof part, file)) > 0)
        text_bytes(bytes, part, got);
    bool bad = !file || ferror(file);
    int error = errno;
    if (file)
        fclose(file);
    if (tool_cancelled())
        return tool_fail(tool, ABUT_ERROR_CANCELLED);
    if (bad || bytes->failed)
        return tool_fail_with(tool, "file error", "%s: cannot be read: %s", path,
                              bad ? strerror(error) : "out of memory");
    return 0;
}

static int add_job_file(tool_run *tool, batch_jobs *jobs, const char *path) {
    tool_text bytes = {0}, where = {0};
    int code = read_whole(tool, path, &bytes);
    size_t number = 0;
    if (!code && bytes.used && memchr(bytes.data, 0, bytes.used))
        code = tool_refuse(tool, "%s: not a text file; a job file has a job on each line", path);
    for (char *line = bytes.data, *next; line && *line && !code; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = 0;
        line += strspn(line, " \t\r");
        text_clear(&where);
        text_print(&where, "%s:%zu", path, ++number);
        draft d = {.where = where.data ? where.data : path};
        if (*line == '{')
            code = add_json(tool, jobs, &d, line);
        else if (*line && *line != '#')
            code = add_line(tool, jobs, &d, line);
        text_free(&d.words);
    }
    text_free(&where);
    text_free(&bytes);
    return code;
}

/* ---- checking the list ---- */

static int compare_job_outputs(const void *a, const void *b) {
    const batch_job *p = *(const batch_job *const *)a, *q = *(const batch_job *const *)b;
    int order = strcmp(p->output, q->output);
    return order ? order : (p > q) - (p < q);
}

/* Merges duplicates of a job; two different jobs with one output are an error. */
static int check_unique(tool_run *tool, batch_jobs *jobs) {
    const batch_job **sorted = malloc((jobs->count + 1) * sizeof *sorted);
    int code = 0;
    if (!sorted)
        return tool_fail(tool,
                         abut_set_error(ABUT_ERROR_MEMORY, "not enough memory to sort the jobs"));
    for (size_t i = 0; i < jobs->count; i++)
        sorted[i] = &jobs->list[i];
    qsort(sorted, jobs->count, sizeof *sorted, compare_job_outputs);
    for (size_t i = 1; i < jobs->count && !code; i++) {
        const batch_job *a = sorted[i - 1], *b = sorted[i];
        if (strcmp(a->output, b->output) != 0)
            continue;
        if (strcmp(a->words, b->words) == 0 && strcmp(a->input, b->input) == 0)
            jobs->list[b - jobs->list].state = JOB_SKIPPED;
        else
            code = tool_refuse(tool,
                               "two jobs have the output %s: '%s' of %s and '%s' of %s; use "
                               "different names, such as %s.fine.%s",
                               a->output, a->words, a->input, b->words, b->input,
                               b->kind->command->name, path_ending(b->output));
    }
    free(sorted);
    return code;
}

int jobs_collect(tool_run *tool, const tool_arguments *arguments, batch_jobs *jobs) {
    const tool_given *file = option_given(arguments, "jobs"),
                     *base = option_given(arguments, "base");
    bool what = option_given(arguments, "do") != NULL;
    if (!what && (arguments->operand_count || !file))
        return tool_refuse(tool, "the command for the files is missing: use --do 'field --cells "
                                 "64', --do report, or a list of jobs with --jobs");
    if (what && !arguments->operand_count)
        return tool_refuse(tool, "--do needs file names; '-' reads them from standard input");
    jobs->base = base ? base->words : NULL;
    int code = file ? add_job_file(tool, jobs, file->words) : 0;
    code = code || !what ? code
                         : add_for_all(tool, arguments, jobs, NULL); /* validate before any work */
    for (size_t i = 0; i < arguments->operand_count && !code; i++)
        code = strcmp(arguments->operands[i], "-") == 0
                   ? add_names(tool, arguments, jobs)
                   : add_for_all(tool, arguments, jobs, arguments->operands[i]);
    code = code ? code : check_unique(tool, jobs);
    size_t kept = 0;
    for (size_t i = 0; i < jobs->count && !code; i++)
        if (jobs->list[i].state == JOB_SKIPPED) {
            free(jobs->list[i].words);
            free(jobs->list[i].input);
            free(jobs->list[i].output);
        } else {
            jobs->list[kept++] = jobs->list[i];
        }
    jobs->count = code ? jobs->count : kept;
    return code;
}
