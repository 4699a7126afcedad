/* Hierarchies on a device, as users have them: making and destroying. */
#include "bvh/device_query.h"

abut_status abuti_device_kernels(abut_device_bvh *bvh, const char *module,
                                 const abuti_kernel_name *list, size_t count) {
    abut_device *device = bvh->queue.device;
    /* A flat tree needs less of a stack, and memory that is near. Few sizes, since each is a
     * program of its own; a CPU gains nothing. */
    bool on_cpu = device->info.kind == ABUT_DEVICE_KIND_CPU;
    uint32_t depth = on_cpu || bvh->tree.depth > 32 ? BVH_DEPTH : bvh->tree.depth > 16 ? 32 : 16;
    /* Doubles want so many registers that few groups would fit NVIDIA's units: a third slower. */
    const char *more = on_cpu                                    ? " -DAPART"
                       : strstr(device->info.platform, "NVIDIA") ? " -cl-nv-maxrregcount=64"
                                                                 : "";
    char options[96];
    snprintf(options, sizeof options, "-DABUTI_REAL_BITS=%d -DSTACK=%u%s",
             device->info.has_doubles ? 64 : 32, 3 * depth + 4, more);
    abuti_program *program;
    abut_status status = abuti_program_get(device, module, options, &program);
    for (size_t i = 0; !status && i < count; i++)
        status = abuti_kernel_create(program, device, list[i].name, list[i].kernel);
    return status;
}

static abut_status fill_in(abut_device_bvh *made, const abut_bvh *bvh, abut_device *device) {
    abut_status status = abuti_queue_open(device, &made->queue);
    if (!status)
        status = abuti_tools_create(&made->queue, &made->tools);
    if (!status)
        status = abuti_bvh_device_upload(&made->queue, bvh, ABUTI_BVH_TRIANGLES | ABUTI_BVH_CORNERS,
                                         &made->tree);
    if (!status && !device->info.has_doubles)
        status = abuti_bvh_device_download(&made->queue, &made->tree, &made->host);
    return status ? status : abuti_device_nearest_create(made);
}

abut_status abut_device_bvh_create(const abut_bvh *bvh, abut_device *device,
                                   abut_device_bvh **device_bvh) {
    if (!bvh || !device || !device_bvh)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_bvh_create: %s is null",
                          !bvh      ? "bvh"
                          : !device ? "device"
                                    : "device_bvh");
    abut_device_bvh *made = abuti_allocate_zeroed(bvh->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(bvh->context);
    abut_status status = fill_in(made, bvh, device);
    if (status) {
        abut_device_bvh_destroy(made);
        return status;
    }
    *device_bvh = made;
    return ABUT_OK;
}

void abut_device_bvh_destroy(abut_device_bvh *bvh) {
    if (!bvh)
        return;
    abuti_device_nearest_destroy(bvh);
    abuti_device_rays_destroy(bvh);
    abuti_buffer_destroy(&bvh->in);
    abuti_buffer_destroy(&bvh->out);
    abut_bvh_destroy(bvh->host);
    abuti_bvh_device_destroy(&bvh->tree);
    abuti_tools_destroy(bvh->tools);
    abuti_queue_close(&bvh->queue);
    abut_context *context = bvh->context;
    abuti_release(context, bvh);
    abut_context_destroy(context);
}
