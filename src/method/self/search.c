/* Traversal and elementary tests: the first impact, or all, among the pairs of triangles that the
 * sets allow (Cheng 2011, sections 4.4 and 4.5).
 *
 * The tree is traversed against itself, for all pairs of sets at once: a pair of nodes is opened if
 * their marks have a pair that must be tested. If only one child has, its parent is skipped without
 * a test of bounds ("skipped nodes"). The result is pairs of triangles, and from these pairs of
 * features: vertex-face and edge-edge, that share no vertex.
 *
 * Feature assignment: a vertex or edge belongs to several triangles, and so a pair of features to
 * several pairs of triangles. It is swept for the first of these (in the order of the lists) that
 * the sets allow. Cheng (2011) assigns a feature to one triangle permanently. With sets that would
 * lose pairs, if that triangle is in a set that is not tested and its neighbour is not. Bounds of
 * features lie within those of all their triangles, so if the bounds of the features overlap, the
 * first pair is always reached.
 *
 * Rounds have a bounded number of steps, as in pair/self_intersection.c: tasks process pairs of
 * nodes from a pool, return those that they did not reach, then sweep what they found. So memory is
 * bounded, and the result, including counts, does not depend on the number of threads. The earliest
 * time so far prunes sweeps; since their times do not depend on that, the earliest pair is the same
 * in any order. A hit at time 0 ends the search. If all impacts are requested, nothing is pruned,
 * and a hit must also be a candidate of abut_sweep_find(), so that the list is a subset of its
 * list.
 */
#include "self/self.h"

#include <assert.h>

enum {
    TASK_COUNT = 32,
    PORTIONS_PER_TASK = 32, /* of a task */
    STEPS_PER_ROUND = 4096, /* of a task between two progress reports; */
    FOUND_MAX = 512,        /* a task ends if the next step might find more than this */
    SPREAD_MIN = 256,
    BATCH = 256 /* pairs of features that are filtered at once */
};

/* Cost of one pair. */
enum { COST_NODES = 20, COST_TRIANGLES = 100, COST_FEATURES = 30 };

typedef struct node_pair {
    uint32_t a, b;
} node_pair;

/* A pair of nodes in the pool. */
typedef struct portion {
    node_pair pair;
    float work; /* estimated fraction of the whole work; the sum is at most 1 */
} portion;

/* Pairs of features of one kind that are queued for a sweep. */
typedef struct batch {
    uint32_t count;
    uint32_t four[4 * BATCH];
    uint32_t element[2 * BATCH];
    uint32_t survivors[BATCH];
} batch;

typedef struct task_share {
    node_pair pending[TREE_STACK]; /* remaining pairs of the portion before `next` */
    node_pair found[FOUND_MAX];    /* triangles */
    uint32_t pending_count, found_count;
    size_t next, end; /* portions that it did not reach */
    uint64_t node_pairs, features[2];
    motion_hit best;
    motion_hit *hits; /* with `all`: of this round */
    size_t hit_count, hit_room;
    abut_status status;
    batch wait[2]; /* vertex-face, edge-edge */
} task_share;

typedef struct search {
    const abut_self *view;
    const view_limits *limits;
    bool complete;
    const uint32_t *edges, *triangle_edges;
    task_share *shares;
    portion *pool, *taken;
    size_t pool_count, pool_room;
    double done;     /* fraction of the work, for progress */
    uint64_t budget; /* of cost; see abuti_view_search() */
    motion_hit best;
    view_hits *hits;
    abut_self_result *result;
} search;

/* ---- traversal ---- */

static inline bool marks_pair(const search *s, uint32_t a, uint32_t b) {
    return s->complete || abuti_sets_pair(s->view->marks[a], s->view->marks[b]);
}

static inline bool nodes_overlap(const search *s, task_share *out, uint32_t a, uint32_t b) {
    const float *bounds = s->view->tree.bounds;
    out->node_pairs++;
    return s->view->slabs == DOP_SLABS
               ? bounds_overlap(bounds + 2 * DOP_SLABS * (size_t)a,
                                bounds + 2 * DOP_SLABS * (size_t)b, DOP_SLABS)
               : bounds_overlap(bounds + 2 * BOX_SLABS * (size_t)a,
                                bounds + 2 * BOX_SLABS * (size_t)b, BOX_SLABS);
}

/* Pushes those children of a that must be tested against b; descends while there is only one. */
static uint32_t open_children(const search *s, task_share *out, uint32_t a, uint32_t b,
                              node_pair *stack, uint32_t used) {
    const uint32_t *child = s->view->tree.child;
    while (!(child[a] & TREE_LEAF)) {
        uint32_t first = child[a];
        bool with_first = marks_pair(s, first, b), with_second = marks_pair(s, first + 1, b);
        if (with_first && with_second) {
            for (uint32_t k = 0; k < 2; k++)
                if (nodes_overlap(s, out, first + k, b))
                    stack[used++] = (node_pair){first + k, b};
            return used;
        }
        if (!with_first && !with_second)
            return used;
        a = first + with_second;
    }
    if (nodes_overlap(s, out, a, b))
        stack[used++] = (node_pair){a, b};
    return used;
}

/* Replaces a pair of nodes that are not both leaves by pairs of their children. */
static uint32_t open_pair(const search *s, task_share *out, node_pair pair, node_pair *stack,
                          uint32_t used) {
    const uint32_t *child = s->view->tree.child;
    if (pair.a == pair.b) {
        uint32_t first = child[pair.a];
        for (uint32_t k = 0; k < 2 && !(first & TREE_LEAF); k++)
            if (!(child[first + k] & TREE_LEAF) && marks_pair(s, first + k, first + k))
                stack[used++] = (node_pair){first + k, first + k};
        if (!(first & TREE_LEAF) && marks_pair(s, first, first + 1) &&
            nodes_overlap(s, out, first, first + 1))
            stack[used++] = (node_pair){first, first + 1};
        return used;
    }
    /* nodes are stored level by level: the lower index is not below the other one */
    bool open_a = !(child[pair.a] & TREE_LEAF) && (pair.a < pair.b || child[pair.b] & TREE_LEAF);
    return open_a ? open_children(s, out, pair.a, pair.b, stack, used)
                  : open_children(s, out, pair.b, pair.a, stack, used);
}

static bool is_leaf_pair(const search *s, node_pair pair) {
    const uint32_t *child = s->view->tree.child;
    return pair.a != pair.b && child[pair.a] & child[pair.b] & TREE_LEAF;
}

static void traverse_task(void *data, size_t chunk, size_t begin, size_t end) {
    search *s = data;
    task_share *out = &s->shares[chunk];
    const uint32_t *child = s->view->tree.child;
    uint32_t used = 0, steps = 0;
    out->found_count = 0;
    out->end = end;
    for (out->next = begin;
         out->next < end && steps < STEPS_PER_ROUND && out->found_count < FOUND_MAX;) {
        out->pending[used++] = s->taken[out->next++].pair;
        for (; used && steps < STEPS_PER_ROUND && out->found_count < FOUND_MAX; steps++) {
            node_pair pair = out->pending[--used];
            if (is_leaf_pair(s, pair))
                out->found[out->found_count++] =
                    (node_pair){child[pair.a] & ~TREE_LEAF, child[pair.b] & ~TREE_LEAF};
            else
                used = open_pair(s, out, pair, out->pending, used);
            assert(used <= TREE_STACK);
        }
    }
    out->pending_count = used;
}

/* ---- elementary tests ---- */

/* Stores a hit: as the first, or in the list of all. */
static void store_hit(const search *s, task_share *out, const motion_hit *hit) {
    if (!s->hits->all) {
        out->best = *hit;
        return;
    }
    if (!out->status)
        out->status = abuti_grow(s->view->context, &out->hits, out->hit_count, out->hit_count + 1,
                                 sizeof *out->hits, &out->hit_room);
    if (!out->status)
        out->hits[out->hit_count++] = *hit;
}

static bool is_relevant_hit(const search *s, const task_share *out, const motion_hit *hit, int kind,
                            const vec3 *from, const vec3 *to) {
    return s->hits->all ? abuti_broad_is_candidate(kind, from, to, s->limits->sweep.separation)
                        : abuti_motion_after(&out->best, hit);
}

/* By exact arithmetic if requested. */
static bool is_confirmed(const search *s, task_share *out, int kind, const vec3 *from,
                         const vec3 *to) {
    bool yes = true;
    if (s->limits->exact && !out->status)
        out->status = abuti_sweep_exact(s->view->context, kind, from, to, &yes);
    return yes;
}

static void sweep_queued(const search *s, task_share *out, int kind) {
    batch *wait = &out->wait[kind == SWEEP_EDGE_EDGE];
    const vec3 *start = s->view->start, *end = s->view->next;
    sweep_limits limits = s->limits->sweep;
    out->features[kind == SWEEP_EDGE_EDGE] += wait->count;
    size_t left =
        abuti_sweep_filter(kind, start, end, wait->four, wait->count, &limits, wait->survivors);
    for (size_t i = 0; i < left; i++) {
        size_t at = wait->survivors[i];
        vec3 from[4], to[4];
        for (size_t k = 0; k < 4; k++) {
            from[k] = start[wait->four[4 * at + k]];
            to[k] = end[wait->four[4 * at + k]];
        }
        sweep_answer answer;
        limits.latest = real_min(1, real_min(out->best.time, s->best.time));
        if (!sweep_pair(kind, from, to, &limits, &answer))
            continue;
        motion_hit hit = {.time = answer.time,
                          .kind = kind == SWEEP_EDGE_EDGE ? ABUT_IMPACT_EDGE_EDGE
                                                          : ABUT_IMPACT_VERTEX_FACE,
                          .first = wait->element[2 * at],
                          .second = wait->element[2 * at + 1],
                          .normal = answer.normal};
        memcpy(hit.weights, answer.weights, sizeof hit.weights);
        if (is_relevant_hit(s, out, &hit, kind, from, to) && is_confirmed(s, out, kind, from, to))
            store_hit(s, out, &hit);
    }
    wait->count = 0;
}

static uint32_t *queue_features(const search *s, task_share *out, int kind, uint32_t first,
                                uint32_t second) {
    batch *wait = &out->wait[kind == SWEEP_EDGE_EDGE];
    if (wait->count == BATCH)
        sweep_queued(s, out, kind);
    wait->element[2 * wait->count] = first;
    wait->element[2 * wait->count + 1] = second;
    return wait->four + 4 * (size_t)wait->count++;
}

static inline bool sets_pair(const search *s, uint32_t a, uint32_t b) {
    return s->complete || abuti_sets_pair(s->view->sets[a], s->view->sets[b]);
}

/* Whether a vertex of triangle a is swept against b here, and not for another of its triangles. */
static bool owns_vertex(const search *s, uint32_t vertex, uint32_t a, uint32_t b) {
    const view_lists *of = &s->view->of_vertex;
    uint32_t i = of->begin[vertex];
    while (of->items[i] != a && !sets_pair(s, of->items[i], b))
        i++;
    return of->items[i] == a;
}

/* The same for two edges of triangles a and b. */
static bool owns_edges(const search *s, uint32_t edge_a, uint32_t a, uint32_t edge_b, uint32_t b) {
    const view_lists *of = &s->view->of_edge;
    for (uint32_t i = of->begin[edge_a]; i < of->begin[edge_a + 1]; i++)
        for (uint32_t j = of->begin[edge_b]; j < of->begin[edge_b + 1]; j++)
            if (sets_pair(s, of->items[i], of->items[j]))
                return of->items[i] == a && of->items[j] == b;
    return false;
}

static const float *vertex_bounds(const abut_self *view, uint32_t vertex) {
    return view->vertex_bounds + vertex * 2 * (size_t)view->slabs;
}

static void test_vertices(const search *s, task_share *out, uint32_t a, uint32_t b) {
    const abut_self *view = s->view;
    const uint32_t *of_a = view->corners + 3 * (size_t)a, *of_b = view->corners + 3 * (size_t)b;
    const float *face = view->tree.bounds + view->tree.leaf[b] * 2 * (size_t)view->slabs;
    for (int k = 0; k < 3; k++) {
        uint32_t vertex = of_a[k];
        if (vertex == of_b[0] || vertex == of_b[1] || vertex == of_b[2] ||
            !owns_vertex(s, vertex, a, b) ||
            !bounds_overlap(vertex_bounds(view, vertex), face, view->slabs))
            continue;
        uint32_t *four = queue_features(s, out, SWEEP_VERTEX_FACE, vertex, b);
        four[0] = vertex;
        memcpy(four + 1, of_b, 3 * sizeof *of_b);
    }
}

/* The edges of a triangle that may be swept for it, and their bounds: those of which it is the
 * first triangle. */
static int bound_edges(const search *s, uint32_t triangle, uint32_t edge[3],
                       float bounds[3][2 * DOP_SLABS]) {
    const abut_self *view = s->view;
    const uint32_t *corner = view->corners + 3 * (size_t)triangle;
    const uint32_t *edges = s->triangle_edges + 3 * (size_t)triangle;
    int count = 0;
    for (int k = 0; k < 3; k++) {
        if (edges[k] == ABUT_NONE ||
            (s->complete && view->of_edge.items[view->of_edge.begin[edges[k]]] != triangle))
            continue;
        bounds_join(bounds[count], vertex_bounds(view, corner[k]),
                    vertex_bounds(view, corner[k == 2 ? 0 : k + 1]), view->slabs);
        edge[count++] = edges[k];
    }
    return count;
}

static void test_two_edges(const search *s, task_share *out, uint32_t a, uint32_t b,
                           uint32_t edge_a, uint32_t edge_b) {
    uint32_t low = edge_a < edge_b ? edge_a : edge_b, high = edge_a < edge_b ? edge_b : edge_a;
    const uint32_t *first = s->edges + 2 * (size_t)low, *second = s->edges + 2 * (size_t)high;
    if (first[0] == second[0] || first[0] == second[1] || first[1] == second[0] ||
        first[1] == second[1])
        return;
    /* the pair of triangles in a fixed order, so that it is the same from both sides */
    if (!(edge_a < edge_b ? owns_edges(s, edge_a, a, edge_b, b)
                          : owns_edges(s, edge_b, b, edge_a, a)))
        return;
    uint32_t *four = queue_features(s, out, SWEEP_EDGE_EDGE, low, high);
    memcpy(four, first, 2 * sizeof *first);
    memcpy(four + 2, second, 2 * sizeof *second);
}

static void test_edges(const search *s, task_share *out, uint32_t a, uint32_t b) {
    const abut_self *view = s->view;
    const float *face_b = view->tree.bounds + view->tree.leaf[b] * 2 * (size_t)view->slabs;
    float bounds_a[3][2 * DOP_SLABS], bounds_b[3][2 * DOP_SLABS];
    uint32_t of_a[3], of_b[3];
    int count_a = bound_edges(s, a, of_a, bounds_a);
    int count_b = count_a ? bound_edges(s, b, of_b, bounds_b) : 0;
    for (int i = 0; i < count_a && count_b; i++)
        if (bounds_overlap(bounds_a[i], face_b, view->slabs))
            for (int j = 0; j < count_b; j++)
                if (bounds_overlap(bounds_a[i], bounds_b[j], view->slabs))
                    test_two_edges(s, out, a, b, of_a[i], of_b[j]);
}

static void sweep_task(void *data, size_t chunk, size_t begin, size_t end) {
    search *s = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        task_share *out = &s->shares[i];
        for (uint32_t k = 0; k < out->found_count; k++) {
            node_pair pair = out->found[k];
            test_vertices(s, out, pair.a, pair.b);
            test_vertices(s, out, pair.b, pair.a);
            test_edges(s, out, pair.a, pair.b);
        }
        sweep_queued(s, out, SWEEP_VERTEX_FACE);
        sweep_queued(s, out, SWEEP_EDGE_EDGE);
    }
}

/* ---- the pool ---- */

static abut_status pool_add(search *s, const portion *portions, size_t count) {
    if (s->pool_count + count > s->pool_room) {
        size_t room = 2 * (s->pool_count + count);
        portion *pool = abuti_allocate(s->view->context, room, sizeof *pool);
        if (!pool)
            return ABUT_ERROR_MEMORY;
        if (s->pool_count)
            memcpy(pool, s->pool, s->pool_count * sizeof *pool);
        abuti_release(s->view->context, s->pool);
        s->pool = pool;
        s->pool_room = room;
    }
    if (count)
        memcpy(s->pool + s->pool_count, portions, count * sizeof *portions);
    s->pool_count += count;
    return ABUT_OK;
}

/* Opens the root and the pairs below, level by level, until there are enough for all threads. */
static abut_status fill_pool(search *s) {
    portion root = {{0, 0}, 1};
    abut_status status = ABUT_OK;
    if (!(s->view->tree.child[0] & TREE_LEAF) && marks_pair(s, 0, 0))
        status = pool_add(s, &root, 1);
    bool more = true;
    while (!status && more && s->pool_count && s->pool_count < SPREAD_MIN) {
        portion *old = s->pool;
        size_t old_count = s->pool_count;
        s->pool = NULL;
        s->pool_count = s->pool_room = 0;
        more = false;
        for (size_t i = 0; i < old_count && !status; i++) {
            node_pair pairs[4] = {old[i].pair};
            portion opened[4];
            bool leaves = is_leaf_pair(s, old[i].pair);
            uint32_t count = leaves ? 1 : open_pair(s, &s->shares[0], old[i].pair, pairs, 0);
            for (uint32_t k = 0; k < count; k++)
                opened[k] = (portion){pairs[k], old[i].work / (float)count};
            more = more || !leaves;
            status = pool_add(s, opened, count);
        }
        abuti_release(s->view->context, old);
    }
    return status;
}

/* Returns to the pool what a task did not reach. The pairs of a portion that it left were pushed
 * one after the other, each from about half of the remaining work: so the first has half of the
 * work, the next a quarter and so on. */
static abut_status return_to_pool(search *s, const task_share *out) {
    portion left[TREE_STACK];
    float work = out->pending_count ? s->taken[out->next - 1].work : 0;
    for (uint32_t i = 0; i < out->pending_count; i++)
        left[i] = (portion){out->pending[i], work *= 0.5f};
    abut_status status = pool_add(s, s->taken + out->next, out->end - out->next);
    return status ? status : pool_add(s, left, out->pending_count);
}

/* Reports progress from the remaining work in the pool. */
static abut_status report_progress(search *s) {
    double left = 0;
    for (size_t i = 0; i < s->pool_count; i++)
        left += (double)s->pool[i].work;
    s->done = real_clamp(1 - left, s->done, 1);
    /* before the search, the sets took a part of the time */
    return abuti_progress(s->view->context, "view", s->complete ? s->done : 0.5 + 0.5 * s->done);
}

/* Merges the results of a task in a round. */
static abut_status merge_task_results(search *s, task_share *out) {
    view_hits *hits = s->hits;
    const size_t count = out->hit_count;
    size_t wanted = hits->kept_count + count;
    if (abuti_motion_after(&s->best, &out->best))
        s->best = out->best;
    if (out->status == ABUT_ERROR_MEMORY) /* the message was set on another thread */
        return abuti_fail(ABUT_ERROR_MEMORY, "abut_self_find: out of memory for impacts");
    out->hit_count = 0;
    hits->count += count;
    if (out->status || !count || hits->count > hits->room)
        return out->status;
    if (abuti_grow(s->view->context, &hits->kept, hits->kept_count, wanted, sizeof *hits->kept,
                   &hits->kept_room))
        return ABUT_ERROR_MEMORY;
    memcpy(hits->kept + hits->kept_count, out->hits, count * sizeof *hits->kept);
    hits->kept_count = wanted;
    return ABUT_OK;
}

static abut_status run_round(search *s) {
    size_t count = s->pool_count < TASK_COUNT * PORTIONS_PER_TASK ? s->pool_count
                                                                  : TASK_COUNT * PORTIONS_PER_TASK;
    abut_status status = ABUT_OK;
    double begun = abuti_seconds();
    s->pool_count -= count;
    memcpy(s->taken, s->pool + s->pool_count, count * sizeof *s->taken);
    size_t each = abuti_chunk_count(count, TASK_COUNT), tasks = abuti_chunk_count(count, each);
    abuti_parallel_for(s->view->context, count, each, traverse_task, s);
    for (size_t i = 0; i < tasks && !status; i++) {
        task_share *out = &s->shares[i];
        s->result->triangle_pairs += out->found_count;
        status = return_to_pool(s, out);
    }
    double between = abuti_seconds();
    abuti_parallel_for(s->view->context, tasks, 1, sweep_task, s);
    for (size_t i = 0; i < tasks && !status; i++)
        status = merge_task_results(s, &s->shares[i]);
    s->result->times.traversal += between - begun;
    s->result->times.elementary += abuti_seconds() - between;
    return status;
}

/* Approximate nanoseconds of one thread on the machine of docs/self.md. Only ratios matter, and
 * counts do not depend on the number of threads. */
static uint64_t cost_of(const search *s) {
    uint64_t cost = COST_TRIANGLES * s->result->triangle_pairs;
    for (size_t i = 0; i < TASK_COUNT; i++)
        cost += COST_NODES * s->shares[i].node_pairs +
                COST_FEATURES * (s->shares[i].features[0] + s->shares[i].features[1]);
    return cost;
}

/* Nothing is earlier than time 0. */
static bool is_unfinished(const search *s) {
    return s->pool_count && (s->hits->all || s->best.time > 0);
}

static abut_status run_search(search *s) {
    static const motion_hit none = {.time = 2};
    for (size_t i = 0; i < TASK_COUNT; i++) {
        task_share *out = &s->shares[i];
        out->node_pairs = out->features[0] = out->features[1] = 0;
        out->wait[0].count = out->wait[1].count = 0;
        out->best = none;
        out->hits = NULL;
        out->hit_count = out->hit_room = 0;
        out->status = ABUT_OK;
    }
    s->best = none;
    abut_status status = fill_pool(s);
    while (!status && is_unfinished(s) && cost_of(s) <= s->budget) {
        status = run_round(s);
        if (!status)
            status = report_progress(s);
    }
    for (size_t i = 0; i < TASK_COUNT; i++) {
        s->result->node_pairs += s->shares[i].node_pairs;
        s->result->vertex_face += s->shares[i].features[0];
        s->result->edge_edge += s->shares[i].features[1];
        abuti_release(s->view->context, s->shares[i].hits);
    }
    return status;
}

abut_status abuti_view_search(abut_self *view, bool complete, const view_limits *limits,
                              uint64_t budget, view_hits *hits, bool *is_spent,
                              abut_self_result *result) {
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_topology_get_arrays(view->topology, &t);
    search s = {.view = view,
                .limits = limits,
                .complete = complete,
                .edges = t.edges,
                .triangle_edges = t.triangle_edges,
                .budget = budget,
                .hits = hits,
                .result = result};
    s.shares = abuti_allocate(view->context, TASK_COUNT, sizeof *s.shares);
    s.taken = abuti_allocate(view->context, TASK_COUNT * PORTIONS_PER_TASK, sizeof *s.taken);
    abut_status status = s.shares && s.taken ? run_search(&s) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_motion_sort(view->context, hits->kept, hits->kept_count);
    hits->first = s.best;
    *is_spent = is_unfinished(&s);
    ABUTI_RELEASE(view->context, s.shares, s.taken, s.pool);
    return status;
}
