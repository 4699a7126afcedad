/* The referee for yes/no results: convex sets as lists of half-spaces over exact rationals, and
 * polygons clipped by them one after the other. Slow and simple. */
#ifndef ABUT_TEST_CLIP_H
#define ABUT_TEST_CLIP_H

#include "rational.h"

/* normal . x >= offset */
typedef struct half_space {
    rational3 normal;
    number offset;
} half_space;

typedef struct convex_set {
    half_space side[12];
    int count;
} convex_set;

static inline void add_side(convex_set *set, rational3 normal, rational3 through) {
    set->side[set->count].normal = normal;
    set->side[set->count++].offset = dot(normal, through);
}
static inline void add_plane(convex_set *set, rational3 normal, rational3 through) {
    add_side(set, normal, through);
    add_side(set, point_times(normal, number_of(-1)), through);
}
static inline int is_zero(rational3 p) {
    return mpq_sgn(p.x) == 0 && mpq_sgn(p.y) == 0 && mpq_sgn(p.z) == 0;
}
static inline int is_same(rational3 a, rational3 b) {
    return mpq_equal(a.x, b.x) && mpq_equal(a.y, b.y) && mpq_equal(a.z, b.z);
}

/* A segment: on the planes that hold it, between its ends. A point: on three planes. */
static inline convex_set set_of_segment(rational3 a, rational3 b) {
    convex_set set = {.count = 0};
    rational3 e = point_minus(b, a);
    rational3 axes[3] = {point_of(1, 0, 0), point_of(0, 1, 0), point_of(0, 0, 1)};
    for (int i = 0; i < 3; i++) {
        rational3 normal = is_zero(e) ? axes[i] : cross(e, axes[i]);
        if (!is_zero(normal))
            add_plane(&set, normal, a);
    }
    if (!is_zero(e)) {
        add_side(&set, e, a);
        add_side(&set, point_times(e, number_of(-1)), b);
    }
    return set;
}

static inline convex_set set_of_triangle(const rational3 *t) {
    rational3 n = cross(point_minus(t[1], t[0]), point_minus(t[2], t[0]));
    if (is_zero(n)) { /* the longest edge is the whole of it */
        int longest = 0;
        for (int i = 1; i < 3; i++)
            if (mpq_cmp(length_sq(point_minus(t[(i + 1) % 3], t[i])),
                        length_sq(point_minus(t[(longest + 1) % 3], t[longest]))) > 0)
                longest = i;
        return set_of_segment(t[longest], t[(longest + 1) % 3]);
    }
    convex_set set = {.count = 0};
    add_plane(&set, n, t[0]);
    for (int i = 0; i < 3; i++)
        add_side(&set, cross(n, point_minus(t[(i + 1) % 3], t[i])), t[i]);
    return set;
}

static inline convex_set set_of_box(rational3 lo, rational3 hi) {
    convex_set set = {.count = 0};
    rational3 axes[3] = {point_of(1, 0, 0), point_of(0, 1, 0), point_of(0, 0, 1)};
    for (int i = 0; i < 3; i++) {
        add_side(&set, axes[i], lo);
        add_side(&set, point_times(axes[i], number_of(-1)), hi);
    }
    return set;
}

/* The corners of a convex polygon, repeated ones allowed. */
typedef struct polygon {
    rational3 p[32];
    int count;
} polygon;

static inline polygon clip_side(const polygon *in, const half_space *side) {
    polygon out = {.count = 0};
    for (int i = 0; i < in->count; i++) {
        rational3 a = in->p[i], b = in->p[(i + 1) % in->count];
        number at_a = minus(dot(side->normal, a), side->offset);
        number at_b = minus(dot(side->normal, b), side->offset);
        if (mpq_sgn(at_a) >= 0)
            out.p[out.count++] = a;
        if (mpq_sgn(at_a) * mpq_sgn(at_b) < 0)
            out.p[out.count++] =
                point_plus(a, point_times(point_minus(b, a), over(at_a, minus(at_a, at_b))));
    }
    return out;
}

static inline polygon clip(polygon in, const convex_set *set) {
    for (int i = 0; i < set->count && in.count > 0; i++)
        in = clip_side(&in, &set->side[i]);
    return in;
}

/* -1 nothing, 0 a point, 1 a segment, 2 an area; a segment's two ends are put first. */
static inline int polygon_dimension(polygon *g) {
    if (g->count == 0)
        return -1;
    int far = 0;
    for (int i = 1; i < g->count; i++)
        if (mpq_cmp(length_sq(point_minus(g->p[i], g->p[0])),
                    length_sq(point_minus(g->p[far], g->p[0]))) > 0)
            far = i;
    if (is_same(g->p[far], g->p[0]))
        return 0;
    int other = far;
    for (int i = 0; i < g->count; i++) {
        if (!is_zero(cross(point_minus(g->p[far], g->p[0]), point_minus(g->p[i], g->p[0]))))
            return 2;
        if (mpq_cmp(length_sq(point_minus(g->p[i], g->p[far])),
                    length_sq(point_minus(g->p[other], g->p[far]))) > 0)
            other = i;
    }
    rational3 ends[2] = {g->p[other], g->p[far]};
    g->p[0] = ends[0];
    g->p[1] = ends[1];
    return 1;
}

/* The first parameter t in [0, limit] (null: no limit) with origin + t direction in the set: gives
 * 0 if there is none. */
static inline int first_in_set(rational3 origin, rational3 direction, number limit,
                               const convex_set *set, number *first) {
    number lo = number_of(0), hi = limit;
    for (int i = 0; i < set->count; i++) {
        number rate = dot(set->side[i].normal, direction);
        number lack = minus(set->side[i].offset, dot(set->side[i].normal, origin));
        if (mpq_sgn(rate) == 0) {
            if (mpq_sgn(lack) > 0)
                return 0;
            continue;
        }
        number at = over(lack, rate);
        if (mpq_sgn(rate) > 0)
            lo = mpq_cmp(at, lo) > 0 ? at : lo;
        else
            hi = !hi || mpq_cmp(at, hi) < 0 ? at : hi;
    }
    *first = lo;
    return !hi || mpq_cmp(lo, hi) <= 0;
}

#endif
