/* The side of a closed surface on which a point is, by the pseudo-normal of the nearest feature.
 *
 * Baerentzen & Aanaes 2005, "Signed distance computation using the angle weighted pseudonormal":
 * the sign of (point - nearest) . normal, where the normal of an edge is the sum of those of its
 * faces, and that of a vertex their sum weighted by the angles there (see src/data/mesh/normals.c).
 * The sums are not normalised, so that their error is known relative to the sum of their weights:
 * unit normals are accurate to 1e-11, but where they almost cancel, at a spike or along a sharp
 * edge, a normalised sum could have any direction.
 *
 * The difference to the nearest point is not exact either. Its distance is accurate to 4 ulp, and
 * so by Pythagoras the point itself within sqrt(8u) < 1e-7 of the distance; then it is rounded,
 * some 2^-50 of the coordinates. If the product does not exceed all these errors the sign is
 * undecided.
 */
#include "sign/sign.h"

#include <math.h>

enum { ELEMENTS_PER_TASK = 4096 };

/* An angle has an error of some 1e-16 however small it is, and at the tip of a spike it is small:
 * as much as NORMAL_DIRECTION_ERROR of this. */
#define ANGLE_FLOOR 1e-8

typedef struct normals_data {
    const abut_mesh *mesh;
    struct bvh_sign *sign;
} normals_data;

static void faces_task(void *data, size_t chunk, size_t begin, size_t end) {
    normals_data *fit = data;
    const vec3 *p = fit->mesh->positions;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        const uint32_t *index = fit->mesh->indices + 3 * t;
        fit->sign->faces[t] = abuti_unit_normal(p[index[0]], p[index[1]], p[index[2]]);
    }
}

static void vertices_task(void *data, size_t chunk, size_t begin, size_t end) {
    normals_data *fit = data;
    const abut_topology_arrays *view = &fit->sign->topology->view;
    const vec3 *p = fit->mesh->positions;
    (void)chunk;
    for (size_t v = begin; v < end; v++) {
        vec3 sum = v3(0, 0, 0);
        double angles = 0;
        for (uint32_t i = view->vertex_face_begin[v]; i < view->vertex_face_begin[v + 1]; i++) {
            uint32_t face = view->vertex_faces[i];
            const uint32_t *index = fit->mesh->indices + 3 * (size_t)face;
            uint32_t k = index[0] == v ? 0 : index[1] == v ? 1 : 2;
            double angle = abuti_corner_angle(p[v], p[index[(k + 1) % 3]], p[index[(k + 2) % 3]]);
            sum = v3_along(sum, angle, fit->sign->faces[face]);
            angles += angle + ANGLE_FLOOR;
        }
        fit->sign->vertices[v] = sum;
        fit->sign->angles[v] = angles;
    }
}

void abuti_sign_normals_fit(const abut_bvh *bvh, struct bvh_sign *sign) {
    normals_data fit = {bvh->mesh, sign};
    abuti_parallel_for(bvh->context, bvh->mesh->triangle_count, ELEMENTS_PER_TASK, faces_task,
                       &fit);
    abuti_parallel_for(bvh->context, sign->topology->view.vertex_count, ELEMENTS_PER_TASK,
                       vertices_task, &fit);
}

vec3 abuti_sign_feature_normal(const struct bvh_sign *sign, uint32_t triangle, abut_feature feature,
                               double *weight) {
    const abut_topology_arrays *view = &sign->topology->view;
    *weight = 1;
    if (feature == ABUT_FEATURE_FACE)
        return sign->faces[triangle];
    if (feature < ABUT_FEATURE_VERTEX_0) {
        uint32_t edge =
            view->triangle_edges[3 * (size_t)triangle + (feature - ABUT_FEATURE_EDGE_0)];
        const uint32_t *faces;
        if (edge == ABUT_NONE || abuti_edge_faces(view, edge, &faces) != 2)
            return v3(0, 0, 0);
        *weight = 2;
        return v3_add(sign->faces[faces[0]], sign->faces[faces[1]]);
    }
    uint32_t vertex =
        sign->bvh->mesh->indices[3 * (size_t)triangle + (feature - ABUT_FEATURE_VERTEX_0)];
    *weight = sign->angles[vertex];
    return sign->vertices[vertex];
}

int abuti_sign_normals_side(const struct bvh_sign *sign, vec3 point, const abut_nearest *nearest) {
    double weight;
    vec3 normal = abuti_sign_feature_normal(sign, nearest->triangle, nearest->feature, &weight);
    return normal_side(point, nearest->point, normal, weight);
}
