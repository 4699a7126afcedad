/* Collision response that prevents all intersections.
 *
 * Method: a step plans the positions of all vertices at its end (solver.c). Then
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

/* An impact: two features that have to pass no further than a plane between them. The sum of
 * weight_i x_i, from the second feature to the first, is at least BARRIER_GAP along the normal.
 * Indices beyond the vertices of the cloth are those of the solid. */
typedef struct cloth_barrier {
    uint32_t vertex[4];
    double weight[4]; /* sum 1 for the first feature, -1 for the second */
    vec normal;       /* unit, from the second to the first */
} cloth_barrier;
#define BARRIER_GAP 0.1 /* thicknesses */

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

abut_status cloth_prepare_impacts(cloth *c) {
    const size_t solid = c->all_vertices - c->vertices;
    if (!c->halvings)
        c->halvings = cloth_room(c, c->all_vertices, 1);
    if (c->options.solid_yields && c->solid && !c->goal) {
        c->goal = cloth_room(c, solid, 2 * sizeof *c->goal);
        if (c->goal)
            memcpy(c->goal, c->position + c->vertices, solid * sizeof *c->goal);
        else
            return ABUT_ERROR_MEMORY;
    }
    return c->halvings ? make_motions(c) : ABUT_ERROR_MEMORY;
}

void cloth_free_impacts(cloth *c) {
    abut_sweep_destroy(c->motions[0]);
    abut_sweep_destroy(c->motions[1]);
    CLOTH_FREE(c, c->halvings, c->goal, c->impacts, c->barriers);
}

/* ---- impacts ---- */

static abut_status make_room_for_impacts(cloth *c, size_t count) {
    void *list = cloth_grown(c, c->impacts, &c->impact_room, count, sizeof *c->impacts);
    c->impacts = list ? list : c->impacts;
    return list ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* Appends the impacts of a motion from `position` to `end`. */
static abut_status sweep(cloth *c, abut_sweep *motion) {
    abut_sweep_find_options options = abut_sweep_find_options_default();
    options.exact = true; /* features that are close but free must not be held back */
    abut_status status = abut_sweep_set_positions(motion, c->arrays.start, c->arrays.end);
    for (int turn = 0; turn < 2 && !status; turn++) {
        abut_impact_list found = {.list = c->impacts ? c->impacts + c->impact_count : NULL,
                                  .capacity = c->impact_room - c->impact_count};
        status = abut_sweep_find(motion, ABUT_SWEEP_ALL, &options, &found, NULL);
        const size_t count = (size_t)found.count;
        if (!status) {
            c->impact_count += count;
            break;
        }
        if (status == ABUT_ERROR_BUFFER)
            status = make_room_for_impacts(c, c->impact_count + count);
    }
    return status;
}

static abut_status find_impacts(cloth *c, cloth_report *report) {
    abut_status status = ABUT_OK;
    c->impact_count = 0;
    for (int i = 0; i < 2 && !status; i++)
        status = c->motions[i] ? sweep(c, c->motions[i]) : ABUT_OK;
    report->rounds++;
    return status;
}

/* The four vertices of an impact, with their weights at the time of impact. */
static cloth_barrier barrier_of(const cloth *c, const abut_impact *i) {
    cloth_barrier b;
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
    return b;
}

/* ---- barriers ---- */

static abut_status add_barriers(cloth *c) {
    void *list = cloth_grown(c, c->barriers, &c->barrier_room, c->barrier_count + c->impact_count,
                             sizeof *c->barriers);
    if (!list)
        return ABUT_ERROR_MEMORY;
    c->barriers = list;
    for (size_t i = 0; i < c->impact_count; i++)
        c->barriers[c->barrier_count++] = barrier_of(c, &c->impacts[i]);
    return ABUT_OK;
}

/* Moves the ends of the vertices of two features apart if they are too near, with friction. Returns
 * the distance moved. */
static double hold_barrier(cloth *c, const cloth_barrier *b) {
    const double *w = c->inverse_mass;
    vec gap = vec_of(0, 0, 0), slip = vec_of(0, 0, 0);
    double sum = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t v = b->vertex[k];
        gap = vec_along(gap, b->weight[k], c->end[v]);
        slip = vec_along(slip, b->weight[k], vec_sub(c->end[v], c->position[v]));
        sum += b->weight[k] * b->weight[k] * w[v];
    }
    double off = BARRIER_GAP * c->options.thickness - vec_dot(gap, b->normal);
    if (!(off > 0) || !(sum > 0))
        return 0;
    vec push = vec_scale(b->normal, off);
    push = vec_sub(push, cloth_rub(slip, b->normal, off, c->options.friction));
    for (int k = 0; k < 4; k++) {
        uint32_t v = b->vertex[k];
        c->end[v] = vec_along(c->end[v], w[v] * b->weight[k] / sum, push);
    }
    return off;
}

static void hold_barriers(cloth *c) {
    for (int pass = 0; pass < BARRIER_PASSES; pass++) {
        double most = 0;
        for (size_t i = 0; i < c->barrier_count; i++)
            most = fmax(most, hold_barrier(c, &c->barriers[i]));
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
        const cloth_barrier b = barrier_of(c, &c->impacts[i]);
        for (int k = 0; k < 4; k++) {
            uint32_t v = b.vertex[k];
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
static abut_status resolve_round(cloth *c, int round, cloth_report *report, bool *goes_on) {
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
    return c->backend->set_end ? c->backend->set_end(c) : ABUT_OK;
}

abut_status cloth_resolve_impacts(cloth *c, cloth_report *report) {
    memset(c->halvings, 0, c->all_vertices);
    c->barrier_count = 0;
    abut_status status = ABUT_OK;
    bool goes_on = true;
    for (int round = 0; goes_on && !status; round++) {
        status = find_impacts(c, report);
        if (status || !c->impact_count)
            return status;
        report->impacts += round ? 0 : (uint32_t)c->impact_count;
        status = resolve_round(c, round, report, &goes_on);
    }
    return status;
}

/* Late vertices move with the others and catch up
 * gradually. If they moved directly to their targets they would hit the same cloth in every
 * step, which then could not move either. */
const vec *cloth_catch_up(cloth *c, const vec *solid_end) {
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

bool cloth_finish_impacts(cloth *c, double seconds, const vec *solid_end, cloth_report *report) {
    bool changed = false;
    finish_goals(c, solid_end, report->fraction);
    count_late(c, report);
    /* vertices that could not reach their aims get the velocity of their actual motion */
    for (uint32_t i = 0; i < c->vertices; i++) {
        vec off = vec_sub(c->end[i], c->aim[i]);
        if (vec_dot(off, off) > 0) {
            c->next_velocity[i] = vec_scale(vec_sub(c->end[i], c->position[i]), 1 / seconds);
            changed = true;
        }
    }
    size_t solid_bytes = (c->all_vertices - c->vertices) * sizeof *c->end;
    if (memcmp(c->end + c->vertices, c->position + c->vertices, solid_bytes) != 0)
        c->solid_moved++;
    return changed;
}
