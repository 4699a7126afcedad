/* The writer: the same results as an aligned table of text or as JSON.
 *
 * Nothing is written to standard output before output_flush(). A command that fails half-way can
 * therefore replace its JSON with an error object, and standard output always has one valid
 * document. JSON has no NaN and no infinity; such numbers are null. */
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define INDENT 2           /* of tables, below their headline */
#define COLUMN_GAP 3       /* between columns */
#define LINE_WIDTH_MAX 110 /* longer lines are hard to read on a wide terminal */

/* ---- construction ---- */

void output_start(tool_output *out, bool json) {
    bool terminal = isatty(STDOUT_FILENO);
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    *out = (tool_output){.json = json};
    out->colour = terminal && !json && !(no_colour && *no_colour) && term && strcmp(term, "dumb");
    out->unicode = strcasecmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (!terminal || !terminal_width(STDOUT_FILENO, &out->width))
        out->width = 0;
    out->width = out->width > LINE_WIDTH_MAX ? LINE_WIDTH_MAX : out->width;
}

static void forget_rows(tool_output *out) {
    for (size_t i = 0; i < out->row_count; i++)
        for (uint32_t k = 0; k < out->rows[i].count; k++)
            tool_free(out->rows[i].cells[k].words);
    out->row_count = 0;
    memset(out->heads, 0, sizeof out->heads);
}

bool output_flush(tool_output *out) {
    errno = 0;
    FILE *to = out->diverted ? stderr : stdout;
    tool_text safe = {0}; /* names are escaped already; this is a second line of defence */
    if (!out->json && out->text.used)
        text_terminal(&safe, out->text.data, out->text.used);
    const tool_text *text = out->json ? &out->text : &safe;
    bool fine = !text->used || fwrite(text->data, text->used, 1, to) == 1;
    fine = fflush(to) == 0 && fine;
    if (!fine && out->diverted && errno == EBADF)
        fine = true; /* standard error is closed: the summary is discarded */
    text_free(&safe);
    if (!fine && !out->error)
        out->error = errno ? errno : EIO;
    text_clear(&out->text);
    return !out->error;
}

/* ---- shades ---- */

const char *shade_on(const tool_output *out, tool_shade shade) {
    static const char *const codes[] = {
        [SHADE_PLAIN] = "",        [SHADE_BOLD] = "\033[1m",  [SHADE_DIM] = "\033[2m",
        [SHADE_GOOD] = "\033[32m", [SHADE_WARN] = "\033[33m", [SHADE_BAD] = "\033[31m"};
    return out->colour ? codes[shade] : "";
}

const char *shade_off(const tool_output *out) {
    return out->colour ? "\033[0m" : "";
}

void out_shade(tool_output *out, tool_shade shade) {
    out->next = shade;
}

/* ---- rows ---- */

static tool_row *add_row(tool_output *out) {
    tool_grow(&out->rows, out->row_count, &out->row_room, sizeof *out->rows);
    tool_row *fresh = &out->rows[out->row_count++];
    fresh->count = 0;
    return fresh;
}

static void add_cell(tool_output *out, tool_row *to, const char *words, bool number) {
    assert(to->count < OUTPUT_COLUMNS);
    to->cells[to->count++] = (tool_cell){tool_copy(words), out->next, number};
    out->next = SHADE_PLAIN;
}

/* Adds a cell to the open row, or a labelled row if no table is open. */
static void add_fact(tool_output *out, const char *key, const char *words, bool number) {
    if (out->in_row) {
        tool_row *to = &out->rows[out->row_count - 1];
        out->heads[to->count] = key;
        add_cell(out, to, words, number);
        return;
    }
    tool_text label = {0};
    for (const char *s = key; *s; s++)
        text_bytes(&label, *s == '_' ? " " : s, 1);
    tool_shade value = out->next;
    tool_row *to = add_row(out);
    out->next = SHADE_DIM;
    add_cell(out, to, text_of(&label), false);
    out->next = value;
    add_cell(out, to, words, false);
    text_free(&label);
}

/* Prints a cell at `column` and returns the column after it. The last cell is wrapped. */
static size_t print_cell(tool_output *out, const tool_cell *cell, size_t column, size_t columns,
                         bool last) {
    size_t used = text_columns(cell->words), spaces = columns > used ? columns - used : 0;
    tool_text *to = &out->text;
    if (cell->number)
        text_print(to, "%*s", (int)spaces, "");
    text_add(to, shade_on(out, cell->shade));
    if (last && !cell->number && out->width > column + 20)
        text_wrapped(to, cell->words, column, column, out->width);
    else
        text_add(to, cell->words);
    if (cell->shade != SHADE_PLAIN)
        text_add(to, shade_off(out));
    if (!last)
        text_print(to, "%*s", (int)(COLUMN_GAP + (cell->number ? 0 : spaces)), "");
    return column + (used > columns ? used : columns) + COLUMN_GAP;
}

static void print_heads(tool_output *out, const size_t *widths, const bool *numbers,
                        uint32_t count) {
    tool_text *to = &out->text;
    text_print(to, "%*s%s", INDENT, "", shade_on(out, SHADE_DIM));
    for (uint32_t k = 0; k < count; k++) {
        const char *head = out->heads[k] ? out->heads[k] : "";
        size_t used = text_columns(head), spaces = widths[k] > used ? widths[k] - used : 0;
        if (numbers[k])
            text_print(to, "%*s", (int)spaces, "");
        for (; *head; head++)
            text_bytes(to, *head == '_' ? " " : head, 1);
        if (k + 1 < count)
            text_print(to, "%*s", (int)(COLUMN_GAP + (numbers[k] ? 0 : spaces)), "");
    }
    text_print(to, "%s\n", shade_off(out));
}

/* Prints the pending rows, with column names if they are of a table, and clears them. */
static void print_rows(tool_output *out) {
    size_t widths[OUTPUT_COLUMNS] = {0};
    bool numbers[OUTPUT_COLUMNS] = {false};
    uint32_t most = 0;
    bool headed = out->heads[0] != NULL;
    for (size_t i = 0; i < out->row_count; i++) {
        const tool_row *row = &out->rows[i];
        most = row->count > most ? row->count : most;
        for (uint32_t k = 0; k < row->count; k++) {
            size_t columns = text_columns(row->cells[k].words);
            widths[k] = columns > widths[k] ? columns : widths[k];
            numbers[k] = row->cells[k].number;
        }
    }
    for (uint32_t k = 0; headed && k < most; k++) {
        size_t columns = out->heads[k] ? text_columns(out->heads[k]) : 0;
        widths[k] = columns > widths[k] ? columns : widths[k];
    }
    if (headed && out->row_count) {
        text_add(&out->text, out->begun ? "\n" : "");
        print_heads(out, widths, numbers, most);
    }
    for (size_t i = 0; i < out->row_count; i++) {
        const tool_row *row = &out->rows[i];
        size_t column = INDENT;
        text_print(&out->text, "%*s", INDENT, "");
        for (uint32_t k = 0; k < row->count; k++)
            column = print_cell(out, &row->cells[k], column, widths[k], k + 1 == row->count);
        text_add(&out->text, "\n");
    }
    out->begun = out->begun || out->row_count;
    forget_rows(out);
}

/* ---- structure ---- */

/* Adds what precedes a value: comma, newline, indentation and key. Top-level objects and their
 * lists have one member on each line; objects in lists are on one line. Returns false in text
 * output, which has no such value. */
static bool start_value(tool_output *out, const char *key) {
    tool_text *to = &out->text;
    if (!out->json || !out->depth)
        return out->json;
    struct level *level = &out->levels[out->depth - 1];
    bool flat = out->lines || out->depth > 4;
    text_add(to, level->filled ? "," : "");
    if (flat)
        text_add(to, level->filled ? " " : "");
    else
        text_print(to, "\n%*s", (int)(2 * out->depth), "");
    level->filled = true;
    if (key && !level->list) {
        text_quoted(to, key);
        text_add(to, ": ");
    }
    return true;
}

static void open_level(tool_output *out, const char *key, bool list, bool table) {
    assert(out->depth < OUTPUT_DEPTH);
    if (out->json) {
        start_value(out, key);
        text_add(&out->text, list ? "[" : "{");
    } else if (table) {
        print_rows(out);
    } else if (!list && out->depth && out->levels[out->depth - 1].table) {
        add_row(out);
        out->in_row = true;
    }
    out->levels[out->depth++] = (struct level){.list = list, .table = table};
}

void out_object(tool_output *out, const char *key) {
    open_level(out, key, false, false);
}

void out_list(tool_output *out, const char *key) {
    open_level(out, key, true, false);
}

void out_table(tool_output *out, const char *key) {
    open_level(out, key, true, true);
}

void out_end(tool_output *out) {
    assert(out->depth);
    struct level level = out->levels[--out->depth];
    if (out->json) {
        if (level.filled && out->depth < 4 && !out->lines)
            text_print(&out->text, "\n%*s", (int)(2 * out->depth), "");
        text_add(&out->text, level.list ? "]" : "}");
        if (!out->depth)
            text_add(&out->text, "\n");
    } else if (out->in_row && !level.list) {
        out->in_row = false;
    } else if (level.table || !out->depth || out->levels[out->depth - 1].list) {
        print_rows(out);
    }
}

/* ---- JSON only ---- */

void json_object(tool_output *out, const char *key) {
    if (out->json)
        out_object(out, key);
}

void json_list(tool_output *out, const char *key) {
    if (out->json)
        out_list(out, key);
}

void json_end(tool_output *out) {
    if (out->json)
        out_end(out);
}

void json_text(tool_output *out, const char *key, const char *value) {
    if (start_value(out, key) && value)
        text_quoted(&out->text, value);
    else if (out->json)
        text_add(&out->text, "null");
}

void json_count(tool_output *out, const char *key, uint64_t value) {
    if (start_value(out, key))
        text_print(&out->text, "%llu", (unsigned long long)value);
}

void json_integer(tool_output *out, const char *key, int64_t value) {
    if (start_value(out, key))
        text_print(&out->text, "%lld", (long long)value);
}

void json_number(tool_output *out, const char *key, double value) {
    if (start_value(out, key))
        text_number(&out->text, value);
}

void json_boolean(tool_output *out, const char *key, bool value) {
    if (start_value(out, key))
        text_add(&out->text, value ? "true" : "false");
}

void json_null(tool_output *out, const char *key) {
    json_text(out, key, NULL);
}

void json_numbers(tool_output *out, const char *key, const double *values, uint32_t count) {
    if (!start_value(out, key))
        return;
    text_add(&out->text, "[");
    for (uint32_t i = 0; i < count; i++) {
        text_add(&out->text, i ? ", " : "");
        text_number(&out->text, values[i]);
    }
    text_add(&out->text, "]");
}

void json_vector(tool_output *out, const char *key, abut_vec3 value) {
    double values[3] = {value.x, value.y, value.z};
    json_numbers(out, key, values, 3);
}

void json_path(tool_output *out, const char *key, const char *path) {
    json_text(out, key, path);
    if (!out->json || text_is_utf8(path))
        return;
    tool_text name = {0}, bytes = {0};
    text_print(&name, "%s_bytes", key);
    for (const char *s = path; *s; s++)
        text_print(&bytes, "%02x", (unsigned char)*s);
    json_text(out, name.data, bytes.data);
}

/* ---- text and JSON ---- */

void fact_text(tool_output *out, const char *key, const char *value) {
    json_text(out, key, value);
    if (out->json)
        return;
    tool_text words = {0};
    text_safe(&words, value);
    add_fact(out, key, text_of(&words), false);
    text_free(&words);
}

void fact_path(tool_output *out, const char *key, const char *path) {
    if (out->json)
        json_path(out, key, path);
    else
        fact_text(out, key, path);
}

void fact_count(tool_output *out, const char *key, uint64_t value) {
    json_count(out, key, value);
    if (out->json)
        return;
    tool_text words = {0};
    text_grouped(&words, value);
    add_fact(out, key, text_of(&words), true);
    text_free(&words);
}

void fact_number(tool_output *out, const char *key, double value) {
    json_number(out, key, value);
    if (out->json)
        return;
    char words[32];
    snprintf(words, sizeof words, "%.6g", value);
    add_fact(out, key, words, true);
}

void fact_point(tool_output *out, const char *key, abut_vec3 point) {
    char words[POINT_WORDS];
    json_vector(out, key, point);
    print_fact(out, key, "%s", point_words(point, 6, words));
}

/* ---- text only ---- */

void print_line(tool_output *out, const char *format, ...) {
    if (out->json)
        return;
    print_rows(out);
    va_list list;
    va_start(list, format);
    text_print_list(&out->text, format, list);
    va_end(list);
    text_add(&out->text, "\n");
    out->begun = true;
}

void print_line_of(tool_output *out, const char *subject, const char *format, ...) {
    if (out->json)
        return;
    print_rows(out);
    tool_text words = {0}, name = {0};
    va_list list;
    va_start(list, format);
    text_print_list(&words, format, list);
    va_end(list);
    text_safe(&name, subject);
    text_print(&out->text, "%s%s%s: ", shade_on(out, SHADE_BOLD), text_of(&name), shade_off(out));
    text_wrapped(&out->text, text_of(&words), text_columns(text_of(&name)) + 2, 2 * INDENT,
                 out->width);
    text_add(&out->text, "\n");
    out->begun = true;
    text_free(&words);
    text_free(&name);
}

void print_fact(tool_output *out, const char *key, const char *format, ...) {
    if (out->json)
        return;
    tool_text words = {0};
    va_list list;
    va_start(list, format);
    text_print_list(&words, format, list);
    va_end(list);
    add_fact(out, key, text_of(&words), false);
    text_free(&words);
}

void answer(tool_run *tool, const char *format, ...) {
    tool_output *out = &tool->out;
    if (out->json || !tool->quiet)
        return;
    forget_rows(out);
    text_clear(&out->text);
    va_list list;
    va_start(list, format);
    text_print_list(&out->text, format, list);
    va_end(list);
    text_add(&out->text, "\n");
}

void answer_number(tool_run *tool, bool there, double number, const char *otherwise) {
    tool_text words = {0};
    text_number(&words, number);
    answer(tool, "%s", there ? text_of(&words) : otherwise);
}
