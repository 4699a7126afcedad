/* Collision of particles with radial fields on the CPU: validation and parallel execution.
 *
 * Boxes of fields are tested several at once, by loops that compilers vectorise. */
#include "device/array.h"
#include "radial/radial.h"

#include "radial/particle_shared.h"

enum { PARTICLE_GRAIN = 128 };

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
                          .count = r->info.field_count,
                          .bound_lists = r->bound_lists};
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

/* The members of radial_bound and the reach of fields as arrays, RADIAL_BOUND_NUMBERS of them. */
enum { LO = 0, HI = 3, CENTRE = 6, MOVE = 9, TURN };
_Static_assert(TURN + 1 == RADIAL_BOUND_NUMBERS, "one array per member");

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
static void test_boxes(const radial_scene *s, const radial_path_box *way, bool moves, size_t first,
                       size_t count, uint32_t *may_hit) {
    const size_t n = s->count;
    const float *b = s->bound_lists + first;
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

static word32 radial_find_near_fields(const radial_scene *s, const radial_path_box *way, bool moves,
                                      word32 first, word32 list[RADIAL_LIST]) {
    const uint32_t left = s->count - first, count = left < RADIAL_LIST ? left : RADIAL_LIST;
    uint32_t may_hit[RADIAL_LIST], found = 0;
    test_boxes(s, way, moves, first, count, may_hit);
    for (uint32_t i = 0; i < count; i++) {
        list[found] = first + i;
        found += may_hit[i];
    }
    return found;
}

/* ---- all particles ---- */

typedef struct collide_work {
    radial_scene scene;
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
            result = radial_collide_particle(&w->scene, w->order, from[i], &to[i]);
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
    collide_work w = {.scene = abuti_radial_scene(r), .order = order, .particles = p};
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
