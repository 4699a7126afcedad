/* Lists of results of many queries; see gather.h. Every query runs twice, first to count and then
 * to write its results. So lists need only the memory of the caller and 4 bytes per query, and
 * their order does not depend on threads. */
#include "bvh/gather.h"

enum { QUERIES_PER_TASK = 64, TASKS_PER_REPORT = 256 };

typedef struct gather_range {
    const bvh_gather *g;
    uint32_t *counts; /* of results of each query */
    size_t begin;
    bool write;
} gather_range;

static void gather_task(void *data, size_t chunk, size_t begin, size_t end) {
    const gather_range *part = data;
    const bvh_gather *g = part->g;
    const uint64_t *offsets = g->offsets.host;
    (void)chunk;
    for (size_t i = part->begin + begin; i < part->begin + end; i++)
        if (!part->write)
            part->counts[i] = g->compute(g->user, i, false, 0);
        else if (part->counts[i])
            g->compute(g->user, i, true, offsets[i]);
}

/* One of the two passes; the first reports the first half of the progress. */
static abut_status gather_pass(const bvh_gather *g, uint32_t *counts, bool write) {
    abut_context *context = g->bvh->context;
    const size_t most = (size_t)QUERIES_PER_TASK * TASKS_PER_REPORT;
    abut_status status = ABUT_OK;
    for (size_t begin = 0; begin < g->count && !status; begin += most) {
        size_t here = g->count - begin < most ? g->count - begin : most;
        gather_range part = {g, counts, begin, write};
        status = abuti_parallel_try(context, g->stage, here, QUERIES_PER_TASK, gather_task, &part);
        if (status)
            break;
        double done = (double)(begin + here) / (double)g->count;
        status = abuti_progress(context, g->stage, write ? 0.5 + done / 2 : done / 2);
    }
    return status;
}

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
    return status ? status
                  : abuti_bvh_check_array(g->function, g->what, g->bvh, g->results, g->capacity,
                                          g->result_bytes);
}

abut_status abuti_gather_check_capacity(const bvh_gather *g, uint64_t total) {
    *g->total = total;
    return total <= g->capacity
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %llu %s, but the capacity is %llu",
                            g->function, (unsigned long long)total, g->what,
                            (unsigned long long)g->capacity);
}

/* Counts, and writes if the capacity is sufficient. */
static abut_status count_and_write(const bvh_gather *g, uint32_t *counts) {
    uint64_t *offsets = g->offsets.host, total = 0;
    abut_status status = gather_pass(g, counts, false);
    if (status)
        return status;
    for (size_t i = 0; i < g->count; i++)
        total += counts[i];
    status = abuti_gather_check_capacity(g, total);
    if (status || !offsets)
        return status;
    offsets[0] = 0;
    for (size_t i = 0; i < g->count; i++)
        offsets[i + 1] = offsets[i] + counts[i];
    return total ? gather_pass(g, counts, true) : ABUT_OK;
}

abut_status abuti_gather_run(const bvh_gather *g) {
    uint32_t *counts = abuti_allocate(g->bvh->context, g->count, sizeof *counts);
    abut_status status = counts ? count_and_write(g, counts) : ABUT_ERROR_MEMORY;
    abuti_release(g->bvh->context, counts);
    return status;
}
