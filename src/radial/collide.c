/* Particles against radial fields: checks, and all threads. */
#include "radial/radial.h"

enum { PARTICLE_GRAIN = 256, STEPS_DEFAULT = 8, STEPS_MAX = 4096 };

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

typedef struct collide_work {
    radial_scene scene;
    const radial_order *order;
    const abut_radial_particles *particles;
    uint64_t (*counts)[2]; /* of each chunk: hits, odd ones */
} collide_work;

static bool is_odd(vec3 p) {
    return !(fabs(p.x) <= ABUT_COORDINATE_MAX && fabs(p.y) <= ABUT_COORDINATE_MAX &&
             fabs(p.z) <= ABUT_COORDINATE_MAX);
}

static void collide_task(void *data, size_t chunk, size_t begin, size_t end) {
    const collide_work *w = data;
    const vec3 *from = w->particles->from.host;
    vec3 *to = w->particles->to.host;
    abut_radial_hit *hits = w->particles->hits.host;
    uint64_t *counts = w->counts[chunk];
    counts[0] = counts[1] = 0;
    for (size_t i = begin; i < end; i++) {
        radial_result result = {ABUT_NONE, 1, {0, 0, 0}, 0};
        if (is_odd(from[i]) || is_odd(to[i]))
            counts[1]++;
        else
            result = radial_collide(&w->scene, w->order, from[i], &to[i]);
        counts[0] += result.field != ABUT_NONE;
        if (hits)
            memcpy(&hits[i], &result, sizeof result);
    }
}

abut_status abuti_radial_collide_host(abut_radial *r, const radial_order *order,
                                      abut_radial_particles *p) {
    collide_work w = {abuti_radial_scene(r), order, p, NULL};
    const size_t chunks = abuti_chunk_count(p->count, PARTICLE_GRAIN);
    w.counts = abuti_allocate(r->context, chunks, sizeof *w.counts);
    if (!w.counts)
        return ABUT_ERROR_MEMORY;
    abuti_parallel_for(r->context, p->count, PARTICLE_GRAIN, collide_task, &w);
    for (size_t i = 0; i < chunks; i++) {
        p->hit_count += w.counts[i][0];
        p->odd_count += w.counts[i][1];
    }
    abuti_release(r->context, w.counts);
    return ABUT_OK;
}

abut_status abut_radial_collide(abut_radial *radial, abut_radial_particles *particles) {
    if (!radial || !particles)
        return abuti_null(__func__, radial ? "particles" : "radial");
    abut_radial_particles p = abut_radial_particles_default();
    abut_status status = abuti_options_read(&p, sizeof p, particles, "abut_radial_particles");
    if (!status && !(p.radius >= 0 && p.radius <= ABUT_COORDINATE_MAX))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: radius is %g; it must be 0 or more", __func__,
                            p.radius);
    if (!status && !(p.friction >= 0 && p.friction <= 1))
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: friction is %g; it must be from 0 to 1",
                            __func__, p.friction);
    if (!status && (unsigned)p.walk > ABUT_RADIAL_WALK_EVERY_CELL)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: there is no walk %d", __func__, (int)p.walk);
    if (!status && p.steps > STEPS_MAX)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %u steps are asked for; %d are the most",
                            __func__, p.steps, STEPS_MAX);
    if (!status && p.count)
        status = check_array(__func__, "from", radial, p.from);
    if (!status && p.count)
        status = check_array(__func__, "to", radial, p.to);
    if (!status && p.hits.buffer)
        status = check_array(__func__, "hits", radial, p.hits);
    if (status)
        return status;
    const radial_order order = {p.radius, (float)p.friction,
                                p.walk == ABUT_RADIAL_WALK_EVERY_CELL ? 0
                                : p.steps                             ? p.steps
                                                                      : STEPS_DEFAULT};
    p.hit_count = p.odd_count = 0;
    if (p.count)
        status = radial->backend->collide(radial, &order, &p);
    if (!status) {
        particles->hit_count = p.hit_count;
        particles->odd_count = p.odd_count;
    }
    return status;
}
