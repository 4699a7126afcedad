/* From one body to the grid of another's field, for C and OpenCL C alike: made in doubles, so
 * ABUTI_REAL_BITS is 64 on a device, and rounded once to the floats of contact_shared.h. */
#ifndef ABUTI_CONTACT_CONTACT_FRAME_SHARED_H
#define ABUTI_CONTACT_CONTACT_FRAME_SHARED_H

#include "contact/contact_shared.h"

/* A pose that was checked, ready for use. */
typedef struct contact_motion {
    mat3 turn;
    vec3 shift;
} contact_motion;

/* What a frame needs of a field. */
typedef struct contact_grid {
    vec3 origin;
    real cell;
    box3 bounds; /* of the surface that it tells of */
} contact_grid;

static inline vec3 contact_to_world(const contact_motion *m, vec3 p) {
    return v3_add(m3_apply(&m->turn, p), m->shift);
}
static inline vec3 contact_to_local(const contact_motion *m, vec3 p) {
    mat3 back = m3_transpose(&m->turn);
    return m3_apply(&back, v3_sub(p, m->shift));
}

/* The other way, without zeros below 0. */
static inline vec3 contact_back(vec3 v) {
    return v3_sub(v3(0, 0, 0), v);
}

/* Whether a ball about a place in the coordinates of a field is too far from its surface for any
 * interpolated value within to be as small as what `reach` has beyond the radius. Interpolation
 * takes off less than a cell. */
static inline bool contact_ball_is_far(const contact_grid *g, vec3 place, real reach) {
    vec3 nearest = v3_min(v3_max(place, g->bounds.lo), g->bounds.hi);
    return v3_length(v3_sub(place, nearest)) > reach + g->cell;
}

/* ---- which contacts of a patch stay ----
 *
 * Those that make the largest support: the deepest, or of those that are level with it the one
 * furthest from it, so that the middle of a face gives way to corners; the one furthest from that;
 * the one that makes the largest triangle with both; the one that adds most to it; and from the
 * fifth on the one furthest from all that stay. Areas are as seen along the normal of the deepest.
 * Among contacts on a line, or within the triangle, distance decides too. */

#define CONTACT_SUPPORT_CORNERS 3
#define CONTACT_SUPPORT_SPREAD REAL(1e-6) /* weight of distances beside areas */
/* Level is what is less deep by at most so much of the way to the deepest. */
#define CONTACT_SUPPORT_LEVEL REAL(1e-4)

/* How far a point is from the deepest, squared; 0 where it is not level with it. */
static inline real contact_support_level(vec3 deepest, real depth, vec3 p, real own) {
    real far_sq = v3_length_sq(v3_sub(p, deepest)), less = depth - own;
    return less * less <= CONTACT_SUPPORT_LEVEL * CONTACT_SUPPORT_LEVEL * far_sq ? far_sq : 0;
}

/* Twice the area of a triangle, below 0 where it turns the other way. */
static inline real contact_support_area(vec3 a, vec3 b, vec3 c, vec3 normal) {
    return v3_dot(v3_cross(v3_sub(b, a), v3_sub(c, a)), normal);
}

/* What a point adds to `chosen` contacts, the first of which are `corner`; it is sqrt(far_sq) from
 * the nearest of all of them. */
static inline real contact_support_gain(word32 chosen, const vec3 *corner, vec3 normal, vec3 p,
                                        real far_sq) {
    if (chosen < 2 || chosen > CONTACT_SUPPORT_CORNERS)
        return far_sq;
    real area = contact_support_area(corner[0], corner[1], p, normal);
    if (chosen == 3) {
        real turn = contact_support_area(corner[0], corner[1], corner[2], normal) < 0 ? 1 : -1;
        real second = turn * contact_support_area(corner[1], corner[2], p, normal);
        real third = turn * contact_support_area(corner[2], corner[0], p, normal);
        area = real_max(0, real_max(turn * area, real_max(second, third)));
    }
    return area * area +
           CONTACT_SUPPORT_SPREAD * v3_length_sq(v3_sub(corner[1], corner[0])) * far_sq;
}

/* The frame that takes points about `centre`, a place in the coordinates of `of`, to the grid of a
 * field at `at`. */
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
    frame.margin = margin < 0.999f * band ? margin : 0.999f * band; /* no more is known */
    frame.any_normal = frame.one_way = frame.edge_ends = frame.culls = 0;
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
