/* Builds the tree over the boundary loops of a surface: see boundary_shared.h.
 *
 * Directed boundary edges balance at every vertex, since those of each triangle do. So a walk along
 * unused edges ends only where it began, and the boundary splits into closed loops. Loops are
 * sorted along a space-filling curve (Morton 1966). The upper levels of the tree halve the list of
 * loops, the lower ones halve the edges of a loop. T of a chain consists of those of its halves,
 * and of the triangle of its two ends and the vertex between the halves. O(n log n).
 */
#include "base/sort.h"
#include "sign/expansion.h"
#include "sign/sign.h"

#include <assert.h>
#include <math.h>

/* Added to radii, which are at most 4: more than the rounding errors of centres and points. */
#define RADIUS_ROUNDING 1e-12

/* T of a chain, with moments around a centre. */
typedef struct cap {
    vec3 centre;
    expansion moments;
    double cube; /* upper bound of B */
} cap;

typedef struct builder {
    const abut_bvh *bvh;
    boundary_node *next;
    vec3 *vertices;       /* absolute */
    const uint32_t *loop; /* first vertex of each loop, and the end */
} builder;

/* ---- loops ---- */

enum { CHOICES_MAX = 8 }; /* edges from a vertex that are compared */

typedef struct loop_walk {
    const abut_mesh *mesh;
    const uint32_t (*border)[2];
    sort_key *sorted; /* edges by first vertex; the unused ones of each vertex last */
    uint32_t count;
    uint32_t *used;   /* number of used edges, at the first edge of each vertex */
    uint32_t *path;   /* first edges of the vertices of the path */
    uint32_t *place;  /* 1 + index in the path, at the first edge of each vertex; 0 = not in it */
    uint32_t *vertex; /* of all loops, the first of each repeated at its end */
    uint32_t *loop;   /* index of the first vertex of each loop, and the end */
    uint32_t loop_count;
} loop_walk;

/* Index of the first edge from a vertex. */
static uint32_t first_edge_from(const loop_walk *w, uint32_t vertex) {
    uint32_t lo = 0, hi = w->count;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (w->sorted[middle].key < vertex)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Uses an edge from a vertex, given by its first edge: the one that leads closest to the begin of
 * the path. Returns the vertex where it ends. */
static uint32_t follow_edge(loop_walk *w, uint32_t first, uint32_t begin) {
    const uint64_t vertex = w->sorted[first].key;
    const vec3 *at = w->mesh->positions, goal = at[w->sorted[begin].key];
    const uint32_t next = first + w->used[first]++;
    uint32_t best = next;
    double least = INFINITY;
    assert(next < w->count && w->sorted[next].key == vertex);
    for (uint32_t i = next; i < w->count && i < next + CHOICES_MAX; i++) {
        if (w->sorted[i].key != vertex)
            break;
        const double away = v3_length(v3_sub(at[w->border[w->sorted[i].value][1]], goal));
        if (away < least) {
            least = away;
            best = i;
        }
    }
    const sort_key edge = w->sorted[best];
    w->sorted[best] = w->sorted[next];
    w->sorted[next] = edge;
    return w->border[edge.value][1];
}

/* Follows unused edges. Where the path reaches itself, the loop is cut off. */
static void find_loops(loop_walk *w) {
    uint32_t length = 0;
    for (uint32_t i = 0; i < w->count;) {
        uint32_t size = 0, at = i;
        if (i + w->used[i] == w->count || w->sorted[i + w->used[i]].key != w->sorted[i].key) {
            i += w->used[i]; /* all are used */
            continue;
        }
        do {
            w->path[size++] = at;
            w->place[at] = size;
            at = first_edge_from(w, follow_edge(w, at, i));
            if (!w->place[at])
                continue;
            const uint32_t begin = w->place[at] - 1;
            w->loop[w->loop_count++] = length;
            for (uint32_t k = begin; k < size; k++) {
                w->vertex[length++] = (uint32_t)w->sorted[w->path[k]].key;
                w->place[w->path[k]] = 0;
            }
            w->vertex[length++] = (uint32_t)w->sorted[at].key;
            size = begin;
        } while (size > 0);
    }
    w->loop[w->loop_count] = length;
}

/* Copies the vertices of the loops in the order of a Morton curve through their first vertices. */
static void sort_loops(const abut_mesh *mesh, const loop_walk *w, sort_key *keys, vec3 *vertices,
                       uint32_t *loop) {
    vec3 lo = mesh->bounds.lo, hi = mesh->bounds.hi;
    const double extent = v3_max_abs(v3_sub(hi, lo)),
                 per_cell = extent > 1e-300 ? 65535 / extent : 0;
    for (uint32_t i = 0; i < w->loop_count; i++) {
        vec3 at = v3_scale(v3_sub(abuti_mesh_position(mesh, w->vertex[w->loop[i]]), lo), per_cell);
        keys[i].key = morton_code((uint32_t)at.x, (uint32_t)at.y, (uint32_t)at.z);
        keys[i].value = i;
    }
    const sort_key *sorted = abuti_sort_by_key(keys, keys + w->loop_count, w->loop_count);
    uint32_t to = 0;
    for (uint32_t i = 0; i < w->loop_count; i++) {
        const uint32_t *from = w->loop + sorted[i].value;
        loop[i] = to;
        for (uint32_t k = from[0]; k < from[1]; k++)
            vertices[to++] = abuti_mesh_position(mesh, w->vertex[k]);
    }
    loop[w->loop_count] = to;
}

/* ---- nodes ---- */

static vec3 scaled_vertex(const builder *b, uint32_t vertex) {
    return v3_scale(v3_sub(b->vertices[vertex], b->bvh->mesh->origin), b->bvh->scale);
}

/* Adds a triangle; p, q and r are relative to the centre. */
static void add_cap_triangle(cap *c, vec3 p, vec3 q, vec3 r) {
    const vec3 sum = v3_add(v3_add(p, q), r), n = v3_cross(v3_sub(q, p), v3_sub(r, p));
    const double sq_p = v3_dot(p, p), sq_q = v3_dot(q, q), sq_r = v3_dot(r, r);
    add_triangle_moments(&c->moments, p, q, r);
    c->cube += v3_length(n) / 24 * (sq_p + sq_q + sq_r + v3_dot(sum, sum)) *
               sqrt(real_max(sq_p, real_max(sq_q, sq_r)));
}

/* Adds a part with moments around another centre, at d. B is at most (B^(1/3) + |d| area^(1/3))^3
 * around ours, by the inequality of Minkowski. */
static void add_cap(cap *c, const cap *part) {
    const vec3 d = v3_sub(part->centre, c->centre);
    const double root = cbrt(part->cube) + v3_length(d) * cbrt(part->moments.area);
    add_moved_moments(&c->moments, &part->moments, d);
    c->cube += root * root * root;
}

/* Sets the ball of a node over some vertices. */
static cap begin_node(const builder *b, boundary_node *n, uint32_t begin, uint32_t end) {
    vec3 lo = scaled_vertex(b, begin), hi = lo;
    double sq = 0;
    for (uint32_t i = begin + 1; i < end; i++) {
        lo = v3_min(lo, scaled_vertex(b, i));
        hi = v3_max(hi, scaled_vertex(b, i));
    }
    const cap c = {.centre = v3_lerp(lo, hi, 0.5)};
    for (uint32_t i = begin; i < end; i++) {
        const vec3 d = v3_sub(scaled_vertex(b, i), c.centre);
        sq = real_max(sq, v3_dot(d, d));
    }
    n->centre[0] = c.centre.x;
    n->centre[1] = c.centre.y;
    n->centre[2] = c.centre.z;
    n->radius = sqrt(sq) + RADIUS_ROUNDING;
    return c;
}

static void end_node(boundary_node *n, cap *c) {
    const expansion *f = &c->moments;
    remove_traces(&c->moments);
    memcpy(n->n, f->n, sizeof n->n);
    memcpy(n->m, f->m, sizeof n->m);
    memcpy(n->k, f->k, sizeof n->k);
    n->area = f->area;
    n->bound = 1.000001 * 4 * BOUNDARY_INVERSE_4_PI * c->cube;
}

/* The recursion depth is at most 32. */
static cap build_chain(builder *b, uint32_t first, uint32_t edges) {
    boundary_node *n = b->next++;
    cap c = begin_node(b, n, first, first + edges + 1);
    n->first = first;
    n->edges = edges;
    if (edges > 1) {
        const uint32_t middle = first + edges / 2;
        const cap left = build_chain(b, first, edges / 2),
                  right = build_chain(b, middle, edges - edges / 2);
        add_cap(&c, &left);
        add_cap(&c, &right);
        add_cap_triangle(&c, v3_sub(scaled_vertex(b, first), c.centre),
                         v3_sub(scaled_vertex(b, middle), c.centre),
                         v3_sub(scaled_vertex(b, first + edges), c.centre));
    }
    end_node(n, &c);
    return c;
}

static cap build_loops(builder *b, uint32_t begin, uint32_t end) {
    const uint32_t first = b->loop[begin], middle = begin + (end - begin) / 2;
    if (end - begin == 1)
        return build_chain(b, first, b->loop[end] - first - 1);
    boundary_node *n = b->next++;
    cap c = begin_node(b, n, first, b->loop[end]);
    n->first = ABUT_NONE;
    n->edges = b->loop[end] - first - (end - begin);
    const cap left = build_loops(b, begin, middle), right = build_loops(b, middle, end);
    add_cap(&c, &left);
    add_cap(&c, &right);
    end_node(n, &c);
    return c;
}

/* ---- lifetime ---- */

static abut_status create_tree(const abut_bvh *bvh, const bvh_solid *solid, boundary_tree **tree) {
    abut_context *context = bvh->context;
    const size_t n = solid->border_count, words = 5 * n + 2;
    loop_walk w = {.mesh = bvh->mesh,
                   .border = (const uint32_t(*)[2])solid->border,
                   .count = solid->border_count};
    sort_key *keys = abuti_allocate(context, 2 * n, sizeof *keys);
    uint32_t *room = abuti_allocate_zeroed(context, words, sizeof *room);
    boundary_tree *t =
        abuti_allocate(context, 1,
                       sizeof *t + 2 * n * sizeof *t->nodes + (n + n / 2) * sizeof *t->vertices);
    if (!keys || !room || !t) {
        ABUTI_RELEASE(context, keys, room, t);
        return ABUT_ERROR_MEMORY;
    }
    for (uint32_t i = 0; i < n; i++)
        keys[i] = (sort_key){w.border[i][0], i};
    w.sorted = abuti_sort_by_key(keys, keys + n, n);
    w.used = room;
    w.path = w.used + n;
    w.place = w.path + n;
    w.loop = w.place + n; /* at most n / 2 loops, since each has two edges */
    w.vertex = w.loop + n / 2 + 1;
    find_loops(&w);
    t->nodes = (boundary_node *)(t + 1);
    t->vertices = (vec3 *)(t->nodes + 2 * n);
    t->vertex_count = w.loop[w.loop_count];
    sort_loops(bvh->mesh, &w, keys, t->vertices, w.used);
    builder b = {bvh, t->nodes, t->vertices, w.used};
    if (n)
        build_loops(&b, 0, w.loop_count);
    t->node_count = (uint32_t)(b.next - t->nodes);
    ABUTI_RELEASE(context, keys, room);
    *tree = t;
    return ABUT_OK;
}

abut_status abuti_sign_boundary(const abut_bvh *bvh) {
    struct bvh_sign *sign = (struct bvh_sign *)(uintptr_t)bvh_sign_of(bvh);
    const bvh_solid *solid;
    boundary_tree *created, *none = NULL;
    if (sign->closed || atomic_load(&sign->boundary))
        return ABUT_OK;
    abut_status status;
    if ((status = abuti_bvh_solid(sign->bvh, &solid)) ||
        (status = create_tree(sign->bvh, solid, &created)))
        return status;
    if (!atomic_compare_exchange_strong(&sign->boundary, &none, created))
        abuti_release(sign->bvh->context, created); /* another thread was faster */
    return ABUT_OK;
}

boundary_view abuti_sign_boundary_view(const abut_bvh *bvh) {
    const boundary_tree *tree = atomic_load(&bvh_sign_of(bvh)->boundary);
    const vec3 origin = bvh->mesh->origin;
    return (boundary_view){.nodes = tree->nodes,
                           .vertices = &tree->vertices->x,
                           .origin = {origin.x, origin.y, origin.z},
                           .scale = bvh->scale,
                           .node_count = tree->node_count};
}
