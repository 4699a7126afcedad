/* Motions on a device: uploads, and download of impacts.
 *
 * Topology is uploaded once, positions with each step. A search runs on the device alone; see
 * device_search.c. The host sorts the hits.
 */
#include "sweep/device.h"

#include "geom/sweep.h"

_Static_assert(sizeof(sweep_hit) == sizeof(motion_hit) &&
                   offsetof(sweep_hit, second) == offsetof(motion_hit, second) &&
                   offsetof(sweep_hit, point) == offsetof(motion_hit, point) &&
                   offsetof(sweep_hit, weights) == offsetof(motion_hit, weights),
               "layout of hits");
_Static_assert(sizeof(sweep_hit) == 96 && sizeof(sweep_box) == 32 && sizeof(sweep_scene) == 48,
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

/* Sort keys begin with the owner, so that most blocks have one. Owners beyond 12 bits share the
 * last value. */
static uint32_t count_owner_bits(const abut_sweep *m) {
    uint32_t most = 0, bits = 0;
    for (uint32_t k = 0; k < m->mesh_count; k++)
        most = m->owners[k] > most ? m->owners[k] : most;
    while (bits < 12 && most >> bits)
        bits++;
    return m->by_owner ? bits : 0;
}

/* Uploads the vertices that a face has, and the owner of each vertex. */
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
                words[i] = m->owners[k];
        /* no kernel reads it if all pairs of meshes are searched */
        abuti_kit_upload(&d->kit, MOTION_OWNERS, words, d->flags ? m->vertex_count : 1,
                         sizeof *words);
    }
    d->layout.count[SWEEP_VERTICES] = used;
    d->owner_bits = count_owner_bits(m);
    ABUTI_RELEASE(m->context, points, words);
}

/* Uploads the topology. */
static void upload_meshes(abut_sweep *m, motion_device *d) {
    abuti_kit_upload(&d->kit, MOTION_EDGES, m->edges, m->edge_count, 2 * sizeof *m->edges);
    abuti_kit_upload(&d->kit, MOTION_FACES, m->faces, m->face_count, 3 * sizeof *m->faces);
    upload_vertices(m, d);
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
        {MOTION_SETS, 1, 1, NULL}, /* grown by set_sets_on_device() */
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
    if (!status)
        status = abuti_staging_create(&d->queue, 1, sizeof *d->report, &d->reports);
    d->report = d->reports.at;
    *room = d->positions.at;
    return status;
}

static abut_status create_on_device(abut_sweep *motion) {
    motion_device *d = motion->on_device;
    abut_status status = abuti_tools_create(&d->queue, &d->tools);
    if (status || (status = abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit)))
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

/* ---- sets ---- */

static abut_status set_sets_on_device(abut_sweep *motion, const unsigned char *sets) {
    motion_device *d = motion->on_device;
    const uint32_t edges = motion->vertex_count, faces = edges + motion->edge_count;
    d->sets = (sweep_sets){.first = {0, edges, faces}, .used = sets != NULL};
    if (sets)
        abuti_kit_upload(&d->kit, MOTION_SETS, sets, (size_t)faces + motion->face_count, 1);
    return abuti_queue_report(&d->queue);
}

/* ---- find ---- */

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

/* Downloads the hits and sorts them. With `exact` the host verifies them first: hits are few, and
 * exact integer arithmetic does not suit a device. */
static abut_status find_on_device(abut_sweep *m, const motion_search_options *options,
                                  abut_impact_list *impacts, abut_sweep_counts *counts) {
    motion_device *d = m->on_device;
    abut_sweep_counts tried = abut_sweep_counts_default();
    motion_search_options ours = *options;
    exact_task task = {.motion = m};
    ours.mode = options->exact ? ABUT_SWEEP_ALL : options->mode;
    uint32_t count = abuti_motion_device_search(m, &ours, &tried);
    const bool fetches = options->exact || count <= impacts->capacity;
    task.hits = abuti_allocate(m->context, fetches ? count : 0, sizeof *task.hits);
    if (!task.hits)
        abuti_kit_fail(&d->kit, ABUT_ERROR_MEMORY);
    abut_status status =
        fetches ? abuti_kit_download(&d->kit, MOTION_HITS, task.hits, count, sizeof *task.hits)
                : abuti_queue_report(&d->queue);
    if (!status && options->exact && count)
        status = abuti_motion_download(m);
    if (!status && options->exact)
        status = remove_false_hits(&task, &count);
    if (!status)
        status = abuti_progress(m->context, "sweep", 1);
    if (!status && fetches)
        status = abuti_motion_sort(m->context, task.hits, count);
    if (!status) {
        const bool all = options->mode == ABUT_SWEEP_ALL;
        status = abuti_motion_report(m, task.hits, all ? count : count > 0, impacts);
    }
    if (counts && !status)
        *counts = tried;
    abuti_release(m->context, task.hits);
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
                                               .set_sets = set_sets_on_device,
                                               .find = find_on_device};
