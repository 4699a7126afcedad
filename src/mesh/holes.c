/* The connected parts of a surface, and how large the holes of each are beside its area.
 *
 * Parts are connected by shared vertices, also by those that only have equal coordinates.
 *
 * Holes are bounded by the edges of one face. These are followed from vertex to vertex, whichever
 * way the faces are wound; a trail that returns to one of its vertices has a loop cut off there, so
 * that no loop has a vertex twice. Holes that touch in several vertices may be cut in more than one
 * way; which one depends on the order of the vertices. At edges of three or more faces boundary may
 * end instead of closing, as that of a fin on a body does: such a trail counts as if it closed by a
 * straight line. A hole counts as a disc of the perimeter L of its loop, L^2 / (4 pi): the largest
 * area that a flat hole can have.
 *
 * Lengths are scaled by a power of two so that their squares neither overflow nor underflow.
 */
#include "mesh/mesh.h"

#include <math.h>

enum { TRIANGLES_A_TASK = 16384 };

/* ---- parts ---- */

typedef struct joining {
    const abut_mesh *mesh;
    uint32_t *parent; /* of a vertex */
} joining;

static void join_task(void *data, size_t chunk, size_t begin, size_t end) {
    const joining *join = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        const uint32_t *corner = join->mesh->indices + 3 * t;
        abuti_join(join->parent, corner[0], corner[1]);
        abuti_join(join->parent, corner[0], corner[2]);
    }
}

uint32_t abuti_mesh_parts(const abut_mesh *mesh, const uint32_t *names, uint32_t *part) {
    joining join = {mesh, part};
    uint32_t count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        part[v] = ABUT_NONE;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        const uint32_t v = mesh->indices[i], name = names ? names[v] : v;
        part[v] = v;
        part[name] = name; /* also if it is in no triangle itself: borders have names */
    }
    abuti_parallel_for(mesh->context, mesh->triangle_count, TRIANGLES_A_TASK, join_task, &join);
    for (uint32_t v = 0; names && v < mesh->vertex_count; v++)
        if (part[v] != ABUT_NONE)
            abuti_join(part, v, names[v]);
    /* A parent is lower than its children, so that it has its number before them. */
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        if (part[v] != ABUT_NONE)
            part[v] = part[v] == v ? count++ : part[part[v]];
    return count;
}

/* ---- holes ---- */

typedef struct loop_search {
    const abut_mesh *mesh;
    const uint32_t *part; /* of each vertex of the mesh; null if all are of one */
    double *squares;      /* of each part: the sum of the squared perimeters of its holes */
    double scale;
    uint32_t count;       /* edges of one face */
    uint32_t (*edges)[2]; /* first their vertices, then the number of each in `vertex` */
    uint32_t vertex_count;
    uint32_t *vertex; /* of the mesh, ascending */
    uint32_t *first;  /* of the ends at each, and one more: ends are 2 x edge, + 1 for the other */
    uint32_t *end;
    uint32_t *place; /* of each vertex on the trail, or ABUT_NONE */
    uint32_t *trail;
    double *length; /* from each vertex of the trail to the next */
    uint64_t *keys; /* twice 2 x count */
    bool *used;     /* by edge */
} loop_search;

static void list_edges(loop_search *s, const uint32_t (*border)[2], const bool *single,
                       uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (single[i])
            memcpy(s->edges[s->count++], border[i], sizeof *border);
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
    const vec3 way = v3_sub(positions[s->vertex[to]], positions[s->vertex[from]]);
    return v3_length(v3_scale(way, s->scale));
}

/* An end at a vertex whose edge no trail has used yet; ABUT_NONE if there is none. */
static uint32_t next_end(loop_search *s, uint32_t *cursor, uint32_t vertex) {
    while (cursor[vertex] < s->first[vertex + 1] && s->used[s->end[cursor[vertex]] / 2])
        cursor[vertex]++;
    return cursor[vertex] < s->first[vertex + 1] ? s->end[cursor[vertex]] : ABUT_NONE;
}

/* The sum of the squared perimeters of what is cut off and of the trail from a vertex. */
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

static uint32_t part_of(const loop_search *s, uint32_t vertex) {
    return s->part ? s->part[vertex] : 0;
}

/* Adds all trails to their parts. Those that do not close begin at a vertex of an odd number of
 * edges. */
static void add_trails(loop_search *s, uint32_t *cursor) {
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t v = 0; v < s->vertex_count; v++)
            if (pass || (s->first[v + 1] - s->first[v]) % 2)
                s->squares[part_of(s, s->vertex[v])] += add_trail(s, cursor, v);
}

static void add_scaled_areas(const loop_search *s, double *area) {
    const abut_mesh *mesh = s->mesh;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->indices + 3 * t;
        const vec3 p = v3_scale(mesh->positions[corner[0]], s->scale);
        const vec3 q = v3_scale(mesh->positions[corner[1]], s->scale);
        const vec3 r = v3_scale(mesh->positions[corner[2]], s->scale);
        area[part_of(s, corner[0])] += v3_length(v3_cross(v3_sub(q, p), v3_sub(r, p))) / 2;
    }
}

/* Makes the extent of the mesh about 1; far below the least normal number as large as possible. */
static double scale_of(const abut_mesh *mesh) {
    int exponent = 0;
    frexp(v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo)), &exponent);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

/* From sums of squared perimeters and areas. */
static void set_shares(const double *squares, const double *areas, uint32_t count, double *shares) {
    const double pi = 3.14159265358979323846;
    for (uint32_t i = 0; i < count; i++)
        shares[i] = squares[i] == 0 ? 0
                    : areas[i] > 0  ? squares[i] / (4 * pi) / areas[i]
                                    : HUGE_VAL;
}

abut_status abuti_hole_shares(const abut_mesh *mesh, const uint32_t (*border)[2],
                              const bool *single, uint32_t count, const uint32_t *part,
                              uint32_t part_count, double *shares) {
    abut_context *context = mesh->context;
    const size_t room = count, ends = 2 * room;
    const bool loose = count > UINT32_MAX / 2; /* at least half of all sides: no solid */
    for (uint32_t i = 0; i < part_count; i++)
        shares[i] = loose ? HUGE_VAL : 0;
    if (!count || loose)
        return ABUT_OK;
    loop_search s = {.mesh = mesh, .part = part, .scale = scale_of(mesh)};
    s.edges = abuti_allocate(context, room, sizeof *s.edges);
    s.keys = abuti_allocate(context, 2 * ends, sizeof *s.keys);
    s.used = abuti_allocate_zeroed(context, room, sizeof *s.used);
    s.length = abuti_allocate(context, room + 1, sizeof *s.length);
    s.squares = abuti_allocate_zeroed(context, 2 * (size_t)part_count, sizeof *s.squares);
    uint32_t *words = abuti_allocate(context, 6 * (ends + 1), sizeof *words);
    abut_status status =
        s.edges && s.keys && s.used && s.length && s.squares && words ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        uint32_t **const arrays[] = {&s.vertex, &s.first, &s.end, &s.place, &s.trail};
        for (size_t i = 0; i < 5; i++)
            *arrays[i] = words + i * (ends + 1);
        uint32_t *cursor = words + 5 * (ends + 1);
        double *areas = s.squares + part_count;
        list_edges(&s, border, single, count);
        list_ends(&s);
        memcpy(cursor, s.first, (s.vertex_count + 1) * sizeof *cursor);
        add_trails(&s, cursor);
        add_scaled_areas(&s, areas);
        set_shares(s.squares, areas, part_count, shares);
    }
    ABUTI_RELEASE(context, s.edges, s.keys, s.used, s.length, s.squares, words);
    return status;
}
