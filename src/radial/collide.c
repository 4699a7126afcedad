/* Particles against radial fields on the CPU: checks, and all threads.
 *
 * Particles that follow each other in a list are often neighbours in space: a block of them asks
 * all fields once, and each of them the fields that the block may meet. Of the places of a way most
 * are in the same cell, whose planes are found once; a way that stays above them takes two. */
#include "radial/radial.h"

enum { PARTICLE_GRAIN = 128, BLOCK = 16, LIST = 128, STEPS_DEFAULT = 8, STEPS_MAX = 4096 };

_Static_assert(sizeof(radial_result) == sizeof(abut_radial_hit), "hits are results");

static const char *const walk_names[] = {"steps", "every-cell"};

const char *abut_radial_walk_name(abut_radial_walk walk) {
    return ABUTI_NAME(walk_names, walk);
}

radial_scene abuti_radial_scene(const abut_radial *r) {
    return (radial_scene){.fields = r->fields,
                          .now = r->frames[0],
                          .before = r->frames[1],
                          .bounds = r->bounds,
                          .marks = r->marks,
                          .radii = r->radii,
                          .turns = r->turns,
                          .middle = r->middle,
                          .unit = r->unit,
                          .each = 1 / r->unit,
                          .count = r->info.field_count};
}

static abut_status check_array(const char *function, const char *name, const abut_radial *r,
                               abut_array array) {
    if (!array.host && !array.buffer)
        return abuti_null(function, name);
    if (array.buffer && !r->device)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s are on a device, and the fields on the CPU",
                          function, name);
    return ABUT_OK;
}

/* ---- fields that are near ---- */

/* The fields that ways within a box may meet. */
typedef struct near_fields {
    radial_way box;
    uint32_t count;
    uint32_t list[LIST]; /* ascending */
    bool all;            /* there are too many to list */
} near_fields;

/* Joins boxes. */
static void add_way(radial_way *box, const radial_way *way) {
    for (int k = 0; k < 3; k++) {
        box->lo[k] = fminf(box->lo[k], way->lo[k]);
        box->hi[k] = fmaxf(box->hi[k], way->hi[k]);
    }
    box->pad = fmaxf(box->pad, way->pad);
}

static void find_near(const radial_scene *s, near_fields *near, bool moves) {
    near->count = 0;
    near->all = false;
    for (uint32_t i = 0; i < s->count && !near->all; i++) {
        if (!radial_may_meet(s, i, &near->box, moves))
            continue;
        near->all = near->count == LIST;
        if (!near->all)
            near->list[near->count++] = i;
    }
}

static bool has_way(const near_fields *near, const radial_way *way) {
    bool has = way->pad <= near->box.pad;
    for (int k = 0; k < 3; k++)
        has = has && near->box.lo[k] <= way->lo[k] && way->hi[k] <= near->box.hi[k];
    return has;
}

/* ---- one particle ---- */

/* Tries the places of a way one after the other, as radial_try() does; the cell of the last place
 * is kept. */
static bool try_steps(const radial_body *b, const radial_path *p, const radial_order *order,
                      float radius, radial_entry *found) {
    radial_cell cell;
    memset(&cell, 0, sizeof cell);
    if (radial_stays_above(b, p, radius, &cell))
        return false;
    for (uint32_t k = 0; k <= order->steps; k++) {
        const double t = radial_time(k, order->steps, order->by);
        float q[3];
        radial_plane plane;
        if (t < p->from || t > p->to)
            continue;
        radial_at(p, t, q);
        if (!radial_keeps(b, &cell, q, radial_across(q)) && !radial_find_cell(b, q, &cell))
            continue;
        if (!cell.has || radial_is_beyond(&cell.corners, q[0], q[1], radius) ||
            !radial_need_planes(b, &cell))
            continue;
        const float up = (q[2] - (float)cell.row) * b->step;
        if (radial_height(&cell.planes, q[0], q[1], up, &plane) < radius) {
            radial_enter(found, plane, cell.row, (float)t, q[0], q[1], up);
            return true;
        }
    }
    return false;
}

/* The field that is met first, or ABUT_NONE. */
static uint32_t find_entry(const radial_scene *s, const radial_order *order,
                           const near_fields *near, const radial_mover *m, radial_entry *found) {
    const float radius = radial_float(order->radius);
    const radial_way way = radial_way_of(s, m->begin, m->to, order->radius);
    const bool listed = !near->all && has_way(near, &way);
    const uint32_t count = listed ? near->count : s->count;
    uint32_t field = ABUT_NONE;
    found->time = 2;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = listed ? near->list[k] : k;
        radial_path path;
        radial_entry entry;
        if (!radial_may_meet(s, i, &way, m->round == 0))
            continue;
        const radial_body body = radial_body_of(s, i);
        if (!radial_find_path(s, &body, i, m, radius, &path))
            continue;
        const bool met = order->steps ? try_steps(&body, &path, order, radius, &entry)
                                      : radial_walk_path(&body, &path, radius, &entry);
        if (met && entry.time < found->time) {
            *found = entry;
            field = i;
        }
    }
    return field;
}

/* The field that a particle is in deepest; that of `e` is ABUT_NONE where there is none. */
static radial_exit find_exit(const radial_scene *s, const radial_order *order,
                             const near_fields *near, vec3 at) {
    const radial_way way = radial_way_of(s, at, at, order->radius);
    const bool listed = !near->all && has_way(near, &way);
    const uint32_t count = listed ? near->count : s->count;
    radial_exit e = {0, ABUT_NONE, {0, 0, 0}}, other;
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = listed ? near->list[k] : k;
        if (radial_may_meet(s, i, &way, 0) && radial_find_exit(s, order, at, i, &other) &&
            other.height < e.height)
            e = other;
    }
    return e;
}

/* A particle from `from`, where it was with the frames before, to `to`, which is changed. On a
 * device several work-items share it: radial.cl. */
static radial_result collide(const radial_scene *s, const radial_order *order,
                             const near_fields *near, vec3 from, vec3 *to) {
    radial_mover m = radial_mover_of(from, *to);
    while (m.round < RADIAL_ROUNDS) {
        radial_entry met;
        const uint32_t field = find_entry(s, order, near, &m, &met);
        if (field == ABUT_NONE) { /* then it is inside of none either */
            *to = m.to;
            return m.result;
        }
        radial_answer(s, order, field, &met, &m);
    }
    /* out of what it is still in */
    for (int round = 0; round <= RADIAL_PROJECTIONS; round++) {
        const radial_exit e = find_exit(s, order, near, m.to);
        m.result.left = -e.height * (float)s->unit;
        if (e.field == ABUT_NONE || round == RADIAL_PROJECTIONS)
            break;
        m.to = v3_add(m.to, radial_out(&s->now[e.field], e.shift, s->unit));
    }
    *to = m.to;
    return m.result;
}

/* ---- all of them ---- */

typedef struct collide_work {
    radial_scene scene;
    const radial_order *order;
    const abut_radial_particles *particles;
    atomic_ullong hit_count, odd_count;
} collide_work;

static bool is_odd(vec3 p) {
    return !(fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
             fabs(p.z) <= ABUT_COORDINATE_MAX);
}

/* The fields near a block of particles. The box is wider by the longest way, since particles that
 * meet a field go on from elsewhere. */
static void find_near_block(const collide_work *w, size_t begin, size_t end, near_fields *near) {
    const vec3 *from = w->particles->from.host, *to = w->particles->to.host;
    float longest = 0;
    near->box = (radial_way){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, 0};
    for (size_t i = begin; i < end; i++) {
        if (is_odd(from[i]) || is_odd(to[i]))
            continue;
        const radial_way way = radial_way_of(&w->scene, from[i], to[i], w->order->radius);
        for (int k = 0; k < 3; k++)
            longest = fmaxf(longest, way.hi[k] - way.lo[k]);
        add_way(&near->box, &way);
    }
    for (int k = 0; k < 3; k++) {
        near->box.lo[k] -= longest;
        near->box.hi[k] += longest;
    }
    near->box.pad *= 1.1f;
    find_near(&w->scene, near, true);
}

static void collide_block(collide_work *w, size_t begin, size_t end) {
    const vec3 *from = w->particles->from.host;
    vec3 *to = w->particles->to.host;
    abut_radial_hit *hits = w->particles->hits.host;
    unsigned long long hit_count = 0, odd_count = 0;
    near_fields near;
    find_near_block(w, begin, end, &near);
    for (size_t i = begin; i < end; i++) {
        radial_result result = {ABUT_NONE, 1, {0, 0, 0}, 0};
        if (is_odd(from[i]) || is_odd(to[i]))
            odd_count++;
        else
            result = collide(&w->scene, w->order, &near, from[i], &to[i]);
        hit_count += result.field != ABUT_NONE;
        if (hits)
            memcpy(&hits[i], &result, sizeof result);
    }
    if (hit_count)
        atomic_fetch_add_explicit(&w->hit_count, hit_count, memory_order_relaxed);
    if (odd_count)
        atomic_fetch_add_explicit(&w->odd_count, odd_count, memory_order_relaxed);
}

static void collide_task(void *data, size_t chunk, size_t begin, size_t end) {
    (void)chunk;
    for (size_t i = begin; i < end; i += BLOCK)
        collide_block(data, i, end - i < BLOCK ? end : i + BLOCK);
}

abut_status abuti_radial_collide_host(abut_radial *r, const radial_order *order,
                                      abut_radial_particles *p) {
    collide_work w = {.scene = abuti_radial_scene(r), .order = order, .particles = p};
    abuti_parallel_for(r->context, p->count, PARTICLE_GRAIN, collide_task, &w);
    p->hit_count = atomic_load(&w.hit_count);
    p->odd_count = atomic_load(&w.odd_count);
    return ABUT_OK;
}

abut_status abuti_radial_order(const char *function, const abut_radial *radial,
                               const abut_radial_particles *particles, abut_radial_particles *p,
                               radial_order *order) {
    *p = abut_radial_particles_default();
    abut_status status = abuti_options_read(p, sizeof *p, particles, "abut_radial_particles");
    if (!status && !(p->radius >= 0 && p->radius <= ABUT_COORDINATE_MAX))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: radius is %g; it must be 0 or more", function,
                            p->radius);
    if (!status && !(p->friction >= 0 && p->friction <= 1))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: friction is %g; it must be from 0 to 1",
                            function, p->friction);
    if (!status && (unsigned)p->walk > ABUT_RADIAL_WALK_EVERY_CELL)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: there is no walk %d", function, (int)p->walk);
    if (!status && p->steps > STEPS_MAX)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %u steps are asked for; %d are the most",
                            function, p->steps, STEPS_MAX);
    if (!status && p->count)
        status = check_array(function, "from", radial, p->from);
    if (!status && p->count)
        status = check_array(function, "to", radial, p->to);
    if (!status && p->hits.buffer)
        status = check_array(function, "hits", radial, p->hits);
    if (status)
        return status;
    const uint32_t steps = p->walk == ABUT_RADIAL_WALK_EVERY_CELL ? 0
                           : p->steps                             ? p->steps
                                                                  : STEPS_DEFAULT;
    *order = (radial_order){.radius = p->radius / radial->unit,
                            .friction = p->friction,
                            .by = steps ? 1.0 / steps : 0,
                            .steps = steps};
    p->hit_count = p->odd_count = 0;
    return ABUT_OK;
}

abut_status abut_radial_collide(abut_radial *radial, abut_radial_particles *particles) {
    abut_radial_particles p;
    radial_order order;
    if (!radial || !particles)
        return abuti_null(__func__, radial ? "particles" : "radial");
    abut_status status = abuti_radial_order(__func__, radial, particles, &p, &order);
    if (!status && p.count)
        status = radial->backend->collide(radial, &order, &p);
    if (!status) {
        particles->hit_count = p.hit_count;
        particles->odd_count = p.odd_count;
    }
    return status;
}
