/* Splits a mesh into its solids, for an assembly in one STL file.
 *
 * Triangles that share an edge are connected. Files without vertex indices merge the vertices of
 * solids that touch along an edge, which then has four faces or more. There each face is
 * connected to the one that is first reached through its own interior, so that flush boxes stay
 * separate. A closed shell that faces inwards is the wall of a cavity, and belongs to the
 * smallest shell around it. */
#include "tool.h"

#include <math.h>
#include <string.h>

typedef struct shells {
    const abut_mesh *mesh;
    abut_topology_arrays topology;
    uint32_t *parent;  /* disjoint sets of triangles */
    uint32_t *shell;   /* shell of each triangle */
    uint32_t *part;    /* part of each shell */
    uint32_t *local;   /* index of each vertex in the current part */
    uint32_t *indices; /* vertices of the current part */
    uint32_t *order;   /* triangles sorted by shell, then by part */
    uint32_t *begin;   /* first triangle of each, and one past the last */
    abut_vec3 *points;
    uint32_t shell_count, part_count;
} shells;

static uint32_t root_of(uint32_t *parent, uint32_t i) {
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void join_sets(uint32_t *parent, uint32_t a, uint32_t b) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    parent[a > b ? a : b] = a > b ? b : a;
}

static abut_vec3 subtract(abut_vec3 a, abut_vec3 b) {
    return (abut_vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static abut_vec3 cross(abut_vec3 a, abut_vec3 b) {
    return (abut_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static double dot(abut_vec3 a, abut_vec3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* A face at an edge from `low` to `high`: its third corner, and whether it traverses the edge in
 * that direction. */
static bool face_corner(const shells *s, uint32_t face, uint32_t low, uint32_t high,
                        abut_vec3 *corner) {
    const uint32_t *t = abut_mesh_indices(s->mesh) + 3 * (size_t)face;
    const abut_vec3 *p = abut_mesh_local_positions(s->mesh);
    for (int k = 0; k < 3; k++) {
        uint32_t a = t[k], b = t[(k + 1) % 3];
        if ((a == low && b == high) || (a == high && b == low)) {
            *corner = p[t[(k + 2) % 3]];
            return a == low;
        }
    }
    *corner = p[low];
    return true;
}

/* The angle about the edge from one face to another through the interior of the first: above 0,
 * up to a full turn for coincident faces. */
static double angle_through(abut_vec3 along, abut_vec3 from, abut_vec3 to, bool forward) {
    double sq = dot(along, along);
    abut_vec3 u =
        subtract(from, (abut_vec3){along.x * dot(from, along) / sq, along.y * dot(from, along) / sq,
                                   along.z * dot(from, along) / sq});
    abut_vec3 normal = cross(along, u); /* of the face that traverses the edge forwards */
    double sign = forward ? -1 : 1;     /* the interior is behind it */
    double x = dot(to, u) / sqrt(dot(u, u)), y = sign * dot(to, normal) / sqrt(dot(normal, normal));
    double angle = atan2(y, x);
    return angle > 1e-9 ? angle : angle + 6.283185307179586;
}

/* Connects the faces of an edge with more than two. */
static void join_many(shells *s, uint32_t edge) {
    const abut_topology_arrays *t = &s->topology;
    const uint32_t *faces = t->edge_faces + t->edge_face_begin[edge];
    uint32_t count = t->edge_face_begin[edge + 1] - t->edge_face_begin[edge];
    uint32_t low = t->edges[2 * (size_t)edge], high = t->edges[2 * (size_t)edge + 1];
    const abut_vec3 *p = abut_mesh_local_positions(s->mesh);
    abut_vec3 along = subtract(p[high], p[low]);
    for (uint32_t i = 0; i < count; i++) {
        abut_vec3 from, to;
        bool forward = face_corner(s, faces[i], low, high, &from);
        double least = HUGE_VAL;
        uint32_t best = faces[i];
        for (uint32_t k = 0; k < count; k++) {
            if (face_corner(s, faces[k], low, high, &to) == forward)
                continue;
            double angle =
                angle_through(along, subtract(from, p[low]), subtract(to, p[low]), forward);
            if (angle < least) {
                least = angle;
                best = faces[k];
            }
        }
        join_sets(s->parent, faces[i], best);
    }
}

static void find_shells(shells *s) {
    const abut_topology_arrays *t = &s->topology;
    for (uint32_t i = 0; i < t->triangle_count; i++) {
        s->parent[i] = i;
        s->shell[i] = ABUT_NONE;
    }
    for (uint32_t e = 0; e < t->edge_count; e++) {
        uint32_t first = t->edge_face_begin[e], count = t->edge_face_begin[e + 1] - first;
        if (count == 2)
            join_sets(s->parent, t->edge_faces[first], t->edge_faces[first + 1]);
        else if (count > 2 && count <= 64) /* more faces are not touching solids */
            join_many(s, e);
        else
            for (uint32_t k = 1; k < count; k++)
                join_sets(s->parent, t->edge_faces[first], t->edge_faces[first + k]);
    }
    for (uint32_t i = 0; i < t->triangle_count; i++) {
        uint32_t root = root_of(s->parent, i);
        if (s->shell[root] == ABUT_NONE)
            s->shell[root] = s->shell_count++;
        s->shell[i] = s->shell[root];
    }
}

/* Sorts triangles by `key` of their shells, or by shell if it is null. */
static void sort_triangles(shells *s, const uint32_t *key, uint32_t key_count) {
    uint32_t count = s->topology.triangle_count;
    memset(s->begin, 0, ((size_t)key_count + 1) * sizeof *s->begin);
    for (uint32_t i = 0; i < count; i++)
        s->begin[key ? key[s->shell[i]] : s->shell[i]]++;
    for (uint32_t k = 0, sum = 0; k <= key_count; k++) {
        uint32_t own = s->begin[k];
        s->begin[k] = sum;
        sum += own;
    }
    for (uint32_t i = 0; i < count; i++)
        s->order[s->begin[key ? key[s->shell[i]] : s->shell[i]]++] = i;
    for (uint32_t k = key_count; k > 0; k--)
        s->begin[k] = s->begin[k - 1];
    s->begin[0] = 0;
}

/* ---- cavities ---- */

typedef struct shell_facts {
    double volume;
    abut_box box;
    abut_vec3 point; /* a corner */
} shell_facts;

static shell_facts *facts_of(const shells *s) {
    shell_facts *facts = tool_array(s->shell_count, sizeof *facts);
    const abut_vec3 *p = abut_mesh_local_positions(s->mesh);
    for (uint32_t i = 0; i < s->shell_count; i++)
        facts[i] =
            (shell_facts){0,
                          {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}},
                          {0, 0, 0}};
    for (uint32_t i = 0; i < s->topology.triangle_count; i++) {
        shell_facts *f = &facts[s->shell[i]];
        const uint32_t *t = abut_mesh_indices(s->mesh) + 3 * (size_t)i;
        f->point = p[t[0]];
        f->volume += dot(p[t[0]], cross(p[t[1]], p[t[2]])) / 6;
        for (int k = 0; k < 3; k++) {
            abut_vec3 v = p[t[k]];
            f->box.lo =
                (abut_vec3){fmin(f->box.lo.x, v.x), fmin(f->box.lo.y, v.y), fmin(f->box.lo.z, v.z)};
            f->box.hi =
                (abut_vec3){fmax(f->box.hi.x, v.x), fmax(f->box.hi.y, v.y), fmax(f->box.hi.z, v.z)};
        }
    }
    return facts;
}

static bool box_holds(const abut_box *a, const abut_box *b) {
    return a->lo.x <= b->lo.x && a->lo.y <= b->lo.y && a->lo.z <= b->lo.z && a->hi.x >= b->hi.x &&
           a->hi.y >= b->hi.y && a->hi.z >= b->hi.z;
}

/* Returns whether a point is inside a shell, by the solid angles of its triangles. */
static bool is_around(const shells *s, uint32_t shell, abut_vec3 point) {
    const abut_vec3 *p = abut_mesh_local_positions(s->mesh);
    double sum = 0;
    for (uint32_t i = s->begin[shell]; i < s->begin[shell + 1]; i++) {
        const uint32_t *t = abut_mesh_indices(s->mesh) + 3 * (size_t)s->order[i];
        abut_vec3 a = subtract(p[t[0]], point), b = subtract(p[t[1]], point),
                  c = subtract(p[t[2]], point);
        double la = sqrt(dot(a, a)), lb = sqrt(dot(b, b)), lc = sqrt(dot(c, c));
        sum += 2 * atan2(dot(a, cross(b, c)),
                         la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb);
    }
    return sum > 6.283185307179586;
}

/* Numbers the parts; walls of cavities get the number of the shell around them. */
static void find_parts(shells *s) {
    shell_facts *facts = facts_of(s);
    sort_triangles(s, NULL, s->shell_count);
    for (uint32_t i = 0; i < s->shell_count; i++)
        s->part[i] = facts[i].volume < 0 ? ABUT_NONE : s->part_count++;
    for (uint32_t i = 0; i < s->shell_count; i++) {
        uint32_t best = ABUT_NONE;
        for (uint32_t k = 0; facts[i].volume < 0 && k < s->shell_count; k++)
            if (facts[k].volume > -facts[i].volume && box_holds(&facts[k].box, &facts[i].box) &&
                (best == ABUT_NONE || facts[k].volume < facts[best].volume) &&
                is_around(s, k, facts[i].point))
                best = k;
        if (facts[i].volume < 0) /* an inward shell in no other one is inverted */
            s->part[i] = best == ABUT_NONE ? s->part_count++ : s->part[best];
    }
}

/* ---- meshes ---- */

static void make_part(tool_run *tool, shells *s, uint32_t part, abut_mesh **made) {
    const abut_vec3 *p = abut_mesh_local_positions(s->mesh), o = abut_mesh_local_origin(s->mesh);
    uint32_t vertices = 0, first = s->begin[part], count = s->begin[part + 1] - first;
    for (uint32_t i = 0; i < 3 * count; i++) {
        uint32_t v = abut_mesh_indices(s->mesh)[3 * (size_t)s->order[first + i / 3] + i % 3];
        if (s->local[v] >= vertices || s->parent[s->local[v]] != v) { /* not in this part yet */
            s->local[v] = vertices;
            s->parent[vertices] = v;
            s->points[vertices++] = (abut_vec3){o.x + p[v].x, o.y + p[v].y, o.z + p[v].z};
        }
        s->indices[i] = s->local[v];
    }
    abut_mesh_input input = abut_mesh_input_doubles(s->points, vertices, s->indices, count);
    ensure(abut_mesh_create(tool->context, &input, made));
}

static void shells_make(shells *s) {
    size_t triangles = s->topology.triangle_count, vertices = s->topology.vertex_count;
    size_t most = vertices > triangles ? vertices : triangles;
    s->parent = tool_array(most, sizeof *s->parent); /* of triangles, then of vertices */
    s->shell = tool_array(triangles, sizeof *s->shell);
    s->part = tool_array(triangles, sizeof *s->part);
    s->local = tool_array(vertices, sizeof *s->local);
    s->indices = tool_array(3 * triangles, sizeof *s->indices);
    s->order = tool_array(triangles, sizeof *s->order);
    s->begin = tool_array(triangles + 1, sizeof *s->begin);
    s->points = tool_array(vertices, sizeof *s->points);
}

/* Splits a mesh whose vertices have distinct coordinates. */
static void split_solids(tool_run *tool, abut_mesh *mesh, abut_mesh ***parts, uint32_t *count) {
    abut_topology *topology = NULL;
    ensure(abut_topology_create(mesh, &topology));
    shells s = {.mesh = mesh, .topology = get_topology_arrays(topology)};
    shells_make(&s);
    find_shells(&s);
    find_parts(&s);
    *parts = tool_array(s.part_count, sizeof **parts);
    sort_triangles(&s, s.part, s.part_count);
    for (*count = 0; *count < s.part_count; ++*count)
        make_part(tool, &s, *count, &(*parts)[*count]);
    abut_topology_destroy(topology);
}

void mesh_parts(tool_run *tool, abut_mesh *mesh, abut_mesh ***parts, uint32_t *count) {
    abut_mesh *welded = NULL;
    ensure(abut_mesh_weld(mesh, 0, &welded)); /* files may have seams */
    split_solids(tool, welded, parts, count);
    abut_mesh_destroy(welded);
}
