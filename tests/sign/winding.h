/* The referee of inside tests: the winding number of a point by signed crossings of a ray, over
 * all triangles, in integers of any size. The direction of the ray intersects no edge, found by
 * trying, so that there are no ties. */
#ifndef ABUT_TEST_BVH_WINDING_H
#define ABUT_TEST_BVH_WINDING_H

#include "../geom/rational.h"
#include "bvh/meshes.h"

typedef struct exact_winding {
    bool on_surface;
    int64_t winding; /* 0 on the surface */
} exact_winding;

/* Temporaries: three corners, the direction, and what determinants need. Never freed. */
typedef struct whole_numbers {
    bool ready;
    mpz_t point[3], corner[3][3], direction[3], left, right, sum;
} whole_numbers;

static inline whole_numbers *whole_ready(void) {
    static whole_numbers w;
    for (int i = 0; i < 3 && !w.ready; i++) {
        mpz_inits(w.point[i], w.direction[i], w.corner[0][i], w.corner[1][i], w.corner[2][i], NULL);
        if (i == 0)
            mpz_inits(w.left, w.right, w.sum, NULL);
    }
    w.ready = true;
    return &w;
}

/* Every finite double times this power of two is whole. */
enum { WHOLE_SHIFT = 1074 };

/* x 2^shift, exactly. */
static inline void whole_of(mpz_t to, double x, int shift) {
    int exponent;
    double mantissa = frexp(x, &exponent);
    mpz_set_si(to, (long)ldexp(mantissa, 53));
    exponent += shift - 53;
    if (exponent >= 0)
        mpz_mul_2exp(to, to, (mp_bitcnt_t)exponent);
    else
        mpz_tdiv_q_2exp(to, to, (mp_bitcnt_t)-exponent);
}

static inline void whole_of_three(mpz_t *to, abut_vec3 v, int shift) {
    whole_of(to[0], v.x, shift);
    whole_of(to[1], v.y, shift);
    whole_of(to[2], v.z, shift);
}

/* The sign of | a b c |. */
static inline int whole_sign(whole_numbers *w, mpz_t *a, mpz_t *b, mpz_t *c) {
    mpz_set_ui(w->sum, 0);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        mpz_mul(w->left, b[j], c[k]);
        mpz_submul(w->left, b[k], c[j]);
        mpz_addmul(w->sum, w->left, a[i]);
    }
    return mpz_sgn(w->sum);
}

/* -1, 0 or 1 for a crossing; 2 for a tie. */
static inline int crossing_exactly(whole_numbers *w) {
    mpz_t *a = w->corner[0], *b = w->corner[1], *c = w->corner[2], *d = w->direction;
    int ab = whole_sign(w, d, a, b), bc = whole_sign(w, d, b, c), ca = whole_sign(w, d, c, a);
    if (ab * bc < 0 || bc * ca < 0 || ab * ca < 0)
        return 0;
    if (ab == 0 || bc == 0 || ca == 0)
        return 2;
    return whole_sign(w, a, b, c) == ab ? ab : 0;
}

static inline bool triangle_has_point(const abut_triangle *t, abut_vec3 p) {
    const abut_vec3 *c = t->corner;
    rational3 corner[3];
    if (p.x < fmin(c[0].x, fmin(c[1].x, c[2].x)) || p.x > fmax(c[0].x, fmax(c[1].x, c[2].x)) ||
        p.y < fmin(c[0].y, fmin(c[1].y, c[2].y)) || p.y > fmax(c[0].y, fmax(c[1].y, c[2].y)) ||
        p.z < fmin(c[0].z, fmin(c[1].z, c[2].z)) || p.z > fmax(c[0].z, fmax(c[1].z, c[2].z)))
        return false;
    for (int k = 0; k < 3; k++)
        corner[k] = point_of(c[k].x, c[k].y, c[k].z);
    return mpq_sgn(point_triangle_sq(point_of(p.x, p.y, p.z), corner)) == 0;
}

static inline bool triangle_is_flat(const abut_triangle *t) {
    rational3 c[3];
    for (int k = 0; k < 3; k++)
        c[k] = point_of(t->corner[k].x, t->corner[k].y, t->corner[k].z);
    return mpq_sgn(length_sq(cross(point_minus(c[1], c[0]), point_minus(c[2], c[0])))) == 0;
}

/* The crossings in one direction; false for a tie. */
static inline bool winding_along(const abut_mesh *mesh, whole_numbers *w, int shift,
                                 int64_t *winding) {
    *winding = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        abut_triangle t = triangle_of(mesh, i);
        for (int k = 0; k < 3; k++) {
            whole_of_three(w->corner[k], t.corner[k], shift);
            for (int axis = 0; axis < 3; axis++)
                mpz_sub(w->corner[k][axis], w->corner[k][axis], w->point[axis]);
        }
        int crossing = crossing_exactly(w);
        if (crossing == 2 && triangle_is_flat(&t))
            continue; /* no area, no crossing */
        if (crossing == 2)
            return false;
        *winding += crossing;
    }
    return true;
}

/* How far a double must be shifted to be whole. */
static inline int shift_of(double x) {
    int exponent;
    frexp(x, &exponent);
    return x == 0 ? -WHOLE_SHIFT : 53 - exponent;
}

static inline int shift_of_three(abut_vec3 v, int least) {
    double all[3] = {v.x, v.y, v.z};
    for (int i = 0; i < 3; i++)
        least = shift_of(all[i]) > least ? shift_of(all[i]) : least;
    return least;
}

static inline exact_winding winding_exactly(const abut_mesh *mesh, abut_vec3 point,
                                            test_random *random) {
    exact_winding result = {false, 0};
    int shift = shift_of_three(point, -WHOLE_SHIFT);
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++) {
        abut_triangle t = triangle_of(mesh, i);
        for (int k = 0; k < 3; k++)
            shift = shift_of_three(t.corner[k], shift);
        result.on_surface = triangle_has_point(&t, point);
        if (result.on_surface)
            return result;
    }
    whole_numbers *w = whole_ready();
    whole_of_three(w->point, point, shift);
    do /* odd numbers of 20 bits, so that a tie is rare for any mesh */
        for (int i = 0; i < 3; i++)
            mpz_set_si(w->direction[i],
                       2 * (long)test_random_below(random, 1 << 20) + 1 - (1 << 20));
    while (!winding_along(mesh, w, shift, &result.winding));
    return result;
}

#endif
