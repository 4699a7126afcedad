/* Bounds of swept triangles in a balanced binary tree, refitted from step to step.
 *
 * Problem: pairs of triangles that may touch during a step, among many.
 * Method: the triangles are halved along the longest axis of their centres at the start until one
 * is left; nodes stand level by level, siblings side by side (document 004, section 5.2.2). A node
 * has the 16-DOP (Klosowski et al. 1998) or the box of what its triangles sweep, which is that of
 * their vertices at both ends of the step. Shape and order stay; bounds are refitted bottom-up.
 *
 * Guarantee: bounds of things that touch overlap. The value of a slab at a vertex is rounded
 * several times to a float. For x, y and z each rounding is monotone: (x - centre) x scale keeps
 * the order of any two points, so a gap between rounded values is a gap between true ones. For
 * sums of two such coordinates the bounds are widened before the last rounding, which again is
 * monotone. In the frame the mesh is within 1, but a ghost vertex stands out by sqrt(1.5 n) at most
 * where its hole has n edges that wind around it many times: below 2^15.3 for 2^30 edges, so that
 * a sum is off by less than 2^-35. We take 2^-34, still little beside what a float leaves.
 */
#include "self/self.h"

#include <math.h>

enum { VERTICES_A_TASK = 4096, NODES_A_TASK = 2048 };

/* ---- build ---- */

typedef struct centre {
    float at[3];
    uint32_t triangle;
} centre;

typedef struct range {
    uint32_t begin, end;
} range;

static void find_centres(const abut_view *view, uint32_t first, uint32_t count, centre *centres) {
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

/* Puts the lower half of a range first (Hoare's quickselect; equal keys are split evenly, pivots
 * are drawn, so that no order of the input is slow). */
static void halve(centre *centres, range r, int axis, uint32_t middle, uint64_t *random) {
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

/* Gives the children of node after node; nodes come level by level by themselves. */
static void split_nodes(view_tree *tree, centre *centres, range *ranges) {
    uint32_t used = 1, level_end = 1;
    uint64_t random = 1;
    ranges[0] = (range){0, tree->count};
    tree->parent[0] = 0;
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
        halve(centres, r, longest_axis(centres, r), middle, &random);
        tree->child[node] = used;
        for (uint32_t k = 0; k < 2; k++, used++) {
            tree->parent[used] = node;
            ranges[used] = k ? (range){middle, r.end} : (range){r.begin, middle};
        }
    }
    tree->level_begin[tree->level_count] = used;
}

abut_status abuti_view_tree_build(abut_view *view, uint32_t first, uint32_t count,
                                  view_tree *tree) {
    abut_context *context = view->context;
    size_t nodes = 2 * (size_t)count - 1;
    tree->first = first;
    tree->count = count;
    tree->node_count = (uint32_t)nodes;
    tree->child = abuti_allocate(context, nodes, sizeof *tree->child);
    tree->parent = abuti_allocate(context, nodes, sizeof *tree->parent);
    tree->leaf = abuti_allocate(context, count, sizeof *tree->leaf);
    tree->bounds = abuti_allocate(context, nodes, 2 * (size_t)view->slabs * sizeof *tree->bounds);
    centre *centres = abuti_allocate(context, count, sizeof *centres);
    range *ranges = abuti_allocate(context, nodes, sizeof *ranges);
    bool all = tree->child && tree->parent && tree->leaf && tree->bounds && centres && ranges;
    if (all) {
        find_centres(view, first, count, centres);
        split_nodes(tree, centres, ranges);
    }
    abuti_release(context, centres);
    abuti_release(context, ranges);
    return all ? ABUT_OK : ABUT_ERROR_MEMORY;
}

void abuti_view_tree_release(abut_context *context, view_tree *tree) {
    abuti_release(context, tree->child);
    abuti_release(context, tree->parent);
    abuti_release(context, tree->leaf);
    abuti_release(context, tree->bounds);
}

/* ---- fit ---- */

typedef struct fitting {
    abut_view *view;
    view_tree *tree;
    uint32_t first; /* of the level */
    double grow;
} fitting;

static void fit_vertices_task(void *data, size_t chunk, size_t begin, size_t end) {
    const fitting *f = data;
    const abut_view *view = f->view;
    int slabs = view->slabs;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        bounds_of_motion(bounds_place(&view->frame, view->start[i]),
                         bounds_place(&view->frame, view->next[i]), slabs, f->grow,
                         view->vertex_bounds + i * 2 * (size_t)slabs);
}

/* Around all positions of a step but ghosts, of unit size. */
bounds_frame abuti_view_frame(box3 box) {
    bounds_frame frame = {.centre = box_centre(box)};
    double size = v3_max_abs(v3_sub(box.hi, frame.centre));
    int exponent;
    frexp(size, &exponent);
    frame.scale = size > 0 && exponent > -1000 ? ldexp(1, -exponent) : 1;
    return frame;
}

void abuti_view_fit_vertices(abut_view *view, double separation) {
    size_t count = (size_t)view->vertex_count + view->hole_count;
    box3 box = box_empty();
    for (size_t i = 0; i < view->vertex_count; i++)
        box = box_grow(box_grow(box, view->start[i]), view->next[i]);
    view->frame = abuti_view_frame(box);
    fitting f = {view, NULL, 0, 0.5 * separation * view->frame.scale * (1 + 1e-9)};
    abuti_parallel_for(view->context, count, VERTICES_A_TASK, fit_vertices_task, &f);
}

static inline void fit_node(const fitting *f, uint32_t node, int slabs) {
    const view_tree *tree = f->tree;
    size_t step = 2 * (size_t)slabs;
    float *to = tree->bounds + node * step;
    uint32_t child = tree->child[node];
    if (!(child & TREE_LEAF)) {
        bounds_join(to, tree->bounds + child * step, tree->bounds + (child + (size_t)1) * step,
                    slabs);
        return;
    }
    const uint32_t *corner = f->view->corners + 3 * (size_t)(child & ~TREE_LEAF);
    const float *vertex = f->view->vertex_bounds;
    bounds_join(to, vertex + corner[0] * step, vertex + corner[1] * step, slabs);
    bounds_join(to, to, vertex + corner[2] * step, slabs);
}

static void fit_nodes_task(void *data, size_t chunk, size_t begin, size_t end) {
    const fitting *f = data;
    (void)chunk;
    /* a constant number of slabs is unrolled */
    if (f->view->slabs == DOP_SLABS)
        for (size_t i = begin; i < end; i++)
            fit_node(f, f->first + (uint32_t)i, DOP_SLABS);
    else
        for (size_t i = begin; i < end; i++)
            fit_node(f, f->first + (uint32_t)i, BOX_SLABS);
}

void abuti_view_tree_fit(abut_view *view, view_tree *tree) {
    fitting f = {view, tree, 0, 0};
    for (uint32_t level = tree->level_count; level-- > 0;) {
        f.first = tree->level_begin[level];
        abuti_parallel_for(view->context, tree->level_begin[level + 1] - f.first, NODES_A_TASK,
                           fit_nodes_task, &f);
    }
}
