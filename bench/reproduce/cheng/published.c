/* Parts of Cheng 2011 that abut replaces or does not have: view tests by theorem 4, with and
 * without clusters, ghosts with and without a vertex, and lists of history nodes. */
#include "baseline.h"

#include "apps/cmd/vectors.h"

#include <string.h>

/* ---- clusters (section 4.2.3) ---- */

static uint32_t count_free(const abut_topology_arrays *t, const uint32_t *centre, uint32_t v) {
    uint32_t count = 0;
    for (uint32_t i = t->vertex_face_begin[v]; i < t->vertex_face_begin[v + 1]; i++)
        count += centre[t->vertex_faces[i]] == ABUT_NONE;
    return count;
}

uint32_t baseline_clusters(const abut_topology_arrays *t, uint32_t *centre) {
    uint32_t most = 0, clusters = 0;
    for (uint32_t i = 0; i < t->triangle_count; i++)
        centre[i] = ABUT_NONE;
    for (uint32_t v = 0; v < t->vertex_count; v++)
        most = count_free(t, centre, v) > most ? count_free(t, centre, v) : most;
    for (uint32_t size = most; size > 0; size--) /* counts only decrease */
        for (uint32_t v = 0; v < t->vertex_count; v++) {
            if (count_free(t, centre, v) != size)
                continue;
            clusters++;
            for (uint32_t i = t->vertex_face_begin[v]; i < t->vertex_face_begin[v + 1]; i++)
                if (centre[t->vertex_faces[i]] == ABUT_NONE)
                    centre[t->vertex_faces[i]] = v;
        }
    return clusters;
}

/* ---- view tests (sections 4.2.1 and 4.2.2) ---- */

/* Regions that a vertex is in during the step, as bits: before, beyond and beside the line. */
enum { BEFORE = 1, BEYOND = 2, BESIDE = 4 };

static unsigned region_of(abut_vec3 p, abut_vec3 q, abut_vec3 axis, double length_sq) {
    const double along = vec_dot(vec_sub(p, q), axis);
    return along < 0 ? BEFORE : along > length_sq ? BEYOND : BESIDE;
}

static abut_vec3 from_line(abut_vec3 p, abut_vec3 q, abut_vec3 axis, double length_sq) {
    const abut_vec3 r = vec_sub(p, q);
    return vec_along(r, -vec_dot(r, axis) / length_sq, axis);
}

/* The sign of (v - q)(t) N(t) during the step, by the min-max bound: Bernstein coefficients of a
 * cubic. */
static int sign_of_view(const abut_vec3 v[2], const abut_vec3 n[3]) {
    const double c[4] = {vec_dot(v[0], n[0]), vec_dot(v[1], n[0]) + 2 * vec_dot(v[0], n[1]),
                         vec_dot(v[0], n[2]) + 2 * vec_dot(v[1], n[1]), vec_dot(v[1], n[2])};
    if (c[0] > 0 && c[1] > 0 && c[2] > 0 && c[3] > 0)
        return 1;
    return c[0] < 0 && c[1] < 0 && c[2] < 0 && c[3] < 0 ? -1 : 0;
}

static int sign_of_triangle(const abut_self_line *line, abut_vec3 axis, double length_sq,
                            const baseline_step *step, const uint32_t *corner, uint32_t vertex,
                            unsigned regions) {
    const abut_vec3 *s = step->start, *e = step->end;
    const abut_vec3 b0 = vec_sub(s[corner[1]], s[corner[0]]),
                    c0 = vec_sub(s[corner[2]], s[corner[0]]),
                    b1 = vec_sub(e[corner[1]], e[corner[0]]),
                    c1 = vec_sub(e[corner[2]], e[corner[0]]);
    const abut_vec3 normals[3] = {vec_cross(b0, c0),
                                  vec_divide(vec_add(vec_cross(b0, c1), vec_cross(b1, c0)), 2),
                                  vec_cross(b1, c1)};
    int first = 2;
    for (unsigned region = BEFORE; region <= BESIDE; region *= 2) {
        if (!(regions & region))
            continue;
        abut_vec3 v[2];
        for (int k = 0; k < 2; k++) {
            const abut_vec3 p = (k ? e : s)[vertex];
            v[k] = region == BESIDE ? from_line(p, line->start[0], axis, length_sq)
                                    : vec_sub(p, line->start[region == BEYOND]);
        }
        const int sign = sign_of_view(v, normals);
        if (first != 2 && sign != first)
            return 0;
        first = sign;
    }
    return first;
}

void baseline_view_test(const abut_self_line *line, const baseline_step *step,
                        const uint32_t *corners, uint32_t triangle_count, const uint32_t *centre,
                        unsigned char *regions, uint32_t sets[3]) {
    const abut_vec3 q = line->start[0], axis = vec_sub(line->start[1], q);
    const double length_sq = vec_dot(axis, axis);
    memset(sets, 0, 3 * sizeof *sets);
    memset(regions, 0, step->count);
    for (uint32_t i = 0; i < step->count && !centre; i++)
        regions[i] = (unsigned char)(region_of(step->start[i], q, axis, length_sq) |
                                     region_of(step->end[i], q, axis, length_sq));
    for (uint32_t i = 0; i < triangle_count; i++) {
        const uint32_t *corner = corners + 3 * (size_t)i, v = centre ? centre[i] : corner[0];
        if (!regions[v])
            regions[v] = (unsigned char)(region_of(step->start[v], q, axis, length_sq) |
                                         region_of(step->end[v], q, axis, length_sq));
        const int sign = sign_of_triangle(line, axis, length_sq, step, corner, v, regions[v]);
        sets[sign > 0 ? 0 : sign < 0 ? 1 : 2]++;
    }
}

/* ---- ghosts (sections 4.1.4 and 4.3) ---- */

void baseline_ghosts_create(baseline_ghosts *g, const abut_topology_arrays *t,
                            const abut_vec3 *positions, bool with_vertex) {
    const uint32_t edges = t->loop_begin[t->loop_count];
    abut_vec3 *all = baseline_array((size_t)t->vertex_count + t->loop_count, sizeof *all);
    *g = (baseline_ghosts){.corners = baseline_array(3 * (size_t)edges, sizeof *g->corners),
                           .vertex_count = t->vertex_count,
                           .centre_count = with_vertex ? t->loop_count : 0,
                           .loops = *t};
    memcpy(all, positions, t->vertex_count * sizeof *all);
    for (uint32_t loop = 0; loop < t->loop_count; loop++) {
        const uint32_t *v = t->loop_vertices + t->loop_begin[loop],
                       count = t->loop_begin[loop + 1] - t->loop_begin[loop];
        const uint32_t apex = with_vertex ? t->vertex_count + loop : v[0];
        for (uint32_t i = 0; i < count; i++) {
            all[t->vertex_count + loop] =
                vec_along(all[t->vertex_count + loop], 1.0 / count, positions[v[i]]);
            const uint32_t next = v[(i + 1) % count];
            if (v[i] == apex || next == apex)
                continue;
            const uint32_t ghost[3] = {next, v[i], apex};
            memcpy(g->corners + 3 * (size_t)g->count++, ghost, sizeof ghost);
        }
    }
    if (g->count)
        baseline_tree_build(&g->tree, BASELINE_SLABS, g->corners, g->count, all,
                            t->vertex_count + g->centre_count);
    free(all);
}

void baseline_ghosts_release(baseline_ghosts *g) {
    free(g->corners);
    baseline_tree_release(&g->tree);
}

/* Positions of the mesh, and of the ghost vertices after them. */
static abut_vec3 *add_centres(const baseline_ghosts *g, const abut_vec3 *positions) {
    const abut_topology_arrays *t = &g->loops;
    abut_vec3 *all = baseline_array((size_t)g->vertex_count + g->centre_count, sizeof *all);
    memcpy(all, positions, g->vertex_count * sizeof *all);
    for (uint32_t loop = 0; loop < g->centre_count; loop++) {
        const uint32_t begin = t->loop_begin[loop], end = t->loop_begin[loop + 1];
        abut_vec3 *centre = &all[g->vertex_count + loop];
        for (uint32_t i = begin; i < end; i++)
            *centre = vec_along(*centre, 1.0 / (end - begin), positions[t->loop_vertices[i]]);
    }
    return all;
}

static bool features_touch(const baseline_tree *tree, const baseline_step *step,
                           abut_impact_kind kind, const uint32_t four[4]) {
    const int first = kind == ABUT_IMPACT_VERTEX_FACE ? 1 : 2;
    for (int i = 0; i < first; i++)
        for (int j = first; j < 4; j++)
            if (four[i] == four[j])
                return false;
    return baseline_features_near(kind, tree, four) && baseline_elementary(kind, step, four) <= 1;
}

/* The 15 elementary tests of two triangles; `tree` has the bounds of all vertices. */
static bool triangles_touch(const baseline_tree *tree, const baseline_step *step, const uint32_t *a,
                            const uint32_t *b) {
    for (int i = 0; i < 3; i++) {
        const uint32_t of_a[4] = {a[i], b[0], b[1], b[2]}, of_b[4] = {b[i], a[0], a[1], a[2]};
        if (features_touch(tree, step, ABUT_IMPACT_VERTEX_FACE, of_a) ||
            features_touch(tree, step, ABUT_IMPACT_VERTEX_FACE, of_b))
            return true;
        for (int j = 0; j < 3; j++) {
            const uint32_t edges[4] = {a[i], a[(i + 1) % 3], b[j], b[(j + 1) % 3]};
            if (features_touch(tree, step, ABUT_IMPACT_EDGE_EDGE, edges))
                return true;
        }
    }
    return false;
}

uint32_t baseline_ghosts_touched(baseline_ghosts *g, const baseline_tree *mesh,
                                 const baseline_step *step) {
    abut_vec3 *start = add_centres(g, step->start), *end = add_centres(g, step->end);
    const baseline_step all = {start, end, g->vertex_count + g->centre_count};
    unsigned char *touched = baseline_array(mesh->node_count / 2 + 1, 1);
    baseline_pairs pairs = {0};
    uint32_t count = 0;
    if (g->count) {
        baseline_tree_refit(&g->tree, &all);
        baseline_tree_cross(mesh, 0, &g->tree, 0, &pairs);
    }
    for (size_t i = 0; i < pairs.count; i++) {
        const uint32_t triangle = pairs.list[i][0], ghost = pairs.list[i][1];
        if (touched[triangle] ||
            !triangles_touch(&g->tree, &all, mesh->corners + 3 * (size_t)triangle,
                             g->corners + 3 * (size_t)ghost))
            continue;
        touched[triangle] = 1;
        count++;
    }
    free(pairs.list);
    free(touched);
    free(start);
    free(end);
    return count;
}

/* ---- history nodes (section 5.5) ---- */

/* A list is released if it is longer, and every few frames (section 6.3). */
enum { HISTORY_MAX = 128, HISTORY_FRAMES = 25, STACK = 64 };

typedef struct node_list {
    uint32_t *nodes, count, capacity;
} node_list;

struct baseline_history {
    baseline_policy policy;
    uint32_t triangle_count, frame;
    node_list *initial, *current; /* of each triangle */
    node_list spare;
};

static void add_node(node_list *to, uint32_t node) {
    if (to->count == to->capacity) {
        to->capacity = to->capacity ? 2 * to->capacity : 16;
        to->nodes = realloc(to->nodes, to->capacity * sizeof *to->nodes);
        if (!to->nodes)
            abort();
    }
    to->nodes[to->count++] = node;
}

static void copy_list(node_list *to, const node_list *from) {
    to->count = 0;
    for (uint32_t i = 0; i < from->count; i++)
        add_node(to, from->nodes[i]);
}

typedef struct descent {
    const baseline_tree *tree;
    const float *bounds; /* of the triangle */
    uint32_t triangle;
    node_list *ends; /* null: not recorded */
    uint64_t tests, pairs;
} descent;

/* Algorithm 6: descends from a node to leaves and to nodes that do not overlap. */
static void descend(descent *d, uint32_t begin) {
    const baseline_tree *tree = d->tree;
    uint32_t stack[STACK], used = 0;
    stack[used++] = begin;
    while (used) {
        const uint32_t node = stack[--used], child = tree->child[node];
        d->tests++;
        const bool met =
            baseline_overlap(d->bounds, tree->bounds + (size_t)node * 2 * tree->slabs, tree->slabs);
        if (met && !(child & BASELINE_LEAF)) {
            stack[used++] = child + 1;
            stack[used++] = child;
            continue;
        }
        d->pairs += met && child - BASELINE_LEAF != d->triangle;
        if (d->ends)
            add_node(d->ends, node);
    }
}

/* Bounds of the triangle itself, from those of its vertices. */
static void triangle_bounds(const baseline_tree *tree, uint32_t triangle, float *bounds) {
    const size_t stride = 2 * (size_t)tree->slabs;
    const uint32_t *corner = tree->corners + 3 * (size_t)triangle;
    memcpy(bounds, tree->of_vertices + corner[0] * stride, stride * sizeof *bounds);
    for (int i = 1; i < 3; i++) {
        const float *more = tree->of_vertices + corner[i] * stride;
        for (uint32_t k = 0; k < tree->slabs; k++) {
            bounds[k] = fminf(bounds[k], more[k]);
            bounds[tree->slabs + k] = fmaxf(bounds[tree->slabs + k], more[tree->slabs + k]);
        }
    }
}

baseline_history *baseline_history_create(const baseline_tree *tree, baseline_policy policy,
                                          uint32_t triangle_count, uint64_t *initial) {
    baseline_history *h = baseline_array(1, sizeof *h);
    float bounds[2 * BASELINE_SLABS];
    h->policy = policy;
    h->triangle_count = triangle_count;
    h->initial = baseline_array(triangle_count, sizeof *h->initial);
    h->current = baseline_array(triangle_count, sizeof *h->current);
    *initial = 0;
    for (uint32_t i = 0; i < triangle_count; i++) {
        descent d = {.tree = tree, .bounds = bounds, .triangle = i, .ends = &h->initial[i]};
        triangle_bounds(tree, i, bounds);
        descend(&d, 0);
        *initial += h->initial[i].count;
    }
    return h;
}

void baseline_history_destroy(baseline_history *h) {
    for (uint32_t i = 0; h && i < h->triangle_count; i++) {
        free(h->initial[i].nodes);
        free(h->current[i].nodes);
    }
    if (h) {
        free(h->initial);
        free(h->current);
        free(h->spare.nodes);
    }
    free(h);
}

uint64_t baseline_history_find(baseline_history *h, const baseline_tree *tree, const uint32_t *list,
                               uint32_t count, uint64_t *tests) {
    const bool restart = h->frame++ % HISTORY_FRAMES == 0;
    uint64_t pairs = 0;
    for (uint32_t i = 0; restart && i < h->triangle_count; i++)
        h->current[i].count = 0;
    for (uint32_t i = 0; i < count; i++) {
        float bounds[2 * BASELINE_SLABS];
        descent d = {.tree = tree, .bounds = bounds, .triangle = list[i]};
        node_list *mine = &h->current[list[i]];
        triangle_bounds(tree, list[i], bounds);
        if (h->policy == BASELINE_WITHOUT) {
            descend(&d, 0);
        } else {
            if (!mine->count || mine->count > HISTORY_MAX) { /* released, or none yet */
                mine->count = 0;
                if (h->policy == BASELINE_INITIAL)
                    copy_list(mine, &h->initial[list[i]]);
                else
                    add_node(mine, 0);
            }
            const node_list from = *mine;
            *mine = h->spare;
            mine->count = 0;
            d.ends = mine;
            for (uint32_t k = 0; k < from.count; k++)
                descend(&d, from.nodes[k]);
            h->spare = from;
        }
        pairs += d.pairs;
        *tests += d.tests;
    }
    return pairs;
}
