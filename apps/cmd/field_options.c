/* Builds signed distance fields from the options of the command line. */
#include "tool.h"

#include <string.h>
#include <sys/stat.h>

void field_options(tool_run *tool, const tool_arguments *arguments, abut_field_options *options) {
    const tool_given *cells = option_given(arguments, "cells"),
                     *cell = option_given(arguments, "cell"),
                     *margin = option_given(arguments, "margin"),
                     *band = option_given(arguments, "band"),
                     *sign = option_given(arguments, "sign");
    if (cells && cell)
        tool_refuse(tool, "--cells and --cell cannot be combined; use one of them");
    option_range(tool, cells, 2, UINT32_MAX, "cells");
    if (cells)
        options->cells = cells->counts[0];
    if (cell)
        options->cell = cell->numbers[0];
    if (margin)
        options->margin = margin->numbers[0];
    if (band)
        options->band = band->numbers[0];
    if (sign && strcmp(sign->words, "auto") != 0)
        options->sign = strcmp(sign->words, "normal") == 0 ? ABUT_SIGN_NORMAL : ABUT_SIGN_WINDING;
    if (option_given(arguments, "cache"))
        options->cache = "";
}

void field_build(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                 abut_field_options *options, field_times *times, abut_field **field) {
    double begun = seconds_now();
    field_options(tool, arguments, options);
    options->device = device_open(tool, arguments);
    ensure(abut_field_create(mesh, options, field));
    if (times)
        *times = (field_times){.ms = 1e3 * (seconds_now() - begun)};
    /* A field from the disk cache is read, not built, the second time. */
    if (times && options->device && !options->cache && option_given(arguments, "time")) {
        abut_field_destroy(*field);
        *field = NULL;
        times->first_ms = times->ms;
        begun = seconds_now();
        ensure(abut_field_create(mesh, options, field));
        times->ms = 1e3 * (seconds_now() - begun);
    }
    abut_device_destroy(options->device);
    options->device = NULL;
}

/* ---- reading a field or a mesh ---- */

static bool begins_as_field(const char *bytes, size_t count) {
    return count >= 8 && memcmp(bytes, "\211abutf\r\n", 8) == 0;
}

static bool is_field_file(const char *path) {
    char first[8] = {0};
    struct stat about;
    /* input from a pipe cannot be read again */
    bool regular = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    FILE *file = regular ? fopen(path, "rb") : NULL;
    if (!file)
        return word_in(path_ending(path), "abutf");
    size_t got = fread(first, 1, sizeof first, file);
    fclose(file);
    return begins_as_field(first, got);
}

bool stream_read(FILE *file, tool_text *bytes) {
    char part[65536];
    size_t got;
    while (!tool_cancelled() && (got = fread(part, 1, sizeof part, file)) > 0)
        text_bytes(bytes, part, got);
    return !ferror(file) && !tool_cancelled();
}

void input_read(tool_run *tool, tool_text *bytes) {
    if (!stream_read(stdin, bytes))
        tool_fail_with(tool, "file error", "standard input could not be read");
}

void field_or_mesh(tool_run *tool, const char *path, abut_field **field, abut_mesh **mesh) {
    progress_start(tool->progress, path);
    if (strcmp(path, "-") == 0) {
        tool_text bytes = {0};
        input_read(tool, &bytes);
        if (begins_as_field(text_of(&bytes), bytes.used))
            ensure(abut_field_read_memory(tool->context, bytes.data, bytes.used, "-", field));
        else
            ensure(abut_mesh_read_memory(tool->context, bytes.data, bytes.used, "-", NULL, mesh));
    } else if (is_field_file(path)) {
        ensure(abut_field_read(tool->context, path, field));
    } else {
        ensure(tool_read(tool, path, NULL, mesh));
    }
}
