/* The view test of four triangles at once, in floats: it tells most of them, and leaves the rest to
 * the one in double, which it never contradicts. So sets are the same with and without it.
 *
 * Let u = 2^-24. In the frame of float_positions.c vertices are within 1, and floats off by 2^-25.
 * With r, b, c as in sets.c, R, E, F the largest |coordinates| of their floats at both ends:
 *   - a coordinate of b or c is off by d = 2^-24 (two places) + u E or u F (the difference);
 *   - one of r by g = 2^-25 + 5 u (Q + L) + u R: the place, the check point q0 + s L with Q and L
 *     the largest |coordinates| of q0 and L in the frame, and the difference;
 *   - Bi, a sum of at most 18 products r b c, is off by 18 ((R + g) (E + d) (F + d) - R E F) for
 *     that and, with at most 7 roundings on the way of each product, by 18 x 7.1 u R E F for these.
 * With E' = E + 1.01 x 2^-24 and F' likewise, all this is less than
 *     T = R (20 x 2^-24 (E' + F') + 240 u E' F') + 20 (2^-25 + 5 u (Q + L)) E' F'.
 * The test in double wants Bi to be beyond 256 x 2^-53 (R + Q*) E F after rounding, Q* the largest
 * coordinate of the line with respect to the origin of the caller. It is off by less than that
 * itself, so that 540 x 2^-53 Q* E' F' on top of T are enough; the part of R is in T. Where Bi
 * is beyond T for all four i and all check points, the test in double says the same.
 * Underflow: T is at least 1e-30, more than all that products below 1e-38 can lose. With units
 * between 1e-30 and 1e30 the test in double is far from its own limit where T is passed. Overflow,
 * of T or of anything, fails the comparison.
 */
#include "self/self.h"

#define U 0x1p-24f

typedef struct three {
    f4 x, y, z;
} three;

static inline three sub3(three a, three b) {
    three r = {f4_sub(a.x, b.x), f4_sub(a.y, b.y), f4_sub(a.z, b.z)};
    return r;
}

static inline three add3(three a, three b) {
    three r = {f4_add(a.x, b.x), f4_add(a.y, b.y), f4_add(a.z, b.z)};
    return r;
}

static inline three cross3(three a, three b) {
    three r = {f4_sub(f4_mul(a.y, b.z), f4_mul(a.z, b.y)),
               f4_sub(f4_mul(a.z, b.x), f4_mul(a.x, b.z)),
               f4_sub(f4_mul(a.x, b.y), f4_mul(a.y, b.x))};
    return r;
}

static inline f4 dot3(three a, three b) {
    return f4_add(f4_add(f4_mul(a.x, b.x), f4_mul(a.y, b.y)), f4_mul(a.z, b.z));
}

/* The largest |coordinate| of two. */
static inline f4 largest3(three a, three b) {
    f4 one = f4_max(f4_abs(a.x), f4_max(f4_abs(a.y), f4_abs(a.z)));
    f4 two = f4_max(f4_abs(b.x), f4_max(f4_abs(b.y), f4_abs(b.z)));
    return f4_max(one, two);
}

static inline three all3(const float from[3]) {
    three r = {f4_all(from[0]), f4_all(from[1]), f4_all(from[2])};
    return r;
}

/* from + s along */
static inline three place3(const float from[3], f4 s, const float along[3]) {
    three r = {f4_add(f4_all(from[0]), f4_mul(s, f4_all(along[0]))),
               f4_add(f4_all(from[1]), f4_mul(s, f4_all(along[1]))),
               f4_add(f4_all(from[2]), f4_mul(s, f4_all(along[2])))};
    return r;
}

/* Corner k of four triangles, at the start and at the end. */
static inline void corners3(const ghost_place *places, const uint32_t *corner, uint32_t k,
                            three *start, three *end) {
    const float *const from[4] = {places[corner[k]].at[0], places[corner[3 + k]].at[0],
                                  places[corner[6 + k]].at[0], places[corner[9 + k]].at[0]};
    const float *const to[4] = {places[corner[k]].at[1], places[corner[3 + k]].at[1],
                                places[corner[6 + k]].at[1], places[corner[9 + k]].at[1]};
    f4 column[4];
    f4_columns(from, 0, column);
    start->x = column[0];
    start->y = column[1];
    start->z = column[2];
    f4_columns(to, 0, column);
    end->x = column[0];
    end->y = column[1];
    end->z = column[2];
}

/* What of a triangle does not depend on where it is seen from. */
typedef struct four_faces {
    three start, end;  /* a corner */
    three n0, n1, n2;  /* normals: of the start, mixed, of the end */
    f4 by_reach, rest; /* T = by_reach R + rest */
} four_faces;

static inline void faces_of(const view_floats *v, const ghost_place *places, const uint32_t *corner,
                            four_faces *to) {
    three b_start, b_end, c_start, c_end;
    corners3(places, corner, 0, &to->start, &to->end);
    corners3(places, corner, 1, &b_start, &b_end);
    corners3(places, corner, 2, &c_start, &c_end);
    three ba = sub3(b_start, to->start), ca = sub3(c_start, to->start);
    three be = sub3(b_end, to->end), ce = sub3(c_end, to->end);
    to->n0 = cross3(ba, ca);
    to->n1 = add3(cross3(ba, ce), cross3(be, ca));
    to->n2 = cross3(be, ce);
    f4 off = f4_all(1.01f * U);
    f4 e = f4_add(largest3(ba, be), off), f = f4_add(largest3(ca, ce), off), both = f4_mul(e, f);
    to->by_reach = f4_add(f4_mul(f4_all(20 * U), f4_add(e, f)), f4_mul(f4_all(240 * U), both));
    to->rest = f4_add(f4_mul(f4_all(v->rest), both), f4_all(1e-30f));
}

/* Lanes that are P, and those that are N, seen from one check point each. */
static inline void seen_from(const four_faces *t, three q_start, three q_end, m4 *p, m4 *n) {
    three ra = sub3(t->start, q_start), re = sub3(t->end, q_end);
    f4 least = f4_add(f4_mul(t->by_reach, largest3(ra, re)), t->rest);
    f4 b0 = dot3(ra, t->n0), b1 = f4_add(dot3(ra, t->n1), dot3(re, t->n0));
    f4 b2 = f4_add(dot3(re, t->n1), dot3(ra, t->n2)), b3 = dot3(re, t->n2);
    f4 most = f4_sub(f4_all(0), least);
    *p = m4_and(m4_and(f4_less(least, b0), f4_less(least, b1)),
                m4_and(f4_less(least, b2), f4_less(least, b3)));
    *n = m4_and(m4_and(f4_less(b0, most), f4_less(b1, most)),
                m4_and(f4_less(b2, most), f4_less(b3, most)));
}

unsigned abuti_view_floats_test(const view_floats *v, const ghost_place *places,
                                const uint32_t corner[12], const float (*along)[4]) {
    four_faces t;
    m4 p, n;
    faces_of(v, places, corner, &t);
    if (!along) {
        seen_from(&t, all3(v->start), all3(v->end), &p, &n);
        return m4_bits(p) | m4_bits(n) << 4;
    }
    f4 s = f4_load(along[0]);
    seen_from(&t, place3(v->start, s, v->along_start), place3(v->end, s, v->along_end), &p, &n);
    unsigned seen = m4_bits(p) | m4_bits(n) << 4;
    if (memcmp(along[0], along[1], sizeof along[0]) == 0)
        return seen;
    s = f4_load(along[1]);
    seen_from(&t, place3(v->start, s, v->along_start), place3(v->end, s, v->along_end), &p, &n);
    return seen & (m4_bits(p) | m4_bits(n) << 4);
}

static float largest(const float p[3]) {
    float x = p[0] < 0 ? -p[0] : p[0], y = p[1] < 0 ? -p[1] : p[1], z = p[2] < 0 ? -p[2] : p[2];
    float most = x > y ? x : y;
    return z > most ? z : most;
}

static void in_frame(const abut_self *view, vec3 p, float to[3]) {
    to[0] = (float)((p.x - view->centre.x) * view->scale);
    to[1] = (float)((p.y - view->centre.y) * view->scale);
    to[2] = (float)((p.z - view->centre.z) * view->scale);
}

view_floats abuti_view_floats(const abut_self *view, const view_sight *sight) {
    view_floats v = {.usable = view->scale > 1e-30 && view->scale < 1e30};
    view_checks point = view_point_checks(sight);
    in_frame(view, sight->by_line ? sight->start[0] : point.start[0], v.start);
    in_frame(view, sight->by_line ? sight->end[0] : point.end[0], v.end);
    float far = largest(v.start) > largest(v.end) ? largest(v.start) : largest(v.end);
    if (sight->by_line) {
        const vec3 ways[2] = {sight->along_start, sight->along_end};
        for (int k = 0; k < 2; k++) {
            float *to = k ? v.along_end : v.along_start;
            to[0] = (float)(ways[k].x * view->scale);
            to[1] = (float)(ways[k].y * view->scale);
            to[2] = (float)(ways[k].z * view->scale);
            far += largest(to);
        }
    }
    float origin = (float)(sight->slack * view->scale);
    v.rest = 20 * (0.5f * U + 5 * U * far) + 540 * 0x1p-53f * origin;
    return v;
}
