/* Lists of answers from a device; see device_gather.h. */
#include "bvh/device_gather.h"

enum {
    GROUP = 256,
    ITEM_BYTES = 192, /* of scratch memory and transfers, a candidate */
    MEMORY_SHARE = 4, /* of the device that they may take */
    ITEMS_MAX = 1 << 25,
    ROWS_A_TASK = 1024
};

/* ---- the kit ---- */

enum { PICK, LENGTHS, MERGE, WRITE, KERNELS };

static const abuti_kernel_source sources[KERNELS] = {[PICK] = {"gather", "gather_pick", NULL},
                                                     [LENGTHS] = {"gather", "gather_lengths", NULL},
                                                     [MERGE] = {"gather", "gather_merge", NULL},
                                                     [WRITE] = {"gather", "gather_write", NULL}};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = GATHER_BUFFERS};

static abut_status create(bvh_part *part, void *owner) {
    return abuti_there_kit(owner, &table, &((gather_there *)part)->kit);
}

static void destroy(bvh_part *part) {
    abuti_kit_close(&((gather_there *)part)->kit);
}

static const bvh_part_kind gather_kind = {sizeof(gather_there), create, NULL, destroy};

/* ---- parts ---- */

/* Candidates of a part, at most. All triangles are one question's, at worst. */
static uint64_t items_most(const bvh_on_device *there) {
    uint64_t fits = there->queue.device->info.memory_bytes / (MEMORY_SHARE * ITEM_BYTES);
    uint64_t most = fits < ITEMS_MAX ? fits : ITEMS_MAX;
    return most > there->tree.triangle_count ? most : there->tree.triangle_count;
}

size_t abuti_device_gather_part(const bvh_on_device *there, size_t count, size_t question_bytes,
                                uint32_t answers) {
    size_t most = abuti_parts_of(there->queue.device, count, question_bytes).most;
    uint64_t by_answers = answers ? items_most(there) / answers : most;
    return by_answers < most ? (size_t)by_answers : most;
}

/* ---- a part ---- */

typedef struct finding {
    const device_quest *quest;
    uint32_t count;
} finding;

static void measure_segments(void *user, abuti_buffer *begin) {
    const finding *f = user;
    f->quest->find(f->quest, f->count, 0, begin, begin);
}

static void fill_segments(void *user, const abuti_buffer *begin, abuti_buffer *items,
                          uint32_t total) {
    const finding *f = user;
    (void)total;
    f->quest->find(f->quest, f->count, 1, begin, items);
}

/* Lists the candidates of `count` questions. ABUT_ERROR_LIMIT = too many at once. */
static abut_status find_candidates(const device_quest *q, uint32_t count, uint32_t *total) {
    abuti_kit *kit = &q->lists->kit;
    finding f = {q, count};
    uint64_t found = 0;
    abuti_segments segments = {count, sizeof(uint32_t), items_most(q->there),
                               &f,    measure_segments, fill_segments};
    abut_status status =
        abuti_tools_segments(q->there->tools, &segments, &kit->buffers[GATHER_BEGIN],
                             &kit->buffers[GATHER_PLACES], &found);
    *total = (uint32_t)found;
    return status;
}

static void judge_candidates(const device_quest *q, uint32_t count, uint32_t total) {
    abuti_kit *kit = &q->lists->kit;
    abuti_tools *tools = q->there->tools;
    abuti_buffer *before = &kit->buffers[GATHER_BEFORE], *owners = &kit->buffers[GATHER_OWNERS];
    abuti_kit_reserve(kit, GATHER_BEFORE, (size_t)total + 1, 4);
    if (!total) {
        abuti_kit_fill(kit, GATHER_BEFORE, 0, 4);
        return;
    }
    abuti_kit_reserve(kit, GATHER_OWNERS, total, 4);
    abuti_kit_reserve(kit, GATHER_KEYS, total, sizeof(double));
    abuti_kit_reserve(kit, GATHER_ANSWERS, total, q->gather->answer_bytes);
    abuti_tools_owners(tools, &kit->buffers[GATHER_BEGIN], count, total, owners);
    q->judge(q, total);
    abuti_tools_scan(tools, before, before, total, before, total);
}

/* Where each question's answers begin, and where they end, to the host: count + 1 words. Waits. */
static abut_status measure_lists(const device_quest *q, uint32_t count, uint32_t total,
                                 uint32_t *ends, uint32_t *accepted, uint32_t *longest) {
    abuti_kit *kit = &q->lists->kit;
    abuti_buffer *lengths = &kit->buffers[GATHER_LENGTHS];
    abuti_kit_reserve(kit, GATHER_LENGTHS, (size_t)count + 1, 4);
    abuti_kit_reserve(kit, GATHER_LONGEST, 1, 4);
    abuti_kit_fill(kit, GATHER_LONGEST, 0, 4);
    ABUTI_KIT_RUN(kit, LENGTHS, count, GROUP, KIT_BUFFER(kit, GATHER_BEGIN),
                  KIT_BUFFER(kit, GATHER_BEFORE), ABUTI_VALUE(count), ABUTI_VALUE(q->most),
                  KIT_BUFFER(kit, GATHER_LENGTHS), KIT_BUFFER(kit, GATHER_LONGEST));
    abuti_tools_scan(q->there->tools, lengths, lengths, count, lengths, count);
    abut_status status = abuti_kit_get(kit, GATHER_LENGTHS, ends, (size_t)count + 1, 4);
    status = status ? status : abuti_kit_get(kit, GATHER_LONGEST, longest, 1, 4);
    return status ? status : abuti_kit_read(kit, GATHER_BEFORE, total, accepted, 1, 4);
}

/* Sorts what was accepted and writes it: lists to BVH_OUT, and rows of a buffer there, from row
 * `begin` on. */
static void write_lists(const device_quest *q, size_t begin, uint32_t total, uint32_t accepted,
                        uint32_t longest, uint32_t written) {
    abuti_kit *kit = &q->lists->kit, *io = &q->there->io;
    const uint32_t words = (uint32_t)(q->gather->answer_bytes / 4);
    const abut_buffer *rows = q->row ? q->gather->answers.buffer : NULL;
    const uint32_t row = rows ? q->row : 0;
    const uint64_t first = begin;
    abuti_kit_reserve(kit, GATHER_FROM, accepted, 4);
    abuti_kit_reserve(kit, GATHER_TO, accepted, 4);
    abuti_kit_reserve(io, BVH_OUT, rows ? 0 : written, q->gather->answer_bytes);
    ABUTI_KIT_RUN(kit, PICK, total, GROUP, KIT_BUFFER(kit, GATHER_BEFORE), ABUTI_VALUE(total),
                  KIT_BUFFER(kit, GATHER_FROM));
    for (uint32_t width = 1; width < longest; width *= 2) {
        ABUTI_KIT_RUN(kit, MERGE, accepted, GROUP, KIT_BUFFER(kit, GATHER_BEGIN),
                      KIT_BUFFER(kit, GATHER_BEFORE), KIT_BUFFER(kit, GATHER_OWNERS),
                      KIT_BUFFER(kit, GATHER_KEYS), KIT_BUFFER(kit, GATHER_PLACES),
                      ABUTI_VALUE(accepted), ABUTI_VALUE(width), KIT_BUFFER(kit, GATHER_FROM),
                      KIT_BUFFER(kit, GATHER_TO));
        abuti_kit_swap(kit, GATHER_FROM, GATHER_TO);
    }
    const abuti_buffer *out = rows ? &rows->memory : &io->buffers[BVH_OUT];
    ABUTI_KIT_RUN(kit, WRITE, (size_t)accepted * words, GROUP, KIT_BUFFER(kit, GATHER_BEGIN),
                  KIT_BUFFER(kit, GATHER_BEFORE), KIT_BUFFER(kit, GATHER_OWNERS),
                  KIT_BUFFER(kit, GATHER_FROM), ABUTI_VALUE(accepted), ABUTI_VALUE(q->most),
                  KIT_BUFFER(kit, GATHER_LENGTHS), KIT_BUFFER(kit, GATHER_ANSWERS),
                  ABUTI_VALUE(words), ABUTI_VALUE(row), ABUTI_VALUE(first), ABUTI_BUFFER(out));
}

/* ---- to the caller's arrays ---- */

typedef struct row_copy {
    const device_quest *quest;
    const uint32_t *ends;
    const unsigned char *from;
    size_t begin;
} row_copy;

static void rows_task(void *data, size_t chunk, size_t begin, size_t end) {
    const row_copy *c = data;
    const bvh_gather *g = c->quest->gather;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        memcpy((unsigned char *)g->answers.host + (c->begin + i) * c->quest->row * g->answer_bytes,
               c->from + c->ends[i] * g->answer_bytes,
               (c->ends[i + 1] - c->ends[i]) * g->answer_bytes);
}

/* What is not written in a row stays as it was, so only full rows can come as they are. */
static abut_status fetch_rows(const device_quest *q, size_t begin, uint32_t count,
                              const uint32_t *ends) {
    size_t bytes = q->gather->answer_bytes, total = ends[count];
    abuti_kit *io = &q->there->io;
    if (q->gather->answers.buffer)
        return abuti_kit_finish(io);
    unsigned char *rows = (unsigned char *)q->gather->answers.host + begin * q->row * bytes;
    if (total == (size_t)count * q->row)
        return abuti_there_answers(q->there, rows, total, bytes);
    unsigned char *room = abuti_allocate(q->there->context, total, bytes);
    if (!room)
        abuti_kit_fail(io, ABUT_ERROR_MEMORY);
    abut_status status = abuti_kit_get(io, BVH_OUT, room, total, bytes);
    row_copy copy = {q, ends, room, begin};
    if (!status)
        abuti_parallel_for(q->there->context, count, ROWS_A_TASK, rows_task, &copy);
    abuti_release(q->there->context, room);
    return status;
}

/* Lists, to place `at` of the array. */
static abut_status fetch_lists(const device_quest *q, uint64_t at, uint32_t written) {
    const bvh_gather *g = q->gather;
    abuti_kit *io = &q->there->io;
    if (!g->answers.buffer)
        return abuti_there_answers(q->there,
                                   (unsigned char *)g->answers.host + at * g->answer_bytes, written,
                                   g->answer_bytes);
    abuti_kit_fail(io, abuti_buffer_copy_part(io->queue, &io->buffers[BVH_OUT], 0,
                                              &g->answers.buffer->memory, at * g->answer_bytes,
                                              written * g->answer_bytes));
    return abuti_kit_finish(io);
}

/* ---- all parts ---- */

/* Offsets, kept here until all fit, or counts of rows, and room for those of a part. */
typedef struct gathering {
    const device_quest *quest;
    uint64_t *offsets;
    uint32_t *counts, *ends;
} gathering;

static void note_lengths(const gathering *w, size_t begin, uint32_t count) {
    for (size_t i = 0; i < count; i++)
        if (w->counts)
            w->counts[begin + i] = w->ends[i + 1] - w->ends[i];
        else
            w->offsets[begin + i + 1] = w->offsets[begin] + w->ends[i + 1];
}

/* Some of the questions, whose lists are fetched or only counted. Where these are all and there is
 * room for their lists, they are in BVH_OUT in either case. ABUT_ERROR_LIMIT = too many at once. */
static abut_status gather_part(const gathering *w, size_t begin, uint32_t count, bool fetch,
                               uint32_t *total) {
    const device_quest *q = w->quest;
    const bvh_gather *g = q->gather;
    uint32_t accepted = 0, longest = 0;
    q->ready(q, begin, count);
    abut_status status = find_candidates(q, count, total);
    if (status)
        return status;
    judge_candidates(q, count, *total);
    status = measure_lists(q, count, *total, w->ends, &accepted, &longest);
    if (status)
        return status;
    note_lengths(w, begin, count);
    bool write = fetch || (count == g->count && w->offsets[count] <= g->capacity);
    if (!accepted || !write)
        return ABUT_OK;
    write_lists(q, begin, *total, accepted, longest, w->ends[count]);
    if (!fetch)
        return abuti_kit_finish(&q->lists->kit);
    return w->counts ? fetch_rows(q, begin, count, w->ends)
                     : fetch_lists(q, w->offsets[begin], w->ends[count]);
}

static abut_status gather_pass(const gathering *w, bool fetch, size_t *passed) {
    const device_quest *q = w->quest;
    abuti_parts parts = abuti_parts_by(q->gather->count, q->part);
    abut_status status = ABUT_OK;
    *passed = 0;
    while (!status && abuti_parts_next(&parts)) {
        uint32_t total = 0;
        status = gather_part(w, parts.begin, (uint32_t)parts.count, fetch, &total);
        if (status == ABUT_ERROR_LIMIT && abuti_parts_halve(&parts)) {
            status = ABUT_OK;
            continue;
        }
        if (total < items_most(q->there) / 4) /* there was room for more */
            abuti_parts_widen(&parts);
        (*passed)++;
        double done = (double)(parts.begin + parts.count) / (double)q->gather->count;
        if (!w->counts) /* lists take two passes */
            done = fetch ? 0.5 + done / 2 : done / 2;
        status = status ? status : abuti_progress(q->there->context, q->gather->stage, done);
    }
    return status;
}

static abut_status gather_lists(const gathering *w) {
    const bvh_gather *g = w->quest->gather;
    size_t parts = 0;
    w->offsets[0] = 0;
    abut_status status = gather_pass(w, false, &parts);
    uint64_t total = w->offsets[g->count];
    status = status ? status : abuti_gather_fits(g, total);
    if (status || !total)
        return status;
    if (parts > 1) /* counted first, so that a buffer too small stays untouched */
        return gather_pass(w, true, &parts);
    return fetch_lists(w->quest, 0, (uint32_t)total);
}

/* Offsets or counts to the caller's array; null = none. */
static abut_status send_words(const device_quest *q, abut_array to, const void *words,
                              size_t bytes) {
    if (to.buffer)
        return abuti_buffer_upload(&q->there->queue, &to.buffer->memory, 0, words, bytes);
    if (to.host)
        memcpy(to.host, words, bytes);
    return ABUT_OK;
}

static abut_status gather_rows(const gathering *w) {
    size_t parts = 0, count = w->quest->gather->count;
    abut_status status = gather_pass(w, true, &parts);
    return status ? status
                  : send_words(w->quest, w->quest->counts, w->counts, count * sizeof *w->counts);
}

static abut_status gather_all(const gathering *w) {
    if (w->counts)
        return gather_rows(w);
    const bvh_gather *g = w->quest->gather;
    abut_status status = gather_lists(w);
    return status
               ? status
               : send_words(w->quest, g->offsets, w->offsets, (g->count + 1) * sizeof *w->offsets);
}

abut_status abuti_device_gather(device_quest *q) {
    abut_context *context = q->there->context;
    const bvh_gather *g = q->gather;
    gathering w = {.quest = q};
    bvh_part *part;
    abut_status status = abuti_there_part(q->there, &gather_kind, &part);
    if (status)
        return status;
    q->lists = (gather_there *)part;
    if (q->row)
        w.counts = abuti_allocate(context, g->count, sizeof *w.counts);
    else
        w.offsets = abuti_allocate(context, g->count + 1, sizeof *w.offsets);
    w.ends = abuti_allocate(context, q->part + 1, sizeof *w.ends);
    status = w.ends && (w.offsets || w.counts) ? gather_all(&w) : ABUT_ERROR_MEMORY;
    ABUTI_RELEASE(context, w.ends, w.offsets, w.counts);
    return status;
}
