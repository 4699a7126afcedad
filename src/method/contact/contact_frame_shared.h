/* The transformation from one body to the grid of another body's field, and the reduction of
 * contacts; compiled as C and OpenCL C. Frames are computed in doubles (ABUTI_REAL_BITS is 64 on a
 * device) and rounded once to the floats of contact_shared.h. */
#ifndef ABUTI_CONTACT_CONTACT_FRAME_SHARED_H
#define ABUTI_CONTACT_CONTACT_FRAME_SHARED_H

#include "contact/contact_shared.h"

/* A validated pose: rotation matrix and translation. */
typedef struct contact_motion {
    mat3 turn;
    vec3 shift;
} contact_motion;

/* The part of a field that a frame depends on. */
typedef struct contact_grid {
    vec3 origin;
    real cell;
    box3 bounds; /* of the surface */
} contact_grid;

static inline vec3 contact_to_world(const contact_motion *m, vec3 p) {
    return v3_add(m3_apply(&m->turn, p), m->shift);
}
static inline vec3 contact_to_local(const contact_motion *m, vec3 p) {
    mat3 back = m3_transpose(&m->turn);
    return m3_apply(&back, v3_sub(p, m->shift));
}

/* -v, with 0 instead of -0. */
static inline vec3 contact_negate(vec3 v) {
    return v3_sub(v3(0, 0, 0), v);
}

/* Whether a ball is too far from the surface of a field for a contact. `reach` is the radius of the
 * ball plus the margin; `centre` is in the coordinates of the field. Interpolation makes a distance
 * smaller by less than a cell. */
static inline bool contact_ball_is_far(const contact_grid *g, vec3 centre, real reach) {
    vec3 nearest = v3_min(v3_max(centre, g->bounds.lo), g->bounds.hi);
    return v3_length(v3_sub(centre, nearest)) > reach + g->cell;
}

/* ---- reduction of a patch ----
 *
 * The contacts that are kept span a large support area. They are chosen in this order:
 *  - the deepest contact, or of those level with it the one farthest from it, so that corners of a
 *    face are preferred to its centre;
 *  - the contact farthest from the first one;
 *  - the contact that spans the largest triangle with these two;
 *  - the contact that adds the largest area to this triangle;
 *  - from the fifth on, the contact farthest from all that are kept.
 *
 * Areas are projected along the normal of the deepest contact. A small term of the distance breaks
 * ties among collinear contacts and contacts inside the triangle.
 */

#define CONTACT_SUPPORT_CORNERS 3
/* Weight of squared distances relative to squared areas. */
#define CONTACT_SUPPORT_SPREAD REAL(1e-6)
/* A contact is level with the deepest one if it is shallower by at most this fraction of their
 * distance. */
#define CONTACT_SUPPORT_LEVEL REAL(1e-4)

/* The squared distance of a contact from the deepest one; 0 if it is not level with it. */
static inline real contact_support_level(vec3 deepest, real depth, vec3 p, real own) {
    real distance_sq = v3_length_sq(v3_sub(p, deepest)), less = depth - own;
    return less * less <= CONTACT_SUPPORT_LEVEL * CONTACT_SUPPORT_LEVEL * distance_sq ? distance_sq
                                                                                      : 0;
}

/* Twice the signed area of a triangle as seen along the normal. */
static inline real contact_support_area(vec3 a, vec3 b, vec3 c, vec3 normal) {
    return v3_dot(v3_cross(v3_sub(b, a), v3_sub(c, a)), normal);
}

/* The gain of adding point p to `chosen` contacts, whose first points are `corner`; sqrt(far_sq) is
 * its distance from the nearest of them. */
static inline real contact_support_gain(word32 chosen, const vec3 *corner, vec3 normal, vec3 p,
                                        real distance_sq) {
    if (chosen < 2 || chosen > CONTACT_SUPPORT_CORNERS)
        return distance_sq;
    real area = contact_support_area(corner[0], corner[1], p, normal);
    if (chosen == 3) {
        real turn = contact_support_area(corner[0], corner[1], corner[2], normal) < 0 ? 1 : -1;
        real second = turn * contact_support_area(corner[1], corner[2], p, normal);
        real third = turn * contact_support_area(corner[2], corner[0], p, normal);
        area = real_max(0, real_max(turn * area, real_max(second, third)));
    }
    return area * area +
           CONTACT_SUPPORT_SPREAD * v3_length_sq(v3_sub(corner[1], corner[0])) * distance_sq;
}

/* The frame from points relative to `centre`, in the coordinates of `of`, to the grid of a field at
 * `at`. */
static inline contact_frame contact_frame_make(const contact_grid *g, const contact_motion *at,
                                               const contact_motion *of, vec3 centre, float band,
                                               float margin) {
    mat3 back = m3_transpose(&at->turn), turn = m3_multiply(&back, &of->turn);
    vec3 middle = contact_to_local(at, contact_to_world(of, centre));
    vec3 first = v3_sub(middle, g->origin);
    vec3 away = v3_normalise(v3_sub(middle, box_centre(g->bounds)));
    if (v3_max_abs(away) == 0)
        away.z = 1;
    contact_frame frame;
    frame.band = band;
    frame.per_cell = (float)(1 / g->cell);
    frame.margin =
        margin < 0.999f * band ? margin : 0.999f * band; /* values beyond the band are unknown */
    frame.keep_backfacing = frame.common_normal = frame.edge_ends = frame.can_cull = 0;
    for (int axis = 0; axis < 3; axis++) {
        frame.turn[3 * axis] = (float)turn.row[axis].x;
        frame.turn[3 * axis + 1] = (float)turn.row[axis].y;
        frame.turn[3 * axis + 2] = (float)turn.row[axis].z;
        frame.shift[axis] = (float)(v3_get(first, axis) / g->cell);
        frame.away[axis] = (float)v3_get(away, axis);
    }
    return frame;
}

#endif
