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
 * While nothing is violated and steps follow each other, the first part is known and left out.
 *
 * This differs from the document, which keeps triangles violated until all of the mesh is positive:
 * here they are free again as soon as they have come back, and a mesh of several parts, or one
 * that is rolled up at the first step, is no exception.
 *
 * The rim of a hole is part of the mesh and of the ghosts. What touches it is an impact, but one of
 * which the rim may be the positive side and a ghost the negative: so it is violated as well.
 */
#include "self/self.h"

#include "geom/neighbour_shared.h"

enum { MEETS = 1, TOUCHES = 2 };

/* Pairs of bounds that overlap beyond which the scheme is not worth it: some for every triangle. */
enum { PAIRS_LEAST = 1 << 16, PAIRS_EACH = 16 };

typedef struct ghost_pair {
    uint32_t triangle, ghost;
} ghost_pair;

typedef struct pairing {
    abut_view *view;
    const view_limits *limits;
    ghost_pair *pairs;
    size_t count, room, most;
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
        bool open_a = !(child_a & TREE_LEAF) &&
                      (child_b & TREE_LEAF || longest_side(view, tree, a) >=
                                                  longest_side(view, ghosts, b));
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

static bool sweep_four(const pairing *p, int kind, const uint32_t four[4]) {
    vec3 start[4], end[4];
    sweep_answer answer;
    for (int k = 0; k < 4; k++) {
        start[k] = p->view->start[four[k]];
        end[k] = p->view->next[four[k]];
    }
    return sweep_pair(kind, start, end, &p->limits->sweep, &answer);
}

static void touch_all(abut_view *view, const view_lists *lists, uint32_t element) {
    for (uint32_t i = lists->begin[element]; i < lists->begin[element + 1]; i++)
        view->near_ghost[lists->items[i]] |= TOUCHES;
}

static bool is_corner(const uint32_t *corner, uint32_t vertex) {
    return corner[0] == vertex || corner[1] == vertex || corner[2] == vertex;
}

static void sweep_corners(pairing *p, const uint32_t *a, const uint32_t *ghost,
                          const float *ghost_bounds) {
    abut_view *view = p->view;
    for (int i = 0; i < 3; i++) {
        const float *own = view->vertex_bounds + a[i] * 2 * (size_t)view->slabs;
        const uint32_t four[4] = {a[i], ghost[0], ghost[1], ghost[2]};
        if (!is_corner(ghost, a[i]) && bounds_overlap(own, ghost_bounds, view->slabs) &&
            sweep_four(p, SWEEP_VERTEX_FACE, four))
            touch_all(view, &view->of_vertex, a[i]);
    }
}

/* Corners of the ghost, of which the rim's are the mesh's, against the triangle. */
static bool sweep_ghost_corners(const pairing *p, const uint32_t *a, const float *bounds,
                                const uint32_t *ghost) {
    const abut_view *view = p->view;
    for (int j = 0; j < 3; j++) {
        const float *own = view->vertex_bounds + ghost[j] * 2 * (size_t)view->slabs;
        const uint32_t four[4] = {ghost[j], a[0], a[1], a[2]};
        if (!is_corner(a, ghost[j]) && bounds_overlap(own, bounds, view->slabs) &&
            sweep_four(p, SWEEP_VERTEX_FACE, four))
            return true;
    }
    return false;
}

static void sweep_edges(pairing *p, uint32_t triangle, const uint32_t *a, const uint32_t *ghost) {
    abut_view *view = p->view;
    abut_topology_view t = abut_topology_get(view->topology);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) {
            const uint32_t four[4] = {a[i], a[i == 2 ? 0 : i + 1], ghost[j],
                                      ghost[j == 2 ? 0 : j + 1]};
            if (four[0] != four[2] && four[0] != four[3] && four[1] != four[2] &&
                four[1] != four[3] && sweep_four(p, SWEEP_EDGE_EDGE, four))
                touch_all(view, &view->of_edge, t.triangle_edges[3 * (size_t)triangle + i]);
        }
}

static void sweep_with_ghost(pairing *p, ghost_pair pair) {
    abut_view *view = p->view;
    const uint32_t *a = view->corners + 3 * (size_t)pair.triangle;
    const uint32_t *ghost = view->corners + 3 * (size_t)pair.ghost;
    const view_tree *ghosts = &view->ghosts, *tree = &view->tree;
    const float *ghost_bounds = bounds_of(view, ghosts, ghosts->leaf[pair.ghost - ghosts->first]);
    unsigned char *near = &view->near_ghost[pair.triangle];
    sweep_corners(p, a, ghost, ghost_bounds);
    if (!(*near & TOUCHES) &&
        sweep_ghost_corners(p, a, bounds_of(view, tree, tree->leaf[pair.triangle]), ghost))
        *near |= TOUCHES;
    if (!(*near & TOUCHES))
        sweep_edges(p, pair.triangle, a, ghost);
}

/* ---- all ---- */

/* Where steps do not follow each other, or something was violated, pieces are found anew. */
static bool knows_pieces(const abut_view *view) {
    if (!view->is_carried)
        return false;
    for (uint32_t i = 0; i < view->triangle_count; i++)
        if (view->last_sets[i] == SET_V)
            return false;
    return true;
}

static void judge_pairs(pairing *p) {
    abut_view *view = p->view;
    bool boxes = view->options.box_boundary, known = knows_pieces(view);
    memset(view->near_ghost, 0, view->triangle_count);
    for (size_t i = 0; i < p->count; i++)
        if (boxes || (!known && meets_at_start(view, p->pairs[i])))
            view->near_ghost[p->pairs[i].triangle] |= MEETS;
    if ((!known && view->part_count > 1) || memchr(view->near_ghost, MEETS, view->triangle_count))
        keep_largest(view);
    for (size_t i = 0; i < p->count && !boxes; i++)
        if (view->sets[p->pairs[i].triangle] != SET_V &&
            !(view->near_ghost[p->pairs[i].triangle] & TOUCHES))
            sweep_with_ghost(p, p->pairs[i]);
    for (uint32_t i = 0; i < view->triangle_count; i++)
        if (view->near_ghost[i] & TOUCHES)
            view->sets[i] = SET_V;
}

abut_status abuti_view_boundary(abut_view *view, const view_limits *limits, bool *is_worth) {
    pairing p = {.view = view,
                 .limits = limits,
                 .most = PAIRS_LEAST +
                         PAIRS_EACH * ((size_t)view->triangle_count + view->ghost_count)};
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
