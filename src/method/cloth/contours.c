/* The contours in which the surfaces of a cloth intersect.
 *
 * Method: the exact tests of <abut/pair.h> list all pairs of triangles that intersect. A pair has
 * a segment of a contour, which ends where an edge of one triangle crosses the other triangle. At
 * that crossing the segment continues in the pairs of the other triangles at the edge. Ordered
 * pairs are joined in this way, so that the two curves of a contour, one on each surface, are known
 * also if both are on one sheet (Volino and Magnenat-Thalmann 2006; Baraff, Witkin, Kass 2003).
 *
 * Crossings are decided by exact predicates. A zero counts as positive, the same way in all pairs,
 * so that contours are complete also where vertices are in triangles. Contours only choose
 * directions of motion: errors cost an iteration, never the guarantee. */
#include "cloth/contours.h"

#include "base/sort.h"
#include "geom/predicates_shared.h"

/* ---- pairs ---- */

static abut_status list_pairs(abut_cloth *c, cloth_contours *found) {
    cloth_pairs p = {0};
    abut_status status = abuti_cloth_find_pairs(c, !c->options.ignore_self, &p);
    const size_t count = (size_t)(p.selves.count + p.touches.count);
    found->pairs.count = 0;
    if (!status)
        status = abuti_vector_reserve(c->context, &found->pairs, count, sizeof(uint64_t));
    if (!status)
        status = abuti_vector_reserve(c->context, &found->spare, count, sizeof(uint64_t));
    uint64_t *keys = found->pairs.data;
    for (size_t i = 0; i < p.selves.count && !status; i++)
        keys[i] = (uint64_t)p.selves.list[i].triangle[0] << 32 | p.selves.list[i].triangle[1];
    for (size_t i = 0; i < p.touches.count && !status; i++)
        keys[p.selves.count + i] = (uint64_t)p.touches.list[i].triangle_a << 32 |
                                   (p.touches.list[i].triangle_b + c->triangles);
    abuti_cloth_release_pairs(c, &p);
    if (status)
        return status;
    found->pairs.count = count;
    if (count)
        abuti_sort_keys(keys, found->spare.data, count);
    return ABUT_OK;
}

/* The index of a pair of triangles in the sorted list; ABUT_NONE if they do not intersect. Writes
 * whether the first one is the second of the pair. */
static uint32_t pair_of(const cloth_contours *found, uint32_t a, uint32_t b, uint32_t *is_swapped) {
    *is_swapped = a > b;
    const uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    const uint64_t *keys = found->pairs.data;
    size_t low = 0, high = found->pairs.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < found->pairs.count && keys[low] == key ? (uint32_t)low : ABUT_NONE;
}

/* ---- crossings ---- */

static uint32_t faces_of_edge(const abut_cloth *c, uint32_t edge, const uint32_t **faces,
                              uint32_t *shift) {
    const bool is_body = edge >= cloth_sheet_edges(c);
    *shift = is_body ? c->triangles : 0;
    return abuti_edge_faces(&c->groups[is_body].view, edge - (is_body ? cloth_sheet_edges(c) : 0),
                            faces);
}

static uint32_t edge_of_face(const abut_cloth *c, uint32_t face, uint32_t side) {
    const bool is_body = cloth_face_is_of_body(c, face);
    const uint32_t local = face - (is_body ? c->triangles : 0);
    const uint32_t edge = c->groups[is_body].view.triangle_edges[3 * (size_t)local + side];
    return edge == ABUT_NONE ? ABUT_NONE : edge + (is_body ? cloth_sheet_edges(c) : 0);
}

/* Whether an edge passes through a triangle. */
static bool edge_crosses(const abut_cloth *c, uint32_t edge, uint32_t face, bool *first_is_above) {
    const vec3 *x = c->position;
    uint32_t p[2], v[3];
    cloth_edge_ends(c, edge, p);
    cloth_face_corners(c, face, v);
    for (int k = 0; k < 3; k++)
        if (v[k] == p[0] || v[k] == p[1])
            return false;
    const bool above[2] = {orient3d(x[v[0]], x[v[1]], x[v[2]], x[p[0]]) >= 0,
                           orient3d(x[v[0]], x[v[1]], x[v[2]], x[p[1]]) >= 0};
    if (above[0] == above[1])
        return false;
    bool left[3];
    for (int k = 0; k < 3; k++) { /* the same sign for both triangles at an edge */
        const uint32_t a = v[k], b = v[(k + 1) % 3], low = a < b ? a : b, high = a < b ? b : a;
        left[k] = (orient3d(x[p[0]], x[p[1]], x[low], x[high]) >= 0) == (a < b);
    }
    *first_is_above = above[0];
    return left[0] == left[1] && left[1] == left[2];
}

static void place_crossing(const abut_cloth *c, cloth_crossing *crossing) {
    uint32_t p[2], v[3];
    cloth_edge_ends(c, crossing->edge, p);
    cloth_face_corners(c, crossing->face, v);
    const vec3 *x = c->position;
    const vec3 normal = cloth_face_normal(c, crossing->face);
    const double a = v3_dot(normal, v3_sub(x[p[0]], x[v[0]])),
                 b = v3_dot(normal, v3_sub(x[p[1]], x[v[0]]));
    crossing->t = a != b ? fmin(fmax(a / (a - b), 0), 1) : 0.5;
    crossing->at = v3_lerp(x[p[0]], x[p[1]], crossing->t);
}

/* Lists each crossing of an edge and a triangle once, sorted. */
static abut_status list_crossings(abut_cloth *c, cloth_contours *found) {
    const uint64_t *pairs = found->pairs.data;
    found->keys.count = found->crossings.count = 0;
    for (size_t i = 0; i < found->pairs.count; i++)
        for (uint32_t k = 0; k < 6; k++) {
            const uint32_t two[2] = {(uint32_t)(pairs[i] >> 32), (uint32_t)pairs[i]};
            const uint32_t edge = edge_of_face(c, two[k / 3], k % 3);
            bool first_is_above;
            if (edge == ABUT_NONE || !edge_crosses(c, edge, two[1 - k / 3], &first_is_above))
                continue;
            uint64_t *key = ABUTI_PUSH(c->context, &found->keys, uint64_t);
            if (!key)
                return ABUT_ERROR_MEMORY;
            *key = (uint64_t)edge << 32 | two[1 - k / 3];
        }
    const size_t count = found->keys.count;
    if (abuti_vector_reserve(c->context, &found->spare, count, sizeof(uint64_t)) ||
        abuti_vector_reserve(c->context, &found->crossings, count, sizeof(cloth_crossing)))
        return ABUT_ERROR_MEMORY;
    uint64_t *keys = found->keys.data;
    if (count)
        abuti_sort_keys(keys, found->spare.data, count);
    for (size_t i = 0; i < count; i++) {
        if (i && keys[i] == keys[i - 1])
            continue;
        cloth_crossing *crossing = ABUTI_PUSH(c->context, &found->crossings, cloth_crossing);
        *crossing = (cloth_crossing){.edge = (uint32_t)(keys[i] >> 32), .face = (uint32_t)keys[i]};
        edge_crosses(c, crossing->edge, crossing->face, &crossing->first_is_above);
        place_crossing(c, crossing);
    }
    return ABUT_OK;
}

/* ---- contours ---- */

/* Joins the ordered pairs at a crossing: 2 i + 1 is pair i with its second triangle first. Writes
 * one of them to crossing->contour; ABUT_NONE if no pair has the crossing. */
static void join_at(const abut_cloth *c, cloth_contours *found, uint32_t index) {
    cloth_crossing *crossing = &ABUTI_AT(&found->crossings, cloth_crossing, index);
    uint32_t *parents = found->parents.data;
    const uint32_t *faces;
    uint32_t shift, swapped, *ends = found->ends.data;
    const uint32_t count = faces_of_edge(c, crossing->edge, &faces, &shift);
    crossing->contour = ABUT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t pair = pair_of(found, faces[i] + shift, crossing->face, &swapped);
        if (pair == ABUT_NONE)
            continue;
        const uint32_t node = 2 * pair + swapped;
        uint32_t *end = &ends[2 * (size_t)pair + (ends[2 * (size_t)pair] != ABUT_NONE)];
        *end = *end == ABUT_NONE ? index : *end;
        if (crossing->contour == ABUT_NONE)
            crossing->contour = node;
        abuti_join(parents, crossing->contour, node);
        abuti_join(parents, crossing->contour ^ 1, node ^ 1);
    }
}

/* Sums the directions of the contour at a crossing, and its length. */
static void find_directions(const abut_cloth *c, cloth_contours *found, uint32_t index) {
    cloth_crossing *crossing = &ABUTI_AT(&found->crossings, cloth_crossing, index);
    const uint32_t *faces, *ends = found->ends.data;
    uint32_t shift, swapped;
    const uint32_t count = faces_of_edge(c, crossing->edge, &faces, &shift);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t pair = pair_of(found, faces[i] + shift, crossing->face, &swapped);
        if (pair == ABUT_NONE)
            continue;
        const uint32_t *end = ends + 2 * (size_t)pair, other = end[0] == index ? end[1] : end[0];
        if (other == ABUT_NONE || other == index)
            continue;
        const vec3 way =
            v3_sub(ABUTI_AT(&found->crossings, cloth_crossing, other).at, crossing->at);
        const double length = cloth_length(way);
        crossing->weight += 0.5 * length;
        if (length > 0)
            crossing->along = v3_along(crossing->along, 1 / length, way);
    }
}

/* Whether crossing a belongs after b. */
static bool crossing_is_after(const void *a, const void *b) {
    const cloth_crossing *p = a, *q = b;
    if (p->contour != q->contour)
        return p->contour > q->contour;
    if (p->side != q->side)
        return p->side > q->side;
    if (p->edge != q->edge)
        return p->edge > q->edge;
    return p->t != q->t ? p->t > q->t : p->face > q->face;
}

/* Numbers the contours by their lowest ordered pair. */
static abut_status list_contours(abut_cloth *c, cloth_contours *found) {
    uint32_t *parents = found->parents.data;
    cloth_crossing *list = found->crossings.data;
    const uint32_t count = (uint32_t)found->crossings.count;
    const uint64_t *pairs = found->pairs.data;
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].contour == ABUT_NONE)
            continue;
        const uint32_t root = abuti_root(parents, list[i].contour),
                       other = abuti_root(parents, list[i].contour ^ 1);
        list[i].side = root > other;
        list[i].contour = root < other ? root : other;
    }
    abuti_sort_items(list, count, sizeof *list, crossing_is_after);
    found->contours.count = 0;
    for (uint32_t i = 0; i < count && list[i].contour != ABUT_NONE; i++) {
        if (!i || list[i].contour != list[i - 1].contour) {
            const uint32_t root = list[i].contour;
            cloth_contour *contour = ABUTI_PUSH(c->context, &found->contours, cloth_contour);
            if (!contour)
                return ABUT_ERROR_MEMORY;
            *contour = (cloth_contour){.first = i,
                                       .body = cloth_face_is_of_body(c, (uint32_t)pairs[root / 2]),
                                       .is_joined = abuti_root(parents, root ^ 1) == root};
        }
        ABUTI_AT(&found->contours, cloth_contour, found->contours.count - 1).count++;
    }
    return ABUT_OK;
}

abut_status abuti_cloth_find_contours(abut_cloth *c, cloth_contours *found) {
    abut_status status = list_pairs(c, found);
    if (!status)
        status = list_crossings(c, found);
    const size_t nodes = 2 * found->pairs.count;
    if (!status)
        status = abuti_vector_reserve(c->context, &found->parents, nodes, sizeof(uint32_t));
    if (!status)
        status = abuti_vector_reserve(c->context, &found->ends, nodes, sizeof(uint32_t));
    if (status)
        return status;
    for (uint32_t i = 0; i < nodes; i++) {
        ((uint32_t *)found->parents.data)[i] = i;
        ((uint32_t *)found->ends.data)[i] = ABUT_NONE;
    }
    for (uint32_t i = 0; i < found->crossings.count; i++)
        join_at(c, found, i);
    for (uint32_t i = 0; i < found->crossings.count; i++)
        find_directions(c, found, i);
    return list_contours(c, found);
}

void abuti_cloth_free_contours(const abut_cloth *c, cloth_contours *found) {
    ABUTI_RELEASE(c->context, found->pairs.data, found->keys.data, found->spare.data,
                  found->parents.data, found->ends.data, found->crossings.data,
                  found->contours.data);
    *found = (cloth_contours){0};
}
