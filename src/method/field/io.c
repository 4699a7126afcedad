/* Public functions that read and write field files: choice of the format, opening and closing. */
#include "base/system.h"
#include "field/field.h"

/* ---- write ---- */

static abut_field_format format_by_extension(const char *path) {
    static const struct {
        const char *ending;
        abut_field_format format;
    } known[] = {{".abutf", ABUT_FIELD_FORMAT_ABUT},
                 {".vti", ABUT_FIELD_FORMAT_VTI},
                 {".npy", ABUT_FIELD_FORMAT_NPY},
                 {".raw", ABUT_FIELD_FORMAT_RAW},
                 {".dcache", ABUT_FIELD_FORMAT_DCACHE}};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof known / sizeof *known; i++)
        if (strcasecmp(dot, known[i].ending) == 0)
            return known[i].format;
    return ABUT_FIELD_FORMAT_AUTO;
}

abut_status abut_field_write(const abut_field *field, const char *path,
                             const abut_field_write_options *options) {
    abut_field_write_options ours = abut_field_write_options_default();
    if (!field || !path)
        return abuti_null(__func__, field ? "path" : "field");
    abut_status status = abuti_options_read(&ours, sizeof ours, options, "abut_field_write");
    if (status)
        return status;
    if ((unsigned)ours.format > ABUT_FIELD_FORMAT_DCACHE)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_field_write: options->format is %u; it must be an abut_field_format",
            (unsigned)ours.format);
    if (ours.format == ABUT_FIELD_FORMAT_AUTO)
        ours.format = format_by_extension(path);
    if (ours.format == ABUT_FIELD_FORMAT_AUTO)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the extension selects no field format; use .abutf, .vti, .npy, .raw "
                          "or .dcache, or set options->format",
                          path);
    abuti_sink sink;
    status = abuti_sink_open(&sink, field->context, path);
    if (status)
        return status;
    status = ours.format == ABUT_FIELD_FORMAT_ABUT
                 ? abuti_field_save(field, &sink, ours.plain)
                 : abuti_field_export(field, &sink, path, ours.format);
    if (!status)
        return abuti_sink_commit(&sink);
    abuti_sink_discard(&sink);
    return status;
}

/* ---- read ---- */

static abut_status check_options(const char *function, const abut_field_read_options *options,
                                 abut_field_read_options *ours) {
    *ours = abut_field_read_options_default();
    abut_status status = abuti_options_read(ours, sizeof *ours, options, function);
    return status ? status : abuti_check_length(function, "options->cell", ours->cell);
}

static abut_status load_and_close(abuti_source *source, const char *path,
                                  const abut_field_read_options *options, abut_field **field) {
    char name[320];
    abuti_escape(path ? path : "memory", name, sizeof name);
    size_t seen = abuti_source_fill(source, FIELD_MAGIC_BYTES);
    abut_status status;
    if (!seen && !source->failed)
        status = abuti_fail(ABUT_ERROR_FORMAT, "%s: is empty", name);
    else if (seen >= FIELD_MAGIC_BYTES && !memcmp(source->at, FIELD_MAGIC, FIELD_MAGIC_BYTES))
        status = abuti_field_restore(source, name, field);
    else if (seen >= 8 && !strncasecmp((const char *)source->at, "DISTCACH", 8))
        status = abuti_field_read_dcache(source, name, options, field);
    else
        status = abuti_fail(
            ABUT_ERROR_FORMAT,
            "%s: is not a field: it begins neither like an .abutf file nor like a .dcache file",
            name);
    abuti_source_close(source);
    return status;
}

abut_status abut_field_read(abut_context *context, const char *path,
                            const abut_field_read_options *options, abut_field **field) {
    abuti_source source;
    abut_field_read_options ours;
    if (!path || !field)
        return abuti_null(__func__, path ? "field" : "path");
    abut_status status = check_options("abut_field_read", options, &ours);
    if (!status)
        status = abuti_source_open(&source, abuti_context_of(context), path);
    return status ? status : load_and_close(&source, path, &ours, field);
}

abut_status abut_field_read_memory(abut_context *context, const void *data, size_t bytes,
                                   const char *name, const abut_field_read_options *options,
                                   abut_field **field) {
    abuti_source source;
    abut_field_read_options ours;
    if ((!data && bytes) || !field)
        return abuti_null(__func__, field ? "data" : "field");
    abut_status status = check_options("abut_field_read_memory", options, &ours);
    if (status)
        return status;
    abuti_source_memory(&source, abuti_context_of(context), data, bytes, name);
    return load_and_close(&source, name, &ours, field);
}
