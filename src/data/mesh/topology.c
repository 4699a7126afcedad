/* Edges, faces of edges and vertices, neighbours and components of a triangle mesh.
 *
 * Method. A counting sort gives the faces of every vertex. The edges whose higher vertex is v are
 * all in faces of v, so each vertex collects its own half-edges as keys (lower vertex, half-edge)
 * and sorts that short list: edges are then sorted by higher, then lower vertex. Vertices are
 * independent, so both passes over them (sort and count, then number and write) run in parallel and
 * give the same result on any number of threads. Half-edge 3 f + k is side k of face f.
 *
 * Time O(n log n) for any mesh, also with one vertex in all triangles; linear if vertices have few
 * faces. Scratch memory: 8 bytes per half-edge (16 if a vertex has dozens of edges) and 12 per
 * vertex; the result has 72 per triangle.
 */
#include "mesh/mesh.h"

#define VERTEX_GRAIN 8192
#define EDGE_GRAIN 16384

typedef struct topology_build {
    abut_context *context;
    const uint32_t *indices;
    uint32_t vertex_count, triangle_count;
    bool has_collapsed;
    bool is_whole; /* false: without edges, neighbours and components */
    uint32_t *vertex_face_begin, *vertex_faces;
    uint32_t *key_begin;     /* a vertex's range of keys */
    uint32_t *edge_begin;    /* its edges; first counts, then offsets */
    uint32_t *face_begin;    /* its range of edge_faces; first counts, then offsets */
    uint64_t *keys, *buffer; /* buffer only if some range is long */
    uint32_t *edges, *edge_face_begin, *edge_faces, *triangle_edges, *neighbours;
    uint32_t *component;
} topology_build;

/* ---- faces of vertices ---- */

static void count_corners(topology_build *b) {
    uint32_t *faces = b->vertex_face_begin, *keys = b->key_begin;
    for (size_t t = 0; t < b->triangle_count; t++) {
        uint32_t p = b->indices[3 * t], q = b->indices[3 * t + 1], r = b->indices[3 * t + 2];
        faces[p]++;
        if (p != q && q != r && r != p) {
            faces[q]++;
            faces[r]++;
            keys[p > q ? p : q]++;
            keys[q > r ? q : r]++;
            keys[r > p ? r : p]++;
            continue;
        }
        b->has_collapsed = true;
        uint32_t other = q != p ? q : r;
        if (other != p) {
            faces[other]++;
            keys[other > p ? other : p]++;
        }
    }
}

/* Turns counts into ends, so that filling backwards leaves begins; begin[count] is the total.
 * Returns the largest count. */
static uint32_t sum_to_ends(uint32_t *begin, size_t count) {
    uint32_t sum = 0, largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = begin[i] > largest ? begin[i] : largest;
        begin[i] = sum += begin[i];
    }
    begin[count] = sum;
    return largest;
}

/* Turns counts into begins. */
static void sum_to_begins(uint32_t *begin, size_t count) {
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t own = begin[i];
        begin[i] = sum;
        sum += own;
    }
    begin[count] = sum;
}

static void fill_vertex_faces(topology_build *b) {
    uint32_t *begin = b->vertex_face_begin;
    for (uint32_t t = b->triangle_count; t-- > 0;) {
        const uint32_t *corner = b->indices + 3 * (size_t)t;
        uint32_t p = corner[0], q = corner[1], r = corner[2];
        b->vertex_faces[--begin[p]] = t;
        if (q != p)
            b->vertex_faces[--begin[q]] = t;
        if (r != p && r != q)
            b->vertex_faces[--begin[r]] = t;
    }
}

/* ---- edges ---- */

/* Collects a key for every side of a face of `v` whose higher vertex is v. A collapsed face has its
 * only edge on two sides and gives the first of them. */
static size_t collect_keys(const topology_build *b, uint32_t v, uint64_t *keys) {
    size_t count = 0;
    for (uint32_t i = b->vertex_face_begin[v]; i < b->vertex_face_begin[v + 1]; i++) {
        uint32_t face = b->vertex_faces[i];
        const uint32_t *corner = b->indices + 3 * (size_t)face;
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t from = corner[k], to = corner[k == 2 ? 0 : k + 1];
            uint32_t low = from < to ? from : to, high = from < to ? to : from;
            if (high != v || low == v)
                continue;
            keys[count++] = (uint64_t)low << 32 | (3 * face + k);
            if (b->has_collapsed && abuti_is_collapsed(corner))
                break;
        }
    }
    return count;
}

static bool is_real_face(const topology_build *b, uint32_t half) {
    return !b->has_collapsed || !abuti_is_collapsed(b->indices + 3 * (size_t)(half / 3));
}

/* First pass: sorts the keys of each vertex, counts its edges and their faces. */
static void sort_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    topology_build *b = data;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        uint64_t *keys = b->keys + b->key_begin[v];
        uint64_t local[ABUTI_SORT_SMALL];
        size_t expected = b->key_begin[v + 1] - b->key_begin[v];
        uint64_t *target = expected <= ABUTI_SORT_SMALL ? local : keys;
        size_t count = collect_keys(b, (uint32_t)v, target);
        abuti_sort_keys(target, b->buffer ? b->buffer + b->key_begin[v] : NULL, count);
        uint32_t edge_count = 0, face_count = 0;
        for (size_t i = 0; i < count; i++) {
            keys[i] = target[i];
            edge_count += i == 0 || target[i] >> 32 != target[i - 1] >> 32;
            face_count += is_real_face(b, (uint32_t)target[i]);
        }
        b->edge_begin[v] = edge_count;
        b->face_begin[v] = face_count;
    }
}

/* Writes one edge from its keys; returns its number of faces. */
static uint32_t write_edge(topology_build *b, uint32_t edge, uint32_t high, const uint64_t *keys,
                           size_t count, uint32_t *faces) {
    uint32_t face_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t half = (uint32_t)keys[i];
        b->triangle_edges[half] = edge;
        if (is_real_face(b, half))
            faces[face_count++] = half;
    }
    if (b->is_whole) {
        b->edges[2 * (size_t)edge] = (uint32_t)(keys[0] >> 32);
        b->edges[2 * (size_t)edge + 1] = high;
        for (size_t i = 0; i < count; i++)
            b->neighbours[(uint32_t)keys[i]] = ABUT_NONE;
        if (face_count == 2) {
            b->neighbours[faces[0]] = faces[1] / 3;
            b->neighbours[faces[1]] = faces[0] / 3;
        }
    }
    for (uint32_t i = 0; i < face_count; i++)
        faces[i] /= 3;
    return face_count;
}

/* Second pass: numbers the edges and writes all arrays that depend on them. */
static void write_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    topology_build *b = data;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        const uint64_t *keys = b->keys + b->key_begin[v];
        size_t count = b->key_begin[v + 1] - b->key_begin[v];
        uint32_t edge = b->edge_begin[v], face = b->face_begin[v];
        for (size_t i = 0, next; i < count; i = next, edge++) {
            for (next = i + 1; next < count && keys[next] >> 32 == keys[i] >> 32;)
                next++;
            b->edge_face_begin[edge] = face;
            face += write_edge(b, edge, (uint32_t)v, keys + i, next - i, b->edge_faces + face);
        }
    }
}

/* Writes the sides of collapsed triangles that the second pass omits. */
static void write_collapsed(topology_build *b) {
    for (size_t t = 0; t < b->triangle_count; t++) {
        const uint32_t *corner = b->indices + 3 * t;
        if (!abuti_is_collapsed(corner))
            continue;
        uint32_t edge = ABUT_NONE;
        for (uint32_t k = 0; k < 3; k++) {
            bool is_side = corner[k] != corner[(k + 1) % 3];
            if (is_side && edge == ABUT_NONE)
                edge = b->triangle_edges[3 * t + k];
            b->triangle_edges[3 * t + k] = is_side ? edge : ABUT_NONE;
            if (b->is_whole)
                b->neighbours[3 * t + k] = ABUT_NONE;
        }
    }
}

/* ---- components ---- */

static void join_faces(void *data, size_t chunk, size_t begin, size_t end) {
    topology_build *b = data;
    (void)chunk;
    for (size_t e = begin; e < end; e++)
        for (uint32_t i = b->edge_face_begin[e] + 1; i < b->edge_face_begin[e + 1]; i++)
            abuti_join(b->component, b->edge_faces[i - 1], b->edge_faces[i]);
}

/* Collapsed triangles belong to the faces of their edge, or to the first collapsed triangle on it.
 */
static abut_status join_collapsed(topology_build *b, uint32_t edge_count) {
    uint32_t *first = abuti_allocate(b->context, edge_count, sizeof *first);
    if (!first)
        return ABUT_ERROR_MEMORY;
    for (size_t e = 0; e < edge_count; e++) {
        uint32_t begin = b->edge_face_begin[e];
        first[e] = begin < b->edge_face_begin[e + 1] ? b->edge_faces[begin] : ABUT_NONE;
    }
    for (uint32_t t = 0; t < b->triangle_count; t++) {
        if (!abuti_is_collapsed(b->indices + 3 * (size_t)t))
            continue;
        const uint32_t *side = b->triangle_edges + 3 * (size_t)t;
        uint32_t edge = side[0] != ABUT_NONE ? side[0] : side[1];
        if (edge == ABUT_NONE)
            continue; /* a point is a component of its own */
        if (first[edge] == ABUT_NONE)
            first[edge] = t;
        abuti_join(b->component, t, first[edge]);
    }
    abuti_release(b->context, first);
    return ABUT_OK;
}

/* Numbers components by their lowest triangle, in place: a parent is lower than its child, so it
 * already has its number when the child is processed. */
static uint32_t number_components(uint32_t *component, uint32_t triangle_count) {
    uint32_t count = 0;
    for (uint32_t t = 0; t < triangle_count; t++)
        component[t] = component[t] == t ? count++ : component[component[t]];
    return count;
}

/* ---- all steps ---- */

static abut_status find_vertex_faces(topology_build *b, abut_topology *created) {
    size_t vertex_count = b->vertex_count;
    b->vertex_face_begin = created->arrays[4] =
        abuti_allocate_zeroed(b->context, vertex_count + 1, sizeof(uint32_t));
    b->key_begin = abuti_allocate_zeroed(b->context, vertex_count + 1, sizeof(uint32_t));
    if (!b->vertex_face_begin || !b->key_begin)
        return ABUT_ERROR_MEMORY;
    count_corners(b);
    sum_to_ends(b->vertex_face_begin, vertex_count);
    b->vertex_faces = created->arrays[5] =
        abuti_allocate(b->context, b->vertex_face_begin[vertex_count], sizeof(uint32_t));
    if (!b->vertex_faces)
        return ABUT_ERROR_MEMORY;
    fill_vertex_faces(b);
    return ABUT_OK;
}

static abut_status find_edges(topology_build *b, abut_topology *created) {
    size_t vertex_count = b->vertex_count, half_count = 3 * (size_t)b->triangle_count;
    uint32_t longest = 0;
    for (size_t v = 0; v < vertex_count; v++)
        longest = b->key_begin[v] > longest ? b->key_begin[v] : longest;
    sum_to_begins(b->key_begin, vertex_count);
    if (ABUTI_ALLOCATE(b->context, ABUTI_ARRAY(b->edge_begin, vertex_count + 1),
                       ABUTI_ARRAY(b->face_begin, vertex_count + 1),
                       ABUTI_ARRAY(b->keys, b->key_begin[vertex_count])))
        return ABUT_ERROR_MEMORY;
    if (longest > ABUTI_SORT_SMALL &&
        !(b->buffer = abuti_allocate(b->context, b->key_begin[vertex_count], sizeof *b->buffer)))
        return ABUT_ERROR_MEMORY;
    abut_status status =
        abuti_parallel_try(b->context, "topology", vertex_count, VERTEX_GRAIN, sort_vertices, b);
    abuti_release(b->context, b->buffer);
    b->buffer = NULL;
    if (status)
        return status;
    sum_to_begins(b->edge_begin, vertex_count);
    sum_to_begins(b->face_begin, vertex_count);
    size_t edge_count = b->edge_begin[vertex_count], face_count = b->face_begin[vertex_count];
    uint32_t **to = created->arrays;
    if (ABUTI_ALLOCATE(b->context, ABUTI_ARRAY(to[1], half_count),
                       ABUTI_ARRAY(to[2], edge_count + 1), ABUTI_ARRAY(to[3], face_count)) ||
        (b->is_whole && ABUTI_ALLOCATE(b->context, ABUTI_ARRAY(to[0], 2 * edge_count),
                                       ABUTI_ARRAY(to[6], half_count))))
        return ABUT_ERROR_MEMORY;
    b->edges = to[0];
    b->triangle_edges = to[1];
    b->edge_face_begin = to[2];
    b->edge_faces = to[3];
    b->neighbours = to[6];
    status =
        abuti_parallel_try(b->context, "topology", vertex_count, VERTEX_GRAIN, write_vertices, b);
    if (status)
        return status;
    b->edge_face_begin[edge_count] = (uint32_t)face_count;
    if (b->has_collapsed)
        write_collapsed(b);
    return ABUT_OK;
}

static abut_status find_components(topology_build *b, abut_topology *created) {
    uint32_t edge_count = b->edge_begin[b->vertex_count];
    b->component = created->arrays[7] =
        abuti_allocate(b->context, b->triangle_count, sizeof(uint32_t));
    if (!b->component)
        return ABUT_ERROR_MEMORY;
    for (uint32_t t = 0; t < b->triangle_count; t++)
        b->component[t] = t;
    abut_status status =
        abuti_parallel_try(b->context, "topology", edge_count, EDGE_GRAIN, join_faces, b);
    if (status)
        return status;
    if (b->has_collapsed && join_collapsed(b, edge_count))
        return ABUT_ERROR_MEMORY;
    created->view.component_count = number_components(b->component, b->triangle_count);
    return ABUT_OK;
}

static abut_status build_arrays(topology_build *b, abut_topology *created) {
    abut_status status = abuti_progress(b->context, "topology", 0);
    if (!status)
        status = find_vertex_faces(b, created);
    if (!status)
        status = abuti_progress(b->context, "topology", 0.2);
    if (!status)
        status = find_edges(b, created);
    if (!status)
        status = abuti_progress(b->context, "topology", 0.7);
    if (!status && b->is_whole)
        status = find_components(b, created);
    if (status)
        return status;
    abut_topology_arrays *view = &created->view;
    view->vertex_count = b->vertex_count;
    view->triangle_count = b->triangle_count;
    view->edge_count = b->edge_begin[b->vertex_count];
    view->edges = b->edges;
    view->triangle_edges = b->triangle_edges;
    view->edge_face_begin = b->edge_face_begin;
    view->edge_faces = b->edge_faces;
    view->vertex_face_begin = b->vertex_face_begin;
    view->vertex_faces = b->vertex_faces;
    view->neighbours = b->neighbours;
    view->triangle_component = b->component;
    return ABUT_OK;
}

static void release_scratch(topology_build *b) {
    ABUTI_RELEASE(b->context, b->key_begin, b->edge_begin, b->face_begin, b->keys, b->buffer);
}

static abut_status create_topology(abut_mesh *mesh, bool is_whole, abut_topology **topology) {
    abut_topology *created = abuti_allocate_zeroed(mesh->context, 1, sizeof *created);
    if (!created)
        return ABUT_ERROR_MEMORY;
    created->mesh = abut_mesh_retain(mesh);
    topology_build b = {.context = mesh->context,
                        .indices = mesh->indices,
                        .vertex_count = mesh->vertex_count,
                        .triangle_count = mesh->triangle_count,
                        .is_whole = is_whole};
    abut_status status = build_arrays(&b, created);
    release_scratch(&b);
    if (!status)
        status = abuti_progress(mesh->context, "topology", 0.9);
    if (!status && is_whole)
        status = abuti_topology_loops(created);
    if (!status)
        status = abuti_progress(mesh->context, "topology", 1);
    if (status)
        abut_topology_destroy(created);
    else
        *topology = created;
    return status;
}

abut_status abut_topology_create(abut_mesh *mesh, abut_topology **topology) {
    if (!mesh || !topology)
        return abuti_null(__func__, mesh ? "topology" : "mesh");
    return create_topology(mesh, true, topology);
}

abut_status abuti_topology_faces(abut_mesh *mesh, abut_topology **topology) {
    return create_topology(mesh, false, topology);
}

void abut_topology_destroy(abut_topology *topology) {
    if (!topology)
        return;
    abut_mesh *mesh = topology->mesh;
    for (size_t i = 0; i < sizeof topology->arrays / sizeof topology->arrays[0]; i++)
        abuti_release(mesh->context, topology->arrays[i]);
    abuti_release(mesh->context, topology);
    abut_mesh_destroy(mesh);
}

abut_status abut_topology_get_arrays(const abut_topology *topology, abut_topology_arrays *arrays) {
    if (!topology || !arrays)
        return abuti_null(__func__, topology ? "arrays" : "topology");
    return abuti_info_write(arrays, &topology->view, sizeof topology->view, __func__);
}
