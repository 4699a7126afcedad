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
    if (!status)
        status =
            abuti_buffer_fetch(&there->io.buffers[BVH_OUT], 0, there->context, host, count * bytes);
    return status;
}

abut_status abuti_on_device_attachment(bvh_on_device *there, const bvh_attachment_kind *kind,
                                       bvh_attachment **attachment) {
    return abuti_bvh_get_attachment(there->context, &there->parts, kind, there, attachment);
}

abut_status abuti_bvh_kit_create(bvh_attachment *attachment, void *owner) {
    bvh_kit *kit = (bvh_kit *)attachment;
    kit->there = owner;
    return abuti_on_device_kit(owner, ((const bvh_kit_kind *)attachment->kind)->table, &kit->kit);
}

void abuti_bvh_kit_destroy(bvh_attachment *attachment) {
    abuti_kit_close(&((bvh_kit *)attachment)->kit);
}

abut_status abuti_on_device_get_kit(bvh_on_device *there, const bvh_kit_kind *kind, bvh_kit **kit) {
    return abuti_on_device_attachment(there, &kind->kind, (bvh_attachment **)kit);
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

/* ---- upload and download ---- */

enum { ELEMENTS_PER_TASK = 16384 };

typedef struct corner_writer {
    const abut_bvh *bvh;
    void *to; /* nine numbers for each triangle */
} corner_writer;

static void floats_task(void *data, size_t chunk, size_t begin, size_t end) {
    const corner_writer *w = data;
    const abut_mesh *mesh = w->bvh->mesh;
    float *to = w->to;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        for (size_t k = 0; k < 3; k++) {
            vec3 p = mesh->positions[mesh->indices[3 * (size_t)w->bvh->order[i] + k]];
            for (size_t axis = 0; axis < 3; axis++)
                to[9 * i + 3 * k + axis] = (float)(v3_get(p, (int)axis) * w->bvh->scale);
        }
}

static void doubles_task(void *data, size_t chunk, size_t begin, size_t end) {
    const corner_writer *w = data;
    double *to = w->to;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        abut_triangle triangle = bvh_triangle(w->bvh->mesh, (uint32_t)t);
        for (size_t k = 0; k < 3; k++)
            for (size_t axis = 0; axis < 3; axis++)
                to[9 * t + 3 * k + axis] = v3_get(triangle.corner[k], (int)axis);
    }
}

/* Uploads the corners of `count` triangles that a task writes. */
static void upload_corners(abuti_queue *queue, const abut_bvh *bvh, size_t count, size_t bytes,
                           void (*task)(void *, size_t, size_t, size_t), abuti_buffer *to) {
    corner_writer w = {bvh, abuti_allocate(bvh->context, count, 9 * bytes)};
    if (!w.to) {
        abuti_queue_set_error(queue, ABUT_ERROR_MEMORY);
        return;
    }
    abuti_parallel_for(bvh->context, count, ELEMENTS_PER_TASK, task, &w);
    abuti_buffer_make(queue, w.to, count, 9 * bytes, to);
    abuti_release(bvh->context, w.to);
}

abut_status abuti_bvh_device_upload(abuti_queue *queue, const abut_bvh *bvh, uint32_t extras,
                                    abuti_bvh_device *to) {
    abuti_bvh_device made = {.device = abuti_device_retain(queue->device),
                             .mesh = abut_mesh_retain(bvh->mesh),
                             .triangle_count = bvh->triangle_count,
                             .leaf_count = bvh->leaf_count,
                             .node_count = bvh->node_count,
                             .depth = bvh->depth,
                             .scale = bvh->scale};
    abuti_buffer_make(queue, bvh->nodes, bvh->node_count, sizeof *bvh->nodes, &made.nodes);
    abuti_buffer_make(queue, bvh->order, bvh->leaf_count, BVH_WIDTH * sizeof *bvh->order,
                      &made.order);
    if (extras & ABUTI_BVH_TRIANGLES)
        upload_corners(queue, bvh, (size_t)bvh->leaf_count * BVH_WIDTH, sizeof(float), floats_task,
                       &made.triangles);
    if (extras & ABUTI_BVH_CORNERS && queue->device->info.has_doubles)
        upload_corners(queue, bvh, bvh->triangle_count, sizeof(double), doubles_task,
                       &made.corners);
    abut_status status = abuti_queue_report(queue);
    if (status)
        abuti_bvh_device_destroy(&made);
    else
        *to = made;
    return status;
}

abut_status abuti_bvh_device_download(abuti_queue *queue, const abuti_bvh_device *from,
                                      abut_context *context, abut_bvh **bvh) {
    context = context ? context : from->mesh->context;
    abut_bvh *made = abuti_bvh_allocate(context, from->mesh);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->node_count = from->node_count;
    made->depth = from->depth;
    made->scale = from->scale;
    made->nodes = abuti_allocate(context, made->node_count, sizeof *made->nodes);
    made->blocks = abuti_allocate(context, made->leaf_count, sizeof *made->blocks);
    made->order = abuti_allocate(context, made->leaf_count, BVH_WIDTH * sizeof *made->order);
    const size_t nodes = made->node_count * sizeof *made->nodes,
                 order = made->leaf_count * BVH_WIDTH * sizeof *made->order;
    abut_status status = made->nodes && made->blocks && made->order ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (status || (status = abuti_buffer_download(queue, &from->nodes, 0, made->nodes, nodes)) ||
        (status = abuti_buffer_download(queue, &from->order, 0, made->order, order))) {
        abut_bvh_destroy(made);
        return status;
    }
    abuti_bvh_fit(made, from->mesh);
    made->built_cost = made->cost;
    *bvh = made;
    return ABUT_OK;
}

void abuti_bvh_device_destroy(abuti_bvh_device *bvh) {
    if (!bvh->device)
        return;
    abuti_buffer *buffers[] = {&bvh->nodes,   &bvh->order,  &bvh->triangles,
                               &bvh->indices, &bvh->ranges, &bvh->corners};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        abuti_buffer_destroy(buffers[i]);
    abut_mesh_destroy(bvh->mesh);
    abut_device_destroy(bvh->device);
    *bvh = (abuti_bvh_device){0};
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
    abut_status status;
    if ((status = abuti_queue_open(device, &made->queue)) ||
        (status = abuti_tools_create(&made->queue, &made->tools)) ||
        (status = abuti_kit_open(&made->queue, &io_table, "", &made->io)) ||
        (status = is_copy ? abuti_bvh_device_upload(&made->queue, bvh, BATCH_ARRAYS, &made->tree)
                          : abuti_bvh_builder_create(&made->queue, &made->builder))) {
        abuti_bvh_destroy_on_device(made);
        return status;
    }
    *there = made;
    return ABUT_OK;
}

abut_status abuti_bvh_upload_device_side(const abut_bvh *bvh, abut_device *device,
                                         bvh_on_device **there) {
    abut_status status = abuti_bvh_ensure_host(bvh);
    if (!status)
        status = open_on_device(bvh, device, true, there);
    return status;
}

abut_status abuti_bvh_copy_to_device(const abut_bvh *from, abut_device *device, abut_bvh **copy) {
    abut_bvh *made = abuti_bvh_allocate(from->context, from->mesh);
    if (!made)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_bvh_upload_device_side(from, device, &made->there);
    if (status) {
        abut_bvh_destroy(made);
        return status;
    }
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
    abut_status status;
    if ((status = open_on_device(bvh, device, false, &made)) ||
        (status = abuti_progress(bvh->context, "bvh", 0.1)) ||
        (status = abuti_bvh_device_build(made->builder, bvh->mesh, BATCH_ARRAYS, &made->tree)) ||
        (status = abuti_progress(bvh->context, "bvh", 0.8))) {
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
    if (!status)
        status = abuti_bvh_device_download(&queue, &there->tree, there->context, downloaded);
    abuti_queue_close(&queue);
    return status;
}

abut_status abuti_bvh_ensure_host(const abut_bvh *bvh) {
    abut_bvh *to = (abut_bvh *)(uintptr_t)bvh, *downloaded = NULL;
    int none = BVH_HOST_NONE;
    if (!bvh->there || bvh->base || atomic_load(&to->host) == BVH_HOST_READY)
        return ABUT_OK;
    abut_status status;
    if ((status = abuti_bvh_check_on_device("abut_bvh", bvh)) ||
        (status = download_tree(bvh->there, &downloaded)))
        return status;
    if (atomic_compare_exchange_strong(&to->host, &none, BVH_HOST_LOADING)) {
        to->nodes = downloaded->nodes;
        to->blocks = downloaded->blocks;
        to->order = downloaded->order;
        downloaded->nodes = NULL;
        downloaded->blocks = NULL;
        downloaded->order = NULL;
        to->cost = downloaded->cost;
        to->built_cost = to->built_cost > 0 ? to->built_cost : downloaded->cost;
        atomic_store(&to->host, BVH_HOST_READY);
    }
    while (atomic_load(&to->host) != BVH_HOST_READY) /* another thread was faster */
        continue;
    abut_bvh_destroy(downloaded);
    return ABUT_OK;
}
