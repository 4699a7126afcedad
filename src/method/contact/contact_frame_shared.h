/* The transformation from one body to the grid of another body's field; compiled as C and OpenCL C.
 * Frames are computed in doubles (ABUTI_REAL_BITS is 64 on a device) and rounded once to the floats
 * of contact_shared.h. */
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
