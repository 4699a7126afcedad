/* Marks problems that a single element does not show: the directions of the faces of an edge,
 * triangles with the same three vertices, and vertices that several fans share.
 *
 * All tests are local. Two triangles with the same vertices share all their edges, so it suffices
 * to compare the faces of one edge, the one opposite to the highest vertex, by that vertex. Two
 * faces of a vertex belong to one fan if they have another vertex in common. So one pass over the
 * edges and one over the vertices suffice. Both read only the corners of the faces, which matters
 * for large meshes in random order. Short lists are processed on the stack and in parallel; the few
 * long ones (a malicious edge with a million faces) are processed serially, by sorting.
 */
#include "mesh/mesh.h"

#define GRAIN 8192

typedef struct marking {
    const abut_topology_arrays *view;
    const uint32_t *indices;
    unsigned char *flawed;    /* per edge */
    unsigned char *duplicate; /* per triangle */
    unsigned char *fans;      /* per vertex */
} marking;

typedef struct buffers {
    uint64_t *keys, *buffer;
    uint32_t *parent;
} buffers;

static abut_status allocate_buffers(abut_context *context, size_t key_count, size_t parent_count,
                                    buffers *b) {
    return ABUTI_ALLOCATE(context, ABUTI_ARRAY(b->keys, key_count),
                          ABUTI_ARRAY(b->buffer, key_count), ABUTI_ARRAY(b->parent, parent_count));
}

static void release_buffers(abut_context *context, buffers *b) {
    ABUTI_RELEASE(context, b->keys, b->buffer, b->parent);
}

/* Marks the element in the low bits of every key whose high bits repeat. */
static void mark_repeats(const buffers *b, size_t count, int element_bits, unsigned char *mark) {
    abuti_sort_keys(b->keys, b->buffer, count);
    for (size_t i = 1; i < count; i++)
        if (b->keys[i] >> element_bits == b->keys[i - 1] >> element_bits)
            mark[b->keys[i] & (((uint64_t)1 << element_bits) - 1)] = 1;
}

/* ---- edges ---- */

static uint32_t edge_face_count(const marking *m, size_t edge) {
    return m->view->edge_face_begin[edge + 1] - m->view->edge_face_begin[edge];
}

static void mark_edge(const marking *m, uint32_t edge, const buffers *b) {
    const uint32_t *faces;
    uint32_t face_count = abuti_edge_faces(m->view, edge, &faces), up = 0;
    uint32_t low = m->view->edges[2 * (size_t)edge], high = m->view->edges[2 * (size_t)edge + 1];
    size_t count = 0;
    for (uint32_t i = 0; i < face_count; i++) {
        const uint32_t *corner = m->indices + 3 * (size_t)faces[i];
        uint32_t k = corner[0] == low ? 0 : corner[1] == low ? 1 : 2;
        uint32_t next = corner[k == 2 ? 0 : k + 1], last = corner[k == 0 ? 2 : k - 1];
        uint32_t opposite = next == high ? last : next;
        up += next == high;
        if (opposite > high)
            b->keys[count++] = (uint64_t)opposite << 32 | faces[i];
    }
    m->flawed[edge] = 2 * up != face_count;
    if (count > 1)
        mark_repeats(b, count, 32, m->duplicate);
}

static void mark_edges(void *data, size_t chunk, size_t begin, size_t end) {
    const marking *m = data;
    (void)chunk;
    for (size_t e = begin; e < end; e++) {
        uint64_t keys[ABUTI_SORT_SMALL];
        buffers few = {.keys = keys};
        if (edge_face_count(m, e) <= ABUTI_SORT_SMALL)
            mark_edge(m, (uint32_t)e, &few);
    }
}

static abut_status mark_long_edges(const marking *m, abut_context *context) {
    uint32_t longest = 0;
    for (size_t e = 0; e < m->view->edge_count; e++)
        longest = edge_face_count(m, e) > longest ? edge_face_count(m, e) : longest;
    if (longest <= ABUTI_SORT_SMALL)
        return ABUT_OK;
    buffers many;
    abut_status status = allocate_buffers(context, longest, 0, &many);
    for (uint32_t e = 0; !status && e < m->view->edge_count; e++)
        if (edge_face_count(m, e) > ABUTI_SORT_SMALL)
            mark_edge(m, e, &many);
    release_buffers(context, &many);
    return status;
}

/* ---- collapsed triangles ---- */

/* The edge of a collapsed triangle and the end of it that occurs twice, as one number. */
static uint64_t segment_key(const marking *m, uint32_t t) {
    const uint32_t *corner = m->indices + 3 * (size_t)t;
    const uint32_t *side = m->view->triangle_edges + 3 * (size_t)t;
    uint32_t edge = side[0] != ABUT_NONE ? side[0] : side[1];
    uint32_t twice = corner[0] == corner[1] || corner[0] == corner[2] ? corner[0] : corner[1];
    return 2 * (uint64_t)edge + (m->view->edges[2 * (size_t)edge] == twice);
}

static abut_status mark_collapsed(const marking *m, abut_context *context) {
    size_t collapsed_count = 0;
    for (size_t t = 0; t < m->view->triangle_count; t++)
        collapsed_count += abuti_is_collapsed(m->indices + 3 * t);
    if (!collapsed_count)
        return ABUT_OK;
    buffers b;
    abut_status status = allocate_buffers(context, collapsed_count, 0, &b);
    for (int points = 0; !status && points < 2; points++) {
        size_t count = 0;
        for (uint32_t t = 0; t < m->view->triangle_count; t++) {
            const uint32_t *corner = m->indices + 3 * (size_t)t;
            bool is_point = corner[0] == corner[1] && corner[1] == corner[2];
            if (is_point == (points == 1) && abuti_is_collapsed(corner))
                /* 33 bits for the key and 31 for the triangle: there are fewer than 2^32 / 3 */
                b.keys[count++] = (is_point ? corner[0] : segment_key(m, t)) << 31 | t;
        }
        mark_repeats(&b, count, 31, m->duplicate);
    }
    release_buffers(context, &b);
    return status;
}

/* ---- fans around vertices ---- */

#define STACK_FACES_MAX (ABUTI_SORT_SMALL / 2) /* each face gives two keys */

static uint32_t vertex_face_count(const marking *m, size_t vertex) {
    return m->view->vertex_face_begin[vertex + 1] - m->view->vertex_face_begin[vertex];
}

/* Joins the faces of a vertex that have another vertex in common and counts the resulting fans. An
 * edge with more than two faces joins them all: the edge is reported, and its ends are not. */
static unsigned char count_fans(const marking *m, uint32_t vertex, const buffers *b) {
    uint32_t begin = m->view->vertex_face_begin[vertex], count = vertex_face_count(m, vertex);
    uint32_t proper = 0, joined = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *corner = m->indices + 3 * (size_t)m->view->vertex_faces[begin + i];
        if (abuti_is_collapsed(corner))
            continue;
        for (uint32_t k = 0, j = 0; k < 3; k++)
            if (corner[k] != vertex)
                b->keys[2 * (size_t)proper + j++] = (uint64_t)corner[k] << 32 | proper;
        b->parent[proper] = proper;
        proper++;
    }
    abuti_sort_keys(b->keys, b->buffer, 2 * (size_t)proper);
    for (size_t i = 1; i < 2 * (size_t)proper; i++) {
        if (b->keys[i] >> 32 != b->keys[i - 1] >> 32)
            continue;
        uint32_t p = (uint32_t)b->keys[i - 1], q = (uint32_t)b->keys[i];
        while (b->parent[p] != p)
            p = b->parent[p] = b->parent[b->parent[p]];
        while (b->parent[q] != q)
            q = b->parent[q] = b->parent[b->parent[q]];
        joined += p != q;
        b->parent[p > q ? p : q] = p > q ? q : p;
    }
    return proper - joined < 2 ? (unsigned char)(proper - joined) : 2;
}

static void mark_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    const marking *m = data;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        uint64_t keys[2 * STACK_FACES_MAX];
        uint32_t parent[STACK_FACES_MAX];
        buffers few = {.keys = keys, .parent = parent};
        if (vertex_face_count(m, v) <= STACK_FACES_MAX)
            m->fans[v] = count_fans(m, (uint32_t)v, &few);
    }
}

static abut_status mark_long_vertices(const marking *m, abut_context *context) {
    uint32_t longest = 0;
    for (size_t v = 0; v < m->view->vertex_count; v++)
        longest = vertex_face_count(m, v) > longest ? vertex_face_count(m, v) : longest;
    if (longest <= STACK_FACES_MAX)
        return ABUT_OK;
    buffers many;
    abut_status status = allocate_buffers(context, 2 * (size_t)longest, longest, &many);
    for (uint32_t v = 0; !status && v < m->view->vertex_count; v++)
        if (vertex_face_count(m, v) > STACK_FACES_MAX)
            m->fans[v] = count_fans(m, v, &many);
    release_buffers(context, &many);
    return status;
}

abut_status abuti_mark_problems(const abut_topology *topology, unsigned char *flawed,
                                unsigned char *duplicate, unsigned char *fans) {
    abut_context *context = topology->mesh->context;
    marking m = {.view = &topology->view,
                 .indices = topology->mesh->indices,
                 .flawed = flawed,
                 .duplicate = duplicate,
                 .fans = fans};
    abut_status status =
        abuti_parallel_try(context, "health", m.view->edge_count, GRAIN, mark_edges, &m);
    if (!status)
        status =
            abuti_parallel_try(context, "health", m.view->vertex_count, GRAIN, mark_vertices, &m);
    if (!status)
        status = mark_long_edges(&m, context);
    if (!status)
        status = mark_collapsed(&m, context);
    if (!status)
        status = mark_long_vertices(&m, context);
    return status;
}
