/* The host's side of bvh_levels.cl, bvh_chunks.cl, bvh_nodes.cl and bvh_fit.cl: what is launched,
 * and over which memory.
 *
 * Depth. The levels of the host are ceil(log2(n / 256)) + 3, at most 25 for 2^30 triangles, and a
 * chunk adds at most 18: 43 binary levels, below BVH_DEPTH.
 */
#include "bvh/device.h"

#include <assert.h>

/* As in the kernels. */
enum {
    GROUP = 256,
    CHUNK = 256,
    BIN_WORDS = 7,
    SEGMENT_BINS = 3 * 32 * BIN_WORDS,
    SEGMENT_BYTES = 96,
    CHOICE_BYTES = 92,
    PLAN_BYTES = 64,
    LEVEL_MOST = 31,
    CHUNK_COUNT = 32,
    NODE_COUNT = 33,
    COUNTERS = 36,
    /* Levels beyond those that halves would need. On all models tried two were enough for every
     * cut to be taken by cost alone. */
    LEVEL_SLACK = 3,
    /* Segments of a level from which on several groups pay. */
    PLAN_WIDE = 4096,
    GRAIN = 16384,
};
#define GROUP_ROOM (GROUP + GROUP / 16)

_Static_assert(25 + 18 <= BVH_DEPTH, "see above");

enum {
    START,
    ROOT,
    CHOOSE,
    MOVE,
    CHUNKS,
    PLAN,
    NODES,
    FIT_LEAVES,
    FIT_PYRAMID,
    FIT_NODES,
    FIT_TRIANGLES,
    ROUND, /* of devices with doubles */
    KERNELS
};

static const struct {
    const char *module, *name;
} kernel_names[KERNELS] = {
    {"bvh_levels", "build_start"}, {"bvh_levels", "build_root"},   {"bvh_levels", "build_choose"},
    {"bvh_levels", "build_move"},  {"bvh_chunks", "build_chunks"}, {"bvh_nodes", "build_plan"},
    {"bvh_nodes", "build_nodes"},  {"bvh_fit", "fit_leaves"},      {"bvh_fit", "fit_pyramid"},
    {"bvh_fit", "fit_nodes"},      {"bvh_fit", "fit_triangles"},   {"bvh_round", "round_positions"},
};

/* Scratch memory. */
enum {
    POSITIONS, /* in doubles */
    VERTICES,  /* six floats each */
    BOXES,     /* of triangles */
    ORDER_0,   /* ping and pong */
    ORDER_1,
    SEGMENT_OF_0, /* of each position */
    SEGMENT_OF_1,
    SEGMENTS, /* of all levels */
    BINS_0,
    BINS_1,
    TILE_COUNTS,
    COUNTER_WORDS,
    CHUNK_LIST,
    RIGHT, /* of the binary tree */
    PARENT,
    RANGES,
    NODE_BOXES,
    PLANS,
    PYRAMID,
    SCRATCHES
};

struct abuti_bvh_builder {
    abut_device *device; /* held */
    abuti_queue *queue;
    abuti_kernel kernels[KERNELS];
    abuti_buffer scratch[SCRATCHES];
    double *phase_ms; /* null = nobody asks */
};

#define SCRATCH(which) ABUTI_BUFFER(&b->scratch[which])

/* ---- life ---- */

abut_status abuti_bvh_builder_create(abuti_queue *queue, abuti_bvh_builder **builder) {
    abut_device *device = queue->device;
    if (device->info.group_items < GROUP)
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "%s: its work-groups have at most %llu items, a build needs %d; use the "
                          "CPU path",
                          device->info.name, (unsigned long long)device->info.group_items, GROUP);
    abuti_bvh_builder *made = abuti_allocate_zeroed(device->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->device = abuti_device_retain(device);
    made->queue = queue;
    abut_status status = ABUT_OK;
    int kernels = device->info.has_doubles ? KERNELS : ROUND;
    for (int i = 0; !status && i < kernels; i++) {
        abuti_program *program;
        status = abuti_program_get(device, kernel_names[i].module, "", &program);
        if (!status)
            status = abuti_kernel_create(program, device, kernel_names[i].name, &made->kernels[i]);
    }
    if (status) {
        abuti_bvh_builder_destroy(made);
        return status;
    }
    *builder = made;
    return ABUT_OK;
}

void abuti_bvh_builder_destroy(abuti_bvh_builder *builder) {
    if (!builder)
        return;
    for (int i = 0; i < KERNELS; i++)
        abuti_kernel_destroy(&builder->kernels[i]);
    for (int i = 0; i < SCRATCHES; i++)
        abuti_buffer_destroy(&builder->scratch[i]);
    abut_device *device = builder->device;
    abuti_release(device->context, builder);
    abut_device_destroy(device);
}

void abuti_bvh_builder_time(abuti_bvh_builder *builder, double phase_ms[ABUTI_BVH_PHASES]) {
    builder->phase_ms = phase_ms;
}

/* ---- the mesh ---- */

typedef struct writing {
    const abut_mesh *mesh;
    double scale;
    float *floats;
} writing;

static void vertices_task(void *data, size_t chunk, size_t begin, size_t end) {
    const writing *w = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        for (int axis = 0; axis < 3; axis++) {
            double x = v3_get(w->mesh->positions[i], axis) * w->scale;
            w->floats[6 * i + (size_t)axis] = bvh_float_below(x);
            w->floats[6 * i + 3 + (size_t)axis] = bvh_float_above(x);
        }
}

/* The host rounds. */
static abut_status round_here(abuti_bvh_builder *b, const abut_mesh *mesh, double scale) {
    writing w = {mesh, scale, NULL};
    size_t count = mesh->vertex_count;
    w.floats = abuti_allocate(mesh->context, count, 6 * sizeof *w.floats);
    if (!w.floats)
        return ABUT_ERROR_MEMORY;
    abuti_parallel_for(mesh->context, count, GRAIN, vertices_task, &w);
    abut_status status = abuti_buffer_upload(b->queue, &b->scratch[VERTICES], 0, w.floats,
                                             count * 6 * sizeof *w.floats);
    abuti_release(mesh->context, w.floats);
    return status;
}

/* The device rounds. */
static abut_status round_there(abuti_bvh_builder *b, const abut_mesh *mesh, double scale) {
    size_t count = mesh->vertex_count, groups = (3 * count + GROUP - 1) / GROUP;
    abut_status status =
        abuti_buffer_reserve(b->device, count, sizeof *mesh->positions, &b->scratch[POSITIONS]);
    if (!status)
        status = abuti_buffer_upload(b->queue, &b->scratch[POSITIONS], 0, mesh->positions,
                                     count * sizeof *mesh->positions);
    if (status)
        return status;
    return ABUTI_LAUNCH(b->queue, &b->kernels[ROUND], groups, GROUP, SCRATCH(POSITIONS),
                        SCRATCH(VERTICES), ABUTI_VALUE(scale), ABUTI_VALUE(mesh->vertex_count));
}

/* Positions in the frame, as floats rounded down and up. */
static abut_status upload_vertices(abuti_bvh_builder *b, const abut_mesh *mesh, double scale) {
    abut_status status = abuti_buffer_reserve(b->device, mesh->vertex_count, 6 * sizeof(float),
                                              &b->scratch[VERTICES]);
    if (status)
        return status;
    return b->kernels[ROUND].device ? round_there(b, mesh, scale) : round_here(b, mesh, scale);
}

/* ---- build ---- */

/* What the host knows of a build before it starts. */
typedef struct layout {
    uint32_t count, leaf_count, node_count; /* triangles, leaves, nodes of the binary tree */
    uint32_t levels, room;                  /* of segments in work, for each level */
    uint32_t tiles, wide_most;
    float lo[4], hi[4], node_cost;
} layout;

static layout plan_layout(const abut_mesh *mesh, double scale) {
    layout l = {.count = mesh->triangle_count};
    l.leaf_count = (l.count + BVH_WIDTH - 1) / BVH_WIDTH;
    l.node_count = 2 * l.leaf_count - 1;
    l.tiles = (l.count + GROUP - 1) / GROUP;
    l.room = l.count / (CHUNK + 1) + 1;
    if (l.count > CHUNK) {
        l.levels = LEVEL_SLACK;
        for (uint64_t size = CHUNK; size < l.count; size *= 2)
            l.levels++;
    }
    assert(l.levels <= 25 && l.levels < LEVEL_MOST);
    l.wide_most = l.leaf_count / 2 + 1;
    vec3 lo = v3_sub(mesh->bounds.lo, mesh->origin), hi = v3_sub(mesh->bounds.hi, mesh->origin);
    float extent[3];
    for (int axis = 0; axis < 3; axis++) {
        l.lo[axis] = bvh_float_below(v3_get(lo, axis) * scale);
        l.hi[axis] = bvh_float_above(v3_get(hi, axis) * scale);
        extent[axis] = l.hi[axis] - l.lo[axis];
    }
    float area = extent[0] * extent[1] + extent[1] * extent[2] + extent[2] * extent[0];
    l.node_cost = area / (8 * (float)l.leaf_count) + 1e-20f;
    return l;
}

static size_t pyramid_entries(uint32_t leaf_count) {
    size_t sum = leaf_count;
    for (uint32_t count = leaf_count; count > 1; sum += count)
        count = (count + 1) / 2;
    return sum;
}

static abut_status reserve_scratch(abuti_bvh_builder *b, const layout *l) {
    size_t levels = l->levels + 1, bins = l->levels ? l->room : 1;
    const struct {
        int which;
        size_t count, bytes;
    } list[] = {
        {BOXES, l->count, 32},
        {ORDER_0, l->count, 4},
        {ORDER_1, l->count, 4},
        {SEGMENT_OF_0, l->count, 4},
        {SEGMENT_OF_1, l->count, 4},
        {SEGMENTS, levels * l->room, SEGMENT_BYTES},
        {BINS_0, bins, SEGMENT_BINS * 4},
        {BINS_1, bins, SEGMENT_BINS * 4},
        {TILE_COUNTS, l->tiles, 32},
        {COUNTER_WORDS, COUNTERS, 4},
        {CHUNK_LIST, l->leaf_count, 16},
        {RIGHT, l->node_count, 4},
        {PARENT, l->node_count, 4},
        {RANGES, l->node_count, 8},
        {NODE_BOXES, l->node_count, 32},
        {PLANS, l->node_count, PLAN_BYTES},
        {PYRAMID, pyramid_entries(l->leaf_count), 32},
    };
    abut_status status = ABUT_OK;
    for (size_t i = 0; !status && i < sizeof list / sizeof *list; i++)
        status = abuti_buffer_reserve(b->device, list[i].count, list[i].bytes,
                                      &b->scratch[list[i].which]);
    return status;
}

static abut_status run_start(abuti_bvh_builder *b, const layout *l, const abut_mesh *mesh,
                             const abuti_bvh_device *to) {
    const abuti_buffer *indices = &to->indices;
    uint32_t whole = l->levels > 0;
    abut_status status = upload_vertices(b, mesh, to->scale);
    if (!status)
        status = ABUTI_LAUNCH(b->queue, &b->kernels[ROOT], 1, GROUP, SCRATCH(SEGMENTS),
                              SCRATCH(BINS_0), SCRATCH(CHUNK_LIST), SCRATCH(COUNTER_WORDS),
                              SCRATCH(PARENT), ABUTI_VALUE(l->count), ABUTI_VALUE(whole),
                              ABUTI_VALUE(l->lo), ABUTI_VALUE(l->hi));
    if (status)
        return status;
    return ABUTI_LAUNCH(b->queue, &b->kernels[START], l->tiles, GROUP, SCRATCH(VERTICES),
                        ABUTI_BUFFER(indices), SCRATCH(BOXES), SCRATCH(ORDER_0),
                        SCRATCH(SEGMENT_OF_0), SCRATCH(SEGMENTS), SCRATCH(BINS_0),
                        ABUTI_VALUE(l->count), ABUTI_VALUE(whole),
                        ABUTI_LOCAL_MEMORY(SEGMENT_BINS * 4));
}

/* Leaves the order in ORDER_0 or ORDER_1, by the number of levels. */
static abut_status run_level(abuti_bvh_builder *b, const layout *l, uint32_t level) {
    uint32_t odd = level % 2, left = l->levels - level - 1;
    uint32_t allowed = left < 24 ? (uint32_t)CHUNK << left : UINT32_MAX;
    uint32_t next = level + 1 < 31 && 2u << level < l->room ? 2u << level : l->room;
    uint32_t old_words = left ? next * SEGMENT_BINS : 0;
    abut_status status =
        ABUTI_LAUNCH(b->queue, &b->kernels[CHOOSE], l->tiles, GROUP, SCRATCH(ORDER_0 + odd),
                     SCRATCH(SEGMENT_OF_0 + odd), SCRATCH(BOXES), SCRATCH(SEGMENTS),
                     SCRATCH(BINS_0 + odd), SCRATCH(BINS_1 - odd), SCRATCH(TILE_COUNTS),
                     SCRATCH(COUNTER_WORDS), SCRATCH(CHUNK_LIST), SCRATCH(RIGHT), SCRATCH(PARENT),
                     SCRATCH(RANGES), ABUTI_VALUE(l->count), ABUTI_VALUE(level),
                     ABUTI_VALUE(l->room), ABUTI_VALUE(allowed), ABUTI_VALUE(old_words),
                     ABUTI_LOCAL_MEMORY(4 * (10 + SEGMENT_BINS) + 2 * CHOICE_BYTES));
    if (status)
        return status;
    return ABUTI_LAUNCH(b->queue, &b->kernels[MOVE], l->tiles, GROUP, SCRATCH(ORDER_0 + odd),
                        SCRATCH(SEGMENT_OF_0 + odd), SCRATCH(ORDER_1 - odd),
                        SCRATCH(SEGMENT_OF_1 - odd), SCRATCH(BOXES), SCRATCH(SEGMENTS),
                        SCRATCH(BINS_1 - odd), SCRATCH(TILE_COUNTS), SCRATCH(COUNTER_WORDS),
                        ABUTI_VALUE(l->count), ABUTI_VALUE(level), ABUTI_VALUE(l->room),
                        ABUTI_LOCAL_MEMORY(16 * GROUP_ROOM),
                        ABUTI_LOCAL_MEMORY(4 * (6 + 4 * SEGMENT_BINS)));
}

static abut_status run_levels(abuti_bvh_builder *b, const layout *l) {
    abut_status status = ABUT_OK;
    for (uint32_t level = 0; !status && level < l->levels; level++)
        status = run_level(b, l, level);
    return status;
}

static abut_status run_chunks(abuti_bvh_builder *b, const layout *l, const abuti_buffer *order) {
    /* About as many as there will be; each group takes the next when it is done. */
    uint32_t groups = l->count / 96 + 1;
    return ABUTI_LAUNCH(b->queue, &b->kernels[CHUNKS], groups, GROUP, SCRATCH(CHUNK_LIST),
                        SCRATCH(COUNTER_WORDS), SCRATCH(BOXES), ABUTI_BUFFER(order),
                        SCRATCH(ORDER_0 + l->levels % 2), SCRATCH(RIGHT), SCRATCH(PARENT),
                        SCRATCH(RANGES), SCRATCH(NODE_BOXES), SCRATCH(PLANS),
                        ABUTI_VALUE(l->node_cost),
                        ABUTI_LOCAL_MEMORY(CHUNK * (16 + 16 + 4 + 4) + 4));
}

static abut_status run_plan(abuti_bvh_builder *b, const layout *l) {
    abut_status status = ABUT_OK;
    for (uint32_t last = l->levels; !status && last > 0;) {
        uint32_t level = last - 1, first = 0;
        uint32_t most = level < 31 && 1u << level < l->room ? 1u << level : l->room, groups = 1;
        if (most > PLAN_WIDE) {
            first = level;
            groups = most / GROUP;
        }
        status = ABUTI_LAUNCH(b->queue, &b->kernels[PLAN], groups, GROUP, SCRATCH(SEGMENTS),
                              SCRATCH(COUNTER_WORDS), SCRATCH(RIGHT), SCRATCH(NODE_BOXES),
                              SCRATCH(PLANS), ABUTI_VALUE(l->room), ABUTI_VALUE(first),
                              ABUTI_VALUE(level), ABUTI_VALUE(l->node_cost));
        last = first;
    }
    return status;
}

static abut_status run_nodes(abuti_bvh_builder *b, const layout *l, const abuti_buffer *nodes,
                             const abuti_buffer *ranges) {
    uint32_t groups = (l->node_count + GROUP - 1) / GROUP;
    return ABUTI_LAUNCH(b->queue, &b->kernels[NODES], groups, GROUP, SCRATCH(RIGHT),
                        SCRATCH(PARENT), SCRATCH(RANGES), SCRATCH(NODE_BOXES), SCRATCH(PLANS),
                        ABUTI_BUFFER(nodes), ABUTI_BUFFER(ranges), SCRATCH(COUNTER_WORDS),
                        ABUTI_VALUE(l->node_count), ABUTI_VALUE(l->wide_most),
                        ABUTI_LOCAL_MEMORY(16));
}

static abut_status fit_leaves(abuti_bvh_builder *b, const abuti_bvh_device *bvh) {
    uint32_t groups = (bvh->leaf_count + GROUP - 1) / GROUP;
    return ABUTI_LAUNCH(b->queue, &b->kernels[FIT_LEAVES], groups, GROUP, SCRATCH(VERTICES),
                        ABUTI_BUFFER(&bvh->indices), ABUTI_BUFFER(&bvh->order), SCRATCH(PYRAMID),
                        ABUTI_BUFFER(&bvh->blocks), ABUTI_VALUE(bvh->triangle_count),
                        ABUTI_VALUE(bvh->leaf_count));
}

/* What stands beside the hierarchy, for the vertices that are on the device. */
static abut_status fit_extras(abuti_bvh_builder *b, const abut_mesh *mesh, abuti_bvh_device *bvh) {
    uint32_t places = bvh->leaf_count * BVH_WIDTH;
    abut_status status = ABUT_OK;
    if (bvh->triangles.device)
        status =
            ABUTI_LAUNCH(b->queue, &b->kernels[FIT_TRIANGLES], (places + GROUP - 1) / GROUP, GROUP,
                         SCRATCH(VERTICES), ABUTI_BUFFER(&bvh->indices), ABUTI_BUFFER(&bvh->order),
                         ABUTI_BUFFER(&bvh->triangles), ABUTI_VALUE(places));
    if (!status && bvh->corners.device)
        status = abuti_bvh_upload_corners(b->queue, mesh, &bvh->corners);
    return status;
}

static void phase_begin(abuti_bvh_builder *b) {
    if (b->phase_ms)
        abuti_queue_clock_start(b->queue);
}

static abut_status phase_end(abuti_bvh_builder *b, abuti_bvh_phase phase, abut_status status) {
    if (!b->phase_ms)
        return status;
    double ms = 0;
    abut_status stopped = abuti_queue_clock_stop(b->queue, &ms);
    b->phase_ms[phase] = ms;
    return status ? status : stopped;
}

static abut_status run_phase(abuti_bvh_builder *b, const layout *l, const abuti_bvh_device *to,
                             abuti_bvh_phase phase) {
    switch (phase) {
    case ABUTI_BVH_START:
        return run_start(b, l, to->mesh, to);
    case ABUTI_BVH_LEVELS:
        return run_levels(b, l);
    case ABUTI_BVH_CHUNKS:
        return run_chunks(b, l, &to->order);
    case ABUTI_BVH_PLAN:
        return run_plan(b, l);
    case ABUTI_BVH_NODES:
        return run_nodes(b, l, &to->nodes, &to->ranges);
    case ABUTI_BVH_FIT:
    case ABUTI_BVH_PHASES:
        break;
    }
    return fit_leaves(b, to);
}

/* Memory for the result. */
static abut_status make_room(abuti_bvh_builder *b, const layout *l, const abut_mesh *mesh,
                             uint32_t extras, abuti_bvh_device *to) {
    abut_status status = abuti_buffer_create(b->device, l->wide_most, sizeof(bvh_node), &to->nodes);
    if (!status)
        status = abuti_buffer_create(b->device, l->leaf_count, sizeof(bvh_block), &to->blocks);
    if (!status)
        status = abuti_buffer_create(b->device, l->leaf_count, BVH_WIDTH * 4, &to->order);
    if (!status)
        status = abuti_buffer_create(b->device, l->wide_most, BVH_WIDTH * 8, &to->ranges);
    if (!status)
        status = abuti_buffer_create(b->device, l->count, 3 * sizeof *mesh->indices, &to->indices);
    if (!status)
        status = abuti_buffer_upload(b->queue, &to->indices, 0, mesh->indices, to->indices.bytes);
    if (!status && extras & ABUTI_BVH_TRIANGLES)
        status = abuti_buffer_create(b->device, l->leaf_count, BVH_WIDTH * 36, &to->triangles);
    if (!status && extras & ABUTI_BVH_CORNERS && b->device->info.has_doubles)
        status = abuti_buffer_create(b->device, l->count, 72, &to->corners);
    return status;
}

static abut_status build(abuti_bvh_builder *b, const abut_mesh *mesh, uint32_t extras,
                         abuti_bvh_device *to) {
    layout l = plan_layout(mesh, to->scale);
    abut_status status = make_room(b, &l, mesh, extras, to);
    if (!status)
        status = reserve_scratch(b, &l);
    for (int phase = 0; !status && phase < ABUTI_BVH_PHASES; phase++) {
        phase_begin(b);
        status = run_phase(b, &l, to, (abuti_bvh_phase)phase);
        status = phase_end(b, (abuti_bvh_phase)phase, status);
    }
    if (!status)
        status = fit_extras(b, mesh, to);
    uint32_t found[2];
    if (!status)
        status = abuti_buffer_download(b->queue, &b->scratch[COUNTER_WORDS], NODE_COUNT * 4, found,
                                       sizeof found);
    if (status)
        return status;
    to->node_count = found[0];
    to->depth = found[1];
    if (to->node_count < 1 || to->node_count > l.wide_most || to->depth > BVH_DEPTH)
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "%s: it built a hierarchy of %u nodes and depth %u over %u triangles, "
                          "which cannot be; use another device or the CPU path",
                          b->device->info.name, to->node_count, to->depth, l.count);
    return ABUT_OK;
}

abut_status abuti_bvh_device_build(abuti_bvh_builder *builder, abut_mesh *mesh, uint32_t extras,
                                   abuti_bvh_device *to) {
    abuti_bvh_device made = {.device = abuti_device_retain(builder->device),
                             .mesh = abut_mesh_retain(mesh),
                             .triangle_count = mesh->triangle_count,
                             .leaf_count = (mesh->triangle_count + BVH_WIDTH - 1) / BVH_WIDTH,
                             .scale = abuti_bvh_scale(mesh)};
    abut_status status = build(builder, mesh, extras, &made);
    if (status) {
        abuti_bvh_device_destroy(&made);
        return status;
    }
    *to = made;
    return ABUT_OK;
}

/* ---- refit ---- */

static abut_status fit_pyramid(abuti_bvh_builder *b, uint32_t leaf_count) {
    abut_status status = ABUT_OK;
    for (uint32_t from = 0, count = leaf_count; !status && count > 1;) {
        uint32_t groups = (count + 2 * GROUP - 1) / (2 * GROUP);
        status =
            ABUTI_LAUNCH(b->queue, &b->kernels[FIT_PYRAMID], groups, GROUP, SCRATCH(PYRAMID),
                         ABUTI_VALUE(from), ABUTI_VALUE(count), ABUTI_LOCAL_MEMORY(2 * 16 * GROUP));
        for (int level = 0; level < 9 && count > 1; level++) {
            from += count;
            count = (count + 1) / 2;
        }
    }
    return status;
}

abut_status abuti_bvh_device_refit(abuti_bvh_builder *b, abuti_bvh_device *bvh, abut_mesh *mesh) {
    double scale = abuti_bvh_scale(mesh);
    uint32_t slots = bvh->node_count * BVH_WIDTH;
    abut_status status = upload_vertices(b, mesh, scale);
    if (!status)
        status = abuti_buffer_reserve(b->device, pyramid_entries(bvh->leaf_count), 32,
                                      &b->scratch[PYRAMID]);
    if (!status)
        status = fit_leaves(b, bvh);
    if (!status)
        status = fit_pyramid(b, bvh->leaf_count);
    if (!status)
        status =
            ABUTI_LAUNCH(b->queue, &b->kernels[FIT_NODES], (slots + GROUP - 1) / GROUP, GROUP,
                         SCRATCH(PYRAMID), ABUTI_BUFFER(&bvh->ranges), ABUTI_BUFFER(&bvh->nodes),
                         ABUTI_VALUE(bvh->leaf_count), ABUTI_VALUE(slots));
    if (!status)
        status = fit_extras(b, mesh, bvh);
    if (status)
        return status;
    abut_mesh_retain(mesh);
    abut_mesh_destroy(bvh->mesh);
    bvh->mesh = mesh;
    bvh->scale = scale;
    return ABUT_OK;
}
