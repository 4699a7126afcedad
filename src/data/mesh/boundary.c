/* Boundary edges of a surface: edges that occur in triangles more often in one direction than in
 * the other.
 *
 * Every side of a triangle is assigned to its lower vertex, the sides of a vertex are sorted, and
 * each pair of opposite sides cancels. O(n log n); linear if vertices have few sides. Sides are
 * first partitioned into ranges of vertices: threads that count them for all vertices with atomics
 * mostly wait for each other's cache lines.
 */
#include "mesh/mesh.h"

#include <assert.h>
#include <string.h>

enum { KEY_BITS = 33 }; /* bits of a side's key, below the index of its vertex in the range */

struct boundary_part {
    size_t count, first; /* number of edges, and index of the first in the list */
    bool flipped;
};

/* The first side of a vertex; its sides end at the next word. A range has one word more than
 * vertices, so that ranges share none. */
static size_t *sides_of(const abuti_boundary *b, size_t vertex) {
    return b->begin + vertex + (vertex >> b->shift);
}

/* A side of a triangle: its lower vertex, and a key of the other vertex and the direction (1 =
 * towards the lower one). Returns false for a side without length. */
static bool side_at(const abut_mesh *mesh, const uint32_t *names, size_t t, size_t k, uint32_t *low,
                    uint64_t *key) {
    uint32_t tail = mesh->indices[3 * t + k], head = mesh->indices[3 * t + (k == 2 ? 0 : k + 1)];
    uint32_t from = names ? names[tail] : tail, to = names ? names[head] : head;
    *low = from < to ? from : to;
    *key = from < to ? (uint64_t)to << 1 : (uint64_t)from << 1 | 1;
    return from != to;
}

typedef struct boundary_search {
    abuti_boundary *boundary;
    const uint32_t *names;
    abuti_partition partition;
} boundary_search;

/* Partitions the sides by the range of their lower vertex; each is the index in the range and the
 * key. */
static void partition_sides(void *data, size_t begin, size_t end, bool writes, size_t *next) {
    const boundary_search *f = data;
    const abuti_boundary *b = f->boundary;
    const uint32_t inside = ((uint32_t)1 << b->shift) - 1;
    assert(b->shift + KEY_BITS <= 64);
    uint32_t low;
    uint64_t key;
    for (size_t t = begin; t < end; t++)
        for (size_t k = 0; k < 3; k++) {
            if (!side_at(b->mesh, f->names, t, k, &low, &key))
                continue;
            size_t at = next[low >> b->shift]++;
            if (writes)
                b->buffer[at] = (uint64_t)(low & inside) << KEY_BITS | key;
        }
}

/* Counts the sides of a vertex, which are sorted, that occur more often in one direction. Writes
 * them unless `edges` is null, and which of them have only one face. */
static uint32_t vertex_boundary(const abuti_boundary *b, uint32_t vertex, uint32_t (*edges)[2],
                                bool *single, bool *flipped) {
    const uint64_t *sides = b->sides;
    const size_t *begin = sides_of(b, vertex);
    uint32_t count = 0;
    for (size_t i = begin[0], next; i < begin[1]; i = next) {
        uint32_t ups = 0, downs = 0, high = (uint32_t)(sides[i] >> 1);
        for (next = i; next < begin[1] && sides[next] >> 1 == high; next++) {
            ups += !(sides[next] & 1);
            downs += sides[next] & 1;
        }
        uint32_t more = ups > downs ? ups - downs : downs - ups;
        for (uint32_t k = 0; edges && k < more; k++) {
            edges[count + k][0] = ups > downs ? vertex : high;
            edges[count + k][1] = ups > downs ? high : vertex;
            if (single)
                single[count + k] = ups + downs == 1;
        }
        count += more;
        *flipped |= more > 1;
    }
    return count;
}

static size_t range_end(const abuti_boundary *b, size_t part) {
    size_t end = (part + 1) << b->shift;
    return end < b->mesh->vertex_count ? end : b->mesh->vertex_count;
}

/* Groups the sides of a range by vertex, in any order. */
static void list_sides(const boundary_search *f, size_t part) {
    const abuti_boundary *b = f->boundary;
    const size_t first = part << b->shift, count = range_end(b, part) - first;
    size_t *begin = sides_of(b, first), sum = f->partition.begin[part];
    memset(begin, 0, count * sizeof *begin);
    for (size_t i = f->partition.begin[part]; i < f->partition.begin[part + 1]; i++)
        begin[b->buffer[i] >> KEY_BITS]++;
    for (size_t v = 0; v < count; v++) {
        sum += begin[v];
        begin[v] = sum; /* the end, which is decremented to the begin below */
    }
    begin[count] = sum;
    for (size_t i = f->partition.begin[part]; i < f->partition.begin[part + 1]; i++)
        b->sides[--begin[b->buffer[i] >> KEY_BITS]] =
            b->buffer[i] & (((uint64_t)1 << KEY_BITS) - 1);
}

static void find_boundary_task(void *data, size_t part, size_t begin, size_t end) {
    const boundary_search *f = data;
    const abuti_boundary *b = f->boundary;
    struct boundary_part found = {0, 0, false};
    (void)begin;
    (void)end;
    list_sides(f, part);
    for (size_t v = part << b->shift; v < range_end(b, part); v++) {
        const size_t *at = sides_of(b, v);
        abuti_sort_keys(b->sides + at[0], b->buffer + at[0], at[1] - at[0]);
        found.count += vertex_boundary(b, (uint32_t)v, NULL, NULL, &found.flipped);
    }
    b->parts[part] = found;
}

/* Number of ranges with vertices. */
static size_t part_count(const abuti_boundary *b) {
    return (((size_t)b->mesh->vertex_count - 1) >> b->shift) + 1;
}

abut_status abuti_boundary_begin(const abut_mesh *mesh, abuti_boundary *boundary) {
    *boundary = (abuti_boundary){.mesh = mesh, .shift = abuti_partition_shift(mesh->vertex_count)};
    const size_t side_count = 3 * (size_t)mesh->triangle_count;
    return ABUTI_ALLOCATE(mesh->context, ABUTI_ARRAY(boundary->sides, side_count),
                          ABUTI_ARRAY(boundary->buffer, side_count),
                          ABUTI_ARRAY(boundary->begin,
                                      (size_t)mesh->vertex_count + ABUTI_PARTITION_PARTS),
                          ABUTI_ARRAY(boundary->parts, ABUTI_PARTITION_PARTS));
}

void abuti_boundary_find(abuti_boundary *boundary, const uint32_t *names) {
    const abut_mesh *mesh = boundary->mesh;
    boundary_search f = {.boundary = boundary, .names = names};
    size_t count = 0;
    boundary->flipped = false;
    abuti_partition_run(mesh->context, mesh->triangle_count, partition_sides, &f, &f.partition);
    abuti_parallel_for(mesh->context, part_count(boundary), 1, find_boundary_task, &f);
    for (size_t i = 0; i < part_count(boundary); i++) {
        boundary->parts[i].first = count;
        count += boundary->parts[i].count;
        boundary->flipped |= boundary->parts[i].flipped;
    }
    boundary->count = (uint32_t)count;
}

typedef struct boundary_listing {
    const abuti_boundary *boundary;
    uint32_t (*edges)[2];
    bool *single;
} boundary_listing;

static void list_boundary_task(void *data, size_t part, size_t begin, size_t end) {
    const boundary_listing *l = data;
    const abuti_boundary *b = l->boundary;
    const struct boundary_part *found = &b->parts[part];
    bool flipped = false;
    (void)begin;
    (void)end;
    for (size_t v = part << b->shift, count = 0; count < found->count; v++) {
        const size_t at = found->first + count;
        count += vertex_boundary(b, (uint32_t)v, l->edges + at, l->single ? l->single + at : NULL,
                                 &flipped);
    }
}

void abuti_boundary_list(const abuti_boundary *boundary, uint32_t (*edges)[2], bool *single) {
    boundary_listing l = {boundary, edges, single};
    if (boundary->count)
        abuti_parallel_for(boundary->mesh->context, part_count(boundary), 1, list_boundary_task,
                           &l);
}

void abuti_boundary_end(abuti_boundary *boundary) {
    abut_context *context = boundary->mesh->context;
    ABUTI_RELEASE(context, boundary->sides, boundary->buffer, boundary->begin, boundary->parts);
}
