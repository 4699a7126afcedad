/* Contacts at the start of a step, and the exact test.
 *
 * A vertex that is near the solid gets a plane that moves with it; a vertex that is near a face of
 * the cloth keeps a distance from it. The solver treats both as constraints. They improve
 * appearance and guarantee nothing. */
#include "parts.h"

uint32_t cloth_bits_of(double number) {
    float f = (float)number;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* BVHs degrade as a mesh deforms; a build takes as long as a few refits. */
enum { REFITS_MAX = 50 };

/* A BVH is destroyed if its refit fails. */
abut_status cloth_fit(cloth *c, uint32_t which) {
    cloth_bvh *b = &c->bvhs[which];
    abut_mesh *mesh = NULL;
    if (which && b->bvh && b->fit == c->solid_moved)
        return ABUT_OK;
    abut_bvh_options options = abut_bvh_options_default();
    options.device = which ? c->options.device : NULL;
    abut_status status = cloth_mesh(c, which, &mesh);
    const bool is_new = !b->bvh || b->refits >= REFITS_MAX;
    if (!status && !is_new)
        status = abut_bvh_set_mesh(b->bvh, mesh);
    if (status || is_new) {
        abut_bvh_destroy(b->bvh);
        b->bvh = NULL;
    }
    if (!status && is_new)
        status = abut_bvh_create(mesh, &options, &b->bvh);
    b->refits = is_new ? 0 : b->refits + 1;
    b->fit = c->solid_moved;
    abut_mesh_destroy(mesh);
    return status;
}

/* Estimates how far any vertex moves in the step. */
static double expected_motion(const cloth *c, double seconds, const vec *solid_end) {
    double fastest = 0, furthest = 0;
    for (uint32_t i = 0; i < c->vertices; i++)
        fastest = fmax(fastest, vec_dot(c->velocity[i], c->velocity[i]));
    for (uint32_t i = 0; solid_end && i < c->all_vertices - c->vertices; i++) {
        vec d = vec_sub(solid_end[i], c->position[c->vertices + i]);
        furthest = fmax(furthest, vec_dot(d, d));
    }
    return seconds * sqrt(fastest) + sqrt(furthest);
}

abut_status cloth_find_contacts(cloth *c, double seconds, abut_array solid_end) {
    abut_status status = ABUT_OK;
    if (c->solid && !c->radial) {
        const double motion = fmin(expected_motion(c, seconds, solid_end.host), 2 * c->mean_edge);
        status = cloth_fit(c, 1);
        if (!status)
            status = abut_nearest_point_batch(c->bvhs[1].bvh, c->arrays.start, c->vertices,
                                              c->options.thickness + motion, c->arrays.nearest);
    }
    if (status)
        return status;
    return c->backend->find_contacts(c);
}

/* ---- exact test ---- */

abut_status cloth_is_free(cloth *c, bool *is_free) {
    bool meets = false;
    abut_pair_intersection_list found = {NULL, 0, 0};
    abut_status status = cloth_fit(c, 0);
    if (!status)
        status = abut_pair_self_intersects(c->bvhs[0].bvh, NULL, &meets);
    if (!status && c->solid) {
        status = cloth_fit(c, 1);
        if (status)
            return status;
        abut_collider a = abut_collider_from_bvh(c->bvhs[0].bvh, abut_pose_identity()),
                      b = abut_collider_from_bvh(c->bvhs[1].bvh, abut_pose_identity());
        status = abut_pair_intersections(&a, &b, &found);
        status = status == ABUT_ERROR_BUFFER ? ABUT_OK : status;
    }
    if (!status)
        *is_free = !meets && !found.count;
    return status;
}
