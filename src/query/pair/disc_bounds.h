/* Slabs: bounds of a BVH for distances, in addition to its boxes.
 *
 * The part of a surface in a box is almost flat, but the box does not represent that: on a slope it
 * extends beyond the surface by half its size. Far away, where directions hardly differ, thousands
 * of pairs of boxes then seem nearer than the nearest triangles. A slab is a cylinder along the
 * mean normal m of the triangles, as thin as they allow. The idea is that of oriented boxes
 * (Gottschalk and others 1996) and swept spheres (Larsen and others 1999, "Fast proximity queries
 * with swept sphere volumes"), with fewer operations.
 *
 * Slabs are in doubles, for parallel faces, an edge above a plate, and other surfaces of which many
 * pairs of triangles are equally near. Floats cannot order these. The slab of a flat surface is
 * accurate to the last digits, so a face with any number of triangles is one part.
 *
 * Discs are slabs in floats, for tests of four at once. Along a direction n the triangles extend to
 * at most
 *   n . c + |n . m| t + sqrt(1 - (n . m)^2) r
 * where c is the centre, t half the height and r the radius. c is at the distance s along m from
 * the centre of the box, so six numbers are stored.
 */
#ifndef ABUTI_PAIR_DISC_BOUNDS_H
#define ABUTI_PAIR_DISC_BOUNDS_H

#include "pair/leaf.h"

/* The discs of the children of a node, in the frame of the BVH; undefined in empty slots. */
typedef struct pair_disc {
    float m[3][BVH_WIDTH];
    float s[BVH_WIDTH], t[BVH_WIDTH], r[BVH_WIDTH];
} pair_disc;

/* Bounds of the triangles of a child, in the frame of the BVH: relative to the centre of its box,
 * corners have coordinates from lo to hi along the unit vector m, and are no further than r from
 * the line along m. */
typedef struct pair_slab {
    double m[3], lo, hi;
    float r;
    uint32_t first; /* its lowest triangle */
} pair_slab;

typedef struct pair_slabs {
    bvh_attachment attachment;
    pair_slab *slabs; /* of all places */
    pair_disc *discs; /* of all nodes */
} pair_slabs;

/* Returns the slabs, or null if they do not pay off yet, another thread is computing them, or
 * memory is exhausted. `cost` is that of a search without them since its last call, in steps.
 * Thread-safe. */
const pair_slabs *abuti_pair_slabs(const abut_bvh *bvh, size_t cost);
/* The same, but computes them if there are none. Null if memory is exhausted. */
const pair_slabs *abuti_pair_slabs_now(const abut_bvh *bvh);

/* The largest coordinate along a unit vector n, relative to the centre of the box: for any corner
 * x, n . x is at most max((n . m) lo, (n . m) hi) + |n - (n . m) m| r. */
static inline double slab_reach(const pair_slab *slab, vec3 n) {
    vec3 m = v3(slab->m[0], slab->m[1], slab->m[2]);
    double c = v3_dot(n, m);
    return real_max(c * slab->lo, c * slab->hi) + v3_length(v3_sub(n, v3_scale(m, c))) * slab->r;
}

/* ---- bounds of discs ----
 *
 * Rounding errors, with u = 2^-24 and T of pair.h: centres of boxes have errors of 10u (8 + T)
 * along an axis, and s m with rotated m adds 25u: less than 26u (8 + T) in total along any
 * direction. Cosines have errors of 14u, of which 6u are from the lengths of m. They multiply t, at
 * most 2 sqrt(3), and r through a square root, in which 32u are added to 1. Lengths and components
 * along m add 15u (8 + T): less than 64u (8 + T) in total, two paddings. */

/* 32u */
#define COSINE_SQ_ERROR 0x1p-19f

/* A disc of the other side in the axes of this side, in common units. */
typedef struct disc_view {
    float s, t, r;
    float m[4];
} disc_view;

static inline disc_view disc_view_of(const pair_side *side, const pair_side *other,
                                     const pair_disc *discs, uint32_t place) {
    const pair_disc *disc = &discs[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    f4 m = f4_mul(f4_load(side->rotation[0]), f4_all(disc->m[0][slot]));
    for (int j = 1; j < 3; j++)
        m = f4_add(m, f4_mul(f4_load(side->rotation[j]), f4_all(disc->m[j][slot])));
    disc_view view = {disc->s[slot] * other->unit,
                      disc->t[slot] * other->unit,
                      disc->r[slot] * other->unit,
                      {0}};
    f4_store(view.m, m);
    return view;
}

/* An upper bound of the sine for a cosine c with its error. */
static inline f4 sine_upper_bound(f4 c) {
    return f4_sqrt(f4_max(f4_sub(f4_all(1 + COSINE_SQ_ERROR), f4_mul(c, c)), f4_all(0)));
}

/* A lower bound of the squared distance of two cylinders: the gaps along and across the axis of the
 * first one. `along` and `across_sq` are those of the centres, `sine` and `cosine` of the axes, t
 * and r of the first cylinder. */
static inline f4 cylinder_gap_sq(f4 along, f4 across_sq, f4 t, f4 r, f4 sine, f4 cosine, f4 t_other,
                                 f4 r_other, f4 pad) {
    f4 zero = f4_all(0);
    f4 high = f4_add(f4_add(t, pad), f4_add(f4_mul(cosine, t_other), f4_mul(sine, r_other)));
    f4 broad = f4_add(f4_add(r, pad), f4_add(r_other, f4_mul(sine, t_other)));
    f4 over = f4_max(f4_sub(along, high), zero);
    f4 gap_across = f4_max(f4_sub(f4_sqrt(f4_max(across_sq, zero)), broad), zero);
    return f4_add(f4_mul(over, over), f4_mul(gap_across, gap_across));
}

/* Squared lower bounds of the distances of a disc to those of the children of a node. `offset` is
 * from the centre of its own box to those of the children. The bounds are along the line between
 * the centres, and along the axis of either cylinder. */
static inline f4 discs_lower_bound_sq(const pair_side *side, const disc_view *view,
                                      const pair_disc *disc, const f4 offset[3], float box_pad) {
    f4 pad = f4_all(2 * box_pad);
    f4 unit = f4_all(side->unit), zero = f4_all(0), one = f4_all(1);
    f4 s = f4_mul(f4_load(disc->s), unit), t = f4_mul(f4_load(disc->t), unit);
    f4 r = f4_mul(f4_load(disc->r), unit), t_view = f4_all(view->t), r_view = f4_all(view->r);
    f4 length_sq = zero, along = zero, along_view = zero, cosine = zero;
    for (int i = 0; i < 3; i++) {
        f4 m = f4_load(disc->m[i]), m_view = f4_all(view->m[i]);
        f4 d = f4_add(offset[i], f4_sub(f4_mul(s, m), f4_all(view->s * view->m[i])));
        length_sq = f4_add(length_sq, f4_mul(d, d));
        along = f4_add(along, f4_mul(d, m));
        along_view = f4_add(along_view, f4_mul(d, m_view));
        cosine = f4_add(cosine, f4_mul(m, m_view));
    }
    f4 length = f4_sqrt(length_sq), per_length = f4_div(one, f4_max(length, f4_all(LENGTH_SQ_MIN)));
    along = f4_abs(along);
    along_view = f4_abs(along_view);
    cosine = f4_min(f4_abs(cosine), one);
    f4 c = f4_mul(along, per_length), c_view = f4_mul(along_view, per_length);
    f4 reach = f4_add(f4_add(f4_mul(c, t), f4_mul(sine_upper_bound(c), r)),
                      f4_add(f4_mul(c_view, t_view), f4_mul(sine_upper_bound(c_view), r_view)));
    f4 between = f4_max(f4_sub(f4_sub(length, reach), pad), zero);
    f4 sine = sine_upper_bound(cosine), less_sq = f4_mul(length_sq, f4_all(1 - COSINE_SQ_ERROR));
    f4 one_sq = cylinder_gap_sq(along, f4_sub(less_sq, f4_mul(along, along)), t, r, sine, cosine,
                                t_view, r_view, pad);
    f4 other_sq = cylinder_gap_sq(along_view, f4_sub(less_sq, f4_mul(along_view, along_view)),
                                  t_view, r_view, sine, cosine, t, r, pad);
    return f4_max(f4_mul(between, between), f4_max(one_sq, other_sq));
}

#endif
