/* Divides a cloth into patches; see patches_shared.h. Vertices are halved recursively along the
 * longest side of their box at rest, so that patches are compact and have about equal sizes. */
#include "patches.h"

#include <stdlib.h>

typedef struct place {
    double at;
    uint32_t vertex;
} place;

typedef struct cutter {
    cloth *c;
    cloth_patches *made;
    uint32_t *of;       /* the patch of each vertex */
    uint32_t *local;    /* its index in the current patch; VEC_NONE if it is not there */
    uint64_t *used;     /* colours that its constraints have there */
    uint32_t *lists[2]; /* hinges and edges of all patches */
    uint32_t *list_begin[2];
    uint32_t *colours; /* of the constraints of a patch */
    size_t list_room;  /* vertices */
    size_t hinge_room, edge_room;
} cutter;

/* ---- patches of vertices ---- */

static int by_place(const void *a, const void *b) {
    const place *p = a, *q = b;
    return p->at < q->at   ? -1
           : p->at > q->at ? 1
                           : (p->vertex > q->vertex) - (p->vertex < q->vertex);
}

static double along(vec v, int axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Divides `count` positions into `parts` patches, the first of which is `first`. */
static void halve(const vec *rest, place *list, uint32_t count, uint32_t parts, uint32_t first,
                  uint32_t *of) {
    if (parts <= 1) {
        for (uint32_t i = 0; i < count; i++)
            of[list[i].vertex] = first;
        return;
    }
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
    for (uint32_t i = 0; i < count; i++)
        list[i].at = along(rest[list[i].vertex], axis);
    qsort(list, count, sizeof *list, by_place);
    uint32_t left = parts / 2, cut = (uint32_t)((uint64_t)count * left / parts);
    halve(rest, list, cut, left, first, of);
    halve(rest, list + cut, count - cut, parts - left, first + left, of);
}

static abut_status share_out(cutter *t) {
    const uint32_t n = t->c->vertices;
    place *list = abut_context_allocate(t->c->context, n, sizeof *list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        list[i] = (place){0, i};
    t->made->count = (n + PATCH_OWN - 1) / PATCH_OWN;
    halve(abut_mesh_local_positions(t->c->rest), list, n, t->made->count, 0, t->of);
    abut_context_free(t->c->context, list);
    return ABUT_OK;
}

/* ---- patches of constraints ---- */

static const uint32_t *corners_of(const cloth *c, int kind, uint32_t i) {
    return kind ? c->edges[i].vertex : c->hinges[i].vertex;
}

/* Lists of constraints that have a vertex in a patch, for all patches. */
static abut_status list_constraints(cutter *t, int kind) {
    const cloth *c = t->c;
    const uint32_t count = kind ? c->edge_count : c->hinge_count, corners = kind ? 2 : 4;
    const uint32_t patches = t->made->count;
    uint32_t *begin = abut_context_allocate(c->context, (size_t)patches + 2, sizeof *begin);
    t->list_begin[kind] = begin;
    if (!begin)
        return ABUT_ERROR_MEMORY;
    memset(begin, 0, ((size_t)patches + 2) * sizeof *begin);
    for (int turn = 0; turn < 2; turn++) { /* count, then fill */
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t *v = corners_of(c, kind, i);
            for (uint32_t k = 0; k < corners; k++) {
                bool seen = false;
                for (uint32_t j = 0; j < k; j++)
                    seen = seen || t->of[v[j]] == t->of[v[k]];
                if (seen)
                    continue;
                if (turn)
                    t->lists[kind][begin[t->of[v[k]] + 1]++] = i;
                else
                    begin[t->of[v[k]] + 2]++;
            }
        }
        for (uint32_t p = 0; p < patches && !turn; p++)
            begin[p + 2] += begin[p + 1];
        if (!turn) {
            t->lists[kind] = abut_context_allocate(c->context, (size_t)begin[patches + 1] + 1,
                                                   sizeof *t->lists[kind]);
            if (!t->lists[kind])
                return ABUT_ERROR_MEMORY;
        }
    }
    return ABUT_OK; /* begin[p] to begin[p + 1] are those of patch p */
}

/* ---- one patch ---- */

static abut_status add_vertex(cutter *t, cloth_patch *p, uint32_t v) {
    cloth_patches *made = t->made;
    if (t->local[v] != VEC_NONE)
        return ABUT_OK;
    if (p->all >= PATCH_ALL)
        return abut_set_error(ABUT_ERROR_LIMIT,
                              "cloth_add_radial: a vertex of the cloth has too many neighbours");
    void *list =
        cloth_grown(t->c, made->list, &t->list_room, (size_t)made->listed + 1, sizeof *made->list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    made->list = list;
    made->list[made->listed++] = v;
    t->local[v] = p->all++;
    t->used[v] = 0;
    return ABUT_OK;
}

/* Gives each constraint of a patch the first colour that has capacity and none of its vertices.
 * Returns the number of rounds: one per colour, and one for each constraint without a colour. */
static uint32_t colour(cutter *t, int kind, uint32_t begin, uint32_t end) {
    enum { LAST = 63 };
    uint32_t tally[LAST + 1] = {0}, rounds = 0;
    const uint32_t corners = kind ? 2 : 4;
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t *v = corners_of(t->c, kind, t->lists[kind][i]);
        uint64_t taken = 0;
        uint32_t mine = 0;
        for (uint32_t k = 0; k < corners; k++)
            taken |= t->used[v[k]];
        while (mine < LAST && (taken >> mine & 1 || tally[mine] >= PATCH_LANES))
            mine++;
        for (uint32_t k = 0; k < corners && mine < LAST; k++)
            t->used[v[k]] |= UINT64_C(1) << mine;
        t->colours[i - begin] = mine;
        tally[mine]++;
    }
    uint32_t first[LAST + 1];
    for (uint32_t k = 0; k <= LAST; k++) {
        first[k] = rounds * PATCH_LANES;
        rounds += k == LAST ? tally[k] : tally[k] > 0;
    }
    for (uint32_t i = 0; i < end - begin; i++) { /* from colours to slots */
        uint32_t mine = t->colours[i];
        t->colours[i] = first[mine];
        first[mine] += mine == LAST ? PATCH_LANES : 1;
    }
    return rounds;
}

static abut_status place_hinges(cutter *t, cloth_patch *p, uint32_t begin, uint32_t end) {
    cloth_patches *made = t->made;
    const cloth_hinge none = {.vertex = {VEC_NONE, 0, 0, 0}};
    p->first_hinge = made->hinge_count;
    p->hinge_rounds = colour(t, 0, begin, end);
    const uint32_t count = p->hinge_rounds * PATCH_LANES;
    void *grown = cloth_grown(t->c, made->hinges, &t->hinge_room, (size_t)made->hinge_count + count,
                              sizeof *made->hinges);
    if (!grown)
        return ABUT_ERROR_MEMORY;
    made->hinges = grown;
    cloth_hinge *to = made->hinges + made->hinge_count;
    for (uint32_t i = 0; i < count; i++)
        to[i] = none;
    for (uint32_t i = begin; i < end; i++) {
        cloth_hinge h = t->c->hinges[t->lists[0][i]];
        for (int k = 0; k < 4; k++)
            h.vertex[k] = t->local[h.vertex[k]];
        to[t->colours[i - begin]] = h;
    }
    made->hinge_count += count;
    return ABUT_OK;
}

static abut_status place_edges(cutter *t, cloth_patch *p, uint32_t begin, uint32_t end) {
    cloth_patches *made = t->made;
    const cloth_edge none = {.vertex = {VEC_NONE, 0}};
    p->first_edge = made->edge_count;
    p->edge_rounds = colour(t, 1, begin, end);
    const uint32_t count = p->edge_rounds * PATCH_LANES;
    void *grown = cloth_grown(t->c, made->edges, &t->edge_room, (size_t)made->edge_count + count,
                              sizeof *made->edges);
    if (!grown)
        return ABUT_ERROR_MEMORY;
    made->edges = grown;
    cloth_edge *to = made->edges + made->edge_count;
    for (uint32_t i = 0; i < count; i++)
        to[i] = none;
    for (uint32_t i = begin; i < end; i++) {
        cloth_edge e = t->c->edges[t->lists[1][i]];
        for (int k = 0; k < 2; k++)
            e.vertex[k] = t->local[e.vertex[k]];
        to[t->colours[i - begin]] = e;
    }
    made->edge_count += count;
    return ABUT_OK;
}

static abut_status cut_patch(cutter *t, uint32_t number, const uint32_t *own, uint32_t own_count) {
    cloth_patch *p = &t->made->patches[number];
    abut_status status = ABUT_OK;
    *p = (cloth_patch){.first = t->made->listed, .own = own_count};
    for (uint32_t i = 0; i < own_count && !status; i++)
        status = add_vertex(t, p, own[i]);
    for (int kind = 0; kind < 2 && !status; kind++) {
        const uint32_t begin = t->list_begin[kind][number], end = t->list_begin[kind][number + 1];
        for (uint32_t i = begin; i < end && !status; i++)
            for (uint32_t k = 0; k < (kind ? 2u : 4u) && !status; k++)
                status = add_vertex(t, p, corners_of(t->c, kind, t->lists[kind][i])[k]);
        if (!status)
            status = kind ? place_edges(t, p, begin, end) : place_hinges(t, p, begin, end);
        for (uint32_t i = 0; i < p->all && !status; i++)
            t->used[t->made->list[p->first + i]] = 0;
    }
    for (uint32_t i = 0; i < p->all; i++)
        t->local[t->made->list[p->first + i]] = VEC_NONE;
    t->made->largest = p->all > t->made->largest ? p->all : t->made->largest;
    return status;
}

/* ---- all patches ---- */

static abut_status cut(cutter *t) {
    cloth *c = t->c;
    cloth_patches *made = t->made;
    const uint32_t n = c->vertices;
    uint32_t *order = abut_context_allocate(c->context, n, sizeof *order);
    t->of = abut_context_allocate(c->context, n, sizeof *t->of);
    t->local = abut_context_allocate(c->context, n, sizeof *t->local);
    t->used = abut_context_allocate(c->context, n, sizeof *t->used);
    t->colours = abut_context_allocate(c->context, (size_t)c->edge_count + c->hinge_count + 1,
                                       sizeof *t->colours);
    uint32_t *begin = NULL;
    abut_status status =
        order && t->of && t->local && t->used && t->colours ? share_out(t) : ABUT_ERROR_MEMORY;
    for (int kind = 0; kind < 2 && !status; kind++)
        status = list_constraints(t, kind);
    if (!status) {
        made->patches = abut_context_allocate(c->context, made->count, sizeof *made->patches);
        begin = abut_context_allocate(c->context, (size_t)made->count + 2, sizeof *begin);
        status = made->patches && begin ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    if (!status) { /* vertices by patches, ascending in each */
        memset(t->local, 0xff, n * sizeof *t->local);
        memset(begin, 0, ((size_t)made->count + 2) * sizeof *begin);
        for (uint32_t i = 0; i < n; i++)
            begin[t->of[i] + 2]++;
        for (uint32_t p = 0; p < made->count; p++)
            begin[p + 2] += begin[p + 1];
        for (uint32_t i = 0; i < n; i++)
            order[begin[t->of[i] + 1]++] = i;
        for (uint32_t p = 0; p < made->count && !status; p++)
            status = cut_patch(t, p, order + begin[p], begin[p + 1] - begin[p]);
    }
    void *const all[] = {order,       begin,       t->of,      t->local,         t->used,
                         t->lists[0], t->lists[1], t->colours, t->list_begin[0], t->list_begin[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        abut_context_free(c->context, all[i]);
    return status;
}

abut_status cloth_patches_create(cloth *c, cloth_patches **patches) {
    cloth_patches *made = abut_context_allocate(c->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    memset(made, 0, sizeof *made);
    cutter t = {.c = c, .made = made};
    abut_status status = cut(&t);
    if (status)
        cloth_patches_destroy(c, made);
    else
        *patches = made;
    return status;
}

void cloth_patches_destroy(cloth *c, cloth_patches *patches) {
    if (!patches)
        return;
    void *const all[] = {patches->patches, patches->list, patches->hinges, patches->edges, patches};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        abut_context_free(c->context, all[i]);
}
