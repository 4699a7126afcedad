/* Boundary handling: which triangles of a mesh with holes cannot be judged by the view test?
 * (document 004, sections 3.4 and 4.3)
 *
 * Ghost triangles close the holes. As long as no part of the mesh passes through a ghost, the
 * closed surface is like any other. Let the level of a piece of the mesh be how often the closed
 * surface winds around the place just outside of it. The argument of docs/self.md needs that the
 * triangles which the view test judges are all at one level. The level of a triangle changes only
 * where something passes through it: before the first impact of the mesh, that is a ghost. So:
 *   - at some start, triangles that meet a ghost are found exactly; they cut the mesh into pieces,
 *     each at one level. The largest piece is judged by the view test, the rest is violated;
 *   - during a step, what touches a ghost joins the violated, by the same sweeps as impacts, which
 *     never miss; or, box-only, all whose bounds overlap a ghost's.
 * While steps follow each other the first part is known, and done again only now and then, to
 * release what has come back.
 *
 * This differs from the document, which keeps triangles violated until all of the mesh is positive:
 * here they are free again some steps after they have come back, and a mesh of several parts, or
 * one that is rolled up at the first step, is no exception.
 *
 * The rim of a hole is part of the mesh and of the ghosts. What touches it is an impact, but one of
 * which the rim may be the positive side and a ghost the negative: so it is violated as well.
 */
#include "self/self.h"

#include "geom/neighbour_shared.h"

enum { MEETS = 1, TOUCHES = 2 };

/* Pairs of bounds that overlap beyond which the scheme is not worth it: some for every triangle. */
enum { PAIRS_LEAST = 1 << 16, PAIRS_EACH = 16 };

enum {
    BATCH = 256,      /* pairs of features that are filtered at once */
    RELEASE_EVERY = 8 /* steps that the violated wait at most to be looked at anew */
};

typedef struct ghost_pair {
    uint32_t triangle, ghost;
} ghost_pair;

/* A vertex or an edge of the mesh against a ghost, or a corner of a ghost against a triangle. */
enum touching { VERTEX_GHOST = 0, EDGE_GHOST, GHOST_FACE, TOUCHINGS };

typedef struct touch_batch {
    uint32_t count;
    uint32_t four[4 * BATCH], element[BATCH], survivors[BATCH];
} touch_batch;

typedef struct pairing {
    abut_view *view;
    const view_limits *limits;
    const uint32_t *triangle_edges;
    ghost_pair *pairs;
    size_t count, room, most;
    touch_batch wait[TOUCHINGS];
} pairing;

/* ---- pairs ---- */

static abut_status add_pair(pairing *p, uint32_t triangle, uint32_t ghost) {
    if (p->count == p->room) {
        size_t room = p->room ? 2 * p->room : 4096;
        ghost_pair *pairs = abuti_allocate(p->view->context, room, sizeof *pairs);
        if (!pairs)
            return ABUT_ERROR_MEMORY;
        if (p->count)
            memcpy(pairs, p->pairs, p->count * sizeof *pairs);
        abuti_release(p->view->context, p->pairs);
        p->pairs = pairs;
        p->room = room;
    }
    p->pairs[p->count++] = (ghost_pair){triangle, ghost};
    return ABUT_OK;
}

static const float *bounds_of(const abut_view *view, const view_tree *tree, uint32_t node) {
    return tree->bounds + node * 2 * (size_t)view->slabs;
}

static float longest_side(const abut_view *view, const view_tree *tree, uint32_t node) {
    const float *lo = bounds_of(view, tree, node), *hi = lo + view->slabs;
    float longest = 0;
    for (int k = 0; k < 3; k++)
        longest = hi[k] - lo[k] > longest ? hi[k] - lo[k] : longest;
    return longest;
}

/* Pairs of a triangle and a ghost whose bounds overlap; ends where there are too many. */
static abut_status find_pairs(pairing *p) {
    const abut_view *view = p->view;
    const view_tree *tree = &view->tree, *ghosts = &view->ghosts;
    uint32_t stack[TREE_STACK][2], used = 1;
    stack[0][0] = stack[0][1] = 0;
    while (used && p->count <= p->most) {
        uint32_t a = stack[--used][0], b = stack[used][1];
        if (!bounds_overlap(bounds_of(view, tree, a), bounds_of(view, ghosts, b), view->slabs))
            continue;
        uint32_t child_a = tree->child[a], child_b = ghosts->child[b];
        if (child_a & child_b & TREE_LEAF) {
            abut_status status = add_pair(p, child_a & ~TREE_LEAF, child_b & ~TREE_LEAF);
            if (status)
                return status;
            continue;
        }
        bool open_a =
            !(child_a & TREE_LEAF) &&
            (child_b & TREE_LEAF || longest_side(view, tree, a) >= longest_side(view, ghosts, b));
        for (uint32_t k = 0; k < 2; k++, used++) {
            stack[used][0] = open_a ? child_a + k : a;
            stack[used][1] = open_a ? b : child_b + k;
        }
    }
    return ABUT_OK;
}

/* ---- at the start ---- */

static triangle3 corners_at_start(const abut_view *view, uint32_t triangle) {
    const uint32_t *corner = view->corners + 3 * (size_t)triangle;
    triangle3 t = {{view->start[corner[0]], view->start[corner[1]], view->start[corner[2]]}};
    return t;
}

static bool meets_at_start(const abut_view *view, ghost_pair pair) {
    const uint32_t *a = view->corners + 3 * (size_t)pair.triangle;
    const uint32_t *b = view->corners + 3 * (size_t)pair.ghost;
    common_corners common = {0, 0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (a[i] == b[j]) {
                common.in_a |= 1u << i;
                common.in_b |= 1u << j;
            }
    return neighbours_meet(corners_at_start(view, pair.triangle),
                           corners_at_start(view, pair.ghost), common);
}

/* Cuts the mesh along the triangles that meet ghosts, and puts all but the largest piece into V. */
static void keep_largest(abut_view *view) {
    abut_topology_view t = abut_topology_get(view->topology);
    uint32_t count = view->triangle_count, *piece = view->piece, *size = view->piece + count;
    for (uint32_t i = 0; i < count; i++) {
        piece[i] = i;
        size[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < 3; k++) {
            uint32_t other = t.neighbours[3 * (size_t)i + k];
            if (other != ABUT_NONE && other < i &&
                !((view->near_ghost[i] | view->near_ghost[other]) & MEETS))
                abuti_join(piece, i, other);
        }
    uint32_t best = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!(view->near_ghost[i] & MEETS))
            size[abuti_root(piece, i)]++;
    for (uint32_t i = 0; i < count; i++)
        best = size[i] > size[best] ? i : best;
    for (uint32_t i = 0; i < count; i++)
        if (view->near_ghost[i] & MEETS || abuti_root(piece, i) != best)
            view->sets[i] = SET_V;
}

/* ---- during the step ---- */

static void touch_all(abut_view *view, const view_lists *lists, uint32_t element) {
    for (uint32_t i = lists->begin[element]; i < lists->begin[element + 1]; i++)
        view->near_ghost[lists->items[i]] |= TOUCHES;
}

/* Sweeps what waits. What touches is violated with all triangles around it. */
static void flush(pairing *p, enum touching what) {
    abut_view *view = p->view;
    touch_batch *wait = &p->wait[what];
    int kind = what == EDGE_GHOST ? SWEEP_EDGE_EDGE : SWEEP_VERTEX_FACE;
    size_t left = abuti_sweep_filter(kind, view->start, view->next, wait->four, wait->count,
                                     &p->limits->sweep, wait->survivors);
    for (size_t i = 0; i < left; i++) {
        uint32_t at = wait->survivors[i], element = wait->element[at];
        vec3 start[4], end[4];
        sweep_answer answer;
        for (size_t k = 0; k < 4; k++) {
            start[k] = view->start[wait->four[4 * (size_t)at + k]];
            end[k] = view->next[wait->four[4 * (size_t)at + k]];
        }
        if (!sweep_pair(kind, start, end, &p->limits->sweep, &answer))
            continue;
        if (what == GHOST_FACE)
            view->near_ghost[element] |= TOUCHES;
        else
            touch_all(view, what == VERTEX_GHOST ? &view->of_vertex : &view->of_edge, element);
    }
    wait->count = 0;
}

/* Features that share no vertex wait for their sweep. */
static void add(pairing *p, enum touching what, uint32_t element, uint32_t a, uint32_t b,
                uint32_t c, uint32_t d) {
    touch_batch *wait = &p->wait[what];
    bool edges = what == EDGE_GHOST;
    if (a == c || a == d || (edges ? b == c || b == d : a == b))
        return;
    uint32_t *four = wait->four + 4 * (size_t)wait->count;
    four[0] = a;
    four[1] = b;
    four[2] = c;
    four[3] = d;
    wait->element[wait->count++] = element;
    if (wait->count == BATCH)
        flush(p, what);
}

static const float *vertex_bounds(const abut_view *view, uint32_t vertex) {
    return view->vertex_bounds + vertex * 2 * (size_t)view->slabs;
}

/* Every feature of the mesh is added for the first of its triangles; of a ghost b, c, g the rim bc,
 * the spoke cg and the corner c are its own, and g of the first one around it. The bounds of a
 * feature are within those of all that have it, so that none is left out. */
static void add_features(pairing *p, ghost_pair pair) {
    abut_view *view = p->view;
    int slabs = view->slabs;
    const uint32_t *a = view->corners + 3 * (size_t)pair.triangle;
    const uint32_t *ghost = view->corners + 3 * (size_t)pair.ghost;
    const uint32_t *edges = p->triangle_edges + 3 * (size_t)pair.triangle;
    const float *face = bounds_of(view, &view->tree, view->tree.leaf[pair.triangle]);
    const float *ghost_face =
        bounds_of(view, &view->ghosts, view->ghosts.leaf[pair.ghost - view->ghosts.first]);
    bool first = pair.ghost == view->ghosts.first || ghost[2] != (ghost - 3)[2];
    float own[2 * DOP_SLABS], side[2][2 * DOP_SLABS];
    for (int j = 0; j < 2; j++)
        bounds_join(side[j], vertex_bounds(view, ghost[j]), vertex_bounds(view, ghost[j + 1]),
                    slabs);
    for (size_t i = 0; i < 3; i++) {
        uint32_t next = a[i == 2 ? 0 : i + 1];
        if (view->of_vertex.items[view->of_vertex.begin[a[i]]] == pair.triangle &&
            bounds_overlap(vertex_bounds(view, a[i]), ghost_face, slabs))
            add(p, VERTEX_GHOST, a[i], a[i], ghost[0], ghost[1], ghost[2]);
        if (view->of_edge.items[view->of_edge.begin[edges[i]]] != pair.triangle)
            continue;
        bounds_join(own, vertex_bounds(view, a[i]), vertex_bounds(view, next), slabs);
        for (size_t j = 0; j < 2; j++)
            if (bounds_overlap(own, side[j], slabs))
                add(p, EDGE_GHOST, edges[i], a[i], next, ghost[j], ghost[j + 1]);
    }
    for (size_t j = 1; j < (first ? 3 : 2); j++)
        if (bounds_overlap(vertex_bounds(view, ghost[j]), face, slabs))
            add(p, GHOST_FACE, pair.triangle, ghost[j], a[0], a[1], a[2]);
}

/* ---- all ---- */

/* Whether the pieces of the step before can be gone on with: what was violated stays so. Now and
 * then, and where steps do not follow each other, they are found anew. */
static bool goes_on(abut_view *view) {
    if (!view->is_carried)
        return false;
    if (!memchr(view->last_sets, SET_V, view->triangle_count))
        return true;
    if (++view->kept >= RELEASE_EVERY)
        return false;
    for (uint32_t i = 0; i < view->triangle_count; i++)
        if (view->last_sets[i] == SET_V)
            view->sets[i] = SET_V;
    return true;
}

static void judge_pairs(pairing *p) {
    abut_view *view = p->view;
    bool boxes = view->options.box_boundary, known = !boxes && goes_on(view);
    view->kept = known ? view->kept : 0;
    memset(view->near_ghost, 0, view->triangle_count);
    for (size_t i = 0; i < p->count; i++)
        if (boxes || (!known && meets_at_start(view, p->pairs[i])))
            view->near_ghost[p->pairs[i].triangle] |= MEETS;
    if ((!known && view->part_count > 1) || memchr(view->near_ghost, MEETS, view->triangle_count))
        keep_largest(view);
    for (size_t i = 0; i < p->count && !boxes; i++)
        add_features(p, p->pairs[i]);
    for (int what = 0; what < TOUCHINGS; what++)
        flush(p, (enum touching)what);
    for (uint32_t i = 0; i < view->triangle_count; i++)
        if (view->near_ghost[i] & TOUCHES)
            view->sets[i] = SET_V;
}

abut_status abuti_view_boundary(abut_view *view, const view_limits *limits, bool *is_worth) {
    abut_topology_view t = abut_topology_get(view->topology);
    pairing p = {.view = view,
                 .limits = limits,
                 .triangle_edges = t.triangle_edges,
                 .most =
                     PAIRS_LEAST + PAIRS_EACH * ((size_t)view->triangle_count + view->ghost_count)};
    *is_worth = true;
    abut_status status = view->ghost_count ? find_pairs(&p) : ABUT_OK;
    if (!status) {
        *is_worth = p.count <= p.most;
        if (*is_worth)
            judge_pairs(&p);
    }
    abuti_release(view->context, p.pairs);
    return status;
}
