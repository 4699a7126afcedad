/* Impulses of sheets on bodies: the sum of what each body has changed in the momentum of sheets,
 * with the opposite sign.
 *
 * Contacts and attachments move vertices in substeps. The momentum that a correction gives to a
 * vertex is mass * correction / seconds of a substep. Pinned vertices pass on what constraints and
 * contacts give them, and their own weight and inertia. Barriers change velocities by impulses. A
 * vertex whose path a body or its zone has changed loses the difference of velocities. All sums are
 * in the order of vertices, holds and barriers, on the host. */
#include "cloth/cloth.h"

uint32_t abuti_cloth_body_of(const abut_cloth *c, const cloth_barrier *b) {
    const uint32_t body = b->vertex[0] < b->vertex[3] ? b->vertex[3] : b->vertex[0];
    return body < c->vertices ? ABUT_NONE : c->part_of[body];
}

abut_status abuti_cloth_add_stop(abut_cloth *c, uint32_t v, uint32_t part) {
    if (c->halvings[v] & CLOTH_IS_STOPPED)
        return ABUT_OK;
    cloth_stop *stop = ABUTI_PUSH(c->context, &c->stops, cloth_stop);
    if (!stop)
        return ABUT_ERROR_MEMORY;
    *stop = (cloth_stop){.vertex = v, .part = part};
    c->halvings[v] |= CLOTH_IS_STOPPED;
    return ABUT_OK;
}

/* Adds an impulse on the body of a part where vertex v is at the end of the step. */
static void add_impulse(abut_cloth *c, uint32_t part, uint32_t v, vec3 impulse) {
    cloth_item *body = cloth_item_of(c, BODIES, part - cloth_count_of(c, SHEETS));
    body->impulse = v3_add(body->impulse, impulse);
    body->moment = v3_add(body->moment, v3_cross(v3_sub(c->end[v], body->centre), impulse));
}

static void reset_impulses(abut_cloth *c) {
    for (uint32_t i = 0; i < cloth_count_of(c, BODIES); i++) {
        cloth_item *body = cloth_item_of(c, BODIES, i);
        body->impulse = body->moment = body->centre = v3(0, 0, 0);
        if (body->mesh)
            body->centre = c->end[c->vertices + body->vertex];
    }
}

static void add_holds(abut_cloth *c, double h) {
    for (size_t i = 0; i < c->holds.count; i++) {
        const cloth_hold *hold = &ABUTI_AT(&c->holds, cloth_hold, i);
        if (hold->triangle == ABUT_NONE)
            continue;
        const uint32_t corner = c->groups[BODIES].indices[3 * (size_t)hold->triangle];
        add_impulse(c, c->part_of[c->vertices + corner], hold->vertex, v3_scale(hold->load, 1 / h));
    }
}

static void add_barrier(abut_cloth *c, const cloth_barrier *b) {
    const uint32_t part = abuti_cloth_body_of(c, b);
    for (int k = 0; k < 4 && part != ABUT_NONE; k++) {
        const uint32_t v = b->vertex[k];
        if (v < c->vertices && c->inverse_mass[v] > 0)
            add_impulse(c, part, v, v3_scale(b->load, -b->weight[k]));
    }
}

void abuti_cloth_find_impulses(abut_cloth *c, double seconds) {
    const double h = seconds / c->options.substeps;
    reset_impulses(c);
    if (c->radial || !c->vertices)
        return;
    for (uint32_t v = 0; v < c->vertices && c->pushes; v++)
        if (c->pushes[v].part != ABUT_NONE)
            add_impulse(c, c->pushes[v].part, v, v3_scale(c->pushes[v].moved, -c->mass[v] / h));
    add_holds(c, h);
    for (size_t i = 0; i < c->barriers.count; i++)
        add_barrier(c, &ABUTI_AT(&c->barriers, cloth_barrier, i));
    for (size_t i = 0; i < c->stops.count; i++) {
        const cloth_stop *stop = &ABUTI_AT(&c->stops, cloth_stop, i);
        const uint32_t v = stop->vertex;
        const vec3 lost = v3_sub(stop->velocity, c->next_velocity[v]);
        add_impulse(c, stop->part, v, v3_scale(lost, c->mass[v]));
    }
}

abut_status abut_cloth_get_body_impulse(const abut_cloth *cloth, uint32_t body, abut_vec3 point,
                                        abut_vec3 *linear, abut_vec3 *angular) {
    abut_status status = abuti_cloth_check(__func__, cloth, BODIES, body);
    if (status)
        return status;
    if (!linear || !angular)
        return abuti_null(__func__, linear ? "angular" : "linear");
    if (!cloth_is_near(point))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: point is (%g, %g, %g); each must be from %g to %g", __func__,
                          point.x, point.y, point.z, -ABUT_CLOTH_COORDINATE_MAX,
                          ABUT_CLOTH_COORDINATE_MAX);
    const cloth_item *item = cloth_item_of(cloth, BODIES, body);
    *linear = item->impulse;
    *angular = v3_add(item->moment, v3_cross(v3_sub(item->centre, point), item->impulse));
    return ABUT_OK;
}
