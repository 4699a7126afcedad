/* Vertices whose triangles meet each other only where they must.
 *
 * Problem: nearly all pairs of triangles of a mesh with overlapping boxes are neighbours, and each
 * would have to be cleared by orientations in space.
 * Method: look along a coordinate axis at the triangles around a vertex v. If all of them turn the
 * same way there, follow one another in one closed ring, and go around v exactly once, they lie in
 * sectors side by side: two of them have in common v, or the edge on the ray between their sectors.
 * Along the axis each triangle is one to one, so that they have no more in common in space either.
 * Six exact signs in the plane then clear all fifteen pairs around a vertex at once.
 * Guarantee: what is marked is so. What is not marked (borders, folds, sharp tips, long rings) may
 * still be fine and is looked at pair by pair.
 */
#include "pair/pair.h"

#include "base/simd.h"
#include "geom/predicates_shared.h"

enum { MAX_RING = 32, VERTICES_A_TASK = 2048, FETCH_AHEAD = 16 /* vertices */ };

typedef struct stars {
    const abut_mesh *mesh;
    const uint32_t *begin, *faces; /* of each vertex */
    unsigned char *clean;
} stars;

/* The triangles around a vertex: triangle i is v, from[i], to[i] in its own order. */
typedef struct ring {
    uint32_t from[MAX_RING], to[MAX_RING], count;
} ring;

static bool gather_ring(const stars *s, uint32_t vertex, ring *r) {
    static const uint8_t next[4] = {1, 2, 0, 0}, last[4] = {2, 0, 1, 1}; /* 3: it comes twice */
    uint32_t begin = s->begin[vertex], count = s->begin[vertex + 1] - begin;
    r->count = count;
    if (count < 3 || count > MAX_RING)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *corner = s->mesh->indices + 3 * (size_t)s->faces[begin + i];
        uint32_t at = (uint32_t)(corner[1] == vertex) + 2 * (uint32_t)(corner[2] == vertex);
        r->from[i] = corner[next[at]]; /* no branch: none could be foreseen */
        r->to[i] = corner[last[at]];
    }
    return true;
}

/* From each triangle to the one that begins where it ends: back at the first after all of them, and
 * not before. */
static bool is_closed(const ring *r) {
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

/* The axis nearest to the mean normal, and which way the triangles turn along it. */
static int axis_of(const vec3 *p, uint32_t vertex, const ring *r, int *turn) {
    vec3 normal = v3(0, 0, 0);
    for (uint32_t i = 0; i < r->count; i++)
        normal = v3_add(normal,
                        v3_cross(v3_sub(p[r->from[i]], p[vertex]), v3_sub(p[r->to[i]], p[vertex])));
    double x = fabs(normal.x), y = fabs(normal.y), z = fabs(normal.z);
    int axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    *turn = v3_get(normal, axis) > 0 ? 1 : -1;
    return axis;
}

static bool is_clean(const stars *s, uint32_t vertex) {
    const vec3 *p = s->mesh->positions;
    ring r;
    int turn;
    if (!gather_ring(s, vertex, &r))
        return false;
    int axis = axis_of(p, vertex, &r, &turn), height_axis = (axis + 2) % 3;
    double height = v3_get(p[vertex], height_axis);
    int turns = 0;
    for (uint32_t i = 0; i < r.count; i++) {
        if (orient2d_axis(axis, p[vertex], p[r.from[i]], p[r.to[i]]) != turn)
            return false;
        /* Sectors are less than half a turn, so that each turn to the left rises through the height
         * of the vertex exactly once. */
        uint32_t first = turn > 0 ? r.from[i] : r.to[i], last = turn > 0 ? r.to[i] : r.from[i];
        turns += v3_get(p[first], height_axis) < height && v3_get(p[last], height_axis) >= height;
    }
    return turns == 1 && is_closed(&r);
}

/* Asks for the triangles of a vertex that comes later, since their numbers may be any, and half as
 * far ahead for their corners: two of each will do, since the third is one of the next triangle's.
 */
static inline void fetch_later(const stars *s, size_t vertex) {
    const abut_mesh *mesh = s->mesh;
    if (vertex + FETCH_AHEAD >= mesh->vertex_count)
        return;
    const uint32_t *later = s->begin + vertex + FETCH_AHEAD;
    const uint32_t *soon = s->begin + vertex + FETCH_AHEAD / 2;
    for (uint32_t i = later[0]; i < later[1]; i++)
        ABUTI_PREFETCH(&mesh->indices[3 * (size_t)s->faces[i]]);
    for (uint32_t i = soon[0]; i < soon[1]; i++)
        for (size_t k = 0; k < 2; k++)
            ABUTI_PREFETCH(&mesh->positions[mesh->indices[3 * (size_t)s->faces[i] + k]]);
}

static void stars_task(void *data, size_t chunk, size_t begin, size_t end) {
    stars *s = data;
    (void)chunk;
    for (size_t vertex = begin; vertex < end; vertex++) {
        fetch_later(s, vertex);
        s->clean[vertex] = is_clean(s, (uint32_t)vertex);
    }
}

/* Sorts the corners of all triangles by their vertices: begin has vertex_count + 1 words. */
static void list_faces(const abut_mesh *mesh, uint32_t *begin, uint32_t *faces) {
    size_t corners = 3 * (size_t)mesh->triangle_count;
    memset(begin, 0, ((size_t)mesh->vertex_count + 1) * sizeof *begin);
    for (size_t i = 0; i < corners; i++)
        begin[mesh->indices[i]]++;
    uint32_t sum = 0;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        sum += begin[v];
        begin[v] = sum; /* the end, which comes down to the begin below */
    }
    begin[mesh->vertex_count] = sum;
    for (size_t i = corners; i-- > 0;)
        faces[--begin[mesh->indices[i]]] = (uint32_t)(i / 3);
}

abut_status abuti_pair_stars(const abut_mesh *mesh, unsigned char *clean) {
    abut_context *context = mesh->context;
    memset(clean, 0, mesh->vertex_count);
    if (mesh->triangle_count > UINT32_MAX / 3)
        return ABUT_OK; /* more corners than can be counted: nothing is marked */
    uint32_t *begin = abuti_allocate(context, (size_t)mesh->vertex_count + 1, sizeof *begin);
    uint32_t *faces = abuti_allocate(context, mesh->triangle_count, 3 * sizeof *faces);
    abut_status status = begin && faces ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        stars s = {mesh, begin, faces, clean};
        list_faces(mesh, begin, faces);
        abuti_parallel_for(context, mesh->vertex_count, VERTICES_A_TASK, stars_task, &s);
    }
    ABUTI_RELEASE(context, begin, faces);
    return status;
}
