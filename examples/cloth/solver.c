/* The solver of a cloth on the CPU; see solver_shared.h. */
#include "parts.h"

typedef struct turn {
    cloth *c;
    cloth_host *h;
    cloth_substep s;
    double pressure;
    const vec *velocity; /* at the start of the substep */
    const vec *from;     /* positions before a pass over contacts, and after it */
    vec *to;
} turn;

static void run(turn *t, size_t count, size_t grain, void (*body)(void *, size_t, size_t, size_t)) {
    abut_context_parallel_for(t->c->context, count, grain ? grain : 1, body, t);
}

static size_t tasks_of(size_t count, size_t grain) {
    grain = grain ? grain : 1;
    return (count + grain - 1) / grain;
}

static size_t patch_grain(const cloth *c) {
    return c->options.grain / PATCH_OWN;
}

/* ---- memory ---- */

static abut_status create(cloth *c) {
    c->host = cloth_room(c, 1, sizeof *c->host);
    return c->host ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static void destroy(cloth *c) {
    cloth_host *h = c->host;
    if (!h)
        return;
    CLOTH_FREE(c, h->x, h->now, h->next, h->push, h->sums, h->heads, h->chain, h->selves,
               h->corner_heads, h->corner_chain, h->touches, h->nearest, h->hits, h->at, h->inverse,
               h->totals, h);
    c->host = NULL;
}

/* Allocates a list unless it exists already, after a failure. */
#define ROOM(list, count) ((list) || ((list) = cloth_room(c, count, sizeof *(list))))

static abut_status prepare(cloth *c) {
    cloth_host *h = c->host;
    const size_t n = c->vertices;
    const size_t scratch = c->patches.largest * tasks_of(c->patches.count, patch_grain(c));
    bool all = ROOM(h->x, n) && ROOM(h->now, n) && ROOM(h->next, n) &&
               ROOM(h->push, c->triangles) && ROOM(h->sums, cloth_volume_blocks(c)) &&
               ROOM(h->at, scratch) && ROOM(h->inverse, scratch) &&
               ROOM(h->totals, tasks_of(n, c->options.grain));
    if (!c->options.no_self)
        all = all && ROOM(h->heads, (size_t)c->search.mask + 1) && ROOM(h->chain, n) &&
              ROOM(h->selves, n) && ROOM(h->corner_heads, n) && ROOM(h->corner_chain, 3 * n);
    if (c->radial)
        all = all && ROOM(h->hits, n);
    else if (c->solid)
        all = all && ROOM(h->touches, n) && ROOM(h->nearest, n);
    c->arrays = (cloth_arrays){abut_array_host(c->position), abut_array_host(c->end),
                               abut_array_host(h->nearest), abut_array_host(h->hits)};
    return all ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* ---- contacts ---- */

static void insert_vertices(cloth *c) {
    cloth_host *h = c->host;
    memset(h->heads, 0xff, ((size_t)c->search.mask + 1) * sizeof *h->heads);
    for (uint32_t i = 0; i < c->vertices; i++) {
        uint32_t *head = &h->heads[cloth_bucket_at(c->position[i], &c->search)];
        h->chain[i] = *head;
        *head = i;
    }
}

/* Lists the contacts of the corners of faces. */
static void list_corners(cloth *c) {
    cloth_host *h = c->host;
    memset(h->corner_heads, 0xff, c->vertices * sizeof *h->corner_heads);
    for (uint32_t i = c->vertices; i-- > 0;)
        for (uint32_t k = 3; k-- > 0 && h->selves[i].vertex[0] != VEC_NONE;) {
            uint32_t *head = &h->corner_heads[h->selves[i].vertex[k]];
            h->corner_chain[3 * i + k] = *head;
            *head = 3 * i + k;
        }
}

static void add_contact(cloth_totals *totals, double gap) {
    totals->contacts++;
    totals->thinnest =
        cloth_bits_of(gap) < totals->thinnest ? cloth_bits_of(gap) : totals->thinnest;
}

static void find_contacts_of(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    const cloth *c = t->c;
    cloth_host *h = t->h;
    const vec *rest = abut_mesh_local_positions(c->rest), *solid = c->position + c->vertices;
    cloth_totals totals = c->totals;
    for (size_t i = begin; i < end; i++) {
        if (t->s.has_selves) {
            cloth_found best = cloth_found_none(&c->search);
            for (int k = 0; k < CLOTH_CELLS; k++)
                cloth_search_cell(&c->search, (uint32_t)i, k, h->heads, h->chain, c->indices,
                                  c->view.vertex_face_begin, c->view.vertex_faces, rest,
                                  c->position, &best);
            double gap = cloth_self_of(&c->search, (uint32_t)i, &best, c->indices, rest,
                                       c->position, &h->selves[i]);
            if (h->selves[i].vertex[0] != VEC_NONE)
                add_contact(&totals, gap);
        }
        if (t->s.has_touches) {
            double gap = cloth_touch_of(&h->nearest[i], c->position[i], c->search.thickness,
                                        c->search.range, abut_mesh_indices(c->solid), solid,
                                        h->solid_end ? h->solid_end : solid, &h->touches[i]);
            if (h->touches[i].is_near)
                add_contact(&totals, gap);
        }
    }
    h->totals[chunk] = totals;
}

static abut_status find_contacts(cloth *c) {
    cloth_host *h = c->host;
    turn t = {.c = c, .h = h, .s = cloth_substep_of(c, 1, 0)};
    if (t.s.has_selves)
        insert_vertices(c);
    run(&t, c->vertices, c->options.grain, find_contacts_of);
    if (t.s.has_selves)
        list_corners(c);
    for (size_t i = 0; i < tasks_of(c->vertices, c->options.grain); i++) {
        c->totals.contacts += h->totals[i].contacts;
        if (h->totals[i].thinnest < c->totals.thinnest)
            c->totals.thinnest = h->totals[i].thinnest;
    }
    return ABUT_OK;
}

/* ---- a substep ---- */

static void add_volume(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        t->h->sums[i] = cloth_block_volume(t->c->indices, t->c->triangles, t->h->x, (uint32_t)i);
}

static double volume_of(turn *t) {
    uint32_t blocks = cloth_volume_blocks(t->c);
    double lanes[VOLUME_LANES];
    run(t, blocks, t->c->options.grain / VOLUME_BLOCK, add_volume);
    for (uint32_t i = 0; i < VOLUME_LANES; i++)
        lanes[i] = cloth_lane_volume(t->h->sums, blocks, i);
    for (uint32_t half = VOLUME_LANES / 2; half; half /= 2)
        for (uint32_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

abut_status cloth_measure_volume(cloth *c) {
    cloth_host h = {.x = c->position};
    turn t = {.c = c, .h = &h};
    h.sums = cloth_room(c, cloth_volume_blocks(c), sizeof *h.sums);
    if (!h.sums)
        return ABUT_ERROR_MEMORY;
    double volume = fabs(volume_of(&t));
    c->first_volume = volume > 0 ? volume : 1;
    CLOTH_FREE(c, h.sums);
    return ABUT_OK;
}

static void push_triangles(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        t->h->push[i] =
            cloth_push_of(&t->s, t->pressure, t->c->indices + 3 * i, t->h->x, t->velocity);
}

/* Free motion, without constraints. */
static void move_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    const cloth *c = t->c;
    const cloth_host *h = t->h;
    const uint32_t *faces = c->view.vertex_face_begin;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec force = vec_of(0, 0, 0);
        for (uint32_t k = faces[i]; k < faces[i + 1] && cloth_has_air(&t->s); k++)
            force = vec_add(force, h->push[c->view.vertex_faces[k]]);
        const double w = c->inverse_mass[i];
        vec at = cloth_predicted(&t->s, w, force, t->velocity[i], h->x[i]);
        if (c->held_count && c->held_of[i] != VEC_NONE)
            at = cloth_held_at(&t->s, &c->held[c->held_of[i]], w, at);
        h->now[i] = at;
    }
}

static void solve_patches(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    const cloth_host *h = t->h;
    const cloth_patches *all = &c->patches;
    vec *at = h->at + chunk * all->largest;
    double *inverse = h->inverse + chunk * all->largest;
    for (const cloth_patch *p = all->patches + begin; p < all->patches + end; p++) {
        const uint32_t *list = all->list + p->first;
        for (uint32_t i = 0; i < p->all; i++) {
            at[i] = h->now[list[i]];
            inverse[i] = c->inverse_mass[list[i]];
        }
        for (int k = 0; k < 4; k += 2) {
            const cloth_hinge *hinge = (const cloth_hinge *)all->slots[0] + p->first_slot[k];
            const cloth_edge *edge = (const cloth_edge *)all->slots[1] + p->first_slot[k + 1];
            for (uint32_t i = 0; i < p->rounds[k] * PATCH_LANES; i++)
                if (hinge[i].vertex[0] != VEC_NONE)
                    cloth_hold_hinge(&t->s, hinge[i], inverse, at);
            for (uint32_t i = 0; i < p->rounds[k + 1] * PATCH_LANES; i++)
                if (edge[i].vertex[0] != VEC_NONE)
                    cloth_hold_edge(&t->s, edge[i], inverse, at);
        }
        for (uint32_t i = 0; i < p->own; i++)
            h->next[list[i]] = at[i];
    }
}

static void keep_contacts(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    const cloth_host *h = t->h;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        t->to[v] = cloth_keep_contacts(&t->s, (uint32_t)v, c->inverse_mass[v], h->selves,
                                       h->corner_heads, h->corner_chain, h->touches, h->x, t->from);
        c->next_velocity[v] = vec_scale(vec_sub(t->to[v], h->x[v]), 1 / t->s.h);
    }
}

/* ---- a step ---- */

static abut_status begin_step(cloth *c, abut_array solid_end) {
    c->host->solid_end = solid_end.host;
    return ABUT_OK;
}

static void place_holds(cloth *c) {
    const uint32_t *corners = c->solid ? abut_mesh_indices(c->solid) : NULL;
    const vec *solid = c->position + c->vertices,
              *solid_end = c->host->solid_end ? c->host->solid_end : solid;
    for (uint32_t i = 0; i < c->held_count; i++)
        cloth_place_hold(&c->held[i], corners, solid, solid_end, c->given + 2 * (size_t)i,
                         c->position[c->held[i].vertex]);
}

static abut_status advance(cloth *c, double seconds) {
    cloth_host *h = c->host;
    const size_t grain = c->options.grain;
    place_holds(c);
    memcpy(h->x, c->position, c->vertices * sizeof *h->x);
    for (uint32_t i = 0; i < c->options.substeps; i++) {
        turn t = {.c = c, .h = h, .s = cloth_substep_of(c, seconds, i)};
        t.velocity = i ? c->next_velocity : c->velocity;
        if (t.s.pressure > 0)
            t.pressure = cloth_pressure_at(&t.s, volume_of(&t));
        if (cloth_has_air(&t.s))
            run(&t, c->triangles, grain, push_triangles);
        run(&t, c->vertices, grain, move_vertices);
        run(&t, c->patches.count, patch_grain(c), solve_patches);
        for (uint32_t pass = 0; pass < t.s.passes; pass++) {
            t.from = pass & 1 ? h->now : h->next;
            t.to = pass & 1 ? h->next : h->now;
            run(&t, c->vertices, grain, keep_contacts);
        }
        vec *x = h->x;
        h->x = h->now;
        h->now = x;
    }
    for (uint32_t i = 0; i < c->all_vertices; i++) {
        c->aim[i] = c->end[i] =
            cloth_aim_at(i, c->vertices, h->x, c->position, h->solid_end, h->solid_end != NULL);
        if (isnan(c->aim[i].x))
            c->totals.odd |= i < c->vertices ? 1u : 2u;
    }
    return ABUT_OK;
}

static abut_status settle_vertices(cloth *c, double seconds) {
    cloth_host *h = c->host;
    for (uint32_t i = 0; i < c->vertices; i++) {
        c->end[i] = cloth_settle(c->inverse_mass[i], c->position[i], c->aim[i], c->end[i], seconds,
                                 &c->next_velocity[i]);
        const float left = h->hits[i].left;
        if (left > 0 && cloth_bits_of((double)left) > c->totals.deepest)
            c->totals.deepest = cloth_bits_of((double)left);
    }
    return ABUT_OK;
}

static void finish(cloth *c, bool velocities_changed) {
    (void)velocities_changed;
    memcpy(c->position, c->end, c->all_vertices * sizeof *c->position);
}

const cloth_backend cloth_on_cpu = {.create = create,
                                    .destroy = destroy,
                                    .prepare = prepare,
                                    .begin = begin_step,
                                    .find_contacts = find_contacts,
                                    .advance = advance,
                                    .settle = settle_vertices,
                                    .finish = finish};
