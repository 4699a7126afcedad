/* Moving meshes: frames of a folder, and motions of whole meshes or of their components. */
#include "tool.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- frames ---- */

bool frames_is_folder(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Compares names with runs of digits as numbers, so that frame 2 is before frame 10. */
static int by_name(const void *x, const void *y) {
    static const char digits[] = "0123456789";
    const char *a = *(char *const *)x, *b = *(char *const *)y;
    while (*a && *b) {
        size_t length_a = strspn(a, digits), length_b = strspn(b, digits);
        if (!length_a || !length_b) {
            if (*a != *b)
                return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
            a++;
            b++;
            continue;
        }
        size_t zeros_a = strspn(a, "0"), zeros_b = strspn(b, "0");
        size_t rest_a = length_a - zeros_a, rest_b = length_b - zeros_b;
        int order = rest_a != rest_b ? (rest_a < rest_b ? -1 : 1)
                                     : strncmp(a + zeros_a, b + zeros_b, rest_a);
        if (order)
            return order;
        a += length_a;
        b += length_b;
    }
    return *a ? 1 : *b ? -1 : strcmp(*(char *const *)x, *(char *const *)y);
}

void frames_list(tool_run *tool, const char *folder, tool_frames *frames) {
    DIR *opened = opendir(folder);
    if (!opened)
        tool_fail_with(tool, "file error", "%s: cannot be read: %s", folder, strerror(errno));
    const size_t length = strlen(folder);
    for (const struct dirent *entry; (entry = readdir(opened));) {
        tool_text path = {0};
        if (!word_in(path_ending(entry->d_name), "obj|ply|stl|off|glb|gltf|fbx|dae"))
            continue;
        text_print(&path, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/",
                   entry->d_name);
        tool_grow(&frames->paths, frames->count, &frames->room, sizeof *frames->paths);
        frames->paths[frames->count++] = path.data;
    }
    closedir(opened);
    if (frames->count < 2)
        tool_fail_with(tool, "file error",
                       "%s: has %zu mesh%s (.obj, .ply, .stl, ...); a motion needs at least two",
                       folder, frames->count, frames->count == 1 ? "" : "es");
    qsort(frames->paths, frames->count, sizeof *frames->paths, by_name);
}

static void check_same(tool_run *tool, const char *path_a, const abut_mesh *a, const char *path_b,
                       const abut_mesh *b) {
    const uint32_t *x = abut_mesh_indices(a), *y = abut_mesh_indices(b);
    const uint32_t triangles = abut_mesh_triangle_count(a);
    if (abut_mesh_vertex_count(a) != abut_mesh_vertex_count(b))
        tool_fail_with(
            tool, "different meshes",
            "%s has %u vertices but %s has %u; a step needs two versions of the same mesh", path_a,
            abut_mesh_vertex_count(a), path_b, abut_mesh_vertex_count(b));
    if (triangles != abut_mesh_triangle_count(b))
        tool_fail_with(
            tool, "different meshes",
            "%s has %u triangles but %s has %u; a step needs two versions of the same mesh", path_a,
            triangles, path_b, abut_mesh_triangle_count(b));
    for (size_t i = 0; i < triangles; i++, x += 3, y += 3)
        if (x[0] != y[0] || x[1] != y[1] || x[2] != y[2])
            tool_fail_with(tool, "different meshes",
                           "triangle %zu has the vertices %u, %u, %u in %s but %u, %u, %u in %s; a "
                           "step needs the same triangles in the same order",
                           i, x[0], x[1], x[2], path_a, y[0], y[1], y[2], path_b);
}

uint64_t frames_record(tool_run *tool, const char *folder, const char *path) {
    tool_frames frames = {0};
    abut_frames_writer *writer = NULL;
    frames_list(tool, folder, &frames);
    abut_mesh *first = mesh_read(tool, frames.paths[0]);
    const uint32_t count = abut_mesh_vertex_count(first);
    abut_vec3 *positions = tool_array(count, sizeof *positions);
    ensure(abut_frames_writer_create(&first, 1, tool_target(tool, path), NULL, &writer));
    for (size_t i = 0; i < frames.count; i++) {
        abut_mesh *mesh = i ? mesh_read(tool, frames.paths[i]) : abut_mesh_retain(first);
        check_same(tool, frames.paths[0], first, frames.paths[i], mesh);
        for (uint32_t v = 0; v < count; v++)
            positions[v] = mesh_point(mesh, v);
        ensure(abut_frames_writer_add(writer, positions, NULL));
        abut_mesh_destroy(mesh);
        progress_step(tool, folder, i + 1, frames.count);
    }
    ensure(abut_frames_writer_finish(writer));
    abut_mesh_destroy(first);
    tool_free(positions);
    return frames.count;
}

/* ---- motions ---- */

static uint32_t root_of(uint32_t *parent, uint32_t v) {
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

/* Computes the component of every vertex, in the order of their first triangles; ABUT_NONE for
 * unused vertices. Returns the number of components. `parent` is scratch. */
static uint32_t number_parts(const abut_mesh *mesh, bool parts, uint32_t *parent, uint32_t *part) {
    const uint32_t vertices = abut_mesh_vertex_count(mesh), *corner = abut_mesh_indices(mesh);
    const size_t corners = 3 * (size_t)abut_mesh_triangle_count(mesh);
    uint32_t count = 0;
    for (uint32_t i = 0; i < vertices; i++) {
        parent[i] = i;
        part[i] = ABUT_NONE;
    }
    for (size_t i = 0; i < corners; i++) {
        uint32_t a = root_of(parent, corner[i]), b = root_of(parent, corner[i - i % 3]);
        parent[a > b ? a : b] = a > b ? b : a;
    }
    for (size_t i = 0; i < corners; i++) {
        uint32_t root = parts ? root_of(parent, corner[i]) : root_of(parent, corner[0]);
        if (part[root] == ABUT_NONE)
            part[root] = count++;
        part[corner[i]] = part[root];
    }
    return count;
}

/* Scratch arrays of the construction. */
typedef struct parting {
    uint32_t *part;  /* component of each vertex */
    uint32_t *local; /* index of each vertex in its component */
    uint32_t *first; /* first triangle of each component, and one past the last */
    uint32_t *indices;
} parting;

/* Sorts vertices and triangles by component. */
static void sort_parts(tool_moving *m, const abut_mesh *mesh, parting *p) {
    const uint32_t *corner = abut_mesh_indices(mesh), vertices = abut_mesh_vertex_count(mesh);
    const size_t corners = 3 * (size_t)abut_mesh_triangle_count(mesh);
    for (uint32_t i = 0; i < vertices; i++)
        if (p->part[i] != ABUT_NONE)
            m->begin[p->part[i] + 1]++;
    for (size_t i = 0; i < corners; i += 3)
        p->first[p->part[corner[i]] + 1]++;
    for (uint32_t k = 0; k < m->part_count; k++) {
        m->begin[k + 1] += m->begin[k];
        p->first[k + 1] += p->first[k];
    }
    for (uint32_t i = 0; i < vertices; i++)
        if (p->part[i] != ABUT_NONE) {
            p->local[i] = m->begin[p->part[i]]++;
            m->vertices[p->local[i]] = i;
        }
    for (size_t i = 0; i < corners; i += 3) {
        uint32_t *to = p->indices + 3 * (size_t)p->first[p->part[corner[i]]]++;
        for (size_t k = 0; k < 3; k++)
            to[k] = p->local[corner[i + k]];
    }
    for (uint32_t k = m->part_count; k > 0; k--) { /* restores the offsets after counting */
        m->begin[k] = m->begin[k - 1];
        p->first[k] = p->first[k - 1];
    }
    m->begin[0] = p->first[0] = 0;
    m->vertex_count = m->begin[m->part_count];
}

static void copy_positions(const tool_moving *m, const abut_mesh *mesh, abut_vec3 *to) {
    for (uint32_t i = 0; i < m->vertex_count; i++)
        to[i] = mesh_point(mesh, m->vertices[i]);
}

static void make_parts(tool_run *tool, tool_moving *m, const parting *p) {
    for (uint32_t k = 0; k < m->part_count; k++) {
        uint32_t *indices = p->indices + 3 * (size_t)p->first[k];
        const uint32_t count = p->first[k + 1] - p->first[k];
        for (size_t i = 0; i < 3 * (size_t)count; i++)
            indices[i] -= m->begin[k];
        m->parts[k] =
            mesh_new(tool, m->start + m->begin[k], m->begin[k + 1] - m->begin[k], indices, count);
        ensure(abut_topology_create(m->parts[k], &m->topologies[k]));
    }
}

void moving_create(tool_run *tool, abut_mesh *mesh, bool parts, const abut_sweep_options *options,
                   tool_moving *m) {
    const size_t vertices = abut_mesh_vertex_count(mesh),
                 triangles = abut_mesh_triangle_count(mesh);
    parting p = {.part = tool_array(vertices, sizeof *p.part),
                 .local = tool_array(vertices, sizeof *p.local),
                 .indices = tool_array(triangles, 3 * sizeof *p.indices)};
    *m = (tool_moving){.vertices = tool_array(vertices, sizeof *m->vertices),
                       .start = tool_array(vertices, sizeof *m->start),
                       .end = tool_array(vertices, sizeof *m->end),
                       .part_count = number_parts(mesh, parts, p.local, p.part)};
    m->parts = tool_array(m->part_count, sizeof *m->parts);
    m->topologies = tool_array(m->part_count, sizeof *m->topologies);
    m->begin = tool_array((size_t)m->part_count + 1, sizeof *m->begin);
    p.first = tool_array((size_t)m->part_count + 1, sizeof *p.first);
    sort_parts(m, mesh, &p);
    copy_positions(m, mesh, m->start);
    make_parts(tool, m, &p);
    ensure(abut_sweep_create(m->parts, m->part_count, options, &m->motion));
    tool_free(p.part);
    tool_free(p.local);
    tool_free(p.first);
    tool_free(p.indices);
}

void moving_free(tool_moving *m) {
    void *const all[] = {m->parts, m->topologies, m->begin, m->vertices, m->start, m->end};
    abut_sweep_destroy(m->motion);
    for (uint32_t i = 0; i < m->part_count; i++) {
        abut_topology_destroy(m->topologies[i]);
        abut_mesh_destroy(m->parts[i]);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tool_free(all[i]);
    *m = (tool_moving){0};
}

void moving_step(tool_run *tool, tool_moving *m, const char *start_path, abut_mesh *start,
                 const char *end_path, abut_mesh *end) {
    check_same(tool, start_path, start, end_path, end);
    copy_positions(m, start, m->start);
    copy_positions(m, end, m->end);
    ensure(abut_sweep_set_positions(m->motion, abut_array_host(m->start), abut_array_host(m->end)));
}

void moving_step_to(tool_moving *m, const abut_vec3 *start, const abut_vec3 *end) {
    for (uint32_t i = 0; i < m->vertex_count; i++) {
        m->start[i] = start[m->vertices[i]];
        m->end[i] = end[m->vertices[i]];
    }
    ensure(abut_sweep_set_positions(m->motion, abut_array_host(m->start), abut_array_host(m->end)));
}

void moving_vertices(const tool_moving *m, const abut_impact *impact, uint32_t vertices[4]) {
    const bool edges = impact->kind == ABUT_IMPACT_EDGE_EDGE;
    uint32_t at = 0;
    for (int side = 0; side < 2; side++) {
        const uint32_t part = impact->mesh[side], element = impact->element[side];
        const uint32_t *own = m->vertices + m->begin[part];
        const abut_topology_arrays view = get_topology_arrays(m->topologies[part]);
        const uint32_t *corner = edges ? view.edges + 2 * (size_t)element
                                       : abut_mesh_indices(m->parts[part]) + 3 * (size_t)element;
        if (!edges && side == 0)
            vertices[at++] = own[element];
        else
            for (uint32_t k = 0; k < (edges ? 2u : 3u); k++)
                vertices[at++] = own[corner[k]];
    }
}
