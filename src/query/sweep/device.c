/* Motions on a device: uploads, and download of impacts.
 *
 * Topology is uploaded once, positions with each step. A search runs on the device alone; see
 * device_search.c. Hits are sorted there too, by two stable radix sorts: first by kind and
 * elements, then by time. If there are at most RANK_SORT_MAX, each hit counts the hits before it
 * instead.
 */
#include "sweep/device.h"

#include "geom/sweep.h"

enum { RANK_SORT_MAX = 1 << 15 };

_Static_assert(sizeof(sweep_impact) == sizeof(abut_impact) &&
                   offsetof(sweep_impact, kind) == offsetof(abut_impact, kind) &&
                   offsetof(sweep_impact, mesh) == offsetof(abut_impact, mesh) &&
                   offsetof(sweep_impact, element) == offsetof(abut_impact, element) &&
                   offsetof(sweep_impact, weights) == offsetof(abut_impact, weights),
               "layout of impacts");
_Static_assert(sizeof(sweep_hit) == sizeof(motion_hit) &&
                   offsetof(sweep_hit, second) == offsetof(motion_hit, second) &&
                   offsetof(sweep_hit, normal) == offsetof(motion_hit, normal) &&
                   offsetof(sweep_hit, weights) == offsetof(motion_hit, weights),
               "layout of hits");
_Static_assert(sizeof(sweep_hit) == 72 && sizeof(sweep_box) == 32 && sizeof(sweep_scene) == 48,
               "layout on the device");

static const abuti_kernel_source sources[MOTION_KERNELS] = {
    [MOTION_CHECK_POSITIONS] = {"sweep_boxes", "sweep_check_positions", NULL},
    [MOTION_KEYS] = {"sweep_boxes", "sweep_keys", NULL},
    [MOTION_BLOCKS] = {"sweep_boxes", "sweep_blocks", NULL},
    [MOTION_LEVEL] = {"sweep_boxes", "sweep_level", NULL},
    [MOTION_BLOCK_PAIRS] = {"sweep_pairs", "sweep_block_pairs", NULL},
    [MOTION_CANDIDATES] = {"sweep_pairs", "sweep_candidates", NULL},
    [MOTION_FILTER] = {"sweep_filter", "sweep_filter", NULL},
    [MOTION_MARCH] = {"sweep_narrow", "sweep_march_pairs", NULL},
    [MOTION_HIT_KEYS] = {"sweep_hits", "sweep_hit_keys", NULL},
    [MOTION_RANK] = {"sweep_hits", "sweep_rank", NULL},
    [MOTION_PLACE] = {"sweep_hits", "sweep_place", NULL},
    [MOTION_EARLIEST_OF] = {"sweep_hits", "sweep_earliest", NULL},
    [MOTION_IMPACTS] = {"sweep_hits", "sweep_impacts", NULL},
};
static const abuti_kit_table table = {sources, MOTION_KERNELS, MOTION_MEMORIES, NULL};

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* ---- create ---- */

static void compute_layout(sweep_layout *l) {
    uint32_t nodes = 0;
    for (int kind = 0; kind < SWEEP_KINDS; kind++) {
        l->first[kind] = kind ? l->first[kind - 1] + l->count[kind - 1] : 0;
        l->nodes[kind][0] = (l->count[kind] + SWEEP_BLOCK - 1) / SWEEP_BLOCK;
        l->node_first[kind][0] = nodes;
        l->levels[kind] = 1;
        nodes += l->nodes[kind][0];
    }
    for (int kind = SWEEP_EDGES; kind < SWEEP_KINDS; kind++)
        for (uint32_t level = 1; l->nodes[kind][level - 1] > SWEEP_BLOCK; level++) {
            l->nodes[kind][level] = (l->nodes[kind][level - 1] + SWEEP_BLOCK - 1) / SWEEP_BLOCK;
            l->node_first[kind][level] = nodes;
            l->levels[kind] = level + 1;
            nodes += l->nodes[kind][level];
        }
}

static uint32_t count_nodes(const sweep_layout *l) {
    uint32_t count = 0;
    for (int kind = 0; kind < SWEEP_KINDS; kind++)
        for (int level = 0; level < SWEEP_BLOCK_LEVELS; level++)
            count += l->nodes[kind][level];
    return count;
}

/* Uploads the vertices that a face has, and the mesh of each vertex. */
static void upload_vertices(abut_sweep *m, motion_device *d) {
    uint32_t *points = abuti_allocate(m->context, m->vertex_count, sizeof *points);
    uint32_t *words = abuti_allocate_zeroed(m->context, m->vertex_count, sizeof *words);
    uint32_t used = 0;
    if (!points || !words) {
        abuti_kit_fail(&d->kit, ABUT_ERROR_MEMORY);
    } else {
        for (size_t i = 0; i < 3 * (size_t)m->face_count; i++)
            words[m->faces[i]] = 1;
        for (uint32_t i = 0; i < m->vertex_count; i++) {
            points[used] = i;
            used += words[i];
        }
        abuti_kit_upload(&d->kit, MOTION_POINTS, points, used, sizeof *points);
        for (uint32_t k = 0; k < m->mesh_count; k++)
            for (uint32_t i = m->vertex_begin[k]; i < m->vertex_begin[k + 1]; i++)
                words[i] = k;
        /* no kernel reads it if all pairs of meshes are searched */
        abuti_kit_upload(&d->kit, MOTION_MESH_OF, words, d->flags ? m->vertex_count : 1,
                         sizeof *words);
    }
    d->layout.count[SWEEP_VERTICES] = used;
    ABUTI_RELEASE(m->context, points, words);
}

/* Uploads the topology. */
static void upload_meshes(abut_sweep *m, motion_device *d) {
    const uint32_t *begins[] = {m->vertex_begin, m->edge_begin, m->face_begin};
    const size_t begin_count = m->mesh_count + (size_t)1;
    abuti_kit_upload(&d->kit, MOTION_EDGES, m->edges, m->edge_count, 2 * sizeof *m->edges);
    abuti_kit_upload(&d->kit, MOTION_FACES, m->faces, m->face_count, 3 * sizeof *m->faces);
    upload_vertices(m, d);
    abuti_kit_reserve(&d->kit, MOTION_BEGIN, 3 * begin_count, sizeof **begins);
    for (size_t k = 0; k < 3; k++)
        abuti_kit_write(&d->kit, MOTION_BEGIN, k * begin_count, begins[k], begin_count,
                        sizeof **begins);
    d->layout.count[SWEEP_EDGES] = m->edge_count;
    d->layout.count[SWEEP_FACES] = m->face_count;
    compute_layout(&d->layout);
    d->walkers = d->layout.nodes[SWEEP_EDGES][0] + d->layout.nodes[SWEEP_VERTICES][0];
    d->levels = d->layout.levels[SWEEP_EDGES] > d->layout.levels[SWEEP_FACES]
                    ? d->layout.levels[SWEEP_EDGES]
                    : d->layout.levels[SWEEP_FACES];
    abuti_kit_upload(&d->kit, MOTION_LAYOUT, &d->layout, 1, sizeof d->layout);
}

static void allocate_buffers(const abut_sweep *m, motion_device *d) {
    const sweep_layout *l = &d->layout;
    size_t features = (size_t)l->first[SWEEP_FACES] + l->count[SWEEP_FACES];
    size_t blocks = (size_t)l->node_first[SWEEP_FACES][0] + l->nodes[SWEEP_FACES][0];
    const struct {
        motion_memory which;
        size_t count, bytes;
        const void *data;
    } list[] = {
        {MOTION_START, m->vertex_count, sizeof(vec3), NULL},
        {MOTION_END, m->vertex_count, sizeof(vec3), m->end},
        {MOTION_NEXT_START, m->vertex_count, sizeof(vec3), NULL},
        {MOTION_NEXT_END, m->vertex_count, sizeof(vec3), NULL},
        {MOTION_KEY, features, sizeof(uint32_t), NULL},
        {MOTION_ORDER, features, sizeof(uint32_t), NULL},
        {MOTION_BOXES, blocks * SWEEP_BLOCK, sizeof(sweep_box), NULL},
        {MOTION_NODES, count_nodes(l), sizeof(sweep_box), NULL},
        {MOTION_PAIRS_BEGIN, (size_t)d->walkers + 1, sizeof(uint32_t), NULL},
        {MOTION_COUNTS, SWEEP_COUNTS, sizeof(uint32_t), NULL},
        {MOTION_POSITION_CHECKS, 2 * MOTION_CHECK_GROUPS, sizeof(sweep_position_check), NULL},
        {MOTION_SETS, 1, sizeof(uint32_t), NULL}, /* grown by abuti_motion_device_sets() */
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        abuti_kit_upload(&d->kit, list[i].which, list[i].data, list[i].count, list[i].bytes);
}

/* A list that may grow to an eighth of the device memory; 2^16 elements, more than one pair of
 * blocks needs, always fit. */
static abuti_kit_list make_list(const abut_device_info *info, motion_memory buffer, size_t bytes,
                                uint32_t most, const char *what) {
    uint64_t room = info->memory_bytes / 8 / bytes;
    return (abuti_kit_list){.buffer = buffer,
                            .element_bytes = bytes,
                            .limit = room > most      ? most
                                     : room < 1 << 16 ? 1 << 16
                                                      : room,
                            .what = what};
}

static abut_status open_on_device(abut_sweep *motion, vec3 **room) {
    abut_device *device = motion->options.device;
    const abut_device_info *info = &device->info;
    abut_status status = abuti_device_check_bits("abut_sweep_create", device);
    if (status)
        return status;
    if ((uint64_t)motion->vertex_count + motion->edge_count + motion->face_count > ABUTI_TOOLS_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_sweep_create: more than 2^31 vertices, edges and faces on a "
                          "device; leave options->device null to search on the CPU");
    motion_device *d = abuti_allocate_zeroed(motion->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    motion->on_device = d;
    d->flags = (motion->options.skip_self ? SWEEP_NO_SELF : 0u) |
               (motion->options.skip_pairs ? SWEEP_NO_OTHERS : 0u);
    bool on_cpu = info->kind == ABUT_DEVICE_KIND_CPU;
    uint32_t units = info->compute_units < 1024 ? info->compute_units : 1024;
    d->wide_groups = units * (on_cpu ? 4 : 16);
    d->narrow_groups = units * (on_cpu ? 8 : 64);
    /* Most sweeps need two to five steps. The longest of rod-twist need 63: 0.39 ms with this
     * limit, 0.46 ms with 64 in the first round.
     */
    d->round_steps[0] = 16;
    d->round_steps[1] = 1024;
    const size_t two = 2 * sizeof(uint32_t);
    d->pairs = make_list(info, MOTION_PAIRS, two, 1 << 26, "pairs of blocks of 32 features");
    d->tried = make_list(info, MOTION_TRIED, two, 1 << 26, "candidates");
    d->open = make_list(info, MOTION_OPEN, two, 1 << 26, "candidates");
    d->hits = make_list(info, MOTION_HITS, sizeof(sweep_hit), (uint32_t)ABUTI_TOOLS_MAX, "impacts");
    status = abuti_queue_open(device, &d->queue);
    if (!status)
        status =
            abuti_staging_create(&d->queue, motion->vertex_count, 4 * sizeof(vec3), &d->positions);
    status = status ? status : abuti_staging_create(&d->queue, 1, sizeof *d->report, &d->reports);
    d->report = d->reports.at;
    *room = d->positions.at;
    return status;
}

static abut_status create_on_device(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    abut_status status = abuti_tools_create(&d->queue, &d->tools);
    status = status ? status : abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit);
    if (status)
        return status;
    d->memory = d->kit.buffers;
    abuti_kit_build(&d->kit);
    upload_meshes(motion, d);
    allocate_buffers(motion, d);
    return abuti_queue_report(&d->queue);
}

static void destroy_on_device(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    if (!d)
        return;
    abuti_kit_close(&d->kit);
    abuti_tools_destroy(d->tools);
    abuti_staging_destroy(&d->queue, &d->positions);
    abuti_staging_destroy(&d->queue, &d->reports);
    abuti_queue_close(&d->queue);
    abuti_release(motion->context, d);
    motion->on_device = NULL;
}

void abuti_motion_device_time(abut_sweep *motion, double stage_ms[MOTION_STAGES]) {
    motion->on_device->stage_ms = stage_ms;
}

/* ---- sets ---- */

abut_status abuti_motion_device_sets(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    size_t count = (size_t)motion->vertex_count + motion->edge_count + motion->face_count;
    d->sets =
        (sweep_sets){.first = {0, motion->vertex_count, motion->vertex_count + motion->edge_count}};
    abuti_kit_reserve(&d->kit, MOTION_SETS, count, sizeof(uint32_t));
    return abuti_queue_report(&d->queue);
}

void abuti_motion_device_no_sets(abut_sweep *motion) {
    motion->on_device->sets.used = 0;
}

/* ---- find ---- */

static uint32_t count_bits(uint32_t count) {
    uint32_t bits = 1;
    while (bits < 32 && count >> bits)
        bits++;
    return bits;
}

/* Sorts few hits: each counts the hits before it. */
static void rank_hits(motion_device *d, uint32_t count, uint32_t bits) {
    size_t tiles = (count + (size_t)SWEEP_ITEMS - 1) / SWEEP_ITEMS;
    size_t chunks = (count + (size_t)SWEEP_RANK_CHUNK - 1) / SWEEP_RANK_CHUNK;
    abuti_kit_fill(&d->kit, MOTION_HIT_KEY, 0, count * sizeof(uint32_t));
    ABUTI_KIT_GROUPS(&d->kit, MOTION_RANK, tiles * chunks, SWEEP_ITEMS, MEMORY(MOTION_HITS),
                     ABUTI_VALUE(count), ABUTI_VALUE(bits), MEMORY(MOTION_HIT_KEY),
                     ABUTI_LOCAL_MEMORY(2 * sizeof(uint64_t) * SWEEP_ITEMS));
    ABUTI_KIT_RUN(&d->kit, MOTION_PLACE, count, SWEEP_ITEMS, MEMORY(MOTION_HIT_KEY),
                  ABUTI_VALUE(count), MEMORY(MOTION_HIT_ORDER));
}

/* Writes the order of all hits to MOTION_HIT_ORDER. */
static void sort_hits(abut_sweep *m, uint32_t count) {
    motion_device *d = m->on_device;
    uint32_t most = m->edge_count > m->vertex_count ? m->edge_count : m->vertex_count;
    uint32_t bits = count_bits(most > m->face_count ? most : m->face_count);
    abuti_kit_reserve(&d->kit, MOTION_HIT_KEY, count, sizeof(uint64_t));
    abuti_kit_reserve(&d->kit, MOTION_HIT_ORDER, count, sizeof(uint32_t));
    if (count <= RANK_SORT_MAX) {
        rank_hits(d, count, bits);
        return;
    }
    for (uint32_t by_time = 0; by_time < 2; by_time++) {
        ABUTI_KIT_RUN(&d->kit, MOTION_HIT_KEYS, count, SWEEP_ITEMS, MEMORY(MOTION_HITS),
                      ABUTI_VALUE(count), ABUTI_VALUE(by_time), ABUTI_VALUE(bits),
                      MEMORY(MOTION_HIT_KEY), MEMORY(MOTION_HIT_ORDER));
        abuti_tools_sort(d->tools, 64, &d->memory[MOTION_HIT_KEY], &d->memory[MOTION_HIT_ORDER],
                         count, 0, by_time ? 62 : 2 * bits + 1);
    }
}

/* Downloads the sorted hits as impacts. The copy is the last operation, so that a failure leaves
 * the caller's memory unchanged. */
static abut_status download_impacts(abut_sweep *m, uint32_t count, abut_impact *to) {
    motion_device *d = m->on_device;
    abuti_kit_reserve(&d->kit, MOTION_FOUND, count, sizeof *to);
    ABUTI_KIT_RUN(&d->kit, MOTION_IMPACTS, count, SWEEP_ITEMS, MEMORY(MOTION_HITS),
                  MEMORY(MOTION_HIT_ORDER), ABUTI_VALUE(count), MEMORY(MOTION_EDGES),
                  MEMORY(MOTION_FACES), MEMORY(MOTION_START), MEMORY(MOTION_END),
                  MEMORY(MOTION_BEGIN), ABUTI_VALUE(m->mesh_count), MEMORY(MOTION_FOUND));
    return abuti_kit_download(&d->kit, MOTION_FOUND, to, count, sizeof *to);
}

/* ---- exact ---- */

typedef struct exact_task {
    abut_sweep *motion;
    motion_hit *hits;
    bool *touch;
    abut_status *statuses; /* by chunk */
} exact_task;

enum { HITS_PER_TASK = 64 };

static void verify_chunk(void *data, size_t chunk, size_t begin, size_t end) {
    const exact_task *t = data;
    const abut_sweep *m = t->motion;
    t->statuses[chunk] = ABUT_OK;
    for (size_t i = begin; i < end && !t->statuses[chunk]; i++) {
        const motion_hit *hit = &t->hits[i];
        uint32_t corners[4];
        vec3 from[4], to[4];
        abuti_motion_corners(m, hit->kind, hit->first, hit->second, corners);
        for (int k = 0; k < 4; k++) {
            from[k] = m->start[corners[k]];
            to[k] = m->end[corners[k]];
        }
        const int kind = hit->kind == ABUT_IMPACT_EDGE_EDGE ? SWEEP_EDGE_EDGE : SWEEP_VERTEX_FACE;
        t->statuses[chunk] = abuti_sweep_exact(m->context, kind, from, to, &t->touch[i]);
    }
}

/* Keeps the hits that exact arithmetic confirms and returns their number. */
static abut_status remove_false_hits(exact_task *t, uint32_t *count) {
    size_t chunks = abuti_chunk_count(*count, HITS_PER_TASK);
    uint32_t kept = 0;
    t->touch = abuti_allocate(t->motion->context, *count, sizeof *t->touch);
    t->statuses = abuti_allocate(t->motion->context, chunks, sizeof *t->statuses);
    abut_status status = t->touch && t->statuses ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        abuti_parallel_for(t->motion->context, *count, HITS_PER_TASK, verify_chunk, t);
    for (size_t i = 0; i < chunks && !status; i++)
        if (t->statuses[i]) /* the message is on another thread */
            status = abuti_fail(t->statuses[i], "abut_sweep_find: out of memory");
    for (uint32_t i = 0; i < *count && !status; i++) {
        t->hits[kept] = t->hits[i];
        kept += t->touch[i];
    }
    ABUTI_RELEASE(t->motion->context, t->touch, t->statuses);
    *count = kept;
    return status;
}

/* Verifies the hits of the device on the host: hits are few, and exact integer arithmetic does not
 * suit a device. */
static abut_status find_exact_impacts(abut_sweep *m, const motion_search_options *options,
                                      abut_impact_list *impacts, abut_sweep_counts *counts) {
    motion_device *d = m->on_device;
    motion_search_options ours = *options;
    exact_task task = {.motion = m};
    ours.mode = ABUT_SWEEP_ALL;
    uint32_t count = abuti_motion_device_search(m, &ours, counts);
    task.hits = abuti_allocate(m->context, count, sizeof *task.hits);
    if (!task.hits)
        abuti_kit_fail(&d->kit, ABUT_ERROR_MEMORY);
    abut_status status =
        abuti_kit_download(&d->kit, MOTION_HITS, task.hits, count, sizeof *task.hits);
    status = status || !count ? status : abuti_motion_device_download(m);
    status = status ? status : remove_false_hits(&task, &count);
    status = status ? status : abuti_progress(m->context, "sweep", 1);
    if (!status) {
        abuti_sort_items(task.hits, count, sizeof *task.hits, abuti_motion_after);
        bool all = options->mode == ABUT_SWEEP_ALL;
        status = abuti_motion_report(m, task.hits, all ? count : count > 0, impacts);
    }
    abuti_release(m->context, task.hits);
    return status;
}

/* ---- find on the device ---- */

static abut_status find_impacts_on_device(abut_sweep *motion, const motion_search_options *options,
                                          abut_impact_list *impacts, abut_sweep_counts *counts) {
    motion_device *d = motion->on_device;
    uint32_t hits = abuti_motion_device_search(motion, options, counts);
    bool fetched = hits && hits <= impacts->capacity && !abuti_kit_failed(&d->kit);
    abuti_kit_progress(&d->kit, motion->context, "sweep", 1);
    if (fetched && d->stage_ms)
        abuti_queue_clock_start(&d->queue);
    if (fetched && options->mode == ABUT_SWEEP_ALL)
        sort_hits(motion, hits);
    abut_status status =
        fetched ? download_impacts(motion, hits, impacts->list) : abuti_queue_report(&d->queue);
    if (fetched && d->stage_ms) {
        abut_status timed = abuti_queue_clock_stop(&d->queue, &d->stage_ms[MOTION_STAGE_ORDER]);
        status = status ? status : timed;
    }
    return status ? status : abuti_motion_count(hits, impacts);
}

abut_status abuti_motion_device_find(abut_sweep *motion, const motion_search_options *options,
                                     abut_impact_list *impacts, abut_sweep_counts *counts) {
    abut_sweep_counts tried = abut_sweep_counts_default();
    abut_status status = options->exact ? find_exact_impacts(motion, options, impacts, &tried)
                                        : find_impacts_on_device(motion, options, impacts, &tried);
    if (counts && !status)
        *counts = tried;
    return status;
}

const motion_backend abuti_motion_on_device = {.open = open_on_device,
                                               .create = create_on_device,
                                               .destroy = destroy_on_device,
                                               .begin = abuti_motion_device_begin,
                                               .send = abuti_motion_device_send,
                                               .load = abuti_motion_device_load,
                                               .accept = abuti_motion_device_accept,
                                               .undo = abuti_motion_device_undo,
                                               .find = abuti_motion_device_find};
