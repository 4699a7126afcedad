/* Lists of results of many queries; see gather.h. Every query runs twice, first to count and then
 * to write its results. So lists need only the memory of the caller and 4 bytes per query, and
 * their order does not depend on threads. */
#include "bvh/gather.h"

enum { QUERIES_PER_TASK = 64, ELEMENTS_PER_REPORT = 32768 };

/* ---- tasks with progress ---- */

typedef struct task_range {
    bvh_task *task;
    void *data;
    size_t begin, first_chunk;
} task_range;

static void range_task(void *data, size_t chunk, size_t begin, size_t end) {
    const task_range *r = data;
    r->task(r->data, r->first_chunk + chunk, r->begin + begin, r->begin + end);
}

abut_status abuti_bvh_run_tasks(abut_context *context, const char *stage, size_t count,
                                size_t grain, bvh_task *task, void *data, double done, double end) {
    const size_t most = ELEMENTS_PER_REPORT / grain * grain;
    abut_status status = ABUT_OK;
    for (size_t begin = 0; begin < count && !status; begin += most) {
        size_t here = count - begin < most ? count - begin : most;
        task_range range = {task, data, begin, begin / grain};
        status = abuti_parallel_try(context, stage, here, grain, range_task, &range);
        if (!status)
            status = abuti_progress(context, stage,
                                    done + (end - done) * (double)(begin + here) / (double)count);
    }
    return status;
}

/* ---- lists ---- */

abut_status abuti_gather_check(const bvh_gather *g) {
    if (!g->total)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: total is null; pass its address", g->function);
    const bool has_offsets = g->offsets.host || g->offsets.buffer;
    if (!has_offsets && g->capacity)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: offsets is null, but capacity is %llu; pass an array with one more "
                          "element than there are queries",
                          g->function, (unsigned long long)g->capacity);
    if (!g->results.host && !g->results.buffer && g->capacity)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null, but capacity is %llu", g->function,
                          g->what, (unsigned long long)g->capacity);
    abut_status status =
        abuti_bvh_check_array(g->function, "offsets", g->bvh, g->offsets,
                              has_offsets ? (uint64_t)g->count + 1 : 0, sizeof(uint64_t));
    if (!status)
        status = abuti_bvh_check_array(g->function, g->what, g->bvh, g->results, g->capacity,
                                       g->result_bytes);
    return status;
}

abut_status abuti_gather_check_capacity(const bvh_gather *g, uint64_t total) {
    *g->total = total;
    return total <= g->capacity
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %llu %s, but the capacity is %llu",
                            g->function, (unsigned long long)total, g->what,
                            (unsigned long long)g->capacity);
}

abut_status abuti_gather_run_tasks(const bvh_gather *g, size_t grain, bvh_task *count_task,
                                   bvh_task *write_task, void *data, const uint32_t *counts) {
    abut_context *context = g->bvh->context;
    uint64_t *offsets = g->offsets.host, total = 0;
    abut_status status =
        abuti_bvh_run_tasks(context, g->stage, g->count, grain, count_task, data, 0, 0.5);
    if (status)
        return status;
    for (size_t i = 0; i < g->count; i++)
        total += counts[i];
    if ((status = abuti_gather_check_capacity(g, total)) || !offsets)
        return status;
    offsets[0] = 0;
    for (size_t i = 0; i < g->count; i++)
        offsets[i + 1] = offsets[i] + counts[i];
    return total ? abuti_bvh_run_tasks(context, g->stage, g->count, grain, write_task, data, 0.5, 1)
                 : ABUT_OK;
}

typedef struct gather_counts {
    const bvh_gather *g;
    uint32_t *counts; /* of results of each query */
} gather_counts;

static void count_task(void *data, size_t chunk, size_t begin, size_t end) {
    const gather_counts *c = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        c->counts[i] = c->g->compute(c->g->user, i, false, 0);
}

static void write_task(void *data, size_t chunk, size_t begin, size_t end) {
    const gather_counts *c = data;
    const uint64_t *offsets = c->g->offsets.host;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        if (c->counts[i])
            c->g->compute(c->g->user, i, true, offsets[i]);
}

abut_status abuti_gather_run(const bvh_gather *g) {
    gather_counts c = {g, abuti_allocate(g->bvh->context, g->count, sizeof *c.counts)};
    abut_status status = ABUT_ERROR_MEMORY;
    if (c.counts)
        status = abuti_gather_run_tasks(g, QUERIES_PER_TASK, count_task, write_task, &c, c.counts);
    abuti_release(g->bvh->context, c.counts);
    return status;
}
