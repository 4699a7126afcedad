/* Cloth against the radial fields of a character, for visual purposes: vertices are moved out of
 * the fields at the end of each step, without sweeps. And vertices that leave the solid where
 * fields do not cover it, decided exactly. */
#include "parts.h"

abut_status cloth_add_radial(cloth *c, abut_radial *radial) {
    if (!c || !radial || c->radial || c->is_prepared)
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "cloth_add_radial: needs a cloth without fields, and fields");
    c->radial = radial;
    return ABUT_OK;
}

/* Fields are some millimetres off the body: vertices of fine cloth keep at least this fraction
 * of a cell. */
#define FIELD_CELLS 0.5

abut_status cloth_leave_fields(cloth *c, double seconds, cloth_report *report) {
    abut_radial_particles particles = abut_radial_particles_default();
    abut_radial_info info = abut_radial_info_default();
    abut_radial_get_info(c->radial, &info);
    particles.count = c->vertices;
    particles.radius = fmax(c->options.thickness, FIELD_CELLS * info.cell);
    particles.friction = fmin(c->options.friction, 1);
    particles.from = c->arrays.start;
    particles.to = c->arrays.end;
    particles.hits = c->arrays.hits;
    abut_status status = abut_radial_collide(c->radial, &particles);
    if (!status)
        status = c->backend->settle(c, seconds);
    report->impacts = (uint32_t)particles.hit_count;
    return status;
}

/* ---- moving vertices out of the solid ---- */

static abut_status prepare_leaving(cloth *c) {
    cloth_leaving *l = &c->leaving;
    const size_t n = c->vertices;
    bool all = (l->points || (l->points = cloth_room(c, n, sizeof *l->points))) &&
               (l->moved || (l->moved = cloth_room(c, n, sizeof *l->moved))) &&
               (l->queried || (l->queried = cloth_room(c, n, sizeof *l->queried))) &&
               (l->answers || (l->answers = cloth_room(c, n, sizeof *l->answers)));
    abut_status status = all ? cloth_fetch(c) : ABUT_ERROR_MEMORY;
    if (!status)
        status = cloth_fit(c, 1);
    abut_sign_info info = abut_sign_info_default();
    if (!status)
        status = abut_sign_get_info(c->bvhs[1].bvh, &info);
    if (!status && info.method == ABUT_SIGN_AUTO)
        status = abut_sign_prepare(c->bvhs[1].bvh, NULL);
    return status;
}

void cloth_free_leaving(cloth *c) {
    cloth_leaving *l = &c->leaving;
    CLOTH_FREE(c, l->points, l->moved, l->queried, l->answers);
}

/* Moves a vertex outside if it is inside. */
static bool leave(const cloth *c, uint32_t v, const abut_nearest *n, vec *at) {
    vec out = vec_sub(n->point, *at);
    double length = vec_length(out);
    if (n->triangle == ABUT_NONE || !(n->distance < 0) || !(length > 0) ||
        !(c->inverse_mass[v] > 0))
        return false;
    out = vec_scale(out, 1 / length);
    *at = vec_round(vec_along(n->point, c->options.thickness, out));
    return true;
}

/* Stores the new position of a vertex, and removes its inward velocity. */
static void settle_outside(cloth *c, uint32_t v, vec to) {
    vec way = vec_sub(to, c->position[v]);
    double sq = vec_dot(way, way), inwards = vec_dot(c->velocity[v], way);
    if (!(sq > 0))
        return;
    if (inwards < 0)
        c->velocity[v] = vec_along(c->velocity[v], -inwards / sq, way);
    c->position[v] = to;
}

/* A vertex inside two parts of a body may leave one of them first. */
enum { LEAVE_PASSES = 3 };

abut_status cloth_leave_solid(cloth *c, double depth, uint32_t *moved, double *deepest) {
    if (!c || !c->radial || !c->solid || !moved || !deepest || !(depth > 0))
        return abut_set_error(
            ABUT_ERROR_ARGUMENT,
            "cloth_leave_solid: needs a cloth with a solid and radial fields, a depth "
            "above 0, and results");
    cloth_leaving *l = &c->leaving;
    abut_status status = prepare_leaving(c);
    uint32_t count = c->vertices, first = 0;
    double most = 0;
    for (uint32_t i = 0; i < count && !status; i++) {
        l->moved[i] = l->points[i] = c->position[i];
        l->queried[i] = i;
    }
    for (int pass = 0; pass < LEAVE_PASSES && count && !status; pass++) {
        uint32_t left = 0;
        status = abut_sign_nearest_batch(c->bvhs[1].bvh, abut_array_host(l->points), count, depth,
                                         abut_array_host(l->answers));
        for (uint32_t i = 0; i < count && !status; i++) {
            const uint32_t v = l->queried[i];
            if (!pass && l->answers[i].triangle != ABUT_NONE)
                most = fmax(most, -l->answers[i].distance);
            if (!leave(c, v, &l->answers[i], &l->moved[v]))
                continue;
            l->points[left] = l->moved[v];
            l->queried[left++] = v;
        }
        first = pass ? first : left;
        count = left;
    }
    if (status)
        return status;
    for (uint32_t i = 0; i < c->vertices && first; i++)
        settle_outside(c, i, l->moved[i]);
    if (first && c->backend->changed)
        c->backend->changed(c);
    *moved = first;
    *deepest = most;
    return ABUT_OK;
}
