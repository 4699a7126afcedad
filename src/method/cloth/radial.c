/* Cloth against the radial fields of a character, for visual purposes: vertices are moved out of
 * the fields at the end of each step, without sweeps. And vertices that leave bodies where
 * fields do not cover them, decided exactly. */
#include "cloth/cloth.h"

#include <abut/sign.h>

abut_status abut_cloth_add_radial(abut_cloth *cloth, abut_radial *radial) {
    if (!cloth || !radial)
        return abuti_null(__func__, cloth ? "radial" : "cloth");
    if (cloth->radial)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: the cloth has radial fields already", __func__);
    cloth->radial = radial;
    cloth->is_built = false;
    return ABUT_OK;
}

/* Fields are some millimetres off the body: vertices of fine sheets keep at least this fraction
 * of a cell. */
#define FIELD_CELLS 0.5

/* The largest friction and thickness of all sheets apply to all of them. */
abut_status abuti_cloth_leave_fields(abut_cloth *c, double seconds, abut_cloth_report *report) {
    abut_radial_particles particles = abut_radial_particles_default();
    abut_radial_info info = abut_radial_info_default();
    abut_radial_get_info(c->radial, &info);
    particles.count = c->vertices;
    particles.radius = fmax(c->thickness, FIELD_CELLS * info.cell);
    for (uint32_t p = 0; p < cloth_count_of(c, SHEETS); p++)
        particles.friction = fmin(fmax(particles.friction, c->parts[p].friction), 1);
    particles.from = c->arrays.start;
    particles.to = c->arrays.end;
    particles.hits = c->arrays.hits;
    abut_status status = abut_radial_collide(c->radial, &particles);
    if (!status)
        status = c->backend->apply_fields(c, seconds);
    report->impacts = (uint32_t)particles.hit_count;
    return status;
}

/* ---- moving vertices out of bodies ---- */

static abut_status prepare_pushing(abut_cloth *c) {
    cloth_pushing *l = &c->pushing;
    const size_t n = c->vertices;
    abut_status status = ABUT_OK;
    if (!l->points)
        status = ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(l->points, n), ABUTI_ARRAY(l->moved, n),
                                ABUTI_ARRAY(l->queried, n), ABUTI_ARRAY(l->answers, n));
    if (!status)
        status = abuti_cloth_fit(c, BODIES);
    abut_sign_info info = abut_sign_info_default();
    if (!status)
        status = abut_sign_get_info(c->groups[BODIES].bvh, &info);
    if (!status && info.method == ABUT_SIGN_AUTO)
        status = abut_sign_prepare(c->groups[BODIES].bvh, NULL);
    return status;
}

void abuti_cloth_release_pushing(abut_cloth *c) {
    cloth_pushing *l = &c->pushing;
    ABUTI_RELEASE(c->context, l->points, l->moved, l->queried, l->answers);
    *l = (cloth_pushing){0};
}

/* Moves a vertex outside if it is inside. */
static bool leave(const abut_cloth *c, uint32_t v, const abut_nearest *n, vec3 *at) {
    vec3 out = v3_sub(n->point, *at);
    double length = cloth_length(out);
    if (n->triangle == ABUT_NONE || !(n->distance < 0) || !(length > 0) ||
        !(c->inverse_mass[v] > 0))
        return false;
    out = v3_scale(out, 1 / length);
    *at = cloth_round(v3_along(n->point, c->parts[c->part_of[v]].thickness, out));
    return true;
}

/* Stores the new position of a vertex, and removes its inward velocity. */
static void move_outside(abut_cloth *c, uint32_t v, vec3 to) {
    vec3 way = v3_sub(to, c->position[v]);
    double sq = v3_dot(way, way), inwards = v3_dot(c->velocity[v], way);
    if (!(sq > 0))
        return;
    if (inwards < 0)
        c->velocity[v] = v3_along(c->velocity[v], -inwards / sq, way);
    c->position[v] = to;
}

/* A vertex inside two parts of a body may leave one of them first. */
enum { LEAVE_PASSES = 3 };

abut_status abut_cloth_push_out(abut_cloth *cloth, double depth, uint32_t *moved, double *deepest) {
    abut_cloth *c = cloth;
    if (!c || !moved || !deepest)
        return abuti_null(__func__, !c ? "cloth" : !moved ? "moved" : "deepest");
    if (!c->radial || !c->groups[BODIES].count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: needs a cloth with radial fields and a body; without fields no "
                          "vertex is inside",
                          __func__);
    if (!(depth > 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: depth is %g; it must be above 0", __func__,
                          depth);
    cloth_pushing *l = &c->pushing;
    abut_status status = cloth_open(c);
    if (!status)
        status = prepare_pushing(c);
    uint32_t count = c->vertices, first = 0;
    double most = 0;
    for (uint32_t i = 0; i < count && !status; i++) {
        l->moved[i] = l->points[i] = c->position[i];
        l->queried[i] = i;
    }
    for (int pass = 0; pass < LEAVE_PASSES && count && !status; pass++) {
        uint32_t left = 0;
        status = abut_sign_nearest_batch(c->groups[BODIES].bvh, abut_array_host(l->points), count,
                                         depth, abut_array_host(l->answers));
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
        move_outside(c, i, l->moved[i]);
    c->groups[SHEETS].moved += first > 0;
    if (first && c->backend->changed)
        c->backend->changed(c);
    *moved = first;
    *deepest = most;
    return ABUT_OK;
}
