/* A substep in two passes, for fast cloth: C and OpenCL C, with the same bits.
 *
 * Constraints by colours (dynamics.c) need one launch per colour, some twenty-five per substep;
 * on a device the launches take longer than the work. Here the cloth is divided into patches of
 * some hundred vertices. A patch copies its own vertices and those that its constraints refer
 * to, applies all of these constraints round by round, and stores only its own vertices
 * (restricted additive Schwarz: Cai, Sarkis 1999). So constraints that two patches share are
 * applied by both, each to its own copies, and one launch processes all patches. Momentum is
 * conserved exactly within patches, and between them to the second order of the motion of one
 * pass.
 *
 * Self-collision: a vertex keeps a distance from the face that was nearest to it at the start of
 * the step, among those that are not near it at rest. Each vertex moves by half; the vertices of
 * the face have faces of their own. This is for appearance: edges do not collide, and fast
 * vertices pass through. */
#ifndef CLOTH_PATCHES_SHARED_H
#define CLOTH_PATCHES_SHARED_H

#include "dynamics_shared.h"

/* Largest number of own vertices of a patch, and including copies; work-items of a patch, which
 * is also the largest number of constraints per round. */
#ifndef PATCH_OWN
#define PATCH_OWN 128
#endif
#ifndef PATCH_LANES
#define PATCH_LANES 64
#endif
enum { PATCH_ALL = 1024 };
/* Work-items that search for the face of a vertex: at least the number of cells around it. */
enum { CELL_LANES = 32 };

/* Rounds of hinges, then of edges, PATCH_LANES slots each; unused ones have no first vertex.
 * Vertex indices of constraints are local to the patch. */
typedef struct cloth_patch {
    uint32_t first, own, all; /* in the list of vertices: its own, then the others */
    uint32_t first_hinge, hinge_rounds;
    uint32_t first_edge, edge_rounds;
} cloth_patch;

CLOTH_HOLD(cloth_patch_edge, cloth_edge, 2, cloth_pull_edge, CLOTH_LOCAL)
CLOTH_HOLD(cloth_patch_hinge, cloth_hinge, 4, cloth_pull_hinge, CLOTH_LOCAL)

/* ---- self-collision ---- */

/* The obstacle of a vertex: a point of a face of the cloth. */
typedef struct cloth_self {
    uint32_t vertex[3]; /* of the face; the first is VEC_NONE if there is none */
    uint32_t spare;
    double weight[3];
    vec normal;   /* unit, towards the vertex */
    double least; /* distance to keep */
} cloth_self;

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

static inline vec vec_mix(vec a, vec b, vec c, const double *weight) {
    return vec_along(vec_along(vec_scale(a, weight[0]), weight[1], b), weight[2], c);
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

/* The obstacle of vertex v, from the nearest of all cells. Returns its distance; the range if
 * there is none. */
static inline double cloth_self_of(const cloth_search *s, uint32_t v, const cloth_found *best,
                                   const CLOTH_GLOBAL uint32_t *corners, const CLOTH_GLOBAL vec *x,
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
    vec point = vec_mix(x[self->vertex[0]], x[self->vertex[1]], x[self->vertex[2]], self->weight);
    self->normal = vec_scale(vec_sub(x[v], point), 1 / distance);
    self->least = cloth_distance_to_keep(distance, s->thickness);
    return distance;
}

/* The position of a vertex that keeps its distance from its face. In the substep the face moves
 * from `before` to `now`, and the vertex from `was` to `at`. */
static inline vec cloth_keep_off(const cloth_self *self, double friction, vec was, vec at,
                                 const CLOTH_GLOBAL vec *before, const CLOTH_GLOBAL vec *now) {
    const uint32_t a = self->vertex[0], b = self->vertex[1], c = self->vertex[2];
    vec point = vec_mix(now[a], now[b], now[c], self->weight), normal = self->normal;
    double off = self->least - vec_dot(vec_sub(at, point), normal);
    if (!(off > 0))
        return at;
    vec moved = vec_sub(point, vec_mix(before[a], before[b], before[c], self->weight));
    at = vec_along(at, 0.5 * off, normal);
    vec slip = vec_sub(vec_sub(at, was), moved);
    return vec_along(at, -0.5, cloth_rub(slip, normal, off, friction));
}

/* ---- the end of a step ---- */

/* Totals of a step over all vertices. */
typedef struct cloth_totals {
    uint32_t
        deepest; /* bits of a float that is not negative, which are ordered as the floats are */
    uint32_t thinnest; /* the same */
    uint32_t selves;   /* vertices with an obstacle */
    uint32_t odd;      /* 1: a vertex of the cloth is outside the valid range, 2: of the solid */
} cloth_totals;

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
