/* Swept bounding boxes of features: in doubles, equal to those of the CPU, and in floats.
 *
 * Float coordinates are rounded to nearest after the origin is subtracted. Both steps are
 * monotonic: x <= y implies f(x) <= f(y). So boxes that overlap in doubles also overlap in floats,
 * and a strict inequality of floats implies the same inequality of doubles. Only equal floats need
 * a comparison of doubles.
 */
#ifndef ABUTI_SWEEP_BOXES_CL_H
#define ABUTI_SWEEP_BOXES_CL_H

#include "sweep/device_shared.h"

/* The vertices of a feature. Edges and vertices repeat their last one. */
typedef struct sweep_corners {
    uint at[3];
} sweep_corners;

static inline sweep_corners corners_of(uint kind, uint feature, __global const uint *edges,
                                       __global const uint *faces) {
    sweep_corners c;
    if (kind == SWEEP_VERTICES) {
        c.at[0] = c.at[1] = c.at[2] = feature;
    } else if (kind == SWEEP_EDGES) {
        c.at[0] = edges[2 * (size_t)feature];
        c.at[1] = c.at[2] = edges[2 * (size_t)feature + 1];
    } else {
        for (int k = 0; k < 3; k++)
            c.at[k] = faces[3 * (size_t)feature + k];
    }
    return c;
}

/* The margin around a box. If only the beginning of the step is searched (window < 1), sweep_pair()
 * may report a hit up to 100 ulps (geom/sweep_shared.h) of twice the largest coordinate before
 * contact, and interpolated positions are rounded. The term 2^-44 times the largest coordinate
 * covers both. */
static inline double box_margin(const sweep_corners *c, __global const double *start,
                                __global const double *end, const sweep_scene *scene) {
    double size = 0.0;
    for (int i = 0; i < 9 && scene->window < 1.0; i++) {
        size_t at = 3 * (size_t)c->at[i / 3] + i % 3;
        size = real_max(size, real_max(fabs(start[at]), fabs(end[at])));
    }
    return scene->margin + 0x1p-44 * size;
}

/* One axis of the box: x is the lower, y the upper bound. For the whole step equal to
 * abuti_broad_overlap(). */
static inline double2 swept_axis(const sweep_corners *c, int axis, __global const double *start,
                                 __global const double *end, double window, double margin) {
    double lo = start[3 * (size_t)c->at[0] + axis], hi = lo;
    for (int k = 0; k < 3; k++) {
        double p = start[3 * (size_t)c->at[k] + axis], q = end[3 * (size_t)c->at[k] + axis];
        q = window < 1.0 ? p + window * (q - p) : q;
        lo = real_min(lo, real_min(p, q));
        hi = real_max(hi, real_max(p, q));
    }
    if (margin > 0.0) {
        lo -= margin;
        hi += margin;
        lo -= fabs(lo) * 0x1p-52;
        hi += fabs(hi) * 0x1p-52;
    }
    return (double2)(lo, hi);
}

static inline sweep_box swept_box(const sweep_corners *c, __global const double *start,
                                  __global const double *end, const sweep_scene *scene) {
    sweep_box box;
    double margin = box_margin(c, start, end, scene);
    for (int axis = 0; axis < 3; axis++) {
        double2 d = swept_axis(c, axis, start, end, scene->window, margin);
        box.lo[axis] = (float)(d.x - scene->origin[axis]);
        box.hi[axis] = (float)(d.y - scene->origin[axis]);
    }
    box.feature = 0;
    box.sets = SWEEP_SET_ANY;
    return box;
}

/* Whether the boxes of two features overlap in doubles. */
static inline bool exact_overlap(const sweep_corners *a, const sweep_corners *b,
                                 __global const double *start, __global const double *end,
                                 const sweep_scene *scene) {
    double margin_a = box_margin(a, start, end, scene), margin_b = box_margin(b, start, end, scene);
    for (int axis = 0; axis < 3; axis++) {
        double2 p = swept_axis(a, axis, start, end, scene->window, margin_a);
        double2 q = swept_axis(b, axis, start, end, scene->window, margin_b);
        if (p.x > q.y || q.x > p.y)
            return false;
    }
    return true;
}

#endif
