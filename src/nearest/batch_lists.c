/* A batch of nearest points by lists of features.
 *
 * Method: sorted points are taken in runs. The list of a run comes from the hierarchy
 * (regions.h). Then the run is divided, each time the points have become a few times fewer their
 * box gets a list of its own, and sixteen points or fewer are measured against what is left. That
 * leaves one feature a point or, as far as floats can tell, several, and the triangles of these are
 * measured in doubles. Sorted points are divided where the highest bit of the keys changes, which
 * is a division of space in halves; points that come in groups, in the middle.
 *
 * Nothing that wins is lost. The answer is the lowest triangle T of those with the least distance
 * in doubles, as triangle_closest_point() gives it, which need not be exactly nearest. In the frame
 * let M = largest coordinate of the point p + 2, which bounds all coordinate differences, and m =
 * 2^-17 M the margin. Distances in doubles err by 4 ulp, so that T is further than the mesh by at
 * most 2^-49 M, and the square of its distance d is greater by at most D = 2^-47 M^2. Let q be the
 * point of T that is nearest to p. It lies on a feature F of T. If p is no more than m outside each
 * vector of F, F is kept, and T measured. Suppose that it is outside by more, of which less than a
 * tenth may be error.
 *   - Not by a face's own borders, nor by the ends of an edge: then q would not be nearest.
 *   - An edge of a vertex: it is at least 2^-20 long, and going along it from q makes the square
 *     less by 2^-20 x 0.9 m > 2^-38 M, which is more than D as long as M < 2^9.
 *   - A face of an edge, with sines of at least 1/64 at both ends: going into it from q, which is y
 *     from the nearer end V, makes the square less by 0.9 m y / 64 at least, so y < 2^-23 M. Then V
 *     takes the place of F: its distance squared is at most d^2 + y^2, and by the above it is kept,
 *     as 2^-38 M is more than D + 2^-46 M^2.
 *   - Where T is no feature because it is lower than 2^-20, one of its edges or vertices that is
 *     kept is marked, and the point is searched for.
 * Points with coordinates of 64 and more are searched for too.
 *
 * Around a vertex v that is nearest there are six triangles or so, of which only the lowest is
 * needed: let r be another corner, both relative to the query, S the sum of the squares of all
 * corners, and e the rounding of doubles. If v . (r - v) > 2^-36 S for both others, and no height
 * is less than 2^-15 sqrt(S), all signs in triangle_closest_point() are those of exact numbers: the
 * foot on the face is outside by 2^-36 sqrt(S) and computed with an error of 2 e S / height
 * (closest_shared.h), which is less; feet on the two edges at v are clamped to v itself, whose
 * offset is without rounding; and the third edge is further. So the distance is the length of v,
 * bit for bit the same for all such triangles. That is so where p is behind all edges of v by m, of
 * which a tenth may be error, and heights, and hence edges, are at least 16 m = 2^-13 M: v . (r -
 * v) > 0.9 m 2^-13 M > 2^-31 M^2, and 2^-36 S < 2^-32 M^2, as S < 12 M^2.
 *
 * Where it does not pay: a run whose list is too long for its points is halved, and in the end its
 * points are searched one by one. So are points far away, where floats tell nothing.
 */
#include "nearest/batch.h"

#include "base/simd.h"
#include "nearest/pairs.h"
#include "nearest/regions.h"

#include <math.h>
#include <stdatomic.h>

enum {
    POINTS_A_RUN = 4096,
    RUNS_A_WORKER = 4, /* from one report of progress to the next: none waits long for others */
    /* Points that get a list from the hierarchy: so many times those for each triangle, and at
     * least. */
    COLLECT_TIMES = 16,
    COLLECT_MOST_MIN = 64,
    COLLECT_A_POINT = 100, /* features of a list that are worth it: a search takes as long */
    COLLECT_MIN = 8,       /* points; fewer are searched one by one */
    DIVISION = 4,          /* a new list when the points are so many times fewer */
    FILTER_A_POINT = 250,  /* features of a list that are worth a new one */
    MEASURE_LIST = 6,      /* features; so short a list is not made shorter */
    LONG_LIST = 1024,      /* the points of a longer one are divided */
    AHEAD = 16,            /* points for which memory is called before its turn */
    PAIRS_MAX = 256,       /* that wait to be measured */
};
_Static_assert((int)LONG_LIST <= (int)REGIONS_KEPT, "all squares are there");

/* Beyond this many times the size of the mesh a point is far. */
#define FAR_AWAY 64.0
#define MARGIN 0x1p-20f
#define OUTSIDE 8 /* margins: what may be outside a region */

typedef struct queue {
    uint32_t count;
    nearest_pair pairs[PAIRS_MAX];
} queue;

/* What one worker has. */
typedef struct worker {
    const nearest_batch *b;
    const pairs_kernel *pairs;
    const bvh_sorted_point *places; /* of the run; null = as they come */
    size_t first;                   /* the first place of the run */
    float margin;                   /* of the run */
    size_t collect_most;            /* points that get a list from the hierarchy */
    vec3 exact[POINTS_A_RUN];       /* its points: as they are, and in the frame */
    float at[3][POINTS_A_RUN + REGIONS_POINTS];
    abut_nearest answers[POINTS_A_RUN];
    queue waiting[PAIRS_KINDS]; /* by what the nearest point is on */
    regions_winners winners;
    regions_room lists;
} worker;

typedef struct run_of_batch {
    const nearest_batch *b;
    regions_table table;
    worker *workers;
    uint64_t *seen; /* of all workers */
    uint32_t worker_count;
    size_t begin, end;   /* of the part that runs */
    atomic_size_t taken; /* points of the part */
} run_of_batch;

/* ---- answers ---- */

static void no_answer(abut_nearest *to) {
    to->distance = INFINITY;
    to->triangle = ABUT_NONE;
}

/* Measures the pairs that wait, and gives each point the better of its answers. */
static void measure_pairs(worker *w, pairs_kind kind) {
    queue *q = &w->waiting[kind];
    w->pairs->exact(w->b->bvh->mesh, w->exact, kind, q->pairs, q->count);
    for (uint32_t k = 0; k < q->count; k++) {
        const nearest_pair *pair = &q->pairs[k];
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
    q->count = 0;
}

static void add_pair(worker *w, pairs_kind kind, uint32_t point, uint32_t triangle,
                     uint32_t corner) {
    queue *q = &w->waiting[kind];
    if (q->count == PAIRS_MAX)
        measure_pairs(w, kind);
    nearest_pair *pair = &q->pairs[q->count++];
    pair->point = point;
    pair->triangle = triangle;
    pair->corner = corner;
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

static void search_points(worker *w, uint32_t begin, uint32_t end) {
    bvh_hint hint;
    hint.known = false;
    for (uint32_t i = begin; i < end; i++)
        abuti_nearest_point(w->b->bvh, w->exact[i], w->b->radius, &hint, &w->answers[i]);
}

static void set_no_answers(worker *w, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++)
        no_answer(&w->answers[i]);
}

/* ---- sixteen points ---- */

/* Whether a point is behind all edges of a vertex, so that the lowest of its triangles will do. */
static bool is_behind(const worker *w, uint32_t i, uint32_t name) {
    const regions_table *table = w->lists.table;
    const feature_fan *fan = &table->features.fans[feature_source(&table->features, name)];
    const float *place = table->rows[name].column + REGIONS_PLACE;
    if (!(fan->least >= 16 * OUTSIDE * w->margin))
        return false;
    const float x = w->at[0][i] - place[0], y = w->at[1][i] - place[1], z = w->at[2][i] - place[2];
    float t[FAN_EDGES];
    for (int k = 0; k < FAN_EDGES; k++)
        t[k] = fan->direction[0][k] * x + fan->direction[1][k] * y + fan->direction[2][k] * z;
    unsigned behind = 1;
    for (int k = 0; k < FAN_EDGES; k++)
        behind &= t[k] < -OUTSIDE * w->margin;
    return behind;
}

/* Whether a point is clear of all borders of the region of an edge. */
static bool is_beside(const worker *w, uint32_t i, const float *row) {
    const float r[3] = {w->at[0][i] - row[REGIONS_PLACE], w->at[1][i] - row[REGIONS_PLACE + 1],
                        w->at[2][i] - row[REGIONS_PLACE + 2]};
    const float *u = row + REGIONS_FOURTH, *v = row + REGIONS_SECOND;
    const float clear = OUTSIDE * w->margin;
    const float along = u[0] * r[0] + u[1] * r[1] + u[2] * r[2];
    return along > clear && along < row[REGIONS_OFFSET] - clear &&
           v[0] * r[0] + v[1] * r[1] + v[2] * r[2] < -clear &&
           row[REGIONS_THIRD_X] * r[0] + row[REGIONS_THIRD_Y] * r[1] + row[REGIONS_THIRD_Z] * r[2] <
               -clear;
}

/* Adds what has to be measured where a feature may be nearest. False: the point has to be searched
 * for. */
static bool add_feature(worker *w, uint32_t i, uint32_t name) {
    const regions_table *table = w->lists.table;
    const abuti_features *features = &table->features;
    const float *row = table->rows[name].column, offset = row[REGIONS_OFFSET];
    pairs_kind kind = PAIRS_BORDER;
    if (feature_is_marked(features, name))
        return false;
    if (offset < 0) {
        add_pair(w, PAIRS_FACE, i, feature_source(features, name), 0);
        return true;
    }
    uint32_t k = features->incident_begin[name], end = features->incident_begin[name + 1];
    if (offset == 0 && is_behind(w, i, name)) {
        kind = PAIRS_CORNER;
        end = k + 1;
    } else if (offset > 0 && end == k + 2 && is_beside(w, i, row)) {
        kind = PAIRS_EDGE;
    }
    for (; k < end; k++)
        add_pair(w, kind, i, features->incidents[k] / 4,
                 kind == PAIRS_BORDER ? 0 : features->incidents[k] % 4);
    return true;
}

/* Points that several features may be nearest to, as bits. */
static unsigned crowded_points(const worker *w, uint32_t count) {
    const regions_winners *found = &w->winners;
    unsigned crowded = 0;
    for (uint32_t n = 0; n < count; n++)
        crowded |= (unsigned)(found->next[n] <= regions_reach_sq(found, w->margin, n)) << n;
    return crowded;
}

/* The candidates of point n of the sixteen from `begin` on. */
static bool add_candidates(worker *w, uint32_t begin, uint32_t n, const uint32_t *names,
                           bool is_crowded) {
    const regions_winners *found = &w->winners;
    if (!(found->best[n] <= regions_reach_sq(found, w->margin, n)))
        return true; /* nothing is within the radius */
    if (!is_crowded)
        return add_feature(w, begin + n, names[(uint32_t)found->place[n]]);
    for (uint32_t c = 0; c < found->candidate_count; c++)
        if (regions_is_candidate(found, c, n) &&
            !add_feature(w, begin + n, names[regions_candidate_place(found, c)]))
            return false;
    return true;
}

static void measure_points(worker *w, uint32_t begin, uint32_t end, const uint32_t *names,
                           uint32_t count) {
    const float *const at[3] = {w->at[0] + begin, w->at[1] + begin, w->at[2] + begin};
    if (count > LONG_LIST) {
        search_points(w, begin, end);
        return;
    }
    set_no_answers(w, begin, end);
    w->lists.kernel->winners(w->lists.table->rows, names, count, at, OUTSIDE * w->margin,
                             &w->winners);
    const unsigned crowded = crowded_points(w, end - begin);
    if (crowded)
        w->lists.kernel->candidates(count, w->margin, crowded, &w->winners);
    for (uint32_t i = begin; i < end; i++)
        if (!add_candidates(w, begin, i - begin, names, crowded >> (i - begin) & 1))
            search_points(w, i, i + 1);
}

/* ---- boxes ---- */

/* The box of some points; rounding is part of it. */
static regions_box box_of(const worker *w, uint32_t begin, uint32_t end) {
    regions_box box = {.margin = w->margin, .outside = OUTSIDE * w->margin};
    for (int k = 0; k < 3; k++) {
        const float *x = w->at[k];
        uint32_t i = begin;
        f4 least = f4_all(x[begin]), most = least;
        for (; i + 4 <= end; i += 4) {
            least = f4_min(least, f4_load(x + i));
            most = f4_max(most, f4_load(x + i));
        }
        for (; i < end; i++) {
            least = f4_min(least, f4_all(x[i]));
            most = f4_max(most, f4_all(x[i]));
        }
        const float lo = f4_least(least), hi = -f4_least(f4_sub(f4_all(0), most));
        box.centre[k] = 0.5f * (lo + hi);
        box.half[k] = 0.5f * (hi - lo) + 0.25f * w->margin;
    }
    box.reach = (float)(w->b->radius * w->b->bvh->scale) * NEAREST_SLACK;
    return box;
}

/* Where the highest bit in which the keys differ changes; the middle of equal ones and of points
 * that have none. */
static uint32_t division(const worker *w, uint32_t begin, uint32_t end) {
    uint32_t half = (end - begin) / 2;
    if (!w->places)
        return begin + (half < REGIONS_POINTS ? half : half / REGIONS_POINTS * REGIONS_POINTS);
    uint32_t first = w->places[begin].key, differ = first ^ w->places[end - 1].key;
    if (!differ)
        return begin + half;
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

/* Answers sixteen points or fewer. */
static void finish_points(worker *w, uint32_t begin, uint32_t end, const regions_list *list) {
    const uint32_t *names = list->names;
    uint32_t count = list->count;
    if (count / FILTER_A_POINT > end - begin) {
        search_points(w, begin, end);
        return;
    }
    if (count > MEASURE_LIST) {
        regions_box box = box_of(w, begin, end);
        abuti_regions_filter(&w->lists, list, &box, 1, &count);
        names = w->lists.kept;
    }
    if (count > LONG_LIST && end - begin > 1) {
        uint32_t middle = division(w, begin, end);
        finish_points(w, begin, middle, list);
        finish_points(w, middle, end, list);
    } else {
        measure_points(w, begin, end, names, count);
    }
}

/* Answers points with a list that was made for `made_for` points. Recursion ends: keys have 30
 * bits, and equal ones are halved. */
static void divide(worker *w, uint32_t begin, uint32_t end, const regions_list *list,
                   uint32_t made_for) {
    uint32_t count = end - begin, before = w->lists.used;
    regions_narrowed made;
    if (count <= REGIONS_POINTS) {
        finish_points(w, begin, end, list);
        return;
    }
    if (count * DIVISION <= made_for) {
        regions_box box = box_of(w, begin, end);
        made_for = count;
        abuti_regions_narrow(&w->lists, list, &box, 1, &made);
        list = made.list;
        if (!list) {
            set_no_answers(w, begin, end);
            return;
        }
    }
    uint32_t middle = division(w, begin, end);
    divide(w, begin, middle, list, made_for);
    divide(w, middle, end, list, made_for);
    w->lists.used = before;
}

/* ---- runs ---- */

static void collect(worker *w, uint32_t begin, uint32_t end) {
    uint32_t count = end - begin;
    if (count < COLLECT_MIN) {
        search_points(w, begin, end);
        return;
    }
    regions_box box = box_of(w, begin, end);
    regions_list list;
    bool clear;
    regions_outcome found = REGIONS_TOO_MANY;
    if (count <= w->collect_most)
        found = abuti_regions_collect(&w->lists, &box, count * COLLECT_A_POINT, &list, &clear);
    if (found == REGIONS_NOTHING) {
        set_no_answers(w, begin, end);
    } else if (found == REGIONS_LISTED) {
        divide(w, begin, end, &list, count);
    } else {
        uint32_t middle = division(w, begin, end);
        collect(w, begin, middle);
        collect(w, middle, end);
    }
}

static size_t point_at(const worker *w, uint32_t i) {
    return w->places ? w->places[i].point : w->first + i;
}

/* Reads the points of a run; false where one is far away. */
static bool read_points(worker *w, uint32_t count) {
    const abut_bvh *bvh = w->b->bvh;
    double largest = 0;
    if (w->b->read)
        w->b->read(w->b->user, w->first, count, w->exact);
    for (uint32_t i = 0; i < count; i++) {
        if (w->places && i + AHEAD < count)
            ABUTI_PREFETCH(w->b->points.first + w->places[i + AHEAD].point * w->b->points.stride);
        if (!w->b->read)
            w->exact[i] = bvh_point_at(&w->b->points, point_at(w, i));
        vec3 p = v3_scale(v3_sub(w->exact[i], bvh->mesh->origin), bvh->scale);
        largest = real_max(largest, v3_max_abs(p));
        for (int k = 0; k < 3; k++)
            w->at[k][i] = (float)v3_get(p, k);
    }
    for (int k = 0; k < 3; k++) /* lanes of no point */
        memset(w->at[k] + count, 0, REGIONS_POINTS * sizeof *w->at[k]);
    w->margin = MARGIN * ((float)largest + 2);
    return largest < FAR_AWAY;
}

static void answer_run(worker *w, size_t begin, size_t end) {
    uint32_t count = (uint32_t)(end - begin);
    w->first = begin;
    w->places = w->b->places ? w->b->places + begin : NULL;
    for (int kind = 0; kind < PAIRS_KINDS; kind++)
        w->waiting[kind].count = 0;
    w->lists.hint.known = false;
    if (read_points(w, count))
        collect(w, 0, count);
    else
        search_points(w, 0, count);
    for (int kind = 0; kind < PAIRS_KINDS; kind++)
        measure_pairs(w, (pairs_kind)kind);
    complete_answers(w, count);
    if (w->b->keep) {
        w->b->keep(w->b->user, begin, count, w->exact, w->answers);
        return;
    }
    /* Answers may go all over memory. One by one they would hold up the work; here many are under
     * way at once. */
    for (uint32_t i = 0; i < count; i++) {
        if (w->places && i + AHEAD < count) { /* may lie on two lines */
            const abut_nearest *ahead = &w->b->nearest[w->places[i + AHEAD].point];
            ABUTI_PREFETCH(ahead);
            ABUTI_PREFETCH((const char *)(ahead + 1) - 1);
        }
        w->b->nearest[point_at(w, i)] = w->answers[i];
    }
}

/* Takes runs as long as there are any. */
static void worker_task(void *data, size_t chunk, size_t begin, size_t end) {
    run_of_batch *r = data;
    worker *w = &r->workers[chunk];
    (void)begin;
    (void)end;
    w->b = r->b;
    w->pairs = ABUTI_BY_LANES(abuti_pairs);
    w->collect_most = COLLECT_TIMES * r->b->points.count / r->b->bvh->triangle_count;
    if (w->collect_most < COLLECT_MOST_MIN)
        w->collect_most = COLLECT_MOST_MIN;
    w->lists.table = &r->table;
    w->lists.kernel = ABUTI_BY_LANES(abuti_regions);
    w->lists.seen = r->seen + chunk * regions_seen_words(&r->table);
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
    size_t runs = abuti_chunk_count(b->points.count, POINTS_A_RUN);
    r.worker_count = abuti_context_threads(context);
    r.worker_count = r.worker_count < 4 ? 4 : r.worker_count; /* a caller's tasks may be more */
    r.worker_count = r.worker_count < runs ? r.worker_count : (uint32_t)runs;
    r.workers = abuti_allocate(context, r.worker_count, sizeof *r.workers);
    abut_status status =
        r.workers ? abuti_regions_create(b->bvh, FEATURES_CORNERS | FEATURES_FANS, &r.table)
                  : ABUT_ERROR_MEMORY;
    if (!status) {
        size_t words = regions_seen_words(&r.table);
        r.seen = abuti_allocate(context, words, r.worker_count * sizeof *r.seen);
        status = r.seen ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    const size_t part = (size_t)POINTS_A_RUN * RUNS_A_WORKER * r.worker_count;
    for (size_t begin = 0; begin < b->points.count && !status; begin += part) {
        r.begin = begin;
        r.end = b->points.count - begin < part ? b->points.count : begin + part;
        atomic_store(&r.taken, 0);
        abuti_parallel_for(context, r.worker_count, 1, worker_task, &r);
        status = abuti_progress(context, "nearest", (double)r.end / (double)b->points.count);
    }
    abuti_regions_destroy(&r.table);
    ABUTI_RELEASE(context, r.seen, r.workers);
    return status;
}
