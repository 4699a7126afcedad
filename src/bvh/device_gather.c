/* Lists of answers from a device; see device_gather.h. */
#include "bvh/device_gather.h"

#define GROUP 256

/* Bytes of scratch memory and transfers a candidate, and how much of the device they may take. */
#define ITEM_BYTES 192
#define MEMORY_SHARE 4
#define ITEMS_MOST ((uint64_t)1 << 25)
#define PART_MOST ((size_t)1 << 24)
#define PART_LEAST ((size_t)1 << 12)
#define ROWS_A_TASK 1024

void abuti_device_gather_destroy(bvh_on_device *bvh) {
    device_gather *g = &bvh->gather;
    abuti_kernel *kernels[] = {&g->pick,       &g->lengths_kernel, &g->merge,      &g->write,
                               &g->many_bound, &g->many_find,      &g->many_judge, &g->ray_find,
                               &g->ray_judge,  &g->box_find,       &g->box_judge};
    abuti_buffer *buffers[] = {&g->begin,   &g->places,  &g->owners,   &g->before,
                               &g->keys,    &g->answers, &g->lists[0], &g->lists[1],
                               &g->lengths, &g->longest, &g->heaps,    &g->reaches};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        abuti_kernel_destroy(kernels[i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
}

/* Candidates of a part, at most. All triangles are one question's, at worst. */
static uint64_t items_most(const bvh_on_device *bvh) {
    uint64_t fits = bvh->queue.device->info.memory_bytes / (MEMORY_SHARE * ITEM_BYTES);
    uint64_t most = fits < ITEMS_MOST ? fits : ITEMS_MOST;
    return most > bvh->tree.triangle_count ? most : bvh->tree.triangle_count;
}

size_t abuti_device_gather_part(const bvh_on_device *bvh, size_t count, size_t question_bytes,
                                uint32_t answers) {
    uint64_t fits = bvh->queue.device->info.memory_bytes / (MEMORY_SHARE * question_bytes);
    size_t most = fits < PART_LEAST ? PART_LEAST : fits < PART_MOST ? (size_t)fits : PART_MOST;
    uint64_t by_answers = answers ? items_most(bvh) / answers : most;
    most = by_answers < most ? (size_t)by_answers : most;
    return count < most ? count : most ? most : 1;
}

/* ---- a part ---- */

static abut_status measure_segments(void *user, abuti_buffer *begin) {
    const device_quest *q = user;
    return q->find(q, (uint32_t)q->part, 0, begin, begin);
}

static abut_status fill_segments(void *user, const abuti_buffer *begin, abuti_buffer *items,
                                 uint32_t total) {
    const device_quest *q = user;
    (void)total;
    return q->find(q, (uint32_t)q->part, 1, begin, items);
}

/* Lists the candidates of `count` questions. ABUT_ERROR_LIMIT = too many at once. */
static abut_status find_candidates(const device_quest *q, uint32_t count, uint32_t *total) {
    device_gather *g = &q->bvh->gather;
    device_quest here = *q;
    uint64_t found = 0;
    here.part = count;
    abuti_segments segments = {count, sizeof(uint32_t), items_most(q->bvh),
                               &here, measure_segments, fill_segments};
    abut_status status =
        abuti_tools_segments(q->bvh->tools, &segments, &g->begin, &g->places, &found);
    *total = (uint32_t)found;
    return status;
}

static abut_status judge_candidates(const device_quest *q, uint32_t count, uint32_t total) {
    device_gather *g = &q->bvh->gather;
    abut_device *device = q->bvh->queue.device;
    abuti_tools *tools = q->bvh->tools;
    abut_status status = abuti_buffer_reserve(device, (size_t)total + 1, 4, &g->before);
    if (!status && !total)
        return abuti_buffer_fill(&q->bvh->queue, &g->before, 0, 4);
    if (!status)
        status = abuti_buffer_reserve(device, total, 4, &g->owners);
    if (!status)
        status = abuti_buffer_reserve(device, total, sizeof(double), &g->keys);
    if (!status)
        status = abuti_buffer_reserve(device, total, (size_t)q->answer_words * 4, &g->answers);
    if (!status)
        status = abuti_tools_owners(tools, &g->begin, count, total, &g->owners);
    if (!status)
        status = q->judge(q, total);
    return status ? status
                  : abuti_tools_scan(tools, &g->before, &g->before, total, &g->before, total);
}

/* Where each question's answers begin, and where they end, to the host: count + 1 words. Waits. */
static abut_status measure_lists(const device_quest *q, uint32_t count, uint32_t total,
                                 uint32_t *ends, uint32_t *accepted, uint32_t *longest) {
    device_gather *g = &q->bvh->gather;
    abut_device *device = q->bvh->queue.device;
    abuti_queue *queue = &q->bvh->queue;
    abut_status status = abuti_buffer_reserve(device, (size_t)count + 1, 4, &g->lengths);
    if (!status)
        status = abuti_buffer_reserve(device, 1, 4, &g->longest);
    if (!status)
        status = abuti_buffer_fill(queue, &g->longest, 0, 4);
    if (!status)
        status = ABUTI_LAUNCH(queue, &g->lengths_kernel, groups_of(count, GROUP), GROUP,
                              ABUTI_BUFFER(&g->begin), ABUTI_BUFFER(&g->before), ABUTI_VALUE(count),
                              ABUTI_VALUE(q->most), ABUTI_BUFFER(&g->lengths),
                              ABUTI_BUFFER(&g->longest));
    if (!status)
        status =
            abuti_tools_scan(q->bvh->tools, &g->lengths, &g->lengths, count, &g->lengths, count);
    if (!status)
        status = abuti_buffer_download(queue, &g->lengths, 0, ends, ((size_t)count + 1) * 4);
    if (!status)
        status = abuti_buffer_download(queue, &g->longest, 0, longest, 4);
    return status ? status
                  : abuti_buffer_download(queue, &g->before, (size_t)total * 4, accepted, 4);
}

/* Sorts what was accepted and writes it to bvh->out. */
static abut_status write_lists(const device_quest *q, uint32_t total, uint32_t accepted,
                               uint32_t longest, uint32_t written) {
    device_gather *g = &q->bvh->gather;
    abut_device *device = q->bvh->queue.device;
    abuti_queue *queue = &q->bvh->queue;
    abuti_buffer *from = &g->lists[0], *to = &g->lists[1];
    abut_status status = abuti_buffer_reserve(device, accepted, 4, from);
    if (!status)
        status = abuti_buffer_reserve(device, accepted, 4, to);
    if (!status)
        status = abuti_buffer_reserve(device, written, (size_t)q->answer_words * 4, &q->bvh->out);
    if (!status)
        status = ABUTI_LAUNCH(queue, &g->pick, groups_of(total, GROUP), GROUP,
                              ABUTI_BUFFER(&g->before), ABUTI_VALUE(total), ABUTI_BUFFER(from));
    for (uint32_t width = 1; !status && width < longest; width *= 2) {
        status = ABUTI_LAUNCH(queue, &g->merge, groups_of(accepted, GROUP), GROUP,
                              ABUTI_BUFFER(&g->begin), ABUTI_BUFFER(&g->before),
                              ABUTI_BUFFER(&g->owners), ABUTI_BUFFER(&g->keys),
                              ABUTI_BUFFER(&g->places), ABUTI_VALUE(accepted), ABUTI_VALUE(width),
                              ABUTI_BUFFER(from), ABUTI_BUFFER(to));
        abuti_buffer *swap = from;
        from = to;
        to = swap;
    }
    if (!status)
        status =
            ABUTI_LAUNCH(queue, &g->write, groups_of((size_t)accepted * q->answer_words, GROUP),
                         GROUP, ABUTI_BUFFER(&g->begin), ABUTI_BUFFER(&g->before),
                         ABUTI_BUFFER(&g->owners), ABUTI_BUFFER(from), ABUTI_VALUE(accepted),
                         ABUTI_VALUE(q->most), ABUTI_BUFFER(&g->lengths), ABUTI_BUFFER(&g->answers),
                         ABUTI_VALUE(q->answer_words), ABUTI_BUFFER(&q->bvh->out));
    return status;
}

/* ---- to the host ---- */

typedef struct row_copy {
    const device_quest *quest;
    const uint32_t *ends;
    const unsigned char *from;
    size_t begin;
} row_copy;

static void rows_task(void *data, size_t chunk, size_t begin, size_t end) {
    const row_copy *c = data;
    size_t bytes = (size_t)c->quest->answer_words * 4;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        memcpy((unsigned char *)c->quest->answers + (c->begin + i) * c->quest->row * bytes,
               c->from + c->ends[i] * bytes, (c->ends[i + 1] - c->ends[i]) * bytes);
}

/* What is not written in a row stays as it was, so only full rows can come as they are. */
static abut_status fetch_rows(const device_quest *q, size_t begin, uint32_t count,
                              const uint32_t *ends) {
    size_t bytes = (size_t)q->answer_words * 4, total = ends[count];
    unsigned char *rows = (unsigned char *)q->answers + begin * q->row * bytes;
    if (total == count * q->row)
        return abuti_buffer_download(&q->bvh->queue, &q->bvh->out, 0, rows, total * bytes);
    unsigned char *room = abuti_allocate(q->bvh->context, total, bytes);
    if (!room)
        return ABUT_ERROR_MEMORY;
    abut_status status =
        abuti_buffer_download(&q->bvh->queue, &q->bvh->out, 0, room, total * bytes);
    row_copy copy = {q, ends, room, begin};
    if (!status)
        abuti_parallel_for(q->bvh->context, count, ROWS_A_TASK, rows_task, &copy);
    abuti_release(q->bvh->context, room);
    return status;
}

static abut_status fetch_lists(const device_quest *q, size_t begin, uint32_t written) {
    size_t bytes = (size_t)q->answer_words * 4;
    return abuti_buffer_download(&q->bvh->queue, &q->bvh->out, 0,
                                 (unsigned char *)q->answers + q->gather.offsets[begin] * bytes,
                                 written * bytes);
}

static void note_lengths(const device_quest *q, size_t begin, uint32_t count,
                         const uint32_t *ends) {
    for (size_t i = 0; i < count; i++)
        if (q->counts)
            q->counts[begin + i] = ends[i + 1] - ends[i];
        else
            q->gather.offsets[begin + i + 1] = q->gather.offsets[begin] + ends[i + 1];
}

/* ---- all parts ---- */

/* Some of the questions, whose lists are fetched or only counted. Where these are all and there is
 * room for their lists, they are in bvh->out in either case. ABUT_ERROR_LIMIT = too many at once.
 * `ends` has room for count + 1. */
static abut_status gather_part(const device_quest *q, size_t begin, uint32_t count, bool fetch,
                               uint32_t *ends, uint32_t *total) {
    uint32_t accepted = 0, longest = 0;
    abut_status status = q->ready(q, begin, count);
    status = status ? status : find_candidates(q, count, total);
    status = status ? status : judge_candidates(q, count, *total);
    status = status ? status : measure_lists(q, count, *total, ends, &accepted, &longest);
    if (status)
        return status;
    note_lengths(q, begin, count, ends);
    const bvh_gather *g = &q->gather;
    bool write = fetch || (count == g->count && g->offsets[count] <= g->capacity);
    if (!accepted || !write)
        return ABUT_OK;
    status = write_lists(q, *total, accepted, longest, ends[count]);
    if (status || !fetch)
        return status;
    return q->counts ? fetch_rows(q, begin, count, ends) : fetch_lists(q, begin, ends[count]);
}

static abut_status gather_pass(const device_quest *q, bool fetch, uint32_t *ends, size_t *parts) {
    size_t count = q->gather.count, part = q->part, begin = 0;
    abut_status status = ABUT_OK;
    *parts = 0;
    while (begin < count && !status) {
        size_t here = count - begin < part ? count - begin : part;
        uint32_t total = 0;
        status = gather_part(q, begin, (uint32_t)here, fetch, ends, &total);
        if (status == ABUT_ERROR_LIMIT && here > 1) {
            part = here / 2;
            status = ABUT_OK;
            continue;
        }
        if (total < items_most(q->bvh) / 4) /* there was room for more */
            part = 2 * part < q->part ? 2 * part : q->part;
        begin += here;
        (*parts)++;
        double done = (double)begin / (double)count;
        if (!q->counts) /* lists take two passes */
            done = fetch ? 0.5 + done / 2 : done / 2;
        status = status ? status : abuti_progress(q->bvh->context, q->gather.stage, done);
    }
    return status;
}

static abut_status gather_all(const device_quest *q, uint32_t *ends) {
    size_t parts = 0;
    if (q->counts)
        return gather_pass(q, true, ends, &parts);
    abut_status status = gather_pass(q, false, ends, &parts);
    status = status ? status : abuti_gather_fits(&q->gather);
    uint64_t total = q->gather.offsets[q->gather.count];
    if (status || !total)
        return status;
    if (parts > 1) /* counted first, so that a buffer too small stays untouched */
        return gather_pass(q, true, ends, &parts);
    return fetch_lists(q, 0, (uint32_t)total);
}

abut_status abuti_device_gather(const device_quest *q) {
    device_gather *g = &q->bvh->gather;
    const abuti_kernel_name list[] = {{&g->pick, "gather_pick"},
                                      {&g->lengths_kernel, "gather_lengths"},
                                      {&g->merge, "gather_merge"},
                                      {&g->write, "gather_write"}};
    if (q->gather.offsets)
        q->gather.offsets[0] = 0;
    if (!q->gather.count)
        return ABUT_OK;
    abut_status status = abuti_device_need(q->bvh, "gather", list, sizeof list / sizeof *list);
    if (status)
        return status;
    uint32_t *ends = abuti_allocate(q->bvh->context, q->part + 1, sizeof *ends);
    status = ends ? gather_all(q, ends) : ABUT_ERROR_MEMORY;
    abuti_release(q->bvh->context, ends);
    return status;
}
