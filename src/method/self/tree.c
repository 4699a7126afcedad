/* Bounds of swept triangles in a balanced binary tree, refitted from step to step.
 *
 * Problem: find the pairs of a triangle and a ghost that may touch during a step. Method: the
 * triangles are halved along the longest axis of their centres at the start until one remains.
 * Nodes are stored level by level, siblings consecutively (Cheng 2011, section 5.2.2). A node has
 * the 16-DOP (Klosowski et al. 1998) of the swept triangles, which is that of their vertices at
 * both ends of the step. The tree stays; bounds are refitted bottom-up.
 *
 * Guarantee: bounds of objects that touch overlap. Bounds are computed in a frame that has the
 * centre of the mesh over the whole step as its origin and a power of two as its unit, so that
 * every vertex of the mesh is within 1 of it. A ghost vertex is outside by at most sqrt(1.5 n), if
 * its hole has n edges that wind around it many times: below 2^15.3 for 2^30 edges, so that a sum
 * of two coordinates in doubles has an error below 2^-35. Such sums are extended by 2^-34. Then
 * bounds are rounded to floats. That is monotonic, as is the rounding of coordinates: it keeps the
 * order of any two points, so a gap between rounded values is a gap between true ones.
 */
#include "self/self.h"

#include <math.h>

/* Error bound of sums of coordinates. */
#define BOUNDS_SLACK 0x1p-34

enum { VERTICES_PER_TASK = 4096, NODES_PER_TASK = 2048 };

/* ---- build ---- */

typedef struct range {
    uint32_t begin, end;
} range;

/* The centres of the triangles in a frame whose origin is the centre of the mesh, so that sums do
 * not overflow. */
static void compute_centres(const abut_self *view, vec3 *centres) {
    const abut_mesh *mesh = view->mesh;
    box3 box = box_empty();
    for (uint32_t i = 0; i < view->vertex_count; i++)
        box = box_grow(box, mesh->positions[i]);
    vec3 middle = box_centre(box);
    double size = v3_max_abs(v3_sub(box.hi, middle)), scale = size > 0 ? 1 / size : 1;
    if (!(scale <= DBL_MAX))
        scale = 1;
    for (size_t i = 0; i < view->triangle_count; i++) {
        centres[i] = v3(0, 0, 0);
        for (size_t k = 0; k < 3; k++) {
            vec3 from = v3_sub(mesh->positions[mesh->indices[3 * i + k]], middle);
            centres[i] = v3_add(centres[i], v3_scale(from, scale));
        }
    }
}

/* Halves a range of triangles along the longest axis of their centres. */
static void halve_range(const vec3 *centres, sort_key *order, sort_key *spare, range r,
                        uint32_t middle) {
    box3 box = box_empty();
    for (uint32_t i = r.begin; i < r.end; i++)
        box = box_grow(box, centres[order[i].value]);
    const int axis = box_longest_axis(box);
    for (uint32_t i = r.begin; i < r.end; i++)
        order[i].key = abuti_ordered_bits(v3_get(centres[order[i].value], axis));
    abuti_select(order + r.begin, spare, r.end - r.begin, middle - r.begin);
}

/* Splits node after node; this order stores nodes level by level. */
static void split_nodes(view_tree *tree, uint32_t count, const vec3 *centres, sort_key *order,
                        range *ranges) {
    uint32_t used = 1, level_end = 1;
    for (uint32_t i = 0; i < count; i++)
        order[i].value = i;
    ranges[0] = (range){0, count};
    tree->level_begin[0] = 0;
    tree->level_count = 1;
    for (uint32_t node = 0; node < used; node++) {
        if (node == level_end) {
            tree->level_begin[tree->level_count++] = node;
            level_end = used;
        }
        range r = ranges[node];
        if (r.end - r.begin == 1) {
            tree->child[node] = TREE_LEAF | order[r.begin].value;
            continue;
        }
        uint32_t middle = r.begin + (r.end - r.begin) / 2;
        halve_range(centres, order, order + count, r, middle);
        tree->child[node] = used;
        ranges[used++] = (range){r.begin, middle};
        ranges[used++] = (range){middle, r.end};
    }
    tree->level_begin[tree->level_count] = used;
}

abut_status abuti_view_tree_build(abut_self *view) {
    abut_context *context = view->context;
    view_tree *tree = &view->tree;
    const size_t count = view->triangle_count, nodes = 2 * count - 1;
    tree->node_count = (uint32_t)nodes;
    tree->child = abuti_allocate(context, nodes, sizeof *tree->child);
    tree->bounds = abuti_allocate(context, nodes, 2 * (size_t)DOP_SLABS * sizeof *tree->bounds);
    vec3 *centres = abuti_allocate(context, count, sizeof *centres);
    sort_key *order = abuti_allocate(context, 2 * count, sizeof *order);
    range *ranges = abuti_allocate(context, nodes, sizeof *ranges);
    bool all = tree->child && tree->bounds && centres && order && ranges;
    if (all) {
        compute_centres(view, centres);
        split_nodes(tree, (uint32_t)count, centres, order, ranges);
    }
    ABUTI_RELEASE(context, centres, order, ranges);
    return all ? ABUT_OK : ABUT_ERROR_MEMORY;
}

void abuti_view_tree_release(abut_self *view) {
    ABUTI_RELEASE(view->context, view->tree.child, view->tree.bounds);
}

/* ---- vertices ---- */

static void compute_frame(abut_self *view) {
    const box3 box = box_join(view->motion->place.start_box, view->motion->place.end_box);
    view->centre = box_centre(box);
    double size = real_max(v3_max_abs(v3_sub(box.hi, view->centre)),
                           v3_max_abs(v3_sub(box.lo, view->centre)));
    int exponent;
    frexp(size, &exponent);
    view->scale = size > 0 && exponent > -1000 ? ldexp(1, -exponent) : 1;
}

/* The float position at one end of the step, and the values of all slabs. */
static void place_vertex(const abut_self *view, vec3 at, float place[4], double value[DOP_SLABS]) {
    const vec3 p = v3_scale(v3_sub(at, view->centre), view->scale);
    const double values[DOP_SLABS] = {p.x,       p.y,       p.z,       p.x + p.y,
                                      p.x + p.z, p.y + p.z, p.x - p.y, p.x - p.z};
    memcpy(value, values, sizeof values);
    for (int k = 0; k < 3; k++)
        place[k] = (float)value[k];
    place[3] = 0;
}

static void vertices_task(void *data, size_t chunk, size_t begin, size_t end) {
    const abut_self *view = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        float *bounds = view->vertex_bounds + i * 2 * (size_t)DOP_SLABS;
        double a[DOP_SLABS], b[DOP_SLABS];
        place_vertex(view, view->start[i], view->places[i].at[0], a);
        place_vertex(view, view->end[i], view->places[i].at[1], b);
        for (int k = 0; k < DOP_SLABS; k++) {
            const double slack = k < 3 ? 0 : BOUNDS_SLACK;
            bounds[k] = (float)(real_min(a[k], b[k]) - slack);
            bounds[DOP_SLABS + k] = (float)(real_max(a[k], b[k]) + slack);
        }
    }
}

/* ---- nodes ---- */

void abuti_view_triangle_bounds(const abut_self *view, uint32_t triangle, float *bounds) {
    const uint32_t *corner = view->corners + 3 * (size_t)triangle;
    const size_t step = 2 * (size_t)DOP_SLABS;
    bounds_join(bounds, view->vertex_bounds + corner[0] * step,
                view->vertex_bounds + corner[1] * step);
    bounds_join(bounds, bounds, view->vertex_bounds + corner[2] * step);
}

typedef struct fit_job {
    abut_self *view;
    uint32_t first; /* node of the level */
} fit_job;

static void nodes_task(void *data, size_t chunk, size_t begin, size_t end) {
    const fit_job *f = data;
    const view_tree *tree = &f->view->tree;
    const size_t step = 2 * (size_t)DOP_SLABS;
    (void)chunk;
    for (size_t node = f->first + begin; node < f->first + end; node++) {
        const uint32_t child = tree->child[node];
        float *to = tree->bounds + node * step;
        if (child & TREE_LEAF)
            abuti_view_triangle_bounds(f->view, child & ~TREE_LEAF, to);
        else
            bounds_join(to, tree->bounds + child * step, tree->bounds + (child + (size_t)1) * step);
    }
}

/* Refits level by level, bottom-up. */
void abuti_view_tree_fit(abut_self *view) {
    const view_tree *tree = &view->tree;
    compute_frame(view);
    abuti_parallel_for(view->context, (size_t)view->vertex_count + view->hole_count,
                       VERTICES_PER_TASK, vertices_task, view);
    for (uint32_t level = tree->level_count; level-- > 0;) {
        fit_job f = {view, tree->level_begin[level]};
        abuti_parallel_for(view->context, tree->level_begin[level + 1] - f.first, NODES_PER_TASK,
                           nodes_task, &f);
    }
}
