/* The search of a step on the CPU.
 *
 * A task is a run of groups of features (broad.h). It generates its candidates in portions,
 * removes those that one or two separating directions prove free, and sweeps the others. Tasks
 * run on all threads until an amount of work is done. Then progress is reported, and
 * unfinished tasks continue. So reports are frequent for every mesh, and memory does not grow with
 * the number of candidates. Results are joined in the order of tasks.
 *
 * ANY returns the first impact of the first task that has one.
 *
 * EARLIEST shares the earliest time so far between threads, so that later sweeps end early. A sweep
 * reports every hit that is not later than that with the same time, so that the result does not
 * depend on the order of threads. It starts with every sixteenth task; an impact found there
 * shortens the step for the others.
 *
 * ALL keeps impacts while the caller's list can hold them, and only counts them after that.
 */
#include "sweep/motion.h"

#include "base/simd.h"
#include "geom/sweep.h"
#include "geom/sweep_point_shared.h"

#include <stdatomic.h>

enum {
    GROUPS_PER_TASK = 8,
    ROUND_WORK = 1 << 23, /* between two progress reports, in candidates */
    SWEEP_WORK = 32,      /* cost of one sweep, in candidates; each of its steps adds one */
    TURNS = 16            /* EARLIEST: number of interleaved subsets of tasks */
};

typedef struct task {
    uint32_t kind; /* abut_impact_kind */
    sweep_cursor cursor;
    abut_status status;
    uint64_t candidates, found;
    motion_hit best;   /* ANY and EARLIEST, if found > 0 */
    abuti_vector hits; /* ALL: of motion_hit, of this round */
} task;

typedef struct search {
    abut_sweep *motion;
    motion_search_options options;
    double to;            /* end of the searched part of the step */
    sweep_sides sides[2]; /* by kind */
    task *tasks;
    uint32_t task_count, group_count;
    uint32_t *open; /* tasks that are not done, ascending */
    size_t open_count;
    atomic_uint_fast64_t work; /* in this round */
    _Atomic double earliest;
    atomic_uint_fast64_t tie;       /* EARLIEST: lowest order of the hits at time 0 */
    atomic_uint_fast32_t first_hit; /* ANY: the lowest task with a hit */
    abuti_vector kept;              /* ALL: of motion_hit */
    uint64_t room; /* capacity of the caller; 0 once it is exceeded, then hits are not kept */
    uint64_t found;
    abut_sweep_counts counts;
} search;

/* ---- one task ---- */

/* Order of hits at the same time. Two values of `second` share an order. */
static uint64_t tie_order(const motion_hit *hit) {
    return (uint64_t)hit->kind << 63 | (uint64_t)hit->first << 31 | hit->second >> 1;
}

static void record_earliest(search *s, task *t, const motion_hit *hit) {
    uint_fast64_t order = tie_order(hit), first = atomic_load(&s->tie);
    while (hit->time <= 0 && order < first && !atomic_compare_exchange_weak(&s->tie, &first, order))
        continue;
    double earliest = atomic_load_explicit(&s->earliest, memory_order_relaxed);
    while (hit->time < earliest &&
           !atomic_compare_exchange_weak_explicit(&s->earliest, &earliest, hit->time,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
    if (t->found == 1 || abuti_motion_after(&t->best, hit))
        t->best = *hit;
}

static void record_hit(search *s, task *t, const motion_hit *hit) {
    t->found++;
    if (s->options.mode == ABUT_SWEEP_EARLIEST) {
        record_earliest(s, t, hit);
    } else if (s->options.mode == ABUT_SWEEP_ANY) {
        t->best = *hit;
    } else if (s->room) {
        motion_hit *to = ABUTI_PUSH(s->motion->context, &t->hits, motion_hit);
        if (to)
            *to = *hit;
        t->status = to ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
}

static double box_margin(const search *s) {
    return abuti_broad_margin(s->options.separation);
}

/* Whether a pair whose enlarged boxes overlap in a part of the step also overlaps in the whole
 * step. */
static bool is_candidate(const search *s, const sweep_sides *sides, const uint32_t places[2]) {
    if (!sides->closed)
        return true;
    sweep_sides whole = *sides;
    whole.margin = box_margin(s);
    return abuti_broad_overlap(&whole, places[0], places[1]);
}

/* Sweeps one candidate and returns the number of steps. */
static int sweep_candidate(search *s, task *t, const uint32_t places[2],
                           const sweep_limits *limits) {
    const bool edges = t->kind == ABUT_IMPACT_EDGE_EDGE;
    const sweep_sides *sides = &s->sides[t->kind];
    motion_hit hit = {.kind = t->kind};
    sweep_answer answer;
    uint32_t corners[4];
    vec3 start[4], end[4];
    hit.first = sides->first->which[places[0]];
    hit.second = sides->second->which[places[1]];
    if (edges && hit.first > hit.second) {
        uint32_t lower = hit.second;
        hit.second = hit.first;
        hit.first = lower;
    }
    if (tie_order(&hit) > atomic_load_explicit(&s->tie, memory_order_relaxed))
        return 0; /* no hit precedes one at time 0 with a lower order */
    abuti_motion_corners(s->motion, t->kind, hit.first, hit.second, corners);
    for (int k = 0; k < 4; k++) {
        start[k] = s->motion->start[corners[k]];
        end[k] = s->motion->end[corners[k]];
    }
    const int kind = edges ? SWEEP_EDGE_EDGE : SWEEP_VERTEX_FACE;
    bool touches = sweep_pair(kind, start, end, limits, &answer) && is_candidate(s, sides, places);
    if (touches && s->options.exact)
        t->status = abuti_sweep_exact(s->motion->context, kind, start, end, &touches);
    if (touches && !t->status) {
        hit.time = answer.time;
        hit.normal = answer.normal;
        for (int k = 0; k < 3; k++)
            hit.weights[k] = answer.weights[k];
        hit.point = sweep_point(edges, start, end, hit.time, hit.weights);
        record_hit(s, t, &hit);
    }
    return answer.steps;
}

static void sweep_portion(search *s, task *t, const sweep_candidates *candidates) {
    const sweep_broad *b = &s->motion->broad;
    const bool any = s->options.mode == ABUT_SWEEP_ANY;
    sweep_limits limits = {.separation = s->options.separation,
                           .tolerance = s->options.tolerance,
                           .latest = atomic_load_explicit(&s->earliest, memory_order_relaxed),
                           .steps = s->options.steps};
    uint32_t survivors[SWEEP_PORTION];
    uint64_t work = candidates->count;
    size_t count =
        abuti_sweep_filter(t->kind == ABUT_IMPACT_EDGE_EDGE ? SWEEP_EDGE_EDGE : SWEEP_VERTEX_FACE,
                           b->start, b->end, candidates->corners, candidates->count, &limits,
                           survivors);
    for (size_t i = 0; i < count && !t->status && !(any && t->found); i++) {
        limits.latest = atomic_load_explicit(&s->earliest, memory_order_relaxed);
        int steps = sweep_candidate(s, t, candidates->pairs + 2 * (size_t)survivors[i], &limits);
        work += SWEEP_WORK + (uint64_t)steps;
    }
    t->candidates += candidates->count;
    atomic_fetch_add_explicit(&s->work, work, memory_order_relaxed);
}

static void run_task(void *data, size_t chunk, size_t begin, size_t end) {
    search *s = data;
    const uint32_t number = s->open[begin];
    task *t = &s->tasks[number];
    sweep_candidates candidates;
    (void)chunk;
    (void)end;
    while (t->cursor.group < t->cursor.end && !t->status) {
        if (atomic_load_explicit(&s->work, memory_order_relaxed) >= ROUND_WORK ||
            atomic_load_explicit(&s->first_hit, memory_order_relaxed) < number)
            return;
        candidates.count = 0;
        ABUTI_BY_LANES(abuti_collect)(&s->sides[t->kind], &t->cursor, &candidates);
        sweep_portion(s, t, &candidates);
        if (t->found && s->options.mode == ABUT_SWEEP_ANY) {
            uint_fast32_t lowest = atomic_load(&s->first_hit);
            while (number < lowest && !atomic_compare_exchange_weak(&s->first_hit, &lowest, number))
                continue;
            t->cursor.group = t->cursor.end;
        }
    }
}

/* ---- rounds ---- */

/* Moves the hits of a task in this round to the search. */
static abut_status move_hits(search *s, task *t) {
    abut_context *context = s->motion->context;
    const size_t wanted = s->kept.count + t->hits.count;
    if (wanted > s->room) {
        s->room = s->kept.count = 0;
    } else {
        if (wanted > s->kept.room &&
            abuti_vector_reserve(context, &s->kept, wanted + wanted / 2, sizeof(motion_hit)))
            return ABUT_ERROR_MEMORY;
        memcpy((motion_hit *)s->kept.data + s->kept.count, t->hits.data,
               t->hits.count * sizeof(motion_hit));
        s->kept.count = wanted;
    }
    abuti_release(context, t->hits.data);
    t->hits = (abuti_vector){0};
    return ABUT_OK;
}

static abut_status gather_results(search *s) {
    size_t left = 0;
    for (size_t i = 0; i < s->open_count; i++) {
        task *t = &s->tasks[s->open[i]];
        abut_status status = t->status;
        if (!status && t->hits.count)
            status = move_hits(s, t);
        if (status) /* the message is on another thread */
            return abuti_fail(status, "abut_sweep_find: out of memory for impacts");
        if (t->cursor.group < t->cursor.end && s->open[i] < atomic_load(&s->first_hit))
            s->open[left++] = s->open[i];
    }
    s->open_count = left;
    return ABUT_OK;
}

/* Fraction of work done. */
static double compute_progress(const search *s) {
    uint64_t left = 0;
    for (uint32_t i = 0; i < s->task_count; i++)
        left += s->tasks[i].cursor.end - s->tasks[i].cursor.group;
    return s->group_count ? 1 - (double)left / s->group_count : 1;
}

static uint32_t count_tasks_of(const sweep_tree *tree) {
    return (uint32_t)abuti_chunk_count(tree->group_count[0], GROUPS_PER_TASK);
}

static void plan_tasks(search *s) {
    uint32_t number = 0;
    s->group_count = 0;
    for (uint32_t kind = 0; kind < 2; kind++) {
        const uint32_t groups = s->sides[kind].first->group_count[0];
        s->group_count += groups;
        for (uint32_t at = 0; at < groups; at += GROUPS_PER_TASK, number++) {
            task *t = &s->tasks[number];
            t->kind = kind;
            t->cursor.group = at;
            t->cursor.end = groups - at < GROUPS_PER_TASK ? groups : at + GROUPS_PER_TASK;
        }
    }
}

/* Refits boxes to the step up to a time. If it is not the whole step, boxes are enlarged by the
 * tolerance, so that pairs reported as a hit within it overlap. */
static abut_status fit_boxes(search *s, double to) {
    const bool whole = to >= 1;
    const double margin = box_margin(s) + (whole ? 0 : s->options.tolerance);
    s->to = to;
    for (int kind = 0; kind < 2; kind++) {
        s->sides[kind].margin = margin;
        s->sides[kind].closed = !whole;
    }
    return abuti_broad_fit(s->motion, to, margin);
}

/* Runs the tasks of the turns [first_turn, end_turn) to their end. */
static abut_status run_turns(search *s, uint32_t first_turn, uint32_t end_turn) {
    abut_status status = ABUT_OK;
    s->open_count = 0;
    for (uint32_t i = 0; i < s->task_count; i++)
        if (i % TURNS >= first_turn && i % TURNS < end_turn)
            s->open[s->open_count++] = i;
    while (!status && s->open_count) {
        if ((status = abuti_progress(s->motion->context, "sweep", compute_progress(s))))
            break;
        atomic_store(&s->work, 0);
        abuti_parallel_for(s->motion->context, s->open_count, 1, run_task, s);
        status = gather_results(s);
    }
    return status;
}

/* ---- modes ---- */

/* The best hit of all tasks for ANY or EARLIEST; null if there is none. */
static const motion_hit *find_best_hit(const search *s) {
    const motion_hit *best = NULL;
    for (uint32_t i = 0; i < s->task_count; i++) {
        const task *t = &s->tasks[i];
        if (t->found && (!best || (s->options.mode == ABUT_SWEEP_EARLIEST &&
                                   abuti_motion_after(best, &t->best))))
            best = &t->best;
    }
    return best;
}

static void sum_counts(search *s) {
    const uint_fast32_t last = atomic_load(&s->first_hit);
    for (uint32_t i = 0; i < s->task_count && i <= last; i++) {
        const task *t = &s->tasks[i];
        if (t->kind == ABUT_IMPACT_VERTEX_FACE)
            s->counts.vertex_face += t->candidates;
        else
            s->counts.edge_edge += t->candidates;
        s->found += t->found;
    }
}

/* Runs four times as many turns each time. Finished turns need no second run when the end of
 * the searched part becomes earlier. */
static abut_status run_earliest(search *s) {
    abut_status status = ABUT_OK;
    for (uint32_t turn = 0, end = 1; !status && turn < TURNS; turn = end, end *= 4) {
        const double earliest = atomic_load(&s->earliest);
        if (earliest < 0.5 * s->to)
            status = fit_boxes(s, earliest);
        if (!status)
            status = run_turns(s, turn, end);
    }
    return status;
}

static abut_status find_impacts(search *s, abut_impact_list *impacts) {
    abut_status status = fit_boxes(s, 1);
    plan_tasks(s);
    if (!status)
        status = s->options.mode == ABUT_SWEEP_EARLIEST ? run_earliest(s) : run_turns(s, 0, TURNS);
    if (status)
        return status;
    sum_counts(s);
    if (s->options.mode == ABUT_SWEEP_ALL) {
        status = abuti_motion_sort(s->motion->context, s->kept.data, s->kept.count);
        return status ? status : abuti_motion_report(s->motion, s->kept.data, s->found, impacts);
    }
    const motion_hit *best = find_best_hit(s);
    return abuti_motion_report(s->motion, best, best ? 1 : 0, impacts);
}

static abut_status prepare_search(search *s) {
    sweep_broad *b = &s->motion->broad;
    sweep_sides *sides = s->sides;
    sides[ABUT_IMPACT_VERTEX_FACE] = (sweep_sides){.first = &b->vertices, .second = &b->faces};
    sides[ABUT_IMPACT_EDGE_EDGE] = (sweep_sides){.first = &b->edges, .second = &b->edges};
    for (int kind = 0; kind < 2; kind++) {
        sides[kind].broad = b;
        sides[kind].no_self = b->owner && s->motion->options.skip_self;
        sides[kind].no_others = b->owner && s->motion->options.skip_pairs;
    }
    atomic_init(&s->earliest, 1);
    atomic_init(&s->tie, UINT64_MAX);
    atomic_init(&s->first_hit, UINT32_MAX);
    atomic_init(&s->work, 0);
    s->task_count = count_tasks_of(&b->vertices) + count_tasks_of(&b->edges);
    s->tasks = abuti_allocate_zeroed(s->motion->context, s->task_count, sizeof *s->tasks);
    s->open = abuti_allocate(s->motion->context, s->task_count, sizeof *s->open);
    return s->tasks && s->open ? ABUT_OK : ABUT_ERROR_MEMORY;
}

abut_status abuti_motion_find_on_cpu(abut_sweep *motion, const motion_search_options *options,
                                     abut_impact_list *impacts, abut_sweep_counts *counts) {
    search s = {.motion = motion, .options = *options, .room = impacts->capacity};
    abut_status status = prepare_search(&s);
    /* no pairs within a mesh, and no pairs of meshes: no pairs remain */
    bool none =
        motion->options.skip_self && (motion->mesh_count == 1 || motion->options.skip_pairs);
    if (!status)
        status = none ? abuti_motion_report(motion, NULL, 0, impacts) : find_impacts(&s, impacts);
    if (counts && !status)
        *counts = s.counts;
    for (uint32_t i = 0; s.tasks && i < s.task_count; i++)
        abuti_release(motion->context, s.tasks[i].hits.data);
    ABUTI_RELEASE(motion->context, s.tasks, s.open, s.kept.data);
    return status;
}
