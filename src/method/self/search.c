/* The search of the view-based method, on the CPU or on a device, and its costs for AUTO.
 *
 * The search is that of abut_sweep_find(). Sets only remove pairs from it, so that it is cheaper
 * with sets than without them if these are cheap. AUTO decides that reproducibly, so it counts
 * instead of measuring time: every stage has a cost per processed element, fitted to times of one
 * thread (docs/self.md). The boundary may cost as much as the sets can save of the last complete
 * search; if that does not suffice, a complete one is run. After a search by sets its cost is
 * compared with that of the last complete search.
 *
 * Candidates are V+ with V-, and V0 and Vv with all. So the sets of a character, of which a third
 * is in V-, remove most candidates. But a group of features with several sets is visited as often
 * as without sets: if an eighth of the triangles is outside the larger one of V+ and V-, as many
 * groups are visited.
 */
#include "self/self.h"

_Static_assert((int)SET_P == 1 && (int)SET_N == 2, "the first two sets of abuti_motion_set_sets()");

/* Approximate nanoseconds: of the boundary per pair of a triangle and a ghost; of complete searches
 * per triangle and per candidate; of the view test per triangle; and of searches by sets per
 * triangle if all are in one set. */
enum {
    GHOST_PAIR_COST = 150,
    SWEEP_COST = 300,
    CANDIDATE_COST = 40,
    VIEW_COST = 50,
    SETS_COST = 150
};
/* Assumed candidates per triangle until some were counted. */
enum { CANDIDATES_INITIAL = 4 };

/* The motion of a mesh whose vertices are followed by those of the ghosts. No face uses these, so
 * that any positions serve until a step needs them. */
static abut_status create_motion(abut_self *view) {
    const uint32_t vertices = view->vertex_count + view->hole_count;
    abut_mesh_input input = abut_mesh_input_default();
    abut_sweep_options options = abut_sweep_options_default();
    abut_mesh *mesh = NULL;
    vec3 *positions = abuti_allocate(view->context, vertices, sizeof *positions);
    if (!positions)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < vertices; i++)
        positions[i] = abuti_mesh_position(view->mesh, i < view->vertex_count ? i : 0);
    input.position_type = ABUT_SCALAR_FLOAT64;
    input.positions = positions;
    input.vertex_count = vertices;
    input.indices = view->corners;
    input.triangle_count = view->triangle_count;
    options.device = view->options.device;
    abut_status status = abut_mesh_create(view->context, &input, &mesh);
    if (!status)
        status = abut_sweep_create(&mesh, 1, &options, &view->motion);
    abut_mesh_destroy(mesh);
    abuti_release(view->context, positions);
    return status;
}

abut_status abuti_view_search_open(abut_self *view) {
    const size_t vertices = (size_t)view->vertex_count + view->hole_count;
    const size_t features = vertices + view->edge_count + view->triangle_count;
    if (view->has_sets && ABUTI_ALLOCATE(view->context, ABUTI_ARRAY(view->along, vertices),
                                         ABUTI_ARRAY(view->feature_sets, features)))
        return ABUT_ERROR_MEMORY;
    return create_motion(view);
}

void abuti_view_search_close(abut_self *view) {
    ABUTI_RELEASE(view->context, view->along, view->feature_sets);
    abut_sweep_destroy(view->motion);
}

/* A feature has the sets of all triangles around it. Two unions make a candidate pair if one set of
 * each does, so the same pairs are allowed as for pairs of triangles. Ghost vertices have none. */
static void spread_sets(abut_self *view) {
    const view_lists *const lists[2] = {&view->of_vertex, &view->of_edge};
    const uint32_t counts[2] = {view->vertex_count, view->edge_count};
    unsigned char *to = view->feature_sets;
    for (int k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < counts[k]; i++) {
            unsigned all = 0;
            for (uint32_t j = lists[k]->begin[i]; j < lists[k]->begin[i + 1]; j++)
                all |= view->sets[lists[k]->items[j]];
            *to++ = (unsigned char)all;
        }
        for (uint32_t i = 0; k == 0 && i < view->hole_count; i++)
            *to++ = 0;
    }
    memcpy(to, view->sets, view->triangle_count);
}

abut_status abuti_view_search(view_step *f, bool complete) {
    abut_self *view = f->view;
    const bool lists = f->all && (complete || !f->completes);
    const motion_search_options options = {.mode = lists    ? ABUT_SWEEP_ALL
                                                   : f->all ? ABUT_SWEEP_ANY
                                                            : ABUT_SWEEP_EARLIEST,
                                           .separation = f->limits.sweep.separation,
                                           .tolerance = f->limits.sweep.tolerance,
                                           .exact = f->limits.exact,
                                           .steps = f->limits.sweep.steps};
    abut_impact impact;
    abut_impact_list one = {.list = &impact, .capacity = 1};
    abut_impact_list *found = lists ? &f->impacts : &one;
    abut_sweep_counts counts = abut_sweep_counts_default();
    double begun = abuti_seconds();
    if (!complete)
        spread_sets(view);
    abut_status status = abuti_motion_set_sets(view->motion, complete ? NULL : view->feature_sets);
    if (!status)
        status = view->motion->backend->find(view->motion, &options, found, &counts);
    if (status)
        return status;
    f->result.hit = found->count > 0;
    if (f->result.hit)
        f->result.impact = found->list[0];
    f->result.vertex_face = counts.vertex_face;
    f->result.edge_edge = counts.edge_edge;
    f->result.times.search += abuti_seconds() - begun;
    if (complete && (lists || !f->result.hit)) { /* otherwise it ended early */
        view->complete_cost = SWEEP_COST * (uint64_t)view->triangle_count +
                              CANDIDATE_COST * (counts.vertex_face + counts.edge_edge);
        view->cost_age = 0;
    }
    return ABUT_OK;
}

uint64_t abuti_view_complete_cost(const abut_self *view) {
    return view->complete_cost ? view->complete_cost
                               : (SWEEP_COST + CANDIDATES_INITIAL * CANDIDATE_COST) *
                                     (uint64_t)view->triangle_count;
}

uint64_t abuti_view_sets_cost(const abut_self *view, uint32_t smaller, uint64_t ghost_pairs,
                              uint64_t candidates) {
    const uint64_t count = view->triangle_count, most = (SWEEP_COST - SETS_COST) * count,
                   visits = (uint64_t)(SWEEP_COST - SETS_COST) * DOUBT_SHARE * smaller;
    return (VIEW_COST + SETS_COST) * count + (visits < most ? visits : most) +
           GHOST_PAIR_COST * ghost_pairs + CANDIDATE_COST * candidates;
}

size_t abuti_view_affordable_pairs(const abut_self *view, uint32_t smaller) {
    const uint64_t complete = abuti_view_complete_cost(view),
                   sets = abuti_view_sets_cost(view, smaller, 0, 0);
    return complete > sets ? (size_t)((complete - sets) / GHOST_PAIR_COST) : 0;
}
