/* Text and output of the command: strings that grow, facts for people and for programs. A part of
 * tool.h, which includes it. */
#ifndef ABUT_TOOL_OUTPUT_H
#define ABUT_TOOL_OUTPUT_H

#include <abut/abut.h>

#include <stdarg.h>
#include <stdio.h>

#if defined(__GNUC__)
#define TOOL_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define TOOL_PRINTF(format_index, first)
#endif

/* ---- text.c: bytes, numbers and words ---- */

/* A string that grows. `failed` is set when memory ran out; then nothing more is added. */
typedef struct tool_text {
    char *data; /* always ends with 0 once something was added; null before */
    size_t used, room;
    bool failed;
} tool_text;

/* Makes room for one more in the array that `list` is the address of, which is null to begin with.
 * False where memory runs out. */
bool tool_grow(void *list, size_t count, size_t *room, size_t element_bytes);

void text_bytes(tool_text *to, const char *bytes, size_t count);
/* Adds a number as bytes, the lowest first on any machine. */
void text_little(tool_text *to, uint64_t bits, size_t bytes);
void text_add(tool_text *to, const char *string);
void text_print(tool_text *to, const char *format, ...) TOOL_PRINTF(2, 3);
void text_print_list(tool_text *to, const char *format, va_list list);
void text_clear(tool_text *to); /* keeps the memory */
void text_free(tool_text *to);
/* Adds text with what is not printable UTF-8 as \xNN, as the library's error sentences do: control
 * characters, and those that change the direction of writing. Every name that a user reads goes
 * through here. */
void text_safe(tool_text *to, const char *string);
/* The same for a whole text of ours: ends of lines, tabs and the colours of shade_on() stay. */
void text_terminal(tool_text *to, const char *bytes, size_t count);
/* Adds a text cell of comma-separated values, through text_safe() and in quotes if it needs them.
 * An apostrophe is put before a cell that a spreadsheet could read as a formula. */
void text_field(tool_text *to, const char *string);
/* Adds a JSON string with its quotes. Its reader gets all characters back; bytes that are not UTF-8
 * become \xNN in the text. */
void text_quoted(tool_text *to, const char *string);
/* The same for text that a page shows: through text_safe() first. */
void text_shown(tool_text *to, const char *string);
/* Adds words as they stand in a page. */
void text_html(tool_text *to, const char *words);
/* Whether all of a string is UTF-8. */
bool text_is_utf8(const char *string);
/* Columns that valid UTF-8 takes on a terminal, one a character. */
size_t text_columns(const char *string);
/* Adds words, broken at spaces so that no line passes `width`; lines after the first start with
 * `indent` spaces, and the first is taken to stand at column `column` already. */
void text_wrapped(tool_text *to, const char *words, size_t column, size_t indent, size_t width);
/* Adds a string and then spaces up to `columns`. */
void text_padded(tool_text *to, const char *string, size_t columns);

/* The shortest of %.15g to %.17g that reads back as the same double; "null" if not finite. */
void text_number(tool_text *to, double value);
/* "x, y, z" for people, each to `digits` digits; where a coordinate is 1000 or more, each digit
 * before its point is one more, so that a part far from the origin is told as finely. Returns
 * `words`. */
enum { POINT_WORDS = 96 };
const char *point_words(abut_vec3 point, int digits, char words[POINT_WORDS]);
/* 1234567 as 1,234,567. */
void text_grouped(tool_text *to, uint64_t value);

/* Reads up to `most` finite numbers separated by commas; returns how many, 0 where it is not so. */
size_t read_numbers(const char *string, double *numbers, size_t most);
/* Reads a whole number from 1 to UINT32_MAX. */
bool read_count(const char *string, uint32_t *count);
/* Reads #rgb, #rrggbb, #rrggbbaa (the # may be missing: shells take it for a comment) or a name. */
bool read_colour(const char *string, abut_colour *colour);

/* How far two words are apart in insertions, deletions, exchanges and swaps of letters. */
size_t word_distance(const char *a, const char *b);
/* Keeps in *best the closest word offered so far that is close enough to be a typing error for
 * `wrong`; start with *best null and *distance 0. */
void word_closer(const char *wrong, const char *offered, const char **best, size_t *distance);
/* Whether `word` is one of "a|b|c". */
bool word_in(const char *word, const char *choices);
/* The ending of a path in lower case without its dot, in a static buffer; "" where it has none. */
const char *path_ending(const char *path);

struct tool_run;

/* ---- output.c: facts for people as a table, for programs as JSON ---- */

typedef enum tool_shade {
    SHADE_PLAIN,
    SHADE_BOLD,
    SHADE_DIM,
    SHADE_GOOD,
    SHADE_WARN,
    SHADE_BAD
} tool_shade;

#define OUTPUT_DEPTH 8
#define OUTPUT_COLUMNS 12

typedef struct tool_cell {
    char *words; /* owned */
    tool_shade shade;
    bool number; /* aligned to the right */
} tool_cell;

typedef struct tool_row {
    tool_cell cells[OUTPUT_COLUMNS];
    uint32_t count;
} tool_row;

/* Everything is kept in `text` until output_flush(). Facts of people wait in rows until their
 * table is complete and the widths of its columns are known. */
typedef struct tool_output {
    bool json;
    bool lines;    /* JSON: each object of the top on a line of its own */
    bool colour;   /* escape sequences are welcome */
    bool unicode;  /* the terminal's character set */
    bool diverted; /* to standard error, since a file goes to standard output */
    size_t width;  /* of the terminal; 0 = never break lines */
    tool_text text;
    bool begun; /* something was said to people already */
    int error;  /* errno of the first write to standard output that failed */
    uint32_t depth;
    struct level {
        bool list, table, filled;
    } levels[OUTPUT_DEPTH];
    tool_row *rows; /* the table that is being filled */
    size_t row_count, row_room;
    const char *heads[OUTPUT_COLUMNS];
    bool in_row;
    tool_shade next;
} tool_output;

void output_start(tool_output *out, bool json);
/* Writes what there is to standard output, or error where diverted; false once that has failed. */
bool output_flush(tool_output *out);
void output_free(tool_output *out);

/* Structure. `key` is null at the top and in lists. A list of objects is a table for people when
 * opened with out_table: each object is a row, its facts are the cells, their keys the heads. */
void out_object(tool_output *out, const char *key);
void out_list(tool_output *out, const char *key);
void out_table(tool_output *out, const char *key);
void out_end(tool_output *out);
/* The shade of the next cell. */
void out_shade(tool_output *out, tool_shade shade);

/* Facts, for both. People see underscores of the key as spaces. */
void fact_text(tool_output *out, const char *key, const char *value);
void fact_count(tool_output *out, const char *key, uint64_t value);
void fact_number(tool_output *out, const char *key, double value);
void fact_path(tool_output *out, const char *key, const char *path);

/* For programs only: nothing happens when people read. */
void json_text(tool_output *out, const char *key, const char *value);
void json_count(tool_output *out, const char *key, uint64_t value);
void json_integer(tool_output *out, const char *key, int64_t value);
void json_number(tool_output *out, const char *key, double value);
void json_boolean(tool_output *out, const char *key, bool value);
void json_null(tool_output *out, const char *key);
void json_numbers(tool_output *out, const char *key, const double *values, uint32_t count);
void json_vector(tool_output *out, const char *key, abut_vec3 value);
/* A path; one that is not UTF-8 is also given as "<key>_bytes" in hexadecimal. */
void json_path(tool_output *out, const char *key, const char *path);

/* For people only: nothing happens with --json. The words go out as they are, so pass file names
 * through text_safe() or as the subject. */
void say(tool_output *out, const char *format, ...) TOOL_PRINTF(2, 3); /* a line */
/* "SUBJECT: words" with the subject bold. */
void say_of(tool_output *out, const char *subject, const char *format, ...) TOOL_PRINTF(3, 4);
/* A cell of the open row, else a labelled fact. */
void say_fact(tool_output *out, const char *key, const char *format, ...) TOOL_PRINTF(3, 4);
/* The bare answer, one line: what people see instead of all that was said before, where they asked
 * for quiet. Comes last. */
void answer(struct tool_run *tool, const char *format, ...) TOOL_PRINTF(2, 3);
/* Opens and closes a shade inside words that are being made; "" without colours. */
const char *shade_on(const tool_output *out, tool_shade shade);
const char *shade_off(const tool_output *out);

#endif
