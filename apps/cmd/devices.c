/* abut devices: lists the OpenCL devices of this machine and the default device. */
#include "tool.h"

#include <string.h>

#define DEVICES_MAX 64

static const tool_option options[] = {
    {.name = "check", .kind = OPTION_FLAG, .help = "open each device and run its self-test"},
    {.name = NULL},
};

static void print_memory(tool_output *out, uint64_t bytes) {
    json_count(out, "memory_bytes", bytes);
    print_fact(out, "memory", "%.1f GiB", (double)bytes / 1073741824);
}

/* Opens the device, which runs its self-test. Returns whether it passes. */
static bool print_check(tool_run *tool, uint32_t index) {
    tool_output *out = &tool->out;
    abut_device *device;
    char selector[16];
    snprintf(selector, sizeof selector, "%u", index);
    abut_status status = abut_device_open(tool->context, selector, &device);
    if (status) {
        json_boolean(out, "works", false);
        json_text(out, "error", abut_last_error());
        out_shade(out, SHADE_BAD);
        print_fact(out, "check", "failed: %s", abut_last_error());
        return false;
    }
    abut_device_info info = get_device_info(device);
    abut_device_destroy(device);
    json_boolean(out, "works", true);
    json_boolean(out, "same_bits", info.same_bits);
    out_shade(out, info.same_bits ? SHADE_GOOD : SHADE_WARN);
    print_fact(out, "check",
               info.same_bits ? "passed" : "passed, but rounds differently from the CPU");
    return true;
}

static bool print_device(tool_run *tool, const abut_device_info *info, uint32_t index, bool check) {
    tool_output *out = &tool->out;
    bool fine = true;
    out_object(out, NULL);
    fact_count(out, "number", index);
    fact_text(out, "name", info->name);
    fact_text(out, "kind", abut_device_kind_name(info->kind));
    fact_count(out, "units", info->compute_units);
    json_count(out, "clock_mhz", info->clock_mhz);
    print_memory(out, info->memory_bytes);
    json_count(out, "buffer_bytes", info->buffer_bytes);
    json_count(out, "local_bytes", info->local_bytes);
    json_boolean(out, "doubles", info->has_doubles);
    print_fact(out, "doubles", info->has_doubles ? "yes" : "no");
    fact_text(out, "driver", info->driver);
    json_text(out, "vendor", info->vendor);
    json_text(out, "version", info->version);
    json_text(out, "platform", info->platform);
    json_boolean(out, "default", info->is_default);
    if (check)
        fine = print_check(tool, index);
    out_end(out);
    return fine;
}

/* Prints why there is no device: the error message of opening one. */
static void print_absence(tool_run *tool) {
    tool_output *out = &tool->out;
    abut_device *device;
    const char *reason = "no OpenCL device";
    if (!abut_device_open(tool->context, NULL, &device))
        abut_device_destroy(device); /* a device appeared since the list was made */
    else
        reason = abut_last_error();
    const char *words = strstr(reason, ": ");
    words = words ? words + 2 : reason;
    json_text(out, "reason", words);
    print_line(out, "%s; queries run on the CPU", words);
}

static int run_devices(tool_run *tool, const tool_arguments *arguments) {
    tool_output *out = &tool->out;
    static abut_device_info infos[DEVICES_MAX];
    abut_device_info_list found = {infos, DEVICES_MAX, 0};
    bool fine = true, check = option_given(arguments, "check") != NULL;
    infos[0] = abut_device_info_default();
    ensure(abut_device_list(tool->context, &found));
    const uint64_t count = found.count;
    uint32_t chosen = DEVICES_MAX;
    out_object(out, NULL);
    if (out->json || count) {
        out_table(out, "devices");
        for (uint32_t i = 0; i < count; i++) {
            fine = print_device(tool, &infos[i], i, check) && fine;
            chosen = infos[i].is_default ? i : chosen;
        }
        out_end(out);
    }
    if (!count)
        print_absence(tool);
    else if (chosen < count)
        print_line(out, "The default device is %u.", chosen);
    else
        print_line(out, "No GPU: queries run on the CPU by default. --device selects a device by "
                        "its number or name.");
    out_end(out);
    answer(tool, "%s", chosen < count ? infos[chosen].name : "cpu");
    return fine ? CODE_FINE : CODE_WORK;
}

const tool_command command_devices = {
    .name = "devices",
    .operands = "",
    .summary = "list the OpenCL devices of this machine",
    .about = "Lists the OpenCL devices of this machine with the numbers and names by which "
             "--device selects them, and the default device: the fastest GPU. Without a device "
             "everything runs on the CPU; this is not an error.",
    .examples =
        "  abut devices\n  abut devices --check\n  abut devices --json | jq .devices[0].name\n",
    .options = options,
    .operand_kind = OPERAND_NONE,
    .operand_range = {0, 0},
    .run = run_devices,
};
