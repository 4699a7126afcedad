/* Tables of results in a page: rows that begin with a point, and may go on with a normal. What
 * commands write by --out is read, and any file of numbers whose first three columns are x, y, z.
 */
#include "view.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MOST = 16 };

typedef struct rows {
    char names[COLUMNS_MOST][24];
    size_t columns;  /* that are numbers in all rows */
    double *numbers; /* COLUMNS_MOST a row */
    size_t count, room;
} rows;

static bool separates(char c) {
    return c == ',' || c == ';' || c == ' ' || c == '\t';
}

/* The numbers that a line begins with. */
static size_t leading(const char *line, double *numbers) {
    size_t count = 0;
    while (count < COLUMNS_MOST) {
        char *end;
        numbers[count] = strtod(line, &end);
        if (end == line || (*end && !separates(*end) && !isspace((unsigned char)*end)))
            break;
        count++;
        line = end;
        while (separates(*line))
            line++;
    }
    return count;
}

static void read_names(rows *r, const char *line) {
    for (size_t k = 0; k < COLUMNS_MOST && *line; k++) {
        size_t length = strcspn(line, ",;\t\r\n");
        snprintf(r->names[k], sizeof r->names[k], "%.*s", (int)length, line);
        line += length + (line[length] != 0);
    }
}

static int read_rows(tool_run *tool, const char *path, rows *r) {
    tool_lines lines;
    bool more = false, first = true;
    int code = lines_open(tool, path, &lines);
    while (!code && !(code = lines_next(tool, &lines, &more)) && more) {
        double numbers[COLUMNS_MOST];
        size_t got = leading(lines.line, numbers);
        if (!lines.line[strspn(lines.line, " \t\r\n")] || lines.line[0] == '#')
            continue;
        bool point = got >= 3 && isfinite(numbers[0]) && isfinite(numbers[1]) &&
                     isfinite(numbers[2]) && fabs(numbers[0]) <= ABUT_COORDINATE_MAX &&
                     fabs(numbers[1]) <= ABUT_COORDINATE_MAX &&
                     fabs(numbers[2]) <= ABUT_COORDINATE_MAX;
        if (!point && first) {
            read_names(r, lines.line);
            first = false;
            continue;
        }
        first = false;
        if (!point) {
            code = tool_fail_with(tool, "format error",
                                  "%s, line %zu: a row must begin with three numbers, x, y and z",
                                  path, lines.number);
            break;
        }
        r->columns = r->count && r->columns < got ? r->columns : got;
        if (!tool_grow(&r->numbers, r->count, &r->room, COLUMNS_MOST * sizeof *r->numbers)) {
            code = tool_fail_with(tool, "out of memory", "there is no memory for the table");
            break;
        }
        memcpy(r->numbers + COLUMNS_MOST * r->count++, numbers, got * sizeof *numbers);
    }
    lines_close(&lines);
    return code;
}

static double largest_side(const rows *r) {
    double size = 0;
    for (size_t k = 0; k < 3; k++) {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (size_t i = 0; i < r->count; i++) {
            low = fmin(low, r->numbers[COLUMNS_MOST * i + k]);
            high = fmax(high, r->numbers[COLUMNS_MOST * i + k]);
        }
        size = fmax(size, high - low);
    }
    return size;
}

/* Rows with a normal are arrows along it, others stand for themselves. */
static bool add_rows(tool_view *view, const char *name, const rows *r, double size) {
    bool normals = r->columns >= 6 && strstr(r->names[3], "n") && strstr(r->names[3], "x");
    size_t facts = r->columns > 3 ? r->columns - 3 : 0;
    abut_vec3 *ends = malloc(2 * r->count * sizeof *ends);
    double *values = malloc((facts * r->count + 1) * sizeof *values);
    view_column columns[COLUMNS_MOST];
    static const abut_colour red = {0.78f, 0.12f, 0.1f, 1};
    abut_colour *colours = malloc(r->count * sizeof *colours);
    bool fine = ends && values && colours;
    for (size_t i = 0; fine && i < r->count; i++) {
        const double *n = r->numbers + COLUMNS_MOST * i;
        ends[i] = ends[r->count + i] = (abut_vec3){n[0], n[1], n[2]};
        if (normals)
            ends[r->count + i] = (abut_vec3){n[0] + 0.1 * size * n[3], n[1] + 0.1 * size * n[4],
                                             n[2] + 0.1 * size * n[5]};
        colours[i] = red;
        for (size_t k = 0; k < facts; k++)
            values[k * r->count + i] = n[3 + k];
    }
    for (size_t k = 0; fine && k < facts; k++)
        columns[k] =
            (view_column){r->names[3 + k][0] ? r->names[3 + k] : "value", values + k * r->count};
    if (fine)
        view_arrows(view, name, ends, ends + r->count, colours, r->count, columns, facts);
    free(ends);
    free(values);
    free(colours);
    return fine;
}

int view_table(tool_run *tool, const char *path, const char *name, double size) {
    rows r = {0};
    int code = read_rows(tool, path, &r);
    if (!code && !r.count)
        code = tool_fail_with(tool, "format error", "%s: there is no row in it", path);
    if (!code && !add_rows(tool->view, name, &r, size > 0 ? size : largest_side(&r)))
        code = tool_fail_with(tool, "out of memory", "there is no memory for the page");
    free(r.numbers);
    return code;
}
