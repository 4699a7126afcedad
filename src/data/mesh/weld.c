/* Merging of vertices.
 *
 * Equal positions are found by hashing into buckets. A bucket with many different positions
 * (malicious input can create one) is sorted instead, so that the worst case is O(n log n).
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
#include <stdatomic.h>
#include <string.h>

/* ---- equal positions ---- */

static uint64_t mix_bits(uint64_t h) { /* the finaliser of splitmix64 (Steele, Lea & Flood 2014) */
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

static uint64_t hash_position(vec3 p) {
    double plain[3] = {p.x + 0.0, p.y + 0.0, p.z + 0.0}; /* -0 becomes 0 */
    uint64_t bits[3];
    memcpy(bits, plain, sizeof bits);
    return mix_bits(bits[0] + mix_bits(bits[1] + mix_bits(bits[2] + 0x9e3779b97f4a7c15u)));
}

/* Compares by one axis first, then by the next two. */
static int compare_positions(vec3 a, vec3 b, int axis) {
    for (int i = 0; i < 3; i++, axis = axis == 2 ? 0 : axis + 1) {
        double p = v3_get(a, axis), q = v3_get(b, axis);
        if (p != q)
            return p < q ? -1 : 1;
    }
    return 0;
}

static bool same_position(vec3 a, vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* Stable merge sort of vertices by position. */
static void sort_by_position(const vec3 *positions, int axis, uint32_t *order, uint32_t *buffer,
                             size_t count) {
    uint32_t *from = order, *to = buffer;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t middle = begin + width < count ? begin + width : count;
            size_t end = begin + 2 * width < count ? begin + 2 * width : count;
            for (size_t i = begin, j = middle, k = begin; k < end; k++) {
                bool left = j == end ||
                            (i < middle &&
                             compare_positions(positions[from[i]], positions[from[j]], axis) <= 0);
                to[k] = left ? from[i++] : from[j++];
            }
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, count * sizeof *order);
}

#define BUCKET_POSITIONS_MAX 16

/* The members of a bucket ascend. Returns false if it has more than BUCKET_POSITIONS_MAX positions.
 */
static bool match_few(const vec3 *positions, const uint32_t *members, size_t count,
                      uint32_t *lowest) {
    uint32_t known[BUCKET_POSITIONS_MAX];
    size_t known_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t vertex = members[i];
        size_t k = 0;
        while (k < known_count && !same_position(positions[known[k]], positions[vertex]))
            k++;
        if (k == known_count) {
            if (known_count == BUCKET_POSITIONS_MAX)
                return false;
            known[known_count++] = vertex;
        }
        lowest[vertex] = known[k];
    }
    return true;
}

static abut_status match_many(abut_context *context, const vec3 *positions, uint32_t *members,
                              size_t count, uint32_t *lowest) {
    uint32_t *buffer = abuti_allocate(context, count, sizeof *buffer);
    if (!buffer)
        return ABUT_ERROR_MEMORY;
    sort_by_position(positions, 0, members, buffer, count);
    for (size_t i = 0; i < count; i++) {
        bool same = i && same_position(positions[members[i - 1]], positions[members[i]]);
        lowest[members[i]] = same ? lowest[members[i - 1]] : members[i];
    }
    abuti_release(context, buffer);
    return ABUT_OK;
}

typedef struct hash_work {
    abut_context *context;
    const vec3 *positions;
    uint32_t *hashes; /* bucket of each vertex */
    unsigned bits;    /* bits of a bucket index */
    unsigned shift;   /* shift that maps buckets to ranges */
    size_t bucket_count;
    uint32_t *partitioned;     /* vertices by range */
    uint32_t *begin, *members; /* of buckets; ranges share no word, see bucket_at() */
    uint32_t *lowest;
    abuti_partition partition;
    atomic_bool crowded; /* some buckets need match_many() */
} hash_work;

/* The first member of a bucket; its members end at the next word. */
static uint32_t *bucket_at(const hash_work *w, size_t bucket) {
    return w->begin + bucket + (bucket >> w->shift);
}

static void partition_vertices(void *data, size_t begin, size_t end, bool writes, size_t *next) {
    hash_work *w = data;
    for (size_t v = begin; v < end; v++) {
        if (!writes)
            w->hashes[v] = (uint32_t)(hash_position(w->positions[v]) >> (64 - w->bits));
        size_t at = next[w->hashes[v] >> w->shift]++;
        if (writes)
            w->partitioned[at] = (uint32_t)v;
    }
}

static bool match_bucket(hash_work *w, size_t bucket) {
    const uint32_t *begin = bucket_at(w, bucket);
    return match_few(w->positions, w->members + begin[0], begin[1] - begin[0], w->lowest);
}

/* Fills the buckets of a range, and matches their positions. */
static void match_range(void *data, size_t part, size_t unused, size_t unused_end) {
    hash_work *w = data;
    const size_t first = part << w->shift, left = w->bucket_count - first;
    const size_t count = left < (size_t)1 << w->shift ? left : (size_t)1 << w->shift;
    const size_t partitioned = w->partition.begin[part],
                 partitioned_end = w->partition.begin[part + 1];
    uint32_t *begin = bucket_at(w, first), sum = (uint32_t)partitioned;
    (void)unused;
    (void)unused_end;
    memset(begin, 0, count * sizeof *begin);
    for (size_t i = partitioned; i < partitioned_end; i++)
        begin[w->hashes[w->partitioned[i]] - first]++;
    for (size_t i = 0; i < count; i++)
        begin[i] = sum += begin[i];
    begin[count] = sum;
    for (size_t i = partitioned_end; i-- > partitioned;)
        w->members[--begin[w->hashes[w->partitioned[i]] - first]] = w->partitioned[i];
    for (size_t i = 0; i < count; i++)
        if (!match_bucket(w, first + i))
            atomic_store_explicit(&w->crowded, true, memory_order_relaxed);
}

static abut_status match_buckets(hash_work *w, uint32_t count) {
    abuti_partition_run(w->context, count, partition_vertices, w, &w->partition);
    abut_status status =
        abuti_parallel_try(w->context, "weld", ((w->bucket_count - 1) >> w->shift) + 1, 1,
                           match_range, w);
    if (status || !atomic_load(&w->crowded))
        return status;
    for (size_t i = 0; i < w->bucket_count; i++) {
        const uint32_t *begin = bucket_at(w, i);
        if (!match_bucket(w, i) && match_many(w->context, w->positions, w->members + begin[0],
                                              begin[1] - begin[0], w->lowest))
            return ABUT_ERROR_MEMORY;
        if (i % 4096 == 0 && abuti_stop(w->context, "weld"))
            break;
    }
    return abuti_stop_status("weld");
}

abut_status abuti_coincident_vertices(abut_context *context, const vec3 *positions, uint32_t count,
                                      uint32_t *lowest) {
    hash_work w = {.context = context, .positions = positions, .bits = 1, .lowest = lowest};
    while (w.bits < 31 && (uint32_t)1 << w.bits < count)
        w.bits++;
    w.bucket_count = (size_t)1 << w.bits;
    w.shift = abuti_partition_shift(w.bucket_count);
    atomic_init(&w.crowded, false);
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(w.hashes, count), ABUTI_ARRAY(w.partitioned, count),
                       ABUTI_ARRAY(w.begin, w.bucket_count + ABUTI_PARTITION_PARTS),
                       ABUTI_ARRAY(w.members, count));
    if (!status)
        status = match_buckets(&w, count);
    ABUTI_RELEASE(context, w.hashes, w.partitioned, w.begin, w.members);
    return status;
}

/* ---- positions within a tolerance ---- */

#define LEAF_POINTS 8

typedef struct tree {
    abut_context *context;
    uint32_t steps; /* of the join */
    const vec3 *positions;
    double tolerance;
    uint32_t *order;  /* vertices; a node is a range of them */
    uint32_t *buffer; /* for sorting */
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

/* Moves the lower half of the node's points along the axis before the upper half, by quickselect.
 * After 100 bad pivots it sorts, so that no input is quadratic. */
static void split_node(tree *t, node n, int axis) {
    ptrdiff_t middle = (ptrdiff_t)left_of(n).end, lo = (ptrdiff_t)n.begin, hi = (ptrdiff_t)n.end;
    for (int round = 0; hi - lo > 1; round++) {
        if (round == 100) {
            sort_by_position(t->positions, axis, t->order + lo, t->buffer, (size_t)(hi - lo));
            return;
        }
        double pivot = v3_get(t->positions[t->order[lo + (hi - lo) / 2]], axis);
        ptrdiff_t i = lo, j = hi - 1;
        while (i <= j) {
            while (v3_get(t->positions[t->order[i]], axis) < pivot)
                i++;
            while (v3_get(t->positions[t->order[j]], axis) > pivot)
                j--;
            if (i <= j) {
                uint32_t swap = t->order[i];
                t->order[i++] = t->order[j];
                t->order[j--] = swap;
            }
        }
        if (middle <= j)
            hi = j + 1;
        else if (middle >= i)
            lo = i;
        else
            return;
    }
}

/* Joins all points of a node. */
static void join_node(tree *t, node n) {
    for (size_t i = n.begin + 1; i < n.end && !t->is_joined[n.number]; i++)
        abuti_join(t->parent, t->order[n.begin], t->order[i]);
    t->is_joined[n.number] = true;
}

/* Builds the tree below a node; the recursion depth is that of the tree, at most 30. */
static void build_node(tree *t, node n) {
    box3 box = box_empty();
    for (size_t i = n.begin; i < n.end; i++)
        box = box_grow(box, t->positions[t->order[i]]);
    t->boxes[n.number] = box;
    t->is_joined[n.number] = n.end - n.begin == 1;
    if (distance_max_sq(t, &box, &box) < 1)
        join_node(t, n);
    if (is_leaf(n))
        return;
    vec3 size = v3_sub(box.hi, box.lo);
    split_node(t, n, size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2);
    build_node(t, left_of(n));
    build_node(t, right_of(n));
}

static void join_leaves(tree *t, node a, node b) {
    for (size_t i = a.begin; i < a.end; i++)
        for (size_t j = a.number == b.number ? i + 1 : b.begin; j < b.end; j++)
            if (are_close(t, t->order[i], t->order[j])) {
                abuti_join(t->parent, t->order[i], t->order[j]);
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
    if (both_joined &&
        abuti_root(t->parent, t->order[a.begin]) == abuti_root(t->parent, t->order[b.begin]))
        return;
    if (distance_max_sq(t, p, q) < 1) {
        join_node(t, a);
        join_node(t, b);
        abuti_join(t->parent, t->order[a.begin], t->order[b.begin]);
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
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(t.order, root_count), ABUTI_ARRAY(t.buffer, root_count),
                       ABUTI_ARRAY(t.boxes, node_count), ABUTI_ARRAY(t.is_joined, node_count));
    if (!status) {
        node root = {1, 0, root_count};
        root_count = 0;
        for (uint32_t v = 0; v < count; v++)
            if (parent[v] == v)
                t.order[root_count++] = v;
        build_node(&t, root);
        join_within_node(&t, root);
        status = abuti_stop_status("weld");
    }
    ABUTI_RELEASE(context, t.order, t.buffer, t.boxes, t.is_joined);
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
