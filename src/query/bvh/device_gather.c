/* Lists of results from a device; see device_gather.h. */
#include "bvh/device_gather.h"

enum {
    GROUP = 256,
    CANDIDATE_BYTES = 192, /* scratch memory and transfers per candidate */
    MEMORY_FRACTION = 4,   /* 1 / the fraction of the device memory that they may use */
    CANDIDATES_MAX = 1 << 25,
    ROWS_PER_TASK = 1024,
    FIND_GROUP = 128, /* of kernels that find or decide rays and boxes */
    QUERY_BYTES = 64
};

/* ---- kernels ---- */

enum { PICK, LENGTHS, MERGE, WRITE, KERNELS };

static const abuti_kernel_source sources[KERNELS] = {[PICK] = {"gather", "gather_pick", NULL},
                                                     [LENGTHS] = {"gather", "gather_lengths", NULL},
                                                     [MERGE] = {"gather", "gather_merge", NULL},
                                                     [WRITE] = {"gather", "gather_write", NULL}};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = GATHER_BUFFERS};

static const bvh_kit_kind gather_kind = BVH_KIT_KIND(table);

/* ---- batches ---- */

/* The maximum number of candidates of a batch. In the worst case all triangles are candidates of
 * one query. */
static uint64_t candidates_max(const bvh_on_device *there) {
    uint64_t fits = there->queue.device->info.memory_bytes / (MEMORY_FRACTION * CANDIDATE_BYTES);
    uint64_t by_memory = fits < CANDIDATES_MAX ? fits : CANDIDATES_MAX;
    return by_memory > there->tree.triangle_count ? by_memory : there->tree.triangle_count;
}

size_t abuti_device_gather_batch_size(const bvh_on_device *there, size_t count, size_t query_bytes,
                                      uint32_t results) {
    size_t queries_max = abuti_parts_of(there->queue.device, count, query_bytes).most;
    uint64_t by_results = results ? candidates_max(there) / results : queries_max;
    return by_results < queries_max ? (size_t)by_results : queries_max;
}

/* ---- a batch ---- */

/* Lists the candidates of `count` queries: counts them, then finds them again. ABUT_ERROR_LIMIT =
 * too many at once. */
static abut_status find_candidates(const device_query *q, uint32_t count, uint32_t *total) {
    abuti_kit *kit = &q->lists->kit;
    abuti_buffer *begin = &kit->buffers[GATHER_BEGIN], *places = &kit->buffers[GATHER_PLACES];
    const uint64_t most = candidates_max(q->there);
    abuti_kit_reserve(kit, GATHER_BEGIN, (size_t)count + 1, sizeof(uint32_t));
    q->find(q, count, 0, begin, begin);
    abuti_tools_scan(q->there->tools, begin, begin, count, begin, count);
    abut_status status = abuti_kit_read(kit, GATHER_BEGIN, count, total, 1, sizeof *total);
    if (status)
        return status;
    if (*total > most || *total > ABUTI_TOOLS_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: there are %u candidates or more; the limit is %llu",
                          q->there->queue.device->info.name, *total, (unsigned long long)most);
    abuti_kit_reserve(kit, GATHER_PLACES, *total, sizeof(uint32_t));
    if (*total)
        q->find(q, count, 1, begin, places);
    return ABUT_OK;
}

static void decide_candidates(const device_query *q, uint32_t count, uint32_t total) {
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
    abuti_kit_reserve(kit, GATHER_ANSWERS, total, q->gather->result_bytes);
    abuti_tools_owners(tools, &kit->buffers[GATHER_BEGIN], count, total, owners);
    q->decide(q, total);
    abuti_tools_scan(tools, before, before, total, before, total);
}

/* Downloads the offset of the results of each query, and their end: count + 1 words. Waits. */
static abut_status compute_offsets(const device_query *q, uint32_t count, uint32_t total,
                                   uint32_t *ends, uint32_t *accepted, uint32_t *longest) {
    abuti_kit *kit = &q->lists->kit;
    abuti_buffer *lengths = &kit->buffers[GATHER_LENGTHS];
    abuti_kit_reserve(kit, GATHER_LENGTHS, (size_t)count + 1, 4);
    abuti_kit_reserve(kit, GATHER_LONGEST, 1, 4);
    abuti_kit_fill(kit, GATHER_LONGEST, 0, 4);
    ABUTI_KIT_RUN(kit, LENGTHS, count, GROUP, KIT_BUFFER(kit, GATHER_BEGIN),
                  KIT_BUFFER(kit, GATHER_BEFORE), ABUTI_VALUE(count), ABUTI_VALUE(q->results_max),
                  KIT_BUFFER(kit, GATHER_LENGTHS), KIT_BUFFER(kit, GATHER_LONGEST));
    abuti_tools_scan(q->there->tools, lengths, lengths, count, lengths, count);
    abut_status status = abuti_kit_download(kit, GATHER_LENGTHS, ends, (size_t)count + 1, 4);
    if (!status)
        status = abuti_kit_download(kit, GATHER_LONGEST, longest, 1, 4);
    if (!status)
        status = abuti_kit_read(kit, GATHER_BEFORE, total, accepted, 1, 4);
    return status;
}

/* Sorts the accepted candidates and writes them: lists to BVH_OUT, and rows to a buffer of the
 * device, from row `begin` on. */
static void write_lists(const device_query *q, size_t begin, uint32_t total, uint32_t accepted,
                        uint32_t longest, uint32_t written) {
    abuti_kit *kit = &q->lists->kit, *io = &q->there->io;
    const uint32_t words = (uint32_t)(q->gather->result_bytes / 4);
    const abut_buffer *rows = q->row ? q->gather->results.buffer : NULL;
    const uint32_t row = rows ? q->row : 0;
    const uint64_t first = begin;
    abuti_kit_reserve(kit, GATHER_FROM, accepted, 4);
    abuti_kit_reserve(kit, GATHER_TO, accepted, 4);
    abuti_kit_reserve(io, BVH_OUT, rows ? 0 : written, q->gather->result_bytes);
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
                  KIT_BUFFER(kit, GATHER_FROM), ABUTI_VALUE(accepted), ABUTI_VALUE(q->results_max),
                  KIT_BUFFER(kit, GATHER_LENGTHS), KIT_BUFFER(kit, GATHER_ANSWERS),
                  ABUTI_VALUE(words), ABUTI_VALUE(row), ABUTI_VALUE(first), ABUTI_BUFFER(out));
}

/* ---- arrays of the caller ---- */

typedef struct row_copy {
    const device_query *query;
    const uint32_t *ends;
    const unsigned char *from;
    size_t begin;
} row_copy;

static void rows_task(void *data, size_t chunk, size_t begin, size_t end) {
    const row_copy *c = data;
    const bvh_gather *g = c->query->gather;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        memcpy((unsigned char *)g->results.host + (c->begin + i) * c->query->row * g->result_bytes,
               c->from + c->ends[i] * g->result_bytes,
               (c->ends[i + 1] - c->ends[i]) * g->result_bytes);
}

/* The unused entries of a row stay unchanged, so only full rows can be downloaded directly. */
static abut_status download_rows(const device_query *q, size_t begin, uint32_t count,
                                 const uint32_t *ends) {
    size_t bytes = q->gather->result_bytes, total = ends[count];
    abuti_kit *io = &q->there->io;
    if (q->gather->results.buffer)
        return abuti_kit_finish(io);
    unsigned char *rows = (unsigned char *)q->gather->results.host + begin * q->row * bytes;
    if (total == (size_t)count * q->row)
        return abuti_on_device_download(q->there, rows, total, bytes);
    unsigned char *room = abuti_allocate(q->there->context, total, bytes);
    if (!room)
        abuti_kit_fail(io, ABUT_ERROR_MEMORY);
    abut_status status = abuti_kit_download(io, BVH_OUT, room, total, bytes);
    row_copy copy = {q, ends, room, begin};
    if (!status)
        abuti_parallel_for(q->there->context, count, ROWS_PER_TASK, rows_task, &copy);
    abuti_release(q->there->context, room);
    return status;
}

/* Downloads lists to entry `at` of the array. */
static abut_status download_lists(const device_query *q, uint64_t at, uint32_t written) {
    const bvh_gather *g = q->gather;
    abuti_kit *io = &q->there->io;
    if (!g->results.buffer)
        return abuti_on_device_download(q->there,
                                        (unsigned char *)g->results.host + at * g->result_bytes,
                                        written, g->result_bytes);
    abuti_kit_fail(io, abuti_buffer_copy_part(io->queue, &io->buffers[BVH_OUT], 0,
                                              &g->results.buffer->memory, at * g->result_bytes,
                                              written * g->result_bytes));
    return abuti_kit_finish(io);
}

/* ---- all batches ---- */

/* Offsets, kept here until all lists fit, or counts of rows, and memory for those of a batch. */
typedef struct gather_state {
    const device_query *query;
    uint64_t *offsets;
    uint32_t *counts, *ends;
} gather_state;

static void store_lengths(const gather_state *w, size_t begin, uint32_t count) {
    for (size_t i = 0; i < count; i++)
        if (w->counts)
            w->counts[begin + i] = w->ends[i + 1] - w->ends[i];
        else
            w->offsets[begin + i + 1] = w->offsets[begin] + w->ends[i + 1];
}

/* Gathers the results of some queries and downloads or only counts them. If these are all queries
 * and the lists fit, they are in BVH_OUT in either case. ABUT_ERROR_LIMIT = too many at once. */
static abut_status gather_batch(const gather_state *w, size_t begin, uint32_t count, bool download,
                                uint32_t *total) {
    const device_query *q = w->query;
    const bvh_gather *g = q->gather;
    uint32_t accepted = 0, longest = 0;
    q->upload(q, begin, count);
    abut_status status = find_candidates(q, count, total);
    if (status)
        return status;
    decide_candidates(q, count, *total);
    status = compute_offsets(q, count, *total, w->ends, &accepted, &longest);
    if (status)
        return status;
    store_lengths(w, begin, count);
    bool write = download || (count == g->count && w->offsets[count] <= g->capacity);
    if (!accepted || !write)
        return ABUT_OK;
    write_lists(q, begin, *total, accepted, longest, w->ends[count]);
    if (!download)
        return abuti_kit_finish(&q->lists->kit);
    return w->counts ? download_rows(q, begin, count, w->ends)
                     : download_lists(q, w->offsets[begin], w->ends[count]);
}

static abut_status gather_pass(const gather_state *w, bool download, size_t *passed) {
    const device_query *q = w->query;
    abuti_parts batches = abuti_parts_by(q->gather->count, q->batch_size);
    abut_status status = ABUT_OK;
    *passed = 0;
    while (!status && abuti_parts_next(&batches)) {
        uint32_t total = 0;
        status = gather_batch(w, batches.begin, (uint32_t)batches.count, download, &total);
        if (status == ABUT_ERROR_LIMIT && abuti_parts_halve(&batches)) {
            status = ABUT_OK;
            continue;
        }
        if (total < candidates_max(q->there) / 4) /* the next batch can be larger */
            abuti_parts_widen(&batches);
        (*passed)++;
        double done = (double)(batches.begin + batches.count) / (double)q->gather->count;
        if (!w->counts) /* lists need two passes */
            done = download ? 0.5 + done / 2 : done / 2;
        if (!status)
            status = abuti_progress(q->there->context, q->gather->stage, done);
    }
    return status;
}

static abut_status gather_lists(const gather_state *w) {
    const bvh_gather *g = w->query->gather;
    size_t batches = 0;
    w->offsets[0] = 0;
    abut_status status = gather_pass(w, false, &batches);
    if (status)
        return status;
    const uint64_t total = w->offsets[g->count];
    if ((status = abuti_gather_check_capacity(g, total)) || !total)
        return status;
    if (batches > 1) /* counted first, so that a buffer that is too small stays unchanged */
        return gather_pass(w, true, &batches);
    return download_lists(w->query, 0, (uint32_t)total);
}

/* Writes offsets or counts to the array of the caller; null = none. */
static abut_status write_words(const device_query *q, abut_array to, const void *words,
                               size_t bytes) {
    if (to.buffer)
        return abuti_buffer_upload(&q->there->queue, &to.buffer->memory, 0, words, bytes);
    if (to.host)
        memcpy(to.host, words, bytes);
    return ABUT_OK;
}

static abut_status gather_all(const gather_state *w) {
    const device_query *q = w->query;
    const bvh_gather *g = q->gather;
    size_t batches = 0;
    abut_status status = w->counts ? gather_pass(w, true, &batches) : gather_lists(w);
    if (status)
        return status;
    return w->counts ? write_words(q, q->counts, w->counts, g->count * sizeof *w->counts)
                     : write_words(q, g->offsets, w->offsets, (g->count + 1) * sizeof *w->offsets);
}

abut_status abuti_device_gather(device_query *q) {
    abut_context *context = q->there->context;
    const bvh_gather *g = q->gather;
    gather_state w = {.query = q};
    abut_status status = abuti_on_device_get_kit(q->there, &gather_kind, &q->lists);
    if (status)
        return status;
    if (q->row)
        w.counts = abuti_allocate(context, g->count, sizeof *w.counts);
    else
        w.offsets = abuti_allocate(context, g->count + 1, sizeof *w.offsets);
    w.ends = abuti_allocate(context, q->batch_size + 1, sizeof *w.ends);
    status = w.ends && (w.offsets || w.counts) ? gather_all(&w) : ABUT_ERROR_MEMORY;
    ABUTI_RELEASE(context, w.ends, w.offsets, w.counts);
    return status;
}

/* ---- rays and boxes: six doubles each ---- */

_Static_assert(sizeof(abut_ray) == 48 && sizeof(abut_box) == 48,
               "the layouts that ray_all.cl and box.cl read");

static void upload_queries(const device_query *q, size_t begin, uint32_t count) {
    const device_all *a = q->user;
    abuti_kit *io = &q->there->io;
    const size_t bytes = sizeof(abut_ray);
    if (!a->queries.buffer) {
        abuti_kit_upload(io, BVH_IN, (const unsigned char *)a->queries.host + begin * bytes, count,
                         bytes);
        return;
    }
    abuti_kit_reserve(io, BVH_IN, count, bytes);
    abuti_kit_fail(io, abuti_buffer_copy_part(io->queue, &a->queries.buffer->memory, begin * bytes,
                                              &io->buffers[BVH_IN], 0, count * bytes));
}

static void enqueue_find(const device_query *q, uint32_t count, uint32_t fill,
                         const abuti_buffer *begin, const abuti_buffer *places) {
    const device_all *a = q->user;
    const mesh_frame frame = frame_of(q->there);
    ABUTI_KIT_RUN(a->kit, a->find, count, FIND_GROUP, TREE(q->there, nodes),
                  TREE(q->there, triangles), ABUTI_VALUE(q->there->tree.triangle_count),
                  KIT_BUFFER(&q->there->io, BVH_IN), ABUTI_VALUE(count), ABUTI_VALUE(frame),
                  ABUTI_VALUE(fill), ABUTI_BUFFER(begin), ABUTI_BUFFER(places));
}

static void enqueue_decide(const device_query *q, uint32_t total) {
    const device_all *a = q->user;
    const abuti_kit *lists = &q->lists->kit;
    ABUTI_KIT_RUN(a->kit, a->decide, total, FIND_GROUP, TREE(q->there, corners),
                  TREE(q->there, order), KIT_BUFFER(&q->there->io, BVH_IN), ABUTI_VALUE(total),
                  KIT_BUFFER(lists, GATHER_OWNERS), KIT_BUFFER(lists, GATHER_PLACES),
                  KIT_BUFFER(lists, GATHER_BEFORE), KIT_BUFFER(lists, GATHER_KEYS),
                  KIT_BUFFER(lists, GATHER_ANSWERS));
}

abut_status abuti_device_reject(const char *function, const device_all *a, uint32_t rejected) {
    return rejected == ABUT_NONE ? ABUT_OK
                                 : abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s %u %s", function,
                                              a->name, rejected, a->condition);
}

abut_status abuti_device_check_all(const char *function, const device_all *a, size_t count) {
    const double coordinate_max = ABUT_COORDINATE_MAX;
    const uint32_t queries = (uint32_t)count, none = UINT32_MAX;
    uint32_t rejected = none;
    abuti_buffer word = {0};
    if (!a->queries.buffer || !count)
        return ABUT_OK;
    if (count >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %zu %s; at most %u are possible at once", function,
                          count, a->name, ABUT_NONE - 1);
    abuti_buffer_make(a->kit->queue, &none, 1, sizeof none, &word);
    ABUTI_KIT_RUN(a->kit, a->check, count, FIND_GROUP, ABUTI_BUFFER(&a->queries.buffer->memory),
                  ABUTI_VALUE(queries), ABUTI_VALUE(coordinate_max), ABUTI_BUFFER(&word));
    abut_status status = abuti_buffer_download(a->kit->queue, &word, 0, &rejected, sizeof rejected);
    abuti_buffer_destroy(&word);
    if (!status)
        status = abuti_device_reject(function, a, rejected);
    return status;
}

abut_status abuti_device_run_all(const bvh_gather *gather, const device_all *all) {
    bvh_on_device *there = gather->bvh->there;
    device_query q = {.there = there,
                      .gather = gather,
                      .results_max = UINT32_MAX,
                      .batch_size =
                          abuti_device_gather_batch_size(there, gather->count, QUERY_BYTES, 0),
                      .user = (void *)(uintptr_t)all,
                      .upload = upload_queries,
                      .find = enqueue_find,
                      .decide = enqueue_decide};
    abut_status status;
    if ((status = abuti_device_check_doubles(gather->function, there)) ||
        (status = abuti_device_check_all(gather->function, all, gather->count)))
        return status;
    return abuti_device_gather(&q);
}

/* ---- boxes ---- */

enum { BOX_CHECK, BOX_FIND, BOX_DECIDE, BOX_KERNELS };

static const abuti_kernel_source box_sources[BOX_KERNELS] = {[BOX_CHECK] = {"box", "box_check",
                                                                            NULL},
                                                             [BOX_FIND] = {"box", "box_find", NULL},
                                                             [BOX_DECIDE] = {"box", "box_decide",
                                                                             NULL}};
static const abuti_kit_table box_table = {.sources = box_sources, .kernel_count = BOX_KERNELS};

static const bvh_kit_kind box_kind = BVH_KIT_KIND(box_table);

abut_status abuti_bvh_boxes_on_device(const bvh_gather *gather, abut_array boxes) {
    bvh_kit *kit;
    abut_status status = abuti_on_device_get_kit(gather->bvh->there, &box_kind, &kit);
    if (status)
        return status;
    const device_all all = {&kit->kit,
                            BOX_CHECK,
                            BOX_FIND,
                            BOX_DECIDE,
                            boxes,
                            "box",
                            "is not finite, is too large, or has lo beyond hi"};
    return abuti_device_run_all(gather, &all);
}
