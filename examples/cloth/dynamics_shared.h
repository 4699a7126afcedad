/* How one piece of a cloth moves in a substep: what dynamics.c does on the CPU and cloth.cl on a
 * device, bit for bit the same.
 *
 * Constraints are those of XPBD (Macklin, Mueller, Chentanez 2016, equation 18). Kept in flat
 * arrays; x is where vertices are now, w their inverse masses.
 */
#ifndef CLOTH_DYNAMICS_SHARED_H
#define CLOTH_DYNAMICS_SHARED_H

#include "vector.h"

/* ---- what there is ---- */

/* Constraints of one colour have no vertex in common, so that the threads may share them out in any
 * way. Those of the last colour are done one after the other: what is left of vertices with very
 * many edges. */
enum { COLOURS = 64 };

/* Keeps the length of an edge. */
typedef struct cloth_edge {
    uint32_t vertex[2];
    double rest, compliance; /* m, m/N */
} cloth_edge;

/* Keeps the bend of two triangles at their common edge: |sum k_i x_i|, which is 0 where they are in
 * one plane (Bergou et al. 2006, "A quadratic bending model for inextensible surfaces", where the
 * rest shape is flat; keeping the length of that vector is what it becomes where it is not). */
typedef struct cloth_hinge {
    uint32_t vertex[4]; /* of the edge, then opposite */
    double k[4], rest, compliance;
} cloth_hinge;

/* A vertex next to the solid: it stays on its side of a plane that moves with the solid. */
typedef struct cloth_touch {
    uint32_t vertex, spare;
    vec normal;          /* unit, away from the solid */
    vec point, movement; /* of the solid next to it: at the start of the step, and over it */
    double gap, least;   /* distance that it has, and that it is to keep */
} cloth_touch;

/* Two features that keep apart: sum of weight_i x_i, from the second to the first, is at least this
 * long along the normal. Vertices beyond those of the cloth are the solid's. */
typedef struct cloth_near {
    uint32_t vertex[4];
    double weight[4]; /* 1 in all for the first feature, -1 for the second */
    vec normal;       /* unit, from the second to the first */
    double gap, least;
} cloth_near;

/* A vertex that is held; see cloth_hold. */
typedef struct cloth_held {
    uint32_t vertex, triangle;
    double weight[3], offset;
    double compliance; /* m/N; 0 = pinned */
    vec from, to;      /* where it is held when a step begins and ends */
} cloth_held;

/* What is the same everywhere in a substep. */
typedef struct cloth_substep {
    double h;        /* seconds */
    double from, to; /* of the step, 0 to 1 */
    double keep;     /* of velocities, by damping */
    double drag;     /* these as in cloth_options */
    double pressure; /* at the first volume */
    double friction;
    double first_volume;
    double least_bend; /* below it a hinge has no direction */
    vec gravity, wind;
} cloth_substep;

/* ---- forces ---- */

/* Volumes are added in blocks of triangles, blocks in lanes, lanes by halves: the same sum whoever
 * adds which. */
enum { VOLUME_BLOCK = 64, VOLUME_LANES = 256 };
/* Work-items of a group: colours have some thousand constraints, and many small groups use more of
 * a device. */
enum { CLOTH_GROUP = 64 };

static inline double cloth_block_volume(const CLOTH_GLOBAL uint32_t *corners, uint32_t triangles,
                                        const CLOTH_GLOBAL vec *x, uint32_t block) {
    uint32_t begin = block * VOLUME_BLOCK;
    uint32_t end = triangles - begin < VOLUME_BLOCK ? triangles : begin + VOLUME_BLOCK;
    vec origin = x[0];
    double sum = 0;
    for (uint32_t t = begin; t < end; t++) {
        const CLOTH_GLOBAL uint32_t *v = corners + 3 * (size_t)t;
        vec a = vec_sub(x[v[0]], origin), b = vec_sub(x[v[1]], origin),
            d = vec_sub(x[v[2]], origin);
        sum += vec_dot(a, vec_cross(b, d)) / 6;
    }
    return sum;
}

static inline double cloth_lane_volume(const CLOTH_GLOBAL double *sums, uint32_t blocks,
                                       uint32_t lane) {
    uint32_t each = (blocks + VOLUME_LANES - 1) / VOLUME_LANES;
    double sum = 0;
    for (uint32_t i = lane * each; i < (lane + 1) * each && i < blocks; i++)
        sum += sums[i];
    return sum;
}

/* The law of Boyle, over that outside, within what is of use. */
static inline double cloth_pressure_at(const cloth_substep *s, double volume) {
    double least = 0.1 * s->first_volume;
    return s->pressure * (s->first_volume / (volume < least ? least : volume));
}

/* Wind and pressure on the third of a triangle that a vertex stands for. Air moves the cloth along
 * the normal of a triangle, and a tenth as much along its plane. */
static inline vec cloth_push_of(const cloth_substep *s, double pressure,
                                const CLOTH_GLOBAL uint32_t *v, const CLOTH_GLOBAL vec *x,
                                const CLOTH_GLOBAL vec *velocity) {
    vec a = x[v[0]], b = x[v[1]], d = x[v[2]];
    vec normal = vec_scale(vec_cross(vec_sub(b, a), vec_sub(d, a)), 0.5); /* as long as the area */
    double area = vec_length(normal);
    if (!(area > 0))
        return vec_of(0, 0, 0);
    vec flow = s->wind;
    for (int k = 0; k < 3; k++)
        flow = vec_along(flow, -1.0 / 3, velocity[v[k]]);
    vec unit = vec_scale(normal, 1 / area);
    double across = vec_dot(flow, unit);
    vec along = vec_along(flow, -across, unit);
    vec force = vec_scale(unit, s->drag * area * across);
    force = vec_along(force, 0.1 * s->drag * area, along);
    force = vec_along(force, pressure, normal);
    return vec_scale(force, 1.0 / 3);
}

/* Whether triangles push at all. */
static inline bool cloth_has_air(const cloth_substep *s) {
    return s->drag > 0 || s->pressure > 0;
}

/* Where a vertex goes from `at` if nothing holds it, with a force. */
static inline vec cloth_predicted(const cloth_substep *s, double w, vec force, vec velocity,
                                  vec at) {
    vec v = vec_along(velocity, s->h * w, force);
    if (!(w > 0))
        return at;
    v = vec_scale(vec_along(v, s->h, s->gravity), s->keep);
    return vec_along(at, s->h, v);
}

/* Moves vertex i there; faces[begin[i]] and so on are those around it. */
static inline void cloth_predict(const cloth_substep *s, uint32_t i, double w,
                                 const CLOTH_GLOBAL uint32_t *begin,
                                 const CLOTH_GLOBAL uint32_t *faces, const CLOTH_GLOBAL vec *push,
                                 const CLOTH_GLOBAL vec *velocity, CLOTH_GLOBAL vec *x,
                                 CLOTH_GLOBAL vec *before) {
    vec force = vec_of(0, 0, 0);
    for (uint32_t k = begin[i]; k < begin[i + 1] && cloth_has_air(s); k++)
        force = vec_add(force, push[faces[k]]);
    before[i] = x[i];
    x[i] = cloth_predicted(s, w, force, velocity[i], x[i]);
}

/* ---- holds ---- */

/* The place of a hold on the solid. */
static inline vec cloth_place_of(const cloth_held *h, const CLOTH_GLOBAL uint32_t *solid_corners,
                                 const CLOTH_GLOBAL vec *solid) {
    const CLOTH_GLOBAL uint32_t *v = solid_corners + 3 * (size_t)h->triangle;
    vec a = solid[v[0]], ab = vec_sub(solid[v[1]], a), ac = vec_sub(solid[v[2]], a);
    vec normal = vec_cross(ab, ac);
    double length = vec_length(normal);
    vec place = vec_along(vec_along(a, h->weight[1], ab), h->weight[2], ac);
    return length > 0 ? vec_along(place, h->offset / length, normal) : place;
}

/* Where a hold goes in a step from `at`, where its vertex is: `given` are the places of the last
 * step and of this one, for those that are not at the solid. */
static inline void cloth_place_hold(cloth_held *h, const CLOTH_GLOBAL uint32_t *solid_corners,
                                    const CLOTH_GLOBAL vec *solid,
                                    const CLOTH_GLOBAL vec *solid_end,
                                    const CLOTH_GLOBAL vec *given, vec at) {
    bool is_given = h->triangle == VEC_NONE;
    h->to = is_given ? given[1] : cloth_place_of(h, solid_corners, solid_end);
    h->from = is_given ? given[0] : cloth_place_of(h, solid_corners, solid);
    h->from = h->compliance > 0 ? h->from : at;
}

/* Where a held vertex goes from `at`: straight to its place where it is pinned; else it is drawn to
 * it, by XPBD. */
static inline vec cloth_held_at(const cloth_substep *s, const CLOTH_GLOBAL cloth_held *h, double w,
                                vec at) {
    vec from = h->from, to = h->to;
    vec place = vec_along(vec_scale(from, 1 - s->to), s->to, to); /* `to` itself at the end */
    double pull = 1, compliance = h->compliance;
    if (compliance > 0)
        pull = w / (w + compliance / (s->h * s->h));
    return pull < 1 ? vec_along(at, pull, vec_sub(place, at)) : place;
}

static inline void cloth_hold_held(const cloth_substep *s, const CLOTH_GLOBAL cloth_held *h,
                                   const CLOTH_GLOBAL double *w, CLOTH_GLOBAL vec *x) {
    x[h->vertex] = cloth_held_at(s, h, w[h->vertex], x[h->vertex]);
}

/* ---- constraints ---- */

/* Where a vertex is about to go: a float. NaN where that is beyond all bounds. */
static inline vec cloth_aim_of(vec to) {
    double none = NAN;
    return vec_is_near(to) ? vec_round(to) : vec_of(none, none, none);
}

/* The same of vertex i of all: those of the cloth go to x, those of the solid behind them to
 * `solid_end` if it moves, else they stay. */
static inline vec cloth_aim_at(uint32_t i, uint32_t vertices, const CLOTH_GLOBAL vec *x,
                               const CLOTH_GLOBAL vec *start, const CLOTH_GLOBAL vec *solid_end,
                               bool solid_moves) {
    vec to = start[i];
    if (i < vertices)
        to = x[i];
    else if (solid_moves)
        to = solid_end[i - vertices];
    return cloth_aim_of(to);
}

/* The vertices x of an edge, of inverse masses w, are drawn together or apart. False where nothing
 * is to be done. */
static inline bool cloth_pull_edge(const cloth_substep *s, const cloth_edge *e, const double *w,
                                   vec *x) {
    vec d = vec_sub(x[1], x[0]);
    double length = vec_length(d);
    if (!(w[0] + w[1] > 0) || !(length > 0))
        return false;
    double lambda = (length - e->rest) / (w[0] + w[1] + e->compliance / (s->h * s->h)) / length;
    x[0] = vec_along(x[0], w[0] * lambda, d);
    x[1] = vec_along(x[1], -w[1] * lambda, d);
    return true;
}

/* The same for the four vertices of a hinge. */
static inline bool cloth_pull_hinge(const cloth_substep *s, const cloth_hinge *g, const double *w,
                                    vec *x) {
    vec sum = vec_of(0, 0, 0);
    double weight = g->compliance / (s->h * s->h);
    for (int k = 0; k < 4; k++) {
        sum = vec_along(sum, g->k[k], x[k]);
        weight += w[k] * g->k[k] * g->k[k];
    }
    double length = vec_length(sum);
    if (!(length > s->least_bend) || !(weight > 0))
        return false;
    double lambda = (length - g->rest) / weight / length;
    for (int k = 0; k < 4; k++)
        x[k] = vec_along(x[k], -lambda * w[k] * g->k[k], sum);
    return true;
}

/* What a constraint does to positions, in any memory. */
#define CLOTH_HOLD(name, type, corners, pull, space)                                               \
    static inline void name(const cloth_substep *s, type c, const space double *w, space vec *x) { \
        double some_w[corners];                                                                    \
        vec some_x[corners];                                                                       \
        for (int k = 0; k < corners; k++) {                                                        \
            some_w[k] = w[c.vertex[k]];                                                            \
            some_x[k] = x[c.vertex[k]];                                                            \
        }                                                                                          \
        if (pull(s, &c, some_w, some_x))                                                           \
            for (int k = 0; k < corners; k++)                                                      \
                x[c.vertex[k]] = some_x[k];                                                        \
    }
CLOTH_HOLD(cloth_hold_edge, cloth_edge, 2, cloth_pull_edge, CLOTH_GLOBAL)
CLOTH_HOLD(cloth_hold_hinge, cloth_hinge, 4, cloth_pull_hinge, CLOTH_GLOBAL)

/* ---- contacts ---- */

/* What is too near moves away by and by, so that it does not jump. */
static inline double cloth_distance_to_keep(double distance, double thick) {
    return distance < thick ? distance + 0.2 * (thick - distance) : thick;
}

/* The touch of a vertex, from the point of the solid next to it. The solid's vertices go from
 * `solid` to `solid_end`. False where there is none. */
static inline bool cloth_touch_of(const CLOTH_GLOBAL vec_nearest *n, uint32_t vertex, vec at,
                                  double thickness, const CLOTH_GLOBAL uint32_t *solid_corners,
                                  const CLOTH_GLOBAL vec *solid, const CLOTH_GLOBAL vec *solid_end,
                                  cloth_touch *touch) {
    double distance = n->distance;
    if (n->triangle == VEC_NONE || !(distance > 0))
        return false;
    touch->vertex = vertex;
    touch->spare = 0;
    touch->point = n->point;
    touch->normal = vec_scale(vec_sub(at, touch->point), 1 / distance);
    touch->gap = distance;
    touch->least = cloth_distance_to_keep(distance, thickness);
    touch->movement = vec_of(0, 0, 0);
    for (int k = 0; k < 3; k++) {
        uint32_t v = solid_corners[3 * (size_t)n->triangle + (size_t)k];
        touch->movement =
            vec_along(touch->movement, n->barycentric[k], vec_sub(solid_end[v], solid[v]));
    }
    return true;
}

/* Takes away motion along a surface: at most friction times what the surface pushed. */
static inline vec cloth_rub(vec slip, vec normal, double pushed, double friction) {
    slip = vec_along(slip, -vec_dot(slip, normal), normal);
    double length = vec_length(slip), most = friction * pushed;
    return length > most ? vec_scale(slip, most / length) : slip;
}

static inline void cloth_hold_touch(const cloth_substep *s, const CLOTH_GLOBAL cloth_touch *t,
                                    const CLOTH_GLOBAL double *w, CLOTH_GLOBAL vec *x,
                                    const CLOTH_GLOBAL vec *before) {
    uint32_t v = t->vertex;
    vec at = x[v], normal = t->normal, movement = t->movement;
    vec point = vec_along(t->point, s->to, movement);
    double off = t->least - vec_dot(vec_sub(at, point), normal);
    if (!(off > 0) || !(w[v] > 0))
        return;
    at = vec_along(at, off, normal);
    vec slip = vec_along(vec_sub(at, before[v]), s->from - s->to, movement);
    x[v] = vec_sub(at, cloth_rub(slip, normal, off, s->friction));
}

/* Moves the vertices of two features apart where they are too near, with friction against the
 * motion since `before`. Tells how far. */
static inline double cloth_hold_near(const CLOTH_GLOBAL cloth_near *n, double friction,
                                     const CLOTH_GLOBAL double *w, CLOTH_GLOBAL vec *x,
                                     const CLOTH_GLOBAL vec *before) {
    vec gap = vec_of(0, 0, 0), slip = vec_of(0, 0, 0), normal = n->normal;
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t v = n->vertex[k];
        gap = vec_along(gap, n->weight[k], x[v]);
        slip = vec_along(slip, n->weight[k], vec_sub(x[v], before[v]));
        sum += n->weight[k] * n->weight[k] * w[v];
    }
    double off = n->least - vec_dot(gap, normal);
    if (!(off > 0) || !(sum > 0))
        return 0;
    vec push = vec_scale(normal, off);
    push = vec_sub(push, cloth_rub(slip, normal, off, friction));
    for (int k = 0; k < 4; k++) {
        uint32_t v = n->vertex[k];
        x[v] = vec_along(x[v], w[v] * n->weight[k] / sum, push);
    }
    return off;
}

#endif
