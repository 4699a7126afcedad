/* Operations on single elements of a cloth in a substep: used by dynamics.c on the CPU and by
 * cloth.cl on a device, with the same bits.
 *
 * Constraints are those of XPBD (Macklin, Mueller, Chentanez 2016, equation 18), stored in flat
 * arrays. x are the current positions of vertices, w their inverse masses. */
#ifndef CLOTH_DYNAMICS_SHARED_H
#define CLOTH_DYNAMICS_SHARED_H

#include "vector.h"

/* ---- data ---- */

/* Constraints of one colour have no vertex in common, so threads may divide them in any way.
 * Those of the last colour, which belong to vertices with very many edges, are processed one
 * after the other. */
enum { COLOURS = 64 };

/* Keeps the length of an edge. */
typedef struct cloth_edge {
    uint32_t vertex[2];
    double rest, compliance; /* m, m/N */
} cloth_edge;

/* Keeps the bend of two triangles at their common edge: |sum k_i x_i|, which is 0 if they are
 * coplanar (Bergou et al. 2006, "A quadratic bending model for inextensible surfaces", for a
 * flat rest shape; for other rest shapes the length of that vector is kept). */
typedef struct cloth_hinge {
    uint32_t vertex[4]; /* of the edge, then the opposite ones */
    double k[4], rest, compliance;
} cloth_hinge;

/* A vertex near the solid: it stays on its side of a plane that moves with the solid. */
typedef struct cloth_touch {
    uint32_t vertex, spare;
    vec normal;          /* unit, away from the solid */
    vec point, movement; /* closest point of the solid at the start of the step, and its motion
                            during the step */
    double gap, least;   /* current distance, and distance to keep */
} cloth_touch;

/* Two features that keep a distance: the sum of weight_i x_i, from the second to the first, is
 * at least this long along the normal. Indices beyond the vertices of the cloth are those of the
 * solid. */
typedef struct cloth_near {
    uint32_t vertex[4];
    double weight[4]; /* sum 1 for the first feature, -1 for the second */
    vec normal;       /* unit, from the second to the first */
    double gap, least;
} cloth_near;

/* A vertex with a hold; see cloth_hold. */
typedef struct cloth_held {
    uint32_t vertex, triangle;
    double weight[3], offset;
    double compliance; /* m/N; 0 = pinned */
    vec from, to;      /* target at the start and end of a step */
} cloth_held;

/* Parameters of a substep. */
typedef struct cloth_substep {
    double h;        /* seconds */
    double from, to; /* fractions of the step, 0 to 1 */
    double keep;     /* factor of velocities, from damping */
    double drag;     /* the following as in cloth_options */
    double pressure; /* at the initial volume */
    double friction;
    double first_volume;
    double least_bend; /* below it a hinge has no direction */
    vec gravity, wind;
} cloth_substep;

/* ---- forces ---- */

/* Volumes are added in blocks of triangles, blocks in lanes, lanes by halves: the same sum for
 * any distribution of work. */
enum { VOLUME_BLOCK = 64, VOLUME_LANES = 256 };
/* Work-items of a group: colours have some thousand constraints, and many small groups occupy
 * more of a device. */
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

/* Boyle's law, above the outside pressure, clamped to a useful range. */
static inline double cloth_pressure_at(const cloth_substep *s, double volume) {
    double least = 0.1 * s->first_volume;
    return s->pressure * (s->first_volume / (volume < least ? least : volume));
}

/* Wind and pressure on the third of a triangle that belongs to a vertex. Air moves the cloth
 * along the normal of a triangle, and a tenth as much in its plane. */
static inline vec cloth_push_of(const cloth_substep *s, double pressure,
                                const CLOTH_GLOBAL uint32_t *v, const CLOTH_GLOBAL vec *x,
                                const CLOTH_GLOBAL vec *velocity) {
    vec a = x[v[0]], b = x[v[1]], d = x[v[2]];
    vec normal =
        vec_scale(vec_cross(vec_sub(b, a), vec_sub(d, a)), 0.5); /* its length is the area */
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

/* Returns whether wind or pressure acts on triangles. */
static inline bool cloth_has_air(const cloth_substep *s) {
    return s->drag > 0 || s->pressure > 0;
}

/* The position of a vertex after free motion from `at` under a force. */
static inline vec cloth_predicted(const cloth_substep *s, double w, vec force, vec velocity,
                                  vec at) {
    vec v = vec_along(velocity, s->h * w, force);
    if (!(w > 0))
        return at;
    v = vec_scale(vec_along(v, s->h, s->gravity), s->keep);
    return vec_along(at, s->h, v);
}

/* Moves vertex i freely; faces[begin[i]] and so on are the faces around it. */
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

/* The point of a hold on the solid. */
static inline vec cloth_place_of(const cloth_held *h, const CLOTH_GLOBAL uint32_t *solid_corners,
                                 const CLOTH_GLOBAL vec *solid) {
    const CLOTH_GLOBAL uint32_t *v = solid_corners + 3 * (size_t)h->triangle;
    vec a = solid[v[0]], ab = vec_sub(solid[v[1]], a), ac = vec_sub(solid[v[2]], a);
    vec normal = vec_cross(ab, ac);
    double length = vec_length(normal);
    vec place = vec_along(vec_along(a, h->weight[1], ab), h->weight[2], ac);
    return length > 0 ? vec_along(place, h->offset / length, normal) : place;
}

/* The target of a hold in a step from `at`, the position of its vertex. `given` are the targets
 * of the last step and of this one, for holds that are not at the solid. */
static inline void cloth_place_hold(cloth_held *h, const CLOTH_GLOBAL uint32_t *solid_corners,
                                    const CLOTH_GLOBAL vec *solid,
                                    const CLOTH_GLOBAL vec *solid_end,
                                    const CLOTH_GLOBAL vec *given, vec at) {
    bool is_given = h->triangle == VEC_NONE;
    h->to = is_given ? given[1] : cloth_place_of(h, solid_corners, solid_end);
    h->from = is_given ? given[0] : cloth_place_of(h, solid_corners, solid);
    h->from = h->compliance > 0 ? h->from : at;
}

/* The position of an attached vertex, from `at`: its target if it is pinned; otherwise a spring
 * pulls it there, by XPBD. */
static inline vec cloth_held_at(const cloth_substep *s, const CLOTH_GLOBAL cloth_held *h, double w,
                                vec at) {
    vec from = h->from, to = h->to;
    vec place = vec_along(vec_scale(from, 1 - s->to), s->to, to); /* exactly `to` at the end */
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

/* The aim of a vertex: a float. NaN if it is outside the valid range. */
static inline vec cloth_aim_of(vec to) {
    double none = NAN;
    return vec_is_near(to) ? vec_round(to) : vec_of(none, none, none);
}

/* The same for vertex i of all: the aim of a vertex of the cloth is x, that of the solid is
 * `solid_end` if it moves, otherwise its position. */
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

/* Moves the vertices x of an edge, with inverse masses w, together or apart. Returns false if
 * there is nothing to do. */
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

/* Applies a constraint to positions in any address space. */
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

/* Features that are too near separate gradually, to avoid jumps. */
static inline double cloth_distance_to_keep(double distance, double thick) {
    return distance < thick ? distance + 0.2 * (thick - distance) : thick;
}

/* Computes the touch of a vertex from its closest point on the solid. The solid's vertices move
 * from `solid` to `solid_end`. Returns false if there is none. */
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

/* Friction: reduces the motion along a surface by at most the friction coefficient times the
 * push of the surface. */
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

/* Moves the vertices of two features apart if they are too near, with friction against the
 * motion since `before`. Returns the distance moved. */
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
