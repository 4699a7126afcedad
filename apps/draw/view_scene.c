/* The scene of a page: arrays of numbers in one block, and layers in JSON that refer to them by
 * index (docs/viewer.md). Coordinates are floats relative to an origin, in a unit that is a
 * power of two, so that scenes of any size and position keep the precision of floats. */
#include "view_scene.h"
#include "apps/get.h"

#include <math.h>
#include <string.h>

enum { SCALE_STOPS = 32, FIELD_CELLS_MAX = 192 };

/* ---- the frame of reference ---- */

void view_place(tool_view *view, abut_box box) {
    if (!view || view->placed || !(box.lo.x <= box.hi.x))
        return;
    double size = box_longest(&box);
    int exponent = 0;
    view->centre = (abut_vec3){box.lo.x / 2 + box.hi.x / 2, box.lo.y / 2 + box.hi.y / 2,
                               box.lo.z / 2 + box.hi.z / 2};
    if (size > 0)
        frexp(size, &exponent);
    view->scale = ldexp(1, -exponent);
    view->placed = true;
}

void view_point(const tool_view *view, abut_vec3 p, float to[3]) {
    to[0] = (float)((p.x - view->centre.x) * view->scale);
    to[1] = (float)((p.y - view->centre.y) * view->scale);
    to[2] = (float)((p.z - view->centre.z) * view->scale);
}

void view_pose(const tool_view *view, const abut_mesh *mesh, abut_pose pose, float to[7]) {
    abut_quat q = pose.rotation;
    if (q.x == 0 && q.y == 0 && q.z == 0)
        q.w = 1; /* also if all are 0 */
    double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    abut_vec3 origin = abut_mesh_local_origin(mesh);
    pose.rotation = (abut_quat){q.x / length, q.y / length, q.z / length, q.w / length};
    /* v + 2 u x (u x v + w v) */
    abut_quat u = pose.rotation;
    const abut_vec3 axis = {u.x, u.y, u.z}, c = vec_along(vec_cross(axis, origin), u.w, origin);
    abut_vec3 at = vec_add(vec_along(origin, 2, vec_cross(axis, c)), pose.translation);
    to[0] = (float)u.x;
    to[1] = (float)u.y;
    to[2] = (float)u.z;
    to[3] = (float)u.w;
    view_point(view, at, to + 4);
}

void view_camera(tool_view *view, const abut_picture_options *camera) {
    if (!view || view->has_camera)
        return;
    view->camera = *camera;
    view->has_camera = true;
}

void view_title(tool_view *view, const char *format, ...) {
    if (!view)
        return;
    va_list list;
    text_clear(&view->title);
    va_start(list, format);
    text_print_list(&view->title, format, list);
    va_end(list);
}

void view_unit(tool_view *view, const char *unit) {
    if (!view)
        return;
    text_clear(&view->unit);
    text_add(&view->unit, unit);
}

void view_note(tool_view *view, abut_colour colour, const char *words) {
    uint8_t c[4];
    tool_text note = {0};
    if (!view)
        return;
    colour_bytes(c, colour);
    text_print(&note, "[%u,%u,%u,", c[0], c[1], c[2]);
    text_shown(&note, words);
    text_add(&note, "]");
    if (!view->notes.data || !strstr(view->notes.data, note.data)) {
        text_add(&view->notes, view->notes.used ? "," : "");
        text_add(&view->notes, note.data);
    }
}

void view_skip(tool_view *view, unsigned sources) {
    if (view)
        view->skip |= sources;
}

/* ---- arrays and meshes ---- */

uint32_t view_array(tool_view *view, const char *type, const void *values, size_t count,
                    size_t bytes_each) {
    while (view->data.used % 8) /* typed arrays of JavaScript are aligned to their element size */
        text_bytes(&view->data, "", 1);
    text_print(&view->arrays, "%s[\"%s\",%zu,%zu]", view->array_count ? "," : "", type,
               view->data.used, count);
    const uint16_t one = 1;
    if (*(const uint8_t *)&one) {
        text_bytes(&view->data, values, count * bytes_each);
    } else {
        for (size_t i = 0; i < count; i++) {
            uint64_t bits = 0;
            for (size_t k = 0; k < bytes_each; k++)
                bits = bits << 8 | ((const uint8_t *)values)[i * bytes_each + k];
            text_little(&view->data, bits, bytes_each);
        }
    }
    return view->array_count++;
}

void view_room(void *array, size_t needed, size_t *room, size_t each) {
    void *memory;
    if (needed <= *room)
        return;
    *room = needed + needed / 2 + 64;
    memcpy(&memory, array, sizeof memory);
    memory = tool_resize(memory, *room, each);
    memcpy(array, &memory, sizeof memory);
}

uint32_t view_mesh(tool_view *view, const abut_mesh *mesh) {
    size_t vertices = abut_mesh_vertex_count(mesh), triangles = abut_mesh_triangle_count(mesh);
    const abut_vec3 *from = abut_mesh_local_positions(mesh);
    float *positions = tool_alloc(3 * vertices * sizeof *positions + 1);
    for (size_t i = 0; i < vertices; i++) {
        positions[3 * i] = (float)(from[i].x * view->scale);
        positions[3 * i + 1] = (float)(from[i].y * view->scale);
        positions[3 * i + 2] = (float)(from[i].z * view->scale);
    }
    uint32_t places = view_array(view, "f32", positions, 3 * vertices, 4);
    uint32_t corners = view_array(view, "u32", abut_mesh_indices(mesh), 3 * triangles, 4);
    text_print(&view->meshes, "%s{\"positions\":%u,\"indices\":%u}", view->mesh_count ? "," : "",
               places, corners);
    return view->mesh_count++;
}

void colour_bytes(uint8_t to[4], abut_colour colour) {
    const float c[4] = {colour.r, colour.g, colour.b, colour.a};
    for (int k = 0; k < 4; k++)
        to[k] = (uint8_t)lrintf(255 * fminf(1, fmaxf(0, c[k])));
}

void view_layer(tool_view *view, const char *kind, const char *name) {
    text_print(&view->layers, "%s{\"kind\":\"%s\",\"name\":", view->layer_count++ ? "," : "", kind);
    text_shown(&view->layers, name);
}

/* ---- scales ---- */

static void add_stop(tool_view *view, const tool_scale *scale, double value, double shown,
                     bool first) {
    uint8_t c[4];
    colour_bytes(c, scale_colour(scale, shown));
    text_add(&view->scales, first ? "[" : ",[");
    text_number(&view->scales, value);
    text_print(&view->scales, ",%u,%u,%u]", c[0], c[1], c[2]);
}

/* Palettes have two colours at the surface: one for each side. */
static uint32_t add_scale(tool_view *view, const tool_scale *scale, const char *what) {
    text_add(&view->scales, view->scale_count ? ",{\"what\":" : "{\"what\":");
    text_shown(&view->scales, what);
    text_add(&view->scales, ",\"least\":");
    text_number(&view->scales, scale->least);
    text_add(&view->scales, ",\"most\":");
    text_number(&view->scales, scale->most);
    text_add(&view->scales, ",\"step\":");
    text_number(&view->scales, scale->step);
    text_add(&view->scales, ",\"stops\":[");
    double range = scale->most - scale->least, before = scale->least;
    for (int i = 0; i <= SCALE_STOPS; i++) {
        double value = i == SCALE_STOPS ? scale->most : scale->least + i * range / SCALE_STOPS;
        if (i && before < 0 && value > 0) {
            add_stop(view, scale, 0, 1e-5 * scale->least, false);
            add_stop(view, scale, 0, 0, false);
        }
        add_stop(view, scale, value, value, !i);
        before = value;
    }
    text_add(&view->scales, "]}");
    return view->scale_count++;
}

/* ---- layers ---- */

void view_values(tool_view *view, abut_mesh *mesh, const char *name, const double *values,
                 const tool_scale *scale, const char *what, const uint32_t *source, bool hidden) {
    if (!view)
        return;
    view_place(view, abut_mesh_bounds(mesh));
    size_t count = abut_mesh_vertex_count(mesh);
    float at[7], *list = tool_alloc(count * sizeof *list + 1);
    for (size_t i = 0; i < count; i++)
        list[i] = (float)values[i]; /* in units of the scene; NaN is kept */
    uint32_t made = view_mesh(view, mesh), array = view_array(view, "f32", list, count, 4);
    view_pose(view, mesh, (abut_pose){0}, at);
    uint32_t poses = view_array(view, "f32", at, 7, 4);
    view_layer(view, "bodies", name);
    text_add(&view->layers, ",\"derived\":true");
    if (source)
        text_print(&view->layers, ",\"source\":%u",
                   view_array(view, "u32", source, abut_mesh_triangle_count(mesh), 4));
    if (hidden)
        text_add(&view->layers, ",\"hidden\":true");
    text_print(&view->layers,
               ",\"smooth\":true,\"colour\":[184,188,196,255],\"bodies\":[{\"mesh\":%u,\"poses\":%"
               "u,\"values\":%u}],\"scale\":%u}",
               made, poses, array, add_scale(view, scale, what));
}

/* The number of meshes of a picture, which are its first items. */
static size_t mesh_count_of(const abut_picture *picture) {
    size_t lo = 0, hi = abut_picture_item_count(picture);
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        abut_picture_item item = abut_picture_item_default();
        if (!abut_picture_get_item(picture, middle, &item) && item.mesh)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

void view_label_items(tool_view *view, const abut_picture *picture, const view_label *label) {
    if (!view)
        return;
    view_film *film = &view->film;
    size_t meshes = mesh_count_of(picture);
    tool_grow(&film->labels, film->label_count, &film->label_room, sizeof *film->labels);
    view_kept_label *kept = &film->labels[film->label_count++];
    *kept = (view_kept_label){.first = {meshes, abut_picture_item_count(picture) - meshes},
                              .derived = label->derived,
                              .hidden = label->hidden,
                              .result = label->result};
    snprintf(kept->name, sizeof kept->name, "%s", label->name ? label->name : "");
    snprintf(kept->amount, sizeof kept->amount, "%s", label->amount ? label->amount : "");
    snprintf(kept->note, sizeof kept->note, "%s", label->note ? label->note : "");
}

static void add_columns(tool_view *view, const view_column *columns, size_t column_count,
                        size_t count) {
    text_add(&view->layers, ",\"facts\":[");
    for (size_t k = 0; k < column_count; k++) {
        text_add(&view->layers, k ? ",{\"name\":" : "{\"name\":");
        text_shown(&view->layers, columns[k].name);
        text_print(&view->layers, ",\"values\":%u}",
                   view_array(view, "f64", columns[k].values, count, 8));
    }
    text_add(&view->layers, "]");
}

void view_arrows(tool_view *view, const char *name, const abut_vec3 *from, const abut_vec3 *to,
                 const abut_colour *colours, size_t count, const view_column *columns,
                 size_t column_count) {
    if (!view || !count)
        return;
    if (!view->placed) {
        abut_box box = empty_box;
        for (size_t i = 0; i < count; i++) {
            box_add(&box, from[i]);
            box_add(&box, to[i]);
        }
        view_place(view, box);
    }
    float *places = tool_array(6 * count, sizeof *places);
    uint8_t *paint = tool_alloc(4 * count);
    for (size_t i = 0; i < count; i++) {
        view_point(view, from[i], places + 6 * i);
        view_point(view, to[i], places + 6 * i + 3);
        colour_bytes(paint + 4 * i, colours ? colours[i] : (abut_colour){0.11f, 0.13f, 0.18f, 1});
    }
    uint32_t array = view_array(view, "f32", places, 6 * count, 4),
             colour = view_array(view, "u8", paint, 4 * count, 1);
    view_layer(view, "arrows", name);
    text_print(&view->layers, ",\"places\":%u,\"colours\":%u", array, colour);
    add_columns(view, columns, column_count, count);
    text_add(&view->layers, "}");
}

void view_contacts(tool_view *view, const abut_picture *picture, const abut_contact *list,
                   size_t count, double arrow,
                   abut_colour (*colour_of)(const void *data, size_t contact), const void *data) {
    enum { FACTS = 6 };
    static const char *const facts[FACTS] = {"depth",    "normal x", "normal y",
                                             "normal z", "side",     "element"};
    view_column shown[FACTS];
    view_place_picture(view, picture);
    if (!count)
        return;
    abut_vec3 *ends = tool_array(2 * count, sizeof *ends);
    abut_colour *colours = tool_array(count, sizeof *colours);
    double *values = tool_array(FACTS * count, sizeof *values);
    for (size_t i = 0; i < count; i++) {
        abut_vec3 p = list[i].point, n = list[i].normal;
        const double known[FACTS] = {list[i].depth,          n.x, n.y, n.z, (double)list[i].side,
                                     (double)list[i].element};
        ends[i] = p;
        ends[count + i] = vec_along(p, arrow, n);
        colours[i] = colour_of(data, i);
        for (size_t k = 0; k < FACTS; k++)
            values[k * count + i] = known[k];
    }
    for (size_t k = 0; k < FACTS; k++)
        shown[k] = (view_column){facts[k], values + k * count};
    view_arrows(view, "contacts with normals", ends, ends + count, colours, count, shown, FACTS);
    view_skip(view, VIEW_MARKS);
}

/* Fields that are finer than necessary are subsampled. */
void view_field(tool_view *view, const abut_field *field, const char *name,
                const tool_scale *scale) {
    if (!view)
        return;
    abut_field_info info = get_field_info(field);
    const uint32_t *n = info.grid.count;
    uint32_t step = 1, m[3];
    while (n[0] / step > FIELD_CELLS_MAX || n[1] / step > FIELD_CELLS_MAX ||
           n[2] / step > FIELD_CELLS_MAX)
        step++;
    for (int k = 0; k < 3; k++)
        m[k] = (n[k] - 1) / step + 1;
    abut_vec3 o = info.grid.origin; /* the centre of the first cell */
    double cell = info.grid.cell;
    view_place(view, (abut_box){o, {o.x + cell * n[0], o.y + cell * n[1], o.z + cell * n[2]}});
    size_t plane = (size_t)n[0] * n[1], count = (size_t)m[0] * m[1] * m[2];
    float *values = tool_array(count, sizeof *values), *layer = tool_array(plane, sizeof *layer);
    float *to = values;
    for (uint32_t z = 0; z < m[2]; z++) {
        const uint32_t begin[3] = {0, 0, z * step}, size[3] = {n[0], n[1], 1};
        ensure(abut_field_copy(field, begin, size, layer));
        for (uint32_t y = 0; y < m[1]; y++)
            for (uint32_t x = 0; x < m[0]; x++)
                *to++ = layer[(size_t)y * step * n[0] + x * step];
    }
    float origin[3];
    view_point(view, o, origin);
    uint32_t array = view_array(view, "f32", values, count, 4);
    view_layer(view, "field", name);
    text_print(&view->layers,
               ",\"count\":[%u,%u,%u],\"origin\":[%.9g,%.9g,%.9g],\"cell\":%.9g,\"values\":%u,"
               "\"scale\":%u}",
               m[0], m[1], m[2], (double)origin[0], (double)origin[1], (double)origin[2],
               step * cell * view->scale, array, add_scale(view, scale, "distance"));
}
