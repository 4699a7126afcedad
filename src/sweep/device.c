/* Sweeps over whole meshes on a device. */
#include "sweep/motion.h"

abut_status abuti_motion_device_create(abut_motion *motion, abut_device *device) {
    (void)motion;
    (void)device;
    return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                      "abut_motion_create: motions cannot be searched on devices yet; leave "
                      "options->device null to search on the CPU");
}

void abuti_motion_device_destroy(abut_motion *motion) {
    (void)motion;
}

abut_status abuti_motion_device_find(abut_motion *motion, const motion_search_options *options,
                                     abut_impacts *impacts, abut_motion_counts *counts) {
    (void)motion;
    (void)options;
    (void)impacts;
    (void)counts;
    return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                      "abut_motion_find: motions cannot be searched on devices yet");
}
