/* The mesh that grows while a file is read, and the messages that all readers share. */
#include "io/files.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* ---- messages ---- */

bool abuti_read_fail(abuti_reader *reader, const char *format, ...) {
    char message[500], place[40] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (reader->place == ABUTI_PLACE_LINE)
        snprintf(place, sizeof place, "line %" PRIu64 ": ", reader->line);
    else if (reader->place == ABUTI_PLACE_BYTE)
        snprintf(place, sizeof place, "byte %" PRIu64 ": ", reader->byte);
    return abuti_read_check(reader, abuti_fail(ABUT_ERROR_FORMAT, "%s: %s%s", reader->name, place,
                                               message));
}

bool abuti_read_fail_end(abuti_reader *reader, const char *where) {
    abuti_source *source = &reader->source;
    reader->byte = abuti_source_offset(source) + (uint64_t)(source->end - source->at);
    return abuti_read_fail(reader, "the file ends %s; it may be truncated", where);
}

bool abuti_read_report(abuti_reader *reader) {
    uint64_t total = reader->source.total, offset = abuti_source_offset(&reader->source);
    double fraction = total ? (double)offset / (double)total : 0;
    return abuti_read_check(reader, abuti_progress(reader->context, reader->stage,
                                                   fraction < 1 ? fraction : 1));
}

/* ---- vertices and faces ---- */

/* Adds an element to a list of at most `most`. */
static inline bool add_element(abuti_reader *reader, abuti_vector *list, const void *element,
                               size_t bytes, uint32_t most, const char *what) {
    if (list->count >= most)
        return abuti_read_check(reader, abuti_fail(ABUT_ERROR_LIMIT, "%s: has more than %u %s",
                                                   reader->name, most, what));
    void *slot = abuti_vector_push(reader->context, list, bytes);
    if (slot)
        memcpy(slot, element, bytes);
    return abuti_read_check(reader, slot ? ABUT_OK : ABUT_ERROR_MEMORY);
}

bool abuti_read_vertex(abuti_reader *reader, vec3 p) {
    if (!abuti_is_position(p))
        return abuti_read_fail(reader,
                               "vertex %zu is (%g, %g, %g); coordinates must be finite and at most "
                               "%g in magnitude",
                               reader->positions.count, p.x, p.y, p.z, ABUT_COORDINATE_MAX);
    return add_element(reader, &reader->positions, &p, sizeof p, ABUT_NONE - 1, "vertices");
}

bool abuti_read_triangle(abuti_reader *reader, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t corners[3] = {a, b, c};
    return add_element(reader, &reader->triangles, corners, sizeof corners, ABUT_NONE / 3 - 1,
                       "triangles");
}

bool abuti_read_uv(abuti_reader *reader, double u, double v) {
    const double uv[2] = {u, v};
    if (!(fabs(u) <= ABUT_COORDINATE_MAX && fabs(v) <= ABUT_COORDINATE_MAX))
        return abuti_read_fail(reader,
                               "texture coordinates are (%g, %g); they must be finite and at most "
                               "%g",
                               u, v, ABUT_COORDINATE_MAX);
    return add_element(reader, &reader->uv, uv, sizeof uv, ABUT_NONE - 1, "texture coordinates");
}

bool abuti_read_triangle_uv(abuti_reader *reader, uint32_t a, uint32_t b, uint32_t c) {
    const uint32_t corners[3] = {a, b, c};
    return add_element(reader, &reader->triangle_uv, corners, sizeof corners, ABUT_NONE / 3 - 1,
                       "triangles");
}

bool abuti_read_corner_uv(abuti_reader *reader, uint32_t vertex, uint32_t uv) {
    if (reader->corner_count == 0)
        reader->first_uv = uv;
    else if (reader->corner_count >= 2 &&
             !abuti_read_triangle_uv(reader, reader->first_uv, reader->last_uv, uv))
        return false;
    reader->last_uv = uv;
    return abuti_read_corner(reader, vertex);
}

bool abuti_read_corner(abuti_reader *reader, uint32_t vertex) {
    if (reader->corner_count == 0)
        reader->first_corner = vertex;
    else if (reader->corner_count >= 2 &&
             !abuti_read_triangle(reader, reader->first_corner, reader->last_corner, vertex))
        return false;
    reader->last_corner = vertex;
    reader->corner_count++;
    return reader->corner_count % 65536 || abuti_read_report(reader);
}

bool abuti_read_face_end(abuti_reader *reader) {
    if (reader->corner_count < 3)
        return abuti_read_fail(reader, "a face has %u corner%s; it needs 3 or more",
                               reader->corner_count, reader->corner_count == 1 ? "" : "s");
    const abuti_polygon polygon = {reader->face_first, reader->corner_count};
    return reader->corner_count == 3 || reader->triangulation == ABUT_TRIANGULATION_FAN ||
           add_element(reader, &reader->polygons, &polygon, sizeof polygon, ABUT_NONE, "polygons");
}

/* ---- the end ---- */

/* The corners of a polygon that is stored as a fan. */
static void fan_corners(const uint32_t *triangles, uint32_t count, uint32_t *corners) {
    corners[0] = triangles[0];
    corners[1] = triangles[1];
    for (uint32_t i = 2; i < count; i++)
        corners[i] = triangles[3 * (i - 2) + 2];
}

/* Triangulates one polygon, which is stored in `triangles` as a fan, in place. */
static void triangulate_fan(const vec3 *positions, uint32_t *triangles, uint32_t count) {
    uint32_t corners[ABUTI_POLYGON_MAX];
    fan_corners(triangles, count, corners);
    abuti_polygon_triangulate(positions, corners, count, triangles);
}

/* The same for a polygon with texture coordinates: its corners are numbered for a moment. */
static void triangulate_textured_fan(const vec3 *positions, uint32_t *triangles, uint32_t *uv,
                                     uint32_t count) {
    uint32_t corners[ABUTI_POLYGON_MAX], places[ABUTI_POLYGON_MAX], order[ABUTI_POLYGON_MAX] = {0};
    vec3 at[ABUTI_POLYGON_MAX] = {{0, 0, 0}};
    fan_corners(triangles, count, corners);
    fan_corners(uv, count, places);
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
        at[i] = positions[corners[i]];
    }
    abuti_polygon_triangulate(at, order, count, triangles);
    for (uint32_t i = 0; i < 3 * (count - 2); i++) {
        uv[i] = places[triangles[i]];
        triangles[i] = corners[triangles[i]];
    }
}

static bool triangulate_polygons(abuti_reader *reader) {
    const abuti_polygon *polygons = reader->polygons.data;
    uint32_t *indices = reader->triangles.data, *uv = reader->triangle_uv.data;
    uint32_t huge_count = 0, huge_corners = 0;
    for (size_t i = 0; i < reader->polygons.count; i++) {
        const uint32_t corners = polygons[i].corner_count;
        if (corners <= ABUTI_POLYGON_MAX && reader->wants_uv)
            triangulate_textured_fan(reader->positions.data,
                                     indices + 3 * (size_t)polygons[i].first,
                                     uv + 3 * (size_t)polygons[i].first, corners);
        else if (corners <= ABUTI_POLYGON_MAX)
            triangulate_fan(reader->positions.data, indices + 3 * (size_t)polygons[i].first,
                            corners);
        else if (!huge_count++)
            huge_corners = corners;
        if (i % 65536 == 65535 && !abuti_read_report(reader))
            return false;
    }
    if (huge_count)
        abuti_log(reader->context, ABUT_LOG_WARNING,
                  "%s: %u faces have more than %u corners (the first has %u) and were triangulated "
                  "as fans, "
                  "which is only correct for convex ones",
                  reader->name, huge_count, ABUTI_POLYGON_MAX, huge_corners);
    return true;
}

/* Creates the texture coordinates of all triangles: six numbers each, v downwards. */
static abut_status make_uv(abuti_reader *reader, double **made) {
    const uint32_t *corners = reader->triangle_uv.data;
    const double(*uv)[2] = reader->uv.data;
    const size_t count = reader->triangles.count;
    for (size_t i = 0; i < 3 * count; i++)
        if (reader->triangle_uv.count < count || corners[i] >= reader->uv.count)
            return abuti_fail(ABUT_ERROR_FORMAT,
                              "%s: corner %zu of triangle %zu has no texture coordinates",
                              reader->name, i % 3, i / 3);
    double *all = abuti_allocate(reader->context, 6 * count, sizeof *all);
    if (!all)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < 3 * count; i++) {
        all[2 * i] = uv[corners[i]][0];
        all[2 * i + 1] = reader->uv_is_up ? 1 - uv[corners[i]][1] : uv[corners[i]][1];
    }
    *made = all;
    return ABUT_OK;
}

bool abuti_read_finish(abuti_reader *reader, abut_mesh **mesh) {
    abut_context *context = reader->context;
    size_t vertex_count = reader->positions.count, triangle_count = reader->triangles.count;
    if (!triangle_count)
        return abuti_read_check(reader,
                                abuti_fail(ABUT_ERROR_FORMAT, "%s: has no faces", reader->name));
    double *uv = NULL;
    if (!triangulate_polygons(reader) ||
        (reader->wants_uv && !abuti_read_check(reader, make_uv(reader, &uv))))
        return false;
    vec3 *positions = abuti_vector_take(context, &reader->positions, sizeof *positions);
    uint32_t *indices = abuti_vector_take(context, &reader->triangles, 3 * sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(context, positions, indices, uv);
        return abuti_read_check(reader, ABUT_ERROR_MEMORY);
    }
    abut_status status = abuti_mesh_adopt(context, reader->name, positions, vertex_count, indices,
                                          triangle_count, mesh);
    if (!status) {
        (*mesh)->up = reader->up;
        (*mesh)->uv = uv;
    } else {
        abuti_release(context, uv);
    }
    /* a mesh that is too small */
    return abuti_read_check(reader, status == ABUT_ERROR_ARGUMENT ? ABUT_ERROR_FORMAT : status);
}
