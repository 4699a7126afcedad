/* What questions about inside and outside need to know of a mesh: its connected parts and its
 * border. O(n log n), once, when first wanted; linear where vertices have few sides. From indices
 * alone where that leaves no border; such a list stays true when vertices move. Else vertices in
 * one place count as one, as long as they stay so. */
#include "bvh/bvh.h"

/* Arrays to work with, for a mesh. */
typedef struct solid_work {
    const abut_mesh *mesh;
    uint64_t *sides, *buffer;        /* as many again to sort with */
    size_t *begin;                   /* of the sides of a vertex, which is the lower one of each */
    size_t *chunk_border;            /* border edges of each chunk of vertices */
    uint32_t *names, *parent, *list; /* a vertex each */
    uint32_t border_count;
    atomic_bool flipped;
} solid_work;

enum { TRIANGLES_A_TASK = 16384, VERTICES_A_TASK = 8192 };

/* ---- parts ---- */

static void join_task(void *data, size_t chunk, size_t begin, size_t end) {
    const solid_work *work = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        const uint32_t *corner = work->mesh->indices + 3 * t;
        abuti_join(work->parent, corner[0], corner[1]);
        abuti_join(work->parent, corner[0], corner[2]);
    }
}

/* Lists the lowest vertex of each part. A vertex in no triangle is in no part. */
static uint32_t list_parts(const solid_work *work, const uint32_t *names) {
    const abut_mesh *mesh = work->mesh;
    uint32_t *parent = work->parent, count = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        parent[v] = ABUT_NONE;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        parent[mesh->indices[i]] = mesh->indices[i];
    abuti_parallel_for(mesh->context, mesh->triangle_count, TRIANGLES_A_TASK, join_task,
                       (void *)(uintptr_t)work);
    for (uint32_t v = 0; names && v < mesh->vertex_count; v++)
        if (parent[v] != ABUT_NONE && parent[names[v]] != ABUT_NONE)
            abuti_join(parent, v, names[v]);
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        if (parent[v] == v)
            work->list[count++] = v;
    return count;
}

/* ---- border ---- */

/* A side of a triangle, if it has a length: the lower vertex, and a key of the other one and of
 * whether the side runs down to the lower. */
static bool side_at(const abut_mesh *mesh, const uint32_t *names, size_t t, size_t k, uint32_t *low,
                    uint64_t *key) {
    uint32_t tail = mesh->indices[3 * t + k], head = mesh->indices[3 * t + (k == 2 ? 0 : k + 1)];
    uint32_t from = names ? names[tail] : tail, to = names ? names[head] : head;
    *low = from < to ? from : to;
    *key = from < to ? (uint64_t)to << 1 : (uint64_t)from << 1 | 1;
    return from != to;
}

/* Puts all sides with their lower vertices. */
static void list_sides(const solid_work *work, const uint32_t *names) {
    const abut_mesh *mesh = work->mesh;
    size_t *begin = work->begin, sum = 0;
    uint32_t low;
    uint64_t key;
    memset(begin, 0, ((size_t)mesh->vertex_count + 1) * sizeof *begin);
    for (size_t t = 0; t < mesh->triangle_count; t++)
        for (size_t k = 0; k < 3; k++)
            if (side_at(mesh, names, t, k, &low, &key))
                begin[low]++;
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        sum += begin[v];
        begin[v] = sum; /* the end, which comes down to the begin below */
    }
    begin[mesh->vertex_count] = sum;
    for (size_t t = 0; t < mesh->triangle_count; t++)
        for (size_t k = 0; k < 3; k++)
            if (side_at(mesh, names, t, k, &low, &key))
                work->sides[--begin[low]] = key;
}

/* The sides of a vertex, sorted, that run more often one way: writes them unless null. Each pair of
 * opposites cancels. */
static uint32_t border_of(const solid_work *work, uint32_t vertex, uint32_t (*border)[2],
                          bool *flipped) {
    const uint64_t *sides = work->sides;
    uint32_t count = 0;
    for (size_t i = work->begin[vertex], next; i < work->begin[vertex + 1]; i = next) {
        uint32_t ups = 0, downs = 0, high = (uint32_t)(sides[i] >> 1);
        for (next = i; next < work->begin[vertex + 1] && sides[next] >> 1 == high; next++) {
            ups += !(sides[next] & 1);
            downs += sides[next] & 1;
        }
        uint32_t more = ups > downs ? ups - downs : downs - ups;
        for (uint32_t k = 0; border && k < more; k++) {
            border[count + k][0] = ups > downs ? vertex : high;
            border[count + k][1] = ups > downs ? high : vertex;
        }
        count += more;
        *flipped |= more > 1;
    }
    return count;
}

static void sort_task(void *data, size_t chunk, size_t begin, size_t end) {
    solid_work *work = data;
    size_t count = 0;
    bool flipped = false;
    for (size_t v = begin; v < end; v++) {
        size_t first = work->begin[v];
        abuti_sort_keys(work->sides + first, work->buffer + first, work->begin[v + 1] - first);
        count += border_of(work, (uint32_t)v, NULL, &flipped);
    }
    work->chunk_border[chunk] = count;
    if (flipped)
        atomic_store(&work->flipped, true);
}

static void find_border(const uint32_t *names, solid_work *work) {
    const abut_mesh *mesh = work->mesh;
    size_t count = 0;
    atomic_store(&work->flipped, false);
    list_sides(work, names);
    abuti_parallel_for(mesh->context, mesh->vertex_count, VERTICES_A_TASK, sort_task, work);
    for (size_t i = 0; i < abuti_chunk_count(mesh->vertex_count, VERTICES_A_TASK); i++)
        count += work->chunk_border[i];
    work->border_count = (uint32_t)count;
}

/* Border edges, ordered by their lower vertices. */
static void list_border(const solid_work *work, uint32_t (*border)[2]) {
    size_t count = 0;
    bool flipped = false;
    for (uint32_t v = 0; v < work->mesh->vertex_count && count < work->border_count; v++)
        count += border_of(work, v, border + count, &flipped);
}

/* ---- all ---- */

/* Whether no two vertices are in one place, so that names change nothing. */
static bool all_apart(const uint32_t *names, uint32_t count) {
    for (uint32_t v = 0; v < count; v++)
        if (names[v] != v)
            return false;
    return true;
}

static bvh_solid *fill_solid(const abut_bvh *bvh, const uint32_t *names, const solid_work *work) {
    const abut_mesh *mesh = bvh->mesh;
    uint32_t part_count = list_parts(work, names);
    size_t words =
        (size_t)part_count + 2 * (size_t)work->border_count + (names ? mesh->vertex_count : 0);
    bvh_solid *solid = abuti_allocate(bvh->context, 1, sizeof *solid + words * sizeof(uint32_t));
    if (!solid)
        return NULL;
    solid->part_count = part_count;
    solid->border_count = work->border_count;
    solid->flipped = atomic_load(&work->flipped);
    solid->border = (uint32_t(*)[2])(solid + 1);
    solid->parts = (uint32_t *)(solid->border + work->border_count);
    solid->names = names ? solid->parts + part_count : NULL;
    memcpy(solid->parts, work->list, part_count * sizeof *work->list);
    list_border(work, solid->border);
    if (names)
        memcpy(solid->names, names, mesh->vertex_count * sizeof *names);
    return solid;
}

static bvh_solid *make_solid(const abut_bvh *bvh) {
    const abut_mesh *mesh = bvh->mesh;
    abut_context *context = bvh->context;
    const size_t vertices = mesh->vertex_count,
                 chunks = abuti_chunk_count(vertices, VERTICES_A_TASK);
    solid_work work = {.mesh = mesh};
    work.sides = abuti_allocate(context, mesh->triangle_count, 6 * sizeof *work.sides);
    work.begin = abuti_allocate(context, vertices + 1 + chunks, sizeof *work.begin);
    work.names = abuti_allocate(context, vertices, 3 * sizeof *work.names);
    bvh_solid *solid = NULL;
    if (work.sides && work.begin && work.names) {
        work.buffer = work.sides + 3 * (size_t)mesh->triangle_count;
        work.chunk_border = work.begin + vertices + 1;
        work.parent = work.names + vertices;
        work.list = work.parent + vertices;
        abut_status status = ABUT_OK;
        find_border(NULL, &work);
        bool named = work.border_count > 0;
        if (named)
            status =
                abuti_coincident_vertices(context, mesh->positions, mesh->vertex_count, work.names);
        if (named && !status && !all_apart(work.names, mesh->vertex_count))
            find_border(work.names, &work);
        if (!status)
            solid = fill_solid(bvh, named ? work.names : NULL, &work);
    }
    abuti_release(context, work.sides);
    abuti_release(context, work.begin);
    abuti_release(context, work.names);
    return solid;
}

abut_status abuti_bvh_solid(const abut_bvh *bvh, const bvh_solid **solid) {
    _Atomic(bvh_solid *) *kept = &((abut_bvh *)(uintptr_t)bvh)->solid;
    bvh_solid *made = atomic_load(kept), *none = NULL;
    if (!made) {
        made = make_solid(bvh);
        if (!made)
            return ABUT_ERROR_MEMORY;
        if (!atomic_compare_exchange_strong(kept, &none, made)) {
            abuti_release(bvh->context, made); /* another thread was faster */
            made = none;
        }
    }
    *solid = made;
    return ABUT_OK;
}

void abuti_bvh_solid_destroy(abut_bvh *bvh) {
    abuti_release(bvh->context, atomic_exchange(&bvh->solid, NULL));
}

bool abuti_bvh_names_hold(const abut_mesh *mesh, const uint32_t *names) {
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        uint32_t v = mesh->indices[i], name = names[v];
        if (name == v)
            continue;
        if (name >= mesh->vertex_count) /* vertices that no triangle uses may have gone */
            return false;
        vec3 p = mesh->positions[v], q = mesh->positions[name];
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            return false;
    }
    return true;
}

void abuti_bvh_solid_fit(abut_bvh *bvh) {
    const bvh_solid *solid = atomic_load(&bvh->solid);
    if (solid && solid->names && !abuti_bvh_names_hold(bvh->mesh, solid->names))
        abuti_bvh_solid_destroy(bvh);
}
