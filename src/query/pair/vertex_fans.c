/* Vertices whose triangles intersect each other only in what they share by index.
 *
 * Problem: almost all pairs of triangles of a mesh with overlapping boxes are neighbours, and each
 * would need orientations in space. Method: project the triangles around a vertex v along a
 * coordinate axis. If all of them have the same orientation, follow one another in one closed fan,
 * and go around v exactly once, they are in adjacent sectors: two of them have in common v, or the
 * edge on the ray between their sectors. The projection of each triangle is one-to-one, so they
 * have no more in common in space either. Six exact signs in the plane then exclude all fifteen
 * pairs around a vertex at once. Guarantee: marked vertices have this property. Vertices that are
 * not marked (boundaries, folds, sharp tips, long fans) may have it too; their pairs are tested one
 * by one.
 */
#include "pair/pair.h"

#include "geom/predicates_shared.h"

enum { RING_MAX = 32, VERTICES_PER_TASK = 2048 };

typedef struct fan_task_data {
    const abut_mesh *mesh;
    const uint32_t *begin, *faces; /* of each vertex */
    unsigned char *clean;
} fan_task_data;

/* The triangles around a vertex: triangle i is v, from[i], to[i] in its own order. */
typedef struct fan {
    uint32_t from[RING_MAX], to[RING_MAX], count;
} fan;

static bool gather_fan(const fan_task_data *s, uint32_t vertex, fan *r) {
    static const uint8_t next[4] = {1, 2, 0, 0},
                         last[4] = {2, 0, 1, 1}; /* 3: the vertex occurs twice */
    uint32_t begin = s->begin[vertex], count = s->begin[vertex + 1] - begin;
    r->count = count;
    if (count < 3 || count > RING_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *corner = s->mesh->indices + 3 * (size_t)s->faces[begin + i];
        uint32_t at = (uint32_t)(corner[1] == vertex) + 2 * (uint32_t)(corner[2] == vertex);
        r->from[i] = corner[next[at]]; /* without a branch, which would be unpredictable */
        r->to[i] = corner[last[at]];
    }
    return true;
}

/* Whether each triangle is followed by one that begins where it ends, back to the first after all
 * of them and not before. */
static bool is_closed_fan(const fan *r) {
    uint32_t at = 0;
    for (uint32_t step = 1; step <= r->count; step++) {
        uint32_t next = 0;
        while (next < r->count && r->from[next] != r->to[at])
            next++;
        if (next == r->count || (next == 0) != (step == r->count))
            return false;
        at = next;
    }
    return true;
}

/* The axis nearest to the mean normal, and the orientation of the triangles along it. */
static int projection_axis(const vec3 *p, uint32_t vertex, const fan *r, int *orientation) {
    vec3 normal = v3(0, 0, 0);
    for (uint32_t i = 0; i < r->count; i++)
        normal = v3_add(normal,
                        v3_cross(v3_sub(p[r->from[i]], p[vertex]), v3_sub(p[r->to[i]], p[vertex])));
    double x = fabs(normal.x), y = fabs(normal.y), z = fabs(normal.z);
    int axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    *orientation = v3_get(normal, axis) > 0 ? 1 : -1;
    return axis;
}

static bool is_clean_vertex(const fan_task_data *s, uint32_t vertex) {
    const vec3 *p = s->mesh->positions;
    fan r;
    int orientation;
    if (!gather_fan(s, vertex, &r))
        return false;
    int axis = projection_axis(p, vertex, &r, &orientation), height_axis = (axis + 2) % 3;
    double height = v3_get(p[vertex], height_axis);
    int full_turns = 0;
    for (uint32_t i = 0; i < r.count; i++) {
        if (orient2d_axis(axis, p[vertex], p[r.from[i]], p[r.to[i]]) != orientation)
            return false;
        /* Sectors are less than half a turn, so each full turn to the left rises through the height
         * of the vertex exactly once. */
        uint32_t first = orientation > 0 ? r.from[i] : r.to[i],
                 last = orientation > 0 ? r.to[i] : r.from[i];
        full_turns +=
            v3_get(p[first], height_axis) < height && v3_get(p[last], height_axis) >= height;
    }
    return full_turns == 1 && is_closed_fan(&r);
}

static void clean_vertices_task(void *data, size_t chunk, size_t begin, size_t end) {
    fan_task_data *s = data;
    (void)chunk;
    for (size_t vertex = begin; vertex < end; vertex++)
        s->clean[vertex] = is_clean_vertex(s, (uint32_t)vertex);
}

/* Sorts the corners of all triangles by vertex: begin has vertex_count + 1 entries. */
static void list_vertex_faces(const abut_mesh *mesh, uint32_t *begin, uint32_t *faces) {
    size_t corners = 3 * (size_t)mesh->triangle_count;
    memset(begin, 0, ((size_t)mesh->vertex_count + 1) * sizeof *begin);
    for (size_t i = 0; i < corners; i++)
        begin[mesh->indices[i]]++;
    uint32_t sum = 0;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        sum += begin[v];
        begin[v] = sum; /* the end; decremented to the beginning below */
    }
    begin[mesh->vertex_count] = sum;
    for (size_t i = corners; i-- > 0;)
        faces[--begin[mesh->indices[i]]] = (uint32_t)(i / 3);
}

abut_status abuti_pair_clean_vertices(const abut_mesh *mesh, unsigned char *clean) {
    abut_context *context = mesh->context;
    memset(clean, 0, mesh->vertex_count);
    if (mesh->triangle_count > UINT32_MAX / 3)
        return ABUT_OK; /* too many corners for 32 bits: nothing is marked */
    uint32_t *begin = abuti_allocate(context, (size_t)mesh->vertex_count + 1, sizeof *begin);
    uint32_t *faces = abuti_allocate(context, mesh->triangle_count, 3 * sizeof *faces);
    abut_status status = begin && faces ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        fan_task_data s = {mesh, begin, faces, clean};
        list_vertex_faces(mesh, begin, faces);
        abuti_parallel_for(context, mesh->vertex_count, VERTICES_PER_TASK, clean_vertices_task, &s);
    }
    ABUTI_RELEASE(context, begin, faces);
    return status;
}
