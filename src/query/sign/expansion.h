/* Expansions of the solid angle of a surface: the moments that winding.c defines, around a centre.
 * The tree over triangles (winding.c) and the tree over the boundary (boundary_tree.c) use them. */
#ifndef ABUTI_SIGN_EXPANSION_H
#define ABUTI_SIGN_EXPANSION_H

#include "base/math_shared.h"

/* Coefficients of the polynomials N, M and K in the order of bvh_far_node. */
typedef struct expansion {
    double n[3], m[6], k[10];
    double area; /* of all triangles */
} expansion;

/* (a.e)(b.e) times c, added */
static inline void add_square(double *m, vec3 a, vec3 b, double c) {
    m[0] += c * a.x * b.x;
    m[1] += c * a.y * b.y;
    m[2] += c * a.z * b.z;
    m[3] += c * (a.x * b.y + a.y * b.x);
    m[4] += c * (a.y * b.z + a.z * b.y);
    m[5] += c * (a.z * b.x + a.x * b.z);
}

/* (a.e) m(e) times c, added */
static inline void add_cube(double *k, vec3 a, const double *m, double c) {
    k[0] += c * a.x * m[0];
    k[1] += c * a.y * m[1];
    k[2] += c * a.z * m[2];
    k[3] += c * (a.y * m[0] + a.x * m[3]);
    k[4] += c * (a.z * m[1] + a.y * m[4]);
    k[5] += c * (a.x * m[2] + a.z * m[5]);
    k[6] += c * (a.x * m[1] + a.y * m[3]);
    k[7] += c * (a.y * m[2] + a.z * m[4]);
    k[8] += c * (a.z * m[0] + a.x * m[5]);
    k[9] += c * (a.x * m[4] + a.y * m[5] + a.z * m[3]);
}

/* Removes the traces: the multiples of (x^2 + y^2 + z^2) in a polynomial, here by its Laplacian. */
static inline void remove_traces(expansion *f) {
    double third = (f->m[0] + f->m[1] + f->m[2]) / 3;
    for (int i = 0; i < 3; i++)
        f->m[i] -= third;
    /* The Laplacian of a cubic is a linear form L; that of (x^2 + y^2 + z^2) L is 10 L. */
    double *k = f->k;
    vec3 linear = v3(6 * k[0] + 2 * k[6] + 2 * k[5], 6 * k[1] + 2 * k[7] + 2 * k[3],
                     6 * k[2] + 2 * k[8] + 2 * k[4]);
    const double sphere[6] = {1, 1, 1, 0, 0, 0};
    add_cube(k, linear, sphere, -0.1);
}

/* Adds a triangle; p, q and r are relative to the centre. */
static inline void add_triangle_moments(expansion *f, vec3 p, vec3 q, vec3 r) {
    const vec3 sum = v3_add(v3_add(p, q), r);
    const vec3 n = v3_scale(v3_cross(v3_sub(q, p), v3_sub(r, p)), 0.5); /* times its area */
    double square[6] = {0};
    f->area += v3_length(n);
    f->n[0] += n.x;
    f->n[1] += n.y;
    f->n[2] += n.z;
    add_square(f->m, sum, n, 1.0 / 3);
    /* the mean of (s.e)^2 over a triangle: corners and their sum, over 12 */
    add_square(square, p, p, 1.0 / 12);
    add_square(square, q, q, 1.0 / 12);
    add_square(square, r, r, 1.0 / 12);
    add_square(square, sum, sum, 1.0 / 12);
    add_cube(f->k, n, square, 1);
}

/* Adds an expansion around another centre, which is at `d` from this one. */
static inline void add_moved_moments(expansion *f, const expansion *from, vec3 d) {
    const vec3 n = v3(from->n[0], from->n[1], from->n[2]);
    double square[6] = {0};
    f->area += from->area;
    for (int i = 0; i < 3; i++)
        f->n[i] += from->n[i];
    for (int i = 0; i < 6; i++)
        f->m[i] += from->m[i];
    for (int i = 0; i < 10; i++)
        f->k[i] += from->k[i];
    add_square(f->m, d, n, 1);
    add_cube(f->k, d, from->m, 2);
    add_square(square, d, d, 1);
    add_cube(f->k, n, square, 1);
}

#endif
