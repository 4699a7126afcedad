/* The host side of bvh_levels.cl, bvh_chunks.cl, bvh_nodes.cl and bvh_fit.cl: the launches and
 * their memory. */
#include "bvh/build_shared.h"
#include "bvh/device.h"
#include "device/kit.h"

#include <assert.h>

enum {
    /* Segments of a level from which several work-groups pay off. */
    PLAN_GROUPS_MIN = 4096,
    VERTICES_PER_TASK = 16384,
};

_Static_assert(LEVEL_MAX + CHUNK_LEVELS <= BVH_DEPTH && LEVEL_MAX < CHUNK_COUNT,
               "see build_shared.h");

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
    ROUND, /* this and the next: of devices with doubles */
    CORNERS,
    KERNELS
};

static const abuti_kernel_source sources[KERNELS] = {
    [START] = {"bvh_levels", "build_start", NULL},
    [ROOT] = {"bvh_levels", "build_root", NULL},
    [CHOOSE] = {"bvh_levels", "build_choose", NULL},
    [MOVE] = {"bvh_levels", "build_move", NULL},
    [CHUNKS] = {"bvh_chunks", "build_chunks", NULL},
    [PLAN] = {"bvh_nodes", "build_plan", NULL},
    [NODES] = {"bvh_nodes", "build_nodes", NULL},
    [FIT_LEAVES] = {"bvh_fit", "fit_leaves", NULL},
    [FIT_PYRAMID] = {"bvh_fit", "fit_pyramid", NULL},
    [FIT_NODES] = {"bvh_fit", "fit_nodes", NULL},
    [FIT_TRIANGLES] = {"bvh_fit", "fit_triangles", NULL},
    [ROUND] = {"bvh_fit", "round_positions", NULL},
    [CORNERS] = {"bvh_fit", "round_corners", NULL},
};

/* Scratch memory. */
enum {
    POSITIONS, /* in doubles */
    VERTICES,  /* six floats each */
    BOXES,     /* of triangles */
    ORDER_0,   /* alternating */
    ORDER_1,
    SEGMENT_OF_0, /* segment of each position */
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

static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = KERNELS,
                                      .buffer_count = SCRATCHES};

struct abuti_bvh_builder {
    abuti_kit kit;
};

#define SCRATCH(which) KIT_BUFFER(&b->kit, which)

/* ---- lifetime ---- */

void abuti_bvh_builder_plans(abuti_kit_plan plans[BVH_BUILDER_PLANS]) {
    const uint32_t kernels[BVH_BUILDER_PLANS] = {START, CHUNKS, PLAN, FIT_LEAVES};
    for (int i = 0; i < BVH_BUILDER_PLANS; i++)
        plans[i] = (abuti_kit_plan){&table, "", kernels[i]};
}

abut_status abuti_bvh_builder_create(abuti_queue *queue, abuti_bvh_builder **builder) {
    abut_device *device = queue->device;
    abuti_kit_plan plans[BVH_BUILDER_PLANS];
    if (device->info.group_items < GROUP)
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "%s: its work-groups have at most %llu work-items, but a build needs %d; "
                          "create the BVH without a device",
                          device->info.name, (unsigned long long)device->info.group_items, GROUP);
    abuti_bvh_builder *made = abuti_allocate_zeroed(device->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    abuti_bvh_builder_plans(plans);
    abuti_kit_prepare(device, plans, BVH_BUILDER_PLANS);
    abut_status status = abuti_kit_open(queue, &table, "", &made->kit);
    if (status)
        abuti_release(device->context, made);
    else
        *builder = made;
    return status;
}

void abuti_bvh_builder_destroy(abuti_bvh_builder *builder) {
    if (!builder)
        return;
    abut_context *context = builder->kit.queue->device->context;
    abuti_kit_close(&builder->kit);
    abuti_release(context, builder);
}

/* ---- the mesh ---- */

typedef struct vertex_writer {
    const abut_mesh *mesh;
    double scale;
    float *floats;
} vertex_writer;

static void vertices_task(void *data, size_t chunk, size_t begin, size_t end) {
    const vertex_writer *w = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        for (int axis = 0; axis < 3; axis++) {
            double x = v3_get(w->mesh->positions[i], axis) * w->scale;
            w->floats[6 * i + (size_t)axis] = bvh_float_below(x);
            w->floats[6 * i + 3 + (size_t)axis] = bvh_float_above(x);
        }
}

/* Uploads positions in the frame, as floats rounded down and up; without doubles the host rounds.
 */
static void upload_vertices(abuti_bvh_builder *b, const abut_mesh *mesh, double scale) {
    size_t count = mesh->vertex_count;
    abuti_kit_reserve(&b->kit, VERTICES, count, 6 * sizeof(float));
    if (b->kit.queue->device->info.has_doubles) {
        abuti_kit_upload(&b->kit, POSITIONS, mesh->positions, count, sizeof *mesh->positions);
        ABUTI_KIT_RUN(&b->kit, ROUND, 3 * count, GROUP, SCRATCH(POSITIONS), SCRATCH(VERTICES),
                      ABUTI_VALUE(scale), ABUTI_VALUE(mesh->vertex_count));
        return;
    }
    vertex_writer w = {mesh, scale, abuti_allocate(mesh->context, count, 6 * sizeof *w.floats)};
    if (!w.floats) {
        abuti_kit_fail(&b->kit, ABUT_ERROR_MEMORY);
        return;
    }
    abuti_parallel_for(mesh->context, count, VERTICES_PER_TASK, vertices_task, &w);
    abuti_kit_write(&b->kit, VERTICES, 0, w.floats, count, 6 * sizeof *w.floats);
    abuti_release(mesh->context, w.floats);
}

/* ---- build ---- */

/* Sizes of a build that the host knows in advance. */
typedef struct build_layout {
    uint32_t count, leaf_count, node_count; /* triangles, leaves, nodes of the binary tree */
    uint32_t levels, segment_capacity;      /* capacity for active segments of each level */
    uint32_t tiles, node_max;
    float lo[4], hi[4], node_cost;
} build_layout;

static build_layout plan_build(const abut_mesh *mesh, double scale) {
    build_layout l = {.count = mesh->triangle_count};
    l.leaf_count = (l.count + BVH_WIDTH - 1) / BVH_WIDTH;
    l.node_count = 2 * l.leaf_count - 1;
    l.tiles = (l.count + GROUP - 1) / GROUP;
    l.segment_capacity = l.count / (CHUNK + 1) + 1;
    if (l.count > CHUNK) {
        l.levels = EXTRA_LEVELS;
        for (uint64_t size = CHUNK; size < l.count; size *= 2)
            l.levels++;
    }
    assert(l.levels <= LEVEL_MAX);
    l.node_max = l.leaf_count / 2 + 1;
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

static void reserve_scratch(abuti_bvh_builder *b, const build_layout *l) {
    size_t levels = l->levels + 1, bins = l->levels ? l->segment_capacity : 1;
    const struct {
        uint32_t which;
        size_t count, bytes;
    } list[] = {
        {BOXES, l->count, 32},
        {ORDER_0, l->count, 4},
        {ORDER_1, l->count, 4},
        {SEGMENT_OF_0, l->count, 4},
        {SEGMENT_OF_1, l->count, 4},
        {SEGMENTS, levels * l->segment_capacity, sizeof(segment)},
        {BINS_0, bins, SEGMENT_BINS * 4},
        {BINS_1, bins, SEGMENT_BINS * 4},
        {TILE_COUNTS, l->tiles, 32},
        {COUNTER_WORDS, COUNTERS, 4},
        {CHUNK_LIST, l->leaf_count, 16},
        {RIGHT, l->node_count, 4},
        {PARENT, l->node_count, 4},
        {RANGES, l->node_count, 8},
        {NODE_BOXES, l->node_count, 32},
        {PLANS, l->node_count, sizeof(plan)},
        {PYRAMID, pyramid_entries(l->leaf_count), 32},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        abuti_kit_reserve(&b->kit, list[i].which, list[i].count, list[i].bytes);
}

static void run_start(abuti_bvh_builder *b, const build_layout *l, const abuti_bvh_device *to) {
    uint32_t whole = l->levels > 0;
    upload_vertices(b, to->mesh, to->scale);
    ABUTI_KIT_RUN(&b->kit, ROOT, GROUP, GROUP, SCRATCH(SEGMENTS), SCRATCH(BINS_0),
                  SCRATCH(CHUNK_LIST), SCRATCH(COUNTER_WORDS), SCRATCH(PARENT),
                  ABUTI_VALUE(l->count), ABUTI_VALUE(whole), ABUTI_VALUE(l->lo),
                  ABUTI_VALUE(l->hi));
    ABUTI_KIT_RUN(&b->kit, START, l->count, GROUP, SCRATCH(VERTICES), ABUTI_BUFFER(&to->indices),
                  SCRATCH(BOXES), SCRATCH(ORDER_0), SCRATCH(SEGMENT_OF_0), SCRATCH(SEGMENTS),
                  SCRATCH(BINS_0), ABUTI_VALUE(l->count), ABUTI_VALUE(whole),
                  ABUTI_LOCAL_MEMORY(SEGMENT_BINS * 4));
}

/* Leaves the order in ORDER_0 or ORDER_1, depending on the number of levels. */
static void run_level(abuti_bvh_builder *b, const build_layout *l, uint32_t level) {
    uint32_t odd = level % 2, left = l->levels - level - 1;
    uint32_t allowed = left < 24 ? (uint32_t)CHUNK << left : UINT32_MAX;
    uint32_t next =
        level + 1 < 31 && 2u << level < l->segment_capacity ? 2u << level : l->segment_capacity;
    uint32_t old_words = left ? next * SEGMENT_BINS : 0;
    ABUTI_KIT_RUN(&b->kit, CHOOSE, l->count, GROUP, SCRATCH(ORDER_0 + odd),
                  SCRATCH(SEGMENT_OF_0 + odd), SCRATCH(BOXES), SCRATCH(SEGMENTS),
                  SCRATCH(BINS_0 + odd), SCRATCH(BINS_1 - odd), SCRATCH(TILE_COUNTS),
                  SCRATCH(COUNTER_WORDS), SCRATCH(CHUNK_LIST), SCRATCH(RIGHT), SCRATCH(PARENT),
                  SCRATCH(RANGES), ABUTI_VALUE(l->count), ABUTI_VALUE(level),
                  ABUTI_VALUE(l->segment_capacity), ABUTI_VALUE(allowed), ABUTI_VALUE(old_words),
                  ABUTI_LOCAL_MEMORY(CHOOSE_BYTES));
    ABUTI_KIT_RUN(&b->kit, MOVE, l->count, GROUP, SCRATCH(ORDER_0 + odd),
                  SCRATCH(SEGMENT_OF_0 + odd), SCRATCH(ORDER_1 - odd), SCRATCH(SEGMENT_OF_1 - odd),
                  SCRATCH(BOXES), SCRATCH(SEGMENTS), SCRATCH(BINS_1 - odd), SCRATCH(TILE_COUNTS),
                  SCRATCH(COUNTER_WORDS), ABUTI_VALUE(l->count), ABUTI_VALUE(level),
                  ABUTI_VALUE(l->segment_capacity), ABUTI_LOCAL_MEMORY(16 * GROUP_ROOM),
                  ABUTI_LOCAL_MEMORY(MOVE_BYTES));
}

static void run_chunks(abuti_bvh_builder *b, const build_layout *l, const abuti_buffer *order) {
    /* About as many work-groups as there will be chunks; each starts the next chunk when it is
     * done. */
    uint32_t groups = l->count / 96 + 1;
    ABUTI_KIT_GROUPS(&b->kit, CHUNKS, groups, GROUP, SCRATCH(CHUNK_LIST), SCRATCH(COUNTER_WORDS),
                     SCRATCH(BOXES), ABUTI_BUFFER(order), SCRATCH(ORDER_0 + l->levels % 2),
                     SCRATCH(RIGHT), SCRATCH(PARENT), SCRATCH(RANGES), SCRATCH(NODE_BOXES),
                     SCRATCH(PLANS), ABUTI_VALUE(l->node_cost), ABUTI_LOCAL_MEMORY(CHUNK_BYTES));
}

static void run_plan(abuti_bvh_builder *b, const build_layout *l) {
    for (uint32_t last = l->levels; last > 0;) {
        uint32_t level = last - 1, first = 0;
        uint32_t most = level < 31 && 1u << level < l->segment_capacity ? 1u << level
                                                                        : l->segment_capacity,
                 groups = 1;
        if (most > PLAN_GROUPS_MIN) {
            first = level;
            groups = most / GROUP;
        }
        ABUTI_KIT_GROUPS(&b->kit, PLAN, groups, GROUP, SCRATCH(SEGMENTS), SCRATCH(COUNTER_WORDS),
                         SCRATCH(RIGHT), SCRATCH(NODE_BOXES), SCRATCH(PLANS),
                         ABUTI_VALUE(l->segment_capacity), ABUTI_VALUE(first), ABUTI_VALUE(level),
                         ABUTI_VALUE(l->node_cost));
        last = first;
    }
}

static void run_nodes(abuti_bvh_builder *b, const build_layout *l, const abuti_bvh_device *to) {
    ABUTI_KIT_RUN(&b->kit, NODES, l->node_count, GROUP, SCRATCH(RIGHT), SCRATCH(PARENT),
                  SCRATCH(RANGES), SCRATCH(NODE_BOXES), SCRATCH(PLANS), ABUTI_BUFFER(&to->nodes),
                  ABUTI_BUFFER(&to->ranges), SCRATCH(COUNTER_WORDS), ABUTI_VALUE(l->node_count),
                  ABUTI_VALUE(l->node_max), ABUTI_LOCAL_MEMORY(16));
}

static void fit_leaves(abuti_bvh_builder *b, const abuti_bvh_device *bvh) {
    ABUTI_KIT_RUN(&b->kit, FIT_LEAVES, bvh->leaf_count, GROUP, SCRATCH(VERTICES),
                  ABUTI_BUFFER(&bvh->indices), ABUTI_BUFFER(&bvh->order), SCRATCH(PYRAMID),
                  ABUTI_VALUE(bvh->triangle_count), ABUTI_VALUE(bvh->leaf_count));
}

/* Computes the additional arrays for the vertices that are on the device. */
static void fit_extras(abuti_bvh_builder *b, const abut_mesh *mesh, abuti_bvh_device *bvh) {
    uint32_t places = bvh->leaf_count * BVH_WIDTH;
    if (bvh->triangles.device)
        ABUTI_KIT_RUN(&b->kit, FIT_TRIANGLES, places, GROUP, SCRATCH(VERTICES),
                      ABUTI_BUFFER(&bvh->indices), ABUTI_BUFFER(&bvh->order),
                      ABUTI_BUFFER(&bvh->triangles), ABUTI_VALUE(places));
    if (bvh->corners.device)
        ABUTI_KIT_RUN(&b->kit, CORNERS, 3 * (size_t)bvh->triangle_count, GROUP, SCRATCH(POSITIONS),
                      ABUTI_BUFFER(&bvh->indices), ABUTI_VALUE(mesh->origin.x),
                      ABUTI_VALUE(mesh->origin.y), ABUTI_VALUE(mesh->origin.z),
                      ABUTI_VALUE(bvh->triangle_count), ABUTI_BUFFER(&bvh->corners));
}

static abut_status build_on_device(abuti_bvh_builder *b, const abut_mesh *mesh, uint32_t extras,
                                   abuti_bvh_device *to) {
    const build_layout l = plan_build(mesh, to->scale);
    abuti_queue *queue = b->kit.queue;
    uint32_t found[2];
    abuti_buffer_make(queue, NULL, l.node_max, sizeof(bvh_node), &to->nodes);
    abuti_buffer_make(queue, NULL, l.leaf_count, BVH_WIDTH * 4, &to->order);
    abuti_buffer_make(queue, NULL, l.node_max, BVH_WIDTH * 8, &to->ranges);
    abuti_buffer_make(queue, mesh->indices, l.count, 3 * sizeof *mesh->indices, &to->indices);
    if (extras & ABUTI_BVH_TRIANGLES)
        abuti_buffer_make(queue, NULL, l.leaf_count, BVH_WIDTH * 36, &to->triangles);
    if (extras & ABUTI_BVH_CORNERS && queue->device->info.has_doubles)
        abuti_buffer_make(queue, NULL, l.count, 72, &to->corners);
    reserve_scratch(b, &l);
    run_start(b, &l, to);
    for (uint32_t level = 0; level < l.levels; level++)
        run_level(b, &l, level);
    run_chunks(b, &l, &to->order);
    run_plan(b, &l);
    run_nodes(b, &l, to);
    fit_leaves(b, to);
    fit_extras(b, mesh, to);
    abut_status status =
        abuti_kit_read(&b->kit, COUNTER_WORDS, NODE_COUNT, found, 2, sizeof *found);
    if (status)
        return status;
    to->node_count = found[0];
    to->depth = found[1];
    if (to->node_count < 1 || to->node_count > l.node_max || to->depth > BVH_DEPTH)
        return abuti_fail(ABUT_ERROR_DEVICE,
                          "%s: it built an invalid BVH with %u nodes and depth %u over %u "
                          "triangles; use another device, or create the BVH without a device",
                          to->device->info.name, to->node_count, to->depth, l.count);
    return ABUT_OK;
}

abut_status abuti_bvh_device_build(abuti_bvh_builder *builder, abut_mesh *mesh, uint32_t extras,
                                   abuti_bvh_device *to) {
    abuti_bvh_device made = {.device = abuti_device_retain(builder->kit.queue->device),
                             .mesh = abut_mesh_retain(mesh),
                             .triangle_count = mesh->triangle_count,
                             .leaf_count = (mesh->triangle_count + BVH_WIDTH - 1) / BVH_WIDTH,
                             .scale = abuti_bvh_scale(mesh)};
    abut_status status = build_on_device(builder, mesh, extras, &made);
    if (status)
        abuti_bvh_device_destroy(&made);
    else
        *to = made;
    return status;
}

/* ---- refit ---- */

static void fit_pyramid(abuti_bvh_builder *b, uint32_t leaf_count) {
    for (uint32_t from = 0, count = leaf_count; count > 1; from += count, count = (count + 1) / 2)
        ABUTI_KIT_RUN(&b->kit, FIT_PYRAMID, (count + 1) / 2, GROUP, SCRATCH(PYRAMID),
                      ABUTI_VALUE(from), ABUTI_VALUE(count));
}

abut_status abuti_bvh_device_refit(abuti_bvh_builder *b, abuti_bvh_device *bvh, abut_mesh *mesh) {
    double scale = abuti_bvh_scale(mesh);
    uint32_t slots = bvh->node_count * BVH_WIDTH;
    upload_vertices(b, mesh, scale);
    abuti_kit_reserve(&b->kit, PYRAMID, pyramid_entries(bvh->leaf_count), 32);
    fit_leaves(b, bvh);
    fit_pyramid(b, bvh->leaf_count);
    ABUTI_KIT_RUN(&b->kit, FIT_NODES, slots, GROUP, SCRATCH(PYRAMID), ABUTI_BUFFER(&bvh->ranges),
                  ABUTI_BUFFER(&bvh->nodes), ABUTI_VALUE(bvh->leaf_count), ABUTI_VALUE(slots));
    fit_extras(b, mesh, bvh);
    abut_status status = abuti_queue_report(b->kit.queue);
    if (status)
        return status;
    abut_mesh_retain(mesh);
    abut_mesh_destroy(bvh->mesh);
    bvh->mesh = mesh;
    bvh->scale = scale;
    return ABUT_OK;
}
