/* Sign data of a BVH on a device. */
#ifndef ABUTI_SIGN_DEVICE_H
#define ABUTI_SIGN_DEVICE_H

#include "nearest/device.h"
#include "sign/sign.h"

enum {
    SIGN_NORMALS, /* 7 per triangle, of four doubles each; if there are any */
    SIGN_FAR,     /* bvh_far_node, if the surface has a boundary */
    SIGN_BUFFERS
};

typedef struct sign_attachment {
    bvh_attachment attachment;
    bvh_on_device *there;
    bool is_uploaded; /* the following is that of the BVH */
    bool closed, by_normals;
    bool has_far;
    double facing; /* as in bvh_sign */
    abuti_kit kit;
} sign_attachment;

/* Uploads the sign data of the BVH, except for expansions, if that has not been done. Fails if
 * signs were not prepared, and if the device cannot compute the same bits as the CPU. */
abut_status abuti_sign_on_device(const char *function, bvh_on_device *there,
                                 sign_attachment **sign);

#endif
