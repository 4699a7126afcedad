/* Reader for the text format of distance fields of Sundholm (2010, section 6.2.6), .dcache.
 *
 * For each field: DISTCACHE, the number of cells, the cells along each axis, field thickness and
 * grid thickness, the distances, the number of sampling points, and a point and its normal for
 * each. The file has no position and size of the grid, so the caller gives them. Distances are read
 * with x fastest. Sampling points are skipped.
 */
#include "field/field.h"

#include "io/files.h"

typedef struct dcache_head {
    int64_t cells, count[3];
    double thickness[2]; /* of the field and of the grid */
} dcache_head;

static abut_status skip_to_word(abuti_reader *reader, const char *where) {
    return abuti_text_space(reader) ? ABUT_OK : abuti_read_fail_end(reader, where);
}

static abut_status read_count(abuti_reader *reader, const char *what, int64_t *value) {
    abut_status status = skip_to_word(reader, "in the head of a field");
    status = status ? status : abuti_text_integer(reader, what, value);
    if (!status && *value < 0)
        status = abuti_read_fail(reader, "%s is negative", what);
    return status;
}

static abut_status read_number(abuti_reader *reader, const char *what, double *value) {
    abut_status status = skip_to_word(reader, what);
    return status ? status : abuti_text_number(reader, what, value);
}

static abut_status read_dcache_head(abuti_reader *reader, dcache_head *h) {
    static const char *const sides[] = {"the width of the grid", "the height of the grid",
                                        "the depth of the grid"};
    const char *word;
    size_t length = abuti_text_word(reader, &word);
    if (!abuti_text_is(word, length, "distcache"))
        return abuti_read_fail(reader, "a field must begin with DISTCACHE");
    if (abuti_text_blanks(reader, false) && abuti_text_peek(reader) == '%')
        abuti_text_skip_line(reader);
    abut_status status = read_count(reader, "the number of cells", &h->cells);
    for (int axis = 0; axis < 3 && !status; axis++)
        status = read_count(reader, sides[axis], &h->count[axis]);
    status = status ? status : read_number(reader, "the field thickness", &h->thickness[0]);
    status = status ? status : read_number(reader, "the grid thickness", &h->thickness[1]);
    if (status)
        return status;
    for (int axis = 0; axis < 3; axis++)
        if (h->count[axis] < 2 || h->count[axis] > INT32_MAX)
            return abuti_read_fail(reader,
                                   "the grid has %lld cells along an axis; it must have at "
                                   "least 2",
                                   (long long)h->count[axis]);
    double all = (double)h->count[0] * (double)h->count[1] * (double)h->count[2];
    if ((double)h->cells != all)
        return abuti_read_fail(reader,
                               "%lld of %.0f cells have a value; the format does not say which, so "
                               "only complete fields can be read",
                               (long long)h->cells, all);
    if (all > (double)(abuti_read_left(reader) / 2 +
                       1)) /* each value needs at least a digit and a blank */
        return abuti_read_fail_end(reader, "before the values of all cells");
    return ABUT_OK;
}

/* If `values` is null, skips them. */
static abut_status read_values(abuti_reader *reader, const dcache_head *h, float *values) {
    abut_status status = ABUT_OK;
    for (int64_t i = 0; i < h->cells && !status; i++) {
        double value;
        status = read_number(reader, "a distance", &value);
        if (!status && !(value >= -(double)FLT_MAX && value <= (double)FLT_MAX))
            status = abuti_read_fail(reader, "a distance must be finite");
        if (!status && values)
            values[i] = (float)value;
        status = status ? status : abuti_read_tick(reader);
    }
    return status;
}

static abut_status skip_samples(abuti_reader *reader) {
    int64_t count = 0;
    abut_status status = read_count(reader, "the number of sampling points", &count);
    for (int64_t i = 0; i < count && !status; i++)
        for (int k = 0; k < 6 && !status; k++) {
            double value;
            status = read_number(reader, "a coordinate of a sampling point", &value);
        }
    return status;
}

static abut_status read_field(abuti_reader *reader, const abut_field_read_options *options,
                              abut_field *field) {
    dcache_head h;
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < options->number && !status; i++) {
        status = read_dcache_head(reader, &h);
        status = status ? status : read_values(reader, &h, NULL);
        status = status ? status : skip_samples(reader);
        if (!status && !abuti_text_space(reader))
            status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                "%s: has %u fields; options->number is %u, counted from 0",
                                reader->name, i + 1, options->number);
    }
    status = status ? status : read_dcache_head(reader, &h);
    if (status)
        return status;
    field->grid.origin = options->origin;
    field->grid.cell = options->cell > 0 ? options->cell : 1;
    for (int axis = 0; axis < 3; axis++)
        field->grid.count[axis] = (uint32_t)h.count[axis];
    if (h.thickness[0] > 0)
        field->band = h.thickness[0];
    status = abuti_field_check_grid("abut_field_read: options", &field->grid);
    status = status ? status : abuti_field_reserve(field);
    status = status ? status : read_values(reader, &h, field->values);
    status = status ? status : skip_samples(reader);
    if (!status)
        abuti_field_finish(field);
    return status;
}

abut_status abuti_field_read_dcache(abuti_source *source, const char *name,
                                    const abut_field_read_options *options, abut_field **field) {
    abuti_reader reader = {.context = source->context, .source = *source, .line = 1};
    abut_field *made = NULL;
    snprintf(reader.name, sizeof reader.name, "%s", name);
    snprintf(reader.stage, sizeof reader.stage, "reading %s", name);
    reader.locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (reader.locale == (locale_t)0)
        return abuti_fail(ABUT_ERROR_MEMORY, "%s: out of memory for a locale", name);
    abut_status status = abuti_field_new(source->context, &made);
    status = status ? status : read_field(&reader, options, made);
    freelocale(reader.locale);
    *source = reader.source;
    if (status)
        abut_field_destroy(made);
    else
        *field = made;
    return status;
}
