/* The connected components of a surface, and the size of the holes of each relative to its area.
 *
 * Components are connected by shared vertices, also by those that only have equal coordinates.
 *
 * Holes are bounded by edges with one face. These are followed from vertex to vertex, in any
 * orientation of the faces. When a trail returns to one of its vertices, a loop is split off there,
 * so that no loop has a vertex twice. Holes that touch in several vertices may be split in more
 * than one way; which one depends on the order of the vertices. At edges of three or more faces the
 * boundary may end instead of closing, as that of a fin on a body: such a trail counts as if a
 * straight line closed it. A hole counts as a disc of the perimeter L of its loop, L^2 / (4 pi):
 * the largest area that a flat hole can have.
 *
 * Lengths are scaled by a power of two, so that their squares neither overflow nor underflow.
 */
#include "mesh/mesh.h"

#include <math.h>

enum { TASK_TRIANGLES = 16384 };

/* ---- components ---- */

typedef struct component_job {
    const abut_mesh *mesh;
    uint32_t *parent; /* of a vertex */
} component_job;

static void join_task(void *data, size_t chunk, size_t begin, size_t end) {
    const component_job *join = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        const uint32_t *corner = join->mesh->indices + 3 * t;
        abuti_join(join->parent, corner[0], corner[1]);
        abuti_join(join->parent, corner[0], corner[2]);
    }
}

uint32_t abuti_vertex_components(const abut_mesh *mesh, const uint32_t *names,
                                 uint32_t *component) {
    component_job join = {mesh, component};
    uint32_t count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        component[v] = ABUT_NONE;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        const uint32_t v = mesh->indices[i], name = names ? names[v] : v;
        component[v] = v;
        component[name] = name; /* also if it is in no triangle itself: boundary edges use names */
    }
    abuti_parallel_for(mesh->context, mesh->triangle_count, TASK_TRIANGLES, join_task, &join);
    for (uint32_t v = 0; names && v < mesh->vertex_count; v++)
        if (component[v] != ABUT_NONE)
            abuti_join(component, v, names[v]);
    /* A parent is lower than its children, so it is numbered before them. */
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        if (component[v] != ABUT_NONE)
            component[v] = component[v] == v ? count++ : component[component[v]];
    return count;
}

/* ---- holes ---- */

typedef struct loop_search {
    const abut_mesh *mesh;
    const uint32_t *component; /* of each vertex of the mesh; null if there is only one component */
    double *squares;           /* per component: the sum of the squared perimeters of its holes */
    double scale;
    uint32_t count;       /* edges with one face */
    uint32_t (*edges)[2]; /* first their vertices, then the index of each in `vertex` */
    uint32_t vertex_count;
    uint32_t *vertex; /* of the mesh, ascending */
    uint32_t *first; /* first end at each vertex, and one more; ends are 2 x edge, + 1 for the other
                        end */
    uint32_t *end;
    uint32_t *place; /* index of each vertex on the trail, or ABUT_NONE */
    uint32_t *trail;
    double *length; /* from each vertex of the trail to the next */
    uint64_t *keys; /* twice 2 x count */
    bool *used;     /* per edge */
} loop_search;

static void list_edges(loop_search *s, const uint32_t (*boundary)[2], const bool *single,
                       uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (single[i])
            memcpy(s->edges[s->count++], boundary[i], sizeof *boundary);
}

/* Numbers the vertices of the edges, and lists the ends at each. */
static void list_ends(loop_search *s) {
    const uint32_t ends = 2 * s->count;
    for (uint32_t i = 0; i < ends; i++)
        s->keys[i] = (uint64_t)s->edges[i / 2][i % 2] << 32 | i;
    abuti_sort_keys(s->keys, s->keys + ends, ends);
    for (uint32_t i = 0; i < ends; i++) {
        const uint32_t vertex = (uint32_t)(s->keys[i] >> 32), end = (uint32_t)s->keys[i];
        if (!i || vertex != s->vertex[s->vertex_count - 1]) {
            s->first[s->vertex_count] = i;
            s->place[s->vertex_count] = ABUT_NONE;
            s->vertex[s->vertex_count++] = vertex;
        }
        s->end[i] = end;
        s->edges[end / 2][end % 2] = s->vertex_count - 1;
    }
    s->first[s->vertex_count] = ends;
}

static double length_between(const loop_search *s, uint32_t from, uint32_t to) {
    const vec3 *positions = s->mesh->positions;
    const vec3 edge = v3_sub(positions[s->vertex[to]], positions[s->vertex[from]]);
    return v3_length(v3_scale(edge, s->scale));
}

/* An end at a vertex whose edge is not on a trail yet; ABUT_NONE if there is none. */
static uint32_t next_end(loop_search *s, uint32_t *cursor, uint32_t vertex) {
    while (cursor[vertex] < s->first[vertex + 1] && s->used[s->end[cursor[vertex]] / 2])
        cursor[vertex]++;
    return cursor[vertex] < s->first[vertex + 1] ? s->end[cursor[vertex]] : ABUT_NONE;
}

/* Follows the trail from a vertex. Returns the sum of the squared perimeters of the loops that are
 * split off and of the remaining open trail. */
static double add_trail(loop_search *s, uint32_t *cursor, uint32_t start) {
    uint32_t depth = 0, at = start, end;
    double sum = 0, open = 0;
    s->trail[0] = start;
    s->place[start] = 0;
    while ((end = next_end(s, cursor, at)) != ABUT_NONE) {
        const uint32_t to = s->edges[end / 2][!(end % 2)];
        s->used[end / 2] = true;
        s->length[depth++] = length_between(s, at, to);
        if (s->place[to] == ABUT_NONE) {
            s->trail[depth] = to;
            s->place[to] = depth;
        } else {
            double perimeter = 0;
            while (depth > s->place[to]) {
                perimeter += s->length[--depth];
                if (s->trail[depth] != to)
                    s->place[s->trail[depth]] = ABUT_NONE;
            }
            sum += perimeter * perimeter;
        }
        at = to;
    }
    if (depth) /* it does not close */
        open = length_between(s, at, start);
    s->place[start] = ABUT_NONE;
    while (depth) {
        s->place[s->trail[depth]] = ABUT_NONE;
        open += s->length[--depth];
    }
    return sum + open * open;
}

static uint32_t component_of(const loop_search *s, uint32_t vertex) {
    return s->component ? s->component[vertex] : 0;
}

/* Adds all trails to their components. Those that do not close begin at a vertex with an odd number
 * of edges. */
static void add_trails(loop_search *s, uint32_t *cursor) {
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t v = 0; v < s->vertex_count; v++)
            if (pass || (s->first[v + 1] - s->first[v]) % 2)
                s->squares[component_of(s, s->vertex[v])] += add_trail(s, cursor, v);
}

static void add_scaled_areas(const loop_search *s, double *area) {
    const abut_mesh *mesh = s->mesh;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->indices + 3 * t;
        const vec3 p = v3_scale(mesh->positions[corner[0]], s->scale);
        const vec3 q = v3_scale(mesh->positions[corner[1]], s->scale);
        const vec3 r = v3_scale(mesh->positions[corner[2]], s->scale);
        area[component_of(s, corner[0])] += v3_length(v3_cross(v3_sub(q, p), v3_sub(r, p))) / 2;
    }
}

/* Scales the extent of the mesh to about 1; for subnormal extents the scale is as large as
 * possible. */
static double unit_scale(const abut_mesh *mesh) {
    int exponent = 0;
    frexp(v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo)), &exponent);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

/* Computes the fractions from sums of squared perimeters and areas. */
static void set_fractions(const double *squares, const double *areas, uint32_t count,
                          double *fractions) {
    const double pi = 3.14159265358979323846;
    for (uint32_t i = 0; i < count; i++)
        fractions[i] = squares[i] == 0 ? 0
                       : areas[i] > 0  ? squares[i] / (4 * pi) / areas[i]
                                       : HUGE_VAL;
}

abut_status abuti_hole_fractions(const abut_mesh *mesh, const uint32_t (*boundary)[2],
                                 const bool *single, uint32_t count, const uint32_t *component,
                                 uint32_t component_count, double *fractions) {
    abut_context *context = mesh->context;
    const size_t room = count, ends = 2 * room;
    const bool is_open = count > UINT32_MAX / 2; /* at least half of all sides: not a solid */
    for (uint32_t i = 0; i < component_count; i++)
        fractions[i] = is_open ? HUGE_VAL : 0;
    if (!count || is_open)
        return ABUT_OK;
    loop_search s = {.mesh = mesh, .component = component, .scale = unit_scale(mesh)};
    uint32_t *cursor;
    double *areas;
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(s.edges, room), ABUTI_ARRAY(s.keys, 2 * ends),
                       ABUTI_ZEROED(s.used, room), ABUTI_ARRAY(s.length, room + 1),
                       ABUTI_ZEROED(s.squares, component_count),
                       ABUTI_ZEROED(areas, component_count), ABUTI_ARRAY(s.vertex, ends),
                       ABUTI_ARRAY(s.first, ends + 1), ABUTI_ARRAY(s.end, ends),
                       ABUTI_ARRAY(s.place, ends), ABUTI_ARRAY(s.trail, ends + 1),
                       ABUTI_ARRAY(cursor, ends + 1));
    if (status)
        return status;
    list_edges(&s, boundary, single, count);
    list_ends(&s);
    memcpy(cursor, s.first, (s.vertex_count + 1) * sizeof *cursor);
    add_trails(&s, cursor);
    add_scaled_areas(&s, areas);
    set_fractions(s.squares, areas, component_count, fractions);
    ABUTI_RELEASE(context, s.edges, s.keys, s.used, s.length, s.squares, areas, s.vertex, s.first,
                  s.end, s.place, s.trail, cursor);
    return ABUT_OK;
}
