/* Boundary edges of a surface: edges that occur in triangles more often in one direction than in
 * the other.
 *
 * Every side of a triangle is assigned to its lower vertex by a counting sort, the sides of a
 * vertex are sorted, and each pair of opposite sides cancels. O(n log n); linear if vertices have
 * few sides.
 */
#include "mesh/mesh.h"

typedef struct side_list {
    size_t *begin;   /* first side of each vertex, which is its lower one, and the end */
    uint64_t *sides; /* twice the higher vertex; + 1 for the direction towards the lower one */
} side_list;

/* A side of a triangle as in a side_list. Returns false for a side without length. */
static bool side_at(const abut_mesh *mesh, const uint32_t *names, size_t t, size_t k, uint32_t *low,
                    uint64_t *side) {
    uint32_t tail = mesh->indices[3 * t + k], head = mesh->indices[3 * t + (k == 2 ? 0 : k + 1)];
    uint32_t from = names ? names[tail] : tail, to = names ? names[head] : head;
    *low = from < to ? from : to;
    *side = from < to ? (uint64_t)to << 1 : (uint64_t)from << 1 | 1;
    return from != to;
}

/* Lists the sides of each vertex, sorted. */
static abut_status list_sides(const abut_mesh *mesh, const uint32_t *names, side_list *list) {
    const size_t vertices = mesh->vertex_count, triangles = mesh->triangle_count;
    uint32_t low;
    size_t *begin = list->begin, longest = 0;
    uint64_t side;
    for (size_t i = 0; i < 3 * triangles; i++)
        if (side_at(mesh, names, i / 3, i % 3, &low, &side))
            begin[low]++;
    for (size_t v = 0; v < vertices; v++) {
        longest = begin[v] > longest ? begin[v] : longest;
        begin[v] += v ? begin[v - 1] : 0;
    }
    begin[vertices] = vertices ? begin[vertices - 1] : 0;
    for (size_t i = 0; i < 3 * triangles; i++)
        if (side_at(mesh, names, i / 3, i % 3, &low, &side))
            list->sides[--begin[low]] = side;
    uint64_t *buffer = abuti_allocate(mesh->context, longest, sizeof *buffer);
    if (!buffer)
        return ABUT_ERROR_MEMORY;
    for (size_t v = 0; v < vertices; v++)
        abuti_sort_keys(list->sides + begin[v], buffer, begin[v + 1] - begin[v]);
    abuti_release(mesh->context, buffer);
    return ABUT_OK;
}

/* Counts the boundary edges; writes them unless their array is null. */
static void list_edges(const side_list *list, uint32_t vertex_count, abuti_boundary *to) {
    to->count = 0;
    for (uint32_t v = 0; v < vertex_count; v++)
        for (size_t i = list->begin[v], next; i < list->begin[v + 1]; i = next) {
            uint32_t ups = 0, downs = 0;
            const uint32_t high = (uint32_t)(list->sides[i] >> 1);
            for (next = i; next < list->begin[v + 1] && list->sides[next] >> 1 == high; next++) {
                ups += !(list->sides[next] & 1);
                downs += list->sides[next] & 1;
            }
            const uint32_t more = ups > downs ? ups - downs : downs - ups;
            to->flipped |= more > 1;
            for (uint32_t k = 0; k < more; k++, to->count++) {
                if (!to->edges)
                    continue;
                to->edges[to->count][0] = ups > downs ? v : high;
                to->edges[to->count][1] = ups > downs ? high : v;
                to->single[to->count] = ups + downs == 1;
            }
        }
}

abut_status abuti_boundary_find(const abut_mesh *mesh, const uint32_t *names,
                                abuti_boundary *boundary) {
    abut_context *context = mesh->context;
    side_list list;
    *boundary = (abuti_boundary){.context = context};
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ZEROED(list.begin, (size_t)mesh->vertex_count + 1),
                       ABUTI_ARRAY(list.sides, 3 * (size_t)mesh->triangle_count));
    if (!status)
        status = list_sides(mesh, names, &list);
    if (!status) {
        list_edges(&list, mesh->vertex_count, boundary);
        status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(boundary->edges, boundary->count),
                                ABUTI_ARRAY(boundary->single, boundary->count));
    }
    if (!status)
        list_edges(&list, mesh->vertex_count, boundary);
    ABUTI_RELEASE(context, list.begin, list.sides);
    return status;
}

void abuti_boundary_release(abuti_boundary *boundary) {
    ABUTI_RELEASE(boundary->context, boundary->edges, boundary->single);
}
