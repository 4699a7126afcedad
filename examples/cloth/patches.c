/* Divides a cloth into patches; see solver_shared.h. Vertices are halved recursively along the
 * longest side of their box at rest, so that patches are compact and have about equal sizes.
 * Constraints are coloured over the whole cloth, so that all patches that share a constraint apply
 * it in the same round of colours. */
#include "parts.h"

#include <stdlib.h>

typedef struct place {
    double at;
    uint32_t vertex;
} place;

/* Hinges or edges of the cloth; each begins with its vertices. */
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
    cloth *c;
    cloth_patches *made;
    place *places;   /* of all vertices, by patch */
    uint32_t *of;    /* the patch of each vertex */
    uint32_t *local; /* its index in the current patch; VEC_NONE if it is not there */
    uint64_t *used;  /* colours that its constraints have */
    kind kinds[2];   /* hinges, edges */
    size_t list_room, slot_room[2];
} cutter;

/* ---- patches of vertices ---- */

static int compare_places(const void *a, const void *b) {
    const place *p = a, *q = b;
    return p->at < q->at   ? -1
           : p->at > q->at ? 1
                           : (p->vertex > q->vertex) - (p->vertex < q->vertex);
}

static double along(vec v, int axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Divides `count` vertices into `parts` patches, the first of which is `first`. */
static void halve(cutter *t, place *list, uint32_t count, uint32_t parts, uint32_t first) {
    const vec *rest = abut_mesh_local_positions(t->c->rest);
    int axis = 0;
    double widest = -1;
    for (int k = 0; k < 3; k++) {
        double lo = (double)INFINITY, hi = -lo;
        for (uint32_t i = 0; i < count; i++) {
            double at = along(rest[list[i].vertex], k);
            lo = fmin(lo, at);
            hi = fmax(hi, at);
        }
        axis = hi - lo > widest ? k : axis;
        widest = fmax(widest, hi - lo);
    }
    for (uint32_t i = 0; i < count; i++) /* vertices of a patch are ascending */
        list[i].at = parts > 1 ? along(rest[list[i].vertex], axis) : 0;
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
    k->colour = cloth_room(t->c, k->count + (size_t)1, 1);
    k->is_inner = cloth_room(t->c, k->count + (size_t)1, 1);
    if (!k->colour || !k->is_inner)
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
    uint32_t *begin = abut_context_allocate(t->c->context, (size_t)patches + 2, sizeof *begin);
    k->begin = begin;
    if (!begin)
        return ABUT_ERROR_MEMORY;
    memset(begin, 0, ((size_t)patches + 2) * sizeof *begin);
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
        k->items =
            abut_context_allocate(t->c->context, (size_t)begin[patches + 1] + 1, sizeof *k->items);
        if (!k->items)
            return ABUT_ERROR_MEMORY;
    }
    return ABUT_OK;
}

/* ---- one patch ---- */

static abut_status add_vertex(cutter *t, cloth_patch *p, uint32_t v) {
    cloth_patches *made = t->made;
    if (t->local[v] != VEC_NONE)
        return ABUT_OK;
    void *list =
        cloth_grown(t->c, made->list, &t->list_room, (size_t)made->listed + 1, sizeof *made->list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    made->list = list;
    made->list[made->listed++] = v;
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
    p->first_slot[2 * inner + which] = made->slot_count[which];
    p->rounds[2 * inner + which] = rounds;
    const size_t count = (size_t)rounds * PATCH_LANES;
    unsigned char *to = cloth_grown(t->c, made->slots[which], &t->slot_room[which],
                                    made->slot_count[which] + count + 1, k->bytes);
    if (!to)
        return ABUT_ERROR_MEMORY;
    made->slots[which] = to;
    to += made->slot_count[which] * k->bytes;
    memset(to, 0xff, count * k->bytes); /* VEC_NONE */
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
    made->slot_count[which] += (uint32_t)count;
    return ABUT_OK;
}

/* ---- all patches ---- */

static abut_status cut(cutter *t) {
    cloth *c = t->c;
    cloth_patches *made = t->made;
    const uint32_t n = c->vertices;
    made->count = (n + PATCH_OWN - 1) / PATCH_OWN;
    made->patches = abut_context_allocate(c->context, made->count, sizeof *made->patches);
    t->places = abut_context_allocate(c->context, n, sizeof *t->places);
    t->of = abut_context_allocate(c->context, n, sizeof *t->of);
    t->local = abut_context_allocate(c->context, n, sizeof *t->local);
    t->used = abut_context_allocate(c->context, n, sizeof *t->used);
    if (!made->patches || !t->places || !t->of || !t->local || !t->used)
        return ABUT_ERROR_MEMORY;
    memset(made->patches, 0, made->count * sizeof *made->patches);
    memset(t->local, 0xff, n * sizeof *t->local);
    for (uint32_t i = 0; i < n; i++)
        t->places[i] = (place){0, i};
    halve(t, t->places, n, made->count, 0);
    abut_status status = ABUT_OK;
    for (int k = 0; k < 2 && !status; k++) {
        status = colour(t, &t->kinds[k]);
        if (!status)
            status = list_constraints(t, &t->kinds[k]);
    }
    for (uint32_t k = 0, at = 0; k < made->count && !status; at += made->patches[k++].own) {
        cloth_patch *p = &made->patches[k];
        p->first = made->listed;
        for (uint32_t i = 0; i < p->own && !status; i++)
            status = add_vertex(t, p, t->places[at + i].vertex);
        for (uint32_t group = 0; group < 4 && !status; group++)
            status = place_constraints(t, k, group & 1, group >> 1);
        for (uint32_t i = 0; i < p->all; i++)
            t->local[made->list[p->first + i]] = VEC_NONE;
        made->largest = p->all > made->largest ? p->all : made->largest;
    }
    return status;
}

abut_status cloth_cut(cloth *c) {
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
        CLOTH_FREE(c, t.kinds[k].colour, t.kinds[k].is_inner, t.kinds[k].begin, t.kinds[k].items);
    CLOTH_FREE(c, t.places, t.of, t.local, t.used);
    if (status)
        cloth_free_patches(c);
    return status;
}

void cloth_free_patches(cloth *c) {
    cloth_patches *p = &c->patches;
    CLOTH_FREE(c, p->patches, p->list, p->slots[0], p->slots[1]);
    memset(p, 0, sizeof *p);
}
