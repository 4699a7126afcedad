/* Tables of results: comma-separated values for spreadsheets, PLY for point viewers, NPY for
 * NumPy. Each format is only a header and numbers.
 *
 * NPY 1.0: the bytes 93 'NUMPY' 1 0, the length of the header as 16 bits, the header as a Python
 * dictionary, padded with blanks and a newline to a multiple of 64, then the array. */
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static void add_double(tool_text *to, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    text_little(to, bits, sizeof bits);
}

/* ---- the three formats ---- */

static bool is_whole(const tool_column *column) {
    return column->kind != COLUMN_REAL;
}

static void add_csv(tool_text *to, const tool_table *table, const abut_scene_body *bodies) {
    double values[TABLE_COLUMNS];
    assert(table->column_count <= TABLE_COLUMNS);
    for (size_t k = 0; k < table->column_count; k++)
        text_print(to, "%s%s", k ? "," : "", table->columns[k].name);
    text_add(to, "\n");
    for (size_t i = 0; i < table->row_count; i++) {
        table->row(table->data, i, values);
        for (size_t k = 0; k < table->column_count; k++) {
            const tool_column *column = &table->columns[k];
            text_add(to, k ? "," : "");
            if (isnan(values[k]))
                continue;
            if (column->kind == COLUMN_NAME)
                text_field(to, bodies[(size_t)values[k]].name);
            else if (column->kind == COLUMN_WORD)
                text_add(to, column->name_of((unsigned)values[k]));
            else if (column->kind == COLUMN_WHOLE)
                text_print(to, "%.0f", values[k]);
            else
                text_number(to, values[k]);
        }
        text_add(to, "\n");
    }
}

static void add_ply(tool_text *to, const tool_table *table) {
    double values[TABLE_COLUMNS];
    text_print(to, "ply\nformat binary_little_endian 1.0\ncomment abut %s\nelement vertex %zu\n",
               abut_version(), table->row_count);
    for (size_t k = 0; k < table->column_count; k++)
        text_print(to, "property %s %s\n", is_whole(&table->columns[k]) ? "int" : "double",
                   table->columns[k].name);
    text_add(to, "end_header\n");
    for (size_t i = 0; i < table->row_count; i++) {
        table->row(table->data, i, values);
        for (size_t k = 0; k < table->column_count; k++)
            if (!is_whole(&table->columns[k]))
                add_double(to, values[k]);
            else
                text_little(to, (uint32_t)(int32_t)(isnan(values[k]) ? -1 : values[k]), 4);
    }
}

static void add_npy(tool_text *to, const tool_table *table) {
    enum { HEAD = 128 }; /* including everything before the array */
    double values[TABLE_COLUMNS];
    char head[HEAD - 10];
    int used = snprintf(head, sizeof head,
                        "{'descr': '<f8', 'fortran_order': False, 'shape': (%zu, %zu), }",
                        table->row_count, table->column_count);
    memset(head + used, ' ', sizeof head - (size_t)used);
    head[sizeof head - 1] = '\n';
    text_bytes(to, "\x93NUMPY\x01\x00", 8);
    text_little(to, sizeof head, 2);
    text_bytes(to, head, sizeof head);
    for (size_t i = 0; i < table->row_count; i++) {
        table->row(table->data, i, values);
        for (size_t k = 0; k < table->column_count; k++)
            add_double(to, is_whole(&table->columns[k]) && isnan(values[k]) ? -1 : values[k]);
    }
}

/* ---- files ---- */

void table_put_bodies(tool_run *tool, const char *path, const tool_table *table,
                      const abut_scene_body *bodies) {
    tool_text text = {0};
    if (!path) {
        if (!tool->out.json)
            add_csv(&tool->out.text, table, bodies);
        return;
    }
    const char *ending = path_ending(path);
    if (strcmp(ending, "npy") == 0)
        add_npy(&text, table);
    else if (strcmp(ending, "ply") == 0)
        add_ply(&text, table);
    else
        add_csv(&text, table, bodies);
    ensure(abut_context_write_file(tool->context, tool_target(tool, path), text.data, text.used));
}

void table_write(tool_run *tool, const char *path, const tool_table *table) {
    table_put_bodies(tool, path, table, NULL);
}

const char *table_boolean(unsigned value) {
    return value ? "true" : "false";
}

void table_vector(double *values, abut_vec3 v) {
    values[0] = v.x;
    values[1] = v.y;
    values[2] = v.z;
}
