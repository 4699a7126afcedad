/* Discs: what a hierarchy has for distances beside its boxes.
 *
 * The part of a surface that a box holds is about flat, but boxes know nothing of that: on a slope
 * they reach beyond the surface by half their size, and far away, where directions hardly differ,
 * thousands of pairs of them seem nearer than the nearest triangles. A disc is a cylinder along the
 * mean normal m of the triangles, so thin as they allow, by which a direction n sees them reach
 *   n . c + |n . m| t + sqrt(1 - (n . m)^2) r
 * at most, with c its middle, t half its height and r its radius. c is s along m from the middle of
 * the box, so that six numbers are kept. The idea is that of oriented boxes (Gottschalk and others
 * 1996) and swept spheres (Larsen and others 1999, "Fast proximity queries with swept sphere
 * volumes"), for fewer operations.
 */
#ifndef ABUTI_PAIR_DISC_BOUNDS_H
#define ABUTI_PAIR_DISC_BOUNDS_H

#include "pair/leaf.h"

/* Of the children of a node, in the hierarchy's frame; undefined in empty slots. */
typedef struct pair_disc {
    float m[3][BVH_WIDTH];
    float s[BVH_WIDTH], t[BVH_WIDTH], r[BVH_WIDTH];
} pair_disc;

/* The discs of all nodes, or null: it does not pay to make them yet, another thread is about it, or
 * there is no memory. `steps` are those that a search has taken without them since it asked last.
 * Thread-safe. */
const pair_disc *abuti_pair_discs(const abut_bvh *bvh, uint32_t steps);

/* ---- bounds ----
 *
 * What rounding does, with u = 2^-24 and T of pair.h: middles of boxes are off by 10u (8 + T) along
 * an axis, and s m, with m turned, by 25u more: in all less than 26u (8 + T) along any direction.
 * Cosines are off by 14u, of which 6u are the lengths of m, and count for t, at most 2 sqrt(3), and
 * for r in a square root, where 32u are added to 1. Lengths and parts along m take 15u (8 + T)
 * more: less than 64u (8 + T) in all, two pads.
 */

/* 32u */
#define DISC_COSINE 0x1p-19f

/* A disc of the other side, as this side sees it, in units. */
typedef struct disc_view {
    float s, t, r;
    float m[4];
} disc_view;

static inline disc_view disc_view_of(const pair_side *side, const pair_side *other,
                                     const pair_disc *discs, uint32_t place) {
    const pair_disc *disc = &discs[place / BVH_WIDTH];
    uint32_t slot = place % BVH_WIDTH;
    f4 m = f4_mul(f4_load(side->turn[0]), f4_all(disc->m[0][slot]));
    for (int j = 1; j < 3; j++)
        m = f4_add(m, f4_mul(f4_load(side->turn[j]), f4_all(disc->m[j][slot])));
    disc_view view = {disc->s[slot] * other->unit,
                      disc->t[slot] * other->unit,
                      disc->r[slot] * other->unit,
                      {0}};
    f4_store(view.m, m);
    return view;
}

/* The rest of a unit vector beside a part c along another, and what c is off by. */
static inline f4 sine_of(f4 c) {
    return f4_sqrt(f4_max(f4_sub(f4_all(1 + DISC_COSINE), f4_mul(c, c)), f4_all(0)));
}

/* The squared distance of two cylinders as seen by one of them, at least: what is between them
 * along its axis, and across. `along` and `across_sq` are of their middles, `sine` of their axes,
 * the first t and r its own. */
static inline f4 disc_gap_sq(f4 along, f4 across_sq, f4 t, f4 r, f4 sine, f4 cosine, f4 t_other,
                             f4 r_other, f4 pad) {
    f4 zero = f4_all(0);
    f4 high = f4_add(f4_add(t, pad), f4_add(f4_mul(cosine, t_other), f4_mul(sine, r_other)));
    f4 broad = f4_add(f4_add(r, pad), f4_add(r_other, f4_mul(sine, t_other)));
    f4 over = f4_max(f4_sub(along, high), zero);
    f4 beside = f4_max(f4_sub(f4_sqrt(f4_max(across_sq, zero)), broad), zero);
    return f4_add(f4_mul(over, over), f4_mul(beside, beside));
}

/* Squared lower bounds of the distances of a disc to those of the children of a node, whose boxes'
 * middles are `offset` from that of its own: along the line between their middles, and as either
 * sees the other. */
static inline f4 discs_lower_sq(const pair_side *side, const disc_view *view, const pair_disc *disc,
                                const f4 offset[3], float pad_of_boxes) {
    f4 pad = f4_all(2 * pad_of_boxes);
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
    f4 length = f4_sqrt(length_sq), per_length = f4_div(one, f4_max(length, f4_all(TINY)));
    along = f4_abs(along);
    along_view = f4_abs(along_view);
    cosine = f4_min(f4_abs(cosine), one);
    f4 c = f4_mul(along, per_length), c_view = f4_mul(along_view, per_length);
    f4 reach = f4_add(f4_add(f4_mul(c, t), f4_mul(sine_of(c), r)),
                      f4_add(f4_mul(c_view, t_view), f4_mul(sine_of(c_view), r_view)));
    f4 between = f4_max(f4_sub(f4_sub(length, reach), pad), zero);
    f4 sine = sine_of(cosine), less_sq = f4_mul(length_sq, f4_all(1 - DISC_COSINE));
    f4 one_sq = disc_gap_sq(along, f4_sub(less_sq, f4_mul(along, along)), t, r, sine, cosine,
                            t_view, r_view, pad);
    f4 other_sq = disc_gap_sq(along_view, f4_sub(less_sq, f4_mul(along_view, along_view)), t_view,
                              r_view, sine, cosine, t, r, pad);
    return f4_max(f4_mul(between, between), f4_max(one_sq, other_sq));
}

#endif
