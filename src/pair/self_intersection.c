/* Triangles of one mesh that meet each other.
 *
 * Method: the tree is walked against itself. A pair of nodes is opened where their boxes overlap,
 * four boxes against four, down to pairs of leaves; there the boxes of the triangles are compared
 * in the same way (self_intersection_lanes.c), and what is left is decided by the exact predicates
 * of src/geom. Boxes are rounded outwards, so that none is missed. Most of what is left are
 * neighbours; those around a vertex that is clean (vertex_fans.c) are cleared by their indices,
 * four against four; nearly all of the rest by the plane of one of them, or, where they lie in one
 * plane as in regular grids and fans, by a line in their projections on a coordinate plane
 * (is_quickly_parted). What is left takes orientations (geom/neighbour_shared.h), some of them in
 * exact arithmetic: 0.1 to 2 us a pair, where those before take 0.01 to 0.1. The limit counts work:
 * EXACT_WORK for such a pair, 1 for each of the others.
 *
 * Work is a pool of pairs of nodes. Tasks take some each and run on all threads for a bounded
 * number of steps; what they have not come to goes back into the pool. So the time between two
 * reports of progress is bounded whatever the mesh, memory does not grow with the number of pairs
 * that are only counted, and where the work ends does not depend on the number of threads.
 */
#include "pair/self_intersection.h"

#include "base/simd.h"
#include "geom/neighbour_shared.h"

enum {
    TASKS = 64,       /* between two reports */
    PORTIONS = 64,    /* most of a task */
    SPREAD_MIN = 1024 /* pairs of nodes to start with, so that all threads have some */
};

enum { LEAVES_A_TASK = 1024, PAIRS_A_TASK = 1024 };

/* What an exact test counts in the limit: it takes up to 30 times as long as a quick one. */
enum { EXACT_WORK = 16 };

/* ---- triangles ---- */

/* Relative to the mesh's origin: orientations are the same, and nothing is lost. */
static triangle3 corners_of(const abut_mesh *mesh, uint32_t triangle) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    triangle3 t = {
        {mesh->positions[corner[0]], mesh->positions[corner[1]], mesh->positions[corner[2]]}};
    return t;
}

static common_corners common_of(const itself_search *s, uint32_t a, const triangle3 *ta, uint32_t b,
                                const triangle3 *tb) {
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

/* A determinant of differences errs by less than this: (3 + 16 e) e of the sum of its products,
 * with e = 2^-53 (Shewchuk 1997, section 4.1), and what numbers that underflow lose. */
static inline double doubt_of(double left, double right) {
    return 4.5e-16 * (fabs(left) + fabs(right)) + 1e-290;
}

/* Whether the line through corners k and k + 1 of a triangle's projection has its third corner
 * strictly on one side, and all of another triangle strictly on the other, except for corners that
 * are the same vertex as one of the two on the line (`common`: those of the other triangle). */
static bool line_parts(const double mine[3][2], int k, const double other[3][2], unsigned common) {
    const double *p = mine[k], *q = mine[(k + 1) % 3], *third = mine[(k + 2) % 3];
    double dx = q[0] - p[0], dy = q[1] - p[1];
    double left = dx * (third[1] - p[1]), right = dy * (third[0] - p[0]), det = left - right;
    if (!(fabs(det) > doubt_of(left, right)))
        return false;
    bool parts = false;
    for (int i = 0; i < 3; i++) {
        /* a common corner that is not on the line is the third one, and is on its side below */
        if (common >> i & 1 &&
            (memcmp(other[i], p, sizeof *other) == 0 || memcmp(other[i], q, sizeof *other) == 0))
            continue;
        double l = dx * (other[i][1] - p[1]), r = dy * (other[i][0] - p[0]), d = l - r;
        if (!(fabs(d) > doubt_of(l, r)) || (d > 0) == (det > 0))
            return false;
        parts = true;
    }
    return parts;
}

/* Whether the plane of a triangle has all of another strictly on one side, except for common
 * corners: then they have no more than those in common. The determinant errs by less than 50 e of
 * the product of the largest differences, with e = 2^-53; the margin is five times that. */
static bool plane_parts(const triangle3 *a, vec3 normal, const triangle3 *b, unsigned common) {
    double size_sq = v3_max_abs(v3_sub(a->corner[1], a->corner[0])) *
                     v3_max_abs(v3_sub(a->corner[2], a->corner[0]));
    unsigned sides = 0;
    if (!(size_sq > 1e-280)) /* the normal may have underflowed */
        return false;
    for (int i = 0; i < 3; i++) {
        if (common >> i & 1)
            continue;
        vec3 d = v3_sub(b->corner[i], a->corner[0]);
        double along = v3_dot(normal, d);
        if (!(fabs(along) > 0x1p-45 * size_sq * v3_max_abs(d) + 1e-290))
            return false;
        sides |= along > 0 ? 1 : 2;
    }
    return sides == 1 || sides == 2;
}

/* Whether rounded arithmetic shows that two triangles have nothing in common beyond their common
 * corners and the edge between these: by the plane of one, or by a side of one in the projections
 * along the axis nearest to a's normal. In doubt no. */
static bool is_quickly_parted(const triangle3 *a, const triangle3 *b, common_corners common) {
    vec3 n = v3_cross(v3_sub(a->corner[1], a->corner[0]), v3_sub(a->corner[2], a->corner[0]));
    vec3 m = v3_cross(v3_sub(b->corner[1], b->corner[0]), v3_sub(b->corner[2], b->corner[0]));
    if (plane_parts(a, n, b, common.in_b) || plane_parts(b, m, a, common.in_a))
        return true;
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
            if (line_parts((const double(*)[2])flat[which], k, (const double(*)[2])flat[1 - which],
                           which ? common.in_a : common.in_b))
                return true;
    return false;
}

void abuti_itself_try(itself_search *s, share_out *out, uint32_t a, uint32_t b) {
    triangle3 ta = corners_of(s->bvh->mesh, a), tb = corners_of(s->bvh->mesh, b);
    common_corners common = common_of(s, a, &ta, b, &tb);
    if (common.in_a != 7 && is_quickly_parted(&ta, &tb, common))
        return;
    out->work += EXACT_WORK - 1;
    if (!neighbours_intersect(ta, tb, common))
        return;
    out->found[out->found_count++] = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    if (s->any)
        atomic_store_explicit(&s->stop, true, memory_order_relaxed);
}

/* ---- the pool ---- */

static abut_status pool_add(itself_search *s, const node_pair *pairs, uint32_t count,
                            float weight) {
    abut_status status = abuti_grow(s->bvh->context, &s->pool, s->pool_count, s->pool_count + count,
                                    sizeof *s->pool, &s->pool_room);
    for (uint32_t i = 0; i < count && !status; i++)
        s->pool[s->pool_count++] = (portion){pairs[i], weight};
    return status;
}

/* Opens the root and what is below until there is enough for all threads, level by level. */
static abut_status spread(itself_search *s) {
    node_pair root = {0, 0}, opened[BVH_WIDTH * BVH_WIDTH];
    abut_status status = pool_add(s, &root, 1, 1);
    uint32_t (*open)(const itself_search *, node_pair, node_pair *, uint32_t) =
        ABUTI_BY_LANES(abuti_itself_open);
    bool more = true;
    while (!status && more && s->pool_count < SPREAD_MIN) {
        portion *old = s->pool;
        size_t old_count = s->pool_count;
        s->pool = NULL;
        s->pool_count = s->pool_room = 0;
        more = false;
        for (size_t i = 0; i < old_count && !status; i++) {
            bool leaves = is_leaf_pair(old[i].pair);
            uint32_t count = leaves ? 0 : open(s, old[i].pair, opened, 0);
            if (leaves)
                opened[count++] = old[i].pair;
            more = more || !leaves;
            if (count)
                status = pool_add(s, opened, count, old[i].weight / (float)count);
            else
                s->done += (double)old[i].weight;
        }
        abuti_release(s->bvh->context, old);
    }
    return status;
}

/* Keeps what a task found, unless there is more than anyone wants. */
static abut_status keep_found(itself_search *s, const share_out *out) {
    abut_context *context = s->bvh->context;
    size_t before = (size_t)s->count;
    abut_status status = ABUT_OK;
    s->count += out->found_count;
    for (uint32_t i = 0; s->marks && i < out->found_count; i++)
        s->marks[out->found[i] >> 32] = s->marks[(uint32_t)out->found[i]] = 1;
    if (s->count <= s->keys_most) {
        status =
            abuti_grow(context, &s->keys, before, (size_t)s->count, sizeof *s->keys, &s->keys_room);
        if (!status && out->found_count)
            memcpy(s->keys + before, out->found, out->found_count * sizeof *s->keys);
    } else {
        abuti_release(context, s->keys);
        s->keys = NULL;
        s->keys_room = s->keys_most = 0;
    }
    return status;
}

/* Puts back what a task left over. */
static abut_status put_back(itself_search *s, const share_out *out) {
    abut_status status = ABUT_OK;
    for (size_t i = out->next; i < out->end && !status; i++)
        status = pool_add(s, &s->taken[i].pair, 1, s->taken[i].weight);
    if (!status && out->pending_count) {
        float weight = s->taken[out->next - 1].weight / (float)(out->pending_count + 1);
        status = pool_add(s, out->pending, out->pending_count, weight);
    }
    return status;
}

static abut_status run_group(itself_search *s) {
    size_t most = s->task_most * PORTIONS;
    size_t count = s->pool_count < most ? s->pool_count : most;
    abut_status status = ABUT_OK;
    s->pool_count -= count;
    memcpy(s->taken, s->pool + s->pool_count, count * sizeof *s->taken);
    size_t each = abuti_chunk_count(count, s->task_most), tasks = abuti_chunk_count(count, each);
    abuti_parallel_for(s->bvh->context, count, each, ABUTI_BY_LANES(abuti_itself_task), s);
    for (size_t i = 0; i < tasks && !status; i++) {
        const share_out *out = &s->shares[i];
        s->work += out->work;
        s->done += out->done;
        status = keep_found(s, out);
        status = status ? status : put_back(s, out);
    }
    return status;
}

static abut_status run_all(itself_search *s, const char *function) {
    abut_status status = spread(s);
    while (!status && s->pool_count && !(s->any && s->count)) {
        status = run_group(s);
        if (!status && s->work > s->limit && !(s->any && s->count))
            status =
                abuti_fail(ABUT_ERROR_LIMIT,
                           "%s: the search took more work than its limit of %llu, with %llu "
                           "found by then; raise options->limit to go on",
                           function, (unsigned long long)s->limit, (unsigned long long)s->count);
        if (!status)
            status = abuti_progress(s->bvh->context, "self", s->done < 1 ? s->done : 1);
    }
    return status;
}

/* ---- public ---- */

/* Searches with options that are the caller's; s->keys is left to the caller. */
static abut_status search_run(itself_search *s, const char *function,
                              const abut_pair_self_options *options) {
    abut_pair_self_options ours = abut_pair_self_options_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, options, function);
    if (status)
        return status;
    abut_context *context = s->bvh->context;
    size_t leaf_count = s->bvh->leaf_count;
    s->by_index = ours.by_index;
    s->limit = ours.limit ? ours.limit : ABUT_PAIR_SELF_LIMIT(s->bvh->triangle_count);
    s->task_most = leaf_count < TASKS ? leaf_count : TASKS;
    atomic_init(&s->stop, false);
    s->leaves = abuti_allocate(context, leaf_count, sizeof *s->leaves);
    s->shares = abuti_allocate(context, s->task_most, sizeof *s->shares);
    s->taken = abuti_allocate(context, s->task_most, PORTIONS * sizeof *s->taken);
    s->clean = abuti_allocate(context, s->bvh->mesh->vertex_count, 1);
    status = s->leaves && s->shares && s->taken && s->clean ? ABUT_OK : ABUT_ERROR_MEMORY;
    status = status ? status : abuti_pair_stars(s->bvh->mesh, s->clean);
    if (!status) {
        abuti_parallel_for(context, leaf_count, LEAVES_A_TASK, ABUTI_BY_LANES(abuti_itself_leaves),
                           s);
        status = run_all(s, function);
    }
    ABUTI_RELEASE(context, s->leaves, s->clean, s->shares, s->taken, s->pool);
    return status;
}

typedef struct filling {
    const abut_mesh *mesh;
    const uint64_t *keys;
    abut_pair_self_intersection *pairs;
} filling;

static void fill_task(void *data, size_t chunk, size_t begin, size_t end) {
    const filling *fill = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abut_pair_self_intersection *pair = &fill->pairs[i];
        memset(pair, 0, sizeof *pair);
        pair->triangle[0] = (uint32_t)(fill->keys[i] >> 32);
        pair->triangle[1] = (uint32_t)fill->keys[i];
        pair->kind = triangle_triangle_intersect(bvh_triangle(fill->mesh, pair->triangle[0]),
                                                 bvh_triangle(fill->mesh, pair->triangle[1]),
                                                 &pair->segment);
    }
}

static abut_status write_pairs(itself_search *s, abut_pair_self_intersection *pairs) {
    abut_context *context = s->bvh->context;
    size_t count = (size_t)s->count;
    uint64_t *buffer = abuti_allocate(context, count, sizeof *buffer);
    if (!buffer)
        return ABUT_ERROR_MEMORY;
    abuti_sort_keys(s->keys, buffer, count);
    filling fill = {s->bvh->mesh, s->keys, pairs};
    abuti_parallel_for(context, count, PAIRS_A_TASK, fill_task, &fill);
    abuti_release(context, buffer);
    return ABUT_OK;
}

abut_status abut_pair_self_intersections(const abut_bvh *bvh, const abut_pair_self_options *options,
                                         uint64_t capacity, abut_pair_self_intersection *pairs,
                                         uint64_t *count) {
    abut_status status = abuti_bvh_check(__func__, bvh, count, "count");
    if (!status && !pairs && capacity)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: pairs is null, but capacity is %llu",
                            __func__, (unsigned long long)capacity);
    if (status)
        return status;
    itself_search s;
    memset(&s, 0, sizeof s);
    s.bvh = bvh;
    s.keys_most = capacity < SIZE_MAX / sizeof *pairs ? (size_t)capacity : SIZE_MAX / sizeof *pairs;
    status = search_run(&s, __func__, options);
    if (!status && s.count > capacity)
        status = abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %llu pairs, but room for %llu only",
                            __func__, (unsigned long long)s.count, (unsigned long long)capacity);
    else if (!status && s.count)
        status = write_pairs(&s, pairs);
    if (!status || status == ABUT_ERROR_BUFFER || status == ABUT_ERROR_LIMIT)
        *count = s.count;
    abuti_release(bvh->context, s.keys);
    return status;
}

abut_status abut_pair_self_intersects(const abut_bvh *bvh, const abut_pair_self_options *options,
                                      bool *any) {
    abut_status status = abuti_bvh_check(__func__, bvh, any, "any");
    if (status)
        return status;
    itself_search s;
    memset(&s, 0, sizeof s);
    s.bvh = bvh;
    s.any = true;
    status = search_run(&s, __func__, options);
    if (!status)
        *any = s.count > 0;
    return status;
}

abut_status abut_pair_examine(const abut_bvh *bvh, const abut_pair_self_options *options,
                              abut_mesh_report *report) {
    abut_status status = abuti_bvh_check(__func__, bvh, report, "report");
    if (!status && report->triangle_count != bvh->triangle_count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: the report is of %u triangles, but the hierarchy has %u; pass the "
                            "report of its own mesh",
                            __func__, report->triangle_count, bvh->triangle_count);
    if (status)
        return status;
    itself_search s;
    memset(&s, 0, sizeof s);
    s.bvh = bvh;
    s.marks = abuti_allocate_zeroed(bvh->context, bvh->triangle_count, 1);
    status = s.marks ? search_run(&s, __func__, options) : ABUT_ERROR_MEMORY;
    if (!status) {
        abut_problem problem;
        memset(&problem, 0, sizeof problem);
        for (uint32_t i = 0; i < bvh->triangle_count; i++) {
            if (!s.marks[i])
                continue;
            if (problem.count < ABUT_PROBLEM_FIRST_COUNT)
                problem.first[problem.count] = i;
            problem.count++;
        }
        report->problems[ABUT_PROBLEM_SELF_INTERSECTION] = problem;
        report->self_intersection_count = s.count;
        report->has_self_intersection_test = true;
    }
    abuti_release(bvh->context, s.marks);
    return status;
}
