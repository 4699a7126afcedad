/* Creases, and corner normals for smooth shading that preserves them.
 *
 * Vertices at equal positions are merged first, so that triangle soups look smooth too. Around each
 * merged vertex, the corners of its triangles are joined across every shared edge where the two
 * faces differ by less than the crease angle. Each group of joined corners gets one normal, the sum
 * of its face normals weighted by the corner angles (Thuermer & Wuethrich 1998). Flipped neighbours
 * have opposite normals and are therefore not joined. An edge that joins no corners is a crease or
 * a boundary edge.
 */
#include "picture/picture.h"

#include <string.h>

#define CREASE_COSINE 0.643f /* of 50 degrees; with 40, thin rims of scans look ragged */

typedef struct smoothing {
    const abut_mesh *mesh;
    const f3 *faces;
    f3 *corners;      /* or null */
    uint8_t *creases; /* one per edge, at the index of the opposite corner */
    uint64_t *keys;   /* by vertex: equal for equal positions */
    uint32_t *place;  /* by vertex: the first vertex with the same position */
    uint32_t *begin;  /* corners of a merged vertex: list[begin[v]] to list[begin[v + 1]] */
    uint32_t *list;   /* corners, 3 x triangle + k, ascending within a vertex */
    uint32_t *group;  /* union-find over corners */
} smoothing;

/* ---- merging of vertices ---- */

/* A vertex is not merged after this many occupied slots, which only affects shading: input that
 * provokes collisions cannot cause quadratic time. */
enum { MAX_PROBES = 64 };

static uint64_t mix(uint64_t h) {
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

/* Coordinates rounded to a millionth of the size of the mesh: generated and converted meshes have
 * seams whose sides differ in the last digits. */
static uint64_t quantise(double x, double lo, double cells) {
    double cell = (x - lo) * cells + 0.5;
    return cell >= 0x1p21 - 1 ? 0x1fffff
           : cell > 0         ? (uint64_t)cell
                              : 0; /* unused vertices may lie outside */
}

static void compute_keys(void *data, size_t chunk, size_t begin, size_t end) {
    const smoothing *s = data;
    const abut_mesh *mesh = s->mesh;
    vec3 lo = v3_sub(mesh->bounds.lo, mesh->origin);
    double size = v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo));
    double cells = size > 1e-290 ? 0x1p20 / size : 0;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        vec3 p = mesh->positions[v];
        s->keys[v] = quantise(p.x, lo.x, cells) << 42 | quantise(p.y, lo.y, cells) << 21 |
                     quantise(p.z, lo.z, cells);
    }
}

static abut_status merge_vertices(smoothing *s, abut_context *context) {
    size_t count = s->mesh->vertex_count, slots = 64;
    while (slots < 2 * count)
        slots *= 2;
    uint32_t *table = abuti_allocate(context, slots, sizeof *table);
    if (!table)
        return ABUT_ERROR_MEMORY;
    abuti_parallel_for(context, count, 8192, compute_keys, s);
    memset(table, 0xff, slots * sizeof *table); /* ABUT_NONE */
    for (uint32_t v = 0; v < count; v++) {
        size_t slot = mix(s->keys[v]) & (slots - 1);
        s->place[v] = v;
        for (int probe = 0; probe < MAX_PROBES; probe++) {
            uint32_t other = table[slot];
            if (other == ABUT_NONE) {
                table[slot] = v;
                break;
            }
            if (s->keys[other] == s->keys[v]) {
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

/* ---- one merged vertex ---- */

static uint32_t find_group(uint32_t *group, uint32_t corner) {
    while (group[corner] != corner) {
        group[corner] = group[group[corner]];
        corner = group[corner];
    }
    return corner;
}

static void join_corners(uint32_t *group, uint32_t a, uint32_t b) {
    a = find_group(group, a);
    b = find_group(group, b);
    if (a < b)
        group[b] = a;
    else
        group[a] = b;
}

/* The angle at a corner; zero if degenerate. */
static float corner_angle(const abut_mesh *mesh, uint32_t corner) {
    uint32_t t = corner / 3, k = corner % 3;
    vec3 p = mesh->positions[mesh->indices[3 * t + k]];
    vec3 a = v3_normalise(v3_sub(mesh->positions[mesh->indices[3 * t + (k + 1) % 3]], p));
    vec3 b = v3_normalise(v3_sub(mesh->positions[mesh->indices[3 * t + (k + 2) % 3]], p));
    return atan2f((float)v3_length(v3_cross(a, b)), (float)v3_dot(a, b));
}

/* Sums up each group of corners in the order of the list, then copies the sums to its members. */
static void sum_groups(smoothing *s, const uint32_t *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        s->corners[list[i]] = f3_make(0, 0, 0);
    for (size_t i = 0; i < count; i++) {
        f3 *sum = &s->corners[find_group(s->group, list[i])];
        *sum = f3_add(*sum, f3_scale(s->faces[list[i] / 3], corner_angle(s->mesh, list[i])));
    }
    for (size_t i = 0; i < count;
         i++) { /* a group is named by its lowest corner, which therefore comes first */
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

/* The edge of a corner's triangle from that corner to the merged vertex `place`. */
static uint32_t edge_index(const smoothing *s, uint32_t corner, uint64_t place) {
    uint32_t first = corner - corner % 3, next = first + (corner + 1) % 3;
    uint32_t last = first + (corner + 2) % 3;
    return s->place[s->mesh->indices[next]] == place ? last : next;
}

static bool is_degenerate(f3 n) {
    return f3_dot(n, n) < 0.5f;
}

/* Processes the corners at vertex v that share one edge; their key is the other end of the edge. */
static void process_edge(smoothing *s, uint32_t v, const sort_key *corners, size_t count) {
    bool crease = count == 1;
    for (size_t i = 1; i < count; i++) {
        f3 a = s->faces[corners[i - 1].value / 3], b = s->faces[corners[i].value / 3];
        if (f3_dot(a, b) >= CREASE_COSINE)
            join_corners(s->group, corners[i - 1].value, corners[i].value);
        else if (!is_degenerate(a) && !is_degenerate(b))
            crease = true;
    }
    for (size_t i = 0; v < corners->key && i < count; i++) /* once per edge, from its lower end */
        s->creases[edge_index(s, corners[i].value, corners->key)] = crease;
}

/* Processes the sorted edges of a vertex, two per corner. */
static void process_vertex(smoothing *s, uint32_t v, const sort_key *edges) {
    const uint32_t *list = s->list + s->begin[v];
    size_t count = s->begin[v + 1] - s->begin[v];
    for (size_t begin = 0, end; begin < 2 * count; begin = end) {
        for (end = begin + 1; end < 2 * count && edges[end].key == edges[begin].key;)
            end++;
        process_edge(s, v, edges + begin, end - begin);
    }
    if (s->corners)
        sum_groups(s, list, count);
}

/* Both edges of each corner, with the vertex at their other end as key. */
static void list_edges(const smoothing *s, size_t v, sort_key *edges) {
    for (size_t i = 0; i < 2 * (size_t)(s->begin[v + 1] - s->begin[v]); i++) {
        uint32_t corner = s->list[s->begin[v] + i / 2], t = corner / 3;
        uint32_t k = (corner + 1 + (uint32_t)(i & 1)) % 3;
        edges[i] = (sort_key){s->place[s->mesh->indices[3 * t + k]], corner};
    }
}

enum {
    SMALL_VERTEX_CORNERS = 32
}; /* vertices with more corners are sorted separately, with allocated memory */

static void process_small_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    smoothing *s = data;
    sort_key edges[2 * SMALL_VERTEX_CORNERS];
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        size_t count = s->begin[v + 1] - s->begin[v];
        for (size_t i = s->begin[v]; i < s->begin[v + 1]; i++)
            s->group[s->list[i]] = s->list[i];
        if (count > SMALL_VERTEX_CORNERS)
            continue;
        list_edges(s, v, edges);
        for (size_t i = 1; i < 2 * count; i++) { /* insertion sort: short, and nearly sorted */
            sort_key edge = edges[i];
            size_t at = i;
            for (; at > 0 && edges[at - 1].key > edge.key; at--)
                edges[at] = edges[at - 1];
            edges[at] = edge;
        }
        process_vertex(s, (uint32_t)v, edges);
    }
}

static abut_status process_large_vertices(smoothing *s, abut_context *context) {
    size_t most = 0;
    for (size_t v = 0; v < s->mesh->vertex_count; v++)
        if (s->begin[v + 1] - s->begin[v] > most)
            most = s->begin[v + 1] - s->begin[v];
    if (most <= SMALL_VERTEX_CORNERS)
        return ABUT_OK;
    sort_key *edges = abuti_allocate(context, most, 4 * sizeof *edges);
    for (size_t v = 0; edges && v < s->mesh->vertex_count; v++) {
        size_t count = s->begin[v + 1] - s->begin[v];
        if (count <= SMALL_VERTEX_CORNERS)
            continue;
        list_edges(s, v, edges);
        process_vertex(s, (uint32_t)v, abuti_sort_by_key(edges, edges + 2 * count, 2 * count));
    }
    abut_status status = edges ? ABUT_OK : ABUT_ERROR_MEMORY;
    abuti_release(context, edges);
    return status;
}

abut_status abuti_corner_normals(abut_context *context, const abut_mesh *mesh, const f3 *faces,
                                 uint8_t *creases, f3 *corners) {
    size_t corner_count = 3 * (size_t)mesh->triangle_count;
    smoothing s = {.mesh = mesh, .faces = faces, .creases = creases, .corners = corners};
    memset(creases, 0, corner_count);
    s.keys = abuti_allocate(context, mesh->vertex_count, sizeof *s.keys);
    s.place = abuti_allocate(context, mesh->vertex_count, sizeof *s.place);
    s.begin = abuti_allocate(context, (size_t)mesh->vertex_count + 2, sizeof *s.begin);
    s.list = abuti_allocate(context, corner_count, sizeof *s.list);
    s.group = abuti_allocate(context, corner_count, sizeof *s.group);
    abut_status status = ABUT_ERROR_MEMORY;
    if (s.keys && s.place && s.begin && s.list && s.group)
        status = merge_vertices(&s, context);
    if (!status) {
        list_corners(&s);
        abuti_parallel_for(context, mesh->vertex_count, 4096, process_small_vertices, &s);
        status = process_large_vertices(&s, context);
    }
    ABUTI_RELEASE(context, s.keys, s.place, s.begin, s.list, s.group);
    return status;
}
