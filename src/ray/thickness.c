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
#define TRIANGLES_A_TASK 16384
#define POINTS_A_TASK 64
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

typedef struct probe {
    const abut_bvh *bvh;
    double *twice;             /* areas */
    double start;              /* below the surface */
    uint32_t triangle[POINTS]; /* where points are */
    double way[POINTS];
    abut_status status[POINTS];
} probe;

static void areas_task(void *data, size_t chunk, size_t begin, size_t end) {
    probe *p = data;
    (void)chunk;
    for (size_t f = begin; f < end; f++)
        p->twice[f] = v3_length(area_of(p->bvh->mesh, (uint32_t)f));
}

/* Which triangle each point is on, and how many points have one. */
static uint32_t spread_points(probe *p) {
    const uint32_t count = p->bvh->triangle_count;
    double total = 0, passed = 0;
    uint32_t done = 0;
    for (uint32_t f = 0; f < count; f++)
        total += p->twice[f];
    for (uint32_t f = 0; f < count; f++) {
        passed += p->twice[f];
        for (; done < POINTS && (done + 0.5) * total < passed * POINTS; done++)
            p->triangle[done] = f;
    }
    return done;
}

/* The way from a point through the solid; infinity without a wall behind. */
static abut_status measure_chord(probe *p, size_t i) {
    const abut_mesh *mesh = p->bvh->mesh;
    vec3 normal = v3_normalise(area_of(mesh, p->triangle[i]));
    double u = fmod((double)i * 0.7548776662466927, 1), v = fmod((double)i * 0.5698402909980532, 1);
    vec3 point = place_on(mesh, p->triangle[i], u, v);
    const abut_ray ray = {v3_along(point, -p->start, normal), v3_scale(normal, -1)};
    abut_ray_hit hit;
    abut_status status = abut_ray_first(p->bvh, &ray, HUGE_VAL, &hit);
    p->way[i] = INFINITY;
    if (!status && hit.triangle != ABUT_NONE &&
        v3_dot(v3_normalise(area_of(mesh, hit.triangle)), normal) < FACING)
        p->way[i] = hit.parameter + p->start;
    return status;
}

static void measure_task(void *data, size_t chunk, size_t begin, size_t end) {
    probe *p = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        p->status[i] = measure_chord(p, i);
}

static abut_status find_thickness(probe *p, double *thickness) {
    double least[RANK + 1];
    abut_context *context = p->bvh->context;
    abuti_parallel_for(context, p->bvh->triangle_count, TRIANGLES_A_TASK, areas_task, p);
    uint32_t count = spread_points(p);
    abuti_parallel_for(context, count, POINTS_A_TASK, measure_task, p);
    for (int i = 0; i <= RANK; i++)
        least[i] = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        abut_status status = p->status[i] ? measure_chord(p, i) : ABUT_OK; /* for its sentence */
        if (status)
            return status;
        int at = RANK; /* sorted in, from the end */
        for (; at > 0 && p->way[i] < least[at - 1]; at--)
            least[at] = least[at - 1];
        least[at] = real_min(p->way[i], least[at]);
    }
    *thickness = least[RANK];
    return ABUT_OK;
}

abut_status abut_ray_thickness(const abut_bvh *bvh, double *thickness) {
    abut_status status = abuti_bvh_check(__func__, bvh, thickness, "thickness");
    if (status)
        return status;
    abut_box box = bvh->mesh->bounds;
    probe *p = abuti_allocate(bvh->context, 1, sizeof *p);
    double *twice = abuti_allocate(bvh->context, bvh->triangle_count, sizeof *twice);
    status = ABUT_ERROR_MEMORY;
    if (p && twice) {
        p->bvh = bvh;
        p->twice = twice;
        p->start = START * v3_length(v3_sub(box.hi, box.lo));
        status = find_thickness(p, thickness);
    }
    ABUTI_RELEASE(bvh->context, p, twice);
    return status;
}
