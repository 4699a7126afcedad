/* Divides constraints into patches; see solver_shared.h. The vertices of a sheet are halved
 * recursively along the longest side of their box at rest, so that their groups are compact and
 * have about equal sizes. A constraint belongs to one of three phases:
 *
 *   0. all its vertices are in one group: a patch per group;
 *   1. borders: its vertices are in two groups, and constraints of other pairs of groups have none
 *      of them: a patch per pair;
 *   2. corners: all others, a patch per connected component.
 *
 * Patches of a phase have no vertex in common. Seams are constraints as the others are. */
#include "cloth/cloth.h"

#include <stdlib.h>

typedef struct place {
    double at;
    uint32_t vertex;
} place;

/* Hinges, edges or seams of all sheets; each begins with its vertices. */
typedef struct kind {
    const unsigned char *from;
    uint32_t count, corners;
    size_t bytes;
} kind;

/* A constraint and its patch. */
typedef struct member {
    uint64_t key; /* of the patch, in its phase */
    uint32_t index;
    unsigned char phase, kind, colour;
} member;

/* Constraints of one colour have no vertex in common. Those of the last one, which belong to
 * vertices with very many edges, are applied one after the other. */
enum { COLOURS = 64, LAST_COLOUR = COLOURS - 1 };

/* Borders of a vertex: none, or those of several pairs of groups. */
#define NO_BORDER UINT64_MAX
#define SEVERAL_BORDERS (UINT64_MAX - 1)

typedef struct cutter {
    abut_cloth *c;
    cloth_patches *made;
    place *places;     /* of all vertices, by group */
    uint32_t *of;      /* the group of each vertex */
    uint64_t *borders; /* the pair of groups of its constraints */
    uint32_t *root;    /* a vertex of the same component of corners */
    uint32_t *local;   /* its index in the current patch; ABUT_NONE if it is not there */
    uint64_t *used;    /* colours that its constraints have */
    kind kinds[CLOTH_KINDS];
    member *members;
    uint32_t count;
} cutter;

/* ---- groups of vertices ---- */

static int compare_places(const void *a, const void *b) {
    const place *p = a, *q = b;
    return p->at < q->at   ? -1
           : p->at > q->at ? 1
                           : (p->vertex > q->vertex) - (p->vertex < q->vertex);
}

/* Divides `count` vertices into `parts` groups, the first of which is `first`. */
static void halve(cutter *t, place *list, uint32_t count, uint32_t parts, uint32_t first) {
    const vec3 *rest = t->c->groups[SHEETS].mesh->positions;
    box3 box = box_empty();
    for (uint32_t i = 0; i < count; i++)
        box = box_grow(box, rest[list[i].vertex]);
    const int axis = box_longest_axis(box);
    for (uint32_t i = 0; i < count; i++) /* vertices of a group are ascending */
        list[i].at = parts > 1 ? v3_get(rest[list[i].vertex], axis) : 0;
    qsort(list, count, sizeof *list, compare_places);
    if (parts == 1) {
        for (uint32_t i = 0; i < count; i++)
            t->of[list[i].vertex] = first;
        return;
    }
    uint32_t left = parts / 2, cut = (uint32_t)((uint64_t)count * left / parts);
    halve(t, list, cut, left, first);
    halve(t, list + cut, count - cut, parts - left, first + left);
}

/* ---- phases ---- */

static const uint32_t *corners_of(const cutter *t, const member *m) {
    const kind *k = &t->kinds[m->kind];
    return (const uint32_t *)(const void *)(k->from + m->index * k->bytes);
}

/* The pair of groups of a constraint; one group twice, or SEVERAL_BORDERS for more than two. */
static uint64_t pair_of(const cutter *t, const member *m) {
    const uint32_t *v = corners_of(t, m), corners = t->kinds[m->kind].corners;
    uint32_t low = t->of[v[0]], high = low;
    for (uint32_t a = 1; a < corners; a++) {
        low = t->of[v[a]] < low ? t->of[v[a]] : low;
        high = t->of[v[a]] > high ? t->of[v[a]] : high;
    }
    for (uint32_t a = 0; a < corners; a++)
        if (t->of[v[a]] != low && t->of[v[a]] != high)
            return SEVERAL_BORDERS;
    return (uint64_t)low << 32 | high;
}

static uint32_t root_of(cutter *t, uint32_t v) {
    while (t->root[v] != v)
        v = t->root[v] = t->root[t->root[v]];
    return v;
}

/* Sets the phases, and the keys of phases 0 and 1. */
static void find_phases(cutter *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        member *m = &t->members[i];
        const uint32_t *v = corners_of(t, m);
        m->key = pair_of(t, m);
        m->phase = m->key == SEVERAL_BORDERS || m->key >> 32 != (uint32_t)m->key;
        for (uint32_t a = 0; a < t->kinds[m->kind].corners && m->phase; a++) {
            uint64_t *border = &t->borders[v[a]];
            *border = *border == NO_BORDER || *border == m->key ? m->key : SEVERAL_BORDERS;
        }
    }
    for (uint32_t i = 0; i < t->count; i++) {
        member *m = &t->members[i];
        const uint32_t *v = corners_of(t, m);
        for (uint32_t a = 0; a < t->kinds[m->kind].corners && m->phase == 1; a++)
            if (t->borders[v[a]] == SEVERAL_BORDERS)
                m->phase = 2;
    }
}

/* Sets the keys of phase 2: the least vertex of the component. */
static void find_components(cutter *t) {
    for (uint32_t i = 0; i < t->count; i++) {
        const member *m = &t->members[i];
        const uint32_t *v = corners_of(t, m);
        for (uint32_t a = 1; a < t->kinds[m->kind].corners && m->phase == 2; a++) {
            const uint32_t p = root_of(t, v[0]), q = root_of(t, v[a]);
            t->root[p < q ? q : p] = p < q ? p : q;
        }
    }
    for (uint32_t i = 0; i < t->count; i++)
        if (t->members[i].phase == 2)
            t->members[i].key = root_of(t, corners_of(t, &t->members[i])[0]);
}

/* Gives each constraint the first colour that none of its vertices has in its phase. */
static void colour(cutter *t) {
    for (int turn = 0; turn < CLOTH_KINDS * CLOTH_PHASES; turn++) {
        memset(t->used, 0, t->c->vertices * sizeof *t->used);
        for (uint32_t i = 0; i < t->count; i++) {
            member *m = &t->members[i];
            const uint32_t *v = corners_of(t, m), corners = t->kinds[m->kind].corners;
            uint64_t taken = 0;
            if (CLOTH_KINDS * m->phase + m->kind != turn)
                continue;
            for (uint32_t a = 0; a < corners; a++)
                taken |= t->used[v[a]];
            while (m->colour < LAST_COLOUR && taken >> m->colour & 1)
                m->colour++;
            for (uint32_t a = 0; a < corners; a++)
                t->used[v[a]] |= UINT64_C(1) << m->colour;
        }
    }
}

/* ---- one patch ---- */

static bool is_same_patch(const member *a, const member *b) {
    return a->phase == b->phase && a->key == b->key;
}

/* By phase, patch, kind, colour and index. */
static int compare_members(const void *a, const void *b) {
    const member *p = a, *q = b;
    if (!is_same_patch(p, q))
        return p->phase != q->phase ? p->phase - q->phase : p->key < q->key ? -1 : 1;
    if (p->kind != q->kind)
        return p->kind - q->kind;
    return p->colour != q->colour ? p->colour - q->colour : (p->index > q->index) - 1;
}

static abut_status push_number(cutter *t, abuti_vector *list, size_t number) {
    uint32_t *to = ABUTI_PUSH(t->c->context, list, uint32_t);
    if (!to)
        return ABUT_ERROR_MEMORY;
    *to = (uint32_t)number;
    return ABUT_OK;
}

/* Adds the constraints of a kind, from *list on, and their rounds. Moves *list behind them. */
static abut_status place_constraints(cutter *t, cloth_patch *p, int which, const member **list,
                                     const member *end) {
    const kind *k = &t->kinds[which];
    cloth_patches *made = t->made;
    abuti_vector *to = &made->constraints[which];
    const member *m = *list;
    uint32_t in_round = 0;
    p->first_round[which] = (uint32_t)made->rounds.count;
    for (; m < end && m->kind == which; m++) {
        const uint32_t *v = corners_of(t, m);
        const bool is_next = m == *list || m[-1].colour != m->colour || m->colour == LAST_COLOUR ||
                             in_round == PATCH_LANES;
        in_round = is_next ? 1 : in_round + 1;
        if ((is_next && push_number(t, &made->rounds, to->count)) ||
            abuti_vector_reserve(t->c->context, to, to->count + 1, k->bytes))
            return ABUT_ERROR_MEMORY;
        p->rounds[which] += is_next;
        unsigned char *copy = (unsigned char *)to->data + to->count++ * k->bytes;
        memcpy(copy, v, k->bytes);
        for (uint32_t a = 0; a < k->corners; a++) {
            if (t->local[v[a]] == ABUT_NONE) {
                t->local[v[a]] = p->count++;
                if (push_number(t, &made->list, v[a]))
                    return ABUT_ERROR_MEMORY;
            }
            ((uint32_t *)(void *)copy)[a] = t->local[v[a]];
        }
    }
    *list = m;
    return push_number(t, &made->rounds, to->count);
}

static abut_status make_patch(cutter *t, const member **list, const member *end) {
    cloth_patches *made = t->made;
    cloth_patch *p = ABUTI_PUSH(t->c->context, &made->patches, cloth_patch);
    if (!p)
        return ABUT_ERROR_MEMORY;
    *p = (cloth_patch){.first = (uint32_t)made->list.count};
    made->ends[(*list)->phase] = (uint32_t)made->patches.count;
    const member *last = *list;
    while (last < end && is_same_patch(last, *list))
        last++;
    for (int which = 0; which < CLOTH_KINDS; which++)
        if (place_constraints(t, p, which, list, last))
            return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < p->count; i++)
        t->local[ABUTI_AT(&made->list, uint32_t, p->first + i)] = ABUT_NONE;
    made->largest = p->count > made->largest ? p->count : made->largest;
    return ABUT_OK;
}

/* ---- all patches ---- */

static void group_vertices(cutter *t) {
    for (uint32_t i = 0; i < t->c->vertices; i++) {
        t->places[i] = (place){0, i};
        t->borders[i] = NO_BORDER;
        t->root[i] = i;
        t->local[i] = ABUT_NONE;
    }
    for (uint32_t s = 0, first = 0; s < cloth_count_of(t->c, SHEETS); s++) {
        const cloth_item *item = cloth_item_of(t->c, SHEETS, s);
        const uint32_t count = cloth_vertices_of(item), parts = (count + PATCH_OWN - 1) / PATCH_OWN;
        if (parts)
            halve(t, t->places + item->vertex, count, parts, first);
        first += parts;
    }
}

static abut_status cut(cutter *t) {
    const size_t n = t->c->vertices;
    for (int which = 0; which < CLOTH_KINDS; which++)
        t->count += t->kinds[which].count;
    if (ABUTI_ALLOCATE(t->c->context, ABUTI_ZEROED(t->members, t->count), ABUTI_ARRAY(t->places, n),
                       ABUTI_ARRAY(t->of, n), ABUTI_ARRAY(t->borders, n), ABUTI_ARRAY(t->root, n),
                       ABUTI_ARRAY(t->local, n), ABUTI_ARRAY(t->used, n)))
        return ABUT_ERROR_MEMORY;
    group_vertices(t);
    for (uint32_t which = 0, i = 0; which < CLOTH_KINDS; which++)
        for (uint32_t k = 0; k < t->kinds[which].count; k++)
            t->members[i++] = (member){.kind = (unsigned char)which, .index = k};
    find_phases(t);
    find_components(t);
    colour(t);
    qsort(t->members, t->count, sizeof *t->members, compare_members);
    abut_status status = ABUT_OK;
    const member *at = t->members, *end = at + t->count;
    while (at < end && !status)
        status = make_patch(t, &at, end);
    for (int phase = 1; phase < CLOTH_PHASES; phase++)
        if (t->made->ends[phase] < t->made->ends[phase - 1])
            t->made->ends[phase] = t->made->ends[phase - 1];
    return status;
}

abut_status abuti_cloth_divide(abut_cloth *c) {
    cutter t = {.c = c,
                .made = &c->patches,
                .kinds = {[CLOTH_HINGES] = {.from = (const unsigned char *)c->hinges,
                                            .count = c->hinge_count,
                                            .corners = 4,
                                            .bytes = sizeof *c->hinges},
                          [CLOTH_EDGES] = {.from = (const unsigned char *)c->edges,
                                           .count = c->edge_count,
                                           .corners = 2,
                                           .bytes = sizeof *c->edges},
                          [CLOTH_SEAMS] = {.from = c->seams.data,
                                           .count = (uint32_t)c->seams.count,
                                           .corners = 2,
                                           .bytes = sizeof(cloth_seam)}}};
    abut_status status = cut(&t);
    ABUTI_RELEASE(c->context, t.members, t.places, t.of, t.borders, t.root, t.local, t.used);
    if (status)
        abuti_cloth_free_patches(c);
    c->patches.is_made = !status;
    return status;
}

void abuti_cloth_free_patches(abut_cloth *c) {
    cloth_patches *p = &c->patches;
    ABUTI_RELEASE(c->context, p->patches.data, p->list.data, p->rounds.data,
                  p->constraints[CLOTH_HINGES].data, p->constraints[CLOTH_EDGES].data,
                  p->constraints[CLOTH_SEAMS].data);
    memset(p, 0, sizeof *p);
}
