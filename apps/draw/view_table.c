/* Tables of results in a page: rows with a point and an optional normal. Columns are found by
 * their names, x, y, z and nx, ny, nz; without a row of names the first three columns are the
 * point. Other columns with numbers are values of a row. */
#include "view.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 32, NAME_MAX = 24 };

typedef struct rows {
    char names[COLUMNS_MAX][NAME_MAX];
    size_t columns;          /* of the widest row */
    size_t place[3];         /* columns of the point */
    bool words[COLUMNS_MAX]; /* some cell is neither a number nor empty */
    double *numbers;         /* COLUMNS_MAX for each row; NaN if the cell is empty */
    size_t count, room;
} rows;

/* Commas, semicolons or tabs separate cells, or spaces if a line has none of these. */
static const char *separators_of(const char *line) {
    return strpbrk(line, ",;\t") ? ",;\t" : " ";
}

/* Copies the next cell without quotes and surrounding space. Returns the rest of the line, or
 * null at its end. */
static const char *next_cell(const char *line, const char *separators, char *cell, size_t bytes) {
    size_t used = 0;
    bool quoted = false;
    line += strspn(line, " ");
    for (; *line && *line != '\r' && *line != '\n' && (quoted || !strchr(separators, *line));
         line++)
        if (*line == '"')
            quoted = !quoted;
        else if (used + 1 < bytes)
            cell[used++] = *line;
    while (used && isspace((unsigned char)cell[used - 1]))
        used--;
    cell[used] = 0;
    if (*separators == ' ')
        line += strspn(line, " ");
    else if (*line && strchr(separators, *line))
        return line + 1;
    return *line && *line != '\r' && *line != '\n' ? line : NULL;
}

/* Parses the cells of a line as numbers; other cells are NaN, and marked unless they are empty. */
static size_t read_cells(const char *line, double *numbers, bool *words) {
    const char *separators = separators_of(line);
    size_t count = 0;
    for (; line && count < COLUMNS_MAX; count++) {
        char cell[64], *end;
        line = next_cell(line, separators, cell, sizeof cell);
        numbers[count] = strtod(cell, &end);
        words[count] = *end != 0;
        if (!*cell || *end)
            numbers[count] = NAN;
    }
    return count;
}

static size_t find_column(const rows *r, const char *name) {
    for (size_t k = 0; k < COLUMNS_MAX; k++)
        if (!strcmp(r->names[k], name))
            return k;
    return COLUMNS_MAX;
}

/* Parses a row of names and finds the columns of the point. */
static void read_names(rows *r, const char *line) {
    static const char *const names[3] = {"x", "y", "z"};
    const char *separators = separators_of(line);
    size_t found[3];
    for (size_t k = 0; line && k < COLUMNS_MAX; k++)
        line = next_cell(line, separators, r->names[k], NAME_MAX);
    for (size_t k = 0; k < 3; k++)
        found[k] = find_column(r, names[k]);
    if (found[0] < COLUMNS_MAX && found[1] < COLUMNS_MAX && found[2] < COLUMNS_MAX)
        memcpy(r->place, found, sizeof found);
}

static bool is_point(const rows *r, const double *numbers, size_t count) {
    for (size_t k = 0; k < 3; k++)
        if (r->place[k] >= count || !(fabs(numbers[r->place[k]]) <= ABUT_COORDINATE_MAX))
            return false;
    return true;
}

static bool has_no_place(const rows *r, const double *numbers, const bool *words, size_t count) {
    for (size_t k = 0; k < 3; k++)
        if (r->place[k] >= count || words[r->place[k]] || !isnan(numbers[r->place[k]]))
            return false;
    return true;
}

static void read_rows(tool_run *tool, const char *path, rows *r) {
    tool_lines lines;
    bool more, first = true;
    lines_open(tool, path, &lines);
    for (size_t k = 0; k < 3; k++)
        r->place[k] = k;
    for (lines_next(tool, &lines, &more); more; lines_next(tool, &lines, &more)) {
        double numbers[COLUMNS_MAX];
        bool words[COLUMNS_MAX];
        if (!lines.line[strspn(lines.line, " \t\r\n")] || lines.line[0] == '#')
            continue;
        size_t got = read_cells(lines.line, numbers, words);
        bool point = is_point(r, numbers, got), head = first && !point;
        first = false;
        if (head)
            read_names(r, lines.line);
        if (head || (!point && has_no_place(r, numbers, words, got)))
            continue;
        if (!point)
            tool_fail_with(tool, "format error",
                           "%s, line %zu: x, y and z must be numbers, in columns of these names or "
                           "in the first three columns",
                           path, lines.number);
        tool_grow(&r->numbers, r->count, &r->room, COLUMNS_MAX * sizeof *r->numbers);
        double *to = r->numbers + COLUMNS_MAX * r->count++;
        for (size_t k = 0; k < COLUMNS_MAX; k++) {
            to[k] = k < got ? numbers[k] : NAN;
            r->words[k] = r->words[k] || (k < got && words[k]);
        }
        r->columns = got > r->columns ? got : r->columns;
    }
    lines_close(&lines);
}

static abut_vec3 point_of(const rows *r, size_t row) {
    const double *n = r->numbers + COLUMNS_MAX * row;
    return (abut_vec3){n[r->place[0]], n[r->place[1]], n[r->place[2]]};
}

static double largest_side(const rows *r) {
    abut_box box = empty_box;
    for (size_t i = 0; i < r->count; i++)
        box_add(&box, point_of(r, i));
    return box_longest(&box);
}

/* Rows with a normal are arrows, others points. */
static void add_rows(tool_view *view, const char *name, const rows *r, double size) {
    static const abut_colour red = {0.78f, 0.12f, 0.1f, 1};
    const size_t normal[3] = {find_column(r, "nx"), find_column(r, "ny"), find_column(r, "nz")};
    bool normals = normal[0] < COLUMNS_MAX && normal[1] < COLUMNS_MAX && normal[2] < COLUMNS_MAX;
    abut_vec3 *ends = tool_array(2 * r->count, sizeof *ends);
    double *values = tool_array(r->columns * r->count + 1, sizeof *values);
    abut_colour *colours = tool_array(r->count, sizeof *colours);
    view_column columns[COLUMNS_MAX];
    size_t facts = 0;
    for (size_t i = 0; i < r->count; i++) {
        const double *n = r->numbers + COLUMNS_MAX * i;
        abut_vec3 p = point_of(r, i);
        ends[i] = ends[r->count + i] = p;
        if (normals && isfinite(n[normal[0]] + n[normal[1]] + n[normal[2]]))
            ends[r->count + i] =
                vec_along(p, 0.1 * size, (abut_vec3){n[normal[0]], n[normal[1]], n[normal[2]]});
        colours[i] = red;
    }
    for (size_t k = 0; k < r->columns; k++) {
        double *to = values + facts * r->count;
        if (k == r->place[0] || k == r->place[1] || k == r->place[2] || r->words[k])
            continue;
        for (size_t i = 0; i < r->count; i++)
            to[i] = r->numbers[COLUMNS_MAX * i + k];
        columns[facts++] = (view_column){r->names[k][0] ? r->names[k] : "value", to};
    }
    view_arrows(view, name, ends, ends + r->count, colours, r->count, columns, facts);
}

void view_table(tool_run *tool, const char *path, const char *name, double size) {
    rows r = {0};
    read_rows(tool, path, &r);
    if (r.count) {
        add_rows(tool->view, name, &r, size > 0 ? size : largest_side(&r));
        return;
    }
    /* A valid result: nothing was found. But it may be the wrong file. */
    tool_text words = {0};
    text_safe(&words, name);
    text_add(&words, ": no rows");
    view_note(tool->view, (abut_colour){0.6f, 0.6f, 0.6f, 1}, words.data);
    tool_log(tool, ABUT_LOG_WARNING, words.data);
}
