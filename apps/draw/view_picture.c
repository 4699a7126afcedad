/* The contents of pictures as layers of a page: posed meshes, lines and points, in one frame or
 * in many.
 *
 * From frame to frame, the n-th mesh of a picture is the same body if it is the same mesh or has
 * the same triangles. Only changes are stored: poses always, vertices if they differ. If frames
 * are too many or too large, every second one is removed, and from then on every second one is
 * skipped. */
#include "apps/get.h"
#include "view_scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 480, LAYERS_MAX = 12 };
#define BYTES_MAX ((size_t)160 << 20)

void view_rate(tool_view *view, double seconds) {
    if (view)
        view->film.seconds = seconds;
}

/* ---- names ---- */

static bool same_colour(abut_colour a, abut_colour b) {
    return fabsf(a.r - b.r) < 0.004f && fabsf(a.g - b.g) < 0.004f && fabsf(a.b - b.b) < 0.004f;
}

/* Returns the first legend entry with a colour, or the count. */
static uint32_t entry_of(const tool_legend *legend, abut_colour colour, uint32_t from) {
    uint32_t i = from, count = legend ? legend->count : 0;
    while (i < count && !same_colour(legend->entries[i].colour, colour))
        i++;
    return i < count ? i : count;
}

/* The name of a body without label, or null if the legend has none. Palettes repeat after eight
 * bodies: the n-th entry of a colour is for the n-th body of that colour, the last entry for all
 * others. */
static const char *body_name(view_film *film, const tool_legend *legend, abut_colour colour) {
    const char *found = NULL;
    uint32_t count = legend ? legend->count : 0;
    for (uint32_t i = entry_of(legend, colour, 0); i < count; i = entry_of(legend, colour, i + 1)) {
        found = legend->entries[i].words;
        if (!film->taken[i]) {
            film->taken[i] = true;
            break;
        }
    }
    return found;
}

/* Returns the label of a mesh (`kind` 0) or mark (1), as its number + 1, or 0 without label.
 * Items are visited in order, and `last` is the label of the previous item. */
static uint32_t label_of(const view_film *film, int kind, size_t number, size_t *last) {
    while (*last < film->label_count && film->labels[*last].first[kind] <= number)
        ++*last;
    return *last > film->label_begin && film->labels[*last - 1].name[0] ? (uint32_t)*last : 0;
}

/* ---- bodies ---- */

/* The record of a frame, which is added if necessary. */
static void *record_at(view_track *t, view_part part, size_t frame) {
    view_lane *lane = &t->parts[part];
    view_room(&lane->data, (frame + 1) * lane->bytes, &lane->room, 1);
    return (char *)lane->data + frame * lane->bytes;
}

static uint64_t hash_of(const abut_mesh *mesh) {
    const uint32_t *words = (const uint32_t *)(const void *)abut_mesh_local_positions(mesh);
    abut_vec3 origin = abut_mesh_local_origin(mesh);
    size_t count = (size_t)abut_mesh_vertex_count(mesh) * (sizeof(abut_vec3) / 4);
    uint64_t hash = 1469598103934665603u;
    uint32_t first[6];
    memcpy(first, &origin, sizeof first);
    for (size_t i = 0; i < 6; i++)
        hash = (hash ^ first[i]) * 1099511628211u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * 1099511628211u;
    return hash;
}

static bool same_triangles(const abut_mesh *a, const abut_mesh *b) {
    size_t count = abut_mesh_triangle_count(a);
    return a == b || (count == abut_mesh_triangle_count(b) &&
                      abut_mesh_vertex_count(a) == abut_mesh_vertex_count(b) &&
                      !memcmp(abut_mesh_indices(a), abut_mesh_indices(b), 12 * count));
}

/* Finds the track of previous frames that continues with a mesh: first the one of the same
 * index, since the order seldom changes. */
static view_track *find_track(view_film *film, size_t number, const abut_picture_item *item) {
    for (size_t i = 0; i < film->before; i++) {
        view_track *t = &film->tracks[(number + i) % film->before];
        if (!t->used && same_triangles(t->mesh, item->mesh) &&
            (item->mesh == t->mesh || same_colour(t->style.colour, item->colour)))
            return t;
    }
    return NULL;
}

static view_track *new_track(tool_view *view, const abut_picture_item *item, const char *name) {
    view_film *film = &view->film;
    tool_grow(&film->tracks, film->track_count, &film->track_room, sizeof *film->tracks);
    view_track *t = &film->tracks[film->track_count];
    *t = (view_track){.hash = hash_of(item->mesh)};
    t->style = abut_mesh_style_default();
    t->style.colour = item->colour;
    t->style.edges = item->edges;
    t->style.smooth = item->smooth;
    t->style.two_sided = item->two_sided;
    snprintf(t->name, sizeof t->name, "%s", name ? name : "");
    t->mesh = abut_mesh_retain(item->mesh);
    t->parts[TRACK_POSES].bytes = 28;
    t->parts[TRACK_TINTS].bytes = 4;
    t->parts[TRACK_VERTICES].bytes = 12 * (size_t)abut_mesh_vertex_count(t->mesh);
    t->parts[TRACK_COLOURS].bytes = 4 * (size_t)abut_mesh_triangle_count(t->mesh);
    film->track_count++;
    for (uint32_t k = 0; k <= film->count; k++) { /* absent in previous frames */
        memset(record_at(t, TRACK_POSES, k), 0, 28);
        memset(record_at(t, TRACK_TINTS, k), 0, 4);
    }
    return t;
}

/* The vertices of a mesh in one frame, relative to the origin of the first mesh. */
static void copy_vertices(const tool_view *view, const view_track *t, const abut_mesh *mesh,
                          float *to) {
    abut_vec3 a = abut_mesh_local_origin(t->mesh), b = abut_mesh_local_origin(mesh);
    const abut_vec3 *p = abut_mesh_local_positions(mesh);
    for (size_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        to[3 * i] = (float)((p[i].x + (b.x - a.x)) * view->scale);
        to[3 * i + 1] = (float)((p[i].y + (b.y - a.y)) * view->scale);
        to[3 * i + 2] = (float)((p[i].z + (b.z - a.z)) * view->scale);
    }
}

/* Computes the vertices of a frame from those of the previous frame, if any. */
static void add_vertices(tool_view *view, view_track *t, abut_mesh *mesh, uint32_t frame) {
    uint64_t hash = hash_of(mesh);
    bool first = !t->parts[TRACK_VERTICES].data;
    if (first && hash == t->hash)
        return;
    for (uint32_t k = 0; first && k < frame; k++)
        copy_vertices(view, t, t->mesh, record_at(t, TRACK_VERTICES, k));
    copy_vertices(view, t, mesh, record_at(t, TRACK_VERTICES, frame));
    view->film.bytes += t->parts[TRACK_VERTICES].bytes * (first ? frame + 1 : 1);
    t->hash = hash;
}

static void add_colours(tool_view *view, view_track *t, const abut_colour *colours,
                        uint32_t frame) {
    size_t bytes = t->parts[TRACK_COLOURS].bytes;
    if (!colours || (frame && !t->parts[TRACK_COLOURS].data))
        return;
    uint8_t *to = record_at(t, TRACK_COLOURS, frame);
    for (size_t i = 0; 4 * i < bytes; i++)
        colour_bytes(to + 4 * i, colours[i]);
    t->coloured = t->coloured || (frame && memcmp(to, to - bytes, bytes) != 0);
    view->film.bytes += bytes;
}

static void add_body(tool_view *view, size_t number, const abut_picture_item *item,
                     const tool_legend *legend, uint32_t label) {
    view_film *film = &view->film;
    uint32_t frame = film->count;
    view_track *t = find_track(film, number, item);
    if (!t) {
        t = new_track(view, item,
                      label ? film->labels[label - 1].name : body_name(film, legend, item->colour));
        t->label = label;
    }
    t->used = true;
    colour_bytes(record_at(t, TRACK_TINTS, frame), item->colour);
    t->tinted = t->tinted || !same_colour(item->colour, t->style.colour);
    view_pose(view, t->mesh, item->pose, record_at(t, TRACK_POSES, frame));
    add_vertices(view, t, item->mesh, frame);
    add_colours(view, t, item->triangle_colour, frame);
    film->bytes += 28;
}

/* Bodies that are absent in the frame keep their state and are hidden. */
static void end_frame(tool_view *view) {
    view_film *film = &view->film;
    size_t frame = film->count;
    for (size_t i = 0; i < film->track_count; i++) {
        view_track *t = &film->tracks[i];
        if (t->used)
            continue;
        memset(record_at(t, TRACK_POSES, frame), 0, 28);
        memset(record_at(t, TRACK_TINTS, frame), 0, 4);
        for (view_part part = TRACK_VERTICES; part <= TRACK_COLOURS; part++)
            if (t->parts[part].data && frame) {
                char *to = record_at(t, part, frame);
                memcpy(to, to - t->parts[part].bytes, t->parts[part].bytes);
            }
    }
}

/* ---- lines and points ---- */

static view_marks *find_marks(tool_view *view, const abut_picture_item *item, const char *name) {
    view_film *film = &view->film;
    const char *words = name ? name : item->is_point ? "points" : "lines";
    for (size_t k = 0; k < film->mark_count; k++) {
        size_t i = (film->last_marks + k) % film->mark_count;
        if (film->marks[i].points == item->is_point && film->marks[i].width == item->width &&
            !strncmp(film->marks[i].name, words, sizeof film->marks[i].name - 1)) {
            film->last_marks = i;
            return &film->marks[i];
        }
    }
    tool_grow(&film->marks, film->mark_count, &film->mark_room, sizeof *film->marks);
    view_marks *made = &film->marks[film->mark_count];
    *made = (view_marks){.points = item->is_point, .width = item->width};
    snprintf(made->name, sizeof made->name, "%s", words);
    view_room(&made->begin, (size_t)film->count + 1, &made->begin_room, 4);
    memset(made->begin, 0, 4 * ((size_t)film->count + 1));
    film->mark_count++;
    return made;
}

static void add_mark(tool_view *view, const abut_picture_item *item, const tool_legend *legend,
                     uint32_t label) {
    if (item->colour.a < 0.05f)
        return; /* an invisible item that only extends the view */
    uint32_t entry = entry_of(legend, item->colour, 0);
    bool known = legend && entry < legend->count;
    view_marks *m = find_marks(view, item,
                               label   ? view->film.labels[label - 1].name
                               : known ? legend->entries[entry].words
                                       : NULL);
    m->label = label;
    m->has_amount = !label && known && legend->entries[entry].has_amount;
    m->amount = m->has_amount ? legend->entries[entry].amount : 0;
    size_t each = m->points ? 3 : 6;
    view_room(&m->places, each * (m->count + 1), &m->place_room, 4);
    view_room(&m->colours, 4 * (m->count + 1), &m->colour_room, 1);
    view_point(view, item->from, m->places + each * m->count);
    if (!m->points)
        view_point(view, item->to, m->places + each * m->count + 3);
    colour_bytes(m->colours + 4 * m->count, item->colour);
    m->count++;
    view->film.bytes += 4 * each + 4;
}

static void begin_marks(tool_view *view) {
    view_film *film = &view->film;
    for (size_t i = 0; i < film->mark_count; i++) {
        view_marks *m = &film->marks[i];
        view_room(&m->begin, (size_t)film->count + 1, &m->begin_room, 4);
        m->begin[film->count] = (uint32_t)m->count;
    }
}

/* ---- frames ---- */

/* Moves the remaining frames of each part to the front. */
static void thin_track(view_track *t, uint32_t count) {
    for (view_part part = TRACK_POSES; part < TRACK_PARTS; part++)
        for (size_t k = 1; 2 * k < count && t->parts[part].data; k++)
            memcpy(record_at(t, part, k), record_at(t, part, 2 * k), t->parts[part].bytes);
}

static void thin_marks(view_marks *m, uint32_t count) {
    size_t to = 0, each = m->points ? 3 : 6;
    for (size_t k = 0; k < count; k++) {
        size_t from = m->begin[k], end = k + 1 < count ? m->begin[k + 1] : m->count;
        if (k % 2)
            continue;
        memmove(m->places + each * to, m->places + each * from, 4 * each * (end - from));
        memmove(m->colours + 4 * to, m->colours + 4 * from, 4 * (end - from));
        m->begin[k / 2] = (uint32_t)to;
        to += end - from;
    }
    m->count = to;
}

static void thin(view_film *film) {
    for (size_t i = 0; i < film->track_count; i++)
        thin_track(&film->tracks[i], film->count);
    for (size_t i = 0; i < film->mark_count; i++)
        thin_marks(&film->marks[i], film->count);
    film->count = (film->count + 1) / 2;
    film->bytes /= 2;
    film->stride *= 2;
}

void view_place_picture(tool_view *view, const abut_picture *picture) {
    abut_box box = empty_box;
    abut_picture_item item = abut_picture_item_default();
    for (size_t i = 0; i < abut_picture_item_count(picture) && !view->placed; i++) {
        ensure(abut_picture_get_item(picture, i, &item));
        abut_vec3 ends[2] = {item.from, item.to};
        if (item.mesh) { /* a bounding ball of the mesh is sufficient */
            abut_box b = abut_mesh_bounds(item.mesh);
            abut_quat q = item.pose.rotation;
            bool turned = q.x != 0 || q.y != 0 || q.z != 0;
            double r = turned ? sqrt(fmax(pow(b.lo.x, 2), pow(b.hi.x, 2)) +
                                     fmax(pow(b.lo.y, 2), pow(b.hi.y, 2)) +
                                     fmax(pow(b.lo.z, 2), pow(b.hi.z, 2)))
                              : 0;
            abut_vec3 t = item.pose.translation;
            ends[0] = turned ? (abut_vec3){t.x - r, t.y - r, t.z - r}
                             : (abut_vec3){b.lo.x + t.x, b.lo.y + t.y, b.lo.z + t.z};
            ends[1] = turned ? (abut_vec3){t.x + r, t.y + r, t.z + r}
                             : (abut_vec3){b.hi.x + t.x, b.hi.y + t.y, b.hi.z + t.z};
        }
        box_add(&box, ends[0]);
        box_add(&box, ends[1]);
    }
    view_place(view, box);
}

void view_picture(tool_view *view, const abut_picture *picture, const tool_legend *legend) {
    if (!view || view->written)
        return;
    view_film *film = &view->film;
    film->stride = film->stride ? film->stride : 1;
    if (film->offered++ % film->stride)
        return;
    abut_picture_options camera = get_picture_options(picture);
    view_camera(view, &camera);
    view_place_picture(view, picture);
    begin_marks(view);
    for (size_t i = 0; i < film->track_count; i++)
        film->tracks[i].used = false;
    film->before = film->track_count;
    size_t last[2] = {film->label_begin, film->label_begin}, meshes = 0;
    for (size_t i = 0; i < abut_picture_item_count(picture); i++) {
        abut_picture_item item = abut_picture_item_default();
        ensure(abut_picture_get_item(picture, i, &item));
        int kind = item.mesh ? 0 : 1;
        uint32_t label = label_of(film, kind, kind ? i - meshes : i, &last[kind]);
        meshes += !kind;
        if (item.mesh && !(view->skip & VIEW_MESHES))
            add_body(view, i, &item, legend, label);
        else if (!item.mesh && !(view->skip & VIEW_MARKS))
            add_mark(view, &item, legend, label);
    }
    film->label_begin = film->label_count;
    end_frame(view);
    film->count++;
    if (film->count > FRAMES_MAX || (film->bytes > BYTES_MAX && film->count > 2))
        thin(film);
}

void view_page(tool_run *tool, const abut_picture *picture, const tool_legend *legend) {
    view_picture(tool->view, picture, legend);
    view_write(tool);
}

/* ---- layers ---- */

/* Quantises vertices to 1/65535 of their bounding box, each frame as the difference from the
 * previous one, which compresses well. */
static void write_vertices(tool_view *view, const view_track *t, uint32_t frames) {
    size_t count = 3 * (size_t)abut_mesh_vertex_count(t->mesh), all = count * frames;
    const float *vertices = t->parts[TRACK_VERTICES].data;
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    uint16_t *steps = tool_alloc(2 * all + 2), *before = tool_array(count + 1, 2);
    for (size_t i = 0; i < all; i++) {
        lo[i % 3] = fminf(lo[i % 3], vertices[i]);
        hi[i % 3] = fmaxf(hi[i % 3], vertices[i]);
    }
    for (size_t i = 0; i < all; i++) {
        float range = hi[i % 3] - lo[i % 3];
        uint16_t now = range > 0 ? (uint16_t)lrintf((vertices[i] - lo[i % 3]) / range * 65535) : 0;
        steps[i] = (uint16_t)(now - before[i % count]);
        before[i % count] = now;
    }
    text_print(&view->layers, ",\"vertices\":%u,\"low\":[%.9g,%.9g,%.9g],\"high\":[%.9g,%.9g,%.9g]",
               view_array(view, "u16", steps, all, 2), (double)lo[0], (double)lo[1], (double)lo[2],
               (double)hi[0], (double)hi[1], (double)hi[2]);
}

static void write_body(tool_view *view, const view_track *t, uint32_t mesh, bool first) {
    uint32_t frames = view->film.count, kept = 1;
    const char *poses = t->parts[TRACK_POSES].data;
    uint8_t c[4];
    for (uint32_t k = 1; k < frames; k++)
        if (memcmp(poses, poses + 28 * (size_t)k, 28) != 0)
            kept = frames;
    colour_bytes(c, t->style.colour);
    text_print(&view->layers, "%s{\"mesh\":%u,\"poses\":%u,\"colour\":[%u,%u,%u,%u]",
               first ? "" : ",", mesh, view_array(view, "f32", poses, 7 * (size_t)kept, 4), c[0],
               c[1], c[2], c[3]);
    if (t->tinted)
        text_print(&view->layers, ",\"tints\":%u",
                   view_array(view, "u8", t->parts[TRACK_TINTS].data, 4 * (size_t)frames, 1));
    if (t->parts[TRACK_COLOURS].data)
        text_print(&view->layers, ",\"triangles\":%u",
                   view_array(view, "u8", t->parts[TRACK_COLOURS].data,
                              t->parts[TRACK_COLOURS].bytes * (t->coloured ? frames : 1), 1));
    if (t->parts[TRACK_VERTICES].data)
        write_vertices(view, t, frames);
    text_add(&view->layers, "}");
}

/* ---- groups of bodies ---- */

/* Sorts tracks so that those of one layer, or of one mesh, are neighbours. */
typedef struct track_key {
    const view_track *track;
    bool by_mesh,
        by_name; /* by_name: tracks without a name are one layer, regardless of their colours */
} track_key;

static int compare_layers(const view_track *a, const view_track *b, bool by_name) {
    uint8_t c[4] = {0}, d[4] = {0};
    if (!a->name[0] && !by_name) {
        colour_bytes(c, a->style.colour);
        colour_bytes(d, b->style.colour);
    }
    c[3] = a->style.colour.a < 1;
    d[3] = b->style.colour.a < 1;
    const int order[] = {strcmp(a->name, b->name), (int)a->style.edges - (int)b->style.edges,
                         (int)a->style.smooth - (int)b->style.smooth,
                         (int)a->style.two_sided - (int)b->style.two_sided, memcmp(c, d, 4)};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        if (order[k])
            return order[k];
    return 0;
}

static int compare_tracks(const void *a, const void *b) {
    const track_key *p = a, *q = b;
    int order = p->by_mesh ? (p->track->mesh > q->track->mesh) - (p->track->mesh < q->track->mesh)
                           : compare_layers(p->track, q->track, p->by_name);
    return order ? order : (p->track > q->track) - (p->track < q->track);
}

/* Links the tracks of each group in order: `first` is the first of its group, `next` the next
 * one, or none at the end. Returns the number of groups. */
static size_t group_tracks(const view_film *film, bool by_mesh, bool by_name, track_key *keys,
                           uint32_t *first, uint32_t *next) {
    size_t count = film->track_count, groups = 0;
    for (size_t i = 0; i < count; i++)
        keys[i] = (track_key){&film->tracks[i], by_mesh, by_name};
    if (count)
        qsort(keys, count, sizeof *keys, compare_tracks);
    for (size_t i = 0; i < count; i++) {
        uint32_t own = (uint32_t)(keys[i].track - film->tracks);
        const view_track *before = i ? keys[i - 1].track : NULL;
        bool same = before && (by_mesh ? before->mesh == keys[i].track->mesh
                                       : !compare_layers(before, keys[i].track, by_name));
        groups += !same;
        first[own] = same ? first[before - film->tracks] : own;
        next[own] = ABUT_NONE;
        if (same)
            next[before - film->tracks] = own;
    }
    return groups;
}

static void write_label(tool_view *view, uint32_t label) {
    if (!label)
        return;
    const view_kept_label *l = &view->film.labels[label - 1];
    if (l->amount[0]) {
        text_add(&view->layers, ",\"amount\":");
        text_quoted(&view->layers, l->amount);
    }
    if (l->note[0]) {
        text_add(&view->layers, ",\"note\":");
        text_quoted(&view->layers, l->note);
    }
    text_add(&view->layers, l->derived ? ",\"derived\":true" : "");
    text_add(&view->layers, l->hidden ? ",\"hidden\":true" : "");
    text_add(&view->layers, l->result ? ",\"result\":true" : "");
}

static void write_group(tool_view *view, uint32_t begin, const uint32_t *next,
                        const uint32_t *meshes, const char *name) {
    const view_track *t = &view->film.tracks[begin];
    view_layer(view, "bodies", name);
    write_label(view, t->label);
    text_print(&view->layers, ",\"edges\":%s,\"smooth\":%s,\"twoSided\":%s,\"bodies\":[",
               t->style.edges ? "true" : "false", t->style.smooth ? "true" : "false",
               t->style.two_sided ? "true" : "false");
    for (uint32_t i = begin; i != ABUT_NONE; i = next[i])
        write_body(view, &view->film.tracks[i], meshes[i], i == begin);
    text_add(&view->layers, "]}");
}

/* Bodies with one name are a layer; those without are grouped by colour, unless there are too
 * many. */
static void write_bodies(tool_view *view) {
    const view_film *film = &view->film;
    size_t count = film->track_count, unnamed = 0;
    track_key *keys = tool_array(count + 1, sizeof *keys);
    uint32_t *meshes = tool_alloc(4 * (count + 1)), *first = tool_alloc(4 * (count + 1)),
             *next = tool_alloc(4 * (count + 1));
    group_tracks(film, true, false, keys, first, next);
    for (uint32_t i = 0; i < count; i++)
        meshes[i] = first[i] < i ? meshes[first[i]] : view_mesh(view, film->tracks[i].mesh);
    bool many = group_tracks(film, false, false, keys, first, next) > LAYERS_MAX;
    if (many)
        group_tracks(film, false, true, keys, first, next);
    for (uint32_t i = 0; i < count; i++) {
        char name[LABEL_NAME];
        if (first[i] != i)
            continue;
        if (film->tracks[i].name[0] || many)
            snprintf(name, sizeof name, "%s",
                     film->tracks[i].name[0] ? film->tracks[i].name : "bodies");
        else
            snprintf(name, sizeof name, "surface %zu", ++unnamed);
        write_group(view, i, next, meshes, name);
    }
}

void view_film_end(tool_view *view) {
    view_film *film = &view->film;
    write_bodies(view);
    for (size_t i = 0; i < film->mark_count; i++) {
        const view_marks *m = &film->marks[i];
        if (!m->count)
            continue;
        uint32_t places = view_array(view, "f32", m->places, (m->points ? 3 : 6) * m->count, 4),
                 colours = view_array(view, "u8", m->colours, 4 * m->count, 1);
        view_layer(view, m->points ? "points" : "lines", m->name);
        write_label(view, m->label);
        if (m->has_amount)
            text_print(&view->layers, ",\"amount\":%llu", (unsigned long long)m->amount);
        text_print(&view->layers, ",\"width\":%.6g,\"places\":%u,\"colours\":%u", m->width, places,
                   colours);
        if (film->count > 1)
            text_print(&view->layers, ",\"begin\":%u",
                       view_array(view, "u32", m->begin, film->count, 4));
        text_add(&view->layers, "}");
    }
}
