/* The connected components of a surface, and the size of the holes of each relative to its area.
 *
 * Components are connected by shared vertices, also by those that only have equal coordinates.
 *
 * Holes are bounded by edges with one face: loops of these (topology_loops.c) in any orientation of
 * the faces. Holes that touch in several vertices may be split in more than one way; which one
 * depends on the order of the edges. At edges of three or more faces the boundary may end instead
 * of closing, as that of a fin on a body: such a chain counts as if a straight line closed it. A
 * hole counts as a disc of the perimeter L of its loop, L^2 / (4 pi): the largest area that a flat
 * hole can have.
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

/* The scaled area of each component; a null `component` means that there is only one. */
static void add_areas(const abut_mesh *mesh, double scale, const uint32_t *component,
                      double *areas) {
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *corner = mesh->indices + 3 * t;
        const vec3 p = v3_scale(mesh->positions[corner[0]], scale);
        const vec3 q = v3_scale(mesh->positions[corner[1]], scale);
        const vec3 r = v3_scale(mesh->positions[corner[2]], scale);
        areas[component ? component[corner[0]] : 0] +=
            v3_length(v3_cross(v3_sub(q, p), v3_sub(r, p))) / 2;
    }
}

/* Adds the squared scaled perimeter of each loop, or of each chain with a straight line from its
 * end to its begin, to its component. */
static void add_perimeters(const abut_mesh *mesh, double scale, const uint32_t *component,
                           uint32_t count, const uint32_t *begin, const uint32_t *vertices,
                           double *squares) {
    for (uint32_t i = 0; i < count; i++) {
        double perimeter = 0;
        for (uint32_t k = begin[i]; k < begin[i + 1]; k++) {
            const uint32_t next = vertices[k + 1 < begin[i + 1] ? k + 1 : begin[i]];
            const vec3 edge = v3_sub(mesh->positions[next], mesh->positions[vertices[k]]);
            perimeter += v3_length(v3_scale(edge, scale));
        }
        squares[component ? component[vertices[begin[i]]] : 0] += perimeter * perimeter;
    }
}

/* Scales the extent of the mesh to about 1; for subnormal extents the scale is as large as
 * possible. */
static double unit_scale(const abut_mesh *mesh) {
    int exponent = 0;
    frexp(v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo)), &exponent);
    return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

abut_status abuti_hole_fractions(const abut_mesh *mesh, const uint32_t (*boundary)[2],
                                 const bool *single, uint32_t count, const uint32_t *component,
                                 uint32_t component_count, double *fractions) {
    const double pi = 3.14159265358979323846, scale = unit_scale(mesh);
    abut_context *context = mesh->context;
    const bool is_open = count > INT32_MAX; /* at least half of all sides: not a solid */
    abuti_loops loops;
    uint32_t(*edges)[2], used = 0;
    double *areas;
    for (uint32_t i = 0; i < component_count; i++)
        fractions[i] = is_open ? HUGE_VAL : 0;
    if (!count || is_open)
        return ABUT_OK;
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(edges, count), ABUTI_ZEROED(areas, component_count));
    if (status)
        return status;
    for (uint32_t i = 0; i < count; i++)
        if (single[i])
            memcpy(edges[used++], boundary[i], sizeof *edges);
    status =
        abuti_find_loops(context, (const uint32_t(*)[2])edges, used, mesh->vertex_count, &loops);
    if (!status) {
        add_perimeters(mesh, scale, component, loops.loop_count, loops.loop_begin,
                       loops.loop_vertices, fractions);
        add_perimeters(mesh, scale, component, loops.chain_count, loops.chain_begin,
                       loops.chain_vertices, fractions);
        abuti_loops_release(context, &loops);
        add_areas(mesh, scale, component, areas);
        for (uint32_t i = 0; i < component_count; i++)
            fractions[i] = fractions[i] == 0 ? 0
                           : areas[i] > 0    ? fractions[i] / (4 * pi) / areas[i]
                                             : HUGE_VAL;
    }
    ABUTI_RELEASE(context, edges, areas);
    return status;
}
