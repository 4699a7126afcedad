/* Fast cloth against radial fields, for visual purposes.
 *
 * A step finds the faces that vertices of the cloth keep a distance from (patches_shared.h),
 * advances by substeps in patches, and then moves vertices out of the fields. There are no
 * sweeps. This file has the computation on the CPU and functions shared with that on devices
 * (device_quick.c). */
#include "patches.h"

typedef struct turn {
    cloth *c;
    cloth_substep s;
    double seconds;
    cloth_totals *totals; /* one per chunk */
} turn;

static void run(turn *t, size_t count, size_t grain, void (*body)(void *, size_t, size_t, size_t)) {
    abut_context_parallel_for(t->c->context, count, grain ? grain : 1, body, t);
}

/* ---- create ---- */

static cloth_search search_of(const cloth *c) {
    cloth_search s = {.thickness = c->options.thickness, .rest = 2 * c->mean_edge, .mask = 255};
    s.range = c->options.thickness + 0.5 * c->mean_edge; /* allows for motion during a step */
    s.cell = s.range + 0.7 * c->mean_edge; /* a corner is within 0.58 of a face's longest edge */
    while (s.mask < c->vertices && s.mask < UINT32_C(1) << 30)
        s.mask = 2 * s.mask + 1;
    return s;
}

void cloth_free_quick(cloth *c) {
    cloth_quick *q = c->quick;
    if (!q)
        return;
    cloth_patches_destroy(c, q->patches);
    abut_bvh_destroy(q->body);
    void *const all[] = {q->held_of, q->next,   q->selves,  q->heads,   q->chain,
                         q->hits,    q->points, q->queried, q->answers, q};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        abut_context_free(c->context, all[i]);
    c->quick = NULL;
}

abut_status cloth_add_radial(cloth *c, abut_radial *radial) {
    if (!c || !radial || c->quick)
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "cloth_add_radial: needs a cloth without fields, and fields");
    cloth_quick *q = c->quick = abut_context_allocate(c->context, 1, sizeof *q);
    if (!q)
        return ABUT_ERROR_MEMORY;
    memset(q, 0, sizeof *q);
    q->radial = radial;
    q->search = search_of(c);
    q->buckets = q->search.mask + 1;
    abut_status status = cloth_patches_create(c, &q->patches);
    if (status)
        cloth_free_quick(c);
    return status;
}

static abut_status make_room(cloth *c) {
    cloth_quick *q = c->quick;
    const size_t n = c->vertices;
    if (!c->end)
        c->end = abut_context_allocate(c->context, c->all_vertices, sizeof *c->end);
    if (!q->hits)
        q->hits = abut_context_allocate(c->context, n, sizeof *q->hits);
    if (!q->next)
        q->next = abut_context_allocate(c->context, n, sizeof *q->next);
    if (!q->selves && !c->options.no_self) {
        q->heads = abut_context_allocate(c->context, q->buckets, sizeof *q->heads);
        q->chain = abut_context_allocate(c->context, n, sizeof *q->chain);
        if (q->heads && q->chain)
            q->selves = abut_context_allocate(c->context, n, sizeof *q->selves);
    }
    return c->end && q->hits && q->next && (q->selves || c->options.no_self) ? ABUT_OK
                                                                             : ABUT_ERROR_MEMORY;
}

/* ---- shared with devices ---- */

static uint32_t bits_of(double positive) {
    float f = (float)positive;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static double of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

cloth_totals cloth_quick_begin(const cloth *c) {
    return (cloth_totals){.thinnest = bits_of(c->quick->search.range)};
}

abut_status cloth_quick_fill_report(const cloth *c, const cloth_totals *totals,
                                    cloth_report *report) {
    (void)c;
    if (totals->odd)
        return abut_set_error(
            ABUT_ERROR_LIMIT,
            totals->odd & 1
                ? "cloth_step: the cloth flies apart; take shorter steps, or smaller forces"
                : "cloth_step: the solid goes beyond all bounds");
    report->contacts = totals->selves;
    report->deepest = of_bits(totals->deepest);
    report->thinnest = of_bits(totals->thinnest);
    return ABUT_OK;
}

/* Fields are some millimetres off the body: vertices of fine cloth keep at least this fraction
 * of a cell. */
#define FIELD_CELLS 0.5

abut_radial_particles cloth_quick_particles(const cloth *c) {
    abut_radial_particles particles = abut_radial_particles_default();
    abut_radial_info info = abut_radial_info_default();
    abut_radial_get_info(c->quick->radial, &info);
    particles.count = c->vertices;
    particles.radius = fmax(c->options.thickness, FIELD_CELLS * info.cell);
    particles.friction = fmin(c->options.friction, 1);
    return particles;
}

/* Finds the hold of each vertex; holds are added once, before the first step. */
abut_status cloth_quick_find_held(cloth *c) {
    cloth_quick *q = c->quick;
    if (!c->held_count || q->held_of)
        return ABUT_OK;
    q->held_of = abut_context_allocate(c->context, c->vertices, sizeof *q->held_of);
    if (!q->held_of)
        return ABUT_ERROR_MEMORY;
    memset(q->held_of, 0xff, c->vertices * sizeof *q->held_of);
    for (uint32_t i = 0; i < c->held_count; i++)
        q->held_of[c->held[i].vertex] = i;
    return ABUT_OK;
}

/* ---- self-collision ---- */

static void find_selves(void *data, size_t chunk, size_t begin, size_t end) {
    turn *t = data;
    const cloth *c = t->c;
    const cloth_quick *q = c->quick;
    cloth_totals totals = cloth_quick_begin(c);
    for (size_t i = begin; i < end; i++) {
        cloth_found best = cloth_found_none(&q->search);
        for (int k = 0; k < CLOTH_CELLS; k++)
            cloth_search_cell(&q->search, (uint32_t)i, k, q->heads, q->chain, c->indices,
                              c->view.vertex_face_begin, c->view.vertex_faces,
                              abut_mesh_local_positions(c->rest), c->position, &best);
        double gap =
            cloth_self_of(&q->search, (uint32_t)i, &best, c->indices, c->position, &q->selves[i]);
        if (q->selves[i].vertex[0] == VEC_NONE)
            continue;
        totals.selves++;
        totals.thinnest = bits_of(gap) < totals.thinnest ? bits_of(gap) : totals.thinnest;
    }
    t->totals[chunk] = totals;
}

static abut_status search(cloth *c, cloth_totals *totals) {
    cloth_quick *q = c->quick;
    const size_t grain = c->options.grain, chunks = (c->vertices + grain - 1) / grain;
    turn t = {.c = c};
    if (c->options.no_self)
        return ABUT_OK;
    t.totals = abut_context_allocate(c->context, chunks, sizeof *t.totals);
    if (!t.totals)
        return ABUT_ERROR_MEMORY;
    memset(q->heads, 0xff, q->buckets * sizeof *q->heads);
    for (uint32_t i = 0; i < c->vertices; i++) {
        uint32_t *head = &q->heads[cloth_bucket_at(c->position[i], &q->search)];
        q->chain[i] = *head;
        *head = i;
    }
    run(&t, c->vertices, grain, find_selves);
    for (size_t i = 0; i < chunks; i++) {
        totals->selves += t.totals[i].selves;
        totals->thinnest =
            t.totals[i].thinnest < totals->thinnest ? t.totals[i].thinnest : totals->thinnest;
    }
    abut_context_free(c->context, t.totals);
    return ABUT_OK;
}

/* ---- a substep ---- */

/* Free motion from `now` to `before`, without constraints. */
static void move(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec force = vec_of(0, 0, 0);
        for (uint32_t k = c->view.vertex_face_begin[i];
             k < c->view.vertex_face_begin[i + 1] && cloth_has_air(&t->s); k++)
            force = vec_add(force, c->push[c->view.vertex_faces[k]]);
        const double w = c->inverse_mass[i];
        vec at = cloth_predicted(&t->s, w, force, c->velocity[i], c->now[i]);
        if (c->held_count && c->quick->held_of[i] != VEC_NONE)
            at = cloth_held_at(&t->s, &c->held[c->quick->held_of[i]], w, at);
        c->before[i] = at;
    }
}

static void solve_patch(const turn *t, const cloth_patch *p) {
    cloth *c = t->c;
    const cloth_quick *q = c->quick;
    const uint32_t *list = q->patches->list + p->first;
    vec at[PATCH_ALL];
    double inverse[PATCH_ALL];
    for (uint32_t i = 0; i < p->all; i++) {
        at[i] = c->before[list[i]];
        inverse[i] = c->inverse_mass[list[i]];
    }
    const cloth_hinge *hinge = q->patches->hinges + p->first_hinge;
    const cloth_edge *edge = q->patches->edges + p->first_edge;
    for (uint32_t i = 0; i < p->hinge_rounds * PATCH_LANES; i++)
        if (hinge[i].vertex[0] != VEC_NONE)
            cloth_patch_hinge(&t->s, hinge[i], inverse, at);
    for (uint32_t i = 0; i < p->edge_rounds * PATCH_LANES; i++)
        if (edge[i].vertex[0] != VEC_NONE)
            cloth_patch_edge(&t->s, edge[i], inverse, at);
    for (uint32_t i = 0; i < p->own; i++) {
        const uint32_t v = list[i];
        vec to = at[i], was = c->now[v];
        if (!c->options.no_self && inverse[i] > 0 && q->selves[v].vertex[0] != VEC_NONE)
            to = cloth_keep_off(&q->selves[v], t->s.friction, was, to, c->now, c->before);
        q->next[v] = to;
        c->velocity[v] = vec_scale(vec_sub(to, was), 1 / t->s.h);
    }
}

static void solve(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        solve_patch(t, &t->c->quick->patches->patches[i]);
}

static void advance(cloth *c, double seconds) {
    cloth_quick *q = c->quick;
    const size_t grain = c->options.grain;
    memcpy(c->now, c->position, c->vertices * sizeof(vec));
    for (uint32_t i = 0; i < c->options.substeps; i++) {
        turn t = {.c = c, .s = cloth_substep_of(c, seconds, i)};
        double pressure = 0;
        if (c->options.pressure > 0)
            pressure = cloth_pressure_at(&t.s, cloth_volume_now(c));
        if (cloth_has_air(&t.s))
            cloth_push(c, &t.s, pressure);
        run(&t, c->vertices, grain, move);
        run(&t, q->patches->count, grain / PATCH_OWN, solve);
        vec *old = c->now;
        c->now = q->next;
        q->next = old;
    }
}

/* ---- a step ---- */

static void aim(cloth *c, const vec *solid_end, cloth_totals *totals) {
    for (uint32_t i = 0; i < c->all_vertices; i++) {
        c->aim[i] = c->end[i] =
            cloth_aim_at(i, c->vertices, c->now, c->position, solid_end, solid_end != NULL);
        if (isnan(c->aim[i].x))
            totals->odd |= i < c->vertices ? 1u : 2u;
    }
}

static abut_status leave_fields(cloth *c, double seconds, cloth_totals *totals,
                                cloth_report *report) {
    cloth_quick *q = c->quick;
    abut_radial_particles particles = cloth_quick_particles(c);
    particles.from = abut_array_host(c->position);
    particles.to = abut_array_host(c->end);
    particles.hits = abut_array_host(q->hits);
    abut_status status = abut_radial_collide(q->radial, &particles);
    if (status)
        return status;
    for (uint32_t i = 0; i < c->vertices; i++) {
        c->end[i] = cloth_settle(c->inverse_mass[i], c->position[i], c->aim[i], c->end[i], seconds,
                                 &c->velocity[i]);
        const float left = q->hits[i].left;
        if (left > 0 && bits_of((double)left) > totals->deepest)
            totals->deepest = bits_of((double)left);
    }
    report->impacts = (uint32_t)particles.hit_count;
    return ABUT_OK;
}

abut_status cloth_quick_on_cpu(cloth *c, double seconds, abut_array solid, cloth_report *report) {
    const vec *solid_end = solid.host;
    const double start = cloth_clock();
    cloth_totals totals = cloth_quick_begin(c);
    abut_status status = make_room(c);
    status = status ? status : cloth_quick_find_held(c);
    status = status ? status : search(c, &totals);
    if (status)
        return status;
    const double found = cloth_clock();
    memcpy(c->kept, c->velocity, c->vertices * sizeof *c->kept);
    cloth_place_holds(c, solid_end);
    advance(c, seconds);
    aim(c, solid_end, &totals);
    const double planned = cloth_clock();
    status = cloth_quick_fill_report(c, &totals, report);
    status = status ? status : leave_fields(c, seconds, &totals, report);
    status = status ? status : cloth_quick_fill_report(c, &totals, report);
    if (status) {
        memcpy(c->velocity, c->kept, c->vertices * sizeof *c->kept);
        return status;
    }
    memcpy(c->position, c->end, c->all_vertices * sizeof *c->position);
    report->search = found - start;
    report->dynamics = planned - found;
    report->sweep = cloth_clock() - planned;
    return ABUT_OK;
}

abut_status cloth_quick_step(cloth *c, double seconds, abut_array solid_end, cloth_report *report) {
    cloth_report totals = {.fraction = 1};
    abut_status status = c->backend->quick(c, seconds, solid_end, &totals);
    if (status)
        return status;
    cloth_finish_holds(c);
    c->solid_moved += solid_end.host || solid_end.buffer;
    *report = totals;
    return ABUT_OK;
}

/* ---- moving vertices out of the solid ---- */

static abut_status allocate_inside_queries(cloth *c) {
    cloth_quick *q = c->quick;
    if (!q->points)
        q->points = abut_context_allocate(c->context, c->vertices, sizeof *q->points);
    if (!q->queried)
        q->queried = abut_context_allocate(c->context, c->vertices, sizeof *q->queried);
    if (!q->answers)
        q->answers = abut_context_allocate(c->context, c->vertices, sizeof *q->answers);
    return q->points && q->queried && q->answers ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* Refits the BVH of the solid. It is destroyed if that fails. */
static abut_status fit_body(cloth *c) {
    cloth_quick *q = c->quick;
    if (q->body && q->body_fit == c->solid_moved)
        return ABUT_OK;
    abut_bvh_options options = abut_bvh_options_default();
    options.device = c->options.device;
    abut_mesh *mesh = NULL;
    abut_status status = cloth_mesh(c, 1, &mesh);
    if (!status && q->body)
        status = abut_bvh_set_mesh(q->body, mesh);
    else if (!status) {
        status = abut_bvh_create(mesh, &options, &q->body);
        status = status ? status : abut_sign_prepare(q->body, NULL);
    }
    abut_mesh_destroy(mesh);
    q->body_fit = c->solid_moved;
    if (status) {
        abut_bvh_destroy(q->body);
        q->body = NULL;
    }
    return status;
}

/* Moves a vertex outside if it is inside. */
static bool leave(cloth *c, uint32_t v, const abut_nearest *n, vec *at) {
    vec out = vec_sub(n->point, *at);
    double length = vec_length(out);
    if (n->triangle == ABUT_NONE || !(n->distance < 0) || !(length > 0) ||
        !(c->inverse_mass[v] > 0))
        return false;
    out = vec_scale(out, 1 / length);
    *at = vec_round(vec_along(n->point, c->options.thickness, out));
    return true;
}

/* Stores the new position of a vertex, and removes its inward velocity. */
static void settle_outside(cloth *c, uint32_t v) {
    vec way = vec_sub(c->now[v], c->position[v]);
    double sq = vec_dot(way, way), inwards = vec_dot(c->velocity[v], way);
    if (!(sq > 0))
        return;
    if (inwards < 0)
        c->velocity[v] = vec_along(c->velocity[v], -inwards / sq, way);
    c->position[v] = c->now[v];
}

/* A vertex inside two parts of a body may leave one of them first. */
enum { LEAVE_PASSES = 3 };

abut_status cloth_leave_solid(cloth *c, double depth, uint32_t *moved, double *deepest) {
    if (!c || !c->quick || !c->solid || !moved || !deepest || !(depth > 0))
        return abut_set_error(
            ABUT_ERROR_ARGUMENT,
            "cloth_leave_solid: needs a cloth with a solid and radial fields, a depth "
            "above 0, and results");
    cloth_quick *q = c->quick;
    abut_status status = allocate_inside_queries(c);
    status = status ? status : c->backend->fetch(c);
    status = status ? status : fit_body(c);
    uint32_t count = c->vertices, first = 0;
    double most = 0;
    for (uint32_t i = 0; i < count && !status; i++) {
        c->now[i] = q->points[i] = c->position[i];
        q->queried[i] = i;
    }
    for (int pass = 0; pass < LEAVE_PASSES && count && !status; pass++) {
        abut_array points = abut_array_host(q->points);
        uint32_t left = 0;
        status =
            abut_sign_nearest_batch(q->body, points, count, depth, abut_array_host(q->answers));
        for (uint32_t i = 0; i < count && !status; i++) {
            const uint32_t v = q->queried[i];
            if (!pass && q->answers[i].triangle != ABUT_NONE)
                most = fmax(most, -q->answers[i].distance);
            if (!leave(c, v, &q->answers[i], &c->now[v]))
                continue;
            q->points[left] = c->now[v];
            q->queried[left++] = v;
        }
        first = pass ? first : left;
        count = left;
    }
    if (status)
        return status;
    for (uint32_t i = 0; i < c->vertices && first; i++)
        settle_outside(c, i);
    if (first)
        c->backend->changed(c);
    *moved = first;
    *deepest = most;
    return ABUT_OK;
}
