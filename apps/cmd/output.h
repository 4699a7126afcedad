/* Text and output of the command: growing strings, and results as text or as JSON. A part of
 * tool.h, which includes it. */
#ifndef ABUT_TOOL_OUTPUT_H
#define ABUT_TOOL_OUTPUT_H

#include "vectors.h"

#include <abut/abut.h>

#include <stdarg.h>
#include <stdio.h>

#if defined(__GNUC__)
#define TOOL_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define TOOL_PRINTF(format_index, first)
#endif

/* ---- text.c: bytes, numbers and words ---- */

/* Memory of the run, set to 0. Nothing has to free it: the process ends after the run. Without
 * memory the run ends with an error. Used by the main thread only. */
void *tool_alloc(size_t bytes);
void *tool_array(size_t count, size_t element_bytes);
void *tool_resize(void *memory, size_t count, size_t element_bytes); /* more is not set to 0 */
char *tool_copy(const char *string);
/* Frees memory earlier, for loops over frames; null is allowed. */
void tool_free(void *memory);
/* Grows the array at the address `list`, which is null at first, for one more element. */
void tool_grow(void *list, size_t count, size_t *room, size_t element_bytes);
/* Ends the run with an error. */
_Noreturn void tool_exhausted(void);

/* A growing string in memory of the run. */
typedef struct tool_text {
    char *data; /* terminated by 0; null before the first addition */
    size_t used, room;
} tool_text;

/* The string; "" before the first addition. */
const char *text_of(const tool_text *text);

void text_bytes(tool_text *to, const char *bytes, size_t count);
/* FNV-1a of 64 bits. */
uint64_t hash_bytes(const char *bytes, size_t count);
/* Adds a number as little-endian bytes. */
void text_little(tool_text *to, uint64_t bits, size_t bytes);
void text_add(tool_text *to, const char *string);
void text_print(tool_text *to, const char *format, ...) TOOL_PRINTF(2, 3);
void text_print_list(tool_text *to, const char *format, va_list list);
void text_clear(tool_text *to); /* keeps the memory */
void text_free(tool_text *to);
/* Adds text with bytes that are not printable UTF-8 as \xNN, as the error messages of the
 * library do: control characters, and those that change the writing direction. Every name that
 * is printed is escaped by this function. */
void text_safe(tool_text *to, const char *string);
/* The same for a whole text of the command: newlines, tabs and the escape sequences of
 * shade_on() are kept. */
void text_terminal(tool_text *to, const char *bytes, size_t count);
/* Adds a text cell of comma-separated values, escaped by text_safe(), in quotes if necessary. A
 * cell that a spreadsheet could read as a formula gets a leading apostrophe. */
void text_field(tool_text *to, const char *string);
/* Adds a JSON string with its quotes. All characters are preserved; bytes that are not UTF-8
 * become \xNN in the text. */
void text_quoted(tool_text *to, const char *string);
/* The same for text that a page shows: escaped by text_safe() first. */
void text_shown(tool_text *to, const char *string);
/* Adds text escaped for HTML. */
void text_html(tool_text *to, const char *words);
/* Returns whether the whole string is valid UTF-8. */
bool text_is_utf8(const char *string);
/* Columns of valid UTF-8 on a terminal, one for each character. */
size_t text_columns(const char *string);
/* Adds words with line breaks at spaces, so that no line exceeds `width`. Lines after the first
 * start with `indent` spaces; the first starts at column `column`. */
void text_wrapped(tool_text *to, const char *words, size_t column, size_t indent, size_t width);
/* Adds a string, padded with spaces to `columns`. */
void text_padded(tool_text *to, const char *string, size_t columns);

/* The shortest of %.15g to %.17g that reads back as the same double; "null" if not finite. */
void text_number(tool_text *to, double value);
/* Formats "x, y, z" with `digits` significant digits. Coordinates of 1000 or more have an
 * additional digit for each digit before the point, so that bodies far from the origin keep
 * their resolution. Returns `words`. */
enum { POINT_WORDS = 96 };
const char *point_words(abut_vec3 point, int digits, char words[POINT_WORDS]);
/* Formats 1234567 as 1,234,567. */
void text_grouped(tool_text *to, uint64_t value);

/* Reads up to `most` finite numbers separated by commas. Returns their number, or 0 on a syntax
 * error. */
size_t read_numbers(const char *string, double *numbers, size_t most);
/* Reads a whole number from 1 to UINT32_MAX. */
bool read_count(const char *string, uint32_t *count);
/* Reads #rgb, #rrggbb, #rrggbbaa (the # is optional, since shells treat it as a comment) or a
 * name. */
bool read_colour(const char *string, abut_colour *colour);

/* Edit distance of two words: insertions, deletions, substitutions and transpositions. */
size_t word_distance(const char *a, const char *b);
/* Keeps in *best the closest candidate so far that is close enough to be a misspelling of
 * `wrong`; start with *best null and *distance 0. */
void word_closer(const char *wrong, const char *offered, const char **best, size_t *distance);
/* Returns whether `word` is one of "a|b|c" or "a b c". */
bool word_in(const char *word, const char *choices);
/* A path without its folders. */
const char *path_name(const char *path);
/* The extension of a path in lower case without its dot, in a static buffer; "" if there is
 * none. */
const char *path_ending(const char *path);

struct tool_run;

/* ---- output.c: results as a table of text or as JSON ---- */

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

/* All output is kept in `text` until output_flush(). Rows of text wait until their table is
 * complete and the widths of its columns are known. */
typedef struct tool_output {
    bool json;
    bool lines;    /* JSON: each top-level object on one line */
    bool colour;   /* escape sequences are supported */
    bool unicode;  /* the terminal supports UTF-8 */
    bool diverted; /* to standard error, since a file is written to standard output */
    size_t width;  /* of the terminal; 0 = no line breaks */
    tool_text text;
    bool begun; /* some text was printed */
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
/* Writes pending output to standard output, or to standard error if diverted. Returns false
 * after a failure. */
bool output_flush(tool_output *out);

/* Structure. `key` is null at the top level and in lists. In text output, a list of objects
 * opened with out_table is a table: each object is a row, its members are cells, their keys the
 * column names. */
void out_object(tool_output *out, const char *key);
void out_list(tool_output *out, const char *key);
void out_table(tool_output *out, const char *key);
void out_end(tool_output *out);
/* Sets the shade of the next cell. */
void out_shade(tool_output *out, tool_shade shade);

/* Results in text and JSON. Text shows underscores of the key as spaces. */
void fact_text(tool_output *out, const char *key, const char *value);
void fact_count(tool_output *out, const char *key, uint64_t value);
void fact_number(tool_output *out, const char *key, double value);
void fact_path(tool_output *out, const char *key, const char *path);
void fact_point(tool_output *out, const char *key, abut_vec3 point); /* text: 6 digits or more */

/* JSON only: no effect in text output. Null for text without a value and for numbers that are not
 * finite. */
void json_object(tool_output *out, const char *key);
void json_list(tool_output *out, const char *key);
void json_end(tool_output *out);
void json_text(tool_output *out, const char *key, const char *value);
void json_count(tool_output *out, const char *key, uint64_t value);
void json_integer(tool_output *out, const char *key, int64_t value);
void json_number(tool_output *out, const char *key, double value);
void json_boolean(tool_output *out, const char *key, bool value);
void json_null(tool_output *out, const char *key);
void json_numbers(tool_output *out, const char *key, const double *values, uint32_t count);
void json_vector(tool_output *out, const char *key, abut_vec3 value);
/* A path; if it is not UTF-8, also "<key>_bytes" in hexadecimal. */
void json_path(tool_output *out, const char *key, const char *path);

/* Text only: no effect with --json. Words are printed unchanged, so that file names must be
 * escaped by text_safe() or passed as the subject. */
void print_line(tool_output *out, const char *format, ...) TOOL_PRINTF(2, 3); /* a line */
/* Prints "SUBJECT: words" with the subject in bold. */
void print_line_of(tool_output *out, const char *subject, const char *format, ...)
    TOOL_PRINTF(3, 4);
/* Adds a cell to the open row, otherwise a labelled value. */
void print_fact(tool_output *out, const char *key, const char *format, ...) TOOL_PRINTF(3, 4);
/* The result on one line, which --quiet prints instead of all other text. Call it last. */
void answer(struct tool_run *tool, const char *format, ...) TOOL_PRINTF(2, 3);
/* The same for a number with all its digits, or a word if there is none. */
void answer_number(struct tool_run *tool, bool there, double number, const char *otherwise);
/* Escape sequences that begin and end a shade; "" without colours. */
const char *shade_on(const tool_output *out, tool_shade shade);
const char *shade_off(const tool_output *out);

#endif
