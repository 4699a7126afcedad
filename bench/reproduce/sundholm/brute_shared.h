/* The distance test of Sundholm (2010, algorithm 1 and appendix A), for C and OpenCL C: the regions
 * of Ericson (2005, section 5.1.5) decide which feature of a triangle is closest, and the
 * pseudo-normal of that feature gives the sign. In floats, as his.
 *
 * Distances are squares with a sign until the end: only one square root for each cell. Of triangles
 * at the same distance the first one counts. They share the closest feature, and so its normal,
 * unless the mesh touches itself.
 *
 * Appendix A lacks a parenthesis in the region of the edge from b to c; here it is closed. */
#ifndef BRUTE_SHARED_H
#define BRUTE_SHARED_H

#ifndef __OPENCL_C_VERSION__
#define ABUTI_REAL_BITS 32
#endif
#include "base/math_shared.h"

#ifdef __OPENCL_C_VERSION__
#define BRUTE_STAGED __local const
#else
#define BRUTE_STAGED const
#endif

#define BRUTE_GROUP 128 /* work-items of a group, and triangles in local memory: 15 KiB */

/* The ten vectors of appendix A: edges from a to b, from b to c and from c to a. */
typedef struct brute_triangle {
    vec3 corner[3];
    vec3 face_normal, edge_normals[3], corner_normals[3];
} brute_triangle;

/* Cells of a grid, or of every n-th of its rows along x: enough to measure what takes hours. */
typedef struct brute_cells {
    vec3 first; /* centre of the first cell, relative to the local origin of the mesh */
    real size;
    word32 wide, high; /* cells along x and y */
    word32 row_step;   /* rows are counted along y, then along z; 1 = all */
    word32 row_count;
} brute_cells;

static inline vec3 brute_centre(const brute_cells *cells, word32 row, word32 x) {
    const word32 place = row * cells->row_step;
    return v3(cells->first.x + cells->size * (real)x,
              cells->first.y + cells->size * (real)(place % cells->high),
              cells->first.z + cells->size * (real)(place / cells->high));
}

static inline real brute_sign(vec3 way, vec3 normal) {
    const real sq = v3_length_sq(way);
    return v3_dot(way, normal) < 0 ? -sq : sq;
}

/* The square of the distance of a point from a triangle, negative inside. */
static inline real brute_distance_sq(vec3 p, BRUTE_STAGED brute_triangle *t) {
    const vec3 a = t->corner[0], b = t->corner[1], c = t->corner[2];
    const vec3 ab = v3_sub(b, a), ac = v3_sub(c, a), ap = v3_sub(p, a);
    const real d1 = v3_dot(ab, ap), d2 = v3_dot(ac, ap);
    if (d1 <= 0 && d2 <= 0)
        return brute_sign(ap, t->corner_normals[0]);
    const vec3 bp = v3_sub(p, b);
    const real d3 = v3_dot(ab, bp), d4 = v3_dot(ac, bp);
    if (d3 >= 0 && d4 <= d3)
        return brute_sign(bp, t->corner_normals[1]);
    const real vc = d1 * d4 - d3 * d2;
    if (vc <= 0 && d1 >= 0 && d3 <= 0)
        return brute_sign(v3_along(ap, -d1 / (d1 - d3), ab), t->edge_normals[0]);
    const vec3 cp = v3_sub(p, c);
    const real d5 = v3_dot(ab, cp), d6 = v3_dot(ac, cp);
    if (d6 >= 0 && d5 <= d6)
        return brute_sign(cp, t->corner_normals[2]);
    const real vb = d5 * d2 - d1 * d6;
    if (vb <= 0 && d2 >= 0 && d6 <= 0)
        return brute_sign(v3_along(ap, -d2 / (d2 - d6), ac), t->edge_normals[2]);
    const real va = d3 * d6 - d5 * d4;
    if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
        const real w = (d4 - d3) / (d4 - d3 + (d5 - d6));
        return brute_sign(v3_along(bp, -w, v3_sub(c, b)), t->edge_normals[1]);
    }
    const real scale = 1 / (va + vb + vc);
    return brute_sign(v3_along(v3_along(ap, -vb * scale, ab), -vc * scale, ac), t->face_normal);
}

/* The one of two signed squares with the smaller magnitude; the first one of equals. */
static inline real brute_nearer(real a, real b) {
    return real_abs(b) < real_abs(a) ? b : a;
}

static inline real brute_root(real signed_sq) {
    const real root = real_sqrt(real_abs(signed_sq));
    return signed_sq < 0 ? -root : root;
}

#endif
