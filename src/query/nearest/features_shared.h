/* Geometry of features, for C and OpenCL C, in doubles: see features.h. Corners are in the frame of
 * the BVH. */
#ifndef ABUTI_NEAREST_FEATURES_SHARED_H
#define ABUTI_NEAREST_FEATURES_SHARED_H

#include "base/math_shared.h"

#define FEATURE_HEIGHT 0x1p-20 /* in the frame, where the largest coordinate is from 1 to 2 */

/* Smallest sine of the angles of a face that limits the region of an edge. */
#define FEATURE_LEAN (1.0 / 64)

#define FEATURES_GROUP 128  /* work-items of the kernels that compute features */
#define FEATURES_DEGREE 256 /* maximum corners of a vertex for features on a device */

/* Kind of a feature in doubles; see feature_exact. */
enum {
    FEATURE_IS_FACE = 1,
    FEATURE_IS_LOW = 2 /* next to a triangle that is too low to be a feature */
};

/* A record before rounding; the vectors are `first` to `fourth`. */
typedef struct feature_parts {
    vec3 place, vector[4];
    real offset;
} feature_parts;

/* ---- faces ---- */

/* The component of v orthogonal to the unit vector u. */
static inline vec3 feature_across(vec3 v, vec3 u) {
    return v3_along(v, -v3_dot(v, u), u);
}

/* Twice: the first rounding is relative to v, the second to the remainder. */
static inline vec3 feature_across_precise(vec3 v, vec3 u) {
    return feature_across(feature_across(v, u), u);
}

/* A triangle above its longest edge, which begins at corner a. */
typedef struct face_frame {
    vec3 side[3]; /* side k begins at corner k */
    int a;
    vec3 along, up; /* unit vector along the edge; `up` has the length of the height */
    real height;
} face_frame;

/* Returns false if the triangle is too low to be a face. */
static inline bool face_frame_of(const vec3 corner[3], face_frame *f) {
    real length[3];
    f->a = 0;
    f->along = f->up = v3(0, 0, 0);
    f->height = 0;
    for (int k = 0; k < 3; k++) {
        f->side[k] = v3_sub(corner[(k + 1) % 3], corner[k]);
        length[k] = v3_length(f->side[k]);
        f->a = length[k] > length[f->a] ? k : f->a;
    }
    if (!(length[f->a] > 0))
        return false;
    f->along = v3_normalise(f->side[f->a]);
    f->up = feature_across_precise(v3_sub(corner[(f->a + 2) % 3], corner[f->a]), f->along);
    f->height = v3_length(f->up);
    return f->height >= FEATURE_HEIGHT;
}

/* Whether a triangle is a face. If twice its area exceeds its longest edge times twice the minimum
 * height, rounding cannot matter. */
static inline bool face_is_high(const vec3 corner[3]) {
    vec3 u = v3_sub(corner[1], corner[0]), v = v3_sub(corner[2], corner[0]);
    real longest_sq = real_max(real_max(v3_length_sq(u), v3_length_sq(v)),
                               v3_length_sq(v3_sub(corner[2], corner[1])));
    real area_sq = v3_length_sq(v3_cross(u, v));
    face_frame f;
    return area_sq > 4 * FEATURE_HEIGHT * FEATURE_HEIGHT * longest_sq || face_frame_of(corner, &f);
}

static inline feature_parts feature_of_face(const vec3 corner[3]) {
    face_frame f;
    feature_parts p;
    face_frame_of(corner, &f);
    int a = f.a, b = (a + 1) % 3, top = (a + 2) % 3;
    vec3 up = v3_scale(f.up, 1 / f.height), normal = v3_cross(f.along, up);
    p.place = corner[a];
    p.vector[0] = v3_scale(up, -1);                            /* below the longest edge */
    p.vector[1] = v3_normalise(v3_cross(f.side[top], normal)); /* beyond the edge that ends in a */
    p.vector[2] = normal;
    p.vector[3] = v3_normalise(v3_cross(f.side[b], normal));
    p.offset = v3_dot(p.vector[3], v3_sub(corner[b], corner[a]));
    return p;
}

/* The normal from the longest side and the height above it, so that only the rotation about that
 * side is less certain: by a rounding of the height. */
static inline vec3 face_normal_of(const vec3 corner[3]) {
    vec3 side[3];
    int longest = 0;
    for (int k = 0; k < 3; k++) {
        side[k] = v3_sub(corner[(k + 1) % 3], corner[k]);
        longest = v3_length_sq(side[k]) > v3_length_sq(side[longest]) ? k : longest;
    }
    vec3 along = v3_normalise(side[longest]);
    vec3 up = feature_across_precise(v3_sub(corner[(longest + 2) % 3], corner[longest]), along);
    return v3_normalise(v3_cross(along, v3_normalise(up)));
}

/* ---- edges ---- */

/* An edge from a to b, without the limits of its faces. */
static inline feature_parts feature_of_edge(vec3 a, vec3 b) {
    vec3 offset = v3_sub(b, a), u = v3_normalise(offset);
    feature_parts p;
    p.place = a;
    p.vector[0] = v3_scale(u, -1);
    p.vector[1] = v3(0, 0, 0);
    p.vector[2] = v3(0, 0, 0);
    p.vector[3] = u;
    p.offset = v3_length(offset);
    return p;
}

/* Whether a face with this third corner limits the region of an edge. Writes the direction into the
 * face. */
static inline bool edge_face_excludes(const feature_parts *edge, vec3 top, vec3 *into) {
    vec3 u = edge->vector[3];
    vec3 side = v3_sub(top, edge->place), up = feature_across_precise(side, u);
    real height = v3_length(up), foot = v3_dot(side, u);
    *into = v3_scale(up, 1 / height);
    return height >= FEATURE_HEIGHT && height >= FEATURE_LEAN * real_max(foot, edge->offset - foot);
}

#endif
