/* The motion of a cloth without collisions.
 *
 * Extended position-based dynamics with one pass over all constraints in each of many short
 * substeps (Macklin et al. 2019, "Small steps in physics simulation"), so multipliers are not
 * stored. Constraints are coloured: the order of those that share a vertex is fixed, and with it
 * every bit of the result. dynamics_shared.h has the operations on single constraints. */
#include "parts.h"

typedef struct turn {
    cloth *c;
    cloth_substep s;
    double pressure;
    uint32_t first; /* of a colour */
} turn;

static void run(const turn *t, size_t count, void (*body)(void *, size_t, size_t, size_t)) {
    abut_context_parallel_for(t->c->context, count, t->c->options.grain, body,
                              (void *)(uintptr_t)t);
}

cloth_substep cloth_substep_of(const cloth *c, double seconds, uint32_t i) {
    const cloth_options *o = &c->options;
    double count = o->substeps;
    cloth_substep s = {.h = seconds / count,
                       .from = i / count,
                       .to = (i + 1.0) / count,
                       .drag = o->drag,
                       .pressure = o->pressure,
                       .friction = o->friction,
                       .first_volume = c->first_volume,
                       .least_bend = 1e-9 * c->mean_edge,
                       .gravity = o->gravity,
                       .wind = o->wind};
    s.keep = 1 / (1 + o->damping * s.h);
    return s;
}

/* ---- forces ---- */

static void add_volume(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        c->sums[i] = cloth_block_volume(c->indices, c->triangles, c->now, (uint32_t)i);
}

static double volume_of(const turn *t) {
    uint32_t blocks = cloth_volume_blocks(t->c);
    double lanes[VOLUME_LANES];
    abut_context_parallel_for(t->c->context, blocks, t->c->options.grain / VOLUME_BLOCK + 1,
                              add_volume, (void *)(uintptr_t)t);
    for (uint32_t i = 0; i < VOLUME_LANES; i++)
        lanes[i] = cloth_lane_volume(t->c->sums, blocks, i);
    for (uint32_t half = VOLUME_LANES / 2; half; half /= 2)
        for (uint32_t i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

double cloth_volume_now(cloth *c) {
    turn t = {.c = c};
    return volume_of(&t);
}

void cloth_measure_volume(cloth *c) {
    memcpy(c->now, c->position, c->vertices * sizeof(vec));
    double volume = fabs(cloth_volume_now(c));
    c->first_volume = volume > 0 ? volume : 1;
}

static void push_triangles(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        c->push[i] = cloth_push_of(&t->s, t->pressure, c->indices + 3 * i, c->now, c->velocity);
}

void cloth_push(cloth *c, const cloth_substep *s, double pressure) {
    const turn t = {.c = c, .s = *s, .pressure = pressure};
    run(&t, c->triangles, push_triangles);
}

static void predict(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        cloth_predict(&t->s, (uint32_t)i, c->inverse_mass[i], c->view.vertex_face_begin,
                      c->view.vertex_faces, c->push, c->velocity, c->now, c->before);
}

/* ---- constraints and contacts ---- */

static void hold_edges(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = t->first + begin; i < t->first + end; i++)
        cloth_hold_edge(&t->s, c->edges[i], c->inverse_mass, c->now);
}

static void hold_hinges(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = t->first + begin; i < t->first + end; i++)
        cloth_hold_hinge(&t->s, c->hinges[i], c->inverse_mass, c->now);
}

static void hold_nears(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = t->first + begin; i < t->first + end; i++)
        cloth_hold_near(&c->nears[i], t->s.friction, c->inverse_mass, c->now, c->before);
}

static void hold_held(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        cloth_hold_held(&t->s, &c->held[i], c->inverse_mass, c->now);
}

static void hold_touches(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        cloth_hold_touch(&t->s, &c->touches[i], c->inverse_mass, c->now, c->before);
}

static void by_colour(turn *t, const cloth_colours *colours,
                      void (*body)(void *, size_t, size_t, size_t)) {
    for (uint32_t k = 0; k < colours->count; k++) {
        size_t count = colours->begin[k + 1] - colours->begin[k];
        t->first = colours->begin[k];
        if (k == COLOURS - 1)
            body(t, 0, 0, count);
        else
            run(t, count, body);
    }
}

/* ---- step ---- */

static void fit_velocity(void *data, size_t chunk, size_t begin, size_t end) {
    const turn *t = data;
    cloth *c = t->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        c->velocity[i] = vec_scale(vec_sub(c->now[i], c->before[i]), 1 / t->s.h);
}

void cloth_advance(cloth *c, double seconds) {
    memcpy(c->now, c->position, c->vertices * sizeof(vec));
    for (uint32_t i = 0; i < c->options.substeps; i++) {
        turn t = {.c = c, .s = cloth_substep_of(c, seconds, i)};
        if (c->options.pressure > 0)
            t.pressure = cloth_pressure_at(&t.s, volume_of(&t));
        if (cloth_has_air(&t.s))
            cloth_push(c, &t.s, t.pressure);
        run(&t, c->vertices, predict);
        run(&t, c->held_count, hold_held);
        by_colour(&t, &c->hinge_colours, hold_hinges);
        by_colour(&t, &c->edge_colours, hold_edges);
        by_colour(&t, &c->near_colours, hold_nears);
        run(&t, c->touch_count, hold_touches);
        run(&t, c->vertices, fit_velocity);
    }
}
