/* Repulsion between near features.
 *
 * At the start of a step each vertex near the solid gets a plane that moves with the solid. Near
 * pairs of a vertex and a face of the cloth, or of two edges, get a plane between them (Bridson,
 * Fedkiw, Anderson 2002, "Robust treatment of collisions, contact and friction for cloth
 * animation", section 6). The dynamics treats these planes as constraints. They improve
 * appearance and guarantee nothing. */
#include "parts.h"

/* ---- memory ---- */

static abut_status make_room(cloth *c) {
    if (!c->touches)
        c->touches = abut_context_allocate(c->context, c->vertices, sizeof *c->touches);
    if (!c->nearest)
        c->nearest = abut_context_allocate(c->context, c->vertices, sizeof *c->nearest);
    return c->touches && c->nearest ? ABUT_OK : ABUT_ERROR_MEMORY;
}

static abut_status make_room_for_nears(cloth *c, size_t count) {
    void *list = cloth_grown(c, c->nears, &c->near_room, count, sizeof *c->nears);
    c->nears = list ? list : c->nears;
    return list ? ABUT_OK : ABUT_ERROR_MEMORY;
}

void cloth_free_contacts(cloth *c) {
    abut_context_free(c->context, c->touches);
    abut_context_free(c->context, c->nears);
    abut_context_free(c->context, c->nearest);
    abut_bvh_destroy(c->cloth_bvh);
    abut_bvh_destroy(c->solid_bvh);
}

/* ---- contacts ---- */

abut_status cloth_fit(cloth *c, uint32_t which, abut_bvh **bvh) {
    abut_mesh *mesh = NULL;
    if (which && *bvh && c->solid_fit == c->solid_moved)
        return ABUT_OK;
    abut_bvh_info info = abut_bvh_info_default();
    abut_status status = cloth_mesh(c, which, &mesh);
    if (!status && *bvh)
        status = abut_bvh_get_info(*bvh, &info);
    if (info.should_rebuild) {
        abut_bvh_destroy(*bvh);
        *bvh = NULL;
    }
    if (!status)
        status = *bvh ? abut_bvh_set_mesh(*bvh, mesh) : abut_bvh_create(mesh, NULL, bvh);
    if (!status && which)
        c->solid_fit = c->solid_moved;
    abut_mesh_destroy(mesh);
    return status;
}

/* The distance below which features repel each other. */
static double range_of(const cloth *c) {
    return 1.5 * c->options.thickness;
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

abut_status cloth_find_touches(cloth *c, double radius, const vec *solid_end) {
    abut_status status = make_room(c);
    status = status ? status : cloth_fit(c, 1, &c->solid_bvh);
    status = status ? status
                    : abut_nearest_point_batch(c->solid_bvh, abut_array_host(c->position),
                                               c->vertices, radius, abut_array_host(c->nearest));
    const uint32_t *corners = abut_mesh_indices(c->solid);
    const vec *solid = c->position + c->vertices;
    for (uint32_t i = 0; i < c->vertices && !status; i++) {
        cloth_touch *touch = &c->touches[c->touch_count];
        if (!cloth_touch_of(&c->nearest[i], i, c->position[i], c->options.thickness, corners, solid,
                            solid_end ? solid_end : solid, touch))
            continue;
        c->touch_gap = fmin(c->touch_gap, touch->gap);
        c->touch_count++;
    }
    return status;
}

static abut_status find_touches(cloth *c, double seconds, const vec *solid_end) {
    c->touch_count = 0;
    c->touch_gap = range_of(c);
    if (!c->solid)
        return ABUT_OK;
    double motion = fmin(expected_motion(c, seconds, solid_end), 2 * c->mean_edge);
    return c->backend->find_touches(c, c->options.thickness + motion, solid_end);
}

/* Limit of near features per vertex. Repulsion is for appearance; the others are resolved by
 * impacts. */
enum { NEARS_A_VERTEX = 32 };

/* Finds near pairs by a step without motion: vertices and faces, edges and edges. */
static abut_status search_near(cloth *c) {
    abut_sweep_find_options options = abut_sweep_find_options_default();
    options.separation = range_of(c);
    abut_status status = c->backend->step(c, 0, true);
    c->impact_count = 0;
    return status ? status
                  : cloth_sweep(c, c->motions[0], &options, (size_t)NEARS_A_VERTEX * c->vertices);
}

/* The sum of weight_i x_i. */
static vec gap_of(const cloth_near *n, const vec *x) {
    vec gap = {0, 0, 0};
    for (int k = 0; k < 4; k++)
        gap = vec_along(gap, n->weight[k], x[n->vertex[k]]);
    return gap;
}

/* Features that are near at rest keep their rest distance. */
static abut_status find_nears(cloth *c) {
    const vec *rest = abut_mesh_local_positions(c->rest);
    c->near_count = c->impact_count = 0;
    abut_status status = c->options.no_self ? ABUT_OK : search_near(c);
    status = status ? status : make_room_for_nears(c, c->impact_count);
    c->near_count = 0;
    for (size_t i = 0; i < c->impact_count && !status; i++) {
        cloth_near *n = &c->nears[c->near_count];
        cloth_features_of(c, &c->impacts[i], n);
        vec gap = gap_of(n, c->position);
        n->gap = vec_length(gap);
        if (!(n->gap > 0))
            continue;
        n->normal = vec_scale(gap, 1 / n->gap);
        n->least =
            cloth_distance_to_keep(n->gap, fmin(c->options.thickness, vec_length(gap_of(n, rest))));
        c->near_count++;
    }
    return status;
}

/* Pairs for which no colour is available are omitted too, as they would have to be processed one
 * after the other. In a knot hundreds of features are near one vertex. */
static abut_status colour_nears(cloth *c) {
    cloth_colours *colours = &c->near_colours;
    abut_status status = cloth_colour(c, c->nears, c->near_count, sizeof *c->nears, 4, colours);
    if (!status && colours->count == COLOURS) {
        c->near_count = colours->begin[COLOURS - 1];
        colours->count = COLOURS - 1;
    }
    return status;
}

abut_status cloth_find_contacts(cloth *c, double seconds, const vec *solid_end) {
    abut_status status = find_touches(c, seconds, solid_end);
    status = status ? status : find_nears(c);
    return status ? status : colour_nears(c);
}

double cloth_thinnest_gap(const cloth *c) {
    double least = c->touch_gap;
    for (size_t i = 0; i < c->near_count; i++)
        least = fmin(least, c->nears[i].gap);
    return least;
}

/* ---- exact test ---- */

abut_status cloth_is_free(cloth *c, bool *is_free) {
    bool meets = false;
    abut_pair_intersection_list found = {NULL, 0, 0};
    abut_status status = cloth_fit(c, 0, &c->cloth_bvh);
    status = status ? status : abut_pair_self_intersects(c->cloth_bvh, NULL, &meets);
    if (!status && c->solid) {
        status = cloth_fit(c, 1, &c->solid_bvh);
        if (status)
            return status;
        abut_collider a = abut_collider_from_bvh(c->cloth_bvh, abut_pose_identity()),
                      b = abut_collider_from_bvh(c->solid_bvh, abut_pose_identity());
        status = abut_pair_intersections(&a, &b, &found);
        status = status == ABUT_ERROR_BUFFER ? ABUT_OK : status;
    }
    if (!status)
        *is_free = !meets && !found.count;
    return status;
}
