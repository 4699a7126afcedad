#include "shape/teapot.h"
abut_status abuti_build_teapot_solid(abut_context *context, const abut_shape *shape,
                                     abut_mesh **mesh) {
    (void)context;
    (void)shape;
    (void)mesh;
    return abuti_fail(ABUT_ERROR_UNSUPPORTED, "abut_shape_create: not yet");
}
