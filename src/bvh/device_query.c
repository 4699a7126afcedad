/* Hierarchies on a device, as users have them: making and destroying. */
#include "bvh/device_query.h"

#define EXTRAS (ABUTI_BVH_TRIANGLES | ABUTI_BVH_CORNERS)

void abuti_device_options(const abut_device_bvh *bvh, char options[ABUTI_OPTIONS_BYTES]) {
    const abut_device_info *info = &bvh->queue.device->info;
    /* A flat tree needs less of a stack, and memory that is near. Few sizes, since each is a
     * program of its own; a CPU gains nothing. */
    bool on_cpu = info->kind == ABUT_DEVICE_KIND_CPU;
    uint32_t depth = on_cpu || bvh->tree.depth > 32 ? BVH_DEPTH : bvh->tree.depth > 16 ? 32 : 16;
    /* Doubles want so many registers that few groups would fit NVIDIA's units: a third slower. */
    const char *more = on_cpu                             ? " -DAPART"
                       : strstr(info->platform, "NVIDIA") ? " -cl-nv-maxrregcount=64"
                                                          : "";
    snprintf(options, ABUTI_OPTIONS_BYTES, "-DABUTI_REAL_BITS=%d -DSTACK=%u%s",
             info->has_doubles ? 64 : 32, 3 * depth + 4, more);
}

abut_status abuti_device_kernels(abut_device_bvh *bvh, const char *module,
                                 const abuti_kernel_name *list, size_t count) {
    abut_device *device = bvh->queue.device;
    char options[ABUTI_OPTIONS_BYTES];
    abuti_device_options(bvh, options);
    abuti_program *program;
    abut_status status = abuti_program_get(device, module, options, &program);
    for (size_t i = 0; !status && i < count; i++)
        status = abuti_kernel_create(program, device, list[i].name, list[i].kernel);
    return status;
}

abut_status abuti_device_need(abut_device_bvh *bvh, const char *module,
                              const abuti_kernel_name *list, size_t count) {
    if (list[count - 1].kernel->device)
        return ABUT_OK;
    for (size_t i = 0; i < count; i++)
        abuti_kernel_destroy(list[i].kernel); /* of a try that failed */
    return abuti_device_kernels(bvh, module, list, count);
}

abut_status abuti_device_check_doubles(const char *function, const abut_device_bvh *bvh,
                                       const char *instead) {
    return bvh->host ? abuti_fail(ABUT_ERROR_DEVICE,
                                  "%s: %s has no doubles, which exact answers need; call %s() "
                                  "instead",
                                  function, bvh->queue.device->info.name, instead)
                     : ABUT_OK;
}

abut_status abuti_device_check_buffer(const char *function, const abut_device_bvh *bvh,
                                      const abut_buffer *buffer, size_t count, size_t element_bytes,
                                      const char *what) {
    return abuti_buffer_check(buffer, function, what, bvh->queue.device, count, element_bytes);
}

/* A tree from the CPU, or of a mesh where there is none. */
static abut_status fill_in(abut_device_bvh *made, const abut_bvh *bvh, abut_mesh *mesh,
                           abut_device *device) {
    abut_status status = abuti_queue_open(device, &made->queue);
    if (!status)
        status = abuti_tools_create(&made->queue, &made->tools);
    if (!status && !bvh)
        status = abuti_bvh_builder_create(&made->queue, &made->builder);
    if (!status)
        status = bvh ? abuti_bvh_device_upload(&made->queue, bvh, EXTRAS, &made->tree)
                     : abuti_bvh_device_build(made->builder, mesh, EXTRAS, &made->tree);
    if (!status && bvh && bvh->sign && device->info.has_doubles)
        status = abuti_device_sign_create(made, bvh);
    if (!status && !device->info.has_doubles)
        status = abuti_bvh_device_download(&made->queue, &made->tree, &made->host);
    return status ? status : abuti_device_nearest_create(made);
}

static abut_status make(abut_context *context, const abut_bvh *bvh, abut_mesh *mesh,
                        abut_device *device, abut_device_bvh **device_bvh) {
    abut_device_bvh *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    abut_status status = fill_in(made, bvh, mesh, device);
    if (status) {
        abut_device_bvh_destroy(made);
        return status;
    }
    *device_bvh = made;
    return ABUT_OK;
}

abut_status abut_device_bvh_create(const abut_bvh *bvh, abut_device *device,
                                   abut_device_bvh **device_bvh) {
    if (!bvh || !device || !device_bvh)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_bvh_create: %s is null",
                          !bvh      ? "bvh"
                          : !device ? "device"
                                    : "device_bvh");
    return make(bvh->context, bvh, NULL, device, device_bvh);
}

abut_status abut_device_bvh_build(abut_mesh *mesh, abut_device *device,
                                  abut_device_bvh **device_bvh) {
    if (!mesh || !device || !device_bvh)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_bvh_build: %s is null",
                          !mesh     ? "mesh"
                          : !device ? "device"
                                    : "device_bvh");
    return make(mesh->context, NULL, mesh, device, device_bvh);
}

abut_status abut_device_bvh_refit(abut_device_bvh *bvh, abut_mesh *mesh) {
    if (!bvh || !mesh)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_device_bvh_refit: %s is null",
                          bvh ? "mesh" : "bvh");
    if (!bvh->builder)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_device_bvh_refit: the hierarchy was copied from the CPU; refit it "
                          "there and copy it again");
    abut_status status = abuti_bvh_check_refit(__func__, bvh->tree.mesh, mesh);
    if (!status)
        status = abuti_bvh_device_refit(bvh->builder, &bvh->tree, mesh);
    if (status)
        return status;
    abuti_device_nearest_forget(bvh);
    if (!bvh->host)
        return ABUT_OK;
    abut_bvh *host = NULL;
    status = abuti_bvh_device_download(&bvh->queue, &bvh->tree, &host);
    if (!status) {
        abut_bvh_destroy(bvh->host);
        bvh->host = host;
    }
    return status;
}

void abut_device_bvh_destroy(abut_device_bvh *bvh) {
    if (!bvh)
        return;
    if (bvh->field)
        bvh->field_destroy(bvh);
    abuti_device_nearest_destroy(bvh);
    abuti_device_rays_destroy(bvh);
    abuti_device_gather_destroy(bvh);
    abuti_device_sign_destroy(bvh);
    abuti_buffer_destroy(&bvh->in);
    abuti_buffer_destroy(&bvh->out);
    abut_bvh_destroy(bvh->host);
    abuti_bvh_device_destroy(&bvh->tree);
    abuti_bvh_builder_destroy(bvh->builder);
    abuti_tools_destroy(bvh->tools);
    abuti_queue_close(&bvh->queue);
    abut_context *context = bvh->context;
    abuti_release(context, bvh);
    abut_context_destroy(context);
}
