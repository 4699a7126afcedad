/* A substep of a cloth, in operations on single elements: C and OpenCL C, with the same bits.
 *
 * Constraints are those of XPBD (Macklin, Mueller, Chentanez 2016, equation 18), with one pass over
 * all of them in each of many short substeps (Macklin et al. 2019, "Small steps in physics
 * simulation"), so that multipliers are not stored.
 *
 * The cloth is divided into patches of some hundred vertices. A patch copies its own vertices and
 * those that its constraints refer to, applies all of these constraints round by round, and stores
 * only its own vertices (restricted additive Schwarz: Cai, Sarkis 1999). So constraints that two
 * patches share are applied by both, each to its own copies. A work-group solves a patch in local
 * memory, and a substep has two launches, and one per pass over contacts. With one launch per
 * colour of constraints it had some twenty-five, which took longer than the work.
 *
 * Constraints that patches share come first, all in the same order. So two patches compute the same
 * motion from them, and momentum is conserved, except at corners of three patches. In any other
 * order a ball under pressure propels itself.
 *
 * Contacts follow constraints: a vertex stays on its side of a plane that moves with the solid, and
 * keeps a distance from the face of the cloth that was nearest to it at the start of the step,
 * among those that are not near it at rest. Vertex and face move by half each, all at once
 * (Jacobi). Contacts guarantee nothing: that does collide.c. x are the current positions of
 * vertices, w their inverse masses. */
#ifndef CLOTH_SOLVER_SHARED_H
#define CLOTH_SOLVER_SHARED_H

#include "vector.h"

/* ---- data ---- */

/* Largest number of own vertices of a patch; work-items of a patch, which is also the largest
 * number of constraints per round; largest number of vertices including copies, on devices. */
enum { PATCH_OWN = 128, PATCH_LANES = 64, PATCH_ALL = 1024 };
/* Work-items of the other groups; those that search for the face of a vertex: at least the number
 * of cells around it. */
enum { CLOTH_GROUP = 64, CELL_LANES = 32 };

/* Passes over contacts of the cloth with itself. */
enum { CONTACT_PASSES = 3 };

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
    uint32_t is_near, spare; /* the others are defined if it is near */
    vec normal;              /* unit, away from the solid */
    vec point, movement;     /* closest point of the solid at the start of the step, and its motion
                                during the step */
    double least;            /* distance to keep */
} cloth_touch;

/* A vertex near the cloth: it keeps a distance from a point of a face. */
typedef struct cloth_self {
    uint32_t vertex[3]; /* of the face; the first is VEC_NONE if there is none */
    uint32_t spare;
    double weight[3];
    vec normal;   /* unit, towards the vertex */
    double least; /* distance to keep */
} cloth_self;

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
    uint32_t has_holds, has_touches, has_selves;
    uint32_t passes; /* over contacts; an odd number */
} cloth_substep;

/* Rounds of hinges, then of edges that several patches share, then the same for inner ones;
 * PATCH_LANES slots each. Unused slots have no first vertex. Vertex indices of constraints are
 * local to the patch. */
typedef struct cloth_patch {
    uint32_t first, own, all; /* in the list of vertices: its own, then the others */
    uint32_t first_slot[4], rounds[4];
} cloth_patch;

/* Totals of a step over all vertices. */
typedef struct cloth_totals {
    uint32_t deepest;  /* bits of a float that is not negative, which are ordered as floats are */
    uint32_t thinnest; /* the same */
    uint32_t contacts;
    uint32_t odd; /* 1: a vertex of the cloth is outside the valid range, 2: of the solid */
} cloth_totals;

/* ---- forces ---- */

/* Volumes are added in blocks of triangles, blocks in lanes, lanes by halves: the same sum for
 * any distribution of work. */
enum { VOLUME_BLOCK = 64, VOLUME_LANES = 256 };
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

/* ---- constraints ---- */

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

/* Applies a constraint to the positions of a patch. */
#define CLOTH_HOLD(name, type, corners, pull)                                            \
    static inline void name(const cloth_substep *s, type c, const CLOTH_LOCAL double *w, \
                            CLOTH_LOCAL vec *x) {                                        \
        double some_w[corners];                                                          \
        vec some_x[corners];                                                             \
        for (int k = 0; k < corners; k++) {                                              \
            some_w[k] = w[c.vertex[k]];                                                  \
            some_x[k] = x[c.vertex[k]];                                                  \
        }                                                                                \
        if (pull(s, &c, some_w, some_x))                                                 \
            for (int k = 0; k < corners; k++)                                            \
                x[c.vertex[k]] = some_x[k];                                              \
    }
CLOTH_HOLD(cloth_hold_edge, cloth_edge, 2, cloth_pull_edge)
CLOTH_HOLD(cloth_hold_hinge, cloth_hinge, 4, cloth_pull_hinge)

/* ---- contacts ---- */

/* Features that are too near separate gradually, to avoid jumps. */
static inline double cloth_distance_to_keep(double distance, double thick) {
    return distance < thick ? distance + 0.2 * (thick - distance) : thick;
}

/* Computes the touch of a vertex from its closest point on the solid. The solid's vertices move
 * from `solid` to `solid_end`. Returns its distance; the range if it touches nothing. */
static inline double cloth_touch_of(const CLOTH_GLOBAL vec_nearest *n, vec at, double thickness,
                                    double range, const CLOTH_GLOBAL uint32_t *solid_corners,
                                    const CLOTH_GLOBAL vec *solid,
                                    const CLOTH_GLOBAL vec *solid_end, cloth_touch *touch) {
    double distance = n->distance;
    touch->is_near = n->triangle != VEC_NONE && distance > 0;
    if (!touch->is_near)
        return range;
    touch->spare = 0;
    touch->point = n->point;
    touch->normal = vec_scale(vec_sub(at, touch->point), 1 / distance);
    touch->least = cloth_distance_to_keep(distance, thickness);
    touch->movement = vec_of(0, 0, 0);
    for (int k = 0; k < 3; k++) {
        uint32_t v = solid_corners[3 * (size_t)n->triangle + (size_t)k];
        touch->movement =
            vec_along(touch->movement, n->barycentric[k], vec_sub(solid_end[v], solid[v]));
    }
    return distance < range ? distance : range;
}

/* Friction: reduces the motion along a surface by at most the friction coefficient times the
 * push of the surface. */
static inline vec cloth_rub(vec slip, vec normal, double pushed, double friction) {
    slip = vec_along(slip, -vec_dot(slip, normal), normal);
    double length = vec_length(slip), most = friction * pushed;
    return length > most ? vec_scale(slip, most / length) : slip;
}

/* The position of a vertex that stays on its side of the plane. It moves from `was` to `at`. */
static inline vec cloth_keep_touch(const cloth_substep *s, const cloth_touch *t, vec was, vec at) {
    vec point = vec_along(t->point, s->to, t->movement);
    double off = t->least - vec_dot(vec_sub(at, point), t->normal);
    if (!(off > 0))
        return at;
    at = vec_along(at, off, t->normal);
    vec slip = vec_along(vec_sub(at, was), s->from - s->to, t->movement);
    return vec_sub(at, cloth_rub(slip, t->normal, off, s->friction));
}

static inline vec vec_mix(vec a, vec b, vec c, const double *weight) {
    return vec_along(vec_along(vec_scale(a, weight[0]), weight[1], b), weight[2], c);
}

/* The motion of vertex v relative to its face that a contact requires: apart, with friction. In
 * the substep both sides have moved from `before` to `now`. */
static inline vec cloth_push_apart(const cloth_self *self, uint32_t v, double friction,
                                   const CLOTH_GLOBAL vec *before, const CLOTH_GLOBAL vec *now) {
    const uint32_t a = self->vertex[0], b = self->vertex[1], c = self->vertex[2];
    const vec gap = vec_sub(now[v], vec_mix(now[a], now[b], now[c], self->weight));
    const double off = self->least - vec_dot(gap, self->normal);
    if (!(off > 0))
        return vec_of(0, 0, 0);
    vec was = vec_sub(before[v], vec_mix(before[a], before[b], before[c], self->weight));
    vec slip = cloth_rub(vec_sub(gap, was), self->normal, off, friction);
    return vec_sub(vec_scale(self->normal, off), slip);
}

/* The position of vertex v that keeps its distance from the cloth. Each side of a contact moves by
 * half of what it requires, and a vertex by the mean of its contacts: that with its own face, and
 * those of faces that it is a corner of, by its weight in them. These are a linked list of 3 u + k
 * for corner k of the face of vertex u, in ascending order, so that the sum has the same bits
 * everywhere. */
static inline vec cloth_keep_apart(double friction, uint32_t v,
                                   const CLOTH_GLOBAL cloth_self *selves,
                                   const CLOTH_GLOBAL uint32_t *heads,
                                   const CLOTH_GLOBAL uint32_t *chain,
                                   const CLOTH_GLOBAL vec *before, const CLOTH_GLOBAL vec *now) {
    vec sum = vec_of(0, 0, 0);
    double shares = 1;
    if (selves[v].vertex[0] != VEC_NONE) {
        cloth_self self = selves[v];
        sum = cloth_push_apart(&self, v, friction, before, now);
    }
    for (uint32_t i = heads[v]; i != VEC_NONE; i = chain[i]) {
        cloth_self self = selves[i / 3];
        const double share = self.weight[i % 3];
        sum = vec_along(sum, -share, cloth_push_apart(&self, i / 3, friction, before, now));
        shares += share;
    }
    return vec_along(now[v], 0.5 / shares, sum);
}

/* ---- search for faces of the cloth ---- */

/* Parameters of the search. */
typedef struct cloth_search {
    double cell;      /* of the grid: corners of a face that is in range are not further away */
    double range;     /* distance at which a face is near */
    double rest;      /* faces with a corner as near at rest are excluded */
    double thickness; /* distance to keep */
    uint32_t mask;    /* number of buckets, a power of two, minus one */
    uint32_t spare;
} cloth_search;

static inline int cloth_cell_of(double at, double cell) {
    double number = floor(at / cell);
    return (int)(number < -1e9 ? -1e9 : number > 1e9 ? 1e9 : number);
}

static inline uint32_t cloth_bucket(int x, int y, int z, uint32_t mask) {
    uint32_t h = (uint32_t)x * 73856093u ^ (uint32_t)y * 19349663u ^ (uint32_t)z * 83492791u;
    return (h ^ h >> 15) & mask;
}

static inline uint32_t cloth_bucket_at(vec at, const cloth_search *s) {
    return cloth_bucket(cloth_cell_of(at.x, s->cell), cloth_cell_of(at.y, s->cell),
                        cloth_cell_of(at.z, s->cell), s->mask);
}

static inline void cloth_weigh(double a, double b, double c, double *weight) {
    weight[0] = a;
    weight[1] = b;
    weight[2] = c;
}

/* The closest point of a triangle to p, as weights of its corners (Ericson 2005, section 5.1.5). */
static inline void cloth_nearest_weights(vec p, vec a, vec b, vec c, double *weight) {
    vec ab = vec_sub(b, a), ac = vec_sub(c, a), ap = vec_sub(p, a), bp = vec_sub(p, b),
        cp = vec_sub(p, c);
    double d1 = vec_dot(ab, ap), d2 = vec_dot(ac, ap), d3 = vec_dot(ab, bp), d4 = vec_dot(ac, bp),
           d5 = vec_dot(ab, cp), d6 = vec_dot(ac, cp);
    double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    double sum = va + vb + vc;
    if (d1 <= 0 && d2 <= 0)
        cloth_weigh(1, 0, 0, weight);
    else if (d3 >= 0 && d4 <= d3)
        cloth_weigh(0, 1, 0, weight);
    else if (d6 >= 0 && d5 <= d6)
        cloth_weigh(0, 0, 1, weight);
    else if (vc <= 0 && d1 >= 0 && d3 <= 0)
        cloth_weigh(1 - d1 / (d1 - d3), d1 / (d1 - d3), 0, weight);
    else if (vb <= 0 && d2 >= 0 && d6 <= 0)
        cloth_weigh(1 - d2 / (d2 - d6), 0, d2 / (d2 - d6), weight);
    else if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
        double t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        cloth_weigh(0, 1 - t, t, weight);
    } else if (sum > 0)
        cloth_weigh(va / sum, vb / sum, vc / sum, weight);
    else
        cloth_weigh(1, 0, 0, weight);
}

static inline bool cloth_is_within(vec a, vec b, double distance) {
    vec d = vec_sub(a, b);
    return vec_dot(d, d) <= distance * distance;
}

/* The nearest face so far of a vertex. */
typedef struct cloth_found {
    double sq;
    uint32_t face;
    double weight[3];
} cloth_found;

/* Tests the faces around vertex u for vertex v. Of two equally near faces the lower index
 * counts, so that the order does not matter. */
static inline void cloth_try_faces(const cloth_search *s, uint32_t v, uint32_t u,
                                   const CLOTH_GLOBAL uint32_t *corners,
                                   const CLOTH_GLOBAL uint32_t *begin,
                                   const CLOTH_GLOBAL uint32_t *faces, const CLOTH_GLOBAL vec *rest,
                                   const CLOTH_GLOBAL vec *x, cloth_found *best) {
    vec at = x[v], at_rest = rest[v];
    for (uint32_t k = begin[u]; k < begin[u + 1]; k++) {
        uint32_t face = faces[k];
        const CLOTH_GLOBAL uint32_t *c = corners + 3 * (size_t)face;
        if (cloth_is_within(rest[c[0]], at_rest, s->rest) ||
            cloth_is_within(rest[c[1]], at_rest, s->rest) ||
            cloth_is_within(rest[c[2]], at_rest, s->rest))
            continue;
        double weight[3];
        vec p = x[c[0]], q = x[c[1]], r = x[c[2]];
        if ((u != c[0] && cloth_is_within(p, at, s->cell)) ||
            (u == c[2] && cloth_is_within(q, at, s->cell)))
            continue; /* already tested through an earlier corner */
        cloth_nearest_weights(at, p, q, r, weight);
        vec off = vec_sub(at, vec_mix(p, q, r, weight));
        double sq = vec_dot(off, off);
        if (!(sq < best->sq || (sq == best->sq && face < best->face)))
            continue;
        best->sq = sq;
        best->face = face;
        cloth_weigh(weight[0], weight[1], weight[2], best->weight);
    }
}

/* Cells around a vertex, including its own. */
enum { CLOTH_CELLS = 27 };

static inline cloth_found cloth_found_none(const cloth_search *s) {
    cloth_found none;
    none.sq = s->range * s->range;
    none.face = VEC_NONE;
    cloth_weigh(0, 0, 0, none.weight);
    return none;
}

/* Tests the faces near vertex v in one of the cells around it. Vertices of a bucket are a linked
 * list, last inserted first. */
static inline void
cloth_search_cell(const cloth_search *s, uint32_t v, int cell, const CLOTH_GLOBAL uint32_t *heads,
                  const CLOTH_GLOBAL uint32_t *chain, const CLOTH_GLOBAL uint32_t *corners,
                  const CLOTH_GLOBAL uint32_t *begin, const CLOTH_GLOBAL uint32_t *faces,
                  const CLOTH_GLOBAL vec *rest, const CLOTH_GLOBAL vec *x, cloth_found *best) {
    vec at = x[v], at_rest = rest[v];
    const int cx = cloth_cell_of(at.x, s->cell) + cell % 3 - 1,
              cy = cloth_cell_of(at.y, s->cell) + cell / 3 % 3 - 1,
              cz = cloth_cell_of(at.z, s->cell) + cell / 9 - 1;
    for (uint32_t u = heads[cloth_bucket(cx, cy, cz, s->mask)]; u != VEC_NONE; u = chain[u])
        if (cloth_is_within(x[u], at, s->cell) && !cloth_is_within(rest[u], at_rest, s->rest))
            cloth_try_faces(s, v, u, corners, begin, faces, rest, x, best);
}

/* The face of vertex v, from the nearest of all cells. A face that is near at rest may stay as
 * near. Returns its distance; the range if there is none. */
static inline double cloth_self_of(const cloth_search *s, uint32_t v, const cloth_found *best,
                                   const CLOTH_GLOBAL uint32_t *corners,
                                   const CLOTH_GLOBAL vec *rest, const CLOTH_GLOBAL vec *x,
                                   cloth_self *self) {
    self->vertex[0] = VEC_NONE;
    if (best->face == VEC_NONE || !(best->sq > 0))
        return s->range;
    double distance = sqrt(best->sq);
    for (int k = 0; k < 3; k++) {
        self->vertex[k] = corners[3 * (size_t)best->face + (size_t)k];
        self->weight[k] = best->weight[k];
    }
    self->spare = 0;
    const uint32_t a = self->vertex[0], b = self->vertex[1], c = self->vertex[2];
    self->normal = vec_scale(vec_sub(x[v], vec_mix(x[a], x[b], x[c], self->weight)), 1 / distance);
    double apart = vec_length(vec_sub(rest[v], vec_mix(rest[a], rest[b], rest[c], self->weight)));
    self->least = cloth_distance_to_keep(distance, apart < s->thickness ? apart : s->thickness);
    return distance;
}

/* ---- the ends of a substep and of a step ---- */

/* The position of a vertex that keeps its contacts. x are the positions at the start of the
 * substep, `now` those after constraints or the last pass. */
static inline vec cloth_keep_contacts(const cloth_substep *s, uint32_t v, double w,
                                      const CLOTH_GLOBAL cloth_self *selves,
                                      const CLOTH_GLOBAL uint32_t *heads,
                                      const CLOTH_GLOBAL uint32_t *chain,
                                      const CLOTH_GLOBAL cloth_touch *touches,
                                      const CLOTH_GLOBAL vec *x, const CLOTH_GLOBAL vec *now) {
    vec at = now[v];
    if (!(w > 0))
        return at;
    if (s->has_selves)
        at = cloth_keep_apart(s->friction, v, selves, heads, chain, x, now);
    if (s->has_touches && touches[v].is_near) {
        cloth_touch touch = touches[v];
        at = cloth_keep_touch(s, &touch, x[v], at);
    }
    return at;
}

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

/* The final position of a vertex, after fields have moved it, and its velocity if it could not
 * reach its aim. */
static inline vec cloth_settle(double w, vec start, vec aim, vec end, double seconds,
                               CLOTH_GLOBAL vec *velocity) {
    end = w > 0 ? vec_round(end) : aim;
    vec off = vec_sub(end, aim);
    if (vec_dot(off, off) > 0)
        *velocity = vec_scale(vec_sub(end, start), 1 / seconds);
    return end;
}

#endif
