/* A batch of nearest points by lists.
 *
 * Method: sorted points are taken in runs. The list of a run comes from the hierarchy. Then the run
 * is divided where the highest bit of the keys changes, which is a division of space in halves;
 * each time the points have become a few times fewer their box gets a list of its own; and the
 * points of a small box, or all where the list is short, are measured against it. That leaves some
 * triangles that are equally near as far as floats can tell, and these are measured in doubles.
 *
 * The end game. The answer is the lowest triangle of those with the least distance in doubles, as
 * triangle_closest_point() gives it. So candidates are measured as pairs of a point and a triangle,
 * several pairs at once. Around a vertex that is nearest there are six triangles, of which only the
 * lowest is needed: let v be the vertex, r another corner, relative to the query, S the sum of the
 * squares of all corners, and e the rounding of doubles. If v . (r - v) > 2^-36 S for both others,
 * and no height is less than 2^-15 sqrt(S), all signs in triangle_closest_point() are those of
 * exact numbers: the foot on the face is outside by 2^-36 sqrt(S) and computed with an error of 2 e
 * S / height (closest_shared.h), which is less; feet on the two edges at v are clamped to v itself,
 * whose offset is without rounding; and the third edge is further. So the distance is the length of
 * v, bit for bit the same for all such triangles. The lists tell such vertices (LISTS_CLEAR): in
 * the frame, with M = largest coordinate + 2, m = 2^-19 M the margin and S < 12 M^2, they are
 * behind both edges by 4 m, of which m may be error, and edges and heights are at least 2^6 m =
 * 2^-13 M long, so that v . (r - v) > 3 m 2^-13 M > 2^-31 M^2 and 2^-36 S < 2^-32 M^2.
 *
 * Where it does not pay: a run whose list is too long for its points is halved, and in the end its
 * points are searched one by one. So are points far away, where floats tell nothing.
 */
#include "nearest/batch.h"

#include "base/simd.h"
#include "geom/closest_shared.h"
#include "nearest/lists.h"

#include <math.h>
#include <stdatomic.h>

enum {
    POINTS_A_RUN = 4096,
    RUNS_A_WORKER = 4, /* from one report of progress to the next: none waits long for others */
    /* the longest list, and how much room there is for lists of smaller blocks inside */
    LIST_MOST = 8192,
    GROUPS_ROOM = 3 * LIST_MOST / LISTS_GROUP,
    /* triangles that a run may collect for each of its points; a search takes as long */
    COLLECT_A_POINT = 200,
    COLLECT_LEAST = 8,  /* points; fewer are searched one by one */
    DIVISION = 5,       /* a new list when the points are so many times fewer */
    FILTER_LEAST = 3,   /* points that are worth a list of their own */
    MEASURE_POINTS = 4, /* so few are measured with the list that is there */
    MEASURE_LIST = 32,  /* and so short a list is not made shorter */
    AHEAD = 16,         /* points for which memory is called before its turn */
    PAIRS_MOST = 512,   /* that wait to be measured */
};

/* Beyond this many times the size of the mesh a point is far. */
#define FAR_AWAY 64.0f

/* What one worker has. */
typedef struct worker {
    const nearest_batch *b;
    const lists_table *table;
    const lists_kernel *kernel;
    const bvh_place *places;  /* of the run */
    vec3 exact[POINTS_A_RUN]; /* its points: as they are, and in the frame */
    float points[POINTS_A_RUN][3];
    abut_nearest answers[POINTS_A_RUN];
    uint32_t pair_count;
    lists_pair pairs[PAIRS_MOST];
    uint32_t kept[LIST_MOST + LISTS_GROUP];
    float scratch[4 * (LIST_MOST + LISTS_GROUP)];
    lists_group groups[GROUPS_ROOM];
    uint32_t list_places[GROUPS_ROOM * LISTS_GROUP];
    uint32_t used; /* groups */
} worker;

typedef struct run_of_batch {
    const nearest_batch *b;
    lists_table table;
    const lists_kernel *kernel;
    worker *workers;
    uint32_t worker_count;
    size_t begin, end;   /* of the part that runs */
    atomic_size_t taken; /* points of the part */
} run_of_batch;

/* ---- one point ---- */

static void no_answer(abut_nearest *to) {
    to->distance = INFINITY;
    to->triangle = ABUT_NONE;
}

/* Measures the pairs that wait, and gives each point the better of its answers. */
static void measure_pairs(worker *w) {
    w->kernel->exact(w->b->bvh->mesh, w->exact, w->pairs, w->pair_count);
    for (uint32_t k = 0; k < w->pair_count; k++) {
        const lists_pair *pair = &w->pairs[k];
        abut_nearest *to = &w->answers[pair->point];
        if (pair->distance > to->distance ||
            (pair->distance == to->distance && pair->triangle > to->triangle))
            continue;
        to->distance = pair->distance;
        to->triangle = pair->triangle;
        to->point = pair->closest;
        for (int c = 0; c < 3; c++)
            to->barycentric[c] = pair->weight[c];
    }
    w->pair_count = 0;
}

/* What follows from all that. */
static void complete_answers(worker *w, uint32_t count) {
    nearest_ball ball;
    ball.is = false;
    for (uint32_t i = 0; i < count; i++) {
        abut_nearest *to = &w->answers[i];
        if (to->triangle == ABUT_NONE || to->distance > w->b->radius) {
            memset(to, 0, sizeof *to);
            no_answer(to);
            to->point = w->exact[i];
            to->feature = ABUT_FEATURE_FACE;
            continue;
        }
        to->feature = weights_feature(to->barycentric);
        if (w->b->finish)
            w->b->finish(w->b->bvh, w->exact[i], &ball, to);
    }
}

/* Makes pairs of what has been found for a point. */
static void add_pairs(worker *w, uint32_t i, const lists_list *list, uint32_t count) {
    const lists_name *names = w->table->names;
    const float *corners = w->scratch + (size_t)lists_group_count(list->count) * LISTS_GROUP;
    uint32_t vertex = ABUT_NONE, lowest = ABUT_NONE; /* clear ones, most likely all the same */
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = w->kept[k], corner = (uint32_t)corners[at];
        const lists_name *name = &names[list->places[at]];
        if (corner < 3 && (vertex == ABUT_NONE || vertex == name->vertex[corner])) {
            vertex = name->vertex[corner];
            lowest = name->triangle < lowest ? name->triangle : lowest;
            continue;
        }
        if (w->pair_count == PAIRS_MOST)
            measure_pairs(w);
        lists_pair *pair = &w->pairs[w->pair_count++];
        pair->point = i;
        pair->triangle = name->triangle;
    }
    if (lowest == ABUT_NONE)
        return;
    if (w->pair_count == PAIRS_MOST)
        measure_pairs(w);
    lists_pair *pair = &w->pairs[w->pair_count++];
    pair->point = i;
    pair->triangle = lowest;
}

static void measure_points(worker *w, uint32_t begin, uint32_t end, const lists_list *list,
                           float margin) {
    for (uint32_t i = begin; i < end; i++) {
        uint32_t count = w->kernel->measure(list, w->points[i], margin, w->scratch, w->kept);
        no_answer(&w->answers[i]);
        add_pairs(w, i, list, count);
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
    uint32_t groups = lists_group_count(count);
    if (groups > GROUPS_ROOM - w->used)
        return false;
    list->groups = w->groups + w->used;
    list->places = w->list_places + (size_t)w->used * LISTS_GROUP;
    w->used += groups;
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
    abuti_nearest_point(bvh, v3_along(bvh->mesh->origin, 1 / bvh->scale, c), reach, NULL, &found);
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
        bvh_hint hint;
        hint.known = false;
        for (uint32_t i = begin; i < end; i++)
            abuti_nearest_point(w->b->bvh, w->exact[i], w->b->radius, &hint, &w->answers[i]);
        return;
    }
    lists_block block = block_of(w, begin, end, margin);
    float nearest[3];
    if (!find_nearest(w, &block, nearest)) {
        for (uint32_t i = begin; i < end; i++)
            no_answer(&w->answers[i]);
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
        if (i + AHEAD < count)
            ABUTI_PREFETCH(w->b->points.first + w->places[i + AHEAD].point * w->b->points.stride);
        w->exact[i] = bvh_point_at(&w->b->points, w->places[i].point);
        vec3 p = v3_scale(v3_sub(w->exact[i], bvh->mesh->origin), bvh->scale);
        double away = v3_max_abs(p);
        if (!(away < FAR_AWAY)) {
            abuti_batch_single(w->b, w->places, 0, count);
            return;
        }
        largest = (float)away > largest ? (float)away : largest;
        w->points[i][0] = (float)p.x;
        w->points[i][1] = (float)p.y;
        w->points[i][2] = (float)p.z;
    }
    w->pair_count = 0;
    collect(w, 0, count, lists_margin(largest));
    measure_pairs(w);
    complete_answers(w, count);
    /* Answers go all over memory. One by one they would hold up the work; here many are under way
     * at once. */
    for (uint32_t i = 0; i < count; i++) {
        if (i + AHEAD < count) { /* may lie on two lines */
            const abut_nearest *ahead = &w->b->nearest[w->places[i + AHEAD].point];
            ABUTI_PREFETCH(ahead);
            ABUTI_PREFETCH((const char *)(ahead + 1) - 1);
        }
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
        if (from >= r->end || abuti_stop(r->b->bvh->context, "nearest"))
            return;
        answer_run(w, from, r->end - from < POINTS_A_RUN ? r->end : from + POINTS_A_RUN);
    }
}

abut_status abuti_batch_lists(const nearest_batch *b) {
    abut_context *context = b->bvh->context;
    run_of_batch r;
    memset(&r, 0, sizeof r);
    r.b = b;
    r.kernel = abuti_lists_kernel();
    size_t runs = abuti_chunk_count(b->points.count, POINTS_A_RUN);
    r.worker_count = abuti_context_threads(context);
    r.worker_count = r.worker_count < 4 ? 4 : r.worker_count; /* a caller's tasks may be more */
    r.worker_count = r.worker_count < runs ? r.worker_count : (uint32_t)runs;
    r.workers = abuti_allocate(context, r.worker_count, sizeof *r.workers);
    abut_status status = r.workers ? abuti_lists_create(b->bvh, &r.table) : ABUT_ERROR_MEMORY;
    const size_t part = (size_t)POINTS_A_RUN * RUNS_A_WORKER * r.worker_count;
    for (size_t begin = 0; begin < b->points.count && !status; begin += part) {
        r.begin = begin;
        r.end = b->points.count - begin < part ? b->points.count : begin + part;
        atomic_store(&r.taken, 0);
        abuti_parallel_for(context, r.worker_count, 1, worker_task, &r);
        status = abuti_progress(context, "nearest", (double)r.end / (double)b->points.count);
    }
    abuti_lists_destroy(&r.table);
    abuti_release(context, r.workers);
    return status;
}
