/* Motions on a device: what is uploaded once and what each step, and how hits come back.
 *
 * Positions go there with the step. A search then works there alone; see device_search.c. Hits are
 * put in order there too, by radix sorts: first by kind and elements, then by time, since a sort
 * keeps the order of equal ones. Where they are few, each counts those before it instead.
 */
#include "sweep/device.h"

#include "base/sort.h"
#include "geom/sweep.h"

enum { GROUP = 256, RANK_CHUNK = 512, RANK_MOST = 1 << 15 };

_Static_assert(sizeof(sweep_impact) == sizeof(abut_impact) &&
                   offsetof(sweep_impact, kind) == offsetof(abut_impact, kind) &&
                   offsetof(sweep_impact, mesh) == offsetof(abut_impact, mesh) &&
                   offsetof(sweep_impact, element) == offsetof(abut_impact, element) &&
                   offsetof(sweep_impact, weights) == offsetof(abut_impact, weights),
               "impacts are copied as they are");
_Static_assert(sizeof(sweep_hit) == sizeof(motion_hit) &&
                   offsetof(sweep_hit, second) == offsetof(motion_hit, second) &&
                   offsetof(sweep_hit, normal) == offsetof(motion_hit, normal) &&
                   offsetof(sweep_hit, weights) == offsetof(motion_hit, weights),
               "hits too");
_Static_assert(sizeof(sweep_hit) == 72 && sizeof(sweep_box) == 32 && sizeof(sweep_scene) == 48,
               "as on the device");

static const struct {
    const char *module, *name;
} kernel_names[MOTION_KERNELS] = {
    {"sweep_boxes", "sweep_take"},    {"sweep_boxes", "sweep_keys"},
    {"sweep_boxes", "sweep_blocks"},  {"sweep_boxes", "sweep_level"},
    {"sweep_pairs", "sweep_walk"},    {"sweep_pairs", "sweep_candidates"},
    {"sweep_filter", "sweep_filter"}, {"sweep_narrow", "sweep_settle"},
    {"sweep_hits", "sweep_hit_keys"}, {"sweep_hits", "sweep_rank"},
    {"sweep_hits", "sweep_place"},    {"sweep_hits", "sweep_earliest"},
    {"sweep_hits", "sweep_impacts"},
};

/* ---- create ---- */

static void lay_out(sweep_layout *l) {
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

static uint32_t node_count(const sweep_layout *l) {
    uint32_t count = 0;
    for (int kind = 0; kind < SWEEP_KINDS; kind++)
        for (int level = 0; level < SWEEP_BLOCK_LEVELS; level++)
            count += l->nodes[kind][level];
    return count;
}

static abut_status put(motion_device *d, motion_memory which, const void *data, size_t count,
                       size_t bytes) {
    abut_status status = abuti_buffer_reserve(d->queue.device, count, bytes, &d->memory[which]);
    return status || !count
               ? status
               : abuti_buffer_upload(&d->queue, &d->memory[which], 0, data, count * bytes);
}

/* The vertices that a face has, and the mesh of each. */
static abut_status put_vertices(abut_sweep *m, motion_device *d) {
    uint32_t *points = abuti_allocate(m->context, m->vertex_count, sizeof *points);
    uint32_t *words = abuti_allocate_zeroed(m->context, m->vertex_count, sizeof *words);
    abut_status status = points && words ? ABUT_OK : ABUT_ERROR_MEMORY;
    uint32_t used = 0;
    for (size_t i = 0; !status && i < 3 * (size_t)m->face_count; i++)
        words[m->faces[i]] = 1;
    for (uint32_t i = 0; !status && i < m->vertex_count; i++) {
        points[used] = i;
        used += words[i];
    }
    d->layout.count[SWEEP_VERTICES] = used;
    status = status ? status : put(d, MOTION_POINTS, points, used, sizeof *points);
    for (uint32_t k = 0; !status && k < m->mesh_count; k++)
        for (uint32_t i = m->vertex_begin[k]; i < m->vertex_begin[k + 1]; i++)
            words[i] = k;
    if (!status && d->flags)
        status = put(d, MOTION_MESH_OF, words, m->vertex_count, sizeof *words);
    if (!status && !d->flags)
        status = put(d, MOTION_MESH_OF, words, 1, sizeof *words); /* no one looks */
    abuti_release(m->context, points);
    abuti_release(m->context, words);
    return status;
}

static abut_status put_begins(abut_sweep *m, motion_device *d) {
    const uint32_t *from[] = {m->vertex_begin, m->edge_begin, m->face_begin};
    size_t bytes = (m->mesh_count + (size_t)1) * sizeof(uint32_t);
    abuti_buffer *to = &d->memory[MOTION_BEGIN];
    abut_status status = abuti_buffer_reserve(d->queue.device, 3, bytes, to);
    for (size_t k = 0; k < 3 && !status; k++)
        status = abuti_buffer_upload(&d->queue, to, k * bytes, from[k], bytes);
    return status;
}

/* All that stays the same. */
static abut_status put_meshes(abut_sweep *m, motion_device *d) {
    abut_status status = put(d, MOTION_EDGES, m->edges, m->edge_count, 2 * sizeof *m->edges);
    status = status ? status : put(d, MOTION_FACES, m->faces, m->face_count, 3 * sizeof *m->faces);
    status = status ? status : put_vertices(m, d);
    status = status ? status : put_begins(m, d);
    d->layout.count[SWEEP_EDGES] = m->edge_count;
    d->layout.count[SWEEP_FACES] = m->face_count;
    lay_out(&d->layout);
    d->walkers = d->layout.nodes[SWEEP_EDGES][0] + d->layout.nodes[SWEEP_VERTICES][0];
    d->levels = d->layout.levels[SWEEP_EDGES] > d->layout.levels[SWEEP_FACES]
                    ? d->layout.levels[SWEEP_EDGES]
                    : d->layout.levels[SWEEP_FACES];
    return status ? status : put(d, MOTION_LAYOUT, &d->layout, 1, sizeof d->layout);
}

static abut_status make_memory(const abut_sweep *m, motion_device *d) {
    const sweep_layout *l = &d->layout;
    size_t features = (size_t)l->first[SWEEP_FACES] + l->count[SWEEP_FACES];
    size_t blocks = (size_t)l->node_first[SWEEP_FACES][0] + l->nodes[SWEEP_FACES][0];
    const struct {
        motion_memory which;
        size_t count, bytes;
    } list[] = {
        {MOTION_START, m->vertex_count, sizeof(vec3)},
        {MOTION_END, m->vertex_count, sizeof(vec3)},
        {MOTION_NEXT_START, m->vertex_count, sizeof(vec3)},
        {MOTION_NEXT_END, m->vertex_count, sizeof(vec3)},
        {MOTION_KEY, features, sizeof(uint32_t)},
        {MOTION_ORDER, features, sizeof(uint32_t)},
        {MOTION_BOXES, blocks * SWEEP_BLOCK, sizeof(sweep_box)},
        {MOTION_NODES, node_count(l), sizeof(sweep_box)},
        {MOTION_PAIRS_BEGIN, (size_t)d->walkers + 1, sizeof(uint32_t)},
        {MOTION_COUNTS, SWEEP_COUNTS, sizeof(uint32_t)},
        {MOTION_TAKEN, 2 * MOTION_TAKERS, sizeof(sweep_taken)},
        {MOTION_SETS, 1, sizeof(uint32_t)}, /* until someone asks */
    };
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && !status; i++)
        status = abuti_buffer_create(d->queue.device, list[i].count, list[i].bytes,
                                     &d->memory[list[i].which]);
    return status ? status : put(d, MOTION_END, m->end, m->vertex_count, sizeof *m->end);
}

static abut_status make_kernels(motion_device *d) {
    abut_status status = ABUT_OK;
    for (int i = 0; i < MOTION_KERNELS && !status; i++) {
        abuti_program *program;
        status = abuti_program_get(d->queue.device, kernel_names[i].module, "-DABUTI_REAL_BITS=64",
                                   &program);
        if (!status)
            status =
                abuti_kernel_create(program, d->queue.device, kernel_names[i].name, &d->kernels[i]);
    }
    return status;
}

/* How many elements an eighth of the memory has room for; a pair of blocks always fits. */
static uint32_t most_of(const abut_device_info *info, size_t bytes, uint32_t most) {
    uint64_t room = info->memory_bytes / 8 / bytes;
    return room > most ? most : room < 1 << 16 ? 1 << 16 : (uint32_t)room;
}

abut_status abuti_motion_device_open(abut_sweep *motion, abut_device *device, vec3 **room) {
    const abut_device_info *info = &device->info;
    abut_status status = abuti_device_check_bits("abut_sweep_create", device);
    if (status)
        return status;
    if ((uint64_t)motion->vertex_count + motion->edge_count + motion->face_count > ABUTI_TOOLS_MOST)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_sweep_create: more than 2^31 vertices, edges and faces on a "
                          "device; leave options->device null to search on the CPU");
    motion_device *d = abuti_allocate_zeroed(motion->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    motion->on_device = d;
    d->flags = (motion->options.no_self ? SWEEP_NO_SELF : 0u) |
               (motion->options.no_others ? SWEEP_NO_OTHERS : 0u);
    bool on_cpu = info->kind == ABUT_DEVICE_KIND_CPU;
    uint32_t units = info->compute_units < 1024 ? info->compute_units : 1024;
    d->wide_groups = units * (on_cpu ? 4 : 16);
    d->narrow_groups = units * (on_cpu ? 8 : 64);
    /* Most need two to five; the longest of rod-twist take 63, 0.39 ms so, 0.46 with 64 at first.
     */
    d->round_steps[0] = 16;
    d->round_steps[1] = 1024;
    d->pairs_most = most_of(info, 2 * sizeof(uint32_t), 1 << 26);
    d->tried_most = most_of(info, 2 * sizeof(uint32_t), 1 << 26);
    d->hits_most = most_of(info, sizeof(sweep_hit), (uint32_t)ABUTI_TOOLS_MOST);
    status = abuti_queue_open(device, &d->queue);
    if (!status)
        status =
            abuti_staging_create(&d->queue, motion->vertex_count, 4 * sizeof(vec3), &d->positions);
    if (!status)
        status = abuti_staging_create(&d->queue, 1, sizeof *d->report, &d->reports);
    d->report = d->reports.at;
    *room = d->positions.at;
    return status;
}

abut_status abuti_motion_device_create(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    abut_status status = abuti_tools_create(&d->queue, &d->tools);
    status = status ? status : make_kernels(d);
    status = status ? status : put_meshes(motion, d);
    return status ? status : make_memory(motion, d);
}

void abuti_motion_device_destroy(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    if (!d)
        return;
    for (int i = 0; i < MOTION_KERNELS; i++)
        abuti_kernel_destroy(&d->kernels[i]);
    for (int i = 0; i < MOTION_MEMORIES; i++)
        abuti_buffer_destroy(&d->memory[i]);
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
    abut_status status =
        abuti_buffer_reserve(d->queue.device, count, sizeof(uint32_t), &d->memory[MOTION_SETS]);
    return status;
}

void abuti_motion_device_no_sets(abut_sweep *motion) {
    motion->on_device->sets.used = 0;
}

/* ---- find ---- */

static uint32_t bits_of(uint32_t count) {
    uint32_t bits = 1;
    while (bits < 32 && count >> bits)
        bits++;
    return bits;
}

#define MEMORY(which) ABUTI_BUFFER(&d->memory[which])

/* For few hits. */
static abut_status rank_hits(motion_device *d, uint32_t count, uint32_t bits) {
    size_t tiles = (count + (size_t)GROUP - 1) / GROUP;
    size_t chunks = (count + (size_t)RANK_CHUNK - 1) / RANK_CHUNK;
    abut_status status =
        abuti_buffer_fill(&d->queue, &d->memory[MOTION_HIT_KEY], 0, count * sizeof(uint32_t));
    if (!status)
        status = ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_RANK], tiles * chunks, GROUP,
                              MEMORY(MOTION_HITS), ABUTI_VALUE(count), ABUTI_VALUE(bits),
                              MEMORY(MOTION_HIT_KEY), ABUTI_LOCAL_MEMORY(16 * GROUP));
    return status
               ? status
               : ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_PLACE], tiles, GROUP,
                              MEMORY(MOTION_HIT_KEY), ABUTI_VALUE(count), MEMORY(MOTION_HIT_ORDER));
}

/* Writes the order of all hits to MOTION_HIT_ORDER. */
static abut_status sort_hits(abut_sweep *m, uint32_t count) {
    motion_device *d = m->on_device;
    const abuti_kernel *keys = &d->kernels[MOTION_HIT_KEYS];
    uint32_t most = m->edge_count > m->vertex_count ? m->edge_count : m->vertex_count;
    uint32_t bits = bits_of(most > m->face_count ? most : m->face_count);
    size_t groups = (count + (size_t)GROUP - 1) / GROUP;
    abut_status status =
        abuti_buffer_reserve(d->queue.device, count, sizeof(uint64_t), &d->memory[MOTION_HIT_KEY]);
    if (!status)
        status = abuti_buffer_reserve(d->queue.device, count, sizeof(uint32_t),
                                      &d->memory[MOTION_HIT_ORDER]);
    if (!status && count <= RANK_MOST)
        return rank_hits(d, count, bits);
    for (uint32_t by_time = 0; by_time < 2 && !status; by_time++) {
        status = ABUTI_LAUNCH(&d->queue, keys, groups, GROUP, MEMORY(MOTION_HITS),
                              ABUTI_VALUE(count), ABUTI_VALUE(by_time), ABUTI_VALUE(bits),
                              MEMORY(MOTION_HIT_KEY), MEMORY(MOTION_HIT_ORDER));
        if (!status)
            status = abuti_tools_sort(d->tools, 64, &d->memory[MOTION_HIT_KEY],
                                      &d->memory[MOTION_HIT_ORDER], count, 0,
                                      by_time ? 62 : 2 * bits + 1);
    }
    return status;
}

/* The first `count` hits in order, as impacts. Nothing comes after the copy, so that a failure
 * leaves the caller's memory as it was. */
static abut_status fetch(abut_sweep *m, uint32_t count, abut_impact *to) {
    motion_device *d = m->on_device;
    abuti_buffer *found = &d->memory[MOTION_FOUND];
    abut_status status = abuti_buffer_reserve(d->queue.device, count, sizeof *to, found);
    if (!status)
        status =
            ABUTI_LAUNCH(&d->queue, &d->kernels[MOTION_IMPACTS],
                         (count + (size_t)GROUP - 1) / GROUP, GROUP, MEMORY(MOTION_HITS),
                         MEMORY(MOTION_HIT_ORDER), ABUTI_VALUE(count), MEMORY(MOTION_EDGES),
                         MEMORY(MOTION_FACES), MEMORY(MOTION_START), MEMORY(MOTION_END),
                         MEMORY(MOTION_BEGIN), ABUTI_VALUE(m->mesh_count), MEMORY(MOTION_FOUND));
    return status ? status : abuti_buffer_download(&d->queue, found, 0, to, count * sizeof *to);
}

/* ---- exact ---- */

typedef struct exact_task {
    abut_sweep *motion;
    motion_hit *hits;
    bool *touch;
    abut_status *statuses; /* of chunks */
} exact_task;

enum { HITS_A_TASK = 64 };

static void decide(void *data, size_t chunk, size_t begin, size_t end) {
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

/* Keeps the true ones; gives how many. */
static abut_status decide_all(exact_task *t, uint32_t *count) {
    size_t chunks = abuti_chunk_count(*count, HITS_A_TASK);
    uint32_t kept = 0;
    t->touch = abuti_allocate(t->motion->context, *count, sizeof *t->touch);
    t->statuses = abuti_allocate(t->motion->context, chunks, sizeof *t->statuses);
    abut_status status = t->touch && t->statuses ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        abuti_parallel_for(t->motion->context, *count, HITS_A_TASK, decide, t);
    for (size_t i = 0; i < chunks && !status; i++)
        if (t->statuses[i]) /* said on another thread */
            status = abuti_fail(t->statuses[i], "abut_sweep_find: out of memory");
    for (uint32_t i = 0; i < *count && !status; i++) {
        t->hits[kept] = t->hits[i];
        kept += t->touch[i];
    }
    abuti_release(t->motion->context, t->touch);
    abuti_release(t->motion->context, t->statuses);
    *count = kept;
    return status;
}

/* What the device finds is decided here: hits are few, and whole numbers no work for a device. */
static abut_status find_exactly(abut_sweep *m, const motion_search_options *options,
                                abut_impacts *impacts, abut_sweep_counts *counts) {
    motion_device *d = m->on_device;
    motion_search_options ours = *options;
    exact_task task = {.motion = m};
    uint32_t count = 0;
    ours.mode = ABUT_SWEEP_ALL;
    abut_status status = abuti_motion_device_search(m, &ours, &count, counts);
    if (status)
        return status;
    task.hits = abuti_allocate(m->context, count, sizeof *task.hits);
    if (!task.hits)
        return ABUT_ERROR_MEMORY;
    if (count)
        status = abuti_buffer_download(&d->queue, &d->memory[MOTION_HITS], 0, task.hits,
                                       count * sizeof *task.hits);
    status = status || !count ? status : abuti_motion_device_fetch(m);
    status = status ? status : decide_all(&task, &count);
    status = status ? status : abuti_progress(m->context, "sweep", 1);
    if (!status) {
        abuti_sort_items(task.hits, count, sizeof *task.hits, abuti_motion_after);
        bool all = options->mode == ABUT_SWEEP_ALL;
        status = abuti_motion_report(m, task.hits, all ? count : count > 0, impacts);
    }
    abuti_release(m->context, task.hits);
    return status;
}

/* ---- all ---- */

static abut_status find_there(abut_sweep *motion, const motion_search_options *options,
                              abut_impacts *impacts, abut_sweep_counts *counts) {
    motion_device *d = motion->on_device;
    uint32_t hits = 0;
    abut_status status = abuti_motion_device_search(motion, options, &hits, counts);
    size_t count = hits;
    size_t given = count < impacts->capacity ? count : impacts->capacity;
    status = status ? status : abuti_progress(motion->context, "sweep", 1);
    if (!status && given && d->stage_ms)
        abuti_queue_clock_start(&d->queue);
    if (!status && given && options->mode == ABUT_SWEEP_ALL)
        status = sort_hits(motion, hits);
    if (!status && given)
        status = fetch(motion, (uint32_t)given, impacts->impacts);
    if (!status && given && d->stage_ms)
        status = abuti_queue_clock_stop(&d->queue, &d->stage_ms[MOTION_STAGE_ORDER]);
    if (status)
        return status;
    impacts->count = count;
    if (count == given)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_BUFFER, "abut_sweep_find: there are %zu impacts, and room for %zu",
                      count, impacts->capacity);
}

abut_status abuti_motion_device_find(abut_sweep *motion, const motion_search_options *options,
                                     abut_impacts *impacts, abut_sweep_counts *counts) {
    abut_sweep_counts tried = {0, 0};
    abut_status status = options->exact ? find_exactly(motion, options, impacts, &tried)
                                        : find_there(motion, options, impacts, &tried);
    if (counts && (!status || status == ABUT_ERROR_BUFFER))
        *counts = tried;
    return status;
}
