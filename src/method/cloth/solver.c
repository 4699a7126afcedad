/* The solver of a cloth on the CPU; see solver_shared.h. */
#include "cloth/cloth.h"

typedef struct turn {
    abut_cloth *c;
    cloth_host *h;
    cloth_substep s;
    const vec3 *velocity; /* at the start of the substep */
    uint32_t first;       /* patch of the phase */
    abut_status status;   /* of the loops; after a cancellation no further loop starts */
} turn;

static void run(turn *t, size_t count, size_t grain, void (*body)(void *, size_t, size_t, size_t)) {
    if (!t->status)
        t->status = abuti_parallel_try(t->c->context, "cloth", count, grain ? grain : 1, body, t);
}

static size_t patch_grain(const abut_cloth *c) {
    return c->grain > PATCH_OWN ? c->grain / PATCH_OWN : 1;
}

/* ---- memory ---- */

static abut_status create(abut_cloth *c) {
    c->host = abuti_allocate_zeroed(c->context, 1, sizeof *c->host);
    return c->host ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static void free_arrays(abut_cloth *c) {
    cloth_host *h = c->host;
    if (!h)
        return;
    ABUTI_RELEASE(c->context, h->x, h->now, h->next, h->push, h->sums, h->pressures, h->heads,
                  h->faces, h->unsorted, h->selves, h->corner_heads, h->corner_chain, h->shares,
                  h->touches, h->nearest, h->hits, h->at, h->inverse, h->totals);
    memset(h, 0, sizeof *h);
}

static void destroy(abut_cloth *c) {
    abuti_release(c->context, c->host);
    c->host = NULL;
}

static abut_status prepare(abut_cloth *c) {
    cloth_host *h = c->host;
    const size_t n = c->vertices, selves = c->options.ignore_self ? 0 : n;
    const size_t hits = c->radial ? n : 0, touches = c->all_vertices > n && !c->radial ? n : 0;
    size_t scratch = 0;
    for (uint32_t phase = 0; phase < CLOTH_PHASES; phase++) {
        const uint32_t patches = cloth_patch_count(&c->patches, phase);
        const size_t tasks = abuti_chunk_count(patches, patch_grain(c));
        scratch = tasks > scratch ? tasks : scratch;
    }
    scratch *= c->patches.largest;
    abut_status status = ABUTI_ALLOCATE(
        c->context, ABUTI_ARRAY(h->x, n), ABUTI_ARRAY(h->now, n), ABUTI_ARRAY(h->next, n),
        ABUTI_ARRAY(h->push, c->triangles), ABUTI_ARRAY(h->sums, c->block_count),
        ABUTI_ARRAY(h->pressures, cloth_count_of(c, SHEETS)), ABUTI_ARRAY(h->at, scratch),
        ABUTI_ARRAY(h->inverse, scratch), ABUTI_ARRAY(h->totals, abuti_chunk_count(n, c->grain)),
        ABUTI_ARRAY(h->heads, selves ? (size_t)c->search.mask + 2 : 0),
        ABUTI_ARRAY(h->faces, selves ? c->triangles : 0),
        ABUTI_ARRAY(h->unsorted, selves ? c->triangles : 0), ABUTI_ARRAY(h->selves, 2 * selves),
        ABUTI_ARRAY(h->corner_heads, selves), ABUTI_ARRAY(h->shares, selves),
        ABUTI_ARRAY(h->corner_chain, 6 * selves), ABUTI_ARRAY(h->hits, hits),
        ABUTI_ARRAY(h->touches, touches), ABUTI_ARRAY(h->nearest, touches));
    c->arrays = (cloth_arrays){abut_array_host(c->position), abut_array_host(c->end),
                               abut_array_host(h->nearest), abut_array_host(h->hits)};
    return status;
}

/* ---- contacts ---- */

static void place_faces(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    const abut_cloth *c = t->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        cloth_face *face = &t->h->unsorted[i];
        *face = cloth_face_at((uint32_t)i, c->groups[SHEETS].indices, c->position);
        face->link = cloth_bucket_at(face->centre, &c->search);
    }
}

/* Sorts the faces by bucket, since the search waits for memory. */
static void sort_faces(turn *t) {
    const abut_cloth *c = t->c;
    cloth_host *h = t->h;
    const size_t buckets = (size_t)c->search.mask + 1;
    uint32_t end = 0;
    run(t, c->triangles, c->grain, place_faces);
    if (t->status)
        return;
    memset(h->heads, 0, buckets * sizeof *h->heads);
    for (uint32_t i = 0; i < c->triangles; i++)
        h->heads[h->unsorted[i].link]++;
    for (size_t b = 0; b < buckets; b++)
        h->heads[b] = end += h->heads[b];
    h->heads[buckets] = end;
    for (uint32_t i = c->triangles; i-- > 0;)
        h->faces[--h->heads[h->unsorted[i].link]] = h->unsorted[i];
}

/* The nearest faces on both sides of vertex v. */
static void find_faces(const abut_cloth *c, const cloth_sheets *all, uint32_t v,
                       cloth_found best[2]) {
    const cloth_host *h = c->host;
    const vec3 at = c->position[v], normal = cloth_normal_at(all, v);
    const cloth_spot spot = cloth_spot_at(&c->search, at);
    double reach = c->search.range;
    best[0] = best[1] = cloth_found_none(&c->search);
    for (int k = 0; k < CLOTH_CELLS; k++) { /* its own cell first, which reduces the reach */
        const uint32_t bucket =
            cloth_bucket_near(&c->search, &spot, (k + CLOTH_OWN_CELL) % CLOTH_CELLS);
        if (bucket == ABUT_NONE)
            continue;
        for (uint32_t i = h->heads[bucket]; i < h->heads[bucket + 1]; i++)
            if (cloth_is_in_reach(&h->faces[i], at, reach)) {
                cloth_try_face(&c->search, all, v, h->faces[i].face, normal, best);
                reach = sqrt(fmax(best[0].sq, best[1].sq));
            }
    }
    cloth_choose_sides(all, v, best);
}

/* Lists the contacts of the corners of faces. */
static void list_corners(abut_cloth *c) {
    cloth_host *h = c->host;
    memset(h->corner_heads, 0xff, c->vertices * sizeof *h->corner_heads);
    for (uint32_t i = 2 * c->vertices; i-- > 0;)
        for (uint32_t k = 3; k-- > 0 && h->selves[i].vertex[0] != ABUT_NONE;) {
            uint32_t *head = &h->corner_heads[h->selves[i].vertex[k]];
            h->corner_chain[3 * i + k] = *head;
            *head = 3 * i + k;
        }
}

static void sum_shares(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    const cloth_host *h = t->h;
    (void)chunk;
    for (size_t v = begin; v < end; v++)
        h->shares[v] = cloth_shares_of((uint32_t)v, h->selves, h->corner_heads, h->corner_chain);
}

static void scale_contacts(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    const cloth_host *h = t->h;
    (void)chunk;
    for (size_t v = begin; v < end; v++)
        for (size_t i = 2 * v; i < 2 * v + 2; i++)
            if (h->selves[i].vertex[0] != ABUT_NONE)
                h->selves[i].scale =
                    cloth_scale_of(&h->selves[i], (uint32_t)v, t->c->inverse_mass, h->shares);
}

static void add_contact(cloth_totals *totals, double gap) {
    totals->contacts++;
    totals->thinnest =
        cloth_bits_of(gap) < totals->thinnest ? cloth_bits_of(gap) : totals->thinnest;
}

static void find_contacts_of(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    const abut_cloth *c = t->c;
    cloth_host *h = t->h;
    const cloth_group *sheets = &c->groups[SHEETS];
    const cloth_sheets all = {sheets->indices,
                              sheets->view.vertex_face_begin,
                              sheets->view.vertex_faces,
                              c->part_of,
                              c->parts,
                              sheets->mesh->positions,
                              c->position,
                              c->knot_begin,
                              c->knots.data};
    cloth_totals totals = c->totals;
    for (size_t i = begin; i < end; i++) {
        const uint32_t v = (uint32_t)i;
        if (t->s.has_selves) {
            cloth_found best[2];
            find_faces(c, &all, v, best);
            for (int side = 0; side < 2; side++) {
                cloth_self *self = &h->selves[2 * i + (size_t)side];
                double gap = cloth_self_of(&c->search, &all, v, &best[side], self);
                if (self->vertex[0] != ABUT_NONE)
                    add_contact(&totals, gap);
            }
        }
        if (t->s.has_touches) {
            double gap = cloth_touch_of(&h->nearest[i], v, c->position[i], c->search.range,
                                        c->vertices, c->part_of, c->parts,
                                        c->groups[BODIES].indices, c->position + c->vertices,
                                        cloth_body_end(c), &h->touches[i], &c->pushes[i]);
            if (h->touches[i].is_near)
                add_contact(&totals, gap);
        }
    }
    h->totals[chunk] = totals;
}

static abut_status find_contacts(abut_cloth *c) {
    cloth_host *h = c->host;
    turn t = {.c = c, .h = h, .s = abuti_cloth_substep(c, 1, 0)};
    if (t.s.has_selves)
        sort_faces(&t);
    run(&t, c->vertices, c->grain, find_contacts_of);
    if (t.status)
        return t.status;
    if (t.s.has_selves) {
        list_corners(c);
        run(&t, c->vertices, c->grain, sum_shares);
        run(&t, c->vertices, c->grain, scale_contacts);
    }
    for (size_t i = 0; i < abuti_chunk_count(c->vertices, c->grain); i++) {
        c->totals.contacts += h->totals[i].contacts;
        if (h->totals[i].thinnest < c->totals.thinnest)
            c->totals.thinnest = h->totals[i].thinnest;
    }
    return t.status;
}

/* ---- a substep ---- */

static void add_volume(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        t->h->sums[i] = cloth_block_volume(t->c->groups[SHEETS].indices, &t->c->blocks[i], t->h->x);
}

static void add_volumes(turn *t) {
    run(t, t->c->block_count, t->c->grain / VOLUME_BLOCK, add_volume);
}

static double volume_of(const cloth_part *part, const double *sums) {
    double lanes[VOLUME_LANES];
    for (uint32_t i = 0; i < VOLUME_LANES; i++)
        lanes[i] = cloth_lane_volume(part, sums, i);
    for (uint32_t half = VOLUME_LANES / 2; half; half /= 2)
        for (uint32_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

abut_status abuti_cloth_measure_volumes(abut_cloth *c) {
    cloth_host h = {.x = c->position};
    turn t = {.c = c, .h = &h};
    if (ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(h.sums, c->block_count)))
        return ABUT_ERROR_MEMORY;
    add_volumes(&t);
    for (uint32_t p = 0; p < cloth_count_of(c, SHEETS) && !t.status; p++) {
        const double volume = fabs(volume_of(&c->parts[p], h.sums));
        c->parts[p].volume = volume > 0 ? volume : 1;
    }
    abuti_release(c->context, h.sums);
    return t.status;
}

static void find_pressures(turn *t) {
    add_volumes(t);
    for (uint32_t p = 0; p < cloth_count_of(t->c, SHEETS) && !t->status; p++) {
        const cloth_part *part = &t->c->parts[p];
        t->h->pressures[p] =
            part->block_count ? cloth_pressure_at(part, volume_of(part, t->h->sums)) : 0;
    }
}

static void push_triangles(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    const abut_cloth *c = t->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const uint32_t *v = c->groups[SHEETS].indices + 3 * i;
        const double pressure = t->s.has_pressure ? t->h->pressures[c->part_of[v[0]]] : 0;
        t->h->push[i] = cloth_push_of(&t->s, pressure, v, t->h->x, t->velocity);
    }
}

/* Free motion, without constraints. */
static void move_vertices(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    const abut_cloth *c = t->c;
    const cloth_host *h = t->h;
    const abut_topology_arrays *view = &c->groups[SHEETS].view;
    const bool has_air = cloth_has_air(&t->s);
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec3 force = v3(0, 0, 0);
        for (uint32_t k = view->vertex_face_begin[i]; k < view->vertex_face_begin[i + 1] && has_air;
             k++)
            force = v3_add(force, h->push[view->vertex_faces[k]]);
        const double w = c->inverse_mass[i];
        cloth_hold *hold = t->s.has_holds && c->held_of[i] != ABUT_NONE
                               ? &ABUTI_AT(&c->holds, cloth_hold, c->held_of[i])
                               : NULL;
        h->next[i] = cloth_moved(&t->s, c->parts[c->part_of[i]].damping, w, force, t->velocity[i],
                                 h->x[i], hold);
    }
}

static void solve_patches(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    abut_cloth *c = t->c;
    const cloth_host *h = t->h;
    const cloth_patches *all = &c->patches;
    const cloth_hinge *hinges = all->constraints[CLOTH_HINGES].data;
    const cloth_edge *edges = all->constraints[CLOTH_EDGES].data;
    const cloth_seam *seams = all->constraints[CLOTH_SEAMS].data;
    const uint32_t *rounds = all->rounds.data;
    vec3 *at = h->at + chunk * all->largest;
    double *inverse = h->inverse + chunk * all->largest;
    for (size_t k = begin; k < end; k++) {
        const cloth_patch *p = &ABUTI_AT(&all->patches, cloth_patch, t->first + k);
        const uint32_t *list = &ABUTI_AT(&all->list, uint32_t, p->first);
        const uint32_t *hinge_rounds = rounds + p->first_round[CLOTH_HINGES],
                       *edge_rounds = rounds + p->first_round[CLOTH_EDGES],
                       *seam_rounds = rounds + p->first_round[CLOTH_SEAMS];
        const cloth_pins pins = {list, c->held_of, c->holds.data};
        for (uint32_t i = 0; i < p->count; i++) {
            at[i] = h->next[list[i]];
            inverse[i] = c->inverse_mass[list[i]];
        }
        for (uint32_t i = hinge_rounds[0]; i < hinge_rounds[p->rounds[CLOTH_HINGES]]; i++)
            cloth_hold_hinge(&t->s, hinges[i], &pins, inverse, at);
        for (uint32_t i = edge_rounds[0]; i < edge_rounds[p->rounds[CLOTH_EDGES]]; i++)
            cloth_hold_edge(&t->s, edges[i], &pins, inverse, at);
        for (uint32_t i = seam_rounds[0]; i < seam_rounds[p->rounds[CLOTH_SEAMS]]; i++)
            cloth_hold_seam(&t->s, seams[i], &pins, inverse, at);
        for (uint32_t i = 0; i < p->count; i++)
            h->next[list[i]] = at[i];
    }
}

static void keep_contacts(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    abut_cloth *c = t->c;
    const cloth_host *h = t->h;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        cloth_hold *hold =
            c->held_of[v] != ABUT_NONE ? &ABUTI_AT(&c->holds, cloth_hold, c->held_of[v]) : NULL;
        h->now[v] =
            cloth_keep_contacts(&t->s, (uint32_t)v, c->inverse_mass[v], h->selves, h->corner_heads,
                                h->corner_chain, h->touches, c->pushes, hold, h->x, h->next);
        c->next_velocity[v] = v3_scale(v3_sub(h->now[v], h->x[v]), 1 / t->s.h);
    }
}

/* ---- a step ---- */

static abut_status begin_step(abut_cloth *c) {
    for (uint32_t i = 0; i < c->holds.count; i++) {
        cloth_hold *hold = &ABUTI_AT(&c->holds, cloth_hold, i);
        cloth_place_hold(hold, c->groups[BODIES].indices, c->position + c->vertices,
                         cloth_body_end(c), &ABUTI_AT(&c->given, vec3, 2 * (size_t)i),
                         c->position[hold->vertex]);
    }
    const abuti_vector *seams = &c->patches.constraints[CLOTH_SEAMS];
    for (size_t i = 0; i < seams->count; i++) {
        const uint32_t wide =
            cloth_bits_of(cloth_measure_seam(&ABUTI_AT(seams, cloth_seam, i), c->position));
        c->totals.widest = wide > c->totals.widest ? wide : c->totals.widest;
    }
    return ABUT_OK;
}

static abut_status advance(abut_cloth *c, double seconds) {
    cloth_host *h = c->host;
    memcpy(h->x, c->position, c->vertices * sizeof *h->x);
    for (uint32_t i = 0; i < c->options.substeps; i++) {
        turn t = {.c = c, .h = h, .s = abuti_cloth_substep(c, seconds, i)};
        t.velocity = i ? c->next_velocity : c->velocity;
        if (t.s.has_pressure)
            find_pressures(&t);
        if (cloth_has_air(&t.s))
            run(&t, c->triangles, c->grain, push_triangles);
        run(&t, c->vertices, c->grain, move_vertices);
        for (uint32_t phase = 0; phase < CLOTH_PHASES; phase++) {
            t.first = cloth_first_patch(&c->patches, phase);
            run(&t, cloth_patch_count(&c->patches, phase), patch_grain(c), solve_patches);
        }
        run(&t, c->vertices, c->grain, keep_contacts);
        if (t.status)
            return t.status;
        vec3 *x = h->x;
        h->x = h->now;
        h->now = x;
    }
    for (uint32_t i = 0; i < c->all_vertices; i++) {
        c->aim[i] = c->end[i] = cloth_aim_at(i, c->vertices, h->x, cloth_body_end(c));
        if (isnan(c->aim[i].x))
            c->totals.odd |= i < c->vertices ? 1u : 2u;
    }
    return ABUT_OK;
}

static abut_status apply_fields(abut_cloth *c, double seconds) {
    cloth_host *h = c->host;
    for (uint32_t i = 0; i < c->vertices; i++) {
        c->end[i] = cloth_field_end(c->inverse_mass[i], c->position[i], c->aim[i], c->end[i],
                                    seconds, &c->next_velocity[i]);
        const float left = h->hits[i].left;
        if (left > 0 && cloth_bits_of((double)left) > c->totals.deepest)
            c->totals.deepest = cloth_bits_of((double)left);
    }
    return ABUT_OK;
}

static void finish(abut_cloth *c, bool velocities_changed) {
    (void)velocities_changed;
    memcpy(c->position, c->end, c->all_vertices * sizeof *c->position);
}

const cloth_backend abuti_cloth_on_cpu = {.create = create,
                                          .destroy = destroy,
                                          .prepare = prepare,
                                          .release = free_arrays,
                                          .begin = begin_step,
                                          .find_contacts = find_contacts,
                                          .advance = advance,
                                          .apply_fields = apply_fields,
                                          .finish = finish};
