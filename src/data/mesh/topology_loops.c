/* Boundary loops.
 *
 * Every boundary edge has two ends. An end is paired with a mate: the boundary edge at the other
 * side of the fan of faces around their common vertex. So at a vertex where two fans touch, each
 * fan has its own pairs. If the fan ends at a non-manifold edge there is no such mate; these ends
 * are then paired with each other vertex by vertex, incoming edges with outgoing ones first, and at
 * most one per vertex remains unpaired. Following mates visits every boundary edge exactly once, in
 * closed trails, and in open ones between two unpaired ends. When a trail returns to a vertex, a
 * loop is split off there, so that no loop has a vertex twice.
 *
 * Linear in the faces around boundary vertices, except for one sort of the ends without a mate in
 * their fan.
 */
#include "mesh/mesh.h"

typedef struct loop_search {
    abut_context *context;
    const abut_topology_arrays *view;
    const uint32_t *indices;
    uint32_t count;   /* boundary edges */
    uint32_t *edge;   /* of each of them */
    uint32_t *vertex; /* 2 each: end 2i is the start of edge i, 2i + 1 its end, in the direction of
                         its face */
    uint32_t *slot;   /* of every edge of the mesh: its index among boundary edges */
    uint32_t *mate;   /* of every end: another end, or ABUT_NONE */
    uint32_t *place;  /* of every vertex: its index on the path, or ABUT_NONE */
    uint32_t *path;   /* vertices of the trail so far */
    uint32_t *loop_length, *loop_vertices;
    uint32_t *chain_length, *chain_vertices;
    uint32_t loop_count, chain_count;
    size_t loop_total, chain_total;
} loop_search;

static bool is_boundary(const abut_topology_arrays *view, size_t edge) {
    return view->edge_face_begin[edge + 1] - view->edge_face_begin[edge] == 1;
}

/* ---- mates ---- */

static void list_edges(loop_search *w) {
    const abut_topology_arrays *view = w->view;
    uint32_t i = 0;
    for (uint32_t e = 0; e < view->edge_count; e++) {
        if (!is_boundary(view, e))
            continue;
        uint32_t face = view->edge_faces[view->edge_face_begin[e]];
        uint32_t low = view->edges[2 * (size_t)e], high = view->edges[2 * (size_t)e + 1];
        bool is_up = abuti_runs_up(view, w->indices, face, e);
        w->edge[i] = e;
        w->slot[e] = i;
        w->vertex[2 * (size_t)i] = is_up ? low : high;
        w->vertex[2 * (size_t)i + 1] = is_up ? high : low;
        i++;
    }
}

/* From boundary edge `edge` around `vertex` to the boundary edge at the other side of the fan, or
 * ABUT_NONE if a non-manifold edge comes first. The path cannot be a cycle: it starts at a boundary
 * edge, and every edge on it has at most two faces. */
static uint32_t fan_end(const loop_search *w, uint32_t edge, uint32_t vertex) {
    const abut_topology_arrays *view = w->view;
    uint32_t face = view->edge_faces[view->edge_face_begin[edge]];
    for (;;) {
        const uint32_t *corner = w->indices + 3 * (size_t)face;
        const uint32_t *side = view->triangle_edges + 3 * (size_t)face;
        uint32_t k = corner[0] == vertex ? 0 : corner[1] == vertex ? 1 : 2;
        if (side[k] == edge)
            k = (k + 2) % 3;
        edge = side[k];
        if (is_boundary(view, edge))
            return edge;
        face = view->neighbours[3 * (size_t)face + k];
        if (face == ABUT_NONE)
            return ABUT_NONE;
    }
}

static void pair_ends(loop_search *w, uint32_t a, uint32_t b) {
    w->mate[a] = b;
    w->mate[b] = a;
}

/* Pairs ends across fans; returns the number of ends without a mate. */
static size_t pair_across_fans(loop_search *w) {
    size_t unpaired = 0;
    for (size_t end = 0; end < 2 * (size_t)w->count; end++)
        w->mate[end] = ABUT_NONE;
    for (uint32_t end = 0; end < 2 * w->count; end++) {
        if (w->mate[end] != ABUT_NONE)
            continue;
        uint32_t other = fan_end(w, w->edge[end / 2], w->vertex[end]);
        if (other == ABUT_NONE) {
            unpaired++;
            continue;
        }
        uint32_t slot = w->slot[other];
        uint32_t mate = 2 * slot + (w->vertex[2 * (size_t)slot + 1] == w->vertex[end]);
        pair_ends(w, end, mate);
    }
    return unpaired;
}

/* Pairs the ends of one vertex: each outgoing one with an incoming one, then the remaining ones. */
static void pair_at_vertex(loop_search *w, const uint64_t *keys, size_t count) {
    for (size_t outgoing = 0, incoming = 0;; outgoing++, incoming++) {
        while (outgoing < count && keys[outgoing] % 2)
            outgoing++;
        while (incoming < count && keys[incoming] % 2 == 0)
            incoming++;
        if (outgoing == count || incoming == count)
            break;
        pair_ends(w, (uint32_t)keys[outgoing], (uint32_t)keys[incoming]);
    }
    uint32_t waiting = ABUT_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t end = (uint32_t)keys[i];
        if (w->mate[end] != ABUT_NONE)
            continue;
        if (waiting != ABUT_NONE)
            pair_ends(w, waiting, end);
        waiting = waiting == ABUT_NONE ? end : ABUT_NONE;
    }
}

static abut_status pair_remaining(loop_search *w, size_t unpaired) {
    uint64_t *keys, *buffer;
    size_t count = 0;
    if (ABUTI_ALLOCATE(w->context, ABUTI_ARRAY(keys, unpaired), ABUTI_ARRAY(buffer, unpaired)))
        return ABUT_ERROR_MEMORY;
    for (uint32_t end = 0; end < 2 * w->count; end++)
        if (w->mate[end] == ABUT_NONE)
            keys[count++] = (uint64_t)w->vertex[end] << 32 | end;
    abuti_sort_keys(keys, buffer, count);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && keys[next] >> 32 == keys[i] >> 32;)
            next++;
        pair_at_vertex(w, keys + i, next - i);
    }
    ABUTI_RELEASE(w->context, keys, buffer);
    return ABUT_OK;
}

/* ---- trails ---- */

/* Moves path[from, length) to the loops, or to the chains. */
static void split_path(loop_search *w, size_t from, size_t length, bool is_loop) {
    uint32_t *to = is_loop ? w->loop_vertices + w->loop_total : w->chain_vertices + w->chain_total;
    for (size_t i = from; i < length; i++) {
        to[i - from] = w->path[i];
        w->place[w->path[i]] = ABUT_NONE;
    }
    if (is_loop) {
        w->loop_length[w->loop_count++] = (uint32_t)(length - from);
        w->loop_total += length - from;
    } else {
        w->chain_length[w->chain_count++] = (uint32_t)(length - from);
        w->chain_total += length - from;
    }
}

/* Follows the trail that starts with the edge of `end`, away from its vertex. Clears the index of
 * each visited edge. */
static void follow_trail(loop_search *w, uint32_t end) {
    size_t length = 1;
    w->path[0] = w->vertex[end];
    w->place[w->path[0]] = 0;
    for (uint32_t at = end; at != ABUT_NONE && w->edge[at / 2] != ABUT_NONE; at = w->mate[at ^ 1]) {
        uint32_t vertex = w->vertex[at ^ 1];
        w->edge[at / 2] = ABUT_NONE;
        if (w->place[vertex] == ABUT_NONE) {
            w->place[vertex] = (uint32_t)length;
            w->path[length++] = vertex;
            continue;
        }
        size_t from = w->place[vertex];
        split_path(w, from, length, true);
        w->place[vertex] = (uint32_t)from; /* the path continues from here */
        length = from + 1;
    }
    if (length > 1)
        split_path(w, 0, length, false);
    w->place[w->path[0]] = ABUT_NONE;
}

static void follow_trails(loop_search *w) {
    /* Open trails first: those that start in the direction of their face, then the remaining ones.
     */
    for (uint32_t incoming = 0; incoming < 2; incoming++)
        for (uint32_t end = incoming; end < 2 * w->count; end += 2)
            if (w->mate[end] == ABUT_NONE && w->edge[end / 2] != ABUT_NONE)
                follow_trail(w, end);
    for (uint32_t i = 0; i < w->count; i++)
        if (w->edge[i] != ABUT_NONE)
            follow_trail(w, 2 * i);
}

/* ---- results ---- */

static uint32_t *lengths_to_begins(abut_context *context, const uint32_t *length, size_t count) {
    uint32_t *begin = abuti_allocate(context, count + 1, sizeof *begin);
    if (!begin)
        return NULL;
    begin[0] = 0;
    for (size_t i = 0; i < count; i++)
        begin[i + 1] = begin[i] + length[i];
    return begin;
}

static uint32_t *copy_indices(abut_context *context, const uint32_t *from, size_t count) {
    uint32_t *to = abuti_allocate(context, count, sizeof *to);
    for (size_t i = 0; to && i < count; i++)
        to[i] = from[i];
    return to;
}

static abut_status find_loops(loop_search *w, abut_topology *topology) {
    size_t count = w->count, unpaired_count = 0;
    if (ABUTI_ALLOCATE(w->context, ABUTI_ARRAY(w->edge, count), ABUTI_ARRAY(w->vertex, 2 * count),
                       ABUTI_ARRAY(w->mate, 2 * count),
                       ABUTI_ARRAY(w->slot, count ? w->view->edge_count : 0)))
        return ABUT_ERROR_MEMORY;
    list_edges(w);
    size_t unpaired = pair_across_fans(w);
    if (unpaired && pair_remaining(w, unpaired))
        return ABUT_ERROR_MEMORY;
    for (size_t end = 0; end < 2 * count; end++)
        unpaired_count += w->mate[end] == ABUT_NONE;
    abuti_release(w->context, w->slot);
    w->slot = NULL;

    size_t vertex_count = count ? w->view->vertex_count : 0;
    if (ABUTI_ALLOCATE(w->context, ABUTI_ARRAY(w->place, vertex_count),
                       ABUTI_ARRAY(w->path, count + 1), ABUTI_ARRAY(w->loop_length, count / 3),
                       ABUTI_ARRAY(w->loop_vertices, count),
                       ABUTI_ARRAY(w->chain_length, unpaired_count / 2),
                       ABUTI_ARRAY(w->chain_vertices,
                                   unpaired_count ? count + unpaired_count / 2 : 0)))
        return ABUT_ERROR_MEMORY;
    for (size_t v = 0; v < vertex_count; v++)
        w->place[v] = ABUT_NONE;
    follow_trails(w);

    topology->arrays[8] = lengths_to_begins(w->context, w->loop_length, w->loop_count);
    topology->arrays[9] = copy_indices(w->context, w->loop_vertices, w->loop_total);
    topology->arrays[10] = lengths_to_begins(w->context, w->chain_length, w->chain_count);
    topology->arrays[11] = copy_indices(w->context, w->chain_vertices, w->chain_total);
    for (int i = 8; i < 12; i++)
        if (!topology->arrays[i])
            return ABUT_ERROR_MEMORY;
    return ABUT_OK;
}

abut_status abuti_topology_loops(abut_topology *topology) {
    abut_topology_arrays *view = &topology->view;
    loop_search w = {.context = topology->mesh->context,
                     .view = view,
                     .indices = topology->mesh->indices};
    for (size_t e = 0; e < view->edge_count; e++)
        w.count += is_boundary(view, e);
    if (w.count > INT32_MAX)
        return abuti_fail(
            ABUT_ERROR_LIMIT,
            "abut_topology_create: there are %u boundary edges; the limit is %d. Weld "
            "the mesh first",
            w.count, INT32_MAX);
    abut_status status = find_loops(&w, topology);
    ABUTI_RELEASE(w.context, w.edge, w.vertex, w.mate, w.slot, w.place, w.path, w.loop_length,
                  w.loop_vertices, w.chain_length, w.chain_vertices);
    if (status)
        return status;
    view->loop_count = w.loop_count;
    view->loop_begin = topology->arrays[8];
    view->loop_vertices = topology->arrays[9];
    view->chain_count = w.chain_count;
    view->chain_begin = topology->arrays[10];
    view->chain_vertices = topology->arrays[11];
    return ABUT_OK;
}
