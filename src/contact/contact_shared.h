/* Points with normals against a field, for C and OpenCL C alike: the same bits on both sides.
 *
 * A point comes as floats about the middle of its body. A frame, made in doubles and rounded once,
 * takes it to cells of the field's grid. From there on all is in floats: with a grid of n cells a
 * place is good to 2n roundings of a cell, 3e-5 cells for 256.
 *
 * Depth is minus the interpolated distance, and the normal is the gradient of just that function.
 * Where this is shorter than FLAT, far inside a field that is limited to a band, or half-way
 * between two sides, it tells nothing; the way from the middle of the field's body to that of the
 * points stands in, which is the same for all of them and drives the bodies apart.
 *
 * A contact is the wrong way out where its normal points along the outward normal of the point
 * itself: there the nearest side of the field's body is one that the point did not come through.
 *
 * Edges. Each partial derivative of a trilinear function is a mean of differences between
 * neighbouring corners, none of which is larger than a cell, as distances grow no faster than the
 * way. So the interpolated distance grows by at most sqrt(3) times the way, and where it is d and
 * the least found so far is m, nothing less than m lies within (d - m) / sqrt(3). Where a sparse
 * field knows no more than the corners of a brick, d is not taken above the band.
 *
 * Balls. The same bound tells by one value that nothing within a ball touches, see contact_reach().
 * It needs distances whose sign changes at the surface alone; a field of a surface with holes, or
 * of values from elsewhere, is not asked like this (`culls`).
 */
#ifndef ABUTI_CONTACT_CONTACT_SHARED_H
#define ABUTI_CONTACT_CONTACT_SHARED_H

#include "field/field_shared.h"

#define CONTACT_STEEPEST 1.7320509f /* rounded up */
#define CONTACT_FLAT 0.1f           /* a gradient below this has no direction */
#define CONTACT_NONE (-3.0e38f)     /* a depth: not in contact */
#define CONTACT_WRONG (-2.0e38f)    /* in contact, but the wrong way out */
#define CONTACT_HALVINGS 16         /* by the golden section, at the end of an edge's search */
#define CONTACT_BALL 16             /* features of a ball, and balls of a group, at most */
#define CONTACT_ROUNDING 0.01f      /* cells: more than places and values are off by */

typedef struct contact_point {
    float x, y, z;    /* about the middle of its body */
    float nx, ny, nz; /* outward; zero = never rejected */
} contact_point;

/* Features close together: samples, or edges. */
typedef struct contact_ball {
    float x, y, z, radius; /* about the middle of the body; rounded up */
    word32 begin, end;     /* features in their order along a curve; of a group: balls */
} contact_ball;

/* Which balls and groups are those of samples, or of edges. */
typedef struct contact_part {
    word32 first_ball, balls, first_group, groups;
} contact_part;

/* From one body to the grid of a field. */
typedef struct contact_frame {
    float turn[9];  /* by rows: from the axes of the points to those of the field */
    float shift[3]; /* of the middle of the points, in cells from the first centre on */
    float away[3];  /* unit: from the middle of the field's body to that of the points */
    float per_cell;
    float band;     /* of the field; very large without a limit */
    float margin;   /* depths from minus this on are contacts */
    int any_normal; /* nothing is rejected */
    int one_way;    /* `away` is the normal of all */
    int edge_ends;  /* the deepest point of an edge may be its end, else this is left to vertices */
    int culls;      /* one value tells of a whole ball */
} contact_frame;

typedef struct contact_found {
    float depth;   /* at most CONTACT_WRONG where there is no contact to tell */
    float x, y, z; /* unit, in the axes of the field: outward from it */
    float along;   /* edges: from 0 at their first end to 1 */
} contact_found;

#ifdef __OPENCL_C_VERSION__
static inline float contact_sqrt(float x) {
    return sqrt(x);
}
#else
static inline float contact_sqrt(float x) {
    return sqrtf(x);
}
#endif

/* The value at a place in cells, and its gradient. Beyond the grid it is not more than the distance
 * to what is within; see field.h. */
static inline field_sample contact_value(const field_view *f, const float at[3]) {
    field_place place;
    float beyond[3], out = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        float last = (float)(f->count[axis] - 1);
        float near = !(at[axis] > 0.0f) ? 0.0f : at[axis] > last ? last : at[axis]; /* NaN: 0 */
        beyond[axis] = (at[axis] - near) * f->cell;
        out = out + beyond[axis] * beyond[axis];
        place.fraction[axis] = field_fraction(near, f->count[axis], &place.cell[axis]);
    }
    field_sample value = field_at_linear(f, &place);
    if (!(out > 0.0f))
        return value;
    float at_box = value.distance > 0.0f ? value.distance : 0.0f;
    float distance = contact_sqrt(out + at_box * at_box);
    value.x = (beyond[0] + at_box * value.x) / distance;
    value.y = (beyond[1] + at_box * value.y) / distance;
    value.z = (beyond[2] + at_box * value.z) / distance;
    value.distance = distance;
    return value;
}

/* The same, but where only corners of a brick are known not beyond the band, which is all that is
 * known for sure there: steps are taken by this. `band` is that of the field. */
static inline float contact_safe(const field_view *f, float band, const float at[3]) {
    field_place place;
    float out = 0.0f, value = contact_value(f, at).distance;
    if (!f->index || value <= band)
        return value;
    for (int axis = 0; axis < 3; axis++) {
        float last = (float)(f->count[axis] - 1);
        float near = !(at[axis] > 0.0f) ? 0.0f : at[axis] > last ? last : at[axis];
        out = out + (at[axis] - near) * (at[axis] - near);
        place.fraction[axis] = field_fraction(near, f->count[axis], &place.cell[axis]);
    }
    if (field_brick_of(f, &place) != ABUT_NONE)
        return value;
    out = contact_sqrt(out * f->cell * f->cell + band * band);
    return out < value ? out : value;
}

static inline void contact_turn(const contact_frame *frame, float x, float y, float z,
                                float out[3]) {
    for (int axis = 0; axis < 3; axis++)
        out[axis] = frame->turn[3 * axis] * x + frame->turn[3 * axis + 1] * y +
                    frame->turn[3 * axis + 2] * z;
}

static inline void contact_place(const contact_frame *frame, float x, float y, float z,
                                 float at[3]) {
    contact_turn(frame, x, y, z, at);
    for (int axis = 0; axis < 3; axis++)
        at[axis] = at[axis] * frame->per_cell + frame->shift[axis];
}

/* The contact at a place where the field has this value, with an outward normal of the points'
 * surface in the axes of the field. Rejected: one whose own normal points along that one. */
static inline contact_found contact_of(const contact_frame *frame, const field_sample *value,
                                       const float normal[3]) {
    contact_found found;
    found.depth = CONTACT_NONE;
    found.x = found.y = found.z = found.along = 0.0f;
    if (!(-value->distance >= -frame->margin))
        return found;
    float length = contact_sqrt(value->x * value->x + value->y * value->y + value->z * value->z);
    if (frame->one_way || length < CONTACT_FLAT) {
        found.x = frame->away[0];
        found.y = frame->away[1];
        found.z = frame->away[2];
    } else {
        found.x = value->x / length;
        found.y = value->y / length;
        found.z = value->z / length;
    }
    if (!frame->any_normal &&
        found.x * normal[0] + found.y * normal[1] + found.z * normal[2] > 0.0f) {
        found.depth = CONTACT_WRONG;
        return found;
    }
    found.depth = -value->distance;
    return found;
}

static inline contact_found contact_find(const field_view *f, const contact_frame *frame,
                                         contact_point point) {
    float at[3], normal[3];
    contact_place(frame, point.x, point.y, point.z, at);
    contact_turn(frame, point.nx, point.ny, point.nz, normal);
    field_sample value = contact_value(f, at);
    return contact_of(frame, &value, normal);
}

/* Makes all leave in one direction: that of the field in their middle if this is inside, or the one
 * from middle to middle. */
static inline void contact_go_one_way(const field_view *f, contact_frame *frame) {
    const float at[3] = {frame->shift[0], frame->shift[1], frame->shift[2]};
    field_sample value = contact_value(f, at);
    float length = contact_sqrt(value.x * value.x + value.y * value.y + value.z * value.z);
    frame->one_way = 1;
    if (length < CONTACT_FLAT || !(value.distance < 0.0f))
        return;
    frame->away[0] = value.x / length;
    frame->away[1] = value.y / length;
    frame->away[2] = value.z / length;
}

/* ---- edges ---- */

static inline float contact_along(const field_view *f, float band, const float from[3],
                                  const float way[3], float t) {
    float at[3];
    for (int axis = 0; axis < 3; axis++)
        at[axis] = from[axis] + t * way[axis];
    return contact_safe(f, band, at);
}

/* Where between two places, in cells, the distance is least; only looked for below `limit`. Returns
 * the parameter, and -1 where it is nowhere below. Steps are as long as the bound allows, and half
 * a cell at least; the best of them is refined among its neighbours. */
static inline float contact_deepest(const field_view *f, float band, const float from[3],
                                    const float to[3], float limit, float *least) {
    float way[3], length = 0.0f, best = -1.0f, width;
    for (int axis = 0; axis < 3; axis++) {
        way[axis] = to[axis] - from[axis];
        length = length + way[axis] * way[axis];
    }
    length = contact_sqrt(length); /* in cells */
    *least = limit;
    width = length > 0.5f ? 0.5f / length : 1.0f;
    width = width > 1e-6f ? width : 1e-6f; /* else t would stand still */
    for (float t = 0.0f;;) {
        float value = contact_along(f, band, from, way, t);
        if (value <= *least) {
            *least = value;
            best = t;
        }
        if (t >= 1.0f)
            break;
        float step = (value - *least) / (CONTACT_STEEPEST * f->cell * length);
        t = t + (step > width ? step : width);
        t = t > 1.0f ? 1.0f : t;
    }
    if (best < 0.0f)
        return best;
    /* Between the neighbours of the best one there is as a rule one minimum. */
    const float golden = 0.618034f;
    float lo = best - width > 0.0f ? best - width : 0.0f;
    float hi = best + width < 1.0f ? best + width : 1.0f;
    float a = hi - golden * (hi - lo), b = lo + golden * (hi - lo);
    float at_a = contact_along(f, band, from, way, a), at_b = contact_along(f, band, from, way, b);
    for (int i = 0;; i++) {
        bool left = at_a < at_b; /* the minimum is below b */
        float value = left ? at_a : at_b;
        if (value < *least) {
            *least = value;
            best = left ? a : b;
        }
        if (i == CONTACT_HALVINGS)
            break;
        lo = left ? lo : a;
        hi = left ? b : hi;
        float t = left ? hi - golden * (hi - lo) : lo + golden * (hi - lo);
        float at_t = contact_along(f, band, from, way, t);
        float other = left ? a : b, at_other = left ? at_a : at_b;
        a = left ? t : other;
        at_a = left ? at_t : at_other;
        b = left ? other : t;
        at_b = left ? at_other : at_t;
    }
    return best;
}

/* Where an edge is deepest in the field, or -1 where it does not touch. */
static inline float contact_search_edge(const field_view *f, const contact_frame *frame,
                                        contact_point a, contact_point b) {
    float from[3], to[3], least;
    contact_place(frame, a.x, a.y, a.z, from);
    contact_place(frame, b.x, b.y, b.z, to);
    float t = contact_deepest(f, frame->band, from, to, frame->margin, &least);
    return !frame->edge_ends && (t == 0.0f || t == 1.0f) ? -1.0f : t;
}

/* The contact of an edge, whose ends have the same normal, where it is deepest. */
static inline contact_found contact_at_edge(const field_view *f, const contact_frame *frame,
                                            contact_point a, contact_point b, float t) {
    float from[3], to[3], at[3], normal[3];
    contact_found found;
    found.depth = CONTACT_NONE;
    found.x = found.y = found.z = found.along = 0.0f;
    if (t < 0.0f)
        return found;
    contact_place(frame, a.x, a.y, a.z, from);
    contact_place(frame, b.x, b.y, b.z, to);
    contact_turn(frame, a.nx, a.ny, a.nz, normal);
    for (int axis = 0; axis < 3; axis++)
        at[axis] = from[axis] + t * (to[axis] - from[axis]);
    field_sample value = contact_value(f, at);
    found = contact_of(frame, &value, normal);
    found.along = t;
    return found;
}

static inline contact_found contact_find_edge(const field_view *f, const contact_frame *frame,
                                              contact_point a, contact_point b) {
    return contact_at_edge(f, frame, a, b, contact_search_edge(f, frame, a, b));
}

/* ---- balls ---- */

/* How far the value at the middle c of a ball must be above 0 so that nothing within touches.
 *
 * A value is the mean of distances d at eight corners with weights that also make their mean place
 * the place itself; the mean square of the way to them is at most 3/4 of a squared cell. For a
 * place y within r of c, take a corner X by the weights of c and a corner Y by those of y. d falls
 * from X to Y by no more than the way, so the value falls from c to y by no more than the mean of
 * |X - Y|, which is at most the root of its mean square: r^2 + 3/4 + 3/4 squared cells. In a sparse
 * field a cell may be a brick. In a dense one the value also falls by no more than sqrt(3) r (see
 * above). Values of 16 bits are off by half a step, here and there. Beyond the grid the way from
 * the box goes into both squares alike; a place there may have a value that is less than the
 * distance by a factor of sqrt(2), so the margin counts one and a half times. */
static inline float contact_reach(const field_view *f, float radius, float margin) {
    float width = f->cell * (f->index ? (float)FIELD_BRICK : 1.0f);
    float by_mean = contact_sqrt(radius * radius + 1.5f * width * width);
    float by_slope = CONTACT_STEEPEST * radius;
    float reach = f->index || by_mean < by_slope ? by_mean : by_slope;
    float rounding = CONTACT_ROUNDING * f->cell + (f->shorts ? f->scale : 0.0f);
    return reach * 1.00001f + 1.5f * margin + rounding;
}

/* Whether one value shows that nothing within a ball touches. */
static inline bool contact_is_far(const field_view *f, const contact_frame *frame,
                                  contact_ball ball) {
    float at[3];
    contact_place(frame, ball.x, ball.y, ball.z, at);
    return frame->culls &&
           contact_value(f, at).distance > contact_reach(f, ball.radius, frame->margin);
}

/* The same of an edge, by its middle. */
static inline bool contact_edge_is_far(const field_view *f, const contact_frame *frame,
                                       contact_point a, contact_point b) {
    float x = 0.5f * (b.x - a.x), y = 0.5f * (b.y - a.y), z = 0.5f * (b.z - a.z);
    contact_ball ball;
    ball.x = a.x + x;
    ball.y = a.y + y;
    ball.z = a.z + z;
    ball.radius = contact_sqrt(x * x + y * y + z * z);
    return contact_is_far(f, frame, ball);
}

#endif
