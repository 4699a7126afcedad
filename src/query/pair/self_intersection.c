/* Self-intersections of a mesh.
 *
 * Method: traversal of the BVH against itself. A pair of nodes is opened if their boxes overlap,
 * four boxes against four, down to pairs of leaves. There the boxes of the triangles are compared
 * in the same way (self_intersection_lanes.c), and the exact predicates of src/foundation/geom
 * decide the remaining pairs. Boxes are rounded outwards, so no pair is missed.
 *
 * Most of the remaining pairs are neighbours. Those around a clean vertex (vertex_fans.c) are
 * excluded by their indices, four against four. Many others, as in regular grids and fans, are
 * excluded by a line in their projections on a coordinate plane (is_certainly_separate). The rest
 * needs orientations (geom/neighbour_shared.h), some of them in exact arithmetic: 0.1 to 2 us per
 * pair, compared with 0.01 to 0.1 for the others. The limit counts work: EXACT_WORK for such a
 * pair, 1 for each of the others.
 *
 * The work is a pool of pairs of nodes. Tasks remove some pairs each and run on all threads for a
 * bounded number of steps; unfinished pairs return to the pool. So the time between two progress
 * reports is bounded for every mesh, memory does not grow with the number of pairs that are only
 * counted, and the point at which a limit stops the search does not depend on the number of
 * threads.
 */
#include "pair/self_intersection.h"

#include "base/simd.h"
#include "geom/neighbour_shared.h"

#include <assert.h>

enum {
    TASKS_MAX = 64,      /* between two progress reports */
    ITEMS_PER_TASK = 64, /* at most */
};

enum { LEAVES_PER_TASK = 1024, PAIRS_PER_TASK = 1024 };

/* The work that an exact test counts: it costs up to 30 times as much as a quick one. */
enum { EXACT_WORK = 16 };

/* ---- triangles ---- */

/* Relative to the local origin of the mesh: orientations are the same, without rounding. */
static triangle3 local_triangle(const abut_mesh *mesh, uint32_t triangle) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    triangle3 t = {
        {mesh->positions[corner[0]], mesh->positions[corner[1]], mesh->positions[corner[2]]}};
    return t;
}

static common_corners find_common_corners(const self_search *s, uint32_t a, const triangle3 *ta,
                                          uint32_t b, const triangle3 *tb) {
    common_corners common = {0, 0};
    const uint32_t *ia = s->bvh->mesh->indices + 3 * (size_t)a;
    const uint32_t *ib = s->bvh->mesh->indices + 3 * (size_t)b;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            if (ia[i] == ib[j] || (!s->by_index && v3_equal(ta->corner[i], tb->corner[j]))) {
                common.in_a |= 1u << i;
                common.in_b |= 1u << j;
            }
    return common;
}

/* Error bound of a 2x2 determinant of differences: (3 + 16 e) e of the sum of its products, with e
 * = 2^-53 (Shewchuk 1997, section 4.1), plus the loss by underflow. */
static inline double det2_error(double left, double right) {
    return 4.5e-16 * (fabs(left) + fabs(right)) + 1e-290;
}

/* Whether the line through corners k and k + 1 of the projection of a triangle has its third corner
 * strictly on one side and all of another triangle strictly on the other side, except for corners
 * that are one of the two vertices on the line (`common`: those of the other triangle). */
static bool line_separates(const double mine[3][2], int k, const double other[3][2],
                           unsigned common) {
    const double *p = mine[k], *q = mine[(k + 1) % 3], *third = mine[(k + 2) % 3];
    double dx = q[0] - p[0], dy = q[1] - p[1];
    double left = dx * (third[1] - p[1]), right = dy * (third[0] - p[0]), det = left - right;
    if (!(fabs(det) > det2_error(left, right)))
        return false;
    bool parts = false;
    for (int i = 0; i < 3; i++) {
        /* a common corner that is not on the line is the third one, and fails the test below */
        if (common >> i & 1 &&
            (memcmp(other[i], p, sizeof *other) == 0 || memcmp(other[i], q, sizeof *other) == 0))
            continue;
        double l = dx * (other[i][1] - p[1]), r = dy * (other[i][0] - p[0]), d = l - r;
        if (!(fabs(d) > det2_error(l, r)) || (d > 0) == (det > 0))
            return false;
        parts = true;
    }
    return parts;
}

/* Whether floating-point arithmetic proves that two triangles have only their common corners and
 * the edge between these in common: by an edge of one in the projections along the axis nearest to
 * the normal of a. False if it is not certain. */
static bool is_certainly_separate(const triangle3 *a, const triangle3 *b, common_corners common) {
    vec3 n = v3_cross(v3_sub(a->corner[1], a->corner[0]), v3_sub(a->corner[2], a->corner[0]));
    double x = fabs(n.x), y = fabs(n.y), z = fabs(n.z), flat[2][3][2];
    int axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    for (int k = 0; k < 3; k++) {
        flat[0][k][0] = v3_get(a->corner[k], (axis + 1) % 3);
        flat[0][k][1] = v3_get(a->corner[k], (axis + 2) % 3);
        flat[1][k][0] = v3_get(b->corner[k], (axis + 1) % 3);
        flat[1][k][1] = v3_get(b->corner[k], (axis + 2) % 3);
    }
    for (int which = 0; which < 2; which++)
        for (int k = 0; k < 3; k++)
            if (line_separates((const double(*)[2])flat[which], k,
                               (const double(*)[2])flat[1 - which],
                               which ? common.in_a : common.in_b))
                return true;
    return false;
}

void abuti_pair_self_test(self_search *s, task_output *out, uint32_t a, uint32_t b) {
    triangle3 ta = local_triangle(s->bvh->mesh, a), tb = local_triangle(s->bvh->mesh, b);
    common_corners common = find_common_corners(s, a, &ta, b, &tb);
    if (common.in_a != 7 && is_certainly_separate(&ta, &tb, common))
        return;
    out->work += EXACT_WORK - 1;
    if (!neighbours_intersect(ta, tb, common))
        return;
    assert(out->found_count < SELF_FOUND_MAX);
    out->found[out->found_count++] = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    if (s->any)
        atomic_store_explicit(&s->stop, true, memory_order_relaxed);
}

/* ---- the pool ---- */

static abut_status add_to_pool(self_search *s, const node_pair *pairs, uint32_t count,
                               float weight) {
    abut_status status = abuti_grow(s->bvh->context, &s->pool, s->pool_count, s->pool_count + count,
                                    sizeof *s->pool, &s->pool_capacity);
    for (uint32_t i = 0; i < count && !status; i++)
        s->pool[s->pool_count++] = (work_item){pairs[i], weight};
    return status;
}

/* Collects the pairs that a task found, or only counts them if there are more than keys_max. */
static abut_status collect_found(self_search *s, const task_output *out) {
    abut_context *context = s->bvh->context;
    size_t before = (size_t)s->count;
    abut_status status = ABUT_OK;
    s->count += out->found_count;
    for (uint32_t i = 0; s->is_in_pair && i < out->found_count; i++)
        s->is_in_pair[out->found[i] >> 32] = s->is_in_pair[(uint32_t)out->found[i]] = 1;
    if (s->count <= s->keys_max) {
        status = abuti_grow(context, &s->keys, before, (size_t)s->count, sizeof *s->keys,
                            &s->keys_capacity);
        if (!status && out->found_count)
            memcpy(s->keys + before, out->found, out->found_count * sizeof *s->keys);
    } else {
        abuti_release(context, s->keys);
        s->keys = NULL;
        s->keys_capacity = s->keys_max = 0;
    }
    return status;
}

/* Returns unfinished pairs of a task to the pool. */
static abut_status return_to_pool(self_search *s, const task_output *out) {
    abut_status status = ABUT_OK;
    for (size_t i = out->next_item; i < out->end && !status; i++)
        status = add_to_pool(s, &s->tasks_input[i].pair, 1, s->tasks_input[i].weight);
    if (!status && out->pending_count) {
        float weight = s->tasks_input[out->next_item - 1].weight / (float)(out->pending_count + 1);
        status = add_to_pool(s, out->pending, out->pending_count, weight);
    }
    return status;
}

static abut_status run_tasks(self_search *s) {
    size_t items_max = s->tasks_max * ITEMS_PER_TASK;
    size_t count = s->pool_count < items_max ? s->pool_count : items_max;
    abut_status status = ABUT_OK;
    s->pool_count -= count;
    memcpy(s->tasks_input, s->pool + s->pool_count, count * sizeof *s->tasks_input);
    size_t items_per_task = abuti_chunk_count(count, s->tasks_max),
           tasks = abuti_chunk_count(count, items_per_task);
    abuti_parallel_for(s->bvh->context, count, items_per_task, ABUTI_BY_LANES(abuti_pair_self_task),
                       s);
    for (size_t i = 0; i < tasks && !status; i++) {
        const task_output *out = &s->outputs[i];
        s->work += out->work;
        s->progress += out->progress;
        status = collect_found(s, out);
        if (!status)
            status = return_to_pool(s, out);
    }
    return status;
}

static abut_status run_search(self_search *s, const char *function) {
    const node_pair root = {0, 0};
    abut_status status = add_to_pool(s, &root, 1, 1);
    while (!status && s->pool_count && !(s->any && s->count)) {
        status = run_tasks(s);
        if (!status && s->work > s->limit && !(s->any && s->count))
            status =
                abuti_fail(ABUT_ERROR_LIMIT,
                           "%s: the search exceeded its work limit of %llu after it found %llu "
                           "pairs; set options->limit to a larger value",
                           function, (unsigned long long)s->limit, (unsigned long long)s->count);
        if (!status)
            status = abuti_progress(s->bvh->context, "self", s->progress < 1 ? s->progress : 1);
    }
    return status;
}

/* ---- public ---- */

/* Searches with the options of the caller. The caller releases s->keys. */
static abut_status search_self_intersections(self_search *s, const char *function,
                                             const abut_pair_self_options *options) {
    abut_pair_self_options ours = abut_pair_self_options_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, options, function);
    if (status)
        return status;
    abut_context *context = s->bvh->context;
    size_t leaf_count = s->bvh->leaf_count;
    s->by_index = ours.by_index;
    s->limit = ours.limit ? ours.limit : ABUT_PAIR_SELF_LIMIT(s->bvh->triangle_count);
    s->tasks_max = leaf_count < TASKS_MAX ? leaf_count : TASKS_MAX;
    atomic_init(&s->stop, false);
    s->leaves = abuti_allocate(context, leaf_count, sizeof *s->leaves);
    s->outputs = abuti_allocate(context, s->tasks_max, sizeof *s->outputs);
    s->tasks_input = abuti_allocate(context, s->tasks_max, ITEMS_PER_TASK * sizeof *s->tasks_input);
    s->clean = abuti_allocate(context, s->bvh->mesh->vertex_count, 1);
    status = s->leaves && s->outputs && s->tasks_input && s->clean ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_pair_clean_vertices(s->bvh->mesh, s->clean);
    if (!status) {
        abuti_parallel_for(context, leaf_count, LEAVES_PER_TASK,
                           ABUTI_BY_LANES(abuti_pair_self_leaves), s);
        status = run_search(s, function);
    }
    ABUTI_RELEASE(context, s->leaves, s->clean, s->outputs, s->tasks_input, s->pool);
    return status;
}

typedef struct pair_writer {
    const abut_mesh *mesh;
    const uint64_t *keys;
    abut_pair_self_intersection *pairs;
} pair_writer;

static void write_pairs_task(void *data, size_t chunk, size_t begin, size_t end) {
    const pair_writer *writer = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abut_pair_self_intersection *pair = &writer->pairs[i];
        memset(pair, 0, sizeof *pair);
        pair->triangle[0] = (uint32_t)(writer->keys[i] >> 32);
        pair->triangle[1] = (uint32_t)writer->keys[i];
        pair->kind = triangle_triangle_intersect(bvh_triangle(writer->mesh, pair->triangle[0]),
                                                 bvh_triangle(writer->mesh, pair->triangle[1]),
                                                 &pair->segment);
    }
}

static abut_status write_pairs(self_search *s, abut_pair_self_intersection *pairs) {
    abut_context *context = s->bvh->context;
    size_t count = (size_t)s->count;
    uint64_t *buffer = abuti_allocate(context, count, sizeof *buffer);
    if (!buffer)
        return ABUT_ERROR_MEMORY;
    abuti_sort_keys(s->keys, buffer, count);
    pair_writer writer = {s->bvh->mesh, s->keys, pairs};
    abuti_parallel_for(context, count, PAIRS_PER_TASK, write_pairs_task, &writer);
    abuti_release(context, buffer);
    return ABUT_OK;
}

abut_status abut_pair_self_intersections(const abut_bvh *bvh, const abut_pair_self_options *options,
                                         abut_pair_self_intersection_list *pairs) {
    abut_status status;
    if ((status = abuti_bvh_check(__func__, bvh, pairs, "pairs")) ||
        (status = ABUTI_LIST_CHECK(__func__, "pairs", pairs)))
        return status;
    self_search s;
    memset(&s, 0, sizeof s);
    s.bvh = bvh;
    s.keys_max = (size_t)pairs->capacity;
    status = search_self_intersections(&s, __func__, options);
    if (!status && s.count && s.count <= pairs->capacity)
        status = write_pairs(&s, pairs->list);
    if (!status)
        status = ABUTI_LIST_COUNT(__func__, "pairs", pairs, s.count);
    else if (status == ABUT_ERROR_LIMIT)
        pairs->count = s.count;
    abuti_release(bvh->context, s.keys);
    return status;
}

abut_status abut_pair_self_intersects(const abut_bvh *bvh, const abut_pair_self_options *options,
                                      bool *any) {
    abut_status status = abuti_bvh_check(__func__, bvh, any, "any");
    if (status)
        return status;
    self_search s;
    memset(&s, 0, sizeof s);
    s.bvh = bvh;
    s.any = true;
    status = search_self_intersections(&s, __func__, options);
    if (!status)
        *any = s.count > 0;
    return status;
}

abut_status abut_pair_examine(const abut_bvh *bvh, const abut_pair_self_options *options,
                              abut_mesh_report *report) {
    abut_mesh_report ours = abut_mesh_report_default();
    abut_status status = abuti_bvh_check(__func__, bvh, report, "report");
    if (!status)
        status = abuti_result_read(&ours, sizeof ours, report, __func__, "report");
    if (!status && ours.triangle_count != bvh->triangle_count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: the report is of a mesh with %u triangles, but the BVH has %u; "
                            "pass the report of the mesh of the BVH",
                            __func__, ours.triangle_count, bvh->triangle_count);
    if (status)
        return status;
    self_search s;
    memset(&s, 0, sizeof s);
    s.bvh = bvh;
    s.is_in_pair = abuti_allocate_zeroed(bvh->context, bvh->triangle_count, 1);
    status = s.is_in_pair ? search_self_intersections(&s, __func__, options) : ABUT_ERROR_MEMORY;
    if (!status) {
        abut_problem problem;
        memset(&problem, 0, sizeof problem);
        for (uint32_t i = 0; i < bvh->triangle_count; i++) {
            if (!s.is_in_pair[i])
                continue;
            if (problem.count < ABUT_PROBLEM_FIRST_COUNT)
                problem.first[problem.count] = i;
            problem.count++;
        }
        ours.problems[ABUT_PROBLEM_SELF_INTERSECTION] = problem;
        ours.self_intersection_count = s.count;
        ours.has_self_intersection_test = true;
    }
    abuti_release(bvh->context, s.is_in_pair);
    return abuti_result_write(report, &ours, status);
}
