/* The mesh that grows while a file is read, and the messages that all readers share. */
#include "io/files.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* ---- messages ---- */

abut_status abuti_read_fail(abuti_reader *reader, const char *format, ...) {
    char message[500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (reader->place == ABUTI_PLACE_NONE)
        return abuti_fail(ABUT_ERROR_FORMAT, "%s: %s", reader->name, message);
    bool line = reader->place == ABUTI_PLACE_LINE;
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: %s %" PRIu64 ": %s", reader->name,
                      line ? "line" : "byte", line ? reader->line : reader->byte, message);
}

abut_status abuti_read_fail_end(abuti_reader *reader, const char *where) {
    abuti_source *source = &reader->source;
    reader->byte = abuti_source_offset(source) + (uint64_t)(source->end - source->at);
    return abuti_read_fail(reader, "the file ends %s; it may be truncated", where);
}

abut_status abuti_read_report(abuti_reader *reader) {
    uint64_t total = reader->source.total, offset = abuti_source_offset(&reader->source);
    double fraction = total ? (double)offset / (double)total : 0;
    return abuti_progress(reader->context, reader->stage, fraction < 1 ? fraction : 1);
}

/* ---- vertices and faces ---- */

abut_status abuti_read_vertex(abuti_reader *reader, vec3 p) {
    if (!(fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
          fabs(p.z) <= ABUT_COORDINATE_MAX))
        return abuti_read_fail(reader,
                               "vertex %zu is (%g, %g, %g); coordinates must be finite and at most "
                               "%g in magnitude",
                               reader->positions.count, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
    if (reader->positions.count >= ABUT_NONE - 1)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: has more than %u vertices", reader->name,
                          ABUT_NONE - 1);
    void *slot = abuti_block_list_push(reader->context, &reader->positions);
    if (!slot)
        return ABUT_ERROR_MEMORY;
    memcpy(slot, &p, sizeof p);
    return ABUT_OK;
}

abut_status abuti_read_triangle(abuti_reader *reader, uint32_t a, uint32_t b, uint32_t c) {
    if (reader->triangles.count >= ABUT_NONE / 3 - 1)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: has more than %u triangles", reader->name,
                          ABUT_NONE / 3 - 1);
    uint32_t corners[3] = {a, b, c};
    void *slot = abuti_block_list_push(reader->context, &reader->triangles);
    if (!slot)
        return ABUT_ERROR_MEMORY;
    memcpy(slot, corners, sizeof corners);
    return ABUT_OK;
}

abut_status abuti_read_corner(abuti_reader *reader, uint32_t vertex) {
    abut_status status = ABUT_OK;
    if (reader->corner_count == 0)
        reader->first_corner = vertex;
    else if (reader->corner_count >= 2)
        status = abuti_read_triangle(reader, reader->first_corner, reader->last_corner, vertex);
    reader->last_corner = vertex;
    reader->corner_count++;
    if (!status && reader->corner_count % 65536 == 0)
        status = abuti_read_report(reader);
    return status;
}

abut_status abuti_read_face_end(abuti_reader *reader) {
    if (reader->corner_count < 3)
        return abuti_read_fail(reader, "a face has %u corner%s; it needs 3 or more",
                               reader->corner_count, reader->corner_count == 1 ? "" : "s");
    if (reader->corner_count == 3 || reader->triangulation == ABUT_TRIANGULATION_FAN)
        return ABUT_OK;
    abuti_polygon polygon = {reader->face_first, reader->corner_count};
    void *slot = abuti_block_list_push(reader->context, &reader->polygons);
    if (!slot)
        return ABUT_ERROR_MEMORY;
    memcpy(slot, &polygon, sizeof polygon);
    return ABUT_OK;
}

/* ---- the end ---- */

/* Triangulates one polygon, which is stored in `triangles` as a fan, in place. */
static void triangulate_fan(const vec3 *positions, uint32_t *triangles, uint32_t count) {
    uint32_t corners[ABUTI_POLYGON_MAX];
    corners[0] = triangles[0];
    corners[1] = triangles[1];
    for (uint32_t i = 2; i < count; i++)
        corners[i] = triangles[3 * (i - 2) + 2];
    abuti_polygon_triangulate(positions, corners, count, triangles);
}

static abut_status triangulate_polygons(abuti_reader *reader, const vec3 *positions,
                                        uint32_t *indices) {
    uint32_t huge_count = 0, huge_corners = 0;
    for (size_t i = 0; i < reader->polygons.count; i++) {
        abuti_polygon polygon;
        memcpy(&polygon, abuti_block_list_at(&reader->polygons, i), sizeof polygon);
        uint32_t *triangles = indices + 3 * (size_t)polygon.first;
        if (polygon.corner_count > ABUTI_POLYGON_MAX) {
            if (!huge_count++)
                huge_corners = polygon.corner_count;
        } else {
            triangulate_fan(positions, triangles, polygon.corner_count);
        }
        if (i % 65536 == 65535) {
            abut_status status = abuti_progress(reader->context, reader->stage, 1);
            if (status)
                return status;
        }
    }
    if (huge_count)
        abuti_log(reader->context, ABUT_LOG_WARNING,
                  "%s: %u faces have more than %u corners (the first has %u) and were triangulated "
                  "as fans, "
                  "which is only correct for convex ones",
                  reader->name, huge_count, ABUTI_POLYGON_MAX, huge_corners);
    return ABUT_OK;
}

abut_status abuti_read_finish(abuti_reader *reader, abut_mesh **mesh) {
    abut_context *context = reader->context;
    size_t vertex_count = reader->positions.count, triangle_count = reader->triangles.count;
    if (!triangle_count)
        return abuti_fail(ABUT_ERROR_FORMAT, "%s: has no faces", reader->name);
    vec3 *positions = abuti_block_list_flatten(context, &reader->positions);
    uint32_t *indices = positions ? abuti_block_list_flatten(context, &reader->triangles) : NULL;
    abut_status status = indices ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = triangulate_polygons(reader, positions, indices);
    if (status) {
        abuti_release(context, positions);
        abuti_release(context, indices);
        return status;
    }
    abuti_block_list_release(context, &reader->polygons);
    status = abuti_mesh_adopt(context, reader->name, positions, vertex_count, indices,
                              triangle_count, mesh);
    if (!status)
        (*mesh)->up = reader->up;
    return status == ABUT_ERROR_ARGUMENT ? ABUT_ERROR_FORMAT
                                         : status; /* a mesh that is too small */
}
