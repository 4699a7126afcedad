/* Uses all of base/math_shared.h, so that a compile of it is a compile of the whole header. */
#include "base/math_shared.h"

__kernel void use_everything(ABUTI_GLOBAL const vec3 *points, ABUTI_GLOBAL real *out, int axis) {
    vec3 a = points[0], b = points[1];
    vec3 c = v3_cross(v3_add(a, b), v3_sub(a, v3_scale(b, REAL(0.5))));
    c = v3_normalise(v3_lerp(c, v3_min(a, v3_max(b, c)), real_clamp(a.x, b.x, c.x)));
    quat q;
    q.x = a.x;
    q.y = a.y;
    q.z = a.z;
    q.w = v3_length(c) + v3_max_abs(b) + v3_get(a, axis) + real_atan2(a.x, b.x);
    q = quat_multiply(quat_normalise(q), quat_conjugate(q));
    mat3 m = quat_matrix(q), t = m3_transpose(&m), product = m3_multiply(&m, &t);
    pose p;
    p.rotation = q;
    p.translation = m3_apply(&product, c);
    pose inverse = pose_inverse(&p), both = pose_multiply(&p, &inverse);
    box3 box = box_join(box_grow(box_empty(), pose_apply(&both, a)), box_empty());
    if (box_overlaps(box, box) && box_contains(box, box_centre(box)))
        out[get_global_id(0)] = v3_dot(c, a) + REAL_MIN + REAL_EPSILON;
}
