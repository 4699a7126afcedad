/* Steps of the view-based search on the CPU: calls the parts in their order, and counts costs for
 * AUTO.
 *
 * AUTO selects the faster of two searches, the one by sets and abut_sweep_find(), reproducibly. So
 * it counts instead of measuring time: every stage has a cost per processed element, fitted to
 * times of one thread (docs/self.md). The search by sets may cost as much as the last complete
 * search; if that does not suffice, the complete one is run.
 */
#include "self/self.h"

#include "geom/sweep_point_shared.h"

/* Approximate nanoseconds, as in search.c: of the view test, bounds and marks per triangle; of the
 * boundary per pair of a triangle and a ghost; of sweeps per triangle and per candidate. */
enum { VIEW_COST = 65, GHOST_PAIR_COST = 150, SWEEP_COST = 300, CANDIDATE_COST = 40 };
/* Assumed candidates per triangle until some were counted. */
enum { CANDIDATES_INITIAL = 4 };

/* ---- create ---- */

static abut_status open_on_cpu(abut_self *view) {
    const size_t vertices = (size_t)view->vertex_count + view->hole_count;
    abut_context *context = view->context;
    view->position_memory = abuti_allocate(context, vertices, 3 * sizeof *view->position_memory);
    view->along = abuti_allocate(context, vertices, sizeof *view->along);
    view->marks = abuti_allocate(context, view->tree.node_count, 1);
    if (!view->position_memory || !view->along || !view->marks)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_view_boundary_open(view);
    if (status)
        return status;
    view->end = view->position_memory;
    view->next = view->position_memory + vertices;
    view->first = view->position_memory + 2 * vertices;
    view->end_box = box_empty();
    for (uint32_t i = 0; i < view->vertex_count; i++) {
        view->end[i] = abuti_mesh_position(view->mesh, i);
        view->end_box = box_grow(view->end_box, view->end[i]);
    }
    abuti_view_place_ghosts(view, view->end, NULL, view->end + view->vertex_count);
    return ABUT_OK;
}

static void close_on_cpu(abut_self *view) {
    abuti_view_boundary_close(view);
    ABUTI_RELEASE(view->context, view->position_memory, view->along, view->marks);
    abut_sweep_destroy(view->sweep);
}

/* ---- step ---- */

static double longest_side(box3 box) {
    return v3_max_abs(v3_sub(box.hi, box.lo));
}

static abut_status start_step_cpu(view_step *f, const abut_self_step *step) {
    abut_self *view = f->view;
    const uint32_t count = view->vertex_count;
    view->start_box = view->end_box;
    const vec3 *start = step->start.host, *end = step->end.host;
    f->follows = !start || !memcmp(start, view->end, count * sizeof *view->end);
    view->start = f->follows ? view->end : view->first;
    view->is_placed = view->is_fitted = false;
    abut_status status = ABUT_OK;
    if (!f->follows)
        status = abuti_positions_load(view->context, "abut_self_find", "step->start", start, count,
                                      view->first, &view->start_box);
    if (!status)
        status = abuti_positions_load(view->context, "abut_self_find", "step->end", end, count,
                                      view->next, &view->next_box);
    if (status)
        return status;
    f->extent = longest_side(view->start_box);
    if (!(f->extent > 0))
        f->extent = longest_side(box_join(view->start_box, view->next_box));
    if (!f->follows)
        abuti_view_place_ghosts(view, view->first, NULL, view->first + count);
    abuti_view_place_ghosts(view, view->next, NULL, view->next + count);
    return ABUT_OK;
}

static void accept_positions(abut_self *view) {
    vec3 *last = view->end;
    view->end = view->next;
    view->next = last;
    view->end_box = view->next_box;
}

/* `end` is unchanged. The violated triangles remain valid too: additional ones from a step that
 * starts there do no harm to another step. */
static void undo_positions(abut_self *view) {
    view->start = NULL;
}

static abut_status download_nothing(abut_self *view) {
    (void)view;
    return ABUT_OK;
}

static abut_status compute_axis(abut_self *view, abut_self_line *line) {
    vec3 *start = view->sample, *end = view->sample + view->sampled;
    for (uint32_t i = 0; i < view->sampled; i++) {
        start[i] = view->start[view->sample_at[i]];
        end[i] = view->next[view->sample_at[i]];
    }
    *line = abuti_view_axis(start, end, view->sampled);
    return ABUT_OK;
}

static void update_float_positions(abut_self *view) {
    if (!view->is_placed)
        abuti_view_compute_positions(view, box_join(view->start_box, view->next_box));
    view->is_placed = true;
}

static void update_bounds(view_step *f, double apart) {
    abut_self *view = f->view;
    double begun = abuti_seconds();
    if (view->is_fitted && !(apart < view->fitted_apart) && !(apart > view->fitted_apart))
        return;
    update_float_positions(view);
    abuti_view_fit(view, apart);
    view->is_fitted = true;
    view->fitted_apart = apart;
    f->result.times.bounds += abuti_seconds() - begun;
}

/* ---- sets ---- */

static abut_status test_primitive(view_step *f, const view_primitive *primitive) {
    update_float_positions(f->view);
    f->cost = VIEW_COST * (uint64_t)f->view->triangle_count;
    return abuti_view_test(f->view, primitive, &f->counts);
}

static abut_status compare_primitives(view_step *f, const view_primitive primitives[2],
                                      view_counts counts[2]) {
    abut_status status = ABUT_OK;
    for (int k = 0; k < 2 && !status; k++) {
        status = test_primitive(f, &primitives[k]);
        counts[k] = f->counts;
    }
    return status;
}

/* The sets are those of the second. */
static abut_status choose_primitive(view_step *f, const view_primitive primitives[2],
                                    const view_counts counts[2], int which) {
    (void)counts;
    return which == 1 ? ABUT_OK : test_primitive(f, &primitives[which]);
}

/* Triangles in doubt have to be tested against all others: if they are the majority, the search by
 * sets saves nothing. */
static bool is_cheaper(const view_step *f) {
    return f->counts.sets[ABUT_SELF_GRAZING] <= f->view->triangle_count / 2;
}

static abut_status handle_boundary(view_step *f, bool *is_cheaper) {
    const size_t most = abuti_view_pairs_max(f->view);
    const uint64_t left = f->budget > f->cost ? (f->budget - f->cost) / GHOST_PAIR_COST : 0;
    size_t pairs;
    update_bounds(f, 0);
    double begun = abuti_seconds();
    abut_status status = abuti_view_boundary(f->view, &f->of_ghosts,
                                             left < most ? (size_t)left : most, &pairs, is_cheaper);
    f->cost += GHOST_PAIR_COST * (uint64_t)pairs;
    f->result.times.boundary += abuti_seconds() - begun;
    return status;
}

static void mark_sets(view_step *f) {
    const abut_self *view = f->view;
    for (int k = 0; k < 4; k++)
        f->result.sets[k] = abuti_count_bytes(view->sets, view->triangle_count, 1u << k);
    abuti_view_mark(f->view, &f->result);
}

static abut_status show_nothing(abut_self *view) {
    (void)view;
    return ABUT_OK;
}

/* ---- search ---- */

static abut_impact impact_of(const abut_self *view, const motion_hit *hit) {
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_topology_get_arrays(view->topology, &t);
    abut_impact impact;
    memset(&impact, 0, sizeof impact);
    bool edges = hit->kind == ABUT_IMPACT_EDGE_EDGE;
    const uint32_t *second =
        edges ? t.edges + 2 * (size_t)hit->second : view->corners + 3 * (size_t)hit->second;
    const uint32_t four[4] = {edges ? t.edges[2 * (size_t)hit->first] : hit->first,
                              edges ? t.edges[2 * (size_t)hit->first + 1] : second[0],
                              edges ? second[0] : second[1], edges ? second[1] : second[2]};
    vec3 start[4], end[4];
    for (int k = 0; k < 4; k++) {
        start[k] = view->start[four[k]];
        end[k] = view->next[four[k]];
    }
    impact.time = hit->time;
    impact.point = sweep_point(edges, start, end, hit->time, hit->weights);
    impact.normal = hit->normal;
    memcpy(impact.weights, hit->weights, sizeof impact.weights);
    impact.kind = (abut_impact_kind)hit->kind;
    impact.element[0] = hit->first;
    impact.element[1] = hit->second;
    return impact;
}

/* Writes the result. */
static abut_status write_impacts(view_step *f, const view_hits *hits) {
    if (!f->all) {
        f->result.hit = hits->first.time <= 1;
        if (f->result.hit)
            f->result.impact = impact_of(f->view, &hits->first);
        return ABUT_OK;
    }
    abut_status status = abuti_motion_count(hits->count, &f->impacts);
    for (size_t i = 0; i < hits->kept_count && !status; i++)
        f->impacts.list[i] = impact_of(f->view, &hits->kept[i]);
    return status;
}

static abut_status search_tree(view_step *f, bool complete) {
    view_hits hits = {.all = f->all, .room = f->impacts.capacity};
    const sweep_limits *limits = &f->limits.sweep;
    const uint64_t left = f->budget > f->cost ? f->budget - f->cost : 0;
    /* all hits: also those within the tolerance, as abut_sweep_find() reports them */
    update_bounds(f, limits->separation + (f->all ? 2 * limits->tolerance : 0));
    abut_status status =
        abuti_view_search(f->view, complete, &f->limits, left, &hits, &f->is_spent, &f->result);
    if (!status && !f->is_spent)
        status = write_impacts(f, &hits);
    abuti_release(f->view->context, hits.kept);
    return status;
}

/* The search that a caller would use otherwise; it is faster than one over the tree. */
static abut_status search_sweep(view_step *f) {
    abut_self *view = f->view;
    abut_sweep_find_options options = abut_sweep_find_options_default();
    abut_impact_list one = {.list = &f->result.impact, .capacity = 1};
    abut_impact_list *found = f->all ? &f->impacts : &one;
    abut_sweep_counts counts = abut_sweep_counts_default();
    double begun = abuti_seconds();
    options.separation = f->limits.sweep.separation;
    options.tolerance = f->limits.sweep.tolerance;
    options.exact = f->limits.exact;
    options.steps = (uint32_t)f->limits.sweep.steps;
    abut_status status =
        view->sweep ? ABUT_OK : abut_sweep_create(&view->mesh, 1, NULL, &view->sweep);
    if (!status)
        status = abut_sweep_set_positions(view->sweep, abut_array_host(view->start),
                                          abut_array_host(view->next));
    if (!status)
        status = abut_sweep_find(view->sweep, f->all ? ABUT_SWEEP_ALL : ABUT_SWEEP_EARLIEST,
                                 &options, found, &counts);
    if (status)
        return status;
    f->result.hit = found->count > 0;
    f->result.vertex_face += counts.vertex_face;
    f->result.edge_edge += counts.edge_edge;
    f->result.times.traversal += abuti_seconds() - begun;
    view->complete_cost = SWEEP_COST * (uint64_t)view->triangle_count +
                          CANDIDATE_COST * (counts.vertex_face + counts.edge_edge);
    return ABUT_OK;
}

/* COMPLETE is for comparison: it uses the same tree, bounds and sweeps as the search by sets. */
static abut_status search_on_cpu(view_step *f, bool complete) {
    return complete && f->view->options.scheme != ABUT_SELF_COMPLETE ? search_sweep(f)
                                                                     : search_tree(f, complete);
}

static uint64_t compute_budget(const abut_self *view) {
    return view->complete_cost ? view->complete_cost
                               : (SWEEP_COST + CANDIDATES_INITIAL * CANDIDATE_COST) *
                                     (uint64_t)view->triangle_count;
}

const view_backend abuti_view_cpu = {.open = open_on_cpu,
                                     .close = close_on_cpu,
                                     .start_step = start_step_cpu,
                                     .accept = accept_positions,
                                     .undo = undo_positions,
                                     .download_positions = download_nothing,
                                     .axis = compute_axis,
                                     .budget = compute_budget,
                                     .test = test_primitive,
                                     .compare = compare_primitives,
                                     .choose = choose_primitive,
                                     .is_cheaper = is_cheaper,
                                     .boundary = handle_boundary,
                                     .mark = mark_sets,
                                     .search = search_on_cpu,
                                     .download_sets = show_nothing};
