/* The list of jobs of `abut batch`: from files and --do, from lists of names, and from job files.
 */
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
enum { KINDS = sizeof kinds / sizeof *kinds, KIND_INFO = 1 };

/* ---- words ---- */

bool words_split(char *line, char ***words, size_t *count) {
    size_t room = 0;
    char *to = line;
    *words = NULL;
    *count = 0;
    for (char *s = line + strspn(line, " \t\r\n"); *s; s += strspn(s, " \t\r\n")) {
        char *start = to, quote = 0;
        for (; *s && (quote || !strchr(" \t\r\n", *s)); s++) {
            if (quote ? *s == quote : *s == '\'' || *s == '"') {
                quote = quote ? 0 : *s;
                continue;
            }
            if (*s == '\\' && quote != '\'' && !*++s)
                return false;
            *to++ = *s;
        }
        if (quote)
            return false;
        s += *s != 0; /* the terminator of the word may overwrite the separator */
        *to++ = 0;
        tool_grow(words, *count, &room, sizeof **words);
        (*words)[(*count)++] = start;
    }
    return true;
}

/* Adds a word quoted for words_split(), with a blank before it unless it is the first. */
static void words_join(tool_text *to, const char *word) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    text_add(to, to->used ? " " : "");
    if (*word && strspn(word, plain) == strlen(word)) {
        text_add(to, word);
        return;
    }
    text_add(to, "'");
    for (; *word; word++)
        text_print(to, *word == '\'' ? "'\\%c'" : "%c", *word);
    text_add(to, "'");
}

/* ---- flat JSON ---- */

static bool read_hex(const char *s, unsigned *value) {
    char digits[5] = {0};
    strncpy(digits, s, 4);
    *value = (unsigned)strtoul(digits, NULL, 16);
    return strspn(digits, "0123456789abcdefABCDEF") == 4;
}

/* Decodes the escape sequence after a backslash at s and advances s. Rejects unpaired surrogates
 * and 0, which would end the string. The result is never longer than its source. */
static char *unescape(char **s, char *to) {
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char *at = *s;
    const char *letter = *at ? strchr(letters, *at) : NULL;
    unsigned code, low;
    if (letter) {
        *s = at + 1;
        *to++ = meanings[letter - letters];
        return to;
    }
    if (*at != 'u' || !read_hex(at + 1, &code) || !code || (code >= 0xdc00 && code <= 0xdfff))
        return NULL;
    at += 5;
    if (code >= 0xd800 && code < 0xdc00) {
        if (at[0] != '\\' || at[1] != 'u' || !read_hex(at + 2, &low) || low < 0xdc00 ||
            low > 0xdfff)
            return NULL;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    }
    *s = at;
    const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char heads[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(heads[more] | code >> 6 * more);
    for (int k = more - 1; k >= 0; k--)
        *to++ = (char)(0x80 | (code >> 6 * k & 63));
    return to;
}

/* Decodes the string whose opening quote is at *s, and advances *s past its end. */
static char *read_string(char **s) {
    char *start = *s + 1, *at = start, *to = start;
    while (to && *at && *at != '"') {
        if (*at == '\\') {
            at++;
            to = unescape(&at, to);
        } else {
            *to++ = *at++;
        }
    }
    if (!to || *at != '"')
        return NULL;
    *to = 0;
    *s = at + 1;
    return start;
}

flat_object flat_parse(char *line) {
    static const char blanks[] = " \t\r\n";
    static const flat_object wrong;
    flat_object object = {.count = 0};
    char *s = line + strspn(line, blanks), after = *s++;
    if (after != '{')
        return wrong;
    while (after != '}') {
        char *key, *value, *end = NULL;
        s += strspn(s, blanks);
        if (object.count == FLAT_MEMBERS || *s != '"' || !(key = read_string(&s)))
            return wrong;
        s += strspn(s, blanks);
        if (*s++ != ':')
            return wrong;
        s += strspn(s, blanks);
        if (*s == '"') {
            value = read_string(&s);
        } else {
            value = s;
            s += strcspn(s, " \t\r\n,{}[]\"");
            end = s;
        }
        if (!value || end == value)
            return wrong;
        s += strspn(s, blanks);
        after = *s++;
        if (after != ',' && after != '}')
            return wrong;
        if (end)
            *end = 0;
        object.members[object.count].key = key;
        object.members[object.count++].value = value;
    }
    return s[strspn(s, blanks)] ? wrong : object;
}

const char *flat_value(const flat_object *object, const char *key) {
    for (size_t i = 0; i < object->count; i++)
        if (strcmp(object->members[i].key, key) == 0)
            return object->members[i].value;
    return NULL;
}

/* ---- one job ---- */

/* A job during parsing: COMMAND[.EXTENSION] OPTION..., for one input or for any. Messages begin
 * with tool->where. */
typedef struct draft {
    const batch_kind *kind;
    const char *ending; /* as given, or null */
    tool_text words;    /* command and options as in batch_job */
    const char *input, *output;
} draft;

static void find_kind(tool_run *tool, draft *d, char *word) {
    size_t length = strcspn(word, ".");
    for (size_t i = 0; i < KINDS && !d->kind; i++)
        if (strlen(kinds[i].command->name) == length &&
            strncmp(kinds[i].command->name, word, length) == 0)
            d->kind = &kinds[i];
    if (length == 6 && strncmp(word, "report", 6) == 0)
        d->kind = &kinds[KIND_INFO];
    if (!d->kind) {
        tool_text names = {0};
        for (size_t i = 0; i < KINDS; i++)
            text_print(&names, "%s%s", i ? ", " : "", kinds[i].command->name);
        tool_refuse(tool, "'abut batch' cannot run '%s'; the possible commands are %s", word,
                    text_of(&names));
    }
    d->ending = word[length] ? word + length + 1 : NULL;
    words_join(&d->words, d->kind->command->name);
}

/* Reports an error for options that do not apply to a job: each job writes one file, and options
 * of the whole run belong to 'abut batch'. */
static void check_option(tool_run *tool, draft *d, const tool_given *given) {
    const char *name = given->option->name;
    if (word_in(name, "json|quiet|threads|help"))
        tool_refuse(tool, "--%s is not an option of a job; use it with 'abut batch' itself", name);
    if (d->kind->product == PRODUCT_OPTION && strcmp(name, "out") == 0) {
        if (d->output)
            tool_refuse(tool, "the job has two outputs");
        d->output = given->words;
        return;
    }
    if (given->option->argument && strcmp(given->option->argument, "FILE") == 0)
        tool_refuse(tool, "--%s would write a second file, but a job has one output", name);
    if (strcmp(name, "to") == 0)
        tool_refuse(tool, "the extension of the output replaces --to: write %s.%s",
                    d->kind->command->name, given->words);
    if (strcmp(name, "strict") == 0)
        tool_refuse(tool, "--strict has no effect in a job, which has no exit code; see "
                          "problem_total in the report");
    tool_text option = {0};
    text_print(&option, given->words ? "--%s=%s" : "--%s", name, given->words);
    words_join(&d->words, option.data);
}

/* Parses the words of a job with the option table of its command. `operands` is the number of
 * allowed operands: input and output, or none. */
static draft parse_job(tool_run *tool, const char *line, uint32_t operands) {
    draft d = {0};
    char **words;
    size_t count;
    if (!words_split(tool_copy(line), &words, &count))
        tool_refuse(tool, "missing closing quote in: %s", line);
    if (!count)
        tool_refuse(tool, "the command is missing");
    find_kind(tool, &d, words[0]);
    tool_command command = *d.kind->command;
    tool_arguments arguments;
    command.operand_range[0] = operands ? 1 : 0;
    command.operand_range[1] = operands;
    options_parse(tool, &command, (int)count - 1, words + 1, &arguments);
    if (arguments.operand_count)
        d.input = arguments.operands[0];
    if (arguments.operand_count > 1)
        d.output = arguments.operands[1];
    for (size_t i = 0; i < arguments.given_count; i++)
        check_option(tool, &d, &arguments.given[i]);
    return d;
}

/* Computes the path of the output of an input: its path relative to `base` (may be null),
 * without parts that leave the folder, in printable UTF-8, with the extension. */
static void add_output(tool_text *to, const draft *d, const char *base, const char *input) {
    size_t above = base ? strlen(base) : 0;
    while (above && base[above - 1] == '/')
        above--;
    if (base && strncmp(input, base, above) == 0 && input[above] == '/')
        input += above;
    tool_text clean = {0};
    while (*input) {
        size_t length = strcspn(input, "/");
        if (length > 2 || strspn(input, ".") < length) {
            text_add(&clean, clean.used ? "/" : "");
            text_bytes(&clean, input, length);
        }
        input += length + (input[length] == '/');
    }
    text_safe(to, text_of(&clean));
    if (d->ending)
        text_print(to, ".%s", d->ending);
    else
        text_print(to, ".%.*s", (int)strcspn(d->kind->endings, "|"), d->kind->endings);
}

static bool leaves_folder(const char *output) {
    for (const char *s = output; s; s = strchr(s, '/') ? strchr(s, '/') + 1 : NULL)
        if (strncmp(s, "..", 2) == 0 && (s[2] == '/' || !s[2]))
            return true;
    return *output == '/';
}

static void add_job(tool_run *tool, batch_jobs *jobs, const draft *d, const char *input) {
    tool_text name = {0};
    const char *last = strrchr(input, '/');
    if (word_in(last ? last + 1 : input, "|.|.."))
        tool_refuse(tool, "'%s' is not a valid file name", input);
    if (d->output)
        text_add(&name, d->output);
    else
        add_output(&name, d, jobs->base, input);
    const char *output = name.data, *ending = path_ending(output), *slash = strrchr(output, '/');
    if (leaves_folder(output))
        tool_refuse(tool, "the output %s is outside the folder of --out", output);
    if (!text_is_utf8(output) || strpbrk(output, "\n\r") || (slash && !slash[1]) ||
        strncmp(output, ".abut-", 6) == 0)
        tool_refuse(tool, "'%s' is not a valid name for an output", output);
    if (!*ending || !word_in(ending, d->kind->endings))
        tool_refuse(tool, "%s cannot write %s; allowed extensions are %s", d->kind->command->name,
                    output, d->kind->endings);
    tool_grow(&jobs->list, jobs->count, &jobs->room, sizeof *jobs->list);
    jobs->list[jobs->count++] = (batch_job){.kind = d->kind,
                                            .words = d->words.data,
                                            .input = tool_copy(input),
                                            .output = output};
}

/* ---- sources of jobs ---- */

/* Adds the jobs of all --do for a file, or only validates them (null). */
static void add_for_all(tool_run *tool, const tool_arguments *arguments, batch_jobs *jobs,
                        const char *input) {
    tool->where = "--do";
    for (size_t i = 0; i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, "do") != 0)
            continue;
        draft d = parse_job(tool, arguments->given[i].words, 0);
        if (d.output)
            tool_refuse(
                tool, "--out would be one file for all jobs; select an extension with %s.EXTENSION",
                d.kind->command->name);
        if (input)
            add_job(tool, jobs, &d, input);
    }
    tool->where = NULL;
}

/* Reads a file or standard input ("-") as a whole. */
static tool_text read_whole(tool_run *tool, const char *path) {
    tool_text bytes = {0};
    if (strcmp(path, "-") == 0) {
        if (tool->input_taken)
            tool_refuse(tool, "standard input (-) can be read only once");
        tool->input_taken = true;
        input_read(tool, &bytes);
        return bytes;
    }
    FILE *file = fopen(path, "rb");
    if (!file || !stream_read(file, &bytes))
        tool_fail_with(tool, "file error", "%s: cannot be read: %s", path, strerror(errno));
    fclose(file);
    return bytes;
}

/* Reads file names, one on each line, or each terminated by 0 as `find -print0` writes them. */
static void add_names(tool_run *tool, const tool_arguments *arguments, batch_jobs *jobs) {
    tool_text bytes = read_whole(tool, "-");
    char end = bytes.used && memchr(bytes.data, 0, bytes.used) ? 0 : '\n';
    for (size_t at = 0; at < bytes.used;) {
        char *start = bytes.data + at, *stop = memchr(start, end, bytes.used - at);
        size_t length = stop ? (size_t)(stop - start) : bytes.used - at;
        at += length + 1;
        if (end == '\n' && length && start[length - 1] == '\r')
            length--;
        start[length] = 0; /* the buffer has one byte after the last */
        if (length)
            add_for_all(tool, arguments, jobs, start);
    }
}

/* A line is a command line without "abut", or a JSON object. */
static void add_job_file(tool_run *tool, batch_jobs *jobs, const char *path) {
    tool_text bytes = read_whole(tool, path), where = {0};
    size_t number = 0;
    if (bytes.used && memchr(bytes.data, 0, bytes.used))
        tool_refuse(tool, "%s: not a text file; a job file has a job on each line", path);
    for (char *line = bytes.data, *next; line && *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        line[length] = 0;
        line += strspn(line, " \t\r");
        text_clear(&where);
        text_print(&where, "%s:%zu", path, ++number);
        tool->where = where.data;
        if (*line == '{') {
            flat_object object = flat_parse(line);
            const char *what = flat_value(&object, "do"), *input = flat_value(&object, "input");
            if (!what || !input || !*input)
                tool_refuse(tool, "not a JSON object with \"do\" and \"input\"");
            draft d = parse_job(tool, what, 0);
            if (flat_value(&object, "output"))
                d.output = flat_value(&object, "output");
            add_job(tool, jobs, &d, input);
        } else if (*line && *line != '#') {
            draft d = parse_job(tool, line, 2);
            add_job(tool, jobs, &d, d.input);
        }
        tool->where = NULL;
    }
}

/* ---- the list ---- */

static int by_output(const void *a, const void *b) {
    const batch_job *p = *(batch_job *const *)a, *q = *(batch_job *const *)b;
    int order = strcmp(p->output, q->output);
    return order ? order : (p > q) - (p < q);
}

static void sort_jobs(batch_jobs *jobs) {
    jobs->sorted = tool_array(jobs->count + 1, sizeof *jobs->sorted);
    for (size_t i = 0; i < jobs->count; i++)
        jobs->sorted[i] = &jobs->list[i];
    qsort(jobs->sorted, jobs->count, sizeof *jobs->sorted, by_output);
}

static int has_output(const void *output, const void *job) {
    return strcmp(output, (*(batch_job *const *)job)->output);
}

batch_job *jobs_find(const batch_jobs *jobs, const char *output) {
    batch_job **found = bsearch(output, jobs->sorted, jobs->count, sizeof *found, has_output);
    return found ? *found : NULL;
}

void jobs_collect(tool_run *tool, const tool_arguments *arguments, batch_jobs *jobs) {
    const tool_given *file = option_given(arguments, "jobs");
    bool what = option_given(arguments, "do") != NULL;
    if (!what && (arguments->operand_count || !file))
        tool_refuse(tool, "the command for the files is missing: use --do 'field --cells 64', --do "
                          "report, or a list of jobs with --jobs");
    if (what && !arguments->operand_count)
        tool_refuse(tool, "--do needs file names; '-' reads them from standard input");
    jobs->base = option_words(arguments, "base", NULL);
    if (file)
        add_job_file(tool, jobs, file->words);
    add_for_all(tool, arguments, jobs, NULL); /* validate before any work */
    for (size_t i = 0; i < arguments->operand_count; i++)
        if (strcmp(arguments->operands[i], "-") == 0)
            add_names(tool, arguments, jobs);
        else
            add_for_all(tool, arguments, jobs, arguments->operands[i]);
    /* duplicates are merged; two different jobs with one output are an error */
    sort_jobs(jobs);
    for (size_t i = 1; i < jobs->count; i++) {
        batch_job *a = jobs->sorted[i - 1], *b = jobs->sorted[i];
        if (strcmp(a->output, b->output) != 0)
            continue;
        if (strcmp(a->words, b->words) != 0 || strcmp(a->input, b->input) != 0)
            tool_refuse(tool,
                        "two jobs have the output %s: '%s' of %s and '%s' of %s; use different "
                        "names, such as %s.fine.%s",
                        a->output, a->words, a->input, b->words, b->input, b->kind->command->name,
                        path_ending(b->output));
        b->state = JOB_SKIPPED;
    }
    size_t kept = 0;
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->list[i].state != JOB_SKIPPED)
            jobs->list[kept++] = jobs->list[i];
    jobs->count = kept;
    sort_jobs(jobs);
}
