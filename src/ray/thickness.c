/* How thin a solid gets, by rays.
 *
 * From points spread over the surface by area, rays go straight in. The way to the wall behind, if
 * that faces away by no more than 45 degrees from opposite, is the thickness there; edges and tips,
 * which get thin without being walls, do not count. The answer is what a hundredth of all points do
 * not reach: single slivers do not matter, and a plate that is a hundredth of the surface is found.
 *
 * Points have equal steps of area between them, along the triangles in their order, and places on
 * them by the R2 sequence (Roberts 2018, "The unreasonable effectiveness of quasirandom
 * sequences"): the same for every thread count and processor. A ray starts a millionth of the size
 * below the surface, so that it does not meet its own triangle; what is thinner is not seen.
 */
#include "mesh/mesh.h"
#include "ray/ray.h"

#include <math.h>

#define POINTS 2048
#define RANK (POINTS / 100) /* the answer among all, from the least on */
#define START 1e-6
#define FACING (-0.7071) /* cosine between the normals of both walls */

/* Twice the area, as a vector. */
static vec3 area_of(const abut_mesh *mesh, uint32_t triangle) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    const vec3 *p = mesh->positions;
    return v3_cross(v3_sub(p[corner[1]], p[corner[0]]), v3_sub(p[corner[2]], p[corner[0]]));
}

/* A point of a triangle by two numbers from 0 to 1. */
static vec3 place_on(const abut_mesh *mesh, uint32_t triangle, double u, double v) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    vec3 a = abuti_mesh_position(mesh, corner[0]), b = abuti_mesh_position(mesh, corner[1]),
         c = abuti_mesh_position(mesh, corner[2]);
    if (u + v > 1) {
        u = 1 - u;
        v = 1 - v;
    }
    return v3_along(v3_along(a, u, v3_sub(b, a)), v, v3_sub(c, a));
}

/* The way from a point through the solid; infinity without a wall behind. */
static abut_status measure(const abut_bvh *bvh, vec3 point, vec3 normal, double start,
                           double *way) {
    const abut_ray ray = {v3_along(point, -start, normal), v3_scale(normal, -1)};
    abut_ray_hit hit;
    abut_status status = abut_ray_first(bvh, &ray, HUGE_VAL, &hit);
    *way = INFINITY;
    if (!status && hit.triangle != ABUT_NONE &&
        v3_dot(v3_normalise(area_of(bvh->mesh, hit.triangle)), normal) < FACING)
        *way = hit.parameter + start;
    return status;
}

abut_status abut_ray_thickness(const abut_bvh *bvh, double *thickness) {
    abut_status status = abuti_bvh_check(__func__, bvh, thickness, "thickness");
    if (status)
        return status;
    const abut_mesh *mesh = bvh->mesh;
    const uint32_t count = mesh->triangle_count;
    const double start = START * v3_length(v3_sub(mesh->bounds.hi, mesh->bounds.lo));
    double least[RANK + 1], total = 0, passed = 0;
    uint32_t done = 0;
    for (int i = 0; i <= RANK; i++)
        least[i] = INFINITY;
    for (uint32_t f = 0; f < count; f++)
        total += v3_length(area_of(mesh, f));
    for (uint32_t f = 0; f < count && !status; f++) {
        const vec3 area = area_of(mesh, f), normal = v3_normalise(area);
        passed += v3_length(area);
        for (; done < POINTS && (done + 0.5) * total < passed * POINTS && !status; done++) {
            double u = fmod(done * 0.7548776662466927, 1), v = fmod(done * 0.5698402909980532, 1);
            double way;
            status = measure(bvh, place_on(mesh, f, u, v), normal, start, &way);
            int at = RANK; /* sorted in, from the end */
            for (; at > 0 && way < least[at - 1]; at--)
                least[at] = least[at - 1];
            least[at] = real_min(way, least[at]);
        }
    }
    if (!status)
        *thickness = least[RANK];
    return status;
}
