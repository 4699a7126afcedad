/* Distances of all samples to the surface that they are on, without its neighbourhood.
 *
 * Excluded for the samples of a triangle are all triangles that can be reached from it through
 * `rings` vertices, and those whose vertices are all closer than `geodesic` to one of its corners
 * along edges. Vertices with equal coordinates count as one, so that a surface
 * whose triangles share no vertices does not have the distance 0 to itself.
 *
 * Method: for each triangle, the excluded triangles are marked. Then the BVH is traversed for each
 * sample, nearest child first, without them. The result of one sample is the warm start of the
 * next. Distances to boxes are computed in floats, four at once, rounded down; distances to
 * triangles by triangle_closest_point(). So results are those of an exhaustive search of the other
 * triangles; of equal distances the lowest triangle is the result.
 */
#include "map/search.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

enum { TRIANGLES_PER_RUN = 16, RUNS_PER_ROUND = 64 };

static const char stage[] = "map";

/* State of one thread. */
typedef struct worker {
    const struct self_search *s;
    uint32_t part;            /* excluded component, or */
    uint32_t mark, *excluded; /* triangles with this mark are excluded */
    uint32_t turn, *reached;  /* vertices with this turn have been reached */
    uint32_t *queue;          /* of vertices; for distances along edges circular, */
    uint32_t first, queued;   /* with its first element and their number */
    bool *is_queued;
    double *way;   /* length of the path to a reached vertex */
    uint32_t last; /* triangle of the last result */
} worker;

typedef struct self_search {
    abut_map *map;
    const abut_bvh *bvh;
    double limit, geodesic;
    uint32_t rings;
    const uint32_t *parts;   /* if the component of a sample is excluded; else null */
    uint32_t *names;         /* for each vertex the lowest one with equal coordinates */
    uint32_t *begin, *faces; /* triangles of each merged vertex */
    worker *workers;
    uint32_t worker_count;
    size_t from, to; /* ranks of the round */
    _Atomic size_t taken;
} self_search;

/* ---- neighbourhood of a triangle ---- */

static uint32_t name_of(const self_search *s, uint32_t triangle, int k) {
    return s->names[s->map->mesh->indices[3 * (size_t)triangle + (size_t)k]];
}

static void exclude_rings(worker *w, uint32_t triangle) {
    const self_search *s = w->s;
    uint32_t used = 0, next = 0;
    for (int k = 0; k < 3; k++) {
        uint32_t v = name_of(s, triangle, k);
        if (w->reached[v] != w->turn)
            w->queue[used++] = v;
        w->reached[v] = w->turn;
    }
    for (uint32_t ring = 0; ring < s->rings && next < used; ring++)
        for (uint32_t end = used; next < end; next++) {
            const uint32_t v = w->queue[next];
            for (uint32_t i = s->begin[v]; i < s->begin[v + 1]; i++) {
                const uint32_t t = s->faces[i];
                if (w->excluded[t] == w->mark)
                    continue;
                w->excluded[t] = w->mark;
                for (int k = 0; k < 3; k++) {
                    uint32_t other = name_of(s, t, k);
                    if (w->reached[other] != w->turn)
                        w->queue[used++] = other;
                    w->reached[other] = w->turn;
                }
            }
        }
}

/* A shorter path to a vertex. Puts it into the queue, unless the path is too long. */
static void relax_vertex(worker *w, uint32_t vertex, double way) {
    const uint32_t room = w->s->map->mesh->vertex_count;
    if (!(way < w->s->geodesic) || (w->reached[vertex] == w->turn && way >= w->way[vertex]))
        return;
    w->reached[vertex] = w->turn;
    w->way[vertex] = way;
    if (!w->is_queued[vertex])
        w->queue[(w->first + w->queued++) % room] = vertex;
    w->is_queued[vertex] = true;
}

/* A triangle is excluded when all its vertices have been reached. Paths become shorter until the
 * queue is empty (Moore 1959), which for neighbourhoods is as fast as an ordered queue. */
static void exclude_geodesic(worker *w, uint32_t triangle) {
    const self_search *s = w->s;
    const abut_mesh *mesh = s->map->mesh;
    for (int k = 0; k < 3; k++)
        relax_vertex(w, name_of(s, triangle, k), 0);
    while (w->queued) {
        const uint32_t v = w->queue[w->first];
        w->first = (w->first + 1) % mesh->vertex_count;
        w->queued--;
        w->is_queued[v] = false;
        for (uint32_t i = s->begin[v]; i < s->begin[v + 1]; i++) {
            const uint32_t t = s->faces[i];
            bool all = true;
            for (int k = 0; k < 3; k++) {
                const uint32_t other = name_of(s, t, k);
                double edge = v3_length(v3_sub(mesh->positions[other], mesh->positions[v]));
                relax_vertex(w, other, w->way[v] + edge);
                all = all && w->reached[other] == w->turn;
            }
            if (all)
                w->excluded[t] = w->mark;
        }
    }
}

static void exclude_neighbourhood(worker *w, uint32_t triangle) {
    if (w->s->parts) {
        w->part = w->s->parts[triangle];
        return;
    }
    w->mark = ++w->turn;
    exclude_rings(w, triangle);
    if (w->s->geodesic > 0) {
        w->turn++; /* starts a new set of reached vertices */
        exclude_geodesic(w, triangle);
    }
}

/* ---- samples ---- */

static void measure_triangle(const worker *w, vec3 point, uint32_t triangle, map_found *found) {
    const abut_map *map = w->s->map;
    if (triangle == ABUT_NONE ||
        (w->s->parts ? w->s->parts[triangle] == w->part : w->excluded[triangle] == w->mark))
        return;
    closest_on_triangle closest = triangle_closest_point(bvh_triangle(map->mesh, triangle), point);
    if (closest.distance > w->s->limit || closest.distance > found->closest.distance ||
        (closest.distance == found->closest.distance && triangle >= found->triangle))
        return;
    found->closest = closest;
    found->triangle = triangle;
}

/* Searches for a triangle that is nearer than the current one, or equally near and lower. */
static void search_nearest(const worker *w, vec3 point, map_found *found) {
    const abut_bvh *bvh = w->s->bvh;
    const map_interval p = map_interval_of(bvh, point);
    keyed stack[BVH_STACK + BVH_WIDTH];
    uint32_t used = 0, child = 0;
    float reach_sq = map_reach_sq(bvh, real_min(w->s->limit, found->closest.distance));
    for (;;) {
        if (child & BVH_LEAF) {
            const uint32_t leaf = child & ~BVH_LEAF;
            for (uint32_t i = 0; i < bvh_leaf_fill(bvh, leaf); i++)
                measure_triangle(w, point, bvh->order[leaf * BVH_WIDTH + i], found);
            reach_sq = map_reach_sq(bvh, real_min(w->s->limit, found->closest.distance));
        } else {
            const bvh_node *node = &bvh->nodes[child];
            f4 distance_sq = map_boxes(&p, node);
            m4 near = f4_less_equal(distance_sq, f4_all(reach_sq));
            assert(used <= BVH_STACK);
            used += f4_sort(distance_sq, near, node->child, stack + used);
        }
        while (used && !(stack[used - 1].key <= reach_sq))
            used--;
        if (!used)
            return;
        child = stack[--used].value;
    }
}

static void compute_triangle(worker *w, uint32_t rank) {
    abut_map *map = w->s->map;
    exclude_neighbourhood(w, map->ranked[rank]);
    for (uint32_t i = map->first[rank]; i < map->first[rank + 1]; i++) {
        const vec3 point = map->points[i];
        map_found found = map_found_nothing();
        measure_triangle(w, point, w->last, &found);
        search_nearest(w, point, &found);
        map->results[i] = map_found_texel(&found, point);
        w->last = found.triangle == ABUT_NONE ? w->last : found.triangle;
    }
}

/* Processes ranges of triangles until none remains. */
static void worker_task(void *data, size_t chunk, size_t begin, size_t end) {
    self_search *s = data;
    worker *w = &s->workers[chunk];
    (void)begin;
    (void)end;
    for (;;) {
        size_t from = s->from + atomic_fetch_add(&s->taken, TRIANGLES_PER_RUN);
        if (from >= s->to || abuti_stop(s->map->context, stage))
            return;
        for (size_t i = from; i < from + TRIANGLES_PER_RUN && i < s->to; i++)
            compute_triangle(w, (uint32_t)i);
    }
}

static abut_status compute_all(self_search *s) {
    abut_context *context = s->map->context;
    const size_t count = s->map->mesh->triangle_count;
    const size_t round = (size_t)TRIANGLES_PER_RUN * RUNS_PER_ROUND * s->worker_count;
    abut_status status = ABUT_OK;
    for (size_t begin = 0; begin < count && !status; begin += round) {
        s->from = begin;
        s->to = count - begin < round ? count : begin + round;
        atomic_store(&s->taken, 0);
        abuti_parallel_for(context, s->worker_count, 1, worker_task, s);
        status = abuti_progress(context, stage, (double)s->to / (double)count);
    }
    return status;
}

/* ---- entry point ---- */

/* Lists the triangles of each merged vertex, one entry per corner. */
static void list_faces(self_search *s) {
    const abut_mesh *mesh = s->map->mesh;
    const size_t corners = 3 * (size_t)mesh->triangle_count;
    memset(s->begin, 0, ((size_t)mesh->vertex_count + 1) * sizeof *s->begin);
    for (size_t i = 0; i < corners; i++)
        s->begin[s->names[mesh->indices[i]]]++;
    uint32_t sum = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        sum += s->begin[v];
        s->begin[v] = sum; /* the end, which is decremented to the begin */
    }
    s->begin[mesh->vertex_count] = sum;
    for (size_t i = corners; i-- > 0;)
        s->faces[--s->begin[s->names[mesh->indices[i]]]] = (uint32_t)(i / 3);
}

static abut_status create_worker(const self_search *s, worker *w) {
    abut_context *context = s->map->context;
    const size_t vertices = s->map->mesh->vertex_count, triangles = s->map->mesh->triangle_count;
    const size_t ways = s->geodesic > 0 ? vertices : 0;
    w->s = s;
    w->last = ABUT_NONE;
    return ABUTI_ALLOCATE(context, ABUTI_ZEROED(w->excluded, triangles),
                          ABUTI_ZEROED(w->reached, vertices), ABUTI_ARRAY(w->queue, vertices),
                          ABUTI_ZEROED(w->is_queued, ways), ABUTI_ARRAY(w->way, ways));
}

static void destroy_search(self_search *s) {
    abut_context *context = s->map->context;
    for (uint32_t i = 0; s->workers && i < s->worker_count; i++) {
        worker *w = &s->workers[i];
        ABUTI_RELEASE(context, w->excluded, w->reached, w->queue, w->is_queued, w->way);
    }
    ABUTI_RELEASE(context, s->names, s->begin, s->faces, s->workers);
}

static abut_status create_search(self_search *s) {
    abut_context *context = s->map->context;
    const abut_mesh *mesh = s->map->mesh;
    const size_t runs = abuti_chunk_count(mesh->triangle_count, TRIANGLES_PER_RUN);
    s->worker_count = abuti_context_threads(context);
    s->worker_count = s->worker_count < runs ? s->worker_count : (uint32_t)runs;
    abut_status status = ABUTI_ALLOCATE(context, ABUTI_ZEROED(s->workers, s->worker_count),
                                        ABUTI_ARRAY(s->names, mesh->vertex_count),
                                        ABUTI_ARRAY(s->begin, (size_t)mesh->vertex_count + 1),
                                        ABUTI_ARRAY(s->faces, 3 * (size_t)mesh->triangle_count));
    if (!status)
        status = abuti_coincident_vertices(context, mesh->positions, mesh->vertex_count, s->names);
    for (uint32_t i = 0; i < s->worker_count && !status; i++)
        status = create_worker(s, &s->workers[i]);
    if (!status)
        list_faces(s);
    return status;
}

/* Computes the component of each triangle, named by the lowest merged vertex. Done once, so that
 * components stay the same while the mesh moves. */
static abut_status compute_components(abut_map *map) {
    const abut_mesh *mesh = map->mesh;
    if (map->parts)
        return ABUT_OK;
    uint32_t *names, *parts;
    abut_status status = ABUTI_ALLOCATE(map->context, ABUTI_ARRAY(names, mesh->vertex_count),
                                        ABUTI_ARRAY(parts, mesh->triangle_count));
    if (!status)
        status =
            abuti_coincident_vertices(map->context, mesh->positions, mesh->vertex_count, names);
    for (uint32_t t = 0; t < mesh->triangle_count && !status; t++)
        for (size_t k = 1; k < 3; k++)
            abuti_join(names, mesh->indices[3 * (size_t)t], mesh->indices[3 * (size_t)t + k]);
    for (uint32_t t = 0; t < mesh->triangle_count && !status; t++)
        parts[t] = abuti_root(names, mesh->indices[3 * (size_t)t]);
    abuti_release(map->context, names);
    if (status)
        abuti_release(map->context, parts);
    else
        map->parts = parts;
    return status;
}

abut_status abut_map_compute_self_distance(abut_map *map, const abut_map_query *query) {
    abut_map_query ours;
    abut_status status = abuti_map_begin_query(__func__, map, query, &ours);
    if (status)
        return status;
    const bool by_parts = ours.rings == ABUT_NONE;
    status = by_parts ? compute_components(map) : ABUT_OK;
    if (by_parts && !status && map->backend->find_apart) {
        status = map->backend->find_apart(map, ours.limit);
        map->last_query = status ? MAP_NO_QUERY : MAP_SELF;
        return status;
    }
    if (status || (status = abuti_map_reserve_points(map)))
        return status;
    self_search s = {.map = map,
                     .limit = ours.limit,
                     .geodesic = ours.geodesic,
                     .rings = ours.rings ? ours.rings : 1,
                     .parts = by_parts ? map->parts : NULL};
    if (!(status = abuti_map_bvh(map, &s.bvh)) && !(status = create_search(&s)) &&
        !(status = compute_all(&s)))
        map->last_query = MAP_SELF;
    destroy_search(&s);
    return status;
}
