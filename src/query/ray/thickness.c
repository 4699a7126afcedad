/* The wall thickness of a solid, by rays: at one point of its surface, and the first percentile.
 *
 * A ray starts against the normal. The length of the chord to where it leaves the solid is the
 * thickness there. src/method/map computes it at all samples of a map.
 *
 * For the percentile, rays start at points that are distributed over the surface by area. The
 * opposite wall must face away by no more than 45 degrees from opposite; edges and tips, which get
 * thin without being walls, do not count. The result is the first percentile of all points: single
 * slivers do not matter, and a plate that is a hundredth of the surface is found.
 *
 * Points have equal steps of area between them, in the order of the triangles, and positions on
 * them by the R2 sequence (Roberts 2018, "The unreasonable effectiveness of quasirandom
 * sequences"): the same for every thread count and processor. A ray starts a millionth of the size
 * below the surface; thinner walls are not found.
 */
#include "mesh/mesh.h"
#include "ray/ray.h"

#include <math.h>

#define POINT_COUNT 2048
#define TRIANGLES_PER_TASK 16384
#define POINTS_PER_TASK 64
#define RESULT_RANK (POINT_COUNT / 100) /* of the result, from the smallest */
#define START_FRACTION 1e-6
#define FACING_COSINE_MAX (-0.7071) /* cosine between the normals of both walls */

abut_ray_hit abuti_ray_chord(const abut_bvh *bvh, vec3 point, vec3 inwards, double start,
                             double limit) {
    const abut_ray ray = {v3_along(point, start, inwards), inwards};
    abut_ray_hit hit = abuti_ray_find_exit(bvh, &ray, limit);
    hit.parameter += start;
    if (!(hit.parameter <= limit))
        hit.triangle = ABUT_NONE;
    return hit;
}

/* Twice the area, as a vector. */
static vec3 area_vector_times_2(const abut_mesh *mesh, uint32_t triangle) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    const vec3 *p = mesh->positions;
    return v3_cross(v3_sub(p[corner[1]], p[corner[0]]), v3_sub(p[corner[2]], p[corner[0]]));
}

/* A point of a triangle from two numbers from 0 to 1. */
static vec3 point_on_triangle(const abut_mesh *mesh, uint32_t triangle, double u, double v) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    vec3 a = abuti_mesh_position(mesh, corner[0]), b = abuti_mesh_position(mesh, corner[1]),
         c = abuti_mesh_position(mesh, corner[2]);
    if (u + v > 1) {
        u = 1 - u;
        v = 1 - v;
    }
    return v3_along(v3_along(a, u, v3_sub(b, a)), v, v3_sub(c, a));
}

typedef struct thickness_probe {
    const abut_bvh *bvh;
    double *areas_times_2;          /* of triangles */
    double start;                   /* depth below the surface */
    uint32_t triangle[POINT_COUNT]; /* of each point */
    double chord[POINT_COUNT];
} thickness_probe;

static void areas_task(void *data, size_t chunk, size_t begin, size_t end) {
    thickness_probe *p = data;
    (void)chunk;
    for (size_t f = begin; f < end; f++)
        p->areas_times_2[f] = v3_length(area_vector_times_2(p->bvh->mesh, (uint32_t)f));
}

/* Assigns a triangle to each point. Returns the number of points that have one. */
static uint32_t assign_triangles(thickness_probe *p) {
    const uint32_t count = p->bvh->triangle_count;
    double total = 0, passed = 0;
    uint32_t done = 0;
    for (uint32_t f = 0; f < count; f++)
        total += p->areas_times_2[f];
    for (uint32_t f = 0; f < count; f++) {
        passed += p->areas_times_2[f];
        for (; done < POINT_COUNT && (done + 0.5) * total < passed * POINT_COUNT; done++)
            p->triangle[done] = f;
    }
    return done;
}

/* Measures the chords of some points; infinity without an opposite wall. */
static void measure_task(void *data, size_t chunk, size_t begin, size_t end) {
    thickness_probe *p = data;
    const abut_mesh *mesh = p->bvh->mesh;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec3 normal = v3_normalise(area_vector_times_2(mesh, p->triangle[i]));
        double u = fmod((double)i * 0.7548776662466927, 1);
        double v = fmod((double)i * 0.5698402909980532, 1);
        abut_ray_hit hit = abuti_ray_chord(p->bvh, point_on_triangle(mesh, p->triangle[i], u, v),
                                           v3_scale(normal, -1), p->start, INFINITY);
        p->chord[i] = INFINITY;
        if (hit.triangle != ABUT_NONE &&
            v3_dot(v3_normalise(area_vector_times_2(mesh, hit.triangle)), normal) <
                FACING_COSINE_MAX)
            p->chord[i] = hit.parameter;
    }
}

static double find_thickness(thickness_probe *p) {
    double least[RESULT_RANK + 1];
    abut_context *context = p->bvh->context;
    abuti_parallel_for(context, p->bvh->triangle_count, TRIANGLES_PER_TASK, areas_task, p);
    uint32_t count = assign_triangles(p);
    abuti_parallel_for(context, count, POINTS_PER_TASK, measure_task, p);
    for (int i = 0; i <= RESULT_RANK; i++)
        least[i] = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        int at = RESULT_RANK; /* insertion sort, from the end */
        for (; at > 0 && p->chord[i] < least[at - 1]; at--)
            least[at] = least[at - 1];
        least[at] = real_min(p->chord[i], least[at]);
    }
    return least[RESULT_RANK];
}

abut_status abut_ray_thickness(const abut_bvh *bvh, double *thickness) {
    abut_status status = abuti_bvh_check(__func__, bvh, thickness, "thickness");
    if (status)
        return status;
    abuti_bvh_earn_wide(bvh, POINT_COUNT);
    abut_box box = bvh->mesh->bounds;
    thickness_probe *p = abuti_allocate(bvh->context, 1, sizeof *p);
    double *areas_times_2 =
        abuti_allocate(bvh->context, bvh->triangle_count, sizeof *areas_times_2);
    if (p && areas_times_2) {
        p->bvh = bvh;
        p->areas_times_2 = areas_times_2;
        p->start = START_FRACTION * v3_length(v3_sub(box.hi, box.lo));
        *thickness = find_thickness(p);
    }
    status = p && areas_times_2 ? ABUT_OK : ABUT_ERROR_MEMORY;
    ABUTI_RELEASE(bvh->context, p, areas_times_2);
    return status;
}
