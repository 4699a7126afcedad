/* Lists of answers to many questions; see gather.h. Every question is asked twice, once to count
 * and once to write: so lists need no memory but the caller's and 4 bytes a question, and their
 * order no thread. */
#include "bvh/gather.h"

enum { QUESTIONS_A_TASK = 64, TASKS_A_REPORT = 256 };

typedef struct gather_part {
    const bvh_gather *g;
    uint32_t *counts; /* of answers to each question */
    size_t begin;
    bool write;
} gather_part;

static void gather_task(void *data, size_t chunk, size_t begin, size_t end) {
    const gather_part *part = data;
    const bvh_gather *g = part->g;
    const uint64_t *offsets = g->offsets.host;
    (void)chunk;
    for (size_t i = part->begin + begin; i < part->begin + end; i++)
        if (!part->write)
            part->counts[i] = g->answer(g->user, i, false, 0);
        else if (part->counts[i])
            g->answer(g->user, i, true, offsets[i]);
}

/* One of the two passes, of which the first takes the first half of the reports. */
static abut_status gather_pass(const bvh_gather *g, uint32_t *counts, bool write) {
    abut_context *context = g->bvh->context;
    const size_t most = (size_t)QUESTIONS_A_TASK * TASKS_A_REPORT;
    abut_status status = ABUT_OK;
    for (size_t begin = 0; begin < g->count && !status; begin += most) {
        size_t here = g->count - begin < most ? g->count - begin : most;
        gather_part part = {g, counts, begin, write};
        status = abuti_parallel_try(context, g->stage, here, QUESTIONS_A_TASK, gather_task, &part);
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
                          "%s: offsets is null, but capacity is %llu; pass room for one more than "
                          "there are questions",
                          g->function, (unsigned long long)g->capacity);
    if (!g->answers.host && !g->answers.buffer && g->capacity)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is null, but capacity is %llu", g->function,
                          g->what, (unsigned long long)g->capacity);
    abut_status status =
        abuti_bvh_check_array(g->function, "offsets", g->bvh, g->offsets,
                              has_offsets ? (uint64_t)g->count + 1 : 0, sizeof(uint64_t));
    return status ? status
                  : abuti_bvh_check_array(g->function, g->what, g->bvh, g->answers, g->capacity,
                                          g->answer_bytes);
}

abut_status abuti_gather_fits(const bvh_gather *g, uint64_t total) {
    *g->total = total;
    return total <= g->capacity
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_BUFFER, "%s: there are %llu %s, but room for %llu only",
                            g->function, (unsigned long long)total, g->what,
                            (unsigned long long)g->capacity);
}

/* Counts, and writes if there is room. */
static abut_status run(const bvh_gather *g, uint32_t *counts) {
    uint64_t *offsets = g->offsets.host, total = 0;
    abut_status status = gather_pass(g, counts, false);
    if (status)
        return status;
    for (size_t i = 0; i < g->count; i++)
        total += counts[i];
    status = abuti_gather_fits(g, total);
    if (status || !offsets)
        return status;
    offsets[0] = 0;
    for (size_t i = 0; i < g->count; i++)
        offsets[i + 1] = offsets[i] + counts[i];
    return total ? gather_pass(g, counts, true) : ABUT_OK;
}

abut_status abuti_gather_run(const bvh_gather *g) {
    uint32_t *counts = abuti_allocate(g->bvh->context, g->count, sizeof *counts);
    abut_status status = counts ? run(g, counts) : ABUT_ERROR_MEMORY;
    abuti_release(g->bvh->context, counts);
    return status;
}
