/* Boundary loops: trails along boundary edges.
 *
 * An end of a boundary edge of a topology has a mate: the boundary edge at the other side of the
 * fan of faces around their common vertex. So at a vertex where two fans touch, each fan has its
 * own trail. If the fan ends at a non-manifold edge there is no such mate. A trail follows mates,
 * and otherwise unused edges without a mate, in their direction if there is such an edge, and
 * otherwise against it. When it returns to a vertex, a loop is split off there, so that no loop has
 * a vertex twice. Trails begin at vertices with an odd number of ends without a mate first. They
 * end at another one, and the remaining path is a chain. All other trails close. Every edge is in
 * one loop or chain. Linear in the faces around boundary vertices.
 */
#include "mesh/mesh.h"

#include <string.h>

/* Added to mates among links, of which there are at most INT32_MAX. */
#define MATE_BIT 0x80000000u

typedef struct trail_search {
    const uint32_t (*edges)[2];
    uint32_t count;
    uint32_t *link; /* 2 per edge, for its start and its end: the mate there + MATE_BIT; without one
                       the next edge of the vertex without a mate there, or ABUT_NONE */
    uint32_t *head; /* 2 per vertex: its first outgoing and first incoming edge without a mate */
    bool *is_used;  /* per edge */
    uint32_t *place; /* of every vertex: its index on the path, or ABUT_NONE */
    uint32_t *path;  /* vertices of the trail so far */
    abuti_vector loop_begin, loop_vertices, chain_begin, chain_vertices; /* uint32_t */
} trail_search;

static bool has_mate(uint32_t link) {
    return link != ABUT_NONE && (link & MATE_BIT);
}

static void list_edges_of_vertices(trail_search *s, uint32_t vertex_count) {
    memset(s->head, 0xff, 2 * (size_t)vertex_count * sizeof *s->head); /* ABUT_NONE */
    memset(s->place, 0xff, (size_t)vertex_count * sizeof *s->place);
    for (uint32_t e = s->count; e-- > 0;)
        for (uint32_t incoming = 0; incoming < 2; incoming++) {
            uint32_t *link = &s->link[2 * (size_t)e + incoming];
            if (has_mate(*link))
                continue;
            uint32_t *head = &s->head[2 * (size_t)s->edges[e][incoming] + incoming];
            *link = *head;
            *head = e;
        }
}

/* The number of unused outgoing or incoming edges of a vertex without a mate there. */
static uint32_t count_edges(const trail_search *s, uint32_t vertex, uint32_t incoming) {
    uint32_t count = 0;
    for (uint32_t e = s->head[2 * (size_t)vertex + incoming]; e != ABUT_NONE;
         e = s->link[2 * (size_t)e + incoming])
        count += !s->is_used[e];
    return count;
}

static bool is_odd(const trail_search *s, uint32_t vertex) {
    return (count_edges(s, vertex, 0) + count_edges(s, vertex, 1)) % 2;
}

/* Uses an edge of a vertex without a mate there, preferably an incoming one if *incoming is 1; sets
 * *incoming to what it is. Returns ABUT_NONE if all are used. */
static uint32_t use_edge(trail_search *s, uint32_t vertex, uint32_t *incoming) {
    for (int k = 0; k < 2; k++, *incoming ^= 1) {
        uint32_t *head = &s->head[2 * (size_t)vertex + *incoming];
        while (*head != ABUT_NONE && s->is_used[*head])
            *head = s->link[2 * (size_t)*head + *incoming];
        if (*head == ABUT_NONE)
            continue;
        s->is_used[*head] = true;
        return *head;
    }
    return ABUT_NONE;
}

/* Moves path[from, length) to a list of loops or chains, which have room. */
static void split_path(trail_search *s, uint32_t from, uint32_t length, abuti_vector *begin,
                       abuti_vector *vertices) {
    ABUTI_AT(begin, uint32_t, begin->count++) = (uint32_t)vertices->count;
    for (uint32_t i = from; i < length; i++) {
        ABUTI_AT(vertices, uint32_t, vertices->count++) = s->path[i];
        s->place[s->path[i]] = ABUT_NONE;
    }
}

/* The edge that follows another one at the vertex where that ends; ABUT_NONE if all are used. */
static uint32_t next_edge(trail_search *s, uint32_t edge, uint32_t *incoming) {
    const uint32_t end = !*incoming, vertex = s->edges[edge][end];
    const uint32_t link = s->link[2 * (size_t)edge + end], mate = link & ~MATE_BIT;
    if (!has_mate(link))
        return use_edge(s, vertex, incoming);
    if (s->is_used[mate])
        return ABUT_NONE;
    s->is_used[mate] = true;
    *incoming = s->edges[mate][1] == vertex;
    return mate;
}

/* Follows the trail that begins with a used edge; `incoming`: against its direction. */
static void follow_trail(trail_search *s, uint32_t edge, uint32_t incoming) {
    const uint32_t start = s->edges[edge][incoming];
    uint32_t length = 1;
    s->path[0] = start;
    s->place[start] = 0;
    for (; edge != ABUT_NONE; edge = next_edge(s, edge, &incoming)) {
        const uint32_t at = s->edges[edge][!incoming];
        if (s->place[at] == ABUT_NONE) {
            s->place[at] = length;
            s->path[length++] = at;
            continue;
        }
        const uint32_t from = s->place[at];
        split_path(s, from, length, &s->loop_begin, &s->loop_vertices);
        s->place[at] = from; /* the path continues from here */
        length = from + 1;
    }
    if (length > 1)
        split_path(s, 0, length, &s->chain_begin, &s->chain_vertices);
    s->place[start] = ABUT_NONE;
}

/* Trails that do not close begin at a vertex with more outgoing than incoming edges if possible. */
static void follow_trails(trail_search *s, uint32_t vertex_count) {
    for (int any = 0; any < 2; any++)
        for (uint32_t v = 0; v < vertex_count; v++)
            if (is_odd(s, v) && (any || count_edges(s, v, 0) > count_edges(s, v, 1))) {
                uint32_t incoming = 0;
                const uint32_t edge = use_edge(s, v, &incoming);
                follow_trail(s, edge, incoming);
            }
    for (uint32_t e = 0; e < s->count; e++)
        if (!s->is_used[e]) {
            s->is_used[e] = true;
            follow_trail(s, e, 0);
        }
}

void abuti_loops_release(abut_context *context, abuti_loops *loops) {
    ABUTI_RELEASE(context, loops->loop_begin, loops->loop_vertices, loops->chain_begin,
                  loops->chain_vertices);
}

/* Ends a list of begins, and turns all lists into arrays of exact size. */
static abut_status take_loops(abut_context *context, trail_search *s, abuti_loops *loops) {
    *loops = (abuti_loops){.loop_count = (uint32_t)s->loop_begin.count,
                           .chain_count = (uint32_t)s->chain_begin.count};
    ABUTI_AT(&s->loop_begin, uint32_t, s->loop_begin.count++) = (uint32_t)s->loop_vertices.count;
    ABUTI_AT(&s->chain_begin, uint32_t, s->chain_begin.count++) = (uint32_t)s->chain_vertices.count;
    loops->loop_begin = abuti_vector_take(context, &s->loop_begin, sizeof(uint32_t));
    loops->loop_vertices = abuti_vector_take(context, &s->loop_vertices, sizeof(uint32_t));
    loops->chain_begin = abuti_vector_take(context, &s->chain_begin, sizeof(uint32_t));
    loops->chain_vertices = abuti_vector_take(context, &s->chain_vertices, sizeof(uint32_t));
    if (loops->loop_begin && loops->loop_vertices && loops->chain_begin && loops->chain_vertices)
        return ABUT_OK;
    abuti_loops_release(context, loops);
    return ABUT_ERROR_MEMORY;
}

/* Reserves room for all loops and chains. A loop has at least two edges. A chain has one vertex
 * more than edges, and ends at two odd vertices. */
static abut_status reserve_loops(abut_context *context, trail_search *s, uint32_t vertex_count) {
    size_t odd_count = 0;
    abut_status status;
    for (uint32_t v = 0; v < vertex_count; v++)
        odd_count += is_odd(s, v);
    const size_t chains = odd_count / 2;
    if ((status =
             abuti_vector_reserve(context, &s->loop_begin, s->count / 2 + 1, sizeof(uint32_t))) ||
        (status = abuti_vector_reserve(context, &s->loop_vertices, s->count, sizeof(uint32_t))) ||
        (status = abuti_vector_reserve(context, &s->chain_begin, chains + 1, sizeof(uint32_t))))
        return status;
    return abuti_vector_reserve(context, &s->chain_vertices, chains ? s->count + chains : 0,
                                sizeof(uint32_t));
}

/* `link` has the mates, and ABUT_NONE for ends without one. */
static abut_status find_loops(abut_context *context, const uint32_t (*edges)[2], uint32_t *link,
                              uint32_t count, uint32_t vertex_count, abuti_loops *loops) {
    trail_search s = {.edges = edges, .count = count, .link = link};
    vertex_count = count ? vertex_count : 0;
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(s.head, 2 * (size_t)vertex_count),
                       ABUTI_ZEROED(s.is_used, count), ABUTI_ARRAY(s.place, vertex_count),
                       ABUTI_ARRAY(s.path, (size_t)count + 1));
    if (!status) {
        list_edges_of_vertices(&s, vertex_count);
        status = reserve_loops(context, &s, vertex_count);
    }
    if (!status) {
        follow_trails(&s, vertex_count);
        status = take_loops(context, &s, loops);
    }
    ABUTI_RELEASE(context, s.head, s.is_used, s.place, s.path, s.loop_begin.data,
                  s.loop_vertices.data, s.chain_begin.data, s.chain_vertices.data);
    return status;
}

abut_status abuti_find_loops(abut_context *context, const uint32_t (*edges)[2], uint32_t count,
                             uint32_t vertex_count, abuti_loops *loops) {
    uint32_t *link = abuti_allocate(context, count, 2 * sizeof *link);
    if (!link)
        return ABUT_ERROR_MEMORY;
    memset(link, 0xff, 2 * (size_t)count * sizeof *link); /* ABUT_NONE */
    abut_status status = find_loops(context, edges, link, count, vertex_count, loops);
    abuti_release(context, link);
    return status;
}

/* ---- of a topology ---- */

static bool is_boundary(const abut_topology_arrays *view, uint32_t edge) {
    return view->edge_face_begin[edge + 1] - view->edge_face_begin[edge] == 1;
}

/* From boundary edge `edge` around `vertex` to the boundary edge at the other side of the fan, or
 * ABUT_NONE if a non-manifold edge comes first. The path cannot be a cycle: it starts at a boundary
 * edge, and every edge on it has at most two faces. */
static uint32_t fan_end(const abut_topology *topology, uint32_t edge, uint32_t vertex) {
    const abut_topology_arrays *view = &topology->view;
    uint32_t face = view->edge_faces[view->edge_face_begin[edge]];
    for (;;) {
        const uint32_t *corner = topology->mesh->indices + 3 * (size_t)face;
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

/* Lists the boundary edges in the direction of their faces, and the mates of their ends. `slot` has
 * room for one number per edge of the mesh. */
static void list_boundary(const abut_topology *topology, uint32_t *slot, uint32_t (*edges)[2],
                          uint32_t *link) {
    const abut_topology_arrays *view = &topology->view;
    uint32_t count = 0;
    for (uint32_t e = 0; e < view->edge_count; e++) {
        if (!is_boundary(view, e))
            continue;
        const uint32_t face = view->edge_faces[view->edge_face_begin[e]];
        const bool is_up = abuti_runs_up(view, topology->mesh->indices, face, e);
        slot[e] = count;
        edges[count][0] = view->edges[2 * (size_t)e + !is_up];
        edges[count++][1] = view->edges[2 * (size_t)e + is_up];
    }
    for (uint32_t e = 0; e < view->edge_count; e++)
        for (uint32_t end = 0; end < 2 && is_boundary(view, e); end++) {
            const uint32_t other = fan_end(topology, e, edges[slot[e]][end]);
            link[2 * (size_t)slot[e] + end] =
                other == ABUT_NONE ? ABUT_NONE : slot[other] | MATE_BIT;
        }
}

abut_status abuti_topology_loops(abut_topology *topology) {
    abut_topology_arrays *view = &topology->view;
    abut_context *context = topology->mesh->context;
    abuti_loops loops;
    uint32_t count = 0, *slot, *link, (*edges)[2];
    for (uint32_t e = 0; e < view->edge_count; e++)
        count += is_boundary(view, e);
    if (count > INT32_MAX)
        return abuti_fail(
            ABUT_ERROR_LIMIT,
            "abut_topology_create: there are %u boundary edges; the limit is %d. Weld "
            "the mesh first",
            count, INT32_MAX);
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(edges, count), ABUTI_ARRAY(link, 2 * (size_t)count),
                       ABUTI_ARRAY(slot, count ? view->edge_count : 0));
    if (status)
        return status;
    if (count)
        list_boundary(topology, slot, edges, link);
    abuti_release(context, slot);
    status =
        find_loops(context, (const uint32_t(*)[2])edges, link, count, view->vertex_count, &loops);
    ABUTI_RELEASE(context, edges, link);
    if (status)
        return status;
    view->loop_count = loops.loop_count;
    view->chain_count = loops.chain_count;
    view->loop_begin = topology->arrays[8] = loops.loop_begin;
    view->loop_vertices = topology->arrays[9] = loops.loop_vertices;
    view->chain_begin = topology->arrays[10] = loops.chain_begin;
    view->chain_vertices = topology->arrays[11] = loops.chain_vertices;
    return ABUT_OK;
}
