/* A batch of nearest points by lists.
 *
 * Method: sorted points are taken in runs. The list of a run comes from the hierarchy. Then the run
 * is divided where the highest bit of the keys changes, which is a division of space in halves; each
 * time the points have become a few times fewer their box gets a list of its own; and the points of
 * a small box, or all where the list is short, are measured against it. That leaves some triangles
 * that are equally near as far as floats can tell, and these are measured in doubles.
 *
 * The end game. The answer is the lowest triangle of those with the least distance in doubles, as
 * triangle_closest_point() gives it. Around a vertex that is nearest there are six triangles, all
 * at the same distance. Most of them need not be measured: let v be the vertex and w another corner
 * of such a triangle, everything relative to the point. If v . (w - v) is positive for both others,
 * v is its closest point. If it is so by more than 2^-40 of the squares of the lengths, which is
 * 2^12 times what rounding can do, all signs in triangle_closest_point() are those of exact numbers:
 *  - no foot on the face (the weight of one of the others is negative; see face_foot),
 *  - the feet on both edges at v are clamped to v itself, whose offset is v, without any rounding,
 *  - the foot on the third edge is further: its square is larger by at least 2 v . (w - v).
 * So its distance is the length of v, bit for bit that of the first, and its index is higher:
 * candidates come in order.
 *
 * Where it does not pay: a run whose list is too long for its points is halved, and in the end its
 * points are searched one by one. So are points far away, where floats tell nothing.
 */
#include "bvh/batch.h"

#include "bvh/lists.h"
#include "base/simd.h"
#include "geom/closest_shared.h"

#include <math.h>

enum {
    POINTS_A_RUN = 4096,
    RUNS_A_REPORT = 64,
    /* the longest list, and how much room there is for lists of smaller blocks inside */
    LIST_MOST = 8192,
    LISTS_ROOM = 3 * LIST_MOST,
    /* triangles that a run may collect for each of its points; a search takes as long */
    COLLECT_A_POINT = 200,
    COLLECT_LEAST = 8,  /* points; fewer are searched one by one */
    DIVISION = 4,       /* a new list when the points are so many times fewer */
    FILTER_LEAST = 3,   /* points that are worth a list of their own */
    MEASURE_POINTS = 4, /* so few are measured with the list that is there */
    MEASURE_LIST = 16,  /* and so short a list is not made shorter */
    AHEAD = 16,
};

/* Beyond this many times the size of the mesh a point is far. */
#define FAR_AWAY 64.0f

/* What one worker has. */
typedef struct worker {
    const batch *b;
    const lists_table *table;
    const lists_kernel *kernel;
    place *places; /* of the run */
    vec3 exact[POINTS_A_RUN]; /* its points: as they are, and in the frame */
    float points[POINTS_A_RUN][3];
    abut_nearest answers[POINTS_A_RUN];
    uint32_t kept[LIST_MOST + LISTS_LANES];
    float scratch[4 * LIST_MOST];
    uint32_t place_room[LISTS_ROOM];
    float column_room[LISTS_ROOM * LISTS_COLUMNS];
    uint32_t used; /* of the last two */
} worker;

typedef struct run_of_batch {
    batch *b;
    lists_table table;
    const lists_kernel *kernel;
    worker *workers;
    uint32_t worker_count;
    size_t begin, end;   /* of the part that runs */
    atomic_size_t taken; /* points of the part */
} run_of_batch;

/* ---- one point ---- */

static void set_none(worker *w, uint32_t i) {
    abut_nearest *to = &w->answers[i];
    memset(to, 0, sizeof *to);
    to->distance = INFINITY;
    to->point = w->exact[i];
    to->triangle = ABUT_NONE;
    to->feature = ABUT_FEATURE_FACE;
}

static inline uint32_t vertex_of(abut_feature feature) {
    return feature == ABUT_FEATURE_VERTEX_0   ? 0
           : feature == ABUT_FEATURE_VERTEX_1 ? 1
           : feature == ABUT_FEATURE_VERTEX_2 ? 2
                                              : 3;
}

/* Whether the distance of a triangle is for certain that of one of its vertices, in doubles; `v`
 * is the vertex from the point. */
static bool is_at_vertex(const abut_mesh *mesh, uint32_t triangle, uint32_t vertex, vec3 v) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    double vv = v3_length_sq(v);
    if (!(vv > 0x1p-140 && vv < 0x1p190)) /* nothing is scaled there */
        return false;
    uint32_t others = 0;
    for (int k = 0; k < 3; k++) {
        if (corner[k] == vertex)
            continue;
        vec3 to = v3_sub(mesh->positions[corner[k]], mesh->positions[vertex]);
        if (!(v3_dot(v, to) > 0x1p-40 * (vv + v3_length_sq(to))))
            return false;
        others++;
    }
    return others == 2;
}

/* Measures candidates, in ascending order of triangles, and writes the answer. */
static void settle(worker *w, uint32_t i, uint32_t *triangles, uint32_t count) {
    const abut_mesh *mesh = w->b->bvh->mesh;
    uint32_t winner = ABUT_NONE, vertex = ABUT_NONE;
    vec3 point = w->exact[i], at_vertex = v3(0, 0, 0);
    closest_on_triangle best;
    best.distance = INFINITY;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t triangle = triangles[k];
        if (vertex != ABUT_NONE && is_at_vertex(mesh, triangle, vertex, at_vertex))
            continue;
        closest_on_triangle closest = triangle_closest_point(bvh_triangle(mesh, triangle), point);
        if (!(closest.distance < best.distance))
            continue;
        best = closest;
        winner = triangle;
        uint32_t corner = vertex_of(best.feature);
        vertex = corner < 3 ? mesh->indices[3 * (size_t)winner + corner] : ABUT_NONE;
        if (vertex != ABUT_NONE)
            at_vertex = v3_sub(abuti_mesh_position(mesh, vertex), point);
    }
    if (winner == ABUT_NONE || best.distance > w->b->radius) {
        set_none(w, i);
        return;
    }
    abut_nearest *to = &w->answers[i];
    to->distance = best.distance;
    to->point = best.point;
    for (int k = 0; k < 3; k++)
        to->barycentric[k] = best.barycentric[k];
    to->triangle = winner;
    to->feature = best.feature;
}

static bool triangle_after(const void *a, const void *b) {
    return *(const uint32_t *)a > *(const uint32_t *)b;
}

static void sort_triangles(uint32_t *triangles, uint32_t count) {
    if (count > 32) {
        abuti_bvh_sort(triangles, count, sizeof *triangles, triangle_after);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        uint32_t moved = triangles[i], k = i;
        for (; k > 0 && triangles[k - 1] > moved; k--)
            triangles[k] = triangles[k - 1];
        triangles[k] = moved;
    }
}

static void measure_points(worker *w, uint32_t begin, uint32_t end, const lists_list *list,
                           float margin) {
    for (uint32_t i = begin; i < end; i++) {
        uint32_t count = w->kernel->measure(list, w->points[i], margin, w->scratch, w->kept);
        for (uint32_t k = 0; k < count; k++)
            w->kept[k] = w->b->bvh->order[list->places[w->kept[k]]];
        sort_triangles(w->kept, count);
        settle(w, i, w->kept, count);
    }
}

/* ---- blocks ---- */

/* The box of some points; the rounding to floats is part of the margin. */
static lists_block block_of(const worker *w, uint32_t begin, uint32_t end, float margin) {
    float lo[3], hi[3];
    for (int k = 0; k < 3; k++)
        lo[k] = hi[k] = w->points[begin][k];
    for (uint32_t i = begin + 1; i < end; i++)
        for (int k = 0; k < 3; k++) {
            float x = w->points[i][k];
            lo[k] = x < lo[k] ? x : lo[k];
            hi[k] = x > hi[k] ? x : hi[k];
        }
    lists_block block;
    for (int k = 0; k < 3; k++) {
        block.centre[k] = 0.5f * (lo[k] + hi[k]);
        float below = block.centre[k] - lo[k], above = hi[k] - block.centre[k];
        block.half[k] = below > above ? below : above;
    }
    block.margin = margin;
    return block;
}

/* Where the highest bit in which the keys differ changes; the middle of equal ones. */
static uint32_t division(const worker *w, uint32_t begin, uint32_t end) {
    uint32_t first = w->places[begin].key, differ = first ^ w->places[end - 1].key;
    if (!differ)
        return begin + (end - begin) / 2;
    uint32_t bit = 1;
    while (differ >>= 1)
        bit <<= 1;
    uint32_t lo = begin, hi = end - 1; /* lo is without the bit, hi with it */
    while (hi - lo > 1) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (w->places[middle].key & bit)
            hi = middle;
        else
            lo = middle;
    }
    return hi;
}

/* Room for a list, or false. */
static bool take_room(worker *w, uint32_t count, lists_list *list) {
    list->room = lists_room(count);
    if (list->room > LISTS_ROOM - w->used)
        return false;
    list->columns = w->column_room + (size_t)w->used * LISTS_COLUMNS;
    list->places = w->place_room + w->used;
    w->used += list->room;
    return true;
}

/* Answers points with a list that was made for `made_for` points. Recursion ends: keys have 30
 * bits, and equal ones are halved. */
static void divide(worker *w, uint32_t begin, uint32_t end, const lists_list *list,
                   uint32_t made_for, float margin) {
    uint32_t count = end - begin, before = w->used;
    lists_list own;
    if (count * DIVISION <= made_for && count >= FILTER_LEAST && list->count > MEASURE_LIST) {
        lists_block block = block_of(w, begin, end, margin);
        float nearest_sq;
        uint32_t kept = w->kernel->filter(list, &block, w->scratch, w->kept, &nearest_sq);
        made_for = count;
        if (kept <= list->count / 4 * 3 && take_room(w, kept, &own)) {
            for (uint32_t i = 0; i < kept; i++)
                w->kept[i] = list->places[w->kept[i]];
            w->kernel->gather(w->table, w->kept, kept, &own);
            list = &own;
        }
    }
    if (count <= MEASURE_POINTS || list->count <= MEASURE_LIST) {
        measure_points(w, begin, end, list, margin);
    } else {
        uint32_t middle = division(w, begin, end);
        divide(w, begin, middle, list, made_for, margin);
        divide(w, middle, end, list, made_for, margin);
    }
    w->used = before;
}

/* ---- runs ---- */

/* Some point of the mesh near the middle of a block, or false where no point of the block is within
 * the radius of anything. */
static bool find_nearest(const worker *w, const lists_block *block, float nearest[3]) {
    const abut_bvh *bvh = w->b->bvh;
    double rho = 0;
    vec3 c = v3(block->centre[0], block->centre[1], block->centre[2]);
    for (int k = 0; k < 3; k++)
        rho += (double)block->half[k] * block->half[k];
    double reach = w->b->radius + (1.001 * sqrt(rho) + block->margin) / bvh->scale;
    abut_nearest found;
    abuti_bvh_nearest(bvh, v3_along(bvh->mesh->origin, 1 / bvh->scale, c), reach, NULL, &found);
    if (found.triangle == ABUT_NONE)
        return false;
    vec3 g = v3(0, 0, 0);
    for (int k = 0; k < 3; k++)
        g = v3_along(
            g, found.barycentric[k],
            bvh->mesh->positions[bvh->mesh->indices[3 * (size_t)found.triangle + (size_t)k]]);
    nearest[0] = (float)(g.x * bvh->scale);
    nearest[1] = (float)(g.y * bvh->scale);
    nearest[2] = (float)(g.z * bvh->scale);
    return true;
}

static void collect(worker *w, uint32_t begin, uint32_t end, float margin) {
    uint32_t count = end - begin, most = LIST_MOST, found;
    if (count < COLLECT_LEAST) {
        abuti_batch_single(w->b, w->places + begin, count);
        for (uint32_t i = begin; i < end; i++)
            w->answers[i] = w->b->nearest[w->places[i].point];
        return;
    }
    lists_block block = block_of(w, begin, end, margin);
    float nearest[3];
    if (!find_nearest(w, &block, nearest)) {
        for (uint32_t i = begin; i < end; i++)
            set_none(w, i);
        return;
    }
    most = count < most / COLLECT_A_POINT ? count * COLLECT_A_POINT : most;
    found = abuti_lists_collect(w->b->bvh, &block, nearest, most, w->kept);
    if (found == ABUT_NONE) {
        uint32_t middle = division(w, begin, end);
        collect(w, begin, middle, margin);
        collect(w, middle, end, margin);
        return;
    }
    lists_list list;
    w->used = 0;
    take_room(w, found, &list);
    w->kernel->gather(w->table, w->kept, found, &list);
    divide(w, begin, end, &list, UINT32_MAX, margin);
}

static void answer_run(worker *w, size_t begin, size_t end) {
    const abut_bvh *bvh = w->b->bvh;
    float largest = 0;
    w->places = w->b->places + begin;
    uint32_t count = (uint32_t)(end - begin);
    for (uint32_t i = 0; i < count; i++) {
        w->exact[i] = batch_point(w->b, w->places[i].point);
        vec3 p = v3_scale(v3_sub(w->exact[i], bvh->mesh->origin), bvh->scale);
        double away = v3_max_abs(p);
        if (!(away < FAR_AWAY)) {
            abuti_batch_single(w->b, w->places, count);
            return;
        }
        largest = (float)away > largest ? (float)away : largest;
        w->points[i][0] = (float)p.x;
        w->points[i][1] = (float)p.y;
        w->points[i][2] = (float)p.z;
    }
    collect(w, 0, count, lists_margin(largest));
    /* Answers go all over memory. One by one they would hold up the work; here many are under way
     * at once. */
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            ABUTI_PREFETCH(&w->b->nearest[w->places[i + AHEAD].point]);
        w->b->nearest[w->places[i].point] = w->answers[i];
    }
}

/* Takes runs as long as there are any. */
static void worker_task(void *data, size_t chunk, size_t begin, size_t end) {
    run_of_batch *r = data;
    worker *w = &r->workers[chunk];
    (void)begin;
    (void)end;
    w->b = r->b;
    w->table = &r->table;
    w->kernel = r->kernel;
    for (;;) {
        size_t from = r->begin + atomic_fetch_add(&r->taken, POINTS_A_RUN);
        if (from >= r->end)
            return;
        answer_run(w, from, r->end - from < POINTS_A_RUN ? r->end : from + POINTS_A_RUN);
    }
}

abut_status abuti_batch_lists(batch *b) {
    abut_context *context = b->bvh->context;
    run_of_batch r;
    memset(&r, 0, sizeof r);
    r.b = b;
    r.kernel = abuti_lists_kernel();
    r.worker_count = abuti_context_threads(context);
    r.worker_count = r.worker_count < 4 ? 4 : r.worker_count; /* a caller's tasks may be more */
    r.workers = abuti_allocate(context, r.worker_count, sizeof *r.workers);
    abut_status status = r.workers ? abuti_lists_create(b->bvh, &r.table) : ABUT_ERROR_MEMORY;
    const size_t part = (size_t)POINTS_A_RUN * RUNS_A_REPORT;
    for (size_t begin = 0; begin < b->count && !status; begin += part) {
        r.begin = begin;
        r.end = b->count - begin < part ? b->count : begin + part;
        atomic_store(&r.taken, 0);
        abuti_parallel_for(context, r.worker_count, 1, worker_task, &r);
        status = abuti_progress(context, "nearest", (double)r.end / (double)b->count);
    }
    abuti_lists_destroy(&r.table);
    abuti_release(context, r.workers);
    return status;
}
