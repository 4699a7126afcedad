/* A step of a cloth, from contacts to the accepted positions, on any back end and against a solid
 * (collide.c) or radial fields (radial.c). */
#include "parts.h"

/* ---- the first step ---- */

static cloth_search search_of(const cloth *c) {
    cloth_search s = {.thickness = c->options.thickness, .rest = 1.01 * c->mean_edge, .mask = 255};
    s.range = c->options.thickness + 0.5 * c->mean_edge; /* allows for motion during a step */
    s.cell = s.range + 0.7 * c->mean_edge; /* a corner is within 0.58 of a face's longest edge */
    while (s.mask < c->vertices && s.mask < UINT32_C(1) << 30)
        s.mask = 2 * s.mask + 1;
    return s;
}

static abut_status prepare(cloth *c) {
    if (c->is_prepared)
        return ABUT_OK;
    c->search = search_of(c);
    if (!c->end)
        c->end = cloth_room(c, c->all_vertices, sizeof *c->end);
    abut_status status = c->end ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status && !c->patches.patches)
        status = cloth_cut(c);
    if (!status)
        status = cloth_find_held(c);
    if (!status && !c->radial)
        status = cloth_prepare_impacts(c);
    if (!status)
        status = c->backend->prepare(c);
    c->is_prepared = !status;
    return status;
}

/* ---- a step ---- */

cloth_substep cloth_substep_of(const cloth *c, double seconds, uint32_t i) {
    const cloth_options *o = &c->options;
    double count = o->substeps;
    cloth_substep s = {.h = seconds / count,
                       .from = i / count,
                       .to = (i + 1.0) / count,
                       .drag = o->drag,
                       .pressure = o->pressure,
                       .friction = o->friction,
                       .first_volume = c->first_volume,
                       .least_bend = 1e-9 * c->mean_edge,
                       .gravity = o->gravity,
                       .wind = o->wind,
                       .has_holds = c->held_count > 0,
                       .has_touches = c->solid && !c->radial,
                       .has_selves = !o->no_self,
                       .passes = o->no_self ? 1 : CONTACT_PASSES};
    s.keep = 1 / (1 + o->damping * s.h);
    return s;
}

static double of_bits(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

/* Positions must be in the valid range. */
static abut_status check_totals(const cloth *c) {
    if (!c->totals.odd)
        return ABUT_OK;
    return abut_set_error(
        ABUT_ERROR_LIMIT,
        c->totals.odd & 1
            ? "cloth_step: the cloth flies apart; take shorter steps, or smaller forces"
            : "cloth_step: the solid goes beyond all bounds");
}

static abut_status plan(cloth *c, double seconds, abut_array solid_end, cloth_report *report) {
    const double start = cloth_clock();
    c->totals = (cloth_totals){.thinnest = cloth_bits_of(c->search.range)};
    abut_status status = c->backend->begin(c, solid_end);
    if (!status)
        status = cloth_find_contacts(c, seconds, solid_end);
    const double found = cloth_clock();
    if (!status)
        status = c->backend->advance(c, seconds);
    report->search = found - start;
    report->dynamics = cloth_clock() - found;
    if (status)
        return status;
    return check_totals(c);
}

/* The end is the start of the next step. */
static void accept(cloth *c, bool velocities_changed) {
    vec *velocity = c->velocity;
    c->velocity = c->next_velocity;
    c->next_velocity = velocity;
    cloth_finish_holds(c);
    c->backend->finish(c, velocities_changed);
}

abut_status cloth_step_from(cloth *c, double seconds, abut_array solid_end, cloth_report *report) {
    if (!c || !report || !(seconds > 0 && seconds <= 1e30))
        return abut_set_error(ABUT_ERROR_ARGUMENT,
                              "cloth_step: needs a cloth, a report, and seconds above 0");
    if (solid_end.buffer && (!c->radial || !c->options.device))
        return abut_set_error(
            ABUT_ERROR_ARGUMENT,
            "cloth_step_from: a buffer needs a cloth on a device, with radial fields");
    cloth_report result = {.fraction = 1};
    abut_status status = prepare(c);
    if (status)
        return status;
    const vec *given = c->solid ? solid_end.host : NULL;
    if (!c->solid)
        solid_end = abut_array_host(NULL);
    if (!c->radial)
        solid_end = abut_array_host(cloth_catch_up(c, given));
    status = plan(c, seconds, solid_end, &result);
    const double planned = cloth_clock();
    if (!status)
        status =
            c->radial ? cloth_leave_fields(c, seconds, &result) : cloth_resolve_impacts(c, &result);
    if (!status)
        status = check_totals(c);
    if (status)
        return status;
    bool changed = false;
    if (c->radial)
        c->solid_moved += solid_end.host || solid_end.buffer;
    else
        changed = cloth_finish_impacts(c, seconds, given, &result);
    accept(c, changed);
    result.contacts = c->totals.contacts;
    result.thinnest = of_bits(c->totals.thinnest);
    result.deepest = of_bits(c->totals.deepest);
    result.sweep = cloth_clock() - planned;
    *report = result;
    return ABUT_OK;
}

abut_status cloth_step(cloth *c, double seconds, const abut_vec3 *solid_end, cloth_report *report) {
    return cloth_step_from(c, seconds, abut_array_host(solid_end), report);
}
