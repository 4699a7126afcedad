/* Creases, and corner normals for smooth shading that preserves them.
 *
 * Vertices at equal positions are merged first, so that triangle soups look smooth too. Edges are
 * sorted by their ends, and the corners of two triangles at both ends of an edge are joined if the
 * faces differ by less than the crease angle. Each group of joined corners gets one normal, the sum
 * of its face normals weighted by the corner angles (Thuermer & Wuethrich 1998). Flipped neighbours
 * have opposite normals and are therefore not joined. An edge that joins no corners is a crease or
 * a boundary edge.
 */
#include "picture/picture.h"

#include <string.h>

#define CREASE_COSINE 0.643f /* of 50 degrees; with 40, thin rims of scans look ragged */

typedef struct smoothing {
    abut_context *context;
    const abut_mesh *mesh;
    const f3 *faces;
    f3 *corners;      /* or null */
    uint8_t *creases; /* one per edge, at the index of the opposite corner */
    sort_key *keys;   /* two arrays, for vertices or for corners */
    uint32_t *place;  /* by vertex: the first vertex with the same position */
    uint32_t *group;  /* union-find over corners */
} smoothing;

/* ---- merging of vertices ---- */

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
        s->keys[v] = (sort_key){quantise(p.x, lo.x, cells) << 42 |
                                    quantise(p.y, lo.y, cells) << 21 | quantise(p.z, lo.z, cells),
                                (uint32_t)v};
    }
}

static void merge_vertices(smoothing *s) {
    const size_t count = s->mesh->vertex_count;
    abuti_parallel_for(s->context, count, 8192, compute_keys, s);
    const sort_key *sorted = abuti_sort_by_key(s->keys, s->keys + count, count);
    for (size_t i = 0; i < count; i++)
        s->place[sorted[i].value] = i && sorted[i].key == sorted[i - 1].key
                                        ? s->place[sorted[i - 1].value]
                                        : sorted[i].value;
}

/* ---- edges ---- */

static uint32_t next_corner(uint32_t corner) {
    return corner % 3 == 2 ? corner - 2 : corner + 1;
}

static uint32_t place_of(const smoothing *s, uint32_t corner) {
    return s->place[s->mesh->indices[corner]];
}

/* The edge opposite each corner, by its ends. */
static void list_edges(void *data, size_t chunk, size_t begin, size_t end) {
    const smoothing *s = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const uint32_t next = next_corner((uint32_t)i);
        const uint64_t a = place_of(s, next), b = place_of(s, next_corner(next));
        s->keys[i] = (sort_key){a < b ? a << 32 | b : b << 32 | a, (uint32_t)i};
        s->group[i] = (uint32_t)i;
    }
}

static bool is_degenerate(f3 n) {
    return f3_dot(n, n) < 0.5f;
}

/* Joins the corners of two triangles at both ends of the edge that they share; their corners
 * opposite the edge are given. */
static void join_triangles(const smoothing *s, uint32_t one, uint32_t other) {
    const uint32_t a = next_corner(one), b = next_corner(a), c = next_corner(other),
                   d = next_corner(c);
    const bool same_way = place_of(s, a) == place_of(s, c);
    abuti_join(s->group, a, same_way ? c : d);
    abuti_join(s->group, b, same_way ? d : c);
}

/* Processes the triangles at one edge. */
static void process_edge(const smoothing *s, const sort_key *edges, size_t count) {
    bool crease = count == 1;
    for (size_t i = 1; i < count; i++) {
        f3 a = s->faces[edges[i - 1].value / 3], b = s->faces[edges[i].value / 3];
        if (f3_dot(a, b) >= CREASE_COSINE)
            join_triangles(s, edges[i - 1].value, edges[i].value);
        else if (!is_degenerate(a) && !is_degenerate(b))
            crease = true;
    }
    for (size_t i = 0; i < count; i++)
        s->creases[edges[i].value] = crease;
}

static void process_edges(smoothing *s, size_t count) {
    abuti_parallel_for(s->context, count, 8192, list_edges, s);
    const sort_key *edges = abuti_sort_by_key(s->keys, s->keys + count, count);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && edges[end].key == edges[begin].key;)
            end++;
        if (edges[begin].key >> 32 != (uint32_t)edges[begin].key) /* not of length 0 */
            process_edge(s, edges + begin, end - begin);
    }
}

/* ---- normals of corners ---- */

/* The angle at a corner; zero if degenerate. */
static float corner_angle(const abut_mesh *mesh, uint32_t corner) {
    uint32_t t = corner / 3, k = corner % 3;
    vec3 p = mesh->positions[mesh->indices[3 * t + k]];
    vec3 a = v3_normalise(v3_sub(mesh->positions[mesh->indices[3 * t + (k + 1) % 3]], p));
    vec3 b = v3_normalise(v3_sub(mesh->positions[mesh->indices[3 * t + (k + 2) % 3]], p));
    return atan2f((float)v3_length(v3_cross(a, b)), (float)v3_dot(a, b));
}

static void weight_corners(void *data, size_t chunk, size_t begin, size_t end) {
    const smoothing *s = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        s->corners[i] = f3_scale(s->faces[i / 3], corner_angle(s->mesh, (uint32_t)i));
}

/* The root of a group is its lowest corner, which therefore comes first. */
static void sum_groups(smoothing *s, size_t count) {
    abuti_parallel_for(s->context, count, 4096, weight_corners, s);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t root = abuti_root(s->group, i);
        if (root != i)
            s->corners[root] = f3_add(s->corners[root], s->corners[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t root = abuti_root(s->group, i);
        s->corners[i] = root == i ? f3_normalise(s->corners[i]) : s->corners[root];
    }
    for (size_t i = 0; i < count; i++) /* sums that cancel */
        if (!(f3_dot(s->corners[i], s->corners[i]) > 0.5f))
            s->corners[i] = s->faces[i / 3];
}

abut_status abuti_corner_normals(abut_context *context, const abut_mesh *mesh, const f3 *faces,
                                 uint8_t *creases, f3 *corners) {
    const size_t corner_count = 3 * (size_t)mesh->triangle_count,
                 key_count = corner_count > mesh->vertex_count ? corner_count : mesh->vertex_count;
    smoothing s = {.context = context,
                   .mesh = mesh,
                   .faces = faces,
                   .creases = creases,
                   .corners = corners,
                   .keys = abuti_allocate(context, key_count, 2 * sizeof *s.keys),
                   .place = abuti_allocate(context, mesh->vertex_count, sizeof *s.place),
                   .group = abuti_allocate(context, corner_count, sizeof *s.group)};
    abut_status status = s.keys && s.place && s.group ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        memset(creases, 0, corner_count);
        merge_vertices(&s);
        process_edges(&s, corner_count);
        if (corners)
            sum_groups(&s, corner_count);
    }
    ABUTI_RELEASE(context, s.keys, s.place, s.group);
    return status;
}
