/* The table of commands, in the order in which help lists them. A new command is one file and one
 * line here. */
#include "tool.h"

#include <string.h>

const tool_command *const commands[] = {&command_info,
                                        &command_convert,
                                        &command_make,
                                        &command_picture,
                                        &command_view,
                                        &command_character,
                                        &command_radial,
                                        &command_nearest,
                                        &command_inside,
                                        &command_ray,
                                        &command_overlap,
                                        &command_distance,
                                        &command_selfcheck,
                                        &command_map,
                                        &command_clearance,
                                        &command_deviation,
                                        &command_thickness,
                                        &command_sweep,
                                        &command_replay,
                                        &command_field,
                                        &command_slice,
                                        &command_offset,
                                        &command_samples,
                                        &command_contacts,
                                        &command_interfere,
                                        &command_batch,
                                        &command_cache,
                                        &command_demo,
                                        &command_devices,
                                        &command_bench,
                                        &command_version,
                                        &command_help,
                                        &command_completion,
                                        &command_manual,
                                        NULL};

const tool_command *command_find(const char *name) {
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}
