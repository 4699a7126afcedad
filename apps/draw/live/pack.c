/* Messages to pages: a header in JSON and arrays, as docs/viewer.md describes. */
#include "live/live.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add_bytes(live_bytes *to, const void *data, size_t bytes) {
    if (to->has_failed ||
        abuti_grow(to->context, &to->data, to->count, to->count + bytes, 1, &to->room)) {
        to->has_failed = true;
        return;
    }
    if (bytes)
        memcpy(to->data + to->count, data, bytes);
    to->count += bytes;
}

void abuti_live_print(live_bytes *to, const char *format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    const int count = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (count < 0 || (size_t)count >= sizeof text)
        to->has_failed = true; /* callers print numbers and short words */
    else
        add_bytes(to, text, (size_t)count);
}

/* Adds ,"key":"text". Control characters are \u escapes; bytes that are not UTF-8 become ?. */
static void add_text(live_bytes *to, const char *key, const char *text) {
    abuti_live_print(to, ",\"%s\":\"", key);
    for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c;) {
        size_t length = *c < 0x80                 ? 1
                        : *c >= 0xc2 && *c < 0xe0 ? 2
                        : *c >= 0xe0 && *c < 0xf0 ? 3
                        : *c >= 0xf0 && *c < 0xf5 ? 4
                                                  : 0;
        for (size_t i = 1; i < length; i++)
            if ((c[i] & 0xc0) != 0x80)
                length = 0;
        if (length == 0)
            add_bytes(to, "?", 1);
        else if (*c < 0x20 || *c == '"' || *c == '\\')
            abuti_live_print(to, "\\u%04x", *c);
        else
            add_bytes(to, c, length);
        c += length ? length : 1;
    }
    add_bytes(to, "\"", 1);
}

typedef struct packing {
    live_bytes head, arrays, data; /* arrays: their list in JSON */
    uint32_t array_count;
} packing;

/* Adds an array of numbers, little-endian. Returns its index. */
static uint32_t add_array(packing *p, const char *type, const void *values, size_t count,
                          size_t bytes_each) {
    static const uint8_t zeros[8];
    const uint16_t one = 1;
    add_bytes(&p->data, zeros, (8 - p->data.count % 8) % 8);
    abuti_live_print(&p->arrays, "%s[\"%s\",%zu,%zu]", p->array_count ? "," : "", type,
                     p->data.count, count);
    const size_t begin = p->data.count;
    add_bytes(&p->data, values, count * bytes_each);
    if (!*(const uint8_t *)&one && !p->data.has_failed) /* a big-endian machine */
        for (uint8_t *v = p->data.data + begin; v < p->data.data + p->data.count; v += bytes_each)
            for (size_t i = 0; i < bytes_each / 2; i++) {
                const uint8_t byte = v[i];
                v[i] = v[bytes_each - 1 - i];
                v[bytes_each - 1 - i] = byte;
            }
    return p->array_count++;
}

/* The parts of a layer that have changed since a version, as ,"key":array. */
static void add_mesh(packing *p, const live_layer *layer, uint64_t after) {
    if (layer->position_version > after || layer->shape_version > after)
        abuti_live_print(&p->head, ",\"positions\":%u",
                         add_array(p, "f32", layer->positions, 3 * (size_t)layer->vertex_count, 4));
    if (layer->shape_version > after)
        abuti_live_print(&p->head, ",\"indices\":%u",
                         add_array(p, "u32", layer->indices, 3 * (size_t)layer->triangle_count, 4));
    if (layer->triangles && (layer->triangle_version > after || layer->shape_version > after))
        abuti_live_print(&p->head, ",\"triangles\":%u",
                         add_array(p, "u8", layer->triangles, 4 * (size_t)layer->triangle_count,
                                   1));
}

static void add_layer(packing *p, const live_layer *layer, size_t id, uint64_t after) {
    static const char *const kinds[] = {"bodies", "lines", "points"};
    const size_t each = layer->kind == LIVE_BODIES ? 7 : layer->kind == LIVE_LINES ? 6 : 3;
    const bool is_new = layer->shape_version > after;
    abuti_live_print(&p->head, "{\"id\":%zu,\"kind\":\"%s\"", id, kinds[layer->kind]);
    if (is_new) {
        add_text(&p->head, "name", layer->name);
        abuti_live_print(&p->head,
                         ",\"edges\":%s,\"smooth\":%s,\"twoSided\":%s,\"movable\":%s,\"width\":%d",
                         layer->edges ? "true" : "false", layer->smooth ? "true" : "false",
                         layer->two_sided ? "true" : "false", layer->movable ? "true" : "false",
                         (int)ceil(layer->width));
    }
    if (layer->mesh)
        add_mesh(p, layer, after);
    if (is_new || layer->place_version > after) {
        abuti_live_print(&p->head, ",\"%s\":%u", layer->mesh ? "poses" : "places",
                         add_array(p, "f32", layer->places, each * layer->count, 4));
        abuti_live_print(&p->head, ",\"colours\":%u",
                         add_array(p, "u8", layer->colours, 4 * layer->count, 1));
        if (layer->mesh)
            abuti_live_print(&p->head, ",\"items\":%u",
                             add_array(p, "u32", layer->items, layer->count, 4));
    }
    add_bytes(&p->head, "}", 1);
}

static void add_head(packing *p, const abut_live *live, uint64_t after) {
    const live_view *v = &live->view;
    const double view[] = {v->centre.x, v->centre.y, v->centre.z, v->scale,   v->up.x,
                           v->up.y,     v->up.z,     v->eye.x,    v->eye.y,   v->eye.z,
                           v->fov,      v->extent.x, v->extent.y, v->extent.z};
    abuti_live_print(&p->head,
                     "{\"abut\":1,\"live\":%llu,\"since\":%llu,\"handled\":%llu,\"count\":%zu,"
                     "\"ended\":%s",
                     (unsigned long long)live->version, (unsigned long long)after,
                     (unsigned long long)live->handled, live->state.layer_count,
                     live->has_ended ? "true" : "false");
    add_text(&p->head, "text", live->state.text);
    if (!after) {
        abuti_live_print(&p->head, ",\"controls\":%u,\"view\":%u", live->controls,
                         add_array(p, "f64", view, sizeof view / sizeof *view, 8));
        add_text(&p->head, "title", live->title);
        add_text(&p->head, "command", live->command);
        add_text(&p->head, "unit", live->unit);
        add_text(&p->head, "version", abut_version());
    }
}

void abuti_live_pack(const abut_live *live, uint64_t after, live_bytes *to) {
    packing p = {.head.context = live->context,
                 .arrays.context = live->context,
                 .data.context = live->context};
    bool is_first = true;
    if (after > live->version || after < live->view_version)
        after = 0;
    add_head(&p, live, after);
    abuti_live_print(&p.head, ",\"layers\":[");
    for (size_t i = 0; i < live->state.layer_count; i++) {
        const live_layer *layer = &live->state.layers[i];
        if (layer->shape_version <= after && layer->position_version <= after &&
            layer->place_version <= after && layer->triangle_version <= after)
            continue;
        add_bytes(&p.head, ",", is_first ? 0 : 1);
        add_layer(&p, layer, i, after);
        is_first = false;
    }
    abuti_live_print(&p.head, "],\"arrays\":[");
    add_bytes(&p.head, p.arrays.data, p.arrays.count);
    abuti_live_print(&p.head, "]}");
    while (p.head.count % 8 != 4 && !p.head.has_failed)
        add_bytes(&p.head, " ", 1);
    const uint8_t length[4] = {(uint8_t)p.head.count, (uint8_t)(p.head.count >> 8),
                               (uint8_t)(p.head.count >> 16), (uint8_t)(p.head.count >> 24)};
    add_bytes(to, length, 4);
    add_bytes(to, p.head.data, p.head.count);
    add_bytes(to, p.data.data, p.data.count);
    to->has_failed =
        to->has_failed || p.head.has_failed || p.arrays.has_failed || p.data.has_failed;
    ABUTI_RELEASE(live->context, p.head.data, p.arrays.data, p.data.data);
}
