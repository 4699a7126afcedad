/* A binary tree of swept triangles with bounding boxes or 16-DOPs, refitted in each step. */
#include "baseline.h"

#include "apps/cmd/vectors.h"

typedef struct keyed {
    double key;
    uint32_t triangle;
} keyed;

static int compare_keys(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->triangle < y->triangle ? -1 : x->triangle > y->triangle;
}

static void sort_along_longest_axis(keyed *order, uint32_t count, const abut_vec3 *centres) {
    abut_box box = empty_box;
    for (uint32_t i = 0; i < count; i++)
        box_add(&box, centres[order[i].triangle]);
    const abut_vec3 size = vec_sub(box.hi, box.lo);
    for (uint32_t i = 0; i < count; i++) {
        const abut_vec3 c = centres[order[i].triangle];
        order[i].key = size.x >= size.y && size.x >= size.z ? c.x : size.y >= size.z ? c.y : c.z;
    }
    qsort(order, count, sizeof *order, compare_keys);
}

static void split(baseline_tree *tree, uint32_t count, const abut_vec3 *centres) {
    keyed *order = baseline_array(count, sizeof *order);
    uint32_t(*ranges)[2] = baseline_array(tree->node_count, sizeof *ranges);
    uint32_t used = 1, level_end = 1;
    for (uint32_t i = 0; i < count; i++)
        order[i].triangle = i;
    ranges[0][1] = count;
    tree->level_begin[tree->level_count++] = 0;
    for (uint32_t node = 0; node < used; node++) {
        if (node == level_end) {
            tree->level_begin[tree->level_count++] = node;
            level_end = used;
        }
        const uint32_t begin = ranges[node][0], end = ranges[node][1];
        const uint32_t middle = begin + (end - begin) / 2;
        if (end - begin == 1) {
            tree->child[node] = BASELINE_LEAF | order[begin].triangle;
            continue;
        }
        sort_along_longest_axis(order + begin, end - begin, centres);
        tree->child[node] = used;
        ranges[used][0] = begin;
        ranges[used + 1][1] = end;
        ranges[used][1] = ranges[used + 1][0] = middle;
        used += 2;
    }
    tree->level_begin[tree->level_count] = used;
    free(order);
    free(ranges);
}

void baseline_tree_build(baseline_tree *tree, uint32_t slabs, const uint32_t *corners,
                         uint32_t triangle_count, const abut_vec3 *positions,
                         uint32_t vertex_count) {
    abut_vec3 *centres = baseline_array(triangle_count, sizeof *centres);
    *tree = (baseline_tree){.slabs = slabs, .corners = corners};
    for (uint32_t i = 0; i < triangle_count; i++)
        centres[i] = vec_centroid(positions[corners[3 * i]], positions[corners[3 * i + 1]],
                                  positions[corners[3 * i + 2]]);
    tree->node_count = 2 * triangle_count - 1;
    tree->child = baseline_array(tree->node_count, sizeof *tree->child);
    tree->bounds = baseline_array(tree->node_count, 2 * slabs * sizeof *tree->bounds);
    tree->of_vertices = baseline_array(vertex_count, 2 * slabs * sizeof *tree->of_vertices);
    split(tree, triangle_count, centres);
    free(centres);
}

void baseline_tree_release(baseline_tree *tree) {
    free(tree->child);
    free(tree->bounds);
    free(tree->of_vertices);
}

/* x, y, z, x + y, x + z, y + z, x - y, x - z. */
static inline void project(abut_vec3 p, double along[BASELINE_SLABS]) {
    along[0] = p.x;
    along[1] = p.y;
    along[2] = p.z;
    along[3] = p.x + p.y;
    along[4] = p.x + p.z;
    along[5] = p.y + p.z;
    along[6] = p.x - p.y;
    along[7] = p.x - p.z;
}

static inline void join(float *to, const float *a, const float *b, uint32_t slabs) {
    for (uint32_t k = 0; k < slabs; k++) {
        to[k] = a[k] < b[k] ? a[k] : b[k];
        to[slabs + k] = a[slabs + k] > b[slabs + k] ? a[slabs + k] : b[slabs + k];
    }
}

/* Rounding to floats is monotonic: bounds that overlap still do. */
static inline void refit(baseline_tree *tree, const baseline_step *step, uint32_t slabs) {
    double from[BASELINE_SLABS], to[BASELINE_SLABS];
    for (size_t i = 0; i < step->count; i++) {
        float *bounds = tree->of_vertices + i * 2 * slabs;
        project(step->start[i], from);
        project(step->end[i], to);
        for (uint32_t k = 0; k < slabs; k++) {
            bounds[k] = (float)(from[k] < to[k] ? from[k] : to[k]);
            bounds[slabs + k] = (float)(from[k] > to[k] ? from[k] : to[k]);
        }
    }
    for (size_t node = tree->node_count; node-- > 0;) {
        float *bounds = tree->bounds + node * 2 * slabs;
        if (tree->child[node] & BASELINE_LEAF) {
            const uint32_t *corner =
                tree->corners + 3 * (size_t)(tree->child[node] - BASELINE_LEAF);
            const float *a = tree->of_vertices + (size_t)corner[0] * 2 * slabs;
            join(bounds, a, tree->of_vertices + (size_t)corner[1] * 2 * slabs, slabs);
            join(bounds, bounds, tree->of_vertices + (size_t)corner[2] * 2 * slabs, slabs);
        } else {
            const float *first = tree->bounds + (size_t)tree->child[node] * 2 * slabs;
            join(bounds, first, first + 2 * slabs, slabs);
        }
    }
}

void baseline_tree_refit(baseline_tree *tree, const baseline_step *step) {
    if (tree->slabs == 3)
        refit(tree, step, 3);
    else
        refit(tree, step, BASELINE_SLABS);
}

static inline bool overlap(const float *a, const float *b, uint32_t slabs) {
    int apart = 0;
    for (uint32_t k = 0; k < slabs; k++)
        apart |= (a[k] > b[slabs + k]) | (b[k] > a[slabs + k]);
    return !apart;
}

bool baseline_overlap(const float *a, const float *b, uint32_t slabs) {
    return slabs == 3 ? overlap(a, b, 3) : overlap(a, b, BASELINE_SLABS);
}

void baseline_pairs_add(baseline_pairs *pairs, uint32_t a, uint32_t b) {
    if (pairs->count == pairs->capacity) {
        pairs->capacity = pairs->capacity ? 2 * pairs->capacity : 4096;
        pairs->list = realloc(pairs->list, pairs->capacity * sizeof *pairs->list);
        if (!pairs->list)
            abort();
    }
    pairs->list[pairs->count][0] = a;
    pairs->list[pairs->count++][1] = b;
}

void baseline_tree_cross(const baseline_tree *a, uint32_t node_a, const baseline_tree *b,
                         uint32_t node_b, baseline_pairs *pairs) {
    const size_t stride = 2 * (size_t)a->slabs;
    if (!baseline_overlap(a->bounds + node_a * stride, b->bounds + node_b * stride, a->slabs))
        return;
    const uint32_t of_a = a->child[node_a], of_b = b->child[node_b];
    const bool leaf_a = of_a & BASELINE_LEAF, leaf_b = of_b & BASELINE_LEAF;
    if (leaf_a && leaf_b) {
        baseline_pairs_add(pairs, of_a - BASELINE_LEAF, of_b - BASELINE_LEAF);
        return;
    }
    for (uint32_t i = 0; i < (leaf_a ? 1 : 2); i++)
        for (uint32_t j = 0; j < (leaf_b ? 1 : 2); j++)
            baseline_tree_cross(a, leaf_a ? node_a : of_a + i, b, leaf_b ? node_b : of_b + j,
                                pairs);
}

void baseline_tree_mark(const baseline_tree *tree, unsigned char *marks) {
    for (size_t node = tree->node_count; node-- > 0;) {
        const uint32_t child = tree->child[node];
        marks[node] = child & BASELINE_LEAF ? 1 : (unsigned char)(marks[child] | marks[child + 1]);
    }
}
