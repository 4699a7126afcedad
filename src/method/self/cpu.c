/* Steps of the view-based search on the CPU: calls the parts in their order, and counts costs for
 * AUTO.
 *
 * The search is that of abut_sweep_find(). Sets only remove pairs from it, so that it is cheaper
 * with sets than without them if these are cheap. AUTO decides that reproducibly, so it counts
 * instead of measuring time: every stage has a cost per processed element, fitted to times of one
 * thread (docs/self.md). The boundary may cost as much as the last complete search; if that does
 * not suffice, the complete one is run.
 */
#include "self/self.h"

/* Approximate nanoseconds: of the boundary per pair of a triangle and a ghost; of complete searches
 * per triangle and per candidate. */
enum { GHOST_PAIR_COST = 150, SWEEP_COST = 300, CANDIDATE_COST = 40 };
/* Assumed candidates per triangle until some were counted. */
enum { CANDIDATES_INITIAL = 4 };

/* ---- create ---- */

static abut_status open_on_cpu(abut_self *view) {
    const size_t vertices = (size_t)view->vertex_count + view->hole_count;
    abut_context *context = view->context;
    view->position_memory = abuti_allocate(context, vertices, 3 * sizeof *view->position_memory);
    view->along = abuti_allocate(context, vertices, sizeof *view->along);
    view->feature_sets = abuti_allocate(context,
                                        (size_t)view->vertex_count +
                                            view->topology->view.edge_count + view->triangle_count,
                                        1);
    if (!view->position_memory || !view->along || !view->feature_sets)
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
    ABUTI_RELEASE(view->context, view->position_memory, view->along, view->feature_sets);
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
    view->is_placed = false;
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

/* ---- sets ---- */

static abut_status test_primitive(view_step *f, const view_primitive *primitive) {
    update_float_positions(f->view);
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
    const uint64_t left = f->budget / GHOST_PAIR_COST;
    double begun = abuti_seconds();
    update_float_positions(f->view);
    abuti_view_fit(f->view);
    f->result.times.bounds += abuti_seconds() - begun;
    begun = abuti_seconds();
    abut_status status =
        abuti_view_boundary(f->view, &f->of_ghosts, left < most ? (size_t)left : most, is_cheaper);
    f->result.times.boundary += abuti_seconds() - begun;
    return status;
}

static void mark_sets(view_step *f) {
    const abut_self *view = f->view;
    for (int k = 0; k < 4; k++)
        f->result.sets[k] = abuti_count_bytes(view->sets, view->triangle_count, 1u << k);
    abuti_view_count_changes(f->view, &f->result);
}

static abut_status show_nothing(abut_self *view) {
    (void)view;
    return ABUT_OK;
}

/* ---- search ---- */

/* A feature has the sets of all triangles around it. sets_pair(a, b) holds for two unions if it
 * holds for one of each, so the same pairs are allowed as for pairs of triangles. */
static void spread_sets(abut_self *view) {
    const view_lists *const lists[2] = {&view->of_vertex, &view->of_edge};
    const uint32_t counts[2] = {view->vertex_count, view->topology->view.edge_count};
    unsigned char *to = view->feature_sets;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < counts[k]; i++) {
            unsigned all = 0;
            for (uint32_t j = lists[k]->begin[i]; j < lists[k]->begin[i + 1]; j++)
                all |= view->sets[lists[k]->items[j]];
            *to++ = (unsigned char)all;
        }
    memcpy(to, view->sets, view->triangle_count);
}

static abut_status search_on_cpu(view_step *f, bool complete) {
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
    if (!status && !complete)
        spread_sets(view);
    if (!status)
        status = abuti_broad_set_sets(view->sweep, complete ? NULL : view->feature_sets);
    if (!status)
        status = abut_sweep_find(view->sweep, f->all ? ABUT_SWEEP_ALL : ABUT_SWEEP_EARLIEST,
                                 &options, found, &counts);
    if (status)
        return status;
    f->result.hit = found->count > 0;
    f->result.vertex_face += counts.vertex_face;
    f->result.edge_edge += counts.edge_edge;
    f->result.times.search += abuti_seconds() - begun;
    if (complete)
        view->complete_cost = SWEEP_COST * (uint64_t)view->triangle_count +
                              CANDIDATE_COST * (counts.vertex_face + counts.edge_edge);
    return ABUT_OK;
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
