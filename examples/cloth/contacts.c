/* What is near: repulsion keeps it apart.
 *
 * At the start of a step vertices near the solid get a plane each that moves with it, and vertices
 * near a triangle of the cloth one between the two (Bridson, Fedkiw, Anderson 2002, "Robust
 * treatment of collisions, contact and friction for cloth animation", section 6). The motion keeps
 * them as constraints. That is for looks: nothing here promises anything.
 */
#include "parts.h"

/* ---- room ---- */

static abut_status make_room(cloth *c) {
    if (!c->touches)
        c->touches = abut_context_allocate(c->context, c->vertices, sizeof *c->touches);
    if (!c->offsets)
        c->offsets = abut_context_allocate(c->context, (size_t)c->vertices + 1, sizeof *c->offsets);
    return c->touches && c->offsets ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static abut_status make_room_for_answers(cloth *c, size_t count) {
    void *list = cloth_grown(c, c->nearest, &c->nearest_room, count, sizeof *c->nearest);
    c->nearest = list ? list : c->nearest;
    return list ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static abut_status make_room_for_nears(cloth *c, size_t count) {
    void *list = cloth_grown(c, c->nears, &c->near_room, count, sizeof *c->nears);
    c->nears = list ? list : c->nears;
    return list ? ABUT_OK : ABUT_ERROR_MEMORY;
}

void cloth_free_contacts(cloth *c) {
    abut_context_release(c->context, c->touches);
    abut_context_release(c->context, c->nears);
    abut_context_release(c->context, c->nearest);
    abut_context_release(c->context, c->offsets);
    abut_bvh_destroy(c->cloth_bvh);
    abut_bvh_destroy(c->solid_bvh);
}

/* ---- contacts ---- */

/* The hierarchy of a part where it is now. */
static abut_status fit(cloth *c, uint32_t which, abut_bvh **bvh) {
    abut_mesh *mesh = NULL;
    abut_status status = cloth_mesh(c, which, &mesh);
    if (!status && *bvh && abut_bvh_info_get(*bvh).rebuild) {
        abut_bvh_destroy(*bvh);
        *bvh = NULL;
    }
    if (!status)
        status = *bvh ? abut_bvh_refit(*bvh, mesh) : abut_bvh_create(mesh, NULL, bvh);
    abut_mesh_destroy(mesh);
    return status;
}

/* What is too near moves away by and by, so that it does not jump. */
static double distance_to_keep(const cloth *c, double distance) {
    double thick = c->options.thickness;
    return distance < thick ? distance + 0.2 * (thick - distance) : thick;
}

static abut_points all_points(const cloth *c) {
    abut_points points = abut_points_default();
    points.points = c->position;
    points.count = c->vertices;
    return points;
}

/* How far anything will move in the step, as far as one can tell. */
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

static abut_status find_touches(cloth *c, double seconds, const vec *solid_end) {
    c->touch_count = 0;
    if (!c->solid)
        return ABUT_OK;
    double radius =
        c->options.thickness + fmin(expected_motion(c, seconds, solid_end), 2 * c->mean_edge);
    abut_points points = all_points(c);
    abut_status status = fit(c, 1, &c->solid_bvh);
    status = status ? status : make_room_for_answers(c, c->vertices);
    status = status ? status : abut_bvh_nearest_batch(c->solid_bvh, &points, radius, c->nearest);
    const uint32_t *indices = abut_mesh_indices(c->solid);
    for (uint32_t i = 0; i < c->vertices && !status; i++) {
        const abut_nearest *n = &c->nearest[i];
        if (n->triangle == ABUT_NONE || !(n->distance > 0))
            continue;
        cloth_touch touch = {.vertex = i, .point = n->point};
        touch.normal = vec_scale(vec_sub(c->position[i], n->point), 1 / n->distance);
        touch.gap = n->distance;
        touch.least = distance_to_keep(c, n->distance);
        for (int k = 0; k < 3 && solid_end; k++) {
            uint32_t v = indices[3 * (size_t)n->triangle + (size_t)k];
            touch.movement = vec_along(touch.movement, n->barycentric[k],
                                       vec_sub(solid_end[v], c->position[c->vertices + v]));
        }
        c->touches[c->touch_count++] = touch;
    }
    return status;
}

static abut_status search_near(cloth *c) {
    abut_points points = all_points(c);
    double radius = 1.5 * c->options.thickness;
    abut_status status = ABUT_ERROR_BUFFER;
    for (int turn = 0; turn < 2 && status == ABUT_ERROR_BUFFER; turn++) {
        status = abut_bvh_within_batch(c->cloth_bvh, &points, radius, c->nearest_room, c->offsets,
                                       c->nearest);
        if (status == ABUT_ERROR_BUFFER && !turn &&
            make_room_for_answers(c, (size_t)c->offsets[c->vertices]))
            return ABUT_ERROR_MEMORY;
    }
    return status;
}

static bool has_vertex(const uint32_t *corner, uint32_t vertex) {
    return corner[0] == vertex || corner[1] == vertex || corner[2] == vertex;
}

static abut_status find_nears(cloth *c) {
    c->near_count = 0;
    abut_status status = fit(c, 0, &c->cloth_bvh);
    status = status ? status : search_near(c);
    status = status ? status : make_room_for_nears(c, (size_t)c->offsets[c->vertices]);
    for (uint32_t i = 0; i < c->vertices && !status; i++)
        for (uint64_t k = c->offsets[i]; k < c->offsets[i + 1]; k++) {
            const abut_nearest *n = &c->nearest[k];
            const uint32_t *corner = c->indices + 3 * (size_t)n->triangle;
            if (has_vertex(corner, i) || !(n->distance > 0))
                continue;
            const double *b = n->barycentric;
            cloth_near near = {.vertex = {i, corner[0], corner[1], corner[2]},
                               .weight = {1, -b[0], -b[1], -b[2]}};
            near.normal = vec_scale(vec_sub(c->position[i], n->point), 1 / n->distance);
            near.gap = n->distance;
            near.least = distance_to_keep(c, n->distance);
            c->nears[c->near_count++] = near;
        }
    return status;
}

abut_status cloth_find_contacts(cloth *c, double seconds, const vec *solid_end) {
    abut_status status = make_room(c);
    status = status ? status : find_touches(c, seconds, solid_end);
    status = status ? status : find_nears(c);
    return status ? status
                  : cloth_colour(c, c->nears, c->near_count, sizeof *c->nears, 4, &c->near_colours);
}

double cloth_thinnest_gap(const cloth *c) {
    double least = 1.5 * c->options.thickness;
    for (size_t i = 0; i < c->touch_count; i++)
        least = fmin(least, c->touches[i].gap);
    for (size_t i = 0; i < c->near_count; i++)
        least = fmin(least, c->nears[i].gap);
    return least;
}

/* ---- exactly ---- */

abut_status cloth_is_free(cloth *c, bool *is_free) {
    bool meets = false;
    uint64_t count = 0;
    abut_status status = fit(c, 0, &c->cloth_bvh);
    status = status ? status : abut_bvh_self_any(c->cloth_bvh, NULL, &meets);
    if (!status && c->solid) {
        status = fit(c, 1, &c->solid_bvh);
        if (status)
            return status;
        abut_posed a = {.bvh = c->cloth_bvh}, b = {.bvh = c->solid_bvh};
        status = abut_pair_meetings(&a, &b, 0, NULL, &count);
        status = status == ABUT_ERROR_BUFFER ? ABUT_OK : status;
    }
    if (!status)
        *is_free = !meets && !count;
    return status;
}
