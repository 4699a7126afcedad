/* Boundary handling: finds the triangles of a mesh with holes that the view test cannot classify
 * (Cheng 2011, sections 3.4 and 4.3).
 *
 * Ghost triangles close the holes. As long as no part of the mesh passes through a ghost, the
 * closed surface is like any other. Let the level of a piece of the mesh be the winding number of
 * the closed surface around a point just outside of it. The proof in docs/self.md requires that all
 * triangles that the view test classifies have the same level. The level of a triangle changes only
 * if something passes through it; before the first impact of the mesh, that is a ghost. So:
 *   - at some start, triangles that intersect a ghost are found exactly. They cut the mesh into
 *     pieces of one level each. The view test classifies the largest piece; all others are
 * violated;
 *   - during a step, triangles that touch a ghost become violated, by the same sweeps as impacts,
 *     which never miss; or, box-only, all whose bounds overlap those of a ghost.
 *
 * While steps are consecutive, the result of the first part is known. It is computed again only
 * every few steps, to release triangles that have returned.
 *
 * This differs from Cheng (2011), who keeps triangles violated until the whole mesh is positive.
 * Here they are released some steps after they have returned. Meshes of several components, and
 * meshes that are rolled up at the first step, need no special treatment.
 *
 * Each ghost traverses the tree over the triangles. Ghosts are long and thin: bounds along
 * directions of the ghost (ghost.h), in addition to those of the tree, leave a twelfth of the
 * pairs.
 *
 * Tasks are fixed parts of the ghosts. The set of violated triangles only grows, so it does not
 * depend on their order. If all triangles around a feature are violated, it is not swept.
 *
 * A boundary loop is part of the mesh and of the ghosts. Touching it is an impact, but the loop may
 * be on the positive side and a ghost on the negative side: so such triangles are violated as well.
 */
#include "self/self.h"

#include "geom/neighbour_shared.h"

#include <assert.h>

/* The number of pairs with overlapping bounds above which the scheme is not cheaper: some per
 * triangle. A task may find, and compare, an eighth of that. */
enum { PAIRS_MIN = 1 << 16, PAIRS_PER_TRIANGLE = 16, TASK_DIVISOR = 8 };

enum {
    TASKS_MAX = 64,   /* over the ghosts */
    BATCH = 256,      /* pairs of features that are filtered at once */
    RELEASE_EVERY = 8 /* maximum number of steps until violated triangles are determined anew */
};

/* Flags of a triangle during a step. */
enum { INTERSECTS_GHOST = 1, TOUCHES_GHOST = 2 };
/* A vertex or an edge of the mesh against a ghost, or a corner of a ghost against a triangle. */
enum { VERTEX_GHOST = 0, EDGE_GHOST, GHOST_FACE, TOUCHINGS };

typedef struct ghost_pair {
    uint32_t triangle, ghost;
} ghost_pair;

/* The result of a task. */
typedef struct task_share {
    ghost_pair *pairs;
    size_t count, room;
    bool is_full;
    abut_status status;
} task_share;

typedef struct pair_search {
    abut_self *view;
    const view_limits *limits;
    const uint32_t *triangle_edges;
    task_share *shares; /* of the ghosts */
    size_t share_count, most;
} pair_search;

/* ---- memory and bounds ---- */

abut_status abuti_view_boundary_open(abut_self *view) {
    abut_context *context = view->context;
    const size_t vertices = (size_t)view->vertex_count + view->hole_count;
    const size_t triangles = view->triangle_count;
    view->vertex_bounds =
        abuti_allocate(context, vertices, 2 * (size_t)DOP_SLABS * sizeof *view->vertex_bounds);
    view->places = abuti_allocate(context, vertices, sizeof *view->places);
    view->near_ghost = abuti_allocate(context, triangles, sizeof *view->near_ghost);
    view->ghost_sides = abuti_allocate(context, view->ghost_count, sizeof *view->ghost_sides);
    view->piece = abuti_allocate(context, 2 * triangles, sizeof *view->piece);
    if (!view->vertex_bounds || !view->places || !view->near_ghost || !view->ghost_sides ||
        !view->piece)
        return ABUT_ERROR_MEMORY;
    return view->ghost_count ? abuti_view_tree_build(view) : ABUT_OK;
}

void abuti_view_boundary_close(abut_self *view) {
    ABUTI_RELEASE(view->context, view->vertex_bounds, view->places, view->near_ghost,
                  view->ghost_sides, view->piece);
    abuti_view_tree_release(view);
}

void abuti_view_fit(abut_self *view) {
    if (view->ghost_count)
        abuti_view_tree_fit(view);
}

static const float *vertex_bounds(const abut_self *view, uint32_t vertex) {
    return view->vertex_bounds + vertex * 2 * (size_t)DOP_SLABS;
}

static inline ghost_values values_of(const abut_self *view, const ghost_sides *g, uint32_t vertex) {
    return ghost_values_of(g, &view->places[vertex]);
}

/* ---- pairs ---- */

static void add_pair(const pair_search *p, task_share *out, uint32_t triangle, uint32_t ghost) {
    out->status = abuti_grow(p->view->context, &out->pairs, out->count, out->count + 1,
                             sizeof *out->pairs, &out->room);
    if (!out->status)
        out->pairs[out->count++] = (ghost_pair){triangle, ghost};
}

/* Whether a triangle is not separated from a ghost. */
static bool is_triangle_near(const abut_self *view, const ghost_sides *g, uint32_t triangle) {
    const uint32_t *corner = view->corners + 3 * (size_t)triangle;
    ghost_values lowest = ghost_lower(values_of(view, g, corner[0]), values_of(view, g, corner[1]));
    lowest = ghost_lower(lowest, values_of(view, g, corner[2]));
    return ghost_is_near(g, &lowest);
}

/* Computes the directions of a ghost, and finds the triangles that may touch it. */
static void find_pairs_of_ghost(const pair_search *p, task_share *out, uint32_t ghost,
                                size_t *left) {
    abut_self *view = p->view;
    const view_tree *tree = &view->tree;
    ghost_sides *g = &view->ghost_sides[ghost - view->triangle_count];
    ghost_position place[3];
    float bounds[2 * DOP_SLABS];
    uint32_t stack[TREE_STACK], used = 1;
    for (size_t k = 0; k < 3; k++)
        place[k] = view->places[view->corners[3 * (size_t)ghost + k]];
    ghost_sides_of(place, g);
    abuti_view_triangle_bounds(view, ghost, bounds);
    stack[0] = 0;
    for (; used && *left && !out->status; --*left) {
        const uint32_t node = stack[--used], child = tree->child[node];
        const float *lo = tree->bounds + node * 2 * (size_t)DOP_SLABS, *hi = lo + DOP_SLABS;
        if (!bounds_overlap(lo, bounds))
            continue;
        if (child & TREE_LEAF) {
            if (is_triangle_near(view, g, child & ~TREE_LEAF))
                add_pair(p, out, child & ~TREE_LEAF, ghost);
        } else if (ghost_box_is_near(g, lo, hi)) {
            assert(used + 2 <= TREE_STACK);
            stack[used++] = child;
            stack[used++] = child + 1;
        }
    }
    out->is_full = used > 0;
}

static void pairs_task(void *data, size_t chunk, size_t begin, size_t end) {
    const pair_search *p = data;
    task_share *out = &p->shares[chunk];
    size_t left = p->most / TASK_DIVISOR;
    for (size_t i = begin; i < end && !out->is_full && !out->status; i++)
        find_pairs_of_ghost(p, out, p->view->triangle_count + (uint32_t)i, &left);
}

/* Finds all pairs, or that there are too many. */
static abut_status find_pairs(pair_search *p, size_t *found, bool *is_cheaper) {
    abut_self *view = p->view;
    const size_t ghosts_per_task = abuti_chunk_count(view->ghost_count, TASKS_MAX);
    size_t count = 0;
    p->share_count = abuti_chunk_count(view->ghost_count, ghosts_per_task);
    p->shares = abuti_allocate_zeroed(view->context, p->share_count, sizeof *p->shares);
    if (!p->shares)
        return ABUT_ERROR_MEMORY;
    abuti_parallel_for(view->context, view->ghost_count, ghosts_per_task, pairs_task, p);
    for (size_t i = 0; i < p->share_count; i++) {
        if (p->shares[i].status) /* the message was set on another thread */
            return abuti_fail(p->shares[i].status, "abut_self_find: out of memory");
        count += p->shares[i].count;
        *is_cheaper = *is_cheaper && !p->shares[i].is_full && count <= p->most;
    }
    *found = count;
    return ABUT_OK;
}

/* Runs a task for each share. */
static void run_for_shares(pair_search *p, void (*task)(void *, size_t, size_t, size_t)) {
    abuti_parallel_for(p->view->context, p->share_count, 1, task, p);
}

static void mark_triangle(abut_self *view, uint32_t triangle, unsigned char bit) {
    atomic_fetch_or_explicit(&view->near_ghost[triangle], bit, memory_order_relaxed);
}

static bool has_mark(const abut_self *view, uint32_t triangle, unsigned char bit) {
    return atomic_load_explicit(&view->near_ghost[triangle], memory_order_relaxed) & bit;
}

/* ---- at the start ---- */

static triangle3 corners_at_start(const abut_self *view, uint32_t triangle) {
    const uint32_t *corner = view->corners + 3 * (size_t)triangle;
    triangle3 t = {{view->start[corner[0]], view->start[corner[1]], view->start[corner[2]]}};
    return t;
}

static bool intersects_at_start(const abut_self *view, ghost_pair pair) {
    const uint32_t *a = view->corners + 3 * (size_t)pair.triangle;
    const uint32_t *b = view->corners + 3 * (size_t)pair.ghost;
    common_corners common = {0, 0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (a[i] == b[j]) {
                common.in_a |= 1u << i;
                common.in_b |= 1u << j;
            }
    return neighbours_intersect(corners_at_start(view, pair.triangle),
                                corners_at_start(view, pair.ghost), common);
}

static void intersections_task(void *data, size_t chunk, size_t begin, size_t end) {
    const pair_search *p = data;
    abut_self *view = p->view;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < p->shares[i].count; k++) {
            ghost_pair pair = p->shares[i].pairs[k];
            if (!has_mark(view, pair.triangle, INTERSECTS_GHOST) &&
                (view->options.box_boundary || intersects_at_start(view, pair)))
                mark_triangle(view, pair.triangle, INTERSECTS_GHOST);
        }
}

/* The lowest triangle of a piece, with path compression. */
static uint32_t lowest_of_piece(uint32_t *piece, uint32_t i) {
    while (piece[i] != i)
        i = piece[i] = piece[piece[i]];
    return i;
}

/* Cuts the mesh along the triangles that intersect ghosts, and puts all pieces except the largest
 * one, of equal ones the first, into V. */
static void violate_smaller_pieces(abut_self *view) {
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_topology_get_arrays(view->topology, &t);
    uint32_t count = view->triangle_count, *piece = view->piece, *size = view->piece + count;
    const unsigned char *intersecting = view->sets; /* temporarily SET_V if it intersects a ghost */
    uint32_t best = 0;
    for (uint32_t i = 0; i < count; i++)
        if (has_mark(view, i, INTERSECTS_GHOST))
            view->sets[i] = SET_V;
    for (uint32_t i = 0; i < count; i++) {
        piece[i] = i;
        size[i] = 0;
        for (size_t k = 0; k < 3 && intersecting[i] != SET_V; k++) {
            uint32_t other = t.neighbours[3 * (size_t)i + k];
            if (other >= i || intersecting[other] == SET_V) /* also true for ABUT_NONE */
                continue;
            uint32_t a = lowest_of_piece(piece, i), b = lowest_of_piece(piece, other);
            piece[a > b ? a : b] = a > b ? b : a;
        }
    }
    for (uint32_t i = 0; i < count; i++) /* roots come before their descendants */
        if (intersecting[i] != SET_V)
            size[piece[i] = piece[piece[i]]]++;
    for (uint32_t i = 0; i < count; i++)
        best = size[i] > size[best] ? i : best;
    for (uint32_t i = 0; i < count; i++)
        if (piece[i] != best)
            view->sets[i] = SET_V;
}

/* ---- during the step ---- */

typedef struct touch_batch {
    uint32_t count;
    uint32_t four[4 * BATCH], element[BATCH], survivors[BATCH];
} touch_batch;

typedef struct touching_task {
    const pair_search *p;
    touch_batch wait[TOUCHINGS];
} touching_task;

static bool is_violated(const abut_self *view, uint32_t triangle) {
    return view->sets[triangle] == SET_V || has_mark(view, triangle, TOUCHES_GHOST);
}

/* The triangles that are violated if a feature touches. */
static const uint32_t *triangles_of(const abut_self *view, int what, const uint32_t *element,
                                    uint32_t *count) {
    if (what == GHOST_FACE) {
        *count = 1;
        return element;
    }
    const view_lists *lists = what == VERTEX_GHOST ? &view->of_vertex : &view->of_edge;
    *count = lists->begin[*element + 1] - lists->begin[*element];
    return lists->items + lists->begin[*element];
}

static bool is_all_violated(const abut_self *view, int what, uint32_t element) {
    uint32_t count, i = 0;
    const uint32_t *triangles = triangles_of(view, what, &element, &count);
    while (i < count && is_violated(view, triangles[i]))
        i++;
    return i == count;
}

/* Sweeps the queued features. If one touches, all triangles around it are violated. */
static void sweep_queued(touching_task *task, int what) {
    abut_self *view = task->p->view;
    const sweep_limits *limits = &task->p->limits->sweep;
    touch_batch *wait = &task->wait[what];
    int kind = what == EDGE_GHOST ? SWEEP_EDGE_EDGE : SWEEP_VERTEX_FACE;
    size_t left = abuti_sweep_filter(kind, view->start, view->end, wait->four, wait->count, limits,
                                     wait->survivors);
    for (size_t i = 0; i < left; i++) {
        size_t at = wait->survivors[i];
        vec3 start[4], end[4];
        sweep_answer answer;
        if (is_all_violated(view, what, wait->element[at]))
            continue;
        for (size_t k = 0; k < 4; k++) {
            start[k] = view->start[wait->four[4 * at + k]];
            end[k] = view->end[wait->four[4 * at + k]];
        }
        if (!sweep_pair(kind, start, end, limits, &answer))
            continue;
        uint32_t count;
        const uint32_t *triangles = triangles_of(view, what, &wait->element[at], &count);
        for (uint32_t k = 0; k < count; k++)
            mark_triangle(view, triangles[k], TOUCHES_GHOST);
    }
    wait->count = 0;
}

/* Queues features that share no vertex for a sweep. */
static void queue_features(touching_task *task, int what, uint32_t element, uint32_t a, uint32_t b,
                           uint32_t c, uint32_t d) {
    touch_batch *wait = &task->wait[what];
    bool edges = what == EDGE_GHOST;
    if (a == c || a == d || (edges ? b == c || b == d : a == b) ||
        is_all_violated(task->p->view, what, element))
        return;
    uint32_t *four = wait->four + 4 * (size_t)wait->count;
    four[0] = a;
    four[1] = b;
    four[2] = c;
    four[3] = d;
    wait->element[wait->count++] = element;
    if (wait->count == BATCH)
        sweep_queued(task, what);
}

/* Every feature of the mesh is added for the first of its triangles. Of a ghost b, c, g the
 * boundary edge bc, the edge cg and the corner c belong to it, and g to the first ghost around it.
 * The bounds of a feature are within those of all triangles that have it, so that none is missed.
 */
static void add_features(touching_task *task, ghost_pair pair) {
    const abut_self *view = task->p->view;
    const uint32_t *a = view->corners + 3 * (size_t)pair.triangle;
    const uint32_t *ghost = view->corners + 3 * (size_t)pair.ghost;
    const uint32_t *edges = task->p->triangle_edges + 3 * (size_t)pair.triangle;
    const ghost_sides *g = &view->ghost_sides[pair.ghost - view->triangle_count];
    bool first = pair.ghost == view->triangle_count || ghost[2] != (ghost - 3)[2];
    float face[2 * DOP_SLABS], ghost_face[2 * DOP_SLABS], own[2 * DOP_SLABS];
    float side[2][2 * DOP_SLABS];
    ghost_values lowest[3];
    abuti_view_triangle_bounds(view, pair.triangle, face);
    abuti_view_triangle_bounds(view, pair.ghost, ghost_face);
    for (int k = 0; k < 3; k++)
        lowest[k] = values_of(view, g, a[k]);
    for (int j = 0; j < 2; j++)
        bounds_join(side[j], vertex_bounds(view, ghost[j]), vertex_bounds(view, ghost[j + 1]));
    for (size_t i = 0; i < 3; i++) {
        size_t after = i == 2 ? 0 : i + 1;
        uint32_t next = a[after];
        ghost_values of_edge = ghost_lower(lowest[i], lowest[after]);
        if (view->of_vertex.items[view->of_vertex.begin[a[i]]] == pair.triangle &&
            ghost_is_near(g, &lowest[i]) && bounds_overlap(vertex_bounds(view, a[i]), ghost_face))
            queue_features(task, VERTEX_GHOST, a[i], a[i], ghost[0], ghost[1], ghost[2]);
        if (view->of_edge.items[view->of_edge.begin[edges[i]]] != pair.triangle ||
            !ghost_is_near(g, &of_edge))
            continue;
        bounds_join(own, vertex_bounds(view, a[i]), vertex_bounds(view, next));
        for (size_t j = 0; j < 2; j++)
            if (bounds_overlap(own, side[j]))
                queue_features(task, EDGE_GHOST, edges[i], a[i], next, ghost[j], ghost[j + 1]);
    }
    for (size_t j = 1; j < (first ? 3 : 2); j++)
        if (bounds_overlap(vertex_bounds(view, ghost[j]), face))
            queue_features(task, GHOST_FACE, pair.triangle, ghost[j], a[0], a[1], a[2]);
}

static void touches_ghosts_task(void *data, size_t chunk, size_t begin, size_t end) {
    touching_task task;
    (void)chunk;
    task.p = data;
    for (int what = 0; what < TOUCHINGS; what++)
        task.wait[what].count = 0;
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < task.p->shares[i].count; k++)
            add_features(&task, task.p->shares[i].pairs[k]);
    for (int what = 0; what < TOUCHINGS; what++)
        sweep_queued(&task, what);
}

/* ---- entry points ---- */

/* Whether the pieces of the previous step are still valid: violated triangles stay violated. They
 * are determined anew every few steps, and if steps are not consecutive. */
static bool keeps_pieces(abut_self *view) {
    if (view->options.box_boundary || !view->is_carried)
        view->kept = 0;
    else if (view->violated)
        view->kept = (view->kept + 1) % RELEASE_EVERY;
    return !view->options.box_boundary && view->is_carried && (!view->violated || view->kept);
}

size_t abuti_view_pairs_max(const abut_self *view) {
    return PAIRS_MIN + PAIRS_PER_TRIANGLE * ((size_t)view->triangle_count + view->ghost_count);
}

static void classify_pairs(pair_search *p) {
    abut_self *view = p->view;
    uint32_t count = view->triangle_count;
    const bool known = keeps_pieces(view);
    for (uint32_t i = 0; i < count && known && view->violated; i++)
        if (view->last_sets[i] == ABUT_SELF_VIOLATED)
            view->sets[i] = SET_V;
    for (uint32_t i = 0; i < count; i++)
        atomic_init(&view->near_ghost[i], 0);
    if (!known) {
        bool any = view->part_count > 1;
        run_for_shares(p, intersections_task);
        for (uint32_t i = 0; i < count && !any; i++)
            any = has_mark(view, i, INTERSECTS_GHOST);
        if (any)
            violate_smaller_pieces(view);
    }
    if (view->options.box_boundary)
        return;
    run_for_shares(p, touches_ghosts_task);
    for (uint32_t i = 0; i < count; i++)
        if (has_mark(view, i, TOUCHES_GHOST))
            view->sets[i] = SET_V;
}

abut_status abuti_view_boundary(abut_self *view, const view_limits *limits, size_t most,
                                size_t *count, bool *is_cheaper) {
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_topology_get_arrays(view->topology, &t);
    pair_search p = {.view = view,
                     .limits = limits,
                     .triangle_edges = t.triangle_edges,
                     .most = most};
    *is_cheaper = true;
    *count = 0;
    abut_status status = view->ghost_count ? find_pairs(&p, count, is_cheaper) : ABUT_OK;
    if (!status && *is_cheaper)
        classify_pairs(&p);
    for (size_t i = 0; i < p.share_count && p.shares; i++)
        abuti_release(view->context, p.shares[i].pairs);
    abuti_release(view->context, p.shares);
    return status;
}
