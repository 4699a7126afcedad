/* The option --device: the device on which the queries of a command run. */
#include "apps/get.h"
#include "tool.h"

#include <string.h>

const char *device_named(const tool_arguments *arguments) {
    const tool_given *given = option_given(arguments, "device");
    return given && strcmp(given->words, "cpu") != 0 ? given->words : NULL;
}

abut_device *device_open(tool_run *tool, const tool_arguments *arguments) {
    const char *name = device_named(arguments);
    abut_device *device = NULL;
    abut_status status = name ? abut_device_open(tool->context, name, &device) : ABUT_OK;
    if (status == ABUT_ERROR_DEVICE && !tool_cancelled())
        tool_fail_with(tool, abut_status_name(status), "%s; omit --device to run on the CPU",
                       tool_error_message(abut_last_error()));
    ensure(status);
    return device;
}

void device_print(tool_output *out, const abut_device *device) {
    const abut_device_info info = get_device_info(device);
    json_text(out, "device", device ? info.name : "cpu");
    if (device)
        print_fact(out, "device", "%s", info.name);
}

void device_bvh(abut_mesh *mesh, abut_device *device, abut_bvh **bvh) {
    abut_bvh_options options = abut_bvh_options_default();
    options.device = device;
    ensure(abut_bvh_create(mesh, &options, bvh));
}
