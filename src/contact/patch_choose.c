/* A few points of many: what a solver needs of a patch.
 *
 * Candidates in one place are one. Of these the deepest stays, that which is furthest from it, the
 * one furthest beside both, and that which makes the area largest, each by its depth's worth
 * (Moravanszky and Terdiman 2004, "Fast contact reduction for dynamics simulation"). */
#include "contact/patch.h"

#include <math.h>

#define ABOUT 0.03   /* of a value: no difference for which another point is chosen */
#define LASTING 1.01 /* times as good is a vertex */
#define WORTH 0.01   /* of a point, at least, that is no gap beyond the margin */
#define PLACE 1e-4   /* of the contour's extent: one place */

/* They differ by 12.94 degrees from axes and diagonals, so that no two corners of boxes and regular
 * polygons are as far out. */
const double abuti_patch_directions[PATCH_DIRECTIONS][2] = {
    {0.97460509867730605, 0.2239305732413476},   {0.5308070473997597, 0.84749270110765507},
    {-0.22393057324134749, 0.97460509867730605}, {-0.84749270110765518, 0.53080704739975959},
    {0.81472318256962506, 0.57985009768354911},  {0.16608035104114791, 0.98611222332858706},
    {-0.57985009768354923, 0.81472318256962495}, {-0.98611222332858706, 0.16608035104114774}};

/* The candidate with the most of `value`, among those not taken; of about equals the lowest
 * by name. */
static uint32_t best_of(const patch_choice *m, const double *value, const bool *taken) {
    uint32_t best = ABUT_NONE;
    double most = 0;
    for (uint32_t i = 0; i < m->count; i++)
        most = taken[i] ? most : real_max(most, value[i]);
    for (uint32_t i = 0; i < m->count; i++)
        if (!taken[i] && value[i] >= (1 - ABOUT) * most &&
            (best == ABUT_NONE ||
             patch_name(&m->found[i].point) < patch_name(&m->found[best].point)))
            best = i;
    return best;
}

static bool same_feature(const patch_point *a, const patch_point *b) {
    return a->side == b->side && a->kind == b->kind && a->element == b->element &&
           a->part == b->part;
}

/* Takes a candidate, and with it all others of its feature. */
static void take(const patch_choice *m, uint32_t i, bool *taken, patch_answer *answer) {
    for (uint32_t k = 0; k < m->count; k++)
        taken[k] |= same_feature(&m->found[k].point, &m->found[i].point);
    answer->points[answer->count++] = m->found[i].point;
}

/* What each candidate is worth: by its depth, less what a tilt of nearly parallel faces makes; more
 * if it lasts; and whether it is none at all. */
static void rate(const patch_choice *m, double extent, double gap, double *worth, bool *taken) {
    double scale = m->deepest + gap;
    for (uint32_t i = 0; i < m->count; i++) {
        const patch_point *p = &m->found[i].point;
        taken[i] = p->depth < -gap;
        worth[i] =
            scale > 0 ? real_clamp((p->depth + gap + m->flat * extent) / scale, WORTH, 1) : 1;
        if (p->kind == ABUT_CONTACT_VERTEX) /* lasts longer than a crossing beside it */
            worth[i] *= LASTING;
    }
}

static double apart(const patch_candidate *a, const patch_candidate *b) {
    double u = a->u - b->u, v = a->v - b->v;
    return sqrt(u * u + v * v);
}

/* How far a candidate is to the left of the way from one chosen to another. */
static double beside(const patch_candidate *from, const patch_candidate *to,
                     const patch_candidate *at) {
    double du = to->u - from->u, dv = to->v - from->v;
    return (du * (at->v - from->v) - dv * (at->u - from->u)) / sqrt(du * du + dv * dv);
}

/* How much larger the triangle of three chosen becomes by a fourth point: the sum of what it makes
 * with the sides that it sees from outside. */
static double more_area(const patch_candidate *c, const uint32_t chosen[3],
                        const patch_candidate *at) {
    double sum = 0, turn = beside(&c[chosen[0]], &c[chosen[1]], &c[chosen[2]]);
    for (int k = 0; k < 3; k++) {
        const patch_candidate *from = &c[chosen[k]], *to = &c[chosen[k == 2 ? 0 : k + 1]];
        double outside = turn > 0 ? -beside(from, to, at) : beside(from, to, at);
        sum += outside > 0 ? outside * apart(from, to) : 0;
    }
    return sum;
}

/* What a candidate adds to those chosen: as second its distance, as third how far it is
 * beside them, as fourth the area, as a length too; then how far it is from all. */
static double gain(const patch_candidate *c, const uint32_t *chosen, uint32_t count, uint32_t i) {
    const patch_candidate *first = &c[chosen[0]], *second = &c[chosen[count > 1]], *at = &c[i];
    if (count == 2)
        return fabs(beside(first, second, at));
    if (count == 3)
        return more_area(c, chosen, at) / apart(first, second);
    double least = INFINITY;
    for (uint32_t k = 0; k < count; k++)
        least = real_min(least, apart(at, &c[chosen[k]]));
    return least;
}

/* The middle of the box around all candidates, and how far they are from it at most. */
static patch_candidate middle_of(const patch_choice *m, double *extent) {
    double lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
    for (uint32_t i = 0; i < m->count; i++) {
        const double at[2] = {m->found[i].u, m->found[i].v};
        for (int k = 0; k < 2; k++) {
            lo[k] = real_min(lo[k], at[k]);
            hi[k] = real_max(hi[k], at[k]);
        }
    }
    patch_candidate middle = {.u = 0.5 * (lo[0] + hi[0]), .v = 0.5 * (lo[1] + hi[1])};
    *extent = 0;
    for (uint32_t i = 0; i < m->count; i++)
        *extent = real_max(*extent, apart(&m->found[i], &middle));
    return middle;
}

/* Leaves out the last candidate, if it is only there for its depth and others are as deep but for
 * the tilt of nearly parallel faces. */
static void drop_extra(patch_choice *m, double gap) {
    double depth = -INFINITY, extent;
    patch_choice others = *m;
    if (!m->extra || m->count < 2)
        return;
    others.count--;
    middle_of(&others, &extent);
    for (uint32_t i = 0; i < others.count; i++)
        depth = real_max(depth, m->found[i].point.depth);
    if (depth >= real_max(m->deepest - m->flat * extent, -gap))
        m->count--;
}

/* Candidates in one place become one: that with the lowest name, as deep as the deepest. */
static uint32_t merge(const patch_choice *m, double extent, patch_candidate *merged) {
    double place = real_max(PLACE * extent, m->place);
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const patch_candidate *c = &m->found[i];
        uint32_t k = 0;
        while (k < count &&
               !(fabs(c->u - merged[k].u) <= place && fabs(c->v - merged[k].v) <= place))
            k++;
        if (k == count) {
            merged[count++] = *c;
            continue;
        }
        double depth = real_max(c->point.depth, merged[k].point.depth);
        if (patch_name(&c->point) < patch_name(&merged[k].point))
            merged[k] = *c;
        merged[k].point.depth = depth;
    }
    return count;
}

/* Puts the deepest of the chosen points first. It is as deep as the patch: its own depth is less by
 * the tilt of nearly parallel faces at most. */
static void set_deepest(double deepest, patch_answer *answer) {
    patch_point *points = answer->points;
    uint32_t first = 0;
    for (uint32_t i = 1; i < answer->count; i++)
        if (points[i].depth > points[first].depth)
            first = i;
    patch_point point = points[first];
    points[first] = points[0];
    points[0] = point;
    points[0].depth = deepest;
}

void abuti_patch_choose(const patch_choice *from, uint32_t keep, double gap, patch_answer *answer) {
    patch_candidate merged[PATCH_CANDIDATES];
    patch_choice one_a_place = *from, *m = &one_a_place;
    double extent;
    drop_extra(m, gap);
    const patch_candidate centre = middle_of(m, &extent);
    m->count = merge(m, extent, merged);
    m->found = merged;
    bool taken[PATCH_CANDIDATES];
    double value[PATCH_CANDIDATES], worth[PATCH_CANDIDATES];
    uint32_t chosen[PATCH_POINTS];
    const patch_candidate *c = m->found;
    answer->count = 0;
    if (!m->count || m->deepest < -gap)
        return;
    rate(m, extent, gap, worth, taken);
    double as_deep =
        real_min((1 - m->as_deep) * (m->deepest + gap), m->deepest + gap - m->flat * extent);
    for (uint32_t i = 0; i < m->count; i++) /* the outermost of those that are as deep */
        value[i] = c[i].point.depth + gap >= as_deep ? worth[i] * apart(&c[i], &centre) : 0;
    chosen[0] = best_of(m, value, taken);
    if (chosen[0] == ABUT_NONE) /* the deepest point is not among them: the next one to it */
        for (uint32_t i = chosen[0] = 0; i < m->count; i++)
            chosen[0] = c[i].point.depth > c[chosen[0]].point.depth ? i : chosen[0];
    take(m, chosen[0], taken, answer);
    while (answer->count < keep) {
        uint32_t n = answer->count;
        for (uint32_t i = 0; i < m->count; i++)
            value[i] = worth[i] * gain(c, chosen, n, i);
        uint32_t next = best_of(m, value, taken);
        if (next == ABUT_NONE || !(value[next] > 1e-6 * apart(&c[chosen[0]], &c[chosen[n > 1]])))
            break;
        chosen[n] = next;
        take(m, next, taken, answer);
    }
    set_deepest(m->deepest, answer);
}
