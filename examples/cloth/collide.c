/* Collision response that prevents all intersections.
 *
 * Method: a step plans the positions of all vertices at its end (dynamics.c). Then
 * abut_sweep_find() finds all impacts on the straight paths to them; it misses none. Three
 * stages follow:
 *
 *   1. Barriers: each impact becomes a plane between its two features, with the normal at the
 *      time of impact. The ends of the paths are moved until all planes found so far are
 *      satisfied, and the sweep is repeated (impulses as in Bridson et al. 2002, section 7;
 *      keeping planes from sweep to sweep is Harmon et al. 2008, "Robust treatment of
 *      simultaneous collisions").
 *   2. Halving: vertices that still collide move half as far, and finally not at all. Later,
 *      if the solid may yield, the same applies to its vertices. They stop where the cloth
 *      leaves room, and continue from there to their targets in the next step.
 *   3. The whole scene, including the solid, moves only to just before the earliest impact.
 *      Times of impact are never late, so this path is free; a path of length zero is always
 *      free.
 *
 * Guarantee: a step is accepted only after a sweep of exactly its paths, with their rounding,
 * has found nothing. So a start without intersection leads to an end without one. */
#include "parts.h"

enum { BARRIER_ROUNDS = 10, BARRIER_PASSES = 6, HALVING_ROUNDS = 8, HALVINGS_MAX = 4, CUTS = 6 };
/* If the solid yields: rounds in which only cloth is held back, and then both. A vertex that
 * stops also stops its neighbours, one ring per round. */
enum { CLOTH_ROUNDS = 4, YIELD_ROUNDS = 40 };
#define CATCH_UP 4 /* thicknesses per step by which late vertices of the solid return */

/* ---- on the CPU ---- */

static void cpu_destroy(cloth *c) {
    (void)c;
}

static abut_status cpu_begin(cloth *c, const vec *solid_end) {
    (void)c;
    (void)solid_end;
    return ABUT_OK;
}

static abut_status cpu_plan(cloth *c, double seconds, const vec *solid_end) {
    cloth_place_holds(c, solid_end);
    cloth_advance(c, seconds);
    for (uint32_t i = 0; i < c->all_vertices; i++)
        c->aim[i] = cloth_aim_at(i, c->vertices, c->now, c->position, solid_end, solid_end != NULL);
    return ABUT_OK;
}

static abut_status cpu_set_end(cloth *c) {
    (void)c;
    return ABUT_OK;
}

static abut_status cpu_step(cloth *c, int motion, bool still) {
    return abut_sweep_set_positions(c->motions[motion], abut_array_host(c->position),
                                    abut_array_host(still ? c->position : c->end));
}

static void cpu_finish(cloth *c, bool velocities_changed) {
    (void)c;
    (void)velocities_changed;
}

static abut_status cpu_fetch(cloth *c) {
    (void)c;
    return ABUT_OK;
}

static void cpu_changed(cloth *c) {
    (void)c;
}

const cloth_backend cloth_on_cpu = {cpu_destroy, cpu_begin,  cloth_find_touches, cpu_plan,
                                    cpu_set_end, cpu_step,   cpu_finish,         cloth_quick_on_cpu,
                                    cpu_fetch,   cpu_changed};

/* ---- memory ---- */

static abut_status make_motions(cloth *c) {
    abut_mesh *const meshes[2] = {c->rest, c->solid};
    abut_sweep_options options = abut_sweep_options_default();
    options.skip_pairs = true;
    options.device = c->options.device;
    abut_status status = c->motions[0] || c->options.no_self
                             ? ABUT_OK
                             : abut_sweep_create(meshes, 1, &options, &c->motions[0]);
    options.skip_pairs = false;
    options.skip_self = true; /* the caller is responsible for the solid */
    if (!status && c->solid && !c->motions[1])
        status = abut_sweep_create(meshes, 2, &options, &c->motions[1]);
    return status;
}

static abut_status make_room(cloth *c) {
    if (!c->end)
        c->end = abut_context_allocate(c->context, c->all_vertices, sizeof *c->end);
    if (!c->halvings)
        c->halvings = abut_context_allocate(c->context, c->all_vertices, 1);
    const size_t solid = c->all_vertices - c->vertices;
    if (c->options.solid_yields && c->solid && !c->goal) {
        c->goal = abut_context_allocate(c->context, solid, 2 * sizeof *c->goal);
        if (c->goal)
            memcpy(c->goal, c->position + c->vertices, solid * sizeof *c->goal);
        else
            return ABUT_ERROR_MEMORY;
    }
    return c->end && c->halvings ? make_motions(c) : ABUT_ERROR_MEMORY;
}

void cloth_free_impacts(cloth *c) {
    abut_sweep_destroy(c->motions[0]);
    abut_sweep_destroy(c->motions[1]);
    abut_context_free(c->context, c->end);
    abut_context_free(c->context, c->halvings);
    abut_context_free(c->context, c->goal);
    abut_context_free(c->context, c->impacts);
    abut_context_free(c->context, c->barriers);
}

/* ---- impacts ---- */

static abut_status make_room_for_impacts(cloth *c, size_t count) {
    void *list = cloth_grown(c, c->impacts, &c->impact_room, count, sizeof *c->impacts);
    c->impacts = list ? list : c->impacts;
    return list ? ABUT_OK : ABUT_ERROR_MEMORY;
}

abut_status cloth_sweep(cloth *c, abut_sweep *motion, const abut_sweep_find_options *options,
                        size_t most) {
    abut_status status = ABUT_ERROR_BUFFER;
    for (int turn = 0; turn < 2 && status == ABUT_ERROR_BUFFER; turn++) {
        abut_impact_list found = {.list = c->impacts ? c->impacts + c->impact_count : NULL,
                                  .capacity = c->impact_room - c->impact_count};
        status = abut_sweep_find(motion, ABUT_SWEEP_ALL, options, &found, NULL);
        const size_t count = (size_t)found.count;
        if (!status)
            c->impact_count += count < most ? count : most;
        else if (status == ABUT_ERROR_BUFFER && make_room_for_impacts(c, c->impact_count + count))
            status = ABUT_ERROR_MEMORY;
    }
    return status;
}

/* Finds the impacts on the paths from `position` to `end`. */
static abut_status find_impacts(cloth *c, cloth_report *report) {
    abut_sweep_find_options options = abut_sweep_find_options_default();
    abut_status status = ABUT_OK;
    options.exact = true; /* features that are close but free must not be held back */
    c->impact_count = 0;
    for (int i = 0; i < 2 && !status; i++) {
        if (!c->motions[i])
            continue;
        status = c->backend->step(c, i, false);
        status = status ? status : cloth_sweep(c, c->motions[i], &options, SIZE_MAX);
    }
    report->rounds++;
    return status;
}

void cloth_features_of(const cloth *c, const abut_impact *i, cloth_near *n) {
    abut_topology_arrays solid = abut_topology_arrays_default();
    abut_topology_get_arrays(c->solid_topology, &solid);
    const uint32_t *solid_indices = abut_mesh_indices(c->solid);
    uint32_t used = 0;
    for (int side = 0; side < 2; side++) {
        uint32_t shift = i->mesh[side] ? c->vertices : 0, corners = 2;
        size_t e = i->element[side];
        const uint32_t *from = (shift ? solid.edges : c->view.edges) + 2 * e;
        const uint32_t vertex[1] = {i->element[side]};
        if (i->kind == ABUT_IMPACT_VERTEX_FACE) {
            corners = side ? 3 : 1;
            from = side ? (shift ? solid_indices : c->indices) + 3 * e : vertex;
        }
        for (uint32_t k = 0; k < corners; k++)
            n->vertex[used++] = shift + from[k];
    }
    const double *w = i->weights;
    if (i->kind == ABUT_IMPACT_VERTEX_FACE) {
        const double weight[4] = {1, -w[0], -w[1], -w[2]};
        memcpy(n->weight, weight, sizeof weight);
    } else {
        const double weight[4] = {1 - w[0], w[0], w[1] - 1, -w[1]};
        memcpy(n->weight, weight, sizeof weight);
    }
    n->normal = i->normal;
}

/* ---- barriers ---- */

static abut_status add_barriers(cloth *c) {
    void *list = cloth_grown(c, c->barriers, &c->barrier_room, c->barrier_count + c->impact_count,
                             sizeof *c->barriers);
    if (!list)
        return ABUT_ERROR_MEMORY;
    c->barriers = list;
    for (size_t i = 0; i < c->impact_count; i++) {
        cloth_near *n = &c->barriers[c->barrier_count++];
        cloth_features_of(c, &c->impacts[i], n);
        n->gap = 0;
        n->least = 0.1 * c->options.thickness;
    }
    return ABUT_OK;
}

static void hold_barriers(cloth *c) {
    for (int pass = 0; pass < BARRIER_PASSES; pass++) {
        double most = 0;
        for (size_t i = 0; i < c->barrier_count; i++)
            most = fmax(most, cloth_hold_near(&c->barriers[i], c->options.friction, c->inverse_mass,
                                              c->end, c->position));
        if (!(most > 1e-3 * c->options.thickness))
            break;
    }
    for (size_t i = 0; i < c->barrier_count; i++)
        for (int k = 0; k < 4; k++)
            c->end[c->barriers[i].vertex[k]] = vec_round(c->end[c->barriers[i].vertex[k]]);
}

/* ---- shortening paths ---- */

static void halve(cloth *c, bool solid_too, cloth_report *report) {
    const uint32_t count = solid_too ? c->all_vertices : c->vertices;
    for (size_t i = 0; i < c->impact_count; i++) {
        cloth_near n;
        cloth_features_of(c, &c->impacts[i], &n);
        for (int k = 0; k < 4; k++) {
            uint32_t v = n.vertex[k];
            if (v < count && c->halvings[v] < 128)
                c->halvings[v] |= 128; /* once per round */
        }
    }
    for (uint32_t v = 0; v < count; v++) {
        if (c->halvings[v] < 128)
            continue;
        c->halvings[v] = (unsigned char)((c->halvings[v] & 127) + 1);
        double keep = c->halvings[v] < HALVINGS_MAX ? 0.5 : 0;
        vec way = vec_sub(c->end[v], c->position[v]);
        c->end[v] = vec_round(vec_along(c->position[v], keep, way));
        report->zone_halved++;
    }
}

/* Shortens the paths of cloth and solid to a fraction. */
static void cut(cloth *c, double part) {
    for (uint32_t v = 0; v < c->all_vertices; v++) {
        vec way = vec_sub(c->end[v], c->position[v]);
        c->end[v] = vec_round(vec_along(c->position[v], part, way));
    }
}

static double earliest(const cloth *c) {
    double time = 1;
    for (size_t i = 0; i < c->impact_count; i++)
        time = fmin(time, c->impacts[i].time);
    return time;
}

/* ---- a step ---- */

/* Resolves the impacts of a round. Writes false if no further measure exists: then nothing
 * moves, and nothing collides. */
static abut_status resolve_impacts(cloth *c, int round, cloth_report *report, bool *goes_on) {
    const bool yields = c->options.solid_yields;
    const int halvings = yields ? YIELD_ROUNDS : HALVING_ROUNDS;
    *goes_on = round < BARRIER_ROUNDS + halvings + CUTS;
    if (round < BARRIER_ROUNDS) {
        if (add_barriers(c))
            return ABUT_ERROR_MEMORY;
        hold_barriers(c);
    } else if (round < BARRIER_ROUNDS + halvings) {
        halve(c, yields && round >= BARRIER_ROUNDS + CLOTH_ROUNDS, report);
    } else {
        double part = *goes_on ? 0.9 * earliest(c) : 0;
        cut(c, part);
        report->fraction *= part;
    }
    return c->backend->set_end(c);
}

static abut_status resolve_all_impacts(cloth *c, cloth_report *report) {
    memcpy(c->end, c->aim, c->all_vertices * sizeof *c->end);
    memset(c->halvings, 0, c->all_vertices);
    c->barrier_count = 0;
    report->fraction = 1;
    abut_status status = ABUT_OK;
    bool goes_on = true;
    for (int round = 0; goes_on && !status; round++) {
        status = find_impacts(c, report);
        if (status || !c->impact_count)
            return status;
        report->impacts += round ? 0 : (uint32_t)c->impact_count;
        status = resolve_impacts(c, round, report, &goes_on);
    }
    return status;
}

/* Returns the targets of the solid in a step. Late vertices move with the others and catch up
 * gradually. If they moved directly to their targets they would hit the same cloth in every
 * step, which then could not move either. */
static const vec *catch_up(cloth *c, const vec *solid_end) {
    const uint32_t count = c->all_vertices - c->vertices;
    if (!c->goal)
        return solid_end;
    for (uint32_t i = 0; i < count; i++) {
        vec at = c->position[c->vertices + i], off = vec_sub(c->goal[i], at);
        vec goal = solid_end ? solid_end[i] : c->goal[i];
        double late = vec_length(off), most = CATCH_UP * c->options.thickness;
        if (late > most)
            goal = vec_sub(goal, vec_scale(off, 1 - most / late));
        c->goal[count + i] = goal;
    }
    return c->goal + count;
}

/* Sets the goals at the start of the next step; after a part of a step, a part of them. */
static void finish_goals(cloth *c, const vec *solid_end, double fraction) {
    const uint32_t count = c->all_vertices - c->vertices;
    for (uint32_t i = 0; i < count && c->goal && solid_end; i++)
        c->goal[i] = vec_round(
            fraction < 1 ? vec_along(c->goal[i], fraction, vec_sub(solid_end[i], c->goal[i]))
                         : solid_end[i]);
}

static void count_late(const cloth *c, cloth_report *report) {
    for (uint32_t i = c->vertices; i < c->all_vertices; i++) {
        vec goal = c->goal ? c->goal[i - c->vertices] : c->aim[i];
        double off = vec_length(vec_sub(c->end[i], goal));
        report->solid_late += off > 0;
        report->latest = fmax(report->latest, off);
    }
}

/* Vertices that could not reach their aims get the velocity of their actual motion. */
static void finish(cloth *c, double seconds) {
    bool changed = false;
    cloth_finish_holds(c);
    for (uint32_t i = 0; i < c->vertices; i++) {
        vec off = vec_sub(c->end[i], c->aim[i]);
        if (vec_dot(off, off) > 0) {
            c->velocity[i] = vec_scale(vec_sub(c->end[i], c->position[i]), 1 / seconds);
            changed = true;
        }
    }
    size_t solid_bytes = (c->all_vertices - c->vertices) * sizeof *c->end;
    if (memcmp(c->end + c->vertices, c->position + c->vertices, solid_bytes) != 0)
        c->solid_moved++;
    memcpy(c->position, c->end, c->all_vertices * sizeof *c->position);
    c->backend->finish(c, changed);
}

static abut_status plan(cloth *c, double seconds, const vec *solid_end) {
    abut_status status = c->backend->plan(c, seconds, solid_end);
    if (status)
        return status;
    for (uint32_t i = 0; i < c->all_vertices; i++)
        if (isnan(c->aim[i].x))
            return abut_set_error(ABUT_ERROR_LIMIT,
                                  i < c->vertices
                                      ? "cloth_step: the cloth flies apart; take shorter steps, or "
                                        "smaller forces"
                                      : "cloth_step: the solid goes beyond all bounds");
    return ABUT_OK;
}

static bool is_step(const cloth *c, double seconds, const cloth_report *report) {
    return c && report && seconds > 0 && seconds <= 1e30;
}

static abut_status refuse_step(void) {
    return abut_set_error(ABUT_ERROR_ARGUMENT,
                          "cloth_step: needs a cloth, a report, and seconds above 0");
}

abut_status cloth_step_from(cloth *c, double seconds, abut_array solid_end, cloth_report *report) {
    if (!is_step(c, seconds, report))
        return refuse_step();
    if (solid_end.buffer && (!c->quick || !c->options.device))
        return abut_set_error(
            ABUT_ERROR_ARGUMENT,
            "cloth_step_from: a buffer needs a cloth on a device, with radial fields");
    if (!c->quick)
        return cloth_step(c, seconds, solid_end.host, report);
    return cloth_quick_step(c, seconds, c->solid ? solid_end : abut_array_host(NULL), report);
}

abut_status cloth_step(cloth *c, double seconds, const abut_vec3 *solid_end, cloth_report *report) {
    if (!is_step(c, seconds, report))
        return refuse_step();
    if (c->quick)
        return cloth_step_from(c, seconds, abut_array_host(solid_end), report);
    if (!c->solid)
        solid_end = NULL;
    cloth_report result = {.fraction = 1};
    double start = cloth_clock();
    const vec *given_end = solid_end;
    abut_status status = make_room(c);
    solid_end = status ? NULL : catch_up(c, solid_end);
    status = status ? status : c->backend->begin(c, solid_end);
    status = status ? status : cloth_find_contacts(c, seconds, solid_end);
    if (status)
        return status;
    result.contacts = (uint32_t)(c->touch_count + c->near_count);
    result.thinnest = cloth_thinnest_gap(c);
    double found = cloth_clock();
    memcpy(c->kept, c->velocity, c->vertices * sizeof *c->kept);
    status = plan(c, seconds, solid_end);
    double planned = cloth_clock();
    status = status ? status : resolve_all_impacts(c, &result);
    if (status) {
        memcpy(c->velocity, c->kept, c->vertices * sizeof *c->kept);
        return status;
    }
    finish_goals(c, given_end, result.fraction);
    count_late(c, &result);
    finish(c, seconds);
    result.search = found - start;
    result.dynamics = planned - found;
    result.sweep = cloth_clock() - planned;
    *report = result;
    return ABUT_OK;
}
