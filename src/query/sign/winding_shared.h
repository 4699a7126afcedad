/* The solid angles of near triangles and the fields of far children, for C and OpenCL C, with the
 * same bits on both: for float and double every operation is written out and rounded once.
 * winding.c describes the method. C includes base/simd.h before, which does not belong in the text
 * of a kernel. */
#ifndef ABUTI_SIGN_WINDING_SHARED_H
#define ABUTI_SIGN_WINDING_SHARED_H

#include "geom/solid_shared.h"
#include "sign/angles_shared.h"
#include "sign/sign_shared.h"

#ifdef __OPENCL_C_VERSION__
#include "base/simd_cl.h"
#endif

/* Beyond this the square is no float; the winding number is 0 there in practice. */
#define FLOAT_COORDINATE_MAX 0x1p60

/* ---- near triangles ---- */

/* A triangle in doubles. */
static inline void half_angles_add_triangle(half_angles *sum, triangle3 t, vec3 point) {
    double x, y;
    if (!triangle_solid_angle_vector(t, point, &x, &y))
        return;
    double most = real_max(fabs(x), fabs(y)); /* not 0, but possibly denormal */
    half_angles_add(sum, x / most, y / most);
}

/* ---- far children ---- */

/* The four children of a node as evaluated for a point. */
typedef struct child_fields {
    unsigned far;         /* whose fields are accurate */
    float sum[BVH_WIDTH]; /* of the fields, not yet over 4 pi */
} child_fields;

static inline void evaluate_children(const ABUTI_GLOBAL bvh_node *node,
                                     const ABUTI_GLOBAL bvh_far_node *field, const float *at,
                                     child_fields *view) {
    f4 one_half = f4_all(0.5f), zero = f4_all(0), r[3], r_sq = zero;
    for (int axis = 0; axis < 3; axis++) {
        f4 lo = f4_load(node->lo[axis]), hi = f4_load(node->hi[axis]), here = f4_all(at[axis]);
        r[axis] = f4_sub(f4_mul(f4_add(lo, hi), one_half), here);
        r_sq = f4_add(r_sq, f4_mul(r[axis], r[axis]));
    }
    view->far = m4_bits(f4_less(f4_load(field->near_sq), r_sq));
    if (!view->far)
        return;
    f4 inverse = f4_div(f4_all(1), f4_sqrt(r_sq));
    f4 x = f4_mul(r[0], inverse), y = f4_mul(r[1], inverse), z = f4_mul(r[2], inverse);
    f4 xx = f4_mul(x, x), yy = f4_mul(y, y), zz = f4_mul(z, z);
    f4 xy = f4_mul(x, y), yz = f4_mul(y, z), zx = f4_mul(z, x);
    const f4 one[3] = {x, y, z}, two[6] = {xx, yy, zz, xy, yz, zx};
    const f4 three[10] = {f4_mul(xx, x), f4_mul(yy, y), f4_mul(zz, z), f4_mul(xx, y),
                          f4_mul(yy, z), f4_mul(zz, x), f4_mul(xy, y), f4_mul(yz, z),
                          f4_mul(zx, x), f4_mul(xy, z)};
    f4 n = zero, m = zero, k = zero;
    for (int i = 0; i < 3; i++)
        n = f4_add(n, f4_mul(f4_load(field->n[i]), one[i]));
    for (int i = 0; i < 6; i++)
        m = f4_add(m, f4_mul(f4_load(field->m[i]), two[i]));
    for (int i = 0; i < 10; i++)
        k = f4_add(k, f4_mul(f4_load(field->k[i]), three[i]));
    f4 all = f4_add(f4_mul(f4_mul(k, f4_all(7.5f)), inverse), f4_mul(m, f4_all(-3)));
    all = f4_add(n, f4_mul(all, inverse));
    f4_store(view->sum, f4_mul(f4_mul(all, inverse), inverse));
}

#endif
