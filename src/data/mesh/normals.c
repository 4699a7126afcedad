/* Face normals and angle-weighted pseudo-normals.
 *
 * Baerentzen & Aanaes, "Signed distance computation using the angle weighted pseudonormal", IEEE
 * TVCG 11(3), 2005: the normal of a vertex is the sum of its face normals weighted by the angle of
 * the face there, and that of an edge the sum of its faces' normals. Then the sign of (point -
 * closest) . normal is correct for every closest feature of a closed oriented surface. Their
 * argument only considers the solid near the feature, so it also holds for a vertex with several
 * fans.
 *
 * A face normal is the cross product of two sides. If the triangle is so thin that rounding could
 * matter, its components are computed as exact expansions and rounded once. So the normal is zero
 * if and only if the triangle is degenerate, and accurate to 1e-11 otherwise. Tiny triangles are
 * scaled by a power of two first. Angles are atan2 of cross and dot product, accurate for obtuse
 * corners and for thin triangles. Vertices and edges sum over their faces in ascending order: the
 * same bits on any number of threads.
 */
#include "geom/predicates_shared.h"
#include "mesh/mesh.h"

#define GRAIN 8192

struct abut_normals {
    abut_mesh *mesh; /* referenced, for its context */
    vec3 *faces, *edges, *vertices;
};

typedef struct normals_job {
    const abut_topology_arrays *view;
    const uint32_t *indices;
    const vec3 *positions;
    vec3 *faces, *edges, *vertices;
} normals_job;

/* Normalises a sum of weighted unit vectors; zero if it cancels, that is, if the sum is not larger
 * than the rounding errors of its terms. */
static vec3 unit_sum(vec3 sum, real weight) {
    return v3_max_abs(sum) <= 8 * REAL_EPSILON * weight ? v3(0, 0, 0) : v3_normalise(sum);
}

/* ---- faces ---- */

#define THIN_SINE 1e-4      /* sine below which the cross product is computed exactly */
#define TINY_SIZE 1e-100    /* size below which products of tails would underflow */
#define TINY_SCALE 0x1p+500 /* scales 1e-308 to 1e-157 and keeps 1e-84 below 1e67 */

vec3 abuti_unit_normal(vec3 a, vec3 b, vec3 c) {
    vec3 u = v3_sub(b, a), v = v3_sub(c, a);
    real size_u = v3_max_abs(u), size_v = v3_max_abs(v);
    if (real_max(size_u, size_v) < TINY_SIZE) {
        a = v3_scale(a, TINY_SCALE);
        b = v3_scale(b, TINY_SCALE);
        c = v3_scale(c, TINY_SCALE);
        u = v3_sub(b, a);
        v = v3_sub(c, a);
        size_u = v3_max_abs(u);
        size_v = v3_max_abs(v);
    }
    vec3 normal = v3_cross(u, v);
    if (v3_max_abs(normal) <= THIN_SINE * size_u * size_v)
        normal = v3(orient2d_value(a.y, a.z, b.y, b.z, c.y, c.z),
                    orient2d_value(a.z, a.x, b.z, b.x, c.z, c.x),
                    orient2d_value(a.x, a.y, b.x, b.y, c.x, c.y));
    return v3_normalise(normal);
}

bool abuti_is_degenerate(vec3 a, vec3 b, vec3 c) {
    real size = real_max(v3_max_abs(v3_sub(b, a)), v3_max_abs(v3_sub(c, a)));
    if (size < TINY_SIZE)
        return triangle_is_degenerate(v3_scale(a, TINY_SCALE), v3_scale(b, TINY_SCALE),
                                      v3_scale(c, TINY_SCALE));
    return triangle_is_degenerate(a, b, c);
}

static void face_normals_task(void *data, size_t chunk, size_t begin, size_t end) {
    normals_job *w = data;
    (void)chunk;
    for (size_t f = begin; f < end; f++) {
        const uint32_t *corner = w->indices + 3 * f;
        w->faces[f] = abuti_unit_normal(w->positions[corner[0]], w->positions[corner[1]],
                                        w->positions[corner[2]]);
    }
}

/* ---- edges and vertices ---- */

static void edge_normals_task(void *data, size_t chunk, size_t begin, size_t end) {
    normals_job *w = data;
    (void)chunk;
    for (size_t e = begin; e < end; e++) {
        vec3 sum = v3(0, 0, 0);
        uint32_t first = w->view->edge_face_begin[e], last = w->view->edge_face_begin[e + 1];
        for (uint32_t i = first; i < last; i++)
            sum = v3_add(sum, w->faces[w->view->edge_faces[i]]);
        w->edges[e] = unit_sum(sum, last - first);
    }
}

real abuti_corner_angle(vec3 at, vec3 p, vec3 q) {
    vec3 u = v3_sub(p, at), v = v3_sub(q, at);
    real size_u = v3_max_abs(u), size_v = v3_max_abs(v);
    if (!(size_u > 0 && size_v > 0))
        return 0;
    u = v3(u.x / size_u, u.y / size_u, u.z / size_u);
    v = v3(v.x / size_v, v.y / size_v, v.z / size_v);
    return real_atan2(v3_length(v3_cross(u, v)), v3_dot(u, v));
}

static void vertex_normals_task(void *data, size_t chunk, size_t begin, size_t end) {
    normals_job *w = data;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        vec3 sum = v3(0, 0, 0);
        real weight = 0;
        uint32_t first = w->view->vertex_face_begin[v], last = w->view->vertex_face_begin[v + 1];
        for (uint32_t i = first; i < last; i++) {
            uint32_t face = w->view->vertex_faces[i];
            const uint32_t *corner = w->indices + 3 * (size_t)face;
            uint32_t k = corner[0] == v ? 0 : corner[1] == v ? 1 : 2;
            real angle = abuti_corner_angle(w->positions[v], w->positions[corner[(k + 1) % 3]],
                                            w->positions[corner[(k + 2) % 3]]);
            sum = v3_along(sum, angle, w->faces[face]);
            weight += angle;
        }
        w->vertices[v] = unit_sum(sum, weight);
    }
}

abut_status abut_normals_create(const abut_topology *topology, abut_normals **normals) {
    if (!topology || !normals)
        return abuti_null(__func__, topology ? "normals" : "topology");
    const abut_topology_arrays *view = &topology->view;
    abut_mesh *mesh = topology->mesh;
    abut_context *context = mesh->context;
    abut_normals *created = abuti_allocate_zeroed(context, 1, sizeof *created);
    if (!created)
        return ABUT_ERROR_MEMORY;
    created->mesh = abut_mesh_retain(mesh);
    abut_status status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(created->faces, view->triangle_count),
                                        ABUTI_ARRAY(created->edges, view->edge_count),
                                        ABUTI_ARRAY(created->vertices, view->vertex_count));
    normals_job w = {.view = view,
                     .indices = mesh->indices,
                     .positions = mesh->positions,
                     .faces = created->faces,
                     .edges = created->edges,
                     .vertices = created->vertices};
    if (!status)
        status = abuti_progress(context, "normals", 0);
    if (!status)
        status = abuti_parallel_try(context, "normals", view->triangle_count, GRAIN,
                                    face_normals_task, &w);
    if (!status)
        status = abuti_progress(context, "normals", 0.3);
    if (!status)
        status =
            abuti_parallel_try(context, "normals", view->edge_count, GRAIN, edge_normals_task, &w);
    if (!status)
        status = abuti_progress(context, "normals", 0.5);
    if (!status)
        status = abuti_parallel_try(context, "normals", view->vertex_count, GRAIN,
                                    vertex_normals_task, &w);
    if (!status)
        status = abuti_progress(context, "normals", 1);
    if (status)
        abut_normals_destroy(created);
    else
        *normals = created;
    return status;
}

void abut_normals_destroy(abut_normals *normals) {
    if (!normals)
        return;
    abut_mesh *mesh = normals->mesh;
    ABUTI_RELEASE(mesh->context, normals->faces, normals->edges, normals->vertices, normals);
    abut_mesh_destroy(mesh);
}

abut_status abut_normals_get_arrays(const abut_normals *normals, abut_normals_arrays *arrays) {
    if (!normals || !arrays)
        return abuti_null(__func__, normals ? "arrays" : "normals");
    abut_normals_arrays made = abut_normals_arrays_default();
    made.faces = normals->faces;
    made.edges = normals->edges;
    made.vertices = normals->vertices;
    return abuti_info_write(arrays, &made, sizeof made, __func__);
}
