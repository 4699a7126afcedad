/* A step of a cloth, from contacts to the accepted positions, on any back end and against bodies
 * (impacts.c) or radial fields (radial.c). */
#include "cloth/cloth.h"

/* ---- the first step after a build ---- */

/* The distance of corners from the centres of their faces at rest, and a tenth for stretch. A few
 * long faces do not slow down the search for all others: it may miss parts of them. */
static double face_reach(const abut_cloth *c) {
    const cloth_group *sheets = &c->groups[SHEETS];
    double largest = 0;
    for (uint32_t i = 0; i < c->triangles; i++)
        largest = fmax(largest, cloth_face_at(i, sheets->indices, sheets->mesh->positions).radius);
    return fmin(1.1 * largest, 1.5 * c->mean_edge); /* 0.72 mean edges for a regular grid */
}

static cloth_search search_of(const abut_cloth *c) {
    cloth_search s = {.mask = 255, .has_seams = c->seams.count > 0};
    s.range = c->thickness + 0.5 * c->mean_edge; /* allows for motion during a step */
    s.cell = s.range + face_reach(c);
    while (s.mask < c->vertices && s.mask < UINT32_C(1) << 30)
        s.mask = 2 * s.mask + 1;
    return s;
}

abut_status abuti_cloth_prepare(const char *function, abut_cloth *c) {
    abut_status status = ABUT_OK;
    if (!c->is_checked)
        status = abuti_cloth_check_start(function, c);
    c->is_checked = !status;
    if (status || c->is_prepared)
        return status;
    c->search = search_of(c);
    if (!c->patches.is_made)
        status = abuti_cloth_divide(c);
    if (!status && c->seams.count && !c->knot_begin)
        status = abuti_cloth_find_knots(c);
    if (!status && !c->radial)
        status = abuti_cloth_prepare_impacts(c);
    if (!status && c->all_vertices > c->vertices && !c->radial && !c->pushes)
        status = ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(c->pushes, c->vertices));
    if (!status)
        status = c->backend->prepare(c);
    c->is_prepared = !status;
    return status;
}

void abuti_cloth_unprepare(abut_cloth *c) {
    abuti_cloth_free_patches(c);
    abuti_cloth_release_knots(c);
    abuti_cloth_release_impacts(c);
    abuti_cloth_release_pushing(c);
    abuti_release(c->context, c->pushes);
    c->pushes = NULL;
    for (int which = 0; which < 2; which++) {
        abut_bvh_destroy(c->groups[which].bvh);
        c->groups[which].bvh = NULL;
    }
    c->backend->release(c);
    c->is_prepared = false;
}

/* ---- a step ---- */

cloth_substep abuti_cloth_substep(const abut_cloth *c, double seconds, uint32_t i) {
    const abut_cloth_options *o = &c->options;
    const double count = o->substeps;
    const double h = seconds / count;
    return (cloth_substep){.h = h,
                           .per_h2 = 1 / (h * h),
                           .from = i / count,
                           .to = (i + 1.0) / count,
                           .passed = (i + 1.0) * h,
                           .drag = o->drag,
                           .least_bend = 1e-9 * c->mean_edge,
                           .gravity = o->gravity,
                           .wind = o->wind,
                           .has_holds = c->holds.count > 0,
                           .has_touches = c->all_vertices > c->vertices && !c->radial,
                           .has_selves = !o->ignore_self,
                           .has_pressure = c->block_count > 0};
}

/* Estimates how far any vertex moves in the step. */
static double expected_motion(const abut_cloth *c, double seconds) {
    const vec3 *body_end = cloth_body_end(c);
    double fastest = 0, furthest = 0;
    for (uint32_t i = 0; i < c->vertices; i++)
        fastest = fmax(fastest, v3_dot(c->velocity[i], c->velocity[i]));
    for (uint32_t i = c->vertices; i < c->all_vertices; i++) {
        vec3 d = v3_sub(body_end[i - c->vertices], c->position[i]);
        furthest = fmax(furthest, v3_dot(d, d));
    }
    return seconds * sqrt(fastest) + sqrt(furthest);
}

/* A vertex that is near a body gets a plane that moves with it; a vertex that is near a face of a
 * sheet keeps a distance from it. Both improve appearance and guarantee nothing. */
static abut_status find_contacts(abut_cloth *c, double seconds) {
    abut_status status = ABUT_OK;
    if (c->all_vertices > c->vertices && !c->radial) {
        const double motion = fmin(expected_motion(c, seconds), 2 * c->mean_edge);
        status = abuti_cloth_fit(c, BODIES);
        if (!status)
            status = abut_nearest_point_batch(c->groups[BODIES].bvh, c->arrays.start, c->vertices,
                                              c->thickness + motion, c->arrays.nearest);
    }
    return status ? status : c->backend->find_contacts(c);
}

/* Positions must be in the valid range. */
static abut_status check_totals(const abut_cloth *c) {
    if (c->totals.odd & 2)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_cloth_step: a body has a position that is not finite or beyond %g",
                          ABUT_CLOTH_COORDINATE_MAX);
    if (c->totals.odd)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_cloth_step: a sheet flies apart; use shorter steps, more substeps "
                          "or smaller forces");
    return ABUT_OK;
}

abut_status abuti_cloth_plan_step(abut_cloth *c, double seconds, abut_cloth_report *report) {
    const double start = abuti_seconds();
    c->totals = (cloth_totals){.thinnest = cloth_bits_of(c->search.range)};
    if (!c->radial)
        abuti_cloth_plan_bodies(c);
    abut_status status = c->backend->begin(c);
    if (!status)
        status = find_contacts(c, seconds);
    const double found = abuti_seconds();
    if (!status)
        status = c->backend->advance(c, seconds);
    report->contact_seconds = found - start;
    report->motion_seconds = abuti_seconds() - found;
    return status ? status : check_totals(c);
}

/* The end is the start of the next step. */
static void accept(abut_cloth *c, double seconds, abut_cloth_report *report) {
    bool changed = false;
    if (c->radial)
        c->groups[BODIES].moved++;
    else
        changed = abuti_cloth_finish_impacts(c, seconds, report);
    abuti_cloth_find_impulses(c, seconds);
    c->groups[SHEETS].moved++;
    vec3 *velocity = c->velocity;
    c->velocity = c->next_velocity;
    c->next_velocity = velocity;
    abuti_cloth_finish_holds(c);
    c->backend->finish(c, changed);
}

/* A step without sheets. */
static void move_bodies(abut_cloth *c) {
    for (uint32_t i = 0; i < c->all_vertices; i++) {
        c->position[i] = c->aim[i] = cloth_round(c->target[i]);
        if (c->goal)
            c->goal[i] = c->position[i];
    }
    c->groups[BODIES].moved++;
    abuti_cloth_find_impulses(c, 1);
}

static abut_status step(abut_cloth *c, double seconds, abut_cloth_report *report) {
    abut_status status = abuti_cloth_build(c);
    report->guarantee = abuti_cloth_guarantee(c);
    if (!status && !c->vertices) {
        move_bodies(c);
        return ABUT_OK;
    }
    if (!status)
        status = abuti_cloth_prepare("abut_cloth_step", c);
    if (!status)
        status = abuti_cloth_plan_step(c, seconds, report);
    const double planned = abuti_seconds();
    if (!status)
        status = c->radial ? abuti_cloth_leave_fields(c, seconds, report)
                           : abuti_cloth_resolve_impacts(c, report);
    if (!status)
        status = check_totals(c);
    if (status)
        return status;
    accept(c, seconds, report);
    report->contacts = c->totals.contacts;
    report->gap = cloth_from_bits(c->totals.thinnest);
    report->seam_gap = cloth_from_bits(c->totals.widest);
    report->depth = cloth_from_bits(c->totals.deepest);
    report->impact_seconds = abuti_seconds() - planned;
    return ABUT_OK;
}

abut_status abut_cloth_step(abut_cloth *cloth, double seconds, abut_cloth_report *report) {
    abut_cloth_report made = abut_cloth_report_default();
    if (!cloth)
        return abuti_null(__func__, "cloth");
    abut_status status = report ? abuti_info_check(report, sizeof made, __func__) : ABUT_OK;
    if (!status && !(seconds > 0 && seconds <= 1e30))
        status =
            abuti_fail(ABUT_ERROR_ARGUMENT,
                       "%s: seconds is %g; it must be above 0 and at most 1e30", __func__, seconds);
    if (status)
        return status;
    made.fraction = 1;
    abut_context *before = abuti_context_enter(cloth->context);
    status = step(cloth, seconds, &made);
    abuti_context_leave(before);
    return !status && report ? abuti_info_write(report, &made, sizeof made, __func__) : status;
}
