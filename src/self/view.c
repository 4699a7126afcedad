/* Steps of the view-based search, from the checks at the door to the result. The argument for it is
 * in docs/self.md; what each part does, in the heads of the other files. */
#include "self/self.h"

#include "geom/sweep_point_shared.h"

#include <abut/bvh.h>

#include <math.h>

/* ---- create ---- */

static abut_status check_options(const abut_view_options *o) {
    if ((unsigned)o->scheme > ABUT_VIEW_COMPLETE)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_view_create: options->scheme is %d; it must be one of "
                          "abut_view_scheme",
                          (int)o->scheme);
    if ((unsigned)o->bounds > ABUT_VIEW_AABB)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_view_create: options->bounds is %d; it must be one of "
                          "abut_view_bounds",
                          (int)o->bounds);
    return ABUT_OK;
}

static abut_status allocate_all(abut_view *view) {
    abut_context *context = view->context;
    size_t vertices = (size_t)view->vertex_count + view->hole_count;
    size_t triangles = view->triangle_count, all = triangles + view->ghost_count;
    view->start = abuti_allocate(context, vertices, sizeof *view->start);
    view->end = abuti_allocate(context, vertices, sizeof *view->end);
    view->next = abuti_allocate(context, vertices, sizeof *view->next);
    view->vertex_bounds =
        abuti_allocate(context, vertices, 2 * (size_t)view->slabs * sizeof *view->vertex_bounds);
    view->places = abuti_allocate(context, vertices, sizeof *view->places);
    view->along = abuti_allocate(context, vertices, sizeof *view->along);
    view->cluster_along = abuti_allocate(context, view->cluster_count, sizeof *view->cluster_along);
    view->sets = abuti_allocate(context, all, 1);
    view->last_sets = abuti_allocate(context, triangles, 1);
    view->public_sets = abuti_allocate(context, triangles, 1);
    view->marks = abuti_allocate(context, view->tree.node_count, 1);
    view->near_ghost = abuti_allocate(context, triangles, 1);
    view->piece = abuti_allocate(context, 2 * triangles, sizeof *view->piece);
    return view->start && view->end && view->next && view->vertex_bounds && view->places &&
                   view->along && view->cluster_along && view->sets && view->last_sets &&
                   view->public_sets && view->marks && view->near_ghost && view->piece
               ? ABUT_OK
               : ABUT_ERROR_MEMORY;
}

static abut_status build(abut_view *view) {
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
    for (uint32_t i = 0; i < view->vertex_count; i++)
        view->end[i] = abuti_mesh_position(view->mesh, i);
    abuti_view_place_ghosts(view, view->end);
    return ABUT_OK;
}

abut_status abut_view_create(abut_mesh *mesh, const abut_view_options *options, abut_view **view) {
    abut_view_options ours = abut_view_options_default();
    if (!mesh || !view)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_view_create: %s is null",
                          mesh ? "view" : "mesh");
    abut_status status =
        abuti_options_read(&ours, sizeof ours, options, "abut_view_create: options");
    status = status ? status : check_options(&ours);
    if (status)
        return status;
    abut_view *made = abuti_allocate_zeroed(mesh->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(mesh->context);
    made->mesh = abut_mesh_retain(mesh);
    made->options = ours;
    made->slabs = ours.bounds == ABUT_VIEW_AABB ? BOX_SLABS : DOP_SLABS;
    made->vertex_count = mesh->vertex_count;
    made->triangle_count = mesh->triangle_count;
    made->prefers_line = true;
    status = build(made);
    if (!status && ours.device)
        status = abuti_view_device_create(made);
    if (status) {
        abut_view_destroy(made);
        return status;
    }
    *view = made;
    return ABUT_OK;
}

static void release_lists(abut_context *context, view_lists *lists) {
    abuti_release(context, lists->begin);
    abuti_release(context, lists->items);
}

void abut_view_destroy(abut_view *view) {
    if (!view)
        return;
    abut_context *context = view->context;
    abuti_view_device_destroy(view);
    abuti_view_tree_release(context, &view->tree);
    abuti_view_tree_release(context, &view->ghosts);
    release_lists(context, &view->of_vertex);
    release_lists(context, &view->of_edge);
    release_lists(context, &view->cluster);
    release_lists(context, &view->cluster_rim);
    void *arrays[] = {view->corners,       view->start,      view->end,          view->next,
                      view->vertex_bounds, view->along,      view->sets,         view->last_sets,
                      view->public_sets,   view->marks,      view->near_ghost,   view->piece,
                      view->places,        view->cluster_of, view->cluster_along};
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

static double longest_side(box3 box) {
    vec3 sides = v3_sub(box.hi, box.lo);
    return real_max(sides.x, real_max(sides.y, sides.z));
}

/* Copies positions and finds their box, in one pass and without branches, since nearly always all
 * are legal. */
static abut_status take(const abut_view *view, const char *what, const vec3 *from, vec3 *to,
                        box3 *box) {
    unsigned bad = 0;
    box3 all = box_empty();
    for (uint32_t i = 0; i < view->vertex_count; i++) {
        vec3 p = from[i];
        bad |= (unsigned)!(fabs(p.x) <= ABUT_COORDINATE_MAX) |
               (unsigned)!(fabs(p.y) <= ABUT_COORDINATE_MAX) |
               (unsigned)!(fabs(p.z) <= ABUT_COORDINATE_MAX);
        all = box_grow(all, p);
        to[i] = p;
    }
    *box = all;
    for (uint32_t i = 0; bad && i < view->vertex_count; i++)
        if (!is_legal(from[i]))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_view_find: step->%s: vertex %u is at (%g, %g, %g); coordinates "
                              "must be finite and at most 1e90",
                              what, i, from[i].x, from[i].y, from[i].z);
    return ABUT_OK;
}

static abut_status check_step(const abut_view_step *step) {
    if (!step->end)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_view_find: step->end is null");
    abut_status status = ABUT_OK;
    for (int k = 0; k < 2 && step->line && !status; k++)
        if (!is_legal(step->line->start[k]) || !is_legal(step->line->end[k]))
            status = abuti_fail(ABUT_ERROR_ARGUMENT,
                                "abut_view_find: step->line: an end is not finite, or beyond 1e90");
    return status;
}

/* As abut_motion_find() reads them. */
static abut_status read_limits(double extent, const abut_sweep_options *options,
                               view_limits *limits) {
    abut_status status = abuti_sweep_limits("abut_view_find", options, ABUT_COORDINATE_MAX,
                                            &limits->sweep, &limits->exact);
    if (!status && !(limits->sweep.tolerance > 0))
        limits->sweep.tolerance = real_max(SWEEP_TOLERANCE * extent, 1e-200);
    return status;
}

/* Whether the mesh does not meet itself at the start, by the exact test of the hierarchy. */
static abut_status look_at_start(const abut_view *view, bool *is_free) {
    abut_mesh_input input = abut_mesh_input_default();
    abut_mesh *mesh = NULL;
    abut_bvh *bvh = NULL;
    bool any = false;
    input.positions = view->start;
    input.vertex_count = view->vertex_count;
    input.indices = view->corners;
    input.triangle_count = view->triangle_count;
    abut_self_options options = abut_self_options_default();
    options.by_index = true;
    abut_status status = abut_mesh_create(view->context, &input, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, &bvh);
    if (!status)
        status = abut_bvh_self_any(bvh, &options, &any);
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

static uint32_t in_doubt(const view_counts *counts) {
    return counts->sets[ABUT_VIEW_NEGATIVE] + counts->sets[ABUT_VIEW_GRAZING];
}

/* Finds the sets by point or line; for AUTO by the one that has fewer in doubt, with an eighth to
 * spare for the point, which is cheaper. */
static abut_status test_sets(abut_view *view, view_counts *counts, bool *by_line) {
    abut_view_scheme scheme = view->options.scheme;
    if (scheme != ABUT_VIEW_AUTO) {
        *by_line = scheme == ABUT_VIEW_LINE;
        return abuti_view_test(view, *by_line, counts);
    }
    abut_status status = ABUT_OK;
    if (view->age++ % COMPARE_EVERY == 0) {
        view_counts point;
        status = abuti_view_test(view, false, &point);
        status = status ? status : abuti_view_test(view, true, counts);
        if (status)
            return status;
        view->prefers_line = in_doubt(counts) < in_doubt(&point) - in_doubt(&point) / 8;
        *by_line = view->prefers_line;
        if (*by_line)
            return ABUT_OK;
    }
    *by_line = view->prefers_line;
    return abuti_view_test(view, *by_line, counts);
}

/* ---- the search ---- */

typedef struct finding {
    abut_view *view;
    view_limits limits;
    box3 box;                    /* of the start, or of all where that has no extent */
    double extent;               /* its longest side */
    bool start_is_free, follows; /* the start is the end of the step before */
    bool placed, fitted;
    bool carries; /* sets and ghosts can be gone on with */
    motion_hit hit;
    abut_view_result result;
} finding;

static void place(finding *f) {
    if (!f->placed)
        abuti_view_place(f->view);
    f->placed = true;
}

static void fit(finding *f) {
    abut_view *view = f->view;
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
    abut_view *view = f->view;
    if (view->on_device)
        return abuti_view_device_search(view, complete, &f->limits, &f->hit, &f->result);
    if (!f->fitted)
        fit(f);
    return abuti_view_search(view, complete, &f->limits, &f->hit, &f->result);
}

static abut_status find_completely(finding *f, abut_view_fallback reason) {
    f->result.scheme = ABUT_VIEW_COMPLETE;
    f->result.reason = reason;
    memset(f->result.sets, 0, sizeof f->result.sets);
    memset(f->result.regions, 0, sizeof f->result.regions);
    f->view->marks_stand = false;
    return search(f, true);
}

/* Sets of ghosts count only where they may save the boundary. */
static bool is_free_at_once(const finding *f, const view_counts *counts) {
    const abut_view *view = f->view;
    if (in_doubt(counts) || view->part_count > 1)
        return false;
    if (!view->ghost_count)
        return true;
    if (counts->ghosts || !view->is_carried || view->options.box_boundary)
        return false;
    return !memchr(view->last_sets, SET_V, view->triangle_count);
}

static void count_sets(finding *f) {
    const abut_view *view = f->view;
    for (int k = 0; k < 4; k++)
        f->result.sets[k] = abuti_count_bytes(view->sets, view->triangle_count, 1u << k);
}

/* What touches ghosts is found on the CPU, which takes longer than a complete search on a device.
 * So AUTO leaves it there, but where it leads to steps that are free at once. */
static bool is_boundary_slow(const abut_view *view, const view_counts *counts) {
    return view->on_device && view->options.scheme == ABUT_VIEW_AUTO && view->ghost_count &&
           (in_doubt(counts) || counts->ghosts);
}

static abut_status find_by_sets(finding *f) {
    abut_view *view = f->view;
    view_counts counts;
    bool by_line, is_worth = true;
    double begun = abuti_seconds();
    if (!view->on_device)
        place(f);
    abut_status status = test_sets(view, &counts, &by_line);
    if (status)
        return status;
    f->result.scheme = by_line ? ABUT_VIEW_LINE : ABUT_VIEW_POINT;
    memcpy(f->result.regions, counts.regions, sizeof counts.regions);
    f->result.times.view += abuti_seconds() - begun;
    bool at_once = is_free_at_once(f, &counts);
    if (!at_once && is_boundary_slow(view, &counts))
        return find_completely(f, ABUT_VIEW_BOUNDARY);
    if (!at_once) {
        if (view->ghost_count || !view->on_device)
            fit(f);
        begun = abuti_seconds();
        if (view->ghost_count || view->part_count > 1)
            status = abuti_view_boundary(view, &f->limits, &is_worth);
        f->result.times.boundary += abuti_seconds() - begun;
        if (status || !is_worth)
            return status ? status : find_completely(f, ABUT_VIEW_BOUNDARY);
    }
    count_sets(f);
    begun = abuti_seconds();
    abuti_view_mark(view, &f->result);
    f->result.times.marks += abuti_seconds() - begun;
    f->carries = true;
    if (f->result.sets[ABUT_VIEW_POSITIVE] == view->triangle_count)
        return ABUT_OK;
    return search(f, false);
}

static abut_status find(finding *f, const abut_view_step *step) {
    abut_view *view = f->view;
    double begun = abuti_seconds();
    if (view->options.scheme == ABUT_VIEW_COMPLETE)
        return find_completely(f, ABUT_VIEW_NOT_NEEDED);
    if (!view->usable)
        return find_completely(f, ABUT_VIEW_TOPOLOGY);
    if (f->limits.sweep.separation > 0)
        return find_completely(f, ABUT_VIEW_SEPARATION);
    f->start_is_free = step->start_is_free || (f->follows && view->end_is_free);
    if (!f->start_is_free) {
        abut_status status = look_at_start(view, &f->start_is_free);
        if (status)
            return status;
    }
    f->result.times.start = abuti_seconds() - begun;
    if (!f->start_is_free)
        return find_completely(f, ABUT_VIEW_START);
    begun = abuti_seconds();
    view->line = step->line ? *step->line : abuti_view_axis(view);
    f->result.times.view += abuti_seconds() - begun;
    return find_by_sets(f);
}

static void describe(finding *f) {
    abut_view *view = f->view;
    abut_topology_view t = abut_topology_get(view->topology);
    motion_hit *hit = &f->hit;
    f->result.hit = hit->time <= 1;
    if (!f->result.hit)
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

/* Copies the positions of the step, ghosts too; `end` stays as it was. */
static abut_status take_positions(finding *f, const abut_view_step *step) {
    abut_view *view = f->view;
    size_t bytes = view->vertex_count * sizeof *view->start;
    box3 end;
    abut_status status =
        take(view, "start", step->start ? step->start : view->end, view->start, &f->box);
    status = status ? status : take(view, "end", step->end, view->next, &end);
    if (status)
        return status;
    f->extent = longest_side(f->box);
    if (!(f->extent > 0)) {
        f->box = box_join(f->box, end);
        f->extent = longest_side(end);
    }
    f->follows = !step->start || memcmp(step->start, view->end, bytes) == 0;
    abuti_view_place_ghosts(view, view->start);
    abuti_view_place_ghosts(view, view->next);
    view->is_carried = view->is_carried && f->follows;
    return ABUT_OK;
}

static void publish_sets(abut_view *view) {
    for (uint32_t i = 0; i < view->triangle_count;
         i++) { /* the number of a bit, without branches */
        unsigned set = view->sets[i];
        view->public_sets[i] = (unsigned char)((set >> 1) - (set >> 3));
    }
}

abut_status abut_view_find(abut_view *view, const abut_view_step *step,
                           const abut_sweep_options *options, abut_view_result *result) {
    abut_view_step ours = abut_view_step_default();
    if (!view || !step || !result)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_view_find: %s is null",
                          !view   ? "view"
                          : !step ? "step"
                                  : "result");
    abut_status status = abuti_options_read(&ours, sizeof ours, step, "abut_view_find: step");
    status = status ? status : check_step(&ours);
    if (status)
        return status;
    finding f = {.view = view, .hit = {.time = 2}};
    if ((status = take_positions(&f, &ours)))
        return status;
    status = read_limits(f.extent, options, &f.limits);
    status = status ? status : abuti_progress(view->context, "view", 0);
    if (!status && view->on_device)
        status = abuti_view_device_step(view, f.follows, f.box);
    status = status ? status : find(&f, &ours);
    if (status) {
        /* the sets may have been written over, and what changed is not known any more. Which
         * triangles are violated still is: `end` is where it was, and what a step that starts there
         * adds does no harm to another one */
        view->marks_stand = view->sets_stand = false;
        return status;
    }
    describe(&f);
    vec3 *last = view->end;
    view->end = view->next;
    view->next = last;
    if (view->on_device)
        abuti_view_device_accept(view);
    view->end_is_free = f.start_is_free && !f.result.hit;
    view->is_carried = f.carries && !f.result.hit; /* what passed through itself may be anywhere */
    view->sets_stand = f.result.scheme != ABUT_VIEW_COMPLETE;
    if (view->sets_stand)
        publish_sets(view);
    *result = f.result;
    return ABUT_OK;
}

const unsigned char *abut_view_sets(const abut_view *view) {
    return view && view->sets_stand ? view->public_sets : NULL;
}

abut_view_info abut_view_get(const abut_view *view) {
    abut_view_info info;
    memset(&info, 0, sizeof info);
    if (!view)
        return info;
    size_t vertices = (size_t)view->vertex_count + view->hole_count;
    size_t nodes = (size_t)view->tree.node_count + view->ghosts.node_count;
    info.triangle_count = view->triangle_count;
    info.vertex_count = view->vertex_count;
    info.edge_count = abut_topology_get(view->topology).edge_count;
    info.hole_count = view->hole_count;
    info.ghost_count = view->ghost_count;
    info.cluster_count = view->cluster_count;
    info.part_count = view->part_count;
    info.usable = view->usable;
    info.bytes = vertices * (3 * sizeof(vec3) + 2 * (size_t)view->slabs * sizeof(float) + 16 + 32) +
                 nodes * (2 * (size_t)view->slabs * sizeof(float) + 9) +
                 (uint64_t)view->triangle_count * 64 + (uint64_t)view->cluster_count * 16;
    return info;
}
