/* Connectivity-based culling (ICCD): Tang, Curtis, Yoon and Manocha (2009), "ICCD: Interactive
 * Continuous Collision Detection between Deformable Models Using Connectivity-Based Culling", IEEE
 * Transactions on Visualization and Computer Graphics 15 (4). Reconstructed from the publication:
 *
 * - Continuous normal cones. The normal of a triangle during a step is a Bernstein polynomial with
 *   three control vectors, so that a cone that contains these contains it. Cones of nodes are
 *   merged from the leaves upwards.
 * - Contour test. If the cone of a region is below a right angle, and its boundary, projected along
 *   the axis, does not touch itself during the step, the region has no self-collisions: every
 *   triangle has the same orientation in the projection, and as many of them cover a point as the
 *   boundary winds around it, which is once at most. The test of the publication is replaced by one
 *   that separates pairs of edges of the boundary by a direction at both ends of the step.
 * - Representative triangles and orphans. Pairs of triangles that share a vertex are not tested. A
 *   pair of features is tested for the first pair of its triangles that are not adjacent; pairs
 *   that have none are orphans, which are listed once and tested in each step.
 */
#include "iccd.h"

#include "apps/cmd/vectors.h"

enum { CONTOUR_MAX = 8192 };
/* Cones below a right angle, and an allowance for their rounding to floats. */
#define HALF_MAX 1.57f
#define CONE_SLACK 1e-5f

bool iccd_are_adjacent(const uint32_t *corners, uint32_t a, uint32_t b) {
    const uint32_t *p = corners + 3 * (size_t)a, *q = corners + 3 * (size_t)b;
    for (int i = 0; i < 3; i++)
        if (p[i] == q[0] || p[i] == q[1] || p[i] == q[2])
            return true;
    return false;
}

/* ---- contours ---- */

/* Whether neighbours have consistent orientation, at most two to an edge. */
static bool is_oriented(const baseline_tree *tree, const abut_topology_arrays *t) {
    unsigned char *ways = baseline_array(t->edge_count, 1);
    bool fine = true;
    for (uint32_t i = 0; i < 3 * t->triangle_count && fine; i++) {
        const uint32_t a = tree->corners[i], b = tree->corners[i % 3 == 2 ? i - 2 : i + 1];
        const unsigned char way = a < b ? 1 : 2;
        const uint32_t edge = t->triangle_edges[i];
        fine = edge != ABUT_NONE && !(ways[edge] & way);
        if (fine)
            ways[edge] |= way;
    }
    free(ways);
    return fine;
}

typedef struct contour_work {
    uint32_t *node_of;      /* of each triangle, at the current level */
    uint32_t *count, *fill; /* edges of the boundary of each node, and where they end */
    uint32_t (*edges)[2];   /* directed, node after node */
    uint32_t *next, *stamp; /* of each vertex: of the current node only */
} contour_work;

/* The node of each triangle at a level; ABUT_NONE if its leaf is above. */
static void label_triangles(const baseline_tree *tree, uint32_t level, contour_work *w) {
    uint32_t *label = baseline_array(tree->node_count, sizeof *label);
    for (uint32_t node = 0; node < tree->node_count; node++) {
        const uint32_t child = tree->child[node];
        if (node < tree->level_begin[level])
            label[node] = ABUT_NONE;
        else if (node < tree->level_begin[level + 1])
            label[node] = node;
        if (child & BASELINE_LEAF)
            w->node_of[child - BASELINE_LEAF] = label[node];
        else
            label[child] = label[child + 1] = label[node];
    }
    free(label);
}

/* Follows the boundary of a node from vertex to vertex; 0 if it is not one loop. */
static uint32_t chain_loop(const contour_work *w, uint32_t node, uint32_t begin, uint32_t count,
                           uint32_t *to) {
    for (uint32_t i = begin; i < begin + count; i++) {
        const uint32_t a = w->edges[i][0];
        if (w->stamp[a] == node + 1)
            return 0; /* the boundary has this vertex twice */
        w->stamp[a] = node + 1;
        w->next[a] = w->edges[i][1];
    }
    uint32_t used = 0, at = count ? w->edges[begin][0] : 0;
    do {
        if (!count || w->stamp[at] != node + 1 || used == count)
            return 0;
        to[used++] = at;
        at = w->next[at];
    } while (at != to[0]);
    return used == count && count <= CONTOUR_MAX ? used : 0;
}

/* The boundaries of all nodes of a level. */
static void find_contours(iccd *c, const baseline_tree *tree, const abut_topology_arrays *t,
                          uint32_t level, contour_work *w, size_t *used, size_t *capacity) {
    const uint32_t first = tree->level_begin[level], last = tree->level_begin[level + 1];
    label_triangles(tree, level, w);
    for (int round = 0; round < 2; round++) { /* count, then fill */
        for (uint32_t node = first, sum = 0; node < last && round == 1; node++) {
            w->fill[node] = sum;
            sum += w->count[node];
        }
        for (uint32_t i = 0; i < 3 * t->triangle_count; i++) {
            const uint32_t node = w->node_of[i / 3], other = t->neighbours[i];
            if (node == ABUT_NONE || (other != ABUT_NONE && w->node_of[other] == node))
                continue;
            if (round == 0) {
                w->count[node]++;
                continue;
            }
            w->edges[w->fill[node]][0] = tree->corners[i];
            w->edges[w->fill[node]++][1] = tree->corners[i % 3 == 2 ? i - 2 : i + 1];
        }
    }
    for (uint32_t node = first; node < last; node++) {
        c->contour_begin[node] = (uint32_t)*used;
        if (tree->child[node] & BASELINE_LEAF)
            continue;
        if (*used + w->count[node] > *capacity) {
            *capacity = 2 * (*used + w->count[node]);
            c->contours = realloc(c->contours, *capacity * sizeof *c->contours);
            if (!c->contours)
                abort();
        }
        *used += chain_loop(w, node, w->fill[node] - w->count[node], w->count[node],
                            c->contours + *used);
    }
}

static void create_contours(iccd *c, const baseline_tree *tree, const abut_topology_arrays *t) {
    const size_t corners = 3 * (size_t)t->triangle_count;
    contour_work w = {.node_of = baseline_array(t->triangle_count, sizeof *w.node_of),
                      .count = baseline_array(tree->node_count, sizeof *w.count),
                      .fill = baseline_array(tree->node_count, sizeof *w.fill),
                      .next = baseline_array(t->vertex_count, sizeof *w.next),
                      .stamp = baseline_array(t->vertex_count, sizeof *w.stamp),
                      .edges = baseline_array(corners, sizeof *w.edges)};
    size_t used = 0, capacity = 0;
    c->contour_begin = baseline_array((size_t)tree->node_count + 1, sizeof *c->contour_begin);
    if (is_oriented(tree, t))
        for (uint32_t level = 0; level < tree->level_count; level++)
            find_contours(c, tree, t, level, &w, &used, &capacity);
    c->contour_begin[tree->node_count] = (uint32_t)used;
    free(w.node_of);
    free(w.count);
    free(w.fill);
    free(w.next);
    free(w.stamp);
    free(w.edges);
}

/* ---- orphans ---- */

static bool is_orphan(const uint32_t *corners, const uint32_t *of_a, uint32_t count_a,
                      const uint32_t *of_b, uint32_t count_b) {
    for (uint32_t i = 0; i < count_a; i++)
        for (uint32_t j = 0; j < count_b; j++)
            if (!iccd_are_adjacent(corners, of_a[i], of_b[j]))
                return false;
    return true;
}

typedef struct orphan_list {
    iccd_orphan *list;
    uint32_t count, capacity;
} orphan_list;

static void add_orphan(orphan_list *to, abut_impact_kind kind, uint32_t a, uint32_t b) {
    if (to->count == to->capacity) {
        to->capacity = to->capacity ? 2 * to->capacity : 64;
        to->list = realloc(to->list, to->capacity * sizeof *to->list);
        if (!to->list)
            abort();
    }
    to->list[to->count++] = (iccd_orphan){kind, {a, b}};
}

static int compare_orphans(const void *a, const void *b) {
    const iccd_orphan *x = a, *y = b;
    const uint32_t p[3] = {(uint32_t)x->kind, x->element[0], x->element[1]};
    const uint32_t q[3] = {(uint32_t)y->kind, y->element[0], y->element[1]};
    for (int k = 0; k < 3; k++)
        if (p[k] != q[k])
            return p[k] < q[k] ? -1 : 1;
    return 0;
}

/* Tests the features of two adjacent triangles. */
static void add_orphans_of(orphan_list *to, const baseline_tree *tree,
                           const abut_topology_arrays *t, uint32_t a, uint32_t b) {
    const uint32_t *p = tree->corners + 3 * (size_t)a, *q = tree->corners + 3 * (size_t)b;
    for (int k = 0; k < 3; k++) {
        const uint32_t v = p[k], begin = t->vertex_face_begin[v];
        if (v != q[0] && v != q[1] && v != q[2] &&
            is_orphan(tree->corners, t->vertex_faces + begin, t->vertex_face_begin[v + 1] - begin,
                      &b, 1))
            add_orphan(to, ABUT_IMPACT_VERTEX_FACE, v, b);
    }
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const uint32_t e = t->triangle_edges[3 * (size_t)a + (size_t)i],
                           f = t->triangle_edges[3 * (size_t)b + (size_t)j];
            const uint32_t *x = t->edges + 2 * (size_t)e, *y = t->edges + 2 * (size_t)f;
            const uint32_t at = t->edge_face_begin[e], there = t->edge_face_begin[f];
            if (e < f && x[0] != y[0] && x[0] != y[1] && x[1] != y[0] && x[1] != y[1] &&
                is_orphan(tree->corners, t->edge_faces + at, t->edge_face_begin[e + 1] - at,
                          t->edge_faces + there, t->edge_face_begin[f + 1] - there))
                add_orphan(to, ABUT_IMPACT_EDGE_EDGE, e, f);
        }
}

static void find_orphans(iccd *c, const baseline_tree *tree, const abut_topology_arrays *t) {
    orphan_list found = {0};
    for (uint32_t a = 0; a < t->triangle_count; a++)
        for (int k = 0; k < 3; k++) {
            const uint32_t v = tree->corners[3 * (size_t)a + (size_t)k];
            for (uint32_t i = t->vertex_face_begin[v]; i < t->vertex_face_begin[v + 1]; i++)
                if (t->vertex_faces[i] != a)
                    add_orphans_of(&found, tree, t, a, t->vertex_faces[i]);
        }
    if (found.count)
        qsort(found.list, found.count, sizeof *found.list, compare_orphans);
    for (uint32_t i = 0; i < found.count; i++) /* each was found from several pairs */
        if (i == 0 || compare_orphans(&found.list[i - 1], &found.list[i]) != 0)
            found.list[c->orphan_count++] = found.list[i];
    c->orphans = found.list;
}

void iccd_create(iccd *c, const baseline_tree *tree, const abut_topology_arrays *t) {
    *c = (iccd){.cones = baseline_array(tree->node_count, sizeof *c->cones),
                .points = baseline_array(CONTOUR_MAX, sizeof *c->points),
                .edges = baseline_array(CONTOUR_MAX, sizeof *c->edges)};
    create_contours(c, tree, t);
    find_orphans(c, tree, t);
}

void iccd_release(iccd *c) {
    free(c->cones);
    free(c->contour_begin);
    free(c->contours);
    free(c->orphans);
    free(c->points);
    free(c->edges);
}

/* ---- continuous normal cones ---- */

static const iccd_cone open_cone = {{0, 0, 0}, ICCD_OPEN};

static iccd_cone triangle_cone(const uint32_t *corner, const baseline_step *step) {
    const abut_vec3 *s = step->start, *e = step->end;
    const abut_vec3 b0 = vec_sub(s[corner[1]], s[corner[0]]),
                    c0 = vec_sub(s[corner[2]], s[corner[0]]),
                    b1 = vec_sub(e[corner[1]], e[corner[0]]),
                    c1 = vec_sub(e[corner[2]], e[corner[0]]);
    abut_vec3 normals[3] = {vec_cross(b0, c0), vec_add(vec_cross(b0, c1), vec_cross(b1, c0)),
                            vec_cross(b1, c1)};
    abut_vec3 axis = {0, 0, 0};
    for (int k = 0; k < 3; k++) {
        const double length = sqrt(vec_dot(normals[k], normals[k]));
        if (!(length > 0))
            return open_cone;
        normals[k] = vec_divide(normals[k], length);
        axis = vec_add(axis, normals[k]);
    }
    const double length = sqrt(vec_dot(axis, axis));
    if (!(length > 1e-3))
        return open_cone;
    axis = vec_divide(axis, length);
    double cosine = 1;
    for (int k = 0; k < 3; k++) {
        const double one = vec_dot(axis, normals[k]);
        cosine = one < cosine ? one : cosine;
    }
    return (iccd_cone){{(float)axis.x, (float)axis.y, (float)axis.z},
                       acosf((float)fmax(cosine, -1)) + CONE_SLACK};
}

static iccd_cone merge_cones(const iccd_cone *a, const iccd_cone *b) {
    if (a->half > HALF_MAX || b->half > HALF_MAX)
        return open_cone;
    iccd_cone made;
    for (int k = 0; k < 3; k++)
        made.axis[k] = a->axis[k] + b->axis[k];
    const float length = sqrtf(made.axis[0] * made.axis[0] + made.axis[1] * made.axis[1] +
                               made.axis[2] * made.axis[2]);
    if (!(length > 1e-3f))
        return open_cone;
    /* the axis is the bisector, half the angle between both from each */
    made.half = acosf(fminf(length / 2, 1)) + fmaxf(a->half, b->half) + CONE_SLACK;
    for (int k = 0; k < 3; k++)
        made.axis[k] /= length;
    return made.half > HALF_MAX ? open_cone : made;
}

void iccd_fit_cones(iccd *c, const baseline_tree *tree, const baseline_step *step) {
    for (size_t node = tree->node_count; node-- > 0;) {
        const uint32_t child = tree->child[node];
        c->cones[node] =
            child & BASELINE_LEAF
                ? triangle_cone(tree->corners + 3 * (size_t)(child - BASELINE_LEAF), step)
                : merge_cones(&c->cones[child], &c->cones[child + 1]);
    }
}

/* ---- contour test ---- */

/* A projected vertex at the start and at the end of the step: u, v each. */
typedef const double flat[4];

/* Whether a direction separates two edges at both ends of the step, hence during it. */
static bool separates(double du, double dv, flat *a, flat *b, flat *c, flat *d) {
    int sides = 0;
    for (int end = 0; end < 4; end += 2) {
        const double p = du * (*a)[end] + dv * (*a)[end + 1],
                     q = du * (*b)[end] + dv * (*b)[end + 1],
                     r = du * (*c)[end] + dv * (*c)[end + 1],
                     s = du * (*d)[end] + dv * (*d)[end + 1];
        sides += fmax(p, q) < fmin(r, s) ? 1 : fmin(p, q) > fmax(r, s) ? -1 : 0;
    }
    return sides == 2 || sides == -2;
}

static bool edges_are_apart(flat *a, flat *b, flat *c, flat *d) {
    if (separates(1, 0, a, b, c, d) || separates(0, 1, a, b, c, d))
        return true;
    for (int end = 0; end < 4; end += 2)
        if (separates((*a)[end + 1] - (*b)[end + 1], (*b)[end] - (*a)[end], a, b, c, d) ||
            separates((*c)[end + 1] - (*d)[end + 1], (*d)[end] - (*c)[end], a, b, c, d))
            return true;
    return separates(1, 1, a, b, c, d) || separates(1, -1, a, b, c, d);
}

static int compare_edges(const void *a, const void *b) {
    const iccd_edge *x = a, *y = b;
    return x->low[0] < y->low[0] ? -1 : x->low[0] > y->low[0];
}

/* Projects the boundary relative to its first vertex: a common motion does not matter. */
static void project_contour(const uint32_t *vertices, uint32_t count, const float axis[3],
                            const baseline_step *step, double (*to)[4]) {
    const abut_vec3 n = {axis[0], axis[1], axis[2]};
    const abut_vec3 aside = fabs(n.x) < 0.6 ? (abut_vec3){1, 0, 0} : (abut_vec3){0, 1, 0};
    const abut_vec3 u = vec_cross(n, aside), v = vec_cross(n, u);
    for (uint32_t i = 0; i < count; i++) {
        const abut_vec3 s = vec_sub(step->start[vertices[i]], step->start[vertices[0]]);
        const abut_vec3 e = vec_sub(step->end[vertices[i]], step->end[vertices[0]]);
        to[i][0] = vec_dot(u, s);
        to[i][1] = vec_dot(v, s);
        to[i][2] = vec_dot(u, e);
        to[i][3] = vec_dot(v, e);
    }
}

static iccd_edge bound_edge(flat *a, flat *b, uint32_t from) {
    iccd_edge made = {.from = from};
    for (int k = 0; k < 2; k++) {
        made.low[k] = fmin(fmin((*a)[k], (*b)[k]), fmin((*a)[k + 2], (*b)[k + 2]));
        made.high[k] = fmax(fmax((*a)[k], (*b)[k]), fmax((*a)[k + 2], (*b)[k + 2]));
    }
    return made;
}

/* Edges with a common end need no test: if they fold onto each other, the edge after one of them
 * touches the other. */
static bool contour_is_simple(const iccd *c, const uint32_t *vertices, uint32_t count,
                              const float axis[3], const baseline_step *step) {
    double(*at)[4] = c->points;
    iccd_edge *edges = c->edges;
    project_contour(vertices, count, axis, step, at);
    for (uint32_t i = 0; i < count; i++) {
        edges[i] = bound_edge(&at[i], &at[(i + 1) % count], i);
    }
    qsort(edges, count, sizeof *edges, compare_edges);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count && edges[j].low[0] <= edges[i].high[0]; j++) {
            const uint32_t a = edges[i].from, b = edges[j].from;
            const uint32_t between = a < b ? b - a : a - b;
            if (between == 1 || between == count - 1 || edges[i].low[1] > edges[j].high[1] ||
                edges[j].low[1] > edges[i].high[1])
                continue;
            if (!edges_are_apart(&at[a], &at[(a + 1) % count], &at[b], &at[(b + 1) % count]))
                return false;
        }
    return true;
}

bool iccd_is_free(const iccd *c, uint32_t node, const baseline_step *step, uint32_t *tests) {
    const uint32_t begin = c->contour_begin[node], count = c->contour_begin[node + 1] - begin;
    if (c->cones[node].half > HALF_MAX || count < 3)
        return false;
    ++*tests;
    return contour_is_simple(c, c->contours + begin, count, c->cones[node].axis, step);
}
