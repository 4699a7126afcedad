/* A batch of closest points by feature lists.
 *
 * Method: sorted points are processed in runs. The list of a run is collected from the BVH
 * (regions.h). Then the run is divided. Each time the points have become a few times fewer their
 * box gets a list of its own, and sixteen points or fewer are measured against the remaining
 * features. That leaves one feature per point or, if floats cannot decide, several, and the
 * triangles of these are measured in doubles. Sorted points are divided where the highest bit of
 * the keys changes, which is a division of space in halves; generated points in the middle.
 *
 * No result is lost. The result is the lowest triangle T of those with the smallest distance in
 * doubles, as triangle_closest_point() computes it, which need not be exactly nearest. In the frame
 * let M = largest coordinate of the point p + 2, which bounds all coordinate differences, and m =
 * 2^-17 M the margin. Distances in doubles have errors of 4 ulp, so T is further than the mesh by
 * at most 2^-49 M, and the square of its distance d is greater by at most D = 2^-47 M^2. Let q be
 * the point of T that is nearest to p. It is on a feature F of T. If p is at most m outside each
 * vector of F, F is kept, and T measured. Suppose that it is outside by more, of which less than a
 * tenth may be error.
 *   - Not by the edges of a face itself, nor by the ends of an edge: then q would not be nearest.
 *   - By an edge of a vertex: it is at least 2^-20 long, and moving q along it decreases the square
 *     by 2^-20 x 0.9 m > 2^-38 M, which is more than D as long as M < 2^9.
 *   - By a face of an edge, with sines of at least 1/64 at both ends: moving q, which is y from the
 *     nearer end V, into the face decreases the square by at least 0.9 m y / 64, so y < 2^-23 M.
 *     Then V replaces F: its squared distance is at most d^2 + y^2, and by the above it is kept, as
 *     2^-38 M is more than D + 2^-46 M^2.
 *   - If T is no feature because its height is below 2^-20, one of its edges or vertices that is
 *     kept is marked, and the point is searched. Points with coordinates of 64 and more are
 *     searched too.
 *
 * Fallback: a run whose list is too long for its points is halved, and in the end its points are
 * searched one by one. So are distant points, where floats cannot distinguish triangles.
 */
#include "nearest/batch.h"

#include "base/simd.h"
#include "nearest/regions.h"

#include <math.h>
#include <stdatomic.h>

enum {
    POINTS_PER_RUN = 4096,
    RUNS_PER_WORKER = 4, /* between two progress reports, so that no worker waits long for others */
    /* Points that get a list from the BVH: at most this factor times the points per triangle, but
     * not less than the second constant. */
    COLLECT_FACTOR = 16,
    COLLECT_POINTS_MAX_MIN = 64,
    COLLECT_FEATURES_PER_POINT = 100, /* features of a list that pay off: a search costs as much */
    COLLECT_POINTS_MIN = 8,           /* fewer points are searched one by one */
    FILTER_DIVISION = 4,              /* a new list when the points are fewer by this factor */
    FILTER_FEATURES_PER_POINT = 250,  /* features of a list above which a new one pays off */
    MEASURE_FEATURES_MAX = 6,         /* a list of so few features is not filtered further */
    LONG_LIST_FEATURES = 1024,        /* the points of a longer list are divided */
    PREFETCH_POINTS = 16,             /* points that are prefetched */
    PAIRS_MAX = 256,                  /* that are measured together */
};
_Static_assert((int)LONG_LIST_FEATURES <= (int)REGIONS_KEPT, "all squares are kept");

/* In multiples of the size of the mesh: more distant points are searched. */
#define FAR_DISTANCE 64.0
#define FLOAT_MARGIN 0x1p-20f
#define OUTSIDE_MARGINS 8 /* margins: how far points may be outside a region */

/* The state of one worker. */
typedef struct worker {
    const nearest_batch *b;
    const bvh_sorted_point *places; /* of the run; null = the order of the caller */
    size_t first;                   /* the first position of the run */
    float margin;                   /* of the run */
    size_t collect_max;             /* points that get a list from the BVH */
    vec3 exact[POINTS_PER_RUN];     /* its points: exact, and in the frame */
    float at[3][POINTS_PER_RUN + REGIONS_POINTS];
    abut_nearest results[POINTS_PER_RUN];
    uint32_t pair_count; /* that have not been measured yet */
    nearest_pair pairs[PAIRS_MAX];
    regions_winners winners;
    regions_room lists;
} worker;

typedef struct batch_run {
    const nearest_batch *b;
    regions_table table;
    worker *workers;
    uint64_t *seen; /* of all workers */
    uint32_t worker_count;
    size_t begin, end;        /* of the current block */
    atomic_size_t next_point; /* in the block */
} batch_run;

/* ---- results ---- */

static void clear_result(abut_nearest *to) {
    to->distance = INFINITY;
    to->triangle = ABUT_NONE;
}

/* Measures the pending pairs, and keeps the best result of each point. */
static void measure_pairs(worker *w) {
    ABUTI_BY_LANES(abuti_nearest_measure)(w->b->bvh->mesh, w->pairs, w->pair_count);
    for (uint32_t k = 0; k < w->pair_count; k++) {
        const nearest_pair *pair = &w->pairs[k];
        abut_nearest *to = &w->results[pair->index];
        if (pair->distance > to->distance ||
            (pair->distance == to->distance && pair->triangle > to->triangle))
            continue;
        to->distance = pair->distance;
        to->triangle = pair->triangle;
        memcpy(to->barycentric, pair->weight, sizeof to->barycentric);
    }
    w->pair_count = 0;
}

static void add_pair(worker *w, uint32_t point, uint32_t triangle) {
    if (w->pair_count == PAIRS_MAX)
        measure_pairs(w);
    nearest_pair *pair = &w->pairs[w->pair_count++];
    pair->point = w->exact[point];
    pair->index = point;
    pair->triangle = triangle;
}

/* Completes the results of a run. */
static void complete_results(worker *w, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        abut_nearest *to = &w->results[i];
        if (to->triangle == ABUT_NONE || to->distance > w->b->radius) {
            memset(to, 0, sizeof *to);
            clear_result(to);
            to->point = w->exact[i];
            to->feature = ABUT_FEATURE_FACE;
            continue;
        }
        to->feature = weights_feature(to->barycentric);
        to->point = weights_point(bvh_triangle(w->b->bvh->mesh, to->triangle), to->barycentric);
        if (w->b->complete)
            w->b->complete(w->b->bvh, w->exact[i], to);
    }
}

static void search_points(worker *w, uint32_t begin, uint32_t end) {
    bvh_hint hint;
    hint.known = false;
    for (uint32_t i = begin; i < end; i++)
        abuti_nearest_point(w->b->bvh, w->exact[i], w->b->radius, &hint, &w->results[i]);
}

static void clear_results(worker *w, uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; i++)
        clear_result(&w->results[i]);
}

/* ---- sixteen points ---- */

/* Adds the pairs of a feature that may be nearest. Returns false if the point must be searched. */
static bool add_feature_pairs(worker *w, uint32_t i, uint32_t name) {
    const abuti_features *features = &w->lists.table->features;
    if (feature_is_marked(features, name))
        return false;
    for (uint32_t k = features->incident_begin[name]; k < features->incident_begin[name + 1]; k++)
        add_pair(w, i, features->incidents[k]);
    return true;
}

/* Points that several features may be nearest to, as a mask. */
static unsigned ambiguous_points(const worker *w, uint32_t count) {
    const regions_winners *found = &w->winners;
    unsigned crowded = 0;
    for (uint32_t n = 0; n < count; n++)
        crowded |= (unsigned)(found->next[n] <= regions_reach_sq(found, w->margin, n)) << n;
    return crowded;
}

/* Adds the candidates of point n of the sixteen from `begin` on. */
static bool add_point_candidates(worker *w, uint32_t begin, uint32_t n, const uint32_t *names,
                                 bool is_ambiguous) {
    const regions_winners *found = &w->winners;
    if (!(found->best[n] <= regions_reach_sq(found, w->margin, n)))
        return true; /* nothing is within the radius */
    if (!is_ambiguous)
        return add_feature_pairs(w, begin + n, names[(uint32_t)found->place[n]]);
    for (uint32_t c = 0; c < found->candidate_count; c++)
        if (regions_is_candidate(found, c, n) &&
            !add_feature_pairs(w, begin + n, names[regions_candidate_place(found, c)]))
            return false;
    return true;
}

static void measure_points(worker *w, uint32_t begin, uint32_t end, const uint32_t *names,
                           uint32_t count) {
    const float *const at[3] = {w->at[0] + begin, w->at[1] + begin, w->at[2] + begin};
    if (count > LONG_LIST_FEATURES) {
        search_points(w, begin, end);
        return;
    }
    clear_results(w, begin, end);
    w->lists.kernel->winners(w->lists.table->rows, names, count, at, OUTSIDE_MARGINS * w->margin,
                             &w->winners);
    const unsigned crowded = ambiguous_points(w, end - begin);
    if (crowded)
        w->lists.kernel->candidates(count, w->margin, crowded, &w->winners);
    for (uint32_t i = begin; i < end; i++)
        if (!add_point_candidates(w, begin, i - begin, names, crowded >> (i - begin) & 1))
            search_points(w, i, i + 1);
}

/* ---- boxes ---- */

/* The box of some points; its half size includes rounding errors. */
static regions_box points_box(const worker *w, uint32_t begin, uint32_t end) {
    regions_box box = {.margin = w->margin, .outside = OUTSIDE_MARGINS * w->margin};
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

/* Where the highest differing bit of the keys changes; the middle for equal keys and for points
 * without keys. */
static uint32_t find_division(const worker *w, uint32_t begin, uint32_t end) {
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

/* Computes the results of sixteen points or fewer. */
static void measure_16_points(worker *w, uint32_t begin, uint32_t end, const regions_list *list) {
    const uint32_t *names = list->names;
    uint32_t count = list->count;
    if (count / FILTER_FEATURES_PER_POINT > end - begin) {
        search_points(w, begin, end);
        return;
    }
    if (count > MEASURE_FEATURES_MAX) {
        regions_box box = points_box(w, begin, end);
        abuti_regions_filter(&w->lists, list, &box, 1, &count);
        names = w->lists.kept;
    }
    if (count > LONG_LIST_FEATURES && end - begin > 1) {
        uint32_t middle = find_division(w, begin, end);
        measure_16_points(w, begin, middle, list);
        measure_16_points(w, middle, end, list);
    } else {
        measure_points(w, begin, end, names, count);
    }
}

/* Computes the results of points with a list that was made for `made_for` points. The recursion is
 * bounded: keys have 30 bits, and equal ones are halved. */
static void divide_points(worker *w, uint32_t begin, uint32_t end, const regions_list *list,
                          uint32_t made_for) {
    uint32_t count = end - begin, before = w->lists.used;
    regions_narrowed made;
    if (count <= REGIONS_POINTS) {
        measure_16_points(w, begin, end, list);
        return;
    }
    if (count * FILTER_DIVISION <= made_for) {
        regions_box box = points_box(w, begin, end);
        made_for = count;
        abuti_regions_narrow(&w->lists, list, &box, 1, &made);
        list = made.list;
        if (!list) {
            clear_results(w, begin, end);
            return;
        }
    }
    uint32_t middle = find_division(w, begin, end);
    divide_points(w, begin, middle, list, made_for);
    divide_points(w, middle, end, list, made_for);
    w->lists.used = before;
}

/* ---- runs ---- */

static void collect_list(worker *w, uint32_t begin, uint32_t end) {
    uint32_t count = end - begin;
    if (count < COLLECT_POINTS_MIN) {
        search_points(w, begin, end);
        return;
    }
    regions_box box = points_box(w, begin, end);
    regions_list list;
    regions_outcome found = REGIONS_TOO_MANY;
    if (count <= w->collect_max)
        found = abuti_regions_collect(&w->lists, &box, count * COLLECT_FEATURES_PER_POINT, &list);
    if (found == REGIONS_NOTHING) {
        clear_results(w, begin, end);
    } else if (found == REGIONS_LISTED) {
        divide_points(w, begin, end, &list, count);
    } else {
        uint32_t middle = find_division(w, begin, end);
        collect_list(w, begin, middle);
        collect_list(w, middle, end);
    }
}

static size_t point_at(const worker *w, uint32_t i) {
    return w->places ? w->places[i].point : w->first + i;
}

/* Reads the points of a run. Returns false if one is far away. */
static bool read_points(worker *w, uint32_t count) {
    const abut_bvh *bvh = w->b->bvh;
    double largest = 0;
    if (w->b->read)
        w->b->read(w->b->user, w->first, count, w->exact);
    for (uint32_t i = 0; i < count; i++) {
        if (w->places && i + PREFETCH_POINTS < count)
            ABUTI_PREFETCH(w->b->points.first +
                           w->places[i + PREFETCH_POINTS].point * w->b->points.stride);
        if (!w->b->read)
            w->exact[i] = bvh_point_at(&w->b->points, point_at(w, i));
        vec3 p = v3_scale(v3_sub(w->exact[i], bvh->mesh->origin), bvh->scale);
        largest = real_max(largest, v3_max_abs(p));
        for (int k = 0; k < 3; k++)
            w->at[k][i] = (float)v3_get(p, k);
    }
    for (int k = 0; k < 3; k++) /* unused lanes */
        memset(w->at[k] + count, 0, REGIONS_POINTS * sizeof *w->at[k]);
    w->margin = FLOAT_MARGIN * ((float)largest + 2);
    return largest < FAR_DISTANCE;
}

static void compute_run(worker *w, size_t begin, size_t end) {
    uint32_t count = (uint32_t)(end - begin);
    w->first = begin;
    w->places = w->b->places ? w->b->places + begin : NULL;
    w->pair_count = 0;
    w->lists.hint.known = false;
    if (read_points(w, count))
        collect_list(w, 0, count);
    else
        search_points(w, 0, count);
    measure_pairs(w);
    complete_results(w, count);
    if (w->b->keep) {
        w->b->keep(w->b->user, begin, count, w->exact, w->results);
        return;
    }
    /* Results may be written anywhere in memory. Written one by one they would stall the search;
     * here many are in flight. */
    for (uint32_t i = 0; i < count; i++) {
        if (w->places && i + PREFETCH_POINTS < count) { /* a result may span two cache lines */
            const abut_nearest *ahead = &w->b->nearest[w->places[i + PREFETCH_POINTS].point];
            ABUTI_PREFETCH(ahead);
            ABUTI_PREFETCH((const char *)(ahead + 1) - 1);
        }
        w->b->nearest[point_at(w, i)] = w->results[i];
    }
}

/* Processes runs until there are none. */
static void worker_task(void *data, size_t chunk, size_t begin, size_t end) {
    batch_run *r = data;
    worker *w = &r->workers[chunk];
    (void)begin;
    (void)end;
    w->b = r->b;
    w->collect_max = COLLECT_FACTOR * r->b->points.count / r->b->bvh->triangle_count;
    if (w->collect_max < COLLECT_POINTS_MAX_MIN)
        w->collect_max = COLLECT_POINTS_MAX_MIN;
    w->lists.table = &r->table;
    w->lists.kernel = ABUTI_BY_LANES(abuti_regions);
    w->lists.seen = r->seen + chunk * regions_seen_words(&r->table);
    for (;;) {
        size_t from = r->begin + atomic_fetch_add(&r->next_point, POINTS_PER_RUN);
        if (from >= r->end || abuti_stop(r->b->bvh->context, "nearest"))
            return;
        compute_run(w, from, r->end - from < POINTS_PER_RUN ? r->end : from + POINTS_PER_RUN);
    }
}

abut_status abuti_batch_lists(const nearest_batch *b) {
    abut_context *context = b->bvh->context;
    batch_run r;
    memset(&r, 0, sizeof r);
    r.b = b;
    size_t runs = abuti_chunk_count(b->points.count, POINTS_PER_RUN);
    r.worker_count = abuti_context_threads(context);
    r.worker_count = r.worker_count < 4 ? 4 : r.worker_count; /* a caller may run more tasks */
    r.worker_count = r.worker_count < runs ? r.worker_count : (uint32_t)runs;
    r.workers = abuti_allocate(context, r.worker_count, sizeof *r.workers);
    abut_status status =
        r.workers ? abuti_regions_create(b->bvh, FEATURES_INCIDENTS, &r.table) : ABUT_ERROR_MEMORY;
    if (!status) {
        size_t words = regions_seen_words(&r.table);
        r.seen = abuti_allocate(context, words, r.worker_count * sizeof *r.seen);
        status = r.seen ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    const size_t part = (size_t)POINTS_PER_RUN * RUNS_PER_WORKER * r.worker_count;
    for (size_t begin = 0; begin < b->points.count && !status; begin += part) {
        r.begin = begin;
        r.end = b->points.count - begin < part ? b->points.count : begin + part;
        atomic_store(&r.next_point, 0);
        abuti_parallel_for(context, r.worker_count, 1, worker_task, &r);
        status = abuti_progress(context, "nearest", (double)r.end / (double)b->points.count);
    }
    abuti_regions_destroy(&r.table);
    ABUTI_RELEASE(context, r.seen, r.workers);
    return status;
}
