/* Fields from command lines: what the commands about them share. */
#include "tool.h"

#include <string.h>
#include <sys/stat.h>

int field_build(tool_run *tool, const tool_arguments *arguments, abut_mesh *mesh,
                abut_field_options *options, abut_field **field) {
    const tool_given *cells = option_given(arguments, "cells"),
                     *cell = option_given(arguments, "cell"),
                     *margin = option_given(arguments, "margin"),
                     *band = option_given(arguments, "band"),
                     *sign = option_given(arguments, "sign");
    if (cells && cell)
        return tool_refuse(tool, "--cells and --cell say the same in two ways; give one of them");
    if (cells && cells->counts[0] < 2)
        return tool_refuse(tool, "--cells needs at least 2");
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
    int code = device_open(tool, arguments, &options->device);
    if (code)
        return code;
    abut_status status = abut_field_create(mesh, options, field);
    abut_device_destroy(options->device);
    options->device = NULL;
    return status ? tool_fail(tool, status) : 0;
}

bool field_is_file(const char *path) {
    unsigned char first[8] = {0};
    struct stat about;
    /* what is read from a pipe is gone */
    bool regular = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    FILE *file = regular ? fopen(path, "rb") : NULL;
    if (!file)
        return word_in(path_ending(path), "abutf|dcache");
    size_t got = fread(first, 1, sizeof first, file);
    fclose(file);
    return got == sizeof first &&
           (memcmp(first, "\211abutf\r\n", 8) == 0 || memcmp(first, "DISTCACH", 8) == 0);
}
