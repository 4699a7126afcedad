/* Export of fields to other programs: all cells as floats, one layer of the grid at a time, so that
 * no second copy of the field is needed. */
#include "field/field.h"

#include "io/files.h"

#include <inttypes.h>
#include <math.h>

static bool is_little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* ---- values ---- */

typedef struct exporter {
    const abut_field *field;
    abuti_sink *sink;
    float *layer;
    char *text; /* of a row, in text formats */
    locale_t locale;
} exporter;

static void write_text_layer(exporter *e, size_t count) {
    for (size_t first = 0; first < count; first += e->field->grid.count[0]) {
        size_t used = 0;
        for (size_t i = 0; i < e->field->grid.count[0]; i++) {
            used += abuti_number_write(e->text + used, e->layer[first + i], true, e->locale);
            e->text[used++] = '\n';
        }
        abuti_sink_write(e->sink, e->text, used);
    }
}

static abut_status write_layers(exporter *e) {
    const uint32_t *n = e->field->grid.count, count[3] = {n[0], n[1], 1};
    size_t cells = (size_t)n[0] * n[1];
    abut_context *context = e->field->context;
    e->layer = abuti_allocate(context, cells, sizeof *e->layer);
    abut_status status = e->layer ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t k = 0; k < n[2] && !status; k++) {
        const uint32_t begin[3] = {0, 0, k};
        status = abut_field_copy(e->field, begin, count, e->layer);
        if (!status && e->text)
            write_text_layer(e, cells);
        else if (!status)
            abuti_sink_write(e->sink, e->layer, cells * sizeof *e->layer);
        if (!status)
            status = abuti_progress(context, "writing the field", (k + 1.0) / n[2]);
    }
    abuti_release(context, e->layer);
    return status;
}

/* ---- formats ---- */

/* VTK file formats, "XML File Formats": one piece of image data. Its array is appended in binary,
 * preceded by its size in bytes. */
static abut_status write_vti(exporter *e) {
    const abut_grid *g = &e->field->grid;
    const uint32_t *n = g->count;
    char whole[80];
    snprintf(whole, sizeof whole, "0 %u 0 %u 0 %u", n[0] - 1, n[1] - 1, n[2] - 1);
    abuti_sink_print(e->sink,
                     "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" "
                     "byte_order=\"%s\" header_type=\"UInt64\">\n",
                     is_little_endian() ? "LittleEndian" : "BigEndian");
    abuti_sink_print(e->sink,
                     "  <ImageData WholeExtent=\"%s\" Origin=\"%.17g %.17g %.17g\" "
                     "Spacing=\"%.17g %.17g %.17g\">\n    <Piece Extent=\"%s\">\n",
                     whole, g->origin.x, g->origin.y, g->origin.z, g->cell, g->cell, g->cell,
                     whole);
    abuti_sink_print(e->sink,
                     "      <PointData Scalars=\"distance\">\n        <DataArray type=\"Float32\" "
                     "Name=\"distance\" format=\"appended\" offset=\"0\"/>\n      </PointData>\n"
                     "    </Piece>\n  </ImageData>\n  <AppendedData encoding=\"raw\">\n_");
    uint64_t bytes = sizeof(float) * (uint64_t)grid_cells(g);
    abuti_sink_write(e->sink, &bytes, sizeof bytes);
    abut_status status = write_layers(e);
    abuti_sink_print(e->sink, "\n  </AppendedData>\n</VTKFile>\n");
    return status;
}

/* NumPy format version 1.0: the head is padded so that values begin at a multiple of 64 bytes. */
static abut_status write_npy(exporter *e) {
    const uint32_t *n = e->field->grid.count;
    char head[192];
    int used = snprintf(head, sizeof head,
                        "{'descr': '%sf4', 'fortran_order': False, 'shape': (%u, %u, %u), }",
                        is_little_endian() ? "<" : ">", n[2], n[1], n[0]);
    unsigned length = ((10u + (unsigned)used + 1 + 63) & ~63u) - 10;
    unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    start[8] = (unsigned char)length;
    start[9] = (unsigned char)(length >> 8);
    abuti_sink_write(e->sink, start, sizeof start);
    memset(head + used, ' ', sizeof head - (size_t)used);
    head[length - 1] = '\n';
    abuti_sink_write(e->sink, head, length);
    return write_layers(e);
}

/* Writes the grid of a .raw file to a file with the same name and the extension .json. */
static abut_status write_raw_header(const abut_field *field, const char *path) {
    const abut_grid *g = &field->grid;
    size_t length = strlen(path);
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    if (dot && (!slash || dot > slash))
        length = (size_t)(dot - path);
    char *name = abuti_allocate(field->context, length + sizeof ".json", 1);
    if (!name)
        return ABUT_ERROR_MEMORY;
    memcpy(name, path, length);
    strcpy(name + length, ".json");
    abuti_sink sink;
    abut_status status = abuti_sink_open(&sink, field->context, name);
    if (!status) {
        abuti_sink_print(&sink,
                         "{\n  \"type\": \"float32\",\n  \"byte_order\": \"%s\",\n"
                         "  \"count\": [%u, %u, %u],\n  \"fastest\": \"x\",\n",
                         is_little_endian() ? "little" : "big", g->count[0], g->count[1],
                         g->count[2]);
        abuti_sink_print(&sink,
                         "  \"origin\": [%.17g, %.17g, %.17g],\n  \"cell\": %.17g,\n"
                         "  \"lowest\": %.9g,\n  \"highest\": %.9g\n}\n",
                         g->origin.x, g->origin.y, g->origin.z, g->cell, field->lowest,
                         field->highest);
        status = abuti_sink_commit(&sink);
    }
    abuti_release(field->context, name);
    return status;
}

/* See dcache.c. Thicknesses of 0 mean that there is no limit; there are no sampling points. */
static abut_status write_dcache(exporter *e) {
    const abut_grid *g = &e->field->grid;
    abut_context *context = e->field->context;
    e->locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (e->locale == (locale_t)0)
        return abuti_fail(ABUT_ERROR_MEMORY, "out of memory for a locale");
    e->text = abuti_allocate(context, g->count[0], ABUTI_NUMBER_BYTES + 1);
    abut_status status = e->text ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        abuti_sink_print(e->sink, "DISTCACHE\n%zu %u %u %u ", grid_cells(g), g->count[0],
                         g->count[1], g->count[2]);
        abuti_sink_print(e->sink, "%.9g 0\n", e->field->band < HUGE_VAL ? e->field->band : 0);
        status = write_layers(e);
        abuti_sink_print(e->sink, "0\n");
    }
    abuti_release(context, e->text);
    freelocale(e->locale);
    return status;
}

abut_status abuti_field_export(const abut_field *field, abuti_sink *sink, const char *path,
                               abut_field_format format) {
    exporter e = {.field = field, .sink = sink};
    switch (format) {
    case ABUT_FIELD_FORMAT_VTI:
        return write_vti(&e);
    case ABUT_FIELD_FORMAT_NPY:
        return write_npy(&e);
    case ABUT_FIELD_FORMAT_DCACHE:
        return write_dcache(&e);
    default: {
        abut_status status = write_layers(&e);
        return status ? status : write_raw_header(field, path);
    }
    }
}
