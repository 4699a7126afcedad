/* Points with normals in a signed distance field, compiled as C and OpenCL C with equal bits.
 *
 * A point is given in floats relative to the centre of its body. A frame, computed in doubles and
 * rounded once, transforms it to cells of the grid. Everything after that is in floats: on a grid
 * of n cells a position is accurate to 2n rounding errors of a cell, 3e-5 cells for n = 256.
 *
 * The penetration depth is minus the interpolated distance, and the contact normal is the gradient
 * of the same interpolation. A gradient shorter than CONTACT_MIN_GRADIENT has no reliable
 * direction. It occurs deep inside a field with a narrow band and midway between two sides. Then
 * the normal is the direction from the centre of the field's body to the centre of the points. It
 * is the same for all points and pushes the bodies apart.
 *
 * A contact is backfacing if its normal points along the outward normal of the point itself: the
 * point did not enter through the side of the field's body that is nearest to it.
 *
 * Edges. Each partial derivative of a trilinear function is a mean of differences between
 * neighbouring corners. None of them exceeds a cell, because distances have Lipschitz constant 1.
 * So the interpolated distance has Lipschitz constant sqrt(3). If it is d at a point, and the
 * smallest value so far is m, no value below m lies within (d - m) / sqrt(3) of the point. Where a
 * sparse field stores only the corners of a brick, d is limited to the band.
 *
 * Balls. The same bound proves with one value that nothing inside a ball touches; see
 * contact_reach(). It requires distances whose sign changes only at the surface. Fields of surfaces
 * with holes and fields of user-supplied values are excluded (`can_cull`).
 */
#ifndef ABUTI_CONTACT_CONTACT_SHARED_H
#define ABUTI_CONTACT_CONTACT_SHARED_H

#include "field/field_shared.h"

#define CONTACT_MAX_SLOPE 1.7320509f  /* sqrt(3), rounded up */
#define CONTACT_MIN_GRADIENT 0.1f     /* below this length a gradient has no reliable direction */
#define CONTACT_NONE (-3.0e38f)       /* a depth: no contact */
#define CONTACT_BACKFACING (-2.0e38f) /* a depth: a backfacing contact, which is not reported */
#define CONTACT_GOLDEN_STEPS 16 /* steps of the golden-section search that ends an edge query */
#define CONTACT_BALL_SIZE 16    /* largest number of features in a ball, and of balls in a group */
/* Cells: upper bound of the rounding errors of positions and values. */
#define CONTACT_ROUNDING 0.01f

typedef struct contact_point {
    float x, y, z;    /* relative to the centre of its body */
    float nx, ny, nz; /* outward; zero: never backfacing */
} contact_point;

/* The bounding ball of neighbouring features, which are samples or edges. */
typedef struct contact_ball {
    float x, y, z, radius; /* relative to the centre of the body; rounded up */
    word32 begin, end;     /* range of features in spatial order; of a group: range of balls */
} contact_ball;

/* The ranges of balls and groups of one kind of feature: samples or edges. */
typedef struct contact_part {
    word32 first_ball, balls, first_group, groups;
} contact_part;

/* The transformation from a body to the grid of a field. */
typedef struct contact_frame {
    float turn[9];  /* rotation by rows: from the axes of the points to those of the field */
    float shift[3]; /* the centre of the points, in cells relative to the first cell centre */
    float away[3];  /* unit: from the centre of the field's body to that of the points */
    float per_cell;
    float band;          /* of the field; very large if it has no limit */
    float margin;        /* contacts have depths of at least minus this */
    int keep_backfacing; /* backfacing contacts are reported */
    int common_normal;   /* `away` is the normal of all contacts */
    int edge_ends; /* ends of an edge are reported, too; otherwise vertex samples cover them */
    int can_cull;  /* one value may cull a whole ball */
} contact_frame;

typedef struct contact_found {
    float depth;   /* at most CONTACT_BACKFACING: no contact to report */
    float x, y, z; /* unit normal in the axes of the field, outward */
    float along;   /* edges: parameter from 0 at the first end to 1 */
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

/* The interpolated value and gradient at a position in cells. Outside the grid the value is a lower
 * bound of the distance to the surface inside it; see field.h. */
static inline field_sample contact_value(const field_view *f, const float at[3]) {
    field_place position;
    float beyond[3], out = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        float last = (float)(f->count[axis] - 1);
        float clamped = !(at[axis] > 0.0f) ? 0.0f
                        : at[axis] > last  ? last
                                           : at[axis]; /* NaN becomes 0 */
        beyond[axis] = (at[axis] - clamped) * f->cell;
        out = out + beyond[axis] * beyond[axis];
        position.fraction[axis] = field_fraction(clamped, f->count[axis], &position.cell[axis]);
    }
    field_sample value = field_at_linear(f, &position);
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

/* A lower bound of the value for steps along a ray or edge. Where only the corners of a brick are
 * stored, it is limited to `band`, the band of the field, since only this is certain there. */
static inline float contact_lower_bound(const field_view *f, float band, const float at[3]) {
    field_place position;
    float out = 0.0f, value = contact_value(f, at).distance;
    if (!f->index || value <= band)
        return value;
    for (int axis = 0; axis < 3; axis++) {
        float last = (float)(f->count[axis] - 1);
        float clamped = !(at[axis] > 0.0f) ? 0.0f : at[axis] > last ? last : at[axis];
        out = out + (at[axis] - clamped) * (at[axis] - clamped);
        position.fraction[axis] = field_fraction(clamped, f->count[axis], &position.cell[axis]);
    }
    if (field_brick_of(f, &position) != ABUT_NONE)
        return value;
    out = contact_sqrt(out * f->cell * f->cell + band * band);
    return out < value ? out : value;
}

static inline void contact_rotate(const contact_frame *frame, float x, float y, float z,
                                  float out[3]) {
    for (int axis = 0; axis < 3; axis++)
        out[axis] = frame->turn[3 * axis] * x + frame->turn[3 * axis + 1] * y +
                    frame->turn[3 * axis + 2] * z;
}

static inline void contact_to_cells(const contact_frame *frame, float x, float y, float z,
                                    float at[3]) {
    contact_rotate(frame, x, y, z, at);
    for (int axis = 0; axis < 3; axis++)
        at[axis] = at[axis] * frame->per_cell + frame->shift[axis];
}

/* The contact at a position with this field value. `normal` is the outward normal of the point's
 * own surface, in the axes of the field. The contact is backfacing if its normal points along it.
 */
static inline contact_found contact_from_value(const contact_frame *frame,
                                               const field_sample *value, const float normal[3]) {
    contact_found found;
    found.depth = CONTACT_NONE;
    found.x = found.y = found.z = found.along = 0.0f;
    if (!(-value->distance >= -frame->margin))
        return found;
    float length = contact_sqrt(value->x * value->x + value->y * value->y + value->z * value->z);
    if (frame->common_normal || length < CONTACT_MIN_GRADIENT) {
        found.x = frame->away[0];
        found.y = frame->away[1];
        found.z = frame->away[2];
    } else {
        found.x = value->x / length;
        found.y = value->y / length;
        found.z = value->z / length;
    }
    if (!frame->keep_backfacing &&
        found.x * normal[0] + found.y * normal[1] + found.z * normal[2] > 0.0f) {
        found.depth = CONTACT_BACKFACING;
        return found;
    }
    found.depth = -value->distance;
    return found;
}

static inline contact_found contact_test_point(const field_view *f, const contact_frame *frame,
                                               contact_point point) {
    float at[3], normal[3];
    contact_to_cells(frame, point.x, point.y, point.z, at);
    contact_rotate(frame, point.nx, point.ny, point.nz, normal);
    field_sample value = contact_value(f, at);
    return contact_from_value(frame, &value, normal);
}

/* Selects one normal for all contacts: the gradient at the centre of the points if this is inside,
 * otherwise the direction from centre to centre. */
static inline void contact_use_common_normal(const field_view *f, contact_frame *frame) {
    const float at[3] = {frame->shift[0], frame->shift[1], frame->shift[2]};
    field_sample value = contact_value(f, at);
    float length = contact_sqrt(value.x * value.x + value.y * value.y + value.z * value.z);
    frame->common_normal = 1;
    if (length < CONTACT_MIN_GRADIENT || !(value.distance < 0.0f))
        return;
    frame->away[0] = value.x / length;
    frame->away[1] = value.y / length;
    frame->away[2] = value.z / length;
}

/* ---- edges ---- */

static inline float contact_value_along(const field_view *f, float band, const float from[3],
                                        const float direction[3], float t) {
    float at[3];
    for (int axis = 0; axis < 3; axis++)
        at[axis] = from[axis] + t * direction[axis];
    return contact_lower_bound(f, band, at);
}

/* Searches the segment between two positions, in cells, for the smallest distance below `limit`.
 * Returns its parameter, or -1 if no value is below `limit`. Steps are as long as the Lipschitz
 * bound allows, and at least half a cell. A golden-section search between the neighbours refines
 * the best step. */
static inline float contact_segment_minimum(const field_view *f, float band, const float from[3],
                                            const float to[3], float limit, float *minimum) {
    float direction[3], length = 0.0f, best = -1.0f, width;
    for (int axis = 0; axis < 3; axis++) {
        direction[axis] = to[axis] - from[axis];
        length = length + direction[axis] * direction[axis];
    }
    length = contact_sqrt(length); /* in cells */
    *minimum = limit;
    width = length > 0.5f ? 0.5f / length : 1.0f;
    width = width > 1e-6f ? width : 1e-6f; /* otherwise rounding may leave t unchanged */
    for (float t = 0.0f;;) {
        float value = contact_value_along(f, band, from, direction, t);
        if (value <= *minimum) {
            *minimum = value;
            best = t;
        }
        if (t >= 1.0f)
            break;
        float step = (value - *minimum) / (CONTACT_MAX_SLOPE * f->cell * length);
        t = t + (step > width ? step : width);
        t = t > 1.0f ? 1.0f : t;
    }
    if (best < 0.0f)
        return best;
    /* Usually there is one minimum between the neighbours of the best step. */
    const float golden = 0.618034f;
    float lo = best - width > 0.0f ? best - width : 0.0f;
    float hi = best + width < 1.0f ? best + width : 1.0f;
    float a = hi - golden * (hi - lo), b = lo + golden * (hi - lo);
    float at_a = contact_value_along(f, band, from, direction, a),
          at_b = contact_value_along(f, band, from, direction, b);
    for (int i = 0;; i++) {
        bool left = at_a < at_b; /* the minimum is below b */
        float value = left ? at_a : at_b;
        if (value < *minimum) {
            *minimum = value;
            best = left ? a : b;
        }
        if (i == CONTACT_GOLDEN_STEPS)
            break;
        lo = left ? lo : a;
        hi = left ? b : hi;
        float t = left ? hi - golden * (hi - lo) : lo + golden * (hi - lo);
        float at_t = contact_value_along(f, band, from, direction, t);
        float other = left ? a : b, at_other = left ? at_a : at_b;
        a = left ? t : other;
        at_a = left ? at_t : at_other;
        b = left ? other : t;
        at_b = left ? at_other : at_t;
    }
    return best;
}

/* The parameter of the deepest point of an edge, or -1 if the edge does not touch. */
static inline float contact_edge_parameter(const field_view *f, const contact_frame *frame,
                                           contact_point a, contact_point b) {
    float from[3], to[3], minimum;
    contact_to_cells(frame, a.x, a.y, a.z, from);
    contact_to_cells(frame, b.x, b.y, b.z, to);
    float t = contact_segment_minimum(f, frame->band, from, to, frame->margin, &minimum);
    return !frame->edge_ends && (t == 0.0f || t == 1.0f) ? -1.0f : t;
}

/* The contact at parameter t of an edge, whose ends have the same normal. */
static inline contact_found contact_edge_result(const field_view *f, const contact_frame *frame,
                                                contact_point a, contact_point b, float t) {
    float from[3], to[3], at[3], normal[3];
    contact_found found;
    found.depth = CONTACT_NONE;
    found.x = found.y = found.z = found.along = 0.0f;
    if (t < 0.0f)
        return found;
    contact_to_cells(frame, a.x, a.y, a.z, from);
    contact_to_cells(frame, b.x, b.y, b.z, to);
    contact_rotate(frame, a.nx, a.ny, a.nz, normal);
    for (int axis = 0; axis < 3; axis++)
        at[axis] = from[axis] + t * (to[axis] - from[axis]);
    field_sample value = contact_value(f, at);
    found = contact_from_value(frame, &value, normal);
    found.along = t;
    return found;
}

static inline contact_found contact_test_edge(const field_view *f, const contact_frame *frame,
                                              contact_point a, contact_point b) {
    return contact_edge_result(f, frame, a, b, contact_edge_parameter(f, frame, a, b));
}

/* ---- balls ---- */

/* The value at the centre c of a ball above which nothing inside the ball touches.
 *
 * An interpolated value is the weighted mean of distances d at eight corners. The same weights give
 * the position as the mean of the corners, and the mean squared distance to the corners is at most
 * 3/4 of a squared cell. For a point y within r of c, choose a corner X with the weights of c and
 * independently a corner Y with the weights of y. From X to Y, d decreases by at most |X - Y|. So
 * from c to y the value decreases by at most the mean of |X - Y|, which is at most its root mean
 * square: r^2 + 3/4 + 3/4 in squared cells. In a sparse field a cell may be a brick. In a dense one
 * the value also decreases by at most sqrt(3) r (see above). Values of 16 bits add half a step at
 * both points. Outside the grid, the distance to the box contributes equally to both squares. A
 * value there may be smaller than the distance by a factor of sqrt(2), so the margin counts one and
 * a half times.
 */
static inline float contact_reach(const field_view *f, float radius, float margin) {
    float width = f->cell * (f->index ? (float)FIELD_BRICK : 1.0f);
    float by_mean = contact_sqrt(radius * radius + 1.5f * width * width);
    float by_slope = CONTACT_MAX_SLOPE * radius;
    float reach = f->index || by_mean < by_slope ? by_mean : by_slope;
    float rounding = CONTACT_ROUNDING * f->cell + (f->shorts ? f->scale : 0.0f);
    return reach * 1.00001f + 1.5f * margin + rounding;
}

/* Whether one value proves that nothing inside a ball touches. */
static inline bool contact_is_far(const field_view *f, const contact_frame *frame,
                                  contact_ball ball) {
    float at[3];
    contact_to_cells(frame, ball.x, ball.y, ball.z, at);
    return frame->can_cull &&
           contact_value(f, at).distance > contact_reach(f, ball.radius, frame->margin);
}

/* The same for an edge, with the ball about its midpoint. */
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
