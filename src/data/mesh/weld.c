/* Merging of vertices.
 *
 * Equal positions are found by a hash table with a random seed, in expected linear time.
 *
 * With a tolerance, the remaining different positions are put into a k-d tree, and the tree is
 * joined with itself: a node smaller than the tolerance is one cluster at once; two nodes farther
 * apart than the tolerance are skipped; two nodes whose points are already one cluster are skipped;
 * all others are split. So neither a million points within the tolerance nor a tolerance that is
 * tiny compared with the coordinates needs special treatment: there are no cells and no cell
 * indices. Clusters are the transitive closure of "closer than tolerance", in any order of joining.
 */
#include "mesh/mesh.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* ---- equal positions ---- */

abut_status abuti_vertex_table_resize(abut_context *context, abuti_vertex_table *table, size_t room,
                                      const vec3 *positions, uint32_t count) {
    size_t capacity = 1;
    struct timespec now = {0, 0};
    while (capacity / 3 * 2 < room) /* at most two thirds full */
        capacity *= 2;
    uint32_t *slots = abuti_allocate(context, capacity, sizeof *slots);
    if (!slots)
        return ABUT_ERROR_MEMORY;
    memset(slots, 0xff, capacity * sizeof *slots); /* ABUT_NONE */
    clock_gettime(CLOCK_REALTIME, &now);
    abuti_release(context, table->slots);
    *table = (abuti_vertex_table){slots, capacity,
                                  abuti_mix_bits((uint64_t)now.tv_nsec ^
                                                 (uint64_t)now.tv_sec << 30 ^ (uintptr_t)slots)};
    for (uint32_t v = 0; v < count; v++)
        *abuti_vertex_slot(table, positions, positions[v]) = v;
    return ABUT_OK;
}

abut_status abuti_coincident_vertices(abut_context *context, const vec3 *positions, uint32_t count,
                                      uint32_t *lowest) {
    abuti_vertex_table table = {.slots = NULL};
    abut_status status = abuti_vertex_table_resize(context, &table, count, NULL, 0);
    for (uint32_t v = 0; v < count && !status; v++) {
        uint32_t *slot = abuti_vertex_slot(&table, positions, positions[v]);
        *slot = *slot == ABUT_NONE ? v : *slot;
        lowest[v] = *slot;
        if (v % 4096 == 0 && abuti_stop(context, "weld"))
            status = abuti_stop_status("weld");
    }
    abuti_release(context, table.slots);
    return status;
}

/* ---- positions within a tolerance ---- */

#define LEAF_POINTS 8

typedef struct tree {
    abut_context *context;
    uint32_t steps; /* of the join */
    const vec3 *positions;
    double tolerance;
    sort_key *order; /* vertices; a node is a range of them. Keys only halve it */
    sort_key *spare;
    uint32_t *parent; /* of the union-find of vertices */
    box3 *boxes;      /* by heap index: root 1, children 2i and 2i + 1 */
    bool *is_joined;  /* whether all points of the node are known to be one cluster */
} tree;

typedef struct node {
    size_t number;
    size_t begin, end;
} node;

static bool is_leaf(node n) {
    return n.end - n.begin <= LEAF_POINTS;
}
static node left_of(node n) {
    node child = {2 * n.number, n.begin, n.begin + (n.end - n.begin) / 2};
    return child;
}
static node right_of(node n) {
    node child = {2 * n.number + 1, n.begin + (n.end - n.begin) / 2, n.end};
    return child;
}

/* Squared length of a vector in units of the tolerance. Dividing first prevents underflow of
 * 1e-200; an overflow means far apart. */
static double measure_sq(const tree *t, vec3 d) {
    double x = d.x / t->tolerance, y = d.y / t->tolerance, z = d.z / t->tolerance;
    return x * x + y * y + z * z;
}

static bool are_close(const tree *t, uint32_t a, uint32_t b) {
    return measure_sq(t, v3_sub(t->positions[a], t->positions[b])) < 1;
}

/* Smallest and largest distance of points of two boxes, as measure_sq(). Rounded differences are
 * monotonic, so no pair of points is outside these bounds. */
static double distance_min_sq(const tree *t, const box3 *a, const box3 *b) {
    vec3 gap = v3_max(v3_sub(a->lo, b->hi), v3_sub(b->lo, a->hi));
    return measure_sq(t, v3_max(gap, v3(0, 0, 0)));
}
static double distance_max_sq(const tree *t, const box3 *a, const box3 *b) {
    return measure_sq(t, v3_max(v3_sub(a->hi, b->lo), v3_sub(b->hi, a->lo)));
}

/* Joins all points of a node. */
static void join_node(tree *t, node n) {
    for (size_t i = n.begin + 1; i < n.end && !t->is_joined[n.number]; i++)
        abuti_join(t->parent, t->order[n.begin].value, t->order[i].value);
    t->is_joined[n.number] = true;
}

/* Builds the tree below a node; the recursion depth is that of the tree, at most 30. */
static void build_node(tree *t, node n) {
    box3 box = box_empty();
    for (size_t i = n.begin; i < n.end; i++)
        box = box_grow(box, t->positions[t->order[i].value]);
    t->boxes[n.number] = box;
    t->is_joined[n.number] = n.end - n.begin == 1;
    if (distance_max_sq(t, &box, &box) < 1)
        join_node(t, n);
    if (is_leaf(n))
        return;
    const int axis = box_longest_axis(box);
    for (size_t i = n.begin; i < n.end; i++)
        t->order[i].key = abuti_ordered_bits(v3_get(t->positions[t->order[i].value], axis));
    abuti_select(t->order + n.begin, t->spare, n.end - n.begin, left_of(n).end - n.begin);
    build_node(t, left_of(n));
    build_node(t, right_of(n));
}

static void join_leaves(tree *t, node a, node b) {
    for (size_t i = a.begin; i < a.end; i++)
        for (size_t j = a.number == b.number ? i + 1 : b.begin; j < b.end; j++)
            if (are_close(t, t->order[i].value, t->order[j].value)) {
                abuti_join(t->parent, t->order[i].value, t->order[j].value);
                if (t->is_joined[a.number] && t->is_joined[b.number])
                    return;
            }
}

/* Joins close points of two nodes (neither contains the other). */
static void join_nodes(tree *t, node a, node b) {
    if (++t->steps % 256 == 0 && abuti_stop(t->context, "weld"))
        return;
    const box3 *p = &t->boxes[a.number], *q = &t->boxes[b.number];
    if (distance_min_sq(t, p, q) >= 1)
        return;
    bool both_joined = t->is_joined[a.number] && t->is_joined[b.number];
    if (both_joined && abuti_root(t->parent, t->order[a.begin].value) ==
                           abuti_root(t->parent, t->order[b.begin].value))
        return;
    if (distance_max_sq(t, p, q) < 1) {
        join_node(t, a);
        join_node(t, b);
        abuti_join(t->parent, t->order[a.begin].value, t->order[b.begin].value);
        return;
    }
    if (is_leaf(a) && is_leaf(b)) {
        join_leaves(t, a, b);
    } else if (is_leaf(b) || (!is_leaf(a) && a.end - a.begin >= b.end - b.begin)) {
        join_nodes(t, left_of(a), b);
        join_nodes(t, right_of(a), b);
    } else {
        join_nodes(t, a, left_of(b));
        join_nodes(t, a, right_of(b));
    }
}

/* Joins close points within a node. */
static void join_within_node(tree *t, node n) {
    if (t->is_joined[n.number])
        return;
    if (is_leaf(n)) {
        join_leaves(t, n, n);
        return;
    }
    join_within_node(t, left_of(n));
    join_within_node(t, right_of(n));
    join_nodes(t, left_of(n), right_of(n));
}

/* Joins the sets in `parent`, whose roots are different positions, that are closer than the
 * tolerance. */
static abut_status join_close(abut_context *context, const vec3 *positions, uint32_t count,
                              double tolerance, uint32_t *parent) {
    size_t root_count = 0, node_count = 2;
    for (uint32_t v = 0; v < count; v++)
        root_count += parent[v] == v;
    while (4 * node_count < root_count) /* a tree of depth d has at most LEAF_POINTS 2^d points */
        node_count *= 2;
    tree t = {.context = context, .positions = positions, .tolerance = tolerance, .parent = parent};
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(t.order, root_count), ABUTI_ARRAY(t.spare, root_count),
                       ABUTI_ARRAY(t.boxes, node_count), ABUTI_ARRAY(t.is_joined, node_count));
    if (!status) {
        node root = {1, 0, root_count};
        root_count = 0;
        for (uint32_t v = 0; v < count; v++)
            if (parent[v] == v)
                t.order[root_count++].value = v;
        build_node(&t, root);
        join_within_node(&t, root);
        status = abuti_stop_status("weld");
    }
    ABUTI_RELEASE(context, t.order, t.spare, t.boxes, t.is_joined);
    return status;
}

/* ---- the new mesh ---- */

/* Writes the triangles that keep three corners and numbers the vertices that they use. `number`
 * gets the new index of every kept vertex. */
static void rebuild_triangles(const abut_mesh *mesh, uint32_t *parent, uint32_t *number,
                              uint32_t *indices, size_t *triangle_count, size_t *vertex_count) {
    size_t kept = 0, used = 0;
    for (size_t v = 0; v < mesh->vertex_count; v++)
        number[v] = ABUT_NONE;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        uint32_t *corner = indices + 3 * kept;
        for (int k = 0; k < 3; k++)
            corner[k] = abuti_root(parent, mesh->indices[3 * t + (size_t)k]);
        if (abuti_is_collapsed(corner))
            continue;
        kept++;
        for (int k = 0; k < 3; k++)
            number[corner[k]] = 0; /* used */
    }
    for (size_t v = 0; v < mesh->vertex_count; v++)
        if (number[v] != ABUT_NONE)
            number[v] = (uint32_t)used++;
    for (size_t i = 0; i < 3 * kept; i++)
        indices[i] = number[indices[i]];
    *triangle_count = kept;
    *vertex_count = used;
}

static abut_status make_welded(const abut_mesh *mesh, double tolerance, uint32_t *parent,
                               uint32_t *number, abut_mesh **welded) {
    abut_context *context = mesh->context;
    abuti_vector kept = {.room = mesh->triangle_count};
    size_t triangle_count, vertex_count;
    if (!(kept.data = abuti_allocate(context, kept.room, 3 * sizeof(uint32_t))))
        return ABUT_ERROR_MEMORY;
    rebuild_triangles(mesh, parent, number, kept.data, &triangle_count, &vertex_count);
    if (!triangle_count) {
        abuti_release(context, kept.data);
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_mesh_weld: tolerance %g leaves no triangle with three corners; "
                          "use a smaller one",
                          tolerance);
    }
    vec3 *positions = abuti_allocate(context, vertex_count, sizeof *positions);
    kept.count = triangle_count;
    uint32_t *indices = abuti_vector_take(context, &kept, 3 * sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        if (number[v] != ABUT_NONE)
            positions[number[v]] = abuti_mesh_position(mesh, v);
    abut_status status = abuti_mesh_adopt(context, "abut_mesh_weld", positions, vertex_count,
                                          indices, triangle_count, welded);
    if (!status)
        (*welded)->up = mesh->up;
    return status;
}

abut_status abut_mesh_weld(const abut_mesh *mesh, double tolerance, abut_mesh **welded) {
    if (!mesh || !welded)
        return abuti_null(__func__, mesh ? "welded" : "mesh");
    if (!(tolerance >= 0 && tolerance <= DBL_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_mesh_weld: tolerance is %g; it must be finite and not negative",
                          tolerance);
    abut_context *context = mesh->context;
    abut_status status = abuti_progress(context, "weld", 0);
    if (status)
        return status;
    uint32_t *parent, *number;
    if ((status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(parent, mesh->vertex_count),
                                 ABUTI_ARRAY(number, mesh->vertex_count))))
        return status;
    status = abuti_coincident_vertices(context, mesh->positions, mesh->vertex_count, parent);
    if (!status)
        status = abuti_progress(context, "weld", 0.3);
    if (!status && tolerance > 0)
        status = join_close(context, mesh->positions, mesh->vertex_count, tolerance, parent);
    if (!status)
        status = abuti_progress(context, "weld", 0.8);
    if (!status)
        status = make_welded(mesh, tolerance, parent, number, welded);
    ABUTI_RELEASE(context, parent, number);
    return status;
}
