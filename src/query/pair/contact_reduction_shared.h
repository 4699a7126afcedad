/* Reduction of a contact patch, compiled as C and OpenCL C.
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
#ifndef ABUTI_PAIR_CONTACT_REDUCTION_SHARED_H
#define ABUTI_PAIR_CONTACT_REDUCTION_SHARED_H

#include "base/math_shared.h"

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

/* The gain of adding point p to `chosen` contacts, whose first points are `corner`. `distance_sq`
 * is the square of its distance from the nearest of them; `spread` is its weight beside an area. */
static inline real contact_support_gain(word32 chosen, const vec3 *corner, vec3 normal, vec3 p,
                                        real distance_sq, real spread) {
    if (chosen < 2 || chosen > CONTACT_SUPPORT_CORNERS)
        return distance_sq;
    real area = contact_support_area(corner[0], corner[1], p, normal);
    if (chosen == 3) {
        real turn = contact_support_area(corner[0], corner[1], corner[2], normal) < 0 ? 1 : -1;
        real second = turn * contact_support_area(corner[1], corner[2], p, normal);
        real third = turn * contact_support_area(corner[2], corner[0], p, normal);
        area = real_max(0, real_max(turn * area, real_max(second, third)));
    }
    return area * area + spread * v3_length_sq(v3_sub(corner[1], corner[0])) * distance_sq;
}

#endif
