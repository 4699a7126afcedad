/* Traversal of the trees of the broad phase for queries, nearest boxes first.
 *
 * Rays and moving shapes are one case: a box that moves along a straight line. A box of the tree is
 * extended by it, and the origin of the moving box is a ray (Ericson 2005, section 5.5.8). Bounds
 * are conservative: boxes of items are rounded outwards by more than the rounding errors of
 * results, and boxes on a path are padded by PATH_ERROR of the coordinates.
 */
#include "world/query.h"

#include <assert.h>
#include <math.h>

enum { QUERY_STACK = 72 }; /* two nodes per level of a tree, whose depth is at most 32 */

/* A path has fewer than 50 roundings of 2^-53 relative to the coordinates: those of its ends, of
 * the conversion to local coordinates, and of the slabs. */
#define PATH_ERROR 1e-13
/* Likewise for distances. */
#define DISTANCE_ERROR 1e-13

/* ---- bounds ---- */

static double bound_distance(const query_region *region, const box3 *box) {
    const vec3 zero = {0, 0, 0};
    const vec3 gap =
        v3_max(zero, v3_max(v3_sub(region->box.lo, box->hi), v3_sub(box->lo, region->box.hi)));
    const double error =
        DISTANCE_ERROR * real_max(real_max(v3_max_abs(box->lo), v3_max_abs(box->hi)),
                                  real_max(v3_max_abs(region->box.lo), v3_max_abs(region->box.hi)));
    return real_max(v3_length(gap) - error, 0);
}

bool abuti_query_path_interval(const query_region *region, const box3 *box, double interval[2]) {
    const double pad =
        region->pad + PATH_ERROR * real_max(v3_max_abs(box->lo), v3_max_abs(box->hi));
    double enter = 0, leave = region->limit;
    for (int k = 0; k < 3; k++) {
        const double lo = v3_get(box->lo, k) - v3_get(region->box.hi, k) - pad,
                     hi = v3_get(box->hi, k) - v3_get(region->box.lo, k) + pad,
                     shift = v3_get(region->shift, k);
        if (shift == 0) {
            if (lo > 0 || hi < 0)
                return false;
            continue;
        }
        const double to_lo = lo / shift, to_hi = hi / shift;
        enter = real_max(enter, real_min(to_lo, to_hi));
        leave = real_min(leave, real_max(to_lo, to_hi));
    }
    interval[0] = enter;
    interval[1] = leave;
    return enter <= leave;
}

static double bound_path(const query_region *region, const box3 *box) {
    double interval[2];
    return abuti_query_path_interval(region, box, interval) ? interval[0] : INFINITY;
}

query_region abuti_query_distance_region(box3 box, double limit) {
    return (query_region){.bound = bound_distance, .limit = limit, .box = box};
}

query_region abuti_query_path_region(box3 box, vec3 shift, double limit) {
    return (query_region){.bound = bound_path,
                          .limit = limit,
                          .box = box,
                          .shift = shift,
                          .pad = PATH_ERROR * real_max(v3_max_abs(box.lo), v3_max_abs(box.hi))};
}

/* ---- traversal ---- */

typedef struct bounded_node {
    uint32_t node;
    double bound;
} bounded_node;

static abut_status visit_leaf(const world_query *q, const world_tree_node *leaf,
                              query_region *region, query_visit *visit, void *data) {
    const world_tree_entry *entries = q->world->tree.entries.data;
    abut_status status = ABUT_OK;
    for (uint32_t i = leaf->begin; i < leaf->end && !status; i++) {
        const double bound = region->bound(region, &entries[i].box);
        if (bound <= region->limit && bound < INFINITY && abuti_query_accepts(q, entries[i].item))
            status = visit(data, entries[i].item, region);
    }
    return status;
}

static abut_status traverse_tree(const world_query *q, uint32_t root, query_region *region,
                                 query_visit *visit, void *data) {
    const world_tree_node *nodes = q->world->tree.nodes.data;
    bounded_node stack[QUERY_STACK];
    uint32_t top = 0;
    abut_status status = ABUT_OK;
    stack[top++] = (bounded_node){root, region->bound(region, &nodes[root].box)};
    while (top && !status) {
        const bounded_node next = stack[--top];
        const world_tree_node *n = &nodes[next.node];
        if (!(next.bound <= region->limit && next.bound < INFINITY))
            continue;
        if (!n->right) {
            status = visit_leaf(q, n, region, visit, data);
            continue;
        }
        const uint32_t children[2] = {next.node + 1, n->right};
        const double bounds[2] = {region->bound(region, &nodes[children[0]].box),
                                  region->bound(region, &nodes[children[1]].box)};
        const int first = bounds[1] < bounds[0];
        assert(top + 2 <= QUERY_STACK);
        stack[top++] = (bounded_node){children[!first], bounds[!first]};
        stack[top++] = (bounded_node){children[first], bounds[first]};
    }
    return status;
}

abut_status abuti_query_traverse(const world_query *q, query_region *region, query_visit *visit,
                                 void *data) {
    const world_tree *tree = &q->world->tree;
    const abuti_vector *planes = &q->world->queries.planes;
    abut_status status = ABUT_OK;
    for (uint32_t k = 0; k < WORLD_CLASSES && !status; k++)
        if (tree->roots[k + 1] > tree->roots[k])
            status = traverse_tree(q, tree->roots[k], region, visit, data);
    for (size_t i = 0; i < planes->count && !status && region->limit >= 0; i++)
        if (abuti_query_accepts(q, ABUTI_AT(planes, uint32_t, i)))
            status = visit(data, ABUTI_AT(planes, uint32_t, i), region);
    return status;
}
