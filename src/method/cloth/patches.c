/* Divides sheets into patches; see solver_shared.h. The vertices of a sheet are halved recursively
 * along the longest side of their box at rest, so that patches are compact and have about equal
 * sizes.
 * Constraints are coloured over the whole cloth, so that all patches that share a constraint apply
 * it in the same round of colours. */
#include "cloth/cloth.h"

#include <stdlib.h>

typedef struct place {
    double at;
    uint32_t vertex;
} place;

/* Hinges or edges of all sheets; each begins with its vertices. */
typedef struct kind {
    const unsigned char *from;
    uint32_t count, corners;
    size_t bytes;
    unsigned char *colour, *is_inner; /* inner ones have all vertices in one patch */
    uint32_t *begin, *items; /* items[begin[p]] to items[begin[p + 1]] have a vertex in patch p */
} kind;

/* Constraints of one colour have no vertex in common. Those of the last one, which belong to
 * vertices with very many edges, are applied one after the other. */
enum { COLOURS = 64, LAST_COLOUR = COLOURS - 1 };

typedef struct cutter {
    abut_cloth *c;
    cloth_patches *made;
    place *places;   /* of all vertices, by patch */
    uint32_t *of;    /* the patch of each vertex */
    uint32_t *local; /* its index in the current patch; ABUT_NONE if it is not there */
    uint64_t *used;  /* colours that its constraints have */
    kind kinds[2];   /* hinges, edges */
} cutter;

/* ---- patches of vertices ---- */

static int compare_places(const void *a, const void *b) {
    const place *p = a, *q = b;
    return p->at < q->at   ? -1
           : p->at > q->at ? 1
                           : (p->vertex > q->vertex) - (p->vertex < q->vertex);
}

/* Divides `count` vertices into `parts` patches, the first of which is `first`. */
static void halve(cutter *t, place *list, uint32_t count, uint32_t parts, uint32_t first) {
    const vec3 *rest = t->c->groups[SHEETS].mesh->positions;
    box3 box = box_empty();
    for (uint32_t i = 0; i < count; i++)
        box = box_grow(box, rest[list[i].vertex]);
    const int axis = box_longest_axis(box);
    for (uint32_t i = 0; i < count; i++) /* vertices of a patch are ascending */
        list[i].at = parts > 1 ? v3_get(rest[list[i].vertex], axis) : 0;
    qsort(list, count, sizeof *list, compare_places);
    if (parts == 1) {
        t->made->patches[first].own = count;
        for (uint32_t i = 0; i < count; i++)
            t->of[list[i].vertex] = first;
        return;
    }
    uint32_t left = parts / 2, cut = (uint32_t)((uint64_t)count * left / parts);
    halve(t, list, cut, left, first);
    halve(t, list + cut, count - cut, parts - left, first + left);
}

/* ---- patches of constraints ---- */

static const uint32_t *corners_of(const kind *k, uint32_t i) {
    return (const uint32_t *)(const void *)(k->from + i * k->bytes);
}

/* Gives each constraint the first colour that none of its vertices has; those of several patches
 * and the inner ones have colours of their own. */
static abut_status colour(cutter *t, kind *k) {
    if (ABUTI_ALLOCATE(t->c->context, ABUTI_ZEROED(k->colour, k->count),
                       ABUTI_ZEROED(k->is_inner, k->count)))
        return ABUT_ERROR_MEMORY;
    for (unsigned char inner = 0; inner < 2; inner++) {
        memset(t->used, 0, t->c->vertices * sizeof *t->used);
        for (uint32_t i = 0; i < k->count; i++) {
            const uint32_t *v = corners_of(k, i);
            uint64_t taken = 0;
            k->is_inner[i] = 1;
            for (uint32_t a = 0; a < k->corners; a++) {
                taken |= t->used[v[a]];
                k->is_inner[i] &= t->of[v[a]] == t->of[v[0]];
            }
            unsigned char mine = 0;
            while (mine < LAST_COLOUR && taken >> mine & 1)
                mine++;
            if (k->is_inner[i] != inner)
                continue;
            for (uint32_t a = 0; a < k->corners; a++)
                t->used[v[a]] |= UINT64_C(1) << mine;
            k->colour[i] = mine;
        }
    }
    return ABUT_OK;
}

/* Lists the constraints that have a vertex in each patch. */
static abut_status list_constraints(cutter *t, kind *k) {
    const uint32_t patches = t->made->count;
    uint32_t *begin = abuti_allocate_zeroed(t->c->context, (size_t)patches + 2, sizeof *begin);
    k->begin = begin;
    if (!begin)
        return ABUT_ERROR_MEMORY;
    for (int turn = 0; turn < 2; turn++) { /* count, then fill */
        for (uint32_t i = 0; i < k->count; i++) {
            const uint32_t *v = corners_of(k, i);
            for (uint32_t a = 0; a < k->corners; a++) {
                bool seen = false;
                for (uint32_t b = 0; b < a; b++)
                    seen = seen || t->of[v[b]] == t->of[v[a]];
                if (turn && !seen)
                    k->items[begin[t->of[v[a]] + 1]++] = i;
                else
                    begin[t->of[v[a]] + 2] += !turn && !seen;
            }
        }
        if (turn)
            break;
        for (uint32_t p = 0; p < patches; p++)
            begin[p + 2] += begin[p + 1];
        k->items = abuti_allocate(t->c->context, begin[patches + 1], sizeof *k->items);
        if (!k->items)
            return ABUT_ERROR_MEMORY;
    }
    return ABUT_OK;
}

/* ---- one patch ---- */

static abut_status add_vertex(cutter *t, cloth_patch *p, uint32_t v) {
    if (t->local[v] != ABUT_NONE)
        return ABUT_OK;
    uint32_t *to = ABUTI_PUSH(t->c->context, &t->made->list, uint32_t);
    if (!to)
        return ABUT_ERROR_MEMORY;
    *to = v;
    t->local[v] = p->all++;
    return ABUT_OK;
}

/* Adds the constraints of a kind, inner or not, and the vertices that only they have. */
static abut_status place_constraints(cutter *t, uint32_t number, uint32_t which, uint32_t inner) {
    const kind *k = &t->kinds[which];
    cloth_patches *made = t->made;
    cloth_patch *p = &made->patches[number];
    uint32_t tally[COLOURS] = {0}, slot[COLOURS], rounds = 0;
    for (uint32_t i = k->begin[number]; i < k->begin[number + 1]; i++) {
        const uint32_t one = k->items[i];
        tally[k->colour[one]] += k->is_inner[one] == inner;
        for (uint32_t a = 0; a < k->corners; a++)
            if (add_vertex(t, p, corners_of(k, one)[a]))
                return ABUT_ERROR_MEMORY;
    }
    for (uint32_t i = 0; i < COLOURS; i++) {
        slot[i] = rounds * PATCH_LANES;
        rounds += i == LAST_COLOUR ? tally[i] : (tally[i] + PATCH_LANES - 1) / PATCH_LANES;
    }
    const size_t begin = made->slots[which].count, count = (size_t)rounds * PATCH_LANES;
    p->first_slot[2 * inner + which] = (uint32_t)begin;
    p->rounds[2 * inner + which] = rounds;
    if (abuti_vector_reserve(t->c->context, &made->slots[which], begin + count, k->bytes))
        return ABUT_ERROR_MEMORY;
    made->slots[which].count += count;
    unsigned char *to = (unsigned char *)made->slots[which].data + begin * k->bytes;
    memset(to, 0xff, count * k->bytes); /* ABUT_NONE */
    for (uint32_t i = k->begin[number]; i < k->begin[number + 1]; i++) {
        const uint32_t one = k->items[i], mine = k->colour[one];
        if (k->is_inner[one] != inner)
            continue;
        uint32_t *v = (uint32_t *)(void *)(to + slot[mine] * k->bytes);
        slot[mine] += mine == LAST_COLOUR ? PATCH_LANES : 1;
        memcpy(v, k->from + one * k->bytes, k->bytes);
        for (uint32_t a = 0; a < k->corners; a++)
            v[a] = t->local[v[a]];
    }
    return ABUT_OK;
}

/* ---- all patches ---- */

static abut_status cut(cutter *t) {
    abut_cloth *c = t->c;
    cloth_patches *made = t->made;
    const uint32_t n = c->vertices, sheets = cloth_count_of(c, SHEETS);
    for (uint32_t s = 0; s < sheets; s++)
        made->count += (cloth_vertices_of(cloth_item_of(c, SHEETS, s)) + PATCH_OWN - 1) / PATCH_OWN;
    if (ABUTI_ALLOCATE(c->context, ABUTI_ZEROED(made->patches, made->count),
                       ABUTI_ARRAY(t->places, n), ABUTI_ARRAY(t->of, n), ABUTI_ARRAY(t->local, n),
                       ABUTI_ARRAY(t->used, n)))
        return ABUT_ERROR_MEMORY;
    memset(t->local, 0xff, n * sizeof *t->local);
    for (uint32_t i = 0; i < n; i++)
        t->places[i] = (place){0, i};
    for (uint32_t s = 0, first = 0; s < sheets; s++) {
        const cloth_item *item = cloth_item_of(c, SHEETS, s);
        const uint32_t count = cloth_vertices_of(item), parts = (count + PATCH_OWN - 1) / PATCH_OWN;
        if (parts)
            halve(t, t->places + item->vertex, count, parts, first);
        first += parts;
    }
    abut_status status = ABUT_OK;
    for (int k = 0; k < 2 && !status; k++) {
        status = colour(t, &t->kinds[k]);
        if (!status)
            status = list_constraints(t, &t->kinds[k]);
    }
    for (uint32_t k = 0, at = 0; k < made->count && !status; at += made->patches[k++].own) {
        cloth_patch *p = &made->patches[k];
        p->first = (uint32_t)made->list.count;
        for (uint32_t i = 0; i < p->own && !status; i++)
            status = add_vertex(t, p, t->places[at + i].vertex);
        for (uint32_t group = 0; group < 4 && !status; group++)
            status = place_constraints(t, k, group & 1, group >> 1);
        for (uint32_t i = 0; i < p->all; i++)
            t->local[ABUTI_AT(&made->list, uint32_t, p->first + i)] = ABUT_NONE;
        made->largest = p->all > made->largest ? p->all : made->largest;
    }
    return status;
}

abut_status abuti_cloth_divide(abut_cloth *c) {
    cutter t = {.c = c,
                .made = &c->patches,
                .kinds = {{.from = (const unsigned char *)c->hinges,
                           .count = c->hinge_count,
                           .corners = 4,
                           .bytes = sizeof *c->hinges},
                          {.from = (const unsigned char *)c->edges,
                           .count = c->edge_count,
                           .corners = 2,
                           .bytes = sizeof *c->edges}}};
    abut_status status = cut(&t);
    for (int k = 0; k < 2; k++)
        ABUTI_RELEASE(c->context, t.kinds[k].colour, t.kinds[k].is_inner, t.kinds[k].begin,
                      t.kinds[k].items);
    ABUTI_RELEASE(c->context, t.places, t.of, t.local, t.used);
    if (status)
        abuti_cloth_free_patches(c);
    return status;
}

void abuti_cloth_free_patches(abut_cloth *c) {
    cloth_patches *p = &c->patches;
    ABUTI_RELEASE(c->context, p->patches, p->list.data, p->slots[0].data, p->slots[1].data);
    memset(p, 0, sizeof *p);
}
