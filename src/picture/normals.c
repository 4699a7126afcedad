/* Corner normals for smooth shading that keeps creases.
 *
 * Vertices at the same place are taken as one first, so that triangle soups look smooth too. Around
 * each place the corners of its triangles are joined across every shared edge where the two faces
 * differ by less than the crease angle; each group of joined corners gets one normal, the sum of
 * its face normals weighted by the corner angles (Thuermer & Wuethrich 1998). Flipped neighbours
 * have opposite normals and so stay apart.
 */
#include "picture/picture.h"

#include <string.h>

#define CREASE_COSINE 0.719f /* of 44 degrees: an eight-sided prism is still faceted */

typedef struct smoothing {
    const abut_mesh *mesh;
    const f3 *faces;
    f3 *corners;
    uint32_t *place; /* of each vertex: the first vertex there */
    uint32_t *begin; /* corners of a place: list[begin[v]] up to list[begin[v + 1]] */
    uint32_t *list;  /* corner numbers, 3 x triangle + k, ascending within a place */
    uint32_t *group; /* union-find over corners */
} smoothing;

/* ---- places ---- */

/* A vertex gives up after this many occupied slots and stays alone, which only costs looks: input
 * made to collide cannot take quadratic time. */
enum { MOST_PROBES = 64 };

static uint64_t mix(uint64_t h) {
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

static uint64_t hash_of(vec3 p) {
    double c[3] = {p.x + 0.0, p.y + 0.0, p.z + 0.0}; /* makes -0 the same as 0 */
    uint64_t bits[3];
    memcpy(bits, c, sizeof bits);
    return mix(mix(mix(bits[0]) + bits[1]) + bits[2]);
}

static abut_status find_places(smoothing *s, abut_context *context) {
    const abut_mesh *mesh = s->mesh;
    size_t slots = 64;
    while (slots < 2 * (size_t)mesh->vertex_count)
        slots *= 2;
    uint32_t *table = abuti_allocate(context, slots, sizeof *table);
    if (!table)
        return ABUT_ERROR_MEMORY;
    memset(table, 0xff, slots * sizeof *table); /* ABUT_NONE */
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        vec3 p = mesh->positions[v];
        size_t slot = hash_of(p) & (slots - 1);
        s->place[v] = v;
        for (int probe = 0; probe < MOST_PROBES; probe++) {
            uint32_t other = table[slot];
            if (other == ABUT_NONE) {
                table[slot] = v;
                break;
            }
            vec3 o = mesh->positions[other];
            if (o.x == p.x && o.y == p.y && o.z == p.z) {
                s->place[v] = other;
                break;
            }
            slot = (slot + 1) & (slots - 1);
        }
    }
    abuti_release(context, table);
    return ABUT_OK;
}

static void list_corners(smoothing *s) {
    const abut_mesh *mesh = s->mesh;
    size_t corner_count = 3 * (size_t)mesh->triangle_count;
    memset(s->begin, 0, ((size_t)mesh->vertex_count + 2) * sizeof *s->begin);
    for (size_t i = 0; i < corner_count; i++)
        s->begin[s->place[mesh->indices[i]] + 2]++;
    for (size_t v = 0; v < mesh->vertex_count; v++)
        s->begin[v + 2] += s->begin[v + 1];
    for (size_t i = 0; i < corner_count; i++)
        s->list[s->begin[s->place[mesh->indices[i]] + 1]++] = (uint32_t)i;
}

/* ---- around one place ---- */

static uint32_t find_group(uint32_t *group, uint32_t corner) {
    while (group[corner] != corner) {
        group[corner] = group[group[corner]];
        corner = group[corner];
    }
    return corner;
}

static void join_if_smooth(smoothing *s, uint32_t a, uint32_t b) {
    if (f3_dot(s->faces[a / 3], s->faces[b / 3]) < CREASE_COSINE)
        return;
    a = find_group(s->group, a);
    b = find_group(s->group, b);
    if (a < b)
        s->group[b] = a;
    else
        s->group[a] = b;
}

/* The angle at a corner; zero where degenerate. */
static float corner_angle(const abut_mesh *mesh, uint32_t corner) {
    uint32_t t = corner / 3, k = corner % 3;
    vec3 p = mesh->positions[mesh->indices[3 * t + k]];
    vec3 a = v3_normalise(v3_sub(mesh->positions[mesh->indices[3 * t + (k + 1) % 3]], p));
    vec3 b = v3_normalise(v3_sub(mesh->positions[mesh->indices[3 * t + (k + 2) % 3]], p));
    return atan2f((float)v3_length(v3_cross(a, b)), (float)v3_dot(a, b));
}

/* Adds up each group of corners in the order of the list, then hands the sums out. */
static void sum_groups(smoothing *s, const uint32_t *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        s->corners[list[i]] = f3_make(0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        f3 *sum = &s->corners[find_group(s->group, list[i])];
        *sum = f3_add(*sum, f3_scale(s->faces[list[i] / 3], corner_angle(s->mesh, list[i])));
    }
    for (size_t i = 0; i < count; i++) { /* the group's number is its lowest, so it comes first */
        uint32_t first = find_group(s->group, list[i]);
        if (first == list[i])
            s->corners[first] = f3_normalise(s->corners[first]);
        s->corners[list[i]] = s->corners[first];
    }
    for (size_t i = 0; i < count; i++) { /* sums that cancel */
        f3 n = s->corners[list[i]];
        if (!(f3_dot(n, n) > 0.5f))
            s->corners[list[i]] = s->faces[list[i] / 3];
    }
}

/* Both edges of each corner, by the place at their other end, equal ones next to each other. */
static void join_run(smoothing *s, const uint64_t *keys, const uint32_t *values, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (keys[i] == keys[i - 1])
            join_if_smooth(s, values[i], values[i - 1]);
}

static void list_edges(const smoothing *s, const uint32_t *list, size_t count, uint64_t *keys,
                       uint32_t *values) {
    for (size_t i = 0; i < 2 * count; i++) {
        uint32_t corner = list[i / 2], t = corner / 3, k = (corner + 1 + (uint32_t)(i & 1)) % 3;
        keys[i] = s->place[s->mesh->indices[3 * t + k]];
        values[i] = corner;
    }
}

enum { USUAL_CORNERS = 32 }; /* more than these at a place are sorted apart, with memory */

static void smooth_usual(void *data, size_t chunk, size_t begin, size_t end) {
    smoothing *s = data;
    uint64_t keys[2 * USUAL_CORNERS];
    uint32_t values[2 * USUAL_CORNERS];
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        const uint32_t *list = s->list + s->begin[v];
        size_t count = s->begin[v + 1] - s->begin[v];
        for (size_t i = 0; i < count; i++)
            s->group[list[i]] = list[i];
        if (count > USUAL_CORNERS)
            continue;
        list_edges(s, list, count, keys, values);
        for (size_t i = 1; i < 2 * count; i++) { /* insertion sort: short, and nearly ordered */
            uint64_t key = keys[i];
            uint32_t value = values[i];
            size_t at = i;
            for (; at > 0 && keys[at - 1] > key; at--) {
                keys[at] = keys[at - 1];
                values[at] = values[at - 1];
            }
            keys[at] = key;
            values[at] = value;
        }
        join_run(s, keys, values, 2 * count);
        sum_groups(s, list, count);
    }
}

static abut_status smooth_crowded(smoothing *s, abut_context *context) {
    size_t most = 0;
    for (size_t v = 0; v < s->mesh->vertex_count; v++)
        if (s->begin[v + 1] - s->begin[v] > most)
            most = s->begin[v + 1] - s->begin[v];
    if (most <= USUAL_CORNERS)
        return ABUT_OK;
    uint64_t *keys = abuti_allocate(context, most, 4 * sizeof *keys);
    uint32_t *values = abuti_allocate(context, most, 4 * sizeof *values);
    for (size_t v = 0; keys && values && v < s->mesh->vertex_count; v++) {
        const uint32_t *list = s->list + s->begin[v];
        size_t count = s->begin[v + 1] - s->begin[v];
        if (count <= USUAL_CORNERS)
            continue;
        list_edges(s, list, count, keys, values);
        abuti_sort(keys, values, 2 * count);
        join_run(s, keys, values, 2 * count);
        sum_groups(s, list, count);
    }
    abut_status status = keys && values ? ABUT_OK : ABUT_ERROR_MEMORY;
    abuti_release(context, keys);
    abuti_release(context, values);
    return status;
}

abut_status abuti_corner_normals(abut_context *context, const abut_mesh *mesh, const f3 *faces,
                                 f3 *corners) {
    size_t corner_count = 3 * (size_t)mesh->triangle_count;
    smoothing s = {.mesh = mesh, .faces = faces, .corners = corners};
    s.place = abuti_allocate(context, mesh->vertex_count, sizeof *s.place);
    s.begin = abuti_allocate(context, (size_t)mesh->vertex_count + 2, sizeof *s.begin);
    s.list = abuti_allocate(context, corner_count, sizeof *s.list);
    s.group = abuti_allocate(context, corner_count, sizeof *s.group);
    abut_status status = ABUT_ERROR_MEMORY;
    if (s.place && s.begin && s.list && s.group)
        status = find_places(&s, context);
    if (!status) {
        list_corners(&s);
        abuti_parallel_for(context, mesh->vertex_count, 4096, smooth_usual, &s);
        status = smooth_crowded(&s, context);
    }
    abuti_release(context, s.place);
    abuti_release(context, s.begin);
    abuti_release(context, s.list);
    abuti_release(context, s.group);
    return status;
}
