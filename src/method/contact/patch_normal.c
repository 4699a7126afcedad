/* Normals of contact points on curved walls.
 *
 * Problem: the points of a curved wall, as the flank of a thread, do not have the normal of the
 * wall. The normal of the triangle at a point is not stable: near an edge or a vertex, rounding
 * errors decide which triangle that is.
 *
 * Method: the mean of the normals of all triangles within a radius of the point. The weight of a
 * triangle is its area, at most the square of the radius, times (1 - distance / radius)^2, where
 * distance is that from the point to the triangle. So the normal is a continuous function of the
 * point. The radius is a multiple of the depth or gap. Triangles of the body whose vertex or edge
 * the point is do not count: a vertex on a face has the normal of the face. */
#include "contact/patch.h"

#include "geom/closest_shared.h"

#define RADIUS_DEPTHS 2.0 /* radius / depth or gap */
#define MIN_RADIUS 1e-3   /* of the smaller body: far above rounding errors */

patch_normal_sum abuti_patch_normal_begin(const patch_work *work, vec3 at, double depth,
                                          unsigned sides) {
    double size = real_min(work->body[0].skin->size, work->body[1].skin->size);
    return (patch_normal_sum){.work = work,
                              .at = at,
                              .radius = RADIUS_DEPTHS * depth + MIN_RADIUS * size,
                              .sides = sides};
}

void abuti_patch_normal_add(patch_normal_sum *sum, uint32_t side, uint32_t face, vec3 normal) {
    const patch_body *body = &sum->work->body[side];
    if (!(sum->sides >> side & 1))
        return;
    abut_triangle t;
    double reach = 0;
    for (int k = 0; k < 3; k++)
        t.corner[k] = patch_position(body, body->skin->corner[3 * (size_t)face + (size_t)k]);
    for (int k = 1; k < 3; k++)
        reach = real_max(reach, v3_length_sq(v3_sub(t.corner[k], t.corner[0])));
    reach = sum->radius + sqrt(reach);
    if (v3_length_sq(v3_sub(t.corner[0], sum->at)) > reach * reach)
        return;
    double weight = 1 - triangle_closest_point(t, sum->at).distance / sum->radius;
    if (!(weight > 0))
        return;
    vec3 edge[2] = {v3_scale(v3_sub(t.corner[1], t.corner[0]), 1 / sum->radius),
                    v3_scale(v3_sub(t.corner[2], t.corner[0]), 1 / sum->radius)};
    double area = 0.5 * patch_area_length(v3_cross(edge[0], edge[1]));
    sum->sum = v3_along(sum->sum, weight * weight * real_min(area, 1), normal);
}

vec3 abuti_patch_normal_end(const patch_normal_sum *sum) {
    return v3_normalise(sum->sum);
}
