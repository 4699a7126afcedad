/* Triangles with the same three vertices, and the seams of components.
 *
 * Two triangles with the same vertices share all their edges, so it is enough to compare the faces
 * of one edge: each triangle is looked at where its lowest-numbered edge is, and compared by the
 * vertex opposite. Edges with few faces sort on the stack and in parallel; the few that have many
 * sort one after the other in one buffer. Triangles that name a vertex twice are no faces of edges
 * and are compared by their edge (or point) and the vertex that they name twice.
 */
#include "mesh/mesh.h"

#define GRAIN 8192

typedef struct marking {
    const abut_topology_view *view;
    const uint32_t *indices;
    unsigned char *duplicate;
} marking;

/* ---- faces of edges ---- */

static uint32_t lowest_edge(const abut_topology_view *view, uint32_t face) {
    const uint32_t *side = view->triangle_edges + 3 * (size_t)face;
    uint32_t low = side[0] < side[1] ? side[0] : side[1];
    return low < side[2] ? low : side[2];
}

static void mark_repeats(uint64_t *keys, uint64_t *buffer, size_t count, int key_shift,
                         unsigned char *duplicate) {
    abuti_sort_keys(keys, buffer, count);
    for (size_t i = 1; i < count; i++)
        if (keys[i] >> key_shift == keys[i - 1] >> key_shift)
            duplicate[keys[i] & (((uint64_t)1 << key_shift) - 1)] = 1;
}

static void mark_edge(const marking *m, uint32_t edge, uint64_t *keys, uint64_t *buffer) {
    const uint32_t *faces;
    uint32_t face_count = abuti_edge_faces(m->view, edge, &faces);
    size_t count = 0;
    for (uint32_t i = 0; i < face_count; i++) {
        if (lowest_edge(m->view, faces[i]) != edge)
            continue;
        uint32_t opposite = (abuti_side_of(m->view, faces[i], edge) + 2) % 3;
        keys[count++] = (uint64_t)m->indices[3 * (size_t)faces[i] + opposite] << 32 | faces[i];
    }
    mark_repeats(keys, buffer, count, 32, m->duplicate);
}

static void mark_edges(void *data, size_t chunk, size_t begin, size_t end) {
    const marking *m = data;
    (void)chunk;
    for (size_t e = begin; e < end; e++) {
        uint64_t keys[ABUTI_SORT_SMALL];
        uint32_t count = m->view->edge_face_begin[e + 1] - m->view->edge_face_begin[e];
        if (count > 1 && count <= ABUTI_SORT_SMALL)
            mark_edge(m, (uint32_t)e, keys, NULL);
    }
}

static abut_status mark_long_edges(const marking *m, abut_context *context) {
    uint32_t longest = 0;
    for (size_t e = 0; e < m->view->edge_count; e++) {
        uint32_t count = m->view->edge_face_begin[e + 1] - m->view->edge_face_begin[e];
        longest = count > longest ? count : longest;
    }
    if (longest <= ABUTI_SORT_SMALL)
        return ABUT_OK;
    uint64_t *keys = abuti_allocate(context, longest, sizeof *keys);
    uint64_t *buffer = abuti_allocate(context, longest, sizeof *buffer);
    for (uint32_t e = 0; keys && buffer && e < m->view->edge_count; e++)
        if (m->view->edge_face_begin[e + 1] - m->view->edge_face_begin[e] > ABUTI_SORT_SMALL)
            mark_edge(m, e, keys, buffer);
    abut_status status = keys && buffer ? ABUT_OK : ABUT_ERROR_MEMORY;
    abuti_release(context, keys);
    abuti_release(context, buffer);
    return status;
}

/* ---- collapsed triangles ---- */

/* Which edge a collapsed triangle is, and which end of it comes twice, as one number. */
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
    uint64_t *keys = abuti_allocate(context, collapsed_count, sizeof *keys);
    uint64_t *buffer = abuti_allocate(context, collapsed_count, sizeof *buffer);
    for (int points = 0; keys && buffer && points < 2; points++) {
        size_t count = 0;
        for (uint32_t t = 0; t < m->view->triangle_count; t++) {
            const uint32_t *corner = m->indices + 3 * (size_t)t;
            bool is_point = corner[0] == corner[1] && corner[1] == corner[2];
            if (is_point == (points == 1) && abuti_is_collapsed(corner))
                /* 33 bits for the key and 31 for the triangle: fewer than 2^32 / 3 of them */
                keys[count++] = (is_point ? corner[0] : segment_key(m, t)) << 31 | t;
        }
        mark_repeats(keys, buffer, count, 31, m->duplicate);
    }
    abut_status status = keys && buffer ? ABUT_OK : ABUT_ERROR_MEMORY;
    abuti_release(context, keys);
    abuti_release(context, buffer);
    return status;
}

abut_status abuti_mark_duplicates(const abut_topology *topology, bool has_collapsed,
                                  unsigned char *duplicate) {
    abut_context *context = topology->mesh->context;
    marking m = {.view = &topology->view,
                 .indices = topology->mesh->indices,
                 .duplicate = duplicate};
    abuti_parallel_for(context, m.view->edge_count, GRAIN, mark_edges, &m);
    abut_status status = mark_long_edges(&m, context);
    if (!status && has_collapsed)
        status = mark_collapsed(&m, context);
    return status;
}

/* ---- seams ---- */

typedef struct seam_work {
    const abut_topology *topology;
    unsigned char *watertight, *balanced;
} seam_work;

static void check_seams(void *data, size_t chunk, size_t begin, size_t end) {
    seam_work *w = data;
    const abut_topology_view *view = &w->topology->view;
    (void)chunk;
    for (size_t e = begin; e < end; e++) {
        const uint32_t *faces;
        uint32_t count = abuti_edge_faces(view, (uint32_t)e, &faces), up = 0;
        if (count == 0)
            continue;
        uint32_t component = view->triangle_component[faces[0]];
        if (count % 2)
            __atomic_store_n(&w->watertight[component], 0, __ATOMIC_RELAXED);
        for (uint32_t i = 0; w->balanced && i < count; i++)
            up += abuti_runs_up(view, w->topology->mesh->indices, faces[i], (uint32_t)e);
        if (w->balanced && 2 * up != count)
            __atomic_store_n(&w->balanced[component], 0, __ATOMIC_RELAXED);
    }
}

void abuti_component_seams(const abut_topology *topology, unsigned char *watertight,
                           unsigned char *balanced) {
    for (size_t c = 0; c < topology->view.component_count; c++) {
        watertight[c] = 1;
        if (balanced)
            balanced[c] = 1;
    }
    seam_work w = {.topology = topology, .watertight = watertight, .balanced = balanced};
    abuti_parallel_for(topology->mesh->context, topology->view.edge_count, GRAIN, check_seams, &w);
}
