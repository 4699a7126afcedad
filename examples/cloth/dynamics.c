/* How a cloth moves as long as nothing is in its way.
 *
 * Extended position-based dynamics (Macklin, Mueller, Chentanez 2016, "XPBD", equation 18) with one
 * pass over all constraints in each of many short substeps (Macklin et al. 2019, "Small steps in
 * physics simulation"), so that no multipliers are kept. Constraints are coloured: the order of
 * those that share a vertex is fixed, and with it every bit of the result.
 */
#include "parts.h"

typedef struct substep {
    cloth *c;
    double h;        /* seconds */
    double from, to; /* of the step, 0 to 1 */
    double keep;     /* of velocities, by damping */
    double pressure;
    uint32_t first; /* of a colour */
} substep;

static void run(const substep *s, size_t count, void (*body)(void *, size_t, size_t, size_t)) {
    abut_context_parallel_for(s->c->context, count, s->c->options.grain, body,
                              (void *)(uintptr_t)s);
}

/* ---- forces ---- */

/* Wind and pressure on the third of a triangle that a vertex stands for. Air moves the cloth along
 * the normal of a triangle, and a tenth as much along its plane. */
static vec push_of(const substep *s, const uint32_t *v) {
    const cloth *c = s->c;
    vec a = c->now[v[0]], b = c->now[v[1]], d = c->now[v[2]];
    vec normal = vec_scale(vec_cross(vec_sub(b, a), vec_sub(d, a)), 0.5); /* as long as the area */
    double area = vec_length(normal);
    if (!(area > 0))
        return vec_of(0, 0, 0);
    vec flow = c->options.wind;
    for (int k = 0; k < 3; k++)
        flow = vec_along(flow, -1.0 / 3, c->velocity[v[k]]);
    vec unit = vec_scale(normal, 1 / area);
    double across = vec_dot(flow, unit);
    vec along = vec_along(flow, -across, unit);
    vec force = vec_scale(unit, c->options.drag * area * across);
    force = vec_along(force, 0.1 * c->options.drag * area, along);
    force = vec_along(force, s->pressure, normal);
    return vec_scale(force, 1.0 / 3);
}

static void add_volume(void *data, size_t chunk, size_t begin, size_t end) {
    const substep *s = data;
    double sum = 0;
    vec origin = s->c->now[0];
    for (size_t t = begin; t < end; t++) {
        const uint32_t *v = s->c->indices + 3 * t;
        vec a = vec_sub(s->c->now[v[0]], origin), b = vec_sub(s->c->now[v[1]], origin),
            d = vec_sub(s->c->now[v[2]], origin);
        sum += vec_dot(a, vec_cross(b, d)) / 6;
    }
    s->c->sums[chunk] = sum;
}

static double volume_of(const substep *s) {
    double volume = 0;
    size_t grain = s->c->options.grain;
    run(s, s->c->triangles, add_volume);
    for (size_t i = 0; i < (s->c->triangles + grain - 1) / grain; i++)
        volume += s->c->sums[i];
    return volume;
}

static void push_triangles(void *data, size_t chunk, size_t begin, size_t end) {
    const substep *s = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++)
        s->c->push[t] = push_of(s, s->c->indices + 3 * t);
}

/* `before` gets the forces for a moment. */
static void gather_forces(void *data, size_t chunk, size_t begin, size_t end) {
    const substep *s = data;
    cloth *c = s->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec force = {0, 0, 0};
        for (uint32_t k = c->view.vertex_face_begin[i]; k < c->view.vertex_face_begin[i + 1]; k++)
            force = vec_add(force, c->push[c->view.vertex_faces[k]]);
        c->before[i] = force;
    }
}

static void no_forces(void *data, size_t chunk, size_t begin, size_t end) {
    const substep *s = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        s->c->before[i] = vec_of(0, 0, 0);
}

static void predict(void *data, size_t chunk, size_t begin, size_t end) {
    const substep *s = data;
    cloth *c = s->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        double w = c->inverse_mass[i];
        vec v = vec_along(c->velocity[i], s->h * w, c->before[i]);
        c->before[i] = c->now[i];
        if (w > 0) {
            v = vec_scale(vec_along(v, s->h, c->options.gravity), s->keep);
            c->now[i] = vec_along(c->now[i], s->h, v);
        }
    }
}

/* ---- constraints ---- */

static void hold_edges(void *data, size_t chunk, size_t begin, size_t end) {
    const substep *s = data;
    cloth *c = s->c;
    vec *x = c->now;
    (void)chunk;
    for (size_t i = s->first + begin; i < s->first + end; i++) {
        const cloth_edge *e = &c->edges[i];
        uint32_t a = e->vertex[0], b = e->vertex[1];
        double wa = c->inverse_mass[a], wb = c->inverse_mass[b];
        vec d = vec_sub(x[b], x[a]);
        double length = vec_length(d);
        if (!(wa + wb > 0) || !(length > 0))
            continue;
        double lambda = (length - e->rest) / (wa + wb + e->compliance / (s->h * s->h)) / length;
        x[a] = vec_along(x[a], wa * lambda, d);
        x[b] = vec_along(x[b], -wb * lambda, d);
    }
}

static void hold_hinges(void *data, size_t chunk, size_t begin, size_t end) {
    const substep *s = data;
    cloth *c = s->c;
    vec *x = c->now;
    (void)chunk;
    for (size_t i = s->first + begin; i < s->first + end; i++) {
        const cloth_hinge *g = &c->hinges[i];
        vec sum = {0, 0, 0};
        double weight = g->compliance / (s->h * s->h);
        for (int k = 0; k < 4; k++) {
            sum = vec_along(sum, g->k[k], x[g->vertex[k]]);
            weight += c->inverse_mass[g->vertex[k]] * g->k[k] * g->k[k];
        }
        double length = vec_length(sum);
        if (!(length > 1e-9 * c->mean_edge) || !(weight > 0))
            continue;
        double lambda = (length - g->rest) / weight / length;
        for (int k = 0; k < 4; k++) {
            double w = c->inverse_mass[g->vertex[k]];
            x[g->vertex[k]] = vec_along(x[g->vertex[k]], -lambda * w * g->k[k], sum);
        }
    }
}

static void by_colour(substep *s, const cloth_colours *colours,
                      void (*body)(void *, size_t, size_t, size_t)) {
    for (uint32_t k = 0; k < colours->count; k++) {
        size_t count = colours->begin[k + 1] - colours->begin[k];
        s->first = colours->begin[k];
        if (k == COLOURS - 1)
            body(s, 0, 0, count);
        else
            run(s, count, body);
    }
}

/* ---- contacts ---- */

/* Takes away motion along a surface: at most friction times what the surface pushed. */
static vec rub(vec slip, vec normal, double pushed, double friction) {
    slip = vec_along(slip, -vec_dot(slip, normal), normal);
    double length = vec_length(slip), most = friction * pushed;
    return length > most ? vec_scale(slip, most / length) : slip;
}

static void hold_touches(void *data, size_t chunk, size_t begin, size_t end) {
    const substep *s = data;
    cloth *c = s->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const cloth_touch *t = &c->touches[i];
        vec *x = &c->now[t->vertex];
        vec point = vec_along(t->point, s->to, t->movement);
        double off = t->least - vec_dot(vec_sub(*x, point), t->normal);
        if (!(off > 0) || !(c->inverse_mass[t->vertex] > 0))
            continue;
        *x = vec_along(*x, off, t->normal);
        vec slip = vec_along(vec_sub(*x, c->before[t->vertex]), s->from - s->to, t->movement);
        *x = vec_sub(*x, rub(slip, t->normal, off, c->options.friction));
    }
}

double cloth_hold_apart(const cloth *c, const cloth_near *n, vec *x, const vec *before) {
    vec gap = {0, 0, 0}, slip = {0, 0, 0};
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t v = n->vertex[k];
        gap = vec_along(gap, n->weight[k], x[v]);
        slip = vec_along(slip, n->weight[k], vec_sub(x[v], before[v]));
        sum += n->weight[k] * n->weight[k] * c->inverse_mass[v];
    }
    double off = n->least - vec_dot(gap, n->normal);
    if (!(off > 0) || !(sum > 0))
        return 0;
    vec push = vec_scale(n->normal, off);
    push = vec_sub(push, rub(slip, n->normal, off, c->options.friction));
    for (int k = 0; k < 4; k++) {
        uint32_t v = n->vertex[k];
        x[v] = vec_along(x[v], c->inverse_mass[v] * n->weight[k] / sum, push);
    }
    return off;
}

/* ---- the whole ---- */

static void fit_velocity(void *data, size_t chunk, size_t begin, size_t end) {
    const substep *s = data;
    cloth *c = s->c;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        c->velocity[i] = vec_scale(vec_sub(c->now[i], c->before[i]), 1 / s->h);
}

static void take_substep(substep *s) {
    cloth *c = s->c;
    if (c->options.pressure > 0) {
        double volume = volume_of(s);
        if (!(c->first_volume > 0))
            c->first_volume = fabs(volume) > 0 ? fabs(volume) : 1;
        /* the law of Boyle, over that outside, within what is of use */
        double ratio = c->first_volume / fmax(volume, 0.1 * c->first_volume);
        s->pressure = c->options.pressure * ratio;
    }
    if (c->options.drag > 0 || c->options.pressure > 0) {
        run(s, c->triangles, push_triangles);
        run(s, c->vertices, gather_forces);
    } else {
        run(s, c->vertices, no_forces);
    }
    run(s, c->vertices, predict);
    by_colour(s, &c->hinge_colours, hold_hinges);
    by_colour(s, &c->edge_colours, hold_edges);
    for (uint32_t i = 0; i < c->near_count; i++) /* few, and they share vertices */
        cloth_hold_apart(c, &c->nears[i], c->now, c->before);
    run(s, c->touch_count, hold_touches);
    run(s, c->vertices, fit_velocity);
}

void cloth_advance(cloth *c, double seconds) {
    uint32_t count = c->options.substeps;
    memcpy(c->now, c->position, c->vertices * sizeof(vec));
    for (uint32_t i = 0; i < count; i++) {
        substep s = {.c = c,
                     .h = seconds / count,
                     .from = (double)i / count,
                     .to = (double)(i + 1) / count};
        s.keep = 1 / (1 + c->options.damping * s.h);
        take_substep(&s);
    }
}
