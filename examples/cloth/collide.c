/* Nothing passes through anything.
 *
 * At the start of a step vertices that are near the solid or near a triangle of the cloth get a
 * plane each that they stay behind (repulsion; Bridson, Fedkiw, Anderson 2002, "Robust treatment of
 * collisions, contact and friction for cloth animation", section 6).
 */
#include "parts.h"

/* ---- room ---- */

static abut_status make_room(cloth *c) {
    if (c->end)
        return ABUT_OK;
    c->touches = abut_context_allocate(c->context, c->vertices, sizeof *c->touches);
    c->offsets = abut_context_allocate(c->context, (size_t)c->vertices + 1, sizeof *c->offsets);
    c->end = abut_context_allocate(c->context, c->all_vertices, sizeof *c->end);
    if (c->touches && c->offsets && c->end)
        return ABUT_OK;
    cloth_free_collisions(c);
    return ABUT_ERROR_MEMORY;
}

/* A list with room for `count`: the one there is, or a larger one instead. */
static void *grown(cloth *c, void *list, size_t *room, size_t count, size_t bytes) {
    if (count <= *room && list)
        return list;
    count += count / 2;
    void *larger = abut_context_allocate(c->context, count, bytes);
    if (larger) {
        abut_context_release(c->context, list);
        *room = count;
    }
    return larger;
}

static abut_status make_room_for_answers(cloth *c, size_t count) {
    void *list = grown(c, c->nearest, &c->nearest_room, count, sizeof *c->nearest);
    c->nearest = list ? list : c->nearest;
    return list ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static abut_status make_room_for_nears(cloth *c, size_t count) {
    void *list = grown(c, c->nears, &c->near_room, count, sizeof *c->nears);
    c->nears = list ? list : c->nears;
    return list ? ABUT_OK : ABUT_ERROR_MEMORY;
}

void cloth_free_collisions(cloth *c) {
    abut_context_release(c->context, c->touches);
    abut_context_release(c->context, c->nears);
    abut_context_release(c->context, c->nearest);
    abut_context_release(c->context, c->offsets);
    abut_context_release(c->context, c->end);
    abut_bvh_destroy(c->cloth_bvh);
    abut_bvh_destroy(c->solid_bvh);
    c->touches = NULL;
    c->nears = NULL;
    c->nearest = NULL;
    c->offsets = NULL;
    c->end = NULL;
    c->nearest_room = c->near_room = 0;
    c->cloth_bvh = c->solid_bvh = NULL;
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
            cloth_near near = {.vertex = {i, corner[0], corner[1], corner[2]}};
            memcpy(near.weight, n->barycentric, sizeof near.weight);
            near.normal = vec_scale(vec_sub(c->position[i], n->point), 1 / n->distance);
            near.gap = n->distance;
            near.least = distance_to_keep(c, n->distance);
            c->nears[c->near_count++] = near;
        }
    return status;
}

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

/* ---- a step ---- */

static double thinnest_gap(const cloth *c) {
    double least = 1.5 * c->options.thickness;
    for (size_t i = 0; i < c->touch_count; i++)
        least = fmin(least, c->touches[i].gap);
    for (size_t i = 0; i < c->near_count; i++)
        least = fmin(least, c->nears[i].gap);
    return least;
}

static abut_status settle(cloth *c, cloth_report *report) {
    memcpy(c->end, c->aim, c->all_vertices * sizeof *c->end);
    report->fraction = 1;
    return ABUT_OK;
}

/* Where vertices could not go as they were to, their velocity is what became of it. */
static void finish(cloth *c, double seconds) {
    for (uint32_t i = 0; i < c->vertices; i++) {
        vec off = vec_sub(c->end[i], c->aim[i]);
        if (vec_dot(off, off) > 0)
            c->velocity[i] = vec_scale(vec_sub(c->end[i], c->position[i]), 1 / seconds);
    }
    memcpy(c->position, c->end, c->all_vertices * sizeof *c->position);
}

abut_status cloth_step(cloth *c, double seconds, const abut_vec3 *solid_end, cloth_report *report) {
    if (!c || !report || !(seconds > 0 && seconds <= 1e30))
        return abut_fail(ABUT_ERROR_ARGUMENT,
                         "cloth_step: needs a cloth, a report, and seconds above 0");
    if (!c->solid)
        solid_end = NULL;
    cloth_report told = {.fraction = 1};
    double start = cloth_clock();
    abut_status status = make_room(c);
    status = status ? status : find_touches(c, seconds, solid_end);
    status = status ? status : find_nears(c);
    if (status)
        return status;
    told.contacts = (uint32_t)(c->touch_count + c->near_count);
    told.thinnest = thinnest_gap(c);
    double found = cloth_clock();
    memcpy(c->kept, c->velocity, c->vertices * sizeof *c->kept);
    cloth_advance(c, seconds);
    for (uint32_t i = 0; i < c->vertices; i++)
        c->aim[i] = c->inverse_mass[i] > 0 ? vec_round(c->now[i]) : c->position[i];
    for (uint32_t i = c->vertices; i < c->all_vertices; i++)
        c->aim[i] = solid_end ? vec_round(solid_end[i - c->vertices]) : c->position[i];
    double advanced = cloth_clock();
    status = settle(c, &told);
    if (status) {
        memcpy(c->velocity, c->kept, c->vertices * sizeof *c->kept);
        return status;
    }
    finish(c, seconds);
    told.search = found - start;
    told.dynamics = advanced - found;
    told.sweep = cloth_clock() - advanced;
    *report = told;
    return ABUT_OK;
}
