/* Collision of particles with radial fields on the CPU: validation and parallel execution.
 *
 * Boxes of fields are tested several at once, by loops that compilers vectorise. */
#include "device/array.h"
#include "radial/radial.h"

enum { PARTICLE_GRAIN = 128, LIST_FIELDS = 64 };

_Static_assert(sizeof(radial_result) == sizeof(abut_radial_hit),
               "abut_radial_hit has the layout of radial_result");

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
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: %s are on a device, but the fields are on the CPU; set options->device", function,
            name);
    return abuti_array_check_plain(function, name, array);
}

/* ---- broad phase ---- */

/* The members of radial_bound and the reach of fields as arrays, for radial_may_hit(). */
enum { LO = 0, HI = 3, CENTRE = 6, MOVE = 9, TURN };
_Static_assert(TURN + 1 == RADIAL_BOUND_NUMBERS, "one array per member");

typedef struct near_scene {
    radial_scene scene;
    const float *bounds; /* RADIAL_BOUND_NUMBERS arrays of scene.count */
} near_scene;

static void store_bound_arrays(const abut_radial *r, float *to) {
    const size_t n = r->info.field_count;
    for (size_t i = 0; i < n; i++) {
        const radial_bound *b = &r->bounds[i];
        const float reach = radial_as_float(r->marks[i].reach);
        for (size_t k = 0; k < 3; k++) {
            to[(LO + k) * n + i] = b->lo[k] - reach * b->side[k];
            to[(HI + k) * n + i] = b->hi[k] + reach * b->side[k];
            to[(CENTRE + k) * n + i] = b->centre[k];
        }
        to[MOVE * n + i] = b->move;
        to[TURN * n + i] = b->turn;
    }
}

/* Tests whether a path may hit `count` fields from `first` on. */
static void test_boxes(const near_scene *s, const radial_path_box *way, bool moves, size_t first,
                       size_t count, uint32_t *may_hit) {
    const size_t n = s->scene.count;
    const float *b = s->bounds + first;
    const float lx = way->lo[0], ly = way->lo[1], lz = way->lo[2];
    const float hx = way->hi[0], hy = way->hi[1], hz = way->hi[2];
    const float still = moves ? 0 : -INFINITY; /* the motion of fields does not count */
    for (size_t i = 0; i < count; i++) {
        const float x0 = b[CENTRE * n + i] - lx, x1 = hx - b[CENTRE * n + i];
        const float y0 = b[(CENTRE + 1) * n + i] - ly, y1 = hy - b[(CENTRE + 1) * n + i];
        const float z0 = b[(CENTRE + 2) * n + i] - lz, z1 = hz - b[(CENTRE + 2) * n + i];
        const float away = (x0 > x1 ? x0 : x1) + (y0 > y1 ? y0 : y1) + (z0 > z1 ? z0 : z1);
        const float moved = b[MOVE * n + i] + b[TURN * n + i] * away + still;
        const float pad = way->pad + (moved > 0 ? moved : 0);
        may_hit[i] = (lx - pad <= b[HI * n + i]) & (b[LO * n + i] <= hx + pad) &
                     (ly - pad <= b[(HI + 1) * n + i]) & (b[(LO + 1) * n + i] <= hy + pad) &
                     (lz - pad <= b[(HI + 2) * n + i]) & (b[(LO + 2) * n + i] <= hz + pad);
    }
}

/* Lists those of at most LIST_FIELDS fields from `first` on that a path may hit, ascending. */
static uint32_t find_near_fields(const near_scene *s, const radial_path_box *way, bool moves,
                                 uint32_t first, uint32_t list[LIST_FIELDS]) {
    const uint32_t left = s->scene.count - first, count = left < LIST_FIELDS ? left : LIST_FIELDS;
    uint32_t may_hit[LIST_FIELDS], found = 0;
    test_boxes(s, way, moves, first, count, may_hit);
    for (uint32_t i = 0; i < count; i++) {
        list[found] = first + i;
        found += may_hit[i];
    }
    return found;
}

/* ---- one particle ---- */

/* The field that is hit first, or ABUT_NONE. */
static uint32_t find_first_hit(const near_scene *near, const radial_collision_options *order,
                               const radial_mover *m, radial_entry *found) {
    const radial_scene *s = &near->scene;
    const float radius = radial_float(order->radius);
    const radial_path_box way = radial_path_box_of(s, m->begin, m->to, order->radius);
    uint32_t field = ABUT_NONE, list[LIST_FIELDS];
    found->time = 2;
    for (uint32_t first = 0; first < s->count; first += LIST_FIELDS) {
        const uint32_t count = find_near_fields(near, &way, m->round == 0, first, list);
        for (uint32_t k = 0; k < count; k++) {
            const radial_body body = radial_body_of(s, list[k]);
            radial_path path;
            radial_entry entry;
            if (radial_find_path(s, &body, list[k], m, radius, &path) &&
                radial_walk_path(&body, &path, radius, &entry) && entry.time < found->time) {
                *found = entry;
                field = list[k];
            }
        }
    }
    return field;
}

/* The field in which a particle is deepest; its field is ABUT_NONE if there is none. */
static radial_exit find_deepest_field(const near_scene *near, const radial_collision_options *order,
                                      vec3 at) {
    const radial_scene *s = &near->scene;
    const radial_path_box way = radial_path_box_of(s, at, at, order->radius);
    radial_exit e = {0, ABUT_NONE, {0, 0, 0}}, other;
    uint32_t list[LIST_FIELDS];
    for (uint32_t first = 0; first < s->count; first += LIST_FIELDS) {
        const uint32_t count = find_near_fields(near, &way, false, first, list);
        for (uint32_t k = 0; k < count; k++)
            if (radial_find_exit(s, order, at, list[k], &other) && other.height < e.height)
                e = other;
    }
    return e;
}

/* Moves a particle from `from`, relative to the previous frames, to `to`, which is corrected. On a
 * device several work-items share a particle: radial.cl. */
static radial_result collide_particle(const near_scene *near, const radial_collision_options *order,
                                      vec3 from, vec3 *to) {
    const radial_scene *s = &near->scene;
    radial_mover m = radial_mover_of(from, *to);
    while (m.round < RADIAL_ROUNDS) {
        radial_entry met = {.time = 1.0f};
        const uint32_t field = find_first_hit(near, order, &m, &met);
        if (field == ABUT_NONE) { /* then it is inside none either */
            *to = m.to;
            return m.result;
        }
        radial_respond_to_hit(s, order, field, &met, &m);
    }
    /* moves it out of fields that still contain it */
    for (int round = 0; round <= RADIAL_PROJECTIONS; round++) {
        const radial_exit e = find_deepest_field(near, order, m.to);
        m.result.left = -e.height * (float)s->unit;
        if (e.field == ABUT_NONE || round == RADIAL_PROJECTIONS)
            break;
        m.to = v3_add(m.to, radial_out(&s->now[e.field], e.shift, s->unit));
    }
    *to = m.to;
    return m.result;
}

/* ---- all particles ---- */

typedef struct collide_work {
    near_scene near;
    const radial_collision_options *order;
    const abut_radial_particles *particles;
    atomic_ullong hit_count, odd_count;
} collide_work;

static void collide_task(void *data, size_t chunk, size_t begin, size_t end) {
    collide_work *w = data;
    const vec3 *from = w->particles->from.host;
    vec3 *to = w->particles->to.host;
    abut_radial_hit *hits = w->particles->hits.host;
    unsigned long long hit_count = 0, odd_count = 0;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        radial_result result = {ABUT_NONE, 1, {0, 0, 0}, 0};
        if (!radial_is_in_range(from[i]) || !radial_is_in_range(to[i]))
            odd_count++;
        else
            result = collide_particle(&w->near, w->order, from[i], &to[i]);
        hit_count += result.field != ABUT_NONE;
        if (hits)
            memcpy(&hits[i], &result, sizeof result);
    }
    if (hit_count)
        atomic_fetch_add_explicit(&w->hit_count, hit_count, memory_order_relaxed);
    if (odd_count)
        atomic_fetch_add_explicit(&w->odd_count, odd_count, memory_order_relaxed);
}

abut_status abuti_radial_collide_host(abut_radial *r, const radial_collision_options *order,
                                      abut_radial_particles *p) {
    collide_work w = {.near = {abuti_radial_scene(r), r->bound_lists},
                      .order = order,
                      .particles = p};
    store_bound_arrays(r, r->bound_lists);
    abuti_parallel_for(r->context, p->count, PARTICLE_GRAIN, collide_task, &w);
    p->hit_count = atomic_load(&w.hit_count);
    p->odd_count = atomic_load(&w.odd_count);
    return ABUT_OK;
}

abut_status abuti_radial_read_particles(const char *function, const abut_radial *radial,
                                        const abut_radial_particles *particles,
                                        abut_radial_particles *p, radial_collision_options *order) {
    *p = abut_radial_particles_default();
    abut_status status = abuti_options_read(p, sizeof *p, particles, "abut_radial_particles");
    if (!status && !(p->radius >= 0 && p->radius <= ABUT_COORDINATE_MAX))
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: particles->radius is %g; it must be finite and at least 0",
                            function, p->radius);
    if (!status && !(p->friction >= 0 && p->friction <= 1))
        status =
            abuti_fail(ABUT_ERROR_ARGUMENT, "%s: particles->friction is %g; it must be from 0 to 1",
                       function, p->friction);
    if (!status && p->count)
        status = check_array(function, "from", radial, p->from);
    if (!status && p->count)
        status = check_array(function, "to", radial, p->to);
    if (!status && p->hits.buffer)
        status = check_array(function, "hits", radial, p->hits);
    if (status)
        return status;
    *order =
        (radial_collision_options){.radius = p->radius / radial->unit, .friction = p->friction};
    p->hit_count = p->odd_count = 0;
    return ABUT_OK;
}

abut_status abut_radial_collide(abut_radial *radial, abut_radial_particles *particles) {
    abut_radial_particles p;
    radial_collision_options order;
    if (!radial || !particles)
        return abuti_null(__func__, radial ? "particles" : "radial");
    abut_status status = abuti_radial_read_particles(__func__, radial, particles, &p, &order);
    if (!status && p.count)
        status = radial->backend->collide(radial, &order, &p);
    if (!status) {
        particles->hit_count = p.hit_count;
        particles->odd_count = p.odd_count;
    }
    return status;
}
