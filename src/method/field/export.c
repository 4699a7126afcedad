/* Export of fields to other programs: all cells as floats, one layer of the grid at a time, so that
 * no second copy of the field is needed. */
#include "field/field.h"

#include <inttypes.h>
#include <math.h>

static bool is_little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* ---- values ---- */

static abut_status write_layers(const abut_field *field, abuti_sink *sink) {
    const uint32_t *n = field->grid.count, count[3] = {n[0], n[1], 1};
    size_t cells = (size_t)n[0] * n[1];
    float *layer = abuti_allocate(field->context, cells, sizeof *layer);
    abut_status status = layer ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t k = 0; k < n[2] && !status; k++) {
        const uint32_t begin[3] = {0, 0, k};
        if ((status = abut_field_copy(field, begin, count, layer)))
            break;
        abuti_sink_write(sink, layer, cells * sizeof *layer);
        status = abuti_progress(field->context, "writing the field", (k + 1.0) / n[2]);
    }
    abuti_release(field->context, layer);
    return status;
}

/* ---- formats ---- */

/* VTK file formats, "XML File Formats": one piece of image data. Its array is appended in binary,
 * preceded by its size in bytes. */
static abut_status write_vti(const abut_field *field, abuti_sink *sink) {
    const abut_grid *g = &field->grid;
    const uint32_t *n = g->count;
    char whole[80];
    snprintf(whole, sizeof whole, "0 %u 0 %u 0 %u", n[0] - 1, n[1] - 1, n[2] - 1);
    abuti_sink_print(sink,
                     "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" "
                     "byte_order=\"%s\" header_type=\"UInt64\">\n",
                     is_little_endian() ? "LittleEndian" : "BigEndian");
    abuti_sink_print(sink,
                     "  <ImageData WholeExtent=\"%s\" Origin=\"%.17g %.17g %.17g\" "
                     "Spacing=\"%.17g %.17g %.17g\">\n    <Piece Extent=\"%s\">\n",
                     whole, g->origin.x, g->origin.y, g->origin.z, g->cell, g->cell, g->cell,
                     whole);
    abuti_sink_print(sink,
                     "      <PointData Scalars=\"distance\">\n        <DataArray type=\"Float32\" "
                     "Name=\"distance\" format=\"appended\" offset=\"0\"/>\n      </PointData>\n"
                     "    </Piece>\n  </ImageData>\n  <AppendedData encoding=\"raw\">\n_");
    uint64_t bytes = sizeof(float) * (uint64_t)grid_cells(g);
    abuti_sink_write(sink, &bytes, sizeof bytes);
    abut_status status = write_layers(field, sink);
    abuti_sink_print(sink, "\n  </AppendedData>\n</VTKFile>\n");
    return status;
}

/* NumPy format version 1.0: the head is padded so that values begin at a multiple of 64 bytes. */
static abut_status write_npy(const abut_field *field, abuti_sink *sink) {
    const uint32_t *n = field->grid.count;
    char head[192];
    int used = snprintf(head, sizeof head,
                        "{'descr': '%sf4', 'fortran_order': False, 'shape': (%u, %u, %u), }",
                        is_little_endian() ? "<" : ">", n[2], n[1], n[0]);
    unsigned length = ((10u + (unsigned)used + 1 + 63) & ~63u) - 10;
    unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    start[8] = (unsigned char)length;
    start[9] = (unsigned char)(length >> 8);
    abuti_sink_write(sink, start, sizeof start);
    memset(head + used, ' ', sizeof head - (size_t)used);
    head[length - 1] = '\n';
    abuti_sink_write(sink, head, length);
    return write_layers(field, sink);
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

abut_status abuti_field_export(const abut_field *field, abuti_sink *sink, const char *path,
                               abut_field_format format) {
    switch (format) {
    case ABUT_FIELD_FORMAT_VTI:
        return write_vti(field, sink);
    case ABUT_FIELD_FORMAT_NPY:
        return write_npy(field, sink);
    default: {
        abut_status status = write_layers(field, sink);
        return status ? status : write_raw_header(field, path);
    }
    }
}
