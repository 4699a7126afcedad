/* BVHs on a device: built there or uploaded, with the data of batches, and downloaded for queries
 * on the CPU. */
#include "bvh/on_device.h"
#include "device/array.h"

#define BATCH_ARRAYS (ABUTI_BVH_TRIANGLES | ABUTI_BVH_CORNERS)

void abuti_device_options_of(const abut_device *device, uint32_t tree_depth,
                             char options[ABUTI_OPTIONS_BYTES]) {
    const abut_device_info *info = &device->info;
    /* A shallow tree needs a smaller stack, which may fit fast memory. Few sizes, since each needs
     * a program of its own; a CPU does not benefit. */
    bool on_cpu = info->kind == ABUT_DEVICE_KIND_CPU;
    uint32_t depth = on_cpu || tree_depth > 32 ? BVH_DEPTH : tree_depth > 16 ? 32 : 16;
    /* Doubles need so many registers that few work-groups would fit the multiprocessors of NVIDIA:
     * a third slower. */
    const char *device_options = on_cpu                             ? " -DAPART"
                                 : strstr(info->platform, "NVIDIA") ? " -cl-nv-maxrregcount=64"
                                                                    : "";
    snprintf(options, ABUTI_OPTIONS_BYTES, "-DABUTI_REAL_BITS=%d -DSTACK=%u%s",
             info->has_doubles ? 64 : 32, BVH_STACK_OF(depth), device_options);
}

void abuti_device_options(const bvh_on_device *bvh, char options[ABUTI_OPTIONS_BYTES]) {
    abuti_device_options_of(bvh->queue.device, bvh->tree.depth, options);
}

abut_status abuti_on_device_kit(bvh_on_device *there, const abuti_kit_table *table,
                                abuti_kit *kit) {
    char options[ABUTI_OPTIONS_BYTES];
    abuti_device_options(there, options);
    return abuti_kit_open(&there->queue, table, options, kit);
}

/* Smaller downloads do not pay for another queue. */
#define PARALLEL_DOWNLOAD_MIN_BYTES ((size_t)1 << 20)

abut_status abuti_on_device_download(bvh_on_device *there, void *host, size_t count, size_t bytes) {
    if (count < PARALLEL_DOWNLOAD_MIN_BYTES / bytes)
        return abuti_kit_download(&there->io, BVH_OUT, host, count, bytes);
    abut_status status = abuti_kit_finish(&there->io);
    return status ? status
                  : abuti_buffer_fetch(&there->io.buffers[BVH_OUT], 0, there->context, host,
                                       count * bytes);
}

abut_status abuti_on_device_attachment(bvh_on_device *there, const bvh_attachment_kind *kind,
                                       bvh_attachment **attachment) {
    return abuti_bvh_get_attachment(there->context, &there->parts, kind, there, attachment);
}

abut_status abuti_bvh_check_array(const char *function, const char *what, const abut_bvh *bvh,
                                  abut_array array, uint64_t count, size_t element_bytes) {
    abut_status status = abuti_array_check_plain(function, what, array);
    if (status)
        return status;
    if (!array.buffer)
        return array.host || !count ? ABUT_OK : abuti_null(function, what);
    if (array.host)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s has both a host pointer and a buffer; set one of them", function,
                          what);
    if (!bvh || !bvh->there)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          bvh ? "%s: %s is a buffer, but the BVH is on the CPU; create it with "
                                "options.device"
                              : "%s: %s is a buffer; only memory of the host can be read here",
                          function, what);
    return abuti_buffer_check(array.buffer, function, what, bvh->there->queue.device, (size_t)count,
                              element_bytes);
}

abut_status abuti_device_check_doubles(const char *function, const bvh_on_device *bvh) {
    return on_device_has_doubles(bvh)
               ? ABUT_OK
               : abuti_fail(ABUT_ERROR_DEVICE,
                            "%s: %s has no doubles, which exact results need; create the "
                            "BVH without a device",
                            function, bvh->queue.device->info.name);
}

/* ---- lifetime ---- */

static const abuti_kit_table io_table = {.buffer_count = BVH_IO};

/* Opens the device side with the tree of the CPU, or without a tree. */
static abut_status open_on_device(const abut_bvh *bvh, abut_device *device, bool is_copy,
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
        status = is_copy ? abuti_bvh_device_upload(&made->queue, bvh, BATCH_ARRAYS, &made->tree)
                         : abuti_bvh_builder_create(&made->queue, &made->builder);
    if (status)
        abuti_bvh_destroy_on_device(made);
    else
        *there = made;
    return status;
}

abut_status abuti_bvh_upload_device_side(const abut_bvh *bvh, abut_device *device,
                                         bvh_on_device **there) {
    abut_status status = abuti_bvh_ensure_host(bvh);
    return status ? status : open_on_device(bvh, device, true, there);
}

abut_status abuti_bvh_copy_to_device(const abut_bvh *from, abut_device *device, abut_bvh **copy) {
    abut_bvh *made = abuti_allocate_zeroed(from->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_bvh_upload_device_side(from, device, &made->there);
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
    made->cost = from->cost;
    made->built_cost = from->built_cost;
    made->base = from;
    *copy = made;
    return ABUT_OK;
}

static void copy_tree_info(abut_bvh *bvh) {
    const abuti_bvh_device *tree = &bvh->there->tree;
    bvh->node_count = tree->node_count;
    bvh->depth = tree->depth;
    bvh->scale = tree->scale;
}

abut_status abuti_bvh_build_on_device(abut_bvh *bvh, abut_device *device) {
    bvh_on_device *made = NULL;
    abut_status status = open_on_device(bvh, device, false, &made);
    status = status ? status : abuti_progress(bvh->context, "bvh", 0.1);
    status = status ? status
                    : abuti_bvh_device_build(made->builder, bvh->mesh, BATCH_ARRAYS, &made->tree);
    status = status ? status : abuti_progress(bvh->context, "bvh", 0.8);
    if (status) {
        abuti_bvh_destroy_on_device(made);
        return status;
    }
    bvh->there = made;
    copy_tree_info(bvh);
    return ABUT_OK;
}

static void discard_host_arrays(abut_bvh *bvh) {
    ABUTI_RELEASE(bvh->context, bvh->nodes, bvh->blocks, bvh->order);
    bvh->nodes = NULL;
    bvh->blocks = NULL;
    bvh->order = NULL;
    atomic_store(&bvh->host, BVH_HOST_NONE);
}

abut_status abuti_bvh_refit_on_device(abut_bvh *bvh, abut_mesh *mesh) {
    bvh_on_device *there = bvh->there;
    if (!there->builder)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_bvh_set_mesh: the BVH is a copy; set the mesh of the original");
    there->broken = true;
    abut_status status = abuti_bvh_device_refit(there->builder, &there->tree, mesh);
    if (status)
        return status;
    there->broken = false;
    discard_host_arrays(bvh);
    copy_tree_info(bvh);
    return abuti_bvh_refit_attachments(&there->parts);
}

abut_status abuti_bvh_check_on_device(const char *function, const abut_bvh *bvh) {
    return bvh->there->broken
               ? abuti_fail(ABUT_ERROR_DEVICE,
                            "%s: %s failed while the BVH was refitted; refit it again or "
                            "create another",
                            function, bvh->there->queue.device->info.name)
               : ABUT_OK;
}

void abuti_bvh_destroy_on_device(bvh_on_device *there) {
    if (!there)
        return;
    abuti_bvh_destroy_attachments(&there->parts);
    abuti_kit_close(&there->io);
    abuti_bvh_device_destroy(&there->tree);
    abuti_bvh_builder_destroy(there->builder);
    abuti_tools_destroy(there->tools);
    abuti_queue_close(&there->queue);
    abut_context *context = there->context;
    abuti_release(context, there);
    abut_context_destroy(context);
}

/* ---- arrays of the CPU ---- */

/* Uses another queue than batches, which may be using theirs. It waits for the work in that queue,
 * such as a refit. */
static abut_status download_tree(bvh_on_device *there, abut_bvh **downloaded) {
    abuti_queue queue;
    abut_status status = abuti_queue_open(there->queue.device, &queue);
    if (status)
        return status;
    status = abuti_queue_wait(&queue, &there->queue);
    status = status ? status
                    : abuti_bvh_device_download(&queue, &there->tree, there->context, downloaded);
    abuti_queue_close(&queue);
    return status;
}

static void swap_arrays(abut_bvh *a, abut_bvh *b) {
    bvh_node *nodes = a->nodes;
    bvh_block *blocks = a->blocks;
    uint32_t *order = a->order;
    a->nodes = b->nodes;
    a->blocks = b->blocks;
    a->order = b->order;
    b->nodes = nodes;
    b->blocks = blocks;
    b->order = order;
}

abut_status abuti_bvh_ensure_host(const abut_bvh *bvh) {
    abut_bvh *to = (abut_bvh *)(uintptr_t)bvh, *downloaded = NULL;
    int none = BVH_HOST_NONE;
    if (!bvh->there || bvh->base || atomic_load(&to->host) == BVH_HOST_READY)
        return ABUT_OK;
    abut_status status = abuti_bvh_check_on_device("abut_bvh", bvh);
    status = status ? status : download_tree(bvh->there, &downloaded);
    if (status)
        return status;
    if (atomic_compare_exchange_strong(&to->host, &none, BVH_HOST_LOADING)) {
        swap_arrays(to, downloaded);
        to->cost = downloaded->cost;
        to->built_cost = to->built_cost > 0 ? to->built_cost : downloaded->cost;
        atomic_store(&to->host, BVH_HOST_READY);
    }
    while (atomic_load(&to->host) != BVH_HOST_READY) /* another thread was faster */
        continue;
    abut_bvh_destroy(downloaded);
    return ABUT_OK;
}
