/* Result files: one JSON object with the machine in its header and one case per line.
 *
 * The reader accepts any JSON with our keys and types, in any order and layout. It skips unknown
 * keys, so that later versions may add some. Nesting is bounded, a file beyond 64 MiB is
 * rejected, and every error names file and line. */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "abut-bench 1"
#define MOST_BYTES (64u << 20)
#define MOST_DEPTH 16

bool bench_results_add(bench_results *results, const bench_result *result) {
    if (results->count == results->room) {
        size_t room = results->room ? 2 * results->room : 64;
        bench_result *list = realloc(results->list, room * sizeof *list);
        if (!list)
            return false;
        results->list = list;
        results->room = room;
    }
    results->list[results->count++] = *result;
    return true;
}

void bench_results_clear(bench_results *results) {
    free(results->list);
    memset(results, 0, sizeof *results);
}

/* ---- writing ---- */

static void write_text(FILE *file, const char *key, const char *text) {
    fprintf(file, "\"%s\": \"", key);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(file, "\\%c", *at);
        else if (*at < 0x20)
            fprintf(file, "\\u%04x", *at);
        else
            putc(*at, file);
    }
    putc('"', file);
}

static void write_peer(FILE *file, const bench_result *result) {
    write_text(file, "peer", result->peer);
    fprintf(file,
            ", \"peer_median_ms\": %.6g, \"peer_minimum_ms\": %.6g, \"ratio\": %.4g, "
            "\"disagreements\": %llu, ",
            result->peer_median_ms, result->peer_minimum_ms,
            result->minimum_ms > 0 ? result->peer_minimum_ms / result->minimum_ms : 0,
            (unsigned long long)result->disagreements);
    write_text(file, "note", result->note);
    fprintf(file, ", ");
}

static void write_case(FILE *file, const bench_result *result) {
    double per_second = result->median_ms > 0 ? result->elements / result->median_ms * 1e3 : 0;
    fprintf(file, "{");
    write_text(file, "case", result->name);
    fprintf(file,
            ", \"threads\": %u, \"median_ms\": %.6g, \"minimum_ms\": %.6g, \"cpu_ms\": %.6g, "
            "\"repeats\": %u, "
            "\"peak_bytes\": %llu, \"result_bytes\": %.0f, \"elements\": %.0f, ",
            result->threads, result->median_ms, result->minimum_ms, result->cpu_ms, result->repeats,
            (unsigned long long)result->peak_bytes, result->result_bytes, result->elements);
    write_text(file, "unit", result->unit);
    fprintf(file, ", \"elements_per_s\": %.6g, \"bytes\": %.0f, ", per_second, result->bytes);
    if (result->peer[0])
        write_peer(file, result);
    fprintf(file, "\"hash\": \"%016llx\"}", (unsigned long long)result->hash);
}

static void write_all(FILE *file, const bench_results *results) {
    fprintf(file, "{\n");
    write_text(file, "format", FORMAT);
    const struct {
        const char *key, *text;
    } head[] = {
        {"commit", results->commit}, {"compiler", results->compiler}, {"flags", results->flags},
        {"cpu", results->cpu},       {"system", results->system},     {"date", results->date},
    };
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++) {
        fprintf(file, ",\n");
        write_text(file, head[i].key, head[i].text);
    }
    fprintf(file, ",\n\"quick\": %s,\n\"cases\": [", results->quick ? "true" : "false");
    for (size_t i = 0; i < results->count; i++) {
        fprintf(file, i ? ",\n" : "\n");
        write_case(file, &results->list[i]);
    }
    fprintf(file, "\n]\n}\n");
}

bool bench_results_write(const bench_results *results, const char *path) {
    size_t length = strlen(path);
    char *beside = malloc(length + sizeof ".part");
    if (!beside) {
        fprintf(stderr, "abut-bench: out of memory\n");
        return false;
    }
    memcpy(beside, path, length);
    memcpy(beside + length, ".part", sizeof ".part");
    FILE *file = fopen(beside, "w");
    bool fine = file != NULL;
    if (file) {
        write_all(file, results);
        fine = !ferror(file);
        fine = !fclose(file) && fine;
        fine = fine && !rename(beside, path);
    }
    if (!fine) {
        fprintf(stderr, "abut-bench: cannot write '%s': %s\n", path, strerror(errno));
        if (file)
            remove(beside);
    }
    free(beside);
    return fine;
}

/* ---- reading ---- */

typedef struct reader {
    const char *path, *at, *end;
    size_t line;
    bool failed;
} reader;

static bool complain(reader *in, const char *what) {
    if (!in->failed)
        fprintf(stderr, "abut-bench: %s, line %zu: %s; is it a file of --out?\n", in->path,
                in->line, what);
    in->failed = true;
    return false;
}

static void skip_space(reader *in) {
    for (; in->at < in->end && strchr(" \t\r\n", *in->at) && *in->at; in->at++)
        in->line += *in->at == '\n';
}

/* Returns the next character that is not space, without consuming it; 0 at the end. */
static char peek(reader *in) {
    skip_space(in);
    return in->at < in->end ? *in->at : 0;
}

static bool consume(reader *in, char wanted) {
    if (peek(in) != wanted) {
        char what[32];
        snprintf(what, sizeof what, "'%c' is missing", wanted);
        return complain(in, what);
    }
    in->at++;
    return true;
}

/* Reads a string, truncated to the size of `out`. \u beyond Latin letters becomes '?': our files
 * have none. */
static bool read_text(reader *in, char *out, size_t out_bytes) {
    size_t length = 0;
    if (!consume(in, '"'))
        return false;
    while (in->at < in->end && *in->at != '"') {
        char c = *in->at++;
        if ((unsigned char)c < 0x20)
            return complain(in, "a control character stands in a text");
        if (c == '\\') {
            if (in->at == in->end)
                break;
            c = *in->at++;
            if (c == 'u') {
                if (in->end - in->at < 4 || strspn(in->at, "0123456789abcdefABCDEF") < 4)
                    return complain(in, "\\u without four hexadecimal digits");
                in->at += 4;
                c = '?';
            } else if (c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f') {
                c = ' ';
            } else if (c != '"' && c != '\\' && c != '/') {
                return complain(in, "an unknown escape stands in a text");
            }
        }
        if (length + 1 < out_bytes)
            out[length++] = c;
    }
    out[length] = 0;
    return consume(in, '"');
}

static bool read_number(reader *in, double lo, double hi, double *number) {
    skip_space(in);
    char *end;
    errno = 0;
    double value = in->at < in->end && strchr("-0123456789", *in->at) && *in->at
                       ? strtod(in->at, &end)
                       : (end = (char *)in->at, 0);
    if (end == in->at)
        return complain(in, "a number is missing");
    if (!(value >= lo && value <= hi))
        return complain(in, "a number is out of range");
    in->at = end;
    *number = value;
    return true;
}

static bool take_word(reader *in, const char *word) {
    size_t length = strlen(word);
    skip_space(in);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0)
        return false;
    in->at += length;
    return true;
}

/* Skips a value of any kind: brackets are counted and matched, their content is not validated. */
static bool skip_value(reader *in) {
    char closing[MOST_DEPTH], text[8];
    size_t depth = 0;
    double number;
    do {
        char c = peek(in);
        if (c == '"') {
            if (!read_text(in, text, sizeof text))
                return false;
        } else if (c == '{' || c == '[') {
            if (depth == MOST_DEPTH)
                return complain(in, "it is nested too deeply");
            closing[depth++] = c == '{' ? '}' : ']';
            in->at++;
        } else if (depth && c == closing[depth - 1]) {
            depth--;
            in->at++;
        } else if (depth && (c == ',' || c == ':')) {
            in->at++;
        } else if (!take_word(in, "true") && !take_word(in, "false") && !take_word(in, "null") &&
                   !read_number(in, -1e308, 1e308, &number)) {
            return false;
        }
    } while (depth);
    return true;
}

/* Calls member(in, key, data) for each member of an object; it must consume the value. */
static bool read_object(reader *in, bool (*member)(reader *, const char *key, void *data),
                        void *data) {
    if (!consume(in, '{'))
        return false;
    if (peek(in) == '}')
        return consume(in, '}');
    do {
        char key[32];
        if (!read_text(in, key, sizeof key) || !consume(in, ':') || !member(in, key, data))
            return false;
    } while (peek(in) == ',' && in->at++);
    return consume(in, '}');
}

/* The numbers of a case, and the members that a comparison requires. */
enum {
    THREADS,
    REPEATS,
    MEDIAN,
    MINIMUM,
    CPU,
    PEAK,
    RESULT,
    ELEMENTS,
    BYTES,
    PEER_MEDIAN,
    PEER_MINIMUM,
    DISAGREEMENTS,
    NAME,
    HASH
};
#define NEEDED (1u << THREADS | 1u << MEDIAN | 1u << MINIMUM | 1u << NAME | 1u << HASH)

static const struct {
    const char *key;
    double most;
} numbers[] = {
    [THREADS] = {"threads", 1e6},
    [REPEATS] = {"repeats", 1e6},
    [MEDIAN] = {"median_ms", 1e15},
    [MINIMUM] = {"minimum_ms", 1e15},
    [CPU] = {"cpu_ms", 1e15},
    [PEAK] = {"peak_bytes", 1e18},
    [RESULT] = {"result_bytes", 1e18},
    [ELEMENTS] = {"elements", 1e18},
    [BYTES] = {"bytes", 1e18},
    [PEER_MEDIAN] = {"peer_median_ms", 1e15},
    [PEER_MINIMUM] = {"peer_minimum_ms", 1e15},
    [DISAGREEMENTS] = {"disagreements", 1e18},
};

typedef struct case_reader {
    bench_result *result;
    double values[NAME];
    unsigned seen; /* one bit for each of the above */
} case_reader;

static bool read_hash(reader *in, uint64_t *hash) {
    char text[32], *end;
    if (!read_text(in, text, sizeof text))
        return false;
    *hash = strtoull(text, &end, 16);
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16 || *end)
        return complain(in, "a hash is not 16 hexadecimal digits");
    return true;
}

static bool read_case_member(reader *in, const char *key, void *data) {
    case_reader *to = data;
    if (!strcmp(key, "case")) {
        to->seen |= 1u << NAME;
        return read_text(in, to->result->name, sizeof to->result->name);
    }
    if (!strcmp(key, "unit"))
        return read_text(in, to->result->unit, sizeof to->result->unit);
    if (!strcmp(key, "peer"))
        return read_text(in, to->result->peer, sizeof to->result->peer);
    if (!strcmp(key, "note"))
        return read_text(in, to->result->note, sizeof to->result->note);
    if (!strcmp(key, "hash")) {
        to->seen |= 1u << HASH;
        return read_hash(in, &to->result->hash);
    }
    for (unsigned i = 0; i < NAME; i++)
        if (!strcmp(key, numbers[i].key)) {
            to->seen |= 1u << i;
            return read_number(in, 0, numbers[i].most, &to->values[i]);
        }
    return skip_value(in);
}

static bool read_case(reader *in, bench_result *result) {
    case_reader one = {.result = result};
    memset(result, 0, sizeof *result);
    if (!read_object(in, read_case_member, &one))
        return false;
    if ((one.seen & NEEDED) != NEEDED)
        return complain(in, "a case lacks its name, threads, times or hash");
    result->threads = (uint32_t)one.values[THREADS];
    result->repeats = (uint32_t)one.values[REPEATS];
    result->median_ms = one.values[MEDIAN];
    result->minimum_ms = one.values[MINIMUM];
    result->cpu_ms = one.values[CPU];
    result->peak_bytes = (uint64_t)one.values[PEAK];
    result->result_bytes = one.values[RESULT];
    result->elements = one.values[ELEMENTS];
    result->bytes = one.values[BYTES];
    result->peer_median_ms = one.values[PEER_MEDIAN];
    result->peer_minimum_ms = one.values[PEER_MINIMUM];
    result->disagreements = (uint64_t)one.values[DISAGREEMENTS];
    return true;
}

static bool read_cases(reader *in, bench_results *results) {
    if (!consume(in, '['))
        return false;
    if (peek(in) == ']')
        return consume(in, ']');
    do {
        bench_result result;
        if (!read_case(in, &result))
            return false;
        if (!bench_results_add(results, &result))
            return complain(in, "out of memory");
    } while (peek(in) == ',' && in->at++);
    return consume(in, ']');
}

typedef struct head_reader {
    bench_results *results;
    bool format, cases;
} head_reader;

static bool read_head_member(reader *in, const char *key, void *data) {
    head_reader *head = data;
    bench_results *results = head->results;
    if (!strcmp(key, "format")) {
        char format[32];
        if (!read_text(in, format, sizeof format))
            return false;
        head->format = !strcmp(format, FORMAT);
        return head->format || complain(in, "the format is not \"" FORMAT "\"");
    }
    if (!strcmp(key, "commit"))
        return read_text(in, results->commit, sizeof results->commit);
    if (!strcmp(key, "compiler"))
        return read_text(in, results->compiler, sizeof results->compiler);
    if (!strcmp(key, "flags"))
        return read_text(in, results->flags, sizeof results->flags);
    if (!strcmp(key, "cpu"))
        return read_text(in, results->cpu, sizeof results->cpu);
    if (!strcmp(key, "system"))
        return read_text(in, results->system, sizeof results->system);
    if (!strcmp(key, "date"))
        return read_text(in, results->date, sizeof results->date);
    if (!strcmp(key, "quick")) {
        results->quick = take_word(in, "true");
        return results->quick || take_word(in, "false") ||
               complain(in, "\"quick\" is neither true nor false");
    }
    if (!strcmp(key, "cases")) {
        if (head->cases)
            return complain(in, "there are two lists of cases");
        head->cases = true;
        return read_cases(in, results);
    }
    return skip_value(in);
}

/* Reads the whole file, with a terminating zero; returns null after a message. */
static char *slurp(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0, length = 0, got = 1;
    bool fine = file != NULL;
    while (fine && got) {
        if (room - length < 2) {
            room = room ? 2 * room : 1u << 16;
            char *larger = room <= MOST_BYTES ? realloc(text, room) : NULL;
            fine = larger != NULL;
            text = fine ? larger : text;
            errno = fine ? errno : EFBIG;
        }
        if (fine) {
            got = fread(text + length, 1, room - length - 1, file);
            length += got;
            fine = !ferror(file);
        }
    }
    if (!fine) {
        fprintf(stderr, "abut-bench: cannot read '%s': %s\n", path, strerror(errno));
        free(text);
        text = NULL;
    } else {
        text[length] = 0;
    }
    if (file)
        fclose(file);
    *bytes = length;
    return text;
}

bool bench_results_read(bench_results *results, const char *path) {
    size_t bytes;
    memset(results, 0, sizeof *results);
    char *text = slurp(path, &bytes);
    if (!text)
        return false;
    reader in = {.path = path, .at = text, .end = text + bytes, .line = 1};
    head_reader head = {.results = results};
    bool fine = read_object(&in, read_head_member, &head);
    if (fine && (!head.format || !head.cases))
        fine = complain(&in, "the format or the cases are missing");
    if (fine && (skip_space(&in), in.at != in.end))
        fine = complain(&in, "something stands after the end");
    free(text);
    if (!fine)
        bench_results_clear(results);
    return fine;
}
