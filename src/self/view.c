/* Steps of the view-based search, from the checks at the door to the result. The argument for it is
 * in docs/self.md; what each part does, in the heads of the other files. */
#include "self/self.h"

#include "geom/sweep_point_shared.h"

#include <abut/pair.h>

#include <math.h>

/* ---- create ---- */

static abut_status check_options(const abut_self_options *o) {
    if ((unsigned)o->scheme > ABUT_SELF_COMPLETE)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_self_create: options->scheme is %d; it must be one of "
                          "abut_self_scheme",
                          (int)o->scheme);
    if ((unsigned)o->bounds > ABUT_SELF_AABB)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_self_create: options->bounds is %d; it must be one of "
                          "abut_self_bounds",
                          (int)o->bounds);
    return ABUT_OK;
}

static abut_status allocate_all(abut_self *view) {
    abut_context *context = view->context;
    size_t vertices = (size_t)view->vertex_count + view->hole_count;
    size_t triangles = view->triangle_count, all = triangles + view->ghost_count;
    view->sampled = abuti_view_sample_size(view->vertex_count);
    view->sample_at = abuti_allocate(context, view->sampled, sizeof *view->sample_at);
    view->sample = abuti_allocate(context, view->sampled, 2 * sizeof *view->sample);
    view->room = abuti_allocate(context, vertices, 3 * sizeof *view->room);
    view->vertex_bounds =
        abuti_allocate(context, vertices, 2 * (size_t)view->slabs * sizeof *view->vertex_bounds);
    view->places = abuti_allocate(context, vertices, sizeof *view->places);
    view->along = abuti_allocate(context, vertices, sizeof *view->along);
    view->sets = abuti_allocate(context, all, 1);
    view->last_sets = abuti_allocate(context, triangles, 1);
    view->public_sets = abuti_allocate(context, triangles, 1);
    view->marks = abuti_allocate(context, view->tree.node_count, 1);
    view->near_ghost = abuti_allocate(context, triangles, sizeof *view->near_ghost);
    view->ghost_sides = abuti_allocate(context, view->ghost_count, sizeof *view->ghost_sides);
    view->piece = abuti_allocate(context, 2 * triangles, sizeof *view->piece);
    return view->sample_at && view->sample && view->room && view->vertex_bounds && view->along &&
                   view->sets && view->last_sets && view->public_sets && view->marks &&
                   view->near_ghost && view->ghost_sides && view->places && view->piece
               ? ABUT_OK
               : ABUT_ERROR_MEMORY;
}

static abut_status build(abut_self *view) {
    abut_status status = abuti_view_prepare(view);
    if (!status)
        status = abuti_view_tree_build(view, 0, view->triangle_count, &view->tree);
    if (!status && view->ghost_count)
        status =
            abuti_view_tree_build(view, view->triangle_count, view->ghost_count, &view->ghosts);
    if (!status)
        status = allocate_all(view);
    if (status)
        return status;
    const size_t vertices = (size_t)view->vertex_count + view->hole_count;
    abuti_view_sample(view->vertex_count, view->sample_at);
    view->end = view->room;
    view->next = view->room + vertices;
    view->first = view->room + 2 * vertices;
    view->end_box = box_empty();
    for (uint32_t i = 0; i < view->vertex_count; i++) {
        view->end[i] = abuti_mesh_position(view->mesh, i);
        view->end_box = box_grow(view->end_box, view->end[i]);
    }
    abuti_view_place_ghosts(view, view->end, NULL, view->end + view->vertex_count);
    if (!view->options.device)
        return ABUT_OK;
    status = abuti_view_device_create(view, view->room);
    abuti_release(view->context, view->room);
    view->room = view->next = view->first = NULL;
    return status;
}

abut_status abut_self_create(abut_mesh *mesh, const abut_self_options *options, abut_self **view) {
    abut_self_options ours = abut_self_options_default();
    if (!mesh || !view)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_self_create: %s is null",
                          mesh ? "view" : "mesh");
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_self_create: options");
    status = status ? status : check_options(&ours);
    if (status)
        return status;
    abut_self *made = abuti_allocate_zeroed(mesh->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(mesh->context);
    made->mesh = abut_mesh_retain(mesh);
    made->options = ours;
    made->slabs = ours.bounds == ABUT_SELF_AABB ? BOX_SLABS : DOP_SLABS;
    made->vertex_count = mesh->vertex_count;
    made->triangle_count = mesh->triangle_count;
    made->prefers_line = true;
    status = build(made);
    if (status) {
        abut_self_destroy(made);
        return status;
    }
    *view = made;
    return ABUT_OK;
}

static void release_lists(abut_context *context, view_lists *lists) {
    abuti_release(context, lists->begin);
    abuti_release(context, lists->items);
}

void abut_self_destroy(abut_self *view) {
    if (!view)
        return;
    abut_context *context = view->context;
    abuti_view_device_destroy(view);
    abuti_view_tree_release(context, &view->tree);
    abuti_view_tree_release(context, &view->ghosts);
    release_lists(context, &view->of_vertex);
    release_lists(context, &view->of_edge);
    void *arrays[] = {view->corners,       view->room,  view->sample_at,  view->sample,
                      view->vertex_bounds, view->along, view->sets,       view->last_sets,
                      view->public_sets,   view->marks, view->near_ghost, view->ghost_sides,
                      view->places,        view->piece};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        abuti_release(context, arrays[i]);
    abut_topology_destroy(view->topology);
    abut_mesh_destroy(view->mesh);
    abuti_release(context, view);
    abut_context_destroy(context);
}

/* ---- the step ---- */

static bool is_legal(vec3 p) {
    return v3_max_abs(p) <= ABUT_COORDINATE_MAX && p.x == p.x && p.y == p.y && p.z == p.z;
}

static abut_status check_step(const abut_self *view, const abut_self_step *step) {
    const bool is_there = step->start_there || step->end_there;
    abut_status status = ABUT_OK;
    if (is_there && !view->on_device)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_self_find: step->%s: the view has no device; give options->device "
                          "to abut_self_create()",
                          step->end_there ? "end_there" : "start_there");
    if (is_there && (step->start || step->end))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_self_find: step->%s is given, and so is step->%s; positions are "
                          "either here or on the device",
                          step->end ? "end" : "start",
                          step->end_there ? "end_there" : "start_there");
    if (!step->end && !step->end_there)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_self_find: step->%s is null",
                          is_there ? "end_there" : "end");
    for (int k = 0; k < 2 && step->line && !status; k++)
        if (!is_legal(step->line->start[k]) || !is_legal(step->line->end[k]))
            status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                "abut_self_find: step->line: an end is not finite, or beyond 1e90");
    return status;
}

/* Whether the mesh does not meet itself at the start, by the exact test of the hierarchy. */
static abut_status look_at_start(abut_self *view, bool *is_free) {
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    bool any = false;
    input.positions = view->start;
    input.vertex_count = view->vertex_count;
    input.indices = view->corners;
    input.triangle_count = view->triangle_count;
    abut_pair_self_options options = abut_pair_self_options_default();
    options.by_index = true;
    abut_status status = view->on_device ? abuti_view_device_fetch(view) : ABUT_OK;
    if (!status)
        status = abut_mesh_create(view->context, &input, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, &bvh);
    if (!status)
        status = abut_pair_self_any(bvh, &options, &any);
    abut_bvh_destroy(bvh);
    abut_mesh_destroy(mesh);
    if (status == ABUT_ERROR_LIMIT) /* more pairs than any sound mesh has */
        any = true;
    else if (status)
        return status;
    *is_free = !any;
    return ABUT_OK;
}

/* ---- point or line ---- */

/* How often the other one is tried, for AUTO. */
enum { COMPARE_EVERY = 16 };

enum {
    DEVICE_LEAST = 1 << 18, /* triangles of an open mesh that AUTO looks at by sets on a device, */
    DOUBT_MOST = 8          /* and the part of them that may be in doubt: one of so many */
};

static uint32_t in_doubt(const view_counts *counts) {
    return counts->sets[ABUT_SELF_NEGATIVE] + counts->sets[ABUT_SELF_GRAZING];
}

static abut_status test_one(abut_self *view, bool by_line, view_counts *counts) {
    const view_sight sight = abuti_view_sight(&view->line, by_line);
    return view->on_device ? abuti_view_device_test(view, &sight, 1, counts)
                           : abuti_view_test(view, &sight, counts);
}

/* By the point and by the line. `tested`: whose sets stand then, on a device those of the point. */
static abut_status test_both(abut_self *view, view_counts counts[2], bool *tested) {
    const view_sight sights[2] = {abuti_view_sight(&view->line, false),
                                  abuti_view_sight(&view->line, true)};
    *tested = !view->on_device;
    if (view->on_device)
        return abuti_view_device_test(view, sights, 2, counts);
    abut_status status = abuti_view_test(view, &sights[0], &counts[0]);
    return status ? status : abuti_view_test(view, &sights[1], &counts[1]);
}

/* Finds the sets by point or line; for AUTO by the one that has fewer in doubt, with an eighth to
 * spare for the point, which is cheaper. */
static abut_status test_sets(abut_self *view, view_counts *counts, bool *by_line) {
    abut_self_scheme scheme = view->options.scheme;
    *by_line = scheme == ABUT_SELF_LINE || (scheme == ABUT_SELF_AUTO && view->prefers_line);
    if (scheme != ABUT_SELF_AUTO || view->age++ % COMPARE_EVERY)
        return test_one(view, *by_line, counts);
    view_counts both[2];
    bool tested;
    abut_status status = test_both(view, both, &tested);
    if (status)
        return status;
    const uint32_t by_point = in_doubt(&both[0]);
    *by_line = view->prefers_line = in_doubt(&both[1]) < by_point - by_point / 8;
    *counts = both[*by_line];
    if (*by_line != tested && view->on_device)
        abuti_view_device_take_other(view);
    return *by_line == tested || view->on_device ? ABUT_OK : test_one(view, *by_line, counts);
}

/* ---- the search ---- */

typedef struct finding {
    abut_self *view;
    view_limits limits;
    box3 start_box, end_box;     /* of the CPU */
    double extent;               /* the longest side of the start, or of all where it has none */
    bool start_is_free, follows; /* the start is the end of the step before */
    bool placed, fitted;
    bool carries; /* sets and ghosts can be gone on with */
    motion_hit hit;
    abut_self_result result;
} finding;

static void place(finding *f) {
    box3 box = f->view->on_device ? box_empty() : box_join(f->start_box, f->end_box);
    if (!f->placed)
        abuti_view_place(f->view, f->view->on_device ? NULL : &box);
    f->placed = true;
}

static void fit(finding *f) {
    abut_self *view = f->view;
    double begun = abuti_seconds();
    place(f);
    abuti_view_fit_vertices(view, f->limits.sweep.separation);
    abuti_view_tree_fit(view, &view->tree);
    if (view->ghost_count)
        abuti_view_tree_fit(view, &view->ghosts);
    f->fitted = true;
    f->result.times.bounds += abuti_seconds() - begun;
}

static abut_status search(finding *f, bool complete) {
    abut_self *view = f->view;
    if (view->on_device)
        return abuti_view_device_search(view, complete, &f->limits, &f->hit, &f->result);
    if (!f->fitted)
        fit(f);
    return abuti_view_search(view, complete, &f->limits, &f->hit, &f->result);
}

static abut_status find_completely(finding *f, abut_self_fallback reason) {
    f->result.scheme = ABUT_SELF_COMPLETE;
    f->result.reason = reason;
    memset(f->result.sets, 0, sizeof f->result.sets);
    memset(f->result.regions, 0, sizeof f->result.regions);
    f->view->marks_stand = false;
    return search(f, true);
}

/* Sets of ghosts count only where they may save the boundary. */
static bool is_free_at_once(const finding *f, const view_counts *counts) {
    const abut_self *view = f->view;
    if (in_doubt(counts) || view->part_count > 1)
        return false;
    if (!view->ghost_count)
        return true;
    if (counts->ghosts || !view->is_carried || view->options.box_boundary)
        return false;
    return view->violated == 0;
}

static void count_sets(finding *f) {
    const abut_self *view = f->view;
    for (int k = 0; k < 4; k++)
        f->result.sets[k] = abuti_count_bytes(view->sets, view->triangle_count, 1u << k);
}

/* A complete search on a device takes less than the boundary and a search of much of the mesh, or
 * of a small one. But where it leads to steps that are free at once. */
static bool is_boundary_slow(const abut_self *view, const view_counts *counts) {
    return view->on_device && view->options.scheme == ABUT_SELF_AUTO && view->ghost_count &&
           (in_doubt(counts) > view->triangle_count / DOUBT_MOST ||
            (view->triangle_count < DEVICE_LEAST && (in_doubt(counts) || counts->ghosts)));
}

static abut_status look_at_boundary(finding *f, view_counts *counts, bool *is_worth) {
    abut_self *view = f->view;
    double begun = abuti_seconds();
    abut_status status = view->on_device
                             ? abuti_view_device_boundary(view, &f->limits, counts, is_worth)
                             : abuti_view_boundary(view, &f->limits, is_worth);
    f->result.times.boundary += abuti_seconds() - begun;
    return status;
}

/* What a device says of its sets. */
static void take_counts(finding *f, const view_counts *counts) {
    abut_self *view = f->view;
    memcpy(f->result.regions, counts->regions, sizeof counts->regions);
    memcpy(f->result.sets, counts->sets, sizeof counts->sets);
    if (view->marks_stand) {
        memcpy(f->result.entered, counts->entered, sizeof counts->entered);
        memcpy(f->result.left, counts->left, sizeof counts->left);
    }
    view->marks_stand = true;
}

static void carry(finding *f) {
    abut_self *view = f->view;
    view->violated = f->result.sets[ABUT_SELF_VIOLATED];
    view->doubted = f->result.sets[ABUT_SELF_NEGATIVE] + f->result.sets[ABUT_SELF_GRAZING];
    f->carries = true;
}

/* The sets stand: counts them, and what changed since the step before. A device knows already. */
static void mark(finding *f, const view_counts *counts) {
    abut_self *view = f->view;
    double begun = abuti_seconds();
    if (view->on_device) {
        take_counts(f, counts);
        abuti_view_device_mark(view);
    } else {
        count_sets(f);
        abuti_view_mark(view, &f->result);
    }
    carry(f);
    f->result.times.marks += abuti_seconds() - begun;
}

/* Where the last step left some in doubt this one will too. A device then searches before anyone
 * has looked at the counts of its sets: one wait less. If there is nothing in doubt after all, no
 * pair is let through, and the answer is the same. */
static bool can_be_blind(const abut_self *view) {
    const bool compares = view->options.scheme == ABUT_SELF_AUTO && view->age % COMPARE_EVERY == 0;
    return view->on_device && !view->ghost_count && view->part_count <= 1 && view->marks_stand &&
           view->doubted && !compares;
}

static abut_status find_blindly(finding *f) {
    abut_self *view = f->view;
    double begun = abuti_seconds();
    const bool by_line = view->options.scheme == ABUT_SELF_LINE ||
                         (view->options.scheme == ABUT_SELF_AUTO && view->prefers_line);
    const view_sight sight = abuti_view_sight(&view->line, by_line);
    view_counts counts;
    view->age += view->options.scheme == ABUT_SELF_AUTO;
    f->result.scheme = by_line ? ABUT_SELF_LINE : ABUT_SELF_POINT;
    abut_status status = abuti_view_device_test_blindly(view, &sight, 1);
    if (!status)
        abuti_view_device_mark(view);
    f->result.times.view += abuti_seconds() - begun;
    status = status ? status : search(f, false);
    status = status ? status : abuti_view_device_counts(view, 1, &counts);
    if (status)
        return status;
    take_counts(f, &counts);
    carry(f);
    return ABUT_OK;
}

static abut_status find_by_sets(finding *f) {
    abut_self *view = f->view;
    view_counts counts;
    bool by_line, is_worth = true;
    double begun = abuti_seconds();
    if (!view->on_device)
        place(f);
    abut_status status = test_sets(view, &counts, &by_line);
    if (status)
        return status;
    f->result.scheme = by_line ? ABUT_SELF_LINE : ABUT_SELF_POINT;
    memcpy(f->result.regions, counts.regions, sizeof counts.regions);
    f->result.times.view += abuti_seconds() - begun;
    bool at_once = is_free_at_once(f, &counts);
    if (!at_once && is_boundary_slow(view, &counts))
        return find_completely(f, ABUT_SELF_BOUNDARY);
    if (!at_once && !view->on_device)
        fit(f);
    if (!at_once && (view->ghost_count || view->part_count > 1)) {
        if ((status = look_at_boundary(f, &counts, &is_worth)) || !is_worth)
            return status ? status : find_completely(f, ABUT_SELF_BOUNDARY);
    }
    mark(f, &counts);
    if (f->result.sets[ABUT_SELF_POSITIVE] == view->triangle_count)
        return ABUT_OK;
    return search(f, false);
}

static abut_status find_line(abut_self *view, const abut_self_step *step) {
    vec3 *start = view->sample, *end = view->sample + view->sampled;
    if (step->line)
        view->line = *step->line;
    else if (view->on_device && !abuti_view_device_is_here(view))
        return abuti_view_device_axis(view, &view->line);
    for (uint32_t i = 0; i < view->sampled && !step->line; i++) {
        start[i] = view->start[view->sample_at[i]];
        end[i] = view->next[view->sample_at[i]];
    }
    if (!step->line)
        view->line = abuti_view_axis(start, end, view->sampled);
    return ABUT_OK;
}

static abut_status find(finding *f, const abut_self_step *step) {
    abut_self *view = f->view;
    double begun = abuti_seconds();
    if (view->options.scheme == ABUT_SELF_COMPLETE)
        return find_completely(f, ABUT_SELF_NOT_NEEDED);
    if (!view->usable)
        return find_completely(f, ABUT_SELF_TOPOLOGY);
    if (f->limits.sweep.separation > 0)
        return find_completely(f, ABUT_SELF_SEPARATION);
    f->start_is_free = step->start_is_free || (f->follows && view->end_is_free);
    if (!f->start_is_free) {
        abut_status status = look_at_start(view, &f->start_is_free);
        if (status)
            return status;
    }
    f->result.times.start = abuti_seconds() - begun;
    if (!f->start_is_free)
        return find_completely(f, ABUT_SELF_START);
    begun = abuti_seconds();
    abut_status status = find_line(view, step);
    f->result.times.view += abuti_seconds() - begun;
    if (status)
        return status;
    return can_be_blind(view) ? find_blindly(f) : find_by_sets(f);
}

static void describe(finding *f) {
    abut_self *view = f->view;
    abut_topology_arrays t = abut_topology_arrays_get(view->topology);
    motion_hit *hit = &f->hit;
    f->result.hit = hit->time <= 1;
    if (!f->result.hit || view->on_device) /* which says it all */
        return;
    abut_impact *impact = &f->result.impact;
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
    impact->time = hit->time;
    impact->point = sweep_point(edges, start, end, hit->time, hit->weights);
    impact->normal = hit->normal;
    memcpy(impact->weights, hit->weights, sizeof impact->weights);
    impact->kind = (abut_impact_kind)hit->kind;
    impact->element[0] = hit->first;
    impact->element[1] = hit->second;
}

static double longest_side(box3 box) {
    return v3_max_abs(v3_sub(box.hi, box.lo));
}

/* Takes the positions of the step, ghosts too; `end` stays as it was. */
static abut_status take_positions(finding *f, const abut_self_step *step) {
    abut_self *view = f->view;
    const uint32_t count = view->vertex_count;
    box3 start = view->end_box;
    f->follows = !step->start || !memcmp(step->start, view->end, count * sizeof *view->end);
    view->start = f->follows ? view->end : view->first;
    abut_status status = ABUT_OK;
    if (!f->follows)
        status = abuti_positions_take(view->context, "abut_self_find", "step->start", step->start,
                                      count, view->first, &start);
    if (!status)
        status = abuti_positions_take(view->context, "abut_self_find", "step->end", step->end,
                                      count, view->next, &f->end_box);
    if (status)
        return status;
    f->start_box = start;
    f->extent = longest_side(start);
    if (!(f->extent > 0))
        f->extent = longest_side(box_join(start, f->end_box));
    if (!f->follows)
        abuti_view_place_ghosts(view, view->first, NULL, view->first + count);
    abuti_view_place_ghosts(view, view->next, NULL, view->next + count);
    return ABUT_OK;
}

static abut_status take_step(finding *f, const abut_self_step *step) {
    abut_self *view = f->view;
    abut_status status =
        view->on_device ? abuti_view_device_step(view, step, &f->follows) : take_positions(f, step);
    if (status)
        return status;
    if (view->on_device)
        f->extent = abuti_view_device_extent(view);
    /* as abut_sweep_find() has it */
    if (!(f->limits.sweep.tolerance > 0))
        f->limits.sweep.tolerance = real_max(SWEEP_TOLERANCE * f->extent, 1e-200);
    view->is_carried = view->is_carried && f->follows;
    return ABUT_OK;
}

/* The step is done: what it found is known of the view. */
static void accept(finding *f) {
    abut_self *view = f->view;
    vec3 *last = view->end;
    view->end = view->next;
    view->next = last;
    view->end_box = f->end_box;
    view->end_is_free = f->start_is_free && !f->result.hit;
    view->is_carried =
        f->carries && !f->result.hit; /* what passed through itself may be anywhere */
    view->sets_stand = f->result.scheme != ABUT_SELF_COMPLETE;
    view->is_public = false;
}

abut_status abut_self_find(abut_self *view, const abut_self_step *step,
                           const abut_sweep_find_options *options, abut_self_result *result) {
    abut_self_step ours = abut_self_step_default();
    if (!view || !step || !result)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_self_find: %s is null",
                          !view   ? "view"
                          : !step ? "step"
                                  : "result");
    abut_status status = abuti_options_read(&ours, sizeof ours, step, "abut_self_find: step");
    status = status ? status : check_step(view, &ours);
    finding f = {.view = view, .hit = {.time = 2}};
    if (!status)
        status = abuti_sweep_limits("abut_self_find", options, ABUT_COORDINATE_MAX, &f.limits.sweep,
                                    &f.limits.exact);
    status = status ? status : abuti_progress(view->context, "view", 0);
    status = status ? status : take_step(&f, &ours);
    if (status)
        return status;
    if ((status = find(&f, &ours))) {
        /* the sets may have been written over, and what changed is not known any more. Which
         * triangles are violated still is: `end` is where it was, and what a step that starts there
         * adds does no harm to another one */
        view->marks_stand = view->sets_stand = false;
        if (view->on_device) {
            view->is_carried = false; /* there the violated may be half-written */
            abuti_view_device_undo(view);
        }
        return status;
    }
    describe(&f);
    accept(&f);
    *result = f.result;
    return ABUT_OK;
}

const unsigned char *abut_self_sets(const abut_self *view) {
    if (!view || !view->sets_stand)
        return NULL;
    abut_self *ours = (abut_self *)view; /* what is asked for is made now, and kept */
    if (view->on_device && abuti_view_device_show(ours))
        return NULL;
    for (uint32_t i = 0; i < view->triangle_count && !view->is_public; i++) {
        unsigned set = view->sets[i]; /* the number of a bit, without branches */
        view->public_sets[i] = (unsigned char)((set >> 1) - (set >> 3));
    }
    ours->is_public = true;
    return view->public_sets;
}

abut_self_info abut_self_info_get(const abut_self *view) {
    abut_self_info info;
    memset(&info, 0, sizeof info);
    if (!view)
        return info;
    size_t vertices = (size_t)view->vertex_count + view->hole_count;
    size_t nodes = (size_t)view->tree.node_count + view->ghosts.node_count;
    info.triangle_count = view->triangle_count;
    info.vertex_count = view->vertex_count;
    info.edge_count = abut_topology_arrays_get(view->topology).edge_count;
    info.hole_count = view->hole_count;
    info.ghost_count = view->ghost_count;
    info.part_count = view->part_count;
    info.usable = view->usable;
    info.bytes = vertices * (3 * sizeof(vec3) + 2 * (size_t)view->slabs * sizeof(float) + 16 + 32) +
                 nodes * (2 * (size_t)view->slabs * sizeof(float) + 9) +
                 (uint64_t)view->triangle_count * 56;
    return info;
}

/* ---- advice ---- */

/* The view test tells inside from outside by the way a triangle faces (Cheng 2011, chapter 3): it
 * needs one consistently wound manifold, whose holes it closes itself. */
abut_advice abut_self_advice(const abut_mesh_report *report) {
    if (!report)
        return abuti_unfit("There is no report.");
    if (!report->manifold)
        return abuti_unfit(
            "The view test needs a manifold, and some edges or vertices join more than "
            "one sheet: split them, or use the complete search.");
    if (!report->oriented)
        return abuti_unfit("Neighbouring triangles are wound against each other, so the view test "
                           "cannot tell the sides apart: orient the mesh first.");
    if (abuti_problems(report, ABUT_PROBLEM_INWARD_COMPONENT))
        return abuti_unfit(
            "A closed part is wound inwards, so the view test takes its inside for its "
            "outside: orient the mesh first.");
    if (report->component_count > 1)
        return abuti_limited(
            "Each part is guarded by itself only: make the parts separate bodies, or "
            "use the complete search between them.");
    if (abuti_problems(report, ABUT_PROBLEM_BOUNDARY_EDGE))
        return abuti_limited(
            "Holes are closed by ghost triangles, which must not cut the surface at the "
            "start; what touches them is searched completely.");
    if (report->self_examined)
        return report->self_pair_count
                   ? abuti_limited("The surface cuts itself already, so a step from here has no "
                                   "first impact to find: part "
                                   "it first, or use the complete search.")
                   : abuti_guaranteed("One closed manifold that nowhere cuts itself: no first "
                                      "impact of a step from here is "
                                      "missed.");
    return abuti_guaranteed(
        "One closed manifold: no first impact of a step is missed, as long as the "
        "step starts free of self-intersections.");
}
