/* The border of a surface: edges that triangles run along more often one way than the other.
 *
 * Every side of a triangle goes to its lower vertex, those of a vertex are sorted, and each pair of
 * opposites cancels. O(n log n); linear where vertices have few sides. Sides are first dealt out to
 * ranges of vertices: threads that count them for all vertices at once, by atomics, mostly wait for
 * each other's cache lines.
 */
#include "mesh/mesh.h"

#include <string.h>

enum { KEY_BITS = 33 }; /* of a side, below the number of its vertex in the range */

struct border_part {
    size_t count, first; /* edges, and where they stand in the list */
    bool flipped;
};

/* Where the sides of a vertex begin; they end at the next word. A range has a word more than it has
 * vertices, so that ranges share none. */
static size_t *sides_of(const abuti_border *b, size_t vertex) {
    return b->begin + vertex + (vertex >> b->shift);
}

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

typedef struct border_finding {
    abuti_border *border;
    const uint32_t *names;
    abuti_partition deal;
} border_finding;

/* Sides to the range of their lower vertex, as its number there and the key. */
static void deal_sides(void *data, size_t begin, size_t end, bool places, size_t *next) {
    const border_finding *f = data;
    const abuti_border *b = f->border;
    const uint32_t inside = ((uint32_t)1 << b->shift) - 1;
    uint32_t low;
    uint64_t key;
    for (size_t t = begin; t < end; t++)
        for (size_t k = 0; k < 3; k++) {
            if (!side_at(b->mesh, f->names, t, k, &low, &key))
                continue;
            size_t at = next[low >> b->shift]++;
            if (places)
                b->buffer[at] = (uint64_t)(low & inside) << KEY_BITS | key;
        }
}

/* The sides of a vertex, sorted, that run more often one way: writes them unless null, and which
 * have one face alone. */
static uint32_t border_of(const abuti_border *b, uint32_t vertex, uint32_t (*edges)[2],
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

static size_t end_of_range(const abuti_border *b, size_t part) {
    size_t end = (part + 1) << b->shift;
    return end < b->mesh->vertex_count ? end : b->mesh->vertex_count;
}

/* Puts the sides of a range with their vertices, in any order. */
static void list_sides(const border_finding *f, size_t part) {
    const abuti_border *b = f->border;
    const size_t first = part << b->shift, count = end_of_range(b, part) - first;
    size_t *begin = sides_of(b, first), sum = f->deal.begin[part];
    memset(begin, 0, count * sizeof *begin);
    for (size_t i = f->deal.begin[part]; i < f->deal.begin[part + 1]; i++)
        begin[b->buffer[i] >> KEY_BITS]++;
    for (size_t v = 0; v < count; v++) {
        sum += begin[v];
        begin[v] = sum; /* the end, which comes down to the begin below */
    }
    begin[count] = sum;
    for (size_t i = f->deal.begin[part]; i < f->deal.begin[part + 1]; i++)
        b->sides[--begin[b->buffer[i] >> KEY_BITS]] =
            b->buffer[i] & (((uint64_t)1 << KEY_BITS) - 1);
}

static void find_task(void *data, size_t part, size_t begin, size_t end) {
    const border_finding *f = data;
    const abuti_border *b = f->border;
    struct border_part found = {0, 0, false};
    (void)begin;
    (void)end;
    list_sides(f, part);
    for (size_t v = part << b->shift; v < end_of_range(b, part); v++) {
        const size_t *at = sides_of(b, v);
        abuti_sort_keys(b->sides + at[0], b->buffer + at[0], at[1] - at[0]);
        found.count += border_of(b, (uint32_t)v, NULL, NULL, &found.flipped);
    }
    b->parts[part] = found;
}

/* How many ranges have vertices. */
static size_t part_count(const abuti_border *b) {
    return (((size_t)b->mesh->vertex_count - 1) >> b->shift) + 1;
}

abut_status abuti_border_begin(const abut_mesh *mesh, abuti_border *border) {
    *border = (abuti_border){.mesh = mesh, .shift = abuti_partition_shift(mesh->vertex_count)};
    border->sides = abuti_allocate(mesh->context, mesh->triangle_count, 6 * sizeof *border->sides);
    border->begin =
        abuti_allocate(mesh->context, (size_t)mesh->vertex_count + ABUTI_PARTITION_PARTS,
                       sizeof *border->begin);
    border->parts = abuti_allocate(mesh->context, ABUTI_PARTITION_PARTS, sizeof *border->parts);
    if (border->sides && border->begin && border->parts) {
        border->buffer = border->sides + 3 * (size_t)mesh->triangle_count;
        return ABUT_OK;
    }
    abuti_border_end(border);
    return ABUT_ERROR_MEMORY;
}

void abuti_border_find(abuti_border *border, const uint32_t *names) {
    const abut_mesh *mesh = border->mesh;
    border_finding f = {.border = border, .names = names};
    size_t count = 0;
    border->flipped = false;
    abuti_partition_run(mesh->context, mesh->triangle_count, deal_sides, &f, &f.deal);
    abuti_parallel_for(mesh->context, part_count(border), 1, find_task, &f);
    for (size_t i = 0; i < part_count(border); i++) {
        border->parts[i].first = count;
        count += border->parts[i].count;
        border->flipped |= border->parts[i].flipped;
    }
    border->count = (uint32_t)count;
}

typedef struct border_listing {
    const abuti_border *border;
    uint32_t (*edges)[2];
    bool *single;
} border_listing;

static void list_task(void *data, size_t part, size_t begin, size_t end) {
    const border_listing *l = data;
    const abuti_border *b = l->border;
    const struct border_part *found = &b->parts[part];
    bool flipped = false;
    (void)begin;
    (void)end;
    for (size_t v = part << b->shift, count = 0; count < found->count; v++) {
        const size_t at = found->first + count;
        count +=
            border_of(b, (uint32_t)v, l->edges + at, l->single ? l->single + at : NULL, &flipped);
    }
}

void abuti_border_list(const abuti_border *border, uint32_t (*edges)[2], bool *single) {
    border_listing l = {border, edges, single};
    if (border->count)
        abuti_parallel_for(border->mesh->context, part_count(border), 1, list_task, &l);
}

void abuti_border_end(abuti_border *border) {
    abut_context *context = border->mesh->context;
    ABUTI_RELEASE(context, border->sides, border->begin, border->parts);
}
