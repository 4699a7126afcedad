/* The content of a live page: layers made of a picture. Parts that are equal to those of the frame
 * before keep their version, so that pages do not fetch them again. */
#include "live/live.h"

#include <stdio.h>
#include <string.h>

#define STATE_BYTES_MAX ((uint64_t)1 << 30)

/* ---- the view ---- */

static void add_to_box(abut_box *box, abut_vec3 p) {
    for (int k = 0; k < 3; k++) {
        (&box->lo.x)[k] = fmin((&box->lo.x)[k], (&p.x)[k]);
        (&box->hi.x)[k] = fmax((&box->hi.x)[k], (&p.x)[k]);
    }
}

static void add_corners(abut_box *box, const picture_item *item) {
    const abut_box b = abut_mesh_bounds(item->mesh);
    for (int k = 0; k < 8 && b.lo.x <= b.hi.x; k++) {
        abut_vec3 p = {k & 1 ? b.hi.x : b.lo.x, k & 2 ? b.hi.y : b.lo.y, k & 4 ? b.hi.z : b.lo.z};
        if (!abut_pose_apply(&item->pose, p, &p))
            add_to_box(box, p);
    }
}

static bool is_zero(abut_vec3 v) {
    return v.x == 0 && v.y == 0 && v.z == 0;
}

void abuti_live_set_view(live_view *view, const abut_picture *picture) {
    const abut_picture_options *camera = &picture->options;
    abut_box box = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
    abut_vec3 up = camera->up;
    int exponent = 0;
    if (view->is_set)
        return;
    for (size_t i = 0; i < picture->item_count; i++) {
        add_corners(&box, &picture->items[i]);
        if (is_zero(up))
            up = abut_mesh_up(picture->items[i].mesh);
    }
    for (size_t i = 0; i < picture->mark_count; i++) {
        add_to_box(&box, picture->marks[i].from);
        add_to_box(&box, picture->marks[i].to);
    }
    *view = (live_view){.is_set = box.lo.x <= box.hi.x, .scale = 1, .up = up};
    if (is_zero(up))
        view->up.z = 1;
    view->eye = camera->eye_direction;
    if (is_zero(view->eye))
        view->eye = view->up.y > 0.9 ? (abut_vec3){0.6, 0.55, 1} : (abut_vec3){0.6, -1, 0.55};
    view->fov = camera->field_of_view > 0 ? camera->field_of_view : 30;
    if (!view->is_set)
        return;
    const abut_vec3 extent = {box.hi.x - box.lo.x, box.hi.y - box.lo.y, box.hi.z - box.lo.z};
    const double size = fmax(extent.x, fmax(extent.y, extent.z));
    view->extent = extent;
    view->centre = (abut_vec3){box.lo.x / 2 + box.hi.x / 2, box.lo.y / 2 + box.hi.y / 2,
                               box.lo.z / 2 + box.hi.z / 2};
    if (size > 0)
        frexp(size, &exponent);
    view->scale = ldexp(1, -exponent);
}

static void place_point(const live_view *view, abut_vec3 p, float *to) {
    to[0] = (float)((p.x - view->centre.x) * view->scale);
    to[1] = (float)((p.y - view->centre.y) * view->scale);
    to[2] = (float)((p.z - view->centre.z) * view->scale);
}

static void place_mesh(const live_view *view, const picture_item *item, float *to) {
    abut_quat q = item->pose.rotation;
    abut_vec3 at = abut_mesh_local_origin(item->mesh);
    const double length = sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
    if (length > 0)
        q = (abut_quat){q.x / length, q.y / length, q.z / length, q.w / length};
    else
        q.w = 1;
    (void)abut_pose_apply(&item->pose, at, &at); /* the picture has checked the pose */
    to[0] = (float)q.x;
    to[1] = (float)q.y;
    to[2] = (float)q.z;
    to[3] = (float)q.w;
    place_point(view, at, to + 4);
}

static void store_colour(uint8_t *to, abut_colour colour) {
    const float c[4] = {colour.r, colour.g, colour.b, colour.a};
    for (int k = 0; k < 4; k++)
        to[k] = (uint8_t)lrintf(255 * fminf(1, fmaxf(0, c[k])));
}

/* ---- layers ---- */

static void free_layer(abut_context *context, live_layer *layer) {
    abut_mesh_destroy(layer->mesh);
    ABUTI_RELEASE(context, layer->positions, layer->indices, layer->places, layer->colours,
                  layer->items, layer->triangles);
}

void abuti_live_free_state(abut_context *context, live_state *state) {
    for (size_t i = 0; i < state->layer_count; i++)
        free_layer(context, &state->layers[i]);
    ABUTI_RELEASE(context, state->layers, state->items, state->text);
    memset(state, 0, sizeof *state);
}

static bool same_look(const live_layer *a, const live_layer *b) {
    return a->kind == b->kind && a->edges == b->edges && a->smooth == b->smooth &&
           a->two_sided == b->two_sided && a->movable == b->movable && a->width == b->width &&
           a->transparent == b->transparent && strcmp(a->name, b->name) == 0;
}

/* Returns a layer with this look and mesh, which is added if there is none; or null with the error
 * set. The layer that was used last is tried first. */
static live_layer *find_layer(abut_context *context, live_state *state, const live_layer *look,
                              size_t *last, bool is_alone) {
    for (size_t k = 0; k < state->layer_count && !is_alone; k++) {
        const size_t i = (*last + k) % state->layer_count;
        live_layer *layer = &state->layers[i];
        if (layer->mesh == look->mesh && !layer->triangles && same_look(layer, look)) {
            *last = i;
            return layer;
        }
    }
    if (abuti_grow(context, &state->layers, state->layer_count, state->layer_count + 1,
                   sizeof *state->layers, &state->layer_room))
        return NULL;
    *last = state->layer_count++;
    state->layers[*last] = *look;
    if (look->mesh)
        abut_mesh_retain(look->mesh);
    return &state->layers[*last];
}

/* Grows the arrays of a layer for one more element of `each` numbers. */
static abut_status grow_layer(abut_context *context, live_layer *layer, size_t each) {
    abut_status status = abuti_grow(context, &layer->places, each * layer->count,
                                    each * (layer->count + 1), sizeof(float), &layer->place_room);
    if (!status)
        status = abuti_grow(context, &layer->colours, 4 * layer->count, 4 * (layer->count + 1), 1,
                            &layer->colour_room);
    if (!status && layer->mesh)
        status = abuti_grow(context, &layer->items, layer->count, layer->count + 1,
                            sizeof *layer->items, &layer->item_room);
    return status;
}

static abut_status add_mesh(abut_context *context, const live_view *view, const picture_item *item,
                            uint32_t number, const char *name, bool is_movable, live_state *state,
                            size_t *last) {
    live_layer look = {.kind = LIVE_BODIES,
                       .edges = item->edges,
                       .smooth = item->smooth,
                       .two_sided = item->two_sided,
                       .movable = is_movable,
                       .transparent = item->colour.a < 1,
                       .mesh = item->mesh};
    snprintf(look.name, sizeof look.name, "%s", name ? name : "bodies");
    live_layer *layer = find_layer(context, state, &look, last, item->triangle_colour != NULL);
    abut_status status = layer ? grow_layer(context, layer, 7) : ABUT_ERROR_MEMORY;
    if (status)
        return status;
    place_mesh(view, item, layer->places + 7 * layer->count);
    store_colour(layer->colours + 4 * layer->count, item->colour);
    layer->items[layer->count++] = number;
    state->items[number] = (live_item){abut_mesh_local_origin(item->mesh), is_movable};
    if (!item->triangle_colour)
        return ABUT_OK;
    const size_t triangles = abut_mesh_triangle_count(item->mesh);
    layer->triangles = abuti_allocate(context, triangles, 4);
    for (size_t i = 0; layer->triangles && i < triangles; i++)
        store_colour(layer->triangles + 4 * i, item->triangle_colour[i]);
    return layer->triangles ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static abut_status add_mark(abut_context *context, const live_view *view, const picture_mark *mark,
                            const char *name, live_state *state, size_t *last) {
    const size_t each = mark->is_point ? 3 : 6;
    live_layer look = {.kind = mark->is_point ? LIVE_POINTS : LIVE_LINES,
                       .width = (double)mark->width};
    snprintf(look.name, sizeof look.name, "%s", name);
    live_layer *layer = find_layer(context, state, &look, last, false);
    abut_status status = layer ? grow_layer(context, layer, each) : ABUT_ERROR_MEMORY;
    if (status)
        return status;
    place_point(view, mark->from, layer->places + each * layer->count);
    if (!mark->is_point)
        place_point(view, mark->to, layer->places + each * layer->count + 3);
    store_colour(layer->colours + 4 * layer->count++, mark->colour);
    return ABUT_OK;
}

/* ---- what has changed ---- */

static bool same_triangles(const live_layer *before, const live_layer *layer) {
    return before->mesh && before->triangle_count == layer->triangle_count &&
           before->vertex_count == layer->vertex_count &&
           (before->mesh == layer->mesh || memcmp(before->indices, abut_mesh_indices(layer->mesh),
                                                  12 * (size_t)layer->triangle_count) == 0);
}

/* Fills the arrays of the mesh of a layer, except for those that are equal to those of `before`. */
static abut_status fill_mesh(abut_context *context, const live_view *view, live_layer *layer,
                             const live_layer *before) {
    layer->vertex_count = abut_mesh_vertex_count(layer->mesh);
    layer->triangle_count = abut_mesh_triangle_count(layer->mesh);
    const size_t numbers = 3 * (size_t)layer->vertex_count,
                 corners = 3 * (size_t)layer->triangle_count;
    const bool same = before && same_look(before, layer) && same_triangles(before, layer);
    const abut_vec3 *from = abut_mesh_local_positions(layer->mesh);
    layer->positions = abuti_allocate(context, numbers, sizeof *layer->positions);
    if (!same)
        layer->indices = abuti_allocate(context, corners, sizeof *layer->indices);
    if (!layer->positions || (!same && !layer->indices))
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < layer->vertex_count; i++) {
        layer->positions[3 * i] = (float)(from[i].x * view->scale);
        layer->positions[3 * i + 1] = (float)(from[i].y * view->scale);
        layer->positions[3 * i + 2] = (float)(from[i].z * view->scale);
    }
    if (!same) {
        memcpy(layer->indices, abut_mesh_indices(layer->mesh), 4 * corners);
    } else if (memcmp(layer->positions, before->positions, 4 * numbers) == 0) {
        abuti_release(context, layer->positions);
        layer->positions = NULL;
    }
    return ABUT_OK;
}

static uint64_t size_of(const live_layer *layer) {
    return 12 * (uint64_t)layer->vertex_count + 16 * (uint64_t)layer->triangle_count +
           36 * (uint64_t)layer->count;
}

static abut_status fill_state(abut_context *context, const live_view *view,
                              const abut_picture *picture, const abut_live_frame *frame,
                              const live_state *before, live_state *state) {
    abut_status status = ABUT_OK;
    size_t last = 0, text_bytes = frame->text ? strlen(frame->text) + 1 : 0;
    uint64_t bytes = 0;
    state->item_count = picture->item_count;
    state->items = abuti_allocate(context, state->item_count, sizeof *state->items);
    if (!state->items)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < picture->item_count && !status; i++)
        status = add_mesh(context, view, &picture->items[i], (uint32_t)i,
                          frame->names ? frame->names[i] : NULL,
                          frame->movable && frame->movable[i], state, &last);
    for (size_t i = 0; i < picture->mark_count && !status; i++) {
        const picture_mark *mark = &picture->marks[i];
        const char *given = mark->is_point ? frame->point_name : frame->line_name;
        if (mark->colour.a >= 0.05f) /* others only extend the picture */
            status = add_mark(context, view, mark,
                              given            ? given
                              : mark->is_point ? "points"
                                               : "lines",
                              state, &last);
    }
    for (size_t i = 0; i < state->layer_count && !status; i++) {
        live_layer *layer = &state->layers[i];
        if (layer->mesh)
            status = fill_mesh(context, view, layer,
                               i < before->layer_count ? &before->layers[i] : NULL);
        bytes += size_of(layer);
    }
    if (!status && bytes > STATE_BYTES_MAX)
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "abut_live_show: the contents have %.2f GiB; the limit is 1 GiB",
                            (double)bytes / (double)STATE_BYTES_MAX);
    if (!status && text_bytes) {
        state->text = abuti_allocate(context, text_bytes, 1);
        if (!state->text)
            return ABUT_ERROR_MEMORY;
        memcpy(state->text, frame->text, text_bytes);
    }
    return status;
}

abut_status abuti_live_make_state(abut_context *context, const live_view *view,
                                  const abut_picture *picture, const abut_live_frame *frame,
                                  const live_state *before, live_state *state) {
    memset(state, 0, sizeof *state);
    const abut_status status = fill_state(context, view, picture, frame, before, state);
    if (status)
        abuti_live_free_state(context, state);
    return status;
}

/* Moves an array that has not changed. */
#define MOVE(to, from, member)             \
    do {                                   \
        if (!(to)->member) {               \
            (to)->member = (from)->member; \
            (from)->member = NULL;         \
        }                                  \
    } while (0)

/* Sets the versions of a layer after `before`, which has the same look and triangles. */
static void continue_layer(live_layer *layer, live_layer *before, uint64_t version) {
    const size_t each = layer->kind == LIVE_BODIES ? 7 : layer->kind == LIVE_LINES ? 6 : 3;
    const bool same_places =
        layer->count == before->count &&
        memcmp(layer->places, before->places, 4 * each * layer->count) == 0 &&
        memcmp(layer->colours, before->colours, 4 * layer->count) == 0 &&
        (!layer->items || memcmp(layer->items, before->items, 4 * layer->count) == 0);
    const bool same_colours = !layer->triangles || memcmp(layer->triangles, before->triangles,
                                                          4 * (size_t)layer->triangle_count) == 0;
    layer->shape_version = before->shape_version;
    layer->position_version = layer->positions ? version : before->position_version;
    layer->place_version = same_places ? before->place_version : version;
    layer->triangle_version = same_colours ? before->triangle_version : version;
    MOVE(layer, before, positions);
    MOVE(layer, before, indices);
}

void abuti_live_replace(abut_context *context, live_state *state, live_state *next,
                        uint64_t version) {
    for (size_t i = 0; i < next->layer_count; i++) {
        live_layer *layer = &next->layers[i],
                   *before = i < state->layer_count ? &state->layers[i] : NULL;
        layer->shape_version = layer->position_version = layer->place_version =
            layer->triangle_version = version;
        if (before && same_look(before, layer) && (layer->mesh ? !layer->indices : !before->mesh) &&
            !layer->triangles == !before->triangles)
            continue_layer(layer, before, version);
        else if (layer->mesh && before)
            MOVE(layer, before, indices); /* only the colours of its triangles are new */
        if (layer->mesh && before)
            MOVE(layer, before, positions);
    }
    abuti_live_free_state(context, state);
    *state = *next;
}
