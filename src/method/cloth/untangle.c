/* Untangles a cloth that starts with intersections.
 *
 * Problem: a step keeps a cloth free of intersections, but cannot begin with one. Which side of a
 * surface is the right one is not part of the state, so that it has to be guessed from the shape
 * of the intersections.
 *
 * Method: iterations without regard to new intersections.
 *   1. The exact tests find all pairs of triangles that intersect; contours.c joins them.
 *   2. resolve.c gives the vertices at each contour, and those of pieces that it cuts off, a
 *      direction and a distance of at most half an edge.
 *   3. The motion is spread over the neighbourhood, so that it does not tear pieces off: a harmonic
 *      extension, by some sweeps of Gauss and Seidel, more of them if nothing else helps. Pinned
 *      vertices stay. A sheet without pins can therefore move as a whole.
 *   4. Edges that became much longer or shorter than at the start are corrected, by position-based
 *      dynamics.
 *   5. Positions are rounded to floats.
 * The second half of the iterations smooths crumpled sheets instead of correcting edges.
 * When the exact test finds nothing, steps without forces and velocities (settle.c) restore the
 * distance of surfaces. These steps sweep, so they add no intersection.
 *
 * Guarantee: is_free is that of the exact test. Convergence is not guaranteed. All loops are serial
 * or have results that do not depend on the number of threads, so the bits are always the same. */
#include "cloth/untangle.h"

enum { DEFAULT_ITERATIONS = 400, LENGTH_PASSES = 12 };
/* Iterations without success until motion is spread further and moves further. */
enum { STAGNATION_UNIT = 8, SPREAD_SWEEPS = 3, SPREAD_SWEEPS_MAX = 60 };
/* In the second half of the iterations, crumpled sheets are smoothed in growing regions: another
 * ring of triangles after this number of iterations. */
enum { RING_ITERATIONS = 8 };
#define STEP_EDGES 0.5 /* largest motion per iteration, in mean lengths of edges */
/* Bodies with a larger fraction of boundary edges have no inside. */
#define OPEN_EDGES_MAX 0.05
#define CLEARANCE 0.5  /* thicknesses */
#define STRAIN_MAX 0.1 /* of edges, relative to the start, that is not corrected */
#define PUSHED_MASS 10 /* of pushed vertices relative to the others when edges are corrected */

/* ---- memory ---- */

static abut_status open_untangler(abut_cloth *c, cloth_untangler *u) {
    const size_t n = c->vertices, all = c->all_vertices;
    const size_t edges = cloth_sheet_edges(c) + (size_t)c->groups[BODIES].view.edge_count;
    *u = (cloth_untangler){.c = c};
    uint32_t boundary_edges = 0;
    for (uint32_t e = 0; e < c->groups[BODIES].view.edge_count; e++) {
        const uint32_t *faces;
        boundary_edges += abuti_edge_faces(&c->groups[BODIES].view, e, &faces) == 1;
    }
    u->bodies_are_solid =
        all > n && boundary_edges <= OPEN_EDGES_MAX * c->groups[BODIES].view.edge_count;
    abut_status status =
        ABUTI_ALLOCATE(c->context, ABUTI_ARRAY(u->start, n), ABUTI_ARRAY(u->best, n),
                       ABUTI_ARRAY(u->length, c->edge_count), ABUTI_ARRAY(u->push, n),
                       ABUTI_ARRAY(u->weight, n),
                       ABUTI_ARRAY(u->nearest, u->bodies_are_solid ? n : 0),
                       ABUTI_ZEROED(u->mark, all), ABUTI_ZEROED(u->cut, edges),
                       ABUTI_ARRAY(u->queue[0], all), ABUTI_ARRAY(u->queue[1], all));
    if (status)
        return status;
    u->stamp = 2;
    memcpy(u->start, c->position, n * sizeof *u->start);
    memcpy(u->best, c->position, n * sizeof *u->best);
    for (uint32_t e = 0; e < c->edge_count; e++)
        u->length[e] = cloth_length(
            v3_sub(c->position[c->edges[e].vertex[1]], c->position[c->edges[e].vertex[0]]));
    return ABUT_OK;
}

static void close_untangler(cloth_untangler *u) {
    ABUTI_RELEASE(u->c->context, u->start, u->best, u->length, u->push, u->weight, u->nearest,
                  u->mark, u->cut, u->queue[0], u->queue[1]);
    abuti_cloth_free_contours(u->c, &u->contours);
}

/* ---- an iteration ---- */

/* The mean of the motion of the neighbours of a vertex. */
static vec3 mean_push(const cloth_untangler *u, uint32_t v) {
    const abut_cloth *c = u->c;
    const abut_topology_arrays *view = &c->groups[SHEETS].view;
    vec3 sum = v3(0, 0, 0);
    uint32_t count = 0;
    for (uint32_t k = view->vertex_face_begin[v]; k < view->vertex_face_begin[v + 1]; k++)
        for (uint32_t side = 0; side < 3; side++) {
            const uint32_t w = c->groups[SHEETS].indices[3 * (size_t)view->vertex_faces[k] + side];
            if (w == v)
                continue;
            sum = v3_add(sum, u->push[w]);
            count++;
        }
    return count ? v3_scale(sum, 1.0 / count) : sum;
}

/* Extends the motion to vertices that have none. */
static void spread_push(cloth_untangler *u, uint32_t sweeps) {
    const uint32_t n = u->c->vertices;
    for (uint32_t v = 0; v < n; v++)
        if (u->weight[v] > 0)
            u->push[v] = v3_scale(u->push[v], 1 / u->weight[v]);
    for (uint32_t sweep = 0; sweep < sweeps; sweep++)
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t v = sweep % 2 ? n - 1 - i : i;
            if (!(u->weight[v] > 0) && u->c->inverse_mass[v] > 0)
                u->push[v] = mean_push(u, v);
        }
}

/* Corrects edges whose length differs too much from the start. */
static void correct_lengths(cloth_untangler *u) {
    abut_cloth *c = u->c;
    vec3 *x = c->position;
    for (int pass = 0; pass < LENGTH_PASSES; pass++)
        for (uint32_t i = 0; i < c->edge_count; i++) {
            const uint32_t e = pass % 2 ? c->edge_count - 1 - i : i;
            const uint32_t a = c->edges[e].vertex[0], b = c->edges[e].vertex[1];
            const vec3 way = v3_sub(x[b], x[a]);
            const double length = cloth_length(way),
                         to = fmin(fmax(length, (1 - STRAIN_MAX) * u->length[e]),
                                   (1 + STRAIN_MAX) * u->length[e]);
            double w[2] = {c->inverse_mass[a], c->inverse_mass[b]};
            w[0] *= u->weight[a] > 0 ? 1.0 / PUSHED_MASS : 1;
            w[1] *= u->weight[b] > 0 ? 1.0 / PUSHED_MASS : 1;
            if (length == to || !(length > 0) || !(w[0] + w[1] > 0))
                continue;
            const double off = (length - to) / (length * (w[0] + w[1]));
            x[a] = v3_along(x[a], w[0] * off, way);
            x[b] = v3_along(x[b], -w[1] * off, way);
        }
}

static void mark_for_smoothing(cloth_untangler *u, uint32_t v, uint32_t *count) {
    if (u->mark[v] == u->stamp)
        return;
    u->mark[v] = u->stamp;
    u->queue[0][(*count)++] = v;
}

/* Marks the vertices of the triangles at a vertex. */
static void mark_around(cloth_untangler *u, uint32_t v, uint32_t *count) {
    const cloth_group *g = &u->c->groups[SHEETS];
    for (uint32_t k = g->view.vertex_face_begin[v]; k < g->view.vertex_face_begin[v + 1]; k++)
        for (uint32_t side = 0; side < 3; side++)
            mark_for_smoothing(u, g->indices[3 * (size_t)g->view.vertex_faces[k] + side], count);
}

/* Smooths a sheet within some rings of triangles around its intersections with itself: a crumpled
 * sheet has no pieces that could move. */
static void smooth_crumples(cloth_untangler *u, uint32_t rings) {
    abut_cloth *c = u->c;
    uint32_t *queue = u->queue[0], count = 0, first = 0;
    u->stamp += 2;
    for (size_t i = 0; i < u->contours.pairs.count; i++) {
        const uint64_t pair = ABUTI_AT(&u->contours.pairs, uint64_t, i);
        uint32_t v[2][3];
        cloth_face_corners(c, (uint32_t)(pair >> 32), v[0]);
        cloth_face_corners(c, (uint32_t)pair, v[1]);
        if (c->part_of[v[0][0]] == c->part_of[v[1][0]])
            for (int k = 0; k < 6; k++)
                mark_for_smoothing(u, v[k / 3][k % 3], &count);
    }
    for (uint32_t ring = 0; ring < rings; ring++)
        for (const uint32_t end = count; first < end; first++)
            mark_around(u, queue[first], &count);
    for (uint32_t i = 0; i < count; i++)
        u->push[queue[i]] = v3_scale(abuti_cloth_way_to_mean(c, queue[i]), 0.5);
    for (uint32_t i = 0; i < count; i++)
        if (c->inverse_mass[queue[i]] > 0)
            c->position[queue[i]] = v3_add(c->position[queue[i]], u->push[queue[i]]);
}

/* A number from -1 to 1 that depends on its arguments only (splitmix64, Steele and others 2014). */
static double noise(uint32_t v, uint32_t turn) {
    uint64_t z = ((uint64_t)turn << 32 | v) + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1;
}

static void move_sheets(cloth_untangler *u) {
    abut_cloth *c = u->c;
    const uint32_t level = u->stagnation / STAGNATION_UNIT;
    const uint32_t sweeps = SPREAD_SWEEPS + SPREAD_SWEEPS * level * level;
    spread_push(u, sweeps < SPREAD_SWEEPS_MAX ? sweeps : SPREAD_SWEEPS_MAX);
    for (uint32_t v = 0; v < c->vertices; v++) {
        if (!(c->inverse_mass[v] > 0))
            continue;
        c->position[v] = v3_add(c->position[v], u->push[v]);
        const double shake = u->weight[v] > 0 && level ? 0.1 * u->clearance : 0;
        if (shake > 0)
            c->position[v] = v3_along(c->position[v], shake,
                                      v3(noise(v, 3 * u->iteration), noise(v, 3 * u->iteration + 1),
                                         noise(v, 3 * u->iteration + 2)));
    }
    const uint32_t half = u->iterations / 2 + u->iterations % 2;
    if (u->iteration >= half)
        smooth_crumples(u, 1 + (u->iteration - half) / RING_ITERATIONS);
    else
        correct_lengths(u); /* settling restores them after smoothing */
    for (uint32_t v = 0; v < c->vertices; v++)
        c->position[v] = cloth_round(c->position[v]);
    c->groups[SHEETS].moved++;
}

/* ---- coincident vertices ---- */

/* Moves vertices of different sheets at one position apart: no sweep could. */
static abut_status part_coincident(cloth_untangler *u, bool *moved) {
    abut_cloth *c = u->c;
    uint32_t *lowest = abuti_allocate(c->context, c->vertices, sizeof *lowest);
    abut_status status =
        lowest ? abuti_coincident_vertices(c->context, c->position, c->vertices, lowest)
               : ABUT_ERROR_MEMORY;
    *moved = false;
    for (uint32_t v = 0; v < c->vertices && !status; v++) {
        const uint32_t other = lowest[v], free = c->inverse_mass[v] > 0 ? v : other;
        if (other == v || c->part_of[other] == c->part_of[v] || !(c->inverse_mass[free] > 0))
            continue;
        const vec3 off = v3(noise(v, 0), noise(v, 1), noise(v, 2));
        c->position[free] = cloth_round(v3_along(c->position[free], 0.1 * u->clearance, off));
        *moved = true;
    }
    abuti_release(c->context, lowest);
    c->groups[SHEETS].moved += *moved;
    return status;
}

/* ---- all ---- */

static void set_bounds(const cloth_untangler *u, abut_cloth_untangle_report *report) {
    box3 box = box_empty();
    for (size_t i = 0; i < u->contours.pairs.count; i++) {
        uint32_t corner[3];
        cloth_face_corners(u->c, (uint32_t)(ABUTI_AT(&u->contours.pairs, uint64_t, i) >> 32),
                           corner);
        for (int k = 0; k < 3; k++)
            box = box_grow(box, u->c->position[corner[k]]);
    }
    report->bounds = u->contours.pairs.count ? box : (abut_box){{0, 0, 0}, {0, 0, 0}};
}

static void compare_with_start(const cloth_untangler *u, abut_cloth_untangle_report *report) {
    for (uint32_t v = 0; v < u->c->vertices; v++) {
        const double off = cloth_length(v3_sub(u->c->position[v], u->start[v]));
        report->moved += off > 0;
        report->distance = fmax(report->distance, off);
    }
}

/* Iterates until nothing intersects, and keeps the positions with the fewest pairs. */
static abut_status iterate(cloth_untangler *u, abut_cloth_untangle_report *report) {
    abut_cloth *c = u->c;
    bool moved = false;
    uint64_t fewest = UINT64_MAX;
    abut_status status = c->options.ignore_self ? ABUT_OK : part_coincident(u, &moved);
    for (u->iteration = 0; !status; u->iteration++) {
        status = abuti_cloth_find_contours(c, &u->contours);
        if (status)
            return status;
        const uint64_t count = u->contours.pairs.count;
        report->pairs_before = u->iteration ? report->pairs_before : count;
        u->stagnation = count < fewest ? 0 : u->stagnation + 1;
        if (count < fewest) {
            fewest = count;
            memcpy(u->best, c->position, c->vertices * sizeof *u->best);
            set_bounds(u, report);
        }
        if (!count || u->iteration == u->iterations)
            break;
        status = abuti_progress(c->context, "untangle", (double)u->iteration / u->iterations);
        const double growth = 1 + 0.25 * (u->stagnation / STAGNATION_UNIT % 8);
        u->clearance = CLEARANCE * growth * c->thickness;
        u->step_max = fmax(STEP_EDGES * growth * c->mean_edge, u->clearance);
        if (!status)
            status = abuti_cloth_resolve_contours(u);
        if (!status)
            move_sheets(u);
    }
    if (status)
        return status;
    memcpy(c->position, u->best, c->vertices * sizeof *u->best);
    c->groups[SHEETS].moved++;
    report->iterations = u->iteration;
    report->pairs = fewest;
    report->is_free = !fewest;
    return status;
}

static abut_status prepare_solid(cloth_untangler *u) {
    abut_cloth *c = u->c;
    abut_sign_info info = abut_sign_info_default();
    if (!u->bodies_are_solid)
        return ABUT_OK;
    abut_status status = abuti_cloth_fit(c, BODIES);
    if (!status)
        status = abut_sign_get_info(c->groups[BODIES].bvh, &info);
    if (!status && info.method == ABUT_SIGN_AUTO)
        status = abut_sign_prepare(c->groups[BODIES].bvh, NULL);
    return status;
}

/* The state is that of the host. */
static abut_status untangle(cloth_untangler *u, const abut_cloth_untangle_options *options,
                            bool was_free, abut_cloth_untangle_report *report) {
    abut_cloth *c = u->c;
    u->clearance = CLEARANCE * c->thickness;
    u->iterations = options->iterations ? options->iterations : DEFAULT_ITERATIONS;
    abut_status status = ABUT_OK;
    report->is_free = was_free;
    if (!was_free)
        status = prepare_solid(u);
    if (!status && !was_free)
        status = iterate(u, report);
    if (c->backend->changed && !status && c->is_prepared)
        c->backend->changed(c);
    c->is_checked = was_free;
    if (!status && report->is_free)
        status = abuti_cloth_prepare("abut_cloth_untangle", c);
    if (!status && report->is_free)
        status = abuti_cloth_settle(c, &report->gap);
    if (!status)
        compare_with_start(u, report);
    return status;
}

/* Everything is as before a failed call. */
static void take_back(cloth_untangler *u) {
    abut_cloth *c = u->c;
    memcpy(c->position, u->start, c->vertices * sizeof *u->start);
    c->groups[SHEETS].moved++;
    c->is_checked = false;
    if (c->backend->changed && c->is_prepared)
        c->backend->changed(c);
}

static abut_status run(abut_cloth *c, const abut_cloth_untangle_options *options,
                       abut_cloth_untangle_report *report) {
    abut_status status = cloth_open(c);
    if (!status && c->radial)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "abut_cloth_untangle: the cloth has radial fields, which guarantee no "
                            "freedom of intersections; use abut_cloth_push_out()");
    report->is_free = true;
    if (status || !c->vertices)
        return status;
    const abut_status start =
        c->is_checked ? ABUT_OK : abuti_cloth_check_start("abut_cloth_untangle", c);
    if (start && start != ABUT_ERROR_ARGUMENT)
        return start;
    c->is_checked = !start;
    if (!start && !options->separate)
        return ABUT_OK;
    cloth_untangler u;
    status = open_untangler(c, &u);
    if (!status) {
        status = untangle(&u, options, !start, report);
        if (status)
            take_back(&u);
    }
    if (!status && report->moved)
        memcpy(c->aim, c->position, c->vertices * sizeof *c->aim);
    close_untangler(&u);
    return status;
}

abut_status abut_cloth_untangle(abut_cloth *cloth, const abut_cloth_untangle_options *options,
                                abut_cloth_untangle_report *report) {
    abut_cloth_untangle_options ours = abut_cloth_untangle_options_default();
    abut_cloth_untangle_report made = abut_cloth_untangle_report_default();
    if (!cloth)
        return abuti_null(__func__, "cloth");
    abut_status status = abuti_options_read(&ours, sizeof ours, options, __func__);
    if (!status && report)
        status = abuti_info_check(report, sizeof made, __func__);
    if (status)
        return status;
    const double start = abuti_seconds();
    abut_context *before = abuti_context_enter(cloth->context);
    status = run(cloth, &ours, &made);
    abuti_context_leave(before);
    made.seconds = abuti_seconds() - start;
    return !status && report ? abuti_info_write(report, &made, sizeof made, __func__) : status;
}
