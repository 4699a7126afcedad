/* Splits a mesh into its solids, as for an assembly in one STL file.
 *
 * Triangles that share an edge are connected. Files without vertex indices merge the vertices of
 * solids that touch along an edge, which then has four faces or more. There each face is connected
 * to the one that is first reached through its own interior, so that flush boxes stay separate. A
 * closed shell that faces inwards is the wall of a cavity, and belongs to the smallest shell around
 * it, which the solid angles of its triangles determine. */
#include "mesh/mesh.h"

#include <math.h>
#include <string.h>

enum { TOUCHING_FACES_MAX = 64 }; /* an edge with more faces is not one of touching solids */

typedef struct shell_facts {
    double volume; /* negative = faces inwards */
    box3 box;
    vec3 point; /* a corner */
} shell_facts;

typedef struct mesh_splitter {
    const abut_mesh *mesh;
    const abut_topology_arrays *topology;
    uint32_t *parent; /* disjoint sets of triangles; later the last part that has a vertex */
    uint32_t *shell;  /* of each triangle */
    uint32_t *part;   /* of each shell */
    uint32_t *local;  /* index of each vertex in the current part */
    uint32_t *order;  /* triangles sorted by shell, then by part */
    uint32_t *begin;  /* first triangle of each, and one past the last */
    shell_facts *facts;
    uint32_t shell_count, part_count;
} mesh_splitter;

/* A face at an edge from `low` to `high`: stores its third corner. Returns whether it traverses the
 * edge in that direction. */
static bool find_third_corner(const mesh_splitter *s, uint32_t face, uint32_t low, uint32_t high,
                              vec3 *corner) {
    const uint32_t *t = s->mesh->indices + 3 * (size_t)face;
    for (int k = 0; k < 3; k++) {
        uint32_t a = t[k], b = t[(k + 1) % 3];
        if ((a == low && b == high) || (a == high && b == low)) {
            *corner = s->mesh->positions[t[(k + 2) % 3]];
            return a == low;
        }
    }
    *corner = s->mesh->positions[low];
    return true;
}

/* The angle about the edge from one face to another through the interior of the first: above 0, up
 * to a full turn for coincident faces. */
static double interior_angle(vec3 along, vec3 from, vec3 to, bool forward) {
    vec3 u = v3_along(from, -v3_dot(from, along) / v3_dot(along, along), along);
    vec3 normal = v3_cross(along, u); /* of the face that traverses the edge forwards */
    double sign = forward ? -1 : 1;   /* the interior is behind it */
    double x = v3_dot(to, u) / sqrt(v3_dot(u, u)),
           y = sign * v3_dot(to, normal) / sqrt(v3_dot(normal, normal));
    double angle = atan2(y, x);
    return angle > 1e-9 ? angle : angle + 6.283185307179586;
}

/* Connects the faces of an edge of touching solids. */
static void join_touching_faces(mesh_splitter *s, uint32_t edge, const uint32_t *faces,
                                uint32_t count) {
    uint32_t low = s->topology->edges[2 * (size_t)edge],
             high = s->topology->edges[2 * (size_t)edge + 1];
    vec3 start = s->mesh->positions[low], along = v3_sub(s->mesh->positions[high], start);
    for (uint32_t i = 0; i < count; i++) {
        vec3 from, to;
        bool forward = find_third_corner(s, faces[i], low, high, &from);
        double smallest = HUGE_VAL;
        uint32_t next = faces[i];
        for (uint32_t k = 0; k < count; k++) {
            if (find_third_corner(s, faces[k], low, high, &to) == forward)
                continue;
            double angle = interior_angle(along, v3_sub(from, start), v3_sub(to, start), forward);
            if (angle < smallest) {
                smallest = angle;
                next = faces[k];
            }
        }
        abuti_join(s->parent, faces[i], next);
    }
}

static void find_shells(mesh_splitter *s) {
    for (uint32_t i = 0; i < s->mesh->triangle_count; i++) {
        s->parent[i] = i;
        s->shell[i] = ABUT_NONE;
    }
    for (uint32_t e = 0; e < s->topology->edge_count; e++) {
        const uint32_t *faces;
        uint32_t count = abuti_edge_faces(s->topology, e, &faces);
        if (count > 2 && count <= TOUCHING_FACES_MAX)
            join_touching_faces(s, e, faces, count);
        else
            for (uint32_t k = 1; k < count; k++)
                abuti_join(s->parent, faces[0], faces[k]);
    }
    for (uint32_t i = 0; i < s->mesh->triangle_count; i++) {
        uint32_t root = abuti_root(s->parent, i);
        if (s->shell[root] == ABUT_NONE)
            s->shell[root] = s->shell_count++;
        s->shell[i] = s->shell[root];
    }
}

/* Sorts triangles by `key` of their shells, or by shell if it is null. */
static void sort_triangles(mesh_splitter *s, const uint32_t *key, uint32_t key_count) {
    uint32_t count = s->mesh->triangle_count;
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
    memmove(s->begin + 1, s->begin, (size_t)key_count * sizeof *s->begin);
    s->begin[0] = 0;
}

/* ---- cavities ---- */

static void measure_shell(mesh_splitter *s, uint32_t shell) {
    shell_facts *f = &s->facts[shell];
    const vec3 *p = s->mesh->positions;
    for (uint32_t i = s->begin[shell]; i < s->begin[shell + 1]; i++) {
        const uint32_t *t = s->mesh->indices + 3 * (size_t)s->order[i];
        if (i == s->begin[shell])
            *f = (shell_facts){.point = p[t[0]], .box = {p[t[0]], p[t[0]]}};
        f->volume += v3_dot(v3_sub(p[t[0]], f->point),
                            v3_cross(v3_sub(p[t[1]], f->point), v3_sub(p[t[2]], f->point)));
        for (int k = 0; k < 3; k++)
            f->box = box_grow(f->box, p[t[k]]);
    }
}

/* Returns whether a point is inside a shell, by the solid angles of its triangles. */
static bool is_around(const mesh_splitter *s, uint32_t shell, vec3 point) {
    const vec3 *p = s->mesh->positions;
    double sum = 0;
    for (uint32_t i = s->begin[shell]; i < s->begin[shell + 1]; i++) {
        const uint32_t *t = s->mesh->indices + 3 * (size_t)s->order[i];
        vec3 a = v3_sub(p[t[0]], point), b = v3_sub(p[t[1]], point), c = v3_sub(p[t[2]], point);
        double la = v3_length(a), lb = v3_length(b), lc = v3_length(c);
        sum += 2 * atan2(v3_dot(a, v3_cross(b, c)),
                         la * lb * lc + v3_dot(a, b) * lc + v3_dot(b, c) * la + v3_dot(c, a) * lb);
    }
    return sum > 6.283185307179586;
}

/* Numbers the parts; walls of cavities get the number of the shell around them. */
static abut_status find_parts(mesh_splitter *s) {
    sort_triangles(s, NULL, s->shell_count);
    for (uint32_t i = 0; i < s->shell_count; i++) {
        measure_shell(s, i);
        s->part[i] = s->facts[i].volume < 0 ? ABUT_NONE : s->part_count++;
    }
    for (uint32_t i = 0; i < s->shell_count; i++) {
        const shell_facts *wall = &s->facts[i];
        uint32_t best = ABUT_NONE;
        if (wall->volume >= 0)
            continue;
        abut_status status =
            abuti_progress(s->mesh->context, "split", (double)i / (double)s->shell_count);
        if (status)
            return status;
        for (uint32_t k = 0; k < s->shell_count; k++) {
            const shell_facts *f = &s->facts[k];
            if (f->volume > -wall->volume && box_contains(f->box, wall->box.lo) &&
                box_contains(f->box, wall->box.hi) &&
                (best == ABUT_NONE || f->volume < s->facts[best].volume) &&
                is_around(s, k, wall->point))
                best = k;
        }
        /* an inward shell in no other one is inverted */
        s->part[i] = best == ABUT_NONE ? s->part_count++ : s->part[best];
    }
    return ABUT_OK;
}

/* ---- meshes ---- */

static abut_status create_part(mesh_splitter *s, uint32_t part, abut_mesh **made) {
    const abut_mesh *mesh = s->mesh;
    const uint32_t first = s->begin[part], count = s->begin[part + 1] - first;
    uint32_t vertex_count = 0;
    uint32_t *indices;
    vec3 *positions;
    if (ABUTI_ALLOCATE(mesh->context, ABUTI_ARRAY(indices, 3 * (size_t)count),
                       ABUTI_ARRAY(positions, 3 * (size_t)count)))
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < 3 * (size_t)count; i++) {
        uint32_t v = mesh->indices[3 * (size_t)s->order[first + i / 3] + i % 3];
        if (s->parent[v] != part) { /* not in this part yet */
            s->parent[v] = part;
            s->local[v] = vertex_count;
            positions[vertex_count++] = abuti_mesh_position(mesh, v);
        }
        indices[i] = s->local[v];
    }
    abut_status status = abuti_mesh_derive(mesh->context, "abut_mesh_split", positions,
                                           vertex_count, indices, count, made);
    if (!status)
        (*made)->up = mesh->up;
    return status;
}

static abut_status create_parts(mesh_splitter *s, abut_mesh **made) {
    sort_triangles(s, s->part, s->part_count);
    for (uint32_t v = 0; v < s->mesh->vertex_count; v++)
        s->parent[v] = ABUT_NONE;
    for (uint32_t i = 0; i < s->part_count; i++) {
        abut_status status = create_part(s, i, &made[i]);
        if (status) {
            while (i > 0)
                abut_mesh_destroy(made[--i]);
            return status;
        }
    }
    return ABUT_OK;
}

/* Splits a mesh whose vertices have distinct coordinates. */
static abut_status split_welded(abut_mesh *mesh, const abut_topology *topology,
                                abut_mesh_list *solids) {
    const size_t triangles = mesh->triangle_count, vertices = mesh->vertex_count;
    abut_context *context = mesh->context;
    mesh_splitter s = {.mesh = mesh, .topology = &topology->view};
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(s.parent, vertices > triangles ? vertices : triangles),
                       ABUTI_ARRAY(s.shell, triangles), ABUTI_ARRAY(s.part, triangles),
                       ABUTI_ARRAY(s.local, vertices), ABUTI_ARRAY(s.order, triangles),
                       ABUTI_ARRAY(s.begin, triangles + 1));
    if (status)
        return status;
    find_shells(&s);
    s.facts = abuti_allocate(context, s.shell_count, sizeof *s.facts);
    status = s.facts ? find_parts(&s) : ABUT_ERROR_MEMORY;
    if (!status)
        status = ABUTI_LIST_COUNT("abut_mesh_split", "solids", solids, s.part_count);
    if (!status)
        status = create_parts(&s, solids->list);
    ABUTI_RELEASE(context, s.parent, s.shell, s.part, s.local, s.order, s.begin, s.facts);
    return status;
}

abut_status abut_mesh_split(const abut_mesh *mesh, abut_mesh_list *solids) {
    abut_mesh *welded = NULL;
    abut_topology *topology = NULL;
    if (!mesh)
        return abuti_null(__func__, "mesh");
    abut_status status = ABUTI_LIST_CHECK(__func__, "solids", solids);
    if (!status)
        status = abut_mesh_weld(mesh, 0, &welded); /* files may have seams */
    if (!status)
        status = abut_topology_create(welded, &topology);
    if (!status)
        status = split_welded(welded, topology, solids);
    abut_topology_destroy(topology);
    abut_mesh_destroy(welded);
    return status;
}
