/* Triangulation of a y-monotone polygon without new points.
 *
 * First any triangulation, in linear time (Garey, Johnson, Preparata & Tarjan 1978): vertices from
 * the top down, with a stack of those that are not triangulated yet. Then edges are flipped until
 * no pair of opposite angles exceeds 180 degrees, which is the constrained Delaunay triangulation
 * (Lawson 1977): the smallest angle becomes as large as the points allow. Orientations are exact,
 * so that no triangle is degenerate or flipped.
 */
#include "shape/shape.h"

#include "geom/predicates_shared.h"

typedef uint32_t triple[3];

typedef struct triangulation {
    const abuti_vec2 *p;
    uint32_t count, left_count;
    triple *corner; /* triangles, counter-clockwise */
    triple *across; /* the triangle across the side from corner k to k + 1, or ABUT_NONE */
    uint32_t triangles;
    uint32_t *scratch;
} triangulation;

static int orientation(const triangulation *w, uint32_t a, uint32_t b, uint32_t c) {
    return orient2d(w->p[a].x, w->p[a].y, w->p[b].x, w->p[b].y, w->p[c].x, w->p[c].y);
}

static void add_triangle(triangulation *w, uint32_t a, uint32_t b, uint32_t c) {
    int sign = orientation(w, a, b, c);
    assert(sign != 0 && w->triangles < w->count - 2);
    triple *made = &w->corner[w->triangles++];
    (*made)[0] = a;
    (*made)[1] = sign > 0 ? b : c;
    (*made)[2] = sign > 0 ? c : b;
}

static bool is_left(const triangulation *w, uint32_t i) {
    return i < w->left_count;
}

/* Processes one vertex and returns the new height of the stack. */
static uint32_t sweep_vertex(triangulation *w, uint32_t *stack, uint32_t height, uint32_t v) {
    uint32_t last = stack[height - 1];
    if (is_left(w, v) != is_left(w, last)) {
        for (uint32_t i = 0; i + 1 < height; i++)
            add_triangle(w, stack[i], stack[i + 1], v);
        stack[0] = last;
        stack[1] = v;
        return 2;
    }
    int wanted = is_left(w, v) ? 1 : -1;
    height--;
    while (height > 0 && orientation(w, stack[height - 1], last, v) == wanted) {
        add_triangle(w, stack[height - 1], last, v);
        last = stack[--height];
    }
    stack[height] = last;
    stack[height + 1] = v;
    return height + 2;
}

/* Processes vertices from the top down, merged from both chains. At equal heights each chain keeps
 * its order; the lowest vertex, which ends the right chain, comes last. */
static void triangulate_chains(triangulation *w) {
    uint32_t left = 1, right = w->left_count, height = 0;
    uint32_t *stack = w->scratch;
    stack[height++] = 0;
    while (left < w->left_count || right < w->count) {
        bool take_left =
            left < w->left_count && (right + 1 == w->count || w->p[left].y > w->p[right].y);
        uint32_t v = take_left ? left++ : right++;
        if (height == 1)
            stack[height++] = v;
        else
            height = sweep_vertex(w, stack, height, v);
    }
    assert(w->triangles == w->count - 2);
}

/* ---- Delaunay ---- */

/* Finds the opposite side of another triangle for each side. Sides are listed by their first
 * vertex. */
static void link_triangles(triangulation *w) {
    uint32_t *head = w->scratch, *next = w->scratch + w->count;
    for (uint32_t i = 0; i < w->count; i++)
        head[i] = ABUT_NONE;
    for (uint32_t side = 0; side < 3 * w->triangles; side++) {
        uint32_t from = w->corner[side / 3][side % 3];
        next[side] = head[from];
        head[from] = side;
    }
    for (uint32_t side = 0; side < 3 * w->triangles; side++) {
        uint32_t from = w->corner[side / 3][side % 3];
        uint32_t to = w->corner[side / 3][(side % 3 + 1) % 3];
        uint32_t back = head[to];
        while (back != ABUT_NONE && w->corner[back / 3][(back % 3 + 1) % 3] != from)
            back = next[back];
        w->across[side / 3][side % 3] = back == ABUT_NONE ? ABUT_NONE : back / 3;
    }
}

/* Cotangent of the angle at c in the triangle a, b, c. */
static double cotangent(const triangulation *w, uint32_t a, uint32_t b, uint32_t c) {
    double ax = w->p[a].x - w->p[c].x, ay = w->p[a].y - w->p[c].y;
    double bx = w->p[b].x - w->p[c].x, by = w->p[b].y - w->p[c].y;
    return (ax * bx + ay * by) / fabs(ax * by - ay * bx);
}

static void replace_across(triangulation *w, uint32_t triangle, uint32_t old, uint32_t new) {
    for (int k = 0; triangle != ABUT_NONE && k < 3; k++)
        if (w->across[triangle][k] == old)
            w->across[triangle][k] = new;
}

/* Flips side k of triangle t if that improves the triangulation. The angles at c and d exceed 180
 * degrees in sum exactly if their cotangents sum to less than 0. The tolerance avoids alternating
 * flips by rounding. */
static bool flip_side(triangulation *w, uint32_t t, int k) {
    uint32_t o = w->across[t][k];
    if (o == ABUT_NONE)
        return false;
    uint32_t a = w->corner[t][k], b = w->corner[t][(k + 1) % 3], c = w->corner[t][(k + 2) % 3];
    int m = 0;
    while (w->corner[o][m] != b)
        m++;
    uint32_t d = w->corner[o][(m + 2) % 3];
    if (cotangent(w, a, b, c) + cotangent(w, a, b, d) > -1e-9 || orientation(w, a, d, c) <= 0 ||
        orientation(w, d, b, c) <= 0)
        return false;
    uint32_t bc = w->across[t][(k + 1) % 3], ca = w->across[t][(k + 2) % 3];
    uint32_t ad = w->across[o][(m + 1) % 3], db = w->across[o][(m + 2) % 3];
    const triple t_corner = {a, d, c}, t_across = {ad, o, ca};
    const triple o_corner = {d, b, c}, o_across = {db, bc, t};
    for (int i = 0; i < 3; i++) {
        w->corner[t][i] = t_corner[i];
        w->across[t][i] = t_across[i];
        w->corner[o][i] = o_corner[i];
        w->across[o][i] = o_across[i];
    }
    replace_across(w, ad, o, t);
    replace_across(w, bc, t, o);
    return true;
}

/* Repeats until no side flips. A few passes suffice; the bound is only a safeguard. */
static void flip_to_delaunay(triangulation *w) {
    bool flipped = true;
    for (uint32_t pass = 0; flipped && pass < w->count; pass++) {
        flipped = false;
        for (uint32_t t = 0; t < w->triangles; t++)
            for (int k = 0; k < 3; k++)
                flipped |= flip_side(w, t, k);
    }
}

abut_status abuti_triangulate_monotone(abut_context *context, const abuti_vec2 *points,
                                       uint32_t left_count, uint32_t count, uint32_t *indices) {
    assert(left_count >= 1 && left_count < count && count >= 3);
    triangulation w = {.p = points,
                       .count = count,
                       .left_count = left_count,
                       .corner = (triple *)indices};
    if (ABUTI_ALLOCATE(context, ABUTI_ARRAY(w.across, count - 2),
                       ABUTI_ARRAY(w.scratch, 4 * (size_t)count)))
        return ABUT_ERROR_MEMORY;
    triangulate_chains(&w);
    link_triangles(&w);
    flip_to_delaunay(&w);
    ABUTI_RELEASE(context, w.across, w.scratch);
    return ABUT_OK;
}
