/* Hierarchies on a device: built there or copied, with what batches need, and copied back for
 * questions that the CPU answers. */
#include "bvh/on_device.h"

#define EXTRAS (ABUTI_BVH_TRIANGLES | ABUTI_BVH_CORNERS)

void abuti_device_options_of(const abut_device *device, uint32_t tree_depth,
                             char options[ABUTI_OPTIONS_BYTES]) {
    const abut_device_info *info = &device->info;
    /* A flat tree needs less of a stack, and memory that is near. Few sizes, since each is a
     * program of its own; a CPU gains nothing. */
    bool on_cpu = info->kind == ABUT_DEVICE_KIND_CPU;
    uint32_t depth = on_cpu || tree_depth > 32 ? BVH_DEPTH : tree_depth > 16 ? 32 : 16;
    /* Doubles want so many registers that few groups would fit NVIDIA's units: a third slower. */
    const char *more = on_cpu                             ? " -DAPART"
                       : strstr(info->platform, "NVIDIA") ? " -cl-nv-maxrregcount=64"
                                                          : "";
    snprintf(options, ABUTI_OPTIONS_BYTES, "-DABUTI_REAL_BITS=%d -DSTACK=%u%s",
             info->has_doubles ? 64 : 32, BVH_STACK_OF(depth), more);
}

void abuti_device_options(const bvh_on_device *bvh, char options[ABUTI_OPTIONS_BYTES]) {
    abuti_device_options_of(bvh->queue.device, bvh->tree.depth, options);
}

abut_status abuti_there_kit(bvh_on_device *there, const abuti_kit_table *table, abuti_kit *kit) {
    char options[ABUTI_OPTIONS_BYTES];
    abuti_device_options(there, options);
    return abuti_kit_open(&there->queue, table, options, kit);
}

/* Bytes; fewer do not pay for another queue. */
#define ANSWERS_MIN ((size_t)1 << 20)

abut_status abuti_there_answers(bvh_on_device *there, void *host, size_t count, size_t bytes) {
    if (count < ANSWERS_MIN / bytes)
        return abuti_kit_get(&there->io, BVH_OUT, host, count, bytes);
    abut_status status = abuti_kit_finish(&there->io);
    return status ? status
                  : abuti_buffer_fetch(&there->io.buffers[BVH_OUT], 0, there->context, host,
                                       count * bytes);
}

abut_status abuti_there_part(bvh_on_device *there, const bvh_part_kind *kind, bvh_part **part) {
    return abuti_bvh_part_get(there->context, &there->parts, kind, there, part);
}

abut_status abuti_bvh_check_array(const char *function, const char *what, const abut_bvh *bvh,
                                  abut_array array, uint64_t count, size_t element_bytes) {
    if (!array.buffer)
        return array.host || !count ? ABUT_OK : abuti_null(function, what);
    if (array.host)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is memory of the host and a buffer as well",
                          function, what);
    if (!bvh || !bvh->there)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            bvh ? "%s: %s is a buffer, but the hierarchy is on the CPU; create it with "
                  "options.device"
                : "%s: %s is a buffer; only memory of the host can be read here",
            function, what);
    return abuti_buffer_check(array.buffer, function, what, bvh->there->queue.device, (size_t)count,
                              element_bytes);
}

abut_status abuti_device_check_doubles(const char *function, const bvh_on_device *bvh) {
    return there_has_doubles(bvh)
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_DEVICE,
                            "%s: %s has no doubles, which exact answers need; create the hierarchy "
                            "without a device",
                            function, bvh->queue.device->info.name);
}

/* ---- life ---- */

static const abuti_kit_table io_table = {.buffer_count = BVH_IO};

/* With a tree of the CPU, or none yet. */
static abut_status open_there(const abut_bvh *bvh, abut_device *device, bool copied,
                              bvh_on_device **there) {
    bvh_on_device *made = abuti_allocate_zeroed(bvh->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(bvh->context);
    made->bvh = bvh;
    abut_status status = abuti_queue_open(device, &made->queue);
    status = status ? status : abuti_tools_create(&made->queue, &made->tools);
    status = status ? status : abuti_kit_open(&made->queue, &io_table, "", &made->io);
    if (!status)
        status = copied ? abuti_bvh_device_upload(&made->queue, bvh, EXTRAS, &made->tree)
                        : abuti_bvh_builder_create(&made->queue, &made->builder);
    if (status)
        abuti_bvh_there_destroy(made);
    else
        *there = made;
    return status;
}

abut_status abuti_bvh_there_copy(const abut_bvh *bvh, abut_device *device, bvh_on_device **there) {
    abut_status status = abuti_bvh_host(bvh);
    return status ? status : open_there(bvh, device, true, there);
}

abut_status abuti_bvh_copy(const abut_bvh *from, abut_device *device, abut_bvh **copy) {
    abut_bvh *made = abuti_allocate_zeroed(from->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_bvh_there_copy(from, device, &made->there);
    if (status) {
        abuti_release(from->context, made);
        return status;
    }
    made->context = abuti_context_retain(from->context);
    atomic_init(&made->holds, 1);
    made->mesh = abut_mesh_retain(from->mesh);
    made->triangle_count = from->triangle_count;
    made->leaf_count = from->leaf_count;
    made->node_count = from->node_count;
    made->depth = from->depth;
    made->scale = from->scale;
    made->nodes = from->nodes;
    made->blocks = from->blocks;
    made->order = from->order;
    made->compact = from->compact;
    made->cost = from->cost;
    made->built_cost = from->built_cost;
    made->base = from;
    *copy = made;
    return ABUT_OK;
}

static void take_tree(abut_bvh *bvh) {
    const abuti_bvh_device *tree = &bvh->there->tree;
    bvh->node_count = tree->node_count;
    bvh->depth = tree->depth;
    bvh->scale = tree->scale;
}

abut_status abuti_bvh_there_build(abut_bvh *bvh, abut_device *device) {
    bvh_on_device *made = NULL;
    abut_status status = open_there(bvh, device, false, &made);
    status = status ? status : abuti_progress(bvh->context, "bvh", 0.1);
    status =
        status ? status : abuti_bvh_device_build(made->builder, bvh->mesh, EXTRAS, &made->tree);
    status = status ? status : abuti_progress(bvh->context, "bvh", 0.8);
    if (status) {
        abuti_bvh_there_destroy(made);
        return status;
    }
    bvh->there = made;
    take_tree(bvh);
    return ABUT_OK;
}

static void forget_host(abut_bvh *bvh) {
    ABUTI_RELEASE(bvh->context, bvh->nodes, bvh->blocks, bvh->order, bvh->compact);
    bvh->nodes = NULL;
    bvh->blocks = NULL;
    bvh->order = NULL;
    bvh->compact = NULL;
    atomic_store(&bvh->host, BVH_HOST_NONE);
}

abut_status abuti_bvh_there_refit(abut_bvh *bvh, abut_mesh *mesh) {
    bvh_on_device *there = bvh->there;
    if (!there->builder)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_bvh_set_mesh: the hierarchy is a copy");
    there->broken = true;
    abut_status status = abuti_bvh_device_refit(there->builder, &there->tree, mesh);
    if (status)
        return status;
    there->broken = false;
    forget_host(bvh);
    take_tree(bvh);
    return abuti_bvh_parts_refit(&there->parts);
}

abut_status abuti_bvh_there_check(const char *function, const abut_bvh *bvh) {
    return bvh->there->broken
               ? abuti_fail(ABUT_ERROR_DEVICE,
                            "%s: %s failed while the hierarchy was refitted; refit it again or "
                            "create another",
                            function, bvh->there->queue.device->info.name)
               : ABUT_OK;
}

void abuti_bvh_there_destroy(bvh_on_device *there) {
    if (!there)
        return;
    abuti_bvh_parts_destroy(&there->parts);
    abuti_kit_close(&there->io);
    abuti_bvh_device_destroy(&there->tree);
    abuti_bvh_builder_destroy(there->builder);
    abuti_tools_destroy(there->tools);
    abuti_queue_close(&there->queue);
    abut_context *context = there->context;
    abuti_release(context, there);
    abut_context_destroy(context);
}

/* ---- the CPU's arrays ---- */

/* By another queue than that of batches, which one of these may be using: it only waits for what
 * that has to do, such as a refit. */
static abut_status fetch(bvh_on_device *there, abut_bvh **fetched) {
    abuti_queue queue;
    abut_status status = abuti_queue_open(there->queue.device, &queue);
    if (status)
        return status;
    status = abuti_queue_wait(&queue, &there->queue);
    status =
        status ? status : abuti_bvh_device_download(&queue, &there->tree, there->context, fetched);
    abuti_queue_close(&queue);
    return status;
}

static void swap_arrays(abut_bvh *a, abut_bvh *b) {
    bvh_node *nodes = a->nodes;
    bvh_block *blocks = a->blocks;
    uint32_t *order = a->order;
    bvh_compact *compact = a->compact;
    a->nodes = b->nodes;
    a->blocks = b->blocks;
    a->order = b->order;
    a->compact = b->compact;
    b->nodes = nodes;
    b->blocks = blocks;
    b->order = order;
    b->compact = compact;
}

abut_status abuti_bvh_host(const abut_bvh *bvh) {
    abut_bvh *to = (abut_bvh *)(uintptr_t)bvh, *fetched = NULL;
    int none = BVH_HOST_NONE;
    if (!bvh->there || bvh->base || atomic_load(&to->host) == BVH_HOST_READY)
        return ABUT_OK;
    abut_status status = abuti_bvh_there_check("abut_bvh", bvh);
    status = status ? status : fetch(bvh->there, &fetched);
    if (status)
        return status;
    if (atomic_compare_exchange_strong(&to->host, &none, BVH_HOST_COMING)) {
        swap_arrays(to, fetched);
        to->cost = fetched->cost;
        to->built_cost = to->built_cost > 0 ? to->built_cost : fetched->cost;
        atomic_store(&to->host, BVH_HOST_READY);
    }
    while (atomic_load(&to->host) != BVH_HOST_READY) /* another thread was faster */
        continue;
    abut_bvh_destroy(fetched);
    return ABUT_OK;
}
