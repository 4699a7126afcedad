/* Steps of the view-based search, from validation to the result. docs/self.md has the proof; the
 * heads of the other files describe the parts. */
#include "device/array.h"
#include "device/kit.h"
#include "self/self.h"

#include <abut/pair.h>

#include <math.h>

/* State machine of AUTO: point and line are compared at least every COMPARE_EVERY steps. The
 * comparison is earlier if twice as many triangles are in doubt as then, plus one in COMPARE_SHARE.
 * The complete search is used for at most RETRY_DELAY_MAX steps before the sets are tried again. A
 * failure lengthens this delay RETRY_GROWTH times. It delays the next attempt COSTLY_DELAY times as
 * long if it is known only after the boundary or the search. The cost of the last complete search
 * is valid for COST_AGE_MAX steps by sets, unless these cost less than half of it. */
enum {
    COMPARE_EVERY = 16,
    COMPARE_SHARE = 64,
    RETRY_DELAY_MAX = 64,
    RETRY_GROWTH = 4,
    COSTLY_DELAY = 8,
    COST_AGE_MAX = 64
};

/* ---- create ---- */

static abut_status build_view(abut_self *view) {
    abut_context *context = view->context;
    abut_status status = abuti_view_prepare(view);
    if (!status && view->has_sets)
        status = ABUTI_ALLOCATE(context,
                                ABUTI_ARRAY(view->sets,
                                            (size_t)view->triangle_count + view->ghost_count),
                                ABUTI_ARRAY(view->last_sets, view->triangle_count));
    if (!status)
        status = abuti_view_search_open(view);
    return status || !view->has_sets ? status : abuti_view_boundary_open(view);
}

abut_status abut_self_create(abut_mesh *mesh, const abut_self_options *options, abut_self **view) {
    abut_self_options ours = abut_self_options_default();
    if (!mesh || !view)
        return abuti_null(__func__, mesh ? "view" : "mesh");
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_self_create: options");
    if (status)
        return status;
    if ((unsigned)ours.scheme > ABUT_SELF_COMPLETE)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->scheme is %d; it must be one of abut_self_scheme", __func__,
                          (int)ours.scheme);
    if (ours.device && (status = abuti_device_check_bits(__func__, ours.device)))
        return status;
    abut_self *made = abuti_allocate_zeroed(mesh->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(mesh->context);
    made->mesh = abut_mesh_retain(mesh);
    made->options = ours;
    made->vertex_count = mesh->vertex_count;
    made->triangle_count = mesh->triangle_count;
    made->prefers_line = true;
    made->retry_delay = 1;
    status = build_view(made);
    if (status)
        abut_self_destroy(made);
    else
        *view = made;
    return status;
}

void abut_self_destroy(abut_self *view) {
    if (!view)
        return;
    abut_context *context = view->context;
    abuti_view_search_close(view);
    abuti_view_boundary_close(view);
    ABUTI_RELEASE(context, view->corners, view->sets, view->last_sets, view->of_vertex.begin,
                  view->of_vertex.items, view->of_edge.begin, view->of_edge.items);
    abut_topology_destroy(view->topology);
    abut_mesh_destroy(view->mesh);
    abuti_release(context, view);
    abut_context_destroy(context);
}

/* ---- steps ---- */

static abut_status check_step(const abut_self *view, const abut_self_step *step) {
    abut_status status = ABUT_OK;
    if (!step->end.host && !step->end.buffer)
        return abuti_null("abut_self_find", "step->end");
    for (int side = 0; side < 2; side++) {
        const abut_array *array = side ? &step->end : &step->start;
        const char *name = side ? "end" : "start";
        if (array->buffer && !view->options.device)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_self_find: step->%s is a device buffer, but the object has no "
                              "device; set options->device in abut_self_create()",
                              name);
        if (array->host && array->buffer)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_self_find: step->%s has a host array and a device buffer; set "
                              "only one of them",
                              name);
        status = abuti_array_check_plain("abut_self_find", name, *array);
        if (status)
            return status;
    }
    for (int k = 0; k < 2 && step->line && !status; k++)
        if (!abuti_is_position(step->line->start[k]) || !abuti_is_position(step->line->end[k]))
            status = abuti_fail(
                ABUT_ERROR_ARGUMENT,
                "abut_self_find: step->line has an end that is not finite or beyond 1e90");
    return status;
}

/* Whether the mesh has no self-intersection at the start, by the exact test of the BVH. */
static abut_status test_start(abut_self *view, bool *is_free) {
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    bool any = false;
    input.vertex_count = view->vertex_count;
    input.indices = view->corners;
    input.triangle_count = view->triangle_count;
    abut_pair_self_options options = abut_pair_self_options_default();
    options.by_index = true;
    input.positions = view->start;
    abut_status status = abut_mesh_create(view->context, &input, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, &bvh);
    if (!status)
        status = abut_pair_self_intersects(bvh, &options, &any);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    if (status == ABUT_ERROR_LIMIT) /* more pairs than any valid mesh has */
        any = true;
    else if (status)
        return status;
    *is_free = !any;
    return ABUT_OK;
}

/* ---- point or line ---- */

static uint32_t count_in_doubt(const view_counts *counts) {
    return counts->sets[ABUT_SELF_NEGATIVE] + counts->sets[ABUT_SELF_GRAZING];
}

/* Triangles outside the larger one of V+ and V-. */
static uint32_t count_smaller(const uint32_t sets[4]) {
    const uint32_t positive = sets[ABUT_SELF_POSITIVE], negative = sets[ABUT_SELF_NEGATIVE];
    return sets[ABUT_SELF_GRAZING] + sets[ABUT_SELF_VIOLATED] +
           (positive < negative ? positive : negative);
}

static bool is_auto(const abut_self *view) {
    return view->options.scheme == ABUT_SELF_AUTO;
}

static abut_status test_sets_by(view_step *f, bool by_line) {
    const view_primitive primitive = abuti_view_primitive(&f->view->line, by_line);
    f->result.scheme = by_line ? ABUT_SELF_LINE : ABUT_SELF_POINT;
    return abuti_view_test(f->view, &primitive, &f->counts);
}

/* Computes the sets by point or line. AUTO uses the one with fewer triangles in doubt; the point
 * may have an eighth more, since it is cheaper. */
static abut_status test_sets(view_step *f) {
    abut_self *view = f->view;
    abut_status status = ABUT_OK;
    if (!is_auto(view))
        return test_sets_by(f, view->options.scheme == ABUT_SELF_LINE);
    if (view->age++ % COMPARE_EVERY)
        return test_sets_by(f, view->prefers_line);
    if ((status = test_sets_by(f, false)))
        return status;
    const uint32_t by_point = count_in_doubt(&f->counts);
    if ((status = test_sets_by(f, true)))
        return status;
    view->prefers_line = count_in_doubt(&f->counts) < by_point - by_point / 8;
    if (!view->prefers_line)
        status = test_sets_by(f, false);
    view->compared = count_in_doubt(&f->counts);
    return status;
}

/* ---- search ---- */

static abut_status search_completely(view_step *f, abut_self_fallback reason) {
    abut_self_result *result = &f->result;
    result->scheme = ABUT_SELF_COMPLETE;
    result->reason = reason;
    memset(result->sets, 0, sizeof result->sets);
    memset(result->entered, 0, sizeof result->entered);
    memset(result->left, 0, sizeof result->left);
    memset(result->regions, 0, sizeof result->regions);
    f->view->has_last = f->carries = false;
    return abuti_view_search(f, true);
}

/* Sets of ghosts count only if they may save the boundary handling. */
static bool is_proven_free(const view_step *f) {
    const abut_self *view = f->view;
    const view_counts *counts = &f->counts;
    if (count_in_doubt(counts) || view->part_count > 1)
        return false;
    if (!view->ghost_count)
        return true;
    if (counts->ghosts || !view->is_carried || view->options.box_boundary)
        return false;
    return view->violated == 0;
}

/* Stores what remains valid for the next step. */
static void keep_for_next_step(view_step *f) {
    abut_self *view = f->view;
    const uint32_t doubted = f->result.sets[ABUT_SELF_NEGATIVE] + f->result.sets[ABUT_SELF_GRAZING];
    view->violated = f->result.sets[ABUT_SELF_VIOLATED];
    f->carries = true;
    if (doubted > 2 * (uint64_t)view->compared + view->triangle_count / COMPARE_SHARE)
        view->age = 0;
}

/* For AUTO: whether a search by these sets cannot be cheaper than a complete one. If many triangles
 * are in the smaller one of V+ and V-, that depends on the candidates of a complete search. */
static bool is_too_doubtful(view_step *f, const uint32_t sets[4]) {
    const abut_self *view = f->view;
    const uint32_t share = view->triangle_count / DOUBT_SHARE,
                   never_culled = sets[ABUT_SELF_GRAZING] + sets[ABUT_SELF_VIOLATED],
                   smaller = count_smaller(sets);
    const uint64_t least = abuti_view_sets_cost(view, smaller, f->ghost_pairs, 0);
    const bool is_cheaper = smaller <= share || least < view->complete_cost;
    f->is_spent = is_auto(view) && (never_culled > share || !is_cheaper);
    f->is_costly = f->is_spent && f->ghost_pairs > 0;
    return f->is_spent;
}

/* For AUTO, after a search by sets that found no impact: compares its cost with that of the last
 * complete search. A search that found one may have ended early. An old cost may be that of a
 * slower motion, so that the next step only measures it again. */
static void compare_cost(view_step *f) {
    abut_self *view = f->view;
    const abut_self_result *result = &f->result;
    if (!is_auto(view) || result->hit)
        return;
    const uint64_t cost = abuti_view_sets_cost(view, count_smaller(result->sets), f->ghost_pairs,
                                               result->vertex_face + result->edge_edge),
                   complete = abuti_view_complete_cost(view);
    view->cost_age++;
    f->is_costly = cost > complete && view->cost_age == 1;
    f->is_spent = cost > complete || (view->cost_age > COST_AGE_MAX && cost > complete / 2);
}

/* AUTO may spend as much on the boundary as the sets can save. */
static abut_status handle_boundary(view_step *f, bool *is_cheaper) {
    abut_self *view = f->view;
    const uint32_t smaller = count_smaller(f->counts.sets);
    const size_t affordable = is_auto(view) ? abuti_view_affordable_pairs(view, smaller) : SIZE_MAX;
    const size_t most = abuti_view_pairs_max(view);
    double begun = abuti_seconds();
    abuti_view_fit(view);
    f->result.times.bounds += abuti_seconds() - begun;
    begun = abuti_seconds();
    abut_status status =
        abuti_view_boundary(view, &f->of_ghosts, affordable < most ? affordable : most,
                            &f->ghost_pairs, is_cheaper);
    f->result.times.boundary += abuti_seconds() - begun;
    return status;
}

static abut_status search_by_sets(view_step *f) {
    abut_self *view = f->view;
    bool is_cheaper = true;
    double begun = abuti_seconds();
    abut_status status = test_sets(f);
    if (status)
        return status;
    memcpy(f->result.regions, f->counts.regions, sizeof f->counts.regions);
    f->result.times.view += abuti_seconds() - begun;
    if (!is_proven_free(f)) {
        if (is_too_doubtful(f, f->counts.sets))
            return search_completely(f, ABUT_SELF_COST);
        if (view->ghost_count || view->part_count > 1)
            status = handle_boundary(f, &is_cheaper);
        f->is_spent = f->is_costly = !is_cheaper;
        if (status || !is_cheaper)
            return status ? status : search_completely(f, ABUT_SELF_BOUNDARY);
    }
    begun = abuti_seconds();
    abuti_view_count_sets(view, &f->result);
    keep_for_next_step(f);
    f->result.times.marks += abuti_seconds() - begun;
    if (is_too_doubtful(f, f->result.sets))
        return search_completely(f, ABUT_SELF_COST);
    if (f->result.sets[ABUT_SELF_POSITIVE] == view->triangle_count)
        return ABUT_OK;
    status = abuti_view_search(f, false);
    if (!status)
        compare_cost(f);
    if (status || !f->completes || !f->result.hit)
        return status;
    f->is_spent = is_auto(view);
    return search_completely(f, ABUT_SELF_IMPACTS);
}

/* Computes what the sets need of the positions of the step, on the host. */
static abut_status prepare_positions(view_step *f, const abut_self_step *step) {
    abut_self *view = f->view;
    double begun = abuti_seconds();
    abut_status status = abuti_motion_download(view->motion);
    if (status)
        return status;
    abuti_view_place_ghosts(view, view->start);
    abuti_view_place_ghosts(view, view->end);
    view->line =
        step->line ? *step->line : abuti_view_axis(view->start, view->end, view->vertex_count);
    f->result.times.view += abuti_seconds() - begun;
    return ABUT_OK;
}

static abut_status find_self_collisions(view_step *f, const abut_self_step *step) {
    abut_self *view = f->view;
    if (view->options.scheme == ABUT_SELF_COMPLETE)
        return search_completely(f, ABUT_SELF_NOT_NEEDED);
    if (!view->usable)
        return search_completely(f, ABUT_SELF_TOPOLOGY);
    if (f->limits.sweep.separation > 0 && !step->partial_separation)
        return search_completely(f, ABUT_SELF_SEPARATION);
    f->start_is_free = step->start_is_free || (f->follows && view->end_is_free);
    /* without sets: on a device, for one, they take more time than the complete search */
    if (view->retry_in || !view->has_sets)
        return search_completely(f, ABUT_SELF_COST);
    abut_status status = prepare_positions(f, step);
    if (!status && !f->start_is_free) {
        double begun = abuti_seconds();
        status = test_start(view, &f->start_is_free);
        f->result.times.start = abuti_seconds() - begun;
    }
    if (status)
        return status;
    return f->start_is_free ? search_by_sets(f) : search_completely(f, ABUT_SELF_START);
}

static abut_status begin_step(view_step *f, const abut_self_step *step) {
    abut_self *view = f->view;
    motion_step_input input = {.function = "abut_self_find",
                               .start_name = "step->start",
                               .end_name = "step->end",
                               .count = view->vertex_count,
                               .start = step->start.host,
                               .end = step->end.host,
                               .start_buffer = step->start.buffer,
                               .end_buffer = step->end.buffer};
    abut_status status = abuti_motion_load_step(view->motion, &input);
    if (status)
        return status;
    abuti_motion_accept_step(view->motion, &input);
    view->start = view->motion->start;
    view->end = view->motion->end;
    f->follows = !input.has_start;
    /* as in abut_sweep_find() */
    if (!(f->limits.sweep.tolerance > 0))
        f->limits.sweep.tolerance = real_max(SWEEP_TOLERANCE * view->motion->place.extent, 1e-200);
    f->of_ghosts = f->limits;
    f->of_ghosts.sweep.separation = 0;
    view->is_carried = view->is_carried && f->follows;
    return ABUT_OK;
}

/* For AUTO: whether to use the sets in the following steps. If they were not cheaper, point and
 * line are compared at the next attempt. Each further failure lengthens the delay, and each success
 * halves it. */
static void update_auto_state(const view_step *f) {
    abut_self *view = f->view;
    if (view->retry_in) {
        view->retry_in--;
    } else if (f->is_spent && is_auto(view)) {
        const uint32_t delay = view->retry_delay * (f->is_costly ? COSTLY_DELAY : 1);
        view->retry_in = delay < RETRY_DELAY_MAX ? delay : RETRY_DELAY_MAX;
        view->age = 0;
        view->retry_delay =
            delay < RETRY_DELAY_MAX / RETRY_GROWTH ? RETRY_GROWTH * delay : RETRY_DELAY_MAX;
    } else if (f->result.scheme != ABUT_SELF_COMPLETE && view->retry_delay > 1) {
        view->retry_delay /= 2;
    }
}

/* Stores the results of a completed step. */
static void accept_step(const view_step *f) {
    abut_self *view = f->view;
    view->end_is_free = f->start_is_free && !f->result.hit;
    view->is_carried = f->carries && !f->result.hit; /* after an impact the state may be invalid */
    view->sets_valid = f->result.scheme != ABUT_SELF_COMPLETE;
    update_auto_state(f);
}

/* A step with one impact or all. */
static abut_status run_step(view_step *f, const abut_self_step *step,
                            const abut_sweep_find_options *options, abut_self_result *result) {
    abut_self *view = f->view;
    abut_self_step ours = abut_self_step_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, step, "abut_self_find: step");
    if (!status)
        status = check_step(view, &ours);
    if (!status)
        status = abuti_sweep_limits("abut_self_find", options, ABUT_COORDINATE_MAX,
                                    &f->limits.sweep, &f->limits.exact);
    if (status || (status = abuti_progress(view->context, "view", 0)) ||
        (status = begin_step(f, &ours)))
        return status;
    f->completes = f->all && ours.complete_list;
    if ((status = find_self_collisions(f, &ours))) {
        /* the sets may have been overwritten, so changes are unknown */
        view->has_last = view->sets_valid = false;
        abuti_motion_undo_step(view->motion);
        return status;
    }
    if (f->all && f->impacts.count) {
        f->result.hit = true;
        f->result.impact = f->impacts.list[0];
    }
    accept_step(f);
    return abuti_info_write(result, &f->result, sizeof *result, "abut_self_find");
}

abut_status abut_self_find(abut_self *view, const abut_self_step *step,
                           const abut_sweep_find_options *options, abut_self_result *result) {
    if (!view || !step || !result)
        return abuti_null(__func__, !view ? "view" : !step ? "step" : "result");
    view_step f = {.view = view};
    abut_status status = abuti_info_check(result, sizeof *result, __func__);
    return status ? status : run_step(&f, step, options, result);
}

abut_status abut_self_find_all(abut_self *view, const abut_self_step *step,
                               const abut_sweep_find_options *options, abut_impact_list *impacts,
                               abut_self_result *result) {
    if (!view || !step || !impacts || !result)
        return abuti_null(__func__, !view      ? "view"
                                    : !step    ? "step"
                                    : !impacts ? "impacts"
                                               : "result");
    abut_status status = ABUTI_LIST_CHECK(__func__, "impacts", impacts);
    if (status || (status = abuti_info_check(result, sizeof *result, __func__)))
        return status;
    view_step f = {.view = view, .all = true, .impacts = *impacts};
    f.impacts.count = 0;
    status = run_step(&f, step, options, result);
    if (!status || status == ABUT_ERROR_BUFFER)
        return ABUTI_LIST_COUNT(__func__, "impacts", impacts, f.impacts.count);
    return status;
}

const unsigned char *abut_self_sets(const abut_self *view) {
    return view && view->sets_valid ? view->last_sets : NULL;
}

/* The vertices of the ghosts: those of each hole, then its ghost vertex. Writes the index of each
 * vertex among them, and returns their number. */
static uint32_t number_ghost_vertices(const abut_self *view, uint32_t *number) {
    const uint32_t *corners = view->corners + 3 * (size_t)view->triangle_count;
    uint32_t used = 0;
    for (uint32_t i = 0; i < view->vertex_count + view->hole_count; i++)
        number[i] = ABUT_NONE;
    for (uint32_t i = 0; i < view->ghost_count; i++) {
        const uint32_t *at = corners + 3 * (size_t)i;
        for (int k = 0; k < 2; k++)
            if (number[at[k]] == ABUT_NONE)
                number[at[k]] = used++;
        if (i + 1 == view->ghost_count || at[5] != at[2])
            number[at[2]] = used++;
    }
    return used;
}

static abut_status create_ghosts(const abut_self *view, vec3 *positions, uint32_t *number,
                                 vec3 *places, uint32_t *indices, abut_mesh **ghosts) {
    const uint32_t *corners = view->corners + 3 * (size_t)view->triangle_count;
    memcpy(positions, view->motion->end, view->vertex_count * sizeof *positions);
    abuti_view_place_ghosts(view, positions);
    const uint32_t used = number_ghost_vertices(view, number);
    for (uint32_t i = 0; i < view->vertex_count + view->hole_count; i++)
        if (number[i] != ABUT_NONE)
            places[number[i]] = positions[i];
    for (size_t i = 0; i < 3 * (size_t)view->ghost_count; i++)
        indices[i] = number[corners[i]];
    const abut_mesh_input input = abut_mesh_input_doubles(places, used, indices, view->ghost_count);
    return abut_mesh_create(view->context, &input, ghosts);
}

abut_status abut_self_get_ghosts(const abut_self *view, abut_mesh **ghosts) {
    if (!view || !ghosts)
        return abuti_null(__func__, view ? "ghosts" : "view");
    *ghosts = NULL;
    if (!view->has_sets || !view->ghost_count)
        return ABUT_OK;
    const size_t count = (size_t)view->vertex_count + view->hole_count;
    vec3 *positions = NULL, *places = NULL;
    uint32_t *number = NULL, *indices = NULL;
    abut_status status = ABUTI_ALLOCATE(view->context, ABUTI_ARRAY(positions, count),
                                        ABUTI_ARRAY(places, count), ABUTI_ARRAY(number, count),
                                        ABUTI_ARRAY(indices, 3 * (size_t)view->ghost_count));
    if (!status)
        status = abuti_motion_download(view->motion);
    if (!status)
        status = create_ghosts(view, positions, number, places, indices, ghosts);
    ABUTI_RELEASE(view->context, positions, places, number, indices);
    return status;
}

abut_status abut_self_get_info(const abut_self *view, abut_self_info *info) {
    if (!view || !info)
        return abuti_null(__func__, view ? "info" : "view");
    abut_self_info made = abut_self_info_default();
    size_t vertices = (size_t)view->vertex_count + view->hole_count;
    size_t nodes = view->tree.node_count;
    size_t of_sets = view->has_sets ? 1 : 0;
    made.triangle_count = view->triangle_count;
    made.vertex_count = view->vertex_count;
    made.edge_count = view->edge_count;
    made.hole_count = view->hole_count;
    made.ghost_count = view->ghost_count;
    made.part_count = view->part_count;
    made.usable = view->usable;
    made.bytes = vertices * (3 * sizeof(vec3) +
                             of_sets * (2 * (size_t)DOP_SLABS * sizeof(float) + 16 + 32)) +
                 nodes * (2 * (size_t)DOP_SLABS * sizeof(float) + 4) +
                 (uint64_t)view->triangle_count * (of_sets ? 56 : 12);
    return abuti_info_write(info, &made, sizeof made, __func__);
}

/* ---- names ---- */

const char *abut_self_scheme_name(abut_self_scheme scheme) {
    static const char *const names[] = {"auto", "point", "line", "complete"};
    return ABUTI_NAME(names, scheme);
}

const char *abut_self_fallback_name(abut_self_fallback reason) {
    static const char *const names[] = {"not-needed", "topology", "start",  "separation",
                                        "boundary",   "cost",     "impacts"};
    return ABUTI_NAME(names, reason);
}

const char *abut_self_set_name(abut_self_set set) {
    static const char *const names[] = {"positive", "negative", "grazing", "violated"};
    return ABUTI_NAME(names, set);
}

/* ---- reliability ---- */

/* The view test derives inside and outside from the orientation of triangles (Cheng 2011, chapter
 * 3). It needs one consistently oriented manifold, whose holes it closes itself. */
abut_reliability abut_self_reliability(const abut_mesh_report *report) {
    abut_mesh_report ours = abut_mesh_report_default();
    if (!abuti_report_read(&ours, report))
        return abuti_unreliable("The report is null, or its size is not set.");
    report = &ours;
    if (!report->is_manifold)
        return abuti_unreliable("The view test needs a manifold, but some edges or vertices are "
                                "non-manifold: split them, or use the complete search.");
    if (!report->is_oriented)
        return abuti_unreliable(
            "Neighbouring triangles face opposite ways, so the view test cannot "
            "distinguish the sides: orient the mesh first.");
    if (abuti_problems(report, ABUT_PROBLEM_INWARD_COMPONENT))
        return abuti_unreliable(
            "A closed component faces inwards, so the view test confuses inside and "
            "outside: orient the mesh first.");
    if (report->component_count > 1)
        return abuti_limited("Only the largest component is culled: the others are tested against "
                             "all triangles, which takes longer.");
    if (abuti_problems(report, ABUT_PROBLEM_BOUNDARY_EDGE))
        return abuti_limited(
            "Holes are closed by ghost triangles, which must not intersect the surface at the "
            "start; triangles that touch them are tested completely.");
    if (report->has_self_intersection_test)
        return report->self_intersection_count
                   ? abuti_limited(
                         "The surface already intersects itself, so a step from here has no first "
                         "impact: resolve the intersections first, or use the complete search.")
                   : abuti_guaranteed("One closed manifold without self-intersections: no first "
                                      "impact of a step from here is missed.");
    return abuti_guaranteed(
        "One closed manifold: no first impact of a step is missed, as long as the "
        "step starts free of self-intersections.");
}
