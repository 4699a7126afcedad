/* A batch of nearest points by lists.
 *
 * Method: sorted points are taken in runs. The list of a run comes from the hierarchy. Then the run
 * is divided where the highest bit of the keys changes, which is a division of space in halves;
 * each time the points have become a few times fewer their box gets a list of its own; and the
 * points of a small box, or all where the list is short, are measured against it. That leaves some
 * triangles that are equally near as far as floats can tell, and these are measured in doubles.
 *
 * The end game. The answer is the lowest triangle of those with the least distance in doubles, as
 * triangle_closest_point() gives it. Around a vertex that is nearest there are six, all at the same
 * distance, and near an edge or a vertex several almost so. One is measured; most others need not
 * be. Let m be its closest point, r_0, r_1, r_2 the corners of another one, all relative to the
 * query; a_k = r_k . m - m . m; S the sum of all their squares, and t = 2^-36 S, which is 2^12
 * times what rounding can do to a_k.
 *  1. All a_k > t: the triangle is behind the plane through m across the way to it, so further by t
 *     / |m| at least, which is more than what distances err by.
 *  2. All but one are, and m is that corner. Then it is the closest point of this triangle as well.
 *     If the triangle is no needle, the signs of all numbers in triangle_closest_point() are those
 *     of exact ones: the foot on the face is outside by t / |m|, and computed with an error of 2 e
 *     S / height (closest_shared.h) that is less than that for heights above 2^-15 sqrt(S); feet on
 *     the two edges are clamped to the corner, which gives its offset without any rounding; and the
 *     third edge is further. So the distance is the same to the last bit, and the lower index wins.
 *  3. All but one are, by b at least; and that corner r has a > -t (it is the end of an edge that m
 *     is on, say), but is further. A point of the triangle with a weight l for the other two has a
 * > l b - t, so it is further by rule 1 if l > 2 t / b; else it is within l 2 sqrt(S) of r. That is
 * further than m if (|r|^2 - |m|^2) b > 16 t S. By the same token the one that is measured can be
 * told to have its closest point at a corner, or on an edge, before anything else of
 * triangle_closest_point() is done.
 *
 * Where it does not pay: a run whose list is too long for its points is halved, and in the end its
 * points are searched one by one. So are points far away, where floats tell nothing.
 */
#include "bvh/batch.h"

#include "base/simd.h"
#include "bvh/lists.h"
#include "geom/closest_shared.h"

#include <math.h>

enum {
    POINTS_A_RUN = 4096,
    RUNS_A_REPORT = 64,
    /* the longest list, and how much room there is for lists of smaller blocks inside */
    LIST_MOST = 8192,
    GROUPS_ROOM = 3 * LIST_MOST / LISTS_GROUP,
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
/* Parts of S: what is clear of rounding, and the square of the height of a needle. */
#define CLEAR 0x1p-36
#define THIN 0x1p-30

/* What one worker has. */
typedef struct worker {
    const batch *b;
    const lists_table *table;
    const lists_kernel *kernel;
    place *places;            /* of the run */
    vec3 exact[POINTS_A_RUN]; /* its points: as they are, and in the frame */
    float points[POINTS_A_RUN][3];
    abut_nearest answers[POINTS_A_RUN];
    uint32_t kept[LIST_MOST + LISTS_GROUP];
    float scratch[4 * (LIST_MOST + LISTS_GROUP)];
    lists_group groups[GROUPS_ROOM];
    uint32_t list_places[GROUPS_ROOM * LISTS_GROUP];
    uint32_t used; /* groups */
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

/* The best so far. */
typedef struct winner {
    uint32_t triangle, vertex; /* of the mesh, if it is one */
    double distance;
    triangle_foot foot; /* relative to the query */
} winner;

/* Whether a triangle cannot win for certain. */
static bool is_out(const abut_mesh *mesh, const winner *best, vec3 point, uint32_t triangle,
                   double height) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    double mm = v3_length_sq(best->foot.offset), sum = mm, a[3], sq[3];
    for (int k = 0; k < 3; k++) {
        vec3 r = v3_sub(abuti_mesh_position(mesh, corner[k]), point);
        sq[k] = v3_length_sq(r);
        sum += sq[k];
        a[k] = v3_dot(v3_sub(r, best->foot.offset), best->foot.offset);
    }
    if (!(mm > 0x1p-140 && sum < 0x1p190))
        return false;
    double t = CLEAR * sum;
    int near = a[0] > t ? a[1] > t ? 2 : 1 : 0; /* the only one that may be less */
    double b = real_min(a[near == 0 ? 1 : 0], a[near == 2 ? 1 : 2]);
    if (!(b > t))
        return false;
    if (a[near] > t)
        return true;
    if (corner[near] == best->vertex)
        return triangle > best->triangle && height * height > THIN * sum;
    return a[near] > -t && (sq[near] - mm) * b > 16 * t * sum;
}

/* The distance of triangle_closest_point(), quickly where the point is for certain nearest to a
 * vertex or an edge. Gives the weights as well. `height` is the least one of the triangle, or less.
 */
static double distance_of(const abut_triangle *t, double height, vec3 point, triangle_foot *foot) {
    vec3 r[3];
    double sq[3], sum = 0;
    for (int k = 0; k < 3; k++) {
        r[k] = v3_sub(t->corner[k], point);
        sq[k] = v3_length_sq(r[k]);
        sum += sq[k];
    }
    int v = sq[1] < sq[0] ? 1 : 0; /* the nearest corner, and the two others in order */
    v = sq[2] < sq[v] ? 2 : v;
    int next = v == 2 ? 0 : v + 1, last = 3 - v - next;
    double clear = CLEAR * sum;
    if (sq[v] > 0x1p-140 && sum < 0x1p190 && height * height > THIN * sum) {
        double to_next = v3_dot(v3_sub(r[next], r[v]), r[v]);
        double to_last = v3_dot(v3_sub(r[last], r[v]), r[v]);
        foot->weight[0] = foot->weight[1] = foot->weight[2] = 0;
        if (to_next > clear && to_last > clear) {
            foot->weight[v] = 1;
            foot->offset = r[v];
            return length_precise(r[v]);
        }
        if ((to_next < -clear) != (to_last < -clear)) {
            int i = to_next < -clear ? v : last, j = to_next < -clear ? next : v, third = 3 - i - j;
            vec3 edge = v3_sub(t->corner[j], t->corner[i]);
            double s = segment_foot(r[i], r[j], edge);
            foot->offset = segment_at(r[i], r[j], edge, s);
            foot->weight[i] = 1 - s;
            foot->weight[j] = s;
            double mm = v3_length_sq(foot->offset);
            if (v3_dot(v3_sub(r[third], foot->offset), foot->offset) > clear &&
                sq[i] - mm > clear && sq[j] - mm > clear && mm > 0x1p-140)
                return length_precise(foot->offset);
        }
    }
    closest_on_triangle closest = triangle_closest_point(*t, point);
    foot->offset = v3(0, 0, 0);
    for (int k = 0; k < 3; k++) {
        foot->weight[k] = closest.barycentric[k];
        foot->offset = v3_along(foot->offset, foot->weight[k], r[k]);
    }
    return closest.distance;
}

static void try_triangle(const abut_mesh *mesh, winner *best, vec3 point, uint32_t triangle,
                         double height) {
    abut_triangle t = bvh_triangle(mesh, triangle);
    triangle_foot foot;
    double distance = distance_of(&t, height, point, &foot);
    if (distance > best->distance || (distance == best->distance && triangle > best->triangle))
        return;
    best->distance = distance;
    best->triangle = triangle;
    best->foot = foot;
    best->vertex = ABUT_NONE;
    for (int k = 0; k < 3; k++)
        if (foot.weight[k] == 1)
            best->vertex = mesh->indices[3 * (size_t)triangle + (size_t)k];
}

/* A vertex that is clearly the nearest point of a triangle. */
static bool try_vertex(const abut_mesh *mesh, winner *best, vec3 point, const lists_name *name,
                       uint32_t vertex) {
    vec3 r = v3_sub(abuti_mesh_position(mesh, vertex), point);
    double sq = v3_length_sq(r);
    if (!(sq > 0x1p-140 && sq < 0x1p180))
        return false;
    const uint32_t *corner = mesh->indices + 3 * (size_t)name->triangle;
    best->triangle = name->triangle;
    best->vertex = vertex;
    best->distance = length_precise(r);
    best->foot.offset = r;
    for (int k = 0; k < 3; k++)
        best->foot.weight[k] = corner[k] == vertex;
    return true;
}

/* Measures what is left in doubles and writes the answer. */
static void settle(worker *w, uint32_t i, const lists_list *list, const uint32_t *found,
                   uint32_t count) {
    const abut_mesh *mesh = w->b->bvh->mesh;
    const lists_name *names = w->table->names;
    const float *vertices = w->scratch + (size_t)lists_group_count(list->count) * LISTS_GROUP;
    vec3 point = w->exact[i];
    double per_scale = (1 - 0x1p-20) / w->b->bvh->scale;
    /* first the lowest of those that look equal: most of the others are then out */
    float least_sq = INFINITY;
    for (uint32_t k = 0; k < count; k++)
        least_sq = w->scratch[found[k]] < least_sq ? w->scratch[found[k]] : least_sq;
    least_sq *= 1 + 0x1p-20f;
    uint32_t first = ABUT_NONE, at_first = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t triangle = names[list->places[found[k]]].triangle;
        if (w->scratch[found[k]] <= least_sq && triangle < first) {
            first = triangle;
            at_first = found[k];
        }
    }
    winner best;
    best.triangle = ABUT_NONE;
    best.distance = INFINITY;
    const lists_name *name = &names[list->places[at_first]];
    uint32_t corner = (uint32_t)vertices[at_first];
    if (corner == 3 || !try_vertex(mesh, &best, point, name, name->vertex[corner]))
        try_triangle(mesh, &best, point, first, per_scale * lists_height(list, at_first));
    for (uint32_t k = 0; k < count; k++) {
        name = &names[list->places[found[k]]];
        corner = (uint32_t)vertices[found[k]];
        if (corner < 3 && name->vertex[corner] == best.vertex && name->triangle >= best.triangle)
            continue; /* as far, and not lower */
        double height = per_scale * lists_height(list, found[k]);
        if (name->triangle != first && !is_out(mesh, &best, point, name->triangle, height))
            try_triangle(mesh, &best, point, name->triangle, height);
    }
    if (best.distance > w->b->radius) {
        set_none(w, i);
        return;
    }
    abut_nearest *to = &w->answers[i];
    to->distance = best.distance;
    to->point = weights_point(bvh_triangle(mesh, best.triangle), best.foot.weight);
    for (int k = 0; k < 3; k++)
        to->barycentric[k] = best.foot.weight[k];
    to->triangle = best.triangle;
    to->feature = weights_feature(best.foot.weight);
}

static void measure_points(worker *w, uint32_t begin, uint32_t end, const lists_list *list,
                           float margin) {
    for (uint32_t i = begin; i < end; i++) {
        uint32_t count = w->kernel->measure(list, w->points[i], margin, w->scratch, w->kept);
        settle(w, i, list, w->kept, count);
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
