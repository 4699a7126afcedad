/* The border of a surface: edges that triangles run along more often one way than the other.
 *
 * Every side of a triangle goes to its lower vertex, those of a vertex are sorted, and each pair of
 * opposites cancels. O(n log n); linear where vertices have few sides.
 */
#include "mesh/mesh.h"

#include <string.h>

enum { VERTICES_A_TASK = 2048, TRIANGLES_A_TASK = 8192 };

struct border_chunk {
    size_t count, first; /* edges, and where they stand in the list */
    bool flipped;
};

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

typedef struct side_listing {
    const abuti_border *border;
    const uint32_t *names;
    bool places; /* else they are counted */
} side_listing;

static void sides_task(void *data, size_t chunk, size_t begin, size_t end) {
    const side_listing *l = data;
    const abuti_border *b = l->border;
    uint32_t low;
    uint64_t key;
    (void)chunk;
    for (size_t t = begin; t < end; t++)
        for (size_t k = 0; k < 3; k++) {
            if (!side_at(b->mesh, l->names, t, k, &low, &key))
                continue;
            if (l->places)
                b->sides[__atomic_sub_fetch(&b->begin[low], 1, __ATOMIC_RELAXED)] = key;
            else
                __atomic_fetch_add(&b->begin[low], 1, __ATOMIC_RELAXED);
        }
}

/* Puts all sides with their lower vertices, in any order. */
static void list_sides(const abuti_border *b, const uint32_t *names) {
    const abut_mesh *mesh = b->mesh;
    side_listing l = {b, names, false};
    size_t *begin = b->begin, sum = 0;
    memset(begin, 0, ((size_t)mesh->vertex_count + 1) * sizeof *begin);
    abuti_parallel_for(mesh->context, mesh->triangle_count, TRIANGLES_A_TASK, sides_task, &l);
    for (size_t v = 0; v < mesh->vertex_count; v++) {
        sum += begin[v];
        begin[v] = sum; /* the end, which comes down to the begin below */
    }
    begin[mesh->vertex_count] = sum;
    l.places = true;
    abuti_parallel_for(mesh->context, mesh->triangle_count, TRIANGLES_A_TASK, sides_task, &l);
}

/* The sides of a vertex, sorted, that run more often one way: writes them unless null. */
static uint32_t border_of(const abuti_border *b, uint32_t vertex, uint32_t (*edges)[2],
                          bool *flipped) {
    const uint64_t *sides = b->sides;
    uint32_t count = 0;
    for (size_t i = b->begin[vertex], next; i < b->begin[vertex + 1]; i = next) {
        uint32_t ups = 0, downs = 0, high = (uint32_t)(sides[i] >> 1);
        for (next = i; next < b->begin[vertex + 1] && sides[next] >> 1 == high; next++) {
            ups += !(sides[next] & 1);
            downs += sides[next] & 1;
        }
        uint32_t more = ups > downs ? ups - downs : downs - ups;
        for (uint32_t k = 0; edges && k < more; k++) {
            edges[count + k][0] = ups > downs ? vertex : high;
            edges[count + k][1] = ups > downs ? high : vertex;
        }
        count += more;
        *flipped |= more > 1;
    }
    return count;
}

static void sort_task(void *data, size_t chunk, size_t begin, size_t end) {
    const abuti_border *b = data;
    struct border_chunk found = {0, 0, false};
    for (size_t v = begin; v < end; v++) {
        size_t first = b->begin[v];
        abuti_sort_keys(b->sides + first, b->buffer + first, b->begin[v + 1] - first);
        found.count += border_of(b, (uint32_t)v, NULL, &found.flipped);
    }
    b->chunks[chunk] = found;
}

abut_status abuti_border_begin(const abut_mesh *mesh, abuti_border *border) {
    const size_t vertices = mesh->vertex_count;
    *border = (abuti_border){.mesh = mesh};
    border->sides = abuti_allocate(mesh->context, mesh->triangle_count, 6 * sizeof *border->sides);
    border->begin = abuti_allocate(mesh->context, vertices + 1, sizeof *border->begin);
    border->chunks = abuti_allocate(mesh->context, abuti_chunk_count(vertices, VERTICES_A_TASK),
                                    sizeof *border->chunks);
    if (border->sides && border->begin && border->chunks) {
        border->buffer = border->sides + 3 * (size_t)mesh->triangle_count;
        return ABUT_OK;
    }
    abuti_border_end(border);
    return ABUT_ERROR_MEMORY;
}

void abuti_border_find(abuti_border *border, const uint32_t *names) {
    const abut_mesh *mesh = border->mesh;
    size_t count = 0;
    border->flipped = false;
    list_sides(border, names);
    abuti_parallel_for(mesh->context, mesh->vertex_count, VERTICES_A_TASK, sort_task, border);
    for (size_t i = 0; i < abuti_chunk_count(mesh->vertex_count, VERTICES_A_TASK); i++) {
        border->chunks[i].first = count;
        count += border->chunks[i].count;
        border->flipped |= border->chunks[i].flipped;
    }
    border->count = (uint32_t)count;
}

typedef struct border_listing {
    const abuti_border *border;
    uint32_t (*edges)[2];
} border_listing;

static void list_task(void *data, size_t chunk, size_t begin, size_t end) {
    const border_listing *l = data;
    const struct border_chunk *found = &l->border->chunks[chunk];
    bool flipped = false;
    for (size_t v = begin, count = 0; v < end && count < found->count; v++)
        count += border_of(l->border, (uint32_t)v, l->edges + found->first + count, &flipped);
}

void abuti_border_list(const abuti_border *border, uint32_t (*edges)[2]) {
    border_listing l = {border, edges};
    if (border->count)
        abuti_parallel_for(border->mesh->context, border->mesh->vertex_count, VERTICES_A_TASK,
                           list_task, &l);
}

void abuti_border_end(abuti_border *border) {
    abut_context *context = border->mesh->context;
    ABUTI_RELEASE(context, border->sides, border->begin, border->chunks);
}
