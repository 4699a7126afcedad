/* Bounds of swept triangles in a balanced binary tree, refitted from step to step.
 *
 * Problem: find the pairs of a triangle and a ghost that may touch during a step. Method: the
 * triangles are halved along the longest axis of their centres at the start until one remains.
 * Nodes are stored level by level, siblings consecutively (Cheng 2011, section 5.2.2). A node has
 * the 16-DOP (Klosowski et al. 1998) or the box of the swept triangles, which is that of their
 * vertices at both ends of the step. The tree stays; bounds are refitted bottom-up.
 *
 * Guarantee: bounds of objects that touch overlap. For x, y and z each rounding to a float position
 * (see below) is monotonic: it keeps the order of any two points, so a gap between rounded
 * values is a gap between true ones. A sum of two positions has an error of 2^-24 from these and
 * 2^-24 from its own rounding, and another 2^-23 after it has been extended, which makes it 2 or
 * more: 2^-22 suffice, and we use 2^-21. A
 * ghost vertex is outside the frame by at most sqrt(1.5 n), if its hole has n edges that wind
 * around it many times: below 2^15.3 for 2^30 edges, so that a sum of doubles has an error below
 * 2^-35. Such sums are extended by 2^-34 before they are rounded to floats, which again is
 * monotonic.
 */
#include "self/self.h"

#include <math.h>

/* Error bound of sums of coordinates, in doubles and in floats. */
#define BOUNDS_SLACK 0x1p-34
#define BOUNDS_PLACE_SLACK 0x1p-21f

enum {
    VERTICES_PER_TASK = 4096,
    SUBTREE_LEVELS = 9, /* levels of subtrees that are fitted by one task: 500 nodes, 32 KB */
    SUBTREES_PER_TASK = 4
};

/* ---- build ---- */

typedef struct centre {
    float at[3];
    uint32_t triangle;
} centre;

typedef struct range {
    uint32_t begin, end;
} range;

static void compute_centres(const abut_self *view, uint32_t first, uint32_t count,
                            centre *centres) {
    const abut_mesh *mesh = view->mesh;
    box3 box = box_empty();
    for (uint32_t i = 0; i < view->vertex_count; i++)
        box = box_grow(box, mesh->positions[i]);
    vec3 middle = box_centre(box);
    double size = v3_max_abs(v3_sub(box.hi, middle)), scale = size > 0 ? 1 / size : 1;
    if (!(scale <= DBL_MAX))
        scale = 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t *corner = view->corners + 3 * (size_t)(first + i);
        vec3 sum = v3(0, 0, 0);
        for (int k = 0; k < 3; k++)
            if (corner[k] < view->vertex_count)
                sum = v3_add(sum, v3_scale(v3_sub(mesh->positions[corner[k]], middle), scale));
        centres[i].at[0] = (float)sum.x;
        centres[i].at[1] = (float)sum.y;
        centres[i].at[2] = (float)sum.z;
        centres[i].triangle = first + i;
    }
}

static int longest_axis(const centre *centres, range r) {
    float lo[3], hi[3];
    memcpy(lo, centres[r.begin].at, sizeof lo);
    memcpy(hi, centres[r.begin].at, sizeof hi);
    for (uint32_t i = r.begin + 1; i < r.end; i++)
        for (int k = 0; k < 3; k++) {
            lo[k] = centres[i].at[k] < lo[k] ? centres[i].at[k] : lo[k];
            hi[k] = centres[i].at[k] > hi[k] ? centres[i].at[k] : hi[k];
        }
    int axis = hi[1] - lo[1] > hi[0] - lo[0] ? 1 : 0;
    return hi[2] - lo[2] > hi[axis] - lo[axis] ? 2 : axis;
}

/* Partitions a range so that its lower half comes first (Hoare's quickselect). Equal keys are split
 * evenly and pivots are random, so that no input order is slow. */
static void partition_range(centre *centres, range r, int axis, uint32_t middle, uint64_t *random) {
    int64_t begin = r.begin, end = r.end;
    while (end - begin > 1) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        int64_t drawn = begin + (int64_t)((*random >> 32) % (uint64_t)(end - begin));
        float pivot = centres[drawn].at[axis];
        int64_t i = begin, j = end - 1;
        while (i <= j) {
            while (centres[i].at[axis] < pivot)
                i++;
            while (centres[j].at[axis] > pivot)
                j--;
            if (i <= j) {
                centre kept = centres[i];
                centres[i++] = centres[j];
                centres[j--] = kept;
            }
        }
        if (middle <= j)
            end = j + 1;
        else if (middle >= i)
            begin = i;
        else
            return;
    }
}

/* Splits node after node; this order stores nodes level by level. */
static void split_nodes(view_tree *tree, centre *centres, range *ranges) {
    uint32_t used = 1, level_end = 1;
    uint64_t random = 1;
    ranges[0] = (range){0, tree->count};
    tree->level_begin[0] = 0;
    tree->level_count = 1;
    for (uint32_t node = 0; node < used; node++) {
        if (node == level_end) {
            tree->level_begin[tree->level_count++] = node;
            level_end = used;
        }
        range r = ranges[node];
        if (r.end - r.begin == 1) {
            tree->child[node] = TREE_LEAF | centres[r.begin].triangle;
            tree->leaf[centres[r.begin].triangle - tree->first] = node;
            continue;
        }
        uint32_t middle = r.begin + (r.end - r.begin) / 2;
        partition_range(centres, r, longest_axis(centres, r), middle, &random);
        tree->child[node] = used;
        ranges[used++] = (range){r.begin, middle};
        ranges[used++] = (range){middle, r.end};
    }
    tree->level_begin[tree->level_count] = used;
}

abut_status abuti_view_tree_build(abut_self *view, uint32_t first, uint32_t count,
                                  view_tree *tree) {
    abut_context *context = view->context;
    size_t nodes = 2 * (size_t)count - 1;
    tree->first = first;
    tree->count = count;
    tree->node_count = (uint32_t)nodes;
    tree->child = abuti_allocate(context, nodes, sizeof *tree->child);
    tree->leaf = abuti_allocate(context, count, sizeof *tree->leaf);
    tree->bounds = abuti_allocate(context, nodes, 2 * (size_t)DOP_SLABS * sizeof *tree->bounds);
    centre *centres = abuti_allocate(context, count, sizeof *centres);
    range *ranges = abuti_allocate(context, nodes, sizeof *ranges);
    bool all = tree->child && tree->leaf && tree->bounds && centres && ranges;
    if (all) {
        compute_centres(view, first, count, centres);
        split_nodes(tree, centres, ranges);
    }
    ABUTI_RELEASE(context, centres, ranges);
    return all ? ABUT_OK : ABUT_ERROR_MEMORY;
}

void abuti_view_tree_release(abut_context *context, view_tree *tree) {
    ABUTI_RELEASE(context, tree->child, tree->leaf, tree->bounds);
}

/* ---- float positions ----
 *
 * Positions of vertices during a step, as floats: for bounds and for the separation of ghosts. The
 * frame has the centre of the mesh over the whole step as its origin and a power of two as its
 * unit, so that every vertex is within 1 of it. A ghost vertex may be farther. Coordinates are
 * rounded twice, by a difference in doubles and then to a float. Both roundings are monotonic;
 * together they move a coordinate below 1 by at most 2^-25 (1 + 2^-27).
 */

static void float_positions_task(void *data, size_t chunk, size_t begin, size_t end) {
    const abut_self *view = data;
    vec3 middle = view->centre;
    double scale = view->scale;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        vec3 a = view->start[i], b = view->end[i];
        float *from = view->places[i].at[0], *to = view->places[i].at[1];
        from[0] = (float)((a.x - middle.x) * scale);
        from[1] = (float)((a.y - middle.y) * scale);
        from[2] = (float)((a.z - middle.z) * scale);
        from[3] = 0;
        to[0] = (float)((b.x - middle.x) * scale);
        to[1] = (float)((b.y - middle.y) * scale);
        to[2] = (float)((b.z - middle.z) * scale);
        to[3] = 0;
    }
}

void abuti_view_compute_positions(abut_self *view) {
    const box3 box = box_join(view->motion->place.start_box, view->motion->place.end_box);
    view->centre = box_centre(box);
    double size = real_max(v3_max_abs(v3_sub(box.hi, view->centre)),
                           v3_max_abs(v3_sub(box.lo, view->centre)));
    int exponent;
    frexp(size, &exponent);
    view->scale = size > 0 && exponent > -1000 ? ldexp(1, -exponent) : 1;
    abuti_parallel_for(view->context, (size_t)view->vertex_count + view->hole_count,
                       VERTICES_PER_TASK, float_positions_task, view);
}

/* ---- fit ---- */

typedef struct fit_job {
    abut_self *view;
    view_tree *tree;
    uint32_t first; /* first node of the subtrees */
} fit_job;

/* The values of all slabs at a point in the frame. */
static void compute_slabs(const abut_self *view, vec3 at, double value[DOP_SLABS]) {
    const vec3 p = v3_scale(v3_sub(at, view->centre), view->scale);
    value[0] = p.x;
    value[1] = p.y;
    value[2] = p.z;
    value[3] = p.x + p.y;
    value[4] = p.x + p.z;
    value[5] = p.y + p.z;
    value[6] = p.x - p.y;
    value[7] = p.x - p.z;
}

/* Bounds of a ghost vertex, which may be beyond 1, from doubles. */
static void fit_ghost_vertex(const fit_job *f, size_t vertex) {
    const abut_self *view = f->view;
    float *bounds = view->vertex_bounds + vertex * 2 * (size_t)DOP_SLABS;
    double a[DOP_SLABS], b[DOP_SLABS];
    compute_slabs(view, view->start[vertex], a);
    compute_slabs(view, view->end[vertex], b);
    for (int k = 0; k < DOP_SLABS; k++) {
        const double slack = k < 3 ? 0 : BOUNDS_SLACK;
        bounds[k] = (float)(real_min(a[k], b[k]) - slack);
        bounds[DOP_SLABS + k] = (float)(real_max(a[k], b[k]) + slack);
    }
}

/* Bounds of up to four vertices of the mesh at once, from float positions: slab by slab, one lane
 * each. */
static inline void fit_four(const fit_job *f, size_t first, size_t count) {
    const abut_self *view = f->view;
    float rows[2 * DOP_SLABS][4];
    const float *from[2][4];
    f4 value[2][DOP_SLABS];
    for (size_t k = 0; k < 4; k++)
        for (int end = 0; end < 2; end++)
            from[end][k] = view->places[first + (k < count ? k : count - 1)].at[end];
    for (int end = 0; end < 2; end++) {
        f4 p[4], *to = value[end];
        f4_columns(from[end], 0, p);
        memcpy(to, p, sizeof p); /* x, y, z, 0 */
        to[3] = f4_add(p[0], p[1]);
        to[4] = f4_add(p[0], p[2]);
        to[5] = f4_add(p[1], p[2]);
        to[6] = f4_sub(p[0], p[1]);
        to[7] = f4_sub(p[0], p[2]);
    }
    for (int k = 0; k < DOP_SLABS; k++) {
        f4 out = f4_all(k >= 3 ? BOUNDS_PLACE_SLACK : 0);
        f4_store(rows[k], f4_sub(f4_min(value[0][k], value[1][k]), out));
        f4_store(rows[DOP_SLABS + k], f4_add(f4_max(value[0][k], value[1][k]), out));
    }
    for (int group = 0; group < 2 * DOP_SLABS; group += 4) {
        const float *const four[4] = {rows[group], rows[group + 1], rows[group + 2],
                                      rows[group + 3]};
        float *to = view->vertex_bounds + first * 2 * (size_t)DOP_SLABS + group;
        f4 vertex[4];
        f4_columns(four, 0, vertex);
        for (size_t k = 0; k < count; k++)
            f4_store(to + k * 2 * (size_t)DOP_SLABS, vertex[k]);
    }
}

static void fit_vertices_task(void *data, size_t chunk, size_t begin, size_t end) {
    const fit_job *f = data;
    const abut_self *view = f->view;
    size_t own = end < view->vertex_count ? end : view->vertex_count;
    (void)chunk;
    for (size_t i = begin; i < own; i += 4) {
        size_t count = own - i < 4 ? own - i : 4;
        fit_four(f, i, count);
    }
    for (size_t i = own > begin ? own : begin; i < end; i++)
        fit_ghost_vertex(f, i);
}

void abuti_view_fit_vertices(abut_self *view) {
    size_t count = (size_t)view->vertex_count + view->hole_count;
    fit_job f = {view, NULL, 0};
    abuti_parallel_for(view->context, count, VERTICES_PER_TASK, fit_vertices_task, &f);
}

static inline void fit_node(const fit_job *f, uint32_t node) {
    const view_tree *tree = f->tree;
    size_t step = 2 * (size_t)DOP_SLABS;
    float *to = tree->bounds + node * step;
    uint32_t child = tree->child[node];
    if (!(child & TREE_LEAF)) {
        bounds_join(to, tree->bounds + child * step, tree->bounds + (child + (size_t)1) * step);
        return;
    }
    const uint32_t *corner = f->view->corners + 3 * (size_t)(child & ~TREE_LEAF);
    const float *vertex = f->view->vertex_bounds;
    const float *a = vertex + corner[0] * step, *b = vertex + corner[1] * step;
    const float *c = vertex + corner[2] * step;
    for (int k = 0; k < DOP_SLABS; k += 4) {
        f4 lo = f4_min(f4_min(f4_load(a + k), f4_load(b + k)), f4_load(c + k));
        f4 hi = f4_max(f4_load(a + DOP_SLABS + k), f4_load(b + DOP_SLABS + k));
        f4_store(to + k, lo);
        f4_store(to + DOP_SLABS + k, f4_max(hi, f4_load(c + DOP_SLABS + k)));
    }
}

static void fit_range(const fit_job *f, uint32_t begin, uint32_t end) {
    for (uint32_t node = begin; node < end; node++)
        fit_node(f, node);
}

/* Refits all nodes below a node, then the node. Nodes are stored level by level, so those of one
 * level below it are consecutive. */
static void fit_subtree(const fit_job *f, uint32_t node) {
    const uint32_t *child = f->tree->child;
    uint32_t begin[TREE_LEVELS], end[TREE_LEVELS], depth = 0;
    begin[0] = node;
    end[0] = node + 1;
    for (;;) {
        uint32_t first = begin[depth], last = end[depth];
        while (first < last && child[first] & TREE_LEAF)
            first++;
        while (first < last && child[last - 1] & TREE_LEAF)
            last--;
        if (first == last)
            break;
        begin[++depth] = child[first];
        end[depth] = child[last - 1] + 2;
    }
    for (uint32_t level = depth + 1; level-- > 0;)
        fit_range(f, begin[level], end[level]);
}

static void fit_nodes_task(void *data, size_t chunk, size_t begin, size_t end) {
    const fit_job *f = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        fit_subtree(f, f->first + (uint32_t)i);
}

/* Refits subtrees that fit into the cache in parallel, then the nodes above them. */
void abuti_view_tree_fit(abut_self *view, view_tree *tree) {
    uint32_t cut = tree->level_count > SUBTREE_LEVELS ? tree->level_count - SUBTREE_LEVELS : 0;
    fit_job f = {view, tree, tree->level_begin[cut]};
    abuti_parallel_for(view->context, tree->level_begin[cut + 1] - f.first, SUBTREES_PER_TASK,
                       fit_nodes_task, &f);
    for (uint32_t level = cut; level-- > 0;) /* bottom-up */
        fit_range(&f, tree->level_begin[level], tree->level_begin[level + 1]);
}
