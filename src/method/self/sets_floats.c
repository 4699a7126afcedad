/* The view test of four triangles at once, in floats. It decides most of them, and leaves the
 * others to the test in doubles, which it never contradicts. So sets are the same with and without
 * it.
 *
 * Let u = 2^-24. In the frame of tree.c vertices are within 1, and floats have errors of
 * 2^-25. With r, b, c as in sets.c, and R, E, F the largest |coordinates| of their floats at both
 * ends:
 *   - a coordinate of b or c has the error d = 2^-24 (two positions) + u E or u F (the difference);
 *   - one of r has g = 2^-25 + 5 u (Q + L) + u R: the position, the check point q0 + s L with Q and
 *     L the largest |coordinates| of q0 and L in the frame, and the difference;
 *   - Bi, a sum of at most 18 products r b c, has 18 ((R + g) (E + d) (F + d) - R E F) from these
 *     and, with at most 7 roundings of each product, 18 x 7.1 u R E F from its own.
 *
 * With E' = E + 1.01 x 2^-24 and F' likewise, all this is less than
 *      T = R (20 x 2^-24 (E' + F') + 240 u E' F') + 20 (2^-25 + 5 u (Q + L)) E' F'.
 * The test in doubles requires Bi to be beyond 256 x 2^-53 (R + Q*) E F after rounding, Q* the
 * largest coordinate of the line relative to the origin of the caller. Its own error is below that,
 * so that 540 x 2^-53 Q* E' F' in addition to T suffice; the part of R is in T. If Bi is beyond T
 * for all four i and all check points, the test in doubles gives the same result. Underflow: T is
 * at least 1e-30, more than all that products below 1e-38 can lose. With units between 1e-30 and
 * 1e30 the test in doubles is far from its own limit if T is exceeded. Overflow, of T or of any
 * other value, fails the comparison.
 */
#include "self/self.h"

#define FLOAT_ULP 0x1p-24f

typedef struct f4x3 {
    f4 x, y, z;
} f4x3;

static inline f4x3 sub3(f4x3 a, f4x3 b) {
    f4x3 r = {f4_sub(a.x, b.x), f4_sub(a.y, b.y), f4_sub(a.z, b.z)};
    return r;
}

static inline f4x3 add3(f4x3 a, f4x3 b) {
    f4x3 r = {f4_add(a.x, b.x), f4_add(a.y, b.y), f4_add(a.z, b.z)};
    return r;
}

static inline f4x3 cross3(f4x3 a, f4x3 b) {
    f4x3 r = {f4_sub(f4_mul(a.y, b.z), f4_mul(a.z, b.y)),
              f4_sub(f4_mul(a.z, b.x), f4_mul(a.x, b.z)),
              f4_sub(f4_mul(a.x, b.y), f4_mul(a.y, b.x))};
    return r;
}

static inline f4 dot3(f4x3 a, f4x3 b) {
    return f4_add(f4_add(f4_mul(a.x, b.x), f4_mul(a.y, b.y)), f4_mul(a.z, b.z));
}

/* The largest |coordinate| of two vectors. */
static inline f4 largest3(f4x3 a, f4x3 b) {
    f4 one = f4_max(f4_abs(a.x), f4_max(f4_abs(a.y), f4_abs(a.z)));
    f4 two = f4_max(f4_abs(b.x), f4_max(f4_abs(b.y), f4_abs(b.z)));
    return f4_max(one, two);
}

static inline f4x3 all3(const float from[3]) {
    f4x3 r = {f4_all(from[0]), f4_all(from[1]), f4_all(from[2])};
    return r;
}

/* from + s along */
static inline f4x3 place3(const float from[3], f4 s, const float along[3]) {
    f4x3 r = {f4_add(f4_all(from[0]), f4_mul(s, f4_all(along[0]))),
              f4_add(f4_all(from[1]), f4_mul(s, f4_all(along[1]))),
              f4_add(f4_all(from[2]), f4_mul(s, f4_all(along[2])))};
    return r;
}

/* Corner k of four triangles, at the start and at the end. */
static inline void corners3(const ghost_position *places, const uint32_t *corner, uint32_t k,
                            f4x3 *start, f4x3 *end) {
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

/* The data of a triangle that do not depend on the view primitive. */
typedef struct four_faces {
    f4x3 start, end;   /* a corner */
    f4x3 n0, n1, n2;   /* normals: of the start, mixed, of the end */
    f4 by_reach, rest; /* T = by_reach R + rest */
} four_faces;

static inline void load_faces(const view_floats *v, const ghost_position *places,
                              const uint32_t *corner, four_faces *to) {
    f4x3 b_start, b_end, c_start, c_end;
    corners3(places, corner, 0, &to->start, &to->end);
    corners3(places, corner, 1, &b_start, &b_end);
    corners3(places, corner, 2, &c_start, &c_end);
    f4x3 ba = sub3(b_start, to->start), ca = sub3(c_start, to->start);
    f4x3 be = sub3(b_end, to->end), ce = sub3(c_end, to->end);
    to->n0 = cross3(ba, ca);
    to->n1 = add3(cross3(ba, ce), cross3(be, ca));
    to->n2 = cross3(be, ce);
    f4 off = f4_all(1.01f * FLOAT_ULP);
    f4 e = f4_add(largest3(ba, be), off), f = f4_add(largest3(ca, ce), off), both = f4_mul(e, f);
    to->by_reach =
        f4_add(f4_mul(f4_all(20 * FLOAT_ULP), f4_add(e, f)), f4_mul(f4_all(240 * FLOAT_ULP), both));
    to->rest = f4_add(f4_mul(f4_all(v->rest), both), f4_all(1e-30f));
}

/* The lanes that are P, and those that are N, seen from one check point each. */
static inline void classify_from(const four_faces *t, f4x3 q_start, f4x3 q_end, m4 *p, m4 *n) {
    f4x3 ra = sub3(t->start, q_start), re = sub3(t->end, q_end);
    f4 least = f4_add(f4_mul(t->by_reach, largest3(ra, re)), t->rest);
    f4 b0 = dot3(ra, t->n0), b1 = f4_add(dot3(ra, t->n1), dot3(re, t->n0));
    f4 b2 = f4_add(dot3(re, t->n1), dot3(ra, t->n2)), b3 = dot3(re, t->n2);
    f4 most = f4_sub(f4_all(0), least);
    *p = m4_and(m4_and(f4_less(least, b0), f4_less(least, b1)),
                m4_and(f4_less(least, b2), f4_less(least, b3)));
    *n = m4_and(m4_and(f4_less(b0, most), f4_less(b1, most)),
                m4_and(f4_less(b2, most), f4_less(b3, most)));
}

unsigned abuti_view_floats_test(const view_floats *v, const ghost_position *places,
                                const uint32_t corner[12], const float (*along)[4]) {
    four_faces t;
    m4 p, n;
    load_faces(v, places, corner, &t);
    if (!along) {
        classify_from(&t, all3(v->start), all3(v->end), &p, &n);
        return m4_bits(p) | m4_bits(n) << 4;
    }
    f4 s = f4_load(along[0]);
    classify_from(&t, place3(v->start, s, v->along_start), place3(v->end, s, v->along_end), &p, &n);
    unsigned seen = m4_bits(p) | m4_bits(n) << 4;
    if (memcmp(along[0], along[1], sizeof along[0]) == 0)
        return seen;
    s = f4_load(along[1]);
    classify_from(&t, place3(v->start, s, v->along_start), place3(v->end, s, v->along_end), &p, &n);
    return seen & (m4_bits(p) | m4_bits(n) << 4);
}

static float largest_coordinate(const float p[3]) {
    float x = p[0] < 0 ? -p[0] : p[0], y = p[1] < 0 ? -p[1] : p[1], z = p[2] < 0 ? -p[2] : p[2];
    float most = x > y ? x : y;
    return z > most ? z : most;
}

static void to_frame(const abut_self *view, vec3 p, float to[3]) {
    to[0] = (float)((p.x - view->centre.x) * view->scale);
    to[1] = (float)((p.y - view->centre.y) * view->scale);
    to[2] = (float)((p.z - view->centre.z) * view->scale);
}

view_floats abuti_view_floats(const abut_self *view, const view_primitive *primitive) {
    view_floats v = {.usable = view->scale > 1e-30 && view->scale < 1e30};
    view_checks point = view_point_checks(primitive);
    to_frame(view, primitive->by_line ? primitive->start[0] : point.start[0], v.start);
    to_frame(view, primitive->by_line ? primitive->end[0] : point.end[0], v.end);
    float far = largest_coordinate(v.start) > largest_coordinate(v.end)
                    ? largest_coordinate(v.start)
                    : largest_coordinate(v.end);
    if (primitive->by_line) {
        const vec3 ways[2] = {primitive->along_start, primitive->along_end};
        for (int k = 0; k < 2; k++) {
            float *to = k ? v.along_end : v.along_start;
            to[0] = (float)(ways[k].x * view->scale);
            to[1] = (float)(ways[k].y * view->scale);
            to[2] = (float)(ways[k].z * view->scale);
            far += largest_coordinate(to);
        }
    }
    float origin = (float)(primitive->slack * view->scale);
    v.rest = 20 * (0.5f * FLOAT_ULP + 5 * FLOAT_ULP * far) + 540 * 0x1p-53f * origin;
    return v;
}
