/* Collision response that prevents all intersections.
 *
 * Method: a step plans the positions of all vertices at its end (solver.c). Then abut_sweep_find()
 * and abut_self_find_all() find all impacts on the straight paths to them; they miss none. The
 * latter often proves without a complete search that there is none (Cheng 2011). Three stages
 * follow:
 *
 *   1. Barriers: each impact becomes a plane between its two features, with the normal at the
 *      time of impact. The ends of the paths are moved until all planes found so far are
 *      satisfied, and the sweep is repeated (impulses as in Bridson et al. 2002, section 7;
 *      keeping planes from sweep to sweep is Harmon et al. 2008, "Robust treatment of
 *      simultaneous collisions").
 *   2. Halving: vertices that still collide move half as far, and finally not at all. If bodies
 *      may lag, zones of vertices move by common vectors instead, including vertices of bodies
 *      (zones.c). These stay where the cloth leaves room, and continue from there to their targets
 *      in the next step.
 *   3. The whole scene, including bodies, moves only to just before the earliest impact.
 *      Times of impact are never late, so this path is free; a path of length zero is always
 *      free.
 *
 * Guarantee: a step is accepted only after a sweep of exactly its paths, with their rounding,
 * has found nothing. So a start without intersection leads to an end without one. */
#include "cloth/cloth.h"

enum { BARRIER_ROUNDS = 10, BARRIER_PASSES = 6, HALVING_ROUNDS = 8, HALVINGS_MAX = 4, CUTS = 6 };
/* If bodies may lag: rounds of barriers, which help little where a body crushes cloth; rounds in
 * which only the sheets of zones are moved; and all rounds of zones. A zone grows by about a ring
 * of vertices per round. */
enum { LAG_BARRIER_ROUNDS = 6, SHEET_ROUNDS = 2, LAG_ROUNDS = 40 };
#define CATCH_UP 4 /* thicknesses per step by which late vertices of bodies return */

#define BARRIER_GAP 0.1 /* thicknesses */

static abut_status prepare_bodies(abut_cloth *c, uint32_t bodies) {
    const cloth_group *g = &c->groups[BODIES];
    abut_status status = ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(c->planned, bodies),
                                        ABUTI_ZEROED(c->face_of, bodies));
    for (size_t i = 0; i < 3 * (size_t)g->triangles && !status; i++)
        c->face_of[g->indices[i]] = (uint32_t)(i / 3);
    return status;
}

abut_status abuti_cloth_prepare_impacts(abut_cloth *c) {
    abut_mesh *const meshes[2] = {c->groups[SHEETS].mesh, c->groups[BODIES].mesh};
    const uint32_t bodies = c->all_vertices - c->vertices;
    abut_status status = ABUT_OK;
    if (!c->halvings)
        status = ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(c->halvings, c->all_vertices));
    if (!status && c->options.body_may_lag && !c->planned)
        status = prepare_bodies(c, bodies);
    if (!status && c->options.body_may_lag && !c->zones)
        status = abuti_cloth_create_zones(c);
    if (!status && !c->self && !c->options.ignore_self) {
        abut_self_options options = abut_self_options_default();
        options.device = c->options.device;
        status = abut_self_create(meshes[SHEETS], &options, &c->self);
    }
    if (!status && bodies && !c->sweep) {
        abut_sweep_options options = abut_sweep_options_default();
        options.device = c->options.device;
        options.skip_self = true; /* bodies may intersect themselves */
        status = abut_sweep_create(meshes, 2, &options, &c->sweep);
    }
    return status;
}

void abuti_cloth_release_impacts(abut_cloth *c) {
    abut_self_destroy(c->self);
    abut_sweep_destroy(c->sweep);
    c->self = NULL;
    c->sweep = NULL;
    abuti_cloth_release_zones(c);
    ABUTI_RELEASE(c->context, c->halvings, c->planned, c->face_of);
    c->halvings = NULL;
    c->planned = NULL;
    c->face_of = NULL;
}

/* ---- impacts ---- */

/* Finds the impacts of sheets with each other and with themselves. The list is complete unless it
 * is empty, so that the scheme and the device do not change it. */
static abut_status find_selves(abut_cloth *c, const abut_sweep_find_options *options,
                               abut_impact_list *found, abut_cloth_report *report) {
    abut_self_step step = abut_self_step_default();
    abut_self_result result = abut_self_result_default();
    step.start = c->arrays.start;
    step.end = c->arrays.end;
    step.start_is_free = true;
    step.complete_list = true;
    const abut_status status = abut_self_find_all(c->self, &step, options, found, &result);
    report->self_scheme = result.scheme;
    report->self_reason = result.reason;
    return status;
}

static abut_status find_touches(abut_cloth *c, const abut_sweep_find_options *options,
                                abut_impact_list *found) {
    const abut_status status = abut_sweep_set_positions(c->sweep, c->arrays.start, c->arrays.end);
    return status ? status : abut_sweep_find(c->sweep, ABUT_SWEEP_ALL, options, found, NULL);
}

/* Appends the impacts of a group, sheets or bodies, on the paths from `position` to `end`. */
static abut_status append_impacts(abut_cloth *c, int group, abut_cloth_report *report) {
    abuti_vector *list = &c->impacts;
    abut_sweep_find_options options = abut_sweep_find_options_default();
    options.exact = true; /* features that are close but free must not be held back */
    abut_status status = ABUT_ERROR_BUFFER;
    for (int turn = 0; turn < 2 && status == ABUT_ERROR_BUFFER; turn++) {
        abut_impact_list found = {.list =
                                      list->data ? &ABUTI_AT(list, abut_impact, list->count) : NULL,
                                  .capacity = list->room - list->count};
        status = group == SHEETS ? find_selves(c, &options, &found, report)
                                 : find_touches(c, &options, &found);
        const size_t count = list->count + (size_t)found.count;
        if (!status)
            list->count = count;
        else if (status == ABUT_ERROR_BUFFER && !turn &&
                 abuti_vector_reserve(c->context, list, count, sizeof(abut_impact)))
            return ABUT_ERROR_MEMORY;
    }
    return status;
}

static abut_status find_impacts(abut_cloth *c, abut_cloth_report *report) {
    abut_status status = ABUT_OK;
    c->impacts.count = 0;
    if (c->self)
        status = append_impacts(c, SHEETS, report);
    if (!status && c->sweep)
        status = append_impacts(c, BODIES, report);
    report->sweeps++;
    return status;
}

/* The four vertices of an impact, with their weights at the time of impact. */
static cloth_barrier barrier_of(const abut_cloth *c, const abut_impact *i) {
    cloth_barrier b;
    uint32_t used = 0;
    for (int side = 0; side < 2; side++) {
        const cloth_group *g = &c->groups[i->mesh[side] ? BODIES : SHEETS];
        const uint32_t shift = i->mesh[side] ? c->vertices : 0;
        const size_t e = i->element[side];
        uint32_t corners = 2;
        const uint32_t *from = g->view.edges + 2 * e;
        if (i->kind == ABUT_IMPACT_VERTEX_FACE) {
            corners = side ? 3 : 1;
            from = side ? g->indices + 3 * e : &i->element[0];
        }
        for (uint32_t k = 0; k < corners; k++)
            b.vertex[used++] = shift + from[k];
    }
    const double *w = i->weights;
    if (i->kind == ABUT_IMPACT_VERTEX_FACE) {
        const double weight[4] = {1, -w[0], -w[1], -w[2]};
        memcpy(b.weight, weight, sizeof weight);
    } else {
        const double weight[4] = {1 - w[0], w[0], w[1] - 1, -w[1]};
        memcpy(b.weight, weight, sizeof weight);
    }
    b.normal = i->normal;
    const cloth_part *first = &c->parts[c->part_of[b.vertex[0]]],
                     *second = &c->parts[c->part_of[b.vertex[3]]];
    b.load = v3(0, 0, 0);
    b.has_pushed = false;
    b.gap = BARRIER_GAP * cloth_mean(first->thickness, second->thickness);
    b.friction = cloth_mean(first->friction, second->friction);
    return b;
}

/* ---- barriers ---- */

static abut_status add_barriers(abut_cloth *c) {
    for (size_t i = 0; i < c->impacts.count; i++) {
        cloth_barrier *b = ABUTI_PUSH(c->context, &c->barriers, cloth_barrier);
        if (!b)
            return ABUT_ERROR_MEMORY;
        *b = barrier_of(c, &ABUTI_AT(&c->impacts, abut_impact, i));
    }
    return ABUT_OK;
}

/* Moves the ends of the vertices of two features apart if they are too near, with friction. Returns
 * the distance moved. */
static double hold_barrier(abut_cloth *c, cloth_barrier *b) {
    const double *w = c->inverse_mass;
    vec3 gap = v3(0, 0, 0), slip = v3(0, 0, 0);
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t v = b->vertex[k];
        gap = v3_along(gap, b->weight[k], c->end[v]);
        slip = v3_along(slip, b->weight[k], v3_sub(c->end[v], c->position[v]));
        sum += b->weight[k] * b->weight[k] * w[v];
    }
    double off = b->gap - v3_dot(gap, b->normal);
    if (!(off > 0) || !(sum > 0))
        return 0;
    vec3 push = v3_scale(b->normal, off);
    push = v3_sub(push, cloth_rub(slip, b->normal, off, b->friction));
    b->has_pushed = true;
    for (int k = 0; k < 4; k++) {
        uint32_t v = b->vertex[k];
        c->end[v] = v3_along(c->end[v], w[v] * b->weight[k] / sum, push);
    }
    return off;
}

static void hold_barriers(abut_cloth *c) {
    cloth_barrier *list = c->barriers.data;
    for (int pass = 0; pass < BARRIER_PASSES; pass++) {
        bool is_done = true;
        for (size_t i = 0; i < c->barriers.count; i++)
            is_done &= hold_barrier(c, &list[i]) <= 0.01 * list[i].gap;
        if (is_done)
            break;
    }
    for (size_t i = 0; i < c->barriers.count; i++)
        for (int k = 0; k < 4; k++)
            c->end[list[i].vertex[k]] = cloth_round(c->end[list[i].vertex[k]]);
}

/* ---- shortening paths ---- */

static abut_status halve(abut_cloth *c, abut_cloth_report *report) {
    const uint32_t count = c->vertices;
    for (size_t i = 0; i < c->impacts.count; i++) {
        const cloth_barrier b = barrier_of(c, &ABUTI_AT(&c->impacts, abut_impact, i));
        const uint32_t part = abuti_cloth_body_of(c, &b);
        for (int k = 0; k < 4; k++) {
            uint32_t v = b.vertex[k];
            if (v < count)
                c->halvings[v] |= CLOTH_IS_DUE; /* once per round */
            if (v < count && part != ABUT_NONE && abuti_cloth_add_stop(c, v, part))
                return ABUT_ERROR_MEMORY;
        }
    }
    for (uint32_t v = 0; v < count; v++) {
        if (!(c->halvings[v] & CLOTH_IS_DUE))
            continue;
        c->halvings[v] = (unsigned char)((c->halvings[v] & ~CLOTH_IS_DUE) + 1);
        double keep = (c->halvings[v] & ~CLOTH_IS_STOPPED) < HALVINGS_MAX ? 0.5 : 0;
        vec3 way = v3_sub(c->end[v], c->position[v]);
        c->end[v] = cloth_round(v3_along(c->position[v], keep, way));
        report->halvings++;
    }
    return ABUT_OK;
}

/* Moves the vertices of impacts in zones. The last zone has all vertices. */
static abut_status move_zones(abut_cloth *c, int round, abut_cloth_report *report) {
    if (round == 0)
        abuti_cloth_clear_zones(c);
    for (size_t i = 0; i < c->impacts.count; i++)
        abuti_cloth_join_zone(c, barrier_of(c, &ABUTI_AT(&c->impacts, abut_impact, i)).vertex);
    if (round == LAG_ROUNDS - 1)
        abuti_cloth_join_all(c);
    return abuti_cloth_move_zones(c, round >= SHEET_ROUNDS, report);
}

/* Shortens the paths of sheets and bodies to a fraction. */
static void cut(abut_cloth *c, double part) {
    for (uint32_t v = 0; v < c->all_vertices; v++) {
        vec3 way = v3_sub(c->end[v], c->position[v]);
        c->end[v] = cloth_round(v3_along(c->position[v], part, way));
    }
}

static double earliest(const abut_cloth *c) {
    double time = 1;
    for (size_t i = 0; i < c->impacts.count; i++)
        time = fmin(time, ABUTI_AT(&c->impacts, abut_impact, i).time);
    return time;
}

/* ---- a step ---- */

/* Resolves the impacts of a round. Writes false if no further measure exists: then nothing
 * moves, and nothing collides. */
static abut_status resolve_round(abut_cloth *c, int round, abut_cloth_report *report,
                                 bool *goes_on) {
    const bool lags = c->options.body_may_lag;
    const int barriers = lags ? LAG_BARRIER_ROUNDS : BARRIER_ROUNDS;
    const int halvings = lags ? LAG_ROUNDS : HALVING_ROUNDS;
    *goes_on = round < barriers + halvings + CUTS;
    if (round < barriers) {
        if (add_barriers(c))
            return ABUT_ERROR_MEMORY;
        hold_barriers(c);
    } else if (round < barriers + halvings) {
        if (lags ? move_zones(c, round - barriers, report) : halve(c, report))
            return ABUT_ERROR_MEMORY;
    } else {
        double part = *goes_on ? 0.9 * earliest(c) : 0;
        cut(c, part);
        report->fraction *= part;
    }
    return c->backend->set_end ? c->backend->set_end(c) : ABUT_OK;
}

abut_status abuti_cloth_resolve_impacts(abut_cloth *c, abut_cloth_report *report) {
    memset(c->halvings, 0, c->all_vertices);
    c->barriers.count = c->stops.count = 0;
    abut_status status = ABUT_OK;
    bool goes_on = true;
    for (int round = 0; goes_on && !status; round++) {
        status = find_impacts(c, report);
        if (status || !c->impacts.count)
            return status;
        report->impacts += round ? 0 : (uint32_t)c->impacts.count;
        status = resolve_round(c, round, report, &goes_on);
    }
    return status;
}

/* ---- bodies ---- */

/* The axes of a triangle; zero if it is degenerate. */
static void axes_of(const vec3 *positions, const uint32_t *corners, vec3 axes[3]) {
    const vec3 side = v3_sub(positions[corners[1]], positions[corners[0]]);
    const vec3 other = v3_sub(positions[corners[2]], positions[corners[0]]);
    axes[0] = v3_normalise(side);
    axes[2] = v3_normalise(v3_cross(side, other));
    axes[1] = v3_cross(axes[2], axes[0]);
}

/* Turns the lag of a vertex of a body as its triangle turns in this step. */
static vec3 turn_lag(const abut_cloth *c, uint32_t i, vec3 lag) {
    const uint32_t *corners = c->groups[BODIES].indices + 3 * (size_t)c->face_of[i];
    vec3 from[3], to[3], turned = v3(0, 0, 0);
    axes_of(c->goal, corners, from);
    axes_of(c->target, corners, to);
    for (int k = 0; k < 3; k++)
        turned = v3_along(turned, v3_dot(from[k], lag), to[k]);
    return turned;
}

/* Late vertices move and turn with the others and catch up gradually. If they moved directly to
 * their targets they would hit the same cloth in every step, which then could not move either. */
void abuti_cloth_plan_bodies(abut_cloth *c) {
    for (uint32_t i = 0; c->planned && i < c->all_vertices - c->vertices; i++) {
        const vec3 off = v3_sub(c->goal[i], c->position[c->vertices + i]);
        const double late = cloth_length(off), most = CATCH_UP * c->thickness;
        c->planned[i] = c->target[i];
        if (late > most)
            c->planned[i] = v3_along(c->planned[i], most / late - 1, turn_lag(c, i, off));
    }
}

/* Sets the goals at the start of the next step; after a part of a step, a part of them. */
static void finish_goals(abut_cloth *c, double fraction) {
    for (uint32_t i = 0; c->goal && i < c->all_vertices - c->vertices; i++)
        c->goal[i] = cloth_round(
            fraction < 1 ? v3_along(c->goal[i], fraction, v3_sub(c->target[i], c->goal[i]))
                         : c->target[i]);
}

static void count_lagging(const abut_cloth *c, abut_cloth_report *report) {
    for (uint32_t i = c->vertices; i < c->all_vertices; i++) {
        double off = cloth_length(v3_sub(c->end[i], cloth_round(c->target[i - c->vertices])));
        report->lagging += off > 0;
        report->lag = fmax(report->lag, off);
    }
}

/* ---- velocities ---- */

static vec3 velocity_of(const abut_cloth *c, uint32_t v, double seconds) {
    return v < c->vertices ? c->next_velocity[v]
                           : v3_scale(v3_sub(c->end[v], c->position[v]), 1 / seconds);
}

/* An inelastic impulse with friction between the features of a barrier that approach each other.
 * Returns whether there was one. */
static bool collide_barrier(abut_cloth *c, cloth_barrier *b, double seconds) {
    const double *w = c->inverse_mass;
    vec3 slip = v3(0, 0, 0);
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        slip = v3_along(slip, b->weight[k], velocity_of(c, b->vertex[k], seconds));
        sum += b->weight[k] * b->weight[k] * w[b->vertex[k]];
    }
    const double speed = -v3_dot(slip, b->normal);
    if (!b->has_pushed || !(speed > 0) || !(sum > 0))
        return false;
    vec3 push = v3_scale(b->normal, speed);
    push = v3_scale(v3_sub(push, cloth_rub(slip, b->normal, speed, b->friction)), 1 / sum);
    b->load = v3_add(b->load, push);
    for (int k = 0; k < 4; k++) {
        const uint32_t v = b->vertex[k];
        if (v < c->vertices)
            c->next_velocity[v] = v3_along(c->next_velocity[v], w[v] * b->weight[k], push);
    }
    return true;
}

/* Barriers change velocities by impulses, which conserve momentum and add no energy. Vertices with
 * shortened paths get the velocity of their actual motion. */
static bool change_velocities(abut_cloth *c, double seconds, bool is_cut) {
    cloth_barrier *list = c->barriers.data;
    bool changed = is_cut || c->stops.count > 0, goes_on = true;
    for (int pass = 0; pass < BARRIER_PASSES && goes_on; pass++) {
        goes_on = false;
        for (size_t i = 0; i < c->barriers.count; i++)
            goes_on |= collide_barrier(c, &list[i], seconds);
        changed |= goes_on;
    }
    for (size_t i = 0; i < c->stops.count; i++) {
        cloth_stop *stop = &ABUTI_AT(&c->stops, cloth_stop, i);
        stop->velocity = c->next_velocity[stop->vertex];
    }
    for (uint32_t v = 0; v < c->vertices; v++)
        if (c->halvings[v] || is_cut) {
            c->next_velocity[v] = v3_scale(v3_sub(c->end[v], c->position[v]), 1 / seconds);
            changed = true;
        }
    return changed;
}

bool abuti_cloth_finish_impacts(abut_cloth *c, double seconds, abut_cloth_report *report) {
    finish_goals(c, report->fraction);
    count_lagging(c, report);
    const bool changed = change_velocities(c, seconds, report->fraction < 1);
    const size_t bytes = (c->all_vertices - c->vertices) * sizeof *c->end;
    if (memcmp(c->end + c->vertices, c->position + c->vertices, bytes) != 0)
        c->groups[BODIES].moved++;
    return changed;
}
